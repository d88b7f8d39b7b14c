--- nests: loops one behind the other, and conditions within them.
--
--   fuse      two loops with the same head, one behind the other, become one
--   unswitch  a condition in a loop that does not change there is asked once: two loops

local apart = require "gilua.facts.apart"
local certain = require "gilua.facts.certain"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local order = require "gilua.facts.order"

local function finder(fits)
  return function(kernel)
    local list = {}
    for _, loop in ipairs(kernel:open_loops()) do
      if fits(loop) then list[#list + 1] = { line = loop.line, args = {} } end
    end
    return list
  end
end

local function maker(make)
  return function(kernel, line) return kernel:first_loop(line, make) end
end

-- The text of a body as statements of a block.
local function inner_text(kernel, body)
  local list = body.kind == "block" and body.body or { body }
  if #list == 0 then return "" end
  return kernel:source(list[1].first, list[#list].last)
end

-- ---- fuse -------------------------------------------------------------------------------------

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

local function fusible(loop)
  local other = next_loop(loop)
  if not other then return nil, "no loop stands right behind it" end
  if not order.is_plain(loop) or not order.is_plain(other) or #other.pragmas > 0 then
    return nil, "one of both does more than count through its body"
  end
  if not loop.start or head_text(loop) ~= head_text(other) then
    return nil, "their heads are different"
  end
  local a, b = loop.inside, other.inside
  if order.shares_variable(loop.fn, a, b) then
    return nil, "one uses a variable that the other changes"
  end
  if shares_memory(loop, other) then
    return nil, "one may use what the other writes in another iteration"
  end
  if not is_steady_head(loop, a) or not is_steady_head(loop, b) then
    return nil, "a body changes the head"
  end
  return other
end

local function fused(loop)
  local other, why = fusible(loop)
  if not other then return nil, why end
  local kernel, e, body = loop.fn.kernel, edit.new(loop.fn.kernel), loop.body
  local list = body.kind == "block" and body.body or { body }
  local inner = kernel:begins_line(list[1] and list[1].first or body.first)
    and kernel:indent(list[1] and list[1].first or body.first)
    or kernel:indent(loop.statement.first) .. "  "
  local text = inner_text(kernel, other.body)
  if next(other.inside.declares) then text = "{ " .. text .. " }" end
  if #list == 0 then return nil, "it does nothing" end
  if body.kind ~= "block" then
    e:before(loop.statement.header[4] + 1, "{ ")
    text = text .. " }"
  end
  e:after(list[#list].last, "\n" .. inner .. text)
  e:replace(other.statement.first, other.statement.last, "")
  return { edits = e:lines(), says = ("the loops at lines %d and %d are one"):format(loop.line,
    other.line) }
end

-- ---- unswitch ---------------------------------------------------------------------------------

local MOST_TOKENS = 300

local function fixed_condition(loop)
  if loop.opaque or loop.conditional or loop.kind ~= "for" or loop.leaves
    or loop.statement.last - loop.statement.first > MOST_TOKENS then
    return nil
  end
  for _, s in ipairs(loop.body.kind == "block" and loop.body.body or { loop.body }) do
    local head = loop.statement
    local stays = s.kind == "if" and s.condition
      and loop_of.is_invariant(loop.fn, s.condition, loop.inside)
    for _, part in ipairs { head.init or false, head.step or false } do
      stays = stays and (not part
        or loop_of.is_invariant(loop.fn, s.condition, effects.of(loop.fn, part)))
    end
    local touches = stays and #effects.of(loop.fn, s.condition).accesses > 0
    if stays and (not touches or certain.of(loop, s.condition)
      and once.guard(loop, loop.fn.kernel:names())) then
      return s, touches
    end
  end
end

local function unswitched(loop)
  local kernel, s = loop.fn.kernel, loop.statement
  local chosen, touches = fixed_condition(loop)
  if not chosen then return nil, "no condition of the loop stays the same" end
  local guard = touches and once.guard(loop, kernel:names()) or {}
  local asked = kernel:plain(chosen.condition)
  if guard.text then
    asked = ("%s && %s"):format(guard.text, kernel:operand(chosen.condition))
  end
  local indent = kernel:indent(s.first)
  local function version(branch)
    local text = branch and kernel:source(branch.first, branch.last) or ";"
    return kernel:source(s.first, s.last, { [chosen.first] = { text, chosen.last } })
  end
  local e = edit.new(kernel)
  local lines = guard.lines or {}
  for _, line in ipairs { ("if (%s) {"):format(asked),
                          "  " .. version(chosen.body):gsub("\n", "\n  "), "} else {",
                          "  " .. version(chosen.otherwise):gsub("\n", "\n  "), "}" } do
    lines[#lines + 1] = line
  end
  for _, pragma in ipairs(loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
  local text = table.concat(lines, "\n" .. indent)
  e:replace(s.first, s.last, not edit.is_listed(s) and guard.lines and "{ " .. text .. " }" or text)
  return { edits = e:lines(), says = ("%s is asked once, before the loop at line %d"):format(
    kernel:plain(chosen.condition), loop.line) }
end

return {
  { name = "fuse", apart = true,
    doc = "Two loops with the same head, one behind the other, as one.",
    find = finder(fusible), make = maker(fused) },
  { name = "unswitch", twice = true, apart = true,
    doc = "A condition that a loop does not change, asked once before it.",
    find = finder(fixed_condition), make = maker(unswitched) },
}
