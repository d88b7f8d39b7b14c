--- replayer: runs mutants of a recorded problem (gilua.recorded). It replays the recording on the
--- virtual GPU with the mutant's code in place of its kernels, and compares every piece that the
--- program copied out with the recorded one. For such problems it replaces runner.lua.
--
-- The program's other launches run as recorded. A host loop that ended because of a value it read
-- has its recorded number of iterations, so each piece must agree in its turn.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local roofline = require "gilua.base.roofline"
local recording = require "gilua.problem.recording"
local gpureplayer = require "gilua.farm.gpureplayer"
local launches = require "gilua.transform.launch"
local runner = require "gilua.farm.runner"
local streams = require "gilua.problem.streams"
local touches = require "gilua.problem.touches"
local tolerance = require "gilua.problem.tolerance"

local M = {}
M.__index = M

local failed = runner.failed

---@param problem gilua.problem
function M.new(problem)
  return setmetatable({ problem = problem, recorded = problem.definition.recorded }, M)
end

--- The runner of a problem: this one where it is recorded, on a GPU gpureplayer.lua's.
---@param problem gilua.problem
---@param device userdata
---@return table
function M.runner(problem, device)
  if not problem.definition.recorded then return runner.new(problem, device) end
  local own = M.new(problem)
  return device:name() == "emu" and own or gpureplayer.new(problem, device, own)
end

--- Makes `case` the one to run; nil: none.
function M:use(case)
  if self.recording then self.recording.file:close() end
  self.case, self.recording = case, case and recording.open(case.recording)
  self.same = {} -- what comparing a piece with itself says
  self.shapes_of, self.joins_for = {}, {} -- see M:grids, M:joins
  self.plans = {} -- see M:streams
  self.expected = nil -- bytes by piece, in the place of the recording's (gpureplayer.lua)
  if not case then return end
  self.modules = self.recording:modules_of(self.recorded:kernels())
  self.answers_of = self.recorded:answers(self.recording)
end

--------------------------------------------------------------------------------------------------
-- Names. The source's kernels are extern "C", the program's are C++'s; and the compiler takes many
-- mutants at a time, which leaves the longer length of a name within the names made of it.

local TAG = #"__gilua0000"

local function escaped(name)
  return (name:gsub("%p", "%%%0"))
end

-- What the PTX of a mutant calls a variable of the recording's: _ZL5table is _ZL16table there.
local function tagged(name)
  return (name:gsub("^(_ZN?L?)(%d+)", function(head, length)
    return head .. math.tointeger(tonumber(length)) + TAG
  end))
end

--- PTX with the recording's names; nil and why where a kernel is not there.
---@param ptx string
---@return string?
---@return string?
function M:renamed(ptx)
  for name, entry in pairs(self.recorded.entries) do
    local n
    ptx, n = ptx:gsub("(%.entry%s+)" .. escaped(name) .. "(%s*%()",
      function(before, behind) return before .. entry .. behind end)
    if n == 0 then return nil, ("kernel %s is not there any more"):format(name) end
  end
  for _, event in ipairs(self.recording.events) do
    local name = event[1] == "variable" and event[3]
    if name and name:find "^_ZN?L?%d" then
      ptx = ptx:gsub("%f[%w_$]" .. escaped(tagged(name)) .. "%f[^%w_$]", { [tagged(name)] = name })
    end
  end
  return ptx
end

--- PTX as machine code is made of it for a recording's launches: with the recording's names, and
--- with variables that the driver finds. What leaves functions to the driver (printf, malloc) is
--- left to it whole.
---@param ptx string
---@return string? nil: the driver's
---@return string? why it cannot be launched
function M:linkable(ptx)
  if ptx:find "%.extern%s+%.func" then return nil end
  local text, why = self:renamed(ptx)
  if not text then return nil, why end
  return (("\n" .. text):gsub("\n(%.global )", "\n.visible %1"):gsub("\n(%.const )",
    "\n.visible %1"):sub(2))
end

--------------------------------------------------------------------------------------------------
-- Launches

local AS_IT_WAS = { 0, 0, 0 }

local sides = launches.sides

-- The grids and blocks of all launches as the words of transformations want them, packed, and how
-- many times as many threads the launch has that grows most; raises where one cannot have them.
local function changed_shapes(self, text)
  local words, list, times = {}, {}, 1
  for name, entry in pairs(self.recorded.entries) do words[entry] = launches.of(text, name) end
  for _, event in ipairs(self.recording.events) do
    local own = event[1] == "launch" and (words[event[3]] or "")
    local new = own and own ~= "" and launches.changed({ grid = sides(event[4]),
      block = sides(event[5]) }, own)
    if new and new.shared then
      error("a launch of a recording keeps the shared memory that it was given", 0)
    end
    times = math.max(times, new and new.times or 1)
    if own then
      list[#list + 1] = string.pack("I4I4I4", table.unpack(new and new.grid or AS_IT_WAS))
        .. string.pack("I4I4I4", table.unpack(new and new.block or AS_IT_WAS))
    end
  end
  return table.concat(list), times
end

-- Which launches are done together with those behind them, packed; nil: none; false and why where
-- they cannot be.
local function joins_of(self, text)
  local joined, words, of_entry = launches.joined(text), {}, {}
  if not next(joined) then return nil end
  for name, entry in pairs(self.recorded.entries) do
    words[name] = launches.of(text, name):gsub("before%S+", ""):match "^%s*(.-)%s*$"
    of_entry[entry] = joined[name]
  end
  for name, join in pairs(joined) do
    if words[name] ~= words[join.other] then
      return false, ("%s and %s are done together, in another shape each"):format(name, join.other)
    elseif joined[join.other] then
      return false, ("%s is done together with two others"):format(join.other)
    end
  end
  local list, events = {}, self.recording.events
  for i, event in ipairs(events) do
    local join = event[1] == "launch" and of_entry[event[3]]
    if event[1] == "launch" then list[#list + 1] = string.pack("I4", join and join.at or 0) end
    if join and not recording.follower(events, i, self.recorded.entries[join.other]) then
      return false, ("launch %d has none of %s in the same shape right behind it"):format(#list,
        join.other)
    end
  end
  return table.concat(list)
end

--- Which launches a mutant's values want together with those behind them, as a replay takes them:
--- nil where none; false and why where that cannot be.
---@param values table?
---@return string|false|nil
---@return string?
function M:joins(values)
  local text = values and values[launches.PARAMETER]
  if not text then return nil end
  if not self.joins_for[text] then self.joins_for[text] = table.pack(joins_of(self, text)) end
  local joins, why = table.unpack(self.joins_for[text], 1, 2)
  if joins and (values[streams.PARAMETER] or 1) > 1 then
    return false, "launches that are done together are on one stream"
  end
  return joins, why
end

--- The shapes of launches that a mutant's values ask for, as a replay takes them: nil where all are
--- as recorded; false and why where a launch cannot be so.
---@param values table?
---@return string|false|nil
---@return string|number|nil why; or how many times as many threads there are
function M:grids(values)
  local text = values and values[launches.PARAMETER]
  if not text then return nil end
  if not self.shapes_of[text] then
    local fine, made, times = attempt(changed_shapes, self, text)
    if not fine then return false, tostring(made) end
    self.shapes_of[text] = { made, times }
  end
  return table.unpack(self.shapes_of[text])
end

-- Had this process no memory for it? That says nothing of the mutant until it was so twice, alone
-- (crew.lua). More than a replay may take is another matter.
local function lacks_memory(r, message, kind)
  return r and r.status == "out_of_memory"
    or kind == "nomem" and message:find("no memory for", 1, true) ~= nil
end

--- On which streams a mutant's values want the launches; nil: all on one.
---@param values table?
---@return gilua.streams?
function M:streams(values)
  local n = values and values[streams.PARAMETER] or 1
  if n == 1 then return nil end
  self.plans[n] = self.plans[n] or streams.plan(self.recording, n)
  return self.plans[n]
end

-- A mutant on several streams is held to what its launches wait for, which was found of the kernels
-- as they were: by what its code can touch, whatever the data, and by what it touched.
local function broken(self, plan, ptx)
  local access = plan and touches.access(ptx, self.recorded:kernels())
  return access and streams.broken(plan, touches.of(self.recording, access))
end

local function held(plan, r)
  local why = plan and r.status == "ok" and streams.broken(plan, r.touched)
  if why then r.status, r.message = "race", why end
  return r
end

--- The recording's result with a mutant's code; or nil, why, and the status of such a mutant.
---@param ptx string
---@param options table of a recording's replay
---@param values? table the mutant's
---@return table?
---@return string?
---@return string?
function M:replay(ptx, options, values)
  local text, why = self:renamed(ptx)
  if not text then return nil, why, "launch_error" end
  local times
  options.shapes, times = self:grids(values)
  if options.shapes == false then return nil, times, "launch_error" end
  if options.budget and times then options.budget = math.ceil(options.budget * times) end
  options.joins, why = self:joins(values)
  if options.joins == false then return nil, why, "launch_error" end
  local plan = self:streams(values)
  why = broken(self, plan, text)
  if why then return nil, why, "race" end
  options.turns, options.touched = plan and plan.turns, plan ~= nil
  options.code, options.partial = {}, true
  for module in pairs(self.modules) do options.code[module] = text end
  local r, message, kind = self.recording:replay(options)
  if lacks_memory(r, message, kind) then ends.raise_no_memory() end
  if r then return held(plan, r) end
  if kind ~= "compile" then fail("%s: %s", self.recording.path, message) end
  return nil, message, message:find "^kernel %S+ takes " and "launch_error" or "compile_error"
end

local function place(r)
  return r.event and ("%s (event %d of the recording)"):format(r.message, r.event) or r.message
end

--------------------------------------------------------------------------------------------------
-- The answers

-- Returns a piece as an array of its type, or of bytes if its length is no multiple of the type's.
local function array_of(bytes, type)
  local size = math.tointeger(tonumber(type:match "%d+")) // 8
  return core.array.frombytes(bytes, #bytes % size == 0 and type or "u8")
end

local function compared(self, answer, bytes, expected)
  local limits = self.problem.tolerance
  local got = array_of(bytes, answer.type)
  local options = { max_error = answer.max_error, rel_error = answer.rel_error,
    limit = limits.wrong_above }
  return assert(core.array.compare(got, array_of(expected, answer.type),
    tolerance.options(limits, options)))
end

--- One piece with what it was then; of one that is the same the bytes need not be there.
function M:compared(i, read, answer)
  local bytes, expected = read.bytes, self.expected and self.expected[i]
  local function recorded() return self.recording:blob(answer.blob, read.size) end
  if expected then return compared(self, answer, bytes or recorded(), expected) end
  if bytes then return compared(self, answer, bytes, read.same and bytes or recorded()) end
  self.same[i] = self.same[i] or compared(self, answer, recorded(), recorded())
  return self.same[i]
end

--- Compares all that was copied out with what it was then.
---@param r table of M:replay
---@return table fields of a comparison
function M:judge(r)
  local verdict
  for i, answer in ipairs(self.answers_of) do
    local read = r.reads[i]
    if read and (not read.bytes or #read.bytes > 0) then
      local one = self:compared(i, read, answer)
      verdict = verdict and runner.together(verdict, one) or one
    end
  end
  return verdict
end

--- nil: how large answers are is no measure of a recording's.
function M:largest()
  return nil
end

--------------------------------------------------------------------------------------------------
-- What runner.lua does

--- The checked run: M:check of runner.lua.
function M:check(code, values, budget, guarded, loop_limit, plain, meets)
  local limit = loop_limit and string.pack("<i8", loop_limit)
  local r, why, status = self:replay(code, { budget = budget, count_uninitialised = not plain,
    check_races = not plain and self.problem.check_races or nil,
    benign_races = self.problem.benign_races, meets = meets,
    variables = { gilua_loop_overrun = true, gilua_loop_limit = limit } }, values)
  if not r then return { status = status, message = why } end
  self.last = r
  local overrun = guarded and r.variables.gilua_loop_overrun
  local line = overrun and string.unpack("<i4", overrun) or 0
  if line ~= 0 then
    return { status = "loop_limit",
             message = ("the loop of kernel.cu line %d ran over the limit of its guard"):format(
               line) }
  end
  return { status = r.status, message = place(r), instructions = r.warp_instructions,
           ticks = r.ticks, warnings = r.warnings,
           meets = r.status == "ok" and r.meets or nil }
end

--- Runs the program over the reals, races checked: M:exactly of runner.lua. What the host writes
--- are its inputs, and all that it copies out are the answers.
function M:exactly(kernel, how)
  local exact = core.exact.new(how.seed)
  local r, why, status = self:replay(kernel.code, { exact = exact, budget = how.budget,
    backwards = how.backwards, check_races = "global", benign_races = self.problem.benign_races },
    kernel.values)
  if r and r.status == "ok" then return exact end
  exact:close()
  return nil, r and place(r) or why, r and r.status or status
end

M.check_first = runner.check_first

--- A verdict, with what the answers are worth, where it ran.
function M:examined(verdict)
  if verdict.status ~= "ok" then return verdict end
  for key, value in pairs(self:judge(self.last)) do verdict[key] = value end
  return verdict
end

-- A measurement, and the replay where it came to its end.
local function measured(self, mutant, job)
  local begun = core.system.seconds()
  local r, why, status = self:replay(mutant.code, { budget = job.budget }, mutant.values)
  local ran = core.system.seconds()
  local m
  if not r or r.status ~= "ok" then
    m = failed(r and r.status or status, r and place(r) or why)
  else
    m = self:judge(r)
    m.status, m.ticks, m.ns, m.kernels = "ok", r.ticks, r.ns, r.kernels
    for _, field in ipairs(roofline.COUNTED) do m[field] = r[field] end
    m.energy_j = r.energy_j
    m.warp_instructions, m.warnings = r.warp_instructions, r.warnings
    m.registers, m.shared_bytes = self:needs(mutant.code)
  end
  m.seconds = { run = ran - begun, check = core.system.seconds() - ran, time = 0 }
  return m, r
end

--- Registers of a thread and static shared bytes of a block, of the kernel that has most.
---@param code string
---@return integer registers
---@return integer shared_bytes
function M:needs(code)
  self.device = self.device or assert(core.device.open("emu", require("gilua.base.gpus").model()))
  local module <close> = assert(self.device:load(code))
  local registers, shared = 0, 0
  for name in pairs(self.recorded.entries) do
    local info = module:info(name)
    registers = math.max(registers, info.registers)
    shared = math.max(shared, info.shared_bytes)
  end
  return registers, shared
end

--- Replays with a mutant and checks all that was copied out.
---@param mutant { code: string }
---@param job { budget: number }
---@return table measurement; kernels: { name, launches, ticks, ns } of each
function M:measure(mutant, job)
  return (measured(self, mutant, job))
end

--- What a mutant makes the program copy out: all pieces behind each other, as bytes.
---@return table measurement
---@return userdata? array
function M:answers(mutant, job)
  local m, r = measured(self, mutant, job)
  if m.status ~= "ok" then return m end
  local parts = {}
  for i, read in ipairs(r.reads) do parts[i] = read.bytes end
  return m, core.array.frombytes(table.concat(parts), "u8")
end

--- What a variable of instrumented code holds after a run: `noted` of runner.lua.
function M:noted(code, values, name, _, budget)
  local r, why, status = self:replay(code, { variables = { [name] = true }, budget = budget },
    values)
  if not r or r.status ~= "ok" then return nil, r and place(r) or why, r and r.status or status end
  return core.array.frombytes(r.variables[name], "u8")
end

return M
