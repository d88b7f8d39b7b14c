-- explain: genes in words.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local explain = require "gilua.report.explain"
local fake = require "fake"
local tap = require "tap"

local function words(gene)
  return explain.genome(fake.problem(), gene)[1].text
end

tap.case("statements and conditions", function()
  tap.is(words "<_kernel.cu_5>", "line 5 is deleted: `b = 2;`", "deleted")
  tap.is(words "<_kernel.cu_5><_kernel.cu_7>",
    "line 5 is replaced by a copy of line 7: `d = 4;` instead of `b = 2;`", "replaced")
  tap.is(words "<_kernel.cu_5>+<_kernel.cu_7>",
    "before line 5 a copy of line 7 is inserted: `d = 4;`", "inserted")
  tap.is(words "<IF_kernel.cu_8><IF_kernel.cu_3>",
    "line 8: the condition `(lane < 16)` is replaced by that of line 3, `(n > 0)`", "a condition")
  tap.is(words "<IF_kernel.cu_8>",
    "line 8: the condition `(lane < 16)` is replaced by `(0)`: never true", "never true")
end)

tap.case("settings", function()
  tap.is(words "FAST", "`FAST` is switched on: the fast way", "a switch")
  tap.is(words "OTHER", "`OTHER` is switched on", "one without a word of its own")
  tap.is(words "block_size=128", "`block_size` is set to 128 instead of 32: threads a block",
    "a value")
  tap.is(words "block_size=32", "`block_size` is set to 32, which it is anyway: threads a block",
    "the default")
end)

-- One gene of any kind, as g:genes would give it.
local function other(kind, target, source)
  local problem = { parameters = {}, grammar = {
    genes = function()
      return { { text = "gene", kind = kind, target = target, source = source } }
    end,
    line = function(_, n) return n == 289 and "        for (c = 0; c < 4; c++) {" or "" end,
  } }
  return explain.genome(problem, "gene")[1].text
end

local function rule(type, text, line, last)
  line = line or 289
  return { name = "<r>", type = type, text = text, line = line, last_line = last or line }
end

tap.case("loops", function()
  tap.is(other("replace", rule("pragma", ""), rule("pragma_K", "#pragma unroll 3\n", 0)),
    "`#pragma unroll 3` before the loop at line 289: `for (c = 0; c < 4; c++) {`", "unroll")
  tap.is(other("delete", rule("pragma", "")),
    "no unroll request before the loop at line 289: `for (c = 0; c < 4; c++) {`", "no unroll")
  tap.is(other("delete", rule("for2", "c < 4")),
    "line 289: the loop's condition `c < 4` is replaced by `0`: the loop never runs", "for2")
  tap.is(other("delete", rule("for1", "c = 0")),
    "line 289: the loop's start `c = 0` is deleted", "for1")
  tap.is(other("replace", rule("for3", "c++"), rule("for3", "b++", 290)),
    "line 289: the loop's step `c++` is replaced by that of line 290, `b++`", "for3")
  tap.is(other("delete", rule("while", "(x)")),
    "line 289: the loop condition `(x)` is replaced by `(0)`: the loop is never repeated", "while")
  tap.is(other("delete", rule("else", "else")), "line 289: the else branch never runs", "else")
end)

tap.case("what variables begin with", function()
  local function init(text, line)
    local r = rule("init", text, line)
    r.variable, r.zero = line and "b" or "a", "0"
    return r
  end
  tap.is(other("delete", init "x[i]"), "line 289: `a` begins with `0` instead of `x[i]`", "nothing")
  tap.is(other("replace", init "x[i]", init("y[i]", 290)),
    "line 289: `a` begins with `y[i]`, as `b` at line 290, instead of `x[i]`", "another")
  tap.is(other("replace", rule("statement", "s();"), init("y[i]", 290)),
    "line 289 is replaced by a copy of line 290: `b = y[i];` instead of `s();`", "assigned")
  tap.is(other("insert", rule("statement", "s();"), init("y[i]", 290)),
    "before line 289 a copy of line 290 is inserted: `b = y[i];`", "assigned once more")
end)

tap.case("qualifiers and launch bounds", function()
  tap.is(other("replace", rule("launchbounds", ""),
    rule("launchbounds_K", "__launch_bounds__(32, 3)", 0)),
    "`__launch_bounds__(32, 3)` for the kernel at line 289", "bounds")
  tap.is(other("replace", rule("optrestrict", ""), rule("optrestrict_K", "__restrict__ ", 0)),
    "line 289: `__restrict__` on every pointer argument", "restrict")
  tap.is(other("delete", rule("optconst", "const ")), "line 289: no qualifier on a scalar argument",
    "no const")
  tap.is(other("replace", rule("math", ""), rule("math_K", "__expf __fdividef", 0)),
    "line 289: approximate mathematics, `__expf` and `__fdividef` and the like: " ..
    "`for (c = 0; c < 4; c++) {`", "approximate mathematics")
  tap.is(other("delete", rule("launchbounds", "")), "no launch bounds for the kernel at line 289",
    "none")
end)

tap.case("long and many-lined code", function()
  tap.is(other("delete", rule("statement", "a =\n      b;", 10, 11)),
    "lines 10-11 are deleted: `a = b;`", "several lines")
  local long = other("delete", rule("statement", ("x"):rep(200)))
  tap.has(long, "xxx...`", "shortened")
end)

tap.case("a genome that is not legal", function()
  tap.raises(function() words "<_kernel.cu_99>" end,
    "gilua.explain.genome: no such rule: <_kernel.cu_99>", "is misuse")
end)

tap.done()
