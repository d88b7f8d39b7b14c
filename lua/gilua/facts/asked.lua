--- asked: what must hold where a node of a statement is evaluated?
--
-- The conditions of each `if`, ?:, && and || around it, split at what joins them. Unknown (nil)
-- below a `switch`, a `while` or what is not understood, and behind what may jump.

local expression = require "gilua.source.expression"
local statement = require "gilua.source.statement"

local M = {}

local function has(part, node) return part and statement.covers(part, node) end

local function add_asked(list, tree, negated)
  if tree.kind == "binary" and tree.op == (negated and "||" or "&&") then
    add_asked(list, tree.a, negated)
    return add_asked(list, tree.b, negated)
  end
  list[#list + 1] = { tree = tree, negated = negated }
end

local function asked_in_tree(list, tree, node)
  expression.walk(tree, function(at)
    if at.kind == "choice" and has(at.a, node) then add_asked(list, at.condition, false) end
    if at.kind == "choice" and has(at.b, node) then add_asked(list, at.condition, true) end
    if at.kind == "binary" and (at.op == "&&" or at.op == "||") and has(at.b, node) then
      add_asked(list, at.a, at.op == "||")
    end
  end)
end

local UNTOLD = { switch = true, ["while"] = true, ["do"] = true, unknown = true }

-- Adds what must hold in a statement where a node of it is evaluated; whether that can be said.
local function add_of(list, s, node)
  if not has(s, node) then return s.first > node.first or not statement.jumps(s) end
  if UNTOLD[s.kind] then return false end
  if s.kind == "if" and has(s.body, node) then add_asked(list, s.condition, false) end
  if s.kind == "if" and has(s.otherwise, node) then add_asked(list, s.condition, true) end
  for _, tree in ipairs(statement.trees(s)) do
    if has(tree, node) then asked_in_tree(list, tree, node) end
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    if not add_of(list, child, node) then return false end
  end
  return not s.otherwise or add_of(list, s.otherwise, node)
end

--- What must hold in a statement where a node of it is evaluated: { tree, negated }, …; nil where
--- that cannot be said.
---@return table[]?
function M.at(s, node)
  local list = {}
  return add_of(list, s, node) and list or nil
end

return M
