-- What the virtual GPU says of a kernel's memory: innocent ones pass, guilty ones are found where
-- they are guilty.
--
-- A kernel's source is what follows `extern "C" __global__ void k`; lines are counted from 1 there,
-- and a mark //A, //B … names one of them.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local function line_of(text, mark)
  local before = text:match("^(.-)//" .. mark)
  return before and select(2, before:gsub("\n", "")) + 1
end

--- Compiles a kernel and launches it with every check on.
---@param source string
---@param args table[] of buffer options with an array as [1], or { type, value }
---@param o? table fields of the launch
local function launch(source, args, o)
  local dev = gi.device "emu"
  local code = assert(gi.compile('extern "C" __global__ void k' .. source,
    { target = "compute_90" }))
  local l = { grid = 1, block = 32, args = {}, count_uninitialised = true, check_races = true }
  for name, value in pairs(o or {}) do l[name] = value end
  for i, arg in ipairs(args) do
    local options = { read_only = arg.read_only, label = arg.label, initial = arg.initial }
    l.args[i] = type(arg[1]) == "string" and arg or dev:buffer(arg[1], options)
    if arg.fill then
      l.fill = l.fill or {}
      l.fill[#l.fill + 1] = l.args[i]
    end
  end
  return assert(dev:load(code)):launch(l)
end

local function ints(n, fill)
  return gi.array("i32", n):fill(fill or 0)
end

tap.case("a read of what nobody wrote is told of once a line, where it was first", function()
  local source = [[
(int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 4) s[t] = t;
  __syncthreads();
  if (t > 1) y[t] = s[t]; //A
  if (t == 7) y[t] += s[t + 32]; //B
}]]
  local m = launch(source, { { ints(32) } }, { grid = 2 })
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(m.uninitialised_reads, 2 * (28 + 1), "all are counted")
  tap.is(#(m.warnings or {}), 2, "two instructions")
  local a, b = m.warnings[1], m.warnings[2]
  tap.is(a.kind, "uninitialised_read", "what")
  tap.is(a.line .. " " .. a.count, line_of(source, "A") .. " 56", "line and count of the first")
  tap.is(a.thread[1] .. " " .. a.block[1], "4 0", "its first thread")
  tap.is(b.line .. " " .. b.count, line_of(source, "B") .. " 2", "… of the second")
  tap.has(a.message, "4 bytes that nobody wrote in shared memory at offset 0x10", "what and where")
  tap.has(a.message, "thread (4,0,0)", "who")
  tap.ok(a.ptx_line > 0, "the PTX line")
end)

tap.case("a kernel without a fault has no list of warnings", function()
  local m = launch("(int *y) { y[threadIdx.x] = 1; }", { { ints(32) } })
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(m.warnings, nil, "none")
end)

tap.case("at most 16 instructions are told of", function()
  local lines = {}
  for i = 1, 20 do lines[i] = ("y[%d] = s[%d];\n__syncthreads();"):format(i, 2 * i) end
  local source = "(int *y) {\n__shared__ volatile int s[64];\n%s}"
  local m = launch(source:format(table.concat(lines, "\n")), { { ints(32) } }, { block = 1 })
  tap.is(m.uninitialised_reads, 20, "all are counted")
  tap.is(#m.warnings, 16, "the first are told of")
end)

local FAULTS = [[
(int *y, int n) {
  __shared__ int s[32];
  int t = threadIdx.x;
  y[t + n] = t; //A
  if (t == 3) y[t] = *(int *)((char *)y + 6); //B
  s[t] = t;
  y[t] = s[t ^ 1]; //C
  if (t == 31) atomicAdd(y + 40, 1); //D
  if (n == 8) __trap(); //E
  y[t] = 5;
}]]

local function lines(faults)
  local list = {}
  for i, f in ipairs(faults) do list[i] = ("%s %d %d"):format(f.kind, f.line, f.count) end
  return table.concat(list, ", ")
end

tap.case("a launch goes on after faults where it is asked to", function()
  local y = ints(32)
  local function run(n, most)
    return launch(FAULTS, { { y }, { "i32", n } }, { grid = 2, max_faults = most })
  end
  local function line(mark) return line_of(FAULTS, mark) end
  local first = run(1)
  tap.is(lines(first.faults), ("illegal_address %d 1"):format(line "A"), "the first ends it")
  local m = run(1, 16)
  tap.is(lines(m.faults), ("illegal_address %d 2, misaligned %d 2, race %d 64, "
    .. "illegal_address %d 2"):format(line "A", line "B", line "C", line "D"),
    "else all are told of and counted")
  tap.is(m.status .. " " .. m.message, "illegal_address " .. first.message,
    "status and message are the first one's")
  tap.is(m.faults[1].message, first.message, "as in the list")
  tap.is(m.faults[2].thread[1], 3, "each with its thread")
  tap.is(y[32], 5, "the lanes go on")
  tap.is(#run(1, 2).faults, 2, "up to the limit")
  m = run(8, 16)
  tap.is(m.faults[#m.faults].kind .. " " .. #m.faults, "launch_error 5",
    "a trap ends it")
  tap.is(m.status, "illegal_address", "and is not the first")
  tap.raises(function() run(1, 17) end, "at most 16 faults", "the limit has a limit")
end)

-- global memory that nobody wrote ----------------------------------------------------------------

tap.case("global memory that was filled with the sentinel is not written", function()
  local source = [[
(int *y, int *z, const int *x) {
  int t = threadIdx.x;
  z[t] = x[t];
  if (t < 8) y[t] = t;
  z[t] += y[t] + x[t]; //A
  atomicAdd(y + t, 1); //B
  z[t] += y[t];
}]]
  local function args(initial)
    return { { ints(32), label = "sums", fill = true, initial = initial },
             { ints(32), fill = true }, { ints(32), read_only = true } }
  end
  local m = launch(source, args())
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(lines(m.warnings), ("uninitialised_read %d 24, uninitialised_read %d 24"):format(
    line_of(source, "A"), line_of(source, "B")), "reads and atomics before writes")
  tap.is(m.uninitialised_reads, 48, "counted")
  tap.has(m.warnings[1].message, "byte 32 of 'sums' (128 bytes)", "where")
  tap.is(m.warnings[1].thread[1], 8, "who")
  tap.is(launch(source, args(ints(32))).warnings, nil, "what a buffer holds before is written")
  tap.is(launch(source, args(), { count_uninitialised = false }).warnings, nil, "unasked: no word")
end)

-- races through global memory ---------------------------------------------------------------------

---@param source string a kernel of int *y, or with a second argument unsigned *
---@param o? table fields of the launch
---@param y? userdata
local function race(source, o, y)
  local fields = { check_races = "global", count_uninitialised = false }
  for name, value in pairs(o or {}) do fields[name] = value end
  source = source:gsub("%(int %*y%)", "(int *y, unsigned *)")
  return launch(source, { { y or ints(4096) }, { ints(64) } }, fields)
end

local function innocent(what, source, o, y)
  local m = race(source, o, y)
  tap.is(m.status, "ok", what .. (m.message and ": " .. m.message or ""))
  tap.is(m.warnings and m.warnings[1].message, nil, "  without a word")
end

local function guilty(what, source, o)
  o = o or {}
  local m = race(source, o)
  tap.is(m.status .. " " .. tostring(m.line), "race " .. tostring(line_of(source, "A")), what)
  tap.has(m.message or "", "global memory", "  where")
  m = race(source, { grid = o.grid, block = o.block, check_races = true })
  tap.is(m.status, "ok", "  where global memory is not asked for it passes")
end

tap.case("blocks and threads that share global memory without order race", function()
  guilty("blocks that write one place", "(int *y) { y[threadIdx.x] = blockIdx.x; //A\n }",
    { grid = 2 })
  guilty("threads of a block without a barrier", [[
(int *y) { int t = threadIdx.x;
  y[t] = t; y[t + 64] = y[t ^ 32]; //A
}]], { block = 64 })
  guilty("lanes without __syncwarp", [[
(int *y) { int t = threadIdx.x; y[t] = t;
  y[t + 64] = y[t ^ 1]; //A
}]])
  guilty("a block that reads what another one wrote", [[
(int *y) {
  if (blockIdx.x == 0) y[threadIdx.x] = 1;
  else y[threadIdx.x + 64] = y[threadIdx.x]; //A
}]], { grid = 2 })
  guilty("a block that writes what another one read", [[
(int *y) {
  if (blockIdx.x == 0) y[threadIdx.x + 64] = y[threadIdx.x];
  else y[threadIdx.x] = 3; //A
}]], { grid = 2 })
  guilty("an atomic and a plain read", [[
(int *y) {
  if (blockIdx.x == 0) atomicAdd(y, 1);
  else y[threadIdx.x + 64] = y[0]; //A
}]], { grid = 2 })
  guilty("atomics of others after one's own, behind a barrier that only these passed", [[
(int *y) {
  if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = 1;
  __syncthreads();
  atomicAdd(y, 2); //A
}]], { grid = 2, block = 64 })
  guilty("bytes", [[
(int *y) {
  char *c = (char *)y;
  c[threadIdx.x] = blockIdx.x; //A
}]], { grid = 2 })
end)

tap.case("what is in order, or atomic, or apart does not race", function()
  innocent("each thread its own", "(int *y) { y[blockIdx.x * 32 + threadIdx.x] += 1; }",
    { grid = 4 })
  innocent("neighbouring bytes", [[
(int *y) { ((char *)y)[blockIdx.x * 32 + threadIdx.x] = 1 + threadIdx.x; }]], { grid = 4 })
  innocent("a barrier of the block", [[
(int *y) { int t = threadIdx.x; y[t] = t; __syncthreads(); y[t + 64] = y[63 - t]; }]],
    { block = 64 })
  innocent("__syncwarp for lanes of a warp", [[
(int *y) { int t = threadIdx.x; y[t] = t; __syncwarp(); y[t + 64] = y[t ^ 1]; }]])
  innocent("atomics behind a barrier", [[
(int *y) {
  if (threadIdx.x == 0) y[blockIdx.x] = 1;
  __syncthreads();
  atomicAdd(y + blockIdx.x, 2);
  __syncthreads();
  if (threadIdx.x == 33) y[blockIdx.x + 64] = y[blockIdx.x];
}]], { grid = 4, block = 64 })
  innocent("atomics", "(int *y) { atomicAdd(y, 1); atomicMax(y + 1, threadIdx.x); }", { grid = 4 })
  innocent("reads of what all read", "(int *y) { if (y[1] == 7) y[threadIdx.x] = 3; }",
    { grid = 4 })
end)

-- the last block adds up what all blocks wrote: threadFenceReduction of NVIDIA's samples
local LAST_BLOCK = [[
(int *y, unsigned *count) {
  __shared__ int s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = t * blockIdx.x;
  __syncthreads();
  for (int k = 32; k; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) {
    y[blockIdx.x] = s[0];
    FENCE;
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    int sum = 0;
    for (int i = t; i < gridDim.x; i += 64) sum += ((volatile int *)y)[i]; //A
    s[t] = sum;
    __syncthreads();
    for (int k = 32; k; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (t == 0) { y[100] = s[0]; *count = 0; }
  }
}]]

tap.case("what a fence and an atomic hand over is in order", function()
  local o = { grid = 8, block = 64 }
  local y = ints(4096)
  local function fenced_by(fence) return (LAST_BLOCK:gsub("FENCE", fence)) end
  innocent("the last block's sum", fenced_by "__threadfence()", o, y)
  tap.is(y[101], 2016 * 28, "which is right")
  guilty("… without a fence", fenced_by "", o)
  guilty("… with one that is for the block alone", fenced_by "__threadfence_block()", o)
  innocent("everybody fences, one counts", [[
(int *y, unsigned *count) {
  __shared__ bool last;
  y[blockIdx.x * 64 + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) y[1000 + threadIdx.x] = y[threadIdx.x] + y[64 + threadIdx.x];
}]], o)
  innocent("one fences for all", [[
(int *y, unsigned *count) {
  __shared__ bool last;
  y[blockIdx.x * 64 + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); last = atomicAdd(count, 1) == gridDim.x - 1; }
  __syncthreads();
  if (last) y[1000 + threadIdx.x] = y[threadIdx.x] + y[64 + threadIdx.x];
}]], o)
  guilty("one fences before the others have written", [[
(int *y, unsigned *count) {
  __shared__ bool last;
  y[blockIdx.x * 64 + threadIdx.x] = 1;
  if (threadIdx.x == 0) { __threadfence(); last = atomicAdd(count, 1) == gridDim.x - 1; }
  __syncthreads();
  if (last) y[1000 + threadIdx.x] = y[threadIdx.x] + y[64 + threadIdx.x]; //A
}]], o)
  innocent("a lock", [[
(int *y, unsigned *lock) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1)) ;
    __threadfence();
    y[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}]], o)
  guilty("a lock that is not taken", [[
(int *y, unsigned *lock) {
  if (threadIdx.x == 0) {
    y[0] += 1; //A
    __threadfence();
    atomicExch(lock, 0);
  }
}]], o)
  innocent("release and acquire", [[
(int *y, unsigned *flag) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    y[0] = 5;
    asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(flag) : "memory");
  }
  if (blockIdx.x > 0) {
    unsigned f;
    asm volatile("atom.acquire.gpu.global.or.b32 %0, [%1], 0;" : "=r"(f) : "l"(flag) : "memory");
    if (f) y[blockIdx.x * 64 + threadIdx.x] = y[0];
  }
}]], o)
end)

-- benign races ------------------------------------------------------------------------------------

local function benign(what, source, o, why)
  local m = race(source, o)
  tap.is(m.status, "ok", what .. (m.message and ": " .. m.message or ""))
  local w = m.warnings and m.warnings[1] or {}
  tap.is(tostring(w.kind) .. " " .. tostring(w.line), "benign_race " .. line_of(source, "A"),
    "  is a warning")
  tap.has(w.message or "", why, "  that says why")
  local refused = { grid = o.grid, block = o.block, benign_races = "refuse" }
  m = race(source, refused)
  tap.is(m.status .. " " .. tostring(m.line), "race " .. line_of(source, "A"), "  unless refused")
end

tap.case("races of which nothing can come are warnings, unless they are refused", function()
  local two = { grid = 2, block = 64 }
  benign("all write the same", [[
(int *y) { if (y[64 + threadIdx.x] == 0)
  y[0] = 7; //A
}]], two, "it changes nothing")
  benign("in shared memory too", [[
(int *y) { __shared__ int s[2];
  s[threadIdx.x >> 9] = 3; //A
  __syncthreads(); y[blockIdx.x] = s[0]; }]], two, "shared memory at offset 0x0")
  benign("a write of what is there", [[
(int *y) {
  if (blockIdx.x == 0) y[threadIdx.x + 64] = y[0];
  else y[0] = 0; //A
}]], two, "it changes nothing")
  benign("what a compare-and-swap expects", [[
(int *y) { int n = *y, o; do { o = n; n = atomicCAS(y, o, o + 3); } while (o != n); //A
}]], two, "a compare-and-swap expects it")
end)

local PASS_ON = [[
(int *y) {
  __shared__ int data[32];
  __shared__ volatile int ready;
  int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32) {
    data[t] = t;
    __syncwarp();
    FENCE;
    if (t == 0) ready = 1;
  } else {
    while (ready == 0) ;
    FENCE;
    y[t] = data[63 - t]; //B
  }
}]]

tap.case("shared memory is handed over as well, from one warp to another", function()
  local block = { block = 64, check_races = true }
  local function fenced_by(fence) return (PASS_ON:gsub("FENCE", fence)) end
  local m = race(fenced_by "__threadfence_block()", block)
  tap.is(m.status, "ok", m.message or "what was fenced before the flag was set")
  tap.is(m.warnings, nil, "and nothing is said of the flag itself")
  m = race(fenced_by "", block)
  tap.is(m.status .. " " .. tostring(m.line), "race " .. line_of(PASS_ON, "B"),
    "without a fence nothing is handed over")
end)

tap.case("a lock that every lane of a warp takes hands over what it guards", function()
  local source = [[
(int *y) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  for (bool done = false; !done;)
    if (atomicCAS(&lock, 0, 1) == 0) {
      FENCE;
      sum += threadIdx.x; //A
      FENCE;
      atomicExch(&lock, 0);
      done = true;
    }
  __syncthreads();
  y[threadIdx.x] = sum;
}]]
  local y = ints(4096)
  local m = race(source:gsub("FENCE", "__threadfence_block()") .. "", { block = 64 }, y)
  tap.is(m.status .. " " .. y[64], "ok 2016", m.message or "the sum is right")
  m = race(source:gsub("FENCE", "") .. "", { block = 64 }, y)
  tap.is(m.status .. " " .. tostring(m.line), "race " .. line_of(source, "A"), "without fences not")
end)

local FROM_LATER = [[
(int *y, unsigned *flag) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) while (atomicAdd(flag, 0) == 0) ;
    __syncthreads();
    y[64 + threadIdx.x] = y[threadIdx.x]; //A
  } else {
    y[threadIdx.x] = threadIdx.x;
    __syncthreads();
    FENCE;
    if (threadIdx.x == 0) atomicExch(flag, 1);
  }
}]]

tap.case("a block that waits for a later one is checked, too", function()
  local function fenced_by(fence) return (FROM_LATER:gsub("FENCE", fence)) end
  local y = ints(4096)
  innocent("what the later one fenced", fenced_by "__threadfence()", { grid = 2, block = 64 }, y)
  tap.is(y[128], 63, "and it arrives")
  guilty("… and did not", fenced_by "", { grid = 2, block = 64 })
end)

tap.case("races that do harm are none of them", function()
  guilty("different values", [[
(int *y) { if (threadIdx.x == 0)
  y[0] = blockIdx.x; //A
}]], { grid = 3 })
  guilty("a volatile value that is added up", [[
(int *y) { volatile int *v = y; int t = threadIdx.x;
  if (t < 16) v[t] = v[t] + v[t + 8] + t; //A
}]])
  guilty("a flag that is not volatile", [[
(int *y) {
  if (blockIdx.x == 0) y[0] = 1;
  else if (y[0]) y[threadIdx.x + 64] = 1; //A
}]], { grid = 2 })
  guilty("a read beside two who wrote the same", [[
(int *y) {
  if (threadIdx.x == 0) { if (blockIdx.x < 2) y[0] = 1;
  else y[64] = y[0]; } //A
}]], { grid = 3 })
  tap.raises(function() race("(int *y) {}", { benign_races = "refused" }) end, "benign_races",
    "there are two words for what to do")
  tap.raises(function() race("(int *y) {}", { check_races = "local" }) end, "check_races",
    "and two for where to look")
end)

-- local arrays -----------------------------------------------------------------------------------

local function local_run(body, from, to)
  local source = ("(int *y, int from, int to) {\n%s\n}"):format(body)
  return launch(source, { { ints(64) }, { "i32", from }, { "i32", to } }), source
end

local ARRAYS = [[
  int a[8], b[12], t = threadIdx.x;
  for (int i = 0; i < 8; i++) a[i] = y[i];
  for (int i = 0; i < 12; i++) b[i] = y[i + 8];
  a[from] = t; //A
  y[32 + t] = b[to] + a[from ^ 1]; //B
]]

tap.case("an access that runs over a local array into the next one is a warning", function()
  local m = local_run(ARRAYS, 6, 11)
  tap.is(m.warnings and m.warnings[1].message, nil, "inside of them there is none")
  local source
  m, source = local_run(ARRAYS, 10, 0)
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(lines(m.warnings), ("local_overrun %d 32, local_overrun %d 32"):format(
    line_of(source, "A"), line_of(source, "B")), "past the end of the first")
  tap.has(m.warnings[1].message, "write of 4 bytes at byte 40 of a local array of at most 32 bytes",
    "where")
  m = local_run(ARRAYS, 0, -2)
  tap.is(lines(m.warnings), ("local_overrun %d 32"):format(line_of(source, "B")),
    "before the beginning of the second")
  tap.has(m.warnings[1].message, "read of 4 bytes 8 bytes before a local array", "where")
end)

tap.case("a pointer that may be to either array, or comes from a caller, is none's", function()
  local m = local_run([[
  int a[8], b[12];
  for (int i = 0; i < 8; i++) a[i] = y[i];
  for (int i = 0; i < 12; i++) b[i] = y[i + 8];
  int *p = from > 2 ? a + 3 : b + 2;
  p[to] = 4;
  p = a;
  if (from > 5) p = b;
  for (int i = 0; i < to; i++) *p++ = i;
  y[threadIdx.x] = a[to] + b[to];
]], 6, 7)
  tap.is(m.status .. " " .. tostring(m.warnings), "ok nil", m.message or "no word")
end)

tap.case("warps that meet at different __syncthreads() are told, at other barriers not",
  function()
    local source = [[
(int *y) {
  int t = threadIdx.x;
  if (t < 32) { y[t] = t; __syncthreads(); y[t] += y[t + 32]; } //A
  else { y[t] = 2 * t; __syncthreads(); y[t] += 1; } //B
}]]
    local m = launch(source, { { ints(64) } }, { block = 64 })
    tap.is(m.status, "ok", m.message or "hardware counts warps")
    local w = m.warnings and m.warnings[1]
    tap.is(w and w.kind .. " " .. w.line, "different_barriers " .. line_of(source, "B"), "where")
    tap.has(w.message, "source line " .. line_of(source, "A"), "and where the others are")
    for _, right in ipairs { [[
(int *y) {
  int t = threadIdx.x;
  for (int i = 0; i < 3; i++) { y[t] = t; __syncthreads(); y[t] += y[63 - t]; __syncthreads(); }
}]], [[
(int *y) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.arrive 1, 64;");
}]], [[
(int *y) {
  if (threadIdx.x < 32) asm volatile("barrier.sync 0;"); else asm volatile("barrier.sync 0;");
}]] } do
      m = launch(right, { { ints(64) } }, { block = 64, check_races = false })
      tap.is(m.status .. " " .. tostring(m.warnings), "ok nil", m.message or "no word")
    end
  end)

tap.case("a block that needs more registers than there are is refused, as on a GPU", function()
  local source = [[
(const float *x, float *y) {
  float v[100];
#pragma unroll
  for (int i = 0; i < 100; i++) v[i] = x[(threadIdx.x + i * 7) & 1023];
  __syncthreads();
  float s = 0;
#pragma unroll
  for (int i = 0; i < 100; i++) s += v[i] * v[(i * 7) % 100];
  y[threadIdx.x] = s;
}]]
  local args = { { gi.array("f32", 1024):fill(1) }, { gi.array("f32", 1024) } }
  local m = launch(source, args, { block = 1024 })
  tap.is(m.status, "launch_error", "1024 threads")
  tap.has(m.message, "registers each; there are 65536", "why")
  tap.is(launch(source, args, { block = 256 }).status, "ok", "256 threads")
  tap.is(launch(" __launch_bounds__(1024)" .. source, args, { block = 1024 }).status, "ok",
    "the compiler knows of 1024 threads")
end)

tap.case("without nvJitLink an estimate refuses what is twice too much, nothing less", function()
  local script = [[
local gi = require "gilua"
local n = tonumber(arg[1])
local code = assert(gi.compile((
  'extern "C" __global__ void k(const float *x, float *y) {\n'
  .. 'float v[N]; \n#pragma unroll\n'
  .. 'for (int i = 0; i < N; i++) v[i] = x[(threadIdx.x + i * 7) & 1023];\n'
  .. '__syncthreads(); float s = 0;\n#pragma unroll\n'
  .. 'for (int i = 0; i < N; i++) s += v[i] * v[(i * 7) % N];\ny[threadIdx.x] = s; }')
  :gsub("N", tostring(n)), { target = "compute_90" }))
local dev = gi.device "emu"
local m = assert(dev:load(code)):launch { grid = 1, block = 1024,
  args = { dev:buffer(gi.array("f32", 1024):fill(1)), dev:buffer(gi.array("f32", 1024)) } }
print(m.status, m.message)]]
  local path = os.tmpname()
  local f <close> = assert(io.open(path, "w"))
  f:write(script)
  f:flush()
  local function said(n)
    local p <close> = assert(io.popen(("GILUA_NVJITLINK=/none ./gilua %s %d 2>&1"):format(path, n)))
    return p:read "a"
  end
  tap.has(said(100), "ok", "an estimate of a hundred")
  tap.has(said(180), "at least", "one of two hundred")
  os.remove(path)
end)

tap.case("blocks of a cooperative launch may wait for each other; more than can run are refused",
  function()
    local source = [[
(int *y) {
  if (threadIdx.x == 0) {
    atomicAdd(y, 1);
    while (atomicAdd(y, 0) < gridDim.x) {}
  }
}]]
    local m = launch(source, { { ints(1) } }, { grid = 8, cooperative = true, check_races = false })
    tap.is(m.status, "ok", m.message or "eight blocks")
    m = launch(source, { { ints(1) } }, { grid = 100000, cooperative = true })
    tap.is(m.status, "launch_error", "100000 blocks")
    tap.has(m.message, "a cooperative launch of 100000 blocks", "why")
  end)

tap.case("a launch says how many blocks a cluster has", function()
  local source = [[
(unsigned *y) {
  if (threadIdx.x == 0) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(y[blockIdx.x]));
}]]
  local y = gi.array("u32", 8):fill(9)
  local dev = gi.device "emu"
  local m = assert(dev:load(assert(gi.compile('extern "C" __global__ void k' .. source,
    { target = "compute_90" }))))
  local b = dev:buffer(y)
  local function run(cluster)
    return m:launch { grid = { 4, 2 }, block = 32, args = { b }, cluster = cluster }
  end
  for _, row in ipairs { { nil, "0 0 0 0" }, { 4, "0 1 2 3" }, { { 2, 2 }, "2 3 2 3" } } do
    tap.is(run(row[1]).status, "ok", "it runs")
    b:read(y)
    tap.is(("%d %d %d %d"):format(table.unpack(y:table(), 1, 4)), row[2], "the last row's ranks")
  end
  m = run(3)
  tap.is(m.status, "launch_error", "clusters of three")
  tap.has(m.message, "clusters of (3,1,1) blocks for a grid of (4,2,1)", "why")
end)

tap.case("what a kernel allocates and does not free is in the measurement", function()
  local m = launch("(int *y) { void *p = malloc(24), *q = malloc(40); y[0] = p != 0; free(q); "
    .. "if (threadIdx.x > 2) free(p); }", { { ints(1) } }, { check_races = false })
  tap.is(m.status, "ok", m.message or "it runs")
  tap.is(m.heap_objects .. " " .. m.heap_bytes, "3 72", "three objects of 24 bytes")
  m = launch("(int *y) { free(malloc(24)); y[0] = 1; }", { { ints(1) } }, { check_races = false })
  tap.is(m.heap_objects .. " " .. m.heap_bytes, "0 0", "none")
end)

tap.done()
