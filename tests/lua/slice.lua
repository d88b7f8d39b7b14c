-- slice: what a GPU needs of a whole file, under the lines that it had.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

local INCLUDE = "-I" .. gi.home .. "/lua/gilua/include"

local function cut(text, kernel, o)
  o = o or {}
  local folder = o.folder or tap.folder()
  local options = { INCLUDE, table.unpack(o.options or {}) }
  return gi.slice.cut(text, "dir/file.cu", kernel or "k",
    { folder = folder, template = o.template, templates = o.templates, options = options }),
    folder
end

local function lines(text)
  local list = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do list[#list + 1] = line end
  return list
end

-- Does every line stand where it stood, as it was or blank? Lines of edits are looked at elsewhere.
local function kept_lines(sliced, text)
  local now, was, edited = lines(sliced.source), lines(text), {}
  for _, e in ipairs(sliced.edits) do edited[e.line] = true end
  if #now ~= #was then return ("%d lines of %d"):format(#now, #was) end
  for i, line in ipairs(now) do
    if line ~= was[i] and line:find("%S") and not edited[i] then return i .. ": " .. line end
  end
  return "all"
end

tap.case("the numbers of a long array are cut out, but not compiled", function()
  local compiler = require "gilua.farm.compiler"
  local compile, longest = compiler.compile, 0
  local text = "__device__ float t[3000] = {\n" .. ("1.5f, 2, 0x1F,\n"):rep(1000)
    .. "};\n#include <cstdio>\nint main() {}\n__global__ void k(float *x) { x[0] = t[1] + GONE; }\n"
  compiler.compile = function(source, ...)
    longest = math.max(longest, #source)
    return compile(source, ...)
  end
  local fine, why = pcall(cut, text)
  local right = text:gsub("GONE", "1")
  local sliced = cut(right)
  compiler.compile = compile
  tap.ok(not fine and tostring(why):find("file.cu:1005: identifier \"GONE\"", 1, true),
    "an error behind it has its line", tostring(why))
  tap.ok(longest > 0 and longest < 2000, "they are not compiled", longest)
  tap.ok(#sliced.source > 15000, "they are in what was cut out", #sliced.source)
  tap.is(kept_lines(sliced, right), "all", "every line stands where it stood")
end)

local WHOLE = [[
#include <cstdio>
#include <vector>
#define N 100 /* of them */
static int count = 0;
__device__ float twice(float x) { return 2 * x; }
__global__ void other(float *x) { x[0] = 1; }
__global__ void k(float *x)
{
    x[threadIdx.x] = twice(N);
}
struct Host { std::vector<int> v; void f() { printf("%d", count); } };
int main() {
    std::vector<float> v(N); // in a "string
    other<<<1, 1>>>(v.data());
    return 0;
}
]]

tap.case("host code is blank, and lines keep their numbers", function()
  local s = cut(WHOLE)
  tap.is(kept_lines(s, WHOLE), "all", "every line is where it was")
  local l = lines(s.source)
  tap.is(l[7], 'extern "C" __global__ void k(float *x)', "the kernel can be asked for by name")
  tap.is(l[5], "__device__ float twice(float x) { return 2 * x; }", "what it calls is there")
  tap.is(l[6] .. l[12] .. l[13] .. l[16], "", "other kernels and the host's functions are not")
  tap.is(s.edits[1].line .. s.edits[1].was .. "|" .. s.edits[1].now, '7|extern "C" ', "one edit")
  local left = {}
  for _, item in ipairs(s.left_out) do left[#left + 1] = item.what .. ":" .. item.line end
  tap.has(table.concat(left, " "), "other:6", "what is left out is told")
  tap.has(table.concat(left, " "), "main:12", "with its line")
end)

tap.case("kernels of a file, in order", function()
  local names = {}
  for i, k in ipairs(gi.slice.kernels(WHOLE, "file.cu")) do
    names[i] = ("%s %d-%d"):format(k.name, k.line, k.last_line)
  end
  tap.is(table.concat(names, ", "), "other 6-6, k 7-10", "name and lines")
  tap.is(#gi.slice.kernels("int main() { return 0; }\n", "file.cu"), 0, "none")
  tap.is(#gi.slice.kernels("", "file.cu"), 0, "of an empty file")
end)

tap.case("lines that end in CR LF", function()
  local text = WHOLE:gsub("\n", "\r\n")
  local s = cut(text)
  tap.is(lines(s.source)[9], "    x[threadIdx.x] = twice(N);\r", "keep that ending")
  tap.is(select(2, s.source:gsub("\n", "")), select(2, text:gsub("\n", "")), "and their number")
end)

tap.case("templates: arguments under their names", function()
  local text = "template <typename T, int N = 3>\n__global__ void k(T *x)\n{\n  x[0] = N;\n}\n"
  local s = cut(text, "k", { template = { "double", "7" } })
  tap.has(s.source, 'using T = double; constexpr int N = 7; extern "C"\n__global__ void k',
    "on the template's line")
  tap.is(s.edits[1].was, "template <typename T, int N = 3>", "what stood there is kept")
  tap.has(scratch.sentence(cut, text, "k", { template = { "double" } }),
    "its parameter 'N' is unknown: give --template with 2 arguments", "one is missing")
  text = "template <class F> __global__ void k(int n, F f) { for (int i = 0; i < n; i++) f(i); }\n"
  tap.has(scratch.sentence(cut, text, "k", { template = { "float" } }),
    "stands for a lambda or a function object", "one that is called is no number")
  text = "#include <concepts>\ntemplate <typename T> concept Two = sizeof(T) > 1;\n"
    .. "template <std::floating_point T> __device__ T halved(T x) { return x / 2; }\n"
    .. "template <Two T> __global__ void k(T *x) { *x = halved(*x); }\n"
  s = cut(text, "k", { template = { "float" } })
  tap.has(table.concat(s.options, " "), "--std=c++20 --pre-include=cuda/std/concepts "
    .. "--pre-include=gilua_std.h", "one with a concept")
  tap.has(s.source, "using T = float;", "whose parameter stands for a type")
  text = "__global__ void k(int *x) { auto f = [] __device__ (int v) { return v; }; *x = f(1); }\n"
  tap.has(scratch.sentence(cut, text, "k", {}), "take __device__ away, in a copy of the file",
    "a lambda that says where it runs")
  s = cut("template <class A>\n\nstatic __global__\nvoid k(A x, A *y)\n{\n  *y = x;\n}\n", "k",
    { template = { "int" } })
  tap.is(lines(s.source)[4], "void k(A x, A *y)",
    "over lines, and static: lines keep their numbers")
end)

tap.case("templates whose parameters have one name", function()
  local text = "template <int N>\n__global__ void k(int *x)\n{\n  x[0] = N;\n}\n"
    .. "template <int N> __global__ void h(int *x) { x[1] = N; }\n"
    .. "__global__ void g(int *x) { x[2] = 3; }\n"
  local s = cut(text, "k,h,g", { templates = { k = { "7" }, h = { "8" } } })
  tap.is(s.source, 'namespace k_arguments { constexpr int N = 7; extern "C"\n'
    .. "__global__ void k(int *x)\n{\n  x[0] = N;\n} } /* namespace k_arguments */\n"
    .. 'namespace h_arguments { constexpr int N = 8; extern "C" __global__ void h(int *x) '
    .. "{ x[1] = N; } } /* namespace h_arguments */\n"
    .. 'extern "C" __global__ void g(int *x) { x[2] = 3; }\n', "each has its own")
  local code, why = gi.compile(s.source, { target = "ptx" })
  tap.ok(code, "which compiles", why)
  for name in ("k h g"):gmatch "%a" do
    tap.has(code or "", ".entry " .. name .. "(", name .. " has its name")
  end
  s = cut(text, "k,g", { templates = { k = { "7" } } })
  tap.has(s.source, 'constexpr int N = 7; extern "C"\n__global__ void k', "one alone has none")
end)

tap.case("comments in a kernel's head, and templates that end at once", function()
  local s = cut("template <int N /* > 0 */> // >\n__global__ void k(int *x) { *x = N; }\n", "k",
    { template = { "7" } })
  tap.is(lines(s.source)[1], 'constexpr int N = 7; extern "C" // >', "a > in a comment")
  s = cut("template <class T> struct A { T x; };\ntemplate <class T = A<int>>\n"
    .. "__global__ void k(T *x) { x->x = 1; }\n", "k", { template = { "A<float>" } })
  tap.is(lines(s.source)[2], 'using T = A<float>; extern "C"', "a default that ends in >>")
  local text = 'extern /* of C */ "C" __global__ void k(int *x) { *x = 1; }\n'
  tap.is(cut(text).source, text, "a comment in extern \"C\"")
  s = cut("/* a */ static /* b */ __global__ void k(int *x) { *x = 1; }\n")
  tap.is(s.source, '/* a */ extern "C" /* b */ __global__ void k(int *x) { *x = 1; }\n', "static")
  text = 'const char *s = R"(extern "C" { " )";\n__global__ void k(int *x) { *x = 1; }\n'
  tap.has(cut(text).source, '\nextern "C" __global__', "what a raw string says does not count")
end)

tap.case("namespaces, static, and extern \"C\"", function()
  local kernel = "__global__ void k(int *x) { *x = 1; }\n"
  local s = cut("namespace a { namespace b {\nint f();\n" .. kernel .. "} }\n")
  tap.is(lines(s.source)[3], 'extern "C" __global__ void k(int *x) { *x = 1; }', "in a namespace")
  s = cut("static __global__ void k(int *x) { *x = 1; }\n")
  tap.is(s.source, 'extern "C" __global__ void k(int *x) { *x = 1; }\n', "static gives way")
  local text = 'extern "C" __global__ void k(int *x) { *x = 1; }\n'
  tap.is(cut(text).source, text, "extern \"C\" as it is")
  tap.is(#cut(text).edits, 0, "and no edit")
  text = 'extern "C" {\n__global__ void k(int *x) { *x = 1; }\n}\n'
  tap.is(cut(text).source, text, "in a block of it")
  text = 'extern "C" { int before; }\n__global__ void k(int *x) { *x = 1; }\n'
  tap.has(cut(text).source, '\nextern "C" __global__', "behind a block of it")
end)

tap.case("what does not compile and is not the kernel's is left out, and why is told", function()
  local text = "#include <nowhere_at_all.h>\nusing U = no_such_type;\n"
    .. "__global__ void k(int *x) { *x = 1; }\n"
  local s = cut(text)
  tap.is(kept_lines(s, text), "all", "lines keep their numbers")
  tap.is(#s.left_out, 2, "two things")
  tap.has(s.left_out[1].why, "nowhere_at_all.h", "a header")
  tap.has(s.left_out[2].why, "no_such_type", "a type")
  local said = scratch.sentence(cut,
    "using U = no_such_type;\n__global__ void k(U *x) { *x = 1; }\n")
  tap.has(said, "kernel k does not compile for a GPU alone: file.cu:2:", "the kernel's own errors")
  tap.has(said, "left out before: file.cu:1", "and what led to them")
  tap.has(scratch.sentence(cut, "__global__ void k(int *x) { *x = 1 }\n"), "file.cu:1:", "a slip")
  tap.has(scratch.sentence(cut, "int x;\n"), "no __global__ function named k", "no such kernel")
end)

tap.case("headers with host code are copied and cut; others stay where they are", function()
  local place, folder = tap.folder(), tap.folder()
  scratch.write(place .. "/clean.h", "__device__ inline int one() { return 1; }\n")
  scratch.write(place .. "/mixed.h", "#pragma once\n#include <vector>\n"
    .. "inline int host() { std::vector<int> v(3); return (int)v.at(0) + undeclared(); }\n"
    .. "typedef float real;\nnot_a_type x;\n")
  local text = '#include "clean.h"\n#include "mixed.h"\n'
    .. "__global__ void k(real *x) { *x = one(); }\n"
  local s = cut(text, "k", { folder = folder, options = { "-I" .. place } })
  tap.is(kept_lines(s, text), "all", "the file itself")
  local copy = tap.read(folder .. "/mixed.h")
  tap.ok(copy ~= nil, "the one that fails is copied")
  tap.has(copy, "typedef float real;", "with what the kernel needs")
  tap.ok(copy and not copy:find("not_a_type"), "without what does not compile")
  tap.is(tap.read(folder .. "/clean.h"), nil, "the other is not")
  tap.has(tap.read(place .. "/mixed.h"), "not_a_type", "the user's own is as it was")
end)

tap.case("headers of headers, from folders of their own", function()
  local place, folder = tap.folder(), tap.folder()
  assert(gi.report.make_folder(place .. "/own") and gi.report.make_folder(place .. "/common"))
  scratch.write(place .. "/common/outer.h", '#pragma once\n#include "inner.h"\n'
    .. "inline int host() { return undeclared(); }\n")
  scratch.write(place .. "/common/inner.h", "#include <nowhere.h>\ntypedef float real;\n"
    .. "static int also_host() { return 1; }\n")
  scratch.write(place .. "/common/clean.h", "#define ONE 1\n")
  local text = '#include "../common/outer.h" // of ours\n#include "../common/clean.h"\n'
    .. "__global__ void k(real *x) { *x = ONE; }\n"
  local s = cut(text, "k", { folder = folder,
    options = { "-I" .. place .. "/own", "-I" .. place .. "/common" } })
  tap.is(lines(s.source)[1], '#include "outer.h" // of ours', "the copy is included, by its name")
  tap.is(lines(s.source)[2], '#include "../common/clean.h"', "what needs no copy is as it was")
  tap.is(s.edits[1].line .. s.edits[1].was .. s.edits[1].now, '1"../common/outer.h""outer.h"',
    "which is an edit that can be undone")
  tap.ok(not tap.read(folder .. "/outer.h"):find "undeclared", "the outer one is cut")
  tap.is(tap.read(folder .. "/inner.h"), "\ntypedef float real;\n\n", "the inner one too")
  tap.ok(not tap.read(place .. "/common/inner.h.h"), "nothing is written beside the user's")
end)

tap.case("two headers of one name", function()
  local place, folder = tap.folder(), tap.folder()
  for _, name in ipairs { "a", "b" } do
    assert(gi.report.make_folder(place .. "/" .. name))
    scratch.write(place .. "/" .. name .. "/one.h", "int host_" .. name .. "() { return f(); }\n"
      .. "#define " .. name:upper() .. " 1\n")
  end
  assert(gi.report.make_folder(place .. "/own"))
  local s = cut('#include "../a/one.h"\n#include "../b/one.h"\n'
    .. "__global__ void k(int *x) { *x = A + B; }\n", "k",
    { folder = folder, options = { "-I" .. place .. "/own", "-I" .. place .. "/a",
      "-I" .. place .. "/b" } })
  tap.is(lines(s.source)[1] .. lines(s.source)[2], '#include "one.h"#include "2_one.h"',
    "each is copied under its own")
end)

local HAS_LIBRARIES = gi.compile "#include <cuda/std/utility>\n" ~= nil -- beside NVRTC

tap.case("headers of C and C++ that a GPU has something for, and others", function()
  if not HAS_LIBRARIES then return end
  local text = "#include <type_traits>\n#include <utility>\n#include <limits>\n"
    .. "#include <strings.h>\n#include <sys/types.h>\n#include <optional>\n"
    .. "__global__ void k(float *x) { *x = std::is_same<int, float>::value ? 0 "
    .. ": std::numeric_limits<float>::max(); }\n"
  tap.is(#cut(text).left_out, 0, "nothing is left out")
  local plain = "#include <utility>\n#include <vector>\n__global__ void k(float *x) { *x = 1; }\n"
    .. "int main() { int a = 1, b = 2; std::swap(a, b); return a; }\n"
  tap.is(lines(cut(plain).source)[1], "", "but libcu++, which is slow, where nothing says std")
  local place = tap.folder()
  scratch.write(place .. "/uses.h", "__device__ std::pair<int, int> two() { return {1, 2}; }\n")
  local through = '#include <utility>\n#include "uses.h"\n'
    .. "__global__ void k(int *x) { *x = two().second; }\n"
  tap.is(#cut(through, "k", { options = { "-I" .. place } }).left_out, 0, "a header may say it")
end)

tap.case("a header of CUDA that NVRTC does not take is left out where it is included", function()
  local place, folder = tap.folder(), tap.folder()
  scratch.write(place .. "/uses.h", "#include <thrust/host_vector.h>\ntypedef int number;\n")
  local s = cut('#include "uses.h"\n__global__ void k(number *x) { *x = 1; }\n', "k",
    { folder = folder, options = { "-I" .. place } })
  tap.is(tap.read(folder .. "/uses.h"), "\ntypedef int number;\n", "in a header")
  tap.is(s.left_out[1].file .. s.left_out[1].what, "uses.h#include <thrust/host_vector.h>", "told")
end)

tap.case("static behind __global__", function()
  local s = cut("__global__ static /* a */ void k(int *x) { *x = 1; }\n")
  tap.is(s.source, 'extern "C" __global__ /* a */ void k(int *x) { *x = 1; }\n', "gives way")
end)

tap.case("a prototype of the kernel before it", function()
  local kernel = "__global__ void k(int *x) { *x = 1; }\n"
  local s = cut("__global__ void k(int *x);\n" .. kernel)
  tap.is(s.source, '\nextern "C" ' .. kernel, "gives way")
  local place, folder = tap.folder(), tap.folder()
  scratch.write(place .. "/proto.h", "#define N 1\n__global__ void k(int *x);\n")
  s = cut('#include "proto.h"\n' .. kernel, "k", { folder = folder, options = { "-I" .. place } })
  tap.has(s.source, '#include "proto.h"\nextern "C"', "in a header")
  tap.is(tap.read(folder .. "/proto.h"), "#define N 1\n\n", "too")
  s = cut("static __global__ void k(int *);\nstatic " .. kernel)
  tap.is(s.source, '\nextern "C" ' .. kernel, "a static one, which would change its name")
  s = cut("template <class T> __global__ void k(T *, int);\n"
    .. "template <class T> __global__ void k(T *x, int n) { *x = n; }\n", "k",
    { template = { "int" } })
  tap.is(select(2, s.source:gsub("k%(", "")), 1, "a template's, which would be another function")
end)

tap.case("of cub/cub.cuh what works inside a kernel", function()
  if not HAS_LIBRARIES then return end
  local s = cut("#include <cub/cub.cuh>\n__global__ void k(int *x)\n{\n"
    .. "  typedef cub::BlockReduce<int, 128> Reduce;\n  __shared__ Reduce::TempStorage space;\n"
    .. "  *x = Reduce(space).Sum(threadIdx.x);\n}\n")
  tap.is(#s.left_out, 0, "nothing is left out")
end)

tap.case("constants of <cstdint>", function()
  local s = cut("#include <cstdint>\n__global__ void k(int *x)\n{\n"
    .. "  *x = UINT8_C(200) + INT16_C(-3) + UINT16_C(7) + INT8_C(1) + int(UINT32_C(9));\n"
    .. "  *x += int(INT64_C(1) << 40) + int(UINT64_C(5)) + int(INTMAX_C(2) - UINTMAX_C(1));\n}\n")
  tap.is(s.why or #s.left_out, 0, "of every width")
end)

tap.case("headers that fail fail once for all kernels of a file", function()
  local text = "#include <odd1.h>\n#include <odd2.h>\n#include <odd3.h>\n"
    .. "__global__ void a(int *x) { *x = 1; }\n__global__ void b(int *x) { *x = 2; }\n"
  local compiler = require "gilua.farm.compiler"
  local compile, n = compiler.compile, 0
  compiler.compile = function(...) -- luacheck: ignore
    n = n + 1
    return compile(...)
  end
  local first = #cut(text, "a").left_out
  tap.is(("%d %d"):format(first, n), "4 4", "one after the other")
  n = 0
  local second = #cut(text, "b").left_out
  compiler.compile = compile -- luacheck: ignore
  tap.is(("%d %d"):format(second, n), "4 2", "then all at once")
end)

tap.case("a constructor of the host whose members begin with braces", function()
  local place, folder = tap.folder(), tap.folder()
  scratch.write(place .. "/v.h", "struct V {\n  V(int n) : x{ n }, y{ n } { y = 2; }\n"
    .. "  __device__ V() {}\n  int x, y;\n};\n")
  local s = cut('#include "v.h"\n__global__ void k(int *x) { V v; *x = v.y; }\n', "k",
    { folder = folder, options = { "-I" .. place } })
  tap.has(s.source, '#include "v.h"', "nothing of the file goes")
  tap.is(lines(tap.read(folder .. "/v.h"))[2], "  ", "the constructor goes, and with it its body")
end)

tap.case("what is left out keeps its directives", function()
  local text = "#include <vector>\n#ifdef __CUDACC__\nstruct Host { std::vector<int> v;\n#else\n"
    .. "struct Host {\n#endif\n  int n; };\nint main() {\n#define M \\\n  3\n  return M; }\n"
    .. "__global__ void k(int *x) { *x = M; }\n"
  local s = cut(text)
  local l = lines(s.source)
  tap.is(l[2] .. l[3] .. l[6] .. l[7], "#ifdef __CUDACC__#endif", "a condition that ends in it")
  tap.is(l[8] .. l[9] .. l[10] .. l[11], "#define M \\  3", "a macro that the kernel takes")
  s = cut("int main() {\n#if ODD(1)\n#define A\n#else\n#endif\n}\n__global__ void k(int *x) {}\n")
  tap.is(s.source, '\n\n\n\n\n\nextern "C" __global__ void k(int *x) {}\n', "not whole conditions")
end)

tap.case("kernels of one name", function()
  local text = "__global__ void k(int *x) { *x = 1; }\n__global__ void k(float *x) { *x = 2; }\n"
  local list = {}
  for i, kernel in ipairs(gi.slice.kernels(text, "file.cu")) do
    local o = { folder = tap.folder(), line = kernel.line }
    list[i] = gi.slice.cut(text, "file.cu", "k", o).source
  end
  tap.is(table.concat(list, "|"), 'extern "C" __global__ void k(int *x) { *x = 1; }\n\n|\n'
    .. 'extern "C" __global__ void k(float *x) { *x = 2; }\n', "each is cut out by its line")
end)

tap.case("names of std without their header", function()
  local s = cut("__global__ void k(float *x) { *x = std::numeric_limits<float>::max(); }\n")
  tap.is(table.concat(s.options, " "), "--pre-include=cuda/std/limits --pre-include=gilua_std.h",
    "the option that brings it")
  s = cut("#include <cmath>\n#include <algorithm>\n__global__ void k(float *x, int n)\n"
    .. "{ x[std::min(n, 3)] = std::sqrt(std::abs(x[1])) + std::max(1.0f, x[2]) + M_SQRT2; }\n")
  tap.is(#s.options, 0, "what the stand-ins of headers have needs none")
  local function brought(type)
    return table.concat(cut("#include <cublas_v2.h>\ncublasHandle_t handle;\ntypedef " .. type
      .. " T;\n__global__ void k(T *x) { x[1] = x[0]; }\n").options, " ")
  end
  tap.is(brought "__nv_bfloat16", "--pre-include=cuda_bf16.h", "what closed libraries bring")
  tap.is(brought "half2", "--pre-include=cuda_fp16.h", "of each the header that has it")
  tap.is(brought "cuDoubleComplex", "--pre-include=cuComplex.h", "complex numbers")
  s = cut("__global__ void k(float *x) { register float y = *x; *x = 2 * y; }\n")
  tap.is(table.concat(s.options, " "), "--std=c++14", "a word that C++17 has not")
  s = cut("struct S { int a, b; };\n__global__ void k(S *x)\n{ *x = { .a = 1,\n  .b = 2 }; }\n")
  tap.is(table.concat(s.options, " "), "--std=c++20", "members by name in an initialiser")
end)

tap.case("code_of: what is code stands where it stood, the rest is blank", function()
  local text = 'int a; /* x\ny */ // z\n#define N "q" /* c */ 3\n'
    .. [[char c = 'x', *s = "a\"b"; k(1'000);]]
  local code = gi.slice.code_of(text)
  tap.is(code, "int a;     \n         \n#define N             3\n"
    .. "char c =    , *s =       ; k(1'000);", "comments and quotes")
  tap.is(#code, #text, "byte for byte")
end)

tap.case("a kernel that takes too long to compile is refused", function()
  local compiler, limit = require "gilua.farm.compiler", nil
  local compile = compiler.compile
  compiler.compile = function(_, _, limit_s)
    limit = limit_s
    return nil, "no answer", "timeout", ""
  end
  local ok, why = pcall(cut, "__global__ void k(float *x) { x[0] = 1; }\n")
  compiler.compile = compile
  tap.ok(not ok and limit == 10, "within seconds", limit)
  tap.is(tostring(why), "no answer; each change of kernel k would take as long to try",
    "in a sentence")
end)

tap.done()
