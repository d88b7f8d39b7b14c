-- madekernels: random kernels for rewritings to go wrong on. A grammar of what kernels do, by the
-- idioms that rewritings look for (rows, reductions, tiles, lanes, histograms, searches), with what
-- misleads a reader between: second names, jumps, bounds that vary by thread, empty ranges, macros.
--
-- Each kernel is k(out, a, b, n) of rewritten.source, with 2 blocks of 64 threads, and further
-- parameters of heldruns where it uses them: a second array that is written, ranges of which some
-- are empty and begin at -1, a number that all launches share. It ends, and
-- races with nobody: a thread writes its own elements of `out` alone (t, t + 128, and eight from
-- 512 + 8 * t), but for atomics from 2048 on and what barriers part. Sums of its data are exact.
-- A first line "// launch GRID BLOCK" says another launch. Some are two kernels, k and then k2.
--
-- A rule is a list of texts. `<name>` stands for a text of that rule, `<name x>` for one in which
-- $J is x; $J is the loop's variable, and $N a number that no other text of the kernel has.

local M = {}

local RULES = {}

local function rule(name, ...) RULES[name] = { ... } end

-- ---- values -----------------------------------------------------------------------------------

rule("load", "a[t * 8 + $J]", "a[t * 8 + $J]", "b[$J]", "b[$J]", "a[$J]", "a[t + $J * 128]",
  "out[t]", "out[t + 128]", "tile[1][lane]", "__ldg(&a[$J])", "*(b + $J)", "nth(a, t * 8 + $J)",
  "AT(b, $J)", "C[$J & 7]", "a[t * 8 + $J + 1]", "a[t]", "pair.y", "z[t]", "same")
rule("value", "<load>", "<load>", "<load> * <load>", "<load> * 0.5f", "<load> + <load>",
  "<load> - s", "fabsf(<load>)", "fmaxf(<load>, <load>)", "(<cond> ? <load> : <load>)",
  "twice<float>(<load>)", "-<load>", "(float)($J % 5)", "<load> / 4.0f", "<load> / (b[m] + 64.0f)",
  "(float)(($J + 3) / w)", "powf(<load>, 2.0f)", "<load> / <divisor>", "fminf(<load>, 0.0f)",
  "(<load> == 0.0f ? 1.0f : <load>)", "fmodf(<load>, 3.0f)", "rintf(<load>)")
rule("divisor", "a[5]", "b[t]", "(float)w", "d", "b[n]")
rule("cond", "<load> > 0.5f", "<load> < s", "n > 2", "m > 1", "lane < 9", "$J % 3 == 1", "w > 2",
  "<load> > 0.0f && n > 1", "n < 3 || <load> > 1.0f", "s > 2.0f", "flag", "a[w] > b[w]",
  "!(<load> <= 0.0f)", "isnan(<load>)", "<load> == -3.0f", "<load> != <load>", "s == s",
  "length[t & 63] > 0", "t != t + w")
rule("bound", "n", "n", "n", "m", "w", "7", "4", "n - 2", "t % 5", "lane % 4 + 1", "(int)b[3] & 7",
  "COUNT", "w + 1", "n & 15")
rule("low", "0", "0", "0", "0", "0", "1", "m", "w", "lane % 3", "t & 1", "2")
rule("bin", "$J & 3", "w", "lane % 3", "((int)a[t * 8 + $J]) & 7", "((int)a[lane + $J]) & 7", "0",
  "t & 3", "n & 1")
rule("own", "out[t]", "out[t]", "out[t + 128]", "out[512 + t * 8 + ($J & 7)]",
  "out[512 + t * 8 + w]", "z[t]", "here", "tile[1][lane]")
rule("set", "=", "=", "+=", "+=", "-=", "*=")
rule("sum", "s += <value>;", "s += <value>;", "s += <value>;", "s = s + <value>;",
  "s = fmaxf(s, <value>);", "s = fminf(<value>, s);", "if (<load> > s) s = <load>;",
  "s -= <value>;", "s = s * 0.5f + <value>;", "s += <cond> ? <value> : 0.0f;",
  "if (<cond>) s += <value>;", "k += <cond>;", "k = k * 2 + 1;", "s2 += <value>; s += s2;",
  "k += <value>;")

-- ---- statements -------------------------------------------------------------------------------

rule("jump", "if (<cond>) break;", "if (<cond>) break;", "if (<cond>) continue;",
  "if (<cond>) return;", "if (<cond>) goto end;", "{ if (<cond>) { s += 1.0f; break; } }")
rule("odd", "int at$N = n > 0 ? t : -100000; <own> += a[at$N];", "$J += <cond> ? 1 : 0;",
  "if (<cond>) $J++;", "w = ($J + 1) & 3;", "d = b[$J];", "flag = <cond>;", "z = out + 128;",
  "const float &near$N = out[t]; s += near$N;", "auto p$N = a + t; s += p$N[$J];",
  "[[maybe_unused]] float u$N = <load>; s += u$N;", "float s = <load>; <own> += s;",
  "switch (w) { case 1: s += 1.0f; break; default: <sum> }", "PUT(<own>, <value>);",
  "auto f$N = [&](float x) { s += x; }; f$N(<load>);", "int w = $J & 1; s += a[w];",
  "add(&out[t], <load>);", "volatile float v$N = <load>; s += v$N;", "b = <cond> ? a : b;",
  "alignas(16) float four$N[4] = { <load>, 1, s, 3 }; s += four$N[w];",
  "enum { E$N = 3 }; s += b[E$N];", "int z$N(5); s += a[z$N + $J];", "int z$N{2}; s += b[z$N];",
  "using F$N = float; F$N x$N = <load>; s += x$N;", "float &r$N = s; r$N += <load>;",
  "constexpr int c$N = 4; for (int q = 0; q < c$N; q++) s += b[q];", "float *q$N = &s; *q$N += 1;",
  "struct { float x, y; } p$N = { <load>, s }; s += p$N.y - p$N.x;", "if (s != s) s = 0.0f;",
  "int at$N = first[($J + t) & 63]; if (at$N >= 0) s += a[at$N];", "<range>", "<range>")
rule("range",
  "for (int q = 0; q < length[t & 63]; q++) s += a[first[t & 63] + q] <times2>;",
  "for (int q = first[t & 63], e = q + length[t & 63]; q < e; q++) s += b[q] * a[first[t & 63]];",
  "for (int q = 0; q < length[w]; q++) <own> += b[first[w]] * a[q];",
  "for (int q = 0; q < length[lane & 7]; q++) { s += a[t] * b[first[lane & 7]]; <maybe8> }")
rule("times2", "", "* b[first[t & 63]]", "* b[q]", "* w")
rule("maybe8", "", "", "if (s > 30.0f) break;", "if (q == 1) continue;", "out[t] = s;")
rule("step", "<sum>", "<sum>", "<sum>", "<sum>", "<own> <set> <value>;", "<own> <set> <value>;",
  "if (<cond>) <own> <set> <value>;", "if (<cond>) { <sum> } else { <own> = <value>; }", "<jump>",
  "<odd>", "out[512 + t * 8 + ($J & 7)] = s;", "atomicAdd(&out[2048 + (<bin>)], 1.0f);",
  "int q$N = $J / w1; s += q$N + $J % w1;", "if (a[at] > 0.5f) <sum>", "s += a[at] * <load>;")
rule("steps", "<step>", "<step>", "<step> <step>", "<step>\n    <step>\n    <step>")
rule("head", "for (int $J = <low>; $J < <bound>; $J++)", "for (int $J = <low>; $J < <bound>; $J++)",
  "for (int $J = <low>; $J < <bound>; ++$J)", "for (int $J = <low>; $J <= <bound>; $J += 2)",
  "for (int $J = (<bound>) - 1; $J >= 0; $J--)", "for (unsigned $J = <low>; $J < <bound>; $J++)",
  "for (int $J = <low>, e$N = <bound>; $J < e$N; $J++)",
  "for (int $J = 0; $J != (<bound> & 31); $J++)",
  "#pragma unroll\n  for (int $J = 0; $J < 4; $J++)",
  "for (int $J = lane & 3; $J < <bound>; $J += 4)",
  "for (short $J = 0; $J < <bound>; $J++)", "for (long long $J = <low>; $J < <bound>; $J++)",
  "for (int $J = 0; $J < taps; $J++)", "for (int $J = 0; $J < length[t & 63]; $J++)",
  "for (int $J = <low>; <bound> > $J; $J += w1)")
rule("loop", "<head> {\n    <steps>\n  }", "<head> {\n    <steps>\n  }", "<head> <sum>",
  "<head> {\n    <steps>\n    <head i$N> {\n      <steps i$N>\n    }\n    <steps>\n  }",
  "<head> {\n    <head i$N>\n      <sum i$N>\n    <step>\n  }",
  "{ int $J = <low>; while ($J < <bound>) { <sum> $J++; <step> } }",
  "{ int $J = <low>; do { <steps> $J++; } while ($J < <bound>); }",
  "<head> {\n    <sum>\n  }\n  <head> {\n    <own> <set> <value>;\n  }",
  "{ int $J; for ($J = <low>; $J < <bound>; $J++) { <jump> <sum> } s += $J; }",
  "if (<bound> > 0) <head> {\n    <steps>\n  }",
  "for (int $J = 1; $J < 8; $J++) out[512 + t * 8 + $J] += out[512 + t * 8 + $J - 1] + <load>;",
  "{ int $J = 0; for (; $J < <bound> && <load> != s; $J++) ; s += $J; }")
rule("plain", "<own k> <set> <value k>;", "if (<cond k>) { <own k> <set> <value k>; }", "<sum k>",
  "if (<cond k>) <loop j$N> else <sum k>", "{ float *row$N = &out[t]; <loop j$N> row$N[0] += s; }",
  "for (int r = 0; r < 2; r++) { int at = n > r ? t : -100000; <loop j$N> }",
  "if (lane == 0) { <loop j$N> out[t] = s; }", "if (t == 0) { <loop j$N> out[t] = s; }",
  "if (<cond k>) return;", "atomicAdd(&out[2048 + (<bin k>)], <load k>);",
  "float4 v$N = make_float4(a[t], b[t], 1.0f, s); s += v$N.x * v$N.w;")

-- ---- what a block's threads do together: only where all of them come ---------------------------

rule("together",
  "__syncthreads(); tile[3][lane] = s; __syncthreads(); s += tile[3][63 - lane];",
  [[__syncthreads(); tile[0][lane] = <load k>;
  __syncthreads(); <own k> += tile[0][lane ^ <mask>];]],
  [[__syncthreads();
  tile[2][lane] = s;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (lane < half) tile[2][lane] += tile[2][lane + half];
    __syncthreads();
  }
  s += tile[2][0];]],
  [[__syncthreads();
  for (int i = lane; i < n; i += blockDim.x) tile[3][i & 63] = a[i];
  __syncthreads();
  s += tile[3][<place>];]],
  "for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o);",
  "for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);",
  "s += __shfl_sync(0xffffffffu, s, <mask> & 31);", "k += __popc(__ballot_sync(~0u, <cond k>));",
  [[float part = 0;
  for (int i = lane & 31; i < n; i += 32) part += a[(t / 32) * 64 + i];
  for (int o = 16; o > 0; o /= 2) part += __shfl_down_sync(0xffffffffu, part, o);
  if ((lane & 31) == 0) out[t] = part;]],
  [[__syncthreads();
  if (lane < 8) tile[2][lane] = 0;
  __syncthreads();
  for (int i = lane; i < n; i += 64) atomicAdd(&tile[2][(int)a[i] & 7], 1.0f);
  __syncthreads();
  if (lane < 8) atomicAdd(&out[2048 + lane], tile[2][lane]);]],
  [[for (int base = 0; base < n; base += 64) {
    tile[0][lane] = a[base + lane];
    __syncthreads();
    for (int i = 0; i < 64 && base + i < n; i++) s += tile[0][i] * <load i>;
    __syncthreads();
  }]],
  "if (lane == 0) { for (int i = 0; i < n; i++) { s += a[i]; out[2100 + blockIdx.x] = s; } }",
  "if (__syncthreads_or(<cond k>)) s += 1.0f;")
rule("mask", "1", "3", "16", "31", "32", "33", "63")
rule("place", "lane", "lane", "(lane + 1) & 63", "lane ^ 1", "lane / 2", "0", "n & 63")

-- ---- kernels ----------------------------------------------------------------------------------

rule("thread", "blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x + blockIdx.x * blockDim.x",
  "blockIdx.x * 64 + threadIdx.x")
rule("name", "float *z = out;", "auto z = out + 128;", "auto *z = &out[0];",
  "float *z; z = out + 128;", "float *z = n > 2 ? out : out + 128;",
  "typedef float *Pointer; Pointer z = out;", "float *const z = out + 128;")
rule("place_name", "float &here = out[t];", "auto &here = tile[1][lane];",
  "float &here = tile[1][lane];",
  "float (*rows)[64] = tile; float &here = rows[1][lane];", "auto &here = z[t];")
rule("same", "const float &same = out[t];", "float same = a[t];",
  "const auto &same = tile[1][lane];",
  "const float same = out[t + 128];")
-- Rewritings ask for a plain thread's index with a guard, or for loops over all work.
rule("kernel",
  [[<names>
  <plain>
  <loop j>
  <end>]],
  [[<names>
  <loop j>
  <plain>
  <loop j>
  <end>]],
  [[<names>
  <together>
  <loop j>
  <together>
  <end>]],
  [[<names>
  <together>
  <together>
  <end>]],
  [[int t = <thread>, w = 2;
  if (t < n) {
    float s = <start>;
    for (int j = <low2>; j < <bound2>; j++) { <row> <maybe> }
    out[t] = s;
  }]],
  [[int t = <thread>;
  if (t >= n) return;
  float s = <start>;
  <maybe2>
  for (int j = 0; j < <bound2>; j++) { <row> <row> }
  out[t] = s;
  <maybe2>]],
  [[int t = <thread>;
  if (t < n) { <simple> <simple> }]],
  [[for (int t = <thread>; t < n; t += gridDim.x * blockDim.x) { <simple> }]],
  [[int t = <thread>; float s = <start>;
  for (int j = t; j < n; j += blockDim.x * gridDim.x) { s += a[j] * b[j]; <maybe3> }
  atomicAdd(&out[2048], s);]],
  [[__shared__ float tile[64];
  int lane = threadIdx.x, t = <thread>; float s = <start>;
  for (int j = lane; j < n; j += blockDim.x) s <gather> a[blockIdx.x * 128 + j];
  tile[lane] = s;
  __syncthreads();
  for (int half = 32; half > <stop>; half >>= 1) {
    if (lane < half) tile[lane] <gather> tile[lane + half];
    __syncthreads();
  }
  <after>]],
  [[int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  <rows>float s = <start>;
  for (int j = lane; j < n; j += 32) { s += a[row * 64 + j] <times>; <maybe3> }
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (lane == 0) out[row] = s;]],
  [[if (blockIdx.x == 0 && threadIdx.x == 0) {
    float s = <start>;
    for (int j = 0; j < n; j++) { <single> }
    out[0] = s;
  }]],
  [[int t = <thread>, m = n / 2, w = n & 3, at = n > 0 ? t : -100000;
  int far = n > 20 ? t : -100000; float s = <start>, s2 = b[3];
  <alias>
  for (int j = <low2>; j < <bound2>; j++) { <inner j> <inner j> <inner j> }
  out[t + 256] = s + s2 + w;]],
  [[int t = <thread>, m = n / 2, w = n & 3, at = n > 0 ? t : -100000;
  int far = n > 20 ? t : -100000; float s = <start>, s2 = b[3];
  <alias>
  for (int j = <low2>; j < <bound2>; j++) { <inner j> }
  <inner0>
  for (int i = <low2>; i < <bound2>; i++) { <inner i> <inner i> }
  out[t + 256] = s + s2 + w;]],
  [[int t = <thread>, m = 4, w = n & 3, at = n > 0 ? t : -100000; float *z = out;
  int far = n > 20 ? t : -100000; float s = <start>, s2 = 0;
  for (int j = 0; j < n; j++) { <inner j> }
  for (int j = 0; j < n; j++) { <inner j> <inner j> }
  out[t + 256] = s + s2 + w;]],
  [[int t = <thread>;
  if (t < n) {
    float s = <start>;
    for (int j = 0; j < <bound2>; j++) <lanes>
    out[t + 256] = s;
  }]],
  [[int t = <thread>;
  if (t >= n) return;
  float s = <start>; int at = 0;
  for (int j = <low2>; j < <bound2>; j++) { <lanes> <maybe4> }
  out[t + 256] = s + at;]],
  [[int t = <thread>, far = n > 20 ? t : -100000, at = n > 0 ? t : -100000; float s = 0;
  for (int j = 0; j < <bound2>; j++) { <risky> }
  out[t + 256] = s;]],
  [[int t = <thread>, far = n > 20 ? t : -100000, at = n > 0 ? t : -100000; float s = 0;
  <neutral>
  for (int j = 0; j < <bound2>; j++) { <neutral> <risky> }
  out[t + 256] = s;]],
  [[__shared__ float tile[64]; int t = <thread>, lane = threadIdx.x, k = 0; float s = 0;
  tile[lane] = a[t];
  __syncthreads();
  for (; k < <few>; k++) { <neutral2> if (<differs>) <leave> }
  <by_k>
  out[t + 256] = s + k;]],
  [[float s = 0, most = 0; int w = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { s += a[i]; <told> }
  <after3>]],
  [[__shared__ float mine[64]; float *other = mine;
  int t = <thread>, lane = threadIdx.x;
  mine[lane] = a[t];
  for (int j = 0; j < <bound3>; j++) { mine[lane] += b[j]; <maybe5> }
  <maybe5>
  out[t] = mine[lane];]],
  [[int t = <thread>; float s = 0, q = 1.0f; <alias2>
  for (int j = 0; j < <bound2>; j++) s += a[t * 8 + j];
  out[t] = s <maybe6>;
  for (int j = 0; j < <bound2>; j++) q += b[j] <maybe6>;
  out[t + 128] = q <maybe6>;]],
  [[int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  int c = n < 16 ? n : 16, w = <width>;
  if (x >= c || y >= w) return;
  float s = <start>; int t = y * 16 + x;
  for (int j = 0; j < <bound2>; j++) s += a[<places>] * b[j];
  <alias2> <simple2>
  out[<places2>] = s;]],
  [[int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  __shared__ float tile[8][8]; int i = threadIdx.x, t = y * 16 + x;
  tile[threadIdx.y][i] = x < n ? a[t] : 0.0f;
  __syncthreads();
  out[<places2>] = tile[<turned>] + b[x];]],
  [[float s = <start>; int w = n & 3; float *z = out;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { <strided> <maybe7> }
  <after2>]],
  [[float s = <start>; int w = n & 3; float *z = out;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * 1024 + i] = a[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    s += out[blockIdx.x * 1024 + <back>]; <maybe7>
  }
  atomicAdd(&out[3000], s);]])

-- ---- kernels of kinds that the idioms above leave out -------------------------------------------

-- Ranges, of which some are empty and begin at -1.
rule("range_kernel",
  [[int t = <thread>, at = first[t & 63], m = length[t & 63], w = n & 3; float s = <start>;
  for (int j = 0; j < m; j++) { <ranged> }
  out[t] = s;]],
  [[int t = <thread>, w = n & 3; float s = <start>;
  for (int j = first[t & 63], m = j + length[t & 63]; j < m; j++) { <ranged2> <maybe3> }
  out[t] = s;]],
  [[int t = <thread>, w = n & 3; float s = <start>;
  for (int i = 0; i < (n & 7); i++) {
    int at = first[i], m = length[i];
    for (int j = 0; j < m; j++) { <ranged> }
  }
  out[t] = s;]],
  [[int row = blockIdx.x, lane = threadIdx.x, t = <thread>, w = 1; __shared__ float sum[64];
  float s = 0; int at = first[row], m = length[row];
  for (int j = lane; j < m; j += blockDim.x) { <ranged> }
  sum[lane] = s;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (lane < half) sum[lane] += sum[lane + half];
    __syncthreads();
  }
  if (lane == 0) out[row] = sum[0];]])
rule("ranged", "s += a[at + j];", "s += a[at + j] * b[at];",
  "s += a[at + j]; out[t + 128] += b[at];",
  "if (a[at + j] > s) s = a[at + j];", "s += b[at] * a[j];", "if (b[at] > 0) s += a[at + j];",
  "s += a[at + j] / b[at];", "if (a[at + j] < 0) break; s += b[at];", "w = first[w & 63];",
  "out[512 + t * 8 + (j & 7)] = a[at + j] - b[at];", "s += w > 1 ? a[at] : b[j];")
rule("ranged2", "s += a[j];", "s += a[j] * b[first[t & 63]];", "s += a[j] + b[j];",
  "s = fmaxf(s, a[j]);", "if (a[j] < 0) continue; s += b[first[t & 63]];", "out[t + 128] += a[j];")
-- Two results, each of an array of its own.
rule("two_kernel",
  [[int t = <thread>;
  if (t >= n) return;
  float s = <start>, q = <start>;
  for (int j = 0; j < <bound2>; j++) <first_of_two>
  <maybe9> out[t] = s;
  for (int j = 0; j < <bound2>; j++) <second_of_two>
  more[t] = q;]],
  [[int t = <thread>; float q = 0;
  if (t < n) {
    float s = 0;
    for (int j = 0; j < <bound2>; j++) { <first_of_two> <second_of_two> }
    out[t] = s;
    more[t] = q <maybe10>;
  }]],
  [[__shared__ float x[64], y[64]; int lane = threadIdx.x, t = <thread>; float q = 0, s = 0;
  x[lane] = a[t]; <maybe11>
  __syncthreads();
  for (int j = 0; j < 64; j++) s += x[j];
  out[t] = s;
  y[lane] = b[t];
  __syncthreads();
  for (int j = 0; j < 64; j++) q += y[j] <maybe12>;
  more[t] = q;]],
  [[int t = <thread>; float *z = more + 128; if (t >= n) return;
  for (int j = 0; j < 8; j++) <two_stores>
  for (int j = 0; j < 8; j++) <two_stores>]])
rule("first_of_two", "s += a[t * 8 + j];", "{ s += a[j]; if (s > 9.0f) break; }",
  "s += b[j] * a[t];",
  "s = fmaxf(s, a[t * 8 + j]);", "out[t] += b[j];", "{ s += b[j]; q += 1.0f; }")
rule("second_of_two", "q += b[j];", "q = fminf(q, a[t * 8 + j]);", "q += a[t] * b[j];",
  "more[t + 128] += a[j];", "{ q += out[t]; }", "{ q += s; }",
  "{ if (b[j] < 0) continue; q += b[j]; }")
rule("maybe9", "", "", "if (s > 90.0f) return;", "more[t] = s;", "q = s;", "out[t + 128] = q;")
rule("maybe10", "", "", "+ s", "+ out[t]", "+ a[t]")
rule("maybe11", "", "", "y[lane] = 0;", "x[lane ^ 1] = 0;", "more[t + 128] = 1;")
rule("maybe12", "", "", "* x[j]", "+ out[t]", "+ s")
rule("two_stores", "out[512 + t * 8 + j] = a[t * 8 + j];", "more[512 + t * 8 + j] = b[j];",
  "z[512 + t * 8 + j] = a[j];", "more[512 + t * 8 + j] += out[512 + t * 8 + j];",
  "{ if (a[j] < 0) continue; more[t] += a[j]; }", "out[t] += more[t] + j;")
-- Two kernels, one behind the other.
rule("pair_kernel",
  [[int t = <thread>;
  if (t < n) { <simple> }
}

extern "C" __global__ void k2(<params2>)
{
  int t = <thread>;
  if (t < n) { <second> }]],
  [[int t = <thread>; float s = 0;
  for (int j = 0; j < <bound2>; j++) { s += a[t * 8 + j]; <maybe3> }
  out[t] = s;
}

extern "C" __global__ void k2(<params2>)
{
  for (int t = <thread>; t < n; t += blockDim.x * gridDim.x) { <second> }]])
rule("params2", "float *out, const float *b, int n", "float *out, int n, const float *b",
  "int n, float *out, float *more, const float *b")
rule("second", "out[t] += b[t];", "out[t] = out[t] * 0.5f;", "out[t + 128] = out[t];",
  "out[t + 128] = out[t > 0 ? t - 1 : 0];", "if (out[t] > 1.0f) out[t] = b[t];",
  "out[t + 256] = out[n - 1 - t];",
  "float s = 0; for (int j = 0; j < 8; j++) s += b[j]; out[t] = s;",
  "atomicAdd(&out[2048 + (t & 3)], out[t]);")
-- Tiles of a product, of a stencil; threads of a block along x and y.
rule("tile_kernel",
  [[__shared__ float left[8][<pitch>], right[8][<pitch>];
  int i = threadIdx.x, j = threadIdx.y, x = blockIdx.x * 8 + i, y = blockIdx.y * 8 + j;
  float s = <start>;
  for (int base = 0; base < <depth>; base += 8) {
    left[j][i] = <left>;
    right[j][i] = b[(base + j) * 16 + x];
    __syncthreads();
    <unroll>for (int q = 0; q < 8; q++) s += left[j][q] * right[q][i]; <maybe13>
    __syncthreads();
  }
  <stored>]],
  [[int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float s = <start>;
  if (x >= <side> || y >= 16) return;
  for (int q = <low3>; q < <depth2>; q++) <multiplied>
  <stored>]],
  [[int y = blockIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= <side>) return;
  float s = <start4>;
  for (int q = <low3>; q < <depth2>; q++) <multiplied>
  <stored>]],
  [[const int x = blockIdx.x * blockDim.x + threadIdx.x, w = <pitch2>;
  const int y = threadIdx.y + blockDim.y * blockIdx.y;
  <alias3>
  if (x < <side> && y < <side> <and>) {
    float s = <start4>;
    for (int q = 0; q < <depth2>; q++) <multiplied>
    <stored> <maybe16>
  }]],
  [[int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= <side> || y >= 15) return;
  out[y * 16 + x] = <stencil>;]],
  [[__shared__ float cell[10][10];
  int i = threadIdx.x, j = threadIdx.y, x = blockIdx.x * 8 + i, y = blockIdx.y * 8 + j;
  for (int q = j; q < 10; q += 8)
    for (int p = i; p < 10; p += 8) cell[q][p] = a[(blockIdx.y * 8 + q) * 18 + blockIdx.x * 8 + p];
  __syncthreads();
  float s = 0;
  for (int q = 0; q < 3; q++) for (int p = 0; p < 3; p++) s += cell[j + q][i + p] * b[q * 3 + p];
  if (x < n) out[y * 16 + x] = s;]])
rule("pitch", "8", "9", "8 + 1")
rule("depth", "n", "16", "8", "(n & 31)")
rule("depth2", "n", "16", "(n & 31)", "n", "y", "x & 7", "n - 2", "7", "y + 1", "x - 2")
rule("low3", "0", "0", "4", "1", "x & 3", "x", "y + 1")
rule("start4", "0.0f", "0", "b[x]", "n")
rule("pitch2", "16", "n", "13", "20")
rule("alias3", "", "", "float *z = out; z[1024 + y * 32 + x] = b[x];", "if (n == 5) return;",
  "const float *a2 = out;")
rule("and", "", "", "", "&& x <= y", "&& n > 2", "&& a[x] > 0.0f")
rule("multiplied", "s += a[y * 16 + q] * b[q * 16 + x];", "s += a[y * 16 + q] * b[q * 16 + x];",
  "s += a[q * 16 + y] * b[q * 20 + x + 4];", "s -= b[x * 20 + q] * a[y * 20 + q];",
  "s += (a[y * 16 + q] - b[x * 16 + q]) * (a[y * 16 + q] - b[x * 16 + q]);",
  "s += fabsf(a[y * n + q] - b[q * n + x]) * 2.0f;", "s = s + a[y * 16 + q] * b[q * 16 + x];",
  "s += a[y * 16 + q] * b[q * 16 + x] + 1.0f;", "s += a[y * 16 + q] * out[q * 16 + x];",
  "s += a[y * 16 + q] * b[q];", "s += a[(y + x) * 16 + q] * b[q * 16 + x];",
  "s += a[y * 16 + q] * b[(q & 3) * 16 + x] * 0.5f;", "s += a[y * 16 + q] / b[q * 16 + x + 1024];",
  "{ if (q == 9) break; s += a[y * 16 + q] * b[q * 16 + x]; }",
  "s = fmaf(a[y * 16 + q], b[q * 16 + x], s);", "s = fmaf(a[y * 16 + q], b[q * 16 + x], s + 1.0f);",
  "for (int p = <low4>; p < <depth3>; p++) s += a[y * 16 + q + p] * b[(q * 3 + p) * 16 + x];",
  "for (int p = 0; p <= 2; p++) for (int r = 1; r < <depth3>; r++)"
    .. " s -= a[y * 16 + p + q] * b[(q + r) * 16 + x + p];")
rule("low4", "0", "0", "1", "q")
rule("depth3", "3", "3", "4", "n", "q", "x")
rule("maybe16", "", "", "out[512 + y * 16 + x] = b[x];", "if (s > 9.0f) return;",
  "s = s + 1.0f; out[1024 + y * 32 + x] = s;")
rule("side", "(n < 16 ? n : 16)", "16", "(n & 15)")
rule("left", "a[y * 16 + base + i]", "base + i < n ? a[y * 16 + base + i] : 0.0f",
  "a[(base + i) * 16 + y]")
rule("unroll", "", "#pragma unroll\n    ")
rule("maybe13", "", "", "if (s > 90.0f) s = 0;", "out[512 + y * 16 + x] = s;")
rule("stored", "out[y * 16 + x] = s;", "if (x < (n & 15)) out[y * 16 + x] += s;",
  "out[x * 16 + y] = s;",
  "if (x < 13 && y < n) out[y * 16 + x] = s;")
rule("stencil", "a[y * 16 + x - 1] + a[y * 16 + x + 1] + a[(y - 1) * 16 + x] - b[0]",
  "a[y * 16 + x] * b[x] + out[y * 16 + x]", "0.25f * (a[y * 16 + x - 1] + a[(y + 1) * 16 + x])")
-- Rows that the lanes of a warp share.
rule("lanes_kernel",
  [[int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x & 31;
  <rows>float s = <start2>;
  for (int j = lane; j < n; j += 32) { s += a[row * 64 + j] <times>; <maybe3> }
  <exchange>
  if (lane == <teller>) out[row] = s;]],
  [[const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = blockIdx.x * 2 + warp;
  <rows>float s = <start2>; int j = lane;
  while (j < n) { s = fmaxf(s, a[row * 64 + j]); j += 32; }
  for (int o = 16; o > 0; o >>= 1) s = fmaxf(s, __shfl_xor_sync(0xffffffffu, s, o));
  if (lane == <teller>) out[row] = s;
  <lane_loop>]],
  [[int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  <rows>float s = <start2>;
  for (int j = lane; j < n; j += 32) s += a[row * 64 + j] <times>;
  <exchange>
  if (lane == 0) out[row] = s;]])
rule("start2", "0.0f", "0", "a[lane]")
rule("exchange", "for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);",
  "for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o);",
  "for (int o = 1; o < 32; o <<= 1) s += __shfl_xor_sync(~0u, s, o);",
  "s += __shfl_down_sync(~0u, s, 16); s += __shfl_down_sync(~0u, s, 8); "
  .. "s += __shfl_down_sync(~0u, s, 4);\n  s += __shfl_down_sync(~0u, s, 2); "
  .. "s += __shfl_down_sync(~0u, s, 1);",
  "s = fmaxf(s, __shfl_down_sync(~0u, s, 1));")
rule("teller", "0", "0", "31")
rule("lane_loop", "",
  "for (int j = lane; j < n; j += 32) out[512 + row * 128 + j] = a[row * 64 + j] - s;",
  "for (int j = lane; j < n; j += 32) out[512 + row * 128 + j] += s;")
-- Blocks of one warp: __launch_bounds__(32).
rule("warp_kernel",
  [[__shared__ float tile[32]; int lane = threadIdx.x, t = <thread>; float s = 0;
  tile[lane] = a[t];
  __syncthreads();
  s += tile[lane ^ <mask32>];
  __syncthreads();
  tile[31 - lane] = s + b[lane];
  __syncthreads();
  <of_warp>]],
  [[__shared__ float tile[32]; int lane = threadIdx.x, t = <thread>; float s = <start>;
  for (int base = 0; base < n; base += 32) {
    tile[lane] = a[base + lane];
    __syncthreads();
    for (int j = 0; j < 32; j++) s += tile[j] * b[j];
    __syncthreads();
  }
  <of_warp>]])
rule("mask32", "1", "31", "16", "3")
rule("of_warp", "out[t] = tile[lane] + s;", "if (lane == 0) out[t] = tile[5];",
  "if (tile[lane] > 0) return; __syncthreads(); out[t] = tile[0];",
  "for (int j = 0; j < n; j++) s += tile[j & 31]; out[t] = s;")
-- Numbers of 64 bits, of double precision; a number of all launches.
rule("wide_kernel",
  [[<wide> t = (<wide>)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  float s = 0;
  for (<wide> j = 0; j < <bound2>; j++) s += a[t * 8 + j] * b[<widened>];
  out[t] = s + (<wide>)<widened2>;]],
  [[int t = <thread>; double s = <start>, q = 1.0;
  for (int j = 0; j < <bound2>; j++) { s += a[t * 8 + j] * 0.5; <doubled> }
  out[t] = s + q;]],
  [[int t = <thread>, w = n & 3; float s = <start>;
  for (int j = 0; j < taps; j++) { <row> <maybe> }
  out[t] = s + w;]],
  [[int t = <thread>, w = n & 3; float s = <start>;
  for (int j = 0; j < n / taps; j++) { s += a[j * taps + t % taps]; <row> }
  out[t] = s + w;]],
  [[int t = <thread>, at = -1;
  for (int j = <low2>; j < <bound2>; j++) if (a[t * 8 + j] <sought>) { at = j; break; }
  out[t] = at;]])
-- Integers that drop a fraction in each iteration, or wrap around.
rule("whole_kernel",
  [[int t = <thread>; <integer> c = 0, m = 1; if (t >= n) return;
  for (int j = 0; j < <bound2>; j++) { <counting> }
  out[t] = c + m;]],
  [[int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31; int c = 0;
  for (int j = lane; j < n; j += 32) c += a[row * 64 + j] <times>;
  for (int o = 16; o > 0; o >>= 1) c += __shfl_xor_sync(0xffffffffu, c, o);
  if (lane == 0) out[row] = c;]])
rule("integer", "int", "long long", "short", "Whole", "unsigned char")
rule("counting", "c += a[t * 8 + j];", "c += a[t * 8 + j] > 0.0f;", "c = c - a[j] * b[t & 15];",
  "c += (int)a[t * 8 + j]; m *= -1;", "if (a[t * 8 + j] > c) { c = a[t * 8 + j]; m = j; }",
  "c += __popc(j) + j % 3;", "m = fmaxf(m, a[t * 8 + j]);", "c += part(a[t * 8 + j]);",
  "if (a[j] > 1) c++;", "c += first[(t + j) & 63];")
rule("wide", "long long", "size_t", "unsigned long long", "long")
rule("widened", "j", "j % 3", "(t + j) & 63", "n - 1 - j & 63")
rule("widened2", "n * 3", "(t << 2)", "t / 3")
rule("doubled", "", "q *= 0.5;", "if (s > 3.0) break;", "q += fabs(s);",
  "q = fmax(q, (double)b[j]);",
  "float f = s; q += f;")
rule("sought", "> 3.0f", "== b[t]", "!= a[t]", "== -3.0f", "== 2.0f || b[j] < 0.0f")
-- What is carried from one round to the next, and loops alike.
rule("carried_kernel",
  [[int t = <thread>; float *x = out + 512 + t * 8;
  <start3>
  for (int i = 1; i < <bound4>; i++) { x[i] = <weighed> + x[i - 1]; <maybe14> }
  out[t] = x[3];]],
  [[int t = <thread>; float s = 0, q = 0;
  for (int i = 0; i < n; i++) out[512 + t * 8 + (i & 7)] = a[i] * <weighed>;
  for (int i = 0; i < n; i++) <alike>
  out[t] = s + q;]],
  [[int t = <thread>; float s = 0, q = 0;
  for (int i = 0; i < n; i++) s += a[t * 8 + (i & 7)]; for (int i = 0; i < n; i++) <alike>
  out[t] = s + q;]])
rule("start3", "", "x[0] = b[t];", "x[0] = 1.0f; if (n < 2) return;")
rule("bound4", "8", "n < 8 ? n : 8", "(n & 7)", "length[t & 63]")
rule("weighed", "b[i]", "a[t] * b[i & 3]", "a[t * 8 + i]", "b[i] * 0.5f", "fmaxf(b[i], 0.0f)")
rule("maybe14", "", "", "", "out[t + 128] = x[i];", "if (x[i] > 9.0f) break;", "x[0] += 1.0f;")
rule("alike", "q += out[512 + t * 8 + (i & 7)];", "q += b[i];",
  "{ if (b[i] < 0) break; q += b[i]; }",
  "out[512 + t * 8 + (i & 7)] += b[i];", "q += out[512 + t * 8 + ((i + 1) & 7)];", "s += q;")
-- One thread's loops.
rule("lone_kernel",
  [[__shared__ float total; int lane = threadIdx.x, t = <thread>;
  if (lane == 0) {
    float s = <start>;
    for (int j = 0; j < <bound3>; j++) { <lone> }
    total = s; <maybe15>
  }
  __syncthreads();
  out[t] = a[t] + total;]],
  [[__shared__ float bins[8]; int lane = threadIdx.x, t = <thread>;
  if (lane < 8) bins[lane] = 0;
  __syncthreads();
  for (int i = lane; i < n; i += blockDim.x) atomicAdd(&bins[<bin i>], <counted>);
  __syncthreads();
  if (lane < 8) atomicAdd(&out[2048 + lane], bins[lane]); <maybe15>]],
  [[int t = <thread>, w = n & 3; if (t >= n) return;
  if (a[t] <sought2>) atomicAdd(&out[2048 + <where>], <counted2>); <maybe15>]])
rule("lone", "s += a[j];", "s += b[j] * a[j];", "s = fmaxf(s, a[j]);", "if (a[j] > s) s = a[j];",
  "out[2100 + blockIdx.x * 128 + j] = a[j];", "s += a[j]; if (s > 20.0f) break;",
  "s = s * 0.5f + a[j];",
  "if (a[j] < 0) continue; s += 1.0f;")
rule("maybe15", "", "", "out[t + 256] = 1.0f;", "if (n > 3) return;")
rule("counted", "1.0f", "a[i]", "b[i] > 0 ? 1.0f : 0.0f")
rule("counted2", "1.0f", "a[t]", "(float)w")
rule("sought2", "> 0.0f", "== 1.0f", "!= a[t]", "< b[t]")
rule("where", "0", "w", "(t & 3)", "blockIdx.x")
for _, name in ipairs { "range", "two", "pair", "tile", "lanes", "warp", "wide", "carried",
  "lone", "whole" } do
  table.insert(RULES.kernel, "<" .. name .. "_kernel>")
  table.insert(RULES.kernel, "<" .. name .. "_kernel>")
end

-- ---- their parts --------------------------------------------------------------------------------

rule("risky", "if (n > 20) s += a[far];", "if (n > 20) s += b[j] / a[far];", "s += a[at] * b[j];",
  "if (n > 20) out[far] += b[j];", "if (n <= 20) continue; s += a[far];", "out[at] += b[j];",
  "if (n <= 20) break; s += a[far] * b[j];", "s += n > 20 ? a[far] : 0;", "s += b[j] / a[at];",
  "if (n > 20 && a[far] > 0) s += b[j];", "if (a[at] > 0) s += b[j]; else s -= b[j];",
  "if (n > 20) { if (a[far] > 0) s += b[j]; else s -= 1; }",
  "for (int q = 0; q < n; q++) s += a[at];")
rule("neutral", "", "", "s += b[3];", "float x = a[t]; s += x;", "s = s * 0.5f;", "s += t;")
rule("neutral2", "", "", "s += b[k];", "s += tile[k];", "s += 1;")
rule("few", "8", "n", "(n & 7)")
rule("differs", "a[t + k] > 2.0f", "lane == k", "tile[k] > a[t]", "t % 3 == k")
rule("leave", "break;", "break;", "{ s += 1; break; }", "continue;", "goto out_of_it;", "k += 2;")
rule("by_k", "atomicAdd(&out[2048 + (k & 7)], 1.0f);", "for (int j = 0; j < k; j++) s += b[j];",
  "s += tile[k & 63];", "out_of_it: s += b[k];", "for (int j = k; j < n; j++) s += a[j];",
  "if (k > 2) s += a[t];", "for (int j = 0; j < n; j++) { if (j == k) break; s += tile[j & 63]; }")
rule("told", "", "w = i;", "out[blockIdx.x * 1024 + i] = s;", "if (a[i] > most) most = a[i];",
  "if (a[i] > 3) w = 1;", "if (a[i] > most) { most = a[i]; w = i; }",
  "float x = a[i]; most += x * x;",
  "if (s > 9) s -= 1;", "w++;", "most = s;", "most = fmaxf(most, b[i]);")
rule("after3", "atomicAdd(&out[3000], s);", "if (threadIdx.x == 0) out[3000 + blockIdx.x] = w;",
  "atomicAdd(&out[3000], most);", "if (w) out[3001 + blockIdx.x] = 1;", "")
rule("inner", "if (n > 20) s += a[far];", "if (n > 20) out[far] += b[$J];",
  "if (n > 20) s += b[$J] / a[far];", "if (n > 20 && a[far] > 0) s += 1;",
  "out[t] += a[t * 8 + $J];", "out[t] += b[$J];", "s += a[at];", "s += a[at] * b[$J];",
  "s += b[$J] / a[at];", "s += z[t];", "z[t] = s;", "z[t] += b[$J];",
  "out[512 + t * 8 + w] += b[$J];",
  "s += a[w];", "if (n > 2) s += b[$J];", "if (b[$J] > 0) s += a[at];", "if (b[$J] < 0) break;",
  "if (b[$J] < 0) continue;", "w = $J & 3;", "s2 = fmaxf(s2, b[$J]);", "s2 += s;",
  "s2 += a[t] * a[t];",
  "out[512 + t * 8 + ($J & 7)] = a[$J] * s;", "out[512 + t * 8 + ($J & 7)] += 1.0f;",
  "s += $J / (w + 1);",
  "out[t + 128] = a[t * 8 + $J];", "for (int q = 0; q < $J; q++) s += b[q];", "s += b[$J] * 2;",
  "for (int q = 0; q < w; q++) out[t] += b[q] * a[at];", "if (w) out[t] -= 1.0f;",
  "s -= out[t + 128];",
  "at = n > 2 ? t : 0;", "if (t == $J) s2 += out[t];", "s += out[512 + t * 8 + ($J & 7)];")
rule("inner0", "", "s += z[t];", "out[t] = s;", "s2 = s;", "if (s > 9) return;", "w++;")
rule("alias", "float *z = out;", "float *z = out + 128;", "auto z = out + 512 + t * 7;",
  "float *z = n > 3 ? out : out + 128;", "float *z = out; z += 128;",
  "float *p = out; float *z = p;")
rule("alias2", "", "", "float *z = out; z[t] = 1.0f;")
rule("lanes", "s += a[t * 8 + j];", "s += a[t * 8 + j] * b[j];", "s = fmaxf(s, a[t * 8 + j]);",
  "{ s += a[t * 8 + j]; out[512 + t * 8 + (j & 7)] = s; }",
  "out[512 + t * 8 + (j & 7)] = a[t * 8 + j] + t;",
  "if (a[t * 8 + j] > s) s = a[t * 8 + j];",
  "if (a[t * 8 + j] > s) { s = a[t * 8 + j]; out[t] = j; }",
  "{ if (b[j] < 0) continue; s += b[j]; }", "{ if (b[j] < -3) break; s += b[j]; }",
  "out[t] += b[j];",
  "s += a[t * 8 + j] > 1 ? 1 : 0;", "{ s += b[j]; out[t] = s; }", "s += b[j] * j;", "s -= a[j];")
rule("maybe4", "", "", "", "at = j;", "if (s > 20) break;", "if (b[j] > s) { at = j; }",
  "at += j & 1;")
rule("maybe5", "", "", "", "__syncthreads();", "other[lane] *= 0.5f;", "__syncwarp();",
  "mine[lane] -= 1.0f;")
rule("maybe6", "", "", "", "+ out[t]", "+ a[t]", "+ s", "+ q")
rule("maybe7", "", "", "", "if (a[i] > 9) break;", "if (a[i] < 0) continue;", "w = i;",
  "i += w & 64;")
rule("width", "8", "c", "c / 2", "16")
rule("places", "y * 16 + j", "x * 16 + j", "j * 16 + x", "j * 16 + y", "t")
rule("places2", "t", "t", "x * 16 + y", "512 + x * 32 + y", "t + 256")
rule("simple2", "", "out[1024 + t] = s;", "if (s > 4) return;", "s += out[<places2>];")
rule("turned", "threadIdx.y][i", "i][threadIdx.y", "threadIdx.y][i ^ 1", "7 - threadIdx.y][i")
rule("strided", "out[blockIdx.x * 1024 + i] = a[i];", "s += a[i] * b[i];",
  "out[blockIdx.x * 1024 + i] += b[i];",
  "atomicAdd(&out[2048 + (i & 3)], a[i]);", "z[blockIdx.x * 1024 + i] = s; s += a[i];")
rule("after2", "atomicAdd(&out[3000], s);", "if (threadIdx.x == 0) out[3000 + blockIdx.x] = w;", "",
  "out[3100 + blockIdx.x * 64 + threadIdx.x] = s;")
rule("back", "i", "i", "n - 1 - i", "(i + 1) % n", "i / 2")
rule("start", "0", "0.0f", "0.0f", "b[0]", "-1e30f", "1.0f", "a[n]")
rule("low2", "0", "0", "1", "t % 2", "n / 5")
rule("bound2", "8", "n", "n", "t % 9", "(n & 7)", "(int)b[1] & 7")
rule("bound3", "8", "n", "(n & 7)", "(int)b[1] & 7")
rule("row", "s += a[t * 8 + j];", "s += a[t * 8 + j] * b[j];", "out[512 + t * 8 + (j & 7)] = s;",
  "s = fmaxf(s, a[t * 8 + j]);", "if (a[t * 8 + j] > s) s = a[t * 8 + j];",
  "out[t] += a[t * 8 + j];",
  "s += j * b[j];", "if (a[t * 8 + j] == 1.0f) { s = j; break; }", "s *= 0.5f; s += b[j];",
  "if (b[j] < 0) continue; s += a[t + j];", "s += a[j * 128 + t];", "s = s < b[j] ? b[j] : s;",
  "s += b[j] / a[t + 1];", "s += (j / 3) * b[j % 3];", "s += s < 4.0f ? a[t * 8 + j] : 0;",
  "{ if (n > 3) s += b[j]; else s -= b[j]; }", "if (t == j) s += 2.0f;", "out[128 + t] = b[j];",
  "atomicAdd(&out[2048 + (j & 3)], a[t * 8 + j]);", "s = a[t * 8 + j] > 9.0f ? 0 : s + 1;")
rule("maybe", "", "", "", "if (s > 20.0f) break;", "if (s > 9.0f) j++;", "out[128 + t] = s;",
  "w = j;")
rule("maybe2", "", "", "float *z = out + 128; z[t] = s;", "if (a[t] < 0) return;",
  "out[128 + t] = 1;")
rule("maybe3", "", "", "if (s > 30.0f) break;", "if (b[j] < 0.0f) continue;",
  "if (j == 5) s += 1.0f;")
rule("simple", "out[t] = a[t] + b[t];", "out[t] += a[t] * 0.5f;", "if (a[t] > 0) out[t] = b[t];",
  "out[t + 128] = out[t];", "float x = a[t]; out[t] = x > 1.0f ? x : -x;", "out[t] = a[n - 1 - t];",
  "out[512 + (t % 8) * 128 + t / 8] = a[t];", "atomicAdd(&out[2048 + (t & 7)], a[t]);",
  "if (b[t] > 2.0f) return;", "int k = t / 5, l = t % 5; out[t] = a[k] + b[l];",
  "auto z = out; z[t] -= b[t];", "out[t] = t > 0 ? a[t - 1] : a[t];")
rule("gather", "+=", "+=", "-=")
rule("stop", "0", "0", "16", "31")
rule("after", "if (lane == 0) out[blockIdx.x] = tile[0];", "out[t] = tile[0];",
  "if (lane == 0) atomicAdd(&out[2048], tile[0]);", "out[t] = tile[lane];")
rule("rows", "", "if (row >= (n < 4 ? n : 4)) return;\n  ", "if (row >= 3) return;\n  ")
rule("times", "", "* b[j]", "* 0.5f")
rule("single", "s += a[j];", "s += a[j]; out[128 + j] = s;", "out[j] = a[j] + b[j];",
  "if (a[j] > s) s = a[j];", "if (a[j] > 4.0f) break; s += a[j];",
  "out[j + 1] = out[j] * 0.5f + a[j];",
  "out[2048 + ((int)a[j] & 3)] += 1.0f;", "if (j % 3 == 0) continue; s += b[j];",
  "s = s * 0.5f + a[j];")
rule("names", [[int t = <thread>, lane = threadIdx.x, m = n / 2, w = n & 3, k = 0;
  int w1 = w + 1, at = n > 0 ? t : -100000;
  __shared__ float tile[4][64];
  tile[0][lane] = tile[1][lane] = tile[2][lane] = tile[3][lane] = b[t];
  float s = <first>, s2 = 0.0f, d = b[7];
  bool flag = n > 1;
  float2 pair = make_float2(a[t], b[t]);
  <name>
  <place_name>
  <same>]])
rule("first", "0.0f", "0", "a[t]", "b[lane]")
rule("end",
  "out[t + 256] = s + k + d + w + tile[1][lane] + (flag ? 1 : 0) + pair.x + s2 + at;\n  end: ;",
  "end: out[t + 256] = s + k; out[t] += d + s2 + w1 + m;\n  return;")

local PRELUDE = [[
#define COUNT 5
#define AT(x, i) x[(i) & 63]
#define PUT(x, v) do { x = v; } while (0)
__constant__ float C[8] = { 1, 2, 3, -1, 4, 0.5f, 7, -2 };
template <typename T> __device__ T twice(T x) { return x + x; }
__device__ inline float nth(const float *p, int i) { return p[i]; }
__device__ void add(float *p, float x) { *p += x; }
]]

-- A text of a rule. $J and $N are given before what the text refers to is.
local function expand(self, name, variable)
  local text = self.rng:pick(RULES[name])
  if text:find "%$N" then self.count = self.count + 1 end
  text = text:gsub("%$N", tostring(self.count)):gsub("%$J", variable or "k")
  return (text:gsub("<([%w_]+) ?(%w*)>", function(inner, other)
    if not RULES[inner] then return nil end
    return expand(self, inner, other ~= "" and other or variable)
  end))
end

-- The parameters that a body uses; `a` holds doubles where it computes with those.
local function parameters(body, restrict)
  local function uses(name) return body:find("%f[%w_]" .. name .. "%f[^%w_]") end
  local type = uses "double" and "double" or "float"
  local list = { ("float *%sout"):format(restrict), ("const %s *%sa"):format(type, restrict),
    ("const float *%sb, int n"):format(restrict) }
  if uses "more" then list[#list + 1] = "float *more" end
  if uses "first" or uses "length" then
    list[#list + 1] = "const int *first, const int *length"
  end
  if uses "taps" then list[#list + 1] = "int taps" end
  return table.concat(list, ", ")
end

local WHOLE = "typedef int Whole;\n__device__ float part(float x) { return x * 0.5f; }\n"
local HEAD = 'extern "C" __global__ void %sk(%s)\n{\n  %s\n}\n'
local BOUNDS = { "", "", "", "__launch_bounds__(64) " }
local ONE_WARP = "__launch_bounds__(32) "

--- A kernel's source.
---@param rng table
---@return string
function M.make(rng)
  local self = { rng = rng, count = 0 }
  local body = expand(self, "kernel")
  local is_soup = body:find "COUNT" or body:find "AT%(" or body:find "C%[" or body:find "twice<"
    or body:find "nth%(" or body:find "PUT" or body:find "add%("
  local restrict = rng:int(4) == 1 and "__restrict__ " or ""
  local bounds = body:find "tile%[32%]" and ONE_WARP or rng:pick(BOUNDS)
  local is_whole = body:find "Whole c" or body:find "part%("
  return (is_soup and PRELUDE or "") .. (is_whole and WHOLE or "")
    .. HEAD:format(bounds, parameters(body, restrict), body)
end

-- ---- how they are held --------------------------------------------------------------------------

local WARP, TAPS, ALL_SIZES = 32, 5, 37

-- The numbers that the host gives in all launches, of a kernel of a source.
local function values_of(source)
  return function(fn)
    local values = { n = ALL_SIZES, taps = TAPS }
    if source:find(ONE_WARP, 1, true) then values["blockDim.x"] = WARP end
    if fn.name == "k" and source:find "void k2%(" then
      local bytes = 0
      for _, p in ipairs(fn.params) do
        local own = p.pointer > 0 and 8 or 4
        bytes = (bytes + own - 1) // own * own + own
      end
      values["before.k2"] = bytes
    end
    return values
  end
end

local function numbers(text)
  local list = {}
  for n in text:gmatch "%d+" do list[#list + 1] = math.tointeger(n) end
  return list
end

-- The launch of a source: as its first line says, or as its indices want it.
local function launch_of(source)
  local grid, block = source:match "^// launch ([%d,]+) ([%d,]+)\n"
  if grid then return numbers(grid), numbers(block), true end
  if source:find "blockDim%.y %+ threadIdx%.y, lane" then return { 2 }, { WARP, 2 }, true end
  if source:find "threadIdx%.y" then return { 2, 2 }, { 8, 8 }, true end
  if source:find "blockIdx%.y" then return { 2, 64 }, { 8 }, true end
  if source:find(ONE_WARP, 1, true) then return { 4 }, { WARP }, true end
  return { 2 }, { 64 }, false
end

local ALWAYS = { { 0, "plain" }, { 1, "plain" }, { ALL_SIZES, "plain" } }
local OTHERS = { { 7, "nan" }, { 64, "ties" }, { 100, "whole" }, { 33, "literals" }, { 20, "tiny" },
  { 40, "nan" }, { 5, "literals" }, { 24, "plain", overlap = { a = 2200, b = 2100 } },
  { 9, "plain", overlap = { more = 128, b = 1 } } }
-- Blocks that do not divide what there is, or are no whole warps; arrays that overlap, as one
-- thread sees them.
local OTHER_SHAPES = { { 50, "plain", grid = 3, block = 40 }, { 29, "plain", grid = 1, block = 33 },
  { 110, "plain", grid = 4, block = 32 }, { 100, "ties", grid = 1, block = 128 },
  { 12, "plain", grid = 1, block = 1, overlap = { a = 1, b = 128 } },
  { 7, "literals", grid = 1, block = 1, overlap = { a = 0, b = 2 } } }
-- What counts on blocks of 64 threads, or on whole warps that have a row each.
local COUNTS = { "%* 64 %+ threadIdx", "/ 32", "%% 32", "& 31", "&31", "%%32", "/32", "%*64" }
local DRAWN = 5

--- How such a kernel is held (tests/lua/held.lua): no work, little, more than a block's and as much
--- as not divides, on data with NaN, infinities and subnormals, equal numbers, and those that the
--- source has; of other runs all, or some, drawn with a generator.
---@param source string
---@param more table what else is asked
function M.held(source, more)
  local grid, block, is_fixed = launch_of(source)
  local options = { grid = grid, block = block, races = true, values = values_of(source),
    runs = table.move(ALWAYS, 1, #ALWAYS, 1, {}) }
  local others = table.move(OTHERS, 1, #OTHERS, 1, {})
  for _, pattern in ipairs(COUNTS) do is_fixed = is_fixed or source:find(pattern) ~= nil end
  if not is_fixed then table.move(OTHER_SHAPES, 1, #OTHER_SHAPES, #others + 1, others) end
  for _ = 1, more.rng and DRAWN or #others do
    table.insert(options.runs, table.remove(others, more.rng and more.rng:int(#others) or 1))
  end
  if source:find "__restrict__" then
    for i = #options.runs, 1, -1 do
      if options.runs[i].overlap then table.remove(options.runs, i) end
    end
  end
  for key, value in pairs(more) do options[key] = value end
  return options
end

return M
