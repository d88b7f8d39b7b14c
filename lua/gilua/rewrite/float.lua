--- float: precision demotion
--
-- where     functions and doubles
-- needs     memory_of
-- becomes   what it calculates in double precision, in single precision
-- promises  numbers
--
-- Variables, casts, literals and functions of mathematics become those of float; what comes from
-- arrays and parameters of double is rounded where it is read. Signatures of kernels and all
-- memory but the function's own stay as they are. Whether the answers are still near enough, the
-- problem's tolerance decides. On most GPUs double arithmetic is 2 to 64 times as slow.
--
-- With the argument `all`, the functions that it calls become float too, and with a name only that
-- variable, in what is assigned to it.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local memory_of = require "gilua.facts.memory_of"

local FLOATED = {}
for name in ("fabs sqrt rsqrt cbrt rcbrt exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan "
  .. "asin acos atan sinh cosh tanh asinh acosh atanh sinpi cospi pow fmod remainder atan2 hypot "
  .. "rhypot fma fmin fmax fdim floor ceil round trunc rint erf erfc tgamma lgamma copysign ldexp")
  :gmatch "%S+" do
  FLOATED[name] = name .. "f"
end

local LOADS = { __ldg = true, __ldcs = true, __ldca = true, __ldcg = true }

-- A literal of double: 1.0, 1e-5, .5; not 1.0f, 10, 0x1p3.
local function is_double(text)
  return text:find "^[%d.']+" and not text:find "^0[xX]" and not text:find "[fFlL]$"
    and (text:find("%.") or text:find "[eE]") and true or false
end

local function is_memory(fn, name, token)
  local d = fn:declaration(name, token)
  local root = memory_of.of(fn, name, token)
  if not d or d.type ~= "double" or d.pointer == 0 then return false end
  local of = root and fn:declaration(root, token)
  return of == nil or of.parameter or false
end

-- What a tree has of doubles, each made float by an edit; how many.
local Converter = {}
Converter.__index = Converter

function Converter:literal(node)
  if node.literal == "number" and is_double(node.text) then
    self.e:replace(node.token, node.token, node.text .. "f")
    self.n = self.n + 1
  end
end

function Converter:macro(node)
  local macro = self.fn.kernel.macros[node.text]
  if macro and macro.value and is_double(macro.value) then
    self.e:before(node.token, "(float)")
    self.n = self.n + 1
  end
end

function Converter:called(node)
  local callee = node.callee
  local new = callee.kind == "name" and not callee.template and FLOATED[callee.text]
  if new and not self.fn.kernel.by_name[callee.text] then
    self.e:replace(callee.token, callee.token, new)
    self.n = self.n + 1
  end
end

-- The loads of doubles, and the parameters, that are only read in a tree.
function Converter:values(tree)
  local fn, all = self.fn, effects.of(self.fn, tree)
  for _, access in ipairs(all.accesses) do
    if access.mode == "read" and access.indices and not access.cached
      and access.node.kind == "index" and is_memory(fn, access.base, access.token) then
      self.e:before(access.node.first, "(float)")
      self.n = self.n + 1
    end
  end
  for name, tokens in pairs(all.reads) do
    local written = {}
    for _, token in ipairs(all.writes[name] or {}) do written[token] = true end
    for _, token in ipairs(tokens) do
      if not written[token] and self:is_rounded(name, token) then
        self.e:before(token, "(float)")
        self.n = self.n + 1
      end
    end
  end
end

-- A scalar of double that stays one: a parameter of a kernel, and, where only one variable becomes
-- float, any other.
function Converter:is_rounded(name, token)
  local d = self.fn:declaration(name, token)
  return d ~= nil and d.type == "double" and d.pointer == 0 and #d.extents == 0
    and d.name ~= self.only and (self.only ~= nil or d.parameter and self.fn.kind == "kernel")
end

function Converter:tree(tree)
  self:values(tree)
  expression.walk(tree, function(node)
    if node.kind == "number" then self:literal(node) end
    if node.kind == "name" then self:macro(node) end
    if node.kind == "call" then
      self:called(node)
      local base = LOADS[node.callee.text] and effects.root_name(node.args[1])
      if base and is_memory(self.fn, base, node.first) then self.e:before(node.first, "(float)") end
    end
    if node.kind == "cast" and node.type == "double" then self:words(node.first, node.a.first) end
  end)
end

-- `double` that is no pointer's, from token to token.
function Converter:words(first, last)
  local words = self.fn.kernel.words
  for i = first, last do
    local behind = words[i + 1] == "const" and i + 2 or i + 1
    if words[i] == "double" and words[i - 1] ~= "long" and words[behind] ~= "*"
      and not self.done[i] then
      self.done[i] = true
      self.e:replace(i, i, "float")
      self.n = self.n + 1
    end
  end
end

function Converter:declaration(s)
  local all = true
  for _, d in ipairs(s.declared) do all = all and (not self.only or d.name == self.only) end
  local wanted = lists.any(s.declared, function(d) return d.name == self.only end)
  if not self.only or all then self:words(s.first, s.declared[1].token) end
  for _, d in ipairs(s.declared) do
    if d.init and (not self.only or wanted) then self:tree(d.init) end
  end
end

local function assigns_to(tree, name)
  return tree.kind == "assign" and tree.a.kind == "name" and tree.a.text == name
end

function Converter:statement(s)
  if s.kind == "declaration" then return self:declaration(s) end
  if self.only then
    if s.tree and assigns_to(s.tree, self.only) then self:tree(s.tree.b) end
    return
  end
  for _, tree in ipairs { s.tree or false, s.condition or false, s.step or false } do
    if tree then self:tree(tree) end
  end
end

local function signature(c, fn)
  if fn.kind == "kernel" then return end
  c:words(fn.first, fn.head - 1)
  for _, p in ipairs(fn.params) do
    if p.pointer == 0 then c:words(p.first, p.token) end
  end
end

-- Why a function cannot be float: it hands on where a double lies; nil where it can.
local function refusal(fn, only)
  if not fn.body then return "its text is not understood" end
  for _, s in ipairs(fn.statements) do
    if s.kind == "unknown" or s.unknown then return "a statement of it is not understood" end
    for _, d in ipairs(s.declared or {}) do
      local concerns = d.type == "double" and (not only or d.name == only)
      if concerns and fn.addressed[d.name] then
        return ("the address of %s is used"):format(d.name)
      elseif concerns and (d.pointer > 0 or d.reference) and not is_memory(fn, d.name, d.token) then
        return ("%s leads to doubles of the function itself"):format(d.name)
      end
    end
  end
  for _, p in ipairs(fn.params) do
    if p.type == "double" and p.reference then return p.name .. " is another function's double" end
  end
end

local function convert(e, fn, only)
  local c = setmetatable({ e = e, fn = fn, only = only, n = 0, done = {} }, Converter)
  if not only then signature(c, fn) end
  for _, s in ipairs(fn.statements) do c:statement(s) end
  return c.n
end

-- The function and those of the file that it calls.
local function with_called(fn, list, seen)
  if seen[fn] then return list end
  seen[fn] = true
  list[#list + 1] = fn
  if fn.body then
    for _, call in ipairs(effects.of(fn, fn.body).calls) do
      local other = call.name and fn.kernel.by_name[call.name]
      if other then with_called(other, list, seen) end
    end
  end
  return list
end

-- The declaration of one double that a statement is.
local function is_one_double(s)
  local d = s.kind == "declaration" and s.declared[1]
  return d and #s.declared == 1 and d.type == "double" and d.pointer == 0 and not d.reference
end

-- Each function, it and those that it calls, each double of it.
local function places(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local functions, seen = with_called(fn, {}, {}), {}
    local function add(line, last, way, which)
      list[#list + 1] = { fn = fn, line = line, last = last, way = way, functions = which }
    end
    add(fn.line, fn.last_line, false, { fn })
    if #functions > 1 and fn.kind == "kernel" then
      add(fn.line, fn.last_line, "all", functions)
    end
    for _, s in ipairs(fn.statements) do
      local line, name = kernel:line_of(s.first), is_one_double(s) and s.declared[1].name
      if name and not seen[line .. name] then
        seen[line .. name] = true
        add(line, kernel:line_of(s.last), name, { fn })
      end
    end
  end
  return list
end

local function only_of(at) return at.way and at.way ~= "all" and at.way or nil end

-- Does no function hand on where a double lies?
local function hands_on_none(at)
  for _, fn in ipairs(at.functions) do
    local why = refusal(fn, only_of(at))
    if why then return nil, why end
    if not at.kernel:is_open(fn.line, fn.last_line) then return nil, fn.name .. " is not open" end
  end
  return true
end

return { name = "float", where = places, set = "functions and doubles", judged = true,
  promise = "single precision will do", none = "no function begins there, and no such double",
  doc = "What a function or a variable holds in double precision, in single precision.",
  args = { { "variable", of = "way" } },
  needs = { { "memory_of", hands_on_none } },
  becomes = function(at, e)
    local n, only = 0, only_of(at)
    for _, fn in ipairs(at.functions) do n = n + convert(e, fn, only) end
    if n == 0 then return nil, "nothing there is double" end
    return only and ("%s is held in single precision"):format(only)
      or ("%s calculates in single precision"):format(at.fn.name)
  end,
}
