-- model: the virtual GPU puts pairs of kernels in the order in which an H200 does, and about as far
-- apart (tests/data/model_h200.txt, measured by tests/gpu/model.lua).
--
-- A GPU's ratio r of two times is held by ticks to between the square root of r and the power 1.5
-- of it; of pairs that a GPU runs alike, to within a quarter.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local modelpairs = require "modelpairs"
local tap = require "tap"

local EVENTS_US = 3.33 - 4000 / 1980 -- what an empty launch takes by events beyond launch_ticks

local function measured()
  local times = {}
  for line in io.lines("tests/data/model_h200.txt") do
    local fast, slow, name = line:match("^([%d.]+)\t([%d.]+)\t(.+)$")
    if name then times[name] = (slow - EVENTS_US) / (fast - EVENTS_US) end
  end
  return times
end

local function ticks(module, launch)
  launch.budget = 1 << 40
  local m = module:launch(launch)
  assert(m.status == "ok", m.message)
  assert(m.ticks >= m.least_memory and m.ticks >= m.least_arithmetic, "below its roofline")
  return m.ticks
end

local dev <close> = gi.device "emu"
local gpu = measured()
for _, pair in ipairs(modelpairs.list) do
  local name = pair[1]
  tap.case(name, function()
    local real = assert(gpu[name], "not measured: run tests/gpu/model.lua")
    local both = modelpairs.both(dev, pair, "compute_90", ticks)
    local ratio = both.slow / both.fast
    local low, high = math.sqrt(real), real ^ 1.5
    if pair.order then low = 1.02 end
    if pair.alike then low, high = 1 / 1.25, 1.25 end
    tap.ok(ratio >= low and ratio <= high, ("%s: ticks %.2f, an H200 %.2f (%.2f to %.2f)")
      :format(name, ratio, real, low, high))
  end)
end

tap.done()
