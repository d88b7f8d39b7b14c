-- sarif: findings as SARIF 2.1.0, the JSON format of code scanning services and editors: a rule for
-- each kind of finding, a result for each place. A finding's file has the name that its text uses.

local host = require "gilua.base.host"
local json = require "gilua.base.json"
local lfs = require "lfs"
local textfile = require "gilua.base.textfile"

local M = {}

local SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

---@class SarifFinding
---@field kind string
---@field text string
---@field warning boolean
---@field kernel? string
---@field file? string
---@field line? integer
---@field count? integer how often it happened
---@field block? integer[] the first that did it
---@field thread? integer[]

-- A path as an address: below this folder a relative one, as services want it.
local function uri_of(path)
  local here = (lfs.currentdir() or "") .. "/"
  if path:sub(1, #here) == here then path = path:sub(#here + 1) end
  local word = path:gsub("[^%w._~/-]", function(c) return ("%%%02X"):format(c:byte()) end)
  return path:sub(1, 1) == "/" and "file://" .. word or word
end

local function location_of(f)
  local parts = {}
  if f.file then
    parts[1] = { "physicalLocation", json.object {
      { "artifactLocation", json.object { { "uri", uri_of(f.file) } } },
      { "region", json.object { { "startLine", f.line } } } } }
  end
  if f.kernel then
    parts[#parts + 1] = { "logicalLocations", json.array { json.object {
      { "name", f.kernel }, { "kind", "function" } } } }
  end
  return json.array(#parts > 0 and { json.object(parts) } or {})
end

local function result_of(f)
  local more = { { "count", f.count } }
  if f.block then
    more[2], more[3] = { "block", json.array(f.block) }, { "thread", json.array(f.thread) }
  end
  return json.object { { "ruleId", f.kind }, { "level", f.warning and "warning" or "error" },
    { "message", json.object { { "text", f.text } } }, { "locations", location_of(f) },
    { "properties", json.object(more) } }
end

-- A rule for each kind, in the order of the findings.
local function rules_of(findings)
  local list, seen = {}, {}
  for _, f in ipairs(findings) do
    if not seen[f.kind] then
      seen[f.kind] = true
      list[#list + 1] = json.object { { "id", f.kind },
        { "shortDescription", json.object { { "text", (f.kind:gsub("_", " ")) } } } }
    end
  end
  return json.array(list)
end

local function notifications_of(messages)
  local list = {}
  for i, text in ipairs(messages) do
    list[i] = json.object { { "level", "error" },
      { "message", json.object { { "text", text } } } }
  end
  return json.array(list)
end

--- Makes the text of a run.
---@param o { findings: SarifFinding[], program: string[], status: integer, problems: string[] }
---  problems: what kept the program from being run as it is
---@return string
function M.text(o)
  local results = {}
  for i, f in ipairs(o.findings) do results[i] = result_of(f) end
  return json.encode(json.object { { "$schema", SCHEMA }, { "version", "2.1.0" },
    { "runs", json.array { json.object {
      { "tool", json.object { { "driver", json.object { { "name", "gilua" },
        { "version", host.versions().gilua }, { "rules", rules_of(o.findings) } } } } },
      { "invocations", json.array { json.object {
        { "commandLine", table.concat(o.program, " ") }, { "exitCode", o.status },
        { "executionSuccessful", o.status == 0 and #o.problems == 0 },
        { "toolExecutionNotifications", notifications_of(o.problems) } } } },
      { "results", json.array(results) } } } } }) .. "\n"
end

--- Writes it.
---@param path string
---@param o table as M.text has it
function M.write(path, o)
  textfile.write(path, M.text(o))
end

return M
