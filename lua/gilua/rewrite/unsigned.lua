--- unsigned: strength reduction of signed division
--
-- where     functions
-- needs     types, signs
-- becomes   divisions and remainders of whole numbers with a sign, as those of numbers without
-- promises  signs
--
-- A GPU has no integer division: it is some twenty instructions, and with a sign a quarter more,
-- for both signs are taken off before and the result's is put on behind. By a constant it is a
-- multiplication and a shift, and three or four more with a sign. Indices have none:
--
--   row = i / width;     row = (int)((unsigned int)i / (unsigned int)width);
--
-- Right where neither number is below 0; what the words do not say of it is promised.

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

local function divisions(at)
  local list, fn = {}, at.fn
  for _, s in ipairs(fn.statements) do
    for _, tree in ipairs(statement.trees(s)) do
      expression.walk(tree, function(node)
        local type = type_of(fn, node)
        if type then list[#list + 1] = { node = node, type = type } end
      end)
    end
  end
  return #list > 0 and list or nil
end

-- Do the words say that no number that it divides is below 0?
local function are_small(at)
  for _, division in ipairs(at.divisions) do
    local node = division.node
    if not signs.is_small(at.fn, node.a) or not signs.is_small(at.fn, node.b) then return nil end
  end
  return true
end

-- Which arguments of a launch have to be not below 0 for that; nil where no arguments say so.
local function asked_of(at)
  local places, seen = {}, {}
  for _, division in ipairs(at.divisions) do
    for _, node in ipairs { division.node.a, division.node.b } do
      local list = signs.small_by(at.fn, node)
      if not list then return nil end
      for _, i in ipairs(list) do
        if not seen[i] then places[#places + 1], seen[i] = i, true end
      end
    end
  end
  return places
end

-- Writes a division without signs. Of a / b % c only the whole gets its sign back.
local function put(e, division, inner)
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
end

local function becomes(at, e)
  local inner = {} -- what another division divides
  for _, division in ipairs(at.divisions) do
    for _, other in ipairs(at.divisions) do
      local a = division.node.a
      if a == other.node and not a.parens and division.type == other.type then inner[a] = true end
    end
  end
  for _, division in ipairs(at.divisions) do put(e, division, inner) end
  return ("%s divides without signs"):format(at.fn.name), { small = asked_of(at) }
end

return { name = "unsigned", where = "functions",
  doc = "Divisions of whole numbers as if they had no sign.",
  needs = {
    { "types", divisions, gives = "divisions",
      says = "it divides no whole numbers that have a sign" },
    { "signs", are_small, says = "the whole numbers that it divides are not negative",
      promised = true },
  },
  becomes = becomes,
}
