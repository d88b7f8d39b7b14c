-- sarif, programrun: what gilua run found, for servers of continuous integration.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local json = require "gilua.base.json"
local junit = require "gilua.report.junit"
local lfs = require "lfs"
local programrun = require "gilua.report.programrun"
local sarif = require "gilua.report.sarif"
local tap = require "tap"

local function finding(changes)
  local f = { kind = "illegal_address", kernel = "fill(int*, int)", line = 3, count = 2,
    block_x = 1, block_y = 0, block_z = 0, thread_x = 7, thread_y = 0, thread_z = 0,
    text = "out-of-bounds write; block (1,0,0), thread (7,0,0), PTX line 42, "
      .. lfs.currentdir() .. "/a b/k.cu line 3, kernel fill(int*, int)" }
  for name, value in pairs(changes or {}) do f[name] = value end
  return f
end

local function all_of(findings, changes)
  local all = { findings = findings, findings_left_out = 0 }
  for name, value in pairs(changes or {}) do all[name] = value end
  return all
end

local function run_of(all, status)
  return json.decode(sarif.text(programrun.scan(all, { "./app", "-n" }, status))).runs[1]
end

tap.case("a finding is a result with its place", function()
  local run = run_of(all_of { finding(), finding { kind = "benign_race" } }, 1)
  local result = run.results[1]
  tap.is(result.ruleId .. " " .. result.level, "illegal_address error", "what it is")
  local at = result.locations[1].physicalLocation
  tap.is(at.artifactLocation.uri, "a%20b/k.cu", "its file, from here")
  tap.is(at.region.startLine, 3, "its line")
  tap.is(result.locations[1].logicalLocations[1].name, "fill(int*, int)", "its kernel")
  tap.is(result.properties.count .. " " .. table.concat(result.properties.thread, ","), "2 7,0,0",
    "how often, and who")
  tap.is(run.results[2].level, "warning", "what a specification leaves open is a warning")
  tap.is(#run.tool.driver.rules, 2, "a rule for each kind")
  tap.is(run.invocations[1].commandLine .. " " .. run.invocations[1].exitCode, "./app -n 1",
    "the command")
  tap.is(run.invocations[1].executionSuccessful, false, "which failed")
end)

tap.case("files are named as the text names them", function()
  for text, uri in pairs {
    ["a race; PTX line 3, /usr/x.cu line 3, kernel f"] = "file:///usr/x.cu",
    ["cudaFree: not allocated: called at app.cu line 3, in main"] = "app.cu",
  } do
    local result = run_of(all_of { finding { text = text } }, 0).results[1]
    tap.is(result.locations[1].physicalLocation.artifactLocation.uri, uri, text)
  end
  local result = run_of(all_of { finding { text = "a race, PTX line 9", line = 0, kernel = "" } },
    0).results[1]
  tap.is(#result.locations, 0, "none where none is known")
end)

tap.case("what kept a program from running is said", function()
  local run = run_of(all_of({}, { missing = "cuBLAS <is> missing", refusal = "no" }), 0)
  tap.is(#run.invocations[1].toolExecutionNotifications, 2, "both reasons")
  tap.is(run.invocations[1].executionSuccessful, false, "so that it is no success")
  local text = junit.text("s", programrun.cases(all_of({}, { missing = "cuBLAS <is> missing" }), 0))
  tap.has(text, 'tests="2" failures="1"', "JUnit too")
  tap.has(text, "cuBLAS &lt;is&gt; missing", "with the reason")
end)

tap.case("JUnit has a case for the status and for each finding", function()
  tap.has(junit.text("s", programrun.cases(all_of {}, 0)), 'tests="2" failures="0"', "all is well")
  local text = junit.text("s", programrun.cases(all_of { finding(),
    finding { kind = "benign_race" } }, 3))
  tap.has(text, 'tests="2" failures="2"', "a status and a finding fail, a warning does not")
  tap.has(text, 'name="illegal address in fill, line 3"', "which is named")
  tap.has(text, "the program ended with status 3", "and so is the status")
end)

tap.done()
