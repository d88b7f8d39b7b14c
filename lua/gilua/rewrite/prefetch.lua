--- prefetch: software prefetching (software pipelining of loads)
--
-- where     loops
-- needs     loop, early
-- becomes   what an iteration loads, loaded in the one before it
-- promises  apart
--
--   for (int t = 0; t < n; t++) {            float a_next = 0;
--     tile[x] = a[t * 32 + x];               if (0 < n) a_next = a[0 * 32 + x];
--     __syncthreads();                       for (int t = 0; t < n; t++) {
--     …                                        const float a_now = a_next;
--     __syncthreads();                         if (t + 1 < n) a_next = a[(t + 1) * 32 + x];
--   }                                          tile[x] = a_now;
--                                              __syncthreads(); …
--
-- So it is under way while threads work and wait for each other. Conditions on which a load
-- depends are asked of the iteration that it is for. Only what nothing of the kernel writes is
-- loaded early.

local asked = require "gilua.facts.asked"
local early = require "gilua.facts.early"
local effects = require "gilua.facts.effects"
local iterations = require "gilua.rewrite.iterations"
local types = require "gilua.facts.types"

local MOST_LOADS = 8
local NUMBERS = { float = true, double = true, int = true, ["unsigned int"] = true, short = true,
  ["unsigned short"] = true, char = true, ["unsigned char"] = true, ["signed char"] = true,
  ["long long"] = true, ["unsigned long long"] = true }

-- Can a tree be evaluated an iteration before? It loads only what nothing writes.
local function is_early(loop, tree)
  return early.of(loop, tree, { macros = true, load = function(access)
    return access.root ~= nil and loop.fn:is_constant(access.root)
  end })
end

local function holds(tree, node) return tree.first <= node.first and node.last <= tree.last end

-- The conditions on which an iteration loads a node, outermost first; nil where it is in another
-- loop, or they cannot be asked before.
local function guards(loop, node)
  for _, other in ipairs(loop.fn.loops) do
    if holds(loop.body, other.statement) and holds(other.statement, node) then return nil end
  end
  local list = asked.at(loop.body, node)
  for _, guard in ipairs(list or {}) do
    if not is_early(loop, guard.tree) then return nil end
  end
  return list
end

-- The loads that can be made an iteration before: { node, type, base, guards, text }.
local function loads(at)
  local list, loop, fn = {}, at.loop, at.fn
  for _, access in ipairs(loop.inside.accesses) do
    local type = access.node and access.node.kind == "index" and access.mode == "read"
      and not access.atomic and not access.cached and not access.escapes and access.root
      and fn:is_constant(access.root) and NUMBERS[types.plain(fn:element_type(access) or "")]
      and fn:element_type(access)
    local found = type and #list < MOST_LOADS and is_early(loop, access.node)
      and early.moves(loop, access.node) and guards(loop, access.node)
    for _, other in ipairs(found and list or {}) do
      if holds(other.node, access.node) or holds(access.node, other.node) then found = nil end
    end
    if found then
      list[#list + 1] = { node = access.node, type = type, base = access.base, guards = found }
    end
  end
  return #list > 0 and list or nil
end

local function waits(at)
  local loop = at.loop
  if loop.kind ~= "for" or not loop.counted then return nil, "its head is not one that counts" end
  if not loop.barrier then return nil, "its threads do not wait for each other in it" end
  if not loop.invariant or loop.writes_variable or not loop.balanced or loop.conditional
    or loop.opaque or loop.continues then
    return nil, "its variable or its bound change within, or it is not understood"
  end
  if not loop.start or not loop.declares or next(effects.of(loop.fn, loop.start).writes) then
    return nil, "its head does not say where it begins"
  end
  local why = iterations.unfit_head(loop)
  if not why and not (loop.body.kind == "block" and loop.body.body[1]) then
    why = "it has no braces"
  end
  return not why, why
end

-- A tree's text for the first iteration, or for the next one.
local text_for

function text_for(loop, tree, is_next)
  local kernel, instead = loop.fn.kernel, {}
  for i = tree.first, tree.last do
    local before = kernel.words[i - 1]
    if kernel.words[i] == loop.variable and before ~= "." and before ~= "->" then
      local start = kernel:plain(loop.start)
      instead[i] = is_next and iterations.at(loop, i, 1)
        or start:find "^[%w_]+$" and start or "(" .. start .. ")"
    elseif before ~= "." and before ~= "->" and early.value(loop, kernel.words[i]) then
      instead[i] = "(" .. text_for(loop, early.value(loop, kernel.words[i]), is_next) .. ")"
    end
  end
  return (kernel:source(tree.first, tree.last, instead):gsub("%s+", " "))
end

local LOOSE = { ["||"] = true, ["?"] = true }

local function load_line(loop, load, is_next)
  local kernel, parts = loop.fn.kernel, {}
  local from = is_next and iterations.ahead(loop, 1) or kernel:plain(loop.start)
  local bound = kernel:plain(loop.bound)
  if loop.bound.kind == "binary" and not loop.bound.parens then bound = "(" .. bound .. ")" end
  parts[1] = ("%s %s %s"):format(from, loop.relation, bound)
  for _, guard in ipairs(load.guards) do
    local text = text_for(loop, guard.tree, is_next)
    local is_loose = guard.tree.kind == "choice" or guard.tree.kind == "binary"
      and LOOSE[guard.tree.op] or guard.tree.kind == "assign"
    parts[#parts + 1] = guard.negated and "!(" .. text .. ")" or is_loose and "(" .. text .. ")"
      or text
  end
  return ("if (%s) %s = %s;"):format(table.concat(parts, " && "), load.next,
    text_for(loop, load.node, is_next))
end

local function becomes(at, e)
  local first = at.loop.body.body[1]
  local before, top, taken, indent = {}, {}, {}, at.kernel:indent(first.first)
  for _, load in ipairs(at.loads) do
    local name = load.base
    while taken[name] do name = name .. "_too" end
    taken[name] = true
    load.next, load.now = at.kernel:fresh(name .. "_next"), at.kernel:fresh(name .. "_now")
    before[#before + 1] = ("%s %s = 0;"):format(load.type, load.next)
    before[#before + 1] = load_line(at.loop, load, false)
    top[#top + 1] = ("const %s %s = %s;"):format(load.type, load.now, load.next)
    top[#top + 1] = load_line(at.loop, load, true)
    e:replace(load.node.first, load.node.last, load.now)
  end
  e:around(at.loop.statement, before)
  e:before(first.first, table.concat(top, "\n" .. indent) .. "\n" .. indent)
  return ("the loop at line %d loads for its next iteration"):format(at.line)
end

return { name = "prefetch", where = "loops",
  doc = "What an iteration loads is loaded in the one before it, where threads wait.",
  needs = { { "loop", waits },
            { "early", loads, gives = "loads",
              says = "nothing that it loads can be loaded an iteration before" } },
  becomes = becomes,
}
