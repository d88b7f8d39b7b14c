-- commands: gilua new, check, tune, evolve, apply, verify, doctor, help. Each reads its own command
-- line. How they end: lua/gilua/base/ends.lua.

local gi = require "gilua"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local meant = require "gilua.command.meant"
local lfs = require "lfs"

local M = {}
local COMMANDS = {} -- by name; each returns an exit status, nil for success

local UNSEEN = 1 << 32 -- seeds from here on are never drawn in evolution

local function print_lines(lines)
  for _, line in ipairs(lines) do print(line) end
end

local function say(options, ...)
  if not options.quiet then print((...):format(select(2, ...))) end
end

local function status_of(ok)
  return not ok and ends.STATUS.world or nil
end

function COMMANDS.doctor()
  gi.cli { doc = "Tells what this machine has, and what to do about what it lacks." }
  require("gilua.command.doctor")()
end

--------------------------------------------------------------------------------------------------
-- new, check

function COMMANDS.new()
  local o = gi.cli {
    doc = "Writes a problem folder for a kernel of a CUDA file: problem.lua, kernel.cu, "
      .. "experiment.lua.",
    positional = { { name = "file", doc = "the CUDA source, host code and all" },
      { name = "folder", optional = true,
        doc = "the folder to make (the file's name without .cu)" } },
    { name = "kernel", type = "string", doc = "which kernel, where the file has several" },
    { name = "template", type = "string", doc = "arguments of the kernel's template: float,256" },
    { name = "include", type = "string", doc = "folders of headers, with commas between" },
    { name = "define", type = "string", doc = "macros, with commas between: DIM=3,FAST" },
  }
  return status_of(gi.newproblem.write(o.file, o.folder, o))
end

function COMMANDS.check()
  local o = gi.cli {
    doc = "Tells what is wrong with a problem, in order, and what evolution has to work with.",
    positional = { { name = "problem", doc = "its folder" } },
  }
  return status_of(gi.checkproblem.run(o.problem, o))
end

--------------------------------------------------------------------------------------------------
-- tune

-- Sampled where there are more settings than anybody wants to wait for.
local function tuning(problem, farm, o)
  local names = {}
  for _, p in ipairs(problem.parameters) do
    if p.switch or p.values and #p.values > 1 then names[#names + 1] = p.name end
  end
  if #names == 0 then
    fail("%s has no parameter with more than one value: there is nothing to tune (tune_params "
      .. "in its problem.lua)", problem.dir)
  end
  return gi.tune.run {
    problem = problem, farm = farm, case = gi.own.case(problem, o.seed, o.device),
    parameters = names, sample = o.sample, rng = gi.rng(o.seed),
    on_result = not o.quiet and require("gilua.core").system.isatty(2) and function(done, total)
      io.stderr:write(("\rsetting %d of %d"):format(done, total), done == total and "\r\27[K" or "")
    end or nil,
  }
end

function COMMANDS.tune()
  local o = gi.cli {
    doc = "Measures every setting of a problem's parameters, alone, without evolution.",
    positional = { { name = "problem", doc = "its folder" } },
    { name = "sample", default = 500, min = 1, doc = "at most so many settings, drawn at random" },
    { name = "rows", default = 12, min = 1, doc = "of the fastest that are shown" },
  }
  local problem = gi.problem(o.problem)
  local out = o.out or ("out/tune-%s-%d"):format(problem.name, o.seed)
  local made, why = gi.report.make_folder(out)
  if not made then fail("cannot write results to '%s': %s", out, why) end
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  local result = tuning(problem, farm, o)
  gi.t4.write(result, out .. "/results.t4.json")
  if not o.quiet then print_lines(gi.tune.lines(result, { limit = o.rows })) end
  if not result.best then fail("no setting gives right answers: gilua check %s", o.problem) end
  say(o, "%d settings%s on %s. Best: %s. All are in %s/results.t4.json", #result.rows,
    result.sampled and (" of %d"):format(result.total) or "", farm:description(),
    result.best.genome == "" and "as it is" or result.best.genome, out)
  return result.best == result.default and ends.STATUS.no_winner or nil
end

--------------------------------------------------------------------------------------------------
-- evolve

function COMMANDS.evolve()
  local o = gi.cli {
    doc = "Evolves a faster kernel that gives the same answers.",
    positional = { { name = "problem", doc = "its folder" } },
    { name = "population", default = 60, min = 2, doc = "kernels in a generation" },
    { name = "generations", default = 12, min = 1, doc = "generations" },
  }
  local problem = gi.problem(o.problem)
  local out = o.out or ("out/%s-%d"):format(problem.name, o.seed)
  local report, unwritable = gi.report.open(out)
  if not report then fail("%s", unwritable) end
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  local run = gi.evolve.run {
    problem = problem, farm = farm, fitness = gi.fitness.within(problem.tolerance),
    population = o.population, generations = o.generations, rng = gi.rng(o.seed),
    init = gi.own.first, genes = gi.own.genes(problem),
    new_case = function(_, rng) return gi.own.case(problem, rng:int(1 << 31), o.device) end,
    observers = { report, gi.progress.new { quiet = o.quiet, dir = out } },
  }
  if run.result.best.genome == "" then return ends.STATUS.no_winner end
  say(o, "Next: gilua verify %s, and gilua apply %s puts it into the file it came from", out, out)
end

--------------------------------------------------------------------------------------------------
-- apply, verify: of a run's folder

-- The first of the files that a run leaves: its name and what is in it. That of an experiment tells
-- of its winner, cleaned and tuned again; result.json beside it of the evolution alone.
local function read_result(dir)
  for _, name in ipairs { "experiment.json", "result.json" } do
    local path = dir .. "/" .. name
    if lfs.attributes(path, "mode") == "file" then
      local result, why = gi.json.decode(gi.textfile.read(path, "the result"))
      if type(result) ~= "table" then
        fail("%s is not what a run leaves: %s", path, why or "it holds no fields")
      end
      return path, result
    end
  end
  fail("%s is no run: it has neither result.json nor experiment.json (gilua evolve makes one in "
    .. "out/)", dir)
end

-- What a run found: { folder, genome, seed }.
local function found_in(dir)
  local path, result = read_result(dir)
  local best, folder = result.winner or result.best, result.folder or result.problem
  if type(best) == "table" and best.genome and folder then
    return { folder = folder, genome = best.genome, seed = result.seed or 1 }
  end
  ends.with(ends.STATUS.no_winner, "%s names no winner: the run was stopped before it had one",
    path)
end

local function settings_to_tell(problem, params)
  local list = {}
  for _, p in ipairs(problem.parameters) do
    local value = params[p.name]
    if value and not p.in_source and not p.switch and tostring(p.default) ~= tostring(value) then
      list[#list + 1] = ("%s = %s (it was %s)"):format(p.name, value, p.default)
    end
  end
  return list
end

local function write_improved(o, path, text, old)
  local target = o["in-place"] and path or o.run .. "/" .. path:match("([^/]+)$")
  if o["in-place"] then
    gi.report.write(path .. ".orig", old)
    say(o, "%s is changed; %s.orig is what it was", path, path)
  end
  gi.report.write(target, text)
  if not o["in-place"] then say(o, "%s is %s with the changes", target, path) end
end

-- A warning where right answers say nothing about a change.
local function warn_of_untested(o, problem, genome)
  local lines = gi.coverage.untested(problem, genome)
  if #lines == 0 then return end
  say(o, "Look at line%s %s: changed, and never reached (or only in part) by the small case, so "
    .. "that right answers say nothing about it.", #lines > 1 and "s" or "",
    table.concat(lines, ", "))
end

function COMMANDS.apply()
  local o = gi.cli {
    doc = "Puts what a run found into the file that the kernel came from.",
    positional = { { name = "run", doc = "the run's folder, out/…" } },
    { name = "diff", default = false, doc = "print the difference and write nothing" },
    { name = "in-place", default = false,
      doc = "change the file itself; FILE.orig keeps the old one" },
  }
  local found = found_in(o.run)
  local problem = gi.problem(found.folder)
  local text, old, path, params = gi.backport.file(problem, found.genome)
  local diff = gi.report.diff(old, text, path:match("([^/]+)$"))
  if o.diff then
    io.write(diff)
  elseif text == old then
    say(o, "%s needs no change", path)
  else
    if not o.quiet then io.write(diff) end
    write_improved(o, path, text, old)
    warn_of_untested(o, problem, found.genome)
  end
  local told = settings_to_tell(problem, params)
  if #told > 0 and not o.diff then
    say(o, "Besides, where the kernel is launched: %s", table.concat(told, ", "))
  end
end

local function row_line(row)
  if not row.right then
    return ("  %-40s WRONG: %s"):format(row.case, row.status ~= "ok" and row.status
      or ("%d of %d answers, largest error %.3g"):format(row.wrong, row.answers, row.max_error))
  end
  local interval = row.low == row.high and "" or (" (%.3f to %.3f)"):format(row.low, row.high)
  return ("  %-40s right, %.3fx%s"):format(row.case, row.ratio, interval)
end

function COMMANDS.verify()
  local o = gi.cli {
    doc = "Measures what a run found on data that nobody saw: every answer, and the time.",
    positional = { { name = "run", doc = "the run's folder, out/…" } },
    { name = "cases", default = 5, min = 1, doc = "how many" },
  }
  local found = found_in(o.run)
  local problem = gi.problem(found.folder)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  local cases = {}
  for i = 1, o.cases do
    cases[i] = gi.own.case(problem, UNSEEN + 1000 * found.seed + i, o.device)
  end
  say(o, "%s on %s", found.genome == "" and "the kernel as it is" or found.genome,
    farm:description())
  local v = gi.validate.run {
    problem = problem, farm = farm, cases = cases, genome = found.genome,
    on_row = function(row) say(o, "%s", row_line(row)) end,
  }
  local all = ("%s answers on %d cases"):format(gi.progress.grouped(v.answers), o.cases)
  if not v.all_right then
    fail("%s: %s of them are wrong, largest error %.3g", all, gi.progress.grouped(v.wrong),
      v.max_error)
  end
  say(o, "%s, all right, largest error %.3g: %.3f times faster (median; %.3f to %.3f)", all,
    v.max_error, v.ratio.median, v.ratio.least, v.ratio.greatest)
  warn_of_untested(o, problem, found.genome)
end

--------------------------------------------------------------------------------------------------
-- help

-- `gilua help` and `gilua version` alone are the host's.

function COMMANDS.help()
  local o = gi.cli {
    doc = "Lists a command's options, as COMMAND --help does.",
    positional = { { name = "command", doc = "one of those that gilua help lists" } },
  }
  if not COMMANDS[o.command] then
    ends.with(ends.STATUS.usage, "'%s' is no command%s (gilua help lists them)", o.command,
      meant.among(o.command, gi.settings.keys(COMMANDS)))
  end
  arg = { [0] = o.command, "--help" } -- luacheck: globals arg
  return COMMANDS[o.command]()
end

function COMMANDS.version()
  gi.cli { doc = "Prints gilua's version and Lua's." }
end

--------------------------------------------------------------------------------------------------
-- For the host

-- What is no refusal keeps its traceback. Ctrl-C is no fault and has none.
local function told(problem)
  if type(problem) ~= "string" then return problem end
  local interrupted = problem:find("interrupted!", 1, true)
  local text = interrupted and "interrupted" or debug.traceback(problem, 2)
  return select(2, pcall(ends.with, interrupted and ends.STATUS.interrupted or ends.STATUS.world,
    "%s", text))
end

--- Runs a command.
---@param name string
function M.run(name)
  local ok, status = xpcall(COMMANDS[name], told)
  if not ok then error(status, 0) end
  if status then os.exit(status, true) end
end

--- Refuses a word in a script's place that is none.
---@param word string
function M.no_script(word)
  meant.refuse(word, gi.settings.keys(COMMANDS))
end

return M
