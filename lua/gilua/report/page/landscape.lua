-- landscape: what a search looked like, on its page: every mutant as a point, where the winner's
-- genes come from, and what the operators' children were worth. Each point says which mutant it is.

local genome = require "gilua.search.genome"
local markup = require "gilua.report.page.markup"
local plot = require "gilua.report.page.plot"

local M = {}

local code, escape, grid, p, section = markup.code, markup.escape, markup.grid, markup.p,
  markup.section
local over, percent, shown, telling = markup.over, markup.percent, markup.shown, markup.telling

--------------------------------------------------------------------------------------------------
-- Every mutant

local LONGEST = 240 -- letters of a genome under the mouse

local function shortened(text)
  if text == "" then return "(the kernel as it is)" end
  if #text <= LONGEST then return text end
  return ("%s… (%d genes)"):format(text:sub(1, LONGEST):gsub("[\128-\255]*$", ""),
    genome.length(text))
end

-- What a point says: "512, generation 7, crossover: right, 1.113×, error 2.9e-06", and its genome.
local function title(point)
  local time = point.time and (", %s, error %s"):format(markup.times(1 / point.time),
    point.error == math.huge and "∞" or shown(point.error, "%.3g")) or ""
  return escape(("%d, generation %d, %s: %s%s\n%s"):format(point.id, point.generation, point.birth,
    point.outcome:gsub("_", " "), time, shortened(point.genome)))
end

local GREY = "#8a8a8a"
local COLOURS = { right = "#0072b2", wrong = "#d55e00", compile_error = GREY, race = "#cc79a7",
  timeout = "#e69f00", loop_limit = "#e69f00", illegal_address = "#009e73" }

-- Outcomes in the order of how many there are, each with its colour and its points.
local function by_outcome(points)
  local groups = {}
  for _, point in ipairs(points) do
    local group = groups[point.outcome]
    if not group then
      group = { name = point.outcome:gsub("_", " "), outcome = point.outcome,
        colour = COLOURS[point.outcome] or "#56b4e9", points = {} }
      groups[point.outcome], groups[#groups + 1] = group, group
    end
    table.insert(group.points, point)
  end
  table.sort(groups, function(a, b)
    if #a.points ~= #b.points then return #a.points > #b.points end
    return a.outcome < b.outcome
  end)
  return groups
end

-- Groups as plot.cloud takes them: the place of a point from it and the number of its group.
local function placed(groups, place)
  local list = {}
  for i, group in ipairs(groups) do
    local points = {}
    for k, point in ipairs(group.points) do
      local x, y = place(point, i)
      points[k] = { x, y, title = title(point) }
    end
    list[i] = { name = ("%s: %d"):format(group.name, #points), colour = group.colour,
      points = points }
  end
  return list
end

local function range_of(points, key)
  local least, most = math.huge, -math.huge
  for _, point in ipairs(points) do
    least, most = math.min(least, point[key]), math.max(most, point[key])
  end
  return least, most
end

local function time_and_error(ran, what, id)
  local axis, place = plot.error_axis(ran)
  local least, most = range_of(ran, "time")
  least, most = least / 1.15, most * 1.15 -- times that hardly differ have room too
  return plot.cloud(placed(by_outcome(ran), function(point)
    return place(point.error), point.time
  end), { id = id, x = what, y = "time, over the unmodified", log = true, xtics = axis,
    ytics = plot.times(least, most), height = 360,
    xrange = { -0.4, axis[#axis][2] + 0.6 }, yrange = { least, most } })
end

-- A place of its own for each near the middle of its cell, the same whenever it is drawn.
local function shaken(id, step) return (id * step % 1 - 0.5) * 0.7 end

local function not_run(rest, id)
  local groups = by_outcome(rest)
  local first, last = range_of(rest, "generation")
  local lanes = {}
  for i, group in ipairs(groups) do lanes[i] = { group.name, i } end
  local function place(point, lane)
    return point.generation + shaken(point.id, 0.618034), lane + shaken(point.id, 0.754878)
  end
  return plot.cloud(placed(groups, place), {
    id = id, x = "generation", xtics = plot.whole(first, last), ytics = lanes, margin = 112,
    height = 110 + 36 * #lanes, xrange = { first - 0.7, last + 0.7 },
    yrange = { 0.4, #lanes + 0.6 } })
end

local function how_many(m)
  if m.every == 1 then return ("All %s mutants"):format(shown(m.all, "grouped")) end
  return ("%s of %s mutants, one of every %d and those that led a generation"):format(
    shown(#m.points, "grouped"), shown(m.all, "grouped"), m.every)
end

--- Every mutant as a point.
---@param e table
---@param word fun(): string
---@return string
function M.mutants(e, word)
  local m = e.search and e.search.mutants
  if not m or #m.points == 0 then return "" end
  local ran, rest = {}, {}
  for _, point in ipairs(m.points) do
    local list = point.time and ran or rest
    if point.time and not point.error then point.error = math.huge end -- null in JSON
    list[#list + 1] = point
  end
  local what = m.error or "mean error of an answer"
  local parts = { p(("%s. Time is over that of the unmodified kernel on the same case, error is "
    .. "the %s; <code>gilua show RUN NUMBER</code> tells all of one."):format(how_many(m),
    escape(what))) }
  if #ran > 0 then
    parts[2] = telling(("Error and time of the %s that ran; below and to the left is better.")
      :format(shown(#ran, "grouped")), time_and_error(ran, what, word()))
  end
  if #rest > 0 then
    parts[#parts + 1] = telling(("The %s that did not run to their end, or failed a check, by "
      .. "generation and cause."):format(shown(#rest, "grouped")), not_run(rest, word()))
  end
  return section("Every mutant", table.concat(parts))
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
