-- plot: charts as SVG, drawn by gnuplot. A chart is data and labels; what comes back is one <svg>
-- element that takes the page's text colour, shares no names with other charts of the page, and is
-- the same to the byte for the same data.

local settings = require "gilua.base.settings"
local shell = require "gilua.base.shell"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"

local M = {}

--- The colours of series in order: told apart also by the colour-blind (Okabe and Ito, 2008), and
--- readable on white and on black.
M.colours = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a8a" }

local HOW_TO_GET = "the plots are drawn by gnuplot, which is not installed: apt-get install "
  .. "gnuplot-nox"

--- Is there a gnuplot?
---@return boolean? available
---@return string? message how to get it
---@return string? code "nolib"
function M.available()
  for dir in (os.getenv("PATH") or ""):gmatch("[^:]+") do
    local file = io.open(dir .. "/gnuplot", "rb")
    if file then
      file:close()
      return true
    end
  end
  return nil, HOW_TO_GET, "nolib"
end

--------------------------------------------------------------------------------------------------
-- gnuplot's language

-- Single quotes: between double ones gnuplot would run what stands in backquotes.
local function quoted(text)
  return "'" .. text:gsub("'", "''"):gsub("[\r\n]", " ") .. "'"
end

-- A word of a data block, where nothing can be escaped.
local function datum(text)
  return '"' .. text:gsub('"', "'"):gsub("[\r\n]", " ") .. '"'
end

-- A number as gnuplot reads it; what does not exist is a gap.
local function number(x)
  if not x or x ~= x or x == math.huge or x == -math.huge then return "NaN" end
  return ("%.9g"):format(x)
end

local function block(name, rows)
  local lines = { "$" .. name .. " << EOD" }
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      cells[i] = type(cell) == "string" and datum(cell) or number(cell)
    end
    lines[#lines + 1] = table.concat(cells, " ")
  end
  lines[#lines + 1] = "EOD"
  return table.concat(lines, "\n")
end

-- { { label, place }, … }
local function tics(list)
  local parts = {}
  for i, tic in ipairs(list) do
    parts[i] = ("%s %s"):format(quoted(tic[1]), number(tic[2]))
  end
  return table.concat(parts, ", ")
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
    o.xtics and "set xtics (" .. tics(o.xtics) .. ")" or "",
    o.ytics and "set ytics (" .. tics(o.ytics) .. ")" or "",
    o.legend == false and "unset key" or "set key outside bottom center horizontal",
  }, "\n")
end

--------------------------------------------------------------------------------------------------
-- Running it

local function read_all(path)
  local file = io.open(path, "rb")
  local text = file and file:read("a") or ""
  if file then file:close() end
  return text
end

-- Names of this chart alone, colours that follow the page, no fixed size.
local function adapt(svg, id)
  local body = svg:match("<svg.*</svg>")
  body = body:gsub("id=(['\"])([^'\"]+)", function(q, name) return "id=" .. q .. id .. name end)
  body = body:gsub("href=(['\"])#", function(q) return "href=" .. q .. "#" .. id end)
  body = body:gsub("url%(#", "url(#" .. id)
  body = body:gsub("stroke=(['\"])black['\"]", 'stroke="currentColor"')
  body = body:gsub("rgb%(%s*0,%s*0,%s*0%)", "currentColor"):gsub("fill=\"black\"",
    'fill="currentColor"')
  body = body:gsub(' color="black"', "")
  body = body:gsub("<title>.-</title>%s*", ""):gsub("<desc>.-</desc>%s*", "")
  return body
end

local function run(script, id)
  local ok, why, code = M.available()
  if not ok then return nil, why, code end
  local folder <close> = tempfolder.new()
  local path, errors = folder.path .. "/script", folder.path .. "/errors"
  textfile.write(path, script .. "\n")
  local pipe = assert(io.popen(("gnuplot %s 2>%s"):format(shell.quoted(path),
    shell.quoted(errors)), "r"))
  local svg = pipe:read("a")
  local done = pipe:close()
  local said = read_all(errors):gsub("^%s+", ""):gsub("%s+$", "")
  if not done or not svg:find("</svg>", 1, true) then
    return nil, "gnuplot could not draw: " .. said:match("[^\n]*$"), "nolib"
  end
  return adapt(svg, id)
end

-- The horizontal line at o.at, where one is asked for.
local function add_level(plots, o)
  if not o.at then return end
  plots[#plots + 1] = ("%s with lines dt 3 lw 1.5 lc rgb \"#8a8a8a\" title %s"):format(number(o.at),
    quoted(o.title or ""))
end

-- The chart of what is set up and then plotted.
local function drawn(lines, plots, id)
  return run(table.concat(lines, "\n") .. "\nplot " .. table.concat(plots, ", "), id)
end

local COMMON = { width = 720, height = 320, id = "plot" }
local OPTIONAL = { "x", "y", "from", "to", "log", "logx", "legend", "at", "highlight", "title",
  "xtics", "ytics" }

local function options_of(name, given)
  return settings.fill("gilua.plot." .. name, given, COMMON, OPTIONAL)
end

--------------------------------------------------------------------------------------------------
-- Charts. `id`: a word of the page's own; x, y: axis labels; from, to: of the y axis; at: a
-- horizontal line at that value, called `title`; log, logx: a logarithmic y or x axis; xtics,
-- ytics: { { label, place }, … } in place of gnuplot's own.

--- Lines: series of { name =, points = { {x, y}, … }, dashed =, points_only = }.
---@param series table[]
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.lines(series, options)
  local o = options_of("lines", options)
  local parts, plots = { header(o) }, {}
  for i, s in ipairs(series) do
    parts[#parts + 1] = block("d" .. i, s.points)
    plots[i] = ("$d%d using 1:2 with %s %s lw 2 lc rgb %s title %s"):format(i,
      s.points_only and "points pt 7 ps 0.5" or "lines", s.dashed and "dt 2" or "",
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
  return run(table.concat(lines, "\n"), o.id)
end

-- The range of a logarithmic axis: gnuplot's own goes on to the next power of ten.
local function log_range(axis, rows, column)
  local least, most = math.huge, 0
  for _, row in ipairs(rows) do
    least, most = math.min(least, row[column]), math.max(most, row[column])
  end
  return ("set %srange [%s:%s]"):format(axis, number(least / 1.2), number(most * 1.2))
end

-- Errors from 0 to anything on one axis: zero at 0, from 1 on the powers of ten above the least.
local function error_axis(points)
  local least, most
  for _, p in ipairs(points) do
    if p.error > 0 then
      least, most = math.min(least or p.error, p.error), math.max(most or p.error, p.error)
    end
  end
  local first = math.floor(math.log(least or 1, 10))
  local last, axis = math.ceil(math.log(most or 1, 10)), { { "0", 0 } }
  local every = math.max(1, (last - first) // 8)
  for power = first, last, every do
    axis[#axis + 1] = { ("%g"):format(10.0 ^ power), power - first + 1 }
  end
  return axis, function(x) return x > 0 and math.log(x, 10) - first + 1 or 0 end
end

-- Names for a time axis whose range is below, or not far above, a factor of ten.
local TIMES = {}
for power = -4, 4 do
  for _, first in ipairs { 1, 2, 5 } do
    TIMES[#TIMES + 1] = { ("%g"):format(first * 10.0 ^ power), first * 10.0 ^ power }
  end
end

--- Error against time, both to be small (Langdon, "Genetically Improved Software", 2015, Figure
--- 8.4), with those that nothing beats in both joined. Both axes are logarithmic; the error's has a
--- place for zero.
---@param points table[] { error =, time = }, …
---@param front table[] the same, by error
---@param options? table
---@return string? svg
---@return string? message
---@return string? code
function M.front(points, front, options)
  local o = options_of("front", options)
  local axis, place = error_axis(points)
  local function placed(list)
    local rows = {}
    for i, p in ipairs(list) do rows[i] = { place(p.error), p.time } end
    return rows
  end
  o.xtics, o.ytics, o.log = axis, TIMES, true
  local all = placed(points)
  local lines = { header(o), "set offsets 0.3, 0.3, 0, 0", block("d", all),
                  block("f", placed(front)), log_range("y", all, 2) }
  local plots = {
    ('$d using 1:2 with points pt 7 ps 0.4 lc rgb "%s" title %s'):format(M.colours[1],
      quoted "everything that ran"),
    ('$f using 1:2 with steps lw 1.5 lc rgb "%s" notitle'):format(M.colours[2]),
    ('$f using 1:2 with points pt 7 ps 0.8 lc rgb "%s" title %s'):format(M.colours[2],
      quoted "what nothing beats in both"),
  }
  add_level(plots, o)
  return drawn(lines, plots, o.id)
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

--- A heat map of { { x = label, y = label, value =, best =, default = }, … }; columns and rows in
--- the order they come. A star marks the best, a circle the default; log: colours by the logarithm.
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
  local lines = {
    header(o), block("d", rows), block("s", stars), block("c", circles), "unset grid",
    "set palette defined (0 '#fde725', 1 '#5ec962', 2 '#21918c', 3 '#3b528b', 4 '#440154')",
    "set cblabel " .. quoted(o.title or ""),
    log and "set logscale cb; set cbtics (" .. tics(TIMES) .. ")" or "",
    "set xtics (" .. tics(xtics) .. ") rotate by 60 right scale 0",
    "set ytics (" .. tics(ytics) .. ") scale 0",
    ("set xrange [0.5:%d.5]"):format(#xtics), ("set yrange [0.5:%d.5]"):format(#ytics),
  }
  local plots = { "$d using 1:2:3 with image pixels" }
  local mark = '$%s using 1:2 with points pt %d ps %s lw 1.5 lc rgb "%s"'
  if stars[1] then plots[2] = mark:format("s", 3, "1.1", M.colours[2]) end
  if circles[1] then plots[#plots + 1] = mark:format("c", 6, "1.4", "#ffffff") end
  return drawn(lines, plots, o.id)
end

return M
