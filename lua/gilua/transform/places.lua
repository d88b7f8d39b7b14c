--- places: which thread of a block an element belongs to, and under which conditions it is read or
-- written.

local expression = require "gilua.source.expression"
local forms = require "gilua.transform.forms"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"

local M = {}

-- ---- coordinates ------------------------------------------------------------------------------

-- The variable of a kernel that grows by one from thread to thread on a side; of several one that
-- does so all over the grid.
local function coordinate(fn, side)
  local own, found = "threadIdx." .. side, nil
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.kind == "declaration" and s.declared or {}) do
      local form = d.init and d.type == "int" and d.pointer == 0 and sides_of.kept(fn, d.name) == d
        and forms.of(fn, d.init, {})
      local part, rest = nil, nil
      if form then part, rest = forms.part_with(form, own) end
      local sides = part and forms.is_one(part) and sides_of.of(fn, d.init)
      if sides and sides[side] and next(sides, next(sides)) == nil then
        local block = "blockDim." .. side .. "*blockIdx." .. side
        local is_of_grid = rest[block] == 1
        local one = { name = d.name, d = d, side = side,
          from_zero = is_of_grid and next(rest, next(rest)) == nil }
        if is_of_grid then return one end
        found = found or one
      end
    end
  end
  return found
end

--- The coordinates of a kernel, { x, y }, each { name, d, side, from_zero }; without y in a kernel
--- that does not ask for threadIdx.y; nil where there are none.
---@param fn table of kernel.read
function M.coordinates(fn)
  if fn.coordinates == nil then
    local used = sides_of.used(fn)
    local x, y = coordinate(fn, "x"), used.y and coordinate(fn, "y") or nil
    local fits = fn.kind == "kernel" and fn.body and x and not used.z and (y or not used.y)
    fn.coordinates = fits and { x = x, y = y } or false
  end
  return fn.coordinates or nil
end

--- The names of the coordinates.
---@return table<string, true>
function M.atoms(at)
  return { [at.x.name] = true, [at.y and at.y.name or ""] = true }
end

--- Is a form the same for all threads of a block?
---@param fn table
---@param form table<string, integer>
---@param uniform table<string, true> names that are
---@return boolean
function M.is_uniform(fn, form, uniform)
  for monomial in pairs(form) do
    for _, factor in ipairs(forms.factors(monomial)) do
      if factor:find("threadIdx", 1, true) then return false end
      local d = fn.variables[factor]
      local is_kept = sides_of.kept(fn, factor)
      if d and not uniform[factor] and not (is_kept and (is_kept.parameter
        or next(sides_of.of(fn, is_kept.init, uniform) or { x = true }) == nil)) then
        return false
      end
    end
  end
  return true
end

-- ---- conditions -------------------------------------------------------------------------------

local function has(part, node)
  return part and part.first <= node.first and node.last <= part.last
end

local function add_asked(list, tree, negated)
  if tree.kind == "binary" and tree.op == (negated and "||" or "&&") then
    add_asked(list, tree.a, negated)
    return add_asked(list, tree.b, negated)
  end
  list[#list + 1] = { tree = tree, negated = negated }
end

local function asked_in_tree(list, tree, node)
  expression.walk(tree, function(at)
    if at.kind == "choice" and has(at.a, node) then add_asked(list, at.condition, false) end
    if at.kind == "choice" and has(at.b, node) then add_asked(list, at.condition, true) end
    if at.kind == "binary" and (at.op == "&&" or at.op == "||") and has(at.b, node) then
      add_asked(list, at.a, at.op == "||")
    end
  end)
end

local JUMPS = { continue = true, ["break"] = true, ["return"] = true, ["goto"] = true }
local UNTOLD = { switch = true, ["while"] = true, ["do"] = true, unknown = true }

local function jumps(s)
  local found = false
  statement.walk(s, function(below) found = found or JUMPS[below.kind] or false end)
  return found
end

-- Adds what must hold in a statement where a node of it is evaluated; whether that can be said.
local function add_of(list, s, node)
  if not has(s, node) then return s.first > node.first or not jumps(s) end
  if UNTOLD[s.kind] then return false end
  if s.kind == "if" and has(s.body, node) then add_asked(list, s.condition, false) end
  if s.kind == "if" and has(s.otherwise, node) then add_asked(list, s.condition, true) end
  for _, tree in ipairs(statement.trees(s)) do
    if has(tree, node) then asked_in_tree(list, tree, node) end
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    if not add_of(list, child, node) then return false end
  end
  return not s.otherwise or add_of(list, s.otherwise, node)
end

--- What must hold in a statement where a node of it is evaluated: { tree, negated }, …; nil where
--- that cannot be said.
---@param s table a statement
---@param node table
---@return table[]?
function M.asked_at(s, node)
  local list = {}
  return add_of(list, s, node) and list or nil
end

return M
