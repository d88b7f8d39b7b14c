-- roofline: the least time that a kernel's work takes, from what the virtual GPU counts.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local model = require "gilua.base.gpu.h200"
local roofline = require "gilua.base.roofline"
local tap = require "tap"

local function measured(name, genomes, case)
  local farm <close> = gi.farm(gi.problem("kernels/" .. name), { device = "emu", jobs = 1 })
  return farm:evaluate(genomes, case)
end

tap.case("a sum over rows is bound by its bytes, each moved once", function()
  local m = measured("reduction", { "", "float4Loads" }, { seed = 1, rows = 1000, columns = 4000 })
  local limit = roofline.of(m[1])
  local bytes = 1000 * 4000 * 4 + 1000 * 4
  tap.near(limit.memory_ns, bytes / model.dram_bytes_per_clock / model.clock_ghz,
    "16 MB read and 4 kB written", 0.01 * limit.memory_ns)
  tap.is(limit.by, "memory", "which binds")
  tap.near(limit.ns, limit.memory_ns + model.launch_ticks / model.clock_ghz, "after the launch",
    1e-6)
  tap.ok(limit.times >= 1, ("nothing is below its limit: %.3f"):format(limit.times))
  local other = roofline.of(m[2])
  tap.near(other.memory_ns, limit.memory_ns, "wider loads move the same bytes", 1)
  tap.has(roofline.line(m[1]), "times its limit of", "told as a sentence")
end)

tap.case("the launch binds what is small, arithmetic what computes", function()
  local small = measured("reduction", { "" }, { seed = 1, rows = 4, columns = 64 })[1]
  tap.is(roofline.of(small).by, "launch", "four short rows")
  local m = { status = "ok", ns = 30e3, least_memory = 1e3, least_arithmetic = 9e3 }
  local limit = roofline.of(m)
  tap.is(limit.by, "arithmetic", "what is longer binds")
  tap.near(limit.times, 30e3 / ((4000 + 9e3) / 1.98), "and is the limit, with the launch", 1e-9)
  tap.near(roofline.of(m, { clock_ghz = 1, launch_ticks = 0 }).ns, 9e3, "of another GPU", 1e-9)
end)

tap.case("what binds a kernel now is the longest of its parts", function()
  local m = { status = "ok", part_issue = 5e3, part_latency = 9e3, part_memory = 7e3 }
  tap.is(roofline.binds(m), "latency", "which takes longest")
  m.part_issue = 1e4
  tap.is(roofline.binds(m), "issue", "another")
  tap.is(roofline.binds(m, { launch_ticks = 2e4 }), "launch", "each is shorter than the launch")
  tap.is(roofline.binds { status = "ok", ns = 1 }, nil, "a GPU does not tell")
  tap.is(roofline.binds { status = "race" }, nil, "nor what did not run")
  local bytes = measured("reduction", { "" }, { seed = 1, rows = 1000, columns = 4000 })[1]
  tap.is(roofline.binds(bytes), "memory", "a sum over rows waits for memory")
end)

tap.case("evolution ends where the best is near its limit", function()
  local m = { status = "ok", ns = 3030, least_memory = 2e3, least_arithmetic = 0, registers = 1 }
  local far = { status = "ok", ns = 4e3, least_memory = 2e3, least_arithmetic = 0 }
  local function asked(record) return gi.own.enough { records = { record } } end
  tap.is(asked { improved = true, best = { measurement = m }, baseline = far },
    "the best takes 1.00 times the least time of its work, by launch", "and says why")
  tap.has(asked { improved = false, best = { measurement = far }, baseline = m },
    "the unmodified kernel takes", "also where there is nothing to gain")
  tap.is(asked { improved = true, best = { measurement = far }, baseline = m }, nil, "not before")
  local busy = { status = "ok", ns = 2e6, least_memory = 0, least_arithmetic = 4e6 }
  tap.is(roofline.of(busy).by, "arithmetic", "a kernel may compute all the time")
  tap.is(asked { baseline = busy }, nil, "there may be less to compute")
  tap.is(asked { baseline = { status = "ok", ns = 1 } }, nil, "nor on a GPU, which does not count")
end)

tap.case("a recording may spend its time with launches, but its limit has one", function()
  local m = { status = "ok", ns = 30e3, least_memory = 1e3, least_arithmetic = 0, part_issue = 2e3,
    part_latency = 9e3, part_memory = 1e3 }
  tap.is(roofline.binds(m), "latency", "one launch is shorter than its waits")
  m.part_launch = 3 * 4000
  tap.is(roofline.binds(m), "launch", "three are not")
  tap.near(roofline.of(m).launch_ns, 4000 / 1.98, "they could be one", 1e-9)
end)

tap.case("the limit on a GPU is by its own rates", function()
  local counted = { status = "ok", ns = 1, least_memory = 1e5, least_arithmetic = 1e4 }
  local bytes = 1e5 * model.dram_bytes_per_clock
  local gpu = { sms = 66, clock_ghz = 1, l2_bytes = 1e6, memory_rate = 1e12 }
  local limit = roofline.on_gpu(1e6, counted, gpu)
  tap.near(limit.memory_ns, bytes / 1e3, "bytes at the rate of its memory", 1e-6)
  tap.near(limit.arithmetic_ns, 2e4, "arithmetic on half of the SMs", 1e-6)
  tap.near(limit.times, 1e6 / (limit.memory_ns + 4000 / 1.98), "of the time that it took", 1e-9)
  gpu.l2_bytes = 1e9
  tap.near(roofline.on_gpu(1e6, counted, gpu).memory_ns, bytes / (model.l2_bytes_per_clock / 2),
    "what its cache has is there faster", 1e-6)
  gpu.memory_rate = 1e15
  tap.near(roofline.on_gpu(1e6, counted, gpu).memory_ns, bytes / 1e6,
    "not where its memory is faster yet", 1e-6)
  tap.has(select(2, roofline.on_gpu(1, { status = "ok" }, gpu)), "not counted", "nobody counted")
  gpu.memory_rate = 0
  tap.has(select(2, roofline.on_gpu(1, counted, gpu)), "does not tell", "a GPU may not tell")
end)

tap.case("the virtual GPU counts for one that is none", function()
  local problem = gi.problem "kernels/reduction"
  local gpu = { sms = model.sms, clock_ghz = model.clock_ghz, l2_bytes = 0,
    memory_rate = model.dram_bytes_per_clock * model.clock_ghz * 1e9 }
  local farm = { problem = problem, options = {}, devices = { gpu } }
  local case = { seed = 1, rows = 100, columns = 400 }
  local own = roofline.of(measured("reduction", { "" }, case)[1])
  local took = { { ns = 10 * own.ns }, { ns = 1 } }
  local limits = gi.limit.of(farm, { "", "float4Loads" }, case, took)
  tap.near(limits[1].times, 10, "the time of the one, the work from the other", 1e-9)
  tap.is(#limits, 2, "of each")
  local none, why = gi.limit.of(farm, { "" }, { seed = 1, rows = -1 }, { { ns = 1 } })
  tap.is(none, nil, "not of a case that cannot be made")
  tap.has(why, "cannot do the case", "which does not end a run")
  none, why = gi.limit.of({ options = { cluster = "x" } }, { "" }, case, { { ns = 1 } })
  tap.ok(not none and why:find "agents", "nor where agents measured")
  farm.virtual = true
  tap.near(gi.limit.of(farm, { "" }, case, measured("reduction", { "" }, case))[1].ns, own.ns,
    "what the virtual GPU measured it has counted", 1e-9)
end)

tap.case("what has no limit says why", function()
  local none, why = roofline.of { status = "race" }
  tap.is(none, nil, "what did not run")
  tap.has(why, "race", "and why")
  tap.has(select(2, roofline.of { status = "ok", ns = 1 }), "--device emu", "a GPU does not count")
end)

tap.done()
