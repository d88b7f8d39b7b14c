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

tap.case("what has no limit says why", function()
  local none, why = roofline.of { status = "race" }
  tap.is(none, nil, "what did not run")
  tap.has(why, "race", "and why")
  tap.has(select(2, roofline.of { status = "ok", ns = 1 }), "--device emu", "a GPU does not count")
end)

tap.done()
