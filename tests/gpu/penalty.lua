-- penalty: what wrong answers cost is the same whether the host or the device adds it up, and a
-- wrong mutant that may be a parent has a time.
--
--   gilua --device cuda tests/gpu/penalty.lua      (--device emu: the host's comparison twice)
--
-- The answers are a stereo pair's, 640 x 480 with disparities to 128, in each of the four types
-- that the kernel may store them as, spoilt in known ways.

local gi = require "gilua"
package.path = gi.home .. "/tests/lua/?.lua;tests/lua/?.lua;" .. package.path

local options = gi.cli { doc = "Penalties on the device are those of the host." }
local tap = require "tap"

local problem = gi.problem "kernels/stereo"
local dev = assert(gi.device(options.device))
local BEST = "PIXEL%(row%) = dmin;"

--- Answers that are right but for one in seven: off, impossible, without a match, never written.
local function spoilt(expected, rng)
  local got, mark = expected:copy(), gi.array(expected:dtype(), 1):sentinel()[1]
  local wrong = { function(v) return v < 100 and v + 3 or v - 3 end, function() return 130 end,
                  function() return -1 end, function() return mark end }
  if expected:dtype() == "f32" then
    wrong[5], wrong[6] = function() return 1 / 0 end, function() return 0 / 0 end
  end
  for i = 1, #got do
    if rng:int(7) == 1 then got[i] = rng:pick(wrong)(got[i]) end
  end
  return got
end

local function near_to(a, b)
  return math.abs(a - b) <= 1e-6 * math.abs(a)
end

tap.case("the device adds up what the host does", function()
  local case = assert(problem:case { seed = 3, width = 640, height = 480, max_disparity = 128,
                                     noise = 40 })
  local rng = gi.rng(options.seed)
  for _, type in ipairs { "float", "int", "short", "uchar" } do
    local values = problem:values { OUT_TYPE = type }
    problem:launch(case, values) -- chooses the arrays and what they are compared by
    local got = spoilt(case.expected, rng)
    local here = gi.array.compare(got, case.expected, case.compare)
    local there = dev:buffer(got):compare(dev:buffer(case.expected), case.compare)
    tap.ok(here.counted > 0 and here.counted < here.n and here.penalty > 1,
      ("%s: %d of %d count, %.6f each"):format(type, here.counted, here.n, here.penalty))
    tap.is(there.counted, here.counted, "counted")
    tap.ok(near_to(there.penalty, here.penalty), ("penalty: %.17g"):format(there.penalty))
    for _, field in ipairs { "n", "wrong", "unset", "max_error", "first_wrong" } do
      tap.is(there[field], here[field], field)
    end
  end
end)

tap.case("wrong mutants that may be parents are timed; those that may not are not", function()
  local farm <close> = gi.farm(problem, { device = options.device, jobs = options.jobs })
  local function mutant(better)
    local text, n = problem.source:gsub(BEST, better)
    assert(n == 1)
    return { source = text }
  end
  local results = farm:evaluate({ "", mutant "PIXEL(row) = dmin + (X == 3);",
    mutant "PIXEL(row) = -2;" }, { seed = 3, width = 160, height = 120 })
  local base, near, far = table.unpack(results)
  local gpu = options.device ~= "emu"
  tap.ok(gi.fitness.right(base) and base.penalty == 0, "the kernel is right")
  tap.ok(near.max_error == 1 and near.penalty > 0 and near.penalty < 0.1,
    ("one column is one off: %g a pixel"):format(near.penalty))
  tap.is(gi.fitness.right(near), false, "that is not right")
  tap.is(near.samples ~= nil, gpu, "a GPU gives it a time")
  tap.ok(near.ticks < 1.5 * base.ticks, ("%.0f ticks, the kernel's %.0f"):format(near.ticks,
    base.ticks))
  tap.ok(far.status == "ok" and far.penalty > problem.tolerance.parent_penalty,
    ("another is %g off a pixel"):format(far.penalty))
  tap.is(far.samples, nil, "and has none")
end)

tap.done()
