--- bombs: mutants that kept a compiler busy until its time was over. The genes at fault are learnt,
--- and mutants that contain them are not compiled again.
--
-- A gene of a bomb is cleared when another mutant that contains it was compiled. If one gene of the
-- bomb is left, that gene is at fault; otherwise all that are left are, together. What is learnt
-- counts from the next evaluation on, so that a mutant's result does not depend on the order in
-- which mutants were compiled.

local genomes = require "gilua.search.genome"

local M = {}

---@class gilua.bombs
local Bombs = {}
Bombs.__index = Bombs

---@return gilua.bombs
function M.new()
  return setmetatable({ sound = {}, causes = {}, known = {} }, Bombs)
end

--- What is to blame for a bomb: the one of its genes that nobody else has shown to be sound; else
--- all of them.
local function cause_of(self, genes)
  local suspects, seen = {}, {}
  for _, gene in ipairs(genes) do
    if not self.sound[gene] and not seen[gene] then suspects[#suspects + 1] = gene end
    seen[gene] = true
  end
  return #suspects == 1 and suspects or genes
end

--- Learns what came of genomes.
---@param compiled string[] that a compiler came to an end with
---@param exploded string[] that it did not
function Bombs:learn(compiled, exploded)
  for _, genome in ipairs(compiled) do
    for _, gene in ipairs(genomes.split(genome)) do self.sound[gene] = true end
  end
  for _, genome in ipairs(exploded) do
    local cause = cause_of(self, genomes.split(genome))
    local text = table.concat(cause, " ")
    if #cause > 0 and not self.known[text] then
      self.known[text] = true
      table.insert(self.causes, cause)
    end
  end
end

local function has_all(own, cause)
  for _, gene in ipairs(cause) do
    if not own[gene] then return false end
  end
  return true
end

--- What of a genome has kept a compiler busy for too long before; nil: nothing that is known.
---@param genome string
---@return string? genes
function Bombs:cause_in(genome)
  if #self.causes == 0 then return nil end
  local own = {}
  for _, gene in ipairs(genomes.split(genome)) do own[gene] = true end
  for _, cause in ipairs(self.causes) do
    if has_all(own, cause) then return table.concat(cause, " ") end
  end
  return nil
end

return M
