-- settings: options tables that refuse what they do not know.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local settings = require "gilua.base.settings"
local tap = require "tap"

tap.case("the nearest name", function()
  local names = { "population", "generations", "seed", "out" }
  tap.is(settings.nearest("poplation", names), "population", "a letter short")
  tap.is(settings.nearest("generatoins", names), "generations", "two letters swapped")
  tap.is(settings.nearest("Seed", names), "seed", "another case")
  tap.is(settings.nearest("colour", names), nil, "nothing is near")
  tap.is(settings.nearest("x", {}), nil, "of nothing")
end)

tap.case("defaults and given values", function()
  local given = { b = false }
  local filled = settings.fill("test", given, { a = 1, b = true }, { "c" })
  tap.is(filled.a, 1, "a default")
  tap.is(filled.b, false, "false is a value")
  tap.is(given.a, nil, "the given table stays as it was")
  tap.is(settings.fill("test", { c = 3 }, { a = 1 }, { "c" }).c, 3, "optional keys")
  tap.is(settings.fill("test", nil, { a = 1 }).a, 1, "nothing given")
end)

tap.case("misuse raises", function()
  local function use(given)
    return function() settings.fill("gilua.test", given, { width = 1, height = 2 }) end
  end
  tap.raises(use { wdith = 1 }, "gilua.test: unknown option 'wdith'; did you mean 'width'?", "near")
  tap.raises(use { colour = 1 }, "gilua.test: unknown option 'colour'; known: height, width", "far")
  tap.raises(use(7), "gilua.test: options must be a table, not a number", "no table")
end)

tap.case("the spec of a case: a seed, and whole numbers within their limits", function()
  local fields = { { "width", 10, 1, 100 }, { "steps", 2, 1, 3 } }
  local spec = settings.spec("heat", { seed = 5, steps = 3 }, fields)
  tap.is(spec.width .. " " .. spec.steps .. " " .. spec.seed, "10 3 5", "given, or the default")
  for text, given in pairs {
    ["needs an integer seed"] = {}, ["width must be a whole number from 1 to 100, not 0"] =
    { seed = 1, width = 0 }, ["steps must be a whole number from 1 to 3, not 2.5"] =
    { seed = 1, steps = 2.5 }, ["did you mean 'steps'"] = { seed = 1, step = 2 },
  } do
    tap.raises(function() settings.spec("heat", given, fields) end, text, text)
  end
end)

tap.done()
