-- ranks: do ticks put the kernels that evolution meets in the order of a GPU's times, and is the
-- kernel that is best by ticks among the best there?
--
--   gilua tests/gpu/ranks.lua --lists DIR --runs RUN,RUN… [--most 100]    writes DIR/NAME.lua
--   gilua --device cuda tests/gpu/ranks.lua --lists DIR --out OUT [--bound 250]
--   gilua tests/gpu/ranks.lua --lists DIR --out OUT [--before OLD]
--
-- The first takes runs of `gilua evolve` on emu and keeps of each so many right mutants of distinct
-- PTX, drawn evenly. The second measures them on a GPU, twice, OUT/NAME.csv (ns, and again). The
-- third counts their ticks on emu, OUT/NAME.ticks, and prints a row for each list:
--   rho     Spearman's rank correlation of ticks and times
--   regret  time of the best by ticks over that of the best there is, less one
--   itself  rho of the GPU's two measurements: what there is to be reached
--   span    slowest over fastest on the GPU
-- With --before: the same of the ticks in OLD, those of another cost model, beside it.

local gi = require "gilua"
local luadata = require "gilua.base.luadata"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Ranks of ticks and of a GPU's times, over mutants of default evolution.",
  { name = "lists", type = "string", doc = "folder of the lists of genomes" },
  { name = "runs", type = "string", doc = "runs of evolve, to make lists of, with commas between" },
  { name = "most", default = 100, min = 3, doc = "mutants of a list" },
  { name = "before", type = "string", doc = "folder of ticks of another model" },
  { name = "only", type = "string", doc = "these lists, with commas between" },
  { name = "bound", default = 600, min = 1, doc = "seconds after which no list is begun" },
}
assert(options.lists, "--lists names the folder of the lists")
local began = os.time()

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

-- What a kernel runs as: its PTX, and the parameters that the host's launch may go by.
local function key_of(m)
  local parts = { m.ptx }
  for gene in m.genome:gmatch "%S+" do
    if not gene:find "[<:]" then parts[#parts + 1] = gene end
  end
  return table.concat(parts, " ")
end

-- The right mutants of a run that differ, in the order in which they were met.
local function mutants_of(run)
  local list, seen = {}, {}
  local pipe <close> = io.popen(("%s export %s --jsonl"):format(os.getenv "GILUA" or "./gilua",
    gi.shell.word(run)))
  for line in pipe:lines() do
    local m = gi.json.decode(line)
    local key = m.right == 1 and m.ptx and key_of(m)
    if key and not seen[key] then
      seen[key], list[#list + 1] = true, m.genome
    end
  end
  return list
end

local function drawn(list, most, rng)
  local some = { "" }
  while #list > 0 and #some < most do
    local genome = table.remove(list, rng:int(#list))
    if genome ~= "" then some[#some + 1] = genome end
  end
  return some
end

local function make_lists()
  lfs.mkdir(options.lists)
  for run in options.runs:gmatch "[^,]+" do
    local name = run:match "([^/]+)/*$":gsub("^run%-", "")
    local some = drawn(mutants_of(run), options.most, gi.rng(options.seed))
    write(("%s/%s.lua"):format(options.lists, name), "return " .. luadata.text(some) .. "\n")
    print(name, #some)
  end
end

-- Where a list's problem is: a folder beside the list, or one of kernels/.
local function problem_of(name)
  local own = options.lists .. "/" .. name
  if lfs.attributes(own, "mode") ~= "directory" then own = gi.home .. "/kernels/" .. name end
  return gi.problem(own)
end

local function names()
  local list = {}
  for file in lfs.dir(options.lists) do
    local name = file:match "^(.+)%.lua$"
    if name and (not options.only or ("," .. options.only .. ","):find("," .. name .. ",", 1, true))
    then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function genomes_of(name)
  return assert(luadata.read(gi.textfile.read(("%s/%s.lua"):format(options.lists, name), "a list")))
end

-- Measurements of a list on the device; false where a mutant is not right there.
local function measured(name, field, seed)
  local problem = problem_of(name)
  local farm <close> = gi.farm(problem, { device = options.device, jobs = options.jobs })
  local list, values = genomes_of(name), {}
  for i, m in ipairs(farm:evaluate(list, gi.own.case(problem, seed, options.device))) do
    values[i] = gi.fitness.right(m) and m[field] or false
  end
  return values
end

local function on_gpu()
  for _, name in ipairs(names()) do
    if os.difftime(os.time(), began) < options.bound then
      local ns, again = measured(name, "ns", options.seed), measured(name, "ns", options.seed)
      local rows = {}
      for i = 1, #ns do rows[i] = ("%s,%s\n"):format(ns[i], again[i]) end
      write(("%s/%s.csv"):format(options.out, name), table.concat(rows))
      print(name, #ns, ("%d s"):format(os.difftime(os.time(), began)))
    end
  end
end

local function numbers(path, pattern)
  local file <close> = assert(io.open(path))
  local list, others = {}, {}
  for line in file:lines() do
    local a, b = line:match(pattern)
    list[#list + 1], others[#others + 1] = tonumber(a) or false, tonumber(b) or false
  end
  return list, others
end

-- rho, regret in percent, and over how many.
local function compared(ticks, ns, again)
  local x, y, z, best_ticks, chosen, best = {}, {}, {}, math.huge, nil, math.huge
  for i = 1, #ns do
    if ns[i] and again[i] and ticks[i] then
      x[#x + 1], y[#y + 1], z[#z + 1] = ticks[i], ns[i], again[i]
      if ticks[i] < best_ticks then best_ticks, chosen = ticks[i], ns[i] end
      best = math.min(best, ns[i])
    end
  end
  if #x < 3 then return nil end
  return { rho = gi.stats.spearman(x, y), regret = 100 * (chosen / best - 1), n = #x,
    itself = gi.stats.spearman(y, z), span = math.max(table.unpack(y)) / best }
end

local function median(list)
  table.sort(list)
  return (list[(#list + 1) // 2] + list[#list // 2 + 1]) / 2
end

local function tell()
  print("kernel          mutants  itself    span     rho  regret" .. (options.before
    and "   before: rho  regret" or ""))
  local rhos, before = {}, {}
  for _, name in ipairs(names()) do
    local path = ("%s/%s."):format(options.out, name)
    if lfs.attributes(path .. "csv") then
      local ns, again = numbers(path .. "csv", "^(.-),(.*)$")
      if not lfs.attributes(path .. "ticks") then
        local ticks = measured(name, "ticks", options.seed)
        for i = 1, #ticks do ticks[i] = tostring(ticks[i]) end
        write(path .. "ticks", table.concat(ticks, "\n") .. "\n")
      end
      local c = compared(numbers(path .. "ticks", "^(.*)$"), ns, again)
      local old = options.before and c
        and compared(numbers(("%s/%s.ticks"):format(options.before, name), "^(.*)$"), ns, again)
      if c then
        rhos[#rhos + 1], before[#before + 1] = c.rho, old and old.rho or nil
        print(("%-15s %7d %7.3f %7.2f %7.3f %5.1f %%%s"):format(name, c.n, c.itself, c.span, c.rho,
          c.regret, old and ("       %7.3f %5.1f %%"):format(old.rho, old.regret) or ""))
      end
    end
  end
  if #rhos > 0 then
    print(("median rho %.3f%s"):format(median(rhos),
      #before > 0 and (", before %.3f"):format(median(before)) or ""))
  end
end

if options.runs then
  make_lists()
else
  options.out = assert(options.out, "--out names the folder of the results")
  lfs.mkdir(options.out)
  if options.device == "emu" then tell() else on_gpu() end
end
