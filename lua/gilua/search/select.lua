-- select: selection of parents. A selection takes a population (individuals with `fitness`, which
-- is minimised, and `acceptable`) and returns a list of parents, best first.

local M = {}

--- 50 % truncation (GECCO 2014, §3.9): the best half, of those acceptable. The list is shorter than
--- half where too few are; the children they miss are then made from scratch. Equals come in
--- random order: clock noise did that for the paper, a deterministic device needs it done.
---@param population table[]
---@param rng table
---@return table[] parents
function M.truncation(population, rng)
  local pool, chance = {}, {}
  for _, individual in ipairs(population) do
    local draw = rng:unit()
    if individual.acceptable then
      pool[#pool + 1] = individual
      chance[individual] = draw
    end
  end
  table.sort(pool, function(a, b)
    if a.fitness ~= b.fitness then return a.fitness < b.fitness end
    return chance[a] < chance[b]
  end)
  for i = #pool, #population // 2 + 1, -1 do pool[i] = nil end
  return pool
end

return M
