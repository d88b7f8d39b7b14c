-- pairs_tape: recordings of a made-up program some of whose launches do not depend on each other,
-- as tape.lua's: two kernels of one input, and one of what both wrote, in rounds; between some of
-- them the host takes what there is. `gilua tests/lua/pairs_tape.lua SOURCE.cu A.rec B.rec`

local scratch = require "scratch"
local tape = require "tape"

local M = {}

M.SOURCE = [[
#include <cuda_runtime.h>

__device__ int rounds;

__global__ void twice(float *y, const float *x, int n)
{
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.0f;
}

__global__ void thrice(float *z, const float *x, int n)
{
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] * 3.0f;
}

__global__ void sum(float *x, const float *y, const float *z, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = y[i] + z[i];
}

__global__ void counted(float *y, const float *x, int n)
{
  rounds += 1;
  y[0] = x[0];
}

__global__ void sometimes(float *y, const float *x, float *z, int n)
{
  y[0] = x[0];
  if (x[1] > 1000.0f) z[0] = 1.0f;
}

__global__ void through(float *y, float *const *x, int n)
{
  y[0] = 1.0f;
  if (n < 0) *x[0] = 1.0f;
}

int main(int argc, char **argv)
{
  twice<<<8, 64>>>(nullptr, nullptr, argc);
  thrice<<<8, 64>>>(nullptr, nullptr, argc);
  sum<<<8, 64>>>(nullptr, nullptr, nullptr, argc);
}
]]

local NAMES = { twice = "_Z5twicePfPKfi", thrice = "_Z6thricePfPKfi", sum = "_Z3sumPfPKfS1_i",
  counted = "_Z7countedPfPKfi", sometimes = "_Z9sometimesPfPKfS_i",
  through = "_Z7throughPfPKS_i" }

local ARRAYS = { "x", "y", "z", "w", "v" }

--- Where each array of floats is: behind the module's variable.
M.AT = {}
for i, name in ipairs(ARRAYS) do M.AT[name] = 0x800000000000 + (i << 40) end

-- What kernels make of arrays, each a list of numbers.
local DOES = {}

local function of_each(f)
  return function(to, a, b)
    for i in ipairs(to) do to[i] = f(a[i], b and b[i]) end
  end
end

DOES.twice = of_each(function(a) return a * 2 end)
DOES.thrice = of_each(function(a) return a * 3 end)
DOES.sum = of_each(function(a, b) return a + b end)
DOES.copy = of_each(function(a) return a end)
function DOES.counted(to, a) to[1] = a[1] end
DOES.sometimes = DOES.counted
function DOES.through(to) to[1] = 1 end

-- Events of a step, whose arrays hold these numbers before it; the first then others.
local STEPS = {}

function STEPS.read(t, values, name)
  local bytes = string.pack(("<f"):rep(#values[name]), table.unpack(values[name]))
  t.event("read 0x%x %d 1 %d 1 1 %s", M.AT[name], #bytes, #bytes, t.blob(bytes))
end

function STEPS.copy(t, values, to, from)
  local size = 4 * #values[to]
  t.event("copy 0x%x %d 1 0x%x %d 1 %d 1 1", M.AT[to], size, M.AT[from], size, size)
end

local function launch(t, values, kernel, ...)
  local n, parts = #values.x, {}
  for i, name in ipairs { ... } do parts[i] = string.pack("<i8", M.AT[name]) end
  parts[#parts + 1] = string.pack("<i4", n)
  t.event("launch 0 %s %d,1,1 64,1,1 0 0 1000 %s", NAMES[kernel], (n + 63) // 64,
    tape.hexadecimal(table.concat(parts)))
end

local function step(t, values, what, ...)
  local lists = {}
  for i, name in ipairs { ... } do lists[i] = values[name] end
  if DOES[what] then DOES[what](table.unpack(lists)) end
  if STEPS[what] then STEPS[what](t, values, ...) else launch(t, values, what, ...) end
end

--- A recording of launches and what stands between them.
---@param n integer numbers of each array
---@param steps string[] "twice y x": a kernel and its arrays; "read x"; "copy y x"
---@return string bytes of the file
function M.recording(n, steps)
  local t, values = tape.new(), {}
  t.event "gilua 0"
  t.event("module 0 %s", t.blob(tape.compiled((M.SOURCE:gsub("\nint main.*", "\n")))))
  for _, name in ipairs(ARRAYS) do
    values[name] = {}
    for i = 1, n do values[name][i] = i % 7 + 1 end
    t.event("memory 0x%x %d device", M.AT[name], 4 * n)
  end
  local bytes = string.pack(("<f"):rep(n), table.unpack(values.x))
  for _, name in ipairs(ARRAYS) do
    t.event("write 0x%x %d 1 %d 1 1 %s", M.AT[name], #bytes, #bytes, t.blob(bytes))
  end
  for _, text in ipairs(steps) do
    local words = {}
    for word in text:gmatch "%S+" do words[#words + 1] = word end
    step(t, values, table.unpack(words))
  end
  return t.text()
end

--- Two rounds, in the second of which the host takes what there is in between.
M.ROUNDS = { "twice y x", "thrice z x", "sum x y z", "twice y x", "thrice z x", "read y",
  "sum x y z", "read x" }

if arg and (arg[0] or ""):find "pairs_tape.lua$" then
  scratch.write(arg[1], M.SOURCE)
  scratch.write(arg[2], M.recording(300, M.ROUNDS))
  scratch.write(arg[3], M.recording(100, M.ROUNDS))
end

return M
