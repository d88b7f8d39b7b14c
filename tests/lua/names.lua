-- The names that scripts use stay: tests/data/names.txt has all that docs/api.md had in a release
-- (`make names` adds what is new), and none of them goes.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local tap = require "tap"

local function names()
  local list = {}
  for name in tap.read("tests/data/names.txt"):gmatch "[^\n]+" do list[#list + 1] = name end
  return list
end

-- Those of a list that are nowhere in a set.
local function missing(list, set)
  local gone = {}
  for _, name in ipairs(list) do
    if not set[name] then gone[#gone + 1] = name end
  end
  return table.concat(gone, " ")
end

local function documented()
  local set, page = {}, tap.read "docs/api.md"
  for name in page:gmatch "\n## (gi[%w_.]*)" do set[name] = true end
  for name in page:gmatch "\n### `([%w_.:]+)" do set[name] = true end
  return set
end

-- "gi.stats.median" -> the value that a script sees, or nil
local function value_of(name)
  local value = { gi = gi }
  for part in name:gmatch "[%w_]+" do value = type(value) == "table" and value[part] or nil end
  return value
end

tap.case("every name that there ever was is documented", function()
  local list = names()
  tap.ok(#list >= 400, "the list is there")
  tap.is(missing(list, documented()), "", "names that are gone from docs/api.md")
end)

tap.case("and is what it was: scripts find it", function()
  local here = {}
  for _, name in ipairs(names()) do
    here[name] = not name:find "^gi[.:]" or value_of(name) ~= nil
  end
  tap.is(missing(names(), here), "", "names that scripts ask gi for in vain")
end)

tap.case("the list is in order, so that two additions do not meet", function()
  local list, sorted = names(), names()
  table.sort(sorted)
  tap.is(table.concat(list, "\n"), table.concat(sorted, "\n"), "sorted")
end)

tap.done()
