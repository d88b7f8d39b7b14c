-- json: writes JSON whose bytes depend on the values alone. Keys come in the order given
-- (json.object) or sorted; numbers are the shortest text that reads back equal; infinities and
-- not-a-number, which JSON lacks, become null.

local settings = require "gilua.settings"

local M = {}

---Stands for null inside arrays and objects, where nil cannot be.
M.null = setmetatable({}, { __name = "gilua.json.null" })

local Object = { __name = "gilua.json.object" }
local Array = { __name = "gilua.json.array" }

---An object whose keys keep their order: json.object{ {"seed", 7}, {"device", "emu"} }. A pair
---without a value is written as null.
---@param pairs_list table[]
---@return table
function M.object(pairs_list)
  return setmetatable({ pairs = pairs_list }, Object)
end

---A list that is written as an array also where it is empty.
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

---A number as JSON wants it, the shortest that reads back equal.
---@param x number
---@return string
function M.number(x)
  if math.type(x) == "integer" then return ("%d"):format(x) end
  if x ~= x or x == math.huge or x == -math.huge then return "null" end
  if x == math.floor(x) and math.abs(x) < 2 ^ 53 then return ("%.0f"):format(x) end
  for digits = 1, 17 do
    local text = ("%." .. digits .. "g"):format(x)
    if tonumber(text) == x then return text end
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

---A value as JSON text, indented by two. A table with a first element is an array; any other
---(also an empty one) is an object with its keys sorted.
---@param value any
---@return string
function M.encode(value)
  return encode(value, "")
end

return M
