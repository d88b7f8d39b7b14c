--- early: can a tree be evaluated for another iteration of a loop, before that begins?
--
-- Yes where it is made of the loop's variable, of what does not change in the loop, of what the
-- body computes from these alone, and of loads that the caller says can be made early. A macro may
-- name anything, so that none is taken that names another.

local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"

local M = {}

local MOST_STEPS = 8 -- from a name to what it is computed from

--- Returns what a loop's body declares a name as, where it is that alone: its first value; nil of
--- any other name.
---@param name string
---@return table? tree
function M.value(loop, name)
  local d = loop.inside.declares[name]
  local is_fixed = d and d.init and #loop.inside.writes[name] == 1 and #d.extents == 0
    and not d.reference and not d.shared and not loop.fn.addressed[name]
    and #loop.fn.variables[name] == 1
  return is_fixed and d.init or nil
end

-- Has a name its value before any iteration does anything?
local function is_early_name(loop, name, token, can_load, steps)
  local fn, value = loop.fn, M.value(loop, name)
  if value then return M.of(loop, value, can_load, steps + 1) end
  local d = fn:declaration(name, token)
  if fn.kernel.macros[name] or loop.inside.declares[name] or fn.addressed[name]
    or name ~= loop.variable and loop.inside.writes[name] then
    return false
  end
  return not (d and d.shared and #d.extents == 0)
end

--- Can a tree be evaluated for another iteration?
---@param can_load fun(access: table, steps: integer): boolean
---@param steps? integer so far
function M.of(loop, tree, can_load, steps)
  steps = steps or 0
  local all = effects.of(loop.fn, tree)
  if steps > MOST_STEPS or all.opaque or all.warp or all.barrier or next(all.writes) then
    return false
  end
  for _, call in ipairs(all.calls) do
    if not call.name or not effects.is_pure(call.name) then return false end
  end
  for name, tokens in pairs(all.reads) do
    if not is_early_name(loop, name, tokens[1], can_load, steps) then return false end
  end
  return lists.none(all.accesses, function(access) return not can_load(access, steps + 1) end)
end

--- Has a tree another value in another iteration?
function M.moves(loop, tree)
  local reads = effects.of(loop.fn, tree).reads
  if reads[loop.variable] then return true end
  for name in pairs(reads) do
    local value = M.value(loop, name)
    if value and M.moves(loop, value) then return true end
  end
  return false
end

return M
