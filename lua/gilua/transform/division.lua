--- division: costly operations as cheaper ones.
--
--   divide  a division in a loop by what the loop does not change is a multiplication by its
--           reciprocal, formed once before the loop; the last digit may differ
--   power   pow(x, 2), pow(x, 0.5) and the like are products and roots

local certain = require "gilua.facts.certain"
local decided = require "gilua.facts.decided"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local ONE = { float = "1.0f", double = "1.0" }

-- ---- divide -----------------------------------------------------------------------------------

-- Every tree of the loop's body.
local function each_tree(loop, visit)
  loop_of.walk(loop.body, function(s)
    for _, tree in ipairs(statement.trees(s)) do visit(tree) end
  end)
end

local function is_free(loop, node)
  if node.kind == "number" or not loop_of.is_invariant(loop.fn, node, loop.inside) then
    return false
  end
  for _, part in ipairs { loop.statement.init or false, loop.statement.step or false } do
    if part and not loop_of.is_invariant(loop.fn, node, effects.of(loop.fn, part)) then
      return false
    end
  end
  return true
end

local function touches(loop, node) return #effects.of(loop.fn, node).accesses > 0 end

-- May what a divisor loads be loaded before the loop, where that has a round?
local function can_touch(loop, node)
  return not touches(loop, node) or certain.of(loop, node)
    and once.guard(loop, loop.fn.kernel:names()) ~= nil
end

-- The divisors: { text, type, divisions }.
local function divisors(loop)
  local list, by_text = {}, {}
  if loop.opaque or loop.conditional then return list end
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
  return list
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

-- What the products promise of the numbers: nil where they promise nothing.
local function promise_of(fn, list)
  local nodes, promises = {}, {}
  for _, divisor in ipairs(list) do
    table.move(divisor.divisions, 1, #divisor.divisions, #nodes + 1, nodes)
    if not is_normal(fn, divisor.node, MOST_STEPS) then
      promises[1] = ("no divisor is a subnormal number (below %s), whose reciprocal is infinite")
        :format(divisor.type == "float" and "1.2e-38" or "2.3e-308")
    end
  end
  local what, line = decided.of(fn, nodes)
  if what then
    promises[#promises + 1] = ("no quotient's last digit decides %s (line %d)"):format(what, line)
  end
  return promises[1] and table.concat(promises, ", and that ") or nil
end

local function divided(loop)
  local kernel, list = loop.fn.kernel, divisors(loop)
  if #list == 0 then return nil, "the loop divides by nothing that stays the same" end
  local e, names, guard = edit.new(kernel), kernel:names(), {}
  for _, divisor in ipairs(list) do
    if touches(loop, divisor.node) and not guard.text then guard = once.guard(loop, names) end
  end
  local before = guard.lines or {}
  for _, divisor in ipairs(list) do
    local node = divisor.node
    local name = names((node.kind == "name" and node.text or "divisor") .. "_inverse")
    local value = ("%s / %s"):format(ONE[divisor.type],
      (node.kind == "binary" and not node.parens and "(%s)" or "%s"):format(kernel:plain(node)))
    local lines = once.valued(touches(loop, node) and guard or {}, divisor.type, name, value)
    table.move(lines, 1, #lines, #before + 1, before)
    for _, division in ipairs(divisor.divisions) do
      local slash = division.b.first - 1
      e:replace(slash, division.b.last, "* " .. name)
    end
  end
  e:around(loop.statement, before)
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, says = ("the loop at line %d multiplies by the reciprocal of %s"):format(
    loop.line, kernel:plain(list[1].node)),
    promise = promise_of(loop.fn, list) }
end

local divide = { name = "divide", apart = true, judged = true,
  doc = "A loop's divisions by what stays the same, as products with its reciprocal." }

function divide.find(kernel)
  local list = {}
  for _, loop in ipairs(kernel:open_loops()) do
    if #divisors(loop) > 0 then list[#list + 1] = { line = loop.line, args = {} } end
  end
  return list
end

function divide.make(kernel, line) return kernel:first_loop(line, divided) end

-- ---- power ------------------------------------------------------------------------------------

local POWERS = { ["2"] = 2, ["2.0"] = 2, ["2.0f"] = 2, ["2.f"] = 2, ["2."] = 2, ["3"] = 3,
                 ["3.0"] = 3, ["3.0f"] = 3, ["3.f"] = 3, ["3."] = 3, ["4.0"] = 4, ["4.0f"] = 4,
                 ["4"] = 4, ["4.f"] = 4, ["0.5"] = 0.5, ["0.5f"] = 0.5, ["1.5f"] = 1.5,
                 ["1.5"] = 1.5 }

local function power_of(node)
  local name = node.kind == "call" and node.callee.kind == "name" and node.callee.text
  local is_power = name == "pow" or name == "powf" or name == "std::pow"
  return is_power and #node.args == 2 and POWERS[node.args[2].text or ""] or nil
end

local function is_word(node)
  return node.kind == "name" or node.kind == "number" or node.kind == "index"
    or node.kind == "member" or node.parens
end

local function as_product(fn, node)
  local kernel, power, base = fn.kernel, power_of(node), node.args[1]
  local single = node.callee.text == "powf" or types.of(fn, base) == "float"
    and node.args[2].text:find "f$"
  if power < 2 then
    local root = ("%s(%s)"):format(single and "sqrtf" or "sqrt", kernel:plain(base))
    return power == 0.5 and root
      or ("(%s * %s)"):format(is_word(base) and kernel:plain(base) or "(" .. kernel:plain(base)
        .. ")", root)
  end
  local own = effects.of(fn, base)
  if next(own.writes) or own.opaque then return nil end
  local want = single and "float" or "double" -- pow(float, int) is a double
  local text = is_word(base) and kernel:plain(base) or "(" .. kernel:plain(base) .. ")"
  if types.of(fn, base) ~= want then text = ("(%s)%s"):format(want, text) end
  return "(" .. text .. (" * " .. text):rep(power - 1) .. ")"
end

local function powers(kernel, line)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    for _, s in ipairs(fn.statements) do
      for _, tree in ipairs(statement.trees(s)) do list[#list + 1] = { fn = fn, tree = tree } end
    end
  end
  local found = {}
  for _, at in ipairs(list) do
    expression.walk(at.tree, function(node)
      if power_of(node) and (not line or kernel:line_of(node.first) == line) then
        local text = as_product(at.fn, node)
        if text then found[#found + 1] = { node = node, text = text } end
        return false
      end
    end)
  end
  return found
end

local power = { name = "power", judged = true,
  doc = "pow(x, 2), pow(x, 0.5) and the like as products and roots." }

function power.find(kernel)
  local list, seen = {}, {}
  for _, found in ipairs(powers(kernel)) do
    local line = kernel:line_of(found.node.first)
    if not seen[line] and kernel:is_open(line, kernel:line_of(found.node.last)) then
      seen[line] = true
      list[#list + 1] = { line = line, args = {} }
    end
  end
  return list
end

function power.make(kernel, line)
  local list, e = powers(kernel, line), edit.new(kernel)
  if #list == 0 then return nil, "no power with a small constant exponent is there" end
  for _, found in ipairs(list) do e:replace(found.node.first, found.node.last, found.text) end
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, says = ("%s is %s"):format(kernel:plain(list[1].node), list[1].text) }
end

return { divide, power }
