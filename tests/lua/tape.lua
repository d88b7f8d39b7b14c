-- tape: recordings of a made-up program, written without one (and without nvcc): two kernels that
-- take its time and a third, a loop on the host that ended when a flag said so, and answers worked
-- out here. `gilua tests/lua/tape.lua SOURCE.cu A.rec B.rec` writes the source and two recordings,
-- of inputs of two sizes.

local core = require "gilua.core"
local gi = require "gilua"
local scratch = require "scratch"

local M = {}

M.SOURCE = [[
#include <cstdio>
#include <cuda_runtime.h>

static __constant__ float by[2];

__global__ void scale(float *y, const float *x, int n)
{
  __syncthreads();
  __syncthreads();
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * by[1] + 1.0f;
}

__global__ void lower(float *y, int *left, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float was = y[i];
  __syncthreads();
  if (was > 4.0f) {
    y[i] = was - 4.0f;
    atomicAdd(left, 1);
  }
}

__global__ void touch(int *left) { *left = 0; }

int main(int argc, char **argv)
{
  printf("what the host does is of no concern\n");
  scale<<<8, 64>>>(nullptr, nullptr, argc);
}
]]

-- The source's code; that of the last source is kept.
local code, code_of
local function compiled(source)
  if code_of ~= source then
    local options = { "-I" .. gi.home .. "/lua/gilua/include" }
    code = assert(gi.compile(source, { target = "compute_90", options = options }))
    code_of = source
  end
  return code
end

local ENTRIES = { scale = "_Z5scalePfPKfi", lower = "_Z5lowerPfPii", touch = "_Z5touchPi" }
local CONSTANT, FIRST, STEP = 0x800000000000, 0x810000000000, 1 << 40

--- A chunk of a recording.
---@param kind integer
---@param bytes string
---@param lie? { flags?: integer, bytes?: integer, stored?: integer, hash?: string } of itself
---@return string
---@return string name of its bytes
function M.chunk(kind, bytes, lie)
  lie = lie or {}
  local name = lie.hash or core.system.hash128(bytes)
  local hash = name:gsub("%x%x", function(hex) return string.char(tonumber(hex, 16)) end)
  return string.pack("<I4I4I8I8", kind, lie.flags or 0, lie.stored or #bytes, lie.bytes or #bytes)
    .. hash .. bytes, name
end

local chunk = M.chunk

-- A file that grows: blobs are kept as they come, events in the end.
local function new_tape()
  local tape = { parts = { "gilua-rec" .. ("\0"):rep(3) .. string.pack("<I4", 1) }, lines = {},
    kept = {} }
  function tape.blob(bytes)
    local text, name = chunk(1, bytes)
    if not tape.kept[name] then tape.parts[#tape.parts + 1] = text end
    tape.kept[name] = true
    return name
  end
  function tape.event(...) tape.lines[#tape.lines + 1] = string.format(...) end
  function tape.text()
    local all = table.move(tape.parts, 1, #tape.parts, 1, {})
    all[#all + 1] = chunk(2, table.concat(tape.lines, "\n") .. "\n")
    all[#all + 1] = chunk(3, "")
    return table.concat(all)
  end
  return tape
end

M.new, M.compiled = new_tape, compiled

local function hexadecimal(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

M.hexadecimal = hexadecimal

local function floats(list)
  local parts = {}
  for i, x in ipairs(list) do parts[i] = string.pack("<f", x) end
  return table.concat(parts)
end

--- A recording of the program with n numbers.
---@param n integer
---@param options? { source?: string, wrong?: number, spoil?: fun(tape: table),
---  as?: string } other kernels than
---  M.SOURCE's; an answer that they do not give; what is changed of its lines and parts in the end
---@return string bytes of the file
function M.recording(n, options)
  local o, tape = options or {}, new_tape()
  local ptx = compiled((o.source or M.SOURCE):gsub("\nint main.*", "\n") .. "")
  local x_at, y_at, left_at = FIRST, FIRST + STEP, FIRST + 2 * STEP
  local function launch(kernel, ns, arguments)
    tape.event("launch 0 %s %d,1,1 64,1,1 0 0 %d %s", ENTRIES[kernel], (n + 63) // 64, ns,
      hexadecimal(arguments))
  end
  local function copy(kind, address, bytes)
    tape.event("%s 0x%x %d 1 %d 1 1 %s", kind, address, #bytes, #bytes, tape.blob(bytes))
  end
  local x, y = {}, {}
  for i = 1, n do
    x[i] = i % 7
    y[i] = x[i] * 2 + 1.0
  end
  tape.event("gilua %s", gi.version)
  tape.event("program ./app %d", n)
  if o.as then tape.event("as %s", o.as) end -- what it is for
  tape.event("module 0 %s", tape.blob(ptx))
  tape.event("variable 0 by 0x%x 8", CONSTANT)
  tape.event("memory 0x%x 8 variable", CONSTANT)
  copy("write", CONSTANT, floats { 5, 2 })
  for _, at in ipairs { x_at, y_at, left_at } do
    tape.event("memory 0x%x %d device", at, at == left_at and 4 or 4 * n)
  end
  copy("write", x_at, floats(x))
  launch("scale", 600, string.pack("<i8i8i4", y_at, x_at, n))
  copy("read", y_at, floats(y))
  local left
  repeat
    left = 0
    launch("touch", 10, string.pack("<i8", left_at))
    launch("lower", 120, string.pack("<i8i8i4", y_at, left_at, n))
    for i = 1, n do
      if y[i] > 4 then y[i], left = y[i] - 4, left + 1 end
    end
    copy("read", left_at, string.pack("<i4", left))
  until left == 0
  y[1] = o.wrong or y[1]
  copy("read", y_at, floats(y))
  if o.spoil then o.spoil(tape) end
  return tape.text()
end

if arg and (arg[0] or ""):find "tape.lua$" then
  scratch.write(arg[1], M.SOURCE)
  scratch.write(arg[2], M.recording(300))
  scratch.write(arg[3], M.recording(100))
end

return M
