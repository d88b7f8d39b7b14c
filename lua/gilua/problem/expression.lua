-- expression: values of a problem table: numbers, functions of the names, or texts in Lua's syntax
-- over those names (C's && || != and Python's ** True False are accepted, too). A text may be a
-- stranger's, since `gilua new` writes such: it is computed, not run. One pass over the tokens, by
-- precedence climbing; an unknown value is nil, and so is what is computed from it. Depth is
-- bounded.

local arithmetic = require "gilua.base.arithmetic"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local settings = require "gilua.base.settings"

local M = {}

--------------------------------------------------------------------------------------------------
-- Operators

---@class Operator
---@field priority integer the higher, the tighter
---@field apply fun(a: any, b: any): any of operands; either may be nil
---@field right? boolean a op (b op c)

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

local WORDS = { ["and"] = "&&", ["or"] = "||", ["not"] = "not" } -- which are operators

local BINARY = {
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
}
local TIGHTEST = 10 -- operators of this priority and above are tighter than a sign

local UNARY = {
  ["-"] = function(a) return math.type(a) and -a or nil end,
  ["~"] = function(a)
    a = math.type(a) and math.tointeger(a)
    return a and ~a or nil
  end,
  ["not"] = function(a)
    if a ~= nil then return not a end
  end,
}

--------------------------------------------------------------------------------------------------
-- Reading and computing

local MOST_DEPTH = 150 -- brackets and signs in each other

---@class Evaluation
---@field t userdata tokens
---@field at integer the token that is next
---@field name fun(name: string): any what a name stands for: a number, a function, what has members
---@field depth integer
---@field why? string it was refused: then nothing more is read

local function refuse(x, why)
  x.why, x.at = x.why or why, #x.t + 1
end

local function shown(x)
  return x.t[x.at] and ("near '%s'"):format(x.t[x.at]) or "at its end"
end

local function expect(x, word)
  if x.t[x.at] ~= word then return refuse(x, ("'%s' is expected %s"):format(word, shown(x))) end
  x.at = x.at + 1
end

local binary

-- What `read` gives, one level deeper.
local function deeper(x, read, ...)
  x.depth = x.depth + 1
  if x.depth > MOST_DEPTH then refuse(x, "it is too deep") end
  local value = read(x, ...)
  x.depth = x.depth - 1
  return value
end

local function call(x, f)
  local close = x.t:match(x.at)
  if not close then return refuse(x, "a bracket is not closed") end
  if type(f) ~= "function" then
    x.at = close + 1
    return nil
  end
  local args, n = {}, 0
  x.at = x.at + 1
  while x.at < close do
    n = n + 1
    args[n] = deeper(x, binary, 0)
    if x.at < close then expect(x, ",") end
  end
  expect(x, ")")
  if not x.why then return f(table.unpack(args, 1, n)) end
end

-- What stands behind an operand: members, calls, indices, which nobody knows.
local function postfix(x, value)
  local t = x.t
  while true do
    local word = t[x.at]
    if word == "." and t:kind(x.at + 1) == "name" then
      value = type(value) == "table" and value[t[x.at + 1]] or nil
      x.at = x.at + 2
    elseif word == "(" then
      value = call(x, value)
    elseif word == "[" and t:match(x.at) then
      value, x.at = nil, t:match(x.at) + 1
    else
      return value
    end
  end
end

local function operand(x)
  local word, kind = x.t[x.at], x.t:kind(x.at)
  x.at = x.at + 1
  if kind == "name" and not WORDS[word] then return postfix(x, x.name(word)) end
  if kind == "number" then return tonumber(word) end
  if kind == "string" or kind == "char" then return word:sub(2, -2) end
  if word ~= "(" then
    x.at = x.at - 1
    return refuse(x, ("a value is expected %s"):format(shown(x)))
  end
  local value = deeper(x, binary, 0)
  expect(x, ")")
  return postfix(x, value)
end

local function word_at(x)
  local word = x.t[x.at]
  return word and (WORDS[word] or word) or ""
end

-- A value with its signs before it.
local function signed(x)
  local apply = UNARY[word_at(x)]
  if not apply then return operand(x) end
  x.at = x.at + 1
  return apply(deeper(x, binary, TIGHTEST))
end

-- Operands, and operators between them of a priority or above.
function binary(x, least)
  local value = signed(x)
  while true do
    local operator = BINARY[word_at(x)]
    if not operator or operator.priority < least then return value end
    x.at = x.at + 1
    local tighter = operator.right and operator.priority or operator.priority + 1
    value = operator.apply(value, deeper(x, binary, tighter))
  end
end

-- One spelling for each operator. The tokens are C's, where `//` begins a comment.
local SPELLINGS = { { "//", "@" }, { "~=", "!=" }, { "%*%*", "^" } }

local CONSTANTS = { ["true"] = true, ["false"] = false, True = true, False = false }

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
    if CONSTANTS[name] ~= nil then return CONSTANTS[name] end
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
  local t <close> = core.grammar.tokens(spelled)
  local x = { t = t, at = 1, name = meaning(names, unknown), depth = 0 }
  local value = deeper(x, binary, 0)
  if x.at <= #t then refuse(x, ("there is more %s"):format(shown(x))) end
  if x.why then fail("%s: '%s' is no expression: %s", where, text, x.why) end
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
