-- tune: settings in order, restrictions, samples, failures, the best and the default.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local fake = require "fake"
local tap = require "tap"
local tune = require "gilua.study.tune"

-- Ticks of a setting: block 64 is best; 128 does not launch; FAST helps but is wrong with block 32.
local function farm()
  local f = { calls = 0 }
  function f.evaluate(self, genomes, _, options)
    self.calls = self.calls + 1
    local list = {}
    for i, text in ipairs(genomes) do
      local block = tonumber(text:match(".*block_size=(%d+)") or 32)
      local fast = text:find("FAST") ~= nil
      local ticks = 1000 - (block == 64 and 100 or 0) - (fast and 50 or 0)
      local off = fast and block == 32 and 1 or 0
      list[i] = { genome = text, status = "ok", ticks = ticks, ns = ticks / 2, registers = 20,
                  n = 1, off = off, wrong = 0, unset = 0, max_error = off }
      if block == 128 then list[i].status, list[i].message = "launch_error", "too large\nat all" end
      if options and options.on_result then options.on_result(i, list[i], i, #genomes) end
    end
    return list
  end
  function f.case_info() return { name = "a case" } end
  return f
end

local function run(options)
  options.problem, options.farm, options.case = fake.problem(), farm(), {}
  return tune.run(options)
end

local function names(rows)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row.genome == "" and "-" or row.genome end
  return table.concat(list, ",")
end

tap.case("every value of one parameter, in order", function()
  local r = run { parameters = { "block_size" } }
  tap.is(names(r.rows), "block_size=32,block_size=64,block_size=128", "in order")
  tap.is(r.best.genome .. " " .. r.default.genome, "block_size=64 block_size=32", "best, default")
  tap.is(r.rows[3].status .. " " .. tostring(r.rows[3].right), "launch_error false", "what fails")
  tap.is(r.case .. " " .. r.total .. " " .. tostring(r.sampled), "a case 3 false", "counts")
  local text = table.concat(tune.lines(r), "\n")
  tap.has(text, "* block_size=64", "the best is marked")
  tap.has(text, "launch_error: too large", "a reason of one line")
  tap.has(text, "1.111x", "against the default")
  tap.is(#tune.lines(r, { limit = 1 }), 2, "only the best")
end)

tap.case("two parameters, a switch among them, and a restriction", function()
  local r = run { parameters = { "FAST", { name = "block_size", values = { 32, 64 } } },
                  restrict = function(v) return not (v.FAST and v.block_size == 64) end }
  tap.is(names(r.rows), "block_size=32,block_size=64,FAST block_size=32", "first varies slowest")
  tap.is(r.rows[3].right, false, "a wrong one is no candidate")
  tap.is(r.best.genome, "block_size=64", "the best of the right ones")
end)

tap.case("of equals the default is the best", function()
  local r = run { parameters = { { name = "block_size", values = { 16, 32, 48 } } } }
  tap.is(r.best.genome, "block_size=32", "16 and 48 take as long")
  r = run { parameters = { { name = "block_size", values = { 16, 48 } } } }
  tap.is(r.best.genome, "block_size=16", "where it is not among them, the first is")
end)

tap.case("settings of the base are the default", function()
  local r = run { parameters = { "FAST", "block_size" }, base = "block_size=32 block_size=64 FAST" }
  tap.is(r.default.genome, "FAST block_size=64", "the last setting counts")
end)

tap.case("a sample has no repetitions and keeps the order", function()
  local r = run { parameters = { "FAST", "OTHER", "block_size" }, sample = 5, rng = fake.rng(3) }
  tap.is(#r.rows .. " of " .. r.total .. " " .. tostring(r.sampled), "5 of 12 true", "so many")
  local seen = {}
  for _, row in ipairs(r.rows) do seen[row.genome] = true end
  local different = 0
  for _ in pairs(seen) do different = different + 1 end
  tap.is(different, 5, "all different")
  local again = run { parameters = { "FAST", "OTHER", "block_size" }, sample = 5,
                      rng = fake.rng(3) }
  tap.is(names(again.rows), names(r.rows), "the same seed, the same sample")
end)

-- A file that knows some settings.
local function cache(known, foreign)
  local c = { path = "a file", device = "a GPU", foreign = foreign, added = {} }
  function c.find(_, values) return known[values.block_size] end
  function c.add(self, row) self.added[#self.added + 1] = row.genome end
  return c
end

local function told(ticks) return { status = "ok", right = true, ticks = ticks, ns = ticks / 2 } end

tap.case("what a file knows is not measured, but for what decides", function()
  local file = cache { [32] = told(1000), [64] = told(800), [128] = told(700) }
  local r = run { parameters = { { name = "block_size", values = { 32, 64, 96, 128 } } },
    cache = file }
  tap.is(table.concat(file.added, " "), "block_size=96", "what it did not know is added")
  tap.is(r.best.genome .. " " .. r.best.ticks, "block_size=64 900", "the best was run here")
  tap.is(r.rows[4].status, "launch_error", "what it has for the best and cannot run is none")
  tap.is(r.default.told, nil, "the kernel as it is was run here, too")
  tap.near(r.speedup, 1000 / 900, "so that the speed-up is of this run")
  file = cache { [32] = { status = "compile_error", right = false, message = "m" },
    [64] = told(950), [128] = told(3000) }
  r = run { parameters = { "block_size" }, cache = file }
  tap.is(r.best.genome .. " " .. r.best.ticks, "block_size=64 900", "a file may be wrong")
  tap.is(tostring(r.rows[1].told) .. " " .. tostring(r.rows[3].told), "nil true", "its word alone")
end)

tap.case("times of another device stay its own", function()
  local function theirs(ns) return { status = "ok", right = true, ns = ns } end
  local file = cache({ [32] = theirs(30), [64] = theirs(20), [128] = theirs(10) }, true)
  local r = run { parameters = { { name = "block_size", values = { 32, 64, 96, 128 } } },
    cache = file }
  tap.is(names(r.rows), "block_size=32,block_size=64,block_size=128", "what it knows is compared")
  tap.is(r.sampled, true, "which is not all")
  tap.is(r.best.genome, "block_size=64", "the fastest there that is right here")
  tap.is(("%s %s %s"):format(r.best.ns, r.best.ticks, r.speedup), "20 nil 1.5", "by its times")
  tap.has(table.concat(tune.lines(r), "\n"), "1.500x", "and they are shown")
  tap.raises(function() run { parameters = { "FAST" }, cache = cache({}, true) } end, "a GPU",
    "none of the settings")
end)

tap.case("misuse is named", function()
  tap.raises(function() run { parameters = { "block_siz" } } end, "did you mean 'block_size'",
    "typo")
  tap.raises(function() run { parameters = {} } end, "no parameters", "none")
  tap.raises(function()
    run { parameters = { "FAST" }, restrict = function() return false end }
  end, "no setting satisfies", "nothing legal")
  tap.raises(function() run { parameters = { "FAST" }, sample = 1 } end, "needs `rng`", "no rng")
end)

tap.done()
