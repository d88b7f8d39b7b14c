--- fixed: has an expression of a launch one value, whatever the program is called with and reads?
--
-- Yes is: all names in it are macros, or variables that get one value, made of such names, which
-- nothing changes; parameters where every call gives a fixed one. So `int n = 1 << 20;` is fixed,
-- and `int n = 1024; if (argc > 1) n = atoi(argv[1]);` is not, though gilua.hostvalue says 1024 for
-- both: it says what is usual, for `gilua new`.
--
-- Limits: flow is not followed. A variable that a function which the files do not have may get by
-- reference is not fixed, unless CUDA's or C's has it. Members are not.

local csource = require "gilua.source.csource"

local M = {}

local MOST_DEPTH = 12 -- names made of names
local NO_NAMES = csource.set("int unsigned signed long short size_t float double bool auto const "
  .. "dim3 sizeof static_cast std true false char x y z")
local NO_TYPES = csource.set "return else case goto"
local PURE = csource.set("ceil ceilf floor floorf min max int unsigned size_t float double dim3 "
  .. "sizeof static_cast")
local CHANGES = csource.set "+= -= *= /= %= <<= >>= |= &= ^= ++ --"
local BY_VALUE = csource.set("printf fprintf malloc calloc memset memcpy exit atoi assert setw")

-- Where a value ends that begins at a token: before the `,`, `;` or bracket behind it.
local function value_end(t, i)
  while t[i] and t[i] ~= ";" and t[i] ~= "," and t[i] ~= ")" and t[i] ~= "}" do
    i = csource.past(t, i)
  end
  return i - 1
end

local function is_type(t, i) return t:kind(i) == "name" and not NO_TYPES[t[i]] end

-- The call that has a token as an argument of its own: its name, which argument it is. None of a
-- declaration, `dim3 grid(n)`.
local function call_at(t, i)
  if t[i + 1] ~= ")" and t[i + 1] ~= "," then return nil end
  local k, at = i - 1, 1
  while k > 0 and t[k] ~= "(" do
    local open = t:match(k)
    if t[k] == ";" or t[k] == "{" then return nil end
    if t[k] == "," then at = at + 1 end
    k = (open and open < k and open or k) - 1
  end
  return t:kind(k - 1) == "name" and not is_type(t, k - 2) and t[k - 1] or nil, at
end

-- May a call give a variable another value, which is its argument at a place?
local function may_set(host, name, at)
  for _, one in ipairs(host.bodies[name] or {}) do
    if one.params[at] and one.params[at].text:find "&" then return true end
  end
  return not (host.bodies[name] or host.functions[name] or host.callable[name] or PURE[name]
    or BY_VALUE[name] or name:find "^cuda" or name:find "^hip")
end

-- What stands at a name: "set" and the value's tokens, "changed", or nothing.
local function happening(host, t, i)
  local before, behind = t[i - 1], t[i + 1]
  if behind == "." and t[i + 3] == "=" then return "set", i + 4, value_end(t, i + 4) end
  if behind == "." then behind = t[i + 3] end
  if CHANGES[behind] or before == "++" or before == "--" or before == ">>" then
    return "changed"
  end
  if before == "&" and (t[i - 2] == "(" or t[i - 2] == "," or t[i - 2] == "=") then
    return "changed"
  end
  if behind == "=" then return "set", i + 2, value_end(t, i + 2) end
  if is_type(t, i - 1) and (behind == "(" or behind == "{") and t:match(i + 1) then
    return "set", i + 2, t:match(i + 1) - 1
  end
  local call, at = call_at(t, i)
  if call and may_set(host, call, at) then return "changed" end
end

-- The values that a name is given between two tokens, as texts; nil where it is changed there.
local function given(host, t, name, first, last)
  local list, i = {}, t:find(first, name)
  while i and i <= last do
    local before = t[i - 1]
    if before ~= "." and before ~= "->" and before ~= "::" then
      local what, from, to = happening(host, t, i)
      if what == "changed" then return nil end
      local member = t[i + 1] == "." and t[i + 2] or ""
      if what then list[#list + 1] = { text = t:text(from, to), member = member } end
    end
    i = t:find(i + 1, name)
  end
  return list
end

local is_fixed

-- Are the values that a name is given one, and fixed? Sides of a dim3 are each.
local function is_one(host, list, body, depth)
  local texts = {}
  for _, one in ipairs(list) do
    local is_other = (texts[one.member] or one.text) ~= one.text
    if is_other or not is_fixed(host, one.text, body, depth + 1) then return false end
    texts[one.member] = one.text
  end
  return #list > 0 and (texts[""] == nil or next(texts, next(texts)) == nil)
end

local function is_fixed_parameter(host, body, k, depth)
  local any = false
  for _, call in ipairs(host.calls[body.name or ""] or {}) do
    local text = call.args[k] or body.params[k].text:match "=%s*(.+)$"
    any = true
    if call.within ~= body and not (text and is_fixed(host, text, call.within, depth + 1)) then
      return false
    end
  end
  return any
end

-- A name that no function declares: what all files give it.
local function is_fixed_outside(host, name, depth)
  local all = {}
  for _, code in ipairs(host.files) do
    local list = given(host, code.t, name, 1, #code.t)
    if not list then return false end
    table.move(list, 1, #list, #all + 1, all)
    for _, _, words in csource.directives(code.t) do
      if words[1] == "define" and words[2] == name and #words > 2 then
        all[#all + 1] = { text = words:text(3, #words), member = "" }
      end
    end
  end
  return is_one(host, all, nil, depth)
end

local function is_fixed_name(host, name, body, depth)
  local one = body
  while one do
    for k, param in ipairs(one.params) do
      if param.name == name then
        local list = given(host, one.t, name, one.first, one.last)
        return list ~= nil and #list == 0 and is_fixed_parameter(host, one, k, depth)
      end
    end
    if one.index and one.index[name] then return true end -- of a template: an instance says it
    local list = given(host, one.t, name, one.first, one.last)
    if not list then return false end
    if #list > 0 then return is_one(host, list, one, depth) end
    one = one.outer
  end
  return is_fixed_outside(host, name, depth)
end

function is_fixed(host, text, body, depth)
  if depth > MOST_DEPTH then return false end
  local t <close> = csource.tokens(text)
  for i = 1, #t do
    local name = t:kind(i) == "name" and t[i - 1] ~= "." and t[i]
    local is_call = name and t[i + 1] == "("
    if t[i] == "->" or t[i] == "[" then return false end
    if is_call and not (PURE[name] or host.bodies[name] or host.functions[name]) then
      return false
    elseif name and not is_call and not NO_NAMES[name]
      and not is_fixed_name(host, name, body, depth) then
      return false
    end
  end
  return true
end

--- Has an expression one value alone?
---@param host HostCode
---@param text string
---@param body? HostFunction in which it stands
---@return boolean
function M.is(host, text, body) return is_fixed(host, text, body, 1) end

return M
