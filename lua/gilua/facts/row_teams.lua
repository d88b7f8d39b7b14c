--- row_teams: what does a kernel say of teams of lanes that have a row each: which lane of its team
-- a thread is, which team it is in, how many teams a block has?
--
--   const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;   a team of the grid
--   const int lane = threadIdx.x & 31;                              a lane
--   const int row = blockIdx.x * 4 + threadIdx.x / 32;              a team of its block, 4 of them
--
-- or, where each row of a block is a team and the launch says how long it is ("square"),
--
--   const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
--
-- or by a tile of cooperative groups, which is a team:
--
--   auto tile = cg::tiled_partition<32>(cg::this_thread_block());
--   const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
--
--   local known = row_teams.new(fn.kernel, 32, false)
--   known:is_lane(fn, tree)

local affine = require "gilua.source.affine"
local expression = require "gilua.source.expression"
local forms = require "gilua.facts.forms"
local sides_of = require "gilua.facts.sides"
local threads = require "gilua.facts.threads"

local M = { MOST = 32 }

local uncast = expression.uncast

local MOST_STEPS = 12 -- from a name to what it is made of
local LANE = "a lane" -- no factor that a text can have

---@class gilua.row_teams
---@field kernel table
---@field size integer lanes of a team
---@field is_square boolean
local Teams = {}
Teams.__index = Teams

---@param size integer
---@param is_square boolean
---@return gilua.row_teams
function M.new(kernel, size, is_square)
  return setmetatable({ kernel = kernel, size = size, is_square = is_square,
    own = is_square and "y" or "x" }, Teams)
end

--- The declaration of a name that keeps what it is declared with; nil of any other tree.
function M.kept(fn, tree)
  local d = tree.kind == "name" and sides_of.kept(fn, tree.text)
  return d and not d.parameter and d.pointer == 0 and d or nil
end

-- What a tree is without casts and names.
local function settled(fn, tree)
  tree = uncast(tree)
  local d = M.kept(fn, tree)
  return d and settled(fn, d.init) or tree
end

--- Is a tree threadIdx.x, or the like, or a name of it?
function M.is_built_in(fn, tree, name, side)
  tree = settled(fn, tree)
  return tree.kind == "member" and tree.a.kind == "name" and tree.a.text == name
    and tree.name == side
end

--- The method of a tile that a tree calls; nil of any other tree.
---@return string?
function M.method(fn, tree)
  local callee = tree.kind == "call" and tree.callee
  local of = callee and callee.kind == "member" and not callee.arrow and callee.a
  local d = of and of.kind == "name" and fn:declaration(of.text, of.first)
  if not d then return nil end
  local init = d.init and d.init.kind == "call" and d.init.callee.text or ""
  return (d.type:find "thread_block_tile" or init:find "tiled_partition$") and callee.name or nil
end

--- Does a tree ask a tile how many it is, and so needs no other number?
function M.asks_size(tree)
  return expression.any(tree, function(node)
    local name = node.kind == "member" and node.name
    return name == "size" or name == "num_threads"
  end)
end

local WHOLE = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return b > 0 and a // b or nil end,
  [">>"] = function(a, b) return b < 32 and a >> b or nil end,
  ["<<"] = function(a, b) return b < 32 and a << b or nil end,
}

--- The whole number that a tree is; nil where that is not known.
---@return integer?
function Teams:value(fn, tree, steps)
  tree, steps = uncast(tree), steps or 0
  local macro = tree.kind == "name" and self.kernel.macros[tree.text]
  local body = macro and steps < MOST_STEPS and macro.tree
  if tree.kind == "name" and tree.text == "warpSize" and not fn.variables.warpSize then
    return M.MOST
  elseif tree.kind == "call" then
    local method = M.method(fn, tree)
    return (method == "size" or method == "num_threads") and self.size or nil
  elseif self.is_square and M.is_built_in(fn, tree, "blockDim", "x") then
    return self.size
  elseif tree.kind == "unary" and tree.op == "~" then
    local n = self:value(fn, tree.a, steps)
    return n and ~n
  elseif tree.kind == "binary" and WHOLE[tree.op] then
    local a, b = self:value(fn, tree.a, steps), self:value(fn, tree.b, steps)
    return a and b and a >= 0 and b >= 0 and WHOLE[tree.op](a, b) or nil
  end
  return sides_of.value(fn, tree) or body and self:value(fn, body, steps + 1) or nil
end

--- By how many a tree divides: / 32, >> 5; nil of any other tree.
function Teams:divisor(fn, tree)
  local n = tree.kind == "binary" and (tree.op == "/" or tree.op == ">>")
    and self:value(fn, tree.b)
  return n and (tree.op == "/" and n or n < 6 and 1 << n) or nil
end

--- By how many a tree is the rest of: % 32, & 31; nil of any other tree.
function Teams:modulus(fn, tree)
  local n = tree.kind == "binary" and (tree.op == "%" or tree.op == "&")
    and self:value(fn, tree.b)
  return n and (tree.op == "%" and n or n + 1) or nil
end

--- What a tree is the number of a thread of, "block" or "grid", along which side of the grid, and
--- how long blocks are then, if that is a number; nil of any other tree. In square blocks, of a row
--- of threads.
---@return string?
---@return string? side
---@return integer? length
function Teams:thread(fn, tree)
  local form, own = forms.of(fn, tree, {}), "threadIdx." .. self.own
  if not form or form[own] ~= 1 then return nil end
  local rest = forms.minus(form, { [own] = 1 })
  local monomial, n = next(rest)
  if not monomial then return "block" end
  if next(rest, monomial) then return nil end
  local side = monomial:match("^blockDim%." .. self.own .. "%*blockIdx%.([xyz])$")
  if side then return n == 1 and "grid" or nil, side end
  side = monomial:match "^blockIdx%.([xyz])$"
  if side and (self.is_square or n % self.size == 0) then return "grid", side, n end
end

--- Is a tree what a thread is in its team?
function Teams:is_lane(fn, tree)
  tree = settled(fn, tree)
  if M.method(fn, tree) == "thread_rank" then return true end
  if self.is_square then return M.is_built_in(fn, tree, "threadIdx", "x") end
  return self:modulus(fn, tree) == self.size and self:thread(fn, tree.a) ~= nil
end

--- Is a tree the number of a team? As of `thread`.
function Teams:team(fn, tree)
  tree = settled(fn, tree)
  if M.method(fn, tree) == "meta_group_rank" then return "block" end
  if self.is_square then return self:thread(fn, tree) end
  if self:divisor(fn, tree) == self.size then return self:thread(fn, tree.a) end
end

--- Is a tree how many teams a block has, by what CUDA says of it?
function Teams:is_count(fn, tree)
  tree = settled(fn, tree)
  if M.method(fn, tree) == "meta_group_size" then return true end
  if self.is_square then return M.is_built_in(fn, tree, "blockDim", "y") end
  return self:divisor(fn, tree) == self.size and M.is_built_in(fn, tree.a, "blockDim", "x")
end

--- The two factors of blockIdx.x * n, and the side; nil of any other tree.
function M.product_with(fn, tree, name)
  if tree.kind ~= "binary" or tree.op ~= "*" then return nil end
  for _, pair in ipairs { { tree.a, tree.b }, { tree.b, tree.a } } do
    for _, side in ipairs(threads.SIDES) do
      if M.is_built_in(fn, pair[1], name, side) then return pair[1], pair[2], side end
    end
  end
end

--- By what a tree multiplies the number of a lane, 0 where it does not ask for it, and the trees
--- that are it; nil where that is not to be told.
---@return integer? factor
---@return table[] places
function Teams:factor(fn, tree)
  local places = {}
  local form = affine.form(self.kernel, tree, function(node)
    local n = self:is_lane(fn, node) and 1
    local d = not n and M.kept(fn, node)
    n = n or d and self:factor(fn, d.init)
    if n and n ~= 0 then
      places[#places + 1] = node
      return { [LANE] = n }
    end
  end)
  local part, rest = forms.part_with(form or {}, LANE)
  local n = part and forms.constant(part)
  return form and rest and n, places
end

return M
