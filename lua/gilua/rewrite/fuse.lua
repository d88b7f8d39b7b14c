--- fuse: loop fusion
--
-- where     loops
-- needs     order, apart, loop
-- becomes   it and the loop with the same head right behind it, as one
-- promises  apart

local apart = require "gilua.facts.apart"
local loop_of = require "gilua.facts.loop"
local order = require "gilua.facts.order"

-- The text of a body as statements of a block.
local function inner_text(kernel, body)
  local list = body.kind == "block" and body.body or { body }
  if #list == 0 then return "" end
  return kernel:source(list[1].first, list[#list].last)
end

local function next_loop(loop)
  local parent = loop.statement.parent
  for i, s in ipairs(parent and parent.kind == "block" and parent.body or {}) do
    if s == loop.statement then return parent.body[i + 1] and parent.body[i + 1].loop end
  end
end

local function head_text(loop)
  local header = loop.statement.header
  return loop.fn.kernel:source(header[1], header[4]):gsub("%s+", "")
end

-- Do both bodies meet in memory otherwise than in the same iteration?
local function shares_memory(loop, other)
  for _, one in ipairs(loop.inside.accesses) do
    for _, two in ipairs(other.inside.accesses) do
      if (one.write or two.write) and apart.may_meet(loop.fn, one, two) then
        local distance = order.distance(loop, one, two, other)
        if distance ~= 0 and distance ~= false then return true end
      end
    end
  end
  return false
end

local function is_steady_head(loop, inside)
  return loop_of.is_invariant(loop.fn, loop.bound, inside)
    and loop_of.is_invariant(loop.fn, loop.by, inside) and order.keeps_start(loop, inside)
end

local function next_alike(at)
  local loop, other = at.loop, next_loop(at.loop)
  if not other then return nil, "no loop stands right behind it" end
  if not order.is_plain(loop) or not order.is_plain(other) or #other.pragmas > 0 then
    return nil, "one of both does more than count through its body"
  end
  if not loop.start or head_text(loop) ~= head_text(other) then
    return nil, "their heads are different"
  end
  return other
end

local function keep_head(at)
  return is_steady_head(at.loop, at.loop.inside) and is_steady_head(at.loop, at.other.inside)
end

local function becomes(at, e)
  local kernel, loop, other, body = at.kernel, at.loop, at.other, at.loop.body
  local list = body.kind == "block" and body.body or { body }
  local text = inner_text(kernel, other.body)
  if #list == 0 then return nil, "it does nothing" end
  local inner = kernel:begins_line(list[1].first) and kernel:indent(list[1].first)
    or kernel:indent(loop.statement.first) .. "  "
  if next(other.inside.declares) then text = "{ " .. text .. " }" end
  if body.kind ~= "block" then
    e:before(loop.statement.header[4] + 1, "{ ")
    text = text .. " }"
  end
  e:after(list[#list].last, "\n" .. inner .. text)
  e:replace(other.statement.first, other.statement.last, "")
  return ("the loops at lines %d and %d are one"):format(at.line, other.line)
end

return { name = "fuse", where = "loops",
  doc = "Two loops with the same head, one behind the other, as one.",
  needs = {
    { "order", next_alike, gives = "other" },
    { "order", function(at)
      return not order.shares_variable(at.fn, at.loop.inside, at.other.inside)
    end, says = "one uses a variable that the other changes" },
    { "apart", function(at) return not shares_memory(at.loop, at.other) end,
      says = "one may use what the other writes in another iteration" },
    { "loop", keep_head, says = "a body changes the head" },
  },
  becomes = becomes,
}
