-- effects: what a statement reads, writes, touches in memory and calls.

package.path = "tests/lua/?.lua;" .. package.path
local effects = require "gilua.facts.effects"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"

local BEFORE = [[
#define HALF(x) ((x) / n)
#define PIXEL(i) (out[i])
__device__ float pool[64];
__device__ void fill(float *to, const float *from, int &count) { to[0] = from[1]; count = 2; }
__device__ float first(const float *p) { return p[0] + pool[1]; }
__device__ void store(float *p) { p[2] = 1.f; pool[0] = 2.f; }
__device__ void add(float *p) { p[0] += 1.f; }
__device__ int place() { return threadIdx.x; }
__device__ void wait() { __syncthreads(); }
__device__ float sum(float a, float b) { return a + b; }
__device__ void strange() { asm(""); }
__device__ int steps;
__device__ int next(int x) { steps += x; return steps; }
__device__ int twice() { int n = next(1); return n + next(2); }
__device__ int seen() { int own = 2; own += steps; return own; }
struct Pair { float a; float b[2]; Pair *next; };
__global__ void k(float *out, const float *a, int n, Pair p, Pair *q)
{
  int i = threadIdx.x, j = 0; float x = 0.f; float own[4]; Pair s; float &r = out[1];
  auto tile = 0;
]]

local function names_of(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end

-- The effects in words: "reads a i, writes x, a[1] read of a, opaque". The 1 is the number of
-- indices; ? stands for what is not known.
local function words(all)
  local list = {}
  if next(all.reads) then list[#list + 1] = "reads " .. names_of(all.reads) end
  if next(all.writes) then list[#list + 1] = "writes " .. names_of(all.writes) end
  for _, access in ipairs(all.accesses) do
    local mode = access.read and access.write and "update" or access.write and "write" or "read"
    list[#list + 1] = ("%s[%s] %s of %s"):format(access.base or "?",
      access.indices and #access.indices or "?", access.atomic or access.escapes and "address"
      or mode, access.root or "?")
  end
  if next(all.asks) then list[#list + 1] = "asks " .. names_of(all.asks) end
  for _, flag in ipairs { "opaque", "barrier", "warp", "conditional", "return", "goto", "label" } do
    if all[flag] then list[#list + 1] = flag end
  end
  return table.concat(list, ", ")
end

local function is(statement, want)
  local fn = kernel.of_text(BEFORE .. statement .. "\n}\n").by_name.k
  local body = fn.body.body
  tap.is(words(effects.of(fn, body[#body])), want, statement)
end

tap.case("variables", function()
  is("x = n;", "reads n, writes x")
  is("x += n;", "reads n x, writes x")
  is("x++;", "reads x, writes x")
  is("--i;", "reads i, writes i")
  is("j = -i + ~n;", "reads i n, writes j")
  is("int m = n;", "reads n, writes m")
  is("int m = n, l[3];", "reads n, writes l m")
  is("const int &m = n;", "reads n, writes m")
  is("int &m = n;", "reads n, writes m n")
  is("float y = i > 2 ? x : own[0];", "reads i own x, writes y, own[1] read of own")
  is("(i ? x : own[1]) = 2.f;", "reads i own, writes x, own[1] write of own")
end)

tap.case("members and elements", function()
  is("s.a = x;", "reads s x, writes s")
  is("s.b[i] = x;", "reads i s x, s[?] write of ?")
  is("x = p.b[1];", "reads p, writes x, p[?] read of p")
  is("s = p;", "reads p, writes s")
  is("own[i] = x;", "reads i own x, own[1] write of own")
  is("out[i] = a[j];", "reads a i j out, a[1] read of a, out[1] write of out")
  is("out[i] += a[i + j];", "reads a i j out, a[1] read of a, out[1] update of out")
  is("out[i]++;", "reads i out, out[1] update of out")
end)

tap.case("pointers and references", function()
  is("*out = *a;", "reads a out, a[1] read of a, out[1] write of out")
  is("*(out + i) = *(j + a);", "reads a i j out, a[1] read of a, out[1] write of out")
  is("*(float4 *)out = *(const float4 *)(a + i);",
    "reads a i out, a[?] read of a, out[?] write of out")
  is("(&out[i])[1] = 2.f;", "reads i out, out[1] address of out, out[?] write of out")
  is("r = 2.f;", "writes r, r[?] write of out, opaque")
  is("x = r;", "reads r, writes x, r[?] read of out")
  is("q->a = 2.f;", "reads q, q[?] write of q")
  is("x = q->next->a;", "reads q, writes x, q[?] read of q, q[?] read of q")
  is("x = (*q).a;", "reads q, writes x, q[1] read of q")
  is("out = out + 1;", "reads out, writes out")
  is("float *y = &out[i];", "reads i out, writes y, out[1] address of out")
  is("float *y = &x;", "reads x, writes x y")
  is("int *y = own;", "reads own, writes y")
  is("x = *(a - i);", "reads a i, writes x, a[?] read of a")
  is("x = *(a + i - j);", "reads a i j, writes x, a[?] read of a")
  is("x = *(i + j + a);", "reads a i j, writes x, a[1] read of a")
  is("*(float4 *)&out[i] = s;", "reads i out s, out[1] address of out, out[?] write of out")
  is("x = (*q).next->a;", "reads q, writes x, q[1] read of q, q[?] read of ?")
  is("x = *(float *)(*q).b;", "reads q, writes x, q[1] read of q, q[?] read of ?")
  is("x = ((const float2 *)a)[i].x;", "reads a i, writes x, a[?] read of a")
  is("x = *&own[1];", "reads own, writes x, own[1] address of own, own[?] read of own")
  is("(i > 2 ? out : own)[1] = x;", "reads i out own x, ?[?] write of ?")
  is("x = (i && a[i]) || own[j];", "reads a i j own, writes x, a[1] read of a, own[1] read of own")
  is("float &m = own[1]; m = x;", "reads x, writes m, own[?] write of own")
  is("float &m = own[i]; x = m + 1;", "reads m, writes x, own[?] read of own")
end)

tap.case("macros, and functions of the file", function()
  is("x = HALF(j);", "reads j n, writes x")
  is("PIXEL(i) = 2.f;", "reads i out, out[?] read of out, opaque")
  is("HALF(j) = 2;", "reads j n, opaque")
  is("x = place();", "writes x, asks threadIdx")
  is("x = first(a);", "reads a, writes x, a[?] read of a, pool[?] read of pool, asks pool")
  is("x = first(out + i);",
    "reads i out, writes x, out[?] read of out, pool[?] read of pool, asks pool")
  is("store(out);", "reads out, out[?] write of out, pool[?] update of pool, asks pool")
  is("store(&out[i]);",
    "reads i out, out[1] address of out, out[?] write of out, pool[?] update of pool, asks pool")
  is("add(out);", "reads out, out[?] update of out")
  is("fill(out, a, j);", "reads a j out, writes j, out[?] write of out, a[?] read of a, opaque")
  is("fill(own, out, i);",
    "reads i out own, writes i, own[?] write of own, out[?] read of out, opaque")
  is("wait();", "barrier")
  is("strange();", "opaque")
end)

tap.case("functions of CUDA", function()
  is("unknown(x);", "reads x, opaque")
  is("x = sqrtf(x) + fmaxf(x, 2.f);", "reads x, writes x")
  is("x = std::min(i, j);", "reads i j, writes x")
  is("x = __float2int_rn(x);", "reads x, writes x")
  is("x = make_float4(x, x, x, x).x;", "reads x, writes x")
  is("x = __ldg(&a[i]);", "reads a i, writes x, a[1] read of a")
  is("x = __ldg(a + i);", "reads a i, writes x, a[1] read of a")
  is("__stcs(&out[i], x);", "reads i out x, out[1] write of out")
  is("__stcs(out + i, x);", "reads i out x, out[1] write of out")
  is("sincosf(x, &s.a, own + 1);", "reads own s x, writes s, own[1] write of own")
end)

tap.case("what threads do together", function()
  is("atomicAdd(&out[i], x);", "reads i out x, out[1] atomicAdd of out")
  is("atomicAdd(out + i, x);", "reads i out x, out[1] atomicAdd of out")
  is("j = atomicCAS(&own[1], j, i);", "reads i j own, writes j, own[1] atomicCAS of own")
  is("__syncthreads();", "barrier")
  is("__syncwarp();", "barrier")
  is("__threadfence();", "barrier")
  is("x = __shfl_down_sync(-1, x, 1);", "reads x, writes x, warp")
  is("j = __ballot_sync(-1, i);", "reads i, writes j, warp")
  is("j = __reduce_add_sync(-1, i);", "reads i, writes j, warp")
  is("x = cg::reduce(tile, x, cg::plus<float>());", "reads tile x, writes x, warp")
  is("x = cg::reduce(tile, x, sum);", "reads tile x, writes x, warp")
  is("x = cg::reduce(tile, x, first);", "reads tile x, writes x, opaque, warp")
  is("x = cg::reduce(tile, x, cg::plus<float>(), x);", "reads tile x, writes x, opaque, warp")
  is("x = cg::reduce(tile, x, unknown);", "reads tile x, writes x, opaque, warp")
  is("x = cg::reduce(tile, x, strange);", "reads tile x, writes x, opaque, warp")
  is("tile.sync();", "reads tile, barrier, warp")
  is("x = tile.shfl(x, 0);", "reads tile x, writes x, warp")
  is("x = tile.strange(x);", "reads tile x, writes x, opaque")
  is("auto g = cg::this_thread_block();", "writes g, warp")
end)

tap.case("statements", function()
  is("asm volatile(\"\");", "opaque")
  is("if (i) return;", "reads i, return")
  is("{ goto end; end: ; }", "goto, label")
  is("while (i--) out[i] = 0;", "reads i out, writes i, out[1] write of out")
  is("for (int m = 0; m < n; m++) x += a[m];", "reads a m n x, writes m x, a[1] read of a")
  is("for (auto m : own) x += m;", "reads m x, writes m x, opaque")
  is("float y[2] = { x, a[i] };", "reads a i x, writes y, a[1] read of a")
  is("x = (float)j;", "reads j, writes x")
  is("x = sizeof(float);", "writes x")
  is("x = s.b[0] + p.next->a;", "reads p s, writes x, s[?] read of ?, p[?] read of p")
  is("x = -own[i] + !j;", "reads i j own, writes x, own[1] read of own")
end)

tap.case("what a function does to variables of the file", function()
  local function of(body, answer)
    local fn = kernel.of_text(BEFORE .. body .. "\n}\n").by_name.k
    local all = effects.of(fn, fn.statements[#fn.statements])
    tap.is(names_of(all.reads) .. "; " .. names_of(all.writes), answer, body)
  end
  of("n = 1;", "; n")
  of("n = next(2);", "steps; n steps")
  of("n = twice();", "steps; n steps")
  of("n = seen();", "steps; n")
  of("n = sum(1.f, 2.f);", "; n")
end)

tap.done()
