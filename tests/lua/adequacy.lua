-- gilua.study.adequacy: changes of a kernel that its data would not notice.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local adequacy = require "gilua.study.adequacy"
local gi = require "gilua"
local scratch = require "scratch"
local tap = require "tap"

local function problem_of(source, fill, reference)
  return gi.problem(scratch.problem(source, ([[{
    source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64,
    args = { { name = "x", type = "f32", count = "size_x", role = "inout", fill = %s },
             { name = "n", type = "i32", value = "size_x" } },
    reference = %s, tolerance = { max_error = 1e-6 } }]]):format(fill, reference or "nil")))
end

local function score_of(p, options)
  local farm <close> = gi.farm(p, { jobs = 1 })
  return adequacy.of(p, farm, { seed = 1 }, options)
end

local function whats(list)
  local said = {}
  for i, s in ipairs(list) do said[i] = s.line .. " " .. s.what end
  return table.concat(said, "\n")
end

local ABSOLUTE = [[
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fabsf(x[i]);
}
]]

tap.case("a kernel that does nothing is right where the data are so", function()
  local a = score_of(problem_of(ABSOLUTE, "{ 0, 1 }"))
  tap.is(a.empty, true, "absolute values of positive numbers")
  tap.ok(adequacy.is_weak(a), "too weak to begin with")
  tap.has(whats(a.survivors), "4 `x[i] = fabsf(x[i]);` could go", "the line is named")
end)

tap.case("too weak is also what notices too little", function()
  tap.is(adequacy.is_weak { empty = false, score = 0.59 }, true, "below 0.6")
  tap.is(adequacy.is_weak { empty = false, score = 0.6 }, false, "0.6")
end)

tap.case("what to do about it hangs on where the data are from", function()
  tap.has(adequacy.remedy(problem_of(ABSOLUTE, "{ 0, 1 }")), "other fills", "a problem's own")
  local recorded = { definition = { recorded = {} }, kernel = "k" }
  tap.is(adequacy.remedy(recorded), "record it with other data", "a program's")
  recorded.kernel = "k,m"
  tap.has(adequacy.remedy(recorded), "of the kernels that count", "of several kernels")
end)

tap.case("and is not on data of both signs", function()
  local p = problem_of(ABSOLUTE, "{ -1, 1 }")
  local a = score_of(p)
  tap.is(a.empty, false, "it is noticed")
  tap.is(whats(a.survivors), "", "so is every other change")
  tap.is(a.score, 1.0, "a score of 1")
  tap.is(a.noticed, a.probes, "all of them")
  tap.is(#adequacy.untold(a, p, "<_kernel.cu_4>"), 0, "nothing to mark")
end)

local METHOD = [[
template <int STEP> struct Walk {
  float at;
  __device__ static void to(float *x, int i, int n) {
    const int far = (n + 7) * STEP;
    if (i > far) x[i] = 0;
    x[i] = fabsf(x[i]) * 3;
  }
  __device__ static float unused(float a) { return a * 2.0f; }
};
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) Walk<2>::to(x, i, n);
}
]]

tap.case("methods are looked into where something in them may change", function()
  local p = problem_of(METHOD, "{ -1, 1 }")
  local all = whats(adequacy.probes(p))
  tap.has(all, "4 `far = (n + 7) * STEP` begins with 0", "a declaration")
  tap.has(all, "5 `i > far` never", "a condition")
  tap.has(all, "6 (3 + 1) for 3", "a number")
  tap.is(all:find("8 ", 1, true), nil, "none of a method that nobody calls")
  local a = score_of(p)
  tap.has(whats(a.survivors), "5 `i > far` never", "what these data do not reach")
  tap.is(table.concat(adequacy.untold(a, p, "<IF_kernel.cu_5>"), ","), "5", "is marked")
end)

tap.case("a line where nobody looked is marked", function()
  local p = problem_of(ABSOLUTE, "{ -1, 1 }")
  local a = score_of(p)
  local probes = adequacy.probes
  adequacy.probes = function(problem)
    local list = {}
    for _, probe in ipairs(probes(problem)) do
      if probe.line ~= 4 then list[#list + 1] = probe end
    end
    return list
  end
  local marked = adequacy.untold(a, p, "<_kernel.cu_4>")
  adequacy.probes = probes
  tap.is(table.concat(marked, ","), "4", "no probe, no trust")
end)

local LONG = [[
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = x[i];
    for (int r = 0; r < 400; r++) s = s * 0.5f + i;
    if (i > n) s = s + 1.f + 2.f + 3.f + 4.f + 5.f + 6.f + 7.f + 8.f + 9.f + 10.f + 11.f + 12.f;
    x[i] = s;
}
]]

tap.case("fewer changes are tried where each takes long", function()
  local p, most = problem_of(LONG, "{ -1, 1 }"), adequacy.MOST_WORK
  local a = score_of(p)
  tap.is(a.tried, a.of, "all, where there is time")
  adequacy.MOST_WORK = 1000
  local some = score_of(p)
  adequacy.MOST_WORK = most
  tap.is(some.tried, 16, "some, where there is none")
  tap.ok(some.of > 16, "it has more: " .. some.of)
end)

local MANY = [[
__device__ float unused(float a) { return a * 2.0f; }
__device__ float twice(float a) { return a * 2.0f; }
extern "C" __global__ void k(float *x, int n)
{
    __shared__ float s[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = (i + 0x10) % n;
    float sum = 0.f, *p = &sum;
    for (int c = 0; c < 3; c++) { sum += c == 1 ? *p + j : .5e1; }
    while (sum < 1e2f) sum = twice(sum);
#if 0
    sum += 7;
#endif
    /* a comment of two
    lines */ if (i < n) x[i] = sum; // 9 in a comment, "8" in a string
}
]]

tap.case("what is changed: statements, first values, conditions, numbers", function()
  local probes = adequacy.probes(problem_of(MANY, "{ -1, 1 }"))
  tap.is(whats(probes), [[
4 the kernel does nothing
2 (1.25f * 2.0f + 0.125f) for 2.0f
2 `return a * 2.0f;` could go
6 `i = blockIdx.x * blockDim.x + threadIdx.x` begins with 0
6 (0x10 + 1) for 0x10
7 `sum = 0.f` begins with 0
7 (1.25f * 0.f + 0.125f) for 0.f
8 `c < 3` never
8 (0 + 1) for 0
8 (3 + 1) for 3
8 (1 + 1) for 1
8 `c == 1` always
8 `c == 1` never
8 (1.25 * .5e1 + 0.125) for .5e1
8 `sum += c == 1 ? *p + j : .5e1;` could go
9 `sum < 1e2f` never
9 (1.25f * 1e2f + 0.125f) for 1e2f
9 `sum = twice(sum);` could go
14 `i < n` always
14 `i < n` never
14 `x[i] = sum;` could go]], "in the order of the lines, of functions that the kernel calls")
  for _, probe in ipairs(probes) do
    local change = probe.change
    local was = change and MANY:sub(change.first, change.last) or ""
    tap.is(select(2, (change and change.text or ""):gsub("\n", "")), select(2, was:gsub("\n", "")),
      "lines stay where they are")
  end
end)

tap.case("what compiles to the same code is no change, what does not compile no kernel", function()
  local a = score_of(problem_of(MANY, "{ -1, 1 }"))
  tap.is(a.of, 21, "probes there are: none of `#if 0`")
  tap.is(a.probes, 20, "that count: not 0 for 0.f")
end)

tap.case("of a kernel that takes long to compile fewer are tried, and it says so", function()
  local lines = {}
  for i = 1, 900 do lines[i] = ("  if (x[i] > %d.f) x[i] = %d.5f * x[i];\n"):format(i, i) end
  local long = "extern \"C\" __global__ void k(float *x, int n)\n{\n"
    .. "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
    .. table.concat(lines) .. "}\n"
  local a = score_of(problem_of(long, "{ -1, 1 }"))
  tap.ok(a.tried >= 8 and a.tried < 16 and a.of > 2000, "few")
  local sentence = "; %d+ of %d+ single changes were tried: compiling its %d+ KB of PTX takes long$"
  tap.ok(adequacy.line(a):find(sentence), "in a sentence", adequacy.line(a))
end)

tap.case("of very many so many are taken, evenly", function()
  local a = score_of(problem_of(MANY, "{ -1, 1 }"), { most = 5 })
  tap.is(a.of, 21, "all that there are")
  tap.ok(a.probes <= 5, "no more than asked for")
end)

tap.case("a winner is marked where it changes what the data cannot tell", function()
  local p = problem_of(ABSOLUTE, "{ 0, 1 }")
  local a = score_of(p)
  tap.is(table.concat(adequacy.untold(a, p, "<_kernel.cu_4>"), " "), "4", "deleted there")
  tap.is(table.concat(adequacy.untold(a, p, "<IF_kernel.cu_4> <_kernel.cu_4>"), " "), "4", "once")
  tap.is(#adequacy.untold(a, p, "block_size_x=128"), 0, "a setting computes the same")
end)

local LOOP = [[
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 1;
    if (i >= n) return;
    for (int j = 0; j < 4; j++) sum += j * 0.5f;
    x[i] += sum;
}
]]

tap.case("a line that a rule rewrites is no line that data must tell", function()
  local p = problem_of(LOOP, "{ -1, 1 }")
  local a = score_of(p)
  a.survivors[#a.survivors + 1] = { line = 6, what = "could go" }
  tap.is(#adequacy.untold(a, p, "T:unroll<6>(2)"), 0, "unrolled by its rules")
  tap.is(table.concat(adequacy.untold(a, p, "<_kernel.cu_6>"), " "), "6", "not so by hand")
end)

local DOUBLED = [[
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] =
        fabsf(x[i]);
    x[i] = x[i] * 2.0f;
}
]]

tap.case("of the lines that a winner changes every probe runs, in the sample or not", function()
  local p = problem_of(DOUBLED, "{ 0, 1 }")
  local farm <close> = gi.farm(p, { jobs = 1 })
  local function marked(most, genome)
    local a = adequacy.of(p, farm, { seed = 1 }, { most = most })
    local before = #adequacy.untold(a, p, genome)
    adequacy.look_closer(a, p, farm, { seed = 1 }, genome)
    return before, table.concat(adequacy.untold(a, p, genome), " "), a
  end
  local before, lines, a = marked(2, "<_kernel.cu_5>")
  tap.is(before, 0, "two of all the probes do not show it")
  tap.is(lines, "5", "a closer look does")
  tap.is(a.score, 1.0, "the score is of the sample")
  before, lines = marked(2, "<_kernel.cu_7>")
  tap.is(before .. lines, "0", "a line of which all is noticed")
  before, lines = marked(nil, "<_kernel.cu_5>")
  tap.is(before .. lines, "15", "where all have run nothing is new")
end)

local LOOPS = [[
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, c = 0;
    if (i >= n) return;
    for (int r = 0; r < (n + ROUNDS) / 1000; r++)
        x[i] = x[i] * 3.0f;
    while (c < (n + ROUNDS) / 1000) {
        c++;
        x[i] = x[i] + 1.0f;
    }
}
]]

tap.case("a change in a loop that has one round is marked, for what it does to the next", function()
  local function marked(rounds, genome)
    local p = problem_of(LOOPS:gsub("ROUNDS", rounds), "{ 1, 2 }")
    local farm <close> = gi.farm(p, { jobs = 1 })
    local a = adequacy.of(p, farm, { seed = 1 })
    local before = #adequacy.untold(a, p, genome)
    adequacy.look_closer(a, p, farm, { seed = 1 }, genome)
    return before .. ": " .. table.concat(adequacy.untold(a, p, genome), " ")
  end
  local before_both = "<_kernel.cu_6> <_kernel.cu_9>"
  tap.is(marked("999", before_both), "0: 6 9", "one round")
  tap.is(marked("1999", before_both), "0: ", "two")
  tap.is(marked("999", "T:keep<5>()"), "0: ", "a transformation keeps the meaning")
  local keep = require("gilua.transform.transform").find "keep"
  keep.judged = true
  tap.has(marked("999", "T:keep<5>()"), ": 5", "one that data judge may not")
  keep.judged = nil
end)

local SQUARE = [[
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, width = n, height = n;
    if (i >= width) return;
    if (i >= height) return;
    x[i] = x[i] + 1.0f;
}
]]

tap.case("a condition that another one stands for is marked, whatever else is noticed", function()
  local p = problem_of(SQUARE, "{ 1, 2 }")
  local a = { survivors = {} }
  tap.is(table.concat(adequacy.untold(a, p, "<IF_kernel.cu_4><IF_kernel.cu_5>"), " "), "4", "other")
  tap.is(#adequacy.untold(a, p, "<IF_kernel.cu_4><IF_kernel.cu_4>"), 0, "the same")
end)

local ROUNDS = [[
extern "C" __global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, width = n, height = n;
    if (i >= width) return;
    float sum = 0;
    for (int r = 0; r < (n + 1999) / 1000; r++) {
        sum += r * x[i];
        __syncwarp();
    }
    width = height;
    x[i] = sum + width;
}
]]

tap.case("so is a statement that stands for another or besides: the data show the same", function()
  local p = problem_of(ROUNDS, "{ 1, 2 }")
  local a = { survivors = {} }
  local function marked(genome) return table.concat(adequacy.untold(a, p, genome), " ") end
  tap.is(marked "<_kernel.cu_8>+<init_kernel.cu_6>", "8", "a loop begins again")
  tap.is(marked "<_kernel.cu_7><_kernel.cu_10>", "7", "a statement in another's place")
  tap.is(marked "<_kernel.cu_10>+<_kernel.cu_8>", "", "a barrier breaks nothing that is not seen")
  tap.is(marked "<_kernel.cu_10><_kernel.cu_10>", "", "the same is no change")
end)

tap.case("a kernel that is not right itself is judged by nothing", function()
  local p = problem_of(ABSOLUTE, "{ -1, 1 }", "function(args) args.x[1] = 2 end")
  tap.raises(function() score_of(p) end, "does not give the answers of its reference", "said")
end)

tap.case("gilua new finds data that can tell", function()
  local folder = tap.folder()
  local function written(source)
    scratch.write(folder .. "/k.cu", source .. [[
int main() { int n = 5000; float *x; cudaMalloc(&x, n * sizeof(float));
  k<<<(n + 63) / 64, 64>>>(x, n); }
]])
    gi.newproblem.write(folder .. "/k.cu", folder .. "/k", { quiet = true })
    local text = tap.read(folder .. "/k/problem.lua")
    os.execute("rm -r '" .. folder .. "/k'")
    return text
  end
  local text = written(ABSOLUTE)
  tap.has(text, 'name = "x", type = "f32", count = "n", fill = "mixed", role = "inout"',
    "of both signs")
  tap.has(text, "GUESS: a fill that shows 5 of 5 changes of the kernel", "and marked")
  text = written((ABSOLUTE:gsub("fabsf%(x%[i%]%)", "i * 2.5f")))
  tap.is(text:match "fill", nil, "where what is there tells, nothing is changed")
  text = written((ABSOLUTE:gsub("fabsf%(x%[i%]%)", "sqrtf(x[i]) + (x[i] > 3.f ? 1.f : 0.f)")))
  tap.is(text:match "fill", nil, "nor to data of which most answers are NaN")
end)

tap.done()
