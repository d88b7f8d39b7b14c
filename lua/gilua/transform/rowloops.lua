-- rowloops: loops over a row that several threads can share: each does every n-th iteration.
--
-- Such a loop counts upwards, knows its bound beforehand and is left in no other way. What it
-- writes are variables of its own, memory that no other of its iterations touches, and sums, maxima
-- and minima, which are put together behind it; or a sum of which each iteration asks how much it
-- is by then, a running one, which several threads have together all the while. Everything outside
-- of these loops is done by all threads alike, but for what they write, which one of them does.

local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local loops = require "gilua.facts.loop"
local order = require "gilua.facts.order"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local EXTREME = { max = true, min = true, fmax = true, fmin = true, fmaxf = true, fminf = true,
  umax = true, umin = true, llmax = true, llmin = true,
  ["std::max"] = true, ["std::min"] = true, ["::max"] = true, ["::min"] = true }

-- Types that lanes do not exchange.
local TOO_SMALL = { bool = true, char = true, short = true, ["unsigned char"] = true,
  ["signed char"] = true, ["unsigned short"] = true, int8_t = true, uint8_t = true,
  int16_t = true, uint16_t = true, uchar = true, ushort = true, auto = true }

--------------------------------------------------------------------------------------------------
-- What a loop puts together

local function is_name(node, name)
  return node.kind == "name" and node.text == name
end

-- What an assignment to a variable puts together: { op, words of it that are the variable }.
local function of_assignment(tree, name)
  if tree.op == "+=" or tree.op == "-=" then return { op = "+", words = 1 } end
  local b = tree.b
  if tree.op ~= "=" then return nil end
  if b.kind == "binary" and (b.op == "+" and (is_name(b.a, name) or is_name(b.b, name))
    or b.op == "-" and is_name(b.a, name)) then
    return { op = "+", words = 2 }
  end
  local callee = b.kind == "call" and b.callee.kind == "name" and b.callee.text
  if callee and EXTREME[callee] and #b.args == 2
    and (is_name(b.args[1], name) or is_name(b.args[2], name)) then
    return { op = callee, words = 2 }
  end
end

-- `if (e > a) a = e;`
local function of_condition(kernel, s, name)
  local c, inner = s.condition, s.body
  if inner.kind == "block" and #inner.body == 1 then inner = inner.body[1] end
  local tree = inner.kind == "expression" and inner.tree
  if s.otherwise or not c or c.kind ~= "binary" or not (c.op == "<" or c.op == ">") then return end
  if not tree or tree.kind ~= "assign" or tree.op ~= "=" then return end
  if not is_name(tree.a, name) then return end
  local is_left = is_name(c.a, name)
  local other = is_left and c.b or c.a
  if not is_left and not is_name(c.b, name) then return end
  if kernel:plain(other) ~= kernel:plain(tree.b) then return end
  local is_greater = (c.op == ">") ~= is_left
  return { op = is_greater and ">" or "<", words = 2, covers = inner }
end

-- What a statement puts together in a variable; nil of another statement.
local function accumulation(kernel, s, name)
  if s.kind == "if" then return of_condition(kernel, s, name) end
  local tree = s.kind == "expression" and s.tree
  if not tree then return nil end
  if (tree.kind == "postfix" or tree.kind == "unary") and (tree.op == "++" or tree.op == "--") then
    return is_name(tree.a, name) and { op = "+", words = 1 } or nil
  end
  return tree.kind == "assign" and is_name(tree.a, name) and of_assignment(tree, name) or nil
end

local function words_in(kernel, s, name)
  local n = 0
  for i = s.first, s.last do
    local w, before = kernel.words[i], kernel.words[i - 1]
    if w == name and before ~= "." and before ~= "->" then n = n + 1 end
    for _, inside in ipairs((kernel.macros[w] or {}).names or {}) do
      if inside == name then return math.huge end
    end
  end
  return n
end

---@class gilua.reduction
---@field name string the variable
---@field type string
---@field op string "+", ">" or "<" (the greater, the smaller), or a function of two
---@field d table its declaration
---@field at? { name: string, type: string } the variable that holds in which iteration that was
---@field element? fun(index: string): string the variable is the index of an element, which this is

-- How a variable is put together in a loop; nil where it is used in any other way.
local function reduction(loop, name, sums)
  local kernel, op, n, covered = loop.fn.kernel, nil, 0, {}
  local d = loop.fn:declaration(name, loop.statement.first)
  local mixed = not d or d.parameter or d.pointer > 0 or d.reference
    or d.shared and not (sums and sums[name]) or #d.extents > 0 or TOO_SMALL[d.type]
    or d.type:find "^%l+[234]$" ~= nil or loop.fn.addressed[name]
  statement.walk(loop.body, function(s)
    local found = not covered[s] and accumulation(kernel, s, name)
    if found then
      mixed = mixed or op ~= nil and op ~= found.op
      op, n = found.op, n + found.words
      if found.covers then covered[found.covers] = true end
    end
  end)
  if mixed or not op or n ~= words_in(kernel, loop.statement, name) then return nil end
  return { name = name, type = d.type, op = op, d = d }
end

-- The name and value of a statement `name = value;`.
local function assignment(s)
  local tree = s.kind == "expression" and s.tree
  local fits = tree and tree.kind == "assign" and tree.op == "=" and tree.a.kind == "name"
  if fits then return tree.a.text, tree.b end
end

-- `if (e < least) { least = e; at = i; }`, in any order: the least, what it is compared with, and
-- where that is.
local function of_place(loop, s)
  local c, body = s.kind == "if" and s.condition, s.body
  if not c or s.otherwise or c.kind ~= "binary" or not (c.op == "<" or c.op == ">")
    or body.kind ~= "block" or #body.body ~= 2 then
    return nil
  end
  for i = 1, 2 do
    local name, value = assignment(body.body[i])
    local at, place = assignment(body.body[3 - i])
    local is_left = name and is_name(c.a, name)
    if (is_left or name and is_name(c.b, name)) and at and at ~= name
      and is_name(place, loop.variable)
      and loop.fn.kernel:plain(is_left and c.b or c.a) == loop.fn.kernel:plain(value) then
      return { op = (c.op == ">") ~= is_left and ">" or "<", name = name, at = at }
    end
  end
end

-- How the least (or greatest) and where it is are put together; nil where they are used in any
-- other way.
local function placed(loop, name)
  local found, n, kernel, s = nil, 0, loop.fn.kernel, loop.statement
  statement.walk(loop.body, function(below)
    local place = of_place(loop, below)
    if place and (place.name == name or place.at == name) then found, n = place, n + 1 end
  end)
  if n ~= 1 or words_in(kernel, s, found.name) ~= 2 or words_in(kernel, s, found.at) ~= 1 then
    return nil
  end
  local d, at = loop.fn:declaration(found.name, s.first), loop.fn:declaration(found.at, s.first)
  for _, one in ipairs { d or false, at or false } do
    if not one or one.parameter or one.pointer > 0 or one.reference or one.shared
      or #one.extents > 0 or TOO_SMALL[one.type] or one.type:find "^%l+[234]$"
      or loop.fn.addressed[one.name] then
      return nil
    end
  end
  return { name = found.name, type = d.type, op = found.op, d = d,
           at = { name = found.at, type = at.type } }
end

-- A tree's text with another word for each that is a name; how many it replaced.
local function renamed(kernel, tree, name, other)
  local instead, n = {}, 0
  for i = tree.first, tree.last do
    local before = kernel.words[i - 1]
    if kernel.words[i] == name and before ~= "." and before ~= "->" then
      instead[i], n = other, n + 1
    end
  end
  return (kernel:source(tree.first, tree.last, instead):gsub("%s+", " ")), n
end

-- `if (a[i] < a[least]) least = i;`: the element's tree, and how it is compared.
local function of_index(loop, s, name)
  local c, inner = s.kind == "if" and s.condition, s.body
  if not c or s.otherwise or c.kind ~= "binary" or not (c.op == "<" or c.op == ">") then return end
  if inner.kind == "block" and #inner.body == 1 then inner = inner.body[1] end
  local to, value = assignment(inner)
  if to ~= name or not is_name(value, loop.variable) then return nil end
  local kernel = loop.fn.kernel
  for _, sides in ipairs { { c.b, c.a, c.op }, { c.a, c.b, c.op == "<" and ">" or "<" } } do
    local text, n = renamed(kernel, sides[1], name, loop.variable)
    if n == 1 and text == kernel:plain(sides[2]) then return sides[1], sides[3] end
  end
end

-- How the index of the least (or greatest) element is put together, where its value is in no
-- variable; nil where it is used in any other way.
local function indexed(loop, name)
  local tree, op, n, kernel = nil, nil, 0, loop.fn.kernel
  statement.walk(loop.body, function(s)
    local element, how = of_index(loop, s, name)
    if element then tree, op, n = element, how, n + 1 end
  end)
  local d = loop.fn:declaration(name, loop.statement.first)
  if n ~= 1 or words_in(kernel, loop.statement, name) ~= 2 or not d or d.parameter or d.pointer > 0
    or d.reference or d.shared or #d.extents > 0 or TOO_SMALL[d.type]
    or loop.fn.addressed[name] then
    return nil
  end
  local all = effects.of(loop.fn, tree)
  if all.opaque or all.warp or next(all.writes) or #all.accesses == 0 then return nil end
  for _, access in ipairs(loop.inside.accesses) do
    if access.write then return nil end
  end
  for variable in pairs(all.reads) do
    if variable ~= name and loop.inside.writes[variable] then return nil end
  end
  return { name = name, type = d.type, op = op, d = d,
           element = function(index) return (renamed(kernel, tree, name, index)) end }
end

--------------------------------------------------------------------------------------------------
-- Running sums

---@class gilua.running
---@field name string the variable
---@field type string
---@field before table[] statements at the beginning of the body that declare what is computed from
---@field statement table the one that adds; `tree` what is assigned there, `added` to it
---@field is_less boolean it is taken away
---@field guarded table<table, true> declarations of `before` that load what the loop writes: only
---  iterations that there are may do so

local WHOLE = { int = true, ["unsigned int"] = true, long = true, ["unsigned long"] = true,
                ["long long"] = true, ["unsigned long long"] = true }
local FRACTION = { float = true, double = true }

-- What is added to a variable: the tree, and whether it is taken away.
local function added(tree, name)
  local variable, sign, by = loops.counting(tree)
  if variable == name and by.first then return by, sign < 0 end -- else by a 1 that stands nowhere
end

-- The place in a body, and the tree, of `s += e;`, or of `a[i] = s = s + e;`.
local function place_of(body, name)
  for i, s in ipairs(body) do
    local tree = s.kind == "expression" and s.tree
    local inner = tree and tree.kind == "assign" and tree.op == "=" and tree.b
    for _, one in ipairs { tree or nil, inner or nil } do
      local what, is_less = added(one, name)
      if what then return i, one, what, is_less end
    end
  end
end

-- Does a part do nothing but compute from what it reads?
local function only_reads(fn, part)
  local all = effects.of(fn, part)
  if all.opaque or all.warp or all.barrier then return false end
  for name in pairs(all.writes) do
    if not all.declares[name] then return false end
  end
  for _, access in ipairs(all.accesses) do
    if access.write or access.atomic or access.escapes then return false end
  end
  return true
end

-- May what statements do before a sum be done behind it? Nothing that they write or declare is
-- added.
local function may_follow(fn, statements, what)
  for _, s in ipairs(statements) do
    local all = effects.of(fn, s)
    if not loops.is_invariant(fn, what, all) then return false end
    for name in pairs(effects.of(fn, what).reads) do
      if all.declares[name] then return false end
    end
  end
  return true
end

-- The statements at the beginning of a list that declare, and do no more than to compute for it.
local function declaring(fn, list, last, name)
  local found = {}
  for i = 1, last do
    local s = list[i]
    if s.kind ~= "declaration" or effects.of(fn, s).reads[name] or not only_reads(fn, s) then
      break
    end
    for _, d in ipairs(s.declared) do
      if d.shared or d.static or d.init_form and d.init_form ~= "=" then return found end
    end
    found[i] = s
  end
  return found
end

-- The declarations that load what the loop writes; nil where one is of no number.
local function guarded(loop, statements)
  local list = {}
  for _, s in ipairs(statements) do
    for _, d in ipairs(s.declared) do
      for _, access in ipairs(d.init and effects.of(loop.fn, d.init).accesses or {}) do
        for _, other in ipairs(loop.inside.accesses) do
          if other.write and apart.may_meet(loop.fn, access, other) then list[d] = true end
        end
      end
      local type = types.plain(d.type)
      local is_number = WHOLE[type] or FRACTION[type] or TOO_SMALL[type] and type ~= "auto"
      if list[d] and (not is_number or d.pointer > 0 or #d.extents > 0) then return nil end
    end
  end
  return list
end

local function is_exchanged(loop, d)
  return d and not d.parameter and d.pointer == 0 and not d.reference and not d.shared
    and #d.extents == 0 and not loop.fn.addressed[d.name]
    and (WHOLE[types.plain(d.type)] or FRACTION[d.type]) or false
end

-- How a variable is a running sum of a loop; nil where it is none.
local function running(loop, name)
  local fn, tokens = loop.fn, loop.inside.writes[name]
  local d = fn:declaration(name, loop.statement.first)
  if not is_exchanged(loop, d) or #tokens ~= 1 or loop.continues or loop.conditional
    or not loop.type or words_in(fn.kernel, loop.statement, name) == math.huge then
    return nil
  end
  local body = loop.body.kind == "block" and loop.body.body or { loop.body }
  local at, tree, what, is_less = place_of(body, name)
  if not at or not only_reads(fn, what) or effects.of(fn, what).reads[name] then return nil end
  local type = types.of(fn, what)
  if not FRACTION[d.type] and not WHOLE[type] or not type then return nil end
  local before = declaring(fn, body, at - 1, name)
  local between = table.move(body, #before + 1, at - 1, 1, {})
  local loads = guarded(loop, before)
  if not loads or not may_follow(fn, between, what) then return nil end
  return { name = name, type = d.type, before = before, statement = body[at], tree = tree,
           added = what, is_less = is_less, guarded = loads }
end

--------------------------------------------------------------------------------------------------
-- Loops

-- Does each iteration touch only what it alone writes?
local function keeps_apart(loop)
  local all = loop.inside.accesses
  for _, a in ipairs(all) do
    local is_own = a.base and loop.inside.declares[a.base]
    if a.atomic or a.escapes then return false end
    for _, b in ipairs(a.write and not is_own and all or {}) do
      local later = apart.may_meet(loop.fn, a, b) and order.distance(loop, a, b)
      if later ~= 0 and later ~= false then return false end -- of another iteration, or not known
    end
  end
  return true
end

---@class gilua.row_loop
---@field loop table (gilua.loop)
---@field reductions gilua.reduction[]
---@field running? gilua.running
---@field writes boolean memory

--- A loop as one that threads can share; nil where it is not.
---@param loop table of gilua.loop
---@param sums? table<string, table> variables in shared memory that may be put together, too
---@return gilua.row_loop?
function M.shared(loop, sums)
  if loop.kind ~= "for" or not loop.simple or not loop.start or not order.is_its_own(loop)
    or not loop.step or loop.step < 1
    or not (loop.relation == "<" or loop.relation == "<=")
    or loop.barrier or loop.warp or loop.statement.condition.kind ~= "binary" then
    return nil
  end
  if not keeps_apart(loop) then return nil end
  local row = { loop = loop, reductions = {}, writes = false }
  local names = {}
  for name in pairs(loop.inside.writes) do
    if not loop.inside.declares[name] and name ~= loop.variable then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local found = reduction(loop, name, sums) or placed(loop, name) or indexed(loop, name)
    if not found then
      if row.running then return nil end
      row.running = running(loop, name)
      if not row.running then return nil end
    elseif found.name == name then
      row.reductions[#row.reductions + 1] = found
    end
  end
  for _, access in ipairs(loop.inside.accesses) do
    row.writes = row.writes or access.write and not loop.inside.declares[access.base]
  end
  return (#names > 0 or row.writes) and row or nil
end

--- The outermost loops of a function that threads can share.
---@param fn table
---@return gilua.row_loop[]
function M.of(fn)
  local list = {}
  statement.walk(fn.body, function(s)
    local row = s.loop and M.shared(s.loop)
    if row then
      list[#list + 1] = row
      return false
    end
  end)
  return list
end

--------------------------------------------------------------------------------------------------
-- What is outside of them

local function within(s, token)
  return s.first <= token and token <= s.last
end

-- The loop of a list in which a token is.
local function loop_of(rows, token)
  for _, row in ipairs(rows) do
    if within(row.loop.statement, token) then return row end
  end
end

local function is_private(fn, access)
  local d = access.root and fn.variables[access.root] and fn.variables[access.root][1]
  return d ~= nil and not d.parameter and #d.extents > 0
end

-- The statement, an expression by itself, that one thread is to do.
local function statement_of(fn, token)
  local found
  for _, s in ipairs(fn.statements) do
    if s.kind == "expression" and within(s, token) then found = s end
  end
  return found
end

-- Is what is written anywhere read in another statement, or by another iteration?
local function read_elsewhere(fn, all, write, place)
  for _, access in ipairs(all) do
    if access ~= write and apart.may_meet(fn, access, write)
      and not within(place, access.token) then
      return access
    end
  end
end

--- What stands behind the last shared loop in its block, where one thread can do all of that, as
--- no loop comes back to it: a range of tokens; nil of nothing.
---@param rows gilua.row_loop[]
---@return { loop: table, first: integer, last: integer }?
function M.tail(rows)
  local s = rows[#rows].loop.statement
  local at = s.parent
  if not at or at.kind ~= "block" or s.last + 1 >= at.last then return nil end
  while at do
    if at.kind ~= "block" and at.kind ~= "if" then return nil end
    at = at.parent
  end
  return { loop = s, first = s.last + 1, last = s.parent.last }
end

-- Is an access in a range, and what it may meet nowhere behind the range?
local function is_in_tail(fn, all, access, tail)
  if not tail or not within(tail, access.token) then return false end
  for _, other in ipairs(access.write and all or {}) do
    if other.token > tail.last and apart.may_meet(fn, other, access) then return false end
  end
  return true
end

--- The statements outside of shared loops that one thread has to do for all; nil and why some
--- cannot be.
---@param fn table
---@param rows gilua.row_loop[]
---@param tail? table of M.tail: one thread does what stands there anyhow
---@param waited? table<table, true> filled with the statements, and loops, before and behind which
---  threads wait, as others read what is written there; nil: none can be
---@return table[]? statements
---@return string? message
function M.written_once(fn, rows, tail, waited)
  local list, seen, kernel = {}, {}, fn.kernel
  local all = effects.of(fn, fn.body).accesses
  for _, access in ipairs(all) do
    local is_own = is_private(fn, access) or is_in_tail(fn, all, access, tail)
    if access.escapes or access.write and not access.root then
      return nil, ("line %d writes what is not known"):format(kernel:line_of(access.token))
    end
    local row = access.write and loop_of(rows, access.token)
    if access.write and not is_own then
      local s = row and row.loop.statement or statement_of(fn, access.token)
      if not s or not row and next(effects.of(fn, s).writes) then
        return nil, ("line %d does more than to write"):format(kernel:line_of(access.token))
      end
      local other = read_elsewhere(fn, all, access, s)
      if other and waited then waited[s] = true end
      if other and not waited then
        return nil, ("line %d uses what line %d writes"):format(kernel:line_of(other.token),
          kernel:line_of(access.token))
      end
      if not row and not seen[s] then
        seen[s] = true
        list[#list + 1] = s
      end
    elseif is_own and row and access.write and not row.loop.inside.declares[access.base] then
      return nil, ("line %d fills an array of the thread's"):format(kernel:line_of(access.token))
    end
  end
  return list
end

return M
