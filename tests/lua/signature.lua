-- signature: parameters as the compiler sees them, whatever stands for their types.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

-- "name: type x width of bytes, pointer, const" for each parameter.
local function described(before, parameters)
  local source = before .. '\nextern "C" __global__ void k(' .. parameters .. ") {}\n"
  local list = {}
  for i, p in ipairs(gi.signature.of(source, "k", {})) do
    list[i] = ("%s %s%s%s%s"):format(p.name or "-", p.const and "const " or "",
      p.struct and "struct" .. p.bytes or p.type, p.width and p.width > 1 and "x" .. p.width or "",
      p.pointer and "*" or "")
  end
  return table.concat(list, ", ")
end

tap.case("plain types", function()
  tap.is(described("", "int n, const float *x, double *restrict_, unsigned char b"),
    "n i32, x const f32*, restrict_ f64*, b u8", "the usual ones")
  tap.is(described("", "bool b, char c, signed char s, short h, unsigned short u"),
    "b u8, c i8, s i8, h i16, u u16", "small ones")
  tap.is(described("", "long a, unsigned long b, long long c, unsigned long long d, unsigned e"),
    "a i64, b u64, c i64, d u64, e u32", "long ones")
  tap.is(described("", "size_t n, const size_t *p"), "n u64, p const u64*", "size_t")
  tap.is(described("", ""), "", "none")
end)

tap.case("const, __restrict__ and volatile", function()
  tap.is(described("", "const float *__restrict__ x, float *__restrict__ y, float const *z"),
    "x const f32*, y f32*, z const f32*", "restrict, and const behind")
  tap.is(described("", "volatile int *v, float *const c, const int n"), "v i32*, c f32*, n i32",
    "volatile; const of the pointer itself says nothing of what it points to")
end)

tap.case("vectors", function()
  tap.is(described("", "float4 *p, const int2 *q, uchar3 c, double2 d, ushort4 *u, longlong2 l"),
    "p f32x4*, q const i32x2*, c u8x3, d f64x2, u u16x4*, l i64x2", "an element type and a width")
  tap.is(described("", "double4 *p, const longlong4 *q, ulong2 u"),
    "p f64x4*, q const i64x4*, u u64x2", "four of 64 bits, too, and long")
end)

tap.case("names for types", function()
  tap.is(described("typedef float real; using T = const real;", "real *x, T *y"),
    "x f32*, y const f32*", "typedef and using")
  tap.is(described("#define REAL double\n#define IN const REAL *", "IN x, REAL y"),
    "x const f64*, y f64", "macros")
  tap.is(described("namespace n { typedef short s; }", "n::s *x"), "x i16*", "a namespace")
  tap.is(described("enum E { A };", "E *e"), "e i32*", "an enumeration is whole numbers")
end)

tap.case("numbers of 16 bits, by whatever name", function()
  local function halves(before, parameters)
    local list = {}
    for i, p in ipairs(gi.signature.of(before .. '\nextern "C" __global__ void k(' .. parameters
        .. ") {}\n", "k", {})) do
      list[i] = (p.half or "none") .. p.bytes
    end
    return table.concat(list, " ")
  end
  tap.is(halves("#include <cuda_bf16.h>\n#include <cuda_fp16.h>\ntypedef __nv_bfloat16 floatX;",
    "floatX *a, const half *b, __half2 *c, nv_bfloat162 *d, float *e, short *f"),
    "bfloat162 half2 half4 bfloat164 none4 none2", "behind a typedef, two in one")
  tap.is(halves("struct S { short x; };", "S *s"), "none2", "a struct of as many bytes")
end)

tap.case("macros of the file that are short names", function()
  local macros = "#define T float\n#define A 0\n#define P double\n#define N\n#define R(x) x\n"
    .. "#define n 7\n#define type 1\n#define code 2\n#define pointer 3\n"
  tap.is(described(macros, "const T *x, P y"), "x const f32*, y f64", "T, A, P, n, type")
end)

tap.case("code that the virtual GPU cannot run", function()
  tap.is(described("__device__ float other(float);\n__global__ void also(float *x) "
    .. "{ *x = other(*x); }\n", "const float *x"), "x const f32*", "a function of another file")
end)

tap.case("of parameters under conditions those that the compiler takes", function()
  local list = "const float *x,\n#ifdef WIDE\n double s, double t,\n#else\n  float s,\n#endif\n"
    .. "#if N > 2\n  int more,\n#endif\n  int n"
  tap.is(described("", list), "x const f32*, s f32, n i32", "neither")
  tap.is(described("#define WIDE\n#define N 3", list),
    "x const f32*, s f64, t f64, more i32, n i32", "both")
  tap.is(described("#define N 3", "int a\n#if N > 2\n, int b\n#else\n, float c\n#endif\n"),
    "a i32, b i32", "the comma too")
end)

tap.case("structs", function()
  tap.is(described("struct P { char c; double d; };", "P p, const P *q"),
    "p struct16, q const struct16*", "their bytes are those of C")
  tap.is(described("", "void *p, float **q"), "p struct0*, q struct8*",
    "pointers to no element type")
end)

tap.case("what cannot be found out is a sentence", function()
  tap.has(scratch.sentence(gi.signature.of, 'extern "C" __global__ void k(nope *x) {}\n', "k", {}),
    "the parameters of k cannot be found out", "an unknown type")
  tap.has(scratch.sentence(described, "", "const float *x, int"),
    "kernel k has parameters without a name", "a parameter without a name")
  tap.has(scratch.sentence(gi.signature.of,
    '#ifdef GPU\nextern "C" __global__ void k(float *x) {}\n#endif\n', "k", {}),
    "left out by the preprocessor", "a condition that does not hold")
end)

tap.done()
