-- report: the folder of results.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local evolve = require "gilua.search.evolve"
local fake = require "fake"
local folders = require "gilua.report.folder"
local json = require "gilua.base.json"
local lfs = require "lfs"
local report = require "gilua.report.report"
local tap = require "tap"

local function run_into(dir, changes)
  local scheme = {
    problem = fake.problem(), farm = fake.farm(), rng = fake.rng(3), new_case = fake.new_case,
    population = 20, generations = 6, observers = { assert(report.open(dir)) },
  }
  for name, value in pairs(changes or {}) do scheme[name] = value end
  return pcall(evolve.run, scheme)
end

local function shell(command)
  local pipe = io.popen(command .. " 2>&1")
  local text = pipe:read("a")
  local _, _, code = pipe:close()
  return code, text
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

tap.case("result.json says what was found", function()
  local dir = tap.folder() .. "/a/b"
  local fine, run = run_into(dir)
  tap.ok(fine, "the folder and its parents are made")
  local result = json.decode(tap.read(dir .. "/result.json"))
  for _, name in ipairs { "baseline", "best" } do
    for _, field in ipairs { "genome", "ticks", "max_error", "mean_error", "wrong", "unset", "n",
      "status" } do
      tap.is(result[name][field], run.result[name][field], name .. "." .. field)
    end
  end
  tap.is(result.seed, 3, "seed")
  tap.is(result.device, "fake", "device")
  tap.is(result.problem, "fake", "problem")
  tap.is(result.case, "case 8", "case")
  tap.is(result.case_unseen, true, "which was not seen before")
  tap.is(result.speedup, run.result.speedup, "speedup")
  tap.is(result.speedup, result.baseline.ticks / result.best.ticks, "by its definition")
  tap.is(result.evaluations, run.evaluations, "evaluations")
  tap.is(result.rejected.wrong, run.rejected.wrong, "rejected by cause")
  tap.is(#result.generation_speedups, 6, "the best of each generation")
  tap.ok(result.seconds.total and result.seconds.run == run.evaluations / 8, "seconds by stage")
  tap.is(result.stopped, nil, "it was not stopped")
  tap.ok(result.versions.lua, "versions")
end)

tap.case("best.patch applies to the kernel and gives best.cu", function()
  local dir = tap.folder()
  local _, run = run_into(dir)
  local best = tap.read(dir .. "/best.cu")
  tap.is(best, (run.problem.grammar:apply(run.result.best.genome)), "best.cu is the best")
  tap.ok(best ~= fake.source, "and not the kernel")
  write(dir .. "/kernel.cu", fake.source)
  local code, text = shell(("cd '%s' && patch kernel.cu < best.patch"):format(dir))
  tap.is(code, 0, "patch kernel.cu")
  tap.note(text)
  tap.ok(tap.read(dir .. "/kernel.cu") == best, "gives best.cu")
  write(dir .. "/kernel.cu", fake.source)
  tap.is(shell(("cd '%s' && patch -p0 < best.patch"):format(dir)), 0, "patch -p0")
  tap.ok(tap.read(dir .. "/kernel.cu") == best, "gives best.cu too")
end)

tap.case("diffs of any text", function()
  tap.is(report.diff("a\n", "a\n", "x.cu"), "", "equal texts")
  tap.has(report.diff("a\n", "b\n", "it's.cu"), "--- it's.cu\n+++ it's.cu\n@@ -1 +1 @@\n-a\n+b\n",
    "a name to be quoted")
end)

tap.case("generations.csv has a line a generation", function()
  local dir = tap.folder()
  local _, run = run_into(dir, { new_case = function(n, rng)
    return { name = 'ball "' .. n .. '", small', ticks = rng:int(900, 1000) }
  end })
  local lines = {}
  for line in io.lines(dir .. "/generations.csv") do lines[#lines + 1] = line end
  tap.is(#lines, 7, "and a head")
  tap.is(lines[1], "generation,case,baseline_ticks,best_ticks,speedup,median_ticks,compiled,right,"
    .. "parents,evaluations,mean_length,best_length,best_genome", "the columns")
  tap.has(lines[2], '1,"ball ""1"", small",' .. run.records[1].baseline.ticks .. ",", "quoting")
end)

tap.case("the same seed leaves the same bytes", function()
  local a, b = tap.folder(), tap.folder()
  run_into(a)
  run_into(b)
  for _, name in ipairs { "best.cu", "best.patch", "generations.csv" } do
    tap.ok(tap.read(a .. "/" .. name) == tap.read(b .. "/" .. name), name)
  end
  local function timeless(dir)
    return (tap.read(dir .. "/result.json"):gsub('"seconds": %b{}', ""))
  end
  tap.ok(timeless(a) == timeless(b), "result.json but for seconds")
end)

tap.case("a stopped run leaves what it has", function()
  local dir = tap.folder()
  local fine = run_into(dir, { on_generation = function(_, record)
    if record.generation == 2 then error("enough") end
  end })
  tap.is(fine, false, "it was stopped")
  local result = json.decode(tap.read(dir .. "/result.json"))
  tap.has(result.stopped, "enough", "the reason")
  tap.is(result.generations, 2, "whole generations")
  tap.is(result.case_unseen, false, "measured on a case that evolution saw")
  tap.ok(tap.read(dir .. "/best.cu"), "the best so far")
  tap.has(tap.read(dir .. "/log.txt"), "stopped: ", "the log says so")
end)

tap.case("a run stopped before its first generation leaves a result without one", function()
  local dir = tap.folder()
  run_into(dir, { farm = fake.farm(function() error("interrupted!") end) })
  local result = json.decode(tap.read(dir .. "/result.json"))
  tap.is(result.best, nil, "no best")
  tap.is(result.stopped, "interrupted", "the reason")
  tap.is(tap.read(dir .. "/best.cu"), nil, "no kernel")
end)

tap.case("a file that cannot be written keeps none of the others from being", function()
  local dir, failed_in = tap.folder(), nil
  local fine, why = run_into(dir, { on_generation = function(_, record)
    if record.generation == 1 then -- best.cu cannot be replaced from now on
      os.remove(dir .. "/best.cu")
      assert(lfs.mkdir(dir .. "/best.cu") and lfs.mkdir(dir .. "/best.cu/full"))
    end
    failed_in = record.generation
  end })
  tap.is(fine, false, "the run is stopped")
  tap.has(tostring(why), "best.cu", "by the file that it names")
  local result = json.decode(tap.read(dir .. "/result.json"))
  tap.is(result.generations, failed_in, "result.json tells of all generations")
  tap.has(result.stopped, "best.cu", "and why there are no more")
  local _, lines = tap.read(dir .. "/generations.csv"):gsub("\n", "")
  tap.is(lines, failed_in + 1, "so does generations.csv")
  tap.has(tap.read(dir .. "/log.txt"), "stopped: ", "and log.txt")
end)

tap.case("log.txt keeps why mutants did not run", function()
  local dir = tap.folder()
  run_into(dir, { population = 50, generations = 1 })
  tap.has(tap.read(dir .. "/log.txt"),
    "generation 1: compile_error: <_kernel.cu_7><_kernel.cu_4>: kernel.cu(7): error: fake\n", "why")
end)

-- A folder that holds what an earlier run left, and something of its owner's.
local function used_folder()
  local dir = tap.folder()
  for _, name in ipairs { "result.json", "best.cu", "log.txt" } do
    write(dir .. "/" .. name, "old")
  end
  write(dir .. "/notes.txt", "mine")
  return dir
end

tap.case("earlier results move aside, and not before there are others", function()
  local dir = used_folder()
  run_into(dir, { on_start = function()
    tap.is(tap.read(dir .. "/result.json"), "old", "they are there when it begins")
    tap.is(tap.read(dir .. "/log.txt"), "old", "all of them")
  end, on_generation = function(_, record)
    if record.generation > 1 then return end
    local result = json.decode(tap.read(dir .. "/result.json"))
    tap.has(result.stopped, "under way: 1 of 6", "after a generation there is a new result")
    tap.is(tap.read(dir .. "/best.cu") ~= "old", true, "and a new best")
  end })
  tap.is(tap.read(dir .. "/earlier-1/result.json"), "old", "the old result is kept")
  tap.is(tap.read(dir .. "/earlier-1/log.txt"), "old", "and what came with it")
  tap.is(tap.read(dir .. "/notes.txt"), "mine", "what is not ours stays where it is")
  run_into(dir)
  tap.ok(json.decode(tap.read(dir .. "/earlier-2/result.json")), "a second time, too")
end)

tap.case("a run that finds nothing takes nothing away", function()
  local dir = used_folder()
  local fine = run_into(dir, { on_start = function() error "at once" end })
  tap.is(fine, false, "it is stopped")
  for _, name in ipairs { "result.json", "best.cu", "log.txt" } do
    tap.is(tap.read(dir .. "/" .. name), "old", name .. " is as it was")
  end
  tap.is(lfs.attributes(dir .. "/.lock"), nil, "and the folder is free")
end)

tap.case("runs without a folder of a person's choice get one each", function()
  local root = tap.folder()
  local usual = root .. "/out/name-1"
  local first, second = folders.open(nil, usual), folders.open(nil, usual)
  tap.is(first.dir, usual, "the first has the name")
  tap.is(second.dir, usual .. "-2", "the second has the next")
  second:write("best.cu", "x")
  local target = lfs.symlinkattributes(root .. "/out/latest", "target")
  tap.is(target, "name-1-2", "latest is a link to it")
  first:close()
  second:close()
  tap.is(lfs.attributes(usual), nil, "a folder in which nothing was written goes")
  tap.is(tap.read(usual .. "-2/best.cu"), "x", "the other stays")
  tap.is(folders.open(nil, usual).dir, usual, "and the name is free again")
end)

tap.case("two runs do not share a folder", function()
  local dir = tap.folder()
  local held = folders.open(dir, "")
  local ok, why = pcall(folders.open, dir, "")
  tap.is(ok, false, "the second is refused")
  tap.has(tostring(why), "another run is at work there (process " .. core.system.pid(), "by name")
  held:close()
  folders.open(dir, ""):close()
  tap.ok(true, "and has it when the first is done")
end)

tap.case("a folder that cannot be written is refused at once", function()
  local dir = tap.folder()
  write(dir .. "/file", "x")
  local none, why, code = report.open(dir .. "/file/results")
  tap.is(none, nil, "refused")
  tap.is(why, ("cannot write results to '%s/file/results': Not a directory; choose another folder "
    .. "with --out"):format(dir), "in one sentence")
  tap.is(code, "io", "the code")
  local _, merged = pcall(folders.open, dir .. "/file", "", "; choose another folder")
  tap.is(tostring(merged), ("cannot write results to '%s/file': Not a directory; choose another "
    .. "folder"):format(dir), "a command without --out does not speak of it")
end)

tap.done()
