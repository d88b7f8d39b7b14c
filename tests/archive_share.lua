-- archive_share: what the archive takes of a generation. A farm that is none answers RATE times a
-- second with what a GPU's would tell (PTX of a real kernel's length, each another; verdicts, all
-- samples), however busy its host is, and is asked by a real evolution. The archive's own calls are
-- timed: those between answers, while workers are at work, and those that a generation waits for.
--
--   gilua tests/archive_share.lua [RATE [GENERATIONS]]    350 a second, three generations of 300

local gi = require "gilua"
local core = require "gilua.core"

package.path = gi.home .. "/tests/lua/?.lua;" .. package.path
local spent = require("archivetime").begin()

local RATE, GENERATIONS = tonumber(arg[1] or 350), tonumber(arg[2] or 3)
local POPULATION, SAMPLES = 300, 25
local seconds = core.system.seconds
local problem = gi.problem "kernels/niftyreg"
local unit = { source = problem.source, names = problem.grammar:names() }
local ptx = assert(gi.compile.batch({ unit }, { target = "compute_90" }))[1].code
local rng = gi.rng(1)

--------------------------------------------------------------------------------------------------
-- The farm

-- A text as long as PTX, of which some lines are others.
local function another_ptx()
  local lines = {}
  for line in ptx:gmatch "[^\n]*\n?" do lines[#lines + 1] = line end
  for _ = 1, 20 do
    lines[rng:int(#lines)] = ("\tadd.s32 \t%%r%d, %%r%d, %d;\n"):format(rng:int(90), rng:int(90),
      rng:int(1000))
  end
  return table.concat(lines)
end

local codes, units = {}, {}
local compiled = {
  of = function(_, hash) return units[hash] end, code = function(_, hash) return codes[hash] end,
}

local function compile(memory, hash)
  if memory:unit(hash) then return memory:code(memory:unit(hash).ptx) end
  local text = another_ptx()
  local of_text = core.system.hash128(text)
  codes[of_text] = text
  units[hash] = { ptx = of_text, ptx_hash = of_text, code = of_text, code_hash = of_text,
    seconds = 0.05 }
  memory:keep_unit({ hash = hash }, compiled)
  return text
end

local function measured(ticks)
  local samples = {}
  for i = 1, SAMPLES do samples[i] = ticks / 2 + i % 7 / 10 end
  return { status = "ok", ticks = ticks, ns = ticks / 2, max_error = 2.86e-06, wrong = 0.0,
    n = 1937375, mean_error = 2.7e-07, unset = 0.0, off = 0.0, nan = 0.0,
    registers = 30, shared_bytes = 1536,
    rel_error = 0.004, samples = samples,
    seconds = { compile = 0.05, run = 0.01, check = 0.01 } }
end

local answered, began, before = 0, nil, { processor_s = 0, clock_s = 0 }
local alone = { processor_s = 0, clock_s = 0 }
-- One evaluation as the funnel makes it: each question and each finding.
local function evaluate(memory, genome, case)
  local hash = core.system.hash128(genome)
  local code = core.system.hash128(compile(memory, hash))
  local key = code .. " block_size=128"
  if not memory:verdict(key) then
    memory:keep_verdict(key, { status = "ok", instructions = 123456, uninitialised_reads = 0 })
  end
  local place = gi.json.line(case)
  local m = memory:measurement(place, key)
  if not m then
    m = measured(5000 + rng:int(2000))
    memory:keep_measurement(place, key, m)
  end
  m.source_hash, m.ptx_hash, m.key = hash, code, memory:key_of_run(place, key)
  memory:flush_late()
  before.processor_s, before.clock_s = spent.processor_s, spent.clock_s
  answered = answered + 1
  core.system.sleep(math.max(0, began + answered / RATE - seconds()))
  return m
end

local farm = { device = "cuda:0", virtual = false, check_mode = "every", options = {},
  devices = { { name = "made-up GPU", target = "sm_90" } } }
function farm:remember(memory) self.memory = memory end
function farm.set_check() end
function farm.case_info() return { name = "made up" } end
function farm.stats() return { seconds = {}, duplicates = {}, runs = 0, restarts = 0 } end
function farm:evaluate(genomes, case, options)
  local list = {}
  for i, genome in ipairs(genomes) do
    list[i] = evaluate(self.memory, genome, case)
    options.on_result(i, list[i], i, #genomes)
  end
  self.memory:flush()
  return list
end
function farm:compare(_, _, case)
  return { ratio = 1, low = 1, high = 1, pairs = 10, case = case, a = measured(5000),
    b = measured(5000) }
end
setmetatable(farm, { __index = function(_, name) error("the farm is asked for " .. name) end })

--------------------------------------------------------------------------------------------------

local folder <close> = require("gilua.base.tempfolder").new()
local n = GENERATIONS * (POPULATION + 1)
local last_s

local function start()
  began = seconds()
  for _, t in ipairs { spent, alone, before } do t.processor_s, t.clock_s = 0, 0 end
end

-- What came since the last answer.
local function count()
  for name in pairs(alone) do alone[name] = alone[name] + spent[name] - before[name] end
  last_s = seconds() - began
end

local function say()
  local took_s = n / RATE
  print(("  %d generations of %d at %g answers a second: asked for %.1f s, took %.1f"):format(
    GENERATIONS, POPULATION, RATE, took_s, last_s))
  print(("  archive, while workers are at work   %.0f us of the host's processor an evaluation, "
    .. "%.1f %% of its time"):format(1e6 * (spent.processor_s - alone.processor_s) / n,
    100 * (spent.processor_s - alone.processor_s) / took_s))
  print(("  archive, at the end of a generation  %.1f ms of a processor, %.1f with the disk: "
    .. "%.2f %% of its time; asked for: below 2 %%"):format(1e3 * alone.processor_s / GENERATIONS,
    1e3 * alone.clock_s / GENERATIONS, 100 * alone.processor_s / took_s))
end

gi.evolve.run {
  problem = problem, farm = farm, rng = rng, population = POPULATION, generations = GENERATIONS,
  finalists = 0, minimise = false, fitness = gi.fitness.niftyreg,
  new_case = function(number) return { side = 20, seed = number } end,
  observers = { gi.history.observer { dir = folder.path }, {
    on_start = start, on_generation = count, on_end = say, -- how it begins is no generation's
  } },
}
