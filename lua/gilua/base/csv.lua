-- csv: tables as comma-separated values, quoted as in RFC 4180, with the system's line ends. A
-- missing value is an empty field. Numbers are the shortest text that reads back equal, with a
-- point in every locale; Inf, -Inf and NaN are spelt as R and pandas read them.

local json = require "gilua.base.json"

local M = {}

local function number(x)
  if x ~= x then return "NaN" end
  if x == math.huge or x == -math.huge then return x > 0 and "Inf" or "-Inf" end
  return json.number(x)
end

local function field(value)
  if value == nil then return "" end
  if type(value) == "number" then return number(value) end
  local text = tostring(value)
  return text:find '[,"\r\n]' and '"' .. text:gsub('"', '""') .. '"' or text
end

--- A line of a table, with its end.
---@param values table from 1 to n; nil where there is none
---@param n? integer
---@return string
function M.line(values, n)
  local fields = {}
  for i = 1, n or #values do fields[i] = field(values[i]) end
  return table.concat(fields, ",") .. "\n"
end

--- The same of the fields of a row, by their names.
---@param row table<string, any>
---@param columns string[]
---@return string
function M.row(row, columns)
  local values = {}
  for i, name in ipairs(columns) do values[i] = row[name] end
  return M.line(values, #columns)
end

return M
