--- wider: would the blocks of a kernel do the same with more threads, which its width counts
-- (gilua.facts.width)?
--
-- Each question is one thing that more threads would change: an element of a thread's own, an
-- update by each thread, what an iteration does for its thread, what a thread says of its share.
-- Yes is true, no is false and unknown is nil, each with the sentence.

local affine = require "gilua.source.affine"
local carried = require "gilua.facts.carried"
local depends = require "gilua.facts.depends"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local halved = require "gilua.facts.halved"
local lists = require "gilua.base.lists"
local memory_of = require "gilua.facts.memory_of"
local nothing = require "gilua.facts.nothing"
local pattern = require "gilua.source.pattern"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local width = require "gilua.facts.width"

local M = {}

-- ---- what some threads do alone -----------------------------------------------------------------

-- Is a number the same whatever the block's width is, which a macro may be?
local function is_fixed(fn, node, macro)
  local is_own = node.kind == "name" and node.text ~= macro
  return affine.integer(node) or is_own and affine.macro(fn.kernel, node.text)
end

-- Does a condition hold for the same threads of a wider block: `t == 0`, `!t`, `t < 32`?
local function keeps_others_out(fn, tree, macro)
  local both = pattern.match(tree, "$a && $b")
  if both then
    return keeps_others_out(fn, both.a, macro) or keeps_others_out(fn, both.b, macro)
  end
  local found = pattern.match(tree, "!$t", "$t < $n", "$t <= $n", "$n > $t", "$n >= $t", "$t == $n")
  return found and threads.is_thread(fn, found.t) and (not found.n or is_fixed(fn, found.n, macro))
end

-- Is a statement below such a condition?
local function is_guarded(fn, s, macro)
  return statement.below(s, function(condition)
    return keeps_others_out(fn, condition, macro)
  end) ~= nil
end

-- ---- what each thread does ----------------------------------------------------------------------

-- Is a thread's number a term of a sum?
local function has_thread(fn, tree)
  local sum = pattern.match(tree, "$a + $b", "$a - $b")
  if sum then return has_thread(fn, sum.a) or has_thread(fn, sum.b) end
  return threads.is_thread(fn, tree)
end

-- Returns the names whose values are made of a block's number, also by way of other names.
local function block_names(fn)
  local names, more = { blockIdx = true }, true
  local function see(name, value)
    if not value or names[name] then return end
    for i = value.first, value.last do
      if names[fn.kernel.words[i]] then names[name], more = true, true end
    end
  end
  while more do
    more = false
    for name, list in pairs(fn.variables) do
      for _, d in ipairs(list) do see(name, d.init) end
    end
    statement.nodes(fn.statements, function(node)
      if node.kind == "assign" and node.a.kind == "name" then see(node.a.text, node.b) end
    end)
  end
  return names
end

-- Is a product of a block's number and its width anywhere?
local function counts_across_blocks(fn, name)
  local found, blocks = false, block_names(fn)
  statement.nodes(fn.statements, function(node)
    if node.kind ~= "binary" or node.op ~= "*" then return end
    local is_width = width.mentions(fn, node.first, node.last, name)
    for i = node.first, is_width and node.last or 0 do
      found = found or blocks[fn.kernel.words[i]]
    end
  end)
  return found
end

-- Does an array grow with the block?
local function grows(fn, node, macro)
  local d = macro and node.kind == "name" and fn:declaration(node.text, node.first)
  return lists.any(d and d.extents or {}, function(extent)
    return extent and width.mentions(fn, extent.first, extent.last, macro)
  end)
end

--- Does no thread have an element of its own, which more threads do not have? It would be at its
--- number, of an array that does not grow with the block, or of all blocks' threads.
---@param macro? string the block's width
function M.without_elements(fn, macro)
  if counts_across_blocks(fn, macro or "blockDim") or counts_across_blocks(fn, "blockDim") then
    return false, "its threads count items across blocks"
  end
  local found = false
  local function see(node)
    found = found or node.kind == "index" and has_thread(fn, node.index)
      and not grows(fn, node.a, macro) or node.kind == "binary" and node.op == "+"
      and has_thread(fn, node) and width.mentions(fn, node.first, node.last, "blockIdx")
  end
  for _, s in ipairs(fn.statements) do
    local strides = s.parent and s.parent.init == s and s.parent.loop
    local is_start = strides and width.of_tree(fn, strides.by)
    local is_asked = not is_start and not is_guarded(fn, s, macro)
    statement.nodes(is_asked and { s } or {}, see)
  end
  return not found, "each of its threads has an element, and more threads have none"
end

-- ---- the loops ----------------------------------------------------------------------------------

--- Returns the loops that threads share; nil and why others may not do iterations of one.
---@return table[]? statements
---@return string? why
function M.loops(fn)
  local list = {}
  for _, loop in ipairs(fn.loops) do
    if loop.counted and width.of_tree(fn, loop.by) then
      if loop.breaks or loop.leaves then
        return nil, ("the loop at line %d is left before its end"):format(loop.line)
      end
      list[#list + 1] = loop.statement
    end
  end
  return list
end

--- May other threads do iterations of them? true; nil and what has to be promised.
function M.may_share(fn)
  for _, loop in ipairs(fn.loops) do
    local is_shared = loop.counted and width.of_tree(fn, loop.by)
    local promise = is_shared and select(2, carried.of(loop))
    if promise then return nil, promise end
  end
  return true
end

-- The loops that begin at a thread's own item.
local function loops_from_thread(fn)
  local list = {}
  for _, loop in ipairs(fn.loops) do
    local init = loop.statement.init
    if init and lists.any(statement.trees(init), depends.on_thread(fn, {})) then
      list[#list + 1] = loop.statement
    end
  end
  return list
end

-- The array of a block's or a thread's own memory in which a node's element lies, by any of its
-- names; nil of other memory.
local function own_array(fn, node)
  local name = node.kind == "index" and effects.root_name(node)
  local root = name and memory_of.of(fn, name, node.first)
  local d = root and fn:declaration(root, node.first)
  return d and (d.shared or d.pointer == 0 and not d.parameter) and d or nil
end

-- The line in some loops' bodies that asks which thread does the item; nil where none does. A
-- thread's number may say which element of its own or the block's memory it uses; what it finds
-- elsewhere by its number may not.
local function differs_at(fn, loops, asks)
  local line
  local function see(node)
    if own_array(fn, node) then
      expression.walk(node, function(inner)
        if inner.kind ~= "index" or own_array(fn, inner) then return nil end
        expression.walk(inner, see)
        return false
      end)
      return false
    end
    if node.kind == "name" and asks(node) then line = line or fn.kernel:line_of(node.token) end
  end
  for _, s in ipairs(fn.statements) do
    for _, head in ipairs(loops) do
      statement.nodes(statement.covers(head.body, s) and { s } or {}, see)
    end
  end
  return line
end

--- Are the items of shared loops the same whichever thread does them? Or false and why; or nil, and
--- the promise for loops whose step is something else than the width.
---@param loops table[] statements
---@param macro? string
---@return string?
function M.alike(fn, loops, macro)
  local heads = loops_from_thread(fn)
  local asks = depends.on_thread(fn, heads, macro)
  local line = differs_at(fn, loops, asks)
  if line then
    return false, ("line %d does an item otherwise for another thread"):format(line)
  end
  line = differs_at(fn, heads, asks)
  if not line then return true end
  return nil, ("line %d does the same for an item, however many threads there are"):format(line)
end

-- ---- behind the loops ---------------------------------------------------------------------------

-- The shared arrays of whose elements each thread has some of its own, with what it found in its
-- share of the loops: by name, a line.
local function arrays_of_shares(fn, loops, macro)
  local list, found = {}, depends.on_share(fn, loops)
  local thread = depends.on_thread(fn, loops_from_thread(fn), macro)
  local function see(place, value, is_inside)
    local d = own_array(fn, place)
    local is_own = d and d.shared and lists.any(effects.of(fn, place).accesses, function(access)
      return lists.any(access.indices or {}, thread)
    end)
    if is_own and (is_inside or value and found(value)) then
      list[d.name] = list[d.name] or fn.kernel:line_of(place.first)
    end
  end
  for _, s in ipairs(fn.statements) do
    local is_inside = lists.any(loops, function(loop) return statement.covers(loop.body, s) end)
    statement.nodes({ s }, function(node)
      if node.kind == "assign" then see(node.a, node.b, is_inside) end
      local atomic = node.kind == "call" and node.callee.kind == "name" and node.args[2]
        and node.callee.text:find "^atomic%u" and node.args[1]
      if atomic and atomic.kind == "unary" then see(atomic.a, node.args[2], is_inside) end
    end)
  end
  return list
end

--- Is all that threads put into shared memory reduced to one value, so that it does not matter
--- which thread put what? Or nil and what has to be promised.
---@param loops table[] statements
---@param macro? string
function M.puts_together(fn, loops, macro)
  local list = arrays_of_shares(fn, loops, macro)
  for _, loop in ipairs(fn.loops) do
    local sum = halved.sum(loop)
    if sum and halved.is_all(loop, sum) then list[sum.array] = nil end
  end
  local name = settings.keys(list)[1]
  if not name then return true end
  return nil, ("what the threads put into `%s` (line %d) is used as a whole alone"):format(name,
    list[name])
end

-- Does a statement's own part write memory, not a variable?
local function writes_memory(fn, s)
  return lists.any(statement.trees(s), function(tree)
    return lists.any(effects.of(fn, tree).accesses, function(access) return access.write end)
  end)
end

--- Does no thread alone write what it found in its own share of the loops?
---@param loops table[] statements
---@param macro? string
function M.tells_no_share(fn, loops, macro)
  local is_own = depends.on_share(fn, loops)
  local function asks(s)
    return s.kind ~= "block" and lists.any(statement.trees(s), is_own)
  end
  for _, s in ipairs(fn.statements) do
    local at = writes_memory(fn, s) and s or fn.body
    while is_guarded(fn, at, macro) do
      if asks(at) or asks(at.parent) then
        return false, "some threads write what each found in its own share of a loop"
      end
      at = at.parent
    end
  end
  return true
end

--- Does no thread update memory, whether or not it has a share of the loops, or by what does not
--- add up? false and why; nil, and what has to be promised.
---@param loops table[] statements
---@param macro? string
---@return string?
function M.updates_nothing(fn, loops, macro)
  local update, adds = nothing.counted(fn, loops, function(call)
    for _, s in ipairs(fn.statements) do
      if s.kind == "expression" and statement.covers(s, call.node) then
        return not is_guarded(fn, s, macro)
      end
    end
    return true
  end)
  if update then return false, "each of its threads updates memory once" end
  if adds then return nil, adds end
  return true
end

return M
