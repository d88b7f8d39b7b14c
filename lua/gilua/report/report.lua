-- report: writes the folder of a run's results, as an observer of gilua.evolve.
--
--   report.html      everything as a page, during the run too (gilua.report.page.live)
--   result.json      the best mutant, its case and baseline, and what was tried
--   best.cu          the best kernel
--   best.patch       a unified diff that `patch` applies to the kernel
--   best.ptx         the best mutant's PTX, if it has genes below the source
--   generations.csv  one line a generation
--   problem.kept/    the problem as it was, listed in result.json (gilua.report.kept)
--   log.txt          events with their times, and every mutant that did not run, with its reason
--
-- All files are written during the run, the best so far after each generation, so a run that is
-- killed loses at most its last generation.
--
-- With the same seed, device "emu" and version all files have the same bytes, except for "seconds"
-- in result.json, log.txt, and the page of a run under way. In JSON an infinite error is null (the
-- status or the fraction unset says why); in CSV a missing value is empty.

local attempt = require "gilua.base.attempt"
local apart = require "gilua.base.apart"
local below = require "gilua.report.below"
local core = require "gilua.core"
local csv = require "gilua.base.csv"
local diff = require "gilua.base.diff"
local evolve = require "gilua.search.evolve"
local explain = require "gilua.report.explain"
local fitness = require "gilua.search.fitness"
local frontier = require "gilua.report.frontier"
local genome = require "gilua.search.genome"
local folders = require "gilua.report.folder"
local history = require "gilua.report.history"
local host = require "gilua.base.host"
local interactions = require "gilua.report.interactions"
local json = require "gilua.base.json"
local launches = require "gilua.transform.launch"
local lfs = require "lfs"
local kept = require "gilua.report.kept"
local live = require "gilua.report.page.live"
local progress = require "gilua.report.progress"
local roofline = require "gilua.base.roofline"
local runpath = require "gilua.base.runpath"
local streams = require "gilua.problem.streams"
local telling = require "gilua.report.telling"
local textfile = require "gilua.base.textfile"
local transformations = require "gilua.transform.gene"

local M = {}

--- Makes a folder and its parents (gilua.base.textfile).
M.make_folder = textfile.make_folder

--- Writes a whole file, or refuses with why not (gilua.base.textfile).
M.write = textfile.write

--- A unified diff of two texts (gilua.base.diff).
M.diff = diff.unified

--------------------------------------------------------------------------------------------------
-- best.cu and best.patch

--- best.cu and best.patch of a genome; where it has genes below the source, which these two know
--- nothing of, best.ptx. Where there is no source best.ptx and its own best.patch.
---@param problem table
---@param text string genome
---@param folder ResultFolder
---@param farm? gilua.farm
function M.write_best(problem, text, folder, farm)
  local patch, source = explain.difference(problem, text)
  if not patch then error("cannot write the best kernel: " .. source, 0) end
  folder:write("best.patch", patch)
  if problem.is_ptx then
    folder:drop "best.cu"
    return folder:write("best.ptx", source)
  end
  folder:write("best.cu", source)
  if not below.has(text) then return folder:drop "best.ptx" end
  local ptx, failed = farm:ptx(text)
  if not ptx then error("cannot write the best kernel: " .. failed, 0) end
  folder:write("best.ptx", ptx)
end

--------------------------------------------------------------------------------------------------
-- result.json

local function measured(m)
  if not m then return json.null end
  local fields = {
    { "genome", m.genome }, { "status", m.status }, { "ticks", m.ticks },
    { "max_error", m.max_error }, { "mean_error", m.mean_error }, { "off", m.off },
    { "wrong", m.wrong }, { "unset", m.unset }, { "nan", m.nan }, { "n", m.n },
    { "registers", m.registers },
    { "shared_bytes", m.shared_bytes }, { "ns", m.baseline_ns and m.ns or nil },
    { "rel_error", m.rel_error }, { "samples", m.samples and #m.samples or nil },
  }
  if m.penalty then fields[#fields + 1] = { "penalty", m.penalty } end
  return json.object(fields)
end

local function generation_speedups(run)
  local list = {}
  for i, record in ipairs(run.records) do list[i] = record.speedup or json.null end
  return json.array(list)
end

-- Why a run has no more than its best so far; nil where it has come to its end.
local function stopped(run)
  if run.stopped then return run.stopped.message end
  if run.result then return nil end
  return ("under way: %d of %d generations are complete"):format(#run.records,
    run.scheme.generations)
end

-- What transformations want of the launch of the best, in words; nil where nothing.
local function launch_of(run, result)
  local best = result.best and result.best.genome
  if not best or not transformations.any(best) then return nil end
  local _, detail = run.problem.grammar:apply(best)
  local wanted = type(detail) == "table" and detail.params[launches.PARAMETER]
  return wanted and launches.words(wanted) or nil
end

-- On which streams the kernels of the best go, in words; nil where all go on one.
local function streams_of(run, result)
  local recorded = run.problem.definition and run.problem.definition.recorded
  local best = result.best and result.best.genome
  if not recorded or not best then return nil end
  local _, detail = run.problem.grammar:apply(best)
  local n = type(detail) == "table" and math.tointeger(tonumber(detail.params[streams.PARAMETER]))
  return n and n > 1 and json.array(recorded:stream_words(n)) or nil
end

-- How near the unmodified kernel and the best are to the least time of their work; nil: not known.
local function limits_of(result)
  local limits = result.best and roofline.of_result(result)
  if not limits then return nil end
  local list = {}
  for i, limit in ipairs(limits) do
    list[i] = json.object { { "times", limit.times }, { "by", limit.by }, { "ns", limit.ns } }
  end
  return json.array(list)
end

--- What result.json says, as a value for json.encode.
---@param run Run
---@param total_seconds number
---@param keeps? table what was kept of the problem
---@param dir? string the run's folder
---@return table
function M.result(run, total_seconds, keeps, dir)
  local result, farm = run.result or evolve.so_far(run) or {}, evolve.spent(run)
  local seconds = { total = total_seconds }
  for stage, value in pairs(farm.seconds or {}) do seconds[stage] = value end
  local versions = host.versions()
  return json.object {
    { "gilua", versions.gilua }, { "seed", run.seed }, { "device", run.scheme.farm.device },
    { "problem", run.problem.name },
    { "folder", dir and run.problem.dir and runpath.told(run.problem.dir, dir)
      or run.problem.dir },
    { "case", result.case }, { "case_unseen", result.unseen },
    { "baseline", measured(result.baseline) }, { "best", measured(result.best) },
    { "from", result.from }, { "genes", result.best and genome.length(result.best.genome) },
    { "speedup", result.speedup }, { "speedup_low", result.low }, { "speedup_high", result.high },
    { "pairs", result.pairs }, { "evolved", result.evolved }, { "launch", launch_of(run, result) },
    { "streams", streams_of(run, result) }, { "limits", limits_of(result) },
    { "untested", result.untested and json.array(result.untested) },
    { "data", result.data }, { "untold", result.untold and json.array(result.untold) },
    { "promises", result.promises and json.array(result.promises) },
    { "promised", result.promised and json.array(result.promised) },
    { "certificate", result.certificate }, { "small_certificate", result.small_certificate },
    { "other_data", result.other_data }, { "refused", result.refused },
    { "told_by_some", telling.value(run) },
    { "front", frontier.value(result.front) },
    { "interactions", interactions.value(result.interactions) },
    { "accepted", frontier.accepted(run.records) },
    { "compiler", core.options.compiler }, { "passes", core.options.passes },
    { "start", run.scheme.start },
    { "stopped", stopped(run) },
    { "population", run.scheme.population }, { "generations", #run.records },
    { "generation_speedups", generation_speedups(run) },
    { "evaluations", run.evaluations }, { "runs", farm.runs },
    { "duplicates", farm.duplicates or {} }, { "rejected", run.rejected },
    { "check", run.scheme.check }, { "restarts", farm.restarts },
    { "baseline_drift", farm.baseline }, { "seconds", seconds }, { "versions", versions },
    { "kept", keeps },
  }
end

--------------------------------------------------------------------------------------------------
-- generations.csv

local COLUMNS = {
  { "generation", function(r) return r.generation end },
  { "case", function(r) return r.case end },
  { "baseline_ticks", function(r) return r.baseline.ticks end },
  { "best_ticks", function(r) return r.best and r.best.measurement.ticks end },
  { "speedup", function(r) return r.speedup end },
  { "median_ticks", function(r) return r.median_ticks end },
  { "compiled", function(r) return r.compiled end },
  { "right", function(r) return r.right end },
  { "parents", function(r) return r.parents end },
  { "evaluations", function(r) return r.evaluations end },
  { "mean_length", function(r) return r.mean_length end },
  { "best_length", function(r) return r.best_length end },
  { "best_genome", function(r) return r.best and r.best.genome end },
}

local function csv_line(cell)
  local values = {}
  for i, column in ipairs(COLUMNS) do values[i] = cell(column) end
  return csv.line(values, #COLUMNS)
end

--- What agents that were lost, or whose messages were, have cost since `told`, a sentence for the
--- log; nil where it is nothing, or there are none.
local function agents_since(told, lost)
  local n = {}
  for what, all in pairs(lost) do n[what] = all - (told[what] or 0) end
  if (n.agents or 0) + (n.again or 0) + (n.twice or 0) == 0 then return nil end
  return ("%d agent%s gone or silent; %d job%s given out once more, %d done twice (%d of "
    .. "them measurements)"):format(n.agents, n.agents == 1 and "" or "s", n.again,
    n.again == 1 and "" or "s", n.twice, n.measured)
end

--------------------------------------------------------------------------------------------------
-- The observer

local function describe_reject(run, individual)
  local m = individual.measurement
  local message = m.message and ": " .. m.message:gsub("%s+$", ""):gsub("\n", "\n    ") or ""
  return ("generation %d: %s: %s%s\n"):format(run.generation, m.status, individual.genome, message)
end

-- How workers are lost, by the farm's names for it.
local LOSSES = {
  { "killed", "killed from outside, which no mutant is blamed for" },
  { "starved", "killed because the machine's memory ran out" },
  { "memory", "used more memory than a worker may" },
  { "timeout", "took more time than a job may" },
  { "died", "ended by a fault" },
  { "doubt", "ended because their compiler had failed" },
  { "context", "ended because a mutant's fault had broken their GPU's context" },
  { "stopped", "stopped half way" },
}

--- What became of workers since `told`, a sentence for the log; nil where nothing did.
local function losses_since(told, losses)
  local parts, all = {}, 0
  for _, loss in ipairs(LOSSES) do
    local n = (losses[loss[1]] or 0) - (told[loss[1]] or 0)
    if n > 0 then parts[#parts + 1] = ("%d %s"):format(n, loss[2]) end
    all = all + n
  end
  if all == 0 then return nil end
  return ("%d worker%s lost and replaced: %s"):format(all, all == 1 and "" or "s",
    table.concat(parts, "; "))
end

-- What is written as the run goes. Where the folder holds an earlier run's results, nothing is
-- before there is something to put in their place: until then it waits here.
local function writer(folder)
  local files, waiting = {}, { ["generations.csv"] = {}, ["log.txt"] = {} }
  local w = {}

  function w.begin()
    folder:begin()
    for name, texts in pairs(waiting) do
      files[name] = textfile.journal(folder:path(name))
      files[name]:add(table.concat(texts))
    end
    waiting = {}
  end

  function w.add(name, text)
    if waiting[name] then table.insert(waiting[name], text) else files[name]:add(text) end
  end

  function w.close()
    for _, file in pairs(files) do file:close() end
  end

  return w
end

-- Of a run that is begun again: how many of its generations the folder tells of.
local function generations_known(folder)
  local path = folder.dir .. "/result.json"
  if not folder.resumed or not lfs.attributes(path) then return 0 end
  local result = json.decode(textfile.read(path, "the result"))
  return type(result) == "table" and math.tointeger(result.generations) or 0
end

-- What an observer keeps between events.
---@class gilua.report.Results
---@field folder ResultFolder
---@field files table of `writer`
---@field past table the observer that writes the archive
---@field page table the observer that writes report.html
---@field began number seconds
---@field known integer generations that an earlier result.json of this run tells of
---@field keeps table|false|nil what was kept of the problem; nil before the folder is begun
---@field written string? the genome in best.cu
---@field told { losses: table, lost: table } of workers and of agents, as the log has them
local Results = {}
Results.__index = Results

function Results:note(text, ...)
  self.files.add("log.txt", ("%8.1f s  %s\n"):format(host.seconds() - self.began,
    text:format(...)))
end

function Results:note_losses(run)
  local spent, told = evolve.spent(run), self.told
  local losses, lost = spent.losses or {}, spent.setbacks or {}
  local sentences = { losses_since(told.losses, losses), agents_since(told.lost, lost) }
  for _, sentence in pairs(sentences) do self:note("%s", sentence) end
  self.told = { losses = losses, lost = lost }
end

-- Begins the folder: from now on the results of an earlier run are replaced.
function Results:begin(run)
  if self.keeps ~= nil then return end
  self.files.begin()
  -- a problem without a definition has no files
  self.keeps = run.problem.definition and kept.write(run.problem, self.folder) or false
end

function Results:write_result(run)
  local value = M.result(run, host.seconds() - self.began, self.keeps or nil, self.folder.dir)
  self.folder:write("result.json", json.encode(value) .. "\n")
end

-- Writes the best so far, or in the end.
function Results:save(run)
  local result = run.result or evolve.so_far(run)
  apart { function()
    if not result or result.best.genome == self.written then return end
    M.write_best(run.problem, result.best.genome, self.folder, run.scheme.farm)
    self.written = result.best.genome
  end, function() self:write_result(run) end }
end

function Results:start(run)
  self.files.add("generations.csv", csv_line(function(column) return column[1] end))
  self:note("%s, seed %d, device %s, population %d, %d generations", run.problem.name, run.seed,
    run.scheme.farm.device or "?", run.scheme.population, run.scheme.generations)
  if not self.folder:holds_earlier() then self:begin(run) end
  self.past.on_start(run)
  if self.folder.changed then
    self:note("what the last run here found out is not asked: %s", self.folder.changed)
  end
end

function Results:archive_result(...) self.past.on_result(...) end
function Results:archive_generation(...) self.past.on_generation(...) end
function Results:archive_end(...) self.past.on_end(...) end

function Results:log_result(run, individual)
  if individual.measurement.status ~= "ok" then
    self.files.add("log.txt", describe_reject(run, individual))
  end
end

function Results:save_if_asked(run)
  if self.keeps ~= nil and #run.records > 0 and core.system.asked() then
    self:save(run)
    self:note("asked by SIGUSR1: the best so far is saved")
  end
end

function Results:log_generation(run, record)
  self.files.add("generations.csv", csv_line(function(column) return column[2](record) end))
  self:note("%s", progress.generation_line(run, record))
  self:note_losses(run)
end

function Results:save_generation(run, record)
  if record.generation < self.known then return end -- what is there tells of more
  self:begin(run)
  self:save(run)
end

-- The page is of all that happened, also of what an earlier beginning of this run kept.
function Results:show_generation(run, record)
  self.page.on_generation(run, record)
  if record.generation >= self.known then self.page.write(run) end
end

function Results:save_end(run)
  if run.result and (#run.records >= self.known or not run.stopped) then self:begin(run) end
  if self.keeps ~= nil then self:save(run) end
end

function Results:show_end(run)
  if self.keeps ~= nil then self.page.write(run, true) end
end

function Results:log_end(run)
  if self.keeps == nil then return end
  self:note_losses(run)
  if run.stopped then self:note("stopped: %s", run.stopped.message) end
  local told_by_some = telling.summary(run)
  if told_by_some then self:note("%s", told_by_some) end
  if run.result then
    local right = fitness.right(run.result.best)
    self:note("best: %.3fx on %s, %s: %s", run.result.speedup, run.result.case,
      right and "right" or "wrong", run.result.best.genome)
  end
  self.files.close()
end

-- What each event has done, in this order. Where one part fails, the others are done.
local EVENTS = {
  on_result = { Results.archive_result, Results.log_result, Results.save_if_asked },
  on_generation = { Results.archive_generation, Results.log_generation, Results.save_generation,
    Results.show_generation },
  on_end = { Results.archive_end, Results.save_end, Results.show_end, Results.log_end },
}

--- Makes an observer that keeps what a run finds in a folder, as it goes and at its end.
---@param folder ResultFolder
---@param options? table of the page (gilua.live)
---@return table observer for the scheme's `observers`; dir: where the results are
function M.observer(folder, options)
  local past = history.observer(folder)
  local results = setmetatable({ folder = folder, files = writer(folder), past = past,
    page = live.observer(live.page(folder), past, options), began = host.seconds(),
    known = generations_known(folder), told = { losses = {}, lost = {} } }, Results)
  local o = { dir = folder.dir, folder = folder, past = past }
  function o.on_start(run) results:start(run) end
  for event, parts in pairs(EVENTS) do
    o[event] = function(...) apart(parts, results, ...) end
  end

  --- Writes result.json again, of a run whose winner is what others made of it.
  function o.conclude(run, result)
    results:write_result(setmetatable({ result = result }, { __index = run }))
  end

  return o
end

--- Opens the folder of a run's results: one that is refused is refused before the work begins.
---@param given? string the folder that a person chose (--out)
---@param usual? string the name of a new one, where none was chosen: "out/NAME-SEED"
---@return table? observer for the scheme's `observers`; dir: where the results are
---@return string? message
---@return string? code "io"
function M.open(given, usual)
  local opened, folder = attempt(folders.open, given, usual or "out/run")
  if not opened then return nil, tostring(folder), "io" end
  local o = M.observer(folder)
  local on_end = o.on_end
  function o.on_end(run)
    on_end(run)
    folder:close()
  end
  return o
end

return M
