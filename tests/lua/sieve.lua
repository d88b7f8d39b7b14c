-- gilua.farm.sieve: while most mutants are wrong they are compiled in haste first. What it ends is
-- what the small case ends anyway; of all others nothing is another.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local sieve = require "gilua.farm.sieve"
local scratch = require "scratch"
local tap = require "tap"

local SOURCE = [[
extern "C" __global__ void k(float *x, const float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int r = 0; r < 40; r++) {
        sum += a[(i + r) % n];
        sum = sum * 0.5f;
    }
    x[i] = sum;
    x[i] = x[i] + 1;
}
]]

local function problem_of(extra)
  return gi.problem(scratch.problem(SOURCE, ([[{
    source = "kernel.cu", kernel = "k", size = 3000, checked_size = 200, block_size_x = 64,
    args = { { name = "x", type = "f32", count = "size_x", role = "out" },
             { name = "a", type = "f32", count = "size_x", fill = { -1, 1 } },
             { name = "n", type = "i32", value = "size_x" } }, %s }]]):format(extra or "")))
end

-- Genomes of one to three genes, of which most are wrong.
local function some(problem, n)
  local rng, list, seen = gi.rng(5), {}, {}
  while #list < n do
    local genes = {}
    for i = 1, rng:int(3) do genes[i] = problem.grammar:random_gene(rng) end
    local text = table.concat(genes, " ")
    if problem.grammar:apply(text) and not seen[text] then list[#list + 1] = text end
    seen[text] = true
  end
  return list
end

-- What came of genomes behind others that were wrong, with the sieve and without.
local function results(problem, o)
  o.wrong = "small"
  local farm <close> = gi.farm(problem, o)
  local case = { seed = 1 }
  for _ = 1, 100 do farm.funnel.sieve:note { status = "wrong" } end
  local list = farm:evaluate(some(problem, 60), case)
  return list, farm:stats(), farm.funnel.sieve
end

tap.case("the right ones are what they are without it, the wrong ones are wrong", function()
  local problem = problem_of()
  local with, stats = results(problem, { jobs = 2 })
  local without, plain = results(problem, { jobs = 2, sieve = false })
  local right, wrong = 0, 0
  for i, m in ipairs(without) do
    local other = with[i]
    local label = ("%s (%s, %s)"):format(m.genome, m.status, other.status)
    if gi.fitness.right(m) then
      right = right + 1
      for _, name in ipairs { "status", "ticks", "ptx_hash", "max_error", "n", "wrong" } do
        if other[name] ~= m[name] then tap.is(other[name], m[name], label .. " " .. name) end
      end
    else
      wrong = wrong + 1
      if gi.fitness.right(other) then tap.ok(false, label) end
      if other.status ~= m.status then tap.is(other.status, m.status, label) end
    end
  end
  tap.ok(right >= 10 and wrong >= 25, ("%d right, %d wrong"):format(right, wrong))
  tap.ok(stats.sifted > 20, stats.sifted .. " went through the sieve")
  tap.is(plain.sifted, 0, "none where there is none")
  tap.ok(stats.checks < plain.checks, "fewer checked runs")
  local again = results(problem, { jobs = 1 })
  for i, m in ipairs(with) do
    local o = again[i]
    if o.ticks ~= m.ticks or o.status ~= m.status or o.message ~= m.message then
      tap.is(("%s %s %s"):format(o.ticks, o.status, o.message),
        ("%s %s %s"):format(m.ticks, m.status, m.message), m.genome .. " by another crew")
    end
  end
end)

tap.case("it is for those who have a kernel that is right when it is compiled in haste", function()
  local farm <close> = gi.farm(problem_of(), { jobs = 1, wrong = "small" })
  local own = farm.funnel.sieve
  for _ = 1, 100 do own:note { status = "wrong" } end
  local right_there = farm.funnel.is_right_there
  function farm.funnel:is_right_there(verdict)
    return verdict ~= own.small and right_there(self, verdict)
  end
  local list = farm:evaluate({ "<_kernel.cu_11>", "block_size_x=128" }, { seed = 1 })
  tap.is(own.useless, true, "it is not")
  tap.is(list[1].status .. " " .. list[2].status, "ok ok", "all go the usual way")
  tap.ok(list[1].wrong > 0 and list[2].wrong == 0, "and are judged there")
  tap.is(own:pays(), false, "from then on at once")
end)

tap.case("what was compiled as ever is not compiled in haste", function()
  local p = problem_of()
  local farm <close> = gi.farm(p, { jobs = 1, wrong = "small" })
  local list = some(p, 8)
  farm:evaluate(list, { seed = 1 })
  local before = farm:stats().compilations
  for _ = 1, 100 do farm.funnel.sieve:note { status = "wrong" } end
  farm:evaluate(list, { seed = 2 })
  tap.is(farm:stats().sifted .. " " .. farm:stats().compilations - before, "0 0", "on another case")
end)

tap.case("it pays while most are wrong, of a compiler that knows haste", function()
  local function pays(right, wrong, version)
    local info = core.compile.info
    core.compile.info = function() return { version = version } end
    local own = sieve.new {}
    for _ = 1, right do own:note { status = "ok" } end
    for _ = 1, wrong do own:note { status = "ok", small = true } end
    for _ = 1, 50 do own:note { status = "compile_error" } end
    local said = own:pays()
    core.compile.info = info
    return said
  end
  tap.is(pays(10, 40, "13.0"), true, "four of five")
  tap.is(pays(10, 40, "12.9"), true, "the first that knows")
  tap.is(pays(10, 40, "12.8"), false, "one that does not")
  tap.is(pays(40, 10, "13.0"), false, "one of five")
  tap.is(pays(0, 20, "13.0"), false, "too few to tell")
end)

tap.case("who says how the optimiser works is not compiled in haste", function()
  local own = problem_of 'options = { "-Ofc=min" }'
  local _, stats = results(own, { jobs = 2 })
  tap.is(stats.sifted, 0, "none")
end)

tap.done()
