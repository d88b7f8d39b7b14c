-- mutantstory: everything that a run's archive and kept kernel say of one mutant, for the
-- laboratory of its page: genes in words, changed source lines, errors, samples. It compiles and
-- runs nothing.

local attempt = require "gilua.base.attempt"
local diff = require "gilua.base.diff"
local explain = require "gilua.report.explain"
local json = require "gilua.base.json"
local lineage = require "gilua.report.lineage"
local columns = require "gilua.report.mutantcolumns"

local M = {}

local ROW = "SELECT v.*, m.reply FROM evaluations v JOIN evaluation e ON e.run = v.run "
  .. "AND e.id = v.id LEFT JOIN measurement m ON m.key = e.measurement "
  .. "WHERE v.run = ?1 AND v.id = ?2"

-- What a measurement says in numbers, and in which words the page says it.
local FIGURES = { "n", "off", "wrong", "unset", "nan", "max_error", "mean_error", "penalty",
  "ticks", "ns", "registers", "shared_bytes", "energy_j" }

local function figures(row, reply)
  local list = {}
  for _, name in ipairs(FIGURES) do
    local value = reply[name] == nil and row[name] or reply[name]
    if type(value) == "number" then list[#list + 1] = { name, value } end
  end
  return json.object(list)
end

-- A text's lines, without their ends.
local function lines_of(text)
  local lines = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return json.array(lines)
end

-- Where a source differs from the original, as pieces: from this line so many lines have become
-- those.
local function changes(original, source)
  local list = {}
  for i, piece in ipairs(diff.pieces(original, source)) do
    list[i] = json.array { piece.first, piece.last - piece.first + 1,
      piece.text == "" and json.array {} or lines_of(piece.text) }
  end
  return json.array(list)
end

local function words_of(problem, genome)
  local known, genes = attempt(explain.genome, problem, genome)
  local list = {}
  for i, gene in ipairs(known and genes or {}) do
    list[i] = json.object { { "gene", gene.gene }, { "text", gene.text } }
  end
  return json.array(list)
end

-- Genes and changes of a genome; why they are not known, where it does not fit what was kept.
local function of_source(problem, genome)
  local known, why, source = attempt(explain.difference, problem, genome)
  if not known then return { { "unfit", tostring(why) } } end
  if not why then return { { "unfit", tostring(source) } } end
  return { { "genes", words_of(problem, genome) },
    { "changes", changes(problem.source, source) } }
end

--- All that is known of a mutant, as a value for json.
---@param archive gilua.archive
---@param run integer its number there
---@param id integer
---@param problem? table its kernel (a problem, or what a run kept); nil: nobody kept it
---@return table? nil where there is no such mutant
function M.of(archive, run, id, problem)
  local row = archive:row(ROW, run, id)
  if not row then return nil end
  local reply = row.reply and archive:decoded(row.reply) or {}
  local fields = { { "id", row.id }, { "genome", row.genome }, { "case", row.case },
    { "outcome", columns.outcome(archive, row) }, { "message", row.message },
    { "small", reply.small }, { "figures", figures(row, reply) },
    { "samples_ns", type(reply.samples) == "table" and json.array(reply.samples) or nil } }
  local more = problem and of_source(problem, row.genome) or {}
  return json.object(table.move(more, 1, #more, #fields + 1, fields))
end

--------------------------------------------------------------------------------------------------
-- The run

local BEST = "SELECT e.id FROM evaluation e JOIN genome g ON g.id = e.genome WHERE e.run = ?1 "
  .. "AND g.text = ?2 AND e.birth <> 'unmodified' AND e.status = 'ok' "
  .. "ORDER BY e.birth = 'best' DESC, e.id DESC LIMIT 1"
local LED = [[
SELECT id, min(fitness) AS fitness FROM evaluation WHERE run = ?1 AND acceptable
  AND birth NOT IN ('unmodified', 'finalist', 'knock-out', 'best', 'front', 'try')
GROUP BY generation ORDER BY generation DESC LIMIT ?2]]
--- The mutant that has a run's best genome.
---@param archive gilua.archive
---@param run integer
---@param genome string? of the best; nil, "": there is none
---@return integer?
function M.best(archive, run, genome)
  local row = genome and genome ~= "" and archive:row(BEST, run, genome)
  return row and row.id or nil
end

--- The mutants that people ask for first: the best, its ancestors, those that led a generation, the
--- last of these first.
---@param archive gilua.archive
---@param run integer
---@param best integer?
---@param most integer
---@return integer[] in order
function M.foremost(archive, run, best, most)
  local list, seen = {}, {}
  local function add(rows)
    for _, row in ipairs(rows) do
      if not seen[row.id] and #list < most then
        seen[row.id], list[#list + 1] = true, row.id
      end
    end
  end
  local line = best and lineage.of(archive, run, best, function() end)
  if line then add(line.nodes) end
  add(archive:rows(LED, run, most))
  table.sort(list)
  return list
end

--- What the laboratory says of a run before it shows any mutant, as a value for json.
---@param o { name: string, device: string?, ended: boolean, best: integer?, all: integer,
---  problem: table? }
---@return table
function M.head(o)
  local problem = o.problem
  return json.object { { "name", o.name }, { "device", o.device }, { "ended", o.ended },
    { "best", o.best }, { "all", o.all },
    { "file", problem and (problem.source_path or "kernel.cu"):match "[^/]*$" },
    { "source", problem and lines_of(problem.source) } }
end

return M
