--- places: where the elements lie that a thread reads, beside those of its neighbours, and under
-- which conditions it does.
--
-- A place is { access, node, pitch, common, along, across, ranges, clamps }: the array's index is a
-- coordinate, which grows by one from thread to thread along x, another along y times `pitch`, what
-- is `common` to all threads, and how far it is from the thread's own: `along` and `across` times
-- pitch, forms of integers and of loops' variables, whose least and greatest values `ranges` has.
-- `clamps` says by side how a coordinate is kept within bounds by min and max.

local affine = require "gilua.transform.affine"
local expression = require "gilua.transform.expression"
local forms = require "gilua.transform.forms"
local sides_of = require "gilua.transform.sides"
local statement = require "gilua.transform.statement"

local M = {}

-- ---- coordinates ------------------------------------------------------------------------------

M.SIDES = { "x", "y" }

-- The variable of a kernel that grows by one from thread to thread on a side; of several one that
-- does so all over the grid.
local function coordinate(fn, side)
  local own, found = "threadIdx." .. side, nil
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.kind == "declaration" and s.declared or {}) do
      local form = d.init and d.type == "int" and d.pointer == 0 and sides_of.kept(fn, d.name) == d
        and forms.of(fn, d.init, {})
      local part, rest = nil, nil
      if form then part, rest = forms.part_with(form, own) end
      local sides = part and forms.is_one(part) and sides_of.of(fn, d.init)
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

--- The coordinates of a kernel, { x, y }, each { name, d, side, from_zero }; without y in a kernel
--- that does not ask for threadIdx.y; nil where there are none.
---@param fn table of kernel.read
function M.coordinates(fn)
  if fn.coordinates == nil then
    local used = sides_of.used(fn)
    local x, y = coordinate(fn, "x"), used.y and coordinate(fn, "y") or nil
    local fits = fn.kind == "kernel" and fn.body and x and not used.z and (y or not used.y)
    fn.coordinates = fits and { x = x, y = y } or false
  end
  return fn.coordinates or nil
end

--- The names of the coordinates.
---@return table<string, true>
function M.atoms(at)
  return { [at.x.name] = true, [at.y and at.y.name or ""] = true }
end

--- Is a form the same for all threads of a block?
---@param fn table
---@param form table<string, integer>
---@param uniform table<string, true> names that are
---@return boolean
function M.is_uniform(fn, form, uniform)
  for monomial in pairs(form) do
    for _, factor in ipairs(forms.factors(monomial)) do
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

--- The least and greatest value of a form of loops' variables; nil where it has other names.
---@return integer? least
---@return integer? most
function M.span(form, ranges)
  local least, most = 0, 0
  for monomial, n in pairs(form) do
    local range = monomial == "" and { 1, 1 } or ranges[monomial]
    if not range then return nil end
    local a, b = n * range[1], n * range[2]
    least, most = least + math.min(a, b), most + math.max(a, b)
  end
  return least, most
end

-- How many times a number that parts two rows is in the constant and in loops' variables.
local function rows_of_number(rest, pitch, ranges)
  local row = ((rest[""] or 0) + pitch // 2) // pitch
  local rows = { [""] = row ~= 0 and row or nil }
  for name in pairs(ranges) do
    local n = rest[name] or 0
    if n ~= 0 and n % pitch == 0 then rows[name] = n // pitch end
  end
  return rows
end

-- How many times a form is in another, by one of its monomials; nil of a fraction.
local function rows_of_form(rest, pitch, key, ranges)
  local rows = {}
  for monomial, n in pairs(rest) do
    local part = not key:find("*", 1, true) and forms.part_with({ [monomial] = n }, key)
    local name = monomial == key and "" or part and next(part)
    if name and (name == "" or ranges[name]) then
      if n % pitch[key] ~= 0 then return nil end
      rows[name] = n // pitch[key]
    end
  end
  return rows
end

-- How much of a form is a multiple of what is between two rows: that number, a form of integers
-- and loops' variables, and what is left.
local function in_rows(rest, pitch, ranges)
  local key
  for monomial in pairs(pitch) do
    if monomial ~= "" and (not key or monomial < key) then key = monomial end
  end
  local rows
  if key then
    rows = rows_of_form(rest, pitch, key, ranges)
  else
    rows = rows_of_number(rest, pitch[""], ranges)
  end
  return rows, rows and forms.minus(rest, affine.product(rows, pitch))
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

local function is_plain_read(fn, access)
  local node = access.node
  return node and node.kind == "index" and access.mode == "read" and not access.cached
    and not access.escapes and not access.atomic and access.indices and #access.indices == 1
    and access.root and fn:is_constant(access.root) and fn:element_type(access) and true or false
end

-- What says of a call of min and max which coordinate it keeps within bounds: its form without
-- them; how they do is noted in `clamps`.
local function clamps_into(clamps, fn, at, atoms)
  return function(call)
    local inner, how = clamp_of(fn, call)
    local own = inner and forms.of(fn, inner, atoms)
    for _, side in ipairs(own and M.SIDES or {}) do
      if at[side] and own[at[side].name] == 1 and not clamps[side] then
        clamps[side] = how
        return own
      end
    end
  end
end

-- An index's form as what is between two rows (nil in one dimension), and the rest without
-- coordinates; nil where it does not grow by one along x.
local function apart(form, at)
  local part, rest = nil, nil
  if form then part, rest = forms.part_with(form, at.x.name) end
  if not part or not forms.is_one(part) then return nil end
  if not at.y then return rest end
  local pitch, left = forms.part_with(rest, at.y.name)
  if not pitch or not next(pitch) then return nil end
  return left, pitch
end

--- An access as a place; nil of one that is none, or of an array that the kernel writes.
---@param fn table
---@param access table of gilua.effects
---@param at table of M.coordinates
function M.of(fn, access, at)
  if not is_plain_read(fn, access) then return nil end
  local atoms, ranges, clamps = M.atoms(at), {}, {}
  for _, loop in ipairs(loops_around(fn, access.node)) do
    if loop.variable then
      ranges[loop.variable], atoms[loop.variable] = range_of(loop), true
    end
  end
  local form = forms.of(fn, access.indices[1], atoms, clamps_into(clamps, fn, at, atoms))
  local rest, pitch = apart(form, at)
  local across = {}
  if rest and pitch then across, rest = in_rows(rest, pitch, ranges) end
  if not across or not rest then return nil end
  local along, common = {}, {}
  for monomial, n in pairs(rest) do
    if monomial == "" or ranges[monomial] then along[monomial] = n else common[monomial] = n end
  end
  return { access = access, node = access.node, pitch = pitch or {}, common = common,
    along = along, across = across, ranges = ranges, clamps = clamps }
end

--- What places of one tile have in common, as a text.
function M.key(place)
  local x, y = place.clamps.x, place.clamps.y
  return table.concat({ place.access.base, forms.text(place.pitch), forms.text(place.common),
    x and x.text or "", y and y.text or "" }, "|")
end

--- The statement before which a tile for places can be filled: the first with one of them in the
--- innermost block that has all, outside of loops by whose variables they are placed.
---@param fn table
---@param list table[] places
---@return table? statement
function M.before(fn, list)
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
    if s.first <= first and first <= s.last then return s end
  end
end

-- ---- conditions -------------------------------------------------------------------------------

local function has(part, node)
  return part and part.first <= node.first and node.last <= part.last
end

local function add_asked(list, tree, negated)
  if tree.kind == "binary" and tree.op == (negated and "||" or "&&") then
    add_asked(list, tree.a, negated)
    return add_asked(list, tree.b, negated)
  end
  list[#list + 1] = { tree = tree, negated = negated }
end

local function asked_in_tree(list, tree, node)
  expression.walk(tree, function(at)
    if at.kind == "choice" and has(at.a, node) then add_asked(list, at.condition, false) end
    if at.kind == "choice" and has(at.b, node) then add_asked(list, at.condition, true) end
    if at.kind == "binary" and (at.op == "&&" or at.op == "||") and has(at.b, node) then
      add_asked(list, at.a, at.op == "||")
    end
  end)
end

local JUMPS = { continue = true, ["break"] = true, ["return"] = true, ["goto"] = true }
local UNTOLD = { switch = true, ["while"] = true, ["do"] = true, unknown = true }

local function jumps(s)
  local found = false
  statement.walk(s, function(below) found = found or JUMPS[below.kind] or false end)
  return found
end

-- Adds what must hold in a statement where a node of it is evaluated; whether that can be said.
local function add_of(list, s, node)
  if not has(s, node) then return s.first > node.first or not jumps(s) end
  if UNTOLD[s.kind] then return false end
  if s.kind == "if" and has(s.body, node) then add_asked(list, s.condition, false) end
  if s.kind == "if" and has(s.otherwise, node) then add_asked(list, s.condition, true) end
  for _, tree in ipairs(statement.trees(s)) do
    if has(tree, node) then asked_in_tree(list, tree, node) end
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    if not add_of(list, child, node) then return false end
  end
  return not s.otherwise or add_of(list, s.otherwise, node)
end

--- What must hold in a statement where a node of it is evaluated: { tree, negated }, …; nil where
--- that cannot be said.
---@param s table a statement
---@param node table
---@return table[]?
function M.asked_at(s, node)
  local list = {}
  return add_of(list, s, node) and list or nil
end

local OPPOSITE = { ["<"] = ">=", [">"] = "<=", ["<="] = ">", [">="] = "<", ["=="] = "!=" }
local TURNED = { ["<"] = ">", [">"] = "<", ["<="] = ">=", [">="] = "<=" }

-- A condition as `form op 0` and the side that it speaks of; nil of another one.
local function compared(fn, condition, place, at)
  local tree, sides = condition.tree, sides_of.of(fn, condition.tree, place.uniform)
  local op = tree.kind == "binary" and tree.op
  if op and condition.negated then op = OPPOSITE[op] end
  if not op or not (TURNED[op] or op == "!=") or not sides or next(sides, next(sides)) then
    return nil
  end
  local atoms = M.atoms(at)
  for name in pairs(place.ranges) do atoms[name] = true end
  local form = forms.minus(forms.of(fn, tree.a, atoms), forms.of(fn, tree.b, atoms))
  return form, op, next(sides)
end

-- The same as `coordinate + rest op 0`; nil where that is not known.
local function of_coordinate(coord, form, op)
  local part, rest = nil, nil
  if coord and form then part, rest = forms.part_with(form, coord.name) end
  local factor = part and forms.constant(part)
  if op == "!=" then -- than 0: more, of what is never less
    local is_more = factor == 1 and forms.constant(rest) == 0 and coord.from_zero
    return is_more and rest or nil, ">"
  end
  if factor == -1 then return affine.sum({}, rest, -1), TURNED[op] end
  return factor == 1 and rest or nil, op
end

-- What a condition says of a place: { side, least = form } or { side, below = form }: the place is
-- not below the one, or below the other; {} of nothing; nil where it cannot be said.
local function bound_of(fn, condition, place, at)
  local sides = sides_of.of(fn, condition.tree, place.uniform)
  if sides and not next(sides) then return {} end
  local form, op, side = compared(fn, condition, place, at)
  local rest
  rest, op = of_coordinate(at[side or ""], form, op)
  if not rest then return nil end
  -- the place is coordinate + offset: it op offset - rest
  local limit = forms.minus(side == "x" and place.along or place.across, rest)
  local inner, outer = {}, {}
  for monomial, n in pairs(limit) do
    local own = (monomial == "" or place.ranges[monomial]) and inner or outer
    own[monomial] = n
  end
  local least, most = M.span(inner, place.ranges)
  if not least then return nil end
  if op == ">" or op == ">=" then
    return { side = side, least = affine.sum(outer, { [""] = least + (op == ">" and 1 or 0) }) }
  end
  return { side = side, below = affine.sum(outer, { [""] = most + (op == "<=" and 1 or 0) }) }
end

--- The stricter of two bounds of one kind, or the wider one; nil where that is not known.
---@param a table? a form
---@param b table?
---@param kind string "least" or "below"
---@param is_wider? boolean
function M.stricter(a, b, kind, is_wider)
  if not a or not b then return a or b end
  local distance = forms.constant(forms.minus(a, b))
  if not distance then return nil end
  local is_first = distance > 0
  if kind == "below" then is_first = not is_first end
  if is_wider then is_first = not is_first end
  return is_first and a or b
end

--- Can a place be out of bounds on any side?
function M.is_free(place, at)
  for _, side in ipairs(at.y and M.SIDES or { "x" }) do
    local clamp = place.clamps[side]
    if not clamp or not clamp.least or not clamp.below then return true end
  end
  return false
end

--- Where an element is read: { x = { least, below }, y = … }, forms; nil where that is not known.
---@param fn table
---@param conditions table[] under which it is read: { tree, negated }
---@param place table with `uniform`, the names that are the same in all threads
---@param at table of M.coordinates
function M.domain(fn, conditions, place, at)
  local domain = { x = {}, y = {} }
  for _, condition in ipairs(M.is_free(place, at) and conditions or {}) do
    local bound = bound_of(fn, condition, place, at)
    if not bound then return nil end
    for _, kind in ipairs(bound.side and { "least", "below" } or {}) do
      if bound[kind] then
        local now = domain[bound.side]
        local new = M.stricter(now[kind], bound[kind], kind)
        if not new then return nil end
        now[kind] = new
      end
    end
  end
  for _, side in ipairs(at.y and M.SIDES or { "x" }) do
    if not domain[side].least and at[side].from_zero then
      local least = M.span(side == "x" and place.along or place.across, place.ranges)
      domain[side].least = { [""] = least }
    end
    for kind in pairs(place.clamps[side] or {}) do domain[side][kind] = nil end
  end
  return domain
end

return M
