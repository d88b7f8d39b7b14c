--- guarded: makes a place in a kernel one that all threads of a block reach
-- (gilua.facts.all_come). The conditions around it, and the exits before it, become a variable. An
-- `if` of it guards everything else:
--
--   if (row < n && col < m) {        const bool inside = row < n && col < m;
--     c[at] = 0;                     if (inside) c[at] = 0;
--     for (…) …                      (here is place for what all threads do)
--     c[at] *= 2;                    if (inside) {
--   }                                  c[at] *= 2;
--                                    }

local all_come = require "gilua.facts.all_come"
local edit = require "gilua.rewrite.edit"
local expression = require "gilua.source.expression"
local types = require "gilua.facts.types"

local M = {}

-- ---- conditions ---------------------------------------------------------------------------------

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

-- ---- edits --------------------------------------------------------------------------------------

-- The line that declares what holds for threads with an item, of the conditions of an if; nothing
-- where a variable says that already.
local function declared(state, s, negated)
  local plan, texts = state.plan, { state.inside }
  local list = expression.parts(s.condition, negated and "||" or "&&", {})
  if not negated and not state.inside and #list == 1 and all_come.said_by(plan.fn, list[1]) then
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
    if all_come.loads(fn, d) and all_come.is_number(fn, d) then
      local open = is_loose(d.init) and not d.init.parens
      e:before(d.init.first, ("%s ? %s"):format(state.inside, open and "(" or ""))
      e:after(d.init.last, (open and ")" or "") .. " : 0")
    elseif all_come.loads(fn, d) then
      e:replace(s.first, d.token, ("%s%s %s%s; if (%s) %s"):format(
        d.target_const and "const " or "", d.type, ("*"):rep(d.pointer), d.name, state.inside,
        d.name))
    end
  end
end

-- Writes what stands before the place: declarations stay, the rest gets a condition.
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
    elseif all_come.is_leaving(s) and step.around == state.plan.fn.body then
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
---@param plan table of gilua.facts.all_come
---@param lines? string[] to be put before the statement, of a plan for what is before it
---@return table[] lines that stand deeper, or less deep: { first, last, blanks }
---@return string? inside the variable that says whether a thread has an item
function M.edits(plan, e, lines)
  local state = { plan = plan, e = e, deeper = {}, names = 0, unit = edit.unit(plan.fn),
    lines = lines or {} }
  local less, ends = nil, {}
  for _, step in ipairs(plan.way) do
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
    if #state.lines > 0 and one.back[1] == plan.s and not one.less then
      local indent = plan.fn.kernel:indent(plan.s.first)
      e:before(plan.s.first, table.concat(state.lines, "\n" .. indent) .. "\n" .. indent)
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
