--- effects: what a statement or an expression does: which variables it reads and writes, which
-- elements of memory, what it calls.
--
-- Effects are { reads, writes (name -> list of tokens), accesses, calls (lists), … }. An access is
-- { base (the name that is indexed), root (the array that it points into; nil where that is not
-- known), indices (trees; nil where not known), read, write, atomic, node, op }. Flags:
--
--   opaque   something happens that is not known: anything may be read and written; `why` says
--            what it is
--   barrier  threads wait for each other; memory may change there
--   warp     lanes exchange values or votes
--
-- `asks` are the names outside of functions that called functions of the file ask for. Whether two
-- accesses are of different memory is a fact of its own (gilua.facts.apart).

local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local memory_of = require "gilua.facts.memory_of"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"

local M = {}

local set = settings.set

-- Functions of their arguments alone, in single precision with an f behind.
local MATH = set("abs fabs sqrt rsqrt cbrt rcbrt exp exp2 exp10 expm1 log log2 log10 log1p sin cos "
  .. "tan asin acos atan sinh cosh tanh asinh acosh atanh sinpi cospi pow fmod remainder atan2 "
  .. "hypot rhypot fma fmin fmax fdim floor ceil round trunc rint nearbyint lround llround lrint "
  .. "llrint erf erfc erfinv erfcinv tgamma lgamma copysign nextafter isnan isinf isfinite signbit "
  .. "ldexp logb ilogb min max umin umax llmin llmax labs llabs clamp")

local PURE = set("__fdividef __saturatef __mul24 __umul24 __mulhi __umulhi __mul64hi __umul64hi "
  .. "__sad __usad __hadd __rhadd __uhadd __urhadd __popc __popcll __clz __clzll __ffs __ffsll "
  .. "__brev __brevll __byte_perm __funnelshift_l __funnelshift_r __frcp_rn __fsqrt_rn __frsqrt_rn "
  .. "__fmaf_rn __fma_rn tex1D tex2D tex3D tex1Dfetch tex2DLod tex3DLod tex2DLayered tex1DLod "
  .. "int2float dim3 __sinf __cosf __tanf __expf __exp10f __logf __log2f __log10f __powf __ldu")

local PURE_PATTERNS = { "^make_%w+$", "^__%w+2%w+_r[nzud]$", "^__%w+_as_%w+$", "^__%w+2%w+$",
  "^__f%w+_r[nzud]$", "^__d%w+_r[nzud]$", "^__v%w+$" }

local LOADS = set "__ldg __ldcs __ldca __ldcg __ldcv __ldlu"
local STORES = set "__stcs __stwt __stcg __stwb"
local PAIRS = set "sincos sincosf __sincosf sincospi sincospif" -- two results, where pointers lead
local BARRIERS = set("__syncthreads __syncthreads_count __syncthreads_or __syncthreads_and "
  .. "__syncwarp __threadfence __threadfence_block __threadfence_system __barrier_sync")

-- Methods of the groups of <cooperative_groups.h>, and what makes one.
local GROUP_METHODS = set("size num_threads thread_rank meta_group_rank meta_group_size shfl "
  .. "shfl_down shfl_up shfl_xor any all ballot match_any match_all")
local GROUPS = set("this_thread_block tiled_partition coalesced_threads thread_block_tile")

local COLLECTIVES = set "reduce inclusive_scan exclusive_scan"

-- The method of a call x.f(…), where it is one of a group's.
local function group_method(callee)
  local name = callee.kind == "member" and callee.a.kind == "name" and callee.name
  return name and (GROUP_METHODS[name] or name == "sync") and name or nil
end

local function matches(name, patterns)
  return lists.any(patterns, function(pattern) return name:find(pattern) end)
end

--- Is a function of this name one of its arguments alone?
function M.is_pure(name)
  name = name:gsub("^std::", ""):gsub("^::", "")
  return MATH[name] or MATH[name:match "^(.*)f$" or ""] or PURE[name]
    or expression.TYPES[name] or matches(name, PURE_PATTERNS) or false
end

--- Does a name mean CUDA's function: no macro, and no function of the file? Their own `max` may be
--- `a > b ? a : b`, which is another order of NaN, or ask twice for what lanes tell each other.
---@param name string
function M.is_of_cuda(kernel, name) return not kernel.macros[name] and not kernel.by_name[name] end

-- Does T(x) make a number: of a type of the template's list, or of another name of a number's type?
local function makes_number(fn, node)
  local name = node.makes and node.callee.kind == "name" and node.callee.text
  for _, t in ipairs(name and fn.tparams or {}) do
    if t.name == name and t.type == "" then return true end
  end
  local other = name and fn.kernel.words.types[name]
  return type(other) == "string" and expression.TYPES[other] or false
end

local function is_warp(name)
  return name:find "^__shfl" or name:find "^__ballot" or name:find "^__any" or name:find "^__all"
    or name:find "^__match" or name:find "^__reduce" or name:find "^__activemask"
end

local see -- (out, node, mode): adds what a node does

-- Something happens that is not known: the first reason is kept.
local function not_known(out, why)
  out.opaque, out.why = true, out.why or why
end

local function add(list, key, value)
  list[key] = list[key] or {}
  table.insert(list[key], value)
end

-- A macro stands for its words: all names in them are read, and what may change something is not
-- known.
local function see_macro(out, name, token)
  local macro = out.fn.kernel.macros[name]
  if macro.opaque then not_known(out, ("the macro `%s` may change something"):format(name)) end
  for _, word in ipairs(macro.names) do
    add(out.reads, word, token)
    local d = out.fn:declaration(word, token)
    local known = d or out.fn.kernel.globals[word]
    local is_array = not known and out.fn.kernel.indexed[word]
      or known and (known.pointer > 0 or #known.extents > 0 or not memory_of.is_number(known))
    if macro.indexes and is_array then
      out.accesses[#out.accesses + 1] = { base = word, root = memory_of.of(out.fn, word, token),
                                          read = true, macro = name, token = token }
    end
  end
end

local see_access, chain

--- Returns the local array that a reference names an element in: xs of `auto &x = xs[i]`; or nil.
---@param d table? a declaration
---@return string?
function M.element_of(fn, d)
  local init = d and d.reference and d.init
  if not init or init.kind ~= "index" then return nil end
  local base = chain(init)
  local array = base.kind == "name" and fn:declaration(base.text, base.token)
  return array and not array.parameter and #array.extents > 0 and base.text or nil
end

local function see_name(out, node, mode)
  local name = node.text
  if out.fn.kernel.macros[name] then
    if mode ~= "read" then not_known(out, ("the macro `%s` is changed"):format(name)) end
    return see_macro(out, name, node.token)
  end
  if mode ~= "write" then add(out.reads, name, node.token) end
  local d = out.fn:declaration(name, node.token)
  local array = M.element_of(out.fn, d)
  if array then see_access(out, array, nil, mode, node) end
  local is_elsewhere = d and d.reference and not d.parameter and not array
  if is_elsewhere then see_access(out, name, nil, mode, node) end
  if mode == "read" then return end
  if d and d.reference and not array then
    not_known(out, ("`%s` is another name of something"):format(name))
  end
  if mode == "address" then out.addresses[name] = true end
  add(out.writes, name, node.token)
end

local function add_access(out, base, root, indices, mode, node, extra)
  local access = {
    base = base, root = root, indices = indices, read = mode ~= "write", write = mode ~= "read",
    node = node, token = node.first, mode = mode,
  }
  for key, value in pairs(extra or {}) do access[key] = value end
  if mode == "address" then access.escapes = true end
  out.accesses[#out.accesses + 1] = access
end

function see_access(out, base, indices, mode, node, extra)
  local root = memory_of.of(out.fn, base, node.first, indices and #indices)
  add_access(out, base, root, indices, mode, node, extra)
end

-- An access through a pointer that is an expression, at a place that is not known.
local function see_through(out, pointer, mode, node, extra)
  add_access(out, M.root_name(pointer), memory_of.target(out.fn, pointer), nil, mode, node, extra)
end

-- The name that a chain of [ ] begins with, and the indices, outermost first; nil without a name.
function chain(node)
  local indices = {}
  while node.kind == "index" do
    table.insert(indices, 1, node.index)
    node = node.a
  end
  return node, indices
end

local function see_index(out, node, mode)
  local base, indices = chain(node)
  for _, index in ipairs(indices) do see(out, index, "read") end
  if base.kind == "name" and not out.fn.kernel.macros[base.text] then
    add(out.reads, base.text, base.token)
    return see_access(out, base.text, indices, mode, node)
  end
  see(out, base, "read")
  see_through(out, base, mode, node)
end

-- *p and *(p + i) are p[0] and p[i].
local function see_target(out, node, mode, extra)
  local a = node.kind == "cast" and node.a or node
  local base, index = a, nil
  if a.kind == "binary" and a.op == "+" then base, index = a.a, a.b end
  if index and memory_of.is_offset(out.fn, base) then base, index = index, base end
  see(out, a, "read")
  if node.kind ~= "cast" and base.kind == "name" and not out.fn.kernel.macros[base.text] then
    see_access(out, base.text, { index or { kind = "number", text = "0", first = a.first,
      last = a.last } }, mode, node, extra)
  else
    see_through(out, a, mode, node, extra)
  end
end

--- The name that an expression of a pointer begins with: p of p, p + i, (float4 *)p, &p[i].
function M.root_name(node)
  if node.kind == "name" then return node.text end
  if node.kind == "cast" or node.kind == "index" or node.kind == "member" then
    return M.root_name(node.a)
  end
  if node.kind == "unary" and (node.op == "&" or node.op == "*") then return M.root_name(node.a) end
  if node.kind == "binary" and (node.op == "+" or node.op == "-") then
    return M.root_name(node.a)
  end
end

local function see_member(out, node, mode)
  if not node.arrow then
    local a = node.a
    while a.kind == "member" and not a.arrow do a = a.a end
    if a.kind == "name" and mode == "write" then mode = "update" end
    return see(out, node.a, mode)
  end
  see(out, node.a, "read")
  see_through(out, node.a, mode, node)
end

-- The place that an argument points to: &a[i], a + i.
local function see_pointed(out, arg, mode, extra)
  if arg.kind == "unary" and arg.op == "&" then
    local before = #out.accesses
    see(out, arg.a, mode)
    for i = before + 1, #out.accesses do
      if out.accesses[i].node == arg.a then
        for key, value in pairs(extra or {}) do out.accesses[i][key] = value end
      end
    end
  else
    see_target(out, arg, mode, extra)
  end
end

local function see_args(out, args, from)
  for i = from or 1, #args do see(out, args[i], "read") end
end

-- A function of the file: what it does with what its parameters point to.
local function see_function(out, fn, node)
  local summary = fn:summary()
  see_args(out, node.args)
  if summary.opaque then not_known(out, ("not all of `%s` is known"):format(fn.name)) end
  for _, flag in ipairs { "barrier", "warp" } do
    if summary[flag] then out[flag] = true end
  end
  for name in pairs(summary.asks) do out.asks[name] = true end
  for i, p in ipairs(fn.params) do
    local used = summary.params[p.name]
    local arg = node.args[i]
    if arg and used and (p.pointer > 0 or not p.reference or p.const) then
      see_through(out, arg, used.write and (used.read and "update" or "write") or "read", arg)
    elseif arg and p.reference and not p.const then
      see(out, arg, "address")
    end
  end
  for _, access in ipairs(summary.globals) do
    see_access(out, access.base, nil, access.write and "update" or "read", node)
  end
  for _, what in ipairs { "reads", "writes" } do
    for name in pairs(summary[what]) do add(out[what], name, node.first) end
  end
end

-- cg::reduce(tile, value, cg::plus<float>()): what puts two values together does no more than that,
-- or is a function of the file.
local function see_collective(out, node)
  local op = node.args[3]
  see(out, node.args[1], "read")
  if node.args[2] then see(out, node.args[2], "read") end
  local is_plain = op and op.kind == "call" and op.callee.template and #op.args == 0
  local fn = op and op.kind == "name" and out.fn.kernel.by_name[op.text]
  local summary = fn and fn:summary()
  local is_known = summary and not summary.opaque and #summary.globals == 0
  if #node.args > 3 or op and not is_plain and not is_known then
    not_known(out, "the operation of a collective is not known")
  end
  out.warp = true
end

local function see_call(out, node)
  local name = node.callee.kind == "name" and node.callee.text or nil
  local fn = name and out.fn.kernel.by_name[name]
  out.calls[#out.calls + 1] = { name = name, node = node }
  if not name then
    local method = group_method(node.callee)
    see(out, node.callee.kind == "member" and node.callee.a or node.callee, "read")
    see_args(out, node.args)
    if not method then
      not_known(out, ("a call of `%s`, which is not known"):format(node.callee.name or "("))
    end
    out.warp, out.barrier = out.warp or method ~= nil, out.barrier or method == "sync"
  elseif COLLECTIVES[name:match "^cg::([%w_]+)$" or name:match "^cooperative_groups::([%w_]+)$"]
    and node.args[1] then
    see_collective(out, node)
  elseif GROUPS[name:match "[%w_]+$"] then
    see_args(out, node.args)
    out.warp = true
  elseif out.fn.kernel.macros[name] then
    see_macro(out, name, node.first)
    see_args(out, node.args)
  elseif name:find "^atomic%u" and node.args[1] then
    see_pointed(out, node.args[1], "update", { atomic = name })
    see_args(out, node.args, 2)
  elseif LOADS[name] and #node.args == 1 then
    see_pointed(out, node.args[1], "read", { cached = name })
  elseif STORES[name] and #node.args == 2 then
    see_pointed(out, node.args[1], "write", { cached = name })
    see(out, node.args[2], "read")
  elseif PAIRS[name] and #node.args == 3 then
    see(out, node.args[1], "read")
    see_pointed(out, node.args[2], "write")
    see_pointed(out, node.args[3], "write")
  elseif BARRIERS[name] then
    see_args(out, node.args)
    out.barrier = true
  elseif is_warp(name) then
    see_args(out, node.args)
    out.warp = true
  elseif fn then
    see_function(out, fn, node)
  else
    see_args(out, node.args)
    if not M.is_pure(name) and not makes_number(out.fn, node) then
      not_known(out, ("a call of `%s`, which is not known"):format(name))
    end
  end
end

local SEE = {
  number = function() end,
  name = see_name,
  call = see_call,
  index = see_index,
  member = see_member,
  cast = function(out, node, mode) see(out, node.a, mode == "read" and "read" or "address") end,
  list = function(out, node) see_args(out, node.items) end,
  binary = function(out, node)
    see(out, node.a, "read")
    see(out, node.b, "read")
  end,
  choice = function(out, node, mode)
    see(out, node.condition, "read")
    see(out, node.a, mode)
    see(out, node.b, mode)
  end,
  postfix = function(out, node) see(out, node.a, "update") end,
  assign = function(out, node)
    see(out, node.b, "read")
    see(out, node.a, node.op == "=" and "write" or "update")
  end,
}

function SEE.unary(out, node, mode)
  if node.op == "++" or node.op == "--" then return see(out, node.a, "update") end
  if node.op == "*" then return see_target(out, node.a, mode) end
  if node.op == "&" then return see(out, node.a, "address") end
  return see(out, node.a, "read")
end

-- A macro that stands for an element of one of several arrays, PIXEL(row) = 1: any of them.
local function see_place(out, node, mode)
  local macro = node.kind == "call" and node.callee.kind == "name"
    and out.fn.kernel.macros[node.callee.text]
  if not macro or not macro.places then return false end
  for _, name in ipairs(macro.places) do see_access(out, name, nil, mode, node) end
  return true
end

function see(out, node, mode)
  if mode ~= "read" and (node.kind == "call" or node.kind == "binary")
    and not see_place(out, node, mode) then
    not_known(out, "what an expression gives is changed")
  end
  SEE[node.kind](out, node, mode)
end

local function see_declared(out, s)
  for _, d in ipairs(s.declared) do
    if d.unknown_init then not_known(out, d.why) end
    local is_elsewhere = d.reference and not d.const and not M.element_of(out.fn, d)
    local before = #out.accesses
    if d.init then see(out, d.init, is_elsewhere and "address" or "read") end
    for i = before + 1, d.reference and #out.accesses or 0 do -- no load: it comes with the name
      local access = out.accesses[i]
      if access.node == d.init and access.mode == "read" then access.mode = "bound" end
    end
    for _, extent in ipairs(d.extents) do
      if extent then see(out, extent, "read") end
    end
    add(out.writes, d.name, d.token)
    out.declares[d.name] = d
  end
end

local function see_statement(out, s)
  if s.kind == "unknown" or s.unknown or s.unknown_header or s.ranged then
    not_known(out, s.why)
  end
  if s.kind == "declaration" then see_declared(out, s) end
  if s.tree then see(out, s.tree, "read") end
  if s.condition then see(out, s.condition, "read") end
  if s.step then see(out, s.step, "read") end
  if statement.is_conditional(s) then out.conditional = true end
  if s.kind == "return" or s.kind == "goto" or s.kind == "label" then out[s.kind] = true end
end

--- The effects of several nodes together; `false` and nil among n are left out.
function M.all(fn, nodes)
  local out = { fn = fn, reads = {}, writes = {}, accesses = {}, calls = {}, declares = {},
    addresses = {}, asks = {} }
  for _, node in ipairs(nodes) do
    if expression.is_tree(node) then
      see(out, node, "read")
    else
      statement.walk(node, function(s) see_statement(out, s) end)
    end
  end
  out.fn = nil
  return out
end

--- Returns the effects of a statement with all below it, or of an expression. They are kept with
--- the node.
---@param node table a statement or an expression
---@return table
function M.of(fn, node)
  node.effects = node.effects or M.all(fn, { node })
  return node.effects
end

return M
