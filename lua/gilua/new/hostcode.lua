-- hostcode: what the host's part of a file says of a kernel: how it is launched, what its arguments
-- are, how much memory they have. Read, not run: constants are worked out where they can be.

local branches = require "gilua.new.branches"
local slice = require "gilua.new.slice"

local M = {}
M.__index = M

local MOST_DEPTH = 20 -- of constants that are made of others
local SIZES = { char = 1, bool = 1, int8_t = 1, uint8_t = 1, uchar = 1, short = 2, int16_t = 2,
  uint16_t = 2, half = 2, __half = 2, int = 4, unsigned = 4, float = 4, int32_t = 4, uint32_t = 4,
  uint = 4, double = 8, long = 8, size_t = 8, int64_t = 8, uint64_t = 8, float2 = 8, float3 = 12,
  float4 = 16, int2 = 8, int3 = 12, int4 = 16, double2 = 16, uchar4 = 4, uint2 = 8, uint4 = 16 }

--------------------------------------------------------------------------------------------------
-- Lists

--- Parts of a text at commas outside parentheses.
---@param text string
---@return string[]
function M.split(text)
  local list, depth, start = {}, 0, 1
  for i = 1, #text do
    local c = text:sub(i, i)
    if c:find("[%(%[{]") then depth = depth + 1
    elseif c:find("[%)%]}]") then depth = depth - 1
    elseif c == "," and depth == 0 then
      list[#list + 1] = text:sub(start, i - 1):match("^%s*(.-)%s*$")
      start = i + 1
    end
  end
  local last = text:sub(start):match("^%s*(.-)%s*$")
  if #list > 0 or last ~= "" then list[#list + 1] = last end
  return list
end

local function line_at(text, byte)
  return select(2, text:sub(1, byte - 1):gsub("[\n\r]", "")) + 1 -- \r: see read_macros
end

--------------------------------------------------------------------------------------------------
-- Constants

local function define(self, name, text, line)
  self.definitions[name] = self.definitions[name] or { text = text, line = line }
end

local function read_macros(self, code)
  local joined = code:gsub("\\\r?\n", " \r ") -- a continued line is one; its lines still count
  for at, name, rest in joined:gmatch("()#%s*define%s+([%a_][%w_]*)([^\n]*)") do
    rest = rest:gsub("\r", " ")
    local params, body = rest:match("^(%b())%s*(.+)$")
    if params then
      self.functions[name] = { params = params, body = body }
    elseif rest:find("%S") then
      define(self, name, rest, line_at(code, at))
    end
  end
end

local function is_balanced(text)
  local _, open = text:gsub("%(", "")
  local _, close = text:gsub("%)", "")
  return open == close
end

-- `name = value` up to a comma, unless that is one of a call; up to a semicolon; `name{value};`.
local function read_values(self, code)
  for at, name, value in code:gmatch("()%f[%w_]([%a_][%w_]*)%s*=%s*([^=;,{}][^;,{}]*)%f[;,]") do
    if is_balanced(value) then define(self, name, value, line_at(code, at)) end
  end
  for at, name, values in code:gmatch("()%f[%w_]([%a_][%w_]*)%s*=%s*([^=;{}][^;{}]*)%f[;]") do
    local parts = M.split(values)
    define(self, name, parts[1], line_at(code, at))
    for i = 2, #parts do
      local other, value = parts[i]:match("^([%a_][%w_]*)%s*=%s*(.+)$")
      if other then define(self, other, value, line_at(code, at)) end
    end
  end
  for at, name, value in code:gmatch("()%f[%w_]([%a_][%w_]*)%s*{%s*([^;,{}]+)}%s*;") do
    define(self, name, value, line_at(code, at))
  end
end

local function read_dims(self, code)
  for at, list in code:gmatch("()%f[%w_]dim3%s+([^;]*);") do
    for name, values in list:gmatch("([%a_][%w_]*)%s*=?%s*d?i?m?3?%s*([%({].-[%)}])%s*%f[,%z]") do
      self.dims[name] = { text = values, line = line_at(code, at) }
    end
    for name, values in list:gmatch("([%a_][%w_]*)%s*=?%s*d?i?m?3?%s*(%b())") do
      self.dims[name] = { text = values, line = line_at(code, at) }
    end
  end
end

local function read_variables(self, code)
  read_values(self, code)
  for at, name, list in code:gmatch("()%f[%w_]([%a_][%w_]*)%s*=%s*(%b{})%s*;") do
    self.aggregates[name] = { list = M.split(list:sub(2, -2)), line = line_at(code, at) }
  end
  read_dims(self, code)
end

-- C's expression in Lua's syntax. Of `a ? b : c` c is taken: it is what stands where no argument is
-- given on the command line.
local function as_lua(self, text)
  text = text:gsub("^.*%?[^:]*:%f[^:]", "")
  text = text:gsub("sizeof%s*%(([^()]*)%)", function(type)
    return tostring(self:size_of(type) or "nil")
  end)
  text = text:gsub("sizeof%s*%*%s*([%a_][%w_]*)", function(name)
    return tostring(self:pointee_size(name) or "nil")
  end)
  text = text:gsub("static_cast%s*%b<>", ""):gsub("std::", "")
  text = text:gsub("%(%s*(%a[%w_ ]*)%s*%)%s*%f[%w_(]", function(type)
    local word = type:match("([%w_]+)%s*$")
    return SIZES[word] and " " or nil
  end)
  text = text:gsub("(%d)'(%d)", "%1%2"):gsub("%f[%w_.](%d[%w.]*)", function(number)
    if number:find("^0[xX]") then return (number:gsub("[uUlL]+$", "")) end
    return (number:gsub("[uUlLfF]+$", ""))
  end)
  if not text:find("%d%.") and not text:find("%.%d") then text = text:gsub("/", "//") end
  return text
end

local function environment(self, depth)
  return setmetatable({ max = math.max, min = math.min, ceil = math.ceil, sqrt = math.sqrt }, {
    __index = function(_, name)
      local f = self.functions[name]
      if f then return self:macro(f, depth) end
      local dim = self.dims[name]
      if dim then
        local xyz = self:dimensions(dim.text, depth + 1)
        return xyz and { x = xyz[1], y = xyz[2], z = xyz[3] }
      end
      local d = self.definitions[name]
      if d then return self:value(d.text, depth + 1) end
      return setmetatable({}, { __index = function(_, field) -- params.n, after params.n = 64
        local member = self.definitions[field]
        return member and self:value(member.text, depth + 1)
      end })
    end,
  })
end

function M:macro(f, depth)
  local chunk = load(("return function%s return %s end"):format(f.params, as_lua(self, f.body)),
    "=macro", "t", environment(self, depth + 1))
  return chunk and chunk()
end

--- The value of an expression of the host's code, a number; nil where it cannot be known.
---@param text string
---@return number?
function M:value(text, depth)
  depth = depth or 0
  if depth > MOST_DEPTH then return nil end
  local chunk = load("return " .. as_lua(self, text), "=expression", "t", environment(self, depth))
  if not chunk then return nil end
  local ok, value = pcall(chunk)
  if not ok or type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
    return nil
  end
  return math.tointeger(value) or value
end

--- Three sizes of a grid or block: `dim3(16, 16)`, `(16, 16)`, a variable, or a number.
---@return integer[]?
function M:dimensions(text, depth)
  depth = depth or 0
  local dim = self.dims[text:match("^%s*([%a_][%w_]*)%s*$") or ""]
  if dim and depth < MOST_DEPTH then return self:dimensions(dim.text, depth + 1) end
  local inner = text:match("^%s*dim3%s*[%({](.*)[%)}]%s*$") or text:match("^%s*%{(.*)%}%s*$")
    or text:match("^%s*%((.*)%)%s*$")
  local xyz = { 1, 1, 1 }
  local parts = M.split(inner or text)
  if #parts > 3 then return nil end
  for i, part in ipairs(parts) do
    local v = self:value(part, depth + 1)
    if not v then return nil end
    xyz[i] = math.tointeger(v) or math.ceil(v)
  end
  return xyz
end

--------------------------------------------------------------------------------------------------
-- Types

-- Bytes of a struct: fields at multiples of their size.
local function struct_bytes(self, fields)
  local bytes, largest = 0, 1
  for _, field in ipairs(fields) do
    local size = self:size_of(field.type)
    if not size then return nil end
    local align = math.min(size, 8)
    bytes = ((bytes + align - 1) // align * align) + size * field.count
    largest = math.max(largest, align)
  end
  return (bytes + largest - 1) // largest * largest
end

--- The fields of a struct that the file defines: { name, type, count } each; nil where it is not
--- plain data.
---@param name string
---@return table[]?
function M:fields(name)
  local body = self.code:match("struct%s+" .. name .. "%s*(%b{})")
    or self.code:match("struct%s*[%w_]*%s*(%b{})%s*" .. name .. "%s*;")
  if not body or body:find("[%(]") then return nil end
  local list = {}
  for statement in body:sub(2, -2):gmatch("([^;]+);") do
    local type, names = statement:match("^%s*([%a_][%w_ ]-)%s+([%a_][%w_,%s%[%]]*)$")
    if not type then return nil end
    for _, declarator in ipairs(M.split(names)) do
      local field, count = declarator:match("^([%a_][%w_]*)%s*%[%s*([^%]]+)%]$")
      list[#list + 1] = { name = field or declarator, type = type,
        count = count and self:value(count) or 1 }
    end
  end
  return #list > 0 and list or nil
end

function M:size_of(type)
  local word = type:gsub("%f[%w_]const%f[^%w_]", ""):match("([%w_]+)%s*$")
  if type:find("%*%s*$") then return 8 end
  if word == nil then return nil end
  if type:find("long%s+long") then return 8 end
  if SIZES[word] then return SIZES[word] end
  local named = self.definitions[word] and self.definitions[word].text
    or self.code:match("typedef%s+([%w_ ]-)%s+" .. word .. "%s*;")
    or self.code:match("using%s+" .. word .. "%s*=%s*([%w_ ]-)%s*;")
  if named and named ~= type then return self:size_of(named) end
  local fields = self:fields(word)
  return fields and struct_bytes(self, fields)
end

function M:pointee_size(name)
  local type = self.code:match("([%a_][%w_]*)%s*%*%s*" .. name .. "%f[^%w_]")
  return type and self:size_of(type)
end

--------------------------------------------------------------------------------------------------
-- Launches and memory

-- `kernel<T, 256>` before <<<: where it begins, its template's arguments.
local function launched_name(code, at, kernel)
  local before = code:sub(1, at - 1):gsub("%s+$", "")
  if before:sub(-1) ~= ">" then
    return before:match("%f[%w_]" .. kernel .. "$") and {} or nil
  end
  for i = #before, 1, -1 do
    if before:sub(i, i) == "<" and select(2, before:sub(i):gsub("<", "")) ==
        select(2, before:sub(i):gsub(">", "")) then
      local name = before:sub(1, i - 1):gsub("%s+$", "")
      return name:match("%f[%w_]" .. kernel .. "$") and M.split(before:sub(i + 1, -2)) or nil
    end
  end
  return nil
end

--- The first launch of a kernel: { line, template, grid, block, shared, args } as texts.
---@param kernel string
---@return table?
function M:launch(kernel)
  local at = 1
  while true do
    local from, to = self.code:find("<<<", at, true)
    if not from then return nil end
    local template = launched_name(self.code, from, kernel)
    local close = self.code:find(">>>", to, true)
    if template and close then
      local how = M.split(self.code:sub(to + 1, close - 1))
      local args = self.code:match("^%s*(%b())", close + 3)
      return { line = line_at(self.code, from), template = template, grid = how[1], block = how[2],
        shared = how[3], args = M.split((args or "()"):sub(2, -2)) }
    end
    at = to + 1
  end
end

--- How many bytes the host asks for under a name: { bytes, line }, where it can be known.
---@param name string
---@return table?
function M:allocation(name)
  name = name:gsub("%[.*%]$", ""):gsub("%.data%(%)$", "")
  local plain = name:gsub("%p", "%%%0")
  for at, list in self.code:gmatch("()cudaMalloc[%w]*%s*(%b())") do
    local args = M.split(list:sub(2, -2))
    if args[1] and args[1]:find("&%s*" .. plain .. "%f[^%w_]") and args[2] then
      local found = { text = args[2], line = line_at(self.code, at) }
      if args[4] then -- cudaMallocPitch(&p, &pitch, width, height): rows of at least so many bytes
        local w, h = self:value(args[3]), self:value(args[4])
        found.bytes = w and h and w * h -- rows without padding
        return found
      end
      found.bytes = self:value(args[2])
      if found.bytes and found.bytes <= 0 then found.bytes = nil end
      return found
    end
  end
  return nil
end

--- How many bytes are copied to a __constant__ or __device__ variable is for its declaration to
--- say: `type name[count];` as { type, count }.
---@return table[] list of { name, type, count }
function M:constants()
  local list = {}
  for type, name, count in self.code:gmatch(
      "__constant__%s+([%a_][%w_ ]-)%s+([%a_][%w_]*)%s*(%[?[^;=]*);") do
    local n = 1
    for inner in count:gmatch("%[([^%]]*)%]") do n = n * (self:value(inner) or 0) end
    list[#list + 1] = { name = name, type = type, count = n }
  end
  return list
end

---@param text string the file
---@param headers? table[] those it includes: { name = as spelled there, text }
---@param defines? string[] macros of the command line: "NAME" or "NAME=VALUE"
---@return table
---@return string? why conditions (#if) could not be evaluated: then every branch counts
function M.read(text, headers, defines)
  local self = setmetatable({ definitions = {}, functions = {}, dims = {}, aggregates = {} },
    M)
  local files = {}
  for i, file in ipairs { { name = "the file", text = text }, table.unpack(headers or {}) } do
    local plain = file.text:gsub("\r", "")
    files[i] = { name = file.name, text = plain, code = slice.code_of(plain) }
  end
  local all, why = branches.kept(files, defines or {})
  for _, code in ipairs(all) do
    read_macros(self, code)
    read_variables(self, code)
  end
  self.code = table.concat(all, "\n")
  for name, aggregate in pairs(self.aggregates) do -- SimParams params = { 64, 0.1f };
    local type = self.code:match("([%a_][%w_]*)%s+" .. name .. "%s*=%s*%{")
    for i, field in ipairs(type and self:fields(type) or {}) do
      if aggregate.list[i] then define(self, field.name, aggregate.list[i], aggregate.line) end
    end
  end
  for list in self.code:gmatch("cudaMallocPitch%s*(%b())") do
    local args = M.split(list:sub(2, -2))
    local pitch = (args[2] or ""):match("&%s*([%a_][%w_]*)")
    if pitch then define(self, pitch, args[3], 0) end
  end
  return self, why
end

return M
