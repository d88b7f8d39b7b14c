-- tuned: writes the folder of a tuning's results, in the form of a run's: result.json with the best
-- settings, best.cu and best.patch, a copy of the problem, and every setting in results.t4.json and
-- in results.cache.json, which Kernel Tuner's simulation mode reads.

local evolve = require "gilua.search.evolve"
local explain = require "gilua.report.explain"
local genome = require "gilua.search.genome"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local kept = require "gilua.report.kept"
local live = require "gilua.report.page.live"
local report = require "gilua.report.report"
local t4 = require "gilua.report.t4"
local tuningcache = require "gilua.report.tuningcache"

local M = {}

local function measured(row)
  return row and json.object {
    { "genome", row.genome }, { "status", row.status }, { "right", row.right },
    { "message", row.message }, { "ticks", row.ticks }, { "ns", row.ns },
    { "rel_error", row.rel_error }, { "max_error", row.max_error }, { "registers", row.registers },
  } or json.null
end

--- The best settings of a tuning as a genome; "" where the kernel as it is has them.
---@param result Tuning with a best row
---@return string
function M.genome(result)
  return result.best == result.default and "" or result.best.genome
end

local function winner(result)
  local best = measured(result.best)
  best.pairs[1] = { "genome", M.genome(result) }
  return best
end

--- Where the best settings come from, in words.
---@param result Tuning
---@return string
function M.from(result)
  return M.genome(result) == "" and evolve.AS_IT_IS or "tuning"
end

-- The file whose word some of the rows are.
local function source(cache)
  return cache and json.object { { "file", cache.path }, { "device", cache.device },
    { "taken", cache.taken } } or json.null
end

local function described(result, o, keeps)
  local rows, versions = {}, host.versions()
  for i, row in ipairs(result.rows) do rows[i] = measured(row) end
  return json.object {
    { "gilua", versions.gilua }, { "seed", o.seed }, { "device", o.farm.device },
    { "problem", o.problem.name }, { "folder", o.problem.dir }, { "case", result.case },
    { "baseline", measured(result.default) }, { "best", winner(result) },
    { "from", M.from(result) },
    { "genes", genome.length(M.genome(result)) },
    { "speedup", result.speedup }, { "parameters", json.array(result.parameters) },
    { "settings", result.total }, { "sampled", result.sampled }, { "stopped", o.stopped },
    { "cache", source(o.cache) },
    { "rows", json.array(rows) },
    { "kept", keeps }, { "versions", versions },
  }
end

--- Writes every setting, in the formats that other tuners read: NAME.t4.json and NAME.cache.json.
--- The latter has no room for a parameter that is called `time`, say, and is left out then.
---@param result Tuning
---@param world TuningWorld
---@param folder ResultFolder
---@param name string
function M.write_settings(result, world, folder, name)
  folder:write(name .. ".t4.json", t4.encode(result))
  if not tuningcache.taken(world.parameters) then
    folder:write(name .. ".cache.json", tuningcache.encode(result, world))
  end
end

--- The page of a tuning; of one that has measured nothing yet, its head.
---@param o { problem: gilua.problem, farm: table, seed: integer }
---@param result? Tuning
---@return table
function M.page(o, result)
  local problem = o.problem
  local e = { title = ("Tuning: %s"):format(problem.title or problem.name), seed = o.seed,
    device = live.description(o.farm), emulated = o.farm.device == "emu" }
  if not result then return e end
  e.tuning = { { title = result.sampled and "Settings" or "Every setting", result = result } }
  if not result.best then return e end
  local text, best, default = M.genome(result), result.best, result.default or {}
  e.winner = { genome = text, from = M.from(result), genes = explain.genome(problem, text),
    ns = best.ns, ticks = best.ticks, registers = best.registers, default_ns = default.ns,
    default_ticks = default.ticks, speedup = result.speedup, case = result.case,
    diff = explain.difference(problem, text) }
  return e
end

--- How far a tuning is.
---@param result Tuning
---@return string
function M.counted(result)
  return ("%d of %d settings are measured"):format(#result.rows, result.asked or #result.rows)
end

--- Writes what a tuning found.
---@param result Tuning with a best row
---@param o { problem: gilua.problem, farm: table, seed: integer, folder: ResultFolder,
---  world: TuningWorld, cache?: TuningCache, on?: string, stopped?: string } on: what follows,
---  where the run goes on; stopped: why there are not all settings
---@return table value of result.json
function M.write(result, o)
  local value = described(result, o, kept.write(o.problem, o.folder))
  M.write_settings(result, o.world, o.folder, "results")
  report.write_best(o.problem, M.genome(result), o.folder)
  o.folder:write("result.json", json.encode(value) .. "\n")
  live.page(o.folder):write(M.page(o, result), { on = o.on ~= nil, stopped = o.stopped,
    text = o.on or M.counted(result) })
  return value
end

return M
