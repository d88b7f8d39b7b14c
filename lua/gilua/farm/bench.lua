--- bench: a boxed worker that launches kernels for a caller that waits.
--
-- `gilua new`, `check`, `evolve`, `verify` and the prompt run the unmodified kernel to learn about
-- it: whether a guess runs, how rounding changes the answers, which lines are reached. They replay
-- recordings for the same reasons. All of that runs here, so gilua's own process launches nothing
-- (core.device.refuse_launches).
--
-- There is one worker a device. It does one job at a time and stays warm. A job carries all its
-- data, so it is sent again if somebody kills the worker. A job that ends its worker by itself, or
-- exceeds its time or memory, is refused in one sentence.

local crew = require "gilua.farm.crew"
local devices = require "gilua.farm.devices"
local fail = require "gilua.base.fail"
local recording = require "gilua.problem.recording"
local undo = require "gilua.base.undo"
local wire = require "gilua.base.wire"

local M = {
  base_s = 120, -- of a processor that a job may take, beside what its instructions take
  per_s = 2e6, -- warp instructions in a second, at the slowest: a thirtieth of the usual
}

local BUILDING = 1 << 32 -- warp instructions that a reference may take, or a run without a budget

local benches = {} -- by device: { crew, target, memory_bytes, owner }

local function forget(device)
  local bench = benches[device]
  benches[device] = nil
  if bench then bench.crew:close() end
end

-- Starts the worker of a device.
local function started(device, memory_bytes)
  local found = devices.probe(device, memory_bytes)
  local list = { { roles = { "host" }, device = device, depth = 1 } }
  return { target = found[1].target, memory_bytes = memory_bytes,
    owner = setmetatable({}, { __mode = "v" }),
    crew = crew.open(list, memory_bytes, found.box) }
end

-- The worker of a device. Whoever asks for another owner than the last asks of new files: what the
-- worker has read counts no more.
local function bench_of(device, owner)
  local memory_bytes = recording.memory_bytes
  if benches[device] and benches[device].memory_bytes ~= memory_bytes then forget(device) end
  local bench = benches[device] or started(device, memory_bytes)
  benches[device] = bench
  if owner and bench.owner[1] ~= owner then
    bench.crew, bench.owner[1] = bench.crew:again(), owner
  end
  return bench
end

--- Returns what to compile for.
---@param device string
---@return string target
function M.target(device)
  return bench_of(device).target
end

local function limit_s(budget)
  return budget and M.base_s + budget / M.per_s or math.huge
end

local LOST = { crash = "ended the process that ran it", timeout = "took too long",
  out_of_memory = "took too much memory" }

-- Puts a case into a message, unless the worker has it: the message, and the share to go with it.
local function with_case(message, case, worker)
  if not case then return message end
  message.case_key, message.case = case.key, nil
  if worker.case_key == case.key then return message end
  worker.case_key, message.case = case.key, case.bytes
  return message, case.share
end

-- Has the worker do a job and waits for it. Whatever stops that half way, Ctrl-C too, ends the
-- worker.
---@param owner table whose files the job is about: a problem's table, or a recording
---@param message table
---@param o { device?: string, budget?: integer, what?: string, case?: BenchCase }
---@return table reply
---@return userdata? share
local function ask(owner, message, o)
  local device = o.device or "emu"
  local process, found, given, lost = bench_of(device, owner).crew, nil, nil, nil
  process:post {
    kind = "run", role = "host", limit_s = limit_s(o.budget), strikes = crew.STRIKES - 1,
    message = function(worker) return with_case(message, o.case, worker) end,
    done = function(reply, _, share) found, given = reply, share end,
    failed = function(failure) lost = failure end,
    blame = function(status, reason)
      lost = { sentence = ("%s %s: %s"):format(o.what or "the kernel", LOST[status], reason) }
    end,
  }
  undo(function() forget(device) end, process.drain, process)
  if lost then crew.raise(lost) end
  return found, given
end

-- The arrays of a share; none where there is none.
local function arrays_of(share)
  if not share then return {} end
  local arrays, why = share:arrays()
  return arrays or fail("%s", why)
end

local function owner_of(problem)
  return problem.definition.kernel_table or problem.definition
end

--------------------------------------------------------------------------------------------------
-- What it does

--- Launches a kernel of a problem table once: `launch` of gilua.kerneltable.
---@param owner table the definition's kernel_table
---@param dir string the problem's folder
---@param spec table of a case
---@param run TableRun
---@return table<string, userdata>? outputs by name of their blocks
---@return table|string measurement, or why there are none
---@return table? measurement where there are none
function M.launch(owner, dir, spec, run)
  local reply, share = ask(owner, { op = "launch", problem = dir, spec = spec, run = run },
    { device = run.device, budget = run.budget })
  if reply.why then return nil, reply.why, reply.measurement end
  local outputs, arrays = {}, arrays_of(share)
  for i, name in ipairs(reply.names) do outputs[name] = arrays[i] end
  return outputs, reply.measurement
end

---@class BenchCase a case that the worker has built
---@field key string
---@field bytes string of gilua.wire
---@field share? userdata its arrays

local built = 0 -- cases so far

--- Builds a case. Raises why it cannot be built.
---@param problem gilua.problem
---@param spec any of the case, as problem.prepare makes it
---@return BenchCase
function M.case(problem, spec)
  local reply, share = ask(owner_of(problem), { op = "case", problem = problem.dir, case = spec },
    { budget = BUILDING, what = "the problem's code" })
  built = built + 1
  return { key = "case " .. built, bytes = reply.case, share = share }
end

--- What a case is, in this process.
---@param case BenchCase
---@return table
function M.opened(case)
  return wire.decode(case.bytes, arrays_of(case.share))
end

--- Runs a mutant on a case, every answer compared.
---@param problem gilua.problem
---@param case BenchCase
---@param mutant { code: string, values: table }
---@param budget integer most warp instructions; 0: the virtual GPU's own limit
---@return table measurement
---@return userdata? output what it wrote; nil where it does not run
function M.answers(problem, case, mutant, budget)
  local reply, share = ask(owner_of(problem), { op = "answers", problem = problem.dir,
    device = "emu", mutant = mutant, budget = budget },
    { budget = budget > 0 and budget or BUILDING, case = case })
  return reply.measurement, arrays_of(share)[1]
end

--- Runs instrumented code on a case: `noted` of gilua.runner.
---@param problem gilua.problem
---@param case BenchCase
---@param run { code: string, values: table, name: string, bytes: integer, budget: integer }
---@return userdata? array of bytes
---@return string? why there is none
---@return string? status of what did not run
function M.noted(problem, case, run)
  local reply, share = ask(owner_of(problem), { op = "noted", problem = problem.dir,
    device = "emu", run = run }, { budget = run.budget, case = case })
  return arrays_of(share)[1], reply.why, reply.status
end

--- Replays a recording: `replay` of core.record. Reads that are the same as recorded have no bytes.
---@param owner table the recording
---@param path string
---@param model table
---@param options table
---@return table? result
---@return string? message
---@return string? code
function M.replay(owner, path, model, options)
  local reply, share = ask(owner, { op = "replay", path = path, model = model,
    options = options }, { budget = options.budget, what = "the recorded program" })
  if not reply.result then return nil, reply.why, reply.code end
  local all, at = share and arrays_of(share)[1]:bytes() or "", 1
  for _, read in ipairs(reply.result.reads) do
    if not read.same then read.bytes, at = all:sub(at, at + read.size - 1), at + read.size end
  end
  return reply.result
end

return M
