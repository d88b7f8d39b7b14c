-- argumentguess: what a kernel's arguments hold. Values and sizes of arrays come from the host's
-- code where that says them (gilua.hostcode); roles from how a name stands in the kernel; the rest
-- is guessed, and its note begins with GUESS.

local fail = require "gilua.base.fail"
local launchguess = require "gilua.new.launchguess"
local tablecase = require "gilua.problem.tablecase"

local M = {}

local DIMENSIONS = { "x", "y", "z" }
local MOST_TIMES = 16 -- an array is so many times a size
local LEAST_LINKED = 16 -- smaller numbers are equal by chance
local WHOLE = { [1] = "u8", [2] = "i16", [4] = "i32", [8] = "i64" }

---@class ArgumentGuess a row of `args` in problem.lua
---@field name string
---@field type string
---@field value? string as it is written
---@field count? string an expression
---@field fields? string as it is written
---@field fill? string as it is written
---@field role? string "in" is not written
---@field notes string[]
---@field count_guessed? boolean

--- The pattern of a whole word.
local function word(name)
  return "%f[%w_]" .. name .. "%f[^%w_]"
end

M.word = word

local function note(arg, text)
  if text and text ~= "" then arg.notes[#arg.notes + 1] = (text:gsub("%s+", " ")) end
end

local function size_name(d)
  return "size_" .. DIMENSIONS[d]
end

--------------------------------------------------------------------------------------------------
-- Scalars

-- The dimension whose size an argument says.
local function linked_dimension(g, name)
  for d = 1, g.used do
    if g.shape.link[d] == name then return d end
  end
end

-- The argument that says a size of this value.
local function same_size(g, value)
  if math.type(value) ~= "integer" or value <= LEAST_LINKED then return nil end
  for d = 1, g.used do
    if g.shape.link[d] and g.shape.size[d] == value then return g.shape.link[d] end
  end
end

local function number_text(value)
  if math.type(value) == "integer" then return tostring(value) end
  local short = ("%.9g"):format(value)
  return tonumber(short) == value and short or ("%.17g"):format(value)
end

local function scalar_value(g, p, i)
  local text, d = g.launch and g.launch.args[i], linked_dimension(g, p.name)
  if d then return ('"%s"'):format(size_name(d)), text or p.text end
  local value = g.values[p.name]
  if value then
    local other = same_size(g, value)
    return other and ('"%s"'):format(other) or number_text(value), text
  end
  if p.type:find("^f") then return "1.0", "GUESS: nothing says what it is" end
  d = launchguess.dimension_by_name(p.name, g.used)
  if d then return ('"%s"'):format(size_name(d)), "GUESS: from its name" end
  return "1", "GUESS: nothing says what it is"
end

local function scalar(g, p, i)
  local arg = { name = p.name, type = p.type, notes = {} }
  local from
  arg.value, from = scalar_value(g, p, i)
  note(arg, from)
  return arg
end

--------------------------------------------------------------------------------------------------
-- Structs by value

local function plain_type(p, behind)
  return p.text:gsub("%f[%w_]const%f[^%w_]", ""):match("([%a_][%w_]*)%s*" .. behind) or ""
end

-- A field's value as it is written, and whether it is a guess.
local function field_text(g, f, kind)
  local value = g.host:value(f.name)
  local d = linked_dimension(g, f.name)
  if value and d and value == g.shape.size[d] then return ('"%s"'):format(size_name(d)), false end
  if not value then return kind:find("^f") and "1.0" or "1", true end
  local text = tostring(value)
  return kind:find("^f") and math.type(value) == "integer" and text .. ".0" or text, false
end

local function field_kind(g, f)
  return f.type:find("float") and "f32" or f.type:find("double") and "f64"
    or WHOLE[g.host:size_of(f.type) or 0] or "i32"
end

local function refuse_struct(g, p, why)
  fail("kernel %s takes the struct '%s', %s in %s: pass its fields one by one, or write "
    .. "problem.lua by hand (docs/own-kernels.md)", g.kernel, p.text, why, g.path)
end

-- The compiler knows how many bytes it has: another number means that a field was not understood.
local function check_layout(g, p, fields)
  local row = { fields = {} }
  for i, f in ipairs(fields) do
    local zeros = {}
    for k = 1, f.count do zeros[k] = 0 end
    row.fields[i] = { f.name, field_kind(g, f), zeros }
  end
  if #tablecase.struct(row, {}, p.name) ~= p.bytes then
    refuse_struct(g, p, "which holds more than plain numbers")
  end
end

local function struct(g, p)
  local fields = g.host:fields(plain_type(p, "&?%s*[%a_][%w_]*%s*$"))
  if not fields then refuse_struct(g, p, "whose fields cannot be read") end
  check_layout(g, p, fields)
  local arg, list, any = { name = p.name, type = "struct", notes = {} }, {}, false
  for i, f in ipairs(fields) do
    local kind = field_kind(g, f)
    local text, guessed = field_text(g, f, kind)
    if f.count > 1 then text = "{ " .. (text .. ", "):rep(f.count):sub(1, -3) .. " }" end
    list[i], any = ('{ "%s", "%s", %s }'):format(f.name, kind, text), any or guessed
  end
  arg.fields = "{ " .. table.concat(list, ", ") .. " }"
  note(arg, any and "GUESS: values of its fields")
  return arg
end

--------------------------------------------------------------------------------------------------
-- How many elements

local function times(text, k)
  return k == 1 and text or ("%s * %d"):format(text, k)
end

-- n as one of the quantities { text, value } or a multiple of it.
local function single_text(list, n)
  for _, a in ipairs(list) do
    for k = 1, MOST_TIMES do
      if a[2] * k == n then return times(a[1], k) end
    end
    if a[2] + 1 == n then return a[1] .. " + 1" end
  end
end

local function product_text(list, n)
  for i, a in ipairs(list) do
    for k = i + 1, #list do
      local both = a[2] * list[k][2]
      for each = 1, MOST_TIMES do
        if both * each == n then return times(a[1] .. " * " .. list[k][1], each) end
      end
    end
  end
end

-- Expressions that give n, the simplest first: over arguments that are sizes, then sizes.
local function count_text(g, n)
  local names, sizes = {}, {}
  for i, p in ipairs(g.params) do
    local v, arg = g.values[p.name], g.args[i]
    if arg and arg.value and arg.value:find('^"') and math.type(v) == "integer" and v > 1 then
      names[#names + 1] = { p.name, v }
    end
  end
  for d = 1, g.used do sizes[d] = { size_name(d), g.shape.size[d] } end
  return single_text(names, n) or product_text(names, n) or single_text(sizes, n)
    or product_text(sizes, n)
end

local function total(g)
  local list = {}
  for d = 1, g.used do list[d] = size_name(d) end
  return table.concat(list, " * ")
end

local function guessed_count(g, p, width)
  if g.sparse.rows == p then return total(g) .. " + 1" end
  local loop = g.sparse.loop
  if loop and g.body:find(word(p.name) .. "%s*%[%s*" .. loop .. "%s*%]") then
    return g.sparse.nonzeros
  end
  return total(g) .. (width > 1 and " * " .. width or "")
end

-- From the bytes that the host asks for, else a guess.
local function set_count(g, p, i, arg, width)
  local text = g.launch and g.launch.args[i]
  local allocation = text and g.host:allocation(text)
  local bytes, element = allocation and allocation.bytes, p.bytes // width
  if not bytes or bytes % element ~= 0 then
    arg.count, arg.count_guessed = guessed_count(g, p, width), true
    note(arg, "GUESS: how many")
    return
  end
  local n = bytes // element
  local product = n % width == 0 and count_text(g, n // width)
  arg.count = product and (width > 1 and product .. " * " .. width or product) or tostring(n)
  note(arg, ("%d bytes, line %d"):format(bytes, allocation.line))
end

--- Sparse rows: the array of offsets that is read in pairs, the variable that runs between them,
--- and how many elements the offsets point into.
---@param g table
---@return { rows?: table, loop?: string, nonzeros: string }
function M.sparse(g)
  local rows
  for _, p in ipairs(g.params) do
    if not rows and p.pointer and p.const and p.type and p.type:find("^[iu]")
        and g.body:find(word(p.name) .. "%s*%[[^%[%]]*%+%s*1%s*%]") then
      rows = p
    end
  end
  local loop = rows and g.body:match("for%s*%(%s*[%w_:%s]-([%a_][%w_]*)%s*=%s*" .. rows.name)
  return { rows = rows, loop = loop, nonzeros = "size_x * 8" }
end

--------------------------------------------------------------------------------------------------
-- Roles, fills, element types

-- What one place in the code does with a name: "read", "written", "changed" or "other".
local function use_at(body, from, to)
  local before = body:sub(math.max(1, from - 2), from - 1)
  local indexed = body:match("^%s*%b[]()", to)
  local after = body:sub(indexed or to)
  while indexed and after:find("^%s*%.%s*[%a_]") do -- a member of the element
    after = after:gsub("^%s*%.%s*[%w_]+", "", 1)
  end
  if after:find("^%s*[%+%-%*/%%&|^]=") or after:find("^%s*<<=") or after:find("^%s*>>=")
      or after:find("^%s*%+%+") or after:find("^%s*%-%-")
      or before:find("%+%+$") or before:find("%-%-$") or before:find("&%s*$") then
    return "changed"
  end
  if not indexed and not body:sub(1, from - 1):find("%*%s*$") then return "other" end
  return after:find("^%s*=[^=]") and "written" or "read"
end

-- Is it read, is it written? From how its name stands in the kernel.
local function role_of(g, p)
  if p.const then return "in" end
  local uses = {}
  for from, to in g.body:gmatch("()" .. word(p.name) .. "()") do
    uses[use_at(g.body, from, to)] = true
  end
  if uses.other or uses.changed then return "inout" end -- passed on: who knows
  if not uses.written then return "in" end
  return uses.read and "inout" or "out"
end

-- What an array of whole numbers begins with: is it an index of something, or offsets of rows?
local function fill_of(g, p, type, role)
  if type:find("^f") or role == "out" then return nil end
  if role == "inout" then return "0" end
  local name = word(p.name)
  if g.body:find(name .. "%s*%[[^%[%]]*%+%s*1%s*%]")
      and g.body:find(name .. "%s*%[[^%[%]+]*%]") then
    return ('{ ascending = "%s" }'):format(g.sparse.nonzeros), "GUESS: offsets, read in pairs"
  end
  for index in g.body:gmatch("(%b[])") do
    if index:find(name) then return '{ 0, "size_x - 1" }', "GUESS: used as an index" end
  end
  return type == "u8" and "{ 0, 255 }" or "{ 0, 100 }"
end

-- Element type and how many of them an element of the argument has.
local function element_of(g, p)
  if not p.struct then return p.type, p.width end
  local fields = g.host:fields(plain_type(p, "%*"))
  local float = not fields
  for _, f in ipairs(fields or {}) do float = float or f.type:find("float") ~= nil end
  if float and p.bytes % 4 == 0 then return "f32", p.bytes // 4, "GUESS: a struct as floats" end
  if p.bytes % 8 == 0 and fields and fields[1].type:find("double") then
    return "f64", p.bytes // 8, "GUESS: a struct as doubles"
  end
  return "i32", p.bytes // 4, "GUESS: a struct as whole numbers"
end

local function array(g, p, i)
  local type, width, as = element_of(g, p)
  local arg = { name = p.name, type = type, role = role_of(g, p), notes = {} }
  set_count(g, p, i, arg, width)
  local why
  arg.fill, why = fill_of(g, p, type, arg.role)
  note(arg, as)
  note(arg, why)
  return arg
end

---@param g table of gilua.newproblem
---@return ArgumentGuess[] also g.args
function M.arguments(g)
  g.args = {}
  for i, p in ipairs(g.params) do
    if not p.pointer and p.text:find("cudaTextureObject_t") then
      fail("kernel %s takes a texture (%s), which a table cannot describe: write problem.lua by "
        .. "hand (docs/problem.md)", g.kernel, p.name)
    elseif not p.pointer and not p.struct then g.args[i] = scalar(g, p, i) end
  end
  for i, p in ipairs(g.params) do -- their sizes are told by scalars
    if p.pointer then g.args[i] = array(g, p, i)
    elseif p.struct then g.args[i] = struct(g, p) end
  end
  return g.args
end

return M
