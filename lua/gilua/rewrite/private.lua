--- private: privatization of a shared array
--
-- where     kernels
-- needs     threads, memory_of
-- becomes   a shared array becomes a variable if each thread uses its own element alone
-- promises  nothing
--
--   __shared__ float next[16][16];         float next_own;
--   next[ty][tx] = …;                      next_own = …;
--   __syncthreads();                       __syncthreads();
--   out[i] = next[ty][tx];                 out[i] = next_own;
--
-- All of a kernel's such arrays at once; the barriers stay (barriers.lua).

local effects = require "gilua.facts.effects"
local threads = require "gilua.facts.threads"

-- The sides along which a kernel's threads differ.
local function sides_of(fn)
  local uses, list = threads.uses(fn), {}
  for _, side in ipairs(threads.SIDES) do
    if #uses.threadIdx[side] > 0 then list[#list + 1] = side end
  end
  return list
end

-- Is each index a thread's number on a side, and are all sides among them? The sides in their
-- order, which all uses of an array must have: s[y][x] and s[x][y] are two threads'.
local function own_order(fn, indices, sides)
  local found, order = {}, {}
  for _, index in ipairs(indices) do
    local of
    for _, side in ipairs(sides) do
      if threads.is_thread(fn, index, side) then of = side end
    end
    if not of or found[of] then return nil end
    found[of], order[#order + 1] = true, of
  end
  return #order == #sides and table.concat(order) or nil
end

-- How often a name stands in a function; nil where a macro has it, too.
local function count(fn, name)
  local words, n = fn.kernel.words, 0
  for i = fn.open, fn.close do
    if words[i] == name and words[i - 1] ~= "." and words[i - 1] ~= "->" then n = n + 1 end
    for _, inside in ipairs((fn.kernel.macros[words[i]] or {}).names or {}) do
      if inside == name then return nil end
    end
  end
  return n
end

local function differs_by_side(at)
  local uses, all = threads.uses(at.fn), effects.of(at.fn, at.fn.body)
  local sides = sides_of(at.fn)
  return not (uses.whole or uses.hidden or all.opaque or all.conditional) and #sides > 0 and sides
end

-- The arrays of a kernel that can be variables: { d, nodes }, in the order of their declarations.
local function arrays(at)
  local fn, sides, list = at.fn, at.sides, {}
  local all = effects.of(fn, fn.body)
  for _, s in ipairs(fn.body.body) do
    for _, d in ipairs(s.declared or {}) do
      local fits = d.shared and not d.extern and #d.extents == #sides and d.pointer == 0
        and not d.init and #fn.variables[d.name] == 1
      local nodes, order = {}, nil
      for _, access in ipairs(fits and all.accesses or {}) do
        if access.base == d.name or access.root == d.name then
          local is_index = access.node and access.node.kind == "index" and access.indices
          fits = fits and access.base == d.name and is_index and not access.atomic
            and not access.escapes and own_order(fn, access.indices, sides) or false
          order = order or fits
          fits = fits and fits == order
          nodes[#nodes + 1] = access.node
        end
      end
      if fits and #nodes > 0 and count(fn, d.name) == #nodes + 1 then
        list[#list + 1] = { d = d, nodes = nodes, statement = s }
      end
    end
  end
  return #list > 0 and list or nil
end

-- A declaration of shared arrays without some of them, and what is declared in their place.
local function declared(kernel, s, gone, names)
  local left, lines = {}, {}
  for _, d in ipairs(s.declared) do
    local name = gone[d]
    if name then
      lines[#lines + 1] = ("%s %s;"):format(d.type, names[d])
    else
      left[#left + 1] = kernel:source(d.token, d.last)
    end
  end
  if #left > 0 then
    local head = kernel:source(s.first, s.declared[1].token - 1)
    table.insert(lines, 1, head .. " " .. table.concat(left, ", ") .. ";")
  end
  return table.concat(lines, "\n" .. kernel:indent(s.first))
end

local NONE = "no shared array has one element a thread, and no other use"

local function becomes(at, e)
  local gone, names, words, seen = {}, {}, {}, {}
  for i, array in ipairs(at.arrays) do
    local d = array.d
    gone[d], names[d], words[i] = true, threads.new_name(at.fn, d.name .. "_own"), d.name
    for _, node in ipairs(array.nodes) do e:replace(node.first, node.last, names[d]) end
  end
  for _, array in ipairs(at.arrays) do
    local s = array.statement
    if not seen[s] then e:replace(s.first, s.last, declared(at.kernel, s, gone, names)) end
    seen[s] = true
  end
  return ("each thread has its element of %s in a variable"):format(table.concat(words, ", "))
end

return { name = "private", where = "kernels",
  doc = "A shared array as a variable, where each thread uses its own element.",
  needs = { { "threads", differs_by_side, gives = "sides", says = NONE },
            { "memory_of", arrays, gives = "arrays", says = NONE } },
  becomes = becomes,
}
