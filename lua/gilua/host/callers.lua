-- callers: functions of the host's code that launch, and who calls them. What such a function is
-- given by its calls is what the launch within it gets: read and not run (gilua.hostcode reads the
-- words and asks here).

local csource = require "gilua.source.csource"

local M = {}

local MOST_DEPTH = 8 -- functions that call each other
local MOST_WAYS = 64 -- that lead to a launch
local BEHIND_HEAD = csource.set "const noexcept override final"
local NO_FUNCTIONS = csource.set "if for while switch catch sizeof return alignas decltype"
local BEFORE_CALLS = csource.set "return else do throw new" -- any other name there is a type

---@class HostFunction `name(params) { … }`
---@field t userdata tokens of its file
---@field name string
---@field params { name: string, text: string }[]
---@field open integer its (
---@field first integer its { and }
---@field last integer

---@class HostCall
---@field args string[]
---@field within? HostFunction

-- The name that `const float *x = nullptr` or `int list[]` declares.
local function declared(text)
  local t <close>, last = csource.tokens(text), 0
  while t[last + 1] and t[last + 1] ~= "=" and t[last + 1] ~= "[" do last = last + 1 end
  return { name = t:kind(last) == "name" and t[last] or "", text = text }
end

local function read_function(self, t, i)
  local close = t:kind(i - 1) == "name" and not NO_FUNCTIONS[t[i - 1]] and t:match(i)
  if not close then return end
  local brace = close + 1
  while BEHIND_HEAD[t[brace]] do brace = brace + 1 end
  local last = t[brace] == "{" and t:match(brace)
  if not last then return end
  local one = { t = t, name = t[i - 1], params = {}, open = i, first = brace, last = last }
  for k, text in ipairs(csource.parts(t, i + 1, close - 1)) do one.params[k] = declared(text) end
  local list = self.bodies[one.name] or {}
  self.bodies[one.name], list[#list + 1] = list, one
  self.bodies[#self.bodies + 1] = one
end

--- Reads the functions of a file.
---@param self HostCode
---@param t userdata tokens
function M.read_functions(self, t)
  local i = t:find(1, "(")
  while i do
    read_function(self, t, i)
    i = t:find(i + 1, "(")
  end
end

--- The function whose body a token is in.
---@param self HostCode
---@param t userdata tokens
---@param i integer
---@return HostFunction?
function M.around(self, t, i)
  for k = #self.bodies, 1, -1 do
    local one = self.bodies[k]
    if one.t == t and one.first < i and i < one.last then return one end
  end
  return self.around_body
end

-- Is it no call but what declares the function: `void run(float *x);`?
local function is_declaration(self, t, i)
  if t:kind(i - 2) == "name" and not BEFORE_CALLS[t[i - 2]] then return true end
  for _, one in ipairs(self.bodies[t[i - 1]]) do
    if one.t == t and one.open == i then return true end
  end
  return false
end

--- Reads a call of a function that the file has: the token is its `(`, before which its name or
--- the arguments of its template stand.
---@param self HostCode
---@param t userdata tokens
---@param i integer
---@param name string
function M.read_call(self, t, i, name)
  local close = self.bodies[name] and t:match(i)
  if not close or t[i - 1] == name and is_declaration(self, t, i) then return end
  local list = self.calls[name] or {}
  self.calls[name], list[#list + 1] = list, { args = csource.parts(t, i + 1, close - 1),
    within = M.around(self, t, i) }
end

-- The calls of a function, of which overloads have other numbers of arguments.
local function calls_of(self, one)
  local list = {}
  for _, call in ipairs(self.calls[one.name] or {}) do
    if #call.args <= #one.params and call.within ~= one then list[#list + 1] = call end
  end
  return list
end

--- A text as it may stand in place of a name.
---@param text string
---@return string
function M.bracketed(text)
  return text:find "^[&%w_.:>%-%[%]]+$" and text or "(" .. text .. ")"
end

--- A text in which others stand for names.
---@param text string
---@param given table<string, string>
---@return string
function M.replaced(text, given)
  local t <close>, parts = csource.tokens(text), {}
  for i = 1, #t do
    local is_own = t:kind(i) == "name" and t[i - 1] ~= "." and t[i - 1] ~= "->"
    parts[i] = is_own and given[t[i]] or t[i]
  end
  return table.concat(parts, " ")
end

-- A text in which a call's arguments stand for the parameters.
local function substituted(text, one, call)
  local given = {}
  for k, param in ipairs(one.params) do
    given[param.name] = call.args[k] and M.bracketed(call.args[k])
  end
  return M.replaced(text, given)
end

---@class HostWay what a launch gets by one way to it
---@field launch HostLaunch
---@field args string[]
---@field block string
---@field open? HostFunction whose parameters still stand in it: nothing says who calls it

--- All ways to a launch, through the functions that it is in.
---@param self HostCode
---@param launch HostLaunch
---@return HostWay[]
function M.ways(self, launch)
  local list = {}
  local function follow(texts, one, depth)
    local calls = one and depth < MOST_DEPTH and calls_of(self, one) or {}
    for _, call in ipairs(calls) do
      local other = {}
      for k, text in ipairs(texts) do other[k] = substituted(text, one, call) end
      follow(other, call.within, depth + 1)
    end
    if #calls == 0 and #list < MOST_WAYS then
      list[#list + 1] = { launch = launch, block = texts[1], grid = texts[2], open = one,
        args = table.move(texts, 3, #texts, 1, {}) }
    end
  end
  follow({ launch.block or "", launch.grid or "", table.unpack(launch.args) }, launch.body, 1)
  return list
end

-- Adds what the first call of a function gives its parameters, and so on for what calls that.
local function name_given(self, one, define, seen)
  local call = one and not seen[one] and calls_of(self, one)[1]
  if not call then return end
  seen[one] = true
  for k, param in ipairs(one.params) do
    local arg = call.args[k]
    local of_itself = arg and arg:find("%f[%w_]" .. param.name .. "%f[^%w_]")
    if param.name ~= "" and arg and not of_itself then define(self, param.name, arg) end
  end
  name_given(self, call.within, define, seen)
end

--- Gives parameters of functions that launch the values of the first call.
---@param self HostCode
---@param define fun(self: HostCode, name: string, text: string)
function M.name_parameters(self, define)
  local seen, names = {}, {}
  for name in pairs(self.launches) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    for _, launch in ipairs(self.launches[name]) do name_given(self, launch.body, define, seen) end
  end
end

return M
