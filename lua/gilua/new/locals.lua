-- locals: variables of the function that launches or asks for memory. Names of host code are looked
-- up over all of its files, the first value counts (gilua.hostcode); where another function has
-- given a name that value, the text of a launch or of an allocation gets its own function's.

local callers = require "gilua.new.callers"
local csource = require "gilua.new.csource"

local M = {}

local MOST_WORDS = 20000 -- of a function, before a launch
local MOST_IN_VALUE = 60
local MOST_DEPTH = 4 -- variables made of variables
local NOT_IN_VALUES = csource.set ") ] } { = <<< ? \""

-- The text of `name = text;` whose = is at a token; nil where it is none.
local function value_at(t, i)
  local k = i + 1
  while k <= i + MOST_IN_VALUE and t[k] and t[k] ~= ";" and t[k] ~= "," do
    if NOT_IN_VALUES[t[k]] then return nil end
    k = csource.past(t, k)
  end
  return (t[k] == ";" or t[k] == ",") and k > i + 1 and t:text(i + 1, k - 1) or nil
end

--- What the variables of a function are given before a token, the last of several values.
---@param t userdata tokens
---@param first integer where the function begins
---@param i integer
---@return table<string, string>
function M.before(t, first, i)
  local found = {}
  for k = math.max(first, i - MOST_WORDS), i do
    local name = t[k] == "=" and t:kind(k - 1) == "name" and t[k - 2] ~= "." and t[k - 2] ~= "->"
      and t[k - 1]
    local text = name and value_at(t, k)
    if text and not text:find("%f[%w_]" .. name .. "%f[^%w_]") then found[name] = text end
  end
  return found
end

-- Is a text a product or sum, of numbers and names? A name alone may be a pointer's.
local function is_computed(text)
  local plain = text:gsub("sizeof%s*%b()", "8")
  return plain:find "[*/+]" and not plain:find "[%w_]%s*%(" and not plain:find "[%[&]"
end

--- A text with the values of a function's own variables in place of those that have another
--- function's.
---@param host HostCode
---@param text string
---@param own table<string, string> of M.before
---@param depth? integer
---@return string
function M.settled(host, text, own, depth)
  local given, any = {}, false
  local t <close> = csource.tokens(text)
  for i = 1, #t do
    local name = t:kind(i) == "name" and t[i]
    local other, value = name and host.definitions[name], name and own[name]
    local differs = other and value and other ~= value and is_computed(value)
    if differs and (depth or 1) < MOST_DEPTH then
      given[name] = callers.bracketed(M.settled(host, value, own, (depth or 1) + 1))
      any = true
    end
  end
  return any and callers.replaced(text, given) or text
end

return M
