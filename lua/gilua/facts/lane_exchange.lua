--- lane_exchange: what lanes of a team give each other, as far as it does not matter how many they
-- are: sums by shuffles from half a team's distance down to 1, a value of the first or last lane
-- for all, votes. What it finds it tells the `places` of gilua.facts.row_places.
--
--   for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
--   sum += __shfl_xor_sync(~0, sum, 16);   … 8, 4, 2, 1
--   best = __shfl_sync(0xffffffffu, best, 0);
--
-- and the same by a tile of cooperative groups, tile.shfl_down(sum, d), which knows its lanes.

local lane_parts = require "gilua.facts.lane_parts"
local row_teams = require "gilua.facts.row_teams"
local settings = require "gilua.base.settings"

local M = {}

local ALL = { [0xffffffff] = true, [-1] = true } -- lanes of a mask
local BY_DISTANCE = settings.set "__shfl_down_sync __shfl_up_sync __shfl_xor_sync"
local OF_TILES = { shfl_down = true, shfl_up = true, shfl_xor = true }
local VOTES = settings.set("__any_sync __all_sync __reduce_add_sync __reduce_min_sync "
  .. "__reduce_max_sync __reduce_and_sync __reduce_or_sync __reduce_xor_sync")
local SUMS = settings.set "__reduce_add_sync __reduce_xor_sync"
local COLLECTIVES = settings.set "reduce inclusive_scan exclusive_scan" -- of cooperative groups
local USES = { plus = "sum", bit_xor = "sum", less = "pick", greater = "pick", bit_and = "pick",
  bit_or = "pick" }

-- ---- distances ----------------------------------------------------------------------------------

-- The variable that a loop's head starts, and the tree of its first value.
local function started(s)
  local init = s.kind == "for" and s.init
  local d = init and init.declared and #init.declared == 1 and init.declared[1]
  if d and d.init then return d.name, d.init end
  local tree = init and init.tree
  if tree and tree.kind == "assign" and tree.op == "=" and tree.a.kind == "name" then
    return tree.a.text, tree.b
  end
end

-- Does a condition hold for a number above 0?
local function is_above_none(known, fn, tree, name)
  if tree.kind == "name" then return tree.text == name end
  if tree.kind ~= "binary" or tree.a.kind ~= "name" or tree.a.text ~= name then return false end
  local n = known:value(fn, tree.b)
  return n == 0 and (tree.op == ">" or tree.op == "!=") or n == 1 and tree.op == ">="
end

-- The limit of `name < limit`, and the operator.
local function limit_of(tree, name)
  local is_it = tree.kind == "binary" and (tree.op == "<" or tree.op == "<=")
    and tree.a.kind == "name" and tree.a.text == name
  if is_it then return tree.b, tree.op end
end

-- Where a loop goes through all distances, 16 to 1 or 1 to 16: the variable, the tree that says how
-- far, and whether that is half of a team or all of it.
local function distances(known, fn, s)
  local name, start = started(s)
  local step, condition = s.step, s.condition
  if not name or not step or not condition or step.kind ~= "assign" or step.a.kind ~= "name"
    or step.a.text ~= name then
    return nil
  end
  local op, by = step.op, known:value(fn, step.b)
  local half = known.size // 2
  if op == "/=" and by == 2 or op == ">>=" and by == 1 then
    local is_all = known:value(fn, start) == half and is_above_none(known, fn, condition, name)
    return is_all and name or nil, start, true
  elseif op == "*=" and by == 2 or op == "<<=" and by == 1 then
    local limit, relation = limit_of(condition, name)
    local n = limit and known:value(fn, start) == 1 and known:value(fn, limit)
    local is_all = n and (relation == "<" and n == known.size or relation == "<=" and n == half)
    return is_all and name or nil, limit, relation == "<="
  end
end

---@class gilua.distance_loop
---@field name string its variable
---@field statement table

--- The loops through all distances.
---@return gilua.distance_loop[]
function M.distance_loops(places, fn)
  local list = {}
  for _, s in ipairs(fn.statements) do
    local name, limit, is_half = distances(places.known, fn, s)
    if name then
      list[#list + 1] = { name = name, statement = s }
      places.loops[s] = places.loops[s] or {}
      places:change(limit, function(n) return tostring(is_half and n // 2 or n) end)
      places:drop(s, function(n) return n == 1 end)
    end
  end
  return list
end

--- Is a tree the distance that one of these loops is at? Another loop may have a variable of that
--- name, too.
---@param loops gilua.distance_loop[]
function M.is_distance(loops, tree)
  for _, loop in ipairs(tree.kind == "name" and loops or {}) do
    local s = loop.statement
    if loop.name == tree.text and s.first <= tree.first and tree.last <= s.last then return true end
  end
  return false
end

-- ---- calls --------------------------------------------------------------------------------------

-- Has a mask be that of fewer lanes. Raises why, if it has not all lanes of a warp.
local function mask(places, fn, tree)
  local is_active = tree.kind == "call" and tree.callee.text == "__activemask"
  if not is_active and not ALL[places.known:value(fn, tree) or 0] then
    places:stop(tree.first, "names some lanes of a warp")
  end
  places:change(tree, function(n) return places:mask(n) end)
end

-- A distance that is a loop's, or the number of one of several statements. Fewer lanes do not need
-- the longest of them.
local function distance(places, fn, tree, s, loops, seen)
  if M.is_distance(loops, tree) then return end
  local n = places.known:value(fn, tree)
  if not n or n < 1 or n >= places.known.size or n & (n - 1) ~= 0 or s.kind ~= "expression" then
    places:stop(tree.first, "has lanes at a distance that is not understood")
  end
  places:keep(tree)
  places:drop(s, function(lanes) return n >= lanes end)
  seen[n] = (seen[n] or 0) + 1
  seen.first = seen.first or tree.first
end

-- Which lane gives its value to all: the first or the last.
local function source(places, fn, tree)
  local n, last = places.known:value(fn, tree), places.known.size - 1
  if n == last then
    places.asked.last = tree.first
    places:change(tree, function(lanes) return tostring(lanes - 1) end)
  elseif n ~= 0 then
    places:stop(tree.first, "takes a value from a lane that is not understood")
  end
end

-- What lanes give each other at a distance may be added up.
local function given(places, fn, call, s, value)
  local way = (call.callee.text or call.callee.name):match "shfl_(%l+)"
  places.goes[way] = true
  if s.tree then places.exchanges[s.tree.first] = true end
  places:sum(fn, value, call.first, lane_parts.use(fn, s, call))
  places.settles_ties = places.settles_ties or lane_parts.settles_ties(fn, s, call)
end

local function shuffle(places, fn, call, s, loops, seen)
  local args, known = call.args, places.known
  local width = args[4]
  if #args < 3 or (width and known:value(fn, width) or row_teams.MOST) ~= known.size then
    places:stop(call.first, "has a shuffle among other lanes than a team's")
  end
  mask(places, fn, args[1])
  if BY_DISTANCE[call.callee.text] then
    distance(places, fn, args[3], s, loops, seen)
    given(places, fn, call, s, args[2])
  else
    source(places, fn, args[3])
  end
  if width then
    places:change(width, function(n) return tostring(n) end)
  else
    places:behind(args[3], function(n) return n < row_teams.MOST and ", " .. n or "" end)
  end
  places:alone(call, args[2])
end

local function shuffle_of_tile(places, fn, call, s, loops, seen)
  local args = call.args
  if #args ~= 2 then places:stop(call.first, "has a shuffle that is not understood") end
  if call.callee.name == "shfl" then
    source(places, fn, args[2])
  else
    distance(places, fn, args[2], s, loops, seen)
    given(places, fn, call, s, args[1])
  end
  places:alone(call, args[1])
end

--- A call by which lanes wait for each other, or ask: understood, or none of those.
---@param s table the statement
---@param loops gilua.distance_loop[]
---@param seen table how often there is each distance that is a number
function M.call(places, fn, call, s, loops, seen)
  local name = call.callee.kind == "name" and call.callee.text
  local method = row_teams.method(fn, call)
  if method == "shfl" or OF_TILES[method] then
    shuffle_of_tile(places, fn, call, s, loops, seen)
  elseif BY_DISTANCE[name] or name == "__shfl_sync" then
    shuffle(places, fn, call, s, loops, seen)
  elseif VOTES[name] and #call.args == 2 then
    mask(places, fn, call.args[1])
    if SUMS[name] then places:sum(fn, call.args[2], call.first, "sum") end
  elseif name and COLLECTIVES[name:match "::([%w_]+)$"] and call.args[2] then
    local op = call.args[3]
    local use = op and op.kind == "call" and USES[op.callee.text:match "[%w_]+$"]
    places:sum(fn, call.args[2], call.first, use or op and "unknown" or "sum")
  elseif name == "__syncwarp" and #call.args == 1 then
    mask(places, fn, call.args[1])
  elseif name == "__syncwarp" then
    places:behind({ last = call.last - 1 }, function(n) return places:mask(n) end)
  else
    return
  end
  places:keep(call.callee)
end

--- Raises where a value is taken from a lane that has only a part of all lanes' sum: of the last
--- lane, where values go down to the first, or of the first, where they go up to the last.
function M.check(places)
  local token = places.goes.down and places.asked.last or places.goes.up and places.asked.first
  if token then places:stop(token, "asks a lane that has not what all lanes gave") end
end

--- Raises where of distances that are numbers one is not there as often as others; more lanes would
--- need more of them.
function M.complete(places, seen)
  if seen.first then places.most = places.known.size end
  local n = places.known.size // 2
  local times = seen[n]
  while n >= 1 and seen.first do
    if not times or seen[n] ~= times then
      places:stop(seen.first, "has no shuffle for each distance, as of %d lanes", n)
    end
    n = n // 2
  end
end

return M
