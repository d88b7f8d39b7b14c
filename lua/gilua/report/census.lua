-- census: what became of the mutants of a run, as far as a page can show it: an observer of
-- gilua.evolve that keeps every mutant as a point, or one of every 2, 4, 8 … of a long run with all
-- that led a generation, and counts for each operator what its children were worth.

local fitness = require "gilua.search.fitness"

local M = {}

M.MOST = 4000 -- points

--------------------------------------------------------------------------------------------------
-- Points

-- What became of a mutant, in a word: a status, and of those that ran "right" or "wrong".
local function outcome(m)
  if m.status ~= "ok" then return m.status end
  return fitness.right(m) and "right" or "wrong"
end

local function point_of(individual, record, error_of)
  local m = individual.measurement
  local point = { id = individual.id, generation = record.generation, birth = individual.birth,
    outcome = outcome(m), genome = individual.genome, leads = individual == record.best or nil }
  if m.status == "ok" then
    local ratio, wrong = m.ticks / record.baseline.ticks, error_of(m)
    point.time = ratio > 0 and ratio < math.huge and ratio or nil
    point.error = wrong == wrong and wrong or math.huge
  end
  return point
end

local function stays(c, point)
  return point.id % c.every == 0 or point.leads and point.generation % c.every_leader == 0
end

-- Half of the points go, and from now on half as many come; first of those that led no generation.
local function thin(c)
  if c.every < c.all then c.every = 2 * c.every else c.every_leader = 2 * c.every_leader end
  local kept = {}
  for _, point in ipairs(c.points) do
    if stays(c, point) then kept[#kept + 1] = point end
  end
  c.points = kept
end

local function add_point(c, point)
  c.all = c.all + 1
  if not stays(c, point) then return end
  c.points[#c.points + 1] = point
  while #c.points > M.MOST do thin(c) end
end

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

local function mean_error(m) return m.mean_error end

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

--- An observer that counts.
---@param what? { name: string, of: fun(m: table): number } what error is (the mean error)
---@return table observer with result(): { mutants = { all, every, error, points }, operators }
---  (docs/report.md)
function M.observer(what)
  local c = { points = {}, all = 0, every = 1, every_leader = 1, operators = {} }
  local o = {}

  function o.on_generation(run, record)
    for _, list in ipairs { run.population, run.tried } do
      for _, individual in ipairs(list) do
        add_point(c, point_of(individual, record, what and what.of or mean_error))
      end
      count_all(c, list, record.generation)
    end
  end

  function o.result()
    return { mutants = { all = c.all, every = c.every, points = c.points,
      error = what and what.name or nil }, operators = table.move(c.operators, 1, #c.operators, 1,
      {}) }
  end

  return o
end

return M
