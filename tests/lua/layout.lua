-- layout: the members of the structs that a kernel takes, as the compiler lays them out.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local layout = require "gilua.new.layout"

-- "bytes: path@offset type, …" of the struct S in `code`, by value or behind a pointer; why not.
local function described(code, parameter)
  local source = code .. '\nextern "C" __global__ void k(' .. (parameter or "S s") .. ") {}\n"
  local function words(struct)
    local list = {}
    for i, m in ipairs(struct) do
      local of = m.to and "{" .. words(m.to) .. "}" or (m.type or "?" .. m.bytes)
        .. (m.width > 1 and "x" .. m.width or "")
      list[i] = ("%s@%d %s%s%s%s"):format(m.path, m.at, m.const and "const " or "", of,
        m.pointer and "*" or "", m.each > 1 and "[" .. m.each .. "]" or "")
    end
    return struct.bytes .. ": " .. table.concat(list, ", ")
  end
  local struct, why = layout.of({ sliced = { source = source }, kernel = "k",
    host = gi.hostcode.read(source) }, {}, 1, "S")
  return struct and words(struct) or why
end

tap.case("members of plain types", function()
  tap.is(described "struct S { int n; double d; char c[3]; };", "24: n@0 i32, d@8 f64, c@16 i8[3]",
    "at C's places")
  tap.is(described "struct S { float4 v; uchar3 c; float m[2][3]; };",
    "48: v@0 f32x4, c@16 u8x3, m@20 f32[6]", "vectors, arrays of arrays")
  tap.is(described "struct __align__(16) S { float x, y = 1, z{2}; bool on; };",
    "16: x@0 f32, y@4 f32, z@8 f32, on@12 u8", "several in one, with values; an alignment")
  tap.is(described "enum E { A }; typedef unsigned word; struct S { E e; word w; size_t n; };",
    "16: e@0 i32, w@4 u32, n@8 u64", "names for types")
end)

tap.case("pointers, and what they point to", function()
  tap.is(described "struct S { float *to; const int *__restrict__ from; int n; };",
    "24: to@0 f32*, from@8 const i32*, n@16 i32", "const and __restrict__")
  tap.is(described "struct S { float *rows[4]; void *any; };", "40: rows@0 f32*[4], any@32 ?0*",
    "an array of them; void")
  tap.is(described "struct Q { int id; float *x; }; struct S { Q *q; };",
    "8: q@0 {16: id@0 i32, x@8 f32*}*", "a struct's")
  tap.ok(described "struct S { S *next; int n; };" :find "^16: next@0 {16: next@0 {", "its own")
  local source = [[
    struct S; struct Q { S *up; Q *next; float *x; }; struct S { Q *q; S *next; };
    extern "C" __global__ void k(S s) {}]]
  local list = layout.of({ sliced = { source = source }, kernel = "k",
    host = gi.hostcode.read(source) }, {}, 1, "S")
  local function back(struct)
    local names = {}
    for i, m in ipairs(struct) do names[i] = m.path .. (m.leads_back and " back" or "") end
    return table.concat(names, ", ")
  end
  tap.is(back(list), "q, next back", "a list leads back")
  tap.is(back(list[1].to), "up back, next back, x", "so does one in another")
  tap.is(described("struct S { int n; float *x; };", "const S *s"), "16: n@0 i32, x@8 f32*",
    "a struct behind a pointer")
end)

tap.case("what stands between members", function()
  tap.is(described [[template <class T, int N> struct Vec { T x[N]; };
    struct Base { int id; };
    class S : public Base {
    public:
      typedef float real;
      static const int MOST = 4;
      enum Kind { ONE, TWO };
      __host__ __device__ S() : n(0) {}
      __device__ float at(int i) const { return data[i]; }
      __device__ float operator[](int i) const;
      __device__ ~S() {}
    private:
      real *data;
      Vec<double, 3> v;
      struct Inner { int a; };
      Inner inner;
      struct { float r, g; } colour;
      union { int i; float f; };
    protected:
      int n;
    };]], "64: id@0 i32, data@8 f32*, v.x@16 f64[3], inner.a@40 i32, colour.r@44 f32, "
    .. "colour.g@48 f32, i@52 i32, n@56 i32", "functions, types, access, structs and unions in it")
  tap.is(described "typedef struct s_ { int n; } s_t; typedef s_t S;", "4: n@0 i32", "typedefs")
end)

tap.case("what is not understood is said", function()
  tap.is(described "struct S { int a : 3; };", "what is in the struct S is not understood", "bits")
  tap.is(described "struct S { int &r; };", "what is in the struct S is not understood",
    "references")
  tap.is(described("", "int n"), "the file has no struct S", "none")
  tap.is(described "struct S { };", "the struct S has nothing in it", "nothing")
end)

tap.done()
