-- mutantcolumns: a run's mutants as columns of numbers, for the laboratory of its page. Repeated
-- texts (operators, results, genes) are in a list once, and a column holds positions in it, from 0.
-- A page has at most PAGE mutants, so a browser draws the first while the others are on their way.
-- Each page is complete, with lists of its own.
--
-- The numbers come from the archive (gilua.store.archive). A mutant's gain is relative to the last
-- unmodified kernel measured before it, which ran on the same case.

local evaluations = require "gilua.store.evaluations"
local fail = require "gilua.base.fail"
local genomes = require "gilua.search.genome"
local json = require "gilua.base.json"

local M = { PAGE = 5000 }

--- The numbers of a mutant, in order, as a page names them.
M.NUMBERS = { "id", "generation", "birth", "outcome", "gain", "error", "max_error", "wrong",
  "penalty", "registers", "genes", "fitness", "first", "second" }

local ROWS = [[
SELECT e.id, e.generation, e.birth, e.first_parent, e.second_parent, g.text AS genome, e.status,
  e.ticks, e.max_error, e.mean_error, e.wrong, e.unset, e.registers, e.fitness, m.reply
FROM evaluation e JOIN genome g ON g.id = e.genome
LEFT JOIN measurement m ON m.key = e.measurement
WHERE e.run = ?1 AND e.id > ?2 AND (e.birth = 'unmodified' OR %s) ORDER BY e.id LIMIT ?3]]
local BASELINE = "SELECT ticks FROM evaluation WHERE run = ?1 AND id <= ?2 "
  .. "AND birth = 'unmodified' ORDER BY id DESC LIMIT 1"
local COUNT = "SELECT count(*) AS n FROM evaluation WHERE run = ?1"

-- A list of texts, each once; returns where a text stands in it, from 0.
local function dictionary()
  local list, at = {}, {}
  return list, function(text)
    if not at[text] then
      list[#list + 1] = text
      at[text] = #list - 1
    end
    return at[text]
  end
end

-- A column's cell: a number of few digits, or null.
local function cell(x)
  if math.type(x) == "integer" then return tostring(x) end
  if type(x) ~= "number" or x ~= x or x == math.huge or x == -math.huge then return "null" end
  return (("%.6g"):format(x):gsub(",", "."))
end

local function quoted(list)
  local texts = {}
  for i, text in ipairs(list) do texts[i] = json.line(text) end
  return "[" .. table.concat(texts, ",") .. "]"
end

--- What became of a mutant, in a word: its status, or for one that ran "right" or "wrong"; "ok"
--- where the archive does not tell.
---@param archive gilua.archive
---@param row { status: string, unset?: number, reply?: string }
---@return string
function M.outcome(archive, row)
  if row.status ~= "ok" then return tostring(row.status) end
  local right = evaluations.is_right(archive, row)
  return right and "right" or right == false and "wrong" or "ok"
end

local function ratio(a, b)
  return type(a) == "number" and type(b) == "number" and b > 0 and b < math.huge and a / b or nil
end

local function is_number(x) return type(x) == "number" and x or nil end

-- The numbers of a row, by name.
local function numbers_of(archive, row, baseline, place)
  local ran = row.status == "ok"
  local reply = ran and row.reply and archive:decoded(row.reply) or {}
  return { id = row.id, generation = row.generation, birth = place.birth(tostring(row.birth)),
    outcome = place.outcome(M.outcome(archive, row)),
    gain = ran and ratio(baseline, row.ticks) or nil, error = ran and row.mean_error or nil,
    max_error = ran and row.max_error or nil, wrong = ran and is_number(reply.off) or nil,
    penalty = is_number(reply.penalty), registers = is_number(row.registers),
    fitness = row.fitness, first = row.first_parent, second = row.second_parent }
end

local function page_text(columns, lists, after, all)
  local parts = { ('{"after":%s,"all":%d'):format(after or "null", all) }
  for _, name in ipairs { "births", "outcomes", "words" } do
    parts[#parts + 1] = ('"%s":%s'):format(name, quoted(lists[name]))
  end
  for _, name in ipairs(M.NUMBERS) do
    parts[#parts + 1] = ('"%s":[%s]'):format(name, table.concat(columns[name], ","))
  end
  parts[#parts + 1] = ('"genome":[%s]'):format(table.concat(columns.genome, ","))
  return table.concat(parts, ",") .. "}"
end

local function new_columns()
  local columns = { genome = {} }
  for _, name in ipairs(M.NUMBERS) do columns[name] = {} end
  return columns
end

--- One page of a run's mutants, as JSON text.
---@param archive gilua.archive
---@param run integer its number there
---@param after integer the page begins behind this mutant; 0: at the first
---@param o? { limit?: integer, only?: string, all?: integer } only: SQL that says which mutants, of
---  `e`; all: how many the run has
---@return string page { after, all, births, outcomes, words, a list for each of NUMBERS, genome }.
---  after: the next page's `after`; null: this is the last. genome: places in `words`, the
---  genes of one mutant behind those of the one before
---@return integer? after
function M.page(archive, run, after, o)
  o = o or {}
  local limit = o.limit or M.PAGE
  local rows = archive:rows(ROWS:format(o.only or "1"), run, after, limit)
  local first = archive:row(BASELINE, run, after)
  local baseline = first and first.ticks
  local births, birth = dictionary()
  local outcomes, outcome = dictionary()
  local words, word = dictionary()
  local columns, place = new_columns(), { birth = birth, outcome = outcome }
  for i, row in ipairs(rows) do
    if math.type(row.id) ~= "integer" or type(row.genome) ~= "string" then
      fail("%s is broken: an evaluation has no number or no genome", archive.path)
    end
    if row.birth == "unmodified" then baseline = row.ticks end
    local numbers, genes = numbers_of(archive, row, baseline, place), genomes.split(row.genome)
    numbers.genes = #genes
    for _, name in ipairs(M.NUMBERS) do columns[name][i] = cell(numbers[name]) end
    for _, gene in ipairs(genes) do table.insert(columns.genome, tostring(word(gene))) end
  end
  local last = #rows == limit and rows[#rows].id or nil
  return page_text(columns, { births = births, outcomes = outcomes, words = words }, last,
    o.all or M.count(archive, run)), last
end

--- How many mutants a run has.
---@param archive gilua.archive
---@param run integer
---@return integer
function M.count(archive, run)
  return archive:row(COUNT, run).n
end

--- All of a run's mutants, or of a long run at most about `most` of them.
---@param archive gilua.archive
---@param run integer
---@param most integer
---@param always integer[] mutants that are never left out
---@return string[] pages
---@return integer every one of so many is there
function M.pages(archive, run, most, always)
  local all = M.count(archive, run)
  local every = math.max(1, math.ceil(all / most))
  local only = every == 1 and "1" or ("(e.id %% %d = 0 OR e.id IN (%s))"):format(every,
    table.concat(always, ","))
  local pages, after = {}, 0
  repeat
    pages[#pages + 1], after = M.page(archive, run, after, { only = only, all = all })
  until not after
  return pages, every
end

return M
