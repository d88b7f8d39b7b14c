-- samples: real data that may or may not be here.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local samples = require "gilua.problem.samples"
local tap = require "tap"

tap.case("a sample that is here", function()
  samples.known.here = { variable = "GILUA_TEST_NO_SUCH", path = arg[0], advice = "none" }
  tap.is(samples.path "here", arg[0], "its path")
  samples.known.here = nil
end)

tap.case("one that is not says what to do", function()
  samples.known.gone = { variable = "GILUA_TEST_NO_SUCH", path = "/no/such", advice = "get it" }
  local path, why, code = samples.path "gone"
  tap.is(path, nil, "no path")
  tap.is(why, "the gone is not installed: there is no /no/such (get it)", "why")
  tap.is(code, "io", "the code")
  samples.known.gone = nil
end)

tap.case("the samples that experiments name say where they come from", function()
  for _, name in ipairs { "brain", "aloe" } do
    local sample = samples.known[name]
    tap.has(sample.advice, "apt-get install", name .. ": a package")
    tap.has(sample.advice, sample.variable, name .. ": a variable")
  end
end)

tap.case("one nobody knows", function()
  tap.raises(function() samples.path "teapot" end, "no sample is called 'teapot'", "is misuse")
end)

tap.done()
