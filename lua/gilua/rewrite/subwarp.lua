--- subwarp: subwarp-per-row mapping (vector width of CSR-vector)
--
-- where     rows
-- needs     row_places
-- becomes   a row that lanes of a warp share is for fewer of them, for more, or for one thread
-- promises  row_places
--
--   T:subwarp<LINE>(8)   a row is 8 lanes'; LINE is the first that says what a lane is
--
-- It is the way back of `warp_row`, for kernels that people wrote so. Short rows leave most lanes
-- of a warp without work, and each row costs the sums by shuffles. Lanes of different rows wait for
-- their own alone, by masks, for some rows may be none. Sums are in another order. Functions that
-- others call too stay as they are, beside a copy.

local copies = require "gilua.facts.copies"
local edit = require "gilua.rewrite.edit"
local row_teams = require "gilua.facts.row_teams"
local row_places = require "gilua.facts.row_places"

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
    add("block.x%%%d", row_teams.MOST)
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

-- ---- the record -------------------------------------------------------------------------------

local function edit_range(e, range)
  if range.s then
    e:drop(range.s)
  elseif range.behind then
    e:after(range.last, range.text)
  else
    e:replace(range.first, range.last, range.text)
  end
end

local function becomes(at, e)
  local places, n = at.rows, at[1]
  local ranges = replaced(places, n)
  if not ranges then return nil, "a change would be lost in another" end
  local names, why = copied(places, ranges, n)
  if not names then return nil, why end
  for _, range in ipairs(renamed(places, names)) do ranges[#ranges + 1] = range end
  for _, fn in ipairs(places.functions) do
    for _, range in ipairs(not names[fn] and ranges or {}) do
      if contains({ first = fn.first, last = fn.close }, range) then edit_range(e, range) end
    end
    if names[fn] then e:after(fn.close, copy_of(fn, ranges, names[fn])) end
  end
  return ("a row that is %d lanes' becomes %s"):format(places.known.size,
    n == 1 and "one thread's" or n .. " lanes'"),
    { launch = launch(places, n), alone = next(names) ~= nil or nil }
end

-- Is every line open to change of the functions that have anything to change?
local function is_open(at)
  for _, fn in ipairs(at.rows and at.rows.functions or {}) do
    local all = { first = fn.first, last = fn.close }
    for _, list in ipairs { at.rows.changes, at.rows.drops } do
      for _, one in ipairs(list) do
        local is_here = contains(all, one.s or one)
        if is_here and not at.kernel:is_open(fn.line, fn.last_line) then
          return false, ("the function %s may not be changed"):format(fn.name)
        end
      end
    end
  end
  return true
end

local function fits(at)
  local size, n = at.rows.known.size, at[1]
  if size == n then return nil, ("a row is %d lanes' already"):format(n) end
  if n > at.rows.most then return nil, ("it has shuffles for %d lanes"):format(size) end
  return true
end

return { name = "subwarp", where = "rows", first = true, pays = is_open,
  doc = "A row that lanes of a warp share becomes that of fewer of them, or more, or one thread.",
  args = { { "lanes", { 32, 16, 8, 4, 2, 1 } } },
  needs = {
    { "row_places", function(at) return at.rows, at.why end },
    { "row_places", fits },
    { "row_places", function(at) return row_places.is_certain(at.rows) end, promised = true },
  },
  becomes = becomes,
}
