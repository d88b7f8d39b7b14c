--- vector: vectorized loads and stores
--
-- where     loops
-- needs     loop, apart, accumulators
-- becomes   two or four neighbouring elements read and written at once, where they are aligned
-- promises  apart, accumulators
--
--   for (; i + 3 < n; i += 4) {
--     float4 a_4 = *(const float4 *)&a[i];
--     sum += a_4.x; … sum += a_4.w;
--   }
--
-- With `split` behind the width, what the loop adds up is added up in as many parts
-- (split_accumulator).
--
-- Such a load must begin at a multiple of its size: the loop first goes there element by element,
-- and where the other arrays are not there then, it goes on so.

local accumulators = require "gilua.facts.accumulators"
local affine = require "gilua.source.affine"
local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local iterations = require "gilua.rewrite.iterations"
local lists = require "gilua.base.lists"
local types = require "gilua.facts.types"

local VECTORS = { -- element -> widths
  float = { 4, 2 }, int = { 4, 2 }, ["unsigned int"] = { 4, 2 }, double = { 2 },
  ["long long"] = { 2 }, short = { 4, 2 }, ["unsigned short"] = { 4, 2 }, char = { 4 },
  ["unsigned char"] = { 4 },
}
local BYTES = { float = 4, int = 4, ["unsigned int"] = 4, double = 8, ["long long"] = 8,
                short = 2, ["unsigned short"] = 2, char = 1, ["unsigned char"] = 1 }
local COMPONENTS = { "x", "y", "z", "w" }

local function vector_name(type, width)
  return type:gsub("unsigned ", "u"):gsub("long long", "longlong") .. width
end

-- The statements that each iteration executes: those directly in the body.
local function is_certain(loop, node)
  local list = loop.body.kind == "block" and loop.body.body or { loop.body }
  for _, s in ipairs(list) do
    if s.first <= node.first and node.last <= s.last then
      return s.kind == "expression" or s.kind == "declaration"
    end
  end
  return false
end

local function is_memory(fn, access)
  local d = access.root and fn:declaration(access.root, access.token)
  return access.root ~= nil and (not d or d.parameter or d.shared or false)
end

-- Returns an access as an element i + rest of an array, or nil if it is not one.
local function element(loop, access)
  local fn, node = loop.fn, access.node
  local type = types.plain(fn:element_type(access) or "")
  local fits = node and node.kind == "index" and access.indices and #access.indices == 1
    and VECTORS[type] and not access.atomic and not access.escapes and not access.cached
    and is_memory(fn, access) and is_certain(loop, node)
  if not fits then return nil end
  local factor = affine.in_variable(fn.kernel, access.indices[1], loop.variable)
  if factor ~= 1 then return nil end
  local d = fn:declaration(access.base, access.token)
  return { text = fn.kernel:plain(node), type = type, root = access.root, base = access.base,
           nodes = {}, const = d and d.target_const }
end

-- Is an index the same in each iteration, but for the loop's variable?
local function is_steady(loop, access)
  local all = effects.of(loop.fn, access.indices[1])
  for name in pairs(all.reads) do
    if name ~= loop.variable and loop.inside.writes[name] then return false end
  end
  return #all.accesses == 0 and not all.opaque
end

-- May elements be together, though the loop does other things with their array?
local function is_apart(loop, list, e)
  local writes = e.writes
  for _, access in ipairs(loop.inside.accesses) do
    local own = access.node and loop.fn.kernel:plain(access.node) == e.text
    local same = apart.may_touch(loop.fn, access, e.root)
    if same and not own and (writes or access.write) then return false end
    if own and not list[access] then return false end
  end
  return true
end

-- What the loop has of them, in the order in which they stand.
local function elements(loop, width)
  local list, by_text, known = {}, {}, {}
  if not loop.simple or loop.conditional or loop.continues or loop.barrier or loop.step ~= 1
    or loop.relation ~= "<" and loop.relation ~= "<=" then
    return list
  end
  for _, access in ipairs(loop.inside.accesses) do
    local e = element(loop, access)
    if e and is_steady(loop, access) then
      e = by_text[e.text] or e
      if not by_text[e.text] then
        by_text[e.text] = e
        list[#list + 1] = e
      end
      known[access] = true
      e.nodes[#e.nodes + 1] = access.node
      e.writes, e.reads = e.writes or access.write, e.reads or access.read
      e.first_writes = e.first_writes or access.mode == "write" and #e.nodes == 1
    end
  end
  local right = {}
  for _, e in ipairs(list) do
    local fits = lists.any(VECTORS[e.type], function(w) return w == width end)
    if fits and is_apart(loop, known, e) then right[#right + 1] = e end
  end
  return right
end

local function place(e) return ("(size_t)&%s"):format(e.text) end

-- Returns the condition of a misaligned element. Elements of different sizes have different ones.
local function misplaced(e, width)
  return ("(%s & %d) != 0"):format(place(e), BYTES[e.type] * width - 1)
end

local function all_placed(list, width)
  local parts = {}
  for i = 2, #list do
    parts[#parts + 1] = ("(%s & %d) == 0"):format(place(list[i]), BYTES[list[i].type] * width - 1)
  end
  return #parts > 0 and table.concat(parts, " && ") or nil
end

-- The lines that load and store, and the components in the n-th copy.
local function plan(kernel, list, width)
  local first, last, taken = {}, {}, {}
  for _, e in ipairs(list) do
    local vector, name = vector_name(e.type, width), kernel:fresh(("%s_%d"):format(e.base, width))
    while taken[name] do name = kernel:fresh(name .. "_too") end
    taken[name], e.name = true, name
    local load = ("*(const %s *)&%s"):format(vector, e.text)
    first[#first + 1] = e.first_writes and ("%s %s;"):format(vector, name)
      or ("%s %s = %s;"):format(vector, name, load)
    if e.writes then last[#last + 1] = ("*(%s *)&%s = %s;"):format(vector, e.text, name) end
  end
  return first, last, function(n)
    local instead = {}
    for _, e in ipairs(list) do
      for _, node in ipairs(e.nodes) do
        instead[node.first] = { e.name .. "." .. COMPONENTS[n + 1], node.last }
      end
    end
    return instead
  end
end

local function both(one, other)
  return function(n)
    local instead = one(n)
    for token, text in pairs(other(n)) do instead[token] = text end
    return instead
  end
end

local function some_elements(at)
  local list = elements(at.loop, at[1])
  return #list > 0 and list or nil
end

-- Returns a question that matters with `split` alone.
local function if_split(ask)
  return function(at)
    if not at[2] then return true end
    return ask(at)
  end
end

local function becomes(at, e)
  local kernel, list, width = at.kernel, at.elements, at[1]
  local options = { while_also = misplaced(list[1], width), condition = all_placed(list, width) }
  options.first, options.last, options.instead = plan(kernel, list, width)
  if at[2] then
    local before, after, instead = accumulators.parts(kernel, at.sums, width)
    options.before, options.after = before, after
    options.instead = both(options.instead, instead)
  end
  iterations.write(e, at.loop, at.tokens, width, options)
  return ("%s is read or written %d elements at a time in the loop at line %d"):format(
    list[1].base, width, at.line)
end

return { name = "vector", where = "loops",
  doc = "Two or four neighbouring elements of an array read and written at once.",
  args = { { "elements", { 4, 2 } },
           { "way", { false, "split" } } },
  needs = {
    { "loop", iterations.can_be_written, gives = "tokens" },
    { "apart", some_elements, gives = "elements",
      says = "the loop goes over no neighbouring elements" },
    { "accumulators", if_split(accumulators.some), gives = "sums" },
    { "accumulators", if_split(function(at) return accumulators.stay_in_range(at.sums) end),
      promised = true },
  },
  becomes = becomes,
}
