-- Launches in a user's file, as transformations want them.
package.path = "tests/lua/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local launchedit = require "gilua.new.launchedit"
local tap = require "tap"

local function edited(text, launch, name)
  local new, done, left = launchedit.edited(text, name or "k", launch or "grid.x/4 block.x%32")
  return ("%s %d %d"):format(new, done, #left)
end

tap.case("grids in the usual forms", function()
  tap.is(edited "k<<<(n + 255) / 256, 256>>>(a);", "k<<<((n + 255) / 256 + 3) / 4, 256>>>(a); 1 0",
    "computed in place")
  tap.is(edited("k<<<128, 256, 0, s>>>(a);", "grid.x*32"), "k<<<128 * 32, 256, 0, s>>>(a); 1 0",
    "a number")
  tap.is(edited("int b = n / 2; k<<<b, 256>>>(a);", "grid.x*8"),
    "int b = n / 2; k<<<b * 8, 256>>>(a); 1 0", "a whole number")
  tap.is(edited("dim3 g(n / 16, m); k<T, 4><<<g, t>>>(a);", "grid.y/2"),
    "dim3 g(n / 16, m); k<T, 4><<<dim3(g.x, (g.y + 1) / 2), t>>>(a); 1 0", "a dim3")
  tap.is(edited("k<<<dim3(n / 16, f(m, 2)), t>>>(a);", "grid.x*2 grid.y<9"),
    "k<<<dim3((n / 16) * 2, (f(m, 2)) < 9 ? (f(m, 2)) : 9), t>>>(a); 1 0", "one made in place")
  tap.is(edited("k<<<n / 9, t>>>(a); other<<<n, t>>>(b); k<<<n / 2, t>>>(c);", "grid.x<264"),
    "k<<<(n / 9) < 264 ? (n / 9) : 264, t>>>(a); other<<<n, t>>>(b);"
    .. " k<<<(n / 2) < 264 ? (n / 2) : 264, t>>>(c); 2 0", "all of a kernel's, and no other's")
end)

tap.case("what a grid is declared with", function()
  for how, new in pairs {
    ["int g(n / 2);"] = "g * 2", ["const auto g{n / 2};"] = "g * 2", ["auto g = f(n);"] = "?",
    ["const dim3 &g = h; float *g;"] = "dim3(g.x * 2, g.y, g.z)", ["float g;"] = "?",
    ["auto g = dim3(n);"] = "dim3(g.x * 2, g.y, g.z)", ["dim3 g{n, m};"] = "dim3(g.x * 2, g.y)",
    ["int g(int n); unsigned long g = 3;"] = "g * 2" } do
    local text = how .. " k<<<%s, 9>>>(a);"
    local done = new == "?" and "dim3((dim3(g).x) * 2, dim3(g).y, dim3(g).z)" or new
    tap.is(edited(text:format "g", "grid.x*2"), text:format(done) .. " 1 0", how)
  end
end)

tap.case("a kernel's name in other words", function()
  for _, name in ipairs { "k<A<B>>", "ns::k", "::k", "ns::k<T, (N + 1)>" } do
    tap.is(edited(name .. "<<<n / 9, t>>>(a);", "grid.x*2"), name
      .. "<<<(n / 9) * 2, t>>>(a); 1 0", name)
  end
  tap.is(edited("void f() {\n#if A\n if (x)\n#endif\n k<<<n / 9, t>>>(a); }", "grid.x*2"),
    "void f() {\n#if A\n if (x)\n#endif\n k<<<(n / 9) * 2, t>>>(a); } 1 0", "between #if")
end)

tap.case("blocks", function()
  tap.is(edited("k<<<g, 4, 0, s>>>(a);", "block.x==4 block.x*8"), "k<<<g, 4 * 8, 0, s>>>(a); 1 0",
    "a number, and a grid that stays")
  tap.is(edited("#define B 128\nk<<<n, B>>>(a);", "block.x*2"),
    "#define B 128\nk<<<n, B * 2>>>(a); 1 0", "a macro that is a number")
  tap.is(edited("#define B f(2)\nk<<<n, B>>>(a);", "block.x*2"),
    "#define B f(2)\nk<<<n, B>>>(a); 0 1", "a macro that is none")
  tap.is(edited("dim3 g(n, 2), b(16, 4); k<<<g, b>>>(a);", "axes=yx"),
    "dim3 g(n, 2), b(16, 4); k<<<dim3(g.y, g.x), dim3(b.y, b.x)>>>(a); 1 0", "turned")
  tap.is(edited("k<<<dim3(n, m), dim3(8, 8)>>>(a);", "axes=yx"),
    "k<<<dim3(m, n), dim3(8, 8)>>>(a); 1 0", "a square that stays")
end)

tap.case("a block for so many of the launch's threads", function()
  local tile = "grid.x@128 grid.y@64 block.z==1 block.x=256 block.y=1"
  tap.is(edited("dim3 b(16, 8); k<<<dim3((n + 15) / 16, m), b>>>(a);", tile),
    "dim3 b(16, 8); k<<<dim3((((n + 15) / 16) * b.x + 127) / 128, (m * b.y + 63) / 64), "
    .. "dim3(256)>>>(a); 1 0", "of a dim3")
  tap.is(edited("int n; k<<<n, 64>>>(a);", "grid.x@128 block.x=256"),
    "int n; k<<<(n * 64 + 127) / 128, 256>>>(a); 1 0", "of numbers")
  tap.is(edited("k<<<n, f(n)>>>(a);", "grid.x@128"), "k<<<n, f(n)>>>(a); 0 1",
    "of a block that is not understood")
end)

tap.case("a grid that has to be what it is", function()
  local launch = "grid.x==1 block.x==1 block.x=32"
  tap.is(edited("k<<<1, 1>>>(a);", launch), "k<<<1, 32>>>(a); 1 0", "a number")
  tap.is(edited("k<<<n, 1>>>(a);", launch), "k<<<n, 1>>>(a); 0 1", "who knows what")
  tap.is(edited("k<<<2, 1>>>(a);", launch), "k<<<2, 1>>>(a); 0 1", "another number")
  local two = "grid.z==1 grid.z=2"
  tap.is(edited("k<<<n / 9, t>>>(a);", two), "k<<<dim3(n / 9, 1, 2), t>>>(a); 1 0", "a side more")
  tap.is(edited("dim3 t(8), g(n / 9, m); k<<<g, t>>>(a, g.x);", two),
    "dim3 t(8), g(n / 9, m); k<<<dim3(g.x, g.y, 2), t>>>(a, g.x); 1 0", "a dim3 without it")
  for what, text in pairs {
    ["a dim3 of three sides"] = "dim3 g(n, 1, m); k<<<g, t>>>(a);",
    ["one that is given a side"] = "dim3 g(n, m); g.z = 3; k<<<g, t>>>(a);",
    ["one that is given all"] = "dim3 g(n, m); g = f(n); k<<<g, t>>>(a);",
    ["one that is led to"] = "dim3 g(n, m); f(&g); k<<<g, t>>>(a);",
    ["one that a function is given"] = "dim3 g(n, m); f(g); k<<<g, t>>>(a);",
    ["two of that name"] = "dim3 g(n, m); { dim3 g(n, m, 2); k<<<g, t>>>(a); }",
    ["a parameter"] = "void f(dim3 g) { k<<<g, t>>>(a); }",
  } do
    tap.is(edited(text, two), text .. " 0 1", what)
  end
  tap.is(edited("k<<<1, 1>>>(a);", "grid.x%4"), "k<<<1, 1>>>(a); 0 1", "a multiple")
  local new, done = launchedit.edited("k<<<n, 1>>>(a);", "k", "grid.x%4 grid.x/4", true)
  tap.is(new .. done, "k<<<dim3((dim3(n).x + 3) / 4, dim3(n).y, dim3(n).z), 1>>>(a);1",
    "is written where the host's code was asked")
end)

tap.case("what may be a dim3 or a number", function()
  local sides = "k<<<dim3((dim3(%s).x + 3) / 4, dim3(%s).y, dim3(%s).z), t>>>(a); 1 0"
  for name, before in pairs {
    ["p.grid"] = "", ["c->grid.y"] = "", g = "int g = 3; { dim3 g(3); } ", f = "auto f = h(n); ",
  } do
    local is_number = name == "c->grid.y" or name == "g"
    local want = is_number and ("k<<<(%s + 3) / 4, t>>>(a); 1 0"):format(name)
      or sides:gsub("%%s", name) .. ""
    tap.is(edited(("%sk<<<%s, t>>>(a);"):format(before, name)), before .. want, name)
  end
  local QUARTER = { whole = "k<<<(%s + 3) / 4, t>>>(a);", twice = "k<<<%s, t>>>(a);",
    dim3 = "k<<<dim3((%s.x + 3) / 4, %s.y, %s.z), t>>>(a);",
    either = "k<<<dim3((dim3(%s).x + 3) / 4, dim3(%s).y, dim3(%s).z), t>>>(a);" }
  for _, row in ipairs {
    { "void o() { dim3 g(3); } void f(int g) { ", "g", "whole" },
    { "void o() { int g(3); } void f(dim3 g) { ", "g", "dim3" },
    { "dim3 g; void f(int n) { for (int g = 1; g < n; g *= 2) ", "g", "whole" },
    { "int g(int n); void f(dim3 g) { ", "g", "dim3" },
    { "struct S { int g; }; void f(dim3 g) { ", "g", "dim3" },
    { "static inline int f(int n) { return n; } void o() { ", "f(n)", "whole" },
    { "template <class T> int f(T n); void o() { ", "f(n)", "whole" },
    { "int *f(int n) { return 0; } void o() { ", "f(n)", "twice" },
    { "auto f(int n) -> dim3 { return n; } void o() { ", "f(n)", "twice" },
    { "#define F(n) ((n) + 1)\nvoid o() { ", "F(n)", "whole" },
    { "#define F (n + h(1))\nvoid o() { ", "F", "twice" },
    { "void o(unsigned long long g) { ", "g", "whole" },
    { "void o(const dim3 &g) { ", "g", "dim3" },
    { "void o(int *g) { ", "g", "either" },
    { "void o() { auto g = dim3(n, 2); ", "g", "dim3" },
    { "void o() { auto g = n / 2; ", "g", "whole" },
    { "void o() { ", "static_cast<int>(n)", "whole" },
    { "void o() { ", "(int)n", "whole" },
    { "void o() { ", "(n)", "either" },
    { "void o() { ", "next(n)", "twice" },
    { "void o() { ", "p->next().x", "twice" },
  } do
    local text = row[1] .. QUARTER.twice:format(row[2]) .. " }"
    local want = row[1] .. QUARTER[row[3]]:gsub("%%s", (row[2]:gsub("%%", "%%%%"))) .. " }"
    tap.is(edited(text), want .. (row[3] == "twice" and " 0 1" or " 1 0"), text)
  end
  tap.is(edited "dim3 f(int n); k<<<f(n), t>>>(a);", "dim3 f(int n); k<<<f(n), t>>>(a); 0 1",
    "not twice what a function gives")
  tap.is(edited "int f(int n); k<<<f(n), t>>>(a);",
    "int f(int n); k<<<(f(n) + 3) / 4, t>>>(a); 1 0", "but once")
end)

tap.case("shared memory", function()
  tap.is(edited("k<<<n / 9, 4, 64>>>(a);", "grid.x/2 shared*2"),
    "k<<<(n / 9 + 1) / 2, 4, 64 * 2>>>(a); 1 0", "more of it")
  tap.is(edited("k<<<n / 9, 4>>>(a);", "grid.x/2 shared*2"), "k<<<n / 9, 4>>>(a); 0 1", "of none")
end)

tap.case("launches by calls", function()
  local call = "void *args[] = { &a, &n }; cudaLaunchKernel((void *)k<int>, %s, b, args, 0, s);"
  tap.is(edited(call:format "n / 9"), call:format "(n / 9 + 3) / 4" .. " 1 0", "cudaLaunchKernel")
  local ex = "cudaLaunchConfig_t c = {}; c.gridDim = dim3(%s); c.blockDim = 64; "
    .. "cudaLaunchKernelEx(&c, k, a, n);"
  tap.is(edited(ex:format "n / 9"), ex:format "(n / 9 + 3) / 4" .. " 1 0", "cudaLaunchKernelEx")
  ex = ex .. " cudaLaunchKernelEx(&c, other, a, n);"
  tap.is(edited(ex:format "n / 9"), ex:format "n / 9" .. " 0 1", "a configuration of another, too")
  ex = "cudaLaunchConfig_t c = { %s, 64, 0, s }; cudaLaunchKernelEx(&c, k, a);"
  tap.is(edited(ex:format "n / 9"), ex:format "(n / 9 + 3) / 4" .. " 1 0", "given at once")
  local macro = "#define LAUNCH(g) k<<<%s, 64>>>(a)\nLAUNCH(7);"
  tap.is(edited(macro:format "(g) * 2"), macro:format "((g) * 2 + 3) / 4" .. " 1 0", "in a macro")
end)

tap.case("functions and macros of other files", function()
  local function is(text, beside, want)
    local new, done = launchedit.edited(text, "k", "grid.x*2", false, beside)
    tap.is(("%s %d"):format(new, done), want, table.concat(beside, " | "))
  end
  is("k<<<f(n), 9>>>(a);", {}, "k<<<f(n), 9>>>(a); 0")
  is("k<<<f(n), 9>>>(a);", { "int z;", "int f(int n) { return n / 2; }" },
    "k<<<(f(n)) * 2, 9>>>(a); 1")
  is("k<<<f(n), 9>>>(a);", { "size_t f(int n);" }, "k<<<(f(n)) * 2, 9>>>(a); 1")
  is("k<<<f(n), 9>>>(a);", { "dim3 f(int n);" }, "k<<<f(n), 9>>>(a); 0")
  is("k<<<f(n), 9>>>(a);", { "int f(int n);", "dim3 f(dim3 n);" }, "k<<<f(n), 9>>>(a); 0")
  is("k<<<f(n), 9>>>(a);", { "#define f(n) (n) / 9" }, "k<<<(f(n)) * 2, 9>>>(a); 1")
  is("k<<<B, 9>>>(a);", { "#define B 7", "#define B 8" }, "k<<<B * 2, 9>>>(a); 1")
  is("k<<<B, 9>>>(a);", { "#define B g(8)", "#define B 8" }, "k<<<B, 9>>>(a); 0")
end)

tap.case("launches by a pointer", function()
  local function is(text, done, why)
    tap.is(edited("void f(int n) { " .. text .. " s<<<n, 64>>>(a); }", "grid.x*2"),
      ("void f(int n) { %s s<<<%s, 64>>>(a); } %d 0"):format(text, done and "n * 2" or "n",
        done and 1 or 0), why)
  end
  is("auto s = k;", true, "that is declared with the kernel")
  is("void (*s)(float *) = &k<float>;", true, "or with its address")
  is("auto s = k; if (n > 3) s = other;", false, "it gets another")
  is("auto s = n > 3 ? k : other;", false, "one of two")
  is("auto s = k; go(&s);", false, "somebody may give it another")
  is("static auto s = k;", false, "it outlives the call")
end)

tap.case("launches by a parameter", function()
  local function is(head, rest, done, why)
    local text = head .. " { s<<<n, 64>>>(a); } " .. rest
    tap.is(edited(text, "grid.x*2"), (done and text:gsub("<<<n", "<<<n * 2") or text)
      .. (done and " 1 0" or " 0 0"), why)
  end
  local HEAD, CALL = "static void f(P s, int n)", "void g() { f(k, 3); }"
  is(HEAD, CALL, true, "of a static function with one call")
  is(HEAD, "void g() { f(&k<float>, 3); }", true, "which gives its address")
  is(HEAD, CALL .. " void h() { f(other, 3); }", false, "another call gives another kernel")
  is(HEAD, CALL .. " auto later = f;", false, "somebody may call it later")
  is("void f(P s, int n)", CALL .. " static int later;", false, "another file may call it")
  is("static void f(P s, P *t, int n)", "void g() { f(other, k, 3); }", false, "another parameter")
  is(HEAD .. " { go(&s); }\nstatic void h(P s, int n)", CALL, false, "of another function")
end)

tap.case("what is left to a person", function()
  local far = "void f() { void *l[] = { &x }; } void g() { cudaLaunchKernel(k, n, b, l, 0, 0); }"
  tap.is(edited(far, "grid.x*2"), far .. " 0 1", "arguments of another function's list")
  for _, text in ipairs { "k<<<g, new T>>>(a);", "k<T<2>><<<g, throw 3>>>(a);", "f(k<<<g>>>);" } do
    tap.is(edited(text, "grid.x*2"), text .. " 0 1", "one that is not understood: " .. text)
  end
  for what, text in pairs {
    ["a call"] = "k<<<blocks(n), t>>>(a);",
    ["no block"] = "k<<<3>>>(a);",
  } do
    tap.is(edited(text), text .. " 0 1", what)
  end
  tap.is(edited("k<<<3, threads(n)>>>(a);", "block.x=64"), "k<<<3, threads(n)>>>(a); 0 1",
    "another block in the place of a call")
  tap.is(edited("k<<<n / 9, 4>>>(a);", "grid.x%2 grid.x/2"), "k<<<n / 9, 4>>>(a); 0 1",
    "whole groups of blocks")
  tap.is(edited "k(a); k<<<", "k(a); k<<< 0 1", "the end of the file")
end)

tap.done()
