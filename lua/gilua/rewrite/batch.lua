--- batch: loop unrolling with the loads scheduled first
--
-- where     loops
-- needs     loop, early, certain
-- becomes   the loads of several iterations, before what any of these does
-- promises  apart, certain
--
--   for (; k + 1 < n; k += 2) {
--     const int to_0 = edges[k], to_1 = edges[k + 1];
--     if (!seen[to_0]) level[to_0] = l;
--     if (!seen[to_1]) level[to_1] = l;
--   }
--
-- The compiler leaves a load behind a store or a condition that stands before it. Loads that each
-- iteration makes are taken. With `all` those below a condition are, too: they may read elements
-- that the kernel would not have read, so that it is a promise that these exist.

local apart = require "gilua.facts.apart"
local certain = require "gilua.facts.certain"
local early = require "gilua.facts.early"
local iterations = require "gilua.rewrite.iterations"
local lists = require "gilua.base.lists"

local MOST_TOKENS = 1600 -- of all copies of a body

-- Can a load be made before any iteration does anything?
local function can_load(loop, access, steps)
  local node = access.node
  if not node or node.kind ~= "index" or access.mode ~= "read" or access.atomic or access.cached
    or access.escapes or not access.root or not loop.fn:element_type(access) then
    return false
  end
  for _, other in ipairs(loop.inside.accesses) do
    if other.write and apart.may_meet(loop.fn, other, access) then return false end
  end
  local function can_load_too(one, more) return can_load(loop, one, more) end
  local is_inner = loop.inside.declares[access.base]
  local base = is_inner and early.value(loop, access.base)
  if is_inner and not (base and early.of(loop, base, can_load_too, steps)) then return false end
  return lists.none(access.indices, function(index)
    return not early.of(loop, index, can_load_too, steps)
  end)
end

local function by_size(a, b)
  local one, two = a.node.last - a.node.first, b.node.last - b.node.first
  if one ~= two then return one < two end
  return a.node.first < b.node.first
end

-- The loads of an iteration that can be made early, smaller ones first: { access, … }. Without
-- `all` those of elements that each iteration loads, if not there.
local function loads(loop, all)
  local movable, list, always, kernel = {}, {}, certain.set(loop), loop.fn.kernel
  if loop.opaque or loop.conditional or loop.barrier or loop.warp then return list end
  local is_loaded = {}
  for _, access in ipairs(loop.inside.accesses) do
    if access.node and can_load(loop, access, 0) and early.moves(loop, access.node) then
      movable[#movable + 1] = access
      if always[access.node] then is_loaded[kernel:plain(access.node)] = true end
    end
  end
  for _, access in ipairs(movable) do
    if all or is_loaded[kernel:plain(access.node)] then list[#list + 1] = access end
  end
  table.sort(list, by_size)
  return list
end

-- Other words for what stands in an iteration: the loads' names, and, where a tree is evaluated
-- early, the loop's variable and what the loop declares.
local function words_of(loop, names, n, tree)
  local instead, kernel = {}, loop.fn.kernel
  for _, load in ipairs(names) do
    instead[load.node.first] = { load.name .. "_" .. n, load.node.last }
  end
  for i = tree and tree.first or 0, tree and tree.last or -1 do
    local word, before = kernel.words[i], kernel.words[i - 1]
    if not instead[i] and before ~= "." and before ~= "->" then
      local d = loop.inside.declares[word]
      if word == loop.variable and n > 0 then
        instead[i] = iterations.at(loop, i, n)
      elseif d and d.init then
        local text = kernel:source(d.init.first, d.init.last, words_of(loop, names, n, d.init))
        instead[i] = text:find "^[%w_]+$" and text or "(" .. text:gsub("%s+", " ") .. ")"
      end
    end
  end
  return instead
end

local function names_of(loop, list)
  local kernel, names, by_text, taken = loop.fn.kernel, {}, {}, {}
  for _, access in ipairs(list) do
    local text = kernel:plain(access.node)
    local same = by_text[text]
    local name = same and same.name or kernel:fresh(access.base .. "_early")
    while not same and taken[name] do name = kernel:fresh(name .. "_too") end
    taken[name] = true
    names[#names + 1] = { node = access.node, name = name, is_again = same ~= nil,
                          type = loop.fn:element_type(access) }
    by_text[text] = names[#names]
  end
  return names
end

-- The lines that make the loads of all iterations, each load's together.
local function load_lines(loop, names, factor)
  local kernel, lines = loop.fn.kernel, {}
  for i, load in ipairs(names) do
    local before, parts = table.move(names, 1, i - 1, 1, {}), {}
    for n = 0, load.is_again and -1 or factor - 1 do
      local text = kernel:source(load.node.first, load.node.last,
        words_of(loop, before, n, load.node)):gsub("%s+", " ")
      parts[#parts + 1] = ("%s_%d = %s"):format(load.name, n, text)
    end
    if #parts > 0 then
      lines[#lines + 1] = ("const %s %s;"):format(load.type, table.concat(parts, ", "))
    end
  end
  return lines
end

-- Is there anything behind which a load could not go? What is written in shared memory the compiler
-- knows to be none of what is loaded from elsewhere.
local function is_held(at)
  local loop, held = at.loop, false
  for _, access in ipairs(loop.inside.accesses) do
    local d = access.base and loop.fn:declaration(access.base, access.token)
    held = held or access.write and not (d and #d.extents > 0)
  end
  for _, s in ipairs(loop.fn.statements) do
    local inside = loop.body.first <= s.first and s.last <= loop.body.last
    held = held or inside and (s.kind == "if" or s.kind == "continue")
  end
  return held, "nothing holds its loads back, so that unrolling does as much"
end

local function early_loads(at)
  local list = loads(at.loop, at[2])
  if #list == 0 then return nil, "no load of an iteration can be made before the one before it" end
  if at[2] and #list == #loads(at.loop, false) then return false, "all its loads are certain" end
  return list
end

return { name = "batch", where = "loops",
  doc = "The loads of several iterations before what these do.",
  args = { { "iterations", { 4, 8 }, from = 2, to = 32 },
           { "way", { false, "all" } } },
  pays = is_held,
  needs = {
    { "loop", function(at) return iterations.tokens(at.loop, at[1], MOST_TOKENS) end,
      gives = "tokens" },
    { "early", early_loads, gives = "loads" },
    { "certain", function(at) return not at[2] or nil end, says = certain.EARLY, promised = true },
  },
  becomes = function(at, e)
    local names = names_of(at.loop, at.loads)
    iterations.write(e, at.loop, at.tokens, at[1], { first = load_lines(at.loop, names, at[1]),
      instead = function(n) return words_of(at.loop, names, n) end })
    return ("the loop at line %d loads for %d iterations at a time"):format(at.line, at[1])
  end,
}
