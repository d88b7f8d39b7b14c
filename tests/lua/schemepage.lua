-- schemepage: docs/scheme.md names every field of a scheme, with its default, and no other.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local evolve = require "gilua.search.evolve"
local tap = require "tap"
local textfile = require "gilua.base.textfile"

-- What the tables of the page have in their first two columns, by field.
local function told()
  local page, fields = textfile.read("docs/scheme.md", "the page"), {}
  for name, default in page:gmatch "\n| `([%w_]+)` | ([^|]*) |" do fields[name] = default end
  return fields
end

local function known()
  local fields = {}
  for name in pairs(evolve.paper) do fields[name] = true end
  for _, name in ipairs(evolve.OPTIONAL) do fields[name] = true end
  return fields
end

tap.case("every field is there, and no other", function()
  local page, fields = told(), known()
  for name in pairs(fields) do tap.ok(page[name], name .. " is on the page") end
  for name in pairs(page) do tap.ok(fields[name], name .. " is a field") end
end)

tap.case("numbers and texts are the defaults", function()
  local page, n = told(), 0
  for name, value in pairs(evolve.paper) do
    if type(value) == "number" or type(value) == "string" then
      local text = type(value) == "string" and ('`"%s"`'):format(value) or ("%g"):format(value)
      tap.is(page[name], text, name)
      n = n + 1
    end
  end
  tap.ok(n >= 7, "some have such a default")
end)

tap.done()
