-- warp_row: a row that was one thread's becomes that of several lanes of a warp, which share its
-- loops and put their sums together by shuffles. They read neighbouring elements at a time, and
-- short rows fill the GPU.

local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local registers = require "gilua.transform.registers"
local rowloops = require "gilua.transform.rowloops"
local threads = require "gilua.facts.threads"
local together = require "gilua.transform.lanes"

local LANES = { "32", "16", "8", "4" }

local function unfit_uses(index)
  local uses, why = threads.uses(index.fn), threads.needs_grid(index.fn, "x")
  if why then return why end
  if not index.usual or index.side ~= "x" then
    return ("'%s' is not blockIdx.x * blockDim.x + threadIdx.x"):format(index.name)
  end
  for _, name in ipairs { "blockIdx", "threadIdx", "blockDim" } do
    if #uses[name].x ~= 1 then
      return ("%s.x is used for more than '%s'"):format(name, index.name)
    end
  end
end

-- Why threads cannot share the rows of an index; nil where they can.
local function unfit(index)
  local fn = index.fn
  local why = unfit_uses(index)
  if why then return why end
  if effects.of(fn, fn.body).opaque then return "something in the kernel is not understood" end
  return threads.bound_together(fn)
end

-- The loops to be shared, and what one lane writes for all; nil and why there are none.
local function plan_of(index)
  local why = unfit(index)
  if why then return nil, why end
  local rows = rowloops.of(index.fn)
  if #rows == 0 then return nil, "it has no loop that lanes could share" end
  local once, unknown = rowloops.written_once(index.fn, rows)
  local tail = not once and rowloops.tail(rows) or nil
  if tail then once = rowloops.written_once(index.fn, rows, tail) end
  local waited = {}
  if not once then
    tail, once = nil, rowloops.written_once(index.fn, rows, nil, waited)
  end
  if not once then return nil, unknown end
  return { rows = rows, once = once, tail = tail, waited = waited }
end

-- What of the same kernel with variables in the place of memory lanes can share, and the plan.
local function plan_in_registers(index)
  if unfit(index) then return nil end
  for _, one in ipairs(registers.of(index.fn)) do
    local again = threads.at(one.kernel, index.line)
    local plan = again and plan_of(again)
    if plan then return plan, again, one end
  end
end

local function can_be_shared(index)
  return plan_of(index) ~= nil or plan_in_registers(index) ~= nil
end

local function find(kernel)
  local list = {}
  for _, index in ipairs(threads.all(kernel)) do
    if can_be_shared(index) then
      for _, lanes in ipairs(LANES) do
        list[#list + 1] = { line = index.line, args = { lanes } }
      end
    end
  end
  return list
end

-- The lines before and behind a shared loop.
local function around(row, names, lanes, e, plan)
  local before, behind, tail = {}, {}, plan.tail
  local is_waited = plan.waited[row.loop.statement]
  if is_waited then before[1] = names.wait end
  together.before(row, names, before)
  together.behind(row, names, lanes, behind)
  if tail and tail.loop == row.loop.statement then
    behind[#behind + 1] = names.wait
    behind[#behind + 1] = ("if (%s != 0) return;"):format(names.lane)
  end
  if is_waited then behind[#behind + 1] = names.wait end
  e:around(row.loop.statement, before, behind)
end

-- A thread's place in a block that the kernel has more than one side of.
local function place(index)
  local uses = threads.uses(index.fn).threadIdx
  if #uses.y == 0 and #uses.z == 0 then return "threadIdx.x" end
  local row = #uses.z == 0 and "threadIdx.y" or "(threadIdx.z * blockDim.y + threadIdx.y)"
  return ("(%s * blockDim.x + threadIdx.x)"):format(row)
end

-- Those who share a row are neighbours in x; where blocks are a multiple of them wide, they are of
-- one warp.
local function lane_lines(index, names, lanes, indent)
  local text = ("const int %s = threadIdx.x %% %d;\n%s"):format(names.lane, lanes, indent)
  if lanes == 32 then return text end
  return text .. ("const unsigned int %s = 0x%xu << (%s %% 32 / %d * %d);\n%s"):format(
    names.mask, (1 << lanes) - 1, place(index), lanes, lanes, indent)
end

-- Divides a block's length and a thread's place in it, not their sum: that of all lanes wraps where
-- the number of rows does not. Blocks are a multiple of the lanes.
local function divide_index(fn, lanes, e)
  local uses = threads.uses(fn)
  local length, place_in = uses.blockDim.x[1], uses.threadIdx.x[1]
  e:replace(length, length + 2, ("(blockDim.x / %d)"):format(lanes))
  e:replace(place_in, place_in + 2, ("threadIdx.x / %d"):format(lanes))
end

local function shared(index, plan, lanes)
  local fn, kernel = index.fn, index.fn.kernel
  local e = edit.new(kernel)
  local names = { lane = threads.new_name(fn, "lane"), step = threads.new_name(fn, "step"),
    other = threads.new_name(fn, "other"), place = threads.new_name(fn, "other_place"),
    mask = lanes == 32 and "0xffffffffu" or threads.new_name(fn, "mask") }
  names.wait = ("__syncwarp(%s);"):format(names.mask)
  local own = index.d.statement
  e:before(own.first, lane_lines(index, names, lanes, kernel:indent(own.first)))
  divide_index(fn, lanes, e)
  for _, row in ipairs(plan.rows) do
    together.share(row, names, lanes, edit.unit(fn), e)
    around(row, names, lanes, e, plan)
  end
  for _, s in ipairs(plan.once) do
    if plan.waited[s] then e:around(s, { names.wait }, { names.wait }) end
    e:before(s.first, ("if (%s == 0) "):format(names.lane))
  end
  return { edits = e:lines(), launch = ("grid.x*%d block.x%%%d"):format(lanes, lanes),
    says = ("%d lanes of a warp share what was a thread's"):format(lanes) }
end

local function make(kernel, line, args)
  local lanes = math.tointeger(tonumber(args[1] or "32"))
  if not (lanes == 32 or lanes == 16 or lanes == 8 or lanes == 4 or lanes == 2) or args[2] then
    return nil, "it is written warp_row<LINE>(LANES), with 2, 4, 8, 16 or 32 lanes"
  end
  local index, none = threads.at(kernel, line)
  if not index then return nil, none end
  local plan, why = plan_of(index)
  if plan then return shared(index, plan, lanes) end
  local other, again, one = plan_in_registers(index)
  if not other then return nil, why end
  return registers.both(index.fn, one, shared(again, other, lanes))
end

return { name = "warp_row", twice = true, first = true, apart = true,
  doc = "Lanes of a warp share the loop over a row.",
         find = find, make = make }
