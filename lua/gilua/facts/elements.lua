--- elements: which elements of arrays does a loop read that one thread can load for others (stage,
-- shuffle), and can it be parted for that?
--
-- An element is { text, node, base, type, nodes }: nodes are all that are of this text, node the
-- first of them. Nothing writes its array, its place follows the loop's variable, and each
-- iteration makes the load, if not of each thread, then of some.

local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"

local M = {}

local MOST_TOKENS = 1000 -- of a loop, which is there twice afterwards

-- ---- which loops --------------------------------------------------------------------------------

--- Why no loads of a loop's iterations can be made before these; nil where they can.
---@return string?
function M.refusal(loop)
  if loop.breaks or loop.leaves then return "it is left in another way" end
  if loop.barrier or loop.warp then return "threads wait for each other in it" end
  if not loop.simple or loop.conditional or not loop.step or loop.step < 1 or not loop.start
    or not (loop.relation == "<" or loop.relation == "<=") then
    return "it does not count up by itself"
  end
  if loop.statement.last - loop.statement.first > MOST_TOKENS then return "it is too long" end
  if not loop_of.variable_tokens(loop, loop.body) then
    return "its variable is hidden in a macro or declared again"
  end
end

--- Do threads go through a loop from and to the same?
---@param uniform table<string, true> names that are the same in all of them
---@param free? table<string, true> sides by which those that are asked for do not differ
function M.is_same(loop, uniform, free)
  for _, tree in ipairs { loop.start, loop.bound } do
    local of = sides_of.of(loop.fn, tree, uniform)
    if not of or not sides_of.is_within(of, free or {}) then return false end
  end
  return true
end

--- Has a loop at least so many iterations, as far as that is known?
function M.is_long(loop, size)
  local from, to = sides_of.value(loop.fn, loop.start), sides_of.value(loop.fn, loop.bound)
  return not from or not to or to - from >= size * loop.step
end

-- ---- which elements -----------------------------------------------------------------------------

-- Does a tree depend on the loop's variable, by itself or by what the body declares?
local function follows(loop, tree)
  local found = false
  for name in pairs(effects.of(loop.fn, tree).reads) do
    local d = loop.inside.declares[name]
    found = found or name == loop.variable or d and d.init and follows(loop, d.init) or false
  end
  return found
end

-- The innermost statement of a loop's body that has a node.
local function statement_with(loop, node)
  local found
  statement.walk(loop.body, function(s)
    if statement.covers(s, node) then found = s end
  end)
  return found
end

-- Is it asked by where a thread is what a condition says, so that it holds for some?
local function is_own(way, condition)
  local sides = condition and sides_of.of(way.loop.fn, condition, way.uniform)
  return sides ~= nil and way.differs(sides)
end

-- Are the conditions above a statement of a loop's body such?
local function is_below_own(way, s)
  while s ~= way.loop.statement do
    local above = s.parent
    if s.loop or s.kind == "switch" then return false end
    if above.kind == "if" and not is_own(way, above.condition) then return false end
    s = above
  end
  return true
end

-- May iterations end before a node for all threads?
local function is_skipped(way, node)
  local found = false
  statement.walk(way.loop.body, function(s)
    found = found or s.kind == "continue" and s.first < node.first
      and not is_below_own(way, s)
  end)
  return found
end

-- Is a node behind a ?:, && or || of its tree?
local function is_behind_choice(s, node)
  local found = false
  statement.nodes({ s }, function(at)
    local below = at.kind == "choice" and { at.a, at.b }
      or at.kind == "binary" and (at.op == "&&" or at.op == "||") and { at.b } or {}
    for _, part in ipairs(below) do found = found or statement.covers(part, node) end
  end)
  return found
end

-- Does each iteration make a load, if not of each thread, then of some?
local function is_made(way, node)
  local s = statement_with(way.loop, node)
  return is_below_own(way, s) and not is_skipped(way, node)
    and not is_behind_choice(s, node)
end

-- Returns the last token of a loop behind which nothing loads for others any more; nil where a
-- thread may come back to it.
local function last_of(loop)
  local jumps = effects.of(loop.fn, loop.fn.body)["goto"]
  return not jumps and not statement.is_in_loop(loop.statement) and loop.statement.last or nil
end

-- Is it an element that may be loaded for others?
local function is_element(way, access)
  local loop, node = way.loop, access.node
  return node and node.kind == "index" and access.mode == "read" and not access.cached
    and not access.escapes and not access.atomic and access.indices and #access.indices == 1
    and access.root and loop.fn:is_constant(access.root, way.last)
    and follows(loop, access.indices[1])
end

local function element(way, access)
  local fn = way.loop.fn
  if not is_element(way, access) then return nil end
  local type, sides = fn:element_type(access), sides_of.of_access(fn, access, way.uniform)
  local el = type and sides and is_made(way, access.node) and way.take(access, type, sides)
  if not el then return nil end
  el.text, el.node, el.base = fn.kernel:plain(access.node), access.node, access.base
  el.type, el.nodes = type, {}
  return el
end

--- The elements of each iteration that one thread can load for others.
---@param uniform table<string, true> names that are the same in all of these threads
---@param differs fun(sides: table): boolean is what has these sides another for some of them?
---@param take fun(access: table, type: string, sides: table): table? what else is known of one, and
---  nil of one that is not wanted
---@param waits? boolean all of these threads have made the loads before one of them goes on
---@return table[]
function M.of(loop, uniform, differs, take, waits)
  local list, by_text, way = {}, {}, { loop = loop, differs = differs, take = take }
  way.last = waits and last_of(loop) or nil
  way.uniform = setmetatable({ [loop.variable] = true }, { __index = uniform })
  for _, access in ipairs(loop.inside.accesses) do
    local found = element(way, access)
    if found and not by_text[found.text] then
      by_text[found.text] = found
      list[#list + 1] = found
    end
    if found then table.insert(by_text[found.text].nodes, access.node) end
  end
  return list
end

return M
