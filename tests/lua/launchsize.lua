-- gilua.new.launchsize: the launches of a kernel with blocks of another size, in the user's file.
package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local hostcode = require "gilua.host.hostcode"
local launchsize = require "gilua.new.launchsize"
local tap = require "tap"

local FUNCTION = "void f(float *x, int n, int w, int h) { %s }"
local TILE = { block_size_x = 16, block_size_y = 16 }
local WIDE = { block_size_x = 32, block_size_y = 8 }

-- What becomes of a text whose kernel k had blocks of 256, or is that of a table, and is to have
-- what `set` says; the launches written, and those left.
local function edited(text, set, fields)
  local t, parameters = { block_size_x = 256 }, {}
  for key, value in pairs(fields or {}) do t[key] = value end
  for _, side in ipairs { "x", "y", "z" } do
    local name = "block_size_" .. side
    parameters[#parameters + 1] = t[name] and { name = name, default = t[name] }
  end
  local want = launchsize.wanted(t, parameters, set or { block_size_x = 512 })
  if not want then return text .. " as it is" end
  local new, done, left = launchsize.edited { files = { { old = text, text = text } },
    kernel = "k", want = want, read = function(texts) return (hostcode.read(texts[1])) end }
  return ("%s %d %d"):format(new[1], done, #left)
end

-- A body of a function, what is before it, and what both become.
local function is(body, want, set, fields, before)
  before = before or { "", "" }
  tap.is(edited(before[1] .. FUNCTION:format(body), set, fields),
    ("%s%s 1 0"):format(before[2], FUNCTION:format(want)), body)
end

tap.case("numbers in a launch", function()
  is("k<<<(n + 255) / 256, 256>>>(x, n);", "k<<<(n + 511) / 512, 512>>>(x, n);")
  is("k<<<n / 256 + 1, 256>>>(x, n);", "k<<<n / 512 + 1, 512>>>(x, n);")
  is("k<<<16, 256>>>(x, n);", "k<<<8, 512>>>(x, n);")
  is("k<<<1, 256>>>(x, n);", "k<<<1, 512>>>(x, n);")
  is("k<<<1, 256>>>(x, n);", "k<<<4, 64>>>(x, n);", { block_size_x = 64 })
  is("k<<<ceil(n / 256.0), 256>>>(x, n);", "k<<<ceil(n / 512.0), 512>>>(x, n);")
  is("k<<<dim3((n + 255) / 256), dim3(256)>>>(x, n);",
    "k<<<dim3((n + 511) / 512), dim3(512)>>>(x, n);")
  is("for (int i = 0; i < 9; i++) k<<<(n + 255) / 256, 256>>>(x, i);",
    "for (int i = 0; i < 9; i++) k<<<(n + 511) / 512, 512>>>(x, i);")
  is("dim3 block(16, 16); k<<<dim3((w + 13) / 16, (h + 13) / 16, n), block>>>(x);",
    "dim3 block(32, 8); k<<<dim3(((w + 13) / 16 + 1) / 2, ((h + 13) / 16) * 2, n), block>>>(x);",
    WIDE, TILE)
end)

tap.case("a grid of unknown purpose keeps its number of threads", function()
  is("k<<<n / 256, 256>>>(x, n);", "k<<<(n / 256 + 1) / 2, 512>>>(x, n);")
  is("k<<<n / 256, 256>>>(x, n);", "k<<<(n / 256) * 4, 64>>>(x, n);", { block_size_x = 64 })
  is("k<<<(n + 100) / 256, 256>>>(x, n);", "k<<<(((n + 100) / 256) * 4 + 2) / 3, 192>>>(x, n);",
    { block_size_x = 192 })
  is("k<<<ceil(n / 200.0), 256>>>(x, n);", "k<<<((int)(ceil(n / 200.0)) + 1) / 2, 512>>>(x, n);")
  is("k<<<n / 256.0, 256>>>(x, n);", "k<<<((int)(n / 256.0) + 1) / 2, 512>>>(x, n);")
  is("int b = n / 256; if (n % 256) b++; k<<<b, 256>>>(x, n);",
    "int b = n / 256; if (n % 256) b++; k<<<(b + 1) / 2, 512>>>(x, n);")
end)

tap.case("definitions that the launches alone see", function()
  local grid = "int g = (n + T - 1) / T; k<<<g, T>>>(x, n);"
  for _, before in ipairs { "const int T = %d;\n", "constexpr int T = %d;\n", "#define T %d\n",
    "enum { T = %d };\n", "static const unsigned T = %du;\n" } do
    is(grid, grid, nil, nil, { before:format(256), before:format(512) })
  end
  is("const int T = 256; " .. grid, "const int T = 512; " .. grid)
  is("int T = 256, g = (n + T - 1) / T; k<<<g, T>>>(x, n);",
    "int T = 512, g = (n + T - 1) / T; k<<<g, T>>>(x, n);")
  is("dim3 b(16, 16), g((w + b.x - 1) / b.x, (h + b.y - 1) / b.y); k<<<g, b>>>(x);",
    "dim3 b(32, 8), g((w + b.x - 1) / b.x, (h + b.y - 1) / b.y); k<<<g, b>>>(x);", WIDE, TILE)
  is("dim3 b; b.x = 16; b.y = 16; dim3 g; g.x = w / b.x; g.y = h / 16; k<<<g, b>>>(x);",
    "dim3 b; b.x = 16; b.y = 16; dim3 g; g.x = w / b.x; g.y = h / 16; "
    .. "k<<<dim3((g.x + 1) / 2, g.y * 2, g.z), dim3(32, 8)>>>(x);",
    WIDE, TILE)
  is("int t = 8192, r = t / 128; k<<<dim3(w / 16, r / 16), dim3(16, 16)>>>(x);",
    "int t = 8192, r = t / 128; k<<<dim3((w / 16 + 1) / 2, (r / 16) * 2), dim3(32, 8)>>>(x);",
    WIDE, TILE)
  local two = "auto g = (n + %d) / %d; k<<<g, %d>>>(x); k<<<g, %d>>>(x + n);"
  tap.is(edited(FUNCTION:format(two:format(255, 256, 256, 256))),
    FUNCTION:format(two:format(511, 512, 512, 512)) .. " 2 0", "which two launches share")
end)

tap.case("declarations in other words", function()
  for _, before in ipairs { "const int T(%d);\n", "constexpr auto T{%d};\n",
    "enum { A, T = %d };\n",
    "namespace n { [[maybe_unused]] static const unsigned T = {%d}; }\n" } do
    local body = "k<<<(n + T - 1) / T, T>>>(x, n);"
    is(body, body, nil, nil, { before:format(256), before:format(512) })
  end
  is("int T(256); k<<<9, T>>>(x, n); }\nvoid g(int m) { long T{m}; use(T);",
    "int T(512); k<<<5, T>>>(x, n); }\nvoid g(int m) { long T{m}; use(T);")
  is("int t = 256; dim3 b(t); k<<<(n + 255) / 256, b>>>(x, n); }\nvoid g() { float b = 3; use(b);",
    "int t = 512; dim3 b(t); k<<<(n + 511) / 512, b>>>(x, n); }\nvoid g() { float b = 3; use(b);")
  is("int m = 256, &T = m; k<<<8, T>>>(x, n);", "int m = 256, &T = m; k<<<4, 512>>>(x, n);")
end)

tap.case("a definition that another launch of the kernel divides by otherwise", function()
  local text = FUNCTION:format "const int T = 256; k<<<%s>>>(x, n); k<<<%s>>>(x, h);"
  tap.is(edited(text:format("(n + T - 1) / T, T", "h / T, T")),
    text:format("(n + 512 - 1) / 512, 512", "(h / T + 1) / 2, 512") .. " 2 0", "stays")
end)

tap.case("what anything else sees stays as it is", function()
  local before = { "#define T 256\n", "#define T 256\n" }
  local other = " j<<<(n + T - 1) / T, T>>>(x);"
  is("k<<<(n + T - 1) / T, T>>>(x, n);" .. other,
    "k<<<(n + 512 - 1) / 512, 512>>>(x, n);" .. other, nil, nil, before)
  is("int g = (n + T - 1) / T; k<<<g, T>>>(x, n); j<<<g, T>>>(x);",
    "int g = (n + T - 1) / T; k<<<(g + 1) / 2, 512>>>(x, n); j<<<g, T>>>(x);", nil, nil, before)
  is("cudaMalloc(&y, n / T); k<<<(n + T - 1) / T, T>>>(x, n);",
    "cudaMalloc(&y, n / T); k<<<(n + 512 - 1) / 512, 512>>>(x, n);", nil, nil, before)
  is("k<<<(n + T - 1) / T, T>>>(x, T);", "k<<<(n + 512 - 1) / 512, 512>>>(x, T);", nil, nil, before)
  is("dim3 g(w / 16, h / 16), b(16, 16); k<<<g, b>>>(x); j<<<g, b>>>(x);",
    "dim3 g(w / 16, h / 16), b(16, 16); k<<<dim3((g.x + 1) / 2, g.y * 2), dim3(32, 8)>>>(x); "
    .. "j<<<g, b>>>(x);", WIDE, TILE)
  is("dim3 b(T, T), g((w + T - 1) / T, (h + T - 1) / T); k<<<g, b>>>(x);",
    "dim3 b(T, T), g((w + T - 1) / T, (h + T - 1) / T); "
    .. "k<<<dim3((g.x + 1) / 2, g.y * 2), dim3(32, 8)>>>(x);", WIDE, TILE,
    { "#define T 16\n", "#define T 16\n" })
  is("dim3 b(256); if (n > 9) b.x = 256; k<<<n / b.x, b>>>(x);",
    "dim3 b(256); if (n > 9) b.x = 256; k<<<(n / b.x + 1) / 2, 512>>>(x);")
end)

tap.case("blocks that a run says", function()
  local run = "void run(int T, int n) { k<<<%s, %s>>>(x, n); }\nint main() { run(256, n); }"
  tap.is(edited(run:format("(n + T - 1) / T", "T")),
    run:format("(n + 512 - 1) / 512", "512") .. " 1 0", "by a function's parameter")
  tap.is(edited(run:format("n / T + n % 7", "T")),
    run:format("((n / T + n % 7) * T + 511) / 512", "512") .. " 1 0", "the grid is made of it")
  is("int t = n < 1000 ? 128 : 256; k<<<(n + t - 1) / t, t>>>(x, n);",
    "int t = n < 1000 ? 128 : 256; k<<<(n + 512 - 1) / 512, 512>>>(x, n);")
  is("k<<<p.grid, p.threads>>>(x);", "k<<<(p.grid + 1) / 2, 512>>>(x);", nil, nil,
    { "struct P { int grid, threads; };\nP p = { 40, 256 };\n",
      "struct P { int grid, threads; };\nP p = { 40, 256 };\n" })
end)

tap.case("branches that are not compiled", function()
  local text = "#if 0\nvoid f(int n) { k<<<%s>>>(x, n); }\n#endif\n"
  tap.is(edited(text:format "(n + 255) / 256, 256"), text:format "(n + 511) / 512, 512" .. " 1 0",
    "numbers")
  tap.is(edited(text:format "n / T, T"), text:format "n / T, T" .. " 0 1", "names")
end)

tap.case("functions and macros", function()
  local up = "int up(int a, int b) { return (a + b - 1) / b; }\n"
  is("k<<<up(n, 256), 256>>>(x, n);", "k<<<up(n, 512), 512>>>(x, n);", nil, nil, { up, up })
  local macro = "#define UP(a, b) (((a) + (b) - 1) / (b))\n"
  is("k<<<UP(n, 256), 256>>>(x, n);", "k<<<UP(n, 512), 512>>>(x, n);", nil, nil, { macro, macro })
  is("LAUNCH(n);", "LAUNCH(n);", nil, nil, { "#define LAUNCH(n) k<<<((n) + 255) / 256, 256>>>(x)\n",
    "#define LAUNCH(n) k<<<((n) + 511) / 512, 512>>>(x)\n" })
  tap.is(edited "template <class T> void f(T *x, int n) { k<T><<<(n + 255) / 256, 256>>>(x); }",
    "template <class T> void f(T *x, int n) { k<T><<<(n + 511) / 512, 512>>>(x); } 1 0",
    "a template")
  is("void *a[] = { &x, &n }; cudaLaunchKernel((void *)k, dim3((n + 255) / 256), 256, a, 0, 0);",
    "void *a[] = { &x, &n }; cudaLaunchKernel((void *)k, dim3((n + 511) / 512), 512, a, 0, 0);")
end)

tap.case("grids that another block leaves", function()
  is("k<<<n, 256>>>(x, n);", "k<<<n, 512>>>(x, n);", nil, { grid_div_x = { 1 } })
  is("k<<<120, 256>>>(x, n);", "k<<<120, 512>>>(x, n);", nil, { grid = { 120 } })
  is("k<<<(n + 1023) / 1024, 256>>>(x, n);", "k<<<(n + 2047) / 2048, 512>>>(x, n);", nil,
    { grid_div_x = { "block_size_x", 4 } })
end)

tap.case("shared memory", function()
  local t = { shared = "block_size_x * 4" }
  is("k<<<n, 256, 256 * sizeof(float)>>>(x);", "k<<<(n + 1) / 2, 512, 512 * sizeof(float)>>>(x);",
    nil, t)
  is("k<<<n, 256, 1024>>>(x);", "k<<<(n + 1) / 2, 512, 2048>>>(x);", nil, t)
  is("const int T = 256; k<<<n, T, T * 4>>>(x);",
    "const int T = 512; k<<<(n + 1) / 2, T, T * 4>>>(x);", nil, t)
  tap.is(edited("k<<<n, 256>>>(x);", nil, t), "k<<<n, 256>>>(x); 0 1", "of a launch without")
  tap.is(edited("k<<<n, 256, 99>>>(x);", nil, t), "k<<<n, 256, 99>>>(x); 0 1", "of another size")
end)

tap.case("what is left to a person", function()
  for what, text in pairs {
    ["a block that a function makes"] = "k<<<n / 256, threads(n)>>>(x);",
    ["a grid that one makes"] = "k<<<blocks(n), 256>>>(x);",
    ["a macro's block"] = "#define L(g, b) k<<<g, b>>>(x)\nL(n, 256);",
    ["no block"] = "k<<<n>>>(x);",
  } do
    tap.is(edited(text), text .. " 0 1", what)
  end
  tap.is(edited("j<<<n, 256>>>(x);"), "j<<<n, 256>>>(x); 0 0", "another kernel")
  tap.is(edited("k<<<n, 256>>>(x);", { block_size_x = 256 }), "k<<<n, 256>>>(x); as it is",
    "nothing where the block stays")
end)

tap.done()
