-- ranges: what is known of how far apart two indices are where a loop's body runs: from the loop's
-- head, the heads of those around it, and the conditions above it.
--
-- A fact is a form (gilua.source.affine) that is at least so much: for (j = s; j < i; j++) below
-- `if (t > i)` says i - j >= 1, j - s >= 0 and t - i >= 1. Two indices are apart where facts, one
-- or two of them together, say that their difference is 1 or more.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"

local M = {}

local MOST_FACTS = 24

-- a - b >= least, where a tree says so; nothing where a variable of it changes below.
local function add(facts, kernel, a, b, least)
  local form = #facts < MOST_FACTS
    and affine.sum(affine.form(kernel, a), affine.form(kernel, b), -1)
  if form then facts[#facts + 1] = { form = form, least = least } end
end

local function is_steady(fn, tree, inside)
  local all = effects.of(fn, tree)
  if all.opaque or #all.accesses > 0 or next(all.writes) then return false end
  for name in pairs(all.reads) do
    if inside.writes[name] or fn.addressed[name] then return false end
  end
  return true
end

-- Adds the bounds that a condition gives to the statements that it guards.
local function add_condition(facts, fn, tree, inside)
  if tree.kind ~= "binary" then return end
  if tree.op == "&&" then
    add_condition(facts, fn, tree.a, inside)
    add_condition(facts, fn, tree.b, inside)
  elseif not inside.opaque and is_steady(fn, tree, inside) then
    local a, b, kernel = tree.a, tree.b, fn.kernel
    if tree.op == ">" then add(facts, kernel, a, b, 1) end
    if tree.op == ">=" then add(facts, kernel, a, b, 0) end
    if tree.op == "<" then add(facts, kernel, b, a, 1) end
    if tree.op == "<=" then add(facts, kernel, b, a, 0) end
  end
end

-- Adds the bounds that a loop's head gives to its variable inside the body.
local function add_loop(facts, loop)
  if not loop or not loop.counted or not loop.invariant or loop.writes_variable then return end
  local fn, variable = loop.fn, { kind = "name", text = loop.variable }
  local is_fixed = loop.start and is_steady(fn, loop.start, loop.inside)
    and not effects.of(fn, loop.start).reads[loop.variable]
  if loop.sign > 0 then
    if loop.relation == "<" then add(facts, fn.kernel, loop.bound, variable, 1) end
    if loop.relation == "<=" then add(facts, fn.kernel, loop.bound, variable, 0) end
    if is_fixed then add(facts, fn.kernel, variable, loop.start, 0) end
  else
    if loop.relation == ">" then add(facts, fn.kernel, variable, loop.bound, 1) end
    if loop.relation == ">=" then add(facts, fn.kernel, variable, loop.bound, 0) end
    if is_fixed then add(facts, fn.kernel, loop.start, variable, 0) end
  end
end

--- What is known where a loop's body runs.
---@return { form: table, least: integer }[]
function M.facts(loop)
  local facts, s = {}, loop.statement
  add_loop(facts, loop)
  while s.parent do
    local above = s.parent
    if above.kind == "if" and above.condition and above.body == s then
      add_condition(facts, loop.fn, above.condition, effects.of(loop.fn, s))
    elseif above.loop then
      add_loop(facts, above.loop)
    end
    s = above
  end
  return facts
end

-- The constant that is left of a form; nil where anything else is.
local function constant(form)
  if not form then return nil end
  local rest = form[""] or 0
  for monomial in pairs(form) do
    if monomial ~= "" then return nil end
  end
  return rest
end

-- Is a form 1 or more?
local function is_positive(form, facts)
  local rest = constant(form)
  if rest then return rest >= 1 end
  for i, one in ipairs(facts) do
    local left = affine.sum(form, one.form, -1)
    local alone = constant(left)
    if alone and alone + one.least >= 1 then return true end
    for k = i + 1, left and #facts or 0 do
      local both = constant(affine.sum(left, facts[k].form, -1))
      if both and both + one.least + facts[k].least >= 1 then return true end
    end
  end
  return false
end

--- Are two accesses of one array never of the same element, in the same iteration and whichever
--- threads make them?
---@param a table[] indices
---@param b table[] indices
---@param facts table of M.facts
function M.are_apart(loop, a, b, facts)
  if #a ~= #b then return false end
  for i = 1, #a do
    local one, other = affine.form(loop.fn.kernel, a[i]), affine.form(loop.fn.kernel, b[i])
    if is_positive(affine.sum(one, other, -1), facts)
      or is_positive(affine.sum(other, one, -1), facts) then
      return true
    end
  end
  return false
end

return M
