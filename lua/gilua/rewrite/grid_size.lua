--- grid_size: more blocks for a grid-stride loop
--
-- where     grid-stride loops
-- needs     strided, carried
-- becomes   the kernel as it is, launched with more blocks
-- promises  carried
--
-- Any number of blocks is right there, and the host often launches too few to fill the GPU.

local strided = require "gilua.facts.strided"
local threads = require "gilua.facts.threads"

-- Returns the loops of each kernel that go over all items along a side. A kernel that reads the
-- grid's width and has no such loop is a place, too, with the reason.
local function places(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    for _, side in ipairs(fn.is_entry and fn.body and threads.SIDES or {}) do
      local is_asked = #threads.uses(fn).gridDim[side] > 0
      local loops, why, promise = nil, nil, nil
      if is_asked then loops, why, promise = strided.of(fn, side) end
      for i, one in ipairs(is_asked and (loops or fn.loops) or {}) do
        local s = loops and one or one.statement
        list[#list + 1] = { fn = fn, line = kernel:line_of(s.first), last = kernel:line_of(s.last),
          side = side, is_first = i == 1, loops = loops, why = why, promise = promise }
      end
    end
  end
  return list
end

return { name = "grid_size", where = places, set = "grid-stride loops", launch = "grid.$side*$1",
  none = "no loop there goes on by the grid's width",
  doc = "More blocks for a loop that goes over all items by the grid's width.",
  args = { { "times", { 2, 4, 8, 16 }, from = 2, to = 1024 } },
  pays = function(at) return at.is_first or not at.loops, "the first loop stands for it" end,
  needs = {
    { "strided", function(at) return at.loops, at.why end },
    { "carried", function(at) return not at.promise or nil, at.promise end, promised = true },
  },
  becomes = function() return "the loop goes over all items with any number of blocks" end,
}
