-- widen: blocks of more threads for a kernel whose blocks have an item each, which their threads
-- share in loops:
--
--   for (int i = threadIdx.x; i < n; i += BLOCK) sum[threadIdx.x] += a[i];
--
-- What the kernel calls its block's width, blockDim.x or a macro, grows with the block: the loop
-- has fewer rounds, whose loads wait for each other less. The grid stays. A kernel whose threads
-- count items across blocks would do others.

local affine = require "gilua.source.affine"
local carried = require "gilua.facts.carried"
local depends = require "gilua.facts.depends"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local nothing = require "gilua.facts.nothing"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"

local FACTORS = { 2, 4, 8 }
local LEAST_THREADS, MOST_THREADS = 32, 1024

-- The width that a tree is: a macro's name, or "blockDim.x"; nil of anything else.
local function width_of(fn, tree)
  if not tree then return nil end
  if tree.kind == "cast" then return width_of(fn, tree.a) end
  if tree.kind == "member" and tree.a.kind == "name" and tree.a.text == "blockDim"
    and tree.name == "x" then
    return "blockDim.x"
  end
  local macro = tree.kind == "name" and fn.kernel.macros[tree.text]
  local value = macro and math.tointeger(tonumber(macro.value))
  return value and value >= LEAST_THREADS and tree.text or nil
end

-- The width by which threads go through a loop together, or into as many parts divide what is
-- there.
local function width_in_loops(fn)
  local found
  for _, loop in ipairs(fn.loops) do
    found = found or loop.counted and loop.sign > 0 and width_of(fn, loop.by) or nil
  end
  local function see(node)
    local is_part = not found and node.kind == "binary" and node.op == "/" and #fn.loops > 0
    found = found or is_part and width_of(fn, node.b) or nil
  end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.init then expression.walk(d.init, see) end
    end
  end
  return found
end

local function mentions(words, from, to, name)
  for i = from, to do
    if words[i] == name then return true end
  end
  return false
end

-- Does anything that the kernel may call, or a macro that it uses, have a name?
local function is_hidden(fn, name)
  local kernel = fn.kernel
  for i = fn.open, fn.close do
    for _, inside in ipairs((kernel.macros[kernel.words[i]] or {}).names or {}) do
      if inside == name then return true end
    end
  end
  for _, other in ipairs(kernel.functions) do
    if other ~= fn and other.kind == "device"
      and mentions(kernel.words, other.open, other.close, name) then
      for i = fn.open, fn.close do
        if kernel.words[i] == other.name then return true end
      end
    end
  end
  return false
end

-- Is anywhere a block's number times its width?
local function counts_across_blocks(fn, name)
  local words, found = fn.kernel.words, false
  local function see(node)
    if node.kind ~= "binary" or node.op ~= "*" then return end
    found = found or mentions(words, node.first, node.last, "blockIdx")
      and mentions(words, node.first, node.last, name)
  end
  for _, s in ipairs(fn.statements) do
    for _, tree in ipairs(statement.trees(s)) do expression.walk(tree, see) end
  end
  return found
end

-- Is a thread's number a term of a sum?
local function has_thread(fn, tree)
  if tree.kind == "binary" and (tree.op == "+" or tree.op == "-") then
    return has_thread(fn, tree.a) or has_thread(fn, tree.b)
  end
  return threads.is_thread(fn, tree, "x")
end

local BELOW = { ["<"] = { "a", "b" }, ["<="] = { "a", "b" }, [">"] = { "b", "a" },
  [">="] = { "b", "a" }, ["=="] = { "a", "b" } }

-- Is a number the same whatever the block's width is, which a macro may be?
local function is_fixed(fn, node, macro)
  local is_own = node.kind == "name" and node.text ~= macro
  return affine.integer(node) or is_own and affine.macro(fn.kernel, node.text)
end

-- Does a condition hold for the same threads of a wider block: `t == 0`, `!t`, `t < 32`?
local function keeps_others_out(fn, tree, macro)
  if tree.kind == "unary" and tree.op == "!" then return threads.is_thread(fn, tree.a, "x") end
  if tree.kind ~= "binary" then return false end
  if tree.op == "&&" then
    return keeps_others_out(fn, tree.a, macro) or keeps_others_out(fn, tree.b, macro)
  end
  local sides = BELOW[tree.op]
  return sides and threads.is_thread(fn, tree[sides[1]], "x")
    and is_fixed(fn, tree[sides[2]], macro)
end

-- Is a statement below such a condition?
local function is_guarded(fn, s, macro)
  while s.parent do
    local around = s.parent
    local is_then = around.kind == "if" and around.body == s and around.condition
    if is_then and keeps_others_out(fn, around.condition, macro) then return true end
    s = around
  end
  return false
end

-- Has each thread an element of its own, which more threads do not have? It is at its number, of an
-- array that does not grow with the block, or of all blocks' threads.
local function has_own_element(fn, macro)
  local words, found = fn.kernel.words, false
  local function grows(node)
    local d = node.kind == "name" and fn:declaration(node.text, node.first)
    for _, extent in ipairs(d and macro and d.extents or {}) do
      if extent and mentions(words, extent.first, extent.last, macro) then return true end
    end
    return false
  end
  local function see(node)
    local is_own = node.kind == "index" and has_thread(fn, node.index)
    found = found or is_own and not grows(node.a)
    local is_sum = node.kind == "binary" and node.op == "+" and has_thread(fn, node)
    found = found or is_sum and mentions(words, node.first, node.last, "blockIdx")
  end
  for _, s in ipairs(fn.statements) do
    local strides = s.parent and s.parent.init == s and s.parent.loop
    local is_start = strides and width_of(fn, strides.by)
    local is_asked = not is_start and not is_guarded(fn, s, macro)
    for _, tree in ipairs(is_asked and statement.trees(s) or {}) do
      expression.walk(tree, see)
    end
  end
  return found
end

-- The loops that threads share; nil and why others may not do iterations of one; what has to be
-- promised.
local function shared_loops(fn)
  local list, promise = {}, nil
  for _, loop in ipairs(fn.loops) do
    if loop.counted and width_of(fn, loop.by) then
      if loop.breaks or loop.leaves then
        return nil, ("the loop at line %d is left before its end"):format(loop.line)
      end
      list[#list + 1] = loop.statement
      promise = promise or select(2, carried.of(loop))
    end
  end
  return list, nil, promise
end

-- The loops that begin at a thread's own item.
local function loops_from_thread(fn)
  local list = {}
  for _, loop in ipairs(fn.loops) do
    local is_own, asks = false, depends.on_thread(fn, {})
    for _, tree in ipairs(loop.statement.init and statement.trees(loop.statement.init) or {}) do
      is_own = is_own or asks(tree)
    end
    if is_own then list[#list + 1] = loop.statement end
  end
  return list
end

-- The line in some loops' bodies that asks which thread does the item; nil where none does. A
-- thread's number may say which element of a shared array it uses.
local function differs_at(fn, loops, asks)
  local line
  local function see(node)
    local d = node.kind == "index" and node.a.kind == "name"
      and fn:declaration(node.a.text, node.a.token)
    if d and (d.shared or d.pointer == 0) then return false end
    if node.kind == "name" and asks(node) then line = line or fn.kernel:line_of(node.token) end
  end
  for _, s in ipairs(fn.statements) do
    for _, head in ipairs(loops) do
      local is_inside = head.body.first <= s.first and s.last <= head.body.last
      for _, tree in ipairs(is_inside and statement.trees(s) or {}) do
        expression.walk(tree, see)
      end
    end
  end
  return line
end

-- Why other threads may not do items of the shared loops; nil, and what has to be promised of loops
-- that go by something else than the width.
local function differs(fn, loops, macro)
  local heads = loops_from_thread(fn)
  local asks = depends.on_thread(fn, heads, macro)
  local line = differs_at(fn, loops, asks)
  if line then return ("line %d does an item otherwise for another thread"):format(line) end
  line = differs_at(fn, heads, asks)
  return nil, line
    and ("line %d does the same for an item, however many threads there are"):format(line)
end

-- Does a statement's own part write memory, not a variable?
local function writes_memory(fn, s)
  for _, tree in ipairs(statement.trees(s)) do
    for _, access in ipairs(effects.of(fn, tree).accesses) do
      if access.write then return true end
    end
  end
  return false
end

-- Do only some threads write what each found in its own share of the loops?
local function tells_own_share(fn, loops, macro)
  local is_own = depends.on_share(fn, loops)
  local function asks(s)
    for _, tree in ipairs(statement.trees(s)) do
      if is_own(tree) then return true end
    end
    return false
  end
  for _, s in ipairs(fn.statements) do
    local at, found = s, is_guarded(fn, s, macro) and writes_memory(fn, s) and asks(s)
    while not found and at.parent and is_guarded(fn, at, macro) and writes_memory(fn, s) do
      at = at.parent
      found = at.kind ~= "block" and asks(at)
    end
    if found then return true end
  end
  return false
end

-- Does each thread update memory, whether or not it has a share of the loops?
local function has_own_update(fn, loops, macro)
  return nothing.counted(fn, loops, function(call)
    for _, s in ipairs(fn.statements) do
      local is_of = s.kind == "expression" and s.first <= call.node.first
        and call.node.last <= s.last
      if is_of then return not is_guarded(fn, s, macro) end
    end
    return true
  end) ~= nil
end

local function has_extern(fn)
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.extern then return true end
    end
  end
  return false
end

-- What a kernel calls its block's width, and how many threads that are, where that is known; nil
-- and why the block cannot be wider.
local function plan_of(fn)
  local uses, width = threads.uses(fn), width_in_loops(fn)
  if not width then return nil, "its threads go through no loop together" end
  local name = width:match "^[%w_]+"
  if uses.whole then return nil, ("%s is used as a whole"):format(uses.whole) end
  for _, side in ipairs { "y", "z" } do
    if #uses.threadIdx[side] + #uses.blockDim[side] > 0 then
      return nil, "its threads differ along more than x"
    end
  end
  if effects.of(fn, fn.body).opaque then return nil, "something in it is not understood" end
  if is_hidden(fn, name) then
    return nil, ("what it calls uses %s, too"):format(name)
  end
  if counts_across_blocks(fn, name) or counts_across_blocks(fn, "blockDim") then
    return nil, "its threads count items across blocks"
  end
  local macro = fn.kernel.macros[width] and width
  if has_own_element(fn, macro) then
    return nil, "each of its threads has an element, and more threads have none"
  end
  local loops, why, promise = shared_loops(fn)
  if not loops then return nil, why end
  if has_own_update(fn, loops, macro) then return nil, "each of its threads updates memory once" end
  local unlike, alike = differs(fn, loops, macro)
  if unlike then return nil, unlike end
  if tells_own_share(fn, loops, macro) then
    return nil, "some threads write what each found in its own share of a loop"
  end
  if has_extern(fn) then return nil, "the launch says how much shared memory it has" end
  if (fn.kernel.options.constants or {})[width] then
    return nil, ("%s is a parameter of the problem"):format(width)
  end
  local values = fn.kernel.options.values and fn.kernel.options.values(fn) or {}
  local now = macro and math.tointeger(tonumber(fn.kernel.macros[macro].value))
  local block = values["blockDim.x"]
  if macro and block and block ~= now then
    return nil, ("%s is %d, and its blocks have %d threads"):format(width, now, block)
  end
  return { width = width, promise = promise or alike, macro = macro, now = now or block }
end

local function fits(fn, factor)
  local plan, why = plan_of(fn)
  if not plan then return nil, why end
  if plan.now and plan.now * factor > MOST_THREADS then
    return nil, ("a block has at most %d threads"):format(MOST_THREADS)
  end
  return plan
end

local M = { name = "widen",
  doc = "Blocks of more threads, which go through their loops together in fewer rounds." }

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local is_open = fn.is_entry and fn.body and kernel:is_open(fn.line, fn.last_line)
    for _, factor in ipairs(is_open and FACTORS or {}) do
      if fits(fn, factor) then
        list[#list + 1] = { line = fn.line, args = { tostring(factor) } }
      end
    end
  end
  return list
end

function M.make(kernel, line, args)
  local factor = math.tointeger(tonumber(args[1]))
  if not factor or factor < 2 or factor > 32 or args[2] then
    return nil, "it is written widen<LINE>(TIMES), with 2 to 32 times as many threads"
  end
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line and fn.is_entry and fn.body then
      local plan, why = fits(fn, factor)
      if not plan then return nil, why end
      local e = edit.new(kernel)
      for i = fn.open, plan.macro and fn.close or fn.open - 1 do
        if kernel.words[i] == plan.macro then
          e:replace(i, i, ("(%s * %d)"):format(plan.macro, factor))
        end
      end
      return { edits = e:lines(), promise = plan.promise,
        says = ("blocks of %d times as many threads"):format(factor),
        launch = (plan.macro and ("block.x==%d "):format(plan.now) or "")
          .. ("block.x*%d"):format(factor) }
    end
  end
  return nil, "no kernel begins there"
end

return M
