-- replay of a large archive: what is held of each evaluation is a few numbers.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local tap = require "tap"

local MORE = 200000 -- evaluations of another run in the same archive

local function run_into(dir)
  local pid = core.system.begin { argv = { "./gilua", "experiments/quickstart.lua", "--side", "20",
    "--population", "10", "--generations", "2", "--out", dir, "--quiet" } }
  while not core.system.ended(pid) do core.system.sleep(0.02) end
end

-- Adds a run of the same world and scheme, each of whose genomes is new.
local function add_run(dir)
  local archive <close> = gi.archive.open(dir .. "/archive.sqlite")
  archive:flush()
  for _, sql in ipairs {
    "BEGIN", "INSERT INTO run (world, seed, device, problem, command, began, ended, uid, title, "
      .. "scheme) SELECT world, seed, device, problem, command, began, ended, 'made up', title, "
      .. "scheme FROM run WHERE id = 1",
    ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
      .. "INSERT INTO genome (text) SELECT printf('<_kernel.cu_%%d><_kernel.cu_%%d> "
      .. "<_kernel.cu_%%d>+<_kernel.cu_%%d> x%%d', i %% 300, i %% 293, i %% 283, i %% 277, i) "
      .. "FROM n"):format(MORE),
    "INSERT INTO evaluation SELECT (SELECT max(id) FROM run), x, (x - 1) / 300 + 1, CASE WHEN "
      .. "x % 300 = 1 THEN 'unmodified' ELSE 'mutation' END, NULL, NULL, g, e.case_name, e.status, "
      .. "NULL, e.ticks + x % 3000, e.ns, e.max_error, e.mean_error, e.wrong, e.unset, "
      .. "e.registers, NULL, NULL, e.fitness, e.acceptable, e.measurement FROM (SELECT id AS g, "
      .. "row_number() OVER (ORDER BY id) AS x FROM genome WHERE text LIKE '% x%'), evaluation e "
      .. "WHERE e.run = 1 AND e.id = 1",
    "COMMIT",
  } do
    assert(archive.db:execute(sql))
  end
end

tap.case("a replay holds little of each evaluation, and answers as before", function()
  local dir = tap.folder()
  run_into(dir)
  local function speedup()
    local replay <close> = gi.replay.open(dir, 1)
    local run = replay:evolve()
    return ("%.6f, %d missing"):format(run.result.speedup, run.replayed.missing)
  end
  local alone = speedup()
  add_run(dir)
  collectgarbage()
  local before = collectgarbage "count"
  local replay <close> = gi.replay.open(dir, 1)
  collectgarbage()
  local bytes = 1024 * (collectgarbage "count" - before) / MORE
  tap.note(("%.0f bytes of Lua an evaluation"):format(bytes))
  tap.ok(bytes < 250, "a million of them in 250 MB")
  tap.is(speedup(), alone, "the run itself is simulated as without them")
  local genome = "<_kernel.cu_5><_kernel.cu_5> <_kernel.cu_5>+<_kernel.cu_5> x5"
  local m = replay.farm:evaluate({ genome }, { replayed = 1 })[1]
  tap.is(m.status, "ok", "and what another run evaluated is known")
  local other = gi.evaluations.one(replay.archive, 2, 5, replay.farm.index:baseline(2, 1))
  local own = replay.farm.index:baseline(1, 1)
  tap.near(m.ticks, other.ticks * own.ticks / other.baseline.ticks, "in proportion")
end)

tap.done()
