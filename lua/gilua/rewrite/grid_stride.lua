--- grid_stride: grid-stride loop (persistent blocks)
--
-- where     indices
-- needs     threads, summed
-- becomes   a fixed number of blocks; each goes on to further items until all are done
-- promises  apart
--
-- No block is begun and ended for a few items, and what a block computes once serves many. With
-- `sum` a thread adds up in a variable what it would add to one element in memory, and its warp
-- adds the sums of its lanes to the element once, behind the loop:
--
--   if (i < n) atomicAdd(total, a[i]);       float total_sum = 0;
--                                            for (…) if (i < n) total_sum += a[i];
--                                            (the lanes add up; one of them: atomicAdd(total, …);)

local bodyloop = require "gilua.rewrite.bodyloop"
local summed = require "gilua.facts.summed"
local threads = require "gilua.facts.threads"
local warp_add = require "gilua.rewrite.warp_add"

local function guarded(at)
  local guard = threads.guard(at.index)
  if summed.is_fixed(at.fn, guard.bound, { cast = true }) then return guard end
  return nil, ("the bound of '%s' is not made of parameters alone"):format(at.index.name)
end

-- Variables for what a thread adds: their declarations, and the lines behind the loop.
local function sums_of(at, e)
  local before, behind, by_place = {}, {}, {}
  for _, sum in ipairs(at.sums or {}) do
    local place = at.kernel:plain(sum.call.args[1])
    if not by_place[place] then
      by_place[place] = at.names(sum.access.base .. "_sum")
      before[#before + 1] = ("%s %s = 0;"):format(sum.type, by_place[place])
      local lines = warp_add.lines(at.kernel, sum.type, place, by_place[place])
      table.move(lines, 1, #lines, #behind + 1, behind)
    end
    e:replace(sum.statement.first, sum.statement.last, ("%s += %s;"):format(by_place[place],
      at.kernel:plain(sum.call.args[2])))
  end
  return before, behind
end

local function becomes(at, e)
  local side, guard = at.side, at.guard
  local block = bodyloop.other_block(at.index, e)
  local bound = at.kernel:plain(guard.bound)
  if guard.bound.kind == "binary" then bound = "(" .. bound .. ")" end
  local head = ("for (unsigned int %s = blockIdx.%s; (long long)%s * blockDim.%s %s %s; "
    .. "%s += gridDim.%s) {"):format(block, side, block, side, guard.relation, bound, block, side)
  local lines, behind = sums_of(at, e)
  lines[#lines + 1] = head
  local last = table.concat({ "}", table.unpack(behind) }, "\n"
    .. at.kernel:indent(at.fn.body.body[1].first))
  return ("at most %d blocks, which go on until all items are done%s"):format(at[1],
    at[2] and ", and each thread adds up what it has" or ""),
    { indent = { bodyloop.put(at.fn, e, lines, nil, last) } }
end

return { name = "grid_stride", where = "indices", launch = "grid.$side<$1",
  doc = "A fixed number of blocks does all items.",
  -- one, two, four and eight for each multiprocessor of an H200
  args = { { "blocks", { 132, 264, 528, 1056 }, from = 1, to = 1 << 20 },
           { "way", { false, "sum" } } },
  needs = {
    { "threads", threads.is_usual },
    { "threads", bodyloop.of_place },
    { "threads", guarded, gives = "guard" },
    { "summed", function(at)
      if not at[2] then return {} end
      return summed.of(at.fn)
    end, gives = "sums" },
  },
  becomes = becomes,
}
