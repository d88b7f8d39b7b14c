--- coarsen: thread coarsening
--
-- where     indices
-- needs     threads
-- becomes   each block does the work of several, in a loop that is unrolled
-- promises  nothing
--
-- So loads of several items are under way at once, and what all items share is computed once.

local bodyloop = require "gilua.rewrite.bodyloop"
local threads = require "gilua.facts.threads"

-- What item `part` of a thread is.
local SAYS = { block = "each thread does %d items, a block's width apart",
  grid = "each thread does %d items, a grid's width apart",
  next = "each thread does %d neighbouring items" }

-- Neighbouring items: does the index alone say which they are?
local function is_only_index(at)
  local uses, side = threads.uses(at.fn), at.side
  if at[2] ~= "next" or at.index.usual and #uses.blockIdx[side] == 1 and #uses.threadIdx[side] == 1
  then
    return true
  end
  return nil, ("'%s' is not all that says which item is a thread's"):format(at.index.name)
end

local function neighbours(at, part, e)
  local init = at.index.d.init
  e:before(init.first, "(")
  e:after(init.last, (") * %d + %s"):format(at[1], part))
end

-- Which block a round of the loop is.
local function block_of(at, part)
  if at[2] == "block" then return ("blockIdx.%s * %d + %s"):format(at.side, at[1], part) end
  return ("blockIdx.%s + %s * gridDim.%s"):format(at.side, part, at.side)
end

local function becomes(at, e)
  local part, inner = threads.new_name(at.fn, "part"), nil
  local head = { "#pragma unroll", ("for (unsigned int %s = 0; %s < %d; %s++) {"):format(
    part, part, at[1], part) }
  if at[2] == "next" then
    neighbours(at, part, e)
  else
    local block = bodyloop.other_block(at.index, e)
    inner = ("const unsigned int %s = %s;"):format(block, block_of(at, part))
  end
  return SAYS[at[2]]:format(at[1]), { indent = { bodyloop.put(at.fn, e, head, inner) } }
end

return { name = "coarsen", where = "indices", launch = "grid.$side/$1",
  doc = "Each thread does several items.",
  args = { { "items", { 2, 4, 8 }, from = 2, to = 64 },
           { "way", { "block", "grid", "next" }, default = "block" } },
  needs = { { "threads", bodyloop.of_place }, { "threads", is_only_index } },
  becomes = becomes,
}
