--- flash: online-softmax tiling through shared memory (FlashAttention with split keys)
--
-- where     loops
-- needs     online, threads, effects, all_come, sides, online_rows
-- becomes   a row that was one thread's becomes that of several, which share its keys; keys and
--           values come through shared memory, and the state is scaled once for several keys
-- promises  apart
--
-- Source: Dao et al., "FlashAttention", 2022, and "Flash-Decoding for long-context inference",
-- 2023.
-- A block has as many rows as before, and PARTS times as many threads. It loads a tile of KEYS keys
-- and their values; each part takes STEP of them at a time: it computes their scores, scales its
-- state once to the greatest of them, and adds their values. What all keys ask for of a row is kept
-- in registers. Behind the loop the first part puts the states of all together, and goes on alone.
-- A state that saw no key has -INFINITY as its greatest score and weighs nothing. Where each row
-- has its own last key (`j <= i`, a causal mask), the block loads up to the greatest of them.

local all_come = require "gilua.facts.all_come"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local elements = require "gilua.rewrite.elements"
local elements_of = require "gilua.facts.elements"
local guarded = require "gilua.rewrite.guarded"
local lists = require "gilua.base.lists"
local online = require "gilua.facts.online"
local rows = require "gilua.facts.online_rows"
local sides_of = require "gilua.facts.sides"
local text_of = require "gilua.rewrite.flash_text"
local threads = require "gilua.facts.threads"

local PARTS, KEYS, STEPS, MOST_PARTS = { 4, 8, 2 }, { 64, 32 }, { 4, 8 }, 16
local MOST_BYTES = 48 * 1024 -- of shared memory that a source may declare
local BYTES = { float = 4, double = 8 }

local function index_of(at)
  for _, index in ipairs(threads.indices(at.fn)) do
    if index.side == "x" then
      local fits, why = threads.is_all(at.fn, index)
      return fits and index or nil, why
    end
  end
  return nil, "no index tells its threads apart"
end

-- May several threads do what one did, up to the end of the loop?
local function is_free(at)
  local all = effects.of(at.fn, at.fn.body)
  if all.opaque or all.conditional then return nil, "something in the kernel is not understood" end
  if all.barrier or all.warp then return nil, "threads wait for each other in it" end
  local used = sides_of.used(at.fn)
  if not used.x or used.y or used.z then
    return nil, "its threads are not along x alone"
  end
  local is_early = lists.any(all.accesses, function(access)
    return (access.write or access.atomic or access.escapes) and not threads.is_local(at.fn, access)
      and access.token <= at.loop.statement.last
  end)
  if is_early then return nil, "memory is written before the loop ends" end
  return true
end

local function plan_of(at)
  local plan, why = all_come.plan(at.fn, at.loop.statement)
  if not plan then return nil, "not all threads may come to it: " .. why end
  if #plan.loops > 0 then return nil, "it is in another loop" end
  local refused = elements_of.refusal(at.loop)
  if refused or at.loop.step ~= 1 then return nil, refused or "it does not count by one" end
  return plan
end

-- Do all threads go through the loop from the same key, to the same ("same") or to a key that each
-- computes ("own")?
local function range_of(at)
  if elements_of.is_same(at.loop, at.plan.uniform) then return "same" end
  local loop = at.loop
  local from, to = sides_of.of(at.fn, loop.start, at.plan.uniform),
    sides_of.of(at.fn, loop.bound, at.plan.uniform)
  if from and not next(from) and to and (loop.type or "int") == "int" then return "own" end
  return nil, "threads go through it from and to different places"
end

local function fits(at)
  local bytes, n = BYTES[at.state.type], 0
  for _, el in ipairs(at.arrays.tiled) do n = n + at[2] * el.length end
  if n * bytes > MOST_BYTES then return nil, "it is too much memory" end
  return true
end

local function proposed()
  local list = {}
  for _, parts in ipairs(PARTS) do
    for _, keys in ipairs(KEYS) do
      for _, step in ipairs(STEPS) do
        if keys % (parts * step) == 0 then
          list[#list + 1] = { tostring(parts), tostring(keys), tostring(step) }
        end
      end
    end
  end
  return list
end

local function read(args)
  local n = {}
  for i = 1, 3 do n[i] = math.tointeger(tonumber(args[i])) end
  local is_so = n[1] and n[2] and n[3] and not args[4] and n[1] >= 2 and n[1] <= MOST_PARTS
    and n[2] >= 8 and n[2] <= 256 and n[3] >= 1 and n[3] <= 16 and n[2] % (n[1] * n[3]) == 0
  if not is_so then
    return nil, "it is written flash<LINE>(PARTS,KEYS,STEP), with 2 to 16 parts, and 8 to 256 keys "
      .. "that are a multiple of both"
  end
  return n
end

-- Rows of a block are those of its first part.
local function divide_index(at, e)
  local uses = threads.uses(at.fn)
  local length, own = uses.blockDim.x[1], uses.threadIdx.x[1]
  e:replace(length, length + 2, ("(blockDim.x / %d)"):format(at[1]))
  e:replace(own, own + 2, ("threadIdx.x %% (blockDim.x / %d)"):format(at[1]))
end

-- Loops over the sums of values have known lengths: unrolled, the sums stay in registers.
local function unroll_others(at, inside, e)
  local deeper = inside and edit.unit(at.fn) or "" -- as guarded leaves the lines of a list
  for _, loop in ipairs(at.fn.loops) do
    local s, own = loop.statement, at.loop.statement
    local is_apart = s.last < own.first or s.first > own.last
    local is_over = loop.inside and lists.any(loop.inside.accesses, function(access)
      return access.base == at.state.out
    end)
    if is_apart and is_over and #loop.pragmas == 0 and at.kernel:begins_line(s.first)
      and s.parent.kind == "block" then
      e:before(s.first, "#pragma unroll\n" .. at.kernel:indent(s.first) .. deeper)
    end
  end
end

local function becomes(at, e)
  local names = text_of.names(at)
  local indent, inside = guarded.edits(at.plan, e)
  divide_index(at, e)
  unroll_others(at, inside, e)
  elements.stand_in(at.loop, text_of.lines(at, names, inside), e)
  return ("%d threads share the keys of a row in the loop at line %d, %d keys at a time through "
    .. "shared memory"):format(at[1], at.line, at[2]),
    { indent = indent, launch = ("block.x<=%d block.x*%d block.y<=1 block.z<=1"):format(at[2],
      at[1]) }
end

return { name = "flash", where = "loops", first = true, before = "merge merge_threads",
  doc = "An online softmax by parts of a block, its keys and values through shared memory.",
  args = proposed, read = read, judged = true,
  needs = {
    { "online", function(at) return online.of(at.loop) end, gives = "state" },
    { "threads", index_of, gives = "index" },
    { "effects", is_free },
    { "all_come", plan_of, gives = "plan" },
    { "sides", range_of, gives = "range" },
    { "online_rows", function(at) return rows.of(at.loop, at.state, at.plan) end,
      gives = "arrays" },
    { "online_rows", fits },
  },
  becomes = becomes,
}
