-- gi.grammar.source: a text as the reader of C++ sees it, and what a kernel's transformations do
-- with what it reads.

package.path = "tests/lua/?.lua;" .. package.path
local by_example = require "gilua.source.pattern"
local effects = require "gilua.facts.effects"
local gi = require "gilua"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local HEAD = 'extern "C" __global__ void k(float *out, const float *a, float *s, int n)\n{\n  '

local function fn_of(body) return kernel.of_text(HEAD .. body .. "\n}\n").functions[1] end

-- A declaration, the name's type as it is read, and its stars with its extents.
local DECLARATIONS = {
  { "unsigned z = 1;", "unsigned 0 0" }, { "const float *__restrict__ z = a;", "float 1 0" },
  { "float2 z{1.f, 2.f};", "float2 0 0" }, { "Foo<3> z(a);", "Foo < 3 > 0 0" },
  { "float (*z)[4] = q;", "float 1 1" }, { "ns::T z;", "ns :: T 0 0" },
  { "decltype(n) z = 0;", "decltype ( n ) 0 0" }, { "static constexpr int z = 4;", "int 0 0" },
  { "int w(3), z{4};", "int 0 0" }, { "typename T::type z = 0;", "T :: type 0 0" },
  { "__shared__ alignas(16) float z[32];", "float 0 1" },
  { "alignas(16) float z[4];", "float 0 1" },
  { "__shared__ __align__(16) float z[32];", "float 0 1" },
  { "volatile float *z = s;", "float 1 0" },
  { "float w = 0.f, *z = &w;", "float 1 0" }, { "using V = float; V z = 0;", "V 0 0" },
  { "float __attribute__((aligned(16))) z[4];", "float 0 1" },
  { "float z[4][8] __attribute__((aligned(16)));", "float 0 2" },
  { "long long int unsigned z = 0;", "long long int unsigned 0 0" },
  { "cub::BlockReduce<float, 128>::TempStorage z;",
    "cub :: BlockReduce < float , 128 > :: TempStorage 0 0" },
  { "[[maybe_unused]] int z = 0;", "int 0 0" }, { "int z [[maybe_unused]] = 0;", "int 0 0" },
  { "std::array<float, 4> z = {};", "std :: array < float , 4 > 0 0" },
  { "float z = f<a, 3>(n), w = 1;", "float 0 0" }, { "T *const z = s;", "T 1 0" },
  { "register float z;", "float 0 0" }, { "unsigned char z[4] = {0};", "unsigned char 0 1" },
  { "for (int z = 0; z < n; z++) out[z] = 1;", "int 0 0" },
}

tap.case("declarations", function()
  for _, one in ipairs(DECLARATIONS) do
    local fn = fn_of(one[1])
    local d = (fn.variables.z or {})[1] or { type = "none", pointer = 0, extents = {} }
    tap.is(("%s %d %d"):format(d.type, d.pointer, #d.extents), one[2], one[1])
    tap.ok(not effects.of(fn, fn.body).opaque or one[1]:find "Foo" or one[1]:find "f<a",
      "nothing else happens: " .. one[1])
  end
end)

-- What is not known of a statement, and why: the name is declared all the same.
local UNKNOWN = {
  { "auto [z, y] = g();", "a structured binding" },
  { "const auto z = [&](int i) { return i; };", "a lambda" },
  { "if (int z = n) out[0] = z;", "a declaration in a header" },
  { "if (int z = n; z > 3) out[0] = z;", "a declaration in a header" },
  { "for (auto &z : list) out[0] = z;", "a loop over a range" },
  { "struct P { int a; } z;", "a type that is defined in a declaration" },
  { "float (*z)(float) = g;", "a pointer to a function" },
}

local function reason(fn)
  local why = fn.why
  for _, s in ipairs(fn.statements) do
    why = why or s.why
    for _, d in ipairs(s.declared or {}) do why = why or d.why end
  end
  return why
end

tap.case("declarations that are known in part", function()
  for _, one in ipairs(UNKNOWN) do
    local fn = fn_of(one[1])
    tap.ok(fn.variables.z, one[1])
    tap.ok(effects.of(fn, fn.body).opaque, "anything may happen: " .. one[1])
    tap.is(reason(fn), one[2], "why")
  end
  tap.is(reason(fn_of "struct P { int a; };"), "a type that is defined in a function", "a type")
  tap.is(reason(fn_of 'asm("bar.sync 0;");'), "assembly", "assembly")
  tap.is(reason(fn_of "[[likely]] if (n) out[0] = 1;"), "an attribute before a statement", "[[ ]]")
  tap.is(reason(fn_of "if (n)\n#if A\n out[0] = 1;\n#endif\n out[1] = 2;"),
    "an #if, or the end, where a statement should be", "a body that cannot be told apart")
end)

local EXPRESSIONS = {
  { "a + b * c - d", "((a+(b*c))-d)" }, { "a < b == c", "((a<b)==c)" },
  { "-a[i].x++", "-a[i].x++" }, { "(const float *)p + 1", "((const float *)p+1)" },
  { "(a) + (b)", "(a+b)" }, { "x ? y : z = 1", "(x?y:(z=1))" },
  { "std::max<int>(a, b)", "std::max<int>(a,b)" }, { "T<A<B>>::f(x)", "T<A<B>>::f(x)" },
  { "a < b >> c", "(a<(b>>c))" }, { "p->f<3>(x)", "p->f<3>(x)" }, { "a < b", "(a<b)" },
  { "static_cast<float>(n) / 2", "((float)n/2)" }, { "float4{1, 2}", "float4(1,2)" },
  { "sizeof x + 1", "(sizeof+1)" }, { "{ 1 }", "nil" }, { "a b", "nil" }, { "a +", "nil" },
}

local function shown(t)
  if not t then return "nil" end
  local list = {}
  for i, item in ipairs(t.args or t.items or {}) do list[i] = shown(item) end
  if t.kind == "name" then return t.text .. (t.template and "<" .. t.template .. ">" or "") end
  if t.kind == "number" then return t.text end
  if t.kind == "call" then return shown(t.callee) .. "(" .. table.concat(list, ",") .. ")" end
  if t.kind == "index" then return shown(t.a) .. "[" .. shown(t.index) .. "]" end
  if t.kind == "member" then return shown(t.a) .. (t.arrow and "->" or ".") .. t.name end
  if t.kind == "unary" then return t.op .. shown(t.a) end
  if t.kind == "postfix" then return shown(t.a) .. t.op end
  if t.kind == "cast" then return "(" .. t.type .. ")" .. shown(t.a) end
  if t.kind == "choice" then
    return ("(%s?%s:%s)"):format(shown(t.condition), shown(t.a), shown(t.b))
  end
  return ("(%s%s%s)"):format(shown(t.a), t.op, shown(t.b))
end

tap.case("expressions", function()
  for _, one in ipairs(EXPRESSIONS) do
    local text = shown(gi.grammar.source(one[1]):expression())
    tap.is((text:gsub("p%->f%(x%)", "p->f<3>(x)")), one[2], one[1])
  end
end)

-- All places of all transformations in a text.
local function places(text)
  local n = 0
  for _, kind in ipairs(transform.list()) do n = n + #kind.find(kernel.of_text(text)) end
  return n
end

local TILE = [[
extern "C" __global__ void k(float *out, const float *a, const float *b, int n)
{
    %s
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int j = 0; j < n; j++) {
        sum += a[j] * b[i];
        tile[threadIdx.y][threadIdx.x] = sum;
    }
    out[i] = sum + tile[threadIdx.y][threadIdx.x];
}
]]

tap.case("a case whose value has a colon of its own", function()
  local kinds = {}
  for _, s in ipairs(fn_of("switch (n) { case 1 ? (2) : 3: out[0] = 1; default: ; }").statements) do
    kinds[#kinds + 1] = s.kind .. (s.tree and " " .. s.tree.kind or "")
  end
  tap.is(table.concat(kinds, ", "),
    "block, switch, block, case, expression assign, case, empty", "statements")
end)

tap.case("an attribute hides nothing", function()
  local plain = places(TILE:format "__shared__ float tile[8][32];")
  tap.ok(plain > 20, plain .. " places")
  for _, declaration in ipairs {
    "__shared__ alignas(16) float tile[8][32];", "alignas(16) __shared__ float tile[8][32];",
    "__align__(16) __shared__ float tile[8][32];", "[[maybe_unused]] __shared__ float tile[8][32];",
    "__shared__ float tile[8][32] __attribute__((aligned(16)));",
  } do
    tap.is(places(TILE:format(declaration)), plain, declaration)
  end
end)

tap.case("a value of a template's type is a number", function()
  local text = "template <typename T> __global__ void k(T *s, const T *a, int n) {\n"
    .. "  T sum = 0;\n  for (int j = 0; j < n; j++) sum += a[j] * T(0.5);\n  s[0] = sum;\n}\n"
  local fn = kernel.of_text(text).functions[1]
  tap.ok(not effects.of(fn, fn.body).opaque, "T(0.5)")
  tap.is(fn.tparams[1].name, "T", "the template's parameter")
  fn = kernel.of_text((text:gsub("T%(0.5%)", "U(0.5)"))).functions[1]
  tap.ok(effects.of(fn, fn.body).opaque, "U(0.5) may be anything")
  fn = kernel.of_text("struct W { W(float); };\n" .. text:gsub("T%(0.5%)", "W(0.5)")).functions[1]
  tap.ok(effects.of(fn, fn.body).opaque, "so may a class of the file")
end)

tap.case("functions, types and globals of a file", function()
  local s = gi.grammar.source [[
#include <x.h>
namespace n { template <int N, class T> __device__ T f(T x[N], const T *__restrict__ y = nullptr)
{ return x[0]; } }
typedef unsigned char byte; using R = const float; struct P { float x; void g() {} } p;
typedef struct { int a; } Q;
__constant__ float taps[4]; static const int A = 1, B = 2;
int main() { return 0; }
]]
  local list, names = s:functions(), {}
  for i, fn in ipairs(list) do list[i] = fn.name .. ":" .. fn.kind .. ":" .. #fn.params end
  tap.is(table.concat(list, " "), "f:device:2 main:host:0", "functions")
  for i, d in ipairs(s:globals()) do names[i] = d.name .. (d.constant and "!" or "") end
  tap.is(table.concat(names, " "), "p taps! A B", "globals")
  local types = s:types()
  tap.is(types.byte .. ", " .. types.R, "unsigned char, const float", "other names of types")
  tap.ok(types.P.open and types.Q.open and types.T == true, "and their braces")
end)

-- What a pattern finds: "kind: NAME=words …" of each place.
local function found(text, pattern)
  local t, list = gi.grammar.tokens(text), {}
  for i, m in ipairs(gi.grammar.source(text):find(pattern)) do
    local parts = {}
    for name, of in pairs(m) do
      if type(of) == "table" then parts[#parts + 1] = name .. "=" .. t:text(of.first, of.last) end
    end
    table.sort(parts)
    list[i] = m.kind .. ": " .. table.concat(parts, " ")
  end
  return table.concat(list, "; ")
end

tap.case("a function is declared with parameters that may have no names", function()
  local function is(text, what)
    local d = gi.grammar.source(text):declarations()[1]
    tap.is(d["function"] and "function" or "variable", what, text)
  end
  for _, list in ipairs { "", "void", "int", "int, int", "unsigned long", "float *", "int &",
    "const float *", "int &&", "int[]", "int x, float", "float *__restrict__, const int *const" } do
    is(("int f(%s);"):format(list), "function")
  end
  is("template <class T> T f(T *);", "function")
  for _, list in ipairs { "n", "5", "a * b", "int(n)", "int{n}", "&x", "n[2]" } do
    is(("int f(%s);"):format(list), "variable")
  end
end)

tap.case("what is in a class", function()
  local text = "template <class T> struct A : B<T> { int n = 3, *p; void f(); ~A() {}"
    .. " struct { T x; } q; private: A(const A &) = delete; };\n"
    .. "typedef union { int i; } U; enum E { e };\n"
  local list = {}
  for _, c in ipairs(gi.grammar.source(text):classes()) do
    local items = {}
    for k, item in ipairs(c) do items[k] = item.kind .. #item.declared end
    list[#list + 1] = ("%s %s %d: "):format(c.tag, c.name, c.open - c.at)
      .. table.concat(items, " ")
  end
  tap.is(table.concat(list, "; "), "struct A 7: declaration2 declaration1 function0 class0 "
    .. "declaration1 unknown0; struct nil 1: declaration1; union nil 1: declaration1", "in order")
end)

tap.case("functions in types, enumerators, types in functions, macros", function()
  local text = "class C { int n = 4; void f(int i) { enum E { x, y = x + 2, z }; } };\n"
    .. "#define RUN(a) k<<<1, a>>>(b); n = a\n#define LIST (1, 2)\n#undef RUN\n"
  local s = gi.grammar.source(text)
  tap.is(#s:functions() .. #s:functions(true) .. s:functions(true)[1].name, "01f", "a method")
  local list = {}
  for i, d in ipairs(s:declarations()) do
    list[i] = ("%s %s %s %s"):format(d.within, d.type, d.name, d.init_at or "")
  end
  tap.is(table.concat(list, ", "),
    "class int n 6, function int i , enum E x , enum E y 22, enum E z ", "what they stand in")
  local y = s:declarations()[4]
  tap.is(y.init.op .. tostring(y.const) .. (y.scope_last - y.scope_first), "+true9",
    "an enumerator is known where its enum is")
  local t, tokens = {}, gi.grammar.tokens(text)
  for i = 1, #tokens do
    if tokens:kind(i) == "directive" then t[#t + 1] = s:inside(i) end
  end
  local launch, set = "$k<<<$g, $b>>>($$a)", "$a = $b"
  tap.is(#t[1]:find(launch) .. #t[1]:find(set) .. #t[2]:find "$a" .. #t[3]:find "$a", "1130",
    "the body of a macro, without its parameters")
  tap.is(t[1]:find("$a = $b")[1].b.first, 18, "tokens are counted as in tokens:inside")
  tap.has(select(2, pcall(s.inside, s, 1)), "it is no directive", "no word has an inside")
end)

tap.case("places by a pattern of the language", function()
  local launches = "int main() { k<T, 3><<<dim3(n / 2), 256, 0, s>>>(a, b + 1); "
    .. "auto e = [&] { j<<<(1), 2>>>(); }; k2<A<B>><<<g, b>>>(x); }"
  tap.is(found(launches, "$k<<<$g, $b>>>($$a)"),
    "launch: a= b=2 g=(1) k=j; launch: a=x b=b g=g k=k2<A<B>>", "launches, in a lambda too")
  tap.is(found(launches, "$k<<<$g, $b, $$more>>>($x, $y)"),
    "launch: b=256 g=dim3(n / 2) k=k<T, 3> more=0, s x=a y=b + 1", "with so many arguments")
  local body = "void f() { if (x) y = g(x, x); for (int i = 0; i < n; i++) { y = g(x, (y)); } }"
  tap.is(found(body, "g($a, $a)"), "call: a=x", "the same twice")
  tap.is(found(body, "g(x, y)"), "call: ", "parentheses make no difference")
  tap.is(found(body, "for ($i; $t; $s) $b"),
    "for: b={ y = g(x, (y)); } i=int i = 0; s=i++ t=i < n", "a loop")
  tap.is(found(body, "$y = g($$a);"), "expression: a=x, x y=y; expression: a=x, (y) y=y",
    "statements")
  tap.is(found("void f() {\n#if A\n if (x)\n#endif\n k<<<1, 2>>>(a); }", "$k<<<$g, $b>>>($$a)"),
    "launch: a=a b=2 g=1 k=k", "in a body that cannot be told apart")
  local odd = "void f() { CHECK(g(x, 1)) k<<<1, 2>>>(a); EACH(i, n) { k<<<3, 4>>>(b); } y = new T;"
    .. " throw g(x, 2); struct P { enum { z = 5 }; }; a $ b; }"
  tap.is(found(odd, "$k<<<$g, $b>>>($$a)"), "launch: a=a b=2 g=1 k=k; launch: a=b b=4 g=3 k=k",
    "within what is not understood")
  tap.is(found(odd, "g(x, $n)"), "call: n=1; call: n=2", "likewise")
  tap.is(found("} { k<<<A<B<C<2>>>::n, 2>>>(f(a)); } }", "$k<<<$g, $b>>>($$a)"),
    "launch: a=f(a) b=2 g=A<B<C<2>>>::n k=k", "or beside what is")
  tap.is(found("void f() { g(k<3>, (void *)k<A<4>>); }", "g($a, $b)"),
    "call: a=k<3> b=(void *)k<A<4>>", "templates that are no comparison")
  local s = gi.grammar.source(odd)
  tap.is(#select(2, s:body(s:functions()[1].node)), 6, "but no statement there is taken to run")
  tap.is(found("void f() { each(n, [=] __device__ (int i) { g(i, x); }); }", "g($i, x)"),
    "call: i=i", "in a lambda for the GPU")
  local call = gi.grammar.source("void f() { for (h(1); h<int>(2, &z); ) h(3); }"):find "h($$a)"
  tap.is(#call .. tostring(call[1].header) .. tostring(call[3].header), "3truenil", "in a header")
  tap.is(found("void f() { z = static_cast<std::int32_t>(m + 1); z = sizeof n; }", "$a"),
    "name: a=z; cast: a=static_cast<std::int32_t>(m + 1); name: a=m; number: a=1; binary: a=m + 1; "
    .. "assign: a=z = static_cast<std::int32_t>(m + 1); name: a=z; number: a=sizeof n; "
    .. "assign: a=z = sizeof n", "no reading that another replaced")
  local one = gi.grammar.source "a + b"
  tap.is(#one:find "$a + $b" .. one:expression().kind .. #one:find "$a + $b", "1binary1",
    "what is read as an expression is not found, too")
  call = gi.grammar.source("void f() { h<int, 3>(2, &z, (int)y); }"):find("$f($$a)")[1]
  local f = call.f
  tap.is(("%d %d %d %d %s"):format(f.token, f.open, f.close, #call.a, call.a[2].kind),
    "6 7 11 3 unary",
    "arguments one by one, a name with its template's")
  local ok, why = pcall(found, "x", "int $x = 3;")
  tap.has(not ok and why, "`int $x = 3;` is not understood: it declares a name", "a name")
  ok, why = pcall(found, "x", "f(")
  tap.has(not ok and why, "the pattern `f(` is not understood", "nor what is no C++")
end)

tap.case("an expression like an example", function()
  local function is(text, example, answer, ...)
    local tree = gi.grammar.source(text):expression()
    local list, holes = {}, by_example.match(tree, example, ...)
    for name, node in pairs(holes or {}) do
      list[#list + 1] = name .. "=" .. (node.text or node.op or node.kind)
    end
    table.sort(list)
    tap.is(holes and table.concat(list, " ") or "none", answer, text .. " like " .. example)
  end
  is("k /= 2", "$k /= 2", "k=k")
  is("k /= 3", "$k /= 2", "none")
  is("k = (k >> 1)", "$k = $k >> 1", "k=k")
  is("k = j >> 1", "$k = $k >> 1", "none")
  is("p[i].x = p[i].x + q", "$a = $a + $b", "a=member b=q")
  is("p[i].x = p[j].x + q", "$a = $a + $b", "none")
  is("t % (2 * k) == 0", "$t % ($k * 2) == 0", "k=k t=t", "$t % (2 * $k) == 0")
  is("t % 2 * k == 0", "$t % (2 * $k) == 0", "none")
  is("max(a, b + 1)", "max($x, $y)", "x=a y=+")
  is("max(a, b, c)", "max($x, $y)", "none")
  is("min(a, b)", "max($x, $y)", "none")
  is("c ? a : b", "$c ? $x : $x", "none")
  is("(float)a", "(float)$a", "a=a")
  is("(int)a", "(float)$a", "none")
  is("a", "1", "none")
  is("p->x", "$p.x", "none")
  is("k >>= 1u", "$k >>= 1", "k=k")
  is("k >>= 10", "$k >>= 1", "none")
  is("k *= 2.f", "$k *= 2", "none")
  is("k[1] = k[1u]", "$a = $a", "none")
  tap.is(by_example.match(nil, "$a"), nil, "nothing is like none")
end)

tap.done()
