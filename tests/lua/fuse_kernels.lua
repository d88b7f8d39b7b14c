-- Two kernels of a recorded program as one: the text, the replay, what makes it wrong, and the
-- launches in the user's file.

package.path = "tests/lua/?.lua;" .. package.path
local backport = require "gilua.new.backport"
local gi = require "gilua"
local kernels = require "gilua.transform.kernel"
local keeping = require "gilua.report.kept"
local launchedit = require "gilua.new.launchedit"
local pairs_tape = require "pairs_tape"
local rewritten = require "rewritten"
local scratch = require "scratch"
local tap = require "tap"
local transform = require "gilua.transform.transform"

-- The problem of a program that launches these, for arrays of two lengths.
local function made(steps)
  local folder = tap.folder()
  scratch.write(folder .. "/app.cu", pairs_tape.SOURCE)
  scratch.write(folder .. "/a.rec", pairs_tape.recording(300, steps))
  scratch.write(folder .. "/b.rec", pairs_tape.recording(100, steps))
  gi.recordedproblem.write({ folder .. "/a.rec", folder .. "/b.rec" }, folder .. "/p",
    { source = folder .. "/app.cu", quiet = true, kernel = "all" })
  return gi.problem(folder .. "/p")
end

local function places(problem)
  local list = {}
  for _, kind in ipairs(problem.grammar:transformations()) do
    for _, place in ipairs(kind.name == "fuse_kernels" and kind.places or {}) do
      list[#list + 1] = place.gene
    end
  end
  return list
end

-- What genomes come to, right ones with a mark, and their measurements.
local function judged(problem, genomes)
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local list, words = farm:evaluate(genomes, gi.own.case(problem, 1)), {}
  for i, m in ipairs(list) do
    words[i] = m.status .. (m.status == "ok" and gi.fitness.right(m) and "!" or "")
  end
  return table.concat(words, " "), list
end

local function launches_of(m)
  local words = {}
  for i, k in ipairs(m.kernels) do words[i] = ("%s %d"):format(k.name, k.launches) end
  return table.concat(words, ", ")
end

tap.case("two kernels as one", function()
  local p = made { "twice y x", "thrice z y", "sum w y z", "read w", "twice y w", "thrice z x",
    "sum w z y", "read w" }
  local list = places(p)
  tap.is(#list, 2, "each with the one behind it")
  local words, m = judged(p, { "", list[1], list[2] })
  tap.is(words, "ok! ok! ok!", "both are right")
  tap.is(launches_of(m[1]), "_Z5twicePfPKfi 2, _Z6thricePfPKfi 2, _Z3sumPfPKfS1_i 2", "three")
  tap.is(launches_of(m[2]), "_Z5twicePfPKfi 2, _Z3sumPfPKfS1_i 2", "two")
  tap.is(launches_of(m[3]), "_Z5twicePfPKfi 2, _Z6thricePfPKfi 2", "two others")
  tap.ok(m[2].ticks < m[1].ticks and m[3].ticks < m[1].ticks, "they are faster")
  words, m = judged(p, { "", list[1] .. " " .. list[2] })
  tap.is(words .. " " .. launches_of(m[2]), "ok! ok! _Z5twicePfPKfi 2, _Z3sumPfPKfS1_i 2",
    "of both genes the first")
  tap.has(p.grammar:apply(list[1]), [[
extern "C" __global__ void thrice(float *z, const float *x, int n)
{
    thrice_part(z, x, n);
}

struct thrice_arguments
{
    float *z;
    const float *x;
    int n;

    __host__ __device__ thrice_arguments(float *z, const float *x, int n)
        : z(z), x(x), n(n)
    {
    }
};

extern "C" __global__ void twice(float *y, const float *x, int n, thrice_arguments behind)
{
    twice_part(y, x, n);
    thrice_part(behind.z, behind.x, behind.n);
}]], "as a person would write it")
end)

tap.case("what makes it wrong", function()
  local p = made { "twice y x", "thrice z y", "read z" }
  local gene = places(p)[1]
  local fused = p.grammar:apply(gene)
  local function by_hand(was, now)
    local source, n = fused:gsub(was, now)
    assert(n == 1)
    return { source = source, name = now, params = { ["T:launch"] = "twice:before.thrice+24" } }
  end
  local words, m = judged(p, { "", gene, by_hand("z%[i%] = x%[i%]", "z[i] = x[(i + 1) %% n]"),
    by_hand("z%[i%] = x%[i%] %* 3", "z[i] = x[i] * 4"),
    { source = p.source, name = "as it was",
      params = { ["T:launch"] = "twice:before.thrice+24" } } })
  tap.is(words, "ok! ok! race ok launch_error", "another thread's, another answer, another text")
  tap.has(m[3].message, "with nothing that orders them", "what one thread wrote another reads")
  tap.has(m[5].message, "takes 20 bytes of arguments and was given 44", "and its arguments")
  local known = p.definition.recorded.paths.train[1]
  scratch.write(known, pairs_tape.recording(300, { "twice y x", "read y", "thrice z y", "read z" }))
  words, m = judged(p, { "", gene })
  tap.is(words, "ok! launch_error", "a program that does something in between, elsewhere")
  tap.has(m[2].message, "launch 1 has none of thrice in the same shape right behind it", "is told")
  scratch.write(known, pairs_tape.recording(300, { "twice y x", "thrice z y", "read z" }))
  words, m = judged(p, { "", { source = fused, name = "in other shapes",
    params = { ["T:launch"] = "twice:before.thrice+24 twice:grid.x/2" } } })
  tap.is(words, "ok! launch_error", "two shapes")
  tap.has(m[2].message, "in another shape each", "are told")
  tap.is(#places(made { "twice y x", "read y", "thrice z y", "read z" }), 0, "the host in between")
  local other = made { "twice y x", "thrice z y", "sum w y z", "twice y z", "sum w y z", "read w" }
  local genes = places(other)
  tap.is(#genes, 1, "another one behind it the second time")
  tap.has(other.grammar:genes(genes[1])[1].launch, "thrice:before.sum", "but not behind that one")
end)

tap.case("a replay that joins launches", function()
  local path = tap.folder() .. "/a.rec"
  scratch.write(path, pairs_tape.recording(300, { "twice y x", "read y" }))
  local r <close> = gi.recording.open(path)
  local none, why = r:replay { joins = string.pack("I4", 24) }
  tap.is(none, nil, "not with what is not there")
  tap.has(why, "launch 1 is to be done with the next one, which does not stand right behind it",
    "in a sentence")
end)

tap.case("which kernels", function()
  local function of(text, bytes)
    local known = kernels.of_text(text, { values = function(fn)
      return fn.name == "a" and { ["before.b"] = bytes or 8 } or {}
    end })
    local list = {}
    local kind = transform.find "fuse_kernels"
    for _, place in ipairs(kind.find(known)) do list[#list + 1] = place.line end
    local change, reason = kind.make(known, 1, {})
    if change then tap.is(change.alone, true, "it is written outside of functions") end
    return table.concat(list, " "), change and change.launch or reason, change and change.promise
  end
  local A = "__global__ void a(int *x) { x[threadIdx.x] = 1; }\n"
  local function is(b, bytes, want, what)
    local found, launch = of(A .. b, bytes)
    tap.is(found .. " " .. launch, want, what)
  end
  is("__global__ void b(int n) { }\n", 12, "1 before.b+12", "aligned as an int is")
  is("__global__ void b(int n, double s) { }\n", 12, "1 before.b+16", "as a double is")
  is("__global__ void b(float4 n) { }\n", 8, " how the arguments of b lie is not known", "a struct")
  is("namespace n { __global__ void b(int n) { } }\n", 8, " b is in a namespace", "a namespace")
  is("template<int N> __global__ void b(int n) { }\n", 8, " b is a template", "a template")
  is("__global__ void b(int n) { extern __shared__ int s[]; s[0] = n; }\n", 8,
    " b has shared memory whose size the launch says", "dynamic shared memory")
  local OWN = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
  local function promises(body, want)
    local _, _, promise = of(A .. "__global__ void b(int *x) { " .. body .. " }\n")
    tap.is(promise, want and "no thread touches what another one touches in the other kernel", body)
  end
  promises("x[x[threadIdx.x]] = 1;", true)
  promises("int i = x[threadIdx.x]; x[i] = 1;", true)
  promises("for (int *p = x; p < x + 4; ) *p++ = 1;", true)
  promises("asm volatile(\"\"); x[threadIdx.x] = 1;", true)
  promises("int i; i = x[threadIdx.x]; int j = i + 1; x[j] = 1;", true)
  promises("int s = x[threadIdx.x]; if (s > 4) x[threadIdx.x + 1] = 1;", true)
  promises("if (x[threadIdx.x] > 4) return; x[threadIdx.x] = 1;", true)
  promises("x[0] = x[threadIdx.x] > 4 ? x[threadIdx.x + 1] : 0;", true)
  promises(OWN .. "if (x[i] > 4) x[i] = 1;", nil)
  promises(OWN .. "if (x[i] > 4) i = 0; if (x[i] > 4) x[i] = 1;", true)
  promises("__shared__ int s[64]; s[x[threadIdx.x] & 63] = 1;", nil)
  promises("x[threadIdx.x] = x[threadIdx.x + 1] > 4 ? 1 : 2;", nil)
  promises("x[threadIdx.x] = 1;", nil)
  promises("int i = threadIdx.x; x[i] = 1;", nil)
  local _, _, promise = of("__global__ void a(int *x) { x[x[threadIdx.x]] = 1; }\n"
    .. "__global__ void b(int n) { }\n", 12)
  tap.has(promise, "no thread touches", "places in the first of the two")
  tap.is(rewritten.found("fuse_kernels", A .. "__global__ void b(int n) { }\n"), "",
    "nothing where no recording says what is launched")
end)

tap.case("launches in the user's file", function()
  local function is(text, want, what, launch)
    local new, done, left = launchedit.edited(text, "a", launch or "before.b+24")
    tap.is(("%s %d %d"):format(new, done, #left), want, what)
  end
  is("a<<<g, 64>>>(x, n);\n  b<<<g, 64>>>(y);\nf();",
    "a<<<g, 64>>>(x, n, b_arguments(y));\nf(); 1 0", "one goes, with its line")
  is("a<<<g, 64>>>();cudaDeviceSynchronize(); b<<<g,  64>>>(y, f(z, 2)); h();",
    "a<<<g, 64>>>(b_arguments(y, f(z, 2)));cudaDeviceSynchronize();  h(); 1 0", "behind a wait")
  is("a<<<g, 64>>>(x); b<<<h, 64>>>(y);", "a<<<g, 64>>>(x); b<<<h, 64>>>(y); 0 1", "another shape")
  is("a<<<g, 64>>>(x); f(); b<<<g, 64>>>(y);", "a<<<g, 64>>>(x); f(); b<<<g, 64>>>(y); 0 1",
    "something in between")
  is("a<<<8, 64>>>(x); b<<<8, 64>>>(y); a<<<8, 64>>>(z);",
    "a<<<8 * 2, 64>>>(x, b_arguments(y));  a<<<8, 64>>>(z); 1 1", "once, and another grid",
    "before.b+24 grid.x*2")
  local p = made { "twice y x", "thrice z y", "read z" }
  local path = p.dir .. "/../app.cu"
  local text = assert(tap.read(path))
  scratch.write(path, (text:gsub("&argc", "argc")))
  local files, _, launched = backport.files(keeping.of(p), places(p)[1])
  tap.is(("%d %d"):format(launched.done, #launched.left), "1 0", "in the file it came from")
  tap.has(files[1].text, "twice<<<8, 64>>>(nullptr, nullptr, argc, "
    .. "thrice_arguments(nullptr, nullptr, argc));\n  sum<<<", "its launches")
  tap.is(files[1].text:find('extern "C"', 1, true), nil, "its own names")
end)

tap.done()
