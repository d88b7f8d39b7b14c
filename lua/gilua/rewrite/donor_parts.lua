--- donor_parts: which parts of other functions may come into a kernel, and where each suits best.
--
-- A part is of gilua.facts.borrowed: up to four statements of a list, the condition of an `if` or a
-- loop, or a value that is assigned. A gene names it by lines: FUNCTION:LINE of the same file,
-- FILE:FIRST-LAST@HASH of a donor's.

local borrowed = require "gilua.facts.borrowed"
local edit = require "gilua.rewrite.edit"
local settings = require "gilua.base.settings"
local types = require "gilua.facts.types"

local M = {}

local set = settings.set

local MOST_TOGETHER = 4 -- statements that come together
local MOST_UNITS = 400 -- that are looked at
local MOST_TOKENS = 400 -- of one
local MOST_FREE = 12 -- variables of one
local MOST_TRIED, LEAST_TRIED = 4000, 8 -- parts, at all places, and at one

local LOOPS = set "for while do"

-- ---- parts ------------------------------------------------------------------------------------

local PLAIN = set "expression declaration empty if for while do block return break continue"

-- What of a statement leaves it: { jumps, returns }; nil and why where it cannot come at all.
local function leaving(s, out, in_loop)
  if s.kind == "directive" and s.name == "pragma" then return out end
  if not PLAIN[s.kind] or s.unknown_header or s.ranged or s.kind == "return" and s.tree then
    return nil, "it has a " .. s.kind
  end
  for _, d in ipairs(s.declared or {}) do
    if d.unknown_init or d.shared or d.static then return nil, "what it declares is not plain" end
  end
  if s.kind == "return" then out.returns = true end
  if (s.kind == "break" or s.kind == "continue") and not in_loop then out.jumps = true end
  local below = s.kind == "block" and s.body or { s.body or nil, s.otherwise or nil }
  for _, child in pairs(below) do
    local found, why = leaving(child, out, in_loop or LOOPS[s.kind])
    if not found then return nil, why end
  end
  return out
end

-- Statements one after the other as a part: with `nodes`, and what leaves it; nil and why not.
local function run_part(fn, nodes)
  local out = {}
  for _, s in ipairs(nodes) do
    local found, why = leaving(s, out, false)
    if not found then return nil, why end
  end
  local first, last = nodes[1].first, nodes[#nodes].last
  if last - first > MOST_TOKENS then return nil, "it is too long" end
  local part, why = borrowed.part(fn, first, last)
  if not part then return nil, why end
  part.nodes, part.jumps, part.returns = nodes, out.jumps, out.returns
  return part
end

local function tree_part(fn, tree)
  local part, why = borrowed.part(fn, tree.first, tree.last)
  if part then part.nodes, part.tree = { tree }, tree end
  return part, why
end

local function condition_of(s) return (s.kind == "if" or LOOPS[s.kind]) and s.condition or nil end

-- What is assigned, or a variable's first value.
local function value_of(s)
  local tree, declared = s.kind == "expression" and s.tree, s.declared or {}
  if tree and tree.kind == "assign" and tree.op == "=" then return tree.b end
  local d = declared[1]
  return s.kind == "declaration" and #declared == 1 and d.init_form == "=" and d.init or nil
end

--- What of a statement a way takes: a tree; nil of ways that take statements.
M.TREES = { condition = condition_of, value = value_of }

-- ---- what a gene names ------------------------------------------------------------------------

---@class gilua.donor_spec
---@field name string of a function, or a file
---@field first integer
---@field last integer
---@field hash? string
---@field is_file boolean

--- Reads FUNCTION:LINE, or FILE:FIRST-LAST@HASH; nil of another text.
---@return gilua.donor_spec?
function M.spec(text)
  local name, lines, hash = (text or ""):match "^([^:@]+):([%d-]+)@?(%x*)$"
  local first, last = (lines or ""):match "^(%d+)%-?(%d*)$"
  if not first then return nil end
  return { name = name, hash = hash ~= "" and hash or nil, is_file = name:find("%.") ~= nil,
    first = math.tointeger(tonumber(first)),
    last = math.tointeger(tonumber(last ~= "" and last or first)) }
end

local function spec_text(donor, first, last)
  return ("%s:%d%s%s"):format(donor.name, first, last > first and "-" .. last or "",
    donor.hash and "@" .. donor.hash or "")
end

--- Returns the functions that a gene may mean; nil and why there are none.
---@param kernel table of kernel.read
---@param spec gilua.donor_spec
function M.functions(kernel, spec)
  if spec.is_file then
    local donors = kernel.options.donors
    if not donors then return nil, "there are no donors" end
    local donor, why = donors:find(spec.name, spec.hash)
    return donor and donor.kernel.functions, why
  end
  local fn = kernel.by_name[spec.name]
  return fn and { fn }, ("there is no function %s"):format(spec.name)
end

-- The statements of a list from one on, up to the one that ends on a line.
local function run_from(kernel, s, last)
  local nodes
  for _, other in ipairs(s.parent.body) do
    if other == s then nodes = {} end
    if nodes then
      nodes[#nodes + 1] = other
      local line = kernel:line_of(other.last)
      if line >= last or #nodes > MOST_TOGETHER then return line == last and nodes or nil end
    end
  end
end

local function run_at(fn, s, spec)
  local nodes = edit.is_listed(s) and run_from(fn.kernel, s, spec.last)
  if nodes then return run_part(fn, nodes) end
end

--- Returns the part that a gene means; nil and why there is none.
---@param kernel table of kernel.read
---@param spec gilua.donor_spec
---@param way string
function M.at(kernel, spec, way)
  local fns, none = M.functions(kernel, spec)
  local tree_of = M.TREES[way]
  for _, fn in ipairs(fns or {}) do
    for _, s in ipairs(fn.statements) do
      if fn.kernel:line_of(s.first) == spec.first then
        local tree, part, why = tree_of and tree_of(s), nil, nil
        if tree then part, why = tree_part(fn, tree) end
        if not tree_of then part, why = run_at(fn, s, spec) end
        if part or why then return part, why end
      end
    end
  end
  return nil, not fns and none
    or tree_of and ("no such part is at line %d of %s"):format(spec.first, spec.name)
    or ("no statements are at lines %d to %d of %s"):format(spec.first, spec.last, spec.name)
end

-- ---- all that there are -----------------------------------------------------------------------

--- Returns the functions that parts are taken from: { fn, donor = { name, hash } }; of this file
--- and others.
function M.sources(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    if fn.body and kernel.by_name[fn.name] == fn then
      list[#list + 1] = { fn = fn, donor = { name = fn.name } }
    end
  end
  for _, donor in ipairs(kernel.options.donors and kernel.options.donors:all() or {}) do
    for _, fn in ipairs(donor.kernel.functions) do
      local own = kernel.by_name[fn.name]
      local is_there = own and (donor.from_program or borrowed.whole(own) == borrowed.whole(fn))
      if fn.body and not is_there then list[#list + 1] = { fn = fn, donor = donor } end
    end
  end
  return list
end

--- Returns the text that names lines of a source.
function M.named(source, first, last) return spec_text(source.donor, first, last) end

local function has_effect(nodes)
  for _, s in ipairs(nodes) do
    if s.kind ~= "declaration" and s.kind ~= "directive" and s.kind ~= "empty" then return true end
  end
  return false
end

local function add_unit(units, source, part, first, last, way, kind)
  if not part or #part.free > MOST_FREE then return end
  units[#units + 1] = { fn = source.fn, part = part, way = way, kind = kind,
    text = spec_text(source.donor, first, last) }
end

-- Conditions and values; constants are no gift.
local function add_trees(units, source, s, line, seen)
  for _, way in ipairs { "condition", "value" } do
    local tree = M.TREES[way](s)
    if tree and not seen[way .. line] then
      seen[way .. line] = true
      local part = tree_part(source.fn, tree)
      if part and #part.free > 0 then add_unit(units, source, part, line, line, way, s.kind) end
    end
  end
end

-- Statements of a list, from each on, up to MOST_TOGETHER of them.
local function add_runs(units, source, s)
  local kernel, nodes = source.fn.kernel, nil
  for _, other in ipairs(s.parent.body) do
    if other == s then nodes = {} end
    if nodes and #nodes < MOST_TOGETHER then
      nodes[#nodes + 1] = other
      if has_effect(nodes) and not (#nodes == 1 and other.kind == "return") then
        local own = table.move(nodes, 1, #nodes, 1, {})
        add_unit(units, source, (run_part(source.fn, own)), kernel:line_of(s.first),
          kernel:line_of(other.last))
      end
    end
  end
end

local function units_of(sources)
  local units = {}
  for _, source in ipairs(sources) do
    local own, seen = source.fn.kernel, {}
    for _, s in ipairs(source.fn.statements) do
      local line = own:line_of(s.first)
      if #units > MOST_UNITS then return units end
      if not seen[line] and edit.is_listed(s) and s.kind ~= "block" then
        seen[line] = true
        add_runs(units, source, s)
      end
      add_trees(units, source, s, line, seen)
    end
  end
  return units
end

-- ---- which suit a place -----------------------------------------------------------------------

-- How many of a set are in another, and of those of either in both: 0 to 1 each.
local function covered(a, b)
  local both, of_a, of_b = 0, 0, 0
  for key in pairs(a) do
    of_a = of_a + 1
    if b[key] then both = both + 1 end
  end
  for _ in pairs(b) do of_b = of_b + 1 end
  return both / math.max(1, of_a), both / math.max(1, of_a + of_b - both)
end

local function shared(a, b) return (select(2, covered(a, b))) end

-- How well a part suits a place: what it writes and reads is what stands there, or is read there;
-- nil where it does nothing for it.
local function score_of(unit, fit, place)
  local written, read = borrowed.touched(unit.part, fit.names)
  if unit.way then return fit.likeness + shared(read, place.read) end
  if place.way == "before" then
    local used = shared(written, place.read)
    return used > 0 and fit.likeness + used or nil
  end
  local all, same = covered(place.written, written)
  return all > 0 and fit.likeness + shared(read, place.read) + 2 * all + same or nil
end

-- What is asked once for a source: its parts, how many are tried at a place, and the variables that
-- places know, one list for all that know the same.
local function search_of(kernel, n)
  if not kernel.donated then
    local sources = M.sources(kernel)
    kernel.donated = { sources = sources, units = #sources > 1 and units_of(sources) or {},
      tries = math.max(LEAST_TRIED, MOST_TRIED // math.max(1, n)), known = {} }
  end
  return kernel.donated
end

local function known_of(search, fn, token)
  local known, names = borrowed.known_at(fn, token), {}
  for i, d in ipairs(known) do names[i] = d.token end
  local key = table.concat(names, " ")
  search.known[key] = search.known[key] or known
  search.known[key].fits = search.known[key].fits or {}
  return search.known[key]
end

-- A place with what it reads and writes.
local function described(at, search)
  local tree = M.TREES[at.way] and M.TREES[at.way](at.s)
  local part = borrowed.part(at.fn, (tree or at.s).first, (tree or at.s).last)
  if not part then return nil end
  part.nodes = { tree or at.s }
  local written, read = borrowed.touched(part)
  for name in pairs(at.way == "before" and written or {}) do read[name] = true end
  return { s = at.s, fn = at.fn, way = at.way, tree = tree, written = written, read = read,
    known = known_of(search, at.fn, edit.beginning(at.s)), tries = search.tries,
    plain = at.kernel:plain(tree or at.s) }
end

-- Is it of the same kind as what it would replace?
local function is_alike(unit, place, may_leave)
  local way = M.TREES[place.way] and place.way or nil
  if unit.way ~= way or unit.fn == place.fn then return false end
  if way == "condition" and unit.kind ~= place.s.kind then return false end
  if way ~= "value" then return may_leave(unit.part, place.fn, place.s) end
  local type = types.of(place.fn, place.tree)
  return type ~= nil and type == types.of(unit.fn, unit.part.tree)
end

-- How a part would read at a place; nil where it cannot stand there. Places that know the same
-- variables are asked once.
local function fit_of(unit, place)
  local fits = place.known.fits
  if fits[unit] == nil then
    if not borrowed.may_fit(unit.part, place.fn, place.known) then
      fits[unit] = false
    elseif place.tries > 0 then
      place.tries = place.tries - 1
      fits[unit] = borrowed.fit(unit.part, place.fn, place.known) or false
    end
  end
  return fits[unit]
end

-- Proposals in the order of their scores.
function M.by_score(a, b)
  if a.score ~= b.score then return a.score > b.score end
  if a.line ~= b.line then return a.line < b.line end
  return a.order < b.order
end

--- Returns the parts that suit a place, the best first, of those that read alike the first, and
--- none that changes nothing: { text, score, line, order } each.
---@param at table a place of transplant
---@param n integer lines with places
---@param most integer
---@param may_leave fun(part: table, fn: table, s: table): boolean
function M.best(at, n, most, may_leave)
  local search = search_of(at.kernel, n)
  local place = described(at, search)
  local found, list, seen = {}, {}, { [place and place.plain or ""] = true }
  for order, unit in ipairs(place and search.units or {}) do
    local fit = is_alike(unit, place, may_leave) and fit_of(unit, place)
    local score = fit and score_of(unit, fit, place)
    found[#found + 1] = score and { text = unit.text, score = score, line = at.line,
      order = order, unit = unit, fit = fit } or nil
  end
  table.sort(found, M.by_score)
  for _, one in ipairs(found) do
    local text = borrowed.text(one.unit.part, one.fit, ""):gsub("%s+", " ")
    if not seen[text] and #list < most then list[#list + 1] = one end
    seen[text], one.unit, one.fit = true, nil, nil
  end
  return list
end

return M
