-- hostcode: what a file's host code says of a kernel: values, launches, memory, structs.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local function value(code, text)
  return gi.hostcode.read(code):value(text)
end

tap.case("numbers", function()
  tap.is(value("", "42"), 42, "whole")
  tap.is(value("", "0x10u"), 16, "hexadecimal")
  tap.is(value("", "1'000'000"), 1000000, "digits parted")
  tap.is(value("", "2.5f * 2"), 5, "single precision; a whole result is whole")
  tap.is(value("", "1e-3"), 0.001, "exponents")
  tap.is(value("", "7 / 2"), 3, "whole numbers divide so")
  tap.is(value("", "7 / 2.0"), 3.5, "others do not")
  tap.is(value("", "1 << 10"), 1024, "shifts")
  tap.is(value("", "1 / 0"), nil, "nothing has no value")
  tap.is(value("", "1.0 / 0.0"), nil, "nor has what is beyond numbers")
  tap.is(value("", "atoi(argv[1])"), nil, "nor what is known at run time")
  tap.is(value("", "unknown"), nil, "nor an unknown name")
end)

tap.case("constants and macros", function()
  local code = [[
    #define N 100 // not 200
    #define ROUND(a, b) (((a) + (b) - 1) / (b))
    #define LONG \
       17
    const int width = 4 * N, height = width / 3;
    constexpr unsigned threads{256};
    int m = ROUND(N, 32); /* int m = 9; */
    static const float dt = 0.5f;
  ]]
  tap.is(value(code, "N"), 100, "a macro")
  tap.is(value(code, "ROUND(width, 64)"), 7, "with arguments")
  tap.is(value(code, "LONG"), 17, "over lines")
  tap.is(value(code, "width * height"), 400 * 133, "constants made of others, two in one")
  tap.is(value(code, "m"), 4, "and what a comment says does not count")
  tap.is(value(code, "dt"), 0.5, "float")
  tap.is(value(code, "threads"), 256, "in braces")
  tap.is(value("int a = f(1, 2), b = min(3, 4), c = 5;", "b * 10 + c"), 35, "calls in a list")
  tap.is(value("int a = b; int b = a;", "a"), nil, "a circle has no value")
end)

tap.case("branches that are not taken say nothing", function()
  local text = "#ifdef BIG\n#define N 1000\n#else\n#define N 10\n#endif\n"
    .. "#ifndef TILE\n#define TILE 16\n#endif\n#if 0\nint k = 5;\n#elif 1\n#endif\nint k = 7;\n"
    .. "#ifdef A\n#ifdef TILE\nint m = 1;\n#endif\n#else\nint m = 2;\n#endif\n"
    .. "__global__ void f(int n) {}\nvoid g() { f<<<1, 2>>>(N); }\n"
  local small = gi.hostcode.read(text)
  tap.is(small:value "N * TILE", 160, "#else, #ifndef")
  tap.is(small:value "k", 7, "#if 0")
  tap.is(small:value "m", 2, "one inside another")
  local big = gi.hostcode.read(text, {}, { "BIG", "TILE=8" })
  tap.is(big:value "N", 1000, "a macro of the command line")
  tap.is(small:launch("f").line, 22, "lines are those of the file")
end)

tap.case("conditions are the compiler's to judge", function()
  local function n(text, headers, defines)
    local host, why = gi.hostcode.read(text, headers, defines)
    return host:value "n", why
  end
  tap.is(n "#if defined(A) && A > 2\nint n = 1;\n#else\nint n = 2;\n#endif\n", 2, "not defined")
  local chain = "#define A 3\n#if A == 1\nint n = 1;\n#elif (A & 2) && \\\n  !defined B\n"
    .. "int n = 2;\n#else\nint n = 3;\n#endif\n"
  tap.is(n(chain), 2, "the second of three, over two lines")
  tap.is(n(chain, {}, { "B" }), 3, "the third, with a macro of the command line")
  tap.is(n("#if W * 2 > 10\nint n = 1;\n#else\nint n = 2;\n#endif\n", {}, { "W=6" }), 1,
    "and with its value")
  tap.is(n "#if 0\n#define N 4\n#if 1\n#define N 5\n#endif\n#endif\n#define N 6\nint n = N;\n", 6,
    "what is within a branch that is not taken is not taken")
  tap.is(n "#ifdef __CUDA_ARCH__\nint n = 1;\n#else\nint n = 2;\n#endif\n", 2, "host code it is")
  tap.is(n "#if CUDART_VERSION >= 9000\nint n = 1;\n#else\nint n = 2;\n#endif\n", 1, "a version")
  local header = { { name = "sub/h.h", text = "#ifndef H\n#define H\n#ifdef BIG\n#define N 9\n"
    .. "#else\n#define N 8\n#endif\n#define HAVE 1\n#endif\n" } }
  tap.is(n('#define BIG\n#include "sub/h.h"\n#include "sub/h.h"\n#if HAVE\nint n = N;\n#endif\n',
    header), 9, "a header is read where it is included")
  tap.is(n('#include "sub/h.h"\n#define BIG\nint n = N;\n', header), 8, "not before")
  tap.is(n('#if 0\n#include "sub/h.h"\n#else\n#include "sub/h.h"\n#endif\nint n = N;\n', header), 8,
    "in every branch")
  local itself = { { name = "i.h",
    text = '#ifndef I\n#define I\n#include "i.h"\nint n = 4;\n#endif\n' } }
  tap.is(n('#include "i.h"\n', itself), 4, "one that includes itself")
  local first, why = n "#if ODD(1)\nint n = 1;\n#else\nint n = 2;\n#endif\n"
  tap.is(first, 1, "a condition that nobody can evaluate: all branches, the first is read first")
  tap.is(why, "the file(1): function call is not allowed in a constant expression", "said where")
end)

tap.case("casts, sizes, ternaries, functions", function()
  tap.is(value("", "(int)3 + (unsigned int)4 + static_cast<size_t>(5)"), 12, "casts")
  tap.is(value("", "sizeof(float4) + sizeof(double)"), 24, "sizes of types")
  tap.is(value("float *x; double * y;", "10 * sizeof *x + sizeof(*y)"), nil,
    "sizeof(*y) is not read")
  tap.is(value("double *x;", "10 * sizeof *x"), 80, "of what a pointer points to")
  tap.is(value("struct P { float x, y; int n[3]; };", "sizeof(P)"), 20, "of a struct")
  tap.is(value("typedef float real;", "4 * sizeof(real)"), 16, "of a typedef")
  tap.is(value("int n = argc > 1 ? atoi(argv[1]) : 512;", "n"), 512,
    "what stands where none is given")
  tap.is(value("", "std::max(3, 4) + min(1, 2)"), 5, "max and min")
end)

tap.case("structs and their values", function()
  local host = gi.hostcode.read [[
    struct Params { int n; float dt, eps; int shape[3]; };
    struct Deep { std::vector<int> v; };
    Params p = { 64, 0.25f };
    int main() { Params q; q.eps = 0.5f; }
  ]]
  local f = host:fields "Params"
  tap.is(#f .. f[1].name .. f[2].type .. f[3].name .. f[4].count, "4nfloateps3", "fields")
  tap.is(host:fields "Deep", nil, "not plain data")
  tap.is(host:fields "Nothing", nil, "no such struct")
  tap.is(host:value "n", 64, "the first of { }")
  tap.is(host:value "p.dt", 0.25, "by member")
  tap.is(host:value "q.eps", 0.5, "assigned")
end)

tap.case("launches", function()
  local host = gi.hostcode.read [[
    const int n = 1000;
    int main() {
      dim3 block(16, 8), grid((n + 15) / 16, 4);
      // first<<<9, 9>>>(wrong);
      first<<<grid, block, 128 * sizeof(float)>>>(n, x, f(a, b));
      second<float, 32><<<dim3(2, 3), 64>>>();
      third<<<(n + 255) / 256, 256, 0, stream>>>(x);
    }]]
  local l = host:launch "first"
  tap.is(l.line, 5, "its line")
  tap.is(table.concat(l.args, "|"), "n|x|f(a, b)", "arguments")
  tap.is(table.concat(host:dimensions(l.grid), "x"), "63x4x1", "grid")
  tap.is(table.concat(host:dimensions(l.block), "x"), "16x8x1", "block")
  tap.is(host:value(l.shared), 512, "shared memory")
  l = host:launch "second"
  tap.is(table.concat(l.template, "|"), "float|32", "a template's arguments")
  tap.is(table.concat(host:dimensions(l.grid), "x"), "2x3x1", "dim3 in place")
  l = host:launch "third"
  tap.is(host:dimensions(l.grid)[1], 4, "a number")
  tap.is(host:launch "fourth", nil, "not launched")
  tap.is(host:launch "hird", nil, "nor is the end of a name a name")
end)

tap.case("lists are parted at commas outside parentheses", function()
  tap.is(table.concat(gi.hostcode.split("a, f(b, c), {d, e} , g[h,i]"), "|"),
    "a|f(b, c)|{d, e}|g[h,i]", "parts")
  tap.is(#gi.hostcode.split(""), 0, "nothing")
  tap.is(#gi.hostcode.split("  "), 0, "blank")
end)

tap.case("memory", function()
  local host = gi.hostcode.read [[
    const int n = 10; size_t bytes = n * sizeof(float); size_t pitch;
    cudaMalloc(&a, bytes);
    cudaMalloc((void **)&b, 2 * n * sizeof(int));
    CHECK(cudaMallocManaged(&c, sizeof(double) * n));
    cudaMallocPitch(&d, &pitch, 20 * sizeof(float), 5);
    cudaMalloc(&e, size_at_run_time());
    cudaMalloc(&list[0], 12);
  ]]
  local function bytes(name)
    local found = host:allocation(name)
    return found and found.bytes
  end
  tap.is(bytes "a", 40, "a variable")
  tap.is(host:allocation("a").line, 2, "its line")
  tap.is(bytes "b", 80, "with a cast")
  tap.is(bytes "c", 80, "managed, in a macro")
  tap.is(bytes "d", 400, "rows: without padding")
  tap.is(host:value "pitch", 80, "and the pitch is that of a row")
  tap.is(bytes "e", nil, "known at run time")
  tap.is(bytes "list[1]", 12, "an element of a list")
  tap.is(host:allocation "f", nil, "not asked for")
end)

tap.case("__constant__ variables", function()
  local list = gi.hostcode.read("#define R 2\n__constant__ float k[2 * R + 1];\n"
    .. "__constant__ int n;\n__constant__ double m[3][4];"):constants()
  local texts = {}
  for i, c in ipairs(list) do texts[i] = c.name .. " " .. c.type .. " " .. c.count end
  tap.is(table.concat(texts, ", "), "k float 5, n int 1, m double 12", "type and count")
end)

tap.case("headers and CR LF", function()
  local host = gi.hostcode.read("int a = W;\r\nint b = a + 1;\r\n",
    { { name = "w.h", text = "#define W 6\r\n" } })
  tap.is(host:value "b", 7, "a header's macro")
end)

tap.done()
