-- locals: variables of the function that launches or asks for memory. Names of host code are looked
-- up over all of its files, the first value counts (gilua.hostcode); where another function has
-- given a name that value, the text of a launch or of an allocation gets its own function's. So it
-- is with the sides of dim3s.

local callers = require "gilua.host.callers"
local csource = require "gilua.source.csource"

local M = {}

local MOST_DEPTH = 4 -- variables made of variables
local MEMBER = "%f[%w_]([%a_][%w_]*)%s*%.%s*([xyz])%f[^%w_]" -- of a dim3

---@class OwnNames a function's names as they are before a launch
---@field all { given: table, declared: table, members: table, n: integer } of the whole function:
---  values by name, each with its number
---@field n integer those up to this number count
local Own = {}
Own.__index = Own

local function new_names() return { given = {}, declared = {}, members = {}, n = 0 } end

---@type OwnNames of no function
M.NONE = setmetatable({ all = new_names(), n = 0 }, Own)

-- The last of a name's values that counts.
local function last(list, n)
  local low, high = 0, list and #list or 0
  while low < high do
    local k = (low + high + 1) // 2
    if list[k].n <= n then low = k else high = k - 1 end
  end
  return low > 0 and list[low].text or nil
end

--- What a variable is given, the last of several values.
---@param name string
---@return string?
function Own:given(name) return last(self.all.given[name], self.n) end

--- What it is declared with; of several the last.
---@param name string
---@return string?
function Own:declared(name) return last(self.all.declared[name], self.n) end

local function add(lists, name, one)
  local list = lists[name] or {}
  lists[name], list[#list + 1] = list, one
end

--- Notes what a variable of a function is given. What a launch has got already stays as it is.
---@param name string
---@param text string
---@param is_declared? boolean with that
function M.note(body, name, text, is_declared)
  if not body or text:find '[?"]' or text:find("%f[%w_]" .. name .. "%f[^%w_]") then return end
  body.own = body.own or new_names()
  local all = body.own
  all.n = all.n + 1
  local one = { text = text, n = all.n }
  add(all.given, name, one)
  for member in text:gmatch(MEMBER) do all.members[member] = all.members[member] or all.n end
  if is_declared then add(all.declared, name, one) end
end

--- What the variables of a function are where its code is read.
---@return OwnNames
function M.now(code, body)
  if not body or not body.own or body.code ~= code then return M.NONE end
  return setmetatable({ all = body.own, n = body.own.n }, Own)
end

-- Is a text a product or sum, of numbers and names? A name alone may be a pointer's.
local function is_computed(text)
  local plain = text:gsub("sizeof%s*%b()", "8")
  return plain:find "[*/+]" and not plain:find "[%w_]%s*%(" and not plain:find "[%[&]"
end

-- Is it a number that a variable has for good?
local function is_number(own, name, value)
  return own:declared(name) == value and value:find "^[1-9]%d*[uUlL]*$" ~= nil
end

--- A text with the values of a function's own variables in place of those that have another
--- function's.
---@param text string
---@param own OwnNames
---@param depth? integer
---@return string
function M.settled(host, text, own, depth)
  local given, any = {}, false
  local t <close> = csource.tokens(text)
  for i = 1, #t do
    local name = t:kind(i) == "name" and t[i]
    local other, value = name and host.definitions[name], name and own:given(name)
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
  local names, found = { {} }, {} -- dim3s of whose sides values are made, then those of each text
  for name, n in pairs(own.all.members) do names[1][name] = n <= own.n or nil end
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
  local value, given = own:declared(name), own:given(name)
  if value == "0" or given ~= value and is_computed(given) then return nil end
  return value
end

--- A text of a launch, its grid or block, with what its own function makes of the names.
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
