-- inspect: values as a person reads them.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local inspect = require "gilua.prompt.inspect"
local tap = require "tap"

local function shows(value, want, what, options)
  tap.is(inspect.render(value, options), want, what)
end

tap.case("plain values", function()
  shows(nil, "nil", "nil")
  shows(0.1, "0.1", "a fraction without its noise")
  shows(3, "3", "a whole number")
  shows(-1 / 0, "-inf", "infinity")
  shows(0 / 0 ~= 0 and 0 / 0, "nan", "no number")
  shows('a "b"\0', '"a \\"b\\"\\0"', "a string in quotes, what cannot be seen escaped")
  shows("one\ntwo\n", "one\ntwo", "text of several lines as it stands")
end)

tap.case("tables are sorted, limited in depth and length, and may hold themselves", function()
  shows({}, "{}", "empty")
  shows({ 3, 1, b = true, a = "x", ["end"] = 1, [2.5] = 0 },
    '{ 3, 1, [2.5] = 0, a = "x", b = true, ["end"] = 1 }', "list first, then numbers, then names")
  shows({ { { { 1 } } } }, "{ { { { 1 values } } } }", "the fourth level is counted")
  shows({ a = { b = { c = { d = 1 } } } }, "{ a = { b = { c = { ... } } } }", "or left out")
  local loop = {}
  loop.me = loop
  shows(loop, "{ me = <the table around it> }", "a table in itself")
  local long = {}
  for i = 1, 50 do long[i] = i end
  tap.has(inspect.render(long), "... 10 more", "what is too long says how much is missing")
  tap.is(inspect.render({ ("x"):rep(50), ("y"):rep(50) }):match("\n  "), "\n  ",
    "what does not fit on a line is broken and indented")
end)

tap.case("a table that resists", function()
  local broken = setmetatable({}, { __tostring = function() error("no text") end })
  tap.has(inspect.render(broken), "<table that cannot be shown: ", "says why it is not shown")
  shows(setmetatable({ 1 }, { __metatable = "hidden", __index = error }), "{ 1 }",
    "metamethods of fields are not called")
end)

tap.case("arrays", function()
  shows(gi.array("f32", 2, 3):fill(0.5),
    "f32 array 2x3, from 0.5 to 0.5: 0.5, 0.5, 0.5, 0.5, 0.5, 0.5", "type, shape, range, elements")
  local long = inspect.render(gi.array("i32", 1000), { width = 60 })
  tap.ok(#long <= 60 and long:find(", ...", 1, true), "a long one fits the line: " .. long)
  tap.has(inspect.render(gi.array("f32", 2):sentinel()), "nothing but NaN", "one without numbers")
end)

tap.case("measurements are one line", function()
  local m = { status = "ok", ticks = 12345.0, max_error = 1e-6, n = 2000, off = 0.0, wrong = 0.0,
              unset = 0.0, speedup = 1.25 }
  shows(m, "ok  12 345 ticks (1.250x)  largest error 1e-06  0 of 2 000 wrong", "a right one")
  m.off, m.wrong, m.unset = 0.5, 0.5, 0.25
  tap.has(inspect.render(m), "wrong answers  12 345", "a wrong one says so first")
  tap.has(inspect.render(m), "1 000 of 2 000 wrong, 500 never written", "and counts")
  shows({ status = "timeout", message = "no answer\nat all", ticks = 1 / 0, max_error = 1 / 0 },
    "timeout: no answer", "one that failed: its reason")
end)

tap.case("functions and objects", function()
  shows(gi.array.compare,
    "function gi.array.compare(got, expected [, {width, used, from, as, "
    .. "max_error, rel_error, limit, "
    .. "penalty, threads}]) -> table",
    "a C function by its registration row")
  tap.has(inspect.render(function(a, b) return a, b end), "function(a, b) tests/lua/inspect.lua:",
    "a Lua function by its place")
  local object = setmetatable({}, { __inspect = function(_, o) return "wide " .. o.width end })
  shows(object, "wide 33", "an object says it itself", { width = 33 })
  shows(setmetatable({ a = 1, b = { c = 1 } }, { __index = {} }), "{ a = 1, b = { ... } }",
    "one without a text shows its fields, but not theirs")
  shows({ setmetatable({}, { __inspect = function() return "one\ntwo" end }) }, "{ one ... }",
    "inside a table by its first line")
end)

tap.case("colours only where they are asked for", function()
  local diff = "--- k.cu\n+++ k.cu\n@@ -1 +1 @@\n-old\n+new\n"
  tap.is(inspect.render(diff), diff:sub(1, -2), "a diff as it is")
  tap.is(inspect.plain(inspect.render(diff, { colour = true })), diff:sub(1, -2), "the same text")
  tap.has(inspect.render(diff, { colour = true }), "\27[32m+new", "green where lines come")
end)

tap.case("columns, wrapping, pictures", function()
  tap.is(inspect.in_columns({ "a", "b", "c" }, 6), "a  c\nb", "down, then across")
  tap.is(inspect.wrap("  one two three", 9, "  "), "  one two\n  three", "between words")
  local rows = { { { 255, 0, 0, "x" }, false }, { false, { 0, 0, 255, "o" } } }
  tap.is(inspect.picture(rows, 2, {}), "x\n o", "letters without colours")
  tap.is(inspect.plain(inspect.picture(rows, 2, { colour = true, utf8 = true })),
    "\u{2580}\u{2584}", "half blocks with them")
end)

tap.done()
