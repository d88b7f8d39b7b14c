-- archive: what its archive costs a run at full speed. The same evolution with an archive and
-- without, in turn: each generation of one has the mutants of the other's, for who becomes a parent
-- is decided by answers and sources, not by times. Beside the wall time of the two, which varies by
-- more than what is asked after, stands the time within the archive's own calls.
--
--   gilua [--device cuda] tests/gpu/archive.lua [--population 300] [--generations 6] [--repeats 4]

local gi = require "gilua"
local core = require "gilua.core"

package.path = gi.home .. "/tests/lua/?.lua;tests/lua/?.lua;" .. package.path
local spent = require("archivetime").begin()

local MOST = 0.02 -- of a generation's time

local options = gi.cli {
  doc = "Times generations with an archive and without.",
  { name = "population", default = 300, min = 2, doc = "mutants in a generation" },
  { name = "generations", default = 6, min = 2, doc = "of a run; the first is not counted" },
  { name = "repeats", default = 4, min = 1, doc = "runs of either kind" },
  { name = "side", type = "integer", min = 20, doc = "a ball of this side instead of the brain" },
}

local problem = gi.problem "kernels/niftyreg"
local brain = gi.samples.path "brain"
local function new_case(number)
  if brain and not options.side then return { image = brain, seed = number } end
  return { side = options.side or 217, seed = number }
end

local function right(own) return gi.fitness.right(own) end

-- One run: its generations from the second on, { wall_s, mutants, waited_s, calls_s }: waited_s is
-- the archive's time after the last answer, when all wait for it, and calls_s all of it.
local function run(archived)
  local folder <close> = require("gilua.base.tempfolder").new()
  local list, began, calls, told = {}, nil, 0, 0
  local clock = { on_start = function() began, calls = core.system.seconds(), spent.clock_s end }
  function clock.on_result() told = spent.clock_s end
  function clock.on_generation(now, record)
    local mutants = {}
    for i, individual in ipairs(now.population) do mutants[i] = individual.genome end
    list[record.generation] = {
      wall_s = core.system.seconds() - began, mutants = core.system.hash128(
        table.concat(mutants, "\n")), waited_s = spent.clock_s - told,
      calls_s = spent.clock_s - calls }
    began, calls = core.system.seconds(), spent.clock_s
  end
  local observers = archived and { gi.history.observer { dir = folder.path }, clock } or { clock }
  local farm = gi.farm(problem, { device = options.device, jobs = options.jobs })
  gi.evolve.run {
    problem = problem, farm = farm, rng = gi.rng(options.seed), population = options.population,
    generations = options.generations, finalists = 0, minimise = false, new_case = new_case,
    fitness = function(own)
      return right(own) and own.source_hash and tonumber(own.source_hash:sub(1, 8), 16) or math.huge
    end,
    acceptable = right, observers = observers,
  }
  farm:close()
  return table.move(list, 2, #list, 1, {})
end

--------------------------------------------------------------------------------------------------

local ratios, shares, calls, walls, others = {}, {}, {}, { {}, {} }, 0

local function add(with, without)
  for i, a in ipairs(with) do
    local b = without[i]
    if a.mutants ~= b.mutants then others = others + 1 end
    ratios[#ratios + 1] = a.wall_s / b.wall_s
    shares[#shares + 1] = a.waited_s / a.wall_s
    calls[#calls + 1] = a.calls_s / a.wall_s
    table.insert(walls[1], a.wall_s)
    table.insert(walls[2], b.wall_s)
  end
end

for repetition = 1, options.repeats do
  local first = repetition % 2 == 1 -- with, without, without, with, …
  local one = run(first)
  local other = run(not first)
  if first then add(one, other) else add(other, one) end
end

local function said(list, factor, number)
  return (number .. " (" .. number .. " to " .. number .. ")"):format(
    factor * gi.stats.median(list), factor * math.min(table.unpack(list)),
    factor * math.max(table.unpack(list)))
end

print(("%d generations of %d with an archive and as many without; %s the same mutants"):format(
  #ratios, options.population, others == 0 and "all of" or #ratios - others .. " of them of"))
print(("with an archive     %s s, %.0f mutants a second"):format(said(walls[1], 1, "%.2f"),
  options.population / gi.stats.median(walls[1])))
print(("without             %s s, %.0f mutants a second"):format(said(walls[2], 1, "%.2f"),
  options.population / gi.stats.median(walls[2])))
print(("with to without     %s times as long"):format(said(ratios, 1, "%.3f")))
print(("within the archive  %s %% of a generation in all its calls,"):format(
  said(calls, 100, "%.2f")))
print(("                    %s %% while all wait for it; asked for: below %g %%"):format(
  said(shares, 100, "%.2f"), 100 * MOST))
if gi.stats.median(shares) >= MOST then
  gi.fail("the archive takes %.1f %% of a generation's time", 100 * gi.stats.median(shares))
end
