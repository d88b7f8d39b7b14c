-- threads: how a kernel says which of the items is a thread's own, and what keeps threads without
-- one from doing anything: what a transformation of its geometry must know.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local statement = require "gilua.source.statement"

local M = {}

M.SIDES = { "x", "y", "z" }

local BUILT_IN = { blockIdx = true, threadIdx = true, blockDim = true, gridDim = true }
local OF_A_GRID = { this_grid = true, grid_group = true }
local TURNED = { ["<"] = ">", [">"] = "<", ["<="] = ">=", [">="] = "<=" }

--------------------------------------------------------------------------------------------------
-- Built-in variables

--- What a function says of built-in variables where it is not to be seen, in words: in a macro that
--- it uses, or in a function that it may call.
---@param names? table<string, true> of those that are asked for (all)
---@return string?
function M.hidden(fn, names)
  local kernel = fn.kernel
  names = names or BUILT_IN
  for i = fn.open, fn.close do
    local macro = kernel.macros[kernel.words[i]]
    for _, name in ipairs(macro and macro.names or {}) do
      if names[name] or name == "return" then
        return ("the macro %s has a %s"):format(kernel.words[i], name)
      end
    end
  end
  for _, other in ipairs(kernel.functions) do
    for i = other.open, other.kind == "device" and other.close or 0 do
      if names[kernel.words[i]] or OF_A_GRID[kernel.words[i]] then
        return ("the function %s uses %s"):format(other.name, kernel.words[i])
      end
    end
  end
end

---@class gilua.thread_uses tokens of `blockIdx . x`, by name and side; whole: of one without a side
---@field hidden string? where others are, in words
---@field whole string? a built-in variable that is used as a whole
---@field grid string? what else tells of the whole grid

--- Where a kernel uses built-in variables.
---@return gilua.thread_uses
function M.uses(fn)
  if fn.thread_uses then return fn.thread_uses end
  local words, uses = fn.kernel.words, { hidden = M.hidden(fn) }
  for name in pairs(BUILT_IN) do uses[name] = { x = {}, y = {}, z = {} } end
  for i = fn.open, fn.close do
    local w = words[i]
    if OF_A_GRID[w] then uses.grid = w end
    if BUILT_IN[w] then
      local side = words[i + 1] == "." and uses[w][words[i + 2]]
      if side then side[#side + 1] = i else uses.whole = w end
    end
  end
  fn.thread_uses = uses
  return uses
end

--- Why the grid cannot be of another length on a side, nor a block be another one; nil where that
--- is possible.
---@param side string
---@return string?
function M.needs_grid(fn, side)
  local uses = M.uses(fn)
  if uses.hidden then return uses.hidden end
  if uses.whole then return ("%s is used as a whole"):format(uses.whole) end
  local grid = uses.grid or #uses.gridDim[side] > 0 and "gridDim." .. side
  return grid and ("it uses %s, and the grid would be another"):format(grid) or nil
end

--------------------------------------------------------------------------------------------------
-- Indices

-- Which sides of the grid a tree is of.
local function sides_of(fn, tree)
  local sides = {}
  for i = tree.first, tree.last do
    if fn.kernel.words[i] == "blockIdx" then sides[fn.kernel.words[i + 2]] = true end
  end
  return sides
end

-- Is it blockIdx.x * blockDim.x + threadIdx.x, in whatever order and with whatever casts?
local function is_usual(fn, tree, side)
  local words, counts, n = fn.kernel.words, {}, 0
  local function add(node)
    if node.kind == "cast" then return add(node.a) end
    if node.kind == "binary" and (node.op == "+" or node.op == "*") then
      counts[node.op] = (counts[node.op] or 0) + 1
      if node.op == "*" then counts.product = node end
      add(node.a)
      add(node.b)
    elseif node.kind == "member" and node.name == side and not node.arrow then
      counts[words[node.first]] = (counts[words[node.first]] or 0) + 1
      n = n + 1
    elseif node.kind == "call" and #node.args == 1 and expression.TYPES[words[node.first]] then
      return add(node.args[1])
    else
      n = n + 100
    end
  end
  add(tree)
  if n ~= 3 or counts["+"] ~= 1 or counts["*"] ~= 1 then return false end
  local product = fn.kernel:plain(counts.product)
  return counts.blockIdx == 1 and counts.blockDim == 1 and counts.threadIdx == 1
    and not product:find("threadIdx", 1, true)
end

---@class gilua.thread_index
---@field fn table
---@field d table the declaration (gilua.statement)
---@field name string
---@field side string "x", "y" or "z"
---@field usual boolean blockIdx * blockDim + threadIdx
---@field line integer

-- The one statement of a list that is no directive; nil of several.
local function only(list)
  local one
  for _, s in ipairs(list) do
    if s.kind ~= "directive" and one then return nil end
    if s.kind ~= "directive" then one = s end
  end
  return one
end

-- The statements of a kernel's body; where it is one loop, as an earlier transformation may have
-- made it, those of the loop's.
local function statements(fn)
  local list = fn.body.body
  while true do
    local loop = only(list)
    if not (loop and loop.kind == "for" and loop.body.kind == "block") then return list end
    list = loop.body.body
  end
end

-- Declarations among the statements of a kernel's body.
local function declarations(fn)
  local list = {}
  for _, s in ipairs(statements(fn)) do
    for _, d in ipairs(s.kind == "declaration" and s.declared or {}) do list[#list + 1] = d end
  end
  return list
end

--- The variables of a kernel that are computed from where the block is in the grid, on one side.
---@return gilua.thread_index[]
function M.indices(fn)
  local list = {}
  for _, d in ipairs(declarations(fn)) do
    local sides = d.init and d.pointer == 0 and not d.reference and #d.extents == 0
      and sides_of(fn, d.init) or {}
    local side = next(sides)
    if side and next(sides, side) == nil then
      list[#list + 1] = { fn = fn, d = d, name = d.name, side = side,
        usual = is_usual(fn, d.init, side), line = fn.kernel:line_of(d.statement.first) }
    end
  end
  return list
end

--- Is the index of a place blockIdx * blockDim + threadIdx? nil and a sentence where it is not.
---@param at { index: gilua.thread_index }
function M.is_usual(at)
  if at.index.usual then return true end
  return nil, ("'%s' is not blockIdx * blockDim + threadIdx"):format(at.index.name)
end

--- The indices of all kernels that evolve.
---@return gilua.thread_index[]
function M.all(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local found = fn.is_entry and fn.body and M.indices(fn) or {}
    table.move(found, 1, #found, #list + 1, list)
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Guards

-- The bound of `name < bound`, of any of the relations in a set.
local function bound_of(tree, name, relations)
  if tree.kind ~= "binary" or not TURNED[tree.op] then return nil end
  local relation = tree.op
  if tree.a.kind == "name" and tree.a.text == name and relations[relation] then
    return tree.b, relation
  elseif tree.b.kind == "name" and tree.b.text == name and relations[TURNED[relation]] then
    return tree.a, TURNED[relation]
  end
end

local BELOW, BEYOND = { ["<"] = true, ["<="] = true }, { [">="] = true, [">"] = true }
local NOT = { [">="] = "<", [">"] = "<=" }

--- Can nobody else see what a statement does?
function M.is_private(fn, s)
  local all = effects.of(fn, s)
  if all.opaque or all.barrier or all.warp or all["return"] or all["goto"] then return false end
  for _, access in ipairs(all.accesses) do
    if access.atomic or access.write and not M.is_local(fn, access) then return false end
  end
  for name in pairs(all.writes) do
    if not fn.variables[name] then return false end
  end
  return true
end

--- Is what is accessed a thread's own: an array declared in the function, but in shared memory?
function M.is_local(fn, access)
  local d = access.root and fn.variables[access.root] and fn.variables[access.root][1]
  return d ~= nil and not d.parameter and not d.shared and not d.extern and #d.extents > 0
end

---@class gilua.thread_guard
---@field statement table the `if`
---@field leaves boolean it returns where there is no item; else what has one is inside
---@field bound table tree
---@field relation string "<" or "<=": an index that is so has an item

-- What an `if` says of an index; nil of nothing.
local function guard_of(s, name)
  if s.kind ~= "if" or not s.condition or s.otherwise then return nil end
  local leaves = statement.is_return(s.body)
  for _, part in ipairs(expression.parts(s.condition, leaves and "||" or "&&", {})) do
    local turned = leaves and part.kind == "unary" and part.op == "!"
    local bound, relation = bound_of(turned and part.a or part, name,
      leaves and not turned and BEYOND or BELOW)
    if bound then
      return { statement = s, leaves = leaves, bound = bound,
               relation = NOT[relation] or relation }
    end
  end
end

--- What keeps threads beyond the last item from doing anything that others see; nil and why
--- nothing does.
---@param index gilua.thread_index
---@param is_private? fun(fn: table, s: table): boolean can nobody see what a statement does?
---@return gilua.thread_guard?
---@return string? message
function M.guard(index, is_private)
  local fn, found = index.fn, nil
  is_private = is_private or M.is_private
  local function no(s)
    return nil, ("line %d does something before it is known whether '%s' has an item"):format(
      fn.kernel:line_of(s.first), index.name)
  end
  for _, s in ipairs(statements(fn)) do
    local guard = not found and guard_of(s, index.name)
    if guard and guard.leaves then return guard end
    if guard then
      found = guard
    elseif not is_private(fn, s) and not (s.kind == "if" and statement.is_return(s.body)) then
      return no(s)
    end
  end
  if found then return found end
  return nil, ("no `if` keeps threads from going on whose '%s' is beyond the last item"):format(
    index.name)
end

--------------------------------------------------------------------------------------------------
-- Bodies

--- The statements that leave a kernel, all of which a `continue` of a loop around its body can
--- stand for; nil and why not.
---@return table[]?
---@return string? message
function M.returns(fn)
  local list, inner = {}, nil
  local function visit(s, depth)
    if s.kind == "return" then
      list[#list + 1] = s
      if depth > 0 then inner = s end
    end
    local deeper = (s.kind == "for" or s.kind == "while" or s.kind == "do" or s.kind == "switch")
      and depth + 1 or depth
    for _, child in ipairs(statement.children(s)) do visit(child, deeper) end
  end
  visit(fn.body, 0)
  if not inner then return list end
  return nil, ("line %d returns from inside a loop"):format(fn.kernel:line_of(inner.first))
end

--- Is an index, blockIdx.x * blockDim.x + threadIdx.x, all by which a kernel tells threads along x
--- apart?
---@param index table of M.indices
---@return boolean?
---@return string? why not
function M.is_all(fn, index)
  local uses, why = M.uses(fn), M.needs_grid(fn, "x")
  if why then return nil, why end
  if not index.usual or index.side ~= "x" then
    return nil, ("'%s' is not blockIdx.x * blockDim.x + threadIdx.x"):format(index.name)
  end
  for _, name in ipairs { "blockIdx", "threadIdx", "blockDim" } do
    if #uses[name].x ~= 1 then
      return nil, ("%s.x is used for more than '%s'"):format(name, index.name)
    end
  end
  return true
end

--- A name that a function does not use yet, nor any macro.
---@param wanted string
---@return string
function M.new_name(fn, wanted)
  local kernel, used, name, n = fn.kernel, {}, wanted, 1
  for i = fn.first, fn.close do used[kernel.words[i]] = true end
  for macro, entry in pairs(kernel.macros) do
    used[macro] = true
    for _, inside in ipairs(entry.names) do used[inside] = true end
  end
  while used[name] do
    n = n + 1
    name = wanted .. n
  end
  return name
end

local function is_waiting_word(word)
  return word == "asm" or word:find "sync" ~= nil or word:find "barrier" ~= nil
    or word:find "^__shfl" ~= nil
end

-- What a function may wait for others in, in words: itself, and what it calls.
local function waiting(fn, seen)
  local kernel = fn.kernel
  seen[fn] = true
  if not fn.body then return ("the function %s is not understood"):format(fn.name) end
  for _, s in ipairs(fn.statements) do
    if s.kind == "unknown" or s.unknown or s.unknown_header then
      return ("line %d is not understood"):format(kernel:line_of(s.first))
    end
  end
  for i = fn.open, fn.close do
    local word = kernel.words[i]
    if is_waiting_word(word) then return ("it has '%s'"):format(word) end
    for _, inside in ipairs((kernel.macros[word] or {}).names or {}) do
      if is_waiting_word(inside) then return ("the macro %s has '%s'"):format(word, inside) end
    end
  end
  for _, call in ipairs(effects.of(fn, fn.body).calls) do
    local other = call.name and kernel.by_name[call.name]
    if not call.name then
      return ("line %d calls what is not known"):format(kernel:line_of(call.node.first))
    end
    local why = other and not seen[other] and waiting(other, seen)
    if why then return why end
  end
end

--- Returns why a kernel's threads cannot be taken apart: they wait for each other, or share memory;
--- nil where they can.
---@return string?
function M.bound_together(fn)
  local all = effects.of(fn, fn.body)
  if all.barrier or all.warp then return "its threads wait for each other" end
  if all.conditional or all["goto"] or all.label then return "it has an #if or a goto" end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.shared or d.extern then return "it has shared memory" end
    end
  end
end

--- Why a loop cannot stand around the whole of a kernel's body; nil where it can. What a call does
--- to memory need not be known: it does the same for an item wherever that is done.
---@return string?
function M.unfit_for_loop(fn)
  local kernel, body = fn.kernel, fn.body.body
  local why = M.bound_together(fn) or waiting(fn, {})
  if why then return why end
  if not body[1] or not kernel:begins_line(body[1].first) or not kernel:begins_line(fn.close)
    or kernel:line_of(body[1].first) == kernel:line_of(fn.open) then
    return "its braces share lines with statements"
  end
end

--- Is a tree threadIdx.x, or a variable that was made of it and nothing else?
---@param side? string "x"
function M.is_thread(fn, node, side)
  if node.kind == "member" then
    return node.a.kind == "name" and node.a.text == "threadIdx" and node.name == (side or "x")
  end
  if node.kind == "cast" then return M.is_thread(fn, node.a, side) end
  local d = node.kind == "name" and fn:declaration(node.text, node.first)
  return d and d.init and #(effects.of(fn, fn.body).writes[d.name] or {}) == 1
    and M.is_thread(fn, d.init, side) or false
end

M.walk = statement.walk

--- The sides that a kernel's blocks may have at most, powers of two: those of the problem's launch,
--- or the usual ones.
---@param usual { x: integer, y?: integer }
---@return { x: integer, y?: integer }
function M.limits(fn, usual)
  local ask = fn.kernel.options.values
  local values, limit = ask and ask(fn) or {}, {}
  for side, n in pairs(usual) do
    local most = values["blockDim." .. side] or n
    limit[side] = 1
    while limit[side] < most do limit[side] = limit[side] * 2 end
  end
  return limit
end

return M
