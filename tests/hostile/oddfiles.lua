--- Writes CUDA files whose kernels go where they may not: each state space by each access by each
--- way to name an address, in the kernel or in a function that it calls, and files of other kinds.
--- For tests/cli/odd_files.t:  gilua oddfiles.lua FOLDER COUNT SEED
--- The other kinds come first, then accesses in an order that the seed makes; prints what it wrote.
local gi = require "gilua"

local FILE = [[
__device__ int g[16];
__constant__ int c[16];
#HEAD
__device__ __noinline__ float f(float a, int b)
{
  #FUNCTION
  return a + b;
}
__global__ void k(float *x, int n)
{
  __shared__ int s[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i;
  #KERNEL
  if (i < n) x[i] = f(sqrtf(x[i]) + c[i % 16] + g[i % 16] + s[threadIdx.x], i);
}
int main()
{
  float *x;
  int n = 1000;
  cudaMalloc(&x, n * sizeof(float));
  k<<<(n + 127) / 128, 128>>>(x, n);
}
]]

local function file(what, parts)
  return { what = what, text = (FILE:gsub("#(%u+)", function(name) return parts[name] or "" end)) }
end

-- Variables of an asm statement's own block: v, which lies in the access's space where it can, and
-- w, which is large and shared.
local DECLARED = {
  shared = ".shared .align 16 .b8 v[64];", ["local"] = ".local .align 16 .b8 v[64];",
  param = ".param .align 16 .b8 v[64];",
}
local SPACES = { "global", "shared", "local", "const", "param", "" }
local ACCESSES = { -- $: ".space", @: the address
  "ld$.u32 %r, [@];", "st$.u32 [@], %r;", "st$.v4.u32 [@], {%r, %r, %r, %r};", "ldu$.u32 %r, [@];",
  "atom$.add.u32 %r, [@], %r;", "red$.max.s32 [@], %r;", "atom$.cas.b64 %q, [@], %q, %q;",
  "prefetch$.L1 [@];", "cp.async.ca.shared.global [@], [%q], 16; cp.async.wait_all;",
  "cp.async.ca.shared.global [%r], [@], 16; cp.async.wait_all;",
}
local ADDRESSES = {
  "v", "v+60", "v+40000", "v+-4", "%q", "%q+2147483647", "%r", "0", "16", "-4", "g", "c",
  "_Z1kPfi_param_0", "_Z1kPfi_param_0+8", "w", "w+39000",
}

--- An asm statement: letters behind a % are registers of its own, numbers operands.
local function asm(text, operands)
  text = text:gsub("%%%f[%a]", "%%%%")
  return ('asm volatile("{ %s }" :: %s : "memory");'):format(text, operands)
end

local function accesses(add)
  for _, space in ipairs(SPACES) do
    for _, access in ipairs(ACCESSES) do
      for _, address in ipairs(ADDRESSES) do
        local one = access:gsub("[$]", space ~= "" and "." .. space or ""):gsub("@", function()
          return address
        end)
        local variables = DECLARED[space] or DECLARED["local"]
        local text = asm(".reg .b32 %r; .reg .b64 %q; .shared .align 16 .b8 w[40000]; " ..
          variables .. " mov.b32 %r, %0; cvt.u64.u32 %q, %r; " .. one, '"r"(1 << 28)')
        for _, where in ipairs { "KERNEL", "FUNCTION" } do
          add(file(one .. " in the " .. where:lower(), { [where] = text }))
        end
      end
    end
  end
end

local function kernel(what, text, head) return file(what, { KERNEL = text, HEAD = head }) end
local function device(what, text, head) return file(what, { FUNCTION = text, HEAD = head }) end

-- What nested launches are called with: declared as cudadevrt does.
local CDP = [[extern "C" {
__device__ void *__cudaCDP2GetParameterBufferV2(void *, dim3, dim3, unsigned);
__device__ int __cudaCDP2LaunchDeviceV2(void *, void *);
__device__ int __cudaCDP2MemcpyAsync(void *, const void *, unsigned long long, int, void *);
__device__ int __cudaCDP2MemsetAsync(void *, int, unsigned long long, void *);
}
__global__ void child(int *p) { *p = 1; }]]

local function others(add)
  add(device("a function's parameters and results, and behind them",
    asm(".param .b32 p[4]; st.param.b32 [p+12], %0; st.param.b32 [p+16], %0;", '"r"(b)')))
  add(kernel("recursion without end", "if (i < n) x[i] += down(i);",
    "__device__ __noinline__ int down(int a) { int t[8]; t[a & 7] = a;\n" ..
    "  return a < -5 ? a : t[(a + 1) & 7] + down(a + 1); }"))
  -- below an aligned frame there is room of nobody's, if the caller has an array
  local array = "int t[2]; t[i & 1] = i; if (i < n) x[i] += t[n & 1];"
  add(file("an alloca of no bytes, and what lies below it", { KERNEL = array, FUNCTION =
    asm(".reg .b64 %a, %z; mov.b64 %z, 0; alloca.u64 %a, %z, 512; st.local.b32 [%a+-8], %0; " ..
      "st.local.b32 [%a], %0;", '"r"(b)') }))
  add(file("the gap below a function's frame", { KERNEL = array, FUNCTION =
    asm(".reg .b64 %a; mov.b64 %a, 8; st.local.b32 [%a], %0;", '"r"(b)') }))
  add(device("an alloca that is too large",
    asm(".reg .b64 %a, %z; mov.b64 %z, -1; alloca.u64 %a, %z; st.local.b32 [%a], %0;",
      '"r"(b)')))
  add(kernel("a table of branches, and an index behind it",
    asm("ts: .branchtargets A, B; brx.idx %0, ts; A: B:", '"r"(i)')))
  add(kernel("a table of functions, and an index behind it", "x[i % n] = table[i](1, 2);",
    "__device__ float f(float, int);\n__device__ float (*table[2])(float, int) = { f, f };"))
  for _, handle in ipairs { "0", "%1", "0x7ffff50000000000" } do
    add(kernel("a fetch, a load and a store with handle " .. handle,
      asm(".reg .b64 %h; .reg .f32 %f<4>; .reg .b32 %r; mov.b64 %h, " .. handle ..
        "; tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%h, {%0}]; suld.b.1d.b32.zero %r, " ..
        "[%h, {%0}]; sust.b.2d.b32.clamp [%h, {%0, %0}], %r;", '"r"(i), "l"(x)')))
  end
  add(kernel("fetches from a texture with odd coordinates",
    "x[i % n] = tex2D<float>(t, 1e30f * i, -1 / 0.f) + tex1Dfetch<float>(t, 1 << 30);",
    "__device__ cudaTextureObject_t t = 7;"))
  add(kernel("a surface that is none", "surf2Dwrite(1.f, t, 1 << 30, -1, cudaBoundaryModeClamp);",
    "__device__ cudaSurfaceObject_t t = 0x7ffff50000000001ull;"))
  add(kernel("printf with a format that has no end", 'printf(text, "x", i, text);',
    "__device__ char text[3] = { 37, 115, 37 };"))
  add(kernel("printf with texts of the stack",
    "char t[64]; for (int j = 0; j < 64; j++) t[j] = 37 + (j & n); printf(t, t, t, t);"))
  add(kernel("an assertion with texts that are none",
    "if (i > 10) __assertfail((const char *)x, 0, 1, (const char *)-1, 1);"))
  add(kernel("objects of the heap, freed twice and inside",
    "char *p = (char *)malloc(i * 8ull << 20 >> 20); p[i * 8] = 1; free(p); free(p + 4);"))
  add(kernel("a launch of what is no kernel",
    "int **p = (int **)__cudaCDP2GetParameterBufferV2((void *)x, dim3(-1), dim3(1), 1 << 30);\n" ..
    "  p[1] = g; __cudaCDP2LaunchDeviceV2(p + 1, 0);", CDP))
  add(kernel("a launch with arguments behind their room",
    "int **p = (int **)__cudaCDP2GetParameterBufferV2((void *)child, dim3(1), dim3(1), 0);\n" ..
    "  p[0] = g + 99; p[1] = g; __cudaCDP2LaunchDeviceV2(p, 0);", CDP))
  add(kernel("a fill of a constant",
    "__cudaCDP2MemsetAsync((void *)c, 1, sizeof c, 0);", CDP))
  add(kernel("copies behind memory",
    "__cudaCDP2MemcpyAsync(x, g, -1, 3, 0); __cudaCDP2MemcpyAsync(g + 16, x, 1, 3, 0);", CDP))
  add(kernel("a copy that nobody waits for, from behind an array",
    asm("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group; " ..
      "cp.async.wait_group 5;", '"r"(i * 16 + 4), "l"(x + n)')))
end

-- Instructions of sm_90 and sm_90a: what is read, written and waited for by units beside the lanes.
local function asynchronous(add)
  local registers = ".reg .b32 %a, %q<9>; .reg .b64 %t; .reg .pred %p; mov.b32 %a, %0; "
  local function one(what, text, operands)
    add(kernel(what, asm(registers .. text, operands or '"r"((int)__cvta_generic_to_shared(s))')))
  end
  local FOUR, BYTES = "{%q0, %q1, %q2, %q3}", "mbarrier::complete_tx::bytes"
  one("matrices behind shared memory", "add.u32 %a, %a, 40000; ldmatrix.sync.aligned.m8n8.x4" ..
    ".shared.b16 " .. FOUR .. ", [%a];")
  one("matrices at an address that is no multiple of 16", "add.u32 %a, %a, 4; " ..
    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%a+-4], {%a, %a, %a, %a}; " ..
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 " .. FOUR .. ", [%a];")
  one("a product of eight-bit floats that are addresses", "mma.sync.aligned.m16n8k32.row.col" ..
    ".f32.e4m3.e5m2.f32 " .. FOUR .. ", {%a, %a, %a, %a}, {%a, %a}, {%a, %a, %a, %a};")
  one("a sparse product with a selector of 4", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16" ..
    ".f16.f32 " .. FOUR .. ", {%a, %a}, {%a, %a}, {%a, %a, %a, %a}, %a, 0x4;")
  one("a fragment with a stride that leads out", "wmma.load.a.sync.aligned.row.m16n16k16" ..
    ".shared.f16 {%q0, %q1, %q2, %q3, %q4, %q5, %q6, %q7}, [%a], 0x7ffffff0;")
  one("a product of a warpgroup whose matrices lie nowhere", "mov.b64 %t, -1; " ..
    "wgmma.fence.sync.aligned; { .reg .f32 %f<4>; " ..
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " ..
    "{%f0, %f1, %f2, %f3}, %t, %t, 1, 1, 1, 0, 0; } wgmma.wait_group.sync.aligned 0;")
  one("a barrier behind shared memory", "mbarrier.init.shared.b64 [%a+512], 1; " ..
    "mbarrier.arrive.shared.b64 %t, [%a+600]; mbarrier.inval.shared.b64 [%a+-8];")
  one("a barrier that nobody made, at odd bytes", "mbarrier.arrive.expect_tx.shared.b64 %t, " ..
    "[%a+4], -1; mbarrier.try_wait.shared.b64 %p, [%a], %t;")
  one("bytes that no copy brings, and a wait for them",
    "mbarrier.init.shared.b64 [%a], 0xfffff; " ..
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%a], 1048575; " ..
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%a], 0x7fffffff; " ..
    "mbarrier.test_wait.parity.shared.b64 %p, [%a], 7;")
  one("a bulk copy larger than all of shared memory", "mbarrier.init.shared.b64 [%a], 1; " ..
    "cp.async.bulk.shared::cluster.global." .. BYTES .. " [%a+16], [%1], %2, [%a];",
    '"r"((int)__cvta_generic_to_shared(s)), "l"(x), "r"(1 << 20)')
  one("a bulk copy to behind an array, and a sum there",
    "cp.async.bulk.global.shared::cta.bulk_group [%1], [%a], 512; " ..
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%1], [%a], 48; " ..
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    '"r"((int)__cvta_generic_to_shared(s)), "l"(x + n - 2)')
  one("a tensor map that is an array of floats", "mbarrier.init.shared.b64 [%a], 1; " ..
    "cp.async.bulk.tensor.2d.shared::cluster.global." .. BYTES ..
    " [%a+16], [%1, {%a, -1}], [%a];",
    '"r"((int)__cvta_generic_to_shared(s)), "l"(x)')
  one("a tensor map made in shared memory, of odd sizes",
    "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%a], 9; " ..
    "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%a], 7, -1; " ..
    "cvta.shared.u64 %t, %a; " ..
    "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%t, {%a}], [%a];")
  one("another block of a cluster that has one", "mapa.shared::cluster.u32 %q0, %a, 99; " ..
    "st.shared::cluster.u32 [%q0], %a; mbarrier.init.shared.b64 [%a], 1; " ..
    "st.async.shared::cluster." .. BYTES .. ".b32 [%q0+4000], %a, [%q0];")
  one("a barrier of the cluster for some lanes", "setp.gt.u32 %p, %1, 5; " ..
    "@%p barrier.cluster.arrive; @!%p barrier.cluster.wait;", '"r"(i), "r"((int)threadIdx.x)')
end

local function shuffled(list, seed)
  local rng = gi.rng(seed)
  for i = #list, 2, -1 do
    local k = rng:int(1, i)
    list[i], list[k] = list[k], list[i]
  end
  return list
end

local folder, count, seed = arg[1], tonumber(arg[2]), tonumber(arg[3])
local list, more = {}, {}
others(function(one) list[#list + 1] = one end)
asynchronous(function(one) list[#list + 1] = one end)
accesses(function(one) more[#more + 1] = one end)
shuffled(list, seed)
table.move(shuffled(more, seed), 1, #more, #list + 1, list)
for i = 1, math.min(count, #list) do
  local out <close> = assert(io.open(("%s/odd%d.cu"):format(folder, i), "wb"))
  assert(out:write(list[i].text))
  print(("odd%d\t%s"):format(i, list[i].what))
end
