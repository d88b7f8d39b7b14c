--- online: does a loop keep the state of an online softmax: the greatest score so far, the sum of
-- the weights, and sums of values by these weights?
--
--   float m = fmaxf(largest, s);
--   float keep = expf(largest - m), w = expf(s - m);
--   sum = sum * keep + w;
--   for (int d = 0; d < 64; d++) out[d] = out[d] * keep + w * v[j * 64 + d];
--   largest = m;
--
-- Such states can be put together in any order (Milakov and Gimelshein, "Online normalizer
-- calculation for softmax", 2018): of two, each is scaled to the greater score, then they are
-- added. So the loop's iterations may be shared, and several may be scaled once.
--
-- Yes is { largest, sum, out, weight (names), type, extreme and exp (the functions), score (tree),
-- before (the statements that make the score), values (the loop over out), value (its tree), depth
-- (how long out is) }. No is nil and why.

local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"
local sides = require "gilua.facts.sides"

local M = {}

local EXTREME, EXP = settings.set "fmaxf fmax max", settings.set "expf exp __expf exp2f"
local TYPES = settings.set "float double"

local function is_name(node, name)
  return node ~= nil and node.kind == "name" and node.text == name
end

local function is_binary(node, op)
  return node ~= nil and node.kind == "binary" and node.op == op
end

-- A call of one of CUDA's functions: its name.
local function called(fn, node, names)
  local name = node and node.kind == "call" and node.callee.kind == "name" and node.callee.text
  return name and names[name] and effects.is_of_cuda(fn.kernel, name) and name or nil
end

-- Returns a binary operation's two operands, with the one that is_first() accepts in front.
local function sorted(node, op, is_first)
  if not is_binary(node, op) then return nil end
  if is_first(node.a) then return node.a, node.b end
  if is_first(node.b) then return node.b, node.a end
end

-- ---- the parts of the state --------------------------------------------------------------------

-- `m = fmaxf(largest, s)`, declared in the body.
local function find_extreme(fn, loop, d)
  local name = called(fn, d.init, EXTREME)
  if not name or #d.init.args ~= 2 then return nil end
  for i = 1, 2 do
    local one = d.init.args[i]
    local is_carried = one.kind == "name" and not loop.inside.declares[one.text]
      and loop.inside.writes[one.text]
    if is_carried then
      return { largest = one.text, extreme = name, next = d.name, score = d.init.args[3 - i] }
    end
  end
end

-- `exp(a - m)` with the new greatest m: its function and a.
local function scaled(fn, state, d)
  local name = called(fn, d.init, EXP)
  local of = name and #d.init.args == 1 and d.init.args[1]
  if of and is_binary(of, "-") and is_name(of.b, state.next) then return name, of.a end
end

-- What a declared name is to the state.
local function take_declared(fn, loop, state, d)
  if not state.next then
    for key, value in pairs(find_extreme(fn, loop, d) or {}) do state[key] = value end
    return state.next ~= nil
  end
  local name, of = scaled(fn, state, d)
  if not name or state.exp and state.exp ~= name or state.is_kept then return false end
  state.exp = name
  if is_name(of, state.largest) and not state.keep then
    state.keep = d.name
  elseif fn.kernel:plain(of) == fn.kernel:plain(state.score) and not state.weight then
    state.weight = d.name
  else
    return false
  end
  return true
end

-- `a = a * keep + more`, in any order: more.
local function updated(state, tree, is_it)
  if not tree or tree.kind ~= "assign" or tree.op ~= "=" or not is_it(tree.a) then return nil end
  local function is_kept(node)
    local _, keep = sorted(node, "*", is_it)
    return is_name(keep, state.keep)
  end
  local _, more = sorted(tree.b, "+", is_kept)
  return more
end

local function take_assigned(loop, state, tree)
  if is_name(tree.a, state.largest) then
    local is_last = tree.op == "=" and is_name(tree.b, state.next) and not state.is_kept
    state.is_kept = is_last
    return is_last
  end
  local name = tree.a.kind == "name" and not loop.inside.declares[tree.a.text] and tree.a.text
  if not name or state.sum then return false end
  local more = updated(state, tree, function(node) return is_name(node, name) end)
  state.sum = is_name(more, state.weight) and name or nil
  return state.sum ~= nil
end

-- The one statement of a loop's body.
local function only(body)
  if body.kind == "block" then return #body.body == 1 and body.body[1] or nil end
  return body
end

-- `for (d …) out[d] = out[d] * keep + w * value;`
local function take_values(fn, state, s)
  local inner, one = s.loop, s.body and only(s.body)
  local from = inner and inner.counted and inner.start and sides.value(fn, inner.start)
  local to = from == 0 and inner.simple and inner.step == 1 and inner.relation == "<"
    and sides.value(fn, inner.bound)
  local tree = one and one.kind == "expression" and one.tree
  local target = tree and tree.kind == "assign" and tree.a
  local fits = to and target and target.kind == "index" and target.a.kind == "name"
    and is_name(target.index, inner.variable) and not state.values
  if not fits then return false end
  local text = fn.kernel:plain(target)
  local more = updated(state, tree, function(node) return fn.kernel:plain(node) == text end)
  local _, value = sorted(more, "*", function(node) return is_name(node, state.weight) end)
  state.values, state.out, state.value, state.depth = inner, target.a.text, value, to
  return value ~= nil
end

-- ---- the whole ---------------------------------------------------------------------------------

-- Does a statement belong to the state? Nil: it is before it, and may make the score.
local function take(fn, loop, state, s)
  if s.kind == "declaration" then
    local taken = lists.any(s.declared, function(d) return take_declared(fn, loop, state, d) end)
    if not state.next then return nil end
    for _, d in ipairs(taken and s.declared or {}) do
      local is_ours = d.name == state.next or d.name == state.keep or d.name == state.weight
        or take_declared(fn, loop, state, d)
      if not is_ours then return false end
    end
    return taken
  end
  if not state.next then return nil end
  if s.kind == "expression" and s.tree.kind == "assign" then
    return take_assigned(loop, state, s.tree)
  end
  return s.kind == "for" and take_values(fn, state, s)
end

local function declared(fn, loop, name)
  local d = name and fn:declaration(name, loop.statement.first)
  local is_own = d and not d.parameter and not d.shared and not d.reference and d.pointer == 0
    and not fn.addressed[name]
  return is_own and d or nil
end

-- Why the names are not those of a thread's own numbers of one type.
local function refused(fn, loop, state)
  local largest, sum = declared(fn, loop, state.largest), declared(fn, loop, state.sum)
  local out = declared(fn, loop, state.out)
  local extent = out and #out.extents == 1 and sides.value(fn, out.extents[1])
  if not (largest and sum and extent == state.depth and TYPES[largest.type]
    and #largest.extents == 0 and #sum.extents == 0 and sum.type == largest.type
    and out.type == largest.type) then
    return "its state is not in variables of the thread"
  end
  state.type = largest.type
  local own = settings.set(("%s %s %s %s %s %s"):format(state.largest, state.sum, state.out,
    state.next, state.keep, state.weight))
  for _, part in ipairs { state.value, table.unpack(state.before) } do
    local all = effects.of(fn, part)
    for name in pairs(all.reads) do
      if own[name] then return "a score or a value asks for the state" end
    end
    for name in pairs(all.writes) do
      if not loop.inside.declares[name] then return ("it changes '%s' besides"):format(name) end
    end
  end
end

--- Returns the state that a loop keeps; nil and why it keeps none.
---@param loop table of gilua.facts.loop
---@return table?
---@return string? why
function M.of(loop)
  local fn, state = loop.fn, { before = {} }
  if not loop.simple or not loop.declares or loop.continues or loop.conditional
    or loop.body.kind ~= "block" then
    return nil, "it does not go through all its iterations"
  end
  for _, s in ipairs(loop.body.body) do
    local is_pragma = s.kind == "directive" and s.name == "pragma"
    local is_taken = is_pragma or take(fn, loop, state, s)
    if is_taken == false then
      return nil, ("line %d is no part of an online softmax"):format(fn.kernel:line_of(s.first))
    elseif is_taken == nil then
      table.insert(state.before, s)
    end
  end
  if not (state.keep and state.weight and state.sum and state.values and state.is_kept) then
    return nil, "it keeps no greatest, sum and sums of values by weight"
  end
  local why = refused(fn, loop, state)
  if why then return nil, why end
  return state
end

return M
