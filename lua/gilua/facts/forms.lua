--- forms: indices as sums of products (gilua.source.affine), taken apart: what is a multiple of
-- a name, what is left, and how a person would write it.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local sides_of = require "gilua.facts.sides"

local M = {}

--- The factors of a monomial, in order.
---@param monomial string
---@return string[]
function M.factors(monomial)
  local list = {}
  for factor in monomial:gmatch "[^*]+" do list[#list + 1] = factor end
  return list
end

local MOST_STEPS = 10

--- The form of a tree with names that keep their values as what they are made of; nil where it has
--- too many terms.
---@param atoms table<string, true> names that stay
---@param clamped? fun(call: table): table? what a call is
---@param steps? integer from a name to what it is made of, so far
---@return table<string, integer>?
function M.of(fn, tree, atoms, clamped, steps)
  steps = steps or 0
  if steps > MOST_STEPS then return nil end
  return affine.form(fn.kernel, tree, function(node)
    if node.kind == "call" then return clamped and clamped(node) end
    local d = node.kind == "name" and not atoms[node.text] and sides_of.number(fn, node.text)
    if d and #effects.of(fn, d.init).accesses == 0 then
      return M.of(fn, d.init, atoms, clamped, steps + 1)
    end
  end)
end

--- The part of a form that is a product with a name, without it, and the rest; nil where the name
--- is there twice, or in a factor that is no name.
---@return table? part
---@return table? rest
function M.part_with(form, name)
  local part, rest = {}, {}
  for monomial, n in pairs(form) do
    local others, times = {}, 0
    for _, factor in ipairs(M.factors(monomial)) do
      if factor == name then
        times = times + 1
      elseif (" " .. factor:gsub("[^%w_.]", " ") .. " "):find(" " .. name .. " ", 1, true) then
        return nil
      else
        others[#others + 1] = factor
      end
    end
    if times > 1 then return nil end
    if times == 1 then part[table.concat(others, "*")] = n else rest[monomial] = n end
  end
  return part, rest
end

--- Is a form the number 1?
function M.is_one(form) return form[""] == 1 and next(form, next(form)) == nil end

--- a - b; nil where either is nil.
function M.minus(a, b) return affine.sum(a, b, -1) end

--- The number that a form is; nil of any other.
---@return integer?
function M.constant(form)
  if not next(form) then return 0 end
  return form[""] and next(form, next(form)) == nil and form[""] or nil
end

return M
