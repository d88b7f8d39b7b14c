-- CUDA's mathematics with mixed arguments mean what nvcc makes of them: by type, by what is called,
-- and, where nvcc is on this machine, by the PTX of each.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local scratch = require "scratch"
local tap = require "tap"

local STANDINS = "-I" .. gi.home .. "/lua/gilua/include"
local TYPES = { "float", "double", "int", "unsigned", "long", "bool", "char" }
local ONE = "fabs acos asin atan acosh asinh atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 "
  .. "floor ilogb llrint llround log log10 log1p log2 logb lrint lround nearbyint rint round sin "
  .. "sinh "
  .. "sqrt tan tanh trunc"
local TWO = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder"
local PAIRS = { "float int", "float float", "int int", "float double", "double double", "int float",
                "double float", "double int", "long float", "bool float", "unsigned double",
                "char int" }

local function compiled(source, options)
  options = options or {}
  options[#options + 1] = STANDINS
  local ptx, why = gi.compile(source, { options = options, line_info = false })
  return ptx, why
end

-- A list of kernels, each with one call.
local function probes()
  local list = {}
  local function add(call, ...)
    local params = {}
    for i, type in ipairs { ... } do params[i] = ("%s *%s"):format(type, ("abc"):sub(i, i)) end
    list[#list + 1] = { call = ("%s of %s"):format(call, table.concat({ ... }, ", ")),
      text = ('extern "C" __global__ void k%d(%s, void *out) { auto r = %s; '
        .. "*(decltype(r) *)out = r; }"):format(#list + 1, table.concat(params, ", "), call) }
  end
  for name in ONE:gmatch "%S+" do
    add(name .. "(*a)", "int")
    add("std::" .. name .. "(*a)", "float")
  end
  for name in TWO:gmatch "%S+" do
    for i = 1, name == "pow" and #PAIRS or 4 do
      add(name .. "(*a, *b)", PAIRS[i]:match "(%S+) (%S+)")
    end
    add("std::" .. name .. "(*a, *b)", "float", "int")
  end
  for _, type in ipairs(TYPES) do
    add("sqrt(*a)", type)
    add("ldexp(*a, *b)", type, "int")
    add("scalbn(*a, *b)", type, "int")
    add("scalbln(*a, *b)", type, "long")
    add("frexp(*a, b)", type, "int")
    add("fma(*a, *b, *c)", type, "float", "float")
  end
  for _, type in ipairs { "float", "double" } do
    add("abs(*a)", type)
    add("modf(*a, b)", type, type)
  end
  return list
end

-- The body of a kernel, with what differs by its place in the file alone taken out.
local function body(ptx, i)
  local head = ("%%.visible %%.entry k%d(%%b())%%s*(%%b{})"):format(i)
  local _, text = ptx:match(head)
  return text and text:gsub("%s+", " "):gsub("k" .. i .. "_", ""):gsub("callseq %d+", "")
    :gsub("%$L__BB%d+", "L"):gsub("__local_depot%d+", "depot")
end

tap.case("each call has the PTX that nvcc gives it", function()
  local nvcc = os.getenv "NVCC" or "/usr/local/cuda/bin/nvcc"
  if not os.execute(nvcc .. " --version >/dev/null 2>&1") then
    return tap.skip "there is no nvcc on this machine (NVCC names another)"
  end
  local folder, lines, list = tap.folder(), { "#include <cmath>" }, probes()
  for i, probe in ipairs(list) do lines[i + 1] = probe.text end
  local source = table.concat(lines, "\n")
  scratch.write(folder .. "/p.cu", source)
  local command = ("%s -w -ptx -arch=compute_80 --expt-relaxed-constexpr -o %s/p.ptx %s/p.cu 2>&1")
    :format(nvcc, folder, folder)
  local pipe = assert(io.popen(command))
  local said = pipe:read "a"
  tap.ok(pipe:close(), "nvcc takes all: " .. said:sub(1, 400))
  local theirs, ours = tap.read(folder .. "/p.ptx"), assert(compiled(source))
  local differ = {}
  for i, probe in ipairs(list) do
    local a, b = body(ours, i), body(theirs, i)
    if not a or a ~= b then differ[#differ + 1] = probe.call end
  end
  tap.is(table.concat(differ, "; "), "", #list .. " calls")
end)

-- The size of a result says of what type it is.
local BYTES = {
  ["pow(1.0f, 2)"] = 8, ["pow(1.0f, 2.0f)"] = 4, ["pow(1.0f, 2.0)"] = 8, ["pow(2, 2)"] = 8,
  ["pow(1.0, 2)"] = 8, ["pow(1.0f, 2u)"] = 8, ["pow(1.0f, 2l)"] = 8, ["pow(true, 1.0f)"] = 8,
  ["pow((short)2, 1.0f)"] = 8, ["pow(1.0f, 1.0L)"] = 8,
  ["fmod(1.0f, 2)"] = 8, ["fmod(1.0f, 2.0f)"] = 4, ["atan2(1, 2.0f)"] = 8, ["hypot(3, 4)"] = 8,
  ["fmax(1.0f, 0)"] = 8, ["fmin(1.0f, 0.0f)"] = 4, ["copysign(1.0f, -1)"] = 8,
  ["fma(1.0f, 2, 3.0f)"] = 8, ["fma(1.0f, 2.0f, 3.0f)"] = 4, ["sqrt(2)"] = 8, ["sqrt(2.0f)"] = 4,
  ["log2(8u)"] = 8, ["exp2(3l)"] = 8, ["fabs(-3)"] = 8, ["abs(-3)"] = 4, ["floor(7 / 2)"] = 8,
  ["ldexp(1, 3)"] = 8, ["ldexp(1.0f, 3)"] = 4, ["isnan(3)"] = 1, ["lround(3)"] = 8,
  ["max(1, 2)"] = 4, ["std::pow(1.0f, 2)"] = 8, ["std::pow(1.0f, 2.0f)"] = 4,
  ["std::sqrt(2)"] = 8, ["::pow(1.0f, 2)"] = 8,
}

tap.case("the type of a result is the widest argument's, and an integer counts as a double",
  function()
    local lines = { "#include <cmath>" }
    for call, bytes in pairs(BYTES) do
      lines[#lines + 1] = ('static_assert(sizeof(%s) == %d, "%s");'):format(call, bytes, call)
    end
    local _, why = compiled(table.concat(lines, "\n") .. "\n__global__ void k() {}")
    tap.is(why, "", "sizes")
    for _, std in ipairs { "11", "14", "20" } do
      _, why = compiled(table.concat(lines, "\n") .. "\n__global__ void k() {}",
        { "-std=c++" .. std })
      tap.is(why, "", "sizes in C++" .. std)
    end
  end)

local function calls_double(expression)
  local ptx = assert(compiled(([[extern "C" __global__ void k(double *y, const float *x, int n) {
    y[0] = %s; }]]):format(expression)))
  return ptx:find("__internal_accurate_pow", 1, true) ~= nil
end

tap.case("pow is the double one where nvcc's is", function()
  for _, call in ipairs { "pow(x[0], n)", "pow(x[0], 2.5)", "pow(n, n)", "pow(n, x[0])",
                          "pow((double)x[0], n)", "pow(x[0], (long)n)", "pow(x[0] - x[1], n)" } do
    tap.ok(calls_double(call), call)
  end
  tap.ok(not calls_double "pow(x[0], x[1])", "of floats it is the float one")
  tap.ok(not calls_double "powf(x[0], n)", "powf is what it was")
end)

tap.case("what calls no such function, and what calls the plain ones, has the same PTX", function()
  local function kernel(more, words)
    return ([[extern "C" __global__ void k(float *y, const float *x, int n) { %s
      y[n] = x[0] * 2.0f + %s; }]]):format(words, more)
  end
  for _, more in ipairs { "x[1]", "sqrtf(x[1])", "fmaxf(x[1], x[2])" } do
    tap.is(compiled(kernel(more, "/* pow sqrt fmax fmod sin */")), compiled(kernel(more, "")), more)
  end
  tap.is(compiled(kernel("pow(x[1], x[2])", "")), compiled(kernel("powf(x[1], x[2])", "")),
    "pow of floats is powf")
  tap.is(compiled(kernel("sqrt(x[1])", "")), compiled(kernel("sqrtf(x[1])", "")),
    "sqrt of a float is sqrtf")
end)

tap.case("a macro of the options may call one", function()
  local source = 'extern "C" __global__ void k(double *y, float *x) { y[0] = SQUARE(x[0]); }'
  local ptx = gi.compile(source, { defines = { "SQUARE(v)=pow(v, 3)" } })
  tap.has(ptx, "f64", "in a define")
  ptx = gi.compile(source, { options = { "-DSQUARE(v)=pow(v, 3)" } })
  tap.has(ptx, "__internal_accurate_pow", "in an option")
end)

tap.case("messages speak of pow, and what fits none is refused as before", function()
  local _, why = compiled "__global__ void k(float *x) { x[0] = pow(x[1]); }"
  tap.has(why, 'line 1: no instance of overloaded function "pow"', "too few")
  _, why = compiled "__global__ void k(float *x) { x[0] = pow(x, 2); }"
  tap.has(why, "argument types are: (float *, int)", "a pointer")
end)

tap.case("a kernel's own pow, as a function, a macro or a member, stays its own", function()
  local function units(source)
    local list = {}
    for i = 1, 3 do list[i] = { source = source:format(i), names = { "pow", "k" } } end
    local texts = {}
    for i, result in ipairs(gi.compile.batch(list, { options = { STANDINS } })) do
      texts[i] = result.code or result.message
    end
    return texts
  end
  local texts = units [[__device__ float2 pow(float2 a, int n) { a.x = n; return a; }
    extern "C" __global__ void k(float2 *y, double *x, float *f) {
      y[0] = pow(y[1], 1); x[0] = pow(f[1], f[0] > 1 ? 5 : %d); }]]
  for i = 1, 3 do tap.has(texts[i], "__internal_accurate_pow", "a function, unit " .. i) end
  texts = units [[
#undef pow
#define pow(a, b) ((a) * (b))
    extern "C" __global__ void k(float *x) { x[0] = pow(x[1], %d.5f); }]]
  for i = 1, 3 do tap.has(texts[i], "mul.f32", "a macro, unit " .. i) end
  texts = units [[struct S { float v; __device__ float pow(int n) const { return v * n; } };
    extern "C" __global__ void k(float *x) { S s = { x[1] }; x[0] = s.pow(%d); }]]
  for i = 1, 3 do tap.has(texts[i], ".visible .entry k(", "a member, unit " .. i) end
end)

tap.done()
