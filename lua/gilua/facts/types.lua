--- types: the type of an expression, where the words tell it.

local affine = require "gilua.source.affine"

local M = {}

local WIDER = { "double", "float", "unsigned long long", "long long", "unsigned long", "long",
                "unsigned int", "int" }
local RANK = {}
for i, type in ipairs(WIDER) do RANK[type] = #WIDER - i end

local SAME = {
  unsigned = "unsigned int", uint = "unsigned int", size_t = "unsigned long",
  ["long int"] = "long", ["long long int"] = "long long", ["unsigned long int"] = "unsigned long",
  ["unsigned long long int"] = "unsigned long long", signed = "int", ["signed int"] = "int",
  int32_t = "int", uint32_t = "unsigned int", int64_t = "long", uint64_t = "unsigned long",
}
local SMALL = { char = true, short = true, bool = true, ["unsigned char"] = true,
  ["unsigned short"] = true, ["signed char"] = true, uint8_t = true, int8_t = true,
  uint16_t = true, int16_t = true, uchar = true, ushort = true }

--- Is a type, by its one name, an integer's?
function M.is_whole(type)
  return SMALL[type] or RANK[type] ~= nil and type ~= "double" and type ~= "float"
end

local COMPARED = { ["<"] = true, [">"] = true, ["<="] = true, [">="] = true, ["=="] = true,
                   ["!="] = true, ["&&"] = true, ["||"] = true }

-- The type that a declaration's words mean, with one name for each.
local function plain(type) return SAME[type] or type end
M.plain = plain

local function promoted(type) return SMALL[type] and "int" or type end

local function wider(a, b)
  a, b = a and promoted(a), b and promoted(b)
  if not a or not b or not RANK[a] or not RANK[b] then return nil end
  return RANK[a] >= RANK[b] and a or b
end

local function of_literal(node)
  local text = node.text
  if node.literal ~= "number" then return text == "sizeof" and "unsigned long" or nil end
  local hex = text:find "^0[xX]"
  if not hex and text:find "[fF]$" then return "float" end
  if not hex and (text:find "%." or text:find "[eE]") then return "double" end
  local suffix = text:match "[uUlL]*$":lower()
  if suffix == "" then return math.tointeger(tonumber(text)) and "int" or nil end
  return ({ u = "unsigned int", l = "long", ul = "unsigned long", ll = "long long",
            ull = "unsigned long long" })[suffix]
end

local BUILTIN = { threadIdx = true, blockIdx = true, blockDim = true, gridDim = true }

local function of_member(fn, node)
  if node.a.kind == "name" and BUILTIN[node.a.text] then return "unsigned int" end
  local of = not node.arrow and M.of(fn, node.a)
  local base = of and #node.name == 1 and of:match "^(%a+)[234]$"
  return base and plain(base:gsub("^u(%a)", "unsigned %1"):gsub("^longlong$", "long long")) or nil
end

local FLOATS = "^(%a%w*)f$"

local function of_call(fn, node)
  local name = node.callee.kind == "name" and node.callee.text
  local own = name and fn.kernel.by_name[name]
  if not name then return nil end
  if own then return nil end
  if name == "float" or name == "double" or name == "int" then return name end
  if name:find "^make_" then return name:sub(6) end
  if (name == "min" or name == "max") and #node.args == 2 then
    return wider(M.of(fn, node.args[1]), M.of(fn, node.args[2]))
  end
  local effects = require "gilua.facts.effects"
  if name:match(FLOATS) and effects.is_pure(name:match(FLOATS)) then return "float" end
end

local OF = {
  number = function(_, node) return of_literal(node) end,
  call = of_call,
  member = of_member,
  postfix = function(fn, node) return M.of(fn, node.a) end,
  assign = function(fn, node) return M.of(fn, node.a) end,
  choice = function(fn, node) return wider(M.of(fn, node.a), M.of(fn, node.b)) end,
}

function OF.name(fn, node)
  local d = fn:declaration(node.text, node.first)
  local macro = fn.kernel.macros[node.text]
  if not d and macro and macro.value and macro.value:find "^[%d.]" then
    return of_literal { text = macro.value, literal = "number" }
  end
  if not d and macro then return affine.macro(fn.kernel, node.text) and "int" or nil end
  if not d then
    local of = fn.kernel.globals[node.text]
    return of and of.constant and of.pointer == 0 and #of.extents == 0 and plain(of.type) or nil
  end
  if not d or d.pointer > 0 or #d.extents > 0 then return nil end
  if d.type == "auto" then return d.init and d.init.token ~= node.token and M.of(fn, d.init) end
  return plain(d.type)
end

function OF.cast(_, node)
  return not node.type:find "[*&]" and plain((node.type:gsub("^const ", ""))) or nil
end

function OF.index(fn, node)
  local depth = 0
  while node.kind == "index" do
    node, depth = node.a, depth + 1
  end
  local d = node.kind == "name" and fn:declaration(node.text, node.first)
  if not d or d.pointer + #d.extents ~= depth or d.type == "auto" then return nil end
  return plain(d.type)
end

function OF.unary(fn, node)
  if node.op == "!" then return "int" end
  if node.op == "&" or node.op == "*" then return nil end
  local type = M.of(fn, node.a)
  return type and (node.op == "-" or node.op == "+" or node.op == "~") and promoted(type) or type
end

function OF.binary(fn, node)
  if COMPARED[node.op] then return "int" end
  if node.op == "," then return nil end
  if node.op == "<<" or node.op == ">>" then
    local type = M.of(fn, node.a)
    return type and promoted(type)
  end
  return wider(M.of(fn, node.a), M.of(fn, node.b))
end

local BYTES = { double = 8, long = 8, ["long long"] = 8, ["unsigned long"] = 8,
  ["unsigned long long"] = 8, float2 = 8, double2 = 16, int2 = 8, float3 = 12, int3 = 12,
  float4 = 16, int4 = 16, double4 = 32, short = 2, ["unsigned short"] = 2, half = 2, __half = 2,
  char = 1, ["unsigned char"] = 1, bool = 1 }
local MOST_MEMBERS = 8

-- Bytes of a struct between braces, at most; nil of one that is large or has arrays or functions.
local function of_struct(words, open, close)
  local members = 0
  for k = open + 1, close - 1 do
    if words[k] == "[" or words[k] == "(" then return nil end
    if words[k] == ";" or words[k] == "," then members = members + 1 end
  end
  return members <= MOST_MEMBERS and 8 * members or nil
end

--- Returns the type that a name of the file, or a macro, stands for; the name itself if it is no
--- such name.
---@param name string
---@return string
function M.resolved(kernel, name)
  local other, macro = kernel.words.types[name], kernel.macros[name]
  if macro and macro.value then return macro.value end
  return type(other) == "string" and other or name
end

--- How many bytes an element of a type has, at most; nil where that is not known.
---@param name string
---@return integer?
function M.bytes(kernel, name)
  local real = M.resolved(kernel, name)
  if not kernel.words.types[real] then return BYTES[plain(real)] or 4 end
  local braces = kernel.words.types[real]
  if type(braces) ~= "table" then return nil end
  return of_struct(kernel.words, braces.open, braces.close)
end

--- The type of a tree: "float", "unsigned int", "float4"; nil where the words do not tell it.
---@return string?
function M.of(fn, node)
  return OF[node.kind] and OF[node.kind](fn, node) or nil
end

return M
