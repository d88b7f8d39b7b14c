--- unsigned: divisions and remainders of whole numbers with a sign, as those of numbers without.
--
-- A GPU has no integer division: it is some twenty instructions, and with a sign a quarter more,
-- for both signs are taken off before and the result's is put on behind. By a constant it is a
-- multiplication and a shift, and three or four more with a sign. Indices have none:
--
--   row = i / width;     row = (int)((unsigned int)i / (unsigned int)width);
--
-- Right where neither number is below 0; what the words do not say of it is promised.

local edit = require "gilua.rewrite.edit"
local expression = require "gilua.source.expression"
local signs = require "gilua.facts.signs"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local UNSIGNED = { int = "unsigned int", long = "unsigned long",
                   ["long long"] = "unsigned long long" }
local DIVIDES = { ["/"] = true, ["%"] = true }
local SUFFIX = { int = "u", long = "ul", ["long long"] = "ull" }

-- The type of a division of numbers with a sign; nil of anything else.
local function type_of(fn, node)
  if node.kind ~= "binary" or not DIVIDES[node.op] then return nil end
  local type = types.of(fn, node)
  if not UNSIGNED[type or ""] or node.a.kind == "number" then return nil end
  return type
end

local function divisions(fn)
  local list = {}
  for _, s in ipairs(fn.statements) do
    for _, tree in ipairs(statement.trees(s)) do
      expression.walk(tree, function(node)
        local type = type_of(fn, node)
        if type then list[#list + 1] = { node = node, type = type } end
      end)
    end
  end
  return list
end

-- Writes a division without signs. Of a / b % c only the whole gets its sign back.
local function put(e, fn, division, inner)
  local node, as = division.node, UNSIGNED[division.type]
  local a, b = node.a, node.b
  local is_sum = (a.kind == "binary" and not inner[a] or a.kind == "choice") and not a.parens
  local sign = inner[node] and "" or ("(%s)("):format(division.type)
  e:before(a.first, sign .. (inner[a] and "" or ("(%s)"):format(as)) .. (is_sum and "(" or ""))
  if is_sum then e:after(a.last, ")") end
  if b.kind == "number" and b.text:find "^%d+$" then
    e:replace(b.first, b.last, b.text .. SUFFIX[division.type])
  else
    e:before(b.first, ("(%s)"):format(as))
  end
  if not inner[node] then e:after(b.last, ")") end
  return signs.is_small(fn, a) and signs.is_small(fn, b)
end

-- All divisions of a function without signs, and whether its words say that they have none; nil
-- where two changes overlap.
local function rewritten(fn, list)
  local e, inner, is_known = edit.new(fn.kernel), {}, true
  for _, division in ipairs(list) do
    for _, other in ipairs(list) do
      local a = division.node.a
      if a == other.node and not a.parens and division.type == other.type then inner[a] = true end
    end
  end
  for _, division in ipairs(list) do is_known = put(e, fn, division, inner) and is_known end
  return e:lines(), is_known
end

local M = { name = "unsigned",
  doc = "Divisions of whole numbers as if they had no sign." }

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    if fn.body and kernel:is_open(fn.line, fn.last_line) and #divisions(fn) > 0 then
      list[#list + 1] = { line = fn.line, args = {} }
    end
  end
  return list
end

function M.make(kernel, line)
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line and fn.body then
      local list = divisions(fn)
      if #list == 0 then return nil, "it divides no whole numbers that have a sign" end
      local edits, is_known = rewritten(fn, list)
      if not edits then return nil, "two changes overlap" end
      return { edits = edits, says = ("%s divides without signs"):format(fn.name),
        promise = not is_known and "the whole numbers that it divides are not negative" or nil }
    end
  end
  return nil, "no function begins there"
end

return M
