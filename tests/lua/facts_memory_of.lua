-- memory_of: where pointers, references and names that nobody explains lead.

package.path = "tests/lua/?.lua;" .. package.path
local kernel = require "gilua.transform.kernel"
local memory_of = require "gilua.facts.memory_of"
local tap = require "tap"

local BEFORE = [[
typedef float *P; typedef float Row[32];
struct View { float *p; float own[4]; };
__device__ float pool[64]; __device__ float *where; __constant__ float taps[4];
static __shared__ float lines[2][32];
namespace inner { __device__ float deep[8]; }
__device__ float *found(float *p);
__global__ void other(float *z, float *hidden) { z[0] = hidden[0]; }
__global__ void k(float *out, float *a, float **rows, float (*grid)[32], View view, int n)
{
  __shared__ float tile[4][32];
  float mine[4];
]]

-- Where `z`, of so many indices, leads at the end of a body.
local function root(body, indices, name)
  local fn = kernel.of_text(BEFORE .. body .. "\n}\n").by_name.k
  return (memory_of.of(fn, name or "z", fn.close - 1, indices or 1))
end

local KNOWN = {
  { "float *z = out + n;", "out" }, { "auto z = out;", "out" }, { "auto *z = &out[n];", "out" },
  { "const auto z = n * 4 + out;", "out" }, { "float *z = (n + 1) + a;", "a" },
  { "float *z; z = out;", "out" },
  { "float *z = out; z = z + 4; z += n; z++;", "out" },
  { "float (*z)[32] = tile;", "tile", 2 }, { "float (&z)[4][32] = tile;", "tile", 2 },
  { "auto &z = tile;", "tile", 2 }, { "auto z = tile;", "tile", 2 },
  { "auto z = tile[1];", "tile" },
  { "float *z = tile[0];", "tile" }, { "float *z = grid[2];", "grid" },
  { "P z = tile[0];", "tile" },
  { "float4 *z = reinterpret_cast<float4 *>(tile);", "tile" },
  { "float &z = mine[1];", "mine", 0 },
  { "float *z = view.p;", "view" }, { "float *y = out; float *z = y + 1;", "out" },
  { "float *z = n > 1 ? out : out + 4;", "out" }, { "float *z = pool;", "pool" },
  { "float *z = lines[1];", "lines" }, { "float *z = inner::deep;", nil },
  { "int z[2];", "z" }, { "decltype(tile) &z = tile;", "tile", 2 },
  { "auto &&z = tile;", "tile", 2 },
  { "float *z = &*out;", "out" }, { "float *z = &*(a + n);", "a" },
  { "float *z = &tile[1][2];", "tile" },
  { "float *z = &out[n] + 2;", "out" }, { "float *z = -n + a;", "a" },
  { "float *z = threadIdx.x + out;", "out" }, { "float *z = out - n;", "out" },
  { "float *z = (n ? 1 : 2) + out;", "out" }, { "float *z = n * n + (2 + out);", "out" },
  { "float *z = 2 + (out + n);", "out" },
  { "float *z = ++out;", "out" }, { "float *z = out++;", "out" },
  { "float *y; float *z = y = out;", "out" }, { "float *z = out += 4;", "out" },
  { "float *z = &view.own[1];", "view" }, { "float *z = view.own;", "view" },
  { "float *z = out; while (n--) z = n > 2 ? z : out;", nil },
  { "float *y = out; float *z = y; y = z + 1;", "out" },
  { "float *z = out; { float *z = a; z[0] = 1; } n = 0;", "out" },
  { "float *z = out; z += 4; a = a + 1;", "out" },
  { "float4 z;", "z", 0 }, { "const float z = out[0];", "z", 0 },
  { "__shared__ float z;", "z", 0 },
  { "auto &y = tile[1]; float *z = y;", "tile" }, { "auto y = tile[1]; auto z = y + 2;", "tile" },
}

tap.case("a second name has the root of the first", function()
  for _, one in ipairs(KNOWN) do tap.is(root(one[1], one[3]), one[2], one[1]) end
end)

local UNKNOWN = {
  "float *r[2] = { out, a }; float *z = &r[0][1];", "float *z = rows[1];", "float *z = found(out);",
  "float *z = n > 1 ? out : a;", "float *z = out; z = a;", "View v = { out }; float *z = v.p;",
  "float *z = out; float **y = &z; *y = a;",
  "float *z; if (n) z = out; else z = rows[0];", "auto z = View{ out };",
  "float *z = reinterpret_cast<float *>((size_t)out | 4);", "__shared__ float *z; z = rows[0];",
  "View vs[4]; float *z = vs[1].p;", "View v; v = view; float *z = v.p;",
  "float *z = out * 2;", "float *z = rows[0] + 1;", "float *z = *rows;", "float *z = -out;",
  "float *z = &found(out)[2];", "float *z = ~out;", "float *z = nobody;", "float *z;",
  "float *y = nobody; float *z = y;", "float *z = where = rows[0];",
  "float *z = out; found(z = a);", "for (float *z = out; ; z = a) ;", "float *z = &rows[0][1];",
}

tap.case("what may lead anywhere is unknown", function()
  for _, body in ipairs(UNKNOWN) do
    for indices = 1, 2 do tap.is(root(body, indices), nil, indices .. " of " .. body) end
  end
  for _, body in ipairs { "float *r[2] = { out, a }; float **z = r;", "Row *z = rows;",
    "P z[2] = { out, a };" } do
    tap.is(root(body, 2), nil, "what its elements lead to: " .. body)
  end
  tap.is(root("out = a;", 1, "out"), nil, "a parameter that is given another array")
  tap.is(root("", 2, "rows"), nil, "what an array of pointers holds")
  tap.is(root("", 1, "rows"), "rows", "the array of pointers itself")
  tap.is(root("", 2, "grid"), "grid", "rows that come as a parameter")
end)

tap.case("a name without a declaration is the file's own, or leads anywhere", function()
  tap.is(root("", 1, "pool"), "pool", "an array of the file")
  tap.is(root("", 1, "taps"), "taps", "one of constants")
  tap.is(root("", 1, "z"), nil, "a parameter of another function")
  tap.is(root("", 1, "nobody"), nil, "no name of the file")
end)

tap.case("why it is unknown", function()
  local fn = kernel.of_text(BEFORE .. "float *z = out; z = a;\n}\n").by_name.k
  local _, why = memory_of.of(fn, "z", fn.close - 1, 1)
  tap.is(why, "`z` is a name of `out` and of `a`", "two arrays")
end)

tap.done()
