--- running: is a variable a running sum (prefix sum, scan) of a loop, which each iteration asks for
-- as it stands by then?
--
--   for (i = 0; i < n; i++) { s += a[i]; out[i] = s; }
--
-- Yes is what it is: what stands before the sum, and what is added, which asks for nothing that the
-- rest of the iteration makes.

local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local loops = require "gilua.facts.loop"
local reduction = require "gilua.facts.reduction"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

---@class gilua.running
---@field name string the variable
---@field type string
---@field before table[] statements at the beginning of the body that declare what is computed from
---@field statement table the one that adds; `tree` what is assigned there, `added` to it
---@field is_less boolean it is taken away
---@field condition table? the tree under which it adds anything: `if (mask[i]) s += a[i];`
---@field guarded table<table, true> declarations of `before` that load what the loop writes: only
---  iterations that there are may do so

local WHOLE = { int = true, ["unsigned int"] = true, long = true, ["unsigned long"] = true,
                ["long long"] = true, ["unsigned long long"] = true }
local FRACTION = { float = true, double = true }

-- What is added to a variable: the tree, and whether it is taken away.
local function added(tree, name)
  local variable, sign, by = loops.counting(tree)
  if variable == name and by.first then return by, sign < 0 end -- else by a 1 that stands nowhere
end

-- The one statement of a conditional one.
local function inside(s)
  if s.kind ~= "if" or s.otherwise or s.init or not s.condition then return nil end
  local list = statement.listed(s.body)
  return #list == 1 and list[1] or nil
end

-- The place in a body, and the tree, of `s += e;`, of `a[i] = s = s + e;`, or of the first under a
-- condition.
local function place_of(body, name)
  for i, s in ipairs(body) do
    local under = inside(s)
    local what, is_less = added(under and under.kind == "expression" and under.tree or nil, name)
    if what then return i, under.tree, what, is_less, s.condition end
    local tree = s.kind == "expression" and s.tree
    local inner = tree and tree.kind == "assign" and tree.op == "=" and tree.b
    for _, one in ipairs { tree or nil, inner or nil } do
      what, is_less = added(one, name)
      if what then return i, one, what, is_less end
    end
  end
end

-- Does a part do nothing but compute from what it reads?
local function only_reads(fn, part)
  local all = effects.of(fn, part)
  if all.opaque or all.warp or all.barrier then return false end
  for name in pairs(all.writes) do
    if not all.declares[name] then return false end
  end
  return lists.none(all.accesses, function(access)
    return access.write or access.atomic or access.escapes
  end)
end

-- May what statements do before a sum be done behind it? Nothing that they write or declare is
-- added.
local function may_follow(fn, statements, what)
  for _, s in ipairs(statements) do
    local all = effects.of(fn, s)
    if not loops.is_invariant(fn, what, all) then return false end
    for name in pairs(effects.of(fn, what).reads) do
      if all.declares[name] then return false end
    end
  end
  return true
end

-- The statements at the beginning of a list that declare, and do no more than to compute for it.
local function declaring(fn, list, last, name)
  local found = {}
  for i = 1, last do
    local s = list[i]
    if s.kind ~= "declaration" or effects.of(fn, s).reads[name] or not only_reads(fn, s) then
      break
    end
    for _, d in ipairs(s.declared) do
      if d.shared or d.static or d.init_form and d.init_form ~= "=" then return found end
    end
    found[i] = s
  end
  return found
end

-- The declarations that load what the loop writes; nil where one is of no number.
local function guarded(loop, statements)
  local list = {}
  for _, s in ipairs(statements) do
    for _, d in ipairs(s.declared) do
      for _, access in ipairs(d.init and effects.of(loop.fn, d.init).accesses or {}) do
        for _, other in ipairs(loop.inside.accesses) do
          if other.write and apart.may_meet(loop.fn, access, other) then list[d] = true end
        end
      end
      local type = types.plain(d.type)
      local is_number = type ~= "auto"
        and (WHOLE[type] or FRACTION[type] or reduction.TOO_SMALL[type])
      if list[d] and (not is_number or d.pointer > 0 or #d.extents > 0) then return nil end
    end
  end
  return list
end

--- Returns how a variable is a running sum of a loop; nil where it is none.
---@param name string
---@return gilua.running?
function M.of(loop, name)
  local fn, tokens = loop.fn, loop.inside.writes[name]
  local d = reduction.exchanged(loop, name)
  local is_number = d and (WHOLE[types.plain(d.type)] or FRACTION[d.type])
  if not is_number or #tokens ~= 1 or loop.continues or loop.conditional or not loop.type
    or reduction.words_in(fn.kernel, loop.statement, name) == math.huge then
    return nil
  end
  local body = loop.body.kind == "block" and loop.body.body or { loop.body }
  local at, tree, what, is_less, condition = place_of(body, name)
  if not at then return nil end
  for _, part in ipairs { what, condition } do
    if not only_reads(fn, part) or effects.of(fn, part).reads[name] then return nil end
  end
  local type = types.of(fn, what)
  if not FRACTION[d.type] and not WHOLE[type] or not type then return nil end
  local before = declaring(fn, body, at - 1, name)
  local between = table.move(body, #before + 1, at - 1, 1, {})
  local loads = guarded(loop, before)
  if not loads or not may_follow(fn, between, what)
    or condition and not may_follow(fn, between, condition) then
    return nil
  end
  return { name = name, condition = condition, type = d.type, before = before, tree = tree,
           statement = body[at], added = what, is_less = is_less, guarded = loads }
end

return M
