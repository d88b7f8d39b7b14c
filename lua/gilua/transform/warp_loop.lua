-- warp_loop: loops that one thread of a block does while the others wait are shared by the lanes
-- of its warp.
--
--   if (threadIdx.x == 0) {
--     float sum = 0;
--     for (int b = 0; b < blocks; b++) sum += partial[b];
--     total = sum;
--   }
--
-- A kernel that asks for no thread and no block is one thread's, too, where one is launched: all of
-- it, launched with 32.
--
-- All 32 lanes come there, do every 32nd iteration, and have the sum; one of them does what stands
-- behind the last of the loops, and what is stored before. A sum that is itself in shared memory is
-- a variable meanwhile. Where memory is written lanes wait for each other, before and behind.

local apart = require "gilua.facts.apart"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local forms = require "gilua.transform.forms"
local registers = require "gilua.transform.registers"
local rowloops = require "gilua.transform.rowloops"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local together = require "gilua.transform.lanes"
local uniform = require "gilua.facts.uniform"

local LANES = 32
local WAIT = "__syncwarp();"
local ONE_THREAD = "grid.x==1 block.x==1 block.x=" .. LANES

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
  if tree.kind == "binary" and tree.op == "&&" then
    local a, thread = lone(fn, tree.a)
    local b, other = lone(fn, tree.b)
    local function is_free(part)
      return uniform.of(fn, part) or zero_of(fn, part, "y") or zero_of(fn, part, "z")
    end
    if a and not b and is_free(tree.b) then return a, thread end
    if b and not a and is_free(tree.a) then return b, other end
    return nil
  end
  local thread = zero_of(fn, tree, "x")
  return thread and tree or nil, thread
end

-- The names of shared variables, no arrays, that a loop of the body writes: { name = declaration }.
local function shared_sums(fn, body)
  local list = {}
  for name in pairs(effects.of(fn, body).writes) do
    local d = fn:declaration(name, body.first)
    if d and d.shared and #d.extents == 0 and d.pointer == 0 then list[name] = d end
  end
  return list
end

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
  for _, access in ipairs(all.accesses) do
    if access.escapes then return false end
  end
  return true
end

-- The loops among a body's statements that lanes can share: { row, … } and the number of the last.
local function loops_of(body, shared)
  local rows, last = {}, 0
  for i, s in ipairs(body.body) do
    local row = s.loop and shared(s.loop)
    if row then
      rows[#rows + 1], last = row, i
      rows[s] = row
    end
  end
  return rows, last
end

-- The statement before one in its list; nil of the first.
local function before_of(s)
  local list, before = s.parent and s.parent.kind == "block" and s.parent.body or {}, nil
  for _, one in ipairs(list) do
    if one == s then return before end
    if one.kind ~= "directive" then before = one end
  end
end

-- May the thread have written, right before, what its lanes are to read? In a loop also what stands
-- behind has been before.
local function writes_before(fn, s)
  if statement.is_barrier(before_of(s)) then return false end
  local again = statement.is_in_loop(s)
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    if access.write and (access.token < s.first or again and access.token > s.last) then
      return true
    end
  end
  return false
end

-- Does what stands behind the last shared loop write what is read before, by lanes that may be
-- behind?
local function writes_behind(fn, body, last)
  local reads, writes = {}, {}
  for i, one in ipairs(body.body) do
    for _, access in ipairs(effects.of(fn, one).accesses) do
      if i <= last then table.insert(reads, access) end
      if i > last and access.write then table.insert(writes, access) end
    end
  end
  for _, write in ipairs(writes) do
    for _, read in ipairs(reads) do
      if apart.may_meet(fn, write, read) then return true end
    end
  end
  return false
end

-- The statements, of a body up to the last shared loop, before which the lanes wait for each other,
-- and those behind which they do; the stores, which one of them does. nil and why there are none.
local function waits_of(fn, s, rows, last, sums)
  local waits = { before = {}, behind = {}, once = {} }
  local has_read, is_new = false, writes_before(fn, s)
  for i = 1, last do
    local one = s.body.body[i]
    local row, reads = rows[one], #effects.of(fn, one).accesses > 0
    local name = (row or is_own(fn, one, sums)) and uniform.varies_within(fn, s, one)
    if name then
      return nil, ("line %d asks for %s, which each thread has its own of"):format(
        fn.kernel:line_of(one.first), name)
    elseif row then
      waits.before[one] = is_new or row.writes and has_read or nil
      waits.behind[one] = row.writes or nil
      is_new, has_read = false, not row.writes and (has_read or reads)
    elseif is_own(fn, one, sums) then
      waits.before[one] = is_new and reads or nil
      is_new, has_read = is_new and not reads, has_read or reads
    elseif is_store(fn, one) then
      waits.before[one], waits.behind[one] = has_read or nil, true
      waits.once[#waits.once + 1] = one
      is_new, has_read = false, false
    else
      return nil, ("line %d does more than to compute"):format(fn.kernel:line_of(one.first))
    end
  end
  local last_one = s.body.body[last]
  waits.behind[last_one] = waits.behind[last_one] or writes_behind(fn, s.body, last) or nil
  if s.is_whole and last == #s.body.body then waits.behind[last_one] = nil end -- it ends there
  return waits
end

-- All that a kernel does, as what stands below an `if`, where it asks for no thread and no block;
-- nil of another.
local function whole(fn)
  if fn.whole == nil then
    local uses, asks = threads.uses(fn), false
    for _, name in ipairs { "threadIdx", "blockIdx", "blockDim", "gridDim" } do
      for _, tokens in pairs(uses[name]) do asks = asks or #tokens > 0 end
    end
    local ask = fn.kernel.options.values
    local most = ask and ask(fn)["blockDim.x"] or 1
    local is_one = fn.is_entry and fn.body and not asks and not uses.hidden and not uses.whole
      and not uses.grid and most == 1
    fn.whole = is_one and { kind = "if", is_whole = true, body = fn.body, first = fn.body.first,
      last = fn.body.last } or false
  end
  return fn.whole or nil
end

-- The thread that goes on alone, as text, and what of a condition says so; nil of another
-- statement.
local function alone(fn, s)
  if s.is_whole then return "threadIdx.x" end
  local condition, thread = lone(fn, s.condition)
  return condition and fn.kernel:plain(thread) or nil, condition
end

-- What of an `if` lanes can share; nil and why nothing.
local function plan_of(fn, s)
  if s.kind ~= "if" or s.otherwise or not (s.condition or s.is_whole)
    or s.body.kind ~= "block" then
    return nil, "it is no `if` of one thread with a loop in it"
  end
  local thread, condition = alone(fn, s)
  if not thread then return nil, "its condition is not that the thread is the first" end
  local all = effects.of(fn, s.body)
  if all.opaque or all.barrier or all.warp or all.conditional or all["return"] or all["goto"] then
    return nil, "something in it is not understood, leaves it, or waits"
  end
  if not s.is_whole and not uniform.is_reached(fn, s) then
    return nil, "not all threads may come to it"
  end
  local sums = shared_sums(fn, s.body)
  local rows, last = loops_of(s.body, function(loop) return rowloops.shared(loop, sums) end)
  if #rows == 0 then return nil, "it has no loop that lanes could share" end
  local waits, why = waits_of(fn, s, rows, last, sums)
  if not waits then return nil, why end
  return { condition = condition, thread = thread, rows = rows, last = last, sums = sums,
           waits = waits }
end

-- What may be one thread's alone in a kernel, with its line: { statement, line }, ….
local function places(kernel, fn)
  local list = {}
  for _, s in ipairs(fn.is_entry and fn.body and fn.statements or {}) do
    if s.kind == "if" then list[#list + 1] = { s, kernel:line_of(s.first) } end
  end
  local all = fn.is_entry and fn.body and whole(fn)
  if all then list[#list + 1] = { all, fn.line } end
  return list
end

-- What at a line lanes can share, and the plan; nil and why there is nothing.
local function planned(kernel, line)
  local why
  for _, fn in ipairs(kernel.functions) do
    for _, place in ipairs(places(kernel, fn)) do
      if place[2] == line then
        local plan, reason = plan_of(fn, place[1])
        if plan then return plan, fn, place[1] end
        why = why or reason
      end
    end
  end
  return nil, why or "no `if` begins there"
end

-- The same of the kernel with variables in the place of memory.
local function planned_in_registers(fn, s, line)
  for _, one in ipairs(registers.of(fn, s)) do
    local plan, again, there = planned(one.kernel, line)
    if plan then return plan, again, there, one end
  end
end

-- Is it what one thread does alone, with a loop in it?
local function lone_loop(fn, s)
  if s.otherwise or not (s.condition or s.is_whole) or s.body.kind ~= "block"
    or not alone(fn, s) then
    return false
  end
  for _, one in ipairs(s.body.body) do
    if one.loop then return true end
  end
  return false
end

local M = { name = "warp_loop", apart = true,
  doc = "A loop that one thread of a block does alone, shared by the lanes of its warp." }

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    for _, place in ipairs(places(kernel, fn)) do
      local s, line = place[1], place[2]
      if kernel:is_open(line, kernel:line_of(s.last))
        and (plan_of(fn, s) or lone_loop(fn, s) and planned_in_registers(fn, s, line)) then
        list[#list + 1] = { line = line, args = {} }
      end
    end
  end
  return list
end

-- The sums that are variables meanwhile: their names in order.
local function meanwhile(plan)
  local names = {}
  for _, row in ipairs(plan.rows) do
    for _, r in ipairs(row.reductions) do
      if plan.sums[r.name] then names[#names + 1] = r.name end
    end
  end
  return names
end

-- The token of a name where the first statement of a list gives it its value; nil of another.
local function given_first(list, name)
  local tree = list[1].kind == "expression" and list[1].tree
  local fits = tree and tree.kind == "assign" and tree.op == "=" and tree.a.kind == "name"
    and tree.a.text == name and tree.b.kind == "number"
  return fits and tree.a.first or nil
end

local function make(fn, s, plan)
  local kernel, e = fn.kernel, edit.new(fn.kernel)
  local thread = plan.thread
  local names = { lane = thread, step = threads.new_name(fn, "step"),
    other = threads.new_name(fn, "other"), place = threads.new_name(fn, "other_place"),
    mask = "0xffffffffu" }
  if plan.condition then
    e:replace(plan.condition.first, plan.condition.last, ("%s < %d"):format(thread, LANES))
  end
  local list = s.body.body
  local indent = kernel:indent(list[1].first)
  local stores = {}
  for _, name in ipairs(meanwhile(plan)) do
    local own, d = threads.new_name(fn, name .. "_sum"), plan.sums[name]
    local given = given_first(list, name)
    stores[#stores + 1] = ("%s = %s;"):format(name, own)
    if not given then
      e:before(list[1].first, ("%s %s = %s;\n%s"):format(d.type, own, name, indent))
    end
    for i = s.body.first, s.body.last do
      local before = kernel.words[i - 1]
      if kernel.words[i] == name and before ~= "." and before ~= "->" then
        e:replace(i, i, i == given and d.type .. " " .. own or own)
      end
    end
    d.own = own
  end
  local waits = plan.waits
  for _, one in ipairs(waits.once) do
    e:around(one, waits.before[one] and { WAIT } or nil, { WAIT })
    e:before(one.first, ("if (%s == 0) "):format(thread))
  end
  for i = 1, plan.last do
    local one = list[i]
    if waits.before[one] and not plan.rows[one] and is_own(fn, one, plan.sums) then
      e:before(one.first, WAIT .. "\n" .. indent)
    end
  end
  for _, row in ipairs(plan.rows) do
    local one = row.loop.statement
    local before, behind = { waits.before[one] and WAIT or nil }, {}
    local named = { loop = row.loop, running = row.running, reductions = {} }
    for i, r in ipairs(row.reductions) do
      local copy = {}
      for key, value in pairs(r) do copy[key] = value end
      copy.name = plan.sums[r.name] and plan.sums[r.name].own or r.name
      named.reductions[i] = copy
    end
    together.before(named, names, before)
    together.share(named, names, LANES, edit.unit(fn), e)
    together.behind(named, names, LANES, behind)
    if waits.behind[one] then behind[#behind + 1] = WAIT end
    e:around(one, before, behind)
  end
  local rest = list[plan.last + 1]
  if rest or #stores > 0 then
    local tail = ("\n%sif (%s == 0) {"):format(indent, thread)
    for _, line in ipairs(stores) do tail = tail .. ("\n%s    %s"):format(indent, line) end
    e:after(list[plan.last].last, tail)
    e:after(list[#list].last, "\n" .. indent .. "}")
  end
  local indents = rest and { { kernel:line_of(rest.first), kernel:line_of(list[#list].last) } }
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  local launch = s.is_whole and ONE_THREAD or ("block.x%%%d"):format(LANES)
  return { edits = edits, launch = launch, indent = indents or nil,
    says = ("the lanes of a warp share the loop at line %d"):format(plan.rows[1].loop.line) }
end

function M.make(kernel, line)
  local plan, fn, s = planned(kernel, line)
  if plan then return make(fn, s, plan) end
  local why = fn
  for _, own in ipairs(kernel.functions) do
    for _, place in ipairs(places(kernel, own)) do
      if place[2] == line and lone_loop(own, place[1]) then
        local other, again, there, way = planned_in_registers(own, place[1], line)
        local change = other and make(again, there, other)
        if change then return registers.both(own, way, change) end
      end
    end
  end
  return nil, why
end

return M
