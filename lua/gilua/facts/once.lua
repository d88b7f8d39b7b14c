--- once: does a loop have at least one round (is its trip count above zero)?
--
-- Yes: a `do`, a loop without a condition, one of a known number of rounds, one below an `if` or
-- behind a guard that asks the same. No: one of zero rounds. Unknown carries the sentence. What a
-- rewriting touches before or behind such a loop it guards: M.guard says by which lines.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local statement = require "gilua.source.statement"

local M = {}

local within = statement.covers

-- Is what a loop's first round asks, as text: `0 < n`; nil where it is no plain comparison.
local function first_question(loop)
  local kernel, start = loop.fn.kernel, loop.start
  if not loop.counted then return nil end
  if not start then return kernel:plain(loop.statement.condition) end
  local d = start.kind == "name" and loop.fn:declaration(start.text, start.first)
  local is_same = start.kind == "number" and start.text:find "^%d+$"
    or d and d.type == loop.type and d.pointer == 0
  if loop.type ~= "int" or not is_same then return nil end
  return ("%s %s %s"):format(kernel:operand(start), loop.relation, kernel:operand(loop.bound))
end

local TURNED = { ["<"] = ">", [">"] = "<", ["<="] = ">=", [">="] = "<=" }

-- Does a condition say the same as the first question: `0 < n`, `n > 0`?
local function says(loop, condition)
  local kernel, asked = loop.fn.kernel, first_question(loop)
  if not asked or condition.kind ~= "binary" then return false end
  if condition.op == "&&" then return says(loop, condition.a) or says(loop, condition.b) end
  local a, b = kernel:operand(condition.a), kernel:operand(condition.b)
  local turned = TURNED[condition.op]
  return ("%s %s %s"):format(a, condition.op, b) == asked
    or turned and ("%s %s %s"):format(b, turned, a) == asked or false
end

-- Does nothing change what a condition asks for, between it and the loop?
local function stays(loop, condition)
  local fn, own = loop.fn, effects.of(loop.fn, condition)
  if own.opaque or #own.accesses > 0 or next(own.writes) then return false end
  for _, s in ipairs(fn.statements) do
    local is_between = s.first > condition.last and s.first < loop.statement.first
    local is_loop = s.kind == "for" or s.kind == "while" or s.kind == "do"
    if is_between and (s.kind ~= "block" and not within(s, loop.statement)
      or is_loop and within(s, loop.statement)) then
      local all = effects.of(fn, s)
      for name in pairs(own.reads) do
        if all.opaque or all.writes[name] or fn.addressed[name] then return false end
      end
    end
  end
  return true
end

-- Is a loop below an `if` that says that it has a round?
local function is_asked(loop)
  return statement.below(loop.statement, function(condition)
    return says(loop, condition) and stays(loop, condition)
  end) ~= nil
end

-- A tree's number, where its words say it: -2, 4 * 8, a macro that is one.
local function value_of(loop, tree)
  local form = affine.form(loop.fn.kernel, tree, function(part)
    local value = part.kind == "name" and affine.macro(loop.fn.kernel, part.text)
    return value and { [""] = value } or nil
  end)
  if not form or next(form, next(form)) then return nil end
  return next(form) == nil and 0 or form[""]
end

--- Has a loop at least one round? true, false, or nil and the sentence.
function M.of(loop)
  local s = loop.statement
  if s.kind == "do" or s.kind == "for" and not s.condition and not s.unknown_header then
    return true
  end
  local trips = loop.counted and loop.start and loop_of.trips(loop, function(tree)
    return value_of(loop, tree)
  end)
  if trips then return trips > 0 end
  if is_asked(loop) then return true end
  return nil, ("the loop at line %d has at least one round"):format(loop.line)
end

-- May a tree be evaluated once more, before it is?
local function can_repeat(fn, tree)
  local all = effects.of(fn, tree)
  if all.opaque or all.barrier or all.warp or next(all.writes) then return false end
  for _, access in ipairs(all.accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    if access.write or access.atomic or d and d.volatile then return false end
  end
  return true
end

-- May what a head begins with be done once more, before it is, in a block of its own?
local function can_begin(fn, init)
  if not init then return true end
  local trees = statement.trees(init)
  for _, tree in ipairs(trees) do
    local all = effects.of(fn, tree)
    if all.opaque or all.barrier or all.warp or #all.accesses > 0 and next(all.writes) then
      return false
    end
    for name in pairs(all.writes) do
      if all.reads[name] or init.kind == "expression" and not fn.variables[name] then
        return false
      end
    end
  end
  return init.kind == "declaration" or #trees == 1 and trees[1].kind == "assign"
end

--- The guard of what is done before a loop as its first round would do it: { lines (before it),
--- text (the condition, that can be asked behind the loop, too) }; an empty table where it has
--- a round for certain; nil and why where none can be had.
---@param names fun(wanted: string): string gives a name that the text does not have
---@param also? string what must hold besides, and is asked first
---@return { lines: string[]?, text: string? }? guard
---@return string? why
function M.guard(loop, names, also)
  local answer = M.of(loop)
  if answer then return also and { lines = {}, text = also } or {} end
  local fn, s = loop.fn, loop.statement
  if answer == false then return nil, "the loop has no round" end
  if s.unknown_header or s.ranged or not s.condition or not can_repeat(fn, s.condition)
    or not can_begin(fn, s.init) then
    return nil, "whether the loop has a round cannot be asked before it"
  end
  local kernel, asked, name = fn.kernel, first_question(loop), names "has_rounds"
  if not asked and not s.init then asked = kernel:plain(s.condition) end
  local first = also and also .. " && " or ""
  if asked then
    return { lines = { ("const bool %s = %s%s;"):format(name, first, asked) }, text = name }
  end
  return { lines = { ("bool %s%s;"):format(name, also and " = false" or ""),
    ("%s{ %s %s = %s; }"):format(also and ("if (%s) "):format(also) or "", kernel:plain(s.init),
      name, kernel:plain(s.condition)) }, text = name }
end

--- The same of a place of a loop, as a need (gilua.rewrite.rewrite).
function M.of_place(at) return M.guard(at.loop, at.names) end

--- The lines that give a new variable a value which only a loop with a round may ask for.
---@param guard table of M.guard
---@param type string
---@param name string
---@param value string
---@return string[]
function M.valued(guard, type, name, value)
  if not guard.text then return { ("const %s %s = %s;"):format(type, name, value) } end
  return { ("%s %s;"):format(type, name), ("if (%s) %s = %s;"):format(guard.text, name, value) }
end

return M
