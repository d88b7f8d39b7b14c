--- split: a loop whose body does two things becomes two loops, one after the other.
--
-- The other way round from `fuse`. Each of the loops needs fewer registers and goes through fewer
-- arrays at a time. The first does all its iterations before the second begins, so that nothing may
-- go back from the second part of the body to the first one of a later iteration, and no variable
-- from one part to the other.

local apart = require "gilua.facts.apart"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local order = require "gilua.facts.order"

local M = { name = "split", apart = true,
  doc = "A loop whose body does two things, as two loops one after the other." }

local FREE = { atomicAdd = true, atomicSub = true, atomicMin = true, atomicMax = true,
               atomicAnd = true, atomicOr = true, atomicXor = true }

-- Does a part of a body, tokens first to last, do anything that is seen outside of it?
local function does_something(fn, inside, first, last)
  for _, access in ipairs(inside.accesses) do
    local d = access.root and fn:declaration(access.root, access.token)
    if access.write and not (d and d.token >= first and d.token <= last) then return true end
  end
  return order.changes_variable(fn, inside, first, last)
end

--- Does a part do what other threads may wait for?
---@param fn table
---@param inside table its effects
function M.is_waited_for(fn, inside)
  for _, access in ipairs(inside.accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    if access.atomic and not FREE[access.atomic] or d and d.volatile then return true end
  end
  return false
end

-- May an iteration of the first part touch what an earlier one of the second does?
local function goes_back(loop, a, b)
  for _, one in ipairs(a.accesses) do
    for _, two in ipairs(b.accesses) do
      if (one.write or two.write) and apart.may_meet(loop.fn, one, two) then
        local later = order.distance(loop, one, two)
        if later == nil or later and later ~= 0 and (later > 0 or not loop.step) then
          return true
        end
      end
    end
  end
  return false
end

local function unfit(loop)
  if not order.is_plain(loop) or loop.body.kind ~= "block" then
    return "it does more than count through a body of several statements"
  elseif not order.keeps_start(loop) then
    return "it changes where it begins"
  end
end

-- Why the body of a loop cannot be cut behind its statement of that number; nil where it can.
local function uncut(loop, number)
  local fn, list = loop.fn, loop.body.body
  local one, other = list[number], list[number + 1]
  if not one or not other or one.kind == "directive" then return "its body has no two parts" end
  local a = effects.all(fn, table.move(list, 1, number, 1, {}))
  local b = effects.all(fn, table.move(list, number + 1, #list, 1, {}))
  if not does_something(fn, a, list[1].first, one.last)
    or not does_something(fn, b, other.first, list[#list].last) then
    return "one part of it does nothing by itself"
  elseif order.shares_variable(fn, a, b) then
    return "one part uses a variable that the other changes"
  elseif M.is_waited_for(fn, a) or M.is_waited_for(fn, b) then
    return "other threads may wait for what it does"
  elseif goes_back(loop, a, b) then
    return "the first part may use what the second one does in an earlier iteration"
  end
end

function M.find(kernel)
  local found = {}
  for _, loop in ipairs(kernel:open_loops()) do
    for number = 1, unfit(loop) and 0 or #loop.body.body - 1 do
      if not uncut(loop, number) then
        found[#found + 1] = { line = loop.line, args = { tostring(number) } }
      end
    end
  end
  return found
end

local function split(loop, number)
  local why = unfit(loop) or uncut(loop, number)
  if why then return nil, why end
  local kernel, s, e = loop.fn.kernel, loop.statement, edit.new(loop.fn.kernel)
  local indent, lines = kernel:indent(s.first), { "}" }
  for _, pragma in ipairs(loop.pragmas) do
    lines[#lines + 1] = kernel:source(pragma.first, pragma.last)
  end
  lines[#lines + 1] = kernel:source(s.first, s.header[4]) .. " {"
  e:after(loop.body.body[number].last, "\n" .. indent .. table.concat(lines, "\n" .. indent))
  if not edit.is_listed(s) then
    e:before(s.first, "{ ")
    e:after(s.last, " }")
  end
  return { edits = e:lines(), says = ("the loop at line %d does its first %s before the others")
    :format(loop.line, number == 1 and "statement" or number .. " statements") }
end

function M.make(kernel, line, args)
  local number = math.tointeger(tonumber(args[1]))
  if not number then return nil, "it is written split<LINE>(STATEMENTS)" end
  return kernel:first_loop(line, function(loop) return split(loop, number) end)
end

return M
