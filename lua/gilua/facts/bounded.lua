--- bounded: does a block beyond the last one of a grid do nothing, so that it may be longer?
--
--   local found = bounded.of(fn, "x") -- { answer, says, asks }
--
-- Yes (true): its loops go over all items by the grid's width (strided), or a condition bounds each
-- access of memory at a place that follows the block's number: `if (i < n)`, `i < n ? a[i] : 0`.
-- Unknown (nil): so it is if `says` holds, that a factor of the block's number is above zero.
-- No (false): `says` is why. `asks` are conditions of a launch (gilua.transform.launch).
--
-- What earlier rewritings knew of the kernel before them (`options.bounded`) stays true: they keep
-- what each block does.

local apart = require "gilua.facts.apart"
local blockwise = require "gilua.facts.blockwise"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local grows = require "gilua.facts.grows"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local strided = require "gilua.facts.strided"
local threads = require "gilua.facts.threads"

local M = {}

-- ---- the condition around all the work ---------------------------------------------------------

-- Does it hold the work: a loop, a barrier?
local function is_work(fn, s)
  return statement.holds(s, statement.LOOPS) or effects.of(fn, s).barrier
end

--- Returns the one condition, of the block's place, around all that follows; nil without one.
---@param known gilua.blockwise
---@return { statement: table, leaves: boolean, guarded: table[] }?
function M.guard(known)
  local body = known.fn.body.body
  for i, s in ipairs(body) do
    if s.kind == "if" and s.condition and not s.otherwise and known:depends(s.condition) then
      if statement.is_return(s.body) then
        return { statement = s, leaves = true, guarded = table.move(body, i + 1, #body, 1, {}) }
      elseif s.body.kind == "block" and is_work(known.fn, s) then
        return { statement = s, leaves = false, guarded = { s.body } }
      end
    end
  end
end

--- Returns what is a block's own where that condition holds, and the condition.
---@param side string
---@return gilua.blockwise
---@return table? guard
function M.work(fn, side)
  local known = blockwise.of(fn, "blockIdx", side)
  local guard = M.guard(known)
  return guard and blockwise.of(fn, "blockIdx", side, { guard }) or known, guard
end

-- ---- what is behind it --------------------------------------------------------------------------

-- The parts of a tree behind a `?` that bounds them, as ranges of tokens.
local function bounded_parts(known, tree)
  local list = {}
  expression.walk(tree, function(node)
    if node.kind ~= "choice" then return end
    if grows.bounds(known, node.condition) then list[#list + 1] = node.a end
    if grows.bounds(known, node.condition, true) then list[#list + 1] = node.b end
  end)
  return list
end

-- Does a tree go to memory at a place that is a block's own, or to an array that the kernel writes?
-- What is behind a `?` that bounds it does not count.
local function is_open(known, tree)
  local parts = bounded_parts(known, tree)
  for _, access in ipairs(effects.of(known.fn, tree).accesses) do
    local node, inside = access.node or tree, false
    for _, part in ipairs(parts) do
      inside = inside or part.first <= node.first and node.last <= part.last
    end
    if not inside and known:is_global(access) and known:depends(node) then
      return true
    end
  end
  return false
end

-- ---- the whole of a kernel ---------------------------------------------------------------------

-- Is every access of memory that is a block's own below a condition that bounds it?
local function is_closed(known, guard)
  local all = true
  local function visit(s, inside)
    for _, part in ipairs(not inside and statement.trees(s) or {}) do
      all = all and not is_open(known, part)
    end
    local inner = inside or s.kind == "if" and s.condition and grows.bounds(known, s.condition)
    for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
      visit(child, inner)
    end
    for _, other in ipairs { s.init or false, s.otherwise or false } do
      if other then visit(other, inside) end
    end
  end
  local s = guard and guard.statement
  if not s or not grows.bounds(known, s.condition, guard.leaves) then
    visit(known.fn.body, false)
    return all
  end
  for _, before in ipairs(known.fn.body.body) do
    if before == s then return all end
    visit(before, false)
  end
end

-- Is the grid's length asked for only to number blocks, blockIdx.y * gridDim.x + blockIdx.x? Then a
-- longer grid has other numbers, and each once.
local function is_only_numbered(fn, side)
  local words = fn.kernel.words
  for _, i in ipairs(threads.uses(fn).gridDim[side]) do
    local other = words[i - 1] == "*" and words[i - 4] == "blockIdx" and words[i - 2]
    local text = table.concat(words, " ", i, math.min(i + 6, #words))
    if not other or other == side
      or text ~= ("gridDim . %s + blockIdx . %s"):format(side, side) then
      return false
    end
  end
  return true
end

--- Returns what was assumed of factors (gilua.facts.grows): an answer of this fact.
---@param assumed table<string, string|false>
---@return { answer: boolean?, says: string?, asks: string }
function M.promised(assumed)
  local texts, words = {}, ""
  for _, key in ipairs(settings.keys(assumed)) do
    if assumed[key] then words = words .. key .. " " else texts[#texts + 1] = key end
  end
  local says = texts[1] and ("`%s` is above zero"):format(table.concat(texts,
    "` is above zero, and `"))
  return { answer = not says or nil, says = says, asks = words }
end

local function found(fn, side)
  if strided.takes_any(fn, side) then return { answer = true, asks = "" } end
  local before = (fn.kernel.options.bounded or {})[fn.name]
  local known, guard = M.work(fn, side)
  known.assumed = {}
  if not known.why and is_only_numbered(fn, side) and is_closed(known, guard) then
    return M.promised(known.assumed)
  end
  return before and before[side]
    or { answer = false, says = "a block beyond the last one may touch memory", asks = "" }
end

--- Does a block beyond the last one along a side do nothing? See the head of this file.
---@param side string
---@return { answer: boolean?, says: string?, asks: string }
function M.of(fn, side)
  fn.bounded = fn.bounded or {}
  return apart.kept(fn.bounded, side, found, fn, side)
end

--- Returns what is known of all sides by which a kernel's blocks differ. A rewriting that keeps
--- what each block does hands it on: `options.bounded` of the kernel after it.
---@return table<string, table>
function M.sides(fn)
  local list = {}
  for _, side in ipairs(threads.SIDES) do
    local one = #threads.uses(fn).blockIdx[side] > 0 and M.of(fn, side)
    if one and one.answer ~= false then list[side] = one end
  end
  return list
end

return M
