--- statement: the body of a function of CUDA C as a tree of statements.
--
-- A statement is { kind, first, last (token numbers), parent, … }:
--
--   block        body (a list), what stands between { and }
--   for          init (a statement or nil), condition, step (trees or nil), body (a statement)
--   while, do    condition, body
--   if           condition, body, otherwise (a statement or nil)
--   switch       condition, body
--   declaration  declared: a list, see below
--   expression   tree
--   return       tree or nil
--   break continue goto label case type empty
--   directive    name: "pragma", "if", …
--   unknown      nothing is known of what it does
--
-- A declared name is { name, token, type (its words, without those of storage), pointer (stars),
-- reference, rows (a pointer to arrays), const, shared, static, extents (trees; false where one is
-- not understood), init (a tree or nil), unknown_init, first, last, statement }.
--
-- A body whose blocks cannot be told (a #if parts an `if` from its statement) has no tree.

local expression = require "gilua.source.expression"
local settings = require "gilua.base.settings"

local M = {}

local set = settings.set

local STORAGE = set("static extern register constexpr inline __shared__ __constant__ __device__ "
  .. "__restrict__ __restrict restrict typename struct volatile const __align__ thread_local "
  .. "__forceinline__ mutable")
local FLAG = { static = "static", const = "const", constexpr = "const", __shared__ = "shared",
  volatile = "volatile", extern = "extern" }
local CONDITIONAL = set "if ifdef ifndef elif else endif"
local JUMP = set "break continue goto"
local MOST_DEPTH = 60

local parse

local function new(p, kind, first, parent, fields)
  fields = fields or {}
  fields.kind, fields.first, fields.parent = kind, first, parent
  p.all[#p.all + 1] = fields
  return fields
end

local function closing(p, open)
  local close = p.words[open] == "(" and p.words.match[open]
  return close and close <= p.stop and close or nil
end

-- The ';' that ends what begins at i, before `stop`; nil without one.
local function semicolon(p, i, stop)
  while i <= stop do
    local w = p.words[i]
    if w == ";" then return i end
    if p.words.kind[i] == "directive" or w == "}" then return nil end
    i = (w == "(" or w == "[" or w == "{") and (p.words.match[i] or stop) + 1 or i + 1
  end
end

-- ---- declarations ---------------------------------------------------------------------------

local function past_angles(p, i)
  local depth = 0
  for k = i, math.min(p.stop, i + 60) do
    local w = p.words[k]
    if w == "<" then depth = depth + 1 end
    if w == ">" then depth = depth - 1 end
    if w == ">>" then depth = depth - 2 end
    if depth <= 0 then return k + 1 end
    if w == ";" or w == "{" then return nil end
  end
end

local COMBINED = set "unsigned signed long short int char double" -- behind other words of a type

-- Is the '(' at i that of a pointer to rows, or of a reference to an array: (*z)[32], (&z)[4]?
local function is_rows(words, i)
  if words[i] ~= "(" or words[i + 1] ~= "*" and words[i + 1] ~= "&" then return false end
  local close = words.match[i]
  return close == i + 3 and words.kind[i + 2] == "name" and words[close + 1] == "["
end

-- Behind the words of a type that begin at i: nil where none do.
local function past_type(p, i)
  local words, start = p.words, i
  local named, certain = false, false
  while true do
    local w = words[i]
    if STORAGE[w] then
      certain, i = true, i + 1
      if w == "__align__" and words[i] == "(" then i = (words.match[i] or i) + 1 end
    elseif not named and (expression.TYPES[w] or words.types[w]) or COMBINED[w] then
      if words[i + 1] == "(" and not named and not is_rows(words, i + 1) then return nil end
      named, certain, i = true, true, i + 1
    elseif words.kind[i] == "name" and not named then
      named, i = true, i + 1
      while words[i] == "::" do i = i + 2 end
    else
      break
    end
    if named and words[i] == "<" then
      i = past_angles(p, i)
      if not i then return nil end
      while words[i] == "::" do i = i + 2 end
    end
  end
  return named and i > start and i or nil, certain
end

local function past_stars(p, i)
  local w = p.words[i]
  while w == "*" or w == "&" or w == "const" or w == "volatile" or w == "__restrict__"
    or w == "__restrict" or w == "restrict" do
    i = i + 1
    w = p.words[i]
  end
  return i
end

local BEHIND_NAME = set "= ; , [ ( { : )"

--- Does a declaration begin at token i?
local function is_declaration(p, i)
  local behind, certain = past_type(p, i)
  if not behind then return false end
  if is_rows(p.words, behind) then return certain end
  local name = past_stars(p, behind)
  if p.words.kind[name] ~= "name" or not BEHIND_NAME[p.words[name + 1]] then return false end
  return certain or name > behind or p.words.kind[behind] == "name"
end

-- The words of a type, without those of storage, and what the latter say.
local function type_of(p, from, to)
  local words, flags, list = p.words, {}, {}
  for i = from, to do
    local w = words[i]
    if FLAG[w] then flags[FLAG[w]] = true end
    if not STORAGE[w] then list[#list + 1] = w end
  end
  return table.concat(list, " "), flags
end

local function declarator(p, i, stop, base)
  local words, d = p.words, { first = i, pointer = 0, extents = {} }
  for key, value in pairs(base.flags) do d[key] = value end
  d.type = base.type
  local inner = is_rows(words, i) and words.match[i]
  if inner then
    d.rows, d.reference, d.pointer = words[i + 1] == "*", words[i + 1] == "&", 0
    if d.rows then d.pointer, d.target_const, d.const = 1, d.const, nil end
    i = i + 2
  end
  while words[i] ~= nil and (words.kind[i] ~= "name" or STORAGE[words[i]]) and i < stop do
    if words[i] == "*" then
      d.pointer = d.pointer + 1
      d.target_const, d.const = d.target_const or d.const, nil
    elseif words[i] == "&" then
      d.reference = true
    elseif words[i] == "const" then
      d.const = true
    elseif not STORAGE[words[i]] then
      return nil
    end
    i = i + 1
  end
  if words.kind[i] ~= "name" then return nil end
  d.name, d.token = words[i], i
  i = inner and inner + 1 or i + 1
  while words[i] == "[" do
    local close = words.match[i]
    if not close then return nil end
    d.extents[#d.extents + 1] = expression.read(words, i + 1, close - 1) or false
    i = close + 1
  end
  return d, i
end

-- The ',' or the end of a declarator whose initial value begins at i.
local function past_value(p, i, stop)
  while i < stop and p.words[i] ~= "," do
    local w = p.words[i]
    i = (w == "(" or w == "[" or w == "{") and (p.words.match[i] or stop) + 1 or i + 1
  end
  return math.min(i, stop)
end

local function initial(p, d, i, stop)
  local w = p.words[i]
  if w ~= "=" and w ~= "(" and w ~= "{" then return i end
  local from = w == "=" and i + 1 or i
  local behind = past_value(p, from, stop)
  d.init = expression.read(p.words, from, behind - 1, true)
  d.unknown_init = not d.init or nil
  d.init_form = w
  return behind
end

--- The names that the tokens from..stop-1 declare; nil where they are not understood.
local function declared(p, from, stop, statement)
  local behind = past_type(p, from)
  local list, base, i = {}, {}, behind
  if not behind then return nil end
  base.type, base.flags = type_of(p, from, behind - 1)
  repeat
    local d, after = declarator(p, i, stop, base)
    if not d then return nil end
    i = initial(p, d, after, stop)
    d.last, d.statement = i - 1, statement
    list[#list + 1] = d
    if i < stop and p.words[i] ~= "," then return nil end
    i = i + 1
  until i > stop
  return list
end

-- What stands from first to the ';' at stop: a declaration, an expression, or unknown.
local function simple(p, first, stop, parent)
  if first == stop then return new(p, "empty", first, parent, { last = stop }) end
  local s = new(p, "unknown", first, parent, { last = stop })
  if is_declaration(p, first) then
    s.declared = declared(p, first, stop, s)
    s.kind = s.declared and "declaration" or "unknown"
  else
    s.tree = expression.read(p.words, first, stop - 1)
    s.kind = s.tree and "expression" or "unknown"
  end
  return s
end

-- ---- the others -----------------------------------------------------------------------------

local function directive(p, i, parent)
  return new(p, "directive", i, parent, { last = i, name = p.words.directive(i) })
end

local function block(p, i, parent)
  local close = p.words.match[i]
  if not close or close > p.stop then return nil end
  local s = new(p, "block", i, parent, { last = close, body = {} })
  local at = i + 1
  while at < close do
    local child = parse(p, at, close - 1, s)
    if not child or child.last >= close then return nil end
    s.body[#s.body + 1] = child
    at = child.last + 1
  end
  return s
end

-- The one statement below an if or a loop, behind token i; its pragmas are before it.
local function below(p, i, stop, parent)
  if i > stop then return nil end
  if p.words.kind[i] == "directive" then return nil end
  return parse(p, i, stop, parent)
end

local function for_header(p, s, open, close)
  local one = semicolon(p, open + 1, close - 1)
  local two = one and semicolon(p, one + 1, close - 1)
  if not two then -- for (auto &x : list)
    s.ranged = true
    return
  end
  if one > open + 1 then s.init = simple(p, open + 1, one, s) end
  s.condition = expression.read(p.words, one + 1, two - 1)
  s.step = expression.read(p.words, two + 1, close - 1)
  s.unknown_header = s.init and s.init.kind == "unknown"
    or not s.condition and two > one + 1 or not s.step and close > two + 1 or nil
  s.header = { open, one, two, close }
end

local function headed(p, i, stop, parent, kind)
  local open = i + 1
  if p.words[open] == "constexpr" then open = open + 1 end
  local close = closing(p, open)
  if not close then return nil end
  local s = new(p, kind, i, parent, { open = open, close = close })
  if kind == "for" then
    for_header(p, s, open, close)
  else
    s.condition = expression.read(p.words, open + 1, close - 1)
    s.unknown_header = not s.condition or nil
  end
  s.body = below(p, close + 1, stop, s)
  if not s.body then return nil end
  s.last = s.body.last
  return s
end

local function if_statement(p, i, stop, parent)
  local s = headed(p, i, stop, parent, "if")
  if s and p.words[s.last + 1] == "else" and s.last < stop then
    s.else_token = s.last + 1
    s.otherwise = below(p, s.last + 2, stop, s)
    if not s.otherwise then return nil end
    s.last = s.otherwise.last
  end
  return s
end

local function do_statement(p, i, stop, parent)
  local s = new(p, "do", i, parent)
  s.body = below(p, i + 1, stop, s)
  local at = s.body and s.body.last + 1
  local close = at and p.words[at] == "while" and closing(p, at + 1)
  if not close or p.words[close + 1] ~= ";" then return nil end
  s.open, s.close, s.last = at + 1, close, close + 1
  s.condition = expression.read(p.words, at + 2, close - 1)
  s.unknown_header = not s.condition or nil
  return s
end

local function case(p, i, stop, parent)
  for k = i, stop do
    if p.words[k] == ":" then return new(p, "case", i, parent, { last = k }) end
  end
end

local function returned(p, i, stop, parent)
  local s = new(p, "return", i, parent, { last = stop })
  if stop > i + 1 then s.tree = expression.read(p.words, i + 1, stop - 1) end
  s.unknown = stop > i + 1 and not s.tree or nil
  return s
end

local function ended(p, i, stop, parent)
  local w, at = p.words[i], semicolon(p, i, stop)
  if not at then return new(p, "unknown", i, parent, { last = stop }) end
  if w == "return" then return returned(p, i, at, parent) end
  if JUMP[w] then return new(p, w, i, parent, { last = at }) end
  if w == "typedef" or w == "using" or w == "static_assert" then
    return new(p, "type", i, parent, { last = at })
  end
  return simple(p, i, at, parent)
end

local function any(p, i, stop, parent)
  local w = p.words[i]
  if p.words.kind[i] == "directive" then return directive(p, i, parent) end
  if w == "{" then return block(p, i, parent) end
  if w == "if" then return if_statement(p, i, stop, parent) end
  if w == "for" or w == "while" or w == "switch" then return headed(p, i, stop, parent, w) end
  if w == "do" then return do_statement(p, i, stop, parent) end
  if w == "case" or w == "default" then return case(p, i, stop, parent) end
  if w == "else" or w == "}" or w == ")" then return nil end
  if p.words.kind[i] == "name" and p.words[i + 1] == ":" then
    return new(p, "label", i, parent, { last = i + 1 })
  end
  return ended(p, i, stop, parent)
end

function parse(p, i, stop, parent)
  p.depth = p.depth + 1
  local s = p.depth <= MOST_DEPTH and any(p, i, stop, parent) or nil
  p.depth = p.depth - 1
  return s
end

--- Is a statement a barrier of all threads of the block?
---@param s table?
function M.is_barrier(s)
  local callee = s and s.kind == "expression" and s.tree and s.tree.kind == "call" and s.tree.callee
  return callee and callee.kind == "name" and callee.text == "__syncthreads" or false
end

--- Is a statement in a loop of its function?
function M.is_in_loop(s)
  local at = s.parent
  while at do
    if at.kind == "for" or at.kind == "while" or at.kind == "do" then return true end
    at = at.parent
  end
  return false
end

--- Is it a #if, #else, …?
function M.is_conditional(s) return s.kind == "directive" and CONDITIONAL[s.name] or false end

--- The tree of the body whose '{' is token `open`, and all its statements in the order in which
--- they begin; nil where it is not understood.
---@param words table as expression.read takes, with macros = set, directive = function(i) -> name
function M.read(words, open)
  local p = { words = words, stop = words.match[open] or 0, depth = 0, all = {} }
  local root = block(p, open, nil)
  if not root then return nil end
  table.sort(p.all, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    return a.last > b.last
  end)
  return root, p.all
end

-- An array that comes as a parameter is a pointer to its elements; `float (*a)[4]` is one already.
local function decay(d)
  if #d.extents == 0 or d.rows or d.reference then return end
  table.remove(d.extents, 1)
  d.pointer, d.target_const, d.const = d.pointer + 1, d.target_const or d.const, nil
end

--- What the words from..stop-1 declare; nil where they are no declaration that is understood.
---@param words table as of M.read
---@param from integer
---@param stop integer the ';' behind
function M.declarations(words, from, stop)
  local p = { words = words, stop = stop, depth = 0, all = {} }
  return is_declaration(p, from) and declared(p, from, stop) or nil
end

--- What the words of a parameter declare; nil.
function M.declarator(words, from, to)
  local p = { words = words, stop = to }
  local behind = past_type(p, from)
  if not behind then return nil end
  local type, flags = type_of(p, from, behind - 1)
  local d = declarator(p, behind, to + 1, { type = type, flags = flags })
  if not d then return nil end
  for i = from, to do
    local w = words[i]
    if w == "__restrict__" or w == "__restrict" or w == "restrict" then d.restrict = true end
  end
  d.first, d.last = from, to
  decay(d)
  return d
end

--- The expressions of a statement itself, without those of statements below it.
---@param s table
---@return table[]
function M.trees(s)
  local list = { s.tree }
  list[#list + 1] = s.condition
  list[#list + 1] = s.step
  for _, d in ipairs(s.declared or {}) do list[#list + 1] = d.init end
  return list
end

--- Calls visit(statement) for one and all below it; where it returns false, those are left out.
function M.walk(s, visit)
  if visit(s) == false then return end
  if s.init then M.walk(s.init, visit) end
  if s.kind == "block" then
    for _, child in ipairs(s.body) do M.walk(child, visit) end
  elseif s.body then
    M.walk(s.body, visit)
  end
  if s.otherwise then M.walk(s.otherwise, visit) end
end

return M
