--- atomics: updates of memory that threads share, made less often.
--
--   warp_atomic   atomicAdd(&y[0], v), where all threads mean the same element: the lanes of a warp
--                 add up what they have and one of them updates it. With `match`, of counters: the
--                 lanes that mean the same element are found, and one of them adds their number.
--   block_atomic  what a kernel adds to an array each block adds up in shared memory, and at the
--                 end to the array's. Where nobody knows how many elements there are, a block keeps
--                 so many, and what is added to others goes to the array at once.

local affine = require "gilua.source.affine"
local apart = require "gilua.facts.apart"
local bodyloop = require "gilua.rewrite.bodyloop"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"
local uniform = require "gilua.facts.uniform"

local THREAD = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
local ADDED = { int = true, ["unsigned int"] = true, float = true, double = true,
                ["unsigned long long"] = true }

-- A statement that is an atomicAdd(&a[i], v) and nothing else; its access.
local function atomic_add(fn, s)
  local call = s.kind == "expression" and s.tree.kind == "call" and s.tree
  local fits = call and call.callee.kind == "name" and call.callee.text == "atomicAdd"
    and #call.args == 2
  if not fits then return nil end
  for _, access in ipairs(effects.of(fn, s).accesses) do
    if access.atomic then return call, access end
  end
end

-- What is added has this type: that of the element.
local function added_type(fn, access)
  local type = types.plain(fn:element_type(access) or "")
  return ADDED[type] and type or nil
end

local function fresh(kernel, name) return kernel:fresh(name) end

-- ---- warp_atomic ------------------------------------------------------------------------------

local function all_uniform(fn, access)
  for _, index in ipairs(access.indices or {}) do
    if not uniform.of(fn, index) then return false end
  end
  return access.indices ~= nil and access.root ~= nil
end

local function by_shuffles(fn, call, access, type)
  local kernel = fn.kernel
  local value, step = fresh(kernel, "warp_value"), fresh(kernel, "lanes")
  local place = kernel:plain(call.args[1])
  return {
    "{",
    ("  %s %s = %s;"):format(type, value, kernel:plain(call.args[2])),
    "  if (__activemask() == 0xffffffffu) {",
    ("    for (int %s = 16; %s > 0; %s /= 2)"):format(step, step, step),
    ("      %s += __shfl_xor_sync(0xffffffffu, %s, %s);"):format(value, value, step),
    ("    if ((%s) %% 32 == 0)"):format(THREAD),
    ("      atomicAdd(%s, %s);"):format(place, value),
    "  } else {",
    ("    atomicAdd(%s, %s);"):format(place, value),
    "  }",
    "}",
  }, ("the lanes of a warp add to %s together"):format(kernel:plain(access.node))
end

local function by_match(fn, call, access)
  local kernel, n = fn.kernel, affine.integer(call.args[2])
  local place, same = fresh(kernel, "place"), fresh(kernel, "same_place")
  return {
    "{",
    ("  auto %s = %s;"):format(place, kernel:plain(call.args[1])),
    ("  unsigned int %s = __match_any_sync(__activemask(), (unsigned long long)%s);"):format(same,
      place),
    ("  if ((%s) %% 32 == __ffs(%s) - 1)"):format(THREAD, same),
    ("    atomicAdd(%s, %s__popc(%s));"):format(place, n ~= 1 and n .. " * " or "", same),
    "}",
  }, ("the lanes that mean the same element of %s add to it together"):format(access.base or "it")
end

local COUNTED = { int = true, ["unsigned int"] = true, ["unsigned long long"] = true }

-- The lines in an atomicAdd's place; nil and why.
local function in_warp(fn, s, way)
  local call, access = atomic_add(fn, s)
  if not call then return nil, "no atomicAdd of its own is there" end
  local type = added_type(fn, access)
  if not type then return nil, "its element's type is not known" end
  if fn.kind ~= "kernel" then return nil, "it is in no kernel" end
  if way == "match" then
    if not COUNTED[type] or not affine.integer(call.args[2]) then
      return nil, "it does not count by a constant"
    end
    return by_match(fn, call, access)
  end
  if not all_uniform(fn, access) then return nil, "its element differs between threads" end
  return by_shuffles(fn, call, access, type)
end

-- Lines in the place of a statement.
local function put(kernel, s, lines)
  local e, indent = edit.new(kernel), kernel:indent(s.first)
  e:replace(s.first, s.last, table.concat(lines, "\n" .. indent))
  return e:lines()
end

local warp_atomic = { name = "warp_atomic",
  doc = "The lanes of a warp add up what they have before one of them updates memory." }

function warp_atomic.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    for _, s in ipairs(fn.statements) do
      local line = kernel:line_of(s.first)
      if kernel:is_open(line, kernel:line_of(s.last)) and atomic_add(fn, s) then
        if in_warp(fn, s) then list[#list + 1] = { line = line, args = {} } end
        if in_warp(fn, s, "match") then list[#list + 1] = { line = line, args = { "match" } } end
      end
    end
  end
  return list
end

function warp_atomic.make(kernel, line, args)
  if args[1] and args[1] ~= "match" then return nil, "the one way with a name is match" end
  local s, fn = kernel:statement_at(line, function(s, fn) return atomic_add(fn, s) end)
  if not s then return nil, "no atomicAdd is there" end
  local lines, says = in_warp(fn, s, args[1])
  if not lines then return nil, says end
  return { edits = put(kernel, s, lines), says = says }
end

-- ---- block_atomic -----------------------------------------------------------------------------

local MOST_BYTES = 32768
local BYTES = { int = 4, ["unsigned int"] = 4, float = 4, double = 8, ["unsigned long long"] = 8 }
local SIZES = { "256", "1024" } -- where nobody knows how many there are
local EXTENT = { ["unsigned char"] = 256, uint8_t = 256, uchar = 256 }

-- How many elements an index can mean: x & 255, x % 64, a byte, 3; nil where that is not known.
local function extent(fn, index)
  while index.kind == "cast" and not EXTENT[index.type] do index = index.a end
  local type = types.of(fn, index)
  if EXTENT[type] then return EXTENT[type] end
  if affine.integer(index) then return affine.integer(index) + 1 end
  if index.kind ~= "binary" then return nil end
  local n = affine.integer(index.b)
    or index.b.kind == "name" and math.tointeger(tonumber((fn.kernel.macros[index.b.text]
      or {}).value or ""))
  local is_positive = (types.of(fn, index.a) or ""):find "^unsigned"
  if index.op == "&" and n and (n & (n + 1)) == 0 then return n + 1 end
  if index.op == "%" and n and is_positive then return n end
end

-- What a kernel adds to an array, where it does nothing else with it: { type, n (elements; nil
-- where that is not known), sums (of statement, call, access) }.
local function added(fn, p)
  local found = { n = 0, sums = {} }
  for _, s in ipairs(fn.statements) do
    local call, access = atomic_add(fn, s)
    if call and access.base == p.name then
      local type = added_type(fn, access)
      if not type or not access.indices or #access.indices ~= 1 then return nil end
      local n = extent(fn, access.indices[1])
      found.type, found.n = type, found.n and n and math.max(found.n, n)
      table.insert(found.sums, { statement = s, call = call, access = access })
    end
  end
  local n = 0
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    if apart.may_touch(fn, access, p.name) then n = n + 1 end
  end
  return #found.sums > 0 and n == #found.sums and found or nil
end

-- Do threads leave the kernel before its end? true; nil and why where that cannot be undone.
local function leaves_early(fn)
  local all = effects.of(fn, fn.body)
  if all.opaque then return nil, "something in the kernel is not understood" end
  if not all["return"] and not all["goto"] then return false end
  local why = threads.unfit_for_loop(fn) or select(2, threads.returns(fn))
  if why then return nil, "threads may leave the kernel before its end, and " .. why end
  return true
end

-- What each block can add up by itself; nil and why it cannot.
local function private(fn, p)
  if not fn.is_entry or p.pointer ~= 1 or not fn.body then return nil, "it is no kernel's" end
  local leaves, why = leaves_early(fn)
  if leaves == nil then return nil, why end
  local found = added(fn, p)
  if not found then return nil, "it is not an array that the kernel adds to and nothing else" end
  found.leaves = leaves
  if found.n and found.n * BYTES[found.type] > MOST_BYTES then found.n = nil end
  return found
end

local block_atomic = { name = "block_atomic", apart = true,
  doc = "What is added to an array, kept by each block in shared memory and added at the end." }

function block_atomic.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    for _, p in ipairs(kernel:is_open(fn.line, fn.last_line) and fn.params or {}) do
      local found = private(fn, p)
      for _, size in ipairs(not found and {} or found.n and { false } or SIZES) do
        list[#list + 1] = { line = fn.line, args = { p.name, size or nil } }
      end
    end
  end
  return list
end

-- Lines that go over all elements with all threads, each further in than the first.
local function each_element(k, n, line)
  return { ("for (int %s = %s; %s < %d;"):format(k, THREAD, k, n),
           ("     %s += blockDim.x * blockDim.y * blockDim.z)"):format(k), "  " .. line }
end

-- An atomicAdd to the block's elements, and to the array's where there are not so many.
local function guarded(kernel, sum, own, n, type, e)
  local place, value = kernel:fresh(own .. "_place"), kernel:fresh(own .. "_value")
  local node = sum.access.node
  local array = kernel:source(node.first, node.a.last)
  local lines = {
    "{",
    ("  const auto %s = %s;"):format(place, kernel:plain(sum.access.indices[1])),
    ("  const %s %s = %s;"):format(type, value, kernel:plain(sum.call.args[2])),
    ("  if ((unsigned long long)%s < %d)"):format(place, n),
    ("    atomicAdd(&%s[%s], %s);"):format(own, place, value),
    "  else",
    ("    atomicAdd(&%s[%s], %s);"):format(array, place, value),
    "}",
  }
  local s = sum.statement
  e:replace(s.first, s.last, table.concat(lines, "\n" .. kernel:indent(s.first)))
end

local function put_sums(kernel, found, own, n, e)
  for _, sum in ipairs(found.sums) do
    if found.n == n then
      local name = sum.access.node
      while name.kind == "index" do name = name.a end
      e:replace(name.first, name.last, own)
    else
      guarded(kernel, sum, own, n, found.type, e)
    end
  end
end

local function privatised(fn, p, found, n)
  local kernel, body = fn.kernel, fn.body
  local own, k, e = kernel:fresh(p.name .. "_block"), kernel:fresh("element"), edit.new(kernel)
  local indent = body.body[1] and kernel:indent(body.body[1].first) or "  "
  local function put_lines(lines) return "\n" .. indent .. table.concat(lines, "\n" .. indent) end
  local before = each_element(k, n, ("%s[%s] = 0;"):format(own, k))
  table.insert(before, 1, ("__shared__ %s %s[%d];"):format(found.type, own, n))
  before[#before + 1] = "__syncthreads();"
  local after = each_element(k, n, ("if (%s[%s] != 0) atomicAdd(&%s[%s], %s[%s]);"):format(
    own, k, p.name, k, own, k))
  table.insert(after, 1, "__syncthreads();")
  e:after(body.first, put_lines(before))
  put_sums(kernel, found, own, n, e)
  local range = found.leaves and bodyloop.put(fn, e, { "do {" }, nil, "} while (false);")
  if range then
    e:before(fn.close, indent .. table.concat(after, "\n" .. indent) .. "\n")
  else
    e:after(body.body[#body.body].last, put_lines(after))
  end
  return { edits = e:lines(), indent = range and { range } }
end

local function size_of(found, asked)
  local n = asked and math.tointeger(tonumber(asked)) or not asked and found.n
  if not n or n < 1 or n * BYTES[found.type] > MOST_BYTES then
    return nil, "it needs to be told how many elements a block is to keep, in 32 KiB at most"
  end
  return n
end

function block_atomic.make(kernel, line, args)
  for _, fn in ipairs(kernel.functions) do
    for _, p in ipairs(fn.line == line and fn.params or {}) do
      if p.name == args[1] then
        local found, why = private(fn, p)
        if not found then return nil, why end
        local n, unknown = size_of(found, args[2])
        if not n then return nil, unknown end
        local change = privatised(fn, p, found, n)
        if not change.edits then return nil, "two changes overlap" end
        change.says = ("each block adds up %s in shared memory first"):format(p.name)
        return change
      end
    end
  end
  return nil, ("no kernel with a parameter %s begins there"):format(args[1] or "")
end

return { warp_atomic, block_atomic }
