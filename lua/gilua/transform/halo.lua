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
local expression = require "gilua.transform.expression"
local guarded = require "gilua.transform.guarded"
local sides_of = require "gilua.transform.sides"
local statement = require "gilua.transform.statement"
local types = require "gilua.transform.types"

local LEAST_READS = 3 -- elements that a thread reads
local WORTH_READS = 9 -- that it be proposed, and so many for each that it loads:
local WORTH_TIMES = 2
local MOST_MARGIN = 32
local MOST_BYTES = 48 * 1024

-- ---- forms ------------------------------------------------------------------------------------

local function factors_of(monomial)
  local list = {}
  for factor in monomial:gmatch "[^*]+" do list[#list + 1] = factor end
  return list
end

local MOST_STEPS = 10

-- The form of a tree with names that keep their values as what they are made of, but for `atoms`;
-- `clamped` is asked of calls, and may say what they are.
local function form_of(fn, tree, atoms, clamped, steps)
  steps = steps or 0
  if steps > MOST_STEPS then return nil end
  return affine.form(fn.kernel, tree, function(node)
    if node.kind == "call" then return clamped and clamped(node) end
    local d = node.kind == "name" and not atoms[node.text] and sides_of.kept(fn, node.text)
    if d and not d.parameter and d.pointer == 0 and #effects.of(fn, d.init).accesses == 0 then
      return form_of(fn, d.init, atoms, clamped, steps + 1)
    end
  end)
end

-- The part of a form that is a product with a name, without it; nil where the name is there twice,
-- or in a factor that is no name.
local function part_with(form, name)
  local part, rest = {}, {}
  for monomial, n in pairs(form) do
    local others, times = {}, 0
    for _, factor in ipairs(factors_of(monomial)) do
      if factor == name then
        times = times + 1
      elseif (" " .. factor:gsub("[^%w_.]", " ") .. " "):find(" " .. name .. " ", 1, true) then
        return nil
      else
        others[#others + 1] = factor
      end
    end
    if times > 1 then return nil end
    if times == 1 then part[table.concat(others, "*")] = n else rest[monomial] = n end
  end
  return part, rest
end

local function is_one(form) return form[""] == 1 and next(form, next(form)) == nil end

local function minus(a, b) return affine.sum(a, b, -1) end

local function constant(form)
  if not next(form) then return 0 end
  return form[""] and next(form, next(form)) == nil and form[""] or nil
end

-- A form as a person would write it, in order; `first` names stand before others.
local function text_of(form, first)
  local list, parts = {}, {}
  for monomial in pairs(form) do
    if monomial ~= "" then list[#list + 1] = monomial end
  end
  local function rank(monomial)
    for i, name in ipairs(first or {}) do
      if ("*" .. monomial .. "*"):find("*" .. name .. "*", 1, true) then return i end
    end
    return 99
  end
  table.sort(list, function(a, b)
    if rank(a) ~= rank(b) then return rank(a) < rank(b) end
    return a < b
  end)
  local function add(n, text)
    local sign = n < 0 and "-" or "+"
    local count = math.abs(n)
    if text then
      text = count == 1 and text or ("%d * %s"):format(count, text)
    else
      text = ("%d"):format(count)
    end
    if #parts == 0 then
      parts[1] = (n < 0 and "-" or "") .. text
    else
      parts[#parts + 1] = ("%s %s"):format(sign, text)
    end
  end
  for _, monomial in ipairs(list) do
    local factors = {}
    for i, factor in ipairs(factors_of(monomial)) do
      factor = factor:gsub("·", "*")
      factors[i] = factor:find "^[%w_.]+$" and factor or "(" .. factor .. ")"
    end
    add(form[monomial], table.concat(factors, " * "))
  end
  if form[""] or #parts == 0 then add(form[""] or 0) end
  return table.concat(parts, " ")
end

-- ---- coordinates ------------------------------------------------------------------------------

local SIDES = { "x", "y" }

-- The variable of a kernel that grows by one from thread to thread on a side; of several one that
-- does so all over the grid.
local function coordinate(fn, side)
  local own, found = "threadIdx." .. side, nil
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.kind == "declaration" and s.declared or {}) do
      local form = d.init and d.type == "int" and d.pointer == 0 and sides_of.kept(fn, d.name) == d
        and form_of(fn, d.init, {})
      local part, rest = nil, nil
      if form then part, rest = part_with(form, own) end
      local sides = part and is_one(part) and sides_of.of(fn, d.init)
      if sides and sides[side] and next(sides, next(sides)) == nil then
        local block = "blockDim." .. side .. "*blockIdx." .. side
        local is_of_grid = rest[block] == 1
        local one = { name = d.name, d = d, side = side,
          from_zero = is_of_grid and next(rest, next(rest)) == nil }
        if is_of_grid then return one end
        found = found or one
      end
    end
  end
  return found
end

local function coordinates(fn)
  if fn.coordinates == nil then
    local used = sides_of.used(fn)
    local x, y = coordinate(fn, "x"), used.y and coordinate(fn, "y") or nil
    local fits = fn.kind == "kernel" and fn.body and x and not used.z and (y or not used.y)
    fn.coordinates = fits and { x = x, y = y } or false
  end
  return fn.coordinates or nil
end

-- ---- accesses ---------------------------------------------------------------------------------

-- The loops around a node, from the inside, up to a statement.
local function loops_around(fn, node)
  local list = {}
  for _, loop in ipairs(fn.loops) do
    local body = loop.body
    if body.first <= node.first and node.last <= body.last then table.insert(list, 1, loop) end
  end
  return list
end

-- From and to which number a loop counts; nil where that is not known.
local function range_of(loop)
  if not loop.counted or loop.writes_variable or loop.sign ~= 1 or loop.step == nil then
    return nil
  end
  local from, to = sides_of.value(loop.fn, loop.start), sides_of.value(loop.fn, loop.bound)
  if not from or not to or not (loop.relation == "<" or loop.relation == "<=") then return nil end
  if loop.relation == "<" then to = to - 1 end
  return to >= from and { from, to } or nil
end

-- The least and greatest value of a form of loops' variables; nil where it has other names.
local function span_of(form, ranges)
  local least, most = 0, 0
  for monomial, n in pairs(form) do
    local range = monomial == "" and { 1, 1 } or ranges[monomial]
    if not range then return nil end
    local a, b = n * range[1], n * range[2]
    least, most = least + math.min(a, b), most + math.max(a, b)
  end
  return least, most
end

-- How much of a form is a multiple of what is between two rows: that number, a form of integers
-- and loops' variables, and what is left.
local function in_rows(rest, pitch, ranges)
  local key
  for monomial in pairs(pitch) do
    if monomial ~= "" and (not key or monomial < key) then key = monomial end
  end
  local rows = {}
  if not key then -- a number
    local n = rest[""] or 0
    local row = (n + pitch[""] // 2) // pitch[""]
    rows[""] = row ~= 0 and row or nil
    for name in pairs(ranges) do
      local m = rest[name] or 0
      if m ~= 0 and m % pitch[""] == 0 then rows[name] = m // pitch[""] end
    end
  else
    for monomial, n in pairs(rest) do
      local part = part_with({ [monomial] = n }, key)
      if not key:find("*", 1, true) and part and next(part) then
        local name = next(part)
        if name == "" or ranges[name] then
          if n % pitch[key] ~= 0 then return nil end
          rows[name] = n // pitch[key]
        end
      elseif monomial == key then
        rows[""] = n // pitch[key]
      end
    end
  end
  return rows, minus(rest, affine.product(rows, pitch))
end

local CLAMPS = { max = "least", min = "below" }

-- Is a tree the same in all threads and iterations?
local function is_same(fn, tree)
  local sides = sides_of.of(fn, tree, {})
  return sides ~= nil and not next(sides)
end

-- What a call of min and max, one in the other, keeps within bounds: the tree that is kept, and
-- how, { text = "min(max(@, 0), width - 1)", least = true, below = true }; nil of another call.
local function clamp_of(fn, call)
  local node, how = call, { text = "@" }
  while node.kind == "call" do
    local name = node.callee.kind == "name" and node.callee.text
    if not CLAMPS[name] or #node.args ~= 2 then return nil end
    local inner, outer = node.args[1], node.args[2]
    if is_same(fn, inner) then inner, outer = outer, inner end
    if not is_same(fn, outer) then return nil end
    local text = ("%s(@, %s)"):format(name, fn.kernel:plain(outer))
    how.text = how.text:gsub("@", function() return text end)
    how[CLAMPS[name]] = true
    node = inner
  end
  return node, how
end

-- An access as a place among others': { root, base, pitch, common, along, across }: along and
-- across are how far it is from the thread's own, forms of integers and loops' variables.
local function place_of(fn, access, at)
  local node = access.node
  if not node or node.kind ~= "index" or access.mode ~= "read" or access.cached or access.escapes
    or access.atomic or not access.indices or #access.indices ~= 1 or not access.root
    or not fn:is_constant(access.root) or not fn:element_type(access) then
    return nil
  end
  local atoms, ranges = { [at.x.name] = true, [at.y and at.y.name or ""] = true }, {}
  for _, loop in ipairs(loops_around(fn, node)) do
    if loop.variable then
      ranges[loop.variable], atoms[loop.variable] = range_of(loop), true
    end
  end
  local clamps = {}
  local function clamped(call)
    local inner, how = clamp_of(fn, call)
    local own = inner and form_of(fn, inner, atoms)
    for _, side in ipairs(own and SIDES or {}) do
      local is_side = at[side] and own[at[side].name] == 1
      if is_side and not clamps[side] then
        clamps[side] = how
        return own
      end
    end
  end
  local form = form_of(fn, access.indices[1], atoms, clamped)
  local part, rest = nil, form
  if form then part, rest = part_with(form, at.x.name) end
  if not part or not is_one(part) then return nil end
  local pitch
  if at.y then
    pitch, rest = part_with(rest, at.y.name)
    if not pitch or not next(pitch) then return nil end
  end
  local across = {}
  if pitch then across, rest = in_rows(rest, pitch, ranges) end
  if not across or not rest then return nil end
  local along, common = {}, {}
  for monomial, n in pairs(rest) do
    if monomial == "" or ranges[monomial] then along[monomial] = n else common[monomial] = n end
  end
  return { access = access, node = node, pitch = pitch or {}, common = common, along = along,
    across = across, ranges = ranges, clamps = clamps }
end

local function key_of(place)
  local x, y = place.clamps.x, place.clamps.y
  return table.concat({ place.access.base, text_of(place.pitch), text_of(place.common),
    x and x.text or "", y and y.text or "" }, "|")
end

-- The innermost block with all nodes, outside of loops whose variables they are placed by, and the
-- first of its statements that has one.
local function place_before(fn, list)
  local first, last, ranged = math.huge, 0, {}
  for _, place in ipairs(list) do
    first, last = math.min(first, place.node.first), math.max(last, place.node.last)
    for _, form in ipairs { place.along, place.across } do
      for name in pairs(form) do ranged[name] = true end
    end
  end
  local best
  for _, s in ipairs(fn.statements) do
    local is_around = s.first <= first and last <= s.last
    if is_around and s.kind == "block" then best = s end
    if is_around and s.kind == "for" and s.loop and ranged[s.loop.variable or ""] then break end
  end
  for _, s in ipairs(best and best.body or {}) do
    if s.first <= first and first <= s.last then return s, best end
  end
end

-- ---- conditions -------------------------------------------------------------------------------

-- What must hold, besides `around`, where a node of a statement is evaluated: a list of { tree,
-- negated }; nil where that cannot be said.
local function asked_at(s, node)
  local list, ok = {}, true
  local function has(part) return part and part.first <= node.first and node.last <= part.last end
  local function add(tree, negated)
    if tree.kind == "binary" and tree.op == (negated and "||" or "&&") then
      add(tree.a, negated)
      return add(tree.b, negated)
    end
    list[#list + 1] = { tree = tree, negated = negated }
  end
  local function in_tree(tree)
    expression.walk(tree, function(at)
      if at.kind == "choice" and has(at.a) then add(at.condition, false) end
      if at.kind == "choice" and has(at.b) then add(at.condition, true) end
      if at.kind == "binary" and at.op == "&&" and has(at.b) then add(at.a, false) end
      if at.kind == "binary" and at.op == "||" and has(at.b) then add(at.a, true) end
    end)
  end
  local function visit(at)
    if not has(at) then
      local all = at.first < node.first and at.kind ~= "directive"
      if all then
        statement.walk(at, function(below)
          local kind = below.kind
          if kind == "continue" or kind == "break" or kind == "return" or kind == "goto" then
            ok = false
          end
        end)
      end
      return
    end
    if at.kind == "switch" or at.kind == "while" or at.kind == "do" or at.kind == "unknown" then
      ok = false
    end
    if at.kind == "if" and has(at.body) then add(at.condition, false) end
    if at.kind == "if" and has(at.otherwise) then add(at.condition, true) end
    for _, tree in ipairs { at.tree or nil, at.condition or nil } do
      if has(tree) then in_tree(tree) end
    end
    for _, d in ipairs(at.declared or {}) do
      if d.init and has(d.init) then in_tree(d.init) end
    end
    for _, child in ipairs(at.kind == "block" and at.body or { at.body or nil }) do visit(child) end
    if at.otherwise then visit(at.otherwise) end
  end
  visit(s)
  return ok and list or nil
end

local OPPOSITE = { ["<"] = ">=", [">"] = "<=", ["<="] = ">", [">="] = "<", ["=="] = "!=" }
local TURNED = { ["<"] = ">", [">"] = "<", ["<="] = ">=", [">="] = "<=" }

-- What a condition says of a place: { side, least = form } or { side, below = form }: the place is
-- not below the one, or below the other; {} of nothing; nil where it cannot be said.
local function bound_of(fn, condition, place, at)
  local tree = condition.tree
  local op = tree.kind == "binary" and tree.op
  if op and condition.negated then op = OPPOSITE[op] end
  local atoms = { [at.x.name] = true, [at.y and at.y.name or ""] = true }
  for name in pairs(place.ranges) do atoms[name] = true end
  local is_other = op == "!=" -- than 0: more, of what is never less
  op = is_other and ">" or op
  local form = op and TURNED[op] and minus(form_of(fn, tree.a, atoms), form_of(fn, tree.b, atoms))
  local sides = sides_of.of(fn, tree, place.uniform)
  if sides and not next(sides) then return {} end
  if not form or not sides or next(sides, next(sides)) then return nil end
  local side = next(sides)
  local coord = at[side]
  local part, rest = nil, nil
  if coord then part, rest = part_with(form, coord.name) end
  local factor = part and constant(part)
  if is_other and not (factor == 1 and constant(rest) == 0 and coord.from_zero) then return nil end
  if factor == -1 then
    op, rest = TURNED[op], affine.sum({}, rest, -1)
  elseif factor ~= 1 then
    return nil
  end
  -- coordinate + rest op 0, and place = coordinate + offset: place op offset - rest
  local limit = minus(side == "x" and place.along or place.across, rest)
  local inner, outer = {}, {}
  for monomial, n in pairs(limit) do
    if monomial == "" or place.ranges[monomial] then
      inner[monomial] = n
    else
      outer[monomial] = n
    end
  end
  local least, most = span_of(inner, place.ranges)
  if not least then return nil end
  if op == ">" or op == ">=" then
    return { side = side, least = affine.sum(outer, { [""] = least + (op == ">" and 1 or 0) }) }
  end
  return { side = side, below = affine.sum(outer, { [""] = most + (op == "<=" and 1 or 0) }) }
end

-- The stricter of two bounds of one kind; nil where that is not known.
local function stricter(a, b, kind, is_wider)
  if not a or not b then return a or b end
  local apart = constant(minus(a, b))
  if not apart then return nil end
  local is_first = apart > 0
  if kind == "below" then is_first = not is_first end
  if is_wider then is_first = not is_first end
  return is_first and a or b
end

-- Can a place be out of bounds on any side?
local function is_free(place, at)
  for _, side in ipairs(at.y and SIDES or { "x" }) do
    local clamp = place.clamps[side]
    if not clamp or not clamp.least or not clamp.below then return true end
  end
  return false
end

-- Where an element is read: { x = { least, below }, y = … }; nil where that is not known.
local function domain_of(fn, conditions, place, at)
  local domain = { x = {}, y = {} }
  for _, condition in ipairs(is_free(place, at) and conditions or {}) do
    local bound = bound_of(fn, condition, place, at)
    if not bound then return nil end
    for _, kind in ipairs(bound.side and { "least", "below" } or {}) do
      if bound[kind] then
        local now = domain[bound.side]
        local new = stricter(now[kind], bound[kind], kind)
        if not new then return nil end
        now[kind] = new
      end
    end
  end
  for _, side in ipairs(at.y and SIDES or { "x" }) do
    if not domain[side].least and at[side].from_zero then
      local least = span_of(side == "x" and place.along or place.across, place.ranges)
      domain[side].least = { [""] = least }
    end
    for kind in pairs(place.clamps[side] or {}) do domain[side][kind] = nil end
  end
  return domain
end

-- ---- groups -----------------------------------------------------------------------------------

-- Where any element of a group is read.
local function joined(group, at)
  for _, side in ipairs(at.y and SIDES or { "x" }) do
    for _, kind in ipairs { "least", "below" } do
      local wide, n = nil, 0
      for _, place in ipairs(group) do
        local own = place.domain[side][kind]
        if own then
          n = n + 1
          wide = stricter(wide, own, kind, true)
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
      local least, most = span_of(form, place.ranges)
      if not least then return nil end
      group[side] = group[side] or {}
      group[side].from = math.min(group[side].from or least, least)
      group[side].to = math.max(group[side].to or most, most)
    end
    local key, n = text_of(place.along) .. "|" .. text_of(place.across), 1
    for name, range in pairs(place.ranges) do
      if place.along[name] or place.across[name] then n = n * (range[2] - range[1] + 1) end
    end
    if not seen[key] then group.reads = group.reads + n end
    seen[key] = true
  end
  local margin = math.max(group.x.to - group.x.from, group.y.to - group.y.from)
  return group.reads >= LEAST_READS and margin > 0 and margin <= MOST_MARGIN and group or nil
end

local function is_uniform(fn, form, uniform)
  for monomial in pairs(form) do
    for _, factor in ipairs(factors_of(monomial)) do
      if factor:find("threadIdx", 1, true) then return false end
      local d = fn.variables[factor]
      local is_kept = sides_of.kept(fn, factor)
      if d and not uniform[factor] and not (is_kept and (is_kept.parameter
        or next(sides_of.of(fn, is_kept.init, uniform) or { x = true }) == nil)) then
        return false
      end
    end
  end
  return true
end

-- A group with its place in the kernel and what is loaded where; nil and why not.
local function planned(fn, group, at)
  local s = place_before(fn, group)
  if not s then return nil, "its elements are nowhere together" end
  group.s = s
  local plan, why = guarded.plan(fn, s, true)
  if not plan then return nil, "not all threads may come to it: " .. why end
  if not reach(group) then return nil, "its neighbours read too little of the same" end
  if not is_uniform(fn, group[1].pitch, plan.uniform)
    or not is_uniform(fn, group[1].common, plan.uniform) then
    return nil, "where it lies is not known"
  end
  for _, place in ipairs(group) do
    local inner = {}
    if is_free(place, at) then inner = asked_at(s, place.node) end
    if not inner then return nil, "it is not known when it is read" end
    local all = table.move(plan.conditions, 1, #plan.conditions, 1, {})
    table.move(inner, 1, #inner, #all + 1, all)
    place.uniform = {}
    for name in pairs(plan.uniform) do place.uniform[name] = true end
    for name in pairs(place.ranges) do place.uniform[name] = true end
    place.domain = domain_of(fn, all, place, at)
    if not place.domain then return nil, "it is not known where it is read" end
  end
  if not joined(group, at) then return nil, "it is not known where it is read" end
  group.plan, group.at = plan, at
  return group
end

-- The groups of a kernel, in the order in which they are read.
local function groups_of(fn)
  if fn.halos then return fn.halos end
  fn.halos = {}
  local at, by_key = fn.body and coordinates(fn), {}
  for _, access in ipairs(at and effects.of(fn, fn.body).accesses or {}) do
    local place = place_of(fn, access, at)
    local key = place and key_of(place)
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
local function asks(group, names)
  local list = {}
  for _, side in ipairs(group.at.y and { "y", "x" } or { "x" }) do
    local bounds = group[side]
    if bounds.least then
      list[#list + 1] = ("%s >= %s"):format(names[side], text_of(bounds.least))
    end
    if bounds.below then
      list[#list + 1] = ("%s < %s"):format(names[side], text_of(bounds.below))
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
  return ("%s[%s]"):format(group.base, text_of(form, { names.y, names.x }))
end

-- The loop over what a thread loads on a side.
local function head(o, side, reach_of)
  return ("for (int %s = threadIdx.%s; %s < %s; %s += blockDim.%s) {"):format(o.part[side], side,
    o.part[side], plus("blockDim." .. side, reach_of.to - reach_of.from), o.part[side], side)
end

local function tile_lines(fn, group, o)
  local kernel, at, before, names = fn.kernel, group.at, {}, {}
  for _, side in ipairs(at.y and SIDES or { "x" }) do
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
  local condition = asks(group, names)
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
    local more = text_of(offset)
    text = text .. ("[threadIdx.%s%s]"):format(side, more == "0" and ""
      or more:sub(1, 1) == "-" and " - " .. more:sub(2) or " + " .. more)
  end
  return text
end

local function bytes_of(fn, group, limit)
  local n = types.bytes(fn.kernel, group.type) or MOST_BYTES
  for _, side in ipairs(group.at.y and SIDES or { "x" }) do
    n = n * (limit[side] + group[side].to - group[side].from)
  end
  return n
end

local M = { name = "halo", apart = true,
  doc = "Elements around a thread's own, with those of its neighbours through shared memory." }

-- The sides that blocks may have at most: those of the problem's launch, or the usual ones.
local function limits(fn, group)
  local ask = fn.kernel.options.values
  local values, limit = ask and ask(fn) or {}, {}
  local usual = group.at.y and { x = 32, y = 8 } or { x = 256 }
  for side, n in pairs(usual) do
    local most = values["blockDim." .. side] or n
    limit[side] = 1
    while limit[side] < most do limit[side] = limit[side] * 2 end
  end
  return limit
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
  for _, side in ipairs(group.at.y and SIDES or { "x" }) do
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
