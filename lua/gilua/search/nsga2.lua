-- nsga2: selection by several objectives: non-dominated sorting with crowding (Deb, Pratap, Agarwal
-- and Meyarivan, "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", 2002, §III), which
-- GEVO uses (§3.3). All objectives are minimised.

local pareto = require "gilua.search.pareto"

local M = {}

-- Points whose values can be compared: what is not a number is as bad as can be.
local function comparable(points)
  local list = {}
  for i, point in ipairs(points) do
    list[i] = {}
    for k, x in ipairs(point) do list[i][k] = x == x and x or math.huge end
  end
  return list
end

-- Whom each point beats, and by how many it is beaten.
local function beaten_by(points)
  local beats, beaten = {}, {}
  for i in ipairs(points) do beats[i], beaten[i] = {}, 0 end
  for i, a in ipairs(points) do
    for j, b in ipairs(points) do
      if pareto.dominates(a, b) then
        table.insert(beats[i], j)
        beaten[j] = beaten[j] + 1
      end
    end
  end
  return beats, beaten
end

--- Sorts points into fronts: the first holds those that no point beats, the second those that only
--- points of the first beat, and so on.
---@param points number[][] values of the objectives; NaN counts as infinite
---@return integer[][] fronts numbers of points, ascending
function M.fronts(points)
  local beats, beaten = beaten_by(comparable(points))
  local fronts, front = {}, {}
  for i = 1, #points do
    if beaten[i] == 0 then front[#front + 1] = i end
  end
  while #front > 0 do
    fronts[#fronts + 1] = front
    local following = {}
    for _, i in ipairs(front) do
      for _, j in ipairs(beats[i]) do
        beaten[j] = beaten[j] - 1
        if beaten[j] == 0 then following[#following + 1] = j end
      end
    end
    table.sort(following)
    front = following
  end
  return fronts
end

-- Adds what one objective says of the distances.
local function add_distances(points, front, k, distance)
  local order = table.move(front, 1, #front, 1, {})
  table.sort(order, function(i, j)
    if points[i][k] ~= points[j][k] then return points[i][k] < points[j][k] end
    return i < j
  end)
  local first, last = order[1], order[#order]
  local span = points[last][k] - points[first][k]
  if span ~= span or span <= 0 then return end -- all are infinite, or equal
  distance[first], distance[last] = math.huge, math.huge
  if span == math.huge then return end
  for n = 2, #order - 1 do
    local gap = points[order[n + 1]][k] - points[order[n - 1]][k]
    distance[order[n]] = distance[order[n]] + gap / span
  end
end

--- How much room each point of a front has: the sides of the box between its neighbours, each as a
--- share of the front's whole extent; infinite at the ends. An objective in which all are equal, or
--- whose extent is infinite, adds nothing to those between its ends.
---@param points number[][]
---@param front integer[] numbers of points
---@return table<integer, number> distance by the number of a point
function M.crowding(points, front)
  local distance, values = {}, comparable(points)
  for _, i in ipairs(front) do distance[i] = 0 end
  for k = 1, #front > 0 and #values[front[1]] or 0 do add_distances(values, front, k, distance) end
  return distance
end

--- Ranks individuals, in place: `rank` is the number of the front, `crowding` the room. Those that
--- are not `acceptable` come after all others.
---@param population Individual[]
---@param objectives fun(individual: Individual): number[]
function M.rank(population, objectives)
  local valid, points = {}, {}
  for _, individual in ipairs(population) do
    if individual.acceptable then
      valid[#valid + 1], points[#points + 1] = individual, objectives(individual)
    end
  end
  local fronts = M.fronts(points)
  for rank, front in ipairs(fronts) do
    local room = M.crowding(points, front)
    for _, i in ipairs(front) do
      local individual = valid[i]
      individual.rank, individual.crowding = rank, room[i]
    end
  end
  for _, individual in ipairs(population) do
    if not individual.acceptable then
      individual.rank, individual.crowding = #fronts + 1, 0
    end
  end
end

--- Is a better than b: of a lower front or, in the same one, with more room?
---@param a { rank: integer, crowding: number }
---@param b { rank: integer, crowding: number }
---@return boolean
function M.precedes(a, b)
  if a.rank ~= b.rank then return a.rank < b.rank end
  return a.crowding > b.crowding
end

--- The best n of ranked individuals, best first; equals in the order given.
---@param population Individual[]
---@param n integer
---@return Individual[]
function M.best(population, n)
  local place, order = {}, table.move(population, 1, #population, 1, {})
  for i, individual in ipairs(population) do place[individual] = i end
  table.sort(order, function(a, b)
    if M.precedes(a, b) then return true end
    if M.precedes(b, a) then return false end
    return place[a] < place[b]
  end)
  return table.move(order, 1, math.min(n, #order), 1, {})
end

--- n individuals, each the best of `size` drawn at random from ranked ones; some more than once.
---@param population Individual[]
---@param n integer
---@param rng table
---@param size? integer 2
---@return Individual[]
function M.tournament(population, n, rng, size)
  local chosen = {}
  for i = 1, n do
    local best = rng:pick(population)
    for _ = 2, size or 2 do
      local other = rng:pick(population)
      if M.precedes(other, best) then best = other end
    end
    chosen[i] = best
  end
  return chosen
end

return M
