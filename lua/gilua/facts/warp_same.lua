--- warp_same: which names are the same for all lanes of a warp, and does one lane alone come to a
-- statement?
--
-- A name is, beside what is the same for the block, where it keeps a thread's number divided by 32:
-- `threadIdx.x / 32`, `t >> 5` with `t = blockIdx.x * blockDim.x + threadIdx.x`. Of others nothing
-- is known.

local expression = require "gilua.source.expression"
local forms = require "gilua.facts.forms"
local settings = require "gilua.base.settings"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"

local M = {}

local LANES = 32

-- A tree divided by 32; nil of any other.
local function divided(fn, tree)
  local by = tree.kind == "binary" and sides_of.value(fn, tree.b)
  local divides = by and (tree.op == "/" and by == LANES or tree.op == ">>" and 2 ^ by == LANES)
  return divides and tree.a or nil
end

-- Does 32 divide what a tree is into warps: the number of a thread, in its block or in the grid?
-- Second result: where 32 divides blockDim.x alone.
local function is_thread(fn, tree)
  local form, used = forms.of(fn, tree, {}), sides_of.used(fn)
  local asks = used.y or used.z or false
  if not form or form["threadIdx.x"] ~= 1 then return false, asks end
  for monomial, n in pairs(form) do
    local is_length = monomial == "blockDim.x*blockIdx.x"
    local is_whole = monomial == "" and n >= 0 and n % LANES == 0
    if monomial ~= "threadIdx.x" and not is_length and not is_whole then return false, asks end
    asks = asks or is_length
  end
  return true, asks
end

--- Returns the names that are the same for all lanes of a warp, and whether that is so only where
--- 32 divides blockDim.x.
---@return table<string, true>
---@return boolean asks
function M.names(fn)
  local names, asks = {}, false
  for _, name in ipairs(settings.keys(fn.variables)) do
    local d = sides_of.kept(fn, name)
    local tree = d and d.init and not d.parameter and divided(fn, d.init)
    local is_one, is_asked = false, false
    if tree then is_one, is_asked = is_thread(fn, tree) end
    if is_one then names[name], asks = true, asks or is_asked end
  end
  return names, asks
end

-- Is it a number that is equal to another one, or to 0?
local function is_equal(tree)
  if tree.kind == "binary" then return tree.op == "==" end
  local of = tree.kind == "unary" and tree.op == "!" and tree.a
  return of and not (of.kind == "binary" and ("< > <= >= == != && ||"):find(of.op, 1, true))
end

-- Does a condition hold for one value of what lanes have their own of?
local function is_of_one(fn, condition)
  for _, part in ipairs(expression.parts(condition, "&&", {})) do
    local sides = is_equal(part) and sides_of.of(fn, part, (M.names(fn)))
    if sides and sides.x then return true end
  end
  return false
end

--- Does one lane alone come to a statement?
function M.is_alone(fn, s)
  return statement.below(s, function(condition) return is_of_one(fn, condition) end) ~= nil
end

return M
