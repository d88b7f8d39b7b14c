-- hostile: can a mutant hurt the others, fool the farm, or end it?
--
--   gilua [--device cuda] tests/gpu/hostile.lua [--quick] [--check every|winners] [--answers N]
--
-- A population of innocents (random legal mutants of tests/hostile/problem, right or wrong) is
-- evaluated alone, and again, in a new farm, shuffled with the hostile mutants of
-- tests/hostile/mutants.lua. Each innocent must get the same result to the bit of its errors, each
-- hostile one the fate that its row names, and the farm must go on. Prints a row for each hostile
-- mutant; exit code 1 when something is not as it must be.
--
-- --check winners leaves the checked run on the virtual GPU out, so that on device cuda everything
-- reaches the GPU.

local gi = require "gilua"

local options = gi.cli {
  doc = "Evaluates hostile mutants among innocent ones.",
  { name = "innocents", default = 100, min = 1, doc = "random mutants that mean no harm" },
  { name = "answers", default = 1000003, min = 5002, doc = "answers of the main case" },
  { name = "quick", default = false, doc = "without those that cost a compiler's time limit" },
  { name = "check", default = "every", doc = "every, or winners: without the checked run" },
  { name = "compile-timeout", default = 20, min = 1, doc = "seconds for one compilation" },
  { name = "only", default = "", doc = "hostile mutants whose name has this in it" },
  { name = "without", default = "-", doc = "leave out the one of this name" },
}

local home = gi.home .. "/tests/hostile"
local problem = gi.problem(home .. "/problem")
local mutants = dofile(home .. "/mutants.lua")
local case = { n = options.answers, seed = options.seed }
local rng = gi.rng(options.seed)
local complaints = 0

local function complain(format, ...)
  complaints = complaints + 1
  print("NOT OK: " .. format:format(...))
end

--- A farm evaluates a list once; what came back, and what it cost.
local function open_farm()
  return gi.farm(problem, {
    device = options.device, jobs = options.jobs, check = options.check,
    compile_timeout_s = options["compile-timeout"],
  })
end

local function evaluate(list)
  local farm <close> = open_farm()
  local start, seen = gi.host.seconds(), 0
  local results = farm:evaluate(list, case, function() seen = seen + 1 end)
  if seen ~= #list then complain("%d results were reported, not %d", seen, #list) end
  return results, farm:stats(), gi.host.seconds() - start
end

--- Distinct random genomes of one to three genes.
local function random_genomes(n)
  local list, known = {}, {}
  while #list < n do
    local genes = {}
    for k = 1, rng:int(3) do genes[k] = problem.grammar:random_gene(rng) end
    local genome = table.concat(genes, " ")
    if not known[genome] then
      known[genome] = true
      list[#list + 1] = genome
    end
  end
  return list
end

local DETERMINED = { ok = true, compile_error = true, race = true, loop_limit = true }

--- Random mutants that say the same each time: one whose lanes race, or that depends on what nobody
--- wrote, may say anything on a GPU.
local function checked_genomes(n)
  local candidates, list = random_genomes(n), {}
  local farm <close> = open_farm()
  for i, verdict in ipairs(farm:check(candidates)) do
    local steady = verdict.status ~= "race" and (verdict.uninitialised_reads or 0) == 0
    if steady then list[#list + 1] = candidates[i] end
  end
  return list
end

--- Innocents with their true results: random mutants that are harmless.
local function innocents(n)
  local candidates = checked_genomes(3 * n)
  local results, stats = evaluate(candidates)
  local list, truth = {}, {}
  for i, m in ipairs(results) do
    if DETERMINED[m.status] and #list < n then
      list[#list + 1] = candidates[i]
      truth[candidates[i]] = m
    end
  end
  if #list < n then complain("only %d innocents among %d random mutants", #list, 3 * n) end
  if stats.restarts > 0 then print(("innocents alone: %d restarts"):format(stats.restarts)) end
  return list, truth
end

local function wanted_fate(mutant)
  if not options.device:match("^cuda") then return mutant.emu end
  return options.check == "every" and mutant.cuda or mutant.raw
end

local function hostile_ones()
  local list, honest = {}, problem.source
  for _, mutant in ipairs(mutants) do
    local asked = mutant.name ~= options.without and mutant.name:find(options.only, 1, true)
    if asked and (mutant.quick or not options.quick) then
      list[#list + 1] = { source = mutant.source(honest), name = mutant.name, mutant = mutant }
    end
  end
  return list
end

local function shuffled(a, b)
  local all = table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
  for i = #all, 2, -1 do
    local k = rng:int(i)
    all[i], all[k] = all[k], all[i]
  end
  return all
end

local function fate_of(m)
  if m.status ~= "ok" then return m.status end
  return gi.fitness.right(m) and "right" or "wrong"
end

--- Does "a|b" name the fate?
local function allows(wanted, fate)
  return ("|" .. wanted .. "|"):find("|" .. fate .. "|", 1, true) ~= nil
end

local SAME = { "status", "max_error", "mean_error", "off", "wrong", "unset", "nan", "n", "ptx_hash",
  "code_hash" }

local function check_innocent(genome, truth, m)
  for _, field in ipairs(SAME) do
    if truth[field] ~= m[field] then
      complain("innocent `%s`: %s was %s alone and is %s here (%s)", genome, field,
        truth[field], m[field], m.message or "no message")
    end
  end
end

local function seconds_of(m)
  local sum = 0
  for _, s in pairs(m.seconds or {}) do sum = sum + s end
  return sum
end

local function check_hostile(mutant, m)
  local fate, wanted = fate_of(m), wanted_fate(mutant)
  local good = allows(wanted, fate)
  local why = (m.message or ""):gsub("%s+", " "):sub(1, 70)
  print(("%-32s %-16s %7.2f s  %s"):format(mutant.name, fate, seconds_of(m), why))
  if not good then complain("%s: %s, but must be %s", mutant.name, fate, wanted) end
end

print(("hostile suite: device %s, seed %d, check %s, %d answers"):format(options.device,
  options.seed, options.check, options.answers))
local list, truth = innocents(options.innocents)
local _, alone_stats, alone_s = evaluate(list)
local bad = hostile_ones()
local mixed = shuffled(list, bad)
local results, stats, mixed_s = evaluate(mixed)
for i, given in ipairs(mixed) do
  if type(given) == "string" then check_innocent(given, truth[given], results[i]) end
end
local by_name = {}
for i, given in ipairs(mixed) do
  if type(given) == "table" then by_name[given.name] = results[i] end
end
for _, given in ipairs(bad) do check_hostile(given.mutant, by_name[given.name]) end
print(("%d innocents alone %.1f s (%d restarts); with %d hostile ones %.1f s (%d restarts), "
  .. "%.2f s lost to each"):format(#list, alone_s, alone_stats.restarts, #bad, mixed_s,
  stats.restarts, (mixed_s - alone_s) / math.max(#bad, 1)))
print(complaints == 0 and "all as it must be" or complaints .. " complaints")
os.exit(complaints == 0, true)
