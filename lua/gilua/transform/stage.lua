--- stage: elements that several threads of a block read come through shared memory: the block
-- loads those of 16 iterations at once, waits, and does these iterations from there.
--
--   int k_from = 0;
--   for (; k_from + 15 < n; k_from += 16) {
--     for (int k_part = threadIdx.x; k_part < 16; k_part += blockDim.x)
--       a_tile[threadIdx.y][k_part] = row < m ? a[row * n + (k_from + k_part)] : 0;
--     …
--     __syncthreads();
--     for (int k_step = 0; k_step < 16; k_step++) sum += a_tile[threadIdx.y][k_step] * …;
--     __syncthreads();
--   }
--   if (inside)
--     for (int k = k_from; k < n; k++) sum += a[row * n + k] * …;
--
-- An element is the same for all threads of the block, for those of a row of it or for those of a
-- column. Conditions around the loop become a variable (gilua.rewrite.guarded); an element is
-- loaded where those hold that say where it lies. What the loop updates in memory stays in a
-- variable.

local affine = require "gilua.source.affine"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local elements = require "gilua.rewrite.elements"
local elsewhere = require "gilua.rewrite.elsewhere"
local guarded = require "gilua.rewrite.guarded"
local kept_of = require "gilua.facts.kept"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local put = elements.put

local SIZES = { 16, 32, 64, 128 }
local MOST_BYTES = 48 * 1024 -- of shared memory that a source may declare

-- ---- which elements -----------------------------------------------------------------------------

-- How the elements of a place lie in shared memory: "all" threads read one; those of a "row" of the
-- block; those of a "column", beside those of the next column or ("lines") one behind the other;
-- nil of what each thread reads alone.
local function shape_of(loop, access, sides, used)
  local factor = affine.in_variable(loop.fn.kernel, access.indices[1], loop.variable)
  if not next(sides) then return "all" end
  if sides.z or used.z then return nil end
  if sides.x and sides.y then return nil end
  if sides.y then return used.x and "row" or nil end
  if not used.y then return nil end
  return factor == 1 and "lines" or "column"
end

-- The conditions of a plan that say where an element lies; nil where one says that of others too.
local function conditions_of(plan, sides)
  local list = {}
  for _, condition in ipairs(plan.conditions) do
    local of = condition.sides
    if of and sides_of.is_within(of, sides) then
      list[#list + 1] = condition
    elseif next(sides) and (not of or sides.x and of.x or sides.y and of.y) then
      return nil
    end
  end
  return list
end

-- How an element that threads read at places of some sides comes through shared memory; nil of one
-- that does not.
local function shaped(loop, plan, access, type, sides)
  local shape = shape_of(loop, access, sides, sides_of.used(loop.fn))
  local list = shape and conditions_of(plan, sides)
  local bytes = list and types.bytes(loop.fn.kernel, type)
  if not bytes then return nil end
  return { bytes = bytes, shape = shape, conditions = list,
    is_number = guarded.is_number(loop.fn, { pointer = 0, type = type }) }
end

local function differs(sides) return next(sides) ~= nil end

-- What of a loop can come through shared memory: its elements and the plan of its place.
local function staged(loop)
  local why = loop.step ~= 1 and "it does not count up by one, by itself" or elements.refusal(loop)
  if why then return nil, why end
  local plan, reason = guarded.plan(loop.fn, loop.statement)
  if not plan then return nil, "not all threads may come to it: " .. reason end
  if not elements.is_same(loop, plan.uniform) then
    return nil, "threads go through it from and to different places"
  end
  local list = elements.of(loop, plan.uniform, differs, function(access, type, sides)
    return shaped(loop, plan, access, type, sides)
  end)
  if #list == 0 then return nil, "no element in it is one that several threads read" end
  return list, plan
end

-- ---- what is made of them -----------------------------------------------------------------------

-- Lines below are moved in by \1, a level of the file's.

-- For each shape: the extents of a tile, the place of an element in it, and the head of the loop
-- that loads it.
local function layout(shape, o)
  if shape == "all" then
    return ("[%d]"):format(o.size), "[%s]", "[" .. o.part .. "]",
      { ("for (int %s = %s; %s < %d; %s += %s) {"):format(o.part, o.thread, o.part, o.size,
        o.part, o.threads) }
  elseif shape == "row" then
    return ("[%d][%d]"):format(o.side, o.size + 1), "[threadIdx.y][%s]",
      "[threadIdx.y][" .. o.part .. "]",
      { ("for (int %s = threadIdx.x; %s < %d; %s += blockDim.x) {"):format(o.part, o.part, o.size,
        o.part) }
  elseif shape == "column" then
    return ("[%d][%d]"):format(o.size, o.side), "[%s][threadIdx.x]",
      "[" .. o.part .. "][threadIdx.x]",
      { ("for (int %s = threadIdx.y; %s < %d; %s += blockDim.y) {"):format(o.part, o.part, o.size,
        o.part) }
  end
  return ("[%d][%d]"):format(o.side, o.size + 1), "[threadIdx.x][%s]",
    ("[%s][%s]"):format(o.slot, o.part),
    { ("for (int %s = %s; %s < blockDim.x * %d; %s += %s) {"):format(o.place, o.thread, o.place,
        o.size, o.place, o.threads),
      ("\1const int %s = %s / %d, %s = %s %% %d;"):format(o.slot, o.place, o.size, o.part, o.place,
        o.size) }
end

-- The lines that load the tiles: elements of one shape, where the same holds, in one loop; all of a
-- tile is given a value with `is_whole`.
local function loads(loop, list, o, is_whole)
  local groups, by_key, lines = {}, {}, {}
  for _, el in ipairs(list) do
    local slot = el.shape == "lines" and o.slot or nil
    local before = {}
    local names = elsewhere.names(loop.fn, {
      [loop.variable] = ("(%s + %s)"):format(o.from, o.part), ["threadIdx.x"] = slot })
    local value = elements.elsewhere(loop, el, names, before)
    local asks = {}
    for i, condition in ipairs(el.conditions) do
      asks[i] = guarded.text(loop.fn, condition, function(first, last)
        return elsewhere.text(loop.fn, first, last, names, before)
      end)
    end
    local _, _, place, head = layout(el.shape, o)
    local key = el.shape .. "|" .. table.concat(asks, " && ") .. "|" .. table.concat(before, "\n")
    local group = by_key[key]
    if not group then
      group = { head = head, before = before, asks = table.concat(asks, " && ") }
      by_key[key], groups[#groups + 1] = group, group
    end
    if is_whole and #asks > 0 then
      value = ("%s ? %s : 0"):format(table.concat(asks, " && "), value)
      group.asks = ""
    end
    group[#group + 1] = ("%s%s = %s;"):format(el.tile, place, value)
  end
  for _, group in ipairs(groups) do
    table.move(group.head, 1, #group.head, #lines + 1, lines)
    for _, line in ipairs(group.before) do lines[#lines + 1] = "\1" .. line end
    local indent = "\1"
    if group.asks ~= "" and #group == 1 then
      indent = ("\1if (%s) "):format(group.asks)
    elseif group.asks ~= "" then
      lines[#lines + 1], indent = ("\1if (%s) {"):format(group.asks), "\1\1"
    end
    for _, line in ipairs(group) do lines[#lines + 1] = indent .. line end
    if group.asks ~= "" and #group > 1 then lines[#lines + 1] = "\1}" end
    lines[#lines + 1] = "}"
  end
  return lines
end

local TIGHT = { ["+"] = true, ["-"] = true, ["*"] = true, ["/"] = true, ["%"] = true,
  ["<<"] = true, [">>"] = true }

local function bound_text(loop)
  local bound, text = loop.bound, loop.fn.kernel:plain(loop.bound)
  local is_loose = bound.kind == "choice" or bound.kind == "assign"
    or bound.kind == "binary" and not TIGHT[bound.op]
  return is_loose and not bound.parens and "(" .. text .. ")" or text
end

-- A loop's head and body as lines.
local function loop_lines(loop, head, instead)
  local body = loop.fn.kernel:source(loop.body.first, loop.body.last, instead)
  local lines = elements.split(loop, body)
  if loop.body.kind == "block" then
    lines[1] = head .. " " .. lines[1]
  else
    for i, line in ipairs(lines) do lines[i] = i == 1 and "\1" .. line or line end
    table.insert(lines, 1, head)
  end
  return lines
end

-- `if (inside)` before a loop's lines.
local function asked(lines, inside)
  if not inside then return lines end
  local list = { ("if (%s) {"):format(inside) }
  put(list, lines, "\1")
  list[#list + 1] = "}"
  return list
end

local function holds(list, node)
  for _, other in ipairs(list) do
    if other == node then return true end
  end
  return false
end

-- Can threads without an item do the iterations too, for nobody sees what they make of them? They
-- read the tiles, and write variables that only threads with an item ask for.
local function is_harmless(loop, plan, list, kept)
  local inside, region = loop.inside, plan.asked_last
  if inside.opaque or inside.warp or inside.barrier then return false end
  for _, access in ipairs(inside.accesses) do
    local is_ours = false
    for _, el in ipairs(list) do
      is_ours = is_ours or el.is_number and holds(el.nodes, access.node)
    end
    for _, one in ipairs(kept) do
      is_ours = is_ours or holds(one.accesses, access)
    end
    if not is_ours then return false end
  end
  for _, call in ipairs(inside.calls) do
    if not call.name or not effects.is_pure(call.name) then return false end
  end
  for name in pairs(inside.writes) do
    local d = loop.fn:declaration(name, loop.statement.first)
    local is_ours = inside.declares[name] or d and not d.parameter and not d.shared
      and not d.reference and (not region or d.scope_first > region.first)
    if not is_ours then return false end
  end
  local is_short = true
  statement.walk(loop.body, function(s)
    is_short = is_short and s.kind ~= "while" and s.kind ~= "do"
  end)
  return is_short
end

-- Variables for the elements that the loop updates: the lines before and behind it.
local function kept_lines(loop, kept, inside, instead)
  local before, after, names, guard = {}, {}, loop.fn.kernel:names(), nil
  for _, one in ipairs(kept) do
    local name, asked_of = names(one.base .. "_kept"), inside
    if not one.given then
      guard = guard or once.guard(loop, names, inside)
      if not guard.is_put then table.move(guard.lines or {}, 1, #(guard.lines or {}), 1, before) end
      guard.is_put, asked_of = true, guard.text
    end
    before[#before + 1] = ("%s %s = %s;"):format(one.type, name,
      asked_of and ("%s ? %s : 0"):format(asked_of, one.text) or one.text)
    after[#after + 1] = ("%s%s = %s;"):format(asked_of and ("if (%s) "):format(asked_of) or "",
      one.text, name)
    for _, access in ipairs(one.accesses) do
      instead[access.node.first] = { name, access.node.last }
    end
  end
  return before, after
end

-- The elements that stay in variables while the loop goes on.
local function kept_by(loop, inside)
  local list = {}
  for _, one in ipairs(kept_of.of(loop)) do
    local is_asked = inside or not one.given and once.of(loop) ~= true
    if not is_asked or guarded.is_number(loop.fn, { pointer = 0, type = one.type }) then
      list[#list + 1] = one
    end
  end
  return list
end

-- The lines that stand for the loop.
local function tiled(loop, plan, list, o, inside)
  local bound, instead, rest, lines = bound_text(loop), {}, {}, {}
  local kept = kept_by(loop, inside)
  local is_free = not inside or is_harmless(loop, plan, list, kept)
  local before, after = kept_lines(loop, kept, inside, rest)
  for _, token in ipairs(loop_of.variable_tokens(loop, loop.body)) do
    instead[token] = ("(%s + %s)"):format(o.from, o.step)
  end
  for token, text in pairs(rest) do instead[token] = text end
  put(lines, before, "")
  for _, el in ipairs(list) do
    local extents, place = layout(el.shape, o)
    lines[#lines + 1] = ("__shared__ %s %s%s;"):format(el.type, el.tile, extents)
    for _, node in ipairs(el.nodes) do
      instead[node.first] = { el.tile .. place:format(o.step), node.last }
    end
  end
  put(lines, { ("%s %s = %s;"):format(loop.type or "int", o.from,
    loop.fn.kernel:plain(loop.start)),
    ("for (; %s + %d %s %s; %s += %d) {"):format(o.from, o.size - 1, loop.relation, bound, o.from,
      o.size) }, "")
  put(lines, loads(loop, list, o, inside and is_free), "\1")
  lines[#lines + 1] = "\1__syncthreads();"
  put(lines, asked(loop_lines(loop, ("for (int %s = 0; %s < %d; %s++)"):format(o.step, o.step,
    o.size, o.step), instead), not is_free and inside or nil), "\1")
  put(lines, { "\1__syncthreads();", "}" }, "")
  if not loop.declares or not loop.trips or loop.trips % o.size ~= 0 then
    local head = ("for (%s%s = %s; %s %s %s; %s++)"):format(loop.declares and
      (loop.type or "int") .. " " or "", loop.variable, o.from, loop.variable, loop.relation, bound,
      loop.variable)
    put(lines, asked(loop_lines(loop, head, rest), inside), "")
  end
  return put(lines, after, "")
end

local function bytes_of(list, size, side)
  local sum = 0
  for _, el in ipairs(list) do
    local n = el.shape == "all" and size or el.shape == "column" and size * side
      or side * (size + 1)
    sum = sum + n * el.bytes
  end
  return sum
end

local function needs_side(list)
  for _, el in ipairs(list) do
    if el.shape ~= "all" then return true end
  end
  return false
end

local M = { name = "stage", apart = true, twice = true, first = true,
  doc = "Elements that several threads of a block read, through shared memory." }

local SIDES = { row = "y", column = "x", lines = "x" }

-- The sides that blocks may have at most: those of the problem's launch, or the usual ones.
local function side_of(fn, list)
  local ask, most = fn.kernel.options.values, 1
  local values = ask and ask(fn) or {}
  for _, el in ipairs(list) do
    local along = SIDES[el.shape]
    local usual = sides_of.used(fn).y and 32 or 256
    most = math.max(most, along and (values["blockDim." .. along] or usual) or 1)
  end
  local side = 8
  while side < most do side = side * 2 end
  return side
end

function M.find(kernel)
  local list = {}
  for _, loop in ipairs(kernel:open_loops()) do
    local found = staged(loop)
    for _, size in ipairs(found and SIZES or {}) do
      local side = needs_side(found) and side_of(loop.fn, found) or nil
      local fits = elements.is_long(loop, size) and bytes_of(found, size, side or 1) <= MOST_BYTES
      if fits and (size <= 32 or not side) then
        local args = { tostring(size), side and tostring(side) or nil }
        list[#list + 1] = { line = loop.line, args = args }
      end
    end
  end
  return list
end

local function name_tiles(kernel, list)
  local taken = {}
  for _, el in ipairs(list) do
    local tile = kernel:fresh(el.base .. "_tile")
    while taken[tile] do tile = kernel:fresh(tile .. "_too") end
    taken[tile], el.tile = true, tile
  end
end

local function launch_of(list, asks, side)
  local words = { asks ~= "" and asks or nil }
  local seen = {}
  for _, el in ipairs(list) do
    local along = SIDES[el.shape]
    if along and not seen[along] then
      seen[along] = true
      words[#words + 1] = ("block.%s<=%d"):format(along, side)
    end
  end
  return #words > 0 and table.concat(words, " ") or nil
end

local function stage(loop, size, side)
  local list, plan = staged(loop)
  if not list then return nil, plan end
  local kernel, fn = loop.fn.kernel, loop.fn
  if not elements.is_long(loop, size) then return nil, "it has fewer iterations" end
  if needs_side(list) and not side then
    return nil, "behind how many stands how long a side of a block is at most"
  end
  if bytes_of(list, size, side or 1) > MOST_BYTES then return nil, "it is too much memory" end
  local o = { size = size, side = side, from = kernel:fresh(loop.variable .. "_from"),
    part = kernel:fresh(loop.variable .. "_part"),
    step = kernel:fresh(loop.variable .. "_step"), slot = kernel:fresh "thread",
    place = kernel:fresh "place" }
  local asks
  o.thread, o.threads, asks = elements.block_of(sides_of.used(fn))
  name_tiles(kernel, list)
  local e = edit.new(kernel)
  local indent, inside = plan:edits(e)
  elements.stand_in(loop, tiled(loop, plan, list, o, inside), e)
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, indent = indent, launch = launch_of(list, asks, side),
    says = ("%s comes through shared memory in the loop at line %d"):format(list[1].base,
      loop.line) }
end

function M.make(kernel, line, args)
  local size = math.tointeger(tonumber(args[1]))
  local side = math.tointeger(tonumber(args[2]))
  if not size or size < 4 or size > 1024 then return nil, "4 to 1024 elements at a time" end
  if args[2] and (not side or side < 1 or side > 1024) then
    return nil, "a side of a block has 1 to 1024 threads"
  end
  return kernel:first_loop(line, function(loop) return stage(loop, size, side) end)
end

return M
