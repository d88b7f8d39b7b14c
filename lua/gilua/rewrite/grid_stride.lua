--- grid_stride: grid-stride loop (persistent blocks)
--
-- where     indices
-- needs     threads
-- becomes   a fixed number of blocks; each goes on to further items until all are done
-- promises  nothing
--
-- No block is begun and ended for a few items, and what a block computes once serves many.

local bodyloop = require "gilua.rewrite.bodyloop"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local threads = require "gilua.facts.threads"

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

local function guarded(at)
  local guard = threads.guard(at.index)
  if is_fixed(at.fn, guard.bound) then return guard end
  return nil, ("the bound of '%s' is not made of parameters alone"):format(at.index.name)
end

local function becomes(at, e)
  local side, guard = at.side, at.guard
  local block = bodyloop.other_block(at.index, e)
  local bound = at.kernel:plain(guard.bound)
  if guard.bound.kind == "binary" then bound = "(" .. bound .. ")" end
  local head = ("for (unsigned int %s = blockIdx.%s; (long long)%s * blockDim.%s %s %s; "
    .. "%s += gridDim.%s) {"):format(block, side, block, side, guard.relation, bound, block, side)
  return ("at most %d blocks, which go on until all items are done"):format(at[1]),
    { indent = { bodyloop.put(at.fn, e, { head }) } }
end

return { name = "grid_stride", where = "indices", launch = "grid.$side<$1",
  doc = "A fixed number of blocks does all items.",
  -- one, two, four and eight for each multiprocessor of an H200
  args = { { "blocks", { 132, 264, 528, 1056 }, from = 1, to = 1 << 20 } },
  needs = { { "threads", threads.is_usual }, { "threads", bodyloop.of_place },
            { "threads", guarded, gives = "guard" } },
  becomes = becomes,
}
