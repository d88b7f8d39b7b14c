-- hostfills: what the host's code draws for an array: `for (i…) h[i] = rand() % 2;`, and
-- `cudaMemcpy(d, h, …)`. Which numbers these are is found by computing the expression with many
-- drawn values (gilua.hostvalue), and taking the least and the greatest result.
--
--   hostfills.of(host, "d_grid", launch.body) -- { fill = "{ 0, 1 }", place = "line 172" }, or nil
--
-- What is drawn: rand() and its like, C++'s
-- distributions, and functions of the file that compute something of these. Read are elements that
-- get a value (`h[i] =`, `h.push_back(…)`), `std::generate`, and functions of the file that do
-- that with an array of theirs. A constant, or what only a loop counts, is no fill: it shows less
-- than random numbers do.

local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local hostvalue = require "gilua.host.hostvalue"
local lists = require "gilua.base.lists"
local pointers = require "gilua.host.pointers"

local M = {}

local MOST_WORDS = 120 -- of a value
local MOST_STORES = 400 -- of a file
local MOST_DEPTH = 4 -- functions that hand an array on
local RAND_MAX = 2147483647 -- of glibc
local DRAWS = 96 -- at random; those before are where usual remainders end

--------------------------------------------------------------------------------------------------
-- Words

local COPIES = csource.set "cudaMemcpy cudaMemcpyAsync cudaMemcpyToSymbol"

-- The array that a text is a pointer to: `&h[0]`, `h.data()`, `(float4 *)h`, `h + n`; nil where it
-- is a struct's member, or of a call.
local function array_of(self, text)
  local one = code_of.tree(self, text)
  local path = pointers.leads(self, one, one.tree, { paths = {}, calls = {} }).paths[1]
  return path and path:gsub("%b[]", ""):match "^[%w_]+$"
end

-- Notes a value that an element of an array gets, if a function is called in it. index: the text of
-- the element's index.
local function note(self, name, text, place, within, index)
  if not name or not text:find "%(" or #self.stores >= MOST_STORES then return end
  self.stores[#self.stores + 1] = { name = name, text = text, place = place, within = within,
    index = index or "" }
end

--- Reads `h[i] = value;`, not of a struct's member.
---@param m table of `$a = $b`
---@param place string
---@param within? HostFunction
function M.read_store(self, code, m, place, within)
  local t, first, last = code.t, m.a.first, m.a.last
  local is_own = t:kind(first) == "name" and t[first + 1] == "["
  if is_own and m.b.last - m.b.first < MOST_WORDS then
    local index = t:text(t:match(last) + 1, last - 1)
    note(self, t[first], code_of.text(code, m.b), place, within, index)
  end
end

-- `return value;` of a lambda.
local function returned(code, lambda)
  for _, m in ipairs(code_of.found(code, "return $value;")) do
    if m.first > lambda.first and m.last < lambda.last then return code_of.text(code, m.value) end
  end
end

--- Reads `cudaMemcpy(d, h, …, cudaMemcpyHostToDevice)`, `h.push_back(value)`, and
--- `std::generate(h.begin(), h.end(), [] { return value; })`.
---@param call table of `$f($$args)`
---@param name string what is called
---@param args string[]
---@param place string
---@param within? HostFunction
function M.read_call(self, code, call, name, args, place, within)
  if COPIES[name] then
    local to, from = array_of(self, args[1] or ""), array_of(self, args[2] or "")
    if to and from and not table.concat(args, ","):find "DeviceToHost" then
      self.copies[#self.copies + 1] = { to = to, from = from, within = within }
    end
  elseif name == "push_back" then
    local is_vectors = call.f.kind == "member" and call.f.token == call.f.first + 2
    note(self, is_vectors and code.t[call.f.first], args[1] or "", place, within)
  elseif name == "generate" and call.args[3] then
    local text = returned(code, call.args[3])
    if text then note(self, array_of(self, args[1]), text, place, within) end
  end
end

--- Reads `std::uniform_real_distribution<float> name(a, b);` and its like.
---@param d table of source:declarations
function M.read_distribution(self, code, d)
  for kind in d.type:gmatch "[%w_]+" do
    if M.DISTRIBUTIONS[kind] and code.t:match(d.init_at) == d.last then
      self.distributions[d.name] = { kind = kind,
        args = csource.parts(code.t, d.init_at + 1, d.last - 1) }
    end
  end
end

--------------------------------------------------------------------------------------------------
-- What is drawn

-- Values of rand(): where remainders by usual numbers are greatest, both ends, and others.
local function samples()
  local list = {}
  for r = 0, 64 do list[#list + 1] = r end
  for _, unit in ipairs { 1, 2, 4, 5, 8 } do
    for power = 1, 8 do list[#list + 1] = unit * math.tointeger(10 ^ power) - 1 end
  end
  for bits = 6, 31 do list[#list + 1] = (1 << bits) - 1 end
  for k = 1, DRAWS do list[#list + 1] = k * 2654435761 % (RAND_MAX + 1) end
  return list
end

local WHOLE = csource.set "rand random lrand48"

-- A number from 0 to 1 of one from 0 to RAND_MAX.
local function share(r) return r / RAND_MAX end

--- C++'s distributions: a number of each by one of rand() and its arguments.
M.DISTRIBUTIONS = {
  uniform_real_distribution = function(r, a, b)
    return (a or 0) + share(r) * ((b or 1) - (a or 0))
  end,
  uniform_int_distribution = function(r, a, b)
    a, b = a or 0, b or RAND_MAX
    return a + (r == RAND_MAX and b - a or r % (b - a + 1))
  end,
  normal_distribution = function(r, mean, deviation)
    return (mean or 0.0) + (6 * share(r) - 3) * (deviation or 1.0)
  end,
  bernoulli_distribution = function(r) return r % 2 end,
}

-- Returns the names that draw numbers, as hostvalue.with takes them. They count how often they
-- draw.
local function drawing(host, list)
  local state = { at = 1, asked = 0 }
  local function next_one() -- another in each place of one expression
    state.asked = state.asked + 1
    return list[(state.at + 37 * (state.asked - 1) - 1) % #list + 1]
  end
  local given = { RAND_MAX = RAND_MAX, drand48 = function() return share(next_one()) end }
  for name in pairs(WHOLE) do given[name] = next_one end
  for name, d in pairs(host.distributions) do
    local draw, args = M.DISTRIBUTIONS[d.kind], {}
    for k, text in ipairs(d.args) do args[k] = host:value(text) end
    if #args == #d.args then
      given[name] = function() return draw(next_one(), args[1], args[2]) end
    end
  end
  return given, state
end

-- Does a value use a variable of its place's index, as `h[i] = rand() % 2 ? i : 0` uses i?
local function is_of_place(host, text, index)
  local is_there = csource.set(table.concat(code_of.names(code_of.tree(host, index)), " "))
  return lists.any(code_of.names(code_of.tree(host, text)), function(name)
    return is_there[name] and (host:value(name) or 0) == 0
  end)
end

-- Returns the least and greatest value of a store; nil if it draws no number or is unknown.
local function range_of(host, store)
  if is_of_place(host, store.text, store.index) then return nil end
  local list, text = samples(), store.text
  local names, state = drawing(host, list)
  local low, high = math.huge, -math.huge
  for at = 1, #list do
    state.at, state.asked = at, 0
    local value = hostvalue.with(host, text, names)
    if not value or state.asked == 0 then return nil end
    low, high = math.min(low, value), math.max(high, value)
  end
  return low, high
end

--------------------------------------------------------------------------------------------------
-- Of an array

-- Adds an array of a function to a list, what it is where the function is called, and what is
-- copied to it where that counts.
local function add(host, list, one, with_copies, depth)
  for _, other in ipairs(list) do
    if other.name == one.name and other.within == one.within then return list end
  end
  if depth > MOST_DEPTH then return list end
  list[#list + 1] = one
  local k = callers.parameter(one.within, one.name)
  for _, copy in ipairs(with_copies and host.copies or {}) do
    if copy.to == one.name and (copy.within == one.within or not k) then
      add(host, list, { name = copy.from, within = copy.within }, true, depth + 1)
    end
  end
  for _, call in ipairs(k and host.calls[one.within.name] or {}) do
    local name = call.args[k] and array_of(host, call.args[k])
    local other = name and { name = name, within = call.within }
    if other then add(host, list, other, with_copies, depth + 1) end
  end
  return list
end

-- Is one of some arrays one of others: of the same function, or of none?
local function meet(list, others)
  for _, a in ipairs(list) do
    for _, b in ipairs(others) do
      local is_same = a.within == b.within
        or not callers.parameter(a.within, a.name) and not callers.parameter(b.within, b.name)
      if a.name == b.name and is_same then return true end
    end
  end
  return false
end

local function number(value)
  return math.tointeger(value) and ("%d"):format(value) or ("%.6g"):format(value)
end

--- What the host's code draws for the array behind a launch's argument; where it does so at several
--- places, from the least to the greatest of all.
---@param text string the argument
---@param within? HostFunction that the launch is in
---@return { low: number, high: number, fill: string, place: string }?
function M.of(host, text, within)
  local name = array_of(host, text)
  if not name then return nil end
  local arrays = add(host, {}, { name = name, within = within }, true, 1)
  local found = { low = math.huge, high = -math.huge }
  for _, store in ipairs(host.stores) do
    local low, high
    if meet(add(host, {}, store, false, 1), arrays) then low, high = range_of(host, store) end
    if low then
      found.low, found.high = math.min(found.low, low), math.max(found.high, high)
      found.place = found.place or store.place
    end
  end
  if found.low >= found.high then return nil end
  found.fill = ("{ %s, %s }"):format(number(found.low), number(found.high))
  return found
end

return M
