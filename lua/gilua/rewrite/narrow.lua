--- narrow: bit-width reduction (strength reduction of 64-bit integers)
--
-- where     functions
-- needs     memory_of, types
-- becomes   whole numbers of 64 bits that it counts and indexes with, in 32
-- promises  numbers
--
-- A GPU has no 64-bit integer unit: an addition is two instructions, a multiplication four or more,
-- and each variable takes two registers. Variables and casts of the function change; its
-- parameters keep their type and are narrowed where they are read; memory stays as it is. Whether
-- all numbers fit, the answers say.

local effects = require "gilua.facts.effects"
local types = require "gilua.facts.types"

local NARROW = { long = "int", ["long long"] = "int", ptrdiff_t = "int", intptr_t = "int",
                 ["unsigned long"] = "unsigned int", ["unsigned long long"] = "unsigned int" }

local PART = { unsigned = true, long = true, int = true, signed = true, size_t = true,
               int64_t = true, uint64_t = true, ptrdiff_t = true }

-- What a type of 64 bits becomes; nil of any other.
local function narrowed(type) return NARROW[types.plain(type)] end

-- The last token of a type's words that begin at i, and what they say.
local function words_from(words, i, last)
  local k, list = i, {}
  while k <= last and PART[words[k]] do
    list[#list + 1] = words[k]
    k = k + 1
  end
  return k - 1, table.concat(list, " ")
end

-- Is what is cast to the type that ends at `stop` an address? It keeps its 64 bits.
local function casts_address(fn, first, stop)
  local words = fn.kernel.words
  local operand = words[stop + 2]
  if words[first - 1] ~= "(" or words[stop + 1] ~= ")" then return false end
  local d = fn:declaration(operand, stop + 2)
  return operand == "&"
    or d ~= nil and (d.pointer > 0 or #d.extents > 0 or d.type == "auto") and words[stop + 3] ~= "["
end

-- Adds the types of 64 bits from token to token, but those of pointers.
local function add_words(list, fn, first, last)
  local words, i = fn.kernel.words, first
  while i <= last do
    local stop, type = words_from(words, i, last)
    local new = stop >= i and narrowed(type)
    local behind = words[stop + 1] == "const" and words[stop + 2] or words[stop + 1]
    if new and behind ~= "*" and behind ~= "double" and not casts_address(fn, i, stop) then
      list[#list + 1] = { first = i, last = stop, text = new }
    end
    i = math.max(stop, i) + 1
  end
end

-- Adds casts where parameters are read that keep their type.
local function add_parameters(list, fn)
  local all = effects.of(fn, fn.body)
  for _, p in ipairs(fn.params) do
    local new = p.pointer == 0 and not p.reference and narrowed(p.type)
    local done = {}
    for _, token in ipairs(new and not all.writes[p.name] and all.reads[p.name] or {}) do
      local is_word = fn.kernel.words[token] == p.name and not done[token]
      if is_word and fn:declaration(p.name, token) == p then
        list[#list + 1] = { first = token, text = ("(%s)"):format(new) }
        done[token] = true
      end
    end
  end
end

local function is_narrow(s)
  local d = s.declared[1]
  return d.pointer == 0 and not d.reference and narrowed(d.type) ~= nil
end

-- The words of a function that become others, and where casts are needed.
local function wide(at)
  local list, fn = {}, at.fn
  for _, s in ipairs(fn.statements) do
    if s.kind == "declaration" and (is_narrow(s) or not narrowed(s.declared[1].type))
      or s.kind == "expression" or s.kind == "return" then
      add_words(list, fn, s.first, s.last)
    elseif s.header then
      add_words(list, fn, s.header[2] + 1, s.header[4])
    elseif s.condition then
      add_words(list, fn, s.open, s.close)
    end
  end
  add_parameters(list, fn)
  return #list > 0 and list or nil
end

-- May nothing lead to a number that becomes another?
local function has_no_address(at)
  for _, s in ipairs(at.fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if narrowed(d.type) and (d.pointer > 0 or d.reference or at.fn.addressed[d.name]) then
        return nil, ("the address of %s is used"):format(d.name)
      end
    end
  end
  return true
end

return { name = "narrow", where = "functions", judged = true,
  promise = "its whole numbers fit into 32 bits",
  doc = "A function's whole numbers of 64 bits, in 32.",
  needs = {
    { "memory_of", has_no_address },
    { "types", wide, gives = "wide", says = "it has no numbers of 64 bits" },
  },
  becomes = function(at, e)
    for _, one in ipairs(at.wide) do
      if one.last then
        e:replace(one.first, one.last, one.text)
      else
        e:before(one.first, one.text)
      end
    end
    return ("%s counts in 32 bits"):format(at.fn.name)
  end,
}
