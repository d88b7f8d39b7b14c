-- The farm with real workers: order, duplicates, counts, death, and the message format.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local gi = require "gilua"
local lfs = require "lfs"
local scratch = require "scratch"
local wire = require "gilua.base.wire"

local CASE = { side = 20, seed = 3 }

tap.case("messages: what is sent is what arrives, equal tables have equal bytes", function()
  local value = { 1, 2.5, "x\0y", true, { a = false, [3] = math.huge }, n = math.mininteger }
  local back = wire.decode(wire.encode(value))
  tap.is(back[3], "x\0y", "strings hold any bytes")
  tap.is(back[5].a, false, "nested tables")
  tap.is(back.n, math.mininteger, "integers exactly")
  tap.is(math.type(back[2]), "float", "floats stay floats")
  tap.is(wire.encode { a = 1, b = 2, c = 3 }, wire.encode { c = 3, b = 2, a = 1 },
    "order does not matter")
  tap.raises(function() wire.encode { print } end, "cannot be sent", "functions are refused")
end)

tap.case("the write floor is below what a kernel takes", function()
  local farm = gi.farm(gi.problem "kernels/niftyreg", { jobs = 2 })
  local floor = farm:floor(CASE)
  local kernel = farm:evaluate({ "" }, CASE)[1]
  tap.is(floor.bytes, kernel.n * 16, "every answer is a float4")
  tap.is(floor.ns > 0 and floor.ns < kernel.ns, true, "less time")
  farm:close()
end)

tap.case("what a mutant writes can be had, right or wrong", function()
  local problem = gi.problem "kernels/niftyreg"
  local farm <close> = gi.farm(problem, { jobs = 2 })
  local c = problem:case(CASE)
  local answers, m = farm:answers("RemX", CASE)
  local seen = gi.array.compare(answers, c.expected, c.compare)
  tap.is(seen.max_error .. " " .. seen.n, m.max_error .. " " .. m.n, "what was measured")
  answers = farm:answers("<_kernel.cu_298>", CASE)
  tap.is(gi.array.compare(answers, c.expected, c.compare).unset, 1.0, "marks, where none is set")
  answers, m = farm:answers("<_kernel.cu_277>", CASE)
  tap.is(tostring(answers) .. " " .. m.status, "nil race", "nothing of one that does not run")
end)

tap.case("results come in the order of the genomes, each with its own status", function()
  local problem = gi.problem "kernels/niftyreg"
  local farm = gi.farm(problem, { jobs = 2 })
  local genomes = { "", "RemX", "<_kernel.cu_298>", "", "<no_such_rule>", "<_kernel.cu_277>" }
  local order = {}
  local results = farm:evaluate(genomes, CASE, function(i, m, done, total)
    order[#order + 1] = ("%d:%s:%d/%d"):format(i, m.status, done, total)
  end)
  tap.is(table.concat(order, " "),
    "1:ok:1/6 2:ok:2/6 3:ok:3/6 4:ok:4/6 5:compile_error:5/6 6:race:6/6", "in order")
  tap.is(results[1].max_error < 1e-5, true, "the unmodified kernel is right")
  tap.is(results[3].unset, 1.0, "a kernel that writes nothing leaves every answer unset")
  tap.is(results[3].max_error, math.huge, "and is infinitely wrong")
  tap.has(results[5].message, "<no_such_rule>", "an illegal gene is named")
  tap.has(results[6].message, "race in shared memory", "deleting the barrier is a race")
  local s = farm:stats()
  tap.is(s.evaluations, 6, "evaluations")
  tap.is(s.duplicates.genome, 2, "the unmodified kernel was measured before any of them")
  tap.is(farm:case_info().answers, results[1].n, "every answer is checked")
  local again = farm:evaluate({ "RemX" }, CASE)[1]
  tap.is(again.cached, "genome", "what was measured on this case is not run again")
  tap.is(again.ticks, results[2].ticks, "and has the same ticks")
  farm:close()
end)

tap.case("a worker that is lost takes only its own mutant with it", function()
  local problem = gi.problem "kernels/niftyreg"
  local farm = gi.farm(problem, { jobs = 1 })
  farm:evaluate({ "" }, CASE)
  os.execute("kill -9 " .. farm.crew.processes:pid(1))
  local results = farm:evaluate({ "RemX", "constantBasis" }, CASE)
  tap.is(results[1].status .. " " .. results[2].status, "ok ok", "the job is tried again")
  tap.is(farm:stats().restarts, 1, "one worker was replaced")
  farm:close()
end)

-- The farm's processes, but the first worker that is asked for something of a kind is killed then.
local function killed_at_first(processes)
  local seen = {}
  local around = { send = function(_, i, bytes, share)
    local op = wire.decode(bytes).op
    if not seen[op] then os.execute("kill -9 " .. processes:pid(i)) end -- before it can answer
    seen[op] = true
    processes:send(i, bytes, share)
  end }
  return setmetatable(around, { __index = function(_, name)
    return function(_, ...) return processes[name](processes, ...) end
  end }), seen
end

tap.case("a worker that somebody kills changes nothing, whatever it was at", function()
  local problem = gi.problem "kernels/niftyreg"
  local genomes = { "RemX", "<_kernel.cu_298>", "<_kernel.cu_277>" }
  local function said(farm)
    local list = {}
    for i, m in ipairs(farm:evaluate(genomes, CASE)) do
      list[i] = ("%s %s %s"):format(m.status, m.ticks, m.max_error)
    end
    local answers = farm:answers("RemX", CASE)
    list[#list + 1] = core.system.hash(wire.encode { answers[1], answers[100] })
    list[#list + 1] = farm:floor(CASE).ns
    return table.concat(list, "; ")
  end
  local calm <close> = gi.farm(problem, { jobs = 2 })
  local farm <close> = gi.farm(problem, { jobs = 2 })
  local seen
  farm.crew.processes, seen = killed_at_first(farm.crew.processes)
  tap.is(said(farm), said(calm), "the same of mutants, answers and the write floor")
  local ops = {}
  for op in pairs(seen) do ops[#ops + 1] = op end
  table.sort(ops)
  tap.is(table.concat(ops, " "), "answers case check compile floor run", "killed at each")
  tap.is(farm:stats().losses.killed, #ops, "counted")
  tap.is(farm:stats().runs, calm:stats().runs, "runs are those that gave an answer")
end)

local SCALE = [[
extern "C" __global__ void k(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2 * x[i];
}
]]

-- A problem of that kernel, with x so long and filled so.
local function scale(count, fill)
  return ([[{ source = "kernel.cu", kernel = "k", size = 32, block_size_x = 32,
    args = { { name = "x", type = "f32", count = %d, fill = %s, role = "inout" },
             { name = "n", type = "i32", value = "size" } } }]]):format(count, fill)
end

-- The processes of a farm, and the answer that its first thread gives.
local function first_answer(folder, seed)
  local farm <close> = gi.farm(gi.problem(folder), { device = "emu", jobs = 1 })
  local ok, answers = pcall(farm.answers, farm, "", { seed = seed })
  return farm.crew.processes:pid(1), ok and answers[1] or tostring(answers):match "global memory"
end

tap.case("while crews are kept, farms have the same workers and nothing else in common", function()
  local folder = scratch.problem(SCALE, scale(32, 3))
  local workers
  do
    local _ <close> = crew.keep()
    local first, answer = first_answer(folder, 1)
    tap.is(answer, 6, "of the first")
    scratch.write(folder .. "/problem.lua", "return " .. scale(32, 5))
    local same, other = first_answer(folder, 1)
    tap.is(other, 10, "of a folder written anew, the same seed")
    scratch.write(folder .. "/problem.lua", "return " .. scale(16, 5))
    local wrong, why = first_answer(folder, 1)
    tap.is(why, "global memory", "of a case that cannot be made")
    tap.is(same == first and wrong == first, true, "by one worker")
    os.execute("kill -9 " .. first)
    scratch.write(folder .. "/problem.lua", "return " .. scale(32, 7))
    workers, answer = first_answer(folder, 1)
    tap.is(answer, 14, "of a worker that was killed meanwhile")
    tap.is(workers ~= first, true, "and replaced")
    local one <close> = gi.farm(gi.problem(folder), { device = "emu", jobs = 1 })
    local two <close> = gi.farm(gi.problem(folder), { device = "emu", jobs = 1 })
    tap.is(one.crew.processes:pid(1), workers, "the next has it")
    tap.is(two.crew.processes:pid(1) ~= workers, true, "but not two at a time")
    one:close()
    one:close()
    local three <close> = gi.farm(gi.problem(folder), { device = "emu", jobs = 1 })
    tap.is(three:answers("", { seed = 1 })[1], 14, "nor one that is closed twice")
  end
  tap.is(lfs.attributes("/proc/" .. workers), nil, "in the end they end")
  local alone = first_answer(folder, 1)
  tap.is(lfs.attributes("/proc/" .. alone), nil, "and so does everybody's alone")
end)

-- Workers that run a script of this test.
local function workers(n, options)
  local script = tap.folder() .. "/worker.lua"
  local file = assert(io.open(script, "w"))
  file:write [[
local core = require "gilua.core"
core.farm.serve(function(message, share)
  if message == "back" then return "back", share end
  if message == "sum" then
    local a = share:arrays()[1]
    return tostring(a[1] + a[2])
  end
  if message == "print" then
    print("on standard output")
    return tostring(io.read())
  end
  if message == "fill" then
    local t = {}
    for i = 1, math.huge do t[i] = ("x"):rep(100000) .. i end
  end
  return message
end)
]]
  file:close()
  return core.farm.open({ core.system.program(), script }, n, options)
end

tap.case("arrays go to workers and back without being copied into messages", function()
  local farm = workers(2)
  local share = core.array.share { gi.array.from { 20, 22 } }
  farm:send(1, "sum", share)
  farm:send(2, "back", share)
  share:close()
  local answers = {}
  for _ = 1, 2 do
    local kind, i, bytes, got = farm:wait(20)
    answers[i] = kind .. " " .. bytes .. " " .. (got and tostring(got:arrays()[1]) or "nothing")
  end
  tap.is(answers[1], "message 42.0 nothing", "a worker reads them")
  tap.is(answers[2], "message back f32 array 2: 20.0, 22.0", "and sends some")
  farm:close()
end)

tap.case("a worker of more than its share of its own memory is ended, others work on", function()
  local farm = workers(2, { memory_bytes = 200 << 20 })
  farm:send(1, "fill")
  local kind, i, why = farm:wait(30)
  tap.is(kind .. " " .. i, "memory 1", "reported as such")
  tap.has(why, "the limit is 200.0 MiB", "with the limit")
  farm:send(2, "hello")
  tap.is(select(3, farm:wait(20)), "hello", "its neighbour answers")
  tap.is(farm:restart(1), true, "it is replaced")
  farm:send(1, "hello")
  tap.is(select(3, farm:wait(20)), "hello", "and answers")
  farm:kill(1)
  tap.is(farm:pid(1), 0, "a worker can be ended by hand")
  farm:close()
  tap.raises(function() workers(1, { memory = 1 }) end, "unknown option 'memory'", "misspelt")
end)

tap.case("what a worker prints goes nowhere, and its standard input is empty", function()
  local farm = workers(1)
  farm:send(1, "print")
  tap.is(select(3, farm:wait(20)), "nil", "the message comes through")
  farm:close()
end)

-- A problem of its own folder, with open loop headers, as a user would write one.
local function sums(folder)
  local function write(name, text)
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end
  write("kernel.cu", [[
extern "C" __global__ void sums(int *out, int n)
{
    int i = 0;
    int sum = 0;
    for (i = 0; i < n; i++) {
        sum += i;
    }
    out[threadIdx.x] = sum;
}
]])
  write("problem.lua", [[
local gi = require "gilua"
local function case(_, spec)
  local n = spec.n
  return { name = "sum", answers = 32, n = n, output = gi.array("i32", 32),
           expected = gi.array("i32", 32):fill(n * (n - 1) // 2), compare = {} }
end
return { name = "sums", source = "kernel.cu", kernel = "sums", parameters = {},
  grammar = { open_loops = true }, tolerance = { max_error = 0, wrong_above = 0 },
  checked_case = { n = 3 }, case = case,
  launch = function(c) return { grid = 1, block = 32, args = { c.output, { "i32", c.n } } } end }
]])
  return gi.problem(folder)
end

tap.case("an endless loop runs into the budget, on the small case, and harms nobody", function()
  local farm = gi.farm(sums(tap.folder()), { jobs = 1 })
  local results = farm:evaluate({ "", "<for3_kernel.cu_5>", "<_kernel.cu_6>" }, { n = 10 })
  tap.is(results[1].status .. " " .. results[1].max_error, "ok 0.0", "the kernel of a user")
  tap.is(results[2].status, "loop_limit", "without i++ it never ends")
  tap.has(results[2].message, "kernel.cu line 5", "the message names the loop's line")
  tap.is(results[3].status .. " " .. results[3].wrong, "ok 1.0", "its neighbour runs, and is wrong")
  farm:close()
end)

tap.case("misuse and impossible wishes", function()
  local problem = gi.problem "kernels/niftyreg"
  tap.raises(function() gi.farm(problem, { job = 1 }) end, "did you mean 'jobs'", "a misspelt name")
  tap.raises(function() gi.farm(problem, { device = "toaster" }) end, "toaster", "no such device")
  tap.raises(function() gi.farm(problem, { jobs = 0 }) end, "at least one worker", "no workers")
end)

tap.done()
