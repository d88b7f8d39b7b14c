-- choices.lua - what a problem's parameters may be set to, as genomes, and whether these are right.

local tap = require "tap"
local fitness = require "gilua.search.fitness"

local M = {}

--- The genes that set one parameter to something other than its default.
local function genes_of(parameter)
  if parameter.switch then return { parameter.name } end
  local genes = {}
  for _, value in ipairs(parameter.values) do
    if value ~= parameter.default then genes[#genes + 1] = parameter.name .. "=" .. value end
  end
  return genes
end

--- The unmodified kernel and every single change; under sanitizers a third of them.
function M.alone(problem)
  local genomes = { "" }
  for _, parameter in ipairs(problem.parameters) do
    table.move(genes_of(parameter), 1, #genes_of(parameter), #genomes + 1, genomes)
  end
  if not tap.sanitized "two of three single changes" then return genomes end
  local few = {}
  for i = 1, #genomes, 3 do few[#few + 1] = genomes[i] end
  return few
end

--- n settings of all parameters, each at random, the default as likely as any; of a parameter named
--- in `most` only that many values. Under sanitizers a quarter of them.
function M.random(problem, n, rng, most)
  local genomes = {}
  for i = 1, tap.sanitized "three of four random settings" and n // 4 or n do
    local genes = {}
    for _, parameter in ipairs(problem.parameters) do
      local choices = genes_of(parameter)
      local last = most and most[parameter.name] or #choices
      genes[#genes + 1] = choices[rng:int(0, last)]
    end
    genomes[i] = table.concat(genes, " ")
  end
  return genomes
end

--- Evaluates genomes; one check for all, and a note for each that is not right.
function M.all_right(farm, genomes, spec, what)
  assert(#genomes > 0, "there is nothing to evaluate")
  local wrong = 0
  for _, m in ipairs(farm:evaluate(genomes, spec)) do
    if not fitness.right(m) then
      wrong = wrong + 1
      tap.note(("%q: %s %s"):format(m.genome, m.status, m.message or m.max_error))
    end
  end
  tap.is(wrong, 0, ("%s: %d settings"):format(what, #genomes))
end

return M
