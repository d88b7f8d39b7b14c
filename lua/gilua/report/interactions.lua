-- interactions: the effects of a winner's genes alone, left out, and in pairs
-- (gilua.study.epistasis), for its page and for result.json.

local json = require "gilua.base.json"
local markup = require "gilua.report.page.markup"

local M = {}

local code, escape, grid, p, section = markup.code, markup.escape, markup.grid, markup.p,
  markup.section

--- For result.json.
---@param e? Epistasis
---@return table?
function M.value(e)
  if not e then return nil end
  local genes, list = {}, {}
  for i, gene in ipairs(e.genes) do
    local a, w = e.alone[i], e.without[i]
    genes[i] = json.object { { "gene", gene }, { "alone", a.effect }, { "alone_status", a.status },
      { "alone_right", a.right }, { "without", w.effect }, { "without_status", w.status },
      { "without_right", w.right } }
    for j = i + 1, #e.genes do
      local pair = e.pairs[i][j]
      list[#list + 1] = json.object { { "first", i }, { "second", j }, { "kind", pair.kind },
        { "interaction", pair.interaction } }
    end
  end
  return json.object { { "effect", e.all.effect }, { "genes", json.array(genes) },
    { "pairs", json.array(list) }, { "left_out", e.left_out } }
end

--------------------------------------------------------------------------------------------------
-- The matrix, as SVG: a square for each pair, coloured by what the two do together

local CELL, LEFT, TOP = 56, 44, 30

-- Told apart by the colour-blind, and on white and black.
local COLOURS = { help = "#0072b2", hinder = "#d55e00", need = "#009e73", clash = "#cc79a7",
  wrong = "#8a8a8a", add = "#8a8a8a" }
local WORDS = { help = "help each other", hinder = "hinder each other", add = "add up",
  need = "right together only", clash = "wrong together", wrong = "wrong" }

-- A logarithm of times as the share of time that it is: -5.1 %.
local function share(x)
  local percent = x and 100 * (math.exp(x) - 1)
  if percent and math.abs(percent) < 0.05 then percent = 0 end
  return percent and ("%+.1f %%"):format(percent) or "–"
end

local function opacity(pair)
  if not pair.interaction then return pair.kind == "wrong" and 0.15 or 0.5 end
  if pair.kind == "add" then return 0.1 end
  return math.min(0.85, 0.2 + 5 * math.abs(pair.interaction))
end

local SQUARE = '<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="%.2f"><title>'
  .. "%s</title></rect>\n"
local TEXT = '<text x="%d" y="%d" text-anchor="middle" font-size="11">%s</text>\n'

local function square(i, j, pair)
  local x, y = LEFT + (j - 1) * CELL, TOP + (i - 1) * CELL
  local title = ("%d and %d: %s%s"):format(i, j, WORDS[pair.kind],
    pair.interaction and ", " .. share(pair.interaction) or "")
  return SQUARE:format(x + 1, y + 1, CELL - 2, CELL - 2, COLOURS[pair.kind], opacity(pair),
    escape(title)) .. TEXT:format(x + CELL // 2, y + CELL // 2 + 4,
    pair.interaction and escape(share(pair.interaction)) or escape(pair.kind))
end

-- The diagonal has what a gene does alone.
local function alone(i, outcome)
  local x, y = LEFT + (i - 1) * CELL, TOP + (i - 1) * CELL
  return ('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="currentColor" '
    .. 'stroke-opacity="0.5"/>\n'):format(x + 1, y + 1, CELL - 2, CELL - 2)
    .. TEXT:format(x + CELL // 2, y + CELL // 2 + 4,
    escape(outcome.right and share(outcome.effect) or "wrong"))
end

--- The matrix as one <svg> element.
---@param e Epistasis
---@return string
function M.matrix(e)
  local n = #e.genes
  local width, height = math.max(LEFT + n * CELL + 8, 320), TOP + n * CELL + 8
  local parts = { ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" '
    .. 'style="min-width: %dpx; max-width: %dpx" font-family="sans-serif">\n'):format(width, height,
    math.min(width, 320), width) }
  for i = 1, n do
    parts[#parts + 1] = TEXT:format(LEFT + (i - 1) * CELL + CELL // 2, TOP - 8, i)
    parts[#parts + 1] = TEXT:format(LEFT // 2, TOP + (i - 1) * CELL + CELL // 2 + 4, i)
    parts[#parts + 1] = alone(i, e.alone[i])
    for j = i + 1, n do parts[#parts + 1] = square(i, j, e.pairs[i][j]) end
  end
  parts[#parts + 1] = "</svg>\n"
  return table.concat(parts)
end

local function outcome(x)
  return x.right and share(x.effect) or escape(x.status == "ok" and "wrong answers" or x.status)
end

--- The section of the page.
---@param e table of the page: `interactions`, of gilua.epistasis; `winner` with its genes in words
---@return string
function M.section(e)
  local found = e.interactions
  if not found or #found.genes < 2 then return "" end
  local rows, words = {}, {}
  for _, gene in ipairs(e.winner and e.winner.genes or {}) do words[gene.gene] = gene.text end
  for i, gene in ipairs(found.genes) do
    rows[i] = { tostring(i), outcome(found.alone[i]), outcome(found.without[i]), code(gene)
      .. (words[gene] and "<br/>" .. markup.prose(words[gene]) or "") }
  end
  return section("What the genes do together",
    p(("All of them: %s of the time. On the diagonal is what each does alone, beside it what two "
      .. "do together beyond the two alone; blue pairs help each other, orange ones hinder each "
      .. "other, green ones are right together only%s."):format(share(found.all.effect),
      found.left_out > 0 and ("; %d more genes are not shown"):format(found.left_out) or "")),
    markup.figure("Pairwise interactions, as shares of the time.", M.matrix(found)),
    grid({ "", "alone", "the others without it", "gene" }, "rrrl", rows, "below"))
end

return M
