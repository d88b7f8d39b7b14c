-- elites: MAP-Elites (Mouret and Clune, "Illuminating Search Spaces by Mapping Elites", 2015). Of
-- each way to use the machine (few registers or many, shared memory or none, much traffic or
-- little) it keeps the best kernel, however slow it is beside others, since the next gain may begin
-- there.
--
--   local keep = gi.elites.keep(gi.elites.machine)
--   local fields = gi.steady.scheme { population = 60, keep = keep, choose = gi.elites.choose }

local steady = require "gilua.search.steady"

local M = {}

local REGISTERS = 8 -- that warps are given at once, a thread

-- Halvings and doublings apart.
local function magnitude(x)
  return x and x > 0 and math.floor(math.log(x, 2)) or 0
end

--- How a kernel uses the machine: registers by 8, shared memory and global traffic by powers of
--- two. Traffic is counted by the virtual GPU; on a GPU cells are of registers and shared memory
--- alone.
---@param m gilua.measurement
---@return string cell
function M.machine(m)
  return ("%d %d %d"):format((m.registers or 0) // REGISTERS, magnitude(m.shared_bytes),
    magnitude(m.global_sectors))
end

--- The best of each cell, the best cell first.
---@param cell_of fun(m: gilua.measurement): string
---@param most? integer cells, the best of them (30)
---@return fun(individuals: Individual[]): Individual[]
function M.keep(cell_of, most)
  return function(individuals)
    local list, seen = {}, {}
    for _, individual in ipairs(steady.distinct(individuals)) do
      local cell = cell_of(individual.measurement)
      if not seen[cell] and #list < (most or 30) then list[#list + 1] = individual end
      seen[cell] = true
    end
    return list
  end
end

--- One of those that live, each as likely.
---@param living Individual[]
---@param rng table
---@return Individual
function M.choose(living, rng)
  return rng:pick(living)
end

return M
