-- gevo: the search of Liou, Wang, Forrest and Wu, "GEVO: GPU Code Optimization Using Evolutionary
-- Computation", TACO 2020, Algorithm 1, as a scheme of gilua.evolve. It works with any genes;
-- GEVO's own are those below the source (gi.genome.ptx_source).
--
--   first        copies of the unmodified kernel, each with 3 mutations
--   selection    the best of the parents' elites and their offspring, by non-dominated sorting with
--                crowding (nsga2); offspring by tournament; a quarter of the population are elites
--   crossover    one-point messy (§3.5), of 80 % of the pairs
--   mutation     one more gene, for 30 % of the offspring
--
-- The child of a mutation or crossover is measured at once, and made again until it is valid (§3.4,
-- §3.5). GEVO-default minimises time; a valid child is as near to the right answers as the
-- unmodified kernel. GEVO-mO minimises time and error; a valid child is off by 1 % at most.

local evolve = require "gilua.search.evolve"
local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local minimise = require "gilua.search.minimise"
local nsga2 = require "gilua.search.nsga2"
local settings = require "gilua.base.settings"
local trace = require "gilua.base.trace"

local M = {}

--------------------------------------------------------------------------------------------------
-- Objectives: functions of a mutant's measurement and the unmodified kernel's, to be small

--- The largest error as a share of the largest right answer of the case; as it is where all right
--- answers are zero, or none is a number.
---@param own gilua.measurement
---@return number
function M.error(own)
  local x = own.max_error
  if x ~= x or own.unset > 0 then return math.huge end
  return own.largest and own.largest > 0 and x / own.largest or x
end

--- Objectives by name, for `objectives` of a scheme: time over the unmodified kernel's, error
--- (M.error), mean_error, energy over the unmodified kernel's (a measurement's energy_j), registers
--- and shared_bytes of a thread and a block.
---@type table<string, fun(own: gilua.measurement, baseline: gilua.measurement): number>
M.objectives = {
  time = function(own, baseline) return own.ticks / baseline.ticks end,
  error = M.error,
  mean_error = function(own) return own.mean_error end,
  energy = function(own, baseline)
    if not baseline.energy_j then
      fail("the objective energy needs what a launch takes, which this run does not measure: give "
        .. "gilua.farm energy = true (a GPU's), or run on the virtual GPU, which estimates it")
    end
    return own.energy_j and own.energy_j / baseline.energy_j or math.huge -- of who was not timed
  end,
  registers = function(own) return own.registers end,
  shared_bytes = function(own) return own.shared_bytes end,
}

--- Is it as near to the right answers as the unmodified kernel (GEVO-default)?
---@param own gilua.measurement
---@param baseline gilua.measurement
---@return boolean
function M.exact(own, baseline)
  return fitness.right(own) and own.max_error <= baseline.max_error
end

--- Does it run to its end and set every answer, none off by more than a share of the largest right
--- answer (GEVO-mO), more than the unmodified kernel is?
---@param most number 0.01 is 1 %
---@return fun(own: gilua.measurement, baseline: gilua.measurement): boolean
function M.within(most)
  return function(own, baseline)
    return own.status == "ok" and M.error(own) <= most + M.error(baseline)
  end
end

--------------------------------------------------------------------------------------------------
-- Crossover

local function shuffled(list, rng)
  for i = #list, 2, -1 do
    local k = rng:int(1, i)
    list[i], list[k] = list[k], list[i]
  end
  return list
end

local function distinct(genes)
  local list, seen = {}, {}
  for _, gene in ipairs(genes) do
    if not seen[gene] then list[#list + 1] = gene end
    seen[gene] = true
  end
  return genome.last_settings(genome.join(list))
end

--- One-point messy crossover (§3.5): the genes of both in one row, shuffled, and cut into two again
--- at a place drawn at random. Of equal genes of a child the first stays.
---@param first string
---@param second string
---@param rng table
---@return string? child nil, nil where both together have not two genes
---@return string? other
function M.cross(first, second, rng)
  local genes = shuffled(genome.split(genome.join { first, second }), rng)
  if #genes < 2 then return nil end
  local cut = rng:int(1, #genes - 1)
  return distinct(table.move(genes, 1, cut, 1, {})),
    distinct(table.move(genes, cut + 1, #genes, 1, {}))
end

--------------------------------------------------------------------------------------------------
-- Varying by trial

local function note(run, what, list)
  run.accepted = run.accepted or {}
  local count = run.accepted[what] or { tried = 0, valid = 0 }
  run.accepted[what] = count
  for _, individual in ipairs(list) do
    count.tried = count.tried + 1
    count.valid = count.valid + (individual.acceptable and 1 or 0)
  end
end

local function flat(lists)
  local all = {}
  for _, list in ipairs(lists) do table.move(list, 1, #list, #all + 1, all) end
  return all
end

local function all_valid(list)
  for _, individual in ipairs(list) do
    if not individual.acceptable then return false end
  end
  return true
end

-- Makes new individuals in the places of others, again and again until they are valid or `tries`
-- are over: then who was there stays. A group of places holds new ones together or not at all.
-- make(places) -> Individual[], one a place, or nil where none can be made.
local function replaced(run, population, groups, what, tries, make)
  local waiting = groups
  for _ = 1, tries do
    local made, left = {}, {}
    for _, places in ipairs(waiting) do
      local list = make(places)
      if list then
        made[#made + 1] = list
        left[#left + 1] = places
      end
    end
    if #made == 0 then return end
    local tried = flat(made)
    evolve.trial(run, tried)
    note(run, what, tried)
    waiting = {}
    for i, list in ipairs(made) do
      if all_valid(list) then
        for k, place in ipairs(left[i]) do population[place] = list[k] end
      else
        waiting[#waiting + 1] = left[i]
      end
    end
  end
end

-- Whose child is it to be? That of a copy is its parent's.
local function parent_id(individual)
  return individual.birth == "copy" and individual.parents[1] or individual.id
end

-- On a new case an offspring may be invalid before anything is changed, and would stay so: another
-- one that is valid has its place.
local function require_valid(run, population, first)
  evolve.trial(run, population)
  local valid, new = {}, {}
  for _, individual in ipairs(population) do
    if individual.acceptable then valid[#valid + 1] = individual end
  end
  for place = first, #valid > 0 and #population or 0 do
    if not population[place].acceptable then
      local other = run.rng:pick(valid)
      population[place] = evolve.child(other.genome, "copy", other)
      new[#new + 1] = population[place]
    end
  end
  if #new > 0 then evolve.trial(run, new) end
end

local function mutated(o, run, population, places)
  local groups = {}
  for i, place in ipairs(places) do groups[i] = { place } end
  replaced(run, population, groups, "mutation", o.tries, function(group)
    local parent = population[group[1]]
    local text = run.scheme.mutate(parent.genome, run.draw, run.rng)
    local child = evolve.child(genome.last_settings(text), "mutation", parent)
    child.parents = { parent_id(parent) }
    return { child }
  end)
end

local function crossed(o, run, population, pairs_of)
  replaced(run, population, pairs_of, "crossover", o.tries, function(pair)
    local a, b = population[pair[1]], population[pair[2]]
    local first, second = M.cross(a.genome, b.genome, run.rng)
    if not first then return nil end
    local children = { evolve.child(first, "crossover"), evolve.child(second, "crossover") }
    for _, child in ipairs(children) do
      child.parents = { parent_id(a), parent_id(b) }
    end
    return children
  end)
end

-- Places from `first` to `last`, each with a chance.
local function drawn(first, last, chance, rng)
  local places = {}
  for place = first, last do
    if rng:unit() < chance then places[#places + 1] = place end
  end
  return places
end

local function pairs_drawn(first, last, chance, rng)
  local list = {}
  for place = first, last - 1, 2 do
    if rng:unit() < chance then list[#list + 1] = { place, place + 1 } end
  end
  return list
end

-- Lines 2-3 of Algorithm 1, and 9-14.
local function vary(o, run)
  local population = run.population
  if run.generation == 1 then
    for _ = 1, o.init_edits do mutated(o, run, population, drawn(1, #population, 1, run.rng)) end
  else
    local first = o.elites + 1
    require_valid(run, population, first)
    crossed(o, run, population, pairs_drawn(first, #population, o.cross_rate, run.rng))
    mutated(o, run, population, drawn(first, #population, o.mutate_rate, run.rng))
  end
  run.expected = math.max(run.expected,
    run.evaluations * run.scheme.generations // run.generation)
end

--------------------------------------------------------------------------------------------------
-- The front

-- The first of those that compile to the same code: the shortest.
local function distinct_codes(population)
  local order, by_code, list = {}, {}, {}
  for i, individual in ipairs(population) do
    if individual.acceptable then order[#order + 1] = { i, individual } end
  end
  table.sort(order, function(a, b)
    local m, n = genome.length(a[2].genome), genome.length(b[2].genome)
    if m ~= n then return m < n end
    return a[1] < b[1]
  end)
  for _, item in ipairs(order) do
    local m = item[2].measurement
    local key = ("%s %s"):format(m.code_hash or m.ptx_hash or item[2].genome, m.ticks)
    if not by_code[key] then list[#list + 1] = item[2] end
    by_code[key] = true
  end
  return list
end

--- Those of a population that no other beats, of different code each, by the first objective.
---@param population Individual[] measured
---@param objectives fun(individual: Individual): number[]
---@return { genome: string, id?: integer, values: number[], measurement: table }[]
function M.front(population, objectives)
  local list, points = distinct_codes(population), {}
  for i, individual in ipairs(list) do points[i] = objectives(individual) end
  local front, seen = {}, {}
  for _, i in ipairs(nsga2.fronts(points)[1] or {}) do
    local key = table.concat(points[i], " ")
    if not seen[key] then
      front[#front + 1] = { genome = list[i].genome, id = list[i].id, values = points[i],
        measurement = list[i].measurement }
    end
    seen[key] = true
  end
  table.sort(front, function(a, b)
    for k = 1, #a.values do
      if a.values[k] ~= b.values[k] then return a.values[k] < b.values[k] end
    end
    return a.genome < b.genome
  end)
  return front
end

-- The front of the last population, the winner and the unmodified kernel among them, measured on a
-- case that evolution never saw; of a run that was stopped, as it was last measured. And the whole
-- population's values as they were, for people to look at.
local function final_front(o, run)
  local result = run.result
  if not result then return end
  local population, unseen, others = run.population, not run.stopped, {}
  for _, individual in ipairs(population) do
    if individual.acceptable then others[#others + 1] = o.values(individual) end
  end
  if unseen then
    population = { evolve.child("", "unmodified"), evolve.child(result.genes, "best") }
    for _, point in ipairs(M.front(run.population, o.values)) do
      population[#population + 1] = evolve.child(point.genome, "front")
      population[#population].parents = { point.id }
    end
    run.case = run.scheme.new_case(run.scheme.generations + 3, run.rng, "claim")
    evolve.trial(run, population)
    if run.scheme.check == "winners" then evolve.inspect(run, population) end
  end
  local info = run.scheme.farm:case_info()
  result.front = { names = o.names, unseen = unseen, case = info and info.name,
    points = M.front(population, o.values), others = others }
end

--------------------------------------------------------------------------------------------------
-- The scheme

local DEFAULTS = {
  objectives = { "time" }, -- names of M.objectives, or { name =, value = function }; to be small
  population = 256,
  init_edits = 3,       -- mutations of each of the first population
  cross_rate = 0.8,     -- share of the pairs of offspring
  mutate_rate = 0.3,    -- share of the offspring
  elite_share = 0.25,   -- of the population, kept as they are
  tournament = 2,       -- how many meet in one
  tries = 100,          -- for a valid one; after these the parent stays
  percent = 1,          -- that a gene of the winner must bring to stay (§4.3: 1 % is noise)
}

local function named(objective)
  if type(objective) == "string" then
    local value = M.objectives[objective]
    if value then return { name = objective, value = value } end
    trace.misuse("gilua.gevo.scheme: no objective is called '%s'%s", objective,
      settings.meant(objective, M.objectives))
  elseif type(objective) ~= "table" or type(objective.name) ~= "string"
    or type(objective.value) ~= "function" then
    trace.misuse("gilua.gevo.scheme: an objective is a name or { name =, value = function }")
  end
  return objective
end

-- Every objective of individuals, worked out once, when they are scored.
local function values_of(objectives)
  local known = setmetatable({}, { __mode = "k" })
  local function score(own, baseline)
    local list = {}
    for i, objective in ipairs(objectives) do
      local x = own.status == "ok" and objective.value(own, baseline) or math.huge
      if type(x) ~= "number" then
        error(("the objective '%s' gave %s, not a number"):format(objective.name,
          settings.shown(x)), 0)
      end
      list[i] = x == x and x or math.huge
    end
    known[own] = list
    return list[1]
  end
  return score, function(individual) return known[individual.measurement] end
end

local function is_among(objectives, name)
  for _, objective in ipairs(objectives) do
    if objective.name == name then return true end
  end
  return false
end

-- A gene stays where losing it costs more than `percent`.
local function cleaner(percent)
  return function(text, score, noise)
    return minimise.knockout(text, score, math.max(noise, percent / 100 * math.abs(score(text))))
  end
end

-- Every genome the kernel as it is: `vary` makes the first population of them.
local function copies(n)
  local list = {}
  for i = 1, n do list[i] = "" end
  return list
end

local function breed(o)
  return function(run, parents, children)
    local best = nsga2.best(parents, o.elites)
    for i, elite in ipairs(best) do children[i] = evolve.child(elite.genome, "elite", elite) end
    for _, parent in ipairs(nsga2.tournament(parents, o.population, run.rng, o.tournament)) do
      children[#children + 1] = evolve.child(parent.genome, "copy", parent)
    end
  end
end

local made = setmetatable({}, { __mode = "k" }) -- `vary` of a scheme -> what it was made of

local PLAIN = { "population", "init_edits", "cross_rate", "mutate_rate", "elite_share",
  "tournament", "tries", "percent", "error" }

-- What makes the same scheme again, as data; nil where an objective is a function of the caller's.
local function plain(o)
  local options = { objectives = o.names }
  for _, name in ipairs(PLAIN) do options[name] = o[name] end
  for _, objective in ipairs(o.objectives) do
    if type(objective) ~= "string" then return nil end
  end
  return options
end

--- The options of M.scheme that a scheme was made with, as data; nil where it was not, or where an
--- objective was a function of its own.
---@param varies function? `vary` of the scheme
---@return table?
function M.options_of(varies) return varies and made[varies] end

--- The fields of a scheme for gilua.evolve.run that make it GEVO; what else a scheme needs
--- (problem, farm, rng, new_case) and what is to differ is added by the caller.
---@param options? table objectives: names of M.objectives, or { name =, value = fun(own, baseline)
---  } each; the first one chooses the winner; error: the share that answers may be off by
---  (0.01 where error is an objective; else as near as the unmodified kernel); population,
---  init_edits, cross_rate, mutate_rate, elite_share, tournament, tries, percent
---@return table fields with `observers`, to which others may be added
function M.scheme(options)
  local o = settings.fill("gilua.gevo.scheme", options, DEFAULTS, { "error" })
  local list = {}
  for i, objective in ipairs(o.objectives) do list[i] = named(objective) end
  if #list == 0 then trace.misuse("gilua.gevo.scheme: at least one objective is needed") end
  o.names = {}
  for i, objective in ipairs(list) do o.names[i] = objective.name end
  local score, values = values_of(list)
  o.values = values
  o.elites = math.max(1, math.floor(o.elite_share * o.population))
  local most = o.error or is_among(list, "error") and 0.01 or nil
  local fields = {
    kind = "GEVO", population = o.population, init = copies, fitness = score,
    acceptable = most and M.within(most) or M.exact, minimise = cleaner(o.percent),
    select = function(population)
      nsga2.rank(population, values)
      return nsga2.best(population, o.population)
    end,
    breed = { breed(o) },
    vary = function(run) vary(o, run) end,
    observers = { { on_end = function(run) final_front(o, run) end } },
  }
  made[fields.vary] = plain(o)
  return fields
end

return M
