--- remainder: strength reduction of remainders (induction variables)
--
-- where     loops
-- needs     loop, signs, types, uniform
-- becomes   quotients and remainders of its variable, as counters that it carries along
-- promises  apart
--
-- A GPU has no instruction for either.
--
--   for (int i = threadIdx.x; i < rows * 33; i += blockDim.x)
--     tile[i / 33][i % 33] = a[i];
--
--   int i_quotient = threadIdx.x / 33, i_rest = threadIdx.x % 33;
--   const int quotient_step = blockDim.x / 33, rest_step = blockDim.x % 33;
--   for (int i = threadIdx.x; i < rows * 33; i += blockDim.x) {
--     tile[i_quotient][i_rest] = a[i];
--     i_quotient += quotient_step; i_rest += rest_step;
--     if (i_rest >= 33) { i_rest -= 33; i_quotient++; }
--   }
--
-- These are the same numbers only where i is not below zero, which the loop's start, its step and
-- the types tell, and n above: where the words do not tell the latter, the loop is there twice,
-- once for such n, behind a question. A loop whose variable runs over the end of its type is taken
-- for one that nobody wrote.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local iterations = require "gilua.rewrite.iterations"
local lists = require "gilua.base.lists"
local loop_of = require "gilua.facts.loop"
local sides = require "gilua.facts.sides"
local signs = require "gilua.facts.signs"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"
local uniform = require "gilua.facts.uniform"



-- ---- divisions --------------------------------------------------------------------------------

-- The operators that come to a shift or a mask, the compiler does itself.
local function is_power_of_two(fn, node)
  local value = sides.value(fn, node)
  return value ~= nil and value > 0 and value & (value - 1) == 0
end

-- Is a node a quotient or a remainder of whole numbers that loads nothing and has no effects?
local function is_division(fn, node)
  if node.kind ~= "binary" or node.op ~= "/" and node.op ~= "%"
    or not signs.WHOLE[types.of(fn, node)]
    or is_power_of_two(fn, node.b) then
    return false
  end
  local all = effects.of(fn, node)
  return not (all.opaque or all.barrier or all.warp or next(all.writes))
    and #all.accesses == 0 and #all.calls == 0
end

-- Every tree of a statement and those below it.
local function each_tree(s, visit)
  loop_of.walk(s, function(below)
    for _, tree in ipairs(statement.trees(below)) do visit(tree) end
  end)
end

-- ---- counters ---------------------------------------------------------------------------------

local function counts_up(at)
  local loop = at.loop
  if not loop.counted or loop.sign < 0 or not loop.relation:find "^<" then
    return nil, "it does not count upwards to its bound"
  elseif not loop.invariant or loop.writes_variable or loop.opaque
    or loop.inside.declares[loop.variable] then
    return nil, "its variable, its bound or its step change within"
  elseif loop.continues or loop.inside.conditional or not loop.balanced or loop.inside.label
    or loop.inside["goto"] then
    return nil, "it has a continue, a goto or an #if"
  end
  return true
end

-- Is the loop's variable never below zero?
local function is_small(at)
  local loop, fn = at.loop, at.fn
  local type = types.plain(loop.type or "")
  local start = loop.start and effects.of(fn, loop.start)
  return signs.WHOLE[type] and start and not start.opaque and not next(start.writes)
    and not start.warp and signs.is_small(fn, loop.by)
    and (type:find "^unsigned" ~= nil or signs.is_small(fn, loop.start))
end

-- Is a tree the loop's variable, or it and something small that stays the same?
local function is_of_variable(loop, node)
  local function is_variable(part) return part.kind == "name" and part.text == loop.variable end
  local function is_other(part)
    return signs.is_small(loop.fn, part) and loop_of.is_invariant(loop.fn, part, loop.inside)
      and not effects.of(loop.fn, part).reads[loop.variable]
  end
  if is_variable(node) then return true end
  return node.kind == "binary" and node.op == "+"
    and (is_variable(node.a) and is_other(node.b) or is_variable(node.b) and is_other(node.a))
end

local function stays(loop, node)
  return loop_of.is_invariant(loop.fn, node, loop.inside)
    and not effects.of(loop.fn, node).reads[loop.variable]
end

-- What a loop divides of its variable: { node, a, n, type, nodes }, as they stand.
local function divided(at)
  local loop, fn, list, by_text = at.loop, at.fn, {}, {}
  each_tree(loop.body, function(tree)
    expression.walk(tree, function(node)
      if not is_division(fn, node) or not is_of_variable(loop, node.a) or not stays(loop, node.b)
      then
        return
      end
      local type = types.of(fn, node)
      local key = ("%s %s | %s"):format(type, fn.kernel:plain(node.a), fn.kernel:plain(node.b))
      if not by_text[key] then
        by_text[key] = { node = node, a = node.a, n = node.b, type = type, nodes = {} }
        list[#list + 1] = by_text[key]
      end
      table.insert(by_text[key].nodes, node)
    end)
  end)
  return #list > 0 and list or nil
end

-- What a counter begins with: the divided sum with the loop's start in the variable's place.
local function beginning(loop, a)
  local fn, kernel, start = loop.fn, loop.fn.kernel, loop.start
  local text = kernel:operand(start)
  local type = types.plain(loop.type)
  if not signs.is_small(fn, start) and types.of(fn, start) ~= type then
    text = ("(%s)%s"):format(type, text)
  end
  if a.kind == "name" then return text end
  local instead = {}
  for i = a.first, a.last do
    if kernel.words[i] == loop.variable then instead[i] = text end
  end
  text = kernel:source(a.first, a.last, instead):gsub("%s+", " ")
  return a.parens and text or "(" .. text .. ")"
end

-- Is a step at most the divisor, as numbers tell? Then one carry an iteration does. (A macro may
-- be another number by another gene.)
local function is_short(loop, one)
  local n = affine.integer(one.n)
  return loop.step == 1 or loop.step ~= nil and n ~= nil and loop.step <= n
end

-- The declarations and the step of what one division becomes: adds to both lists of lines.
local function add_counters(loop, one, before, update, named)
  local kernel, variable = loop.fn.kernel, loop.variable
  local n, from = kernel:operand(one.n), beginning(loop, one.a)
  local needs_quotient = lists.any(one.nodes, function(node) return node.op == "/" end)
  one.rest = named(variable .. "_rest")
  one.quotient = needs_quotient and named(variable .. "_quotient") or nil
  local is_zero = affine.integer(loop.start) == 0 and one.a.kind == "name"
  local function first(op) return is_zero and "0" or ("%s %s %s"):format(from, op, n) end
  before[#before + 1] = ("%s %s%s = %s;"):format(one.type,
    one.quotient and ("%s = %s, "):format(one.quotient, first "/") or "", one.rest, first "%")
  local by = loop.by.first and kernel:operand(loop.by) or "1" -- of i++
  if is_short(loop, one) then
    update[#update + 1] = ("%s += %s;"):format(one.rest, by)
  else
    local rest, quotient = named "rest_step", one.quotient and named "quotient_step"
    before[#before + 1] = ("const %s %s%s = %s %% %s;"):format(one.type,
      quotient and ("%s = %s / %s, "):format(quotient, by, n) or "", rest, by, n)
    if quotient then update[#update + 1] = ("%s += %s;"):format(one.quotient, quotient) end
    update[#update + 1] = ("%s += %s;"):format(one.rest, rest)
  end
  local carry = ("%s -= %s;"):format(one.rest, n)
  update[#update + 1] = ("if (%s >= %s) "):format(one.rest, n)
    .. (one.quotient and ("{ %s %s++; }"):format(carry, one.quotient) or carry)
end

-- What stands for tokens of the loop: { first, last, text }.
local function changes(loop, list, update)
  local kernel, body, all = loop.fn.kernel, loop.body, {}
  for _, one in ipairs(list) do
    for _, node in ipairs(one.nodes) do
      all[#all + 1] = { node.first, node.last, node.op == "/" and one.quotient or one.rest }
    end
  end
  local indent, more = kernel:indent(loop.statement.first), iterations.unit(loop)
  local lines = table.concat(update, "\n" .. indent .. more)
  if body.kind == "block" then
    local own_line = kernel:begins_line(body.last)
    all[#all + 1] = { body.last, body.last,
      (own_line and more or "\n" .. indent .. more) .. lines .. "\n" .. indent .. "}" }
  else
    all[#all + 1] = { loop.statement.close, loop.statement.close, ") {" }
    all[#all + 1] = { body.last, body.last, kernel.words[body.last] .. "\n" .. indent .. more
      .. lines .. "\n" .. indent .. "}" }
  end
  return all
end

-- Can a loop be there twice? Returns the conditions.
local function fits_twice(at, asks)
  local fn, loop = at.fn, at.loop
  local fits, why = iterations.fits_twice(loop)
  if not fits then return nil, why end
  for _, one in ipairs((loop.barrier or loop.warp) and at.divided or {}) do
    if not signs.is_above_zero(fn, one.n) and not uniform.of(fn, one.n) then
      return nil, "threads wait for each other in it, and may divide by different numbers"
    end
  end
  return asks
end

-- Returns the conditions before the loop: divisors whose sign the text does not tell are above
-- zero.
local function questions(at)
  local asks, seen = {}, {}
  for _, one in ipairs(at.divided) do
    local text = at.kernel:operand(one.n)
    if not signs.is_above_zero(at.fn, one.n) and not seen[text] then
      seen[text] = true
      asks[#asks + 1] = text .. " > 0"
    end
  end
  if #asks == 0 then return asks end
  return fits_twice(at, asks)
end

local function becomes(at, e)
  local loop, before, update, instead, more = at.loop, {}, {}, {}, nil
  for _, one in ipairs(at.divided) do add_counters(loop, one, before, update, at.names) end
  local all = changes(loop, at.divided, update)
  if #at.asks > 0 then
    for _, change in ipairs(all) do instead[change[1]] = { change[3], change[2] } end
    more = iterations.put_twice(e, loop, at.asks, before, instead)
  else
    for _, change in ipairs(all) do e:replace(change[1], change[2], change[3]) end
    e:around(loop.statement, before)
  end
  return ("the loop at line %d counts %s in place of dividing"):format(at.line,
    at.kernel:plain(at.divided[1].node)), more
end

return { name = "remainder", where = "loops",
  doc = "A loop's quotients and remainders by counters that it carries along.",
  needs = {
    { "loop", counts_up },
    { "signs", is_small, says = "its variable may be below zero" },
    { "types", divided, gives = "divided",
      says = "it divides its variable by nothing that stays the same" },
    { "uniform", questions, gives = "asks" },
  },
  becomes = becomes,
}
