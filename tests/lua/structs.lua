-- Structs in problem tables: pointers in them, by value and in arrays; arrays of structs of several
-- types, each field of which is compared on its own.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local kerneltable = require "gilua.problem.kerneltable"
local scratch = require "scratch"

local function problem_of(source, table_text)
  return gi.problem(scratch.problem(source, table_text))
end

-- The measurement of a genome on a problem's own case, on the virtual GPU.
local function measured(problem, genome, size)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  return farm:evaluate({ genome or "" }, { seed = 1, size = size })[1]
end

local VIEW = [[
struct View { int n; float *to; const float *from; double scale; };
extern "C" __global__ void k(View v, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= v.n) return;
    v.to[i] = v.from[i] * v.scale;
    atomicAdd(count, 1);
}
]]

local VIEW_TABLE = [[{ source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64,
  args = {
    { name = "v", type = "struct", fields = { { "n", "i32", "size_x" },
      { "to", "f32", count = "size_x", role = "out", rel_error = 1e-6 },
      { "from", "f32", count = "size_x", fill = "normal" }, { "scale", "f64", 3 } } },
    { name = "count", type = "i32", count = 1, fill = 0, role = "inout" } } %s }]]

tap.case("a struct by value that holds pointers", function()
  local problem = problem_of(VIEW, VIEW_TABLE:format "")
  local out, m = kerneltable.run(problem, { seed = 1 })
  tap.is(out and out["v.to"] and #out["v.to"], 1000, "its array is an output: " .. tostring(m))
  tap.is(out.count[1], 1000, "beside others")
  local ran = measured(problem)
  tap.is(ran.status .. " " .. ran.off .. " " .. ran.n, "ok 0.0 1001", "the kernel is right")
  local other = measured(problem, "<_kernel.cu_6>")
  tap.is(other.status .. " " .. other.unset * 1001, "ok 1000.0", "what it does not write is unset")
  tap.is(problem.tolerance.outputs[1].name, "v.to", "limits are the array's own")
end)

tap.case("references have what a struct points to", function()
  local lua = [[, reference = function(args)
    for i = 1, args.v.n do args.v.to[i] = args.v.from[i] * args.v.scale end
    args.count[1] = args[2][1] + args.v.n
  end]]
  local ran = measured(problem_of(VIEW, VIEW_TABLE:format(lua)))
  tap.is(ran.status .. " " .. ran.off, "ok 0.0", "in Lua")
  tap.has(scratch.sentence(function()
    local dir = scratch.problem(VIEW, VIEW_TABLE:format ', reference = "reference.c"')
    scratch.write(dir .. "/reference.c", "void k_reference(void) {}\n")
    local problem = gi.problem(dir)
    problem:case { seed = 1 }
  end), "a C reference cannot take the struct 'v'", "not in C")
end)

local ROWS = [[
struct Row { float *x; int n; };
extern "C" __global__ void k(Row *rows, float **plain)
{
    int r = blockIdx.x, i = threadIdx.x;
    if (i < rows[r].n) rows[r].x[i] = plain[r][i] + r;
    __syncthreads();
    if (i == 0) rows[r].n = -r;
}
]]

tap.case("an array of structs that hold pointers; an array of pointers", function()
  local problem = problem_of(ROWS, [[{ source = "kernel.cu", kernel = "k", size = 8,
    block_size_x = 32, grid_div_x = { 1 }, args = {
    { name = "rows", type = "struct", count = "size_x", role = "inout", fields = {
      { "x", "f32", count = 20, role = "inout", fill = 7 }, { "n", "i32", fill = { 3, 20 } } } },
    { name = "plain", type = "struct", count = "size_x", fields = {
      { "row", "f32", count = 20 } } } } }]])
  local out, why = kerneltable.run(problem, { seed = 1 })
  tap.is(out and #out["rows.x"], 160, "a part for each struct: " .. tostring(why))
  tap.is(out["rows.n"][8], -7, "the structs' own numbers are outputs")
  local row3 = 0
  for i = 41, 60 do row3 = row3 + (out["rows.x"][i] >= 2 and out["rows.x"][i] < 3 and 1 or 0) end
  tap.ok(row3 >= 3 and row3 < 20, "each struct has its own part: " .. row3)
  local ran = measured(problem)
  tap.is(ran.status .. " " .. ran.off .. " " .. ran.n, "ok 0.0 168", "and that is right")
  tap.is(measured(problem, "<_kernel.cu_7>").wrong * 168, 8.0, "a number that is not written")
end)

local MIXED = [[
struct P { char kind; float at[3]; int id; double mass; };
extern "C" __global__ void k(P *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].at[1] = p[i].at[0] * 3;
    p[i].id += 1;
    p[i].mass = sqrt(p[i].mass);
    p[i].kind = 5;
}
]]

local MIXED_TABLE = [[{ source = "kernel.cu", kernel = "k", size = 300, block_size_x = 64, args = {
  { name = "p", type = "struct", count = "n", role = "%s", bytes = 32, fields = {
    { "kind", "i8", fill = { 1, 3 } }, { "at", "f32", each = 3%s }, { "id", "i32", fill = "index" },
    { "mass", "f64", at = 24 } } },
  { name = "n", type = "i32", value = "size_x" } },
  reference = { source = "other.cu" } }]]

local function mixed(was, now, more, role)
  local dir = scratch.problem(MIXED, MIXED_TABLE:format(role or "inout", more or ""))
  local first, last = MIXED:find(was, 1, true)
  scratch.write(dir .. "/other.cu", MIXED:sub(1, first - 1) .. now .. MIXED:sub(last + 1))
  return measured(gi.problem(dir))
end

tap.case("each field of an array of structs is compared on its own", function()
  local same = mixed("+= 1", "+= 1")
  tap.is(same.status .. " " .. same.off .. " " .. same.n, "ok 0.0 1200", "300 of four fields")
  tap.is(mixed("= 5", "= 6").off * 1200, 300.0, "a small whole number")
  tap.is(mixed("+= 1", "+= 2").off * 1200, 300.0, "another")
  tap.is(mixed("* 3", "* 3.0001f").off * 1200, 300.0, "floats that must be equal")
  tap.is(mixed("* 3", "* 3.0001f", ", rel_error = 1e-3").off, 0.0, "floats with a limit")
  tap.is(mixed("* 3", "* 3.1f", ", rel_error = 1e-3").off * 1200, 300.0, "which are beyond it")
  tap.is(mixed("sqrt(p[i].mass)", "sqrt(p[i].mass) * (1 + 1e-12)").off * 1200, 300.0, "doubles")
  local padded = mixed("int id;", "int id; int pad;")
  tap.is(padded.off, 0.0, "what lies between the fields is nobody's")
end)

tap.case("a field that is never written is unset", function()
  local ran = mixed("p[i].kind = 5;", "p[i].kind = 5;", "", "out")
  tap.is(ran.unset * 1200, 600.0, "of an output: at[0] and at[2], and the root of what is not set")
end)

tap.case("other data and sizes reach the fields", function()
  local problem = problem_of(MIXED, MIXED_TABLE:format("inout", ""):gsub("reference.*", "}"))
  local names = table.concat(gi.families.arrays(problem.definition.kernel_table.table, "zeros"),
    " ")
  tap.is(names, "p.kind p.at p.mass", "by their names")
  local zeros = kerneltable.run(problem, { seed = 1, family = "zeros" })
  tap.is(zeros["p.mass"][5], 0.0, "zeros")
  local one = kerneltable.run(problem, { seed = 1, family = "zeros", array = "p.at" })
  tap.ok(one["p.mass"][5] > 0 and one["p.at"][1] == 0, "of one field alone")
end)

tap.case("a variable of structs with pointers", function()
  local problem = problem_of([[
struct Table { const float *x; int n; };
__constant__ Table tables[2];
extern "C" __global__ void k(float *out)
{
    int i = threadIdx.x;
    float sum = 0;
    for (int t = 0; t < 2; t++) if (i < tables[t].n) sum += tables[t].x[i];
    out[i] = sum;
}
]], [[{ source = "kernel.cu", kernel = "k", size = 32, block_size_x = 32,
  args = { { name = "out", type = "f32", count = 32, role = "out" } },
  constants = { tables = { type = "struct", count = 2, fields = {
    { "x", "f32", count = 32, fill = 2 }, { "n", "i32", fill = 20 } } } } }]])
  local out, why = kerneltable.run(problem, { seed = 1 })
  tap.is(out and out.out[20], 4.0, "is set: " .. tostring(why))
  tap.is(out and out.out[21], 0.0, "with its numbers")
  tap.is(measured(problem).off, 0.0, "for mutants too")
end)

tap.case("what is wrong with fields is said", function()
  local function told(fields, more)
    return scratch.sentence(problem_of, VIEW, ([[{ source = "kernel.cu", kernel = "k", size = 8,
      args = { { name = "v", type = "struct", fields = { %s } %s },
        { name = "count", type = "i32", count = 1, role = "inout" } } }]]):format(fields,
      more or ""))
  end
  local ARRAY = ", count = 3, role = \"inout\""
  for _, row in ipairs {
    { '{ "a", "f32", count = 3, fil = 1 }', "", "field 1: unknown field 'fil'; did you mean" },
    { '{ "a", "f32", 1, fill = 1 }', "", "field 1 (a): only an array has a fill" },
    { '{ "a", "f32", 1 }, { "a", "f32", 1 }', "", "field 2: two fields are called 'a'" },
    { '{ "a", "f31", count = 1 }', "", "field 1 (a): 'f31' is no element type" },
    { '{ "a", "f32", count = 1, max_error = 1 }', "", "only what is compared" },
    { '{ "a", "f32", 1 }', ARRAY, "in an array of structs without the value, with a `fill`" },
    { '{ "a", "f32", each = 0 }', ARRAY, "each, how many there are, is a whole number above 0" },
    { '{ "a", "f32", at = 2 }', ARRAY, "at, the byte where it begins, must be a multiple of 4" },
    { '{ "a", "f64" }, { "b", "f32", at = 4 }', ARRAY, "a multiple of 4 from 8 on, not 4" },
    { '{ "a", "f64" }', ARRAY .. ", bytes = 12", "within the struct's bytes, 12, a multiple of 8" },
    { '{ "a", "f32" }, { "b", "f32" }', ARRAY .. ", bytes = 4", "within the struct's bytes, 4" },
  } do
    tap.has(told(row[1], row[2]), row[3], row[1])
  end
end)

tap.done()
