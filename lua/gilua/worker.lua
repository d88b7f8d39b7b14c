--- What a worker process does: compiles batches and runs mutants, one message at a time.
--
-- Messages carry all they need (problem, device, case), so a worker can be replaced at any moment;
-- the problem and the case of the last message are kept, because the next one wants them again.

local core = require "gilua.core"
local gi = require "gilua"
local wire = require "gilua.wire"
local runner = require "gilua.runner"

local state = {} -- problem, device and case at hand, with the text that asked for each

local function made(problem, spec)
  local case, message = problem:case(spec)
  if not case then gi.fail("%s", message) end
  return case
end

local function problem_at_hand(m)
  local key = wire.encode { m.problem, m.device }
  if state.key ~= key then
    local problem = gi.problem(m.problem)
    local device, message = gi.device(m.device)
    if not device then gi.fail("%s", message) end
    state = { key = key, problem = problem, runner = runner.new(problem, device) }
    local small = problem.definition.checked_case
    if small then
      state.checked = runner.new(problem, device)
      state.checked:use(made(problem, small))
    end
  end
  return state.problem
end

local function case_at_hand(m)
  local problem = problem_at_hand(m)
  if state.case_key == m.case_key then return 0 end
  local start = core.system.seconds()
  state.case_key = nil
  local case = made(problem, m.case)
  state.runner:use(case)
  state.case_key = m.case_key
  state.case_info = { name = case.name, answers = case.answers, voxels = case.voxels }
  return core.system.seconds() - start
end

local operations = {}

function operations.compile(m)
  local start = core.system.seconds()
  local results, message = gi.compile.batch(m.units, m.options)
  if not results then gi.fail("%s", message) end
  for _, r in ipairs(results) do
    if r.code then r.hash = core.compile.canonical_hash(r.code) end
  end
  return { results = results, seconds = core.system.seconds() - start }
end

--- The first run is on a small case with every check on: a kernel whose lanes race may give right
-- answers here and wrong ones on a GPU. What survives runs the whole case.
function operations.run(m)
  local case_seconds = case_at_hand(m)
  local first = state.checked
    and state.checked:measure(m.code, m.values, m.checked_budget, true)
  local measurement = first
  if not first or first.status == "ok" then
    measurement = state.runner:measure(m.code, m.values, m.budget)
  end
  if first then
    measurement.uninitialised_reads = first.uninitialised_reads
    measurement.checked_instructions = first.warp_instructions
  end
  measurement.seconds.case = case_seconds
  measurement.seconds.checked = first and first ~= measurement and first.seconds.run or 0
  return { measurement = measurement, case = state.case_info }
end

local function answer(bytes)
  local m = wire.decode(bytes)
  local ok, result = xpcall(operations[m.op], function(e)
    return type(e) == "table" and { sentence = tostring(e) } or { trace = debug.traceback(e, 2) }
  end, m)
  return wire.encode(ok and result or { failure = result })
end

return function()
  core.farm.serve(answer)
end
