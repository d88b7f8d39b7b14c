-- instances: what host code has in place of a template's parameters. A launch within a template has
-- the arguments that the template is called with; those that nobody writes are deduced from the
-- types of pointers, as C++ does. Of several calls the first counts (gilua.hostcode reads them).

local csource = require "gilua.source.csource"

local M = {}

local MOST_IN_HEAD = 60 -- words of a function before its parameters
local MOST_WITHIN = 8 -- templates that call each other, types that stand for others
local NOT_IN_HEADS = csource.set "; { } ="

---@class HostTemplate `template <…> … name(params) { … }`
---@field t userdata tokens of its file
---@field name string
---@field index table<string, integer> its parameters' places
---@field defaults table<string, string> what they are where nobody says
---@field params string[] of the function
---@field open integer its ( and the brackets of its body
---@field first integer
---@field last integer

---@class HostInstance the first call of a template: what it is called with
---@field template string[]
---@field args string[]
---@field within? HostTemplate where it is called

-- The name that `typename T = float` declares, and what it is where nobody says.
local function declared(text)
  local t <close> = csource.tokens(text)
  local equals = t:find(1, "=") or #t + 1
  return t[equals - 1] or "", equals < #t and t:text(equals + 1, #t) or nil
end

-- The ( and the { of the function that is declared behind a token.
local function function_at(t, from)
  local i = from
  while t[i] and i < from + MOST_IN_HEAD and not NOT_IN_HEADS[t[i]] do
    local brace = t[i] == "(" and t:match(i) and t:match(i) + 1
    while brace and t:kind(brace) == "name" do brace = brace + 1 end -- noexcept
    if brace and t[brace] == "{" then return i, brace end
    i = csource.past(t, i)
  end
end

local function read_template(self, t, i)
  local angle = t[i + 1] == "<" and csource.angle_end(t, i + 1, true)
  local open, brace = nil, nil
  if angle then open, brace = function_at(t, angle + 1) end
  local last = brace and t:match(brace)
  if not last or t:kind(open - 1) ~= "name" then return end
  local one = { t = t, name = t[open - 1], index = {}, defaults = {}, open = open, first = brace,
    last = last, params = csource.parts(t, open + 1, t:match(open) - 1) }
  for k, text in ipairs(csource.parts(t, i + 2, angle - 1)) do
    local name, default = declared(text)
    one.index[name], one.defaults[name] = k, default
  end
  self.templates[#self.templates + 1] = one
  self.templates[one.name] = one
end

--- Reads the templates of a file.
---@param self HostCode
---@param t userdata tokens
function M.read_templates(self, t)
  local i = t:find(1, "template")
  while i do
    read_template(self, t, i)
    i = t:find(i + 1, "template")
  end
end

--- The template whose body a token is in.
---@param self HostCode
---@param t userdata tokens
---@param i integer
---@return HostTemplate?
function M.around(self, t, i)
  for k = #self.templates, 1, -1 do
    local one = self.templates[k]
    if one.t == t and one.first < i and i < one.last then return one end
  end
  return self.around
end

--- Reads a call of a template: the token is its `(`.
---@param self HostCode
---@param t userdata tokens
---@param i integer
---@param name string
---@param template string[]
function M.read_call(self, t, i, name, template)
  local one = self.templates[name]
  local close = t:match(i)
  if not one or self.instances[name] or one.t == t and one.open == i or not close then return end
  self.instances[name] = { template = template, args = csource.parts(t, i + 1, close - 1),
    within = M.around(self, t, i) }
end

--- Is a text a type that a file has, as far as can be told?
---@param host HostCode
---@param text string
---@return boolean
function M.is_type(host, text)
  local is_named = host:size_of(text) or host.structs[text] or host.definitions[text]
  return (is_named or text:find "[:<]") ~= nil
end

local resolve

-- The type of what a name points to; not the parameter that it is asked for, whose function may
-- have a parameter of that name.
local function pointee(host, name, within, depth, but)
  for _, type in ipairs(host.pointees[name] or {}) do
    local known = resolve(host, type, within, depth)
    if known and known ~= but and M.is_type(host, known) then return known end
  end
end

-- The parameter's type by what a call gives for `T *x`.
local function deduced(host, name, params, call, depth)
  for i, text in ipairs(params) do
    local t <close> = csource.tokens(text)
    local arg <close> = csource.tokens(call.args[i] or "")
    local is_name = #arg == 1 and arg:kind(1) == "name"
    local found = t:find(1, name, "*") and is_name
      and pointee(host, arg[1], call.within, depth, name)
    if found then return found end
  end
end

-- What stands for a parameter of a template.
local function given(host, name, within, depth)
  local call = host.instances[within.name]
  if not call then return nil end
  local text = call.template[within.index[name]]
  if text then return resolve(host, text, call.within, depth) end
  local known, default = deduced(host, name, within.params, call, depth), within.defaults[name]
  return known or default and resolve(host, default, within, depth)
end

-- A text with what stands for each name in it; nil where that cannot be known.
function resolve(host, text, within, depth)
  if depth > MOST_WITHIN then return nil end
  local t <close>, parts = csource.tokens(text), {}
  for i = 1, #t do
    local word, is_name = t[i], t:kind(i) == "name" and t[i - 1] ~= "::"
    if is_name and within and within.index[word] then
      word = given(host, word, within, depth + 1)
    elseif is_name and host.types[word] then
      word = resolve(host, host.types[word], within, depth + 1)
    end
    if not word then return nil end
    parts[i] = word
  end
  return (table.concat(parts, " "):gsub(" ?:: ?", "::"))
end

--- What a text within a template stands for, with the types of `using` and `typedef`; nil where
--- that cannot be known.
---@param host HostCode
---@param text string
---@param within? HostTemplate
---@return string?
function M.resolve(host, text, within)
  return resolve(host, text, within, 1)
end

--- The type of a kernel's template that a launch without its arguments gives.
---@param host HostCode
---@param name string of the parameter
---@param params string[] of the kernel
---@param launch HostLaunch
---@return string?
function M.deduced(host, name, params, launch)
  return deduced(host, name, params, launch, 1)
end

return M
