-- gilua tests/gpu/pairs.lua FOLDER: writes each pair of tests/lua/pairkernels.lua as a program,
-- FOLDER/KIND_NUMBER.cu. `program bug` launches the wrong kernel, `program fix` the right one; it
-- prints a hash of what they leave. sanitized.py runs them under compute-sanitizer.

package.path = "tests/lua/?.lua;" .. package.path
local pairkernels = require "pairkernels"

local PROGRAM = [[
// %s: %s
#include <cstdio>
#include <cstring>
%s
%s%s
int main(int, char **argv) {
  static unsigned h[4160];
  unsigned *y, *f;
  unsigned long long hash = 0xcbf29ce484222325ull;
  cudaMalloc(&y, 4096 * 4), cudaMalloc(&f, 64 * 4);
  cudaMemset(y, 0, 4096 * 4), cudaMemset(f, 0, 64 * 4);
  if (strcmp(argv[1], "bug") == 0) bug_k<<<%s>>>(y, f);
  else fix_k<<<%s>>>(y, f);
  cudaError_t e = cudaDeviceSynchronize();
  cudaMemcpy(h, y, 4096 * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(h + 4096, f, 64 * 4, cudaMemcpyDeviceToHost);
  for (unsigned v : h) hash = (hash ^ v) * 0x100000001b3ull;
  printf("%%s %%llx\n", cudaGetErrorName(e), hash);
  return e != cudaSuccess;
}
]]

local function launch(o, variant)
  return ("%d, %d, %d"):format(o[variant] or o.grid or 1, o.block or 32, o.shared or 0)
end

local function write(folder, kind, number, case)
  local file = assert(io.open(("%s/%s_%02d.cu"):format(folder, kind, number), "w"))
  local o = case[3]
  local bug, fix = pairkernels.kernel("k", "bug", case[2]), pairkernels.kernel("k", "fix", case[2])
  file:write(PROGRAM:format(kind, case[1], pairkernels.help, bug, fix, launch(o, "bug"),
    launch(o, "fix")))
  file:close()
end

local folder = assert(arg[1], "gilua tests/gpu/pairs.lua FOLDER: no folder is given")
for kind, list in pairs { races = pairkernels.races, waits = pairkernels.waits,
  bounds = pairkernels.arrays } do
  for i, case in ipairs(list) do write(folder, kind, i, case) end
end
