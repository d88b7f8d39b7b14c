--- unroll: a loop's body several times an iteration, and a second loop for what remains.
--
-- The compiler does this where it deems it good, and less often around loads that it cannot move;
-- written out, the loads of several iterations are under way at once.

local iterations = require "gilua.rewrite.iterations"

local FACTORS = { 2, 4, 8 }

local M = { name = "unroll", twice = true,
  doc = "The body of a loop several times an iteration, the rest in a second loop." }

function M.find(kernel) return kernel:loop_places(FACTORS, iterations.tokens) end

function M.make(kernel, line, args)
  local factor = math.tointeger(tonumber(args[1]))
  if not factor or factor < 2 or factor > 32 then return nil, "a factor is 2 to 32" end
  return kernel:first_loop(line, function(loop)
    local edits, why = iterations.edits(loop, factor)
    if not edits then return nil, why end
    return { edits = edits,
             says = ("the loop at line %d does %d iterations at a time"):format(line, factor) }
  end)
end

return M
