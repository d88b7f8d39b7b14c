-- Transformations as genes: how they are written, made one after the other, launched, drawn.
package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local core = require "gilua.core"
local explain = require "gilua.report.explain"
local genome = require "gilua.search.genome"
local grammar = require "gilua.transform.grammar"
local launch = require "gilua.transform.launch"
local own = require "gilua.problem.own"
local plan = require "gilua.farm.plan"
local problem_of = require "gilua.problem.problem"
local scratch = require "scratch"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local SOURCE = [[
extern "C" __global__ void k(float *y, const float *x, int n)
{
    // one item each
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    v = v + 1.f;
    y[i] = v;
    y[i] += 2.f;
}
]]
local TABLE = [[{ source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64,
  tune_params = { block_size_x = { 32, 64, 48 } },
  args = { { name = "y", type = "f32", count = "n", role = "out" },
    { name = "x", type = "f32", count = "n" }, { name = "n", type = "i32", value = "size" } } }]]

local function grammar_of(text)
  return grammar.of(assert(core.grammar.parse("kernel.cu", { text = text, kernel = "k",
    open_loops = true })))
end

-- A transformation that puts a text in the place of a line; only where that holds a word.
local function replace(name, word, text, more)
  local t = { name = name, doc = "A test." }
  function t.find(kernel)
    local list = {}
    for i, line in ipairs(kernel.lines) do
      if line:find(word, 1, true) then list[#list + 1] = { line = i, args = { "1" } } end
    end
    return list
  end
  function t.make(kernel, line)
    if not kernel.lines[line]:find(word, 1, true) then return nil, "it is not " .. word end
    local change = { edits = { { line, line, text } }, says = "a text for " .. word }
    for key, value in pairs(more or {}) do change[key] = value end
    return change
  end
  return t
end

transform.add(replace("add_two", "v + 1.f", "    v = v + 1.f;\n    v = v + 0.f;",
  { launch = "grid.x*2" }))
transform.add(replace("after_two", "v + 0.f", "    v = 3.f;"))

-- The levels of the lines of what a gene makes, by the blanks of one.
local function levels(text, gene, unit)
  local made, list = grammar_of(text):apply(gene, true), {}
  for line in made:gmatch "[^\n]+" do
    local start = line:match "^(%s*)[^/%s]"
    list[#list + 1] = start and start:gsub(unit, ">")
  end
  return table.concat(list, " ")
end

tap.case("levels are those of the file", function()
  for _, unit in ipairs { "    ", "  ", "   ", "\t" } do
    local text = SOURCE:gsub("\n    ", "\n" .. unit)
    local is_tab = unit == "\t"
    tap.is(levels(text, "T:coarsen<4>(2,block)", unit), is_tab and "  > > > > > > > > > > "
      or "  > > >> >> >> >> >> >> >> > ", ("a loop with a #pragma, of levels of %q"):format(unit))
    tap.is(levels(text, "T:grid_stride<4>(132)", unit), is_tab and "  > > > > > > > > "
      or "  > >> >> >> >> >> >> > ", ("one without, of levels of %q"):format(unit))
  end
  local merged = grammar_of((SOURCE:gsub("\n    ", "\n  "))):apply("T:merge<1>(x,2)", true)
  tap.has(merged, "\n    for (int part = 0; part < 2; part++) {\n      auto &i = i_all[part];\n"
    .. "      float v = x[i];\n", "what is done for each of the blocks that were merged, too")
end)

tap.case("lines keep their numbers, and genes elsewhere work", function()
  local g = grammar_of(SOURCE)
  local source, d = g:apply "T:add_two<7>(1) <_kernel.cu_9> T:after_two<7>()"
  tap.has(source, "    float v = x[i];\n    v = 3.f;\n    y[i] = v;\n", "the second on the first")
  tap.ok(not source:find("+= 2.f", 1, true), "the gene between them")
  tap.is(table.concat(d.origin, " "), "1 2 3 4 5 6 7 8 9 10", "where lines come from")
  tap.is(table.concat(d.gene, " "), "0 0 0 0 0 0 3 0 2 0", "and which word of the genome")
  tap.is(d.rewritten, false, "nothing is declared outside of functions")
  tap.is(d.params[launch.PARAMETER], "grid.x*2", "what the launch becomes")
  tap.is(select(2, g:apply "<_kernel.cu_9>").params[launch.PARAMETER], nil, "none without")
end)

tap.case("those that come first are made first", function()
  local g = grammar_of(SOURCE)
  transform.add(replace("begin", "float v", "    float v = x[i + 0];"))
  transform.find("begin").first = true
  transform.add(replace("end_it", "i + 0", "    float v = x[0];"))
  local source, d = g:apply "T:end_it<6>() <_kernel.cu_9> T:begin<6>()"
  tap.has(source, "float v = x[0];", "wherever they stand")
  tap.is(d.gene[6], 1, "each has its own place in the genome")
  local genes = g:genes "T:end_it<6>() <_kernel.cu_9> T:begin<6>()"
  tap.is(genes[1].name .. " " .. genes[3].name, "end_it begin", "and among the genes")
end)

tap.case("one that does not fit is passed over, and says why", function()
  local g = grammar_of(SOURCE)
  tap.is(g:apply "T:after_two<7>()", g:apply "", "without what it needs")
  tap.is(g:check "T:after_two<7>()  <_kernel.cu_9>", "T:after_two<7>() <_kernel.cu_9>", "legal")
  local genes = g:genes "<_kernel.cu_9> T:after_two<7>() T:add_two<7>(1)"
  tap.is(genes[1].kind .. genes[2].kind .. genes[3].kind, "deletetransformtransform", "in order")
  tap.is(genes[2].why, "it is not v + 0.f", "why it has no effect")
  tap.is(table.concat(genes[3].lines, " "), "7", "the lines of one that has")
  local words = explain.genome({ grammar = g }, "T:after_two<7>() T:add_two<7>(1)")
  tap.is(words[1].text, "line 7: no effect, for it is not v + 0.f", "in words")
  tap.is(words[2].text, "line 7: a text for v + 1.f; launched with 2 times as many blocks in x",
    "with the launch")
end)

tap.case("what is no gene here is refused", function()
  local g = grammar_of(SOURCE)
  for text, why in pairs {
    ["T:add_two<99>()"] = "the source has 10 lines",
    ["T:add_too<7>()"] = "no transformation is called 'add_too'; did you mean 'add_two'?",
    ["T:add_two"] = "it is written T:NAME<LINE>(ARGUMENT,…)",
    ["T:add_two<7>() <_kernel.cu_99>"] = "kernel.cu_99",
  } do
    for _, method in ipairs { "apply", "check", "genes" } do
      local none, said = g[method](g, text)
      tap.is(none, nil, text .. " by " .. method)
      tap.has(said, why, "why")
    end
  end
end)

tap.case("printed for people its lines are moved in", function()
  local g = grammar_of(SOURCE)
  tap.is(g:apply("T:coarsen<4>(2,grid) <_kernel.cu_9>", true), [[
extern "C" __global__ void k(float *y, const float *x, int n)
{
    // one item each
    #pragma unroll
    for (unsigned int part = 0; part < 2; part++) {
        const unsigned int block = blockIdx.x + part * gridDim.x;
        int i = block * blockDim.x + threadIdx.x;
        if (i >= n) continue;
        float v = x[i];
        v = v + 1.f;
        y[i] = v;
]] .. "    \n    }\n}\n", "a loop around all")
end)

tap.case("lines that were changed before are moved in by themselves", function()
  local g = grammar_of((SOURCE:gsub("    y%[i%] %+= 2.f;\n", "")))
  transform.add(replace("stream", "y[i] = v;", "    __stcs(&y[i], v);"))
  for _, text in ipairs { "T:stream<8>() T:coarsen<4>(4,grid)",
                          "T:coarsen<4>(4,grid) T:stream<8>()" } do
    local printed = g:apply(text, true)
    tap.has(printed, "        __stcs(&y[i], v);\n    }\n}\n", text)
  end
end)

tap.case("launches", function()
  local function told(grid, block, text)
    local l = launch.changed({ grid = grid, block = block, args = 7 }, text)
    return ("%d,%d,%d %d,%d,%d %d"):format(l.grid[1], l.grid[2], l.grid[3], l.block[1], l.block[2],
      l.block[3], l.args)
  end
  tap.is(told(9, 32, "grid.x/4 grid.x*3"), "9,1,1 32,1,1 7", "one after the other, rounded up")
  tap.is(told({ 9, 5 }, { 32, 4 }, "grid.y<3 block.x=64 block.x%32"), "9,3,1 64,4,1 7", "sides")
  tap.is(told({ 9, 5 }, { 32, 4 }, "grid.x@100 grid.y@8 block.x=64 block.y=1"), "3,3,1 64,1,1 7",
    "blocks for so many of the launch's threads each")
  local kept = { grid = 3, block = 4 }
  tap.is(launch.changed(kept, nil), kept, "nothing to change")
  for text, why in pairs {
    ["block.x%24"] = "wants block.x to be a multiple of 24, and it is 32",
    ["block.x<=31"] = "wants block.x to be at most 31, and it is 32",
    ["block.x*64"] = "blocks of 2048 threads, and 1024 are the most",
    ["grid.x=99999999"] = "more threads than an int can count",
    ["grid.y*70000"] = "a grid of 70000 blocks along y, and 65535 are the most",
    ["grid.z=65536"] = "a grid of 65536 blocks along z, and 65535 are the most",
    ["grid.x=65536 axes=yx"] = "a grid of 65536 blocks along y, and 65535 are the most",
    ["block.x@32"] = "no change of a launch",
    ["grid.w/2"] = "no change of a launch",
  } do
    tap.raises(function() told(9, 32, text) end, why, text)
  end
  tap.is(launch.words "grid.x/4 block.x%32",
    "1/4 as many blocks in x, rounded up; blocks of a multiple of 32 threads in x", "in words")
  local changes, conditions = launch.words_apart "grid.x/4 block.x%32"
  tap.is(changes, "1/4 as many blocks in x, rounded up", "what changes")
  tap.is(conditions, "blocks of a multiple of 32 threads in x", "and what is only asked")
  tap.is(select(2, launch.words_apart "grid.y*4 k:axes=yx"), "a grid not longer than 16383 in y; "
    .. "a grid not longer than 65535 in x of k", "what asks for it without a word of its own")
  tap.is(select(2, launch.words_apart "grid.x*4 grid.y/4"), nil, "x may be long, and y shorter")
  tap.is(launch.words_apart "k:block.y<=8", nil, "nothing changes where all is asked")
end)

tap.case("a problem's launch, and what is the same kernel", function()
  local p <const> = problem_of(scratch.problem(SOURCE, TABLE))
  local values = p:values((select(2, p.grammar:apply "T:add_two<7>(1) block_size_x=32")).params)
  tap.is(p:launch(p:case { seed = 1 }, values).grid[1], 64, "after the block's size")
  local maker = plan.maker(p, "sm_90", "events")
  local a, b = maker:plan "T:coarsen<4>(2,next)", maker:plan "T:coarsen<4>(4,next)"
  tap.ok(a.launch_key ~= b.launch_key, "another launch is another kernel")
  tap.is(a.text.alone, false, "compiled together with others")
  tap.is(maker:plan("").launch_key, "block_size_x=64", "the unmodified kernel's is as it was")
end)

tap.case("draws", function()
  local p, rng = problem_of(scratch.problem(SOURCE, TABLE)), core.rng.new(5)
  local never, some, n = genome.source(p), genome.source(p, own.genes(p, 0.5)), 0
  for _ = 1, 200 do
    if never(rng):find("T:", 1, true) then tap.ok(false, "one where nobody asks") end
    local gene = some(rng)
    n = n + (gene:find "^T:" and 1 or 0)
    if not p.grammar:check(gene) then tap.ok(false, gene .. " is no gene") end
  end
  tap.ok(n > 60 and n < 140, n .. " of 200 at a share of a half")
  local kinds = {}
  local run = { problem = p, scheme = { genes = own.genes(p, 0.5) } }
  for _, text in ipairs(own.first(20, some, rng, run)) do
    kinds[text:match "^T:([%w_]+)" or "none"] = true
  end
  tap.ok(kinds.coarsen and kinds.add_two, "each kind is in the first population")
  tap.is(p.grammar:check(genome.last_settings(
    "T:coarsen<4>(2,next) T:add_two<7>() block_size_x=32 block_size_x=64")),
    "T:coarsen<4>(2,next) T:add_two<7>() block_size_x=64", "none takes the place of another")
end)

tap.case("launches of recordings say whose", function()
  local g = grammar.of(core.grammar.parse("kernel.cu", { text = SOURCE }), { recorded = true })
  local _, detail = g:apply("T:coarsen<4>(2,next)")
  local wanted = detail.params["T:launch"]
  tap.has(wanted, ":grid.x/2", "a kernel's name before what becomes of it")
  local name = launch.kernels(wanted)[1]
  tap.is(launch.of(wanted, name), "grid.x/2", "and without")
  tap.is(launch.of(wanted, "other"), "", "of another kernel nothing")
  tap.is(launch.words(wanted), "1/2 as many blocks in x, rounded up of " .. name, "in words")
end)

-- Whatever is in a file, looking for places ends with a list; what is found can be made.
tap.case("files that nobody prepared", function()
  local n = 0
  for _, name in ipairs { "cpp", "doubles", "image", "macros", "many", "saxpy", "shared", "structs",
                          "templates", "includes/includes" } do
    local file <close> = assert(io.open("tests/own/" .. name .. ".cu"))
    local g = grammar.of(core.grammar.parse("kernel.cu", { text = file:read "a" }))
    for _, kind in ipairs(g:transformations()) do
      for _, place in ipairs(kind.places) do
        local source, why = g:apply(place.gene)
        if not source then tap.ok(false, ("%s: %s: %s"):format(name, place.gene, why)) end
        n = n + 1
      end
    end
  end
  tap.ok(n > 100, n .. " in ten files")
end)

tap.case("a transformation has a name and functions", function()
  tap.raises(function() transform.add { name = "x", doc = "y", find = print } end,
    "the field 'make' must be a function", "make")
  local t = replace("Loud", "v", "v")
  tap.raises(function() transform.add(t) end, "'Loud' is no name", "its name")
end)

tap.done()
