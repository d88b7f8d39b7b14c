-- transformations: each that can be made in a kernel, alone, on a device: how often each kind is
-- right with every check on, how often faster (by more than --least), and its best. Fails where a
-- kind that keeps what the kernel means, but for rounding within the tolerance, has wrong answers.
--
--   for f in saxpy shared structs; do gilua new tests/own/$f.cu out/own/$f --quiet; done
--   gilua --device cuda tests/gpu/transformations.lua out/own/*
--   gilua --device cuda tests/gpu/transformations.lua --kinds stage,halo out/own/*

local gi = require "gilua"

local o = gi.cli {
  doc = "Where each transformation can be made, how often it is right, how often faster.",
  positional = { { name = "problem", doc = "folders", many = true } },
  { name = "least", default = 0.02, min = 0, doc = "a gain that counts" },
  { name = "kinds", default = "", doc = "only those, with commas between" },
}

-- Kinds whose answers may be others: by rounding, or where a promise is broken.
local MAY_FAIL = { float = true, divide = true, power = true, unsigned = true,
  split_accumulator = true, transplant = true }

local kinds, order, failed = {}, {}, 0

local function entry(name)
  if not kinds[name] then
    kinds[name] = { name = name, made = 0, right = 0, faster = 0, best = 0, problems = 0 }
    order[#order + 1] = name
  end
  return kinds[name]
end

-- The kinds that can be made of those that --kinds asks for.
local function asked(problem)
  local list = {}
  for _, kind in ipairs(problem.grammar:transformations()) do
    local is_asked = ("," .. o.kinds .. ","):find("," .. kind.name .. ",", 1, true)
    if o.kinds == "" or is_asked then list[#list + 1] = kind end
  end
  return list
end

local function genes_of(problem)
  local list = {}
  for _, kind in ipairs(asked(problem)) do
    local e = entry(kind.name)
    e.problems = e.problems + 1
    for _, place in ipairs(kind.places) do
      list[#list + 1] = { kind = e, genome = place.gene }
    end
  end
  return list
end

-- What a gene came to: a line for the table of its problem.
local function judge(problem, gene, m, verdict, base)
  local e = gene.kind
  local is_right = m.status == "ok" and verdict.status == "ok" and gi.fitness.right(m)
  local speedup = is_right and base.ticks / m.ticks or 0
  e.made = e.made + 1
  e.right = e.right + (is_right and 1 or 0)
  e.faster = e.faster + (speedup > 1 + o.least and 1 or 0)
  if speedup > e.best then e.best, e.where = speedup, problem.name .. " " .. gene.genome end
  local is_wrong = m.status == "ok" and not gi.fitness.right(m) and not MAY_FAIL[e.name]
  failed = failed + (is_wrong and 1 or 0)
  local why = is_right and "" or is_wrong and "WRONG" or m.status ~= "ok" and m.status
    or verdict.status ~= "ok" and verdict.status or "other answers"
  print(("  %-36s %7.3f  %s"):format(gene.genome, speedup, why))
end

local function examine(path)
  local problem = gi.problem(path)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  local case, genes, genomes = gi.own.case(problem, o.seed, o.device), genes_of(problem), { "" }
  for i, gene in ipairs(genes) do genomes[i + 1] = gene.genome end
  print(("%s: %d transformations"):format(path, #genes))
  local measured, why = farm:evaluate(genomes, case)
  if not measured then return print("  " .. why) end
  local verdicts = farm:check(genomes)
  for i, gene in ipairs(genes) do
    judge(problem, gene, measured[i + 1], verdicts[i + 1], measured[1])
  end
end

for _, path in ipairs(o.problem) do examine(path) end
print(("\n%-18s %8s %6s %6s %7s %7s"):format("kind", "kernels", "made", "right", "faster", "best"))
for _, name in ipairs(order) do
  local e = kinds[name]
  print(("%-18s %8d %6d %6d %7d %7.3f  %s"):format(name, e.problems, e.made, e.right, e.faster,
    e.best, e.where or ""))
end
if failed > 0 then
  print(("%d have wrong answers"):format(failed))
  os.exit(1)
end
