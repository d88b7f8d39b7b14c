--- expression: an expression of CUDA C as a tree, from the words of a text.
--
-- A node is { kind, first, last (token numbers, with the parentheses around it), … }:
--
--   name    text, token                a name, with its qualifiers: x, std::min; its last word
--   number  text, token                also strings, characters, sizeof(…): what never changes
--   call    callee, args               f(a, b); float(x); f<3>(x); f<3>{}
--   index   a, index                   a[i]
--   member  a, name, arrow             a.x, a->x
--   unary   op, a                      - + ! ~ * & ++ --
--   postfix op, a                      a++, a--
--   binary  op, a, b                   the comma too
--   assign  op, a, b                   = += …
--   choice  condition, a, b            c ? a : b
--   cast    type, a                    (int)x, static_cast<int>(x)
--   list    items                      { 1, 2 }
--
-- What is not understood (lambdas, new, GNU's statement expressions) has no tree: nil.

local settings = require "gilua.base.settings"

local M = {}

local LEVEL = {}
for level, operators in ipairs {
  "||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %",
} do
  for operator in operators:gmatch "%S+" do LEVEL[operator] = level end
end
local MOST_LEVEL = 10

local set = settings.set

local ASSIGN = set "= += -= *= /= %= &= |= ^= <<= >>="
local UNARY = set "- + ! ~ * & ++ --"
local NAMED_CAST = set "static_cast reinterpret_cast const_cast"
local NO_VALUE = set("new delete throw return if for while do else switch case default goto break "
  .. "continue asm __asm__ template typename operator using namespace struct class union enum")

--- The words of which types are made that need no declaration.
M.TYPES = set("void bool char short int long float double signed unsigned auto size_t ptrdiff_t "
  .. "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uchar ushort uint ulong "
  .. "half __half __half2 half2 bfloat16 __nv_bfloat16 dim3 cudaTextureObject_t "
  .. "cudaSurfaceObject_t clock_t intptr_t uintptr_t")
for base in pairs(set "char uchar short ushort int uint long ulong longlong ulonglong float double")
do
  for n = 1, 4 do M.TYPES[base .. n] = true end
end

local QUALIFIER = set "const volatile __restrict__ __restrict restrict struct typename"

local MOST_DEPTH = 120 -- of nesting; a person writes 10

local parse_assign, parse_unary

local function fail(p)
  p.bad = true
  return nil
end

local function word(p) return p.at <= p.stop and p.words[p.at] or nil end

local function take(p)
  p.at = p.at + 1
  return p.at - 1
end

local function node(kind, first, last, fields)
  fields.kind, fields.first, fields.last = kind, first, last
  return fields
end

--- Are the tokens from..to nothing but a type: `const float *`, `unsigned int`?
---@param words table with `types`, the names that the file declares as types
function M.is_type(words, from, to)
  local known, stars = false, false
  for i = from, to do
    local w = words[i]
    if M.TYPES[w] or words.types[w] then
      known = true
    elseif w == "*" or w == "&" then
      if i == from then return false end
      stars = true
    elseif QUALIFIER[w] then
      known = known or w == "struct" or w == "typename"
    elseif words.kind[i] == "name" and not stars and (i == from or QUALIFIER[words[i - 1]]) then
      if words[to] ~= "*" then return false end
      known = true
    else
      return false
    end
  end
  return known
end

local function arguments(p, open)
  local close, args = p.words.match[open], {}
  if not close or close > p.stop then return fail(p) end
  p.at = open + 1
  while p.at < close do
    local arg = word(p) == "{" and M.braces(p) or parse_assign(p)
    if p.bad then return nil end
    args[#args + 1] = arg
    if p.at < close then
      if word(p) ~= "," then return fail(p) end
      take(p)
    end
  end
  p.at = close + 1
  return args
end

-- { 1, 2 }: its items.
function M.braces(p)
  local open = p.at
  local items = arguments(p, open)
  return items and node("list", open, p.at - 1, { items = items })
end

-- The '>' that closes the arguments of a template at '<', where a '(' or a '{' follows it; nil.
local function closing_angle(p, open)
  local depth = 0
  for i = open, math.min(p.stop, open + 30) do
    local w = p.words[i]
    if w == "<" then
      depth = depth + 1
    elseif w == ">" then
      depth = depth - 1
      local after = p.words[i + 1]
      if depth == 0 then return (after == "(" or after == "{") and i or nil end
    elseif not (p.words.kind[i] == "name" or p.words.kind[i] == "number" or w == ","
      or w == "::" or w == "*" or w == "&") then
      return nil
    end
  end
end

local function qualified(p)
  local first = p.at
  local text = p.words[take(p)]
  if text == "::" then text = text .. p.words[take(p)] end
  while word(p) == "::" and p.words.kind[p.at + 1] == "name" do
    text = text .. "::" .. p.words[p.at + 1]
    p.at = p.at + 2
  end
  return node("name", first, p.at - 1, { text = text, token = p.at - 1 })
end

local function parse_sizeof(p)
  local first = take(p)
  if word(p) ~= "(" or not p.words.match[p.at] then return fail(p) end
  p.at = p.words.match[p.at] + 1
  return node("number", first, p.at - 1, { text = "sizeof" })
end

local function parse_name(p)
  if word(p) == "sizeof" or word(p) == "alignof" then return parse_sizeof(p) end
  if NO_VALUE[word(p)] then return fail(p) end
  local name = qualified(p)
  local angle = word(p) == "<" and closing_angle(p, p.at)
  if not angle then return name end
  local type = p.words.text(p.at + 1, angle - 1)
  p.at = angle + 1
  if not NAMED_CAST[name.text] then
    name.template, name.last = type, angle
    return name
  end
  local close = p.words.match[p.at]
  take(p)
  local a = close and parse_assign(p)
  if not a or p.at ~= close then return fail(p) end
  take(p)
  return node("cast", name.first, close, { type = type, a = a })
end

local function parse_primary(p)
  local w, kind = word(p), p.words.kind[p.at]
  if not w then return fail(p) end
  if w == "(" then
    local open, close = take(p), p.words.match[p.at - 1]
    local inner = close and close <= p.stop and M.comma(p)
    if not inner or p.at ~= close then return fail(p) end
    take(p)
    inner.outer_first = inner.outer_first or inner.first
    inner.first, inner.last, inner.parens = open, close, true
    return inner
  end
  if kind == "number" or kind == "string" or kind == "char" then
    local at = take(p)
    while p.words.kind[p.at] == "string" and p.at <= p.stop do take(p) end
    return node("number", at, p.at - 1, { text = w, literal = kind, token = at })
  end
  if kind == "name" or w == "::" then return parse_name(p) end
  return fail(p)
end

local function parse_postfix(p)
  local a = parse_primary(p)
  while a do
    local w = word(p)
    if w == "(" then
      local args = arguments(p, p.at)
      a = args and node("call", a.first, p.at - 1, { callee = a, args = args })
    elseif w == "[" then
      local close = p.words.match[p.at]
      take(p)
      local index = close and M.comma(p)
      if not index or p.at ~= close then return fail(p) end
      take(p)
      a = node("index", a.first, close, { a = a, index = index })
    elseif (w == "." or w == "->") and p.words.kind[p.at + 1] == "name" then
      p.at = p.at + 2
      a = node("member", a.first, p.at - 1,
        { a = a, name = p.words[p.at - 1], arrow = w == "->" })
    elseif w == "++" or w == "--" then
      take(p)
      a = node("postfix", a.first, p.at - 1, { op = w, a = a })
    elseif w == "{" and a.template then
      local list = M.braces(p)
      a = list and node("call", a.first, list.last, { callee = a, args = list.items })
    elseif w == "{" and a.kind == "name" then -- float4{ … }
      return fail(p)
    else
      return a
    end
  end
end

local function parse_cast(p)
  local open, close = p.at, p.words.match[p.at]
  if not close or close >= p.stop or not M.is_type(p.words, open + 1, close - 1) then return nil end
  p.at = close + 1
  local a = parse_unary(p)
  return a and node("cast", open, a.last,
    { type = p.words.text(open + 1, close - 1), a = a }) or fail(p)
end

function parse_unary(p)
  p.depth = p.depth + 1
  if p.depth > MOST_DEPTH then return fail(p) end
  local w, a = word(p), nil
  if w and UNARY[w] then
    local first = take(p)
    a = parse_unary(p)
    a = a and node("unary", first, a.last, { op = w, a = a })
  else
    if w == "(" then a = parse_cast(p) end
    if not a and not p.bad then a = parse_postfix(p) end
  end
  p.depth = p.depth - 1
  return a
end

local function parse_binary(p, level)
  if level > MOST_LEVEL then return parse_unary(p) end
  local a = parse_binary(p, level + 1)
  while a and LEVEL[word(p)] == level do
    local op = p.words[take(p)]
    local b = parse_binary(p, level + 1)
    if not b then return fail(p) end
    a = node("binary", a.first, b.last, { op = op, a = a, b = b })
  end
  return a
end

function parse_assign(p)
  p.depth = p.depth + 1
  if p.depth > MOST_DEPTH then return fail(p) end
  local a = parse_binary(p, 1)
  local w = word(p)
  if a and w == "?" then
    take(p)
    local yes = M.comma(p)
    if not yes or word(p) ~= ":" then return fail(p) end
    take(p)
    local no = parse_assign(p)
    a = no and node("choice", a.first, no.last, { condition = a, a = yes, b = no })
  elseif a and ASSIGN[w] then
    take(p)
    local b = word(p) == "{" and M.braces(p) or not p.bad and parse_assign(p)
    a = b and node("assign", a.first, b.last, { op = w, a = a, b = b })
  end
  p.depth = p.depth - 1
  return a or fail(p)
end

-- Several, with commas.
function M.comma(p)
  local a = parse_assign(p)
  while a and word(p) == "," do
    take(p)
    local b = parse_assign(p)
    if not b then return fail(p) end
    a = node("binary", a.first, b.last, { op = ",", a = a, b = b })
  end
  return a
end

--- The tree of the tokens from..to, all of which belong to it; nil where they are not understood.
---@param words table { [i] = text, kind = {}, match = {}, types = set, text = function(i, j) }
---@param braces? boolean may it be { … }, as behind the = of a declaration?
function M.read(words, from, to, braces)
  if to < from then return nil end
  local p = { words = words, at = from, stop = to, depth = 0 }
  local tree
  if braces and words[from] == "{" then tree = M.braces(p) else tree = M.comma(p) end
  return tree and not p.bad and p.at == to + 1 and tree or nil
end

local CHILDREN = { "callee", "a", "b", "condition", "index" }

local KINDS = set "name number call index member unary postfix binary assign choice cast list"

--- Is it a node of an expression, not a statement?
function M.is_tree(it) return KINDS[it.kind] or false end

--- Calls visit(node) for a node and all below it, from left to right of the fields above.
--- Where it returns false, what is below that node is left out.
function M.walk(tree, visit)
  if not tree or visit(tree) == false then return end
  for _, field in ipairs(CHILDREN) do
    if tree[field] then M.walk(tree[field], visit) end
  end
  for _, item in ipairs(tree.args or tree.items or {}) do M.walk(item, visit) end
end

--- What an operator joins, from left to right: a, b, c of a && b && c; the tree itself of others.
---@param op string
---@param list table[] to which they are added
---@return table[] list
function M.parts(tree, op, list)
  if tree.kind == "binary" and tree.op == op then
    M.parts(tree.a, op, list)
    return M.parts(tree.b, op, list)
  end
  list[#list + 1] = tree
  return list
end

return M
