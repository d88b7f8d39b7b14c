--- agent: works for managers on other machines (cluster.lua), with a crew of its own for each run.
--
-- The problem's folder must exist on the agent's machine. A manager names the folder and a key of
-- its files; if the files differ, the agent refuses the work. The agent runs nothing of a problem
-- itself: its workers do, in their box. It builds cases from their descriptions and compares them
-- with the manager's by 128 bits of their content.

local attempt = require "gilua.base.attempt"
local cluster = require "gilua.farm.cluster"
local codestore = require "gilua.farm.codestore"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local devices_of = require "gilua.farm.devices"
local fail = require "gilua.base.fail"
local filecache = require "gilua.farm.filecache"
local fingerprint = require "gilua.base.fingerprint"
local host = require "gilua.base.host"
local identity = require "gilua.base.identity"
local lfs = require "lfs"
local link = require "gilua.farm.link"
local parcels = require "gilua.farm.parcels"
local settings = require "gilua.base.settings"
local wire = require "gilua.base.wire"

local M = {}

local DEPTH = 2 -- jobs for each worker: the next one is there when it is through with one
local FORGOTTEN_S = 120 -- a run whose manager is not heard of for so long is over
local MOST_CASES = 4 -- that are kept beside each other
local AT_ONCE = 50 -- answers that go into one message
local GLANCE_S = 0.02 -- at one run's workers, where there are several runs

-- --- one run ------------------------------------------------------------------------------------

---@class gilua.agent.session
---@field jobs table<integer, table> in hand: what the manager said of them, by number
---@field cases table<string, table> { bytes, share, digest, info … } by what makes them
local Session = {}
Session.__index = Session

local function reply_with_arrays(reply, share)
  if not share then return { reply = reply } end
  local arrays, why = share:arrays()
  share:close()
  if not arrays then fail("%s", why) end
  local list = {}
  for i, a in ipairs(arrays) do
    list[i] = { bytes = a:bytes(), dtype = a:dtype(), shape = { a:shape() } }
  end
  return { reply = reply, arrays = list }
end

--- What compilers made stays here, under tickets.
function Session:keep_codes(reply)
  local codes = self.agent.codes
  for _, r in ipairs(reply.results or {}) do
    if r.code then r.code = codes:keep(r.code) end
    if r.ir then r.ir = codes:keep(r.ir) end
  end
  for i, image in ipairs(reply.images or {}) do reply.images[i] = codes:keep(image) end
end

--- A verdict goes to the manager with the next message.
function Session:answer(spec, verdict)
  verdict.id = spec.id
  for _, part in ipairs(verdict.parts or { verdict }) do
    if part.reply and part.reply.other then self.refusal = part.reply.other end
    if part.reply then self:keep_codes(part.reply) end
  end
  if self.refusal then return end
  self.jobs[spec.id] = nil
  self.finished = self.finished + 1
  self.out[#self.out + 1] = verdict
end

--- What the crew is to do with a job, and whom it tells.
---@param spec table what the manager says of it
---@param message fun(worker: table): table, userdata?
---@param settle fun(verdict: table)
local function job_of(spec, message, settle)
  return {
    kind = spec.kind, role = spec.role, sleep_s = spec.sleep_s, once = spec.once,
    strikes = spec.strikes, suspect = spec.suspect, message = message,
    limit_s = function() return spec.limit_s end,
    done = function(reply, _, share) settle(reply_with_arrays(reply, share)) end,
    blame = function(status, reason) settle { status = status, reason = reason } end,
    failed = function(failure) settle { failure = failure } end,
  }
end

-- The same for each unit of a compilation; the verdict is there when all of theirs are.
local function parts_of(spec, settle)
  local units, verdicts, left = spec.message.units, {}, #spec.message.units
  local jobs = {}
  for i, unit in ipairs(units) do
    local message = {}
    for k, v in pairs(spec.message) do message[k] = v end
    message.units = { unit }
    local part = { kind = spec.kind, role = spec.role, sleep_s = spec.sleep_s, once = spec.once,
                   limit_s = spec.part_limit_s }
    jobs[i] = job_of(part, function() return message end, function(verdict)
      verdicts[i], left = verdict, left - 1
      if left == 0 then settle { parts = verdicts } end
    end)
  end
  return jobs
end

-- A text with one path in the place of another.
local function moved(text, from, to)
  local at, last = text:find(from, 1, true)
  if not at then return text end
  return text:sub(1, at - 1) .. to .. text:sub(last + 1)
end

--- A compiler's options name folders, which may lie elsewhere here.
function Session:options_here(options)
  local list = {}
  for i, option in ipairs(options) do
    local own = moved(option, self.there.path, self.dir)
    list[i] = own == option and moved(option, self.there.home, core.home) or own
  end
  return list
end

--- What makes a case, by the names that its files have here.
function Session:spec_here(spec)
  local own = type(spec) == "table" and self.names[spec.recording]
  if not own then return spec end
  local copy = {}
  for k, v in pairs(spec) do copy[k] = v end
  copy.recording = own
  return copy
end

--- A message for a worker here: where things lie, the device, and the case where the worker has
--- another one.
function Session:message_for(worker, message, case)
  if message.problem then message.problem = self.dir end
  if message.device then message.device = worker.device end
  message.elsewhere = self.elsewhere
  if not message.case_key then
    message.case = self:spec_here(message.case)
    return message
  end
  message.case = nil
  if not case or worker.case_key == message.case_key then return message end
  worker.case_key = message.case_key
  message.case = case.bytes
  return message, case.share
end

function Session:post(spec, case)
  local settle = function(verdict)
    if case then case.users = case.users - 1 end
    self:answer(spec, verdict)
  end
  local job = job_of(spec, function(worker)
    return self:message_for(worker, spec.message, case)
  end, settle)
  if spec.part_limit_s then job.parts = function() return parts_of(spec, settle) end end
  self.crew:post(job)
end

-- --- cases

-- What nobody uses and was made first goes.
local function drop_old(cases)
  while #cases >= MOST_CASES do
    local oldest
    for i = #cases, 1, -1 do
      if cases[i].users == 0 and cases[i].verdict then oldest = i end
    end
    if not oldest then return end
    local case = table.remove(cases, oldest)
    cases[case.key] = nil
    if case.share then case.share:close() end
  end
end

--- Has a case built, once, and calls `use` when it is there, or cannot be.
function Session:with_case(made_of, use)
  made_of = self:spec_here(made_of)
  local key = wire.encode(made_of)
  local case = self.cases[key]
  if case and case.verdict then return use(case) end
  if case then
    table.insert(case.waiting, use)
    return
  end
  drop_old(self.cases)
  case = { key = key, users = 0, waiting = { use } }
  self.cases[key] = case
  table.insert(self.cases, case)
  local spec = { kind = "case", role = "host", limit_s = self.timeout_s }
  local job = job_of(spec, function()
    return { op = "case", problem = self.dir, case = made_of, digest = true,
             elsewhere = self.elsewhere }
  end, function(verdict)
    case.verdict = verdict
    for _, waiting in ipairs(case.waiting) do waiting(case) end
  end)
  function job.done(reply, _, share)
    case.bytes, case.share, case.digest = reply.case, share, reply.digest
    case.verdict = { reply = { info = reply.info, seconds = reply.seconds, digest = reply.digest } }
    for _, waiting in ipairs(case.waiting) do waiting(case) end
  end
  self.crew:post(job)
end

-- A job of the manager's that says what a case is.
function Session:answer_case(spec)
  self:with_case(spec.message.case, function(case)
    local verdict = {}
    for k, v in pairs(case.verdict) do verdict[k] = v end
    self:answer(spec, verdict)
  end)
end

-- A job on a case, which is the manager's too.
function Session:post_on_case(spec)
  local wanted = spec.message.case
  self:with_case(wanted.spec, function(case)
    if case.digest ~= wanted.digest then
      local why = case.verdict.reason or case.verdict.failure and case.verdict.failure.sentence
      self.refusal = why and "the agent cannot make the case: " .. why
        or "the case that its files make is another than that of the first agent"
      return
    end
    case.users = case.users + 1
    self:post(spec, case)
  end)
end

--- Begins a job whose files and code are all here.
function Session:begin(spec)
  local message = spec.message
  if message.options then message.options = self:options_here(message.options) end
  if spec.kind == "case" then return self:answer_case(spec) end
  if spec.kind == "fetch" then return self:answer(spec, { reply = { code = message.code } }) end
  if message.case_key then return self:post_on_case(spec) end
  self:post(spec)
end

function Session:take(spec)
  if self.jobs[spec.id] then return end -- it was given out again while it was on its way
  self.jobs[spec.id] = spec
  self.agent.codes:fill(spec.message, function(missing)
    if self.jobs[spec.id] ~= spec then return end -- nobody wants it any more
    if missing then return self:answer(spec, { missing = missing }) end
    self:begin(spec)
  end)
end

-- --- talking to the manager

function Session:say(message)
  message.agent = self.agent.id
  self.agent.link:send(self.subject, message)
end

-- Workers lost since this was asked last.
function Session:new_losses()
  local losses, restarts = {}, self.crew.restarts - self.told_restarts
  for kind, n in pairs(self.crew.losses) do
    losses[kind] = n - (self.told_losses[kind] or 0)
    self.told_losses[kind] = n
  end
  self.told_restarts = self.crew.restarts
  return restarts, losses
end

function Session:flush()
  if #self.out == 0 then return end
  local restarts, losses = self:new_losses()
  self:say { op = "done", list = self.out, restarts = restarts, losses = losses }
  self.out = {}
end

--- Serves the crew for a while. False where nothing more can be done here.
---@param patience_s number
function Session:step(patience_s)
  local ok, why = attempt(function()
    local seen, n = self.crew:step(patience_s), 0
    while seen and n < AT_ONCE and not self.refusal do
      seen, n = self.crew:step(0), n + 1
    end
  end)
  if not ok then self.refusal = tostring(why) end
  if self.refusal then
    self:say { op = "refused", why = self.refusal }
    return false
  end
  self:flush()
  return true
end

--- What is in hand, as a sign of life.
function Session:beat()
  self:say { op = "hand", number = self.number, ids = cluster.numbers(self.jobs) }
end

function Session:close()
  self.jobs = {}
  self.crew.processes:watch(-1)
  for _, case in ipairs(self.cases) do
    if case.share then case.share:close() end
  end
  self.crew:close()
end

local orders = {} -- what a manager says, by op

function orders.work(self, m)
  self.number = m.number
  for _, spec in ipairs(m.jobs) do self:take(spec) end
end

function orders.alive(self, m)
  for id, limits in pairs(m.limits) do
    local spec = self.jobs[id]
    if spec then spec.limit_s, spec.part_limit_s = limits.limit_s, limits.part_limit_s end
  end
end

function orders.drop(self)
  self.jobs, self.out = {}, {}
  self.crew:clear()
  for _, case in ipairs(self.cases) do case.users = 0 end
  for i = #self.cases, 1, -1 do
    local case = self.cases[i]
    if not case.verdict then -- half made
      self.cases[case.key] = nil
      table.remove(self.cases, i)
    end
  end
end

-- --- may it work for that run? -------------------------------------------------------------------

local function differs(what, here, there)
  return ("%s is %s at the agent and %s at the manager"):format(what, tostring(here or "none"),
    tostring(there or "none"))
end

--- Where a manager's problem lies here; nil, and why nowhere.
local function place_here(m)
  local places = { m.place.path }
  if m.place.below_home then table.insert(places, 1, core.home .. "/" .. m.place.below_home) end
  for _, dir in ipairs(places) do
    if lfs.attributes(dir .. "/problem.lua", "mode") == "file" then
      if identity.problem(dir, parcels.names(m.parcels)) == m.files then return dir end
      return nil, ("the files of the problem in %s are others than the manager's"):format(dir)
    end
  end
  return nil, ("the agent has no problem %s: it must lie in %s"):format(m.problem,
    table.concat(places, ", or in "))
end

-- The GPUs that it may use for a run on that device; nil, and why none.
local function devices_for(devices, wanted)
  if wanted.kind == "emu" then return devices_of.probe("emu", 0) end
  for _, d in ipairs(devices) do
    if d.name ~= wanted.name then return nil, differs("the GPU", d.name, wanted.name) end
    if d.driver ~= wanted.driver then
      return nil, differs("the driver", d.driver, wanted.driver)
    end
  end
  return devices
end

-- Why it is no work for this agent; nil where it is.
local function refusal(agent, m)
  local versions = host.versions()
  if m.gilua ~= versions.gilua then return differs("gilua", versions.gilua, m.gilua) end
  if m.nvrtc ~= versions.nvrtc then return differs("NVRTC", versions.nvrtc, m.nvrtc) end
  local llvm = m.llvm and core.llvm.info()
  if m.llvm and m.llvm ~= (llvm and llvm.version) then
    return differs("LLVM", llvm and llvm.version, m.llvm)
  end
  if m.program ~= agent.program then
    return "the agent's gilua is another build than the manager's: install the same on both"
  end
end

-- --- the agent -----------------------------------------------------------------------------------

---@class gilua.agent
---@field sessions table<string, gilua.agent.session> by run
local Agent = {}
Agent.__index = Agent

--- Connects, and says so to everybody.
---@param o { url: string, jobs: integer, device: string, say: fun(format: string, ...), cache:
---  string?, cache_bytes: integer? } cache: the folder of what is fetched (filecache.lua)
---@return gilua.agent
function M.open(o)
  local compiler, why = core.compile.info()
  if not compiler then fail("%s", why) end
  local id = link.random_word()
  local self = setmetatable({ id = id, jobs = o.jobs, say = o.say, sessions = {}, arriving = {},
    beat_s = 0, files = filecache.new(o.cache, o.cache_bytes),
    host = core.system.hostname(), program = identity.program(), finished = 0,
    devices = o.device == "emu" and {} or devices_of.probe(o.device, 4 << 30) }, Agent)
  self.link = link.open(o.url, ("gilua agent %s"):format(self.host), o.say)
  self.codes = codestore.new(id, function(agent, message)
    self.link:send("gilua.agent." .. agent, message)
  end)
  self.link:ask("gilua.agent." .. id)
  self.link:ask "gilua.call"
  return self
end

function Agent:description()
  local list = {}
  for i, d in ipairs(self.devices) do list[i] = d.name end
  local workers = ("%d worker%s"):format(self.jobs, self.jobs == 1 and "" or "s")
  return ("%s%s"):format(workers, #list > 0 and ", " .. table.concat(list, ", ") or "")
end

local function slots_of(agent, devices)
  local virtual = devices[1] ~= nil and devices[1].device == "emu"
  local slots = { { roles = virtual and { "device", "host" } or { "host" },
                    n = DEPTH * agent.jobs } }
  if not virtual and #devices > 0 then
    slots[2] = { roles = { "device" }, n = DEPTH * #devices }
  end
  return slots
end

-- Why a library that is sent is not loaded here; nil where it is.
local function unboxed(agent)
  if os.getenv "GILUA_BOX" == "off" or agent.devices.box == "none" then
    return "it would run outside of a box at the agent (docs/security.md)"
  end
end

-- Where a parcel is here, without fetching it: in the problem's folder, or whatever lies there
-- where it may not be another.
local function at_hand(agent, parcel, path)
  if fingerprint.whole(path) == parcel.hash then return true end
  return parcel.kind == "library" and unboxed(agent) and lfs.attributes(path) ~= nil
end

--- Has a run's files fetched that are not here.
---@param m table what its manager offers
---@param dir string of the problem
---@param use fun(files?: table, why?: string) files: { names, elsewhere, paths }
function Agent:collect(m, dir, use)
  local files, left = { names = {}, paths = {} }, #m.parcels
  if left == 0 then return use(files) end
  for _, parcel in ipairs(m.parcels) do
    local path = parcel.name:find "^/" and parcel.name or dir .. "/" .. parcel.name
    files.names[parcel.named] = path
    local function arrived(place, why)
      left = left - 1
      if place and place ~= path then
        files.elsewhere = files.elsewhere or {}
        files.elsewhere[path] = place
        table.insert(files.paths, place)
      end
      if not place and not files.why then
        files.why = ("the %s %s is not to be had: %s"):format(parcel.kind, parcel.name, why)
      end
      if left == 0 then use(not files.why and files or nil, files.why) end
    end
    local forbidden = parcel.kind == "library" and unboxed(self)
    if at_hand(self, parcel, path) then
      arrived(path)
    elseif forbidden then
      arrived(nil, forbidden)
    else
      self.files:fetch(parcel, function(from)
        self.link:send("gilua.run." .. m.run,
          { op = "want", agent = self.id, hash = parcel.hash, from = from })
      end, arrived)
    end
  end
end

--- A crew for a run; it says that it is ready when a worker has seen the problem.
---@param files table of Agent:collect
function Agent:begin(m, dir, devices, files)
  local box = m.device.kind == "emu" and "emu" or self.devices.box or "emu"
  local session = setmetatable({
    agent = self, run = m.run, subject = "gilua.run." .. m.run, dir = dir, problem = m.problem,
    timeout_s = m.timeout_s, jobs = {}, cases = {}, out = {}, number = 0, finished = 0,
    told_restarts = 0, told_losses = {}, heard_s = core.system.seconds(),
    crew = crew.open(devices_of.staff(devices, self.jobs), m.memory_bytes, box, m.llvm ~= nil),
    there = { path = m.place.path, home = m.place.home },
    names = files.names, elsewhere = files.elsewhere, paths = files.paths,
  }, Session)
  self.sessions[m.run] = session
  session.crew.processes:watch(self.link:descriptor())
  session.crew:post(job_of({ kind = "ready", role = "host", limit_s = m.timeout_s }, function()
    return { op = "ready", problem = dir, elsewhere = files.elsewhere }
  end, function(verdict)
    local failure = verdict.failure and (verdict.failure.sentence or verdict.failure.trace)
    session.refusal = failure or verdict.reason
    if session.refusal then return end
    session.slots, session.digest = slots_of(self, devices), verdict.reply.digest
    session:tell_ready()
  end))
end

function Session:tell_ready()
  self:say { op = "ready", slots = self.slots, digest = self.digest }
end

--- A manager asks for work.
function Agent:invited(m)
  local session = self.sessions[m.run]
  if session then
    if session.slots then session:tell_ready() end
    return
  end
  if self.arriving[m.run] then return end
  local why, dir, devices = refusal(self, m), nil, nil
  if not why then dir, why = place_here(m) end
  if dir then devices, why = devices_for(self.devices, m.device) end
  if not devices then return self:refuse(m, why) end
  self.arriving[m.run] = true
  local ok, problem = attempt(self.collect, self, m, dir, function(files, missing)
    local is_wanted = self.arriving[m.run]
    self.arriving[m.run] = nil
    if not is_wanted then return end -- it is over
    if not files then return self:refuse(m, missing) end
    local begun, wrong = attempt(self.begin, self, m, dir, devices, files)
    if not begun then return self:refuse(m, tostring(wrong)) end
    self.say("run %s: %s, from now on", m.run, dir)
  end)
  if ok then return end
  self.arriving[m.run] = nil
  self:refuse(m, tostring(problem))
end

function Agent:refuse(m, why)
  self.say("run %s: no work: %s", m.run, why)
  self.link:send("gilua.run." .. m.run, { op = "refused", agent = self.id, why = why })
end

function Agent:end_session(session, why)
  self.sessions[session.run] = nil
  self.finished = self.finished + session.finished
  session:close()
  self.say("run %s: %s, after %d jobs", session.run, why, session.finished)
end

function Agent:hear()
  for subject, m in self.link.take, self.link do
    local session = self.sessions[m.run]
    if session then session.heard_s = core.system.seconds() end
    if subject == "gilua.call" then
      self.beat_s = 0
    elseif m.op == "code" then
      self.codes:asked(m)
    elseif m.op == "text" then
      self.codes:came(m.hash, m.text)
    elseif m.op == "piece" then
      self.files:came(m)
    elseif m.op == "open" then
      self:invited(m)
    elseif m.op == "close" then
      self.arriving[m.run] = nil
      if session then self:end_session(session, "over") end
    elseif session and orders[m.op] then
      orders[m.op](session, m)
    elseif m.op == "work" then
      self.link:send("gilua.run." .. m.run, { op = "unknown", agent = self.id })
    end
  end
end

--- A sign of life, to everybody, and to each manager what is in hand.
function Agent:beat(now)
  if now - self.beat_s < cluster.BEAT_S then return end
  self.beat_s = now
  local runs, devices = {}, {}
  for _, run in ipairs(settings.keys(self.sessions)) do
    local session = self.sessions[run]
    session:beat()
    self.files:touch(session.paths)
    runs[#runs + 1] = { run = run, problem = session.problem, finished = session.finished }
  end
  for i, d in ipairs(self.devices) do
    devices[i] = { device = d.device, name = d.name, target = d.target, driver = d.driver,
                   clock_ghz = d.clock_ghz, uuid = d.uuid }
  end
  self.link:send("gilua.beat", { agent = self.id, host = self.host, jobs = self.jobs,
    pid = core.system.pid(), devices = devices, runs = runs })
end

function Agent:step()
  local now = core.system.seconds()
  self:beat(now)
  local left_s = math.max(0, self.beat_s + cluster.BEAT_S - now)
  local runs = settings.keys(self.sessions)
  if #runs == 0 then self.link:wait(left_s) end
  for _, run in ipairs(runs) do
    local session = self.sessions[run]
    if not session:step(#runs == 1 and left_s or GLANCE_S) then
      self:end_session(session, "given up: " .. session.refusal)
    elseif now - session.heard_s > FORGOTTEN_S then
      self:end_session(session, "its manager is gone")
    end
  end
  self.link:check()
  self.codes:check_late(now)
  self.files:check_late(now)
  self:hear()
end

--- Works until it is stopped. Processes stay from run to run.
function Agent:serve()
  local kept <close> = crew.keep() -- luacheck: ignore
  self:beat(core.system.seconds())
  while true do self:step() end
end

--- What it has in hand is for others.
function Agent:close()
  for _, run in ipairs(settings.keys(self.sessions)) do
    local session = self.sessions[run]
    session:flush()
    session:say { op = "leaving" }
    self:end_session(session, "handed back")
  end
  self.files:close()
  self.link:close()
end

return M
