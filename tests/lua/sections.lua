-- Kernels in two sections: blocks of their own for each of two results. What is made is right at
-- every size, with the launch that it asks for, and no block needs what another one writes.

package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local grammar = require "gilua.transform.grammar"
local kernels = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local rewritten = require "rewritten"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local sections = transform.find "sections"

local MOST, SIZES = 8192, { 0, 1, 31, 64, 65, 200 }

local device = gi.device "emu"

-- A kernel's body in its frame: its first line is line 4.
local function source(body, above)
  return ('%s\nextern "C" __global__ void k(float *p, float *q, const float *a, const float *b, '
    .. "int n)\n{\n%s\n}\n"):format(above or "", body)
end

local function filled(factor)
  local array = gi.array("f32", MOST)
  for i = 1, MOST do array[i] = ((i * factor + 5) % 97 - 40) / 8 end
  return array
end

-- What is in p and q after a launch of a text; nil and why not.
local function answers(text, n, shape)
  local code, why = gi.compile(text, { target = device:target() })
  if not code then return nil, why end
  local p, q = device:buffer(filled(5)), device:buffer(filled(3))
  local m = assert(device:load(code)):launch {
    kernel = "k", grid = shape.grid, block = shape.block, check_races = "global",
    args = { p, q, device:buffer(filled(7)), device:buffer(filled(11)), { "i32", n } },
  }
  if m.status ~= "ok" then return nil, m.status .. ": " .. tostring(m.message) end
  return { p:read(), q:read() }
end

-- What genes make of a text, as a person reads it.
local function read(text, genes)
  local g = grammar.of(assert(core.grammar.parse("kernel.cu", { text = text, kernel = "k",
    open_loops = true })))
  return (g:apply(genes, true))
end

local function difference(text, made, change, n, shape)
  local want = assert(answers(text, n, shape))
  local got, why = answers(made, n, launch.changed(shape, change.launch))
  if not got then return ("n = %d: %s"):format(n, why) end
  for which = 1, 2 do
    for i = 1, MOST do
      if got[which][i] ~= want[which][i] then
        return ("n = %d, array %d, element %d: %s, not %s"):format(n, which, i, got[which][i],
          want[which][i])
      end
    end
  end
end

-- It is found there, made, and right; its text.
local function right(what, text, line, shape)
  local change, why = sections.make(kernels.of_text(text), line, {})
  if not change then return tap.ok(false, what .. ": refused: " .. why) end
  local made = rewritten.text(sections, text, line)
  tap.ok((" " .. rewritten.found(sections, text) .. " "):find((" %d() "):format(line), 1, true),
    what .. ": found at " .. rewritten.found(sections, text))
  for _, n in ipairs(SIZES) do
    local width = shape and shape.block[1] or 64
    tap.is(difference(text, made, change, n, { grid = (shape or {}).grid or (n + width) // width,
      block = (shape or {}).block or { 64 } }), nil, ("%s, %d items"):format(what, n))
  end
  return made
end

local function refused(what, text, line, why)
  local made, reason = rewritten.text(sections, text, line)
  tap.is(made, nil, what)
  tap.has(reason or "", why, what .. ": why")
  tap.is(rewritten.found(sections, text):find("%f[%d]" .. line .. "%("), nil, what .. ": not found")
end

--------------------------------------------------------------------------------------------------
-- A list of statements

local COLUMNS = source [[
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  float sum = 0; // adds
  for (int i = 0; i < 8; i++)
    sum += a[i * 256 + c];
  p[c] = sum / 8;
  // the greatest
  float m = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    m = fmaxf(m, b[i * 256 + c]);
  }
  q[c] = m; // done]]

tap.case("the text", function()
  local _, says = rewritten.text(sections, COLUMNS, 11)
  tap.is(read(COLUMNS, "T:sections<11>()"), [[

extern "C" __global__ void k(float *p, float *q, const float *a, const float *b, int n)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  float sum = 0; // adds
  if (blockIdx.z == 0) {
    for (int i = 0; i < 8; i++)
      sum += a[i * 256 + c];
    p[c] = sum / 8;
  } else {
    // the greatest
    float m = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      m = fmaxf(m, b[i * 256 + c]);
    }
    q[c] = m; // done
  }
}
]], "as a person would write it")
  tap.is(sections.make(kernels.of_text(COLUMNS), 11, {}).launch, "grid.z==1 grid.z=2", "launched")
  tap.is(says, "blocks of z = 0 do what is before line 11, others what is from there on",
    "in words")
end)

local HEAD = "  int c = blockIdx.x * blockDim.x + threadIdx.x;\n"

tap.case("two results are right", function()
  local made = right("columns", COLUMNS, 11)
  tap.is(rewritten.found(sections, made), "", "and no more than once")
  right("inside of conditions", source(HEAD .. [[
  if (c < n) {
    float sum = a[c];
    if (sum < 4.f && b[c] < 4.f) {
      for (int i = 0; i < c; i++) sum += b[i];
      p[c] = sum;
      for (int i = 0; i < 3; i++) q[c * 3 + i] = sum = a[i] * a[c];
    }
  }]]), 10)
  right("variables that are given anew", source(HEAD .. [[
  int i, last;
  float sum = 0;
  if (c >= n) return;
  for (i = 0; i < 5; i++) sum += a[c + i];
  p[c] = sum;
  for (i = 0; i < 9; i++) {
    sum = b[c + i];
    q[9 * c + i] = 2 * sum;
  }]]), 10)
  right("a return in the second part", source(HEAD .. [[
  for (int i = 0; i < 5 && c < n; i++) p[c] += a[c + i];
  if (c >= n) return;
  float sum = 1;
  while (sum < b[c]) sum *= 2;
  q[c] = sum;]]), 6)
  right("functions", source(HEAD .. [[
  if (c >= n) return;
  p[c] = grown(a, c);
  q[c] = grown(b, c);]], [[
__device__ float grown(const float *x, int c) {
  float s = 0; for (int i = c; i < c + 9; i++) s += x[i]; return s; }]]), 8)
  right("what the first part loads and stores", source(HEAD .. [[
  if (c >= n) return;
  float own = p[c];
  for (int i = 0; i < 5; i++) own += a[i];
  p[c] = own;
  for (int i = 0; i < 5; i++) q[c * 5 + i] = a[i];]]), 9)
  right("ways out that do something", source(HEAD .. [[
  float sum = 0;
  if (c >= n) {
    sum++;
    return;
  }
  for (int i = 0; i < 5; i++) sum += a[i];
  p[c] = sum;
  for (int i = 0; i < 5; i++) q[c * 5 + i] = a[i];]]), 12)
  tap.has(read(source(HEAD .. [[
#pragma unroll
  for (int i = 0; i < 5; i++) p[c * 5 + i] = a[i];
#pragma unroll
  for (int i = 0; i < 5; i++) q[c * 5 + i] = a[i];]]), "T:sections<8>()"), [[
  if (blockIdx.z == 0) {
    #pragma unroll
    for (int i = 0; i < 5; i++) p[c * 5 + i] = a[i];
  } else {
  #pragma unroll
    for (]], "a #pragma stays with its loop")
  tap.is(rewritten.found(sections, source(HEAD .. [[
  for (int i = 0; i < 5; i++) p[c * 5 + i] = a[i];
  int z = 3; for (int i = 0; i < 5; i++) q[c * 5 + i] = a[i];]])), "6()", "a line once")
  right("atomics", source [[
  int c = threadIdx.x;
  for (int i = c; i < n; i += 64) atomicAdd(p + i % 8, 1.f);
  for (int i = c; i < n; i += 64) atomicAdd(q + i % 4, 1.f);]], 6)
end)

tap.case("it is made before others that come first", function()
  local text = read(COLUMNS, "T:merge<2>(x,2) T:sections<11>()")
  tap.has(text, "if (blockIdx.z == 0) {", "of a list that nothing was made of")
  tap.has(text, "p[c] = sum / 8;", "what is merged then")
  tap.has(text, "part < 2", "by two")
  tap.is(text, read(COLUMNS, "T:sections<11>() T:merge<2>(x,2)"), "wherever it stands")
end)

tap.case("two dimensions", function()
  local text = source [[
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < 20) {
    float s = 0;
    for (int d = -3; d <= 3; d++) s += a[min(max(y + d, 0), 19) * n + x];
    p[y * n + x] = s;
    s = 0;
    for (int d = -3; d <= 3; d++) s += b[y * n + min(max(x + d, 0), n - 1)];
    q[y * n + x] = s;
  }]]
  right("filters along both", text, 9, { grid = { 13, 5 }, block = { 16, 4 } })
end)

local SHARED = source [[
  __shared__ float tile[64], low[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float own = i < n ? a[i] : 0;
  tile[t] = own;
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (t < h) tile[t] += tile[t + h];
    __syncthreads();
  }
  if (t == 0) p[blockIdx.x] = tile[0];
  low[t] = fminf(own, b[i]);
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (t < h) low[t] = fminf(low[t], low[t + h]);
    __syncthreads();
  }
  if (t == 0) q[blockIdx.x] = low[0];]]

tap.case("shared memory and barriers in both parts", function()
  tap.has(right("arrays of their own", SHARED, 14), [[
  tile[t] = own;
  __syncthreads();
  if (blockIdx.z == 0) {
    for]], "what both do before")
  local one = SHARED:gsub("low%[", "tile["):gsub(", tile%[64%];", ";")
    :gsub("  tile%[t%] = fminf%(own", "  __syncthreads();\n%0")
  right("one for both, which each thread begins anew", one, 15)
  refused("begun elsewhere", (one:gsub("tile%[t%] = fminf%(own", "tile[63 - t] = fminf(own")), 15,
    "the second part uses tile as the first one leaves it")
  refused("begun by some", (one:gsub("tile%[t%] = fminf%(own", "if (t > 3) %0")), 15, "uses tile")
  refused("written elsewhere too", (one:gsub("tile%[t%] %+= tile%[t %+ h%];",
    "{ %0 tile[63 - t] = 1; }")), 15, "uses tile")
  refused("begun at a place that changes", (one:gsub("tile%[t%] = fminf%(own", "t /= 2; %0")), 15,
    "uses tile")
  refused("written elsewhere", (one:gsub("tile%[t%] %+=", "tile[t + h] +=")), 15, "uses tile")
  refused("begun with what is there", (one:gsub("fminf%(own", "fminf(tile[t ^ 1]")), 15,
    "uses tile")
  refused("written at a loop's place", (one:gsub("if %(t < h%) tile%[t%] %+=",
    "if (t < h) tile[h + t] +=")), 15, "uses tile")
  local waiting = source [[
  __shared__ float tile[64], most;
  int t = threadIdx.x;
  tile[t] = a[t];
  if (t == 0) most = a[7];
  for (int i = 0; i < 9; i++) p[t * 9 + i] = b[i];
  __syncthreads();
  for (int i = 0; i < 9; i++) q[t * 9 + i] = tile[63 - t];]]
  local why = "the second part needs what the first one waits for"
  refused("a barrier of both", waiting, 10, why)
  refused("a variable that waits for it", (waiting:gsub("tile%[63 %- t%]", "most")), 10, why)
  local again = waiting:gsub("  if %(t == 0%) most = a%[7%];",
    "  __syncthreads(); float x = tile[63 - t];")
  refused("an array that is given anew", (again:gsub("q%[t %* 9 %+ i%] = tile%[63 %- t%]",
    "tile[t] = q[t * 9 + i] = x")), 10, why)
  right("no barrier", (waiting:gsub("  __syncthreads%(%);", "  float x = 1;")
    :gsub("tile%[63 %- t%]", "tile[t]")), 10)
  right("one behind it too", (waiting:gsub("tile%[63 %- t%]", "b[t]")), 10)
  right("one before it", (waiting:gsub("most = a%[7%];", "%0 __syncthreads();")), 10)
  refused("one sum for both", source [[
  __shared__ float most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  for (int i = 0; i < 9; i++) if (threadIdx.x == i) most = a[i];
  p[threadIdx.x] = 1;
  __syncthreads();
  for (int i = 0; i < n; i++) q[i] = most;]], 10, "uses most")
end)

tap.case("what is not made", function()
  local function of(what, first, second, why)
    local text = source(HEAD .. "  if (c >= n) return;\n" .. first .. "\n" .. second,
      "__device__ float total; struct Two { float *x, *y; };\n"
      .. "__device__ void put(float *to, int c) { to[c] = 1; }")
    refused(what, text, 8, why)
  end
  local sum = "float sum = 0; for (int i = 0; i < 9; i++) sum += a[i]; p[c] = sum;"
  local other = "for (int i = 0; i < 9; i++) q[9 * c + i] = b[i];"
  of("a sum that both need", sum, "q[c] = sum;",
    "the second part uses sum as the first one leaves it")
  of("one that is given in a condition", sum, "if (c > 3) sum = 1; q[c] = sum;", "uses sum")
  of("one that goes on", sum, "sum += 1; q[c] = sum;", "uses sum")
  of("one that goes on by itself", sum, "sum = sum + 1; q[c] = sum;", "uses sum")
  of("one that is asked for first", sum, "q[c] = sum; sum = 1; q[n + c] = sum;", "uses sum")
  of("one that is given in a block", sum, "if (c > 3) { sum = 1; } q[c] = sum;", "uses sum")
  of("one that is given in a case", sum, "switch (c) { case 0: sum = 1; default: q[c] = sum; }",
    "uses sum")
  of("one that the first part declares", sum .. " float last;", "last = 2; q[c] = last;",
    "uses last")
  of("one that it declares, and the second gives", sum .. " float last;", "q[c] = 3; last = 2;",
    "uses last")
  of("a parameter", sum .. " n /= 2;", "q[c] = n;", "uses n")
  of("a type", sum .. " typedef float real;", "real x = b[c]; q[c] = x;", "declares a type")
  of("a pointer in a struct", "Two two = { p, q }; for (int i = 0; i < 9; i++) two.x[i] = 1;",
    "q[c] = p[9 * c];", "memory that the other writes")
  of("pointers in an array", "float *to[2] = { p, q }; for (int i = 0; i < 9; i++) to[0][i] = 1;",
    "q[c] = p[9 * c];", "memory that the other writes")
  of("the whole grid", sum, "auto all = cooperative_groups::this_grid(); q[c] = all.size();",
    "it uses this_grid")
  of("one that is led to", "float sum = 0, *s = &sum; for (int i = 0; i < 9; i++) *s += a[i];"
    .. "p[c] = *s;", "sum = 1; q[c] = *s;", "memory that the other writes")
  of("an array of the thread's", "float own[4]; for (int i = 0; i < 4; i++) own[i] = a[i];"
    .. "p[c] = own[1];", "q[c] = own[2];", "uses own")
  of("memory that the second part reads", sum, "q[c] = p[c ^ 1];", "memory that the other writes")
  of("memory that the second part writes", sum, "q[c] = 1; p[n + c] = 2;", "memory that the other")
  of("memory that the first part reads", sum .. " p[c] += q[c + 1];", other,
    "memory that the other writes")
  of("a variable of the file", sum .. " total = sum;", "q[c] = total;", "memory that the other")
  of("what a function writes", sum .. " put(q, c);", other, "memory that the other")
  of("a pointer to who knows where", "float *to = c > 3 ? p : q; " .. sum .. " to[c] = sum;", other,
    "memory that the other")
  of("a first part that leaves", sum .. " if (a[c] > 0) return;", other, "may leave the kernel")
  of("a first part without result", "float sum = 0; for (int i = 0; i < 9; i++) sum += a[i];",
    other, "one part leaves nothing in memory")
  of("a second part without", sum, "int last = c;", "one part leaves nothing in memory")
  of("little", "p[c] = a[c];", "q[c] = b[c];", "neither part has a loop")
  of("a head that loads what the second part writes", "float own = q[c + 1]; p[c] = own;", other,
    "both parts need what one of them writes to")
  of("a block's z", sum, "q[c] = blockIdx.z; " .. other, "it uses blockIdx.z")
  of("the grid's z", sum, "q[c] = gridDim.z; " .. other, "it uses gridDim.z")
  of("the block as a whole", sum, "uint3 all = blockIdx; q[c] = all.x; " .. other,
    "it uses blockIdx")
  of("an #if", sum, other .. "\n#if 1\nq[c] = 1;\n#endif", "#if")
  of("a lock", "while (atomicCAS((int *)p, 0, 1) != 0) ; " .. sum, other, "other threads may wait")
  of("text", sum .. ' printf("%d", c);', other, "not understood")
  local function below(what, before, condition, why)
    refused(what, source(("%s  %s\n  if (%s) {\n%s\n%s\n  }"):format(HEAD, before, condition,
      sum, other), "__device__ float total;"), 8, why)
  end
  below("something stored before a condition", "total = 1;", "c < n", "no statement")
  below("a condition that does something", "", "atomicAdd(&total, 1.f) < n", "no statement")
  below("a condition of what the first part writes", "", "p[c] < 1", "both parts need")
  below("a condition of what the second part writes", "", "q[c] < 1", "both parts need")
  refused("not a kernel", "__device__ void f(float *p) {\n  p[0] = 1;\n  p[1] = 2;\n}\n", 3,
    "no statement of a kernel's list")
  refused("a function that asks for its block", source(HEAD .. sum .. "\n" .. other,
    "__device__ int own() { return blockIdx.z; }"), 6, "the function own uses blockIdx")
  refused("the kernel's line", COLUMNS, 2, "no statement")
  tap.is(select(2, sections.make(kernels.of_text(COLUMNS), 11, { "2" })),
    "it is written sections<LINE>()", "an argument")
end)

--------------------------------------------------------------------------------------------------
-- A loop with two results

local ONE_LOOP = source(HEAD .. [[
  if (c >= n) return;
  float s = 0, t = 0;
#pragma unroll 2
  for (int k = 0; k < 16; k++) {
    // of both
    const float x = b[k];
    s += a[c * 16 + k] * x;
    t += a[k * 256 + c] * x; // down
  }
  p[c] = s;
  float u = t * 2;
  if (s > 0)
    p[n + c] = s;
  q[c] = u;]])

tap.case("the text of a loop with two results", function()
  local _, says = rewritten.text(sections, ONE_LOOP, 12)
  tap.has(read(ONE_LOOP, "T:sections<12>()"), [[
  float s = 0, t = 0;
  if (blockIdx.z == 0) {
    #pragma unroll 2
    for (int k = 0; k < 16; k++) {
      // of both
      const float x = b[k];
      s += a[c * 16 + k] * x;
    }
    p[c] = s;
    if (s > 0)
      p[n + c] = s;
  } else {
    #pragma unroll 2
    for (int k = 0; k < 16; k++) {
      const float x = b[k];
      t += a[k * 256 + c] * x; // down
    }
    float u = t * 2;
    q[c] = u;
  }
}
]], "as a person would write it")
  tap.is(says, "blocks of z = 0 do what is before line 12 in each iteration, others what is from "
    .. "there on", "in words")
end)

tap.case("loops with two results are right", function()
  right("products with rows and columns", ONE_LOOP, 12)
  right("a store and a sum", source(HEAD .. [[
  if (c < n) {
    float t = 0;
    for (int k = 0; k < 9; k++) {
      p[k * n + c] = a[k * n + c] + b[k] * b[c];
      t += a[k * n + c] * b[k];
    }
    q[c] = 1.2f * t;
  }]]), 9)
  right("what is made of the first sum", source(HEAD .. [[
  if (c >= n) return;
  float s = 0, t = 0;
  for (int k = 0; k < 9; k++) {
    s += a[k + c];
    t += b[k + c];
  }
  float u = s / 2;
  q[c] = t;
  p[c] = u;]]), 9)
  right("stores alone", source(HEAD .. [[
  int k;
  for (k = 0; k < 9; k++) {
    p[k * 512 + c] = a[k * n + c];
    q[k * 512 + c] = b[k * n + c];
  }]]), 8)
end)

tap.case("loops that are not parted", function()
  local function of(what, first, second, behind, why, head)
    refused(what, source(("%s  float s = 0, t = 0;\n%s\n  {\n%s\n%s\n  }\n%s"):format(HEAD,
      head or "for (int k = 0; k < 16; k++)", first, second, behind)), 9, why)
  end
  local ends = "p[c] = s; q[c] = t;"
  of("one that needs the other", "s += a[k];", "t += s;", ends, "a variable that the other changes")
  of("both ways", "s += t * a[k];", "t += a[k + 1];", ends, "a variable that the other changes")
  of("one result of both", "s += a[k];", "t += b[k];", "p[c] = s + t;", "what both parts make")
  of("memory of both", "s += q[k];", "t += b[k];", ends, "memory that the other writes")
  of("a loop that is left", "s += a[k];", "t += b[k];\nif (t > 3) break;", ends, "does more than")
  of("a barrier behind", "s += a[k];", "t += b[k];", "__syncthreads(); " .. ends, "of both parts")
  of("a result of one", "s += a[k];", "t += b[k];", "p[c] = s;", "leaves nothing in memory")
  of("something before", "s += a[k];", "t += b[k];", ends, "something is done before the loop",
    "p[c + n] = 3; for (int k = 0; k < 16; k++)")
  of("a while", "s += a[c];", "t += b[c++];", ends, "does more than", "while (c < n)")
  of("a return behind", "s += a[k];", "t += b[k];", "if (c > 3) return; " .. ends, "of both parts")
  of("a #pragma behind", "s += a[k];", "t += b[k];", ends
    .. "\n#pragma unroll\nfor (int k = 0; k < 4; k++) q[n + c + k] = t;", "of both parts")
  of("a directive in it", "s += a[k];\n#pragma unroll\n", "t += b[k];", ends, "a directive")
  of("nothing before", "const float x = a[k];", "s += x;\nt += x;", ends, "first part does nothing")
  of("a start that the second part writes", "s += a[k];", "t += b[k];", ends, "both parts need",
    "for (int k = (int)(q[c] * 0); k < 16; k++)")
  of("what both load, and the second part writes", "float x = q[k]; s += x;", "t += x;", ends,
    "both parts need")
  of("what both load, at a place that one changes", "float x = b[m]; s += x; m++;", "t += x;", ends,
    "a variable that the other", "int m = 0; for (int k = 0; k < 16; k++)")
  of("the second part changes", "float x = b[m]; s += x;", "t += x; m++;", ends,
    "a variable that the other", "int m = 0; for (int k = 0; k < 16; k++)")
  of("what both load of an array that one changes", "float x = own[k & 3]; own[k & 3] = s += x;",
    "t += x;", ends, "a variable that the other",
    "float own[4] = {}; for (int k = 0; k < 16; k++)")
  of("what counts in both", "float x = atomicAdd(q, 1.f); s += x;", "t += x;", ends,
    "a variable that the other")
  of("an array of the thread's", "own[k & 3] += a[k];", "t += own[1];", "p[c] = own[2]; q[c] = t;",
    "a variable that the other", "float own[4] = {}; for (int k = 0; k < 16; k++)")
end)

tap.done()
