-- locals: variables of the function that launches or asks for memory. Names of host code are looked
-- up over all of its files, the first value counts (gilua.hostcode); where another function has
-- given a name that value, the text of a launch or of an allocation gets its own function's. So it
-- is with the sides of dim3s.

local callers = require "gilua.host.callers"
local csource = require "gilua.source.csource"

local M = {}

local MOST_DEPTH = 4 -- variables made of variables
local MEMBER = "%f[%w_]([%a_][%w_]*)%s*%.%s*([xyz])%f[^%w_]" -- of a dim3

---@class OwnNames as they are before a launch; nobody changes it afterwards
---@field given table<string, string> what variables are given, the last of several values
---@field declared table<string, string> what they are declared with; of several the last
---@field members table<string, boolean> dim3s of whose sides (`threads.x`) a value is made

---@type OwnNames of no function
M.NONE = { given = {}, declared = {}, members = {} }

local function copy(own)
  local other = {}
  for field, list in pairs(own) do
    other[field] = {}
    for name, value in pairs(list) do other[field][name] = value end
  end
  return other
end

--- Notes what a variable of a function is given. What a launch has got already stays as it is.
---@param body? HostFunction
---@param name string
---@param text string
---@param is_declared? boolean with that
function M.note(body, name, text, is_declared)
  if not body or text:find '[?"]' or text:find("%f[%w_]" .. name .. "%f[^%w_]") then return end
  if not body.own or body.is_given then
    body.own, body.is_given = copy(body.own or M.NONE), false
  end
  local own = body.own
  own.given[name] = text
  for member in text:gmatch(MEMBER) do own.members[member] = true end
  if is_declared then own.declared[name] = text end
end

--- What the variables of a function are where its code is read.
---@param code HostText
---@param body? HostFunction
---@return OwnNames
function M.now(code, body)
  if not body or not body.own or body.code ~= code then return M.NONE end
  body.is_given = true
  return body.own
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
