--- certain: is a node evaluated in every iteration of a loop that begins?
--
-- Not below an `if`, a `switch` or another loop, behind what may leave the iteration, or behind ?:,
-- && and ||. Where one is not certain, its address must not be touched earlier or instead.

local expression = require "gilua.source.expression"
local statement = require "gilua.source.statement"

local M = {}

--- What is promised where a load that is not certain is made early.
M.EARLY = "what a loop would have read later, or not at all, may be read"

local JUMPS = { ["break"] = true, continue = true, ["return"] = true, ["goto"] = true,
  label = true, case = true }

--- The trees that each iteration of a loop evaluates.
---@return table[]
function M.trees(loop)
  local list = {}
  local function visit(s)
    if s.kind == "block" then
      for _, child in ipairs(s.body) do
        if not visit(child) then return false end
      end
    elseif s.kind == "expression" then
      list[#list + 1] = s.tree
    elseif s.kind == "declaration" then
      for _, d in ipairs(s.declared) do list[#list + 1] = d.init end
    elseif s.kind == "if" then
      list[#list + 1] = s.condition
    end
    return not statement.holds(s, JUMPS)
  end
  visit(loop.body)
  return list
end

--- Visits the nodes of a tree that are evaluated whenever it is.
---@param visit fun(node: table)
function M.nodes(tree, visit)
  expression.walk(tree, function(node)
    visit(node)
    if node.kind == "choice" then M.nodes(node.condition, visit) return false end
    if node.kind == "binary" and (node.op == "&&" or node.op == "||") then
      M.nodes(node.a, visit)
      return false
    end
  end)
end

--- The nodes that each iteration of a loop evaluates, as a set.
---@return table<table, true>
function M.set(loop)
  local set = {}
  for _, tree in ipairs(M.trees(loop)) do
    M.nodes(tree, function(node) set[node] = true end)
  end
  return set
end

--- Does each iteration of a loop evaluate a node? true; nil and the sentence where that is unknown.
function M.of(loop, node)
  if M.set(loop)[node] then return true end
  return nil, ("each iteration of the loop at line %d evaluates `%s`"):format(loop.line,
    loop.fn.kernel:plain(node))
end

return M
