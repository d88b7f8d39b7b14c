--- fills: data that can tell. What arrays begin with is guessed; other fills are tried until no
-- more changes of the kernel are noticed (gilua.study.adequacy).

local adequacy = require "gilua.study.adequacy"
local attempt = require "gilua.base.attempt"
local compiled = require "gilua.farm.compiled"
local gi = require "gilua"
local liveline = require "gilua.base.liveline"

local M = {}

local MOST_TRIES = 8
local FEW_TRIES = 2 -- of places alone, where there is no time for more
local MOST_WORK = 100e6 -- warp instructions of the probes of one try
local MOST_TEXT = 4e6 -- bytes of source that the compiler is given for them: some seconds

-- Places that are hit once each, where two threads would meet at one: whole numbers that are read.
local function places(arg, role)
  local is_index = arg.count and not arg.members and role == "in" and arg.type:find "^[iu][36]"
  return is_index and { '"permutation"' } or {}
end

local ALL_BITS = { i32 = "{ -2147483647, 2147483647 }", u32 = "{ 0, 4294967295 }",
  i64 = '"bits"', u64 = '"bits"' }

-- Fills to try for an array, the likeliest first; none for what is an index of something.
local function usual(arg, role)
  local is_array = arg.count or arg.in_memory
  if not is_array or arg.members or role == "out" or role == "scratch" then return {} end
  if arg.type:find "^f" then return { '"mixed"', '"normal"', "{ -1, 1 }" } end
  if arg.fill == "0" or arg.fill == nil or arg.fill:find "^{ 0, %d+ }$" then
    return { '"mixed"', ALL_BITS[arg.type] }
  end
  return {}
end

-- Of what seems an index it may be that only some bits are one.
local function masked(arg, role)
  local is_place = role == "in" and not arg.members and (arg.fill or ""):find '^{ 0, "'
  return is_place and { ALL_BITS[arg.type] } or {}
end

-- What to try but for arrays that the host fills: these stay so, unless that shows too little.
local function unless_told(candidates, best)
  return function(arg, role)
    local is_kept = arg.told and best and not adequacy.is_weak(best)
    return is_kept and {} or candidates(arg, role)
  end
end

-- How much of the kernel's changes the data show.
local function all_shown(problem, farm)
  return adequacy.of(problem, farm, nil, { most_work = MOST_WORK })
end

-- Only whether the kernel as it is runs, where there is no time for more: nothing is known of the
-- data but that they will do.
local function only_runs(problem, farm)
  farm:evaluate({ "" }, problem.checked_case)
  return { score = 1, nan = 0, noticed = 0, probes = 0, only_runs = true }
end

-- What the small case notices; nil and why where the kernel as it is does not run right on such
-- data.
local function score_of(problem, self)
  local farm <close> = gi.farm(problem, { device = "emu", compiled = self.kept, jobs = self.jobs,
    per_round = adequacy.PER_ROUND })
  local ok, found = attempt(self.judge, problem, farm)
  if ok then return found end
  if type(found) ~= "table" then error(found, 0) end -- an error of ours
  return nil, tostring(found):match "[^\n]*"
end

-- The fills of some arrays as they would be; a function puts back what was.
local function set(changes)
  local before = {}
  for arg, fill in pairs(changes) do before[arg], arg.fill = arg.fill or false, fill end
  return function()
    for arg, fill in pairs(before) do arg.fill = fill or nil end
  end
end

local function each_alone(rows, tries, candidates)
  for _, one in ipairs(rows) do
    for _, fill in ipairs(candidates(one.row, one.block.role)) do
      tries[#tries + 1] = { [one.row] = fill }
    end
  end
end

-- All at once with the likeliest, then each array with each of its own.
local function list_of_tries(rows, candidates)
  local all, n, tries = {}, 0, {}
  for _, one in ipairs(rows) do
    local first = candidates(one.row, one.block.role)[1]
    if first then all[one.row], n = first, n + 1 end
  end
  if n > 1 then tries[1] = all end
  each_alone(rows, tries, candidates)
  return tries
end

local function note(rows, was, now)
  for _, one in ipairs(rows) do
    local arg = one.row
    if now and now.only_runs and arg.fill ~= was[arg] then
      arg.notes[#arg.notes + 1] = "GUESS: places, each hit once"
    elseif now and arg.fill ~= was[arg] then
      arg.notes[#arg.notes + 1] = ("GUESS: a fill that shows %d of %d changes of the kernel")
        :format(now.noticed, now.probes)
    end
  end
end

-- Is a kernel so short that all its probes may be compiled?
local function is_short(problem)
  local left = MOST_TEXT // adequacy.MOST
  for word in problem.source:gmatch "%S+" do
    left = left - #word - 1
    if left < 0 then return false end
  end
  return true
end

-- Does one show more than another, or anything at all?
local function is_better(found, best)
  if not found or not best then return found ~= nil end
  return found.score > best.score and found.nan <= best.nan
end

-- Shows which fill is tried, and what the best so far shows.
local function show(self, best, n)
  liveline.show("trying fills %d of %d%s", self.tried, math.min(n, self.tried + self.left),
    best and best.probes > 0 and (", %d of %d changes noticed"):format(best.noticed, best.probes)
    or "")
end

-- Keeps of some tries those that show more, as long as there are any left to make: the best.
local function keep_better(self, tries, best)
  for _, try in ipairs(tries) do
    if self.left == 0 or best and best.score == 1 then break end
    self.left, self.tried = self.left - 1, self.tried + 1
    show(self, best, #tries)
    local back = set(try)
    local found = score_of(self.write(), self)
    if is_better(found, best) then best, self.changed = found, true else back() end
  end
  return best
end

--- Tries other fills of a draft's arrays and keeps those that show more.
---@param rows table[] of gilua.argumentguess.flat; their fills and notes are changed
---@param write fun(): gilua.problem the problem with the arguments as they are now
---@param most integer tries that there is time for; weak data get some all the same
---@param jobs? integer worker processes; one a core
---@return gilua.adequacy? found of what was kept; nil where the kernel as it is is not right
---@return boolean changed
---@return string? why it is not right
---@return { found?: gilua.adequacy, why?: string } before the data as they were
function M.improve(rows, write, most, jobs)
  local was = {}
  for _, one in ipairs(rows) do was[one.row] = one.row.fill end
  local problem = write()
  local judge = is_short(problem) and all_shown or only_runs
  if judge == only_runs then jobs = 1 end -- of one kernel; each worker would compile it
  local self = { write = write, judge = judge, jobs = jobs, changed = false, tried = 0,
    kept = compiled.new(), -- the probes are the same whatever the data
    left = judge == only_runs and FEW_TRIES or math.min(most, MOST_TRIES) }
  liveline.show("judging the data: are changes of the kernel noticed?")
  local best, why = score_of(problem, self)
  if best and adequacy.is_weak(best) then self.left = math.max(self.left, FEW_TRIES) end
  self.left = math.max(self.left, best and 0 or FEW_TRIES)
  local before = { found = best and not best.only_runs and best or nil, why = why }
  local is_race = why and why:find("(race)", 1, true)
  if is_race then best = keep_better(self, list_of_tries(rows, places), best) end
  if not is_race or best and judge == all_shown then
    local tries = list_of_tries(rows, unless_told(usual, best))
    each_alone(rows, tries, unless_told(masked, best))
    best = keep_better(self, tries, best)
  end
  note(rows, was, best)
  write()
  return best and not best.only_runs and best or nil, self.changed, not best and why or nil,
    before
end

return M
