-- Traps: kernels on which a rewriting is wrong that does not ask one certain thing, a few for each
-- kind of mistake. Every proposal, with all its arguments, answers as the kernel does or is MARKED.

package.path = "tests/fuzz/?.lua;tests/lua/?.lua;" .. package.path
local held = require "held"
local madekernels = require "madekernels"
local rewritten = require "rewritten"
local tap = require "tap"

local T = "  int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x;\n"

local TRAPS = {
  { "a second name that is given in a condition", [[
  float *z = out + 128;
  if (n > 30) z = out;
  float x = out[t] + a[t];
  z[t] = x + a[t];
  out[t] = out[t] + x;]] },
  { "a second name in a struct", [[
  struct { float *p; } view = { out };
  for (int i = 0; i < n; i++) { out[t] += a[i]; view.p[t] *= 0.5f; }]] },
  { "a second name by the address of a row", [[
  __shared__ float s[4][64];
  float (*row)[64] = &s[1];
  s[1][lane] = a[t];
  float sum = 0;
  for (int i = 0; i < 5; i++) { sum += s[1][lane]; (*row)[lane] = sum + b[i]; }
  out[t] = sum;]] },
  { "a reference that is made in each round", [[
  for (int i = 0; i < 8; i++) {
    float &place = out[t + 128 * (i & 1)];
    place += a[i] + out[t];
  }]] },
  { "a reference to what is reused", [[
  __shared__ float s[64];
  s[lane] = a[t];
  const float &now = s[lane];
  float before = s[lane] + s[lane];
  s[lane] = before + 1;
  before += s[lane];
  out[t] = before + now;]] },
  { "no round, an index of -1", [[
  int last = n - 1000;
  float sum = 0;
  for (int i = 0; i < last; i++) sum += b[last] * a[i];
  out[t] = sum;]] },
  { "no round for some threads", [[
  int at = t % 3 ? t : -100000;
  for (int i = 0; i < t % 3; i++) out[at] += b[i] * a[at];]] },
  { "a first round that is left before the load", [[
  int at = n > 5 ? t : -100000;
  float sum = 0;
  for (int i = 0; i < 6; i++) { if (i >= n || n <= 5) break; sum += a[at]; }
  out[t] = sum;]] },
  { "behind &&, in a condition of the loop's", [[
  int at = n > 5 ? t : -100000;
  float sum = 0;
  for (int i = 0; i < 6; i++) if (n > 5 && a[at] > 0) sum += b[i];
  out[t] = sum;]] },
  { "a quotient whose divisor is 0 where nothing divides", [[
  float d = b[n], sum = 0;
  for (int i = 0; i < n; i++) if (d != 0) sum += a[i] / d;
  out[t] = sum > 0 ? 1 : sum == 0 ? 2 : 3;]] },
  { "a quotient that is compared", [[
  float d = b[3], sum = 0;
  for (int i = 0; i < n; i++) { float q = a[i] / d; if (q >= 1.0f) sum += 1; }
  out[t] = sum;]] },
  { "a remainder of what is below zero", [[
  int sum = 0, low = -5;
  for (int i = low; i < n; i++) sum += (i % 3) * 10 + i / 4;
  out[t] = sum + (low - t) % 7 + (low - t) / 3;]] },
  { "a remainder by a number that may be 0 or less", [[
  int sum = 0, m = n > 7 ? n - 50 : 3;
  for (int i = 0; i < n; i++) if (m != 0) sum += i % m;
  out[t] = sum;]] },
  { "shared by a block, but for what a thread left", [[
  __shared__ float s[64];
  s[lane] = a[t];
  __syncthreads();
  int k = 0;
  for (; k < 8; k++) if (a[t + k] > 2.0f) break;
  out[t] = s[k] + k;]] },
  { "one for all, but for the block", [[
  float top = 0;
  for (int i = 0; i < 8; i++) { top += b[i]; if (top > 2.0f * blockIdx.x) top -= 1; }
  out[t] = top;]] },
  { "a guard that asks for data", [[
  if (a[lane] > 1.0f) return;
  out[t + 256] = a[t] + 1;]] },
  { "a value of the lane's by a ternary", [[
  int k = 0;
  k = a[t] > 0 ? 1 : k;
  atomicAdd(&out[2048 + k], 1.0f);]] },
  { "lanes that are gone", [[
  if (t % 5 == 2) return;
  atomicAdd(&out[2048], 1.0f);
  for (int i = 0; i < n; i++) out[t] += a[i];]] },
  { "a barrier that parts two warps", [[
  __shared__ float s[64];
  s[lane] = a[t];
  __syncthreads();
  float x = s[lane ^ 32];
  __syncthreads();
  s[lane ^ 32] = x + 1;
  out[t] = x;]] },
  { "a barrier between a loop's rounds", [[
  __shared__ float s[64];
  for (int i = 0; i < 3; i++) {
    s[lane] = a[t + i];
    __syncthreads();
    out[512 + t * 8 + i] = s[63 - lane];
    __syncthreads();
  }]] },
  { "a tree whose other elements are read, too", [[
  __shared__ float s[64];
  s[lane] = a[t];
  __syncthreads();
  for (int k = 32; k > 0; k /= 2) {
    if (lane < k) s[lane] += s[lane + k];
    __syncthreads();
  }
  out[t] = s[0] + s[1];]] },
  { "a stride by which some threads have no round", [[
  float most = -1;
  for (int i = lane; i < n; i += blockDim.x) most = fmaxf(most, a[i]);
  atomicAdd(&out[2048], most);]] },
  { "a sum that each block begins", [[
  float sum = b[2];
  for (int i = t; i < n; i += blockDim.x * gridDim.x) sum += a[i];
  atomicAdd(&out[2048], sum);]] },
  { "a row whose sum is asked for halfway", [[
  if (t >= n) return;
  float sum = 0;
  for (int j = 0; j < 8; j++) { sum += a[t * 8 + j]; if (sum > 3.0f) out[t + 128] = j; }
  out[t] = sum;]] },
  { "a row that ends with the first NaN", [[
  if (t >= n) return;
  float most = a[t * 8];
  for (int j = 0; j < 8; j++) most = a[t * 8 + j] > most ? a[t * 8 + j] : most;
  out[t] = most;]] },
  { "the last of equal ones", [[
  if (t >= n) return;
  float most = -1e30f;
  int at = -1;
  for (int j = 0; j < 8; j++) if (a[t * 8 + j] >= most) { most = a[t * 8 + j]; at = j; }
  out[t] = at;]] },
  { "rows that do not begin at four floats", [[
  float sum = 0;
  const float *row = a + t * 5 + 1;
  for (int j = 0; j < 5; j++) sum += row[j];
  out[t] = sum;]] },
  { "a vector's tail that a thread must not touch", [[
  float sum = 0;
  for (int j = 4095 - n % 4; j < 4096; j++) sum += a[j];
  out[t] = sum;]] },
  { "two loops that are one only where they meet nowhere", [[
  for (int i = 0; i < 8; i++) out[512 + t * 8 + i] = a[i];
  float sum = 0;
  for (int i = 0; i < 8; i++) sum += out[512 + t * 8 + 7 - i] * i;
  out[t] = sum;]] },
  { "a loop that is two only where nothing goes back", [[
  for (int i = 1; i < 8; i++) {
    out[512 + t * 8 + i] = a[i];
    out[512 + t * 8 + i - 1] += b[i];
  }]] },
  { "an element that is the thread's by one index alone", [[
  __shared__ float s[64];
  s[threadIdx.x] = a[t];
  __syncthreads();
  out[t] = s[threadIdx.x] + s[threadIdx.x / 2];]] },
  { "what is carried, one further than one", [[
  float *x = out + 512 + t * 8;
  x[0] = x[1] = 1;
  for (int i = 2; i < 8; i++) x[i] = x[i - 2] + x[i - 1] * b[i];]] },
  { "a barrier behind a question for an item", [[
  __shared__ float s[64];
  if (t >= n) return;
  s[lane] = a[t];
  __syncthreads();
  out[t] = s[lane / 2];]] },
  { "one behind a question for what a thread has", [[
  __shared__ float s[64];
  s[lane] = a[t];
  __syncthreads();
  if (s[lane] > 0) return;
  s[lane] = b[t];
  __syncthreads();
  out[t] = s[lane ^ 1];]] },
  { "a barrier for the warp behind a question for an item", [[
  __shared__ float s[64];
  s[lane] = 0;
  __syncwarp();
  if (t >= n) return;
  s[lane] = a[t];
  __syncwarp();
  out[t] = s[lane ^ 31];]] },
  { "a condition of a thread's own in a loop with a barrier", [[
  __shared__ float s[64];
  float sum = 0;
  for (int i = 0; i < n; i++) {
    s[lane] = a[t + i];
    __syncthreads();
    if (lane < 20) sum += s[lane + 1];
    __syncthreads();
  }
  out[t] = sum;]] },
  { "the last lane, where sums go to the first", [[
  int row = t / 32, last = lane & 31;
  float s = 0;
  for (int j = last; j < n; j += 32) s += a[row * 64 + j];
  for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o);
  if (last == 31) out[row] = s;]] },
  { "shares that do not add up", [[
  float most = 0;
  for (int i = threadIdx.x; i < 8 * n; i += blockDim.x) most = fmaxf(most, b[i]);
  atomicAdd(&out[3000], most);]], "" },
  { "those of all blocks", [[
  float most = 0;
  for (int i = t; i < 8 * n; i += gridDim.x * blockDim.x) most = fmaxf(most, b[i]);
  atomicAdd(&out[3000], most);]] },
  { "a sum whose square is added", [[
  int s = 0;
  for (int i = t; i < 8 * n; i += gridDim.x * blockDim.x) s += (int)b[i];
  atomicAdd(&out[3000], (float)(s * s));]] },
  { "a loop whose bound changes in it", [[
  int m = n;
  float sum = 0;
  for (int i = 0; i < m; i++) { sum += a[i]; if (sum > 5.0f) m--; }
  out[t] = sum + m;]] },
}

tap.case("traps", function()
  local n = 0
  for _, trap in ipairs(TRAPS) do
    local what, body, before = table.unpack(trap)
    local source = rewritten.source((before or T) .. body)
    local all = held.examine(source, madekernels.held(source, { every = true }))
    tap.ok(all.runs > 0, ("%s: it runs%s"):format(what, all.runs > 0 and "" or ": " .. all.why))
    for i, one in ipairs(all.wrong) do all.wrong[i] = one.gene .. ": " .. one.how end
    for _, one in ipairs(all.broken) do tap.note(one.gene .. " does not compile: " .. what) end
    tap.is(table.concat(all.wrong, "\n"), "", what)
    n = n + all.held
  end
  tap.ok(n > 5 * #TRAPS, n .. " proposals were held")
end)

tap.done()
