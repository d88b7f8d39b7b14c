-- What one manager can do: evaluations a second of its processor, and messages and bytes for each,
-- with agents that answer at once (pretender.lua) or real ones.
-- `./gilua tests/cluster/manager.lua URL [EVALUATIONS [ARCHIVE]]`: ARCHIVE is a file that is made,
-- in which all is kept; without an address by local workers.

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
if arg[3] then farm:remember(gi.archive.open(arg[3]):memory "the test's") end
farm:evaluate({ "" }, case)
local link = farm.crew.link
local before_s, wall_s = os.clock(), core.system.seconds()
local sent = link and { link.sent.messages, link.sent.bytes } or { 0, 0 }
local received = link and { link.received.messages, link.received.bytes } or { 0, 0 }
farm:evaluate(genomes, case)
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
