--- stage: loop tiling through shared memory
--
-- where     loops
-- needs     loop, all_come, staged
-- becomes   elements that several threads of a block read come through shared memory
-- promises  apart
--
-- The block loads those of 16 iterations at once, waits, and does these iterations from there.
--
--   int k_from = 0;
--   for (; k_from + 15 < n; k_from += 16) {
--     for (int k_part = threadIdx.x; k_part < 16; k_part += blockDim.x)
--       a_tile[threadIdx.y][k_part] = row < m ? a[row * n + (k_from + k_part)] : 0;
--     …
--     __syncthreads();
--     for (int k_step = 0; k_step < 16; k_step++) sum += a_tile[threadIdx.y][k_step] * …;
--     __syncthreads();
--   }
--   if (inside)
--     for (int k = k_from; k < n; k++) sum += a[row * n + k] * …;
--
-- An element is the same for all threads of the block, for those of a row of it or for those of a
-- column. Conditions around the loop become a variable (gilua.rewrite.guarded); an element is
-- loaded where those hold that say where it lies. What the loop updates in memory stays in a
-- variable.

local all_come = require "gilua.facts.all_come"
local elements_of = require "gilua.facts.elements"
local elements = require "gilua.rewrite.elements"
local guarded = require "gilua.rewrite.guarded"
local kept_of = require "gilua.facts.kept"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local sides_of = require "gilua.facts.sides"
local staged = require "gilua.facts.staged"
local tiles = require "gilua.rewrite.tiles"

local put = elements.put

local SIZES = { 16, 32, 64, 128 }
local MOST_WITH_SIDES = 32 -- at a time that are proposed where a tile is as long as a side
local MOST_BYTES = 48 * 1024 -- of shared memory that a source may declare

-- ---- lines, moved in by \1, a level of the file's -----------------------------------------------

local TIGHT = { ["+"] = true, ["-"] = true, ["*"] = true, ["/"] = true, ["%"] = true,
  ["<<"] = true, [">>"] = true }

local function bound_text(loop)
  local bound, text = loop.bound, loop.fn.kernel:plain(loop.bound)
  local is_loose = bound.kind == "choice" or bound.kind == "assign"
    or bound.kind == "binary" and not TIGHT[bound.op]
  return is_loose and not bound.parens and "(" .. text .. ")" or text
end

-- A loop's head and body as lines.
local function loop_lines(loop, head, instead)
  local body = loop.fn.kernel:source(loop.body.first, loop.body.last, instead)
  local lines = elements.split(loop, body)
  if loop.body.kind == "block" then
    lines[1] = head .. " " .. lines[1]
  else
    lines[1] = "\1" .. lines[1]
    table.insert(lines, 1, head)
  end
  return lines
end

-- `if (inside)` before a loop's lines.
local function asked(lines, inside)
  if not inside then return lines end
  local list = put({ ("if (%s) {"):format(inside) }, lines, "\1")
  list[#list + 1] = "}"
  return list
end

-- ---- what the loop updates in memory ------------------------------------------------------------

-- The elements that stay in variables while the loop goes on.
local function kept_by(loop, inside)
  local list = {}
  for _, one in ipairs(kept_of.of(loop)) do
    local is_asked = inside or not one.given and once.of(loop) ~= true
    if not is_asked or all_come.is_number(loop.fn, { pointer = 0, type = one.type }) then
      list[#list + 1] = one
    end
  end
  return list
end

-- Variables for these: the lines before and behind it.
local function kept_lines(loop, kept, inside, instead)
  local before, after, names, guard = {}, {}, loop.fn.kernel:names(), nil
  for _, one in ipairs(kept) do
    local name, asked_of = names(one.base .. "_kept"), inside
    if not one.given then
      guard = guard or once.guard(loop, names, inside)
      if not guard.is_put then put(before, guard.lines or {}, "") end
      guard.is_put, asked_of = true, guard.text
    end
    before[#before + 1] = ("%s %s = %s;"):format(one.type, name,
      asked_of and ("%s ? %s : 0"):format(asked_of, one.text) or one.text)
    after[#after + 1] = ("%s%s = %s;"):format(asked_of and ("if (%s) "):format(asked_of) or "",
      one.text, name)
    for _, access in ipairs(one.accesses) do
      instead[access.node.first] = { name, access.node.last }
    end
  end
  return before, after
end

-- ---- the loop -----------------------------------------------------------------------------------

-- The iterations that are left, by the loop's own variable; none where the tiles are all.
local function rest_lines(loop, o, instead)
  if loop.declares and loop.trips and loop.trips % o.size == 0 then return {} end
  local type = loop.declares and (loop.type or "int") .. " " or ""
  return loop_lines(loop, ("for (%s%s = %s; %s %s %s; %s++)"):format(type, loop.variable, o.from,
    loop.variable, loop.relation, bound_text(loop), loop.variable), instead)
end

-- The lines that stand for the loop.
local function tiled(at, o, inside)
  local loop, instead, rest, lines = at.loop, {}, {}, {}
  local kept = kept_by(loop, inside)
  local is_free = not inside or staged.is_harmless(loop, at.plan, at.elements, kept)
  local before, after = kept_lines(loop, kept, inside, rest)
  for _, token in ipairs(loop_of.variable_tokens(loop, loop.body)) do
    instead[token] = ("(%s + %s)"):format(o.from, o.step)
  end
  for token, text in pairs(rest) do instead[token] = text end
  put(lines, before, "")
  put(lines, tiles.declared(at.elements, o, instead), "")
  put(lines, { ("%s %s = %s;"):format(loop.type or "int", o.from,
    loop.fn.kernel:plain(loop.start)),
    ("for (; %s + %d %s %s; %s += %d) {"):format(o.from, o.size - 1, loop.relation,
      bound_text(loop), o.from, o.size) }, "")
  put(lines, tiles.loads(loop, at.elements, o, inside and is_free), "\1")
  lines[#lines + 1] = "\1__syncthreads();"
  put(lines, asked(loop_lines(loop, ("for (int %s = 0; %s < %d; %s++)"):format(o.step, o.step,
    o.size, o.step), instead), not is_free and inside or nil), "\1")
  put(lines, { "\1__syncthreads();", "}" }, "")
  local left = rest_lines(loop, o, rest)
  put(lines, #left > 0 and asked(left, inside) or left, "")
  return put(lines, after, "")
end

-- ---- the record ---------------------------------------------------------------------------------

local function counts_by_one(at)
  local why = at.loop.step ~= 1 and "it does not count up by one, by itself"
    or elements_of.refusal(at.loop)
  return not why, why or nil
end

local function plan_of(at)
  local plan, why = all_come.plan(at.fn, at.loop.statement)
  if not plan then return nil, "not all threads may come to it: " .. why end
  return plan
end

local function fits(at)
  local needs_side = #tiles.sides(at.elements) > 0
  if needs_side and not at[2] then
    return nil, "behind how many stands how long a side of a block is at most"
  elseif tiles.bytes(at.elements, at[1], at[2] or 1) > MOST_BYTES then
    return nil, "it is too much memory"
  end
  return true
end

-- Elements at a time, and how long a side of a block is at most, where tiles have one.
local function proposed(at)
  local plan = counts_by_one(at) and plan_of(at)
  local list, found = {}, plan and staged.of(at.loop, plan)
  local side = found and #tiles.sides(found) > 0 and tiles.longest(at.fn, found)
  for _, size in ipairs(SIZES) do
    if not side or size <= MOST_WITH_SIDES then
      list[#list + 1] = { tostring(size), side and tostring(side) or nil }
    end
  end
  return list
end

local function read(args)
  local size, side = math.tointeger(tonumber(args[1])), math.tointeger(tonumber(args[2]))
  if not size or size < 4 or size > 1024 or args[3] then
    return nil, "it is written stage<LINE>(ELEMENTS,SIDE), with 4 to 1024 elements at a time"
  elseif args[2] and (not side or side < 1 or side > 1024) then
    return nil, "a side of a block has 1 to 1024 threads"
  end
  return { size, side }
end

-- What the launch has to be.
local function launch_of(at, asks)
  local words = { asks ~= "" and asks or nil }
  for _, side in ipairs(tiles.sides(at.elements)) do
    words[#words + 1] = ("block.%s<=%d"):format(side, at[2])
  end
  return words[1] and table.concat(words, " ")
end

local function becomes(at, e)
  local kernel, loop = at.kernel, at.loop
  local o = { size = at[1], side = at[2], longer = at[1] + 1, slot = kernel:fresh "thread",
    place = kernel:fresh "place" }
  for _, word in ipairs { "from", "part", "step" } do
    o[word] = kernel:fresh(loop.variable .. "_" .. word)
  end
  local thread, threads, asks = elements.block_of(sides_of.used(at.fn))
  o.thread, o.threads = thread, threads
  tiles.name(kernel, at.elements)
  local indent, inside = guarded.edits(at.plan, e)
  elements.stand_in(loop, tiled(at, o, inside), e)
  e.twice = true
  return ("%s comes through shared memory in the loop at line %d"):format(at.elements[1].base,
    at.line), { indent = indent, launch = launch_of(at, asks) }
end

return { name = "stage", where = "loops", first = true, before = "merge merge_threads",
  doc = "Elements that several threads of a block read, through shared memory.",
  args = proposed, read = read,
  needs = {
    { "loop", counts_by_one },
    { "all_come", plan_of, gives = "plan" },
    { "staged", function(at) return staged.of(at.loop, at.plan) end, gives = "elements" },
    { "loop", function(at) return elements_of.is_long(at.loop, at[1]) end,
      says = "it has fewer iterations" },
    { "staged", fits },
  },
  becomes = becomes,
}
