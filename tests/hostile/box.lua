--- Evaluates the kernel of tests/hostile/box on a case for each attack named: one line for each,
--- NAME: what came of it.  gilua box.lua FILE NAME…

local gi = require "gilua"

local problem = gi.problem(gi.home .. "/tests/hostile/box")
local farm <close> = gi.farm(problem, { jobs = 1 })

for i = 2, #arg do
  local ok, result = pcall(function()
    return farm:evaluate({ "" }, { n = 5000, attack = arg[i], path = arg[1] })[1].status
  end)
  print(("%s: %s"):format(arg[i], ok and result or tostring(result):gsub("\n", " ")))
end
