-- validate: unseen cases, answers counted, ratios, and a winner that is wrong somewhere.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local fake = require "fake"
local tap = require "tap"
local validate = require "gilua.study.validate"

local CASES = { { name = "one", ticks = 100000 }, { name = "two", ticks = 120000 } }

local function run(genome, extra)
  local o = { problem = fake.problem(), farm = fake.farm(), cases = CASES, genome = genome }
  o.problem.time_reference = function(_, _, threads) return 0.5 / threads end
  for k, v in pairs(extra or {}) do o[k] = v end
  return validate.run(o)
end

tap.case("every case is compared and counted", function()
  local rows = {}
  local v = run("FAST", { training = 1.2, on_row = function(row) rows[#rows + 1] = row.case end })
  tap.is(table.concat(rows, " "), "one two", "as they come")
  tap.is(("%.4f %.4f"):format(v.ratio.median, v.ratio.geometric), "1.1765 1.1765", "1 / 0.85")
  tap.is(v.answers .. " " .. v.wrong .. " " .. tostring(v.all_right), "2000 0 true", "answers")
  tap.is(v.training, 1.2, "the ratio in training is kept beside them")
  tap.is(v.cpu.case .. " " .. v.cpu.one_s, "two 0.5", "the reference's time")
  tap.ok(math.abs(v.cpu.faster_one - 0.5e9 / v.rows[2].ns) < 1e-6, "against the kernel's")
end)

tap.case("what is wrong has no speed-up", function()
  local v = run("<_kernel.cu_6>")
  tap.is(tostring(v.all_right) .. " " .. v.wrong, "false 500", "a quarter of 2000 is wrong")
  tap.is(v.ratio, nil, "no ratio")
  tap.is(v.cpu, nil, "and no comparison with the CPU")
end)

tap.case("one case that is wrong is not made good by the next", function()
  local farm, evaluate = fake.farm(), fake.farm().evaluate
  function farm:evaluate(genomes, case, options)
    local list = evaluate(self, genomes, case, options)
    if case.name == "one" then
      list[1].max_error, list[1].off, list[1].wrong = 0.5, 0.001, 0.001
    end
    return list
  end
  local v = run("FAST", { farm = farm })
  tap.is(tostring(v.rows[1].right) .. " " .. tostring(v.rows[2].right), "false true", "the cases")
  tap.is(v.all_right, false, "not all are right")
  tap.is(v.max_error .. " " .. v.wrong, "0.5 1", "the largest error and the wrong answers stay")
end)

tap.case("the base may be another genome", function()
  local v = run("FAST <_kernel.cu_5>", { base = "FAST" })
  tap.ok(math.abs(v.ratio.median - 1 / 0.9) < 1e-4, "against FAST")
end)

tap.case("a base that is wrong is refused", function()
  tap.raises(function() run("FAST", { base = "<_kernel.cu_6>" }) end, "is not right", "the base")
end)

tap.case("a CPU that cannot be timed leaves the validation as it is", function()
  local problem = fake.problem()
  function problem.time_reference(_, _, threads)
    if threads == 1 then return 0.5 end
    return nil, "no threads"
  end
  local cores = require("gilua.core").system.cores()
  local v = run("FAST", { problem = problem })
  tap.is(#v.rows .. " " .. tostring(v.all_right), "2 true", "the rows are there")
  tap.is(v.cpu_message, cores > 1 and "no threads" or nil, "and why there is no time")
end)

tap.case("threads of the reference give the answers of one", function()
  local gi = require "gilua"
  local problem = gi.problem "kernels/niftyreg"
  local c = problem:case { side = 20, seed = 1 }
  local n = #c.groups
  for _, threads in ipairs { 1, 3, 7 } do
    local out = gi.array("f32", n, 25, 4)
    local s = problem.lib:call("niftyreg_deform_threads", { c.groups, { "i64", n }, { "i64", 20 },
      { "i64", 20 }, { "i64", 20 }, c.control, c.use_bspline, { "i64", threads }, out }, "f64")
    tap.is(gi.array.compare(out, c.expected).max_error, 0.0, threads .. " threads")
    tap.ok(s >= 0, "and say how long they took")
  end
  tap.ok(problem:time_reference({ side = 20, seed = 1 }, 2) > 0, "a time in seconds")
end)

tap.done()
