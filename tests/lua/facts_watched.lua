-- watched: which arrays of a kernel met while it ran, as the virtual GPU saw it (a launch's meets),
-- and what that says of two arrays that a rewriting takes for different memory.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"
local watched = require "gilua.facts.watched"

local N = 64
local device = assert(gi.device "emu")

-- What met in a kernel k whose arguments are buffers by their names ("a" twice: one memory) or
-- numbers; `view`: the array b is the second half of a.
local function launched(source, args, more)
  local module <close> = assert(device:load(assert(gi.compile(source, { "-lineinfo" }))))
  local buffers, given = {}, {}
  for i, arg in ipairs(args) do
    if type(arg) == "string" and not buffers[arg] then
      local array = gi.array("i32", N)
      for k = 1, N do array[k] = 0 end
      buffers[arg] = device:buffer(array, { read_only = false })
    end
    given[i] = buffers[arg] or { "i32", arg }
  end
  local launch = { kernel = "k", grid = 1, block = 32, args = given, check_races = "global",
    meets = true }
  for key, value in pairs(more or {}) do launch[key] = value end
  local m = module:launch(launch)
  for _, buffer in pairs(buffers) do buffer:close() end
  return m
end

-- "in order 2:4>1:5, …": how, and of each the parameter and the line.
local function words(m)
  local list = {}
  for i, meet in ipairs(m.meets or { { how = "not known" } }) do
    local first, second = meet.first, meet.second
    list[i] = second and ("%s %s%d:%d%s"):format(meet.how,
      first and ("%d:%d%s>"):format(first.source, first.line, first.writes and "w" or "r") or "",
      second.source, second.line, second.writes and "w" or "r") or meet.how
  end
  return table.concat(list, ", ")
end

local function is(body, args, want, why, more)
  local m = launched('extern "C" __global__ void k(int *y, int *x, int n)\n{\n'
    .. "int i = threadIdx.x;\n" .. body .. "\n}\n", args, more)
  tap.is(m.status, "ok", m.message or why)
  tap.is(words(m), want, why)
end

tap.case("which pointers led to one byte", function()
  is("y[i] = x[i];", { "a", "b", N }, "", "two arrays")
  is("y[i] = x[i];", { "a", "a", N }, "any 2:4r>1:4w", "read, and then written over")
  is("y[i] = 1;\ny[i] += x[i];", { "a", "a", N },
    "in order 1:4w>2:5r, any 2:5r>1:5w", "written, and then read")
  is("y[i] = i;\nx[i] = 1;", { "a", "a", N }, "in order 1:4w>2:5w", "written, and written over")
  is("if (n < 0) y[i] = x[i]; else y[i] = x[i ^ 32];", { "a", "a", 1 }, "",
    "one memory, other elements")
  is("n = y[i] + x[i];\nif (n > 9) y[0] = n;", { "a", "a", 1 }, "", "one memory that is only read")
  is("y[i] = i;\n__syncthreads();\nif (x[i ^ 1] > 64) y[i + 32] = 1;",
    { "a", "a", N }, "in order 1:4w>2:6r", "written by one thread and read by another")
  is("((char *)y)[4 * i] = 1;\nif (((char *)x)[4 * i + 1] > 5) y[0] = 1;", { "a", "a", N }, "",
    "bytes of one word")
  is("atomicAdd(y + i, 1);\natomicAdd(x + i, 1);", { "a", "a", N }, "in order 1:4w>2:5w", "atomics")
end)

tap.case("whose address it is", function()
  is("y += 4 * (n - 64); x = x + i;\ny[i] = *x;", { "a", "a", N }, "any 2:5r>1:5w",
    "numbers of an address do not count")
  is("y[i] = x[y[i]];", { "a", "b", N }, "", "nor do indices that were loaded")
  is("int *p = n > 3 ? x : y;\np[i] = 1;", { "a", "b", N }, "unknown -1:5w", "of two it is unknown")
  local function of(source, args, want, why)
    tap.is(words(launched(source, args)), want, why)
  end
  of("extern \"C\" __global__ void k(int *y, long long *x)\n{\n  y[x[threadIdx.x]] = 1;\n}\n",
    { "a", "b" }, "unknown -1:3w", "64 bits from memory may be a pointer")
  of("__device__ int pool[64];\nextern \"C\" __global__ void k(int *y, int n)\n{\n"
    .. "  int *p = n > 99 ? y : pool;\n  p[threadIdx.x] = 1;\n}\n", { "a", 1 }, "unknown -1:5w",
    "a parameter or a variable")
  of("__device__ int pool[64];\nextern \"C\" __global__ void k(int *y, int n)\n{\n"
    .. "  pool[threadIdx.x] = 1;\n  y[threadIdx.x] = pool[threadIdx.x];\n}\n", { "a", 1 }, "",
    "variables are one source")
  of("__device__ __noinline__ void f(int *p)\n{\n  p[threadIdx.x] = 1;\n}\n"
    .. "extern \"C\" __global__ void k(int *y, int n)\n{\n  f(y);\n}\n", { "a", 1 },
    "unknown -1:3w", "not through a function that is called")
  of("struct S { int n; int *y, *x; };\nextern \"C\" __global__ void k(int *y, int *x)\n{\n"
    .. "  __shared__ int s[32];\n  s[threadIdx.x] = x[threadIdx.x];\n"
    .. "  y[threadIdx.x] = s[threadIdx.x];\n}\n", { "a", "b" }, "", "shared memory is none")
end)

tap.case("where it is not known", function()
  is("y[i] = x[i];", { "a", "b", N }, "not known", "races are looked for in shared memory alone",
    { check_races = "shared" })
  is("y[i] = x[i];", { "a", "a", N }, "not known", "nobody asks", { meets = false })
  local many = {}
  for i = 1, 40 do many[i] = ("if (n > %d) y[i] = x[i] + %d;"):format(i, i) end
  is(table.concat(many, "\n"), { "a", "a", N }, "not known", "more of them than there is room for")
end)

local SCALE = [[
extern "C" __global__ void k(float *y, const float *w, float *left, int n)
{
  for (int j = 0; j < n; j++)
    y[j] = w[j];
  left[0] = 1.0f;
}
]]

local function meet(how, first, second)
  return { how = how, kernel = "k", first = first and { source = first[1], line = first[2] },
    second = { source = second[1], line = second[2] }, block = { 0, 0, 0 }, thread = { 3, 0, 0 } }
end

tap.case("what it says of two arrays", function()
  local fn = kernel.of_text(SCALE).by_name.k
  local function of(answer, said, meets, lines, a, b)
    local got, why = watched.of(fn, meets, a or "y", b or "w", lines and { lines = lines })
    tap.is(got, answer, said)
    tap.is(why, answer == nil and said or answer == false and said or nil, "why")
  end
  local SAME = "lines 4 and 5 touch the same byte of `y` and `w` in block (0,0,0), thread (3,0,0)"
  local ordered = meet("in order", { 1, 4 }, { 2, 5 })
  of(true, "nothing met", {})
  of(false, SAME, { ordered })
  of(false, SAME, { meet("in order", { 2, 4 }, { 1, 5 }) })
  of(nil, SAME, { meet("any", { 1, 4 }, { 2, 5 }) })
  of(true, "others met", { meet("in order", { 1, 4 }, { 3, 5 }), meet("any", { 3, 4 }, { 2, 4 }) })
  of(nil, "what its case does was not watched", nil)
  of(nil, "the address that line 7 reaches is not understood", { meet("unknown", nil, { -1, 7 }) })
  of(false, SAME, { meet("unknown", nil, { -1, 7 }), ordered })
  of(false, SAME, { ordered, meet("any", { 1, 4 }, { 2, 4 }) })
  of(nil, "nobody can see where `pool` leads", {}, nil, "y", "pool")
  of(false, SAME, { ordered }, { 3, 4 })
  of(false, SAME, { ordered }, { 5, 9 })
  of(nil, SAME, { ordered }, { 6, 9 })
  of(nil, SAME, { ordered }, { 1, 3 })
  of(false, "line 5 touches the same byte of `y` and `w` in block (0,0,0), thread (3,0,0)",
    { meet("in order", { 1, 5 }, { 2, 5 }) })
  local one = meet("any", { 1, 0 }, { 2, 5 })
  of(nil, "line 5 touches the same byte of `y` and `w` in block (0,0,0), thread (3,0,0)", { one })
end)

tap.case("of a function that is called nothing is seen, of the file's arrays no order", function()
  local known = kernel.of_text("__device__ float pool[9];\n__device__ float *where;\n"
    .. "__device__ void f(float *y, const float *w) { y[0] = w[0]; }\n" .. SCALE)
  tap.is((watched.of(known.by_name.f, {}, "y", "w")), nil, "a function's parameters")
  local k = known.by_name.k
  tap.is((watched.of(k, {}, "y", "pool")), true, "an array of the file that met nothing")
  tap.is((watched.of(k, {}, "y", "where")), nil, "a pointer of the file")
  tap.is((watched.of(k, { meet("in order", { 0, 4 }, { 1, 5 }) }, "y", "pool")), nil,
    "one variable met it: which is not known")
end)

tap.done()
