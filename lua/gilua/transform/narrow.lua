--- narrow: whole numbers of 64 bits that a function counts and indexes with become ones of 32.
--
-- A GPU has no 64-bit integer unit: an addition is two instructions, a multiplication four or more,
-- and each variable takes two registers. Variables and casts of the function change; its
-- parameters keep their type and are narrowed where they are read; memory stays as it is. Whether
-- all numbers fit, the answers say.

local edit = require "gilua.rewrite.edit"
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

-- Changes the types of 64 bits from token to token, but those of pointers; how many.
local function change_words(e, fn, first, last)
  local words, i, n = fn.kernel.words, first, 0
  while i <= last do
    local stop, type = words_from(words, i, last)
    local new = stop >= i and narrowed(type)
    local behind = words[stop + 1] == "const" and words[stop + 2] or words[stop + 1]
    if new and behind ~= "*" and behind ~= "double" and not casts_address(fn, i, stop) then
      e:replace(i, stop, new)
      n = n + 1
    end
    i = math.max(stop, i) + 1
  end
  return n
end

local function reads_of_parameters(e, fn)
  local all, n = effects.of(fn, fn.body), 0
  for _, p in ipairs(fn.params) do
    local new = p.pointer == 0 and not p.reference and narrowed(p.type)
    if new and not all.writes[p.name] then
      local done = {}
      for _, token in ipairs(all.reads[p.name] or {}) do
        local is_word = fn.kernel.words[token] == p.name and not done[token]
        if is_word and fn:declaration(p.name, token) == p then
          e:before(token, ("(%s)"):format(new))
          done[token], n = true, n + 1
        end
      end
    end
  end
  return n
end

local function is_narrow(s)
  local d = s.declared[1]
  return d.pointer == 0 and not d.reference and narrowed(d.type) ~= nil
end

local function refusal(fn)
  if not fn.body then return "its text is not understood" end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if narrowed(d.type) and (d.pointer > 0 or d.reference or fn.addressed[d.name]) then
        return ("the address of %s is used"):format(d.name)
      end
    end
  end
end

local function try(fn)
  local why = refusal(fn)
  if why then return nil, why end
  local e, n = edit.new(fn.kernel), 0
  for _, s in ipairs(fn.statements) do
    if s.kind == "declaration" and (is_narrow(s) or not narrowed(s.declared[1].type)) then
      n = n + change_words(e, fn, s.first, s.last)
    elseif s.kind == "expression" or s.kind == "return" then
      n = n + change_words(e, fn, s.first, s.last)
    elseif s.header then
      n = n + change_words(e, fn, s.header[2] + 1, s.header[4])
    elseif s.condition then
      n = n + change_words(e, fn, s.open, s.close)
    end
  end
  n = n + reads_of_parameters(e, fn)
  if n == 0 then return nil, "it has no numbers of 64 bits" end
  local edits = e:lines()
  return edits, edits == nil and "two changes overlap" or nil
end

local M = { name = "narrow", judged = true, promise = "its whole numbers fit into 32 bits",
  doc = "A function's whole numbers of 64 bits, in 32." }

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    if kernel:is_open(fn.line, fn.last_line) and try(fn) then
      list[#list + 1] = { line = fn.line, args = {} }
    end
  end
  return list
end

function M.make(kernel, line)
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line then
      local edits, why = try(fn)
      if not edits then return nil, why end
      return { edits = edits, says = ("%s counts in 32 bits"):format(fn.name) }
    end
  end
  return nil, "no function begins there"
end

return M
