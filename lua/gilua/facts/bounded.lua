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
local carried = require "gilua.facts.carried"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local settings = require "gilua.base.settings"
local sides = require "gilua.facts.sides"
local signs = require "gilua.facts.signs"
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
---@param fn table of kernel.read
---@param side string
---@return gilua.blockwise
---@return table? guard
function M.work(fn, side)
  local known = blockwise.of(fn, "blockIdx", side)
  local guard = M.guard(known)
  return guard and blockwise.of(fn, "blockIdx", side, { guard }) or known, guard
end

-- ---- what grows with the block's number --------------------------------------------------------

local LESS = { ["<"] = "a", ["<="] = "a", [">"] = "b", [">="] = "b" }

-- What a variable is that is given a value where it is declared, and never again: inside of
-- `bool inside = x < columns;`.
local function meaning(known, node)
  local d = known.fn:declaration(node.text, node.first)
  local writes = effects.of(known.fn, known.fn.body).writes[node.text]
  return d and d.init and writes and #writes == 1 and not known.fn.addressed[node.text] and d.init
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
  local fn, init = known.fn, meaning(known, node) or beginning(known.fn, node)
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

-- Is a factor or a divisor the same for all blocks, and above zero? Where the words do not say the
-- latter the launch is asked for it, or it is assumed: a promise. A sum or a shift may be by
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

-- Does a condition say that what grows with the block's number is below something that is the same
-- for all blocks? Or, turned, beyond it.
local function bounds(known, tree, turned)
  if tree.kind == "binary" and tree.op == (turned and "||" or "&&") then
    return bounds(known, tree.a, turned) or bounds(known, tree.b, turned)
  elseif tree.kind == "unary" and tree.op == "!" then
    return bounds(known, tree.a, not turned)
  elseif tree.kind == "name" then
    local init = meaning(known, tree)
    return init and bounds(known, init, turned) or false
  end
  local side = tree.kind == "binary" and LESS[tree.op]
  if side and turned then side = side == "a" and "b" or "a" end
  local other = side and tree[side == "a" and "b" or "a"]
  return side and grows(known, tree[side], 1) and not known:depends(other) or false
end

-- The parts of a tree behind a `?` that bounds them, as ranges of tokens.
local function bounded_parts(known, tree)
  local list = {}
  expression.walk(tree, function(node)
    if node.kind ~= "choice" then return end
    if bounds(known, node.condition) then list[#list + 1] = node.a end
    if bounds(known, node.condition, true) then list[#list + 1] = node.b end
  end)
  return list
end

-- Does a tree go to memory at a place that is a block's own, or write any? What is behind a `?`
-- that bounds it does not count.
local function is_open(known, tree)
  local parts = bounded_parts(known, tree)
  for _, access in ipairs(effects.of(known.fn, tree).accesses) do
    local node, inside = access.node or tree, false
    for _, part in ipairs(parts) do
      inside = inside or part.first <= node.first and node.last <= part.last
    end
    if not inside and known:is_global(access) and (access.write or known:depends(node)) then
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
    local inner = inside or s.kind == "if" and s.condition and bounds(known, s.condition)
    for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
      visit(child, inner)
    end
    for _, other in ipairs { s.init or false, s.otherwise or false } do
      if other then visit(other, inside) end
    end
  end
  local s = guard and guard.statement
  if not s or not bounds(known, s.condition, guard.leaves) then
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

-- What was assumed of factors: a sentence, and what a launch is asked.
local function promised(assumed)
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
    return promised(known.assumed)
  end
  return before and before[side]
    or { answer = false, says = "a block beyond the last one may touch memory", asks = "" }
end

--- Does a block beyond the last one along a side do nothing? See the head of this file.
---@param fn table of kernel.read
---@param side string
---@return { answer: boolean?, says: string?, asks: string }
function M.of(fn, side)
  fn.bounded = fn.bounded or {}
  return apart.kept(fn.bounded, side, found, fn, side)
end

--- Returns what is known of all sides by which a kernel's blocks differ, for those who keep what
--- each block does: `options.bounded` of the kernel after them.
---@param fn table
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
