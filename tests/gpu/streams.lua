-- streams: launches of recorded programs that do not depend on each other, on one stream, two and
-- four: as the host launches them, and as a CUDA graph. The programs are PolyBench's mvt, bicg and
-- 3mm, and four chains of small launches; their recordings are made here, by the virtual GPU. Fails
-- where a piece that is copied out is another than on one stream, or where launches are not on the
-- streams that they should be on. On the virtual GPU (--device emu) modelled times stand there.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local scratch = require "scratch"
local tape = require "tape"

local options = gi.cli {
  doc = "Independent launches of recorded programs on several streams.",
  { name = "vectors", default = 2048, min = 32, doc = "rows of mvt's and bicg's matrix" },
  { name = "matrices", default = 256, min = 16, doc = "rows of 3mm's matrices, a multiple of 16" },
  { name = "rounds", default = 25, min = 1, doc = "launches of each of the four chains" },
  { name = "only", default = "", doc = "programs with this in their name" },
  { name = "samples", default = 60, min = 3, doc = "of each time" },
}

local SOURCE = [[
extern "C" __global__ void rows(float *x, const float *a, const float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int j = 0; j < n; j++) sum += a[i * n + j] * y[j];
  x[i] = sum;
}

extern "C" __global__ void columns(float *x, const float *a, const float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int j = 0; j < n; j++) sum += a[j * n + i] * y[j];
  x[i] = sum;
}

extern "C" __global__ void product(float *c, const float *a, const float *b, int n)
{
  int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
  c[i * n + j] = sum;
}

extern "C" __global__ void smooth(float *to, const float *from, const float *weight, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = from[i];
  for (int k = 0; k < 200; k++) x = x * 0.99f + weight[k];
  to[i] = x;
}
]]

local FLOATS = {} -- some, over and over
for i = 1, 4093 do FLOATS[i] = (i * 2654435761 % 1000003) / 1000003 - 0.5 end
local PIECE = string.pack(("<f"):rep(#FLOATS), table.unpack(FLOATS))

local function bytes_of(n)
  return PIECE:rep(4 * n // #PIECE + 1):sub(1, 4 * n)
end

local FIRST, STEP = 0x800000000000, 1 << 40

-- The recording of a program: memory, launches, what is copied out (nil: zeros, to find it).
local function recording_of(program, pieces)
  local t, at = tape.new(), {}
  t.event "gilua 0"
  t.event("program %s", program.name)
  t.event("module 0 %s", t.blob(tape.compiled(SOURCE)))
  for i, array in ipairs(program.arrays) do
    at[array[1]] = FIRST + (i - 1) * STEP
    t.event("memory 0x%x %d device", at[array[1]], 4 * array[2])
  end
  for _, array in ipairs(program.arrays) do
    t.event("write 0x%x %d 1 %d 1 1 %s", at[array[1]], 4 * array[2], 4 * array[2],
      t.blob(bytes_of(array[2])))
  end
  for _, l in ipairs(program.launches) do
    t.event("launch 0 %s %s %s 0 0 10000 %s", l[1], l.grid, l.block, tape.hexadecimal(
      string.pack("<i8i8i8i4", at[l[2]], at[l[3]], at[l[4]], program.n)))
  end
  for i, name in ipairs(program.results) do
    local piece = pieces and pieces[i] or ("\0"):rep(4 * program.size)
    t.event("read 0x%x %d 1 %d 1 1 %s", at[name], #piece, #piece, t.blob(piece))
  end
  return t.text()
end

local function vectors(name, first, second)
  local n = options.vectors
  local grid, block = ("%d,1,1"):format((n + 255) // 256), "256,1,1"
  return { name = name, n = n, size = n, results = { "x1", "x2" }, streams = 2,
    arrays = { { "a", n * n }, { "y1", n }, { "y2", n }, { "x1", n }, { "x2", n } },
    launches = { { first, "x1", "a", "y1", grid = grid, block = block },
                 { second, "x2", "a", "y2", grid = grid, block = block } } }
end

local function matrices()
  local n, arrays = options.matrices, {}
  for i, name in ipairs { "a", "b", "c", "d", "e", "f", "g" } do arrays[i] = { name, n * n } end
  local function product(c, a, b)
    return { "product", c, a, b, grid = ("%d,%d,1"):format(n // 16, n // 16), block = "16,16,1" }
  end
  return { name = "3mm", n = n, size = n * n, results = { "g" }, arrays = arrays, streams = 2,
    launches = { product("e", "a", "b"), product("f", "c", "d"), product("g", "e", "f") } }
end

local function chains()
  local n, program = 2048, { name = "chains", results = {}, arrays = { { "weight", 2048 } },
    launches = {}, streams = 4 }
  program.n, program.size = n, n
  for chain = 1, 4 do
    for _, side in ipairs { "p", "q" } do table.insert(program.arrays, { side .. chain, n }) end
    table.insert(program.results, (options.rounds % 2 == 0 and "q" or "p") .. chain)
  end
  for round = 1, options.rounds do
    for chain = 1, 4 do
      local to, from = "p" .. chain, "q" .. chain
      if round % 2 == 0 then to, from = from, to end
      table.insert(program.launches, { "smooth", to, from, "weight", grid = "8,1,1",
        block = "256,1,1" })
    end
  end
  return program
end

-- What the program gives the virtual GPU says.
local function recorded(program, path)
  scratch.write(path, recording_of(program))
  local pieces = {}
  do
    local r <close> = gi.recording.open(path)
    for i, read in ipairs(assert(r:replay()).reads) do pieces[i] = read.bytes end
  end
  scratch.write(path, recording_of(program, pieces))
  return gi.recording.open(path)
end

local failed = 0

local function fail(...)
  failed = failed + 1
  print("FAILED", string.format(...))
end

-- Largest difference over the largest value of floats.
local function difference(got, right)
  local most, largest = 0, 1e-30
  for at = 1, #right, 4 do
    local a, b = string.unpack("<f", got, at), string.unpack("<f", right, at)
    most, largest = math.max(most, math.abs(a - b)), math.max(largest, math.abs(b))
  end
  return most / largest
end

-- Runs with turns: microseconds as a stream and as a graph, and what is copied out.
local function measured(r, gpu, turns)
  if not gpu then
    local m = assert(r:replay { turns = turns })
    return m.ns / 1000, m.ns / 1000, m.reads
  end
  local times, reads = {}, nil
  for i, as_graph in ipairs { false, true } do
    local m = assert(gpu:run { turns = turns, timed = true, as_graph = as_graph, bytes = true,
      min_samples = options.samples, max_samples = options.samples })
    if m.status ~= "ok" then error(m.message, 0) end
    times[i], reads = m.median_ns / 1000, m.reads
  end
  return times[1], times[2], reads
end

local function compare(name, n, reads, first, r)
  for i, read in ipairs(reads) do
    if read.bytes ~= first[i].bytes then
      fail("%s: piece %d is another on %d streams", name, i, n)
    end
    local rel = difference(read.bytes, r:blob(read.name))
    if rel > 1e-4 then fail("%s: piece %d is off by %.3g", name, i, rel) end
  end
end

local function one(program, folder, device)
  local r <close> = recorded(program, folder .. "/" .. program.name .. ".rec")
  local gpu = device:name() ~= "emu" and assert(device:replay(r.file)) or nil
  local base, base_graph, first
  for _, n in ipairs { 1, 2, 4 } do
    local plan = gi.streams.plan(r, n)
    local used = math.max(table.unpack(plan.stream))
    if used ~= math.min(n, program.streams) then
      fail("%s: %d of %d streams", program.name, used, n)
    end
    local us, graph_us, reads = measured(r, gpu, n > 1 and plan.turns or nil)
    base, base_graph, first = base or us, base_graph or graph_us, first or reads
    compare(program.name, n, reads, first, r)
    print(("%-8s %2d launches, %d streams: %9.2f us (%.3fx); as a graph %9.2f us (%.3fx)"):format(
      program.name, #program.launches, n, us, base / us, graph_us, base_graph / graph_us))
  end
  if gpu then gpu:close() end
end

local folder <close> = gi.tempfolder.new()
local device = gi.device(options.device)
print(device:name())
for _, program in ipairs { vectors("mvt", "rows", "columns"), vectors("bicg", "columns", "rows"),
  matrices(), chains() } do
  if program.name:find(options.only, 1, true) then one(program, folder.path, device) end
end
if failed > 0 then os.exit(1) end
