-- locals: variables of the function that launches or asks for memory. Names of host code are looked
-- up over all of its files, the first value counts (gilua.hostcode); where another function has
-- given a name that value, the text of a launch or of an allocation gets its own function's. So it
-- is with the sides of dim3s.

local callers = require "gilua.host.callers"
local csource = require "gilua.source.csource"

local M = {}

local MOST_IN_VALUE = 60
local MOST_DEPTH = 4 -- variables made of variables
local NOT_IN_VALUES = csource.set ") ] } { = <<< ? \""
local NO_TYPE = csource.set "else do"
local MEMBER = "%f[%w_]([%a_][%w_]*)%s*%.%s*([xyz])%f[^%w_]" -- of a dim3

-- The text of `name = text;` whose = is at a token; nil where it is none.
local function value_at(t, i)
  local k = i + 1
  while k <= i + MOST_IN_VALUE and t[k] and t[k] ~= ";" and t[k] ~= "," do
    if NOT_IN_VALUES[t[k]] then return nil end
    k = csource.past(t, k)
  end
  return (t[k] == ";" or t[k] == ",") and k > i + 1 and t:text(i + 1, k - 1) or nil
end

---@class OwnNames as they are before a launch; nobody changes it afterwards
---@field given table<string, string> what variables are given, the last of several values
---@field declared table<string, string> what they are declared with; of several the last
---@field members table<string, boolean> dim3s of whose sides (`threads.x`) a value is made

---@type OwnNames of no function
M.NONE = { given = {}, declared = {}, members = {} }

-- By tokens of a file and where a function begins: how far it was read, and the names until there.
local read = setmetatable({}, { __mode = "k" })

local function copy(own)
  local other = {}
  for field, list in pairs(own) do
    other[field] = {}
    for name, value in pairs(list) do other[field][name] = value end
  end
  return other
end

-- Notes what the = at a token gives a variable. What a launch has got already stays as it is.
local function note_value(one, t, k)
  local name = t:kind(k - 1) == "name" and t[k - 2] ~= "." and t[k - 2] ~= "->" and t[k - 1]
  local text = name and value_at(t, k)
  if not text or text:find("%f[%w_]" .. name .. "%f[^%w_]") then return end
  if one.is_given then one.own, one.is_given = copy(one.own), false end
  local own = one.own
  own.given[name] = text
  for member in text:gmatch(MEMBER) do own.members[member] = true end
  if t:kind(k - 2) == "name" and not NO_TYPE[t[k - 2]] then own.declared[name] = text end
end

--- What the variables of a function are before a token. Each word is read once, whatever number of
--- launches stands behind it.
---@param t userdata tokens
---@param first integer where the function begins
---@param i integer
---@return OwnNames
function M.before(t, first, i)
  local functions = read[t] or {}
  local one = functions[first]
  if not one or one.at > i then one = { at = first, own = copy(M.NONE) } end
  read[t], functions[first] = functions, one
  for k = one.at, i do
    if t[k] == "=" then note_value(one, t, k) end
  end
  one.at, one.is_given = i + 1, true
  return one.own
end

-- Is a text a product or sum, of numbers and names? A name alone may be a pointer's.
local function is_computed(text)
  local plain = text:gsub("sizeof%s*%b()", "8")
  return plain:find "[*/+]" and not plain:find "[%w_]%s*%(" and not plain:find "[%[&]"
end

-- Is it a number that a variable has for good?
local function is_number(own, name, value)
  return own.declared[name] == value and value:find "^[1-9]%d*[uUlL]*$" ~= nil
end

--- A text with the values of a function's own variables in place of those that have another
--- function's.
---@param host HostCode
---@param text string
---@param own OwnNames
---@param depth? integer
---@return string
function M.settled(host, text, own, depth)
  local given, any = {}, false
  local t <close> = csource.tokens(text)
  for i = 1, #t do
    local name = t:kind(i) == "name" and t[i]
    local other, value = name and host.definitions[name], name and own.given[name]
    local differs = other and value and other ~= value
      and (is_computed(value) or is_number(own, name, value))
    if differs and (depth or 1) < MOST_DEPTH then
      given[name] = callers.bracketed(M.settled(host, value, own, (depth or 1) + 1))
      any = true
    end
  end
  return any and callers.replaced(text, given) or text
end

--- The dim3s of whose sides texts or variables of a function are made (`n / threads.x`), as they
--- are where it launches: another function's may have the name.
---@param texts string[]
---@param own OwnNames
---@param sides fun(name: string): string `dim3(a, b, c)`; the name itself where it is none
---@return table<string, string>
function M.dims_within(texts, own, sides)
  local names, found = { own.members }, {}
  for i, text in pairs(texts) do
    names[i + 1] = {}
    for name in text:gmatch(MEMBER) do names[i + 1][name] = true end
  end
  for _, list in pairs(names) do
    for name in pairs(list) do
      local now = sides(name)
      found[name] = now ~= name and now or nil
    end
  end
  return found
end

-- A text with a launch's own dim3s.
local function with_members(text, dims)
  return (text:gsub(MEMBER, function(name, side)
    if not dims[name] then return nil end
    local t <close> = csource.tokens(dims[name])
    local part = csource.parts(t, 3, #t - 1)[string.byte(side) - string.byte "x" + 1]
    return part and callers.bracketed(part)
  end))
end

-- What a launch's function declares a name with, where nothing else counts for it.
local function declared(own, name)
  local value, given = own.declared[name], own.given[name]
  if value == "0" or given ~= value and is_computed(given) then return nil end
  return value
end

--- A text of a launch, its grid or block, with what its own function makes of the names.
---@param host HostCode
---@param text string
---@param own OwnNames
---@param dims table<string, string> its dim3s that have other sides elsewhere
---@param depth? integer
---@return string
function M.of_launch(host, text, own, dims, depth)
  local given, any = {}, false
  text = with_members(text, dims)
  local t <close> = csource.tokens(text)
  for i = 1, #t do
    local name = t:kind(i) == "name" and t[i - 1] ~= "." and t[i]
    local value = name and (depth or 1) < MOST_DEPTH and declared(own, name)
    local settled = value and M.of_launch(host, value, own, dims, (depth or 1) + 1)
    local elsewhere = value and (host.definitions[name] ~= value or host.dims[name])
    if value and (elsewhere or settled ~= value) then
      given[name], any = callers.bracketed(settled), true
    end
  end
  return any and callers.replaced(text, given) or text
end

return M
