-- settings: options tables that refuse what they do not know.
-- A misspelt key is misuse: it raises at the caller's line and names the nearest known key.

local fail = require "gilua.base.fail"

local M = {}

-- Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
local function distance(a, b)
  local before, row = nil, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local last = row
    row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before = last
  end
  return row[#b]
end

--- The name a person most likely meant, or nil when none is near (more than a third differs).
---@param word string
---@param names string[]
---@return string? nearest
function M.nearest(word, names)
  local best, best_distance
  for _, name in ipairs(names) do
    local d = distance(word:lower(), name:lower())
    if not best or d < best_distance then best, best_distance = name, d end
  end
  if best and best_distance <= math.max(1, math.max(#word, #best) // 3) then return best end
  return nil
end

--- The keys of a table, sorted.
---@param t table<string, any>
---@return string[]
function M.keys(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

--- A value as a sentence shows it: 'text', 3, a table.
---@param value any
---@return string
function M.shown(value)
  if type(value) == "string" then return "'" .. value .. "'" end
  if type(value) == "table" or type(value) == "function" then return "a " .. type(value) end
  return tostring(value)
end

local function describe_unknown(key, known)
  local nearest = M.nearest(tostring(key), M.keys(known))
  if nearest then return ("unknown option '%s'; did you mean '%s'?"):format(key, nearest) end
  return ("unknown option '%s'; known: %s"):format(key, table.concat(M.keys(known), ", "))
end

--- A new table: `given` with what it leaves out taken from `defaults`. The keys of `defaults` are
--- the known ones, besides those listed in `optional`, which have no default. Raises on any other.
---@param where string who asks: "gilua.genome.source"
---@param given table|nil
---@param defaults table<string, any>
---@param optional? string[]
---@return table
function M.fill(where, given, defaults, optional)
  if given ~= nil and type(given) ~= "table" then
    error(("%s: options must be a table, not a %s"):format(where, type(given)), 3)
  end
  local known, filled = {}, {}
  for name, value in pairs(defaults) do known[name], filled[name] = true, value end
  for _, name in ipairs(optional or {}) do known[name] = true end
  for key, value in pairs(given or {}) do
    if not known[key] then error(where .. ": " .. describe_unknown(key, known), 3) end
    filled[key] = value
  end
  return filled
end

--- The spec of a case, checked: an integer `seed`, and whole numbers within their limits.
---@param problem string who asks: "heat"
---@param given table
---@param fields table[] { name, default, least, most }
---@return table
function M.spec(problem, given, fields)
  local defaults = {}
  for _, field in ipairs(fields) do defaults[field[1]] = field[2] end
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
