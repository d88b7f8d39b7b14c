--- subwarp: a row that lanes of a warp share becomes that of fewer of them, or of more, or of one
-- thread: the way back of `warp_row`, and for kernels that people wrote so. Short rows leave most
-- lanes of a warp without work, and each row costs the sums by shuffles.
--
--   T:subwarp<LINE>(8)   a row is 8 lanes'; LINE is the first that says what a lane is
--
-- Such a kernel is right for any number of lanes, a power of two, where each place that counts on
-- how many they are is understood (gilua.transform.rowplaces). Lanes of different rows wait for
-- their own alone, by masks, for some rows may be none. Sums are in another order. Functions that
-- others call too stay as they are, beside a copy.

local copies = require "gilua.transform.copies"
local edit = require "gilua.rewrite.edit"
local rowplaces = require "gilua.transform.rowplaces"
local rowteams = require "gilua.transform.rowteams"

local LANES = { 32, 16, 8, 4, 2, 1 }

-- What becomes of the launch.
local function launch(places, n)
  local known, words = places.known, {}
  local size, side = known.size, "grid." .. places.side
  local function add(text, ...) words[#words + 1] = text:format(...) end
  local fewer, more = size // n, n // size
  if known.is_square then
    add("block.x==%d", size)
    if places.length then add("block.y==%d", places.length) end
    if more > 1 then add("block.y%%%d block.y/%d", more, more) end
    add("block.x=%d", n)
    if fewer > 1 then add("block.y*%d", fewer) end
    add "block.z<=1"
  else
    add("block.x%%%d", rowteams.MOST)
    if places.length then add("block.x==%d", places.length) end
  end
  if fewer > 1 then
    if not places:has_bound() then add("%s%%%d", side, fewer) end
    add("%s/%d", side, fewer)
  else
    add("%s*%d", side, more)
  end
  return table.concat(words, " ")
end

-- ---- tokens -------------------------------------------------------------------------------------

local function contains(range, other)
  return range.first <= other.first and other.last <= range.last
end

-- Is a range within another, which stands for it? What stands behind a token is not within what
-- ends there. Second result: within what that one leaves as it was, which then is lost.
local function is_within(range, other)
  if range == other or other.behind or not contains(other, range) then return false, false end
  if range.behind and other.last == range.last then return false, false end
  return true, other.uses ~= nil and contains(other.uses, range)
end

-- What is replaced for n lanes: ranges of tokens, none within another; nil where one would be lost.
local function replaced(places, n)
  local list, outer = {}, {}
  for _, d in ipairs(places.drops) do
    if d.is_gone(n) then
      list[#list + 1] = { first = edit.beginning(d.s), last = d.s.last, s = d.s }
    end
  end
  for _, c in ipairs(places.changes) do
    local text = c.text(n)
    if text then
      list[#list + 1] = { first = c.first, last = c.last, text = text, behind = c.behind,
        uses = c.uses }
    end
  end
  for _, range in ipairs(list) do
    local is_inner, is_lost = false, false
    for _, other in ipairs(list) do
      local inner, lost = is_within(range, other)
      is_inner, is_lost = is_inner or inner, is_lost or lost
    end
    if is_lost then return nil end
    if not is_inner then outer[#outer + 1] = range end
  end
  return outer
end

-- ---- functions ----------------------------------------------------------------------------------

-- What the copies are called of functions that others call too and that become others, by function;
-- nil and why there is none.
local function copied(places, ranges, n)
  local kernel, changed, names = places.known.kernel, {}, {}
  for _, fn in ipairs(places.functions) do
    for _, range in ipairs(ranges) do
      changed[fn] = changed[fn] or contains({ first = fn.first, last = fn.close }, range)
    end
  end
  local set, why = copies.of(kernel, places.functions, changed)
  if not set then return nil, why end
  for fn in pairs(set) do names[fn] = kernel:fresh(("%s_%d"):format(fn.name, n)) end
  return names
end

-- The ranges of the names of functions where a copy is called.
local function renamed(places, names)
  local list = {}
  for _, fn in ipairs(places.functions) do
    for _, call in ipairs(copies.calls(fn)) do
      local name = names[call.fn]
      if name then list[#list + 1] = { first = call.token, last = call.token, text = name } end
    end
  end
  return list
end

-- A function with its changes, under another name.
local function copy_of(fn, ranges, name)
  local kernel, instead, ending = fn.kernel, { [fn.head - 1] = name }, {}
  local own = { first = fn.first, last = fn.close }
  for _, range in ipairs(ranges) do
    if contains(own, range) and not range.behind then
      local text = range.text or edit.is_listed(range.s) and "" or ";"
      ending[range.last] = { text, range.last }
      instead[range.first] = ending[range.last]
    end
  end
  for _, range in ipairs(ranges) do
    local at = range.last
    if contains(own, range) and range.behind then
      if not ending[at] then
        ending[at] = { kernel.words[at], at }
        instead[at] = ending[at]
      end
      ending[at][1] = ending[at][1] .. range.text
    end
  end
  local text = kernel:source(fn.first, fn.close, instead)
  return "\n\n" .. text:gsub("\n[ \t]+%f[\n]", "")
end

-- ---- the kind -----------------------------------------------------------------------------------

local function edit_range(e, range)
  if range.s then
    e:drop(range.s)
  elseif range.behind then
    e:after(range.last, range.text)
  else
    e:replace(range.first, range.last, range.text)
  end
end

local function made(places, n)
  local ranges, kernel = replaced(places, n), places.known.kernel
  if not ranges then return nil, "a change would be lost in another" end
  local names, why = copied(places, ranges, n)
  if not names then return nil, why end
  for _, range in ipairs(renamed(places, names)) do ranges[#ranges + 1] = range end
  local e = edit.new(kernel)
  for _, fn in ipairs(places.functions) do
    for _, range in ipairs(not names[fn] and ranges or {}) do
      if contains({ first = fn.first, last = fn.close }, range) then edit_range(e, range) end
    end
    if names[fn] then e:after(fn.close, copy_of(fn, ranges, names[fn])) end
  end
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  local says = ("a row that is %d lanes' becomes %s"):format(places.known.size,
    n == 1 and "one thread's" or n .. " lanes'")
  return { edits = edits, launch = launch(places, n), alone = next(names) ~= nil or nil,
    promise = places.promise, says = says }
end

local M = { name = "subwarp", first = true,
  doc = "A row that lanes of a warp share becomes that of fewer of them, or more, or one thread." }

-- Is every line open to change of the functions that have anything to change?
local function is_open(kernel, places)
  for _, fn in ipairs(places.functions) do
    local all = { first = fn.first, last = fn.close }
    for _, list in ipairs { places.changes, places.drops } do
      for _, one in ipairs(list) do
        local is_here = contains(all, one.s or one)
        if is_here and not kernel:is_open(fn.line, fn.last_line) then return false end
      end
    end
  end
  return true
end

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local places = fn.is_entry and fn.body and rowplaces.of(fn)
    for _, n in ipairs(places and is_open(kernel, places) and LANES or {}) do
      if n ~= places.known.size and n <= places.most then
        list[#list + 1] = { line = places.line, args = { tostring(n) } }
      end
    end
  end
  return list
end

function M.make(kernel, line, args)
  local n = math.tointeger(tonumber(args[1]))
  if not n or n < 1 or n > rowteams.MOST or n & (n - 1) ~= 0 or args[2] then
    return nil, "it is written subwarp<LINE>(LANES), with 1, 2, 4, 8, 16 or 32 lanes"
  end
  local why
  for _, fn in ipairs(kernel.functions) do
    if fn.is_entry and fn.line <= line and line <= fn.last_line then
      local places, reason = rowplaces.of(fn)
      if places and places.line == line then
        local size = places.known.size
        if size == n then return nil, ("a row is %d lanes' already"):format(n) end
        if n > places.most then return nil, ("it has shuffles for %d lanes"):format(size) end
        return made(places, n)
      end
      why = why or reason
    end
  end
  return nil, why or "nothing there says what a lane is"
end

return M
