-- roofline: compares a kernel's time with the shortest time that its work allows, and names the
-- resource that bounds it (Williams, Waterman and Patterson, "Roofline: An Insightful Visual
-- Performance Model for Multicore Architectures", 2009).
--
-- The virtual GPU counts the work on the case of the measurement: each byte moved once a launch,
-- floating-point operations and special functions, with all SMs evenly busy. Address arithmetic,
-- copies and waits do not count, since another kernel with the same answers may do without them.
-- The time of one launch is added; launches of a recording could be merged or run side by side. A
-- kernel that does less work (floats for doubles, fewer bytes) can be below another one's bound: it
-- has a bound of its own.
--
-- `binds` answers another question: whether instruction issue, latency or memory takes the longest
-- according to the cost model.
--
--   local limit = gi.roofline.of(farm:evaluate({ "" }, case)[1])
--   print(limit.times, limit.by)          -- 3.1, memory
--   print(gi.roofline.binds(m))           -- latency
--
-- A GPU counts nothing: `on_gpu` takes the time of the GPU and the work of the virtual one
-- (gilua.study.limit measures both).

local gpus = require "gilua.base.gpus"

local M = {}

--- What a measurement of the virtual GPU has of this; part_launch: of a recording alone.
M.COUNTED = { "part_launch", "part_issue", "part_latency", "part_memory", "least_memory",
  "least_arithmetic" }

---@class gilua.roofline
---@field ns number the least that the work takes, with a launch
---@field times number the kernel's time over that
---@field by string what binds: "memory", "arithmetic" or, where that is most of the limit, "launch"
---@field memory_ns number
---@field arithmetic_ns number
---@field launch_ns number

local function limit_of(ns, limit)
  local work = math.max(limit.memory_ns, limit.arithmetic_ns)
  limit.ns = limit.launch_ns + work
  limit.times = ns / limit.ns
  limit.by = limit.launch_ns > work and "launch"
    or limit.memory_ns >= limit.arithmetic_ns and "memory" or "arithmetic"
  return limit
end

local function why_not(m)
  if m.status ~= "ok" then return "it did not run: " .. m.status end
  if m.least_memory then return nil end
  return "its work was not counted: only the virtual GPU does (--device emu)"
end

--- The limit of what a measurement ran, on the GPU that the virtual one is.
---@param m gilua.measurement of the virtual GPU
---@param model? table of gilua.base.gpus, else what the virtual one stands for
---@return gilua.roofline? limit
---@return string? message why there is none
function M.of(m, model)
  local why = why_not(m)
  if why then return nil, why end
  model = model or gpus.model()
  local clock = model.clock_ghz
  return limit_of(m.ns, { memory_ns = m.least_memory / clock,
    arithmetic_ns = m.least_arithmetic / clock,
    launch_ns = model.launch_ticks / clock })
end

--- The limit of a kernel that ran on a GPU: bytes at the rate of its memory, or, where all fit into
--- its L2 cache, from which they come when a kernel is timed again and again, at the cache's, if
--- that is higher. Of a GPU of another generation, arithmetic and cache are as fast, for an SM and
--- clock, as those of the virtual one, and a launch takes as long.
---@param ns number what it took there
---@param counted gilua.measurement of the virtual GPU, of the same kernel and case
---@param gpu table { sms, clock_ghz, l2_bytes, memory_rate (bytes a second) } of dev:info()
---@param model? table of gilua.base.gpus, else what the virtual one stands for
---@return gilua.roofline? limit
---@return string? message why there is none
function M.on_gpu(ns, counted, gpu, model)
  local why = why_not(counted)
  if why then return nil, why end
  if not gpu.memory_rate or gpu.memory_rate == 0 then
    return nil, "not known, as the GPU does not tell how fast its memory is"
  end
  model = model or gpus.model()
  local bytes = counted.least_memory * model.dram_bytes_per_clock
  local rate, sms = gpu.memory_rate / 1e9, gpu.sms / model.sms -- bytes a nanosecond
  if bytes <= gpu.l2_bytes then
    rate = math.max(rate, model.l2_bytes_per_clock * sms * gpu.clock_ghz)
  end
  return limit_of(ns, { memory_ns = bytes / rate,
    arithmetic_ns = counted.least_arithmetic / sms / gpu.clock_ghz,
    launch_ns = model.launch_ticks / model.clock_ghz })
end

--- What a kernel spends its time with: "issue", "latency", "memory", or, where each takes less than
--- that, "launch"; nil where it did not run, or ran on a GPU, which does not tell.
---@param m gilua.measurement
---@param model? table
---@return string?
function M.binds(m, model)
  if m.status ~= "ok" or not m.part_issue then return nil end
  model = model or gpus.model()
  local most, by = m.part_launch or model.launch_ticks, "launch"
  for _, name in ipairs { "issue", "latency", "memory" } do
    local part = m["part_" .. name]
    if part > most then most, by = part, name end
  end
  return by
end

--- Those of the unmodified kernel and of the best of a run; nil where they are not known.
---@param result table of gilua.evolve
---@return gilua.roofline[]?
function M.of_result(result)
  if result.limits then return result.limits end
  local unmodified, best = M.of(result.baseline), M.of(result.best)
  return unmodified and best and { unmodified, best }
end

--- A limit as words.
---@param limit gilua.roofline
---@return string "3.1 times its limit of 5.20 us, by memory"
function M.words(limit)
  return ("%.1f times its limit of %.2f us, by %s"):format(limit.times, limit.ns / 1e3, limit.by)
end

--- The same of a measurement, or why there is none.
---@param m gilua.measurement
---@param model? table
---@return string
function M.line(m, model)
  local limit, why = M.of(m, model)
  return limit and M.words(limit) or why
end

return M
