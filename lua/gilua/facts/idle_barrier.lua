--- idle_barrier: does a barrier part nothing, so that it may go?
--
--   low[t] = least;          low[t] = least;
--   __syncthreads();         high[t] = most;
--   high[t] = most;          __syncthreads();
--   __syncthreads();
--
-- Yes where what threads do before it and behind it, up to the next ones, is done to different
-- elements, or by each thread to its own. An element is a thread's own where its indices are the
-- same words before and behind, depend on the thread, and are not loaded; that no two threads have
-- the same is what the checked run sees. Of what is loaded other data may give two threads one.

local affine = require "gilua.source.affine"
local apart = require "gilua.facts.apart"
local effects = require "gilua.facts.effects"
local lists = require "gilua.base.lists"
local loaded = require "gilua.facts.loaded"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"

local M = {}

-- ---- accesses ---------------------------------------------------------------------------------

-- The text of `thread == 0`, where a statement is below such an `if`, so that one thread does it.
local function lone_thread(fn, s)
  local condition = statement.below(s, function(c)
    return c.kind == "binary" and c.op == "==" and c.b.kind == "number"
      and threads.is_thread(fn, c.a, "x")
  end)
  return condition and fn.kernel:plain(condition)
end

-- The names of variables that differ between threads: those that come from threadIdx, and what is
-- computed of them or of memory.
local function varying(fn)
  if fn.per_thread then return fn.per_thread end
  local names, more = { threadIdx = true }, true
  while more do
    more = false
    for _, s in ipairs(fn.statements) do
      for _, d in ipairs(s.declared or {}) do
        for name in pairs(d.init and not names[d.name] and effects.of(fn, d.init).reads or {}) do
          if names[name] then names[d.name], more = true, true end
        end
      end
    end
  end
  fn.per_thread = names
  return names
end

-- What a statement does to memory that several threads see: { root, indices, write, lone }. Shared
-- variables that are no arrays are elements without an index. nil where something is not known.
local function accesses_of(fn, s, list)
  local all = effects.of(fn, s)
  if all.opaque or all.warp then return nil end
  for _, access in ipairs(all.accesses) do
    if not access.root then return nil end
    if not threads.is_local(fn, access) and not access.atomic then
      list[#list + 1] = { root = access.root, indices = access.indices, write = access.write,
        at = s, node = access.node, token = access.token }
    elseif access.atomic then
      list[#list + 1] = { root = access.root, write = true, at = s }
    end
  end
  for _, named in ipairs { all.reads, all.writes } do
    for name, tokens in pairs(named) do
      local d = fn:declaration(name, tokens[1])
      if d and d.shared and #d.extents == 0 then
        list[#list + 1] = { root = name, indices = {}, write = named == all.writes, at = s }
      end
    end
  end
  return list
end

-- The statement of a list or below that holds a token, the innermost.
local function innermost(fn, token)
  local found
  for _, s in ipairs(fn.statements) do
    if token and s.first <= token and token <= s.last then found = s end
  end
  return found
end

-- The names that are never below 0: threads' own numbers, and loops' variables that begin there.
local function counts(fn)
  if fn.never_below_zero then return fn.never_below_zero end
  local names, by_loop = {}, {}
  for _, loop in ipairs(fn.loops) do
    local start = loop.counted and loop.declares and affine.integer(loop.start)
    local fits = start and start >= 0 and loop.sign > 0 and not loop.writes_variable
    local d = fits and fn:declaration(loop.variable, loop.body.first)
    if d then by_loop[d] = true end
  end
  for name, list in pairs(fn.variables) do -- all that are called so
    local fits = true
    for _, d in ipairs(list) do
      local tree = { kind = "name", text = name, first = d.token }
      fits = fits and (by_loop[d] or threads.is_thread(fn, tree, "x")
        or threads.is_thread(fn, tree, "y")) and true or false
    end
    names[name] = fits or nil
  end
  fn.never_below_zero = names
  return names
end

-- Is a form so much or more for every thread? A sum of what threads count with, and constants.
local function is_at_least(form, least, fn)
  local rest = form[""] or 0
  for monomial, n in pairs(form) do
    if monomial ~= "" then
      local is_count = monomial:find "^[%w_]+$" and n > 0 and counts(fn)[monomial]
      if not is_count and not monomial:find "^threadIdx%.[xyz]$" then return false end
      if n < 0 then return false end
    end
  end
  return rest >= least
end

-- Are two elements never the same, whichever threads they are of? In some dimension one index is a
-- number, and the other always more.
local function never_meet(fn, a, b)
  if not a.indices or not b.indices or #a.indices ~= #b.indices then return false end
  for i = 1, #a.indices do
    local one = affine.form(fn.kernel, a.indices[i])
    local other = affine.form(fn.kernel, b.indices[i])
    for _, pair in ipairs(one and other and { { one, other }, { other, one } } or {}) do
      local number = next(pair[1]) == nil and 0
        or next(pair[1], next(pair[1])) == nil and pair[1][""]
      if number and is_at_least(pair[2], number + 1, fn) then return true end
    end
  end
  return false
end

-- Is a name a loop's variable, which stands for several elements?
local function is_counted(fn, name, token)
  local d = fn:declaration(name, token)
  local writes = effects.of(fn, fn.body).writes[name]
  local list = lists.filter(writes or {}, function(at) return fn:declaration(name, at) == d end)
  return d ~= nil and not d.parameter and #list > 1
end

-- Are two elements a thread's own, the same words that depend on the thread?
local function is_own(fn, a, b)
  if not a.indices or not b.indices or #a.indices ~= #b.indices or #a.indices == 0 then
    return false
  end
  local depends = false
  for i = 1, #a.indices do
    if fn.kernel:plain(a.indices[i]) ~= fn.kernel:plain(b.indices[i])
      or loaded.of(fn, a.indices[i], loaded.names(fn)) then
      return false
    end
    for name, tokens in pairs(effects.of(fn, a.indices[i]).reads) do
      depends = depends or varying(fn)[name] or false
      local other = effects.of(fn, b.indices[i]).reads[name]
      if not other or fn:declaration(name, tokens[1]) ~= fn:declaration(name, other[1])
        or is_counted(fn, name, tokens[1]) then
        return false
      end
    end
  end
  return depends
end

local function conflict(fn, a, b)
  if not (a.write or b.write) or apart.promised(fn, a, b) then return false end
  local one, other = innermost(fn, a.token) or a.at, innermost(fn, b.token) or b.at
  local lone = lone_thread(fn, one)
  if lone and lone == lone_thread(fn, other) then return false end
  return not never_meet(fn, a, b) and not is_own(fn, a, b)
end

-- ---- what runs before and behind a barrier, up to others --------------------------------------

local LOOPS = statement.LOOPS

local function place_in(list, s)
  for i, other in ipairs(list) do
    if other == s then return i end
  end
end

-- Walks from a place of a list in a direction until a barrier that is not gone; what it passes goes
-- into `out`. true where one was met; nil where something is not known.
local function walk(state, list, from, step, out)
  local i = from
  while list[i] do
    local s = list[i]
    if statement.is_barrier(s) then
      if not state.gone[s] and s ~= state.at then return true end
    elseif s.kind ~= "directive" and not accesses_of(state.fn, s, out) then
      return nil
    end
    i = i + step
  end
  return false
end

-- Is a function called at one place of a kernel each, in no loop, by kernels that touch no memory
-- besides? Then nothing comes before it or behind it.
local function is_all(fn)
  for _, other in ipairs(fn.kernel.functions) do
    local calls = 0
    local all = other ~= fn and other.body and effects.of(other, other.body)
    for _, call in ipairs(all and all.calls or {}) do
      calls = calls + (call.name == fn.name and 1 or 0)
    end
    if calls > 1 or calls == 1 and (other.kind ~= "kernel" or #other.loops > 0) then
      return false
    end
    for _, s in ipairs(calls == 1 and other.body.body or {}) do
      local own = effects.of(other, s)
      local is_call = #own.calls == 1 and own.calls[1].name == fn.name
      if not is_call and (#own.accesses > 0 or own.opaque) then return false end
    end
  end
  return true
end

-- The same, and on through what stands around the list.
local function collect(state, list, from, step, out, owner)
  local met = walk(state, list, from, step, out)
  if met ~= false then return met end
  if owner.parent == nil then -- the function: it may be called again
    if state.fn.kind == "kernel" or is_all(state.fn) then return true end
    return walk(state, list, step > 0 and 1 or #list, step, out)
  end
  local s = owner.parent
  if owner.kind ~= "block" then s = owner end
  if LOOPS[s.kind] then
    if walk(state, list, step > 0 and 1 or #list, step, out) == nil then return nil end
    for _, tree in ipairs { s.condition or false, s.step or false } do
      if tree and not accesses_of(state.fn, tree, out) then return nil end
    end
  end
  while s.parent and s.parent.kind ~= "block" do
    if LOOPS[s.parent.kind] then return nil end
    s = s.parent
  end
  if not s.parent then return nil end
  return collect(state, s.parent.body, place_in(s.parent.body, s) + step, step, out, s.parent)
end

-- Does a barrier part nothing, where some are gone already?
local function is_idle(state, s)
  local list = s.parent and s.parent.kind == "block" and s.parent.body
  if not list then return false end
  local before, behind, at = {}, {}, place_in(list, s)
  state.at = s
  if collect(state, list, at - 1, -1, before, s.parent) == nil
    or collect(state, list, at + 1, 1, behind, s.parent) == nil then
    return false
  end
  for _, a in ipairs(before) do
    for _, b in ipairs(behind) do
      if conflict(state.fn, a, b) then return false end
    end
  end
  return true
end

--- Returns the barriers of a function that part nothing, in their order: all of them may go at
--- once; nil where there is none.
---@return table[]?
function M.of(fn)
  local state, list = { fn = fn, gone = {} }, {}
  if not fn.body or effects.of(fn, fn.body).opaque or effects.of(fn, fn.body).conditional then
    return nil
  end
  for _, s in ipairs(fn.statements) do
    if statement.is_barrier(s) and is_idle(state, s) then
      state.gone[s] = true
      list[#list + 1] = s
    end
  end
  return #list > 0 and list or nil
end

return M
