--- transplant: a part of another function comes into a kernel: of another kernel of the program, of
-- a device function, or of a file in a folder of donors (the wish for code from other programs is
-- in Langdon and Harman's UCL RN/14/02, section 12).
--
--   T:transplant<17>(halves:31-35)            instead of the statement at line 17, those that the
--                                             function halves has at lines 31 to 35
--   T:transplant<17>(fast.cu:31@6f1c9a,before)   before it, of a donor that has this text
--   …,condition   instead of the condition at line 17; …,value of the value that is assigned there
--   …,call        a call at line 17 is of the function at that line
--
-- Its variables become those of the place that have the same type and are used most alike
-- (gilua.transform.borrowed). Nothing says that it means the same: answers do.

local borrowed = require "gilua.transform.borrowed"
local edit = require "gilua.rewrite.edit"
local expression = require "gilua.source.expression"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"
local uses = require "gilua.transform.uses"

local set = settings.set

local MOST_TOGETHER = 4 -- statements that come together
local MOST_UNITS = 400 -- that are looked at
local MOST_TOKENS = 400 -- of one
local MOST_FREE = 12 -- variables of one
local MOST_LINES = 1000 -- of places
local MOST_TRIED, LEAST_TRIED = 4000, 8 -- parts, at all places, and at one
local MOST_OF_LINE = { instead = 6, before = 2, condition = 2, value = 2, call = 3 }
local MOST_FOUND = 64

local M = { name = "transplant", judged = true, donated = true,
  doc = "A part of another function, under the names of the place." }

--------------------------------------------------------------------------------------------------
-- Parts that can come

local PLAIN = set "expression declaration empty if for while do block return break continue"
local LOOPS = set "for while do"

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

local function condition_of(s)
  return (s.kind == "if" or LOOPS[s.kind]) and s.condition or nil
end

-- What is assigned, or a variable's first value.
local function value_of(s)
  local tree, declared = s.kind == "expression" and s.tree, s.declared or {}
  if tree and tree.kind == "assign" and tree.op == "=" then return tree.b end
  local d = declared[1]
  return s.kind == "declaration" and #declared == 1 and d.init_form == "=" and d.init or nil
end

local TREES = { condition = condition_of, value = value_of }
local TREE_WAYS = { "condition", "value" }

--------------------------------------------------------------------------------------------------
-- What a gene names

local WAYS = { before = true, condition = true, value = true, call = true }

-- FUNCTION:LINE, FILE:FIRST-LAST@HASH as { name, first, last, hash, is_file }.
local function spec_of(text)
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

-- The functions of a spec; nil and why there are none.
local function functions_of(kernel, spec)
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
  local body, nodes = s.parent.body, nil
  for _, other in ipairs(body) do
    if other == s then nodes = {} end
    if nodes then
      nodes[#nodes + 1] = other
      local line = kernel:line_of(other.last)
      if line >= last or #nodes > MOST_TOGETHER then return line == last and nodes or nil end
    end
  end
end

local function run_at(fns, spec)
  for _, fn in ipairs(fns) do
    for _, s in ipairs(fn.statements) do
      if fn.kernel:line_of(s.first) == spec.first and edit.is_listed(s) then
        local nodes = run_from(fn.kernel, s, spec.last)
        if nodes then return run_part(fn, nodes) end
      end
    end
  end
  return nil, ("no statements are at lines %d to %d of %s"):format(spec.first, spec.last, spec.name)
end

local function tree_at(fns, spec, tree_of)
  for _, fn in ipairs(fns) do
    for _, s in ipairs(fn.statements) do
      local tree = fn.kernel:line_of(s.first) == spec.first and tree_of(s)
      if tree then return tree_part(fn, tree) end
    end
  end
  return nil, ("no such part is at line %d of %s"):format(spec.first, spec.name)
end

local function function_at(fns, spec)
  for _, fn in ipairs(fns) do
    if fn.line == spec.first and fn.kind == "device" and fn.body then return fn end
  end
  return nil, ("no device function begins at line %d of %s"):format(spec.first, spec.name)
end

--------------------------------------------------------------------------------------------------
-- Places

local REPLACED = set "expression if for while do"

-- The first statement at a line of a function that evolves for which fits(s); and the function.
local function statement_at(kernel, line, fits)
  if not kernel.by_line then
    kernel.by_line = {}
    for _, fn in ipairs(kernel.functions) do
      for _, s in ipairs((fn.kind == "device" or fn.is_entry) and fn.statements or {}) do
        local at = kernel:line_of(s.first)
        kernel.by_line[at] = kernel.by_line[at] or {}
        table.insert(kernel.by_line[at], { s, fn })
      end
    end
  end
  for _, one in ipairs(kernel.by_line[line] or {}) do
    if fits(one[1]) then return one[1], one[2] end
  end
end

-- The statement at a line that a way takes.
local function place_at(kernel, line, way)
  return statement_at(kernel, line, function(s)
    if TREES[way] then return TREES[way](s) end
    if way == "call" then return s.kind ~= "block" and s.kind ~= "directive" end
    if not kernel:begins_line(s.first) then return false end
    return REPLACED[s.kind] and (way == nil or edit.is_listed(s))
      or way == "before" and s.kind == "declaration" and edit.is_listed(s)
  end)
end

-- May what leaves a part leave this place? Nil, or why not.
local function stuck(part, fn, s)
  if part.jumps and not statement.is_in_loop(s) then
    return "it leaves a loop, and there is none"
  end
  if part.returns and not (fn.kind == "kernel" and part.fn.kind == "kernel") then
    return "it returns from a kernel"
  end
end

-- Where a statement begins, with its pragma.
local function beginning(s)
  local body = edit.is_listed(s) and s.parent.body or {}
  for i = 2, #body do
    local before = body[i - 1]
    if body[i] == s and before.kind == "directive" and before.name == "pragma" then
      return before.first
    end
  end
  return s.first
end

--------------------------------------------------------------------------------------------------
-- Making it

local function declares(nodes)
  for _, s in ipairs(nodes) do
    if s.kind == "declaration" then return true end
  end
  return false
end

local DEEPER = "    " -- of what stands on its function's own level

-- The text of statements; in braces of their own where they declare, or one was alone.
local function run_text(part, fit, fn, indent, needs_braces)
  if not needs_braces then return borrowed.text(part, fit, indent) end
  local level = fn.body.body[1] and fn.kernel:indent(fn.body.body[1].first) or ""
  local inner = indent .. (level ~= "" and level or DEEPER)
  return ("{\n%s%s\n%s}"):format(inner, borrowed.text(part, fit, inner), indent)
end

local function with_needs(e, fn, needs)
  local before = borrowed.before(needs)
  for _, text in ipairs(before) do e:before(fn.first, text .. "\n\n") end
  return #before > 0
end

-- "a as b, c as d", of those that have another name.
local function as(part, fit)
  local list = {}
  for _, d in ipairs(part.free) do
    if fit.names[d] ~= d.name then list[#list + 1] = d.name .. " as " .. fit.names[d] end
  end
  return #list > 0 and ", with " .. table.concat(list, ", ") or ""
end

local SAYS = {
  statement = "instead of the statement at line %d comes %s of %s%s",
  before = "before line %d comes %s of %s%s",
  condition = "the condition at line %d is that of %s of %s%s",
  value = "the value at line %d is that of %s of %s%s",
}

local function lines_text(spec)
  return spec.last > spec.first and ("lines %d to %d"):format(spec.first, spec.last)
    or ("line %d"):format(spec.first)
end

local function named(spec, fn)
  return spec.is_file and ("%s in %s"):format(fn.name, spec.name) or fn.name
end

local function put(e, way, part, fit, s, fn)
  local tree = TREES[way] and TREES[way](s)
  if tree then
    local text = borrowed.text(part, fit, ""):gsub("%s+", " ")
    e:replace(tree.first, tree.last, tree.parens and not part.tree.parens and "(" .. text .. ")"
      or text)
    return
  end
  local first, indent = beginning(s), fn.kernel:indent(s.first)
  local braces = declares(part.nodes) or #part.nodes > 1 and not edit.is_listed(s)
  local text = run_text(part, fit, fn, indent, braces)
  if way == "before" then
    e:before(first, text .. "\n" .. indent)
  else
    e:replace(first, s.last, text)
  end
end

local function make_part(kernel, line, spec, fns, way)
  local part, why
  if TREES[way] then
    part, why = tree_at(fns, spec, TREES[way])
  else
    part, why = run_at(fns, spec)
  end
  if not part then return nil, why end
  local s, fn = place_at(kernel, line, way)
  if not s then return nil, "no statement there can have one of another function" end
  if part.fn == fn then return nil, "it is of the same function" end
  why = stuck(part, fn, s)
  if why then return nil, why end
  local fit
  fit, why = borrowed.fit(part, fn, borrowed.known_at(fn, beginning(s)))
  if not fit then return nil, why end
  local e = edit.new(kernel)
  put(e, way, part, fit, s, fn)
  local is_outside = with_needs(e, fn, fit)
  return { edits = e:lines(), alone = is_outside or nil,
    says = SAYS[way or "statement"]:format(line, lines_text(spec), named(spec, part.fn),
      as(part, fit)) }
end

--------------------------------------------------------------------------------------------------
-- Calls

local NO_TYPE = set("__device__ __host__ __forceinline__ __noinline__ static inline constexpr "
  .. "extern const volatile")

-- What a function returns and takes, as a text.
local function signature(fn)
  if fn.signature then return fn.signature end
  local words, list = fn.kernel.words, {}
  for i = fn.first, fn.head - 2 do
    if words.kind[i] == "name" and not NO_TYPE[words[i]] or words[i] == "*" then
      list[#list + 1] = words[i]
    end
  end
  local result = { table.concat(list, " ") }
  for i, p in ipairs(fn.params) do
    result[i + 1] = ("%s%s%s%s"):format(p.target_const and "const " or "", uses.type(fn, p),
      ("*"):rep(p.pointer), p.reference and "&" or "")
  end
  fn.signature = table.concat(result, ",")
  return fn.signature
end

-- The calls of a statement of functions that have this signature, or any: nodes, and functions.
local function calls_of(kernel, s, wanted)
  local list = {}
  for _, tree in ipairs(statement.trees(s)) do
    expression.walk(tree, function(node)
      local name = node.kind == "call" and node.callee.kind == "name" and node.callee.text
      local fn = name and not node.callee.template and kernel.by_name[name]
      if fn and fn.kind == "device" and (not wanted or signature(fn) == wanted) then
        list[#list + 1] = { node = node, fn = fn }
      end
    end)
  end
  return list
end

-- The calls at a line: of the first statement there that has some.
local function calls_at(kernel, line, wanted)
  local found
  local s, fn = statement_at(kernel, line, function(s)
    found = calls_of(kernel, s, wanted)
    return #found > 0
  end)
  return s and found, fn
end

local function is_template(fn) return fn.kernel.words[fn.first] == "template" end

-- What a function needs to be called from another; nil and why it cannot be.
local function callable(fn, other)
  if other == fn then return nil, "it would call itself" end
  if is_template(other) then return nil, other.name .. " is a template" end
  return borrowed.needs(fn, other, { other.name })
end

local function make_call(kernel, line, spec, fns)
  local other, why = function_at(fns, spec)
  if not other then return nil, why end
  local calls, fn = calls_at(kernel, line, signature(other))
  if not calls then return nil, "no call there is of a function with the same parameters" end
  local needs
  needs, why = callable(fn, other)
  if not needs then return nil, why end
  local name, e, was = needs.renamed[other.name] or other.name, edit.new(kernel), nil
  for _, call in ipairs(calls) do
    if call.fn ~= other then
      was = was or call.fn.name
      e:replace(call.node.callee.first, call.node.callee.last, name)
    end
  end
  if not was then return nil, "it is called there already" end
  local is_outside = with_needs(e, fn, needs)
  return { edits = e:lines(), alone = is_outside or nil,
    says = ("line %d calls %s instead of %s"):format(line, named(spec, other), was) }
end

function M.make(kernel, line, args)
  local spec, way = spec_of(args[1]), args[2]
  if not spec or way and not WAYS[way] or #args > 2 then
    return nil, "it is written (FUNCTION:LINE) or (FILE:FIRST-LAST@HASH), with before, condition, "
      .. "value or call behind a comma"
  end
  local fns, why = functions_of(kernel, spec)
  if not fns then return nil, why end
  local change
  if way == "call" then
    change, why = make_call(kernel, line, spec, fns)
  else
    change, why = make_part(kernel, line, spec, fns, way)
  end
  if change and not change.edits then return nil, "two changes overlap" end
  return change, why
end

--- Why a gene is none here, though it is written well: its donor is gone, or is another text.
---@param gene gilua.transform_gene
---@param donors gilua.donors?
---@return string?
function M.refuses(gene, donors)
  local spec = spec_of(gene.args[1])
  if not spec or not spec.is_file then return nil end
  if not donors then return "there are no donors here" end
  local _, why = donors:find(spec.name, spec.hash)
  return why
end

--------------------------------------------------------------------------------------------------
-- Where it can be made

-- The functions that parts are taken from: { fn, donor = { name, hash } }; of this file and others.
local function sources(kernel)
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

local function has_effect(nodes)
  for _, s in ipairs(nodes) do
    if s.kind ~= "declaration" and s.kind ~= "directive" and s.kind ~= "empty" then return true end
  end
  return false
end

local function add_unit(units, source, part, first, last, more)
  if not part or #part.free > MOST_FREE then return end
  local unit = { fn = source.fn, part = part, text = spec_text(source.donor, first, last) }
  for key, value in pairs(more or {}) do unit[key] = value end
  units[#units + 1] = unit
end

-- Conditions and values; constants are no gift.
local function add_trees(units, source, s, line, seen)
  for _, way in ipairs(TREE_WAYS) do
    local tree = TREES[way](s)
    if tree and not seen[way .. line] then
      seen[way .. line] = true
      local part = tree_part(source.fn, tree)
      if part and #part.free > 0 then
        add_unit(units, source, part, line, line, { way = way, kind = s.kind })
      end
    end
  end
end

-- Statements of a list, from each on, up to MOST_TOGETHER of them.
local function add_runs(units, source, s)
  local kernel, nodes = source.fn.kernel, nil
  local body = edit.is_listed(s) and s.parent.body or {}
  for _, other in ipairs(body) do
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

local function units_of(functions)
  local units = {}
  for _, source in ipairs(functions) do
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

-- The variables that a place knows: one list for all places that know the same.
local function known_of(lists, fn, token)
  local known = borrowed.known_at(fn, token)
  local names = {}
  for i, d in ipairs(known) do names[i] = d.token end
  local key = table.concat(names, " ")
  lists[key] = lists[key] or known
  lists[key].fits = lists[key].fits or {}
  return lists[key]
end

-- The place of a way at a line; nil where there is none.
local function place_of(kernel, line, way, lists)
  local s, fn = place_at(kernel, line, way)
  if not s then return nil end
  local tree = TREES[way] and TREES[way](s)
  local part = borrowed.part(fn, (tree or s).first, (tree or s).last)
  if not part then return nil end
  part.nodes = { tree or s }
  local written, read = borrowed.touched(part)
  for name in pairs(way == "before" and written or {}) do read[name] = true end
  return { s = s, fn = fn, line = line, way = way, tree = tree, written = written, read = read,
    known = known_of(lists, fn, beginning(s)), plain = kernel:plain(tree or s) }
end

-- Is it of the same kind as what it would replace?
local function is_alike(unit, place)
  local way = TREES[place.way] and place.way or nil
  if unit.way ~= way or unit.fn == place.fn then return false end
  if unit.way == "condition" and unit.kind ~= place.s.kind then return false end
  if unit.way ~= "value" then return not stuck(unit.part, place.fn, place.s) end
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

-- A part at a place; nil where it cannot be, or does nothing for it.
local function candidate(unit, place, order)
  local fit = is_alike(unit, place) and fit_of(unit, place)
  local score = fit and score_of(unit, fit, place)
  return score and { line = place.line, args = { unit.text, place.way }, score = score,
    order = order, unit = unit, fit = fit } or nil
end

local function by_score(a, b)
  if a.score ~= b.score then return a.score > b.score end
  if a.line ~= b.line then return a.line < b.line end
  return a.order < b.order
end

local function best(list, most)
  table.sort(list, by_score)
  return table.move(list, 1, math.min(most, #list), 1, {})
end

-- The best of all parts at a place, of those that read alike the first, and none that changes
-- nothing.
local function add_parts(list, units, place, most)
  local found, seen, before = {}, { [place.plain] = true }, #list
  for order, unit in ipairs(units) do found[#found + 1] = candidate(unit, place, order) end
  for _, one in ipairs(best(found, #found)) do
    local text = borrowed.text(one.unit.part, one.fit, ""):gsub("%s+", " ")
    if not seen[text] then list[#list + 1] = one end
    seen[text], one.unit, one.fit = true, nil, nil
    if #list == before + most then break end
  end
end

-- Functions that could be called at a line in the place of others.
local function add_calls(list, kernel, line, functions)
  local found, n = {}, 0
  for _, source in ipairs(functions) do
    local other = source.fn
    local calls, fn = nil, nil
    if other.kind == "device" then calls, fn = calls_at(kernel, line, signature(other)) end
    local is_new = calls and calls[1].fn ~= other and callable(fn, other)
    if is_new and n < MOST_OF_LINE.call then
      n = n + 1
      found[n] = { line = line, score = 2, order = #list + n,
        args = { spec_text(source.donor, other.line, other.line), "call" } }
    end
  end
  table.move(found, 1, n, #list + 1, list)
end

-- The lines of functions that evolve.
local function lines_of(kernel)
  local list, seen = {}, {}
  for _, fn in ipairs(kernel.functions) do
    local is_open = (fn.kind == "device" or fn.is_entry) and kernel:is_open(fn.line, fn.last_line)
    for _, s in ipairs(is_open and fn.statements or {}) do
      local line = kernel:line_of(s.first)
      if not seen[line] and #list < MOST_LINES then list[#list + 1] = line end
      seen[line] = true
    end
  end
  return list
end

function M.find(kernel)
  local functions = sources(kernel)
  if #functions < 2 then return {} end
  local units, lines, list, lists = units_of(functions), lines_of(kernel), {}, {}
  local tries = math.max(LEAST_TRIED, MOST_TRIED // math.max(1, #lines))
  for _, line in ipairs(lines) do
    for _, way in ipairs { "instead", "before", "condition", "value" } do
      local place = place_of(kernel, line, way ~= "instead" and way or nil, lists)
      if place then
        place.tries = tries
        add_parts(list, units, place, MOST_OF_LINE[way])
      end
    end
    add_calls(list, kernel, line, functions)
  end
  list = best(list, MOST_FOUND)
  table.sort(list, function(a, b)
    if a.line ~= b.line then return a.line < b.line end
    return by_score(a, b)
  end)
  return list
end

return M
