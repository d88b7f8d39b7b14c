--- strided: do loops of a kernel go over all items by the grid's width, so that any number of
-- blocks is right?
--
--   for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
--
-- Yes where nothing else tells of blocks or the grid, nothing is written or counted besides, and no
-- loop is left before its end. Where an iteration may ask for another's value the answer carries
-- what has to be promised (carried).

local affine = require "gilua.source.affine"
local carried = require "gilua.facts.carried"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local nothing = require "gilua.facts.nothing"
local sides = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"

local M = {}

local OF_GRID = { blockIdx = true, gridDim = true }
local MOST_STEPS = 6 -- from a name to what it was made of

--------------------------------------------------------------------------------------------------
-- Starts and steps

-- The form of a tree where names that keep their first value are that; they are added to `names`.
local function expanded(fn, tree, names, depth)
  local is_known = depth <= MOST_STEPS
  local form = is_known and affine.form(fn.kernel, tree, function(node)
    local d = node.kind == "name" and sides.number(fn, node.text)
    if not d then return nil end
    names[node.text] = d
    local own = expanded(fn, d.init, names, depth + 1)
    is_known = is_known and own ~= nil
    return own
  end)
  return is_known and form or nil
end

-- What a variable of the grid is multiplied by in a form, and the rest of it; nil where it is in
-- the form in any other way.
local function factor_of(form, name)
  local factor, rest = {}, {}
  for monomial, n in pairs(form or {}) do
    local others, found = {}, 0
    for part in monomial:gmatch "[^*]+" do
      if part == name then found = found + 1 else others[#others + 1] = part end
      if part ~= name and part:find(name, 1, true) then return nil end
    end
    if found > 1 then return nil end
    (found == 1 and factor or rest)[found == 1 and table.concat(others, "*") or monomial] = n
  end
  return next(factor) and factor, rest
end

local function same(a, b)
  local difference = affine.sum(a, b, -1)
  return difference ~= nil and next(difference) == nil
end

local function mentions(form, name)
  for monomial in pairs(form) do
    if monomial:find(name, 1, true) then return true end
  end
  return false
end

-- Does a loop go from an item of the block's own on by as many as all blocks do?
local function strides(fn, loop, side, names)
  if not loop.counted or not loop.start or loop.sign ~= 1 or loop.writes_variable then
    return false
  end
  local block, grid = "blockIdx." .. side, "gridDim." .. side
  local own, rest = factor_of(expanded(fn, loop.start, names, 1), block)
  local all, besides = factor_of(expanded(fn, loop.by, names, 1), grid)
  return own and all and same(own, all) and next(besides) == nil and not mentions(rest, grid)
    and not mentions(own, grid) and not mentions(all, block) or false
end

--------------------------------------------------------------------------------------------------
-- The rest of the kernel

local function within(list, token)
  return lists.any(list, function(range) return statement.spans(range, token) end)
end

-- `… == 0`: the first block, or the first thread of all, is the same of any grid.
local function is_first(fn, last)
  return fn.kernel.words[last + 1] == "==" and fn.kernel.words[last + 2] == "0"
end

-- Is what tells of the grid used for nothing but where the loops begin and how they go on?
local function used_elsewhere(fn, side, names, heads)
  local uses, inits = threads.uses(fn), {}
  for _, d in pairs(names) do inits[#inits + 1] = d.init end
  for _, builtin in ipairs { "blockIdx", "gridDim" } do
    for _, token in ipairs(uses[builtin][side]) do
      if not within(heads, token) and not within(inits, token)
        and not (builtin == "blockIdx" and is_first(fn, token + 2)) then
        return builtin .. "." .. side, token
      end
    end
  end
  for name, d in pairs(names) do
    local form = expanded(fn, d.init, {}, 1) or {}
    if mentions(form, "blockIdx." .. side) or mentions(form, "gridDim." .. side) then
      for token = fn.open, fn.close do
        if fn.kernel.words[token] == name and token ~= d.token and not within(heads, token)
          and not within(inits, token) and not is_first(fn, token) then
          return name, token
        end
      end
    end
  end
end

-- Does a condition hold for the first block alone, however many there are: `blockIdx.x == 0`?
local function is_of_first(fn, tree, side)
  if tree.kind ~= "binary" then return false end
  if tree.op == "&&" then return is_of_first(fn, tree.a, side) or is_of_first(fn, tree.b, side) end
  local is_zero = tree.op == "==" and affine.integer(tree.b) == 0
  local form = is_zero and expanded(fn, tree.a, {}, 1)
  return form and mentions(form, "blockIdx." .. side) or false
end

-- Is a call below such a condition?
local function is_once(fn, call, side)
  for _, s in ipairs(fn.statements) do
    local is_around = s.kind == "if" and s.condition and s.body.first <= call.node.first
      and call.node.last <= s.body.last
    if is_around and is_of_first(fn, s.condition, side) then return true end
  end
  return false
end

-- Why it matters how many blocks come by outside of the loops; nil where it does not, and what that
-- promises.
local function counts_blocks(fn, loops, side)
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    local d = access.root and fn.variables[access.root] and fn.variables[access.root][1]
    local is_own = d and not d.parameter
    if access.write and not access.atomic and not is_own and not within(loops, access.token) then
      return ("line %d writes, outside of the loop"):format(fn.kernel:line_of(access.token))
    end
  end
  local call, promise = nothing.counted(fn, loops, function(one)
    return not is_once(fn, one, side)
  end)
  if call then
    return ("line %d counts, outside of the loop"):format(fn.kernel:line_of(call.node.first))
  end
  return nil, promise
end

--- Returns the loops of a kernel that go over all items along a side; nil and why another number of
--- blocks would not do; and what has to be promised.
---@param side string
---@return table[]? loops statements
---@return string? why
---@return string? promise
function M.of(fn, side)
  local uses = threads.uses(fn)
  local why = threads.hidden(fn, OF_GRID) or uses.whole and uses.whole .. " is used as a whole"
    or uses.grid and "it uses " .. uses.grid
  if why then return nil, why end
  local names, heads, loops, promise = {}, {}, {}, nil
  for _, loop in ipairs(fn.loops) do
    local own = {}
    if strides(fn, loop, side, own) then
      for name, d in pairs(own) do names[name] = d end
      heads[#heads + 1], heads[#heads + 2] = loop.start, loop.by
      loops[#loops + 1] = loop.statement
      if loop.breaks or loop.leaves then
        return nil, ("the loop at line %d is left before its end"):format(loop.line)
      end
      promise = promise or select(2, carried.of(loop))
    end
  end
  if #loops == 0 then return nil, "no loop goes on by the grid's width" end
  local name, token = used_elsewhere(fn, side, names, heads)
  if name then
    return nil, ("line %d uses %s for more than where a loop goes"):format(
      fn.kernel:line_of(token), name)
  end
  local adds
  why, adds = counts_blocks(fn, loops, side)
  if why then return nil, why end
  return loops, nil, promise or adds
end

--- Is any number of blocks along a side right, for its loops go over all items?
---@param side string
function M.takes_any(fn, side)
  local loops, _, promise = M.of(fn, side)
  return #threads.uses(fn).gridDim[side] > 0 and loops ~= nil and not promise
end

return M
