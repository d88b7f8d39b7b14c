-- plot, html: pages without gnuplot, and of tables with holes.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gnuplot = require "gilua.report.page.gnuplot"
local html = require "gilua.report.page.html"
local plot = require "gilua.report.page.plot"
local tap = require "tap"

-- f() with nothing in PATH.
local function without_programs(f)
  local getenv = os.getenv
  os.getenv = function(name) -- luacheck: ignore 122
    if name == "PATH" then return "" end
    return getenv(name)
  end
  local ok, result = pcall(f)
  os.getenv = getenv -- luacheck: ignore 122
  if not ok then error(result, 0) end
  return result
end

local RUNS = { title = "T", runs = { { seed = 1, speedup = 1.5 }, { seed = 2, speedup = 1.25 } } }

tap.case("without gnuplot the tables are there and a line says how to get it", function()
  local page = without_programs(function() return html.page(RUNS) end)
  tap.has(page, "apt-get install gnuplot-nox", "how to get it")
  tap.has(page, "1.500×", "the table")
  tap.is(page:find("<svg", 1, true), nil, "no plot")
end)

tap.case("figures that are missing are dashes, not an error", function()
  local holes = {
    stages = { stages = { { name = "x" } } },
    evolution = { evolution = { records = { { generation = 1 } }, population = 2 } },
    validation = { validation = { rows = { { case = "a", status = "launch_error" } },
      training = 1.2, ratio = {}, cpu = { one_s = 1 } } },
    pareto = { pareto = { points = { { error = 0, time = 1 } },
      front = { { error = 0, time = 1 } } } },
    pictures = { pictures = { { title = "–" } } },
    settings = { evolution = { records = { { generation = 1 } }, population = 2,
      popular = { { name = "a", values = { { value = "x" } } } } } },
    floor = { floor = {}, winner = { genome = "a", registers = 20.5 } },
    tuning = { tuning = { { title = "t", result = { parameters = { "b" }, rows = {
      { values = { b = 1 }, genome = "b=1", status = "ok", right = true } } } } } },
  }
  for part in pairs(holes) do
    local ok, page = pcall(html.page, holes[part])
    tap.ok(ok, part .. (ok and "" or ": " .. page))
    tap.has(page, "–", part .. " has a dash")
  end
end)

tap.case("a chart is the same to the byte for the same data", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local function draw() return plot.bars({ { label = "a", value = 1 } }, { id = "z" }) end
  tap.is(draw(), draw(), "twice the same")
end)

-- Where the marks of one kind (gnuplot's point types, from 0) are, in the order they are drawn.
local function marks(svg, kind)
  local list = {}
  for x, y in svg:gmatch("<use [^>]*gpPt" .. kind .. "'[^>]*translate%(([%d.]+),([%d.]+)%)") do
    list[#list + 1] = { x = tonumber(x), y = tonumber(y) }
  end
  return list
end

tap.case("error against time: zero has its place, what nothing beats is joined", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local points = { { error = 0, time = 1 }, { error = 1e-3, time = 0.5 }, { error = 100, time = 2 },
                   { error = 10, time = 0.25 } }
  local front = { points[1], points[2], points[4] }
  local svg = assert(plot.front(points, front, { id = "z", x = "error", y = "time", at = 1,
    title = "unmodified" }))
  for _, label in ipairs { ">0<", ">0.001<", ">100<", ">0.5<", "unmodified", "nothing beats" } do
    tap.has(svg, label, "a label: " .. label)
  end
  local seen = marks(svg, 6)
  tap.is(#seen, 4 + 3 + 2, "a mark for each, the front's once more, and two in the legend")
  tap.ok(seen[1].x < seen[2].x and seen[2].x < seen[4].x and seen[4].x < seen[3].x,
    "in the order of the errors")
  tap.ok(seen[3].y < seen[1].y and seen[1].y < seen[2].y, "slow above fast")
  tap.ok(plot.front({ { error = 0, time = 1 } }, { { error = 0, time = 1 } }, { id = "z" }),
    "one point without an error is drawn too")
end)

tap.case("above a cloud there is room for all its names", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  for n = 1, 9 do
    local groups = {}
    for i = 1, n do
      groups[i] = { name = ("an illegal address: %d"):format(i), colour = "#112233",
        points = { { i, 9.99, title = "T" } } }
    end
    local svg = assert(plot.cloud(groups, { id = "c", xrange = { 0, 10 }, yrange = { 0, 10 } }))
    local top, lowest = tonumber(svg:match '<circle cx="[%d.]+" cy="([%d.]+)"'), 0
    for y in svg:gmatch '<g transform="translate%([%d.]+,([%d.]+)%)"[^>]*>%s*<text>an illegal' do
      lowest = math.max(lowest, tonumber(y))
    end
    tap.ok(lowest > 0 and lowest <= top + 2, ("%d names end at %g, the cloud begins at %g"):format(
      n, lowest, top))
  end
end)

tap.case("names of errors do not lie on each other, however far they reach", function()
  for _, most in ipairs { 1e-6, 1e-3, 1, 1e19, 1e300 } do
    local axis, place = plot.error_axis { { error = 0 }, { error = 2e-7 }, { error = most },
      { error = math.huge } }
    local least, last = math.huge, axis[#axis][2]
    for i = 2, #axis do least = math.min(least, axis[i][2] - axis[i - 1][2]) end
    tap.ok(least >= last / 9, ("up to %g: %g of %g"):format(most, least, last))
    tap.is(place(math.huge), last, "the last is for those without end")
    tap.ok(place(most) < last and place(most) > place(2e-7) and place(2e-7) > place(0), "in order")
  end
end)

tap.case("a heat map marks the best and the default; colours may go by the logarithm", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local cells = { { x = "1", y = "a", value = 1, best = true }, { x = "2", y = "a", value = 1000,
    default = true }, { x = "1", y = "b" } }
  local svg = assert(plot.heat(cells, { id = "z", title = "time", log = true }))
  tap.is(#marks(svg, 2), 1, "a star")
  tap.is(#marks(svg, 5), 1, "a circle")
  tap.has(svg, ">500<", "a scale of many steps")
  svg = assert(plot.heat({ cells[3], { x = "2", y = "a", value = 1 } }, { id = "z" }))
  tap.is(#marks(svg, 2), 0, "none where none is told")
end)

-- Filled areas of the map itself; those of the scale beside it lie to the right.
local function cells_drawn(svg)
  local n = 0
  for x in svg:gmatch "<polygon fill = 'rgb%([^']*' points = '([%d.]+)," do
    if tonumber(x) < 600 then n = n + 1 end
  end
  return n
end

tap.case("equal values are a plot too", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local cells = {}
  for i = 1, 45 do
    cells[i] = { x = "O" .. (i - 1) % 9, y = "sm" .. (i - 1) // 9, value = 12.5, best = i == 1 }
  end
  local svg = assert(plot.heat(cells, { id = "z", title = "time, µs", log = true }))
  tap.is(cells_drawn(svg), 45, "each cell has its colour")
  tap.has(svg, ">12.5<", "and the scale says which value that is")
  tap.is(cells_drawn(assert(plot.heat({ cells[1] }, { id = "z" }))), 1, "a single one")
  local none, why, code = plot.heat({ { x = "a", y = "b" } }, { id = "z" })
  tap.is(tostring(none) .. " " .. code, "nil nodata", "no values at all")
  tap.has(why, "no cell has a value", "in words")
  svg = assert(plot.lines({ { name = "x", points = { { 1, 2 } } } }, { id = "z", whole = true }))
  tap.is(#marks(svg, 6), 2, "a line of one point is a point, here and in the legend")
  local rows = {}
  for i = 1, 4 do
    rows[i] = { values = { a = i % 2, b = i // 2 }, genome = "g" .. i, status = "ok", right = true,
      ns = 1000, ticks = 2000 }
  end
  local page = html.page { title = "T", tuning = { { title = "t", result = { rows = rows,
    parameters = { "a", "b" }, best = rows[1], default = rows[1] } } } }
  tap.has(page, "All 4 that ran take the same time.", "the page says it in a sentence")
end)

tap.case("charts of a page are drawn together; one that cannot be costs no other", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local function chart(x) return plot.bars({ { label = "a", value = x } }, { id = "z" }) end
  local function page()
    return gnuplot.together(function()
      return table.concat { "first ", chart(1), " second ", assert(plot.lines({ { name = "x",
        points = { { 1, math.huge } } } }, { id = "z" })), " third ", chart(2) }
    end, function(why) return "SORRY: " .. why end)
  end
  local text = page()
  tap.is(text:find("first " .. chart(1) .. " second SORRY: gnuplot could not draw: ", 1, true), 1,
    "as one by one, and a word in the place of what failed")
  tap.is(text:sub(-#chart(2)), chart(2), "and what comes after it is drawn")
  tap.is(page(), text, "the same again, taken over from the page before")
end)

tap.case("a scatter tells series apart and names sizes", function()
  if not plot.available() then return tap.skip "gnuplot is not installed" end
  local svg = assert(plot.scatter({ { name = "made-up", points = { { 100, 2, 1, 3 }, { 400, 5 } } },
    { name = "real", points = { { 200, 4 } } } }, { id = "z", logx = true,
    xtics = { { "10x10", 100 }, { "20x20", 400 } } }))
  for _, word in ipairs { "made-up", "real", "10x10", "20x20" } do tap.has(svg, word, word) end
  tap.is(svg:find(">-", 1, true), nil, "no ratio is below zero, and neither is the axis")
end)

tap.done()
