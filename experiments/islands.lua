-- Evolve NiftyReg's spline kernel on several islands, whose best migrate in a ring.
--
-- The scheme of each island is GECCO 2014's (Table 3), small. Without --island this starts all of
-- them beside each other, each with its share of the cores and a GPU of its own where there are
-- several. With it, it is one island, on a node of its own: docs/howto/islands.md.

local gi = require "gilua"

local options = gi.cli {
  doc = "Evolves NiftyReg's spline kernel on islands whose best migrate in a ring.",
  { name = "islands", default = 4, min = 1, doc = "how many" },
  { name = "population", default = 20, min = 2, doc = "kernels in a generation of each" },
  { name = "generations", default = 12, min = 1, doc = "generations" },
  { name = "every", default = gi.islands.defaults.every, min = 1,
    doc = "generations between two migrations" },
  { name = "migrants", default = gi.islands.defaults.migrants, min = 1,
    doc = "kernels that an island sends" },
  { name = "side", default = 60, min = 20, doc = "of the cube that the training ball is in" },
  { name = "island", type = "integer", min = 1, doc = "be this one alone" },
  { name = "meet", type = "string", doc = "folder that islands share (with --island)" },
  { name = "lines", default = false, doc = "print a line a generation" },
}

local problem = gi.problem "kernels/niftyreg"

local function ball(seed) return { side = options.side, seed = seed } end

local function one_line_each(run, record)
  print(("island %d  %s"):format(options.island, gi.progress.generation_line(run, record)))
end

local function island()
  if not options.meet then gi.fail "--island wants --meet FOLDER, which all islands share" end
  local report, unwritable = gi.report.open(options.out,
    ("out/island-%d-%d"):format(options.seed, options.island))
  if not report then gi.fail("%s", unwritable) end
  local shown = options.lines and { on_generation = one_line_each }
    or gi.progress.new { quiet = options.quiet, results = report }
  local scheme = {
    problem = problem,
    farm = gi.farm(problem, { device = options.device, jobs = options.jobs }),
    population = options.population, generations = options.generations,
    new_case = function(_, rng) return ball(rng:int(1 << 31)) end,
    rng = gi.rng((options.seed << 16) + options.island),
    observers = { report, shown },
  }
  gi.evolve.run(gi.islands.join(scheme, {
    folder = options.meet, island = options.island, islands = options.islands,
    every = options.every, migrants = options.migrants,
  }))
end

local function archipelago()
  local usual = options.out or ("out/islands-%d"):format(options.seed)
  local found = gi.archipelago.run {
    script = arg[0], islands = options.islands, device = options.device, seed = options.seed,
    jobs = options.jobs, quiet = options.quiet, resume = options.resume,
    dir = gi.archipelago.folder(usual, options.resume),
    words = { "--population", tostring(options.population), "--generations",
      tostring(options.generations), "--every", tostring(options.every), "--migrants",
      tostring(options.migrants), "--side", tostring(options.side) },
  }
  local farm <close> = gi.farm(problem, { device = options.device, jobs = options.jobs })
  local best = gi.archipelago.compare(found, farm, ball((1 << 31) + options.seed))
  if options.quiet then return end
  print("\nOn a ball that none of them has seen:")
  for i, one in ipairs(found) do
    print(("  island %d  %s  %s"):format(i, one.ratio and ("%.3fx"):format(one.ratio)
      or "wrong ", one.genome == "" and "(the kernel as it is)" or one.genome))
  end
  print(best and "The best is in " .. best.dir or "None is faster than the kernel as it is")
end

if options.island then island() else archipelago() end
