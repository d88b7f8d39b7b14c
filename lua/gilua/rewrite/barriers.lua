--- barriers: elimination of redundant barriers
--
-- where     functions
-- needs     idle_barrier
-- becomes   it without the barriers that part nothing, all at once
-- promises  apart
--
-- What is loaded behind a barrier waits for what was loaded before it; without, all is under way at
-- once. Answers say nothing of it (no `judged`): that nobody notices the loss of such a barrier is
-- why it can go.

local idle_barrier = require "gilua.facts.idle_barrier"

local function becomes(at, e)
  local lines = {}
  for i, s in ipairs(at.idle) do
    e:remove(s.first, s.last)
    lines[i] = at.kernel:line_of(s.first)
  end
  return ("nothing waits at line%s %s"):format(#lines > 1 and "s" or "", table.concat(lines, ", "))
end

return { name = "barriers", where = "functions",
  doc = "Barriers that part nothing, gone.",
  needs = { { "idle_barrier", function(at) return idle_barrier.of(at.fn) end, gives = "idle",
    says = "each of its barriers parts something" } },
  becomes = becomes,
}
