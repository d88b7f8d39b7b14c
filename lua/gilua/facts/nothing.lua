--- nothing: is a value the sum of what the rounds of some loops give, 0 where they have none?
--
-- More threads or blocks that share such loops are right only if one without a share adds nothing,
-- and shares add up: `float s = 0; for (…) s += a[i]; atomicAdd(y, s);`. Yes where all that the
-- value is made of begins with 0 and has only such values added: variables, shared arrays, what
-- lanes tell each other. A product is 0 where what 0 is multiplied by is no infinity and no NaN. In
-- the loops such a variable is only added to: the greatest of a share does not add up, nor does a
-- square, a choice that asks for a sum, or a sum that is rounded. Anything else is unknown.

local carried = require "gilua.facts.carried"
local depends = require "gilua.facts.depends"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local sides = require "gilua.facts.sides"
local signs = require "gilua.facts.signs"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local MOST_DEPTH = 4 -- of functions that call each other
local MOST_STEPS = 6 -- from a name to what it was made of

local is_zero, is_returned, keeps, is_finite, asks

local function of_literal(node)
  local digits = node.text:match "^[%d.]+"
  return digits ~= nil and tonumber(digits) == 0
end

-- Which argument of a call is the value that lanes or threads put together; nil of others.
local function combined(node)
  local callee = node.callee
  if callee.kind == "member" then return callee.name:find "^shfl" and 1 or nil end
  local name = callee.kind == "name" and callee.text or ""
  return (name:find "^__shfl_" or name:find "^__reduce_add") and 2 or nil
end

local ZERO = {
  number = function(_, node) return of_literal(node) end,
  name = function(known, node) return known.names[node.text] or false end,
  index = function(known, node) return is_zero(known, node.a) end,
  cast = function(known, node)
    local rounds = signs.WHOLE[types.plain(node.type or "")]
      and not signs.WHOLE[types.of(known.fn, node.a) or ""]
    return is_zero(known, node.a) and not (rounds and asks(known, node.a))
  end,
  unary = function(known, node)
    return (node.op == "-" or node.op == "+" or node.op == "*") and is_zero(known, node.a)
  end,
  choice = function(known, node)
    return is_zero(known, node.a) and is_zero(known, node.b) and not asks(known, node.condition)
  end,
  binary = function(known, node)
    local one, other = is_zero(known, node.a), is_zero(known, node.b)
    if node.op == "*" then
      return one and is_finite(known, node.b) and not asks(known, node.b)
        or other and is_finite(known, node.a) and not asks(known, node.a)
    end
    return (node.op == "+" or node.op == "-") and one and other
  end,
  call = function(known, node)
    local value = node.args[combined(node) or 0]
    if value then return is_zero(known, value) end
    return node.callee.kind == "name" and is_returned(known, node) or false
  end,
}

function is_zero(known, node) return ZERO[node.kind] ~= nil and ZERO[node.kind](known, node) end

-- May a value depend on what the rounds gave?
function asks(known, tree)
  local found = known.on_share(tree)
  expression.walk(tree, function(node)
    local d = node.kind == "name" and known.fn.variables[node.text]
    found = found or d and (known.summed[node.text] or d[1].shared and #d[1].extents > 0) or false
  end)
  return found
end

-- Is a value finite, so that 0 times it is 0? Whole numbers and literals are, and so is a name that
-- is given only such values.
function is_finite(known, node, depth)
  local fn, depth_now = known.fn, depth or 0
  if signs.WHOLE[types.of(fn, node) or ""] or is_zero(known, node) then return true end
  if node.kind == "number" then return true end
  if node.kind == "cast" or node.kind == "unary" then
    return is_finite(known, node.a, depth_now + 1)
  end
  local d = node.kind == "name" and depth_now < MOST_STEPS and sides.number(fn, node.text)
  return d and is_finite(known, d.init, depth_now + 1) or false
end

-- The array that a call of a function of the file gives anything but 0.
local function spoiled_by(known, call)
  for i, arg in ipairs(call.args) do
    local name = effects.root_name(arg)
    local d = name and known.names[name] and known.fn.variables[name][1]
    if d and #d.extents > 0 and not keeps(known, call, i) then return name end
  end
end

-- What a node gives a name that is not 0: the name.
local function spoiled(known, node)
  if node.kind == "assign" then
    local is_sum = node.op == "=" or node.op == "+=" or node.op == "-="
    local is_kept = node.op == "*=" and is_finite(known, node.b) and not asks(known, node.b)
      or is_sum and is_zero(known, node.b)
    return not is_kept and effects.root_name(node.a) or nil
  elseif node.kind == "postfix" or node.op == "++" or node.op == "--" then
    return effects.root_name(node.a)
  elseif node.kind == "call" and node.callee.kind == "name" and node.args[2]
    and node.callee.text:find "^atomic%u" then
    local is_kept = node.callee.text == "atomicAdd" and is_zero(known, node.args[2])
    return not is_kept and effects.root_name(node.args[1]) or nil
  elseif node.kind == "call" and node.callee.kind == "name" then
    return known.fn.kernel.by_name[node.callee.text] and spoiled_by(known, node)
  end
end

local function within(list, s)
  return lists.any(list, function(loop) return statement.covers(loop, s) end)
end

-- What is written in the loops by more than an addition: the name. is_lax: not where it is given a
-- value, which it may have added before.
local function unsummed(kernel, node, is_lax)
  if node.kind == "assign" then
    local how = carried.folded(kernel, node) or carried.KINDS[node.op] or "="
    local is_sum = how == "+" or is_lax and how:find "^="
    return not is_sum and effects.root_name(node.a) or nil
  end
  local is_atomic = node.kind == "call" and node.callee.kind == "name" and node.args[1]
    and node.callee.text:find "^atomic%u" and node.callee.text ~= "atomicAdd"
  return is_atomic and effects.root_name(node.args[1]) or nil
end

-- The names that a function's loops, or parameters, give a share.
local function summed_names(fn, loops, given)
  local list = {}
  for name in pairs(given) do list[name] = true end
  for _, loop in ipairs(loops) do
    for name in pairs(effects.of(fn, loop).writes) do list[name] = true end
  end
  return list
end

-- Does it depend on what the rounds gave whether a statement is done?
local function is_chosen(known, s)
  local at = s.parent
  while at do
    if at.condition and asks(known, at.condition) then return true end
    at = at.parent
  end
  return false
end

-- Calls take(name) for each that a statement gives anything but a sum of shares.
local function take_of(known, s, is_outside, take)
  for _, d in ipairs(is_outside and s.declared or {}) do
    local is_kept = d.init and is_zero(known, d.init) or not d.init and not d.unknown_init
    if not is_kept then take(d.name) end
  end
  for _, tree in ipairs(statement.trees(s)) do
    expression.walk(tree, function(node)
      local spoils = is_outside and spoiled(known, node)
        or not is_outside and unsummed(known.fn.kernel, node, known.is_lax)
      take(spoils)
      local name = is_outside and node.kind == "assign" and effects.root_name(node.a)
      if name and known.names[name] and is_chosen(known, s) then take(name) end
    end)
  end
end

-- What holds sums of shares, 0 where the loops do nothing: of all names, `given` parameters among
-- them, those that are left after each that is given anything else is taken away.
local function zeros(fn, loops, given, depth, is_lax)
  local known, more = { fn = fn, names = {}, depth = depth, is_lax = is_lax,
    summed = summed_names(fn, loops, given), on_share = depends.on_share(fn, loops) }, true
  for name, list in pairs(fn.variables) do
    local d = list[1]
    local fits = #list == 1 and (d.pointer == 0 or d.parameter) and not d.reference
      and (not fn.addressed[name] or d.shared or d.pointer > 0)
    known.names[name] = fits and (not d.parameter or given[name]) or nil
  end
  local function take(name)
    if name and known.names[name] then known.names[name], more = nil, true end
  end
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    local is_hidden = access.write and access.base ~= access.root -- by another name, a pointer
    if is_hidden and not within(loops, access.node) then take(access.root) end
    if is_hidden and not access.root then known.names = {} end
  end
  while more do
    more = false
    for _, s in ipairs(fn.statements) do take_of(known, s, not within(loops, s), take) end
  end
  return known
end

-- Does a function of the file give 0 for arguments that are 0?
function is_returned(known, call)
  local fn = known.fn.kernel.by_name[call.callee.text]
  if not fn or not fn.body or known.depth >= MOST_DEPTH or fn:summary().opaque then return false end
  local given = {}
  for i, p in ipairs(fn.params) do
    given[p.name] = call.args[i] and is_zero(known, call.args[i]) or nil
  end
  local own = zeros(fn, {}, given, known.depth + 1)
  for _, s in ipairs(fn.statements) do
    if s.kind == "return" and not (s.tree and is_zero(own, s.tree)) then return false end
  end
  return true
end

-- Does a function of the file leave an array of zeros, its i-th argument, as zeros?
function keeps(known, call, i)
  local fn = known.fn.kernel.by_name[call.callee.text]
  local p = fn.body and fn.params[i]
  if not p or known.depth >= MOST_DEPTH or fn:summary().opaque then return false end
  return zeros(fn, {}, { [p.name] = true }, known.depth + 1).names[p.name] or false
end

--- Is a value the sum of what the loops' iterations add? Returns true, or false or nil and the
--- sentence. nil: the value is 0 without iterations, but it is unknown whether shares add up.
---@param loops table[] statements
function M.of(fn, tree, loops)
  local is_known = not effects.of(fn, fn.body).opaque
  if is_known and is_zero(zeros(fn, loops, {}, 1), tree) then return true end
  if not is_known or not is_zero(zeros(fn, loops, {}, 1, true), tree) then return false end
  return nil, ("`%s` is the sum of what the loops that threads share give"):format(
    fn.kernel:plain(tree))
end

-- Atomic operations whose result depends on how often they are made.
local COUNTING = { atomicAdd = true, atomicSub = true, atomicXor = true, atomicInc = true,
  atomicDec = true, atomicExch = true, atomicCAS = true }

--- The first update of memory outside of loops that tells how many threads made it: a call; or
--- what must be promised so that none does.
---@param loops table[] statements
---@param is_asked? fun(call: table): boolean those alone
---@return table?
---@return string? promise
function M.counted(fn, loops, is_asked)
  local promise
  for _, call in ipairs(effects.of(fn, fn.body).calls) do
    if COUNTING[call.name] and not within(loops, call.node) and (not is_asked or is_asked(call))
    then
      local answer, sentence = false, nil
      if call.name == "atomicAdd" or call.name == "atomicSub" then
        answer, sentence = M.of(fn, call.node.args[2], loops)
      end
      if answer == false then return call end
      promise = promise or sentence
    end
  end
  return nil, promise
end

return M
