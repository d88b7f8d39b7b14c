--- decided: does the last digit of a floating number decide something? An ulp less may be one less
--- where a number is cut to a whole one, and another branch where it is compared.
---
--- The answer is what it decides, or nil where the number only goes through sums, products and
--- continuous functions. It goes on in every variable and array that it is assigned to, wherever
--- that stands in the function. An unknown function decides by it, and so does an unknown type.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local set = settings.set

local COMPARISONS = set "< > <= >= == !="
local TRUTHS = set "&& || !"

-- Functions that are continuous where they have a value.
local CONTINUOUS = set("abs fabs sqrt rsqrt cbrt rcbrt exp exp2 exp10 expm1 log log2 log10 "
  .. "log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sinpi cospi pow atan2 "
  .. "hypot rhypot fma fmin fmax fdim min max erf erfc tgamma lgamma clamp __fdividef __saturatef "
  .. "__frcp_rn __fsqrt_rn __frsqrt_rn __fmaf_rn __fma_rn __sinf __cosf __tanf __expf __exp10f "
  .. "__logf __log2f __log10f __powf atomicAdd atomicMin atomicMax __shfl_sync __shfl_xor_sync "
  .. "__shfl_down_sync __shfl_up_sync __stcs __stwt __stcg __stwb printf "
  .. "sincos sincospi __sincosf")
local CONTINUOUS_PATTERNS = { "^make_%w+[234]$", "^__f%l+_r[nzud]$", "^__d%l+_r[nzud]$",
  "^__float2half%w*$", "^__half2float$", "^__double2float_r[nzud]$" }

-- How the names of functions begin that write where an argument leads to.
local GIVES = set "atomic sincos sincosf sincospi sincospif __sincosf __stcs __stwt __stcg __stwb"

local FLOATS = set("float double half __half half2 __half2 bfloat16 __nv_bfloat16 auto float2 "
  .. "float3 float4 double2 double3 double4")

local function is_continuous(name)
  name = name:gsub("^std::", ""):gsub("^::", "")
  if CONTINUOUS[name] or CONTINUOUS[name:match "^(.*)f$" or ""] or FLOATS[name] then return true end
  return lists.any(CONTINUOUS_PATTERNS, function(pattern) return name:find(pattern) end)
end

local function called(node)
  return node.callee.kind == "name" and node.callee.text or ""
end

-- Does a tree's value come from one of the nodes or names? The value of an element does not come
-- from its index, nor the outcome of a comparison from what it compares.
local function carries(from, node)
  local found = false
  expression.walk(node, function(part)
    if from.nodes[part] or part.kind == "name" and from.names[part.text] then found = true end
    if part.kind == "index" then
      found = found or carries(from, part.a)
      return false
    end
    return not found and not (part.kind == "binary" and COMPARISONS[part.op])
  end)
  return found
end

-- Adds the names that a tree, or a declaration, gives a value from one of the nodes or names.
local function spread(from, target)
  local name = target and effects.root_name(target)
  if not name or from.names[name] then return false end
  from.names[name] = true
  return true
end

-- The same of what a node assigns, or a call gives its arguments.
local function spread_by(from, node)
  if node.kind == "assign" then return carries(from, node.b) and spread(from, node.a) end
  local more = false
  if node.kind == "call" and GIVES[called(node):match "^_*%l+"] and carries(from, node) then
    for _, arg in ipairs(node.args) do more = spread(from, arg) or more end
  end
  return more
end

-- Marks a declared name. A pointer or reference is an alias of its initial value, both ways.
local function spread_declared(from, d)
  local name = { kind = "name", text = d.name }
  local more = d.init and carries(from, d.init) and spread(from, name) or false
  if d.init and from.names[d.name] and (d.reference or d.pointer > 0) then
    more = spread(from, d.init) or more
  end
  return more
end

-- Everything that has its value from the nodes.
local function reached(fn, nodes)
  local from, more = { nodes = {}, names = {} }, true
  for _, node in ipairs(nodes) do from.nodes[node] = true end
  while more do
    more = false
    statement.nodes(fn.statements, function(node) more = spread_by(from, node) or more end)
    for _, s in ipairs(fn.statements) do
      for _, d in ipairs(s.declared or {}) do more = spread_declared(from, d) or more end
    end
  end
  return from
end

-- What becomes of a value in a place of some type: nothing where it stays a floating number.
local function in_place(type)
  if FLOATS[type or ""] then return nil end
  return expression.TYPES[(type or ""):match "^[%w_]*"] and "a whole number"
    or "a value of a type that is not known"
end

-- The type of an element, a member or what a pointer leads to, that is assigned to.
local function type_of(fn, node)
  local name = node.kind == "unary" and node.a.kind == "name" and node.a.text
  local d = name and fn:declaration(name, node.first)
  if d and d.pointer == 1 then return types.plain(d.type) end
  if node.kind == "member" then
    local whole = types.of(fn, node.a)
    return whole and whole:match "^(%l+)[234]$" or nil
  end
  return types.of(fn, node)
end

-- What a node decides by its operands; nil of nothing.
local function decides(fn, from, node)
  local function has(part) return part and carries(from, part) end
  if node.kind == "binary" and COMPARISONS[node.op] then
    return (has(node.a) or has(node.b)) and "a comparison" or nil
  elseif TRUTHS[node.op or ""] and (has(node.a) or has(node.b)) then
    return "a condition"
  elseif node.kind == "choice" and has(node.condition) then
    return "a condition"
  elseif node.kind == "cast" and has(node.a) then
    return in_place(types.plain(node.type))
  elseif node.kind == "assign" and has(node.b) then
    return in_place(type_of(fn, node.a))
  elseif node.kind == "call" and not is_continuous(called(node)) then
    for _, arg in ipairs(node.args) do
      if has(arg) then return "what " .. (called(node):match "[%w_]+$" or "a call") .. " gives" end
    end
  end
end

-- What a statement decides by a value that it declares, returns or goes by.
local function decided_by(fn, from, s)
  if s.condition and carries(from, s.condition) then return "a condition" end
  if s.kind == "return" and s.tree and not fn.is_entry and carries(from, s.tree) then
    return "what its callers do"
  end
  for _, d in ipairs(s.declared or {}) do
    local is_given = d.init and d.pointer == 0 and carries(from, d.init)
    local what = is_given and in_place(types.plain(d.type))
    if what then return what end
  end
end

--- What the last digit of some expressions of a function decides, in words, and on which line; nil
--- where it decides nothing.
---@param nodes table[] expressions in it
---@return string? what "a comparison", "a whole number", "what floorf gives", …
---@return integer? line
function M.of(fn, nodes)
  if effects.of(fn, fn.body).opaque then return "what is not understood", fn.line end
  local from, what, line = reached(fn, nodes), nil, nil
  local function note(found, token)
    if found and not what then what, line = found, fn.kernel:line_of(token) end
  end
  statement.nodes(fn.statements, function(node) note(decides(fn, from, node), node.first) end)
  for _, s in ipairs(fn.statements) do note(decided_by(fn, from, s), s.first) end
  return what, line
end

return M
