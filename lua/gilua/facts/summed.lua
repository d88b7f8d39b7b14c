--- summed: to which elements does a kernel add, wherever a thread is, and do nothing else with
-- their array?
--
-- Yes is a list of { statement, call, access, type }: each atomicAdd whose result is not used, and
-- whose element is given by parameters and numbers alone. A thread may then add up its own sum
-- first. No is nil and why.

local added = require "gilua.facts.added"
local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"

local M = {}

--- Is a tree made of parameters that keep their value, and of numbers? So it is the same for all
--- threads, all the while.
---@param may_be table<string, true> what else it may be: "cast", "index", "&"
function M.is_fixed(fn, tree, may_be)
  local writes, fixed = effects.of(fn, fn.body).writes, true
  expression.walk(tree, function(node)
    local d = node.kind == "name" and fn:declaration(node.text, node.first)
    if node.kind == "name" then
      fixed = fixed and d ~= nil and d.parameter and not d.reference and not writes[node.text]
        and not fn.addressed[node.text]
    elseif node.kind ~= "number" and node.kind ~= "binary" and not may_be[node.kind]
      and not (node.kind == "unary" and may_be[node.op]) then
      fixed = false
    end
  end)
  return fixed
end

local PLACE = { index = true, ["&"] = true }

--- How often a kernel may touch an array.
function M.touched(fn, name)
  local n = 0
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    if apart.may_touch(fn, access, name) then n = n + 1 end
  end
  return n
end

--- Returns the sums of a kernel; nil and why it has none.
---@return table[]?
---@return string? why
function M.of(fn)
  local list, counts = {}, {}
  for _, s in ipairs(fn.statements) do
    local one = added.of(fn, s)
    if one and one.type and one.access.base and M.is_fixed(fn, one.call.args[1], PLACE) then
      list[#list + 1] = { statement = s, call = one.call, access = one.access, type = one.type }
      counts[one.access.base] = (counts[one.access.base] or 0) + 1
    end
  end
  if #list == 0 then return nil, "it adds to no element that is the same for all threads" end
  for name, n in pairs(counts) do
    if M.touched(fn, name) ~= n then
      return nil, ("it does something else with '%s', too"):format(name)
    end
  end
  return list
end

return M
