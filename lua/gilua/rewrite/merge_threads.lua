--- merge_threads: thread coarsening within a block (thread merge)
--
-- where     sides
-- needs     mergeable, teams, merge_plan
-- becomes   a thread does what several of its block did, and what they have in common once
-- promises  nothing
--
--   T:merge_threads<LINE>(x,4,next)    a thread does what four neighbours of its block did
--   T:merge_threads<LINE>(x,4,block)   or four that are the new block's width apart
--   T:merge_threads<LINE>(x,4,32)      or four of each 32, which are eight apart
--
-- As `merge`, with two differences. Each `if` of threads with a loop in it is evaluated for all,
-- and no barrier may stand where only some threads come.
--
-- Threads of a team (gilua.facts.teams) have more in common than others: their item, all that is
-- computed from it, and what they load for it. If the first of them takes an `if` with a loop in
-- it, the loop runs for all. A thread that did not take it repeats what the first one does, and
-- stores nothing.
--
--   if (lane < 25) {                             for (int part …) active_all[part] = lane < 25;
--     for (int k = 0; k < 16; k++)               if (active_all[0]) {
--       sum += a[k] * weight(lane, k);             for (int k = 0; k < 16; k++)
--     out[lane] = sum;                               for (int part …) {
--   }                                                  const auto lane = active ? … : lane_all[0];
--                                                      sum += a[k] * weight(lane, k);
--                                                    }

local bounded = require "gilua.facts.bounded"
local merge_plan = require "gilua.facts.merge_plan"
local mergeable = require "gilua.facts.mergeable"
local teams = require "gilua.facts.teams"
local write = require "gilua.rewrite.merged.write"

local COUNTS, MOST = { 2, 4, 8 }, 16
local USAGE = "it is written merge_threads<LINE>(x,THREADS,next), or y or z, and block, or of how "
  .. "many each they are, with 2 to 16 threads"

-- Where the threads that become one are, in words.
local WHERE = { next = "neighbours", block = "a block's width apart" }

-- All sides, numbers and distances that may fit a kernel; teams of sizes of its own.
local function proposed(at)
  local list = {}
  for _, count in ipairs(COUNTS) do
    for _, spacing in ipairs { "next", "block" } do
      list[#list + 1] = { at.side, tostring(count), spacing }
    end
  end
  for _, team in ipairs(at.fn.body and teams.list(at.fn, at.side) or {}) do
    for _, count in ipairs(COUNTS) do
      if team.size % count == 0 then
        list[#list + 1] = { at.side, tostring(count), team.text }
      end
    end
  end
  return list
end

local function read(args)
  local count = math.tointeger(tonumber(args[2]))
  if not count or count < 2 or count > MOST or not args[3] or args[4] then
    return nil, USAGE
  end
  return { args[1], count, args[3] }
end

-- The threads that the last argument means: a team, or false of those that a new block's width
-- parts.
local function team_of(at)
  local count, spacing = at[2], at[3]
  if spacing == "block" then return false end
  local team = spacing == "next" and teams.neighbours(count) or teams.find(at.fn, at.side, spacing)
  if not team then return nil, USAGE end
  if team.size % count ~= 0 then
    return nil, ("%s threads are no whole number of %d"):format(team.text, count)
  end
  return team
end

local function is_team(at)
  local team, why = team_of(at)
  if team == nil then return nil, why end
  at.team = team or nil
  why = team and teams.parted(at.fn, team)
  return not why, why
end

local function becomes(at, e)
  local shared, indent = write.put(at.plan, at[2], e)
  local whole = at.team and at.team.size or at[2]
  return ("a thread does what %d along %s did, %s, and what they have in common once"):format(at[2],
    at.side, WHERE[at[3]] or "of each " .. at[3]),
    { indent = indent, bounded = bounded.sides(at.fn),
      launch = ("block.%s%%%d block.%s/%d%s"):format(at.side, whole, at.side, at[2], shared) }
end

return { name = "merge_threads", where = "sides", first = true, before = "merge", counts = 2,
  doc = "A thread does the work of several of its block, and what they have in common once.",
  args = proposed, read = read, named = "side",
  needs = {
    { "mergeable", function(at) return mergeable.of(at.fn, "threadIdx", at.side) end },
    { "teams", is_team },
    { "merge_plan", function(at) return merge_plan.of(at.fn, "threads", at.side, at.team) end,
      gives = "plan" },
  },
  becomes = becomes,
}
