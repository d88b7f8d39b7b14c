-- compared: the numbers that a kernel compares its data with, `x[i] == -999.0f`. Random data never
-- hold them, so that nothing tells what happens where they do.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local kernel = require "gilua.transform.kernel"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local MOST = 4 -- numbers, the first ones of the source

local COMPARISONS = { ["<"] = true, [">"] = true, ["<="] = true, [">="] = true, ["=="] = true,
  ["!="] = true }

-- What a source says that a name is: a macro's body, or the value of a constant; "" of none.
local function body_of(source, name)
  return source:match("#%s*define%s+" .. name .. "[ \t]+([^\n]*)")
    or source:match("const[%w_ ]*%f[%w_]" .. name .. "%s*=%s*([^;\n]*);") or ""
end

-- The number that a tree is: a literal, one with a sign before it, a name for one; nil of others.
local function number_of(source, node)
  if node.kind == "unary" and node.op == "-" then
    local value = number_of(source, node.a)
    return value and -value
  end
  local text = node.kind == "number" and node.text
    or node.kind == "name" and body_of(source, node.text:match "[%w_]*$") or ""
  local digits = text:match "^%(?%s*(%-?[%d.]+[eE]?[+-]?%d*)[fFuUlL]*%s*%)?%s*$"
  return digits and tonumber(digits)
end

-- Does a tree come from memory, as far as its own declaration tells?
local function is_loaded(fn, node)
  if #effects.of(fn, node).accesses > 0 then return true end
  local d = node.kind == "name" and fn:declaration(node.text, node.first)
  return d and d.init and #effects.of(fn, d.init).accesses > 0 or false
end

local function is_data(fn, node)
  local type = types.of(fn, node)
  return type == "float" or type == "double" or is_loaded(fn, node)
end

--- The numbers that the functions of a source compare data with, each once.
---@param source string
---@return number[]
function M.of(source)
  local list, seen = {}, {}
  local function note(fn, data, node)
    local value = number_of(source, node)
    if value and not seen[value] and #list < MOST and is_data(fn, data) then
      list[#list + 1], seen[value] = value, true
    end
  end
  for _, fn in ipairs(kernel.of_text(source).functions) do
    for _, s in ipairs(fn.body and fn.statements or {}) do
      for _, tree in ipairs(statement.trees(s)) do
        expression.walk(tree, function(node)
          if node.kind == "binary" and COMPARISONS[node.op] then
            note(fn, node.a, node.b)
            note(fn, node.b, node.a)
          end
        end)
      end
    end
  end
  return list
end

return M
