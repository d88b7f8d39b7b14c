--- single_exit: do all threads that are in a loop (or a switch) leave it together?
--
-- Yes where no `break` of it, and no `goto`, stands below a condition that differs between threads.
-- A `return` does not count: threads that take it are gone. The loop's own condition is another
-- question, as is `continue`, by which threads pass over the rest of an iteration.

local statement = require "gilua.source.statement"

local M = {}

local LOOPS = statement.LOOPS

--- The statement that a `break`, or a `continue`, is of: the innermost loop around it, or switch.
---@return table?
function M.of_jump(s)
  local at = s.parent
  while at and not (LOOPS[at.kind] or at.kind == "switch" and s.kind == "break") do
    at = at.parent
  end
  return at
end

-- The line of the first statement of some kinds, of a loop, below a condition that differs.
local function found_below(fn, s, kinds, differs)
  local line
  local function visit(at, below)
    local is_of = at.kind == "goto" or M.of_jump(at) == s
    if below and kinds[at.kind] and is_of then line = line or fn.kernel:line_of(at.first) end
    local inner = below or at ~= s and (at.unknown_header or at.condition and differs(at.condition))
    for _, child in ipairs(at.kind == "block" and at.body or { at.body or nil }) do
      visit(child, inner)
    end
    if at.otherwise then visit(at.otherwise, inner) end
  end
  visit(s, false)
  return line
end

--- Do all threads leave a loop or a switch together? true; nil and the sentence.
---@param s table the loop, or the switch
---@param differs fun(condition: table): boolean may it differ between threads?
function M.of(fn, s, differs)
  local line = found_below(fn, s, { ["break"] = true, ["goto"] = true }, differs)
  if not line then return true end
  return nil, ("threads leave what begins at line %d together, which they do at line %d"):format(
    fn.kernel:line_of(s.first), line)
end

--- Do all threads do the whole of each iteration? true; nil and the sentence.
---@param differs fun(condition: table): boolean
function M.whole_rounds(fn, s, differs)
  local line = found_below(fn, s, { continue = true, ["goto"] = true }, differs)
  if not line then return true end
  return nil, ("threads pass over the rest of an iteration together, as at line %d"):format(line)
end

return M
