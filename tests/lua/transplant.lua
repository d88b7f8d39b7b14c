-- Parts of other functions in a kernel: found, under the names of the place, and refused.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local core = require "gilua.core"
local donors = require "gilua.transform.donors"
local genome = require "gilua.search.genome"
local grammar = require "gilua.transform.grammar"
local kernels = require "gilua.transform.kernel"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local transplant = transform.find "transplant"

local HEAD = "extern \"C\" __global__ void k(float *out, const float *a, const float *b, int n)\n"

-- Behind which of `b` is each value, one after the other; and by halves, as somebody else has it.
local LINEAR = HEAD .. [[
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = a[i];
  int bin = 0;
  for (int e = 1; e < n; e++) {
    if (b[e] <= value) bin = e;
  }
  out[i] = bin;
}
]]
local HALVES = [[
__global__ void taxes(float *due, const float *incomes, const float *steps, int levels)
{
  int who = blockIdx.x * blockDim.x + threadIdx.x;
  float income = incomes[who];
  int level = 0;
      for (int high = levels; high - level > 1;) {
        int middle = (level + high) / 2; // between them
        if (steps[middle] <= income) level = middle; else high = middle;
      }
  due[who] = income * level;
}
]]
local BY_HALVES = [[
  for (int high = n; high - bin > 1;) {
    int middle = (bin + high) / 2;
    if (b[middle] <= value) bin = middle; else high = middle;
  }
]]

local function known(text, more)
  local options = { entries = { k = true } }
  for key, value in pairs(more or {}) do options[key] = value end
  return kernels.of_text(text, options)
end

-- The text with a part in it; nil and why not.
local function made(text, line, args, more)
  local kernel = known(text, more)
  local change, why = transplant.make(kernel, line, args)
  if not change then return nil, why end
  local lines = table.move(kernel.lines, 1, #kernel.lines, 1, {})
  for _, e in ipairs(change.edits) do
    for i = e[1], e[2] do lines[i] = false end
    lines[e[1]] = e[3]
  end
  local list = {}
  for _, line_text in ipairs(lines) do list[#list + 1] = line_text or nil end
  return table.concat(list, "\n") .. "\n", change.says
end

local function genes_of(text, more)
  local list = {}
  for i, place in ipairs(transplant.find(known(text, more))) do
    list[i] = ("%d(%s)"):format(place.line, table.concat(place.args, ","))
  end
  return list
end

local function has(list, wanted)
  for _, one in ipairs(list) do
    if one == wanted then return true end
  end
  return false
end

local function refused(what, text, line, args, why, more)
  local none, said = made(text, line, args, more)
  tap.is(none, nil, what)
  tap.has(said or "", why, what .. ": why")
end

tap.case("a statement of another kernel, its variables by type and use", function()
  local text, says = made(LINEAR .. HALVES, 6, { "taxes:16-19" })
  tap.has(text, "  int bin = 0;\n" .. BY_HALVES .. "  out[i] = bin;\n", "as if written there")
  tap.is(says, "instead of the statement at line 6 comes lines 16 to 19 of taxes, with levels as "
    .. "n, level as bin, steps as b, income as value", "in words")
  tap.ok(has(genes_of(LINEAR .. HALVES), "6(taxes:16-19)"), "it is found")
  tap.has(made(LINEAR .. HALVES, 9, { "taxes:16-19", "before" }), "  }\n" .. BY_HALVES
    .. "  out[i] = bin;\n", "before a statement")
  tap.has(made(LINEAR .. HALVES, 9, { "taxes:15-19", "before" }),
    "  {\n    int level = 0;\n        for (int high = n; high - level > 1;) {\n",
    "what declares has braces")
end)

tap.case("a name that both have is the same", function()
  local text = made(LINEAR .. HALVES:gsub("income%f[%W]", "a_value"):gsub("a_value", "value"), 6,
    { "taxes:16-19" })
  tap.has(text, "if (b[middle] <= value)", "the same name first")
  text = made(LINEAR:gsub("int bin = 0;", "int bin = 0; float income = 1.f;") .. HALVES, 6,
    { "taxes:16-19" })
  tap.has(text, "if (b[middle] <= income)", "though another one is used more alike")
  text = made(LINEAR:gsub("int n", "int n, int levels") .. HALVES, 6, { "taxes:16-19" })
  tap.has(text, "high = levels;", "before what is used alike")
end)

tap.case("what a part declares gives way to names of the place", function()
  local text = made(LINEAR:gsub("bin", "middle") .. HALVES, 6, { "taxes:16-19" })
  tap.has(text, "int middle_too = (middle + high) / 2;", "another name")
  tap.has(text, "middle = middle_too; else high = middle_too;", "wherever it stands")
end)

tap.case("conditions and values", function()
  local text = made(LINEAR .. HALVES, 7, { "taxes:18,condition" })
  tap.is(text, nil, "a way is an argument of its own")
  text = made(LINEAR .. HALVES, 7, { "taxes:18", "condition" })
  tap.has(text, "if (b[bin] <= value) bin = e;", "a condition")
  text = made(LINEAR .. HALVES, 9, { "taxes:20", "value" })
  tap.has(text, "  out[i] = value * bin;", "a value")
end)

tap.case("nothing where types do not fit", function()
  refused("another type", LINEAR:gsub("int bin", "long bin"):gsub("int n", "long n") .. HALVES, 6,
    { "taxes:16-19" }, "no variable there is like level")
  refused("another number of stars", LINEAR .. [[
__device__ void f(float **rows, int m)
{
  m = rows[0][0];
}
]], 9, { "f:13", "before" }, "no variable there is like rows (float**)")
  local const = LINEAR:gsub("float %*out", "const float *out") .. HALVES
  refused("to a constant array", const, 6, { "taxes:20" }, "no variable there is like due (float*)")
  refused("shared memory", LINEAR .. HALVES:gsub("  int level = 0;",
    "  int level = 0; __shared__ float steps_here[8];"):gsub("steps%[", "steps_here["), 6,
    { "taxes:16-19" }, "no variable there is like steps_here")
  tap.is(table.concat(genes_of(LINEAR:gsub("float", "double"):gsub("int bin", "long bin")
    :gsub("int n", "long n"):gsub("int i", "long i"):gsub("int e", "long e") .. HALVES), " "), "",
    "and none is found")
end)

tap.case("what cannot come", function()
  refused("a value that is returned", LINEAR .. "__device__ int f(int n)\n{\n  return n;\n}\n", 6,
    { "f:13" }, "it has a return")
  refused("a jump out of a loop", LINEAR .. [[
__device__ void f(int n)
{
  while (n > 3) {
    if (n > 9) break;
  }
}
]], 9, { "f:14", "before" }, "it leaves a loop, and there is none")
  refused("a function of its own", LINEAR .. HALVES, 6, { "k:9" }, "it is of the same function")
  refused("no such lines", LINEAR .. HALVES, 6, { "taxes:15-17" }, "no statements are at lines 15")
  refused("no such function", LINEAR .. HALVES, 6, { "tax:15" }, "there is no function tax")
  refused("no such way", LINEAR .. HALVES, 6, { "taxes:15", "behind" }, "it is written (FUNC")
  refused("a kernel that does not evolve", LINEAR .. HALVES, 16, { "k:6-8" },
    "no statement there can have one")
  refused("a macro that hides variables", "#define HERE steps[middle]\n" .. LINEAR
    .. HALVES:gsub("steps%[middle%]", "HERE"), 7, { "taxes:17-20" }, "HERE hides")
end)

local TWICE = HEAD .. [[
{
  int i = threadIdx.x;
  out[i] = slow(a[i]) + slow(b[i]);
}
]]
local SLOW = "__device__ float slow(float x)\n{\n  return powf(x, 2.0f);\n}\n"
local FAST = [[
#define TWO 2
static __device__ float product(float x, float y) { return x * y * TWO / TWO; }
__device__ float fast(float x)
{
  return product(x, x);
}
__device__ double other(double x)
{
  return x;
}
]]

local function donors_of(texts)
  local given = {}
  for name, text in pairs(texts) do
    given[#given + 1] = { name = name, path = name, text = text }
  end
  return donors.of { given = given }
end

tap.case("a function in the place of another", function()
  local text = made(SLOW .. FAST .. TWICE, 18, { "fast:7", "call" })
  tap.has(text, "out[i] = fast(a[i]) + fast(b[i]);", "all calls of the statement")
  local more = { donors = donors_of { ["fast.cu"] = FAST } }
  local says
  text, says = made(SLOW .. TWICE, 8, { "fast.cu:3", "call" }, more)
  tap.has(text, "static __device__ float product(float x, float y) "
    .. "{ return x * y * 2 / 2; }\n\n__device__ float fast(float x)\n{\n"
    .. "  return product(x, x);\n}\n\nextern \"C\"",
    "its text comes before the kernel, with what it calls")
  tap.has(text, "out[i] = fast(a[i]) + fast(b[i]);", "and is called")
  tap.is(says, "line 8 calls fast in fast.cu instead of slow", "in words")
  text = made("__device__ float fast(int x);\n" .. SLOW .. TWICE, 9, { "fast.cu:3", "call" }, more)
  tap.has(text, "out[i] = fast_2(a[i]) + fast_2(b[i]);", "under another name where that is taken")
  text = made(SLOW .. TWICE .. "__device__ float late(float x) { return x * x; }\n", 8,
    { "late:10", "call" })
  tap.has(text, "__device__ float late(float x);\n\nextern", "one that stands behind is announced")
  refused("other parameters", SLOW .. TWICE, 8, { "fast.cu:7", "call" },
    "no call there is of a function with the same parameters", more)
  tap.ok(has(genes_of(SLOW .. FAST .. TWICE), "18(fast:7,call)"), "it is found")
end)

tap.case("the same again", function()
  local more = { donors = donors_of { ["taxes.cu"] = HALVES } }
  local first = table.concat(genes_of(LINEAR, more), " ")
  tap.has(first, "6(taxes.cu:6-9@" .. core.system.hash128(HALVES):sub(1, 6) .. ")", "of a file")
  for _ = 1, 3 do
    local again = { donors = donors_of { ["taxes.cu"] = HALVES } }
    tap.is(table.concat(genes_of(LINEAR, again), " "), first, "in the same order")
  end
  tap.is(#genes_of(LINEAR), 0, "none without a donor")
  local line, is_ordered = 0, true
  for found in first:gmatch "(%d+)%(" do
    is_ordered = is_ordered and line <= tonumber(found)
    line = tonumber(found)
  end
  tap.ok(is_ordered, "by their lines")
end)

local function grammar_of(text, given)
  return grammar.of(assert(core.grammar.parse("kernel.cu", { text = text, kernel = "k",
    open_loops = true })), { kernel = "k", donors = given })
end

tap.case("as genes", function()
  local g = grammar_of(LINEAR, donors_of { ["taxes.cu"] = HALVES })
  local source = assert(g:apply("T:transplant<6>(taxes.cu:6-9) <_kernel.cu_9>", true))
  tap.has(source, BY_HALVES, "in the source")
  local told = g:genes("T:transplant<6>(taxes.cu:6-9)")[1]
  tap.is(told.judged, true, "answers say whether it is right")
  local rng, drawn = core.rng.new(7), 0
  for _ = 1, 40 do
    local gene = g:random_transformation(rng)
    if gene and gene:find("T:transplant", 1, true) then drawn = drawn + 1 end
  end
  tap.is(drawn, 0, "no share of genes is of these, unless a person gave a folder")
  tap.ok(g:apply(genome.join { "T:transplant<6>(taxes.cu:6-9)", "T:transplant<6>(taxes.cu:6-9)" }),
    "twice is no error")
end)

tap.case("a donor that is gone, or another text, is an error", function()
  local hash = core.system.hash128(HALVES):sub(1, 6)
  local gene = ("T:transplant<6>(taxes.cu:6-9@%s)"):format(hash)
  tap.ok(grammar_of(LINEAR, donors_of { ["taxes.cu"] = HALVES }):check(gene), "as it was")
  local none, why = grammar_of(LINEAR, donors_of { ["taxes.cu"] = HALVES .. "\n" }):check(gene)
  tap.is(none, nil, "another text")
  tap.has(why, ("%s: the donor taxes.cu is not the file that the gene was made of"):format(gene),
    "which gene, and why")
  none, why = grammar_of(LINEAR, donors_of { ["tax.cu"] = HALVES }):check(gene)
  tap.is(none, nil, "gone")
  tap.is(why, gene .. ": there is no donor taxes.cu in what the run kept; did you mean 'tax.cu'?: "
    .. "put it there, or evolve anew without this gene", "what to do")
end)

local function folder_of(files)
  local dir = tap.folder()
  for name, text in pairs(files) do
    local f <close> = assert(io.open(dir .. "/" .. name, "wb"))
    f:write(text)
  end
  return dir
end

local function failure(f)
  local ok, why = pcall(f)
  return not ok and tostring(why) or "none"
end

tap.case("a folder of donors", function()
  local dir = folder_of { ["b.cu"] = HALVES, ["a.cuh"] = FAST, ["notes.txt"] = "no",
    ["empty.cu"] = "int x;\n", ["odd name.cu"] = HALVES, ["cut.cu"] = "__device__ int f( {{{" }
  local d = donors.of { folder = dir }
  local names = {}
  for i, donor in ipairs(d:all()) do names[i] = donor.name end
  tap.is(table.concat(names, " "), "a.cuh b.cu", "in order of their names")
  local left = {}
  for i, one in ipairs(d:left_out()) do left[i] = one.name .. ": " .. one.why end
  tap.is(table.concat(left, "; "), "cut.cu: it has no function for a GPU; empty.cu: it has no "
    .. "function for a GPU; odd name.cu: its name has signs that no gene takes", "and what is none")
  tap.has(failure(function() donors.of({ folder = dir .. "/none" }):all() end),
    "there is no folder " .. dir .. "/none to take donors from: name one", "no folder")
  tap.has(failure(function() donors.of({ folder = folder_of { ["x.txt"] = "" } }):all() end),
    "holds no .cu or .cuh file to take parts from", "none in it")
end)

tap.done()
