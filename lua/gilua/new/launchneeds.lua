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

--- What values say that is not in the source: of the launch, in words, and of what compilers are
--- told, as options. Of a problem's parameters, or a run's.
---@param parameters { name: string, default: any, in_source: boolean, switch?: boolean }[]
---@param values table<string, any>
---@return table<string, string> words "block_size_x = 32 (it was 256)" by the parameter's name
---@return string[] list of these, in the order of the parameters
---@return string[] flags
function M.settings(parameters, values)
  local words, list, flags = {}, {}, {}
  for _, p in ipairs(parameters) do
    local value = p.in_source == false and not p.switch and values[p.name]
    if value and tostring(p.default) ~= tostring(value) then
      local told = (compilers.TOLD[p.name] or {})[value]
      if not told then
        words[p.name] = ("%s = %s (it was %s)"):format(p.name, value, p.default)
        list[#list + 1] = words[p.name]
      end
      table.move(told or {}, 1, #(told or {}), #flags + 1, flags)
    end
  end
  return words, list, flags
end

-- A genome without its settings of the launch, and these in words.
local function without(problem, genome)
  local values, genes = {}, {}
  for _, gene in ipairs(genomes.split(genome)) do
    local name = genomes.name_set(gene)
    if name then values[name] = gene:match "=(.*)" end
  end
  local words, list = M.settings(problem.parameters, values)
  for _, gene in ipairs(genomes.split(genome)) do
    if not words[genomes.name_set(gene) or ""] then genes[#genes + 1] = gene end
  end
  return genomes.join(genes), table.concat(list, ", ")
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
