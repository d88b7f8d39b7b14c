-- json: reads JSON, and writes it so that its bytes depend on the values alone. Keys come in the
-- order given (json.object) or sorted; numbers are the shortest text that reads back equal;
-- infinities and not-a-number, which JSON lacks, become null.

local settings = require "gilua.base.settings"

local M = {}

--- Stands for null inside arrays and objects, where nil cannot be.
M.null = setmetatable({}, { __name = "gilua.json.null" })

local Object = { __name = "gilua.json.object" }
local Array = { __name = "gilua.json.array" }

--- An object whose keys keep their order: json.object{ {"seed", 7}, {"device", "emu"} }. A pair
--- without a value is written as null.
---@param pairs_list table[]
---@return table
function M.object(pairs_list)
  return setmetatable({ pairs = pairs_list }, Object)
end

--- A list that is written as an array also where it is empty.
---@param list any[]
---@return table
function M.array(list)
  return setmetatable(table.move(list, 1, #list, 1, {}), Array)
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escape(char)
  return ESCAPES[char] or ("\\u%04x"):format(char:byte())
end

-- Text that is not UTF-8 (a file name, say) is taken for Latin-1.
local function encode_string(s)
  return '"' .. s:gsub(utf8.len(s) and '[%c"\\]' or '[%c"\\\128-\255]', escape) .. '"'
end

--- A number as JSON wants it, the shortest that reads back equal.
---@param x number
---@return string
function M.number(x)
  if math.type(x) == "integer" then return ("%d"):format(x) end
  if x ~= x or x == math.huge or x == -math.huge then return "null" end
  if x == math.floor(x) and math.abs(x) < 2 ^ 53 then return ("%.0f"):format(x) end
  for digits = 1, 17 do
    local text = ("%." .. digits .. "g"):format(x)
    -- Lua writes the point of the locale
    if tonumber(text) == x then return (text:gsub("[^%d%-+e]", ".")) end
  end
end

local encode

local function encode_list(items, open, close, indent)
  if #items == 0 then return open .. close end
  local inner = indent .. "  "
  return open .. "\n" .. inner .. table.concat(items, ",\n" .. inner) .. "\n" .. indent .. close
end

local function encode_array(list, indent)
  local items = {}
  for i, value in ipairs(list) do items[i] = encode(value, indent .. "  ") end
  return encode_list(items, "[", "]", indent)
end

local function encode_pairs(list, indent)
  local items = {}
  for i, pair in ipairs(list) do
    items[i] = encode_string(pair[1]) .. ": " .. encode(pair[2], indent .. "  ")
  end
  return encode_list(items, "{", "}", indent)
end

local function sorted_pairs(t)
  local list = {}
  for i, key in ipairs(settings.keys(t)) do list[i] = { key, t[key] } end
  return list
end

function encode(value, indent)
  local kind = type(value)
  if value == nil or value == M.null then return "null" end
  if kind == "boolean" then return tostring(value) end
  if kind == "number" then return M.number(value) end
  if kind == "string" then return encode_string(value) end
  if kind ~= "table" then error("gilua.json.encode: cannot write a " .. kind, 0) end
  if getmetatable(value) == Object then return encode_pairs(value.pairs, indent) end
  if #value > 0 or getmetatable(value) == Array then return encode_array(value, indent) end
  return encode_pairs(sorted_pairs(value), indent)
end

--- A value as JSON text, indented by two. A table with a first element is an array; any other
--- (also an empty one) is an object with its keys sorted.
---@param value any
---@return string
function M.encode(value)
  return encode(value, "")
end

--- The same on one line.
---@param value any
---@return string
function M.line(value)
  return (encode(value, ""):gsub("\n *", " ")) -- a string's own line ends are escaped
end

--------------------------------------------------------------------------------------------------
-- Reading

local UNESCAPE = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r",
  t = "\t" }
local WORDS = { ["true"] = true, ["false"] = false, null = M.null }

-- What fail raises and decode catches.
local Fault = { __name = "gilua.json.fault" }

local MOST_DEEP = 200 -- arrays and objects in each other

local value_at

local function skip(text, i)
  return text:find("[^ \n\r\t]", i) or #text + 1
end

local function fail(text, i)
  local found = i > #text and "it ends there" or text:sub(i, i + 20)
  error(setmetatable({ ("not JSON at byte %d: %s"):format(i, found) }, Fault), 0)
end

-- The character of an escape whose digits begin at i, as UTF-8, and where it ends: what UTF-16 has
-- in two halves comes as two escapes. Half a one is none.
local function escaped_at(text, hex, i)
  local unit, stop = tonumber(hex, 16), i + 4
  local low = unit >= 0xD800 and unit < 0xDC00 and text:match("^\\u([dD][c-fC-F]%x%x)", stop)
  if low then
    unit, stop = 0x10000 + (unit - 0xD800 << 10) + (tonumber(low, 16) - 0xDC00), stop + 6
  elseif unit >= 0xD800 and unit < 0xE000 then
    unit = 0xFFFD
  end
  return utf8.char(unit), stop
end

local function string_at(text, i)
  local parts = {}
  i = i + 1
  while true do
    local plain, stop = text:match('^([^%c"\\]*)()', i)
    parts[#parts + 1] = plain
    local char = text:sub(stop, stop)
    if char == '"' then return table.concat(parts), stop + 1 end
    if char ~= "\\" then fail(text, stop) end
    local hex = text:match("^u(%x%x%x%x)", stop + 1)
    local letter = UNESCAPE[text:sub(stop + 1, stop + 1)]
    if not hex and not letter then fail(text, stop) end
    i = stop + 2
    if hex then letter, i = escaped_at(text, hex, i) end
    parts[#parts + 1] = letter
  end
end

-- The members of an array or object, whose closing bracket is `close`, `depth` deep.
local function members(text, i, close, depth, one)
  if depth > MOST_DEEP then
    error(setmetatable({ ("not JSON: nested more than %d deep"):format(MOST_DEEP) }, Fault), 0)
  end
  i = skip(text, i + 1)
  if text:sub(i, i) == close then return i + 1 end
  while true do
    i = skip(text, one(i))
    local char = text:sub(i, i)
    if char == close then return i + 1 end
    if char ~= "," then fail(text, i) end
    i = skip(text, i + 1)
  end
end

local function array_at(text, i, depth)
  local list = {}
  return list, members(text, i, "]", depth, function(at)
    local rest
    list[#list + 1], rest = value_at(text, at, depth + 1)
    return rest
  end)
end

local function object_at(text, i, depth)
  local object = {}
  return object, members(text, i, "}", depth, function(at)
    if text:sub(at, at) ~= '"' then fail(text, at) end
    local key, rest = string_at(text, at)
    rest = skip(text, rest)
    if text:sub(rest, rest) ~= ":" then fail(text, rest) end
    local value
    value, rest = value_at(text, skip(text, rest + 1), depth + 1)
    if value ~= M.null then object[key] = value end
    return rest
  end)
end

function value_at(text, i, depth)
  local char = text:sub(i, i)
  if char == '"' then return string_at(text, i) end
  if char == "[" then return array_at(text, i, depth) end
  if char == "{" then return object_at(text, i, depth) end
  local word, rest = text:match("^(%l+)()", i)
  if word and WORDS[word] ~= nil then return WORDS[word], rest end
  local number
  number, rest = text:match("^(-?%d+%.?%d*[eE]?[+-]?%d*)()", i)
  if not tonumber(number) then fail(text, i) end
  return tonumber(number), rest
end

--- A value from JSON text. A key whose value is null is left out; in an array null is M.null. What
--- is no text (a file's, or an archive's, may hold anything) is not JSON either.
---@param text any
---@return any value
---@return string? message
---@return string? code "format"
function M.decode(text)
  if type(text) ~= "string" then return nil, "not JSON: no text", "format" end
  local ok, value, rest = pcall(function()
    local found, stop = value_at(text, skip(text, 1), 1)
    return found, skip(text, stop)
  end)
  if not ok and getmetatable(value) ~= Fault then error(value, 0) end
  if ok and rest <= #text then
    return nil, ("not JSON at byte %d: something follows its end"):format(rest), "format"
  end
  if not ok then return nil, value[1], "format" end
  return value
end

return M
