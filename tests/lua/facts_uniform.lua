-- uniform and single_exit: what is the same for all threads of a block.

package.path = "tests/lua/?.lua;" .. package.path
local blockwise = require "gilua.facts.blockwise"
local kernel = require "gilua.transform.kernel"
local single_exit = require "gilua.facts.single_exit"
local tap = require "tap"
local uniform = require "gilua.facts.uniform"

local function function_of(body)
  return kernel.of_text("__device__ int lane() { return threadIdx.x % 32; }\n"
    .. "__device__ int twice(int v) { return 2 * v; }\n"
    .. "__global__ void k(float *out, const float *a, int n)\n{\n"
    .. "  int t = threadIdx.x, k = 0;\n" .. body .. "\n  out[k] = 1.0f;\n}\n").by_name.k
end

-- Is the index of the last statement, k, the same for all?
local function is(body, answer)
  local fn = function_of(body)
  local last = fn.body.body[#fn.body.body]
  tap.is((uniform.of(fn, last.tree.a.index)), answer, body)
end

tap.case("a value that all threads have", function()
  is("k = n + blockIdx.x;", true)
  is("k = twice(n);", true)
  is("for (int i = 0; i < n; i++) k += i;", true)
  is("for (int i = 0; i < n; i++) { if (i > 3) break; k++; }", true)
  is("const float *p = a + n; k = p[0] > 0;", true)
  is("if (a[t] > 0) return; k = n;", true)
  is("for (int i = 0; i < n; i++) { k++; for (int j = 0; a[t + j] > 0; j++) ; }", true)
end)

tap.case("one that threads may have of their own", function()
  is("k = t;", nil)
  is("k = lane();", nil)
  is("k = out[0];", nil)
  is("if (a[t] > 0) k = n;", nil)
  is("for (; k < n; k++) if (a[t + k] > 0) break;", nil)
  is("for (; k < n && a[t + k] > 0; k++) ;", nil)
  is("while (a[t + k] > 0) k++;", nil)
  is("do k++; while (a[t + k] > 0);", nil)
  is("for (int i = 0; i < n; i++) { if (a[t + i] > 0) continue; k++; }", nil)
  is("switch (n) { default: if (a[t] > 0) break; k++; }", nil)
  is("if (a[t] > 0) goto end; k = 1; end: ;", nil)
  is("const float *p = a + t; k = p[0] > 0;", nil)
  is("bool d = false; while (!d) { if (a[t + k] > 0) d = true; k++; }", nil)
  is("a[t] > 0 && k++;", nil)
  is("k = n; scanf(\"%d\", &k);", nil)
  is("if (a[t] > 0) { int m = n; k = m; }", nil)
  is("if (n > 0) k = 1; else k = t;", nil)
  is("if (a[t] > 0) ; else k = 1;", nil)
  is("k = clock();", nil)
  is("k = clock64();", nil)
  is("k = __shfl_sync(-1, n, 0);", nil)
  is("__shared__ int s[4]; k = atomicAdd(s, 1);", nil)
  is("k = n + (t > 3 ? 1 : 2);", nil)
  is("for (int i = 0; a[t + i] > 0; k++) i++;", nil)
  is("int m = 0, l = 0; for (int i = 0; i < n; i++) { k = l; l = m; m = t; }", nil)
end)

tap.case("why it is unknown", function()
  local fn = function_of "k = t;"
  tap.is(select(2, uniform.of(fn, fn.body.body[#fn.body.body].tree.a.index)),
    "`k` is the same for all threads of a block", "sentence")
end)

tap.case("whether threads leave a loop together", function()
  local function leaves(body, together, whole)
    local fn = function_of(body)
    local s = fn.loops[1].statement
    local function differs(tree) return not uniform.of(fn, tree) end
    tap.is((single_exit.of(fn, s, differs)), together, body)
    tap.is((single_exit.whole_rounds(fn, s, differs)), whole, body .. " (rounds)")
  end
  leaves("for (int i = 0; i < n; i++) { if (i > 3) break; }", true, true)
  leaves("for (int i = 0; i < n; i++) { if (t > i) break; }", nil, true)
  leaves("for (int i = 0; i < n; i++) { if (t > i) continue; }", true, nil)
  leaves("for (int i = 0; i < n; i++) { if (t > i) return; }", true, true)
  leaves("for (int i = 0; i < n; i++) { if (t > i) { while (true) break; } }", true, true)
  leaves("for (int i = 0; i < n; i++) { switch (t) { case 1: break; case 2: continue; } }", true,
    nil)
  leaves("for (int i = 0; i < n; i++) { if (t > i) goto end; }\nend: ;", nil, nil)
end)

-- The statement that writes out[1], or the barrier of a body without one.
local function marked(fn)
  local barrier
  for _, s in ipairs(fn.statements) do
    local text = s.kind == "expression" and fn.kernel:plain(s.tree) or ""
    if text:find("out[1]", 1, true) then return s end
    if text:find "__syncthreads" then barrier = s end
  end
  return barrier
end

tap.case("whether all threads come to a statement together", function()
  local function reached(body, answer)
    local fn = function_of(body)
    tap.is(uniform.is_reached(fn, marked(fn)), answer, body)
  end
  reached("out[1] = 2;", true)
  reached("if (n > 3) out[1] = 2;", true)
  reached("if (t > 3) out[1] = 2;", false)
  reached("if (t > 3) return; out[1] = 2;", false)
  reached("out[1] = 2; if (t > 3) return;", true)
  reached("out[1] = 2; goto on; on: ;", false)
  reached("for (int i = 0; i < n; i++) out[1] = 2;", true)
  reached("for (int i = 0; i < t; i++) out[1] = 2;", false)
  reached("for (int i = 0; i < n; i++) { out[1] = 2; if (t > i) return; }", false)
  reached("for (int i = 0; i < n; i++) { out[1] = 2; if (t > i) break; }", false)
  reached("for (int i = 0; i < n; i++) { if (t > i) continue; out[1] = 2; }", false)
  reached("for (int i = 0; i < n; i++) ; out[1] = 2;", true)
  reached("for (int i = 0; i < n; i++) if (t > i) break; out[1] = 2;", true)
  reached("for (int i = 0; i < n; i++) { out[1] = 2; } while (t > k) { if (k) break; }", true)
  reached("for (int i = 0; i < n; i++) { for (int j = 0; j < 4; j++) out[1] = 2; if (t) break; }",
    false)
  reached("switch (n) { case 1: out[1] = 2; }", false)
  reached("switch (n) { default: { if (n) out[1] = 2; } }", false)
end)

tap.case("beside a barrier they do", function()
  local function reached(body, answer)
    local fn = function_of(body)
    tap.is(uniform.is_reached(fn, marked(fn)), answer, body)
  end
  reached("if (t > 3) { __syncthreads(); out[1] = 2; }", true)
  reached("if (t > 3) { out[1] = 2; __syncthreads(); }", true)
  reached("if (t > 3) { __syncthreads(); if (n) { out[1] = 2; } }", true)
  reached("if (t > 3) { if (n) { out[1] = 2; } __syncthreads(); }", false)
  reached("if (t > 3) { out[1] = 2; if (n) return; __syncthreads(); }", false)
  reached("if (t > 3) { __syncthreads(); if (a[t] > 0) return; out[1] = 2; }", false)
  reached("for (int i = 0; i < n; i++) { if (t > i) break; __syncthreads(); out[1] = 2; }", true)
  reached("for (int i = 0; i < n; i++) { __syncthreads(); if (t > i) break; out[1] = 2; }", false)
  reached("for (int i = 0; i < n; i++) { __syncthreads(); if (t > i) continue; out[1] = 2; }",
    false)
  reached("if (t > 3) { __syncthreads(); }", false)
  reached("if (t > 3) { n = 2; __syncthreads(); }", false)
end)

tap.case("what a part asks for that each thread may have of its own", function()
  local function asks(body, name)
    local fn = function_of("int b = t; __shared__ float s[4];\n{ " .. body .. " }")
    for _, part in ipairs(fn.body.body) do
      if part.kind == "block" then
        tap.is(uniform.varies_within(fn, part, part), name, body)
        return
      end
    end
  end
  asks("out[1] = n;", nil)
  asks("out[1] = t;", "t")
  asks("out[1] = t + b;", "b")
  asks("out[1] = threadIdx.x;", "threadIdx")
  asks("int j = threadIdx.y; out[1] = j;", "threadIdx")
  asks("int j = n; j = b; out[1] = j;", "b")
  asks("int j = n; out[1] = j;", nil)
  asks("out[1] = s[0];", nil)
  asks("goto on; on: ;", "something")
end)

tap.case("a loop's variable that a thread changes is its own (blockwise)", function()
  local function owns(body, name, answer)
    local fn = function_of(body)
    local known = blockwise.of(fn, "threadIdx", "x")
    tap.is(known.names[name] or false, answer, body)
  end
  owns("for (int i = 0; i < n; i++) out[t] += a[i];", "i", false)
  owns("int i; if (a[t] > 0) for (i = 0; i < n; i++) out[t] += a[i];", "i", false)
  owns("for (int i = 0; i < n; i++) if (a[t] > 0) i = n;", "i", true)
  owns("for (int i = 0; i < n; i++) i += a[t] > 0 ? 2 : 0;", "i", true)
  owns("int i; for (i = 0; i < n; i++) if (a[t] > 0) for (i = i + 1; i < n - 1; i += 2) ;", "i",
    true)
end)

tap.done()
