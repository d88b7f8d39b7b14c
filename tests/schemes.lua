-- schemes: ways to search, compared on several kernels with the same seeds, the same cases and the
-- same number of evaluations, on the virtual GPU, whose ticks are exact.
--
--   gilua tests/schemes.lua [--problems a,b,…] [--schemes a,b,…] [--seeds 5] [--population 40]
--     [--generations 10] [--jobs 2] [--bound 500] [--out FOLDER]
--
-- A problem is a folder, or a .cu file, of which `gilua new` makes one. Each has a process of its
-- own, and its share of the jobs; as many are under way as there are jobs. What is printed: of each
-- scheme on each kernel the median of the seeds' speed-ups on unseen data, and over all kernels, in
-- units of the first scheme's median on each, the geometric mean, Mann and Whitney's p and Vargha
-- and Delaney's A against the first. No run is begun after --bound seconds.

local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local gi = require "gilua"
local shell = require "gilua.base.shell"
local textfile = require "gilua.base.textfile"

local EXAMPLES = "kernels/histogram,kernels/spmv,kernels/kmeans,kernels/heat,kernels/reduction,"
  .. "kernels/matmul,tests/own/shared.cu,tests/own/structs.cu"

local o = gi.cli {
  doc = "Compares ways to search.",
  { name = "problems", default = EXAMPLES, doc = "folders or .cu files, with commas between" },
  { name = "schemes", default = "usual,lines,random,bandit,steady,steady-bandit,"
    .. "steady-bandit-restarts,steady-bandit-retouch,steady-bandit-retouch-binds,"
    .. "sweep-quarter,sweep-half,elites-bandit",
    doc = "the first is what the others are compared with" },
  { name = "seeds", default = 5, min = 1, doc = "runs of each scheme on each kernel" },
  { name = "population", default = 40, min = 4, doc = "evaluations in a generation" },
  { name = "generations", default = 10, min = 1, doc = "generations" },
  { name = "bound", default = 500, min = 1, doc = "seconds after which no run is begun" },
  { name = "part", type = "string", doc = "of the script itself: the one problem to run" },
}

local function words(text)
  local list = {}
  for word in text:gmatch "[^,%s]+" do list[#list + 1] = word end
  return list
end

--------------------------------------------------------------------------------------------------
-- The schemes: fields for gi.evolve.run, of a problem

local function usual(problem)
  return { init = gi.own.first, genes = gi.own.genes(problem) }
end

-- A scheme with the fields of others.
local function with(scheme, ...)
  for _, fields in ipairs { ... } do
    for name, value in pairs(fields) do scheme[name] = value end
  end
  return scheme
end

-- boost: of kinds that are made against what binds; 1: none
local function by_bandit(problem, boost)
  local bandit = gi.bandit.new(problem, gi.own.genes(problem), { boost = boost or 1 })
  return { init = bandit.init, draw = bandit.draw, observers = { bandit } }
end

local function steady(more)
  return gi.steady.scheme(with({ population = o.population, living = o.population // 4 }, more))
end

local function cells()
  return { keep = gi.elites.keep(gi.elites.machine), choose = gi.elites.choose }
end

-- The default, the last ones of its generations spent on each single step from the best.
local function sweeping(problem, share)
  return with(by_bandit(problem, gi.bandit.defaults.boost), steady { sweep = share },
    { mutate = gi.retouch.new(problem).mutate, genes = gi.own.genes(problem) })
end

local SCHEMES = {
  usual = usual,
  lines = function(problem) return { init = gi.own.first, genes = gi.own.genes(problem, 0) } end,
  random = function(problem) return gi.control.scheme(usual(problem)) end,
  bandit = by_bandit,
  steady = function(problem) return with(usual(problem), steady()) end,
  ["steady-bandit"] = function(problem) return with(by_bandit(problem), steady()) end,
  ["steady-bandit-restarts"] = function(problem)
    return with(by_bandit(problem), steady { patience = 3 })
  end,
  ["steady-bandit-retouch"] = function(problem)
    return with(by_bandit(problem), steady(), { mutate = gi.retouch.new(problem).mutate })
  end,
  ["steady-bandit-retouch-binds"] = function(problem)
    return with(by_bandit(problem, gi.bandit.defaults.boost), steady(),
      { mutate = gi.retouch.new(problem).mutate })
  end,
  ["sweep-quarter"] = function(problem) return sweeping(problem, 0.25) end,
  ["sweep-half"] = function(problem) return sweeping(problem, 0.5) end,
  ["elites-bandit"] = function(problem) return with(by_bandit(problem), steady(cells())) end,
}

--------------------------------------------------------------------------------------------------
-- One problem: a line for each run

local function run_one(problem, name, seed, compiled)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = o.jobs, wrong = "small",
    compiled = compiled })
  local began = core.system.seconds()
  local run = gi.evolve.run(with({
    problem = problem, farm = farm, fitness = gi.fitness.within(problem.tolerance),
    population = o.population, generations = o.generations, rng = gi.rng(seed),
    new_case = function(number) return gi.own.case(problem, 1000 * seed + number, "emu") end,
  }, SCHEMES[name](problem)))
  print(("run %s %d %.17g %d %.1f %s"):format(name, seed, run.result.speedup, run.evaluations,
    core.system.seconds() - began, run.result.best.genome))
  io.stdout:flush()
end

local function part(path)
  local began = core.system.seconds()
  local _ <close> = crew.keep()
  local problem, compiled = gi.problem(path), require("gilua.farm.compiled").new()
  for seed = o.seed, o.seed + o.seeds - 1 do
    for _, name in ipairs(words(o.schemes)) do
      if core.system.seconds() - began < o.bound then run_one(problem, name, seed, compiled) end
    end
  end
end

--------------------------------------------------------------------------------------------------
-- All problems, each in a process

local gilua = os.getenv "GILUA" or "./gilua"
local folder = o.out or "out/schemes"

-- The folder of a problem; of a file one is made.
local function problem_of(path)
  local stem = path:match "([^/]+)%.cu$"
  if not stem then return path end
  local made = ("%s/%s"):format(folder, stem)
  os.execute(("rm -rf %s && %s new %s %s --quiet"):format(shell.word(made), gilua,
    shell.word(path), shell.word(made)))
  return made
end

local function begin(path, jobs)
  return io.popen(("%s --jobs %d --seed %d %s --part %s --schemes %s --seeds %d --population %d "
    .. "--generations %d --bound %d 2>&1"):format(gilua, jobs, o.seed, arg[0],
    shell.word(problem_of(path)), o.schemes, o.seeds, o.population, o.generations, o.bound))
end

-- The speed-ups of each scheme, in the order of the seeds.
local function gather(path, pipe)
  local found, seconds = {}, {}
  for line in pipe:lines() do
    local name, speedup, took = line:match "^run (%S+) %d+ (%S+) %d+ (%S+)"
    if name then
      found[name], seconds[name] = found[name] or {}, (seconds[name] or 0) + tonumber(took)
      table.insert(found[name], tonumber(speedup))
    end
    print(path .. ": " .. line)
  end
  if not pipe:close() then print(path .. ": it ended badly") end
  return { path = path, found = found, seconds = seconds }
end

local function cell(list)
  local s = gi.repeats.spread(list)
  return ("%.3f (%.3f to %.3f)"):format(s.median, s.low, s.high)
end

-- All speed-ups of a scheme, in units of the first one's median on each kernel.
local function pooled(results, name, first)
  local list = {}
  for _, r in ipairs(results) do
    local unit = r.found[first] and gi.stats.median(r.found[first])
    for _, x in ipairs(unit and r.found[name] or {}) do list[#list + 1] = x / unit end
  end
  return list
end

local function geometric_mean(list)
  local logs = {}
  for i, x in ipairs(list) do logs[i] = math.log(x) end
  return math.exp(gi.stats.mean(logs))
end

local function summary(results, names)
  for _, r in ipairs(results) do
    print("\n" .. r.path)
    for _, name in ipairs(names) do
      local list, base = r.found[name], r.found[names[1]]
      if list and base then
        local s = gi.repeats.summary(list, base)
        print(("  %-24s %s  p = %.3f  A = %.2f  %4.0f s"):format(name, cell(list), s.p, s.a12,
          r.seconds[name]))
      end
    end
  end
  print("\nall kernels, in units of the first scheme's median on each")
  local base = pooled(results, names[1], names[1])
  for _, name in ipairs(names) do
    local list = pooled(results, name, names[1])
    if #list > 0 then
      local s = gi.repeats.summary(list, base)
      print(("  %-24s geometric mean %.3f over %d runs  p = %.4f  A = %.2f"):format(name,
        geometric_mean(list), #list, s.p, s.a12))
    end
  end
end

local function all()
  local paths, pipes, results, names = words(o.problems), {}, {}, words(o.schemes)
  for _, name in ipairs(names) do
    if not SCHEMES[name] then gi.fail("no scheme is called '%s'", name) end
  end
  local made, why = textfile.make_folder(folder)
  if not made then gi.fail("%s", why) end
  local jobs = o.jobs or core.system.cores()
  local share, ahead = math.max(1, jobs // #paths), math.min(jobs, #paths)
  for i = 1, #paths + ahead do
    local done = i - ahead
    if done > 0 then results[done] = gather(paths[done], pipes[done]) end
    if paths[i] then pipes[i] = begin(paths[i], share) end
  end
  summary(results, names)
end

if o.part then part(o.part) else all() end
