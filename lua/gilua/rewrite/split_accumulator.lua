--- split_accumulator: accumulator splitting, a reassociation
--
-- where     loops
-- needs     accumulators, loop
-- becomes   a sum that it forms, formed as two or four that are added at the end
-- promises  apart, accumulators
--
-- Each `sum += x` waits for the one before; two sums wait half as often. In floating point the
-- order of the additions changes, and so the last digits. The same for products, least and
-- greatest.

local accumulators = require "gilua.facts.accumulators"
local iterations = require "gilua.rewrite.iterations"

return { name = "split_accumulator", where = "loops",
  doc = "A sum over a loop's iterations formed as two or four, added at the end.",
  args = { { "parts", { 2, 4 }, from = 2, to = 16 } },
  needs = { { "accumulators", accumulators.some, gives = "sums" },
            { "accumulators", function(at) return accumulators.stay_in_range(at.sums) end,
              promised = true },
            { "loop", iterations.can_be_written, gives = "tokens" } },
  becomes = function(at, e)
    local before, after, instead = accumulators.parts(at.kernel, at.sums, at[1])
    iterations.write(e, at.loop, at.tokens, at[1],
      { before = before, after = after, instead = instead })
    return ("%s of the loop at line %d is added up in %d parts"):format(at.sums[1].name, at.line,
      at[1])
  end,
}
