-- growth: what opening a file costs grows with its size, not with the square of it.
package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local csource = require "gilua.source.csource"
local hostcode = require "gilua.host.hostcode"
local slice = require "gilua.new.slice"
local textfile = require "gilua.base.textfile"
local transforming = require "gilua.transform.grammar"

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

-- What comes before the copies of a piece, the piece, and what comes behind them; N is the copy's
-- number. Pieces that are found slow by being read again for each copy.
local KERNEL = "__global__ void k(float *x, int n) {\n"
local SHAPES = {
  { "variables that live on", KERNEL, "int vN = n; x[vN] = 1;\n", "}\n", 500 },
  { "declarators of a declaration", KERNEL .. "int a = 0", ", bN = N", ";\n}\n", 1500 },
  { "open angles in an initialiser", KERNEL .. "int a = 0", " < N", ";\n}\n", 1500 },
  { "shared arrays", KERNEL, "__shared__ float sN[32]; sN[0] = x[N];\n", "}\n", 1500 },
  { "loops", KERNEL, "for (int i = 0; i < n; i++) { x[i] += 1; }\n", "}\n", 1500 },
  { "ways out of loops", KERNEL, "for (;;) { if (x[0]) break; }\n", "}\n", 500 },
  { "kernels", "", "__global__ void kN(float *x) { x[0] = 1; }\n", "", 500 },
  { "functions that call each other", "__device__ void f0() {}\n",
    "__device__ void fN() { f0(); gN(); }\n", KERNEL .. "}\n", 500 },
}

tap.case("rules of files of many shapes", function()
  local options = { open_loops = true, initialisers = true, pragmas = true, restricts = true,
    consts = true, volatiles = true }
  local function parse(shape, n)
    local copies = {}
    for i = 1, n do copies[i] = shape[3]:gsub("N", tostring(i)) end
    options.text = shape[2] .. table.concat(copies) .. shape[4]
    return function() assert(core.grammar.parse("k.cu", options)):outline() end
  end
  for _, shape in ipairs(SHAPES) do
    local one, four = seconds(parse(shape, shape[5])), seconds(parse(shape, 4 * shape[5]))
    tap.ok(four < 8 * one + 0.02, ("%s: four times as many, four times the seconds")
      :format(shape[1]), ("%g, %g"):format(one, four))
  end
end)

tap.case("long arrays", function()
  local numbers = ("1.5f, 2, 0x1F,\n"):rep(1000)
  local function short(text) -- whether its numbers are left out, and come back
    local whole = text:format(numbers)
    local cut, values = csource.without_values(whole)
    tap.is(select(2, cut:gsub("\n", "")), select(2, whole:gsub("\n", "")), "its lines are there")
    tap.ok(csource.with_values(cut, values) == whole, "and all of it again")
    tap.is(csource.with_values("int x;", values), "int x;", "or what is left of it")
    return cut:gsub("/%*values_* 1%*/", ""):gsub("\n", "")
  end
  for _, text in ipairs { "__device__ float t[3000] = {%s};", "int a; const int t[9][2] = {%s};",
    "float t[3000]{%s}; int f() { return 1; }", "float t[3000] = {%s 1 // first row\n};",
    "/*values 1*/ float t[9] = {%s};" } do
    tap.is(short(text), (text:gsub("{%%s[^}]*}", "{}"):gsub("/%*values 1%*/", "")),
      text .. " is declared without its numbers")
  end
  for _, text in ipairs { "static const unsigned char t[] = {%s};", "float t[] = {%s 7};" } do
    tap.is(short(text), (text:gsub("{%%s[^}]*}", "{}")
      :gsub("%[%]", text:find "7" and "[3001]" or "[3000]")), text .. " has its length")
  end
  for _, text in ipairs { "constexpr int t[3000] = {%s};", "vec t[] = {%s};",
    "float t[] = {%s 1 // a, b\n};", "float t[][3] = {%s};",
    "ANY int t[3000] = {%s};", "int a[2] = {1}, b[9] = {%s};", "float t[9] = {%s x};",
    "void f() { float t[9] = {%s}; }", "#define T float t[9] = {\\" .. "\n%s" .. "};",
    "float t[9] = {%s\n#include \"rest\"\n};" } do
    local whole = text:format(numbers)
    tap.is(csource.without_values(whole), whole, text .. " keeps them: a type may depend on them")
  end
  tap.is(csource.without_values "float t[2] = { 1, 2 };", "float t[2] = { 1, 2 };", "a short one")
  tap.is(csource.newlines "a\n\nb\r\n" .. csource.newlines "x", "\n\n\n", "newlines alone")
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

tap.case("a macro of very many definitions", function()
  local function parse(directive, n)
    local text = ("#%s M\n"):format(directive):rep(n)
      .. "__global__ void k(float *x) {\n  M\n  x[0] = 1;\n}\n"
    return core.grammar.parse("k.cu", { text = text, kernel = "k" })
  end
  tap.ok(parse("define M\n#undef", 400), "some hundreds are read, each taken back")
  for _, directive in ipairs { "define", "undef" } do
    tap.ok(parse(directive, 400), directive .. ": some hundreds are read")
    local g, why = parse(directive, 401)
    tap.is(g, nil, directive .. ": more are refused")
    tap.is(tostring(why):match "line.*", ("line 401: M has more than 400 lines #%s: "
      .. "give some of these macros another name"):format(directive), "in a sentence")
  end
end)

tap.case("a source that is too long to analyse", function()
  local text = "__device__ float t[9] = {" .. ("1.25f, "):rep(300000) .. "};\n" .. KERNEL .. "}\n"
  local g = transforming.of(assert(core.grammar.parse("k.cu", { text = text, kernel = "k" })),
    { kernel = "k" })
  tap.is(#g:transformations(), 0, "nothing is transformed")
  local said = g:opaque()[1]
  tap.is(said.line .. said.why:gsub("%d+ bytes, more than the %d+", "N"),
    "1the source has N that are analysed", "and why is said")
end)

tap.case("files that are too long", function()
  local path = os.tmpname()
  textfile.write(path, ("x"):rep((1 << 20) + 1))
  local fine, why = pcall(textfile.read, path, "the answer", 1 << 20)
  os.remove(path)
  tap.is(fine, false, "a text is refused")
  tap.is(tostring(why), ("cannot read the answer: %s has more than 1.0 MB, the most "
    .. "that is read: give a "
    .. "shorter file (a source's long tables can move to files that it includes)"):format(path),
    "in a sentence that says what to do")
  local g, reason = core.grammar.parse("k.cu", { text = ("\n"):rep(51000000) })
  tap.is(g, nil, "a source is refused")
  tap.is(reason, "k.cu has 51.0 MB, more than the 50 MB that a kernel's file may have: move long "
    .. "tables to files that it includes", "in such a sentence")
end)

tap.done()
