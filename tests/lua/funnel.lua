-- The farm as a script sees it: mutants by hand, checked runs, loop guards, blame, comparisons.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local scratch = require "scratch"
local tap = require "tap"
local gi = require "gilua"

-- A problem of its own folder, with open loop headers, as a user would write one.
---@param change? string fields of the problem to add or to replace
local function sums(folder, change)
  local function write(name, text)
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end
  write("kernel.cu", [[
extern "C" __global__ void sums(int *out, const int *in, int n)
{
    int i = 0;
    int sum = 0;
    for (i = 0; i < n; i++) {
        sum += in[i];
    }
    out[threadIdx.x] = sum;
}
]])
  local text = [[
local gi = require "gilua"
local function case(_, spec)
  local n = spec.n
  local input = gi.array("i32", n)
  for i = 1, n do input[i] = i - 1 end
  return { name = "sum", answers = 32, n = n, input = input, output = gi.array("i32", 32),
           expected = gi.array("i32", 32):fill(n * (n - 1) // 2), compare = {} }
end
local problem = { name = "sums", source = "kernel.cu", kernel = "sums",
  parameters = { { name = "unroll", default = 1, values = { 1, 2 }, in_source = false } },
  grammar = { open_loops = true }, tolerance = { max_error = 0, wrong_above = 0 },
  checked_case = { n = 3 }, case = case,
  compile = function(v) return { "-DUNROLL=" .. v.unroll } end,
  launch = function(c)
    return { grid = 1, block = 32, args = { c.output, c.input, { "i32", c.n } } }
  end }
%s
return problem
]]
  write("problem.lua", text:format(change or ""))
  return gi.problem(folder)
end

local function statuses(results)
  local list = {}
  for i, m in ipairs(results) do list[i] = m.status end
  return table.concat(list, " ")
end

local function by_hand(problem, from, to)
  local text, n = problem.source:gsub(from, to)
  assert(n == 1, "the source has no " .. from)
  return { source = text }
end

tap.case("a problem says how often its loops may run in the checked run", function()
  local function verdicts(limit)
    local p = sums(tap.folder(), "problem.loop_limit = " .. limit)
    local farm <close> = gi.farm(p, { jobs = 1 })
    return statuses(farm:check { "", "<for3_kernel.cu_5>" })
  end
  tap.is(verdicts(4), "ok loop_limit", "three numbers are four looks at the condition")
  tap.raises(function() verdicts(3) end, "the unmodified kernel fails (loop_limit)",
    "a limit too low for the kernel itself")
  local p = sums(tap.folder())
  tap.is(p.loop_limit, 10000, "where nothing is said")
end)

tap.case("where a problem says nothing, the kernel's own loops say how often others may", function()
  for _, n in ipairs { 900, 9000, 20000 } do
    local p = sums(tap.folder(), ("problem.checked_case = { n = %d }"):format(n))
    local farm <close> = gi.farm(p, { jobs = 1 })
    tap.is(statuses(farm:check { "", "<for1_kernel.cu_5>", "<for3_kernel.cu_5>" }),
      "ok ok loop_limit", ("%d times: it may, and what has no end ends"):format(n))
    local found = farm:examine("<for3_kernel.cu_5>", { { n = 10000 } })
    tap.is(found and found[1].verdicts[1].status .. " " .. found[1].verdicts[2].status,
      "ok loop_limit", "and so on other data")
  end
end)

tap.case("an endless loop is for the first block alone: others do not take turns in it", function()
  local problem = gi.problem "tests/hostile/problem"
  local farm <close> = gi.farm(problem, { jobs = 1 })
  farm:check { "" }
  local verdict = farm:check { "<for3_kernel.cu_31>" }[1]
  tap.is(verdict.status, "loop_limit", "it is the guard that ends it, not the budget")
end)

-- Loops behind one another: the second is to be endless.
local LOOPS = [[
extern "C" __global__ void loops(int *out, int n)
{
    int sum = 0, i = 0, k = 0;
    for (i = 0; i < n; i++) sum += 3 * i ^ k;
    for (k = 0; k < n; k++) sum ^= 5 * k + i;
    for (i = 0; i < n; i++) sum += 7 * i ^ k;
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}
]]

tap.case("nor do others enter the loops behind the first", function()
  local grammar = assert(gi.grammar.parse("kernel.cu",
    { text = LOOPS, kernel = "loops", open_loops = true }))
  local macros = grammar:guard(true, 1000)
  local _, before = macros:gsub("\n", "")
  local ptx, log = gi.compile(macros .. assert(grammar:apply("<for3_kernel.cu_4>")))
  tap.is(ptx and log, "", "the compiler has nothing to say")
  local function run(blocks)
    local device = gi.device "emu"
    local module, overrun = device:load(ptx), gi.array("i32", 1)
    local out = device:buffer(gi.array("i32", 32 * blocks))
    local m = module:launch { kernel = "loops", grid = blocks, block = 32,
                              args = { out, { "i32", 4 } } }
    tap.is(m.status, "ok", blocks .. " blocks come to their end")
    assert(module:read("gilua_loop_overrun", overrun))
    tap.is(overrun[1] - before, 4, "the line is that of the loop that has none")
    return m.warp_instructions
  end
  local one, many = run(1), run(40)
  tap.ok(many < 2 * one, ("40 blocks take %d instructions, one %d"):format(many, one))
end)

tap.case("a problem says where races are looked for, and what of benign ones", function()
  local function verdict(change, to)
    local p = sums(tap.folder(), change)
    local farm <close> = gi.farm(p, { jobs = 1 })
    return farm:check { by_hand(p, "out%[threadIdx.x%] = sum;", to) }[1]
  end
  local HARM = "out[threadIdx.x] = sum; out[threadIdx.x ^ 1] = n + 1;"
  tap.is(verdict("", HARM).status, "race", "through global memory")
  tap.is(verdict("problem.check_races = 'shared'", HARM).status, "ok", "unless the problem says no")
  local SAME = [[
int *first = out;
if (threadIdx.x < 9) *first = sum;
__threadfence();
if (threadIdx.x > 20) *first = sum;]]
  local m = verdict("", SAME)
  tap.is(m.status, "ok", m.message or "a benign one passes")
  tap.is(m.warnings and m.warnings[1].kind, "benign_race", "with a warning")
  tap.is(verdict("problem.benign_races = 'refuse'", SAME).status, "race",
    "unless the problem says no")
end)

tap.case("what wrong answers of several outputs cost is the mean over all that count", function()
  local p = sums(tap.folder(), [[
local made = problem.case
function problem.case(self, spec)
  local c = made(self, spec)
  local function second(penalty) -- 16 more answers, which nobody writes
    return { output = gi.array("i32", 16), expected = gi.array("i32", 16):fill(5),
             compare = { penalty = penalty } }
  end
  if spec.first then c.compare.penalty = { unset = 9, outside = 8 } end
  c.also = { second(spec.second and { unset = 3, outside = 1 } or nil) }
  return c
end]])
  local runner = gi.runner.new(p, gi.device "emu")
  local function cost(spec)
    spec.n = 10
    runner:use(p:case(spec))
    local code = assert(gi.compile(p.source:gsub("int sum = 0", "int sum = 2"), {}))
    local m = runner:measure({ code = code, values = p:values() }, { budget = 0 })
    return ("%s of %s, unset %.3f"):format(m.penalty, m.counted, m.unset)
  end
  tap.is(cost { first = true, second = true }, ("%s of 48, unset 0.333"):format((32 * 2 + 16 * 3)
    / 48), "32 that are two off, 16 unset")
  tap.is(cost { second = true }, "3.0 of 16, unset 0.333", "only the second says so")
  tap.is(cost {}, "nil of nil, unset 0.333", "none does")
end)

tap.case("what is wrong with a problem's numbers is said", function()
  local function refused(change, part)
    tap.raises(function() sums(tap.folder(), change) end, part, part)
  end
  refused("problem.loop_limit = 0", "loop_limit must be a whole number from 1 on, not 0")
  refused("problem.loop_limit = 'many'", "loop_limit must be a whole number from 1 on, not many")
  refused("problem.check_races = 'local'", 'check_races must be "global" or "shared", not ')
  refused("problem.benign_races = true", 'benign_races must be "warn" or "refuse", not true')
  refused("problem.tolerance = { wrong_above = 1 }", "tolerance needs max_error")
  refused("problem.tolerance.max_errror = 1", "tolerance has no field 'max_errror'")
  refused("problem.tolerance.parent_penalty = '6'", "tolerance.parent_penalty must be a number")
end)

tap.case("mutants by hand go the way of all mutants, whatever is wrong with them", function()
  local p = sums(tap.folder())
  local farm <close> = gi.farm(p, { jobs = 2 })
  local results = farm:evaluate({
    by_hand(p, "int sum = 0", "int sum = 1"), -- runs, and is wrong
    by_hand(p, "sum %+= in%[i%]", "sum += nothing[i]"),
    by_hand(p, "sums%(", "other("), -- the kernel has another name
    by_hand(p, ", int n%)", ", int n, int m)"), -- takes another argument
    by_hand(p, "out%[threadIdx.x%] = sum", "out[threadIdx.x + 32] = sum"),
    by_hand(p, "out%[threadIdx.x%] = sum", "*(int *)((char *)out + 1) = sum"),
    by_hand(p, "out%[threadIdx.x%] = sum", "((int *)in)[0] = 1; out[threadIdx.x] = sum"),
    { source = p.source },
    { source = "__device__ char vast[1ull << 40];\n" ..
      p.source:gsub("int sum = 0", "int sum = vast[n]") }, -- cannot be loaded
  }, { n = 10 })
  tap.is(statuses(results), "ok compile_error launch_error launch_error illegal_address "
    .. "misaligned illegal_address ok compile_error", "each has its status")
  tap.is(results[1].wrong, 1.0, "wrong answers are no fault")
  tap.has(results[2].message, "nothing", "the compiler's message is kept")
  tap.has(results[3].message, "sums", "the kernel that is missing is named")
  tap.has(results[4].message, "4 arguments", "what a kernel takes is said")
  tap.is(results[8].max_error, 0.0, "the original is right")
  tap.has(results[9].message, "1099511627776", "what cannot be loaded is said")
  tap.raises(function() farm:evaluate({ { text = "x" } }, { n = 10 }) end, "source = text",
    "a mutant by hand needs a source")
  tap.is(statuses(farm:evaluate({ "" }, { n = 11 })), "ok", "the farm goes on after misuse")
end)

tap.case("what ran for another of the same code is no answer before its own checked run", function()
  local farm <close> = gi.farm(sums(tap.folder()), { jobs = 1 })
  local funnel = setmetatable({ runs = { code = { status = "ok" } } }, getmetatable(farm.funnel))
  tap.is(funnel:result_of { genome = "on its way", key = "code" }, nil, "not yet")
  tap.is(funnel:result_of({ genome = "there", key = "code", counted = true }).status, "ok", "now")
  local failure = { status = "race" }
  tap.is(funnel:result_of({ genome = "found out", key = "code", failure = failure }).status, "race",
    "or what was found")
end)

tap.case("the checked form is compiled with the mutant's options, for its target", function()
  local p = sums(tap.folder(), [[
problem.compile = function(v) return { "-DUNROLL=" .. v.unroll }, "compute_80" end]])
  local maker = require("gilua.farm.plan").maker(p, "compute_90", "events")
  local plan = maker:plan "unroll=2 <for3_kernel.cu_5>"
  tap.ok(plan.checked ~= plan.text, "where a loop may run for ever there is a form with guards")
  for _, genome in ipairs { "<_kernel.cu_6>", "<_kernel.cu_8>+<_kernel.cu_6>", "unroll=2" } do
    local same = maker:plan(genome)
    tap.ok(same.checked == same.text, "not where all end as they did: " .. genome)
  end
  tap.is(plan.checked.options[1] .. " " .. plan.checked.target, "-DUNROLL=2 compute_80", "as asked")
  tap.ok(plan.checked.hash ~= maker:plan("").checked.hash, "its hash tells them apart")
  p.definition.compile = function() return { "-lineinfo" }, "sm_90a" end
  tap.is(maker:plan("").checked.target, "compute_90a", "machine code is for a GPU alone")
end)

tap.case("what ptxas alone is told is not compiled for again on the virtual GPU", function()
  local p = sums(tap.folder(), [[
problem.compile = function(v)
  return { "-DN=1", (v.unroll == 1 and "--ptxas-options=-O1" or "-Xptxas=-dlcm=cg") }
end]])
  local plans = require "gilua.farm.plan"
  local maker, own = plans.maker(p, "compute_90", "events"), plans.maker(p, "sm_90", "events")
  local text = maker:plan("").text
  tap.is(table.concat(text.options, " "), "-DN=1", "on the virtual GPU it is left out")
  tap.is(maker:plan("unroll=2").text.hash, text.hash, "so that both are one")
  text = own:plan("").text
  tap.is(table.concat(text.options, " "), "-DN=1 --ptxas-options=-O1", "on a GPU it is not")
  tap.ok(own:plan("unroll=2").text.hash ~= text.hash, "and both are two")
  local one = gi.compile(p.source, { target = "compute_90" })
  tap.is(gi.compile(p.source, { target = "compute_90",
    options = { "--ptxas-options=-O1", "--ptxas-options=-maxrregcount=24" } }), one,
    "NVRTC makes the same PTX")
end)

tap.case("a kernel that needs the problem's options passes the checked run", function()
  local folder = tap.folder()
  local p = sums(folder)
  local text = p.source:gsub("int sum = 0;", "int sum = 0 * UNROLL;")
    :gsub("out%[threadIdx.x%] = sum", "out[threadIdx.x + (UNROLL == 2) * 64] = sum")
  scratch.write(folder .. "/kernel.cu", text)
  local farm <close> = gi.farm(gi.problem(folder), { jobs = 1 })
  tap.is(statuses(farm:check { "", "unroll=2" }), "ok illegal_address", "each with its own options")
end)

tap.case("a kernel without loops is compiled once: no guard stands in it", function()
  local folder = tap.folder()
  local file <close> = assert(io.open(folder .. "/plain.cu", "w"))
  file:write('extern "C" __global__ void sums(int *out, const int *in, int n)\n{\n'
    .. "    out[threadIdx.x] = n * (n - 1) / 2;\n}\n")
  file:flush()
  local function compilations(problem)
    local farm <close> = gi.farm(problem, { jobs = 1 })
    local results = farm:evaluate({ "" }, { n = 10 })
    tap.is(statuses(results) .. " " .. results[1].wrong, "ok 0.0", "it is right")
    return farm:stats().compilations
  end
  tap.is(compilations(sums(folder, 'problem.source = "plain.cu"')), 1, "once")
  tap.is(compilations(sums(tap.folder())), 2, "one with a loop also with its guard")
end)

-- What was done is counted where it is done: a filter that lets equal mutants through shows here.
tap.case("nothing is done twice, and what was done and spared is counted", function()
  local genomes = { "", "", -- as the unmodified kernel, which ran first
    "unroll=1", -- its default: another genome, the same source
    "<for1_kernel.cu_5>", -- i = 0 once more: another source, the same PTX
    "<_kernel.cu_6>", "<_kernel.cu_6>", "unroll=2 <_kernel.cu_6>",
    "<_kernel.cu_99>", "<_kernel.cu_99>" } -- no such rule
  local function counts(options)
    local farm <close> = gi.farm(sums(tap.folder()), options)
    local results = farm:evaluate(genomes, { n = 10 })
    local s, cached = farm:stats(), {}
    for i, m in ipairs(results) do cached[i] = m.cached or "-" end
    return ("compiled %d, checked %d, run %d; genome %d, source %d, ptx %d, code %d of %d"):format(
      s.compilations, s.checks, s.runs, s.duplicates.genome, s.duplicates.source, s.duplicates.ptx,
      s.duplicates.code, s.evaluations), table.concat(cached, " ")
  end
  for jobs = 1, 2 do
    local said, cached = counts { jobs = jobs }
    tap.is(said, "compiled 6, checked 4, run 3; genome 4, source 1, ptx 1, code 0 of 9",
      jobs .. " workers")
    tap.is(cached, "genome genome source ptx - genome - - genome", "each by what it shared")
  end
  tap.has(counts { jobs = 2, dedupe = false },
    "run 8; genome 0, source 0, ptx 0, code 0 of 9", "asked not to, it runs all again")
end)

tap.case("a farm that cannot be tidied after an error is closed", function()
  local farm <close> = gi.farm(sums(tap.folder()), { jobs = 1 })
  function farm.crew:clear() error("no process can be started", 0) end
  tap.raises(function()
    farm:evaluate({ "" }, { n = 10 }, function() error("enough", 0) end)
  end, "enough", "the error itself is told")
  tap.is(farm.closed, true, "closed")
end)

tap.case("what a fault says does not depend on what its worker ran before", function()
  local p = sums(tap.folder())
  local beyond = by_hand(p, "out%[threadIdx.x%] = sum", "out[threadIdx.x + 32] = sum")
  local function said_after(...)
    local farm <close> = gi.farm(p, { jobs = 1 })
    local genomes = { ... }
    genomes[#genomes + 1] = beyond
    return farm:evaluate(genomes, { n = 10 })[#genomes].message
  end
  local said = said_after()
  tap.has(said, "byte 128 of 'output' (", "it tells where")
  tap.is(said_after("", "<_kernel.cu_6>", { source = p.source .. "__constant__ int c[9];" }), said,
    "after others too")
end)

tap.case("endless loops end at their guard, and cost little", function()
  local farm <close> = gi.farm(sums(tap.folder()), { jobs = 1 })
  local results = farm:evaluate({ "<for3_kernel.cu_5>", "<_kernel.cu_6>" }, { n = 10 })
  tap.is(statuses(results), "loop_limit ok", "without i++ it runs into the limit")
  tap.has(results[1].message, "guard", "and says so")
end)

tap.case("whoever launches more threads may use as much with each", function()
  local p = gi.problem(scratch.problem([[
extern "C" __global__ void along(const int *a, int *out, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int sum = 0;
    for (int j = 0; j < 64; j++) {
        sum += a[row * 64 + j];
        out[row * 64 + j] = sum;
    }
}
]], [[{ source = "kernel.cu", kernel = "along", size = 256, block_size_x = 64,
    args = { { name = "a", type = "i32", count = "size_x * 64" },
             { name = "out", type = "i32", count = "size_x * 64", role = "out" },
             { name = "rows", type = "i32", value = "size_x" } } }]]))
  local farm <close> = gi.farm(p, { jobs = 1 })
  local results = farm:evaluate({ "", "T:warp_row<3>(32)" }, gi.own.case(p, 1, "emu"))
  tap.is(statuses(results), "ok ok", "it is no timeout")
  tap.ok(results[2].warp_instructions > 10 * results[1].warp_instructions,
    "though it takes more than ten times as many instructions")
  tap.ok(results[2].ticks < results[1].ticks, "and it is faster")
end)

tap.case("check = parents: the checked run is for those who ask", function()
  local farm <close> = gi.farm(sums(tap.folder()), { jobs = 1, check = "parents" })
  local loop = "<for3_kernel.cu_5>"
  tap.is(statuses(farm:evaluate({ loop, "" }, { n = 10 })), "timeout ok",
    "unchecked, the endless loop runs into the budget of the whole case")
  tap.is(statuses(farm:check { loop, "", "<no>" }), "loop_limit ok compile_error", "checked")
end)

tap.case("who is slow on the small case has time there, unless that is long", function()
  local budget = require("gilua.farm.funnel").checked_budget
  tap.is(budget(20000), 2000000, "a hundred times a little")
  tap.is(budget(1000000), 50000000, "no more than some seconds")
  tap.is(budget(8000000), 80000000, "but ten times as much in any case")
end)

tap.case("a comparison on the virtual GPU is exact", function()
  local p = sums(tap.folder())
  local c = p:compare("<_kernel.cu_6>", "", { n = 10 }, { jobs = 1 })
  tap.ok(c.ratio > 1 and c.low == c.ratio and c.high == c.ratio, "without the sum it is faster")
  local bad = p:compare("<no>", "", { n = 10 }, { jobs = 1 })
  tap.is(bad.status, "compile_error", "what does not run is not compared")
end)

tap.case("parameters reach the compiler's options", function()
  local p = sums(tap.folder())
  local farm <close> = gi.farm(p, { jobs = 1 })
  local needs = { source = "#if UNROLL != 2\n#error unroll is not 2\n#endif\n" .. p.source,
                  params = { unroll = "2" } }
  local without = { source = needs.source, params = {} }
  tap.is(statuses(farm:evaluate({ needs, without }, { n = 5 })), "ok compile_error", "-DUNROLL=2")
end)

tap.case("a compilation that never ends is blamed, its neighbours are not", function()
  local p = sums(tap.folder())
  local farm <close> = gi.farm(p, { jobs = 2, compile_timeout_s = 4 })
  local bomb = { name = "zero", source = '#include "/dev/zero"\n' .. p.source }
  local results = farm:evaluate({ "", bomb, { source = p.source .. "\n// other\n" } }, { n = 5 })
  tap.is(results[1].status .. " " .. results[3].status, "ok ok", "innocents are measured")
  tap.ok(results[2].status == "timeout" or results[2].status == "out_of_memory"
    or results[2].status == "compile_error", "the bomb is " .. results[2].status)
  tap.is(farm:evaluate({ bomb }, { n = 6 })[1].status, results[2].status,
    "and is not compiled a second time, on another case either")
end)

tap.case("what cost a worker its life on one case runs on no other, which is said", function()
  local p = sums(tap.folder())
  local farm <close> = gi.farm(p, { jobs = 1 })
  local slower = by_hand(p, "sum %+= in%[i%];", "%0 if (n == 7777) sum = 0;")
  local post, runs = farm.crew.post, 0
  function farm.crew:post(job)
    runs = runs + (job.kind == "run" and 1 or 0)
    if job.kind == "run" and runs == 2 then return job.blame("timeout", "it hung") end
    return post(self, job)
  end
  local function said(n)
    local m = farm:evaluate({ slower }, { n = n })[1]
    return m.status .. ": " .. tostring(m.message)
  end
  tap.is(said(200), "timeout: it hung", "where it ran, behind the kernel as it is")
  tap.is(said(1000), "timeout: not run, for on another case it hung", "where it did not")
  tap.is(runs, 3, "only the kernel as it is")
end)

tap.case("the compiler's limit is relative to the unmodified kernel's", function()
  local limit = require("gilua.farm.funnel").compile_limit
  tap.is(limit(20, nil), 20, "the most, while nobody knows that")
  tap.is(limit(20, 0.01), 8, "8 s at least")
  tap.is(limit(20, 0.81), 16, "in steps, since it stands in messages")
  tap.is(limit(40, 1.61), 32, "of two")
  tap.is(limit(20, 9), 20, "no more than the most")
  tap.is(limit(3, 0.01), 3, "which a script sets")
  local together = require("gilua.farm.funnel").batch_limit
  tap.is(together(4, 10, nil), 4, "of several, while nobody knows what they take")
  tap.is(together(4, 10, 0.02), 1, "a second: with four alone a bomb costs five")
  tap.is(together(16, 10, 1.5), 45, "of a large kernel three times what others took")
  local p = sums(tap.folder())
  local farm <close> = gi.farm(p, { jobs = 1 })
  farm:evaluate({ "" }, { n = 5 })
  tap.ok(farm.funnel.unmodified_s > 0 and farm.funnel.unmodified_s < 60, "it is measured")
end)

tap.case("misuse and impossible wishes", function()
  local p = sums(tap.folder())
  tap.raises(function() gi.farm(p, { check = "often" }) end, "every", "an unknown check")
  tap.raises(function() gi.farm(p, { clock = "sun" }) end, "events", "an unknown clock")
  tap.raises(function() gi.farm(p, { device = "cuda:99" }) end, "cuda", "no such GPU")
end)

tap.done()
