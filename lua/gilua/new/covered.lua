-- covered: has each launch of a kernel threads for all its items? A kernel keeps its threads within
-- a bound: `if (i < n)`. Blocks beyond the last one do nothing then, as long as the grid is made of
-- that bound: `(n + 255) / 256`. Of a launch for a part of the items they do what no block did.
--
-- The host's code is read: the grid is computed for several values of what the bound is made of.

local boundsize = require "gilua.new.boundsize"
local callers = require "gilua.host.callers"
local csource = require "gilua.source.csource"
local fixed = require "gilua.host.fixed"

local M = {}

local TRIED = { 1, 31, 1000, 4097, 70001 }

-- A text with names for members, `cfg.n` and `p->n`, but for the sides of a dim3.
local function plain(text)
  local dotted = text:gsub("%->", ".")
  return (dotted:gsub("([%a_][%w_]*)%s*%.%s*([%a_][%w_]*)", function(owner, member)
    return not member:find "^[xyz]$" and owner .. "_" .. member or nil
  end))
end

-- The names in a text that may have several values.
local function open_names(host, text, body)
  local t <close> = csource.tokens(text)
  local list = {}
  for i = 1, #t do
    local name = t:kind(i) == "name" and t[i - 1] ~= "." and t[i + 1] ~= "(" and t[i]
    if name and not fixed.is(host, name, body) then list[#list + 1] = name end
  end
  return list
end

-- A number with other values for names; nil where it is not known.
local function value_with(host, names, value, text)
  local known, other = host.known, {}
  for _, name in ipairs(names) do other[name] = value end
  host.known = other
  local n = host:value(text)
  host.known = known
  return n
end

-- Does a launch's side have threads for as many items as a bound says? nil: not known.
local function covers(host, way, side, block, items)
  local list = host:sides(way.grid)
  local text = plain(list[side] or "1")
  items = plain(items)
  local names = open_names(host, items, way.open or way.launch.body)
  for _, value in ipairs(#names > 0 and TRIED or { 0 }) do
    local n, blocks = value_with(host, names, value, items), value_with(host, names, value, text)
    if not n or not blocks then return nil end
    if blocks * block < n then return false end
  end
  return true
end

--- Has a launch threads for all items along a side? Yes where the kernel has no bound there.
---@param problem gilua.problem of a kernel table
---@param host HostCode
---@param way HostWay
---@param side integer 1, 2 or 3
---@param block integer? threads of a block along it, where they are known
---@return boolean? answer nil: not known
---@return string? bound of the kernel
function M.is(problem, host, way, side, block)
  local given = {}
  for i, arg in ipairs(problem.definition.kernel_table.table.args) do
    given[arg.name] = way.args[i] and callers.bracketed(way.args[i])
  end
  for _, bound in ipairs(boundsize.bounds(problem)) do
    local items = bound.side == side and callers.replaced(bound.text, given)
    if items and bound.relation == "<=" then items = "(" .. items .. ") + 1" end
    local answer = not items
    if items and block then answer = covers(host, way, side, block, items) end
    if items and not block then answer = nil end
    if not answer then return answer, bound.text end
  end
  return true
end

return M
