-- hostcode: what a file's host code says of a kernel: values, launches, memory, structs.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local memory = require "gilua.host.roots"

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
  tap.is(value("int \195\169 = 3;", "2 * \195\169"), 6, "a name in other letters")
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

tap.case("every way to declare a number", function()
  for _, form in ipairs { "int z(5);", "int z{5};", "int z = {5};", "const int z(5);",
                          "static const unsigned z(5u);", "constexpr auto z(5);", "auto z{5};",
                          "static constexpr std::size_t z = {5};", "int w(3), z(5);",
                          "int w(3), z{5};", "int w{3}, z(5), v{7};", "long long z(2 + 3);",
                          "int n = 4; int z(n + 1);", "float z(5.0f);", "enum { z = 5 };",
                          "enum Sizes { a = 4, z };", "enum { a, b, c, d, e, z };",
                          "enum class E : int { a, z = 5 };", "enum { a = 2, b, z = a + b, c };",
                          "enum E : unsigned char { y = 1 << 2, z };",
                          "typedef int I; I z(5);", "using I = unsigned; I z{5};",
                          "int z{static_cast<int>(5)};",
                          "[[maybe_unused]] const int z = 5;", "int z [[maybe_unused]](5);",
                          "alignas(8) unsigned long long z = {5};", "enum { y [[likely]] = 4, z };",
                          "typedef enum { z = 5 } E;", "void f() { enum { y = 4, z }; }",
                          "namespace n { inline constexpr auto z{5}; }",
                          "struct S { float *x = nullptr; int z{5}; };", "int *p, z(5);",
                          "struct S { int n, z; }; S s{1, 5};", "S s{.n = 1, .z = 5};",
                          "int f() { static constexpr std::size_t z(sizeof(int) + 1); }",
                          "void f(int *z) { ODD(z) *z = 5; }",
                          "void f() { each(n, [&] { z = 5; }); }",
                          "#define TELL(a) if (a) { int z = 5; }\n" } do
    tap.is(value(form, "z"), 5, form)
  end
  tap.is(value("enum class E { a, z = 5 };", "E::z"), 5, "by its scope")
  tap.is(value("int z(unsigned n); int z(5);", "z"), 5, "behind a function of that name")
  for _, form in ipairs { "int z(int n);", "int z(unsigned, float);", "int z(const float *x);",
                          "int z();", "dim3 z(5);", "std::vector<int> z(5);", "run(z, 5);",
                          "enum E z;", "int z(a, b);", "int z[2] = {5};", "int z[] = {5};",
                          "std::vector<int> z{5};", "void g() { if (int z = 5) f(); }",
                          "auto z = [] { 5; };" } do
    tap.is(value(form, "z"), nil, form .. " gives it no number")
  end
end)

tap.case("functions that only compute have values", function()
  local code = [[
    template <class T> T divUp(T a, const T &b) {
      if (a % b) { return a / b + 1; } else return a / b;
    }
    int up(int a, int b) { const int r = a % b; if (r == 0) return a; return a + b - r; }
    int twice(int a) { return twice(a); }
    int told(int a) { printf("%d", a); return a; }
    int loop(int a) { while (a > 9) a = a / 2; return a; }
    int many(int a) { return a; }
    int many(int a, int b) { return a + b; }
    int n = up(100, 64), unknown = atoi(argv[1]);
  ]]
  tap.is(value(code, "divUp(100, 16) * 10 + divUp(96, 16)"), 76, "conditions, both branches")
  tap.is(value(code, "n"), 128, "values with names")
  tap.is(value(code, "up(128, 64)"), 128, "one that returns early")
  tap.is(value(code, "twice(1)"), nil, "none within itself")
  tap.is(value(code, "told(1)"), nil, "one that does more is not computed")
  tap.is(value(code, "loop(100)"), nil, "nor one that goes round")
  tap.is(value(code, "many(1)"), nil, "nor one of several")
  tap.is(value(code, "up(unknown, 64)"), nil, "what is not known stays unknown")
end)

tap.case("an `if` that keeps a value within limits", function()
  local function is(code, answer)
    local host = gi.hostcode.read("void f(int n) {\n" .. code .. "\n}\n")
    tap.is(host:value "m", answer, code)
  end
  is("int m = n / 9; if (m < 1) m = 1;", nil)
  is("int m = n / 9; if (m < 1) { m = 1; }", nil)
  is("int m = 5000; if (m > 1024) m = 1024;", 1024)
  is("int m = 5000; if (m >= 2 * 64) m = 2 * 64; if (m < 1) m = 1;", 128)
  is("int m = 5; if (m < 1) m = 1; if (m > 1024) m = 1024;", 5)
  is("int m = 5; if (m > n) m = n;", 5)
  is("int m; if (n > 1) m = 1;", 1)
  is("int m = 0; if (m < 1) m = 8; if (m < 2) m = 9;", 8)
  is("int m = n; while (m > 7) m = 7;", 7)
end)

tap.case("what is counted up before a launch is not 0", function()
  local host = gi.hostcode.read([[
    void f() {
      int n = 0, m = 0, k = 0, later = 0, c = 3;
      for (int i = 0; i < 9; i++) if (x[i] > 0) n++;
      for (k = 0; k < 9; k++) ask(&m), ++c;
      g<<<1, 32>>>(x, later);
      later += 32;
    }
  ]])
  tap.is(host:value "n", nil, "counted")
  tap.is(host:value "m", nil, "set where it lies")
  tap.is(host:value "k", 0, "what a loop counts with")
  tap.is(host:value "c", 3, "what began with more")
  tap.is(host:value "later", 0, "what is counted after the launch")
  host = gi.hostcode.read "void f() { int i = 0, m = 0; for (i = 3; i < 9; i++) g(); m = 4; }"
  tap.is(host:value "10 * m + i", 40, "what another loop counts from is no value")
  host = gi.hostcode.read "\n#define BOTH 7, 64\nvoid f() { k<<<BOTH>>>(x); l<<<7>>>(x); }"
  local k, l = host:every_launch "k"[1], host:every_launch "l"[1]
  tap.is(("%s %s"):format(k.grid, k.block), "7 64", "a macro gives both")
  tap.is(l and l.grid, nil, "a launch with no block is not understood")
  host = gi.hostcode.read "void f() { dim3 g(2); g.x = 5; k<<<g, 1>>>(x); }"
  tap.is(host:value "x", nil, "a side of a dim3 is no variable")
  host = gi.hostcode.read([[
    void f() {
      double norm = 0.0, zero = 0;
      g<<<1, 32>>>(x, sum);
      cudaMemcpy(&norm, sum, sizeof(double), cudaMemcpyDeviceToHost);
      cudaMemcpy(sum, &zero, sizeof(double), cudaMemcpyHostToDevice);
      h<<<1, 32>>>(x, norm, zero);
    }
  ]])
  tap.is(host:value "norm", nil, "what comes from the GPU after a launch")
  tap.is(host:value "zero", 0, "not what goes there")
end)

tap.case("a typedef of a struct with a body", function()
  local host = gi.hostcode.read "typedef struct { int width, height; } Size;\ntypedef float real;\n"
  tap.is(host.types.height, nil, "names no member")
  tap.is(host.types.width, nil, "neither")
  tap.is(host.types.real, "float", "another one names what it says")
  tap.is(host:size_of "Size", 8, "and the struct is known")
end)

tap.case("a launch in a loop is that of one of its rounds", function()
  local host = gi.hostcode.read([[
    void run(int *a) {
      int w = 64;
      dim3 grid, block(16, 2);
      for (int i = 7; i < 9; i++) { a[i] = 1; }
      for (int i = 1; i <= w; i++) {
        grid.x = i;
        grid.y = 3;
        wide<<<grid, block>>>(a, i, i + 1);
      }
      block.y = 1;
      for (int t = 5; t < 10; ++t)
        for (int s = w; s > 0; s /= 2) flat<<<4, block>>>(a, s, t);
      for (int i = 0; i < w; i++) a[i] = 2;
      alone<<<4, block>>>(a, i);
      float *d[2];
      cudaMalloc(&d[0], 4 * w);
      for (int s = 0; s < 4; ++s) pair<<<4, block>>>(d[s & 1]);
    }
  ]])
  local wide, flat, alone = host:launch "wide", host:launch "flat", host:launch "alone"
  tap.is(table.concat(host:dimensions(wide.grid), " "), "64 3 1", "the last, where the grid grows")
  tap.is(table.concat(host:dimensions(wide.block), " "), "16 2 1", "sides as they are there")
  tap.is(host:value(wide.args[3]), 65, "with its arguments")
  tap.is(wide.told[2], "i, in the last round of the loop that launches", "which is told")
  tap.is(host:value(flat.args[2]) * 10 + host:value(flat.args[3]), 645, "else the first, of both")
  tap.is(table.concat(host:dimensions(flat.block), " "), "16 1 1", "sides that were set since")
  tap.is(host:allocation(host:launch("pair").args[1]).bytes, 256, "memory of a list")
  tap.is(alone.args[2] .. alone.told[2], "ii", "a loop that is over says nothing")
  host = gi.hostcode.read "void f(int n) { for (int i = ; i < n; i++) k<<<i, 8>>>(i); }"
  tap.is(host:launch("k").grid, "i", "nor does one that begins with nothing")
end)

tap.case("of names that several functions have, each launch's own count", function()
  local host = gi.hostcode.read([[
    void other(int y) { int s = y > 3 ? 384 : 96, n = 5; float *d = n * 2; use(s); }
    void run() {
      const int w = 100, n = w * 2;
      int a, b;
      a = b = w;
      size_t s = sizeof(float) * n;
      float *d;
      cudaMalloc((void **)&d, s);
      f<<<n / 8, 8>>>(d, n + 1, a);
      s = 2 * w;
    }
  ]])
  local launch = host:launch "f"
  tap.is(host:allocation("d").bytes, 800, "memory")
  tap.is(host:dimensions(launch.grid)[1], 25, "a grid")
  tap.is(host:value(launch.args[2]), 201, "an argument")
  tap.is(launch.told[2], "n + 1", "which is told as it stands there")
  tap.is(host:value(launch.args[3]), 100, "a value that two get at once")
end)

tap.case("a function's template is known in what it computes", function()
  local host = gi.hostcode.read([[
    template <int W> void run(float *x, int n) { int per = 4 * W; dim3 g(n / per); f<<<g, W>>>(x); }
    void all(float *x) { run<128>(x, 4096); }
  ]])
  tap.is(host:dimensions(host:launch("f").grid)[1], 8, "by its first call")
end)

tap.case("a template whose parameters have defaults", function()
  local host = gi.hostcode.read([[
    template <class T, typename Idx = int, int W = 64> void run(T *x, Idx n) {
      f<T, Idx><<<n / W, 2 * W>>>(x, n);
    }
    int main() { float *x; run(x, 4096); }
  ]])
  local notes = {}
  local parameters = { { name = "T", is_type = true }, { name = "Idx", is_type = true } }
  local list = gi.launchguess.template({ template = parameters }, host:launch "f", {}, host, notes)
  tap.is(table.concat(list, "|") .. #notes, "float|int0", "what nobody gives is that")
end)

tap.case("a default that ends nowhere near is none", function()
  local host = gi.hostcode.read([[
    template <class T, bool F = A && B> void run(T *x) { k<T, F><<<1, 2>>>(x); }
    int main() { int *x; run(x); }
  ]])
  tap.is(table.concat(host:launch("k").template, "|"), "T|F", "the launch is read")
  tap.is(host:launch("k").body.defaults.F, nil, "without it")
end)

tap.case("numbers of a template that nothing says", function()
  local notes, parameters = {}, {}
  for i, name in ipairs { "kBlockDimX", "kBlockDimY", "threads" } do
    parameters[i] = { name = name, declared = "int " .. name }
  end
  local host = gi.hostcode.read ""
  local list = gi.launchguess.template({ template = parameters }, nil, {}, host, notes)
  tap.is(table.concat(list, " "), "16 16 256", "two sides make a block that there may be")
end)

tap.case("parameters of a function that launches are what it is called with", function()
  local host = gi.hostcode.read([[
    template <class T> void deep(T *to, int k, dim3 how) { f<<<k / 4, how>>>(to, k); }
    void run(float *x, int many, int other);
    void run(float *x, int many, int other)
    {
        deep(x, many, other > 3 ? 1 : 2);
    }
    void aside(int n) { g(n); }
    int main() {
      float *d; int n = 4096;
      cudaMalloc(&d, n * sizeof(float));
      dim3 block(8, 8);
      run(d, n, 5);
      run(d, 2 * n, 5);
      aside(77);
    }
    void more(int *d, dim3 block) { f<<<k, block>>>(d, 3); }
  ]])
  local launch = host:launch "f"
  tap.is(host:value(launch.grid), 1024, "through two functions; the first call counts")
  tap.is(host:value(launch.args[2]), 4096, "numbers")
  tap.is(host:allocation(launch.args[1]).bytes, 16384, "memory")
  tap.is(host:value "n", 4096, "a variable's own value stays")
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

tap.case("directives that comments and strings go through", function()
  local function n(text)
    return gi.hostcode.read(text):value "n"
  end
  tap.is(n("#define A\n#if defined(A) /* and\n not */ && !defined(B)\nint n = 1;\n#else\n"
    .. "int n = 2;\n#endif\n"), 1, "a comment over two lines")
  tap.is(n '#if __has_include("no such file")\nint n = 1;\n#else\nint n = 2;\n#endif\n', 2,
    "a string in a condition")
  tap.is(n 'const char *s = R"(\n#if 0 "\n)";\nint n = 3;\n#if 1\n#endif\n', 3,
    "a raw string's line that looks like one")
  tap.is(n "#if 0\nit isn't code\n#endif\nint n = 4;\n", 4, "what is skipped may be anything")
  tap.is(n "#\\\ndefine N \\\n 5 /* \n */ + 1\nint n = N;\n", 6, "lines that go on")
end)

tap.case("casts, sizes, ternaries, functions", function()
  tap.is(value("", "(int)3 + (unsigned int)4 + static_cast<size_t>(5)"), 12, "casts")
  tap.is(value("", "sizeof(float4) + sizeof(double)"), 24, "sizes of types")
  tap.is(value("", "sizeof(double4) + sizeof(longlong3) + sizeof(short2)"), 60, "of vectors")
  tap.is(value("float *x; double * y;", "10 * sizeof *x + sizeof(*y)"), 48,
    "of what pointers point to")
  tap.is(value("double *x;", "10 * sizeof *x"), 80, "of one")
  tap.is(value("struct P { float x, y; int n[3]; };", "sizeof(P)"), 20, "of a struct")
  tap.is(value("typedef float real;", "4 * sizeof(real)"), 16, "of a typedef")
  tap.is(value("int n = argc > 1 ? atoi(argv[1]) : 512;", "n"), 512,
    "what stands where none is given")
  tap.is(value("", "std::max(3, 4) + min(1, 2)"), 5, "max and min")
end)

tap.case("what C says otherwise than Lua", function()
  tap.is(value("", "(int)ceil((float)1000 / 256)"), 4, "a cast to float divides so")
  tap.is(value("", "float(3) / 2 + int(1.7) - (long)(2.5)"), 0.5,
    "casts like calls; whole numbers are cut")
  tap.is(value("", "1e3 / 16"), 62.5, "an exponent is of floating point")
  tap.is(value("", "6 ^ 3"), 5, "^ is no power")
  tap.is(value("", "0b101 + 0x1Fu + 1'0ul"), 46, "numbers in all bases")
  tap.is(value("int end = 3, repeat = 4;", "end * repeat"), 12, "Lua's words are names in C")
  tap.is(value("int n = 3;", "n--"), nil, "nothing is changed, and no comment begins")
  tap.is(value("int n = 8;", "(n + 1) / (2)"), 4, "parentheses at both ends")
  tap.is(value("int n = 8;", "std::max(n, size_t(9)) + (n < 3 ? n[1] : 1)"), 10, "namespaces")
  tap.is(value("", "os.exit(7)"), nil, "no word of Lua is run")
  tap.is(value("", "sizeof(unsigned long int) + sizeof(short int) + sizeof(unsigned)"), 14, "types")
  tap.is(value("typedef A B; typedef B A; struct S { S s; };", "sizeof(A) + sizeof(S)"), nil,
    "types made of themselves")
end)

tap.case("choices", function()
  local code = "#define MIN(a, b) ((a) <= (b) ? (a) : (b))\nint n = 7, m = MIN(n, 9);\n"
    .. "int k = MIN(9, n);\nint u = MIN(unknown, 9), w = 2;\n"
  tap.is(value(code, "10 * m + k"), 77, "in macros")
  tap.is(value(code, "u"), nil, "of a macro the one that is known is not taken for the other")
  tap.is(value(code, "n == 7 ? 1 : 2"), 1, "known ones")
  tap.is(value(code, "n > 8 ? 1 : n > 6 ? 2 : 3"), 2, "one after the other")
  tap.is(value(code, "max(n != 7 ? 1 : 2, (w ? 3 : 4)) + (n < 7 ? 5 : 6)"), 9, "in parentheses")
  tap.is(value(code, "argc > 1 && argv[1] != 0 ? atoi(argv[1]) : 512"), 512, "unknown ones")
end)

tap.case("values are bounded, whatever they are made of", function()
  local lines = { "#define M0(x) x" }
  for i = 1, 40 do lines[i + 1] = ("#define M%d(x) (M%d(x) + M%d(x))"):format(i, i - 1, i - 1) end
  for i = 1, 40 do lines[#lines + 1] = ("int n%d = n%d + n%d;"):format(i, i - 1, i - 1) end
  local host = gi.hostcode.read(table.concat(lines, "\n") .. "\nint n0 = 1;\n")
  tap.is(host:value "M3(1)", 8, "macros of macros")
  tap.is(host:value "M40(1)", nil, "not for ever")
  tap.is(host:value "n40", 1 << 40, "variables are worked out once")
end)

tap.case("grids and blocks in a struct", function()
  local function sides(text)
    local host = gi.hostcode.read("struct How { dim3 grid, block; };\nvoid f() { How a, b; " .. text
      .. " }")
    local l = host:launch "k"
    return table.concat(host:dimensions(l.grid) or { "unknown" }, "x") .. " "
      .. table.concat(host:dimensions(l.block) or { "unknown" }, "x")
  end
  local A = "a.grid = dim3(7, 5); a.block = dim3(16, 8); "
  tap.is(sides(A .. "k<<<a.grid, a.block>>>(p);"), "7x5x1 16x8x1", "as they are set")
  tap.is(sides(A .. "b.grid = dim3(3); b.block = dim3(9); k<<<a . grid, a.block>>>(p);"),
    "7x5x1 16x8x1", "of two objects the launch's own")
  tap.is(sides "b.grid = dim3(3); b.block = dim3(9); k<<<a.grid, a.block>>>(p);", "unknown unknown",
    "another object's say nothing")
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

tap.case("what a member begins with counts where nothing else says it", function()
  local code = "struct S { int n = 3, m{4}; }; S s"
  tap.is(value(code .. ";", "s.n * 10 + s.m"), 34, "as it is")
  tap.is(value(code .. " = {5, 6};", "s.n * 10 + s.m"), 56, "a list")
  tap.is(value(code .. "; void f() { s.n = 7; }", "s.n * 10 + s.m"), 74, "what is given later")
end)

tap.case("arguments of a launch under conditions", function()
  local h = gi.hostcode.read("int n = 7;\nvoid f() {\n  k<<<n, 32>>>(x,\n#ifdef WIDE\n    2.0, 5,\n"
    .. "#else\n    3.0f,\n#endif\n    n);\n}\n", {}, {})
  tap.is(table.concat(h:launch("k").args, " | "), "x | 3.0f | n", "those that are compiled")
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

-- Grid, block and shared bytes of the launches of some kernels.
local function shapes(text, ...)
  local host, list = gi.hostcode.read(text), {}
  for i, kernel in ipairs { ... } do
    local l = host:launch(kernel)
    local grid, block = host:dimensions(l.grid), host:dimensions(l.block)
    list[i] = ("%s %s %s"):format(grid and table.concat(grid, "x"),
      block and table.concat(block, "x"), l.shared and host:value(l.shared))
  end
  return table.concat(list, ", ")
end

tap.case("functions that launch with variables of the same names", function()
  tap.is(shapes([[
    const int n = 1000;
    void a(float *x) {
      const int threads = 256; const int blocks = (n + threads - 1) / threads;
      one<<<blocks, threads>>>(x, n);
    }
    void b(float *x) {
      const int threads = 128; const int blocks = (n + threads - 1) / threads;
      two<<<blocks, threads, threads * 4>>>(x, n);
    }]], "one", "two"), "4x1x1 256x1x1 nil, 8x1x1 128x1x1 512", "numbers")
  tap.is(shapes([[
    void a(float *x) { const int n(640), t{64}; one<<<n / t, t>>>(x); }
    void b(float *x) { const int n{4096}; auto t = 512; two<<<n / t, t>>>(x); }]], "one", "two"),
    "10x1x1 64x1x1 nil, 8x1x1 512x1x1 nil", "numbers in brackets")
  tap.is(shapes([[
    void a(float *x) { dim3 t(8); t.y = 4; one<<<2, t>>>(x); }
    void b(float *x) { dim3 t(3, 3); two<<<2, t>>>(x); }]], "one"),
    "2x1x1 8x4x1 nil", "one side set")
  tap.is(shapes("void a(int many) {\n#define GO one<<<many, 32>>>(x)\n  GO;\n}\nvoid b() { a(7); }",
    "one"), "7x1x1 32x1x1 nil", "in a macro of the function")
  tap.is(shapes([[
    const int n = 1000;
    void a(float *x) {
      dim3 threads(64, 2); dim3 blocks((n + threads.x - 1) / threads.x, n / threads.y);
      one<<<blocks, threads, threads.x * 4>>>(x);
    }
    void b(float *x) {
      dim3 threads(32, 8), blocks(n / threads.x, n / threads.y);
      two<<<blocks, threads>>>(x);
    }
    void c(float *x) {
      dim3 threads(10); int blocks = n / threads.x;
      three<<<blocks, threads>>>(x);
    }
    void d(float *x) {
      int threads = 100;
      four<<<n / threads, threads>>>(x);
    }]], "one", "two", "three", "four"), "16x500x1 64x2x1 256, 31x125x1 32x8x1 nil, "
    .. "100x1x1 10x1x1 nil, 10x1x1 100x1x1 nil", "sides, and names of which one is no dim3")
  tap.is(shapes([[
    const int n = 1000;
    void a(float *x) { int blocks = 7; one<<<blocks, 32>>>(x); }
    void b(float *x) {
      int blocks = 0;
      blocks = n / 10;
      if (blocks > 1 << 16) blocks = 1 << 16;
      two<<<blocks, 32>>>(x);
    }
    void c(float *x, int blocks) { three<<<blocks, 32>>>(x); }
    void d(float *x) { int blocks = 50; if (x) blocks = 20; four<<<blocks, 32>>>(x); }]],
    "one", "four"), "7x1x1 32x1x1 nil, 50x1x1 32x1x1 nil", "what is declared counts")
end)

tap.case("launches in other words", function()
  local host = gi.hostcode.read [==[
    const char *help = R"(k<<<9, 9>>>(") " )"; // "
    dim3 grid; grid = dim3((n + 15) / (16), 2);
    const int n = 100;
    k<std::pair<int, float>, A<B<3>>>
      <<<grid, /* , 5 */ dim3(8,
        4), A<B<C<2>>>::size, s>>>(
      a /* ) */, ")", f<int, 3>(b, ','), [&](int x) { g(x, 1); return x; });
    #define RUN(z) \
      m<<<n / 10, 32>>>(z, n)
    ]==]
  local l = host:launch "k"
  tap.is(table.concat(l.template, "|"), "std::pair<int, float>|A<B<3>>",
    "commas and >> of templates")
  tap.is(l.line, 5, "the line of its <<<")
  tap.is(table.concat(host:dimensions(l.grid), "x"), "7x2x1", "a dim3 that is set later")
  tap.is(table.concat(host:dimensions(l.block), "x"), "8x4x1", "a comment with a comma, two lines")
  tap.is(l.shared, "A<B<C<2>>>::size", ">>> that ends templates")
  tap.is(table.concat(l.args, "|"),
    "a|\")\"|f<int, 3>(b, ',')|[&](int x) { g(x, 1); return x; }", "strings, templates, lambdas")
  tap.is(host:dimensions(host:launch("m").grid)[1], 10, "a launch in a macro")
  tap.is(host:launch("m").line, 9, "and its line")
  host = gi.hostcode.read("int a;\n",
    { { name = "h.h", text = "\n\nvoid f() { k<<<1, 2>>>(); }\n" } })
  tap.is(host:launch("k").place, "line 3 of h.h", "one in a header")
end)

tap.case("launches beside what is not understood", function()
  local host = gi.hostcode.read [[
    class C { int n = 64; void run() { CHECK(start()) in_method<<<n, 32>>>(x); } };
    void f() {
      EACH(i, 4) { in_block<<<7, 32>>>(x); }
      auto go = [=] __device__ (int m) { return m; };
      each(3, [&](int m) { in_lambda<<<m, 8>>>(x); });
      for (auto &s : streams) in_range<<<5, 32, 0, s>>>(x);
      void *list[] = { &x, (void *)&n };
      if (cudaLaunchKernel((const void *)&by_call<int, 3>, dim3(2), 64, list, 0, 0)) throw 1;
    }]]
  for kernel, grid in pairs { in_method = 64, in_block = 7, in_range = 5, by_call = 2 } do
    local l = host:launch(kernel)
    tap.is(l and host:dimensions(l.grid)[1], grid, kernel)
  end
  tap.is(host:launch("in_lambda").grid, "m", "in a lambda")
  local l = host:launch "by_call"
  tap.is(table.concat(l.args, "|") .. " " .. table.concat(l.template, "|"), "x|n int|3",
    "arguments of a list")
end)

tap.case("declarations in other words", function()
  local host = gi.hostcode.read [[
    struct __align__(16) P { unsigned int n, m[2][3]; /* ; } */ const double x; };
    typedef struct { long long int a; } Q;
    struct R { int n = 3; };
    __constant__ float a[3], b[2][2];
    __constant__ unsigned long c /* ; */;
  ]]
  local texts = {}
  for i, f in ipairs(host:fields "P") do texts[i] = f.type .. " " .. f.name .. " " .. f.count end
  tap.is(table.concat(texts, ", "), "unsigned int n 1, unsigned int m 6, double x 1",
    "fields")
  tap.is(host:value "sizeof(P) + sizeof(Q) + sizeof(R)", 48 + 8 + 4, "their bytes")
  for name, members in pairs { U = "int n[unknown];", V = "int &n;", W = "int n : 3;",
                               X = "int n; int f() const { return n; }", Y = "X x; ~Y();" } do
    local one = gi.hostcode.read(("struct %s { %s };"):format(name, members))
    tap.is(one:fields(name), nil, "not plain, or not known: " .. members)
  end
  local packed = gi.hostcode.read "struct __attribute__((packed)) P { char c; int n; };"
  tap.is(packed:fields "P", nil, "nor what an attribute lays out")
  local more = gi.hostcode.read "struct A { char c; }; struct B : A { int n; }; union C { int n; };"
  tap.is(more:fields "B" or more:fields "C", nil, "nor what has others before or beside it")
  texts = {}
  for i, c in ipairs(host:constants()) do texts[i] = c.type .. " " .. c.name .. " " .. c.count end
  tap.is(table.concat(texts, ", "), "float a 3, float b 4, unsigned long c 1", "several in one")
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
    cudaMallocPitch((void **)&image.data, &image.row, 7 * sizeof(float), 5);
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
  tap.is(host:value "row", 28, "a struct's, by its last name")
  tap.is(host:value "image", nil, "the struct is no number")
  tap.is(bytes "e", nil, "known at run time")
  tap.is(bytes "list[1]", 12, "an element of a list")
  tap.is(host:allocation "f", nil, "not asked for")
end)

tap.case("memory that two arguments may be", function()
  local function shared(code)
    local host = gi.hostcode.read("void f(float *a, float *b) {\n" .. code .. "\n}")
    local launch = host:launch "k"
    local roots = {}
    for i, text in ipairs(launch.args) do roots[i] = memory.of(host, text, launch.body) end
    return memory.common(host, roots[1], roots[2])
  end
  for code, want in pairs {
    ["k<<<1, 2>>>(a, b);"] = "apart", ["float *c(a + 1); k<<<1, 2>>>(a, c);"] = "a",
    ["auto c{&a[3]}; k<<<1, 2>>>(a, c);"] = "a", ["float *&c = b; c = a; k<<<1, 2>>>(a, c);"] = "a",
    ["float *two[] = {a, b}; k<<<1, 2>>>(a, two[0]);"] = "a",
    ["float *two[2]{a, b}; k<<<1, 2>>>(a, two[1]);"] = "apart",
    ["std::vector<float *> two = {b, a}; k<<<1, 2>>>(a, two[i]);"] = "a",
    ["float *c; if ((c = a)) k<<<1, 2>>>(a, c);"] = "a",
    ["float *c = b; ODD(3) c = a; k<<<1, 2>>>(a, c);"] = "a",
    ["for (float *c = a; c; c = 0) k<<<1, 2>>>(a, c);"] = "a" } do
    tap.is(shared(code) or "apart", want, code)
  end
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
