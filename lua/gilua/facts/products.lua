--- products: does a nest of loops add up, in one statement, what is zero where all it loads is?
--
--   for (int c = 0; c < channels; c++)
--     for (int j = 0; j < 3; j++) sum += x[c * width + col + j] * w[c * 3 + j];
--
-- Yes: { loops (from the outermost on), statement, sum (the variable's declaration), tokens (of the
-- variable in the statement) }. Each loop counts up by one; all but the outermost have a number of
-- rounds that is known, so that one index can count the rounds of all. The variable may be added to
-- by `+=`, `-=`, `sum = sum + …` and fma(a, b, sum), and is a thread's own.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local operands = require "gilua.facts.operands"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"

local M = {}

local FMA = settings.set "fmaf fma __fmaf_rn __fma_rn"

local function is_name(node, name) return node.kind == "name" and node.text == name end

-- Is a product of trees zero where all that it loads is?
local function is_zero_product(kernel, a, b)
  return operands.is_zero(kernel, { kind = "binary", op = "*", a = a, b = b })
end

-- Does an assignment add to a variable what is zero where all that it loads is?
local function adds_zero(kernel, tree, name)
  local b = tree.b
  if tree.op == "+=" or tree.op == "-=" then return operands.is_zero(kernel, b) end
  if tree.op ~= "=" then return false end
  if b.kind == "binary" and (b.op == "+" or b.op == "-") then
    if is_name(b.a, name) then return operands.is_zero(kernel, b.b) end
    return b.op == "+" and is_name(b.b, name) and operands.is_zero(kernel, b.a)
  end
  return b.kind == "call" and FMA[b.callee.text or ""] and #b.args == 3
    and effects.is_of_cuda(kernel, b.callee.text) and is_name(b.args[3], name)
    and is_zero_product(kernel, b.args[1], b.args[2])
end

-- The tokens of a name in a tree.
local function tokens_of(tree, name)
  local tokens = {}
  expression.walk(tree, function(node)
    if is_name(node, name) then tokens[#tokens + 1] = node.token end
  end)
  return tokens
end

-- The loops from one to the innermost, and the one statement there; nil where there is more.
local function nest_of(loop)
  local loops = { loop }
  while true do
    local body = statement.listed(loops[#loops].body)
    local s = #body == 1 and body[1]
    if not s then return nil end
    if s.kind == "expression" then return loops, s end
    if s.kind ~= "for" or not s.loop then return nil end
    loops[#loops + 1] = s.loop
  end
end

-- Why a loop does not count up by one, to an end that the others leave alone; nil where it does.
local function head_refusal(loop, is_outer)
  local is_up = loop.counted and loop.simple and loop.step == 1 and loop.sign == 1 and loop.declares
    and (loop.relation == "<" or loop.relation == "<=") and not loop.conditional
  local is_long = loop.type and not loop.type:find "short" and not loop.type:find "char"
  if not is_up or not is_long or loop.continues then return "it does not count up by one" end
  if not is_outer and (loop.trips or 0) < 1 then
    return ("how many rounds the loop at line %d has is not known"):format(loop.line)
  end
end

--- Returns what the nest from a loop on adds up; nil and why it is no such sum.
---@param loop table of gilua.facts.loop
---@return table?
---@return string? why
function M.of(loop)
  local fn, kernel = loop.fn, loop.fn.kernel
  local loops, s = nest_of(loop)
  if not loops then return nil, "it does more than to add to one variable" end
  for i, one in ipairs(loops) do
    local why = head_refusal(one, i == 1)
    if why then return nil, why end
  end
  local tree = s.tree
  if tree.kind ~= "assign" or tree.a.kind ~= "name" then
    return nil, "it does more than to add to one variable"
  end
  local name, tokens = tree.a.text, tokens_of(tree, tree.a.text)
  if not adds_zero(kernel, tree, name) or #tokens ~= (tree.op == "=" and 2 or 1) then
    return nil, "what it adds may be other than zero where its operands are zero"
  end
  local d = fn:declaration(name, s.first)
  if not operands.BYTES[d and d.type] or not d.init or d.init_form ~= "=" or d.pointer > 0
    or #d.extents > 0 or d.reference or d.shared or fn.addressed[name]
    or d.scope_first >= loop.statement.first then
    return nil, ("'%s' has no first value, or is of another type"):format(name)
  elseif #(loop.inside.writes[name] or {}) ~= 1
    or #(loop.inside.reads[name] or {}) ~= #(effects.of(fn, s).reads[name] or {}) then
    return nil, "it does more than to add to one variable"
  end
  return { loops = loops, statement = s, sum = d, tokens = tokens }
end

return M
