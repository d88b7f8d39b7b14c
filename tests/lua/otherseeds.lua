-- otherseeds: data of one seed may do where those of another lead out of an array.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local json = require "gilua.base.json"
local kerneltable = require "gilua.problem.kerneltable"
local scratch = require "scratch"
local tap = require "tap"

local STEPS = [[
extern "C" __global__ void k(const int *step, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, at = i;
  for (int s = 0; s < 3; s++) at += step[s];
  if (i < 64) y[i] = x[at];
}
]]

local TABLE = [[{ source = "kernel.cu", kernel = "k", size = 64, block_size_x = 32, args = {
  { name = "step", type = "i32", count = 3, fill = { 0, 9 } },
  { name = "x", type = "f32", count = %d },
  { name = "y", type = "f32", count = 64, role = "out" } } }]]

local function problem_of(count)
  return scratch.problem(STEPS, TABLE:format(count))
end

-- Seeds of twenty with which it runs.
local function runs_with(problem)
  local n = 0
  for seed = 1, 20 do n = n + (kerneltable.run(problem, { seed = seed }) and 1 or 0) end
  return n
end

local function finding(folder, seed)
  local _, value = gi.checkproblem.run(folder, { device = "emu", seed = seed, silent = true })
  for _, one in ipairs(json.decode(json.encode(value)).findings) do
    if one.what == "other seeds" then return one end
  end
end

tap.case("a problem that runs with every seed", function()
  local folder = problem_of(64 + 27)
  local problem = gi.problem(folder)
  tap.is(runs_with(problem), 20, "it does")
  tap.is((gi.otherseeds.run(problem, 1)), 7, "as many are tried as there is time for")
  tap.is(finding(folder, 1).verdict, "ok", "check says so")
end)

tap.case("one that does not is told, with the seed", function()
  local folder = problem_of(64 + 15)
  local problem = gi.problem(folder)
  local n = runs_with(problem)
  tap.ok(n > 4 and n < 18, "it runs with some: " .. n)
  local first = 1
  while not kerneltable.run(problem, { seed = first }) do first = first + 1 end
  local right, why, m, seed = gi.otherseeds.run(problem, first)
  tap.has(tostring(why), "of 'x' (", "what it reaches beyond")
  tap.is(m and m.status, "illegal_address", "a fault")
  tap.is(seed, first + right + 1, "of the next seed")
  local told = finding(folder, first)
  tap.is(told.verdict, "wrong", "check says that it is wrong")
  tap.has(told.text, ("seed %d: "):format(seed), "with which seed")
end)

tap.case("what `gilua new` guesses runs with other seeds, too", function()
  local folder = tap.folder()
  local path = folder .. "/steps.cu"
  scratch.write(path, STEPS)
  gi.newproblem.write(path, folder .. "/steps", { quiet = true })
  tap.is(runs_with(gi.problem(folder .. "/steps")), 20, "of twenty seeds")
end)

tap.done()
