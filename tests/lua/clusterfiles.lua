-- Files that agents fetch: recordings and libraries of references, once, by what they hold; wrong
-- bytes are no work. And the folder in which they are kept.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local agentprocess = require "agentprocess"
local cluster = require "gilua.farm.cluster"
local core = require "gilua.core"
local filecache = require "gilua.farm.filecache"
local fingerprint = require "gilua.base.fingerprint"
local gi = require "gilua"
local lfs = require "lfs"
local natsserver = require "natsserver"
local parcels = require "gilua.farm.parcels"
local scratch = require "scratch"
local tape = require "tape"
local wire = require "gilua.base.wire"

--------------------------------------------------------------------------------------------------
-- The folder

-- What a cache does for one file that has `text`; `give(from)` is what it is sent for a question.
local function fetched(cache, text, give)
  local folder = tap.folder()
  scratch.write(folder .. "/f", text)
  local one = { kind = "recording", named = folder .. "/f", name = "f", bytes = #text,
                hash = assert(fingerprint.whole(folder .. "/f")) }
  local path, why, asked = nil, nil, 0
  cache:fetch(one, function(from)
    asked = asked + 1
    for _, piece in ipairs(give and give(one, from) or parcels.pieces(one, from)) do
      cache:came(piece)
    end
  end, function(...) path, why = ... end)
  return path, why, asked, one
end

tap.case("a file comes in pieces, once", function()
  local bytes = parcels.PIECE_BYTES
  local back <close> = setmetatable({}, { -- luacheck: ignore
    __close = function() parcels.PIECE_BYTES = bytes end,
  })
  parcels.PIECE_BYTES = 100
  local cache = filecache.new(tap.folder() .. "/a/b", 1 << 20)
  local text = ("0123456789"):rep(250)
  local path, why, asked = fetched(cache, text)
  tap.is(why, nil, "it came")
  tap.is(tap.read(path), text, "as it is")
  tap.is(asked, 4, "25 pieces, eight for a question")
  path, why, asked = fetched(cache, text)
  tap.is(tap.read(path) .. asked .. tostring(why), text .. "0nil", "and is there")
end)

tap.case("a piece that is lost is asked for again; nobody waits for ever", function()
  local cache, n = filecache.new(tap.folder(), 1 << 20), 0
  local function loses(one, from)
    n = n + 1
    return n % 2 == 0 and parcels.pieces(one, from) or {}
  end
  local path, why = fetched(cache, "text", loses)
  tap.is(path or why, nil, "it has not come yet")
  cache:check_late(core.system.seconds())
  tap.is(n, 1, "it is not late")
  cache:check_late(core.system.seconds() + filecache.LATE_S + 1)
  tap.is(n .. tap.read(fetched(cache, "text")), "2text", "it was asked for again")
  n = -1000
  local said
  local list = { fetched(cache, "other", function() return {} end) }
  cache:fetch(list[4], function() end, function(_, problem) said = problem end)
  for _ = 1, filecache.MOST_LATE do
    cache:check_late(core.system.seconds() + filecache.LATE_S + 1)
  end
  tap.is(said, "it does not come", "in the end")
end)

tap.case("what holds something else is not kept, nor what was changed in the folder", function()
  local cache = filecache.new(tap.folder(), 1 << 20)
  local path, why = fetched(cache, "text", function(one)
    return { { op = "piece", hash = one.hash, from = 0, text = "tex!", last = true } }
  end)
  tap.is(path, nil, "no file")
  tap.is(why, "what came holds something else than its hash says", "the reason")
  path = fetched(cache, "text")
  scratch.write(path, "junk")
  local again, _, asked = fetched(cache, "text")
  tap.is(tap.read(again) .. asked, "text1", "it is fetched anew")
  local names = {}
  for name in lfs.dir(cache.folder) do names[#names + 1] = name:match "%.part$" end
  tap.is(#names, 0, "nothing half is left")
end)

tap.case("the folder is bounded: what was not used for longest goes, not what is in use", function()
  local cache = filecache.new(tap.folder(), 10)
  local a = fetched(cache, "aaaa")
  local b = fetched(cache, "bbbb")
  local _, why = fetched(cache, "cccc")
  tap.has(why, "has no room for its 4 bytes: 8 of 10 are in use", "both were used just now")
  local hour = 3600
  lfs.touch(a, os.time() - hour)
  lfs.touch(b, os.time() - 2 * hour)
  local c = fetched(cache, "cccc")
  tap.is(tostring(tap.read(a)) .. tostring(tap.read(b)) .. tap.read(c), "aaaanilcccc",
    "the older one went")
  tap.has(select(2, fetched(cache, ("d"):rep(11))), "no room for its 11 bytes", "one too large")
  tap.is(tap.read(c), "cccc", "for which nothing in use goes")
end)

tap.case("a disk that is full is told of, with the folder and what to do", function()
  local cache = filecache.new(tap.folder(), 1 << 20)
  local path, why = fetched(cache, "text", function(one, from)
    local wanted = cache.wanted[one.hash]
    wanted.file:close()
    wanted.file = assert(io.open("/dev/full", "wb"))
    return parcels.pieces(one, from)
  end)
  tap.is(path, nil, "it is not there")
  tap.has(why, cache.folder .. " cannot be written to: No space left on device: give another "
    .. "folder (gilua agent --cache DIR)", "the sentence")
  for name in lfs.dir(cache.folder) do tap.ok(not name:find "part", "nothing half is left") end
end)

--------------------------------------------------------------------------------------------------
-- Over a server

natsserver.or_skip()

cluster.SILENT_S, cluster.LATE_S, cluster.REFUSED_S = 2, 1, 1

-- From now on agents are told that a problem lies there: on their machine.
local function lies(there)
  local offer_of = cluster.offer_of
  cluster.offer_of = function(...)
    local offer = offer_of(...)
    offer.place = { path = there, home = offer.place.home }
    return offer
  end
  return setmetatable({}, { __close = function() cluster.offer_of = offer_of end })
end

local function found(farm, genomes, case)
  local list = {}
  for i, m in ipairs(farm:evaluate(genomes, case)) do
    m.seconds, m.compile_s, m.cached, m.key = nil, nil, nil, nil
    list[i] = wire.encode(m)
  end
  return table.concat(list, "\n") .. farm:case_info().name
end

local function alone(problem, genomes, case)
  local farm <close> = gi.farm(problem, { jobs = 1 })
  return found(farm, genomes, case)
end

-- How many files agents ask for from now on, over a farm's link.
local function questions(farm)
  local n, take = 0, farm.crew.link.take
  function farm.crew.link.take(self)
    local subject, m = take(self)
    if m and m.op == "want" then n = n + 1 end
    return subject, m
  end
  return function() return n end
end

-- A recorded problem, and another folder with all of it but the recordings.
local function recorded()
  local folder = tap.folder()
  scratch.write(folder .. "/app.cu", tape.SOURCE)
  scratch.write(folder .. "/a.rec", tape.recording(300))
  scratch.write(folder .. "/b.rec", tape.recording(100))
  gi.recordedproblem.write({ folder .. "/a.rec", folder .. "/b.rec" }, folder .. "/p",
    { source = folder .. "/app.cu", quiet = true })
  os.execute(("cp -rL %s/p %s/there; rm %s/there/*.rec"):format(folder, folder, folder))
  return gi.problem(folder .. "/p"), folder .. "/there"
end

local GENOMES = { "", "<_kernel.cu_8>", "<_kernel.cu_13>", "<_kernel.cu_24>" }

tap.case("recordings are fetched once, and the answers are one machine's", function()
  local problem, there = recorded()
  local case, other = gi.own.case(problem, 1), gi.own.case(problem, 1, "emu", true)
  local want, wants_other = alone(problem, GENOMES, case), alone(problem, GENOMES, other)
  local _ <close> = lies(there)
  local server <close> = natsserver.open()
  local a <close> = agentprocess.open(server)
  local function over()
    local farm = gi.farm(problem, { cluster = server.url })
    return farm
  end
  do
    local farm <close> = over()
    tap.is(found(farm, GENOMES, case) == want, true, "every measurement")
    tap.is(found(farm, GENOMES, other) == wants_other, true, "on the other recording too")
  end
  local names = 0
  for name in lfs.dir(a.folder .. "/cache") do names = names + (name:find "^%d" and 1 or 0) end
  tap.is(names, 2, "both are kept")
  tap.is(lfs.attributes(there .. "/a.rec"), nil, "not in the problem's folder")
  local farm <close> = over()
  local asked = questions(farm)
  tap.is(found(farm, GENOMES, case) == want, true, "another run has the same")
  tap.is(asked(), 0, "and fetches nothing")
end)

tap.case("a recording that was changed since is no work, in a sentence", function()
  local problem, there = recorded()
  local _ <close> = lies(there)
  local server <close> = natsserver.open()
  local a <close> = agentprocess.open(server)
  local pieces = parcels.pieces
  local _ <close> = setmetatable({}, { __close = function() parcels.pieces = pieces end })
  parcels.pieces = function(...)
    local list = pieces(...)
    list[1].text = "x" .. list[1].text:sub(2)
    return list
  end
  local said = scratch.sentence(gi.farm, problem, { cluster = server.url })
  tap.has(said, "can work for this run: the recording a.rec is not to be had: what came holds "
    .. "something else than its hash says", "the manager's end")
  a:says "no work: the recording a.rec"
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local kept = problem.dir .. "/a.rec"
  tap.ok(lfs.attributes(kept), "it is where it was")
  tap.is(farm:evaluate({ "" }, gi.own.case(problem, 1))[1].status, "ok", "and good")
end)

--------------------------------------------------------------------------------------------------
-- References

-- Another folder with all of a problem but what was built.
local function unbuilt(dir)
  local there = tap.folder() .. "/there"
  os.execute(("cp -rL %s %s; rm -f %s/*.so"):format(dir, there, there))
  return there
end

local function has_the_manager_s_library(problem, genomes, case)
  local want = alone(problem, genomes, case)
  local there = unbuilt(problem.dir)
  local _ <close> = lies(there)
  local server <close> = natsserver.open()
  local a <close> = agentprocess.open(server, { before = "CC=/bin/false" }) -- luacheck: ignore
  local farm <close> = gi.farm(problem, { cluster = server.url })
  tap.is(found(farm, genomes, case) == want, true, "every measurement")
  tap.is(lfs.attributes(there .. "/reference.so"), nil, "nothing is built there")
end

tap.case("a reference in C is built once, and sent", function()
  local case = { seed = 1, width = 40, height = 30 }
  has_the_manager_s_library(gi.problem "kernels/heat", { "" }, case)
end)

tap.case("that of a table too", function()
  local folder = scratch.problem([[
extern "C" __global__ void twice(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
]], [[{ source = "kernel.cu", kernel = "twice", size = 300, block_size_x = 64,
  args = { { name = "y", type = "f32", count = "n", role = "out" },
           { name = "x", type = "f32", count = "n" },
           { name = "n", type = "i32", value = "size_x" } },
  tolerance = { max_error = 0 }, reference = "reference.c" }]])
  scratch.write(folder .. "/reference.c", [[
void twice_reference(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++) y[i] = 2 * x[i];
}
]])
  has_the_manager_s_library(gi.problem(folder), { "" }, { seed = 1 })
end)

tap.case("where workers have no box, a library that is sent is not loaded", function()
  local problem = gi.problem "kernels/heat"
  local _ <close> = lies(unbuilt(problem.dir))
  local server <close> = natsserver.open()
  local a <close> = agentprocess.open(server, { before = "GILUA_BOX=off" }) -- luacheck: ignore
  local said = scratch.sentence(gi.farm, problem, { cluster = server.url })
  tap.has(said, "the library reference.so is not to be had: it would run outside of a "
    .. "box at the agent",
    "the sentence")
end)

tap.done()
