-- judgement: is a kernel of another file (gilua.counterpart) right, and is it faster than a
-- problem's own?
--
-- It is right where it gives the answers of the problem's kernel on data of every kind and at other
-- sizes, with every check on, with its first block first and its last block first, and launched a
-- second time (gilua.otherdata); and on full-sized data that nobody saw. It is faster where it took
-- less time there, each launch beside one of the problem's kernel.

local certificate = require "gilua.new.certificate"
local fitness = require "gilua.search.fitness"
local limit = require "gilua.study.limit"
local otherdata = require "gilua.new.otherdata"
local own = require "gilua.problem.own"
local stats = require "gilua.base.stats"

local M = {}

local UNSEEN = 1 << 32 -- seeds from here on are never drawn in evolution
local USES = require("gilua.problem.recorded").USES
local LEAST_GAIN = 1.01 -- of ticks, which are a model's: less is no gain
local LEAST_SHARE = 0.5 -- of the bytes that the old kernel touches: the verdict mentions fewer
local DRAM_BYTES = require("gilua.base.gpu.h200").dram_bytes_per_clock

---@class Judgement
---@field other OtherData
---@field rows table[] of full-sized cases nobody saw
---@field right boolean
---@field faster boolean
---@field fault? { data: string, case: string, spec: table, why: string } the first input that
---  shows a fault
---@field ratio? { median: number, low: number, high: number }
---@field answers integer
---@field max_error number on the full-sized cases
---@field few_bytes? number their share of the old kernel's, where that is small
---@field bytes? number that it touches, each once
---@field old_bytes? number likewise of the problem's kernel
---@field limit? gilua.roofline of it
---@field no_limit? string why there is none
---@field impossible? string a time that memory does not allow
---@field promises string[]
---@field certificate? Certificate
---@field held? string why its sizes are a guess, so that it is not said to be right
---@field guesses string[] what it rests on

--------------------------------------------------------------------------------------------------
-- Full-sized data

-- Why a measurement is wrong, in words; nil where it is right.
local function why_wrong(m)
  if m.status ~= "ok" then return (m.message or m.status):match "^[^\n]*" end
  if fitness.right(m) then return nil end
  return ("%d of %d answers, %s"):format(math.floor(m.off * m.n + 0.5), m.n,
    m.unset > 0 and "some never written" or ("largest error %.3g"):format(m.max_error))
end

-- A case: answers first, then the two beside each other.
local function row_of(farm, new, spec)
  new:reach { spec }
  local both = farm:evaluate({ new, "" }, spec, { wrong = "whole" })
  local info = farm:case_info()
  local row = { case = info.name, spec = spec, answers = both[1].n, max_error = both[1].max_error,
    m = both[1], old = both[2] }
  if both[2].status ~= "ok" or not fitness.right(both[2]) then
    row.untold = "the old kernel does not give its own answers there"
    return row
  end
  row.slow = both[1].status == "timeout" and both[1].message or nil
  row.why = not row.slow and why_wrong(both[1]) or nil
  if row.why or row.slow then return row end
  local claim = farm:compare(new, "", spec, {})
  if claim.status ~= "ok" then
    row.why = claim.message
    return row
  end
  row.ratio, row.low, row.high = claim.ratio, claim.low, claim.high
  row.ns, row.old_ns = stats.median(claim.a_ns), stats.median(claim.b_ns)
  return row
end

--- The specs of full-sized cases that nobody saw.
---@param problem gilua.problem
---@param o { cases: integer, seed: integer, device: string }
---@return table[]
function M.unseen(problem, o)
  local list = {}
  for i = 1, o.cases do list[i] = own.case(problem, UNSEEN + 1000 * o.seed + i, o.device) end
  return list
end

local function ratio_of(rows)
  local ratios, low, high = {}, math.huge, 0
  for _, row in ipairs(rows) do
    if row.ratio then
      ratios[#ratios + 1] = row.ratio
      low, high = math.min(low, row.low), math.max(high, row.high)
    end
  end
  return #ratios > 0 and { median = stats.median(ratios), low = low, high = high } or nil
end

--------------------------------------------------------------------------------------------------
-- Bytes over time

local function bytes_of(m)
  return m and m.least_memory and m.least_memory * DRAM_BYTES or nil
end

-- Bytes and their least time, of the last case that ran.
local function set_limits(j, farm, new, claimed_ns)
  local row = j.rows[#j.rows]
  if not row or not row.ratio then return end
  j.bytes, j.old_bytes = bytes_of(row.m), bytes_of(row.old)
  local measured = claimed_ns and { status = "ok", ns = claimed_ns } or row.m
  if claimed_ns then
    for _, name in ipairs { "least_memory", "least_arithmetic" } do measured[name] = row.m[name] end
  end
  local limits, why = limit.of(farm, { new }, row.spec, { measured })
  j.limit, j.no_limit = limits and limits[1], why
end

-- A time below what its bytes take is no time of this kernel's.
local function set_impossible(j, claimed_ns)
  local ns = claimed_ns or j.rows[1] and j.rows[1].ns
  if not j.limit or not ns or ns >= j.limit.memory_ns then return end
  j.impossible = ("%.2f us are too short: what the kernel reads and writes, each byte once, takes "
    .. "%.2f us at the speed of the memory"):format(ns / 1e3, j.limit.memory_ns / 1e3)
end

--------------------------------------------------------------------------------------------------
-- Promises

local VECTOR = "%f[%w](%a%a)%.global[%w.]-%.v([24])%.[%a]+(%d+)"

-- The most bytes that an instruction of a PTX text takes at a time.
local function widest(ptx)
  local most = 0
  for _, n, bits in (ptx or ""):gmatch(VECTOR) do
    most = math.max(most, tonumber(n) * tonumber(bits) // 8)
  end
  return most
end

-- A parameter that a kernel's head has as __restrict__.
local function is_restricted(source, kernel, name)
  local head = source:match("%f[%w_]" .. kernel .. "%s*(%b())") or ""
  return head:find("__restrict__%s*" .. name .. "%f[^%w_]") ~= nil
end

local function of_restrict(problem, new, tell)
  local names, seen = {}, {}
  for i, p in ipairs(new.read.params) do
    local match = new.found[i]
    local old = match and new.olds[match.old].name
    local is_new = p.pointer and not seen[old]
      and is_restricted(new.read.sliced.source, new.kernel, p.name)
      and not is_restricted(problem.source, problem.kernel, old or "")
    if is_new then names[#names + 1], seen[old] = old, true end
  end
  if #names == 0 then return end
  tell("that %s share%s no memory with another array, as it says __restrict__ and the old "
    .. "kernel does not", table.concat(names, ", "), names[2] and "" or "s")
end

local function of_alignment(farm, new, tell)
  local bytes = widest((farm:ptx(new)))
  if bytes > widest((farm:ptx "")) then
    tell("that what it reads %d bytes at a time begins at a multiple of %d bytes", bytes, bytes)
  end
end

local function of_sizes(j, new, tell)
  local fixed
  for _, row in ipairs(j.other.rows) do
    fixed = fixed or row.verdict == "not told" and row.why:find "^not run: the launch in"
  end
  if new.own_size then
    tell "that no launch has another size, which --own-size takes for granted"
  elseif fixed then
    tell("that every launch has this size, for the one in %s is of one size", new.path)
  end
end

-- What no run shows.
local function promises_of(j, problem, farm, new)
  local list = {}
  local function tell(...) list[#list + 1] = string.format(...) end
  of_sizes(j, new, tell)
  of_restrict(problem, new, tell)
  of_alignment(farm, new, tell)
  list[#list + 1] = otherdata.unchecked(j.other)
  return list
end

--------------------------------------------------------------------------------------------------
-- The verdict

local function fault_of(j)
  for _, row in ipairs(j.other.rows) do
    if row.verdict == "wrong" then
      return { data = row.data, case = row.case, spec = row.spec, why = row.why }
    end
  end
  for _, row in ipairs(j.rows) do
    if row.why then
      return { data = "data of full size", case = row.case, spec = row.spec, why = row.why }
    end
  end
end

local function count(j)
  j.answers, j.max_error = 0, 0
  for _, list in ipairs { j.other.rows, j.rows } do
    for _, row in ipairs(list) do
      local is_right = row.verdict == "right" or row.ratio
      j.answers = j.answers + (is_right and row.answers or 0)
      if row.ratio then j.max_error = math.max(j.max_error, row.max_error) end
    end
  end
end

-- What a first run says that is no verdict: it does not compile, or the launch is refused.
local function refused(farm, new)
  local verdict = farm:check({ new })[1]
  return verdict.status == "compile_error" and verdict.message or nil
end

-- What all rows say together.
local function settle(j, farm, new, o)
  count(j)
  j.fault = fault_of(j)
  j.ratio = ratio_of(j.rows)
  j.held, j.guesses = otherdata.held(j.other), otherdata.rests(j.other)
  j.right = not j.fault and j.answers > 0 and not j.held
  j.faster = j.right and j.ratio ~= nil and j.ratio.low > (farm.virtual and LEAST_GAIN or 1)
  set_limits(j, farm, new, o.claimed_ns)
  set_impossible(j, o.claimed_ns)
  local share = j.bytes and j.old_bytes and j.old_bytes > 0 and j.bytes / j.old_bytes
  j.few_bytes = share and share < LEAST_SHARE and share or nil
  j.promises = {}
  return j
end

--- Judges.
---@param problem gilua.problem of a kernel table
---@param farm gilua.farm
---@param new Counterpart
---@param o { cases: integer, seed: integer, device: string, claimed_ns?: number,
---  on_data?: fun(data: OtherData), on_row?: fun(row: table) }
---@return Judgement? judgement
---@return string? why it cannot be judged
function M.of(problem, farm, new, o)
  new:reach { problem.checked_case }
  local why = refused(farm, new)
  if why then return nil, why end
  local j = { rows = {}, other = otherdata.of(problem, farm, new, UNSEEN + o.seed) }
  if o.on_data then o.on_data(j.other) end
  for i, spec in ipairs(M.unseen(problem, o)) do
    j.rows[i] = row_of(farm, new, spec)
    if o.on_row then o.on_row(j.rows[i]) end
  end
  settle(j, farm, new, o)
  j.promises = j.right and promises_of(j, problem, farm, new) or {}
  j.certificate = j.right and certificate.of { problem = problem, genome = new, seed = o.seed,
    jobs = farm.jobs } or nil
  return j
end

--------------------------------------------------------------------------------------------------
-- Recordings

-- The small case with every check on.
local function checked_row(farm, new)
  local verdict = farm:check({ new })[1]
  return { data = "the recording, checked", case = "checked", spec = {}, why = verdict.message,
    verdict = verdict.status == "ok" and "right" or "wrong" }
end

--- Judges in the place of a recorded kernel: on each of the recordings, as they were.
---@param problem gilua.problem of recordings
---@param farm gilua.farm
---@param new RecordedCounterpart
---@param o table of M.of
---@return Judgement? judgement
---@return string? why it cannot be judged
function M.of_recorded(problem, farm, new, o)
  local why = refused(farm, new)
  if why then return nil, why end
  local row = checked_row(farm, new)
  local j = { rows = {}, other = { rows = { row }, right = row.why and 0 or 1,
    wrong = row.why and 1 or 0 } }
  if o.on_data then o.on_data(j.other) end
  local recorded = problem.definition.recorded
  for _, use in ipairs(USES) do
    for _, spec in ipairs(recorded:specs(use)) do
      j.rows[#j.rows + 1] = row_of(farm, new, spec)
      if o.on_row then o.on_row(j.rows[#j.rows]) end
    end
  end
  return settle(j, farm, new, o)
end

return M
