-- tuned: the folder of results that a tuning leaves, which is a run's: result.json with the best
-- settings, best.cu and best.patch, a copy of the problem, and results.t4.json with every setting.

local host = require "gilua.base.host"
local json = require "gilua.base.json"
local kept = require "gilua.report.kept"
local report = require "gilua.report.report"
local t4 = require "gilua.report.t4"

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

local function speedup(result)
  local default = result.default
  return default and default.right and default.ticks / result.best.ticks or nil
end

local function described(result, o, keeps)
  local rows, versions = {}, host.versions()
  for i, row in ipairs(result.rows) do rows[i] = measured(row) end
  return json.object {
    { "gilua", versions.gilua }, { "seed", o.seed }, { "device", o.farm.device },
    { "problem", o.problem.name }, { "folder", o.problem.dir }, { "case", result.case },
    { "baseline", measured(result.default) }, { "best", winner(result) },
    { "speedup", speedup(result) }, { "parameters", json.array(result.parameters) },
    { "settings", result.total }, { "sampled", result.sampled }, { "rows", json.array(rows) },
    { "kept", keeps }, { "versions", versions },
  }
end

--- Writes what a tuning found.
---@param result Tuning with a best row
---@param o { problem: gilua.problem, farm: table, seed: integer, folder: ResultFolder }
---@return table value of result.json
function M.write(result, o)
  local value = described(result, o, kept.write(o.problem, o.folder))
  o.folder:write("results.t4.json", t4.encode(result))
  report.write_best(o.problem, M.genome(result), o.folder)
  o.folder:write("result.json", json.encode(value) .. "\n")
  return value
end

return M
