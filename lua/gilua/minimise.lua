-- minimise: which genes of an evolved genome are needed? Post-evolution clean up of GECCO 2014,
-- §4.3: genes are knocked out one at a time.

local genome = require "gilua.genome"

local M = {}

local function without(genes, index)
  local rest = {}
  for i, gene in ipairs(genes) do
    if i ~= index then rest[#rest + 1] = gene end
  end
  return rest
end

---One pass from left to right: a gene is left out for good where the score does not get worse by
---more than `noise` without it. Never returns a genome that scores worse than the one given by
---more than `noise`.
---@param text string the genome
---@param score fun(genome: string): number to be minimised; math.huge where unacceptable
---@param noise? number largest difference that means nothing (0: exact, as on device emu)
---@return string shorter
function M.knockout(text, score, noise)
  local genes, best = genome.split(text), score(text)
  local i = 1
  while i <= #genes do
    local shorter = without(genes, i)
    local without_it = score(genome.join(shorter))
    if without_it <= best + (noise or 0) then
      genes, best = shorter, math.min(best, without_it)
    else
      i = i + 1
    end
  end
  return genome.join(genes)
end

return M
