-- plot, html: pages without gnuplot, and of tables with holes.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local html = require "gilua.html"
local plot = require "gilua.plot"
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
    floor = { floor = {}, winner = { genome = "a", registers = 20.5 } },
    tuning = { tuning = { { title = "t", result = { parameters = { "b" }, rows = {
      { values = { b = 1 }, genome = "b=1", status = "ok", right = true } } } } } },
  }
  for _, part in ipairs { "stages", "evolution", "validation", "floor", "tuning" } do
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

tap.done()
