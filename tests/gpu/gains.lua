-- gains: what `gilua evolve` finds by itself, with transformations and without, on kernels nobody
-- prepared. Each is made a problem, evolved twice by its default scheme with the same number of
-- evaluations, and what wins is verified on data and sizes that evolution has not seen.
--
--   gilua --device cuda tests/gpu/gains.lua [--files tests/own] [--examples heat,spmv]
--     [--only NAME] [--population 60] [--generations 8] [--bound 500]
--
-- A row for each: microseconds of the unmodified kernel and of the best, the speed-up with its
-- interval, the genes, and what verify says. A command that ends badly says so and the next begins.
-- None is begun after --bound seconds.

local core = require "gilua.core"
local gi = require "gilua"
local json = require "gilua.base.json"
local lfs = require "lfs"
local textfile = require "gilua.base.textfile"

local options = gi.cli {
  doc = "What evolve finds with transformations and without.",
  { name = "files", default = gi.home .. "/tests/own", doc = "folder of .cu files; - for none" },
  { name = "examples", default = "", doc = "problems of kernels/, with commas between" },
  { name = "only", default = "", doc = "those with this in their name" },
  { name = "population", default = 60, min = 2, doc = "of evolve" },
  { name = "generations", default = 8, min = 1, doc = "of evolve" },
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

local function row(name, problem, share)
  local out = ("%s/%s.%s"):format(options.out, name, share == "no" and "lines" or "transformed")
  local first = core.system.seconds()
  local said, fine, status = command(("evolve %s --device %s --jobs %d --seed %d --population %d "
    .. "--generations %d --transform %s --out %s --fresh"):format(problem, options.device,
    options.jobs or core.system.cores(), options.seed, options.population, options.generations,
    share, out), { [3] = true })
  local took = core.system.seconds() - first
  if not fine then return print(("%-14s %-5s %s"):format(name, share, last_line(said))) end
  if status == 3 then
    return print(("%-14s %-5s nothing faster, %.0f s"):format(name, share, took))
  end
  local file = assert(io.open(out .. "/result.json"))
  local result = json.decode(file:read "a")
  file:close()
  local verified = last_line((command(("verify %s --device %s"):format(out, options.device)):gsub(
    "\nMARKED.*", "")))
  local function us(m) return (m.ns or m.ticks) / 1000 end
  print(("%-14s %-5s %9.2f -> %9.2f  %6.3fx (%.3f to %.3f)%s  %.0f s  %s"):format(name, share,
    us(result.baseline), us(result.best), result.speedup, result.speedup_low, result.speedup_high,
    said:find "MARKED" and "  MARKED" or "", took, result.best.genome))
  print(("%20s verify: %s"):format("", verified))
end

local list = {}
if options.files ~= "-" then
  for name in lfs.dir(options.files) do
    local stem = name:match "^(.*)%.cu$"
    if stem then list[#list + 1] = { name = stem, file = options.files .. "/" .. name } end
  end
end
for name in options.examples:gmatch "[^,]+" do
  list[#list + 1] = { name = name, problem = gi.home .. "/kernels/" .. name }
end
table.sort(list, function(a, b) return a.name < b.name end)
assert(textfile.make_folder(options.out))

for _, one in ipairs(list) do
  if one.name:find(options.only, 1, true) and core.system.seconds() - began < options.bound then
    local problem, fine = one.problem, true
    if not problem then
      problem = ("%s/%s.problem"):format(options.out, one.name)
      os.execute(("rm -rf %s"):format(problem))
      local said
      said, fine = command(("new %s -o %s"):format(one.file, problem))
      if not fine then print(("%-14s new: %s"):format(one.name, last_line(said))) end
    end
    if fine then
      row(one.name, problem, "no")
      row(one.name, problem, "0.25")
      io.stdout:flush()
    end
  end
end
