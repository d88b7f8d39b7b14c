-- limits: the resources that a mutant may use, relative to the unmodified kernel.
--
-- The small case costs little, so its limit is wide enough to distinguish a slow mutant from an
-- endless one. On the whole case a mutant that is ten times as slow is of no use.

local CHECK_FACTOR = 100 -- warp instructions, up to …
local MOST_CHECKED = 50000000 -- … so many, but RUN_FACTOR times as many in any case
local COMPILE_FACTOR = 10 -- seconds of a processor, and no less than …
local LEAST_COMPILE_S = 8
local BATCH_SHARE = 1 / 4 -- of such a limit several mutants have together, and no less than …
local BATCH_FACTOR = 3 -- … what others of their number took

local M = {}

M.RUN_FACTOR = 10 -- warp instructions, or seconds on a GPU

--- Seconds of a processor that a mutant's compilation may take. In steps of a factor of two: the
--- limit stands in messages, and no two measurements are the same.
---@param most number
---@param unmodified_s number? that the unmodified kernel's took; nil while nobody knows
---@return number
function M.compile_limit(most, unmodified_s)
  if not unmodified_s then return most end
  local limit = LEAST_COMPILE_S
  while limit < COMPILE_FACTOR * unmodified_s do limit = 2 * limit end
  return math.min(limit, most)
end

--- Warp instructions that a mutant may use on the small case, by the unmodified kernel's.
---@param own integer
---@return integer
function M.checked_budget(own)
  return math.max(math.min(own * CHECK_FACTOR, MOST_CHECKED), own * M.RUN_FACTOR)
end

--- Seconds of a processor that several may take in one call: it only has to be told from one that
--- does not end, whose mutants are then compiled one by one.
---@param limit number of one alone
---@param n integer
---@param each_s number? that a mutant took in the fastest call of several; nil while nobody knows
---@return number
function M.batch_limit(limit, n, each_s)
  if not each_s then return limit end
  return math.max(BATCH_SHARE * limit, BATCH_FACTOR * n * each_s)
end

return M
