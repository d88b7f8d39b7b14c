--- loop: the head of a loop, understood: what counts, from where, to where, in which steps.
--
-- Of a `for` that counts a loop has, besides { statement, line, kind, body, pragmas, fn }:
--
--   counted   true; else only those before are there
--   variable  its name; `declares` whether the head declares it, `type` its type (nil: not known)
--   start     tree, or nil where the head gives it no value
--   relation  < <= > >= !=, as in `variable relation bound`
--   bound     tree
--   sign, by  the variable grows (+1) or shrinks (-1) by this tree in each iteration
--   step      the same as an integer, where it is one: 4, -1
--   trips     how many iterations, where start, bound and step are numbers
--
-- and of its body: inside (its effects), writes_variable, invariant (bound and step do not change
-- in it), breaks and continues (of this loop), leaves (return or goto), balanced (each #if in it
-- ends in it), and the flags of its effects: opaque, barrier, warp, conditional (has a #if).
-- `notes` are those of apart.noting for `invariant`. `simple` is: counted, invariant, balanced, the
-- variable is only the head's, nothing but the head ends it, nothing opaque.

local affine = require "gilua.source.affine"
local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local statement = require "gilua.source.statement"

local M = {}

local TURNED = { ["<"] = ">", [">"] = "<", ["<="] = ">=", [">="] = "<=", ["!="] = "!=" }
local ONE = { kind = "number", text = "1" }

--- The variable of `i++`, `i += n`, `i = i + n`; its sign, and the tree by how much; nil of any
--- other.
---@param step table?
function M.counting(step)
  if not step then return nil end
  if (step.kind == "postfix" or step.kind == "unary") and step.a.kind == "name" then
    if step.op == "++" then return step.a.text, 1, ONE end
    if step.op == "--" then return step.a.text, -1, ONE end
  end
  if step.kind ~= "assign" or step.a.kind ~= "name" then return nil end
  local name, b = step.a.text, step.b
  if step.op == "+=" then return name, 1, b end
  if step.op == "-=" then return name, -1, b end
  if step.op ~= "=" or b.kind ~= "binary" then return nil end
  if b.op == "+" and b.a.kind == "name" and b.a.text == name then return name, 1, b.b end
  if b.op == "+" and b.b.kind == "name" and b.b.text == name then return name, 1, b.a end
  if b.op == "-" and b.a.kind == "name" and b.a.text == name then return name, -1, b.b end
end

local function compared(condition, name)
  if not condition or condition.kind ~= "binary" or not TURNED[condition.op] then return nil end
  if condition.a.kind == "name" and condition.a.text == name then
    return condition.op, condition.b
  elseif condition.b.kind == "name" and condition.b.text == name then
    return TURNED[condition.op], condition.a
  end
end

-- The first value: of a head that gives one to this variable and to nothing else.
local function started(loop, init)
  if not init then return true end
  if init.kind == "declaration" then
    local d = init.declared[1]
    loop.declares, loop.start = true, d.init
    return #init.declared == 1 and d.name == loop.variable and d.init and d.pointer == 0
      and not d.reference and d.init_form == "="
  end
  local tree = init.tree
  loop.start = tree and tree.kind == "assign" and tree.op == "=" and tree.b
  return loop.start and tree.a.kind == "name" and tree.a.text == loop.variable
end

--- How many iterations a loop has; nil where that is not known.
---@param loop table that counts, with a first value
---@param value fun(tree: table): integer? what is known of a tree
---@return integer?
function M.trips(loop, value)
  local first, bound, by = value(loop.start), value(loop.bound), value(loop.by)
  if not first or not bound or not by or by == 0 then return nil end
  local grows = by * loop.sign > 0
  if grows ~= (loop.relation:sub(1, 1) == "<") or loop.relation == "!=" then return nil end
  local span = math.abs(bound - first) + (#loop.relation == 2 and 1 or 0)
  if (bound - first) * loop.sign < 0 then return 0 end
  return (span + math.abs(by) - 1) // math.abs(by)
end

local function read_head(loop, s)
  local variable, sign, by = M.counting(s.step)
  local relation, bound = compared(s.condition, variable)
  if not relation or s.unknown_header then return end
  loop.variable, loop.sign, loop.by, loop.relation, loop.bound = variable, sign, by, relation, bound
  if not started(loop, s.init) then return end
  local n = affine.integer(by)
  loop.step = n and n * sign
  local d = loop.fn:declaration(variable, s.header[3])
  loop.type = d and d.pointer == 0 and d.type or nil
  loop.counted = d ~= nil
  loop.trips = M.trips(loop, affine.integer)
end

-- Is there a break or a continue that belongs to this loop, or anything that leaves it?
local function jumps(loop)
  local function visit(s, in_loop, in_switch)
    if s.kind == "return" or s.kind == "goto" or s.kind == "label" then loop.leaves = true end
    if s.kind == "continue" and not in_loop then loop.continues = true end
    if s.kind == "break" and not in_loop and not in_switch then loop.breaks = true end
    in_loop = in_loop or s.kind == "for" or s.kind == "while" or s.kind == "do"
    in_switch = in_switch or s.kind == "switch"
    for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
      visit(child, in_loop, in_switch)
    end
    if s.otherwise then visit(s.otherwise, in_loop, in_switch) end
  end
  visit(loop.body, false, false)
end

local OPENS = { ["if"] = 1, ifdef = 1, ifndef = 1, endif = -1 }

local function is_balanced(body)
  local depth, least = 0, 0
  statement.walk(body, function(s)
    if s.kind ~= "directive" then return end
    depth = depth + (OPENS[s.name] or 0)
    least = math.min(least, depth - ((s.name == "else" or s.name == "elif") and 1 or 0))
  end)
  return depth == 0 and least == 0
end

local function pragmas_before(s)
  local list, body = {}, s.parent and s.parent.kind == "block" and s.parent.body or {}
  for i, child in ipairs(body) do
    if child == s then
      while body[i - 1] and body[i - 1].kind == "directive" and body[i - 1].name == "pragma" do
        i = i - 1
        table.insert(list, 1, body[i])
      end
    end
  end
  return list
end

--- Does nothing in the effects change what a tree says? No variable of it is written, nothing that
--- it reads from memory, and it does nothing but read.
function M.is_invariant(fn, tree, inside)
  if not tree or inside.opaque then return false end
  local own = effects.of(fn, tree)
  if own.opaque or own.barrier or own.warp or next(own.writes) then return false end
  for name in pairs(own.reads) do
    if inside.writes[name] or fn.addressed[name] then return false end
  end
  for _, access in ipairs(own.accesses) do
    if access.write or access.atomic or not access.root then return false end
    if inside.barrier and not fn:is_constant(access.root) then return false end
    for _, other in ipairs(inside.accesses) do
      if other.write and apart.may_meet(fn, other, access) then return false end
    end
  end
  return true
end

--- Is a tree the same before a loop and in each of its iterations: does neither its body change it,
--- nor its head?
function M.stays(loop, tree)
  local head = loop.statement
  for _, part in ipairs { head.init or false, head.step or false } do
    if part and not M.is_invariant(loop.fn, tree, effects.of(loop.fn, part)) then return false end
  end
  return M.is_invariant(loop.fn, tree, loop.inside)
end

local function is_written(loop)
  if loop.inside.writes[loop.variable] or loop.fn.addressed[loop.variable] then return true end
  return false
end

-- Do bound and step of a loop not change in it?
local function keeps_bound(loop)
  local fn, bound = loop.fn, effects.of(loop.fn, loop.bound)
  return M.is_invariant(fn, loop.bound, loop.inside)
    and (loop.by == ONE or M.is_invariant(fn, loop.by, loop.inside)
      and not effects.of(fn, loop.by).reads[loop.variable])
    and not bound.writes[loop.variable] and not bound.reads[loop.variable]
end

--- What is known of a loop.
---@param s table a statement: for, while or do
---@return table
function M.read(fn, s)
  local loop = { fn = fn, statement = s, kind = s.kind, body = s.body,
                 line = fn.kernel:line_of(s.first), pragmas = pragmas_before(s) }
  loop.inside = effects.of(fn, s.body)
  loop.balanced = is_balanced(s.body)
  jumps(loop)
  for _, flag in ipairs { "opaque", "barrier", "warp", "conditional" } do
    loop[flag] = loop.inside[flag]
  end
  if s.kind ~= "for" then return loop end
  read_head(loop, s)
  if not loop.counted then return loop end
  loop.writes_variable = is_written(loop)
  loop.invariant, loop.notes = apart.noting(keeps_bound, loop)
  loop.simple = loop.invariant and loop.balanced and not loop.writes_variable
    and not loop.breaks and not loop.leaves and not loop.opaque
  return loop
end

--- The tokens within a statement that are the loop's variable; nil where it is hidden in a macro.
function M.variable_tokens(loop, s)
  local kernel, list, hidden = loop.fn.kernel, {}, false
  for i = s.first, s.last do
    local macro = kernel.macros[kernel.words[i]]
    if kernel:is_name(i, loop.variable) then list[#list + 1] = i
    elseif macro then
      for _, name in ipairs(macro.names) do hidden = hidden or name == loop.variable end
    end
  end
  if loop.inside.declares[loop.variable] then return nil end -- another one of that name
  return not hidden and list or nil
end

--- The loops of a function for which fits(loop) holds, the innermost of those within each other.
---@param fits fun(loop: table): boolean
---@param part? table a statement: those within it alone
---@return table[]
function M.innermost(fn, fits, part)
  local list = {}
  for i = #fn.loops, 1, -1 do -- what is within comes behind
    local loop = fn.loops[i]
    local at = loop.statement.first
    local holds = part and (at < part.first or at > part.last)
    for _, inner in ipairs(list) do
      holds = holds or loop.statement.first <= inner.statement.first
        and inner.statement.last <= loop.statement.last
    end
    if not holds and fits(loop) then table.insert(list, 1, loop) end
  end
  return list
end

M.walk = statement.walk
M.is_tree = expression.is_tree

return M
