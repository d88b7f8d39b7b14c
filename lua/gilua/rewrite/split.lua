--- split: loop fission (loop distribution)
--
-- where     loops
-- needs     loop, order, effects, apart
-- becomes   a loop whose body does two things, as two loops one after the other
-- promises  apart
--
-- The inverse of loop fusion. Each of the loops needs fewer registers and goes through fewer
-- arrays at a time. The first does all its iterations before the second begins, so that nothing may
-- go back from the second part of the body to the first one of a later iteration, and no variable
-- from one part to the other.

local apart = require "gilua.facts.apart"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local order = require "gilua.facts.order"

-- Does a part of a body, tokens first to last, do anything that is seen outside of it?
local function does_something(fn, inside, first, last)
  for _, access in ipairs(inside.accesses) do
    local d = access.root and fn:declaration(access.root, access.token)
    if access.write and not (d and d.token >= first and d.token <= last) then return true end
  end
  return order.changes_variable(fn, inside, first, last)
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

local function is_plain(at)
  local loop = at.loop
  return order.is_plain(loop) and loop.body.kind == "block"
end

-- Cuts the body behind its statement of that number: the effects of both parts.
local function parts(at)
  local fn, list = at.fn, at.loop.body.body
  local one, other = list[at[1]], list[at[1] + 1]
  if not one or not other or one.kind == "directive" then
    return nil, "its body has no two parts"
  end
  local a = effects.all(fn, table.move(list, 1, at[1], 1, {}))
  local b = effects.all(fn, table.move(list, at[1] + 1, #list, 1, {}))
  if not does_something(fn, a, list[1].first, one.last)
    or not does_something(fn, b, other.first, list[#list].last) then
    return nil, "one part of it does nothing by itself"
  end
  return { a, b, last = one.last }
end

local function becomes(at, e)
  local kernel, s = at.kernel, at.loop.statement
  local indent, lines = kernel:indent(s.first), { "}" }
  for _, pragma in ipairs(at.loop.pragmas) do
    lines[#lines + 1] = kernel:source(pragma.first, pragma.last)
  end
  lines[#lines + 1] = kernel:source(s.first, s.header[4]) .. " {"
  e:after(at.parts.last, "\n" .. indent .. table.concat(lines, "\n" .. indent))
  if not edit.is_listed(s) then
    e:before(s.first, "{ ")
    e:after(s.last, " }")
  end
  return ("the loop at line %d does its first %s before the others"):format(at.line,
    at[1] == 1 and "statement" or at[1] .. " statements")
end

-- Each number of statements that leaves some behind it; 1 where none does.
local function numbers(at)
  local list = { 1 }
  for i = 2, at.loop.body.kind == "block" and #at.loop.body.body - 1 or 1 do list[i] = i end
  return list
end

return { name = "split", where = "loops",
  doc = "A loop whose body does two things, as two loops one after the other.",
  args = { { "statements", numbers, from = 1, to = 1000 } },
  needs = {
    { "loop", is_plain, says = "it does more than count through a body of several statements" },
    { "order", function(at) return order.keeps_start(at.loop) end,
      says = "it changes where it begins" },
    { "effects", parts, gives = "parts" },
    { "order", function(at) return not order.shares_variable(at.fn, at.parts[1], at.parts[2]) end,
      says = "one part uses a variable that the other changes" },
    { "order", function(at)
      return not order.is_waited_for(at.fn, at.parts[1])
        and not order.is_waited_for(at.fn, at.parts[2])
    end, says = "other threads may wait for what it does" },
    { "apart", function(at) return not goes_back(at.loop, at.parts[1], at.parts[2]) end,
      says = "the first part may use what the second one does in an earlier iteration" },
  },
  becomes = becomes,
}
