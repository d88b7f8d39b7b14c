-- frontier: the Pareto front at the end of a run with several objectives (gilua.search.gevo), and
-- the share of valid mutants on the way, for its page and for result.json.

local json = require "gilua.base.json"
local markup = require "gilua.report.page.markup"
local plot = require "gilua.report.page.plot"

local RATIOS = { time = true, energy = true } -- objectives that are ratios to the unmodified

local M = {}

local code, escape, grid, p, section = markup.code, markup.escape, markup.grid, markup.p,
  markup.section
local figure, percent, shown = markup.figure, markup.percent, markup.shown

--------------------------------------------------------------------------------------------------
-- result.json

--- The front of a result, for result.json.
---@param front? table of gilua.gevo
---@return table?
function M.value(front)
  if not front then return nil end
  local points = {}
  for i, point in ipairs(front.points) do
    local m = point.measurement
    points[i] = json.object { { "genome", point.genome }, { "values", json.array(point.values) },
      { "status", m.status }, { "ticks", m.ticks }, { "max_error", m.max_error },
      { "mean_error", m.mean_error }, { "off", m.off }, { "unset", m.unset } }
  end
  return json.object { { "objectives", json.array(front.names) }, { "case", front.case },
    { "case_unseen", front.unseen }, { "points", json.array(points) } }
end

--- How many of the tried were valid, of all generations together, for result.json.
---@param records table[] of a run
---@return table? by operator { tried, valid }; nil where nothing was tried
function M.accepted(records)
  local all, any = {}, false
  for _, record in ipairs(records) do
    for name, count in pairs(record.accepted or {}) do
      all[name] = all[name] or { tried = 0, valid = 0 }
      all[name].tried = all[name].tried + count.tried
      all[name].valid = all[name].valid + count.valid
      any = true
    end
  end
  return any and all or nil
end

--------------------------------------------------------------------------------------------------
-- The page

local function value_shown(name, x)
  return shown(x, name == "time" and "%.4f" or "%.3g")
end

-- Of the unmodified kernel's.
local RELATIVE = { time = true, energy = true }

--- Why a winner is it, where time is not what came first; nil else.
---@param front? table
---@param genome string
---@return string?
function M.choice(front, genome)
  local name = front and front.names[1]
  if not name or name == "time" then return nil end
  for _, point in ipairs(front.points) do
    if point.genome == genome then
      return (" It was chosen by its %s: %s%s."):format(escape(name),
        value_shown(name, point.values[1]), RELATIVE[name] and " of the unmodified kernel's" or "")
    end
  end
end

local function rows_of(front)
  local rows = {}
  for i, point in ipairs(front.points) do
    local row = { tostring(i) }
    for k, name in ipairs(front.names) do row[#row + 1] = value_shown(name, point.values[k]) end
    row[#row + 1] = point.genome == "" and "(the kernel as it is)" or code(point.genome)
    rows[i] = row
  end
  return rows
end

-- The second objective across, the first upwards. Steps join what nothing beats: what is between
-- two points of a front is reached by neither.
local function drawn(front, id)
  local names, points, all = front.names, {}, {}
  if #names < 2 or #front.points < 2 then return "" end
  for i, point in ipairs(front.points) do
    points[i] = { error = point.values[2], time = point.values[1] }
    all[i] = points[i]
  end
  for _, values in ipairs(front.others or {}) do
    all[#all + 1] = { error = values[2], time = values[1] }
  end
  table.sort(points, function(a, b) return a.error < b.error end)
  return figure(("%s against %s, both to be small; steps join what nothing beats in %s. The dots "
    .. "are the last population on its own case."):format(names[1], names[2],
    #names > 2 and "these and the other objectives" or "both"),
    plot.front(all, points, { id = id, x = names[2], height = 360,
      names = { "the last population", "what nothing beats" },
      y = RATIOS[names[1]] and names[1] .. ", over the unmodified" or names[1] }))
end

local function acceptance(e)
  local v = e.evolution
  local all = v and M.accepted(v.records)
  if not all then return "" end
  local rows = {}
  for _, name in ipairs { "mutation", "crossover" } do
    local count = all[name]
    if count then
      rows[#rows + 1] = { name, shown(count.tried, "grouped"), shown(count.valid, "grouped"),
        percent(markup.over(count.valid, count.tried)) }
    end
  end
  return p("What an operator makes is measured at once, and made again until it is valid.")
    .. grid({ "operator", "tried", "valid", "accepted" }, "lrrr", rows)
end

--- The section of the front, and of what was accepted.
---@param e table of the page: `front`, of a result; `evolution`
---@param word fun(): string
---@return string
function M.section(e, word)
  local front, accepted = e.front, acceptance(e)
  if not front or #front.points == 0 then
    return accepted ~= "" and section("Accepted", accepted) or ""
  end
  local heads = { "N" }
  for _, name in ipairs(front.names) do heads[#heads + 1] = name end
  heads[#heads + 1] = "genome"
  return section("Pareto front",
    p(("What no other kernel of the last population beats in %s%s%s. %s takes the N-th."):format(
      escape(table.concat(front.names, " and ")),
      front.case and ", on " .. escape(front.case) or "",
      front.unseen and ", which evolution never saw" or "", code "gilua apply RUN --pick N")),
    drawn(front, word()),
    grid(heads, "r" .. ("r"):rep(#front.names) .. "l", rows_of(front), "below"), accepted)
end

return M
