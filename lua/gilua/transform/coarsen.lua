-- coarsen: each block does the work of several, in a loop that is unrolled; so loads of several
-- items are under way at once, and what all items share is computed once.

local bodyloop = require "gilua.rewrite.bodyloop"
local edit = require "gilua.rewrite.edit"
local threads = require "gilua.facts.threads"

local FACTORS = { "2", "4", "8" }

-- What item `part` of a thread is.
local WAYS = {
  block = { says = "each thread does %d items, a block's width apart",
    block = "blockIdx.%s * %d + %s" },
  grid = { says = "each thread does %d items, a grid's width apart",
    block = "blockIdx.%s + %s * gridDim.%s" },
  next = { says = "each thread does %d neighbouring items" },
}
local ORDER = { "block", "grid", "next" }

-- Neighbouring items: the index alone says which they are.
local function is_only_index(index)
  local uses = threads.uses(index.fn)
  return index.usual and #uses.blockIdx[index.side] == 1 and #uses.threadIdx[index.side] == 1
end

local function find(kernel)
  local list = {}
  for _, index in ipairs(threads.all(kernel)) do
    if not bodyloop.unfit(index) then
      for _, factor in ipairs(FACTORS) do
        for _, way in ipairs(ORDER) do
          if way ~= "next" or is_only_index(index) then
            list[#list + 1] = { line = index.line, args = { factor, way } }
          end
        end
      end
    end
  end
  return list
end

local function neighbours(index, factor, part, e)
  local init = index.d.init
  e:before(init.first, "(")
  e:after(init.last, (") * %d + %s"):format(factor, part))
end

-- Which block a round of the loop is.
local function block_of(index, factor, way, part)
  if way == "block" then return WAYS.block.block:format(index.side, factor, part) end
  return WAYS.grid.block:format(index.side, part, index.side)
end

local function make(kernel, line, args)
  local factor, way = math.tointeger(tonumber(args[1])), args[2] or "block"
  if not factor or factor < 2 or factor > 64 or not WAYS[way] or args[3] then
    return nil, "it is written coarsen<LINE>(ITEMS,block), or grid or next in the place of block, "
      .. "with 2 to 64 items"
  end
  local index, none = threads.at(kernel, line)
  local why = none or bodyloop.unfit(index)
  if not why and way == "next" and not is_only_index(index) then
    why = ("'%s' is not all that says which item is a thread's"):format(index.name)
  end
  if why then return nil, why end
  local e, part = edit.new(kernel), threads.new_name(index.fn, "part")
  local head, inner = { "#pragma unroll", ("for (unsigned int %s = 0; %s < %d; %s++) {"):format(
    part, part, factor, part) }, nil
  if way == "next" then
    neighbours(index, factor, part, e)
  else
    local block = bodyloop.other_block(index, e)
    inner = ("const unsigned int %s = %s;"):format(block, block_of(index, factor, way, part))
  end
  local indent = bodyloop.put(index.fn, e, head, inner)
  return { edits = e:lines(), launch = ("grid.%s/%d"):format(index.side, factor),
    indent = { indent }, says = WAYS[way].says:format(factor) }
end

return { name = "coarsen", first = true, times = true, counts = 1,
  doc = "Each thread does several items.", find = find, make = make }
