--- tiletext: the source of a contraction as a two-level tile (gilua.rewrite.tile).

local contraction = require "gilua.facts.contraction"
local edit = require "gilua.rewrite.edit"
local operands = require "gilua.facts.operands"

local M = {}

-- Lines are moved in by \1, a level of the file's. A line's $words are filled in by `o`.

local function filled(line, o)
  return (line:gsub("%$([%w_]+)", function(word) return tostring(o[word]) end))
end

local function put(lines, more, o, depth)
  for _, line in ipairs(more) do
    lines[#lines + 1] = ("\1"):rep(depth or 0) .. (o and filled(line, o) or line)
  end
  return lines
end

-- A statement of the kernel as lines.
local function split(kernel, s, instead)
  local lines, indent = {}, kernel:indent(s.first)
  local source = kernel:source(s.first, s.last, instead)
  for line in (source:gsub("\n" .. indent, "\n") .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

local function joined(guards, more)
  local list = {}
  for _, guard in ipairs(guards) do list[#list + 1] = guard.text end
  for _, text in ipairs(more or {}) do list[#list + 1] = text end
  return table.concat(list, " && ")
end

-- ---- names and places ---------------------------------------------------------------------------

-- Which of the block's threads down and across a thread is. Those of a warp are 4 down and 8 across
-- where there are as many, so that few of its loads from shared memory are of different elements.
local function lanes_of(o)
  local wide = math.min(o.wide, 8)
  if o.wide % wide ~= 0 or o.high % (32 // wide) ~= 0 then wide = o.wide end
  local warps, high = o.wide // wide, 32 // wide
  if wide == o.wide then
    return { down = "threadIdx.x / " .. wide, across = "threadIdx.x % " .. wide }
  end
  return { down = ("threadIdx.x / %d * %d + threadIdx.x %% 32 / %d"):format(32 * warps, high, wide),
    across = ("threadIdx.x / 32 %% %d * %d + threadIdx.x %% %d"):format(warps, wide, wide) }
end

-- The names of a side, and where its `$at`-th output of a thread lies in the block's tile.
local function side_of(found, o, which, names)
  local index, layout = found[which], o[which .. "_layout"]
  local length = which == "down" and o.rows or o.columns
  local threads = which == "down" and o.high or o.wide
  local side = { name = index.name, type = index.d.type, first = names(index.name .. "_first"),
    own = names(index.name .. "_own"), at = names(which == "down" and "u" or "v"),
    length = length, side = index.side, block = o[which] }
  side.tile, side.ahead = names(layout.one.base .. "_tile"), names(layout.one.base .. "_next")
  local place = lanes_of(o)[which]
  local count = not layout.is_row and math.min(16 // layout.bytes, length) or 1
  while length % count ~= 0 do count = count // 2 end
  side.count = count
  side.place = count > 1 and ("(%s) * %d"):format(place, count) or place
  local step = threads * count
  if length == count then
    side.where = side.own .. " + " .. side.at
  elseif count == 1 then
    side.where = ("%s + %s * %d"):format(side.own, side.at, step)
  else
    side.where = ("%s + %s / %d * %d + %s %% %d"):format(side.own, side.at, count, step, side.at,
      count)
  end
  return side
end

-- Declarations of the variables of several loops by the number of a round of all.
local function variables_of(found, number)
  local kernel, lines, each = found.fn.kernel, {}, 1
  for k = #found.loops, 1, -1 do
    local loop = found.loops[k]
    local text = each > 1 and ("%s / %d"):format(number, each) or number
    if k > 1 then text = ("%s %% %d"):format(text, loop.trips) end
    local start = kernel:operand(loop.start)
    table.insert(lines, 1, ("const %s %s = %s%s;"):format(loop.type, loop.variable,
      start == "0" and "" or start .. " + ", text))
    if k > 1 then each = each * loop.trips end
  end
  return lines
end

-- How many rounds several loops have together.
local function add_rounds(found, n)
  local each = 1
  for k = 2, #found.loops do each = each * found.loops[k].trips end
  local start = found.fn.kernel:operand(found.loop.start)
  if start ~= "0" then n.stop_text = ("(%s - %s)"):format(n.stop_text, start) end
  n.stop_text = ("(%s) * %d"):format(n.stop_text, each)
end

local LANES = 32

-- Of several loops' variables each lane computes the offsets for one round of a slab.
local function add_offsets(found, n, names)
  local is_known = n.slab <= LANES
  for _, which in ipairs { "down", "across" } do
    is_known = is_known and found.operands[which].offset ~= nil
  end
  if not is_known then return end
  local round = names(n.i .. "_lane")
  n.offsets = { ("const int %s = %s + threadIdx.x %% %s%d;"):format(round, n.next,
    LANES % n.slab == 0 and "" or LANES .. " % ", n.slab) }
  put(n.offsets, variables_of(found, round))
  for _, which in ipairs { "down", "across" } do
    local one, side = found.operands[which], n[which]
    side.offset, side.here = names(one.base .. "_offset"), names(one.base .. "_here")
    put(n.offsets, { ("const int %s = %s;"):format(side.offset, one.offset) })
  end
end

-- A text and a number that is added to it.
local function plus(text, add)
  if add == 0 then return text end
  return ("%s %s %d"):format(text, add < 0 and "-" or "+", math.abs(add))
end

-- Adds the sides of a triangle: where the block's products begin and end, the conditions of an
-- element and of a product, and which slabs no side cuts: these begin at `$at`.
local function add_slopes(found, n)
  local asks, whole, loop = {}, {}, found.loop
  local start, bound = found.slopes.start, found.slopes.bound
  if start then
    local side = n[start.which]
    asks[1] = ("%s >= %s"):format(n.i, plus(side.name, start.add))
    n.start = plus(side.first, start.add)
    whole[1] = "$at >= " .. plus(side.first, side.block - 1 + start.add)
    table.insert(n.own[start.which], asks[1])
  end
  if bound then
    local side, more = n[bound.which], bound.add + (loop.relation == "<=" and 1 or 0)
    local most = plus(side.first, side.block)
    asks[#asks + 1] = ("%s %s %s"):format(n.i, loop.relation, plus(side.name, bound.add))
    n.stop_text = plus(("(%s < %s ? %s : %s)"):format(most, bound.last, most, bound.last), more - 1)
    whole[#whole + 1] = ("$at + %d <= %s"):format(n.slab, plus(side.first, more))
    table.insert(n.own[bound.which], asks[#asks])
  end
  n.asks, n.whole = table.concat(asks, " && "), #whole > 0 and table.concat(whole, " && ") or nil
end

local function names_of(found, o, names)
  local is_nest, kernel = #found.loops > 1, found.fn.kernel
  local i = is_nest and names "k" or found.loop.variable
  local n = { i = i, type = found.loop.type,
    start = is_nest and "0" or kernel:plain(found.loop.start), slab = o.slab,
    before = o.stages - 1, stages = o.stages, threads = o.threads, sum_type = found.sum.type,
    sum = found.sum.name, next = names(i .. "_next"), stop = names(i .. "_end"),
    count = names "slab", step = names "step", part = names "part", inside = names "inside",
    element = names "element", from = names "stage", is_wide = names "is_wide",
    add = names "add_products", sums = names(found.sum.name .. "s"),
    init = kernel:plain(found.sum.init), rows = o.rows, columns = o.columns,
    ahead = (o.stages - 1) * o.slab, waits = o.stages - 2 }
  n.stop_text = kernel:operand(found.loop.bound) .. (found.loop.relation == "<=" and " + 1" or "")
  n.own = { down = {}, across = {} }
  if is_nest then add_rounds(found, n) end
  n.down, n.across = side_of(found, o, "down", names), side_of(found, o, "across", names)
  n.u, n.v = n.down.at, n.across.at
  if is_nest then add_offsets(found, n, names) end
  add_slopes(found, n)
  return n
end

-- ---- parts --------------------------------------------------------------------------------------

local function declarations(found, o, n)
  local lines = {}
  for _, s in ipairs(found.before) do
    put(lines, s.is_line and { s.text } or s.text and { ("if (!(%s)) return;"):format(s.text) }
      or split(found.fn.kernel, s))
  end
  for _, which in ipairs { "down", "across" } do
    local side, layout = n[which], o[which .. "_layout"]
    put(lines, { ("__shared__ __align__(16) %s %s%s;"):format(layout.one.type, side.tile,
      layout.extents) })
    if layout.is_turned then
      put(lines, { ("__align__(16) %s %s[%d];"):format(layout.one.type, side.ahead,
        layout.major * layout.minor // n.threads) })
    end
  end
  for _, which in ipairs { "down", "across" } do
    put(lines, { "const $type $first = blockIdx.$side * $block, $own = $place;" }, n[which])
  end
  return put(lines, { "const $type $stop = $stop_text;", "$sum_type $sums[$rows][$columns];",
    "#pragma unroll", "for (int $u = 0; $u < $rows; $u++) {", "\1#pragma unroll",
    "\1for (int $v = 0; $v < $columns; $v++) $sums[$u][$v] = $init;", "}" }, n)
end

-- The words of the loops over an operand's slab, whose threads take `count` elements at a time.
local function words_of(found, layout, side, n, count)
  local one, minor = layout.one, layout.minor // count
  local o = setmetatable({ turns = layout.major * minor // n.threads, minor = minor, side =
    side.name, side_type = side.type, first = side.first, chunk = count, ahead = side.ahead,
    text = one.text, array = one.base, bytes = count * layout.bytes,
    vector = layout.vector, guard = (n.is_whole and n.is_whole .. " || " or "")
      .. joined(found.guards[one.index], { ("%s < %s"):format(n.i, n.stop),
        table.unpack(n.own[one.index]) }) }, { __index = n })
  local row, column = "$part / $minor", count > 1 and "$part % $minor * $chunk" or "$part % $minor"
  o.row, o.column = filled(row, o), filled(column, o)
  o.of_side, o.of_i = o.row, o.column
  if not layout.is_long then o.of_side, o.of_i = o.column, o.row end
  o.variables = #found.loops > 1 and variables_of(found, n.i) or {}
  if n.offsets then
    o.variables = { ("const int %s = __shfl_sync(0xffffffffu, %s, %s);"):format(side.here,
      side.offset, o.of_i) }
    o.text = ("%s[%s + %s]"):format(one.base, one.rest, side.here)
  end
  local slab = ("%s[%s %% %d]"):format(side.tile, n.count, n.stages)
  o.place = ("%s[%s][%s]"):format(slab, o.row, o.column)
  if layout.is_turned and count == 1 then o.place = ("%s[%s][%s]"):format(slab, o.column, o.row) end
  o.turned = ("%s[%s + %s][%s]"):format(slab, o.column, n.element, o.row)
  return o
end

local EACH = { "for (int $step = 0; $step < $turns; $step++) {",
  "\1const int $part = $step * $threads + threadIdx.x;",
  "\1const $side_type $side = $first + $of_side;", "\1const $type $i = $next + $of_i;" }

-- The head of a loop over an operand's slab.
local function each(o) return put(put({}, EACH, o), o.variables, nil, 1) end

-- The loop that copies an operand's slab.
local function copies(o)
  return put(each(o), { "\1const bool $inside = $guard;",
    "\1__pipeline_memcpy_async(&$place,",
    "\1\1$inside ? &$text : $array, $bytes, $inside ? 0 : $bytes);",
    "}" }, o)
end

-- The loop that loads it into registers, to be stored as columns.
local function fetches(o)
  return put(each(o), { "\1*($vector *)&$ahead[$step * $chunk] =",
    "\1\1($guard) ? *(const $vector *)&$text : $vector{};", "}" }, o)
end

-- The loops for an operand: by 16 bytes where it is aligned, else by elements.
local function slab_lines(found, layout, side, n)
  local single = copies(words_of(found, layout, side, n, 1))
  if not layout.one.wide then return put({ "#pragma unroll" }, single) end
  local o = words_of(found, layout, side, n, layout.count)
  local is_uncut = n.whole and " && " .. filled(n.whole, { at = n.next }) or ""
  local lines = put({}, { ("if ($is_wide%s) {"):format(is_uncut), "\1#pragma unroll" }, o)
  put(lines, (layout.is_turned and fetches or copies)(o), nil, 1)
  put(lines, { "} else {", "\1#pragma unroll 1" })
  put(lines, single, nil, 1)
  return put(lines, { "}" })
end

local function loads(found, o, n)
  local lines = put({}, n.offsets or {})
  for _, which in ipairs { "down", "across" } do
    put(lines, slab_lines(found, o[which .. "_layout"], n[which], n))
  end
  return lines
end

-- What came into registers is stored, rows as columns.
local function stores(found, o, n)
  local lines = {}
  for _, which in ipairs { "down", "across" } do
    local layout = o[which .. "_layout"]
    if layout.is_turned then
      put(lines, { "if ($is_wide && $next < $stop) {", "\1#pragma unroll",
        "\1for (int $step = 0; $step < $turns; $step++) {",
        "\1\1const int $part = $step * $threads + threadIdx.x;", "\1\1#pragma unroll",
        "\1\1for (int $element = 0; $element < $chunk; $element++) {",
        "\1\1\1$turned = $ahead[$step * $chunk + $element];", "\1\1}", "\1}", "}" },
        words_of(found, layout, n[which], n, layout.count))
    end
  end
  return lines
end

-- Returns the products of a slab; `asks` is the condition of each, or nil.
local function product_lines(found, n, instead, asks)
  local lines = put({}, { asks and "#pragma unroll 1" or "#pragma unroll",
    "for (int $step = 0; $step < $slab; $step++) {", "\1#pragma unroll",
    "\1for (int $u = 0; $u < $rows; $u++) {", "\1\1#pragma unroll",
    "\1\1for (int $v = 0; $v < $columns; $v++) {" }, n)
  if asks then
    for _, which in ipairs { "down", "across" } do
      put(lines, { "const $type $name = $first + $where;" }, n[which], 3)
    end
    put(lines, { "const $type $i = $next - $ahead + $step;",
      ("if (!(%s)) continue;"):format(asks) }, n, 3)
  end
  put(lines, split(found.fn.kernel, found.statement, instead), nil, 3)
  return put(lines, { "\1\1}", "\1}", "}" })
end

-- The products of a slab: where a triangle's side cuts it, of those within alone.
local function products(found, o, n)
  local instead = {}
  for _, which in ipairs { "down", "across" } do
    local layout, side = o[which .. "_layout"], n[which]
    local a, b = side.where, n.step
    if not layout.is_row then a, b = b, a end
    for _, access in ipairs(layout.one.accesses) do
      instead[access.node.first] = { ("%s[%s][%s][%s]"):format(side.tile, n.from, a, b),
        access.node.last }
    end
  end
  for _, token in ipairs(found.tokens) do instead[token] = filled("$sums[$u][$v]", n) end
  local lines = put({}, { "const int $from = ($count + 1) % $stages;" }, n)
  local plain = product_lines(found, n, instead)
  if not n.whole then return put(lines, plain) end
  put(lines, { ("if (%s) {"):format(filled(n.whole, { at = filled("$next - $ahead", n) })) })
  put(lines, plain, nil, 1)
  put(lines, { "} else {" })
  put(lines, product_lines(found, n, instead, n.asks), nil, 1)
  return put(lines, { "}" })
end

-- Which outputs of a tile there are.
local function output_guards(found)
  local guards = table.move(found.guards.across, 1, #found.guards.across,
    #found.guards.down + 1, table.move(found.guards.down, 1, #found.guards.down, 1, {}))
  return joined(table.move(found.rest, 1, #found.rest, #guards + 1, guards))
end

-- What becomes of each sum, element by element.
local function single_outputs(found, n)
  local kernel = found.fn.kernel
  local lines = put({}, { "#pragma unroll", "for (int $u = 0; $u < $rows; $u++) {",
    "\1#pragma unroll", "\1for (int $v = 0; $v < $columns; $v++) {" }, n)
  for _, which in ipairs { "down", "across" } do
    put(lines, { "const $type $name = $first + $where;" }, n[which], 2)
  end
  put(lines, { ("if (%s) {"):format(output_guards(found)) }, nil, 2)
  for _, s in ipairs(found.each) do put(lines, split(kernel, s), nil, 3) end
  put(lines, { "$sum_type $sum = $sums[$u][$v];" }, n, 3)
  for _, s in ipairs(found.after) do put(lines, split(kernel, s), nil, 3) end
  return put(lines, { "\1\1}", "\1}", "}" })
end

-- The same by 16 bytes, where these are there and aligned.
local function wide_outputs(found, n, store)
  local kernel, lines = found.fn.kernel, {}
  local s, node = found.after[1], store.node
  local values = { [node.first] = { ("%s[%s]"):format(n.out, n.part), node.last } }
  local o = setmetatable({ guards = output_guards(found), element = kernel:plain(node),
    vector = n.out_vector, count = n.across.count }, { __index = n })
  local function column(at)
    local side = setmetatable({ where = n.across.where:gsub("%f[%w_]" .. n.v .. "%f[^%w_]",
      at) }, { __index = n.across })
    return filled("const $type $name = $first + $where;", side)
  end
  local one = column(("(%s + %s)"):format(n.v, n.part))
  put(lines, { "#pragma unroll", "for (int $u = 0; $u < $rows; $u++) {" }, o)
  put(lines, { "const $type $name = $first + $where;" }, n.down, 1)
  put(lines, { "\1#pragma unroll", "\1for (int $v = 0; $v < $columns; $v += $count) {",
    "\1\1__align__(16) $out_type $out[$count];", "\1\1int $inside = 0;", "\1\1#pragma unroll",
    "\1\1for (int $part = 0; $part < $count; $part++) {", "\1\1\1" .. one,
    "\1\1\1if (!($guards)) continue;" }, o)
  for _, own in ipairs(found.each) do put(lines, split(kernel, own), nil, 3) end
  put(lines, { "$sum_type $sum = $sums[$u][$v + $part];" }, n, 3)
  put(lines, split(kernel, s, values), nil, 3)
  put(lines, { "\1\1\1$inside++;", "\1\1}" }, o)
  put(lines, { "{", "\1" .. column(n.v),
    "\1if ($inside == $count && (size_t)&$element % 16 == 0) {",
    "\1\1*($vector *)&$element = *($vector *)$out;", "\1\1continue;", "\1}", "}",
    "#pragma unroll", "for (int $part = 0; $part < $count; $part++) {", "\1" .. one,
    "\1if ($guards) $element = $out[$part];", "}" }, o, 2)
  return put(lines, { "\1}", "}" })
end

-- What becomes of the sums.
local function outputs(found, n, names)
  local store = n.across.count > 1 and contraction.row_store(found)
  local type = store and found.fn:element_type(store)
  if not store or operands.BYTES[type] ~= 16 // n.across.count then
    return single_outputs(found, n)
  end
  n.out, n.out_type, n.out_vector = names(store.base .. "_row"), type, operands.VECTORS[type]
  return wide_outputs(found, n, store)
end

-- The loop over slabs.
local function slabs(found, o, n)
  local lines = put({}, { "$type $next = $start;",
    "for (int $count = 0; $next < $stop + $ahead; $count++, $next += $slab) {",
    "\1__pipeline_wait_prior($waits);", "\1__syncthreads();", "\1if ($next < $stop) {" }, n)
  put(lines, loads(found, o, n), nil, 2)
  put(lines, { "\1}", "\1__pipeline_commit();", "\1if ($count >= $before) {" }, n)
  put(lines, products(found, o, n), nil, 2)
  put(lines, { "\1}" })
  put(lines, stores(found, o, n), nil, 1)
  return put(lines, { "}" })
end

-- Under which condition all copies of 16 bytes are aligned, and end where elements do; nil: never.
local function wide_condition(o)
  local list, seen = {}, {}
  for _, which in ipairs { "down", "across" } do
    local layout = o[which .. "_layout"]
    local conditions = {}
    for i, text in ipairs(layout.one.wide or {}) do
      conditions[i] = ("%s %% %d == 0"):format(text, layout.count)
    end
    conditions[#conditions + 1] = layout.one.wide and ("(size_t)%s %% 16 == 0"):format(
      layout.one.base)
    for _, text in ipairs(conditions) do
      if not seen[text] then list[#list + 1], seen[text] = text, true end
    end
  end
  return list[1] and table.concat(list, " && ")
end

-- Under which condition a block has all outputs of its tile, and its slabs all elements; nil where
-- that is not known.
local function whole_condition(found, n)
  if n.whole then return nil end
  local list = {}
  for _, which in ipairs { "down", "across" } do
    local ends = contraction.ends(found, which)
    if not ends then return nil end
    for _, bound in ipairs(ends) do
      list[#list + 1] = filled(("$first + $block <= %s"):format(found.fn.kernel:operand(bound)),
        n[which])
    end
  end
  list[#list + 1] = ("%s %% %d == 0"):format(n.start == "0" and n.stop
    or ("(%s - %s)"):format(n.stop, n.start), n.slab)
  return table.concat(list, " && ")
end

-- The lines of the products: a lambda where there are several kinds of blocks, else the loop.
local function product_parts(found, o, n, names)
  local wide, whole = wide_condition(o), whole_condition(found, n)
  n.is_whole = whole and names "is_whole"
  local loop = slabs(found, o, n)
  if not wide and not whole then return loop end
  local parameters, calls = {}, { { wide or whole, "true" }, { nil, "false" } }
  parameters[1] = wide and "const bool " .. n.is_wide
  parameters[#parameters + 1] = whole and "const bool " .. n.is_whole
  if wide and whole then
    calls = { { ("%s && %s"):format(wide, whole), "true, true" }, { wide, "true, false" },
      { nil, "false, false" } }
  end
  local lines = put({}, { ("const auto $add = [&](%s) {"):format(table.concat(parameters, ", ")) },
    n)
  put(lines, loop, nil, 1)
  put(lines, { "};" })
  for i, call in ipairs(calls) do
    local head = call[1] and ("if (%s) {"):format(call[1]) or "{"
    put(lines, { i == 1 and head or "} else " .. head, ("\1$add(%s);"):format(call[2]) }, n)
  end
  return put(lines, { "}" })
end

--- Returns the text of a kernel's body that computes a contraction by a schedule.
---@param found table of gilua.facts.contraction
---@param o table a schedule with layouts
---@param names fun(wanted: string): string
---@return string
function M.of(found, o, names)
  local fn, n = found.fn, names_of(found, o, names)
  local lines = declarations(found, o, n)
  put(lines, product_parts(found, o, n, names))
  put(lines, outputs(found, n, names))
  local indent = fn.kernel:indent(fn.body.body[1].first)
  return (table.concat(lines, "\n" .. indent):gsub("\1", edit.unit(fn)))
end

return M
