-- Kernels on which a rewriting goes wrong where one of the facts below it (lua/gilua/facts) says
-- yes and does not know: a second name of an array, a loop without a round, what only some threads
-- do. Every proposal for each is applied alone and held against the kernel as it is.

package.path = "tests/lua/?.lua;" .. package.path
local held = require "held"
local rewritten = require "rewritten"
local tap = require "tap"

local ALIASES = {
  { "a pointer declared auto", [[
  auto row = out;
  for (int i = 0; i < n; i++) {
    row[threadIdx.x] = out[threadIdx.x] + a[i];
    out[threadIdx.x + 64] = row[threadIdx.x];
  }]] },
  { "auto with a sum whose pointer stands behind", [[
  auto row = n + out - n;
  for (int i = 0; i < 3; i++) {
    out[threadIdx.x] += a[i];
    row[threadIdx.x + 64] = row[threadIdx.x];
  }]] },
  { "a pointer to rows", [[
  __shared__ float tile[4][32];
  float (*z)[32] = tile;
  tile[0][threadIdx.x] = a[threadIdx.x];
  float x = tile[0][threadIdx.x];
  z[0][threadIdx.x] = 5.0f;
  float y = tile[0][threadIdx.x];
  out[threadIdx.x] = x + 2.0f * y;]] },
  { "a reference to an array of rows", [[
  __shared__ float tile[4][32];
  float (&z)[4][32] = tile;
  tile[0][threadIdx.x] = 1.0f;
  float sum = 0;
  for (int i = 0; i < n; i++) { sum += tile[0][threadIdx.x]; z[0][threadIdx.x] = sum; }
  out[threadIdx.x] = sum;]] },
  { "decltype", [[
  __shared__ float tile[4][32];
  decltype(tile) &z = tile;
  tile[0][threadIdx.x] = 1.0f;
  float sum = 0;
  for (int i = 0; i < n; i++) { sum += tile[0][threadIdx.x]; z[0][threadIdx.x] = sum; }
  out[threadIdx.x] = sum;]] },
  { "an array of pointers, and a pointer to that", [[
  __shared__ float tile[2][32];
  float *rows[2] = { tile[0], tile[1] };
  float **z = rows;
  tile[0][threadIdx.x] = 1.0f;
  float sum = 0;
  for (int i = 0; i < n; i++) { sum += tile[0][threadIdx.x]; z[0][threadIdx.x] = sum; }
  out[threadIdx.x] = sum;]] },
  { "the address of an element behind an array of pointers", [[
  float *rows[2] = { out, out + 64 };
  float *z = &rows[0][0];
  for (int i = 0; i < n; i++) { out[threadIdx.x] += a[i]; z[threadIdx.x] *= 0.5f; }]] },
  { "a typedef of a pointer, and one of a row", [[
  typedef float *P;
  typedef float Row[32];
  __shared__ float tile[2][32];
  P z = tile[0];
  Row *y = tile;
  tile[0][threadIdx.x] = 1.0f;
  float sum = 0;
  for (int i = 0; i < n; i++) {
    sum += tile[0][threadIdx.x];
    z[threadIdx.x] = sum;
    sum += tile[0][threadIdx.x];
    y[0][threadIdx.x] = sum + 1.0f;
  }
  out[threadIdx.x] = sum;]] },
  { "an element that each lane reads for a sum, and one of them writes", [[
  int t = threadIdx.x + blockIdx.x * blockDim.x;
  if (t < n) {
    float q = 0, s = 0;
    for (int j = 0; j < 8; j++) q += out[t];
    out[t] = s;
  }]] },
  { "two pointers change places in a loop", [[
  float *now = out, *next = out + 64;
  for (int i = 0; i < n; i++) {
    next[threadIdx.x] = now[threadIdx.x] + a[i];
    float *t = now; now = next; next = t;
  }]] },
  { "a parameter that is given another array", [[
  b = out;
  for (int i = 0; i < n; i++) out[threadIdx.x] += b[threadIdx.x] + a[i];]] },
  { "a reference to an element", [[
  float &first = out[threadIdx.x];
  const float &same = out[threadIdx.x];
  for (int i = 0; i < n; i++) { first += a[i]; if (same > 0.5f) out[threadIdx.x + 64] = same; }]] },
  { "a lambda's", [[
  auto put = [&](int i, float v) { out[i] = v; };
  for (int i = 0; i < n; i++) { float x = out[threadIdx.x]; put(threadIdx.x, x + a[i]); }]] },
  { "one by a cast to integers and back", [[
  float *z = reinterpret_cast<float *>(reinterpret_cast<size_t>(out));
  for (int i = 0; i < n; i++) { out[threadIdx.x] += a[i]; z[threadIdx.x] *= 0.5f; }]] },
  { "two names of one dynamic memory", [[
  extern __shared__ float s[];
  extern __shared__ float t[];
  out[threadIdx.x] = a[threadIdx.x] + n;]] },
  { "one or the other by a condition", [[
  float *z = n > 1 ? out : out + 64;
  for (int i = 0; i < n; i++) { out[threadIdx.x] += a[i]; z[threadIdx.x] *= 0.5f; }]] },
  { "in a block of its own, by the same name", [[
  float *z = out + 128;
  z[threadIdx.x] = 1.0f;
  {
    float *z = out;
    for (int i = 0; i < n; i++) { out[threadIdx.x] += a[i]; z[threadIdx.x] *= 0.5f; }
  }]] },
}

local ROUNDS = {
  { "a load", [[
  int at = n > 0 ? threadIdx.x : -100000;
  float sum = 0;
  for (int i = 0; i < n; i++) sum += a[at] * b[i];
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "a range", [[
  int first = n > 1 ? 2 : 5, last = n > 1 ? n : 5, at = n > 1 ? 3 : -100000;
  float sum = 0;
  for (int i = first; i < last; i++) sum += a[at] * b[i];
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "counting down, and by while", [[
  int at = n > 0 ? threadIdx.x : -100000, i = n;
  float sum = 0;
  for (int k = n - 1; k >= 0; k--) sum += a[at] * b[k];
  while (i > 0) { sum += a[at] + b[i]; i--; }
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "an unsigned variable", [[
  int at = n > 0 ? threadIdx.x : -100000;
  float sum = 0;
  for (unsigned i = 0; i < n; i++) sum += a[at] * b[i];
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "two variables in the head", [[
  int at = n > 0 ? threadIdx.x : -100000;
  float sum = 0;
  for (int i = 0, k = 2; i < n; i++, k += 2) sum += a[at] * b[k];
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "an element that is updated", [[
  int at = n > 0 ? threadIdx.x + 32 * blockIdx.x : -100000;
  for (int i = 0; i < n; i++) out[at] += b[i];]] },
  { "an element that is updated on a condition", [[
  int at = n > 2 ? threadIdx.x + 32 * blockIdx.x : -100000;
  for (int i = 0; i < n; i++) if (n > 2) out[at] += b[i];]] },
  { "an element behind a break, and behind a continue", [[
  int at = n > 2 ? threadIdx.x + 32 * blockIdx.x : -100000;
  for (int i = 0; i < n; i++) { if (n < 3) break; out[at] += b[i]; }
  for (int i = 0; i < n; i++) { if (n < 3) continue; out[at] += a[at] * b[i]; }]] },
  { "a condition", [[
  int at = n > 0 ? threadIdx.x : -100000;
  float sum = 0;
  for (int i = 0; i < n; i++) { if (a[at] > 0.5f) sum += b[i]; else sum -= b[i]; }
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "a condition behind a break", [[
  int at = n > 2 ? threadIdx.x : -100000;
  float sum = 0;
  for (int i = 0; i < n; i++) {
    if (n < 3) break;
    if (a[at] > 0.5f) sum += b[i]; else sum -= b[i];
  }
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "a quotient, and one on a condition", [[
  int at = n > 0 ? threadIdx.x : -100000, to = n > 2 ? threadIdx.x : -100000;
  float sum = 0;
  for (int i = 0; i < n; i++) { sum += b[i] / a[at]; if (n > 2) sum += b[i] / a[to]; }
  out[threadIdx.x + 32 * blockIdx.x] = sum;]] },
  { "the index of the least", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int least = n > 0 ? 0 : -100000;
  for (int i = 0; i < n; i++) if (a[i + t] < a[least + t]) least = i;
  out[t] = least;]] },
  { "in a loop around", [[
  for (int k = 0; k < 2; k++) {
    int at = n > k ? threadIdx.x + 32 * blockIdx.x : -100000;
    for (int i = k; i < n; i++) out[at] += a[at] * b[i];
  }]] },
  { "a list that ends by what is in it", [[
  int at = n > 0 ? threadIdx.x + 32 * blockIdx.x : -100000;
  float sum = 0;
  for (const float *p = b; p != b + n; p++) { sum += a[at] * *p; out[at] = sum; }]] },
  { "behind a return in the loop", [[
  int at = n > 2 ? threadIdx.x + 32 * blockIdx.x : -100000;
  for (int i = 0; i < n; i++) { if (n < 3) return; out[at] = a[at] * b[i]; }]] },
  { "a goto past it", [[
  int at = n > 2 ? threadIdx.x + 32 * blockIdx.x : -100000;
  for (int i = 0; i < n; i++) {
    if (n < 3) goto next;
    out[at] = a[at] * b[i];
    next: ;
  }]] },
}

local THREADS = {
  { "a loop's variable is changed by some", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int i = 0; i < n; i++) { s += a[t] + b[i]; if (s > 3.0f) i = n; }
  out[t] = s;]] },
  { "two loops with one variable", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, i;
  float s = 0;
  for (i = 0; i < n; i++) {
    s += b[i];
    if (a[t] > 0.0f) { for (i = i + 1; i < n - 1; i += 2) s += b[i]; }
  }
  out[t] = s;]] },
  { "a loop's variable is changed in a conditional value", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int i = 0; i < n; i++) { s += a[t] + b[i]; i += s > 3.0f ? 2 : 0; }
  out[t] = s;]] },
  { "and in one that is not always asked for", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int i = 0; i < n; i++) { s += a[t] + b[i]; if (s > 3.0f && i++ > 1) s += 1.0f; }
  out[t] = s;]] },
  { "some leave by a break", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  for (; k < 4; k++) if (a[t + k] > 0.0f) break;
  atomicAdd(&out[k], 1.0f);]] },
  { "some leave by the head's condition", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, k;
  for (k = 0; a[t + k] < 0.0f && k < 8; k++) ;
  atomicAdd(&out[k], 1.0f);]] },
  { "some pass over an iteration", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  for (int i = 0; i < 4; i++) { if (a[t + i] > 0.0f) continue; k++; }
  atomicAdd(&out[k], 1.0f);]] },
  { "some leave a switch", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  switch (n) { default: if (a[t] > 0.0f) break; k++; }
  atomicAdd(&out[k], 1.0f);]] },
  { "some go to a label", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  if (a[t] > 0.0f) goto end;
  k = 1;
  end:
  atomicAdd(&out[k], 1.0f);]] },
  { "a pointer of a thread's own", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  const float *p = a + t;
  int k = p[0] > 0.0f ? 1 : 0;
  atomicAdd(&out[k], 1.0f);]] },
  { "an array within a variable of a thread's own", [[
  struct Four { float f[4]; } u;
  int t = threadIdx.x;
  for (int i = 0; i < 4; i++) u.f[i] = a[t + i];
  float s = 0, *q = u.f;
  for (int i = 0; i < n; i++) { s += u.f[1]; q[1] += 1.0f; }
  out[t] = s;]] },
  { "the first thread changes what all have their own of", [[
  float own = 2.0f;
  if (threadIdx.x == 0) {
    own = 0.0f;
    for (int i = 0; i < n; i++) own += a[i];
  }
  out[threadIdx.x + 64 * blockIdx.x] = own;]] },
  { "a loop's variable of eight bits", [[
  float s = 0.0f;
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= 40) return;
  for (unsigned char i = 0; i < 250; i++) s += a[row + i];
  out[row] = s;]] },
  { "a macro of the file's own that asks twice, and orders NaN", [[
#define max(a, b) ((a) > (b) ? (a) : (b))
  float most = -3.0f;
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= 40) return;
  for (int i = 0; i < n; i++) most = max(most, a[row + i]);
  out[row] = most;]] },
  { "a macro of the file's own in a sum that is halved", [[
#define fmaxf(a, b) ((a) > (b) ? (a) : (b))
  __shared__ float part[64];
  int t = threadIdx.x;
  part[t] = a[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k) part[t] = fmaxf(part[t], part[t + k]);
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];]] },
  { "some leave an inner loop, and then the outer", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  bool done = false;
  while (!done && k < 8) {
    for (int i = 0; i < 3; i++) { if (a[t + k + i] > 3.0f) { done = true; break; } }
    k++;
  }
  atomicAdd(&out[k], 1.0f);]] },
  { "do, while", [[
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
  do { k++; } while (k < 8 && a[t + k] < 0.0f);
  atomicAdd(&out[k], 1.0f);]] },
}

local function all(list, options)
  local n = 0
  for _, one in ipairs(list) do
    local wrong, held_now = held.wrong(rewritten.source(one[2]), options)
    tap.is(table.concat(wrong, "\n"), "", one[1])
    n = n + held_now
  end
  return n
end

tap.case("a second name of an array is no memory of its own", function()
  tap.ok(all(ALIASES) > 20, "proposals were held")
end)

tap.case("nothing is touched for a loop that has no round", function()
  tap.ok(all(ROUNDS) > 40, "proposals were held")
end)

tap.case("what some threads do alone is not common to all", function()
  tap.ok(all(THREADS, { races = false, block = 64 }) > 20, "proposals were held")
end)

tap.done()
