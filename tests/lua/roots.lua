-- gilua.host.roots: memory that two arguments of a launch may share, by odd but well-formed ways to
-- write that in host code. K(…) is a launch; its first and its third argument are held against each
-- other. Not understood counts as one memory.

package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local hostcode = require "gilua.host.hostcode"
local roots = require "gilua.host.roots"
local tap = require "tap"

local BEFORE = "__global__ void k(float *y, const float *x, float *w, int n) {}\n"
local MAIN = "int main() { float *pool, *x, *z; cudaMalloc(&pool, 4096); cudaMalloc(&x, 4096);\n"
  .. "cudaMalloc((void **)&z, 4096); int n = 9;\n"

local ONE = {
  "std::vector<float *> v; v.push_back(pool); v.push_back(pool + 4); K(v[0], x, v[1], n);",
  "std::vector<float *> v = { pool, pool + 4 }; K(v[0], x, v[1], n);",
  "std::vector<float *> v(2, pool); K(v[0], x, v[1], n);",
  "std::vector<float *> v(2); v[0] = pool; v.at(1) = pool; K(v.at(0), x, v[1], n);",
  "std::vector<float *> v(2); v[i] = pool; K(v.back(), x, pool, n);",
  "std::vector<float *> v; v.push_back(pool); for (auto *p : v) K(p, x, pool, n);",
  "std::array<float *, 2> v = {{ pool, pool + 1 }}; K(v[0], x, v[1], n);",
  "std::array<float *, 2> v{pool, pool}; K(std::get<0>(v), x, v.back(), n);",
  "std::map<std::string, float *> m; m[\"y\"] = pool; K(m[\"y\"], x, pool, n);",
  "std::map<int, float *> m{{0, pool}, {1, pool}}; K(m[0], x, m.at(1), n);",
  "std::map<int, float *> m; m.emplace(1, pool); m.insert({2, pool}); K(m[1], x, m.at(2), n);",
  "std::pair<float *, float *> p(pool, pool + 1); K(p.first, x, p.second, n);",
  "auto p = std::make_pair(pool, pool + 1); K(p.first, x, p.second, n);",
  "std::tuple<float *, float *> t{z, z}; K(std::get<0>(t), x, std::get<1>(t), n);",
  "auto [a, b] = std::make_pair(pool, pool + 1); K(a, x, b, n);",
  "auto [a, b] = both(pool); K(a, x, b, n);",
  "float *a, *b; std::tie(a, b) = std::make_pair(pool, pool); K(a, x, b, n);",
  "union { float *f; int *i; } u; u.i = (int *)pool; K(u.f, x, pool, n);",
  { "U u; u.i = pool; K(u.f, x, pool, n);", "union U { float *f; float *i; };\n" },
  { "S s; s.i = pool; K(s.f, x, pool, n);", "struct S { union { float *f; float *i; }; };\n" },
  "float *y = pool; std::swap(x, y); K(x, z, pool, n);",
  "float *y = pool; float *t = x; x = y; y = t; K(x, z, pool, n);",
  "float *y = pool; y = std::exchange(x, y); K(x, z, pool, n);",
  "std::unique_ptr<float, D> u(pool); K(u.get(), x, pool, n);",
  "auto u = std::unique_ptr<float, D>(pool); K(u.get(), x, pool, n);",
  "std::span<float> s(pool, n), t(pool + n, n); K(s.data(), x, t.data(), n);",
  "S s(pool, n), t(pool, n); K(s.y, x, t.y, n);",
  "S s; s.set(pool); K(s.y, x, pool, n);",
  "float **q = &pool; K(*q, x, pool, n);",
  "float **q = &pool; K(q[0], x, pool, n);",
  "float *b[2] = { pool, z }, **q = b; K(q[0], x, b[0], n);",
  "auto go = [p = pool + 1](float *q) { K(p, q, pool, n); }; go(x);",
  "float *y = n > 3 ? static_cast<float *>(pool) : nullptr; K(y, x, pool, n);",
  "float *y, *w; y = w = pool; K(y, x, w, n);",
  "float *y = /* z */ pool \\\n + 1; // z\n K(y, x, pool, n);",
  "*(&z) = pool; K(z, x, pool, n);",
  { "K(SECOND, x, pool, n);", "#define SECOND (pool + 1)\n" },
  { "K(SECOND(pool), x, pool, n);", "#define SECOND(p) ((p) + 1)\n" },
  { "float *y; get(&y, pool); K(y, x, pool, n);", "void get(float **a, float *b) { *a = b; }\n" },
  { "go(pool); }\nvoid other() {",
    "struct T { float *y; void go(float *p) { this->y = p; K(y, x, p, 5); } };" },
  "S s; S &r = s; s.y = pool; K(r.y, x, pool, n);",
  "S s; auto &r = s.y; r = pool; K(s.y, x, pool, n);",
  "S s; auto &r = s.y; s.y = pool; K(r, x, pool, n);",
  "S s; s.p[0] = pool; K(s.p[0], x, pool, n);",
  "S s; s.p[i] = pool; K(s.p[0], x, pool, n);",
  "ctx->b[1].p = pool; K(ctx->b[1].p, x, pool, n);",
  "std::unordered_map<int, float *> m; m[3] = pool; K(m.at(3), x, pool, n);",
  "std::unordered_map<int, float *> m; m[3] = pool; K(m.find(3)->second, x, pool, n);",
  "std::map<int, float *> m; m[3] = pool; for (auto &e : m) K(e.second, x, pool, n);",
  "std::map<int, float *> m; m[3] = pool; for (auto &[a, b] : m) K(b, x, pool, n);",
  "std::optional<float *> o = pool; K(*o, x, pool, n);",
  "std::optional<float *> o(pool); K(o.value(), x, pool, n);",
  "std::array<float *, 2> v; v.fill(pool); K(v[0], x, v[1], n);",
  "float *v[2] = { z, pool }; std::swap(v[0], v[1]); K(v[0], x, pool, n);",
  "S s = { z, pool }; std::swap(s.y, s.w); K(s.y, x, pool, n);",
  "uintptr_t u = (uintptr_t)pool; K((float *)u, x, pool, n);",
  "char *b = (char *)pool; K((float *)(b + 16), x, (float *)b, n);",
  "void *b = pool; K(static_cast<float *>(b), x, reinterpret_cast<float *>(b), n);",
  "float *y = std::move(pool); K(y, x, pool, n);",
  "auto y = std::ref(pool); K(y, x, pool, n);",
  { "K(S::y, x, pool, n);", "struct S { static float *y; }; void set() { S::y = pool; }\n" },
  { "S::y = pool; K(S::y, x, pool, n);", "struct S { static float *y; };\n" },
  { "ns::y = pool; using namespace ns; K(y, x, pool, n);", "namespace ns { float *y; }\n" },
  "std::deque<float *> v; v.push_front(pool); K(v.front(), x, pool, n);",
  "std::vector<float *> v{z, pool}; std::rotate(v.begin(), v.begin() + 1, v.end()); "
    .. "K(v[0], x, pool, n);",
  "std::vector<float *> v{z, pool}; std::reverse(v.begin(), v.end()); K(v[0], x, pool, n);",
  "std::vector<float *> v{z, pool}, w = v; K(w[1], x, pool, n);",
  "std::vector<float *> v{z, pool}; auto w = v; K(w[1], x, pool, n);",
  "std::vector<S> v; v.push_back({pool, z}); K(v[0].y, x, pool, n);",
  "std::vector<S> v; v.emplace_back(pool, z); K(v[0].y, x, pool, n);",
  "std::vector<std::pair<int, float *>> v; v.emplace_back(1, pool); K(v[0].second, x, pool, n);",
  "float *y; if (auto p = pool) y = p; K(y, x, pool, n);",
  "float *y = [&] { return pool; }(); K(y, x, pool, n);",
  "auto f = [&] { return pool; }; K(f(), x, pool, n);",
  { "Pair p = split(pool); K(p.a, x, p.b, n);",
    "struct Pair { float *a, *b; }; Pair split(float *p) { return { p, p + 4 }; }" },
  { "auto [a, b] = split(pool); K(a, x, b, n);",
    "struct Pair { float *a, *b; }; Pair split(float *p) { return Pair{ p, p + 4 }; }" },
  { "Pair p; fill(p, pool); K(p.a, x, p.b, n);",
    "struct Pair { float *a, *b; }; void fill(Pair &q, float *p) { q.a = p; q.b = p + 4; }" },
  { "Pair p; fill(&p, pool); K(p.a, x, p.b, n);",
    "struct Pair { float *a, *b; }; void fill(Pair *q, float *p) { q->a = p; q->b = p + 4; "
      .. "}" },
  { "float *v[2]; fill(v, pool); K(v[0], x, v[1], n);",
    "void fill(float **v, float *p) { v[0] = p; v[1] = p + 4; }" },
  { "float *v[2]; fill(v, pool); K(v[0], x, v[1], n);",
    "void fill(float *v[2], float *p) { v[0] = p; v[1] = p + 4; }" },
  { "float *v[2]; fill(v); K(v[0], x, v[1], n);",
    "float *g; void fill(float **v) { v[0] = g; v[1] = g + 4; }" },
  "float *v[2]; for (int i = 0; i < 2; i++) v[i] = pool + i; K(v[0], x, v[1], n);",
  "float *v[2]; std::fill(v, v + 2, pool); K(v[0], x, v[1], n);",
  "float *v[2], *w[2] = { pool, pool }; std::copy(w, w + 2, v); K(v[0], x, pool, n);",
  "float *v[2], *w[2] = { pool, pool }; memcpy(v, w, sizeof v); K(v[0], x, pool, n);",
  "std::variant<float *, int *> v = pool; K(std::get<float *>(v), x, pool, n);",
  "std::any a = pool; K(std::any_cast<float *>(a), x, pool, n);",
  "float *y = (n > 3) ? pool : z; float *w = n > 2 ? z : x; K(y, x, w, n);",
  "const float *const y = pool; K(pool, x, y, n);",
  "float *__restrict__ y = pool; K(y, x, pool, n);",
  "float *y [[maybe_unused]] = pool; K(y, x, pool, n);",
  "alignas(8) float *y = pool; K(y, x, pool, n);",
  "decltype(pool) y = pool; K(y, x, pool, n);",
  "PTR(float) y = pool; K(y, x, pool, n);",
  "Ptr y = pool; K(y, x, pool, n);",
  "Ptr y; y = pool; K(y, x, pool, n);",
  "float *y = &*pool; K(y, x, pool, n);",
  "float *y = std::next(pool, 3); K(y, x, pool, n);",
  "float *y; (y) = pool; K(y, x, pool, n);",
  "float *y; y += 3, y = pool; K(y, x, pool, n);",
  "static float *y = nullptr; if (!y) y = pool; K(y, x, pool, n);",
}

local APART = {
  "std::vector<float *> v = { pool, z }; K(v[0], x, v[1], n);",
  "std::vector<float> u(h, h + n), v(h, h + n); K(u.data(), x, v.data(), n);",
  "thrust::device_vector<float> u(n, 0), v(n, 0); K(u.data(), x, v.data(), n);",
  "auto p = std::make_pair(pool, z); K(p.first, x, p.second, n);",
  "auto [a, b] = std::make_pair(pool, z); K(a, x, b, n);",
  "float *in = x, *out = z; while (n--) { K(in, pool, out, n); std::swap(in, out); }",
  "float *in = x, *out = z; K(in, pool, out, n); float *t = in; in = out; out = t;",
  "union { float *f; int *i; } u, v; u.i = pool; v.i = z; K(u.f, x, v.f, n);",
  { "S s = { pool, z }; K(s.y, x, s.w, n);", "struct S { float *y, *w; };\n" },
  { "float *u, *v; get(&u, z, n); get(&v, z, n); K(u, x, v, n);",
    "void get(float **a, float *h, int n) { cudaMalloc(a, n); cudaMemcpy(*a, h, n, H); }" },
  { "Buffer u(pool, n), v(pool, n); K(u.d, x, v.d, n);",
    "struct Buffer { float *d; Buffer(float *h, int n) { cudaMalloc(&d, n); } };" },
  "std::unique_ptr<float> u(new float[n]), v(new float[n]); K(u.get(), x, v.get(), n);",
  "float *v[2] = { z, pool }; std::swap(v[0], v[1]); K(v[0], x, v[1], n);",
  "S s; s.y = pool; s.w = z; std::swap(s.y, s.w); K(s.y, x, s.w, n);",
  "float *d[2]; for (int i = 0; i < 2; i++) cudaMalloc(&d[i], 9); K(d[0], x, d[1], n);",
  "std::vector<float *> d(2); for (auto &p : d) cudaMalloc(&p, 9); K(d[0], x, d[1], n);",
  "std::vector<float *> d; for (int i = 0; i < 2; i++) { float *p; cudaMalloc(&p, 9); "
    .. "d.push_back(p); } K(d[0], x, pool, n);",
  "struct { float *a, *b; } s; cudaMalloc(&s.a, 9); cudaMalloc(&s.b, 9); K(s.a, x, s.b, n);",
  "auto u = cuda_alloc<float>(n); auto v = cuda_alloc<float>(n); K(u.get(), x, v.get(), n);",
  "at::Tensor a = torch::empty({n}), b = torch::empty({n}); "
    .. "K(a.data_ptr<float>(), x, b.data_ptr<float>(), n);",
  { "float *a = nullptr, *b = nullptr; up(&a, h, n); up(&b, h, n); K(a, x, b, n);",
    "template <class T> void up(T **d, const T *h, int n) { CHECK(cudaMalloc((void **)d, n "
      .. "* sizeof(T))); cudaMemcpy(*d, h, n, H); }" },
}

-- What a launch of a text has in common; "apart" where that is nothing.
local function common(way)
  local body, before = way, ""
  if type(way) == "table" then body, before = way[1], way[2] .. "\n" end
  local text = (BEFORE .. before .. MAIN .. body .. "}"):gsub("K%(", "k<<<9, 64>>>(")
  local host = hostcode.read(text)
  local launch = assert(host:launch "k", body)
  local a = roots.of(host, launch.args[1], launch.body)
  local b = roots.of(host, launch.args[3], launch.body)
  return a.unknown or b.unknown or roots.common(host, a, b) or "apart"
end

local function text_of(way) return type(way) == "table" and way[2] .. " " .. way[1] or way end

tap.case("one memory by two names", function()
  for _, way in ipairs(ONE) do tap.ok(common(way) ~= "apart", text_of(way)) end
end)

tap.case("two of two names", function()
  for _, way in ipairs(APART) do tap.is(common(way), "apart", text_of(way)) end
end)

tap.done()
