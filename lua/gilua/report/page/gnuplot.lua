-- gnuplot: runs gnuplot, which draws the charts of gilua.report.page.plot. The result is one <svg>
-- element in the page's text colour, whose names are unique on the page; the same script gives the
-- same bytes. One process draws all charts requested within `together`, and a chart of the page's
-- earlier version is reused.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local shell = require "gilua.base.shell"
local tempfolder = require "gilua.base.tempfolder"

local M = {}

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

--- A text. In single quotes: between double ones gnuplot would run what stands in backquotes.
---@param text string
---@return string
function M.quoted(text)
  return "'" .. text:gsub("'", "''"):gsub("[\r\n]", " ") .. "'"
end

-- A word of a data block, where nothing can be escaped.
local function datum(text)
  return '"' .. text:gsub('"', "'"):gsub("[\r\n]", " ") .. '"'
end

--- A number; what does not exist is a gap.
---@param x number?
---@return string
function M.number(x)
  if not x or x ~= x or x == math.huge or x == -math.huge then return "NaN" end
  return ("%.9g"):format(x)
end

--- A block of data.
---@param name string
---@param rows table[] of texts and numbers
---@return string
function M.block(name, rows)
  local lines = { "$" .. name .. " << EOD" }
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      cells[i] = type(cell) == "string" and datum(cell) or M.number(cell)
    end
    lines[#lines + 1] = table.concat(cells, " ")
  end
  lines[#lines + 1] = "EOD"
  return table.concat(lines, "\n")
end

--- Labels of an axis.
---@param list table[] { { label, place }, … }
---@return string
function M.tics(list)
  local parts = {}
  for i, tic in ipairs(list) do
    parts[i] = ("%s %s"):format(M.quoted(tic[1]), M.number(tic[2]))
  end
  return table.concat(parts, ", ")
end

--------------------------------------------------------------------------------------------------
-- Running it

local function read_all(path)
  local file = io.open(path, "rb")
  local text = file and file:read("a") or ""
  if file then file:close() end
  return text
end

-- Names of this chart alone, colours that follow the page, no fixed size; `over` lies on top.
local function adapt(svg, id, over)
  local body = svg:match("<svg.*</svg>")
  body = body:gsub("id=(['\"])([^'\"]+)", function(q, name) return "id=" .. q .. id .. name end)
  body = body:gsub("href=(['\"])#", function(q) return "href=" .. q .. "#" .. id end)
  body = body:gsub("url%(#", "url(#" .. id)
  body = body:gsub("stroke=(['\"])black['\"]", 'stroke="currentColor"')
  body = body:gsub("rgb%(%s*0,%s*0,%s*0%)", "currentColor"):gsub("fill=\"black\"",
    'fill="currentColor"')
  body = body:gsub(' color="black"', "")
  body = body:gsub("<title>.-</title>%s*", ""):gsub("<desc>.-</desc>%s*", "")
  return over and body:sub(1, -#"</svg>" - 1) .. over .. "</svg>" or body
end

-- Scripts one after the other, each into a file of its own; none sees what another has set.
local function whole(scripts, first, folder)
  local parts = {}
  for i = first, #scripts do
    parts[#parts + 1] = ("set output '%s/%d.svg'\n%s\nunset output\nreset\nundefine $*\n"):format(
      folder, i, scripts[i])
  end
  return table.concat(parts)
end

-- What gnuplot says, without the path of the script.
local function complaint(said)
  local last = said:gsub("%s+$", ""):match("[^\n]*$")
  return "gnuplot could not draw: " .. last:gsub('^"[^"]*" line %d+: ', "")
end

-- Draws scripts from the first on; after the one at which gnuplot stops, another process goes on.
local function draw_in(folder, scripts, svgs, complaints)
  local path, errors, first = folder .. "/script", folder .. "/errors", 1
  while first <= #scripts do
    local written, why = core.file.write(path, whole(scripts, first, folder))
    if not written then fail("%s", why) end
    local pipe <close> = assert(io.popen(("gnuplot %s 2>%s"):format(shell.quoted(path),
      shell.quoted(errors)), "r"))
    pipe:close()
    local stopped
    for i = first, #scripts do
      local svg = read_all(("%s/%d.svg"):format(folder, i))
      stopped = not svg:find("</svg>", 1, true) and i or nil
      if stopped then break end
      svgs[i] = svg
    end
    if stopped then complaints[stopped] = complaint(read_all(errors)) end
    first = (stopped or #scripts) + 1
  end
end

-- A chart that cannot be drawn, for whatever reason, is a chart that is missing, and no more.
---@return string[] svgs by script
---@return string[] complaints by script, of those that could not be drawn
local function drawn(scripts)
  local svgs, complaints = {}, {}
  local fine, why = attempt(function()
    local folder <close> = tempfolder.new()
    draw_in(folder.path, scripts, svgs, complaints)
  end)
  for i = 1, fine and 0 or #scripts do
    complaints[i] = not svgs[i] and (complaints[i] or tostring(why)) or nil
  end
  return svgs, complaints
end

--------------------------------------------------------------------------------------------------
-- Many at once

local asked -- scripts of the page that is being made, nil while none is
local before = {} -- script -> svg, of the page before

local function token(i) return ("\0chart %d\0"):format(i) end

--- The chart of a script.
---@param script string
---@param id string a word of the page's own
---@param over? string SVG that lies on top of what gnuplot draws
---@return string? svg
---@return string? message
---@return string? code "nolib"
function M.run(script, id, over)
  local ok, why, code = M.available()
  if not ok then return nil, why, code end
  if asked then
    asked[#asked + 1] = { script = script, id = id, over = over }
    return token(#asked)
  end
  local svgs, complaints = drawn { script }
  if not svgs[1] then return nil, complaints[1], "nolib" end
  return adapt(svgs[1], id, over)
end

local function draw_new(charts)
  local scripts, places, known, complaints = {}, {}, {}, {}
  for _, chart in ipairs(charts) do
    known[chart.script] = before[chart.script]
    if not (known[chart.script] or places[chart.script]) then
      scripts[#scripts + 1] = chart.script
      places[chart.script] = #scripts
    end
  end
  local svgs, why = drawn(scripts)
  for i, script in ipairs(scripts) do known[script], complaints[script] = svgs[i], why[i] end
  return known, complaints
end

--- A page whose charts are drawn together.
---@param make fun(): string
---@param sorry fun(message: string): string what stands in the place of one that cannot be drawn
---@return string
function M.together(make, sorry)
  asked = {}
  local fine, page = pcall(make)
  local charts = asked
  asked = nil
  if not fine then error(page, 0) end
  local known, complaints = draw_new(charts)
  before = known
  return (page:gsub("\0chart (%d+)\0", function(i)
    local chart = charts[tonumber(i)]
    local svg = known[chart.script]
    return svg and adapt(svg, chart.id, chart.over) or sorry(complaints[chart.script])
  end))
end

return M
