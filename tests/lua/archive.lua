-- archive: what is told to it is what it tells, in its world, whatever ends the program.
package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
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

tap.case("a run that goes on is in the world it was in", function()
  local archive = opened()
  local o = { world = archive:world "a", seed = 1, device = "emu", problem = "p", command = "c" }
  local first = archive:begin_run(o)
  o.resumed = true
  tap.is(archive:begin_run(o), first, "the same run")
  o.world = archive:world "b"
  local ok, why = pcall(archive.begin_run, archive, o)
  tap.is(ok, false, "in another world it cannot")
  tap.has(tostring(why), "this run cannot go on: the problem, gilua", "why")
  o.resumed = nil
  tap.is(archive:begin_run(o), first + 1, "a new run can begin there")
end)

tap.done()
