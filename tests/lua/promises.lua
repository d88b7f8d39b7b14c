-- gilua.new.promises: what a winner promises of every launch, held against the host's code.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local program = require "gilua.new.program"
local promises = require "gilua.new.promises"
local scratch = require "scratch"
local tap = require "tap"

local KERNEL = [[
extern "C" __global__ void k(float *y, const float *x, const float *w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + w[i];
}
]]

local RESTRICT = "<optrestrict_kernel.cu_1><optrestrict_K0>"
local BOUNDS = "<launchbounds_kernel.cu_1><launchbounds_K1>"

-- The problem of a file with these launches; before: functions before main.
local function problem_of(host, before)
  local path = tap.folder() .. "/all.cu"
  scratch.write(path, KERNEL .. (before or "") .. "int main(int argc, char **argv) {\n" .. host
    .. "\n}\n")
  return gi.problem(scratch.problem(KERNEL, ([[{
    source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64,
    args = { { name = "y", type = "f32", count = "size_x", role = "inout" },
             { name = "x", type = "f32", count = "size_x" },
             { name = "w", type = "f32", count = "size_x" },
             { name = "n", type = "i32", value = "size_x" } },
    made_from = { path = %q, template = {} } }]]):format(path)))
end

local function open(host, genome, before)
  return table.concat(promises.open(problem_of(host, before), genome), "\n")
end

local SAME = "`__restrict__`, but line 7 launches it with `%s` as both %s"

tap.case("__restrict__ where a launch has one memory twice", function()
  local function is(launch, want, why)
    tap.is(open(launch, RESTRICT), want or "", why)
  end
  is("k<<<9, 64>>>(a, b, c, n);", nil, "three are three")
  is("k<<<9, 64>>>(a, b, b, n);", nil, "two that are only read")
  is("k<<<9, 64>>>(a, b, a, n);", SAME:format("a", "y and w"), "read and written")
  is("k<<<9, 64>>>((float *)a, &a[n], b, n);", SAME:format("a", "y and x"), "casts, elements")
  is("k<<<9, 64>>>(s->a + n, s->b, s->a, n);", SAME:format("s.a", "y and w"), "what is added")
  is("k<<<9, 64>>>(a[0], a[1], a[2], n);", nil, "of an array of pointers")
  is("k<<<9, 64>>>(a[i], a[i], b, n);", SAME:format("a[i]", "y and x"), "the same of them")
  is("k<<<9, 64>>>(raw(a), raw(b), raw(c), n);", nil, "of calls")
  is("k<<<9, 64>>>(raw(a), raw(b), raw(a), n);", SAME:format("a", "y and w"), "the same call")
  is("k<<<9, 64>>>(a, NULL, NULL, n);", nil, "no memory at all")
end)

local ALLOC = "float *pool, *x, *z; cudaMalloc(&pool, 4096); cudaMalloc(&x, 4096); "
  .. "cudaMalloc((void **)&z, 4096); int n = 9;\n"

tap.case("one memory by another name", function()
  local function is(body, want, before)
    local said = open(ALLOC .. body, RESTRICT, before)
    tap.ok((said ~= "") == want, ("%s: %s"):format(body, said))
  end
  local function one(body, before) is(body, true, before) end
  local function apart(body, before) is(body, false, before) end
  one "float *y = pool + 1; k<<<9, 64>>>(y, x, pool, n);"
  one "float *y = pool + 1, *before = pool; k<<<9, 64>>>(y, x, before, n);"
  one "float *y; y = pool + 1; k<<<9, 64>>>(y, x, pool, n);"
  one "float *y; y = &pool[1]; k<<<9, 64>>>(y, x, pool, n);"
  one "float *y(pool + 1); k<<<9, 64>>>(y, x, pool, n);"
  one "float *y{pool}; k<<<9, 64>>>(y, x, pool, n);"
  one "auto y = pool + n; k<<<9, 64>>>(y, x, pool, n);"
  one "auto *y = n + pool; k<<<9, 64>>>(y, x, pool, n);"
  one "float *&y = pool; k<<<9, 64>>>(y, x, pool, n);"
  one "float *a = pool, *b = a, *c = b + 4; k<<<9, 64>>>(c, x, a, n);"
  one "float *y = (float *)pool; k<<<9, 64>>>(y, x, pool, n);"
  one "float *y = reinterpret_cast<float *>(pool); k<<<9, 64>>>(y, x, pool, n);"
  one "float *y = n > 3 ? pool : z; k<<<9, 64>>>(y, x, pool, n);"
  one "S s; s.y = pool + 1; s.w = pool; k<<<9, 64>>>(s.y, x, s.w, n);"
  one "S s; S *p = &s; s.y = pool; k<<<9, 64>>>(p->y, x, pool, n);"
  one "S s = { pool + 1, x, pool }; k<<<9, 64>>>(s.y, x, pool, n);"
  one "float *b[3]; cudaMalloc(&b[2], 9); b[0] = b[2] + 1; k<<<9, 64>>>(b[0], x, b[2], n);"
  one "x = pool; k<<<9, 64>>>(x, z, pool, n);"
  one "if (n > 2) pool = x; else x = pool; k<<<9, 64>>>(x, z, pool, n);"
  one "float *b[3]; k<<<9, 64>>>(b[1], x, b[2 - 1], n);"
  one "float *b[2] = { pool, pool + 4 }; k<<<9, 64>>>(b[0], x, b[1], n);"
  one "S s; s.y = pool; S t = s; k<<<9, 64>>>(t.y, x, s.y, n);"
  one "auto go = [&](float *p, float *q) { k<<<9, 64>>>(p, x, q, n); }; go(pool, pool);"
  one("RUN(pool, pool + 1);", "#define RUN(p, q) k<<<9, 64>>>(p, x, q, n)\n")
  one "float *y; memcpy(&y, &pool, sizeof y); k<<<9, 64>>>(y, x, pool, n);"
  one("float *y; get(y, pool); k<<<9, 64>>>(y, x, pool, n);",
    "void get(float *&a, float *b) { a = b; }\n")
  one "for (float *y : { z, pool }) k<<<9, 64>>>(y, x, pool, n);"
  apart "float *b[2] = { pool, z }; k<<<9, 64>>>(b[0], x, b[1], n);"
  apart "auto go = [&](float *p, float *q) { k<<<9, 64>>>(p, x, q, n); }; go(pool, z);"
  apart("RUN(pool, z);", "#define RUN(p, q) k<<<9, 64>>>(p, x, q, n)\n")
  one "float *b[2] = { x, z }; k<<<9, 64>>>(b[n], z, b[m], n);"
  one "float *b[2]; b[0] = pool; b[1] = pool + 4; k<<<9, 64>>>(b[0], x, b[1], n);"
  one("k<<<9, 64>>>(at(pool, 1), x, at(pool, 0), n);",
    "static float *at(float *p, int i) { return p + i; }\n")
  one("k<<<9, 64>>>(second(), x, first(), n);", "float *g; static float *first() { return g; }\n"
    .. "static float *second() { return g + 1; }\n")
  one("float *u, *v; cudaGetSymbolAddress((void **)&u, table); "
    .. "cudaGetSymbolAddress((void **)&v, table); k<<<9, 64>>>(u, x, v, n);",
    "__device__ float table[9];\n")
  one "for (float *y = pool + 1; y < pool + n; y++) k<<<9, 64>>>(y, x, pool, n);"
  one "for (int r = 0; r < 3; r++) { float *y = pool + r * n; k<<<9, 64>>>(y, x, pool, n); }"
  one("go(pool, x, n);", "static void go(float *p, float *q, int n) {\n"
    .. "float *y = p + 1; k<<<9, 64>>>(y, q, p, n); }\n")
  apart "k<<<9, 64>>>(pool, x, z, n);"
  apart "float *y = pool + 1; k<<<9, 64>>>(y, x, z, n);"
  apart "float *y = pool + n, *w = z + n; k<<<9, 64>>>(y, x, w, n);"
  apart "float *y = (float *)pool, *w = (float *)z; k<<<9, 64>>>(y, x, w, n);"
  apart "float *t = x; x = pool; pool = t; k<<<9, 64>>>(pool, x, z, n);"
  apart "std::swap(x, pool); k<<<9, 64>>>(pool, x, z, n);"
  apart "float *b[2]; cudaMalloc(&b[0], 9); cudaMalloc(&b[1], 9); k<<<9, 64>>>(b[i], x, b[1-i], n);"
  apart "S s; s.y = pool; s.w = z; k<<<9, 64>>>(s.y, x, s.w, n);"
  apart "thrust::device_vector<float> u(n), v(n); k<<<9, 64>>>(u.data(), x, v.data(), n);"
  apart "k<<<9, 64>>>(thrust::raw_pointer_cast(u.data()), x, raw(v.data()), n);"
  apart("float *u = make(n), *v = make(n); k<<<9, 64>>>(u, x, v, n);",
    "static float *make(int n) { float *m; cudaMalloc(&m, n * 4); return m; }\n")
  apart("float *u = to(h, n), *v = to(h, n); k<<<9, 64>>>(u, x, v, n);",
    "static float *to(float *h, int n) { float *m; cudaMalloc(&m, n * 4); return m; }\n")
  apart("float *u = device_alloc<float>(n), *v = device_alloc<float>(n); k<<<9, 64>>>(u, x, v, n);")
  apart("Buffer u(n), v(n); k<<<9, 64>>>(u.data(), x, v.data(), n);",
    "struct Buffer { float *data_; float *data() { return data_; } };\n")
  one "Buffer u(n); k<<<9, 64>>>(u.data(), x, u.data() + 3, n);"
  one "float *u = part(0), *v = part(1); k<<<9, 64>>>(u, x, v, n);"
  apart("go(pool, z, n); go(z, pool, n);", "static void go(float *p, float *q, int n) {\n"
    .. "k<<<9, 64>>>(p, q, NULL, n); }\n")
  apart("float *y = z; k<<<9, 64>>>(y, x, pool, n);",
    "static void other(float *x, float *pool) { float *y = pool; use(y); }\n")
end)

tap.case("a kernel that has another name may be launched by that", function()
  local function is(body, want, before)
    local said = open("k<<<9, 64>>>(a, b, c, n);\n" .. body, RESTRICT, before)
    tap.ok((said:find("by another name", 1, true) ~= nil) == want, body .. ": " .. said)
  end
  is("auto step = k; step<<<9, 48>>>(b, b, c, n);", false)
  is("auto step = k; if (n) step = other; step<<<9, 48>>>(b, b, c, n);", true)
  is("void (*f)(float *, const float *, const float *, int) = &k; f<<<9, 48>>>(a, b, c, n);", false)
  is("void (*f)(float *, const float *, const float *, int) = &k; go(f);", true)
  is("void *args[] = { &a }; cudaLaunchKernel((void *)k, 9, 48, args, 0, 0);", false)
  is("void **args = pack(a); cudaLaunchKernel((void *)k, 9, 48, args, 0, 0);", true)
  is("cudaLaunchKernelEx(&config, k, a, b, c, n);", true)
  is("cudaLaunchCooperativeKernel((const void *)&k, g, b, args);", true)
  is("run(k, a, b);", true, "template <class F> void run(F f, float *a, float *b) {\n"
    .. "f<<<9, 48>>>(a, b, b, 5); }\n")
  is("go<k>(a, b);", true, "template <void (*F)(float *, const float *, const float *, int)>\n"
    .. "void go(float *a, float *b) { F<<<9, 48>>>(a, b, b, 5); }\n")
  local RUN = "#define RUN(f, a, b) f<<<9, 48>>>(%sa, b, b, 5)\n"
  is("RUN(k, a, b);", false, RUN:format "")
  is("RUN(k, a, b);", false, RUN:format "#f + ")
  tap.has(open("RUN(k, b, b);", RESTRICT, RUN:format ""),
    "line 8 launches it with `b` as both y and x", "what a macro launches is read")
  is("STEP<<<9, 48>>>(a, b, b, 5);", true, "#define STEP k\n")
  is("Kernel list[] = { k, k }; list[1]<<<9, 48>>>(a, b, b, 5);", true)
  is("std::function<void()> f = [=] { use(k); };", true)
  is("decltype(&k) f = other(); f<<<9, 48>>>(a, b, b, 5);", true)
  is("k<<<9, 64>>>(c, b, a, n);", false)
  is("k<<<new T, 64>>>(a, b, c, n);", true) -- nor is that understood
  is("for (int k = 0; k < 3; k++) use(k);", false)
  is("auto use = [](int k) { return k + 1; };", false)
  is("{ int k = 3; use(k); } void *f = (void *)k;", true)
  is("using F = decltype(&k); F f = other(); f<<<9, 48>>>(a, b, b, 5);", true)
  is("std::map<int, Kernel> m{{1, k}};", true)
  is("auto [f, g] = std::make_pair(k, 3);", true)
  is("use([&] { return k; });", true)
  is("auto f = n > 3 ? k : nullptr;", true)
  is("int other(int k); struct T { int k; }; t.k = 3;", false)
  is("k(a, 5);", false, "void k(float *x, int threads) { use(x); }\n")
  is("cudaFuncSetAttribute(k, what, 9);", false)
  is("cudaOccupancyMaxPotentialBlockSize(&m, &t, k, 0, 0);", false)
  is("s.k = 3; s->k = 4; // k", false)
  is("printf(\"k\");", false)
  tap.has(open("auto step = k; step<<<9, 48>>>(b, b, c, n);", RESTRICT),
    "line 7 launches it with `b` as both y and x", "its arguments are read")
  tap.has(open("k<<<9, 64>>>((float (*)[4])a, b, a, n);", RESTRICT),
    "`(float (*)[4])a`, which line 7 launches it with, is not understood", "an argument")
  tap.has(open("void *l[] = { &b, (void *)&a, &b, &n };\n"
    .. "cudaLaunchKernel((void *)k, 9, 48, l, 0, 0);", RESTRICT),
    "line 8 launches it with `b` as both y and w", "those of a call, too")
end)

tap.case("only the arrays that a transformation needs apart are asked for", function()
  local function said(launch, places)
    local p = problem_of(launch)
    local gene = { text = "T:x<1>()", apart = true, pairs = {} }
    for i, args in ipairs(places) do gene.pairs[i] = { args = args or nil } end
    p.grammar = { genes = function() return { gene } end, apply = function() return "", {} end }
    return table.concat(promises.open(p, "T:x<1>()"), "\n")
  end
  local SAME_AS = "by T:x<1>() that its arrays are different memory, but line 7 launches it with "
    .. "`a` as both y and %s"
  local LAUNCH = "k<<<9, 64>>>(a, b, a, n);"
  tap.is(said(LAUNCH, { { 1, 2 } }), "", "not y and w, which are one")
  tap.is(said(LAUNCH, { { 1, 2 }, { 3, 1 } }), SAME_AS:format "w", "any pair that it needs")
  tap.is(said(LAUNCH, { { 1, 2 }, false }), SAME_AS:format "w", "all where it is no argument")
  tap.is(said("k<<<9, 64>>>(a, b, odd(a, n)->at(3), n);", { { 1, 2 } }), "",
    "one that is not understood is not asked for")
  local open_to = problem_of("", "void run(float *u, float *v, float *w) {\n"
    .. "float *own; cudaMalloc(&own, 9); k<<<9, 64>>>(u, own, w, 9);\n}\n")
  local gene = { text = "T:x<1>()", apart = true, pairs = { { args = { 1, 2 } } } }
  open_to.grammar = { genes = function() return { gene } end,
    apply = function() return "", {} end }
  tap.is(table.concat(promises.open(open_to, "T:x<1>()")), "", "nor callers of what is its own")
  gene.pairs[1].args = { 1, 3 }
  tap.has(table.concat(promises.open(open_to, "T:x<1>()")), "it is unknown what run is called with",
    "but for what they give it")
end)

tap.case("a prototype in a header lets other files launch it", function()
  local p = problem_of("k<<<9, 64>>>(a, b, c, n);", '#include "k.h"\n')
  local t = p.definition.kernel_table.table
  local folder = t.made_from.path:match "^(.*)/"
  t.include = { folder }
  scratch.write(folder .. "/k.h", "extern \"C\" __global__ void k(float *y, const float *x,\n"
    .. "const float *w, int n);\n")
  local function said(why, want, text)
    if text then scratch.write(folder .. "/other.cpp", text) end
    local marks, kept = promises.of(p, RESTRICT)
    tap.is(table.concat(marks, "\n"), want, why)
    return table.concat(kept, "\n")
  end
  tap.has(said("none does", ""), "`__restrict__`: asked of the host, all 2 files below ",
    "which is said")
  local INCLUDE = '#include "k.h"\n'
  said("one that launches it with others", "",
    INCLUDE .. "void f() { k<<<9, 64>>>(u, v, w, 5); }\n")
  said("one that launches it", "`__restrict__`, but line 2 of other.cpp launches it with `u` as "
    .. "both y and x", INCLUDE .. "void f() { k<<<9, 64>>>(u, u, w, 5); }\n")
  said("one that has it by another name", "`__restrict__`, and line 2 of other.cpp may launch k by "
    .. "another name: `auto go = k;`", INCLUDE .. "auto go = k;\n")
  said("one of another program", "", "__global__ void k(int *p) { p[0] = 1; }\n"
    .. "void f() { k<<<9, 64>>>(u, u); }\n")
  local most <close> = setmetatable({}, { __close = function() program.most_files = 4000 end })
  program.most_files = 1
  said("too many files",
    "`__restrict__`, and other files may launch k, which line 1 of k.h declares")
  tap.ok(most, "as many as before")
end)

tap.case("callers in other files", function()
  local p = problem_of("", "void run(float *u, float *v) { k<<<9, 64>>>(u, v, v, 9); }\n")
  local path = p.definition.kernel_table.table.made_from.path
  local function said(why, want, text)
    scratch.write(path:match "^(.*)/" .. "/calls.c", text)
    local marks = table.concat(promises.open(p, RESTRICT), "\n")
    tap.is(marks:gsub("line %d+ launches it", "it is launched"), want, why)
  end
  local OPEN_TO = "`__restrict__`, and it is unknown what %s is called with, where it is launched"
  said("nobody", OPEN_TO:format "run", "int other(int n) { return n; }\n")
  said("a main", "", "int main() { float *a, *b; run(a, b); }\n")
  said("one that gives it one memory",
    "`__restrict__`, but it is launched with `a` as both y and x",
    "int main() { float *a, *b = a + 1; run(a, b); }\n")
  said("one that nobody calls", OPEN_TO:format "go",
    "void go(float *p, float *q) { run(p, q); }\n")
  said("its own function of that name", OPEN_TO:format "run",
    "static void run(float *u, float *v) { }\nint main() { run(a, b); }\n")
  p = problem_of("", "static void run(float *u, float *v) { k<<<9, 64>>>(u, v, v, 9); }\n")
  path = p.definition.kernel_table.table.made_from.path
  said("a function of its file alone", OPEN_TO:format "run",
    "int main() { float *a, *b; run(a, b); }\n")
end)

tap.case("any launch of the file counts, not only the first", function()
  local said = open("k<<<9, 64>>>(a, b, c, n);\nk<<<9, 64>>>(a, a, c, n);", RESTRICT)
  tap.is(said, "`__restrict__`, but line 8 launches it with `a` as both y and x", "the second")
end)

local RUN = "void run(float *restrict u, const float *v, int t, int n) {\n"
  .. "k<<<9, t>>>(u, v, v, n);\n}\n"
local OPEN = "`__restrict__`, and it is unknown what run is called with, where line 7 launches it"

tap.case("a launch in a function is given what that is called with", function()
  local function is(calls, want, why, before)
    tap.is(open(calls, RESTRICT, before or RUN), want or "", why)
  end
  is("run(a, b, 64, n);", nil, "two are two")
  is("run(a, b, 64, n);\nrun(a, a, 64, n);", SAME:format("a", "y and x"), "any call of it")
  is("run(&s->a[3], s->b, 64, n);", nil, "of a struct")
  is("run(&s->a[3], s->a, 64, n);", SAME:format("s.a", "y and x"), "the same of it")
  is("go(a, a);", SAME:format("a", "y and x"), "through two of them",
    RUN .. "static void go(float *p, float *q) { run(p + 1, q, 64, 5); }\n")
  is("run<4>(a, a, 64, n);", SAME:format("a", "y and x"), "a template",
    RUN:gsub("void", "template <int K> void"))
  is("", OPEN, "one that nobody calls")
  is("", OPEN, "its declaration is no call", "void run(float *, float *, int, int);" .. RUN)
  is("", nil, "nor need be where it says so itself", RUN:gsub("%*v", "*__restrict__ v"))
  tap.is(open("", "T:merge_threads<1>(x,2,block)", RUN), "blocks of a multiple of 2 threads in x, "
    .. "and how many threads a block of line 7 has is not known", "merge asks nothing of arrays")
  is("run(w, w, 64, n); }\nvoid run(float *p, int n) {", SAME:format("w", "y and x"),
    "one of another number of parameters is another function")
end)

tap.case("what a function asks for itself, none of its callers has", function()
  local function is(body, want, before)
    local said = open("", RESTRICT, (before or "") .. "Tensor run(Tensor a, Tensor b) {\n" .. body
      .. "\nreturn c; }\n")
    tap.ok((said ~= "") == want, ("%s: %s"):format(body, said))
  end
  local function gives(want, give, more, before)
    is(("auto c = %s; %s k<<<9, 64>>>(c.data_ptr<float>(), a.data_ptr<float>(), "
      .. "b.data_ptr<float>(), 9);"):format(give, more or ""), want, before)
  end
  for _, give in ipairs { "torch::zeros({m, n}, a.options())", "torch::empty_like(a)",
    "at::full({3}, 0.f)", "a.clone()", "a.new_empty({3})", "torch::rand({3})" } do
    gives(false, give)
  end
  for _, give in ipairs { "a", "a.contiguous()", "a.view({3})", "pick(a)", "g",
    "torch::zeros_like(a) + a" } do
    gives(true, give)
  end
  gives(true, "torch::empty_like(a)", "c = a;")
  gives(true, "torch::empty_like(a)", "if (a.is_contiguous()) c = b;")
  gives(true, "zeros(a)", nil, "Tensor zeros(Tensor a) { return a; }\n")
  is("float *c; cudaMalloc(&c, 9); k<<<9, 64>>>(c, a, b, 9);", false)
  is("static float *c; if (!c) cudaMalloc(&c, 9); k<<<9, 64>>>(c, a, b, 9);", true)
  is("cudaMalloc(&c, 9); k<<<9, 64>>>(c, a, b, 9);", true, "float *c;\n")
  is("float *c; cudaMalloc(&c, 9); k<<<9, 64>>>(a, c, b, 9);", true)
end)

tap.case("where the file is gone nothing is lost", function()
  local p = problem_of("k<<<9, 64>>>(a, b, c, n);")
  os.remove(p.definition.kernel_table.table.made_from.path)
  local function said(genome) return table.concat(promises.open(p, genome), "\n") end
  tap.has(said(RESTRICT), "`__restrict__`, and the file of its launches cannot be asked: cannot",
    "it is said")
  tap.has(said(BOUNDS), "__launch_bounds__(64, 1), and the file of its launches cannot be asked",
    "of __launch_bounds__")
  tap.is(said "", "", "who promises nothing needs none")
end)

tap.case("what the host does not say is not taken for good", function()
  tap.has(open("", RESTRICT), "no launch says whether its arrays may be one memory", "no launch")
  tap.has(open("k<<<9, 64>>>(a, b, n);", RESTRICT), "line 7 launches it with is not understood",
    "other arguments")
end)

tap.case("__launch_bounds__ holds for every launch", function()
  tap.is(open("k<<<9, 64>>>(a, b, c, n);", BOUNDS), "", "as many threads")
  tap.has(open("k<<<9, 64>>>(a, b, c, n);\nk<<<9, dim3(64, 4)>>>(a, b, c, n);", BOUNDS),
    "but line 8 launches blocks of 256", "more")
  tap.has(open("int m = atoi(argv[1]); k<<<9, m>>>(a, b, c, n);", BOUNDS),
    "how many threads a block of line 7 has is not known", "who knows")
  tap.is(open("run(a, b, 64, n);", BOUNDS, RUN), "", "as many, by a function's parameter")
  tap.has(open("run(a, b, 64, n);\nrun(a, b, 32 * 3, n);", BOUNDS, RUN),
    "but line 7 launches blocks of 96", "any call")
end)

tap.case("a block that is a template's parameter", function()
  local GO = "template <int T%s> void go(int n) { k<<<9, T>>>(a, b, c, n); }\n"
  tap.is(open("go<64>(5);", BOUNDS, GO:format ""), "", "as the call says")
  tap.has(open("go<64>(5); go<32 * 3>(5);", BOUNDS, GO:format ""), "blocks of 96", "or another")
  tap.is(open("go(5);", BOUNDS, GO:format " = 64"), "", "or its default")
  tap.has(open("go<M>(5);", BOUNDS, GO:format ""), "how many threads", "or nobody")
end)

tap.case("the sides of a block that is a dim3", function()
  local function is(body, want)
    local said = open(body .. " k<<<9, t>>>(a, b, c, n);", BOUNDS)
    tap.is(said:match "how many threads" or said:match "blocks of %d+" or "kept", want, body)
  end
  local NOT_KNOWN = "how many threads"
  is("dim3 t(64);", "kept")
  is("dim3 t(32); t.y = 2;", "kept")
  is("dim3 t(32), g; g.x = n; t.y = 4;", "blocks of 128")
  is("dim3 t; t.x = 16; t.y = 4;", "kept")
  is("dim3 t(64); if (argc > 1) t.x = 128;", NOT_KNOWN)
  is("dim3 t(64); if (argc > 1) { t.x = 128; }", NOT_KNOWN)
  is("dim3 t(64); k<<<9, t>>>(a, b, c, n); t.x = 128;", NOT_KNOWN)
  is("dim3 t(64); for (int i = 0; i < argc; i++) t.y = i;", NOT_KNOWN)
  is("dim3 t = shape(64);", NOT_KNOWN)
  is("dim3 t; t.x = 64; if (argc > 1) t.y = 2;", NOT_KNOWN)
  is("dim3 t(64); change(t);", NOT_KNOWN)
  is("dim3 t(atoi(argv[1]));", NOT_KNOWN)
  tap.has(open("go(64); go(128);", BOUNDS, "void go(dim3 t) { k<<<9, t>>>(a, b, c, 5); }\n"),
    "128", "a parameter")
  tap.has(open("go(shape());", BOUNDS, "void go(dim3 t) { k<<<9, t>>>(a, b, c, 5); }\n"),
    NOT_KNOWN, "a parameter that is not known")
end)

local WIDE = [[
extern "C" __global__ void k(float *y, const float *x, const double *w, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + x[i]) + (float)(w[i] * w[i]);
}
]]

-- Its problem; made: of somebody's file.
local function wide(made)
  return gi.problem(scratch.problem(WIDE, ([[{ source = "kernel.cu", kernel = "k", size = 1000,
    args = { { name = "y", type = "f32", count = "size_x", role = "out" },
             { name = "x", type = "f32", count = "size_x" },
             { name = "w", type = "f64", count = "size_x" },
             { name = "n", type = "i64", value = "size_x" } },
    grammar = { math = true }, %s }]]):format(
      made and 'made_from = { path = "/nowhere.cu" }' or "")))
end

tap.case("what a transformation asks of a block", function()
  local function said(launch, asks, genome)
    local p = problem_of(launch)
    p.grammar = { genes = function() return { { text = "T:x<1>()", launch = asks } } end,
      apply = function(_, text)
        return "", { params = { block_size_x = text:find "block_size" and 32 or nil } }
      end }
    return table.concat(promises.open(p, genome or "T:x<1>()"), "\n")
  end
  local OTHER = "k<<<9, 64>>>(a, b, c, n);\nk<<<9, dim3(100, 2)>>>(a, b, c, n);"
  tap.is(said("k<<<9, 64>>>(a, b, c, n);", "grid.x/2 block.x<=64"), "", "of all that there are")
  tap.is(said(OTHER, "block.x<=64"), "blocks not longer than 64 in x, but line 8 launches blocks"
    .. " of 100 x 2 x 1", "of one that is longer")
  tap.is(said(OTHER, "k:block.x%32 other:block.x==7"), "blocks of a multiple of 32 threads in x, "
    .. "but line 8 launches blocks of 100 x 2 x 1", "of one that is no multiple")
  tap.is(said(OTHER, "block.x=32 block.x<=64"), "", "of what it becomes")
  tap.is(said(OTHER, "block.x<=64", "T:x<1>() block_size_x=32"), "", "or is to be set to")
  tap.has(said("k<<<9, m>>>(a, b, c, n);", "block.x<=64"), "is not known", "of who knows what")
  local SET = "T:x<1>() block_size_x=32"
  tap.is(said("k<<<9, dim3(100, 32)>>>(a, b, c, n);", "", SET), "", "of one that is set in x")
  tap.is(said("k<<<9, dim3(16, 64)>>>(a, b, c, n);", "", SET), "blocks of at most 1024 threads, "
    .. "but line 7 launches blocks of 32 x 64 x 1", "and is too long with its y")
  tap.has(said("k<<<9, dim3(16, m)>>>(a, b, c, n);", "", SET), "is not known", "whose y may be any")
  tap.is(said("k<<<9, dim3(16, 2)>>>(a, b, c, n);", "block.y<=1", SET), "blocks not longer than 1 "
    .. "in y, but line 7 launches blocks of 32 x 2 x 1", "what is asked of another side stays")
end)

tap.case("shorter blocks where a thread's place is compared with an argument", function()
  local function said(body, launch, genome)
    local source = ('extern "C" __global__ void k(int *y, int bins)\n{\n%s\n}\n'):format(body)
    local path = tap.folder() .. "/bins.cu"
    scratch.write(path, source .. "int main(int argc, char **argv) {\n" .. launch .. "\n}\n")
    local p = gi.problem(scratch.problem(source, ([[{
      source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64, block_size_y = 4,
      args = { { name = "y", type = "i32", count = "size_x", role = "inout" },
               { name = "bins", type = "i32", value = 16 } },
      tune_params = { block_size_x = { 32, 64, 128 }, block_size_y = { 2, 4 } },
      made_from = { path = %q, template = {} } }]]):format(path)))
    return table.concat(promises.open(p, genome or "block_size_x=32"), "\n")
  end
  local ANY, GUARD = "k<<<9, dim3(64, 4)>>>(y, atoi(argv[1]));", "if (threadIdx.x < bins) y[0]++;"
  tap.is(said(GUARD, ANY), "that `bins` is at most 32, as a thread's place in its block is "
    .. "compared with it and blocks become 32 long in x", "nobody knows how many")
  tap.has(said("int t = threadIdx.x; if (t >= bins) return; y[t]++;", ANY), "at most 32", "by name")
  tap.has(said(GUARD, "k<<<9, 64>>>(y, 32); k<<<9, 64>>>(y, 33);"), "at most 32", "one has more")
  tap.is(said(GUARD, "k<<<9, 64>>>(y, 32);"), "", "none has more")
  tap.is(said(GUARD, ANY, "block_size_x=128"), "", "a longer block")
  tap.is(said(GUARD, ANY, "block_size_y=2"), "", "a shorter one along another side")
  tap.is(said("int i = blockIdx.x * 64 + threadIdx.x; if (i < bins) y[i]++;", ANY), "",
    "the place in the grid")
  tap.is(said("for (int i = threadIdx.x; i < bins; i += blockDim.x) y[i]++;", ANY), "",
    "a loop that goes on")
end)

tap.case("what a transformation asks of a grid", function()
  local function said(launch, params, words)
    local p = problem_of(launch)
    p.grammar = {
      genes = function()
        return { { text = "T:x<1>()", launch = words or "grid.x%2 grid.x/2" } }
      end,
      apply = function() return "", { params = params or {} } end,
    }
    return table.concat(promises.open(p, "T:x<1>()"), "\n")
  end
  tap.is(said "k<<<8, 64>>>(a, b, c, n);", "", "of all that there are")
  tap.is(said "k<<<8, 64>>>(a, b, c, n);\nk<<<dim3(9, 2), 64>>>(a, b, c, n);",
    "a multiple of 2 blocks in x, but line 8 launches 9 x 2 x 1", "of one that has an odd number")
  tap.is(said "int m = 1024; if (argc > 1) m = atoi(argv[1]); k<<<m / 64, 64>>>(a, b, c, n);",
    "a multiple of 2 blocks in x, and how many blocks line 7 launches is not known", "of a default")
  tap.is(said("k<<<m, 64>>>(a, b, c, n);", nil, "grid.x*4 grid.x%2 grid.x/2"), "",
    "nor need it be where any is right then")
  tap.is(said "int m = atoi(argv[1]); k<<<m / 64, 64>>>(a, b, c, n);",
    "a multiple of 2 blocks in x, and how many blocks line 7 launches is not known", "of any")
  local LONGER = { block_size_x = 128 }
  tap.is(said("k<<<8, 64>>>(a, b, c, 512);", LONGER), "", "or are, with blocks that are longer")
  tap.is(said("k<<<6, 64>>>(a, b, c, 384);", LONGER),
    "a multiple of 2 blocks in x, but line 7 launches 3 x 1 x 1", "not of what is odd then")
  local function flat(launch)
    return said("int m = atoi(argv[1]); " .. launch, nil, "grid.z==1 grid.z=2")
  end
  tap.is(flat "k<<<m / 64, 64>>>(a, b, c, n);", "", "a side that is not written is 1")
  tap.is(flat "dim3 g(m / 8, m); k<<<g, 64>>>(a, b, c, n);", "", "of a dim3 too")
  local unknown = "a grid that is 1 long in z, and how many blocks line 7 launches is not known"
  tap.is(flat "k<<<dim3(m, 1, m), 64>>>(a, b, c, n);", unknown, "one that is written may be any")
  tap.is(flat "k<<<m, 64>>>(a, b, c, n);", "", "nor of a name that is a number")
  tap.is(flat "k<<<o, 64>>>(a, b, c, n);", unknown, "one that nothing declares may be any")
  tap.is(flat "dim3 g = f(m); k<<<g, 64>>>(a, b, c, n);", unknown, "and so may a dim3")
  tap.is(flat "k<<<shape(m / 8), 64>>>(a, b, c, n);", unknown, "or what a function makes")
  tap.is(flat "k<<<dim3(m, m, 3), 64>>>(a, b, c, n);", unknown, "also where it is a number")
  tap.is(flat "k<<<dim3(4, 2, 3), 64>>>(a, b, c, n);",
    "a grid that is 1 long in z, but line 7 launches 4 x 2 x 3", "of one that has three")
end)

tap.case("blocks are rounded up where a launch is for all items", function()
  local function said(launch, words, genome, before)
    local p = problem_of(launch, before)
    p.grammar = { genes = function() return { { text = "T:x<1>()", launch = words } } end,
      apply = function(_, text)
        local set = text:find "96" and 96 or nil
        return "", { params = { ["T:launch"] = words, block_size_x = set } }
      end }
    return table.concat(promises.open(p, genome or "T:x<1>()"), "\n")
  end
  local PROMISE = "that blocks beyond the last do nothing, "
  local PART, HALF = "k<<<m / 64, 64>>>(a, b, c, n - done);", "grid.x/2"
  local UNKNOWN = PROMISE .. "and whether line 7 launches as many as `n` asks for is not known"
  local FEWER = PROMISE .. "but line 7 launches fewer than `n` asks for"
  tap.is(said(PART, HALF), UNKNOWN, "a part of them, of another size")
  tap.is(said("k<<<9, 64>>>(a, b, c, n);", HALF), FEWER, "always as many blocks")
  tap.is(said("k<<<n / 64, 64>>>(a, b, c, n);", HALF), FEWER, "without the rest")
  tap.is(said("k<<<9, 64>>>(a, b, c, 577);", HALF), FEWER, "one thread less")
  for _, launch in ipairs {
    "k<<<(n + 63) / 64, 64>>>(a, b, c, n);", "k<<<n / 64 + 1, 64>>>(a, b, c, n);",
    "k<<<(o.n + 63) / 64, 64>>>(a, b, c, o.n);", "k<<<9, 64>>>(a, b, c, 576);",
    "k<<<(p->n - 1) / 64 + 1, 64>>>(a, b, c, p->n);",
    "int t = 64, g = (n + t - 1) / t; k<<<g, t>>>(a, b, c, n);",
    "int n = w * h; dim3 g((n + 63) / 64); k<<<g, 64>>>(a, b, c, w * h);",
  } do
    tap.is(said(launch, HALF), "", launch)
  end
  for _, launch in ipairs { "k<<<(n + t - 1) / t, t>>>(a, b, c, n);",
    "dim3 d(s, s), g(ceil((float)n / s), 3); k<<<g, d>>>(a, b, c, n);" } do
    tap.is(said("int t = atoi(v[1]), s = atoi(v[2]); " .. launch, HALF), "", launch)
  end
  tap.is(said("int t = atoi(v[1]); k<<<n / t, t>>>(a, b, c, n);", HALF), FEWER, "without the rest")
  tap.is(said("int t = atoi(v[1]); k<<<(n + 255) / 256, t>>>(a, b, c, n);", HALF), FEWER,
    "for blocks of another length")
  tap.is(said("k<<<UP(n, 64), 64>>>(a, b, c, n);", HALF, nil,
    "#define UP(a, b) (((a) + (b) - 1) / (b))\n"), "", "by a macro")
  tap.is(said("k<<<8, 64>>>(a, b, c, n);", "grid.x%2 grid.x/2"), "", "where there is no rest")
  tap.is(said(PART, "grid.x@256"), UNKNOWN, "blocks for so many threads each")
  tap.is(said("k<<<(n + 63) / 64, 64>>>(a, b, c, n);", "grid.x@256"), "", "for all items")
  tap.is(said(PART, "block.x/2"), "", "nor blocks that are fewer")
  tap.is(said(PART, "", "block_size_x=96"), UNKNOWN, "a block that is no part of the old one")
end)

tap.case("a grid has a limit along y and z", function()
  local function said(launch, words, params, genome)
    local p = problem_of(launch)
    p.values = function(_, set)
      return { block_size_x = 16, block_size_y = set and set.block_size_y or 16 }
    end
    p.grammar = { genes = function() return { { text = "T:x<1>()", launch = words } } end,
      apply = function() return "", { params = params or {} } end }
    return table.concat(promises.open(p, genome or "T:x<1>()"), "\n")
  end
  local function of(m) return ("k<<<dim3(%s, 2), dim3(16, 16)>>>(a, b, c, n);"):format(m) end
  local function along_y(m) return of "4":gsub("2%)", m .. ")", 1) end
  local LIMIT = "a grid not longer than 65535 in %s, "
  tap.is(said(of "65535", "axes=yx"), "", "x that is short enough for y")
  tap.is(said(of "65536", "axes=yx"), LIMIT:format "x" .. "but line 7 launches 65536 x 2 x 1",
    "x that is too long for y")
  tap.is(said(of "atoi(v)", "axes=yx"), LIMIT:format "x" .. "and how many blocks line 7 launches "
    .. "is not known", "x that nobody knows")
  tap.is(said(of "70000", "grid.x/2 axes=yx"), "", "of what became of x before")
  tap.is(said(of "70000", "block.x<=16 axes=yx"), LIMIT:format "x"
    .. "but line 7 launches 70000 x 2 x 1", "the block that is asked for something else")
  tap.is(said(along_y "4000", "grid.y*16"), "", "16 times as many along y")
  tap.is(said(along_y "m", "grid.y*16"), "a grid not longer than 4095 in y, and how many blocks "
    .. "line 7 launches is not known", "16 times as many as nobody knows")
  local SHORT, GENOME = { block_size_y = 4 }, "block_size_y=4"
  tap.is(said(along_y "16383", nil, SHORT, GENOME), "", "shorter blocks, more of them")
  tap.is(said(along_y "16384", nil, SHORT, GENOME), LIMIT:format "y"
    .. "but line 7 launches 4 x 65536 x 1", "too many of them")
  tap.is(said(along_y "m", nil, SHORT, GENOME), LIMIT:format "y"
    .. "and how many blocks line 7 launches is not known", "how many nobody knows")
  tap.is(said(along_y "m", nil, { block_size_y = 32 }, "block_size_y=32"), "", "longer blocks")
  local function of_memory(bytes, side, before)
    return said(("int m = atoi(v), q = atoi(w); %s cudaMalloc(&a, %s); %s"):format(before or "",
      bytes, along_y(side)), nil, SHORT, GENOME)
  end
  local SIDE, UNKNOWN = "(m + 15) / 16", LIMIT:format "y"
    .. "and how many blocks line 7 launches is not known"
  tap.is(of_memory("m * m * sizeof(float) * 16", SIDE), "", "no GPU has memory for so many rows")
  tap.is(of_memory("s", SIDE, "size_t s = m * m * q * sizeof(double) * 16;"), "", "by a variable")
  tap.is(of_memory("m * m", SIDE), UNKNOWN, "one has for these")
  tap.is(of_memory("m * q * sizeof(float)", SIDE), UNKNOWN, "and where another number says so")
  tap.is(of_memory("m * m * sizeof(float) * 16", "(m + q) / 16"), UNKNOWN, "a side of two numbers")
  tap.is(of_memory("m * m * sizeof(float) * 16", "(m + p) / 16", "int p = 1; if (m) p = q;"),
    UNKNOWN, "also where one usually is 1")
  tap.is(of_memory("m * m * sizeof(float) * 16", "m"), UNKNOWN, "a side that is that long")
end)

tap.case("blocks of a recorded program may be longer with other arguments", function()
  local function said(launch)
    local p = problem_of(launch)
    p.definition.made_from = p.definition.kernel_table.table.made_from
    p.definition.recorded = { table = { kernels = { k = "k" } } }
    return table.concat(promises.open(p, BOUNDS), "\n")
  end
  tap.is(said "k<<<9, 64>>>(a, b, c, n);", "", "not where all are as long")
  tap.is(said "int m = n < 1024 ? 64 : 1024; k<<<9, m>>>(a, b, c, n);",
    "__launch_bounds__(64, 1), and how many threads a block of line 7 has is not known",
    "than the recording's")
end)

tap.case("what is promised of numbers is a person's to keep", function()
  local p = wide(true)
  local function said(genome) return table.concat(promises.open(p, genome), "\n") end
  tap.is(said "T:narrow<1>()", "by T:narrow<1>() that its whole numbers fit into 32 bits", "bits")
  tap.is(said "T:float<1>()", "by T:float<1>() that single precision will do", "precision")
  tap.has(said "<math_kernel.cu_4><math_K1>",
    "that approximate mathematics will do (line 4, `__fdividef` and the like)", "mathematics")
  tap.is(said "T:narrow<3>()", "", "what is passed over promises nothing")
  tap.is(#promises.open(wide(false), "T:narrow<1>()"), 1, "also of a problem that is his own")
  tap.is(#promises.open(wide(false), "T:float<1>() <math_kernel.cu_4><math_K1>"), 0,
    "whose tolerance is his")
  local recorded = { definition = { recorded = {} }, grammar = wide(false).grammar }
  tap.has(table.concat(promises.open(recorded, "T:narrow<1>()")), "fit into 32 bits", "a recording")
end)

tap.case("a loop for a value that was guessed", function()
  local source = 'extern "C" __global__ void k(float *y, const float *x, int n)\n{\n'
    .. "  float sum = 0.0f;\n  for (int i = 0; i < n; i++) sum += x[i];\n"
    .. "  y[threadIdx.x] = sum;\n}\n"
  local function proposed(note, made_from)
    local p = gi.problem(scratch.problem(source, ([[{ source = "kernel.cu", kernel = "k",
      size = 64, -- GUESS
      args = { { name = "y", type = "f32", count = "size_x", role = "out" },
               { name = "x", type = "f32", count = 64 }, -- GUESS: how many
               { name = "n", type = "i32", value = 64 }, -- n; %s
      }, %s }]]):format(note, made_from or 'made_from = { path = "/nowhere.cu" }')))
    for _, kind in ipairs(p.grammar:transformations()) do
      if kind.name == "specialise" then return #kind.places end
    end
    return 0
  end
  tap.is(proposed "GUESS: n = 64, which no source gives", 0, "is not proposed")
  tap.is(proposed "from the launch", 1, "one for another, though others are guessed, is")
  tap.is(proposed("GUESS", ""), 1, "in a person's own problem too")
end)

tap.case("a line that is there twice and changed once", function()
  local source = 'extern "C" __global__ void k(float *y, const float *x, int n)\n{\n'
    .. "  float sum = 0.0f;\n  for (int i = 0; i < n; i++) {\n    sum += x[i];\n"
    .. "    sum *= 0.5f;\n  }\n  y[threadIdx.x] = sum;\n}\n"
  local p = gi.problem(scratch.problem(source, [[{ source = "kernel.cu", kernel = "k", size = 64,
    args = { { name = "y", type = "f32", count = "size_x", role = "out" },
             { name = "x", type = "f32", count = 64 }, { name = "n", type = "i32", value = 64 } },
    made_from = { path = "/nowhere.cu" } }]]))
  local function said(genome) return table.concat(promises.open(p, genome), "\n") end
  tap.is(said "T:specialise<4>(n,64) <_kernel.cu_6>", "by <_kernel.cu_6> that line 6 need not be"
    .. " the same in the two copies that T:specialise<4>(n,64) makes of it", "in the loop")
  tap.is(said "T:specialise<4>(n,64) <_kernel.cu_8>", "", "behind it")
  tap.is(said "T:specialise<4>(n,64) <pragma_kernel.cu_4><pragma_K3>", "", "a pragma means nothing")
  tap.is(said "<_kernel.cu_6>", "", "without the other")
  p = gi.problem(scratch.problem([[
extern "C" __global__ void k(float *y, const float *x)
{
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int n = blockDim.x / 2; n > 0; n >>= 1) {
    if (t < n)
      s[t] += s[t + n];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
]], [[{ source = "kernel.cu", kernel = "k", size = 64, block_size_x = 32,
    args = { { name = "y", type = "f32", count = "size_x", role = "out" },
             { name = "x", type = "f32", count = "size_x" } },
    made_from = { path = "/nowhere.cu" } }]]))
  tap.has(said "T:tree<7>() <_kernel.cu_9>", "by <_kernel.cu_9> that line 9 "
    .. "need not be the same in the two copies that T:tree<7>() makes of it",
    "rounds that blocks of a warp never do, also where a later gene changed the last of its lines")
end)

tap.case("what promises nothing is not asked", function()
  tap.is(open("k<<<9, 64>>>(a, a, a, n);", "<_kernel.cu_4>"), "", "a statement")
  tap.is(open("k<<<9, 64>>>(a, a, a, n);", ""), "", "nothing")
  local p = gi.problem(scratch.problem(KERNEL, [[{ source = "kernel.cu", kernel = "k", size = 9,
    args = { { name = "y", type = "f32", count = "size_x", role = "inout" },
             { name = "x", type = "f32", count = "size_x" },
             { name = "w", type = "f32", count = "size_x" },
             { name = "n", type = "i32", value = "size_x" } } }]]))
  tap.is(#promises.open(p, RESTRICT), 0, "a problem that is somebody's own")
end)

tap.done()
