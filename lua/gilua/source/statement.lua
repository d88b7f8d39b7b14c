--- statement: the body of a function of CUDA C as a tree of statements (gi.grammar.source).
--
-- A statement is { kind, first, last (token numbers), parent, … }:
--
--   block        body (a list), what stands between { and }
--   for          init (a statement or nil), condition, step (trees or nil), body (a statement)
--   while, do    condition, body
--   if           init, condition, body, otherwise (statements or nil)
--   switch       init, condition, body
--   declaration  declared: a list, see below
--   expression   tree
--   return       tree or nil
--   break continue goto label case type empty
--   directive    name: "pragma", "if", …
--   unknown      nothing is known of what it does
--
-- A declared name is { name, token, type (its words, without those of storage), pointer (stars),
-- reference, rows (a pointer to arrays), const, shared, static, extents (trees; false where one is
-- not understood), init (a tree or nil), unknown_init, first, last, statement, scope_first and
-- scope_last (the tokens between which the name means it) }.
--
-- Of what is not understood, or not wholly, `why` says the reason and `why_at` the token: also of
-- an `unknown_header`, and of what a return gives (`unknown`).
--
-- A body whose blocks cannot be told (a #if parts an `if` from its statement) has no tree.

local expression = require "gilua.source.expression"
local settings = require "gilua.base.settings"

local M = {}

local CONDITIONAL = settings.set "if ifdef ifndef elif else endif"

--- Is a statement a barrier of all threads of the block?
---@param s table?
function M.is_barrier(s)
  local callee = s and s.kind == "expression" and s.tree and s.tree.kind == "call" and s.tree.callee
  return callee and callee.kind == "name" and callee.text == "__syncthreads" or false
end

M.LOOPS = settings.set "for while do"
M.JUMPS = settings.set "break continue return"

--- Is a statement in a loop of its function?
function M.is_in_loop(s)
  local at = s.parent
  while at and not M.LOOPS[at.kind] do at = at.parent end
  return at ~= nil
end

--- Is it a return that gives nothing, alone or in braces?
---@param s table?
function M.is_return(s)
  if s and s.kind == "block" and #s.body == 1 then s = s.body[1] end
  return s ~= nil and s.kind == "return" and not s.tree
end

--- Is it a #if, #else, …?
function M.is_conditional(s) return s.kind == "directive" and CONDITIONAL[s.name] or false end

--- The statements of a block, or the one that stands without.
function M.listed(s) return s.kind == "block" and s.body or { s } end

--- The statements right below one, but for what a loop begins with.
---@return table[]
function M.children(s)
  local list = s.kind == "block" and table.move(s.body, 1, #s.body, 1, {}) or { s.body }
  list[#list + 1] = s.otherwise
  return list
end

--- The expressions of a statement itself, without those of statements below it.
---@return table[]
function M.trees(s)
  local list = { s.tree }
  list[#list + 1] = s.condition
  list[#list + 1] = s.step
  for _, d in ipairs(s.declared or {}) do list[#list + 1] = d.init end
  return list
end

--- Calls visit(node, statement) for each node of the expressions of statements, one after the
--- other: of a function's, of all that it does.
---@param list table[]
---@param visit fun(node: table, s: table): boolean?
function M.nodes(list, visit)
  for _, s in ipairs(list) do
    for _, tree in ipairs(M.trees(s)) do
      expression.walk(tree, function(node) return visit(node, s) end)
    end
  end
end

--- Calls visit(statement) for one and all below it; where it returns false, those are left out.
function M.walk(s, visit)
  if visit(s) == false then return end
  if s.init then M.walk(s.init, visit) end
  if s.kind == "block" then
    for _, child in ipairs(s.body) do M.walk(child, visit) end
  elseif s.body then
    M.walk(s.body, visit)
  end
  if s.otherwise then M.walk(s.otherwise, visit) end
end

--- Is there a statement of some kinds in one?
---@param kinds table<string, true>
function M.holds(s, kinds)
  local found = false
  M.walk(s, function(below) found = found or kinds[below.kind] or false end)
  return found
end

--- May a statement end the run through those around it?
function M.jumps(s) return M.holds(s, M.JUMPS) or M.holds(s, { ["goto"] = true }) end

--- Returns the condition of the innermost `if` whose first branch has a statement, and of which
--- fits(condition) is true; nil without one.
---@param fits fun(condition: table): boolean?
---@return table?
function M.below(s, fits)
  while s.parent do
    local above = s.parent
    local condition = above.kind == "if" and above.body == s and above.condition
    if condition and fits(condition) then return condition end
    s = above
  end
end

--- Is a token in a part of the text, as a statement, a node or a scope is one?
function M.spans(part, token) return part.first <= token and token <= part.last end

--- Is a part of the text within another one, or the same?
function M.covers(part, inner) return part.first <= inner.first and inner.last <= part.last end

return M
