-- otherseeds: does the kernel as it is run with data of other seeds, too? An index or a stride that
-- was drawn at random may lead out of an array with one seed and not with another, and evolution
-- draws new data in every generation. The virtual GPU stands for every device: it sees each fault.

local kerneltable = require "gilua.problem.kerneltable"
local tablecase = require "gilua.problem.tablecase"

local M = {}

local LEAST, MOST = 2, 7 -- seeds besides the first
local MOST_WORK = 50e6 -- warp instructions of all of them, as soon as there are the least
local FILLING = 12 -- warp instructions take as long as filling a byte

-- How many seeds there is time for, where one takes so many warp instructions.
local function affordable(problem, instructions)
  local self = problem.definition.kernel_table
  local names = tablecase.names(self, tablecase.sizes(self.table.size), self:defaults())
  local work = instructions + FILLING * tablecase.bytes(self, names)
  return math.max(LEAST, math.min(MOST, MOST_WORK // math.max(work, 1)))
end

--- Runs a problem's kernel as it is on the whole case with further seeds.
---@param problem gilua.problem of a kernel table
---@param first integer the seed with which it runs
---@param options? { device?: string, budget?: integer } budget: most warp instructions of a run
---@return integer seeds on which it runs
---@return string? why it does not on the next one
---@return table? measurement of that, where there is one
---@return integer? seed of that
function M.run(problem, first, options)
  local most = LEAST
  for i = 1, MOST do
    if i > most then return most end
    local outputs, m, failed = kerneltable.run(problem, { seed = first + i }, options)
    if not outputs then return i - 1, m, failed, first + i end
    if i == 1 then most = affordable(problem, m.warp_instructions or 0) end
  end
  return MOST
end

return M
