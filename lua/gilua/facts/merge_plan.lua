--- merge_plan: what is done for each of the blocks, or threads, that become one (mergeable), and
-- what once for all of them?
--
--   local plan, why = merge_plan.of(fn, "blocks", "x")
--
-- Statements that do or ask for what is a block's own stand in groups, each done for one block
-- after the other; what is around them, with heads that are the same for all, is gone through once.
-- Yes is the plan; no is nil and the sentence.

local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local merge_guards = require "gilua.facts.merge_guards"
local merge_names = require "gilua.facts.merge_names"
local statement = require "gilua.source.statement"
local teams = require "gilua.facts.teams"

local M = {}

local holds, LOOPS, JUMPS = statement.holds, statement.LOOPS, statement.JUMPS

---@class gilua.merged what is merged
---@field index string what tells one from another
---@field length string and how many there are
---@field one string what each is called
---@field name string the variable that says which it is
local WHAT = {
  blocks = { index = "blockIdx", length = "gridDim", one = "block", name = "block" },
  threads = { index = "threadIdx", length = "blockDim", one = "thread", name = "thread" },
}

---@class gilua.merge_plan
---@field fn table of kernel.read
---@field what gilua.merged
---@field side string
---@field team gilua.team?
---@field numbers gilua.team_number[] those that all of a team have in common
---@field known gilua.blockwise
---@field guards gilua.merge_guard[]
---@field guard gilua.merge_guard? the one around all the work
---@field groups table[] what is done for each: { first, last, statements, names, elements, filled }
---@field declared table[] statements that declare what is there for each, and do no more
---@field parted table[] loops that are gone through once for all
---@field elements table<table, table> declarations of elements of what is there for each
---@field spread table<string, table> what is there for each -> declaration

--------------------------------------------------------------------------------------------------
-- Groups of statements

-- Does a statement do or ask for anything that is a block's own?
local function touches(plan, s)
  local known, all = plan.known, effects.of(plan.fn, s)
  if known:depends(s) or known:owns_any(all.writes) then return true end
  return lists.any(all.accesses, function(access)
    return access.write and known:is_global(access)
  end)
end

-- The declaration that a statement is of a name for an element of what is a block's own, as those
-- that were merged before have them, `auto &x = x_all[part];`; nil of others.
local function element_in(plan, s)
  local d = s.kind == "declaration" and #s.declared == 1 and s.declared[1]
  return d and plan.known:owns(d.name, d.token) and effects.element_of(plan.fn, d) and d or nil
end

-- Does a statement leave what is around it: its loop, or the function?
local function is_left_by(s)
  if JUMPS[s.kind] then return true end
  if LOOPS[s.kind] then return holds(s.body, { ["return"] = true }) end
  return lists.any(statement.children(s), function(child) return is_left_by(child) end)
end

-- Do all blocks leave a statement together, by a `break` or `continue` of the loop around it, if at
-- all? The conditions of such a jump are the same for all.
local function is_left_together(plan, s)
  if s.kind == "break" or s.kind == "continue" then return true end
  local is_same = s.kind == "block"
    or s.kind == "if" and not plan.of[s] and not touches(plan, s.condition)
  if not is_same then return not is_left_by(s) end
  return lists.none(statement.children(s), function(child)
    return not is_left_together(plan, child)
  end)
end

-- May a statement's body be parted: is its head the same for all blocks, and do they leave it
-- together?
local function is_through(plan, s)
  if s.kind == "block" then return true end
  if not LOOPS[s.kind] and s.kind ~= "if" or plan.known.loops[s] then return false end
  for _, head in ipairs { s.init or false, s.condition or false, s.step or false } do
    if head and touches(plan, head) then return false end
  end
  return is_left_together(plan, s.kind == "if" and s or s.body)
end

local plan_list -- (plan, list): the groups of a list of statements

local function declares_only(s)
  if s.kind ~= "declaration" then return false end
  return lists.none(s.declared, function(d) return d.init or d.unknown_init end)
end

local function add(plan, s, group, first)
  if not group then
    group = { first = first or s.first, statements = {}, filled = plan.filled }
    plan.groups[#plan.groups + 1] = group
  end
  group.statements[#group.statements + 1], group.last = s, s.last
  return group
end

-- From an #if at list[i] to its #endif, where all between is done for each block and declares
-- nothing: where it ends; nil where it has to be parted.
local function as_one(plan, list, i)
  local depth = 0
  for k = i, #list do
    local s = list[k]
    if s.kind == "directive" then
      depth = depth + (s.name:find "^if" and 1 or s.name == "endif" and -1 or 0)
      if s.name == "pragma" then return nil end
      if depth == 0 then return k end
    elseif s.kind == "declaration" or plan.of[s] or not touches(plan, s) or is_through(plan, s) then
      return nil
    end
  end
end

-- The groups within a statement whose head is the same for all blocks.
local function plan_inside(plan, s)
  if s.kind == "block" then return plan_list(plan, s.body) end
  if s.loop then plan.parted[#plan.parted + 1] = s.loop end
  for _, inner in ipairs { s.body, s.otherwise or nil } do
    plan_list(plan, statement.listed(inner))
  end
end

-- What a statement becomes: the group that it is in, if any, and whether that goes on.
local function plan_one(plan, s, group, pragma)
  local guard = plan.of[s]
  if guard then
    local around = plan.filled
    if guard.is_filled then plan.filled = guard end
    if not guard.leaves then plan_list(plan, statement.listed(s.body)) end
    plan.filled = around
  elseif element_in(plan, s) then
    plan.elements[s.declared[1]] = s
    return group
  elseif declares_only(s) and touches(plan, s) then
    plan.declared[#plan.declared + 1] = s
  elseif touches(plan, s) and is_through(plan, s) then
    plan_inside(plan, s)
  elseif touches(plan, s) then
    return add(plan, s, group, pragma)
  end
end

function plan_list(plan, list)
  local group, pragma, i = nil, nil, 1
  while i <= #list do
    local s = list[i]
    local last = s.kind == "directive" and s.name:find "^if" and as_one(plan, list, i)
    if last then
      for k = i, last do group = add(plan, list[k], group) end
      pragma, i = nil, last
    elseif s.kind == "directive" then
      group, pragma = s.name == "pragma" and group or nil, s.name == "pragma" and s.first or nil
    else
      group, pragma = plan_one(plan, s, group, pragma), nil
    end
    i = i + 1
  end
end

--------------------------------------------------------------------------------------------------
-- What cannot be done in groups

local function leaves_group(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.statements) do
      if holds(s, { ["return"] = true }) then return true end
      if holds(s, JUMPS) and not holds(s, LOOPS) then return true end
    end
  end
end

-- The first group of a plan in which threads wait for others: as a sentence.
local function waits_in_group(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.statements) do
      if effects.of(plan.fn, s).barrier then
        return ("a barrier behind line %d is not where all threads come"):format(
          plan.fn.kernel:line_of(s.first))
      end
    end
  end
end

--- Does a statement write memory that others see?
---@param plan gilua.merge_plan
function M.is_seen(plan, s)
  local known = plan.known
  return lists.any(effects.of(plan.fn, s).accesses, function(access)
    return access.write and (known:is_global(access) or known.shared[access.root])
  end)
end

-- Why what is done for each cannot be done in groups; nil where it can.
local function unfit(plan)
  local one = plan.what.one
  if #plan.groups == 0 then return "nothing in it depends on the " .. one end
  if leaves_group(plan) then return "it is left in the midst of what depends on the " .. one end
  local why = plan.what == WHAT.threads and waits_in_group(plan)
  local name = not why and merge_names.goes_on(plan)
  return why or name and ("%s goes on from one %s to the next"):format(name, one) or nil
end

-- Is there a statement that one of a team without anything to do passes over, and that gives a
-- value to what others ask for?
local function skips_values(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.filled and group.statements or {}) do
      local skips = false
      merge_guards.outside_names(plan.known, s, function(_, _, _, writes)
        skips = skips or writes ~= nil
      end)
      if skips and M.is_seen(plan, s) then return true end
    end
  end
  return false
end

local function planned(fn, what, side, team, is_plain)
  local numbers, same = {}, nil
  if team then numbers, same = teams.same(fn, side, team) end
  local known, guards, guard = merge_guards.of(fn, what.index, side, team, same, is_plain)
  if not known then return nil, guards end
  local plan = { fn = fn, what = what, side = side, known = known, guard = guard, guards = guards,
    team = team, numbers = numbers, of = {}, groups = {}, declared = {}, parted = {},
    elements = {} }
  for _, g in ipairs(guards) do plan.of[g.statement] = g end
  for _, s in ipairs(guard and guard.guarded or {}) do
    if holds(s, { ["return"] = true }) then
      return nil, "it returns behind what asks for an item"
    end
  end
  plan_list(plan, fn.body.body)
  if skips_values(plan) then return planned(fn, what, side, team, true) end
  local why = unfit(plan)
  if why then return nil, why end
  plan.spread, why = merge_names.spread(plan)
  return plan.spread and plan, why
end

--- Returns what is to be done to a kernel whose blocks, or threads, become one; nil and why nothing
--- can be.
---@param fn table of kernel.read, mergeable along the side
---@param merged "blocks"|"threads"
---@param side string
---@param team? gilua.team of threads: which they are part of; else a new block's width parts them
---@return gilua.merge_plan?
---@return string? why
function M.of(fn, merged, side, team)
  fn.merge_plans = fn.merge_plans or {}
  local key = ("%s %s %s"):format(merged, side, team and team.text .. tostring(team.is_next) or "")
  local kept = fn.merge_plans[key] or table.pack(planned(fn, WHAT[merged], side, team))
  fn.merge_plans[key] = kept
  return kept[1], kept[2]
end

return M
