-- modelwaits: which loads of the cost model wait together.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local tap = require "tap"

local dev <close> = gi.device "emu"
local x <close> = dev:buffer(gi.array("f32", 1 << 16):fill(1))
local y <close> = dev:buffer(gi.array("f32", 1 << 16))

-- Ticks of one warp beyond the launch.
local function ticks(body)
  local source = ([[extern "C" __global__ void k(const float *x, float *y, int n) {
    __shared__ float s[2048];
    const int t = threadIdx.x;
    %s
    __syncthreads();
    y[t] = s[t] + s[t + 1024];
  }]]):format(body)
  local module <close> = assert(dev:load(assert(gi.compile(source, { target = "compute_90" }))))
  local m = module:launch { kernel = "k", grid = 1, block = 32,
    args = { x, y, { "i32", 1 << 16 } } }
  assert(m.status == "ok", m.message)
  return m.part_latency
end

-- Eight loads, each stored to shared memory; how: what stands around one.
local function copies(how)
  local parts = {}
  for i = 0, 7 do
    parts[#parts + 1] = how:gsub("%$s", ("s[t + %d]"):format(i * 32))
      :gsub("%$x", ("x[t + %d]"):format(i * 4096)):gsub("%$i", tostring(i))
  end
  return table.concat(parts, "\n")
end

local plain = ticks(copies "$s = $x;")

tap.case("a load does not wait for a store to another state space", function()
  local together = ticks(copies "float a$i = $x;" .. copies "$s = a$i;")
  tap.ok(plain < 1.2 * together, ("%.0f clocks one after the other, %.0f with all loads first")
    :format(plain, together))
end)

tap.case("short guarded copies wait in groups of four", function()
  local guarded = ticks(copies "if (t + $i * 4096 < n) $s = $x;")
  local looped = ticks [[#pragma unroll 1
    for (int i = 0; i < 8; i++) if (t + i * 4096 < n) s[t + i * 32] = x[t + i * 4096];]]
  tap.ok(guarded > 1.5 * plain, ("%.0f clocks with guards, %.0f without"):format(guarded, plain))
  tap.ok(guarded < 0.6 * looped, ("%.0f clocks in a row, %.0f one by one in a loop")
    :format(guarded, looped))
end)

tap.case("a loaded value that is used in its guarded body is waited for there", function()
  local used = ticks(copies "if (t + $i * 4096 < n) $s = $x * 2.0f;")
  local stored = ticks(copies "if (t + $i * 4096 < n) $s = $x;")
  tap.ok(used > 1.5 * stored, ("%.0f clocks used, %.0f stored"):format(used, stored))
end)

tap.done()
