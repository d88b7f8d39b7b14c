--- tiles: elements of a loop's iterations in shared memory, by the threads that read them
-- (gilua.facts.staged): how they lie there, and how a block loads them.

local elements = require "gilua.rewrite.elements"
local elsewhere = require "gilua.rewrite.elsewhere"
local guarded = require "gilua.rewrite.guarded"
local sides_of = require "gilua.facts.sides"

local M = {}

-- Lines are moved in by \1, a level of the file's. $at is an element's place in a tile, `from` that
-- of the one that a thread loads; along: the side whose length a tile has.
local SHAPES = {
  all = { extents = "[$size]", at = "[$at]",
    head = { "for (int $part = $thread; $part < $size; $part += $threads) {" } },
  row = { extents = "[$side][$longer]", at = "[threadIdx.y][$at]", along = "y",
    head = { "for (int $part = threadIdx.x; $part < $size; $part += blockDim.x) {" } },
  column = { extents = "[$size][$side]", at = "[$at][threadIdx.x]", along = "x",
    head = { "for (int $part = threadIdx.y; $part < $size; $part += blockDim.y) {" } },
  lines = { extents = "[$side][$longer]", at = "[threadIdx.x][$at]", along = "x",
    from = "[$slot][$part]",
    head = { "for (int $place = $thread; $place < blockDim.x * $size; $place += $threads) {",
      "\1const int $slot = $place / $size, $part = $place % $size;" } },
}

-- A text with numbers and names in the place of $words.
local function filled(text, o, at)
  return (text:gsub("%$(%l+)", function(word) return word == "at" and at or tostring(o[word]) end))
end

--- Returns the bytes of the tiles of elements, so many at a time, in blocks of at most so long a
--- side.
---@param list table[] of gilua.facts.staged
---@param size integer
---@param side integer
---@return integer
function M.bytes(list, size, side)
  local sum = 0
  for _, el in ipairs(list) do
    local n = el.shape == "all" and size or el.shape == "column" and size * side
      or side * (size + 1)
    sum = sum + n * el.bytes
  end
  return sum
end

--- Returns the sides of a block that tiles of elements are as long as, in order.
---@param list table[]
---@return string[]
function M.sides(list)
  local sides, seen = {}, {}
  for _, el in ipairs(list) do
    local along = SHAPES[el.shape].along
    if along and not seen[along] then sides[#sides + 1], seen[along] = along, true end
  end
  return sides
end

--- Returns how long these sides may be at most: those of the problem's launch, or the usual ones.
---@param list table[]
---@return integer
function M.longest(fn, list)
  local ask, most, side = fn.kernel.options.values, 1, 8
  local values = ask and ask(fn) or {}
  for _, along in ipairs(M.sides(list)) do
    most = math.max(most, values["blockDim." .. along] or sides_of.used(fn).y and 32 or 256)
  end
  while side < most do side = side * 2 end
  return side
end

--- Gives each element the name of its tile.
---@param list table[]
function M.name(kernel, list)
  local taken = {}
  for _, el in ipairs(list) do
    local tile = kernel:fresh(el.base .. "_tile")
    while taken[tile] do tile = kernel:fresh(tile .. "_too") end
    taken[tile], el.tile = true, tile
  end
end

--- Returns the declarations of the tiles; what stands for the elements is added to `instead`.
---@param list table[]
---@param o table { size, side, longer, part, from, step, slot, place, thread, threads }
---@param instead table<integer, table> as kernel:source takes it
---@return string[]
function M.declared(list, o, instead)
  local lines = {}
  for i, el in ipairs(list) do
    local shape = SHAPES[el.shape]
    lines[i] = ("__shared__ %s %s%s;"):format(el.type, el.tile, filled(shape.extents, o))
    for _, node in ipairs(el.nodes) do
      instead[node.first] = { el.tile .. filled(shape.at, o, o.step), node.last }
    end
  end
  return lines
end

-- Returns what loads an element for others: the line, the declarations and the condition before it.
local function load_of(loop, el, o)
  local shape, before, asks = SHAPES[el.shape], {}, {}
  local names = elsewhere.names(loop.fn, { [loop.variable] = ("(%s + %s)"):format(o.from, o.part),
    ["threadIdx.x"] = shape.from and o.slot })
  local value = elements.elsewhere(loop, el, names, before)
  for i, condition in ipairs(el.conditions) do
    asks[i] = guarded.text(loop.fn, condition, function(first, last)
      return elsewhere.text(loop.fn, first, last, names, before)
    end)
  end
  return { target = el.tile .. filled(shape.from or shape.at, o, o.part), value = value,
    zero = el.zero, before = before, asks = table.concat(asks, " && ") }
end

-- The lines of loads of one shape, where the same holds.
local function group_lines(group, is_whole)
  local lines, asks = group.lines, group.asks
  for _, line in ipairs(group.before) do lines[#lines + 1] = "\1" .. line end
  local indent, value, last = "\1", "%s = %s;", nil
  if asks ~= "" and is_whole then
    value = "%s = " .. asks:gsub("%%", "%%%%") .. " ? %s : %s;"
  elseif asks ~= "" and #group == 1 then
    indent = ("\1if (%s) "):format(asks)
  elseif asks ~= "" then
    lines[#lines + 1], indent, last = ("\1if (%s) {"):format(asks), "\1\1", "\1}"
  end
  for _, one in ipairs(group) do
    lines[#lines + 1] = indent .. value:format(one.target, one.value, one.zero)
  end
  lines[#lines + 1] = last
  lines[#lines + 1] = "}"
  return lines
end

--- Returns the lines that load the tiles: elements of one shape, where the same holds, in one loop;
--- all of a tile is given a value with `is_whole`.
---@param list table[]
---@param o table as of M.declared
---@param is_whole boolean?
---@return string[]
function M.loads(loop, list, o, is_whole)
  local groups, by_key, lines = {}, {}, {}
  for _, el in ipairs(list) do
    local load = load_of(loop, el, o)
    local key = ("%s|%s|%s"):format(el.shape, load.asks, table.concat(load.before, "\n"))
    local group = by_key[key]
    if not group then
      group = { lines = {}, before = load.before, asks = load.asks }
      for i, line in ipairs(SHAPES[el.shape].head) do group.lines[i] = filled(line, o) end
      by_key[key], groups[#groups + 1] = group, group
    end
    group[#group + 1] = load
  end
  for _, group in ipairs(groups) do
    local own = group_lines(group, is_whole)
    table.move(own, 1, #own, #lines + 1, lines)
  end
  return lines
end

return M
