-- steady: steady-state evolution (Whitley, "The GENITOR Algorithm and Selection Pressure", 1989). A
-- small population lives; a child is made as soon as a worker is free, and replaces a worse
-- individual. A generation is a number of evaluations on one case: first the population is measured
-- on the new case, then children are made one by one. The history does not depend on the workers'
-- speeds: a child is made when the child `ahead` places before it has its fitness. If nothing
-- better has come for `patience` generations, a new population starts. The best of each generation
-- still take part in the final comparison.
--
--   for name, value in pairs(gi.steady.scheme { population = 60 }) do scheme[name] = value end
--   gi.evolve.run(scheme)
--
-- `keep` decides who lives: individuals in, survivors out, best first. `M.best` keeps the best, all
-- of different code; gi.elites keeps the best of each cell.

local evolve = require "gilua.search.evolve"
local genome = require "gilua.search.genome"
local linked = require "gilua.search.linked"
local settings = require "gilua.base.settings"
local sweep = require "gilua.search.sweep"

local M = {}

--------------------------------------------------------------------------------------------------
-- Who lives

-- What tells a kernel from others: equal code has equal time, but for noise.
local function code_of(individual)
  local m = individual.measurement
  return m.code_hash or m.ptx_hash or individual.genome
end

-- The shorter genome of equals, then the older.
local function precedes(a, b)
  if a.fitness ~= b.fitness then return a.fitness < b.fitness end
  local x, y = genome.length(a.genome), genome.length(b.genome)
  if x ~= y then return x < y end
  return a.id < b.id
end

--- Those that may be parents, best first, each code once, and what only another launch tells apart
--- as often as it has another time.
---@param individuals Individual[] scored
---@return Individual[]
function M.distinct(individuals)
  local fit, list, seen = {}, {}, {}
  for _, individual in ipairs(individuals) do
    if individual.acceptable then fit[#fit + 1] = individual end
  end
  table.sort(fit, precedes)
  for _, individual in ipairs(fit) do
    local settings_of = {}
    for _, gene in ipairs(genome.split(individual.genome)) do
      if genome.name_set(gene) then settings_of[#settings_of + 1] = gene end
    end
    local key = code_of(individual) .. " " .. genome.last_settings(genome.join(settings_of))
    if not seen[key] then list[#list + 1] = individual end
    seen[key] = true
  end
  return list
end

--- The best n of different code.
---@param n integer
---@return fun(individuals: Individual[]): Individual[]
function M.best(n)
  return function(individuals)
    local list = M.distinct(individuals)
    return table.move(list, 1, math.min(n, #list), 1, {})
  end
end

--- One of those that live: the better of two drawn at random.
---@param living Individual[] best first
---@param rng table
---@return Individual
function M.tournament(living, rng)
  return living[math.min(rng:int(#living), rng:int(#living))]
end

--------------------------------------------------------------------------------------------------
-- Children

-- A child whose parameters go together as the problem's restrictions ask.
local function child_with(run, text, birth, ...)
  local first = ...
  run.repair = run.repair or linked.of(run.problem)
  local repaired = run.repair(genome.last_settings(text), first and first.genome)
  return evolve.child(repaired, birth, ...)
end

-- The next of the steps from the best (gilua.search.sweep), in the last generations; nil before,
-- and where none is left.
local function step_of(o, run, living)
  if run.generation <= (1 - o.sweep) * run.scheme.generations then return nil end
  run.steps = run.steps or sweep.new(run.problem, run.scheme.genes or {}, run.rng)
  local best = living[1]
  local text, step = run.steps:next(best.genome)
  local child = text and child_with(run, text, "mutation", best)
  if child then
    child.step, child.best, child.best_ticks = step, best.genome, best.measurement.ticks
  end
  return child
end

-- Says to the sweep what became of a step.
local function tell_sweep(run, individual)
  if individual.step then
    local m = individual.measurement
    run.steps:came(individual.step, individual.acceptable and individual.best_ticks / m.ticks or 0,
      individual.best, m.status == "launch_error")
  end
end

local function child_of(o, run, living)
  if #living == 0 then
    return child_with(run, genome.join { run.scheme.start, run.draw(run.rng) }, "scratch")
  end
  local step = step_of(o, run, living)
  if step then return step end
  local rng, scheme = run.rng, run.scheme
  local parent = o.choose(living, rng)
  if rng:unit() < o.cross_rate then
    local mate = o.choose(living, rng)
    local text = mate ~= parent and scheme.cross(parent.genome, mate.genome, rng)
    if text then return child_with(run, text, "crossover", parent, mate) end
  end
  return child_with(run, scheme.mutate(parent.genome, run.draw, rng), "mutation", parent)
end

-- Makes a child that nobody has tried on this case, where one is found in so many tries.
local TRIES = 10

local function fresh_child(o, run, living, tried)
  local child
  for _ = 1, TRIES do
    child = child_of(o, run, living)
    if not tried[child.genome] then break end
  end
  tried[child.genome] = true
  return child
end

-- Has nothing better come for `patience` generations? A gain counts from one in a thousand on.
local function is_stuck(o, run)
  local best, since = 0, 0
  for _, record in ipairs(run.records) do
    since = since + 1
    if record.generation == run.fresh_since then best, since = 0, 0 end
    if (record.speedup or 0) > 1.001 * best then best, since = record.speedup, 0 end
  end
  return since >= o.patience
end

-- Those that live are measured on the new case, the others are made one by one.
local function vary(o, run)
  if run.generation == 1 then return end
  local living, tried = run.population, { [""] = true }
  if is_stuck(o, run) then
    living, run.fresh_since = {}, run.generation
  end
  evolve.trial(run, living)
  local everyone = table.move(living, 1, #living, 1, {})
  for _, individual in ipairs(living) do tried[individual.genome] = true end
  living = o.keep(living)
  local children = evolve.stream(run, math.max(1, o.population - #everyone), o.ahead, function()
    return fresh_child(o, run, living, tried)
  end, function(individual)
    tell_sweep(run, individual)
    if not individual.acceptable then return end
    living[#living + 1] = individual
    living = o.keep(living)
  end)
  run.population = table.move(children, 1, #children, #everyone + 1, everyone)
end

local function elites(_, parents, children)
  for i, parent in ipairs(parents) do
    children[i] = evolve.child(parent.genome, "elite", parent)
  end
end

--------------------------------------------------------------------------------------------------
-- The scheme

M.defaults = {
  population = 60,        -- evaluations on one case
  living = 15,            -- of `keep`, where none is given
  ahead = 16,             -- children that are made before the first has its fitness
  cross_rate = 0.5,
  patience = math.huge,   -- generations
  sweep = 0,              -- of the generations, the last ones: steps from the best in turn
  choose = M.tournament,  -- (living, rng) -> one of them
}

local made = setmetatable({}, { __mode = "k" }) -- `vary` of a scheme -> what it was made of

--- The options of M.scheme that a scheme was made with, as data; nil where it was not, or where a
--- function of its own was among them.
---@param varies function? `vary` of the scheme
---@return table?
function M.options_of(varies) return varies and made[varies] end

-- What makes the same scheme again, as data.
local function plain(given, o)
  if given and (given.keep or given.choose) then return nil end
  return { population = o.population, living = o.living, ahead = o.ahead,
    cross_rate = o.cross_rate, patience = o.patience < math.huge and o.patience or nil,
    sweep = o.sweep > 0 and o.sweep or nil }
end

--- The fields of a scheme for gilua.evolve.run that make it steady; what else it needs (problem,
--- farm, rng, new_case, init, draw) is added by the caller.
---@param options? table population, living, ahead, cross_rate, patience, sweep, choose, keep: see
---  the head of this file
---@return table fields
function M.scheme(options)
  local o = settings.fill("gilua.steady.scheme", options, M.defaults, { "keep" })
  o.keep = o.keep or M.best(o.living)
  local fields = {
    population = o.population, select = o.keep,
    breed = { elites, function(run, parents, children)
      if #parents == 0 then evolve.newcomers(run, parents, children) end
    end },
    vary = function(run) vary(o, run) end,
  }
  made[fields.vary] = plain(options, o)
  return fields
end

return M
