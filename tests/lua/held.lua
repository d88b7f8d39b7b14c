-- held: every proposal for a kernel, each applied alone and held against the kernel as it is, on
-- the virtual GPU with all checks on. For tests of the facts that proposals stand on, and for the
-- fuzzer of rewritings (tests/fuzz/rewritings.lua).
--
-- The kernel is one of rewritten.source: k(out, a, b, n), or has parameters of heldruns. Kernels
-- and all that is made of them are compiled in one call, by a compiler that optimises little: that
-- takes a tenth of the time, and hides nothing that a source says. A proposal with a promise is
-- MARKED, and is not held, but for those whose promise the data keep (KEEPS).

local apart = require "gilua.facts.apart"
local gi = require "gilua"
local heldruns = require "heldruns"
local kernel = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local lines = require "gilua.source.lines"
local transform = require "gilua.transform.transform"

local M = {}

-- Kinds that compute in another order or with other roundings.
local ROUNDS = { divide = true, vector = true, split_accumulator = true,
  warp_row = true, warp_loop = true, subwarp = true, tree = true, warp_atomic = true,
  block_atomic = true, merge_threads = true, widen = true, coarsen = true, merge = true,
  grid_stride = true, grid_size = true, axes = true, float = true }
-- Kinds whose promise is kept: by numbers that are small, whole or of eighths; by arrays that are
-- longer than what is asked of them.
local KEEPS = { float = true, narrow = true, search = true }
local EXACT = { plain = true, whole = true, ties = true }
-- Kinds of which the checked run says whether threads meet.
local RACES_TELL = { fuse_kernels = true }
local SIZES = { 0, 1, 2, 5, 33 }
M.SIZES = SIZES

local device = heldruns.device

-- ---- proposals --------------------------------------------------------------------------------

local function function_at(known, line)
  for _, fn in ipairs(known.functions) do
    if fn.line <= line and line <= fn.last_line then return fn end
  end
end

local function reach_of(edits)
  local first, last = math.huge, 0
  for _, e in ipairs(edits) do first, last = math.min(first, e[1]), math.max(last, e[2]) end
  return { first, last }
end

local function proposal(known, before, kind, place)
  local change = kind.make(known, place.line, place.args or {})
  local edited = change and change.edits and lines.edited(before, change.edits)
  if not edited then return nil end
  local at, fn = ("%s<%d>"):format(kind.name, place.line), function_at(known, place.line)
  return { kind = kind.name, place = at, text = (lines.text(edited)), launch = change.launch,
    promise = change.promise or kind.promise, fn = fn, reach = reach_of(change.edits),
    pairs = change.pairs or kind.apart and fn and apart.pairs(fn) or {},
    gene = ("%s(%s)"):format(at, table.concat(place.args or {}, ",")) }
end

-- The places of each kind at a line, together: { kind, places }.
local function places_of(known)
  local list = {}
  for _, kind in ipairs(transform.list()) do
    local at = {}
    for _, place in ipairs(kind.find(known)) do
      if not at[place.line] then
        at[place.line] = { kind = kind, places = {} }
        list[#list + 1] = at[place.line]
      end
      table.insert(at[place.line].places, place)
    end
  end
  return list
end

--- All proposals for a source but those of other functions' parts, which claim nothing:
--- { gene, kind, place, text, launch, promise, pairs, fn, reach }.
---@param source string
---@param options? table of kernel.read
---@return table[]
function M.proposals(source, options)
  local known, before, list = kernel.of_text(source, options), lines.of(source), {}
  for _, at in ipairs(places_of(known)) do
    for _, place in ipairs(at.places) do
      list[#list + 1] = proposal(known, before, at.kind, place)
    end
  end
  return list
end

-- The proposals that are held, of a kind at a line every one, or one, drawn with a generator, else
-- the first; and how many have a promise, which are not.
local function chosen(known, source, options)
  local list, marked, before = {}, 0, lines.of(source)
  local kinds = options.kinds and " " .. options.kinds .. " "
  for _, at in ipairs(places_of(known)) do
    local is_asked = not kinds or kinds:find(" " .. at.kind.name .. " ", 1, true)
    local some = options.every and at.places
      or { options.rng and options.rng:pick(at.places) or at.places[1] }
    for _, place in ipairs(is_asked and some or {}) do
      local one = proposal(known, before, at.kind, place)
      local is_marked = one and one.promise and not KEEPS[one.kind]
      marked = marked + (is_marked and 1 or 0)
      list[#list + 1] = not is_marked and one or nil
    end
  end
  return list, marked
end

-- ---- runs -------------------------------------------------------------------------------------

local function shape_of(run, options)
  return { grid = run.grid or options.grid, block = run.block or options.block }
end

-- Those of some runs on which the kernel as it is does nothing wrong, with its answers; why not.
local function possible(job, code)
  local list, why = {}, nil
  local module = assert(device:load(code))
  for _, run in ipairs(job.options.runs) do
    local answers, reason = heldruns.original(module, run, job.kernels, shape_of(run, job.options),
      job.options.races)
    if answers then
      list[#list + 1] = { run = run, answers = answers }
    else
      why = why or ("n = %d: %s"):format(run[1], reason)
    end
  end
  return list, why
end

local function threads_of(shape)
  local n = 1
  for _, sides in ipairs { shape.grid, shape.block } do
    for _, side in ipairs(type(sides) == "table" and sides or { sides }) do n = n * side end
  end
  return n
end

-- Does a proposal claim nothing of a run? That a grid has a thread for all there is, others keep
-- (gilua.new.covered); sums in another order may overflow where something was divided by next to 0.
local function is_beyond(one, want, job)
  local data, n = want.run[2], want.run[1]
  return one.launch and threads_of(shape_of(want.run, job.options)) < n
    or one.promise and not EXACT[data]
    or ROUNDS[one.kind] and data == "tiny" and job.source:find "[%w%])] / [%w(]"
end

-- The launch of a proposal's kernel on a run; nil where the proposal claims nothing of that one.
local function changed_for(one, want, job)
  if is_beyond(one, want, job) then return nil end
  if heldruns.breaks(one.pairs, one.fn, one.reach, want.answers) then return nil end
  local fits, shape = pcall(launch.changed, shape_of(want.run, job.options), one.launch)
  return fits and { of = one.fn and one.fn.name, shape = shape,
    joined = one.launch and one.launch:match "before%.([%w_]+)" } or nil
end

local function differs(one, module, want, changed, job)
  local shape = shape_of(want.run, job.options)
  local got, why = heldruns.rewritten(module, want.run, job.kernels, shape, job.options.races,
    changed)
  local race_tells = RACES_TELL[one.kind] or want.run.overlap -- of a load, too, that had no use
  if not got and race_tells and why:find "^race" then return nil end
  return not got and why
    or got and heldruns.difference(got, want.answers, ROUNDS[one.kind] or false) or nil
end

-- How a proposal goes wrong; nil where it does not. Second result: on how many runs it was held.
local function judged(one, code, runs, job)
  local module, why = device:load(code)
  if not module then return why, 1 end
  local n = 0
  for _, want in ipairs(runs) do
    local changed = changed_for(one, want, job)
    local how = changed and differs(one, module, want, changed, job)
    n = n + (changed and 1 or 0)
    if how then
      local where = want.run.overlap and ", arrays overlap" or ""
      return ("n = %d, %s data%s: %s"):format(want.run[1], want.run[2], where, how), n
    end
  end
  return nil, n
end

-- ---- kernels ----------------------------------------------------------------------------------

---@class Held
---@field held integer proposals that were run
---@field kinds table<string, integer> how many of each kind
---@field marked integer those with a promise, which were not
---@field runs integer on which the kernel as it is does nothing wrong
---@field why? string why it is not run, on the others
---@field broken table[] proposals that do not compile, or cannot be launched, with `how`
---@field wrong table[] those that answer otherwise, or end otherwise, with `how`

--- A source with its proposals, for M.examine_all.
---@param source string
---@param options { grid: any, block: any, races: boolean, runs: table[], type: string?,
---  kinds: string?, rng: table?, every: boolean?, values: function? }
---@return table job
function M.job(source, options)
  local known = kernel.of_text(source, { values = options.values })
  local tried, marked = chosen(known, source, options)
  return { source = source, options = options, tried = tried, marked = marked,
    kernels = heldruns.kernels(known, source, options.type) }
end

local FAST = { "--Ofast-compile=max" } -- of NVRTC 12.9 or later

-- What the compiler makes of all texts of some jobs, by one call: { code?, log } each, in order.
local function compiled(jobs)
  local units = {}
  for _, job in ipairs(jobs) do
    local function add(text) units[#units + 1] = { source = text, names = job.kernels.names } end
    add(job.source)
    for _, one in ipairs(job.tried) do add(one.text) end
  end
  local target = device:target()
  return gi.compile.batch(units, { target = target, options = FAST })
    or assert(gi.compile.batch(units, { target = target }))
end

local function add_judged(result, one, made, runs, job)
  local n = 1
  if made.code then one.how, n = judged(one, made.code, runs, job) else one.how = made.log end
  if not made.code or one.how and one.how:find "launch refused" then
    table.insert(result.broken, one)
  elseif n > 0 then
    result.held = result.held + 1
    result.kinds[one.kind] = (result.kinds[one.kind] or 0) + 1
    if one.how then table.insert(result.wrong, one) end
  end
end

-- list: what the compiler made, from `at` on of this job.
local function result_of(job, list, at)
  local result = { held = 0, kinds = {}, marked = job.marked, runs = 0, broken = {}, wrong = {} }
  if not list[at].code then
    result.why = list[at].log
    return result
  end
  local runs, why = possible(job, list[at].code)
  result.runs, result.why = #runs, why
  for i, one in ipairs(#runs > 0 and job.tried or {}) do
    add_judged(result, one, list[at + i], runs, job)
  end
  return result
end

--- Holds the proposals of several sources.
---@param jobs table[] of M.job
---@return Held[]
function M.examine_all(jobs)
  local list, results, at = compiled(jobs), {}, 1
  for i, job in ipairs(jobs) do
    results[i] = result_of(job, list, at)
    at = at + 1 + #job.tried
  end
  return results
end

--- Holds the proposals for a source.
---@param source string
---@param options table as of M.job
---@return Held
function M.examine(source, options) return M.examine_all({ M.job(source, options) })[1] end

--- The proposals whose kernel answers or ends otherwise than the source: "gene: how"; and how many
--- were held.
---@param source string
---@param options? table as of examine; sizes in the place of runs
---@return string[] wrong
---@return integer held
function M.wrong(source, options)
  local all = { grid = 1, block = 32, races = true, runs = {} }
  for key, value in pairs(options or {}) do all[key] = value end
  for i, n in ipairs(all.sizes or SIZES) do all.runs[i] = { n, "plain" } end
  local found = M.examine(source, all)
  assert(found.runs > 0, found.why)
  local list = {}
  for i, one in ipairs(found.wrong) do list[i] = one.gene .. ": " .. one.how end
  return list, found.held
end

return M
