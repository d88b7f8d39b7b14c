-- evolve: the generational loop of GECCO 2014 (Table 3): panmictic, non-elitist, a new training
-- case each generation, then a final comparison with the unmodified kernel on a case that evolution
-- never saw.
--
-- A scheme is a table of data and functions. A field that is left out has the paper's value; a
-- function of your own can replace any other. `breed` is an ordered list of steps. Observers see
-- everything and decide nothing; they are tables with any of
--   on_start(run)                          before the first case
--   on_result(run, individual, done, total) after each measurement
--   on_generation(run, record)             after each generation
--   on_end(run)                            always, also after an error
-- The scheme itself may have these four, too; they are called last.

local ends = require "gilua.base.ends"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local minimise = require "gilua.search.minimise"
local pieces = require "gilua.search.pieces"
local select = require "gilua.search.select"
local settings = require "gilua.base.settings"
local stats = require "gilua.base.stats"
local trace = require "gilua.base.trace"

local M = {}

---@class Individual
---@field genome string
---@field birth string "unmodified", "initial", "mutation", "crossover", "scratch", "finalist", …
---@field id? integer which evaluation of the run it was, from 1
---@field parents integer[] their ids
---@field measurement? table
---@field fitness? number
---@field acceptable? boolean may be a parent
---@field parent_ns? number time of the faster of its parents
---@field measured_on? table the case of its measurement

---@class Run what observers and breeding steps are given
---@field scheme table
---@field problem table
---@field rng table
---@field seed integer
---@field draw fun(rng: table): string a random gene
---@field functions table<string, any> of the scheme, as they were given
---@field generation integer the one under way
---@field final? boolean all are complete, and the best meet
---@field population Individual[]
---@field parents? Individual[] of the population; the first one has none
---@field records table[] one a generation
---@field case_draws integer[] random words that each case took (rng:draws)
---@field evaluations integer measurements asked for so far
---@field expected integer about how many there will be
---@field rejected table<string, integer> by cause: a status, or "wrong" answers
---@field case? table of the generation under way
---@field baseline? Individual the unmodified kernel, as it was last measured
---@field tried Individual[] measured in the last generation, and not in its population
---@field accepted? table<string, { tried: integer, valid: integer }> of a scheme that varies by
---  trial, in this generation
---@field before table farm:stats() as it was when the run began
---@field spent? table of a run that has ended: evolve.spent
---@field stopped? { kind: string, message: string } "interrupted" or "error"
---@field cases table[] specs, by number
---@field result? { id?: integer, case: string, spec?: table, unseen: boolean, again?: boolean,
---  baseline: table, best: table, evolved: string, genes: string, from: string, speedup: number,
---  low?: number, high?: number, pairs?: integer } genomes here are without the scheme's base:
---  evolved before it was cleaned, genes after; again: the last comparison was on a case of
---  training, for there is no other; id: of the best, if it is not the unmodified kernel;
---  from: where it was found, in words

--------------------------------------------------------------------------------------------------
-- Breeding steps: each appends children to a list

--- A new individual.
---@param text string its genome
---@param birth string
---@param ... Individual its parents
---@return Individual
function M.child(text, birth, ...)
  local fastest, parents = nil, {}
  for i, parent in ipairs { ... } do
    parents[i] = parent.id
    local ns = parent.measurement and parent.measurement.ns
    if ns and (not fastest or ns < fastest) then fastest = ns end
  end
  return { genome = text, birth = birth, parent_ns = fastest, parents = parents }
end

local child = M.child

-- One that begins where the run does.
local function started(run, text, birth)
  return child(genome.last_settings(genome.join { run.scheme.start, text }), birth)
end

--- One child of each parent by mutation.
function M.mutants(run, parents, children)
  for _, parent in ipairs(parents) do
    local text = run.scheme.mutate(parent.genome, run.draw, run.rng)
    children[#children + 1] = child(text, "mutation", parent)
  end
end

--- One child of each parent by crossover with a parent chosen at random (mutation where crossover
--- finds none).
function M.crossovers(run, parents, children)
  for _, parent in ipairs(parents) do
    local mate = run.rng:pick(parents)
    local text, birth = run.scheme.cross(parent.genome, mate.genome, run.rng), "crossover"
    if not text then
      text, birth = run.scheme.mutate(parent.genome, run.draw, run.rng), "mutation"
    end
    children[#children + 1] = child(text, birth, parent, mate)
  end
end

--- Children from scratch, single genes after the run's start, until the population is full
--- (§3.3.1).
function M.newcomers(run, _, children)
  while #children < run.scheme.population do
    children[#children + 1] = started(run, run.draw(run.rng), "scratch")
  end
end

--------------------------------------------------------------------------------------------------
-- The scheme of the paper

M.paper = {
  population = 300,
  generations = 50,
  init = genome.initial,                                -- (n, draw, rng, run) -> genomes
  mutate = genome.mutate,                               -- (parent, draw, rng) -> child
  cross = genome.cross,                                 -- (first, second, rng) -> child or nil
  breed = { M.mutants, M.crossovers, M.newcomers },     -- each (run, parents, children)
  fitness = fitness.absolute,                           -- (own, baseline) -> number
  acceptable = fitness.acceptable,                      -- (own, baseline, tolerance) -> boolean
  select = select.truncation,                           -- (population, rng) -> parents
  minimise = minimise.knockout,                         -- (genome, score) -> genome
  least = minimise.LEAST, -- a share of the fitness: the winner gains more, and each gene it keeps
  finalists = 5,        -- how many of the generations' best meet in the final comparison
  start = "",           -- a genome that the first population and newcomers begin with: what an
                        -- earlier run found
  start_from = "where the run began", -- whose that is, where a result says from where it is
  kind = "evolution",   -- what a result says it was found by
  base = "",            -- settings (§4.2: the tuned block size) that every kernel is given, the
                        -- unmodified one too; genomes come after them
  observers = {},
}

-- problem, farm, rng and new_case(generation, rng, stage) -> case have no default; stage is nil in
-- a generation, "best" for the case on which the best meet, "claim" for that which the claim of the
-- winner is made on. draw(rng) -> gene replaces genome.source(problem, genes). check: which mutants
-- run on the small case with every check on, "every" one, would-be "parents", or "winners" only;
-- else the farm's own choice. hold(genome) -> genome: what is left of a winner that keeps what is
-- asked of it elsewhere (on other data, say); "" where nothing is. vary(run): what becomes of
-- run.population before it is measured, on the case of its generation (gilua.search.gevo).
-- enough(run) -> why, when no other generation is to begin: a time is over, say, and then the same
-- seed is no longer the same run.
M.OPTIONAL = { "problem", "check", "farm", "rng", "new_case", "draw", "genes", "hold", "vary",
  "enough", "on_start", "on_result", "on_generation", "on_end" }

--------------------------------------------------------------------------------------------------
-- Failure. A refusal (an error value that prints itself, as fail raises) is one sentence for a
-- person; any other error keeps its traceback. What goes on to the caller prints itself too, so
-- that the host shows it as it stands.

local Failure = { __name = "gilua.failure", __tostring = function(f) return f.text end }

local function refuse(message, ...)
  error(setmetatable({ text = message:format(...) }, Failure), 0)
end

local function failure(problem)
  local text, kind = tostring(problem), "error"
  if ends.is_interruption(problem) then
    text, kind = "interrupted", "interrupted"
  elseif type(problem) == "string" then
    text = trace.text(text, 2)
  end
  local status = type(problem) == "table" and problem.status or nil
  return setmetatable({ text = text, kind = kind, status = status }, Failure)
end

local notify = pieces.notify

--------------------------------------------------------------------------------------------------
-- Measuring

local function count(run, measurement)
  run.evaluations = run.evaluations + 1
  local cause
  if measurement.status ~= "ok" then
    cause = measurement.status
  elseif not fitness.right(measurement) then
    cause = "wrong"
  end
  if cause then run.rejected[cause] = (run.rejected[cause] or 0) + 1 end
end

-- A candidate this much slower than the faster of its parents need not be timed with care.
local HOPELESS = 2

-- What is compiled: an individual's genes, after the settings that all have.
local function whole(run, individual)
  return genome.join { run.scheme.base, individual.genome }
end

-- An individual is asked for: its number, what is compiled, and above how many nanoseconds it need
-- not be timed with care.
local function enlist(run, individual)
  run.born = run.born + 1
  individual.id = individual.id or run.born
  run.came[#run.came + 1] = individual
  return whole(run, individual), individual.parent_ns and HOPELESS * individual.parent_ns or false
end

-- Measures individuals; `stream`, where given, has { total =, scored = function(individual): called
-- after each, make = function(): one more individual, or nil }.
local function measure(run, individuals, case, stream)
  local genomes, slow_above = {}, {}
  for i, individual in ipairs(individuals) do
    genomes[i], slow_above[i] = enlist(run, individual)
  end
  local function more()
    local individual = stream.make()
    if not individual then return nil end
    individuals[#individuals + 1] = individual
    return enlist(run, individual)
  end
  local measured, why = run.scheme.farm:evaluate(genomes, case, {
    slow_above = slow_above, more = stream and more,
    on_result = function(i, m, done, total)
      individuals[i].measurement, individuals[i].measured_on = m, case
      count(run, m)
      if stream then stream.scored(individuals[i]) end
      notify(run, "on_result", individuals[i], done, stream and stream.total or total)
    end,
  })
  if not measured then refuse("%s", why) end
  for i, m in ipairs(measured) do
    individuals[i].measurement, individuals[i].measured_on = m, case
  end
end

local function case_name(run, case)
  local info = run.scheme.farm:case_info(case)
  return info and info.name or "the case"
end

local function require_sound(run, baseline, case)
  local m = baseline.measurement
  if m.status ~= "ok" then
    refuse("the unmodified kernel does not run on %s: %s%s", case_name(run, case), m.status,
      m.message and ": " .. m.message or "")
  elseif not fitness.right(m) then
    refuse("the unmodified kernel's own answers on %s are not right: largest error %g, %g %% never "
      .. "set; check the reference and the tolerance", case_name(run, case), m.max_error,
      100 * m.unset)
  end
end

local function score(run, individual, baseline)
  local own, reference = individual.measurement, baseline.measurement
  individual.fitness = run.scheme.fitness(own, reference)
  individual.acceptable = run.scheme.acceptable(own, reference, run.problem.tolerance) and true
    or false
end

--- The checked run of those that may be parents: who fails it has the status of its failure, and
--- may not.
---@param run Run
---@param individuals Individual[]
function M.inspect(run, individuals)
  local suspects, genomes = {}, {}
  for _, individual in ipairs(individuals) do
    if individual.acceptable then
      suspects[#suspects + 1], genomes[#genomes + 1] = individual, whole(run, individual)
    end
  end
  if #genomes == 0 then return end
  for i, verdict in ipairs(run.scheme.farm:check(genomes)) do
    local individual = suspects[i]
    if verdict.status ~= "ok" then
      individual.acceptable = false
      individual.measurement.status = verdict.status
      individual.measurement.message = verdict.message
      run.rejected[verdict.status] = (run.rejected[verdict.status] or 0) + 1
    end
  end
end

local inspect = M.inspect

--- Measures the unmodified kernel and then the individuals on one case, and scores them; not those
--- that were measured there.
---@return Individual baseline
local function compete(run, individuals, case)
  local known = run.baseline and run.baseline.measured_on == case and run.baseline
  local baseline = known or child("", "unmodified")
  local all = known and {} or { baseline }
  for _, individual in ipairs(individuals) do
    if individual.measured_on ~= case then all[#all + 1] = individual end
  end
  if #all > 0 then measure(run, all, case) end
  require_sound(run, baseline, case)
  for _, individual in ipairs(all) do score(run, individual, baseline) end
  run.baseline = baseline
  return baseline
end

--- For `vary`: measures and scores individuals on the case of the generation under way, and has
--- those that may be parents run with every check on, where the farm has not.
---@param run Run
---@param individuals Individual[]
function M.trial(run, individuals)
  compete(run, individuals, run.case)
  if run.scheme.check == "parents" then inspect(run, individuals) end
end

--- For `vary`: measures and scores individuals that are made one by one, on the case of the
--- generation under way, each as soon as the one that was made `ahead` before it is scored: so
--- workers need not wait for each other, and yet the order does not depend on who was faster.
---@param run Run
---@param total integer how many
---@param ahead integer how many are made before the first is scored
---@param make fun(): Individual
---@param scored fun(individual: Individual) called in the order in which they were made
---@return Individual[]
function M.stream(run, total, ahead, make, scored)
  local baseline = compete(run, {}, run.case)
  local list = {}
  for i = 1, math.min(ahead, total) do list[i] = make() end
  local made = #list
  measure(run, list, run.case, { total = total,
    scored = function(individual)
      score(run, individual, baseline)
      scored(individual)
    end,
    make = function()
      made = made + 1
      return made <= total and make() or nil
    end })
  if run.scheme.check == "parents" then inspect(run, list) end
  return list
end

--------------------------------------------------------------------------------------------------
-- Generations

local function share(list, test)
  return stats.count(list, test) / #list
end

local function compiled(individual)
  return individual.measurement.status ~= "compile_error"
end

local function acceptable(individual)
  return individual.acceptable
end

-- May it win? A scheme may let wrong ones be parents; a result is right.
local function sound(individual)
  return individual.acceptable and fitness.right(individual.measurement)
end

local function by_fitness(individual)
  return individual.fitness
end

-- The best that may be a parent and is right, or nil where none is.
local function champion(population)
  local fit = {}
  for _, individual in ipairs(population) do
    if sound(individual) then fit[#fit + 1] = individual end
  end
  return stats.least(fit, by_fitness)
end

local function median_ticks(population)
  local ticks = {}
  for _, individual in ipairs(population) do
    if individual.measurement.status == "ok" then
      ticks[#ticks + 1] = individual.measurement.ticks
    end
  end
  return stats.median(ticks)
end

local function mean_length(population)
  local lengths = {}
  for i, individual in ipairs(population) do lengths[i] = genome.length(individual.genome) end
  return stats.mean(lengths)
end

--- So many genes of a generation are counted at most.
M.FREQUENT = 40

-- In how many genomes each gene is, the most frequent first (§4.5).

local function gene_counts(population)
  local holders, list = {}, {}
  for _, individual in ipairs(population) do
    local here = {}
    for _, gene in ipairs(genome.split(individual.genome)) do
      if not here[gene] then holders[gene] = (holders[gene] or 0) + 1 end
      here[gene] = true
    end
  end
  for _, gene in ipairs(settings.keys(holders)) do
    list[#list + 1] = { gene = gene, count = holders[gene] }
  end
  table.sort(list, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a.gene < b.gene
  end)
  return table.move(list, 1, M.FREQUENT, 1, {})
end

local function record_generation(run, case, baseline)
  local population = run.population
  local function right(individual)
    return fitness.right(individual.measurement)
  end
  local best = champion(population)
  return {
    generation = run.generation, size = #population,
    case = case_name(run, case),
    baseline = baseline.measurement,
    best = best,
    speedup = best and baseline.measurement.ticks / best.measurement.ticks or nil,
    improved = best ~= nil and best.fitness < baseline.fitness,
    median_ticks = median_ticks(population),
    compiled = share(population, compiled),
    right = share(population, right),
    parents = stats.count(population, acceptable),
    evaluations = run.evaluations,
    mean_length = mean_length(population),
    best_length = best and genome.length(best.genome) or nil,
    genes = gene_counts(population),
    accepted = run.accepted,
  }
end

local function first_population(run)
  local genomes, why = run.scheme.init(run.scheme.population, run.draw, run.rng, run)
  if not genomes then refuse("%s", why) end
  local population = {}
  for i, text in ipairs(genomes) do population[i] = started(run, text, "initial") end
  if run.scheme.start ~= "" then population[1] = child(run.scheme.start, "start") end
  return population
end

local function next_population(run)
  local parents = run.scheme.select(run.population, run.rng)
  run.parents = parents
  local children = {}
  for _, step in ipairs(run.scheme.breed) do step(run, parents, children) end
  if #children == 0 then refuse("the breeding steps made no children: nothing left to evolve") end
  return children
end

-- Makes a new case; keeps how many random words it took, to simulate the run without its cases.
local function new_case(run, number, stage)
  local rng = run.rng
  local before = rng.draws and rng:draws()
  local case = run.scheme.new_case(number, rng, stage)
  run.case_draws[number] = before and rng:draws() - before
  run.cases[number] = type(case) == "table" and case or {}
  return case
end

-- Of those that came in this generation, who is no member of its population: `vary` has put others
-- in their places.
local function left_out(run)
  local list, known = {}, {}
  for _, individual in ipairs(run.population) do known[individual] = true end
  for _, individual in ipairs(run.came) do
    if not known[individual] and individual.birth ~= "unmodified" then
      list[#list + 1] = individual
    end
    known[individual] = true
  end
  return list
end

local function generation(run)
  local case = new_case(run, run.generation)
  run.case, run.accepted, run.came = case, nil, {}
  local tried = {}
  if run.scheme.vary then run.scheme.vary(run) end
  for _, individual in ipairs(run.population) do
    tried[individual] = individual.measured_on == case
  end
  local baseline = compete(run, run.population, case)
  if run.scheme.check == "parents" then
    local new = {}
    for _, individual in ipairs(run.population) do
      if not tried[individual] then new[#new + 1] = individual end
    end
    inspect(run, new)
  end
  local record = record_generation(run, case, baseline)
  run.records[#run.records + 1] = record
  run.tried = left_out(run)
  notify(run, "on_generation", record)
end

--------------------------------------------------------------------------------------------------
-- The final comparison

M.AS_IT_IS = "the kernel as it is"

-- Where a mutant was met, in words.
local function met(run, number, id)
  return ("%s, generation %d, mutant %d"):format(run.scheme.kind, number, id)
end

-- The different champions of all generations, the largest gain first, and where the run began: what
-- it finds is no worse.
local function contenders(run)
  local list, seen = {}, { [run.scheme.start] = true }
  for _, record in ipairs(run.records) do
    local best = record.best
    if record.improved and not seen[best.genome] then
      seen[best.genome] = true
      list[#list + 1] = { id = best.id, genome = best.genome, speedup = record.speedup,
        met = met(run, record.generation, best.id), order = #list }
    end
  end
  table.sort(list, function(a, b)
    if a.speedup ~= b.speedup then return a.speedup > b.speedup end
    return a.order < b.order
  end)
  local finalists = {}
  for i = 1, math.min(#list, run.scheme.finalists) do
    finalists[i] = child(list[i].genome, "finalist")
    finalists[i].parents, finalists[i].met = { list[i].id }, list[i].met
  end
  if run.scheme.start ~= "" then
    finalists[#finalists + 1] = child(run.scheme.start, "finalist")
  end
  return finalists
end

-- Is it sound, and better than the unmodified kernel by more than the least that counts?
local function gains(run, individual, baseline)
  local own = individual.fitness
  return sound(individual) and own + run.scheme.least * math.abs(own) < baseline.fitness
end

-- Those that still beat the unmodified kernel on a new case, best first.
local function ranked(run, finalists, baseline)
  local order, winners = {}, {}
  for i, individual in ipairs(finalists) do
    order[individual] = i
    if gains(run, individual, baseline) then
      winners[#winners + 1] = individual
    end
  end
  table.sort(winners, function(a, b)
    if a.fitness ~= b.fitness then return a.fitness < b.fitness end
    return order[a] < order[b]
  end)
  return winners
end

-- By how much two fitnesses may differ and mean nothing: three standard deviations (§4.3) of the
-- difference of two medians, each known to rel_error at about two. At least the scheme's `least`,
-- also on the virtual GPU, which has no noise.
local function noise_of(run, individual)
  local rel_error = individual.measurement.rel_error or 0
  return math.max(3 * math.sqrt(2) * rel_error / 2, run.scheme.least) * math.abs(individual.fitness)
end

-- The winner without the genes it does not need, judged on the case it won on.
local function cleaned(run, winner, baseline, case)
  if not run.scheme.minimise then return winner.genome end
  local known = { [winner.genome] = winner.fitness, [""] = baseline.fitness }
  return run.scheme.minimise(winner.genome, function(text)
    if not known[text] then
      local individual = child(text, "knock-out")
      individual.parents = { winner.id }
      measure(run, { individual }, case)
      score(run, individual, baseline)
      known[text] = sound(individual) and individual.fitness or math.huge
    end
    return known[text]
  end, noise_of(run, winner))
end

local function held(run, text)
  return run.scheme.hold and run.scheme.hold(text) or text
end

-- Is the fitness the time, or in proportion to it?
local function asks_for_time(best, baseline, alone)
  return best.fitness > 0 and math.abs(baseline.fitness / best.fitness - alone) <= 1e-9 * alone
end

-- What the claim of the best is worth: interleaved with the unmodified kernel, on an unseen case.
-- Exact on the virtual GPU. Nil where chance can explain it, where it is less than what counts, and
-- where it was faster alone and is slower in turn. (A fitness may ask for something else than time:
-- then the best may be slower.)
local function confirmed(run, best, baseline, case)
  local c = run.scheme.farm:compare(whole(run, best), run.scheme.base, case)
  if c.status ~= "ok" then return nil end
  local exact, alone = c.low == c.high, baseline.measurement.ticks / best.measurement.ticks
  if asks_for_time(best, baseline, alone) and c.ratio <= 1 + run.scheme.least then return nil end
  return (exact or c.low > 1 or c.high < 1 and alone <= 1) and c or nil
end

-- The same of what became of a finalist.
local function origin(run, finalist, best)
  local first, start = finalist.met or run.scheme.start_from, run.scheme.start
  if best.genome == "" then return M.AS_IT_IS end
  if best.genome == start then return run.scheme.start_from end
  return best.genome == finalist.genome and first or first .. ", cleaned up"
end

local function recordings_of(case)
  return type(case) == "table" and (case.recordings or { case.recording }) or {}
end

-- Has evolution not computed on this case? Of recordings there are a few, which come again.
local function is_unseen(run, case)
  local seen = {}
  for number = 1, run.generation do
    for _, path in ipairs(recordings_of(run.cases[number])) do seen[path] = true end
  end
  for _, path in ipairs(recordings_of(case)) do
    if seen[path] then return false end
  end
  return true
end

local function outcome(run, case, baseline, best, finalist, claim)
  local unseen = is_unseen(run, case)
  return {
    id = best.id, case = case_name(run, case), spec = case, unseen = unseen, again = not unseen,
    evolved = finalist.genome, genes = best.genome, from = origin(run, finalist, best),
    baseline = baseline.measurement, best = best.measurement,
    speedup = claim.ratio, low = claim.low, high = claim.high, pairs = claim.pairs,
  }
end

-- Finalists meet on one new case, the best of them is cleaned there, and its claim is then
-- measured on another, in turn with the unmodified kernel, by what is left of it where the scheme
-- asks for more (`hold`). One that fails there, or whose gain chance can explain, hands over to the
-- next; when none is left, the unmodified kernel is the result.
local function final(run)
  local scheme = run.scheme
  run.final = true
  local finalists = contenders(run)
  local trial = new_case(run, run.generation + 1, "best")
  local unseen = new_case(run, run.generation + 2, "claim")
  local trial_baseline = #finalists > 0 and compete(run, finalists, trial)
  if scheme.check ~= "every" then inspect(run, finalists) end
  for _, winner in ipairs(ranked(run, finalists, trial_baseline)) do
    local best = child(held(run, cleaned(run, winner, trial_baseline, trial)), "best")
    best.parents = { winner.id }
    local baseline = compete(run, { best }, unseen)
    if scheme.check ~= "every" then inspect(run, { best }) end
    local claim = gains(run, best, baseline) and confirmed(run, best, baseline, unseen)
    if claim then return outcome(run, unseen, baseline, best, winner, claim) end
  end
  local baseline = compete(run, {}, unseen)
  return outcome(run, unseen, baseline, baseline, { genome = "" }, { ratio = 1, low = 1, high = 1 })
end

-- The generation whose best gained most on its own case, the first of several.
local function best_record(run)
  local best
  for _, record in ipairs(run.records) do
    if record.improved and not (best and best.speedup >= record.speedup) then best = record end
  end
  return best
end

--- What a run can say that has not come to its end: the best of its generations, on the case of the
--- one that found it. Nil where none is complete.
---@param run Run
---@return table? as run.result
function M.so_far(run)
  local record = best_record(run) or run.records[#run.records]
  if not record then return nil end
  local best = record.improved and record.best.measurement or record.baseline
  local genes = record.improved and record.best.genome or ""
  return {
    id = record.improved and record.best.id or nil,
    case = record.case, unseen = false, evolved = genes, genes = genes,
    from = record.improved and met(run, record.generation, record.best.id) or M.AS_IT_IS,
    baseline = record.baseline, best = best, speedup = record.baseline.ticks / best.ticks,
  }
end

--------------------------------------------------------------------------------------------------
-- What it took

-- Counts less those there were before; what is neither a number nor a table of them stays.
local function less(now, before)
  if type(now) == "number" then return now - (before or 0) end
  if type(now) ~= "table" then return now end
  local list = {}
  for name, value in pairs(now) do list[name] = less(value, before and before[name]) end
  return list
end

--- What a run's farm did for it, as farm:stats(), without what it had done before (a study's
--- tuning, another evolution), and of a run that has ended without what it does later. `baseline`
--- is of all.
---@param run Run
---@return table
function M.spent(run)
  if run.spent then return run.spent end
  local now = run.scheme.farm:stats()
  local spent = less(now, run.before)
  spent.baseline = now.baseline
  return spent
end

--------------------------------------------------------------------------------------------------
-- The run

local function all(run)
  local scheme = run.scheme
  run.population = first_population(run)
  notify(run, "on_start")
  for number = 1, scheme.generations do
    run.enough = number > 1 and scheme.enough and scheme.enough(run) or nil
    if run.enough then break end
    run.generation = number
    if number > 1 then run.population = next_population(run) end
    generation(run)
  end
  run.result = final(run)
end

local CHECKS = { every = true, parents = true, winners = true }

local function at_least(least)
  return ("a whole number from %d on"):format(least),
    function(v) return math.type(v) == "integer" and v >= least end
end

local function kind(name, phrase)
  return phrase or "a " .. name, function(v) return type(v) == name end
end

-- What a scheme's fields are: a description, and a test.
local FIELDS = {
  problem = { kind "table" }, farm = { kind "table" },
  rng = { "a generator, as gi.rng makes them", function(v)
    return type(v) == "table" or type(v) == "userdata"
  end },
  check = { '"every", "parents" or "winners"', function(v) return CHECKS[v] end },
  population = { at_least(1) }, generations = { at_least(1) }, finalists = { at_least(0) },
  least = { "a share, 0 or more", function(v) return type(v) == "number" and v >= 0 end },
  start = { kind("string", "a genome") }, start_from = { kind "string" }, kind = { kind "string" },
  base = { kind("string", "a genome") },
  breed = { kind("table", "a list of functions") },
  observers = { kind("table", "a list of observers") },
  genes = { kind "table" },
  minimise = { "a function, or false", function(v) return not v or type(v) == "function" end },
}
local EVENTS = { "on_start", "on_result", "on_generation", "on_end" }
for _, names in ipairs { EVENTS, { "init", "mutate", "cross", "fitness", "acceptable", "select",
    "new_case", "draw", "hold", "vary", "enough" } } do
  for _, name in ipairs(names) do FIELDS[name] = { kind "function" } end
end

local function misuse(message, ...)
  trace.misuse("gilua.evolve.run: %s", message:format(...))
end

-- An observer's functions are those of the events; whatever else it has is its own.
local function check_observer(i, observer)
  if type(observer) ~= "table" then
    misuse("observer %d must be a table of functions, not %s", i, settings.shown(observer))
  end
  for _, event in ipairs(EVENTS) do
    local f = observer[event]
    if f ~= nil and type(f) ~= "function" then
      misuse("%s of observer %d must be a function, not %s", event, i, settings.shown(f))
    end
  end
end

local function check_fields(scheme)
  for _, name in ipairs { "problem", "farm", "rng", "new_case" } do
    if scheme[name] == nil then misuse("the scheme needs '%s'", name) end
  end
  for _, name in ipairs(settings.keys(FIELDS)) do
    local value, field = scheme[name], FIELDS[name]
    if value ~= nil and not field[2](value) then
      misuse("%s must be %s, not %s", name, field[1], settings.shown(value))
    end
  end
  for i, step in ipairs(scheme.breed) do
    if type(step) ~= "function" then misuse("breed[%d] is no function", i) end
  end
  for i, observer in ipairs(scheme.observers) do check_observer(i, observer) end
end

-- The functions as they were given: what is called are others, which say whose mistake it was.
local function functions_of(scheme)
  local functions = {}
  for name, value in pairs(scheme) do
    if type(value) == "function" then functions[name] = value end
  end
  functions.breed = scheme.breed
  return functions
end

local function new_run(given)
  local scheme = settings.fill("gilua.evolve.run", given, M.paper, M.OPTIONAL)
  check_fields(scheme)
  if scheme.check then scheme.farm:set_check(scheme.check) end
  scheme.check = scheme.farm.check_mode
  local farm = scheme.farm
  local run = {
    before = farm.stats and less(farm:stats()) or {}, -- a copy
    scheme = scheme, problem = scheme.problem, rng = scheme.rng, seed = scheme.rng:seed(),
    generation = 0, records = {}, evaluations = 0, born = 0, rejected = {}, case_draws = {},
    cases = {}, came = {}, tried = {},
    expected = scheme.generations * (scheme.population + 1) + 2 * scheme.finalists
      + scheme.generations,
  }
  run.functions = functions_of(scheme)
  scheme.draw = scheme.draw or genome.source(scheme.problem, scheme.genes)
  pieces.guard(run)
  run.draw = scheme.draw
  return run
end

--- Evolves. Whatever stops it (an error in a hook, the interrupt key), observers' on_end is called
--- with what was found so far, and the error goes on to the caller.
---@param scheme table see the head of this file and `paper`
---@return Run
function M.run(scheme)
  local run = new_run(scheme)
  local ok, why = xpcall(all, failure, run)
  if type(why) == "string" then why = failure(why) end -- no memory: Lua asks no handler then
  if run.scheme.farm.stats then run.spent = M.spent(run) end
  if ok then
    notify(run, "on_end")
    return run
  end
  run.stopped = { kind = why.kind, message = why.text:match("^[^\n]*") }
  run.result = M.so_far(run)
  local told, second = xpcall(notify, failure, run, "on_end")
  if not told and tostring(second) ~= why.text then
    why.text = ("%s\nand then, while keeping the results: %s"):format(why.text, tostring(second))
  end
  error(why, 0)
end

return M
