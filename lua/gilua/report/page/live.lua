-- live: report.html during a run. The whole page is written after the first generation, again
-- whenever writing takes less than SHARE of the time since the last, and at the end.

local census = require "gilua.report.census"
local evolve = require "gilua.search.evolve"
local explain = require "gilua.report.explain"
local host = require "gilua.base.host"
local html = require "gilua.report.page.html"
local laboratory = require "gilua.report.page.laboratory"
local lineage = require "gilua.report.lineage"
local telling = require "gilua.report.telling"

local M = {}

M.FILE = "report.html"

local SHARE = 0.01

--------------------------------------------------------------------------------------------------
-- Writing, and when

---@class LivePage
---@field folder ResultFolder
local Page = {}
Page.__index = Page

--- The page of a folder, which has but one.
---@param folder ResultFolder
---@return LivePage
function M.page(folder)
  folder.page = folder.page or setmetatable({ folder = folder, last = host.seconds(), longest = 0,
    cost = 0 }, Page)
  return folder.page
end

--- May it be written again without costing more than its share?
---@return boolean
function Page:is_due()
  return host.seconds() - self.last >= self.cost / SHARE
end

local function clamped(x, low, high) return math.max(low, math.min(high, x)) end

-- What it says of a run that is on: how long a reader has to wait for the next one at most.
function Page:under_way(text)
  local now = os.time()
  return { on = true, text = text, folder = self.folder.dir, written = now,
    when = os.date("%Y-%m-%d %H:%M:%S", now), every = clamped(self.longest / 2, 2, 30),
    patience = math.max(60, 5 * self.longest) }
end

--- Writes it, and measures what that costs.
---@param e table of gilua.html
---@param state { text: string, on: boolean?, stopped: string? }
function Page:write(e, state)
  local began = host.seconds()
  self.longest = math.max(self.longest, began - self.last)
  e.state = state.on and self:under_way(state.text) or { on = false, text = state.text,
    stopped = state.stopped, folder = self.folder.dir }
  self.folder:write(M.FILE, html.page(e))
  self.last = host.seconds()
  self.cost = self.last - began
end

--------------------------------------------------------------------------------------------------
-- What is on it

--- What a farm runs on.
---@param farm table
---@return string
function M.description(farm)
  return farm.description and farm:description() or farm.device
end

-- What right answers do not tell.
local function marks(run, result)
  local list = {}
  local function lines(numbers, text)
    if numbers and #numbers > 0 then
      list[#list + 1] = text:format(#numbers > 1 and "s" or "", table.concat(numbers, ", "))
    end
  end
  lines(result.untold, "Line%s %s changed where the data do not notice a change: right answers say "
    .. "nothing about it.")
  lines(result.untested, "Line%s %s changed, and not (or only in part) reached by the small case.")
  for _, promise in ipairs(result.promises or {}) do
    list[#list + 1] = ("It promises %s."):format(promise)
  end
  for _, promise in ipairs(result.promised or {}) do
    list[#list + 1] = ("It promises %s."):format(promise)
  end
  local summary = telling.summary(run)
  if summary then list[#list + 1] = summary .. "." end
  return list
end

-- Words and difference of a genome, which take a while and seldom change.
local function explained(o, problem, genome)
  if not o.explained or o.explained.genome ~= genome then
    o.explained = { genome = genome, genes = explain.genome(problem, genome),
      diff = explain.difference(problem, genome) }
  end
  return o.explained
end

local function winner_of(o, run, result)
  local words = explained(o, run.problem, result.best.genome)
  return {
    genome = words.genome, genes = words.genes, diff = words.diff, ns = result.best.ns,
    ticks = result.best.ticks, registers = result.best.registers, default_ns = result.baseline.ns,
    default_ticks = result.baseline.ticks, speedup = result.speedup, low = result.low,
    high = result.high, pairs = result.pairs, from = result.from, case = result.case,
    unseen = result.unseen, so_far = not (result.unseen or result.again) or nil,
    marks = marks(run, result),
  }
end

-- How much faster one of a population was than the unmodified kernel of its generation; the winner,
-- as it was claimed.
local function gains(run, result)
  local ticks, finals = {}, { finalist = true, best = true, ["knock-out"] = true }
  for _, record in ipairs(run.records) do ticks[record.generation] = record.baseline.ticks end
  return function(row)
    if row.id == result.id and (result.unseen or result.again) then return result.speedup end
    local base = not finals[row.birth] and ticks[row.generation]
    return base and row.status == "ok" and row.ticks and base / row.ticks or nil
  end
end

local function evolution_of(run)
  local parents = run.parents and #run.parents
  return {
    records = census.rows(run), population = run.scheme.population, seed = run.seed,
    generations = run.scheme.generations, evaluations = run.evaluations, rejected = run.rejected,
    duplicates = evolve.spent(run).duplicates, parents = parents,
  }
end

--- The ancestors of a run's best, from the archive; nil where it has none.
---@param past table the run's gilua.history observer
---@param run Run
---@return table? as gilua.lineage has it
function M.lineage(past, run)
  local result = run.result or evolve.so_far(run)
  if not (past.archive and result and result.id) then return nil end
  local line = lineage.of(past.archive, past.id, result.id, gains(run, result))
  if line and not (result.unseen or result.again) then line.of = "the best so far" end
  return line
end

-- Every mutant of a run, as the page keeps it; nil where it has no archive.
local function laboratory_of(o, run)
  local result, past = run.result or evolve.so_far(run), o.past
  if not past.archive then return nil end
  o.stories = o.stories or {}
  return laboratory.saved(past.archive, past.id, {
    name = ("%s, seed %d"):format(run.problem.title or run.problem.name, run.seed),
    device = M.description(run.scheme.farm), ended = run.result ~= nil and not run.stopped,
    genome = result and result.best.genome, problem = run.problem, known = o.stories })
end

--- The page of a run of one's own.
---@param run Run
---@param parts table `evolution`, `search` and `winner`
---@return table
function M.own_page(run, parts)
  local problem, farm = run.problem, run.scheme.farm
  return {
    title = problem.title or problem.name, device = M.description(farm), seed = run.seed,
    emulated = farm.device == "emu", evolution = parts.evolution, search = parts.search,
    winner = parts.winner, front = run.result and run.result.front,
    interactions = run.result and run.result.interactions,
  }
end

local function state_of(run)
  local text = ("%d of %d generations are complete"):format(#run.records, run.scheme.generations)
  if run.stopped then return { text = text, stopped = run.stopped.message } end
  return { text = text, on = not run.result }
end

--- An observer that keeps the page of a run.
---@param page LivePage
---@param past table the run's gilua.history observer
---@param options? { page?: fun(run: Run, parts: table): table, table? } page: the table of the
---  page, made of the parts `evolution`, `search` and `winner`, and its state where that is not the
---  run's
---@return table observer with write(run, always), which the caller may call at other times, too
function M.observer(page, past, options)
  local counted = census.observer()
  local o = { on_generation = counted.on_generation, past = past }
  local make = options and options.page or M.own_page

  function o.parts(run)
    local result = run.result or evolve.so_far(run)
    local search = counted.result()
    search.lineage = M.lineage(o.past, run)
    search.laboratory = laboratory_of(o, run)
    return { evolution = evolution_of(run), search = search,
      winner = result and winner_of(o, run, result) }
  end

  function o.write(run, always)
    if #run.records == 0 or not (always or page:is_due()) then return end
    local e, state = make(run, o.parts(run))
    state = state or state_of(run)
    local farm = run.scheme.farm
    e.cluster = state.on and farm.cluster and farm:cluster() or nil
    page:write(e, state)
  end

  return o
end

return M
