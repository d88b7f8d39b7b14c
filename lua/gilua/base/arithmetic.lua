-- arithmetic: the value of an expression that a stranger wrote. Words are read and computed with;
-- nothing is compiled, nothing called but the functions that a language lists.
--
-- One pass over the tokens, by precedence climbing. What is not known is nil and goes on as nil.
-- Depth and steps are bounded. Problem tables' Lua (gilua.problem.expression) is such a language;
-- what host code says in C is computed from its tree (gilua.hostvalue), with the operators below.

local core = require "gilua.core"

local M = {}

local MOST_DEPTH = 150 -- brackets, signs and choices in each other, of values made of values too
local MOST_STEPS = 100000 -- operands

---@class Operator
---@field priority integer the higher, the tighter
---@field apply fun(a: any, b: any): any of operands either of which may be nil
---@field right? boolean a op (b op c)

---@class Language
---@field words table<string, string> other spellings of operators
---@field binary table<string, Operator>
---@field unary table<string, fun(a: any): any>
---@field tightest integer the least priority of operators that are tighter than a sign
---@field number fun(text: string): number?
---@field text? fun(text: string): any of a string

---@class Evaluation
---@field t userdata tokens
---@field at integer the token that is next
---@field language Language
---@field name fun(name: string): any what a name stands for: a number, a function, what has members
---@field work { steps: integer, depth: integer }
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

local function deeper(x, by)
  x.work.depth = x.work.depth + by
  if x.work.depth > MOST_DEPTH then refuse(x, "it is too deep") end
end

--------------------------------------------------------------------------------------------------
-- Operands

local expression, binary

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
    args[n] = expression(x)
    if x.at < close then expect(x, ",") end
  end
  expect(x, ")")
  if not x.why then return f(table.unpack(args, 1, n)) end
end

local function member(value, name)
  if type(value) == "table" then return value[name] end
end

-- What stands behind an operand: members, calls, indices, which nobody knows.
local function postfix(x, value)
  local t = x.t
  while true do
    local word = t[x.at]
    if (word == "." or word == "->") and t:kind(x.at + 1) == "name" then
      value = member(value, t[x.at + 1])
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

local function named(x)
  local t = x.t
  while t[x.at + 1] == "::" and t:kind(x.at + 2) == "name" do x.at = x.at + 2 end -- std::max
  x.at = x.at + 1
  return postfix(x, x.name(t[x.at - 1]))
end

local function constant(x, read)
  x.at = x.at + 1
  local value = read and read(x.t[x.at - 1])
  return value
end

local function operand(x)
  local t, kind = x.t, x.t:kind(x.at)
  x.work.steps = x.work.steps + 1
  if x.work.steps > MOST_STEPS then return refuse(x, "it takes too long") end
  if kind == "name" and not x.language.words[t[x.at]] then return named(x) end
  if kind == "number" then return constant(x, x.language.number) end
  if kind == "string" or kind == "char" then return constant(x, x.language.text) end
  if t[x.at] ~= "(" then return refuse(x, ("a value is expected %s"):format(shown(x))) end
  x.at = x.at + 1
  local value = expression(x)
  expect(x, ")")
  return postfix(x, value)
end

--------------------------------------------------------------------------------------------------
-- Operators

local function word_at(x)
  local word = x.t[x.at]
  return word and (x.language.words[word] or word)
end

-- A value with its signs before it.
local function signed(x)
  local apply = x.language.unary[word_at(x) or ""]
  if not apply then return operand(x) end
  deeper(x, 1)
  x.at = x.at + 1
  local value = apply(binary(x, x.language.tightest))
  deeper(x, -1)
  return value
end

function binary(x, least)
  local value = signed(x)
  while true do
    local operator = x.language.binary[word_at(x) or ""]
    if not operator or operator.priority < least then return value end
    x.at = x.at + 1
    deeper(x, 1)
    value = operator.apply(value,
      binary(x, operator.right and operator.priority or operator.priority + 1))
    deeper(x, -1)
  end
end

function expression(x)
  deeper(x, 1)
  local value = binary(x, 0)
  deeper(x, -1)
  return value
end

--- The value of an expression; nil where it has none.
---@param text string
---@param o { language: Language, name: function }
---@return any
---@return string? why not: it is no expression of the language, or takes too long
function M.value(text, o)
  local t <close> = core.grammar.tokens(text)
  local x = { t = t, at = 1, language = o.language, name = o.name,
    work = { steps = 0, depth = 0 } }
  local value = expression(x)
  if x.at <= #t then refuse(x, ("there is more %s"):format(shown(x))) end
  if x.why then return nil, x.why end
  return value
end

--------------------------------------------------------------------------------------------------
-- What languages are made of

---@return boolean
function M.whole(a, b)
  return math.type(a) == "integer" and (b == nil or math.type(b) == "integer")
end

--- A number without what is behind its point, as C makes a whole one of it: towards zero. Nil where
--- no integer holds it.
---@param x number
---@return integer?
function M.truncated(x)
  return math.tointeger(x) or math.tointeger((x < 0 and math.ceil or math.floor)(x))
end

--- a / b of whole numbers, and what is left, as in C: towards zero, where Lua goes down. Nil where
--- b is 0.
---@param a integer
---@param b integer
---@return integer? quotient
---@return integer? remainder
function M.divided(a, b)
  if b == 0 then return nil end
  local rest = math.fmod(a, b)
  return (a - rest) // b, rest
end

--- An operator of numbers: nil where an operand is none.
---@param apply fun(a: number, b: number): any
---@return fun(a: any, b: any): any
function M.of_numbers(apply)
  return function(a, b)
    if math.type(a) and math.type(b) then return apply(a, b) end
  end
end

--- An operator of whole numbers: nil where an operand is none.
---@param apply fun(a: integer, b: integer): any
---@return fun(a: any, b: any): any
function M.of_whole(apply)
  return function(a, b)
    if M.whole(a) and M.whole(b) then return apply(a, b) end
  end
end

return M
