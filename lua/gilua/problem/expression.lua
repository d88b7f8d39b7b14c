-- expression: values of a problem table: numbers, functions of the names, or texts in Lua's syntax
-- (C's && || != and Python's ** True False are understood too) over those names. A text may be a
-- stranger's, for `gilua new` writes such: it is computed with (gilua.arithmetic), not run.

local arithmetic = require "gilua.base.arithmetic"
local fail = require "gilua.base.fail"
local settings = require "gilua.base.settings"

local M = {}

--------------------------------------------------------------------------------------------------
-- The language

local of_numbers = arithmetic.of_numbers

-- An operator of bits: of floats too that are whole, as in Lua.
local function of_bits(apply)
  return of_numbers(function(a, b)
    a, b = math.tointeger(a), math.tointeger(b)
    if a and b then return apply(a, b) end
  end)
end

-- Comparisons: of what Lua would compare.
local function ordered(apply)
  return function(a, b)
    if math.type(a) and math.type(b) or type(a) == "string" and type(b) == "string" then
      return apply(a, b)
    end
  end
end

local function equal(a, b)
  if a ~= nil and b ~= nil then return a == b end
end

-- Whole division and remainder have none by a whole zero.
local function divided(apply)
  return of_numbers(function(a, b)
    if b ~= 0 or not arithmetic.whole(a, b) then return apply(a, b) end
  end)
end

-- `and` and `or` give an operand, as in Lua.
local function both(a, b)
  if a then return b end
  return a
end

local function either(a, b)
  if a == false then return b end
  return a
end

local LANGUAGE = {
  words = { ["and"] = "&&", ["or"] = "||", ["not"] = "not" },
  binary = {
    ["||"] = { priority = 1, apply = either },
    ["&&"] = { priority = 2, apply = both },
    ["<"] = { priority = 3, apply = ordered(function(a, b) return a < b end) },
    [">"] = { priority = 3, apply = ordered(function(a, b) return a > b end) },
    ["<="] = { priority = 3, apply = ordered(function(a, b) return a <= b end) },
    [">="] = { priority = 3, apply = ordered(function(a, b) return a >= b end) },
    ["=="] = { priority = 3, apply = equal },
    ["!="] = { priority = 3, apply = function(a, b)
      if a ~= nil and b ~= nil then return a ~= b end
    end },
    ["|"] = { priority = 4, apply = of_bits(function(a, b) return a | b end) },
    ["~"] = { priority = 5, apply = of_bits(function(a, b) return a ~ b end) },
    ["&"] = { priority = 6, apply = of_bits(function(a, b) return a & b end) },
    ["<<"] = { priority = 7, apply = of_bits(function(a, b) return a << b end) },
    [">>"] = { priority = 7, apply = of_bits(function(a, b) return a >> b end) },
    ["+"] = { priority = 8, apply = of_numbers(function(a, b) return a + b end) },
    ["-"] = { priority = 8, apply = of_numbers(function(a, b) return a - b end) },
    ["*"] = { priority = 9, apply = of_numbers(function(a, b) return a * b end) },
    ["/"] = { priority = 9, apply = of_numbers(function(a, b) return a / b end) },
    ["@"] = { priority = 9, apply = divided(function(a, b) return a // b end) },
    ["%"] = { priority = 9, apply = divided(function(a, b) return a % b end) },
    ["^"] = { priority = 11, right = true, apply = of_numbers(function(a, b) return a ^ b end) },
  },
  unary = {
    ["-"] = function(a) return math.type(a) and -a or nil end,
    ["~"] = function(a)
      a = math.type(a) and math.tointeger(a)
      return a and ~a or nil
    end,
    ["not"] = function(a)
      if a ~= nil then return not a end
    end,
  },
  tightest = 10,
  number = tonumber,
  text = function(quoted) return quoted:sub(2, -2) end,
}

-- One spelling for each operator. The tokens are C's, where `//` begins a comment.
local SPELLINGS = { { "//", "@" }, { "~=", "!=" }, { "%*%*", "^" } }

local WORDS = { ["true"] = true, ["false"] = false, True = true, False = false }

-- What expressions may use of `math`: with numbers these raise nothing.
local FUNCTIONS = {}
for name in ("abs ceil cos exp floor log max min sin sqrt tan tointeger"):gmatch "%S+" do
  FUNCTIONS[name] = function(...)
    local given = table.pack(...)
    for i = 1, given.n do
      if not math.type(given[i]) then return nil end
    end
    if given.n > 0 then return math[name](...) end
  end
end
for _, name in ipairs { "pi", "huge", "maxinteger", "mininteger" } do
  FUNCTIONS[name] = math[name]
end
FUNCTIONS.fmod = divided(math.fmod)

-- What a name stands for; those that stand for nothing are noted in `unknown`.
local function meaning(names, unknown)
  return function(name)
    if WORDS[name] ~= nil then return WORDS[name] end
    local value = names[name]
    if value == math then return FUNCTIONS end
    if value == nil then unknown[#unknown + 1] = name end
    return tonumber(value) or value
  end
end

local function told_unknown(name, names)
  return ("'%s' is unknown%s"):format(name, settings.meant(name, names))
end

local function computed(text, names, where)
  local unknown, spelled = {}, text
  for _, row in ipairs(SPELLINGS) do spelled = spelled:gsub(row[1], row[2]) end
  local value, why = arithmetic.value(spelled, { language = LANGUAGE,
    name = meaning(names, unknown) })
  if why then fail("%s: '%s' is no expression: %s", where, text, why) end
  if type(value) == "number" or type(value) == "boolean" or type(value) == "string" then
    return value
  end
  fail("%s: '%s' has no value: %s (it may use %s)", where, text,
    unknown[1] and told_unknown(unknown[1], names) or "it computes with what is no number",
    table.concat(settings.keys(names), ", "))
end

--------------------------------------------------------------------------------------------------
-- Values

---@param value number|string|function
---@param names table<string, any> that it may use
---@param where string for the sentence: the file and the field
---@return any
function M.value(value, names, where)
  if type(value) == "function" then return value(names) end
  if type(value) ~= "string" then return value end
  return computed(value, names, where)
end

---@return number
function M.number(value, names, where)
  local n = M.value(value, names, where)
  if type(n) == "number" and n == n then return n end
  fail("%s must be a number, not %s", where, tostring(n))
end

--- A whole number of at least one.
---@return integer
function M.whole(value, names, where)
  local n = M.value(value, names, where)
  local k = type(n) == "number" and math.tointeger(n)
  if k and k > 0 then return k end
  fail("%s must be a whole number above 0, not %s%s", where, tostring(n),
    type(value) == "string" and (" (%s)"):format(value) or "")
end

return M
