-- madeup: an archive of made-up rows, as many and as long as those of a large run: what is measured
-- on it is what SQLite takes, not what a kernel does. Of an evaluation in two something new was
-- measured, of one in three something new was checked, three in four were new to the compiler; PTX
-- is left out. Helper of tests and of bench.lua.

local gi = require "gilua"

local M = {}

M.PER_GENERATION = 300

-- ?1: rows there are, ?2: rows to make, ?3: of a generation, ?4: the run.
local NUMBERS = "WITH RECURSIVE n(i) AS (SELECT ?1 + 1 UNION ALL SELECT i + 1 FROM n "
  .. "WHERE i < ?1 + ?2) "

-- A key of 32 digits, spread as hashes are; another for each number of each run.
local function key(of)
  return ("printf('%%08x%%08x%%08x%%08x', (%s) * 2654435761 %% 4294967296, ?4, %s, 0)"):format(of,
    of)
end

local STATEMENTS = {
  NUMBERS .. "INSERT INTO genome (text) SELECT printf('<_kernel.cu_%d><_kernel.cu_%d> "
    .. "block_size=%d <IF_kernel.cu_%d><IF_kernel.cu_%d> <_kernel.cu_%d>+<_kernel.cu_%d> of run "
    .. "%d number %d', i % 300, i % 293, i % 1024, i % 97, i % 89, i % 283, i % 277, ?4, i) FROM n "
    .. "WHERE ?3",
  NUMBERS .. "INSERT INTO evaluation SELECT ?4, i, (i - 1) / ?3 + 1, CASE WHEN i % ?3 = 1 THEN "
    .. "'unmodified' WHEN i % 2 THEN 'mutation' ELSE 'crossover' END, max(1, i - ?3), "
    .. "max(1, i - ?3 + i % 7), (SELECT max(id) FROM genome) - ?1 - ?2 + i, "
    .. "'ball 217, seed ' || ((i - 1) / ?3), CASE WHEN i % 5 THEN 'ok' ELSE 'race' END, NULL, "
    .. "49301.0 + i % 30011, 24650.5 + i % 30011, 2.86e-06, 2.7e-07, 0.0, 0.0, 30, "
    .. key "i" .. ", " .. key "i" .. ", 4930.1 + (i % 30011) / 10.0, i % 3 > 0, " .. key "i"
    .. " FROM n", -- half of them are in `measurement`
  NUMBERS .. "INSERT INTO unit SELECT " .. key "i" .. ", 1, " .. key "i" .. ", NULL, NULL, NULL, "
    .. key "i" .. ", " .. key "i" .. ", " .. key "i" .. ", NULL, '', 0.05 FROM n "
    .. "WHERE i % 4 AND ?3",
  NUMBERS .. "INSERT INTO verdict SELECT " .. key "i" .. ", 1, " .. key "i" .. ", "
    .. "'block_size=128', CASE WHEN i % 5 THEN 'ok' ELSE 'race' END, NULL, CAST(?5 AS BLOB) FROM n "
    .. "WHERE i % 3 = 0 AND ?3",
  NUMBERS .. "INSERT INTO measurement SELECT " .. key "i" .. ", 1, NULL, " .. key "i / 300"
    .. ", " .. key "i" .. ", 'block_size=128', 'ok', NULL, 49301.0, 24650.5, 2.86e-06, 2.7e-07, "
    .. "0.0, 0.0, 30, NULL, CAST(?5 AS BLOB) FROM n WHERE i % 2 AND ?3",
}

-- What is kept of a measurement, and of a verdict, is as long as this.
local REPLY = gi.wire.encode { status = "ok", ticks = 49301.5, ns = 24650.5, max_error = 2.86e-06,
  mean_error = 2.7e-07, wrong = 0.0, unset = 0.0, off = 0.0, nan = 0.0, n = 1937375, registers = 30,
  shared_bytes = 1536, warp_instructions = 12345678, lane_instructions = 345678901, barriers = 0,
  barrier_after_exit = 0, divergent_branches = 284, global_sectors = 1846, texture_sectors = 12638,
  shared_conflicts = 0, occupancy = 0.9375, part_issue = 656.8, part_latency = 2904.5,
  part_memory = 45.9, clock_ghz = 1.98, uninitialised_reads = 0,
  seconds = { run = 0.125, check = 0.01, time = 1e-07 } }
local VERDICT = gi.wire.encode { status = "race", instructions = 123456, uninitialised_reads = 0,
  message = ("race in global memory at byte 0 of 'output' (42000 bytes): this write and the write "
    .. "by thread 0 of the block (PTX line 408, source line 290)") }

local BATCH = 100000

--- Makes an archive with a run of n evaluations, or adds one to it.
---@param path string
---@param n integer
---@return integer run
function M.archive(path, n)
  local archive <close> = gi.archive.open(path)
  local world = archive:world "{}"
  local run = archive:begin_run { world = world, seed = 1, device = "emu", problem = "made up",
    command = "{}" }
  archive:flush()
  assert(archive.db:execute "PRAGMA cache_size = -500000; PRAGMA synchronous = OFF")
  for done = 0, n - 1, BATCH do
    assert(archive.db:execute "BEGIN")
    for _, sql in ipairs(STATEMENTS) do
      local values = { done, math.min(BATCH, n - done), M.PER_GENERATION, run }
      if sql:find("?5", 1, true) then
        values[5] = sql:find "INTO verdict" and VERDICT or REPLY
      end
      assert(archive.db:run(sql, table.unpack(values)))
    end
    assert(archive.db:execute "COMMIT")
  end
  archive:end_run(run)
  return run
end

return M
