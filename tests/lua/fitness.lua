-- fitness: the formula of GECCO 2014 §3.8, worked out by hand, and who may be a parent (§3.9).
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local fitness = require "gilua.study.fitness"
local tap = require "tap"

local C = 213748364

local function measured(fields)
  local m = { status = "ok", ticks = 1000, max_error = 0, off = 0, wrong = 0, unset = 0 }
  for name, value in pairs(fields) do m[name] = value end
  return m
end

local function niftyreg(fields)
  return fitness.niftyreg(measured(fields), measured {})
end

tap.case("the formula of §3.8", function()
  tap.is(niftyreg { ticks = 48626 }, 4862.6, "a tenth of the ticks")
  tap.is(niftyreg { max_error = 0.001 }, 100.0, "0.001 is still accepted")
  tap.near(niftyreg { max_error = 0.002 }, 100 + C * 0.102, "C (error + 0.1) above 0.001")
  tap.near(niftyreg { max_error = 0.05 }, 100 + 32062254.6, "C (0.05 + 0.1) in figures")
  tap.near(niftyreg { max_error = 0.1, wrong = 0.5 }, 100 + C * 0.2,
    "at 0.1 the fraction wrong costs nothing yet")
  tap.near(niftyreg { max_error = 0.5, wrong = 0.25 }, 100 + C * 0.6 + C * 0.25,
    "above 0.1 it does")
  tap.near(niftyreg { max_error = 0.9, wrong = 0 }, 100 + C, "the error's penalty ends at C")
  tap.near(niftyreg { max_error = 1e30, wrong = 1 }, 100 + 2 * C, "however wrong")
  tap.near(niftyreg { max_error = math.huge, wrong = 0.01, unset = 0.01 }, 100 + C + 0.02 * C,
    "answers never set")
  tap.near(niftyreg { max_error = 0 / 0, wrong = 1, unset = 1 }, 100 + 3 * C, "nan is no answer")
  tap.is(fitness.niftyreg({ status = "illegal_address" }, measured {}), math.huge,
    "no end, no fitness")
end)

tap.case("the same formula within a problem's own limits", function()
  local fitness_of = fitness.within { max_error = 0.5, wrong_above = 1 }
  local function within(fields) return fitness_of(measured(fields)) end
  tap.is(within { ticks = 48626 }, 4862.6, "a tenth of the ticks")
  tap.is(within { max_error = 0.5 }, 100.0, "within them nothing is wrong")
  tap.near(within { off = 0.5, wrong = 0.25 }, 100 + C * 1.25, "outside C and a share")
  tap.near(within { unset = 0.5 }, 100 + C * 0.5, "answers never set")
  tap.near(within { off = 1, wrong = 0.5, unset = 0.5 }, 100 + C * 2, "both add up")
  tap.is(fitness_of { status = "race" }, math.huge, "no end, no fitness")
end)

tap.case("who may be a parent, §3.9", function()
  local baseline = measured { ticks = 10000 }
  local function may(fields) return fitness.acceptable(measured(fields), baseline) end
  tap.ok(may { ticks = 10000 }, "as fast as the unmodified kernel")
  tap.ok(may { ticks = 11000 }, "a tenth slower")
  tap.ok(not may { ticks = 11001 }, "not more than that")
  tap.ok(may { ticks = 10, max_error = 0.001 }, "with errors that are accepted")
  tap.ok(not may { ticks = 10, off = 1e-6 }, "not with one that is not")
  tap.ok(not may { ticks = 10, unset = 1e-6 }, "not with one answer missing")
  tap.ok(not may { ticks = 10, status = "timeout" }, "not without an end")
end)

tap.case("StereoCamera: error first, then speed", function()
  local tolerance = { max_error = 0.5, parent_penalty = 6.0 }
  local function m(penalty, ticks, status)
    return { status = status or "ok", penalty = penalty, ticks = ticks, max_error = penalty }
  end
  local base = m(0, 1000)
  tap.ok(fitness.stereo(m(0, 5000)) < fitness.stereo(m(0.001, 10)), "a small error outweighs time")
  tap.ok(fitness.stereo(m(0, 1e9)) < fitness.stereo(m(1 / (1920 * 1080), 10)),
    "one pixel off by one among two million, too")
  tap.ok(fitness.stereo(m(0, 900)) < fitness.stereo(m(0, 901)), "time among equals")
  tap.ok(fitness.stereo(m(0.02, 900)) < fitness.stereo(m(0.02, 901)), "wrong ones too")
  tap.is(fitness.stereo({ status = "race" }), math.huge, "what does not run is worst")
  local function may(own) return fitness.stereo_acceptable(own, base, tolerance) end
  tap.is(may(m(6, 999)), true, "six off and faster")
  tap.is(may(m(6.01, 999)), false, "not more than six")
  tap.is(may(m(0, 1000)), false, "not as slow")
  tap.is(may { status = "race", ticks = 1 }, false, "not what does not run")
  tap.raises(function() fitness.stereo { status = "ok", ticks = 1 } end, "have no penalty",
    "a case that asks for none")
  tap.raises(function() fitness.stereo_acceptable(base, base, { max_error = 1 }) end,
    "no parent_penalty", "a problem that gives no limit")
end)

tap.case("what is worth timing: what is right, or near enough to be a parent", function()
  local function m(off, penalty) return { off = off, penalty = penalty } end
  local strict, lax = { max_error = 0.5 }, { max_error = 0.5, parent_penalty = 6.0 }
  tap.is(fitness.tolerable(m(0), strict), true, "right")
  tap.is(fitness.tolerable(m(0.1, 0.1), strict), false, "wrong, where nothing else is said")
  tap.is(fitness.tolerable(m(0.1, 6.0), lax), true, "wrong by little, where that may be a parent")
  tap.is(fitness.tolerable(m(1, 6.1), lax), false, "wrong by more")
  local wrong = { status = "ok", unset = 0, off = 0.1, penalty = 0 }
  tap.is(fitness.right(wrong), false, "none of which makes a wrong kernel right")
end)

tap.case("the papers' names are other names of the same formulas", function()
  local general = require "gilua.search.fitness"
  tap.is(fitness.niftyreg, general.absolute, "GECCO 2014")
  tap.is(fitness.stereo, general.error_first, "chapter 8")
  tap.is(fitness.formerly "fitness.stereo_acceptable", general.faster_within, "an archive's name")
  tap.is(fitness.formerly "fitness.none", nil, "one that no gilua had")
  tap.is(fitness.formerly "select.niftyreg", nil, "nor another module's")
end)

tap.done()
