--- brokenpromise: compares what a genome assumes of its arrays with what the virtual GPU saw when
--- the unmodified kernel ran on a case (gilua.facts.watched).

local genomes = require "gilua.search.genome"

local M = {}

-- The name by which the virtual GPU launched a kernel of the source.
local function launched(problem, kernel)
  local recorded = problem.definition.recorded
  return recorded and recorded.entries[kernel] or problem.kernel
end

--- What a case showed of each promise of a genome (Grammar:watched).
---@param problem gilua.problem
---@param genome string
---@param meets table[]? of the kernel's checked run on the case
---@return { gene: string, answer: boolean?, why: string?, promise: string, ours: boolean,
---  of_file: boolean }[]
function M.all(problem, genome, meets)
  if problem.is_ptx then return {} end
  return problem.grammar:watched((genomes.parts(genome)), function(kernel)
    local name, own = launched(problem, kernel), meets and {}
    for _, meet in ipairs(meets or {}) do
      if meet.kernel == name then own[#own + 1] = meet end
    end
    return own
  end)
end

--- The sentence of the first promise that is broken there; nil where none is.
---@param problem gilua.problem
---@param genome string
---@param meets table[]? of the kernel's checked run on the case
---@return string?
function M.of(problem, genome, meets)
  local is_any = false
  for _, meet in ipairs(meets or {}) do is_any = is_any or meet.how == "in order" end
  for _, one in ipairs(is_any and M.all(problem, genome, meets) or {}) do
    if one.answer == false then
      return ("%s promises that %s, but %s"):format(one.gene, one.promise, one.why)
    end
  end
  return nil
end

return M
