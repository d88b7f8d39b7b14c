--- sides: by which sides of its block's index a thread's value differs from another's.
--
-- Of `row * n + k`, where row is made of threadIdx.y, that is { y = true }: all threads of a row of
-- the block have the same. A name is followed to where it is declared, if it keeps that value.
-- What is loaded, called or assigned again is "not known": nil.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local threads = require "gilua.facts.threads"

local M = {}

local SAME = { blockIdx = true, blockDim = true, gridDim = true, warpSize = true }
local MOST_STEPS = 12 -- from a name to what it is made of

local function add(sides, others)
  for side in pairs(others or {}) do sides[side] = true end
  return sides
end

--- The declaration of a name that keeps the value it is declared with; nil of any other.
---@param name string
function M.kept(fn, name)
  local list = fn.variables[name]
  local d = list and list[1]
  if not d or #list > 1 or d.reference or d.volatile or d.shared or #d.extents > 0
    or fn.addressed[name] then
    return nil
  end
  local writes = effects.of(fn, fn.body).writes[name] or {}
  if d.parameter then return #writes == 0 and d or nil end
  return #writes == 1 and d.init and d.init_form == "=" and d or nil
end

--- Returns the declaration of a variable that keeps the number it is declared with; nil of any
--- other name.
---@param name string
---@return table?
function M.number(fn, name)
  local d = M.kept(fn, name)
  return d and not d.parameter and d.pointer == 0 and d or nil
end

local of_tree

local function of_name(fn, name, token, uniform, steps)
  if uniform[name] or SAME[name] then return {} end
  if name == "threadIdx" then
    local side = fn.kernel.words[token + 2]
    return fn.kernel.words[token + 1] == "." and { [side] = true } or nil
  end
  if not fn.variables[name] then
    return not effects.of(fn, fn.body).writes[name] and {} or nil
  end
  local d = M.kept(fn, name)
  if not d or steps > MOST_STEPS then return nil end
  return d.parameter and {} or of_tree(fn, d.init, uniform, steps + 1)
end

function of_tree(fn, tree, uniform, steps)
  local all, sides = effects.of(fn, tree), {}
  if all.opaque or all.warp or all.barrier or next(all.writes) or #all.accesses > 0 then
    return nil
  end
  for name, tokens in pairs(all.reads) do
    for _, token in ipairs(tokens) do
      local of = of_name(fn, name, token, uniform, steps)
      if not of then return nil end
      add(sides, of)
    end
  end
  for _, call in ipairs(all.calls) do
    if call.name and (call.name:find "^clock" or fn.kernel.by_name[call.name]) then return nil end
  end
  return sides
end

--- The sides of a tree that loads nothing; nil where that is not known.
---@param uniform? table<string, true> names that are the same in all threads of a block
---@return table<string, true>?
function M.of(fn, tree, uniform)
  if not fn.body or threads.hidden(fn, { threadIdx = true }) then return nil end
  return of_tree(fn, tree, uniform or {}, 0)
end

--- Returns the sides that an element's place depends on, by its indices and its array's address.
---@param access table of gilua.effects, with indices
---@param uniform? table<string, true>
---@return table<string, true>?
function M.of_access(fn, access, uniform)
  local sides = {}
  for _, index in ipairs(access.indices) do
    local of = M.of(fn, index, uniform)
    if not of then return nil end
    add(sides, of)
  end
  local of = of_name(fn, access.base, access.token, uniform or {}, 0)
  return of and add(sides, of)
end

--- Are all of some sides among others?
---@param sides table<string, true>
---@param others table<string, true>
function M.is_within(sides, others)
  for side in pairs(sides) do
    if not others[side] then return false end
  end
  return true
end

--- Which sides of threadIdx a function asks for.
---@return table<string, true>
function M.used(fn)
  local used = {}
  for side, tokens in pairs(threads.uses(fn).threadIdx) do
    if #tokens > 0 then used[side] = true end
  end
  return used
end

-- The number that a name is, by a macro or a declaration.
local function named(fn, name, steps)
  local macro, d = fn.kernel.macros[name], M.kept(fn, name)
  local text = macro and macro.value
  local init = d and d.init or not fn.variables[name] and fn.kernel.numbers[name]
  return text and affine.integer { kind = "number", text = text } or affine.macro(fn.kernel, name)
    or init and steps < MOST_STEPS and M.value(fn, init, steps + 1) or nil
end

--- The whole number that a tree is, of literals, macros and names that keep theirs; nil where it is
--- not known.
---@param tree table?
---@param steps? integer from a name to what it is made of, so far
---@return integer?
function M.value(fn, tree, steps)
  local form, sum = tree and affine.form(fn.kernel, tree), 0
  for monomial, n in pairs(form or { ["?"] = 1 }) do
    for factor in monomial:gmatch "[^*]+" do
      local number = named(fn, factor, steps or 0)
      if not number then return nil end
      n = n * number
    end
    sum = sum + n
  end
  return sum
end

return M
