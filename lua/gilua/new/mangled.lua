--- mangled: names of C++ as compilers write them in machine code: _Z6reduceILi256EEvPf is
--- reduce<256>(float *). Read as far as a kernel's name and the arguments of its template need it.

local M = {}

local TYPES = { v = "void", b = "bool", c = "char", a = "signed char", h = "unsigned char",
  s = "short", t = "unsigned short", i = "int", j = "unsigned int", l = "long",
  m = "unsigned long", x = "long long", y = "unsigned long long", f = "float", d = "double" }

-- A name with its length before it: it, and the byte behind.
local function named(text, at)
  local length = text:match("^%d+", at)
  if not length then return nil, at end
  local from = at + #length
  return text:sub(from, from + tonumber(length) - 1), from + tonumber(length)
end

local type_at, arguments_at

-- Namespaces that a library's version has, and nobody writes.
local function is_version(name)
  return name:find "^CUB_%d" ~= nil or name:find "^THRUST_%d" ~= nil
end

-- A name of a type, with the arguments of its template where it is made of one.
local function type_name_at(text, at)
  local name, behind = named(text, at)
  if not name or text:sub(behind, behind) ~= "I" then return name, behind end
  local list, after = arguments_at(text, behind)
  return list and ("%s<%s>"):format(name, table.concat(list, ", ")), after
end

-- `N2ns4TypeE`: a type in namespaces, from the byte behind its N on.
local function nested_at(text, at)
  local names, i = {}, at
  while text:sub(i, i) ~= "E" do
    local one, behind = type_name_at(text, i)
    if not one then return nil end
    if not is_version(one) then names[#names + 1] = one end
    i = behind
  end
  return table.concat(names, "::"), i + 1
end

-- `LN2ns4KindE0E`: a constant of an enum.
local function enum_at(text, at)
  local type, behind = type_at(text, at + 1)
  local minus, digits, after = text:match("^(n?)(%d+)E()", behind)
  if not type or not digits then return nil end
  return ("(%s)%s%s"):format(type, minus == "n" and "-" or "", digits), after
end

-- `Li16E`, `Lb1E`, `Lin4E`: a constant.
local function constant_at(text, at)
  local kind, minus, digits, behind = text:match("^L(%l)(n?)(%d+)E()", at)
  if not kind then return enum_at(text, at) end
  if kind == "b" then return digits == "1" and "true" or "false", behind end
  local value = (minus == "n" and "-" or "") .. digits
  return (kind == "i" and value or ("(%s)%s"):format(TYPES[kind] or "int", value)), behind
end

function type_at(text, at)
  local head = text:sub(at, at)
  if head == "P" or head == "K" then
    local inner, behind = type_at(text, at + 1)
    return inner and inner .. (head == "P" and " *" or " const"), behind
  end
  if head == "N" then return nested_at(text, at + 1) end
  if TYPES[head] then return TYPES[head], at + 1 end
  return type_name_at(text, at)
end

-- The arguments of a template that begin at its I, and the byte behind; nil where one is not
-- understood.
function arguments_at(text, at)
  local list, i = {}, at + 1
  while text:sub(i, i) ~= "E" do
    local reads = text:sub(i, i) == "L" and constant_at or type_at
    local one, behind = reads(text, i)
    if not one then return nil end
    list[#list + 1], i = one, behind
  end
  return list, i + 1
end

--- Returns a function's name without namespaces. A name that is not mangled is returned as it is.
---@param symbol string
---@return string name
---@return string[]? arguments of its template; empty where it is none, nil where they are not
---  understood
function M.read(symbol)
  local at, nested = symbol:match "^_ZL?()", false
  if not at then return symbol, {} end
  if symbol:sub(at, at) == "N" then at, nested = at + 1, true end
  local name, behind = named(symbol, at)
  while nested and name do
    local next_name, after = named(symbol, behind)
    if not next_name then break end
    name, behind = next_name, after
  end
  if not name then return symbol, {} end
  if symbol:sub(behind, behind) ~= "I" then return name, {} end
  return name, (arguments_at(symbol, behind))
end

return M
