--- shared_loop: may several threads share a loop, so that each does every n-th iteration?
--
-- Yes where it counts upwards, knows its bound beforehand and is left in no other way, and where it
-- writes variables of its own, memory that no other of its iterations touches, or only adds to
-- (added), and what is put together behind it: sums, maxima and minima (reduction), or one running
-- sum, which the threads have together all the while (running). A loop with that alone may count
-- downwards, too.
--
-- All threads do alike what is outside of these loops, but for what they write there, which one of
-- them does (written_once).

local added = require "gilua.facts.added"
local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local order = require "gilua.facts.order"
local reduction = require "gilua.facts.reduction"
local running = require "gilua.facts.running"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local WIDE = {}
for _, type in ipairs { "int", "long", "long long" } do
  WIDE[type], WIDE["unsigned " .. type] = true, true
end

-- The tokens of accesses of a loop that add to memory and do no more: in any order.
local function additions(loop)
  local tokens = {}
  for _, s in ipairs(loop.fn.statements) do
    local found = statement.spans(loop.statement, s.first) and added.of(loop.fn, s)
    if found then tokens[found.access.token] = true end
  end
  return tokens
end

-- Does each iteration touch only what it alone writes, but for what all add to?
local function keeps_apart(loop)
  local all, adds = loop.inside.accesses, additions(loop)
  for _, a in ipairs(all) do
    local is_own = a.base and loop.inside.declares[a.base]
    local is_added = adds[a.token]
    if a.atomic and not is_added or a.escapes then return false end
    for _, b in ipairs(a.write and not is_own and all or {}) do
      local is_free = is_added and adds[b.token]
      local later = not is_free and apart.may_meet(loop.fn, a, b) and order.distance(loop, a, b)
      if later ~= 0 and later ~= false then return false end -- of another iteration, or not known
    end
  end
  return true
end

---@class gilua.row_loop
---@field loop table (gilua.loop)
---@field reductions gilua.reduction[]
---@field running? gilua.running
---@field writes boolean memory
---@field inner? gilua.row_loop of M.nested

-- Can a loop's variable be past its bound by as many iterations as there are threads? One without a
-- sign cannot be below zero.
local function is_wide(loop)
  local type = types.resolved(loop.fn.kernel, loop.type or "")
  if type == "auto" then type = types.of(loop.fn, loop.start) or "" end
  type = types.plain((type:gsub("^std%s*::%s*", "")))
  return WIDE[type] and (loop.step > 0 or not type:find "unsigned")
end

local UP, DOWN = { ["<"] = true, ["<="] = true }, { [">"] = true, [">="] = true }

-- Does a loop count from its beginning to its end, by a variable of its own?
local function counts(loop)
  return loop.kind == "for" and loop.simple and loop.start and order.is_its_own(loop)
    and loop.step and loop.step ~= 0 and (loop.step > 0 and UP or DOWN)[loop.relation]
    and is_wide(loop)
    and not loop.barrier and not loop.warp and loop.statement.condition.kind == "binary"
end

-- The variables that a loop writes and does not declare, in order.
local function written_names(loop)
  return lists.filter(settings.keys(loop.inside.writes), function(name)
    return not loop.inside.declares[name] and name ~= loop.variable
  end)
end

-- Does a loop write memory besides arrays of its own?
local function writes_memory(loop)
  return lists.any(loop.inside.accesses, function(access)
    return access.write and not loop.inside.declares[access.base]
  end)
end

--- Returns a loop as one that threads can share; nil where they cannot.
---@param sums? table<string, table> variables in shared memory that may be put together, too
---@return gilua.row_loop?
function M.of(loop, sums)
  if not counts(loop) or not keeps_apart(loop) then return nil end
  local names = written_names(loop)
  local row = { loop = loop, reductions = {}, writes = writes_memory(loop) }
  for _, name in ipairs(names) do
    local found = reduction.of(loop, name, sums)
    if not found then
      if row.running then return nil end
      row.running = running.of(loop, name)
      if not row.running then return nil end
    elseif found.name == name then
      row.reductions[#row.reductions + 1] = found
    end
  end
  if loop.step < 0 and (not row.running or #row.reductions > 0) then return nil end
  if loop.notes then apart.note(loop.notes) end
  return (#names > 0 or row.writes) and row or nil
end

--- Returns the outermost loops of a function that threads can share; nil where it has none.
---@return gilua.row_loop[]?
function M.outermost(fn)
  local list = {}
  statement.walk(fn.body, function(s)
    local row = s.loop and M.of(s.loop)
    list[#list + 1] = row
    return not row
  end)
  return #list > 0 and list or nil
end

--- Returns the outermost loops of a function that threads can share; those that do nothing but go
--- through a loop that can be shared, too, have it as `inner`. Nil where none has.
---@return gilua.row_loop[]?
function M.nested(fn)
  local list, has_inner = M.outermost(fn), false
  for _, row in ipairs(list or {}) do
    local body = statement.listed(row.loop.body)
    local inner = #body == 1 and body[1].loop and not row.running and M.of(body[1].loop)
    if inner and not inner.running then row.inner, has_inner = inner, true end
  end
  return has_inner and list or nil
end

-- ---- what is outside of them --------------------------------------------------------------------

local within = statement.spans

-- The loop of a list in which a token is.
local function loop_of(rows, token)
  for _, row in ipairs(rows) do
    if within(row.loop.statement, token) then return row end
  end
end

local function is_private(fn, access)
  local d = access.root and fn.variables[access.root] and fn.variables[access.root][1]
  return d ~= nil and not d.parameter and #d.extents > 0
end

-- The statement, an expression by itself, that one thread is to do.
local function statement_of(fn, token)
  local found
  for _, s in ipairs(fn.statements) do
    if s.kind == "expression" and within(s, token) then found = s end
  end
  return found
end

-- Has each lane read an access before one of them writes to what may be the same memory? All put
-- their sums together between the two, and these come of what was read. An earlier write has a
-- check of its own. Of one array the memory model wants a barrier all the same.
local function is_read_before(access, write, joined)
  return joined and access.root ~= write.root and within(joined, write.token)
    and access.token < joined.first
end

-- Is what is written anywhere read in another statement, or by another iteration?
local function read_elsewhere(fn, all, write, place, joined)
  for _, access in ipairs(all) do
    local is_ordered = within(place, access.token) or is_read_before(access, write, joined)
    if access ~= write and not is_ordered and apart.may_meet(fn, access, write) then
      return access
    end
  end
end

-- What stands behind the last shared loop in its block, where one thread can do all of that, as no
-- loop comes back to it: a range of tokens; nil of nothing.
local function tail_of(rows)
  local s = rows[#rows].loop.statement
  local at = s.parent
  if not at or at.kind ~= "block" or s.last + 1 >= at.last then return nil end
  while at do
    if at.kind ~= "block" and at.kind ~= "if" then return nil end
    at = at.parent
  end
  return { loop = s, first = s.last + 1, last = s.parent.last }
end

-- The same behind a loop whose sums lanes put together; nil where they do not.
local function joined_of(rows)
  return #rows[#rows].reductions > 0 and tail_of(rows) or nil
end

-- Is an access in a range, and what it may meet nowhere behind the range?
local function is_in_tail(fn, all, access, tail)
  if not tail or not within(tail, access.token) then return false end
  return lists.none(access.write and all or {}, function(other)
    return other.token > tail.last and apart.may_meet(fn, other, access)
  end)
end

-- The statement that does a write, one thread's or a shared loop; nil and why none can. Where
-- others read what is written there, it is `waited` for.
local function writer(fn, all, write, row, joined, waited)
  local line = fn.kernel:line_of(write.token)
  local s = row and row.loop.statement or statement_of(fn, write.token)
  if not s or not row and next(effects.of(fn, s).writes) then
    return nil, ("line %d does more than to write"):format(line)
  end
  local other = read_elsewhere(fn, all, write, s, joined)
  if other and not waited then
    return nil, ("line %d uses what line %d writes"):format(fn.kernel:line_of(other.token), line)
  end
  if other then waited[s] = true end
  return s
end

-- The statements outside of shared loops that one thread has to do for all; nil and why some cannot
-- be. Behind `tail` one thread goes on alone. `waited` is filled with the statements and loops
-- before and behind which threads wait; nil: they cannot.
local function done_once(fn, rows, tail, waited)
  local list, seen, kernel = {}, {}, fn.kernel
  local all, joined = effects.of(fn, fn.body).accesses, joined_of(rows)
  for _, access in ipairs(all) do
    local is_own = is_private(fn, access) or is_in_tail(fn, all, access, tail)
    local row = access.write and loop_of(rows, access.token)
    if access.escapes or access.write and not access.root then
      return nil, ("line %d writes what is not known"):format(kernel:line_of(access.token))
    elseif access.write and not is_own then
      local s, why = writer(fn, all, access, row, joined, waited)
      if not s then return nil, why end
      if not row and not seen[s] then list[#list + 1] = s end
      seen[s] = true
    elseif row and not row.loop.inside.declares[access.base] then
      return nil, ("line %d fills an array of the thread's"):format(kernel:line_of(access.token))
    end
  end
  return list
end

---@class gilua.done_once
---@field statements table[] outside of shared loops, that one thread does for all
---@field tail? { loop: table, first: integer, last: integer } one thread goes on alone behind it
---@field waited table<table, true> before and behind which threads wait, as others read it

--- May all threads of a row do what is outside of its shared loops, but for what one of them
--- writes? nil and why not.
---@param rows gilua.row_loop[]
---@return gilua.done_once?
function M.written_once(fn, rows)
  local list, why = done_once(fn, rows)
  if list then return { statements = list, waited = {} } end
  local tail, waited = tail_of(rows), {}
  list = tail and done_once(fn, rows, tail)
  if list then return { statements = list, tail = tail, waited = waited } end
  list = done_once(fn, rows, nil, waited)
  if list then return { statements = list, waited = waited } end
  return nil, why
end

return M
