-- memory: what the host's code gives its pointers, as its reader meets it (gilua.host.hostcode).
-- gilua.host.roots asks what that says of a launch.
--
-- A pointer has origins: what is assigned to it, in its function or as a member or a global. An
-- array, a container or an object holds what is put into it. That may come out of any of its
-- elements and functions that have no origin of their own.
--
-- Limits: flow is not followed. All assignments of a function count, but for those of a swap: after
-- std::swap(a, b), or a swap by a third variable, each may be the memory of either.

local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local pointers = require "gilua.host.pointers"
local types = require "gilua.host.types"

local M = {}

-- Which argument of a call is the memory that the first gets another pointer to.
local GIVES = { cudaGetSymbolAddress = 2, cudaHostGetDevicePointer = 2, cudaIpcOpenMemHandle = 2,
  memcpy = 2, exchange = 2 }

---@class HostOrigin
---@field text string
---@field body? HostFunction in which it stands
---@field held? boolean it may be a number as well: it counts where it is a pointer
---@field field? boolean a named field of what holds it has it
---@field by? HostFunction that may give it, unless it asks for memory for its parameter
---@field param? string of that name

local function add(lists, key, origin)
  local list = lists[key] or {}
  lists[key], list[#list + 1] = list, origin
end

-- Notes what a path is given, and what holds it then. An element of any index may be each.
local function give(self, path, text, body)
  add(self.origins, path, { text = text, body = body })
  if path:gsub("%[%d+%]", ""):find "%[" then
    add(self.origins, path:gsub("%b[]", "[]"), { text = text, body = body })
  end
  local holder, rest = path:match "^([%a_][%w_]*)([.%[].*)$"
  local origin = { text = text, body = body, held = true, field = rest and rest:find "%." ~= nil }
  if holder then add(self.held, holder, origin) end
end

local function path_of(self, text)
  local one = code_of.tree(self, text)
  return pointers.path(self, one, one.tree)
end

--------------------------------------------------------------------------------------------------
-- Swaps

local function class_of(self, path, body)
  local key = path .. "\0" .. tostring(body and body.open)
  self.swapped[key] = self.swapped[key] or { { path = path, body = body, key = key } }
  return self.swapped[key]
end

-- Notes that two paths are given what the other has; one path twice: its elements.
local function exchange(self, a, b, body)
  local one, other = class_of(self, a, body), class_of(self, b, body)
  for _, member in ipairs(one ~= other and other or {}) do
    one[#one + 1], self.swapped[member.key] = member, one
  end
end

-- Reads `t = a; a = b; b = t;`, which moves nothing into one.
local function read_swaps(self, code)
  local list, begun = {}, {} -- what is moved from one name to another; by its first token
  local function note(one, at, to, from)
    list[#list + 1] = { first = one.first, last = one.last, at = at, to = to, from = from }
    begun[one.first] = list[#list]
  end
  for _, m in ipairs(code_of.found(code, "$a = $b")) do
    note(m, m.token, code_of.text(code, m.a), code_of.text(code, m.b))
  end
  for _, d in ipairs(code_of.declarations(code)) do
    if d.init_form == "=" and d.init then note(d, d.init_at, d.name, code_of.text(code, d.init)) end
  end
  code.swaps = {}
  for _, one in ipairs(list) do
    local two = begun[one.last + 2]
    local three = two and begun[two.last + 2]
    if three and one.from == two.to and two.from == three.to and one.to == three.from then
      local a, b = path_of(self, two.to), path_of(self, two.from)
      if a and b then exchange(self, a, b, callers.around(code, two.at)) end
      for _, move in ipairs { one, two, three } do code.swaps[move.at] = true end
    end
  end
end

--------------------------------------------------------------------------------------------------
-- What is given

--- Reads `path = value`, `std::tie(a, b) = value`.
---@param m table of `$a = $b`
function M.read_assignment(self, code, m, body)
  local one, text = code_of.tree(self, code_of.text(code, m.a)), code_of.text(code, m.b)
  local path = pointers.path(self, one, one.tree)
  if code.swaps[m.token] then return end
  if path then return give(self, path, text, body) end
  for _, item in ipairs(one.tree and one.tree.args or {}) do
    local own = pointers.path(self, one, item)
    if own then give(self, own, text, body) end
  end
end

-- The names of a struct's fields, in order, as paths have them; none of a type that is no struct.
local function fields_of(self, type)
  local names = {}
  for _, item in ipairs(self:struct(type) or {}) do
    for _, d in ipairs(item.declared) do names[#names + 1] = self.shares[d.name] or d.name end
  end
  return names
end

-- Notes what a list begins with: each item is its own element's or field's, and the holder's.
local function read_items(self, code, d, body)
  local items, fields = pointers.items(d.init), fields_of(self, d.type:match "[%w_]+$" or "")
  local is_list = items[1] ~= d.init and d.init_form ~= "("
  for k, item in ipairs(items) do
    local origin = { text = code_of.text(code, item), body = body }
    local path = fields[k] and d.name .. "." .. fields[k] or ("%s[%d]"):format(d.name, k - 1)
    if is_list and item.kind ~= "list" then add(self.origins, path, origin) end
    if is_list or d.init_form == "(" then
      add(self.held, d.name, { text = origin.text, body = body, held = true })
    end
  end
end

-- Reads `for (type *name : list)`, whose ':' is at a token: the name may be any of its items.
local function read_range(self, code, name, colon, body)
  local t, last = code.t, colon
  while t[last + 1] and t[last + 1] ~= ")" do last = math.max(t:match(last + 1) or 0, last + 1) end
  local is_list = t[colon + 1] == "{"
  local parts = is_list and csource.parts(t, colon + 2, last - 1) or { t:text(colon + 1, last) }
  for _, text in ipairs(parts) do give(self, name, text, body) end
end

--- Reads `type *name = value`, `type *name(value)`, `type *name{value}`, and lists of these.
---@param d table of source:declarations
function M.read_declared(self, code, d, body)
  add(self.holders, d.name, d.type .. (d.pointer > 0 and " *" or ""))
  if #d.extents > 0 and d.pointer > 0 or d.pointer > 1 or d.type:find "%*" then
    self.arrays[d.name] = true
  end
  if d.bound then return end
  if d.within == "for" and code.t[d.last + 1] == ":" then
    return read_range(self, code, d.name, d.last + 1, body)
  end
  if not d.init_at or code.swaps[d.init_at] then return end
  local is_pointer = #d.extents == 0 and (d.pointer > 0 or d.reference)
  local text = code_of.value(code, d)
  if text and (d.init_form == "=" or body and (is_pointer or d.type == "auto")) then
    give(self, d.name, text, body)
    local other = d.reference and path_of(self, text) -- what the reference is given, it is given
    if other then give(self, other, d.name, body) end
  end
  if d.init and not is_pointer then read_items(self, code, d, body) end
end

--- Notes the names by which a lambda or a macro has what it is called with.
---@param name string its own
---@param params string[]
function M.name_parameters(self, name, params)
  for k, text in ipairs(params) do
    local param = text:match "([%a_][%w_]*)%s*$"
    if param then add(self.named, param, { of = name, at = k }) end
  end
  self.callable[name] = true
end

-- Reads the lambdas that names are declared as: `go = [p = pool](float *y) {`.
local function read_lambdas(self, code)
  local t = code.t
  for _, d in ipairs(code_of.declarations(code)) do
    local open = d.init_form == "=" and t[d.init_at + 1] == "[" and d.init_at + 1
    local close = open and t:match(open)
    for _, capture in ipairs(close and csource.parts(t, open + 1, close - 1) or {}) do
      local name, text = capture:match "^&?%s*([%a_][%w_]*)%s*=%s*(.+)$"
      if name then give(self, name, text, callers.around(code, open)) end
    end
    if close then
      add(self.lambdas, d.name, { code = code, params = {}, first = close, last = d.last })
    end
    if close and t[close + 1] == "(" and t:match(close + 1) then
      M.name_parameters(self, d.name, csource.parts(t, close + 2, t:match(close + 1) - 1))
    end
  end
end

-- Reads `auto [a, b] = value;`: each name is given its own item, where the value has one for each;
-- `for (auto [a, b] : list)`: any of its items.
local function read_bindings(self, code)
  local t, one, items, n = code.t, nil, nil, nil
  for _, d in ipairs(code_of.declarations(code)) do
    local close = d.bound and t:find(d.token, "]")
    local body = close and callers.around(code, d.token)
    if close and d.init_at then
      one, n = code_of.tree(self, t:text(d.init_at + 1, d.last)), 0
      items = one.tree and pointers.items(one.tree) or {}
    end
    if close and t[close + 1] == ":" then
      read_range(self, code, d.name, close + 1, body)
    elseif close and one then
      n = n + 1
      local item = #items > 1 and items[n]
      give(self, d.name, item and code_of.part(one, item) or one.text, body)
    end
  end
end

--- Reads what must be known before the words of a text are read.
function M.read(self, code)
  read_lambdas(self, code)
  read_swaps(self, code)
  read_bindings(self, code)
end

-- May a function change the object that it is given for a parameter: one of a struct of the files,
-- or one by reference?
local function takes_object(self, one, param)
  local is_const, type = param.text:find "%f[%w]const%f[%W]", param.text:match "([%w_]+)[%s<]*[&*]"
  if is_const or not type or types.SIZES[type] then return false end
  if one.index and one.index[type] then return false end -- a template's T
  return self:struct(type) ~= nil or param.text:find "&" ~= nil and not param.text:find "%*"
end

-- A function that is given a pointer's place, or an object, gives it what it gives its parameter.
-- It may give it any other argument.
local function read_passed(self, one, args, body)
  for k, param in ipairs(one.params) do
    local is_place = param.text:find "%*[%s%*]*[&*]"
    local path = args[k] and (is_place or takes_object(self, one, param))
      and path_of(self, args[k])
    if path then
      add(self.placed, path:match "^[^.%[]*",
        { path = path, body = body, name = param.name, by = one })
      for j, text in ipairs(args) do
        local origin = { text = text, body = body, held = true, by = one, param = param.name }
        if j ~= k and is_place then add(self.origins, path, origin) end
      end
    end
  end
end

-- Notes what an unknown function may do: give the elements of an array or a container any other
-- argument, and change their order.
local function read_mixed(self, args, body)
  for k, text in ipairs(args) do
    local one = code_of.tree(self, text)
    local node = one.tree and one.tree.kind == "call" and one.tree.callee.a or one.tree
    local path = pointers.path(self, one, node)
    if path and self.arrays[path] then
      exchange(self, path, path, body)
      for j, other in ipairs(args) do
        local origin = { text = other, body = body, held = true }
        if j ~= k then add(self.origins, path .. "[]", origin) end
      end
    end
  end
end

--- Reads a call that gives a pointer memory that has a name already: one of CUDA's, a function of
--- the files that has a pointer's place, a container's or object's own.
---@param call table of `$f($$args)`
---@param name string of the function
---@param args string[]
function M.read_call(self, code, call, name, args, body)
  local from, owner = args[GIVES[name]], nil
  if call.f.kind == "member" then
    owner = path_of(self, code.t:text(call.f.first, call.f.token - 2))
  end
  local path = (from or name == "swap") and path_of(self, args[1])
  if path and name == "swap" then
    local other = args[2] and path_of(self, args[2]) or owner
    if other then exchange(self, path, other, body) end
  elseif path and (args[1]:find "&" or name == "exchange") then
    give(self, path, from, body)
  end
  for _, text in ipairs(owner and args or {}) do
    add(self.held, owner:match "^[^.%[]*", { text = text, body = body, held = true })
  end
  for _, one in ipairs(self.bodies[name] or {}) do read_passed(self, one, args, body) end
  if not self.bodies[name] and not name:find "^cuda" and not owner then
    read_mixed(self, args, body)
  end
end

return M
