-- minimise: finds the genes of an evolved genome that are needed. This is the post-evolution
-- clean-up of GECCO 2014, §4.3: genes are knocked out one at a time, from left to right, on one
-- fixed image.
--
-- `knockout` is the bare loop, for any score. `clean` measures: on a GPU it times every knock-out
-- in interleaved pairs with the evolved genome, and takes the noise of such a comparison from
-- comparing that genome with itself. Beyond the paper it also tries pairs of genes. Of two
-- redundant copies, each can go alone but not both (left to right finds that); two genes that each
-- spoil the answer alone may be dispensable together (§4.6.4, §4.6.6 raise the question).

local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local settings = require "gilua.base.settings"
local stats = require "gilua.base.stats"

local M = {}

--- A smaller fraction of the time is no gain, even if times are exact.
M.LEAST = 1e-4

local function without(genes, index, other)
  local rest = {}
  for i, gene in ipairs(genes) do
    if i ~= index and i ~= other then rest[#rest + 1] = gene end
  end
  return rest
end

-- What is left of genes, with the settings gone that went with the one left out.
local function repaired(repair, shorter, genes)
  local list = genome.split(repair(genome.join(shorter), genome.join(genes)))
  return #list < #genes and list or shorter
end

--- One pass from left to right: a gene is left out for good where the score does not get worse by
--- more than `noise` without it. Never returns a genome that scores worse than the one given by
--- more than `noise`.
---@param text string the genome
---@param score fun(genome: string): number to be minimised; math.huge where unacceptable
---@param noise? number largest difference that means nothing (0: exact, as on device emu)
---@param worth? fun(gene: string): number what a gene has to bring to stay, where that is more than
---  the noise: a share of the score
---@param repair? fun(genome: string, parent: string): string sets what has to go with a gene
---  (gilua.search.linked)
---@return string shorter
function M.knockout(text, score, noise, worth, repair)
  local genes, best = genome.split(text), score(text)
  local i = 1
  while i <= #genes do
    local shorter = without(genes, i)
    if repair then shorter = repaired(repair, shorter, genes) end
    local without_it = score(genome.join(shorter))
    local least = math.max(noise or 0, worth and worth(genes[i]) * math.abs(best) or 0)
    if without_it <= best + least then
      genes, best = shorter, math.min(best, without_it)
    else
      i = i + 1
    end
  end
  return genome.join(genes)
end

--------------------------------------------------------------------------------------------------
-- Clean-up by measurement

---@class KnockOut
---@field gene string
---@field pass string "single" or "pair"
---@field with? string[] the other of a pair
---@field cost number fraction that it costs to lose it: 0.02 is 2 % slower; math.huge where wrong
---@field low number cost less 3 standard deviations of the noise
---@field high number
---@field ticks number without it
---@field status string
---@field right boolean
---@field kept boolean

local RULES = { sd = true, percent = true }

local function text_of(o, genes)
  return genome.join { o.base, genome.join(genes) }
end

-- How much slower `genes` are than the genome as evolved: fraction, or huge where wrong; and how
-- they ended.
local function cost_of(o, genes, m)
  if not fitness.right(m) then return math.huge, m.status end
  if m.genome == o.evolved then return 0, m.status end
  local c = o.farm:compare(text_of(o, genes), o.evolved, o.case, { pairs = o.comparisons })
  return c.status == "ok" and 1 / c.ratio - 1 or math.huge, c.status
end

-- Standard deviation of the ratio that comparing equal kernels gives. All comparisons are made: a
-- GPU's clock has steps, so that one of them alone may show no spread by chance.
local function noise(o)
  local list = {}
  for i = 1, o.repeats do
    local c = o.farm:compare(o.evolved, o.evolved, o.case, { pairs = o.comparisons, seed = i })
    if c.status ~= "ok" then
      fail("the evolved genome does not run on the case it is to be cleaned on "
        .. "(%s): %s", c.status, c.message)
    end
    list[i] = c.ratio
  end
  local mean, sum = stats.mean(list), 0
  for _, x in ipairs(list) do sum = sum + (x - mean) ^ 2 end
  return math.sqrt(sum / math.max(1, #list - 1))
end

-- Without a gene that harms the kernel is better than it was: what the others cost to lose is
-- measured against that from then on.
local function improve(o, s, genes)
  if s.cost < -o.sd * o.noise then o.evolved = text_of(o, genes) end
end

local function dispensable(o, cost)
  return cost <= (o.rule == "sd" and math.max(o.sd * o.noise, M.LEAST) or o.percent / 100)
end

-- The step of leaving out one gene, or two; kept says whether they stay.
local function step(o, genes, i, j)
  local rest = without(genes, i, j)
  local m = o.farm:evaluate({ text_of(o, rest) }, o.case)[1]
  local cost, status = cost_of(o, rest, m)
  local s = {
    gene = genes[i], pass = j and "pair" or "single", with = j and { genes[j] } or nil,
    cost = cost, low = cost - 3 * o.noise, high = cost + 3 * o.noise, ticks = m.ticks,
    status = status, right = cost < math.huge, kept = not dispensable(o, cost),
  }
  o.steps[#o.steps + 1] = s
  if o.on_step then o.on_step(s) end
  return s, rest
end

-- Left to right; a gene that goes is gone for those after it.
local function one_by_one(o, genes)
  local i = 1
  while i <= #genes do
    local s, rest = step(o, genes, i)
    if s.kept then
      i = i + 1
    else
      genes = rest
      improve(o, s, genes)
    end
  end
  return genes
end

-- Pairs in order, those first screened out that are wrong or clearly slower without them.
local function screened(o, genes)
  local pairs_of, texts = {}, {}
  for i = 1, #genes do
    for j = i + 1, #genes do
      pairs_of[#pairs_of + 1] = { i, j }
      texts[#texts + 1] = text_of(o, without(genes, i, j))
    end
  end
  local full = o.farm:evaluate({ o.evolved }, o.case)[1]
  local promising, room = {}, math.max(0.02, 6 * o.noise, 2 * o.percent / 100)
  for k, m in ipairs(o.farm:evaluate(texts, o.case)) do
    local near = m.ticks <= full.ticks * (1 + room)
    if near and fitness.right(m) then
      promising[#promising + 1] = pairs_of[k]
    end
  end
  return promising
end

-- Until no two genes can go together.
local function two_by_two(o, genes)
  local gone = true
  while gone and #genes > 1 do
    gone = false
    for _, pair in ipairs(screened(o, genes)) do
      local s, rest = step(o, genes, pair[1], pair[2])
      if not s.kept then
        genes, gone = rest, true
        improve(o, s, genes)
        break
      end
    end
  end
  return genes
end

local CLEAN = { base = "", rule = "sd", sd = 3, percent = 1, pairs = true, repeats = 10,
                comparisons = 100 }

--- Cleans an evolved genome on one fixed case. A gene stays where losing it makes the answer wrong
--- or costs more than `sd` standard deviations of the noise (rule "sd", §4.3), or more than
--- `percent` (rule "percent", RN/14/02 §6: 1 %). All costs are against the genome as evolved,
--- or the better one that leaving out a harmful gene gave, so that small ones do not add up unseen.
---@param options table { problem, farm, case, genome, base?, rule?, sd?, percent?, pairs?,
---  repeats?, comparisons?, on_step? } base: settings before the genes; repeats: comparisons of
---  the genome with itself; comparisons: interleaved pairs in each
---@return table { genome, rule, noise, full = { ticks, ns, low, high }, steps = KnockOut[], vital }
function M.clean(options)
  local o = settings.fill("gilua.minimise.clean", options, CLEAN,
    { "problem", "farm", "case", "genome", "on_step" })
  if not RULES[o.rule] then
    error(("gilua.minimise.clean: rule is \"sd\" or \"percent\", not '%s'"):format(o.rule), 2)
  end
  local genes = genome.split(o.genome)
  o.evolved, o.steps = text_of(o, genes), {}
  local full = o.farm:evaluate({ o.evolved }, o.case)[1]
  if not fitness.right(full) then
    fail("the evolved genome is not right on the case it is to be cleaned on "
      .. "(%s, largest error %g): %s", full.status, full.max_error, o.evolved)
  end
  o.noise = noise(o)
  repeat -- what goes may have been all that another gene was needed for
    local before = #genes
    genes = one_by_one(o, genes)
    if o.pairs and #genes == before then genes = two_by_two(o, genes) end
  until #genes == before
  return {
    genome = genome.join(genes), rule = o.rule, noise = o.noise, steps = o.steps, vital = genes,
    full = { ticks = full.ticks, ns = full.ns, low = full.ticks * (1 - 3 * o.noise),
             high = full.ticks * (1 + 3 * o.noise) },
  }
end

return M
