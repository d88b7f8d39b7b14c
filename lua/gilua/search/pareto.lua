-- pareto: the error and time of everything that a run has measured, and its non-dominated part
-- (Langdon, "Genetically Improved Software", chapter 8, 2015, Figure 8.4).

local core = require "gilua.core"

local M = {}

--- Does a beat b: no worse in anything, better in something?
---@param a number[]
---@param b number[]
---@return boolean
function M.dominates(a, b)
  local better = false
  for i = 1, #a do
    if a[i] > b[i] then return false end
    better = better or a[i] < b[i]
  end
  return better
end

local function comparable(point)
  for _, x in ipairs(point.at) do
    if x ~= x then return false end
  end
  return true
end

--- The points that no other beats, by their first value, then in the order given; of equal ones the
--- first. What is not a number cannot be compared, and is left out.
---@param points table[] each with `at`: numbers to be minimised
---@return table[] front
function M.front(points)
  local order = {}
  for i, p in ipairs(points) do
    if comparable(p) then order[#order + 1] = { p = p, i = i } end
  end
  table.sort(order, function(a, b)
    for k = 1, #a.p.at do
      if a.p.at[k] ~= b.p.at[k] then return a.p.at[k] < b.p.at[k] end
    end
    return a.i < b.i
  end)
  local front = {}
  for _, item in ipairs(order) do
    local beaten = false
    for _, other in ipairs(front) do
      local equal = not M.dominates(item.p.at, other.at)
      for k = 1, #other.at do equal = equal and other.at[k] == item.p.at[k] end
      beaten = beaten or equal or M.dominates(other.at, item.p.at)
    end
    if not beaten then front[#front + 1] = item.p end
  end
  return front
end

-- An observer of gilua.evolve that hands on { genome, generation, at = { error, ticks over the
-- unmodified kernel's } } of each genome that ran, the first time that it did.
local function watcher(error_of, hand_on)
  local known, waiting = {}, {}
  return {
    on_result = function(_, individual)
      if individual.measurement.status == "ok" then waiting[#waiting + 1] = individual end
    end,
    on_generation = function(_, record)
      for _, individual in ipairs(waiting) do
        local key, m = core.system.hash(individual.genome), individual.measurement
        if not known[key] then
          known[key] = true
          hand_on { genome = individual.genome, generation = record.generation,
                    at = { error_of(m), m.ticks / record.baseline.ticks } }
        end
      end
      waiting = {}
    end,
  }
end

local function mean_error(m) return m.mean_error end

--- An observer of gilua.evolve that keeps every genome that ran: { genome, generation, at = {
--- error, ticks over the unmodified kernel's } }.
---@param error_of? fun(m: table): number of a measurement (its mean error)
---@return table observer with `seen` (points, the first measurement of each genome) and front()
function M.observer(error_of)
  local seen = {}
  local o = watcher(error_of or mean_error, function(point) seen[#seen + 1] = point end)
  o.seen = seen
  function o.front() return M.front(seen) end
  return o
end

--------------------------------------------------------------------------------------------------
-- Long runs

-- Points nearer to each other than this, in steps to a factor of ten, are one on a plot.
local ERROR_STEPS, TIME_STEPS = 12, 60

local function step(x, steps)
  return x > 0 and math.floor(steps * math.log(x, 10) + 0.5) or "zero"
end

-- The front with one more point; a point that another beats, or is equal to, is not on it.
local function joined(front, point)
  local kept = {}
  for _, other in ipairs(front) do
    local a, b = other.at, point.at
    if M.dominates(a, b) or (a[1] == b[1] and a[2] == b[2]) then return front end
    if not M.dominates(b, a) then kept[#kept + 1] = other end
  end
  kept[#kept + 1] = point
  return kept
end

--- An observer of gilua.evolve for runs of any length: it has the whole front with its genomes, and
--- of the rest as much as a plot can show: of points that lie together the first, and how many they
--- are. One sketch may observe several runs.
---@param error_of? fun(m: table): number of a measurement (its mean error)
---@return table observer with result(): { points = { error, time, count }[], front = { genome,
---  generation, error, time }[], genomes = how many ran, left_out = how many of them have no finite
---  error } time is over the unmodified kernel's; the front goes by error
function M.sketch(error_of)
  local cells, points, front, genomes, left_out = {}, {}, {}, 0, 0
  local o = watcher(error_of or mean_error, function(point)
    local error, time = point.at[1], point.at[2]
    genomes = genomes + 1
    if not (error >= 0 and error < math.huge and time > 0 and time < math.huge) then
      left_out = left_out + 1
      return
    end
    local name = step(error, ERROR_STEPS) .. " " .. step(time, TIME_STEPS)
    if not cells[name] then
      cells[name] = { error = error, time = time, count = 0 }
      points[#points + 1] = cells[name]
    end
    cells[name].count = cells[name].count + 1
    front = joined(front, point)
  end)
  function o.result()
    local list = {}
    for i, p in ipairs(M.front(front)) do
      list[i] = { genome = p.genome, generation = p.generation, error = p.at[1], time = p.at[2] }
    end
    return { points = points, front = list, genomes = genomes, left_out = left_out }
  end
  return o
end

return M
