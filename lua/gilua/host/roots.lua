-- roots: what memory an argument of a launch leads to, by all that the host's code gives its
-- pointers (gilua.host.memory). One question: can two arguments be one memory?
--
-- The roots of a pointer are the paths that its assigned values lead back to: after
-- `float *y = pool + 1, *before = pool;` that of `y` and of `before` is `pool`. Two arguments that
-- share a root may be one memory. Two that share none are taken for apart.

local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local lists = require "gilua.base.lists"
local pointers = require "gilua.host.pointers"
local types = require "gilua.host.types"

local M = {}

local MOST_DEPTH = 12 -- pointers made of pointers
local NOWHERE = csource.set "NULL nullptr"
-- What functions that give memory of their own are called; also all whose name has `alloc` in it,
-- ends with `_like` or begins with `new_`.
local FRESH = csource.set("new create empty empty_strided zeros ones full clone eye arange "
  .. "linspace rand randn randint randperm")
-- Those of them that are methods: `x.new_zeros(n)` is memory other than that of x.
local FRESH_OF = csource.set "clone new_empty new_zeros new_ones new_full new_empty_strided"

local function gives_fresh(name)
  return FRESH[name] or name:lower():find "alloc" or name:find "_like$" or name:find "^new_"
end

---@class HostRoots names of memory that an argument may lead to
---@field classes table<table, true> what it is swapped with
---@field swapped table<table, HostRoots> what that leads to, by class
---@field unknown? string a text that is not understood

---@class RootSearch
---@field found HostRoots
---@field seen table<string, true>

local follow

local function leads_of(self, text)
  local one = code_of.tree(self, text)
  return pointers.leads(self, one, one.tree, { paths = {}, calls = {} }), one
end

-- Is a path a pointer by its declaration, or by what it is given? is_sure: an element or a member
-- without a declaration is not one.
local function is_pointer(self, path, depth, is_sure)
  local head, last = path:match "^[^.%[]*", path:gsub("%b[]", ""):match "[%w_]*$"
  if self.allocated[head] or self.pointees[last] or not is_sure and path:find "[.%[]" then
    return true
  end
  for _, one in ipairs(depth < MOST_DEPTH and self.origins[path] or {}) do
    for _, other in ipairs(leads_of(self, one.text).paths) do
      if other ~= path and is_pointer(self, other, depth + 4, is_sure) then return true end
    end
  end
  return false
end

-- The paths of a sum that lead to memory: those that are pointers, else the first.
local function leading(self, paths, is_sure)
  local list = lists.filter(paths, function(path) return is_pointer(self, path, 1, is_sure) end)
  return #list > 0 and list or not is_sure and { paths[1] } or {}
end

-- Does a function ask for the memory that a name in it leads to, or where that lies?
local function is_fresh(self, one, name)
  for _, a in ipairs(self.allocations) do
    local target = a.target or a.args[1]
    if a.body == one and leads_of(self, target).paths[1] == name then return true end
  end
  return FRESH[name] or false
end

local COPYING = csource.set("vector deque list map set string unordered_map device_vector "
  .. "host_vector")

-- Is a type's last name that of numbers?
local function is_number(self, type)
  local name = type:match "([%w_]*)[%s>]*$"
  return not type:find "%*" and types.is_number(self, name) and name ~= "auto"
    and not (self.types[name] or ""):find "%*"
end

-- Does a type keep pointers that it is given? A container of numbers copies what they point to; a
-- class of the file that asks for memory has its own.
local function keeps_pointers(self, type)
  local name = type:gsub("%s*<.*$", ""):match "[%w_]+$"
  if COPYING[name] then return not is_number(self, type) end
  local struct = name and self:struct(name)
  for _, a in ipairs(struct and self.allocations or {}) do
    local body = a.body
    if body and body.code == struct.code and body.first > struct.open
      and body.last < struct.close then
      return false
    end
  end
  return true
end

local function follow_all(self, origins, search, depth)
  for _, one in ipairs(origins) do
    if not (one.by and is_fresh(self, one.by, one.param)) then
      follow(self, one.text, one.body, search, depth + 1, one.held)
    end
  end
end

-- Those of a list that stand in a function; of_any: all, where none does.
local function of_function(list, body, of_any)
  local own = lists.filter(list or {}, function(one) return one.body == body end)
  return #own == 0 and of_any and list or own
end

-- Follows what a path is given, also by functions that are given its place, by the name that it has
-- there.
local function follow_given(self, path, body, search, depth, of_any)
  local any = path:gsub("%b[]", "[]")
  follow_all(self, of_function(self.origins[path], body, of_any), search, depth)
  if any ~= path then
    follow_all(self, of_function(self.origins[any], body, of_any), search, depth)
  end
  for _, p in ipairs(depth < MOST_DEPTH and self.placed[path:match "^[^.%[]*"] or {}) do
    if p.body == body and path:sub(1, #p.path) == p.path then
      follow_given(self, p.name .. path:sub(#p.path + 1), p.by, search, depth + 1)
      for _, one in ipairs(of_function(self.held[p.name], p.by)) do
        if not one.field then follow_all(self, { one }, search, depth) end
      end
    end
  end
end

-- Follows what calls give a parameter of a function, a lambda or a macro.
local function follow_calls(self, path, body, search, depth)
  local k = callers.parameter(body, path)
  for _, call in ipairs(k and self.calls[body.name] or {}) do
    if call.args[k] then follow(self, call.args[k], call.within, search, depth + 1) end
  end
  for _, one in ipairs(self.named[path] or {}) do
    for _, call in ipairs(self.calls[one.of] or {}) do
      local text = call.args[one.at]
      if text then follow(self, text, call.within, search, depth + 1) end
    end
  end
  return k
end

local add_path

-- The path of `q[0]` or `t.y` where q or t is given a text: `&pool`, `b`, `s`.
local function path_within(self, text, rest)
  local one = code_of.tree(self, text)
  local node = one.tree
  while node and node.kind == "cast" do node = node.a end
  local path = pointers.path(self, one, node)
  if path and node.kind == "unary" and node.op == "&" then rest = rest:gsub("^%[[^%]]*%]", "") end
  return path and path .. rest
end

-- May what a name holds come out of it? A pointer holds nothing, but an array of them does.
local function holds(self, head, rest)
  local is_pointer_itself = rest == "" and self.pointees[head] and not self.arrays[head]
  if self.allocated[head] or is_pointer_itself then return false end
  for _, type in ipairs(self.holders[head] or {}) do
    if keeps_pointers(self, type) then return true end
  end
  return not self.holders[head]
end

-- Follows what the holder of a path has: the holder that it copies (`T t = s;`), what it
-- points to, what was put into it.
local function follow_holder(self, path, body, search, depth)
  local head, rest = path:match "^([^.%[]*)(.*)$"
  local given = of_function(self.origins[head], body, true)[1]
  given = rest ~= "" and given and not given.held and given
  local other = given and path_within(self, given.text, rest)
  if other then return add_path(self, other, given.body, search, depth + 1) end
  if given then follow(self, given.text, given.body, search, depth + 1, true) end
  if not holds(self, head, rest) then return end
  local of_field = rest:find "%." and (self.holders[head] or {})[1] ~= "" -- no union without name
  for _, one in ipairs(of_function(self.held[head], body, true)) do
    if not (one.field and of_field) then follow_all(self, { one }, search, depth) end
  end
end

function add_path(self, path, body, search, depth)
  local found, key = search.found, path .. "\0" .. tostring(body and body.open)
  if NOWHERE[path] or search.seen[key] or depth > MOST_DEPTH then return end
  search.seen[key] = true
  local before = #found
  local class = self.swapped[key] or self.swapped[key:gsub("%[.*\0", "\0")]
  if class then found.classes[class] = true end
  follow_given(self, path, body, search, depth, true)
  local k = follow_calls(self, path, body, search, depth)
  if #found == before then follow_holder(self, path, body, search, depth) end
  local macro = #found == before and not k and self.macros[path]
  if macro then follow(self, macro, body, search, depth + 1) end
  if #found == before or self.allocated[path] then found[#found + 1] = path end
end

-- The texts that a function returns, with a call's arguments in the place of its parameters.
-- Without those that are memory of their own.
local function returned(self, one, args)
  local list, given = {}, {}
  for k, param in ipairs(one.params) do given[param.name] = args[k] and "(" .. args[k] .. ")" end
  for _, m in ipairs(code_of.found(one.code, "return $value;")) do
    local value, is_own = m.value, m.first > one.first and m.last < one.last
    local is_list = value.kind == "list" -- return { a, b };
    local texts = is_list and csource.parts(one.code.t, value.first + 1, value.last - 1)
      or { code_of.text(one.code, value) }
    for _, text in ipairs(is_own and texts or {}) do
      if not is_fresh(self, one, text) then list[#list + 1] = callers.replaced(text, given) end
    end
  end
  return list
end

-- May an argument of a function that is not known be what it gives back?
local function may_be_given(self, text, n_args)
  local leads = leads_of(self, text)
  if leads.calls[1] then return true end
  return lists.any(leads.paths, function(path) return n_args == 1 or is_pointer(self, path, 1) end)
end

-- What a call leads to: of an object's function the object; else what the function returns. Of one
-- that is not known, what it is called with; nothing where its name says that it asks for memory.
local function add_call(self, one, call, body, search, depth)
  local found, key = search.found, "(" .. code_of.part(one, call)
  local name, args = pointers.called(call), {}
  if search.seen[key] then return end
  search.seen[key] = true
  local object, before = call.callee.a, #found
  local owner = object and pointers.path(self, one, object)
  if object and FRESH_OF[name] then return end
  if owner then return add_path(self, owner, body, search, depth + 1) end
  if object then return follow(self, code_of.part(one, object), body, search, depth + 1) end
  for k, arg in ipairs(call.args) do args[k] = code_of.part(one, arg) end
  local known = self.bodies[name] or self.lambdas[name]
  for _, other in ipairs(known or {}) do
    for _, text in ipairs(returned(self, other, args)) do
      follow(self, text, body, search, depth + 1)
    end
  end
  if known or not name or gives_fresh(name) then return end
  for _, text in ipairs(args) do
    if may_be_given(self, text, #args) then follow(self, text, body, search, depth + 1) end
  end
  if #found == before then found[#found + 1] = name .. "()" end
end

-- The items of a list in braces, which is no expression by itself; nil of anything else.
local function items_of(text)
  local t <close> = csource.tokens(text)
  return t[1] == "{" and t:match(1) == #t and csource.parts(t, 2, #t - 1) or nil
end

-- Adds what an expression leads to. is_sure: it may be a number as well.
function follow(self, text, body, search, depth, is_sure)
  local items = items_of(text)
  for _, item in ipairs(items or {}) do follow(self, item, body, search, depth + 1, is_sure) end
  if items then return end
  local found, leads, one = search.found, leads_of(self, text)
  local is_new = text:find "^%s*new%f[%W]"
  if not (one.tree or is_new) or depth > MOST_DEPTH then found.unknown = found.unknown or text end
  if depth > MOST_DEPTH then return end
  for _, call in ipairs(leads.calls) do add_call(self, one, call, body, search, depth) end
  if #leads.paths == 0 then return end
  for _, path in ipairs(leading(self, leads.paths, is_sure)) do
    add_path(self, path, body, search, depth)
  end
end

local function new_search()
  return { found = { classes = {}, swapped = {} }, seen = {} }
end

--- The roots of an argument. None where it leads nowhere.
---@param text string
---@param body? HostFunction in which it stands
---@return HostRoots
function M.of(self, text, body)
  local search = new_search()
  local found = search.found
  follow(self, text, body, search, 1)
  for class in pairs(found.classes) do
    local other = new_search()
    for _, member in ipairs(class) do add_path(self, member.path, member.body, other, 1) end
    found.swapped[class], found.unknown = other.found, found.unknown or other.found.unknown
  end
  return found
end

-- Is a value a call that gives memory of its own, and nothing else?
local function is_fresh_call(self, text)
  local node = code_of.tree(self, text).tree
  while node and node.kind == "cast" do node = node.a end
  local name = node and node.kind == "call" and pointers.called(node)
  if not name or self.bodies[name] or self.lambdas[name] then return false end
  if node.callee.kind == "member" then return FRESH_OF[name] or false end
  return gives_fresh(name) and true or false
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
  local list = of_function(self.origins[name], body, true)
  for _, one in ipairs(list) do
    if one.body ~= body or one.by or not is_fresh_call(self, one.text) then return false end
  end
  local is_allocated = lists.any(self.allocations, function(a)
    return a.body == body and a.target == name
  end)
  return is_allocated or #list > 0
end

--- Is an argument memory that a function itself asks for, so that none of its callers has it?
---@param text string
---@return boolean
function M.is_own(self, text, body)
  local roots = M.of(self, text, body)
  for _, root in ipairs(roots) do
    if not is_own(self, root, body) then return false end
  end
  return #roots > 0 and not roots.unknown and next(roots.classes) == nil
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

local function common(self, one, other)
  for _, a in ipairs(one) do
    for _, b in ipairs(other) do
      if a == b or same_element(self, a, b) then return a end
    end
  end
end

-- Likewise, with what the first is swapped with: where both are in one swap, they stay apart.
local function common_by_swap(self, one, other)
  for class, roots in pairs(one.swapped) do
    local at = not other.classes[class] and common(self, roots, other)
    if at then return at end
  end
end

--- The root that two arguments have in common; nil where the host's code shows them to be apart.
---@param one HostRoots
---@param other HostRoots
---@return string?
function M.common(self, one, other)
  return common(self, one, other) or common_by_swap(self, one, other)
    or common_by_swap(self, other, one)
end

return M
