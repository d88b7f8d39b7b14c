-- schedules: moves of several steps. Some transformations pay only beside others: a tile in shared
-- memory is slower than the loop until a thread has several results. A schedule names such kinds in
-- the order of the steps; a draw takes one place of each, and the steps become one move. The
-- bandit (gilua.search.bandit) has an arm for each schedule, and learns which pay.
--
-- Source: schedules of Halide (Ragan-Kelley et al., 2013) and of TVM's primitives.

local genome = require "gilua.search.genome"

local M = {}

-- A step: kinds that may take it, one of which is drawn; `x` behind a kind asks for that argument.
-- A step in brackets may be left out.
M.LIST = {
  { name = "tile", "stage", "merge:x merge_threads:x", "merge:y merge_threads:y",
    "[vector unroll hoist]" },
  { name = "results of a thread", "merge_threads:x coarsen", "merge:y merge_threads:y merge:x",
    "[unroll vector hoist]" },
  { name = "lanes of a row", "warp_row subwarp warp_loop", "vector split_accumulator batch unroll",
    "[specialise divide hoist]" },
  { name = "sum of the grid", "grid_stride coarsen merge_threads:x", "block_atomic",
    "[warp_atomic]" },
  { name = "long loop", "specialise", "unroll vector split_accumulator", "[batch hoist divide]" },
}

local LEFT_OUT = 0.5 -- of the draws: a step in brackets
local TRIES = 6      -- for steps that can be made together

-- The genes of the places that may take a step.
local function genes_of(step, kinds)
  local list = {}
  for kind, argument in step:gmatch "([%l_]+):?(%l*)" do
    for _, place in ipairs(kinds[kind] and kinds[kind].places or {}) do
      if argument == "" or place.args[1] == argument then list[#list + 1] = place.gene end
    end
  end
  return list
end

-- The steps of a schedule on this kernel; nil where one that must be there has no place, or where
-- fewer than two have.
local function steps_of(schedule, kinds)
  local steps = {}
  for _, step in ipairs(schedule) do
    local genes, is_free = genes_of(step, kinds), step:find("[", 1, true) ~= nil
    if #genes > 0 then
      steps[#steps + 1] = { genes = genes, is_free = is_free }
    elseif not is_free then
      return nil
    end
  end
  return #steps > 1 and steps or nil
end

-- A move: genes that can be made together; nil where none was found.
local function drawn(grammar, steps, rng)
  for _ = 1, TRIES do
    local genes = {}
    for _, step in ipairs(steps) do
      local is_taken = not step.is_free or rng:unit() >= LEFT_OUT
      if is_taken then genes[#genes + 1] = rng:pick(step.genes) end
    end
    local text = genome.join(genes)
    if #genes > 1 and grammar:apply(text, true) then return text end
  end
end

--- The schedules that have places in a kernel, as arms of a bandit.
---@param grammar table
---@return { name: string, draw: fun(rng: table): string? }[]
function M.arms(grammar)
  local kinds, arms = {}, {}
  for _, kind in ipairs(grammar:transformations()) do kinds[kind.name] = kind end
  for _, schedule in ipairs(M.LIST) do
    local steps = steps_of(schedule, kinds)
    if steps then
      arms[#arms + 1] = { name = "schedule: " .. schedule.name,
        draw = function(rng) return drawn(grammar, steps, rng) end }
    end
  end
  return arms
end

return M
