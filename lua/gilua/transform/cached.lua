--- cached: loads and stores of an array by another way through the caches.
--
--   load   T:load<LINE>(ARRAY,OPERATOR)   ldg: the read-only way, of what no thread writes; ldcs:
--          read once; ldcg: past the first cache; ldca: kept in both
--   store  T:store<LINE>(ARRAY,OPERATOR)  stcs: not read again soon; stcg, stwt, stwb
--
-- LINE is the first of the function, ARRAY its parameter; pointers made from it count with it.

local edit = require "gilua.transform.edit"
local effects = require "gilua.transform.effects"

local LOADS = { "ldg", "ldcs", "ldcg", "ldca" }
local STORES = { "stcs", "stcg", "stwt" }

local TYPES = {}
for type in ("char,short,int,long long,float,double,unsigned char,unsigned short,unsigned int,"
  .. "unsigned,unsigned long long,float2,float4,double2,int2,int4,uint2,uint4,uchar4,uint8_t,"
  .. "int8_t,uint16_t,int16_t,uint32_t,int32_t,uchar,uint,size_t"):gmatch "[^,]+" do
  TYPES[type] = true
end

local function has(list, word)
  for _, w in ipairs(list) do
    if w == word then return true end
  end
  return false
end

-- The accesses of an array that can be made in another way: a[i], read or written as a whole.
local function accesses(fn, name, mode)
  local list, targets = {}, {}
  if not fn.body then return list end
  for _, s in ipairs(fn.statements) do
    if s.tree and s.tree.kind == "assign" and s.tree.op == "=" then targets[s.tree.a] = s.tree end
  end
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    local node = access.node
    local fits = access.root == name and access.mode == mode and node and node.kind == "index"
      and not access.cached and not access.atomic and not access.escapes
      and TYPES[fn:element_type(access) or ""]
    if fits and (mode == "read" or targets[node]) then
      list[#list + 1] = { node = node, assignment = targets[node] }
    end
  end
  return list
end

local function is_pointer(p) return p.pointer == 1 and #p.extents == 0 end

local function fits(fn, p, operator)
  return is_pointer(p) and (operator ~= "ldg" or fn:is_constant(p.name))
end

local function finder(operators, mode)
  return function(kernel)
    local list = {}
    for _, fn in ipairs(kernel.functions) do
      for _, p in ipairs(kernel:is_open(fn.line, fn.last_line) and fn.params or {}) do
        for _, operator in ipairs(operators) do
          if fits(fn, p, operator) and #accesses(fn, p.name, mode) > 0 then
            list[#list + 1] = { line = fn.line, args = { p.name, operator } }
          end
        end
      end
    end
    return list
  end
end

local function maker(operators, mode, change, said)
  return function(kernel, line, args)
    if not has(operators, args[2]) then
      return nil, "the way is one of " .. table.concat(operators, ", ")
    end
    for _, fn in ipairs(kernel.functions) do
      for _, p in ipairs(fn.line == line and fn.params or {}) do
        if p.name == args[1] then
          if not fits(fn, p, args[2]) then return nil, p.name .. " is written there" end
          local list, e = accesses(fn, p.name, mode), edit.new(kernel)
          if #list == 0 then return nil, ("no element of %s is there"):format(p.name) end
          for _, access in ipairs(list) do change(kernel, e, access, args[2]) end
          local edits = e:lines()
          if not edits then return nil, "two changes overlap" end
          return { edits = edits, says = said:format(p.name, "__" .. args[2]) }
        end
      end
    end
    return nil, ("no function with a parameter %s begins there"):format(args[1] or "")
  end
end

local function load(_, e, access, operator)
  e:before(access.node.first, ("__%s(&"):format(operator))
  e:after(access.node.last, ")")
end

local function store(kernel, e, access, operator)
  local a, b = access.assignment.a, access.assignment.b
  e:before(a.first, ("__%s(&"):format(operator))
  e:replace(a.last, b.first - 1, kernel:source(a.last, a.last) .. ",")
  e:after(b.last, ")")
end

return {
  { name = "load", apart = true,
    doc = "Loads of an array by another way through the caches: __ldg, __ldcs.",
    find = finder(LOADS, "read"), make = maker(LOADS, "read", load, "%s is loaded by %s") },
  { name = "store", doc = "Stores to an array by another way through the caches: __stcs.",
    find = finder(STORES, "write"), make = maker(STORES, "write", store, "%s is stored by %s") },
}
