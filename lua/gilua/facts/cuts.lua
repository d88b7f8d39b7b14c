--- cuts: where may a kernel be cut in two parts, and what belongs to each?
--
-- A list of statements is cut before one of them: all blocks do the first statements, which are
-- cheap and tell nobody anything; then come the two parts. Below a condition at the end of a list
-- stands such a list, too. A loop in a list is cut in its body: it is there twice, once in each
-- part, and what stands behind it goes where its variables are from.
--
-- What the parts need of each other is asked of separate.

local effects = require "gilua.facts.effects"
local order = require "gilua.facts.order"
local separate = require "gilua.facts.separate"

local M = {}

local function slice(list, from, to) return table.move(list, from, to, 1, {}) end

local function append(list, more) return table.move(more, 1, #more, #list + 1, list) end

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do append(all, list) end
  return all
end

-- ---- where ------------------------------------------------------------------------------------

-- May all blocks do a statement: does it tell no other block anything, and take little?
local function is_common(fn, s)
  return s.kind ~= "directive" and not separate.is_long(fn, s)
    and not separate.writes(separate.outside(fn, effects.of(fn, s)))
end

local function common_prefix(fn, list)
  local n = 0
  while list[n + 1] and is_common(fn, list[n + 1]) do n = n + 1 end
  return n
end

-- The lists of a kernel that may be parted: its own, and those below conditions at its end; with
-- what all blocks do before each.
local function lists(fn)
  local found, list, before = {}, fn.body.body, {}
  while list do
    local prefix, last = common_prefix(fn, list), list[#list]
    found[#found + 1] = { list = list, before = before, prefix = prefix }
    local is_guard = last and last.kind == "if" and last.condition and not last.otherwise
      and last.body.kind == "block" and prefix >= #list - 1
      and not separate.writes(separate.outside(fn, effects.of(fn, last.condition)))
    before = is_guard and joined(before, slice(list, 1, #list - 1), { last.condition })
    list = is_guard and last.body.body or nil
  end
  return found
end

---@class gilua.cut
---@field of { list: table[], before: table[], prefix: integer } the list, what all blocks do before
---  it, and how many of its first statements they do
---@field number integer the statement of the list, before which it is cut
---@field cut? integer or the statement of that loop's body

--- Returns the places of a source's kernels where they may be cut, in the file's order.
---@return gilua.cut[]
function M.all(kernel)
  local places = {}
  for _, fn in ipairs(kernel.functions) do
    local function add(of, s, number, cut)
      places[#places + 1] = { fn = fn, of = of, number = number, cut = cut, s = s,
        line = kernel:line_of(s.first), from = fn.line, last = fn.last_line }
    end
    for _, of in ipairs(fn.is_entry and fn.body and lists(fn) or {}) do
      for number, s in ipairs(of.list) do
        if number > 1 and s.kind ~= "directive" then add(of, s, number) end
        local body = s.loop and s.loop.body.kind == "block" and s.loop.body.body or {}
        for cut = 2, #body do add(of, body[cut], number, cut) end
      end
    end
  end
  return places
end

-- ---- a list -----------------------------------------------------------------------------------

-- How many of a list's first statements all blocks do, where the first part ends at `last`: not
-- those that load what it writes, unless they have to.
local function shared_prefix(fn, of, last)
  local from = math.min(of.prefix, last)
  local made = separate.outside(fn, effects.all(fn, slice(of.list, from + 1, last)))
  for n = 1, from do
    local head = separate.outside(fn, effects.of(fn, of.list[n]))
    if separate.meets(fn, head, made) then return n - 1 end
  end
  return from
end

---@class gilua.parts
---@field common table[] statements and trees that all blocks do
---@field one table of separate.part
---@field other table
---@field first? integer of a list: the first part's first statement, and its last
---@field last? integer
---@field declaring? integer of a loop: how many statements of its body both do
---@field behind? table[][] what stands behind it, by parts

local function list_parted(at)
  local fn, of, list, last = at.fn, at.of, at.of.list, at.number - 1
  while last > 0 and list[last].kind == "directive" do last = last - 1 end
  local from = shared_prefix(fn, of, last)
  if from == last then return nil, "nothing stands before it but what both parts do" end
  local one = separate.part(fn, slice(list, from + 1, last))
  if one.inside["return"] then return nil, "the first part may leave the kernel" end
  for _, s in ipairs(one.list) do
    if s.kind == "type" then return nil, "the first part declares a type" end
  end
  return { common = joined(of.before, slice(list, 1, from)), one = one, first = from + 1,
    last = last, other = separate.part(fn, slice(list, last + 1, #list)) }
end

-- ---- a loop -----------------------------------------------------------------------------------

-- How many of a loop's first statements only declare what an iteration needs.
local function declaring_prefix(fn, body)
  local n = 0
  while body[n + 1].kind == "declaration" and is_common(fn, body[n + 1]) and n + 1 < #body do
    n = n + 1
  end
  return n
end

-- The variables of reads and writes, by declaration, or name; those of arrays that are written.
local function add_variables(fn, names, into)
  for name, tokens in pairs(names) do into[fn:declaration(name, tokens[1]) or name] = true end
  return into
end

local function add_written(fn, inside, into)
  for _, access in ipairs(inside.accesses) do
    local d = access.write and separate.own_array(fn, access)
    if d then into[d] = true end
  end
  return add_variables(fn, inside.writes, into)
end

local function has_any(set, of)
  for key in pairs(set) do
    if of[key] then return true end
  end
  return false
end

-- Gives the statements behind a loop to the parts whose variables they use: two lists; nil and why
-- they cannot be.
local function share_out(fn, list, from, one, other)
  local made = { add_written(fn, one, {}), add_written(fn, other, {}) }
  local behind = { {}, {} }
  for i = from, #list do
    local s, inside = list[i], effects.of(fn, list[i])
    local used = add_variables(fn, inside.writes, add_variables(fn, inside.reads, {}))
    local is_first, line = has_any(used, made[1]), fn.kernel:line_of(s.first)
    if is_first and has_any(used, made[2]) then
      return nil, ("line %d needs what both parts make"):format(line)
    elseif s.kind == "directive" or s.kind == "type" or inside.barrier or inside.warp
      or inside["return"] then
      return nil, ("line %d is of both parts"):format(line)
    end
    local part = is_first and 1 or 2
    table.insert(behind[part], s)
    add_written(fn, inside, made[part])
  end
  return behind
end

-- Is an array that one of two effects writes one of the other's?
local function meets_array(fn, a, b, is_both)
  for _, one in ipairs(a.accesses) do
    local d = separate.own_array(fn, one)
    for _, two in ipairs(d and b.accesses or {}) do
      local is_written = one.write or is_both and two.write
      if is_written and separate.own_array(fn, two) == d then return true end
    end
  end
  return false
end

-- Does a part change what statements ask for that both parts do in each iteration?
local function changes(fn, part, asking)
  for name, tokens in pairs(part.inside.writes) do
    for _, token in ipairs(tokens) do
      local d = fn:declaration(name, token)
      if d and #separate.tokens_of(fn, asking.reads, d) > 0 then return true end
    end
  end
  return meets_array(fn, part.inside, asking, false)
end

-- May a loop be there twice? nil and why not.
local function is_plain(at, loop)
  if not order.is_plain(loop) then return nil, "the loop does more than count through its body" end
  if at.of.prefix < at.number - 1 - #loop.pragmas then
    return nil, "something is done before the loop"
  end
  for _, s in ipairs(loop.body.body) do
    if s.kind == "directive" or s.kind == "type" then
      return nil, "the loop's body has a directive"
    end
  end
  return true
end

local function loop_parted(at)
  local fn, of, s = at.fn, at.of, at.of.list[at.number]
  local loop, body = s.loop, s.loop.body.body
  local fits, why = is_plain(at, loop)
  if not fits then return nil, why end
  local declaring = math.min(declaring_prefix(fn, body), at.cut - 1)
  if at.cut - 1 <= declaring then return nil, "the first part does nothing" end
  local a, b = slice(body, declaring + 1, at.cut - 1), slice(body, at.cut, #body)
  local behind
  behind, why = share_out(fn, of.list, at.number + 1, effects.all(fn, a), effects.all(fn, b))
  if not behind then return nil, why end
  local one = separate.part(fn, joined(a, behind[1]))
  local other = separate.part(fn, joined(b, behind[2]))
  one.is_long, other.is_long = true, true
  local asking = effects.all(fn, slice(body, 1, declaring))
  if order.shares_variable(fn, one.inside, other.inside)
    or meets_array(fn, one.inside, other.inside, true)
    or changes(fn, one, asking) or changes(fn, other, asking) then
    return nil, "one part uses a variable that the other changes"
  end
  local common = joined(of.before, slice(of.list, 1, at.number - 1 - #loop.pragmas),
    { s.condition, s.step, loop.start or nil }, slice(body, 1, declaring))
  return { common = common, one = one, other = other, declaring = declaring, behind = behind }
end

--- Returns the parts of a kernel that is cut at a place; nil and why it cannot be.
---@param at gilua.cut
---@return gilua.parts?
---@return string? why
function M.parted(at) return (at.cut and loop_parted or list_parted)(at) end

return M
