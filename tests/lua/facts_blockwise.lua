-- blockwise: what a kernel computes from where its block is, or a thread, and what is the same for
-- all.

package.path = "tests/lua/?.lua;" .. package.path
local blockwise = require "gilua.facts.blockwise"
local bounded = require "gilua.facts.bounded"
local kernel = require "gilua.transform.kernel"
local merge_plan = require "gilua.facts.merge_plan"
local mergeable = require "gilua.facts.mergeable"
local tap = require "tap"

-- The variables and arrays that are a block's own (or a thread's) after a body, or why nothing is
-- known; then the lines of the loops that some leave earlier.
local function owned(body, index)
  local fn = kernel.of_text("__device__ int place() { return blockIdx.x; }\n"
    .. "__shared__ float lines[8];\n"
    .. "__global__ void k(float *out, const float *a, int n)\n{\n"
    .. "  int b = blockIdx.x, t = threadIdx.x, x = 0, y = 0; __shared__ float s[32];\n"
    .. "  extern __shared__ float dyn[];\n" .. body .. "\n}\n").by_name.k
  local known = blockwise.of(fn, index or "blockIdx", "x")
  if known.why then return known.why end
  local names = {}
  for name in pairs(known.names) do names[#names + 1] = name end
  table.sort(names)
  for s in pairs(known.loops) do names[#names + 1] = "left " .. s.kind end
  return table.concat(names, " ")
end

tap.case("what is a block's own, and what a thread's", function()
  local function is(body, blocks, threads)
    tap.is(owned(body), blocks, "of blocks: " .. body)
    tap.is(owned(body, "threadIdx"), threads, "of threads: " .. body)
  end
  is("x = t;", "b", "t x")
  is("x = b + 1;", "b x", "t")
  is("x = blockIdx.y;", "b", "t")
  is("x = place();", "b x", "t")
  is("x = y; y = b;", "b x y", "t")
  is("b = 0; x = b;", "b x", "t")
  is("{ int x = b; y = 0; }", "b x", "t")
  is("int i = b, j = t;", "b i", "j t")
  is("int i = x++, j = b;", "b i j x", "t")
  is("int &r = x; r = b;", "b r x", "r t x")
  is("int *p = &x; *p = b;", "b p x", "p t x")
  is("if (b > 2) x = 1;", "b x", "t")
  is("if (b > 2) x = 1; else y = 2;", "b x y", "t")
  is("if (n > 2) x = 1;", "b", "t")
  is("if (b > 2) return; x = 1;", "line 7 returns for some blocks", "t")
  is("if (t > 2) return; x = 1;", "b", "line 7 returns for some threads")
  is("while (x < b) x++;", "b x", "t")
  is("do x++; while (x < b);", "b x", "t")
  is("for (int i = 0; i < n; i++) { if (i > b) break; x++; }", "b i x left for", "t")
  is("for (int i = 0; i < n; i++) { if (i > b) continue; x++; }", "b i x left for", "t")
  is("for (int i = b; i < n; i += 4) x += i;", "b i x", "t")
  is("for (int i = 0; i < b; i++) y += i;", "b i y", "t")
  is("if (b > 2) for (int i = 0; i < n; i++) x += i;", "b i x", "t")
  is("int i; if (b > 2) for (i = 0; i < n; i++) x += i;", "b x", "t")
  is("int i; if (b > 2) for (i = 0; i < n; i++) x += i; y = i;", "b i x y", "t")
  is("switch (b) { case 1: x = 2; }", "b x", "t")
  is("switch (n) { case 1: if (b) break; x = 2; }", "b x left switch", "t")
  is("s[t] = a[b];", "b s", "t")
  is("s[t] = a[t];", "b", "t")
  is("x = s[t]; s[t] = b;", "b s x", "t x")
  is("int q[2]; q[0] = b;", "b q", "t")
  is("out[b] = 1; x = out[0];", "b x", "t x")
  is("x = a[0];", "b", "t")
  is("x = atomicAdd(&out[0], 1.f);", "b x", "t x")
  is("lines[0] = b; x = lines[0];", "b lines x", "t")
  is("dyn[0] = b;", "b dyn", "t")
  is("x = __shfl_sync(-1, t, 0);", "b", "t x")
  is("float *p = n > 2 ? out : lines; p[0] = 1.f; x = a[0];",
    "b x", "t x")
end)

tap.case("arrays in shared memory", function()
  local fn = kernel.of_text("__shared__ float lines[8];\nextern __shared__ int more[];\n"
    .. "__global__ void k()\n{\n  __shared__ float s[2]; extern __shared__ float d[]; float l[2];\n"
    .. "}\n").by_name.k
  local shared = blockwise.shared(fn)
  tap.is(("%s %s %s %s %s"):format(shared.s, shared.d, shared.lines, shared.more, shared.l),
    "static dynamic file dynamic nil", "where each has its size from")
end)

tap.case("whether a block beyond the last one does nothing", function()
  local item = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
  local function is(body, answer)
    local before = body:find "gridDim.x %* blockDim" and "" or item .. "float x = 0.f;\n"
    local fn = kernel.of_text("__global__ void k(float *out, const float *a, int n, int m)\n{\n"
      .. before .. body .. "\n}\n").by_name.k
    local found = bounded.of(fn, "x")
    tap.is(found.answer and "yes" or found.answer == nil and found.says or "no", answer, body)
  end
  is("if (i < n) out[i] = a[i];", "yes")
  is("if (i >= n) return; out[i] = a[i];", "yes")
  is("if (!(i >= n)) out[i] = a[i];", "yes")
  is("if (i > n) out[i] = a[i];", "no")
  is("if (i % 2) return; out[i] = 1.f;", "no")
  is("if ((i & 7) < n) out[i] = 1.f;", "no")
  is("x = a[0]; if (i < n) out[i] = x;", "yes")
  is("x = a[i]; if (i < n) out[i] = x;", "no")
  is("out[0] = 1.f; if (i < n) out[i] = x;", "no")
  is("x = i < n ? a[i] : 0.f; if (i < n) out[i] = x;", "yes")
  is("x = i >= n ? 0.f : a[i]; if (i < n) out[i] = x;", "yes")
  is("x = i >= n ? a[i] : 0.f; if (i < n) out[i] = x;", "no")
  is("out[i] = 2.f; if (i < n) { for (int k = 0; k < n; k++) out[i] += a[k]; }", "no")
  is("for (" .. item .. "i < n; i += gridDim.x * blockDim.x) out[i] = a[i];", "yes")
  is("if (i < n) out[i] = gridDim.x;", "no")
  is("int b = blockIdx.y * gridDim.x + blockIdx.x; if (b < n) out[b] = 1.f;", "yes")
  is("int b = blockIdx.y * gridDim.x + gridDim.x; if (i < n) out[b] = 1.f;", "no")
  is("int j = blockIdx.x * (8 - blockIdx.x); if (j < n) out[j] = 1.f;", "no")
  is("int j = i * m; if (j < n) out[j] = 1.f;", "`m` is above zero")
  is("int j = i; for (int k = 0; k < n; k++) { if (j < n) out[j] = 1.f; j -= 5; }", "no")
  is("int j = i; if (j < n) out[j] = 1.f; j -= 5; x = j;", "yes")
end)

tap.case("of which sides that is so, and what was known before", function()
  local text = "__global__ void k(float *out, int n)\n{\n  int i = blockIdx.x, j = blockIdx.y;\n"
    .. "  if (i < n) out[i * n + j] = 1.f;\n}\n"
  local function sides(options)
    local list = {}
    for side in pairs(bounded.sides(kernel.of_text(text, options).by_name.k)) do
      list[#list + 1] = side
    end
    table.sort(list)
    return table.concat(list, " ")
  end
  local before = { y = { answer = true, asks = "" }, z = { answer = true, asks = "" } }
  tap.is(sides(), "x", "one of two")
  tap.is(sides { bounded = { k = before } }, "x y", "those by which its blocks differ")
  tap.is(sides { bounded = { other = before } }, "x", "of another kernel")
end)

tap.case("what a block can do for several, or a thread", function()
  -- How many groups, loops around them and names for each there are; or why it cannot.
  local function plan_of(text, what)
    local fn = kernel.of_text(text).by_name.k
    local may, why = mergeable.of(fn, what == "threads" and "threadIdx" or "blockIdx", "x")
    if not may then return why end
    local plan, reason = merge_plan.of(fn, what or "blocks", "x")
    if not plan then return reason end
    local names = 0
    for _ in pairs(plan.spread) do names = names + 1 end
    return ("%d %d %d"):format(#plan.groups, #plan.parted, names)
  end
  local function is(body, answer, before, what)
    local text = (before or "") .. "__global__ void k(float *out, const float *a, int n)\n{\n"
      .. "  int b = blockIdx.x, t = threadIdx.x;\n" .. body .. "\n}\n"
    tap.is(plan_of(text, what), answer, body)
  end
  local waits = " __syncthreads(); out[q] = 1.f;"
  is("out[b] = 1.f;", "1 0 0")
  is("int q = b + 1;" .. waits, "2 0 1")
  is("for (int k = 0; k < n; k++) { out[b] += a[k]; __syncthreads(); }", "2 1 1")
  is("for (int k = 0; k < n; k++) { if (k > b) break; out[b] += a[k]; }", "1 0 0")
  is("for (int k = 0; k < n; k++) { if (k > b) continue; out[b] += a[k]; }", "1 0 0")
  is("if (n > 2) { out[b] = 1.f; return; } out[b] = 2.f;",
    "it is left in the midst of what depends on the block")
  is("again: out[b] = 1.f; if (n > 3) goto again;", "something in it is not understood")
  is("switch (n) { case 1: out[b] = 1.f; }", "line 4 is not understood")
  is("dim3 g = gridDim; out[b] = g.x;", "gridDim is used as a whole")
  is("cg::this_grid().sync(); out[b] = 1.f;", "this_grid is used as a whole")
  is("out[0] = 1.f;", "1 0 0")
  tap.is(plan_of "__global__ void k(float *out) {\n  out[blockIdx.x] = 1.f; }\n",
    "its braces share lines with statements", "a brace behind a statement")
  local pointed = "what a pointer in it points to may be shared memory"
  is("__shared__ float s[8]; float *p = n > 2 ? &s[1] : out; p[b] = 1.f;", pointed)
  is("__shared__ float s[8]; float *p = n > 2 ? PART : out; p[b] = 1.f;", pointed,
    "#define PART s\n")
  is("__shared__ float s[8]; s[t] = b; out[b] = s[0];", "2 0 2")
  is("lines[t] = b; __syncthreads(); out[b] = lines[0];",
    "lines is shared memory that is declared outside of the kernel", "__shared__ float lines[8];\n")
  for _, d in ipairs { "static int q; q = b;", "volatile int q = b;", "auto q = b;",
                       "const int &q = b;" } do
    is(d .. waits, "q cannot be there for each block")
  end
  is("int q(b);" .. waits, "q begins with what cannot be assigned")
  is("int q[2] = {b, 1}; __syncthreads(); out[q[0]] = 1.f;",
    "q begins with what cannot be assigned")
  is("#if FAST\n  out[b] = 1.f;\n#endif", "1 0 0")
  is("out[t] = 1.f;", "1 0 0", nil, "threads")
  is("if (t < 4) { out[t] = a[0]; __syncthreads(); }", "a barrier behind line 4 is not where all "
    .. "threads come", nil, "threads")
  is("volatile float *s = out; s[t] = 1.f;", "volatile memory tells other lanes something", nil,
    "threads")
  is("if (t < n) { for (int k = 0; k < n; k++) out[t] += a[k]; " .. ("out[t] *= 2.f; "):rep(500)
    .. "}", "its work is too long", nil, "threads")
end)

tap.done()
