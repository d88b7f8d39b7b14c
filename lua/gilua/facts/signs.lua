--- signs: which whole numbers the words say to be not below zero, or above it.

local affine = require "gilua.source.affine"
local sides = require "gilua.facts.sides"
local types = require "gilua.facts.types"

local M = {}

--- Types of whole numbers that a sum may have.
M.WHOLE = {}
for type in ("int,unsigned int,long,unsigned long,long long,unsigned long long"):gmatch "[^,]+" do
  M.WHOLE[type] = true
end

local SHAPE = { threadIdx = true, blockIdx = true, blockDim = true, gridDim = true }
local UNSIGNED_SMALL = { ["unsigned char"] = true, ["unsigned short"] = true, uchar = true,
                         ushort = true, uint8_t = true, uint16_t = true }
local MOST_DEPTH = 12 -- of names that are made of others

local is_small -- (fn, node, depth)

-- The loop around a token whose head counts a variable upwards, from where and by what is small.
local function counts_up(fn, name, token, depth)
  for _, loop in ipairs(fn.loops) do
    local s = loop.statement
    if loop.counted and loop.variable == name and s.first < token and token <= s.last
      and loop.sign > 0 and loop.invariant and not loop.writes_variable and loop.start
      and is_small(fn, loop.start, depth + 1) and is_small(fn, loop.by, depth + 1) then
      return true
    end
  end
  return false
end

local function is_small_name(fn, node, depth)
  local value = sides.value(fn, node)
  if value then return value >= 0 end
  if node.text == "warpSize" then return true end
  local d = node.token and fn:declaration(node.text, node.token)
  if not d or d.pointer > 0 or #d.extents > 0 then return false end
  if UNSIGNED_SMALL[d.type] then return true end
  if counts_up(fn, node.text, node.token, depth) then return true end
  local kept = M.WHOLE[types.plain(d.type)] and sides.kept(fn, node.text)
  return kept and not kept.parameter and is_small(fn, kept.init, depth + 1) or false
end

local SMALL = {
  name = is_small_name,
  number = function(_, node)
    local value = affine.integer(node)
    return value ~= nil and value < 2 ^ 31
  end,
  member = function(_, node) return node.a.kind == "name" and SHAPE[node.a.text] or false end,
  cast = function(fn, node, depth)
    return M.WHOLE[types.plain(node.type)] and is_small(fn, node.a, depth) or false
  end,
}

function SMALL.choice(fn, node, depth)
  return is_small(fn, node.a, depth) and is_small(fn, node.b, depth)
end

function SMALL.binary(fn, node, depth)
  local op, a = node.op, node.a
  if op == "+" or op == "*" or op == "/" then
    return is_small(fn, a, depth) and is_small(fn, node.b, depth)
  elseif op == "%" or op == ">>" then
    return is_small(fn, a, depth)
  end
  return op == "&" and (is_small(fn, a, depth) or is_small(fn, node.b, depth))
end

function is_small(fn, node, depth)
  return depth < MOST_DEPTH and SMALL[node.kind] ~= nil and SMALL[node.kind](fn, node, depth)
end

--- Is a tree's value a whole number that is not below zero, and that an int holds: made of
--- literals, indices and sizes of threads and blocks, and of loops that count from such?
function M.is_small(fn, node) return is_small(fn, node, 0) end

--- Is a tree's value above zero?
function M.is_above_zero(fn, node)
  local value = sides.value(fn, node)
  if value then return value > 0 end
  if node.kind == "name" then
    local d = sides.number(fn, node.text)
    return node.text == "warpSize" or d and M.is_above_zero(fn, d.init) or false
  elseif node.kind == "member" then
    return node.a.kind == "name" and (node.a.text == "blockDim" or node.a.text == "gridDim")
  elseif node.kind == "cast" then
    return M.WHOLE[types.plain(node.type)] and M.is_above_zero(fn, node.a) or false
  elseif node.kind == "binary" then
    local a, b = M.is_above_zero(fn, node.a), M.is_above_zero(fn, node.b)
    return node.op == "*" and a and b
      or node.op == "+" and (a and M.is_small(fn, node.b) or b and M.is_small(fn, node.a)) or false
  end
  return node.text == "sizeof"
end

return M
