--- uniform: has an expression the same value in all threads of a block (and so of a warp)?
--
-- Yes, or unknown with the sentence. A variable varies where anything that is assigned to it
-- varies, or where it is assigned below a condition that does, or in a loop that some threads
-- leave, or whose iteration they pass over, without the others (gilua.facts.single_exit).
-- threadIdx, in functions that are called too, and what lanes tell each other vary, and so does
-- what is loaded, but for elements that nothing writes at a place that does not vary. Scalar
-- parameters, blockIdx, constants do not. In a function with a `goto` nothing is known.

local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local single_exit = require "gilua.facts.single_exit"
local statement = require "gilua.source.statement"

local M = {}

local SOURCES = { threadIdx = true } -- a function that is unknown, like clock, is opaque

-- Does a tree's value vary, with the names known to vary so far?
local function varies(fn, tree, varying)
  local all = effects.of(fn, tree)
  if all.opaque or all.warp then return true end
  for name in pairs(all.reads) do
    if varying[name] or SOURCES[name] then return true end
  end
  for name in pairs(all.asks) do
    if SOURCES[name] then return true end
  end
  return lists.any(all.accesses, function(access)
    return access.atomic or not access.indices or not access.root or not fn:is_constant(access.root)
  end)
end

local function mark(varying, names)
  local changed = false
  for name in pairs(names) do
    if not varying[name] then
      varying[name], changed = true, true
    end
  end
  return changed
end

-- Which parts of a loop or a switch do some threads without the others: its head, its body?
local function parted(fn, s, varying)
  local function differs(tree) return varies(fn, tree, varying) end
  local leaves = not single_exit.of(fn, s, differs)
  return leaves, leaves or not single_exit.whole_rounds(fn, s, differs)
end

local LOOPS = statement.LOOPS

-- Makes one pass over a statement. Returns whether anything new varies. Skips what `without` does.
local function pass(fn, s, varying, below, without)
  local changed, around = false, below
  if s == without then return false end
  local function see(tree)
    local all = effects.of(fn, tree)
    if (below or varies(fn, tree, varying)) and mark(varying, all.writes) then changed = true end
  end
  if s.kind == "declaration" then
    for _, d in ipairs(s.declared) do
      if d.unknown_init or d.init and (below or varies(fn, d.init, varying)) then
        changed = mark(varying, { [d.name] = true }) or changed
      end
      if d.init then see(d.init) end
    end
  end
  if s.tree then see(s.tree) end
  local inner = below
  if LOOPS[s.kind] or s.kind == "switch" then
    local head, body = parted(fn, s, varying)
    below, inner = below or head, inner or body
  end
  if s.condition then
    see(s.condition)
    local differs = varies(fn, s.condition, varying)
    below, inner = below or differs and LOOPS[s.kind] or false, inner or differs
  elseif s.unknown_header or s.kind == "unknown" then
    inner = true
    if s.kind == "unknown" then
      changed = mark(varying, effects.of(fn, s).writes) or changed
    end
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    changed = pass(fn, child, varying, inner, without) or changed
  end
  if s.step then see(s.step) end
  if s.init then changed = pass(fn, s.init, varying, around, without) or changed end
  if s.otherwise then changed = pass(fn, s.otherwise, varying, inner, without) or changed end
  return changed
end

local MOST_PASSES = 20

local function find_varying(fn, without)
  local all, varying = fn.body and effects.of(fn, fn.body), {}
  if not all or fn.kind ~= "kernel" or all["goto"] or all.label then return nil end
  for name in pairs(fn.addressed) do varying[name] = true end
  for _ = 1, MOST_PASSES do
    if not pass(fn, fn.body, varying, false, without) then return varying end
  end
end

--- The names of a function's variables that may differ between threads; nil where that is not
--- known.
---@param without? table a statement: before it is done for the first time
---@return table<string, true>?
function M.varying(fn, without)
  fn.varying = fn.varying or {}
  return apart.kept(fn.varying, without or fn, find_varying, fn, without)
end

--- Has a tree the same value in all threads of a block? true; nil and the sentence.
function M.of(fn, tree)
  local varying = M.varying(fn)
  if varying and not varies(fn, tree, varying) then return true end
  return nil, ("`%s` is the same for all threads of a block"):format(fn.kernel:plain(tree))
end

local function is_uniform(fn, tree) return M.of(fn, tree) == true end

--- What a part of a statement asks for that each thread may have its own of, besides variables that
--- the statement declares: a name; nil where there is nothing.
---@param part table a statement within it
---@return string?
function M.varies_within(fn, s, part)
  local varying, least = M.varying(fn, s), nil
  if not varying then return "something" end
  for name, tokens in pairs(effects.of(fn, part).reads) do
    for _, token in ipairs(tokens) do
      local d = fn:declaration(name, token)
      local is_one = d and (d.shared or s.first <= d.token and d.token <= s.last)
      if not is_one and (varying[name] or SOURCES[name]) and (not least or name < least) then
        least = name
      end
    end
  end
  return least
end

local LEAVES = { ["return"] = true, ["goto"] = true, label = true }

local JUMPS = { ["break"] = true, ["continue"] = true }

local function within(s, other)
  return s ~= nil and s.first <= other.first and other.first <= s.last
end

-- May a thread leave the function, or a loop around a statement, before it comes there (again)?
-- `all` is the outermost loop around it, `around` the outermost that a thread may go round without
-- the others. What the statement holds itself is not asked.
local function is_left(fn, s, all, around)
  for _, other in ipairs(fn.statements) do
    local leaves = LEAVES[other.kind] and (other.first < s.first or within(all, other))
    local jumps = JUMPS[other.kind] and within(around, other)
    if not within(s, other) and (leaves or jumps) then return true end
  end
  return false
end

-- Does nothing between two tokens jump?
local function goes_straight(fn, first, last)
  for _, other in ipairs(fn.statements) do
    local is_between = first < other.first and other.first < last
    if is_between and (JUMPS[other.kind] or LEAVES[other.kind]) then return false end
  end
  return true
end

-- Does a thread that comes to s also come to a barrier in the list of `one`, which is s or around
-- it? Then all of the block do, whatever is above: a barrier wants that.
local function has_barrier_beside(fn, one, s)
  for _, other in ipairs(one.parent and one.parent.kind == "block" and one.parent.body or {}) do
    local is_before = other.first < one.first and goes_straight(fn, other.last, s.first)
    local is_behind = one == s and other.first > s.last and goes_straight(fn, s.last, other.first)
    if statement.is_barrier(other) and (is_before or is_behind) then return true end
  end
  return false
end

--- Do all threads of a block come to a statement together: no condition above it that varies, and
--- no way out of the function, or of a loop around it, that a thread may take before? Beside a
--- barrier they do whatever the conditions say.
function M.is_reached(fn, s)
  if M.varying(fn) == nil then return false end
  local at, around, all, has_barrier = s, nil, nil, has_barrier_beside(fn, s, s)
  while at.parent do
    at = at.parent
    if at.unknown_header or at.kind == "switch" then return false end
    if at.condition and not has_barrier and not is_uniform(fn, at.condition) then return false end
    if LOOPS[at.kind] then
      all = at
      if not has_barrier then around = at end
    end
    has_barrier = has_barrier or has_barrier_beside(fn, at, s)
  end
  return not is_left(fn, s, all, around)
end

return M
