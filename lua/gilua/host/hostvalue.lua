-- hostvalue: the value of an expression of host code, a number where it can be known: its tree,
-- computed by C's rules, whole numbers of 64 bits and doubles.
--
-- Names are looked up in what gilua.hostcode has read. Of `a ? b : c` where a is not known c is
-- taken: it is what stands where no argument is given on the command line (but not in a macro: MAX
-- is no such thing). What is not understood has no value, unless it stands in what is not taken.

local arithmetic = require "gilua.base.arithmetic"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local hostfunction = require "gilua.host.hostfunction"

local M = {
  REAL = csource.set "float double", -- types of numbers that are not whole
}

local MOST_LOOKUPS = 10000 -- of names for one value
local MOST_STEPS = 100000 -- parts of expressions
local MOST_DEPTH = 150 -- values that are made of values

--------------------------------------------------------------------------------------------------
-- C's rules

local of_numbers, of_whole = arithmetic.of_numbers, arithmetic.of_whole

local function truth(a)
  if math.type(a) then return a ~= 0 end
end

local function compared(apply)
  return of_numbers(function(a, b) return apply(a, b) and 1 or 0 end)
end

local function quotient(a, b)
  if not arithmetic.whole(a, b) then return a / b end
  return (arithmetic.divided(a, b))
end

local function remainder(a, b)
  return select(2, arithmetic.divided(a, b))
end

-- Shifts by what is no place of 64 bits have no value.
local function shifted(apply)
  return of_whole(function(a, b)
    if b >= 0 and b < 64 then return apply(a, b) end
  end)
end

local function to_the_right(a, b)
  return a >= 0 and a >> b or ~(~a >> b) -- the sign stays
end

local function is_true(a)
  local t = truth(a)
  if t == nil then return nil end
  return t and 1 or 0
end

local C = {
  binary = {
    ["||"] = { settled = function(a) return truth(a) == true, 1 end,
      apply = function(a, b) return truth(a) == false and is_true(b) or nil end },
    ["&&"] = { settled = function(a) return truth(a) == false, 0 end,
      apply = function(a, b) return truth(a) and is_true(b) or nil end },
    ["|"] = { apply = of_whole(function(a, b) return a | b end) },
    ["^"] = { apply = of_whole(function(a, b) return a ~ b end) },
    ["&"] = { apply = of_whole(function(a, b) return a & b end) },
    ["=="] = { apply = compared(function(a, b) return a == b end) },
    ["!="] = { apply = compared(function(a, b) return a ~= b end) },
    ["<"] = { apply = compared(function(a, b) return a < b end) },
    [">"] = { apply = compared(function(a, b) return a > b end) },
    ["<="] = { apply = compared(function(a, b) return a <= b end) },
    [">="] = { apply = compared(function(a, b) return a >= b end) },
    ["<<"] = { apply = shifted(function(a, b) return a << b end) },
    [">>"] = { apply = shifted(to_the_right) },
    ["+"] = { apply = of_numbers(function(a, b) return a + b end) },
    ["-"] = { apply = of_numbers(function(a, b) return a - b end) },
    ["*"] = { apply = of_numbers(function(a, b) return a * b end) },
    ["/"] = { apply = of_numbers(quotient) },
    ["%"] = { apply = of_whole(remainder) },
  },
  unary = {
    ["-"] = function(a) return math.type(a) and -a or nil end,
    ["+"] = function(a) return math.type(a) and a or nil end,
    ["~"] = function(a) return arithmetic.whole(a) and ~a or nil end,
    ["!"] = function(a) return truth(a) ~= nil and (truth(a) and 0 or 1) or nil end,
    ["*"] = function() return nil end, -- what a pointer points to, an address: not known
    ["&"] = function() return nil end,
  },
}

-- 1'000, 0x10u, 0b101, 2.5f
function C.number(text)
  local plain = text:gsub("'", ""):lower()
  plain = plain:gsub(plain:find "^0x" and "[ul]+$" or "[ulf]+$", "")
  if plain:find "^0b" then return tonumber(plain:sub(3), 2) end
  if plain:find "^0%d+$" then return tonumber(plain, 8) end
  return tonumber(plain)
end

-- A function of C on doubles; one of C++ on numbers of one type.
local function real(f)
  return function(a, b)
    if math.type(a) and (b == nil or math.type(b)) then return f(a + 0.0, b and b + 0.0) end
  end
end

local function of_two(f)
  return of_numbers(function(a, b)
    local whole = arithmetic.whole(a, b)
    return whole and f(a, b) or f(a + 0.0, b + 0.0)
  end)
end

local function up(a) return -((-a) // 1) end

local function down(a) return a // 1 end

local FUNCTIONS = { max = of_two(math.max), min = of_two(math.min), fmax = real(math.max),
  fmin = real(math.min), ceil = real(up), floor = real(down), sqrt = real(math.sqrt),
  fabs = real(math.abs), exp = real(math.exp), log = real(math.log),
  log2 = real(function(a) return math.log(a, 2) end),
  log10 = real(function(a) return math.log(a, 10) end),
  pow = of_numbers(function(a, b) return (a + 0.0) ^ b end),
  abs = function(a) return math.type(a) and math.abs(a) or nil end,
  dim3 = function(x, y, z)
    return type(x) == "table" and x or math.type(x) and { x = x, y = y or 1, z = z or 1 } or nil
  end }
for name in ("ceil floor sqrt fabs exp log log2 log10 pow fmax fmin"):gmatch "%S+" do
  FUNCTIONS[name .. "f"] = FUNCTIONS[name]
end

local CONSTANTS = { ["true"] = 1, ["false"] = 0 }

-- A number as a type holds it, as far as it matters here; nil where that is no built-in one.
local function cast(host, type, value)
  local word = not type:find "[*&]" and type:match "[%w_]+$"
  if not math.type(value) or not host.SIZES[word] then return nil end
  if M.REAL[word] then return value + 0.0 end
  return arithmetic.truncated(value)
end

--------------------------------------------------------------------------------------------------
-- Trees

-- The bytes that a sizeof says.
local function size_of(x, node)
  local t, first, last = x.one.t, node.first + 1, node.last
  if t[node.first] ~= "sizeof" then return nil end
  if t[first] == "(" and t:match(first) == last then first, last = first + 1, last - 1 end
  local text = t:text(first, last)
  local of = code_of.tree(x.host, text).tree
  if of and of.op == "*" and of.a.kind == "name" then return x.host:pointee_size(of.a.text) end
  return x.host:size_of(text)
end

local compute

local VALUES = { -- by the kind of a node
  number = function(x, node)
    if node.text == "sizeof" then return size_of(x, node) end
    return node.literal == "number" and C.number(node.text) or nil
  end,
  name = function(x, node)
    local last = node.text:match "[^:%s]+$"
    local member = last ~= node.text and x.host.initial[last] -- `int n = Config::n;`
    return member and M.of(x.host, member) or x.names(last)
  end,
  member = function(x, node)
    local of = compute(x, node.a)
    if type(of) == "table" then return of[node.name] end
  end,
  unary = function(x, node)
    local apply = C.unary[node.op]
    return apply and apply(compute(x, node.a))
  end,
  cast = function(x, node) return cast(x.host, node.type, compute(x, node.a)) end,
}

function VALUES.call(x, node)
  local name = node.callee.text
  if x.host.SIZES[name] then
    return node.args[1] and cast(x.host, name, compute(x, node.args[1]))
  end
  local f, args = compute(x, node.callee), {}
  if type(f) ~= "function" then return nil end
  for k, arg in ipairs(node.args) do args[k] = compute(x, arg) end
  return f(table.unpack(args, 1, #node.args))
end

function VALUES.binary(x, node)
  local operator, a = C.binary[node.op], compute(x, node.a)
  if not operator then return nil end
  local settled, value
  if operator.settled then settled, value = operator.settled(a) end
  if settled then return value end
  return operator.apply(a, compute(x, node.b))
end

-- Where it is not known which is taken, it is what stands last.
function VALUES.choice(x, node)
  local holds = truth(compute(x, node.condition))
  if holds == nil and not x.guesses then return nil end
  return compute(x, holds and node.a or node.b)
end

function compute(x, node)
  local work = x.host.work
  work.steps = work.steps + 1
  local value = VALUES[node.kind]
  return value and work.steps <= MOST_STEPS and value(x, node) or nil
end

--------------------------------------------------------------------------------------------------
-- Names

local function evaluate(host, text, names, in_macro)
  local one, work = code_of.tree(host, text), host.work
  if not one.tree or work.depth >= MOST_DEPTH then return nil end
  work.depth = work.depth + 1
  local value = compute({ host = host, one = one, names = names, guesses = not in_macro }, one.tree)
  work.depth = work.depth - 1
  return value
end

-- A macro with arguments, as a function. It has no value within itself.
local function macro(host, name, names)
  local f, open = host.functions[name], host.work.open
  return function(...)
    if open[f] then return nil end
    local given, is_given = table.pack(...), {}
    for i, param in ipairs(f.params) do is_given[param] = i end
    open[f] = true
    local value = evaluate(host, f.body, function(word)
      if is_given[word] then return given[is_given[word]] end
      return names(word)
    end, true)
    open[f] = nil
    return value
  end
end

-- A function of the host's that only computes. It has no value within itself.
local function computing(host, one, names)
  local open = host.work.open
  return function(...)
    if open[one] then return nil end
    local args, given = table.pack(...), {}
    local x = { host = host, one = one, names = function(word)
      if given[word] ~= nil then return given[word] or nil end
      return names(word)
    end }
    for i, param in ipairs(one.params) do given[param.name] = args[i] or false end
    open[one] = true
    local _, result = hostfunction.run(one.statement, given, function(tree)
      return compute(x, tree)
    end, truth)
    open[one] = nil
    return result
  end
end

-- Whatever has members: params.n, after params.n = 64.
local function members(host, names)
  return setmetatable({}, { __index = function(_, name)
    return (host.definitions[name] or host.assumed[name]) and names(name)
  end })
end

-- A value within the limits of a variable that are known.
local function limited(host, name, value)
  for _, limit in ipairs(value and host.limits[name] or {}) do
    local bound = M.of(host, limit.text)
    value = bound and FUNCTIONS[limit.by](value, bound) or value
  end
  return value
end

-- The first value of a variable that is known and not 0; `int n = 0;` with another value that is
-- not known, or that is counted up, is set at run time.
local function variable(host, name, text)
  local value = M.of(host, text)
  if value and value ~= 0 then return limited(host, name, value) end
  for _, other in ipairs(host.later[name] or {}) do
    local known = M.of(host, other)
    if known and known ~= 0 then return limited(host, name, known) end
    if not known then value = nil end
  end
  return not host.counted[name] and value or nil
end

local SIDES = { "x", "y", "z" }

-- The sides of a dim3, with those that are set one by one; nil where one is not known.
local function sides_of(host, name)
  local xyz = host.dims[name] and host:dimensions(host.dims[name]) or not host.dims[name] and {}
  local sides = {}
  for d, side in ipairs(xyz and SIDES or {}) do
    local text = (host.dim_sides[name] or {})[side]
    sides[side] = text and M.of(host, text) or not text and (xyz[d] or 1) or nil
    if not sides[side] then return nil end
  end
  return xyz and sides or nil
end

-- What a name stands for: a function, a dim3's sizes, a number; else what has members.
local function look_up(host, name, names)
  if host.functions[name] then return macro(host, name, names) end
  local computes = hostfunction.of(host, name)
  if computes then return computing(host, computes, names) end
  if FUNCTIONS[name] then return FUNCTIONS[name] end
  if host.dims[name] or next(host.dim_sides[name] or {}) then return sides_of(host, name) end
  local text = host.definitions[name]
  if text then return variable(host, name, text) end
  return CONSTANTS[name] or members(host, names)
end

-- A host's names, before which those that are given come. One whose value is being worked out has
-- none: it would be made of itself.
local function names_of(host, work, given)
  local function names(name)
    work.lookups = work.lookups + 1
    if work.open[name] or work.lookups > MOST_LOOKUPS then return nil end
    if given and given[name] ~= nil then return given[name] end
    if host.assumed[name] and host.known[name] == nil then return host.assumed[name] end
    if host.known[name] ~= nil then return host.known[name] or nil end
    work.open[name] = true
    local value = look_up(host, name, names)
    work.open[name] = nil
    if host.definitions[name] and not given then host.known[name] = value or false end
    return value
  end
  return names
end

---@param host HostCode
---@param text string
---@return number?
function M.of(host, text)
  return M.with(host, text)
end

--- The value of an expression in which some names are others than the host's.
---@param host HostCode
---@param text string
---@param given? table<string, number|function>
---@return number?
function M.with(host, text, given)
  local outer = host.work -- of a value that is made of this one
  host.work = outer or { lookups = 0, steps = 0, open = {}, depth = 0 }
  local value = evaluate(host, text, names_of(host, host.work, given), false)
  host.work = outer
  if not math.type(value) or value ~= value or math.abs(value) == math.huge then return nil end
  return math.tointeger(value) or value
end

return M
