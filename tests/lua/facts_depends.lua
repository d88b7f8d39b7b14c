-- depends: which values depend on a thread's own share of a loop, or on its number.

package.path = "tests/lua/?.lua;" .. package.path
local depends = require "gilua.facts.depends"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"

local function read(body)
  return kernel.of_text("__device__ float both(float x) { __syncthreads(); return x; }\n"
    .. "__global__ void k(float *out, const float *a, int n)\n{\n__shared__ float all[32];\n"
    .. "int t = threadIdx.x;\n" .. body .. "\n}\n")
end

-- The value that the last store to out[0] has.
local function stored(fn)
  local value
  for _, s in ipairs(fn.statements) do
    local tree = s.kind == "expression" and s.tree
    if tree and tree.kind == "assign" and tree.a.kind == "index" and tree.a.a.text == "out" then
      value = tree.b
    end
  end
  return value
end

local SUM = "float s = 0, v = 0; for (int i = t; i < n; i += blockDim.x) s += a[i];\n"

tap.case("a thread's own share", function()
  local function is(body, answer)
    local fn = read(SUM .. body).by_name.k
    tap.is(depends.on_share(fn, { fn.loops[1].statement })(stored(fn)), answer, body)
  end
  is("out[0] = s;", true)
  is("v = s * 2; out[0] = v + 1;", true)
  is("v = s; v = 3; out[0] = v;", false)
  is("v = s; if (n > 2) v = 3; out[0] = v;", true)
  is("if (n > 2) { v = s; v = 3; out[0] = v; }", false)
  is("v = 3; out[0] = v; v = s;", false)
  is("for (int k = 0; k < 2; k++) { out[0] = v; v = s; }", true)
  is("for (int k = 0; k < 2; k++) { v = 3; out[0] = v; v = s; }", false)
  is("all[t] = s; __syncthreads(); out[0] = all[0];", false)
  is("s = all[t]; out[0] = s;", false)
  is("out[0] = both(s);", false)
  is("out[0] = sqrtf(s);", true)
  is("float *p = &v; *p = s; out[0] = v;", true)
  is("float own[2]; own[0] = s; out[0] = own[1];", true)
  is("float own[2]; auto &o = own[0]; o = s; out[0] = own[1];", true)
  is("float own[2]; float *o = own; o[1] = s; out[0] = own[1];", true)
  is("float own[2], more[2]; float *o = n ? own : more; o[1] = s; out[0] = own[1];", true)
  is("float own[2] = {}, more[2]; float &o = more[0]; o = s; out[0] = own[1];", false)
  is("out[0] = n;", false)
  is("v = 3; goto end; end: out[0] = v;", true)
end)

tap.case("a thread's number", function()
  local function is(body, answer, macro)
    local fn = read(body).by_name.k
    local loops = fn.loops[1] and { fn.loops[1].statement } or {}
    tap.is(depends.on_thread(fn, loops, macro)(stored(fn)), answer, body)
  end
  is("out[0] = t;", true)
  is("int u = t / 32, w = n; out[0] = u;", true)
  is("int u = t / 32, w = n; out[0] = w;", false)
  is("out[0] = blockDim.x;", true)
  is("out[0] = WIDTH;", true, "WIDTH")
  is("out[0] = WIDTH;", false)
  is("for (int i = t; i < n; i += 64) out[0] = i;", false)
  is("for (int i = t; i < n; i += 64) { int j = i + t; out[0] = j; }", true)
  is("out[0] = blockIdx.x;", false)
end)

tap.done()
