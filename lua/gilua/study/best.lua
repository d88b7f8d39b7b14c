-- best: keeps the best right genome that any step of a study has found. Each step offers its
-- result: tuning, every evolution, every random search, the clean-up, the second tuning. An offer
-- is measured on the fixed case at once, so a study that is stopped still has the best so far.
-- Before the validation the offers are compared on a case that none of them has seen. If the first
-- is wrong on a case of the validation, the next takes its place.

local gi = require "gilua"
local genome = require "gilua.search.genome"

local M = {}

---@class Offer
---@field from string where it was found, in words
---@field genome string all of it, with its settings
---@field right boolean on the fixed case
---@field status string
---@field speedup? number there
---@field ratio? number in turn with the kernel as it is, on the case of the comparison
---@field low? number
---@field high? number
---@field taken? boolean it is the winner
---@field refused? string why it is not, though nothing is faster

--- Genomes one after the other; settings that are overridden, or are the default, are left out.
---@param study Study
---@param ... string
---@return string
function M.joined(study, ...)
  local default, kept = {}, {}
  for _, parameter in ipairs(study._problem.parameters) do
    if not parameter.switch then default[parameter.name] = tostring(parameter.default) end
  end
  for _, gene in ipairs(genome.split(genome.last_settings(genome.join { ... }))) do
    local name, value = gene:match("^([%a_][%w_]*)=(.*)$")
    if not name or default[name] ~= value then kept[#kept + 1] = gene end
  end
  return genome.join(kept)
end

-- The kernel as it is, where nothing was found, and a genome that no step offered (a study's own
-- steps may set one).
local function unoffered(study)
  return { genome = study._final or "", from = study._final and "a step of the study"
    or gi.evolve.AS_IT_IS, right = true, status = "ok" }
end

local function find(study, text)
  for _, offer in ipairs(study.offers or {}) do
    if offer.genome == text then return offer end
  end
end

--- What the study's folder tells of its best, from now on.
---@param study Study
---@param offer Offer
---@param claim { speedup: number?, case: string?, unseen: boolean? }
local function take(study, offer, claim)
  local problem, measured = study._problem, study._farm:evaluate({ offer.genome, "" },
    study.fixed_case)
  local m, base = measured[1], measured[2]
  for _, other in ipairs(study.offers or {}) do other.taken = other == offer or nil end
  study._final = offer.genome
  study._claim = { baseline = base, best = m }
  study.winner = {
    genome = offer.genome, from = offer.from, genes = gi.explain.genome(problem, offer.genome),
    ticks = m.ticks, ns = m.ns, registers = m.registers, default_ns = base.ns,
    default_ticks = base.ticks, speedup = claim.speedup, case = claim.case, unseen = claim.unseen,
    diff = gi.explain.difference(problem, offer.genome),
  }
  if study.floor then study.floor.ratio = m.ns / study.floor.ns end
end

-- The fastest by a figure; the later of equals, which a later step made of the earlier.
local function fastest(offers, figure)
  local best
  for _, offer in ipairs(offers) do
    if offer.right and offer[figure] and not (best and best[figure] > offer[figure]) then
      best = offer
    end
  end
  return best
end

--- A step has found something.
---@param study Study
---@param text string genome
---@param from string
---@return Offer? offer none of what was offered before, nor of the kernel as it is
function M.offer(study, text, from)
  study.offers = study.offers or {}
  text = M.joined(study, text)
  if text == "" or find(study, text) then return end
  local measured = study._farm:evaluate({ text, "" }, study.fixed_case)
  local right, case = gi.fitness.right(measured[1]), study._farm:case_info().name
  local offer = { from = from, genome = text, right = right, status = measured[1].status,
    speedup = right and measured[2].ticks / measured[1].ticks or nil }
  table.insert(study.offers, offer)
  local best = fastest(study.offers, "speedup")
  if best then take(study, best, { speedup = best.speedup, case = case, unseen = false }) end
  return offer
end

--------------------------------------------------------------------------------------------------
-- The comparison

-- On a GPU in turn with the kernel as it is.
local function compare(study, case)
  for _, offer in ipairs(study.offers) do
    local m = study._farm:evaluate({ offer.genome }, case)[1]
    local c = study._farm:compare(offer.genome, "", case)
    offer.ratio, offer.low, offer.high, offer.status = c.ratio, c.low, c.high, c.status
    offer.right = offer.right and c.status == "ok" and gi.fitness.right(m)
  end
end

-- The last offer went through all steps: another has to be measurably faster.
local function champion(study, case)
  local last = study.offers[#study.offers]
  if not last.right then return fastest(study.offers, "ratio") end
  local best = last
  for _, offer in ipairs(study.offers) do
    if offer.right and offer ~= best then
      local c = study._farm:compare(offer.genome, best.genome, case)
      if c.status == "ok" and c.low > 1 then best = offer end
    end
  end
  return best
end

local OTHER = 1 << 40 -- seeds from here on are no run's

--- All offers meet on a new case.
---@param study Study
---@return Offer? best
function M.choose(study)
  if not study.offers or #study.offers == 0 then return nil end
  local case = study.new_case(1, gi.rng(OTHER + study.options.seed))
  compare(study, case)
  local best = champion(study, case)
  study.choice = study._farm:case_info().name
  if best then take(study, best, { speedup = best.ratio, case = study.choice, unseen = true }) end
  return best
end

--- What the validation says of the winner.
---@param study Study
function M.validated(study)
  local v, offer = study.validation, find(study, study._final) or unoffered(study)
  take(study, offer, { speedup = v.ratio and v.ratio.median, unseen = true,
    case = ("%d unseen cases"):format(#v.rows) })
  study.winner.right = v.all_right
end

--- Writes what the study's folder has of its best: best.cu, best.patch, result.json.
---@param study Study
function M.write(study)
  if not study._final then return end
  if not study.winner or study.winner.genome ~= study._final then
    take(study, unoffered(study), {})
  end
  gi.report.write_best(study._problem, study._final, study._folder, study._farm)
  if not study._first then return end
  local w, claim, run = study.winner, study._claim, study._first
  study._report.conclude(run, { case = w.case, unseen = w.unseen, evolved = study.evolved,
    baseline = claim.baseline, best = claim.best, speedup = w.speedup, from = w.from })
end

--- The winner is wrong where nothing before has looked: the next one that is right takes its place.
---@param study Study
---@param why string
---@return boolean there is one
function M.refuse(study, why)
  local refused = find(study, study._final)
  if not refused then return false end
  refused.right, refused.refused = false, why
  local figure = study.choice and "ratio" or "speedup"
  local best = fastest(study.offers, figure)
  if best then
    take(study, best, { speedup = best[figure], case = study.choice or study.winner.case,
      unseen = study.choice ~= nil })
  end
  return best ~= nil
end

return M
