--- transpose: coalescing through shared memory (a tile that is transposed there)
--
-- where     turned
-- needs     effects, apart, threads, asked, sides, types
-- becomes   an element that threads have a row apart goes through shared memory to a neighbour
-- promises  apart
--
--   if (x < w && y < h) out[x * h + y] = in[y * w + x];
--
-- becomes, each thread storing for the one at (x_part, y_part) of the block:
--
--   __shared__ float out_tile[32][33];
--   const bool inside = x < w && y < h;
--   if (inside) out_tile[threadIdx.y][threadIdx.x] = in[y * w + x];
--   __syncthreads();
--   const int slot = threadIdx.y * blockDim.x + threadIdx.x;
--   const int x_part = slot / blockDim.y, y_part = slot % blockDim.y;
--   const int x_of = x - threadIdx.x + x_part, y_of = y - threadIdx.y + y_part;
--   if (x_of < w && y_of < h) out[x_of * h + y_of] = out_tile[y_part][x_part];

local all_come = require "gilua.facts.all_come"
local apart = require "gilua.facts.apart"
local asked = require "gilua.facts.asked"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local elsewhere = require "gilua.rewrite.elsewhere"
local guarded = require "gilua.rewrite.guarded"
local sides_of = require "gilua.facts.sides"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"

local MOST_BYTES = 48 * 1024

-- ---- needs ------------------------------------------------------------------------------------

local function is_store(s, access)
  local tree = s.kind == "expression" and s.tree
  return tree and tree.kind == "assign" and tree.op == "=" and tree.a == access.node
end

-- The statement of a list in which the access is, so that others may stand before it. It is an
-- assignment or a declaration.
local function statement_of(at)
  local access, found = at.access, nil
  for _, s in ipairs(at.fn.statements) do
    local is_it = s.kind == "expression" or s.kind == "declaration"
    if is_it and s.first <= access.token and access.token <= s.last then found = found or s end
  end
  if not found then return nil, "it is in a condition" end
  if access.atomic or access.read and access.write or access.write and not is_store(found, access)
  then
    return nil, "it is more than read or written"
  end
  while found.parent and found.parent.kind == "if" do found = found.parent end
  if edit.is_listed(found) then return found end
  return nil, "it is in a loop"
end

local function is_alone(at)
  for _, other in ipairs(effects.of(at.fn, at.fn.body).accesses) do
    local is_met = other ~= at.access and (at.access.write or other.write or other.escapes)
    if is_met and apart.may_meet(at.fn, at.access, other) then return false end
  end
  return true
end

-- Does nothing come behind the place?
local function is_last(plan)
  for _, step in ipairs(plan.way) do
    local list = step.around.kind == "block" and step.around.body or {}
    if #list > 0 and list[#list] ~= step.child then return false end
  end
  return true
end

-- How all threads come there.
local function plan_of(at)
  local plan, why = all_come.plan(at.fn, at.s, true)
  if not plan then return nil, "not all threads may come to it: " .. why end
  if #plan.loops > 0 then return nil, "it is in a loop" end
  if at.access.write and not is_last(plan) then return nil, "something comes behind it" end
  return plan
end

-- The conditions under which a thread has the element.
local function conditions_of(at)
  local list = asked.at(at.s, at.access.node)
  return list and table.move(at.plan.conditions, 1, #at.plan.conditions, #list + 1, list)
end

-- Can a tree be asked for another thread, at the kernel's end too where it is written?
local function is_known(at, tree)
  local fn, all = at.fn, effects.of(at.fn, tree)
  if #all.accesses > 0 or all.opaque or not sides_of.of(fn, tree) then
    return nil, "it is not known which elements other threads have"
  end
  for name, tokens in pairs(at.access.write and all.reads or {}) do
    local d = fn:declaration(name, tokens[1])
    if d and not d.parameter and d.statement.parent ~= fn.body then
      return nil, ("'%s' is not known at the kernel's end"):format(name)
    end
  end
  return true
end

local function all_known(at)
  local known, why = is_known(at, at.access.indices[1])
  for _, condition in ipairs(at.conditions) do
    if known then known, why = is_known(at, condition.tree) end
  end
  return known, why
end

local function fits(at)
  local type = at.fn:element_type(at.access)
  local bytes = type and types.bytes(at.kernel, type) or MOST_BYTES
  return bytes * at[3] * (at[2] + 1) <= MOST_BYTES
end

-- ---- what is made of it -----------------------------------------------------------------------

-- The names of the other thread and its coordinates, the lines that declare them, its element and
-- the condition under which it has one.
local function other_thread(at)
  local fn, named, x, y = at.fn, at.names, at.at.x, at.at.y
  local o = { slot = named "slot", x = named "x_part", y = named "y_part" }
  local names = { [x] = named(x .. "_of"), [y] = named(y .. "_of") }
  o.lines = { ("const int %s = threadIdx.y * blockDim.x + threadIdx.x;"):format(o.slot),
    ("const int %s = %s / blockDim.y, %s = %s %% blockDim.y;"):format(o.x, o.slot, o.y, o.slot),
    ("const int %s = %s - threadIdx.x + %s, %s = %s - threadIdx.y + %s;"):format(names[x], x, o.x,
      names[y], y, o.y) }
  names["threadIdx.x"], names["threadIdx.y"] = o.x, o.y
  local there, before, texts = elsewhere.names(fn, names), {}, {}
  local function source(first, last) return elsewhere.text(fn, first, last, there, before) end
  for i, condition in ipairs(at.conditions) do texts[i] = guarded.text(fn, condition, source) end
  local node = at.access.node
  o.element, o.condition = source(node.first, node.last), table.concat(texts, " && ")
  table.move(before, 1, #before, #o.lines + 1, o.lines)
  return o
end

local function below(condition, text)
  return condition == "" and text or ("if (%s) %s"):format(condition, text)
end

local function becomes(at, e)
  local fn, access, node = at.fn, at.access, at.access.node
  local tile, o = at.kernel:fresh(access.base .. "_tile"), other_thread(at)
  local others = ("%s[%s][%s]"):format(tile, o.y, o.x)
  local lines = { ("__shared__ %s %s[%d][%d];"):format(fn:element_type(access), tile, at[3],
    at[2] + 1) }
  if access.write then
    local indent, behind = edit.unit(fn), { "__syncthreads();" }
    table.move(o.lines, 1, #o.lines, 2, behind)
    behind[#behind + 1] = below(o.condition, ("%s = %s;"):format(o.element, others))
    e:lead(fn.close, indent .. table.concat(behind, "\n" .. indent) .. "\n")
  else
    table.move(o.lines, 1, #o.lines, 2, lines)
    lines[#lines + 1] = below(o.condition, ("%s = %s;"):format(others, o.element))
    lines[#lines + 1] = "__syncthreads();"
  end
  e:replace(node.first, node.last, ("%s[threadIdx.y][threadIdx.x]"):format(tile))
  local deeper = guarded.edits(at.plan, e, lines)
  return ("neighbours %s neighbouring elements of %s, through shared memory"):format(
    access.write and "write" or "read", access.base), { indent = deeper }
end

-- ---- the record -------------------------------------------------------------------------------

-- The array, and the longest sides that a block has.
local function read(args)
  local x, y = math.tointeger(tonumber(args[2])), math.tointeger(tonumber(args[3]))
  if args[1] and x and y and x >= 1 and y >= 2 and x * y <= 1024 * 32 and not args[4] then
    return { args[1], x, y }
  end
  return nil, "it is written transpose<LINE>(ARRAY,X,Y), with the longest sides that a block has"
end

local function proposed(at)
  local limit = threads.limits(at.fn, { x = 32, y = 32 })
  if limit.y < 2 then return {}, "its blocks have one row" end
  return { { at.base, tostring(limit.x), tostring(limit.y) } }
end

return { name = "transpose", where = "turned", named = "base", args = proposed, read = read,
  launch = "block.x<=$2 block.y<=$3 block.z<=1",
  doc = "What threads read or write a row apart goes through shared memory.",
  needs = {
    { "effects", statement_of, gives = "s" },
    { "apart", is_alone, says = "it is read and written" },
    { "threads", plan_of, gives = "plan" },
    { "asked", conditions_of, gives = "conditions", says = "it is not known when it is read" },
    { "sides", all_known },
    { "types", fits, says = "it is too much memory" },
  },
  becomes = becomes,
}
