--- staged: which elements of a loop do several threads of a block read, so that they can come
-- through shared memory?
--
-- Yes is a list of elements (gilua.facts.elements) with, of each: bytes, shape (how many threads
-- read one), zero (the text of what stands for an element that no thread has; nil where nothing
-- can) and conditions, those of its place that say where it lies. No is nil and why.

local affine = require "gilua.source.affine"
local all_come = require "gilua.facts.all_come"
local effects = require "gilua.facts.effects"
local elements = require "gilua.facts.elements"
local lists = require "gilua.base.lists"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

-- How the elements of a place lie in shared memory: "all" threads read one; those of a "row" of the
-- block; those of a "column", beside those of the next column or ("lines") one behind the other;
-- nil where each thread reads an element of its own.
local function shape_of(loop, access, sides, used)
  local factor = affine.in_variable(loop.fn.kernel, access.indices[1], loop.variable)
  if not next(sides) then return "all" end
  if sides.z or used.z then return nil end
  if sides.x and sides.y then return nil end
  if sides.y then return used.x and "row" or nil end
  if not used.y then return nil end
  return factor == 1 and "lines" or "column"
end

-- The conditions of a plan that say where an element lies; nil where one says that of others too.
local function conditions_of(plan, sides)
  local list = {}
  for _, condition in ipairs(plan.conditions) do
    local of = condition.sides
    if of and sides_of.is_within(of, sides) then
      list[#list + 1] = condition
    elseif next(sides) and (not of or sides.x and of.x or sides.y and of.y) then
      return nil
    end
  end
  return list
end

local MOST_OF_TEMPLATE = 16 -- bytes of a template's type: those of a double2, or less

-- Returns how many bytes an element has at most, and what stands for one that no thread has, if
-- anything can; nil where that is not known.
local function size_of(fn, type)
  for _, t in ipairs(fn.tparams or {}) do
    if t.name == type and t.type == "" then return MOST_OF_TEMPLATE, type .. "()" end
  end
  local is_number = all_come.is_number(fn, { pointer = 0, type = type })
  return types.bytes(fn.kernel, type), is_number and "0" or nil
end

-- How an element that threads read at places of some sides comes through shared memory; nil of one
-- that does not.
local function shaped(loop, plan, access, type, sides)
  local shape = shape_of(loop, access, sides, sides_of.used(loop.fn))
  local list = shape and conditions_of(plan, sides)
  local bytes, zero = nil, nil
  if list then bytes, zero = size_of(loop.fn, type) end
  return bytes and { bytes = bytes, shape = shape, conditions = list, zero = zero } or nil
end

local function differs(sides) return next(sides) ~= nil end

--- Returns the elements of a loop that can come through shared memory; nil and why there are none.
---@param plan table of gilua.facts.all_come, of its place
---@return table[]?
---@return string? why
function M.of(loop, plan)
  if not elements.is_same(loop, plan.uniform) then
    return nil, "threads go through it from and to different places"
  end
  local list = elements.of(loop, plan.uniform, differs, function(access, type, sides)
    return shaped(loop, plan, access, type, sides)
  end, true)
  if #list == 0 then return nil, "no element in it is one that several threads read" end
  return list
end

local function holds(list, node)
  return lists.any(list, function(other) return other == node end)
end

--- Can threads without an item do the iterations too, without an effect that another thread sees?
--- They read the tiles, and write variables that only threads with an item read.
---@param plan table of gilua.facts.all_come
---@param list table[] of M.of
---@param kept table[] of gilua.facts.kept
function M.is_harmless(loop, plan, list, kept)
  local inside, region = loop.inside, plan.asked_last
  for _, access in ipairs(inside.accesses) do
    local is_ours = lists.any(list, function(el)
      return el.zero and holds(el.nodes, access.node)
    end)
    for _, one in ipairs(kept) do
      is_ours = is_ours or holds(one.accesses, access)
    end
    if not is_ours then return false end
  end
  for _, call in ipairs(inside.calls) do
    if not effects.is_pure(call.name) then return false end -- without a name it is opaque
  end
  for name in pairs(inside.writes) do
    local d = loop.fn:declaration(name, loop.statement.first)
    local is_ours = inside.declares[name] or d and not d.parameter and not d.shared
      and not d.reference and (not region or d.scope_first > region.first)
    if not is_ours then return false end
  end
  local is_short = true
  statement.walk(loop.body, function(s)
    is_short = is_short and s.kind ~= "while" and s.kind ~= "do"
  end)
  return is_short
end

return M
