--- halved: does a loop put together what a block's threads hold, half as many each time?
--
--   for (k = blockDim.x / 2; k > 0; k /= 2) {          for (k = 1; k < n; k *= 2) {
--     if (thread < k) part[thread] += part[thread + k];   if (thread % (2 * k) == 0) …
--     __syncthreads();                                     __syncthreads();
--   }                                                    }
--
-- M.sum says so of one combination in shared memory, M.any of whatever threads below k do. Yes is a
-- table, no is nil and a sentence.

local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local pattern = require "gilua.source.pattern"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"

local M = {}

-- ---- how it counts ------------------------------------------------------------------------------

local function is_name(tree, name) return tree.kind == "name" and tree.text == name end

-- The variable that a loop halves until it is 0.
local function counts_down(s)
  local step = pattern.match(s.step, "$k /= 2", "$k >>= 1", "$k = $k / 2", "$k = $k >> 1")
  local asked = step and pattern.match(s.condition, "$k > 0", "$k >= 1")
  return asked and step.k.kind == "name" and is_name(asked.k, step.k.text) and step.k.text or nil
end

-- The variable that a loop declares as 1 and doubles, and its bound.
local function counts_up(s)
  local step = pattern.match(s.step, "$k *= 2", "$k <<= 1")
  local asked = step and pattern.match(s.condition, "$k < $bound")
  local list = s.init and s.init.kind == "declaration" and s.init.declared or {}
  local fits = asked and #list == 1 and is_name(step.k, list[1].name)
    and is_name(asked.k, list[1].name) and pattern.match(list[1].init, "1")
  if fits then return list[1].name, asked.bound end
end

-- What steers it: k, the condition's thread, and the bound of one that counts up.
local function steered(s, condition)
  local k, bound = counts_down(s), nil
  local found = k and pattern.match(condition, "$t < $k")
  if not k then
    k, bound = counts_up(s)
    found = k and pattern.match(condition, "$t % (2 * $k) == 0", "$t % ($k * 2) == 0")
  end
  if found and is_name(found.k, k) then return k, found.t, bound end
end

-- ---- what it puts together ----------------------------------------------------------------------

local COMBINATIONS = {} -- { example, op or call }
for _, other in ipairs { "$s[$t + $k]", "$s[$k + $t]" } do
  local function add(form, field, word)
    local example = form:gsub("HOW", (word:gsub("%%", "%%%%"))):gsub("OTHER", other)
    table.insert(COMBINATIONS, { example, [field] = word })
  end
  for op in ("+*|&^"):gmatch "." do
    for _, form in ipairs { "$s[$t] HOW= OTHER", "$s[$t] = $s[$t] HOW OTHER",
                            "$s[$t] = OTHER HOW $s[$t]" } do
      add(form, "op", op)
    end
  end
  for call in ("max min fmaxf fminf fmax fmin"):gmatch "%a+" do
    add("$s[$t] = HOW($s[$t], OTHER)", "call", call)
    add("$s[$t] = HOW(OTHER, $s[$t])", "call", call)
  end
end

local function combination(kernel, tree, k, thread)
  for _, how in ipairs(COMBINATIONS) do
    local found = pattern.match(tree, how[1])
    local fits = found and found.s.kind == "name" and is_name(found.k, k)
      and pattern.same(found.t, thread)
      and (not how.call or effects.is_of_cuda(kernel, how.call))
    if fits then return how, found.s.text end
  end
end

--- Returns what a loop puts together in a shared array: { k, thread (a tree), how = { op or call },
--- array, type, bound (of one that counts up), condition }; nil and why it does not.
---@return table?
---@return string? why
function M.sum(loop)
  local fn, s, body = loop.fn, loop.statement, statement.listed(loop.statement.body)
  local why = "it is no tree of a sum in shared memory"
  local asks = s.kind == "for" and #body == 2 and body[1].kind == "if" and not body[1].otherwise
    and statement.is_barrier(body[2]) and body[1]
  local inner = asks and statement.listed(asks.body) or {}
  if #inner ~= 1 or inner[1].kind ~= "expression" then return nil, why end
  local k, thread, bound = steered(s, asks.condition)
  local how, array = nil, nil
  if thread then how, array = combination(fn.kernel, inner[1].tree, k, thread) end
  local d = how and threads.is_thread(fn, thread) and fn:declaration(array, s.first)
  local type = d and d.shared and types.of(fn, inner[1].tree.a)
  if not type then return nil, why end
  return { k = k, thread = thread, how = how, type = type, array = array, bound = bound,
           condition = asks.condition, element = inner[1].tree.a }
end

-- ---- whether the other elements are asked for ---------------------------------------------------

-- Is a statement an `if` by which the first thread goes on alone?
local function is_of_first(s, thread)
  local found = s.kind == "if" and pattern.match(s.condition, "$t == 0", "0 == $t", "!$t")
  return found and pattern.same(found.t, thread) or false
end

-- What a statement does first with elements of the array besides the first one: "reads" them,
-- "writes" each thread's (`element = …`); nil of neither.
local function first_use(fn, s, sum)
  local is_first = is_of_first(s, sum.thread)
  for _, access in ipairs(effects.of(fn, s).accesses) do
    local index = access.indices and access.indices[1]
    local is_sum = index and (pattern.match(index, "0")
      or is_first and pattern.same(index, sum.thread))
    if access.read and not is_sum and apart.may_touch(fn, access, sum.array) then return "reads" end
  end
  local given = s.kind == "expression" and pattern.match(s.tree, "$element = $x")
  return given and pattern.same(given.element, sum.element) and "writes" or nil
end

-- The first use in a list from a place on.
local function use_in(fn, list, from, sum)
  for i = from, #list do
    local use = first_use(fn, list[i], sum)
    if use then return use end
  end
end

--- Is only the first element asked for behind a loop, before each thread gives its own another
--- value? true; nil and the sentence.
---@param sum table of M.sum
function M.is_all(loop, sum)
  local at, use = loop.statement, nil
  while at.parent and not use do
    local around = at.parent
    if around.kind == "block" then
      local i = 1
      while around.body[i] ~= at do i = i + 1 end
      use = use_in(loop.fn, around.body, i + 1, sum)
    end
    if around.loop then use = use or use_in(loop.fn, statement.listed(around.body), 1, sum) end
    at = around
  end
  if use ~= "reads" then return true end
  return nil, ("other elements of %s than the first are read behind it"):format(sum.array)
end

-- ---- whatever it halves -------------------------------------------------------------------------

-- Returns the thread of an `if` of those below k; false for a barrier behind another statement; nil
-- for any other.
local function asked_thread(fn, list, i, k)
  local s = list[i]
  if statement.is_barrier(s) then
    if statement.is_barrier(list[i - 1]) then return nil end
    return false
  end
  local found = s.kind == "if" and not s.otherwise and pattern.match(s.condition, "$t < $k")
  local inner = found and effects.of(fn, s.body)
  local fits = inner and is_name(found.k, k) and threads.is_thread(fn, found.t)
    and not inner.barrier and not inner.warp and not inner.writes[k]
  return fits and found.t or nil
end

-- Is a name that a loop counts by asked for elsewhere?
local function is_used_elsewhere(fn, s, k)
  for _, token in ipairs(effects.of(fn, fn.body).reads[k] or {}) do
    local is_inside = s.first <= token and token <= s.last
    if not is_inside and fn:declaration(k, token) == fn:declaration(k, s.body.first) then
      return true
    end
  end
  return false
end

--- Returns what a loop halves each of whose statements is a barrier, the last one too, or asks
--- `thread < k`: { k, thread (a tree), body (its statements) }; nil and why it is none.
---@return table?
---@return string? why
function M.any(loop)
  local fn, s, body, thread = loop.fn, loop.statement, statement.listed(loop.statement.body), nil
  local k = s.kind == "for" and counts_down(s)
  local fits = k and statement.is_barrier(body[#body]) and not loop.inside.opaque
    and not loop.breaks and not loop.leaves and not loop.conditional
  for i = 1, fits and #body or 0 do
    local asked = asked_thread(fn, body, i, k)
    fits, thread = fits and asked ~= nil, thread or asked
  end
  if not fits or not thread then
    return nil, "it is no loop that halves what threads do, with a barrier each time"
  elseif is_used_elsewhere(fn, s, k) then
    return nil, ("'%s' is used elsewhere, where it would be another"):format(k)
  end
  return { k = k, thread = thread, body = body }
end

return M
