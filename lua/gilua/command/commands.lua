-- commands: gilua new, check, tune, evolve, apply, verify, resume, log, show … Each reads its own
-- command line. lua/gilua/base/ends.lua says how they end.

local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local core = require "gilua.core"
local ends = require "gilua.base.ends"
local events = require "gilua.base.events"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local liveline = require "gilua.base.liveline"
local meant = require "gilua.command.meant"

local M = {}

local RUN_S = 60 -- that a program of `gilua new --run` may run

-- By name; each returns an exit status, nil for success. Its file is read when it is called: a
-- command that is short should not wait for the files of all others.
local COMMANDS = {}

local FILES = { -- of a command: its file, and the function there where the file has several
  doctor = "doctor", run = "run.run", record = "run.record", nvcc = "nvcc", calibrate = "calibrate",
  improve = "improve.command", tune = "tune.command", evolve = "evolve.command",
  apply = "winner.apply", verify = "winner.verify", log = "past.log", show = "past.show",
  export = "past.export", rescore = "past.rescore", merge = "merge", replay = "replay",
  diff = "rundiff.run", watch = "watch.run", agent = "agent", cluster = "cluster.run",
  judge = "judge.run", profile = "profile", serve = "serve.run",
}

for name, place in pairs(FILES) do
  local file, field = place:match "^(%w+)%.?(%w*)$"
  COMMANDS[name] = function()
    local found = require("gilua.command." .. file)
    return (field == "" and found or found[field])()
  end
end

-- Does a command's work. Its kernels run in boxed workers, and nothing can run one here: a launch
-- that is written into a command by mistake, or into a problem.lua, is refused. `resume` may run a
-- script of the person's own, and `calibrate` runs kernels of gilua's own alone.
local function run(name)
  if name ~= "resume" and name ~= "calibrate" then core.device.refuse_launches() end
  return COMMANDS[name]()
end

local function status_of(ok)
  return not ok and ends.STATUS.world or nil
end

--------------------------------------------------------------------------------------------------
-- new, check

-- The words behind `new`: recordings, and the folder to make.
local function recordings_among(o)
  local paths, folder = {}, o.out
  for _, word in ipairs { o.file, table.unpack(o.folder or {}) } do
    if gi.recordedproblem.is(word) then
      paths[#paths + 1] = word
    elseif folder then
      ends.with(ends.STATUS.usage, "%s is no recording, and the folder to make is %s", word, folder)
    else
      folder = word
    end
  end
  return paths, folder
end

-- The program of a file is built, run and recorded; nil, and said, where that comes to nothing,
-- and false where a problem is made that `check` would refuse.
local function recorded_of(o, folder)
  local ownprogram = require "gilua.new.ownprogram"
  local scratch <close> = gi.tempfolder.new()
  local rec, why = ownprogram.record(o.file, scratch.path, { arguments = o.arguments,
    seconds = o.seconds, include = o.include, define = o.define, say = function(...)
      answer.say(o, ...)
    end })
  if rec then
    local made, ready = gi.attempt(gi.recordedproblem.write, { rec }, folder,
      setmetatable({ source = o.file, beside = true }, { __index = o }))
    if made then return ready end
    if not ends.is_refusal(ready) then error(ready, 0) end
    why = tostring(ready)
  end
  answer.say(o, "%s is not recorded, so that its data are guessed: %s", o.file, why)
  return nil
end

-- Opening a file runs nothing: its program is run only with --run.
local function guessed(o, folder)
  local ownprogram = require "gilua.new.ownprogram"
  local runs, guesses = gi.newproblem.write(o.file, folder, o)
  o.guesses = guesses
  if guesses > 0 and not o.run and not o.guess and ownprogram.is(o.file) then
    answer.say(o, "%s has a main: with --run it is built and run in a box, and what it gives its "
      .. "kernels is recorded, not guessed", o.file)
  end
  return runs
end

local function check_run(o)
  if o.run and o.guess then
    ends.with(ends.STATUS.usage, "--run and --guess say two things: give one of them")
  elseif not o.run and (o.arguments or o.seconds) then
    ends.with(ends.STATUS.usage, "%s for the program that --run runs: add that, or leave it out",
      o.arguments and "What stands behind -- is" or "--seconds is")
  end
  o.seconds = o.seconds or RUN_S
end

-- Is what was made ready? And the folder that was asked for.
local function new_of(o)
  if gi.recordedproblem.is(o.file) then
    local paths, folder = recordings_among(o)
    return gi.recordedproblem.write(paths, folder, o), folder
  end
  if #(o.folder or {}) > 1 then
    ends.with(ends.STATUS.usage, "unexpected argument '%s' (--help lists the options)", o.folder[2])
  end
  local folder = o.folder and o.folder[1] or o.out or o.file:match "([^/]+)$":gsub("%.%w+$", "")
  if not o.run then return guessed(o, folder), folder end
  gi.newproblem.check_free(folder, o.file)
  local ready = recorded_of(o, folder)
  if ready == nil then ready = guessed(o, folder) end
  return ready, folder
end

-- The object of --json.
local function new_value(o, ready, folder)
  return gi.json.object { { "file", o.file }, { "folder", folder }, { "ready", ready },
    { "guesses", o.guesses or 0 } }
end

function COMMANDS.new()
  local arguments = answer.behind_dashes()
  for i, word in ipairs(arg) do
    if word == "-o" then arg[i] = "--out" end -- luacheck: globals arg
  end
  local o = gi.cli {
    takes = "jobs out quiet",
    doc = "Writes a problem folder for a kernel of a CUDA file: problem.lua, kernel.cu, "
      .. "experiment.lua.\nOr for the kernels of a whole program, from recordings of it (gilua "
      .. "record).",
    positional = { { name = "file", doc = "the CUDA source, host code and all; or a recording" },
      { name = "folder", optional = true, many = true,
        doc = "the folder to make (the file's name without .cu); further recordings" } },
    { name = "source", type = "string", listed = true,
      doc = "with recordings: the CUDA files of their kernels, comma-separated (none: PTX)" },
    { name = "anyway", default = false,
      doc = "with recordings: go on even if the source gives other kernels" },
    { name = "kernel", type = "string", doc = "which kernel, if the file has several" },
    { name = "template", type = "string", doc = "arguments of the kernel's template: float,256" },
    { name = "include", type = "string", listed = true,
      doc = "folders of headers, with commas between" },
    { name = "define", type = "string", listed = true,
      doc = "macros, with commas between: DIM=3,FAST" },
    { name = "megabytes", default = 4, min = 1, doc = "most megabytes of source that it reads" },
    { name = "run", default = false, doc = "if the file has a main: build it, run it in a box and "
      .. "record it; its arguments stand behind --" },
    { name = "seconds", type = "integer", min = 1,
      doc = "with --run: seconds that the program may run (60)" },
    { name = "guess", default = false,
      doc = "if the file has a main: guess, and do not mention --run" },
    boxed.OPTION, answer.JSON,
  }
  o.arguments = arguments
  check_run(o)
  boxed.require(o)
  gi.headers.most_bytes = o.megabytes * 1000000
  o.quiet = o.quiet or o.json
  liveline.begin(o.quiet)
  return answer.given(o, function()
    local ready, folder = new_of(o)
    return new_value(o, ready, folder), status_of(ready)
  end)
end

function COMMANDS.check()
  local o = gi.cli {
    takes = "device gpu seed jobs cluster",
    doc = "Tells what is wrong with a problem, in order, and what evolution has to work with.",
    positional = { { name = "problem", doc = "its folder" } },
    { name = "why", default = false,
      doc = "also why a transformation is not proposed at a loop or a kernel" },
    boxed.OPTION, answer.JSON, table.unpack(gi.cli.compiling),
  }
  return answer.given(o, function()
    boxed.require(o)
    local well, value = gi.checkproblem.run(o.problem, { device = o.device, jobs = o.jobs,
      seed = o.seed, silent = o.json, why = o.why })
    return value, status_of(well)
  end)
end

function COMMANDS.resume()
  return require "gilua.command.resume"(function(name)
    if not COMMANDS[name] then fail("'%s' is no command and no script", name) end
    return run(name)
  end)
end

--------------------------------------------------------------------------------------------------
-- help

-- `gilua help` and `gilua version` alone are the host's.

function COMMANDS.help()
  local o = gi.cli {
    takes = "",
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
  gi.cli { takes = "", doc = "Prints gilua's version and Lua's." }
end

--------------------------------------------------------------------------------------------------
-- For the host

--- Runs a command.
---@param name string
function M.run(name)
  local ok, status = xpcall(run, answer.refusal, name)
  if not ok then
    events.ended(status.status, status.message)
    error(status, 0)
  end
  if not status then return end -- the host goes on
  events.ended(status)
  ends.finish()
  os.exit(status, true)
end

--- Refuses a word in a script's place that is none.
---@param word string
function M.no_script(word)
  meant.refuse(word, gi.settings.keys(COMMANDS))
end

return M
