-- stats: the few figures that summarise a list of numbers.

local M = {}

---@param list number[]
---@return number mean nan for an empty list
function M.mean(list)
  local sum = 0
  for _, x in ipairs(list) do sum = sum + x end
  return sum / #list
end

---@param list number[]
---@return number? median of an even count, the mean of the middle two; nil for an empty list
function M.median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n = #sorted
  if n == 0 then return nil end
  if n % 2 == 1 then return sorted[n // 2 + 1] end
  return (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

---The item whose `key` is least (the first of equals), and that key; nil for an empty list.
---@generic T
---@param list T[]
---@param key fun(item: T): number
---@return T? item
---@return number? least
function M.least(list, key)
  local best, best_key
  for _, item in ipairs(list) do
    local k = key(item)
    if best == nil or k < best_key then best, best_key = item, k end
  end
  return best, best_key
end

---How many items satisfy `test`.
---@generic T
---@param list T[]
---@param test fun(item: T): boolean
---@return integer
function M.count(list, test)
  local n = 0
  for _, item in ipairs(list) do
    if test(item) then n = n + 1 end
  end
  return n
end

return M
