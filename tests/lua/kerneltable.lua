-- kerneltable: what problem tables mean: expressions, grids, fills, structs, references, macros.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"
local tablecase = require "gilua.problem.tablecase"
local tablerows = require "gilua.problem.tablerows"

-- y = a * x + y, and how it was launched.
local SAXPY = [[
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y, int *launch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) { launch[0] = gridDim.x; launch[1] = blockDim.x; launch[2] = gridDim.y; }
  if (i < n) y[i] = a * x[i] + y[i];
}
]]

local function saxpy(fields)
  return ([[{ source = "kernel.cu", kernel = "saxpy", size = 1000, block_size_x = 128,
    args = {
      { name = "n", type = "i32", value = "size_x" },
      { name = "a", type = "f32", value = 2 },
      { name = "x", type = "f32", count = "n", fill = "index" },
      { name = "y", type = "f32", count = "n", fill = 1, role = "inout" },
      { name = "launch", type = "i32", count = 3, role = "out" },
    }, %s }]]):format(fields or "")
end

-- What a table's kernel leaves behind on a case.
local function outputs(source, text, spec)
  local problem = gi.problem(scratch.problem(source, text))
  return assert(gi.kerneltable.run(problem, spec or { seed = 1 })), problem
end

local function launch(fields, spec)
  local l = outputs(SAXPY, saxpy(fields), spec).launch
  return ("%d x %d of %d"):format(l[1], l[3], l[2])
end

tap.case("scalars and counts are expressions; arrays begin with their fill", function()
  local out = outputs(SAXPY, saxpy())
  tap.is(#out.y, 1000, "n is size_x, and count is n")
  tap.is(out.y[11], 21.0, "2 * 10 + 1")
  tap.is(outputs(SAXPY, saxpy(), { seed = 1, size = 77 }).y[77], 153.0, "a case of another size")
end)

tap.case("the grid covers the size", function()
  tap.is(launch(), "8 x 1 of 128", "1000 threads in blocks of 128")
  tap.is(launch('grid_div_x = { "block_size_x", 4 }'), "2 x 1 of 128", "grid_div")
  tap.is(launch("grid_div_x = {}"), "1000 x 1 of 128", "grid_div of nothing: a block an element")
  tap.is(launch('grid = { "size_x // 10", 3 }'), "100 x 3 of 128", "a grid of expressions")
  tap.is(launch("tune_params = { block_size_x = { 64, 256 } }"), "8 x 1 of 128",
    "block_size_x is the default of what is tuned")
end)

tap.case("a GPU's case has the program's size and numbers", function()
  local fields = "on_gpu = { size = 5000, values = { a = 3 } }"
  local problem = gi.problem(scratch.problem(SAXPY, saxpy(fields)))
  local function case_name(device) return problem:case(gi.own.case(problem, 7, device)).name end
  tap.is(case_name "emu", "size 1000, seed 7", "the virtual GPU has the table's")
  local spec = gi.own.case(problem, 7, "cuda:1")
  tap.is(spec.device, "cuda:1", "a GPU answers for itself")
  spec.device = nil -- there may be none here
  tap.is(problem:case(spec).name, "size 5000, seed 7, a = 3", "and has the program's")
  tap.is(problem.checked_case.size[1], 999, "the small run stays what it was")
end)

tap.case("every setting of a parameter is launched with its value", function()
  local problem = gi.problem(scratch.problem(SAXPY,
    saxpy "tune_params = { block_size_x = { 64 } }"))
  local case = problem:case { seed = 1 }
  local launched = problem:launch(case, problem:values { block_size_x = "64" })
  tap.is(launched.grid[1] .. " of " .. launched.block[1], "16 of 64", "grid and block")
  tap.is(problem.grammar:apply("block_size_x=64") ~= nil, true, "and it is a gene")
end)

tap.case("restrictions in the spelling of Lua, Python and C", function()
  for _, rule in ipairs { "block_size_x <= 128 and block_size_x ~= 96", "block_size_x**2 <= 16384",
      "block_size_x <= 128 && block_size_x != 96", "block_size_x > 1000 || block_size_x <= 128",
      "block_size_x <= 128 or False",
        "(block_size_x % 32 == 0) == True and block_size_x <= 128" } do
    local fields = 'tune_params = { block_size_x = { 128, 256 } }, restrictions = { "%s" }'
    local p = gi.problem(scratch.problem(SAXPY, saxpy(fields:format(rule))))
    tap.is(p.restrict { block_size_x = 128 }, true, rule)
    local ok, which = p.restrict { block_size_x = 256 }
    tap.is(ok, false, "which 256 breaks")
    tap.is(which, rule, "and is named")
  end
  local p = gi.problem(scratch.problem(SAXPY,
    saxpy "restrictions = { function(v) return v.block_size_x < 200 end }"))
  tap.is(p.restrict { block_size_x = 256 }, false, "a function")
  p = gi.problem(scratch.problem(SAXPY, saxpy 'restrictions = { "block_size_x % 3" }'))
  tap.has(scratch.sentence(p.restrict, { block_size_x = 128 }),
    "restriction 1: 'block_size_x % 3' gives 2, neither true nor false", "a number is neither")
end)

tap.case("values that have none are told by file, argument and nearest name", function()
  local function told(field, value, part, what)
    local text = saxpy():gsub(field, function() return value end, 1)
    local folder = scratch.problem(SAXPY, text)
    local said = scratch.sentence(function() gi.problem(folder):case { seed = 1 } end)
    tap.has(said, folder .. "/problem.lua: argument", what .. ": the file")
    tap.has(said, part, what)
    tap.ok(said and not said:find("\n"), "one line")
  end
  told('"size_x"', '"size_w"',
    "argument 1 (n): 'size_w' has no value: 'size_w' is unknown; did you "
    .. "mean 'size_", "an unknown name")
  told('"size_x"', '"size_x +"', "(n): 'size_x +' is no expression", "no expression")
  told('"size_x"', '"size_x / 3"', "is i32, so its value must be a whole number, not 333.3",
    "a part")
  told('"size_x"', '"size_x << 40"', "does not fit i32", "too large")
  told('count = "n"', 'count = "foo"',
    "argument 3 (x): count: 'foo' has no value: 'foo' is unknown", "a count")
  told('count = "n"', 'count = "n - 1000"',
    "count must be a whole number above 0, not 0 (n - 1000)", "no elements")
  told('count = "n"', "count = 1e18", "more than 8 GB", "more elements than there is room for")
  told('"index"', "{ 9, 3 }", "the first must not be above the second", "limits of a fill")
  told('count = 3', 'count = 3, fill = { 0, 0.5 }', "must be a whole number, not 0.5",
    "a fill's type")
end)

local FILLS = [[
extern "C" __global__ void copy(const float *u, const float *v, const int *w, const int *x,
    const int *z, const float *f, const unsigned char *b, float *out) {
  for (int i = 0; i < 100; i++) {
    out[i] = u[i]; out[100 + i] = v[i]; out[200 + i] = w[i]; out[300 + i] = x[i];
    out[400 + i] = z[i]; out[500 + i] = f[i]; out[600 + i] = b[i];
  }
}
]]

tap.case("fills", function()
  local out = outputs(FILLS, [[{ source = "kernel.cu", kernel = "copy", size = 1, args = {
    { name = "u", type = "f32", count = 100 },
    { name = "v", type = "f32", count = 100, fill = "normal" },
    { name = "w", type = "i32", count = 100, fill = { -3, "size_x + 2" } },
    { name = "x", type = "i32", count = 100, fill = { ascending = 500 } },
    { name = "z", type = "i32", count = 100, fill = "zero" },
    { name = "f", type = "f32", count = 100,
      fill = function(_, i, names) return i * i * names.size_x end },
    { name = "b", type = "u8", count = 100 },
    { name = "out", type = "f32", count = 700, role = "out" } } }]]).out:table()
  local function range(first)
    local part = table.move(out, first, first + 99, 1, {})
    return math.min(table.unpack(part)), math.max(table.unpack(part)), part
  end
  local low, high = range(1)
  tap.ok(low >= 0 and low < 0.1 and high > 0.9 and high < 1, "uniform, which is the default")
  low, high = range(101)
  tap.ok(low < -1 and high > 1, "normal")
  low, high = range(201)
  tap.is(low .. " " .. high, "-3.0 3.0", "whole numbers from low to high, both")
  local _, _, rows = range(301)
  local rising = true
  for i = 2, 100 do rising = rising and rows[i] >= rows[i - 1] end
  tap.is(rows[1] .. " " .. rows[100], "0.0 500.0", "ascending: first and last")
  tap.ok(rising, "never falling")
  low, high = range(401)
  tap.is(low .. " " .. high, "0.0 0.0", "zero")
  tap.is(out[510], 81.0, "a function of the index")
  low, high = range(601)
  tap.ok(low >= 0 and high <= 100 and high > low, "bytes are from 0 to 100")
end)

tap.case("fills that hold all sorts, every place, or an order", function()
  local names = { size = 1 }
  local function filled(type, how, seed)
    local t = { args = { { name = "x", type = type, count = 1000, fill = how } } }
    return tablecase.array(tablerows.of(t).blocks[1], names, gi.rng(seed or 1), "x",
      function() end)
  end
  local function count(array, test)
    local n = 0
    for i = 1, #array do n = n + (test(array[i]) and 1 or 0) end
    return n
  end
  for _, type in ipairs { "f32", "f64", "i8", "u8", "i32", "u64" } do
    local x = filled(type, "mixed")
    local signed = not type:find "^u"
    tap.ok(count(x, function(v) return v == 0 end) > 20, type .. ": zeros")
    tap.ok(count(x, function(v) return v == 1 end) > 20, type .. ": ones")
    tap.ok(count(x, function(v) return math.abs(v) >= 100 end) > 2, type .. ": some far away")
    tap.is(count(x, function(v) return v < 0 end) > 20, signed, type .. ": signs")
  end
  local seen, p = {}, filled("i32", "permutation")
  for i = 1, 1000 do seen[p[i]] = true end
  local all = true
  for i = 0, 999 do all = all and seen[i] end
  tap.ok(all and p[1] ~= 0 or p[2] ~= 1, "every place once, in another order")
  local up, down = filled("f32", "rising"), filled("i32", "falling")
  local rises, falls = true, true
  for i = 2, 1000 do
    rises, falls = rises and up[i] >= up[i - 1], falls and down[i] <= down[i - 1]
  end
  tap.ok(rises and falls and up[1] < up[1000] and down[1] > down[1000], "in order")
  tap.ok(filled("f32", "mixed", 2)[7] ~= filled("f32", "mixed", 3)[7], "another seed, other data")
end)

tap.case("the same seed gives the same case, another one another", function()
  local problem = gi.problem(scratch.problem(SAXPY, saxpy():gsub('"index"', '"uniform"'):gsub(
    "fill = 1", 'fill = "normal"')))
  local function y(seed) return problem:case({ seed = seed }).expected end
  tap.is(gi.array.compare(y(3), y(3), {}).max_error, 0.0, "the same")
  tap.ok(gi.array.compare(y(3), y(4), {}).max_error > 0, "another")
end)

local CONSTANTS = [[
__constant__ float weights[4];
__constant__ int many;
extern "C" __global__ void sum(float *out) {
  float s = 0;
  for (int i = 0; i < many; i++) s += weights[i];
  out[threadIdx.x] = s;
}
]]

tap.case("constants", function()
  local out = outputs(CONSTANTS, [[{ source = "kernel.cu", kernel = "sum", size = 8,
    block_size_x = 8, args = { { name = "out", type = "f32", count = 8, role = "out" } },
    constants = { weights = { type = "f32", count = 4, fill = 2.5 },
      many = { type = "i32", count = 1, fill = 4 } } }]]).out
  tap.is(out[8], 10.0, "4 times 2.5")
end)

-- What C makes of a struct: its bytes where the fields count from one.
local STRUCT = [[
struct P { %s };
extern "C" __global__ void look(P p, unsigned char *out) {
  const unsigned char *bytes = (const unsigned char *)&p;
  for (int i = 0; i < (int)sizeof(P); i++) out[i] = bytes[i];
  out[200] = sizeof(P);
}
]]

tap.case("structs are laid out as C lays them out", function()
  local layouts = {
    { "int n; float f;", '{ "n", "i32", 1 }, { "f", "f32", 2.5 }' },
    { "char c; int n;", '{ "c", "i8", 1 }, { "n", "i32", 2 }' },
    { "char c; double d; char e;", '{ "c", "i8", 1 }, { "d", "f64", 2 }, { "e", "i8", 3 }' },
    { "short s; char c; short t; long long l;",
      '{ "s", "i16", 1 }, { "c", "u8", 2 }, { "t", "i16", 3 }, { "l", "i64", 4 }' },
    { "float v[3]; char c;", '{ "v", "f32", { 1, 2, 3 } }, { "c", "i8", 4 }' },
    { "unsigned char c; unsigned long long u; int n;",
      '{ "c", "u8", 255 }, { "u", "u64", 1 << 40 }, { "n", "i32", -1 }' },
  }
  for _, layout in ipairs(layouts) do
    local text = ([[{ source = "kernel.cu", kernel = "look", size = 1, args = {
      { name = "p", type = "struct", fields = { %s } },
      { name = "out", type = "u8", count = 201, fill = "zero",
        role = "inout" } } }]]):format(layout[2])
    local out, problem = outputs(STRUCT:format(layout[1]), text)
    local bytes = tablecase.struct(problem.definition.kernel_table.table.args[1], {}, "p")
    tap.is(#bytes, out.out[201], layout[1] .. " its size")
    local same = 0
    for i = 1, #bytes do
      if out.out[i] == bytes:byte(i) then same = same + 1 end
    end
    tap.is(same, #bytes, "and its bytes")
  end
end)

tap.case("a struct's fields are expressions and of their type", function()
  local row = { fields = { { "n", "u8", "size_x" } } }
  tap.is(tablecase.struct(row, { size_x = 9 }, "p"), "\9", "an expression")
  tap.has(scratch.sentence(tablecase.struct, row, { size_x = 256 }, "p"),
    "p: field 1 (n): 256 does not fit u8 (0 to 255)", "too large")
end)

local TWO = [[
extern "C" __global__ void both(const float *x, float *twice, int *sign) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  twice[i] = 2 * x[i];
  sign[i] = x[i] < 0 ? -1 : 1;
}
]]
local BOTH = [[{ source = "kernel.cu", kernel = "both", size = 100, block_size_x = 32,
  defines = { "N=100" }, tolerance = { max_error = 1e-6 }, args = {
    { name = "x", type = "f32", count = 100, fill = "normal" },
    { name = "twice", type = "f32", count = 100, role = "out" },
    { name = "sign", type = "i32", count = 100, role = "out" } }, %s }]]

tap.case("several outputs are counted together", function()
  local problem = gi.problem(scratch.problem(TWO, BOTH:format ""))
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local m = farm:evaluate({ "", "<_kernel.cu_4>", "<_kernel.cu_5>" }, { seed = 1 })
  tap.is(m[1].status .. " " .. m[1].n .. " " .. m[1].wrong, "ok 200 0.0", "200 answers, all right")
  tap.is(m[2].unset, 0.5, "without the first of them half are unset")
  tap.is(m[3].unset, 0.5, "and without the second")
end)

-- Counts of thousands, and distances below 1.
local COUNTS = [[
extern "C" __global__ void counts(float *far, float *near, int *whole) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  far[i] = 4000.f + i;
  near[i] = 0.5f / (1 + i);
  whole[i] = 5000 + i;
}
]]

tap.case("each output may have its own tolerance", function()
  local function judged(far, near, whole)
    local p = gi.problem(scratch.problem(COUNTS, ([[{ source = "kernel.cu", kernel = "counts",
      size = 100, block_size_x = 32, defines = { "N=100" }, tolerance = { max_error = 2 }, args = {
        { name = "far", type = "f32", count = 100, role = "out", rel_error = 1e-3 },
        { name = "near", type = "f32", count = 100, role = "out", max_error = 0.01 },
        { name = "whole", type = "i32", count = 100, role = "out" } },
      reference = function(args)
        for i = 1, 100 do
          args.far[i], args.near[i], args.whole[i] = 3999 + i + %s, 0.5 / i + %s, 4999 + i + %s
        end
      end }]]):format(far, near, whole)))
    local farm <close> = gi.farm(p, { jobs = 1 })
    local m = farm:evaluate({ "" }, { seed = 1 })[1]
    return ("%s %.2f %.2f"):format(gi.fitness.right(m), m.off, m.wrong), p
  end
  local all, p = judged(3, 0.005, 2)
  tap.is(all, "true 0.00 0.00", "a share of the large, a little of the small, what holds for all")
  tap.is(gi.tolerance.text(p.tolerance),
    "0.001 of each answer (far), 0.01 (near), 2 (whole)", "in words")
  tap.is(judged(6, 0, 0), "false 0.33 0.33", "more of the large is off")
  tap.is(judged(0, 0.5, 0), "false 0.33 0.33", "what the large may differ by is not the small's")
  tap.is(judged(0, 0, 3), "false 0.33 0.33", "nor of the rest")
end)

tap.case("a share of the answer, for all outputs", function()
  local text = BOTH:gsub("tolerance = %b{}", "tolerance = { rel_error = 1e-3 }")
  local p = gi.problem(scratch.problem(TWO, text:format([[reference = function(args)
    for i = 1, 100 do
      args.twice[i], args.sign[i] = 2.001 * args.x[i], args.x[i] < 0 and -1 or 1
    end
  end]])))
  local farm <close> = gi.farm(p, { jobs = 1 })
  tap.is(gi.fitness.right(farm:evaluate({ "" }, { seed = 1 })[1]), true, "half a thousandth more")
  tap.is(p.tolerance.outputs, nil, "no output has its own")
  tap.is(gi.tolerance.text(p.tolerance), "0.001 of each answer", "in words")
end)

tap.case("NaN where it is expected is right, and told", function()
  local source = COUNTS:gsub("far%[i%] = [^;]*;", "far[i] = i %% 4 ? i : sqrtf(-1.f - i);")
  local folder = scratch.problem(source, [[{ source = "kernel.cu", kernel = "counts", size = 100,
    block_size_x = 32, defines = { "N=100" }, args = {
      { name = "far", type = "f32", count = 100, role = "out" },
      { name = "near", type = "f32", count = 100, role = "scratch" },
      { name = "whole", type = "i32", count = 100, role = "scratch" } } }]])
  local p = gi.problem(folder)
  local farm <close> = gi.farm(p, { jobs = 1 })
  local more = source:gsub("i %% 4 %?", "i %% 2 ?")
  local list = farm:evaluate({ "", { source = more, name = "more of them", kin = true } },
    { seed = 1 })
  tap.is(gi.fitness.right(list[1]), true, "the kernel as it is")
  tap.is(list[1].nan .. " " .. list[1].max_error, "0.25 0.0", "a quarter of its answers are none")
  tap.is(gi.fitness.right(list[2]), false, "NaN where a number was expected is wrong")
  tap.is(list[2].off .. " " .. list[2].nan, "0.25 0.25", "another quarter")
end)

tap.case("arrays read and written begin anew at every launch", function()
  local problem = gi.problem(scratch.problem(SAXPY, saxpy()))
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local m = farm:evaluate({ "", "" }, { seed = 1 })
  tap.is(m[1].status .. " " .. m[1].max_error, "ok 0.0", "checked after several launches: right")
end)

tap.case("references: a function, a C file, another kernel", function()
  local function judged(reference, source, more)
    local folder = scratch.problem(source or TWO, BOTH:format("reference = " .. reference))
    for name, text in pairs(more or {}) do scratch.write(folder .. "/" .. name, text) end
    local problem = gi.problem(folder)
    local case = problem:case { seed = 1 }
    return ("%.3f %d"):format(case.expected[1] - 2 * case.arrays.x[1], case.also[1].expected[1])
  end
  tap.is(judged [[function(args)
    for i = 1, #args.x do args.twice[i], args[3][i] = 2 * args.x[i] + 3, 7 end
  end]], "3.000 7", "Lua: arguments by name and by number")
  tap.is(judged('"reference.c"', nil, { ["reference.c"] = [[
    void both_reference(const float *x, float *twice, int *sign) {
      for (int i = 0; i < 100; i++) { twice[i] = 2 * x[i] + 4; sign[i] = 8; }
    }]] }), "4.000 8", "C")
  local other = TWO:gsub("2 %*", "5 + 2 *"):gsub("%-1 : 1", "9 : 9")
  tap.is(judged('{ source = "other.cu" }', nil, { ["other.cu"] = other }), "5.000 9",
    "another file")
  tap.is(judged('{ kernel = "other" }', TWO .. other:gsub("both", "other")), "5.000 9",
    "another kernel of the file")
end)

tap.case("a reference in Lua has a struct's fields by name", function()
  local source = "struct P { int n; float w[2]; };\n"
    .. [[extern "C" __global__ void k(P p, float *y) { y[threadIdx.x] = p.n * p.w[1]; }]]
  local problem = gi.problem(scratch.problem(source, [[{ source = "kernel.cu", kernel = "k",
    size = 32, block_size_x = 32, tolerance = { max_error = 1e-6 }, args = {
      { name = "p", type = "struct",
        fields = { { "n", "i32", "size_x" }, { "w", "f32", { 0.5, 2 } } } },
      { name = "y", type = "f32", count = 32, role = "out" } },
    reference = function(a)
      for i = 1, #a.y do a.y[i] = a.p.n * a.p.w[2] end
    end }]]))
  local case = problem:case { seed = 1 }
  tap.is(case.expected[32], 64.0, "what it makes of them")
  local farm <close> = gi.farm(problem, { jobs = 1 })
  tap.is(farm:evaluate({ "" }, { seed = 1 })[1].max_error, 0.0, "is what the kernel does")
end)

tap.case("what is wrong with a reference is one sentence", function()
  local function told(reference, part, files)
    local folder = scratch.problem(TWO, BOTH:format("reference = " .. reference))
    for name, text in pairs(files or {}) do scratch.write(folder .. "/" .. name, text) end
    tap.has(scratch.sentence(function() gi.problem(folder):case { seed = 1 } end), part, part)
  end
  told('"no.c"', "no.c, which problem.lua gives as the reference")
  told('"bad.c"', "does not compile", { ["bad.c"] = "void both_reference(" })
  told('"empty.c"', "both_reference", { ["empty.c"] = "int x;" })
  told('{ kernel = "boht" }', "boht")
  told('{ source = "none.cu" }', "cannot read the reference")
  local most = gi.kerneltable.most_instructions
  gi.kerneltable.most_instructions = 1e5
  told('{ source = "loop.cu" }', "timeout", { ["loop.cu"] =
    'extern "C" __global__ void both(const float *x, volatile float *twice, int *sign)'
    .. " { while (twice[0] != 1) { for (int i = 0; i < 1000; i++) twice[i % 9] = 2; } }" })
  gi.kerneltable.most_instructions = most
end)

local TILE = [[
extern "C" __global__ void show(int *out) { out[threadIdx.x] = TILE; }
]]

tap.case("loop headers and what variables begin with may change", function()
  local function kinds(fields)
    local source = SAXPY:gsub("if %(i < n%) y", "for (int k = i; k < i + 1; k++) if (k < n) y")
    local grammar = gi.problem(scratch.problem(source, saxpy(fields))).grammar
    local found = ("%d %d"):format(#grammar:rules "for2", #grammar:rules "init")
    return found, grammar:gene_count()
  end
  local all, n = kinds()
  tap.is(all, "1 2", "headers, and what i and k begin with")
  tap.is(kinds "grammar = { open_loops = false }", "0 1", "no headers")
  tap.is(kinds "grammar = { initialisers = false }", "1 0", "no initialisers")
  local _, more = kinds "grammar = { skip_idle = false }"
  tap.ok(more > n, ("%d genes that change something; %d with those that do not"):format(n, more))
end)

tap.case("parameters that the source mentions are macros; those that it defines are not", function()
  local function table_of(more)
    return ([[{ source = "kernel.cu", kernel = "show", size = 8, block_size_x = 8, args = {
      { name = "out", type = "i32", count = 8, role = "out" } },
      tune_params = { TILE = { 4, 8 } }, %s }]]):format(more or "")
  end
  tap.is(outputs(TILE, table_of()).out[1], 4, "the first value is the default")
  tap.is(outputs(TILE, table_of "defaults = { TILE = 8 }").out[1], 8, "or another")
  tap.is(outputs("#define TILE 16\n" .. TILE, table_of()).out[1], 16, "the source's own")
  local problem = gi.problem(scratch.problem(TILE, table_of()))
  tap.has(table.concat(problem:compile_options { TILE = 8 }, " "), "-DTILE=8", "an option")
  problem = gi.problem(scratch.problem(TILE, table_of "reference = { values = { TILE = 8 } }"))
  tap.is(problem:case({ seed = 1 }).expected[1], 8, "a reference has its own")
  problem = gi.problem(scratch.problem("#define TILE 16\n" .. TILE,
    table_of "reference = { values = { TILE = 8 } }"))
  tap.has(scratch.sentence(problem.case, problem, { seed = 1 }), "the source itself defines TILE",
    "but not of what the source defines")
end)

tap.case("a macro is no name that the source has for a variable of its own", function()
  local table_of = [[{ source = "kernel.cu", kernel = "show", size = 8, block_size_x = 8, args = {
    { name = "out", type = "i32", count = 8, role = "out" } } }]]
  local function source(body)
    return 'extern "C" __global__ void show(int *out) { ' .. body .. " }\n"
  end
  tap.is(outputs(source "const int block_size_x = 4; out[threadIdx.x] = block_size_x;",
    table_of).out[1], 4, "a variable")
  tap.is(outputs("static __device__ int of(int block_size_x) { return 2 * block_size_x; }\n"
    .. source "out[threadIdx.x] = of(3);", table_of).out[1], 6, "a parameter")
  tap.is(outputs("// the block_size_x, of int block_size_x = 3\n/* int block_size_x; */\n"
    .. "static __device__ int of() { return block_size_x; }\n"
    .. source "out[threadIdx.x] = of() * block_size_x;", table_of).out[1], 64,
    "comments and uses declare nothing")
end)

tap.case("the small case has the shape of the whole one, and no multiple of a block", function()
  for _, size in ipairs { { 1 }, { 3000 }, { 65536 }, { 256, 256 }, { 64, 1 }, { 100, 50, 30 } } do
    local small, threads = tablecase.smaller(size), 1
    for i, n in ipairs(small) do
      threads = threads * n
      if n > size[i] then threads = math.huge end
    end
    tap.ok(threads <= 2048 and #small == #size, table.concat(size, "x") .. " becomes "
      .. table.concat(small, "x"))
  end
end)

tap.done()
