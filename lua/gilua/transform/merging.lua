--- merging: a block does the work of several neighbours, or a thread that of several of its block,
-- statement by statement: what depends on which of them it is is done for each, the rest once for
-- all (Yang, Xiang, Kong and Zhou, "A GPGPU Compiler for Memory Optimization and Parallelism
-- Management", PLDI 2010, section 3.5). So an element that several load, a weight that all compute,
-- a tile in shared memory, a barrier serves all of them.
--
--   for (int k = 0; k < n; k++)                  for (int k = 0; k < n; k++) {
--     sum += a[k] * b[k * n + column];             for (int part = 0; part < 2; part++) {
--                                                    int &column = columns[part];
--                                                    float &sum = sums[part];
--                                                    sum += a[k] * b[k * n + column];
--                                                  }
--                                                }
--
-- The loops over them are unrolled, so are those around them of few iterations, which the compiler
-- unrolls as long as less is in them: what one block loads in an iteration and the next in another
-- is loaded once. What is a block's own (gilua.transform.blockwise) is there once for each: names
-- are references to them, so that statements, and macros in them, stay as they are. A condition
-- around all the work (`if (i < n)`) is asked for all; where it does not hold for one, the blocks'
-- work is done one after the other, as it was. Of threads, that is so of each `if` with a loop in
-- it. No barrier may stand where only some threads come.
--
-- Threads of a team (gilua.transform.teams) have more in common than others: a thread that does
-- what several of one warp did has their item, all that is made of it, and what they load of it.
-- Of such, an `if` with a loop in it that the first of them does is done for all: one that did not
-- do it does what the first one does, and stores nothing.
--
--   if (lane < 25) {                             for (int part …) active_all[part] = lane < 25;
--     for (int k = 0; k < 16; k++)               if (active_all[0]) {
--       sum += a[k] * weight(lane, k);             for (int k = 0; k < 16; k++)
--     out[lane] = sum;                               for (int part …) {
--   }                                                  const auto lane = active ? … : lane_all[0];
--                                                      sum += a[k] * weight(lane, k);
--                                                    }

local blockwise = require "gilua.transform.blockwise"
local edit = require "gilua.transform.edit"
local effects = require "gilua.transform.effects"
local expression = require "gilua.transform.expression"
local guarded = require "gilua.transform.guarded"
local loop_of = require "gilua.transform.loop"
local settings = require "gilua.base.settings"
local sides_of = require "gilua.transform.sides"
local statement = require "gilua.transform.statement"
local teams = require "gilua.transform.teams"
local threads = require "gilua.transform.threads"

local M = {}

local MOST_COPIED = 3000 -- tokens of the work that is there twice behind a guard
local MOST_TRIPS = 32 -- of a loop that is unrolled
local MOST_UNROLLED = 256 -- times that what is in such loops is there

---@class gilua.merged what is merged
---@field index string what tells one from another
---@field length string and how many there are
---@field one string what each is called
---@field name string the variable that says which it is
local WHAT = {
  blocks = { index = "blockIdx", length = "gridDim", one = "block", name = "block" },
  threads = { index = "threadIdx", length = "blockDim", one = "thread", name = "thread" },
}
local SPACINGS = { next = true, block = true } -- of threads, but for those of a team

for _, what in pairs(WHAT) do what.words = { [what.index] = true, [what.length] = true } end

--------------------------------------------------------------------------------------------------
-- What guards the work

local function is_return(s)
  if s and s.kind == "block" and #s.body == 1 then s = s.body[1] end
  return s ~= nil and s.kind == "return" and not s.tree
end

local function holds(s, kinds)
  local found = false
  statement.walk(s, function(below) found = found or kinds[below.kind] or false end)
  return found
end

local LOOPS = { ["for"] = true, ["while"] = true, ["do"] = true }
local JUMPS = { ["break"] = true, continue = true, ["return"] = true }

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

-- Does a condition say that what is a block's own is below something? Or, turned, beyond it.
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
  return side and known:depends(tree[side]) or false
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

-- Is every access of memory that is a block's own below a condition that bounds it? Then a block
-- beyond the last one does nothing.
local function is_bounded(known, guard)
  local fn, all = known.fn, true
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

-- Is the grid's length asked for only to number blocks, blockIdx.y * gridDim.x + blockIdx.x? Then a
-- longer grid has other numbers, and each once.
local function is_only_numbered(fn, side)
  local words = fn.kernel.words
  for _, i in ipairs(threads.uses(fn).gridDim[side]) do
    local other = words[i - 1] == "*" and words[i - 4] == "blockIdx" and words[i - 2]
    local text = table.concat(words, " ", i, math.min(i + 6, #words))
    if not other or other == side
      or text ~= ("gridDim . %s + blockIdx . %s"):format(side, side) then
      return false
    end
  end
  return true
end

--------------------------------------------------------------------------------------------------
-- The plan: which statements are done for each block, in groups

-- Does a statement do or ask for anything that is a block's own?
local function touches(plan, s)
  local known, all = plan.known, effects.of(plan.fn, s)
  if known:depends(s) then return true end
  if known:owns_any(all.writes) then return true end
  for _, access in ipairs(all.accesses) do
    if access.write and known:is_global(access) then return true end
  end
  return false
end

local function touches_any(plan, ...)
  for _, node in ipairs { ... } do
    if node and touches(plan, node) then return true end
  end
  return false
end

-- The declaration that a statement is of a name for an element of what is a block's own, as those
-- that were merged before have them, `auto &x = x_all[part];`; nil of others.
local function element_in(plan, s)
  local d = s.kind == "declaration" and #s.declared == 1 and s.declared[1]
  return d and plan.known:owns(d.name, d.token) and effects.element_of(plan.fn, d) and d or nil
end

-- May a statement's body be parted: is its head the same for all blocks, and does no group of its
-- body leave it?
local function is_through(plan, s)
  if s.kind == "block" then return true end
  if not LOOPS[s.kind] and s.kind ~= "if" or plan.known.loops[s] then return false end
  if touches_any(plan, s.init or false, s.condition or false, s.step or false) then return false end
  return s.kind == "if" and not holds(s, JUMPS) or LOOPS[s.kind] and not holds(s.body, JUMPS)
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

local function names_of(plan, first, last)
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

local plan_of -- (fn, what, side, team, is_plain): see below
local plan_list -- (plan, list): the groups of a list of statements

local function declares_only(s)
  if s.kind ~= "declaration" then return false end
  for _, d in ipairs(s.declared) do
    if d.init or d.unknown_init then return false end
  end
  return true
end

local function add(plan, s, group, first)
  if not group then
    group = { first = first or s.first, statements = {}, filled = plan.filled }
    plan.groups[#plan.groups + 1] = group
  end
  group.statements[#group.statements + 1], group.last = s, s.last
  return group
end

-- From an #if at list[i] to its #endif, where all between is done for each block and declares
-- nothing: where it ends; nil where it has to be parted.
local function as_one(plan, list, i)
  local depth = 0
  for k = i, #list do
    local s = list[k]
    if s.kind == "directive" then
      depth = depth + (s.name:find "^if" and 1 or s.name == "endif" and -1 or 0)
      if s.name == "pragma" then return nil end
      if depth == 0 then return k end
    elseif s.kind == "declaration" or plan.of[s] or not touches(plan, s) or is_through(plan, s) then
      return nil
    end
  end
end

-- Adds list[i] to list[last], which belong together.
local function add_all(plan, list, i, last, group)
  group = add(plan, list[i], group)
  for k = i + 1, last do add(plan, list[k], group) end
  return group
end

-- The groups within a statement whose head is the same for all blocks.
local function plan_inside(plan, s)
  if s.kind == "block" then return plan_list(plan, s.body) end
  if s.loop then plan.parted[#plan.parted + 1] = s.loop end
  for _, inner in ipairs { s.body, s.otherwise or nil } do
    plan_list(plan, inner.kind == "block" and inner.body or { inner })
  end
end

-- What a statement becomes: the group that it is in, if any, and whether that goes on.
local function plan_one(plan, s, group, pragma)
  local guard = plan.of[s]
  if guard then
    local list, around = s.body.kind == "block" and s.body.body or { s.body }, plan.filled
    if guard.is_filled then plan.filled = guard end
    if not guard.leaves then plan_list(plan, list) end
    plan.filled = around
  elseif element_in(plan, s) then
    plan.elements[s.declared[1]] = s
    return group
  elseif declares_only(s) and touches(plan, s) then
    plan.declared[#plan.declared + 1] = s
  elseif touches(plan, s) and is_through(plan, s) then
    plan_inside(plan, s)
  elseif touches(plan, s) then
    return add(plan, s, group, pragma)
  end
end

function plan_list(plan, list)
  local group, pragma, i = nil, nil, 1
  while i <= #list do
    local s = list[i]
    local last = s.kind == "directive" and s.name:find "^if" and as_one(plan, list, i)
    if last then
      group, pragma, i = add_all(plan, list, i, last, group), nil, last
    elseif s.kind == "directive" then
      group, pragma = s.name == "pragma" and group or nil, s.name == "pragma" and s.first or nil
    else
      group, pragma = plan_one(plan, s, group, pragma), nil
    end
    i = i + 1
  end
end

-- The names that more than their own group uses: name -> declaration, those of shared memory
-- always; nil and why one cannot be there for each block.
local function spread(plan)
  local list, fn = {}, plan.fn
  local function take(name, d)
    if plan.known.shared[name] == "file" then
      return ("%s is shared memory that is declared outside of the kernel"):format(name)
    elseif plan.known.shared[name] == "dynamic" then
      list[name] = d or { name = name, dynamic = true }
    elseif d and (d.parameter or d.reference or d.static or d.volatile or d.type == "auto") then
      return ("%s cannot be there for each %s"):format(name, plan.what.one)
    elseif d then
      list[name] = d
    end
  end
  for _, s in ipairs(plan.declared) do
    for _, d in ipairs(s.declared) do
      local why = plan.known.names[d.name] and take(d.name, d)
      if why then return nil, why end
    end
  end
  for _, group in ipairs(plan.groups) do
    group.names = names_of(plan, group.first, group.last)
    add_elements(plan, group)
    for name in pairs(group.names) do
      local d = fn:declaration(name, group.first) or fn:declaration(name, group.last)
      local shared = plan.known.shared[name]
      local outside = d and (d.token < group.first or d.token > group.last)
      local why = (outside or shared) and take(name, d)
      if why then return nil, why end
    end
  end
  for _, guard in ipairs(plan.guards) do
    local condition = guard.statement.condition
    for name, tokens in pairs(effects.of(fn, condition).reads) do
      local is_own = plan.known:owns_any { [name] = tokens }
      local why = is_own and take(name, fn:declaration(name, condition.first))
      if why then return nil, why end
    end
  end
  for name, d in pairs(list) do
    if #(fn.variables[name] or { 1 }) > 1 then
      return nil, ("%s is declared more than once"):format(name)
    elseif not d.dynamic and not d.extern and not plan.known.names[name] then
      return nil, ("%s is not understood"):format(name)
    elseif d.init and (d.init_form ~= "=" or #d.extents > 0) or d.unknown_init then
      return nil, ("%s begins with what cannot be assigned"):format(name)
    end
  end
  return list
end

local VOTES = { __syncthreads_count = true, __syncthreads_or = true, __syncthreads_and = true,
                __barrier_sync = true, sync = true }

-- Why threads cannot be merged: what a warp's lanes tell each other, by shuffles or, as they run in
-- step, by volatile memory, or a barrier that counts them.
local function knows_lanes(fn)
  if effects.of(fn, fn.body).warp then return "lanes of a warp tell each other something" end
  for i = fn.head, fn.close do
    local word = fn.kernel.words[i]
    if VOTES[word] then return word .. " counts threads" end
    if word == "__syncwarp" and fn.kernel.words[i + 2] ~= ")" then
      return "__syncwarp waits for some lanes of a warp"
    end
    if word == "volatile" then return "volatile memory tells other lanes something" end
  end
end

local function refusal(fn, what, side)
  local uses, hidden = threads.uses(fn), threads.hidden(fn, what.words)
  if hidden then return hidden end
  if uses.whole or uses.grid then
    return ("%s is used as a whole"):format(uses.whole or uses.grid)
  end
  local all = effects.of(fn, fn.body)
  if all.opaque or all["goto"] or all.label then return "something in it is not understood" end
  if #uses[what.index][side] == 0 then
    return ("it does not ask for %s.%s"):format(what.index, side)
  end
  local lanes = what == WHAT.threads and knows_lanes(fn)
  if lanes then return lanes end
  for _, s in ipairs(fn.statements) do
    if s.kind == "switch" or s.kind == "unknown" or s.unknown_header then
      return ("line %d is not understood"):format(fn.kernel:line_of(s.first))
    end
  end
  if not fn.kernel:begins_line(fn.close) then return "its braces share lines with statements" end
end

local function size_of(list)
  return #list > 0 and list[#list].last - list[1].first or 0
end

local function leaves_group(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.statements) do
      if holds(s, { ["return"] = true }) then return true end
      if not LOOPS[s.kind] and holds(s, JUMPS) then
        local inside = false
        statement.walk(s, function(below) inside = inside or LOOPS[below.kind] or false end)
        if not inside then return true end
      end
    end
  end
end

local function waits(fn, list)
  for _, s in ipairs(list) do
    if effects.of(fn, s).barrier then return true end
  end
  return false
end

-- The first group of a plan in which threads wait for others: as a sentence.
local function waits_in_group(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.statements) do
      if effects.of(plan.fn, s).barrier then
        return ("a barrier behind line %d is not where all threads come"):format(
          plan.fn.kernel:line_of(s.first))
      end
    end
  end
end

-- Adds each `if` of a thread's own that has loops in it, and that may be asked for all threads.
local function add_inner_guards(list, known, s)
  local fits = s.kind == "if" and s.condition and not s.otherwise and known:depends(s.condition)
    and holds(s.body, LOOPS) and not effects.of(known.fn, s).barrier
    and not holds(s.body, { ["return"] = true })
  if fits then
    list[#list + 1] = { statement = s, leaves = false, guarded = { s.body } }
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    add_inner_guards(list, known, child)
  end
  if s.otherwise then add_inner_guards(list, known, s.otherwise) end
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

-- Calls visit(name, declaration, reads, writes) for each name of a thread's own that a statement
-- asks for or writes, but for those it declares, with tokens where it does.
local function outside_names(known, s, visit)
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

-- Is what a statement does to names of a thread's own of no use elsewhere, nor in its next turn,
-- and are those that it reads numbers?
local function is_closed(known, s)
  local fn, closed = known.fn, true
  local everywhere = effects.of(fn, fn.body)
  outside_names(known, s, function(name, d, reads, writes)
    local is_carried = reads and writes and is_in_loop(s) and not begins_with(fn, s, name)
    if not d or #d.extents > 0 or is_carried then closed = false end
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
  return closed
end

-- Adds each `if` of a thread's own that has loops in it, and that may be done for all of a team.
local function add_filled(list, known, s)
  local fits = s.kind == "if" and s.condition and not s.otherwise and known:depends(s.condition)
    and holds(s.body, LOOPS) and not effects.of(known.fn, s).barrier and not holds(s.body, JUMPS)
    and is_closed(known, s)
  if fits then
    list[#list + 1] = { statement = s, leaves = false, guarded = { s.body }, is_filled = true }
    return
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    add_filled(list, known, child)
  end
  if s.otherwise then add_filled(list, known, s.otherwise) end
end

-- Does a statement write memory that others see?
local function is_seen(plan, s)
  local known = plan.known
  for _, access in ipairs(effects.of(plan.fn, s).accesses) do
    if access.write and (known:is_global(access) or known.shared[access.root]) then return true end
  end
  return false
end

-- Is there a statement that one of a team without anything to do passes over, and that gives a
-- value to what others ask for?
local function skips_values(plan)
  for _, group in ipairs(plan.groups) do
    for _, s in ipairs(group.filled and group.statements or {}) do
      local skips = false
      outside_names(plan.known, s, function(_, _, _, writes) skips = skips or writes ~= nil end)
      if skips and is_seen(plan, s) then return true end
    end
  end
  return false
end

-- The conditions that are asked for all, and what is known where they hold; nil and why not.
local function guards_of(fn, what, side, team, is_plain)
  local same = team and select(2, teams.same(fn, side, team))
  local known = blockwise.of(fn, what.index, side, nil, same)
  local guard, list = guard_of(fn, known), {}
  if what == WHAT.threads then
    if guard and waits(fn, guard.guarded) then guard = nil end
    local add_inner = team and add_filled or add_inner_guards
    if not is_plain then add_inner(list, known, fn.body) end
    local is_same = guard and list[1] and list[1].statement == guard.statement
    if is_same and list[1].is_filled then guard = nil elseif is_same then table.remove(list, 1) end
  end
  if guard then table.insert(list, 1, guard) end
  if #list > 0 then known = blockwise.of(fn, what.index, side, list, same) end
  if known.why then return nil, known.why end
  local copied = 0
  for _, g in ipairs(list) do copied = copied + size_of(g.guarded) end
  if copied > MOST_COPIED then return nil, "its work is too long" end
  return known, list, guard
end

-- What is to be done to a kernel; nil and why nothing can be. is_plain: no `if` is done for all of
-- a team.
function plan_of(fn, what, side, team, is_plain)
  local why = refusal(fn, what, side) or team and teams.parted(fn, team)
  if why then return nil, why end
  local known, guards, guard = guards_of(fn, what, side, team, is_plain)
  if not known then return nil, guards end
  local plan = { fn = fn, what = what, side = side, known = known, guard = guard, guards = guards,
    team = team,
    of = {}, groups = {}, declared = {}, parted = {}, elements = {} }
  for _, g in ipairs(guards) do plan.of[g.statement] = g end
  for _, s in ipairs(guard and guard.guarded or {}) do
    if holds(s, { ["return"] = true }) then
      return nil, "it returns behind what asks for an item"
    end
  end
  plan_list(plan, fn.body.body)
  if skips_values(plan) then return plan_of(fn, what, side, team, true) end
  if #plan.groups == 0 then return nil, "nothing in it depends on the " .. what.one end
  if leaves_group(plan) then
    return nil, "it is left in the midst of what depends on the " .. what.one
  end
  why = what == WHAT.threads and waits_in_group(plan)
  if why then return nil, why end
  plan.spread, why = spread(plan)
  if not plan.spread then return nil, why end
  plan.is_bounded = what == WHAT.blocks and is_bounded(known, guard) and is_only_numbered(fn, side)
  return plan
end

--------------------------------------------------------------------------------------------------
-- The text

local function tokens_text(kernel, first, last)
  return first > last and "" or kernel:source(first, last)
end

-- T name_all[K][extents]; of one that is there once, T name[extents];
local function array_of(plan, d)
  local kernel, words, stop = plan.fn.kernel, plan.fn.kernel.words, d.token
  while words[stop + 1] == "[" do stop = words.match[stop + 1] end
  local name = plan.spread[d.name] and ("%s[%d]"):format(plan.all[d.name], plan.count) or d.name
  return ("%s%s%s %s%s%s;"):format(d.shared and "__shared__ " or "",
    d.target_const and "const " or "", d.type, ("*"):rep(d.pointer), name,
    tokens_text(kernel, d.token + 1, stop))
end

-- The directives in which a name is declared, `#ifdef padded`, and as many #endif: where it is not
-- there, no reference to it is.
local function directives(plan, d)
  local kernel, levels, before, behind = plan.fn.kernel, {}, {}, {}
  for i = plan.fn.open, d.token or plan.fn.open do
    if kernel.words.kind[i] == "directive" then
      local name, text = kernel.words.directive(i), kernel:source(i, i)
      if name:find "^if" then levels[#levels + 1] = { text } end
      if name:find "^el" and #levels > 0 then table.insert(levels[#levels], text) end
      if name == "endif" then levels[#levels] = nil end
    end
  end
  for _, level in ipairs(levels) do
    table.move(level, 1, #level, #before + 1, before)
    behind[#behind + 1] = "#endif"
  end
  return before, behind
end

local function is_dynamic(plan, name) return plan.known.shared[name] == "dynamic" end

-- Of the names those that the work behind a guard reads alone, as they come into it: numbers, not
-- arrays.
local function only_read(plan, names, guard)
  local work = table.move(guard.guarded, 1, #guard.guarded, 2, { guard.statement })
  local list, written = {}, effects.all(plan.fn, work).writes
  for name in pairs(names) do
    local d = plan.spread[name]
    if d and not is_dynamic(plan, name) and #d.extents == 0 and not written[name]
      and not plan.fn.addressed[name] and #directives(plan, d) == 0 then
      list[name] = true
    end
  end
  return list
end

-- The lines that give names the values of the block whose turn it is. One element of an array by a
-- number that the compiler does not know would have the whole array in memory.
local function picked(plan, names)
  local list, sorted = {}, settings.keys(names)
  if #sorted == 0 then return list end
  local moves = {}
  for i, name in ipairs(sorted) do
    list[i] = ("auto %s = %s[0];"):format(name, plan.all[name])
    moves[i] = ("%s = %s[%s];"):format(name, plan.all[name], plan.other)
  end
  local text = table.concat(moves, " ")
  list[#list + 1] = "#pragma unroll"
  list[#list + 1] = ("for (int %s = 1; %s < %d; %s++)"):format(plan.other, plan.other, plan.count,
    plan.other)
  list[#list + 1] = plan.step .. ("if (%s == %s) %s"):format(plan.part, plan.other,
    #moves > 1 and "{ " .. text .. " }" or text)
  return list
end

-- Which thread, or block, a part is.
local function place_of(plan, part)
  local at, count = plan.what.index .. "." .. plan.side, plan.count
  if plan.team then
    local n = teams.fewer_text(plan.team, count)
    if n == "1" then return ("%s * %d + %s"):format(at, count, part) end
    return ("%s / %s * %s + %s %% %s + %s * %s"):format(at, n, plan.team.text, at, n, n, part)
  elseif plan.spacing == "next" then
    return ("%s * %d + %s"):format(at, count, part)
  end
  return ("%s + blockDim.%s * %s"):format(at, plan.side, part)
end

-- The lines that begin the loop over the blocks; `read`: names of which each turn has a copy;
-- times: how often it is unrolled (wholly); filled: the guard that is done for all of a team.
local function head_of(plan, names, has_block, read, times, filled)
  local list = { ("for (int %s = 0; %s < %d; %s++) {"):format(plan.part, plan.part, plan.count,
    plan.part) }
  table.insert(list, 1, "#pragma unroll" .. (times and " " .. times or ""))
  local active = filled and ("%s[%s]"):format(filled.active, plan.part)
  if has_block then
    list[#list + 1] = plan.step .. ("const unsigned int %s = %s;"):format(plan.block,
      place_of(plan, active and ("(%s ? %s : 0)"):format(active, plan.part) or plan.part))
  end
  for _, line in ipairs(picked(plan, read or {})) do list[#list + 1] = plan.step .. line end
  for _, name in ipairs(settings.keys(names)) do
    local d = plan.spread[name]
    local before, behind = directives(plan, d or {})
    if d and is_dynamic(plan, name) then
      list[#list + 1] = plan.step .. ("auto *const %s = %s + %s * %s;"):format(name, plan.all[name],
        plan.part, plan.length[name])
    elseif d and filled and filled.read[name] then
      list[#list + 1] = plan.step .. ("const auto %s = %s ? %s[%s] : %s[0];"):format(name, active,
        plan.all[name], plan.part, plan.all[name])
    elseif d and not (read and read[name]) then
      table.move(before, 1, #before, #list + 1, list)
      list[#list + 1] = plan.step .. ("auto &%s = %s[%s];"):format(name, plan.all[name], plan.part)
      table.move(behind, 1, #behind, #list + 1, list)
    end
  end
  return list
end

-- Tokens of a range that say which block it is, and of how many, as kernel:source takes them; does
-- any say which?
local function other_block(plan, first, last)
  local instead, uses = {}, threads.uses(plan.fn)
  local function take(tokens, text)
    local any = false
    for _, token in ipairs(tokens) do
      if first <= token and token <= last then
        instead[token], any = { text, token + 2 }, true
      end
    end
    return any
  end
  take(uses[plan.what.length][plan.side], plan.whole)
  return instead, take(uses[plan.what.index][plan.side], plan.block)
end

-- The text of a tree that is the same for all.
local function common_text(plan, tree)
  local fn, instead = plan.fn, {}
  for _, token in ipairs(threads.uses(fn)[plan.what.length][plan.side]) do
    instead[token] = { plan.whole, token + 2 }
  end
  for _, number in ipairs(plan.team and teams.same(fn, plan.side, plan.team) or {}) do
    for _, change in ipairs(teams.fewer(fn, number, plan.side, plan.count)) do
      instead[change[1]] = { change[3], change[2] }
    end
  end
  return fn.kernel:source(tree.first, tree.last, instead)
end

-- A declaration as assignments, and what it needs before the group: arrays, and what is the same
-- for all.
local function assignments(plan, s, arrays)
  local list, kernel = {}, plan.fn.kernel
  for _, d in ipairs(s.declared) do
    local is_own = plan.known:owns(d.name, d.token)
    arrays[#arrays + 1] = array_of(plan, d)
    if d.init and not is_own then
      arrays[#arrays] = ("%s = %s;"):format(arrays[#arrays]:sub(1, -2), common_text(plan, d.init))
    elseif d.init then
      list[#list + 1] = ("%s = %s;"):format(d.name, kernel:source(d.init.first, d.init.last,
        (other_block(plan, d.init.first, d.init.last))))
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

-- A group's text: its statements as they stand, one level deeper.
local function group_text(plan, group)
  local kernel, fn = plan.fn.kernel, plan.fn
  local instead, has_block = other_block(plan, group.first, group.last)
  local arrays = {}
  for _, s in ipairs(group.statements) do
    if is_spread(plan, s) then
      for token in pairs(instead) do
        if s.first <= token and token <= s.last then instead[token] = nil end
      end
      instead[s.first] = { assignments(plan, s, arrays), s.last }
    elseif group.filled and is_seen(plan, s) then
      local word = instead[s.first] or { kernel:source(s.first, s.first), s.first }
      instead[s.first] = { ("if (%s[%s]) %s"):format(group.filled.active, plan.part, word[1]),
        word[2] }
    end
  end
  local list = arrays
  for _, line in ipairs(head_of(plan, group.names, has_block, nil, nil, group.filled)) do
    list[#list + 1] = line
  end
  for _, d in ipairs(group.elements) do
    local s = plan.elements[d]
    local before, behind = directives(plan, d)
    table.move(before, 1, #before, #list + 1, list)
    list[#list + 1] = plan.step .. kernel:source(s.first, s.last)
    table.move(behind, 1, #behind, #list + 1, list)
  end
  list[#list + 1] = plan.step .. kernel:source(group.first, group.last, instead)
    :gsub("\n", "\n" .. plan.step)
  list[#list + 1] = "}"
  local parent, indent = group.statements[1].parent, kernel:indent(group.first)
  local stands_in_list = not parent or parent.kind == "block" or fn.body == parent
  local is_beside = not stands_in_list and not kernel:begins_line(group.first)
  local inner = is_beside and indent .. plan.step or indent
  local text = table.concat(list, "\n" .. inner):gsub("\n[ \t]+(#%s*[ie][fln])", "\n%1")
  if stands_in_list then return text end
  return "{\n" .. inner .. text .. "\n" .. indent .. "}"
end

-- Names among the spread that are declared before a token.
local function outer_names(plan, names, first)
  local list = {}
  for name in pairs(names) do
    local d = plan.spread[name]
    if d and (d.dynamic or d.extern or d.token < first) then list[name] = true end
  end
  return list
end

-- The work of one block after the other's, as it was, where the guard does not hold for all.
local function one_by_one(plan, guard)
  local kernel = plan.fn.kernel
  local first = guard.statement.first
  local last = guard.guarded[#guard.guarded].last
  local indent = kernel:indent(first)
  local instead, has_block = other_block(plan, first, last)
  local names = outer_names(plan, names_of(plan, first, last), first)
  local is_rolled = guard == plan.guard
  local list = head_of(plan, names, has_block,
    is_rolled and only_read(plan, names, guard) or nil, is_rolled and "1" or nil)
  list[#list + 1] = plan.step .. kernel:source(first, last, guard.leaves and plan.continues(instead)
    or instead):gsub("\n", "\n" .. plan.step)
  list[#list + 1] = "}"
  for i, line in ipairs(list) do list[i] = plan.step .. line:gsub("\n", "\n" .. plan.step) end
  table.insert(list, 1, "} else {")
  list[#list + 1] = "}"
  return table.concat(list, "\n" .. indent)
end

-- Is the guard's condition met for all blocks? The lines that ask.
local function asked(plan, guard)
  local kernel, s = plan.fn.kernel, guard.statement
  local instead, has_block = other_block(plan, s.condition.first, s.condition.last)
  local text = kernel:source(s.condition.first, s.condition.last, instead)
  local used = effects.of(plan.fn, s.condition).reads
  local list = head_of(plan, outer_names(plan, used, s.first), has_block)
  if guard.is_filled then
    table.insert(list, 1, ("bool %s[%d];"):format(guard.active, plan.count))
    list[#list + 1] = plan.step .. ("%s[%s] = %s;"):format(guard.active, plan.part, text)
    list[#list + 1] = "}"
    list[#list + 1] = ("if (%s[0]) {"):format(guard.active)
    return table.concat(list, "\n" .. kernel:indent(s.first))
  end
  table.insert(list, 1, ("bool %s = true;"):format(guard.together))
  list[#list + 1] = plan.step .. ("if (%s) %s = false;"):format(guard.leaves and text
    or "!(" .. text .. ")", guard.together)
  list[#list + 1] = "}"
  list[#list + 1] = ("if (%s) {"):format(guard.together)
  return table.concat(list, "\n" .. kernel:indent(s.first))
end

-- The return of the guard is a `continue` in the loop over the blocks.
local function with_continue(plan)
  return function(instead)
    local s = plan.guard.statement
    statement.walk(s, function(below)
      if below.kind == "return" then instead[below.first] = { "continue;", below.last } end
    end)
    return instead
  end
end

-- Is a guard the one statement of a loop or an `if` that stays? Then what it becomes needs braces.
local function needs_braces(plan, s)
  return s.parent ~= nil and s.parent.kind ~= "block" and not plan.of[s.parent]
end

local function put_guard(plan, e, guard)
  local fn, s = plan.fn, guard.statement
  local indent = fn.kernel:indent(s.first)
  local text, rest = asked(plan, guard), one_by_one(plan, guard)
  if needs_braces(plan, s) then
    text, rest = "{\n" .. indent .. text, rest .. "\n" .. indent .. "}"
  end
  if guard.leaves then
    e:replace(s.first, s.last, text)
    e:before(fn.close, indent .. rest .. "\n")
  elseif s.body.kind == "block" then
    e:replace(s.first, s.body.first, text)
    e:replace(s.last, s.last, rest)
  else
    e:replace(s.first, s.body.first - 1, text .. "\n" .. indent .. plan.step)
    e:after(s.last, "\n" .. indent .. rest)
  end
end

-- Where the text outside of what is done for each says how many there are, or which team it is.
local function put_lengths(plan, e)
  local ranges, fn, side = {}, plan.fn, plan.side
  for _, group in ipairs(plan.groups) do ranges[#ranges + 1] = { group.first, group.last } end
  for _, guard in ipairs(plan.guards) do
    local s = guard.statement
    ranges[#ranges + 1] = { s.first, guard.leaves and s.last or s.body.first - 1 }
  end
  local function is_outside(token)
    for _, range in ipairs(ranges) do
      if range[1] <= token and token <= range[2] then return false end
    end
    return true
  end
  for _, token in ipairs(threads.uses(fn)[plan.what.length][side]) do
    if is_outside(token) then e:replace(token, token + 2, plan.whole) end
  end
  for _, number in ipairs(plan.team and teams.same(fn, side, plan.team) or {}) do
    for _, change in ipairs(is_outside(number.tree.first)
      and teams.fewer(fn, number, side, plan.count) or {}) do
      e:replace(change[1], change[2], change[3])
    end
  end
end

-- Where arrays of shared memory begin whose size the launch says: each block has as much.
local function dynamic_lines(plan)
  local list, names = {}, {}
  for name in pairs(plan.spread) do
    if is_dynamic(plan, name) then names[name] = true end
  end
  if not next(names) then return list end
  local bytes = threads.new_name(plan.fn, "dynamic_bytes")
  list[1] = ("unsigned int %s;"):format(bytes)
  list[2] = ('asm("mov.u32 %%0, %%%%dynamic_smem_size;" : "=r"(%s));'):format(bytes)
  for _, name in ipairs(settings.keys(names)) do
    list[#list + 1] = ("auto *const %s = %s;"):format(plan.all[name], name)
    plan.length[name] = threads.new_name(plan.fn, name .. "_length")
    list[#list + 1] = ("const unsigned int %s = %s / %d / sizeof(*%s);"):format(plan.length[name],
      bytes, plan.count, name)
  end
  return list
end

local function put_dynamic(plan, e)
  local lines = dynamic_lines(plan)
  if #lines == 0 then return "" end
  local first = plan.fn.body.body[1]
  for _, s in ipairs(plan.fn.body.body) do -- behind an `extern __shared__` of the kernel's own
    if s.kind == "declaration" and s.declared[1].extern then first = nil
    elseif not first then first = s end
  end
  local indent = plan.fn.kernel:indent(first.first)
  e:before(first.first, table.concat(lines, "\n" .. indent) .. "\n" .. indent)
  return (" shared*%d"):format(plan.count)
end

-- What must be so of a team whose size has a name.
local function put_team(plan, e)
  if not plan.team or not plan.team.is_named then return end
  local first = plan.fn.body.body[1]
  local text, count = plan.team.text, plan.count
  e:before(first.first, ('static_assert(%s %% %d == 0, "%s must be a multiple of %d");\n%s'):format(
    text, count, text, count, plan.fn.kernel:indent(first.first)))
end

-- Do a block's threads share a loop, each beginning at its own place, and going on by a number?
local function is_shared_out(plan, loop)
  local by, sides = sides_of.value(plan.fn, loop.by), sides_of.of(plan.fn, loop.start, {})
  return by ~= nil and by > 1 and sides ~= nil and next(sides) ~= nil
end

-- `#pragma unroll` before the loops that stay around what is done for each: those of few
-- iterations, and with 2 those that a block's threads share, which mostly have one or two.
local function put_pragmas(plan, e)
  local times, within = {}, {}
  for _, loop in ipairs(plan.parted) do -- outer ones come first
    local s, is_counted = loop.statement, loop.counted and loop.start ~= nil
    local trips = is_counted and loop_of.trips(loop, function(tree)
      return sides_of.value(plan.fn, tree) -- of parameters what they are unless told
    end)
    local around = s.parent
    while around and not times[around] do around = around.parent end
    within[s] = (around and within[around] or plan.count) * (trips or 1)
    times[s] = true
    local text = trips and trips > 1 and trips <= MOST_TRIPS and within[s] <= MOST_UNROLLED and ""
      or is_counted and not trips and is_shared_out(plan, loop) and " 2"
    if text and #loop.pragmas == 0 and s.parent and s.parent.kind == "block"
      and plan.fn.kernel:begins_line(s.first) then
      e:before(s.first, "#pragma unroll" .. text .. "\n" .. plan.fn.kernel:indent(s.first))
    end
  end
end

local function named(plan, count, spacing)
  local fn, what, side = plan.fn, plan.what, plan.side
  plan.count, plan.all, plan.length, plan.step = count, {}, {}, guarded.unit(fn)
  plan.spacing = spacing
  for name in pairs(plan.spread) do plan.all[name] = threads.new_name(fn, name .. "_all") end
  plan.part = threads.new_name(fn, "part")
  plan.other = threads.new_name(fn, "other")
  plan.block = threads.new_name(fn, what.name)
  plan.whole = ("(%s.%s * %d)"):format(what.length, side, count)
  local together = threads.new_name(fn, "together")
  local active = threads.new_name(fn, "active")
  for i, guard in ipairs(plan.guards) do
    local ending = i > 1 and "_" .. i or ""
    guard.together, guard.active = together .. ending, active .. ending
    guard.read = guard.is_filled and only_read(plan, plan.spread, guard)
  end
  plan.continues = plan.guard and with_continue(plan)
end

-- The lines that stand deeper now: those behind a guard that returns; none where tabs are a level.
local function deeper_lines(plan)
  local guard, kernel = plan.guard, plan.fn.kernel
  if not guard or not guard.leaves or #guard.guarded == 0 or not plan.step:find "^ +$" then
    return nil
  end
  local first, last = guard.statement.last, guard.guarded[#guard.guarded].last
  return { { kernel:line_of(first) + 1, kernel:line_of(last), #plan.step } }
end

--- Merges blocks, or threads, of a kernel: a change without the words that say so; nil and why not.
---@param fn table of kernel.read
---@param what "blocks"|"threads"
---@param side string
---@param count integer
---@param spacing? "next"|"block"|string threads: neighbours, or those that the new block's width
--- parts, or those of a team (gilua.transform.teams) of this name
---@return table?
---@return string? message
function M.merged(fn, what, side, count, spacing)
  local team = spacing and not SPACINGS[spacing] and teams.find(fn, side, spacing) or nil
  if team and team.size % count ~= 0 then
    return nil, ("%s threads are no whole number of %d"):format(team.text, count)
  end
  local plan, why = plan_of(fn, WHAT[what], side, team)
  if not plan then return nil, why end
  named(plan, count, spacing or "next")
  local e = edit.new(fn.kernel)
  local shared = put_dynamic(plan, e)
  put_team(plan, e)
  for _, guard in ipairs(plan.guards) do put_guard(plan, e, guard) end
  put_lengths(plan, e)
  put_pragmas(plan, e)
  for _, s in ipairs(plan.declared) do
    local arrays = {}
    assignments(plan, s, arrays)
    local is_extern = s.declared[1].extern
    if not is_extern then
      e:replace(s.first, s.last, table.concat(arrays, "\n" .. fn.kernel:indent(s.first)))
    end
  end
  for _, s in pairs(plan.elements) do e:remove(s.first, s.last) end
  for _, group in ipairs(plan.groups) do
    e:replace(group.first, group.last, group_text(plan, group))
  end
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  local of = what == "blocks" and "grid" or "block"
  local by = team and team.size or count
  local divides = plan.is_bounded and "" or ("%s.%s%%%d "):format(of, side, by)
  return { edits = edits, indent = deeper_lines(plan),
    launch = ("%s%s.%s/%d%s"):format(divides, of, side, count, shared) }
end

--- Can blocks, or threads, of a kernel be merged along a side?
---@param fn table
---@param what "blocks"|"threads"
---@param side string
---@param team? gilua.team
---@return boolean
function M.fits(fn, what, side, team) return plan_of(fn, WHAT[what], side, team) ~= nil end

return M
