--- merging: a block does the work of several neighbours, or a thread that of several of its block,
-- statement by statement: what depends on which of them it is is done for each, the rest once for
-- all (Yang, Xiang, Kong and Zhou, "A GPGPU Compiler for Memory Optimization and Parallelism
-- Management", PLDI 2010, section 3.5). So an element that several load, a weight that all compute,
-- a tile in shared memory, a barrier serves all of them.
--
--   for (int k = 0; k < n; k++)                  for (int k = 0; k < n; k++) {
--     sum += a[k] * b[k * n + column];             for (int part = 0; part < 2; part++) {
--                                                    int &column = columns[part];
--                                                    float &sum = sums[part];
--                                                    sum += a[k] * b[k * n + column];
--                                                  }
--                                                }
--
-- The loops over them are unrolled, so are those around them of few iterations, which the compiler
-- unrolls as long as less is in them: what one block loads in an iteration and the next in another
-- is loaded once. What is a block's own (gilua.facts.blockwise) is there once for each: names
-- are references to them, so that statements, and macros in them, stay as they are. A condition
-- around all the work (`if (i < n)`) is asked for all; where it does not hold for one, the blocks'
-- work is done one after the other, as it was. Of threads, that is so of each `if` with a loop in
-- it. No barrier may stand where only some threads come.
--
-- Threads of a team (gilua.facts.teams) have more in common than others: a thread that does
-- what several of one warp did has their item, all that is made of it, and what they load of it.
-- Of such, an `if` with a loop in it that the first of them does is done for all: one that did not
-- do it does what the first one does, and stores nothing.
--
--   if (lane < 25) {                             for (int part …) active_all[part] = lane < 25;
--     for (int k = 0; k < 16; k++)               if (active_all[0]) {
--       sum += a[k] * weight(lane, k);             for (int k = 0; k < 16; k++)
--     out[lane] = sum;                               for (int part …) {
--   }                                                  const auto lane = active ? … : lane_all[0];
--                                                      sum += a[k] * weight(lane, k);
--                                                    }

local bounded = require "gilua.facts.bounded"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local mergeplan = require "gilua.transform.mergeplan"
local settings = require "gilua.base.settings"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local teams = require "gilua.facts.teams"
local threads = require "gilua.facts.threads"

local M = {}

local MOST_TRIPS = 32 -- of a loop that is unrolled
local MOST_UNROLLED = 256 -- times that what is in such loops is there
local function tokens_text(kernel, first, last)
  return first > last and "" or kernel:source(first, last)
end

-- T name_all[K][extents]; of one that is there once, T name[extents];
local function array_of(plan, d)
  local kernel, words, stop = plan.fn.kernel, plan.fn.kernel.words, d.token
  while words[stop + 1] == "[" do stop = words.match[stop + 1] end
  local name = plan.spread[d.name] and ("%s[%d]"):format(plan.all[d.name], plan.count) or d.name
  return ("%s%s%s %s%s%s;"):format(d.shared and "__shared__ " or "",
    d.target_const and "const " or "", d.type, ("*"):rep(d.pointer), name,
    tokens_text(kernel, d.token + 1, stop))
end

-- The directives in which a name is declared, `#ifdef padded`, and as many #endif: where it is not
-- there, no reference to it is.
local function directives(plan, d)
  local kernel, levels, before, behind = plan.fn.kernel, {}, {}, {}
  for i = plan.fn.open, d.token or plan.fn.open do
    if kernel.words.kind[i] == "directive" then
      local name, text = kernel.words.directive(i), kernel:source(i, i)
      if name:find "^if" then levels[#levels + 1] = { text } end
      if name:find "^el" and #levels > 0 then table.insert(levels[#levels], text) end
      if name == "endif" then levels[#levels] = nil end
    end
  end
  for _, level in ipairs(levels) do
    table.move(level, 1, #level, #before + 1, before)
    behind[#behind + 1] = "#endif"
  end
  return before, behind
end

local function is_dynamic(plan, name) return plan.known.shared[name] == "dynamic" end

-- Of the names those that the work behind a guard reads alone, as they come into it: numbers, not
-- arrays.
local function only_read(plan, names, guard)
  local work = table.move(guard.guarded, 1, #guard.guarded, 2, { guard.statement })
  local list, written = {}, effects.all(plan.fn, work).writes
  for name in pairs(names) do
    local d = plan.spread[name]
    if d and not is_dynamic(plan, name) and #d.extents == 0 and not written[name]
      and not plan.fn.addressed[name] and #directives(plan, d) == 0 then
      list[name] = true
    end
  end
  return list
end

-- The lines that give names the values of the block whose turn it is. One element of an array by a
-- number that the compiler does not know would have the whole array in memory.
local function picked(plan, names)
  local list, sorted = {}, settings.keys(names)
  if #sorted == 0 then return list end
  local moves = {}
  for i, name in ipairs(sorted) do
    list[i] = ("auto %s = %s[0];"):format(name, plan.all[name])
    moves[i] = ("%s = %s[%s];"):format(name, plan.all[name], plan.other)
  end
  local text = table.concat(moves, " ")
  list[#list + 1] = "#pragma unroll"
  list[#list + 1] = ("for (int %s = 1; %s < %d; %s++)"):format(plan.other, plan.other, plan.count,
    plan.other)
  list[#list + 1] = plan.step .. ("if (%s == %s) %s"):format(plan.part, plan.other,
    #moves > 1 and "{ " .. text .. " }" or text)
  return list
end

-- Which thread, or block, a part is.
local function place_of(plan, part)
  local at, team = plan.what.index .. "." .. plan.side, plan.team
  if plan.what.index == "threadIdx" and not team then
    return ("%s + blockDim.%s * %s"):format(at, plan.side, part)
  elseif not team or team.size == plan.count and not team.is_named then
    return ("%s * %d + %s"):format(at, plan.count, part)
  end
  local n = teams.fewer_text(team, plan.count)
  return ("%s / %s * %s + %s %% %s + %s * %s"):format(at, n, team.text, at, n, n, part)
end

-- The lines that begin the loop over the blocks; `read`: names of which each turn has a copy;
-- times: how often it is unrolled (wholly); filled: the guard that is done for all of a team.
local function head_of(plan, names, has_block, read, times, filled)
  local list = { ("for (int %s = 0; %s < %d; %s++) {"):format(plan.part, plan.part, plan.count,
    plan.part) }
  table.insert(list, 1, "#pragma unroll" .. (times and " " .. times or ""))
  local active = filled and ("%s[%s]"):format(filled.active, plan.part)
  if has_block then
    list[#list + 1] = plan.step .. ("const unsigned int %s = %s;"):format(plan.block,
      place_of(plan, active and ("(%s ? %s : 0)"):format(active, plan.part) or plan.part))
  end
  for _, line in ipairs(picked(plan, read or {})) do list[#list + 1] = plan.step .. line end
  for _, name in ipairs(settings.keys(names)) do
    local d = plan.spread[name]
    local before, behind = directives(plan, d or {})
    if d and is_dynamic(plan, name) then
      list[#list + 1] = plan.step .. ("auto *const %s = %s + %s * %s;"):format(name, plan.all[name],
        plan.part, plan.length[name])
    elseif d and filled and filled.read[name] then
      list[#list + 1] = plan.step .. ("const auto %s = %s ? %s[%s] : %s[0];"):format(name, active,
        plan.all[name], plan.part, plan.all[name])
    elseif d and not (read and read[name]) then
      table.move(before, 1, #before, #list + 1, list)
      list[#list + 1] = plan.step .. ("auto &%s = %s[%s];"):format(name, plan.all[name], plan.part)
      table.move(behind, 1, #behind, #list + 1, list)
    end
  end
  return list
end

-- Tokens of a range that say which block it is, and of how many, as kernel:source takes them; does
-- any say which?
local function other_block(plan, first, last)
  local instead, uses = {}, threads.uses(plan.fn)
  local function take(tokens, text)
    local any = false
    for _, token in ipairs(tokens) do
      if first <= token and token <= last then
        instead[token], any = { text, token + 2 }, true
      end
    end
    return any
  end
  take(uses[plan.what.length][plan.side], plan.whole)
  return instead, take(uses[plan.what.index][plan.side], plan.block)
end

-- The text of a tree that is the same for all.
local function common_text(plan, tree)
  local fn, instead = plan.fn, {}
  for _, token in ipairs(threads.uses(fn)[plan.what.length][plan.side]) do
    instead[token] = { plan.whole, token + 2 }
  end
  for _, number in ipairs(plan.numbers) do
    for _, change in ipairs(teams.fewer(fn, number, plan.side, plan.count)) do
      instead[change[1]] = { change[3], change[2] }
    end
  end
  return fn.kernel:source(tree.first, tree.last, instead)
end

-- A declaration as assignments, and what it needs before the group: arrays, and what is the same
-- for all.
local function assignments(plan, s, arrays)
  local list, kernel = {}, plan.fn.kernel
  for _, d in ipairs(s.declared) do
    local is_own = plan.known:owns(d.name, d.token)
    arrays[#arrays + 1] = array_of(plan, d)
    if d.init and not is_own then
      arrays[#arrays] = ("%s%s = %s;"):format(d.const and d.pointer == 0 and "const " or "",
        arrays[#arrays]:sub(1, -2), common_text(plan, d.init))
    elseif d.init then
      list[#list + 1] = ("%s = %s;"):format(d.name, kernel:source(d.init.first, d.init.last,
        (other_block(plan, d.init.first, d.init.last))))
    end
  end
  return table.concat(list, " ")
end

-- Has a declaration what more than its group uses?
local function is_spread(plan, s)
  local owned = 0
  for _, d in ipairs(s.kind == "declaration" and s.declared or {}) do
    if plan.spread[d.name] == d then return true end
    owned = owned + (plan.known:owns(d.name, d.token) and 1 or 0)
  end
  return owned > 0 and owned < #s.declared
end

-- A group's text: its statements as they stand, one level deeper.
local function group_text(plan, group)
  local kernel, fn = plan.fn.kernel, plan.fn
  local instead, has_block = other_block(plan, group.first, group.last)
  local arrays = {}
  for _, s in ipairs(group.statements) do
    if is_spread(plan, s) then
      for token in pairs(instead) do
        if s.first <= token and token <= s.last then instead[token] = nil end
      end
      instead[s.first] = { assignments(plan, s, arrays), s.last }
    elseif group.filled and mergeplan.is_seen(plan, s) then
      local word = instead[s.first] or { kernel:source(s.first, s.first), s.first }
      instead[s.first] = { ("if (%s[%s]) %s"):format(group.filled.active, plan.part, word[1]),
        word[2] }
    end
  end
  local list = arrays
  for _, line in ipairs(head_of(plan, group.names, has_block, nil, nil, group.filled)) do
    list[#list + 1] = line
  end
  for _, d in ipairs(group.elements) do
    local s = plan.elements[d]
    local before, behind = directives(plan, d)
    table.move(before, 1, #before, #list + 1, list)
    list[#list + 1] = plan.step .. kernel:source(s.first, s.last)
    table.move(behind, 1, #behind, #list + 1, list)
  end
  list[#list + 1] = plan.step .. kernel:source(group.first, group.last, instead)
    :gsub("\n", "\n" .. plan.step)
  list[#list + 1] = "}"
  local parent, indent = group.statements[1].parent, kernel:indent(group.first)
  local stands_in_list = not parent or parent.kind == "block" or fn.body == parent
  local is_beside = not kernel:begins_line(group.first)
  local inner = is_beside and indent .. plan.step or indent
  local text = table.concat(list, "\n" .. inner):gsub("\n[ \t]+(#%s*[ie][fln])", "\n%1")
  if stands_in_list then return is_beside and "\n" .. inner .. text or text end
  return "{\n" .. inner .. text .. "\n" .. indent .. "}"
end

-- Names among the spread that are declared before a token.
local function outer_names(plan, names, first)
  local list = {}
  for name in pairs(names) do
    local d = plan.spread[name]
    if d and (d.dynamic or d.extern or d.token < first) then list[name] = true end
  end
  return list
end

-- The work of one block after the other's, as it was, where the guard does not hold for all.
local function one_by_one(plan, guard)
  local kernel = plan.fn.kernel
  local first = guard.statement.first
  local last = guard.guarded[#guard.guarded].last
  local indent = kernel:indent(first)
  local instead, has_block = other_block(plan, first, last)
  local names = outer_names(plan, mergeplan.names_of(plan, first, last), first)
  local is_rolled = guard == plan.guard
  local list = head_of(plan, names, has_block,
    is_rolled and only_read(plan, names, guard) or nil, is_rolled and "1" or nil)
  list[#list + 1] = plan.step .. kernel:source(first, last, guard.leaves and plan.continues(instead)
    or instead):gsub("\n", "\n" .. plan.step)
  list[#list + 1] = "}"
  for i, line in ipairs(list) do list[i] = plan.step .. line:gsub("\n", "\n" .. plan.step) end
  table.insert(list, 1, "} else {")
  list[#list + 1] = "}"
  return table.concat(list, "\n" .. indent)
end

-- The lines by which those of a team without work begin with what the first one has of what the
-- work changes.
local function put_first_values(plan, guard, list)
  local moves = {}
  for i, name in ipairs(settings.keys(guard.changed)) do
    moves[i] = ("%s[%s] = %s[0];"):format(plan.all[name], plan.part, plan.all[name])
  end
  if #moves == 0 then return end
  local text = table.concat(moves, " ")
  list[#list + 1] = plan.step .. "#pragma unroll"
  list[#list + 1] = plan.step .. ("for (int %s = 1; %s < %d; %s++)"):format(plan.part, plan.part,
    plan.count, plan.part)
  list[#list + 1] = plan.step .. plan.step .. ("if (!%s[%s]) %s"):format(guard.active, plan.part,
    #moves > 1 and "{ " .. text .. " }" or text)
end

-- Is the guard's condition met for all blocks? The lines that ask.
local function asked(plan, guard)
  local kernel, s = plan.fn.kernel, guard.statement
  local instead, has_block = other_block(plan, s.condition.first, s.condition.last)
  local text = kernel:source(s.condition.first, s.condition.last, instead)
  local used = effects.of(plan.fn, s.condition).reads
  local list = head_of(plan, outer_names(plan, used, s.first), has_block)
  if guard.is_filled then
    table.insert(list, 1, ("bool %s[%d];"):format(guard.active, plan.count))
    list[#list + 1] = plan.step .. ("%s[%s] = %s;"):format(guard.active, plan.part, text)
    list[#list + 1] = "}"
    list[#list + 1] = ("if (%s[0]) {"):format(guard.active)
    put_first_values(plan, guard, list)
    return table.concat(list, "\n" .. kernel:indent(s.first))
  end
  table.insert(list, 1, ("bool %s = true;"):format(guard.together))
  list[#list + 1] = plan.step .. ("if (%s) %s = false;"):format(guard.leaves and text
    or "!(" .. text .. ")", guard.together)
  list[#list + 1] = "}"
  list[#list + 1] = ("if (%s) {"):format(guard.together)
  return table.concat(list, "\n" .. kernel:indent(s.first))
end

-- The return of the guard is a `continue` in the loop over the blocks.
local function with_continue(plan)
  return function(instead)
    local s = plan.guard.statement
    statement.walk(s, function(below)
      if below.kind == "return" then instead[below.first] = { "continue;", below.last } end
    end)
    return instead
  end
end

-- Is a guard the one statement of a loop or an `if` that stays? Then what it becomes needs braces.
local function needs_braces(plan, s)
  return s.parent ~= nil and s.parent.kind ~= "block" and not plan.of[s.parent]
end

local function put_guard(plan, e, guard)
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

-- Where the text outside of what is done for each says how many there are, or which team it is.
local function put_lengths(plan, e)
  local ranges, fn, side = {}, plan.fn, plan.side
  for _, group in ipairs(plan.groups) do ranges[#ranges + 1] = { group.first, group.last } end
  for _, guard in ipairs(plan.guards) do
    local s = guard.statement
    ranges[#ranges + 1] = { s.first, guard.leaves and s.last or s.body.first - 1 }
  end
  local function is_outside(token)
    for _, range in ipairs(ranges) do
      if range[1] <= token and token <= range[2] then return false end
    end
    return true
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

-- Where arrays of shared memory begin whose size the launch says: each block has as much.
local function dynamic_lines(plan)
  local list, names = {}, {}
  for name in pairs(plan.spread) do
    if is_dynamic(plan, name) then names[name] = true end
  end
  if not next(names) then return list end
  local bytes = threads.new_name(plan.fn, "dynamic_bytes")
  list[1] = ("unsigned int %s;"):format(bytes)
  list[2] = ('asm("mov.u32 %%0, %%%%dynamic_smem_size;" : "=r"(%s));'):format(bytes)
  for _, name in ipairs(settings.keys(names)) do
    list[#list + 1] = ("auto *const %s = %s;"):format(plan.all[name], name)
    plan.length[name] = threads.new_name(plan.fn, name .. "_length")
    list[#list + 1] = ("const unsigned int %s = %s / %d / sizeof(*%s);"):format(plan.length[name],
      bytes, plan.count, name)
  end
  return list
end

local function put_dynamic(plan, e)
  local lines = dynamic_lines(plan)
  if #lines == 0 then return "" end
  local first = plan.fn.body.body[1]
  for _, s in ipairs(plan.fn.body.body) do -- behind an `extern __shared__` of the kernel's own
    if s.kind == "declaration" and s.declared[1].extern then first = nil
    elseif not first then first = s end
  end
  local indent = plan.fn.kernel:indent(first.first)
  e:before(first.first, table.concat(lines, "\n" .. indent) .. "\n" .. indent)
  return (" shared*%d"):format(plan.count)
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

-- Do a block's threads share a loop, each beginning at its own place, and going on by a number?
local function is_shared_out(plan, loop)
  local by, sides = sides_of.value(plan.fn, loop.by), sides_of.of(plan.fn, loop.start, {})
  return by ~= nil and by > 1 and sides ~= nil and next(sides) ~= nil
end

-- `#pragma unroll` before the loops that stay around what is done for each: those of few
-- iterations, and with 2 those that a block's threads share, which mostly have one or two.
local function put_pragmas(plan, e)
  local times, within = {}, {}
  for _, loop in ipairs(plan.parted) do -- outer ones come first
    local s, is_counted = loop.statement, loop.counted and loop.start ~= nil
    local trips = is_counted and loop_of.trips(loop, function(tree)
      return sides_of.value(plan.fn, tree) -- of parameters what they are unless told
    end)
    local around = s.parent
    while around and not times[around] do around = around.parent end
    within[s] = (around and within[around] or plan.count) * (trips or 1)
    times[s] = true
    local text = trips and trips > 1 and trips <= MOST_TRIPS and within[s] <= MOST_UNROLLED and ""
      or is_counted and not trips and is_shared_out(plan, loop) and " 2"
    if text and #loop.pragmas == 0 and s.parent and s.parent.kind == "block"
      and plan.fn.kernel:begins_line(s.first) then
      e:before(s.first, "#pragma unroll" .. text .. "\n" .. plan.fn.kernel:indent(s.first))
    end
  end
end

local function named(plan, count)
  local fn, what, side = plan.fn, plan.what, plan.side
  plan.count, plan.all, plan.length, plan.step = count, {}, {}, edit.unit(fn)
  for name in pairs(plan.spread) do plan.all[name] = threads.new_name(fn, name .. "_all") end
  plan.part = threads.new_name(fn, "part")
  plan.other = threads.new_name(fn, "other")
  plan.block = threads.new_name(fn, what.name)
  plan.whole = ("(%s.%s * %d)"):format(what.length, side, count)
  local together = threads.new_name(fn, "together")
  local active = threads.new_name(fn, "active")
  for i, guard in ipairs(plan.guards) do
    local ending = i > 1 and "_" .. i or ""
    guard.together, guard.active = together .. ending, active .. ending
    guard.read = guard.is_filled and only_read(plan, plan.spread, guard)
  end
  plan.continues = plan.guard and with_continue(plan)
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

--- Merges blocks, or threads, of a kernel: a change without the words that say so; nil and why not.
---@param fn table of kernel.read
---@param what "blocks"|"threads"
---@param side string
---@param count integer
---@param team? gilua.team of threads: which they are part of; else a new block's width parts them
---@return table?
---@return string? message
function M.merged(fn, what, side, count, team)
  if team and team.size % count ~= 0 then
    return nil, ("%s threads are no whole number of %d"):format(team.text, count)
  end
  local plan, why = mergeplan.of(fn, what, side, team)
  if not plan then return nil, why end
  named(plan, count)
  local e = edit.new(fn.kernel)
  local shared = put_dynamic(plan, e)
  put_team(plan, e)
  for _, guard in ipairs(plan.guards) do put_guard(plan, e, guard) end
  put_lengths(plan, e)
  put_pragmas(plan, e)
  for _, s in ipairs(plan.declared) do
    local arrays = {}
    assignments(plan, s, arrays)
    local is_extern = s.declared[1].extern
    if not is_extern then
      e:replace(s.first, s.last, table.concat(arrays, "\n" .. fn.kernel:indent(s.first)))
    end
  end
  for _, s in pairs(plan.elements) do e:remove(s.first, s.last) end
  for _, group in ipairs(plan.groups) do
    e:replace(group.first, group.last, group_text(plan, group))
  end
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  local of, known = what == "blocks" and "grid" or "block", nil
  local asks = ("%s.%s%%%d "):format(of, side, team and team.size or count)
  if what == "blocks" then known = bounded.of(fn, side) end
  if known and known.answer ~= false then asks = known.asks end
  return { edits = edits, indent = deeper_lines(plan), bounded = bounded.sides(fn),
    promise = known and known.answer == nil and known.says or nil,
    launch = ("%s%s.%s/%d%s"):format(asks, of, side, count, shared) }
end

--- Can blocks, or threads, of a kernel be merged along a side?
---@param fn table
---@param what "blocks"|"threads"
---@param side string
---@param team? gilua.team
---@return boolean
function M.fits(fn, what, side, team) return mergeplan.of(fn, what, side, team) ~= nil end

return M
