-- Certificates: which kernels are equal over the reals, which are not, and of which it is not known
-- (docs/certificate.md). Pairs of kernels run side by side on the virtual GPU.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local overreals = require "overreals"
local scratch = require "scratch"
local tape = require "tape"
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

tap.case("rounding", function()
  local plain, rounded = "z[i] * 0.0003f", "(z[i] * 0.0003f + 64.0f) - 64.0f"
  refused("that changes answers by a hundredth", "y[i] = " .. rounded .. ";",
    "y[i] = " .. plain .. ";", "rounding makes it")
  certified("of one that is small beside its array", ("y[i] = i %% 8 ? z[i] * 1000 : %s;"):format(
    rounded), ("y[i] = i %% 8 ? z[i] * 1000 : %s;"):format(plain))
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
  refused("a video instruction", "y[i] = x[i];", [[
    int v;
    asm("vadd.s32.s32.s32 %0, %1, 0;" : "=r"(v) : "r"(__float_as_int(x[i])));
    y[i] = __int_as_float(v);]], "bits of a float")
  refused("a swap of 16 bytes", "y[i] = x[i];", [[
    asm volatile("{ .shared .align 16 .b8 s[16]; .reg .b128 q, r; mov.b128 q, {%0, %0};"
                 "atom.shared.exch.b128 r, [s], q; }" : : "l"(1LL));
    y[i] = x[i];]], "16 bytes at once")
  local other = refused("integers alone", "n[i] = i;", "n[i] = i;", "no answer depends")
  tap.ok(other.empty, "integers alone: nothing to certify")
  other = refused("other integers", "n[i] = i;", "n[i] = i + 1;", OTHER)
  tap.ok(not other.empty, "other integers: they differ")
  other = refused("a number in the winner alone", "n[i] = 0;",
    "n[i] = 0; if (x[i] * 2.0f > 1e30f) n[i] = 1;", "")
  tap.ok(not other.empty, "a number in the winner alone: it decides by one")
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

-- The degree of v is 2^36: of the certainty of one run 16 bits are left.
local HIGH = [[
extern "C" __global__ void k(const float *x, float *y, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i * 16];
    for (int j = 0; j < 36; j++)
        v = v * v * 0.5f;
    y[i] = v + scale;
}
]]

tap.case("formulas of a high degree", function()
  local p = gi.problem(scratch.problem(HIGH, TABLE))
  local function against(by, rounds)
    local source = HIGH:gsub("v %* v %* 0.5f", by):gsub("36", rounds or "36")
    return gi.certificate.of { problem = p, jobs = 1, cases = { gi.certificate.small(p) },
      other = gi.problem(scratch.problem(source, TABLE)) }
  end
  local c = against "v * (0.5f * v)"
  tap.ok(c.certified, gi.certificate.sentence(c))
  tap.ok(c.degree_bits >= 20 and c.degree_bits < 40, "several seeds have their bits together: "
    .. tostring(c.degree_bits))
  c = against "v * v * 0.5000001f"
  tap.has(c.why, OTHER, "another kernel is another one all the same")
  p = gi.problem(scratch.problem((HIGH:gsub("36", "70")), TABLE))
  c = against("v * (0.5f * v)", "70")
  tap.has(c.why, "of too high a degree to tell", "no seed is enough")
end)

tap.case("what a search says of its winner", function()
  local p = gi.problem(scratch.problem(ROWS, TABLE))
  local function said(genome)
    local result = { best = { genome = genome }, promises = { "that x, which the tolerance says "
      .. "that was guessed" } }
    gi.certificate.told(p, 1).on_end { result = result }
    return result
  end
  local right = said(UNROLLED)
  tap.is(right.certified, "certified equal over the reals (0 comparisons alike, 1 data set)",
    "of the small case")
  tap.is(#right.promises, 1, "its marks stay until other sizes are tried")
  tap.has(gi.json.encode(right.small_certificate), '"certified": true', "for its result")
  tap.has(said(WRONG).certified, "not certified: answer 0 is another real number", "or why not")
  tap.is(said("").certified, nil, "nothing of the kernel as it is")
  local stopped = { best = { genome = UNROLLED } }
  gi.certificate.told(p, 1).on_end { result = stopped, stopped = true }
  tap.is(stopped.certified, nil, "nothing of a search that was ended")
  local dear = gi.certificate.of { problem = p, genome = UNROLLED, jobs = 1, most = 10 }
  tap.ok(not dear.certified, "a run that would take long is none")
  tap.has(dear.why, "would take long: gilua verify tries it", "and says what does it")
end)

tap.case("a case that takes the winner too long", function()
  local function lost(kernel, message)
    return { lost = { kernel = kernel, status = "timeout", message = message } }
  end
  local function said(...)
    local list, cases = { ... }, {}
    for k in ipairs(list) do cases[k] = { data = "case " .. k } end
    return gi.certificate.sentence(gi.certificate.together(cases, list))
  end
  local OUT <const> = "the budget of 500 warp instructions ran out: warp 0 runs (PTX line 3)"
  local fine = { certificate = { certified = true, comparisons = 0, degree_bits = 40 } }
  tap.is(said(fine, lost(2, OUT), fine), "certified equal over the reals (0 comparisons alike, "
    .. "2 data sets)", "tells nothing")
  tap.is(said(lost(2, OUT)), "not certified: the budget of 500 warp instructions ran out",
    "where none is left that is one sentence")
  tap.is(said(lost(1, OUT)), "not certified: the kernel as it is does not run on any case: "
    .. "the budget of 500 warp instructions ran out", "so of the kernel as it is")
  tap.is(said(fine, lost(2, "a barrier that can never complete: warp 0")),
    "not certified: a barrier that can never complete: warp 0", "a barrier that hangs is a fault")
end)

tap.case("the kernel of another problem", function()
  local function against(source)
    return gi.certificate.of { problem = gi.problem(scratch.problem(ROWS, TABLE)), jobs = 1,
      other = gi.problem(scratch.problem(source, TABLE)) }
  end
  local c = against((ROWS:gsub("sum / 3%.0f", "(1.0f / 3.0f) * sum")))
  tap.ok(c.certified, gi.certificate.sentence(c))
  tap.ok(c.data_sets > 2, "on several sizes: " .. tostring(c.data_sets))
  c = against((ROWS:gsub("        sum %+= 1e%-7f;\n", "")))
  tap.ok(not c.certified, "a term that no tolerance notices is missed")
  tap.has(c.why, OTHER, "in words")
  c = against((ROWS:gsub("y%[i%] = ", "y[i] = __int_as_float(__float_as_int(sum) + n) + ")))
  tap.has(gi.certificate.sentence(c), "line 10 of the winner: it uses the bits of a float",
    "the other's line")
  tap.raises(function() against((ROWS:gsub("float sum", "flaot sum"))) end,
    'the unmodified kernel fails (compile_error): line 5: identifier "flaot"',
    "the other kernel has to compile")
end)

-- A problem of a recording of tape's program; `name` is its folder's, `source` what it is said to
-- be made of.
local function recorded(folder, name, source)
  scratch.write(folder .. "/a.rec", tape.recording(300))
  scratch.write(("%s/%s.cu"):format(folder, name), source)
  gi.recordedproblem.write({ folder .. "/a.rec" }, folder .. "/" .. name,
    { source = ("%s/%s.cu"):format(folder, name), quiet = true, anyway = true })
  return gi.problem(folder .. "/" .. name)
end

tap.case("a program of several launches", function()
  local folder = tap.folder()
  local p, n = recorded(folder, "p", tape.SOURCE), 0
  local c = gi.certificate.of { problem = p, genome = "<_kernel.cu_8>", jobs = 1 }
  tap.ok(c.certified, "a barrier less: " .. gi.certificate.sentence(c))
  tap.ok(c.comparisons > 300, "its decisions are counted: " .. tostring(c.comparisons))
  local function against(from, to)
    n = n + 1
    local source, changed = tape.SOURCE:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")))
    assert(changed == 1)
    return gi.certificate.of { problem = p, jobs = 1,
      other = recorded(folder, "other" .. n, source) }
  end
  c = against("x[i] * by[1] + 1.0f", "1.0f + (by[1] * 0.5f) * (x[i] + x[i])")
  tap.ok(c.certified, "another order of a product: " .. gi.certificate.sentence(c))
  local function refuted(what, from, to, why)
    local found = against(from, to)
    tap.ok(not found.certified and (found.why or ""):find(why, 1, true), ("%s: %s"):format(what,
      gi.certificate.sentence(found)))
  end
  refuted("a factor of 1.000001", "by[1] +", "by[1] * 1.000001f +", "another real number")
  refuted("a variable's value in the variable's place", "x[i] * by[1]", "x[i] * 2.0f",
    "another real number")
  refuted("another element of the same value", "x[i] * by[1]", "x[i >= 7 ? i - 7 : i] * by[1]",
    "another real number")
  refuted("another bound of a comparison", "was > 4.0f", "was > 4.5f", "comparison")
  refuted("bits of a float", "y[i] = was - 4.0f",
    "y[i] = __int_as_float(__float_as_int(was - 4.0f) + n - 300)", "bits of a float")
end)

local TWICE = [[
__global__ void add(float *y, float *was, int *count, float a)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float by = a;
  y[i] += by;
  was[i] = a;
  count[i]++;
}
]]

-- A recording of two launches that are given the same number.
local function launched_twice()
  local t, at = tape.new(), { 0x800000000000, 0x810000000000, 0x820000000000 }
  local zeros = ("\0"):rep(128)
  t.event("gilua %s", gi.version)
  t.event "program ./app"
  t.event("module 0 %s", t.blob(tape.compiled(TWICE)))
  for i = 1, 3 do
    t.event("memory 0x%x 128 device", at[i])
    t.event("write 0x%x 128 1 128 1 1 %s", at[i], t.blob(zeros))
  end
  for _ = 1, 2 do
    t.event("launch 0 _Z3addPfS_Pif 1,1,1 32,1,1 0 0 9 %s",
      tape.hexadecimal(string.pack("<i8i8i8f", at[1], at[2], at[3], 2)))
  end
  t.event("read 0x%x 128 1 128 1 1 %s", at[1], t.blob(string.pack("<f", 4):rep(32)))
  return t.text()
end

tap.case("each launch has arguments of its own", function()
  local folder = tap.folder()
  scratch.write(folder .. "/a.rec", launched_twice())
  local function problem(name, source)
    scratch.write(("%s/%s.cu"):format(folder, name),
      source .. "int main() { add<<<1, 32>>>(0, 0, 0, 2); }\n")
    gi.recordedproblem.write({ folder .. "/a.rec" }, folder .. "/" .. name, { quiet = true,
      source = ("%s/%s.cu"):format(folder, name), anyway = true })
    return gi.problem(folder .. "/" .. name)
  end
  local p, n, merge = problem("p", TWICE), 0, nil
  for _, kind in ipairs(p.grammar:transformations()) do
    merge = kind.name == "merge" and kind.places[1].gene or merge
  end
  tap.has(gi.certificate.of { problem = p, genome = merge, jobs = 1 }.why,
    "wants grid.x to be a multiple of 2", "and has to be possible: " .. merge)
  local function against(by)
    n = n + 1
    return gi.certificate.of { problem = p, jobs = 1, other = problem("other" .. n,
      (TWICE:gsub("by = a", "by = " .. by))) }
  end
  local c = against "a + (a - a)"
  tap.ok(c.certified, gi.certificate.sentence(c))
  c = against "count[i] > 0 ? was[i] : a"
  tap.has(c.why, OTHER, "the argument of the launch before, though it is as large here")
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

tap.case("cases that have nothing to certify", function()
  local certificate = require "gilua.new.certificate"
  local cases = { { data = "a" }, { data = "b" }, { data = "c" } }
  local sure = { certificate = { certified = true, comparisons = 3, degree_bits = 40 } }
  local empty = { certificate = { certified = false, empty = true, why = "no number" } }
  local other = { certificate = { certified = false, side = "both", why = "another" } }
  local c = certificate.together(cases, { empty, sure, empty })
  tap.is(("%s %d %g"):format(c.certified, c.data_sets, c.degree_bits), "true 1 40", "beside one")
  c = certificate.together(cases, { sure, empty, other })
  tap.is(tostring(c.certified) .. c.why .. c.data, "falseanotherc", "beside one that differs")
  c = certificate.together(cases, { empty, { lost = { kernel = 1, message = "ended" } } })
  tap.is(tostring(c.certified) .. c.why, "falseno number", "alone")
end)

tap.done()
