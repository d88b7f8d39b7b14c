--- teams: groups of threads that a kernel numbers. Threads with one value of `threadIdx.x / 32` are
-- a team of 32. Where threads are merged, a team has fewer, and the kernel divides by fewer.
--
--   for _, team in ipairs(teams.list(fn, "x")) do … end
--   local same = teams.same(fn, "x", teams.find(fn, "x", "32"))
--
-- A size with a name, `threadIdx.x / TILE`, may differ between launches. Such a team is called by
-- the name, and only a division by the same name is its number. Neighbours that become one thread
-- belong to the same team.

local expression = require "gilua.source.expression"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"

local M = {}

local MOST = 1024 -- threads of a block

---@class gilua.team
---@field text string "32", or the name of a macro
---@field size integer what that is, unless told otherwise
---@field is_named boolean
---@field is_next? boolean it is of neighbours, whatever the kernel counts

---@class gilua.team_number
---@field tree table threadIdx.x / 32, threadIdx.x >> 5, or of a variable that is threadIdx.x
---@field place table the tree of threadIdx.x in it: a member, or a name
---@field team gilua.team

local function team_of(text, size, is_named)
  if not size or size < 2 or size > MOST then return nil end
  return { text = text, size = size, is_named = is_named }
end

-- By how many a tree divides: a team; nil where it does not, or by what is not known.
local function divided(fn, node)
  local by = node.b
  if node.op == "/" and by.kind == "name" then
    local is_of_cuda = by.text == "warpSize" and not fn.variables.warpSize
    if is_of_cuda then return team_of("32", 32, false) end
    return fn.kernel.macros[by.text] and team_of(by.text, sides_of.value(fn, by), true)
  elseif (node.op == "/" or node.op == ">>") and by.kind == "number" then
    local n = sides_of.value(fn, by)
    if n and node.op == ">>" then n = n <= 10 and 1 << n or nil end
    return team_of(tostring(n), n, false)
  end
end

-- The numbers of teams that a kernel asks for along a side.
local function numbers_of(fn, side)
  local list = {}
  statement.nodes(fn.statements, function(node)
    if node.kind ~= "binary" or not threads.is_thread(fn, node.a, side) then return end
    local team = divided(fn, node)
    list[#list + 1] = team and { tree = node, place = expression.uncast(node.a), team = team }
      or nil
  end)
  return list
end

--- The teams of a kernel along a side, each once, the greatest first.
---@param side string
---@return gilua.team[]
function M.list(fn, side)
  local list, seen = {}, {}
  for _, number in ipairs(numbers_of(fn, side)) do
    if not seen[number.team.text] then
      seen[number.team.text] = true
      list[#list + 1] = number.team
    end
  end
  table.sort(list, function(a, b)
    return a.size > b.size or a.size == b.size and a.text < b.text
  end)
  return list
end

--- Returns a team of neighbours: so many threads that become one.
---@param count integer
---@return gilua.team
function M.neighbours(count)
  return { text = tostring(count), size = count, is_named = false, is_next = true }
end

--- The team that a text calls: the kernel's own of that name, or any of so many threads; nil of
--- none.
---@param side string
---@param text string
---@return gilua.team?
function M.find(fn, side, text)
  for _, team in ipairs(M.list(fn, side)) do
    if team.text == text then return team end
  end
  local n = math.tointeger(tonumber(text))
  return n and team_of(tostring(n), n, false)
end

--- The numbers that all threads of a team have in common, and the tokens of their places.
---@param side string
---@param team gilua.team
---@return gilua.team_number[]
---@return table<integer, true>
function M.same(fn, side, team)
  local list, tokens = {}, {}
  for _, number in ipairs(numbers_of(fn, side)) do
    local other = number.team
    local is_whole = (team.is_next or not team.is_named and not other.is_named)
      and other.size % team.size == 0
    if other.text == team.text or is_whole then
      list[#list + 1] = number
      for token = number.place.first, number.place.last do tokens[token] = true end
    end
  end
  return list, tokens
end

--- By how many bits a number is shifted that is divided by n, a power of two.
---@param n integer
---@return integer
function M.bits(n)
  local bits = 0
  while 1 << bits < n do bits = bits + 1 end
  return bits
end

--- How many threads a team has where there are `count` times fewer: as text that can be a factor.
---@param team gilua.team
---@param count integer
---@return string
function M.fewer_text(team, count)
  if team.is_named then return ("(%s / %d)"):format(team.text, count) end
  return tostring(team.size // count)
end

--- A number where a team has `count` times fewer threads: { first, last, text } of the tokens that
--- change.
---@param number gilua.team_number
---@param side string
---@param count integer
---@return table[]
function M.fewer(fn, number, side, count)
  local by, place = number.tree.b, number.place
  local text = M.fewer_text(number.team, count)
  if number.tree.op == ">>" then text = tostring(M.bits(number.team.size // count)) end
  local list = { { by.first, by.last, text } }
  if place.kind == "name" then
    local d = fn:declaration(place.text, place.first)
    list[2] = { place.first, place.last, ("(%s)threadIdx.%s"):format(d.type, side) }
  end
  return list
end

--- Why fewer threads of a team cannot be what it is; nil where they can: a barrier of a warp waits
--- for all of a team only where that is part of a warp.
---@param team gilua.team
---@return string?
function M.parted(fn, team)
  local words = fn.kernel.words
  for i = 1, (team.is_named or 32 % team.size ~= 0) and #words or 0 do
    if words[i] == "__syncwarp" then
      return ("%s threads are no part of a warp, which waits"):format(team.text)
    end
  end
end

return M
