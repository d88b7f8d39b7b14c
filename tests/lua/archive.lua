-- archive: what is told to it is what it tells, in its world, whatever ends the program.
package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local host = require "gilua.base.host"
local schema = require "gilua.store.schema"
local tap = require "tap"

local function opened()
  local path = tap.folder() .. "/a.sqlite"
  return gi.archive.open(path), path
end

tap.case("a memory tells what it was told, and only in its world", function()
  local archive, path = opened()
  local world, hash = archive:world "one"
  tap.is(archive:world "one", world, "a world has one number")
  local memory = archive:memory(hash)
  local m = { status = "ok", ticks = 1.5, max_error = math.huge, samples = { 1, 2.5 }, n = 3 }
  memory:keep_measurement("case", "code", m)
  memory:keep_verdict("code", { status = "race", message = "two\nlines", instructions = 7 })
  memory:keep_case("case", { name = "a case", answers = 3 })
  archive:close()

  archive = gi.archive.open(path)
  memory = archive:memory(hash)
  local again, lost = memory:measurement("case", "code")
  tap.is(gi.json.line(again), gi.json.line(m), "a measurement, all of it")
  tap.is(lost, false, "which broke nothing")
  tap.is(memory:verdict("code").message, "two\nlines", "a verdict")
  tap.is(memory:case("case").answers, 3, "a case")
  tap.is(memory:measurement("another", "code"), nil, "nothing of another case")
  tap.is(archive:memory("other"):measurement("case", "code"), nil, "or another world")
  tap.is(archive:memory(hash, 1):measurement("case", "code"), nil, "or for a run on a GPU")
  memory.fresh = true
  tap.is(memory:verdict("code"), nil, "or where nobody wants to know")
end)

tap.case("what Ctrl-C breaks off is written the next time", function()
  local archive = opened()
  local db, broken = archive.db, false
  local one = {}
  core.store.later(one, "INSERT INTO genome (text) VALUES ('one')")
  archive.db = setmetatable({}, { __index = function(_, name)
    return function(_, ...)
      if name == "run_all" and not broken then
        broken = db:run_all(one)
        error "interrupted!"
      end
      return db[name](db, ...)
    end
  end })
  archive:add("INSERT INTO genome (text) VALUES ('one')")
  archive:add("INSERT INTO genome (text) VALUES ('two')")
  tap.raises(function() archive:flush() end, "interrupted!", "in the middle of a transaction")
  archive:flush()
  tap.is(archive:row("SELECT count(*) AS n FROM genome").n, 2, "both are there")
end)

tap.case("what is found is written while the farm waits for more", function()
  local archive, path = opened()
  local farm <close> = gi.farm(gi.problem "kernels/reduction", { jobs = 1 })
  farm:remember(archive:memory "w")
  local reader <close> = gi.archive.open(path, { read_only = true })
  local function known() return reader:row("SELECT count(*) AS n FROM genome").n end
  local before
  local seconds, now = host.seconds, 0 -- on a clock of its own
  host.seconds = function() return now end
  local _ <close> = setmetatable({}, { __close = function() host.seconds = seconds end })
  function farm.crew:drain(after)
    archive:flush()
    archive:add("INSERT INTO genome (text) VALUES ('one')")
    after()
    before = known()
    now = 0.1
    after()
    tap.is(known(), 1, "the last finding of many, after a while")
  end
  farm:serve()
  tap.is(before, 0, "those that come fast go together")
end)

tap.case("code is packed by what the first one has", function()
  local archive, path = opened()
  local memory = archive:memory "w"
  local units = {}
  local compiled = {
    of = function(_, hash) return units[hash] end,
    code = function(_, hash) return units[hash].text end,
  }
  local texts = {}
  for i = 1, 3 do
    local lines = {}
    for n = 1, 300 do lines[n] = ("add.s32 %%r%d, %%r%d, %d;"):format(n, n * 7 % 31, n) end
    lines[100 * i] = "bra.uni L" .. i
    local text = table.concat(lines, "\n")
    local hash = core.system.hash128(text)
    texts[i], units[hash] = hash, { text = text, ptx = hash, code = hash, ptx_hash = "h" .. i }
    memory:keep_unit({ hash = hash }, compiled)
  end
  archive:close()
  archive = gi.archive.open(path)
  for i, hash in ipairs(texts) do
    tap.is(archive:memory("w"):code(hash), units[hash].text, "code " .. i .. " comes back")
    tap.is(archive:memory("w"):unit(hash).ptx_hash, "h" .. i, "and what is known of it")
  end
  local sizes = archive:rows "SELECT length(packed) AS n FROM code ORDER BY n"
  tap.ok(sizes[2].n < sizes[3].n / 5, ("%d and %d bytes after %d"):format(sizes[1].n, sizes[2].n,
    sizes[3].n))
end)

tap.case("packed code that is cut short, or of another text, is refused", function()
  local like, text = ("ld.param.u64 %rd1;\n"):rep(900), ("ld.param.u64 %rd2;\n"):rep(1000)
  local packed = core.store.pack(text, like)
  tap.is(core.store.unpack(packed, #text, like), text, "whole, it comes back")
  tap.ok(#packed < 200, #packed .. " bytes")
  local odd = 0
  for length = 0, #packed - 1 do
    local found, _, code = core.store.unpack(packed:sub(1, length), #text, like)
    if found or code ~= "format" then odd = odd + 1 end
  end
  tap.is(odd, 0, "cut anywhere")
  tap.is(select(3, core.store.unpack(packed, #text - 1, like)), "format", "longer than it said")
  tap.is(select(3, core.store.unpack(packed, #text + 1, like)), "format", "shorter")
  tap.ok(core.store.unpack(packed, #text, "") ~= text, "without what it is like")
  tap.is(core.store.unpack(core.store.pack("", like), 0, like), "", "nothing is something too")
end)

tap.case("a kept value with any byte changed is refused, not another value", function()
  local archive <close> = opened()
  local _, hash = archive:world "one"
  local memory = archive:memory(hash)
  memory:keep_measurement("case", "code", { status = "ok", ticks = 1.5, unset = 0.0 })
  memory:keep_verdict("code", { status = "ok", ticks = 2.5 })
  memory:keep_case("case", { name = "a case", answers = 3 })
  archive:flush()
  local asks = {
    measurement = { "reply", function() memory:measurement("case", "code") end },
    verdict = { "reply", function() memory:verdict "code" end },
    cases = { "info", function() memory:case "case" end },
  }
  for name, ask in pairs(asks) do
    local whole = archive:row(("SELECT %s AS bytes FROM %s"):format(ask[1], name)).bytes
    local set = ("UPDATE %s SET %s = CAST(?1 AS BLOB)"):format(name, ask[1])
    local unnoticed = 0
    for i = 1, #whole do
      for _, bit in ipairs { 1, 32 } do
        local changed = string.char(whole:byte(i) ~ bit)
        archive:add(set, whole:sub(1, i - 1) .. changed .. whole:sub(i + 1))
        archive:flush()
        local ok, why = pcall(ask[2])
        if ok or not tostring(why):find "bytes in it are no value of gilua's" then
          unnoticed = unnoticed + 1
        end
      end
    end
    tap.is(unnoticed, 0, ("%s, %d bytes"):format(name, #whole))
    archive:add(set, whole)
    archive:flush()
    tap.is(pcall(ask[2]), true, "and as it was it is read")
  end
end)

tap.case("what is no archive is a sentence", function()
  local path = tap.folder() .. "/no.sqlite"
  gi.textfile.write(path, ("no database "):rep(1000))
  local ok, why = pcall(gi.archive.open, path)
  tap.is(ok, false, "another file is refused")
  tap.has(tostring(why), "no.sqlite is no archive of gilua's", "by name")
  local _, second = opened()
  local db = core.store.open(second)
  db:execute "PRAGMA user_version = 99"
  db:close()
  ok, why = pcall(gi.archive.open, second)
  tap.is(ok, false, "one of a newer gilua, too")
  tap.has(tostring(why), "of version 99, and this gilua reads up to " .. gi.archive.VERSION, "why")
end)

-- A database that a text of SQL makes.
local function made_by(sql)
  local path = tap.folder() .. "/made.sqlite"
  local db <close> = assert(core.store.open(path))
  assert(db:execute(sql))
  return path
end

local V1 = gi.textfile.read("tests/data/archive-1.sql", "an archive")

local function brought_along(archive)
  local function one(sql) return archive:row("SELECT " .. sql .. " AS v").v end
  tap.is(one "(SELECT count(*) FROM evaluations)", 4, "evaluations")
  tap.is(one "(SELECT genome FROM evaluations WHERE id = 4)", "FAST <_kernel.cu_9>", "a genome")
  tap.is(one "(SELECT best_fitness FROM generations)", 100.05, "views")
  tap.is(one "(SELECT count(*) FROM unit WHERE status = 'compile_error' AND ptx IS NULL)", 1,
    "what did not compile")
  tap.is(one "(SELECT length(key) || typeof(key) FROM verdict WHERE status = 'race')", "32text",
    "keys are text")
  tap.is(one "(SELECT world FROM verdict LIMIT 1)", 1, "of the one world there is")
  tap.is(one "(SELECT name FROM cases c JOIN measurement m ON m.cases = c.key)", "a case",
    "which join")
  local hash = one "(SELECT hash FROM code WHERE like IS NOT NULL)"
  local text = archive:memory("w"):code(hash)
  tap.has(text, "sub.s32", "code is unpacked by what it is like")
  tap.is(core.system.hash128(text), hash, "byte for byte")
  local memory = archive:memory(one "(SELECT hash FROM world)")
  tap.is(memory:verdict(core.system.hash128 "p2" .. " block_size=64").message, "two threads",
    "verdicts are found")
  tap.is(memory:measurement("a case", core.system.hash128 "p1" .. " block_size=64").ticks, 1000.5,
    "measurements, too")
  tap.has(one "(SELECT uid FROM run)", "v1 1 2026-01-02", "the run has a name of its own")
end

tap.case("an archive of version 1 is brought to the last one", function()
  local path = made_by(V1)
  gi.archive.open(path):close()
  local archive <close> = gi.archive.open(path, { read_only = true })
  brought_along(archive)
  tap.is(archive:row "PRAGMA user_version".user_version, gi.archive.VERSION, "which it says")
end)

tap.case("one of version 2, whose tables are the same, is read as it is", function()
  local parts = {}
  for n = 1, 2 do
    parts[n] = ("BEGIN; %s PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT"):format(
      schema.VERSIONS[n], n, schema.APPLICATION)
  end
  local path = made_by(table.concat(parts, ";\n") .. [[;
    INSERT INTO world VALUES (1, 'w', '{}');
    INSERT INTO run (id, world, seed, began, uid) VALUES (1, 1, 7, '2026-11-01', 'u');
    INSERT INTO genome VALUES (1, 'A');
    INSERT INTO evaluation (run, id, generation, birth, genome, status, fitness, acceptable)
      VALUES (1, 1, 1, 'mutation', 1, 'ok', 5.0, 1), (1, 2, 1, 'try', 1, 'ok', NULL, 1)]])
  local function count(archive) return archive:row("SELECT evaluations AS n FROM generations").n end
  local reader <close> = gi.archive.open(path, { read_only = true })
  tap.is(reader.folder, nil, "no copy is made")
  tap.is(reader:row "PRAGMA user_version".user_version, 2, "nor anything of it changed")
  tap.is(count(reader), 2, "its view knew nothing of what is tried")
  gi.archive.open(path):close()
  local after <close> = gi.archive.open(path, { read_only = true })
  tap.is(count(after), 1, "a writer brings it along")
end)

tap.case("a reader of an old one changes nothing", function()
  local path = made_by(V1)
  local before = tap.read(path)
  local archive = gi.archive.open(path, { read_only = true })
  brought_along(archive)
  archive:close()
  tap.ok(tap.read(path) == before, "the file is as it was")
end)

tap.case("a migration that fails changes nothing", function()
  local path = made_by(V1 .. "CREATE TABLE new_unit (x);")
  local ok, why = pcall(gi.archive.open, path)
  tap.is(ok, false, "it is refused")
  tap.has(tostring(why), "new_unit already exists", "why")
  local db <close> = assert(core.store.open(path))
  tap.is(db:row "PRAGMA user_version".user_version, 1, "the version is the old one")
  tap.is(db:row("SELECT typeof(key) AS t FROM verdict").t, "blob", "and so are the tables")
end)

tap.case("what another program keeps is left alone", function()
  for _, sql in ipairs { "CREATE TABLE notes (text)", "PRAGMA application_id = 1234",
      "CREATE TABLE run (id); PRAGMA user_version = 1" } do
    local path = made_by(sql .. "; PRAGMA journal_mode = DELETE")
    local before = tap.read(path)
    for _, how in ipairs { false, true } do
      local ok, why = pcall(gi.archive.open, path, { read_only = how })
      tap.is(ok, false, sql .. (how and ", to be read" or ""))
      tap.has(tostring(why), "it is a database of another program's", "why")
    end
    tap.ok(tap.read(path) == before, "not a byte is changed")
  end
end)

tap.case("one generation of many is found by the index", function()
  local archive = opened()
  local plan = archive:rows("EXPLAIN QUERY PLAN SELECT * FROM evaluations WHERE run = 1 "
    .. "AND generation = 2")
  tap.has(plan[1].detail, "evaluation_generation (run=? AND generation=?)", "not row by row")
end)

tap.case("a run that goes on is the same run", function()
  local archive = opened()
  local o = { world = archive:world "a", seed = 1, device = "emu", problem = "p", command = "c" }
  local first = archive:begin_run(o)
  o.resumed = true
  tap.is(archive:begin_run(o), first, "the same")
  o.resumed = nil
  tap.is(archive:begin_run(o), first + 1, "a new run can begin there")
end)

tap.done()
