--- all_come: can all threads of a block come to a place in a kernel, so that they can wait there
-- for each other?
--
--   local plan, why = all_come.plan(fn, s)
--
-- Yes is the plan: the conditions around the place, and the ways out before it, say only which
-- threads have an item, and may become a variable (gilua.rewrite.guarded). plan.conditions are
-- what is in the way, { tree, negated, sides }; plan.loops the loops around the place; plan.uniform
-- the names that these count by; plan.asked_last the innermost if around it, behind which threads
-- without an item go on, nil where they leave the kernel. No is nil and the sentence.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local sides = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local JUMPS = { ["return"] = true, ["goto"] = true, label = true, ["break"] = true,
  continue = true, case = true }
local LOOPS = { ["for"] = true, ["while"] = true, ["do"] = true, switch = true }

-- Is there a way out of a statement, to somewhere else than behind it?
local function has_way_out(s)
  local found = false
  local function visit(at, in_loop)
    local stays = in_loop and (at.kind == "break" or at.kind == "continue" or at.kind == "case")
    found = found or JUMPS[at.kind] and not stays or false
    local deeper = in_loop or LOOPS[at.kind] or false
    for _, child in ipairs(at.kind == "block" and at.body or { at.body or nil }) do
      visit(child, deeper)
    end
    if at.otherwise then visit(at.otherwise, in_loop) end
  end
  visit(s, false)
  return found
end

-- `if (c) return;`
function M.is_leaving(s)
  return s.kind == "if" and s.condition and not s.otherwise and statement.is_return(s.body)
end

-- What a variable was declared as that says whether a thread has an item.
function M.said_by(fn, part)
  local d = part.kind == "name" and sides.kept(fn, part.text)
  return d and d.type == "bool" and d.init or nil
end

local function add_conditions(plan, tree, negated)
  for _, part in ipairs(expression.parts(tree, negated and "||" or "&&", {})) do
    local all = effects.of(plan.fn, part)
    if next(all.writes) or all.opaque or all.warp or all.barrier then
      return ("line %d does more than to ask"):format(plan.fn.kernel:line_of(part.first))
    end
    local said = not negated and M.said_by(plan.fn, part)
    for _, one in ipairs(said and expression.parts(said, "&&", {}) or { part }) do
      table.insert(plan.conditions, { tree = one, negated = negated })
    end
  end
  plan.guarded = true
end

-- ---- the way down to the place ------------------------------------------------------------------

-- Blocks, conditions and loops around a statement, from the outside.
local function way_to(fn, s)
  local way = {}
  while s ~= fn.body do
    local parent = s.parent
    if not parent then return nil, "it is not known what is around it" end
    if parent.otherwise == s then return nil, "it is in an else" end
    table.insert(way, 1, { around = parent, child = s })
    s = parent
  end
  return way
end

--- Why threads may go through a loop around a place in different ways; nil where they do not.
---@param uniform table<string, true> names that are the same in all of them
---@param free? table<string, true> sides by which those that are asked for do not differ
---@return string?
function M.parts(fn, s, uniform, free)
  local loop, line = s.loop, fn.kernel:line_of(s.first)
  if not loop or not loop.counted or not loop.start or loop.leaves or loop.breaks
    or loop.continues or loop.writes_variable then
    return ("threads may leave the loop at line %d, or go through it on their own"):format(line)
  end
  for _, tree in ipairs { loop.start, loop.bound, loop.by } do
    local of = tree.first and sides.of(fn, tree, uniform) or not tree.first and {} or nil
    if not of or not sides.is_within(of, free or {}) then
      return ("threads go through the loop at line %d from and to different places"):format(line)
    end
  end
end

local function check_loop(plan, s)
  local why = M.parts(plan.fn, s, plan.uniform)
  if why then return why end
  plan.uniform[s.loop.variable] = true
end

-- Has a declared name a value that only some threads may ask for?
function M.loads(fn, d)
  local all = d.init and effects.of(fn, d.init)
  return d.unknown_init
    or all and (#all.accesses > 0 or all.opaque or next(all.writes) ~= nil) or false
end

--- Is the declared variable a number, so that 0 can stand for its value?
---@param d { type: string, pointer: integer } a declaration
function M.is_number(fn, d)
  local type = types.resolved(fn.kernel, d.type)
  return d.pointer == 0 and type ~= "auto" and not type:find "^%a+[234]$"
    and not fn.kernel.words.types[type]
end

-- What is done before the place, where not all threads do it.
local function check_before(plan, s)
  local fn, done = plan.fn, effects.of(plan.fn, s)
  if has_way_out(s) then
    return ("line %d may leave the kernel"):format(fn.kernel:line_of(s.first))
  end
  if plan.guarded and (done.barrier or done.warp) then
    return ("threads wait for each other at line %d"):format(fn.kernel:line_of(s.first))
  end
  for _, d in ipairs(plan.guarded and s.declared or {}) do
    local is_apart = #s.declared == 1 and d.type ~= "auto" and not d.static
    if M.loads(fn, d) and (not M.is_number(fn, d) and not is_apart or d.reference or #d.extents > 0
      or d.unknown_init or d.shared or d.init_form ~= "=") then
      return ("line %d declares what only threads with an item can have"):format(
        fn.kernel:line_of(s.first))
    end
  end
end

local function check_list(plan, step)
  for _, s in ipairs(step.around.body) do
    if s == step.child then return nil end
    if M.is_leaving(s) and step.around == plan.fn.body then
      local why = add_conditions(plan, s.condition, true)
      if why then return why end
      plan.asked_last = nil
    else
      local why = check_before(plan, s)
      if why then return why end
    end
  end
end

local function check_step(plan, step)
  local s = step.around
  if s.kind == "block" then return check_list(plan, step) end
  if s.kind == "for" then
    plan.loops[#plan.loops + 1] = s
    return check_loop(plan, s)
  end
  if s.kind ~= "if" or not s.condition then return "it is in what is not understood" end
  if s.otherwise then return "it is in an if with an else" end
  if not s.parent or s.parent.kind ~= "block" then return "it is in an if below another head" end
  plan.asked_last = s
  return add_conditions(plan, s.condition, false)
end

local function check_kernel(fn)
  local all = effects.of(fn, fn.body)
  if all.conditional then return "the kernel has an #if" end
  if all["goto"] or all.label then return "the kernel has a goto" end
end

-- Would threads wait, behind the place, for those that have no item?
local function check_behind(plan)
  for _, step in ipairs(plan.guarded and plan.way or {}) do
    local is_behind = false
    for _, s in ipairs(step.around.kind == "block" and step.around.body or {}) do
      local all = effects.of(plan.fn, s)
      is_behind = is_behind or s == plan.s and plan.before
      if is_behind and (all.barrier or all.warp) then
        return ("threads wait for each other at line %d"):format(plan.fn.kernel:line_of(s.first))
      end
      is_behind = is_behind or s == step.child
    end
  end
end

--- How all threads of a block can come to a statement, or, with `before`, to what is put before
--- it, the statement being asked for with what is behind; nil and why they cannot.
---@param before? boolean
function M.plan(fn, s, before)
  if fn.kind ~= "kernel" or not fn.body then return nil, "it is in no kernel" end
  local way, why = way_to(fn, s)
  if not way then return nil, why end
  local plan = { fn = fn, s = s, way = way, conditions = {}, uniform = {}, loops = {},
    before = before }
  why = check_kernel(fn)
  for _, step in ipairs(way) do why = why or check_step(plan, step) end
  why = why or check_behind(plan)
  if why then return nil, why end
  for _, condition in ipairs(plan.conditions) do
    condition.sides = sides.of(fn, condition.tree, plan.uniform)
  end
  return plan
end

return M
