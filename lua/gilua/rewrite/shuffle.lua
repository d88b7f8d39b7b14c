--- shuffle: warp-level broadcast of shared loads (register tiling by shuffles)
--
-- where     loops
-- needs     loop, warp_same, sides
-- becomes   elements that all lanes of a warp read are loaded for 32 iterations by a lane each
-- promises  apart
--
--   int k = 0;
--   if (__activemask() == 0xffffffffu) {
--     const int lane = threadIdx.x % 32;
--     for (; k + 31 < n; k += 32) {
--       const float x_lane = x[k + lane];
--       #pragma unroll
--       for (int step = 0; step < 32; step++) {
--         const float x_k = __shfl_sync(0xffffffffu, x_lane, step);
--         sum += x_k * a[(k + step) * m + i];
--       }
--     }
--   }
--   for (; k < n; k++) sum += x[k] * a[k * m + i];
--
-- A warp does the loop as it was where some of its lanes are elsewhere: behind a condition that
-- does not hold for them, or at the end of a block. So nothing around the loop changes. What is the
-- same for the block is the same for the lanes, or, with `row`, what is the same for those threads
-- that differ by threadIdx.x alone, in blocks whose rows are whole warps.

local all_come = require "gilua.facts.all_come"
local elements = require "gilua.rewrite.elements"
local elements_of = require "gilua.facts.elements"
local elsewhere = require "gilua.rewrite.elsewhere"
local iterations = require "gilua.rewrite.iterations"
local loop_of = require "gilua.facts.loop"
local settings = require "gilua.base.settings"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"
local warp_same = require "gilua.facts.warp_same"

local LANES = 32
local MASK = "0xffffffffu"
local MOST_UNROLLED = 160 -- tokens of a body that is there 32 times then
-- Sides by which the lanes of a warp do not differ in blocks whose rows are whole warps.
local ROW = { y = true, z = true }

-- ---- which elements ---------------------------------------------------------------------------

-- The names that are the same for all lanes that are at a loop, by what is around it; whether 32
-- has to divide blockDim.x.
local function names_at(loop, free)
  local names, asks = warp_same.names(loop.fn)
  local around, s = {}, loop.statement
  while s.parent do
    s = s.parent
    if s.kind == "for" then table.insert(around, 1, s) end
  end
  for _, one in ipairs(around) do
    if not all_come.parts(loop.fn, one, names, free) then names[one.loop.variable] = true end
  end
  return names, asks
end

local PARTS = settings.set("float double int uint long ulong longlong ulonglong short ushort char "
  .. "uchar")

-- Returns how many members, x to w, an element has: 0 for a number, nil for types that shuffles do
-- not take. A type from elsewhere counts as a number, unless the kernel uses a member.
local function members(kernel, access, type)
  local real = types.plain(types.resolved(kernel, type))
  local of, n = real:match "^(%l+)([1-4])$"
  if of and PARTS[of] then return math.tointeger(tonumber(n)) end
  local has_parts = kernel.words.types[real] or real:find "[<:]"
    or kernel.words[access.node.last + 1] == "."
  return not has_parts and 0 or nil
end

-- The elements of a loop that all its lanes read, with `row` those of a row; nil and why none.
local function shared(loop, free)
  local names = names_at(loop, free)
  if not elements_of.is_same(loop, names, free) then
    return nil, "lanes go through it from and to different places"
  end
  local list = elements_of.of(loop, names, function(sides) return sides.x ~= nil end,
    function(access, type, sides)
      local n = sides_of.is_within(sides, free) and members(loop.fn.kernel, access, type)
      return n and { members = n } or nil
    end, true)
  if #list == 0 then return nil, "no element in it is one that all lanes of a warp read" end
  return list
end

local function elements_at(at) return shared(at.loop, at[1] and ROW or {}) end

-- ---- what is made of them ---------------------------------------------------------------------

-- Returns the members of an element that are read, in order; nil if all of it is.
local function asked(kernel, el)
  local set = {}
  for _, node in ipairs(el.nodes) do
    if kernel.words[node.last + 1] ~= "." then return ("xyzw"):sub(1, el.members) end
    set[kernel.words[node.last + 2]] = true
  end
  return (("xyzw"):gsub(".", function(name) return set[name] and name or "" end))
end

-- The lines that give all lanes an element of one.
local function handed(kernel, el, step)
  local function of(member)
    return ("__shfl_sync(%s, %s%s, %s)"):format(MASK, el.lane, member, step)
  end
  if el.members == 0 then return { ("const %s %s = %s;"):format(el.type, el.name, of "") } end
  local lines = { ("%s %s;"):format(el.type, el.name) }
  for member in asked(kernel, el):gmatch "." do
    lines[#lines + 1] = ("%s.%s = %s;"):format(el.name, member, of("." .. member))
  end
  return lines
end

-- The lines by which a lane loads.
local function loads(loop, list, lane)
  local names = elsewhere.names(loop.fn, {
    [loop.variable] = ("(%s)"):format(iterations.ahead(loop, lane)) })
  local lines, before = {}, {}
  for _, el in ipairs(list) do
    local text = elements.elsewhere(loop, el, names, before)
    lines[#lines + 1] = ("const %s %s = %s;"):format(el.type, el.lane, text)
  end
  return table.move(lines, 1, #lines, #before + 1, before)
end

-- The body as lines, without its braces.
local function body_lines(loop, instead)
  local kernel, body = loop.fn.kernel, loop.body
  local list = body.kind == "block" and body.body or { body }
  local first, last = list[1].first, list[#list].last
  local lines = elements.split(loop, kernel:source(first, last, instead))
  local deeper = kernel:begins_line(first)
    and kernel:indent(first):sub(#kernel:indent(loop.statement.first) + 1) or ""
  for i = 2, #lines do
    if lines[i]:sub(1, #deeper) == deeper then lines[i] = lines[i]:sub(#deeper + 1) end
  end
  return lines
end

-- Is a body short enough to be there 32 times?
local function is_short(loop)
  local has_loop = false
  statement.walk(loop.body, function(s) has_loop = has_loop or s.loop ~= nil end)
  return not has_loop and loop.body.last - loop.body.first < MOST_UNROLLED
end

local function shuffled(loop, list, o)
  local kernel, put = loop.fn.kernel, elements.put
  local instead = {}
  for _, token in ipairs(loop_of.variable_tokens(loop, loop.body)) do
    instead[token] = iterations.at(loop, token, o.step)
  end
  for _, el in ipairs(list) do
    for _, node in ipairs(el.nodes) do instead[node.first] = { el.name, node.last } end
  end
  local lines = { kernel:source(loop.statement.init.first, loop.statement.init.last),
    ("if (__activemask() == %s) {"):format(MASK),
    ("\1const int %s = %s %% %d;"):format(o.lane, o.thread, LANES),
    "\1" .. iterations.head(loop, LANES) .. " {" }
  put(lines, loads(loop, list, o.lane), "\1\1")
  if is_short(loop) then lines[#lines + 1] = "\1\1#pragma unroll" end
  lines[#lines + 1] = ("\1\1for (int %s = 0; %s < %d; %s++) {"):format(o.step, o.step, LANES,
    o.step)
  for _, el in ipairs(list) do put(lines, handed(kernel, el, o.step), "\1\1\1") end
  put(lines, body_lines(loop, instead), "\1\1\1")
  put(lines, { "\1\1}", "\1}", "}" }, "")
  return put(lines, elements.split(loop, iterations.plain_loop(loop)), "")
end

-- Which of its warp's lanes a thread is, and what that asks of the launch.
local function lane_of(fn, is_whole)
  if is_whole then return "threadIdx.x", ("block.x%%%d"):format(LANES) end
  local thread, _, launch = elements.block_of(sides_of.used(fn))
  return thread:find "^%w+%.x$" and thread or "(" .. thread .. ")", launch
end

-- Do blocks have rows of whole warps, as far as that is known, in which more is shared?
local function rows_share_more(at)
  if not at[1] then return true end
  local ask, used = at.kernel.options.values, sides_of.used(at.fn)
  local length = ask and ask(at.fn)["blockDim.x"]
  if not (used.y or used.z) or length and length % LANES ~= 0 then
    return false, "its blocks have no rows of whole warps"
  end
  return #at.elements > #(shared(at.loop, {}) or {}), "a row shares no more than the block"
end

local function becomes(at, e)
  local loop, list, names = at.loop, at.elements, at.names
  for _, el in ipairs(list) do
    el.lane, el.name = names(el.base .. "_lane"), names(el.base .. "_" .. loop.variable)
  end
  local thread, launch = lane_of(at.fn, at[1] or select(2, names_at(loop, {})))
  local o = { thread = thread, lane = names "lane", step = names "step" }
  elements.stand_in(loop, shuffled(loop, list, o), e, loop.declares)
  e.twice = true
  return ("lanes load %s for 32 iterations of the loop at line %d, and hand them out"):format(
    list[1].base, at.line), { launch = launch ~= "" and launch or nil }
end

return { name = "shuffle", where = "loops",
  doc = "Elements that all lanes of a warp read, loaded by one each and handed out by shuffles.",
  args = { { "way", { false, "row" } } },
  needs = {
    { "loop", function(at) return at.fn.kind == "kernel" end, says = "it is in no kernel" },
    { "loop", function(at)
      local why = elements_of.refusal(at.loop)
      return not why, why
    end },
    { "warp_same", function(at) return not warp_same.is_alone(at.fn, at.loop.statement) end,
      says = "one lane of a warp alone comes to it" },
    { "sides", elements_at, gives = "elements" },
    { "loop", function(at) return elements_of.is_long(at.loop, LANES) end,
      says = "it has fewer than 32 iterations" },
    { "sides", rows_share_more },
  },
  becomes = becomes,
}
