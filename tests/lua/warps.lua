-- What CUDA's compiler makes of lanes, warps and blocks that wait for each other, on the virtual
-- GPU: tests/c/emu_warps.c and emu_turns.c have the instructions, tests/gpu/warps.lua a GPU's word.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

--- Launches kernel k over an array of ints; its measurement.
local function run(source, y, o)
  local dev = gi.device "emu"
  local code = assert(gi.compile('extern "C" __global__ void k' .. source,
    { target = "compute_90" }))
  local launch = { grid = 1, block = 32, args = { dev:buffer(y) } }
  for name, value in pairs(o or {}) do launch[name] = value end
  return assert(dev:load(code)):launch(launch)
end

local function ints(n)
  return gi.array("i32", n):fill(0)
end

tap.case("lanes that returned are not waited for", function()
  local y = ints(32)
  local m = run([[
(int *y) {
  int t = threadIdx.x;
  if (t == 0) { y[0] = 9; return; }
  y[t] = __shfl_sync(~0u, t + 2, 3) + __all_sync(~0u, t) + __popc(__ballot_sync(~0u, t & 1));
  __syncwarp();
  __syncthreads();
}]], y)
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(y[1] .. " " .. y[2] .. " " .. y[32], "9 22 22", "its own, and what the others agree on")
end)

tap.case("a lock that all threads take", function()
  local y = ints(4)
  local m = run([[
(int *y) {
  for (int i = 0; i < 3; i++) {
    while (atomicCAS(y, 0, 1) != 0);
    __threadfence();
    ((volatile int *)y)[1]++;
    __threadfence();
    atomicExch(y, 0);
  }
}]], y, { grid = 3, block = 64, budget = 1 << 26 })
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(y[2], 3 * 3 * 64, "each was alone")
end)

tap.case("a flag that a later block sets", function()
  local y = ints(4)
  local m = run([[
(volatile int *y) {
  if (blockIdx.x == 6) y[1] = 1;
  else while (y[1] == 0);
  if (threadIdx.x == 0) atomicAdd((int *)y, 1);
}]], y, { grid = 7, budget = 1 << 26 })
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(y[1], 7, "all blocks ended")
end)

tap.case("what never ends does, with who is where", function()
  local source = [[
(volatile int *y) {
  if (threadIdx.x == 3)
    while (y[0] == 0);
  __syncthreads();
}]]
  local m = run(source, ints(4), { budget = 1 << 20 })
  tap.is(m.status, "timeout", "a flag that nobody sets")
  tap.has(m.message, "lane 3 of warp 0 runs", "the lane that waits for it")
  tap.has(m.message, "line 3)", "and its line")
  m = run("(volatile int *y) { for (int i = 1; y[0] != i; i += 2); }", ints(4),
    { timeout_s = 0.1, budget = 1 << 50 })
  tap.is(m.status, "timeout", "… in seconds, where it counts its rounds")
  tap.has(m.message, "0.1 s of processor time", "it says which limit")
end)

tap.done()
