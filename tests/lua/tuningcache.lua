-- tuningcache: tuning results in the cache files of Kernel Tuner, both ways.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local json = require "gilua.base.json"
local scratch = require "scratch"
local tap = require "tap"
local tuningcache = require "gilua.report.tuningcache"

local function world(extra)
  local w = { device = "GPU", kernel = "k", size = { 64, 32 }, parameters = { "block", "fast" },
    values = { block = { 32, 64 }, fast = { false, true } },
    defaults = { block = 32, fast = false, depth = 3 }, seed = 1, files = "abc", clock_ghz = 2 }
  for name, value in pairs(extra or {}) do w[name] = value end
  return w
end

local function row(block, fast, extra)
  local r = { values = { block = block, fast = fast }, genome = "", status = "ok", right = true,
    ticks = 10, ns = 5e6, registers = 20, max_error = 0 }
  for name, value in pairs(extra or {}) do r[name] = value end
  return r
end

-- A file as Kernel Tuner writes one, while it is at work: without its last two brackets.
local OPEN = [[
{
"device_name": "GPU",
"kernel_name": "k",
"problem_size": [
64,
32
],
"tune_params_keys": [
"fast",
"block"
],
"tune_params": {
"fast": [
0,
1
],
"block": [
32
]
},
"objective": [
"time"
],
"cache": {
"0,32": {"fast": 0, "block": 32, "time": 0.25, "times": [0.5, 0.0], "GFLOP/s": NaN},
"1,32": {"fast": 1, "block": 32, "__error__": "CompilationFailedConfig", "compile_time": 9.5},]]

local function file(text)
  local path = tap.folder() .. "/cache.json"
  if text then scratch.write(path, text) end
  return path
end

local function said_of(text, extra)
  return scratch.sentence(tuningcache.open, file(text), world(extra)) or "nothing"
end

tap.case("what Kernel Tuner wants of a file", function()
  local text = tuningcache.encode({ rows = { row(32, false, { samples = { 4e6, 6e6 } }),
    row(64, true, { status = "compile_error", right = false, message = "no\nmore" }),
    row(64, false, { right = false, max_error = 0.5 }) } }, world())
  local t = json.decode(text)
  for _, name in ipairs { "device_name", "kernel_name", "problem_size", "tune_params_keys",
      "tune_params", "objective", "cache" } do
    tap.ok(t[name] ~= nil, name)
  end
  tap.is(text:match "}\n}\n$", "}\n}\n", "it ends in the brackets that Kernel Tuner cuts off")
  tap.ok(text:find('"cache": {\n"32,False": {', 1, true), "a key is in Python's words")
  local first, failed, wrong = t.cache["32,False"], t.cache["64,True"], t.cache["64,False"]
  tap.is(first.time .. " " .. table.concat(first.times, " "), "5.0 4.0 6.0", "milliseconds")
  tap.has(text, '"time": 5.0,', "a time has a point")
  for _, name in ipairs { "compile_time", "verification_time", "benchmark_time", "strategy_time",
      "framework_time" } do
    tap.is(math.type(first[name]), "float", "the file has " .. name)
  end
  tap.is(failed.time .. " " .. failed.message, "CompilationFailedConfig no", "what fails")
  tap.is(wrong.time .. " " .. wrong.status, "RuntimeFailedConfig ok", "a wrong answer")
end)

tap.case("numbers are printed as Python prints them", function()
  local expected = { { 0.1, "0.1" }, { 1e-5, "1e-05" }, { 1e16, "1e+16" }, { 2.0, "2.0" },
    { 123456.0, "123456.0" }, { 1 / 3, "0.3333333333333333" }, { 7, "7" }, { 1.5e300, "1.5e+300" },
    { 0.0001, "0.0001" }, { 9007199254740993.0, "9007199254740992.0" }, { "a,b", "a,b" } }
  for _, pair in ipairs(expected) do
    local text = tuningcache.encode({ rows = { row(pair[1], true) } }, world())
    tap.is(text:match '\n"([^\n]*),True": {', pair[2], "the value " .. pair[2])
  end
end)

tap.case("a file is gone on with", function()
  local path = file(OPEN)
  local cache <close> = tuningcache.open(path, world())
  tap.ok(not cache.foreign, "this device's")
  local known = cache:find { block = 32, fast = false }
  tap.is(known.ns .. " " .. known.ticks, "250000.0 500000.0", "a time")
  tap.is(known.right, true, "is that of right answers")
  local failed = cache:find { block = 32, fast = true }
  tap.is(failed.status .. " " .. tostring(failed.right), "compile_error false", "a failure")
  tap.has(failed.message, "CompilationFailedConfig, by " .. path, "whose word it is")
  tap.is(cache:find { block = 64, fast = true }, nil, "what it does not know")
  cache:add(row(64, true))
  cache:close()
  local text = tap.read(path)
  tap.has(text, OPEN:match '"0,32"[^\n]*', "what was there stands as it was")
  local t = json.decode((text:gsub("NaN", "null")))
  tap.is(t.cache["True,64"].time, 5.0, "what is new is there, in the file's order of parameters")
  tap.is(table.concat(t.tune_params.block, " "), "32 64", "and its values in the head")
  tap.is(#t.tune_params.fast, 2, "1 and true are one value")
  tap.is(tap.read(path .. ".lock"), nil, "the lock is gone")
end)

tap.case("files that were cut off", function()
  for what, text in pairs { ["within a line"] = OPEN .. '\n"0,64": {"fast": 0, "blo',
      ["before the comma"] = OPEN:sub(1, -2), ["nowhere"] = OPEN:sub(1, -2) .. "}\n}",
      ["nowhere, all on one line"] = OPEN:sub(1, -2):gsub("\n", " ") .. "}}" } do
    local cache <close> = tuningcache.open(file(text), world())
    tap.is(cache:find({ block = 32, fast = false }).ns, 250000.0, "cut off " .. what)
  end
  local cache <close> = tuningcache.open(file(OPEN:match "^.-\"cache\": {"), world())
  tap.is(cache:find { block = 32, fast = false }, nil, "before the first entry")
end)

tap.case("another device's times are read and not mixed", function()
  local path = file(OPEN)
  local cache <close> = tuningcache.open(path, world { device = "another" })
  tap.ok(cache.foreign, "it is another's")
  tap.is(cache:find({ block = 32, fast = false }).ticks, nil, "no ticks of this one")
  cache:add(row(64, true))
  cache:close()
  tap.is(tap.read(path), OPEN, "nothing is added")
end)

tap.case("a file that is not there is made, and read again", function()
  local path = file()
  do
    local cache <close> = tuningcache.open(path, world())
    cache:add(row(64, true))
    cache:add(row(32, true, { status = "illegal_address", right = false, message = "at 7" }))
  end
  local cache <close> = tuningcache.open(path, world())
  tap.is(cache:find({ block = 64, fast = true }).ticks, 10, "its ticks")
  local failed = cache:find { block = 32, fast = true }
  tap.is(failed.status .. " " .. failed.message, "illegal_address at 7, by " .. path, "its fate")
  tap.is(cache.taken, 2, "both were taken")
end)

tap.case("what does not belong together is refused in a sentence", function()
  tap.has(said_of(OPEN, { kernel = "other" }), "times of the kernel k, and this is other", "kernel")
  tap.has(said_of(OPEN, { size = 64 }), "times of size 64 x 32, and this is 64", "size")
  tap.has(said_of(OPEN, { parameters = { "block", "fast", "depth" } }), "'depth'", "too few")
  tap.has(said_of((OPEN:gsub("fast", "slow"))), "'slow', which is no parameter", "too many")
  tap.has(said_of '{ "schema_version": "1.0.0", "results": [] }', "T4 format are none", "T4")
  tap.has(said_of "", "no cache file of Kernel Tuner's", "an empty file")
  tap.has(said_of((OPEN:gsub('"GPU"', "3"))), "device_name", "a number for a name")
  tap.has(said_of(OPEN, { parameters = { "time" } }), "called 'time'", "a name that is taken")
  local own = tuningcache.encode({ rows = { row(32, true) } }, world())
  tap.has(said_of(own, { seed = 2 }), "times of seed 1, and this is 2", "another case")
  tap.has(said_of(own, { files = "def" }), "another text of k", "another kernel text")
  local path = file(OPEN)
  local cache <close> = tuningcache.open(path, world())
  tap.has(scratch.sentence(tuningcache.open, path, world()), "another run goes on with it", "lock")
  cache:close()
end)

tap.done()
