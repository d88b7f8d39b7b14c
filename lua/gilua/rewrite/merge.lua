--- merge: thread-block coarsening (block merge)
--
-- where     sides
-- needs     mergeable, merge_plan, in_step, bounded
-- becomes   a block does what several neighbours did, and what they have in common once
-- promises  in_step, bounded
--
-- Statement by statement, what depends on which of them it is is done for each, the rest once for
-- all (Yang, Xiang, Kong and Zhou, "A GPGPU Compiler for Memory Optimization and Parallelism
-- Management", PLDI 2010, section 3.5). So an element that several load, a weight that all compute,
-- a tile in shared memory, a barrier serves all of them.
--
--   for (int k = 0; k < n; k++)                  for (int k = 0; k < n; k++) {
--     sum += a[k] * b[k * n + column];             for (int part = 0; part < 2; part++) {
--                                                    int &column = columns[part];
--                                                    float &sum = sums[part];
--                                                    sum += a[k] * b[k * n + column];
--                                                  }
--                                                }
--
-- The loops over them are unrolled, so are those around them of few iterations. What is a block's
-- own (gilua.facts.blockwise) is there once for each: names are references to them, so that
-- statements, and macros in them, stay as they are. A condition around all the work (`if (i < n)`)
-- is evaluated for all blocks. Where it is false for one, the blocks' work is done one after the
-- other, as it was.
--
-- Arrays may alias. Barriers stay, and each thread keeps its order and its own loads: only the
-- order of different threads between two barriers changes. If one thread writes an element there
-- that another reads, the kernel as it is has a race, and no answer that could be kept.

local bounded = require "gilua.facts.bounded"
local in_step = require "gilua.facts.in_step"
local merge_plan = require "gilua.facts.merge_plan"
local mergeable = require "gilua.facts.mergeable"
local write = require "gilua.rewrite.merged.write"

-- May the launch round the grid up: does a block beyond the last one do nothing? If not, the grid
-- must be a multiple.
local function may_be_longer(at)
  local found = bounded.of(at.fn, at.side)
  return found.answer ~= nil or nil, found.says
end

local function in_step_at(at)
  local found = in_step.of(at.fn, at.side)
  return found.answer, found.says
end

local function becomes(at, e)
  local shared, indent = write.put(at.plan, at[2], e)
  local found = bounded.of(at.fn, at.side)
  local asks = in_step.of(at.fn, at.side).asks
    .. (found.answer == false and ("grid.%s%%%d "):format(at.side, at[2]) or found.asks)
  return ("a block does what %d neighbours along %s did, and what they have in common once"):format(
    at[2], at.side), { indent = indent, bounded = bounded.sides(at.fn),
    launch = ("%sgrid.%s/%d%s"):format(asks, at.side, at[2], shared) }
end

return { name = "merge", where = "sides", first = true, times = true, counts = 2,
  doc = "A block does the work of several, and what they have in common once.",
  args = { { "side", of = "side" }, { "blocks", { 2, 4, 8 }, from = 2, to = 16 } },
  needs = {
    { "mergeable", function(at) return mergeable.of(at.fn, "blockIdx", at.side) end },
    { "merge_plan", function(at) return merge_plan.of(at.fn, "blocks", at.side) end,
      gives = "plan" },
    { "in_step", in_step_at, promised = true },
    { "bounded", may_be_longer, promised = true },
  },
  becomes = becomes,
}
