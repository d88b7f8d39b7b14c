-- gilua.host.fixed: has an expression of a launch one value, whatever a program is called with?

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local fixed = require "gilua.host.fixed"
local hostcode = require "gilua.host.hostcode"
local tap = require "tap"

local KERNEL = "__global__ void k(float *y, int n);\n"

-- Is the grid of a text's launch of k?
local function is(want, text)
  local host = hostcode.read(KERNEL .. text, {}, {})
  local launch = host:every_launch("k")[1]
  tap.is(fixed.is(host, launch.said.grid, launch.body), want, text)
end

local function main(want, body) is(want, "int main(int argc, char **argv) { " .. body .. " }") end

tap.case("a value that the program may be given", function()
  local LAUNCH = " k<<<n / 64, 64>>>(y, n);"
  for _, body in ipairs {
    "int n = 1024; if (argc > 1) n = atoi(argv[1]);",
    "int n = argc > 1 ? atoi(argv[1]) : 1024;",
    "int n; if (argc > 1) n = atoi(argv[1]); else n = 1024;",
    "int n = 1024; parse(argc, argv, &n);",
    "int n = 1024; parse(argc, argv, n);",
    "int n = 1024; n += argc;",
    "int n = 0; scanf(\"%d\", &n);",
    "int n = 64; std::cin >> n;",
    "int n = a.size(0);",
    "int n = o.n; o.n = argc;",
    "int n = sizes[2];",
    "int n = 1024; while (n > 64) --n;",
    "int n = argc;",
    "int n = 1024; asm(\"\" : \"+r\"(n));",
    "int n = 1024; int &m = n; m = argc;",
    "int n = 1024; auto set = [&](int m) { n = m; }; set(argc);",
  } do
    main(false, body .. LAUNCH)
  end
  main(false, "for (int n = 1024; n < 9000; n += 1000) k<<<n / 64, 64>>>(y, n);")
  main(false, "const int n = 1000; dim3 g(4); if (argc > 1) g.x = n / 10; k<<<g, 4>>>(y, n);")
  main(false, "k<<<o.n / 64, 4>>>(y, n);")
end)

tap.case("a value that nothing changes", function()
  main(true, "k<<<16, 64>>>(y, 5);")
  main(true, "int n = 1000, t = 256; int b = (n + t - 1) / t; cudaMalloc(&y, n * 4); "
    .. "k<<<b, t>>>(y, n); printf(\"%d\", n);")
  main(true, "const int n = 1000; dim3 g; g.x = n / 10; g.y = 3; k<<<g, 4>>>(y, n);")
  main(true, "const int n(1000); dim3 g(n / 10, n); k<<<g, 4>>>(y, n);")
  is(true, "#define N 1024\nint main() { int m = 3; m += N; k<<<N / 64, 64>>>(y, N); }")
  is(true, "const int N = 1 << 20; int main() { k<<<dim3((N + 15) / 16, 4), 64>>>(y, N); }")
  is(true, "int up(int a, int b) { return (a + b - 1) / b; }\n"
    .. "int main() { int n = 1000; k<<<up(n, 64), 64>>>(y, n); }")
  is(true, "void fill(float *p, int n) { p[n - 1] = 1; }\n"
    .. "int main() { int n = 1024; fill(h, n); k<<<n / 64, 64>>>(y, n); }")
end)

tap.case("by what functions do", function()
  is(false, "void parse(int c, int &n) { n = c; }\n"
    .. "int main(int argc, char **argv) { int n = 1024; parse(argc, n); k<<<n, 64>>>(y, n); }")
  is(false, "int N = 1024; void set(int n) { N = n; }\nint main() { k<<<N / 64, 64>>>(y, N); }")
  is(false, "void solve(int n) { k<<<n, 64>>>(y, n); }\nint main() { int n = 1024; use(n); }")
  is(false, "void go(int n) { k<<<n, 64>>>(y, n); }\n"
    .. "int main() { go(100); int n = 64; std::cin >> n; go(n); }")
  is(true, "void go(int n) { k<<<n, 64>>>(y, n); }\nint main() { go(128); go(256); }")
  is(false, "void go(int n) { n = n / 2 * 2 + other(); k<<<n, 64>>>(y, n); }\n"
    .. "int main() { go(128); }")
end)

tap.done()
