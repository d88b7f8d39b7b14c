--- widen: wider thread blocks
--
-- where     kernels
-- needs     threads, effects, width, wider
-- becomes   the kernel with blocks of more threads, which have fewer rounds each
-- promises  wider
--
--   for (int i = threadIdx.x; i < n; i += BLOCK) sum[threadIdx.x] += a[i];
--
-- Of a kernel whose blocks have an item each, which their threads share in loops: what it calls its
-- block's width, blockDim.x or a macro, grows with the block. Loads of the fewer rounds wait for
-- each other less. The grid stays. A kernel whose threads count items across blocks would do
-- others.

local effects = require "gilua.facts.effects"
local threads = require "gilua.facts.threads"
local wider = require "gilua.facts.wider"
local width = require "gilua.facts.width"

local MOST_THREADS = 1024

-- Do threads differ along x alone, and is that said side by side?
local function are_along_x(at)
  local uses = threads.uses(at.fn)
  if uses.whole then return nil, ("%s is used as a whole"):format(uses.whole) end
  for _, side in ipairs { "y", "z" } do
    if #uses.threadIdx[side] + #uses.blockDim[side] > 0 then
      return nil, "its threads differ along more than x"
    end
  end
  return true
end

local function is_understood(at)
  if effects.of(at.fn, at.fn.body).opaque then return nil, "something in it is not understood" end
  for _, s in ipairs(at.fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.extern then return nil, "the launch says how much shared memory it has" end
    end
  end
  return true
end

local function width_at(at)
  local found, why = width.of(at.fn)
  if found and found.now and found.now * at[1] > MOST_THREADS then
    return nil, ("a block has at most %d threads"):format(MOST_THREADS)
  end
  return found, why
end

-- A need by a question of gilua.facts.wider.
local function need(question, is_promised)
  return { "wider", function(at) return wider[question](at.fn, at.loops, at.width.macro) end,
    promised = is_promised }
end

local function becomes(at, e)
  local macro = at.width.macro
  for i = at.fn.open, macro and at.fn.close or at.fn.open - 1 do
    if at.kernel.words[i] == macro then e:replace(i, i, ("(%s * %d)"):format(macro, at[1])) end
  end
  return ("blocks of %d times as many threads"):format(at[1]),
    { launch = (macro and ("block.x==%d "):format(at.width.now) or "")
        .. ("block.x*%d"):format(at[1]) }
end

return { name = "widen", where = "kernels",
  doc = "Blocks of more threads, which go through their loops together in fewer rounds.",
  args = { { "times", { 2, 4, 8 }, from = 2, to = 32 } },
  needs = {
    { "threads", are_along_x },
    { "effects", is_understood },
    { "width", width_at, gives = "width" },
    { "wider", function(at) return wider.without_elements(at.fn, at.width.macro) end },
    { "wider", function(at) return wider.loops(at.fn) end, gives = "loops" },
    need("may_share", true),
    need("updates_nothing", true),
    need("alike", true),
    need("puts_together", true),
    need "tells_no_share",
  },
  becomes = becomes,
}
