-- checkproblem: what `gilua check` finds in answers.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local json = require "gilua.base.json"
local scratch = require "scratch"
local tap = require "tap"

-- What is found of the 100 answers y = f(i) of a kernel: { verdict, text, … }; is nothing wrong?
local function found(f, more)
  local folder = scratch.problem(([[
extern "C" __global__ void k(float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 100) y[i] = %s;
}
]]):format(f), ([[{ source = "kernel.cu", kernel = "k", size = 100, block_size_x = 32, args = {
    { name = "y", type = "f32", count = 100, role = "out", %s } } }]]):format(more or ""))
  local well, value = gi.checkproblem.run(folder, { device = "emu", seed = 1, silent = true })
  local list = {}
  for _, finding in ipairs(json.decode(json.encode(value)).findings) do
    if finding.what == "answers" or finding.what == "reference" then list[#list + 1] = finding end
  end
  return list, well
end

tap.case("answers that are NaN are told, and no good where most are", function()
  local list = found("i % 4 ? i : sqrtf(-1.f - i)")
  tap.is(list[1].verdict, "ok", "the kernel agrees with itself")
  tap.is(list[1].nan, 0.25, "the share, for programs")
  tap.is(list[2].what .. " " .. list[2].verdict, "answers warning", "a quarter is a warning")
  tap.has(list[2].text, "25 % of them are NaN", "in words")
  local most, well = found("i % 4 ? sqrtf(-1.f - i) : i")
  tap.is(most[2].verdict .. " " .. tostring(well), "wrong false", "three quarters are wrong")
  list = found("i")
  tap.is(#list, 1, "none where there are none")
end)

tap.case("the tolerance is said, absolute and relative", function()
  local list = found("i", "max_error = 0.5, rel_error = 1e-3")
  tap.has(list[1].text, "of 0.5 + 0.001 of each answer allowed", "in words")
  tap.is(list[1].outputs[1].name .. " " .. list[1].outputs[1].allowed_share, "y 0.001",
    "for programs")
  tap.has(found("i")[1].text, "largest difference 0 of 0 allowed", "where nothing is allowed")
end)

tap.case("check prints each statement that is not understood, with its line", function()
  local folder = scratch.problem([[
extern "C" __global__ void k(float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 100) return;
  alignas(8) float part[2] = {1.f, 2.f};
  auto twice = [&](float x) { return 2.f * x; };
  y[i] = twice(part[0]);
}
]], [[{ source = "kernel.cu", kernel = "k", size = 100, block_size_x = 32, args = {
    { name = "y", type = "f32", count = 100, role = "out" } } }]])
  local _, value = gi.checkproblem.run(folder, { device = "emu", seed = 1, silent = true })
  local text = json.encode(value)
  tap.has(text, "what 2 statements do", "how many")
  tap.has(text, "    5: a lambda: auto twice", "the first")
  tap.has(text, "    6: a call of `twice`, which is not known: y[i] = twice(", "the second")
  tap.ok(not text:find "    4: ", "an aligned array is known")
  tap.ok(not text:find "not proposed", "why nothing is proposed is said to who asks")
  _, value = gi.checkproblem.run(folder, { device = "emu", seed = 1, silent = true, why = true })
  text = json.encode(value)
  tap.has(text, "    1: narrow: it has no numbers of 64 bits", "for a person")
  tap.has(text, '"transformation": "narrow"', "and for a program")
  tap.has(text, '"fact": "types"', "with the fact")
end)

tap.done()
