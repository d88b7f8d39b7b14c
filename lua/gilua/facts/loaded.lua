--- loaded: is a value loaded from memory, or made of one that is, so that other data give another?
--
-- A variable is where anything that it is given, at its declaration or later, is. Of what is not
-- understood the answer is yes.

local effects = require "gilua.facts.effects"
local statement = require "gilua.source.statement"

local M = {}

--- Is a tree loaded, or made of one of some names?
---@param names table<string, true> of M.names
function M.of(fn, tree, names)
  local all = effects.of(fn, tree)
  if #all.accesses > 0 or all.opaque then return true end
  for name in pairs(all.reads) do
    if names[name] then return true end
  end
  return false
end

-- Calls visit(name, value) for each value that a function gives a variable.
local function each_given(fn, visit)
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.init then visit(d.name, d.init) end
    end
  end
  statement.nodes(fn.statements, function(node)
    if node.kind == "assign" and node.a.kind == "name" then visit(node.a.text, node.b) end
  end)
end

--- Returns the variables of a function that are loaded, or made of such.
---@return table<string, true>
function M.names(fn)
  if fn.loaded_names then return fn.loaded_names end
  local names, again = {}, true
  while again do
    again = false
    each_given(fn, function(name, value)
      if not names[name] and M.of(fn, value, names) then names[name], again = true, true end
    end)
  end
  fn.loaded_names = names
  return names
end

return M
