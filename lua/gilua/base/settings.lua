-- settings: tables of options that refuse unknown keys. An unknown key is a misuse: it raises an
-- error at the caller's line, which names the nearest known key.

local fail = require "gilua.base.fail"
local nearest = require "gilua.base.nearest"
local trace = require "gilua.base.trace"

local M = {}

--- What a person most likely meant (gilua.base.nearest).
M.nearest = nearest

--- The keys of a table, sorted.
---@param t table<string, any>
---@return string[]
function M.keys(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

--- The words of a text as a set: { word = true }.
---@param text string with blanks between
---@return table<string, true>
function M.set(text)
  local words = {}
  for word in text:gmatch "%S+" do words[word] = true end
  return words
end

--- A value as a sentence shows it: 'text', 3, a table.
---@param value any
---@return string
function M.shown(value)
  if type(value) == "string" then return "'" .. value .. "'" end
  if type(value) == "table" or type(value) == "function" then return "a " .. type(value) end
  return tostring(value)
end

--- "; did you mean 'width'?" where a known name is near, else "".
---@param word any
---@param known table<string, any> by name
---@return string
function M.meant(word, known)
  local name = nearest(tostring(word), M.keys(known))
  return name and ("; did you mean '%s'?"):format(name) or ""
end

local function describe_unknown(key, known)
  local meant = M.meant(key, known)
  return ("unknown option '%s'%s"):format(key, meant ~= "" and meant
    or "; known: " .. table.concat(M.keys(known), ", "))
end

--- A new table: `given` with what it leaves out taken from `defaults`. The keys of `defaults` are
--- the known ones, besides those listed in `optional`, which have no default. Raises on any other.
---@param where string the caller's name: "gilua.genome.source"
---@param given table|nil
---@param defaults table<string, any>
---@param optional? string[]
---@return table
function M.fill(where, given, defaults, optional)
  if given ~= nil and type(given) ~= "table" then
    trace.misuse("%s: options must be a table, not a %s", where, type(given))
  end
  local known, filled = {}, {}
  for name, value in pairs(defaults) do known[name], filled[name] = true, value end
  for _, name in ipairs(optional or {}) do known[name] = true end
  for key, value in pairs(given or {}) do
    if not known[key] then trace.misuse("%s: %s", where, describe_unknown(key, known)) end
    filled[key] = value
  end
  return filled
end

--- The spec of a case, checked: an integer `seed`, and whole numbers within their limits.
---@param problem string the problem's name: "heat"
---@param given table
---@param fields table[] { name, default, least, most }
---@return table
function M.spec(problem, given, fields)
  local defaults = {}
  for _, field in ipairs(fields) do defaults[field[1]] = field[2] end
  local known = { seed = true }
  for name in pairs(defaults) do known[name] = true end
  for name in pairs(given) do
    if not known[name] then
      fail("%s: a case has no field '%s'%s", problem, name, M.meant(name, known))
    end
  end
  local spec = M.fill(problem .. ": case", given, defaults, { "seed" })
  if math.type(spec.seed) ~= "integer" then fail("%s: a case needs an integer seed", problem) end
  for _, field in ipairs(fields) do
    local name, _, least, most = table.unpack(field)
    local value = spec[name]
    if math.type(value) ~= "integer" or value < least or value > most then
      fail("%s: %s must be a whole number from %d to %d, not %s", problem, name, least, most, value)
    end
  end
  return spec
end

return M
