-- Every proposal for random kernels (madekernels), applied alone, answers as the kernel does.
--
--   ./gilua tests/lua/rewritings_random.lua SEED COUNT       more of them, from a seed on
--
-- A kernel is that of its own seed, which a finding says.

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local held = require "held"
local madekernels = require "madekernels"
local rewritten = require "rewritten"
local tap = require "tap"

local first, count = tonumber(arg[1] or "1"), tonumber(arg[2] or "12")
local OPTIONS = { grid = 2, block = 32, sizes = { 0, 2, 7 } }
local RUN = { grid = 2, block = 32, races = true }

tap.case("random kernels", function()
  local n, kernels = 0, 0
  for seed = first, first + count - 1 do
    local source = madekernels.make(core.rng.new(seed))
    local runs, why = true, nil
    for _, size in ipairs(OPTIONS.sizes) do
      if runs then runs, why = rewritten.run(source, size, RUN) end
    end
    if not runs then tap.note(("seed %d: %s"):format(seed, tostring(why):sub(1, 100))) end
    local wrong, now = {}, 0
    if runs then wrong, now = held.wrong(source, OPTIONS) end
    if #wrong > 0 then tap.note(source) end
    tap.is(table.concat(wrong, "\n"), "", ("seed %d"):format(seed))
    n, kernels = n + now, kernels + (runs and 1 or 0)
  end
  tap.ok(n > count, ("%d proposals for %d kernels"):format(n, kernels))
end)

tap.done()
