-- evolve: gilua evolve, and the search within gilua improve. It writes a run's folder, which apply
-- and verify read, and from which evolution can continue.

local crew = require "gilua.farm.crew"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local clocks = require "gilua.command.clocks"
local lfs = require "lfs"
local runs = require "gilua.command.runs"
local shell = require "gilua.base.shell"
local tune = require "gilua.command.tune"
local winner = require "gilua.command.winner"

local M = {}

local function require_fit(problem, o, fits, why)
  if not fits then fail("the winner of %s does not fit %s: %s", o.from, problem.dir, why) end
end

-- The run of --from, with its winner or, of RUN:NUMBER, with that mutant in the winner's place.
local function from_run(text)
  local dir, id = text:match "^(.+):(%d+)$"
  if not dir or lfs.attributes(text, "mode") then return runs.read(text) end
  return runs.of_mutant(runs.read(dir), math.tointeger(tonumber(id)))
end

-- What can be said of a start before anything is run: the genome of --from, that there is something
-- to tune.
local function asked_start(problem, o)
  if o.tune then tune.tunable(problem) end
  if not o.from then return nil end
  local genome = from_run(o.from).genome
  require_fit(problem, o, problem.grammar:apply(genome))
  return genome
end

-- What evolution starts from: a run's winner, or the best settings; "" for the kernel as it is.
-- And whose that is, and the tuning.
local function start_of(problem, farm, o, folder)
  if o.from then
    require_fit(problem, o, gi.below.check(problem, farm, o.start))
    return o.start, o.from
  elseif o.tune then
    local result = tune.tuned(problem, farm, o, folder, "the settings are tuned, evolution begins")
    answer.say(o, "%s", tune.settings_line(result, farm))
    return gi.tuned.genome(result), "tuning", result
  end
  return ""
end

-- What fits into a GPU's caches gains otherwise than what does not.
local function tell_size(problem, o)
  local made = problem.definition.kernel_table
  local own = o.device ~= "emu" and made and made.table.on_gpu
  if own then answer.say(o, "Size: your program's, %s", gi.luadata.text(own)) end
end

--- Runs the data's probes, before anything is evolved on them. Refuses data that notice too little.
---@param problem gilua.problem
---@param o table options: device, jobs, seed, problem, weak-data
---@return gilua.adequacy
function M.judged(problem, o)
  tell_size(problem, o)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs,
    per_round = gi.adequacy.PER_ROUND })
  local case = gi.own.case(problem, o.seed, o.device)
  local data = gi.adequacy.of(problem, farm, case)
  answer.say(o, "Data: %s", gi.adequacy.line(data))
  local own = farm:evaluate({ "" }, case)[1].own
  if own then
    answer.say(o, "Answers: %.3g %% of the recording's are others on this GPU; those that the "
      .. "kernels as they are give here count (gilua check %s)", 100 * own, shell.word(o.problem))
  end
  if gi.adequacy.is_weak(data) and not o["weak-data"] then
    fail("%s, so that wrong kernels would win: gilua check %s says what is not noticed; %s, or "
      .. "evolve all the same with --weak-data", data.empty
      and "a kernel that does nothing has right answers on these data"
      or ("these data score below %.2f"):format(gi.adequacy.LEAST), shell.word(o.problem),
      gi.adequacy.remedy(problem))
  end
  return data
end

local function data_value(data)
  local survivors = {}
  for i, s in ipairs(data.survivors) do
    survivors[i] = gi.json.object { { "line", s.line }, { "what", s.what } }
  end
  return gi.json.object { { "score", data.score }, { "noticed", data.noticed },
    { "probes", data.probes }, { "survivors", gi.json.array(survivors) } }
end

-- For the report: which lines of the winner the small case does not reach, or its data not notice,
-- and what it promises: what the host's code may break, and what is kept.
local function looking_at(data, o, watch)
  return { on_end = function(run)
    local result, problem = run.result, run.problem
    if not result or run.stopped then return end
    local genome, farm = result.best.genome, run.scheme.farm
    local case = gi.own.case(problem, o.seed, o.device)
    gi.adequacy.look_closer(data, problem, farm, case, genome)
    result.untested = gi.coverage.untested(problem, genome)
    result.untold = gi.adequacy.untold(data, problem, genome)
    local seen = gi.promises.seen(problem, farm, genome, watch.data_of and watch.data_of(genome))
    result.promises, result.promised = gi.promises.of(problem, genome, seen)
    local needs = gi.launchneeds.of(problem, farm, case, genome)
    table.move(needs, 1, #needs, #result.promises + 1, result.promises)
    result.data = data_value(data)
  end }
end

local LLVM = { llvm = true, all = true } -- kinds of genomes with genes of LLVM's

-- How many times the least of their work the unmodified kernel and the best take, where the virtual
-- GPU is to be asked for it; nobody who stopped a run waits for that.
local function limited()
  return { on_end = function(run)
    local result, farm = run.result, run.scheme.farm
    if not result or not result.spec or run.stopped or farm.virtual then return end
    result.limits, result.no_limits = gi.limit.of(farm, { "", result.best.genome }, result.spec,
      { result.baseline, result.best })
  end }
end

-- Where genes come from, for what --genome says; nil for those of the source, as evolution does.
local function draw_of(problem, farm, o)
  if o.genome == "source" then return nil end
  local of_llvm = LLVM[o.genome] and gi.genome.llvm_source(gi.below.open_llvm(problem, farm))
  if o.genome == "llvm" then return of_llvm end
  local of_ptx = gi.genome.ptx_source(gi.below.open(problem, farm))
  if o.genome == "ptx" then return of_ptx end
  local of_source = gi.genome.source(problem, gi.own.genes(problem, o.transform))
  if o.genome == "both" then return gi.genome.either(of_source, of_ptx) end
  return gi.genome.either(of_source, gi.genome.either(of_llvm, of_ptx), 2 / 3)
end

-- The page of an evolution, with the tuning before it.
local function page_with(tuning)
  return function(run, parts)
    local e = gi.live.own_page(run, parts)
    e.tuning = tuning and { { title = "Tuning before evolution", result = tuning } }
    return e
  end
end

--------------------------------------------------------------------------------------------------
-- How evolve searches

local SCHEMES = { steady = true, langdon = true, gevo = true }

local function words(text)
  local list = {}
  for word in text:gmatch "[^,%s]+" do list[#list + 1] = word end
  return list
end

local function check_objectives(text)
  local list = words(text)
  for _, name in ipairs(list) do
    if not gi.gevo.objectives[name] then
      return nil, ("must be some of %s, with commas between"):format(
        table.concat(gi.settings.keys(gi.gevo.objectives), ", "))
    end
  end
  return #list > 0, "must name one at least"
end

-- What only GEVO's search knows is not asked of another.
local function require_gevo(o)
  if o.scheme == "gevo" then return end
  for _, name in ipairs { "objectives", "error" } do
    if o[name] then
      ends.with(ends.STATUS.usage, "--%s is for --scheme gevo: add that, or leave it out", name)
    end
  end
end

-- The usual way to search is for genes of the source; what another program proposes, and genes
-- below the source, go with the papers' loop.
local function scheme_of(o)
  local below = o.genome ~= "source"
  if o.scheme == "steady" and (below or o.propose) then
    ends.with(ends.STATUS.usage, "--scheme steady is for genes of the source, without --propose: "
      .. "leave it out")
  end
  return o.scheme or (below or o.propose) and "langdon" or "steady"
end

-- What another program proposes are texts of the source.
local function check_propose(o)
  if o.propose and (o.scheme == "gevo" or o.genome == "ptx") then
    ends.with(ends.STATUS.usage, "--propose is for genes of the source and --scheme langdon")
  end
end

-- GEVO's part of the scheme; nothing of the other.
local function gevo_of(o)
  if o.scheme ~= "gevo" then return nil end
  return gi.gevo.scheme { objectives = words(o.objectives or "time"), error = o.error,
    population = o.population }
end

-- On a GPU as many wrong mutants are timed as the search may want.
local function timed_error(o)
  if o.scheme ~= "gevo" then return nil end
  return o.error or o.objectives and o.objectives:find "error" and 0.01 or nil
end

-- What the genes of a winner do together, for the report.
local function interacting(o)
  return { on_end = function(run)
    local result = run.result
    if not result or run.stopped or gi.genome.length(result.genes) < 2 then return end
    result.interactions = gi.epistasis.of { farm = run.scheme.farm, genome = result.genes,
      case = gi.own.case(run.problem, o.seed, o.device) }
  end }
end

-- Says of a gene whether a winner with it alone would be marked, for what it promises or for the
-- launch that it wants.
local function marks_of(problem)
  return function(gene)
    return #gi.promises.open(problem, gene) > 0 or #gi.launchneeds.unwritten(problem, gene) > 0
  end
end

-- Ends a search where one of two says so; nil where there is none.
local function either(first, second)
  if not (first and second) then return first or second end
  return function(run) return first(run) or second(run) end
end

-- The fields of the search that was asked for, its observers first.
local function with_search(scheme, problem, o)
  local fields = gevo_of(o) or o.scheme == "steady" and gi.own.scheme(problem,
    { population = o.population, transform_share = o.transform,
      is_marked = marks_of(problem) }) or {}
  local first = fields.observers or {}
  if o.scheme == "gevo" then first[2] = interacting(o) end
  local observers = table.move(scheme.observers, 1, #scheme.observers, #first + 1, first)
  for name, value in pairs(fields) do scheme[name] = value end
  scheme.enough = either(o.enough, fields.enough)
  scheme.observers = observers
  return scheme
end

-- How children come to be, where another program proposes some; nil: as ever.
local function breed_of(o, folder)
  if not o.propose then return nil end
  local breed = table.move(gi.evolve.paper.breed, 1, #gi.evolve.paper.breed, 1, {})
  breed[#breed + 1] = gi.propose.step { command = o.propose, keep = folder:path "proposals",
    fresh = o.fresh and not folder.resumed }
  return breed
end

-- The checked run of a mutant of PTX takes longer than all else on the virtual GPU, so that only
-- those who may be parents have one there. On a GPU all have: the farm sees to it.
local function check_of(o, farm)
  return farm.virtual and (o.genome ~= "source" or o.scheme == "gevo") and "parents" or nil
end

local function is_energy_asked(o)
  return o.scheme == "gevo" and o.objectives ~= nil and o.objectives:find "energy" ~= nil
end

-- How wrong a wrong mutant is decides nothing, but where errors are traded for time.
local function errors_of(o)
  return o.scheme == "gevo" and "whole" or "small"
end

--- Evolves into a folder.
---@param problem gilua.problem
---@param o table options of gilua evolve; progress: an observer in place of the usual one; enough:
---  says when the search is to end, after those of the scheme
---@param folder ResultFolder
---@param data gilua.adequacy
---@return Run
---@return table watch of gilua.otherdata.watch
---@return Tuning? tuning
function M.evolved(problem, o, folder, data)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs,
    timed_error = timed_error(o), wrong = errors_of(o), energy = is_energy_asked(o) })
  gi.history.open(folder, problem, farm, o.seed)
  local start, start_from, tuning = start_of(problem, farm, o, folder)
  local report = gi.report.observer(folder, { page = page_with(tuning) })
  if start ~= "" then answer.say(o, "Starts from %s", start) end
  local watch = gi.otherdata.watch(problem, farm)
  local certified = o.certified and gi.certificate.watch(problem, o.jobs, watch.hold)
    or gi.certificate.told(problem, o.jobs)
  local run = gi.evolve.run(with_search({
    problem = problem, farm = farm, fitness = gi.fitness.within(problem.tolerance),
    check = check_of(o, farm),
    population = o.population, generations = o.generations, rng = gi.rng(o.seed), start = start,
    start_from = start_from, least = o.least,
    init = gi.own.first, genes = gi.own.genes(problem, o.transform),
    draw = draw_of(problem, farm, o),
    hold = certified.hold or watch.hold, breed = breed_of(o, folder),
    new_case = function(_, rng, stage)
      return gi.own.drawn(problem, rng:int(1 << 31), o.device, stage)
    end,
    observers = { looking_at(data, o, watch), limited(), watch, certified,
      gi.telling.observer(), report, o.progress or { on_generation = o.fitting },
      gi.progress.new { quiet = o.quiet or o.progress ~= nil, results = report } },
  }, problem, o))
  return run, watch, tuning
end

local function check_transform(text)
  local share = text == "no" and 0 or tonumber(text)
  return share and share >= 0 and share <= 1, "must be from 0 to 1, or no"
end

local INSTRUCTIONS = { ptx = true, llvm = true } -- alone: no gene is of the source

-- The share of genes that are transformations; a steady search draws them by what they bring.
local function transform_of(o)
  if o.scheme == "steady" and o.transform and o.transform ~= "no" then
    ends.with(ends.STATUS.usage, "--transform %s gives --scheme langdon a share; the usual search "
      .. "draws transformations as often as they pay: leave it out, or --transform no", o.transform)
  end
  if o.transform == "no" or INSTRUCTIONS[o.genome] then return 0 end
  return tonumber(o.transform or gi.own.TRANSFORM_SHARE)
end

local SORTS = { source = true, ptx = true, both = true, llvm = true, all = true }

local function check_genome(text)
  return SORTS[text], "must be source, ptx, both, llvm or all"
end

local function genome_of(problem, o)
  if problem.is_ptx and (o.genome or "ptx") ~= "ptx" then
    ends.with(ends.STATUS.usage, "%s has no source, so that its genes are of its PTX: leave out "
      .. "--genome %s", problem.dir, o.genome)
  end
  if LLVM[o.genome] and o.compiler == "nvrtc" then
    ends.with(ends.STATUS.usage, "--genome %s changes what LLVM makes: leave out --compiler nvrtc",
      o.genome)
  end
  if LLVM[o.genome] then gi.options.compiler = "llvm" end
  return o.genome or problem.is_ptx and "ptx" or "source"
end

--- gilua evolve.
function M.command()
  local o = gi.cli {
    doc = "Evolves a faster kernel that gives the same answers.",
    runs = true,
    positional = { { name = "problem", doc = "its folder" } },
    { name = "population", type = "integer", min = 2,
      doc = "kernels in a generation (60; of gevo 256)" },
    { name = "generations", default = 12, min = 1, doc = "generations" },
    { name = "minutes", type = "number", min = 0.1,
      doc = "the time that it may take, by the clock, as long as a generation does not take more" },
    { name = "least", default = 0.01, min = 0.0,
      doc = "least gain of the winner, and of each gene that it keeps, as a share" },
    { name = "from", type = "string",
      doc = "start from the winner of this run (of tune or evolve); RUN:N: from its mutant N" },
    { name = "tune", default = false, doc = "tune first, and start from the best settings" },
    tune.SAMPLE,
    { name = "genome", type = "string", check = check_genome,
      doc = "what genes change: source (ptx without one), ptx or llvm (instructions), both "
        .. "(source and ptx), all" },
    { name = "scheme", type = "string", check = function(text)
      return SCHEMES[text], "must be steady, langdon or gevo"
    end, doc = "how to search: steady, langdon (GECCO 2014) or gevo (TACO 2020) (steady; "
      .. "langdon with --genome or --propose)" },
    { name = "objectives", type = "string", check = check_objectives,
      doc = "with --scheme gevo, comma-separated: time, error, energy, registers … (time)" },
    { name = "error", type = "number", min = 0,
      doc = "with --scheme gevo: the error that is allowed, as a share of the largest answer" },
    { name = "propose", type = "string",
      doc = "a command that proposes kernels, run once a generation (docs/howto/propose.md)" },
    { name = "transform", type = "string", check = check_transform,
      doc = "no: leave out transformations (docs/transformations.md); with --scheme langdon "
        .. "their share of the genes (0.25)" },
    { name = "certified", default = false, doc = "keep only genes with which the winner is "
      .. "certified equal to the kernel over the reals (docs/certificate.md)" },
    { name = "weak-data", default = false,
      doc = "run even if the data catch under 60 % of seeded bugs" },
    boxed.OPTION,
  }
  if o.from and o.tune then
    ends.with(ends.STATUS.usage, "--from and --tune both say what to start from: give one of them")
  end
  require_gevo(o)
  boxed.require(o)
  local clock = o.minutes and clocks.of(o.minutes)
  o.population = o.population or o.scheme == "gevo" and 256 or 60
  local problem = gi.problem(o.problem)
  o.genome = genome_of(problem, o)
  check_propose(o)
  o.scheme = scheme_of(o)
  o.transform = transform_of(o)
  o.start = asked_start(problem, o)
  local _ <close> = crew.keep() -- the same workers judge the data and evolve
  local data = M.judged(problem, o)
  local folder <close> = gi.folder.open(o.out, ("out/%s-%d"):format(problem.name, o.seed))
  if clock then
    local ending = (1 - clocks.SEARCH) * clock.left()
    o.enough, o.fitting = clock.enough(ending), clock.fitting(ending)
  end
  local run, watch = M.evolved(problem, o, folder, data)
  local out = folder.dir
  winner.tell_other_data(o, watch)
  winner.tell_by_some(o, run)
  if run.result.best.genome == "" then return ends.STATUS.no_winner end
  winner.warn_of_untested(o, run.result.untested)
  winner.warn_of_untold(o, run.result.untold)
  winner.warn_of_promises(o, run.result.promises)
  answer.say(o, "Next: gilua verify %s, and gilua apply %s %s", shell.word(out), shell.word(out),
    gi.below.has(run.result.best.genome) and "says where the kernel is"
    or "puts it into the file it came from")
end

return M
