-- own: what experiments on a user's own kernel share.

local genome = require "gilua.search.genome"

local M = {}

local MOST_GENES = 4 -- of an individual of the first population

--- The spec of a case. Where there is a GPU the kernel as it is runs there for the answers: what it
--- does in milliseconds may take the virtual GPU minutes.
---@param problem gilua.problem
---@param seed integer
---@param device? string of the experiment
---@param last? boolean it is what the claim of the best is made on: of recordings one to choose by
---@return table spec
function M.case(problem, seed, device, last)
  local recorded = problem.definition.recorded
  if recorded then return last and recorded:specs("validate")[1] or recorded:spec(seed) end
  local spec = { seed = seed }
  if problem.definition.kernel_table and device and device:find("^cuda") then
    spec.device = device:match("^cuda:%d+") or "cuda:0"
  end
  return spec
end

--- Genes of a problem (options of gilua.genome.source): all of its parameters are open.
---@param problem gilua.problem
---@return table
function M.genes(problem)
  local names = {}
  for _, p in ipairs(problem.parameters) do
    if not p.switch and p.values and #p.values > 1 then names[#names + 1] = p.name end
  end
  return { parameters = names }
end

--- The first population: single genes (GECCO 2014, §3.3.1) and, of a kernel that has not so many,
--- all of them, then random ones of two to four genes.
---@param n integer
---@param draw fun(rng: table): string
---@param rng table
---@return string[] genomes all different, while there are so many
function M.first(n, draw, rng)
  local genomes, seen, tries = {}, {}, 0
  while #genomes < n do
    tries = tries + 1
    local genes = {}
    local length = tries <= 10 * n and 1 or 1 + rng:int(MOST_GENES - 1)
    for i = 1, length do genes[i] = draw(rng) end
    local text = genome.last_settings(genome.join(genes))
    if not seen[text] or tries > 100 * n then genomes[#genomes + 1] = text end
    seen[text] = true
  end
  return genomes
end

return M
