--- gpureplayer: runs mutants of a recorded problem on a GPU. It replays the whole recording with
--- the mutant's code: once with each kernel timed and every copied piece compared, then repeatedly
--- for the time of the whole sequence. It replaces runner.lua and inherits the parts that do not
--- concern a single launch; replayer.lua does the same on the virtual GPU.

local runner = require "gilua.farm.runner"
local settings = require "gilua.base.settings"

local M = setmetatable({}, { __index = runner })
M.__index = M

local failed = runner.failed

local PAIR_BLOCKS = 20 -- of interleaved repetitions; see M:pair
-- A long sequence is repeated so often at least, and for so long or so long at most; launches in a
-- row vary by a percent, however often.
local LEAST_SAMPLES, ENOUGH_S, MOST_S = 6, 0.02, 0.06
local OWN_S = 10 -- for the unmodified kernels' first replay

---@param problem gilua.problem
---@param device userdata of a GPU
---@param twin table replayer.lua's of the same problem: it knows names and answers
function M.new(problem, device, twin)
  return setmetatable({ problem = problem, device = device, virtual = false, twin = twin,
    as_graph = problem.definition.recorded.table.launches == "graph" }, M)
end

-- The pieces that the kernels as they were recorded give here, where these are wrong by the
-- recording's and the same each time: a program whose answers hang on the last bit (who is drawn,
-- which way a branch goes) has others on each GPU, for their assemblers round differently. With the
-- share of the recording's answers that is another here. nil: the recording's are what is right.
local function own_answers(self)
  local function pieces()
    local m = self.replay:run { bytes = true, timeout_s = OWN_S }
    if m and m.lost then self.fault = m end
    return m and m.status == "ok" and m.reads
  end
  local first = pieces()
  local verdict = first and self.twin:judge { reads = first }
  if not verdict or verdict.off == 0 and verdict.unset == 0 then return nil end
  local second, list = pieces(), {}
  for i, read in ipairs(first) do
    if not second or second[i].bytes ~= read.bytes then return nil end
    list[i] = read.bytes
  end
  return list, verdict.off
end

--- Makes `case` the one to run; nil: none.
function M:use(case)
  if self.replay then self.replay:close() end
  self.replay, self.baseline, self.reads, self.ns, self.fault = nil, nil, nil, nil, nil
  self.twin:use(case)
  if not case then return end
  local why
  self.replay, why = self.device:replay(self.twin.recording.file,
    settings.keys(self.twin.recorded:kernels()))
  if not self.replay then error(("%s: %s"):format(case.recording, why), 0) end
  self.twin.expected, self.own_share = own_answers(self)
end

--------------------------------------------------------------------------------------------------
-- What stands for a module that is loaded: its code, which a replay loads where it has not got it

local Code = {}
Code.__index = Code

local TIMING = { "rel_error", "min_samples", "max_samples", "stop_above_ns" }

local function run(self, launch, options)
  options.code, options.partial, options.timeout_s = self.code, true, launch.timeout_s
  options.shapes, options.turns = self.shapes, options.timed and self.turns or nil
  options.joins = self.joins
  local m, why, code = self.replay:run(options)
  if m and m.status == "ok" then self.owner.reads = m.reads end
  return m, why, code
end

--- One replay, each kernel timed.
function Code:launch(launch)
  local m, why, code = run(self, launch, { bytes = launch.bytes })
  self.ns = m and m.ns
  return m, why, code
end

--- Replays until the median is known.
function Code:time(launch)
  local options = { timed = true, as_graph = self.owner.as_graph }
  for _, name in ipairs(TIMING) do options[name] = launch[name] end
  return run(self, launch, options)
end

function Code.close() end

-- Machine code has the recording's names already (replayer.lua: linkable).
local function is_machine_code(code)
  return code:sub(1, 4) == "\127ELF"
end

--- runner.lua's, of PTX or of machine code; with the launches' shapes that
--- transformations want, and on the streams that they go on when they are timed together.
---@param mutant { code: string, values: table? }
function M:module(mutant)
  if self.fault then -- of the kernels as they are, which cost this process its GPU
    local gone = failed(self.fault.status, self.fault.message)
    gone.lost = true
    return nil, gone
  end
  local text, why = mutant.code, nil
  if not is_machine_code(text) then text, why = self.twin:renamed(text) end
  if not text then return nil, failed("launch_error", why) end
  local shapes, cannot = self.twin:grids(mutant.values)
  if shapes == false then return nil, failed("launch_error", cannot) end
  local joins, apart = self.twin:joins(mutant.values)
  if joins == false then return nil, failed("launch_error", apart) end
  local code = {}
  for number in pairs(self.twin.modules) do code[number] = text end
  local plan = self.twin:streams(mutant.values)
  return setmetatable({ code = code, shapes = shapes, joins = joins, turns = plan and plan.turns,
    replay = self.replay, owner = self }, Code)
end

--- What is launched is the recording's, but for the shapes of launches, which are the
--- module's.
function M.prepare()
  return {}
end

--------------------------------------------------------------------------------------------------
-- Answers and times

--- Compares what was copied out in the last replay with what it was then; with `own`, with what the
--- kernels as they were give here: that share of what it was then is something else.
function M:judge()
  local verdict = self.twin:judge { reads = self.reads }
  verdict.own = self.own_share
  return verdict
end

function M:largest()
  return self.twin:largest()
end

-- How often a sequence of about ns is repeated.
local function bound_samples(options, ns)
  local function within(s) return math.max(LEAST_SAMPLES, math.ceil(s * 1e9 / ns)) end
  options.min_samples = math.min(options.min_samples, within(ENOUGH_S))
  options.max_samples = math.min(options.max_samples, within(MOST_S))
end

--- Times code that gave tolerable answers, and looks at the answers of the last replay.
function M:time(module, launch, how)
  local options = { timeout_s = launch.timeout_s }
  for _, name in ipairs(TIMING) do options[name] = how[name] end
  self.ns = self.ns or module.ns
  if self.ns then bound_samples(options, self.ns) end
  local m, why, code = module:time(options)
  if not m then error(("%s (%s)"):format(why, code), 0) end
  if m.status ~= "ok" then return m end
  m.ns = m.median_ns or m.ns
  return m, self:judge()
end

--- What a mutant makes the program copy out: all pieces behind each other, as bytes.
---@return table measurement
---@return userdata? array
function M:answers(mutant, job)
  local core = require "gilua.core"
  local m = self:measure(mutant, { budget = job.budget, launch_s = job.launch_s })
  if m.status ~= "ok" then return m end
  local all = self:module(mutant):launch { bytes = true, timeout_s = job.launch_s }
  if all.status ~= "ok" then return failed(all.status, all.message) end
  local parts = {}
  for i, read in ipairs(all.reads) do parts[i] = read.bytes end
  return m, core.array.frombytes(table.concat(parts), "u8")
end

--- Repetitions of two mutants in turn, some of each at a time, A B B A …
---@return table { status, a_ns, b_ns, block } or { status, message }
function M:pair(a, b, job)
  local block = math.ceil(job.pairs / PAIR_BLOCKS)
  local found = { status = "ok", a_ns = {}, b_ns = {}, block = block }
  local sides = { { a, found.a_ns }, { b, found.b_ns } }
  while #found.b_ns < job.pairs or #found.a_ns < job.pairs do
    for _, side in ipairs(sides) do
      local n = math.min(block, job.pairs - #side[2])
      local m, why = self:module(side[1]):time {
        min_samples = n, max_samples = n, timeout_s = job.launch_s }
      if not m then error(why, 0) end
      if m.status ~= "ok" then return { status = m.status, message = m.message, lost = m.lost } end
      table.move(m.samples, 1, #m.samples, #side[2] + 1, side[2])
    end
    sides[1], sides[2] = sides[2], sides[1]
  end
  return found
end

return M
