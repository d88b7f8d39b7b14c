-- coarsen: each block does the work of several, in a loop that is unrolled; so loads of several
-- items are under way at once, and what all items share is computed once.

local edit = require "gilua.transform.edit"
local threads = require "gilua.transform.threads"

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

-- Why a kernel cannot be coarsened along an index; nil where it can.
local function unfit(index)
  local why = threads.needs_grid(index.fn, index.side) or threads.unfit_for_loop(index.fn)
  if why then return why end
  local returns, inner = threads.returns(index.fn)
  if not returns then return inner end
  local guard, unguarded = threads.guard(index)
  return not guard and unguarded or nil
end

-- Neighbouring items: the index alone says which they are.
local function is_only_index(index)
  local uses = threads.uses(index.fn)
  return index.usual and #uses.blockIdx[index.side] == 1 and #uses.threadIdx[index.side] == 1
end

local function find(kernel)
  local list = {}
  for _, index in ipairs(threads.all(kernel)) do
    if not unfit(index) then
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

-- The lines before the body; what they add to its indentation is added to them as well.
local function head(indent, part, factor, block)
  local outer = indent:gsub("    ", "", 1)
  local lines = { ("%s#pragma unroll"):format(indent),
    ("%sfor (unsigned int %s = 0; %s < %d; %s++) {"):format(outer, part, part, factor, part) }
  if block then lines[3] = indent .. block end
  return table.concat(lines, "\n") .. "\n"
end

local function neighbours(index, factor, part, e)
  local init = index.d.init
  e:before(init.first, "(")
  e:after(init.last, (") * %d + %s"):format(factor, part))
end

-- In all of the body the block is another one.
local function other_blocks(index, factor, way, part, e)
  local block = threads.new_name(index.fn, "block")
  for _, token in ipairs(threads.uses(index.fn).blockIdx[index.side]) do
    e:replace(token, token + 2, block)
  end
  local value = way == "block" and WAYS.block.block:format(index.side, factor, part)
    or WAYS.grid.block:format(index.side, part, index.side)
  return ("const unsigned int %s = %s;"):format(block, value)
end

local function make(kernel, line, args)
  local factor, way = math.tointeger(tonumber(args[1])), args[2] or "block"
  if not factor or factor < 2 or factor > 64 or not WAYS[way] or args[3] then
    return nil, "it is written coarsen<LINE>(ITEMS,block), or grid or next in the place of block, "
      .. "with 2 to 64 items"
  end
  local index, none = threads.at(kernel, line)
  local why = none or unfit(index)
  if not why and way == "next" and not is_only_index(index) then
    why = ("'%s' is not all that says which item is a thread's"):format(index.name)
  end
  if why then return nil, why end
  local fn, e = index.fn, edit.new(kernel)
  local part, body = threads.new_name(fn, "part"), fn.body.body
  local block
  if way == "next" then neighbours(index, factor, part, e)
  else block = other_blocks(index, factor, way, part, e) end
  for _, s in ipairs(threads.returns(fn)) do e:replace(s.first, s.last, "continue;") end
  local first, last = kernel:line_of(body[1].first), kernel:line_of(body[#body].last)
  local indent = kernel:indent(body[1].first)
  e:before(body[1].first, head(indent, part, factor, block):sub(#indent + 1) .. indent)
  e:before(fn.close, kernel:indent(body[1].first) .. "}\n" .. kernel:indent(fn.close))
  return { edits = e:lines(), launch = ("grid.%s/%d"):format(index.side, factor),
    indent = { { first, last } }, says = WAYS[way].says:format(factor) }
end

return { name = "coarsen", doc = "Each thread does several items.", find = find, make = make }
