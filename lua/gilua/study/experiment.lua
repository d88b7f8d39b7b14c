-- experiment: a published experiment from the untuned kernel to the validated winner. The steps are
-- those of GECCO 2014, §4.2 to §4.4, in an ordered list that a script may change:
--
--   floor      the least time that writing the answers takes
--   tune       every legal launch, before evolution (§4.2)
--   evolve     one run a seed, and a random search with as many evaluations (RN/14/02 §10.1)
--   clean      removes genes that bring nothing (§4.3)
--   retune     the launch again, for the evolved kernel
--   compiler   options of the compiler, last (§4.3)
--   choose     the best right genome of all steps so far (gilua.best)
--   validate   against the unmodified kernel, on cases that no step has seen (§4.4)
--   pictures   the winner's output, if the study draws it
--
-- Each step is a function of the study, a table that ends as experiment.json and report.html
-- (fields: docs/report.md); fields that begin with an underscore stay in memory.

local apart = require "gilua.base.apart"
local attempt = require "gilua.base.attempt"
local best = require "gilua.study.best"
local ends = require "gilua.base.ends"
local gi = require "gilua"
local printable = require "gilua.base.printable"
local fail = require "gilua.base.fail"
local core = require "gilua.core"
local genome = require "gilua.search.genome"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local lfs = require "lfs"
local progress = require "gilua.report.progress"
local settings = require "gilua.base.settings"
local shell = require "gilua.base.shell"
local trace = require "gilua.base.trace"

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
    on_result = function(done, total, row)
      gi.tune.tell(done, total, row)
      M.tell(study, "%s: %d of %d settings are measured", title, done, total)
    end,
  }
  study.tuning = study.tuning or {}
  table.insert(study.tuning, { title = title, result = result })
  local world = gi.tuningcache.world(study._problem, study._farm, { parameters = result.parameters,
    values = result.values, case = study.fixed_case })
  gi.tuned.write_settings(result, world, study._folder, (title:gsub(" ", "-")))
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
  local found = tuned(study, "tuning before evolution", study.tune, "")
  if found then best.offer(study, found.genome, "tuning before evolution") end
  study.base = study.base or found and found.genome or ""
end

local function under_way(run, what)
  return ("%s, seed %d: %d of %d generations are complete"):format(what, run.seed, #run.records,
    run.scheme.generations)
end

-- The observers of the first run, whose page is the experiment's.
local function observers(study)
  local function page(run, parts)
    study.search, study.evolution = parts.search, parts.evolution
    local e = M.kept(study)
    e.winner = parts.winner
    return e, { on = true, text = under_way(run, "evolution") }
  end
  study._report = gi.report.observer(study._folder, { page = page })
  return { study._report, gi.progress.new { quiet = study.options.quiet } }
end

-- The observers of another run; the page shows only how far that is.
local function passing(study, what)
  local past = gi.history.observer(study._folder, what)
  return { past, { on_generation = function(run)
    M.tell(study, "%s", under_way(run, what))
  end } }, past
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

local function describe(run)
  local r = run.result
  return { seed = run.seed, speedup = r.speedup, low = r.low, high = r.high, genome = r.genes,
           evaluations = run.evaluations }
end

-- One run of a random search with as many evaluations; quiet, it has no winner to show.
local function control(study, seed)
  local seen, past = passing(study, "random search")
  table.insert(seen, gi.progress.new { quiet = true })
  local run = gi.evolve.run(gi.control.scheme(scheme_of(study, seed, seen)))
  say(study, "random search of %s evaluations, seed %d: %.3fx",
    progress.grouped(run.evaluations), seed, run.result.speedup)
  return run, past
end

-- One run of evolution; the first has the folder's files.
local function evolution(study, i, seed, sketch)
  local seen, past
  if i == 1 then
    seen = observers(study)
    past = study._report.past
  else
    seen, past = passing(study, "evolution")
    table.insert(seen, gi.progress.new { quiet = study.options.quiet })
  end
  table.insert(seen, sketch)
  return gi.evolve.run(scheme_of(study, seed, seen)), past
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

local function keep_first(study, run)
  study._first = run
  study.evolution = {
    seed = run.seed, records = gi.census.rows(run), population = run.scheme.population,
    generations = run.scheme.generations, evaluations = run.evaluations, rejected = run.rejected,
    duplicates = gi.evolve.spent(run).duplicates, parents = run.parents and #run.parents,
    popular = count_settings(study, run),
  }
end

-- What a run found, and whether it goes on to the clean-up: the fastest on the fixed case does, and
-- be it a random search's.
local function keep_run(study, run, past)
  local found = best.offer(study, genome.join { study.base, run.result.genes },
    ("%s, seed %d"):format(run.result.from, run.seed))
  local before = study._best
  if before and not (found and found.right and found.speedup > before.speedup) then return end
  study._best = { run = run, past = past, speedup = found and found.speedup or 1,
    from = found and found.from or gi.evolve.AS_IT_IS }
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

-- The ancestors of what goes on.
local function keep_lineage(study)
  local line = gi.live.lineage(study._best.past, study._best.run)
  study.search = study.search or {}
  study.search.lineage = line
  if line then line.of = ("the best (%s)"):format(study._best.from) end
end

function M.evolve(study)
  local o = study.options
  local evolved, random = {}, {}
  local seen, sketched = sketch(study)
  study.runs = {}
  for i = 1, o.runs do
    local seed = o.seed + i - 1
    local run, past = evolution(study, i, seed, seen)
    local row = describe(run)
    evolved[i] = row.speedup
    if i == 1 then keep_first(study, run) end
    keep_run(study, run, past)
    if o.control then
      local chance, its_past = control(study, seed)
      keep_run(study, chance, its_past)
      row.control, random[i] = chance.result.speedup, chance.result.speedup
      if i == 1 then
        study.control = { records = gi.census.rows(chance), speedup = chance.result.speedup }
      end
    end
    study.runs[i] = row
  end
  sketched()
  say_settings(study)
  keep_lineage(study)
  say(study, "the best goes on: %s", study._best.from)
  if o.runs > 1 and o.control then study.summary = gi.repeats.summary(evolved, random) end
end

function M.clean(study)
  local evolved = study._best.run.result.evolved
  study.evolved = evolved
  if evolved == "" then
    say(study, "no search found anything that beats the kernel: there is nothing to clean")
    study._genes = ""
    return
  end
  local options = {
    problem = study._problem, farm = study._farm, case = study.fixed_case, base = study.base,
    genome = evolved,
    on_step = function() M.tell(study, "clean-up: genes are knocked out one by one") end,
  }
  for key, value in pairs(study.clean) do options[key] = value end
  study.cleanup = gi.minimise.clean(options)
  study._genes = study.cleanup.genome
  say(study, "clean-up: %d genes, %d of them needed: %s", genome.length(evolved),
    genome.length(study._genes), study._genes)
  best.offer(study, genome.join { study.base, study._genes }, study._best.from .. ", cleaned up")
end

function M.retune(study)
  local found = tuned(study, "tuning after evolution", study.retune or study.tune,
    genome.join { study.base, study._genes })
  study._tuned = best.joined(study, study.base, study._genes, found and found.genome or "")
  best.offer(study, study._tuned, study._best.from .. ", cleaned up and tuned again")
end

-- The default stays unless another option is measurably better.
function M.compiler(study)
  local found = tuned(study, "compiler options", study.compiler, study._tuned)
  if not found then return end
  local candidate = best.joined(study, study._tuned, found.genome)
  local claim = study._farm:compare(candidate, study._tuned, study.fixed_case)
  if claim.status == "ok" and claim.low > 1 then
    best.offer(study, candidate, study._best.from .. ", with options of the compiler")
  end
end

function M.choose(study)
  local found = best.choose(study)
  say(study, "best of all that was found: %s", found and found.from or gi.evolve.AS_IT_IS)
end

local function validated(study, text)
  local training = study._farm:compare(text, "", study.fixed_case)
  return gi.validate.run {
    problem = study._problem, farm = study._farm, cases = study.unseen, genome = text,
    training = training.ratio,
    on_row = function(row)
      gi.events.tell("case", { { "case", row.case }, { "right", row.right },
        { "answers", row.answers }, { "wrong", row.wrong }, { "max_error", row.max_error },
        { "ratio", row.ratio }, { "low", row.low }, { "high", row.high } })
      M.tell(study, "validation: %s is done", row.case)
      say(study, "%-34s %s, largest error %.3g, %s of %s answers wrong", row.case, interval(row),
        row.max_error, progress.grouped(row.wrong), progress.grouped(row.answers))
    end,
  }
end

-- What is wrong here is not the best that is right: the next one is.
function M.validate(study)
  local v = validated(study, study._final or "")
  study.validation = v
  while not v.all_right and best.refuse(study, ("%s of %s unseen answers are wrong"):format(
      progress.grouped(v.wrong), progress.grouped(v.answers))) do
    say(study, "which is not right; the next best: %s", study.winner.from)
    v = validated(study, study._final)
    study.validation = v
  end
  best.validated(study)
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

M.steps = { "floor", "tune", "evolve", "clean", "retune", "compiler", "choose", "validate",
  "pictures" }

--------------------------------------------------------------------------------------------------
-- What is written

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

local function stays(value)
  return type(value) == "function" or type(value) == "userdata"
end

-- Without what stays in memory: functions, handles, fields that begin with an underscore. A place
-- in a list is not left out.
local function plain(value)
  if stays(value) then return json.null end
  if type(value) ~= "table" then return value end
  local copy = {}
  for k, v in pairs(value) do
    if type(k) ~= "string" or not (k:find "^_" or stays(v)) then copy[k] = plain(v) end
  end
  return copy
end

local KEPT = { "title", "paper", "folder", "doc", "device", "emulated", "seed", "command",
  "settings", "paper_row", "tuning", "evolution", "search", "pareto", "control", "runs", "summary",
  "evolved", "cleanup", "offers", "choice", "winner", "validation", "pictures",
  "floor", "stages", "provenance" }

--- What is kept of a study by now.
---@param study Study
---@return table
function M.kept(study)
  local kept = {}
  for _, key in ipairs(KEPT) do kept[key] = plain(study[key]) end
  return kept
end

-- Of a study that is begun again: how many of its steps the folder tells of.
local function stages_known(folder)
  local path = folder.dir .. "/experiment.json"
  if not folder.resumed or not lfs.attributes(path) then return 0 end
  local told = json.decode(gi.textfile.read(path, "the experiment"))
  return type(told) == "table" and type(told.stages) == "table" and #told.stages or 0
end

-- What is there stays while it tells of more steps.
local function write(study, state)
  if #study.stages < study._known then return end
  local folder, kept = study._folder, M.kept(study)
  apart {
    function() folder:write("experiment.json", json.encode(kept) .. "\n") end,
    function() gi.live.page(folder):write(kept, state) end,
    function() best.write(study) end,
  }
end

-- If a file (a plot, say) cannot be written before the end, it says so once and the study goes on.
local function write_so_far(study, writes, ...)
  local written, why = attempt(writes, study, ...)
  if written or study._told then return end
  study._told = true
  io.stderr:write(printable.text(("gilua: %s; the study goes on\n"):format(
    tostring(why):match "^[^\n]*")))
end

local function write_page(study, text)
  gi.live.page(study._folder):write(M.kept(study), { on = true, text = text })
end

--- Writes how far a step is on the page, where that is due.
---@param study Study
---@param format string
function M.tell(study, format, ...)
  if #study.stages < study._known or not gi.live.page(study._folder):is_due() then return end
  write_so_far(study, write_page, format:format(...))
end

-- What came of the study, to a program.
local function tell_result(study)
  local w = study.winner or {}
  gi.events.tell("winner", { { "genome", w.genome }, { "from", w.from }, { "speedup", w.speedup },
    { "case", w.case }, { "case_unseen", w.unseen }, { "right", w.right },
    { "folder", study._folder.dir }, { "files", json.array(study._folder:listing()) } })
end

local function conclude(study)
  local v, w = study.validation, study.winner
  if not v then return end
  say(study, "")
  say(study, "The kernel as it is: %s; the winner: %s, found by %s.", cost(study, {
    ticks = w.default_ticks, ns = w.default_ns }), cost(study, w), w.from)
  local gain = v.ratio and ("%s (median; %.3f to %.3f)"):format(
    progress.faster(v.ratio.median), v.ratio.least, v.ratio.greatest) or "right on none of them"
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
  local steps = study.steps or M.steps
  for i, name in ipairs(steps) do
    local start = host.seconds()
    local step = type(name) == "function" and name or M[name]
    step(study)
    local stage = { name = step == name and "step" or name, seconds = host.seconds() - start }
    study.stages[#study.stages + 1] = stage
    gi.events.tell("step", { { "step", stage.name }, { "done", i }, { "steps", #steps },
      { "seconds", stage.seconds } })
    -- what is found by now survives whatever ends the program
    write_so_far(study, write, { on = true, text = ("%d of %d steps are done"):format(i, #steps) })
  end
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
  gi.history.open(study._folder, study._problem, study._farm, study.seed)
  study._known = stages_known(study._folder)
  provenance(study)
  say(study, "%s on %s, seed %d", study.title, study.device, study.seed)
  local ok, why = xpcall(run_steps, trace.handler, study)
  local written, unwritten = pcall(write, study, {
    text = ("%d steps were done"):format(#study.stages),
    stopped = not ok and (ends.is_interruption(why) and "interrupted"
      or tostring(why):match "^[^\n]*") or nil })
  tell_result(study)
  if not ok and written then
    say(study, "Stopped when %d of %d steps were done. Results so far are in %s: %s", #study.stages,
      #(study.steps or M.steps), study._folder.dir, table.concat(study._folder:listing(), " "))
  end
  if not ok then
    gi.events.ended(type(why) == "table" and why.status or 1, tostring(why))
    error(why, 0)
  end
  if not written then error(unwritten, 0) end
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
