--- warp_row: warp-per-row mapping (CSR-vector)
--
-- where     indices
-- needs     threads, effects, shared_loop
-- becomes   a row that was one thread's becomes that of several lanes, which share its loops, or of
--           a whole block
-- promises  apart
--
-- Lanes put sums together by shuffles. They read neighbouring elements at a time, and short rows
-- fill the GPU; few and long rows are better a block's each. Of loops within each other they share
-- the outermost. With `nest` the warps of a block share that, and the lanes of each the loop in it.
-- Where no loop can be shared, what loops have in memory comes into variables first.

local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local lanes_of = require "gilua.rewrite.lanes"
local registers = require "gilua.rewrite.registers"
local shared_loop = require "gilua.facts.shared_loop"
local threads = require "gilua.facts.threads"

local WARP = 32 -- lanes

local function is_all(at) return threads.is_all(at.fn, at.index) end

local function are_free(at)
  local why = threads.bound_together(at.fn)
  return not why, why
end

-- A thread's place in a block that the kernel has more than one side of.
local function place(fn)
  local uses = threads.uses(fn).threadIdx
  if #uses.y == 0 and #uses.z == 0 then return "threadIdx.x" end
  local row = #uses.z == 0 and "threadIdx.y" or "(threadIdx.z * blockDim.y + threadIdx.y)"
  return ("(%s * blockDim.x + threadIdx.x)"):format(row)
end

-- Declares which lane a thread is. Those that share a row are neighbours in x: in blocks that are a
-- multiple of them wide they are of one warp.
local function declare(at, names, e)
  local n, own = at[1], at.index.d.statement
  local lines = { ("const int %s = threadIdx.x %% %d;"):format(names.lane, n) }
  if n < 32 then
    lines[2] = ("const unsigned int %s = 0x%xu << (%s %% 32 / %d * %d);"):format(names.mask,
      (1 << n) - 1, place(at.fn), n, n)
  end
  lines[#lines + 1] = ""
  e:before(own.first, table.concat(lines, "\n" .. at.kernel:indent(own.first)))
end

-- Divides a block's length and a thread's place in it, not their sum: that of all lanes wraps where
-- the number of rows does not. Blocks are a multiple of the lanes.
local function divide_index(at, e)
  local uses = threads.uses(at.fn)
  local length, own = uses.blockDim.x[1], uses.threadIdx.x[1]
  e:replace(length, length + 2, ("(blockDim.x / %d)"):format(at[1]))
  e:replace(own, own + 2, ("threadIdx.x / %d"):format(at[1]))
end

-- Shares a loop, with the lines before and behind it.
local function share(at, row, names, e)
  local before, behind, s = {}, {}, row.loop.statement
  local tail, wait = at.once.tail, at.once.waited[s] and names.wait
  before[1] = wait or nil
  lanes_of.before(row, names, before)
  lanes_of.share(row, names, at[1], edit.unit(at.fn), e)
  lanes_of.behind(row, names, at[1], behind, edit.unit(at.fn))
  if tail and tail.loop == s then
    behind[#behind + 1] = names.wait
    behind[#behind + 1] = ("if (%s != 0) return;"):format(names.lane)
  end
  behind[#behind + 1] = wait or nil
  e:around(s, before, behind)
end

local function becomes(at, e)
  local names = lanes_of.names(at.fn, threads.new_name(at.fn, "lane"), at[1])
  declare(at, names, e)
  divide_index(at, e)
  for _, row in ipairs(at.rows) do share(at, row, names, e) end
  for _, s in ipairs(at.once.statements) do
    if at.once.waited[s] then e:around(s, { names.wait }, { names.wait }) end
    e:before(s.first, ("if (%s == 0) "):format(names.lane))
  end
  if at[1] > WARP then
    return ("the %d threads of a block share what was a thread's"):format(at[1]),
      { launch = ("grid.x@1 block.x=%d block.y==1 block.z==1"):format(at[1]) }
  end
  return ("%d lanes of a warp share what was a thread's"):format(at[1])
end

local function rows_of(at)
  if not at[2] then
    local rows = shared_loop.outermost(at.fn)
    return rows, not rows and "it has no loop that lanes could share" or nil
  elseif at[1] <= WARP then
    return nil, "one warp shares one loop"
  end
  local rows = shared_loop.nested(at.fn)
  return rows, not rows and "no loop that could be shared is all of another's body" or nil
end

-- Is a row that of lanes of a warp, or of a block, whose threads have no running sum together?
local function fits(at)
  if at[1] <= WARP then return true end
  for _, row in ipairs(at.rows) do
    if row.running then return nil, "a block's threads do not share a running sum" end
  end
  return true
end

return { name = "warp_row", where = "indices", launch = "grid.x*$1 block.x%$1",
  doc = "Lanes of a warp share the loop over a row.",
  args = { { "lanes", { 32, 16, 8, 4, 256, 128 }, more = { 2, 64, 512, 1024 }, default = 32 },
    { "which", { false, "nest" } } },
  instead = function(at) return is_all(at) and are_free(at) and registers.of(at.fn) or {} end,
  needs = {
    { "threads", is_all },
    { "effects", function(at) return not effects.of(at.fn, at.fn.body).opaque end,
      says = "something in the kernel is not understood" },
    { "threads", are_free },
    { "shared_loop", rows_of, gives = "rows" },
    { "shared_loop", fits },
    { "shared_loop", function(at) return shared_loop.written_once(at.fn, at.rows) end,
      gives = "once" },
  },
  becomes = becomes,
}
