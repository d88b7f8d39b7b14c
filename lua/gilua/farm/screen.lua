--- screen: stops a mutant early whose answers on the small case are wrong.
--
-- A checked run ends with answers, which are compared like those of a whole case. A mutant that is
-- wrong there is wrong, whatever the whole case would show. If the scheme needs no more of such
-- mutants, the small case is their measurement: they get no machine code and no run of the whole
-- case.

local fitness = require "gilua.search.fitness"

local M = {}

-- Fields of a comparison, which a measurement has too.
local COMPARED = { "n", "max_error", "mean_error", "first_wrong", "off", "wrong", "unset", "nan",
                   "penalty", "counted" }

--- May a mutant with such answers on the small case be right, or within the allowed error?
---@param answers table a comparison, with its status
---@param tolerance table of the problem
---@param most_error? number errors up to this one are allowed
---@return boolean
function M.may_be_right(answers, tolerance, most_error)
  if answers.status ~= "ok" then return false end
  if answers.unset > 0 then return false end
  return fitness.tolerable(answers, tolerance)
    or most_error ~= nil and answers.max_error <= most_error
end

--- The measurement of a mutant whose answers on the small case are wrong: what they are worth
--- there, and the time that the whole case would take were it as much slower than the unmodified
--- kernel.
---@param verdict table of its checked run, with its answers
---@param small table the unmodified kernel's
---@param whole table the unmodified kernel's measurement on the whole case
---@return table
function M.measurement(verdict, small, whole)
  local slower = verdict.ticks / small.ticks
  local m = { status = "ok", small = true, ticks = whole.ticks * slower, ns = whole.ns * slower,
              warnings = verdict.warnings }
  m.energy_j = whole.energy_j and whole.energy_j * slower
  for _, name in ipairs(COMPARED) do m[name] = verdict.answers[name] end
  return m
end

return M
