--- `gilua run [options] -- PROGRAM …`: a whole CUDA program on the virtual GPU. The program is one
--- built by its own makefile; gilua's library takes the place of its CUDA run-time library.
--- `gilua record` does the same and keeps what the program asked of its GPU.

local core = require "gilua.core"
local elf = require "gilua.base.elf"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local json = require "gilua.base.json"
local lfs = require "lfs"
local printable = require "gilua.base.printable"
local programrun = require "gilua.report.programrun"
local recording = require "gilua.problem.recording"
local settings = require "gilua.base.settings"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"

local LIBRARY = "libcudart.so.13"
local BUILD = "NVCC_APPEND_FLAGS='-cudart shared -gencode arch=compute_90,code=compute_90 "
  .. "-lineinfo' make"
local CHECKS = { "races", "global-races", "uninit", "leaks" }

--------------------------------------------------------------------------------------------------
-- The command line

-- Takes what stands behind `--` off the command line: the program and its arguments.
local function take_program()
  local program
  for i, word in ipairs(arg) do
    if word == "--" then
      program = table.move(arg, i + 1, #arg, 1, {})
      for k = #arg, i, -1 do arg[k] = nil end -- luacheck: globals arg
      break
    end
  end
  return program or {}
end

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
  record = "Runs a CUDA program on the virtual GPU, as gilua run does, and keeps what it asked of "
    .. "its GPU in the file\nnamed by -o FILE (--out FILE), else in PROGRAM.rec.",
}

local function options(command)
  local program = take_program()
  for i, word in ipairs(arg) do
    if word == "-o" then arg[i] = "--out" end -- luacheck: globals arg
  end
  local o = gi.cli {
    doc = ("%s It is built as ever, with\n%s\nand named behind the options and --: gilua %s -- "
      .. "./app arguments"):format(DOC[command], BUILD, command),
    { name = "check", type = "string", doc = "also, with commas between: " .. table.concat(CHECKS,
      ", ") },
    { name = "repeats", type = "integer", min = 1,
      doc = "run equal launches at most so often: NOT exact" },
    { name = "threads", type = "integer", min = 1,
      doc = "cores for one launch: all there are, if it is not named" },
    { name = "patience", type = "integer", min = 0, default = 60,
      doc = "seconds after which a kernel that still runs is named; 0: never" },
    { name = "json", type = "string", doc = "the file for the findings and the table, as JSON" },
    { name = "gpu", default = "h200", doc = "which GPU it is" },
    positional = {},
  }
  o.program, o.checks = program, checks_of(o.check)
  if o.device ~= "emu" then
    ends.with(ends.STATUS.usage, "gilua %s is for the virtual GPU%s", command, command == "run"
      and ": on a GPU start the program itself, without --device" or ", without --device")
  end
  if #program == 0 then
    ends.with(ends.STATUS.usage, "which program? It is named behind --: gilua %s -- ./app", command)
  end
  return o
end

-- Where a recording goes: nothing that is there is written over.
local function recording_path(o)
  local path = o.out or o.program[1]:match "[^/]*$" .. ".rec"
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

local function wants_runtime(found)
  for _, name in ipairs(found.needed) do
    local version = name:match "^libcudart%.so%.?(%d*)"
    if version then return name, version end
  end
end

-- NVIDIA's libraries bring machine code of their own, which the virtual GPU cannot run.
local CLOSED = { "cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl", "npp",
  "nvjpeg", "cutensor" }

local function tell_closed(name, found)
  local list = {}
  for _, library in ipairs(found.needed) do
    for _, closed in ipairs(CLOSED) do
      if library:find("lib" .. closed, 1, true) == 1 then list[#list + 1] = library end
    end
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
  local library, version = wants_runtime(found)
  if found.cuda and not library then
    fail("%s has CUDA's run-time library linked in, and nothing can take its place; build it with "
      .. "a shared one:\n  %s", name, BUILD)
  end
  if library and version ~= "12" and version ~= "13" then
    fail("%s wants %s; gilua has libcudart.so.12 and .13: build it with nvcc of CUDA 12 or 13",
      name, library)
  end
  tell_closed(name, found)
  return found
end

--------------------------------------------------------------------------------------------------
-- The library

-- Its folder: beside lua/ in the build tree and the portable folder, in lib/gilua where installed.
local function library_folder()
  local places = { core.home .. "/lib", core.home .. "/../../lib/gilua" }
  for _, folder in ipairs(places) do
    if lfs.attributes(folder .. "/" .. LIBRARY) then return folder end
  end
  fail("the library %s is neither in %s nor in %s: `make` builds it", LIBRARY, places[1], places[2])
end

local function model_of(name)
  local found, model = pcall(require, "gilua.base.gpu." .. name)
  if not found then ends.with(ends.STATUS.usage, "--gpu %s: no such model is known", name) end
  return model
end

local function write_config(folder, o, model)
  -- Which bytes were written is no part of what launches are compared by.
  local lines = { "gpu " .. model.name, "repeats.skip " .. (o.checks.uninit and 0 or 1),
    ("patience %d"):format(o.patience) }
  for _, field in ipairs(settings.keys(model)) do
    if field ~= "name" then
      lines[#lines + 1] = ("model.%s %.17g"):format(field, model[field])
    end
  end
  if o.recording then lines[#lines + 1] = "record " .. o.recording end
  for check in pairs(o.checks) do lines[#lines + 1] = ("check.%s 1"):format(check) end
  if o.threads then lines[#lines + 1] = ("threads %d"):format(o.threads) end
  if o.repeats then lines[#lines + 1] = ("repeats.most %d"):format(o.repeats) end
  textfile.write(folder .. "/config", table.concat(lines, "\n") .. "\n")
end

local function with(name, value, separator)
  local old = os.getenv(name)
  return ("%s=%s%s"):format(name, value, old and old ~= "" and separator .. old or "")
end

-- A folder that is built into the program (DT_RPATH) comes before LD_LIBRARY_PATH; a library that
-- is loaded first comes before all.
local function environment(folder, library, found)
  local env = { "GILUA_RUN=" .. folder, with("LD_LIBRARY_PATH", library, ":") }
  if found.rpath and not found.runpath then
    env[3] = with("LD_PRELOAD", library .. "/" .. LIBRARY, " ")
  end
  return env
end

--------------------------------------------------------------------------------------------------
-- How it ended

local function end_of(status, signal, all)
  if signal then
    io.stderr:write(("gilua: the program was ended by signal %d\n"):format(signal))
  end
  if all.refusal or status ~= 0 then return status end
  return programrun.counts(all) > 0 and ends.STATUS.world or nil
end

local function told_of(o)
  if not lfs.attributes(o.recording) then return end -- nothing of CUDA was called
  local r <close> = recording.open(o.recording)
  io.stderr:write("gilua: ", recording.line(r), "\n")
end

local function run(o)
  local found, library, model = check_program(o.program[1]), library_folder(), model_of(o.gpu)
  local folder <close> = tempfolder.new()
  write_config(folder.path, o, model)
  local status, signal = core.system.run { argv = o.program,
    env = environment(folder.path, library, found) }
  if not status then fail("%s", signal) end
  local all = programrun.read(folder.path)
  if all.processes == 0 and #found.needed > 0 and wants_runtime(found) then
    io.stderr:write "gilua: the program called nothing of CUDA\n"
  elseif all.processes > 0 and not o.quiet then
    io.stderr:write(table.concat(programrun.lines(all, model), "\n"), "\n")
  end
  if o.recording and not o.quiet then told_of(o) end
  if o.json then
    textfile.write(o.json, json.encode(programrun.value(all, model, o.program, status)) .. "\n")
  end
  return end_of(status, signal, all)
end

local M = {}

function M.run()
  return run(options "run")
end

function M.record()
  local o = options "record"
  o.recording = recording_path(o)
  return run(o)
end

return M
