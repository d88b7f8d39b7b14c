--- guards: conditions around what blocks, or threads, that become one do, asked of all of them.
-- Where one does not hold for all, their work is done one after the other, as it was.
--
--   bool together = true;                        bool active[2];
--   for (…) if (!(i < n)) together = false;      for (…) active[part] = lane < 25;
--   if (together) { … } else { for (…) … }       if (active[0]) { … }

local each = require "gilua.rewrite.merged.each"
local effects = require "gilua.facts.effects"
local merge_names = require "gilua.facts.merge_names"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"

local M = {}

-- Names among the spread that are declared before a token.
local function outer_names(plan, names, first)
  local list = {}
  for name in pairs(names) do
    local d = plan.spread[name]
    if d and (d.dynamic or d.extern or d.token < first) then list[name] = true end
  end
  return list
end

-- The return of the guard is a `continue` in the loop over the blocks.
local function add_continues(plan, instead)
  statement.walk(plan.guard.statement, function(below)
    if below.kind == "return" then instead[below.first] = { "continue;", below.last } end
  end)
end

-- The work of one block after the other's, as it was, where the guard does not hold for all.
local function one_by_one(plan, guard)
  local kernel, s = plan.fn.kernel, guard.statement
  local last = guard.guarded[#guard.guarded].last
  local instead, has_block = each.other(plan, s.first, last)
  local names = outer_names(plan, merge_names.names_of(plan, s.first, last), s.first)
  local is_rolled = guard == plan.guard
  local list = each.head(plan, names, has_block, is_rolled
    and { read = each.only_read(plan, names, guard), times = "1" } or nil)
  if guard.leaves then add_continues(plan, instead) end
  list[#list + 1] = plan.step .. kernel:source(s.first, last, instead)
    :gsub("\n", "\n" .. plan.step)
  list[#list + 1] = "}"
  for i, line in ipairs(list) do list[i] = plan.step .. line:gsub("\n", "\n" .. plan.step) end
  table.insert(list, 1, "} else {")
  list[#list + 1] = "}"
  return table.concat(list, "\n" .. kernel:indent(s.first))
end

-- Adds the lines by which those of a team without work begin with what the first one has of what
-- the work changes.
local function add_first_values(plan, guard, list)
  local moves, step, part = {}, plan.step, plan.part
  for i, name in ipairs(settings.keys(guard.changed)) do
    moves[i] = ("%s[%s] = %s[0];"):format(plan.all[name], part, plan.all[name])
  end
  if #moves == 0 then return end
  local text = table.concat(moves, " ")
  list[#list + 1] = step .. "#pragma unroll"
  list[#list + 1] = ("%sfor (int %s = 1; %s < %d; %s++)"):format(step, part, part, plan.count, part)
  list[#list + 1] = ("%s%sif (!%s[%s]) %s"):format(step, step, guard.active, part,
    #moves > 1 and "{ " .. text .. " }" or text)
end

-- Is the guard's condition met for all blocks? The lines that ask.
local function asked(plan, guard)
  local kernel, s = plan.fn.kernel, guard.statement
  local instead, has_block = each.other(plan, s.condition.first, s.condition.last)
  local text = kernel:source(s.condition.first, s.condition.last, instead)
  local used = effects.of(plan.fn, s.condition).reads
  local list = each.head(plan, outer_names(plan, used, s.first), has_block)
  if guard.is_filled then
    table.insert(list, 1, ("bool %s[%d];"):format(guard.active, plan.count))
    list[#list + 1] = plan.step .. ("%s[%s] = %s;"):format(guard.active, plan.part, text)
    list[#list + 1] = "}"
    list[#list + 1] = ("if (%s[0]) {"):format(guard.active)
    add_first_values(plan, guard, list)
  else
    table.insert(list, 1, ("bool %s = true;"):format(guard.together))
    list[#list + 1] = plan.step .. ("if (%s) %s = false;"):format(guard.leaves and text
      or "!(" .. text .. ")", guard.together)
    list[#list + 1] = "}"
    local vote = guard.is_voted and "if (__syncthreads_and(%s)) {" or "if (%s) {"
    list[#list + 1] = vote:format(guard.together)
  end
  return table.concat(list, "\n" .. kernel:indent(s.first))
end

-- Is a guard the one statement of a loop or an `if` that stays? Then what it becomes needs braces.
local function needs_braces(plan, s)
  return s.parent ~= nil and s.parent.kind ~= "block" and not plan.of[s.parent]
end

--- Writes a guard.
---@param plan gilua.merge_plan
---@param guard gilua.merge_guard
function M.put(plan, e, guard)
  local fn, s = plan.fn, guard.statement
  local indent = fn.kernel:indent(s.first)
  local text, rest = asked(plan, guard), one_by_one(plan, guard)
  if needs_braces(plan, s) then
    text, rest = "{\n" .. indent .. text, rest .. "\n" .. indent .. "}"
  end
  if guard.leaves then
    e:replace(s.first, s.last, text)
    e:before(fn.close, indent .. rest .. "\n")
  elseif s.body.kind == "block" then
    e:replace(s.first, s.body.first, text)
    e:replace(s.last, s.last, rest)
  else
    e:replace(s.first, s.body.first - 1, text .. "\n" .. indent .. plan.step)
    e:after(s.last, "\n" .. indent .. rest)
  end
end

return M
