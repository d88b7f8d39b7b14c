-- repeats: statistics over runs with different seeds, evolution against a control.

local stats = require "gilua.base.stats"

local M = {}

-- Vargha and Delaney, "A Critique and Improvement of the CL Common Language Effect Size
-- Statistics", 2000: from which |A - 1/2| on a difference is called so.
local WORDS = { { 0.21, "large" }, { 0.14, "medium" }, { 0.06, "small" } }

local function in_words(a12)
  for _, row in ipairs(WORDS) do
    if math.abs(a12 - 0.5) >= row[1] - 1e-12 then return row[2] end
  end
  return "negligible"
end

--- Median and quartiles.
---@param list number[]
---@return { n: integer, median: number, low: number, high: number, spread: string }
function M.spread(list)
  return { n = #list, median = stats.median(list), low = stats.quantile(list, 0.25),
           high = stats.quantile(list, 0.75), spread = "quartiles" }
end

--- Runs of evolution against as many of a control: Mann and Whitney's test and Vargha and Delaney's
--- effect size.
---@param evolved number[] speed-ups, one a run
---@param control number[]
---@return table { n, median, low, high, spread, control = the same, u, p, a12, words }
function M.summary(evolved, control)
  local s, test = M.spread(evolved), stats.mann_whitney(evolved, control)
  s.control, s.u, s.p, s.a12, s.words = M.spread(control), test.u, test.p, test.a12,
    in_words(test.a12)
  return s
end

return M
