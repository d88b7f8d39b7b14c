-- Certificates of kernels that copy asynchronously: the words of a copy arrive where and when its
-- bytes do (src/emu/exact/copies.c).

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local overreals = require "overreals"
local scratch = require "scratch"
local tap = require "tap"

-- "certified", or why not.
local function verdict(first, second, o)
  local c, lost = overreals.compared(first, second, o)
  return c and c.certified and "certified" or c and c.why or lost
end

local function certified(what, first, second, o)
  tap.is(verdict(first, second, o), "certified", what)
end

local function refused(what, first, second, want, o)
  tap.has(verdict(first, second, o), want, what)
end

local OTHER = "is another real number"
local PLAIN <const> = "float t = 0; for (int k = 0; k < 32; k++) t += x[k] * (k + 1); y[i] = t;"

-- Adds up a tile that was copied; what is between, and what is added.
local function copied(copy, wait, sum)
  return ([[
    #include <cuda_pipeline.h>
    //
    __shared__ alignas(16) float tile[32];
    tile[threadIdx.x] = z[threadIdx.x];
    __syncthreads();
    %s
    __pipeline_commit();
    %s
    __syncthreads();
    float t = 0; for (int k = 0; k < 32; k++) t += %s; y[i] = t;]]):format(copy, wait, sum)
end

local COPY <const> = "__pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], 4);"
local WAIT <const> = "__pipeline_wait_prior(0);"
local SUM <const> = "(k + 1) * tile[k]"

tap.case("copies by threads", function()
  certified("a tile by copies of 4 bytes", PLAIN, copied(COPY, WAIT, SUM))
  certified("of 16 bytes", PLAIN, copied([[if (threadIdx.x < 8)
    __pipeline_memcpy_async(&tile[4 * threadIdx.x], &x[4 * threadIdx.x], 16);]], WAIT, SUM))
  refused("another element", PLAIN, copied(COPY:gsub("&x%[threadIdx.x%]", "&x[threadIdx.x + 1]"),
    WAIT, SUM), OTHER)
  refused("a factor below rounding", PLAIN, copied(COPY, WAIT, "(k + 1) * 1.0000001f * tile[k]"),
    OTHER)
  refused("no wait", PLAIN, copied(COPY, "", SUM), "still brings: its thread waits for it")
  local unchecked = { races = false }
  refused("which has what was there before", PLAIN, copied(COPY, "", SUM), OTHER, unchecked)
  certified("and that is what is said",
    "float t = 0; for (int k = 0; k < 32; k++) t += z[k] * (k + 1); y[i] = t;",
    copied(COPY, "", SUM), unchecked)
  refused("a count that is a float's bits", PLAIN, copied([[
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
      :: "r"((unsigned)__cvta_generic_to_shared(&tile[threadIdx.x])), "l"(&x[threadIdx.x]),
      "r"(__float_as_int(x[i] * s)) : "memory");]], WAIT, SUM), "the bits of a float")
end)

tap.case("what of a copy is zero", function()
  local half = "float t = 0; for (int k = 0; k < 16; k++) t += x[k] * (k + 1); y[i] = t;"
  local function filled(zeros)
    return copied(([[__pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], 4,
      threadIdx.x < 16 ? 0 : %d);]]):format(zeros), WAIT, SUM)
  end
  certified("whole elements", half, filled(4))
  refused("which are not left out", PLAIN, filled(4), OTHER)
  refused("a part of an element", half, filled(2), "a part of a float")
end)

-- A copy in bulk through a tile, with `more` between; and a wait at its mbarrier.
local BULK <const> = [[
    __device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
    //
    __shared__ alignas(128) float tile[32];
    __shared__ unsigned long long full;
    tile[threadIdx.x] = z[threadIdx.x];
    if (threadIdx.x == 0)
      asm volatile("mbarrier.init.shared.b64 [%%0], 1; fence.proxy.async.shared::cta;"
        :: "r"(at(&full)) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%%0], 128;"
        :: "r"(at(&full)) : "memory");
      %s
    }
    %s
    for (int done = 0; !done;)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%%1], 0;\n"
        "selp.s32 %%0, 1, 0, p; }" : "=r"(done) : "r"(at(&full)) : "memory");
    __syncwarp();
    %s]]
local IN <const> = [[asm volatile("cp.async.bulk.shared::cluster.global.mbarrier"
  "::complete_tx::bytes [%0], [%1], 128, [%2];" :: "r"(at(tile)), "l"(x), "r"(at(&full))
  : "memory");]]
local ADDED <const> = "float t = 0; for (int k = 0; k < 32; k++) t += " .. SUM .. "; y[i] = t;"

tap.case("bulk copies into shared memory", function()
  certified("a tile", PLAIN, BULK:format(IN, "", ADDED))
  refused("another one", PLAIN, BULK:format(IN:gsub('"l"%(x%)', '"l"(x + 4)'), "", ADDED), OTHER)
  local early = BULK:format(IN, "float v = tile[threadIdx.x];", ADDED .. " d[i] = v;")
  refused("read before it is there", PLAIN, early, "still brings: the phase")
  refused("which nobody checks", PLAIN, early, "what an asynchronous copy still brings",
    { races = false })
  refused("a mbarrier's words are integers", "y[i] = z[0];", [[
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
      *(volatile float *)&full = z[0];
      asm volatile("mbarrier.init.shared.b64 [%0], 1;"
        :: "r"((unsigned)__cvta_generic_to_shared(&full)) : "memory");
    }
    __syncthreads();
    y[i] = *(volatile float *)&full;]], OTHER)
end)

tap.case("stores that complete on an mbarrier", function()
  local store = [[for (int k = 0; k < 32; k += 4)
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], "
      "{%1, %2, %3, %4}, [%5];" :: "r"(at(&tile[k])), "f"(x[k]), "f"(x[k + 1]), "f"(x[k + 2]),
      "f"(x[k + 3]), "r"(at(&full)) : "memory");]]
  certified("a tile", PLAIN, BULK:format(store, "", ADDED))
  refused("with one number twice", PLAIN, BULK:format(store:gsub("x%[k %+ 3%]", "x[k + 2]"), "",
    ADDED), OTHER)
end)

-- Out of shared memory by a group.
local function stored(value, wait)
  return ([[
    __shared__ alignas(16) float tile[32];
    tile[threadIdx.x] = %s;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%%0], [%%1], 128;\n"
        "cp.async.bulk.commit_group;\n%s" :: "l"(y + 32 * blockIdx.x),
        "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");]]):format(value, wait)
end

tap.case("bulk copies out of shared memory", function()
  local wait = "cp.async.bulk.wait_group 0;"
  certified("a tile", "y[i] = x[i] * s;", stored("s * x[i]", wait))
  refused("another value", "y[i] = x[i] * s;", stored("s * x[i] * 1.000001f", wait), OTHER)
  certified("a kernel that ends without a wait", "y[i] = x[i] * s;", stored("s * x[i]", ""))
  refused("a sum in memory", "y[i] = x[i] * s;",
    (stored("s * x[i]", wait):gsub("cp.async.bulk.global.shared::cta.bulk_group %[",
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [")), "reduces asynchronously")
end)

-- A tensor of 8 x 8 numbers at x; a box of 8 rows of 8, from column 4 and row 1 on: the columns and
-- the row outside are zero. The kernel makes the tensor's map, in d.
local MAP <const> = { { "global_address", "b64", "%1" }, { "rank", "b32", "1" },
  { "box_dim", "b32", "0, 8" }, { "box_dim", "b32", "1, 8" }, { "global_dim", "b32", "0, 8" },
  { "global_dim", "b32", "1, 8" }, { "global_stride", "b64", "0, 32" },
  { "element_stride", "b32", "0, 1" }, { "element_stride", "b32", "1, 1" },
  { "elemtype", "b32", "7" }, { "interleave_layout", "b32", "0" }, { "swizzle_mode", "b32", "%d" },
  { "fill_mode", "b32", "0" } }

local function boxed(read, mode)
  local lines = {}
  for k, f in ipairs(MAP) do
    lines[k] = ('"tensormap.replace.tile.%s.shared::cta.b1024.%s [%%0], %s;\\n"'):format(f[1], f[2],
      (f[3]:gsub("%%d", mode or 0)))
  end
  local made = [[__shared__ alignas(128) unsigned map[32];
    map[threadIdx.x] = 0;
    __syncwarp();
    if (threadIdx.x == 0) asm volatile(]] .. table.concat(lines, "\n") .. [[
      :: "r"(at(map)), "l"(x) : "memory");
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
      ".sync.aligned [%0], [%1], 128;\n"
      "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(d), "r"(at(map)) : "memory");
    ]]
  local copy = [[asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier"
      "::complete_tx::bytes [%0], [%1, {4, 1}], [%2];" :: "r"(at(tile)), "l"(d), "r"(at(&full))
      : "memory");]]
  local text = BULK:format(copy, "", "y[i] = " .. read .. "; d[i] = 0;"):gsub("//\n", function(line)
    return line .. made
  end)
  text = text:gsub("128%) float tile%[32%]", "256) float tile[64]")
  return (text:gsub("_, %[%%0%], 128;", "_, [%%0], 256;"))
end

tap.case("boxes of a tensor", function()
  local o = { grid = 1, target = "compute_90a" }
  local plain = "int row = i / 8 + 1, q = i % 8; y[i] = q < 4 && row < 8 ? x[row * 8 + q + 4] : 0;"
    .. " d[i] = 0;"
  certified("rows of it", plain, boxed "tile[i]", o)
  refused("turned around", plain, boxed "tile[i ^ 1]", OTHER, o)
  certified("chunks exchanged by a swizzle", boxed "tile[i + 32]", boxed("tile[i + 32 ^ 4]", 1), o)
  refused("which is left aside", boxed "tile[i + 32]", boxed("tile[i + 32]", 1), OTHER, o)
end)

-- ---- a winner ---------------------------------------------------------------------------------

local PRODUCT <const> = [[
extern "C" __global__ void k(const float *a, const float *b, float *c, int m, int n, int depth)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < depth; i++) sum += a[row * depth + i] * b[i * n + col];
    c[row * n + col] = sum;
}
]]
local TABLE = [[{ source = "kernel.cu", kernel = "k", size = 40, args = {
  { name = "a", type = "f32", count = "size * (size + 8)" },
  { name = "b", type = "f32", count = "size * (size + 8)" },
  { name = "c", type = "f32", count = "size * size", role = "out" },
  { name = "m", type = "i32", value = "size" }, { name = "n", type = "i32", value = "size" },
  { name = "depth", type = "i32", value = "size + 8" } },
  block_size_x = 16, block_size_y = 16, grid = { "(size + 15) // 16", "(size + 15) // 16" },
  tolerance = { max_error = 1e-3 }]] .. "}"

tap.case("a tiled product, by copies that go on while others are used", function()
  local p = gi.problem(scratch.problem(PRODUCT, TABLE))
  local genome = "T:tile<7>(32x32x32_4x4_3)"
  local function of(from, to)
    local other = from and gi.problem(scratch.problem(PRODUCT:gsub(from, to), TABLE))
    return gi.certificate.of { problem = p, other = other, genome = genome, jobs = 1 }
  end
  local source = p.grammar:apply(genome)
  tap.has(source, "__pipeline_memcpy_async", "it copies asynchronously")
  local c = of()
  tap.ok(c.certified, gi.certificate.sentence(c))
  tap.ok(c.data_sets > 2, "on several sizes: " .. tostring(c.data_sets))
  tap.has(of("int i = 0", "int i = 1").why, OTHER, "a product less")
  tap.has(of("sum;", "sum * 1.0000001f;").why, OTHER, "a factor below rounding")
end)
tap.done()
