--- tree: warp-level last rounds of a tree reduction (shuffles instead of barriers)
--
-- where     loops
-- needs     halved, uniform
-- becomes   the last rounds of a loop that halves are done by the first warp
-- promises  apart
--
--   for (k = blockDim.x / 2; k > 0; k /= 2) {
--     if (thread < k) part[thread] += part[thread + k];
--     __syncthreads();
--   }
--
-- The last 32 of a sum (or product, least, greatest) are added by shuffles, with one barrier. With
-- `warp` whatever a loop halves is done by the first warp from 32 on, which waits for itself.
--
-- A loop that begins with neighbours, `for (k = 1; k < n; k *= 2) if (thread % (2 * k) == 0) …`,
-- first becomes one that ends with them. That is right in blocks of whole warps along x, where the
-- loop comes to 16, for the latter of a power of two: others have the loop as it was.

local halved = require "gilua.facts.halved"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local uniform = require "gilua.facts.uniform"

local function deeper(text) return "    " .. text:gsub("\n", "\n    ") end

-- ---- by shuffles --------------------------------------------------------------------------------

local function combined(how, a, b)
  if how.call then return ("%s = %s(%s, %s);"):format(a, how.call, a, b) end
  return ("%s %s= %s;"):format(a, how.op, b)
end

-- The lines that put the last 32 together.
local function lane_lines(kernel, sum)
  local value, step = kernel:fresh("lane_value"), kernel:fresh("lanes")
  local thread = kernel:plain(sum.thread)
  local element = ("%s[%s]"):format(sum.array, thread)
  return table.concat({
    ("if (%s < 32) {"):format(thread),
    ("    %s %s = %s;"):format(sum.type, value, element),
    ("    for (int %s = 16; %s > 0; %s /= 2)"):format(step, step, step),
    "        " .. combined(sum.how, value,
      ("__shfl_down_sync(0xffffffffu, %s, %s)"):format(value, step)),
    ("    if (%s == 0) %s = %s;"):format(thread, element, value),
    "}",
    "__syncthreads();",
  }, "\n")
end

-- A source's text as it would stand at the beginning of its lines.
local function outdented(kernel, s, ...)
  return (kernel:source(...):gsub("\n" .. kernel:indent(s.first), "\n"))
end

local WHOLE_WARPS = "blockDim.x % 32 == 0"

-- A loop that halves goes on to 32; where 16 then comes, of whole warps, lanes do the rest.
local function halved_lines(kernel, s, sum)
  local head = kernel:source(s.header[3], s.header[4])
  local body = outdented(kernel, s, s.header[4] + 1, s.last)
  local rest = ("for (; %s%s %s"):format(kernel:plain(s.condition), head, body)
  return ("for (; %s >= 32%s %s\nif (%s == 16 && %s) {\n%s\n} else {\n%s\n}"):format(sum.k, head,
    body, sum.k, WHOLE_WARPS, deeper(lane_lines(kernel, sum)), deeper(rest))
end

-- One that begins with neighbours is turned around, where as many as the block has threads are a
-- power of two.
local function turned_lines(kernel, s, sum)
  local bound, begin = kernel:plain(sum.bound), s.init.declared[1].init
  if sum.bound.kind == "binary" and not sum.bound.parens then bound = "(" .. bound .. ")" end
  local init = kernel:source(s.init.first, s.init.last,
    { [begin.first] = { bound .. " / 2", begin.last } })
  local asks = ("%s < %s"):format(kernel:plain(sum.thread), sum.k)
  local body = outdented(kernel, s, s.header[4] + 1, s.last,
    { [sum.condition.first] = { asks, sum.condition.last } })
  return ("if (%s && %s == blockDim.x && (%s & (%s - 1)) == 0) {\n%s\n%s\n} else {\n%s\n}"):format(
    WHOLE_WARPS, bound, bound, bound,
    deeper(("for (%s %s >= 32; %s /= 2) %s"):format(init, sum.k, sum.k, body)),
    deeper(lane_lines(kernel, sum)), deeper(outdented(kernel, s, s.first, s.last)))
end

-- ---- by a warp ----------------------------------------------------------------------------------

-- The loop down to 32, then the rest by one warp, which waits for itself.
local function warp_lines(kernel, s, found)
  local instead = {}
  for _, one in ipairs(found.body) do
    if statement.is_barrier(one) then instead[one.tree.callee.first] = "__syncwarp" end
  end
  local head = kernel:source(s.header[3], s.header[4])
  return ("for (; %s > 32%s %s\nif (%s < 32) {\n%s\n}\n__syncthreads();"):format(found.k, head,
    outdented(kernel, s, s.header[4] + 1, s.last), kernel:plain(found.thread),
    deeper(("for (; %s%s %s"):format(kernel:plain(s.condition), head,
      outdented(kernel, s, s.header[4] + 1, s.last, instead))))
end

-- ---- the record ---------------------------------------------------------------------------------

local function found_at(at) return (at[1] and halved.any or halved.sum)(at.loop) end

local function is_alone(at)
  if at[1] then return true end
  return halved.is_all(at.loop, at.found)
end

-- Blocks of whole warps, where a warp is not known to be neighbours along x.
local function launch_of(at)
  local uses = threads.uses(at.fn).threadIdx
  return at[1] and #uses.y + #uses.z > 0 and "block.x%32" or nil
end

local function becomes(at, e)
  local kernel, s, found = at.kernel, at.loop.statement, at.found
  local lines = at[1] and warp_lines or found.bound and turned_lines or halved_lines
  local text = lines(kernel, s, found)
  if s.init and not found.bound then
    text = "{\n" .. deeper(kernel:source(s.init.first, s.init.last) .. "\n" .. text) .. "\n}"
  end
  for _, pragma in ipairs(at.loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
  e:replace(s.first, s.last, (text:gsub("\n", "\n" .. kernel:indent(s.first))))
  e.twice = true
  return at[1] and ("one warp does the last rounds of the loop at line %d"):format(at.line)
    or ("the last 32 of %s are put together by shuffles"):format(found.array),
    { launch = launch_of(at) }
end

return { name = "tree", where = "loops",
  doc = "The last 32 of a sum in shared memory added by shuffles.",
  args = { { "way", { false, "warp" } } },
  needs = {
    { "halved", found_at, gives = "found" },
    { "uniform", function(at) return at[1] or uniform.is_reached(at.fn, at.loop.statement) end,
      says = "not all threads may come to it" },
    { "halved", is_alone },
  },
  becomes = becomes,
}
