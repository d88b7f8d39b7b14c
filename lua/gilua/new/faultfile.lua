-- faultfile: the input that shows a kernel wrong, as a file by which it runs again. JSON: the spec
-- of the case, whose data follow from its seed. It names no file: who runs it does.

local fail = require "gilua.base.fail"
local json = require "gilua.base.json"
local lfs = require "lfs"
local otherdata = require "gilua.new.otherdata"
local settings = require "gilua.base.settings"
local textfile = require "gilua.base.textfile"

local M = {}

local KIND = "gilua judge: an input that shows a fault"
local SHOWN = 5 -- answers
local MOST_BYTES = 1 << 20

local function object_of(t)
  local list = {}
  for i, key in ipairs(settings.keys(t)) do list[i] = { key, t[key] } end
  return json.object(list)
end

local function spec_object(spec)
  local list = {}
  for _, key in ipairs(settings.keys(spec)) do
    local value = spec[key]
    if key == "values" then value = object_of(value) end
    if key == "size" and type(value) == "table" then value = json.array(value) end
    list[#list + 1] = { key, value }
  end
  return json.object(list)
end

--- Writes one.
---@param path string
---@param fault { data: string, spec: table, why: string }
function M.write(path, fault)
  textfile.write(path, json.encode(json.object { { "what", KIND }, { "data", fault.data },
    { "why", fault.why }, { "case", spec_object(fault.spec) } }) .. "\n")
end

local function value_of(path)
  if lfs.attributes(path, "mode") ~= "file" or not path:find "%.json$" then return nil end
  local read, value = pcall(json.decode, textfile.read(path, "the file of a fault", MOST_BYTES))
  return read and type(value) == "table" and value.what == KIND and value or nil
end

---@class KeptFault
---@field data string
---@field why string what was wrong then
---@field case table spec

local SPEC = { seed = "number", budget = "number", checked_budget = "number", family = "string",
  array = "string", size = "table", values = "table" }

local function check(value, path)
  for _, field in ipairs { "data", "why" } do
    if type(value[field]) ~= "string" then fail("%s: '%s' must be a text", path, field) end
  end
  if type(value.case) ~= "table" then fail("%s: 'case' must be an object", path) end
  for name, one in pairs(value.case) do
    local kind = SPEC[name]
    local is_size = name == "size" and type(one) == "number"
    if not kind or type(one) ~= kind and not is_size then
      fail("%s: '%s' is nothing that a case has", path, tostring(name))
    end
  end
end

--- Reads one.
---@param path string
---@return KeptFault
function M.read(path)
  local value = value_of(path)
  if not value then fail("%s is no file of a fault that gilua judge wrote", path) end
  check(value, path)
  return value
end

-- The first answers that are not the old kernel's: { index, expected, got } each.
local function first_wrong(farm, new, spec)
  local got, m = farm:answers(new, spec)
  local expected = got and farm:answers("", spec)
  local list = {}
  for i = 1, expected and #expected or 0 do
    local a, b = expected[i], got[i]
    local limit = math.max(math.abs(a), math.abs(b)) * 1e-4
    if #list < SHOWN and not (math.abs(a - b) <= limit or a ~= a and b ~= b) then
      list[#list + 1] = { index = i - 1, expected = a, got = b }
    end
  end
  return list, m
end

--- Runs the case once more.
---@param problem gilua.problem
---@param farm gilua.farm
---@param new Counterpart
---@param kept KeptFault
---@return { why?: string, untold?: string, answers: table[] } why: it is wrong again
function M.run(problem, farm, new, kept)
  new:reach { problem.checked_case, kept.case }
  local row = otherdata.one(problem, farm, new, { data = kept.data, spec = kept.case })
  local found = { answers = {} }
  found.why = row.verdict == "wrong" and row.why or nil
  found.untold = row.verdict == "not told" and row.why or nil
  if found.why then found.answers = first_wrong(farm, new, kept.case) end
  return found
end

return M
