--- merge, merge_threads: a block does the work of several, or a thread that of several of its
-- block; what they have in common once (gilua.transform.merging).
--
--   T:merge<LINE>(x,4)                 a block does what four neighbours along x did
--   T:merge_threads<LINE>(x,4,next)    a thread does what four neighbours of its block did
--   T:merge_threads<LINE>(x,4,block)   or four that are the new block's width apart
--   T:merge_threads<LINE>(x,4,32)      or four of each 32, which are eight apart
--
-- Nothing is asked of arrays. Barriers stay, and what each thread does stays in its order, with its
-- own loads: only what different threads do between two barriers changes its order. Where two
-- pointers lead to one element that one thread writes there and another reads, the kernel as it is
-- has a race, and no answer that could be kept.

local merging = require "gilua.transform.merging"
local teams = require "gilua.facts.teams"
local threads = require "gilua.facts.threads"

local COUNTS = { "2", "4", "8" }
local MOST = 16
local SPACINGS = { "next", "block" }

-- Calls add(fn, side) for each side along which a kernel of a file may be merged.
local function each_side(kernel, add)
  for _, fn in ipairs(kernel.functions) do
    local is_open = fn.is_entry and fn.body and kernel:is_open(fn.line, fn.last_line)
    for _, side in ipairs(is_open and threads.SIDES or {}) do add(fn, side) end
  end
end

local function entry_at(kernel, line)
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line and fn.is_entry and fn.body then return fn end
  end
end

-- A gene's side and how many; nil of what cannot be meant.
local function sides_of(args)
  local side, count = args[1], math.tointeger(tonumber(args[2]))
  local is_side = side == "x" or side == "y" or side == "z"
  if is_side and count and 2 <= count and count <= MOST then return side, count end
end

local merge = { name = "merge", first = true, times = true, counts = 2,
  doc = "A block does the work of several, and what they have in common once." }

function merge.find(kernel)
  local list = {}
  each_side(kernel, function(fn, side)
    for _, count in ipairs(merging.fits(fn, "blocks", side) and COUNTS or {}) do
      list[#list + 1] = { line = fn.line, args = { side, count } }
    end
  end)
  return list
end

function merge.make(kernel, line, args)
  local side, count = sides_of(args)
  if not side or args[3] then
    return nil, "it is written merge<LINE>(x,BLOCKS), or y or z, with 2 to 16 blocks"
  end
  local fn = entry_at(kernel, line)
  if not fn then return nil, "no kernel begins there" end
  local change, why = merging.merged(fn, "blocks", side, count)
  if not change then return nil, why end
  change.says = ("a block does what %d neighbours along %s did, and what they have in common once")
    :format(count, side)
  return change
end

local merge_threads = { name = "merge_threads", first = true, before = "merge", counts = 2,
  doc = "A thread does the work of several of its block, and what they have in common once." }

-- The threads that a gene's last argument means: a team, false of those that a new block's width
-- parts; nil of none.
local function team_of(fn, side, count, spacing)
  if spacing == "next" then return teams.neighbours(count) end
  if spacing == "block" then return false end
  return spacing and teams.find(fn, side, spacing) or nil
end

function merge_threads.find(kernel)
  local list = {}
  each_side(kernel, function(fn, side)
    local fits = {}
    for _, spacing in ipairs(SPACINGS) do
      fits[spacing] = merging.fits(fn, "threads", side, team_of(fn, side, 2, spacing) or nil)
    end
    for _, count in ipairs(COUNTS) do
      for _, spacing in ipairs(SPACINGS) do
        if fits[spacing] then
          list[#list + 1] = { line = fn.line, args = { side, count, spacing } }
        end
      end
    end
    for _, team in ipairs(teams.list(fn, side)) do
      for _, count in ipairs(merging.fits(fn, "threads", side, team) and COUNTS or {}) do
        if team.size % count == 0 then
          list[#list + 1] = { line = fn.line, args = { side, count, team.text } }
        end
      end
    end
  end)
  return list
end

-- Where the threads that become one are, in words.
local function where(spacing)
  if spacing == "next" then return "neighbours" end
  if spacing == "block" then return "a block's width apart" end
  return ("of each %s"):format(spacing)
end

function merge_threads.make(kernel, line, args)
  local side, count = sides_of(args)
  local fn = entry_at(kernel, line)
  local team = side and fn and team_of(fn, side, count, args[3])
  if not side or args[4] or fn and team == nil then
    return nil, "it is written merge_threads<LINE>(x,THREADS,next), or y or z, and block, or of "
      .. "how many each they are, with 2 to 16 threads"
  end
  if not fn then return nil, "no kernel begins there" end
  local change, why = merging.merged(fn, "threads", side, count, team or nil)
  if not change then return nil, why end
  change.says = ("a thread does what %d along %s did, %s, and what they have in common once")
    :format(count, side, where(args[3]))
  return change
end

return { merge, merge_threads }
