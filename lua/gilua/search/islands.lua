-- islands: several populations that evolve apart and send their best to each other, in a ring. Each
-- is a process with a GPU or a node of its own; they share a folder. After every `every`-th
-- generation an island writes its best there. Before it breeds the next generation it reads those
-- that its predecessor in the ring wrote after the same generation. So the history does not depend
-- on their speeds, or on processes that were killed and resumed: the same seeds give the same
-- history. (Whitley, Rana, Heckendorn: "The Island Model Genetic Algorithm: On Separability,
-- Population Size and Convergence", 1999.)
--
--   local scheme = { … }                                 -- as gi.evolve.run takes it
--   gi.islands.join(scheme, { folder = "out/ring", island = 2, islands = 4, every = 3 })
--   gi.evolve.run(scheme)

local evolve = require "gilua.search.evolve"
local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local settings = require "gilua.base.settings"
local textfile = require "gilua.base.textfile"

local M = {}

---@class Ring
---@field folder string what the islands share
---@field island integer this one, from 1
---@field islands integer how many there are
---@field every integer generations between two migrations
---@field migrants integer how many an island sends each time
---@field timeout_s number how long a neighbour is waited for
M.defaults = { every = 3, migrants = 2, timeout_s = math.huge }

local NEEDED = { "folder", "island", "islands" }

local PAUSE_S = 0.05 -- between two looks
local TOLD_AFTER_S = 10 -- of waiting, it prints that it waits

--- The island that sends to this one.
---@param ring Ring
---@return integer
function M.before(ring)
  return (ring.island - 2) % ring.islands + 1
end

--- Does a migration follow this generation?
---@param ring Ring
---@param generation integer
---@return boolean
function M.is_due(ring, generation)
  return ring.islands > 1 and generation > 0 and generation % ring.every == 0
end

local function path_of(ring, island, generation)
  return ("%s/island-%d-generation-%d.json"):format(ring.folder, island, generation)
end

-- What islands must agree on: those that do not are of different runs.
local function terms(ring)
  return ("%d islands, %d migrants every %d generations"):format(ring.islands, ring.migrants,
    ring.every)
end

--- The best of a population that may be parents and are right, no genome twice.
---@param population Individual[] scored
---@param n integer how many at most
---@return string[] genomes best first
function M.best(population, n)
  local order, fit = {}, {}
  for i, individual in ipairs(population) do
    order[individual] = i
    if individual.acceptable and fitness.right(individual.measurement) then
      fit[#fit + 1] = individual
    end
  end
  table.sort(fit, function(a, b)
    if a.fitness ~= b.fitness then return a.fitness < b.fitness end
    return order[a] < order[b]
  end)
  local genomes, seen = {}, {}
  for _, individual in ipairs(fit) do
    if #genomes == n then break end
    if not seen[individual.genome] then
      seen[individual.genome] = true
      genomes[#genomes + 1] = individual.genome
    end
  end
  return genomes
end

local function send(ring, run)
  if not M.is_due(ring, run.generation) then return end
  textfile.write(path_of(ring, ring.island, run.generation), json.encode(json.object {
    { "terms", terms(ring) }, { "genomes", json.array(M.best(run.population, ring.migrants)) },
  }) .. "\n")
end

local function is_there(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local function wait_for(ring, path, generation)
  local began, told = host.seconds(), false
  while not is_there(path) do
    local waited = host.seconds() - began
    if waited > ring.timeout_s then
      fail("island %d did not come to the end of generation %d within %g seconds (%s)",
        M.before(ring), generation, ring.timeout_s, path)
    end
    if waited > TOLD_AFTER_S and not told then
      told = true
      io.stderr:write(("gilua: island %d waits for island %d, which has not come to the end of "
        .. "generation %d; is it running?\n"):format(ring.island, M.before(ring), generation))
    end
    host.sleep(PAUSE_S)
  end
end

local function is_genomes(list)
  if type(list) ~= "table" then return false end
  for _, genome in ipairs(list) do
    if type(genome) ~= "string" then return false end
  end
  return true
end

local function received(ring, generation)
  local path = path_of(ring, M.before(ring), generation)
  wait_for(ring, path, generation)
  local left = json.decode(textfile.read(path, "the migrants"))
  if type(left) ~= "table" or not is_genomes(left.genomes) then
    fail("%s holds no migrants: remove it, and run island %d again", path, M.before(ring))
  end
  if left.terms ~= terms(ring) then
    fail("%s is of another run (%s; here %s): give each run a folder of its own", path,
      tostring(left.terms), terms(ring))
  end
  return left.genomes
end

-- The last breeding step: immigrants take the places of the last children, so that the population
-- keeps its size.
local function immigration(ring)
  return function(run, _, children)
    local generation = run.generation - 1
    if not M.is_due(ring, generation) then return end
    local genomes = received(ring, generation)
    local first = math.max(0, #children - #genomes)
    for i, text in ipairs(genomes) do children[first + i] = evolve.child(text, "immigrant") end
  end
end

local function check(ring)
  for _, name in ipairs { "island", "islands", "every", "migrants" } do
    if math.type(ring[name]) ~= "integer" or ring[name] < 1 then
      fail("gi.islands: %s must be a whole number from 1 on, not %s", name,
        settings.shown(ring[name]))
    end
  end
  if ring.island > ring.islands then
    fail("gi.islands: there are %d islands, and this is to be number %d", ring.islands, ring.island)
  end
end

--- Makes a scheme one island of a ring. Its population, operators and fitness stay what they are;
--- give each island a seed of its own. Not for a scheme that puts together its population by
--- itself (`vary`, gi.gevo).
---@param scheme table as gi.evolve.run takes it: changed
---@param given table a Ring; `defaults` for what is left out
---@return table scheme
function M.join(scheme, given)
  local ring = settings.fill("gi.islands.join", given, M.defaults, NEEDED)
  check(ring)
  if scheme.vary then
    fail("gi.islands: a scheme with `vary` makes its populations itself; there is no place for "
      .. "migrants in it")
  end
  local made, why = textfile.make_folder(ring.folder)
  if not made then fail("cannot make the islands' folder %s: %s", ring.folder, why) end
  local breed = table.move(scheme.breed or evolve.paper.breed, 1,
    #(scheme.breed or evolve.paper.breed), 1, {})
  breed[#breed + 1] = immigration(ring)
  scheme.breed = breed
  scheme.observers = scheme.observers or {}
  table.insert(scheme.observers, { on_generation = function(run) send(ring, run) end })
  scheme.kind = ("evolution on island %d"):format(ring.island)
  return scheme
end

return M
