--- contraction: does a kernel sum products over an index, one output a thread?
--
--   int row = blockIdx.y * blockDim.y + threadIdx.y;
--   int col = blockIdx.x * blockDim.x + threadIdx.x;
--   if (row >= m || col >= n) return;
--   float sum = 0.0f;
--   for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
--   c[row * n + col] = sum;
--
-- Yes: { loops, statement, sum, tokens (gilua.facts.products), down and across (two of the thread's
-- indices), batch (the others), operands (gilua.facts.operands), before, each, after, guards,
-- rest }. `before` are declarations that all threads of a block do alike, and conditions (with a
-- text) that these fulfil or leave; `each` declarations of an output's own, `after` what becomes of
-- the sum. `guards` has for each index what its outputs must fulfil, `rest` what both must.
--
-- One operand depends on `down`, the other on `across`; on any other index a block's outputs agree,
-- as with the batch of many products, or with the rows of a convolution, which shares its filters
-- among the columns of one. An index is blockIdx * blockDim + threadIdx, or blockIdx alone; the end
-- of the latter is unknown, so that the launch must have a multiple. The loops' heads depend on
-- neither, but for a triangle's: `slopes` has the start or the bound of one that begins or ends
-- with the output's own index, { which, add, last (the bound of that index) }. What is summed must
-- be zero where both operands are: elements behind the ends of a tile are zero.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local operands = require "gilua.facts.operands"
local products = require "gilua.facts.products"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"

local M = {}

local NOT = { [">="] = "<", [">"] = "<=", ["<"] = ">=", ["<="] = ">" }

-- ---- outputs ----------------------------------------------------------------------------------

-- How often a side of a built-in variable may be used by an index alone.
local USED = { usual = { blockIdx = 1, threadIdx = 1, blockDim = 1 },
  block = { blockIdx = 1, threadIdx = 0, blockDim = 0 } }

-- Is a tree `blockIdx.z`?
local function is_block(fn, tree)
  while tree.kind == "cast" do tree = tree.a end
  return tree.kind == "member" and not tree.arrow and fn.kernel.words[tree.first] == "blockIdx"
end

-- Is an index all that its side of the grid and the block is used for?
local function is_all(fn, index)
  local uses, d = threads.uses(fn), index.d
  local allowed = index.usual and USED.usual or is_block(fn, d.init) and USED.block
  return allowed and not d.type:find "char" and not d.type:find "short"
    and #(effects.of(fn, fn.body).writes[index.name] or {}) == 1
    and lists.none({ "blockIdx", "threadIdx", "blockDim" }, function(name)
      return #uses[name][index.side] ~= allowed[name]
    end)
end

--- Returns the indices of a kernel's threads, by name; nil and why.
function M.indices(fn)
  local why, by_name, by_side = threads.bound_together(fn), {}, {}
  for _, side in ipairs(threads.SIDES) do why = why or threads.needs_grid(fn, side) end
  if why then return nil, why end
  for _, index in ipairs(threads.indices(fn)) do
    if is_all(fn, index) then by_name[index.name], by_side[index.side] = index, index end
  end
  for _, side in ipairs(threads.SIDES) do
    local uses = threads.uses(fn)
    if not by_side[side] and #uses.threadIdx[side] + #uses.blockDim[side] > 0 then
      return nil, ("%s of its threads does not count its outputs alone"):format(side)
    end
  end
  return by_name
end

-- Adds the indices that a tree is made of, by name, through the declarations of others.
local function add_indices(fn, tree, indices, found, seen)
  for name in pairs(effects.of(fn, tree).reads) do
    local d = not seen[name] and fn:declaration(name, tree.first)
    seen[name] = true
    if indices[name] then
      found[name] = indices[name]
    elseif d and d.init then
      add_indices(fn, d.init, indices, found, seen)
    end
  end
  return found
end

-- The index along x before one along y, before one of blocks alone.
local function rank(index) return (index.usual and 0 or 10) + index.side:byte() end

-- The foremost index of one operand that the other does not have.
local function own(list, others)
  local best
  for name, index in pairs(list) do
    if not others[name] and (not best or rank(index) < rank(best)) then best = index end
  end
  return best
end

--- Returns the two indices that the operands of a sum (gilua.facts.products) do not share, { down,
--- across }, and the others; nil and why.
function M.outputs(fn, sum)
  local indices, why = M.indices(fn)
  if not indices then return nil, why end
  local lists_of, texts = {}, {}
  for _, access in ipairs(effects.of(fn, sum.statement).accesses) do
    local text = access.node and fn.kernel:plain(access.node)
    if text and not texts[text] then
      texts[text] = true
      local seen = {}
      for _, loop in ipairs(sum.loops) do seen[loop.variable] = true end
      lists_of[#lists_of + 1] = add_indices(fn, access.node, indices, {}, seen)
    end
  end
  if #lists_of > 2 then return nil, "it has more than two operands" end
  local a = #lists_of == 2 and own(lists_of[1], lists_of[2])
  local b = a and own(lists_of[2], lists_of[1])
  if not b then return nil, "it has no operand for each of two indices" end
  if rank(b) < rank(a) then a, b = b, a end
  local found = { across = a, down = b, batch = {} }
  for _, index in pairs(indices) do
    if index ~= a and index ~= b then table.insert(found.batch, index) end
  end
  if not a.usual or a.side ~= "x" then return nil, "x of its threads does not count outputs" end
  table.sort(found.batch, function(x, y) return rank(x) < rank(y) end)
  return found
end

-- ---- the statements around the loop -------------------------------------------------------------

local function is_pure(fn, part)
  local all = effects.of(fn, part)
  return not (all.opaque or all.barrier or all.warp)
    and lists.none(all.accesses, function(access) return access.write or access.atomic end)
end

-- Is a tree a whole number? Of two such a >= b is the opposite of a < b.
local function is_whole(fn, tree)
  local type = types.of(fn, tree)
  return type ~= nil and type ~= "float" and type ~= "double"
end

-- Adds a condition that threads with an output fulfil, as text.
local function add_guard(found, tree, negated)
  local kernel = found.fn.kernel
  if not is_pure(found.fn, tree) or next(effects.of(found.fn, tree).writes) then return false end
  local text = kernel:plain(tree)
  if negated and tree.kind == "binary" and NOT[tree.op] and is_whole(found.fn, tree.a)
    and is_whole(found.fn, tree.b) then
    text = ("%s %s %s"):format(kernel:plain(tree.a), NOT[tree.op], kernel:plain(tree.b))
  elseif negated then
    text = ("!(%s)"):format(text)
  elseif tree.kind == "binary" and tree.op == "||" or tree.kind == "choice" then
    text = ("(%s)"):format(text)
  end
  for name in pairs(effects.of(found.fn, tree).reads) do
    local is_index = name == found.down.name or name == found.across.name
    if found.known[name] and not is_index then return false end
  end
  local on = operands.depends(found, tree)
  local list = on.down and on.across and found.rest or on.down and found.guards.down
    or on.across and found.guards.across or found.before
  if list == found.before and #effects.of(found.fn, tree).accesses > 0 then return false end
  list[#list + 1] = { text = text, tree = tree }
  return true
end

local function add_guards(found, s, negated)
  return lists.none(expression.parts(s.condition, negated and "||" or "&&", {}), function(part)
    return not add_guard(found, part, negated)
  end)
end

-- May a declaration stand elsewhere: does it declare a variable that is set nowhere else?
local function is_plain(found, d)
  local writes = effects.of(found.fn, found.fn.body).writes[d.name] or {}
  return not (d.shared or d.static or d.unknown_init or d.reference)
    and (d == found.sum or #writes <= (d.init and 1 or 0))
end

-- Adds a declaration before the loop: to what the block's threads do alike, or to an output's own.
local function add_declaration(found, s)
  local on, is_taken = {}, false
  for _, d in ipairs(s.declared) do
    if not is_plain(found, d) then return false end
    is_taken = is_taken or d == found.down.d or d == found.across.d or d == found.sum
    for which in pairs(d.init and operands.depends(found, d.init) or {}) do on[which] = true end
  end
  if is_taken then
    for _, d in ipairs(s.declared) do
      if d ~= found.down.d and d ~= found.across.d and d ~= found.sum then
        if not d.init or d.pointer > 0 or #d.extents > 0 or next(on) then return false end
        table.insert(found.before, { text = ("const %s %s = %s;"):format(d.type:gsub("^const ", ""),
          d.name, found.fn.kernel:plain(d.init)), is_line = true })
      end
    end
    return is_pure(found.fn, s)
  end
  for _, d in ipairs(s.declared) do found.known[d.name] = next(on) and on or nil end
  table.insert(next(on) and found.each or found.before, s)
  return is_pure(found.fn, s)
end

local add_list

-- Adds a statement before the loop, or the `if` around it; false where it is anything else.
local function add_statement(found, s)
  if s.kind == "directive" then return s.name == "pragma" end
  if s.kind == "declaration" then return add_declaration(found, s) end
  if s.kind ~= "if" or s.otherwise or s.init or not s.condition then return s.kind == "empty" end
  if statement.is_return(s.body) then return add_guards(found, s, true) end
  if not statement.covers(s, found.loop.statement) then return false end
  return add_guards(found, s, false) and add_list(found, statement.listed(s.body))
end

-- Adds what stands before the loop and behind it.
function add_list(found, list)
  local is_behind = false
  for _, s in ipairs(list) do
    if s == found.loop.statement then
      is_behind = true
    elseif is_behind then
      found.after[#found.after + 1] = s
    elseif not add_statement(found, s) then
      return false, s
    end
    is_behind = is_behind or statement.covers(s, found.loop.statement)
  end
  return true
end

-- What becomes of the sum: anything that changes no variable but its own and the sum.
local function ends_well(found)
  for _, s in ipairs(found.after) do
    local all = effects.of(found.fn, s)
    if all.opaque or all["return"] or statement.holds(s, { ["return"] = true }) then
      return false
    end
    for name, tokens in pairs(all.writes) do
      local d = found.fn:declaration(name, tokens[1])
      if not d or d ~= found.sum and not statement.spans(
        { first = found.loop.statement.last, last = found.fn.close }, d.token) then
        return false
      end
    end
  end
  return #found.after > 0
end

-- ---- the loop -----------------------------------------------------------------------------------

--- Returns the bounds of the conditions `row < bound` that an index's outputs fulfil; nil where
--- they have others, or a bound depends on the output.
---@param found table of M.of
---@param which "down"|"across"
---@return table[]? trees
function M.ends(found, which)
  local list = {}
  for i, guard in ipairs(found.guards[which]) do
    list[i] = operands.bound(guard, found[which].name)
    if not list[i] or next(operands.depends(found, list[i])) then return nil end
  end
  return list
end

-- The bound of the one such condition.
local function ends_of(found, which)
  local list = M.ends(found, which)
  return list and #list == 1 and list or nil
end

-- A bound of the loop that goes with an output's index, as the side of a triangle: { which, add }
-- of `row + add`; false of one that does not depend on it; nil and why.
local function slope(found, tree)
  local which = operands.depends(found, tree)
  if not next(which) then return false end
  local index = found[next(which)]
  local form = affine.form(found.fn.kernel, tree) or {}
  local add = form[""] or 0
  form[""] = nil
  if #found.loops > 1 or form[index.name] ~= 1 or next(form, next(form)) ~= nil
    or not ends_of(found, next(which)) then
    return nil, "its bounds depend on the output"
  end
  return { which = next(which), add = add }
end

-- Where the loops' bounds lie: the same for all outputs, or a triangle's sides.
local function add_bounds(found)
  for _, loop in ipairs(found.loops) do
    for _, name in ipairs { "start", "bound" } do
      local tree = loop[name]
      if not is_pure(found.fn, tree) or #effects.of(found.fn, tree).accesses > 0 then
        return nil, "its bounds are loaded"
      end
      local side, why = slope(found, tree)
      if side == nil then return nil, why end
      if side then
        side.last = found.fn.kernel:operand(ends_of(found, side.which)[1])
        found.slopes[name] = side
      end
    end
  end
  return true
end

-- Arrays that are stored behind the loop are other memory than its operands.
local function read_around(found)
  local holds, s = add_list(found, found.fn.body.body)
  if not holds then
    local line = found.fn.kernel:line_of((s or found.fn.body).first)
    return nil, ("line %d does more than to say which outputs there are"):format(line)
  elseif #found.guards.across == 0 or found.down.usual and #found.guards.down == 0 then
    return nil, "no `if` says where its outputs end"
  elseif next(operands.depends(found, found.sum.init))
    or #effects.of(found.fn, found.sum.init).accesses > 0 then
    return nil, "the sum's first value depends on the output"
  elseif not ends_well(found) then
    return nil, "what stands behind it is not understood"
  end
  return true
end

-- Is a loop in its kernel's list, or in that of an `if` there?
local function is_outermost(loop)
  return lists.none(loop.fn.loops, function(other)
    return other ~= loop and statement.covers(other.statement, loop.statement)
  end)
end

--- Is what a tile loads loaded by the kernel, too? Unknown where outputs have a condition that
--- hangs on both indices: a row may have none.
---@param found table of M.of
---@return boolean?
---@return string? promise
function M.is_loaded(found)
  if #found.rest == 0 then return true end
  return nil, ("what lines before line %d ask of an output leaves none of its rows and columns out")
    :format(found.loop.line)
end

--- Returns the access by which a contraction stores its sums, and does no more, where those of
--- neighbouring columns are neighbouring elements; nil of any other.
---@param found table of M.of
---@return table?
function M.row_store(found)
  local s, fn = found.after[1], found.fn
  local tree = #found.after == 1 and s.kind == "expression" and s.tree
  if not tree or tree.kind ~= "assign" or tree.op ~= "=" or next(effects.of(fn, s).writes) then
    return nil
  end
  local stores = lists.filter(effects.of(fn, s).accesses, function(access) return access.write end)
  local access = stores[1]
  if #stores > 1 or not access or access.atomic or access.node ~= tree.a
    or not access.indices or #access.indices ~= 1 then
    return nil
  end
  for name in pairs(effects.of(fn, access.node).reads) do
    local on = name ~= found.across.name and found.known[name]
    if on and on.across then return nil end
  end
  return affine.in_variable(fn.kernel, access.indices[1], found.across.name) == 1 and access or nil
end

--- Returns the contraction whose sum a nest of loops makes; nil and why it is none.
---@param loop table the outermost
---@return table? found
---@return string? why
function M.of(loop)
  local fn = loop.fn
  if not fn.is_entry or not is_outermost(loop) then return nil, "it is not a kernel's own loop" end
  local sum, no_sum = products.of(loop)
  if not sum then return nil, no_sum end
  local outputs, why = M.outputs(fn, sum)
  if not outputs then return nil, why end
  local found = { fn = fn, loop = loop, loops = sum.loops, statement = sum.statement, sum = sum.sum,
    tokens = sum.tokens, operands = {}, before = {}, each = {}, after = {}, rest = {},
    guards = { down = {}, across = {} }, down = outputs.down, across = outputs.across,
    batch = outputs.batch, known = {}, variables = {}, slopes = {} }
  for _, one in ipairs(found.loops) do found.variables[one.variable] = true end
  for _, which in ipairs { "down", "across" } do
    found.known[found[which].name] = { [which] = true }
  end
  for _, ask in ipairs { read_around, add_bounds, operands.add } do
    local holds, reason = ask(found)
    if not holds then return nil, reason end
  end
  return found
end

return M
