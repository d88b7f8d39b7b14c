--- write: blocks, or threads, that become one, as changes of a kernel's text: a plan
-- (gilua.facts.merge_plan) with a number.

local each = require "gilua.rewrite.merged.each"
local edit = require "gilua.rewrite.edit"
local groups = require "gilua.rewrite.merged.groups"
local guards = require "gilua.rewrite.merged.guards"
local lists = require "gilua.base.lists"
local loop_of = require "gilua.facts.loop"
local settings = require "gilua.base.settings"
local sides_of = require "gilua.facts.sides"
local teams = require "gilua.facts.teams"
local threads = require "gilua.facts.threads"

local M = {}

local MOST_TRIPS = 32 -- of a loop that is unrolled
local MOST_UNROLLED = 256 -- times that what is in such loops is there

-- ---- what else says how many there are ----------------------------------------------------------

-- Where the text outside of what is done for each says how many there are, or which team it is.
local function put_lengths(plan, e)
  local ranges, fn, side = {}, plan.fn, plan.side
  for i, group in ipairs(plan.groups) do ranges[i] = { group.first, group.last } end
  for _, guard in ipairs(plan.guards) do
    local s = guard.statement
    ranges[#ranges + 1] = { s.first, guard.leaves and s.last or s.body.first - 1 }
  end
  local function is_outside(token)
    return lists.none(ranges, function(range) return range[1] <= token and token <= range[2] end)
  end
  for _, token in ipairs(threads.uses(fn)[plan.what.length][side]) do
    if is_outside(token) then e:replace(token, token + 2, plan.whole) end
  end
  for _, number in ipairs(plan.numbers) do
    for _, change in ipairs(is_outside(number.tree.first)
      and teams.fewer(fn, number, side, plan.count) or {}) do
      e:replace(change[1], change[2], change[3])
    end
  end
end

-- What must be so of teams whose sizes have names.
local function put_team(plan, e)
  local fn, count, seen = plan.fn, plan.count, {}
  local first = fn.body.body[1]
  for _, number in ipairs(plan.numbers) do
    local team = number.team
    if team.is_named and not seen[team.text] then
      seen[team.text] = true
      e:before(first.first, ('static_assert(%s %% %d == 0, "%s must be a multiple of %d");\n%s')
        :format(team.text, count, team.text, count, fn.kernel:indent(first.first)))
    end
  end
end

-- ---- shared memory whose size the launch says ---------------------------------------------------

-- Where its arrays begin: each block has as much.
local function dynamic_lines(plan, names)
  local bytes = threads.new_name(plan.fn, "dynamic_bytes")
  local list = { ("unsigned int %s;"):format(bytes),
    ('asm("mov.u32 %%0, %%%%dynamic_smem_size;" : "=r"(%s));'):format(bytes) }
  for _, name in ipairs(names) do
    list[#list + 1] = ("auto *const %s = %s;"):format(plan.all[name], name)
    plan.length[name] = threads.new_name(plan.fn, name .. "_length")
    list[#list + 1] = ("const unsigned int %s = %s / %d / sizeof(*%s);"):format(plan.length[name],
      bytes, plan.count, name)
  end
  return list
end

-- Writes them; what a launch has to be for it.
local function put_dynamic(plan, e)
  local names, first = {}, plan.fn.body.body[1]
  for _, name in ipairs(settings.keys(plan.spread)) do
    if each.is_dynamic(plan, name) then names[#names + 1] = name end
  end
  if #names == 0 then return "" end
  for _, s in ipairs(plan.fn.body.body) do -- behind an `extern __shared__` of the kernel's own
    if s.kind == "declaration" and s.declared[1].extern then first = nil
    elseif not first then first = s end
  end
  local indent = plan.fn.kernel:indent(first.first)
  e:before(first.first, table.concat(dynamic_lines(plan, names), "\n" .. indent) .. "\n" .. indent)
  return (" shared*%d"):format(plan.count)
end

-- ---- loops around what is done for each ---------------------------------------------------------

-- Do a block's threads share a loop, each beginning at its own place, and going on by a number?
local function is_shared_out(plan, loop)
  local by, sides = sides_of.value(plan.fn, loop.by), sides_of.of(plan.fn, loop.start, {})
  return by ~= nil and by > 1 and sides ~= nil and next(sides) ~= nil
end

-- `#pragma unroll` before loops of few iterations, which the compiler unrolls as long as less is in
-- them, and with 2 before those that a block's threads share, which mostly have one or two.
local function put_pragmas(plan, e)
  local within = {}
  for _, loop in ipairs(plan.parted) do -- outer ones come first
    local s, is_counted = loop.statement, loop.counted and loop.start ~= nil
    local trips = is_counted and loop_of.trips(loop, function(tree)
      return sides_of.value(plan.fn, tree) -- of parameters what they are unless told
    end)
    local around = s.parent
    while around and not within[around] do around = around.parent end
    within[s] = (around and within[around] or plan.count) * (trips or 1)
    local text = trips and trips > 1 and trips <= MOST_TRIPS and within[s] <= MOST_UNROLLED and ""
      or is_counted and not trips and is_shared_out(plan, loop) and " 2"
    if text and #loop.pragmas == 0 and s.parent and s.parent.kind == "block"
      and plan.fn.kernel:begins_line(s.first) then
      e:before(s.first, "#pragma unroll" .. text .. "\n" .. plan.fn.kernel:indent(s.first))
    end
  end
end

-- ---- all of it ----------------------------------------------------------------------------------

-- A plan with a number, and with the names that its text needs.
local function named(plan, count)
  local fn, what = plan.fn, plan.what
  local own = setmetatable({ count = count, all = {}, length = {}, step = edit.unit(fn) },
    { __index = plan })
  for name in pairs(plan.spread) do own.all[name] = threads.new_name(fn, name .. "_all") end
  own.part, own.other = threads.new_name(fn, "part"), threads.new_name(fn, "other")
  own.block = threads.new_name(fn, what.name)
  own.whole = ("(%s.%s * %d)"):format(what.length, plan.side, count)
  local together, active = threads.new_name(fn, "together"), threads.new_name(fn, "active")
  for i, guard in ipairs(plan.guards) do
    local ending = i > 1 and "_" .. i or ""
    guard.together, guard.active = together .. ending, active .. ending
    guard.read = guard.is_filled and each.only_read(own, plan.spread, guard)
  end
  return own
end

-- The lines that stand deeper now: those behind a guard that returns; none where tabs are a level.
local function deeper_lines(plan)
  local guard, kernel = plan.guard, plan.fn.kernel
  if not guard or not guard.leaves or #guard.guarded == 0 or not plan.step:find "^ +$" then
    return nil
  end
  local first, last = guard.statement.last, guard.guarded[#guard.guarded].last
  return { { kernel:line_of(first) + 1, kernel:line_of(last), #plan.step } }
end

--- Writes what is done for each of `count` blocks, or threads, and what once for all of them.
---@param plan gilua.merge_plan
---@param count integer
---@return string shared what the launch has to be for shared memory, with a blank before it
---@return table[]? indent lines that stand deeper now
function M.put(plan, count, e)
  plan = named(plan, count)
  local kernel, shared = plan.fn.kernel, put_dynamic(plan, e)
  put_team(plan, e)
  for _, guard in ipairs(plan.guards) do guards.put(plan, e, guard) end
  put_lengths(plan, e)
  put_pragmas(plan, e)
  for _, s in ipairs(plan.declared) do
    local arrays = {}
    groups.assignments(plan, s, arrays)
    if not s.declared[1].extern then
      e:replace(s.first, s.last, table.concat(arrays, "\n" .. kernel:indent(s.first)))
    end
  end
  for _, s in pairs(plan.elements) do e:remove(s.first, s.last) end
  for _, group in ipairs(plan.groups) do
    e:replace(group.first, group.last, groups.text(plan, group))
  end
  return shared, deeper_lines(plan)
end

return M
