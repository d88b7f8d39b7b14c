--- memory_of: into which array does a pointer, a name or an element lead?
--
-- Yes is the array's name (its root): a parameter, an array of the function, one of the file, or a
-- thread's variable. Unknown is nil, with the sentence why. A second name of an array has the
-- array's root: a pointer, `auto`, a reference, a pointer to rows, one that is assigned later. All
-- values that a name is ever given must lead to one root. A name that no declaration explains leads
-- anywhere: only those that stand outside of all functions are the file's.
--
-- Limits: pointers that are loaded from memory (float **rows, members, arrays of pointers) and
-- those that functions return are unknown. Of a struct that comes as a parameter all members are
-- one root.

local expression = require "gilua.source.expression"

local M = {}

-- ---- declarations -----------------------------------------------------------------------------

--- How many indices stay in the memory that a declaration names: 2 of float a[4][8], 1 of float *p
--- and float **p.
---@param d table a declaration
---@return integer
function M.dimensions(d)
  local stars = math.min(d.pointer, 1)
  if d.parameter or d.rows then return #d.extents + stars end
  return #d.extents > 0 and #d.extents or stars
end

-- Is a declared name a number (or a vector of some), which can neither be a pointer nor hold one?
local function is_number(d)
  local type = d.type:match "^[%w_]+" or ""
  return d.pointer == 0 and not d.reference and type ~= "auto" and type ~= "void"
    and expression.TYPES[type] or false
end

-- Is a declared name memory itself, not one that leads to some?
local function is_memory(d)
  if d.reference or d.rows then return false end
  return #d.extents > 0 or d.shared and d.pointer == 0 or is_number(d)
end

-- ---- what names are given -----------------------------------------------------------------------

-- The values that assignments give each name of a function: name -> trees.
local function assigned(fn)
  if fn.assigned then return fn.assigned end
  fn.assigned = {}
  for _, s in ipairs(fn.statements) do
    local trees = { s.tree or false, s.condition or false, s.step or false }
    for _, d in ipairs(s.declared or {}) do trees[#trees + 1] = d.init or false end
    for _, tree in ipairs(trees) do
      expression.walk(tree or nil, function(node)
        if node.kind == "assign" and node.op == "=" and node.a.kind == "name" then
          local list = fn.assigned[node.a.text] or {}
          fn.assigned[node.a.text] = list
          list[#list + 1] = { tree = node.b, token = node.a.first }
        end
      end)
    end
  end
  return fn.assigned
end

local target, place -- of a pointer's value; of an element or a variable

-- Where all values that a declared name is given lead; `open` has the declarations being asked for,
-- which add nothing: p = p + 4 stays where p is.
local function given(fn, d, open)
  local name, root = d.name, nil
  if fn.addressed[name] then return nil, ("the address of `%s` is taken"):format(name) end
  if d.unknown_init or d.init and d.init.kind == "list" and not d.parameter then
    return nil, ("what `%s` begins with is not understood"):format(name)
  end
  local values = d.init and { { tree = d.init, by_place = d.reference } } or {}
  for _, value in ipairs(d.reference and {} or assigned(fn)[name] or {}) do
    if fn:declaration(name, value.token) == d then values[#values + 1] = value end
  end
  if d.parameter then root = name end
  open[d] = true
  for _, value in ipairs(values) do
    local found, why = (value.by_place and place or target)(fn, value.tree, open)
    if found == nil then open[d] = nil return nil, why end
    if found and root and found ~= root then
      open[d] = nil
      return nil, ("`%s` is a name of `%s` and of `%s`"):format(name, root, found)
    end
    root = root or found
  end
  open[d] = nil
  if not root then return nil, ("it is unknown where `%s` points"):format(name) end
  return root
end

-- The root that a name at a token leads to; false while it is being asked for.
local function of_name(fn, name, token, open)
  local d = fn:declaration(name, token)
  if not d then
    if fn.kernel.globals[name] then return name end
    return nil, ("the declaration of `%s` is not understood"):format(name)
  end
  if open[d] then return false end
  if is_memory(d) then return name end
  return given(fn, d, open)
end

-- ---- trees --------------------------------------------------------------------------------------

local function unknown(fn, tree)
  return nil, ("where `%s` leads is not known"):format(fn.kernel:plain(tree))
end

-- A chain of [ ]: what it begins with, and how many they are.
local function chain(tree)
  local n = 0
  while tree.kind == "index" do tree, n = tree.a, n + 1 end
  return tree, n
end

local function dimensions_at(fn, tree)
  if tree.kind ~= "name" then return 1 end
  local d = fn:declaration(tree.text, tree.first) or fn.kernel.globals[tree.text]
  if not d then return 1 end
  if not d.reference and d.pointer > 0 or #d.extents > 0 or d.parameter then
    return M.dimensions(d)
  end
  local from = d.init -- auto row = tile[0]: what is left of the array's own
  while from and from.kind == "cast" do from = from.a end
  local base, n = chain(from or tree)
  if from and base.kind == "name" and base.text ~= tree.text then
    return dimensions_at(fn, base) - n
  end
  return 1
end

local BUILT_IN = { threadIdx = true, blockIdx = true, blockDim = true, gridDim = true }

-- Is a tree a number, so that of a sum the other part is the pointer?
local function is_offset(fn, tree)
  if tree.kind == "number" then return true end
  if tree.kind == "cast" or tree.kind == "unary" and tree.op == "-" then
    return is_offset(fn, tree.a)
  end
  if tree.kind == "binary" then return is_offset(fn, tree.a) and is_offset(fn, tree.b) end
  if tree.kind == "member" and BUILT_IN[tree.a.text] then return true end
  local d = tree.kind == "name" and fn:declaration(tree.text, tree.first)
  return d and is_number(d) and #d.extents == 0 or false
end

-- Is an element itself memory of the array that it is in: a row?
local function is_row(fn, tree)
  local base, n = chain(tree)
  return n < dimensions_at(fn, base)
end

local PLACE = {
  name = function(fn, tree, open) return of_name(fn, tree.text, tree.first, open) end,
  index = function(fn, tree, open)
    local base, n = chain(tree)
    if n > dimensions_at(fn, base) then return unknown(fn, tree) end
    return target(fn, base, open)
  end,
  member = function(fn, tree, open) return (tree.arrow and target or place)(fn, tree.a, open) end,
  unary = function(fn, tree, open)
    if tree.op == "*" then return target(fn, tree.a, open) end
    return unknown(fn, tree)
  end,
}

local TARGET = {
  cast = function(fn, tree, open) return target(fn, tree.a, open) end,
  postfix = function(fn, tree, open) return target(fn, tree.a, open) end,
  name = function(fn, tree, open) return of_name(fn, tree.text, tree.first, open) end,
  index = function(fn, tree, open)
    if is_row(fn, tree) then return place(fn, tree, open) end
    return unknown(fn, tree)
  end,
  assign = function(fn, tree, open)
    return target(fn, tree.op == "=" and tree.b or tree.a, open)
  end,
  unary = function(fn, tree, open)
    if tree.op == "&" then return place(fn, tree.a, open) end
    if tree.op == "++" or tree.op == "--" then return target(fn, tree.a, open) end
    return unknown(fn, tree)
  end,
  binary = function(fn, tree, open)
    if tree.op ~= "+" and tree.op ~= "-" then return unknown(fn, tree) end
    if is_offset(fn, tree.a) then return target(fn, tree.b, open) end
    if not is_offset(fn, tree.b) and tree.op == "+" and tree.b.kind == "name" then
      local d = fn:declaration(tree.b.text, tree.b.first)
      if d and (d.pointer > 0 or #d.extents > 0) then return target(fn, tree.b, open) end
    end
    return target(fn, tree.a, open)
  end,
  choice = function(fn, tree, open)
    local one, other = target(fn, tree.a, open), target(fn, tree.b, open)
    if one and one == other then return one end
    return unknown(fn, tree)
  end,
  -- A pointer that a struct holds: one that came as a parameter is the host's, others are unknown.
  member = function(fn, tree, open)
    local base = tree
    while base.kind == "member" do base = base.a end
    local d = base.kind == "name" and fn:declaration(base.text, base.first)
    if d and d.parameter then return of_name(fn, base.text, base.first, open) end
    return unknown(fn, tree)
  end,
}

local function by(table_of, fn, tree, open)
  local ask = table_of[tree.kind]
  if ask and not (tree.kind == "name" and fn.kernel.macros[tree.text]) then
    return ask(fn, tree, open)
  end
  return unknown(fn, tree)
end

function target(fn, tree, open) return by(TARGET, fn, tree, open) end
function place(fn, tree, open) return by(PLACE, fn, tree, open) end

--- The array into which a pointer's value leads; nil and why it is unknown.
---@param tree table an expression
---@return string? root
---@return string? why
function M.target(fn, tree)
  local root, why = target(fn, tree, {})
  return root or nil, why
end

M.is_offset, M.is_number = is_offset, is_number

--- The array in which name[…]…[…] of so many indices lies; nil and why it is unknown.
---@param name string
---@param token integer where it stands
---@param indices? integer how many; unknown ones are within it
---@return string? root
---@return string? why
function M.of(fn, name, token, indices)
  local node = { kind = "name", text = name, first = token, last = token, token = token }
  if indices and indices > dimensions_at(fn, node) then
    return nil, ("where the elements of `%s` lead is not known"):format(name)
  end
  local root, why = of_name(fn, name, token, {})
  return root or nil, why
end

return M
