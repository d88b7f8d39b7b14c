--- kept: which elements of arrays can a loop keep in variables?
--
-- An element that it reads or writes at a place that stays the same, which every access that may be
-- of it names alike, and which it touches for certain: in each round, if there is one, or because
-- the statement before the loop stores its first value. Other elements of the same array may be
-- read where the heads of loops and the conditions above tell them from it: y[j] with j < i.

local apart = require "gilua.facts.apart"
local certain = require "gilua.facts.certain"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local ranges = require "gilua.facts.ranges"

local M = {}

local function all_invariant(loop, indices)
  return lists.none(indices, function(index) return not loop_of.stays(loop, index) end)
end

-- Does the pointer that leads to an access stay where it is, in the loop's head and its body?
local function base_stays(loop, access)
  local head, parts = loop.statement, { loop.inside }
  for _, part in ipairs { head.init or false, head.step or false } do
    parts[#parts + 1] = part and effects.of(loop.fn, part) or nil
  end
  return lists.none(parts, function(all) return all.writes[access.base] end)
end

-- The elements that may be kept: { text, accesses, type }, in the order in which they stand.
local function elements(loop)
  local list, by_text = {}, {}
  local fn, kernel = loop.fn, loop.fn.kernel
  if loop.opaque or loop.barrier or loop.leaves or loop.conditional then return list end
  for _, access in ipairs(loop.inside.accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    local own = d and #d.extents > 0 and not d.shared
    if access.write and access.indices and access.node.kind == "index" and not own
      and not access.atomic then
      local text = kernel:plain(access.node)
      local type = fn:element_type(access)
      if type and not by_text[text] and all_invariant(loop, access.indices)
        and base_stays(loop, access) then
        by_text[text] = { text = text, accesses = {}, type = type, root = access.root,
                          base = access.base, indices = access.indices }
        list[#list + 1] = by_text[text]
      end
    end
  end
  return list, by_text
end

-- Is an access of the element's array, but never of the element, as the loops and conditions around
-- it tell?
local function is_another(loop, access, element, facts)
  return access.base == element.base and access.indices and not access.escapes
    and ranges.are_apart(loop, access.indices, element.indices, facts) or false
end

-- Is every access that may be of this element one of this text? Those are then its accesses.
local function is_alone(loop, element)
  local facts = ranges.facts(loop)
  for _, access in ipairs(loop.inside.accesses) do
    local same = access.node and access.node.kind == "index" and not access.atomic
      and not access.escapes and loop.fn.kernel:plain(access.node) == element.text
    if same then
      table.insert(element.accesses, access)
    elseif apart.may_touch(loop.fn, access, element.root)
      and not is_another(loop, access, element, facts) then
      return false
    end
  end
  return #element.accesses > 0
end

local given_before

-- Does a loop touch an element for certain where it is loaded and stored: before the loop, or in
-- each round, if there is one?
local function is_touched(loop, element)
  element.given = given_before(loop, element)
  if element.given then return true end
  local always, found = certain.set(loop), false
  for _, access in ipairs(element.accesses) do found = found or always[access.node] or false end
  return found and once.guard(loop, loop.fn.kernel:names()) ~= nil
end

--- The elements that a loop can keep: { text, type, base, accesses, given (the assignment right
--- before the loop) }; others are touched only if the loop has a round (gilua.facts.once).
---@return table[]
function M.of(loop)
  return lists.filter(elements(loop), function(element)
    return is_alone(loop, element) and is_touched(loop, element)
  end)
end

-- Does a statement do nothing: is it a pragma, or a declaration without a first value?
local function does_nothing(s)
  for _, d in ipairs(s.declared or {}) do
    if d.init or d.init_form or d.shared or d.static then return false end
  end
  return s.kind == "directive" or s.kind == "declaration"
end

-- What right before the loop gives an element its value, `y[i] = 0`; nil where nothing does.
function given_before(loop, element)
  local parent, before = loop.statement.parent, nil
  if not parent or parent.kind ~= "block" then return nil end
  for _, s in ipairs(parent.body) do
    if s == loop.statement then break end
    if not does_nothing(s) then before = s end
  end
  local tree = before and before.kind == "expression" and before.tree
  local fits = tree and tree.kind == "assign" and tree.op == "="
    and loop.fn.kernel:plain(tree.a) == element.text
  return fits and tree or nil
end

--- The same of a place of a loop; nil and a sentence where it can keep none.
---@param at { loop: table }
function M.of_place(at)
  local list = M.of(at.loop)
  if #list > 0 then return list end
  return nil, "the loop has no element that can be kept"
end

return M
