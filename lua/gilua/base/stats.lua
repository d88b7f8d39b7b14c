-- stats: summary statistics of lists of numbers, intervals and tests. Random numbers come from a
-- generator that the caller passes, so results are reproducible.

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

local function ascending(list)
  local order = {}
  for i = 1, #list do order[i] = i end
  table.sort(order, function(x, y) return list[x] < list[y] end)
  return order
end

-- Returns the median of n values: list[i] occurs drawn[i] times, `order` sorts list ascending.
local function median_of_drawn(list, order, drawn, n)
  local below, lower = 0, nil
  for _, i in ipairs(order) do
    below = below + drawn[i]
    if not lower and 2 * below >= n then lower = list[i] end
    if 2 * below > n then return n % 2 == 1 and lower or (lower + list[i]) / 2 end
  end
end

-- How often each of n indices is drawn, neighbours in blocks, and how many that are.
local function draw_blocks(n, block, rng)
  local drawn, total = {}, 0
  for i = 1, n do drawn[i] = 0 end
  local blocks = (n + block - 1) // block -- the last may be short
  for _ = 1, blocks do
    local first = (rng:int(blocks) - 1) * block + 1
    local last = math.min(first + block - 1, n)
    for i = first, last do drawn[i] = drawn[i] + 1 end
    total = total + last - first + 1
  end
  return drawn, total
end

--- The interval of the ratio of the medians of two lists that were measured in turn, by the
--- percentile bootstrap over pairs (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
--- chapter 13): pairs are drawn again with replacement, so what hit both of a pair stays together;
--- with `block` so many neighbouring pairs at once, so that what hit all of them does.
---@param above number[] above[i] was measured beside below[i]
---@param below number[]
---@param rng table as gi.rng makes it
---@param options? { confidence?: number, resamples?: integer, block?: integer } 0.95, 2000, 1
---@return { ratio: number, low: number, high: number }
function M.ratio_interval(above, below, rng, options)
  local confidence = options and options.confidence or 0.95
  local resamples = options and options.resamples or 2000
  local block = options and options.block or 1
  local n = #above
  if n == 0 or n ~= #below then
    error("gilua.stats.ratio_interval: two lists of equal length are needed, not empty", 2)
  end
  local ratios, order_above, order_below = {}, ascending(above), ascending(below)
  for i = 1, resamples do
    local drawn, total = draw_blocks(n, block, rng)
    ratios[i] = median_of_drawn(above, order_above, drawn, total)
      / median_of_drawn(below, order_below, drawn, total)
  end
  local tail = (1 - confidence) / 2
  return { ratio = M.median(above) / M.median(below), low = M.quantile(ratios, tail),
           high = M.quantile(ratios, 1 - tail) }
end

--- Ranks from 1; equal values share the mean of theirs.
---@param list number[]
---@return number[]
function M.ranks(list)
  local order, ranks, first = ascending(list), {}, 1
  while first <= #order do
    local last = first
    while last < #order and list[order[last + 1]] == list[order[first]] do last = last + 1 end
    for i = first, last do ranks[order[i]] = (first + last) / 2 end
    first = last + 1
  end
  return ranks
end

--- Pearson's correlation.
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

--- Spearman's rank correlation: Pearson's, of the ranks.
---@param xs number[]
---@param ys number[]
---@return number
function M.spearman(xs, ys)
  return M.correlation(M.ranks(xs), M.ranks(ys))
end

--- The distribution-free interval of a median: the k-th least and the k-th greatest value, with the
--- largest k whose coverage 1 - 2 P(B(n, 1/2) < k) is enough (David and Nagaraja, "Order
--- Statistics", 2003, section 7.1).
---@param list number[]
---@param confidence? number 0.95
---@return { median: number, low: number, high: number, coverage: number }? interval nil where even
---  the extremes do not cover enough: below 6 values, at 0.95
function M.median_interval(list, confidence)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local n, enough = #sorted, confidence or 0.95
  local log_p, outside, best = -n * math.log(2), 0, nil
  for k = 1, n // 2 do
    outside = outside + 2 * math.exp(log_p)
    if 1 - outside < enough then break end
    best = { median = M.median(list), low = sorted[k], high = sorted[n + 1 - k],
             coverage = 1 - outside }
    log_p = log_p + math.log((n - k + 1) / k)
  end
  return best
end

-- How many of the arrangements of n and m values without ties have U <= most, and how many there
-- are. The greatest value is one of the n, above all m, or one of the m.
local function arrangements(n, m, most)
  local known = {}
  local function count(i, j, u)
    if u < 0 then return 0 end
    if i == 0 or j == 0 then return u == 0 and 1 or 0 end
    local key = (i * (m + 1) + j) * (n * m + 1) + u
    known[key] = known[key] or count(i - 1, j, u - j) + count(i, j - 1, u)
    return known[key]
  end
  local few, all = 0, 0
  for u = 0, n * m do
    local c = count(n, m, u)
    few, all = few + (u <= most and c or 0), all + c
  end
  return few, all
end

-- Two-sided tail of the normal distribution beyond z >= 0, to 1e-7 (Abramowitz and Stegun, 7.1.26).
local function normal_tails(z)
  local x = z / math.sqrt(2)
  local t = 1 / (1 + 0.3275911 * x)
  return t * math.exp(-x * x) * (0.254829592 + t * (-0.284496736 + t * (1.421413741
    + t * (-1.453152027 + t * 1.061405429))))
end

-- Sum of t^3 - t over groups of t equal values.
local function tie_sum(list)
  local times, sum = {}, 0
  for _, v in ipairs(list) do times[v] = (times[v] or 0) + 1 end
  for _, t in pairs(times) do sum = sum + (t * t * t - t) end
  return sum
end

local EXACT_UP_TO = 20 -- values in each list

--- Mann and Whitney's test whether values of `a` tend to be greater (or less) than those of `b`.
--- p is exact for up to 20 values a list without ties, else normal, corrected for ties and
--- continuity.
---@param a number[]
---@param b number[]
---@return { u: number, p: number, a12: number } u pairs in which a's is greater, equal ones half
function M.mann_whitney(a, b)
  local n, m = #a, #b
  if n == 0 or m == 0 then error("gilua.stats.mann_whitney: a list is empty", 2) end
  local pooled = table.move(b, 1, m, n + 1, table.move(a, 1, n, 1, {}))
  local ranks, sum = M.ranks(pooled), 0
  for i = 1, n do sum = sum + ranks[i] end
  local u, ties = sum - n * (n + 1) / 2, tie_sum(pooled)
  local p
  if ties == 0 and n <= EXACT_UP_TO and m <= EXACT_UP_TO then
    local few, all = arrangements(n, m, math.min(u, n * m - u))
    p = math.min(1, 2 * few / all)
  else
    local variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    local off = math.max(0, math.abs(u - n * m / 2) - 0.5)
    p = variance > 0 and normal_tails(off / math.sqrt(variance)) or 1
  end
  return { u = u, p = p, a12 = u / (n * m) }
end

--- Vargha and Delaney's effect size: the chance that a value of `a` is greater than one of `b`,
--- equal ones counted half. 0.56, 0.64, 0.71 are their small, medium and large.
---@param a number[]
---@param b number[]
---@return number
function M.a12(a, b)
  return M.mann_whitney(a, b).a12
end

--- The item whose `key` is least (the first of equals), and that key; nil for an empty list.
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

--- At most so many of a list, evenly over all of it: the first, the last and between.
---@generic T
---@param list T[]
---@param most integer
---@return T[] some
---@return T[] rest
function M.evenly(list, most)
  local some, rest, taken = {}, {}, {}
  local last = math.min(most, #list) - 1
  for i = 0, last do taken[1 + i * (#list - 1) // math.max(last, 1)] = true end
  for i, item in ipairs(list) do table.insert(taken[i] and some or rest, item) end
  return some, rest
end

--- How many items satisfy `test`.
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
