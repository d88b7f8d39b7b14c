-- gilua.host.hostfills: what the host's code draws for an array, read and not run.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local hostfills = require "gilua.host.hostfills"
local tap = require "tap"

-- The fill of the first launch's n-th argument (1) in a file, and where it is from.
local function fill(text, n)
  local host = gi.hostcode.read(text)
  local launch = host:launch "k"
  local found = hostfills.of(host, launch.args[n or 1], launch.body)
  return found and found.fill, found and found.place
end

-- That of what is written to h[i], which is copied to d.
local function drawn(value, before)
  return (fill((before or "") .. "\nvoid run(int n) {\n  for (int i = 0; i < n; i++) h[i] = "
    .. value .. ";\n  cudaMemcpy(d, h, n, cudaMemcpyHostToDevice);\n  k<<<9, 64>>>(d, n);\n}\n"))
end

tap.case("what is drawn", function()
  tap.is(drawn "rand() % 2", "{ 0, 1 }", "a remainder")
  tap.is(drawn "rand() % 1000", "{ 0, 999 }", "a larger one")
  tap.is(drawn "rand() % 20000", "{ 0, 19999 }", "and one of those that are seldom full")
  tap.is(drawn "rand() % 250 + 1", "{ 1, 250 }", "from one on")
  tap.is(drawn "(int)(rand() & 0xFF)", "{ 0, 255 }", "bits")
  tap.is(drawn "(float)rand() / (float)RAND_MAX", "{ 0, 1 }", "a share")
  tap.is(drawn "static_cast<float>(rand()) / RAND_MAX * 2.0f - 1.0f", "{ -1, 1 }", "of both signs")
  tap.is(drawn "-5.0f + 10.0f * rand() / (float)RAND_MAX", "{ -5, 5 }", "without brackets")
  tap.is(drawn "(float)(rand() % 100) / 100.0f", "{ 0, 0.99 }", "hundredths")
  tap.is(drawn "rand() / RAND_MAX", "{ 0, 1 }", "by C's rules, a quotient of whole numbers")
  tap.is(drawn "drand48()", "{ 0, 1 }", "another function of C's")
  tap.is(drawn("rand() % LEVELS", "#define LEVELS 16"), "{ 0, 15 }", "by a macro")
  tap.is(drawn("frand() * 4", "static float frand() { return rand() / (float)RAND_MAX - 0.5f; }"),
    "{ -2, 2 }", "by a function of the file")
  tap.is(drawn("between(2, 3)", "float between(float a, float b) {\n"
    .. "  return a + (b - a) * rand() / (float)RAND_MAX; }"), "{ 2, 3 }", "that is given the ends")
  tap.is(drawn("dist(gen)", "std::uniform_real_distribution<float> dist(-1.0f, 1.0f);"),
    "{ -1, 1 }", "C++'s distribution")
  tap.is(drawn("die(gen)", "std::uniform_int_distribution<> die{1, 6};"), "{ 1, 6 }", "whole ones")
  tap.is(drawn("bell(gen)", "std::normal_distribution<float> bell(10, 2);"), "{ 4, 16 }",
    "three deviations to both sides")
end)

tap.case("what is not", function()
  tap.is(drawn "1.0f", nil, "a constant")
  tap.is(drawn "i % 7", nil, "what a loop counts")
  tap.is(drawn "rand() % 10 ? i : -1", nil, "what is both")
  tap.is(drawn "rand() % unknown", nil, "a remainder by who knows what")
  tap.is(drawn "rand() % 1", nil, "always the same")
  tap.is(drawn "ask(rand())", nil, "a function that the file has not")
  tap.is(drawn "make_float4(rand(), 0, 0, 0)", nil, "several numbers at once")
end)

local RUN = "\nint main() {\n  float *a = get(n), *b = get(n);\n%s  k<<<9, 64>>>(d, n);\n}\n"

tap.case("whose it is", function()
  local function is(body, want, why, before)
    tap.is((fill((before or "") .. RUN:format(body))), want, why)
  end
  local copy = "  cudaMemcpy(d, a, n, cudaMemcpyHostToDevice);\n"
  is("  a[i] = rand() % 9;\n" .. copy, "{ 0, 8 }", "copied")
  is("  b[i] = rand() % 9;\n" .. copy, nil, "another array's is not")
  is("  d[i] = rand() % 9;\n", "{ 0, 8 }", "memory that both see")
  is("  a[i] = rand() % 9;\n  cudaMemcpy(a, d, n, cudaMemcpyDeviceToHost);\n", nil, "copied back")
  is("  a[i] = rand() % 9;\n  CHECK(cudaMemcpyAsync(d, &a[0], n, cudaMemcpyHostToDevice, s));\n",
    "{ 0, 8 }", "in a macro, of its first element")
  for _, pointer in ipairs { "(float4 *)a", "&(a[0])", "reinterpret_cast<int *>(&a[0])", "*(&a)",
    "(void *)&a[n]", "a + n", "std::data" } do
    is("  a[i] = rand() % 9;\n  cudaMemcpy(d, " .. pointer .. ", n, cudaMemcpyHostToDevice);\n",
      pointer ~= "std::data" and "{ 0, 8 }" or nil, pointer)
  end
  is("  p.a[i] = rand() % 9;\n  cudaMemcpy(d, p, n, cudaMemcpyHostToDevice);\n", nil,
    "nor that of an array of structs")
  is("  a[i][j] = rand() % 9;\n" .. copy, "{ 0, 8 }", "of rows")
  is("  p.a[i] = rand() % 9;\n  q->a[i] = rand() % 9;\n" .. copy, nil, "not a struct's member")
  is("  a[i] = 2 + rand() % 2;\n  a[j] = 8 + rand() % 2;\n" .. copy, "{ 2, 9 }", "of both halves")
  is("  p[i] = rand() % 9;\n  cudaMemcpy(d, p.a, n, cudaMemcpyHostToDevice);\n", nil,
    "nor the struct itself")
  is("  a[i] = rand() % 9;\n  cudaMemcpy(d, a, n, cudaMemcpyDeviceToHost);\n", nil,
    "what goes the other way")
  is("  a[i] = 2 + rand() % 2;\n  a[0] = sqrtf(100);\n" .. copy, "{ 2, 3 }", "no constant besides")
  is("  a.push_back(rand() % 9);\n  cudaMemcpy(d, a.data(), n, cudaMemcpyHostToDevice);\n",
    "{ 0, 8 }", "a vector")
  is("  std::generate(a.begin(), a.end(), [] { return rand() % 9; });\n"
    .. "  cudaMemcpy(d, a.data(), n, cudaMemcpyHostToDevice);\n", "{ 0, 8 }", "by an algorithm")
  local filler = "void fill(float *p, int n) { for (int i = 0; i < n; i++) p[i] = rand() % 9; }\n"
  is("  fill(a, n);\n" .. copy, "{ 0, 8 }", "by a function", filler)
  is("  fill(b, n);\n" .. copy, nil, "which is given another", filler)
  is("  fill(b, n);\n  cudaMemcpy(d, p, n, cudaMemcpyHostToDevice);\n", nil,
    "whose parameter has the name of another array", filler)
  is("  both(b, a);\n" .. copy, "{ 0, 8 }", "through one between them",
    filler .. "void both(float *x, float *y) { clear(x); fill(y, 5); }\n")
  is("  both(a, b);\n" .. copy, nil, "which hands on the other",
    filler .. "void both(float *x, float *y) { clear(x); fill(y, 5); }\n")
end)

tap.case("a launch in a function that is given the array", function()
  local text = "void solve(const float *in, float *out, int n) {\n"
    .. "  cudaMemcpy(d, in, n, cudaMemcpyHostToDevice);\n  k<<<9, 64>>>(d, n);\n}\n"
    .. "int main() {\n  for (int i = 0; i < n; i++) {\n    x[i] = rand() %% 5;\n    y[i] = 3;\n"
    .. "  }\n"
    .. "  solve(%s, %s, n);\n}\n"
  tap.is(fill(text:format("x", "y")), "{ 0, 4 }", "is of what it is called with")
  tap.is(select(2, fill(text:format("x", "y"))), "line 7", "where that is written")
  tap.is(fill(text:format("y", "x")), nil, "and of nothing else")
  text = "void other(float *d) {\n  b[i] = rand() % 5;\n"
    .. "  cudaMemcpy(d, b, n, cudaMemcpyHostToDevice);\n}\n"
    .. "void go(float *d) {\n  k<<<9, 64>>>(d, n);\n}\nint main() { go(mine); other(its); }\n"
  tap.is(fill(text), nil, "nor of what another function does with one of that name")
end)

tap.done()
