--- types: what the host's code says of types: structs and their fields, other names, bytes.

local csource = require "gilua.source.csource"
local members = require "gilua.host.members"

local M = {}

local MOST_WORDS = 400 -- of a list
local MOST_NAMES = 8 -- before the { of a struct, or one for another

local SIZES = { char = 1, bool = 1, int8_t = 1, uint8_t = 1, uchar = 1, short = 2, int16_t = 2,
  uint16_t = 2, half = 2, __half = 2, int = 4, unsigned = 4, signed = 4, float = 4, int32_t = 4,
  uint32_t = 4, uint = 4, double = 8, long = 8, size_t = 8, int64_t = 8, uint64_t = 8 }
for base, size in pairs { char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4, float = 4,
  double = 8, long = 8, ulong = 8, longlong = 8, ulonglong = 8 } do
  for width = 1, 4 do SIZES[base .. width] = width * size end
end
M.SIZES = SIZES

local QUALIFIERS = csource.set "const volatile struct enum class typename static"
local ALIGNMENTS = csource.set "__align__ alignas"
local ACCESS = csource.set "public private protected virtual"
local TAGS = { "struct", "class", "union" }

--------------------------------------------------------------------------------------------------
-- Reading

-- The bracket that closes the one at a token, unless what is between is too long.
local function close_of(t, open)
  local close = t:match(open)
  return close and close > open and close <= open + MOST_WORDS and close or nil
end

-- What a struct is derived from, from the token behind its `:` on: the last names, and its '{'.
local function bases_of(t, i)
  local list, first = {}, i
  while t[i] and t[i] ~= ";" and t[i] ~= "{" and i < first + MOST_WORDS do
    local angle = t[i] == "<" and csource.angle_end(t, i)
    local is_name = t:kind(i) == "name" and t[i + 1] ~= "::" and not ACCESS[t[i]]
    if is_name then list[#list + 1] = t[i] end
    i = angle and angle + 1 or i + 1
  end
  return list, t[i] == "{" and i or nil
end

-- The '{' of the struct whose first token is given, its name, alignment and bases, and whether it
-- has an attribute that says who knows what of where its members lie.
local function struct_head(t, i)
  local name, align, bases, open
  local is_odd = false
  local k = i
  while t:kind(k) == "name" and k <= i + MOST_NAMES do
    local close = t[k + 1] == "(" and close_of(t, k + 1)
    if close and not ALIGNMENTS[t[k]] then is_odd = true
    elseif close then align = t:text(k + 2, close - 1)
    elseif t[k] ~= "final" then name = t[k] end
    k = (close or k) + 1
  end
  if t[k] == ":" then bases, open = bases_of(t, k + 1) end
  return t[k] == "{" and k or open, name, align, bases, is_odd
end

-- `struct name { … };`, `struct … { … } name;`
local function read_struct(self, t, i)
  local open, name, align, bases, is_odd = struct_head(t, i + 1)
  local close = open and t[i - 1] ~= "enum" and t:match(open)
  if not close then return end
  local known = { tokens = t, open = open, align = align, bases = bases, is_odd = is_odd,
    is_union = t[i] == "union" }
  if name then self.structs[name] = self.structs[name] or known end
  if t:kind(close + 1) == "name" and t[close + 2] == ";" then
    self.structs[t[close + 1]] = self.structs[t[close + 1]] or known
  end
end

--- Reads the types of a text.
---@param self HostCode
---@param code HostText
function M.read(self, code)
  for name, words in pairs(code.s:types()) do
    if type(words) == "string" then self.types[name] = self.types[name] or words end
  end
  for _, tag in ipairs(TAGS) do
    local i = code.t:find(1, tag)
    while i do
      read_struct(self, code.t, i)
      i = code.t:find(i + 1, tag)
    end
  end
end

--- Does a word end a type whose values are numbers?
---@param self HostCode
---@param word string
---@return boolean
function M.is_number(self, word)
  return word == "auto" or SIZES[word] ~= nil or self.types[word] ~= nil
end

--------------------------------------------------------------------------------------------------
-- Asking

-- `unsigned n, m[2][3]` from a token to another: the type, and each name with what its [ ] hold;
-- nil where it is anything else.
local function declaration(t, from, to)
  local i = from
  while i < to and t:kind(i + 1) == "name" do i = i + 1 end
  if i == from or t:kind(from) ~= "name" then return nil end
  local type, list = t:text(from, i - 1), {}
  repeat
    local one = { name = t:kind(i) == "name" and t[i] or nil, counts = {} }
    i = i + 1
    while t[i] == "[" and close_of(t, i) do
      one.counts[#one.counts + 1] = t:text(i + 1, t:match(i) - 1)
      i = t:match(i) + 1
    end
    if not one.name or i <= to and t[i] ~= "," then return nil end
    list[#list + 1] = one
    i = i + 1
  until i > to
  return type, list
end

--- How many elements `[a][b]` are; nil where that cannot be known.
---@param self HostCode
---@param counts string[]
---@return number?
function M.product(self, counts)
  local n = 1
  for _, text in ipairs(counts) do
    local v = self:value(text)
    if not v then return nil end
    n = n * v
  end
  return n
end

--- A struct that the file defines, whatever typedef names it.
---@param self HostCode
---@param name string
---@return { tokens: userdata, open: integer, bases?: string[], is_union: boolean }?
function M.struct(self, name)
  for _ = 1, MOST_NAMES do
    if self.structs[name] then return self.structs[name] end
    local t <close> = csource.tokens(self.types[name] or "")
    local other = members.last_name(t, 1, #t)
    if not other or other == name then return nil end
    name = other
  end
end

--- The fields of a struct that the file defines: { name, type, count } each; nil where it is not
--- plain data.
---@param self HostCode
---@param name string
---@return table[]?
function M.fields(self, name)
  local struct = self.structs[name]
  if not struct or struct.is_odd then return nil end
  local t, at, list = struct.tokens, struct.open + 1, {}
  local close = t:match(struct.open)
  while at < close do
    local stop = t:find(at, ";")
    local type, names
    if stop and stop < close then type, names = declaration(t, at, stop - 1) end
    if not type then return nil end
    for _, one in ipairs(names) do
      list[#list + 1] = { name = one.name, type = type, count = M.product(self, one.counts) }
      if not list[#list].count then return nil end
    end
    at = stop + 1
  end
  return #list > 0 and list or nil
end

-- Bytes of a struct: fields at multiples of their size, in all a multiple of the alignment.
local function struct_bytes(self, fields, alignment)
  local bytes, largest = 0, math.max(1, alignment and self:value(alignment) or 1)
  for _, field in ipairs(fields) do
    local size = self:size_of(field.type)
    if not size then return nil end
    local own = math.min(size, 8)
    bytes = ((bytes + own - 1) // own * own) + size * field.count
    largest = math.max(largest, own)
  end
  return (bytes + largest - 1) // largest * largest
end

-- The words of a type without qualifiers and namespaces; nil where it has more than words.
local function type_words(t)
  local words = {}
  for i = 1, #t do
    if t:kind(i) == "name" and t[i + 1] ~= "::" then
      if not QUALIFIERS[t[i]] then words[#words + 1] = t[i] end
    elseif t:kind(i) ~= "name" and t[i] ~= "::" then return nil end
  end
  return words
end

local function named_size(self, name)
  local named = self.definitions[name] or self.types[name]
  if named then return self:size_of(named) end
  local fields = self:fields(name)
  return fields and struct_bytes(self, fields, self.structs[name].align)
end

--- Bytes of a type; nil where that is not known.
---@param self HostCode
---@param type string
---@return integer?
function M.size_of(self, type)
  local t <close> = csource.tokens(type)
  if #t > 1 and t[#t] == "*" then return 8 end
  local words = type_words(t) or {}
  local name = words[#words]
  if not name then return nil end
  for _, word in ipairs(words) do
    if word == "long" or word == "short" then return word == "long" and 8 or 2 end
  end
  if SIZES[name] then return SIZES[name] end
  if self.sizes[name] == nil then
    self.sizes[name] = false -- one that holds itself has no size
    self.sizes[name] = named_size(self, name) or false
  end
  return self.sizes[name] or nil
end

--- Bytes of what a pointer points to.
---@param self HostCode
---@param name string
---@return integer?
function M.pointee_size(self, name)
  for _, type in ipairs(self.pointees[name] or {}) do
    local size = self:size_of(type)
    if size then return size end
  end
end

return M
