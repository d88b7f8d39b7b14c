--- block_atomic: privatization of a histogram in shared memory
--
-- where     parameters
-- needs     memory_of, types
-- becomes   what a kernel adds to an array, added up by each block, and to the array at the end
-- promises  apart
--
-- Where the number of elements is unknown, a block keeps the first so many, and what is added to
-- others goes to the array at once.

local added = require "gilua.facts.added"
local affine = require "gilua.source.affine"
local bodyloop = require "gilua.rewrite.bodyloop"
local effects = require "gilua.facts.effects"
local summed = require "gilua.facts.summed"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"

local THREAD = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
local MOST_BYTES = 32768
local BYTES = { int = 4, ["unsigned int"] = 4, float = 4, double = 8, ["unsigned long long"] = 8 }
local SIZES = { "256", "1024" } -- where nobody knows how many elements there are
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
local function sums_of(fn, p)
  local found = { n = 0, sums = {} }
  for _, s in ipairs(fn.statements) do
    local one = added.of(fn, s)
    if one and one.access.base == p.name then
      local indices = one.access.indices
      if not one.type or not indices or #indices ~= 1 then return nil end
      local n = extent(fn, indices[1])
      found.type, found.n = one.type, found.n and n and math.max(found.n, n)
      table.insert(found.sums, { statement = s, call = one.call, access = one.access })
    end
  end
  local is_all = #found.sums > 0 and summed.touched(fn, p.name) == #found.sums
  return is_all and found or nil
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

-- What each block can add up by itself.
local function sums(at)
  if not at.fn.is_entry or at.p.pointer ~= 1 then return nil, "it is no kernel's" end
  local leaves, why = leaves_early(at.fn)
  if leaves == nil then return nil, why end
  local found = sums_of(at.fn, at.p)
  if not found then return nil, "it is not an array that the kernel adds to and nothing else" end
  found.leaves = leaves
  if found.n and found.n * BYTES[found.type] > MOST_BYTES then found.n = nil end
  return found
end

-- How many elements a block keeps.
local function size_of(at)
  local found, asked = at.sums, at[2]
  local n = asked and math.tointeger(tonumber(asked)) or not asked and found.n
  if not n or n < 1 or n * BYTES[found.type] > MOST_BYTES then
    return nil, "it needs to be told how many elements a block is to keep, in 32 KiB at most"
  end
  return n
end

-- The parameters of each kernel, with the sizes that are worth trying.
local function places(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    for _, p in ipairs(fn.params) do
      list[#list + 1] = { fn = fn, p = p, name = p.name, line = fn.line, last = fn.last_line }
    end
  end
  return list
end

-- The array, and how many elements a block keeps where that is not known.
local function proposed(at)
  local found = at.fn.body and sums(at)
  local list = { { at.name } }
  if found and not found.n then
    for i, size in ipairs(SIZES) do list[i] = { at.name, size } end
  end
  return list
end

local function read(args)
  if args[1] and not args[3] then return { args[1], args[2] or false } end
  return nil, "it is written block_atomic<LINE>(ARRAY,ELEMENTS), or (ARRAY) where its size is known"
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

local function becomes(at, e)
  local fn, kernel, body, found, n = at.fn, at.kernel, at.fn.body, at.sums, at.size
  local own, k = kernel:fresh(at.name .. "_block"), kernel:fresh("element")
  local indent = body.body[1] and kernel:indent(body.body[1].first) or "  "
  local function put_lines(lines) return "\n" .. indent .. table.concat(lines, "\n" .. indent) end
  local before = each_element(k, n, ("%s[%s] = 0;"):format(own, k))
  table.insert(before, 1, ("__shared__ %s %s[%d];"):format(found.type, own, n))
  before[#before + 1] = "__syncthreads();"
  local after = each_element(k, n, ("if (%s[%s] != 0) atomicAdd(&%s[%s], %s[%s]);"):format(
    own, k, at.name, k, own, k))
  table.insert(after, 1, "__syncthreads();")
  e:after(body.first, put_lines(before))
  put_sums(kernel, found, own, n, e)
  local range = found.leaves and bodyloop.put(fn, e, { "do {" }, nil, "} while (false);")
  if range then
    e:before(fn.close, indent .. table.concat(after, "\n" .. indent) .. "\n")
  else
    e:after(body.body[#body.body].last, put_lines(after))
  end
  return ("each block adds up %s in shared memory first"):format(at.name),
    { indent = range and { range } }
end

return { name = "block_atomic", where = places, set = "parameters", args = proposed, read = read,
  named = "name", none = "no kernel with a parameter of that name begins there",
  doc = "What is added to an array, kept by each block in shared memory and added at the end.",
  needs = { { "memory_of", sums, gives = "sums" }, { "types", size_of, gives = "size" } },
  becomes = becomes,
}
