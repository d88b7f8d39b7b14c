-- epistasis: the effects of a winner's genes alone, in pairs, and left out (GEVO, §5; in biology
-- the word means genes whose effects do not add up).
--
-- The effect of a set of genes is the logarithm of the time with them over the unmodified kernel's.
-- The interaction of two genes is the effect of both minus the two single effects: 0 if they are
-- independent, below 0 if they help each other, above 0 if they hinder each other. If one is wrong
-- alone and both are right, one needs the other.

local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local settings = require "gilua.base.settings"

local M = {}

---@class Epistasis
---@field genes string[]
---@field all table what the whole genome does: as alone[i]
---@field alone table[] of each gene: { right, status, effect?: number } effect: of right ones
---@field without table[] the same of the others, each left out
---@field pairs table[][] pairs[i][j], i < j: as alone[i], with
---  interaction: number where all three are right; kind: "add" (within `least`), "help", "hinder",
---  "need" (right together, one of them wrong alone), "clash" (right alone, wrong together) or
---  "wrong"
---@field left_out integer genes beyond `most`

local function kind_of(pair, a, b, least)
  if pair.right and not (a.right and b.right) then return "need" end
  if not pair.right then return a.right and b.right and "clash" or "wrong" end
  if math.abs(pair.interaction) <= least then return "add" end
  return pair.interaction < 0 and "help" or "hinder"
end

local function outcome(m, base)
  local right = fitness.right(m)
  return { right = right, status = m.status,
           effect = right and math.log(m.ticks / base.ticks) or nil }
end

local function without(genes, i)
  local rest = {}
  for k, gene in ipairs(genes) do
    if k ~= i then rest[#rest + 1] = gene end
  end
  return genome.join(rest)
end

-- Every genome to be measured, in order; the first is the unmodified kernel.
local function genomes_of(o, genes)
  local list = { o.base, genome.join { o.base, o.genome } }
  local function add(...) list[#list + 1] = genome.join { o.base, ... } end
  for i in ipairs(genes) do
    add(genes[i])
    add(without(genes, i))
  end
  for i = 1, #genes do
    for j = i + 1, #genes do add(genes[i], genes[j]) end
  end
  return list
end

--- Measures the genes of a genome on one case: alone, in pairs, and left out one at a time.
---@param options table { farm, case, genome, base?, most?, least? } base: settings before the
---  genes; most: genes that are taken, the first ones (12); least: an interaction that is none
---  (0.001)
---@return Epistasis
function M.of(options)
  local o = settings.fill("gilua.epistasis.of", options, { base = "", most = 12, least = 1e-3 },
    { "farm", "case", "genome" })
  local all = genome.split(o.genome)
  local genes = table.move(all, 1, math.min(#all, o.most), 1, {})
  local measured = o.farm:evaluate(genomes_of(o, genes), o.case)
  local base, next_one = measured[1], 2
  local function taken()
    next_one = next_one + 1
    return outcome(measured[next_one - 1], base)
  end
  local e = { genes = genes, all = taken(), alone = {}, without = {}, pairs = {},
    left_out = #all - #genes }
  for i in ipairs(genes) do e.alone[i], e.without[i] = taken(), taken() end
  for i = 1, #genes do
    e.pairs[i] = {}
    for j = i + 1, #genes do
      local pair, a, b = taken(), e.alone[i], e.alone[j]
      if pair.right and a.right and b.right then
        pair.interaction = pair.effect - a.effect - b.effect
      end
      pair.kind = kind_of(pair, a, b, o.least)
      e.pairs[i][j] = pair
    end
  end
  return e
end

return M
