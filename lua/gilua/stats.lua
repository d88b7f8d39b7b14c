-- stats: the figures that summarise lists of numbers, and what can be concluded from them. Random
-- numbers come from a generator that is passed in, so that a result is reproducible.

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

---@param list number[]
---@param q number 0 the least, 0.5 the median, 1 the greatest
---@return number? quantile linear between neighbours (Hyndman and Fan 1996, type 7)
function M.quantile(list, q)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n = #sorted
  if n == 0 then return nil end
  local at = 1 + (n - 1) * q
  local low = math.floor(at)
  local high = math.min(low + 1, n)
  return sorted[low] + (at - low) * (sorted[high] - sorted[low])
end

---The interval of the ratio of the medians of two lists that were measured in turn, by the
---percentile bootstrap over pairs (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
---chapter 13): pairs are drawn again with replacement, so what hit both of a pair stays together.
---@param above number[] above[i] was measured beside below[i]
---@param below number[]
---@param rng table as gi.rng makes it
---@param options? { confidence?: number, resamples?: integer } 0.95, 2000
---@return { ratio: number, low: number, high: number }
function M.ratio_interval(above, below, rng, options)
  local confidence = options and options.confidence or 0.95
  local resamples = options and options.resamples or 2000
  local n = #above
  if n == 0 or n ~= #below then
    error("gilua.stats.ratio_interval: two lists of equal length are needed, not empty", 2)
  end
  local ratios, a, b = {}, {}, {}
  for i = 1, resamples do
    for k = 1, n do
      local pick = rng:int(n)
      a[k], b[k] = above[pick], below[pick]
    end
    ratios[i] = M.median(a) / M.median(b)
  end
  local tail = (1 - confidence) / 2
  return { ratio = M.median(above) / M.median(below), low = M.quantile(ratios, tail),
           high = M.quantile(ratios, 1 - tail) }
end

---Ranks from 1; equal values share the mean of theirs.
---@param list number[]
---@return number[]
function M.ranks(list)
  local order, ranks = {}, {}
  for i = 1, #list do order[i] = i end
  table.sort(order, function(x, y) return list[x] < list[y] end)
  local first = 1
  while first <= #order do
    local last = first
    while last < #order and list[order[last + 1]] == list[order[first]] do last = last + 1 end
    for i = first, last do ranks[order[i]] = (first + last) / 2 end
    first = last + 1
  end
  return ranks
end

---Pearson's correlation.
---@param xs number[]
---@param ys number[]
---@return number nan where one of them does not vary
function M.correlation(xs, ys)
  local mx, my = M.mean(xs), M.mean(ys)
  local xy, xx, yy = 0, 0, 0
  for i = 1, #xs do
    local dx, dy = xs[i] - mx, ys[i] - my
    xy, xx, yy = xy + dx * dy, xx + dx * dx, yy + dy * dy
  end
  return xy / math.sqrt(xx * yy)
end

---Spearman's rank correlation: Pearson's, of the ranks.
---@param xs number[]
---@param ys number[]
---@return number
function M.spearman(xs, ys)
  return M.correlation(M.ranks(xs), M.ranks(ys))
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
