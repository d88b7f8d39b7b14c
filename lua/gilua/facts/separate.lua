--- separate: do two parts of a kernel need nothing of each other, so that other blocks may do each?
--
-- Yes where nothing in memory that one part writes may be touched by the other, in any thread;
-- where no variable, and no element of shared memory, goes from the first part to the second; and
-- where the second waits in the first, at a barrier, for nothing that is done before both. Whole
-- blocks go one way, so that barriers and shared memory may be in each.

local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"
local sides = require "gilua.facts.sides"
local statement = require "gilua.source.statement"

local M = {}

local BUILT_IN = settings.set "blockIdx gridDim threadIdx blockDim warpSize"

-- ---- memory -----------------------------------------------------------------------------------

--- Returns the declaration of a block's own array, or a thread's, that an access is of; nil of any
--- other.
function M.own_array(fn, access)
  local d = access.root and fn:declaration(access.root, access.token)
  if not d or d.pointer > 0 or d.reference or #d.extents == 0 then return nil end
  local is_plain = access.indices and #access.indices <= #d.extents
    or not fn.kernel.words.types[d.type]
  return is_plain and d or nil
end

--- Returns the memory of some effects that other blocks see too: { root (nil: any), write }.
--- Variables of the file are some of it.
function M.outside(fn, inside)
  local list = {}
  for _, access in ipairs(inside.accesses) do
    if not M.own_array(fn, access) then
      local d = access.root and fn:declaration(access.root, access.token)
      local root = not (d and not d.parameter) and access.root or nil
      list[#list + 1] = { root = root, write = access.write }
    end
  end
  for _, names in ipairs { inside.reads, inside.writes } do
    for name, tokens in pairs(names) do
      local is_known = fn:declaration(name, tokens[1]) or BUILT_IN[name] or fn.kernel.macros[name]
      if not is_known then
        list[#list + 1] = { root = name, write = names == inside.writes }
      end
    end
  end
  return list
end

--- May what is written in one of two lists of M.outside be touched in the other?
function M.meets(fn, a, b)
  for _, one in ipairs(a) do
    for _, two in ipairs(b) do
      if (one.write or two.write) and apart.may_meet(fn, one, two) then return true end
    end
  end
  return false
end

--- Is anything in a list of M.outside written?
function M.writes(list)
  return lists.any(list, function(access) return access.write end)
end

--- Does a statement call functions of the file, or go round?
function M.is_long(fn, s)
  for _, call in ipairs(effects.of(fn, s).calls) do
    if fn.kernel.by_name[call.name or ""] then return true end
  end
  return statement.holds(s, statement.LOOPS)
end

-- ---- what goes from one part to the other ------------------------------------------------------

--- Returns a part: its statements, and all that they do.
function M.part(fn, list)
  local part = { list = list, inside = effects.all(fn, list) }
  part.outside = M.outside(fn, part.inside)
  for _, s in ipairs(list) do part.is_long = part.is_long or M.is_long(fn, s) end
  return part
end

local within = statement.spans

-- The name to which a statement gives a value first of all; and what it computes that of.
local function given(s)
  if s.kind == "for" then s = s.init or s end
  local tree = s.kind == "expression" and s.tree
  if tree and tree.kind == "assign" and tree.op == "=" then return tree.a, tree.b end
end

--- Returns the tokens of reads, or writes, that mean a variable.
function M.tokens_of(fn, names, d)
  return lists.filter(names[d.name] or {}, function(token)
    return fn:declaration(d.name, token) == d
  end)
end

-- Is a variable given a value in a part before anything there asks for it?
local function is_given(fn, part, d)
  local tokens, setter = M.tokens_of(fn, part.inside.reads, d), nil
  local more = M.tokens_of(fn, part.inside.writes, d)
  table.move(more, 1, #more, #tokens + 1, tokens)
  table.sort(tokens)
  for _, s in ipairs(fn.statements) do
    local target, value = given(s)
    if target and target.kind == "name" and target.first == tokens[1]
      and not effects.of(fn, value).reads[d.name] then
      setter = setter or s
    end
  end
  local block = setter and setter.parent
  if block and block.kind == "for" then -- its init: what is behind the loop comes after it, too
    block = block.parent
  end
  return block ~= nil and block.kind == "block" and tokens[#tokens] <= block.last
    and not (block.parent and block.parent.kind == "switch")
end

-- Indices as one text; nil where they are not known for other threads.
local function place_of(fn, indices)
  local words = {}
  for i, index in ipairs(indices or {}) do
    if not sides.of(fn, index) then return nil end
    words[i] = fn.kernel:plain(index)
  end
  return table.concat(words, "][")
end

-- The elements of an array are written in a part at one place, which is each thread's: its indices.
local function own_place(fn, part, d)
  local text
  for _, access in ipairs(part.inside.accesses) do
    if access.write and M.own_array(fn, access) == d then
      local place = place_of(fn, access.indices)
      if not place or text and text ~= place then return nil end
      text = place
    end
  end
  return text
end

-- Does a part begin with an array by storing, in all threads, at a place that is each one's?
local function is_stored_first(fn, part, d, place)
  local first
  for _, access in ipairs(part.inside.accesses) do
    local is_it = M.own_array(fn, access) == d
    if is_it and (not first or access.token < first.token) then first = access end
  end
  for _, s in ipairs(part.list) do
    local target, value = nil, nil
    if s.kind == "expression" then target, value = given(s) end
    if target and first and target == first.node and within(s, first.token) then
      for _, access in ipairs(effects.of(fn, value).accesses) do
        if M.own_array(fn, access) == d or not access.root then return false end
      end
      return #first.indices == #d.extents and place_of(fn, first.indices) == place
    end
  end
  return false
end

-- The array that takes something from the first part to the second; nil: none.
local function array_between(fn, a, b)
  for _, one in ipairs(a.inside.accesses) do
    local d = one.write and M.own_array(fn, one)
    for _, two in ipairs(d and b.inside.accesses or {}) do
      if two.read and M.own_array(fn, two) == d then
        local place = own_place(fn, a, d)
        if not place or not is_stored_first(fn, b, d, place) then return d.name end
      end
    end
  end
end

-- The variable that takes something from the first part to the second, or is declared in the first
-- and used in the second; nil: none.
local function variable_between(fn, a, b)
  local first, last = a.list[1].first, a.list[#a.list].last
  for name, tokens in pairs(a.inside.writes) do
    for _, token in ipairs(tokens) do
      local d = fn:declaration(name, token)
      local asked = d and #M.tokens_of(fn, b.inside.reads, d) > 0
      local used = asked or d and #M.tokens_of(fn, b.inside.writes, d) > 0
      if used and first <= d.token and d.token <= last or asked and not is_given(fn, b, d) then
        return name
      end
    end
  end
end

-- Arrays and variables in shared memory that are used: whether they are written, by declaration.
local function shared_uses(fn, inside, into)
  for _, access in ipairs(inside.accesses) do
    local d = M.own_array(fn, access)
    if d and d.shared then into[d] = into[d] or access.write end
  end
  for _, names in ipairs { inside.reads, inside.writes } do
    for name, tokens in pairs(names) do
      local d = fn:declaration(name, tokens[1])
      if d and d.shared and #d.extents == 0 then into[d] = into[d] or names == inside.writes end
    end
  end
  return into
end

-- Does the second part use shared memory as all blocks left it, and wait for that in the first one?
local function waits_before(fn, common, a, b)
  local left = {}
  for _, s in ipairs(a.inside.barrier and common or {}) do
    if statement.is_barrier(s) then left = {} end
    shared_uses(fn, effects.of(fn, s), left)
  end
  for d, is_written in pairs(shared_uses(fn, b.inside, {})) do
    if left[d] ~= nil and (left[d] or is_written) then return true end
  end
  return false
end

--- Can two parts be done beside each other, behind what all blocks do? nil and why not.
---@param common table[] statements and trees
---@param a table of M.part, the first
---@param b table
---@return boolean? answer
function M.of(fn, common, a, b)
  local both = M.outside(fn, effects.all(fn, common))
  local name = array_between(fn, a, b) or variable_between(fn, a, b)
  if not M.writes(a.outside) or not M.writes(b.outside) then
    return nil, "one part leaves nothing in memory"
  elseif not a.is_long and not b.is_long then
    return nil, "neither part has a loop, or calls a function"
  elseif name then
    return nil, ("the second part uses %s as the first one leaves it"):format(name)
  elseif waits_before(fn, common, a, b) then
    return nil, "the second part needs what the first one waits for"
  elseif M.meets(fn, a.outside, b.outside) then
    return nil, "one part may use memory that the other writes"
  elseif M.meets(fn, both, a.outside) or M.meets(fn, both, b.outside) then
    return nil, "both parts need what one of them writes to"
  end
  return true
end

return M
