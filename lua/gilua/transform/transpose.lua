--- transpose: what threads read or write a row apart goes through shared memory, so that those that
-- are neighbours read or write neighbouring elements.
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
--
-- An index is turned where the coordinate along y is in it as it is, and the one along x times what
-- is the same for all threads.

local apart = require "gilua.facts.apart"
local asked = require "gilua.facts.asked"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local elsewhere = require "gilua.rewrite.elsewhere"
local forms = require "gilua.facts.forms"
local guarded = require "gilua.rewrite.guarded"
local places = require "gilua.transform.places"
local sides_of = require "gilua.facts.sides"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"

local LEAST_PITCH = 8 -- elements between neighbours, where that is a number
local MOST_BYTES = 48 * 1024

-- ---- what is turned -----------------------------------------------------------------------------

-- Is an access one that neighbours along x make a row apart, and those along y side by side?
local function is_turned(fn, access, at)
  local index = access.indices and #access.indices == 1 and access.indices[1]
  local form = index and forms.of(fn, index, places.atoms(at))
  local along, rest, across
  if form then along, rest = forms.part_with(form, at.x.name) end
  if along and next(along) then across, rest = forms.part_with(rest, at.y.name) end
  if not across or not forms.is_one(across) then return false end
  local pitch = forms.constant(along)
  if pitch and math.abs(pitch) < LEAST_PITCH then return false end
  return places.is_uniform(fn, along, {}) and places.is_uniform(fn, rest, {})
end

-- The statement of an access that is an assignment or a declaration; nil of another.
local function statement_of(fn, access)
  for _, s in ipairs(fn.statements) do
    if (s.kind == "expression" or s.kind == "declaration") and s.first <= access.token
      and access.token <= s.last then
      return s
    end
  end
end

-- The statement of a list in which one is, so that others may stand before it; nil in a loop.
local function listed(s)
  while s.parent and s.parent.kind == "if" do s = s.parent end
  return edit.is_listed(s) and s or nil
end

local function is_store(s, access)
  local tree = s.kind == "expression" and s.tree
  return tree and tree.kind == "assign" and tree.op == "=" and tree.a == access.node
end

-- Does anything come behind a statement?
local function is_last(plan)
  for _, step in ipairs(plan.way) do
    local list = step.around.kind == "block" and step.around.body or {}
    if #list > 0 and list[#list] ~= step.child then return false end
  end
  return true
end

-- Why a tree cannot be asked for another thread; nil where it can.
local function unknown_elsewhere(fn, tree, has_to_outlive)
  local all = effects.of(fn, tree)
  if #all.accesses > 0 or all.opaque or not sides_of.of(fn, tree) then
    return "it is not known which elements other threads have"
  end
  for name, tokens in pairs(has_to_outlive and all.reads or {}) do
    local d = fn:declaration(name, tokens[1])
    if d and not d.parameter and d.statement.parent ~= fn.body then
      return ("'%s' is not known at the kernel's end"):format(name)
    end
  end
end

local function conflicts(fn, access)
  for _, other in ipairs(effects.of(fn, fn.body).accesses) do
    local is_met = other ~= access and (access.write or other.write or other.escapes)
    if is_met and apart.may_meet(fn, access, other) then return true end
  end
  return false
end

-- How an access can go through shared memory; nil and why it cannot.
local function planned(fn, access)
  local s = statement_of(fn, access)
  if not s then return nil, "it is in a condition" end
  if access.atomic or access.read and access.write or access.write and not is_store(s, access) then
    return nil, "it is more than read or written"
  end
  if conflicts(fn, access) then return nil, "it is read and written" end
  s = listed(s)
  local plan, why
  if s then plan, why = guarded.plan(fn, s, true) end
  if s and not plan then return nil, "not all threads may come to it: " .. why end
  if not s or #plan.loops > 0 then return nil, "it is in a loop" end
  if access.write and not is_last(plan) then return nil, "something comes behind it" end
  local conditions = asked.at(s, access.node)
  if not conditions then return nil, "it is not known when it is read" end
  table.move(plan.conditions, 1, #plan.conditions, #conditions + 1, conditions)
  why = unknown_elsewhere(fn, access.indices[1], access.write)
  for _, condition in ipairs(conditions) do
    why = why or unknown_elsewhere(fn, condition.tree, access.write)
  end
  if why then return nil, why end
  return { fn = fn, access = access, plan = plan, conditions = conditions,
    line = fn.kernel:line_of(access.node.first) }
end

-- The accesses of a kernel that can; those that cannot have a reason.
local function all_of(fn)
  local list, at, seen = {}, fn.body and places.coordinates(fn), {}
  if not at or not at.y then return list end
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    local line = access.node and fn.kernel:line_of(access.node.first)
    if d and not d.shared and #d.extents == 0 and is_turned(fn, access, at) then
      local found, why = planned(fn, access)
      found = found or { why = why, access = access, line = line }
      found.at = at
      if not seen[line .. access.base] then list[#list + 1] = found end
      seen[line .. access.base] = true
    end
  end
  return list
end

-- ---- what is made of it -------------------------------------------------------------------------

-- The names of the other thread and its coordinates, the lines that declare them, its element and
-- the condition under which it has one.
local function other_thread(found)
  local fn, at, lines = found.fn, found.at, {}
  local named = fn.kernel:names()
  local o = { slot = named "slot", x = named "x_part", y = named "y_part" }
  local names = { [at.x.name] = named(at.x.name .. "_of"), [at.y.name] = named(at.y.name .. "_of") }
  lines[1] = ("const int %s = threadIdx.y * blockDim.x + threadIdx.x;"):format(o.slot)
  lines[2] = ("const int %s = %s / blockDim.y, %s = %s %% blockDim.y;"):format(o.x, o.slot, o.y,
    o.slot)
  lines[3] = ("const int %s = %s - threadIdx.x + %s, %s = %s - threadIdx.y + %s;"):format(
    names[at.x.name], at.x.name, o.x, names[at.y.name], at.y.name, o.y)
  names["threadIdx.x"], names["threadIdx.y"] = o.x, o.y
  local there, before, texts = elsewhere.names(fn, names), {}, {}
  local function source(first, last) return elsewhere.text(fn, first, last, there, before) end
  for i, condition in ipairs(found.conditions) do
    texts[i] = guarded.text(fn, condition, source)
  end
  local node = found.access.node
  o.element, o.condition = source(node.first, node.last), table.concat(texts, " && ")
  o.lines = table.move(before, 1, #before, #lines + 1, lines)
  return o
end

local function below(condition, text)
  return condition == "" and text or ("if (%s) %s"):format(condition, text)
end

local function through_tile(found, limit)
  local fn, access, e = found.fn, found.access, edit.new(found.fn.kernel)
  local kernel, node = fn.kernel, access.node
  local tile, o = kernel:fresh(access.base .. "_tile"), other_thread(found)
  local own = ("%s[threadIdx.y][threadIdx.x]"):format(tile)
  local others = ("%s[%s][%s]"):format(tile, o.y, o.x)
  local lines = { ("__shared__ %s %s[%d][%d];"):format(fn:element_type(access), tile, limit.y,
    limit.x + 1) }
  local other = { "__syncthreads();" }
  if access.write then
    table.move(o.lines, 1, #o.lines, 2, other)
    other[#other + 1] = below(o.condition, ("%s = %s;"):format(o.element, others))
    local indent = edit.unit(fn)
    e:lead(fn.close, indent .. table.concat(other, "\n" .. indent) .. "\n")
  else
    table.move(o.lines, 1, #o.lines, 2, lines)
    lines[#lines + 1] = below(o.condition, ("%s = %s;"):format(others, o.element))
    lines[#lines + 1] = other[1]
  end
  e:replace(node.first, node.last, own)
  local deeper = found.plan:edits(e, lines)
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, indent = deeper,
    launch = ("block.x<=%d block.y<=%d block.z<=1"):format(limit.x, limit.y),
    says = ("neighbours %s neighbouring elements of %s, through shared memory"):format(
      access.write and "write" or "read", access.base) }
end

local M = { name = "transpose", apart = true, first = true,
  doc = "What threads read or write a row apart goes through shared memory." }

local function fits(found, limit)
  local type = found.fn:element_type(found.access)
  local bytes = type and types.bytes(found.fn.kernel, type) or MOST_BYTES
  return limit.y > 1 and bytes * limit.y * (limit.x + 1) <= MOST_BYTES
end

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local is_open = fn.is_entry and fn.body and kernel:is_open(fn.line, fn.last_line)
    for _, found in ipairs(is_open and all_of(fn) or {}) do
      local limit = threads.limits(fn, { x = 32, y = 32 })
      if not found.why and fits(found, limit) then
        list[#list + 1] = { line = found.line, args = { found.access.base, tostring(limit.x),
          tostring(limit.y) } }
      end
    end
  end
  return list
end

function M.make(kernel, line, args)
  local limit = { x = math.tointeger(tonumber(args[2])), y = math.tointeger(tonumber(args[3])) }
  if not args[1] or not limit.x or not limit.y or limit.x < 1 or limit.y < 2
    or limit.x * limit.y > 1024 * 32 then
    return nil, "it is written transpose<LINE>(ARRAY,X,Y), with the longest sides that a block has"
  end
  local why
  for _, fn in ipairs(kernel.functions) do
    for _, found in ipairs(fn.is_entry and fn.body and all_of(fn) or {}) do
      if found.access.base == args[1] and found.line == line then
        if found.why then
          why = why or found.why
        elseif not fits(found, limit) then
          why = "it is too much memory"
        else
          return through_tile(found, limit)
        end
      end
    end
  end
  return nil, why or "no element of that array is read or written there a row apart"
end

return M
