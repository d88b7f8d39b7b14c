-- model: the pairs of tests/lua/modelpairs.lua on this GPU, timed by events, the L2 cache emptied
-- before each launch.
--
--   gilua --device cuda tests/gpu/model.lua >tests/data/model_h200.txt
--
-- A line a pair: microseconds of the faster and of the slower side, its name. tests/lua/model.lua
-- holds the virtual GPU's ticks against them.
package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local modelpairs = require "modelpairs"
local options = gi.cli { doc = "Times the pairs of tests/lua/modelpairs.lua." }
local dev = assert(gi.device(options.device))

local function timed(module, launch)
  launch.timeout_s, launch.max_samples, launch.min_samples, launch.flush_l2 = 10, 60, 15, true
  local m = module:time(launch)
  assert(m.status == "ok", m.message)
  return (m.median_ns or m.ns) / 1e3
end

print(("# %s: microseconds, faster and slower side"):format(dev:info().name))
for _, pair in ipairs(modelpairs.list) do
  local fine, us = pcall(modelpairs.both, dev, pair, dev:target(), timed)
  if fine then print(("%.2f\t%.2f\t%s"):format(us.fast, us.slow, pair[1]))
  else print("# failed: " .. pair[1] .. ": " .. tostring(us)) end
end
