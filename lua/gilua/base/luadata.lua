-- luadata: writes data as Lua text and reads it back without running anything.
--
-- Values may contain a stranger's text: a string stays one string on its line and a remark one
-- comment, whatever they contain. read() accepts `return` with a constant or a table of constants,
-- and no other Lua, so it cannot call anything.

local M = {}

local MOST_DEPTH = 20 -- of tables in tables
local MOST_REMARK = 600 -- bytes
local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
    return then true until while]]):gmatch "%S+" do
  KEYWORDS[word] = true
end

--------------------------------------------------------------------------------------------------
-- Writing

-- What shows nothing, or changes how what follows is shown: control characters, those of Unicode
-- (U+0080 to U+009F), and what turns the direction of writing.
local UNSEEN = { "[%c\127]", "\xC2[\x80-\x9F]", "\xE2\x80[\x8B-\x8F\xA8-\xAE]",
  "\xE2\x81[\xA0-\xAF]", "\xEF\xBB\xBF" }

local function bytes(text)
  return (text:gsub(".", function(c) return ("\\%03d"):format(c:byte()) end))
end

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

--- A string constant, on one line.
---@param text string
---@return string
function M.quote(text)
  local quoted = text:gsub('[\\"]', "\\%0"):gsub("[\n\r\t]", ESCAPES)
  for _, pattern in ipairs(UNSEEN) do quoted = quoted:gsub(pattern, bytes) end
  if not utf8.len(quoted) then quoted = quoted:gsub("[\x80-\xFF]", bytes) end
  return '"' .. quoted .. '"'
end

--- A text as it may stand in a comment, on one line.
---@param text string
---@return string
function M.remark(text)
  for _, pattern in ipairs(UNSEEN) do text = text:gsub(pattern, " ") end
  if not utf8.len(text) then text = text:gsub("[\x80-\xFF]", "?") end
  text = text:gsub("%s+", " ")
  if #text <= MOST_REMARK then return text end
  return text:sub(1, MOST_REMARK):gsub("[\xC0-\xFF]?[\x80-\xBF]*$", "") .. " …"
end

local function number_text(x)
  if x == math.mininteger then return "0x8000000000000000" end -- has no positive to negate
  if math.type(x) == "integer" then return ("%d"):format(x) end
  if x ~= x then error("luadata: NaN has no constant", 0) end
  if x == math.huge or x == -math.huge then return x > 0 and "1e999" or "-1e999" end
  local short = ("%.9g"):format(x)
  if tonumber(short) ~= x then short = ("%.17g"):format(x) end
  return short:find "[.e]" and short or short .. ".0"
end

--- A name as a table's constructor has it, what is given to it not yet: `name = `, `["end"] = `.
---@param key string
---@return string
function M.key(key)
  if key:find "^[%a_][%w_]*$" and not KEYWORDS[key] then return key .. " = " end
  return "[" .. M.quote(key) .. "] = "
end

-- A table's names: those of `order`, in its order, then the others.
local function names_of(t, order)
  local rank, names = {}, {}
  for i, name in ipairs(order or {}) do rank[name] = i end
  for key in pairs(t) do
    if type(key) == "string" then names[#names + 1] = key end
  end
  table.sort(names, function(a, b)
    local first, second = rank[a] or math.huge, rank[b] or math.huge
    if first == second then return a < b end
    return first < second
  end)
  return names
end

--- A value as Lua text, on one line.
---@param value string|number|boolean|table lists and tables with names of these
---@param order? string[] names that come first, in this order
---@return string
function M.text(value, order)
  if type(value) == "string" then return M.quote(value) end
  if type(value) == "number" then return number_text(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i, item in ipairs(value) do parts[i] = M.text(item, order) end
  for _, name in ipairs(names_of(value, order)) do
    parts[#parts + 1] = M.key(name) .. M.text(value[name], order)
  end
  return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

--------------------------------------------------------------------------------------------------
-- Reading

---@class LuaDataReader
---@field text string
---@field at integer the next byte
---@field depth integer of tables

local UNESCAPED = { n = "\n", r = "\r", t = "\t", ["\\"] = "\\", ['"'] = '"' }

local function refuse(r, what)
  local _, line = r.text:sub(1, r.at - 1):gsub("\n", "")
  error({ unread = ("line %d: %s"):format(line + 1, what) }, 0)
end

-- Past blanks and comments of one line.
local function skip(r)
  repeat
    r.at = r.text:match("^[ \t\r\n]*()", r.at)
    local comment = r.text:match("^%-%-()", r.at)
    if comment and r.text:find("^%[=*%[", comment) then refuse(r, "a long comment") end
    if comment then r.at = r.text:match("^[^\r\n]*()", comment) end
  until not comment
end

-- What a pattern matches here, taken, with what separates it from the next.
local function take(r, pattern)
  local found, behind = r.text:match("^(" .. pattern .. ")()", r.at)
  if found then
    r.at = behind
    skip(r)
  end
  return found
end

local function byte_of(r, digits)
  local code = tonumber(digits)
  if code > 255 then refuse(r, "a byte above 255") end
  return string.char(code)
end

local function read_string(r)
  local pieces, at = {}, r.at + 1
  while true do
    local plain, behind = r.text:match('^([^\\"\r\n]*)()', at)
    pieces[#pieces + 1] = plain
    local escape = r.text:match('^\\([nrt\\"])', behind)
    local digits = r.text:match("^\\(%d%d%d)", behind)
    if escape then pieces[#pieces + 1] = UNESCAPED[escape]
    elseif digits then pieces[#pieces + 1] = byte_of(r, digits)
    elseif r.text:sub(behind, behind) == '"' then
      r.at = behind + 1
      skip(r)
      return table.concat(pieces)
    else refuse(r, "a string that does not end") end
    at = behind + (escape and 2 or 4)
  end
end

local function read_number(r)
  local text = take(r, "%-?[%d.][%w.]*[+-]?[%w.]*") -- 1e-5 too
  local plain = text and (text:find "^%-?%d+%.?%d*$" or text:find "^%-?%d+%.?%d*e[+-]?%d+$"
    or text:find "^0x%x+$")
  if not plain then refuse(r, "what is no constant") end
  return tonumber(text)
end

local read_value

local function read_key(r)
  local name = r.text:match("^([%a_][%w_]*)[ \t]*=", r.at)
  if name and not KEYWORDS[name] then
    take(r, "[%a_][%w_]*")
  elseif take(r, "%[") then
    if r.text:sub(r.at, r.at) ~= '"' then refuse(r, "a key that is no string") end
    name = read_string(r)
    if not take(r, "%]") then refuse(r, "a key without its ]") end
  else
    return nil
  end
  if not take(r, "=") then refuse(r, "a key without =") end
  return name
end

local function read_table(r)
  local t = {}
  r.depth = r.depth + 1
  if r.depth > MOST_DEPTH then refuse(r, "tables too deep") end
  take(r, "{")
  while not take(r, "}") do
    local key = read_key(r) or #t + 1
    if t[key] ~= nil then refuse(r, "a key for the second time") end
    t[key] = read_value(r)
    if not take(r, ",") and r.text:sub(r.at, r.at) ~= "}" then refuse(r, "a table without }") end
  end
  r.depth = r.depth - 1
  return t
end

function read_value(r)
  local first = r.text:sub(r.at, r.at)
  if first == "{" then return read_table(r) end
  if first == '"' then return read_string(r) end
  if first:find "[%d-]" then return read_number(r) end
  local word = take(r, "%a+%f[^%w_]")
  if word == "true" or word == "false" then return word == "true" end
  refuse(r, "what is no constant")
end

--- The value of `return CONSTANT`; nil and why where the text is anything else.
---@param text string
---@return any value
---@return string? why
function M.read(text)
  local r = { text = text, at = 1, depth = 0 }
  local ok, value = pcall(function()
    skip(r)
    if not take(r, "return%f[^%w_]") then refuse(r, "no return") end
    local value = read_value(r)
    if r.at <= #text then refuse(r, "something behind the value") end
    return value
  end)
  if ok then return value end
  if type(value) == "table" and value.unread then return nil, value.unread end
  error(value, 0)
end

--- Are two values the same, tables by what they hold?
---@return boolean
function M.same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b and math.type(a) == math.type(b)
  end
  for key, value in pairs(a) do
    if not M.same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

return M
