-- launchneeds: what of its launch a winner needs that `gilua apply` does not write into the host's
-- code (gilua.backport): a launch that is not understood, and, where the files have none, a block
-- of another size, without which the kernel may be wrong. Threads that wait for their warp alone
-- are right in blocks of 32, and race in those of 256.
--
--   local needs = gi.launchneeds.of(problem, farm, case, genome) -- sentences

local attempt = require "gilua.base.attempt"
local compilers = require "gilua.problem.compilers"
local ends = require "gilua.base.ends"
local fitness = require "gilua.search.fitness"
local genomes = require "gilua.search.genome"
local gi = require "gilua"
local launches = require "gilua.transform.launch"

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

--- What becomes of launches that have another size, in words; "" where they have none.
---@param parameters table[] as M.settings takes them
---@param params table<string, any> what a genome sets
---@param launched { size?: LaunchSize }
---@return string
function M.size(parameters, params, launched)
  if not launched.size then return "" end
  local list, words = {}, M.settings(parameters, params)
  for _, side in ipairs { "x", "y", "z" } do list[#list + 1] = words["block_size_" .. side] end
  list[#list + 1] = "a grid for as many elements as before"
  return table.concat(list, ", ")
end

--- What a person has to write where a launch is not understood, in words.
---@param parameters table[] as M.settings takes them
---@param params table<string, any> what a genome sets
---@param launched { size?: LaunchSize }
---@return string
function M.wanted(parameters, params, launched)
  local size, launch = M.size(parameters, params, launched), params[launches.PARAMETER]
  return size .. (launch and size ~= "" and ", " or "") .. (launch and launches.words(launch) or "")
end

--- Where a launch is that is not written: "line 31 of main.cu, `k<<<blocks(n), 256>>>(x);`".
---@param one { line?: integer, file?: string, text?: string, kernel?: string }
---@return string
function M.place(one)
  return one.line and ("line %d of %s, `%s`"):format(one.line, one.file, one.text)
    or ("none of %s was found"):format(one.kernel)
end

-- What becomes of the launches in the user's files; nil where the files are not what they were.
local function launched_in(problem, genome)
  local found, files, params, launched = attempt(gi.backport.files, gi.kept.of(problem), genome)
  if found then return launched, params end
  if not ends.is_refusal(files) then error(files, 0) end
end

-- That the launch has the winner's settings, without which the rest of it is wrong; nil where it is
-- right without.
local function of_settings(problem, farm, case, genome)
  local rest, words = without(problem, genome)
  if words == "" or rest == "" then return nil end
  local fault = fault_of(farm, case, rest)
  return fault and ("that it is launched with %s, and is wrong without (%s)"):format(words, fault)
end

-- Is a problem made of somebody's file, whose launches may be another's to write?
local function is_made(problem)
  local t = problem.definition.kernel_table and problem.definition.kernel_table.table
  local of_recorded = problem.definition.recorded and problem.definition.made_from
  return (t and t.made_from or of_recorded) and not problem.is_ptx
end

-- Adds what `gilua apply` cannot write; true where the files have launches.
local function add_unwritten(list, problem, genome)
  local launched, params = launched_in(problem, genome)
  for i, one in ipairs(launched and launched.left or {}) do
    list[i] = ("that a launch is changed which is not understood (%s): %s"):format(
      M.place(one), M.wanted(problem.parameters, params, launched))
  end
  return launched ~= nil and launched.done + #launched.left > 0
end

--- What `gilua apply` cannot write of a genome's launches.
---@param problem gilua.problem
---@param genome string
---@return string[] sentences
function M.unwritten(problem, genome)
  local list = {}
  if is_made(problem) then add_unwritten(list, problem, genome) end
  return list
end

--- What a winner promises of its launches: what `gilua apply` cannot write there, and, where the
--- files launch nothing, that it has the winner's settings, without which the rest of it is wrong,
--- with every check on or on a case. Nothing of a problem that a person wrote.
---@param problem gilua.problem
---@param farm gilua.farm
---@param case table
---@param genome string
---@return string[] sentences
function M.of(problem, farm, case, genome)
  local list = {}
  if not is_made(problem) or add_unwritten(list, problem, genome) then return list end
  local t = problem.definition.kernel_table
  return { t and of_settings(problem, farm, case, genome) }
end

return M
