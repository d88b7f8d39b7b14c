-- trace: whose line an error is told with, and how much of the way there.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local attempt = require "gilua.base.attempt"
local ends = require "gilua.base.ends"
local entries = require "gilua.base.entries"
local settings = require "gilua.base.settings"
local tap = require "tap"
local trace = require "gilua.base.trace"

local HERE = "tests/lua/trace.lua:"

local function handled(f)
  return tostring(select(2, xpcall(f, trace.handler)))
end

tap.case("misuse is told at the script's line, however deep it was noticed", function()
  local line = debug.getinfo(1, "l").currentline + 1
  local text = handled(function() settings.fill("thing", { colr = 1 }, { colour = 2 }) end)
  tap.is(text:match "^[^\n]*",
    ("%s%d: thing: unknown option 'colr'; did you mean 'colour'?"):format(HERE, line), "its line")
  tap.is(text:find("lua/gilua", 1, true), nil, "and nothing of gilua's")
end)

tap.case("an error of a script is traced through the script alone", function()
  local function inner() error "mine" end
  local function outer()
    local list = { 2, 1 }
    table.sort(list, function() inner() end)
  end
  local text = handled(function() outer() end)
  tap.has(text, HERE, "its line")
  tap.has(text, "stack traceback:\n\t" .. HERE, "then its frames, the innermost first")
  tap.has(text, "in upvalue 'outer'", "through who called it")
  tap.is(text:find("[C]", 1, true), nil, "without those of C")
end)

tap.case("an error in gilua's own code shows everything", function()
  local text = handled(function() settings.fill("thing", {}, 5) end)
  tap.has(text, "lua/gilua/base/settings.lua:", "its line")
  tap.has(text, "stack traceback:", "with the way")
  tap.has(text, "lua/gilua/base/settings.lua:", "there")
  tap.is(trace.text(text, 1), text, "and not twice")
end)

tap.case("told: the script's line in place of one of gilua's", function()
  local function told(message)
    local text = trace.told(message, 1)
    return text
  end
  local line = debug.getinfo(1, "l").currentline - 3
  local text = told("/opt/gilua/lua/gilua/search/genome.lua:17: no: 3")
  tap.is(text, ("%s%d: no: 3"):format(HERE, line), "of an installed gilua")
  text = told("...deep/in/a/home/gilua/lua/gilua/search/genome.lua:17: no")
  tap.has(text, HERE, "of one whose path Lua has shortened")
  tap.is(told("mine.lua:3: no"), "mine.lua:3: no", "one of a script stays")
  tap.is(told("no"), "no", "and what has none")
end)

tap.case("memory that has run out, while a module is loaded too", function()
  local loading = "error loading module 'gilua.x' from file '/opt/gilua/lua/gilua/x.lua':\n\t"
  for _, message in ipairs { "not enough memory", loading .. "not enough memory" } do
    tap.ok(ends.is_no_memory(message), message)
    tap.is(trace.text(message, 1), "not enough memory", "in few words")
  end
  for _, other in ipairs { loading .. "'end' expected", "a file: not enough memory", {} } do
    tap.ok(not ends.is_no_memory(other), "and not " .. tostring(other))
  end
end)

tap.case("an attempt is not made where memory has run out", function()
  local function failing(message) return pcall(attempt, error, message, 0) end
  local done, attempted, why = failing "no such file"
  tap.ok(done and not attempted and why == "no such file", "what failed is said")
  for _, message in ipairs { "not enough memory", "interrupted!" } do
    local through, raised = failing(message)
    tap.ok(not through and raised == message, message .. " goes on upwards")
  end
end)

tap.case("what asks whether it runs in gilua does not take no memory for a no", function()
  local function no_memory() error("not enough memory", 0) end
  local function asked(name, f, ...)
    local before = package.loaded[name]
    package.loaded[name], package.preload[name] = nil, no_memory
    local done, why = pcall(f, ...)
    package.loaded[name], package.preload[name] = before, nil
    tap.ok(not done and why == "not enough memory", tostring(why))
  end
  for _, name in ipairs { "host", "events", "textfile" } do
    asked("gilua.core", dofile, ("lua/gilua/base/%s.lua"):format(name))
  end
  asked("gilua", require "gilua.base.cli", {})
end)

tap.case("a launch for which this process has no memory is not the mutant's", function()
  local runner = require "gilua.farm.runner"
  local module = { launch = function() return { status = "out_of_memory" } end }
  local done, why = pcall(runner.launched, { virtual = true }, module, {})
  tap.ok(not done and ends.is_no_memory(why), "on the virtual GPU")
  local m = runner.launched({ virtual = false }, module, {})
  tap.is(m.status, "out_of_memory", "a GPU's memory is")
end)

tap.case("a folder that cannot be read is a sentence", function()
  local read, why = pcall(entries, "/nowhere/at all")
  tap.ok(not read and ends.is_refusal(why), "a refusal")
  tap.is(tostring(why), "cannot read the folder /nowhere/at all: No such file or directory", "why")
  local list = {}
  for name in entries "lua" do list[#list + 1] = name end
  table.sort(list)
  tap.is(table.concat(list, " "), ". .. gilua", "and one that can has its names")
end)

tap.case("a part of gilua that cannot be read is a sentence", function()
  local text = trace.from_without "a.lua:1: module 'gilua.x' not found:\n\tno field package.preload"
  tap.is(text, "a part of gilua cannot be read: gilua.x", "its name")
  tap.is(trace.from_without "a.lua:1: no", nil, "and nothing of what else is wrong")
end)

tap.done()
