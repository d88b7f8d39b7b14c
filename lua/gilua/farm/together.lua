--- together: measures mutants of a recorded problem on several recordings; a mutant is as good as
--- on its worst one. Recordings with other options, sizes or data show what one cannot: an edit
--- that is wrong with one option is wrong.
--
-- The measurement of several recordings is that of the first on which the mutant does not run, else
-- of the one with the largest ratio of its time to the unmodified kernel's. Its ticks and ns are
-- that ratio times the unmodified kernel's total, so fitness (own over unmodified) is the worst
-- ratio. Errors are over all answers. `recordings` has the result of each.

local fitness = require "gilua.search.fitness"
local roofline = require "gilua.base.roofline"
local runner = require "gilua.farm.runner"

local M = {}

-- What went wrong on one need not be known of the others where only right ones count.
local function goes_on(farm, m, wrong)
  return m.status == "ok" and (wrong == "whole" or fitness.tolerable(m, farm.problem.tolerance))
end

-- One recording: measurements by places of `genomes`, the unmodified kernel's, and of the case.
local function on_one(farm, genomes, places, path, asked)
  local list, slow_above = { "" }, { false }
  for i, place in ipairs(places) do
    list[i + 1] = genomes[place]
    slow_above[i + 1] = asked.slow_above and asked.slow_above[place] or false
  end
  local measured = farm:evaluate(list, { recording = path },
    { wrong = asked.wrong, slow_above = slow_above })
  local of_place = {}
  for i, place in ipairs(places) do of_place[place] = measured[i + 1] end
  return { path = path, base = measured[1], of_place = of_place, info = farm:case_info() }
end

-- How a mutant went on each recording that it came to.
local function rows_of(tries, place)
  local rows = {}
  for _, try in ipairs(tries) do
    local m = try.of_place[place]
    if m then
      rows[#rows + 1] = { case = try.info.name, status = m.status, right = fitness.right(m),
        ratio = m.status == "ok" and m.ticks / try.base.ticks or math.huge, measured = m,
        base = try.base }
    end
  end
  return rows
end

-- The row that counts: the first that does not run, else the slowest beside the unmodified kernel.
local function worst_of(rows)
  local worst = rows[1]
  for _, row in ipairs(rows) do
    if row.status ~= "ok" then return row end
    if row.ratio > worst.ratio then worst = row end
  end
  return worst
end

-- What all runs take, and how well that is known; nil where one was not measured.
local function energy_of(rows)
  local sum, squares, is_measured = 0, 0, false
  for _, row in ipairs(rows) do
    local one = row.measured
    if not one.energy_j then return nil end
    sum, squares = sum + one.energy_j, squares + (one.energy_error_j or 0) ^ 2
    is_measured = is_measured or one.energy_error_j ~= nil
  end
  return sum, is_measured and math.sqrt(squares) or nil
end

-- The work that the virtual GPU counted on all of them, which a GPU does not.
local function add_work(m, rows)
  for _, field in ipairs(m.least_memory and roofline.COUNTED or {}) do
    m[field] = 0
    for _, row in ipairs(rows) do m[field] = m[field] + row.measured[field] end
  end
end

-- Of all answers, and of all runs, into a measurement.
local function add_all(m, rows)
  local verdict, warp_instructions, seconds = rows[1].measured, 0, {}
  for i, row in ipairs(rows) do
    if i > 1 then verdict = runner.together(verdict, row.measured) end
    warp_instructions = warp_instructions + (row.measured.warp_instructions or 0)
    for stage, value in pairs(row.measured.seconds or {}) do
      seconds[stage] = (seconds[stage] or 0) + value
    end
  end
  for _, field in ipairs { "n", "max_error", "mean_error", "off", "wrong", "unset", "nan",
                           "penalty", "counted" } do m[field] = verdict[field] end
  m.warp_instructions, m.seconds = warp_instructions, seconds
  if m.energy_j then m.energy_j, m.energy_error_j = energy_of(rows) end
  add_work(m, rows)
end

local function total(tries, field)
  local sum = 0
  for _, try in ipairs(tries) do sum = sum + try.base[field] end
  return sum
end

-- One measurement of several.
local function combined(tries, place)
  local rows, m = rows_of(tries, place), {}
  local worst = worst_of(rows)
  for key, value in pairs(worst.measured) do m[key] = value end
  if worst.status == "ok" then
    add_all(m, rows)
    m.ticks = worst.ratio * total(tries, "ticks")
    m.ns = worst.measured.ns / worst.base.ns * total(tries, "ns")
  end
  m.recordings = {}
  for i, row in ipairs(rows) do
    m.recordings[i] = { case = row.case, status = row.status, right = row.right, ratio = row.ratio }
  end
  return m
end

local function info_of(tries)
  local names, info = {}, {}
  for key, value in pairs(tries[1].info) do info[key] = value end
  info.answers = 0
  for i, try in ipairs(tries) do
    names[i], info.answers = try.info.name, info.answers + (try.info.answers or 0)
  end
  info.name = table.concat(names, ", ")
  return info
end

-- All genomes on one recording after the other, while they go on.
local function on_all(farm, genomes, paths, asked)
  local tries, places = {}, {}
  for i = 1, #genomes do places[i] = i end
  for k, path in ipairs(paths) do
    tries[k] = on_one(farm, genomes, places, path, asked)
    local left = {}
    for _, place in ipairs(places) do
      local m = tries[k].of_place[place]
      if goes_on(farm, m, asked.wrong or farm.options.wrong) then left[#left + 1] = place end
    end
    places = left
  end
  return tries
end

-- As many genomes as `more` has for the results that are there, and their slow_above.
local function asked_for(more, n)
  local genomes, slow_above = {}, {}
  for _ = 1, n do
    local genome, slow = more()
    if genome then genomes[#genomes + 1], slow_above[#genomes + 1] = genome, slow or false end
  end
  return genomes, slow_above
end

--- Measures genomes on recordings: Farm:evaluate.
---@param farm gilua.farm
---@param genomes (string|table)[]
---@param paths string[]
---@param asked table options of Farm:evaluate
---@return table[] measurements; recordings: of each that it came to { case, status, right, ratio },
---  ratio: its ticks over the unmodified kernel's
---@return table info of the case
function M.evaluate(farm, genomes, paths, asked)
  local results, wave, slow_above = {}, genomes, asked.slow_above
  local tries
  repeat
    local first = #results
    tries = on_all(farm, wave, paths, { wrong = asked.wrong, slow_above = slow_above })
    for i = 1, #wave do
      local m = combined(tries, i)
      results[first + i] = m
      if asked.on_result then asked.on_result(first + i, m, first + i, first + #wave) end
    end
    wave, slow_above = asked_for(asked.more or function() end, #wave)
  until #wave == 0
  return results, info_of(tries)
end

--- Which of two is faster, on the recording where the first gains least: Farm:compare.
---@param farm gilua.farm
---@return table
function M.compare(farm, a, b, paths, options)
  local worst
  for _, path in ipairs(paths) do
    local c = farm:compare(a, b, { recording = path }, options)
    if c.status ~= "ok" then return c end
    if not worst or c.ratio < worst.ratio then worst = c end
  end
  return worst
end

return M
