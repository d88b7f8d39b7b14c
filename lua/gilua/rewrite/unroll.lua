--- unroll: loop unrolling
--
-- where     loops
-- needs     loop
-- becomes   its body several times an iteration, and a second loop for what remains
-- promises  apart
--
-- The compiler does this where it deems it good, and less often around loads that it cannot move;
-- written out, the loads of several iterations are under way at once.

local iterations = require "gilua.rewrite.iterations"

return { name = "unroll", where = "loops",
  doc = "The body of a loop several times an iteration, the rest in a second loop.",
  args = { { "iterations", { 2, 4, 8 }, from = 2, to = 32 } },
  needs = { { "loop", iterations.can_be_written, gives = "tokens" } },
  becomes = function(at, e)
    iterations.write(e, at.loop, at.tokens, at[1])
    return ("the loop at line %d does %d iterations at a time"):format(at.line, at[1])
  end,
}
