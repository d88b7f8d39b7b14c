-- growth: what opening a file costs grows with its size, not with the square of it.
package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local csource = require "gilua.new.csource"
local hostcode = require "gilua.new.hostcode"
local slice = require "gilua.new.slice"

-- Instructions of Lua that a call takes, in hundreds.
local function instructions(f)
  local n = 0
  debug.sethook(function() n = n + 1 end, "", 100)
  f()
  debug.sethook()
  return n
end

-- Seconds of the processor, the least of three times.
local function seconds(f)
  local least = math.huge
  for _ = 1, 3 do
    local begun = os.clock()
    f()
    least = math.min(least, os.clock() - begun)
  end
  return least
end

tap.case("a compiler's log with a long line", function()
  local line = ("0.25000, "):rep(12000)
  local log = ("k.cu(2): error: no vector\n  %s\n  ^\nk.cu(9): warning #1: x\nk.cu(7): error: y\n")
    :format(line)
  local begun = os.clock()
  local list = slice.errors_in(log, "k.cu")
  tap.ok(os.clock() - begun < 1, "is read a line at a time") -- a millisecond; 10 s by its square
  tap.is(#list, 2, "its errors")
  tap.is(list[2].path .. list[2].line .. list[2].text, "k.cu7y", "the last one")
  tap.is(slice.errors_in("what?\n", "k.cu")[1].text, "what?", "one without any")
end)

tap.case("directives of a long text", function()
  local t <close> = csource.tokens("#define A 1\n" .. ("x = 1;\n"):rep(20000) .. "#undef A\n")
  local words = {}
  local n = instructions(function()
    for _, word in csource.directives(t) do words[#words + 1] = word end
  end)
  tap.is(table.concat(words, " "), "define undef", "are found")
  tap.ok(n < 10, "without a step for each token", n)
end)

-- A host function that launches often, of variables that change and within loops.
local function launching(n)
  local words = { "__global__ void k(float *x, int n) {}\n"
    .. "int main() { float *x; int n = 1; dim3 b(9);\n" }
  for i = 1, n do
    words[#words + 1] = ("int m%d = n + %d;\n"):format(i, i)
      .. ("for (int i = 0; i < 7; i++) k<<<m%d / b.x, b>>>(x, i);\n"):format(i)
  end
  return table.concat(words) .. "}\n"
end

tap.case("a host function with many launches", function()
  local function read(n)
    local text, host = launching(n), nil
    local steps = instructions(function() host = hostcode.read(text) end)
    local last = host:every_launch("k")[n]
    tap.is(#host:every_launch("k"), n, n .. " launches")
    tap.is(last.grid, ("m%d / b . x"):format(n), "the grid of the last")
    tap.is(last.args[2], "0", "in its loop's first round")
    return steps
  end
  local one, four = read(100), read(400)
  tap.ok(four < 7 * one, "four times the launches: four times the steps",
    ("%d, %d"):format(one, four))
end)

tap.case("rules of a long kernel", function()
  local function parse(n)
    local text = "__global__ void k(float *x)\n{\n" .. ("  x[0] = x[0] * 2 + 1;\n"):rep(n) .. "}\n"
    return function() assert(core.grammar.parse("k.cu", { text = text, kernel = "k" })) end
  end
  local one, four = seconds(parse(5000)), seconds(parse(20000))
  tap.ok(four < 9 * one, "four times the lines: four times the seconds",
    ("%g, %g"):format(one, four))
end)

tap.case("a condition of very many branches", function()
  local function parse(n)
    local text = "#if A == 0\n" .. ("#elif A == 1\n"):rep(n) .. "#endif\n"
      .. "__global__ void k(float *x) { x[0] = 1; }\n"
    return core.grammar.parse("k.cu", { text = text, kernel = "k" })
  end
  tap.ok(parse(399), "some hundreds are read")
  local g, why = parse(400)
  tap.is(g, nil, "more are refused")
  tap.is(tostring(why):match "line.*", "line 1: an #if with 401 branches (at most 400)",
    "in a sentence")
end)

tap.done()
