--- groups: what is done for each of the blocks, or threads, that become one, as text: statements as
-- they stand, a level deeper, in a loop (gilua.rewrite.merged.each).

local each = require "gilua.rewrite.merged.each"
local merge_plan = require "gilua.facts.merge_plan"
local teams = require "gilua.facts.teams"
local threads = require "gilua.facts.threads"

local M = {}

-- T name_all[K][extents]; of one that is there once, T name[extents];
local function array_of(plan, d)
  local kernel, words, stop = plan.fn.kernel, plan.fn.kernel.words, d.token
  while words[stop + 1] == "[" do stop = words.match[stop + 1] end
  local name = plan.spread[d.name] and ("%s[%d]"):format(plan.all[d.name], plan.count) or d.name
  return ("%s%s%s %s%s%s;"):format(d.shared and "__shared__ " or "",
    d.target_const and "const " or "", d.type, ("*"):rep(d.pointer), name,
    stop > d.token and kernel:source(d.token + 1, stop) or "")
end

-- The text of a tree that is the same for all.
local function common_text(plan, tree)
  local fn, instead = plan.fn, {}
  for _, token in ipairs(threads.uses(fn)[plan.what.length][plan.side]) do
    instead[token] = { plan.whole, token + 2 }
  end
  for _, number in ipairs(plan.numbers) do
    for _, change in ipairs(teams.fewer(fn, number, plan.side, plan.count)) do
      instead[change[1]] = { change[3], change[2] }
    end
  end
  return fn.kernel:source(tree.first, tree.last, instead)
end

--- Returns a declaration as assignments; what it needs before the group, arrays and what is the
--- same for all, is added to lines.
---@param plan gilua.merge_plan
---@param arrays string[]
---@return string
function M.assignments(plan, s, arrays)
  local list, kernel = {}, plan.fn.kernel
  for _, d in ipairs(s.declared) do
    local is_own = plan.known:owns(d.name, d.token)
    arrays[#arrays + 1] = array_of(plan, d)
    if d.init and not is_own then
      arrays[#arrays] = ("%s%s = %s;"):format(d.const and d.pointer == 0 and "const " or "",
        arrays[#arrays]:sub(1, -2), common_text(plan, d.init))
    elseif d.init then
      list[#list + 1] = ("%s = %s;"):format(d.name, kernel:source(d.init.first, d.init.last,
        (each.other(plan, d.init.first, d.init.last))))
    end
  end
  return table.concat(list, " ")
end

-- Has a declaration what more than its group uses?
local function is_spread(plan, s)
  local owned = 0
  for _, d in ipairs(s.kind == "declaration" and s.declared or {}) do
    if plan.spread[d.name] == d then return true end
    owned = owned + (plan.known:owns(d.name, d.token) and 1 or 0)
  end
  return owned > 0 and owned < #s.declared
end

-- Adds what stands for some of a group's statements: declarations as assignments, and what only
-- those with an item may write below a question whether this one has.
local function replace_statements(plan, group, instead, arrays)
  for _, s in ipairs(group.statements) do
    if is_spread(plan, s) then
      for token in pairs(instead) do
        if s.first <= token and token <= s.last then instead[token] = nil end
      end
      instead[s.first] = { M.assignments(plan, s, arrays), s.last }
    elseif group.filled and merge_plan.is_seen(plan, s) then
      local word = instead[s.first] or { plan.fn.kernel:source(s.first, s.first), s.first }
      instead[s.first] = { ("if (%s[%s]) %s"):format(group.filled.active, plan.part, word[1]),
        word[2] }
    end
  end
end

-- Adds the declarations of elements that a group uses.
local function add_elements(plan, group, list)
  for _, d in ipairs(group.elements) do
    local s, before, behind = plan.elements[d], each.directives(plan, d)
    table.move(before, 1, #before, #list + 1, list)
    list[#list + 1] = plan.step .. plan.fn.kernel:source(s.first, s.last)
    table.move(behind, 1, #behind, #list + 1, list)
  end
end

--- Returns a group's text.
---@param plan gilua.merge_plan
---@param group table
---@return string
function M.text(plan, group)
  local kernel, fn, list = plan.fn.kernel, plan.fn, {}
  local instead, has_block = each.other(plan, group.first, group.last)
  replace_statements(plan, group, instead, list)
  local head = each.head(plan, group.names, has_block, { filled = group.filled })
  table.move(head, 1, #head, #list + 1, list)
  add_elements(plan, group, list)
  list[#list + 1] = plan.step .. kernel:source(group.first, group.last, instead)
    :gsub("\n", "\n" .. plan.step)
  list[#list + 1] = "}"
  local parent, indent = group.statements[1].parent, kernel:indent(group.first)
  local stands_in_list = not parent or parent.kind == "block" or fn.body == parent
  local is_beside = not kernel:begins_line(group.first)
  local inner = is_beside and indent .. plan.step or indent
  local text = table.concat(list, "\n" .. inner):gsub("\n[ \t]+(#%s*[ie][fln])", "\n%1")
  if stands_in_list then return is_beside and "\n" .. inner .. text or text end
  return "{\n" .. inner .. text .. "\n" .. indent .. "}"
end

return M
