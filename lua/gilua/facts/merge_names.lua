--- merge_names: which names of a kernel are there once for each of the blocks, or threads, that
-- become one (merge_plan)?

local effects = require "gilua.facts.effects"

local M = {}

--- The names in a range of tokens that are there for each.
---@param plan gilua.merge_plan
---@param first integer
---@param last integer
---@return table<string, true>
function M.names_of(plan, first, last)
  local list = {}
  for _, s in ipairs(plan.fn.statements) do
    if first <= s.first and s.last <= last then
      local e = effects.of(plan.fn, s)
      for _, names in ipairs { e.reads, e.writes } do
        for name, tokens in pairs(names) do
          if plan.known:owns_any { [name] = tokens } then list[name] = true end
        end
      end
    end
  end
  return list
end

-- Adds the elements among names, and the arrays that they are of to the names.
local function add_elements(plan, group)
  group.elements = {}
  for name in pairs(group.names) do
    local d = plan.fn:declaration(name, group.first)
    if d and plan.elements[d] then group.elements[#group.elements + 1] = d end
  end
  table.sort(group.elements, function(a, b) return a.token < b.token end)
  for _, d in ipairs(group.elements) do
    group.names[d.name] = nil
    group.names[effects.element_of(plan.fn, d)] = true
  end
end

-- Why a name cannot be there for each; nil where it can, or need not: then it is in a list.
local function take(plan, list, name, d)
  local shared = plan.known.shared[name]
  if shared == "file" then
    return ("%s is shared memory that is declared outside of the kernel"):format(name)
  elseif shared == "dynamic" then
    list[name] = d or { name = name, dynamic = true }
  elseif d and (d.parameter or d.reference or d.static or d.volatile or d.type == "auto") then
    return ("%s cannot be there for each %s"):format(name, plan.what.one)
  elseif d then
    list[name] = d
  end
end

-- Those that more than a group uses.
local function take_group(plan, list, group)
  local fn = plan.fn
  group.names = M.names_of(plan, group.first, group.last)
  add_elements(plan, group)
  for name in pairs(group.names) do
    local d = fn:declaration(name, group.first) or fn:declaration(name, group.last)
    local is_outside = d and (d.token < group.first or d.token > group.last)
    local why = (is_outside or plan.known.shared[name]) and take(plan, list, name, d)
    if why then return why end
  end
end

-- Those that a guard's condition asks for.
local function take_asked(plan, list, condition)
  for name, tokens in pairs(effects.of(plan.fn, condition).reads) do
    local is_own = plan.known:owns_any { [name] = tokens }
    local why = is_own and take(plan, list, name, plan.fn:declaration(name, condition.first))
    if why then return why end
  end
end

local function unfit(plan, name, d)
  if #(plan.fn.variables[name] or { 1 }) > 1 then
    return ("%s is declared more than once"):format(name)
  elseif not d.dynamic and not d.extern and not plan.known.names[name] then
    return ("%s is not understood"):format(name)
  elseif d.init and (d.init_form ~= "=" or #d.extents > 0) or d.unknown_init then
    return ("%s begins with what cannot be assigned"):format(name)
  end
end

--- Returns the names that more than their own group uses, with their declarations, those of shared
--- memory always; nil and why one cannot be there for each.
---@param plan gilua.merge_plan
---@return table<string, table>?
---@return string? why
function M.spread(plan)
  local list, why = {}, nil
  for _, s in ipairs(plan.declared) do
    for _, d in ipairs(s.declared) do
      why = why or plan.known.names[d.name] and take(plan, list, d.name, d) or nil
    end
  end
  for _, group in ipairs(plan.groups) do why = why or take_group(plan, list, group) end
  for _, guard in ipairs(plan.guards) do
    why = why or take_asked(plan, list, guard.statement.condition)
  end
  for name, d in pairs(list) do why = why or unfit(plan, name, d) end
  if why then return nil, why end
  return list
end

--- Returns a name that would carry a value from one block or thread to the next, or nil: the groups
--- of a plan assign it, and there is one for all. A variable that each loop begins anew carries
--- none.
---@param plan gilua.merge_plan
---@return string?
function M.goes_on(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.statements) do
      for name, tokens in pairs(effects.of(plan.fn, s).writes) do
        local d = plan.fn:declaration(name, tokens[1])
        local is_outside = d and (d.token < group.first or d.token > group.last)
        if is_outside and not plan.known:owns(name, tokens[1])
          and not plan.known:only_counts(name) then
          return name
        end
      end
    end
  end
end

return M
