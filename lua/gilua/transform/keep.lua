--- keep: an element of an array that a loop reads and writes in each iteration is kept in a
-- variable, and stored once behind the loop.
--
--   for (j = 0; j < n; j++) y[i] += a[j];
--
--   float y_kept = y[i];
--   for (j = 0; j < n; j++) y_kept += a[j];
--   y[i] = y_kept;
--
-- Where the loop may have no round, the element is touched only if it has one. Where the statement
-- before the loop stores the element's first value, it becomes the variable's.
-- The compiler may not: for all that it knows, a[j] is y[i]. Other elements of the same array may
-- be read where the heads of loops and the conditions above tell them from it: y[j] with j < i.

local apart = require "gilua.facts.apart"
local certain = require "gilua.facts.certain"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local ranges = require "gilua.facts.ranges"

local function all_invariant(loop, indices)
  for _, index in ipairs(indices) do
    if not loop_of.is_invariant(loop.fn, index, loop.inside) then return false end
  end
  local head = loop.statement
  for _, part in ipairs { head.init or false, head.step or false } do
    for _, index in ipairs(indices) do
      if part and not loop_of.is_invariant(loop.fn, index, effects.of(loop.fn, part)) then
        return false
      end
    end
  end
  return true
end

-- The elements that may be kept: { text, accesses, type }, in the order in which they stand.
local function elements(loop)
  local list, by_text = {}, {}
  local fn, kernel = loop.fn, loop.fn.kernel
  if loop.opaque or loop.barrier or loop.leaves or loop.conditional then return list end
  for _, access in ipairs(loop.inside.accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    local own = d and #d.extents > 0 and not d.shared
    if access.write and access.indices and access.node.kind == "index" and not own
      and not access.atomic then
      local text = kernel:plain(access.node)
      local type = fn:element_type(access)
      if type and not by_text[text] and all_invariant(loop, access.indices) then
        by_text[text] = { text = text, accesses = {}, type = type, root = access.root,
                          base = access.base, indices = access.indices }
        list[#list + 1] = by_text[text]
      end
    end
  end
  return list, by_text
end

-- Is an access of the element's array, but never of the element, as the loops and conditions around
-- it tell?
local function is_another(loop, access, element, facts)
  return access.base == element.base and access.indices and not access.escapes
    and ranges.are_apart(loop, access.indices, element.indices, facts) or false
end

-- Is every access that may be of this element one of this text? Those are then its accesses.
local function is_alone(loop, element)
  local facts = ranges.facts(loop)
  for _, access in ipairs(loop.inside.accesses) do
    local same = access.node and access.node.kind == "index" and not access.atomic
      and not access.escapes and loop.fn.kernel:plain(access.node) == element.text
    if same then
      table.insert(element.accesses, access)
    elseif apart.may_touch(loop.fn, access, element.root)
      and not is_another(loop, access, element, facts) then
      return false
    end
  end
  return #element.accesses > 0
end

local given_before

-- Does a loop touch an element for certain where it is loaded and stored: before the loop, or in
-- each round, if there is one?
local function is_touched(loop, element)
  element.given = given_before(loop, element)
  if element.given then return true end
  local always, found = certain.set(loop), false
  for _, access in ipairs(element.accesses) do found = found or always[access.node] or false end
  return found and once.guard(loop, loop.fn.kernel:names()) ~= nil
end

--- The elements that a loop can keep: { text, type, base, accesses, given (the assignment right
--- before the loop) }; others are touched only if the loop has a round (gilua.facts.once).
---@param loop table of gilua.facts.loop
local function kept(loop)
  local list = {}
  for _, element in ipairs((elements(loop))) do
    if is_alone(loop, element) and is_touched(loop, element) then list[#list + 1] = element end
  end
  return list
end

-- Does a statement do nothing: a pragma, or the declaration of what has no value yet?
local function does_nothing(s)
  for _, d in ipairs(s.declared or {}) do
    if d.init or d.init_form or d.shared or d.static then return false end
  end
  return s.kind == "directive" or s.kind == "declaration"
end

-- What right before the loop gives an element its value, `y[i] = 0`; nil where nothing does.
function given_before(loop, element)
  local parent, before = loop.statement.parent, nil
  if not parent or parent.kind ~= "block" then return nil end
  for _, s in ipairs(parent.body) do
    if s == loop.statement then break end
    if not does_nothing(s) then before = s end
  end
  local tree = before and before.kind == "expression" and before.tree
  local fits = tree and tree.kind == "assign" and tree.op == "="
    and loop.fn.kernel:plain(tree.a) == element.text
  return fits and tree or nil
end

local M = { name = "keep", apart = true, kept = kept,
  doc = "An array's element that a loop updates, kept in a variable and stored behind the loop." }

-- The loops of a function, or a part of it, that keep something, the innermost of those within each
-- other.
local function all_loops(fn, part)
  return loop_of.innermost(fn, function(loop) return #kept(loop) > 0 end, part)
end

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    if fn.body and kernel:is_open(fn.line, fn.last_line) and #all_loops(fn) > 1 then
      list[#list + 1] = { line = fn.line, args = { "all" } }
    end
  end
  for _, loop in ipairs(kernel:open_loops()) do
    if #kept(loop) > 0 then
      list[#list + 1] = { line = loop.line, args = {} }
    end
  end
  return list
end

-- Puts the elements that a loop keeps into variables, of names that are new.
local function put(loop, e, names)
  local before, after, guard = {}, {}, nil
  local list = kept(loop)
  for _, element in ipairs(list) do
    local name, given = names(element.base .. "_kept"), element.given
    if given then
      e:replace(given.a.first, given.a.last, element.type .. " " .. name)
    elseif not guard then
      guard = once.guard(loop, names)
      table.move(guard.lines or {}, 1, #(guard.lines or {}), 1, before)
    end
    local asked = not given and guard.text and ("if (%s) "):format(guard.text) or ""
    for _, line in ipairs(not given and once.valued(guard, element.type, name, element.text)
      or {}) do
      before[#before + 1] = line:gsub("^const ", "")
    end
    after[#after + 1] = ("%s%s = %s;"):format(asked, element.text, name)
    for _, access in ipairs(element.accesses) do
      e:replace(access.node.first, access.node.last, name)
    end
  end
  e:around(loop.statement, before, after)
  return list[1] and list[1].text
end

local function keep(loop)
  local e = edit.new(loop.fn.kernel)
  local text = put(loop, e, loop.fn.kernel:names())
  if not text then return nil, "the loop has no element that can be kept" end
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, says = ("%s is kept in a variable during the loop at line %d"):format(
    text, loop.line) }
end

--- The change of all loops of a function, or of a part of it; nil and why where there is none.
---@param fn table of kernel.read
---@param part? table a statement
function M.make_all(fn, part)
  local e, list = edit.new(fn.kernel), all_loops(fn, part)
  if #list == 0 then return nil, "no loop has an element that can be kept" end
  local names, lines = fn.kernel:names(), {}
  for i, loop in ipairs(list) do
    put(loop, e, names)
    lines[i] = loop.line
  end
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, says = ("what the loops at lines %s update is kept in variables"):format(
    table.concat(lines, ", ")) }
end

function M.make(kernel, line, args)
  if args[2] or args[1] and args[1] ~= "all" then
    return nil, "it is written keep<LINE>(), or (all) of a function that begins there"
  end
  if not args[1] then return kernel:first_loop(line, keep) end
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line and fn.body then return M.make_all(fn) end
  end
  return nil, "no function begins there"
end

return M
