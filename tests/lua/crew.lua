-- The crew with processes of this test's own: what comes of a job when its worker is lost, by
-- whose doing it was. Nothing here starts a process, and time passes only when somebody waits.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local wire = require "gilua.base.wire"

local MIB = 1 << 20

-- Processes whose life is a function: life(name, process, seen) -> event, reply or reason. `name`
-- is the job's, process.asked counts what this very process was sent; seen[name] how often the job
-- came to anybody.
local Processes = {}
Processes.__index = Processes

local function born(self, i)
  self.starts = self.starts + 1
  self[i] = { number = self.starts, asked = 0, cpu_s = 0, bytes = 50 * MIB, inbox = {} }
end

local function processes(n, life)
  local self = setmetatable({ life = life, starts = 0, clock_s = 1000, seen = {}, n = n },
    Processes)
  for i = 1, n do born(self, i) end
  return self
end

function Processes:restart(i)
  born(self, i)
  return true
end

function Processes:kill(i) self[i] = { number = 0, inbox = {}, cpu_s = 0, bytes = 0 } end
function Processes:cpu_s(i) return self[i].cpu_s end
function Processes:wants_cpu(i) return self[i].wants_cpu or false end
function Processes:memory(i) return self[i].bytes end
function Processes:close() end

function Processes:send(i, bytes)
  local p, name = self[i], wire.decode(bytes).name
  p.asked = p.asked + 1
  p.inbox[#p.inbox + 1] = name
  self.most_outstanding = math.max(self.most_outstanding or 0, #p.inbox)
end

function Processes:busy()
  local n = 0
  for i = 1, self.n do n = n + (#self[i].inbox > 0 and 1 or 0) end
  return n
end

function Processes:wait(timeout_s)
  for i = 1, self.n do
    local p = self[i]
    local name = p.inbox[1]
    if name then
      self.seen[name] = (self.seen[name] or 0) + 1
      local kind, what = self.life(name, p, self.seen)
      if kind == "message" then table.remove(p.inbox, 1) end
      if kind ~= "nothing" then
        return kind, i, kind == "message" and wire.encode(what or {}) or what
      end
    end
  end
  self.clock_s = self.clock_s + math.max(timeout_s, 0)
  return "nothing", 0, ""
end

-- A crew of such processes; fates tells what came of each job, and in which order.
local function open(life, options)
  local o = options or {}
  local list = {}
  for i = 1, o.workers or 1 do
    list[i] = { roles = { "host" }, device = o.device or "emu", depth = o.depth or 1 }
  end
  local p = processes(#list, life)
  local c = crew.new(list, o.memory or 4 << 30, p)
  local fates = { order = {}, reasons = {} }
  local function settle(name, fate, reason)
    fates[name], fates.reasons[name] = fate, reason
    fates.order[#fates.order + 1] = name
  end
  local function job(name, parts)
    return {
      kind = "compile", role = "host", limit_s = o.limit_s or 20, sleep_s = o.sleep_s,
      once = o.once,
      message = function() return { name = name } end,
      done = function(reply) settle(name, reply.text or "ok") end,
      blame = function(status, reason) settle(name, status, reason) end,
      parts = parts and function()
        local jobs = {}
        for i, part in ipairs(parts) do jobs[i] = job(part) end
        return jobs
      end,
    }
  end
  return c, p, fates, job
end

-- Serves what was posted, by the processes' clock; what ended it, if anything did.
local function drain(c, p)
  local seconds = core.system.seconds
  core.system.seconds = function() return p.clock_s end
  local ok, why = pcall(c.drain, c)
  core.system.seconds = seconds
  return not ok and tostring(why) or nil
end

-- What comes of jobs with these names (a list of names is a job of several): "a:ok b:crash", by
-- name; then the crew, its processes and the fates.
local function serve(life, options, names)
  local c, p, fates, job = open(life, options)
  for _, name in ipairs(names) do
    c:post(type(name) == "table" and job(table.concat(name), name) or job(name))
  end
  local why = drain(c, p)
  local list = {}
  for i, name in ipairs(fates.order) do list[i] = name .. ":" .. fates[name] end
  table.sort(list)
  return why or table.concat(list, " "), c, p, fates
end

local function loses_at(guilty, how, times)
  return function(name, _, seen)
    if name == guilty and seen[name] <= (times or math.huge) then return how, "how it ended" end
    return "message"
  end
end

tap.case("a job that loses one worker is innocent; one that loses two, alone, is guilty", function()
  local statuses = { died = "crash", memory = "out_of_memory", starved = "out_of_memory" }
  for how, status in pairs(statuses) do
    tap.is(serve(loses_at("b", how, 1), nil, { "a", "b", "c" }), "a:ok b:ok c:ok", how .. " once")
    local said, c, p, fates = serve(loses_at("b", how), nil, { "a", "b", "c" })
    tap.is(said, "a:ok b:" .. status .. " c:ok", how .. " twice")
    tap.is(p.seen.b, 2, "it is not tried a third time")
    tap.is(fates.reasons.b, "how it ended", "the reason is kept")
    tap.is(c.restarts .. " " .. c.losses[how], "2 2", "counted")
  end
end)

tap.case("a loss counts only where nothing else was asked of the worker", function()
  local said, _, p = serve(loses_at("a", "died"), { depth = 2 }, { "a", "b", "c" })
  tap.is(said, "a:crash b:ok c:ok", "the guilty one")
  tap.is(p.seen.a .. " " .. p.most_outstanding, "3 2", "the first time others were outstanding")
  local alone = true
  serve(function(name, process, seen)
    if name == "a" and seen.a > 1 then
      alone = alone and process.asked == 1 and #process.inbox == 1
    end
    return loses_at("a", "died")(name, process, seen)
  end, { depth = 2 }, { "a", "b", "c", "d", "e" })
  tap.is(alone, true, "then it has a new worker for itself")
end)

tap.case("a suspect gets a worker that has done nothing yet", function()
  local lost = 0
  local said = serve(function(name, process, seen)
    if name == "a" and not seen.b or name == "b" and seen.b < 4 then return "nothing" end
    if name ~= "b" or process.asked == 1 then return "message" end
    lost = lost + 1
    return "died", "worn out" -- by what it did before b
  end, { workers = 2 }, { "a", "x", "b" }) -- the second dies at b when the first is idle
  tap.is(said .. " " .. lost, "a:ok b:ok x:ok 1", "where it does no harm")
end)

tap.case("of a batch only the one that loses workers by itself is blamed", function()
  local function life(name)
    if name:find("g", 1, true) then return "died", "the end" end
    return "message"
  end
  tap.is(serve(life, { workers = 2 }, { { "a", "b", "g", "c" }, "d" }),
    "a:ok b:ok c:ok d:ok g:crash", "the others have their answers")
end)

tap.case("a worker that somebody kills is nobody's guilt, however often", function()
  local said, c, p = serve(loses_at("b", "killed", 49), nil, { "b" })
  tap.is(said, "b:ok", "the job is done again")
  tap.is(p.seen.b .. " " .. c.losses.killed, "50 49", "after 49 kills in a row")
  tap.is(p.clock_s - 1000 > 10, true, "between which it waited longer and longer")
  said = serve(function(_, _, seen)
    return seen.g % 2 == 1 and "killed" or "died", "the end"
  end, nil, { "g" })
  tap.is(said, "g:crash", "kills neither add to a guilt nor take from it")
  local function killed_first(times)
    return function(name, _, seen) return seen[name] <= times and "killed" or "message" end
  end
  tap.is(serve(killed_first(2), { workers = 3 }, { "a", "b", { "c", "e" }, "d" }),
    "a:ok b:ok ce:ok d:ok", "everything gets done")
  tap.is(serve(killed_first(3), { workers = 3 }, { "a", "b", { "c", "e" }, "d" }),
    "a:ok b:ok c:ok d:ok e:ok", "what takes long in parts")
end)

tap.case("when nothing but kills comes any more the run ends with a sentence", function()
  local said, c, p, fates = serve(loses_at("a", "killed"), nil, { "a" })
  tap.has(said, "workers are being killed from outside, 50 times in a row", "how often")
  tap.has(said, "(the last: how it ended)", "and by what")
  tap.is(p.seen.a .. " " .. c.losses.killed, "50 50", "so many")
  tap.is(#fates.order, 0, "nobody is blamed")
  tap.has(serve(function() return "killed", "signal 9" end, { workers = 2 }, { "a", "b" }),
    "100 times in a row", "of two workers twice as many")
end)

tap.case("a job at which workers are killed for ever does not keep a run for ever", function()
  local c, p, fates, job = open(loses_at("a", "killed"), { workers = 2 })
  local function more() -- somebody always has an answer, a second later
    local b = job "b"
    p.clock_s, b.done = p.clock_s + 1, more
    c:post(b)
  end
  c:post(job "a")
  more()
  tap.has(drain(c, p), "500 times at the same job", "it ends, and says why")
  tap.is(#fates.order, 0, "nobody is blamed")
end)

tap.case("what the machine's memory was too small for is tried again alone in the crew", function()
  local company
  local c, p, fates, job = open(nil, { workers = 3 })
  p.life = function(name, _, seen)
    if name == "big" and seen.big == 1 then return "starved", "no memory left" end
    if name == "big" then company = p:busy() end
    return "message"
  end
  for _, name in ipairs { "big", "b", "c", "d", "e", "f", "g" } do c:post(job(name)) end
  tap.is(drain(c, p), nil, "all is served")
  tap.is(fates.big .. " " .. fates.order[7], "ok big", "it comes last")
  tap.is(company, 1, "with nobody beside it")
end)

tap.case("time is the processor's: a machine that is busy makes nobody late", function()
  local said, c, p = serve(function(_, process)
    if process.cpu_s >= 15 then return "message" end
    process.cpu_s = process.cpu_s + 0.15
    return "nothing"
  end, nil, { "a" })
  tap.is(said, "a:ok", "of 20 s it took 15")
  tap.is(c.restarts, 0, "at the first try")
  tap.is(p.clock_s - 1000 > 25, true, "in more by the clock on the wall")
end)

tap.case("a job that takes too much of the processor, twice, is a timeout", function()
  local said, _, p, fates = serve(function(_, process)
    process.cpu_s = process.cpu_s + 1
    return "nothing"
  end, nil, { "a" })
  tap.is(said, "a:timeout", "timeout")
  tap.is(fates.reasons.a, "no answer within 20 s of processor time", "with its limit")
  tap.is(p.clock_s - 1000 < 50, true, "as soon as it is known")
  said = serve(function(_, process, seen)
    process.cpu_s = process.cpu_s + (process.number == 1 and 1 or 0)
    return seen.a > 30 and "message" or "nothing"
  end, nil, { "a" })
  tap.is(said, "a:ok", "once is nothing")
end)

tap.case("who takes too much of the processor by himself is tried once", function()
  local function endless(name, process)
    if not name:find "a" then return "message" end
    process.cpu_s = process.cpu_s + 0.5
    return "nothing"
  end
  local said, c = serve(endless, { once = true }, { "a" })
  tap.is(said .. " " .. c.restarts, "a:timeout 1", "one worker is lost")
  said, c = serve(endless, { once = true }, { { "a", "b", "c" } })
  tap.is(said .. " " .. c.restarts, "a:timeout b:ok c:ok 2", "two, where it had company")
  local limit = 20
  local _, _, p, fates = serve(function(_, process)
    process.cpu_s = process.cpu_s + 0.5
    if process.cpu_s > 2 then limit = 4 end
    return "nothing"
  end, { once = true, limit_s = function() return limit end }, { "a" })
  tap.is(fates.reasons.a, "no answer within 4 s of processor time", "a limit that becomes known")
  tap.is(p.clock_s - 1000 < 20, true, "counts at once")
end)

tap.case("a worker that sleeps is ended by the clock on the wall, much later", function()
  local said, _, p, fates = serve(function() return "nothing" end, nil, { "a" })
  tap.is(said, "a:timeout", "timeout")
  tap.has(fates.reasons.a, "idle for most", "and why")
  tap.is(p.clock_s - 1000 >= 400 and p.clock_s - 1000 < 410, true, "twice ten times its limit")
  said, _, p = serve(function() return "nothing" end, { device = "cuda:0" }, { "a" })
  tap.is(said, "a:timeout", "who waits for a GPU")
  tap.is(p.clock_s - 1000 < 50, true, "is timed by the clock on the wall")
end)

tap.case("a compiler that waits for something is ended soon, one that waits for its turn is not",
  function()
    local said, _, p, fates = serve(function() return "nothing" end, { sleep_s = 5 }, { "a" })
    tap.is(said, "a:timeout", "timeout")
    tap.is(fates.reasons.a, "it waited for something that does not come", "and why")
    tap.is(p.clock_s - 1000 < 20, true, "within seconds")
    local c
    said, c = serve(function(_, process, seen)
      process.wants_cpu = true
      return seen.a > 60 and "message" or "nothing"
    end, { sleep_s = 5 }, { "a" })
    tap.is(said, "a:ok", "others had the processor for a minute")
    tap.is(c.restarts, 0, "which costs it nothing")
  end)

tap.case("who waits for its turn at the processor has all the time by the clock", function()
  local said, c, p = serve(function(_, process, seen)
    process.wants_cpu = true
    return seen.a > 2500 and "message" or "nothing"
  end, nil, { "a" })
  tap.is(said .. " " .. c.restarts, "a:ok 0", "nothing is lost")
  tap.ok(p.clock_s - 1000 > 250, "after more than ten times its limit")
end)

tap.case("an answer that is doubted is asked for again in a new process", function()
  local doubted = { text = "compile_error", doubt = "internal error" }
  local said, c = serve(function(name, process)
    return "message", name == "b" and process.asked > 1 and doubted or nil
  end, nil, { "a", "b", "c" })
  tap.is(said, "a:ok b:ok c:ok", "which may say otherwise")
  tap.is(c.restarts .. " " .. c.losses.doubt, "1 1", "one worker was replaced for it")
  said = serve(function(_, _, seen)
    if seen.a == 2 then return "died", "the end" end
    return "message", seen.a == 1 and doubted or nil
  end, nil, { "a" })
  tap.is(said, "a:ok", "a doubt is no loss of the job's doing")
  local again, _, p = serve(function(name)
    return "message", name == "b" and doubted or nil
  end, nil, { "a", "b", "c" })
  tap.is(again .. " " .. p.seen.b, "a:ok b:compile_error c:ok 2", "what that one says counts")
end)

tap.case("a worker that grows is replaced in time, and that is no loss", function()
  local largest, names = 0, {}
  for i = 1, 40 do names[i] = "j" .. i end
  local said, c, p = serve(function(_, process)
    process.bytes = process.bytes + 300 * MIB
    largest = math.max(largest, process.bytes)
    return "message"
  end, { memory = 4 << 30 }, names)
  tap.is(select(2, said:gsub(":ok", "")), 40, "all is done")
  tap.is(largest < 2500 * MIB, true, "none grew far above half of what it may have")
  tap.is(c.restarts, 0, "not counted as lost")
  tap.is(p.starts > 4 and p.starts < 8, true, "few times")
  local _, _, large = serve(function(_, process)
    process.bytes = 3 << 30
    return "message"
  end, { memory = 4 << 30 }, { "a", "b", "c" })
  tap.is(large.starts, 1, "one that is large from its first job on is as it must be")
end)

tap.case("workers that end without having been asked end the run, with the reason", function()
  local c, p, _, job = open()
  p.wait = function(self)
    self.clock_s = self.clock_s + 1
    return "died", 1, "exit code 3"
  end
  c.assign = function() end -- nothing gets as far as a worker
  c:post(job "a")
  tap.has(drain(c, p), "workers end without having been asked: exit code 3", "it ends")
end)

tap.case("a process that cannot be started is tried again, for a while", function()
  local asked, refusals = 0, 2
  local c, p, fates, job = open(loses_at("a", "died"))
  p.restart = function(self, i)
    asked = asked + 1
    if asked <= refusals then return nil, "no process is left", "io" end
    born(self, i)
    return true
  end
  c:post(job "a")
  tap.is(drain(c, p), nil, "when it can be at last, all goes on")
  tap.is(fates.a .. " " .. asked, "crash 3", "as if nothing had been")
  refusals = math.huge
  c:post(job "b")
  tap.is(drain(c, p), "no process is left", "else the reason ends the run")
  tap.is(asked, 51, "after fifty refusals, with no answer between")
end)

tap.done()
