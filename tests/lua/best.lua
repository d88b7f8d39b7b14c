-- best: of all that a study finds, the best that is right, and where it was found.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local best = require "gilua.study.best"
local fake = require "fake"
local gi = require "gilua"
local tap = require "tap"

local QUICK, QUICKER, WRONG = "<_kernel.cu_5>", "<IF_kernel.cu_8><IF_kernel.cu_3>", "<_kernel.cu_6>"

local function study()
  return { _problem = fake.problem(), _farm = fake.farm(), options = { seed = 1 }, stages = {},
    fixed_case = { name = "fixed", ticks = 1000 },
    new_case = function(_, rng) return { name = "new", ticks = 1000 + rng:int(100) } end }
end

local function winner(s) return ("%s | %s"):format(s.winner.genome, s.winner.from) end

tap.case("the best so far is the fastest that is right, whoever found it", function()
  local s = study()
  best.offer(s, "block_size=64", "tuning")
  best.offer(s, QUICK, "evolution")
  tap.is(winner(s), QUICK .. " | evolution", "evolution's")
  best.offer(s, QUICKER, "random search")
  tap.is(winner(s), QUICKER .. " | random search", "a random search's that is faster")
  best.offer(s, "FAST", "evolution, later")
  tap.is(winner(s), QUICKER .. " | random search", "one that is slower changes nothing")
  best.offer(s, WRONG, "luck")
  tap.is(winner(s), QUICKER .. " | random search", "nor one that is wrong, and twice as fast")
  best.offer(s, "<_kernel.cu_9> FAST", "luck")
  tap.is(s.offers[#s.offers].right, false, "which is told")
  best.offer(s, QUICKER .. " block_size=32", "clean-up")
  tap.is(#s.offers, 6, "nor what differs in nothing but a default")
  tap.is(s.winner.speedup, 1.25, "its speed-up is that on the fixed case")
  tap.is(("%s %s"):format(s.winner.case, s.winner.unseen), "fixed false", "which is said")
  tap.is(s._final, QUICKER, "and it is what the study goes on with")
end)

tap.case("of equals the later, which came of the earlier", function()
  local s = study()
  best.offer(s, QUICK .. " OTHER", "evolution")
  best.offer(s, QUICK, "evolution, cleaned up")
  tap.is(winner(s), QUICK .. " | evolution, cleaned up", "the cleaned one")
end)

tap.case("all meet on a new case; the last gives way to what is faster there", function()
  local s = study()
  best.offer(s, QUICKER, "random search")
  best.offer(s, QUICK, "evolution, cleaned up and tuned")
  local found = best.choose(s)
  tap.is(found.from, "random search", "the faster")
  tap.is(winner(s), QUICKER .. " | random search", "is the winner")
  tap.is(("%s %s"):format(s.winner.case, s.winner.unseen), "new true", "on a case of its own")
  tap.is(s.offers[1].taken, true, "and marked")
  tap.is(s.offers[2].taken, nil, "as the only one")
  s = study()
  best.offer(s, QUICK .. " OTHER", "evolution")
  best.offer(s, QUICK, "evolution, cleaned up")
  tap.is(best.choose(s).from, "evolution, cleaned up", "of equals the last stays")
  tap.is(best.choose(study()), nil, "nothing offered, nothing chosen")
end)

tap.case("one that the validation finds wrong hands over to the next that is right", function()
  local s = study()
  best.offer(s, QUICK, "evolution")
  best.offer(s, QUICKER, "random search")
  best.choose(s)
  tap.is(best.refuse(s, "2 of 10 unseen answers are wrong"), true, "there is another")
  tap.is(winner(s), QUICK .. " | evolution", "the next best")
  tap.is(s.offers[2].refused, "2 of 10 unseen answers are wrong", "why the first is not, is kept")
  tap.is(best.refuse(s, "so is it"), false, "and when none is left that is said")
end)

tap.case("a speed-up is claimed on what was validated", function()
  local s = study()
  best.offer(s, QUICK, "evolution")
  s.validation = { rows = { {}, {}, {} }, ratio = { median = 1.5 }, all_right = true }
  best.validated(s)
  tap.is(("%s %s %s %s"):format(s.winner.speedup, s.winner.case, s.winner.unseen, s.winner.right),
    "1.5 3 unseen cases true true", "the median of the unseen cases")
  s = study()
  s.validation = { rows = {}, all_right = true }
  best.validated(s)
  tap.is(winner(s), " | " .. gi.evolve.AS_IT_IS, "where nothing was found, the kernel as it is")
end)

tap.done()
