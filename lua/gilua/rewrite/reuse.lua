--- reuse: common subexpression elimination of loads
--
-- where     statements
-- needs     certain
-- becomes   an element that it and statements behind it load, loaded once before it
-- promises  apart
--
-- The compiler loads it again behind each store that might have changed it; here two arrays that
-- came as two arguments are taken for different ones. Nothing between the first and the last load
-- writes to the array or to what the index is made of.

local certain = require "gilua.facts.certain"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"

-- The loads of a statement that are surely made where it begins, and all its others: nodes.
local function loads_of(fn, s)
  local list = {}
  for _, access in ipairs(effects.of(fn, s).accesses) do
    local node = access.node
    if node and node.kind == "index" and access.mode == "read" and not access.cached
      and not access.escapes and access.root and fn:element_type(access) then
      list[#list + 1] = { node = node, access = access, text = fn.kernel:plain(node) }
    end
  end
  return list
end

-- Is a node evaluated whenever its statement is? Not behind ?:, && and ||.
local function is_certain(s, node)
  local trees = { s.kind == "expression" and s.tree or s.kind == "if" and s.condition or nil }
  for _, d in ipairs(s.declared or {}) do trees[#trees + 1] = d.init end
  local found = false
  for _, tree in ipairs(trees) do
    certain.nodes(tree, function(at) found = found or at == node end)
  end
  return found
end

local MOST_STATEMENTS = 200

-- From statement i of a block on: the nodes of a load that mean what the one of statement i means.
local function same_from(fn, body, i, load)
  local nodes, last = {}, i
  local pending = {}
  for k = i, #body do
    local s = body[k]
    if s.kind == "directive" and s.name ~= "pragma" or s.kind == "case" or s.kind == "label" then
      break
    end
    for _, other in ipairs(loads_of(fn, s)) do
      if other.text == load.text then pending[#pending + 1] = other.node end
    end
    local all = effects.of(fn, s)
    local is_plain = s.kind == "expression" or s.kind == "declaration"
    local unchanged = loop_of.is_invariant(fn, load.node, all)
    -- A plain statement that stores does so behind its loads; its index must not change.
    local stores_last = is_plain and not all.opaque and not all.barrier
      and s.kind == "expression" and s.tree.kind == "assign" and s.tree.op == "="
    if unchanged or stores_last then
      for _, node in ipairs(pending) do nodes[#nodes + 1] = node end
      if #pending > 0 then last = k end
    end
    pending = {}
    if not unchanged or all.conditional then break end
  end
  return nodes, last
end

-- The loads that begin with a statement on a line: { text, type, base, nodes, statement }.
local function reused(fn, s)
  local list, seen = {}, {}
  local parent = s.parent
  if not parent or parent.kind ~= "block" or #parent.body > MOST_STATEMENTS then return list end
  if s.kind ~= "expression" and s.kind ~= "declaration" and s.kind ~= "if" then return list end
  local i = 1
  while parent.body[i] ~= s do i = i + 1 end
  for _, load in ipairs(loads_of(fn, s)) do
    if not seen[load.text] and is_certain(s, load.node) then
      seen[load.text] = true
      local nodes, last = same_from(fn, parent.body, i, load)
      if #nodes > 1 and last > i then
        list[#list + 1] = { text = load.text, nodes = nodes, base = load.access.base,
                            type = fn:element_type(load.access) }
      end
    end
  end
  return list
end

-- Elements that hold others, a[b[i]], are left to the inner ones.
local function disjoint(list)
  local right = {}
  for _, load in ipairs(list) do
    local inside = false
    for _, other in ipairs(list) do
      for _, node in ipairs(other ~= load and other.nodes or {}) do
        local mine = load.nodes[1]
        inside = inside or mine.first <= node.first and node.last <= mine.last
      end
    end
    if not inside then right[#right + 1] = load end
  end
  return right
end

local function some_loads(at)
  local list = reused(at.fn, at.s)
  return #list > 0 and disjoint(list) or nil
end

return { name = "reuse", where = "statements",
  doc = "An element that several statements load, loaded once before the first.",
  needs = { { "certain", some_loads, gives = "loads",
    says = "no statement there loads what others behind it load again" } },
  becomes = function(at, e)
    local before = {}
    for _, load in ipairs(at.loads) do
      local name = at.names(load.base .. "_here")
      before[#before + 1] = ("const %s %s = %s;"):format(load.type, name, load.text)
      for _, node in ipairs(load.nodes) do e:replace(node.first, node.last, name) end
    end
    e:around(at.s, before)
    return ("%s is loaded once from line %d on"):format(at.loads[1].text, at.line)
  end,
}
