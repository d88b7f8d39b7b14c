-- instances: what host code has in place of a template's parameters. A launch within a template has
-- the arguments that the template is called with. Arguments that the call does not name are deduced
-- from the types of pointers, as C++ does. Of several calls the first counts.

local csource = require "gilua.source.csource"

local M = {}

local MOST_WITHIN = 8 -- templates that call each other, types that stand for others

--- Notes the names of a template's parameters, and their defaults.
---@param one HostFunction
---@param list table[] of source:functions
function M.read_templates(one, list)
  local t = one.t
  local close = list[1] and csource.angle_end(t, list[1].first - 1, true)
  one.index, one.defaults = #list > 0 and {} or nil, {}
  for k, param in ipairs(list) do
    local from = t[param.token + 1] == "=" and param.token + 2
    local behind = list[k + 1] and list[k + 1].first - 1 or close
    one.index[param.name] = k
    one.defaults[param.name] = from and behind and t:text(from, behind - 1) or nil
  end
end

--- Returns the template that a function is, or nil if it is not one.
---@param one? HostFunction
---@return HostFunction?
function M.around(one)
  return one and one.index and one
end

--- The first call of a function, which says what its template's parameters are.
---@param host HostCode
---@param one HostFunction
---@return HostCall?
function M.read_call(host, one)
  return (host.calls[one.name] or {})[1]
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

-- Returns the type that a name points to. `but` is the parameter in question: its function may have
-- a parameter of that name.
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
      and pointee(host, arg[1], M.around(call.within), depth, name)
    if found then return found end
  end
end

-- What stands for a parameter of a template.
local function given(host, name, within, depth)
  local call = M.read_call(host, within)
  if not call then return nil end
  local text = call.template[within.index[name]]
  if text then return resolve(host, text, M.around(call.within), depth) end
  local known, default = deduced(host, name, within.texts, call, depth), within.defaults[name]
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
---@param within? HostFunction
---@return string?
function M.resolve(host, text, within)
  return resolve(host, text, M.around(within), 1)
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
