-- callers: functions of the host's code that launch, and their calls. What a call hands to such a
-- function is what the launch within it gets. The code is read and not run: gilua.hostcode reads
-- the words and calls this module.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local instances = require "gilua.host.instances"
local lists = require "gilua.base.lists"

local M = {}

local MOST_DEPTH = 8 -- functions that call each other
local MOST_WAYS = 64 -- that lead to a launch

---@class HostFunction `name(params) { … }`
---@field code HostText in which it stands
---@field t userdata its tokens
---@field node integer of the tree
---@field name string
---@field params { name: string, text: string }[]
---@field texts string[] of these
---@field open integer its (
---@field first integer its { and }
---@field last integer
---@field outer? HostFunction that it is within
---@field index? table<string, integer> of a template: its parameters' places
---@field defaults? table<string, string> their default values

---@class HostCall
---@field args string[]
---@field template string[]
---@field within? HostFunction

--- Reads the functions of a text.
---@param self HostCode
---@param code HostText
function M.read_functions(self, code)
  for _, f in ipairs(code.s:functions(true)) do
    local one = { code = code, t = code.t, node = f.node, name = f.name, params = {},
      texts = code_of.texts(code, f.params), open = f.head, first = f.open, last = f.close }
    for k, p in ipairs(f.params) do one.params[k] = { name = p.name, text = one.texts[k] } end
    instances.read_templates(one, f.tparams)
    local list = self.bodies[one.name] or {}
    self.bodies[one.name], list[#list + 1] = list, one
    self.bodies[#self.bodies + 1], code.functions[#code.functions + 1] = one, one
  end
  code_of.nested(code.functions)
end

--- The function whose body a token is in.
---@param code HostText
---@param i integer
---@return HostFunction?
function M.around(code, i)
  return code_of.around(code.functions, i) or code.body
end

--- Which parameter of a function a name is; nil: none.
---@param body? HostFunction
---@param name string
---@return integer?
function M.parameter(body, name)
  for k, param in ipairs(body and body.params or {}) do
    if param.name == name and name ~= "" then return k end
  end
end

--- Reads the calls of functions, lambdas and macros that the files have.
---@param self HostCode
---@param code HostText
function M.read_call(self, code)
  for _, call in ipairs(code.calls) do
    local name, template = code_of.called(code, call.f)
    if self.bodies[name or ""] or self.callable[name or ""] then
      local list = self.calls[name] or {}
      self.calls[name], list[#list + 1] = list, { args = code_of.texts(code, call.args),
        template = template, within = M.around(code, call.first) }
    end
  end
end

-- Returns the calls of a function. Its overloads differ in the number of arguments.
local function calls_of(self, one)
  return lists.filter(self.calls[one.name] or {}, function(call)
    return #call.args <= #one.params and call.within ~= one
  end)
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

-- A text in which a call's arguments stand for the parameters, those of a template too.
local function substituted(text, one, call)
  local given = {}
  for name, k in pairs(one.index or {}) do
    local arg = call.template[k] or one.defaults[name]
    given[name] = arg and M.bracketed(arg)
  end
  for k, param in ipairs(one.params) do
    given[param.name] = call.args[k] and M.bracketed(call.args[k])
  end
  return M.replaced(text, given)
end

---@class HostWay what a launch gets by one way to it
---@field launch HostLaunch
---@field args string[]
---@field block string
---@field open? HostFunction whose parameters are still in it: its callers are unknown

--- All ways to a launch, through the functions that it is in.
---@param self HostCode
---@param launch HostLaunch
---@return HostWay[]
function M.ways(self, launch)
  local list = {}
  local function follow(texts, one, depth)
    local calls = one and depth < MOST_DEPTH and calls_of(self, one) or {}
    for _, call in ipairs(calls) do
      local other = lists.map(texts, function(text) return substituted(text, one, call) end)
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
