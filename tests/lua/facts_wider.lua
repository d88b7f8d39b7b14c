-- facts.wider: would more threads leave, in shared memory, what is used as a whole alone; and does
-- another thread do an item otherwise?

package.path = "tests/lua/?.lua;" .. package.path
local kernels = require "gilua.transform.kernel"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local widen = transform.find "widen"

-- What widen promises of a kernel whose threads share the loop: "nothing", its promise, or why it
-- is refused.
local function answer(round, behind, before)
  local source = ("#define BLOCK 64\n__global__ void k(float *out, const float *a, int n)\n{\n"
    .. "__shared__ float sum[BLOCK], bins[8], two[2][8];\nint t = threadIdx.x;\nfloat s = 0;\n"
    .. "%s\nfor (int i = t; i < n; i += BLOCK) { %s }\n%s\n}\n"):format(before or "", round, behind)
  local change, why = widen.make(kernels.of_text(source), 2, { "2" })
  return change and (change.promise or "nothing") or why
end

local HALVES = "for (int j = BLOCK / 2; j > 0; j /= 2) "
  .. "{ if (t < j) sum[t] += sum[t + j]; __syncthreads(); }\n"
local FIRST = "if (t == 0) out[blockIdx.x] = sum[0];"
local WHOLE = "used as a whole alone"

tap.case("each thread's own elements of shared memory", function()
  tap.is(answer("s += a[i];", "sum[t] = s; __syncthreads();\n" .. HALVES .. FIRST), "nothing",
    "all are put together")
  tap.is(answer("sum[t] += a[i];", "__syncthreads();\n" .. HALVES .. FIRST), "nothing",
    "as the loop left them")
  for what, behind in pairs { ["the first"] = FIRST, eight = "if (t < 8) out[t] = sum[t];",
      ["two of a tree"] = HALVES .. "if (t < 2) out[t] = sum[t];" } do
    tap.has(answer("sum[t] += a[i];", "__syncthreads();\n" .. behind), WHOLE, what)
    tap.has(answer("s += a[i];", "sum[t] = s; __syncthreads();\n" .. behind), WHOLE, what)
  end
  tap.has(answer("atomicAdd(&bins[t % 7], a[i]);", "if (t < 8) out[t] = bins[t];"),
    "`bins` (line 8)", "groups of threads")
  tap.is(answer("atomicAdd(&bins[(int)a[i] & 7], 1.f);", "if (t < 8) out[t] = bins[t];"), "nothing",
    "an item's own element")
end)

tap.case("items that are counted across blocks", function()
  local WHY = "its threads count items across blocks"
  tap.has(answer("s += a[i];", "out[blockIdx.x * blockDim.x] = s;"), WHY, "by the block's number")
  tap.has(answer("s += a[i];", "out[first] = s;",
    "int block = blockIdx.x * 2 + 1, mine; mine = block; int first = mine * blockDim.x;"), WHY,
    "by other names of it")
  tap.is(answer("s += a[i];", "sum[t] = s; __syncthreads();\n" .. HALVES .. FIRST,
    "int half = n / 2; int other = half * blockDim.x;"):find(WHY, 1, true), nil, "not by others")
end)

tap.case("what a thread finds elsewhere by its number", function()
  local BEHIND, WHY = "if (t < 8) out[t] = bins[t];", "does an item otherwise for another thread"
  tap.has(answer("atomicAdd(&bins[(int)a[t * 8 + i] & 7], 1.f);", BEHIND), WHY, "an index")
  tap.has(answer("atomicAdd(&row[(int)a[mine + i] & 7], 1.f);", "if (t < 8) out[t] = two[0][t];",
    "auto &row = two[0]; int all[2]; auto &one = all[1]; one = BLOCK; "
    .. "auto mine = all[1];"), WHY, "by other names")
  tap.is(answer("float own[4] = {a[i]}; atomicAdd(&bins[(int)own[t & 3] & 7], 1.f);", BEHIND):find(
    WHY, 1, true), nil, "an element of its own is none")
end)

tap.done()
