-- grid_stride: so many blocks and no more, each of which goes on to another until all are done: no
-- block is begun and ended for a few items, and what a block computes once serves many.

local bodyloop = require "gilua.rewrite.bodyloop"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local threads = require "gilua.facts.threads"

local BLOCKS = { "132", "264", "528", "1056" } -- one, two, four and eight for each SM of an H200

-- Is a bound the same for all threads, all the while? Made of numbers and of what comes in.
local function is_fixed(fn, bound)
  local writes, fixed = effects.of(fn, fn.body).writes, true
  expression.walk(bound, function(node)
    local d = node.kind == "name" and fn:declaration(node.text, node.first)
    if node.kind == "name" then
      fixed = fixed and d ~= nil and d.parameter and d.pointer == 0 and not d.reference
        and not writes[node.text] and not fn.addressed[node.text]
    elseif node.kind ~= "number" and node.kind ~= "binary" and node.kind ~= "cast" then
      fixed = false
    end
  end)
  return fixed
end

local function unfit(index)
  if not index.usual then
    return ("'%s' is not blockIdx * blockDim + threadIdx"):format(index.name)
  end
  local why = bodyloop.unfit(index)
  if why then return why end
  local guard = threads.guard(index)
  if not is_fixed(index.fn, guard.bound) then
    return ("the bound of '%s' is not made of parameters alone"):format(index.name)
  end
end

local function find(kernel)
  local list = {}
  for _, index in ipairs(threads.all(kernel)) do
    for _, blocks in ipairs(not unfit(index) and BLOCKS or {}) do
      list[#list + 1] = { line = index.line, args = { blocks } }
    end
  end
  return list
end

local function make(kernel, line, args)
  local blocks = math.tointeger(tonumber(args[1]))
  if not blocks or blocks < 1 or blocks > 1 << 20 or args[2] then
    return nil, "it is written grid_stride<LINE>(BLOCKS)"
  end
  local index, none = threads.at(kernel, line)
  local why = none or unfit(index)
  if why then return nil, why end
  local side, guard, e = index.side, threads.guard(index), edit.new(kernel)
  local block = bodyloop.other_block(index, e)
  local bound = kernel:plain(guard.bound)
  if guard.bound.kind == "binary" then bound = "(" .. bound .. ")" end
  local head = ("for (unsigned int %s = blockIdx.%s; (long long)%s * blockDim.%s %s %s; "
    .. "%s += gridDim.%s) {"):format(block, side, block, side, guard.relation, bound, block, side)
  local indent = bodyloop.put(index.fn, e, { head })
  return { edits = e:lines(), launch = ("grid.%s<%d"):format(side, blocks), indent = { indent },
    says = ("at most %d blocks, which go on until all items are done"):format(blocks) }
end

return { name = "grid_stride", first = true, doc = "A fixed number of blocks does all items.",
         find = find, make = make }
