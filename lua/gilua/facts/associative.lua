--- associative: may a loop put the values of a variable together in another order?
--
--   float c; c += a[i] * 0.5f;   yes, but for roundings
--   int c;   c += w[i] & 3;      yes: integers wrap around in any order
--   int c;   c += a[i] * 0.5f;   no: each iteration drops a fraction of its own
--
-- Unknown is no: an integer, or a type of a template, and a value whose type is not known.

local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"
local types = require "gilua.facts.types"

local M = {}

local FLOATING = settings.set "double float half __half __nv_bfloat16"
local WHOLE_CALLS = settings.set("__popc __popcll __ffs __ffsll __clz __clzll __brev __ballot_sync "
  .. "__any_sync __all_sync __float2int_rn __float2int_rz __float2int_rd __float2int_ru __mul24 "
  .. "__umul24 __mulhi __umulhi __sad __usad __dp4a __dp2a_lo __dp2a_hi")
local OVERLOADS = settings.set "__ldg abs min max" -- whose result has their arguments' type
local PASSES = settings.set "+ - * / % & | ^ ~ << >>"

local function plain(kernel, type)
  type = type:gsub("^const ", ""):gsub("^std%s*::%s*", "")
  return types.plain(types.resolved(kernel, type))
end

local is_whole -- is a value of an integer type, or of the variable's own?

local function of_call(fn, node, own)
  local name = node.callee.kind == "name" and node.callee.text:gsub("^std%s*::%s*", "")
  if node.makes then return name == own end
  name = name and (types.resolved(fn.kernel, name):match "^[%w_]+$" or name)
  if not name or not effects.is_of_cuda(fn.kernel, name) then return false end
  if WHOLE_CALLS[name] then return true end
  return OVERLOADS[name] ~= nil and lists.none(node.args, function(arg)
    return not is_whole(fn, arg, own)
  end)
end

-- Does a tree load nothing but elements of such types?
local function loads_whole(fn, node, own)
  local list = effects.of(fn, node).accesses
  return #list > 0 and lists.none(list, function(access)
    local type = plain(fn.kernel, fn:element_type(access) or "")
    return type ~= own and not types.is_whole(type)
  end)
end

function is_whole(fn, node, own)
  local type = types.of(fn, node)
  type = type and plain(fn.kernel, type)
  if type then return type == own or types.is_whole(type) end
  if node.kind == "call" then return of_call(fn, node, own) end
  if node.kind == "unary" and (node.op == "*" or node.op == "&") then
    return loads_whole(fn, node, own)
  end
  if node.kind == "unary" then return PASSES[node.op] and is_whole(fn, node.a, own) or false end
  local both = node.kind == "choice" or node.kind == "binary" and PASSES[node.op]
  return both and is_whole(fn, node.a, own) and is_whole(fn, node.b, own) or false
end

--- May values be put together in another order in a variable of this type?
---@param type string of the variable's declaration
---@param value table the tree of what is added, or compared
function M.of(fn, type, value)
  local own = plain(fn.kernel, type)
  return FLOATING[own] or is_whole(fn, value, own)
end

--- Is a type an integer's, or one of a template, which may be?
function M.may_be_whole(fn, type)
  local own = plain(fn.kernel, type)
  return types.is_whole(own) or lists.any(fn.tparams or {}, function(t) return t.name == own end)
end

return M
