--- hoist: what a loop loads anew in each iteration, though nothing there changes it, is loaded
-- once before the loop.
--
-- The compiler leaves such a load in the loop where a store of the loop might change it; here two
-- arrays that came as two arguments are taken for different ones. Only loads that each iteration
-- makes are taken, so that no address is touched that was not.

local edit = require "gilua.transform.edit"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local loop_of = require "gilua.facts.loop"
local statement = require "gilua.source.statement"

local M = { name = "hoist", apart = true,
  doc = "Loads that are the same in each iteration of a loop, made once before it." }

local JUMPS = { ["break"] = true, continue = true, ["return"] = true, ["goto"] = true }

local function has_jump(s)
  local found = false
  statement.walk(s, function(below) found = found or JUMPS[below.kind] or false end)
  return found
end

--- The trees that each iteration of a loop evaluates: not those below an if, in another loop, or
--- behind what may leave the iteration.
---@param loop table
---@return table[]
function M.certain_trees(loop)
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
    return not has_jump(s)
  end
  visit(loop.body)
  return list
end

--- Visits the nodes of a tree that are evaluated whenever it is: not those behind a ?: or a &&.
function M.certain_nodes(tree, visit)
  expression.walk(tree, function(node)
    visit(node)
    if node.kind == "choice" then M.certain_nodes(node.condition, visit) return false end
    if node.kind == "binary" and (node.op == "&&" or node.op == "||") then
      M.certain_nodes(node.a, visit)
      return false
    end
  end)
end

local function access_of(loop, node)
  for _, access in ipairs(loop.inside.accesses) do
    if access.node == node then return access end
  end
end

local function is_free(loop, node)
  local head = loop.statement
  local access = access_of(loop, node)
  if not access or access.mode ~= "read" or access.atomic or not access.root then return nil end
  if not loop_of.is_invariant(loop.fn, node, loop.inside) then return nil end
  for _, part in ipairs { head.init or false, head.step or false } do
    if part and not loop_of.is_invariant(loop.fn, node, effects.of(loop.fn, part)) then
      return nil
    end
  end
  return loop.fn:element_type(access)
end

-- The loads that can be made before the loop: { text, type, base, nodes }.
local function loads(loop)
  local list, by_text = {}, {}
  if loop.opaque or loop.conditional then return list end
  for _, tree in ipairs(M.certain_trees(loop)) do
    M.certain_nodes(tree, function(node)
      local type = node.kind == "index" and is_free(loop, node)
      if not type then return end
      local text = loop.fn.kernel:plain(node)
      if not by_text[text] then
        by_text[text] = { text = text, type = type, nodes = {}, base = effects.root_name(node) }
        list[#list + 1] = by_text[text]
      end
    end)
  end
  for _, access in ipairs(loop.inside.accesses) do -- the uncertain ones are the same
    local node = access.node
    local load = node and node.kind == "index" and by_text[loop.fn.kernel:plain(node)]
    if load and access.mode == "read" and not access.escapes and not access.cached then
      load.nodes[#load.nodes + 1] = node
    end
  end
  return list
end

function M.find(kernel)
  local list = {}
  for _, loop in ipairs(kernel:open_loops()) do
    if #loads(loop) > 0 then
      list[#list + 1] = { line = loop.line, args = {} }
    end
  end
  return list
end

local function hoist(loop)
  local kernel, list = loop.fn.kernel, loads(loop)
  if #list == 0 then return nil, "the loop has no load that is the same in each iteration" end
  local e, before, names = edit.new(kernel), {}, {}
  for _, load in ipairs(list) do
    local name = kernel:fresh(load.base .. "_before")
    while names[name] do name = kernel:fresh(name .. "_too") end
    names[name] = true
    before[#before + 1] = ("const %s %s = %s;"):format(load.type, name, load.text)
    for _, node in ipairs(load.nodes) do e:replace(node.first, node.last, name) end
  end
  e:around(loop.statement, before)
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, says = ("%s is loaded once before the loop at line %d"):format(
    list[1].text, loop.line) }
end

function M.make(kernel, line) return kernel:first_loop(line, hoist) end

return M
