--- grows: does a value increase with the number of its block, whatever the data are?
--
-- M.bounds asks it of conditions. `known.assumed` has afterwards what was assumed of a factor: as a
-- text, or as a condition of the launch, `block.x%32` (then with that as its value).

local carried = require "gilua.facts.carried"
local effects = require "gilua.facts.effects"
local sides = require "gilua.facts.sides"
local signs = require "gilua.facts.signs"

local M = {}

local LESS = { ["<"] = "a", ["<="] = "a", [">"] = "b", [">="] = "b" }

--- Returns what a variable is that is given a value where it is declared, and never again: inside
--- of `bool inside = x < columns;`.
---@param known gilua.blockwise
---@param node table a name
---@return table? tree
function M.meaning(known, node)
  local d = known.fn:declaration(node.text, node.first)
  local writes = effects.of(known.fn, known.fn.body).writes[node.text]
  return d and d.init and writes and #writes == 1 and not known.fn.addressed[node.text] and d.init
    or nil
end

-- What a variable is declared with, where nothing can change it before a node; nil of any other.
local function beginning(fn, node)
  local d = fn:declaration(node.text, node.first)
  if not d or not d.init or fn.addressed[node.text] then return nil end
  for _, token in ipairs(effects.of(fn, fn.body).writes[node.text] or {}) do
    if token ~= d.token and token < node.first then return nil end
  end
  for _, loop in ipairs(fn.loops) do
    local s = loop.statement
    if s.first <= node.first and node.last <= s.last and d.token < s.first then return nil end
  end
  return d.init
end

-- The values that a variable may have at a node, one of them for certain; nil where another may be.
local function values(known, node)
  local fn, init = known.fn, M.meaning(known, node) or beginning(known.fn, node)
  if init then return { init } end
  local d, list, left = fn:declaration(node.text, node.first), carried.given(fn, node.text), {}
  local is_given = d and not d.parameter and #fn.variables[node.text] == 1
    and not fn.addressed[node.text] and carried.is_given(list, node.first, fn.open, fn.close)
  for _, token in ipairs(is_given and effects.of(fn, fn.body).writes[node.text] or {}) do
    left[token] = token ~= d.token or nil
  end
  local trees = {}
  for i, one in ipairs(list) do trees[i], left[one.token] = one.value, nil end
  return is_given and not next(left) and trees or nil
end

local MOST_DEPTH = 12
local GROWS = { ["+"] = true, ["-"] = true, ["*"] = true, ["/"] = true, ["<<"] = true,
  [">>"] = true }

-- What a launch has to be for a part of the block, blockDim.x / 32, to be above zero; nil of any
-- other tree.
local function asked_of_block(fn, tree)
  local n = tree.kind == "binary" and tree.op == "/" and sides.value(fn, tree.b)
  local is_size = n and n > 0 and tree.a.kind == "member" and tree.a.a.text == "blockDim"
  return is_size and ("block.%s%%%d"):format(tree.a.name, n) or nil
end

-- Is a factor or a divisor the same for all blocks, and above zero? Where the text does not say
-- that it is above zero, the launch must have it so, or it is a promise. A sum or a shift may be by
-- anything that is the same.
local function keeps_order(known, op, part)
  if known:depends(part) then return false end
  local fn = known.fn
  if op ~= "*" and op ~= "/" or signs.is_above_zero(fn, part) then return true end
  if sides.value(fn, part) then return false end
  local asked, text = asked_of_block(fn, part), fn.kernel:plain(part)
  known.assumed[asked or text:match "^%b()$" and text:sub(2, -2) or text] = asked or false
  return true
end

-- Is a tree the greater, the higher the block's number is, whatever the data?
local function grows(known, tree, depth)
  if depth > MOST_DEPTH then return false end
  local function up(part) return grows(known, part, depth + 1) end
  if tree.kind == "member" then
    return tree.a.kind == "name" and tree.a.text == known.index and tree.name == known.side
  elseif tree.kind == "cast" then
    return up(tree.a)
  elseif tree.kind == "name" then
    local list = values(known, tree)
    for _, value in ipairs(list or {}) do
      if not up(value) then return false end
    end
    return list ~= nil
  elseif tree.kind ~= "binary" then
    return false
  end
  local op = tree.op
  local a, b = up(tree.a), (op == "+" or op == "*") and up(tree.b)
  if not (a or b) or not GROWS[op] then return false end
  if a and b then
    return op == "+" or signs.is_small(known.fn, tree.a) and signs.is_small(known.fn, tree.b)
  end
  return keeps_order(known, op, a and tree.b or tree.a)
end

--- Does a condition say that what grows with the block's number is below something that is the same
--- for all blocks? Or, turned, beyond it.
---@param known gilua.blockwise with `assumed`, to which is added what is assumed of factors
---@param turned? boolean
function M.bounds(known, tree, turned)
  if tree.kind == "binary" and tree.op == (turned and "||" or "&&") then
    return M.bounds(known, tree.a, turned) or M.bounds(known, tree.b, turned)
  elseif tree.kind == "unary" and tree.op == "!" then
    return M.bounds(known, tree.a, not turned)
  elseif tree.kind == "name" then
    local init = M.meaning(known, tree)
    return init and M.bounds(known, init, turned) or false
  end
  local side = tree.kind == "binary" and LESS[tree.op]
  if side and turned then side = side == "a" and "b" or "a" end
  local other = side and tree[side == "a" and "b" or "a"]
  return side and grows(known, tree[side], 1) and not known:depends(other) or false
end

return M
