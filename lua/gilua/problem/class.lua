--- class: the methods that all problems share, and the problem that was opened last. Rooms above
-- add methods (prompt/mutant.lua those for people).

local M = {}

--- Methods of a problem.
M.methods = {}

local last = setmetatable({}, { __mode = "v" })

--- A problem was opened: its rules are what the prompt completes.
---@param problem gilua.problem
function M.opened(problem)
  last.problem = problem
end

--- The problem opened last, while somebody has it.
---@return gilua.problem?
function M.latest()
  return last.problem
end

return M
