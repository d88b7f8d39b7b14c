--- warps: what a block does together, done by a warp where that is enough.
--
--   tree  a sum (or product, least, greatest) of a shared array, halved with a barrier each time:
--         the last 32 are added by shuffles, with one barrier
--
--     for (k = blockDim.x / 2; k > 0; k /= 2) {
--       if (thread < k) part[thread] += part[thread + k];
--       __syncthreads();
--     }
--
-- With `warp` whatever a loop halves so is done by the first warp from 32 on, which waits for
-- itself: the least and where it is, two sums in turn.
--
-- One that begins with neighbours, `for (k = 1; k < n; k *= 2) if (thread % (2 * k) == 0) …`,
-- first becomes one that ends with them. That is right in blocks of whole warps along x, where the
-- loop comes to 16, for the latter of a power of two: others have the loop as it was.

local apart = require "gilua.facts.apart"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"
local uniform = require "gilua.facts.uniform"

local function is_name(node, name) return node and node.kind == "name" and node.text == name end

local function is_number(node, text) return node and node.kind == "number" and node.text == text end

-- The variable that a step halves.
local function halved(step)
  if not step or step.kind ~= "assign" or step.a.kind ~= "name" then return nil end
  local k, b = step.a.text, step.b
  if step.op == ">>=" and is_number(b, "1") or step.op == "/=" and is_number(b, "2") then
    return k
  end
  local from = step.op == "=" and b.kind == "binary" and is_name(b.a, k) and b
  if from and (from.op == ">>" and is_number(from.b, "1")
    or from.op == "/" and is_number(from.b, "2")) then
    return k
  end
end

local function goes_to_one(condition, k)
  if not condition or condition.kind ~= "binary" or not is_name(condition.a, k) then
    return false
  end
  return condition.op == ">" and is_number(condition.b, "0")
    or condition.op == ">=" and is_number(condition.b, "1")
end

-- The statements of a block or the one that stands without.
local function listed(s)
  return s.kind == "block" and s.body or { s }
end

local COMBINED = { ["+="] = "+", ["*="] = "*", ["|="] = "|", ["&="] = "&", ["^="] = "^" }
local CALLED = { max = true, min = true, fmaxf = true, fminf = true, fmax = true, fmin = true }

-- What puts two together: part[t] += part[t + k], part[t] = fmaxf(part[t], part[t + k]).
local function combination(kernel, tree)
  if tree.kind ~= "assign" or tree.a.kind ~= "index" or tree.a.a.kind ~= "name" then return nil end
  local target = kernel:plain(tree.a)
  if COMBINED[tree.op] then return { op = COMBINED[tree.op], target = tree.a, other = tree.b } end
  local b = tree.b
  if tree.op ~= "=" then return nil end
  local one, two, how
  if b.kind == "binary" and COMBINED[b.op .. "="] then
    one, two, how = b.a, b.b, { op = b.op }
  elseif b.kind == "call" and b.callee.kind == "name" and CALLED[b.callee.text]
    and #b.args == 2 then
    one, two, how = b.args[1], b.args[2], { call = b.callee.text }
  else
    return nil
  end
  if kernel:plain(two) == target then one, two = two, one end
  if kernel:plain(one) ~= target then return nil end
  how.target, how.other = tree.a, two
  return how
end

-- Is `other` the element k behind the target's?
local function is_behind(kernel, how, k)
  local other = how.other
  if other.kind ~= "index" or not is_name(other.a, how.target.a.text) then return false end
  local index, at = other.index, kernel:plain(how.target.index)
  return index.kind == "binary" and index.op == "+"
    and (kernel:plain(index.a) == at and is_name(index.b, k)
      or is_name(index.a, k) and kernel:plain(index.b) == at)
end

-- The variable that a step doubles.
local function doubled(step)
  if not step or step.kind ~= "assign" or step.a.kind ~= "name" then return nil end
  local fits = step.op == "*=" and is_number(step.b, "2")
    or step.op == "<<=" and is_number(step.b, "1")
  return fits and step.a.text or nil
end

-- The bound of `k < bound`, where k begins with 1 and is declared there.
local function from_one(s, k)
  local d = s.init and s.init.kind == "declaration" and s.init.declared[1]
  local condition = s.condition
  local fits = d and d.name == k and is_number(d.init, "1") and #s.init.declared == 1
    and condition and condition.kind == "binary" and condition.op == "<"
    and is_name(condition.a, k)
  return fits and condition.b or nil
end

-- t of `t % (2 * k) == 0`.
local function of_even(condition, k)
  local remainder = condition and condition.kind == "binary" and condition.op == "=="
    and is_number(condition.b, "0") and condition.a
  local of = remainder and remainder.kind == "binary" and remainder.op == "%" and remainder.b
  local fits = of and of.kind == "binary" and of.op == "*"
    and (is_number(of.a, "2") and is_name(of.b, k) or is_name(of.a, k) and is_number(of.b, "2"))
  return fits and remainder.a or nil
end

-- What steers the tree: k, the condition's thread, and the bound of one that goes up.
local function steered(s, condition)
  local k = halved(s.step)
  if k and goes_to_one(s.condition, k) then
    local thread = condition and condition.kind == "binary" and condition.op == "<"
      and is_name(condition.b, k) and condition.a
    return k, thread or nil
  end
  k = doubled(s.step)
  local bound = k and from_one(s, k)
  return k, bound and of_even(condition, k), bound
end

-- Is a statement an `if` by which the first thread goes on alone?
local function is_of_first(kernel, s, thread)
  local text = s.kind == "if" and s.condition and kernel:plain(s.condition)
  return text == thread .. " == 0" or text == "0 == " .. thread or text == "!" .. thread
end

-- What a statement does first with elements of an array besides the first one: "reads" them,
-- "writes" each thread's (`element = …`); nil of neither.
local function first_use(fn, s, array, element, thread)
  local is_first = is_of_first(fn.kernel, s, thread)
  for _, access in ipairs(effects.of(fn, s).accesses) do
    local index = access.indices and access.indices[1]
    local is_sum = index and (is_number(index, "0")
      or is_first and fn.kernel:plain(index) == thread)
    if access.read and not is_sum and apart.may_touch(fn, access, array) then return "reads" end
  end
  local tree = s.kind == "expression" and s.tree
  return tree and tree.kind == "assign" and tree.op == "=" and fn.kernel:plain(tree.a) == element
    and "writes" or nil
end

-- May anything ask for an element besides the first one behind a statement, before each thread has
-- given its own another value?
local function asks_for_others(fn, s, array, element, thread)
  local at, use = s, nil
  local function see(list, from)
    for i = from, #list do
      use = use or first_use(fn, list[i], array, element, thread)
    end
  end
  while at.parent and not use do
    local around = at.parent
    if around.kind == "block" then
      local i = 1
      while around.body[i] ~= at do i = i + 1 end
      see(around.body, i + 1)
    end
    if around.loop then see(listed(around.body), 1) end
    at = around
  end
  return use == "reads"
end

-- A tree of a reduction: { k, thread, how, type, bound }; nil and why.
local function reduction(loop)
  local fn, s = loop.fn, loop.statement
  local kernel, body, why = fn.kernel, listed(s.body), "it is no tree of a sum in shared memory"
  if s.kind ~= "for" or #body ~= 2 or body[1].kind ~= "if" or body[1].otherwise
    or not statement.is_barrier(body[2]) then
    return nil, why
  end
  local inner = listed(body[1].body)
  local k, thread, bound = steered(s, body[1].condition)
  local how = thread and #inner == 1 and inner[1].kind == "expression"
    and combination(kernel, inner[1].tree)
  if not how or not threads.is_thread(fn, thread)
    or kernel:plain(how.target.index) ~= kernel:plain(thread) or not is_behind(kernel, how, k) then
    return nil, why
  end
  local d = fn:declaration(how.target.a.text, s.first)
  local type = types.of(fn, how.target)
  if not d or not d.shared or not type then return nil, why end
  if not uniform.is_reached(fn, s) then return nil, "not all threads may come to it" end
  local element = kernel:plain(how.target)
  if asks_for_others(fn, s, d.name, element, kernel:plain(thread)) then
    return nil, ("behind it elements of %s besides the first are asked for"):format(d.name)
  end
  return { k = k, thread = kernel:plain(thread), how = how, type = type, array = d.name,
           bound = bound, condition = body[1].condition }
end

local function combined(how, a, b)
  if how.call then return ("%s = %s(%s, %s);"):format(a, how.call, a, b) end
  return ("%s %s= %s;"):format(a, how.op, b)
end

-- The lines that put the last 32 together.
local function lane_lines(kernel, r)
  local value, step = kernel:fresh("lane_value"), kernel:fresh("lanes")
  local element = ("%s[%s]"):format(r.array, r.thread)
  return table.concat({
    ("if (%s < 32) {"):format(r.thread),
    ("    %s %s = %s;"):format(r.type, value, element),
    ("    for (int %s = 16; %s > 0; %s /= 2)"):format(step, step, step),
    "        " .. combined(r.how, value,
      ("__shfl_down_sync(0xffffffffu, %s, %s)"):format(value, step)),
    ("    if (%s == 0) %s = %s;"):format(r.thread, element, value),
    "}",
    "__syncthreads();",
  }, "\n")
end

local function deeper(text) return "    " .. text:gsub("\n", "\n    ") end

-- A source's text as it would stand at the beginning of its lines.
local function outdented(kernel, s, ...)
  return (kernel:source(...):gsub("\n" .. kernel:indent(s.first), "\n"))
end

local WHOLE_WARPS = "blockDim.x % 32 == 0"

-- A loop that halves goes on to 32; where 16 then comes, of whole warps, lanes do the rest.
local function halved_lines(kernel, s, r)
  local head = kernel:source(s.header[3], s.header[4])
  local body = outdented(kernel, s, s.header[4] + 1, s.last)
  return { s.init and kernel:source(s.init.first, s.init.last) or false,
    ("for (; %s >= 32%s %s"):format(r.k, head, body),
    ("if (%s == 16 && %s) {"):format(r.k, WHOLE_WARPS), deeper(lane_lines(kernel, r)), "} else {",
    ("    for (; %s%s %s"):format(kernel:plain(s.condition), head, deeper(body):sub(5)), "}" }
end

-- One that begins with neighbours is turned around, where as many as the block has threads are a
-- power of two.
local function turned_lines(kernel, s, r)
  local bound = kernel:plain(r.bound)
  if r.bound.kind == "binary" and not r.bound.parens then bound = "(" .. bound .. ")" end
  local begin = s.init.declared[1].init
  local init = kernel:source(s.init.first, s.init.last,
    { [begin.first] = { bound .. " / 2", begin.last } })
  local body = outdented(kernel, s, s.header[4] + 1, s.last,
    { [r.condition.first] = { ("%s < %s"):format(r.thread, r.k), r.condition.last } })
  local is_power = ("%s == blockDim.x && (%s & (%s - 1)) == 0"):format(bound, bound, bound)
  return { false, ("if (%s && %s) {"):format(WHOLE_WARPS, is_power),
    deeper(("for (%s %s >= 32; %s /= 2) %s"):format(init, r.k, r.k, body)),
    deeper(lane_lines(kernel, r)), "} else {", deeper(outdented(kernel, s, s.first, s.last)), "}" }
end

local function shuffled(loop, r)
  local kernel, s, e = loop.fn.kernel, loop.statement, edit.new(loop.fn.kernel)
  local indent = kernel:indent(s.first)
  local lines = (r.bound and turned_lines or halved_lines)(kernel, s, r)
  local text = table.concat(lines, "\n", lines[1] and 1 or 2)
  if lines[1] then text = "{\n" .. deeper(text) .. "\n}" end
  for _, pragma in ipairs(loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
  e:replace(s.first, s.last, (text:gsub("\n", "\n" .. indent)))
  return e:lines()
end

-- The halved variable and the thread of a loop each of whose statements is a barrier, the last one
-- too, or asks `thread < halved`; nil and why.
local function halving(loop)
  local fn, s = loop.fn, loop.statement
  local body, thread = listed(s.body), nil
  local k = s.kind == "for" and halved(s.step)
  local why = "it is no loop that halves what threads do, with a barrier each time"
  if not k or not goes_to_one(s.condition, k) or not statement.is_barrier(body[#body]) then
    return nil, why
  end
  for i, one in ipairs(body) do
    local c = one.kind == "if" and not one.otherwise and one.condition
    local is_fine = statement.is_barrier(one) or c and c.kind == "binary" and c.op == "<"
      and is_name(c.b, k) and threads.is_thread(fn, c.a)
    if not is_fine or loop.inside.opaque or loop.breaks or loop.leaves or loop.conditional then
      return nil, why
    end
    if c then
      local inner = effects.of(fn, one.body)
      if inner.barrier or inner.warp or inner.writes[k] then return nil, why end
      thread = thread or fn.kernel:plain(c.a)
    end
    if statement.is_barrier(one) and statement.is_barrier(body[i - 1]) then return nil, why end
  end
  if not thread then return nil, why end
  for _, token in ipairs(effects.of(fn, fn.body).reads[k] or {}) do
    local is_inside = s.first <= token and token <= s.last
    if not is_inside and fn:declaration(k, token) == fn:declaration(k, s.body.first) then
      return nil, ("'%s' is used elsewhere, where it would be another"):format(k)
    end
  end
  return k, thread, body
end

-- The loop down to 32, then the rest by one warp, which waits for itself.
local function by_a_warp(loop)
  local k, thread, body = halving(loop)
  if not k then return nil, thread end
  local kernel, s, e = loop.fn.kernel, loop.statement, edit.new(loop.fn.kernel)
  local indent, instead = kernel:indent(s.first), {}
  for _, one in ipairs(body) do
    if statement.is_barrier(one) then instead[one.tree.callee.first] = "__syncwarp" end
  end
  local head = kernel:source(s.header[3], s.header[4])
  local rest = ("for (; %s%s %s"):format(kernel:plain(s.condition), head,
    kernel:source(s.header[4] + 1, s.last, instead))
  local first = ("for (; %s > 32%s %s"):format(k, head, kernel:source(s.header[4] + 1, s.last))
  local lines = { first, ("if (%s < 32) {"):format(thread), "    " .. rest:gsub("\n", "\n    "),
    "}", "__syncthreads();" }
  if s.init then table.insert(lines, 1, kernel:source(s.init.first, s.init.last)) end
  local text = table.concat(lines, "\n" .. indent)
  if s.init then
    text = "{\n" .. indent .. "    " .. text:gsub("\n", "\n    ") .. "\n" .. indent .. "}"
  end
  for _, pragma in ipairs(loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
  e:replace(s.first, s.last, text)
  return e:lines()
end

-- Does a kernel ask for no thread's place but that along x?
local function is_flat(fn)
  local uses = threads.uses(fn).threadIdx
  return #uses.y == 0 and #uses.z == 0
end

local tree = { name = "tree", twice = true,
  doc = "The last 32 of a sum in shared memory added by shuffles." }

function tree.find(kernel)
  local list = {}
  for _, loop in ipairs(kernel:open_loops()) do
    if reduction(loop) then list[#list + 1] = { line = loop.line, args = {} } end
    if halving(loop) then list[#list + 1] = { line = loop.line, args = { "warp" } } end
  end
  return list
end

function tree.make(kernel, line, args)
  if args and (args[2] or args[1] and args[1] ~= "warp") then
    return nil, "it is written tree<LINE>() or tree<LINE>(warp)"
  end
  return kernel:first_loop(line, function(loop)
    if args and args[1] then
      local edits, why = by_a_warp(loop)
      if not edits then return nil, why end
      return { edits = edits, launch = not is_flat(loop.fn) and "block.x%32" or nil,
               says = ("one warp does the last rounds of the loop at line %d"):format(line) }
    end
    local r, why = reduction(loop)
    if not r then return nil, why end
    return { edits = shuffled(loop, r),
             says = ("the last 32 of %s are put together by shuffles"):format(r.array) }
  end)
end

return { tree }
