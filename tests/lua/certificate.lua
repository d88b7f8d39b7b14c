-- Certificates: which kernels are equal over the reals, which are not, and of which it is not known
-- (docs/certificate.md). Pairs of kernels run side by side on the virtual GPU.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local overreals = require "overreals"
local scratch = require "scratch"
local tap = require "tap"

local function verdict(first, second, o)
  local c, why = overreals.compared(first, second, o)
  if not c then return "lost", why end
  return c.certified and "certified" or "not", c.why, c
end

local function certified(what, first, second, o)
  local found, why, c = verdict(first, second, o)
  tap.is(found, "certified", what .. (why and ": " .. why or ""))
  return c
end

local function refused(what, first, second, want, o)
  local found, why, c = verdict(first, second, o)
  tap.is(found, "not", what .. (found == "lost" and why or ""))
  tap.ok((why or ""):find(want, 1, true), ("%s: %s"):format(what, why or "certified"))
  return c
end

local OTHER = "is another real number"

tap.case("arithmetic in another order", function()
  certified("a kernel with itself", "y[i] = x[i] * s + z[i];", "y[i] = x[i] * s + z[i];")
  certified("a sum, reassociated",
    "float t = 0; for (int k = 0; k < 8; k++) t += x[(i + k) % count]; y[i] = t;", [[
    float a = 0, b = 0;
    for (int k = 0; k < 8; k += 2) { a += x[(i + k) % count]; b += x[(i + k + 1) % count]; }
    y[i] = a + b;]])
  certified("a multiply-add fused and split", "y[i] = __fmul_rn(x[i], s) + z[i];",
    "y[i] = __fmaf_rn(x[i], s, z[i]);")
  certified("a reciprocal for a division", "y[i] = x[i] / (z[i] + 3.0f);",
    "y[i] = x[i] * (1.0f / (z[i] + 3.0f));")
  certified("division by a constant and its reciprocal", "y[i] = x[i] / 3.0f;",
    "y[i] = x[i] * (1.0f / 3.0f);")
  certified("Horner's rule", "float v = x[i]; y[i] = 3*v*v*v + s*v*v + 2*v + 1;",
    "float v = x[i]; y[i] = ((3*v + s)*v + 2)*v + 1;")
  certified("a square root's reciprocal", "y[i] = x[i] / sqrtf(z[i] + 2);",
    "y[i] = x[i] * rsqrtf(z[i] + 2);")
  certified("a difference of squares", "y[i] = (x[i] - s) * (x[i] + s);",
    "y[i] = x[i] * x[i] - s * s;")
  certified("doubles", "d[i] = (d[i] + x[i]) * 2.0;", "double t = x[i]; d[i] = 2.0*t + d[i]*2.0;")
  certified("an integer and a float", "y[i] = x[i] * (i + 1);", "y[i] = i * x[i] + x[i];")
  certified("a scalar that is not what it is here", "y[i] = x[i] * s;", "y[i] = s * x[i];")
end)

tap.case("exponentials, maxima, absolute values", function()
  certified("a product of exponentials", "y[i] = expf(x[i]) * expf(z[i]);",
    "y[i] = expf(x[i] + z[i]);")
  certified("the fast exponential", "y[i] = expf(x[i]);", "y[i] = __expf(x[i]);")
  certified("a maximum as a tree", [[
    float m = -LARGEST;
    for (int k = 0; k < 8; k++) m = fmaxf(m, x[(i + k) % count]);
    y[i] = m;]], [[
    float a = x[i], b = x[(i + 1) % count];
    for (int k = 2; k < 8; k += 2) {
      a = fmaxf(a, x[(i + k) % count]);
      b = b > x[(i + k + 1) % count] ? b : x[(i + k + 1) % count];
    }
    y[i] = fmaxf(b, a);]])
  certified("the positive part", "y[i] = fmaxf(x[i], 0.0f) * s;",
    "y[i] = (x[i] > 0.0f ? x[i] : 0.0f) * s;")
  certified("an absolute value", "y[i] = fabsf(x[i]);", "y[i] = fmaxf(-x[i], x[i]);")
  certified("softmax in one pass and in two", [[
    float m = -LARGEST, t = 0;
    for (int k = 0; k < 8; k++) m = fmaxf(m, x[(i + k) % count]);
    for (int k = 0; k < 8; k++) t += expf(x[(i + k) % count] - m);
    y[i] = expf(x[i] - m) / t;]], [[
    float m = -LARGEST, t = 0;
    for (int k = 0; k < 8; k++) {
      float v = x[(i + k) % count], old = m;
      m = fmaxf(m, v);
      t = t * expf(old - m) + expf(v - m);
    }
    y[i] = expf(x[i] - m) / t;]])
  certified("a hyperbolic tangent", "y[i] = tanhf(x[i] * s);", "y[i] = tanhf(s * x[i]);")
end)

tap.case("threads together", function()
  local plain = "float t = 0; for (int k = 0; k < 32; k++) t += x[k]; y[i] = t;"
  certified("a sum by shuffles", plain, [[
    float t = x[threadIdx.x];
    for (int k = 16; k; k /= 2) t += __shfl_xor_sync(~0u, t, k);
    y[i] = t;]])
  certified("a tile in shared memory", plain, [[
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float t = 0;
    for (int k = 31; k >= 0; k--) t += tile[k];
    y[i] = t;]])
  certified("atomic additions",
    "if (i == 0) { float t = 0; for (int k = 0; k < 64; k++) t += x[k]; d[0] += t; }",
    "atomicAdd(&d[0], (double)x[i]);")
  certified("an addition by compare-and-swap", "atomicAdd(&d[0], (double)x[i]);", [[
    unsigned long long *at = (unsigned long long *)d, old = *at, was;
    do {
      was = old;
      old = atomicCAS(at, was, (unsigned long long)__double_as_longlong(
        x[i] + __longlong_as_double(was)));
    } while (was != old);]], { grid = 2, block = 1 })
  certified("vectors", "y[i] = x[i] + z[i];", [[
    if (i < 16) {
      float4 v = ((const float4 *)x)[i], w = ((const float4 *)z)[i];
      ((float4 *)y)[i] = make_float4(v.x + w.x, w.y + v.y, v.z + w.z, v.w + w.w);
    }]])
  certified("local memory and a call", "y[i] = x[i] * 4 + z[i];", [[
    __device__ __noinline__ float four(const float *v, int k) { return 4 * v[k]; }
    //
    float v[4];
    for (int k = 0; k < 4; k++) v[k] = x[(i + k) % count];
    y[i] = four(v, n[0] & 0) + z[i];]])
end)

tap.case("wrong by less than a tolerance", function()
  refused("a term less", "float t = 0; for (int k = 0; k < 32; k++) t += x[k] * 1e-7f; y[i] = t;",
    "float t = 0; for (int k = 0; k < 31; k++) t += x[k] * 1e-7f; y[i] = t;", OTHER)
  refused("a factor of 1.000001", "y[i] = x[i];", "y[i] = x[i] * 1.000001f;", OTHER)
  refused("an epsilon dropped", "y[i] = x[i] / (fabsf(z[i]) + 1e-9f);",
    "y[i] = x[i] / fabsf(z[i]);", OTHER)
  refused("an approximation", "y[i] = x[i] * 3.14159265f;", "y[i] = x[i] * 3.1415925f;", OTHER)
  refused("a term of a maximum less", "y[i] = fmaxf(fmaxf(x[i], z[i]), -5.0f);",
    "y[i] = fmaxf(x[i], z[i]);", OTHER)
  refused("a scalar that is 1 here", "y[i] = x[i] * s;", "y[i] = x[i];", OTHER, { s = 1 })
  refused("another bound of a comparison", "y[i] = x[i] > 0.5f ? 2 * x[i] : z[i];",
    "y[i] = x[i] > 0.500001f ? 2 * x[i] : z[i];", "comparison")
  refused("a comparison dropped", "y[i] = x[i] > 5.0f ? z[i] : x[i];", "y[i] = x[i];", "comparison")
  refused("another rounding to whole numbers", "n[i] = (int)(x[i] * 10);",
    "n[i] = (int)(x[i] * 10.00001f);", "comparison or conversion")
  refused("an answer less", "y[i] = x[i];", "if (i < 63) y[i] = x[i];", "answer 63")
  refused("rounding that is meant", "y[i] = (x[i] + 12582912.0f) - 12582912.0f;", "y[i] = x[i];",
    "rounding makes it")
end)

tap.case("what is not known", function()
  local c = refused("bits of a float", "y[i] = x[i];",
    "y[i] = __int_as_float(__float_as_int(x[i])\n + n[0]);", "bits of a float")
  tap.is(c.side, "second", "of the second kernel")
  tap.is(c.line, 5, "its line")
  refused("a sign by bits", "y[i] = __int_as_float(__float_as_int(x[i]) ^ 0x80000000);",
    "y[i] = -x[i];", "bits of a float")
  refused("a branch by bits", "y[i] = x[i];",
    "if (__float_as_int(x[i]) > 0) y[i] = x[i]; else y[i] = z[i];", "bits of a float")
  refused("halves", "y[i] = x[i];", [[
    #include <cuda_fp16.h>
    //
    y[i] = __half2float(__float2half(x[i]));]], "16 bits")
  c = refused("a matrix instruction", "y[i] = x[i];", [[unsigned a = 0, b = 0, c = n[i];
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%2}, {%3,%3};"
        : "=r"(a), "=r"(b) : "r"(a), "r"(c)); y[i] = x[i] + a;]], "a matrix instruction")
  tap.ok(c.line > 0, "with its line")
  refused("what a sum was", "y[i] = x[i];", "y[i] = x[i] + atomicAdd(&d[0], 1.0);", "a sum was")
  refused("integers alone", "n[i] = i;", "n[i] = i;", "no answer depends")
  refused("an input of both types", "y[i] = __int_as_float(n[i]) + n[i];",
    "y[i] = __int_as_float(n[i]) + n[i];", "both as a float and as an integer")
end)

tap.case("comparisons are counted, and are the same in both", function()
  local c = certified("a branch", "if (x[i] < z[i]) y[i] = 1 - x[i]; else y[i] = s;",
    "y[i] = z[i] > x[i] ? 1 - x[i] : s;")
  tap.is(c.comparisons, 64, "one for each thread")
  certified("a rounding to whole numbers", "y[i] = floorf(x[i] * 8);", "y[i] = floorf(8 * x[i]);")
  certified("another data set", "y[i] = x[i] * z[i];", "y[i] = z[i] * x[i];",
    { data = 2, seed = 7 })
  certified("threads from the last to the first", "atomicAdd(&y[n[i]], x[i]);",
    "atomicAdd(&y[n[i]], x[i]);", { backwards = true })
end)

-- ---- winners ----------------------------------------------------------------------------------

local ROWS = [[
extern "C" __global__ void k(const float *x, float *y, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int j = 0; j < 16; j++) {
        sum += x[i * 16 + j] * scale;
        sum += 1e-7f;
    }
    y[i] = sum / 3.0f;
}
]]
local TABLE = [[{ source = "kernel.cu", kernel = "k", size = 100, block_size_x = 32, args = {
  { name = "x", type = "f32", count = "size * 16" },
  { name = "y", type = "f32", count = "size", role = "out" },
  { name = "scale", type = "f32", value = 1 }, { name = "n", type = "i32", value = "size" } },
  tolerance = { max_error = 1e-3 }]] .. "}"
local UNROLLED, WRONG = "T:unroll<6>(4)", "<_kernel.cu_8>"

tap.case("winners of a problem", function()
  local p = gi.problem(scratch.problem(ROWS, TABLE))
  local c = gi.certificate.of { problem = p, genome = UNROLLED, jobs = 1 }
  tap.ok(c.certified, gi.certificate.sentence(c))
  tap.ok(c.data_sets > 2, "on several sizes: " .. tostring(c.data_sets))
  tap.ok(c.degree_bits > 40, "surely: " .. tostring(c.degree_bits))
  tap.is(gi.certificate.sentence(c),
    ("certified equal over the reals (0 comparisons alike, %d data sets)"):format(c.data_sets),
    "in words")
  c = gi.certificate.of { problem = p, genome = WRONG, jobs = 1 }
  tap.ok(not c.certified, "a term that no tolerance notices is missed")
  tap.has(c.why, OTHER, "in words")
  local watch = gi.certificate.watch(p, 1)
  tap.is(watch.hold(UNROLLED), UNROLLED, "a search keeps what is certified")
  tap.is(watch.hold(WRONG), "", "and leaves out what is not")
  local result = { best = { genome = UNROLLED }, promises = { "that x, which the tolerance says "
    .. "that was guessed", "that n is even" } }
  watch.on_end { result = result }
  tap.has(result.certified, "certified equal", "its report says so")
  tap.is(table.concat(result.promises, "; "), "that n is even", "no mark of a tolerance")
end)

tap.case("what a file says of a certificate", function()
  local c = { certified = true, comparisons = 1, data_sets = 2, degree_bits = 40.5 }
  tap.is(gi.certificate.sentence(gi.certificate.read(c)),
    "certified equal over the reals (1 comparison alike, 2 data sets)", "as it was")
  local no = gi.certificate.read { certified = false, why = "it is so", line = 3, kernel = "A" }
  tap.is(gi.certificate.sentence(no), "not certified: line 3 of A: it is so", "and why not")
  for _, bad in ipairs { 1, {}, { certified = true }, { certified = false }, { certified = 1 } } do
    tap.is(gi.certificate.read(bad), nil, "no certificate")
  end
end)

tap.done()
