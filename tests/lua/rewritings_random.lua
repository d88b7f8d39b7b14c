-- Every proposal for random kernels (tests/fuzz/madekernels.lua), applied alone, answers as the
-- kernel does or is MARKED. A slice of `make fuzz TARGET=rewritings`, always of the same kernels.
--
--   ./gilua tests/lua/rewritings_random.lua SEED COUNT       others, from a seed on
--
-- A kernel is that of its own seed, which a finding says.

package.path = "tests/fuzz/?.lua;tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local held = require "held"
local madekernels = require "madekernels"
local tap = require "tap"

local first, count = tonumber(arg[1] or "1"), tonumber(arg[2] or "60")

local FIRST, MOST_UNTIL_FOUND = 140, 60 -- seeds

tap.case("random kernels", function()
  local n, kernels = 0, 0
  for seed = first, first + count - 1 do
    local rng = core.rng.new(seed)
    local source = madekernels.make(rng)
    local all = held.examine(source, madekernels.held(source, { rng = rng }))
    if all.runs == 0 then tap.note(("seed %d: %s"):format(seed, all.why:sub(1, 100))) end
    for i, one in ipairs(all.wrong) do all.wrong[i] = one.gene .. ": " .. one.how end
    if #all.wrong > 0 then tap.note(source) end
    tap.is(table.concat(all.wrong, "\n"), "", ("seed %d"):format(seed))
    n, kernels = n + all.held, kernels + (all.runs > 0 and 1 or 0)
  end
  tap.ok(kernels > 0.9 * count, ("%d of %d kernels could be run"):format(kernels, count))
  tap.ok(n > 4 * count, ("%d proposals were held"):format(n))
end)

-- Of what a wrong answer of a fact brings about the kernels must show something.
tap.case("a fact that is broken is found", function()
  local memory_of, found = require "gilua.facts.memory_of", nil
  local of = memory_of.of
  memory_of.of = function(_, name) return name end -- as if no array had a second name
  for seed = FIRST, FIRST + MOST_UNTIL_FOUND do
    local rng = core.rng.new(seed)
    local source = madekernels.make(rng)
    local all = held.examine(source, madekernels.held(source, { rng = rng }))
    found = found or all.wrong[1] and seed
    if found then break end
  end
  memory_of.of = of
  tap.ok(found, ("kernel %s tells"):format(found))
end)

tap.done()
