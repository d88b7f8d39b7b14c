--- online_rows: where does an online softmax (gilua.facts.online) read its keys, its values and
-- what is the thread's own?
--
-- Yes is { tiled, kept, value, key }: two lists of elements (gilua.facts.elements) of loops of
-- known length within it, each with `inner`, that loop, and `length`; and of the first that of the
-- values and one of the keys. Those that are tiled are the same for all
-- threads of the block and follow the key; those that are kept are the same for all keys. No is nil
-- and why: the loop reads something else, whose place may not be there for other threads.

local effects = require "gilua.facts.effects"
local elements = require "gilua.facts.elements"
local lists = require "gilua.base.lists"
local sides = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"

local M = {}

-- How many rounds a loop from 0 has; nil where that is not known.
local function length_of(fn, inner)
  local fits = inner and inner.counted and inner.simple and inner.declares and inner.step == 1
    and inner.relation == "<" and inner.start and sides.value(fn, inner.start) == 0
    and not inner.breaks and not inner.continues
  return fits and sides.value(fn, inner.bound) or nil
end

-- Does a tree, or a name, hang on the iteration of the loop around?
local function follows(loop, inner, names)
  for name in pairs(names) do
    local is_its = name == loop.variable or loop.inside.declares[name]
    if is_its and name ~= inner.variable then return true end
  end
  return false
end

-- The elements of one loop of known length.
local function add(loop, inner, plan, type, found)
  local uniform = setmetatable({ [loop.variable] = true }, { __index = plan.uniform })
  local function differs(of) return next(of) ~= nil end
  local list = elements.of(inner, uniform, differs, function(access, own, of)
    local names = { [access.base] = true }
    for name in pairs(effects.of(loop.fn, access.indices[1]).reads) do names[name] = true end
    local is_kept = not follows(loop, inner, names)
    local fits = own == type and (is_kept or not next(of))
    return fits and { is_kept = is_kept, inner = inner, length = length_of(loop.fn, inner) } or nil
  end)
  for _, el in ipairs(list) do table.insert(el.is_kept and found.kept or found.tiled, el) end
end

local function is_covered(found, access)
  local function has(el)
    return lists.any(el.nodes, function(node) return node == access.node end)
  end
  return lists.any(found.tiled, has) or lists.any(found.kept, has)
end

--- Returns where an online softmax reads what; nil and why that is not known.
---@param loop table of gilua.facts.loop
---@param state table of gilua.facts.online
---@param plan table of gilua.facts.all_come
---@return { tiled: table[], kept: table[], value: table, key: table }?
---@return string? why
function M.of(loop, state, plan)
  local fn, found = loop.fn, { tiled = {}, kept = {} }
  statement.walk(loop.body, function(s)
    local inner = s.loop
    if inner and length_of(fn, inner) then add(loop, inner, plan, state.type, found) end
  end)
  for _, access in ipairs(loop.inside.accesses) do
    if not threads.is_local(fn, access) and not is_covered(found, access) then
      return nil, ("it reads '%s' in another way than along a row"):format(access.base)
    end
  end
  local text = fn.kernel:plain(state.value)
  for _, el in ipairs(found.tiled) do
    if el.text == text and el.inner == state.values then found.value = el
    elseif el.length > 1 then found.key = el end
  end
  if not found.value or not found.key then
    return nil, "its keys and values are not what all threads read along two rows"
  end
  return found
end

return M
