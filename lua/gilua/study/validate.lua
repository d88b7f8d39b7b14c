-- validate: compares the winner with the unmodified kernel on data that neither tuning nor
-- evolution has seen (GECCO 2014, §4.4): every answer against the CPU's, training against unseen
-- cases, and the GPU against the CPU.

local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local settings = require "gilua.base.settings"
local stats = require "gilua.base.stats"

local M = {}

local OPTIONAL = { "problem", "farm", "cases", "genome", "pairs", "training", "on_row" }

local function counted(fraction, n)
  return math.floor(fraction * n + 0.5)
end

-- A ratio to a kernel that fails, or is wrong, would say nothing.
local function require_base(o, m, case)
  if fitness.right(m) then return end
  fail("the kernel that '%s' is to be compared with ('%s') is not right on %s "
    .. "(%s, largest error %g): give another base", o.genome, o.base, case, m.status, m.max_error)
end

-- One case: answers first, then speed where they are right.
local function row_of(o, case)
  local text = genome.join { o.genome }
  local both = o.farm:evaluate({ text, o.base }, case)
  local m = both[1]
  require_base(o, both[2], o.farm:case_info().name)
  local info = o.farm:case_info()
  local row = {
    case = info.name, size = info.size, group = info.group, status = m.status,
    message = m.message, answers = m.n,
    wrong = counted(m.wrong, m.n), unset = counted(m.unset, m.n),
    nan = counted(m.nan or 0, m.n), max_error = m.max_error,
    right = fitness.right(m), ns = m.ns, base_ns = both[2].ns,
  }
  if not row.right then return row end
  local claim = o.farm:compare(text, o.base, case, { pairs = o.pairs })
  if claim.status ~= "ok" then
    row.status, row.message, row.right = claim.status, claim.message, false
    return row
  end
  row.ratio, row.low, row.high, row.pairs = claim.ratio, claim.low, claim.high, claim.pairs
  row.ns, row.base_ns = stats.median(claim.a_ns), stats.median(claim.b_ns)
  return row
end

local function ratios_of(rows)
  local list, logs = {}, 0
  for _, row in ipairs(rows) do
    if row.ratio then
      list[#list + 1] = row.ratio
      logs = logs + math.log(row.ratio)
    end
  end
  if #list == 0 then return nil end
  return { median = stats.median(list), least = math.min(table.unpack(list)),
           greatest = math.max(table.unpack(list)), geometric = math.exp(logs / #list) }
end

-- The reference's own time, on one core and on all, for the last case; or nil, message. What was
-- validated stays so where the CPU cannot be timed.
local function against_cpu(o, case, row)
  local cores = require("gilua.core").system.cores()
  local one, why = o.problem:time_reference(case, 1)
  if not one then return nil, why end
  local all
  all, why = o.problem:time_reference(case, cores)
  if not all then return nil, why end
  return { one_s = one, all_s = all, threads = cores, case = row.case, kernel_ns = row.ns,
           faster_one = one * 1e9 / row.ns, faster_all = all * 1e9 / row.ns }
end

--- Compares a genome with a base on every case.
---@param options table { problem, farm, cases, genome, base?, pairs?, training?, on_row? }: base is
---  a genome too, "" the kernel as it is; training: the ratio on a case of training; on_row(row) as
---  they come
---@return table { rows, answers, wrong, nan, max_error, ratio?, training?, all_right, cpu?,
---  cpu_message? } cpu_message: why there is no cpu
function M.run(options)
  local o = settings.fill("gilua.validate.run", options, { base = "", pairs = 100 }, OPTIONAL)
  for _, name in ipairs { "problem", "farm", "cases", "genome" } do
    if o[name] == nil then error("gilua.validate.run: '" .. name .. "' is missing", 2) end
  end
  local v = { rows = {}, answers = 0, wrong = 0, nan = 0, max_error = 0, all_right = true,
              training = o.training }
  for i, case in ipairs(o.cases) do
    local row = row_of(o, case)
    v.rows[i] = row
    v.answers, v.wrong = v.answers + row.answers, v.wrong + row.wrong
    v.nan = v.nan + row.nan
    v.max_error = math.max(v.max_error, row.max_error)
    v.all_right = v.all_right and row.right
    if o.on_row then o.on_row(row) end
  end
  v.ratio = ratios_of(v.rows)
  local last = v.rows[#v.rows]
  if last and last.right then
    v.cpu, v.cpu_message = against_cpu(o, o.cases[#o.cases], last)
  end
  return v
end

return M
