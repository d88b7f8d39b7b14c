--- accumulators: the variables that a loop does nothing with but add to (or multiply, or take the
-- greater of), and how several of each take one's place.

local associative = require "gilua.facts.associative"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local signs = require "gilua.facts.signs"

local M = {}

local NUMBERS = {}
for word in ("int float double unsigned long short half __half size_t int32_t int64_t uint32_t "
  .. "uint64_t"):gmatch "%S+" do
  NUMBERS[word] = true
end

local EXTREME = { max = true, min = true, fmaxf = true, fminf = true, fmax = true, fmin = true }
local IDENTITY = { ["+"] = "0", ["-"] = "0", ["*"] = "1" }

local function is_name(node, name) return node.kind == "name" and node.text == name end

-- What is done with `name` in each iteration: "+", "*", or the call of a greatest; and with what.
local function operation(kernel, tree)
  if tree.kind ~= "assign" or tree.a.kind ~= "name" then return nil end
  local name, op, b = tree.a.text, tree.op:match "^([-+*])=$", tree.b
  if op then return name, op, b end
  if tree.op ~= "=" then return nil end
  if b.kind == "binary" and IDENTITY[b.op] then
    if is_name(b.a, name) then return name, b.op, b.b end
    if is_name(b.b, name) and b.op ~= "-" then return name, b.op, b.a end
  elseif b.kind == "call" and b.callee.kind == "name" and EXTREME[b.callee.text]
    and #b.args == 2 and effects.is_of_cuda(kernel, b.callee.text) then
    if is_name(b.args[1], name) then return name, b.callee.text, b.args[2] end
    if is_name(b.args[2], name) then return name, b.callee.text, b.args[1] end
  end
end

local function all_numbers(type)
  for word in type:gmatch "%S+" do
    if not NUMBERS[word] then return false end
  end
  return true
end

-- The variable that a statement adds to, with all its tokens in the loop; nil where it is used for
-- anything else there, or by another operation.
local function accumulator(loop, s)
  local name, op, value = operation(loop.fn.kernel, s.tree)
  local fn = loop.fn
  local d = name and fn:declaration(name, s.first)
  if not d or d.pointer > 0 or #d.extents > 0 or d.reference or d.shared or d.const
    or d.scope_first >= loop.body.first or name == loop.variable or fn.addressed[name]
    or not all_numbers(d.type) or effects.of(fn, value).reads[name]
    or not associative.of(fn, d.type, value) then
    return nil
  end
  local uses = #(loop.inside.writes[name] or {})
  local own = effects.of(fn, s)
  if uses ~= #own.writes[name] or #(loop.inside.reads[name] or {}) ~= #(own.reads[name] or {}) then
    return nil
  end
  local tokens = {}
  expression.walk(s.tree, function(node)
    if is_name(node, name) then tokens[#tokens + 1] = node.token end
  end)
  return { name = name, op = op, type = d.type, tokens = tokens }
end

--- The accumulators of a loop: { name, op, type, tokens }, in the order in which they stand.
function M.list(loop)
  local list = {}
  if not loop.simple or loop.conditional then return list end
  for _, s in ipairs(loop.fn.statements) do
    if s.kind == "expression" and s.first >= loop.body.first and s.last <= loop.body.last then
      list[#list + 1] = accumulator(loop, s)
    end
  end
  return list
end

--- Returns the accumulators of a place's loop; nil and a sentence where there is none.
---@param at { loop: table }
---@return table? list
---@return string? why
function M.some(at)
  local list = M.list(at.loop)
  if #list > 0 then return list end
  return nil, "the loop adds to no variable that it does nothing else with"
end

--- Do parts stay in range where the whole does? Those of a floating product may overflow or vanish
--- where another factor would have held the product back. true; nil and what has to be promised.
---@param list table of `list`
function M.stay_in_range(list)
  for _, a in ipairs(list) do
    if a.op == "*" and not signs.WHOLE[a.type] then
      return nil, ("no part of the product `%s` overflows or vanishes where the whole does not")
        :format(a.name)
    end
  end
  return true
end

local function first_value(a)
  return IDENTITY[a.op] or a.name
end

local function joined(a, other)
  if a.op == "*" then return ("%s *= %s;"):format(a.name, other) end
  if IDENTITY[a.op] then return ("%s += %s;"):format(a.name, other) end
  return ("%s = %s(%s, %s);"):format(a.name, a.op, a.name, other)
end

--- The lines before and behind a loop that declare and join `factor` parts of each, and the words
--- of the n-th copy of its body (0: the first), as gilua.rewrite.iterations takes them.
---@param list table of `list`
---@param factor integer
function M.parts(kernel, list, factor)
  local before, after = {}, {}
  for _, a in ipairs(list) do
    a.names = {}
    for n = 1, factor - 1 do
      a.names[n] = kernel:fresh(("%s_part%d"):format(a.name, n + 1))
      before[#before + 1] = ("%s %s = %s;"):format(a.type, a.names[n], first_value(a))
      after[#after + 1] = joined(a, a.names[n])
    end
  end
  return before, after, function(n)
    local instead = {}
    for _, a in ipairs(list) do
      for _, token in ipairs(a.tokens) do instead[token] = n > 0 and a.names[n] or nil end
    end
    return instead
  end
end

return M
