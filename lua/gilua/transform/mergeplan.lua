--- mergeplan: what is to be done to a kernel whose blocks, or threads, are merged
-- (gilua.transform.merging): which statements are done for each of them, in groups, the others once
-- for all, and which names are there for each.

local blockwise = require "gilua.facts.blockwise"
local effects = require "gilua.facts.effects"
local mergeguards = require "gilua.transform.mergeguards"
local statement = require "gilua.source.statement"
local teams = require "gilua.facts.teams"
local threads = require "gilua.facts.threads"

local M = {}

local holds, LOOPS, JUMPS = statement.holds, statement.LOOPS, mergeguards.JUMPS

---@class gilua.merged what is merged
---@field index string what tells one from another
---@field length string and how many there are
---@field one string what each is called
---@field name string the variable that says which it is
local WHAT = {
  blocks = { index = "blockIdx", length = "gridDim", one = "block", name = "block" },
  threads = { index = "threadIdx", length = "blockDim", one = "thread", name = "thread" },
}
for _, what in pairs(WHAT) do what.words = { [what.index] = true, [what.length] = true } end

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
  if known:depends(s) then return true end
  if known:owns_any(all.writes) then return true end
  for _, access in ipairs(all.accesses) do
    if access.write and known:is_global(access) then return true end
  end
  return false
end

local function touches_any(plan, ...)
  for _, node in ipairs { ... } do
    if node and touches(plan, node) then return true end
  end
  return false
end

-- The declaration that a statement is of a name for an element of what is a block's own, as those
-- that were merged before have them, `auto &x = x_all[part];`; nil of others.
local function element_in(plan, s)
  local d = s.kind == "declaration" and #s.declared == 1 and s.declared[1]
  return d and plan.known:owns(d.name, d.token) and effects.element_of(plan.fn, d) and d or nil
end

-- Does a statement leave what is around it: its loop, or the function?
local function is_left_by(s)
  if s.kind == "return" or s.kind == "break" or s.kind == "continue" then return true end
  if LOOPS[s.kind] then return holds(s.body, { ["return"] = true }) end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    if is_left_by(child) then return true end
  end
  return s.otherwise ~= nil and is_left_by(s.otherwise)
end

-- May a statement's body be parted: is its head the same for all blocks, and does no group of its
-- body leave it?
local function is_through(plan, s)
  if s.kind == "block" then return true end
  if not LOOPS[s.kind] and s.kind ~= "if" or plan.known.loops[s] then return false end
  if touches_any(plan, s.init or false, s.condition or false, s.step or false) then return false end
  return not is_left_by(s.kind == "if" and s or s.body)
end

-- A name that the groups of a plan give a value, and that is not there for each, so that it would
-- go on from one to the next; nil where there is none. What loops alone begin anew does not.
local function goes_on(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.statements) do
      for name, tokens in pairs(effects.of(plan.fn, s).writes) do
        local d = plan.fn:declaration(name, tokens[1])
        local is_outside = d and (d.token < group.first or d.token > group.last)
        if is_outside and not plan.known:owns(name, tokens[1])
          and not plan.known:only_counts(name) then
          return name
        end
      end
    end
  end
end

-- Adds the elements among names, and the arrays that they are of to the names.
local function add_elements(plan, group)
  group.elements = {}
  for name in pairs(group.names) do
    local d = plan.fn:declaration(name, group.first)
    if d and plan.elements[d] then group.elements[#group.elements + 1] = d end
  end
  table.sort(group.elements, function(a, b) return a.token < b.token end)
  for _, d in ipairs(group.elements) do
    group.names[d.name] = nil
    group.names[effects.element_of(plan.fn, d)] = true
  end
end

--- The names in a range of tokens that are there for each.
---@param plan gilua.merge_plan
---@param first integer
---@param last integer
---@return table<string, true>
function M.names_of(plan, first, last)
  local list = {}
  for _, s in ipairs(plan.fn.statements) do
    if first <= s.first and s.last <= last then
      local e = effects.of(plan.fn, s)
      for _, names in ipairs { e.reads, e.writes } do
        for name, tokens in pairs(names) do
          if plan.known:owns_any { [name] = tokens } then list[name] = true end
        end
      end
    end
  end
  return list
end

local plan_list -- (plan, list): the groups of a list of statements

local function declares_only(s)
  if s.kind ~= "declaration" then return false end
  for _, d in ipairs(s.declared) do
    if d.init or d.unknown_init then return false end
  end
  return true
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

-- Adds list[i] to list[last], which belong together.
local function add_all(plan, list, i, last, group)
  group = add(plan, list[i], group)
  for k = i + 1, last do add(plan, list[k], group) end
  return group
end

-- The groups within a statement whose head is the same for all blocks.
local function plan_inside(plan, s)
  if s.kind == "block" then return plan_list(plan, s.body) end
  if s.loop then plan.parted[#plan.parted + 1] = s.loop end
  for _, inner in ipairs { s.body, s.otherwise or nil } do
    plan_list(plan, inner.kind == "block" and inner.body or { inner })
  end
end

-- What a statement becomes: the group that it is in, if any, and whether that goes on.
local function plan_one(plan, s, group, pragma)
  local guard = plan.of[s]
  if guard then
    local list, around = s.body.kind == "block" and s.body.body or { s.body }, plan.filled
    if guard.is_filled then plan.filled = guard end
    if not guard.leaves then plan_list(plan, list) end
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
      group, pragma, i = add_all(plan, list, i, last, group), nil, last
    elseif s.kind == "directive" then
      group, pragma = s.name == "pragma" and group or nil, s.name == "pragma" and s.first or nil
    else
      group, pragma = plan_one(plan, s, group, pragma), nil
    end
    i = i + 1
  end
end

-- The names that more than their own group uses: name -> declaration, those of shared memory
-- always; nil and why one cannot be there for each block.
local function spread(plan)
  local list, fn = {}, plan.fn
  local function take(name, d)
    if plan.known.shared[name] == "file" then
      return ("%s is shared memory that is declared outside of the kernel"):format(name)
    elseif plan.known.shared[name] == "dynamic" then
      list[name] = d or { name = name, dynamic = true }
    elseif d and (d.parameter or d.reference or d.static or d.volatile or d.type == "auto") then
      return ("%s cannot be there for each %s"):format(name, plan.what.one)
    elseif d then
      list[name] = d
    end
  end
  for _, s in ipairs(plan.declared) do
    for _, d in ipairs(s.declared) do
      local why = plan.known.names[d.name] and take(d.name, d)
      if why then return nil, why end
    end
  end
  for _, group in ipairs(plan.groups) do
    group.names = M.names_of(plan, group.first, group.last)
    add_elements(plan, group)
    for name in pairs(group.names) do
      local d = fn:declaration(name, group.first) or fn:declaration(name, group.last)
      local shared = plan.known.shared[name]
      local outside = d and (d.token < group.first or d.token > group.last)
      local why = (outside or shared) and take(name, d)
      if why then return nil, why end
    end
  end
  for _, guard in ipairs(plan.guards) do
    local condition = guard.statement.condition
    for name, tokens in pairs(effects.of(fn, condition).reads) do
      local is_own = plan.known:owns_any { [name] = tokens }
      local why = is_own and take(name, fn:declaration(name, condition.first))
      if why then return nil, why end
    end
  end
  for name, d in pairs(list) do
    if #(fn.variables[name] or { 1 }) > 1 then
      return nil, ("%s is declared more than once"):format(name)
    elseif not d.dynamic and not d.extern and not plan.known.names[name] then
      return nil, ("%s is not understood"):format(name)
    elseif d.init and (d.init_form ~= "=" or #d.extents > 0) or d.unknown_init then
      return nil, ("%s begins with what cannot be assigned"):format(name)
    end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- What cannot be merged

local VOTES = { __syncthreads_count = true, __syncthreads_or = true, __syncthreads_and = true,
                __barrier_sync = true, sync = true }

-- Why threads cannot be merged: what a warp's lanes tell each other, by shuffles or, as they run in
-- step, by volatile memory, or a barrier that counts them.
local function knows_lanes(fn)
  if effects.of(fn, fn.body).warp then return "lanes of a warp tell each other something" end
  for i = fn.head, fn.close do
    local word = fn.kernel.words[i]
    if VOTES[word] then return word .. " counts threads" end
    if word == "__syncwarp" and fn.kernel.words[i + 2] ~= ")" then
      return "__syncwarp waits for some lanes of a warp"
    end
    if word == "volatile" then return "volatile memory tells other lanes something" end
  end
end

-- How many indices stand behind a name.
local function indices_behind(words, token)
  local n, at = 0, token + 1
  while words[at] == "[" do n, at = n + 1, words.match[at] + 1 end
  return n
end

-- Is shared memory used otherwise than element by element, so that a pointer may hold it?
local function lends_shared(fn)
  local words, shared = fn.kernel.words, blockwise.shared(fn)
  for token = fn.open, fn.close do
    local name = words[token]
    for _, inside in ipairs((fn.kernel.macros[name] or {}).names or {}) do
      if shared[inside] then return true end
    end
    local d = shared[name] and fn:declaration(name, token)
    local is_declared = d and d.token == token
    local n = shared[name] and not is_declared and indices_behind(words, token)
    if n and (words[token - 1] == "&" or n < (d and #d.extents or 1)) then return true end
  end
  return false
end

-- Does a kernel go to memory of which nobody knows whether it is shared, which each block has?
local function hides_shared(fn)
  if not lends_shared(fn) then return false end
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    if not access.root then return true end
  end
  return false
end

local function refusal(fn, what, side)
  local uses, hidden = threads.uses(fn), threads.hidden(fn, what.words)
  if hidden then return hidden end
  if uses.whole or uses.grid then
    return ("%s is used as a whole"):format(uses.whole or uses.grid)
  end
  local all = effects.of(fn, fn.body)
  if all.opaque or all["goto"] or all.label then return "something in it is not understood" end
  if #uses[what.index][side] == 0 then
    return ("it does not ask for %s.%s"):format(what.index, side)
  end
  local lanes = what == WHAT.threads and knows_lanes(fn)
  if lanes then return lanes end
  if what == WHAT.blocks and hides_shared(fn) then
    return "what a pointer in it points to may be shared memory"
  end
  for _, s in ipairs(fn.statements) do
    if s.kind == "switch" or s.kind == "unknown" or s.unknown_header then
      return ("line %d is not understood"):format(fn.kernel:line_of(s.first))
    end
  end
  if not fn.kernel:begins_line(fn.close) then return "its braces share lines with statements" end
end

local function leaves_group(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.statements) do
      if holds(s, { ["return"] = true }) then return true end
      if not LOOPS[s.kind] and holds(s, JUMPS) then
        local inside = false
        statement.walk(s, function(below) inside = inside or LOOPS[below.kind] or false end)
        if not inside then return true end
      end
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
---@param s table
---@return boolean
function M.is_seen(plan, s)
  local known = plan.known
  for _, access in ipairs(effects.of(plan.fn, s).accesses) do
    if access.write and (known:is_global(access) or known.shared[access.root]) then return true end
  end
  return false
end

-- Is there a statement that one of a team without anything to do passes over, and that gives a
-- value to what others ask for?
local function skips_values(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.filled and group.statements or {}) do
      local skips = false
      mergeguards.outside_names(plan.known, s, function(_, _, _, writes)
        skips = skips or writes ~= nil
      end)
      if skips and M.is_seen(plan, s) then return true end
    end
  end
  return false
end

--- What is to be done to a kernel; nil and why nothing can be.
---@param fn table of kernel.read
---@param merged "blocks"|"threads"
---@param side string
---@param team? gilua.team
---@param is_plain? boolean no `if` is done for all of a team
---@return gilua.merge_plan?
---@return string? message
function M.of(fn, merged, side, team, is_plain)
  local what = WHAT[merged]
  local why = refusal(fn, what, side) or team and teams.parted(fn, team)
  if why then return nil, why end
  local numbers, same = {}, nil
  if team then numbers, same = teams.same(fn, side, team) end
  local known, guards, guard = mergeguards.of(fn, what.index, side, team, same, is_plain)
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
  if skips_values(plan) then return M.of(fn, merged, side, team, true) end
  if #plan.groups == 0 then return nil, "nothing in it depends on the " .. what.one end
  if leaves_group(plan) then
    return nil, "it is left in the midst of what depends on the " .. what.one
  end
  why = what == WHAT.threads and waits_in_group(plan)
  if why then return nil, why end
  local name = goes_on(plan)
  if name then return nil, ("%s goes on from one %s to the next"):format(name, what.one) end
  plan.spread, why = spread(plan)
  if not plan.spread then return nil, why end
  return plan
end

return M
