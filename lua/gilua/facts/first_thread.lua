--- first_thread: what does one thread of a block, or of the grid, do alone, and may the lanes of
-- its warp do it together?
--
--   if (threadIdx.x == 0) { … }     also `!t`, `t < 1`, beside what is the same for all threads
--
-- A kernel that asks for no thread and no block is one thread's, too, where one is launched: all of
-- it. Lanes do loops together that they can share (shared_loop), each by itself what computes
-- variables of its own, and one of them stores. Where memory is written, they wait for each other.

local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local forms = require "gilua.facts.forms"
local lists = require "gilua.base.lists"
local order = require "gilua.facts.order"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local uniform = require "gilua.facts.uniform"

local M = {}

-- ---- which statements -------------------------------------------------------------------------

local function is_number(node, text) return node.kind == "number" and node.text == text end

-- Is a tree the number of a thread in the grid, along x? Where that is zero, it is that of a thread
-- in its block, too.
local function is_of_grid(fn, tree)
  local d = tree.kind == "name" and fn:declaration(tree.text, tree.first)
  local form = d and d.init and forms.of(fn, tree, {})
  return form and form["threadIdx.x"] == 1 and form["blockDim.x*blockIdx.x"] == 1
    and #settings.keys(form) == 2 or false
end

-- The thread of `thread == 0`, on a side; nil of another condition.
local function zero_of(fn, tree, side)
  if tree.kind == "unary" and tree.op == "!" and threads.is_thread(fn, tree.a, side) then
    return tree.a
  end
  if tree.kind ~= "binary" then return nil end
  local a, b = tree.a, tree.b
  if tree.op == "==" and is_number(a, "0") then a, b = b, a end
  local fits = tree.op == "==" and is_number(b, "0") or tree.op == "<" and is_number(b, "1")
  local is_first = threads.is_thread(fn, a, side) or side == "x" and is_of_grid(fn, a)
  return fits and is_first and a or nil
end

-- What of a condition says that the thread is the first along x, and the thread there; nil where
-- nothing does, or something else parts threads.
local function lone(fn, tree)
  if tree.kind ~= "binary" or tree.op ~= "&&" then
    local thread = zero_of(fn, tree, "x")
    return thread and tree or nil, thread
  end
  for _, sides in ipairs { { tree.a, tree.b }, { tree.b, tree.a } } do
    local other = sides[2]
    local part, thread = lone(fn, sides[1])
    local is_free = uniform.of(fn, other) or zero_of(fn, other, "y") or zero_of(fn, other, "z")
    if part and is_free and not lone(fn, other) then return part, thread end
  end
end

-- All that a kernel does, as what stands below an `if`, where it asks for no thread and no block;
-- nil of another.
local function whole(fn)
  local uses, ask = threads.uses(fn), fn.kernel.options.values
  for _, name in ipairs { "threadIdx", "blockIdx", "blockDim", "gridDim" } do
    for _, tokens in pairs(uses[name]) do
      if #tokens > 0 then return nil end
    end
  end
  local most = ask and ask(fn)["blockDim.x"] or 1
  if uses.hidden or uses.whole or uses.grid or most ~= 1 then return nil end
  return { kind = "if", body = fn.body, first = fn.body.first, last = fn.body.last }
end

-- The place of an `if` by which the first thread goes on alone; nil of another statement.
local function place_of(fn, s)
  if s.kind ~= "if" or s.otherwise or not s.condition or s.body.kind ~= "block" then return nil end
  local condition, thread = lone(fn, s.condition)
  return condition and { fn = fn, s = s, condition = condition, thread = fn.kernel:plain(thread),
    line = fn.kernel:line_of(s.first), last = fn.kernel:line_of(s.last) } or nil
end

---@class gilua.lone_place
---@field s table the `if`
---@field condition? table what says that the thread is the first; nil of a whole kernel
---@field thread string which thread it is

--- Returns what one thread does alone in the kernels of a source, in the file's order.
---@return gilua.lone_place[]
function M.all(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local is_entry = fn.is_entry and fn.body
    local all = is_entry and whole(fn)
    list[#list + 1] = all
      and { fn = fn, s = all, thread = "threadIdx.x", line = fn.line, last = fn.last_line } or nil
    for _, s in ipairs(is_entry and fn.statements or {}) do list[#list + 1] = place_of(fn, s) end
  end
  return list
end

--- May all lanes of the first warp come to it, and stay?
---@param at gilua.lone_place
---@return boolean? answer
function M.is_open(at)
  local all = effects.of(at.fn, at.s.body)
  if all.opaque or all.barrier or all.warp or all.conditional or all["return"] or all["goto"] then
    return nil, "something in it is not understood, leaves it, or waits"
  end
  if at.condition and not uniform.is_reached(at.fn, at.s) then
    return nil, "not all threads may come to it"
  end
  return true
end

--- Returns the shared variables, no arrays, that are written there: { name = declaration }.
---@param at gilua.lone_place
function M.sums(at)
  local list = {}
  for name in pairs(effects.of(at.fn, at.s.body).writes) do
    local d = at.fn:declaration(name, at.s.body.first)
    if d and d.shared and #d.extents == 0 and d.pointer == 0 then list[name] = d end
  end
  return list
end

-- ---- who waits for whom -----------------------------------------------------------------------

-- Does a statement nothing but compute variables of the thread's own?
local function is_own(fn, s, sums)
  local all = effects.of(fn, s)
  if all.opaque or all.barrier or all.warp or all["return"] or all["goto"] or all.label then
    return false
  end
  for _, access in ipairs(all.accesses) do
    if access.write or access.atomic or access.escapes then return false end
  end
  for name in pairs(all.writes) do
    local d = fn:declaration(name, s.last)
    if not sums[name] and (not d or d.shared or d.static or d.reference) then return false end
  end
  return true
end

-- Does a statement nothing but store, so that one lane can do it for all?
local function is_store(fn, s)
  local all = effects.of(fn, s)
  if s.kind ~= "expression" or all.opaque or all.warp or next(all.writes) then return false end
  return lists.none(all.accesses, function(access) return access.escapes end)
end

-- Is the statement before one in its list a barrier?
local function is_behind_barrier(s)
  local before
  for _, one in ipairs(s.parent and s.parent.kind == "block" and s.parent.body or {}) do
    if one == s then return before ~= nil and statement.is_barrier(before) end
    if one.kind ~= "directive" then before = one end
  end
  return false
end

-- May the thread have written, right before, what its lanes are to read? In a loop also what stands
-- behind has been before.
local function writes_before(fn, s)
  if is_behind_barrier(s) then return false end
  local again = statement.is_in_loop(s)
  return lists.any(effects.of(fn, fn.body).accesses, function(access)
    return access.write and (access.token < s.first or again and access.token > s.last)
  end)
end

-- Does what stands behind the last shared loop write what is read before, by lanes that may be
-- behind?
local function writes_behind(fn, list, last)
  local reads = effects.all(fn, table.move(list, 1, last, 1, {})).accesses
  for i = last + 1, #list do
    for _, write in ipairs(effects.of(fn, list[i]).accesses) do
      for _, read in ipairs(write.write and reads or {}) do
        if apart.may_meet(fn, write, read) then return true end
      end
    end
  end
  return false
end

---@class gilua.lone_waits
---@field before table<table, true> statements before which lanes wait for each other
---@field behind table<table, true>
---@field once table<table, true> what one lane does: stores
---@field alone table<table, true> what each lane computes by itself

-- Notes what lanes have to wait for before a statement. It stands before the last shared loop, or
-- is such a loop. `state` has whether memory was read, and whether a result is new since the last
-- wait. Returns why lanes cannot do the statement, or nil.
local function wait_for(fn, s, one, row, sums, state)
  local waits, reads = state.waits, #effects.of(fn, one).accesses > 0
  local is_alone = not row and is_own(fn, one, sums)
  local name = (row or is_alone) and uniform.varies_within(fn, s, one)
  local line = fn.kernel:line_of(one.first)
  if name then
    return ("line %d asks for %s, which each thread has its own of"):format(line, name)
  elseif row then
    waits.before[one] = state.is_new or row.writes and state.has_read or nil
    waits.behind[one] = row.writes or nil
    state.is_new, state.has_read = false, not row.writes and (state.has_read or reads)
  elseif is_alone then
    waits.alone[one], waits.before[one] = true, state.is_new and reads or nil
    state.is_new, state.has_read = state.is_new and not reads, state.has_read or reads
  elseif is_store(fn, one) then
    waits.once[one], waits.before[one], waits.behind[one] = true, state.has_read or nil, true
    state.is_new, state.has_read = false, false
  else
    return ("line %d does more than to compute"):format(line)
  end
end

-- Is a token in a loop that gives a variable its first value itself?
local function is_of_loop(fn, name, token)
  for _, loop in ipairs(fn.loops) do
    local s = loop.statement
    local is_in = loop.variable == name and s.first <= token and token <= s.last
    if is_in and order.is_its_own(loop) then return true end
  end
  return false
end

-- Does the first thread alone come to a token, there or elsewhere?
local function is_lone(fn, token)
  for _, s in ipairs(fn.statements) do
    local is_below = s.kind == "if" and s.body.first <= token and token <= s.body.last
    if is_below and s.condition and lone(fn, s.condition) then return true end
  end
  return false
end

-- Do other threads ask for a variable elsewhere, that of a declaration outside of the statement?
local function is_asked(at, name, d)
  local fn = at.fn
  if fn.addressed[name] then return true end
  for _, token in ipairs(effects.of(fn, fn.body).reads[name] or {}) do
    local is_it = fn:declaration(name, token) == d and not is_of_loop(fn, name, token)
    if is_it and not is_lone(fn, token) then return true end
  end
  return false
end

--- Is no variable that lanes would all give a value, up to the last shared loop, one that other
--- threads ask for with their own value? nil and which.
---@param at gilua.lone_place
---@param rows table as of M.waits
---@return boolean? answer
function M.is_unasked(at, rows)
  local fn, s, list = at.fn, at.s, at.s.body.body
  for i = 1, at.condition and rows.last or 0 do
    local writes = effects.of(fn, list[i]).writes
    for _, name in ipairs(settings.keys(writes)) do
      local d = fn:declaration(name, writes[name][1])
      local is_outer = d and not d.shared and not (s.first <= d.token and d.token <= s.last)
      if is_outer and is_asked(at, name, d) then
        return nil, ("line %d changes '%s', which other threads have their own of"):format(
          fn.kernel:line_of(writes[name][1]), name)
      end
    end
  end
  return true
end

--- Returns where lanes wait for each other in what one thread did, up to the last shared loop; nil
--- and why they cannot do it together.
---@param at gilua.lone_place
---@param rows table by statement: loops that lanes share; `last`: the number of the last of them
---@param sums table<string, table> of M.sums
---@return gilua.lone_waits?
---@return string? why
function M.waits(at, rows, sums)
  local fn, s, list = at.fn, at.s, at.s.body.body
  local state = { has_read = false, is_new = writes_before(fn, s),
    waits = { before = {}, behind = {}, once = {}, alone = {} } }
  for i = 1, rows.last do
    local why = wait_for(fn, s, list[i], rows[list[i]], sums, state)
    if why then return nil, why end
  end
  local behind, last = state.waits.behind, list[rows.last]
  behind[last] = behind[last] or writes_behind(fn, list, rows.last) or nil
  if not at.condition and rows.last == #list then behind[last] = nil end -- the kernel ends there
  return state.waits
end

return M
