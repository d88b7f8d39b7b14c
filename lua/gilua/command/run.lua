--- `gilua run [options] -- PROGRAM …`: runs a whole CUDA program on the virtual GPU. The program's
--- own makefile has built it; gilua's library replaces its CUDA run-time library. `gilua record`
--- does the same and records the program's calls.

local answer = require "gilua.command.answer"
local core = require "gilua.core"
local elf = require "gilua.base.elf"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local json = require "gilua.base.json"
local lfs = require "lfs"
local nvcc = require "gilua.farm.nvcc"
local printable = require "gilua.base.printable"
local programhost = require "gilua.farm.programhost"
local programrun = require "gilua.report.programrun"
local recorded = require "gilua.problem.recorded"
local recording = require "gilua.problem.recording"
local settings = require "gilua.base.settings"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"

local BUILD = ("NVCC_APPEND_FLAGS='%s' make"):format(programhost.NVCC_FLAGS)
local CHECKS = { "races", "global-races", "uninit", "order", "streams", "leaks" }

--------------------------------------------------------------------------------------------------
-- The command line

local function checks_of(text)
  local on = {}
  for name in (text or ""):gmatch "[^,]+" do
    local known = false
    for _, check in ipairs(CHECKS) do known = known or check == name end
    if not known then
      local nearest = settings.nearest(name, CHECKS)
      ends.with(ends.STATUS.usage, "--check %s: there is no such check%s (there are %s)", name,
        nearest and "; did you mean " .. nearest .. "?" or "", table.concat(CHECKS, ", "))
    end
    on[name] = true
  end
  return on
end

local DOC = {
  run = "Runs a CUDA program on the virtual GPU, every access of every kernel checked.",
  record = "Runs a CUDA program on the virtual GPU, as gilua run does, or with --inject on a GPU, "
    .. "and keeps what it\nasked of its GPU in the file named by -o FILE (--out FILE), else in "
    .. "PROGRAM.rec.",
}

local function check_use(text)
  for _, use in ipairs(recorded.USES) do
    if text == use then return true end
  end
  return nil, ("must be one of %s"):format(table.concat(recorded.USES, ", "))
end

local function check_yes(text)
  if text == "yes" or text == "no" then return true end
  return nil, "must be yes or no"
end

local UNITS = { [""] = 1, K = 1 << 10, M = 1 << 20, G = 1 << 30, T = 1 << 40 }

-- Returns the bytes that a text like 512M, 1.5G or 20GiB means; nil where it means none.
local function bytes_of(text)
  local number, unit = text:upper():match "^(%d+%.?%d*)([KMGT]?)I?B?$"
  local bytes = number and tonumber(number) * UNITS[unit]
  return bytes and bytes >= 1 and math.floor(bytes) or nil
end

local function check_bytes(text)
  if bytes_of(text) then return true end
  return nil, "must be a size: 512M, 1.5G, 20G"
end

local OF_RECORDINGS = {
  { name = "inject", type = "flag",
    doc = "on this machine's GPU, as the program is: it need not be rebuilt; so it is by itself "
      .. "where CUDA's library is linked in and there is a GPU" },
  { name = "as", type = "string", check = check_use,
    doc = "what it is for in a problem: train, validate, unseen, or small: the checked run; but "
      .. "for train kept beside" },
  { name = "kernel", type = "string", doc = "launches of this kernel are counted by the next two" },
  { name = "skip", type = "integer", min = 1, doc = "launches before the recording begins" },
  { name = "count", type = "integer", min = 1, doc = "launches after which it ends" },
}

local function options(command)
  local program = answer.behind_dashes() or {}
  for i, word in ipairs(arg) do
    if word == "-o" then arg[i] = "--out" end -- luacheck: globals arg
  end
  local o = gi.cli {
    doc = ("%s It is built as ever, with\n%s\nand named behind the options and --: gilua %s -- "
      .. "./app arguments"):format(DOC[command], BUILD, command),
    { name = "build", type = "string",
      doc = "the command that builds it first ('make -j2'), in which nvcc is gilua nvcc" },
    { name = "check", type = "string", doc = "also, with commas between: " .. table.concat(CHECKS,
      ", ") },
    { name = "repeats", type = "integer", min = 1,
      doc = "run equal launches at most so often: NOT exact" },
    { name = "threads", type = "integer", min = 1,
      doc = "cores for one launch: all there are, if it is not named" },
    { name = "patience", type = "integer", min = 0, default = 60,
      doc = "print the progress of a kernel that runs for so many seconds; 0: never" },
    { name = "api-errors", type = "string", default = "yes", check = check_yes,
      doc = "yes or no: tell calls that fail and whose error the program does not look at" },
    { name = "json", type = "string", doc = "the file for the findings and the table, as JSON" },
    { name = "sarif", type = "string", doc = "the file for the findings as SARIF 2.1.0" },
    { name = "junit", type = "string", doc = "the file for the results as JUnit XML" },
    { name = "profile", type = "string", doc = "a folder for what each line of the kernels costs: "
      .. "profile.txt, profile.json, and profile.html, the source beside the heat" },
    { name = "worst", type = "flag", doc = "approximate functions (__sinf, __fdividef …) "
      .. "give the worst value that the PTX ISA allows" },
    { name = "memory", type = "string", check = check_bytes,
      doc = "how much memory the GPU has (20G); not named: its own, but at most three quarters of "
        .. "this machine's" },
    positional = {},
    table.unpack(command == "record" and OF_RECORDINGS or {}),
  }
  o.program, o.checks = program, checks_of(o.check)
  if o.device ~= "emu" then
    ends.with(ends.STATUS.usage, "gilua %s is for the virtual GPU%s", command, command == "run"
      and ": on a GPU start the program itself, without --device" or ", without --device; "
      .. "--inject records on a GPU")
  end
  if #program == 0 then
    ends.with(ends.STATUS.usage, "which program? It is named behind --: gilua %s -- ./app", command)
  end
  return o
end

-- Where a recording goes: nothing that is there is written over.
local function recording_path(o)
  local path = o.out or o.program[1]:match "[^/]*$" .. ".rec"
  if o.as and o.as ~= "train" then path = recording.beside(path, o.as) end
  if lfs.attributes(path) then
    fail("there is %s already: name another file with -o FILE, or remove it", path)
  end
  return path:find "^/" and path or lfs.currentdir() .. "/" .. path
end

--------------------------------------------------------------------------------------------------
-- The program

local function executable(path)
  return lfs.attributes(path, "mode") == "file" and path or nil
end

-- Where the shell would find it; nil.
local function path_of(name)
  if name:find "/" then return executable(name) end
  for folder in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    local path = executable(folder .. "/" .. name)
    if path then return path end
  end
end

-- Is CUDA's run-time library linked in, so that another cannot take its place?
local function is_closed(name)
  local path = path_of(name)
  local found = path and elf.read(path)
  return found and found.cuda and not programhost.wants_runtime(found) or false
end

local function has_gpu()
  local driver = core.system.driver()
  return driver.loaded and #driver.gpus > 0
end

-- NVIDIA's libraries bring machine code of their own, which the virtual GPU cannot run.
local CLOSED = { "cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl", "npp",
  "nvjpeg", "cutensor" }

local function is_closed_library(name)
  for _, closed in ipairs(CLOSED) do
    if name:find("lib" .. closed, 1, true) == 1 then return not programhost.stands_in(name) end
  end
  return false
end

local function tell_closed(name, found)
  local list = {}
  for _, library in ipairs(found.needed) do
    if is_closed_library(library) then list[#list + 1] = library end
  end
  if #list == 0 then return end
  io.stderr:write(printable.text(("gilua: %s needs %s, whose kernels are machine code: they cannot "
    .. "run here, and what the program makes of that is its own\n"):format(name,
    table.concat(list, ", "))))
end

-- Ends with a sentence where the library could not take the CUDA library's place.
local function check_program(name)
  local path = path_of(name)
  if not path then fail("there is no program %s", name) end
  local found = elf.read(path)
  if not found then return { needed = {} } end -- a script; what it starts is looked at by nobody
  local library, version = programhost.wants_runtime(found)
  if found.cuda and not library then
    fail("%s has CUDA's run-time library linked in, and nothing can take its place without a GPU; "
      .. "build it with a shared one:\n  %s", name, BUILD)
  end
  if library and version ~= "12" and version ~= "13" then
    fail("%s wants %s; gilua has libcudart.so.12 and .13: build it with nvcc of CUDA 12 or 13",
      name, library)
  end
  tell_closed(name, found)
  return found
end

-- Builds the program by the person's own command.
local function build(o)
  if not o.build then return end
  local folder <close> = tempfolder.new()
  local status, signal = core.system.run { argv = { "sh", "-c", o.build },
    env = nvcc.environment(folder.path) }
  if status == 0 then return end
  fail("%s is not built: --build '%s' ended %s", o.program[1], o.build,
    signal and ("by signal %s"):format(signal) or ("with status %s"):format(status))
end

--------------------------------------------------------------------------------------------------
-- How it ended

local function end_of(status, signal, all)
  if signal then
    io.stderr:write(("gilua: the program was ended by signal %d\n"):format(signal))
  end
  if all.missing then
    printable.complain(("%s; results that the program computed with it are missing"):format(
      all.missing))
  end
  if all.refusal or status ~= 0 then return status end
  if all.missing then return ends.STATUS.cannot_run end
  return programrun.counts(all) > 0 and ends.STATUS.world or nil
end

-- Says what was recorded. A program that was ended before anything of it was written leaves an
-- empty file, which goes.
local function told_of(o)
  local bytes = lfs.attributes(o.recording, "size")
  if bytes == 0 then
    os.remove(o.recording)
    printable.complain "nothing is recorded: the program was ended before that"
  end
  if (bytes or 0) == 0 or o.quiet then return end -- nothing of CUDA was called
  local r <close> = recording.open(o.recording)
  printable.complain(recording.line(r))
end

--------------------------------------------------------------------------------------------------
-- On a GPU

-- Why the recorder refused: a sentence of each process; nil.
local function refused(folder)
  for name in lfs.dir(folder) do
    if name:find "%.refused$" then
      return textfile.read(folder .. "/" .. name, "what was refused")
    end
  end
end

local function record_injected(o)
  for _, name in ipairs { "check", "repeats", "threads", "memory", "json", "sarif", "junit",
    "profile" } do
    if o[name] then
      ends.with(ends.STATUS.usage, "--%s is of the virtual GPU, and %s is recorded on this "
        .. "machine's GPU, where nothing of it is checked", name, o.program[1])
    end
  end
  if not path_of(o.program[1]) then fail("there is no program %s", o.program[1]) end
  local cupti, why = core.compile.cupti()
  if not cupti then fail("%s", why) end
  local folder <close> = tempfolder.new()
  programhost.write_injection(folder.path, o, cupti)
  local status, signal = core.system.run { argv = o.program,
    env = programhost.injection(folder.path) }
  if not status then fail("%s", signal) end
  if signal then
    io.stderr:write(("gilua: the program was ended by signal %d\n"):format(signal))
  end
  if refused(folder.path) then
    os.remove(o.recording)
  elseif not lfs.attributes(o.recording) then
    io.stderr:write "gilua: the program called nothing of CUDA's driver: there is no recording\n"
  else
    told_of(o)
  end
  if status ~= 0 then return status end
end

--------------------------------------------------------------------------------------------------

-- Writes the profile, and says its hottest lines.
local function profile(o, folder, model)
  local programprofile = require "gilua.report.programprofile" -- seldom wanted, and long to read
  local kernels = programprofile.read(folder)
  if #kernels == 0 then
    printable.complain
      "there is no profile: the program ran no kernel, or ended by _exit or a signal"
    return
  end
  programprofile.write(o.profile, kernels, table.concat(o.program, " "), model.name)
  if o.quiet then return end
  local lines = programprofile.lines(kernels)
  lines[#lines + 1] = ("%s/profile.html has the source beside the heat"):format(o.profile)
  io.stderr:write(printable.text(table.concat(lines, "\n")), "\n")
end

local function run(o)
  local found = check_program(o.program[1])
  local model = programhost.model(o.memory and bytes_of(o.memory))
  local folder <close> = tempfolder.new()
  programhost.write_config(folder.path, o, model)
  local status, signal = core.system.run { argv = o.program,
    env = programhost.environment(folder.path, found) }
  if not status then fail("%s", signal) end
  local all = programrun.read(folder.path)
  for _, line in ipairs(programrun.untold(all)) do printable.complain(line) end
  if all.processes == 0 and #found.needed > 0 and programhost.wants_runtime(found) then
    io.stderr:write "gilua: the program called nothing of CUDA\n"
  elseif all.processes > 0 and not o.quiet then
    io.stderr:write(printable.text(table.concat(programrun.lines(all, model), "\n")), "\n")
  end
  if o.recording then told_of(o) end
  if o.profile then profile(o, folder.path, model) end
  if o.json then
    textfile.write(o.json, json.encode(programrun.value(all, model, o.program, status)) .. "\n")
  end
  if o.sarif then gi.sarif.write(o.sarif, programrun.scan(all, o.program, status)) end
  if o.junit then
    gi.junit.write(o.junit, "gilua run " .. o.program[1], programrun.cases(all, status))
  end
  return end_of(status, signal, all)
end

local M = {}

function M.run()
  local o = options "run"
  build(o)
  return run(o)
end

--- `gilua profile -- PROGRAM`: the same with a profile.
function M.profile()
  local o = options "run"
  o.profile = o.profile or o.out or "profile"
  build(o)
  return run(o)
end

function M.record()
  local o = options "record"
  build(o)
  o.recording = recording_path(o)
  if o.inject or (is_closed(o.program[1]) and has_gpu()) then return record_injected(o) end
  return run(o)
end

return M
