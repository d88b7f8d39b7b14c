-- families: other data for the arrays of a problem table, whose fills are only one example: zeros,
-- long tails, all indices equal … Another seed draws other numbers of the same kind; a family is
-- another kind.
--
-- A family keeps what the fill says of an array, so that the unmodified kernel can run on it:
--   free     "uniform", "normal", "mixed" for floats, or nothing: any number; so do "half" and
--            "bfloat16", which fill with their bits
--   range    { low, high }, "rising", "falling", all other whole numbers: none outside of it
--   places   whole numbers whose range is an expression, { 0, "n - 1" }: an index; likewise
--   order    "index", "permutation": each place once
--   rows     { ascending = last }: from 0 to last, never falling
--   begun    an inout array that begins with one number: only the family "begun" changes it
-- Listed numbers, and what a function returns, are the user's own and stay as they are.

local arrayfills = require "gilua.problem.arrayfills"
local tablerows = require "gilua.problem.tablerows"

local M = {}

local FAR = 200 -- exp of it is no float
local FEW = 3 -- values of the family that has few
local TAIL = 24 -- one element of so many is in the tail

local each = arrayfills.each

-- The number at a share of the way from low to high; at both ends exactly these.
local function between(low, high, share)
  if share >= 1 then return high end
  if math.type(low) == "integer" then return low + math.floor((high - low + 1.0) * share) end
  return low + (high - low) * share
end

local function nearest(value, low, high)
  if value < low then return low end
  return value > high and high or value
end

-- A maker of an array within a range, each element by a function of the generator, its number, how
-- many there are, and the range.
local function within(of)
  return function(array, rng, low, high)
    return each(function(r, i, n) return of(r, i, n, low, high) end)(array, rng)
  end
end

local function constant(value)
  return function(array) return array:fill(value) end,
    within(function(_, _, _, low, high) return nearest(value, low, high) end)
end

local function either(rng, a, b)
  if rng:int(2) == 1 then return a end
  return b
end

--------------------------------------------------------------------------------------------------
-- Numbers

local zeros, zeros_within = constant(0)
local ones, ones_within = constant(1)

local sorts_within = within(function(rng, _, _, low, high)
  local sort = rng:int(6)
  if sort == 1 then return low
  elseif sort == 2 then return high
  elseif sort == 3 then return nearest(either(rng, 0, 1), low, high) end
  return between(low, high, rng:unit())
end)

-- Mostly small; the first, and one of many later, far away.
local tails = each(function(rng, i)
  if i == 1 then return FAR end
  local x = rng:normal()
  if rng:int(TAIL) > 1 then return x end
  return either(rng, 1, -1) * FAR * (1 + math.abs(x))
end)

local tails_within = within(function(rng, i, _, low, high)
  if i == 1 or rng:int(TAIL) == 1 then return high end
  return between(low, high, 0.1 * rng:unit())
end)

-- Of every size from a millionth to a million, of both signs.
local extremes = each(function(rng)
  return either(rng, 1, -1) * 10.0 ^ (12 * rng:unit() - 6)
end)

local ends = within(function(rng, _, _, low, high) return either(rng, low, high) end)

local few = each(function(rng) return 1.5 * rng:int(FEW) - 2.75 end)

local few_within = within(function(rng, _, _, low, high)
  return between(low, high, (rng:int(FEW) - 1) / (FEW - 1))
end)

local function ramp(i, n)
  return (i - 1) / math.max(n - 1, 1)
end

local rising = each(function(_, i, n) return 8 * ramp(i, n) - 4 end)
local falling = each(function(_, i, n) return 4 - 8 * ramp(i, n) end)

local rising_within = within(function(_, i, n, low, high)
  return between(low, high, ramp(i, n))
end)

local falling_within = within(function(_, i, n, low, high)
  return between(low, high, 1 - ramp(i, n))
end)

-- Not at what it begins with, but a little beside.
local begun = within(function(rng, _, _, value)
  if math.type(value) == "integer" then return value + rng:int(3) end
  return value + rng:normal()
end)

--------------------------------------------------------------------------------------------------
-- Places

-- The k-th place of a range, round and round.
local function place(k, low, high)
  return low + k % (high - low + 1)
end

-- Offsets of rows, by the share of all elements that lie before the i-th of n.
local function rows(share)
  return within(function(_, i, n, _, last)
    if i == 1 then return 0 end
    return i == n and last or math.floor(last * share(i, n))
  end)
end

-- Each row has twice as many, and the next one none.
local function by_two(i, n)
  return math.min(1, 2 * (i // 2) / math.max(n - 1, 1))
end

---@class Family
---@field name string for people
---@field [string] fun(array: userdata, rng: userdata, low?: number, high?: number): userdata by
---  what a fill says (free, range, …); without one such an array keeps its fill

---@type Family[]
local FAMILIES = {
  { name = "all sorts", free = arrayfills.mixed, range = sorts_within },
  { name = "zeros", free = zeros, range = zeros_within },
  { name = "ones", free = ones, range = ones_within },
  { name = "long tails", free = tails, range = tails_within },
  { name = "extremes", free = extremes, range = ends },
  { name = "few values", free = few, range = few_within },
  { name = "rising", free = rising, range = rising_within },
  { name = "falling", free = falling, range = falling_within },
  { name = "one place", places = within(function(_, _, _, low) return low end),
    rows = rows(function() return 1 end) },
  { name = "every place", order = each(function(_, i) return i - 1 end),
    places = within(function(_, i, _, low, high) return place(i - 1, low, high) end),
    rows = rows(ramp) },
  { name = "every place, last first", order = each(function(_, i, n) return n - i end),
    places = within(function(_, i, _, low, high) return place(-i, low, high) end),
    rows = rows(function() return 0 end) },
  { name = "every place twice", rows = rows(by_two),
    places = within(function(_, i, _, low, high) return place((i - 1) // 2, low, high) end) },
  { name = "first and last place", places = ends, rows = rows(function() return 0.5 end) },
  { name = "begun", begun = begun },
}

local HOLDS = "holding " -- and numbers, of the family whose arrays hold these among others

--- The name of the family of data that hold some numbers.
---@param numbers number[]
---@return string
function M.holding(numbers)
  local words = {}
  for i, n in ipairs(numbers) do words[i] = ("%.17g"):format(n) end
  return HOLDS .. table.concat(words, " ")
end

-- One element of two is one of the numbers that the array may have.
local function holding(name)
  local numbers = {}
  for word in name:sub(#HOLDS + 1):gmatch "%S+" do numbers[#numbers + 1] = tonumber(word) end
  return { name = name,
    free = each(function(rng)
      return rng:int(2) == 1 and numbers[rng:int(#numbers)] + 0.0 or rng:normal()
    end),
    range = within(function(rng, _, _, low, high)
      local n = numbers[rng:int(#numbers)]
      if math.type(low) == "integer" then n = math.tointeger(n) or low end
      if rng:int(2) == 1 and low <= n and n <= high then return n end
      return between(low, high, rng:unit())
    end) }
end

--------------------------------------------------------------------------------------------------
-- What a fill says

local WHOLE = { 0, 100 } -- what whole numbers are where nothing is said

local function is_whole(arg)
  return not arg.type:find "^f"
end

-- Of a fill that is a name, or none: what it says, and its range.
local function named(arg)
  local fill, whole = arg.fill, is_whole(arg)
  if fill == "index" or fill == "permutation" then return "order" end
  if fill == "rising" or fill == "falling" then return "range", whole and WHOLE or { 0, 1 } end
  if arrayfills.bits[fill] then return "free" end
  if fill == "mixed" and whole then
    local far = arg.type:find "8$" and 100 or FAR
    return "range", { arg.type:find "^u" and 0 or -far, far }
  end
  if whole and fill == "bits" then
    local high = (1 << math.min(52, tonumber(arg.type:match "%d+")) - 1) - 1
    return "range", { arg.type:find "^u" and 0 or -high, high }
  end
  if not whole then return "free" end
  return "range", fill == nil and WHOLE or { 0, 1 }
end

-- What an array's fill says of it, and the range as the fill has it.
local function said_of(arg)
  local fill = arg.fill
  if not arg.count or arg.role == "out" or arg.role == "scratch" or type(fill) == "function" then
    return "nothing"
  end
  if fill == "zero" or type(fill) == "number" then
    local value = fill == "zero" and 0 or fill
    return arg.role == "inout" and "begun" or "nothing", { value, value }
  end
  if type(fill) ~= "table" then return named(arg) end
  if fill.ascending then return "rows", { 0, fill.ascending } end
  local is_place = type(fill[1]) == "string" or type(fill[2]) == "string"
  return is_place and is_whole(arg) and "places" or "range", fill
end

local BEYOND = " beyond the range" -- behind a family's name

-- A family whose floats keep to no range.
local function beyond(family)
  return { name = family.name .. BEYOND, range = function(array, rng, low, high)
    return (array:dtype():find "^f" and family.free or family.range)(array, rng, low, high)
  end }
end

local function family_called(name)
  if name:sub(-#BEYOND) == BEYOND then
    name = name:sub(1, -#BEYOND - 1)
    for _, family in ipairs(FAMILIES) do
      if family.name == name then return beyond(family) end
    end
  end
  if name:sub(1, #HOLDS) == HOLDS then return holding(name) end
  for _, family in ipairs(FAMILIES) do
    if family.name == name then return family end
  end
  error(("no family of data is called '%s'"):format(tostring(name)), 0)
end

--- What fills an array otherwise than its fill: a maker, and the range that it is to keep to, as it
--- stands in the fill; nil where the family leaves the array as it is.
---@param name string of the family
---@param arg table { type, count, fill, role }
---@return (fun(array: userdata, rng: userdata, low?: number, high?: number): userdata)? make
---@return table? range { low, high }, numbers or expressions
function M.maker(name, arg)
  local said, range = said_of(arg)
  local make = family_called(name)[said]
  if make and arrayfills.bits[arg.fill] then return arrayfills.as_bits(arg.fill, make) end
  if not make or arg.fill ~= "rising" and arg.fill ~= "falling" then return make, range end
  return function(array, ...)
    return arrayfills.sort(make(array, ...), arg.fill == "falling")
  end, range
end

--- The arrays of a problem table that a family changes.
---@param t table
---@param family string
---@return string[] names
function M.arrays(t, family)
  local names, made = {}, family_called(family)
  for _, leaf in ipairs(tablerows.of(t).leaves) do
    if made[said_of(leaf)] then names[#names + 1] = leaf.name end
  end
  return names
end

local FAR_FAMILIES = { "all sorts", "long tails", "extremes" }

--- Families of floats beyond the range that their fill has, where one has such: a program that
--- draws its data within a range only tries itself.
---@param t table
---@return string[] names
function M.beyond(t)
  for _, leaf in ipairs(tablerows.of(t).leaves) do
    if leaf.type:find "^f" and type(leaf.fill) == "table" and said_of(leaf) == "range" then
      local names = {}
      for i, name in ipairs(FAR_FAMILIES) do names[i] = name .. BEYOND end
      return names
    end
  end
  return {}
end

--- The families that change something of a problem table.
---@param t table
---@return string[] names
function M.of(t)
  local names = {}
  for _, family in ipairs(FAMILIES) do
    if #M.arrays(t, family.name) > 0 then names[#names + 1] = family.name end
  end
  return names
end

return M
