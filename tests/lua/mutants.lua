-- `make mutants`: which changes of a text are tried, and that a test which notices one is told from
-- a test which does not.

package.path = "tests/lua/?.lua;tests/mutants/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local judge = require "judge"
local lfs = require "lfs"
local mutate = require "mutate"
local scratch = require "scratch"
local shell = require "gilua.base.shell"
local tap = require "tap"

local function changes(text, language)
  local list = {}
  for _, place in ipairs(mutate.places(text, language)) do
    for _, change in ipairs(place.changes) do
      list[#list + 1] = ("%d %s"):format(place.line, change.what)
    end
  end
  return table.concat(list, "\n")
end

tap.case("the changes of a text in Lua", function()
  tap.is(changes([==[
local file <close> = io.open "a < b" -- and, or
local t = [[ not
true ]] .. 'x == "y"'
if a <= b and not c then return nil, "why" end
return 0 == f(0x1p4)
]==], "lua"), [[
4 `<=` becomes `<`
4 `<=` becomes `>`
4 `and` becomes `or`
4 `not` is dropped
4 `return` is taken out
4 `nil` becomes `true`
5 `0` becomes `1`
5 `==` becomes `~=`
5 `0x1p4` becomes `17`
5 `0x1p4` becomes `15`]])
  local text = "if a and b\n  and c then\n  return 1\nend\n"
    .. "if not x then return y else return z end"
  tap.is(changes(text, "lua"), [[
1 `and` becomes `or`
2 `and` becomes `or`
3 `return` is taken out
3 `1` becomes `2`
3 `1` becomes `0`
5 `not` is dropped
5 `return` is taken out
5 `return` (number 2) is taken out]])
end)

tap.case("the changes of a text in C", function()
  tap.is(changes([[
#include <stdio.h> /* < */
#define TWO(a) \
    (a < 2)
static bool f(int a, const char *s) { // a && b
    if (!s || a >= 3) return false;
    for (; a != *s; a--)
        if (s[a] == '<') continue;
    return puts("a > b \" < c") > 0;
}
]], "c"), [[
5 `!` is dropped
5 `||` becomes `&&`
5 `>=` becomes `>`
5 `>=` becomes `<`
5 `3` becomes `4`
5 `3` becomes `2`
5 `return` is taken out
5 `false` becomes `true`
6 `!=` becomes `==`
7 `==` becomes `!=`
7 `continue` is taken out
8 `>` becomes `>=`
8 `>` becomes `<=`
8 `0` becomes `1`]])
end)

tap.case("all changes of a file differ, load and come in the same order again", function()
  local path = "lua/gilua/facts/loop.lua"
  local text, seen, n, broken = tap.read(path), {}, 0, {}
  local again = mutate.draws(text, "lua", gi.rng(3))
  for place, change in mutate.draws(text, "lua", gi.rng(3)) do
    local mutant = mutate.apply(text, place, change)
    local other, other_change = again()
    if not load(mutant) or seen[mutant] or mutant == text or other.first ~= place.first
      or other_change.what ~= change.what then
      broken[#broken + 1] = place.line .. " " .. change.what
    end
    seen[mutant], n = true, n + 1
  end
  tap.is(table.concat(broken, "\n"), "", n .. " changes")
  tap.ok(n > 200, "of all of the file")
end)

local SUM = [[
local M = {}
function M.is_small(n)
  return n < 10
end
function M.is_even(n)
  return n % 2 == 0
end
function M.is_odd(n) return not M.is_even(n) end
return M
]]

local TESTS = {
  small = "local sum = dofile 'sum.lua' assert(sum.is_small(9) and not sum.is_small(10))",
  even = "local sum = dofile 'sum.lua' assert(sum.is_even(4) ~= nil)", -- it cannot fail
  red = "error 'always'",
}

-- Judges all changes of SUM by these tests; the rows, and what was said.
local function judged(tests, explained)
  local folder, said = tap.folder(), {}
  scratch.write(folder .. "/sum.lua", SUM)
  for name, text in pairs(TESTS) do scratch.write(folder .. "/" .. name, text) end
  local rows = judge.run { folder = folder, files = { "sum.lua" }, count = 100, seed = 1,
    covers = { { file = "sum.lua", tests = tests } }, explained = explained or {},
    command = function(test) return shell.quoted(core.system.program()) .. " " .. test end,
    say = function(line) said[#said + 1] = line end }
  tap.is(tap.read(folder .. "/sum.lua"), SUM, "the text is there again")
  return rows[1], "\n" .. table.concat(said, "\n") .. "\n"
end

local function counts(row)
  return ("%d killed, %d explained, %d survived"):format(row.killed, row.explained, row.survived)
end

tap.case("a test that notices, and one that does not", function()
  local row, said = judged "small even"
  tap.is(counts(row), "4 killed, 0 explained, 5 survived", "mutants")
  tap.has(said, "\nsum.lua:3: `<` becomes `<=`: killed by small\n", "killed")
  tap.has(said, "\nsum.lua:6: `==` becomes `~=`: SURVIVED 1 tests: return n % 2 == 0\n",
    "survived: the other test does not call the function")
  tap.has(said, "\nsum.lua:8: `not` is dropped: SURVIVED 0 tests: "
    .. "function M.is_odd(n) return not M.is_even(n) end\n", "survived: nothing calls it")
  tap.has(said:gsub(" +", " "), "\nsum.lua 9 4 0 5\n", "the table")
  row, said = judged("small even", { { file = "sum.lua", line = "return n % 2 == 0",
    what = "`==` becomes `~=`", why = "as a test" } })
  tap.is(counts(row), "4 killed, 1 explained, 4 survived", "one is explained")
  tap.has(said, "\nsum.lua:6: `==` becomes `~=`: equivalent, as explained\n", "and not tried")
end)

tap.case("what cannot be judged is refused", function()
  tap.has(scratch.sentence(judged, "small red"), "red fails without a mutant", "a test that fails")
  tap.has(scratch.sentence(judge.run, { folder = tap.folder(), files = { "a.py" } }),
    "a.py is neither a Lua file nor a C file", "another language")
end)

tap.case("the lists beside the tool name what is there", function()
  local places = {}
  local function is_there(one)
    if not places[one.file] then
      places[one.file] = { text = tap.read(one.file) or "" }
      for _, place in ipairs(mutate.places(places[one.file].text, one.file:match "%w+$")) do
        for _, change in ipairs(place.changes) do
          places[one.file][judge.line(places[one.file].text, place) .. change.what] = true
        end
      end
    end
    return places[one.file][one.line .. one.what]
  end
  for _, one in ipairs(dofile "tests/mutants/explained.lua") do
    tap.ok(is_there(one) and #one.why > 20, ("%s: %s: %s"):format(one.file, one.line, one.what))
  end
  for _, row in ipairs(dofile "tests/mutants/covers.lua") do
    for test in row.tests:gmatch "%S+" do
      local path = test:gsub("^build/tests/(.*)$", "tests/c/%1.c")
      if not lfs.attributes(path) then tap.ok(false, test .. " is there") end
    end
  end
end)

tap.done()
