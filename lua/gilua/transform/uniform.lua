--- uniform: which variables have the same value in all threads of a block.
--
-- A variable varies where anything that is assigned to it varies, or where it is assigned below a
-- condition that does. threadIdx and what lanes tell each other vary, and so does what is loaded,
-- but for elements that nothing writes at a place that does not vary. Scalar parameters, blockIdx,
-- constants do not.

local effects = require "gilua.transform.effects"

local M = {}

local SOURCES = { threadIdx = true, clock = true, clock64 = true }

-- Does a tree's value vary, with the names known to vary so far?
local function varies(fn, tree, varying)
  local all = effects.of(fn, tree)
  if all.opaque or all.warp then return true end
  for name in pairs(all.reads) do
    if varying[name] or SOURCES[name] then return true end
  end
  for _, access in ipairs(all.accesses) do
    if access.atomic or not access.indices or not access.root
      or not fn:is_constant(access.root) then
      return true
    end
  end
  return false
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

-- One pass over a statement; whether anything new varies.
local function pass(fn, s, varying, below)
  local changed = false
  local function see(tree)
    local all = effects.of(fn, tree)
    if (below or varies(fn, tree, varying)) and mark(varying, all.writes) then changed = true end
  end
  if s.kind == "declaration" then
    for _, d in ipairs(s.declared) do
      if d.init and (below or d.pointer == 0 and varies(fn, d.init, varying) or d.unknown_init) then
        changed = mark(varying, { [d.name] = true }) or changed
      end
      if d.init then see(d.init) end
    end
  end
  if s.tree then see(s.tree) end
  if s.step then see(s.step) end
  local inner = below
  if s.condition then
    see(s.condition)
    inner = inner or varies(fn, s.condition, varying)
  elseif s.unknown_header or s.kind == "unknown" then
    inner = true
    if s.kind == "unknown" then
      changed = mark(varying, effects.of(fn, s).writes) or changed
    end
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    changed = pass(fn, child, varying, inner) or changed
  end
  if s.init then changed = pass(fn, s.init, varying, below) or changed end
  if s.otherwise then changed = pass(fn, s.otherwise, varying, inner) or changed end
  return changed
end

local MOST_PASSES = 20

--- The names of a function's variables that may differ between threads; nil where that is not
--- known.
---@param fn table of kernel.read
---@return table<string, true>?
function M.varying(fn)
  if fn.varying ~= nil then return fn.varying or nil end
  fn.varying = false
  local varying = {}
  if not fn.body or fn.kind ~= "kernel" then return nil end
  for name in pairs(fn.addressed) do varying[name] = true end
  for _ = 1, MOST_PASSES do
    if not pass(fn, fn.body, varying, false) then
      fn.varying = varying
      return varying
    end
  end
  return nil
end

--- Has a tree the same value in all threads of a block?
function M.is_uniform(fn, tree)
  local varying = M.varying(fn)
  return varying ~= nil and not varies(fn, tree, varying)
end

local LOOPS = { ["for"] = true, ["while"] = true, ["do"] = true }
local LEAVES = { ["return"] = true, ["goto"] = true, label = true }

-- May a thread leave the function, or the outermost loop around a statement, before it comes there
-- (again)? What the statement holds itself is not asked.
local function is_left(fn, s, around)
  for _, other in ipairs(fn.statements) do
    local inside = s.first <= other.first and other.first <= s.last
    local in_loop = around and around.first <= other.first and other.first <= around.last
    local leaves = LEAVES[other.kind] and (other.first < s.first or in_loop)
    local jumps = (other.kind == "break" or other.kind == "continue") and in_loop
    if not inside and (leaves or jumps) then return true end
  end
  return false
end

--- Do all threads of a block come to a statement together: no condition above it that varies, and
--- no way out of the function, or of a loop around it, that a thread may take before?
---@param fn table
---@param s table a statement
function M.is_reached(fn, s)
  if M.varying(fn) == nil then return false end
  local at, around = s.parent, nil
  while at do
    if at.condition and not M.is_uniform(fn, at.condition) then return false end
    if at.unknown_header or at.kind == "switch" then return false end
    if LOOPS[at.kind] then around = at end
    at = at.parent
  end
  return not is_left(fn, s, around)
end

return M
