--- depends: does a value depend on which thread computes it, or on how many threads there are?
--
-- Two questions of widen's, asked over the same definitions. A use of a variable sees each value
-- that may reach it.
--
--   share   `for (i = t; i < n; i += blockDim.x) s += a[i];` gives each thread of a wider block
--           fewer iterations: `s` of thread 0 changes. What all threads put into shared memory does
--           not, nor what a function with a barrier returns.
--   thread  the thread's number, and what is made of it outside of such loops.

local carried = require "gilua.facts.carried"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local memory_of = require "gilua.facts.memory_of"
local statement = require "gilua.source.statement"

local M = {}

local LOOPS, holds = statement.LOOPS, statement.spans

local function any_holds(list, token)
  return lists.any(list, function(s) return holds(s, token) end)
end

-- What an expression changes: the name, and the value where it has one.
local function changed(node)
  if node.kind == "assign" then return effects.root_name(node.a), node.b end
  if node.kind == "postfix" or node.op == "++" or node.op == "--" then
    return effects.root_name(node.a)
  end
end

-- All places that give a variable a value: by name, { token, value }. A reference or a pointer
-- gives one to what it leads to, too; where that is unknown, to each array of the function.
local function definitions(fn)
  local list = {}
  local function add(name, token, value)
    if not name then return end
    list[name] = list[name] or {}
    table.insert(list[name], { token = token, value = value })
  end
  local arrays = {}
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      add(d.name, d.token, d.init)
      if #d.extents > 0 then arrays[#arrays + 1] = d.name end
    end
  end
  statement.nodes(fn.statements, function(node)
    local name, value = changed(node)
    add(name, node.first, value)
    local root = name and memory_of.of(fn, name, node.first)
    for _, other in ipairs(name and (root and { root } or arrays) or {}) do
      if other ~= name then add(other, node.first, value) end
    end
  end)
  return list
end

-- May what a definition gives be there at a use? Not where another value replaces it before.
local function reaches(known, name, one, token)
  local fn = known.fn
  local d, from = fn:declaration(name, token), -1
  if d and d.token < token then from = d.token end
  for _, given in ipairs(carried.given(fn, name)) do
    if given.token < token and token <= given.last then from = math.max(from, given.token) end
  end
  if one.token < token then return one.token >= from end
  return lists.any(fn.statements, function(s)
    return LOOPS[s.kind] and holds(s, token) and holds(s, one.token) and not holds(s, from)
  end)
end

local function depends_name(known, name, token)
  local d = known.fn:declaration(name, token)
  if d and d.shared then return false end
  if d and known.fn.addressed[name] and d.pointer == 0 and #d.extents == 0 then return true end
  return lists.any(known.definitions[name] or {}, function(one)
    return known.found[one] and reaches(known, name, one, token)
  end)
end

-- Does a call come back when all threads of the block have told each other something?
local function has_barrier(known, node)
  local name = node.kind == "call" and node.callee.kind == "name" and node.callee.text
  local fn = name and known.fn.kernel.by_name[name]
  for _, s in ipairs(fn and fn.statements or {}) do
    if statement.is_barrier(s) then return true end
  end
  return name and name:find "^__syncthreads_" ~= nil or false
end

local function depends(known, tree)
  local found = false
  expression.walk(tree, function(node)
    if found or has_barrier(known, node) then return false end
    found = node.kind == "name" and (known.names[node.text]
      or depends_name(known, node.text, node.token))
  end)
  return found
end

-- Finds the definitions that depend, beginning with those for which start(one) is true; one for
-- which it is false never does.
local function spread(known, start)
  local more = true
  while more do
    more = false
    for _, list in pairs(known.definitions) do
      for _, one in ipairs(list) do
        local starts = start(one)
        local is_new = not known.found[one] and starts ~= false
          and (starts or one.value and depends(known, one.value))
        if is_new then known.found[one], more = true, true end
      end
    end
  end
end

local function question(fn, names, start)
  local known = { fn = fn, names = names, found = {}, definitions = definitions(fn) }
  spread(known, start)
  local all = effects.of(fn, fn.body)
  local is_unknown = all.opaque or all["goto"] or all.label or false
  return function(tree) return is_unknown or depends(known, tree) end
end

--- Returns a question about a function's expressions: does one depend on a thread's own iterations
--- of loops that threads share? true is also the answer where that is unknown.
---@param loops table[] statements
---@return fun(tree: table): boolean
function M.on_share(fn, loops)
  return question(fn, {}, function(one) return any_holds(loops, one.token) or nil end)
end

--- Returns a question: does an expression depend on the thread's number in its block, or on the
--- block's width, which a macro may be? The variables of shared loops number items: they do not.
--- true is also the answer where that is unknown.
---@param loops table[] statements
---@param macro? string
---@return fun(tree: table): boolean
function M.on_thread(fn, loops, macro)
  local names = { threadIdx = true, blockDim = true }
  if macro then names[macro] = true end
  return question(fn, names, function(one)
    for _, s in ipairs(loops) do
      if holds(s, one.token) and one.token < s.body.first then return false end
    end
  end)
end

return M
