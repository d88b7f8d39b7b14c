-- control: random search, which shows whether selection contributes anything. As in UCL RN/14/02,
-- §10.1: the same loop, population, generations and operators, but parents are drawn at random,
-- whatever their answers and speed. The best mutant seen is kept and compared in the same way.

local M = {}

--- Half of the population, any half.
---@param population table[]
---@param rng table
---@return table[] parents
function M.select(population, rng)
  local pool = table.move(population, 1, #population, 1, {})
  for i = 1, #pool // 2 do -- the first half of Fisher and Yates' shuffle
    local k = rng:int(i, #pool)
    pool[i], pool[k] = pool[k], pool[i]
  end
  return table.move(pool, 1, #pool // 2, 1, {})
end

--- An evolve scheme that searches at random: the one given but for the selection.
---@param scheme table as gilua.evolve.run takes it
---@return table
function M.scheme(scheme)
  local copy = {}
  for key, value in pairs(scheme) do copy[key] = value end
  copy.select, copy.kind = M.select, "random search"
  return copy
end

return M
