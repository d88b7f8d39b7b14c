-- nsga2: non-dominated sorting and crowding against the slow way, word for word as defined.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local fake = require "fake"
local nsga2 = require "gilua.search.nsga2"
local pareto = require "gilua.search.pareto"
local tap = require "tap"

local seed = tonumber(os.getenv "SEED") or os.time() % 100000
local rng = fake.rng(seed)

-- Points with many ties, and now and then a value that is infinite or no number.
local function random_points()
  local points, n, m, steps = {}, rng:int(0, 40), rng:int(1, 3), rng:int(2, 30)
  for i = 1, n do
    points[i] = {}
    for k = 1, m do
      local odd = rng:int(40)
      points[i][k] = odd == 1 and math.huge or odd == 2 and 0 / 0 or rng:int(steps) / 4
    end
  end
  return points
end

local function worst_for_nan(points)
  local list = {}
  for i, point in ipairs(points) do
    list[i] = {}
    for k, x in ipairs(point) do list[i][k] = x ~= x and math.huge or x end
  end
  return list
end

-- Takes away, again and again, those that nobody left beats.
local function slow_fronts(points)
  local fronts, left = {}, {}
  for i = 1, #points do left[i] = i end
  while #left > 0 do
    local front, rest = {}, {}
    for _, i in ipairs(left) do
      local beaten = false
      for _, j in ipairs(left) do
        beaten = beaten or pareto.dominates(points[j], points[i])
      end
      table.insert(beaten and rest or front, i)
    end
    fronts[#fronts + 1], left = front, rest
  end
  return fronts
end

-- The next below or above point i in an objective, of equals by their numbers; nil at an end.
local function neighbour(points, front, i, k, sign)
  local found
  local function is_beyond(a, b)
    local x, y = sign * points[a][k], sign * points[b][k]
    return x > y or x == y and sign * a > sign * b
  end
  for _, j in ipairs(front) do
    if j ~= i and is_beyond(j, i) and (not found or is_beyond(found, j)) then found = j end
  end
  return found
end

local function slow_crowding(points, front, i)
  local room = 0
  for k = 1, #points[i] do
    local least, most = math.huge, -math.huge
    for _, j in ipairs(front) do
      least, most = math.min(least, points[j][k]), math.max(most, points[j][k])
    end
    local below, above = neighbour(points, front, i, k, -1), neighbour(points, front, i, k, 1)
    if most > least and not (below and above) then
      room = math.huge
    elseif most > least and most < math.huge then
      room = room + (points[above][k] - points[below][k]) / (most - least)
    end
  end
  return room
end

local function shown(fronts)
  local list = {}
  for i, front in ipairs(fronts) do list[i] = table.concat(front, " ") end
  return table.concat(list, " | ")
end

tap.case("fronts and crowding are those of the slow way, seed " .. seed, function()
  local same, near, most = true, true, 0
  for _ = 1, 150 do
    local points = random_points()
    local plain, fronts = worst_for_nan(points), nsga2.fronts(points)
    same = same and shown(fronts) == shown(slow_fronts(plain))
    most = math.max(most, #fronts)
    for _, front in ipairs(fronts) do
      local fast = nsga2.crowding(points, front)
      for _, i in ipairs(front) do
        local slow = slow_crowding(plain, front, i)
        near = near and (fast[i] == slow or math.abs(fast[i] - slow) < 1e-9)
      end
    end
  end
  tap.ok(same, "fronts")
  tap.ok(near, "crowding")
  tap.ok(most > 5, "and there were many fronts: " .. most)
end)

local function individual(name, ...)
  return { name = name, acceptable = true, values = { ... } }
end

local function names(list)
  for i, x in ipairs(list) do list[i] = x.name end
  return table.concat(list, " ")
end

tap.case("ranks, the best, and tournaments", function()
  local population = { individual("late", 5, 5), individual("a", 1, 4), individual("b", 2, 2.9),
    individual("c", 2.2, 2.8), individual("d", 4, 1), individual("invalid", 0, 0) }
  population[6].acceptable = false
  nsga2.rank(population, function(x) return x.values end)
  tap.is(population[1].rank .. " " .. population[2].rank .. " " .. population[6].rank, "2 1 3",
    "fronts are numbered, and who may not be a parent comes last")
  tap.is(names(nsga2.best(population, 9)), "a d c b late invalid",
    "the ends of a front first, then those with room")
  tap.is(names(nsga2.best(population, 2)), "a d", "no more than were asked for")
  local wins = { late = 0, a = 0, b = 0, c = 0, d = 0, invalid = 0 }
  for _, x in ipairs(nsga2.tournament(population, 4000, rng)) do
    wins[x.name] = wins[x.name] + 1
  end
  -- of six the worst wins against itself alone, the next also against that one: 1/36, 3/36
  tap.near(wins.invalid, 4000 / 36, "the worst seldom wins a tournament", 60)
  tap.near(wins.late, 4000 * 3 / 36, "the next three times as often", 90)
  local large = nsga2.tournament(population, 300, rng, 60)
  tap.ok(not names(large):find "invalid", "in large ones never")
end)

tap.done()
