-- scalarguess: guesses a scalar argument whose value the host's code does not give, from the
-- kernel's use of it (gilua.scalaruse), else from its name. Always marked GUESS.

local launchguess = require "gilua.new.launchguess"
local luadata = require "gilua.base.luadata"
local scalaruse = require "gilua.new.scalaruse"

local M = {}

local LOOP = 8 -- rounds
local LANES = 16 -- threads of a block
local DIVISOR = 4
local FACTOR = 8
-- What an argument of that name usually is that begins at 0 or goes no way: 0, not 1.
local ZERO = "^[ijk]$|offset|start|begin|base|first|shift|^id$|^idx$|index|seed|lower|origin"
-- What a float usually is that is no factor: small, between other numbers.
local SMALL = "eps|tol|thresh|lambda|alpha|rate|^dt$|^h$|step|damp|prob"

local function is_named(patterns, name)
  for pattern in patterns:gmatch("[^|]+") do
    if name:lower():find(pattern) then return true end
  end
  return false
end

-- Whole numbers: by use where that says what they are, else by name, else by what is done with
-- them.
local function whole(name, use, used)
  name = name:gsub("^[dhm]_", ""):gsub("_$", "")
  local by_name = launchguess.dimension_by_name(name, used)
  local size = use.thread and math.min(use.thread, used)
    or not (use.loop or use.lane) and by_name
  if size then
    local text = "size_" .. ("xyz"):sub(size, size)
    if use.thread and use.shared then
      return luadata.quote(("%s // %d"):format(text, use.shared)),
        ("GUESS: what threads are compared with, %d of them at once"):format(use.shared)
    end
    return luadata.quote(text),
      use.thread and "GUESS: what threads are compared with" or "GUESS: from its name"
  end
  if use.equals and use.equals > 0 and math.tointeger(use.equals) then
    return tostring(math.tointeger(use.equals)), "GUESS: what it is compared with"
  end
  if use.lane then return tostring(LANES), "GUESS: what threads of a block are compared with" end
  if use.loop then return tostring(LOOP), "GUESS: rounds of a loop" end
  if is_named(ZERO, name) then return "0", "GUESS: from its name" end
  if use.divisor then return tostring(DIVISOR), "GUESS: a divisor" end
  if use.factor then return tostring(FACTOR), "GUESS: a factor" end
  return "1", "GUESS: its value is unknown"
end

local function real(name, use, source)
  if use.exponent then return "1.5", "GUESS: an exponent" end
  if use.bound and scalaruse.draws(source) then return "0.5", "GUESS: a probability" end
  if use.divisor then return "1.75", "GUESS: a divisor" end
  if is_named(SMALL, name) then return "0.125", "GUESS: from its name" end
  if use.thread or use.equals then return "0.5", "GUESS: a bound" end
  return "0.75", "GUESS: its value is unknown"
end

--- The value of a number, as it is written, and why.
---@param p table { name, type } a member's name without what is before it
---@param source userdata tokens
---@param used integer dimensions
---@param is_member boolean
---@return string value
---@return string note
function M.of(p, source, used, is_member)
  local use = scalaruse.of(source, p.name, is_member, scalaruse.derived(source))
  if p.type:find "^f" then return real(p.name, use, source) end
  if p.type:find "8$" or p.type:find "16$" then -- no room for sizes
    local value, note = whole("", { equals = use.equals, divisor = use.divisor }, used)
    return value, note
  end
  return whole(p.name, use, used)
end

return M
