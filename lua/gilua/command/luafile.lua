-- luafile: loads a Lua file that a command was given (a formula, a scheme) and returns its value.

local fail = require "gilua.base.fail"
local textfile = require "gilua.base.textfile"

local M = {}

local function value_of(path)
  local text = textfile.read(path, "the Lua file"):gsub("^#[^\n]*", "") -- as Lua skips it
  local chunk, why = load(text, "@" .. path, "t")
  if not chunk then fail("%s", why) end
  return chunk()
end

--- A function like a scheme's fitness.
---@param path string
---@return fun(own: table, baseline: table): number
function M.formula(path)
  local formula = value_of(path)
  if type(formula) == "function" then return formula end
  fail("%s must return a function (own, baseline) -> number, as a scheme's fitness is", path)
end

--- Fields of a scheme, as gilua.evolve takes them.
---@param path string
---@return table
function M.scheme(path)
  local scheme = value_of(path)
  if type(scheme) == "table" then return scheme end
  fail("%s must return a table with fields of a scheme, { select = … }", path)
end

return M
