-- merge: archives in one, whichever way and however often.
package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"
local madeup = require "madeup"
local tap = require "tap"

local M = { status = "ok", ticks = 10.0, ns = 5.0, max_error = 0.0, mean_error = 0.0, wrong = 0.0,
  unset = 0.0, registers = 16, n = 4 }

local function changed(changes)
  local m = {}
  for name, value in pairs(M) do m[name] = value end
  for name, value in pairs(changes) do m[name] = value end
  return m
end

-- A folder with an archive of one run: `ids` are its evaluations, and what each took.
local function run_in(world, seed, ids)
  local dir = tap.folder()
  local archive <close> = gi.archive.open(dir .. "/archive.sqlite")
  local id, hash = archive:world(world)
  local run = archive:begin_run { world = id, seed = seed, device = "emu", problem = "p",
    command = "{}" }
  local memory = archive:memory(hash)
  for i, ticks in ipairs(ids) do
    local m = changed { ticks = ticks }
    memory:keep_measurement("a case", ("%032x block=1"):format(ticks * 2), m)
    m.key = memory:key_of_run("a case", ("%032x block=1"):format(ticks * 2))
    archive:evaluated(run, { id = i, genome = "G" .. ticks, birth = "initial", measurement = m,
      fitness = ticks, acceptable = true }, 1, "a case")
  end
  return dir, archive, memory, run
end

local function rows(path, sql)
  local archive <close> = gi.archive.open(path, { read_only = true })
  local list = {}
  for i, row in ipairs(archive:rows(sql)) do list[i] = gi.json.line(row) end
  return table.concat(list, "\n")
end

-- All that a merged archive holds, without what depends on the order of sources.
local ALL = "SELECT uid, e.id, genome, status, e.ticks FROM evaluations e "
  .. "JOIN run r ON r.id = e.run ORDER BY uid, e.id"

local function out_path() return tap.folder() .. "/all.sqlite" end

tap.case("runs of several archives are in one", function()
  local a, b, out = run_in("w", 1, { 10.5, 20.5 }), run_in("w", 2, { 20.5, 30.5 }), out_path()
  local merged = gi.merge.into(out, { a, b })
  tap.is(#merged, 2, "two sources")
  tap.is(merged[1].new_runs + merged[2].new_runs, 2, "two runs")
  tap.is(merged[2].evaluations, 2, "with their evaluations")
  tap.is(rows(out, "SELECT run, id, genome, ticks FROM evaluations ORDER BY run, id"),
    rows(a .. "/archive.sqlite", "SELECT 1 AS run, id, genome, ticks FROM evaluations ORDER BY id")
    .. "\n" .. rows(b .. "/archive.sqlite",
      "SELECT 2 AS run, id, genome, ticks FROM evaluations ORDER BY id"), "as they were")
  tap.is(rows(out, "SELECT (SELECT count(*) FROM world) AS w, (SELECT count(*) FROM genome) AS g, "
    .. "(SELECT count(*) FROM measurement) AS m"), gi.json.line { w = 1, g = 3, m = 3 },
    "what they share is there once")
  tap.is(rows(out, "SELECT count(*) AS n FROM measurements"), gi.json.line { n = 4 },
    "and measurements go with their evaluations")
end)

tap.case("once more changes nothing, and the order neither", function()
  local a, b = run_in("w", 1, { 10.5, 20.5 }), run_in("v", 2, { 20.5 })
  local out, other = out_path(), out_path()
  gi.merge.into(out, { a, b })
  local before = rows(out, ALL)
  for _, merged in ipairs(gi.merge.into(out, { b, a, a })) do
    tap.is(merged.new_runs + merged.evaluations + #merged.conflicts, 0, "nothing is new")
  end
  tap.is(rows(out, ALL), before, "the same rows")
  gi.merge.into(other, { b, a })
  tap.is(rows(other, ALL), before, "in another order, too")
  tap.is(#gi.merge.into(out, { out }), 0, "itself is no source")
end)

tap.case("a run that went on since is brought up to date", function()
  local a, out = run_in("w", 1, { 10.5 }), out_path()
  gi.merge.into(out, { a })
  local archive = gi.archive.open(a .. "/archive.sqlite")
  archive:evaluated(1, { id = 2, genome = "later", birth = "mutation", measurement = M }, 2, "c")
  archive:end_run(1)
  archive:begin_part(1, 1, 7)
  archive:close()
  local merged = gi.merge.into(out, { a })[1]
  tap.is(merged.evaluations, 1, "the new evaluation")
  tap.is(merged.new_runs, 1, "and evolution")
  tap.is(rows(out, "SELECT ended IS NOT NULL AS e, part_of FROM run ORDER BY id"),
    gi.json.line { e = 1 } .. "\n" .. gi.json.line { e = 0, part_of = 1 }, "of the same run")
end)

tap.case("answers that differ are told, and the first stays", function()
  local a, archive, memory = run_in("w", 1, { 10.5 })
  archive:close()
  local b = run_in("w", 2, { 10.5 })
  local function tell(dir, verdict, ticks)
    archive = gi.archive.open(dir .. "/archive.sqlite")
    memory = archive:memory((core.system.sha256 "w"))
    memory:keep_verdict("ab12 block=1", { status = verdict })
    memory:keep_measurement("a case", "cd34 block=1", changed { ticks = ticks })
    archive:close()
  end
  tell(a, "ok", 7.5)
  tell(b, "race", 8.5)
  local out = out_path()
  local c = gi.merge.into(out, { a, b })[2].conflicts
  tap.is(#c, 2, "a verdict and a measurement")
  tap.is(("%s %d %s"):format(c[1].table, c[1].n, c[1].example),
    "verdict 1 ab12 block=1: ok or race", "which, and how")
  tap.is(c[2].example, "cd34: ok 7.5 or ok 8.5", "the measurement, too")
  tap.is(rows(out, "SELECT status FROM verdict"), gi.json.line { status = "ok" }, "the first stays")
end)

tap.case("an older archive is merged and stays as it is", function()
  local dir, out = tap.folder(), out_path()
  local path = dir .. "/archive.sqlite"
  local db = assert(core.store.open(path))
  assert(db:execute(gi.textfile.read("tests/data/archive-1.sql", "an archive")))
  db:close()
  local before = tap.read(path)
  tap.is(gi.merge.into(out, { dir })[1].evaluations, 4, "its evaluations")
  tap.is(gi.merge.into(out, { path })[1].evaluations, 0, "once")
  tap.ok(tap.read(path) == before, "the file is as it was")
end)

tap.case("what is none is refused before anything is written", function()
  local a, out = run_in("w", 1, { 10.5 }), out_path()
  local odd = tap.folder() .. "/odd.sqlite"
  gi.textfile.write(odd, "no database")
  tap.raises(function() gi.merge.into(out, { a, odd }) end, "is no archive of gilua's", "garbage")
  tap.raises(function() gi.merge.into(out, { a, a .. "/none" }) end, "none is not there", "nothing")
  tap.raises(function() gi.merge.into(out, { a, tap.folder() }) end, "its folder is no run's",
    "a folder")
  tap.is(lfs.attributes(out), nil, "there is no archive")
end)

tap.case("a name with quotes, blanks and a line end is a name", function()
  local a = run_in("w", 1, { 10.5 })
  local odd = tap.folder() .. "/it's \"a\" run?\n%20#1"
  assert(lfs.mkdir(odd))
  assert(os.rename(a .. "/archive.sqlite", odd .. "/archive.sqlite"))
  local out = odd .. "/out';DROP.sqlite"
  tap.is(gi.merge.into(out, { odd })[1].evaluations, 1, "from it, to it")
end)

tap.case("many rows", function()
  local out = out_path()
  local paths = { tap.folder() .. "/a.sqlite", tap.folder() .. "/b.sqlite" }
  madeup.archive(paths[1], 2000)
  madeup.archive(paths[2], 3000)
  gi.merge.into(out, paths)
  tap.is(rows(out, "SELECT run, count(*) AS n FROM evaluation GROUP BY run"),
    gi.json.line { n = 2000, run = 1 } .. "\n" .. gi.json.line { n = 3000, run = 2 },
    "are all there")
end)

tap.done()
