-- past: gilua log, show, export and rescore, which report from a run's archive.

local answer = require "gilua.command.answer"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local lfs = require "lfs"
local luafile = require "gilua.command.luafile"
local pieces = require "gilua.search.pieces"
local printable = require "gilua.base.printable"
local progress = require "gilua.report.progress"
local results = require "gilua.base.results"
local runs = require "gilua.command.runs"
local schema = require "gilua.store.schema"
local undo = require "gilua.base.undo"

local M = {}

local TUNED = "results.t4.json" -- of gilua tune

local RUN = { { name = "run", doc = "its folder" } }

local WHICH = { name = "which", type = "integer", min = 1,
  doc = "another evolution of the folder, by the number that gilua log gives" }

-- A run's archive, and which of its runs is meant.
local function archive_of(dir, which)
  local path = dir .. "/" .. gi.history.FILE
  if not lfs.attributes(path) then
    results.refuse(dir, ("holds no %s: it is no run, or one of an older gilua"):format(
      gi.history.FILE))
  end
  local archive = gi.archive.open(path, { read_only = true })
  local run
  if which then run = archive:row("SELECT * FROM run WHERE id = ?1", which)
  else run = archive:told_run() end
  if not run then
    fail(which and "%s has no evolution %d (gilua log lists them)" or "%s: no run has begun there",
      path, which)
  end
  return archive, run
end

-- Of a tuning the archive has what was measured, but no evaluations.
local function of_tuning(dir)
  return ("is a tuning, which has no generations: its settings and their times are in %s/%s")
    :format(dir, TUNED)
end

-- The same, of a run that has evaluations.
local function evaluations_of(dir, which)
  local archive, run = archive_of(dir, which)
  if gi.archive.is_tuning(run) then
    archive:close()
    fail("%s %s", dir, of_tuning(dir))
  end
  return archive, run
end

--------------------------------------------------------------------------------------------------
-- log

-- The best of a generation is the acceptable one of the least fitness, as evolution has it.
local LOG = ([[
WITH of_run AS (SELECT id, generation, birth, status, ticks, fitness, acceptable, genome
    FROM evaluation WHERE run = ?1),
  members AS (SELECT * FROM of_run
    WHERE birth NOT IN ALONE),
  counted AS (SELECT generation, count(*) AS evaluated, sum(status = 'ok') AS ran,
    coalesce(sum(acceptable), 0) AS acceptable FROM members GROUP BY generation),
  least AS (SELECT *, min(fitness) OVER (PARTITION BY generation) AS least FROM members
    WHERE acceptable AND fitness IS NOT NULL),
  best AS (SELECT generation, min(id) AS id, ticks, genome FROM least WHERE fitness = least
    GROUP BY generation),
  base AS (SELECT generation, min(id), ticks FROM of_run WHERE birth = 'unmodified'
    GROUP BY generation)
SELECT c.*, best.id AS best, base.ticks / best.ticks AS gain, text AS genome
FROM counted c LEFT JOIN best USING (generation) LEFT JOIN base USING (generation)
LEFT JOIN genome ON genome.id = best.genome ORDER BY generation
]]):gsub("ALONE", schema.ALONE)

--- What each generation of a run came to.
---@param archive gilua.archive
---@param run integer its number there
---@return table[] { generation, evaluated, ran, acceptable, best: its id, gain, genome }; the last
---  three nil where none is acceptable
function M.generations(archive, run)
  return archive:rows(LOG, run)
end

-- Evaluations with one measurement are counted together: it is unpacked once.
local STATUSES = "SELECT e.status, e.unset, m.reply, count(*) AS n FROM evaluation e "
  .. "LEFT JOIN measurement m ON m.key = e.measurement WHERE e.run = ?1 "
  .. "GROUP BY e.status, e.measurement, e.unset"

local OTHERS = "SELECT id, seed, title, ended FROM run WHERE id <> ?1 ORDER BY id"

-- What else is in the folder.
local function say_others(o, archive, run)
  for _, other in ipairs(archive:rows(OTHERS, run.id)) do
    answer.say(o, "another: --which %d: %s, seed %s, %s", other.id, other.title or "run",
      other.seed, other.ended and "ended" or "has not come to its end")
  end
end

-- What became of all: right, wrong, or the status of what did not run to its end, and how many.
local function fates(archive, run)
  local counts, list = {}, {}
  for _, row in ipairs(archive:rows(STATUSES, run)) do
    local right = gi.evaluations.is_right(archive, row)
    local fate = right and "right" or row.status ~= "ok" and row.status
      or right == false and "wrong" or "ok"
    counts[fate] = (counts[fate] or 0) + row.n
  end
  for _, fate in ipairs(gi.settings.keys(counts)) do
    list[#list + 1] = { fate = fate, n = counts[fate] }
  end
  table.sort(list, function(a, b)
    if a.n ~= b.n then return a.n > b.n end
    return a.fate < b.fate
  end)
  return list
end

-- The object of --json.
local function log_value(run, generations, counts)
  local rows, fate = {}, {}
  for i, r in ipairs(generations or {}) do
    rows[i] = gi.json.object { { "generation", r.generation }, { "evaluated", r.evaluated },
      { "ran", r.ran }, { "acceptable", r.acceptable }, { "best", r.best }, { "gain", r.gain },
      { "genome", r.genome } }
  end
  for i, one in ipairs(counts or {}) do fate[i] = { one.fate, one.n } end
  return gi.json.object { { "id", run.id }, { "title", run.title }, { "seed", run.seed },
    { "device", run.device }, { "began", run.began }, { "ended", run.ended },
    { "generations", gi.json.array(rows) }, { "mutants", gi.json.object(fate) } }
end

local function log(o)
  local archive <close>, run = archive_of(o.run, o.which)
  if gi.archive.is_tuning(run) then
    answer.say(o, "%s %s", o.run, of_tuning(o.run))
    say_others(o, archive, run)
    return log_value(run)
  end
  answer.say(o, "%10s %9s %5s %10s %9s  %5s  %s", "generation", "evaluated", "ran", "acceptable",
    "best", "id", "genome")
  local generations = M.generations(archive, run.id)
  for _, row in ipairs(generations) do
    answer.say(o, "%10d %9d %5d %10d %9s  %5s  %s", row.generation, row.evaluated, row.ran,
      row.acceptable, row.gain and ("%.3fx"):format(row.gain) or "-", row.best or "-",
      row.genome or "")
  end
  local parts, counts = {}, fates(archive, run.id)
  for i, one in ipairs(counts) do
    parts[i] = ("%s %s"):format(progress.grouped(one.n), one.fate)
  end
  answer.say(o, "%s; %s", #parts > 0 and table.concat(parts, ", ") or "nothing evaluated",
    run.ended and "ended " .. run.ended .. " UTC" or "has not come to its end")
  say_others(o, archive, run)
  return log_value(run, generations, counts)
end

function M.log()
  return answer.given(gi.cli { takes = "",
    doc = "What a run evaluated, a line a generation, also while it is on.",
    positional = RUN, WHICH, answer.JSON }, log)
end

--------------------------------------------------------------------------------------------------
-- show

local ANCESTORS = [[
WITH RECURSIVE line(id, depth) AS (SELECT ?2, 0 UNION SELECT parent, depth + 1 FROM line
  JOIN (SELECT id AS child, first_parent AS parent FROM evaluation WHERE run = ?1 UNION ALL
        SELECT id, second_parent FROM evaluation WHERE run = ?1) ON child = line.id
  WHERE parent IS NOT NULL AND depth < 200)
SELECT e.*, min(depth) AS depth FROM line JOIN evaluations e ON e.id = line.id AND e.run = ?1
GROUP BY e.id ORDER BY depth, e.id
]]

local SHOWN = { "generation", "birth", "case", "status", "message", "ticks", "ns", "max_error",
  "mean_error", "wrong", "unset", "registers", "fitness", "acceptable" }

-- What was measured, and with the same genome in other evaluations.
local MEASURED = "SELECT m.reply FROM evaluation e JOIN measurement m ON m.key = e.measurement "
  .. "WHERE e.run = ?1 AND e.id = ?2"
local AGAIN = "SELECT id, generation, \"case\", status, ticks FROM evaluations WHERE run = ?1 "
  .. "AND genome = ?2 AND id <> ?3 ORDER BY id"

local function say_measured(o, archive, run, m)
  local row = archive:row(MEASURED, run.id, m.id)
  local samples = row and archive:decoded(row.reply).samples
  m.samples_ns = samples and gi.json.array(samples)
  if samples and #samples > 0 then
    local list = {}
    for i, ns in ipairs(samples) do list[i] = gi.json.number(ns) end
    answer.say(o, "%-12s %s", "samples_ns", table.concat(list, " "))
  end
  for i, again in ipairs(archive:rows(AGAIN, run.id, m.genome, m.id)) do
    answer.say(o, "%-12s %d, generation %d, %s: %s%s", i == 1 and "measured as" or "", again.id,
      again.generation, again.case, again.status,
      again.status == "ok" and (", %s ticks"):format(gi.json.number(again.ticks)) or "")
  end
end

-- The object of --json: of a mutant, its ancestors, and its source where the run kept that.
local function show_value(m, ancestors, genes, source)
  local fields, line, words = { { "id", m.id }, { "genome", m.genome } }, {}, {}
  for _, name in ipairs(SHOWN) do fields[#fields + 1] = { name, m[name] } end
  for i = 2, #ancestors do
    local a = ancestors[i]
    line[i - 1] = gi.json.object { { "id", a.id }, { "generation", a.generation },
      { "birth", a.birth }, { "genome", a.genome } }
  end
  for i, gene in ipairs(genes or {}) do
    words[i] = gi.json.object { { "gene", gene.gene }, { "text", gene.text } }
  end
  table.move({ { "samples_ns", m.samples_ns }, { "ancestors", gi.json.array(line) },
    { "genes", gi.json.array(words) }, { "source", source } }, 1, 4, #fields + 1, fields)
  return gi.json.object(fields)
end

local function show(o)
  local archive <close>, run = evaluations_of(o.run, o.which)
  local ancestors = archive:rows(ANCESTORS, run.id, o.id)
  local m = ancestors[1]
  if not m then fail("%s has no evaluation %d (gilua log lists generations)", o.run, o.id) end
  answer.say(o, "%-12s %s", "genome", m.genome == "" and "(the kernel as it is)" or m.genome)
  for _, name in ipairs(SHOWN) do
    if m[name] ~= nil then answer.say(o, "%-12s %s", name, tostring(m[name])) end
  end
  say_measured(o, archive, run, m)
  for i = 2, #ancestors do
    local a = ancestors[i]
    answer.say(o, "%-12s %d, generation %d, %s: %s", i == 2 and "ancestors" or "", a.id,
      a.generation, a.birth, a.genome)
  end
  local result = runs.result(o.run)
  if not result then
    answer.say(o, "\n(what was run lies with the run itself: here is its archive alone)")
    return show_value(m, ancestors)
  end
  local kept = gi.kept.read(o.run, result.kept)
  local source, why = kept.grammar:apply(m.genome, true)
  if not source then fail("the genome does not fit what the run kept: %s", why) end
  answer.say(o, "")
  local genes = gi.below.explain(kept, m.genome)
  for _, gene in ipairs(genes) do answer.say(o, "%s\n    %s", gene.gene, gene.text) end
  if o.json then return show_value(m, ancestors, genes, source) end
  printable.write(o.source and source
    or gi.diff.unified(kept.source, source, kept.source_path:match "[^/]*$"),
    gi.host.is_terminal())
end

function M.show()
  local o = gi.cli {
    takes = "",
    doc = "One mutant of a run: what became of it, its ancestors, its source as a difference.",
    positional = { RUN[1], { name = "id", doc = "its number, as gilua log and export have it" } },
    { name = "source", default = false, doc = "the whole source, not the difference" },
    WHICH, answer.JSON,
  }
  local id = math.tointeger(tonumber(o.id))
  if not id then ends.with(ends.STATUS.usage, "ID must be a whole number, not '%s'", o.id) end
  o.id = id
  return answer.given(o, show)
end

--------------------------------------------------------------------------------------------------
-- export

local COLUMNS = { "id", "generation", "birth", "first_parent", "second_parent", "genome", "case",
  "status", "message", "ticks", "ns", "max_error", "mean_error", "wrong", "unset", "registers",
  "source", "ptx", "fitness", "acceptable", "right" }

-- What stands before the rows, and a row.
local FORMS = {
  csv = { gi.csv.line(COLUMNS), function(row) return gi.csv.row(row, COLUMNS) end },
  jsonl = { "", function(row)
    local fields = {}
    for i, name in ipairs(COLUMNS) do
      fields[i] = { name, row[name] == nil and gi.json.null or row[name] }
    end
    return gi.json.line(gi.json.object(fields)) .. "\n"
  end },
}

local PAGE = 10000
local ROWS = "SELECT v.*, m.reply FROM evaluations v JOIN evaluation e ON e.run = v.run "
  .. "AND e.id = v.id LEFT JOIN measurement m ON m.key = e.measurement "
  .. "WHERE v.run = ?1 AND v.id > ?2 ORDER BY v.id LIMIT " .. PAGE

local AS_NUMBER = { [true] = 1, [false] = 0 }

-- Some rows at a time: an archive may have more than the memory.
local function write_rows(archive, run, form, write)
  local last = math.mininteger
  write(form[1])
  repeat
    local texts, rows = {}, archive:rows(ROWS, run.id, last)
    for i, row in ipairs(rows) do
      row.right = AS_NUMBER[gi.evaluations.is_right(archive, row)]
      texts[i] = form[2](row)
    end
    write(table.concat(texts))
    last = #rows > 0 and rows[#rows].id or last
  until #rows < PAGE
end

local function straight_into(path, work)
  local file, why = io.open(path, "wb")
  if not file then fail("cannot write %s", why) end
  local function must(done, problem)
    if not done then fail("cannot write %s: %s", path, problem) end
  end
  work(function(text) must(file:write(text)) end)
  must(file:close())
end

-- Whoever looks at the file finds all of it, or what was there before. What is no file (a pipe, a
-- device, a link) stays what it is.
local function into_file(path, work)
  local mode = lfs.symlinkattributes(path, "mode")
  if mode and mode ~= "file" then return straight_into(path, work) end
  local part = path .. ".part"
  undo(function() os.remove(part) end, function()
    local journal = gi.textfile.journal(part)
    work(function(text) journal:add(text) end)
    journal:close()
    local moved, why = os.rename(part, path)
    if not moved then fail("cannot write %s: %s", path, why) end
  end)
end

function M.export()
  local o = gi.cli {
    takes = "out",
    doc = "Every evaluation of a run as a table, to standard output or --out FILE.",
    positional = RUN,
    { name = "csv", default = false, doc = "comma-separated values, which is the usual" },
    { name = "jsonl", default = false, doc = "a JSON object a line" },
    WHICH,
  }
  if o.csv and o.jsonl then
    ends.with(ends.STATUS.usage, "export: --csv and --jsonl are two forms: one at a time")
  end
  local archive <close>, run = evaluations_of(o.run, o.which)
  local form = FORMS[o.jsonl and "jsonl" or "csv"]
  local function work(write) write_rows(archive, run, form, write) end
  if o.out then return into_file(o.out, work) end
  local is_terminal = gi.host.is_terminal()
  work(function(text) printable.write(text, is_terminal) end)
end

--------------------------------------------------------------------------------------------------
-- rescore

local function rescored(rows, formula)
  local list, at = {}, {}
  local value = pieces.guarded(at, "fitness", formula, "the formula")
  for i, row in ipairs(rows) do
    at.generation = row.generation
    list[i] = { row = row, value = value(row, row.baseline) }
  end
  table.sort(list, function(a, b)
    if a.value ~= b.value then return a.value < b.value end
    return a.row.id < b.row.id
  end)
  return list
end

function M.rescore()
  local o = gi.cli {
    takes = "",
    doc = "Ranks all mutants of a run by another formula; nothing is run again.",
    positional = { RUN[1], { name = "formula",
      doc = "a Lua file that returns a function (own, baseline) -> number" } },
    { name = "rows", default = 12, min = 1, doc = "of the best that are shown" },
    WHICH,
  }
  local archive <close>, run = evaluations_of(o.run, o.which)
  local list = rescored(gi.evaluations.of(archive, run.id), luafile.formula(o.formula))
  answer.say(o, "%14s %14s %6s %10s  %s", "by the formula", "in the run", "id", "generation",
    "genome")
  local shown, seen = 0, {}
  for _, s in ipairs(list) do
    if shown == o.rows then break end
    if not seen[s.row.genome] then
      seen[s.row.genome], shown = true, shown + 1
      answer.say(o, "%14.6g %14s %6d %10d  %s", s.value,
        s.row.fitness and ("%.6g"):format(s.row.fitness) or "-", s.row.id, s.row.generation,
        s.row.genome == "" and "(the kernel as it is)" or s.row.genome)
    end
  end
  answer.say(o, "%s evaluations ranked anew", progress.grouped(#list))
end

return M
