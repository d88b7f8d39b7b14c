--- reduction: does a loop do nothing with a variable but put it together: a sum, the greatest or
-- the least, where that is?
--
--   a += e; a = fmaxf(a, e);
--   if (e > a) a = e;
--   if (e > a) { a = e; at = i; }     in any order: the greatest, and the iteration that had it
--   if (x[i] > x[at]) at = i;         the index of the greatest, whose value is in no variable
--
-- Yes is the reduction. Where the loop uses the variable in any other way, or the lanes of a warp
-- cannot exchange its type, the answer is unknown.

local associative = require "gilua.facts.associative"
local effects = require "gilua.facts.effects"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"

local M = {}

local EXTREME = settings.set("max min fmax fmin fmaxf fminf umax umin llmax llmin std::max "
  .. "std::min ::max ::min")

local WHOLE = settings.set "int unsigned long size_t int32_t uint32_t int64_t uint64_t"
for _, type in ipairs { "unsigned int", "unsigned long", "long long", "unsigned long long" } do
  WHOLE[type] = true
end

--- Types that lanes do not exchange.
M.TOO_SMALL = settings.set "bool char short int8_t uint8_t int16_t uint16_t uchar ushort auto"
for _, type in ipairs { "unsigned char", "signed char", "unsigned short" } do
  M.TOO_SMALL[type] = true
end

local function is_name(node, name) return node.kind == "name" and node.text == name end

local function listed(s) return s.kind == "block" and s.body or { s } end

--- Returns the declaration of a variable of the thread's own that lanes can exchange.
---@param name string
---@param sums? table<string, table> variables in shared memory that count, too
---@return table?
function M.exchanged(loop, name, sums)
  local d = loop.fn:declaration(name, loop.statement.first)
  local is_own = d and not d.parameter and d.pointer == 0 and not d.reference and #d.extents == 0
    and (not d.shared or sums and sums[name]) and not loop.fn.addressed[name]
  return is_own and not M.TOO_SMALL[d.type] and not d.type:find "^%l+[234]$" and d or nil
end

--- Returns how often a statement has a name; without end where a macro has it.
function M.words_in(kernel, s, name)
  local n = 0
  for i = s.first, s.last do
    if kernel:is_name(i, name) then n = n + 1 end
    for _, inside in ipairs((kernel.macros[kernel.words[i]] or {}).names or {}) do
      if inside == name then return math.huge end
    end
  end
  return n
end

-- ---- sums and extremes --------------------------------------------------------------------------

-- The name and value of a statement `name = value;`.
local function assignment(s)
  local tree = s.kind == "expression" and s.tree
  local fits = tree and tree.kind == "assign" and tree.op == "=" and tree.a.kind == "name"
  if fits then return tree.a.text, tree.b end
end

-- Is a call the greatest or the least of a variable and another value, in any order of NaN? Of
-- std::max(x, a) the value counts that came last.
local function is_extreme(fn, call, name)
  local callee = call.callee.kind == "name" and call.callee.text
  if not EXTREME[callee] or #call.args ~= 2 or not effects.is_of_cuda(fn.kernel, callee) then
    return false
  end
  if is_name(call.args[1], name) then return true end
  local d = fn:declaration(name, call.first)
  return is_name(call.args[2], name) and not (callee:find "^std::" and not WHOLE[d.type])
end

-- What an assignment to a variable puts together, and how many words of it are the variable.
local function assigned(fn, tree, name)
  if tree.op == "+=" or tree.op == "-=" then return "+", 1 end
  local b = tree.b
  if tree.op ~= "=" then return nil end
  if b.kind == "binary" and (b.op == "+" and (is_name(b.a, name) or is_name(b.b, name))
    or b.op == "-" and is_name(b.a, name)) then
    return "+", 2
  end
  if b.kind == "call" and is_extreme(fn, b, name) then return b.callee.text, 2 end
end

-- The sides and relation of `if (a < b)` without an else, and the statements below it.
local function compared(s)
  local c = s.kind == "if" and not s.otherwise and s.condition
  if c and c.kind == "binary" and (c.op == "<" or c.op == ">") then return c, listed(s.body) end
end

-- `if (e > a) a = e;`, with `at = i;` beside it or not: { op, name, at, covers }.
local function chosen(loop, s)
  local c, list = compared(s)
  local plain = function(node) return loop.fn.kernel:plain(node) end
  for i, one in ipairs(c and #list <= 2 and list or {}) do
    local name, value = assignment(one)
    local is_left = name ~= nil and is_name(c.a, name)
    local is_it = (is_left or name and is_name(c.b, name))
      and plain(is_left and c.b or c.a) == plain(value)
    local at, place = nil, nil
    if list[2] then at, place = assignment(list[3 - i]) end
    local fits = not list[2] or at and at ~= name and is_name(place, loop.variable)
    if is_it and fits then
      return { op = (c.op == ">") ~= is_left and ">" or "<", name = name, at = at, covers = one }
    end
  end
end

-- What a statement puts together in a variable, how many words of it that are, and the statement
-- below that is a part of it; nil of another statement.
local function put_together(loop, s, name)
  local choice = chosen(loop, s)
  if choice then
    if choice.name == name and not choice.at then return choice.op, 2, choice.covers end
    return nil
  end
  local tree = s.kind == "expression" and s.tree
  if not tree then return nil end
  if (tree.kind == "postfix" or tree.kind == "unary") and (tree.op == "++" or tree.op == "--") then
    if is_name(tree.a, name) then return "+", 1 end
  elseif tree.kind == "assign" and is_name(tree.a, name) then
    return assigned(loop.fn, tree, name)
  end
end

-- May an assignment to a variable come in another order?
local function is_associative(loop, d, s)
  local value = s.tree.kind == "assign" and s.tree.b
  return not value or associative.of(loop.fn, d.type, value)
end

---@class gilua.reduction
---@field name string the variable
---@field type string
---@field op string "+", ">" or "<" (the greater, the smaller), or a function of two
---@field d table its declaration
---@field at? { name: string, type: string } the variable that holds in which iteration that was
---@field element? fun(index: string): string the variable is the index of an element, which this is

local function one_value(loop, name, sums)
  local d, op, n, covered, is_mixed = M.exchanged(loop, name, sums), nil, 0, {}, false
  if not d then return nil end
  statement.walk(loop.body, function(s)
    if covered[s] then return end
    local found, words, covers = put_together(loop, s, name)
    if not found then return end
    is_mixed = is_mixed or op ~= nil and op ~= found
      or not is_associative(loop, d, covers or s)
    op, n = found, n + words
    covered[covers or false] = true
  end)
  if not op or is_mixed or n ~= M.words_in(loop.fn.kernel, loop.statement, name) then return nil end
  return { name = name, type = d.type, op = op, d = d }
end

-- The least (or greatest) and where it is.
local function with_place(loop, name)
  local found, n, kernel, s = nil, 0, loop.fn.kernel, loop.statement
  statement.walk(loop.body, function(below)
    local place = chosen(loop, below)
    if place and place.at and (place.name == name or place.at == name) then
      found, n = place, n + 1
    end
  end)
  if n ~= 1 or M.words_in(kernel, s, found.name) ~= 2 or M.words_in(kernel, s, found.at) ~= 1 then
    return nil
  end
  local d, at = M.exchanged(loop, found.name), M.exchanged(loop, found.at)
  if not d or not at or not is_associative(loop, d, found.covers) then return nil end
  return { name = found.name, type = d.type, op = found.op, d = d,
           at = { name = found.at, type = at.type } }
end

-- ---- the index of an extreme --------------------------------------------------------------------

-- A tree's text with another word for each that is a name; how many it replaced.
local function renamed(kernel, tree, name, other)
  local instead, n = {}, 0
  for i = tree.first, tree.last do
    if kernel:is_name(i, name) then instead[i], n = other, n + 1 end
  end
  return (kernel:source(tree.first, tree.last, instead):gsub("%s+", " ")), n
end

-- `if (a[i] < a[least]) least = i;`: the element's tree, and how it is compared.
local function index_chosen(loop, s, name)
  local c, list = compared(s)
  local to, value = nil, nil
  if c and #list == 1 then to, value = assignment(list[1]) end
  if to ~= name or not is_name(value, loop.variable) then return nil end
  local kernel = loop.fn.kernel
  for _, sides in ipairs { { c.b, c.a, c.op }, { c.a, c.b, c.op == "<" and ">" or "<" } } do
    local text, n = renamed(kernel, sides[1], name, loop.variable)
    if n == 1 and text == kernel:plain(sides[2]) then return sides[1], sides[3] end
  end
end

-- Does nothing in a loop change the elements of a tree, but the variable by which they are chosen?
local function is_steady(loop, tree, name)
  local all = effects.of(loop.fn, tree)
  if all.opaque or all.warp or next(all.writes) or #all.accesses == 0 then return false end
  for _, access in ipairs(loop.inside.accesses) do
    if access.write then return false end
  end
  for variable in pairs(all.reads) do
    if variable ~= name and loop.inside.writes[variable] then return false end
  end
  return true
end

local function index_alone(loop, name)
  local tree, op, n, kernel = nil, nil, 0, loop.fn.kernel
  statement.walk(loop.body, function(s)
    local element, how = index_chosen(loop, s, name)
    if element then tree, op, n = element, how, n + 1 end
  end)
  local d = M.exchanged(loop, name)
  if n ~= 1 or not d or M.words_in(kernel, loop.statement, name) ~= 2
    or not is_steady(loop, tree, name) then
    return nil
  end
  return { name = name, type = d.type, op = op, d = d,
           element = function(index) return (renamed(kernel, tree, name, index)) end }
end

--- Returns how a loop puts a variable together; nil where it uses it in any other way.
---@param name string
---@param sums? table<string, table> variables in shared memory that may be put together, too
---@return gilua.reduction?
function M.of(loop, name, sums)
  return one_value(loop, name, sums) or with_place(loop, name) or index_alone(loop, name)
end

return M
