--- warp_loop: warp-level parallelization of a serial loop
--
-- where     first_threads
-- needs     first_thread, shared_loop
-- becomes   loops that one thread of a block does while the others wait are shared by its warp
-- promises  apart
--
--   if (threadIdx.x == 0) {
--     float sum = 0;
--     for (int b = 0; b < blocks; b++) sum += partial[b];
--     total = sum;
--   }
--
-- All 32 lanes come there, do every 32nd iteration, and have the sum; one of them does what stands
-- behind the last of the loops, and what is stored before. A sum that is itself in shared memory is
-- a variable meanwhile.

local edit = require "gilua.rewrite.edit"
local first_thread = require "gilua.facts.first_thread"
local lanes_of = require "gilua.rewrite.lanes"
local registers = require "gilua.rewrite.registers"
local shared_loop = require "gilua.facts.shared_loop"
local threads = require "gilua.facts.threads"

local LANES = 32
local WAIT = "__syncwarp();"
local ONE_THREAD = "grid.x==1 block.x==1 block.x=" .. LANES

-- The loops that lanes can share, in order and by statement; the number of the last.
local function rows_of(at)
  local rows, sums = { last = 0 }, first_thread.sums(at)
  for i, s in ipairs(at.s.body.body) do
    local row = s.loop and shared_loop.of(s.loop, sums)
    if row then rows[#rows + 1], rows[s], rows.last = row, row, i end
  end
  return #rows > 0 and rows
end

-- The kernel with variables in the place of memory, where a loop is there.
local function in_registers(at)
  for _, s in ipairs(at.s.body.body) do
    if s.loop then return registers.of(at.fn, at.s) end
  end
  return {}
end

-- The token of a name where the first statement of a list gives it its value; nil of another.
local function given_first(list, name)
  local tree = list[1].kind == "expression" and list[1].tree
  local fits = tree and tree.kind == "assign" and tree.op == "=" and tree.a.kind == "name"
    and tree.a.text == name and tree.b.kind == "number"
  return fits and tree.a.first or nil
end

-- Puts a variable in the place of a shared one.
local function put_variable(at, e, name, own)
  local kernel, body, type = at.kernel, at.s.body, first_thread.sums(at)[name].type
  local list = body.body
  local given = given_first(list, name)
  if not given then
    e:before(list[1].first, ("%s %s = %s;\n%s"):format(type, own, name,
      kernel:indent(list[1].first)))
  end
  for i = body.first, body.last do
    if kernel:is_name(i, name) then e:replace(i, i, i == given and type .. " " .. own or own) end
  end
end

-- The sums that are variables meanwhile: names of these, by their own, and the stores behind.
local function meanwhile(at, e)
  local own, stores = {}, {}
  for _, row in ipairs(at.rows) do
    for _, r in ipairs(row.reductions) do
      if r.d.shared and not own[r.name] then
        own[r.name] = threads.new_name(at.fn, r.name .. "_sum")
        stores[#stores + 1] = ("%s = %s;"):format(r.name, own[r.name])
        put_variable(at, e, r.name, own[r.name])
      end
    end
  end
  return own, stores
end

-- A shared loop whose sums have other names.
local function renamed(row, own)
  local named = { loop = row.loop, running = row.running, reductions = {} }
  for i, r in ipairs(row.reductions) do
    named.reductions[i] = setmetatable({ name = own[r.name] }, { __index = r })
  end
  return named
end

local function share(at, row, own, names, e)
  local s, named, before, behind = row.loop.statement, renamed(row, own), {}, {}
  before[1] = at.waits.before[s] and WAIT or nil
  lanes_of.before(named, names, before)
  lanes_of.share(named, names, LANES, edit.unit(at.fn), e)
  lanes_of.behind(named, names, LANES, behind)
  behind[#behind + 1] = at.waits.behind[s] and WAIT or nil
  e:around(s, before, behind)
end

-- What is no loop, up to the last of them.
local function between(at, list, e)
  local waits = at.waits
  for i = 1, at.rows.last do
    local one = list[i]
    if waits.once[one] then
      e:around(one, waits.before[one] and { WAIT } or nil, { WAIT })
      e:before(one.first, ("if (%s == 0) "):format(at.thread))
    elseif waits.alone[one] and waits.before[one] then
      e:before(one.first, WAIT .. "\n" .. at.kernel:indent(list[1].first))
    end
  end
end

-- What stands behind the loops, for one lane.
local function behind_loops(at, list, stores, e)
  local rest, indent = list[at.rows.last + 1], at.kernel:indent(list[1].first)
  if rest or #stores > 0 then
    local tail = ("\n%sif (%s == 0) {"):format(indent, at.thread)
    for _, line in ipairs(stores) do tail = tail .. ("\n%s    %s"):format(indent, line) end
    e:after(list[at.rows.last].last, tail)
    e:after(list[#list].last, "\n" .. indent .. "}")
  end
  return rest and { { at.kernel:line_of(rest.first), at.kernel:line_of(list[#list].last) } }
end

local function becomes(at, e)
  local names, list = lanes_of.names(at.fn, at.thread, LANES), at.s.body.body
  local condition = at.condition
  if condition then
    e:replace(condition.first, condition.last, ("%s < %d"):format(at.thread, LANES))
  end
  local own, stores = meanwhile(at, e)
  between(at, list, e)
  for _, row in ipairs(at.rows) do share(at, row, own, names, e) end
  return ("the lanes of a warp share the loop at line %d"):format(at.rows[1].loop.line),
    { indent = behind_loops(at, list, stores, e),
      launch = condition and ("block.x%%%d"):format(LANES) or ONE_THREAD }
end

return { name = "warp_loop", where = "first_threads", instead = in_registers,
  doc = "A loop that one thread of a block does alone, shared by the lanes of its warp.",
  needs = {
    { "first_thread", first_thread.is_open },
    { "shared_loop", rows_of, gives = "rows", says = "it has no loop that lanes could share" },
    { "first_thread", function(at) return first_thread.is_unasked(at, at.rows) end },
    { "first_thread", gives = "waits",
      function(at) return first_thread.waits(at, at.rows, first_thread.sums(at)) end },
  },
  becomes = becomes,
}
