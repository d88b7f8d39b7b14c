-- improve: gilua improve: from a file to a verdict in one command. It makes the problem (new),
-- checks it, tunes it if it has few settings, evolves, verifies and prints a verdict. Each step is
-- that of the command with its name. They share one time limit and one line of progress.

local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local clocks = require "gilua.command.clocks"
local crew = require "gilua.farm.crew"
local ends = require "gilua.base.ends"
local evolve = require "gilua.command.evolve"
local events = require "gilua.base.events"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local lfs = require "lfs"
local liveline = require "gilua.base.liveline"
local shell = require "gilua.base.shell"
local tune = require "gilua.command.tune"
local verdict = require "gilua.command.verdict"
local winner = require "gilua.command.winner"

local M = {}

local FEW_SETTINGS = 64 -- each is measured before evolution; more are genes alone
local MOST_KERNELS = 60 -- of a generation
local LEAST_KERNELS = 12
local GENERATIONS_A_MINUTE = 6
local FIRST_GENERATION = 0.1 -- of the whole time, at most
local CASES = 2 -- of the problem's own data, which verify makes

--------------------------------------------------------------------------------------------------
-- new, check

local function is_problem(path)
  return lfs.attributes(path .. "/problem.lua", "mode") == "file"
end

-- The folder of an earlier `new` is taken again, unless the file has changed since.
local function taken_again(o, folder)
  local file, made = lfs.attributes(o.file), lfs.attributes(folder .. "/problem.lua")
  if file and file.modification > made.modification then
    fail("%s has changed since %s/ was made of it: move that folder away, or gilua improve %s "
      .. "takes it as it is", o.file, folder, shell.word(folder))
  end
  answer.say(o, "new: %s/ is there, and is taken as it is", folder)
end

local function made(o, folder)
  local quiet = setmetatable({ quiet = true }, { __index = o })
  local ready, guesses
  if gi.recordedproblem.is(o.file) then
    ready, guesses = gi.recordedproblem.write({ o.file }, folder, quiet), 0
  else
    ready, guesses = gi.newproblem.write(o.file, folder, quiet)
  end
  if not ready then
    fail("%s/problem.lua wants a hand before anything can be improved: gilua check %s", folder,
      shell.word(folder))
  end
  answer.say(o, "new: %s/ is made%s", folder, guesses == 0 and ""
    or (", with %d guess%s in its problem.lua: the verdict is for these data"):format(guesses,
      guesses == 1 and "" or "es"))
end

-- The problem's folder: the one that was named, or one made of the file.
local function folder_of(o)
  local mode = lfs.attributes(o.file, "mode")
  if mode == "directory" or o.file:find "/problem%.lua$" then return gi.place(o.file) end
  if not mode then
    local found, folder = gi.attempt(gi.place, o.file) -- one of gilua's own
    if found then return folder end
    fail("cannot open %s: No such file or directory", o.file)
  end
  local folder = o.file:match "([^/]+)$":gsub("%.%w+$", "")
  if is_problem(folder) then taken_again(o, folder) else made(o, folder) end
  return folder
end

-- What is wrong stops here; a warning does not.
local function check(o, folder)
  liveline.show("checks %s", folder)
  local well, _, findings = gi.checkproblem.run(folder, { device = o.device, jobs = o.jobs,
    seed = o.seed, silent = true })
  if well then return answer.say(o, "check: nothing is wrong") end
  fail("%s: %s (gilua check %s shows all)", folder, verdict.first_wrong(findings),
    shell.word(folder))
end

--------------------------------------------------------------------------------------------------
-- tune, evolve

-- Has a problem settings, and few enough that each is measured?
local function has_few_settings(problem)
  local n = 1
  for _, p in ipairs(problem.parameters) do
    n = n * (p.switch and 2 or math.max(1, #(p.values or {})))
  end
  return n > 1 and n <= FEW_SETTINGS
end

-- Seconds that the kernel as it is takes from its text to its measurement.
local function seconds_of_one(problem, o)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = 1, dedupe = false })
  local case = gi.own.case(problem, o.seed, o.device)
  farm:evaluate({ "" }, case) -- which makes the case
  local began = gi.host.seconds()
  farm:evaluate({ "" }, case)
  return gi.host.seconds() - began
end

-- As many kernels in a generation as the time allows.
local function population_of(problem, o, clock)
  local jobs = o.jobs or require("gilua.core").system.cores()
  local n = FIRST_GENERATION * clock.all * jobs / math.max(seconds_of_one(problem, o), 1e-3)
  return math.tointeger(math.max(LEAST_KERNELS, math.min(MOST_KERNELS, n // 1)))
end

-- Says how the search goes, and gives it as many generations as there is time for: the last half of
-- them looks around the best (gilua.own.scheme).
local function watching(clock, ending)
  local best, tried, fit = 1, 0, clock.fitting(ending)
  return {
    on_result = function(run)
      tried = tried + 1
      liveline.show("evolves: generation %d of %d, %d kernels tried, best %.2fx", run.generation,
        run.scheme.generations, tried, best)
    end,
    on_generation = function(run, record)
      best = math.max(best, record.improved and record.speedup or 1)
      fit(run, record)
    end,
  }
end

local function search(o, problem, folder, clock)
  local _ <close> = crew.keep() -- the same workers judge the data, tune and evolve
  local data = evolve.judged(problem, setmetatable({ quiet = true }, { __index = o }))
  local ending = (1 - clocks.SEARCH) * clock.left() -- seconds for what comes after the search
  local own = setmetatable({ quiet = true, genome = problem.is_ptx and "ptx" or "source",
    scheme = problem.is_ptx and "langdon" or "steady",
    transform = problem.is_ptx and 0 or gi.own.TRANSFORM_SHARE, least = verdict.LEAST,
    tune = has_few_settings(problem), sample = FEW_SETTINGS,
    population = population_of(problem, o, clock),
    generations = math.max(2, math.ceil(GENERATIONS_A_MINUTE * o.minutes)),
    progress = watching(clock, ending),
    enough = clock.enough(ending),
  }, { __index = o })
  local run, _, tuning = evolve.evolved(problem, own, folder, data)
  if tuning then
    answer.say(o, "tune: %d settings, best: %s", #tuning.rows, tune.best_of(tuning))
  end
  answer.say(o, "evolve: %d evaluations in %d generations", run.evaluations, run.generation)
  return run
end

--------------------------------------------------------------------------------------------------

local function verified(o, dir)
  liveline.show("verifies the winner on data that nobody saw")
  local own = setmetatable({ quiet = true, run = dir, cases = CASES }, { __index = o })
  local run, found, wrong = winner.verified(own)
  answer.say(o, "verify: %s", wrong and "wrong: " .. wrong or verdict.tested(found))
  return run, found, wrong
end

-- Says the verdict, to a program as an event too.
local function say(o, status, text, fields)
  answer.say(o, "%s", text)
  events.tell("verdict", table.move(fields or {}, 1, #(fields or {}), 2, { { "text", text } }))
  return status
end

local function improve(o)
  boxed.require(o)
  local clock = clocks.of(o.minutes)
  liveline.begin(o.quiet, clock.words)
  liveline.show("reads %s", o.file)
  local folder = folder_of(o)
  check(o, folder)
  local problem = gi.problem(folder)
  local results <close> = gi.folder.open(o.out, ("out/%s-%d"):format(problem.name, o.seed))
  local run = search(o, problem, results, clock)
  if run.result.best.genome == "" then
    return say(o, ends.STATUS.no_winner, verdict.nothing(run))
  end
  return say(o, verdict.of(results.dir, verified(o, results.dir)))
end

--- gilua improve.
function M.command()
  return improve(gi.cli {
    doc = "Makes a kernel faster in one command: new, check, tune, evolve and verify, then a "
      .. "verdict.",
    runs = true,
    positional = { { name = "file",
      doc = "a CUDA file, a recording (gilua record) or a problem's folder" } },
    { name = "minutes", type = "number", default = 2, min = 0.1,
      doc = "the time that it may take, by the clock" },
    { name = "kernel", type = "string", doc = "which kernel, if the file has several" },
    { name = "template", type = "string", doc = "arguments of the kernel's template: float,256" },
    { name = "include", type = "string", listed = true,
      doc = "folders of headers, with commas between" },
    { name = "define", type = "string", listed = true,
      doc = "macros, with commas between: DIM=3,FAST" },
    { name = "certified", default = false, doc = "keep only genes with which the winner is "
      .. "certified equal to the kernel over the reals (docs/certificate.md)" },
    { name = "weak-data", default = false,
      doc = "go on even if the data catch under 60 % of seeded bugs" },
    boxed.OPTION,
  })
end

return M
