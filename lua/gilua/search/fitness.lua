-- fitness: pure functions of two measurements, the mutant's and the unmodified kernel's. So a
-- scheme can be changed and old runs can be scored again without running a kernel (GECCO 2014,
-- §3.8, §3.9). Fitness is minimised; math.huge is the worst.

local M = {}

---@class gilua.measurement what an evaluation returns (docs/formats.md)
---@field genome string
---@field status string
---@field message string? why it is not "ok"
---@field ticks number
---@field ns number
---@field samples number[]?
---@field rel_error number?
---@field n integer answers checked
---@field max_error number
---@field mean_error number
---@field off number fraction of answers outside the tolerance
---@field wrong number
---@field unset number
---@field nan number
---@field penalty number?
---@field registers integer
---@field shared_bytes integer
---@field source_hash string
---@field ptx_hash string
---@field code_hash string

--- What a wrong answer costs, in fitness units (§3.8).
M.PENALTY = 213748364

--- The paper's limits: errors accepted without penalty, and where an answer counts as wrong.
M.TOLERANCE = { max_error = 0.001, wrong_above = 0.1 }

--- A mutant this much slower than the unmodified kernel may still be a parent (§3.9).
M.SLOWER = 1.1

--- The fitness of §3.8: a tenth of the ticks, and three penalties: for the worst answer, for
--- answers never set, and for the fraction of wrong answers. A kernel that did not run to its end
--- has the worst fitness there is.
---@param own table measurement of the mutant
---@param _ table measurement of the unmodified kernel on the same case (not used)
---@return number
function M.absolute(own, _)
  if own.status ~= "ok" then return math.huge end
  local fitness = own.ticks / 10
  local worst = own.max_error
  if worst ~= worst then worst = math.huge end
  if worst > M.TOLERANCE.max_error then
    fitness = fitness + math.min(M.PENALTY * (worst + 0.1), M.PENALTY)
  end
  fitness = fitness + M.PENALTY * own.unset
  if worst > M.TOLERANCE.wrong_above then fitness = fitness + M.PENALTY * own.wrong end
  return fitness
end

--- The fitness of §3.8 with a problem's own limits in place of the paper's: the measurement says
--- what is outside them.
---@param _? table tolerance of the problem (not used)
---@return fun(own: table): number
function M.within(_)
  return function(own)
    if own.status ~= "ok" then return math.huge end
    local value = own.ticks / 10
    if own.off > 0 then value = value + M.PENALTY * (1 + own.wrong) end
    return value + M.PENALTY * own.unset
  end
end

--- Did it run to its end, set every answer, and keep each within the problem's tolerance?
---@param own table
---@return boolean
function M.right(own)
  return own.status == "ok" and own.unset == 0 and own.off == 0
end

--- May it be a parent (§3.9): right, and at most a tenth slower than the unmodified kernel?
---@param own table
---@param baseline table
---@return boolean
function M.acceptable(own, baseline)
  return M.right(own) and own.ticks <= M.SLOWER * baseline.ticks
end

--------------------------------------------------------------------------------------------------
-- Errors that are graded: Langdon, "Genetically Improved Software", chapter 8, 2015, §8.14.5 and
-- §8.14.6. `penalty` of a measurement is the mean over its answers.

--- Is it right, or wrong by so little that a scheme may make it a parent (`parent_penalty` of the
--- problem's tolerance)? On a GPU such mutants are timed.
---@param own table
---@param tolerance { parent_penalty: number? }
---@return boolean
function M.tolerable(own, tolerance)
  if own.off == 0 then return true end
  return tolerance.parent_penalty ~= nil and M.mean_penalty(own) <= tolerance.parent_penalty
end

--- Returns the mean penalty of an answer (§8.14.5.3), as the comparison worked it out by the case's
--- own table of penalties.
---@param own table
---@return number
function M.mean_penalty(own)
  if own.penalty then return own.penalty end
  error("the answers have no penalty: the problem's case says what wrong ones cost, compare = "
    .. "{ penalty = { unset =, outside =, ... } } (docs/problem.md)", 0)
end

--- Ranks by error first, then by time (§8.14.6). One answer of 2^28 that is one off outweighs
--- 3.7e9 ticks.
---@param own table
---@param _ table
---@return number
function M.error_first(own, _)
  if own.status ~= "ok" then return math.huge end
  return 1e15 * M.mean_penalty(own) + own.ticks / 1000
end

--- May it be a parent (§8.14.6): faster than the unmodified kernel, and on average not further off
--- than the problem's `parent_penalty`?
---@param own table
---@param baseline table
---@param tolerance { parent_penalty: number }
---@return boolean
function M.faster_within(own, baseline, tolerance)
  local most = tolerance.parent_penalty
  if not most then error("the problem's tolerance has no parent_penalty (docs/problem.md)", 0) end
  return own.status == "ok" and own.ticks < baseline.ticks and M.mean_penalty(own) <= most
end

return M
