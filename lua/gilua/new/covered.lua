-- covered: has each launch of a kernel threads for all its items? A kernel keeps its threads within
-- a bound: `if (i < n)`. Blocks beyond the last one do nothing then, as long as the grid is made of
-- that bound: `(n + 255) / 256`. Of a launch for a part of the items they do what no block did.
--
-- The host's code is read: the grid is computed for several values of what the bound is made of.

local boundsize = require "gilua.new.boundsize"
local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local expression = require "gilua.source.expression"
local fixed = require "gilua.host.fixed"

local M = {}

local TRIED, LENGTHS = { 1, 31, 1000, 4097, 70001 }, { 32, 100, 256 }

-- A text with names for members, `cfg.n` and `p->n`, but for the sides of a dim3.
local function plain(text)
  local dotted = text:gsub("%->", ".")
  return (dotted:gsub("([%a_][%w_]*)%s*%.%s*([%a_][%w_]*)", function(owner, member)
    return not member:find "^[xyz]$" and owner .. "_" .. member or nil
  end))
end

-- Adds the names in a text that may have several values, each with those that are tried.
local function add_open(host, text, body, tried, names)
  expression.walk(code_of.tree(host, text).tree, function(node)
    if node.kind == "name" and not (names[node.text] or fixed.is(host, node.text, body)) then
      names[node.text], names[#names + 1] = tried, node.text
    end
    for _, arg in ipairs(node.kind == "call" and node.args or {}) do
      add_open(host, code_of.part(code_of.tree(host, text), arg), body, tried, names)
    end
    return node.kind ~= "call" and node.kind ~= "member"
  end)
end

-- What a text is with other values for names; nil where that is not known.
local function value_with(host, values, text)
  local known = host.known
  host.known = values
  local n = host:value(text)
  host.known = known
  return n
end

-- Has a launch's side threads for as many items as a bound says? nil: not known. Names in how long
-- a block is are tried with lengths, those in the bound alone with numbers of items.
local function covers(host, way, side, items)
  local body = way.open or way.launch.body
  local blocks = plain(host:sides(way.grid)[side] or "1")
  local length = plain(host:sides(way.block)[side] or "1")
  local names, known = {}, nil
  items = plain(items)
  if not host:value(length) then add_open(host, length, body, LENGTHS, names) end
  add_open(host, items, body, TRIED, names)
  for i = 1, names[1] and #TRIED * #LENGTHS or 1 do
    local values = {}
    for _, name in ipairs(names) do
      local k = names[name] == TRIED and (i - 1) % #TRIED or (i - 1) // #TRIED
      values[name] = names[name][k + 1]
    end
    local n, m = value_with(host, values, items), value_with(host, values, blocks)
    local each = value_with(host, values, length)
    if not (n and m and each) then return nil end
    known = (known == nil or known) and m * each >= n
  end
  return known
end

--- Has a launch threads for all items along a side? Yes where the kernel has no bound there.
---@param problem gilua.problem of a kernel table
---@param host HostCode
---@param way HostWay
---@param side integer 1, 2 or 3
---@return boolean? answer nil: not known
---@return string? bound of the kernel
function M.is(problem, host, way, side)
  local given = {}
  for i, arg in ipairs(problem.definition.kernel_table.table.args) do
    given[arg.name] = way.args[i] and callers.bracketed(way.args[i])
  end
  for _, bound in ipairs(boundsize.bounds(problem)) do
    local items = bound.side == side and callers.replaced(bound.text, given)
    if items and bound.relation == "<=" then items = "(" .. items .. ") + 1" end
    local answer = not items
    if items then answer = covers(host, way, side, items) end
    if not answer then return answer, bound.text end
  end
  return true
end

return M
