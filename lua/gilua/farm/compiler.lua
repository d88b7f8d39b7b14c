--- compiler: NVRTC for one source at a time (gi.compile).
--
-- A stranger's source may make the compiler crash, grow or never end, and NVRTC cannot be
-- interrupted. So it runs in a boxed and bounded worker of its own: a failure there is one
-- sentence, and Ctrl-C ends the worker. Inside a worker it compiles in the same process.

local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local undo = require "gilua.base.undo"

local M = {
  limit_s = 20, -- of a processor, for one compilation, as compile_timeout_s of gi.farm
  memory_bytes = 2 << 30, -- of the compiler
  here = false, -- this process is a worker
}

local process -- the crew of one, once it was needed
local starts_programs -- it may: clang

local function forget_process()
  if process then process:close() end
  process = nil
end

-- Why there is no code, of what the compiler did not survive.
local function lost(options, status, reason)
  local name = options and options.name or "the source"
  return { nil, ("compiling %s: %s"):format(name, reason), status, "" }
end

-- Has the worker do it; what stops this half way, Ctrl-C too, ends the worker.
local function elsewhere(source, options, limit_s)
  local programs = options ~= nil and options.compiler == "llvm"
  if programs and not starts_programs then forget_process() end
  if not process then
    process = crew.open({ { roles = { "host" }, device = "emu", depth = 1 } }, M.memory_bytes,
      "emu", programs)
    starts_programs = programs
  end
  local found
  process:post {
    kind = "compile", role = "host", limit_s = limit_s or M.limit_s, sleep_s = crew.SLEEP_S,
    strikes = crew.STRIKES - 1,
    message = function() return { op = "compile_one", source = source, options = options } end,
    done = function(reply) found = reply.results end,
    blame = function(status, reason) found = lost(options, status, reason) end,
  }
  undo(forget_process, process.drain, process)
  return found
end

-- NVRTC's binding knows of no other compiler.
local function without_compiler(options)
  local own = {}
  for name, value in pairs(options) do own[name] = value end
  own.compiler, own.passes = nil, nil
  return own
end

--- Compiles a source.
---@param source string
---@param options? table { target, defines, include, options, line_info, name, compiler, passes }:
---  compiler is "nvrtc" or "llvm", passes are LLVM's (gilua.compilers)
---@param limit_s? number seconds of a processor that it may take
---@return string? code
---@return string log_or_message
---@return string? code of the failure: "compile", "usage", "driver"; "timeout", "out_of_memory" or
---  "crash" of what the compiler did not come to an end with
---@return string? log
function M.compile(source, options, limit_s)
  if M.here then return core.compile.compile(source, options) end
  if options and options.compiler == "nvrtc" then options = without_compiler(options) end
  local found = elsewhere(source, options, limit_s)
  if found.misuse then error(found.misuse, 2) end
  return table.unpack(found, 1, 4)
end

return M
