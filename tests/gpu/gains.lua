-- gains: what `gilua evolve` finds by itself on kernels nobody prepared, with transformations and
-- without. Each is evolved by the default scheme with the same number of evaluations, and what wins
-- is verified on data and sizes that evolution has not seen.
--
--   gilua --device cuda tests/gpu/gains.lua [WHAT …] [--shares usual] [--seeds 1,2] [--bound 500]
--     [--population 60] [--generations 8] [--command "evolve --scheme STEADY"]
--
-- WHAT is a .cu file, with options of `gilua new` behind it if it wants any ("a.cu --define N=3"),
-- a folder of a problem (made beforehand, as of recordings), or a name of kernels/, done in the
-- order given, one after the other: a GPU that does two things times neither. Without any: all of
-- tests/own and kernels/.
--
-- A row for each: microseconds of the unmodified kernel and of the best, the speed-up with its
-- interval, how many times the least of their work both take, the genes, and what verify says. A
-- command that ends badly says so and the next begins. None is begun after --bound seconds. In the
-- end, for each share of transformations and each seed: the median and how many are twice as fast,
-- where what found nothing faster counts as 1; and the same where winners that are MARKED count as
-- 1, too.

local core = require "gilua.core"
local gi = require "gilua"
local json = require "gilua.base.json"
local lfs = require "lfs"
local textfile = require "gilua.base.textfile"

local options = gi.cli {
  doc = "What evolve finds with transformations and without.",
  positional = { { name = "what", doc = ".cu files, problems, names of kernels/", many = true,
                   optional = true } },
  { name = "shares", default = "no,usual", doc = "of transformations, with commas between: no, "
    .. "usual, or, where --command has --scheme langdon, a number (else it is as usual)" },
  { name = "seeds", default = "", doc = "with commas between; default: --seed" },
  { name = "population", default = 60, min = 2, doc = "of evolve" },
  { name = "generations", default = 8, min = 1, doc = "of evolve" },
  { name = "command", default = "evolve", doc = "evolve with more options" },
  { name = "bound", default = 500, min = 1, doc = "seconds after which none is begun" },
  { name = "out", default = "out/gains", doc = "folder for problems and runs" },
}

local gilua = os.getenv "GILUA" or "./gilua"
local began = core.system.seconds()

-- Runs a command; its text, and whether its status is 0 or one of those given.
local function command(text, fine)
  local pipe = io.popen(("%s %s 2>&1"):format(gilua, text))
  local said = pipe:read "a"
  local ok, _, status = pipe:close()
  return said, ok or (fine or {})[status] or false, status
end

local function last_line(text)
  return text:match "([^\n]*)\n*$"
end

--------------------------------------------------------------------------------------------------
-- What is evolved

-- Files of a folder that end in a way, or its folders with a problem.
local function all_of(folder, pattern)
  local list = {}
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    local fits = pattern and name:find(pattern)
      or not pattern and lfs.attributes(path .. "/problem.lua", "mode") == "file"
    if fits then list[#list + 1] = path end
  end
  table.sort(list)
  return list
end

local function everything()
  local own = gi.home .. "/tests/own"
  local list = all_of(own, "%.cu$")
  list[#list + 1] = ("%s/includes/includes.cu --include %s/includes/inc --define DIM=3"):format(own,
    own)
  for _, path in ipairs(all_of(gi.home .. "/kernels")) do list[#list + 1] = path end
  return list
end

-- A name for tables, and the problem's folder; a .cu file is made one. nil where that fails.
local function problem_of(what)
  local path = what:match "^(.-%.cu)%f[ \0]" or what
  local name = path:gsub("/+$", ""):match("[^/]*$"):gsub("%.cu$", "")
  if not path:find "%.cu$" then
    local own = lfs.attributes(what .. "/problem.lua", "mode")
    return name, own and what or gi.home .. "/kernels/" .. what
  end
  local problem = ("%s/%s.problem"):format(options.out, name)
  os.execute(("rm -rf %s"):format(problem))
  local said, fine = command(("new %s -o %s"):format(what, problem))
  if not fine then print(("%-14s new: %s"):format(name, last_line(said))) end
  return name, fine and problem or nil
end

--------------------------------------------------------------------------------------------------
-- What came of it

local found = {} -- for each share and seed, speed-ups: { all = { … }, unmarked = { … } }

local function note(share, seed, speedup, marked)
  local key = ("share %s, seed %d"):format(share, seed)
  if not found[key] then
    found[key] = { all = {}, unmarked = {} }
    found[#found + 1] = key
  end
  table.insert(found[key].all, speedup)
  table.insert(found[key].unmarked, marked and 1 or speedup)
end

local function read_result(out)
  local file = assert(io.open(out .. "/result.json"))
  local result = json.decode(file:read "a")
  file:close()
  return result
end

-- How many times the least of its work the unmodified kernel takes, and the best.
local function limits_of(result)
  local a, b = table.unpack(result.limits or {})
  return a and ("%.1f -> %.1f times its limit by %s"):format(a.times, b.times, b.by) or "no limit"
end

-- What a run came to, as a row; and how it was verified.
local function print_row(label, result, marked, took, out)
  local function us(m) return (m.ns or m.ticks) / 1000 end
  print(("%s %9.2f -> %9.2f  %6.3fx (%.3f to %.3f)%s  %s  %.0f s  %s"):format(label,
    us(result.baseline), us(result.best), result.speedup, result.speedup_low,
    result.speedup_high, marked and "  MARKED" or "", limits_of(result), took,
    result.best.genome))
  local said = command(("verify %s --device %s"):format(out, options.device))
  print(("%20s verify: %s"):format("", last_line((said:gsub("\nMARKED.*", "")))))
end

-- Only --scheme langdon takes a share; the usual search draws what pays.
local function transform_option(share)
  local is_given = share == "no" or tonumber(share) and options.command:find "langdon"
  return is_given and "--transform " .. share or ""
end

local function row(name, problem, share, seed)
  local out = ("%s/%s.%s.%d"):format(options.out, name, share, seed)
  local label, first = ("%-14s %-5s %d"):format(name, share, seed), core.system.seconds()
  local said, fine, status = command(("%s %s --device %s --jobs %d --seed %d --population %d "
    .. "--generations %d %s --out %s --fresh"):format(options.command, problem,
    options.device, options.jobs or core.system.cores(), seed, options.population,
    options.generations, transform_option(share), out), { [3] = true })
  local took = core.system.seconds() - first
  if not fine then return print(("%s %s"):format(label, last_line(said))) end
  if status == 3 then
    note(share, seed, 1)
    return print(("%s nothing faster, %.0f s"):format(label, took))
  end
  local result, marked = read_result(out), said:find "MARKED" ~= nil
  note(share, seed, result.speedup, marked)
  print_row(label, result, marked, took, out)
end

local function summary(list)
  table.sort(list)
  local n, twice = #list, 0
  local median = (list[(n + 1) // 2] + list[n // 2 + 1]) / 2
  for _, speedup in ipairs(list) do twice = twice + (speedup >= 2 and 1 or 0) end
  return ("median %.3fx, twice as fast %d of %d"):format(median, twice, n)
end

--------------------------------------------------------------------------------------------------

local seeds = {}
for seed in options.seeds:gmatch "%d+" do seeds[#seeds + 1] = math.tointeger(tonumber(seed)) end
if #seeds == 0 then seeds[1] = options.seed end
assert(textfile.make_folder(options.out))

for _, what in ipairs(options.what or everything()) do
  local name, problem
  if core.system.seconds() - began < options.bound then name, problem = problem_of(what) end
  for _, seed in ipairs(problem and seeds or {}) do
    for share in options.shares:gmatch "[^,]+" do row(name, problem, share, seed) end
    io.stdout:flush()
  end
end
for _, key in ipairs(found) do
  print(("%s: %s; MARKED as 1: %s"):format(key, summary(found[key].all),
    summary(found[key].unmarked)))
end
