--- types: what the host's code says of types: structs and their fields, other names, bytes.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local members = require "gilua.host.members"

local M = {}

local MOST_NAMES = 8 -- one for another

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

--------------------------------------------------------------------------------------------------
-- Reading

-- What a struct is derived from, from the token behind its `:` on: the last names.
local function bases_of(t, i, open)
  local list = {}
  while i < open do
    local angle = t[i] == "<" and csource.angle_end(t, i)
    local is_name = t:kind(i) == "name" and t[i + 1] ~= "::" and not ACCESS[t[i]]
    if is_name then list[#list + 1] = t[i] end
    i = angle and angle + 1 or i + 1
  end
  return list
end

-- Notes a struct's alignment, its bases, and whether it has an attribute that may place its members
-- otherwise.
local function read_head(t, struct)
  local i = struct.at + 1
  while i < struct.open and t[i] ~= ":" do
    local close = t[i + 1] == "(" and t:match(i + 1)
    if close and ALIGNMENTS[t[i]] then struct.align = t:text(i + 2, close - 1)
    elseif close then struct.is_odd = true end
    i = t[i] == "(" and t:match(i) or i
    i = i + 1
  end
  struct.bases = bases_of(t, i + 1, struct.open)
end

-- The names in a union, which are one memory.
local function fields_of_union(one)
  local names = {}
  for _, item in ipairs(one) do
    for _, d in ipairs(item.declared) do names[#names + 1] = d.name end
  end
  return names
end

--- Reads the types of a text: `struct name { … };`, `struct … { … } name;`, `using x = type;`
function M.read(self, code)
  local t, classes = code.t, {}
  for name, words in pairs(code.s:types()) do
    if type(words) == "string" then self.types[name] = self.types[name] or words end
  end
  for _, one in ipairs(code.s:classes()) do
    one.code, one.classes, classes[one.node] = code, classes, one
    read_head(t, one)
    local shared = one.tag == "union" and fields_of_union(one) or {}
    for _, field in ipairs(shared) do self.shares[field] = shared[1] end
    if one.name then self.structs[one.name] = self.structs[one.name] or one end
    local other = t:kind(one.close + 1) == "name" and t[one.close + 2] == ";" and t[one.close + 1]
    if other then self.structs[other] = self.structs[other] or one end
  end
end

--- Does a word end a type whose values are numbers?
---@param word string
---@return boolean
function M.is_number(self, word)
  return word == "auto" or SIZES[word] ~= nil or self.types[word] ~= nil
end

--------------------------------------------------------------------------------------------------
-- Asking

--- How many elements `[a][b]` are; nil where that cannot be known.
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
---@param name string
---@return HostStruct?
function M.struct(self, name)
  for _ = 1, MOST_NAMES do
    if self.structs[name] then return self.structs[name] end
    local other = members.last_name(self.types[name] or "")
    if other == "" or other == name then return nil end
    name = other
  end
end

--- The fields of a struct that the file defines: { name, type, count } each; nil where it is not
--- plain data.
---@param name string
---@return table[]?
function M.fields(self, name)
  local struct, list = self.structs[name], {}
  if not struct or struct.is_odd or #struct.bases > 0 or struct.tag == "union" then return nil end
  for _, item in ipairs(struct) do
    if item.kind ~= "declaration" or struct.classes[item.node] then return nil end
    for _, d in ipairs(item.declared) do
      local count = M.product(self, code_of.extents(struct.code, d))
      local is_plain = d.pointer == 0 and not d.reference and not d["function"] and not d.static
        and d.type:find "%w$" and struct.code.t[d.token + 1] ~= ":"
      if not count or not is_plain then return nil end
      list[#list + 1] = { name = d.name, type = d.type, count = count }
    end
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

local function named_size(self, name)
  local named = self.definitions[name] or self.types[name]
  if named then return self:size_of(named) end
  local fields = self:fields(name)
  return fields and struct_bytes(self, fields, self.structs[name].align)
end

--- Bytes of a type; nil where that is not known.
---@param type string
---@return integer?
function M.size_of(self, type)
  local name
  if type:find "%S%s*%*%s*$" then return 8 end
  if type:find "[^%w_%s:]" then return nil end
  for word in type:gsub("[%w_]+%s*::", ""):gmatch "%S+" do
    if word == "long" or word == "short" then return word == "long" and 8 or 2 end
    name = QUALIFIERS[word] and name or word
  end
  if not name then return nil end
  if SIZES[name] then return SIZES[name] end
  if self.sizes[name] == nil then
    self.sizes[name] = false -- one that holds itself has no size
    self.sizes[name] = named_size(self, name) or false
  end
  return self.sizes[name] or nil
end

--- Returns the size in bytes of a pointer's target.
---@param name string
---@return integer?
function M.pointee_size(self, name)
  for _, type in ipairs(self.pointees[name] or {}) do
    local size = self:size_of(type)
    if size then return size end
  end
end

return M
