-- memory: what memory an argument of a launch leads to, by all that the host's code gives its
-- pointers. One question: can two arguments be one memory?
--
-- A pointer has origins: what is assigned to it, in its function or as a member or a global. Its
-- roots are the pointers at the ends of these chains: after `float *y = pool + 1, *before = pool;`
-- that of `y` and of `before` is `pool`. Two arguments that share a root may be one memory. Two
-- that share none are taken for apart.
--
-- Limits: flow is not followed. All assignments of a function count, but for those of a swap by a
-- third variable, and by std::swap. Pointers in containers, unions and structured bindings are not
-- seen.

local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"

local M = {}

local MOST_DEPTH = 12 -- pointers made of pointers
local NOWHERE = csource.set "NULL nullptr 0"
-- What functions that give memory of their own are called; also all whose name has `alloc` in it,
-- ends with `_like` or begins with `new_`.
local FRESH = csource.set("new create empty empty_strided zeros ones full clone eye arange "
  .. "linspace rand randn randint randperm")
-- Those of them that an object is asked for: `x.new_zeros(n)` is memory other than that of x.
local FRESH_OF = csource.set "clone new_empty new_zeros new_ones new_full new_empty_strided"
local TYPES = csource.set("const volatile void char bool short int long unsigned signed float "
  .. "double auto struct static sizeof new size_t")
-- Which argument of a call is the memory that the first gets another pointer to.
local GIVES = { cudaGetSymbolAddress = 2, cudaHostGetDevicePointer = 2, cudaIpcOpenMemHandle = 2,
  memcpy = 2 }

---@class HostOrigin
---@field text string
---@field body? HostFunction in which it stands

--------------------------------------------------------------------------------------------------
-- Reading

-- `s.y` or `b[0]`, as a path: its text; of `*p` that of p.
local function path_of(code, a)
  local first = a.first
  while code.t[first] == "*" or code.t[first] == "(" do first = first + 1 end
  if code.t:kind(first) ~= "name" then return nil end
  return (code.t:text(first, a.last):gsub("[%s)]+", ""):gsub("%->", "."))
end

local function give(self, path, text, body)
  local list = self.origins[path] or {}
  self.origins[path], list[#list + 1] = list, { text = text, body = body }
end

-- Does `t = a; a = b; b = t;` begin, go on or end with the = at a token? That moves nothing into
-- one.
local function swaps(t, i)
  local function step(k) -- name = name ;
    return t:kind(k) == "name" and t[k + 1] == "=" and t:kind(k + 2) == "name" and t[k + 3] == ";"
  end
  for _, k in ipairs { i - 1, i - 5, i - 9 } do
    if k > 0 and step(k) and step(k + 4) and step(k + 8) and t[k] == t[k + 10]
      and t[k + 2] == t[k + 4] and t[k + 6] == t[k + 8] then
      return true
    end
  end
  return false
end

--- Reads `path = value`.
---@param self HostCode
---@param code HostText
---@param m table of `$a = $b`
---@param body? HostFunction
function M.read_assignment(self, code, m, body)
  local path = path_of(code, m.a)
  local text = m.b.kind == "assign" and code.t[m.b.first] or code_of.text(code, m.b)
  if path and not swaps(code.t, m.token) then give(self, path, text, body) end
end

-- `type *name[] = { a, b };`, `vector<type *> name{a, b};`: `name[0]` is a, `name[i]` any of them.
local function read_list(self, code, d, body)
  local open = code.t[d.init_at] == "=" and d.init_at + 1 or d.init_at
  local has_pointers = #d.extents > 0 and d.pointer > 0 or d.type:find "%*"
  if not has_pointers or code.t[open] ~= "{" or code.t:match(open) ~= d.last then return end
  for k, text in ipairs(csource.parts(code.t, open + 1, d.last - 1)) do
    give(self, ("%s[%d]"):format(d.name, k - 1), text, body)
    give(self, d.name .. "[]", text, body)
  end
end

--- Reads `type *name = value`, `type *name(value)` and `type *name{value}`, or a list of these.
---@param self HostCode
---@param code HostText
---@param d table of source:declarations
---@param body? HostFunction
function M.read_declared(self, code, d, body)
  local text, is_set = code_of.value(code, d), code.t[d.init_at] == "="
  read_list(self, code, d, body)
  local may_lead = is_set or body and (d.pointer > 0 or d.reference or d.type == "auto")
  if text and may_lead and not (is_set and swaps(code.t, d.init_at)) then
    give(self, d.name, text, body)
  end
end

--- Notes the names by which a lambda or a macro has what it is called with.
---@param self HostCode
---@param name string its own
---@param params string[]
function M.name_parameters(self, name, params)
  for k, text in ipairs(params) do
    local param = text:match "([%a_][%w_]*)%s*$"
    local list = param and self.named[param] or {}
    if param then self.named[param], list[#list + 1] = list, { of = name, at = k } end
  end
  self.callable[name] = true
end

--- Reads the lambdas that names are declared as: `go = [&](float *y) {`.
---@param self HostCode
---@param code HostText
function M.read_lambdas(self, code)
  local t = code.t
  for _, d in ipairs(code_of.declarations(code)) do
    local open = d.init_at and t[d.init_at] == "=" and d.init_at + 1
    local params = open and t[open] == "[" and t:match(open) and t:match(open) + 1
    if params and t[params] == "(" and t:match(params) then
      M.name_parameters(self, d.name, csource.parts(t, params + 1, t:match(params) - 1))
    end
  end
end

--- Reads `for (type *name : { values })`: the token is the colon.
---@param self HostCode
---@param code HostText
---@param i integer
---@param body? HostFunction
function M.read_range(self, code, i, body)
  local t = code.t
  local close = t:kind(i - 1) == "name" and t[i + 1] == "{" and t:match(i + 1)
  for _, text in ipairs(close and csource.parts(t, i + 2, close - 1) or {}) do
    give(self, t[i - 1], text, body)
  end
end

--- Reads a call that gives a pointer memory that has a name already: one of CUDA's, or of a
--- function of the files that has the pointer by reference, which may give it any other argument.
---@param self HostCode
---@param name string of the function
---@param args string[]
---@param body? HostFunction
function M.read_call(self, name, args, body)
  local from = GIVES[name] and args[GIVES[name]]
  local path = from and (args[1] or ""):gsub("%s+", ""):match "&([%a_][%w_.%[%]]*)"
  if path then give(self, path, from, body) end
  for _, one in ipairs(self.bodies[name] or {}) do
    for k, param in ipairs(one.params) do
      local given = param.text:find "%*%s*&" and args[k] and args[k]:match "^[%a_][%w_.]*$"
      for j, text in ipairs(given and args or {}) do
        if j ~= k then give(self, given, text, body) end
      end
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Asking

local roots_of

-- The paths of an expression, outside of what is in [ ] and of casts; and its calls.
local function paths_of(t)
  local paths, calls, i = {}, {}, 1
  while i <= #t do
    local angle = t[i] == "<" and csource.angle_end(t, i)
    if angle then i = angle
    elseif t[i] == "[" then i = t:match(i) or i
    elseif t[i] == "sizeof" and t[i + 1] == "(" then i = t:match(i + 1) or i
    elseif t:kind(i) == "name" and not TYPES[t[i]] then
      local last, first = i, i
      local is_type = t[i + 1] == "*" and (t[i + 2] == ")" or t[i + 2] == ">" or t[i + 2] == "*")
      while (t[last + 1] == "." or t[last + 1] == "->" or t[last + 1] == "::")
        and t:kind(last + 2) == "name" or t[last + 1] == "[" and t:match(last + 1) do
        last = t[last + 1] == "[" and t:match(last + 1) or last + 2
      end
      local open = last + 1
      if t[open] == "<" then open = (csource.angle_end(t, open) or last) + 1 end
      if t[open] == "(" then calls[#calls + 1] = { at = first, last = last, open = open }
      elseif not is_type then
        local path = t:text(first, last):gsub("%s+", ""):gsub("%->", ".")
        paths[#paths + 1] = t[first - 1] == "&" and path:gsub("%[.*$", "") or path
      end
      i = t[open] == "(" and t:match(open) or last
    end
    i = i + 1
  end
  return paths, calls
end

-- Is a name declared as a pointer, or is it made of one that is?
local function is_pointer(self, path, depth)
  local head = path:match "^[%a_][%w_]*"
  if self.allocated[head] or path:find "[.%[]" or self:pointee_size(path) then return true end
  for _, type in ipairs(self.pointees[path] or {}) do
    if self:struct(type) then return true end
  end
  for _, one in ipairs(depth < MOST_DEPTH and self.origins[path] or {}) do
    local t <close> = csource.tokens(one.text)
    for _, other in ipairs((paths_of(t))) do
      if other ~= path and is_pointer(self, other, depth + 4) then return true end
    end
  end
  return false
end

-- The paths of a sum that lead to memory: those that are pointers, else the first.
local function leading(self, paths)
  local list = {}
  for _, path in ipairs(paths) do
    if is_pointer(self, path, 1) then list[#list + 1] = path end
  end
  return #list > 0 and list or { paths[1] }
end

-- What a path is given where it stands: in its function, else anywhere.
local function origins_of(self, path, body)
  local own, all = {}, self.origins[path] or {}
  for _, one in ipairs(all) do
    if one.body == body then own[#own + 1] = one end
  end
  return #own > 0 and own or all
end

-- Which parameter of a function a name is; nil for none.
local function parameter(body, name)
  for k, param in ipairs(body and body.params or {}) do
    if param.name == name and name ~= "" then return k end
  end
end

local function add_path(self, path, body, found, depth, seen)
  if NOWHERE[path] then return end
  local key = path .. "\0" .. tostring(body and body.open)
  if seen[key] or depth > MOST_DEPTH then return end
  seen[key] = true
  local before, k = #found, parameter(body, path)
  local origins = origins_of(self, path, body)
  if #origins == 0 then origins = origins_of(self, path:gsub("%[[^%]]*%]$", "[]"), body) end
  for _, one in ipairs(origins) do
    roots_of(self, one.text, one.body, found, depth + 1, seen)
  end
  for _, call in ipairs(k and self.calls[body.name] or {}) do
    if call.args[k] then roots_of(self, call.args[k], call.within, found, depth + 1, seen) end
  end
  local head, rest = path:match "^([%a_][%w_]*)(%..*)$"
  local owner = head and origins_of(self, head, body)[1]
  local other = owner and owner.text:match "^&?%s*([%a_][%w_]*)$"
  if other then add_path(self, other .. rest, body, found, depth + 1, seen) end
  local list = head and self.aggregates[head]
  for _, text in ipairs(list and list.list or {}) do
    roots_of(self, text, body, found, depth + 1, seen)
  end
  for _, one in ipairs(self.named[path] or {}) do
    for _, call in ipairs(self.calls[one.of] or {}) do
      local text = call.args[one.at]
      if text then roots_of(self, text, call.within, found, depth + 1, seen) end
    end
  end
  if #found == before or self.allocated[path] then found[#found + 1] = path end
end

-- Does a function ask for the memory that a name in it leads to?
local function is_fresh(self, one, name)
  for _, a in ipairs(self.allocations) do
    if a.body == one and a.target == name then return true end
  end
  return FRESH[name] or false
end

local function gives_fresh(name)
  return FRESH[name] or name:lower():find "alloc" or name:find "_like$" or name:find "^new_"
end

-- The texts that a function returns, with a call's arguments in the place of its parameters.
-- Without those that are memory of their own.
local function returned(self, one, args)
  local list, given = {}, {}
  for k, param in ipairs(one.params) do given[param.name] = args[k] and "(" .. args[k] .. ")" end
  for _, m in ipairs(code_of.found(one.code, "return $value;")) do
    local text = code_of.text(one.code, m.value)
    if m.first > one.first and m.last < one.last and not is_fresh(self, one, text) then
      list[#list + 1] = callers.replaced(text, given)
    end
  end
  return list
end

-- What a call leads to: of an object's function the object; else what the function returns. Of one
-- that is not known, what it is called with; nothing where its name says that it asks for memory.
local function add_call(self, t, call, body, found, depth, seen)
  local close, name = t:match(call.open), t[call.last]
  local key = "(" .. t:text(call.at, close and close > 0 and close or call.open)
  if seen[key] then return end
  seen[key] = true
  local args, before = csource.parts(t, call.open + 1, (close or call.open) - 1), #found
  if call.last > call.at and t[call.last - 1] ~= "::" then
    if FRESH_OF[name] then return end
    local owner = t:text(call.at, call.last - 2):gsub("%s+", ""):gsub("%->", ".")
    return add_path(self, owner, body, found, depth + 1, seen)
  end
  for _, one in ipairs(self.bodies[name] or {}) do
    for _, text in ipairs(returned(self, one, args)) do
      roots_of(self, text, body, found, depth + 1, seen)
    end
  end
  if self.bodies[name] or gives_fresh(name) then return end
  for _, text in ipairs(args) do
    local u <close> = csource.tokens(text)
    local paths, calls = paths_of(u)
    local leads = #calls > 0
    for _, path in ipairs(paths) do leads = leads or is_pointer(self, path, 1) or #args == 1 end
    if leads then roots_of(self, text, body, found, depth + 1, seen) end
  end
  if #found == before then found[#found + 1] = name .. "()" end
end

function roots_of(self, text, body, found, depth, seen)
  local t <close> = csource.tokens(text)
  if depth > MOST_DEPTH then return end
  local paths, calls = paths_of(t)
  for _, call in ipairs(calls) do add_call(self, t, call, body, found, depth, seen) end
  if #calls > 0 and #found > 0 and not paths[1] then return end
  for _, path in ipairs(#paths > 0 and leading(self, paths) or {}) do
    add_path(self, path, body, found, depth, seen)
  end
end

--- The roots of an argument: names of memory that it may lead to. None where it leads nowhere.
---@param self HostCode
---@param text string
---@param body? HostFunction in which it stands
---@return string[]
function M.of(self, text, body)
  local found = {}
  roots_of(self, text, body, found, 1, {})
  return found
end

-- Is a value a call that gives memory of its own, and nothing else?
local function is_fresh_call(self, text)
  local t <close> = csource.tokens(text)
  local _, calls = paths_of(t)
  local call = calls[1]
  if not call or call.at ~= 1 or t:match(call.open) ~= #t or self.bodies[t[call.last]] then
    return false
  end
  local is_of_object = call.last > 1 and t[call.last - 1] ~= "::"
  if is_of_object then return FRESH_OF[t[call.last]] or false end
  return gives_fresh(t[call.last]) and true or false
end

-- Is a name a variable that a function declares, and that ends with it?
local function is_local(name, body)
  for _, d in ipairs(code_of.declarations(body.code)) do
    if d.name == name and body.first < d.token and d.token < body.last then return not d.static end
  end
  return false
end

-- Does a function itself ask for all the memory that a variable of it ever leads to?
local function is_own(self, name, body)
  if not is_local(name, body) then return false end
  local list = origins_of(self, name, body)
  for _, one in ipairs(list) do
    if one.body ~= body or not is_fresh_call(self, one.text) then return false end
  end
  local is_allocated = false
  for _, a in ipairs(self.allocations) do
    is_allocated = is_allocated or a.body == body and a.target == name
  end
  return is_allocated or #list > 0
end

--- Is an argument memory that a function itself asks for, so that none of its callers has it?
---@param self HostCode
---@param text string
---@param body HostFunction
---@return boolean
function M.is_own(self, text, body)
  local roots = M.of(self, text, body)
  for _, root in ipairs(roots) do
    if not is_own(self, root, body) then return false end
  end
  return #roots > 0
end

-- Can two elements of an array of pointers be one? `b[0]` and `b[1]` cannot, nor `b[i]` and
-- `b[1 - i]`.
local function same_element(self, a, b)
  local p, i = a:match "^(.-)%[([^%]]*)%]$"
  local q, j = b:match "^(.-)%[([^%]]*)%]$"
  if not p or p ~= q then return false end
  local m, n = self:value(i), self:value(j)
  if m and n then return m == n end
  local function turned(one, other)
    return other == "1-" .. one or other == "!" .. one or other == one .. "^1"
      or other == "(" .. one .. "+1)%2" or other == one .. "+1" or other == one .. "-1"
  end
  return not turned(i, j) and not turned(j, i)
end

--- The root that two arguments have in common; nil where the host's code shows them to be apart.
---@param self HostCode
---@param one string[] of M.of
---@param other string[]
---@return string?
function M.common(self, one, other)
  for _, a in ipairs(one) do
    for _, b in ipairs(other) do
      if a == b or same_element(self, a, b) then return a end
    end
  end
end

return M
