-- report: the folder of results a run leaves, as an observer of gilua.evolve.
--
--   result.json      what was found, on which case, against what, and what was tried
--   best.cu          the best kernel
--   best.patch       a unified diff that `patch` applies to the kernel
--   generations.csv  one line a generation, written as the run goes
--   problem.kept/    the problem as it was, listed in result.json (gilua.report.kept)
--   log.txt          what happened when, and every mutant that did not run, with its reason
--
-- Given seed, device "emu" and the same version all of it is the same to the byte but for
-- "seconds" in result.json and for log.txt. In JSON an infinite error is null (the status or the
-- fraction unset says why); in CSV what does not exist is empty.

local fitness = require "gilua.search.fitness"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local kept = require "gilua.report.kept"
local progress = require "gilua.report.progress"
local shell = require "gilua.base.shell"
local textfile = require "gilua.base.textfile"

local M = {}

local FILES = { "result.json", "best.cu", "best.patch", "generations.csv", "log.txt" }

local function join(dir, name)
  return (dir:gsub("/+$", "")) .. "/" .. name
end

--- Makes a folder and its parents (gilua.base.textfile).
M.make_folder = textfile.make_folder

--- Writes a whole file, or refuses with why not (gilua.base.textfile).
M.write = textfile.write

--------------------------------------------------------------------------------------------------
-- best.cu and best.patch

--- A unified diff of two texts, both labelled with the same file name, by the program `diff`.
--- "" where they are equal.
---@param old string
---@param new string
---@param label string
---@return string
function M.diff(old, new, label)
  local old_path, new_path = os.tmpname(), os.tmpname()
  M.write(old_path, old)
  M.write(new_path, new)
  local name = shell.quoted(label)
  local pipe <close> = assert(io.popen(("diff -u --label %s --label %s %s %s"):format(
    name, name, shell.quoted(old_path), shell.quoted(new_path))))
  local text = pipe:read("a")
  local _, how, code = pipe:close()
  os.remove(old_path)
  os.remove(new_path)
  if how ~= "exit" or code > 1 then error("the program 'diff' failed; is it installed?", 0) end
  return text
end

--- best.cu and best.patch of a genome.
---@param problem table
---@param genome string
---@param dir string
function M.write_best(problem, genome, dir)
  local source, why = problem.grammar:apply(genome, true)
  if not source then error("cannot write the best kernel: " .. why, 0) end
  M.write(join(dir, "best.cu"), source)
  local label = (problem.source_path or "kernel.cu"):match("[^/]*$")
  M.write(join(dir, "best.patch"), M.diff(problem.source, source, label))
end

--------------------------------------------------------------------------------------------------
-- result.json

local function measured(m)
  if not m then return json.null end
  local fields = {
    { "genome", m.genome }, { "status", m.status }, { "ticks", m.ticks },
    { "max_error", m.max_error }, { "mean_error", m.mean_error }, { "wrong", m.wrong },
    { "unset", m.unset }, { "n", m.n }, { "registers", m.registers },
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

--- What result.json says, as a value for json.encode.
---@param run Run
---@param total_seconds number
---@param keeps? table what was kept of the problem
---@return table
function M.result(run, total_seconds, keeps)
  local result, farm = run.result or {}, run.scheme.farm:stats()
  local seconds = { total = total_seconds }
  for stage, value in pairs(farm.seconds or {}) do seconds[stage] = value end
  local versions = host.versions()
  return json.object {
    { "gilua", versions.gilua }, { "seed", run.seed }, { "device", run.scheme.farm.device },
    { "problem", run.problem.name }, { "folder", run.problem.dir },
    { "case", result.case }, { "case_unseen", result.unseen },
    { "baseline", measured(result.baseline) }, { "best", measured(result.best) },
    { "speedup", result.speedup }, { "speedup_low", result.low }, { "speedup_high", result.high },
    { "pairs", result.pairs }, { "evolved", result.evolved },
    { "untested", result.untested and json.array(result.untested) },
    { "data", result.data }, { "untold", result.untold and json.array(result.untold) },
    { "start", run.scheme.start },
    { "stopped", run.stopped and run.stopped.message },
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

local function csv_field(value)
  if value == nil then return "" end
  if type(value) == "number" then return json.number(value) end
  if value:find('[,"\n\r]') then return '"' .. value:gsub('"', '""') .. '"' end
  return value
end

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
  local fields = {}
  for i, column in ipairs(COLUMNS) do fields[i] = csv_field(cell(column)) end
  return table.concat(fields, ",") .. "\n"
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

local function observer(dir, csv, log)
  local clock = host.seconds
  local began = clock()

  local function note(text, ...)
    log:write(("%8.1f s  "):format(clock() - began), text:format(...), "\n")
    log:flush()
  end

  local told = {} -- of the losses of workers

  local function note_losses(run)
    local losses = run.scheme.farm:stats().losses or {}
    local sentence = losses_since(told, losses)
    if sentence then note("%s", sentence) end
    told = losses
  end

  local o, keeps = { dir = dir }, nil

  function o.on_start(run)
    keeps = run.problem.definition and kept.write(run.problem, dir) -- one without has no files
    note("%s, seed %d, device %s, population %d, %d generations", run.problem.name, run.seed,
      run.scheme.farm.device or "?", run.scheme.population, run.scheme.generations)
  end

  function o.on_result(run, individual)
    if individual.measurement.status ~= "ok" then log:write(describe_reject(run, individual)) end
  end

  function o.on_generation(run, record)
    csv:write(csv_line(function(column) return column[2](record) end))
    csv:flush()
    note("%s", progress.generation_line(run, record))
    note_losses(run)
  end

  function o.on_end(run)
    note_losses(run)
    if run.stopped then note("stopped: %s", run.stopped.message) end
    if run.result then
      M.write_best(run.problem, run.result.best.genome, dir)
      local right = fitness.right(run.result.best, run.problem.tolerance)
      note("best: %.3fx on %s, %s: %s", run.result.speedup, run.result.case,
        right and "right" or "wrong", run.result.best.genome)
    end
    M.write(join(dir, "result.json"), json.encode(M.result(run, clock() - began, keeps)) .. "\n")
    csv:close()
    log:close()
  end

  return o
end

--- Makes the folder (and its parents) and opens what is written as the run goes, so that a folder
--- that cannot be written is refused before the work begins. Results of an earlier run in it go.
---@param dir string
---@return table? observer for the scheme's `observers`
---@return string? message
---@return string? code "io"
function M.open(dir)
  local made, why = M.make_folder(dir)
  local csv, log
  if made then csv, why = io.open(join(dir, "generations.csv"), "w") end
  if csv then log, why = io.open(join(dir, "log.txt"), "w") end
  if not log then
    if csv then csv:close() end
    return nil, ("cannot write results to '%s': %s; choose another folder with --out"):format(
      dir, tostring(why):gsub("^.*: ", "")), "io"
  end
  for _, name in ipairs(FILES) do
    if name:find("^[rb]e") then os.remove(join(dir, name)) end
  end
  csv:write(csv_line(function(column) return column[1] end))
  return observer(dir, csv, log)
end

return M
