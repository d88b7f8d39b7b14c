-- A farm over agents on a NATS server: what it finds is what this machine alone finds, whoever is
-- lost on the way; and who may not work does not.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local agentprocess = require "agentprocess"
local tap = require "tap"
local cluster = require "gilua.farm.cluster"
local core = require "gilua.core"
local gi = require "gilua"
local link = require "gilua.farm.link"
local natsserver = require "natsserver"
local scratch = require "scratch"
local wire = require "gilua.base.wire"

natsserver.or_skip()

-- What is lost is missed sooner; a false alarm costs work.
cluster.SILENT_S, cluster.LATE_S, cluster.REFUSED_S = 2, 1, 1

local CASE = { seed = 1, width = 40, height = 30 }

-- An agent of its own.
local function agent(server, before, device)
  return agentprocess.open(server, { before = before, device = device })
end

--------------------------------------------------------------------------------------------------
-- What is measured

local function genomes_of(problem)
  local rng, list = gi.rng(3), { "" }
  for i = 2, 9 do list[i] = problem.grammar:random_gene(rng) end
  list[10] = list[2] .. " " .. list[3]
  list[11] = "<no_such_rule>"
  return list
end

-- What came of them, but for seconds, and for whether it was known. Of mutants with one PTX the one
-- that is checked first says in which line of its source it went wrong.
local function found(farm, genomes, case)
  local list = {}
  for i, m in ipairs(farm:evaluate(genomes, case or CASE)) do
    m.seconds, m.compile_s, m.cached, m.key = nil, nil, nil, nil
    m.message = m.message and m.message:gsub("kernel.cu line %d+", "a line")
    list[i] = wire.encode(m)
  end
  return table.concat(list, "\n")
end

local function counted(farm)
  local s = farm:stats()
  return wire.encode { s.evaluations, s.runs, s.checks, s.compilations, s.duplicates, s.rejected }
end

local PROBLEM = gi.problem "kernels/heat"
local GENOMES = genomes_of(PROBLEM)
local ALONE, COUNTED, ANSWERS
do
  local farm <close> = gi.farm(PROBLEM, { jobs = 1 })
  ALONE, COUNTED = found(farm, GENOMES), counted(farm)
  ANSWERS = farm:answers(GENOMES[2], CASE) or farm:answers("", CASE)
end

local OTHER = { seed = 2, width = 40, height = 30 } -- a case
local ON_OTHER, PTX
do
  local farm <close> = gi.farm(PROBLEM, { jobs = 1 })
  ON_OTHER, PTX = found(farm, GENOMES, OTHER), farm:ptx(GENOMES[2])
end

local EXAMINED
do
  local farm <close> = gi.farm(PROBLEM, { jobs = 1 })
  EXAMINED = assert(farm:examine(GENOMES[2], { OTHER })[1].name)
end

local PATIENCE_S = 300

-- A farm over agents, which fails where nothing comes of it.
local function over(server)
  local farm = gi.farm(PROBLEM, { cluster = server.url })
  local until_s = core.system.seconds() + PATIENCE_S
  function farm.crew.step(self)
    if core.system.seconds() > until_s then error("nothing comes of it: " .. PATIENCE_S .. " s") end
    return getmetatable(self).__index.step(self)
  end
  return farm
end

-- Does something when the first compilation is done: the agents have others in hand.
local function disturb(farm, act)
  local answered = farm.crew.answered
  function farm.crew.answered(self, verdict)
    local entry = self.table[verdict.id]
    if act and entry and entry.kind == "compile" then
      act()
      act = nil
    end
    answered(self, verdict)
  end
end

local function states(farm)
  local n = {}
  for _, a in pairs(farm.crew.agents) do n[a.state] = (n[a.state] or 0) + 1 end
  return ("%d ready, %d gone"):format(n.ready or 0, n.gone or 0)
end

-- So many agents work for it: one alone would be enough for it to begin.
local function all_there(farm, n)
  natsserver.waits_for(n .. " agents", function()
    farm.crew:step()
    return states(farm) == ("%d ready, 0 gone"):format(n)
  end)
end

--------------------------------------------------------------------------------------------------

tap.case("two agents find what one machine finds, and count the same", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server)
  local b <close> = agent(server)
  do
    local net <close> = link.open(server.url, "test")
    net:ask "gilua.state"
    local farm <close> = over(server)
    tap.is(found(farm, GENOMES) == ALONE, true, "every measurement")
    local state
    natsserver.waits_for("what the run tells", function()
      farm.crew:step()
      for _, m in net.take, net do state = m end
      return state and state.done.run == farm:stats().runs
    end)
    tap.is(("%s %s %d"):format(state.problem, state.device, state.waiting.host), "heat emu 0",
      "what it tells to who wants to know")
    tap.is(counted(farm), COUNTED, "evaluations, runs, checks, compilations, duplicates")
    local answers = farm:answers(GENOMES[2], CASE) or farm:answers("", CASE)
    tap.is(answers:bytes() == ANSWERS:bytes(), true, "what a mutant writes")
    tap.is(table.concat({ answers:shape() }, " "), table.concat({ ANSWERS:shape() }, " "),
      "in its shape")
    tap.is(farm:compare("", "", CASE).ratio, 1.0, "two compared")
    tap.is(farm:check({ "" })[1].status, "ok", "the small case")
    tap.is(farm:examine(GENOMES[2], { OTHER })[1].name, EXAMINED, "a case of other data")
  end
  a:says "over, after" -- the manager has left
  b:signal "TERM"
  b:says "interrupted"
end)

tap.case("one process, one agent and two have the same winners", function()
  local command = ("%s --jobs 1 tests/gpu/two.lua --seeds 1 --mutants 8 --population 6 "
    .. "--generations 2 --side 20 2>&1"):format(core.system.program())
  local pipe <close> = assert(io.popen(command))
  local said = pipe:read "a"
  tap.ok(not said:find "does no work", "both agents make the same case, also after a run of it")
  tap.has(said, "of 4 winners 4 are the first way's genome", "a list's and an evolution's")
  tap.is(pipe:close(), true, "its status")
end)

tap.case("an agent that is killed in the middle, and one that comes late", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server)
  local farm <close> = over(server)
  local late
  local in_hand
  disturb(farm, function()
    a:signal "KILL" -- first: it answers while the other one begins
    for _, x in pairs(farm.crew.agents) do in_hand = #cluster.numbers(x.hand) end
    late = agent(server)
  end)
  tap.is(found(farm, GENOMES) == ALONE, true, "the same measurements")
  local _ <close> = late
  tap.is(in_hand > 0, true, "it had work in hand")
  tap.is(states(farm), "1 ready, 1 gone", "who was lost, and who did it")
  local lost = farm:stats().setbacks
  tap.is(lost.agents, 1, "counted")
  -- What it had answered already when it was killed is not given out again.
  tap.ok(lost.again > 0, lost.again .. " jobs were given out again")
  local again = next(farm.crew.retried)
  for _ = 1, 2 do farm.crew:answered { id = again } end
  tap.is(farm:stats().setbacks.twice, lost.twice + 1, "what two answer is counted once")
end)

tap.case("an agent that is ended hands its work back, to one that was there", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server)
  local b <close> = agent(server) -- luacheck: ignore
  local _ <close> = setmetatable({ cluster.SILENT_S }, { __close = function(was)
    cluster.SILENT_S = was[1]
  end })
  cluster.SILENT_S = 1000 -- nobody is missed
  local farm <close> = over(server)
  all_there(farm, 2)
  disturb(farm, function() a:signal "TERM" end)
  tap.is(found(farm, GENOMES) == ALONE, true, "the same measurements")
  a:says "handed back"
end)

tap.case("an agent that stands still is done without, and is welcome again", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server)
  local farm <close> = over(server)
  local b
  disturb(farm, function()
    a:signal "STOP"
    b = agent(server)
  end)
  tap.is(found(farm, GENOMES) == ALONE, true, "the same measurements")
  local _ <close> = b
  a:signal "CONT"
  natsserver.waits_for("the agent to be back", function()
    found(farm, { "" })
    farm.crew:step()
    return states(farm) == "2 ready, 0 gone"
  end)
  tap.is(found(farm, GENOMES) == ALONE, true, "and again, with both")
end)

tap.case("the server is killed in the middle and started again", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local b <close> = agent(server) -- luacheck: ignore
  local farm <close> = over(server)
  local gone = ("the NATS server at %s is gone: trying until it is back"):format(server.url)
  local back = ("the NATS server at %s is back"):format(server.url)
  disturb(farm, function()
    a:says "agent on " -- it is connected: else it would wait for a first connection
    server:kill()
    a:says(gone)
    server:start()
    a:says(back)
  end)
  tap.is(found(farm, GENOMES) == ALONE, true, "the same measurements")
  local _, times = a:said():gsub("the NATS server", "")
  tap.is(times, 2, "an agent says that it is gone, and that it is back, each once")
end)

-- How many sockets a program has that is started now.
local function inherited()
  local pipe <close> = assert(io.popen "ls -l /proc/self/fd")
  local _, n = pipe:read("a"):gsub("socket:", "")
  return n
end

tap.case("programs that are started do not keep the connection", function()
  local server <close> = natsserver.open()
  local before = inherited()
  local net <close> = link.open(server.url, "test")
  tap.is(inherited(), before, "sockets of a program that is started")
  server:kill()
  natsserver.waits_for("the cut", function() return net.net:state() == "cut" end)
  server:start()
  natsserver.waits_for("the connection", function()
    net:wait(0.05)
    return net.net:state() == "connected"
  end)
  natsserver.waits_for("it to be closed on exec", function() return inherited() == before end)
end)

--------------------------------------------------------------------------------------------------
-- Codes stay with who made them

-- All that goes through a link from now on.
local function overheard(l)
  local list, send, take = {}, l.send, l.take
  function l.send(self, subject, message)
    list[#list + 1] = wire.encode(message)
    return send(self, subject, message)
  end
  function l.take(self)
    local subject, message = take(self)
    if message then list[#list + 1] = wire.encode(message) end
    return subject, message
  end
  return list
end

local function how_many(list, text)
  local n = 0
  for _, one in ipairs(list) do n = n + (one:find(text, 1, true) and 1 or 0) end
  return n
end

tap.case("neither sources nor codes pass through the manager", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local farm <close> = over(server)
  local list = overheard(farm.crew.link)
  tap.is(found(farm, GENOMES) == ALONE, true, "the same measurements")
  tap.ok(how_many(list, GENOMES[2]) > 0, "genomes do")
  tap.is(how_many(list, "__global__"), 0, "messages with a source")
  tap.is(how_many(list, ".entry"), 0, "with PTX")
  tap.is(farm:ptx(GENOMES[2]) == PTX, true, "who wants to read a code gets it")
  tap.is(how_many(list, ".entry"), 1, "which is the one")
end)

tap.case("the archive of such a run holds what one machine's does", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local archive <close> = gi.archive.open(tap.folder() .. "/archive.db")
  local memory = archive:memory "w"
  local farm <close> = over(server)
  farm:remember(memory)
  tap.is(found(farm, GENOMES) == ALONE, true, "the same measurements")
  local unit = memory:unit(farm.funnel:plan(GENOMES[2]).text.hash)
  tap.is(memory:code(unit.ptx) == PTX, true, "PTX")
  local row = archive:row "SELECT count(*) AS n, count(like) AS alike FROM code"
  tap.is(row.alike, row.n - 1, "all but the first are kept like that one")
  local other <close> = over(server)
  other:remember(archive:memory "w")
  tap.is(found(other, GENOMES) == ALONE, true, "the same, out of the archive")
  tap.is(other.crew.done.compile, 0, "nothing is compiled")
  tap.is(found(other, GENOMES, OTHER) == ON_OTHER, true, "with codes out of the archive too")
end)

-- How many codes agents have sent each other from now on.
local function codes_sent(net)
  local texts = 0
  net:ask "gilua.agent.*"
  return function()
    for _, m in net.take, net do
      if m.op == "text" and m.text then texts = texts + 1 end
    end
    return texts
  end
end

tap.case("who comes late asks the others for codes; of who is gone they are made again", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server)
  local farm <close> = over(server)
  found(farm, GENOMES)
  local net <close> = link.open(server.url, "test")
  local texts = codes_sent(net)
  local b <close> = agent(server) -- luacheck: ignore
  all_there(farm, 2)
  tap.is(found(farm, GENOMES, OTHER) == ON_OTHER, true, "the same measurements, with both")
  tap.ok(texts() > 0, texts() .. " codes went from one to the other")
  a:signal "KILL"
  natsserver.waits_for("the agent to be missed", function()
    farm.crew:step()
    return states(farm) == "1 ready, 1 gone"
  end)
  local compiled = farm.crew.done.compile
  local third = { seed = 3, width = 40, height = 30 }
  local again = found(farm, GENOMES, third)
  tap.ok(farm.crew.done.compile > compiled, "what it had is compiled once more")
  local here <close> = gi.farm(PROBLEM, { jobs = 1 })
  tap.is(again == found(here, GENOMES, third), true, "and the measurements are the same")
  found(here, GENOMES)
  found(here, GENOMES, OTHER)
  tap.is(farm:stats().compilations, here:stats().compilations, "nor does it count twice")
end)

tap.case("a code that no agent answers for is made again", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server)
  local farm <close> = over(server)
  found(farm, GENOMES)
  local b <close> = agent(server) -- luacheck: ignore
  a:signal "KILL"
  natsserver.waits_for("the other agent", function()
    farm.crew:step()
    return states(farm) == "1 ready, 1 gone"
  end)
  for _, ticket in pairs(farm.funnel.compiled.codes) do ticket["code at"] = "nobody" end
  tap.is(found(farm, GENOMES, OTHER) == ON_OTHER, true, "the same measurements")
  tap.is(farm:compare("", GENOMES[2], OTHER).status, "ok", "two compared")
end)

--------------------------------------------------------------------------------------------------
-- Who may not work

tap.case("a genome that makes another source there is no work, and the run says so", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local farm <close> = over(server)
  farm.funnel.maker.prologue = "// another\n"
  local said = scratch.sentence(farm.evaluate, farm, GENOMES, CASE)
  tap.has(said, "can work for this run: the genome '", "the sentence")
  tap.has(said, "makes another source here: the kernel's text or its grammar is not the manager's",
    "and why")
end)

-- The offer of a manager that is made here, with changes; what an agent says to it.
local function answer_to(server, changes)
  local net <close> = link.open(server.url, "test")
  local farm = { crew = {} }
  net:ask "gilua.beat"
  net:ask "gilua.run.test"
  local offer = cluster.offer_of(PROBLEM, "test", { memory_bytes = 1 << 30, timeout_s = 60 })
  offer.device = { kind = "emu" }
  for k, v in pairs(changes) do offer[k] = v end
  local reply
  natsserver.waits_for("answer", function()
    net:wait(0.1)
    for subject, m in net.take, net do
      if subject == "gilua.run.test" then reply = m end
      if subject == "gilua.beat" and not farm.asked then
        farm.asked = true
        net:send("gilua.agent." .. m.agent, offer)
      end
    end
    return reply
  end)
  net:send("gilua.agent." .. reply.agent, { op = "close", run = "test" })
  return reply
end

tap.case("another gilua, NVRTC, build, problem: one sentence and no work", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local function refusal(changes)
    local m = answer_to(server, changes)
    return m.op .. ": " .. tostring(m.why)
  end
  tap.is(answer_to(server, {}).op, "ready", "what agrees")
  tap.has(refusal { nvrtc = "1.2.3" }, "refused: NVRTC is ", "the compiler")
  tap.has(refusal { nvrtc = "1.2.3" }, " at the agent and 1.2.3 at the manager",
    "whose version is told")
  tap.is(refusal { gilua = "0.0" },
    ("refused: gilua is %s at the agent and 0.0 at the manager"):format(gi.version),
    "gilua's version")
  tap.is(refusal { program = "x" },
    "refused: the agent's gilua is another build than the manager's: install the same on both",
    "its build")
  tap.has(refusal { files = "x" }, "kernels/heat are others than the manager's", "files")
  tap.has(refusal { place = { path = "/nowhere/heat" } },
    "refused: the agent has no problem heat: it must lie in /nowhere/heat", "no such folder")
  tap.is(refusal { device = { kind = "cuda", name = "H200" } }, "ready: nil",
    "no GPU here: it compiles and checks for those who have one")
end)

tap.case("GPUs of another model or driver are no work", function()
  local fake = os.getenv "FAKE_CUDA" or "build/tests/libcuda_fake.so"
  if tap.sanitized "the fake driver" then return end
  local server <close> = natsserver.open()
  local a <close> = agent(server, "GILUA_CUDA=" .. fake, "cuda") -- luacheck: ignore
  local function refusal(name, driver)
    return answer_to(server, { device = { kind = "cuda", name = name, driver = driver } }).why
  end
  tap.is(refusal "H200", "the GPU is fake GPU 0 at the agent and H200 at the manager",
    "the model")
  tap.has(refusal("fake GPU 0", "1.2"), "the driver is 13", "the driver")
  tap.has(refusal("fake GPU 0", "1.2"), "at the agent and 1.2 at the manager",
    "whose version is told")
end)

tap.case("a case that is another is no work, and the run says so", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local farm <close> = over(server)
  farm:evaluate({ "" }, CASE)
  farm.funnel.case.digest = "another"
  local said = scratch.sentence(farm.evaluate, farm, GENOMES, CASE)
  tap.has(said, "no agent at " .. server.url .. " can work for this run: the case that its files "
    .. "make is another", "the sentence")
end)

tap.case("a problem's own failure is told as on one machine", function()
  local folder = tap.folder()
  os.execute(("cp -r kernels/heat %s/p"):format(folder))
  local text = tap.read(folder .. "/p/problem.lua")
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local function spoilt(jobs)
    scratch.write(folder .. "/p/problem.lua", text)
    local problem = gi.problem(folder .. "/p")
    local options = jobs and { jobs = 1 } or { cluster = server.url }
    local farm <close> = gi.farm(problem, options)
    return scratch.sentence(farm.evaluate, farm, { "" }, { seed = 1, width = 1, steps = 99 })
  end
  local here = spoilt(true)
  tap.is(type(here), "string", "there is one")
  tap.is(spoilt(false), here, "the same sentence")
end)

tap.case("the page of a run that is on tells who works for it; in the end it does not", function()
  local server <close> = natsserver.open()
  local a <close> = agent(server) -- luacheck: ignore
  local farm <close> = over(server)
  local dir, page, runs = tap.folder(), nil, nil
  local function look() page, runs = tap.read(dir .. "/report.html"), farm:stats().runs end
  gi.evolve.run { problem = PROBLEM, farm = farm, rng = gi.rng(1), population = 4, generations = 1,
    new_case = function() return CASE end,
    observers = { assert(gi.report.open(dir)), { on_generation = look } } }
  tap.has(page, "<h2>The cluster</h2>", "while it is on")
  tap.has(page, "1 agent with 1 worker and 0 GPUs; ", "who works for it")
  local n, rate = page:match "GPUs; (%d+) measurements?, (%S+) a second"
  tap.is(tonumber(n), runs, "how much was done by then")
  tap.ok(tonumber(rate) > 0, "and in which time", rate)
  tap.has(page, core.system.hostname() .. "</td>", "where")
  tap.has(page, "at work</td>", "and what it does")
  look()
  tap.ok(not page:find("The cluster", 1, true), "not in the end: results are one machine's")
end)

tap.case("what binds a run, and how fast it is", function()
  local function state(device, host, on_device, agents)
    return { device = device, agents = agents or 1, waiting = { host = host, device = on_device } }
  end
  tap.is(cluster.binds(state("emu", 5, 5)), "workers", "on the virtual GPU")
  tap.is(cluster.binds(state("cuda", 2, 5)), "GPUs", "more waits for GPUs")
  tap.is(cluster.binds(state("cuda", 5, 2)), "workers", "more waits for compilers")
  tap.is(cluster.binds(state("emu", 0, 0)), "nothing: all work is given out", "nothing waits")
  tap.is(cluster.binds(state("emu", 5, 5, 0)), "agents: none works for it", "nobody is there")
  local first, last = { seconds = 2, done = { run = 10 } }, { seconds = 4, done = { run = 30 } }
  tap.is(cluster.rate(first, last), 10.0, "between two reports")
  tap.is(cluster.rate(last, last), 7.5, "of one, since it began")
end)

tap.case("an address with a password is refused, a wrong password is told", function()
  local server <close> = natsserver.open "authorization { user: gi, password: s3cret, timeout: 60 }"
  local function refusal(url)
    return scratch.sentence(function() gi.farm(PROBLEM, { cluster = url }) end)
  end
  tap.has(refusal "nats://gi:s3cret@127.0.0.1", "everybody on this machine can see", "in the open")
  tap.has(refusal(server.url), "does not know this user", "none")
  local a <close> = agent(server, "NATS_USER=gi NATS_PASSWORD=wrong")
  a:says "does not know this user and password"
end)

tap.done()
