-- expression: values of a problem table: numbers, functions of the names, or texts in Lua's syntax
-- (C's && || != and Python's ** True False are understood too) over those names.

local fail = require "gilua.base.fail"
local settings = require "gilua.base.settings"

local M = {}

local WORDS = { True = "true", False = "false", None = "nil" }

-- Python's and C's words for what Lua spells otherwise: tables of Kernel Tuner have them.
local function as_lua(text)
  text = text:gsub("!=", "~="):gsub("&&", " and "):gsub("||", " or "):gsub("%*%*", "^")
  return (text:gsub("[%a_][%w_]*", WORDS))
end

local function compiled(text, names, where)
  local chunk, why = load("return " .. as_lua(text), "=expression", "t", names)
  if chunk then return chunk end
  fail("%s: '%s' is no expression: %s", where, text, (why:gsub("^.-:%d+: ", "")))
end

-- Names that a text has and that mean nothing, each with the nearest that does.
local function unknown(text, names)
  for word in as_lua(text):gmatch("%f[%w_.][%a_][%w_]*") do
    local is_word = load(("local %s"):format(word)) ~= nil -- `and` and its like cannot be declared
    if is_word and names[word] == nil then
      local nearest = settings.nearest(word, settings.keys(names))
      return ("'%s' is unknown%s"):format(word, nearest and (", did you mean '%s'?"):format(nearest)
        or "")
    end
  end
end

---@param value number|string|function
---@param names table<string, any> that it may use
---@param where string for the sentence: the file and the field
---@return any
function M.value(value, names, where)
  if type(value) == "function" then return value(names) end
  if type(value) ~= "string" then return value end
  local ok, result = pcall(compiled(value, names, where))
  if ok and result ~= nil then return result end
  local why = unknown(value, names) or not ok and tostring(result):gsub("^.-:%d+: ", "")
    or "it gives nil"
  fail("%s: '%s' has no value: %s (it may use %s)", where, value, why,
    table.concat(settings.keys(names), ", "))
end

---@return number
function M.number(value, names, where)
  local n = M.value(value, names, where)
  if type(n) == "number" and n == n then return n end
  fail("%s must be a number, not %s", where, tostring(n))
end

--- A whole number of at least one.
---@return integer
function M.whole(value, names, where)
  local n = M.value(value, names, where)
  local k = type(n) == "number" and math.tointeger(n)
  if k and k > 0 then return k end
  fail("%s must be a whole number above 0, not %s%s", where, tostring(n),
    type(value) == "string" and (" (%s)"):format(value) or "")
end

return M
