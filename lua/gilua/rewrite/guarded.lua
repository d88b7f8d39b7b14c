--- guarded: a place in a kernel made one to which all threads of a block come, so that they can
-- wait there for each other. The conditions around it, and the ways out before it, become a
-- variable that is asked around everything else:
--
--   if (row < n && col < m) {        const bool inside = row < n && col < m;
--     c[at] = 0;                     if (inside) c[at] = 0;
--     for (…) …                      (here is place for what all threads do)
--     c[at] *= 2;                    if (inside) {
--   }                                  c[at] *= 2;
--                                    }
--
--   local plan, why = guarded.plan(fn, s)
--
-- plan.conditions are what is in the way, { tree, negated, sides }; plan.asked_last the innermost
-- if around the place, behind which threads without an item go on, nil where they leave the
-- kernel; plan.uniform the names that loops around the place count by; plan:edits(e) makes the
-- changes but for the place itself, and returns which lines stand deeper then
-- (gilua.transform.transform), and the variable's name.

local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local sides = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local M = {}

local Plan = {}
Plan.__index = Plan

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
local function is_leaving(s)
  return s.kind == "if" and s.condition and not s.otherwise and statement.is_return(s.body)
end

local OPPOSITE = { ["<"] = ">=", [">"] = "<=", ["<="] = ">", [">="] = "<", ["=="] = "!=",
  ["!="] = "==" }

-- Is a number a whole one, which is less than another or not?
local function is_whole(fn, tree)
  local type = types.of(fn, tree)
  return type ~= nil and (type:find "int$" or type:find "long$") ~= nil
end

-- Does a tree need brackets beside &&?
local function is_loose(tree)
  return tree.kind == "choice" or tree.kind == "assign"
    or tree.kind == "binary" and (tree.op == "||" or tree.op == ",")
end

--- The text of a condition, as it may stand beside &&.
---@param fn table
---@param condition { tree: table, negated: boolean }
---@param source? fun(first: integer, last: integer): string  the text of tokens (as they stand)
function M.text(fn, condition, source)
  local tree = condition.tree
  local function text(node)
    local first, last = node.first, node.last
    if node.parens and node == tree then first, last = first + 1, last - 1 end
    return source and source(first, last) or (fn.kernel:source(first, last):gsub("%s+", " "))
  end
  if not condition.negated then return is_loose(tree) and "(" .. text(tree) .. ")" or text(tree) end
  if tree.kind == "unary" and tree.op == "!" then return text(tree.a) end
  if tree.kind == "binary" and OPPOSITE[tree.op] and is_whole(fn, tree.a)
    and is_whole(fn, tree.b) then
    return ("%s %s %s"):format(text(tree.a), OPPOSITE[tree.op], text(tree.b))
  end
  return "!(" .. text(tree) .. ")"
end

-- What a variable was declared as that says whether a thread has an item.
local function said_by(fn, part)
  local d = part.kind == "name" and sides.kept(fn, part.text)
  return d and d.type == "bool" and d.init or nil
end

local function add_conditions(plan, tree, negated)
  for _, part in ipairs(expression.parts(tree, negated and "||" or "&&", {})) do
    local all = effects.of(plan.fn, part)
    if next(all.writes) or all.opaque or all.warp or all.barrier then
      return ("line %d does more than to ask"):format(plan.fn.kernel:line_of(part.first))
    end
    local said = not negated and said_by(plan.fn, part)
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
---@param fn table
---@param s table a statement
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
local function loads(fn, d)
  local all = d.init and effects.of(fn, d.init)
  return d.unknown_init
    or all and (#all.accesses > 0 or all.opaque or next(all.writes) ~= nil) or false
end

--- May 0 stand for the value of what is declared?
---@param fn table
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
    if loads(fn, d) and (not M.is_number(fn, d) and not is_apart or d.reference or #d.extents > 0
      or d.unknown_init or d.shared or d.init_form ~= "=") then
      return ("line %d declares what only threads with an item can have"):format(
        fn.kernel:line_of(s.first))
    end
  end
end

local function check_list(plan, step)
  for _, s in ipairs(step.around.body) do
    if s == step.child then return nil end
    if is_leaving(s) and step.around == plan.fn.body then
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
---@param fn table of kernel.read
---@param s table a statement
---@param before? boolean
function M.plan(fn, s, before)
  if fn.kind ~= "kernel" or not fn.body then return nil, "it is in no kernel" end
  local way, why = way_to(fn, s)
  if not way then return nil, why end
  local plan = setmetatable({ fn = fn, s = s, way = way, conditions = {}, uniform = {},
    loops = {}, before = before }, Plan)
  why = check_kernel(fn)
  for _, step in ipairs(way) do why = why or check_step(plan, step) end
  why = why or check_behind(plan)
  if why then return nil, why end
  for _, condition in ipairs(plan.conditions) do
    condition.sides = sides.of(fn, condition.tree, plan.uniform)
  end
  return plan
end

-- ---- edits --------------------------------------------------------------------------------------

-- The line that declares what holds for threads with an item, of the conditions of an if; nothing
-- where a variable says that already.
local function declared(state, s, negated)
  local plan, texts = state.plan, { state.inside }
  local list = expression.parts(s.condition, negated and "||" or "&&", {})
  if not negated and not state.inside and #list == 1 and said_by(plan.fn, list[1]) then
    state.inside = list[1].text
    return ""
  end
  for _, part in ipairs(list) do
    texts[#texts + 1] = M.text(plan.fn, { tree = part, negated = negated })
  end
  state.names = state.names + 1
  state.inside = plan.fn.kernel:fresh(state.names == 1 and "inside" or "inside" .. state.names)
  return ("const bool %s = %s;"):format(state.inside, table.concat(texts, " && "))
end

local function is_single(list)
  return #list == 1 and (list[1].kind == "expression" or list[1].kind == "block")
end

-- `if (inside)` around statements that stand together.
local function wrap(state, list)
  if #list == 0 then return end
  local kernel, e = state.plan.fn.kernel, state.e
  local first, last = list[1].first, list[#list].last
  if is_single(list) then return e:before(first, ("if (%s) "):format(state.inside)) end
  local indent = kernel:indent(first)
  e:before(first, ("if (%s) {\n%s%s"):format(state.inside, indent, state.unit))
  table.insert(state.deeper, e:deepen(first, last, state.unit))
  e:after(last, "\n" .. indent .. "}")
end

local STAYS = { empty = true, type = true, declaration = true }

-- A declaration for all threads: those without an item load nothing for it.
local function declare(state, s)
  local e, fn = state.e, state.plan.fn
  for _, d in ipairs(s.declared or {}) do
    if loads(fn, d) and M.is_number(fn, d) then
      local open = is_loose(d.init) and not d.init.parens
      e:before(d.init.first, ("%s ? %s"):format(state.inside, open and "(" or ""))
      e:after(d.init.last, (open and ")" or "") .. " : 0")
    elseif loads(fn, d) then
      e:replace(s.first, d.token, ("%s%s %s%s; if (%s) %s"):format(
        d.target_const and "const " or "", d.type, ("*"):rep(d.pointer), d.name, state.inside,
        d.name))
    end
  end
end

-- What stands before the place: declarations stay, the rest is asked for.
local function before(state, list)
  local group = {}
  for _, s in ipairs(list) do
    if STAYS[s.kind] then
      wrap(state, group)
      group = {}
      declare(state, s)
    else
      group[#group + 1] = s
    end
  end
  wrap(state, group)
end

-- Pragmas at the end of a list are those of the loop behind it.
local function drop_pragmas(list)
  while #list > 0 and list[#list].kind == "directive" do list[#list] = nil end
end

-- What stands in a list before and behind the place; the ways out become variables.
local function in_list(state, step)
  local front, back, seen = {}, {}, false
  for _, s in ipairs(step.around.body) do
    if s == step.child then drop_pragmas(front) end
    if s == step.child and not (s == state.plan.s and state.plan.before) then
      seen = true
    elseif seen or s == step.child then
      seen = true
      back[#back + 1] = s
    elseif is_leaving(s) and step.around == state.plan.fn.body then
      if state.inside then before(state, front) end
      front = {}
      state.e:replace(s.first, s.last, declared(state, s, true))
    else
      front[#front + 1] = s
    end
  end
  if state.inside then before(state, front) end
  return back
end

-- Does a block declare a name that another one of the function declares too?
local function is_shadowing(fn, block)
  for _, s in ipairs(block.body) do
    for _, d in ipairs(s.declared or {}) do
      if #(fn.variables[d.name] or {}) > 1 then return true end
    end
  end
  return false
end

-- The head of an if as a declaration; its block's lines stand less deep, where they need no braces
-- any more: by how many blanks.
local function in_if(state, s)
  local fn, e, body = state.plan.fn, state.e, s.body
  local line, kernel = declared(state, s, false), fn.kernel
  if body.kind ~= "block" or is_shadowing(fn, body) or kernel:line_of(body.first)
    == kernel:line_of(body.last) then
    e:replace(s.first, s.close, line)
    return nil
  end
  if line == "" then
    e:remove(s.first, body.first)
  else
    e:replace(s.first, body.first, line)
  end
  return math.max(0, #kernel:indent(body.body[1].first) - #kernel:indent(s.first))
end

-- The end of a block whose if is gone: what stands behind the place keeps its braces.
local function close(state, block, back, less)
  local kernel, e = state.plan.fn.kernel, state.e
  local to
  if back[1] then
    to = kernel:line_of(back[1].first) - 1
    local indent = kernel:indent(back[1].first)
    local outer = indent:sub(1, #indent - less)
    local lines = back[1] == state.plan.s and table.move(state.lines, 1, #state.lines, 1, {}) or {}
    lines[#lines + 1] = ("if (%s) {"):format(state.inside)
    e:lead(back[1].first, outer .. table.concat(lines, "\n" .. outer) .. "\n" .. indent)
  else
    to = kernel:line_of(block.last) - 1
    e:remove(block.last, block.last)
  end
  local from = kernel:line_of(block.first) + 1
  if from <= to and less > 0 then table.insert(state.deeper, { from, to, -less }) end
end

--- Makes the changes around the place.
---@param e table of gilua.rewrite.edit
---@param lines? string[] to be put before the statement, of a plan for what is before it
---@return table[] lines that stand deeper, or less deep: { first, last, blanks }
---@return string? inside the variable that says whether a thread has an item
function Plan:edits(e, lines)
  local state = { plan = self, e = e, deeper = {}, names = 0, unit = edit.unit(self.fn),
    lines = lines or {} }
  local less, ends = nil, {}
  for _, step in ipairs(self.way) do
    local s = step.around
    if s.kind == "if" then
      less = in_if(state, s)
    elseif s.kind == "for" then
      less = nil
    else
      local back = in_list(state, step)
      ends[#ends + 1] = { block = s, back = back, less = less, inside = state.inside }
      less = nil
    end
  end
  local inside = state.inside
  for _, one in ipairs(ends) do
    state.inside = one.inside
    if #state.lines > 0 and one.back[1] == self.s and not one.less then
      local indent = self.fn.kernel:indent(self.s.first)
      e:before(self.s.first, table.concat(state.lines, "\n" .. indent) .. "\n" .. indent)
    end
    if one.less then
      close(state, one.block, one.back, one.less)
    elseif one.inside and #one.back > 0 then
      wrap(state, one.back)
    end
  end
  return state.deeper, inside
end

return M
