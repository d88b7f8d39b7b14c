--- carry: scalar replacement across iterations (predictive commoning)
--
-- where     loops
-- needs     loop, apart, once
-- becomes   what an iteration stores and the next one loads again, carried along in a variable
-- promises  apart
--
--   for (x = 1; x < n; x++) sum[x] = weight[x] + sum[x - 1];
--
--   const bool has_rounds = 1 < n;
--   float sum_carried;
--   if (has_rounds) sum_carried = sum[0];
--   for (x = 1; x < n; x++) sum[x] = sum_carried = weight[x] + sum_carried;
--
-- An iteration then waits for the one before to have computed, not for memory. The compiler does it
-- where nothing else is stored in between; another array that is may be sum[x - 1], for all that it
-- knows.

local affine = require "gilua.source.affine"
local apart = require "gilua.facts.apart"
local certain = require "gilua.facts.certain"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local order = require "gilua.facts.order"

-- The statements of a loop's body that are done in each iteration.
local function listed(loop)
  return loop.body.kind == "block" and loop.body.body or { loop.body }
end

-- Does nothing but to compute where a loop begins?
local function is_pure(loop)
  local all = effects.of(loop.fn, loop.start)
  return not all.opaque and not all.warp and next(all.writes) == nil and #all.accesses == 0
end

-- The one access that a statement writes, `a[x] = …` or `a[x] += …`; nil of another statement.
local function written(loop, s)
  local tree = s.kind == "expression" and s.tree
  if not tree or tree.kind ~= "assign" or tree.a.kind ~= "index" then return nil end
  for _, access in ipairs(loop.inside.accesses) do
    if access.write and access.node == tree.a then
      local own = loop.inside.declares[access.base]
      return not own and not access.atomic and access.indices and access or nil
    end
  end
end

-- Returns the accesses that load what a write stored in the iteration before, or nil. Nothing else
-- writes to that place, and all of them load before it is stored anew.
local function loaded(loop, s, write)
  local list = {}
  for _, access in ipairs(loop.inside.accesses) do
    if access.escapes then return nil end
    if access ~= write and access.node ~= write.node
      and apart.may_meet(loop.fn, access, write) then
      if access.write or access.atomic then return nil end
      if order.follows(loop, access, write) then
        if access.token > s.last or access.node.kind ~= "index" then return nil end
        list[#list + 1] = access
      end
    end
  end
  return #list > 0 and list or nil
end

-- Is one of the loads made in each iteration, also in the first, whatever conditions say?
local function is_certain(loop, reads)
  return lists.any(reads, function(access) return certain.of(loop, access.node) end)
end

-- What is carried from one iteration to the next: { statement, write, reads, type }, ….
local function carried(at)
  local loop, list = at.loop, {}
  for _, s in ipairs(listed(loop)) do
    local write = written(loop, s)
    local reads = write and loaded(loop, s, write)
    local type = reads and is_certain(loop, reads) and loop.fn:element_type(write)
    if type then list[#list + 1] = { statement = s, write = write, reads = reads, type = type } end
  end
  return #list > 0 and list or nil
end

-- `x - 1`, or `row * n + x - 1`, where x is a number: 0, `row * n`; nil of another index.
local function with_number(loop, index)
  local first, kernel = affine.integer(loop.start), loop.fn.kernel
  if not first or index.kind ~= "binary" or index.op ~= "+" and index.op ~= "-" then return nil end
  local by, front = affine.integer(index.b), nil
  local x = index.a
  if x.kind == "binary" and x.op == "+" and not x.parens then front, x = x.a, x.b end
  if not by or x.kind ~= "name" or x.text ~= loop.variable then return nil end
  local value = index.op == "+" and first + by or first - by
  if value < 0 then return nil end
  if not front then return ("%d"):format(value) end
  return kernel:plain(front) .. (value > 0 and (" + %d"):format(value) or "")
end

-- The element that the first iteration loads, as text.
local function first_element(loop, access)
  local kernel, instead = loop.fn.kernel, {}
  expression.walk(access.node, function(part)
    local text = with_number(loop, part)
    if text then instead[part.first] = { text, part.last } end
    return not text
  end)
  for _, token in ipairs(loop_of.variable_tokens(loop, loop.body)) do
    instead[token] = instead[token] or kernel:operand(loop.start)
  end
  return (kernel:source(access.node.first, access.node.last, instead):gsub("%s+", " "))
end

-- `a[x] = …` also gives the variable its next value; `a[x] += …` is written out for it.
local function store(kernel, e, one, name)
  local tree = one.statement.tree
  if tree.op == "=" then return e:before(tree.b.first, name .. " = ") end
  local place, b = kernel:plain(tree.a), tree.b
  e:replace(tree.a.last + 1, tree.a.last + 1, ("= %s = %s %s"):format(name, place,
    tree.op:sub(1, -2)))
  if kernel:operand(b) ~= kernel:plain(b) then
    e:before(b.first, "(")
    e:after(b.last, ")")
  end
end

local function counts_plainly(at)
  local loop = at.loop
  return order.is_plain(loop) and loop.start and loop.step and is_pure(loop)
    and loop_of.variable_tokens(loop, loop.body)
end

local function becomes(at, e)
  local before = at.guard.lines or {}
  for _, one in ipairs(at.carried) do
    local name = at.names(one.write.base .. "_carried")
    local element = first_element(at.loop, one.reads[1])
    for _, line in ipairs(once.valued(at.guard, one.type, name, element)) do
      before[#before + 1] = line:gsub("^const ", "")
    end
    for _, access in ipairs(one.reads) do
      e:replace(access.node.first, access.node.last, name)
    end
    store(at.kernel, e, one, name)
  end
  e:around(at.loop.statement, before)
  return ("what the loop at line %d stores and loads again is carried along"):format(at.line)
end

local NONE = "no iteration loads what the one before stored"

return { name = "carry", where = "loops",
  doc = "What an iteration stores and the next one loads, carried along in a variable.",
  needs = { { "loop", counts_plainly, says = NONE .. ", where it does no more than count" },
            { "apart", carried, gives = "carried", says = NONE },
            { "once", once.of_place, gives = "guard" } },
  becomes = becomes,
}
