-- rewritings: every proposal for a made kernel answers as the kernel does, or is MARKED.
--
--   gilua tests/fuzz/rewritings.lua SECONDS SEED            for so many seconds of a processor
--   gilua tests/fuzz/rewritings.lua FILE                    one kernel, a finding say
--   gilua tests/fuzz/rewritings.lua COUNT kernels SEED [--shard I/N] [--log FILE]
--   gilua tests/fuzz/rewritings.lua sum FILE...             what logs say together
--
-- A kernel is that of its own seed, made by madekernels; a quarter of them are what a proposal made
-- of one. Seed S begins at kernel S * SPAN. With a log what is done is written down, and a run with
-- the same log goes on behind it; of N shards each does every N-th group. A finding is written
-- down, and then made small, which takes minutes.

local here = arg[0]:match "^(.*/)" or "./"
package.path = ("%s?.lua;%s../lua/?.lua;"):format(here, here) .. package.path
local core = require "gilua.core"
local held = require "held"
local launch = require "gilua.transform.launch"
local madekernels = require "madekernels"
local shrink = require "shrink"
local transform = require "gilua.transform.transform"

local SPAN = 1 << 24
local GROUP = 8 -- kernels that are compiled together
local SECOND = 4 -- one of so many kernels is what a proposal made of another

-- ---- kernels ----------------------------------------------------------------------------------

local function joined(sides) return table.concat(sides, ",") end

-- A text that is launched in this shape, whatever its words would say.
local function with_launch(text, shape)
  local own = madekernels.held(text, {})
  local grid, block = joined(shape.grid), joined(shape.block)
  if joined(own.grid) == grid and joined(own.block) == block then return text end
  return ("// launch %s %s\n%s"):format(grid, block, (text:gsub("^// launch [^\n]*\n", "")))
end

-- What a proposal that promises nothing makes of a source, with its launch; nil where none does.
local function second(source, rng)
  local options, list = madekernels.held(source, {}), {}
  for _, one in ipairs(held.proposals(source, { values = options.values })) do
    local fits, shape = pcall(launch.changed, options, one.launch)
    if not one.promise and fits and not (one.launch or ""):find "before" then
      list[#list + 1] = { one.text, shape }
    end
  end
  if #list == 0 then return nil end
  local text, shape = table.unpack(rng:pick(list))
  return with_launch(text, shape)
end

-- The kernel of a seed, and how it is held.
local function kernel_of(seed)
  local rng = core.rng.new(seed)
  local source = madekernels.make(rng)
  source = rng:int(SECOND) == 1 and second(source, rng) or source
  return { seed = seed, source = source, job = held.job(source,
    madekernels.held(source, { rng = rng })) }
end

-- ---- findings ---------------------------------------------------------------------------------

local function wrong_of(source, kind)
  return held.examine(source, madekernels.held(source, { kinds = kind, every = true })).wrong[1]
end

-- The text made small while a proposal of this kind is wrong.
local function smaller(text, kind)
  return shrink.text(text, { "[^\n]*\n?", "[^;{}]*[;{}]?\n?", "[%w_]*[^%w_]?" }, function(less)
    local ok, wrong = pcall(wrong_of, less, kind)
    return ok and wrong ~= nil
  end)
end

local is_told = {} -- kinds of which one was made small: that takes minutes

-- A finding in words, with the kernel made small where it is the first of its kind.
local function told(source, one)
  local less = not is_told[one.kind] and wrong_of(source, one.kind) and smaller(source, one.kind)
  is_told[one.kind] = true
  local small = less and wrong_of(less, one.kind) or one
  return ("%s\n%s\nbecomes by %s\n%s\n(before it was made small: %s: %s)\n"):format(small.how,
    less or source, small.gene, small.text, one.gene, one.how), less or source
end

-- ---- counts -----------------------------------------------------------------------------------

local function new_counts()
  return { kernels = 0, held = 0, marked = 0, broken = 0, refused = 0, found = 0, kinds = {} }
end

local FIELDS = { "kernels", "held", "marked", "broken", "refused", "found" }

local function add_counts(sum, more)
  for _, field in ipairs(FIELDS) do sum[field] = sum[field] + more[field] end
  for kind, n in pairs(more.kinds) do sum.kinds[kind] = (sum.kinds[kind] or 0) + n end
end

local function kinds_text(kinds)
  local list = {}
  for _, kind in ipairs(transform.list()) do
    if kinds[kind.name] then list[#list + 1] = ("%s=%d"):format(kind.name, kinds[kind.name]) end
  end
  return table.concat(list, " ")
end

local function report(counts)
  local never = {}
  for _, kind in ipairs(transform.list()) do
    if not counts.kinds[kind.name] then never[#never + 1] = kind.name end
  end
  return ("%d kernels, of which %d could not be run; %d proposals held, %d more are MARKED, %d do "
    .. "not compile\n%s\nnever held: %s\n%d found\n"):format(counts.kernels, counts.refused,
    counts.held, counts.marked, counts.broken, kinds_text(counts.kinds),
    table.concat(never, " "), counts.found)
end

-- ---- groups -----------------------------------------------------------------------------------

local function result_counts(result)
  return { kernels = 1, held = result.held, marked = result.marked, broken = #result.broken,
    refused = result.runs == 0 and 1 or 0, found = #result.wrong, kinds = result.kinds }
end

-- Holds the kernels of some seeds; counts, and each finding: { seed, source, one }.
local function examined(first, last)
  local counts, found, kernels, jobs = new_counts(), {}, {}, {}
  for seed = first, last do
    local ok, kernel = xpcall(kernel_of, debug.traceback, seed)
    if not ok then error(("seed %d: %s"):format(seed, kernel), 0) end
    kernels[#kernels + 1], jobs[#jobs + 1] = kernel, kernel.job
  end
  for i, result in ipairs(held.examine_all(jobs)) do
    add_counts(counts, result_counts(result))
    for _, one in ipairs(result.wrong) do
      found[#found + 1] = { seed = kernels[i].seed, source = kernels[i].source, one = one }
    end
  end
  return counts, found
end

-- ---- logs -------------------------------------------------------------------------------------

local LINE = "done %d %s %s\n" -- the first seed of a group, the counts, the kinds

local function counts_line(first, counts)
  local list = {}
  for i, field in ipairs(FIELDS) do list[i] = ("%d"):format(counts[field]) end
  return LINE:format(first, table.concat(list, ","), kinds_text(counts.kinds))
end

-- What a log says is done: counts by the first seed of each group.
local function read_log(path, done)
  local file = io.open(path, "rb")
  for line in file and file:lines() or function() end do
    local first, numbers, kinds = line:match "^done (%d+) ([%d,]+) ?(.*)$"
    if first then
      local counts, i = new_counts(), 0
      for n in numbers:gmatch "%d+" do
        i = i + 1
        counts[FIELDS[i]] = math.tointeger(n)
      end
      for kind, n in kinds:gmatch "([%w_]+)=(%d+)" do counts.kinds[kind] = math.tointeger(n) end
      done[math.tointeger(first)] = counts
    end
  end
  if file then file:close() end
  return done
end

-- ---- ways to run ------------------------------------------------------------------------------

-- Seconds of a processor until findings: for tests/fuzz/run, which keeps rewritings.input.
local function for_seconds(seconds, seed)
  local counts, first = new_counts(), seed * SPAN
  while os.clock() < seconds do
    local more, found = examined(first, first + GROUP - 1)
    add_counts(counts, more)
    if found[1] then
      local words, less = told(found[1].source, found[1].one)
      local file <close> = assert(io.open("rewritings.input", "wb"))
      file:write(less)
      error(("FOUND after %.0f s, by kernel %d: %s"):format(os.clock(), found[1].seed, words), 0)
    end
    first = first + GROUP
  end
  io.stdout:write(("rewritings: %s in %.0f s, seed %d: nothing found\n"):format(
    report(counts):gsub("\n", "; "), os.clock(), seed))
end

local function write(log, text)
  io.stdout:write(text)
  io.stdout:flush()
  if log then log:write(text):flush() end
end

-- So many kernels; of each kind at most one finding in a group is made small.
local function for_kernels(count, seed, shard, shards, path)
  local done, counts = path and read_log(path, {}) or {}, new_counts()
  local log = path and assert(io.open(path, "ab"))
  for group = shard, (count + GROUP - 1) // GROUP - 1, shards do
    local first = seed * SPAN + group * GROUP
    local more, found = done[first], {}
    if not more then
      more, found = examined(first, math.min(first + GROUP, seed * SPAN + count) - 1)
    end
    for _, one in ipairs(found) do
      write(log, ("FOUND by kernel %d: %s: %s\n"):format(one.seed, one.one.gene, one.one.how))
    end
    if not done[first] then write(log, counts_line(first, more)) end
    for _, one in ipairs(found) do
      write(log, ("kernel %d: %s\n"):format(one.seed, (told(one.source, one.one))))
    end
    add_counts(counts, more)
  end
  io.stdout:write(report(counts), ("%.0f s\n"):format(os.clock()))
  os.exit(counts.found == 0, true)
end

local function sum(paths)
  local done, counts = {}, new_counts()
  for _, path in ipairs(paths) do read_log(path, done) end
  for _, more in pairs(done) do add_counts(counts, more) end
  io.stdout:write(report(counts))
  os.exit(counts.found == 0)
end

local function one_file(path)
  local file <close> = assert(io.open(path, "rb"))
  local source = file:read "a"
  local result = held.examine(source, madekernels.held(source, { every = true }))
  if result.wrong[1] then
    error(("FOUND: %s: %s\n%s"):format(result.wrong[1].gene, result.wrong[1].how,
      result.wrong[1].text), 0)
  end
  io.stdout:write("rewritings: ", path, " did no harm: ", report(result_counts(result)))
end

local function option(name)
  for i, word in ipairs(arg) do
    if word == name then return arg[i + 1] end
  end
end

if arg[1] == "sum" then
  sum(table.move(arg, 2, #arg, 1, {}))
elseif arg[2] == "kernels" then
  local shard, shards = (option "--shard" or "0/1"):match "^(%d+)/(%d+)$"
  for_kernels(math.tointeger(arg[1]), math.tointeger(arg[3]), math.tointeger(shard),
    math.tointeger(shards), option "--log")
elseif arg[2] then
  for_seconds(tonumber(arg[1]), math.tointeger(arg[2]))
else
  one_file(arg[1])
end
