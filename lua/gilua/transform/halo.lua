--- halo: elements around a thread's own, of which neighbours read the same, come through shared
-- memory: the block loads those of all its threads, with the margin that these reach, once.
--
--   __shared__ float a_tile[10][34];
--   for (int y_part = threadIdx.y; y_part < blockDim.y + 2; y_part += blockDim.y) {
--     for (int x_part = threadIdx.x; x_part < blockDim.x + 2; x_part += blockDim.x) {
--       const int i_of = i - threadIdx.y + y_part - 1, j_of = j - threadIdx.x + x_part - 1;
--       if (i_of >= 0 && i_of < n && j_of >= 0 && j_of < m)
--         a_tile[y_part][x_part] = a[i_of * m + j_of];
--     }
--   }
--   __syncthreads();
--   if (inside) … a_tile[threadIdx.y][threadIdx.x + 1] + a_tile[threadIdx.y + 1][threadIdx.x] …
--
-- A place in the array is an index that is a sum of products: a coordinate, which grows by one from
-- thread to thread along x, another along y times what is between two rows, numbers, and variables
-- of loops of known length. Loaded is what some thread of the grid reads, as the conditions say
-- under which it does, and what lies between; where they do not say it nothing is done. A
-- coordinate that min and max keep within bounds needs no condition: what is beyond is the last.

local affine = require "gilua.transform.affine"
local edit = require "gilua.transform.edit"
local effects = require "gilua.transform.effects"
local elsewhere = require "gilua.transform.elsewhere"
local forms = require "gilua.transform.forms"
local guarded = require "gilua.transform.guarded"
local places = require "gilua.transform.places"
local sides_of = require "gilua.transform.sides"
local threads = require "gilua.transform.threads"
local types = require "gilua.transform.types"

local LEAST_READS = 3 -- elements that a thread reads
local WORTH_READS = 9 -- that it be proposed, and so many for each that it loads:
local WORTH_TIMES = 2
local MOST_MARGIN = 32
local MOST_BYTES = 48 * 1024
-- ---- groups -----------------------------------------------------------------------------------

-- Where any element of a group is read.
local function joined(group, at)
  for _, side in ipairs(at.y and places.SIDES or { "x" }) do
    for _, kind in ipairs { "least", "below" } do
      local wide, n = nil, 0
      for _, place in ipairs(group) do
        local own = place.domain[side][kind]
        if own then
          n = n + 1
          wide = places.stricter(wide, own, kind, true)
          if not wide then return nil end
        end
      end
      if n ~= 0 and n ~= #group then return nil end
      group[side] = group[side] or {}
      group[side][kind] = wide
    end
  end
  return group
end

-- How far a group reaches on each side: least and most.
local function reach(group)
  group.reads = 0
  local seen = {}
  for _, place in ipairs(group) do
    for side, form in pairs { x = place.along, y = place.across } do
      local least, most = places.span(form, place.ranges)
      if not least then return nil end
      group[side] = group[side] or {}
      group[side].from = math.min(group[side].from or least, least)
      group[side].to = math.max(group[side].to or most, most)
    end
    local key, n = forms.text(place.along) .. "|" .. forms.text(place.across), 1
    for name, range in pairs(place.ranges) do
      if place.along[name] or place.across[name] then n = n * (range[2] - range[1] + 1) end
    end
    if not seen[key] then group.reads = group.reads + n end
    seen[key] = true
  end
  local margin = math.max(group.x.to - group.x.from, group.y.to - group.y.from)
  return group.reads >= LEAST_READS and margin > 0 and margin <= MOST_MARGIN and group or nil
end

local function is_same(fn, tree, uniform)
  local sides = sides_of.of(fn, tree, uniform)
  return sides ~= nil and not next(sides)
end

local NONE = "it is read by all threads or none"

-- Are the names of a tree those that stand before a statement?
local function is_known_before(fn, tree, s)
  for name in pairs(effects.of(fn, tree).reads) do
    local d = fn:declaration(name, tree.first)
    if d and d.token > s.first then return false end
  end
  return true
end

-- Notes where an element of a statement is read; why that is not known, nil where it is.
local function set_domain(fn, place, plan, s, at)
  local inner, is_free = places.asked_at(s, place.node), places.is_free(place, at)
  if not inner and is_free then return "it is not known when it is read" end
  place.asked = {}
  for _, condition in ipairs(inner or {}) do
    if is_same(fn, condition.tree, plan.uniform) then
      if not is_known_before(fn, condition.tree, s) then return NONE end
      place.asked[#place.asked + 1] = guarded.text(fn, condition)
    end
  end
  local all = table.move(plan.conditions, 1, #plan.conditions, 1, {})
  table.move(inner or {}, 1, #(inner or {}), #all + 1, all)
  place.uniform = {}
  for name in pairs(plan.uniform) do place.uniform[name] = true end
  for name in pairs(place.ranges) do place.uniform[name] = true end
  place.domain = places.domain(fn, all, place, at)
  return not place.domain and "it is not known where it is read" or nil
end

-- A group with its place in the kernel and what is loaded where; nil and why not.
local function planned(fn, group, at)
  local s = places.before(fn, group)
  if not s then return nil, "its elements are nowhere together" end
  group.s = s
  local plan, why = guarded.plan(fn, s, true)
  if not plan then return nil, "not all threads may come to it: " .. why end
  if not reach(group) then return nil, "its neighbours read too little of the same" end
  if not places.is_uniform(fn, group[1].pitch, plan.uniform)
    or not places.is_uniform(fn, group[1].common, plan.uniform) then
    return nil, "where it lies is not known"
  end
  for _, place in ipairs(group) do
    local why_not = set_domain(fn, place, plan, s, at)
    if why_not then return nil, why_not end
    if table.concat(place.asked, "&&") ~= table.concat(group[1].asked, "&&") then
      return nil, NONE
    end
  end
  if not joined(group, at) then return nil, "it is not known where it is read" end
  group.plan, group.at = plan, at
  return group
end

-- The groups of a kernel, in the order in which they are read.
local function groups_of(fn)
  if fn.halos then return fn.halos end
  fn.halos = {}
  local at, by_key = fn.body and places.coordinates(fn), {}
  for _, access in ipairs(at and effects.of(fn, fn.body).accesses or {}) do
    local place = places.of(fn, access, at)
    local key = place and places.key(place)
    if key and not by_key[key] then
      by_key[key] = { base = access.base, type = fn:element_type(access) }
      table.insert(fn.halos, by_key[key])
    end
    if key then table.insert(by_key[key], place) end
  end
  for _, group in ipairs(fn.halos) do
    local _, why = planned(fn, group, at)
    group.why = why
    group.line = fn.kernel:line_of((group.s or group[1].node).first)
  end
  return fn.halos
end

-- ---- what is made of them ---------------------------------------------------------------------

local function plus(text, n)
  if n == 0 then return text end
  return ("%s %s %d"):format(text, n < 0 and "-" or "+", math.abs(n))
end

-- What must hold of a place that is loaded.
local function asks(fn, group, names)
  local list = {}
  for _, condition in ipairs(group.plan.conditions) do
    if condition.sides and not next(condition.sides) then
      list[#list + 1] = guarded.text(fn, condition)
    end
  end
  table.move(group[1].asked, 1, #group[1].asked, #list + 1, list)
  for _, side in ipairs(group.at.y and { "y", "x" } or { "x" }) do
    local bounds = group[side]
    if bounds.least then
      list[#list + 1] = ("%s >= %s"):format(names[side], forms.text(bounds.least))
    end
    if bounds.below then
      list[#list + 1] = ("%s < %s"):format(names[side], forms.text(bounds.below))
    end
  end
  return table.concat(list, " && ")
end

-- The source of the element at a place of the tile.
local function element_text(fn, group, names, before)
  for _, place in ipairs(group) do
    if not next(place.along) and not next(place.across) and not next(place.clamps) then
      local there = elsewhere.names(fn, { [group.at.x.name] = names.x,
        [group.at.y and group.at.y.name or ""] = names.y })
      return elsewhere.text(fn, place.node.first, place.node.last, there, before)
    end
  end
  local form = affine.sum({ [names.x] = 1 }, group[1].common)
  if group.at.y then form = affine.sum(form, affine.product({ [names.y] = 1 }, group[1].pitch)) end
  return ("%s[%s]"):format(group.base, forms.text(form, { names.y, names.x }))
end

-- The loop over what a thread loads on a side.
local function head(o, side, reach_of)
  return ("for (int %s = threadIdx.%s; %s < %s; %s += blockDim.%s) {"):format(o.part[side], side,
    o.part[side], plus("blockDim." .. side, reach_of.to - reach_of.from), o.part[side], side)
end

local function tile_lines(fn, group, o)
  local kernel, at, before, names = fn.kernel, group.at, {}, {}
  for _, side in ipairs(at.y and places.SIDES or { "x" }) do
    names[side] = kernel:fresh(at[side].name .. "_of")
  end
  local value = element_text(fn, group, names, before)
  local extents, sides = "", at.y and { "y", "x" } or { "x" }
  for _, side in ipairs(sides) do
    extents = extents .. ("[%d]"):format(o.limit[side] + group[side].to - group[side].from)
  end
  local lines, indent = { ("__shared__ %s %s%s;"):format(group.type, o.tile, extents) }, ""
  if #group.plan.loops > 0 then lines[2] = "__syncthreads();" end
  local place = ""
  for _, side in ipairs(sides) do
    lines[#lines + 1] = indent .. head(o, side, group[side])
    indent = indent .. "\1"
    place = place .. "[" .. o.part[side] .. "]"
    local there = plus(("%s - threadIdx.%s + %s"):format(at[side].name, side, o.part[side]),
      group[side].from)
    local clamp = group[1].clamps[side]
    if clamp then there = clamp.text:gsub("@", "(int)(" .. there .. ")") end
    lines[#lines + 1] = ("%sconst int %s = %s;"):format(indent, names[side], there)
  end
  for _, line in ipairs(before) do lines[#lines + 1] = indent .. line end
  local condition = asks(fn, group, names)
  local load = ("%s%s = %s;"):format(o.tile, place, value)
  if condition ~= "" then
    lines[#lines + 1] = ("%sif (%s) {"):format(indent, condition)
    lines[#lines + 1] = indent .. "\1" .. load
    lines[#lines + 1] = indent .. "}"
  else
    lines[#lines + 1] = indent .. load
  end
  for _ = 1, #sides do
    indent = indent:sub(2)
    lines[#lines + 1] = indent .. "}"
  end
  lines[#lines + 1] = "__syncthreads();"
  return lines
end

local function use_text(group, place, o)
  local text = o.tile
  for _, side in ipairs(group.at.y and { "y", "x" } or { "x" }) do
    local offset = affine.sum(side == "x" and place.along or place.across,
      { [""] = -group[side].from })
    local more = forms.text(offset)
    text = text .. ("[threadIdx.%s%s]"):format(side, more == "0" and ""
      or more:sub(1, 1) == "-" and " - " .. more:sub(2) or " + " .. more)
  end
  return text
end

local function bytes_of(fn, group, limit)
  local n = types.bytes(fn.kernel, group.type) or MOST_BYTES
  for _, side in ipairs(group.at.y and places.SIDES or { "x" }) do
    n = n * (limit[side] + group[side].to - group[side].from)
  end
  return n
end

local M = { name = "halo", apart = true,
  doc = "Elements around a thread's own, with those of its neighbours through shared memory." }

-- The sides that blocks may have at most.
local function limits(fn, group)
  return threads.limits(fn, group.at.y and { x = 32, y = 8 } or { x = 256 })
end

local function has_shared(fn)
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.shared then return true end
    end
  end
  return false
end

local function is_open(kernel, fn)
  return fn.is_entry and fn.body and kernel:is_open(fn.line, fn.last_line) and not has_shared(fn)
end

-- Do threads read much more than they load?
local function is_worth_it(group, limit)
  local loaded = 1
  for _, side in ipairs(group.at.y and places.SIDES or { "x" }) do
    loaded = loaded * (limit[side] + group[side].to - group[side].from) / limit[side]
  end
  return group.reads >= WORTH_READS and group.reads >= WORTH_TIMES * loaded
end

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local seen = {}
    for _, group in ipairs(is_open(kernel, fn) and groups_of(fn) or {}) do
      local limit = not group.why and limits(fn, group)
      local key = group.line .. group.base
      if limit and not seen[key] and bytes_of(fn, group, limit) <= MOST_BYTES
        and is_worth_it(group, limit) then
        seen[key] = true
        list[#list + 1] = { line = group.line, args = { group.base, tostring(limit.x),
          limit.y and tostring(limit.y) } }
      end
    end
  end
  return list
end

local function halo(fn, group, limit)
  local kernel, e = fn.kernel, edit.new(fn.kernel)
  if bytes_of(fn, group, limit) > MOST_BYTES then return nil, "it is too much memory" end
  local o = { limit = limit, tile = kernel:fresh(group.base .. "_tile"),
    part = { x = kernel:fresh "x_part", y = kernel:fresh "y_part" } }
  local lines = tile_lines(fn, group, o)
  for i, line in ipairs(lines) do lines[i] = line:gsub("\1", guarded.unit(fn)) end
  local deeper = group.plan:edits(e, lines)
  for _, place in ipairs(group) do
    e:replace(place.node.first, place.node.last, use_text(group, place, o))
  end
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  local launch = ("block.x<=%d%s block.z<=1"):format(limit.x,
    limit.y and (" block.y<=%d"):format(limit.y) or " block.y<=1")
  return { edits = edits, indent = deeper, launch = launch,
    says = ("what neighbours read of %s comes through shared memory from line %d on"):format(
      group.base, group.line) }
end

function M.make(kernel, line, args)
  local limit = { x = math.tointeger(tonumber(args[2])), y = math.tointeger(tonumber(args[3])) }
  if not args[1] or not limit.x or limit.x < 1 or limit.x > 1024
    or limit.y and (limit.y < 1 or limit.y > 1024) then
    return nil, "it is written halo<LINE>(ARRAY,X,Y), with the longest sides that a block has"
  end
  local why
  for _, fn in ipairs(kernel.functions) do
    for _, group in ipairs(fn.is_entry and fn.body and groups_of(fn) or {}) do
      if group.base == args[1] and group.line == line then
        why = why or group.why
        if not group.why then
          if (group.at.y ~= nil) ~= (limit.y ~= nil) then
            return nil, "its blocks have another number of sides"
          end
          return halo(fn, group, limit)
        end
      end
    end
  end
  return nil, why or ("nothing of %s is read there around a thread's own"):format(args[1])
end

return M
