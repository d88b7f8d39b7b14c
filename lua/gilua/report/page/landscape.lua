-- landscape: the course of a search on its page: the origins of the winner's genes, and the worth
-- of each operator's children. Each point names its mutant.

local genome = require "gilua.search.genome"
local laboratory = require "gilua.report.page.laboratory"
local markup = require "gilua.report.page.markup"
local plot = require "gilua.report.page.plot"

local M = {}

local code, escape, grid, section = markup.code, markup.escape, markup.grid, markup.section
local over, percent, shown, telling = markup.over, markup.percent, markup.shown, markup.telling

--------------------------------------------------------------------------------------------------
-- Genomes under the mouse

local LONGEST = 240 -- letters of a genome under the mouse

local function shortened(text)
  if text == "" then return "(the kernel as it is)" end
  if #text <= LONGEST then return text end
  return ("%s… (%d genes)"):format(text:sub(1, LONGEST):gsub("[\128-\255]*$", ""),
    genome.length(text))
end

local GREY = "#8a8a8a"

local function range_of(points, key)
  local least, most = math.huge, -math.huge
  for _, point in ipairs(points) do
    least, most = math.min(least, point[key]), math.max(most, point[key])
  end
  return least, most
end

--- Every mutant of a run, which a reader can ask.
---@param e table
---@return string
function M.mutants(e)
  local saved = e.search and e.search.laboratory
  return saved and laboratory.section(saved) or ""
end

--------------------------------------------------------------------------------------------------
-- Operators

--- What the children of each operator were worth.
---@param e table
---@param word fun(): string
---@return string
function M.operators(e, word)
  local operators = e.search and e.search.operators
  if not operators or #operators == 0 then return "" end
  local series, rows = {}, {}
  for i, o in ipairs(operators) do
    local points = {}
    for k, g in ipairs(o.generations) do
      points[k] = { g.generation, 100 * over(g.right, g.all) }
    end
    series[i] = { name = o.name, points = points }
    rows[i] = { escape(o.name), shown(o.all, "grouped"), percent(over(o.compiled, o.all)),
      percent(over(o.ran, o.all)), percent(over(o.right, o.all)), percent(over(o.parents, o.all)) }
  end
  return section("Operators",
    markup.figure("Right answers among the children of each operator.", plot.lines(series,
      { id = word(), x = "generation", whole = true, y = "right, %", from = 0, to = 105 })),
    grid({ "operator", "children", "compiled", "ran", "right", "may be parents" }, "lrrrrr", rows))
end

--------------------------------------------------------------------------------------------------
-- The winner's line

local BIRTHS = { initial = GREY, start = GREY, scratch = "#009e73", mutation = "#0072b2",
  crossover = "#d55e00", elite = "#e69f00", copy = "#e69f00", finalist = "#cc79a7",
  best = "#cc79a7", ["knock-out"] = "#cc79a7" }

local function last_generation(nodes)
  local last = 0
  for _, node in ipairs(nodes) do last = math.max(last, node.generation) end
  return last
end

-- What comes after the last generation lies to the right of it.
local FINAL = { finalist = 1, ["knock-out"] = 1, best = 2 }

local function column_of(node, last)
  return FINAL[node.birth] and last + FINAL[node.birth] or node.generation
end

-- Rows: of a generation its nodes one below the other, in the order of their children.
local function rows_of(nodes)
  local levels, sum, n = {}, {}, {}
  for _, node in ipairs(nodes) do
    levels[node.level + 1] = levels[node.level + 1] or {}
    table.insert(levels[node.level + 1], node)
  end
  local row = {}
  for _, level in ipairs(levels) do
    local order = {}
    for i, node in ipairs(level) do order[node] = n[node.id] and sum[node.id] / n[node.id] or i end
    table.sort(level, function(a, b)
      if order[a] ~= order[b] then return order[a] < order[b] end
      return a.id < b.id
    end)
    for i, node in ipairs(level) do
      row[node.id] = i - (#level + 1) / 2
      for _, id in ipairs(node.parents) do
        sum[id], n[id] = (sum[id] or 0) + row[node.id], (n[id] or 0) + 1
      end
    end
  end
  return row
end

-- The line in which each is followed by the parent that shares most genes with it.
local function nearest_line(nodes)
  local by_id, line = {}, {}
  for _, node in ipairs(nodes) do by_id[node.id] = node end
  local node = nodes[1]
  while node do
    line[#line + 1] = node
    node = by_id[node.parents[1]]
  end
  return line
end

local function node_title(node)
  return escape(("%d, generation %d, %s: %s\n%s"):format(node.id, node.generation, node.birth,
    node.gain and markup.times(node.gain) or node.status:gsub("_", " "), shortened(node.genome)))
end

-- Genes that are in one list and not in the other, as often as they are.
local function gone(from, to)
  local left, list = {}, {}
  for _, gene in ipairs(genome.split(to)) do left[gene] = (left[gene] or 0) + 1 end
  for _, gene in ipairs(genome.split(from)) do
    if (left[gene] or 0) > 0 then left[gene] = left[gene] - 1 else list[#list + 1] = gene end
  end
  return list
end

local function genes_cell(list)
  local cells = {}
  for i, gene in ipairs(list) do cells[i] = code(gene) end
  return table.concat(cells, " ")
end

local function line_table(line)
  local rows = {}
  for i, node in ipairs(line) do
    local parent = line[i + 1] and line[i + 1].genome or ""
    rows[i] = { shown(node.generation, "%d"), shown(node.id, "%d"), escape(node.birth),
      markup.times(node.gain),
      genes_cell(gone(node.genome, parent)), genes_cell(gone(parent, node.genome)) }
  end
  return grid({ "generation", "number", "operator", "speed-up", "genes new", "genes gone" },
    "rrlrll", rows, "line")
end

local function tree(nodes, line, id)
  local last, row = last_generation(nodes), rows_of(nodes)
  local by_id, on_line, groups, lines = {}, {}, {}, {}
  for _, node in ipairs(nodes) do by_id[node.id] = node end
  for _, node in ipairs(line) do on_line[node.id] = true end
  local highest = 1
  for _, node in ipairs(nodes) do
    local x, y = column_of(node, last), row[node.id]
    highest = math.max(highest, math.abs(y) + 1)
    local group = groups[node.birth]
    if not group then
      group = { name = node.birth, colour = BIRTHS[node.birth] or "#56b4e9", opacity = 1,
        points = {} }
      groups[node.birth], groups[#groups + 1] = group, group
    end
    table.insert(group.points, { x, y, title = node_title(node),
      radius = on_line[node.id] and 4 or 2.6 })
    for i, parent in ipairs(node.parents) do
      lines[#lines + 1] = { column_of(by_id[parent], last), row[parent], x, y,
        colour = group.colour, width = i == 1 and on_line[node.id] and 2.5 or 1 }
    end
  end
  local first = range_of(nodes, "generation")
  return plot.cloud(groups, { id = id, x = "generation", xtics = plot.whole(first, last),
    ytics = {}, edges = lines, width = last > 60 and 720 or nil,
    height = math.floor(110 + 34 * highest), margin = 20,
    xrange = { first - 0.5, last + (FINAL[nodes[1].birth] or 0) + 0.5 },
    yrange = { -highest, highest } })
end

--- Where the winner's genes come from.
---@param e table
---@param word fun(): string
---@return string
function M.lineage(e, word)
  local l = e.search and e.search.lineage
  if not l or #l.nodes < 2 then return "" end
  local line = nearest_line(l.nodes)
  local whose = l.of or "the winner"
  return section(("Where %s comes from"):format(whose),
    telling(("Ancestors of %s, from left to right%s. The thick line goes to the parent that shares "
      .. "most genes; what comes after the last generation is the final comparison."):format(
      whose, l.cut and "; of a generation at most eight, those that share most "
      .. "genes with it" or ""), tree(l.nodes, line, word())), line_table(line))
end

return M
