--- in_step: may threads wait for each other behind the condition of a block's work, where one block
-- does the work of several?
--
--   local found = in_step.of(fn, "x") -- { answer, says, asks, is_voted }
--
-- Yes (true): no barrier stands there, the condition is the same for all threads, or for those of
-- the warp that waits; or what keeps a thread out of a block keeps it out of all later ones, out of
-- all blocks, or keeps all threads out. Then all threads go one way together: they vote (is_voted).
-- Unknown (nil): so it is if `says` holds, that a factor of the block's number is above zero.
-- No (false): `says` is why. `asks` are conditions of a launch (gilua.transform.launch).

local apart = require "gilua.facts.apart"
local blockwise = require "gilua.facts.blockwise"
local bounded = require "gilua.facts.bounded"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local grows = require "gilua.facts.grows"
local lists = require "gilua.base.lists"
local sides = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local uniform = require "gilua.facts.uniform"

local M = {}

--- Does one of the statements have a barrier?
---@param list table[] statements
function M.waits(fn, list)
  return lists.any(list, function(s) return effects.of(fn, s).barrier end)
end

-- Do threads that do one block after the other come to the same barriers?
local function keeps_step(known, tree, turned)
  local init = tree.kind == "name" and grows.meaning(known, tree)
  if init then return keeps_step(known, init, turned) end
  if tree.kind == "unary" and tree.op == "!" then return keeps_step(known, tree.a, not turned) end
  if tree.kind == "binary" and tree.op == (turned and "||" or "&&") then
    return keeps_step(known, tree.a, turned) and keeps_step(known, tree.b, turned)
  end
  return not known:depends(tree) or uniform.of(known.fn, tree) == true
    or grows.bounds(known, tree, turned)
end

-- Returns by how much a thread's number is divided: threadIdx.x / 32, threadIdx.x >> 5.
local function parts_of_block(fn, node)
  local is_thread = node.kind == "binary" and node.a.kind == "member"
    and node.a.a.text == "threadIdx" and node.a.name == "x"
  local n = is_thread and sides.value(fn, node.b)
  return n and (node.op == "/" and n or node.op == ">>" and n < 31 and 1 << n) or nil
end

-- Is a tree the same for all lanes of a warp, as it asks for no thread but by threadIdx.x / 32?
local function is_of_warp(known, tree)
  local fine = true
  expression.walk(tree, function(node)
    local parts = parts_of_block(known.fn, node)
    local init = node.kind == "name" and grows.meaning(known, node)
    if parts and parts % 32 == 0 then return false end
    if init then fine = fine and is_of_warp(known, init) end
    local is_leaf = node.kind == "name" or node.kind == "member" or node.kind == "index"
      or node.kind == "call"
    fine = fine and (init or not is_leaf or uniform.of(known.fn, node) == true) and true
    if is_leaf then return false end
  end)
  return fine
end

-- Do threads wait for those of their warp alone?
local function waits_for_warp(fn, list)
  local function is_wide(tree)
    local is_warp = tree.kind == "call" and tree.callee.text == "__syncwarp"
    return not is_warp and effects.of(fn, tree).barrier
  end
  local fine = true
  for _, s in ipairs(list) do
    statement.walk(s, function(below)
      fine = fine and lists.none(statement.trees(below), is_wide)
    end)
  end
  return fine
end

local function found(fn, side)
  local known = blockwise.of(fn, "blockIdx", side)
  local guard = bounded.guard(known)
  local condition = guard and guard.statement.condition
  if not guard or not M.waits(fn, guard.guarded) or uniform.of(fn, condition) == true
    or waits_for_warp(fn, guard.guarded) and is_of_warp(known, condition) then
    return { answer = true, asks = "" }
  end
  known.assumed = {}
  if keeps_step(known, condition, guard.leaves) then
    local answer = bounded.promised(known.assumed)
    answer.is_voted = true
    return answer
  end
  return { answer = false, asks = "", says = ("a barrier behind line %d is not where all threads "
    .. "come"):format(fn.kernel:line_of(guard.statement.first)) }
end

--- May threads wait for each other behind the condition of a block's work? See this file's head.
---@param side string
---@return { answer: boolean?, says: string?, asks: string, is_voted: boolean? }
function M.of(fn, side)
  fn.in_step = fn.in_step or {}
  return apart.kept(fn.in_step, side, found, fn, side)
end

return M
