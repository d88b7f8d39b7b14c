-- past: what a run's archive tells people: gilua log, show, export, rescore.

local answer = require "gilua.command.answer"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local lfs = require "lfs"
local printable = require "gilua.base.printable"
local progress = require "gilua.report.progress"

local M = {}

local RUN = { { name = "run", doc = "its folder" } }

-- A run's archive, and which of its runs is meant: the last.
local function archive_of(dir)
  local path = dir .. "/" .. gi.history.FILE
  if not lfs.attributes(path) then
    fail("%s holds no %s: it is no run, or one of an older gilua", dir, gi.history.FILE)
  end
  local archive = gi.archive.open(path, { read_only = true })
  local run = archive:row "SELECT * FROM run ORDER BY id DESC LIMIT 1"
  if not run then fail("%s: no run has begun there", path) end
  return archive, run
end

--------------------------------------------------------------------------------------------------
-- log

-- The best of a generation is the acceptable one of the least fitness, as evolution has it.
local LOG = [[
SELECT generation, count(*) AS evaluated, sum(status = 'ok') AS ran,
  coalesce(sum(acceptable), 0) AS acceptable,
  (SELECT u.ticks FROM evaluations u WHERE u.run = e.run AND u.generation = e.generation
    AND u.birth = 'unmodified' ORDER BY id LIMIT 1) AS unmodified_ticks,
  (SELECT id FROM evaluations b WHERE b.run = e.run AND b.generation = e.generation
    AND b.acceptable AND b.fitness IS NOT NULL ORDER BY b.fitness, b.id LIMIT 1) AS best
FROM evaluations e WHERE run = ?1 AND birth NOT IN ('unmodified', 'finalist', 'knock-out', 'best')
GROUP BY generation
]]

local STATUSES = "SELECT status, count(*) AS n FROM evaluation WHERE run = ?1 GROUP BY status "
  .. "ORDER BY n DESC, status"

local function log(o)
  local archive <close>, run = archive_of(o.run)
  answer.say(o, "%10s %9s %5s %10s %9s  %5s  %s", "generation", "evaluated", "ran", "acceptable",
    "best", "id", "genome")
  for _, row in ipairs(archive:rows(LOG, run.id)) do
    local best = row.best and archive:row("SELECT * FROM evaluations WHERE run = ?1 AND id = ?2",
      run.id, row.best)
    local gain = best and row.unmodified_ticks
      and ("%.3fx"):format(row.unmodified_ticks / best.ticks)
    answer.say(o, "%10d %9d %5d %10d %9s  %5s  %s", row.generation, row.evaluated, row.ran,
      row.acceptable, gain or "-", row.best or "-", best and best.genome or "")
  end
  local parts = {}
  for i, s in ipairs(archive:rows(STATUSES, run.id)) do
    parts[i] = ("%s %s"):format(progress.grouped(s.n), s.status)
  end
  answer.say(o, "%s; %s", table.concat(parts, ", "),
    run.ended and "ended " .. run.ended .. " UTC" or "has not come to its end")
end

function M.log()
  log(gi.cli { doc = "What a run evaluated, a line a generation, also while it is on.",
    positional = RUN })
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

local function show(o)
  local archive <close>, run = archive_of(o.run)
  local ancestors = archive:rows(ANCESTORS, run.id, o.id)
  local m = ancestors[1]
  if not m then fail("%s has no evaluation %d (gilua log lists generations)", o.run, o.id) end
  answer.say(o, "%-12s %s", "genome", m.genome == "" and "(the kernel as it is)" or m.genome)
  for _, name in ipairs(SHOWN) do
    if m[name] ~= nil then answer.say(o, "%-12s %s", name, tostring(m[name])) end
  end
  for i = 2, #ancestors do
    local a = ancestors[i]
    answer.say(o, "%-12s %d, generation %d, %s: %s", i == 2 and "ancestors" or "", a.id,
      a.generation, a.birth, a.genome)
  end
  local kept = gi.kept.read(o.run, gi.json.decode(gi.textfile.read(o.run .. "/result.json",
    "the result")).kept)
  local source, why = kept.grammar:apply(m.genome, true)
  if not source then fail("the genome does not fit what the run kept: %s", why) end
  answer.say(o, "")
  io.write(printable.text(o.source and source
    or gi.diff.unified(kept.source, source, kept.source_path:match "[^/]*$")))
end

function M.show()
  local o = gi.cli {
    doc = "One mutant of a run: what became of it, its ancestors, its source as a difference.",
    positional = { RUN[1], { name = "id", doc = "its number, as gilua log and export have it" } },
    { name = "source", default = false, doc = "the whole source, not the difference" },
  }
  local id = math.tointeger(tonumber(o.id))
  if not id then ends.with(ends.STATUS.usage, "ID must be a whole number, not '%s'", o.id) end
  o.id = id
  show(o)
end

--------------------------------------------------------------------------------------------------
-- export

local COLUMNS = { "id", "generation", "birth", "first_parent", "second_parent", "genome", "case",
  "status", "message", "ticks", "ns", "max_error", "mean_error", "wrong", "unset", "registers",
  "source", "ptx", "fitness", "acceptable" }

-- As RFC 4180 has it; an infinite number as R and pandas read it.
local function csv_field(value)
  if value == nil then return "" end
  if type(value) == "number" then
    return value == math.huge and "Inf" or value ~= value and "NaN" or gi.json.number(value)
  end
  return value:find('[,"\r\n]') and '"' .. value:gsub('"', '""') .. '"' or value
end

local FORMS = {}

function FORMS.csv(rows, write)
  write(table.concat(COLUMNS, ",") .. "\n")
  for _, row in ipairs(rows) do
    local fields = {}
    for i, name in ipairs(COLUMNS) do fields[i] = csv_field(row[name]) end
    write(table.concat(fields, ",") .. "\n")
  end
end

function FORMS.jsonl(rows, write)
  for _, row in ipairs(rows) do
    local fields = {}
    for i, name in ipairs(COLUMNS) do
      fields[i] = { name, row[name] == nil and gi.json.null or row[name] }
    end
    write(gi.json.line(gi.json.object(fields)) .. "\n")
  end
end

function M.export()
  local o = gi.cli {
    doc = "Every evaluation of a run as a table, to standard output or --out FILE.",
    positional = RUN,
    { name = "csv", default = false, doc = "comma-separated values, which is the usual" },
    { name = "jsonl", default = false, doc = "a JSON object a line" },
  }
  local archive <close>, run = archive_of(o.run)
  local texts = {}
  FORMS[o.jsonl and "jsonl" or "csv"](archive:rows("SELECT * FROM evaluations WHERE run = ?1 "
    .. "ORDER BY id", run.id), function(text) texts[#texts + 1] = text end)
  if o.out then gi.textfile.write(o.out, table.concat(texts)) else io.write(table.concat(texts)) end
end

--------------------------------------------------------------------------------------------------
-- rescore

-- A formula is a Lua file that returns a function like a scheme's fitness.
local function formula_of(path)
  local chunk, why = loadfile(path)
  if not chunk then fail("%s", why) end
  local formula = chunk()
  if type(formula) ~= "function" then
    fail("%s must return a function (own, baseline) -> number, as a scheme's fitness is", path)
  end
  return formula
end

local function rescored(rows, formula)
  local baseline, list = nil, {}
  for _, row in ipairs(rows) do
    if row.birth == "unmodified" then baseline = row end
    local value = formula(row, baseline)
    if type(value) ~= "number" or value ~= value then
      fail("the formula gives %s for evaluation %d (%s): a number is needed", tostring(value),
        row.id, row.genome)
    end
    list[#list + 1] = { row = row, value = value }
  end
  table.sort(list, function(a, b)
    if a.value ~= b.value then return a.value < b.value end
    return a.row.id < b.row.id
  end)
  return list
end

function M.rescore()
  local o = gi.cli {
    doc = "Ranks all mutants of a run by another formula; nothing is run again.",
    positional = { RUN[1], { name = "formula",
      doc = "a Lua file that returns a function (own, baseline) -> number" } },
    { name = "rows", default = 12, min = 1, doc = "of the best that are shown" },
  }
  local archive <close>, run = archive_of(o.run)
  -- in the order of generations, each with its unmodified kernel first
  local rows = archive:rows("SELECT * FROM evaluations WHERE run = ?1 ORDER BY generation, "
    .. "birth <> 'unmodified', id", run.id)
  local list = rescored(rows, formula_of(o.formula))
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
