-- roofline: how near a kernel is to the least time that its work can take, and what binds it
-- (Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for
-- Multicore Architectures", 2009). The work is counted by the virtual GPU on the case of a
-- measurement: the bytes that it moves, each once, and its arithmetic on floating-point numbers and
-- special functions, with all SMs evenly busy; addresses, copies and waits are none, for another
-- kernel of the same answers may do without. What a launch takes comes on top. A kernel that does
-- less (doubles as floats, fewer bytes) may come below the limit of the one before: it has one of
-- its own.
--
-- What binds a kernel now is another question: of its instructions' issue, their latency, and
-- memory, the one that the cost model says takes longest.
--
--   local limit = gi.roofline.of(farm:evaluate({ "" }, case)[1])
--   print(limit.times, limit.by)          -- 3.1, memory
--   print(gi.roofline.binds(m))           -- latency

local M = {}

---@class gilua.roofline
---@field ns number the least that the work takes, with its launch
---@field times number the kernel's time over that
---@field by string what binds: "memory", "arithmetic" or, where that is most of the limit, "launch"
---@field memory_ns number
---@field arithmetic_ns number
---@field launch_ns number

--- The limit of what a measurement ran, on the GPU that the virtual one is.
---@param m gilua.measurement of the virtual GPU
---@param model? table of gilua.base.gpu (h200)
---@return gilua.roofline? limit
---@return string? message why there is none
function M.of(m, model)
  if m.status ~= "ok" then return nil, "it did not run: " .. m.status end
  if not m.least_memory then
    return nil, "its work was not counted: only the virtual GPU does (--device emu)"
  end
  model = model or require "gilua.base.gpu.h200"
  local clock = model.clock_ghz
  local limit = { memory_ns = m.least_memory / clock, arithmetic_ns = m.least_arithmetic / clock,
    launch_ns = model.launch_ticks / clock }
  local work = math.max(limit.memory_ns, limit.arithmetic_ns)
  limit.ns = limit.launch_ns + work
  limit.times = m.ns / limit.ns
  limit.by = limit.launch_ns > work and "launch"
    or limit.memory_ns >= limit.arithmetic_ns and "memory" or "arithmetic"
  return limit
end

--- What a kernel spends its time with: "issue", "latency", "memory", or, where each takes less than
--- that, "launch"; nil where it did not run, or ran on a GPU, which does not tell.
---@param m gilua.measurement
---@param model? table
---@return string?
function M.binds(m, model)
  if m.status ~= "ok" or not m.part_issue then return nil end
  model = model or require "gilua.base.gpu.h200"
  local most, by = model.launch_ticks, "launch"
  for _, name in ipairs { "issue", "latency", "memory" } do
    local part = m["part_" .. name]
    if part > most then most, by = part, name end
  end
  return by
end

--- The same as a sentence.
---@param m gilua.measurement
---@param model? table
---@return string "3.1 times its limit of 5.20 us, by memory"
function M.line(m, model)
  local limit, why = M.of(m, model)
  if not limit then return why end
  return ("%.1f times its limit of %.2f us, by %s"):format(limit.times, limit.ns / 1e3, limit.by)
end

return M
