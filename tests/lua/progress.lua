-- progress: what a person sees.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local progress = require "gilua.report.progress"
local tap = require "tap"

-- Runs with an observer whose output is kept; gives the text.
local function shown(options, changes)
  local path = os.tmpname()
  local out <close> = assert(io.open(path, "w+"))
  options.out = out
  local scheme = {
    problem = fake.problem(), farm = fake.farm(), rng = fake.rng(1), new_case = fake.new_case,
    population = 30, generations = 8, observers = { progress.new(options) },
  }
  for name, value in pairs(changes or {}) do scheme[name] = value end
  pcall(evolve.run, scheme)
  out:seek("set")
  local text = out:read("a")
  os.remove(path)
  return text
end

tap.case("numbers for people", function()
  tap.is(progress.grouped(1234567), "1 234 567", "millions")
  tap.is(progress.grouped(123), "123", "three digits")
  tap.is(progress.faster(1.25), "1.250 times faster", "a winner")
  tap.is(progress.faster(0.996), "0.996 times as fast", "one that was chosen by its energy")
  tap.is(progress.grouped(0), "0", "nothing")
  tap.is(progress.duration(75.2), "1:15", "minutes")
  tap.is(progress.duration(3661), "1:01:01", "hours")
end)

tap.case("piped: plain lines, then the table", function()
  local text = shown({ results = { folder = {
    dir = "out/here", listing = function() return { "best.cu", "log.txt" } end } } })
  tap.has(text, "A fake kernel: population 30, 8 generations, seed 1\n", "the head")
  local _, lines = text:gsub("\ngeneration %d/8  best [%d.]+x  compile %d+%%  right %d+%%", "")
  tap.is(lines, 8, "one line a generation")
  tap.ok(not text:find("[\r\27]"), "and nothing for terminals")
  tap.has(text, "unmodified             best", "the two kernels")
  tap.has(text, "wrong answers                0 of 1 000       0 of 1 000", "their answers")
  tap.has(text, "What the 3 genes of the best do:", "the genes")
  tap.has(text, "line 8: the condition `(lane < 16)` is replaced by that of line 3, `(n > 0)`",
    "in words")
  tap.has(text, "Results are in out/here: best.cu log.txt\n", "and where the results are")
end)

tap.case("on a terminal: one live line", function()
  local text = shown { terminal = true }
  tap.has(text, "\r\27[Kgeneration 2/8  best ", "rewritten in place")
  tap.has(text, " eval/s  ", "how fast")
  tap.has(text, " left", "how long")
  for line in text:gmatch("\r\27%[K([^\r\n]*)") do
    if #line > 79 then tap.is(#line, 79, "no line is wider than the terminal: " .. line) end
  end
end)

tap.case("quiet", function()
  tap.is(shown { quiet = true }, "", "nothing at all")
end)

tap.case("nothing found, and nothing to find", function()
  tap.has(shown({}, { acceptable = function(own) return own.genome == "" end }),
    "No mutant beat the unmodified kernel.", "no mutant is better")
  tap.has(shown({}, { least = 0.8 }), "No mutant beat the unmodified kernel by more than 80 %.",
    "none gains what counts")
  tap.has(shown({}, { farm = fake.farm(function() error("interrupted!") end) }),
    "Stopped before the first generation was complete: no result.", "stopped at once")
end)

tap.case("options that are not known are refused", function()
  tap.raises(function() progress.new { quite = true } end,
    "gilua.progress.new: unknown option 'quite'; did you mean 'quiet'?", "a key")
end)

tap.done()
