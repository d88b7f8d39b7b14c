-- rundiff: `gilua diff A B`: the differences of two runs: settings, versions, the best genomes gene
-- by gene, their sources and times, and the generation at which the histories part.

local answer = require "gilua.command.answer"
local gi = require "gilua"
local lfs = require "lfs"
local printable = require "gilua.base.printable"
local runs = require "gilua.command.runs"
local schema = require "gilua.store.schema"

local M = {}

---@class RunDiff
---@field settings { name: string, a: any, b: any }[] that differ
---@field world string[] how b's differs from a's
---@field genes { gene: string, where: string }[] of the best: in "a", "b" or "both", in their order
---@field source string a unified diff of the best kernels; "" where they are equal
---@field best { a: table, b: table } genome, ticks, ns, speedup, case of each
---@field ratio? number time of a's best by that of b's
---@field same_case boolean both were measured on one case
---@field history? { generations: integer, parts?: { generation: integer, id: integer, a: string?,
---  b: string? } } nil where one has no archive; generations: that are the same

--------------------------------------------------------------------------------------------------
-- What a run is

local function archive_of(dir)
  local path = ("%s/%s"):format(dir, gi.history.FILE)
  return lfs.attributes(path) and gi.archive.open(path, { read_only = true }) or nil
end

local WORLD = "SELECT description FROM world WHERE id = ?1"

-- What a folder tells: its winner, and what its archive has of the run.
local function opened(dir)
  local told = runs.read(dir)
  local run = { dir = dir, told = told, kept = runs.kept(told), archive = archive_of(dir) }
  run.row = run.archive and run.archive:told_run()
  run.scheme = run.row and run.row.scheme and gi.json.decode(run.row.scheme) or {}
  local world = run.row and run.archive:row(WORLD, run.row.world)
  run.world = world and world.description
  run.result = gi.json.decode(gi.textfile.read(told.path, "the result"))
  return run
end

local function close(run)
  if run.archive then run.archive:close() end
end

--------------------------------------------------------------------------------------------------
-- Settings

-- As texts, flat: "functions.select" = "select.truncation".
local function flat(list, prefix, value)
  if type(value) ~= "table" then
    list[prefix] = value
    return list
  end
  for key, inner in pairs(value) do
    flat(list, prefix == "" and tostring(key) or ("%s.%s"):format(prefix, key), inner)
  end
  return list
end

local LEFT_OUT = { parameters = true, case_draws = true } -- of the world, of the cases

local function settings_of(run)
  local list = {}
  for name, value in pairs(run.scheme) do
    if not LEFT_OUT[name] then flat(list, name, value) end
  end
  local row = run.row or {}
  list.seed, list.device = row.seed or run.result.seed, row.device or run.result.device
  list.problem = row.problem or run.told.folder
  return list
end

local function settings(a, b)
  local x, y, both, list = settings_of(a), settings_of(b), {}, {}
  for name in pairs(x) do both[name] = true end
  for name in pairs(y) do both[name] = true end
  for _, name in ipairs(gi.settings.keys(both)) do
    if x[name] ~= y[name] then list[#list + 1] = { name = name, a = x[name], b = y[name] } end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- The best

local function counted(genome)
  local counts = {}
  for _, gene in ipairs(gi.genome.split(genome)) do counts[gene] = (counts[gene] or 0) + 1 end
  return counts
end

-- Genes of a in their order, then those that b alone has.
local function genes(a, b)
  local left, list = counted(b), {}
  for _, gene in ipairs(gi.genome.split(a)) do
    local both = (left[gene] or 0) > 0
    if both then left[gene] = left[gene] - 1 end
    list[#list + 1] = { gene = gene, where = both and "both" or "a" }
  end
  for _, gene in ipairs(gi.genome.split(b)) do
    if left[gene] > 0 then
      left[gene] = left[gene] - 1
      list[#list + 1] = { gene = gene, where = "b" }
    end
  end
  return list
end

local function best_of(run)
  local best = run.result.winner or run.result.best
  return { genome = run.told.genome, ticks = tonumber(best.ticks), ns = tonumber(best.ns),
    speedup = tonumber(run.result.speedup), case = run.result.case }
end

local function source_of(run)
  return run.kept.grammar:apply(run.told.genome, true) or run.kept.source
end

-- Of GPUs times, of the virtual one ticks.
local function ratio(a, b)
  if a.ns and b.ns then return a.ns / b.ns end
  return a.ticks and b.ticks and a.ticks / b.ticks or nil
end

--------------------------------------------------------------------------------------------------
-- Histories

-- Of the populations: who comes after the last one is no part of the history.
local ROWS = "SELECT id, generation, genome, status, ticks FROM evaluations WHERE run = ?1 "
  .. "AND birth NOT IN " .. schema.ALONE .. " ORDER BY id"

local function shown(row)
  if not row then return nil end
  return ("%s: %s%s"):format(row.genome, row.status,
    row.status == "ok" and (", %s ticks"):format(gi.json.number(row.ticks)) or "")
end

local function history(a, b)
  if not (a.row and b.row) then return nil end
  local x, y = a.archive:rows(ROWS, a.row.id), b.archive:rows(ROWS, b.row.id)
  for i = 1, math.max(#x, #y) do
    local p, q = x[i], y[i]
    local same = p and q and p.genome == q.genome and p.status == q.status and p.ticks == q.ticks
      and p.generation == q.generation
    if not same then
      local generation = (p or q).generation
      return { generations = generation - 1,
        parts = { generation = generation, id = (p or q).id, a = shown(p), b = shown(q) } }
    end
  end
  return { generations = #x > 0 and x[#x].generation or 0 }
end

--------------------------------------------------------------------------------------------------

local function compared(a, b)
  local x, y = best_of(a), best_of(b)
  return {
    settings = settings(a, b),
    world = a.world and b.world and gi.world.differences(a.world, b.world) or {},
    genes = genes(x.genome, y.genome), best = { a = x, b = y }, ratio = ratio(x, y),
    same_case = x.case ~= nil and x.case == y.case,
    source = gi.diff.unified(source_of(a), source_of(b), "best.cu"), history = history(a, b),
  }
end

--- In what two runs differ.
---@param a string a run's folder
---@param b string
---@return RunDiff
function M.of(a, b)
  local first = opened(a)
  local ok, second = pcall(opened, b)
  local found
  if ok then ok, found = pcall(compared, first, second) else found = second end
  close(first)
  if type(second) == "table" and second.dir then close(second) end
  if not ok then error(found, 0) end
  return found
end

--------------------------------------------------------------------------------------------------
-- For people

local function text(value)
  if value == nil then return "-" end
  return type(value) == "number" and gi.json.number(value) or tostring(value)
end

local function say_settings(o, d)
  if #d.settings == 0 then answer.say(o, "settings   the same") end
  for i, s in ipairs(d.settings) do
    answer.say(o, "%-10s %s: %s, %s", i == 1 and "settings" or "", s.name, text(s.a), text(s.b))
  end
  if #d.world == 0 then answer.say(o, "world      the same") end
  for i, line in ipairs(d.world) do answer.say(o, "%-10s %s", i == 1 and "world" or "", line) end
end

local MARK = { a = "-", b = "+", both = " " }

local function time_of(best)
  return best.ns and ("%.2f us"):format(best.ns / 1e3)
    or best.ticks and ("%.0f ticks"):format(best.ticks) or "-"
end

local function say_best(o, d)
  for i, g in ipairs(d.genes) do
    answer.say(o, "%-10s %s %s", i == 1 and "genes" or "", MARK[g.where], g.gene)
  end
  if #d.genes == 0 then answer.say(o, "genes      none: the kernel as it is") end
  local a, b = d.best.a, d.best.b
  answer.say(o, "best       %s, %s%s", time_of(a), time_of(b), d.ratio
    and (": the second is %.3f times as fast%s"):format(d.ratio, d.same_case and ""
      or ", on another case") or "")
  answer.say(o, "speed-up   %s, %s", a.speedup and ("%.3fx"):format(a.speedup) or "-",
    b.speedup and ("%.3fx"):format(b.speedup) or "-")
end

local function say_history(o, d)
  local h = d.history
  if not h then return answer.say(o, "history    (one of them has no archive)") end
  if not h.parts then
    return answer.say(o, "history    the same, %d generations", h.generations)
  end
  answer.say(o, "history    parts in generation %d, at evaluation %d", h.parts.generation,
    h.parts.id)
  answer.say(o, "           - %s", h.parts.a or "(has ended)")
  answer.say(o, "           + %s", h.parts.b or "(has ended)")
end

local function json_of(d)
  local pairs_of = {}
  for _, name in ipairs { "settings", "world", "genes" } do
    pairs_of[#pairs_of + 1] = { name, gi.json.array(d[name]) }
  end
  for _, name in ipairs { "best", "ratio", "same_case", "source", "history" } do
    pairs_of[#pairs_of + 1] = { name, d[name] }
  end
  return gi.json.object(pairs_of)
end

local function said(o)
  local d = M.of(o.first, o.second)
  say_settings(o, d)
  say_best(o, d)
  say_history(o, d)
  if not (o.quiet or o.json) and d.source ~= "" then
    printable.write("\n" .. d.source, gi.host.is_terminal())
  end
  return json_of(d)
end

function M.run()
  return answer.given(gi.cli {
    takes = "quiet",
    doc = "In what two runs differ: settings, worlds, best genomes, sources, times, histories.",
    positional = { { name = "first", doc = "a run's folder" },
      { name = "second", doc = "another's" } },
    answer.JSON,
  }, said)
end

return M
