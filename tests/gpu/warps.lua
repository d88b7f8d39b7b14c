-- warps: do lanes, warps and blocks that wait for each other end on a GPU as on the virtual one?
--
--   gilua [--device cuda] tests/gpu/warps.lua [--only NAME]
--
-- Runs small kernels on the virtual GPU and on the device, each over zeroed memory: lanes that left
-- before a warp operation or a barrier, locks within a warp, lanes and blocks that wait for each
-- other's flags. Prints a row for each: both statuses, and how many of its words differ. Exit code
-- 1 where one differs. The last section has what NVIDIA's documents leave open or forbid: rows to
-- look at, not judged. A kernel that hangs takes the device with it: what comes behind is not run.

local gi = require "gilua"

local options = gi.cli {
  doc = "Compares on two devices how lanes that wait for each other end.",
  { name = "only", default = "", doc = "kernels whose name has this in it" },
}

local LOCKED = [[
    __threadfence();
    ((volatile int *)y)[1]++;
    __threadfence();
]]

-- name, grid, block, what follows `__global__ void k(int *y)`
local JUDGED = {
  { "shfl after a return", 1, 32, [[{ int t = threadIdx.x;
    if (t == 0) { y[0] = 9; return; } y[t] = __shfl_sync(~0u, t * 3, 3); }]] },
  { "votes after a return", 1, 64, [[{ int t = threadIdx.x;
    if (t % 32 == 5) { y[t] = 9; return; }
    y[t] = __all_sync(~0u, t != 5) + 2 * __any_sync(~0u, t == 7);
    y[64 + t] = __ballot_sync(~0u, t & 1); }]] },
  { "match and reduce after a return", 1, 32, [[{ int t = threadIdx.x;
    if (t == 31) return; y[t] = __match_any_sync(~0u, t & 3);
    y[32 + t] = __reduce_add_sync(~0u, t); }]] },
  { "__syncwarp after a return", 1, 32, [[{ int t = threadIdx.x; __shared__ int s[32];
    if (t == 0) { y[0] = 9; return; } s[t] = t; __syncwarp(); y[t] = t < 31 ? s[t + 1] : 0; }]] },
  { "__syncthreads after a return", 1, 128, [[{ int t = threadIdx.x; __shared__ int s[128];
    s[t] = t; if (t % 3 == 0) { y[t] = 9; return; } __syncthreads(); y[t] = s[127 - t]; }]] },
  { "each branch its own mask", 1, 32, [[{ int t = threadIdx.x;
    if (t < 16) y[t] = __shfl_xor_sync(0xffff, t, 1);
    else y[t] = __shfl_xor_sync(0xffff0000, t, 2); }]] },
  { "__syncwarp in two branches", 1, 32, [[{ int t = threadIdx.x; __shared__ int s[32];
    if (t < 16) { s[t] = 7 * t; __syncwarp(); } else { __syncwarp(); y[t] = s[t - 16]; } }]] },
  { "a lock of all lanes", 4, 64, [[{ while (atomicCAS(y, 0, 1) != 0);]] .. LOCKED ..
    [[atomicExch(y, 0); }]] },
  { "a lock of all lanes, in a loop", 2, 64, [[{ for (int i = 0; i < 5; i++) {
    while (atomicCAS(y, 0, 1) != 0) __nanosleep(20);]] .. LOCKED .. [[atomicExch(y, 0); } }]] },
  { "a lock by tickets", 1, 64, [[{ int mine = atomicAdd(y + 2, 1);
    while (((volatile int *)y)[3] != mine);]] .. LOCKED .. [[atomicAdd(y + 3, 1); }]] },
  { "two lanes wait for each other", 1, 32, [[{ volatile int *f = y; int t = threadIdx.x;
    if (t == 0) { f[0] = 1; while (f[1] == 0); f[2] = 1; }
    else if (t == 1) { f[1] = 1; while (f[0] == 0); f[3] = 1; } f[8 + t] = t; }]] },
  { "lane after lane", 1, 96, [[{ volatile int *f = y;
    while (f[0] != threadIdx.x); f[0] = threadIdx.x + 1; }]] },
  { "a flag that the last block sets", 40, 32, [[{ volatile int *f = y;
    if (blockIdx.x == 39) f[0] = 1; else while (f[0] == 0); f[1 + blockIdx.x] = blockIdx.x; }]] },
  { "blocks that all wait for all", 64, 64, [[{
    if (threadIdx.x == 0) { __threadfence(); atomicAdd(y, 1);
    while (((volatile int *)y)[0] < gridDim.x); } __syncthreads(); y[1 + blockIdx.x] = 5; }]] },
}

local OPEN = {
  { "shfl in a branch, the others end", 1, 32, [[{ int t = threadIdx.x, v = 0;
    if (t >= 16) v = __shfl_xor_sync(~0u, t, 1); y[t] = v; }]] },
  { "shfl of one mask in two branches", 1, 32, [[{ int t = threadIdx.x, v;
    if (t & 1) v = __shfl_sync(~0u, t * 2, 4); else v = __shfl_sync(~0u, t + 7, 5); y[t] = v; }]] },
  { "__syncthreads in a branch, the others end", 1, 32, [[{ int t = threadIdx.x;
    if (t >= 7) __syncthreads(); y[t] = 1; }]] },
  { "__syncthreads in two branches", 1, 32, [[{ int t = threadIdx.x;
    if (t >= 7) { y[t] = 2; __syncthreads(); } else { y[t] = 3; __syncthreads(); } }]] },
  { "shfl of an ended lane", 1, 32, [[{ int t = threadIdx.x;
    if (t == 3) return; y[t] = __shfl_sync(~0u, t + 1, 3); }]] },
}

local WORDS = 256

local function run(device, kernel)
  local y = gi.array("i32", WORDS):fill(0)
  local source = 'extern "C" __global__ void k(int *y) ' .. kernel[4]
  local code = assert(gi.compile(source, { target = device:target() }))
  local buffer <close> = device:buffer(y)
  local module <close> = assert(device:load(code))
  local m, why = module:launch { grid = kernel[2], block = kernel[3], args = { buffer },
                                 timeout_s = 5 }
  if not m then return nil, why end
  if m.status == "ok" then buffer:read() end
  return m, y
end

local emu, device = assert(gi.device "emu"), assert(gi.device(options.device))
local lost = false

local function compare(kernel)
  local a, x = run(emu, kernel)
  local b, y = run(device, kernel)
  assert(a, x)
  if not b then return lost and "-" or y, 0 end
  lost = b.lost
  local differ = 0
  for i = 1, WORDS do differ = differ + (x[i] ~= y[i] and 1 or 0) end
  print(("%-44s %-14s %-14s %d"):format(kernel[1], a.status, b.status, differ))
  if a.status ~= "ok" then print("    emu: " .. a.message) end
  return a.status == b.status and differ == 0
end

local function section(title, kernels)
  print(("\n%-44s %-14s %-14s %s"):format(title, "emu", device:name(), "words that differ"))
  local bad = 0
  for _, kernel in ipairs(kernels) do
    if kernel[1]:find(options.only, 1, true) then
      if lost then print(kernel[1] .. ": not run, the device is lost") end
      if lost or not compare(kernel) then bad = bad + 1 end
    end
  end
  return bad
end

local wrong = section("must be the same", JUDGED)
section("open", OPEN)
print(wrong == 0 and "\nall as on the virtual GPU" or ("\n%d differ"):format(wrong))
os.exit(wrong == 0 and 0 or 1)
