--- merge_guards: which conditions around what is done by blocks, or threads, that become one
-- (merge_plan) can be asked of all of them at once?
--
--   local known, guards, guard = merge_guards.of(fn, "threadIdx", "x", team, same)
--
-- Three kinds: the one around all the work of a kernel (`if (i < n)`, or a return where it is not
-- so); each `if` of threads with a loop in it; and of a team (gilua.facts.teams) such an `if` that
-- is done for all of it, as those without work do what the first one does and store nothing.

local blockwise = require "gilua.facts.blockwise"
local bounded = require "gilua.facts.bounded"
local effects = require "gilua.facts.effects"
local in_step = require "gilua.facts.in_step"
local statement = require "gilua.source.statement"

local M = {}

local MOST_COPIED = 3000 -- tokens of the work that is there twice behind a guard

---@class gilua.merge_guard
---@field statement table the `if`
---@field leaves boolean it returns
---@field guarded table[] the statements that are done by it
---@field is_filled? boolean it is done for all of a team
---@field is_voted? boolean threads go one way together, for they wait for each other behind it
---@field changed? table<string, true> of that one: what it changes from what that is before it

local holds, JUMPS, LOOPS = statement.holds, statement.JUMPS, statement.LOOPS

--------------------------------------------------------------------------------------------------
-- Those inside

local function mentions(fn, node, name)
  local all = effects.of(fn, node)
  return all.reads[name] or all.writes[name]
end

-- Is a name that a statement mentions mentioned in a part of it alone?
local function is_only_in(fn, s, part, name)
  local all = effects.of(fn, s)
  for _, tokens in ipairs { all.reads[name] or {}, all.writes[name] or {} } do
    for _, token in ipairs(tokens) do
      if token < part.first or token > part.last then return false end
    end
  end
  return true
end

-- Does a statement give a name a value before it asks for one?
local function begins_with(fn, s, name)
  for _, inner in ipairs(statement.listed(s.body)) do
    if mentions(fn, inner, name) then
      if inner.kind == "for" and is_only_in(fn, s, inner.body, name) then
        return begins_with(fn, inner, name)
      end
      local tree = inner.kind == "expression" and inner.tree
      return tree and tree.kind == "assign" and tree.op == "=" and tree.a.kind == "name"
        and tree.a.text == name and not effects.of(fn, tree.b).reads[name]
    end
  end
end

--- Calls visit(name, declaration, reads, writes) for each name of a thread's own that a statement
-- asks for or writes, but for those it declares, with tokens where it does.
---@param known gilua.blockwise
---@param visit function
function M.outside_names(known, s, visit)
  local fn, all = known.fn, effects.of(known.fn, s)
  local names = {}
  for _, of in ipairs { all.reads, all.writes } do
    for name, tokens in pairs(of) do names[name] = tokens[1] end
  end
  for name, token in pairs(names) do
    local d = fn:declaration(name, token)
    local is_inside = d and s.first <= d.token and d.token <= s.last
    if known:owns(name, token) and not is_inside then
      visit(name, d, all.reads[name], all.writes[name])
    end
  end
end

-- Of a statement that does nothing to names of a thread's own that is of use elsewhere, or in its
-- next turn, and reads numbers alone: those of the names that it changes from what they are. nil of
-- any other.
local function changed_names(known, s)
  local fn, closed, changed = known.fn, true, {}
  local everywhere = effects.of(fn, fn.body)
  M.outside_names(known, s, function(name, d, reads, writes)
    local is_changed = reads and writes and not begins_with(fn, s, name)
    if is_changed then changed[name] = true end
    if not d or #d.extents > 0 or is_changed and statement.is_in_loop(s) then closed = false end
    for _, token in ipairs(writes and everywhere.reads[name] or {}) do
      if fn:declaration(name, token) == d and (token < s.first or token > s.last) then
        closed = false
      end
    end
  end)
  for _, access in ipairs(effects.of(fn, s).accesses) do
    local d = access.root and fn:declaration(access.root, access.token)
    local is_inside = d and s.first <= d.token and d.token <= s.last
    if access.atomic or access.write and not known:is_global(access) and not is_inside
      and not known.shared[access.root] then
      closed = false
    end
  end
  return closed and changed or nil
end

-- Adds each `if` of a thread's own that has loops in it. In a team it may be done for all. Without
-- a team its condition is evaluated for all.
local function add_inner(list, known, s, team)
  local fits = s.kind == "if" and s.condition and not s.otherwise and known:depends(s.condition)
    and holds(s.body, LOOPS) and not effects.of(known.fn, s).barrier
  local changed = fits and team and not holds(s.body, JUMPS) and changed_names(known, s)
  if changed then
    list[#list + 1] = { statement = s, leaves = false, guarded = { s.body }, is_filled = true,
      changed = changed }
    return
  elseif fits and (not team or team.is_next) and not holds(s.body, { ["return"] = true }) then
    list[#list + 1] = { statement = s, leaves = false, guarded = { s.body } }
  end
  for _, child in ipairs(statement.children(s)) do add_inner(list, known, child, team) end
end

local function size_of(list)
  return #list > 0 and list[#list].last - list[1].first or 0
end

--- Returns what is known where the conditions hold that are evaluated for all; these conditions;
--- and the one around all the work. Or nil and why there are none.
---@param index string "blockIdx" or "threadIdx"
---@param side string
---@param team? gilua.team
---@param same? table<integer, true> tokens of what is the same for all of it (gilua.blockwise)
---@param is_plain? boolean no `if` inside is evaluated for all
---@return gilua.blockwise?
---@return gilua.merge_guard[]|string guards
---@return gilua.merge_guard? guard
function M.of(fn, index, side, team, same, is_plain)
  local list, known, guard = {}, bounded.work(fn, side)
  if index == "threadIdx" then
    known = blockwise.of(fn, index, side, nil, same)
    guard = bounded.guard(known)
    if guard and in_step.waits(fn, guard.guarded) then guard = nil end
    if not is_plain then add_inner(list, known, fn.body, team) end
    local is_same = guard and list[1] and list[1].statement == guard.statement
    if is_same and list[1].is_filled then guard = nil elseif is_same then table.remove(list, 1) end
  elseif guard then
    local step = in_step.of(fn, side)
    if step.answer == false then return nil, step.says end
    guard.is_voted = step.is_voted
  end
  if guard then table.insert(list, 1, guard) end
  if #list > 0 and index == "threadIdx" then known = blockwise.of(fn, index, side, list, same) end
  if known.why then return nil, known.why end
  local copied = 0
  for _, g in ipairs(list) do copied = copied + size_of(g.guarded) end
  if copied > MOST_COPIED then return nil, "its work is too long" end
  return known, list, guard
end

return M
