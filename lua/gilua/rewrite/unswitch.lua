--- unswitch: loop unswitching
--
-- where     loops
-- needs     loop, uniform, once
-- becomes   two loops below a condition that does not change in it, which is asked once
-- promises  apart
--
-- What the condition loads is loaded before the loop only if the loop has a round, and only if each
-- round asks for it. Where threads wait for each other in the loop, all of them go the same way.

local certain = require "gilua.facts.certain"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local once = require "gilua.facts.once"
local uniform = require "gilua.facts.uniform"

local MOST_TOKENS = 300

-- The first `if` of a loop's body whose condition stays the same.
local function fixed(at)
  local loop = at.loop
  if loop.opaque or loop.conditional or loop.kind ~= "for" or loop.leaves
    or loop.statement.last - loop.statement.first > MOST_TOKENS then
    return nil
  end
  for _, s in ipairs(loop.body.kind == "block" and loop.body.body or { loop.body }) do
    local stays = s.kind == "if" and s.condition and loop_of.stays(loop, s.condition)
    local touches = stays and #effects.of(loop.fn, s.condition).accesses > 0
    if stays and (not touches or certain.of(loop, s.condition)
      and once.guard(loop, at.kernel:names())) then
      return { s = s, touches = touches }
    end
  end
end

-- Do all threads come to the same waits?
local function goes_together(at)
  local inside = at.loop.inside
  if not inside.barrier and not inside.warp then return true end
  return uniform.of(at.fn, at.fixed.s.condition)
end

local function becomes(at, e)
  local kernel, loop, s, chosen = at.kernel, at.loop, at.loop.statement, at.fixed.s
  local asked, lines = kernel:plain(chosen.condition), at.guard.lines or {}
  if at.guard.text then
    asked = ("%s && %s"):format(at.guard.text, kernel:operand(chosen.condition))
  end
  local function version(branch)
    local text = branch and kernel:source(branch.first, branch.last) or ";"
    return "  " .. kernel:source(s.first, s.last, { [chosen.first] = { text, chosen.last } })
      :gsub("\n", "\n  ")
  end
  for _, line in ipairs { ("if (%s) {"):format(asked), version(chosen.body), "} else {",
                          version(chosen.otherwise), "}" } do
    lines[#lines + 1] = line
  end
  for _, pragma in ipairs(loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
  local text = table.concat(lines, "\n" .. kernel:indent(s.first))
  local is_alone = not edit.is_listed(s) and at.guard.lines
  e:replace(s.first, s.last, is_alone and "{ " .. text .. " }" or text)
  e.twice = true
  return ("%s is asked once, before the loop at line %d"):format(kernel:plain(chosen.condition),
    at.line)
end

return { name = "unswitch", where = "loops",
  doc = "A condition that a loop does not change, asked once before it.",
  needs = {
    { "loop", fixed, gives = "fixed", says = "no condition of the loop stays the same" },
    { "uniform", goes_together },
    { "once", function(at) return at.fixed.touches and once.of_place(at) or {} end,
      gives = "guard" },
  },
  becomes = becomes,
}
