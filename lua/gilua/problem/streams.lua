--- streams: assigns the independent launches of a recording to streams.
--
-- Two launches depend on each other if one may write to an allocation that the other may read or
-- write (touches.lua). Any other call between launches (copy, fill, allocation) separates those
-- before it from those after it; so does a launch that may access anything.
--
-- A plan is a list schedule with the recorded times: in the recorded order, each launch goes to the
-- stream where it can start first, and waits for its dependences on other streams. A wait also
-- covers all that the awaited launch has waited for.

local touches = require "gilua.problem.touches"

local M = {
  PARAMETER = "streams", -- of a problem
  MOST = 4, -- src/replay/turns.h
}

---@class gilua.streams
---@field turns string as a replay takes them
---@field launches { kernel: string, ns: number, is_apart: boolean }[]
---@field stream integer[] of each launch, from 1
---@field after table<integer, integer>[] the launch that it waits for, by stream
---@field known table<integer, integer>[] the last launch that has ended when it begins, by stream
---@field is_several boolean more than one stream is of use

--------------------------------------------------------------------------------------------------
-- What depends on what

-- Maxima, by stream.
local function take(into, from)
  for stream, launch in pairs(from or {}) do
    into[stream] = math.max(into[stream] or 0, launch)
  end
end

-- What has touched what so far: the last launch of each stream.
local function new_past()
  return { all = {}, unknown = {}, readers = {}, writers = {} }
end

-- The last launches, by stream, that a launch depends on.
local function needs(past, touched)
  local found = {}
  if not touched.reads then
    take(found, past.all)
    return found
  end
  take(found, past.unknown)
  for _, address in ipairs(touched.reads) do take(found, past.writers[address]) end
  for _, address in ipairs(touched.writes) do
    take(found, past.writers[address])
    take(found, past.readers[address])
  end
  return found
end

local function put(list, addresses, stream, launch)
  for _, address in ipairs(addresses) do
    list[address] = list[address] or {}
    list[address][stream] = launch
  end
end

local function add(past, touched, stream, launch)
  past.all[stream] = launch
  if not touched.reads then
    past.unknown[stream] = launch
  else
    put(past.readers, touched.reads, stream, launch)
    put(past.writers, touched.writes, stream, launch)
  end
end

--------------------------------------------------------------------------------------------------
-- Plans

-- The launches of a recording; is_apart: something else stands right before it.
local function launches_of(r)
  local list, is_apart = {}, true
  for _, event in ipairs(r.events) do
    if event[1] == "launch" then
      list[#list + 1] = { kernel = event[3], ns = math.max(tonumber(event[8]) or 0, 1),
        is_apart = is_apart }
    end
    is_apart = event[1] ~= "launch"
  end
  return list
end

-- Where a launch can begin first; of several where it need not wait, else the first.
local function choose(work, need, ready, n)
  local best, best_at, best_waits
  for stream = 1, n do
    local at = math.max(ready, work.free[stream])
    local waits = (need[stream] or 0) < (work.past.all[stream] or 0) and 1 or 0
    if not best or at < best_at or at == best_at and waits < best_waits then
      best, best_at, best_waits = stream, at, waits
    end
  end
  return best, best_at
end

-- What a launch has to wait for, by stream: what is not known to have ended on its own stream, or
-- where another that it waits for has.
local function waits_of(work, stream, need)
  local own, after = work.known_on[stream], {}
  for other, launch in pairs(need) do
    local is_known = other == stream or (own[other] or 0) >= launch
    for third, one in pairs(need) do
      is_known = is_known or third ~= other and (work.known[one][other] or 0) >= launch
    end
    if not is_known then after[other] = launch end
  end
  return after
end

local function place(work, i, launch, touched, n)
  if launch.is_apart then take(work.floor, work.past.all) end
  local need, ready = needs(work.past, touched), 0
  take(need, work.floor)
  for _, one in pairs(need) do ready = math.max(ready, work.ends[one]) end
  local stream, at = choose(work, need, ready, n)
  local after, known = waits_of(work, stream, need), {}
  take(known, work.known_on[stream])
  for _, one in pairs(need) do take(known, work.known[one]) end
  known[stream] = i
  work.stream[i], work.after[i], work.known[i], work.known_on[stream] = stream, after, known, known
  work.ends[i] = at + launch.ns
  work.free[stream] = work.ends[i]
  add(work.past, touched, stream, i)
end

local function packed(work, count)
  local parts = {}
  for i = 1, count do
    local after = work.after[i]
    parts[i] = string.pack("I4I4I4I4I4", work.stream[i] - 1, after[1] or 0, after[2] or 0,
      after[3] or 0, after[4] or 0)
  end
  return table.concat(parts)
end

--- On which of so many streams the launches of a recording go.
---@param r gilua.recording
---@param n integer from 1 to M.MOST
---@return gilua.streams
function M.plan(r, n)
  local touched = touches.of(r)
  local work = { past = new_past(), floor = {}, known_on = {}, free = {}, ends = {}, stream = {},
    after = {}, known = {} }
  local launches = launches_of(r)
  for stream = 1, n do work.known_on[stream], work.free[stream] = {}, 0 end
  for i, launch in ipairs(launches) do place(work, i, launch, touched[i], n) end
  return { turns = packed(work, #launches), launches = launches, stream = work.stream,
    after = work.after, known = work.known, is_several = (work.free[2] or 0) > 0 }
end

--- Are there launches that do not depend on each other?
---@param r gilua.recording
---@return boolean
function M.any(r)
  return M.plan(r, 2).is_several
end

--- Do launches depend on each other that the plan lets go on at once, for other code? It may be
--- right where they run one after the other, and by chance where they do not.
---@param plan gilua.streams
---@param touched gilua.touched[] by that code
---@return string? why
function M.broken(plan, touched)
  local past = new_past()
  for i, launch in ipairs(plan.launches) do
    local known = plan.known[i]
    for stream, before in pairs(needs(past, touched[i])) do
      if before > (known[stream] or 0) then
        return ("launch %d (%s) depends on launch %d (%s), beside which it is on another stream: "
          .. "the kernels as they were do not"):format(i, launch.kernel,
          before, plan.launches[before].kernel)
      end
    end
    add(past, touched[i], plan.stream[i], i)
  end
  return nil
end

--------------------------------------------------------------------------------------------------
-- In words

local function add_new(list, value)
  for _, known in ipairs(list) do
    if known == value then return end
  end
  list[#list + 1] = value
end

-- Kernels in the order of their first launches: their streams, and the kernels that they wait for.
local function by_kernel(plan)
  local list = {}
  for i, launch in ipairs(plan.launches) do
    local row = list[launch.kernel]
    if not row then
      row = { kernel = launch.kernel, streams = {}, waits = {} }
      list[#list + 1], list[launch.kernel] = row, row
    end
    add_new(row.streams, plan.stream[i])
    for stream = 1, M.MOST do
      local before = plan.after[i][stream]
      if before then add_new(row.waits, plan.launches[before].kernel) end
    end
  end
  return list
end

--- Where each kernel goes: { "a on stream 1", "b on stream 2, which waits for a" }.
---@param plan gilua.streams
---@param names? table<string, string> what kernels are called, by the recording's names
---@return string[]
function M.words(plan, names)
  local list = {}
  local function name_of(kernel) return names and names[kernel] or kernel end
  for i, row in ipairs(by_kernel(plan)) do
    table.sort(row.streams)
    for k, kernel in ipairs(row.waits) do row.waits[k] = name_of(kernel) end
    list[i] = ("%s on stream%s %s%s"):format(name_of(row.kernel), #row.streams > 1 and "s" or "",
      table.concat(row.streams, " and "),
      #row.waits > 0 and ", waiting for " .. table.concat(row.waits, " and ") or "")
  end
  return list
end

return M
