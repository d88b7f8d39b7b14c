-- A mutant that keeps the compiler busy costs its limit once: what made it so is not tried again.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local bombs = require "gilua.farm.bombs"
local genomes = require "gilua.search.genome"
local gi = require "gilua"

tap.case("one gene that nobody else has is to blame; else all of them together", function()
  local b = bombs.new()
  tap.is(b:cause_in "<a>", nil, "nothing is known")
  b:learn({ "<a>", "<b> <c>" }, { "<a> <bad> <b>", "<x> <y>", "<a> <c>" })
  tap.is(b:cause_in "<z> <bad>", "<bad>", "the others of its genes were compiled elsewhere")
  tap.is(b:cause_in "<y>", nil, "which of two it was nobody knows")
  tap.is(b:cause_in "<y> <z> <x>", "<x> <y>", "both are")
  tap.is(b:cause_in "<c> <a>", "<a> <c>", "each is sound alone")
  tap.is(b:cause_in "<c>" or b:cause_in "<a> <b>", nil, "and stays so")
  b:learn({ "<x>" }, { "<y> <x>" })
  tap.is(b:cause_in "<y>", "<y>", "once one is cleared the other is to blame")
  b:learn({}, { "" })
  tap.is(b:cause_in "<q>", nil, "the unmodified kernel teaches nothing")
end)

-- 2^24 types in a text for some lines.
local BOMB = genomes.lines(1, 1, [[
template <int N, int M> struct Bomb {
    static const int value = Bomb<N - 1, 2 * M>::value + Bomb<N - 1, 2 * M + 1>::value;
};
template <int M> struct Bomb<0, M> { static const int value = M & 1; };
__device__ int bomb() { return Bomb<24, 1>::value; }
]])

tap.case("a gene that kept the compiler busy is not compiled again within a run", function()
  local problem = gi.problem "kernels/reduction"
  local farm <close> = gi.farm(problem, { jobs = 1, device = "emu", compile_timeout_s = 1 })
  local function case(seed) return { seed = seed, rows = 2, columns = 64 } end
  local first = farm:evaluate({ "block_size=64", BOMB .. " block_size=64", "block_size=32" },
    case(1))
  tap.is(first[1].status .. " " .. first[2].status .. " " .. first[3].status, "ok timeout ok",
    "it alone is to blame")
  tap.has(first[2].message, "of processor time", "and says what for")
  local compilations = farm:stats().compilations
  local again = farm:evaluate({ BOMB .. " block_size=32", "block_size=32" }, case(2))
  tap.is(again[1].status .. " " .. again[2].status, "timeout ok", "in another genome")
  tap.has(again[1].message, "not compiled: <lines", "which says why")
  tap.is(farm:stats().compilations, compilations, "costs no compilation")
end)

tap.done()
