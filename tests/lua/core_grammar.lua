-- gi.grammar from Lua: rules, genomes, BNF, random genes; gi.rng; batches of mutants.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local problem = gi.problem "kernels/niftyreg"
local g = problem.grammar

tap.case("rules are typed, named after their line, and carry their text", function()
  local ifs = g:rules "if"
  tap.ok(#ifs >= 3, "there are conditions")
  tap.is(g:find("<IF_245>").name, "<IF_kernel.cu_245>", "the papers' short form")
  tap.is(g:find("<IF_245>").text, "((threadIdx.x & 31) < 16)", "its text, as in the paper")
  tap.is(g:find("<_kernel.cu_9999>"), nil, "no such rule")
  tap.raises(function() g:rules "iff" end, "'iff' is no rule type", "no such type")
end)

tap.case("BNF text reads back to a grammar that is the same", function()
  local again = assert(gi.grammar.read(tostring(g)))
  tap.is(tostring(again), tostring(g), "the same text")
  tap.is(again:gene_count(), g:gene_count(), "the same genes")
  tap.is(again:gene(100), g:gene(100), "in the same order")
  local broken, message = gi.grammar.read "no grammar at all"
  tap.ok(broken == nil and #message > 0, "other text is refused with a message")
end)

tap.case("genomes apply, print in full, and say which line came from where", function()
  local source, detail = assert(g:apply "<IF_245><IF_167> RemX block_size=64")
  tap.has(source, "#define RemX 1", "a switch is on")
  tap.is(detail.params.block_size, "64", "parameters come back")
  tap.is(detail.origin[245], 245, "line 245 is still line 245")
  tap.is(detail.gene[245], 1, "and was made by gene 1")
  tap.is(g:check "<IF_245><IF_167>", "<IF_kernel.cu_245><IF_kernel.cu_167>", "full names")
  tap.is(g:apply "", problem.source, "the empty genome gives the file")
  local nothing, message, code = g:apply "<IF_245><_kernel.cu_283>"
  tap.ok(nothing == nil and code == "gene", "two types do not mix")
  tap.has(message, "<IF_245><_kernel.cu_283>", "the message names the gene")
end)

tap.case("random genes are legal, repeatable, and follow weights", function()
  local a, b = gi.rng(5), gi.rng(5)
  local same = true
  for _ = 1, 200 do
    local gene = g:random_gene(a)
    same = same and gene == g:random_gene(b) and g:check(gene) ~= nil
  end
  tap.ok(same, "200 genes from one seed, twice (seed 5)")
  local only = true
  for _ = 1, 50 do
    local gene = g:random_gene(a, {
      statement = 0, ["if"] = 0, ["else"] = 0, def = 0, launchbounds = 0, optrestrict = 0,
    })
    only = only and gene:find("pragma", 1, true)
  end
  tap.ok(only, "a weight of 0 leaves a type out")
end)

tap.case("rng:fill: whole numbers with both ends, others from low on and below high", function()
  local seen, rng = {}, gi.rng(3)
  local whole = rng:fill(gi.array("i16", 2000), -2, 2)
  for i = 1, #whole do seen[whole[i]] = (seen[whole[i]] or 0) + 1 end
  local least = math.huge
  for value = -2, 2 do least = math.min(least, seen[value] or 0) end
  tap.ok(least > 300, ("each of -2 to 2 about 400 times of 2000: at least %d"):format(least))
  seen[-2], seen[-1], seen[0], seen[1], seen[2] = nil, nil, nil, nil, nil
  tap.is(next(seen), nil, "and nothing else")
  local low, high, sum = math.huge, -math.huge, 0
  local parts = rng:fill(gi.array("f64", 2000), 3, 5)
  for i = 1, #parts do
    low, high, sum = math.min(low, parts[i]), math.max(high, parts[i]), sum + parts[i]
  end
  tap.ok(low >= 3 and low < 3.05 and high < 5 and high > 4.95, "doubles from 3 to below 5")
  tap.near(sum / 2000, 4, "about 4 in the middle", 0.02)
  tap.is(rng:fill(gi.array("u8", 3), 7, 7)[3], 7, "one number alone")
  local a, b = gi.rng(8):fill(gi.array("f32", 50), 0, 1), gi.rng(8):fill(gi.array("f32", 50), 0, 1)
  tap.is(gi.array.compare(a, b, {}).max_error, 0.0, "the same seed, the same numbers")
  tap.raises(function() rng:fill(a, 2, 1) end, "the interval is empty or too wide", "no interval")
  tap.raises(function() rng:fill(gi.array("i64", 1), -1e300, 1e300) end, "too wide", "too wide")
end)

tap.case("equal mutants have equal PTX, whatever stood beside them", function()
  local function units(...)
    local list = {}
    for i, genome in ipairs { ... } do
      list[i] = { source = assert(g:apply(genome)), names = g:names() }
    end
    return list
  end
  local options = { target = "compute_90" }
  local alone = assert(gi.compile.batch(units "RemX", options))[1].code
  local beside = assert(gi.compile.batch(units("", "constantBasis", "RemX"), options))
  tap.is(beside[3].code, alone, "the text")
  local spoilt = units("", "RemX")
  spoilt[1].source = spoilt[1].source .. "\nint x = ;\n"
  local results = assert(gi.compile.batch(spoilt, options))
  local line = ("line %d:"):format(g:line_count() + 2)
  tap.ok(results[1].code == nil, "the guilty one fails")
  tap.has(results[1].message, line, "at its own line")
  tap.is(results[2].code, alone, "its neighbour is not harmed")
end)

tap.case("the random generator", function()
  local r = gi.rng(9)
  tap.is(r:seed(), 9, "knows its seed")
  local low, high = math.huge, -math.huge
  for _ = 1, 1000 do
    local k = r:int(3, 5)
    low, high = math.min(low, k), math.max(high, k)
  end
  tap.is(low .. ".." .. high, "3..5", "int covers its interval")
  tap.raises(function() r:int(0) end, "the interval is empty", "an empty interval")
  tap.raises(function() r:pick {} end, "the list is empty", "an empty list")
end)

local CLOCKED = [[
extern "C" __global__ void half(float *out, int n)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= n) return;
  for (int i = 0; i < 9; i++) out[y * n + x] += i;
}
]]

tap.case("a function that a header declares keeps its name, for it is called before it is declared",
  function()
    local folder <close> = require("gilua.base.tempfolder").new()
    local file = assert(io.open(folder.path .. "/first.h", "w"))
    file:write "__device__ __noinline__ int first(int n);\n"
    file:close()
    local text = '#include "first.h"\nstruct S { __device__ int last() { return 7; } };\n'
      .. "__device__ int second(int n) { S s; return first(n) + s.last(); }\n"
      .. "__device__ __noinline__ int first(int n) { return n + 2; }\n"
      .. "__device__ int last(int n) { return n; }\n"
      .. "__global__ void f(int *x) { *x = second(last(*x)); }\n"
    local k = assert(gi.grammar.parse("called.cu", { text = text }))
    tap.is(table.concat(k:names(), " "), "S second last f gilua_spans GiluaClock", "its names")
    local units = {}
    for i = 1, 2 do units[i] = { source = text:gsub("n %+ 2", "n + " .. i), names = k:names() } end
    local made = assert(gi.compile.batch(units,
      { target = "sm_90", options = { "-I" .. folder.path } }))
    tap.ok(made[1].code and made[2].code, "two of them compile, one by one", made[1].log)
  end)

tap.case("a name without a body is another file's, and keeps its own", function()
  local k = assert(gi.grammar.parse("declared.cu", { text = "__device__ int far(int n);\n"
    .. "__device__ int near(int n);\n__device__ int near(int n) { return far(n); }\n"
    .. "__global__ void f(int *x) { *x = near(*x); }\n" }))
  tap.is(table.concat(k:names(), " "), "near f gilua_spans GiluaClock", "a function")
  k = assert(gi.grammar.parse("types.cu", { text = "struct Far;\nstruct Near;\n"
    .. "struct Near { int n; };\ntemplate class Queue<int>;\n"
    .. "__global__ void f(Near x, Far *y) { y[0] = Far(x.n); }\n" }))
  tap.is(table.concat(k:names(), " "), "Near f gilua_spans GiluaClock", "a type")
end)

tap.case("what is asserted at the top of a file names nothing", function()
  local text = "constexpr int N = 4;\nstatic_assert(N > 0, \"N\");\n"
    .. "[[maybe_unused]] static const int M = 3;\n"
    .. "__global__ void f(int *x) { [[maybe_unused]] int m = M; *x += N; }\n"
  local k = assert(gi.grammar.parse("asserted.cu", { text = text }))
  tap.is(table.concat(k:names(), " "), "N M f gilua_spans GiluaClock", "its names")
  local unit = assert(gi.compile.batch({ { source = text, names = k:names() } },
    { target = "compute_90" }))[1]
  tap.ok(unit.code, "it compiles among others", unit.log)
end)

tap.case("explicit specialisations are items of their own, by their names", function()
  local k = assert(gi.grammar.parse("special.cu", { text =
    "template <int i> __device__ float row(float x) { return x + row<i - 1>(x); }\n"
    .. "template <> __device__ float row<-1>(float x) { return 0; }\n"
    .. "template <> __device__ V<V<int>> turned<V<int, 3>, V<V<int>>>(float x) { return 0; }\n"
    .. "template <> struct V<int> { int f(int a) { return a; } };\n"
    .. "__global__ void f(float *x) { *x = row<3>(*x); }\n" }))
  local list = {}
  for i, item in ipairs(k:outline()) do list[i] = item.kind .. " " .. tostring(item.name) end
  tap.is(table.concat(list, ", "), "device row, device row, device turned, type V, kernel f",
    "each")
end)

tap.case("the span clock: asked for, on no line of its own, out of reach, and not there when off",
  function()
    local k = assert(gi.grammar.parse("half.cu", { text = CLOCKED, open_loops = true }))
    local source = assert(k:apply("", { clock = true }))
    tap.has(source, "\n{ GILUA_CLOCK GILUA_LOOPS\n", "behind the kernel's brace")
    tap.is(assert(k:apply("", { clock = true, bare = true })),
      (CLOCKED:gsub("\n{\n", "\n{ GILUA_CLOCK\n")), "every line where it was, without guards too")
    tap.is(k:apply("", true), CLOCKED, "true still asks for the file itself")
    tap.ok(not tostring(k):find("CLOCK"), "the grammar does not know it")
    tap.raises(function() k:apply("", { clocks = true }) end, "clock", "unknown options")
    local function ptx(text)
      return assert(gi.compile.batch({ { source = text, names = k:names() } },
        { target = "sm_90" }))[1].code
    end
    local off = k:clock(false) .. k:guard(false) .. "#line 1\n"
    tap.is(ptx(off .. source), ptx(CLOCKED), "off, the code is that of the file")
    tap.ok(not ptx(off .. source):find("clock64"), "without any clock")
  end)

tap.case("the span clock records every block, those that return early too", function()
  local k = assert(gi.grammar.parse("half.cu", { text = CLOCKED }))
  local text = k:clock(true) .. "#line 1\n" .. assert(k:apply("", { clock = true }))
  local dev = gi.device "emu"
  local unit = assert(gi.compile.batch({ { source = text, names = k:names() } },
    { target = dev:target() }))[1]
  local module = assert(dev:load(unit.code))
  local out = dev:buffer(gi.array("f32", 64 * 64))
  local launch = { kernel = "half", grid = { 4, 16, 2 }, block = { 16, 8 },
                   args = { out, { "i32", 64 } } }
  local s = assert(module:spans(launch))
  tap.is(s.status, "ok", s.message or "runs")
  tap.is(s.span_blocks, 128, "of 4 x 16 x 2 blocks each has its record")
  tap.ok(s.span_ticks > 0 and s.span_ticks <= s.ticks, "and takes no longer than the kernel")
  tap.is(assert(module:launch(launch)).status, "ok", "with nobody to record, it runs as well")
end)

tap.case("the span clock compiles around real kernels, with several ways out", function()
  local grammars = { niftyreg = g }
  for _, name in ipairs { "reduction", "doubles" } do -- doubles: an early return
    grammars[name] = assert(gi.grammar.parse("tests/programs/" .. name .. ".cu"))
  end
  for name, k in pairs(grammars) do
    local source = k:clock(true) .. k:guard(false) .. assert(k:apply("", { clock = true }))
    for _, target in ipairs { "ptx", "sm_90" } do
      local code, message = gi.compile(source, { target = target })
      tap.ok(code, ("%s to %s %s"):format(name, target, message or ""))
    end
  end
end)

tap.case("whatever is done to an `if constexpr`, it compiles", function()
  local text = "__constant__ int table[4];\nconstexpr int wide = 8;\n"
    .. "template <int N> __device__ float twice(float x) {\n  if constexpr (N > 2) x *= N;\n"
    .. "  else x += table[0];\n  return x;\n}\n"
    .. "__global__ void k(float *x, int n) {\n  if (n > 3) x[0] = 1;\n"
    .. "  if constexpr (sizeof(float) == 4 && wide > 4) {\n    x[1] = twice<3>(x[0]);\n"
    .. "    if (x[1] > x[2]) x[3] = 0;\n  } else if constexpr (wide == 3) x[4] = 2;\n"
    .. "  else x[5] = 3;\n}\n"
  local own = assert(gi.grammar.parse("k", { text = text }))
  local genes, units = {}, {}
  for i = 1, own:gene_count() do
    genes[i] = own:gene(i)
    units[i] = { source = own:apply(genes[i]), names = own:names() }
  end
  local bad, touched = {}, 0
  for i, r in ipairs(assert(gi.compile.batch(units))) do
    if not r.code then bad[#bad + 1] = genes[i] .. ": " .. r.message end
    if genes[i]:find "^<IF_k_1[03]>" then touched = touched + 1 end
  end
  tap.is(table.concat(bad, "\n"), "", #genes .. " genes, one at a time")
  tap.is(touched, 4, "of which these change its condition: two go, two change places")
end)

tap.done()
