-- experiment: what is said and kept when the winner is wrong, and when a step fails.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local json = require "gilua.base.json"
local tap = require "tap"
local trace = require "gilua.base.trace"

local function study(dir, steps)
  return {
    title = "A study", problem = "kernels/niftyreg", steps = steps, tune = { "RemX" },
    options = { seed = 1, jobs = 1, quiet = true, out = dir, runs = 1 },
    new_case = function() return { side = 20, seed = 1 } end,
    fixed_case = { side = 20, seed = 1 }, unseen = { { side = 20, seed = 2 } },
    paper_row = { { name = "gain", paper = "1", ours = function(s)
      return s.validation.ratio and "some"
    end } },
  }
end

local function winner(genome)
  return function(s) s._final = genome end
end

tap.case("a winner that is wrong is not said to be faster", function()
  local dir = tap.folder()
  local s = gi.experiment.run(study(dir, { winner "<_kernel.cu_292>", "validate" }))
  local v = s.validation
  tap.is(v.ratio, nil, "no ratio")
  tap.ok(v.wrong > 0.9 * v.answers, ("%d of %d are wrong"):format(v.wrong, v.answers))
  local kept = json.decode(tap.read(dir .. "/experiment.json"))
  tap.is(kept.validation.all_right, false, "it is kept so")
  tap.has(tap.read(dir .. "/report.html"), "<td class=\"r\">2", "and shown")
end)

tap.case("a step that fails leaves what was done before it", function()
  local dir = tap.folder()
  local ok, why = pcall(gi.experiment.run, study(dir, { "tune", function()
    gi.fail("the %s step fails", "second")
  end, "validate" }))
  tap.is(tostring(ok) .. " " .. tostring(why), "false the second step fails", "the error goes on")
  local kept = json.decode(tap.read(dir .. "/experiment.json"))
  tap.is(#kept.tuning[1].result.rows, 2, "the tuning is there")
  tap.is(kept.validation, nil, "what was not done is not")
  local page = tap.read(dir .. "/report.html")
  tap.has(page, "Tuning", "a page of it too")
  tap.has(page, "<td class=\"l\">gain</td><td class=\"r\">–</td>", "a figure not known is a dash")
end)

tap.case("a study that is interrupted between evolutions says so in a word", function()
  local dir = tap.folder()
  local ok, why = pcall(gi.experiment.run, study(dir, { "tune", function()
    error "interrupted!"
  end, "validate" }))
  tap.is(ok, false, "it goes on to the caller")
  tap.is(trace.text(why, 1), "interrupted", "to whom no place is told, and no traceback")
  tap.has(tap.read(dir .. "/report.html"),
    "<strong>Stopped:</strong> interrupted; 1 steps were done", "the page says so too")
  tap.is(#json.decode(tap.read(dir .. "/experiment.json")).stages, 1, "what was done is kept")
end)

tap.case("a report that cannot be written does not stop the study", function()
  local dir = tap.folder()
  local page, stderr, said = gi.html.page, io.stderr, {}
  gi.html.page = function() error "no plot" end
  io.stderr = { write = function(_, text) said[#said + 1] = text end } -- luacheck: ignore 122
  local ok, why = pcall(gi.experiment.run, study(dir, { "tune", winner "", "validate" }))
  gi.html.page, io.stderr = page, stderr -- luacheck: ignore 122
  local kept = json.decode(tap.read(dir .. "/experiment.json"))
  tap.is(#kept.stages, 3, "all steps are done, and kept")
  tap.is(#said, 1, "it is told once")
  tap.has(said[1], "no plot; the study goes on", "in a sentence")
  tap.is(ok, false, "and the study fails at its end")
  tap.has(tostring(why), "no plot", "by that")
end)

tap.case("a study without its parts is misuse", function()
  tap.raises(function() gi.experiment.run { options = {} } end, "the study needs 'problem'",
    "its problem")
end)

tap.done()
