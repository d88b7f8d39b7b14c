--- rewrite: the one engine of rewritings: a transformation is a record, found, made and refused by
-- what it says.
--
--   name     what genes call it; doc: one sentence for people
--   where    a set of gilua.rewrite.where; or function(kernel), which returns such places
--   args     its arguments, in order, as gilua.rewrite.arguments says; or none
--   needs    what must hold there, asked in order: { fact, ask, gives = name, says = sentence,
--            promised = true }. `fact` is the file of gilua.facts that decides it. ask(at) returns
--            what it found (not nil or false: yes), or false or nil and a sentence (else `says`).
--            `gives` is the field of the place that has the answer. `promised`: nil is unknown, and
--            the sentence becomes the change's promise; false refuses all the same
--   pays     function(at): is it worth to be proposed there? nil and a sentence where not. A gene
--            may have it all the same
--   becomes  function(at, e): writes the change by e (gilua.rewrite.edit) and returns what it does,
--            in words, and a table of other fields of the change; nil and why it cannot be written
--   launch   what becomes of the launch: "grid.$side/$1", with fields of the place and arguments
--   first    true where it is made before others though `launch` is a field of its changes; before:
--            the kinds, of others that come first, that it is made before
--   instead  function(at): texts that mean the same as the kernel (gilua.rewrite.registers), which
--            are tried in turn where a need fails; the refusal is that of the kernel as it is
--   promise  what must be true of the numbers at each of its places, which no fact knows
--   judged   true where answers say how well it keeps the meaning: no fact knows of roundings, of
--            numbers that fit, or of races
--   all      of loops, without arguments: what it does at all loops of a function, the innermost of
--            those within each other, in words with %s for their lines: NAME<LINE>(all)
--
-- In `ask` and `becomes` a place `at` has kernel, fn and line, what its set gives it, its arguments
-- by number (at[1]), names(wanted), which gives names that the text does not have, and what needs
-- before gave. A refusal is data: { fact, line, says, need (the number of that one) }.
--
-- What else is said of a transformation (transform.lua) follows. `first`: it changes the launch.
-- `counts` and `times`: its launch is divided by that argument. Of a change, `pairs` and `asked`:
-- which arrays its facts took for different memory, and whether any hung on that (facts.apart);
-- `twice`: its text has lines beside a copy of them; `alone`: it writes outside of functions.

local apart = require "gilua.facts.apart"
local arguments = require "gilua.rewrite.arguments"
local edit = require "gilua.rewrite.edit"
local lists = require "gilua.base.lists"
local loop_of = require "gilua.facts.loop"
local where = require "gilua.rewrite.where"

local M = {}

-- ---- one place --------------------------------------------------------------------------------

local function no(at, fact, says)
  return { fact = fact, line = at.line, says = says, fn = at.fn }
end

-- The first need that does not hold; nil where all do: then the place has what they gave.
local function refusal(record, at)
  local fn = at.fn
  if fn and not fn.body then return no(at, "opaque", fn.why or "its text is not understood") end
  for i, need in ipairs(record.needs) do
    local answer, says = need[2](at)
    if answer == nil and need.promised then
      at.promises[#at.promises + 1] = says or need.says
    elseif not answer then
      local refused = no(at, need[1], says or need.says)
      refused.need = i
      return refused
    end
    if need.gives then at[need.gives] = answer end
  end
end

-- The notes of loops that a place goes by: those within each other with its own.
local function note_loops(at)
  local s = at.loop.statement
  for _, loop in ipairs(at.fn.loops) do
    local other = loop.statement
    local is_near = other.first <= s.last and s.first <= other.last
    if loop.notes and is_near then apart.note(loop.notes) end
  end
end

-- A place with its arguments and what its needs gave; nil and the refusal.
local function answered(record, at, values, names)
  local own = setmetatable(table.move(values, 1, #values, 1, { promises = {},
    names = names or at.kernel:names() }), { __index = at })
  if not arguments.is_named(record, own) then return nil end
  if at.loop then note_loops(at) end
  local refused = refusal(record, own)
  if refused then return nil, refused end
  return own
end

-- Does a change write outside of all functions?
local function is_outside(kernel, edits)
  for _, one in ipairs(edits) do
    local inside = lists.any(kernel.functions, function(fn)
      return fn.line <= one[1] and one[2] <= fn.last_line
    end)
    if not inside then return true end
  end
  return false
end

-- The text of a launch, with what a place and its arguments say.
local function launch_of(record, at)
  return record.launch and record.launch:gsub("%$(%w+)", function(word)
    return tostring(at[tonumber(word) or word])
  end) or nil
end

-- Writes the change of one or several places whose needs hold; nil and the refusal.
local function written(record, list)
  local at, e = list[1], edit.new(list[1].kernel)
  local change = { launch = launch_of(record, at),
    promise = at.promises[1] and table.concat(at.promises, ", and that ") }
  for _, own in ipairs(list) do
    local says, more = record.becomes(own, e)
    if not says then return nil, no(own, "edit", more) end
    change.says = change.says or says
    for key, value in pairs(more or {}) do change[key] = value end
  end
  change.edits, change.twice = e:lines(), e.twice or false
  if not change.edits then return nil, no(at, "edit", "two changes overlap") end
  change.alone = change.alone or is_outside(at.kernel, change.edits) or nil
  return change
end

-- What ask(…) makes, with the arrays that it took for different memory: a list, so that one table
-- keeps a change, or nil and the refusal.
local function noted(fn, ask, ...)
  local made, notes = apart.noting(function(...) return table.pack(ask(...)) end, ...)
  if made[1] and not made[1].pairs then
    made[1].asked, made[1].pairs = notes.asked, fn and apart.pairs(fn, notes) or {}
  end
  return made
end

local function change_as_is(record, at, values)
  local own, refused = answered(record, at, values)
  if not own then return nil, refused end
  return written(record, { own })
end

-- The change of a text that means the same, at the same line, as one of the kernel's.
local function change_instead(record, at, values)
  for _, one in ipairs(record.instead(at)) do
    for _, there in ipairs(where.places(one.kernel, record.where)) do
      local change = there.line == at.line
        and noted(there.fn, change_as_is, record, there, values)[1]
      if change then return one:both(change) end
    end
  end
end

-- A change; nil and the refusal.
local function change_of(record, at, values)
  local change, refused = change_as_is(record, at, values)
  if change or not refused or not record.instead then return change, refused end
  change = change_instead(record, at, values)
  return change, not change and refused or nil
end

-- A change, or a refusal, is made once for a place and its arguments.
local function made(record, at, values, args)
  local all, key = at.made[record] or {}, table.concat(args, ",")
  at.made[record] = all
  all[key] = all[key] or noted(at.fn, change_of, record, at, values)
  return all[key][1], all[key][2]
end

-- The loops of a function, or of a part of it, where a record can be made, the innermost of those
-- within each other.
local function innermost(record, fn, part)
  local places = {}
  for _, at in ipairs(where.places(fn.kernel, "loops")) do places[at.loop] = at end
  local loops = fn.body and loop_of.innermost(fn, function(loop)
    return answered(record, places[loop], {}) ~= nil
  end, part) or {}
  for i, loop in ipairs(loops) do loops[i] = places[loop] end
  return loops
end

local function change_of_all(record, loops)
  local list, names, lines = {}, loops[1].kernel:names(), {}
  for i, at in ipairs(loops) do
    list[i], lines[i] = answered(record, at, {}, names), at.line
  end
  local change, refused = written(record, list)
  if change then change.says = (record.all or "%s"):format(table.concat(lines, ", ")) end
  return change, refused
end

--- Returns the change of all loops of a function, or of a part of it, of a record without
--- arguments; nil and why there is none.
---@param record table
---@param part? table a statement
---@return table? change
---@return string? why
function M.make_all(record, fn, part)
  local loops = innermost(record, fn, part)
  if #loops == 0 then return nil, "it can be made at no loop there" end
  local made_of = noted(fn, change_of_all, record, loops)
  return made_of[1], made_of[2] and made_of[2].says
end

-- ---- all places -------------------------------------------------------------------------------

-- The arguments with which a rewriting can be made at a place, and the first refusal.
local function fitting(record, at)
  local list, refused = {}, nil
  if not at.kernel:is_open(at.from or at.line, at.last) then return list, nil end
  local pays, why_not = not record.pays, nil
  if record.pays then pays, why_not = record.pays(at) end
  if not pays then return list, no(at, "pays", why_not) end
  local proposals, none = arguments.proposed(record, at)
  for _, args in ipairs(proposals) do
    local change, why = made(record, at, arguments.read(record, args), args)
    if change then list[#list + 1] = args end
    refused = refused or why
  end
  return list, refused or none and no(at, "values", none)
end

local function found(record, kernel)
  local list = {}
  for _, fn in ipairs(record.all and kernel.functions or {}) do
    if kernel:is_open(fn.line, fn.last_line) and #innermost(record, fn) > 1 then
      list[#list + 1] = { line = fn.line, args = { "all" } }
    end
  end
  local seen = {}
  for _, at in ipairs(where.places(kernel, record.where)) do
    for _, args in ipairs((fitting(record, at))) do
      local key = at.line .. " " .. table.concat(args, ",")
      if not seen[key] then list[#list + 1] = { line = at.line, args = args } end
      seen[key] = true
    end
  end
  return list
end

local function copy(change)
  local new = {}
  for key, value in pairs(change) do new[key] = value end
  return new
end

-- The change that a gene means: at the first place of its line where it can be made; nil, why not
-- at the first, and the refusal.
local function make(record, kernel, line, args)
  local values, why = arguments.read(record, args)
  if not values then return nil, why end
  local refused
  for _, at in ipairs(where.places(kernel, record.where)) do
    if at.line == line then
      local change, reason = made(record, at, values, args)
      if change then return copy(change) end
      refused = refused or reason
    end
  end
  if refused then return nil, refused.says, refused end
  return nil, record.none or where.SETS[record.where].none
end

local function make_at(record, kernel, line)
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line then return M.make_all(record, fn) end
  end
  return nil, where.SETS.functions.none
end

-- The kernels that have no place of a set which every kernel may have one of.
local function without(set, kernel)
  local list, seen = {}, {}
  for _, at in ipairs(where.places(kernel, set)) do seen[at.fn] = true end
  for _, at in ipairs(where.places(kernel, "kernels")) do
    if not seen[at.fn] then list[#list + 1] = no(at, where.SETS[set].fact, where.SETS[set].none) end
  end
  return list
end

-- Of each function's refusals the first of those that came furthest, unless it is proposed there.
local function furthest(list, proposed)
  local best, order = {}, {}
  for _, refused in ipairs(list) do
    local other = best[refused.fn]
    if not other and not proposed[refused.fn] then order[#order + 1] = refused.fn end
    if not other or (refused.need or 0) > (other.need or 0) then best[refused.fn] = refused end
  end
  for i, fn in ipairs(order) do order[i] = best[fn] end
  return order
end

--- Returns why a rewriting is not proposed: { fact, line, says } for each loop, function or kernel
--- where no arguments fit; nothing of one that stands at names or statements.
---@param record table
---@return table[]
function M.refusals(record, kernel)
  local set = where.SETS[record.where]
  if not set or set.is_part then return {} end
  local none, list, proposed = set.fact and without(record.where, kernel) or {}, {}, {}
  for _, at in ipairs(where.places(kernel, record.where)) do
    local args, refused = fitting(record, at)
    if #args == 0 and refused then list[#list + 1] = refused end
    if #args > 0 then proposed[at.fn] = true end
  end
  if set.is_of_kernel then list = furthest(list, proposed) end
  return table.move(list, 1, #list, #none + 1, none)
end

--- Makes a transformation (gilua.transform.transform) of a record.
---@param record table see the head of this file
---@return table
function M.of(record)
  local t = { name = record.name, doc = record.doc, record = record, judged = record.judged,
    promise = record.promise, first = record.launch ~= nil or record.first == true,
    before = record.before }
  local counts = math.tointeger(tonumber((record.launch or ""):match "/%$(%d)$"))
  t.counts, t.times = record.counts or counts, record.times or counts ~= nil
  function t.find(kernel) return found(record, kernel) end
  function t.make(kernel, line, args)
    local is_all = record.all and #args == 1 and args[1] == "all"
    return (is_all and make_at or make)(record, kernel, line, args)
  end
  return t
end

return M
