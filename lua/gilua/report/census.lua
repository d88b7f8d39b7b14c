-- census: statistics of a run's mutants: an observer of gilua.evolve that counts what the children
-- of each operator were worth, and the run's records for its page.

local fitness = require "gilua.search.fitness"

local M = {}

--------------------------------------------------------------------------------------------------
-- Operators

local function new_counts() return { all = 0, compiled = 0, ran = 0, right = 0, parents = 0 } end

local function count(counts, individual)
  local m = individual.measurement
  counts.all = counts.all + 1
  if m.status ~= "compile_error" then counts.compiled = counts.compiled + 1 end
  if m.status == "ok" then counts.ran = counts.ran + 1 end
  if fitness.right(m) then counts.right = counts.right + 1 end
  if individual.acceptable then counts.parents = counts.parents + 1 end
end

local function count_all(c, population, generation)
  for _, individual in ipairs(population) do
    local birth = individual.birth
    local operator = c.operators[birth]
    if not operator then
      operator = new_counts()
      operator.name, operator.generations = birth, {}
      c.operators[birth], c.operators[#c.operators + 1] = operator, operator
    end
    local last = operator.generations[#operator.generations]
    if not last or last.generation ~= generation then
      last = { generation = generation, all = 0, right = 0 }
      table.insert(operator.generations, last)
    end
    count(operator, individual)
    last.all = last.all + 1
    if fitness.right(individual.measurement) then last.right = last.right + 1 end
  end
end

--------------------------------------------------------------------------------------------------

--- A record of a generation as a page and experiment.json have it.
---@param record table
---@return table
function M.row(record)
  local best = record.best
  return {
    generation = record.generation, size = record.size, case = record.case,
    baseline_ticks = record.baseline.ticks,
    best_ticks = best and best.measurement.ticks, speedup = record.speedup,
    median_ticks = record.median_ticks, compiled = record.compiled, right = record.right,
    parents = record.parents, evaluations = record.evaluations, mean_length = record.mean_length,
    best_length = record.best_length, best_genome = best and best.genome, genes = record.genes,
    accepted = record.accepted,
  }
end

--- All of a run's.
---@param run Run
---@return table[]
function M.rows(run)
  local rows = {}
  for i, record in ipairs(run.records) do rows[i] = M.row(record) end
  return rows
end

--- Makes an observer that counts.
---@return table observer with result(): { operators } (docs/report.md)
function M.observer()
  local c = { operators = {} }
  local o = {}

  function o.on_generation(run, record)
    for _, list in ipairs { run.population, run.tried } do
      count_all(c, list, record.generation)
    end
  end

  function o.result()
    return { operators = table.move(c.operators, 1, #c.operators, 1, {}) }
  end

  return o
end

return M
