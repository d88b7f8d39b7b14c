-- hostile_large: answers past 2^31 bytes are checked too.
--
--   gilua [--device cuda] tests/gpu/hostile_large.lua
--
-- The honest kernel of tests/hostile/large must be right, and mutants that are wrong only in the
-- last bytes, or that count bytes with 32 bits, must be found out. Needs 12 GB of memory.

local gi = require "gilua"

local options = gi.cli { doc = "Evaluates mutants with more than 2^31 bytes of answers." }
local problem = gi.problem(gi.home .. "/tests/hostile/large")
local STORE = "if (i < n16) out[i]"

local function mutant(name, condition)
  local first, last = problem.source:find(STORE, 1, true)
  return { name = name, source = problem.source:sub(1, first - 1)
    .. ("if (i < n16 && %s) out[i]"):format(condition) .. problem.source:sub(last + 1) }
end

local rows = {
  { "", "right" },
  { mutant("nothing past 2^31 bytes", "i < (1ll << 27)"), "wrong" },
  { mutant("not the last 16 bytes", "i != n16 - 1 || n16 < (1 << 27)"), "wrong" },
  { mutant("a byte count of 32 bits", "(int)(16 * i) >= 0"), "wrong" },
  { mutant("nothing at 2^31 alone", "i != (1ll << 27)"), "wrong" },
}
local genomes = {}
for i, row in ipairs(rows) do genomes[i] = row[1] end

local start = gi.host.seconds()
local farm = gi.farm(problem, { device = options.device, jobs = 1, memory_bytes = 16 << 30 })
local failures = 0
for i, m in ipairs(farm:evaluate(genomes, {})) do
  local fate = m.status
  if fate == "ok" then fate = gi.fitness.right(m) and "right" or "wrong" end
  local good = fate == rows[i][2]
  if not good then failures = failures + 1 end
  print(("%-28s %-8s wrong answers: %.0f of %d%s"):format(m.genome, fate, m.wrong * m.n, m.n,
    good and "" or "  NOT OK: must be " .. rows[i][2]))
end
farm:close()
print(("%.1f s"):format(gi.host.seconds() - start))
os.exit(failures == 0, true)
