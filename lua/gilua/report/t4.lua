-- t4: tuning results in the JSON format that auto-tuners share (T4, results schema 1.0.0 of the
-- TuningSchema project, which Kernel Tuner writes and the community's plots read). Times are in
-- milliseconds. The file has no time stamp: the same run gives the same file.

local json = require "gilua.base.json"

local M = {}

--- The version of the schema.
M.VERSION = "1.0.0"

-- A fate here, and what the schema calls it.
local INVALIDITY = { compile_error = "compile", timeout = "timeout", loop_limit = "timeout" }

local function invalidity(row)
  if row.status ~= "ok" then return INVALIDITY[row.status] or "runtime" end
  return row.right and "correct" or "correctness"
end

local function milliseconds(list)
  local ms = {}
  for i, ns in ipairs(list or {}) do ms[i] = ns / 1e6 end
  return json.array(ms)
end

local function measurements(row)
  if not row.right then return json.array {} end
  local function of(name, value, unit)
    return json.object { { "name", name }, { "value", value }, { "unit", unit } }
  end
  local list = { of("time", row.ns / 1e6, "ms"), of("ticks", row.ticks, "") }
  if row.registers then list[#list + 1] = of("registers", row.registers, "") end
  if row.max_error then list[#list + 1] = of("max_error", row.max_error, "") end
  return json.array(list)
end

local function result_of(tuning, row)
  local configuration, seconds = {}, row.seconds or {}
  for i, name in ipairs(tuning.parameters) do configuration[i] = { name, row.values[name] } end
  return json.object {
    { "configuration", json.object(configuration) },
    { "times", json.object {
      { "compilation_time", 1e3 * (seconds.compile or 0) }, { "framework", 0 },
      { "search_algorithm", 0 }, { "validation", 1e3 * (seconds.check or 0) },
      { "runtimes", milliseconds(row.samples or row.right and { row.ns } or {}) },
    } },
    { "invalidity", invalidity(row) }, { "correctness", row.right and 1 or 0 },
    { "measurements", measurements(row) }, { "objectives", json.array { "time" } },
  }
end

--- The results of gilua.tune as T4.
---@param tuning Tuning
---@return string text JSON
function M.encode(tuning)
  local list = {}
  for i, row in ipairs(tuning.rows) do list[i] = result_of(tuning, row) end
  return json.encode(json.object {
    { "schema_version", M.VERSION }, { "results", json.array(list) },
  }) .. "\n"
end

--- Writes them.
---@param tuning Tuning
---@param path string
function M.write(tuning, path)
  require("gilua.report.report").write(path, M.encode(tuning))
end

return M
