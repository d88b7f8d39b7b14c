--- split_accumulator: a sum that a loop forms is formed as two or four, which are added at the end.
--
-- Each `sum += x` waits for the one before; two sums wait half as often. In floating point the
-- order of the additions changes, and so the last digits. The same for products, least and
-- greatest.

local accumulators = require "gilua.facts.accumulators"
local iterations = require "gilua.rewrite.iterations"

local FACTORS = { 2, 4 }

local M = { name = "split_accumulator", twice = true,
  doc = "A sum over a loop's iterations formed as two or four, added at the end." }

function M.find(kernel)
  return kernel:loop_places(FACTORS, function(loop, factor)
    return #accumulators.list(loop) > 0 and iterations.tokens(loop, factor)
  end)
end

local function split(loop, factor)
  local list = accumulators.list(loop)
  if #list == 0 then return nil, "the loop adds to no variable that it does nothing else with" end
  local before, after, instead = accumulators.parts(loop.fn.kernel, list, factor)
  local edits, why = iterations.edits(loop, factor,
    { before = before, after = after, instead = instead })
  if not edits then return nil, why end
  return { edits = edits, says = ("%s of the loop at line %d is added up in %d parts"):format(
    list[1].name, loop.line, factor) }
end

function M.make(kernel, line, args)
  local factor = math.tointeger(tonumber(args[1]))
  if not factor or factor < 2 or factor > 16 then return nil, "2 to 16 sums" end
  return kernel:first_loop(line, function(loop) return split(loop, factor) end)
end

return M
