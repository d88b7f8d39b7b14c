-- minimise: gene knock-out, GECCO 2014 §4.3.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local minimise = require "gilua.minimise"
local tap = require "tap"

-- Scores a genome by its letters: 100, less what each needed letter gains.
local function scorer(gains, calls)
  return function(text)
    calls[#calls + 1] = text
    local score = 100
    for gene in text:gmatch("%S+") do score = score - (gains[gene] or 0) end
    return score
  end
end

tap.case("genes that gain nothing go, the rest stay in order", function()
  local calls = {}
  tap.is(minimise.knockout("a b c d e", scorer({ b = 5, e = 1 }, calls)), "b e", "the two needed")
  tap.is(table.concat(calls, "|"), "a b c d e|b c d e|c d e|b d e|b e|b",
    "one gene at a time, from the left")
end)

tap.case("a gene that harms goes too, and the gain is kept", function()
  local gains = { b = 5, c = -3 }
  tap.is(minimise.knockout("b c", scorer(gains, {})), "b", "without the harm")
end)

tap.case("what only two genes do together is kept", function()
  local function score(text)
    return text:find("x") and text:find("y") and 50 or text:find("x") and math.huge or 100
  end
  tap.is(minimise.knockout("x n y", score), "x y", "the pair")
end)

tap.case("within the noise nothing is a difference", function()
  tap.is(minimise.knockout("a b", scorer({ a = 0.5, b = 5 }, {}), 1), "b", "half of the noise")
  tap.is(minimise.knockout("", scorer({}, {})), "", "nothing to leave out")
end)

tap.done()
