--- keep: scalar replacement of an element that a loop updates (register promotion)
--
-- where     loops
-- needs     kept, once
-- becomes   an element that it updates in each iteration in a variable, stored once behind it
-- promises  apart
--
--   for (j = 0; j < n; j++) y[i] += a[j];
--
--   float y_kept = y[i];
--   for (j = 0; j < n; j++) y_kept += a[j];
--   y[i] = y_kept;
--
-- Where the loop may have no round, the element is touched only if it has one. Where the statement
-- before the loop stores the element's first value, it becomes the variable's. The compiler may not
-- do this: for all that it knows, a[j] is y[i].

local kept = require "gilua.facts.kept"
local once = require "gilua.facts.once"

-- Returns the guard for elements that no statement before the loop touches.
local function guarded(at)
  for _, element in ipairs(at.elements) do
    if not element.given then return once.of_place(at) end
  end
  return {}
end

-- Puts an element into a variable: adds the lines before and behind the loop.
local function put(at, e, element, before, after)
  local name, given, asked = at.names(element.base .. "_kept"), element.given, ""
  if given then
    e:replace(given.a.first, given.a.last, element.type .. " " .. name)
  else
    asked = at.guard.text and ("if (%s) "):format(at.guard.text) or ""
    for _, line in ipairs(once.valued(at.guard, element.type, name, element.text)) do
      before[#before + 1] = line:gsub("^const ", "")
    end
  end
  after[#after + 1] = ("%s%s = %s;"):format(asked, element.text, name)
  for _, access in ipairs(element.accesses) do
    e:replace(access.node.first, access.node.last, name)
  end
end

return { name = "keep", where = "loops",
  doc = "An array's element that a loop updates, kept in a variable and stored behind the loop.",
  all = "what the loops at lines %s update is kept in variables",
  needs = { { "kept", kept.of_place, gives = "elements" }, { "once", guarded, gives = "guard" } },
  becomes = function(at, e)
    local before, after = at.guard.lines or {}, {}
    for _, element in ipairs(at.elements) do put(at, e, element, before, after) end
    e:around(at.loop.statement, before, after)
    return ("%s is kept in a variable during the loop at line %d"):format(at.elements[1].text,
      at.line)
  end,
}
