-- What one manager can do: evaluations a second of its processor, and messages and bytes for each,
-- with agents that answer at once (pretender.lua) or real ones.
-- `./gilua tests/cluster/manager.lua URL [EVALUATIONS [ARCHIVE]]`: ARCHIVE is a file that is made,
-- in which all is kept, as a run keeps it; without an address by local workers.

local core = require "gilua.core"
local gi = require "gilua"

local url, n = arg[1], tonumber(arg[2]) or 2000
local problem, rng = gi.problem "kernels/niftyreg", gi.rng(7)
local case = { seed = 3, side = 20 }

local genomes = {}
for i = 1, n do
  local genes = {}
  for k = 1, 3 do genes[k] = problem.grammar:random_gene(rng) end
  genomes[i] = table.concat(genes, " ")
end

local farm <close> = gi.farm(problem, { cluster = url })
local archive = arg[3] and gi.archive.open(arg[3])
local run
if archive then
  run = archive:begin_run { world = archive:world "the test's", seed = 7, device = "emu",
    problem = problem.name, command = "none" }
  farm:remember(archive:memory "the test's")
end

-- What a run's history keeps of an individual.
local function keep(i, m)
  if not archive then return end
  archive:evaluated(run, { id = i, birth = "random", parents = {}, genome = genomes[i],
    measurement = m, fitness = m.ticks, acceptable = true }, 1, "none")
end

farm:evaluate({ "" }, case)
local link = farm.crew.link
local before_s, wall_s = os.clock(), core.system.seconds()
local sent = link and { link.sent.messages, link.sent.bytes } or { 0, 0 }
local received = link and { link.received.messages, link.received.bytes } or { 0, 0 }
for i, m in ipairs(farm:evaluate(genomes, case)) do keep(i, m) end
if archive then archive:flush() end
local cpu_s = os.clock() - before_s
wall_s = core.system.seconds() - wall_s
local counts = farm:stats()
print(("%d evaluations (%d compilations, %d checks, %d runs): %.3f ms of a processor each, %.0f a "
  .. "second of it; %.1f s by the clock"):format(n, counts.compilations, counts.checks, counts.runs,
  1000 * cpu_s / n, n / cpu_s, wall_s))
if link then
  print(("each: %.2f messages and %.1f kB sent, %.2f and %.1f kB received"):format(
    (link.sent.messages - sent[1]) / n, (link.sent.bytes - sent[2]) / n / 1000,
    (link.received.messages - received[1]) / n, (link.received.bytes - received[2]) / n / 1000))
end
