-- hostvalue: the value of an expression of host code, a number where it can be known.
--
-- C's words are put into Lua's, only those that are listed here; names are looked up in what
-- gilua.hostcode has read. Of `a ? b : c` where a is not known c is taken: it is what stands where
-- no argument is given on the command line (but not in a macro: MAX is no such thing). What is not
-- understood has no value, unless it stands in what is not taken.

local csource = require "gilua.new.csource"

local M = {}

local MOST_LOOKUPS = 10000 -- of names for one value
local UNKNOWN = "@" -- no word of Lua: with it in there is no expression

local OPERATORS = { ["+"] = "+", ["-"] = "-", ["*"] = "*", ["/"] = "/", ["%"] = "%", ["("] = "(",
  [")"] = ")", [","] = ",", ["<<"] = "<<", [">>"] = ">>", ["&"] = "&", ["|"] = "|", ["~"] = "~",
  ["^"] = "~", ["<"] = "<", [">"] = ">", ["<="] = "<=", [">="] = ">=", ["=="] = "==",
  ["!="] = "~=" }
local FUNCTIONS = { max = math.max, min = math.min, ceil = math.ceil, floor = math.floor,
  sqrt = math.sqrt, ceilf = math.ceil, floorf = math.floor, sqrtf = math.sqrt }
local WHOLE = "(int)" -- the function that a cast of parentheses to whole numbers is; no name in C
FUNCTIONS[WHOLE] = function(v) return (v < 0 and math.ceil or math.floor)(v) end
local CASTS = csource.set "static_cast reinterpret_cast const_cast"
local REAL = csource.set "float double"

--- An expression on its way into Lua.
---@class HostTranslation
---@field host HostCode
---@field t userdata its tokens
---@field out string[] Lua's words
---@field names table what names stand for
---@field in_macro boolean
---@field starts integer[] where what stands in each open bracket, behind its last comma, begins
---@field real boolean a number or cast is of floating point: then / is no whole division

-- A C number as Lua writes it; nil where it is none.
local function number_text(text)
  text = text:gsub("'", ""):lower()
  local suffixes = text:find "^0x" and "[ul]+$" or "[ulf]+$"
  local plain = text:gsub(suffixes, "")
  local value = plain:find "^0b" and tonumber(plain:sub(3), 2) or tonumber(plain)
  local real = not text:find "^0[xb]" and plain:find "[.e]" ~= nil
  return value and (math.type(value) == "integer" and "%d" or "%.17g"):format(value), real
end

-- The type that a cast at a token names, and the token behind it: `(float)`, `static_cast<float>`,
-- `float(`.
local function cast_at(x, i)
  local t = x.t
  if CASTS[t[i]] and t[i + 1] == "<" then
    local close = csource.angle_end(t, i + 1)
    return close and t:text(i + 2, close - 1), close and close + 1
  end
  if x.host.SIZES[t[i]] and t[i + 1] == "(" then return t[i], i + 1 end
  local close = t[i] == "(" and t:match(i)
  if not close then return nil end
  for k = i + 1, close - 1 do
    if t:kind(k) ~= "name" then return nil end
  end
  local next_kind = t:kind(close + 1)
  local goes_on = next_kind == "name" or next_kind == "number" or t[close + 1] == "("
  return x.host.SIZES[t[close - 1]] and goes_on and t:text(i + 1, close - 1), close + 1
end

-- The bytes that the `sizeof` at a token says, and the token behind it.
local function sizeof_at(x, i)
  local t, host = x.t, x.host
  if t[i + 1] == "*" then return host:pointee_size(t[i + 2] or ""), i + 3 end
  local close = t[i + 1] == "(" and t:match(i + 1)
  if not close then return nil end
  if t[i + 2] == "*" and close == i + 4 then return host:pointee_size(t[i + 3]), close + 1 end
  return host:size_of(t:text(i + 2, close - 1)), close + 1
end

-- The token behind the ':' of the '?' at a token; behind the last where there is none.
local function past_colon(t, i)
  local open = 0
  repeat
    if t[i] == "?" then open = open + 1 elseif t[i] == ":" then open = open - 1 end
    i = csource.past(t, i)
  until open == 0 or not t[i]
  return i
end

local function emit(x, word)
  x.out[#x.out + 1] = word or UNKNOWN
end

local function step_name(x, i)
  local t = x.t
  if t[i] == "sizeof" then
    local bytes, behind = sizeof_at(x, i)
    emit(x, bytes and ("%d"):format(bytes))
    return behind or i + 1
  end
  if t[i + 1] == "::" then return i + 2 end -- std::max
  local member = t[i - 1] == "." or t[i - 1] == "->"
  emit(x, (member and "[%q]" or "names[%q]"):format(t[i]))
  return i + 1
end

-- Lua's words from one on, taken out, as a chunk; a / is a whole division where nothing is real.
local function take_chunk(x, first)
  local words = {}
  for k = first, #x.out do
    words[k - first + 1] = x.out[k] == "/" and not x.real and "//" or x.out[k]
    x.out[k] = nil
  end
  return load("local names = ... return " .. table.concat(words, " "), "=expression", "t", {})
end

-- Is the condition before a '?' true? Nil where that is not known.
local function condition(x)
  local chunk = take_chunk(x, (x.starts[#x.starts] or 0) + 1)
  local ok, value
  if chunk then ok, value = pcall(chunk, x.names) end
  if not ok or type(value) ~= "boolean" and type(value) ~= "number" then return nil end
  return value ~= false and value ~= 0
end

-- The '?' at a token: on with what is taken.
local function step_choice(x, i)
  local is_true = condition(x)
  if is_true == nil and x.in_macro then emit(x, UNKNOWN) end
  return is_true and i + 1 or past_colon(x.t, i)
end

-- Behind what the ':' at a token begins: it is not taken.
local function past_rest(t, i)
  while t[i] and t[i] ~= "," and t[i] ~= ")" do i = csource.past(t, i) end
  return i
end

local function step_punct(x, i)
  local t, word = x.t, x.t[i]
  if word == "?" then return step_choice(x, i) end
  if word == ":" then return past_rest(t, i) end
  if (word == "." or word == "->") and t:kind(i + 1) == "name" then return i + 1 end
  emit(x, OPERATORS[word])
  if word == "(" then x.starts[#x.starts + 1] = #x.out
  elseif word == ")" then table.remove(x.starts)
  elseif word == "," then x.starts[math.max(1, #x.starts)] = #x.out end
  return i + 1
end

-- Translates what is at a token; the token behind it.
local function step(x, i)
  local type, behind = cast_at(x, i)
  if type then
    local is_real = REAL[type] ~= nil
    x.real = x.real or is_real
    if not is_real and x.t[behind] == "(" then emit(x, ("names[%q]"):format(WHOLE)) end
    return behind
  end
  local kind = x.t:kind(i)
  if kind == "name" then return step_name(x, i) end
  if kind == "punct" then return step_punct(x, i) end
  local text, real
  if kind == "number" then text, real = number_text(x.t[i]) end
  x.real = x.real or real
  emit(x, text)
  return i + 1
end

-- The value of an expression; raises where there is none.
local function run(host, text, names, in_macro)
  local t <close> = csource.tokens(text)
  local x = { host = host, t = t, names = names, in_macro = in_macro, out = {}, starts = { 0 },
    real = false }
  local i = 1
  while i <= #t do i = step(x, i) end
  local chunk = take_chunk(x, 1)
  return chunk and chunk(names)
end

-- A macro with arguments, as a function.
local function macro(host, f, names)
  return function(...)
    local given = {}
    for i, param in ipairs(f.params) do given[param] = select(i, ...) end
    return run(host, f.body, setmetatable(given, { __index = names }), true)
  end
end

-- What a name stands for: a function, a dim3's sizes, a number; else whatever has members:
-- params.n, after params.n = 64.
local function look_up(host, name, names)
  if host.functions[name] then return macro(host, host.functions[name], names) end
  if FUNCTIONS[name] then return FUNCTIONS[name] end
  local dim = host.dims[name]
  if dim then
    local xyz = host:dimensions(dim)
    return xyz and { x = xyz[1], y = xyz[2], z = xyz[3] }
  end
  local text = host.definitions[name]
  if text then return M.of(host, text) end
  return setmetatable({}, { __index = function(_, member)
    return host.definitions[member] and names[member]
  end })
end

-- A host's names, for the expressions in Lua. One whose value is being worked out has none: it
-- would be made of itself.
local function names_of(host, work)
  return setmetatable({}, { __index = function(names, name)
    work.lookups = work.lookups + 1
    if work.open[name] or work.lookups > MOST_LOOKUPS then return nil end
    if host.known[name] ~= nil then return host.known[name] or nil end
    work.open[name] = true
    local value = look_up(host, name, names)
    work.open[name] = nil
    if host.definitions[name] then host.known[name] = value or false end
    return value
  end })
end

---@param host HostCode
---@param text string
---@return number?
function M.of(host, text)
  local outer = host.work -- of a value that is made of this one
  host.work = outer or { lookups = 0, open = {} }
  local ok, value = pcall(run, host, text, names_of(host, host.work), false)
  host.work = outer
  if not ok or type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
    return nil
  end
  return math.tointeger(value) or value
end

return M
