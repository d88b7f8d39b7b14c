--- hoist: loop-invariant code motion
--
-- where     loops
-- needs     certain, once
-- becomes   what it loads anew in each iteration, though nothing there changes it, loaded before it
-- promises  apart
--
--   for (k = 0; k < count; k++) s += w[at] * x[k];
--
--   const bool has_rounds = 0 < count;
--   float w_before;
--   if (has_rounds) w_before = w[at];
--   for (k = 0; k < count; k++) s += w_before * x[k];
--
-- The compiler leaves such a load in the loop where a store of the loop might change it; here two
-- arrays that came as two arguments are taken for different ones. Only loads that each iteration
-- makes are taken, and only if there is one, so that no address is touched that was not.

local certain = require "gilua.facts.certain"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"

local function access_of(loop, node)
  for _, access in ipairs(loop.inside.accesses) do
    if access.node == node then return access end
  end
end

local function is_free(loop, node)
  local access = access_of(loop, node)
  if not access or access.mode ~= "read" or access.atomic or not access.root then return nil end
  return loop_of.stays(loop, node) and loop.fn:element_type(access)
end

local function holds(outer, inner)
  return outer ~= inner and outer.first <= inner.first and inner.last <= outer.last
end

-- Is a node part of one that is loaded before the loop: idx[i] of a[idx[i]]?
local function is_part(list, node)
  for _, load in ipairs(list) do
    for _, other in ipairs(load.nodes) do
      if holds(other, node) then return true end
    end
  end
  return false
end

-- The loads without those that others hold, which are made with them.
local function outermost(list)
  local kept = {}
  for _, load in ipairs(list) do
    local nodes = {}
    for _, node in ipairs(load.nodes) do
      if not is_part(list, node) then nodes[#nodes + 1] = node end
    end
    if #nodes > 0 then
      kept[#kept + 1] = { text = load.text, type = load.type, base = load.base, nodes = nodes }
    end
  end
  return kept
end

-- The loads that can be made before the loop: { text, type, base, nodes }.
local function loads(loop)
  local list, by_text = {}, {}
  if loop.opaque or loop.conditional then return list end
  for _, tree in ipairs(certain.trees(loop)) do
    certain.nodes(tree, function(node)
      local type = node.kind == "index" and is_free(loop, node)
      if not type then return end
      local text = loop.fn.kernel:plain(node)
      if not by_text[text] then
        by_text[text] = { text = text, type = type, nodes = {}, base = effects.root_name(node) }
        list[#list + 1] = by_text[text]
      end
    end)
  end
  for _, access in ipairs(loop.inside.accesses) do -- the uncertain ones are the same
    local node = access.node
    local load = node and node.kind == "index" and by_text[loop.fn.kernel:plain(node)]
    if load and access.mode == "read" and not access.escapes and not access.cached then
      load.nodes[#load.nodes + 1] = node
    end
  end
  return outermost(list)
end

local function some_loads(at)
  local list = loads(at.loop)
  return #list > 0 and list or nil
end

local function becomes(at, e)
  local before = at.guard.lines or {}
  for _, load in ipairs(at.loads) do
    local name = at.names(load.base .. "_before")
    local lines = once.valued(at.guard, load.type, name, load.text)
    table.move(lines, 1, #lines, #before + 1, before)
    for _, node in ipairs(load.nodes) do e:replace(node.first, node.last, name) end
  end
  e:around(at.loop.statement, before)
  return ("%s is loaded once before the loop at line %d"):format(at.loads[1].text, at.line)
end

return { name = "hoist", where = "loops",
  doc = "Loads that are the same in each iteration of a loop, made once before it.",
  needs = {
    { "certain", some_loads, gives = "loads",
      says = "the loop has no load that is the same in each iteration" },
    { "once", once.of_place, gives = "guard" },
  },
  becomes = becomes,
}
