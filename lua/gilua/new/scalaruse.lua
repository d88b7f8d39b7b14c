-- scalaruse: what a kernel does with a number that it is given: the bound of its threads or of a
-- loop, a factor of an index, a divisor, an exponent, a choice. From the words alone.

local csource = require "gilua.source.csource"

local M = {}

local COMPARES = csource.set "< > <= >= == !="
local EQUALS = csource.set "== !="
local DIVIDES = csource.set "/ % /= %="
local SHIFTS = csource.set "<< >> <<= >>="
local JOINS = csource.set "&& || ! ?"
local STARTS = csource.set "; { } ( , ="
local MOST_WORDS = 60 -- of an expression
local WARP = 32
local POWERS = csource.set "pow powf __powf"

---@class ScalarUse what it stands for somewhere, as true
---@field thread? integer what a thread's place is compared with, in this dimension
---@field shared? integer how many threads have that place in common: lanes of a row
---@field lane? integer what a thread's place in its block is compared with, in this dimension
---@field guard? integer the same, but for the place at which a loop begins
---@field loop? boolean what a loop counts to
---@field factor? boolean of a product
---@field divisor? boolean
---@field shift? boolean
---@field exponent? boolean
---@field truth? boolean it is a condition
---@field bound? boolean something else is below it, or above
---@field equals? number the number that it is compared with

--- Does code name a parameter anywhere but where it is declared? A macro may, too.
---@param t userdata tokens of the source
---@param name string
---@return boolean
function M.is_named(t, name)
  local word, n = ("%f[%w_]" .. name .. "%f[^%w_]"), 0
  for i = 1, #t do
    local is_macro = t:kind(i) == "directive" and t[i]:find(word)
    n = n + ((t[i] == name or is_macro) and 1 or 0)
  end
  return n > 1
end

-- The whole number that a name is, by a macro or a constant.
local function number_named(t, name)
  for i = 1, #t do
    local words = t:kind(i) == "directive" and t:inside(i)
    if words and words[1] == "define" and words[2] == name and #words == 3 then
      return tonumber(words[3])
    elseif t[i] == name and t[i + 1] == "=" and t:kind(i + 2) == "number" and t[i + 3] == ";" then
      return tonumber(t[i + 2])
    end
  end
end

-- Returns the number of threads that share a value in `/ 32`, `>> 5` at a token, or in a tile.
local function shared_at(t, i)
  local name = t:kind(i + 1) == "name" and t[i + 1]
  if t[i] == "/" or t[i] == ">>" then
    local n = name == "warpSize" and WARP or name and number_named(t, name)
      or tonumber((t[i + 1]:gsub("[uUlL]+$", "")))
    n = n and (t[i] == "/" and n or n < 6 and 1 << n)
    return math.tointeger(n) and n > 1 and n <= WARP and math.tointeger(n) or nil
  elseif t[i] == "." and name == "meta_group_rank" then
    local tile = t:find(1, "tiled_partition", "<")
    return tile and tonumber(t[tile + 2]) or WARP
  end
end

-- What thread an expression from one token to another speaks of: its dimension, whether it is
-- that of all threads, not only of those in a block, and how many have that in common. Of a
-- variable too that is made of it.
local function thread_in(t, from, to, derived)
  local d, is_global, shared = nil, false, nil
  for i = from, to do
    local is_place = t[i] == "threadIdx" or t[i] == "blockIdx"
    local known = t:kind(i) == "name" and t[i - 1] ~= "." and derived[t[i]]
    if is_place then
      d = d or ("xyz"):find(t[i + 2] or "", 1, true) or 1
      is_global = is_global or t[i] == "blockIdx"
    elseif known then
      d, is_global, shared = d or known[1], is_global or known[2], shared or known[3]
    end
    shared = shared or i < to and shared_at(t, i) or nil
  end
  return d, is_global, shared
end

-- Where an expression ends that begins at a token: before its `;` or `,`, or the bracket around it.
local function expression_end(t, i)
  local from = i
  while t[i] and t[i] ~= ";" and t[i] ~= "," and t[i] ~= ")" and i < from + MOST_WORDS do
    i = csource.past(t, i)
  end
  return i - 1
end

--- Variables that are made of a thread's place, by name: dimension, is it that of all threads, and
--- how many of them have it in common.
---@param t userdata tokens of the source
---@return table<string, { [1]: integer, [2]: boolean, [3]: integer? }>
function M.derived(t)
  local derived, i = {}, t:find(1, "=")
  while i do
    local name = t:kind(i - 1) == "name" and t[i - 1]
    local d, is_global, shared = thread_in(t, i + 1, expression_end(t, i + 1), derived)
    derived[name or ""] = derived[name] or d and { d, is_global, shared } or nil
    i = t:find(i + 1, "=")
  end
  derived[""] = nil
  return derived
end

-- The token that opens the bracket around a token.
local function bracket_around(t, i)
  local k = i - 1
  while k > 0 and k > i - MOST_WORDS do
    local match = t:match(k)
    if match and match > i then return k end
    k = match and match < k and match - 1 or k - 1
  end
end

-- The operand on the other side of a comparison at a token: its tokens.
local function other_side(t, compare, is_left)
  if is_left then -- ours is left of it
    return compare + 1, expression_end(t, compare + 1)
  end
  local from = compare - 1
  while from > 1 and not STARTS[t[from - 1]] and not JOINS[t[from - 1]] do
    local open = t:match(from)
    from = open and open < from and open or from
    if STARTS[t[from - 1]] or JOINS[t[from - 1]] then break end
    from = from - 1
  end
  return from, compare - 1
end

-- The first part of a loop's header around a token: where it begins, and ends.
local function loop_start(t, i)
  local open = bracket_around(t, i)
  while open and t[open - 1] ~= "for" do open = bracket_around(t, open) end
  local stop = open and t:find(open, ";")
  if stop and stop < i then return open + 1, stop end
end

-- Is an expression a thread's place itself, or a name that begins as one? No element that is there.
local function is_place(t, from, to)
  local begins = from == to and t:find(1, t[from], "=")
  if begins then from, to = begins + 2, expression_end(t, begins + 2) end
  local found = false
  for i = from, to do
    if t[i] == "[" then return false end
    found = found or t[i] == "threadIdx"
  end
  return found
end

local function compared(use, t, i, compare, is_left, derived)
  local from, to = other_side(t, compare, is_left)
  local number = from == to and t:kind(from) == "number" and tonumber((t[from]:gsub("[uUlLfF]+$",
    "")))
  if EQUALS[t[compare]] and number then
    use.equals = use.equals or number
    return
  end
  local first, last = loop_start(t, i)
  local thread, is_global, shared = thread_in(t, first or from, first and last or to, derived)
  if thread and is_global then
    use.thread, use.shared = use.thread or thread, use.shared or shared
  elseif thread then
    use.lane = use.lane or thread
    use.guard = use.guard or not first and is_place(t, from, to) and thread or nil
  elseif first then use.loop = true
  else use.bound = use.bound or not EQUALS[t[compare]] end
end

-- What one place says: the name and its members end before `behind`.
local function look(use, t, from, i, derived)
  local before, after = t[from - 1], t[i + 1]
  if COMPARES[after] then compared(use, t, from, i + 1, true, derived) end
  if COMPARES[before] then compared(use, t, i, from - 1, false, derived) end
  if before == "*" and t:kind(from - 2) ~= "" and (t:kind(from - 2) == "name" or t[from - 2] == ")")
      or after == "*" then
    use.factor = true
  end
  if DIVIDES[before] then use.divisor = true end
  if SHIFTS[before] then use.shift = true end
  local open = before == "," and bracket_around(t, i)
  if open and POWERS[t[open - 1]] then use.exponent = true end
  if JOINS[before] or JOINS[after] or before == "(" and after == ")"
      and (t[from - 2] == "if" or t[from - 2] == "while") then
    use.truth = not COMPARES[before] and not COMPARES[after] or use.truth
  end
end

--- Does a source draw random numbers, by the names in it?
---@param t userdata tokens of the source
---@return boolean
function M.draws(t)
  for i = 1, #t do
    local word = t:kind(i) == "name" and t[i]:lower() or ""
    if word:find "^curand_uniform" or word:find "^rand" or word:find "_rand" then return true end
  end
  return false
end

--- What a source does with a number: with a parameter, or with a member of a struct.
---@param t userdata tokens of the source
---@param name string
---@param is_member boolean
---@param derived table of M.derived
---@return ScalarUse
function M.of(t, name, is_member, derived)
  local use, i = {}, t:find(1, name)
  while i do
    local from = csource.chain_start(t, i)
    if (from < i) == is_member then look(use, t, from, i, derived) end
    i = t:find(i + 1, name)
  end
  return use
end

return M
