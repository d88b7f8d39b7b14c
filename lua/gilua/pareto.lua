-- pareto: everything a run has seen, as error against time, and what of it nothing else beats in
-- both (Langdon, "Genetically Improved Software", chapter 8, 2015, Figure 8.4).

local M = {}

---Does a beat b: no worse in anything, better in something?
---@param a number[]
---@param b number[]
---@return boolean
function M.dominates(a, b)
  local better = false
  for i = 1, #a do
    if a[i] > b[i] then return false end
    better = better or a[i] < b[i]
  end
  return better
end

local function comparable(point)
  for _, x in ipairs(point.at) do
    if x ~= x then return false end
  end
  return true
end

---The points that no other beats, by their first value, then in the order given; of equal ones the
---first. What is not a number cannot be compared, and is left out.
---@param points table[] each with `at`: numbers to be minimised
---@return table[] front
function M.front(points)
  local order = {}
  for i, p in ipairs(points) do
    if comparable(p) then order[#order + 1] = { p = p, i = i } end
  end
  table.sort(order, function(a, b)
    for k = 1, #a.p.at do
      if a.p.at[k] ~= b.p.at[k] then return a.p.at[k] < b.p.at[k] end
    end
    return a.i < b.i
  end)
  local front = {}
  for _, item in ipairs(order) do
    local beaten = false
    for _, other in ipairs(front) do
      local equal = not M.dominates(item.p.at, other.at)
      for k = 1, #other.at do equal = equal and other.at[k] == item.p.at[k] end
      beaten = beaten or equal or M.dominates(other.at, item.p.at)
    end
    if not beaten then front[#front + 1] = item.p end
  end
  return front
end

---An observer of gilua.evolve that keeps every genome that ran: { genome, at = { error, ticks over
---the unmodified kernel's } }. `error` is a function of a measurement (its mean error).
---@param error_of? fun(m: table): number
---@return table observer with `seen` (points, the first measurement of each genome) and front()
function M.observer(error_of)
  error_of = error_of or function(m) return m.mean_error end
  local o = { seen = {} }
  local known, waiting = {}, {}
  function o.on_result(_, individual)
    if individual.measurement.status == "ok" then waiting[#waiting + 1] = individual end
  end
  function o.on_generation(_, record)
    for _, individual in ipairs(waiting) do
      local text, m = individual.genome, individual.measurement
      if not known[text] then
        known[text] = true
        o.seen[#o.seen + 1] = { genome = text, generation = record.generation,
                                at = { error_of(m), m.ticks / record.baseline.ticks } }
      end
    end
    waiting = {}
  end
  function o.front() return M.front(o.seen) end
  return o
end

return M
