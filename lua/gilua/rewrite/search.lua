--- search: loop unrolling with speculative loads
--
-- where     loops
-- needs     effects, loop, certain
-- becomes   a loop that asks for several elements at once, and the loop as it was from there
-- promises  certain
--
--   for (; k + 3 < n; k += 4)
--     if ((a[k] > x) | (a[k + 1] > x) | (a[k + 2] > x) | (a[k + 3] > x)) break;
--   for (; k < n; k++) if (a[k] > x) { found = k; break; }

local certain = require "gilua.facts.certain"
local effects = require "gilua.facts.effects"
local iterations = require "gilua.rewrite.iterations"

local MOST_WIDTH = 70 -- of a condition on one line

local function last_of(s)
  if s.kind == "block" then return s.body[#s.body] and last_of(s.body[#s.body]) end
  return s
end

-- Returns the condition on which a loop that does nothing else ends; nil and why it has none.
local function end_of(loop)
  local list = loop.body.kind == "block" and loop.body.body or { loop.body }
  local s, fn = list[1], loop.fn
  local last = s and s.kind == "if" and not s.otherwise and last_of(s.body)
  if #list ~= 1 or not last or not (last.kind == "break" or last.kind == "return") then
    return nil, "it does more than to look for what ends it"
  end
  local all = effects.of(fn, s.condition)
  if all.opaque or all.warp or all.barrier or next(all.writes) or #all.accesses == 0 then
    return nil, "what it looks for is not in memory, or not understood"
  end
  for _, access in ipairs(all.accesses) do
    if access.write or access.atomic or not access.root or not fn:element_type(access) then
      return nil, "what it looks at may change"
    end
  end
  return s.condition
end

-- Is a condition 0 or 1, so that `|` joins several?
local function is_truth(tree)
  return tree.kind == "binary" and (("< > <= >= == != && ||"):find(tree.op, 1, true) ~= nil)
end

-- The loop that asks for several at once, as text.
local function ahead_loop(loop, condition, width)
  local kernel, parts = loop.fn.kernel, {}
  for n = 0, width - 1 do
    local instead = {}
    for i = condition.first, n > 0 and condition.last or -1 do
      if kernel:is_name(i, loop.variable) then instead[i] = iterations.at(loop, i, n) end
    end
    parts[#parts + 1] = (is_truth(condition) and "(" or "!!(")
      .. kernel:source(condition.first, condition.last, instead):gsub("%s+", " ") .. ")"
  end
  local text = table.concat(parts, " | ")
  if #text > MOST_WIDTH then
    text = table.concat(parts, "\n" .. kernel:indent(loop.statement.first) .. "        | ")
  end
  return { iterations.head(loop, width), "    if (" .. text .. ") break;" }
end

local function keeps_count(at)
  local loop, kernel = at.loop, at.kernel
  local unfit = iterations.unfit_head(loop)
  if unfit then return nil, unfit end
  if not loop.invariant or not loop.balanced or loop.writes_variable or loop.continues then
    return nil, "its variable or its bound change within"
  end
  for i = at.condition.first, at.condition.last do
    if kernel.macros[kernel.words[i]] then return nil, "its condition has a macro" end
  end
  return true
end

local function becomes(at, e)
  local kernel, loop, s, lines = at.kernel, at.loop, at.loop.statement, {}
  if loop.start then lines[1] = kernel:source(s.init.first, s.init.last) end
  for _, line in ipairs(ahead_loop(loop, at.condition, at[1])) do lines[#lines + 1] = line end
  lines[#lines + 1] = iterations.plain_loop(loop)
  iterations.put(e, loop, lines)
  e.twice = true
  return ("the loop at line %d asks for %d elements at once"):format(at.line, at[1])
end

return { name = "search", where = "loops",
  doc = "A loop that looks for an element asks for several at once.",
  args = { { "elements", { 4, 8, 16 }, from = 2, to = 32 } },
  needs = {
    { "effects", function(at) return end_of(at.loop) end, gives = "condition" },
    { "loop", keeps_count },
    { "certain", function() end, says = certain.EARLY, promised = true },
  },
  becomes = becomes,
}
