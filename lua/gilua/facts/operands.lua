--- operands: the two operands of a contraction (gilua.facts.contraction), and where they lie.
--
-- An operand is { index (down or across), text, type, base (the name that is indexed), accesses,
-- along, wide, offset, rest }. `along` is the name that counts neighbouring elements, or nil.
-- `wide` are numbers: where these are multiples of as many elements as 16 bytes have, chunks of 16
-- bytes are aligned as the base is, and end where the operand's elements do; nil: never. Of several
-- loops, the index is the sum of `offset`, which depends on their variables, and `rest`, which does
-- not; nil where it is no such sum, or is not computed as an int.
--
-- It is an element of an array that the kernel never writes, by one index, which depends on a
-- variable of the loops and on one of the two indices.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"
local types = require "gilua.facts.types"

local M = {}

--- Bytes of the types of elements and sums.
M.BYTES = { float = 4, int = 4, unsigned = 4, ["unsigned int"] = 4, double = 8 }

--- Their vectors of 16 bytes.
M.VECTORS = { float = "float4", int = "int4", unsigned = "uint4", ["unsigned int"] = "uint4",
  double = "double2" }

--- Returns which of the two indices a tree depends on, { down, across }, by the names that were
--- declared of them.
function M.depends(found, tree)
  local on = {}
  for name in pairs(effects.of(found.fn, tree).reads) do
    for which in pairs(found.known[name] or {}) do on[which] = true end
  end
  return on
end

--- Is a tree zero where all elements that it loads are?
function M.is_zero(kernel, tree)
  if tree.kind == "index" then return true end
  if tree.kind == "cast" then return M.is_zero(kernel, tree.a) end
  if tree.kind == "unary" and (tree.op == "-" or tree.op == "+") then
    return M.is_zero(kernel, tree.a)
  elseif tree.kind == "binary" and (tree.op == "+" or tree.op == "-") then
    return M.is_zero(kernel, tree.a) and M.is_zero(kernel, tree.b)
  elseif tree.kind == "binary" and tree.op == "*" then
    local a, b = M.is_zero(kernel, tree.a), M.is_zero(kernel, tree.b)
    return a and (b or tree.b.kind == "number") or b and tree.a.kind == "number"
  elseif tree.kind == "call" and (tree.callee.text == "fabsf" or tree.callee.text == "abs") then
    return effects.is_of_cuda(kernel, tree.callee.text) and M.is_zero(kernel, tree.args[1])
  end
  return false
end

-- The factors of a monomial that are none of these names, as a text; nil of a number alone.
local function factors(monomial, names)
  local list = {}
  for factor in monomial:gmatch "[^*]+" do
    if not names[factor] then list[#list + 1] = factor end
  end
  return #list > 0 and table.concat(list, " * ") or nil
end

local function mentions(monomial, name) return factors(monomial, { [name] = true }) ~=
  factors(monomial, {}) end

-- Those texts of products that have no other one as a factor, in order.
local function fewest(list)
  table.sort(list)
  return lists.filter(list, function(text)
    return lists.none(list, function(other)
      return other ~= text and (" " .. text .. " "):find(" " .. other .. " ", 1, true)
    end)
  end)
end

-- Which of two names counts neighbouring elements of a form, and the conditions under which each
-- `count`-th of them is aligned if the array is; nil where none counts so. `other` are all names
-- that differ within a block.
local function neighbours(form, names, other, count)
  for _, name in ipairs(names) do
    local is_alone = form[name] == 1
    local wide, seen = {}, {}
    for monomial, n in pairs(form) do
      if monomial ~= name then
        is_alone = is_alone and not mentions(monomial, name)
        local text = factors(monomial, other)
        if text and not text:find "^[%w_. *]+$" or not text and n % count ~= 0 then
          wide = nil
        elseif text and n % count ~= 0 and wide and not seen[text] then
          seen[text] = true
          wide[#wide + 1] = text
        end
      end
    end
    if is_alone then return name, wide and fewest(wide) end
  end
end

--- Returns the bound of a condition `name < bound`, a tree; nil of any other.
function M.bound(guard, name)
  local tree = guard.tree
  local is_end = tree.kind == "binary" and (tree.op == "<" or tree.op == ">=")
    and tree.a.kind == "name" and tree.a.text == name
  return is_end and tree.b or nil
end

-- Adds the numbers that must be multiples for chunks of `count` to end where an operand's elements
-- do: the long index's start and bound, or the bounds of an output's guards; nil where one may not.
local function add_ends(found, one, count)
  local kernel, loop, ends = found.fn.kernel, found.loop, {}
  if found.variables[one.along] then
    local start = found.slopes.start
    if not start then ends[1] = loop.start end
    if not found.slopes.bound then ends[#ends + 1] = loop.bound end
    if loop.relation ~= "<" and not found.slopes.bound or #found.loops > 1
      or start and start.add % count ~= 0 then
      return nil
    end
  end
  for _, guard in ipairs(not found.variables[one.along] and found.guards[one.index] or {}) do
    local bound = M.bound(guard, one.along)
    if not bound or next(M.depends(found, bound)) then return nil end
    ends[#ends + 1] = bound
  end
  for _, tree in ipairs(ends) do
    local value, text = affine.integer(tree), kernel:operand(tree)
    if value and value % count ~= 0 then return nil end
    if not value and lists.none(one.wide, function(other) return other == text end) then
      table.insert(one.wide, text)
    end
  end
  return one.wide
end

-- Does a text have one of these names as a word?
local function has_word(text, names)
  for word in text:gmatch "[%a_][%w_]*" do
    if names[word] then return true end
  end
  return false
end

-- A monomial with its number, as a text.
local function term(monomial, n)
  local list = { n ~= 1 and tostring(n) or nil }
  for factor in monomial:gmatch "[^*]+" do
    list[#list + 1] = factor:find "^[%w_.]+$" and factor or ("(%s)"):format(factor)
  end
  return #list > 0 and table.concat(list, " * ") or tostring(n)
end

-- The texts of those parts of an index that hang on the loops' variables, and of the others.
local function add_parts(found, one, form, index, outputs)
  local has_cast, parts = false, { [true] = {}, [false] = {} }
  expression.walk(index, function(node) has_cast = has_cast or node.kind == "cast" end)
  if has_cast or types.of(found.fn, index) ~= "int" then return end
  for _, monomial in ipairs(settings.keys(form)) do
    local is_offset = has_word(monomial, found.variables)
    if is_offset and has_word(monomial, outputs) then return end
    table.insert(parts[is_offset], term(monomial, form[monomial]))
  end
  one.offset = table.concat(parts[true], " + ")
  one.rest = #parts[false] > 0 and table.concat(parts[false], " + ") or "0"
end

-- An operand of an access; nil and why.
local function operand(found, access)
  local fn, kernel = found.fn, found.fn.kernel
  local function no(why) return nil, ("`%s` %s"):format(kernel:plain(access.node), why) end
  if access.node.kind ~= "index" or not access.root or not access.indices
    or #access.indices ~= 1 or not access.base or found.known[access.base] then
    return no "is no element whose place is known"
  end
  local type, index = fn:element_type(access), access.indices[1]
  local reads = effects.of(fn, index).reads
  if not M.BYTES[type or ""] then return no "is of a type that tiles are not made of" end
  local form, is_known = affine.form(kernel, index), true
  for name in pairs(reads) do
    local is_own = name == found.down.name or name == found.across.name
    if found.known[name] and not is_own then is_known = false end
  end
  if not form or not is_known or #effects.of(fn, index).accesses > 0 then
    return no "has an index that is not understood"
  end
  local which = M.depends(found, index)
  if (which.down and true) == (which.across and true)
    or lists.none(found.loops, function(loop) return reads[loop.variable] end) then
    return no "does not depend on the loop and on one of the two indices"
  elseif not fn:is_constant(access.root) then
    return no "is of an array that the kernel may write"
  end
  local side = which.down and "down" or "across"
  local other = { [found[side].name] = true }
  for name in pairs(found.variables) do other[name] = true end
  local along, wide = neighbours(form, { found[side].name,
    found.loops[#found.loops].variable }, other, 16 // M.BYTES[type])
  local one = { index = side, text = kernel:plain(access.node), type = type, base = access.base,
    along = along, wide = along and wide, accesses = {} }
  one.wide = one.wide and add_ends(found, one, 16 // M.BYTES[type])
  if #found.loops > 1 then
    add_parts(found, one, form, index, { [found.down.name] = true, [found.across.name] = true })
  end
  return one
end

--- Adds the operands of a contraction's statement, by index; nil and why.
function M.add(found)
  local kernel, by_text = found.fn.kernel, {}
  for _, access in ipairs(effects.of(found.fn, found.statement).accesses) do
    local text = access.node and kernel:plain(access.node)
    if not text or access.write then return nil, "it writes memory" end
    local one = by_text[text]
    if not one then
      local why
      one, why = operand(found, access)
      if not one then return nil, why end
      by_text[text] = one
      if found.operands[one.index] then return nil, "it has more than two operands" end
      found.operands[one.index] = one
    end
    table.insert(one.accesses, access)
  end
  if found.operands.down and found.operands.across then return true end
  return nil, "it has no operand for each of the two indices"
end

return M
