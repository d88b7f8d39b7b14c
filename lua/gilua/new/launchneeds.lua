-- launchneeds: what of its launch a winner is right with alone. `gilua apply` puts the source into
-- the file, and a block of another size, which the host's code says, is left to a person: whose
-- kernel may be wrong until then. Threads that wait for their warp alone are right in blocks of
-- 32, and race in those of 256 that the file has.
--
--   local needs = gi.launchneeds.of(problem, farm, case, genome) -- a sentence; nil: nothing

local compilers = require "gilua.problem.compilers"
local fitness = require "gilua.search.fitness"
local genomes = require "gilua.search.genome"

local M = {}

-- The parameters that the host's code says where it launches the kernel, by name.
local function of_launch(problem)
  local by_name = {}
  for _, p in ipairs(problem.parameters) do
    local is_told = compilers.is_told(p.name, p.values)
    if p.in_source == false and not p.switch and not is_told then by_name[p.name] = p end
  end
  return by_name
end

-- A genome without its settings of the launch, and these in words.
local function without(problem, genome)
  local by_name, genes, words = of_launch(problem), {}, {}
  for _, gene in ipairs(genomes.split(genome)) do
    local p = by_name[genomes.name_set(gene) or ""]
    local value = p and gene:match "=(.*)"
    if not value then
      genes[#genes + 1] = gene
    elseif value ~= tostring(p.default) then
      words[#words + 1] = ("%s = %s (it was %s)"):format(p.name, value, p.default)
    end
  end
  return genomes.join(genes), table.concat(words, ", ")
end

-- What is no fault of a kernel: that it cannot be launched so, which nobody overlooks, or is slow.
local NO_FAULTS = { ok = true, launch_error = true, timeout = true }

-- Why a genome is wrong; nil where it is right.
local function fault_of(farm, case, genome)
  local status = farm:check({ genome })[1].status
  if status == "ok" then
    local m = farm:evaluate({ genome }, case)[1]
    status = m.status == "ok" and not fitness.right(m) and "wrong answers" or m.status
  end
  return not NO_FAULTS[status] and status:gsub("_", " ") or nil
end

--- What a winner promises of its launch: that it has the winner's settings, without which the rest
--- of it is wrong, with every check on or on a case. Nothing of a problem that a person wrote.
---@param problem gilua.problem
---@param farm gilua.farm
---@param case table
---@param genome string
---@return string? sentence
function M.of(problem, farm, case, genome)
  local t = problem.definition.kernel_table and problem.definition.kernel_table.table
  if not t or not t.made_from or problem.is_ptx then return nil end
  local rest, words = without(problem, genome)
  if words == "" or rest == "" then return nil end
  local fault = fault_of(farm, case, rest)
  return fault and ("that it is launched with %s, and is wrong without (%s)"):format(words, fault)
end

return M
