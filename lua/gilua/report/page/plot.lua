-- plot: charts as SVG, drawn by gnuplot. A chart is data and labels. The result is one <svg>
-- element in the page's text colour, whose names are unique on the page; the same data gives the
-- same bytes.

local gnuplot = require "gilua.report.page.gnuplot"
local settings = require "gilua.base.settings"

local M = {}

--- Is there a gnuplot (gilua.report.page.gnuplot)?
M.available = gnuplot.available

--- The colours of series in order: told apart also by the colour-blind (Okabe and Ito, 2008), and
--- readable on white and on black.
M.colours = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a8a" }

local quoted, number, block, tics = gnuplot.quoted, gnuplot.number, gnuplot.block, gnuplot.tics

-- Of an axis with labels of its own; it may have none.
local function tics_of(axis, list)
  if not list then return "" end
  if #list == 0 then return ("unset %stics"):format(axis) end
  return ("set %stics (%s)"):format(axis, tics(list))
end

local function header(o)
  return table.concat({
    ('set terminal svg size %d,%d dynamic noenhanced font "sans-serif,12" butt solid'):format(
      o.width, o.height),
    "set encoding utf8", "set border 3", "set tics nomirror out", "set datafile missing \"?\"",
    "set grid ytics lc rgb \"#80808060\" lt 1 lw 0.5",
    o.x and "set xlabel " .. quoted(o.x) or "", o.y and "set ylabel " .. quoted(o.y) or "",
    o.from and ("set yrange [%s:*]"):format(number(o.from)) or "",
    o.to and ("set yrange [%s:%s]"):format(o.from and number(o.from) or "*", number(o.to)) or "",
    o.log and "set logscale y" or "", o.logx and "set logscale x" or "",
    tics_of("x", o.xtics), tics_of("y", o.ytics),
    o.legend == false and "unset key"
      or "set key outside top left horizontal Left reverse samplen 1.5 width 0.5",
  }, "\n")
end

-- Draws the horizontal line at o.at, if there is one.
local function add_level(plots, o)
  if not o.at then return end
  plots[#plots + 1] = ("%s with lines dt 3 lw 1.5 lc rgb \"#8a8a8a\" title %s"):format(number(o.at),
    quoted(o.title or ""))
end

-- The chart of what is set up and then plotted.
local function drawn(lines, plots, id, above)
  return gnuplot.run(table.concat(lines, "\n") .. "\nplot " .. table.concat(plots, ", "), id, above)
end

-- A chart that fits a telephone is 480 wide (the page's style knows it by that), letters included;
-- one with many labels is wider, and is moved sideways there.
local NARROW, WIDE = 480, 720

local COMMON = { width = WIDE, height = 320, id = "plot" }
local OF_NUMBERS = { width = NARROW, height = 300, id = "plot" }
local OPTIONAL = { "x", "y", "from", "to", "log", "logx", "legend", "at", "highlight", "title",
  "xtics", "ytics", "whole", "names" }

local function options_of(name, given, common)
  return settings.fill("gilua.plot." .. name, given, common or COMMON, OPTIONAL)
end

--------------------------------------------------------------------------------------------------
-- Charts. `id`: a word of the page's own; x, y: axis labels; from, to: of the y axis; at: a
-- horizontal line at that value, called `title`; log, logx: a logarithmic y or x axis; xtics,
-- ytics: { { label, place }, … } in place of gnuplot's own.

-- Round numbers between the least and the most, about five, `finest` apart at least.
local function round_numbers(least, most, finest)
  local rough = math.max((most - least) / 5, finest or 0)
  local power, step = 10.0 ^ math.floor(math.log(rough, 10)), nil
  for _, factor in ipairs { 10, 5, 2, 1 } do
    if factor * power >= 0.99 * rough then step = factor * power end
  end
  local list = {}
  for k = math.ceil(least / step), math.floor(most / step) do
    list[#list + 1] = { ("%.6g"):format(k * step), k * step }
  end
  return list
end

--- Names for an axis of whole numbers.
---@param least number
---@param most number
---@return table[] tics
function M.whole(least, most) return round_numbers(least, most, 1) end

local function range_of(series)
  local least, most = math.huge, -math.huge
  for _, s in ipairs(series) do
    for _, point in ipairs(s.points) do
      least, most = math.min(least, point[1]), math.max(most, point[1])
    end
  end
  return least, most
end

--- Lines: series of { name =, points = { {x, y}, … }, dashed =, points_only = }; whole: x is.
---@param series table[]
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.lines(series, options)
  local o = options_of("lines", options, OF_NUMBERS)
  local least, most = range_of(series)
  if o.whole and least <= most then o.xtics = M.whole(least, most) end
  local parts, plots = { header(o) }, {}
  for i, s in ipairs(series) do
    parts[#parts + 1] = block("d" .. i, s.points)
    -- a lone point has no line
    plots[i] = ("$d%d using 1:2 with %s %s lw 2 lc rgb %s title %s"):format(i,
      s.points_only and "points pt 7 ps 0.5" or #s.points == 1 and "linespoints pt 7 ps 0.6"
        or "lines", s.dashed and "dt 2" or "",
      quoted(M.colours[(i - 1) % #M.colours + 1]), quoted(s.name))
  end
  add_level(plots, o)
  return drawn(parts, plots, o.id)
end

--- Bars with labels: { { label =, value =, low =, high =, strong = }, … }; low and high draw an
--- error bar, strong ones have the second colour.
---@param bars table[]
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.bars(bars, options)
  local o = options_of("bars", options)
  o.legend = false
  local rows, errors, long = {}, false, 0
  for i, b in ipairs(bars) do
    rows[i] = { i, b.value, b.low or b.value, b.high or b.value, b.label, b.strong and 1 or 0 }
    errors = errors or b.low ~= nil
    long = math.max(long, #b.label)
  end
  local turn = #bars > 8 or long > 12
  local lines = {
    header(o), block("d", rows), "set boxwidth 0.8", "set style fill solid 0.85 noborder",
    ("set xrange [0.3:%d.7]"):format(#bars), turn and "set xtics rotate by 60 right" or "",
    "set xtics scale 0",
  }
  local plots = {
    ('$d using 1:($6==0?$2:NaN):xtic(5) with boxes lc rgb "%s"'):format(M.colours[1]),
    ('$d using 1:($6==1?$2:NaN) with boxes lc rgb "%s"'):format(M.colours[2]),
  }
  if errors then
    plots[#plots + 1] = '$d using 1:3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb "#808080"'
  end
  add_level(plots, o)
  return drawn(lines, plots, o.id)
end

-- The bars of points { x, y, low, high }. (gnuplot's own erase what is below a point in white, and
-- the page may be dark.)
local function interval_of(name, colour)
  return ('$%s using 1:3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb "%s" notitle'):format(name,
    colour)
end

-- Room around points { x, y, low, high } of a chart whose values are not below zero: its axis is
-- not either. sides: gnuplot's words for left and right.
local function room(rows, sides)
  local least, most = math.huge, -math.huge
  for _, row in ipairs(rows) do
    local low, high = row[3], row[4]
    if low and low == low then least, most = math.min(least, low), math.max(most, high) end
  end
  if least - 0.2 * (most - least) > 0 then
    return ("set offsets %s, graph 0.15, graph 0.15"):format(sides)
  end
  return ("set offsets %s, graph 0.15, 0; set yrange [0:*]"):format(sides)
end

--- Points with intervals: as bars, but y need not start at 0.
---@param points table[] { label, value, low, high }
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.intervals(points, options)
  local o = options_of("intervals", options)
  local rows = {}
  for i, p in ipairs(points) do
    rows[i] = { i, p.value, p.low or p.value, p.high or p.value, p.label }
  end
  o.legend = o.at ~= nil
  local lines = {
    header(o), block("d", rows), ("set xrange [0.3:%d.7]"):format(#points),
    "set xtics rotate by 60 right scale 0", room(rows, "0, 0"),
  }
  local plots = { interval_of("d", M.colours[1]),
    ('$d using 1:2:xtic(5) with points pt 7 ps 0.6 lc rgb "%s" notitle'):format(M.colours[1]) }
  if o.at then
    plots[#plots + 1] = ('%s with lines dt 2 lw 1.5 lc rgb "%s" title %s'):format(number(o.at),
      M.colours[2], quoted(o.title or ""))
  end
  return drawn(lines, plots, o.id)
end

--- Strips: groups of values side by side, with their medians: { { label =, values = }, … }.
---@param groups table[]
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.strips(groups, options)
  local o = options_of("strips", options)
  o.legend = false
  local stats = require "gilua.base.stats"
  local rows, medians = {}, {}
  for i, group in ipairs(groups) do
    for k, value in ipairs(group.values) do
      rows[#rows + 1] = { i + 0.3 * ((k - 0.5) / #group.values - 0.5), value }
    end
    medians[i] = { i - 0.25, stats.median(group.values), 0.5, 0, group.label, i }
  end
  local lines = {
    header(o), block("d", rows), block("m", medians), ("set xrange [0.3:%d.7]"):format(#groups),
    "set xtics scale 0", "set offsets 0, 0, graph 0.1, graph 0.1",
    ('plot $d using 1:2 with points pt 7 ps 0.7 lc rgb "%s", $m using 1:2:3:4 with vectors nohead '
      .. 'lw 2 lc rgb "%s", $m using 6:(NaN):xtic(5) with points'):format(M.colours[1],
      M.colours[2]),
  }
  return gnuplot.run(table.concat(lines, "\n"), o.id)
end

-- The least and the most of a column; nil where there is none.
local function extremes(rows, column)
  local least, most
  for _, row in ipairs(rows) do
    local value = row[column]
    if value then least, most = math.min(least or value, value), math.max(most or value, value) end
  end
  return least, most
end

-- The range of a logarithmic axis: gnuplot's own goes on to the next power of ten.
local function log_range(axis, rows, column)
  local least, most = extremes(rows, column)
  return ("set %srange [%s:%s]"):format(axis, number(least / 1.2), number(most * 1.2))
end

--- Errors from 0 to anything on one axis: zero at 0, then the powers of ten above the least, and
--- after them a place for those without end. Names have equal room, how far errors may reach.
---@param points table[] with `error`
---@return table[] tics
---@return fun(error: number): number place
function M.error_axis(points)
  local least, most, endless
  for _, p in ipairs(points) do
    if p.error == math.huge then
      endless = true
    elseif p.error > 0 then
      least, most = math.min(least or p.error, p.error), math.max(most or p.error, p.error)
    end
  end
  local first = math.floor(math.log(least or 1, 10))
  local last, axis = math.ceil(math.log(most or 1, 10)), { { "0", 0 } }
  local every = math.max(1, math.ceil((last - first) / 6))
  for power = first, last, every do
    axis[#axis + 1] = { ("%g"):format(10.0 ^ power), power - first + every }
  end
  local beyond = last - first + 2 * every
  if endless then axis[#axis + 1] = { "∞", beyond } end
  return axis, function(x)
    if x == math.huge then return beyond end
    return x > 0 and math.log(x, 10) - first + every or 0
  end
end

-- Names for a time axis whose range is below, or not far above, a factor of ten.
local TIMES = {}
for power = -4, 4 do
  for _, first in ipairs { 1, 2, 5 } do
    TIMES[#TIMES + 1] = { ("%g"):format(first * 10.0 ^ power), first * 10.0 ^ power }
  end
end

--- Names for a logarithmic axis from the least to the most: 0.1, 0.2, 0.5 …; round numbers where
--- these are not even a factor of ten apart.
---@param least number
---@param most number
---@return table[] tics
function M.times(least, most)
  if least == most then return { { ("%.4g"):format(least), least } } end
  if most / least < 8 then return round_numbers(least, most) end
  local list = {}
  for _, tic in ipairs(TIMES) do
    if tic[2] >= least and tic[2] <= most then list[#list + 1] = tic end
  end
  return list
end

--- Error against time, both to be small (Langdon, "Genetically Improved Software", 2015, Figure
--- 8.4), with those that nothing beats in both joined. Both axes are logarithmic; the error's has a
--- place for zero.
---@param points table[] { error =, time = }, …
---@param front table[] the same, by error
---@param options? table names: of the two, where they are others than "everything that ran" …
---@return string? svg
---@return string? message
---@return string? code
function M.front(points, front, options)
  local o = options_of("front", options, OF_NUMBERS)
  local names = o.names or { "everything that ran", "what nothing beats in both" }
  local axis, place = M.error_axis(points)
  local function placed(list)
    local rows = {}
    for i, p in ipairs(list) do rows[i] = { place(p.error), p.time } end
    return rows
  end
  o.xtics, o.log = axis, true
  local all = placed(points)
  local least, most = extremes(all, 2)
  o.ytics = M.times(least / 1.2, most * 1.2)
  local lines = { header(o), "set offsets 0.3, 0.3, 0, 0", block("d", all),
                  block("f", placed(front)), log_range("y", all, 2) }
  local plots = {
    ('$d using 1:2 with points pt 7 ps 0.4 lc rgb "%s" title %s'):format(M.colours[1],
      quoted(names[1])),
    ('$f using 1:2 with steps lw 1.5 lc rgb "%s" notitle'):format(M.colours[2]),
    ('$f using 1:2 with points pt 7 ps 0.8 lc rgb "%s" title %s'):format(M.colours[2],
      quoted(names[2])),
  }
  add_level(plots, o)
  return drawn(lines, plots, o.id)
end

--------------------------------------------------------------------------------------------------
-- Clouds: many points, each with a label. gnuplot draws the frame, whose place is known
-- because it is set; the points come on top of it.

local RIGHT, TOP, BOTTOM = 12, 34, 62 -- margins; TOP has one line of names
local LINE, LETTER, SAMPLE = 18, 9.6, 44 -- of names, which gnuplot puts into columns

-- How high the names of groups are.
local function names_height(groups, width)
  local longest = 0
  for _, group in ipairs(groups) do longest = math.max(longest, #group.name) end
  local columns = math.max(1, width // (LETTER * longest + SAMPLE))
  return TOP + LINE * (math.ceil(#groups / columns) - 1)
end

-- Where a value is, from `at` on over `length`; of a logarithmic axis its logarithm.
local function scale(range, log, at, length)
  local function plain(x) return x end
  local f = log and math.log or plain
  local from, to = f(range[1]), f(range[2])
  return function(x) return at + length * (f(x) - from) / (to - from) end
end

local CIRCLE = '<circle cx="%.1f" cy="%.1f" r="%s"><title>%s</title></circle>\n'
local CURVE = '<path stroke="%s" stroke-width="%s" d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>\n'

local function marks(group, x, y, radius)
  local parts = { ('<g fill="%s" fill-opacity="%s">\n'):format(group.colour,
    group.opacity or 0.6) }
  for _, p in ipairs(group.points) do
    parts[#parts + 1] = CIRCLE:format(x(p[1]), y(p[2]), p.radius or radius, p.title)
  end
  parts[#parts + 1] = "</g>\n"
  return table.concat(parts)
end

-- From child to parent, level where it leaves either.
local function edges(list, x, y)
  local parts = { '<g fill="none" stroke-opacity="0.6">\n' }
  for _, e in ipairs(list) do
    local x1, y1, x2, y2 = x(e[1]), y(e[2]), x(e[3]), y(e[4])
    local middle = (x1 + x2) / 2
    parts[#parts + 1] = CURVE:format(e.colour, e.width or 1, x1, y1, middle, y1, middle, y2, x2, y2)
  end
  parts[#parts + 1] = "</g>\n"
  return table.concat(parts)
end

local function frame_of(o)
  local function screen(pixels, all) return number(pixels / all) end
  return table.concat({
    "set lmargin at screen " .. screen(o.margin, o.width),
    "set rmargin at screen " .. screen(o.width - RIGHT, o.width),
    "set bmargin at screen " .. screen(BOTTOM, o.height),
    "set tmargin at screen " .. screen(o.height - o.top, o.height),
    ("set xrange [%s:%s]"):format(number(o.xrange[1]), number(o.xrange[2])),
    ("set yrange [%s:%s]"):format(number(o.yrange[1]), number(o.yrange[2])),
  }, "\n")
end

--- A cloud of points, and lines between them.
---@param groups table[] { name =, colour =, opacity =, points = { { x, y, title = HTML, radius = }
---  } }
---@param options table as ever, and xrange, yrange: { from, to }; radius: of a point; margin: to
---  the left; edges: { { x1, y1, x2, y2, colour =, width = } }
---@return string? svg
---@return string? message
---@return string? code
function M.cloud(groups, options)
  local o = settings.fill("gilua.plot.cloud", options, { width = NARROW, height = 340, id = "plot",
    radius = 2.2, margin = 64, edges = {} }, { "x", "y", "log", "logx", "xtics", "ytics",
    "xrange", "yrange" })
  o.top = names_height(groups, o.width - o.margin - RIGHT)
  o.height = o.height + o.top - TOP
  local x = scale(o.xrange, o.logx, o.margin, o.width - o.margin - RIGHT)
  local y = scale(o.yrange, o.log, o.height - BOTTOM, o.top + BOTTOM - o.height)
  local plots, above = {}, { edges(o.edges, x, y) }
  for i, group in ipairs(groups) do
    plots[i] = ("NaN with points pt 7 ps 0.7 lc rgb %s title %s"):format(quoted(group.colour),
      quoted(group.name))
    above[i + 1] = marks(group, x, y, o.radius)
  end
  return drawn({ header(o), frame_of(o) }, plots, o.id, table.concat(above))
end

--- Points with intervals on two axes of numbers: series of { name =, points = { { x, y, low,
--- high }, … } }; without low and high a point has none.
---@param series table[]
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.scatter(series, options)
  local o = options_of("scatter", options)
  local parts, plots, all = { header(o), "set xtics rotate by 60 right" }, {}, {}
  for i, s in ipairs(series) do
    local rows = {}
    for k, p in ipairs(s.points) do
      rows[k] = { p[1], p[2], p[3] or p[2], p[4] or p[2] }
      all[#all + 1] = rows[k]
    end
    parts[#parts + 1] = block("d" .. i, rows)
    local colour = M.colours[(i - 1) % #M.colours + 1]
    plots[#plots + 1] = interval_of("d" .. i, colour)
    plots[#plots + 1] = ('$d%d using 1:2 with points pt %d ps 0.8 lc rgb "%s" title %s'):format(i,
      i == 1 and 7 or 9, colour, quoted(s.name))
  end
  parts[#parts + 1] = room(all, o.logx and "0, 0" or "graph 0.05, graph 0.05")
  if o.logx then parts[#parts + 1] = log_range("x", all, 1) end
  return drawn(parts, plots, o.id)
end

-- Columns, or rows, of a heat map in the order they come: their places and tics.
local function lanes(cells, axis)
  local places, list = {}, {}
  for _, cell in ipairs(cells) do
    local label = cell[axis]
    if not places[label] then
      list[#list + 1] = { label, #list + 1 }
      places[label] = #list
    end
  end
  return places, list
end

-- The range of the colours and its tics. Of equal values, too: gnuplot draws none of them where its
-- range is empty.
local function colours_of(least, most, log)
  local lines = log and { "set logscale cb",
    "set cbtics (" .. tics(M.times(least, most)) .. ")" } or {}
  if least == most then
    local margin = least ~= 0 and 0.1 * math.abs(least) or 1
    lines[#lines + 1] = ("set cbrange [%s:%s]"):format(number(least - margin),
      number(most + margin))
  end
  return table.concat(lines, "\n")
end

--- A heat map of { { x = label, y = label, value =, best =, default = }, … }; columns and rows in
--- the order they come. A star marks the best, a circle the default; log: colours by the logarithm.
--- Nothing where no cell has a value (code "nodata").
---@param cells table[]
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.heat(cells, options)
  local o = options_of("heat", options)
  local log = o.log
  o.legend, o.log = false, nil
  local xs, xtics = lanes(cells, "x")
  local ys, ytics = lanes(cells, "y")
  local rows, stars, circles = {}, {}, {}
  for i, cell in ipairs(cells) do
    rows[i] = { xs[cell.x], ys[cell.y], cell.value }
    if cell.best then stars[1] = rows[i] end
    if cell.default then circles[1] = rows[i] end
  end
  local least, most = extremes(rows, 3)
  if not least then return nil, "there is nothing to draw: no cell has a value", "nodata" end
  local lines = {
    header(o), block("d", rows), block("s", stars), block("c", circles), "unset grid",
    "set palette defined (0 '#fde725', 1 '#5ec962', 2 '#21918c', 3 '#3b528b', 4 '#440154')",
    "set cblabel " .. quoted(o.title or ""),
    colours_of(least, most, log),
    "set xtics (" .. tics(xtics) .. ") rotate by 60 right scale 0",
    "set ytics (" .. tics(ytics) .. ") scale 0",
    ("set xrange [0.5:%d.5]"):format(#xtics), ("set yrange [0.5:%d.5]"):format(#ytics),
  }
  local plots = { "$d using 1:2:(0.5):(0.5):3 with boxxyerror fs solid 1 noborder lc palette" }
  local mark = '$%s using 1:2 with points pt %d ps %s lw 1.5 lc rgb "%s"'
  if stars[1] then plots[2] = mark:format("s", 3, "1.1", M.colours[2]) end
  if circles[1] then plots[#plots + 1] = mark:format("c", 6, "1.4", "#ffffff") end
  return drawn(lines, plots, o.id)
end

return M
