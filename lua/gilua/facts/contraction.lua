--- contraction: does a kernel sum products over an index, one output a thread?
--
--   int row = blockIdx.y * blockDim.y + threadIdx.y;
--   int col = blockIdx.x * blockDim.x + threadIdx.x;
--   if (row >= m || col >= n) return;
--   float sum = 0.0f;
--   for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
--   c[row * n + col] = sum;
--
-- Yes: { loop, statement, sum (the accumulator's declaration), down and across (the indices along y
-- and x), operands (gilua.facts.operands), before, each, after, guards, rest }. `before` are
-- declarations that all threads of a block do alike, and conditions (with a text) that these fulfil
-- or leave; `each` declarations of an output's own, `after` what becomes of the sum. `guards` has
-- for each index what its outputs must fulfil, `rest` what both must.
--
-- Each operand must depend on one of the two indices, and the loop's head on neither. What is
-- summed must be zero where both operands are: elements behind the ends of a tile are zero.

local accumulators = require "gilua.facts.accumulators"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local operands = require "gilua.facts.operands"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"

local M = {}

local NOT = { [">="] = "<", [">"] = "<=", ["<"] = ">=", ["<="] = ">" }

-- ---- outputs ----------------------------------------------------------------------------------

-- Is an index all that its side of the grid and the block is used for?
local function is_all(fn, index)
  local uses = threads.uses(fn)
  return index.usual and not index.d.type:find "char" and not index.d.type:find "short"
    and #(effects.of(fn, fn.body).writes[index.name] or {}) == 1
    and lists.none({ "blockIdx", "threadIdx", "blockDim" }, function(name)
      return #uses[name][index.side] ~= 1
    end)
end

--- Returns the two indices of a kernel whose threads have an output each, by side; nil and why.
function M.outputs(fn)
  local uses, by_side = threads.uses(fn), {}
  local why = threads.needs_grid(fn, "x") or threads.needs_grid(fn, "y")
    or threads.bound_together(fn)
  if why then return nil, why end
  for _, index in ipairs(threads.indices(fn)) do
    if is_all(fn, index) then by_side[index.side] = index end
  end
  if not by_side.x or not by_side.y then
    return nil, "x and y of its threads do not count its outputs alone"
  elseif #uses.threadIdx.z + #uses.blockDim.z + #uses.gridDim.z > 0 then
    return nil, "it uses z of its threads"
  end
  return { down = by_side.y, across = by_side.x }
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

-- Adds a declaration before the loop: to what the block's threads do alike, or to an output's own.
local function add_declaration(found, s)
  local fn, on, own = found.fn, {}, 0
  for _, d in ipairs(s.declared) do
    if d == found.down.d or d == found.across.d or d == found.sum then own = own + 1 end
    if d.shared or d.static or d.unknown_init or d.reference
      or d ~= found.sum and #(effects.of(fn, fn.body).writes[d.name] or {}) > (d.init and 1 or 0)
    then
      return false
    end
    for which in pairs(d.init and operands.depends(found, d.init) or {}) do on[which] = true end
  end
  if own > 0 then return #s.declared == own end
  for _, d in ipairs(s.declared) do found.known[d.name] = next(on) and on or nil end
  table.insert(next(on) and found.each or found.before, s)
  return is_pure(fn, s)
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
    if all.opaque or all["return"] or all.reads[found.loop.variable] and not all.declares[
      found.loop.variable] or statement.holds(s, { ["return"] = true }) then
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

-- The one statement of a loop's body.
local function only(loop)
  local body = statement.listed(loop.body)
  return #body == 1 and body[1].kind == "expression" and body[1] or nil
end

-- The accumulator's declaration, where the loop does nothing but add what is zero for zeros.
local function sum_of(loop)
  local s, list = only(loop), accumulators.list(loop)
  local sum = list[1]
  if not s or #list ~= 1 or sum.op ~= "+" and sum.op ~= "-" then
    return nil, "it does more than to add to one variable"
  end
  local tree = s.tree
  local value = tree.op ~= "=" and tree.b
  if not value or not operands.is_zero(loop.fn.kernel, value) then
    return nil, "what it adds may be other than zero where its operands are zero"
  end
  local d = loop.fn:declaration(sum.name, s.first)
  if not operands.BYTES[d.type] or not d.init or d.init_form ~= "=" then
    return nil, ("'%s' has no first value, or is of another type"):format(sum.name)
  end
  return d, s
end

-- Why a loop's head is none that a tile can go along; nil where it is.
local function head_refusal(found)
  local loop = found.loop
  local is_up = loop.simple and loop.step == 1 and loop.sign == 1 and loop.declares
    and (loop.relation == "<" or loop.relation == "<=") and not loop.conditional
  local is_long = loop.type and not loop.type:find "short" and not loop.type:find "char"
  if not is_up or not is_long or loop.continues then return "it does not count up by one" end
  for _, tree in ipairs { loop.start, loop.bound } do
    if next(operands.depends(found, tree)) then return "its bounds depend on the output" end
    if not is_pure(found.fn, tree) or #effects.of(found.fn, tree).accesses > 0 then
      return "its bounds are loaded"
    end
  end
end

-- Arrays that are stored behind the loop are other memory than its operands.
local function read_around(found)
  local holds, s = add_list(found, found.fn.body.body)
  if not holds then
    local line = found.fn.kernel:line_of((s or found.fn.body).first)
    return nil, ("line %d does more than to say which outputs there are"):format(line)
  elseif #found.guards.down == 0 or #found.guards.across == 0 then
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

--- Returns the contraction whose sum a loop makes; nil and why it is none.
---@param loop table
---@return table? found
---@return string? why
function M.of(loop)
  local fn = loop.fn
  if not fn.is_entry or not is_outermost(loop) then return nil, "it is not a kernel's own loop" end
  if not loop.counted then return nil, "it does not count up by one" end
  local sum, s = sum_of(loop)
  if not sum then return nil, s end
  local outputs, why = M.outputs(fn)
  if not outputs then return nil, why end
  local found = { fn = fn, loop = loop, statement = s, sum = sum, operands = {}, before = {},
    each = {}, after = {}, rest = {}, guards = { down = {}, across = {} },
    down = outputs.down, across = outputs.across, known = {} }
  for _, which in ipairs { "down", "across" } do
    found.known[found[which].name] = { [which] = true }
  end
  for _, ask in ipairs { read_around, function(one)
    local refused = head_refusal(one)
    return not refused, refused
  end, operands.add } do
    local holds, reason = ask(found)
    if not holds then return nil, reason end
  end
  return found
end

return M
