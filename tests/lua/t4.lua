-- t4: tuning results in the format that auto-tuners share.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local json = require "gilua.base.json"
local t4 = require "gilua.report.t4"
local tap = require "tap"

local function row(status, right, extra)
  local r = { values = { block = 32, fast = true }, status = status, right = right, ticks = 10,
              ns = 5e6, registers = 20, max_error = 0 }
  for k, v in pairs(extra or {}) do r[k] = v end
  return r
end

local tuning = { parameters = { "block", "fast" }, rows = {
  row("ok", true, { samples = { 4e6, 5e6, 6e6 } }), row("ok", false, { max_error = math.huge }),
  row("compile_error", false), row("timeout", false),
  row("illegal_address", false, { ns = math.huge }),
} }

tap.case("every row is a result with its fate", function()
  local t = json.decode(t4.encode(tuning))
  tap.is(t.schema_version, "1.0.0", "the version")
  local fates = {}
  for i, r in ipairs(t.results) do fates[i] = r.invalidity .. r.correctness end
  tap.is(table.concat(fates, " "), "correct1 correctness0 compile0 timeout0 runtime0", "fates")
  for _, field in ipairs { "configuration", "times", "invalidity", "correctness" } do
    tap.ok(t.results[5][field] ~= nil, "the schema wants " .. field)
  end
end)

tap.case("times are milliseconds, configurations hold the parameters", function()
  local first = json.decode(t4.encode(tuning)).results[1]
  tap.is(table.concat(first.times.runtimes, " "), "4 5 6", "every sample")
  tap.is(first.measurements[1].name .. " " .. first.measurements[1].value, "time 5", "the time")
  local c = first.configuration
  tap.is(c.block .. " " .. tostring(c.fast), "32 true", "values")
  tap.is(first.objectives[1], "time", "what was minimised")
end)

tap.done()
