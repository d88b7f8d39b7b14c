--- mergeguards: the conditions around what merged blocks or threads do (gilua.transform.merging),
-- which are asked for all of them at once.
--
--   local known, guards, guard = mergeguards.of(fn, "threadIdx", "x", team, same)
--
-- Three kinds: the one around all the work of a kernel (`if (i < n)`, or a return where it is not
-- so); each `if` of threads with a loop in it; and of a team (gilua.transform.teams) such an `if`
-- that is done for all of it, as those without work do what the first one does and store nothing.

local blockwise = require "gilua.facts.blockwise"
local carried = require "gilua.facts.carried"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local settings = require "gilua.base.settings"
local sides = require "gilua.facts.sides"
local signs = require "gilua.facts.signs"
local statement = require "gilua.source.statement"

local M = {}

local MOST_COPIED = 3000 -- tokens of the work that is there twice behind a guard

---@class gilua.merge_guard
---@field statement table the `if`
---@field leaves boolean it returns
---@field guarded table[] the statements that are done by it
---@field is_filled? boolean it is done for all of a team
---@field changed? table<string, true> of that one: what it changes from what that is before it

M.LOOPS = { ["for"] = true, ["while"] = true, ["do"] = true }
M.JUMPS = { ["break"] = true, continue = true, ["return"] = true }
local LOOPS, JUMPS = M.LOOPS, M.JUMPS

--- Is there a statement of some kinds in one?
---@param s table
---@param kinds table<string, true>
---@return boolean
function M.holds(s, kinds)
  local found = false
  statement.walk(s, function(below) found = found or kinds[below.kind] or false end)
  return found
end

local holds = M.holds

--------------------------------------------------------------------------------------------------
-- The one around all the work

local function is_return(s)
  if s and s.kind == "block" and #s.body == 1 then s = s.body[1] end
  return s ~= nil and s.kind == "return" and not s.tree
end

-- Does it say less of which item is whose than it does: a loop, a barrier?
local function is_work(fn, s)
  return holds(s, LOOPS) or effects.of(fn, s).barrier
end

-- The one condition, of the block's place, around all that follows: { statement, leaves, guarded };
-- nil without one.
local function guard_of(fn, known)
  local body = fn.body.body
  for i, s in ipairs(body) do
    if s.kind == "if" and s.condition and not s.otherwise and known:depends(s.condition) then
      if is_return(s.body) then
        return { statement = s, leaves = true, guarded = table.move(body, i + 1, #body, 1, {}) }
      elseif s.body.kind == "block" and is_work(fn, s) then
        return { statement = s, leaves = false, guarded = { s.body } }
      end
    end
  end
end

local LESS = { ["<"] = "a", ["<="] = "a", [">"] = "b", [">="] = "b" }

-- What a variable is that is given a value where it is declared, and never again: inside of
-- `bool inside = x < columns;`.
local function meaning(known, node)
  local d = known.fn:declaration(node.text, node.first)
  local writes = effects.of(known.fn, known.fn.body).writes[node.text]
  return d and d.init and writes and #writes == 1 and not known.fn.addressed[node.text] and d.init
end

-- What a variable is declared with, where nothing can change it before a node; nil of any other.
local function beginning(fn, node)
  local d = fn:declaration(node.text, node.first)
  if not d or not d.init or fn.addressed[node.text] then return nil end
  for _, token in ipairs(effects.of(fn, fn.body).writes[node.text] or {}) do
    if token ~= d.token and token < node.first then return nil end
  end
  for _, loop in ipairs(fn.loops) do
    local s = loop.statement
    if s.first <= node.first and node.last <= s.last and d.token < s.first then return nil end
  end
  return d.init
end

-- The values that a variable may have at a node, one of them for certain; nil where another may be.
local function values(known, node)
  local fn, init = known.fn, meaning(known, node) or beginning(known.fn, node)
  if init then return { init } end
  local d, list, left = fn:declaration(node.text, node.first), carried.given(fn, node.text), {}
  local is_given = d and not d.parameter and #fn.variables[node.text] == 1
    and not fn.addressed[node.text] and carried.is_given(list, node.first, fn.open, fn.close)
  for _, token in ipairs(is_given and effects.of(fn, fn.body).writes[node.text] or {}) do
    left[token] = token ~= d.token or nil
  end
  local trees = {}
  for i, one in ipairs(list) do trees[i], left[one.token] = one.value, nil end
  return is_given and not next(left) and trees or nil
end

local MOST_DEPTH = 12
local GROWS = { ["+"] = true, ["-"] = true, ["*"] = true, ["/"] = true, ["<<"] = true,
  [">>"] = true }

-- What a launch has to be for a part of the block, blockDim.x / 32, to be above zero; nil of any
-- other tree.
local function asked_of_block(fn, tree)
  local n = tree.kind == "binary" and tree.op == "/" and sides.value(fn, tree.b)
  local is_size = n and n > 0 and tree.a.kind == "member" and tree.a.a.text == "blockDim"
  return is_size and ("block.%s%%%d"):format(tree.a.name, n) or nil
end

-- Is a factor or a divisor the same for all blocks, and above zero? Where the words do not say the
-- latter the launch is asked for it, or it is assumed: a promise. A sum or a shift may be by
-- anything that is the same.
local function keeps_order(known, op, part)
  if known:depends(part) then return false end
  local fn = known.fn
  if op ~= "*" and op ~= "/" or signs.is_above_zero(fn, part) then return true end
  if sides.value(fn, part) then return false end
  local asked, text = asked_of_block(fn, part), fn.kernel:plain(part)
  known.assumed[asked or text:match "^%b()$" and text:sub(2, -2) or text] = asked or false
  return true
end

-- Is a tree the greater, the higher the block's number is, whatever the data?
local function grows(known, tree, depth)
  if depth > MOST_DEPTH then return false end
  local function up(part) return grows(known, part, depth + 1) end
  if tree.kind == "member" then
    return tree.a.kind == "name" and tree.a.text == known.index and tree.name == known.side
  elseif tree.kind == "cast" then
    return up(tree.a)
  elseif tree.kind == "name" then
    local list = values(known, tree)
    for _, value in ipairs(list or {}) do
      if not up(value) then return false end
    end
    return list ~= nil
  elseif tree.kind ~= "binary" then
    return false
  end
  local op = tree.op
  local a, b = up(tree.a), (op == "+" or op == "*") and up(tree.b)
  if not (a or b) or not GROWS[op] then return false end
  if a and b then
    return op == "+" or signs.is_small(known.fn, tree.a) and signs.is_small(known.fn, tree.b)
  end
  return keeps_order(known, op, a and tree.b or tree.a)
end

-- Does a condition say that what grows with the block's number is below something that is the same
-- for all blocks? Or, turned, beyond it.
local function bounds(known, tree, turned)
  if tree.kind == "binary" and tree.op == (turned and "||" or "&&") then
    return bounds(known, tree.a, turned) or bounds(known, tree.b, turned)
  elseif tree.kind == "unary" and tree.op == "!" then
    return bounds(known, tree.a, not turned)
  elseif tree.kind == "name" then
    local init = meaning(known, tree)
    return init and bounds(known, init, turned) or false
  end
  local side = tree.kind == "binary" and LESS[tree.op]
  if side and turned then side = side == "a" and "b" or "a" end
  local other = side and tree[side == "a" and "b" or "a"]
  return side and grows(known, tree[side], 1) and not known:depends(other) or false
end

-- The parts of a tree behind a `?` that bounds them, as ranges of tokens.
local function bounded_parts(known, tree)
  local list = {}
  expression.walk(tree, function(node)
    if node.kind ~= "choice" then return end
    if bounds(known, node.condition) then list[#list + 1] = node.a end
    if bounds(known, node.condition, true) then list[#list + 1] = node.b end
  end)
  return list
end

-- Does a tree go to memory at a place that is a block's own, or write any? What is behind a `?`
-- that bounds it does not count.
local function is_open(known, tree)
  local parts = bounded_parts(known, tree)
  for _, access in ipairs(effects.of(known.fn, tree).accesses) do
    local node, inside = access.node or tree, false
    for _, part in ipairs(parts) do
      inside = inside or part.first <= node.first and node.last <= part.last
    end
    if not inside and known:is_global(access) and (access.write or known:depends(node)) then
      return true
    end
  end
  return false
end

--- Returns what M.is_bounded assumed of factors: a sentence, or nil; and what it asks of a launch.
---@param known gilua.blockwise
---@return string? promise
---@return string asks words of gilua.transform.launch, with a blank behind each
function M.assumed(known)
  local texts, words = {}, ""
  for _, key in ipairs(settings.keys(known.assumed or {})) do
    if known.assumed[key] then words = words .. key .. " " else texts[#texts + 1] = key end
  end
  if #texts == 0 then return nil, words end
  return ("`%s` is above zero"):format(table.concat(texts, "` is above zero, and `")), words
end

--- Is every access of memory that is a block's own below a condition that bounds it? Then a block
-- beyond the last one does nothing.
---@param known gilua.blockwise
---@param guard? gilua.merge_guard
---@return boolean
function M.is_bounded(known, guard)
  local fn, all = known.fn, true
  known.assumed = {}
  local function visit(s, inside)
    for _, part in ipairs { s.tree or false, s.step or false, s.condition or false } do
      if part and not inside and is_open(known, part) then all = false end
    end
    for _, d in ipairs(not inside and s.declared or {}) do
      if d.init and is_open(known, d.init) then all = false end
    end
    local inner = inside or s.kind == "if" and s.condition and bounds(known, s.condition)
    for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
      visit(child, inner)
    end
    for _, other in ipairs { s.init or false, s.otherwise or false } do
      if other then visit(other, inside) end
    end
  end
  if guard and bounds(known, guard.statement.condition, guard.leaves) then
    for _, s in ipairs(fn.body.body) do
      if s == guard.statement then break end
      visit(s, false)
    end
  else
    visit(fn.body, false)
  end
  return all
end

--------------------------------------------------------------------------------------------------
-- Those inside

local function waits(fn, list)
  for _, s in ipairs(list) do
    if effects.of(fn, s).barrier then return true end
  end
  return false
end

local function mentions(fn, node, name)
  local all = effects.of(fn, node)
  return all.reads[name] or all.writes[name]
end

-- Is a name that a statement mentions mentioned in a part of it alone?
local function is_only_in(fn, s, part, name)
  local all = effects.of(fn, s)
  for _, tokens in ipairs { all.reads[name] or {}, all.writes[name] or {} } do
    for _, token in ipairs(tokens) do
      if token < part.first or token > part.last then return false end
    end
  end
  return true
end

-- Does a statement give a name a value before it asks for one?
local function begins_with(fn, s, name)
  for _, inner in ipairs(s.body.kind == "block" and s.body.body or { s.body }) do
    if mentions(fn, inner, name) then
      if inner.kind == "for" and is_only_in(fn, s, inner.body, name) then
        return begins_with(fn, inner, name)
      end
      local tree = inner.kind == "expression" and inner.tree
      return tree and tree.kind == "assign" and tree.op == "=" and tree.a.kind == "name"
        and tree.a.text == name and not effects.of(fn, tree.b).reads[name]
    end
  end
end

local function is_in_loop(s)
  local around = s.parent
  while around and not LOOPS[around.kind] do around = around.parent end
  return around ~= nil
end

--- Calls visit(name, declaration, reads, writes) for each name of a thread's own that a statement
-- asks for or writes, but for those it declares, with tokens where it does.
---@param known gilua.blockwise
---@param s table
---@param visit function
function M.outside_names(known, s, visit)
  local fn, all = known.fn, effects.of(known.fn, s)
  local names = {}
  for _, of in ipairs { all.reads, all.writes } do
    for name, tokens in pairs(of) do names[name] = tokens[1] end
  end
  for name, token in pairs(names) do
    local d = fn:declaration(name, token)
    local is_inside = d and s.first <= d.token and d.token <= s.last
    if known:owns(name, token) and not is_inside then
      visit(name, d, all.reads[name], all.writes[name])
    end
  end
end

-- Of a statement that does nothing to names of a thread's own that is of use elsewhere, or in its
-- next turn, and reads numbers alone: those of the names that it changes from what they are. nil of
-- any other.
local function changed_names(known, s)
  local fn, closed, changed = known.fn, true, {}
  local everywhere = effects.of(fn, fn.body)
  M.outside_names(known, s, function(name, d, reads, writes)
    local is_changed = reads and writes and not begins_with(fn, s, name)
    if is_changed then changed[name] = true end
    if not d or #d.extents > 0 or is_changed and is_in_loop(s) then closed = false end
    for _, token in ipairs(writes and everywhere.reads[name] or {}) do
      if fn:declaration(name, token) == d and (token < s.first or token > s.last) then
        closed = false
      end
    end
  end)
  for _, access in ipairs(effects.of(fn, s).accesses) do
    local d = access.root and fn:declaration(access.root, access.token)
    local is_inside = d and s.first <= d.token and d.token <= s.last
    if access.atomic or access.write and not known:is_global(access) and not is_inside
      and not known.shared[access.root] then
      closed = false
    end
  end
  return closed and changed or nil
end

-- Adds each `if` of a thread's own that has loops in it: those that may be done for all of a team
-- as such, others, of threads that are no team, as those that are asked for all.
local function add_inner(list, known, s, team)
  local fits = s.kind == "if" and s.condition and not s.otherwise and known:depends(s.condition)
    and holds(s.body, LOOPS) and not effects.of(known.fn, s).barrier
  local changed = fits and team and not holds(s.body, JUMPS) and changed_names(known, s)
  if changed then
    list[#list + 1] = { statement = s, leaves = false, guarded = { s.body }, is_filled = true,
      changed = changed }
    return
  elseif fits and (not team or team.is_next) and not holds(s.body, { ["return"] = true }) then
    list[#list + 1] = { statement = s, leaves = false, guarded = { s.body } }
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    add_inner(list, known, child, team)
  end
  if s.otherwise then add_inner(list, known, s.otherwise, team) end
end

local function size_of(list)
  return #list > 0 and list[#list].last - list[1].first or 0
end

--- What is known where the conditions hold that are asked for all, these, and the one around all
--- the work; nil and why there is nothing.
---@param fn table of kernel.read
---@param index string "blockIdx" or "threadIdx"
---@param side string
---@param team? gilua.team
---@param same? table<integer, true> tokens of what is the same for all of it (gilua.blockwise)
---@param is_plain? boolean no `if` inside is asked for all
---@return gilua.blockwise?
---@return gilua.merge_guard[]|string guards
---@return gilua.merge_guard? guard
function M.of(fn, index, side, team, same, is_plain)
  local known = blockwise.of(fn, index, side, nil, same)
  local guard, list = guard_of(fn, known), {}
  if index == "threadIdx" then
    if guard and waits(fn, guard.guarded) then guard = nil end
    if not is_plain then add_inner(list, known, fn.body, team) end
    local is_same = guard and list[1] and list[1].statement == guard.statement
    if is_same and list[1].is_filled then guard = nil elseif is_same then table.remove(list, 1) end
  end
  if guard then table.insert(list, 1, guard) end
  if #list > 0 then known = blockwise.of(fn, index, side, list, same) end
  if known.why then return nil, known.why end
  local copied = 0
  for _, g in ipairs(list) do copied = copied + size_of(g.guarded) end
  if copied > MOST_COPIED then return nil, "its work is too long" end
  return known, list, guard
end

return M
