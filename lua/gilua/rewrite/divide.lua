--- divide: strength reduction of division
--
-- where     loops
-- needs     loop, types, decided, once
-- becomes   divisions by what it does not change, as products with the reciprocal, formed before it
-- promises  apart, types, decided
--
-- The last digit may differ.

local certain = require "gilua.facts.certain"
local decided = require "gilua.facts.decided"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local ONE = { float = "1.0f", double = "1.0" }

-- Every tree of the loop's body.
local function each_tree(loop, visit)
  loop_of.walk(loop.body, function(s)
    for _, tree in ipairs(statement.trees(s)) do visit(tree) end
  end)
end

local function is_free(loop, node) return node.kind ~= "number" and loop_of.stays(loop, node) end

local function touches(loop, node) return #effects.of(loop.fn, node).accesses > 0 end

-- May what a divisor loads be loaded before the loop, where that has a round?
local function can_touch(loop, node)
  return not touches(loop, node) or certain.of(loop, node)
    and once.guard(loop, loop.fn.kernel:names()) ~= nil
end

-- The divisors: { text, type, divisions }.
local function divisors(at)
  local list, by_text, loop = {}, {}, at.loop
  if loop.opaque or loop.conditional then return nil end
  local function visit(tree)
    expression.walk(tree, function(node)
      if node.kind ~= "binary" or node.op ~= "/" or not is_free(loop, node.b)
        or not can_touch(loop, node.b) then
        return
      end
      local type = types.of(loop.fn, node)
      if not ONE[type] then return end
      visit(node.a)
      local text = type .. " " .. loop.fn.kernel:plain(node.b)
      if not by_text[text] then
        by_text[text] = { type = type, divisions = {}, node = node.b }
        list[#list + 1] = by_text[text]
      end
      table.insert(by_text[text].divisions, node)
      return false -- what divides it changes as a whole
    end)
  end
  each_tree(loop, visit)
  return #list > 0 and list or nil
end

local FAR_FROM_ZERO = 1e-20 -- what is added to: a sum with it is zero, or no subnormal number

local function is_far(node)
  local value = node.kind == "number" and tonumber((node.text:gsub("[fF]$", "")))
  return value and math.abs(value) >= FAR_FROM_ZERO or false
end

local MOST_STEPS = 4 -- from a name to what it was made of

-- Is a number zero, or a normal number? A whole number is, a root, and a sum with a constant.
local function is_normal(fn, node, steps)
  local type = types.of(fn, node)
  if type and not ONE[type] or is_far(node) then return true end
  if node.kind == "cast" then
    return types.of(fn, node.a) ~= "double" and is_normal(fn, node.a, steps)
  elseif node.kind == "binary" and (node.op == "+" or node.op == "-") then
    return is_far(node.a) or is_far(node.b)
  elseif node.kind == "call" and node.callee.kind == "name" then
    local name = (node.callee.text:gsub("^std::", ""))
    local a, b = node.args[1], node.args[2]
    return name:find "^sqrtf?$" ~= nil or name:find "^f?maxf?$" and b and (is_far(a) or is_far(b))
  end
  local d = node.kind == "name" and steps > 0 and fn:declaration(node.text, node.first)
  local writes = d and effects.of(fn, fn.body).writes[d.name] or {}
  local is_kept = d and d.init and not d.reference and #writes == 1 and not fn.addressed[d.name]
  return is_kept and is_normal(fn, d.init, steps - 1) or false
end

-- Is each divisor's reciprocal finite? nil and the sentence.
local function are_normal(at)
  local subnormal
  for _, divisor in ipairs(at.divisors) do
    if not is_normal(at.fn, divisor.node, MOST_STEPS) then subnormal = divisor end
  end
  if not subnormal then return true end
  return nil, ("no divisor is a subnormal number (below %s), whose reciprocal is infinite")
    :format(subnormal.type == "float" and "1.2e-38" or "2.3e-308")
end

-- Does no quotient's last digit decide anything? nil and the sentence.
local function decide_nothing(at)
  local nodes = {}
  for _, divisor in ipairs(at.divisors) do
    table.move(divisor.divisions, 1, #divisor.divisions, #nodes + 1, nodes)
  end
  local what, line = decided.of(at.fn, nodes)
  if not what then return true end
  return nil, ("no quotient's last digit decides %s (line %d)"):format(what, line)
end

-- Returns the guard for the loads that divisors make.
local function guarded(at)
  for _, divisor in ipairs(at.divisors) do
    if touches(at.loop, divisor.node) then return once.of_place(at) end
  end
  return {}
end

local function becomes(at, e)
  local kernel, loop, before = at.kernel, at.loop, at.guard.lines or {}
  for _, divisor in ipairs(at.divisors) do
    local node = divisor.node
    local name = at.names((node.kind == "name" and node.text or "divisor") .. "_inverse")
    local value = ("%s / %s"):format(ONE[divisor.type],
      (node.kind == "binary" and not node.parens and "(%s)" or "%s"):format(kernel:plain(node)))
    local lines = once.valued(touches(loop, node) and at.guard or {}, divisor.type, name, value)
    table.move(lines, 1, #lines, #before + 1, before)
    for _, division in ipairs(divisor.divisions) do
      e:replace(division.b.first - 1, division.b.last, "* " .. name)
    end
  end
  e:around(loop.statement, before)
  return ("the loop at line %d multiplies by the reciprocal of %s"):format(at.line,
    kernel:plain(at.divisors[1].node))
end

return { name = "divide", where = "loops", judged = true,
  doc = "A loop's divisions by what stays the same, as products with its reciprocal.",
  needs = {
    { "loop", divisors, gives = "divisors",
      says = "the loop divides by nothing that stays the same" },
    { "types", are_normal, promised = true },
    { "decided", decide_nothing, promised = true },
    { "once", guarded, gives = "guard" },
  },
  becomes = becomes,
}
