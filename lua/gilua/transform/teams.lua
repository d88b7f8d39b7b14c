--- teams: threads that a kernel counts in teams: of `threadIdx.x / 32` each 32 are one, which have
-- that number in common. Fewer threads a team are counted by fewer.
--
--   for _, size in ipairs(teams.sizes(fn, "x")) do … end
--   local same = teams.same(fn, "x", 32)

local expression = require "gilua.transform.expression"
local sides_of = require "gilua.transform.sides"
local threads = require "gilua.transform.threads"

local M = {}

local MOST = 1024 -- threads of a block

---@class gilua.team_number
---@field tree table threadIdx.x / 32, threadIdx.x >> 5, or of a variable that is threadIdx.x
---@field place table the tree of threadIdx.x in it: a member, or a name
---@field size integer 32

-- What is cast, without the casts.
local function uncast(node)
  while node.kind == "cast" do node = node.a end
  return node
end

-- By how many a tree divides; nil where it does not, or by what is not known.
local function divisor(fn, node)
  local by = (node.op == "/" or node.op == ">>") and sides_of.value(fn, node.b)
  if not by and node.op == "/" and node.b.kind == "name" and node.b.text == "warpSize"
    and not fn.variables.warpSize then
    by = 32
  end
  if by and node.op == ">>" then by = 0 <= by and by <= 10 and 1 << by or nil end
  return by and 2 <= by and by <= MOST and by or nil
end

-- Calls visit(tree) for each expression of a function.
local function each_tree(fn, visit)
  for _, s in ipairs(fn.statements) do
    for _, tree in ipairs { s.tree or false, s.condition or false, s.step or false } do
      if tree then visit(tree) end
    end
    for _, d in ipairs(s.declared or {}) do
      if d.init then visit(d.init) end
    end
  end
end

--- The numbers of teams that a kernel asks for along a side.
---@param fn table of kernel.read
---@param side string
---@return gilua.team_number[]
function M.of(fn, side)
  local list = {}
  each_tree(fn, function(tree)
    expression.walk(tree, function(node)
      if node.kind ~= "binary" or not threads.is_thread(fn, node.a, side) then return end
      local size = divisor(fn, node)
      if size then list[#list + 1] = { tree = node, place = uncast(node.a), size = size } end
    end)
  end)
  return list
end

--- The sizes of teams, each once, the greatest first.
---@param fn table
---@param side string
---@return integer[]
function M.sizes(fn, side)
  local list, seen = {}, {}
  for _, number in ipairs(M.of(fn, side)) do
    if not seen[number.size] then
      seen[number.size] = true
      list[#list + 1] = number.size
    end
  end
  table.sort(list, function(a, b) return a > b end)
  return list
end

--- The numbers that all threads of a team of this size have in common, and the tokens of their
--- places.
---@param fn table
---@param side string
---@param size integer
---@return gilua.team_number[]
---@return table<integer, true>
function M.same(fn, side, size)
  local list, tokens = {}, {}
  for _, number in ipairs(M.of(fn, side)) do
    if number.size % size == 0 then
      list[#list + 1] = number
      for token = number.place.first, number.place.last do tokens[token] = true end
    end
  end
  return list, tokens
end

--- A number where a team has `count` times fewer threads: { first, last, text } of the tokens that
--- change.
---@param fn table
---@param number gilua.team_number
---@param side string
---@param count integer
---@return table[]
function M.fewer(fn, number, side, count)
  local size, by, place = number.size // count, number.tree.b, number.place
  if number.tree.op == ">>" then
    local bits = 0
    while 1 << bits < size do bits = bits + 1 end
    size = bits
  end
  local list = { { by.first, by.last, tostring(size) } }
  if place.kind == "name" then
    local d = fn:declaration(place.text, place.first)
    list[2] = { place.first, place.last, ("(%s)threadIdx.%s"):format(d.type, side) }
  end
  return list
end

--- Why fewer threads of a team cannot be what it is; nil where they can: a barrier of a warp waits
--- for all of a team only where that is part of a warp.
---@param fn table
---@param size integer
---@return string?
function M.parted(fn, size)
  local words = fn.kernel.words
  for i = 1, 32 % size ~= 0 and #words or 0 do
    if words[i] == "__syncwarp" then
      return ("%d threads are no part of a warp, which waits"):format(size)
    end
  end
end

return M
