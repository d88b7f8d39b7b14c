--- flash_text: the lines that stand for an online softmax whose keys the parts of a block share
-- (gilua.rewrite.flash). Lines are moved in by \1, a level of the file's.

local affine = require "gilua.source.affine"
local elements = require "gilua.rewrite.elements"
local elsewhere = require "gilua.rewrite.elsewhere"

local M = {}

local NO_SCORE = { float = "__int_as_float(0xff800000)",
  double = "__longlong_as_double(0xfff0000000000000ull)" }

--- Chooses a name for each new variable.
function M.names(at)
  local names = { variable = at.loop.variable, type = at.state.type, keys = at[2], step = at[3],
    parts = at[1], some = at[1] * at[3], depth = at.state.depth, rows = "(blockDim.x / " .. at[1]
    .. ")", relation = at.loop.relation, bound = at.kernel:operand(at.loop.bound),
    start = at.kernel:plain(at.loop.start), counter = at.loop.type or "int" }
  names.till = names.relation .. " " .. names.bound
  if at.range == "own" then
    names.last = at.names(at.loop.variable .. "_last")
    names.till = "< " .. names.last
  end
  for _, word in ipairs { "part", "row", "key", "place", "turn", "scores", "own", "other" } do
    names[word] = at.names(word)
  end
  names.from = at.names(at.loop.variable .. "_from")
  names.nth = at.names(at.loop.variable .. "_nth")
  for _, word in ipairs { "largest", "sum", "out", "keep", "weight", "next", "extreme", "exp" } do
    names[word] = at.state[word]
  end
  local has_name = false
  for i = at.fn.body.first, at.fn.body.last do
    has_name = has_name or at.kernel.words[i] == "INFINITY"
  end
  names.none = has_name and "-INFINITY" or NO_SCORE[at.state.type]
  for _, el in ipairs(at.arrays.tiled) do el.name = at.names(el.base .. "_tile") end
  for _, el in ipairs(at.arrays.kept) do el.name = at.names(el.base .. "_row") end
  return names
end

-- Lines of a template: $words are names, and each ~ is a level.
local function filled(names, template)
  local lines = {}
  for line in template:gmatch "[^\n]+" do
    lines[#lines + 1] = line:gsub("~", "\1"):gsub("%$(%l+)", function(word)
      return tostring(names[word])
    end)
  end
  return lines
end

-- The text of a statement with elements from where they are now, as lines of a level.
local function moved(at, s, instead, level)
  local kernel, lines = at.kernel, {}
  local text = kernel:source(s.first, s.last, instead)
  for line in (text:gsub("\n" .. kernel:indent(s.first), "\n") .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line == "" and line or level .. line
  end
  return lines
end

-- What stands for elements, by their first tokens.
local function instead_of(at, names)
  local instead = {}
  for _, el in ipairs(at.arrays.tiled) do
    local text = ("%s[(%s + %s) * %d + %s]"):format(el.name, names.key, names.nth, el.length,
      el.inner.variable)
    for _, node in ipairs(el.nodes) do instead[node.first] = { text, node.last } end
  end
  for _, el in ipairs(at.arrays.kept) do
    local text = ("%s[%s]"):format(el.name, el.inner.variable)
    for _, node in ipairs(el.nodes) do instead[node.first] = { text, node.last } end
  end
  return instead
end

-- Loops of known length are unrolled, so that rows stay in registers.
local function unroll(at, instead)
  for _, list in ipairs { at.arrays.tiled, at.arrays.kept } do
    for _, el in ipairs(list) do
      local s = el.inner.statement
      if #el.inner.pragmas == 0 and s.parent.kind == "block" and at.kernel:begins_line(s.first) then
        instead[s.first] = "#pragma unroll\n" .. at.kernel:indent(s.first) .. "for"
      end
    end
  end
end

-- ---- the pieces ---------------------------------------------------------------------------------

-- The key behind the last that a row of the block has, where each has its own.
local function last_key(at, names, inside)
  if at.range ~= "own" then return {} end
  local own = ("atomicMax(&%s, %s%s);"):format(names.last, names.bound,
    names.relation == "<=" and " + 1" or "")
  local lines = filled(names, [[
__shared__ int $last;
if (threadIdx.x == 0) $last = $start;
__syncthreads();]])
  return elements.put(lines, { inside and ("if (%s) "):format(inside) .. own or own,
    "__syncthreads();" }, "")
end

local function declared(at, names, inside)
  local lines = filled(names, "const int $part = threadIdx.x / $rows;\n"
    .. "const int $row = threadIdx.x % $rows;")
  elements.put(lines, last_key(at, names, inside), "")
  for _, el in ipairs(at.arrays.tiled) do
    lines[#lines + 1] = ("__shared__ __align__(16) %s %s[%d * %d];"):format(names.type, el.name,
      names.keys, el.length)
  end
  for _, el in ipairs(at.arrays.kept) do
    local v, value = el.inner.variable, at.kernel:plain(el.node)
    lines[#lines + 1] = ("%s %s[%d];"):format(names.type, el.name, el.length)
    lines[#lines + 1] = "#pragma unroll"
    lines[#lines + 1] = ("for (int %s = 0; %s < %d; %s++) %s[%s] = %s;"):format(v, v, el.length, v,
      el.name, v, inside and ("%s ? %s : 0"):format(inside, value) or value)
  end
  return elements.put(lines, filled(names, [[
if ($part > 0) {
~$largest = $none;
~$sum = 0;
~#pragma unroll
~for (int $place = 0; $place < $depth; $place++) $out[$place] = 0;
}]]), "")
end

-- ---- loads --------------------------------------------------------------------------------------

local AT_ONCE = 4 -- loads that a thread has under way
local WIDE = { float = { 4, "float4", "%s[0], %s[1], %s[2], %s[3]" },
  double = { 2, "double2", "%s[0], %s[1]" } }

-- Lines that load one element, or 16 bytes of them, into a variable: what holds for the key is
-- asked around them.
local function load_of(at, names, el, wide)
  local before, lines = {}, {}
  local others = elsewhere.names(at.fn, { [el.inner.variable] = names.other,
    [at.loop.variable] = ("(%s + %s)"):format(names.from, names.key) })
  local value = elements.elsewhere(at.loop, el, others, before)
  elements.put(lines, before, "\1\1\1")
  local target = ("%s[%s]"):format(el.loaded, names.turn)
  if not wide then return elements.put(lines, { target .. " = " .. value .. ";" }, "\1\1\1") end
  local from = el.loaded .. "_at"
  return elements.put(lines, {
    ("const %s *%s = &%s;"):format(names.type, from, value),
    ("if ((size_t)%s %% 16 == 0) %s = *(const %s *)%s;"):format(from, target, wide[2], from),
    ("else %s = make_%s(%s);"):format(target, wide[2], wide[3]:gsub("%%s", from)),
  }, "\1\1\1")
end

-- The loop that loads tiles of one length. A thread asks for some elements before it stores the
-- first, and for 16 bytes at a time where they are there and aligned.
local function loads_of(at, names, list)
  local wide, length = WIDE[names.type], list[1].length
  for _, el in ipairs(list) do
    local is_row = affine.in_variable(at.kernel, el.node.index, el.inner.variable) == 1
    wide = is_row and length % wide[1] == 0 and wide or nil
    if not wide then break end
  end
  local n, type = wide and length // wide[1] or length, wide and wide[2] or names.type
  local own = setmetatable({ n = n, all = names.keys * n, once = AT_ONCE,
    wide = wide and " * " .. wide[1] or "" }, { __index = names })
  local lines = filled(own,
    "for (int $place = threadIdx.x; $place < $all; $place += $once * blockDim.x) {")
  for _, el in ipairs(list) do
    el.loaded = at.names(el.base .. "_loaded")
    lines[#lines + 1] = ("\1%s %s[%d] = {};"):format(type, el.loaded, AT_ONCE)
  end
  elements.put(lines, filled(own, [[
~#pragma unroll
~for (int $turn = 0; $turn < $once; $turn++) {
~~const int $key = ($place + $turn * blockDim.x) / $n;
~~const int $other = ($place + $turn * blockDim.x) % $n$wide;
~~if ($key < $keys && $from + $key $till) {]]), "")
  for _, el in ipairs(list) do elements.put(lines, load_of(at, own, el, wide), "") end
  elements.put(lines, filled(own, [[
~~}
~}
~#pragma unroll
~for (int $turn = 0; $turn < $once; $turn++) {
~~const int $other = $place + $turn * blockDim.x;]]), "")
  for _, el in ipairs(list) do
    lines[#lines + 1] = ("\1\1if (%s < %d) ((%s *)%s)[%s] = %s[%s];"):format(names.other, own.all,
      type, el.name, names.other, el.loaded, names.turn)
  end
  return elements.put(lines, { "\1}", "}" }, "")
end

-- The tiles of all elements, 0 behind the last key.
local function loads(at, names)
  local order, by_length, lines = {}, {}, {}
  for _, el in ipairs(at.arrays.tiled) do
    if not by_length[el.length] then
      by_length[el.length] = {}
      order[#order + 1] = by_length[el.length]
    end
    table.insert(by_length[el.length], el)
  end
  for _, list in ipairs(order) do elements.put(lines, loads_of(at, names, list), "\1") end
  return lines
end

local SCORED = [[
~~~const $counter $variable = $from + $key + $nth;]]

local SCALED = [[
~~~$next = $extreme($next, $scores[$nth]);
~~}
~~if ($next == $none) continue;
~~const $type $keep = $exp($largest - $next);
~~$largest = $next;
~~$sum *= $keep;
~~#pragma unroll
~~for (int $place = 0; $place < $depth; $place++) $out[$place] *= $keep;
~~#pragma unroll
~~for (int $nth = 0; $nth < $step; $nth++) {
~~~const $type $weight = $exp($scores[$nth] - $next);
~~~$sum += $weight;]]

-- One part's keys of a tile, some at a time.
local function steps(at, names)
  local instead = instead_of(at, names)
  local value = at.kernel:source(at.state.value.first, at.state.value.last, instead)
  unroll(at, instead)
  local lines = filled(names, [[
~for (int $key = $part * $step; $key < $keys && $from + $key $relation $bound; $key += $some) {
~~$type $scores[$step], $next = $largest;
~~#pragma unroll
~~for (int $nth = 0; $nth < $step; $nth++) {
]] .. SCORED)
  for _, s in ipairs(at.state.before) do
    elements.put(lines, moved(at, s, instead, "\1\1\1"), "")
  end
  local score = at.state.score
  elements.put(lines, { ("%s[%s] = %s %s %s ? %s : %s;"):format(names.scores, names.nth,
    names.variable, names.relation, names.bound,
    at.kernel:source(score.first, score.last, instead), names.none) }, "\1\1\1")
  elements.put(lines, filled(names, SCALED), "")
  local v = at.state.values.variable
  return elements.put(lines, { "\1\1\1#pragma unroll",
    ("\1\1\1for (int %s = 0; %s < %d; %s++) %s[%s] += %s * %s;"):format(v, v, names.depth, v,
      names.out, v, names.weight, value), "\1\1}", "\1}" }, "")
end

-- The first part adds the states of the others, one by one, and goes on alone.
local MERGED = [[
for (int $turn = $parts - 1; $turn > 0; $turn--) {
~__syncthreads();
~if ($part == $turn) {
~~#pragma unroll
~~for (int $place = 0; $place < $depth; $place++) $tile[$place * $rows + $row] = $out[$place];
~~$states[$row] = $largest;
~~$states[$rows + $row] = $sum;
~}
~__syncthreads();
~if ($part == 0 && $states[$row] != $none) {
~~const $type $next = $extreme($largest, $states[$row]);
~~const $type $own = $exp($largest - $next), $other = $exp($states[$row] - $next);
~~$largest = $next;
~~$sum = $sum * $own + $states[$rows + $row] * $other;
~~#pragma unroll
~~for (int $place = 0; $place < $depth; $place++)
~~~$out[$place] = $out[$place] * $own + $tile[$place * $rows + $row] * $other;
~}
}
if ($part > 0) return;]]

--- Returns the lines that stand for the loop.
---@param inside string? the variable that says whether a thread has a row
---@return string[]
function M.lines(at, names, inside)
  names.tile, names.states = at.arrays.value.name, at.arrays.key.name
  local lines = declared(at, names, inside)
  elements.put(lines, filled(names, [[
for ($counter $from = $start; $from $till; $from += $keys) {
~__syncthreads();]]), "")
  elements.put(lines, loads(at, names), "")
  elements.put(lines, { "\1__syncthreads();" }, "")
  elements.put(lines, steps(at, names), "")
  elements.put(lines, { "}" }, "")
  return elements.put(lines, filled(names, MERGED), "")
end

return M
