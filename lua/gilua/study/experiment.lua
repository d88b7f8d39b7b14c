-- experiment: a published experiment from the untuned kernel to the validated winner. The steps are
-- those of GECCO 2014, §4.2 to §4.4, in an ordered list that a script may change:
--
--   floor      what writing the answers takes at least
--   tune       every legal launch, before evolution (§4.2)
--   evolve     one run a seed, and a random search of as many evaluations (RN/14/02 §10.1)
--   clean      genes that bring nothing go (§4.3)
--   retune     the launch again, for the kernel that was found
--   compiler   options of the compiler, last (§4.3)
--   validate   against the kernel as it was, on cases that nothing before has seen (§4.4)
--   pictures   what the winner computes, where the study draws it
--
-- Each step is a function of the study, a table that ends as experiment.json and report.html
-- (docs/report.md has its fields); fields that begin with an underscore stay in memory.

local gi = require "gilua"
local printable = require "gilua.base.printable"
local fail = require "gilua.base.fail"
local core = require "gilua.core"
local genome = require "gilua.search.genome"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local progress = require "gilua.report.progress"
local settings = require "gilua.base.settings"
local shell = require "gilua.base.shell"

local M = {}

---@class Study
---@field title string
---@field problem string its folder
---@field options table of the command line: seed device jobs out quiet runs …; usual: the folder
---  of results where out is none
---@field new_case fun(generation: integer, rng: table): table training cases
---@field fixed_case table of tuning and cleaning (§4.3: "the same random image is used")
---@field unseen table[] cases of the validation
---@field base? string settings evolution starts from, in place of those tuning finds
---@field tune? table parameters tuned before evolution (gilua.tune)
---@field retune? table parameters tuned after it (the same)
---@field clean? table options of gilua.minimise.clean
---@field compiler? table parameters tuned last
---@field scheme? table fields of gilua.evolve's scheme
---@field configuration? string[] parameters whose values among the last parents are counted
---@field error? { name: string, of: fun(m: table): number } what error is, beside time (mean error)
---@field draw? fun(farm: table, genome: string): table[] list of { title, text, images = { { name,
---  caption, png, pgm, maxval }, … } }: png is an array for NAME.png, pgm one for NAME.pgm

local FIELDS = {
  title = "", paper = "", doc = "", tune = {}, compiler = {}, scheme = {}, settings = {},
  paper_row = {}, clean = {}, retune = false, configuration = {}, error = false, draw = false,
}
local OPTIONAL = { "problem", "options", "new_case", "fixed_case", "unseen", "base", "steps",
  "restrict" }

--------------------------------------------------------------------------------------------------
-- Talking

local function say(study, text, ...)
  if not study.options.quiet then
    printable.print(select("#", ...) > 0 and text:format(...) or text)
    io.stdout:flush()
  end
end

local function cost(study, row)
  if study.emulated then return progress.grouped(row.ticks) .. " ticks" end
  return ("%.2f us"):format(row.ns / 1e3)
end

local function interval(row)
  if not row.ratio then return row.status == "ok" and "WRONG" or row.status end
  if row.low == row.high then return ("%.3fx"):format(row.ratio) end
  return ("%.3fx (95 %% interval %.3f to %.3f)"):format(row.ratio, row.low, row.high)
end

--------------------------------------------------------------------------------------------------
-- Steps

function M.floor(study)
  local farm = study._farm
  local floor = farm:floor(study.fixed_case)
  local default = farm:evaluate({ "" }, study.fixed_case)[1]
  study.floor = { ns = floor.ns, bytes = floor.bytes, default_ns = default.ns,
                  default_ratio = default.ns / floor.ns }
  say(study, "write floor: %.2f us for %s bytes; the kernel as it is takes %.1f times that",
    floor.ns / 1e3, progress.grouped(floor.bytes), study.floor.default_ratio)
end

-- A tuning of parameters on top of a genome; nothing where there are none.
local function tuned(study, title, parameters, base)
  if #parameters == 0 then return nil end
  local result = gi.tune.run {
    problem = study._problem, farm = study._farm, case = study.fixed_case, base = base,
    parameters = parameters, restrict = study.restrict,
  }
  study.tuning = study.tuning or {}
  table.insert(study.tuning, { title = title, result = result })
  study._folder:write(title:gsub(" ", "-") .. ".t4.json", gi.t4.encode(result))
  for _, row in ipairs(result.rows) do row.samples = nil end -- experiment.json goes without them
  if not result.best then
    fail("%s: no setting gives right answers: %s", title,
      result.rows[1] and result.rows[1].message or "there is none")
  end
  say(study, "%s: %d settings, best %s: %s%s", title, #result.rows, result.best.genome,
    cost(study, result.best), result.default and
    (", default " .. cost(study, result.default)) or "")
  return result.best
end

function M.tune(study)
  local best = tuned(study, "tuning before evolution", study.tune, "")
  study.base = study.base or best and best.genome or ""
end

local function observers(study)
  return { gi.report.observer(study._folder), gi.progress.new { quiet = study.options.quiet } }
end

local function scheme_of(study, seed, seen)
  local scheme = {
    problem = study._problem, farm = study._farm, new_case = study.new_case, base = study.base,
    population = study.options.population, generations = study.options.generations,
    rng = gi.rng(seed), minimise = false, observers = seen,
  }
  for key, value in pairs(study.scheme) do scheme[key] = value end
  return scheme
end

-- A record as experiment.json has it.
local function row_of(record)
  local best = record.best
  return {
    generation = record.generation, case = record.case, baseline_ticks = record.baseline.ticks,
    best_ticks = best and best.measurement.ticks, speedup = record.speedup,
    median_ticks = record.median_ticks, compiled = record.compiled, right = record.right,
    parents = record.parents, evaluations = record.evaluations, mean_length = record.mean_length,
    best_length = record.best_length, best_genome = best and best.genome, genes = record.genes,
  }
end

local function rows_of(run)
  local rows = {}
  for i, record in ipairs(run.records) do rows[i] = row_of(record) end
  return rows
end

local function describe(run)
  local r = run.result
  return { seed = run.seed, speedup = r.speedup, low = r.low, high = r.high, genome = r.genes,
           evaluations = run.evaluations }
end

-- One run of a random search with as many evaluations; quiet, it has no winner to show.
local function control(study, seed)
  local scheme = gi.control.scheme(scheme_of(study, seed, {}))
  local run = gi.evolve.run(scheme)
  say(study, "random search of %s evaluations, seed %d: %.3fx",
    progress.grouped(run.evaluations), seed, run.result.speedup)
  return run
end

-- Which settings the parents of the last generation had (RN/14/02, Table 5), as far as asked.
local function count_settings(study, run)
  if #study.configuration == 0 or not run.parents then return nil end
  local genomes = {}
  for i, parent in ipairs(run.parents) do
    genomes[i] = genome.join { study.base, parent.genome }
  end
  return gi.configured.popular(study._problem, study.configuration, genomes)
end

local function say_settings(study)
  for _, p in ipairs(study.evolution.popular or {}) do
    local values = {}
    for i, v in ipairs(p.values) do values[i] = ("%s %d"):format(v.value, v.count) end
    say(study, "  last parents: %-22s %s", p.name, table.concat(values, ", "))
  end
end

local function keep_best(study, run, evaluations_before)
  if study._best and study._best.result.speedup >= run.result.speedup then return end
  study._best = run
  study.evolution = {
    records = rows_of(run), population = run.scheme.population, evaluations = run.evaluations,
    rejected = run.rejected, duplicates = evaluations_before,
    parents = run.parents and #run.parents, popular = count_settings(study, run),
  }
end

-- Everything that evolution sees, as error against time.
local function sketch(study)
  local e = study.error
  local seen = gi.pareto.sketch(e and e.of or nil)
  return seen, function()
    study.pareto = seen.result()
    study.pareto.error = e and e.name or nil
  end
end

function M.evolve(study)
  local o = study.options
  local evolved, random = {}, {}
  local seen, sketched = sketch(study)
  study.runs = {}
  for i = 1, o.runs do
    local seed = o.seed + i - 1
    local watching = i == 1 and observers(study) or { gi.progress.new { quiet = o.quiet } }
    watching[#watching + 1] = seen
    local run = gi.evolve.run(scheme_of(study, seed, watching))
    local row = describe(run)
    evolved[i] = row.speedup
    keep_best(study, run, study._farm:stats().duplicates)
    if o.control then
      local chance = control(study, seed)
      row.control, random[i] = chance.result.speedup, chance.result.speedup
      if i == 1 then
        study.control = { records = rows_of(chance), speedup = chance.result.speedup }
      end
    end
    study.runs[i] = row
  end
  sketched()
  say_settings(study)
  if o.runs > 1 and o.control then study.summary = gi.repeats.summary(evolved, random) end
end

function M.clean(study)
  local evolved = study._best.result.evolved
  study.evolved = evolved
  if evolved == "" then
    say(study, "evolution found nothing that beats the kernel: there is nothing to clean")
    study._genes = ""
    return
  end
  local options = {
    problem = study._problem, farm = study._farm, case = study.fixed_case, base = study.base,
    genome = evolved,
  }
  for key, value in pairs(study.clean) do options[key] = value end
  study.cleanup = gi.minimise.clean(options)
  study._genes = study.cleanup.genome
  say(study, "clean-up: %d genes, %d of them needed: %s", genome.length(evolved),
    genome.length(study._genes), study._genes)
end

-- Genomes one after the other; settings that are overridden, or are the default, are left out.
local function joined(study, ...)
  local default, kept = {}, {}
  for _, parameter in ipairs(study._problem.parameters) do
    if not parameter.switch then default[parameter.name] = tostring(parameter.default) end
  end
  for _, gene in ipairs(genome.split(genome.last_settings(genome.join { ... }))) do
    local name, value = gene:match("^([%a_][%w_]*)=(.*)$")
    if not name or default[name] ~= value then kept[#kept + 1] = gene end
  end
  return genome.join(kept)
end

function M.retune(study)
  local best = tuned(study, "tuning after evolution", study.retune or study.tune,
    genome.join { study.base, study._genes })
  study._final = joined(study, study.base, study._genes, best and best.genome or "")
end

-- The default stays unless another option is measurably better.
function M.compiler(study)
  local best = tuned(study, "compiler options", study.compiler, study._final)
  if not best then return end
  local candidate = joined(study, study._final, best.genome)
  local claim = study._farm:compare(candidate, study._final, study.fixed_case)
  if claim.status == "ok" and claim.low > 1 then study._final = candidate end
end

function M.validate(study)
  local farm, winner = study._farm, study._final
  local training = farm:compare(winner, "", study.fixed_case)
  study.validation = gi.validate.run {
    problem = study._problem, farm = farm, cases = study.unseen, genome = winner,
    training = training.ratio,
    on_row = function(row)
      say(study, "%-34s %s, largest error %.3g, %s of %s answers wrong", row.case, interval(row),
        row.max_error, progress.grouped(row.wrong), progress.grouped(row.answers))
    end,
  }
end

local function read_file(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- One picture, into the folder of results and onto the page.
local function keep_picture(study, image)
  local folder = study._folder
  local png, pgm = folder:path(image.name .. ".png"), folder:path(image.name .. ".pgm")
  local written, why = gi.image.write(png, image.png)
  if written then written, why = gi.image.write(pgm, image.pgm, { maxval = image.maxval }) end
  if not written then fail("cannot write the picture %s: %s", image.name, why) end
  local height, width = image.png:shape()
  return { name = image.name, caption = image.caption, width = width, height = height,
           png = gi.base64.encode(read_file(png)) }
end

function M.pictures(study)
  if not study.draw then return end
  study.pictures = study.draw(study._farm, study._final)
  for _, group in ipairs(study.pictures) do
    for i, image in ipairs(group.images or {}) do
      group.images[i] = keep_picture(study, image)
    end
    say(study, "%s: %s", group.title, group.text)
  end
end

M.steps = { "floor", "tune", "evolve", "clean", "retune", "compiler", "validate", "pictures" }

--------------------------------------------------------------------------------------------------
-- What is written

local function describe_winner(study)
  local problem, farm = study._problem, study._farm
  local measured = farm:evaluate({ study._final, "" }, study.fixed_case)
  local source = assert(problem.grammar:apply(study._final, true))
  local m = measured[1]
  study.winner = {
    genome = study._final, genes = gi.explain.genome(problem, study._final), ticks = m.ticks,
    ns = m.ns, registers = m.registers, default_ns = measured[2].ns,
    default_ticks = measured[2].ticks,
    diff = gi.report.diff(problem.source, source, problem.source_path:match("[^/]*$")),
  }
  if study.floor then study.floor.ratio = m.ns / study.floor.ns end
end

-- The commit of a checkout; nil elsewhere.
local function commit()
  local home = shell.quoted(gi.home)
  local pipe <close> = io.popen(("test -e %s/.git && git -C %s describe --always --dirty "
    .. "--abbrev=12 2>/dev/null"):format(home, home))
  return pipe and pipe:read "l"
end

local function command_of(o)
  local words = { "gilua", "--device " .. (o.device or "emu"), "--seed " .. o.seed, arg[0] }
  return table.concat(table.move(arg, 1, #arg, #words + 1, words), " ")
end

local function provenance(study)
  local versions = host.versions()
  local d = study._farm.devices[1]
  local rows = {
    { name = "gilua", value = versions.gilua }, { name = "Lua", value = versions.lua },
    { name = "NVRTC", value = versions.nvrtc }, { name = "device", value = study.device },
    { name = "target", value = d.target }, { name = "seed", value = study.options.seed },
    { name = "problem", value = study.problem }, { name = "commit", value = commit() },
  }
  local driver = core.system.driver()
  if driver.loaded then rows[#rows + 1] = { name = "CUDA driver", value = driver.version } end
  study.provenance = rows
end

-- Without what stays in memory: functions, handles, fields that begin with an underscore.
local function plain(value)
  if type(value) ~= "table" then
    return (type(value) == "function" or type(value) == "userdata") and json.null or value
  end
  local copy = {}
  for k, v in pairs(value) do
    if type(k) ~= "string" or k:sub(1, 1) ~= "_" then copy[k] = plain(v) end
  end
  return copy
end

local KEPT = { "title", "paper", "folder", "doc", "device", "emulated", "seed", "command",
  "settings",
  "paper_row", "tuning", "evolution", "pareto", "control", "runs", "summary", "evolved", "cleanup",
  "winner", "validation", "pictures", "floor", "stages", "provenance" }

local function write(study)
  local folder, kept = study._folder, {}
  for _, key in ipairs(KEPT) do kept[key] = plain(study[key]) end
  folder:write("experiment.json", json.encode(kept) .. "\n")
  folder:write("report.html", gi.html.page(kept))
  if study._final then gi.report.write_best(study._problem, study._final, folder) end
end

local function conclude(study)
  local v, w = study.validation, study.winner
  if not v then return end
  say(study, "")
  say(study, "The kernel as it is: %s; the winner: %s.", cost(study, { ticks = w.default_ticks,
    ns = w.default_ns }), cost(study, w))
  local gain = v.ratio and ("%.3f times faster (median; %.3f to %.3f)"):format(v.ratio.median,
    v.ratio.least, v.ratio.greatest) or "right on none of them"
  say(study, "On %d unseen cases, %s answers: %s, largest error %.3g, %s wrong.", #v.rows,
    progress.grouped(v.answers), gain, v.max_error, progress.grouped(v.wrong))
  for _, row in ipairs(study.paper_row) do
    say(study, "  %-34s %18s   paper: %s", row.name, row.ours or "-", row.paper)
  end
  say(study, "Results are in %s: %s", study._folder.dir, table.concat(study._folder:listing(), " "))
end

--------------------------------------------------------------------------------------------------
-- The run

local function open(study)
  for _, name in ipairs { "problem", "options", "new_case", "fixed_case", "unseen" } do
    if study[name] == nil then
      error("gilua.experiment.run: the study needs '" .. name .. "'", 3)
    end
  end
  local o = study.options
  study._problem = gi.problem(study.problem)
  study._farm = gi.farm(study._problem, { device = o.device, jobs = o.jobs })
  study.device, study.emulated = study._farm:description(), study._farm.device == "emu"
  study.seed, study.stages, study.command = o.seed, {}, command_of(o)
  study.folder = study._problem.dir
  study._folder = gi.folder.open(o.out, o.usual or ("out/experiment-%d"):format(o.seed))
end

local function run_steps(study)
  for _, name in ipairs(study.steps or M.steps) do
    local start = host.seconds()
    local step = type(name) == "function" and name or M[name]
    step(study)
    study.stages[#study.stages + 1] = { name = step == name and "step" or name,
                                        seconds = host.seconds() - start }
    write(study) -- what is found by now survives whatever ends the program
  end
  describe_winner(study)
  for _, row in ipairs(study.paper_row) do
    if type(row.ours) == "function" then row.ours = row.ours(study) end
  end
end

--- Runs a study from the first step to the report. What stops it on the way (an error, the
--- interrupt key) goes on to the caller; the steps that were done are kept.
---@param given Study
---@return Study
function M.run(given)
  local study = settings.fill("gilua.experiment.run", given, FIELDS, OPTIONAL)
  open(study)
  local _ <close> = study._folder -- also where a step fails
  local _ <close> = study._farm
  provenance(study)
  say(study, "%s on %s, seed %d", study.title, study.device, study.seed)
  local ok, why = xpcall(run_steps, function(e)
    return type(e) == "string" and debug.traceback(e, 2) or e
  end, study)
  write(study)
  if not ok then error(why, 0) end
  conclude(study)
  return study
end

--- Options that every experiment of this kind has; a script adds its own.
M.options = {
  { name = "population", default = 300, min = 2, doc = "kernels in a generation" },
  { name = "generations", default = 50, min = 1, doc = "generations" },
  { name = "runs", default = 1, min = 1, doc = "runs, with seeds one after another" },
  { name = "side", type = "integer", min = 20, doc = "smaller images: cubes of this side" },
  { name = "no-control", default = false, doc = "leave out the random search" },
}

return M
