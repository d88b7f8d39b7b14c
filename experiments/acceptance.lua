-- How many random edits of each kind are valid on the small case, and how many mutants a second the
-- virtual GPU evaluates there at each level: source, PTX, LLVM's code. GEVO (Liou, Wang, Forrest,
-- Wu, TACO 2020, §3.4) says that 5 to 30 % of its mutations are acceptable.
--
--   gilua experiments/acceptance.lua --levels source,ptx,llvm
--   gilua experiments/acceptance.lua --rates --problems kernels/niftyreg,kernels/spmv

local gi = require "gilua"
local core = require "gilua.core"

local o = gi.cli {
  doc = "Valid edits by kind, and mutants a second by level.",
  { name = "problems", default = "kernels/niftyreg", doc = "folders, with commas between" },
  { name = "levels", default = "source,ptx", doc = "source, ptx, llvm, with commas between" },
  { name = "edits", default = 50, min = 1, doc = "of each kind" },
  { name = "rates", default = false, doc = "mutants a second instead, in turn" },
  { name = "mutants", default = 60, min = 1, doc = "of each level and turn" },
  { name = "turns", default = 3, min = 1, doc = "whose median counts" },
}

local function words(text)
  local list = {}
  for word in text:gmatch "[^,%s]+" do list[#list + 1] = word end
  return list
end

local WAYS = { "copy", "delete", "move", "replace", "swap", "operand", "constant" }

-- Which way a gene of the source goes.
local function way_of(gene)
  if gene:find "^T:" then return "transformation" end
  if not gene:find "^<" then return "parameter" end
  if gene:find(">+<", 1, true) then return "insert" end
  return gene:find "><" and "replace" or "delete"
end

local levels = {}

-- Draws until there are enough of each way, which the source has not all.
function levels.source(problem, _, rng)
  local draw, ways, by_way = gi.genome.source(problem, gi.own.genes(problem)), {}, {}
  for _ = 1, 40 * o.edits do
    local gene = draw(rng)
    local way = way_of(gene)
    if not by_way[way] then
      by_way[way] = {}
      ways[#ways + 1] = way
    end
    if #by_way[way] < o.edits then table.insert(by_way[way], gene) end
  end
  table.sort(ways)
  return ways, by_way, draw
end

local function below(source, code, rng)
  local by_way = {}
  for i, way in ipairs(WAYS) do
    local weights = {}
    for k, other in ipairs(WAYS) do weights[other] = k == i and 1 or 0 end
    local draw = source(code, { weights = weights })
    by_way[way] = {}
    for n = 1, o.edits do by_way[way][n] = draw(rng) end
  end
  return WAYS, by_way, source(code)
end

function levels.ptx(problem, farm, rng)
  return below(gi.genome.ptx_source, gi.below.open(problem, farm), rng)
end

function levels.llvm(problem, farm, rng)
  return below(gi.genome.llvm_source, gi.below.open_llvm(problem, farm), rng)
end

local function opened(problem, level, check)
  gi.options.compiler = level == "llvm" and "llvm" or nil
  return gi.farm(problem, { device = "emu", jobs = o.jobs, check = check })
end

local function per_cent(n, of) return ("%.0f %%"):format(100 * n / math.max(1, of)) end

-- What became of the edits of a way, as a row.
local function row(name, level, way, list, as_it_is)
  local n = { ran = 0, right = 0, other = 0, race = 0 }
  for _, m in ipairs(list) do
    n.ran = n.ran + (m.status == "ok" and 1 or 0)
    n.race = n.race + (m.status == "race" and 1 or 0)
    if gi.fitness.right(m) then
      n.right = n.right + 1
      n.other = n.other + (m.ticks ~= as_it_is.ticks and 1 or 0)
    end
  end
  print(("| `%s` | %s | %s | %d | %s | %s | %s | %s |"):format(name, level, way, #list,
    per_cent(n.ran, #list), per_cent(n.right, #list), per_cent(n.other, #list),
    per_cent(n.race, #list)))
  io.stdout:flush()
end

local function accepted(folder)
  local problem = gi.problem(folder)
  for _, level in ipairs(words(o.levels)) do
    local farm <close> = opened(problem, level, "every")
    local ways, by_way = levels[level](problem, farm, gi.rng(o.seed))
    local case, all = problem.checked_case, {}
    local as_it_is = farm:evaluate({ "" }, case)[1]
    for _, way in ipairs(ways) do
      local list = farm:evaluate(by_way[way], case)
      row(problem.name or folder, level, way, list, as_it_is)
      table.move(list, 1, #list, #all + 1, all)
    end
    row(problem.name or folder, level, "all", all, as_it_is)
  end
end

-- Seconds of a processor and of the clock for some mutants of a level that nobody has seen.
local function timed(problem, farm, level, rng)
  local _, _, draw = levels[level](problem, farm, rng)
  local list, case = {}, problem.checked_case
  for i = 1, o.mutants do list[i] = draw(rng) end
  local before = core.system.seconds()
  farm:evaluate(list, case)
  return o.mutants / (core.system.seconds() - before)
end

local function rates(folder)
  local problem, names, of = gi.problem(folder), words(o.levels), {}
  for turn = 1, o.turns do
    for _, level in ipairs(names) do
      local farm <close> = opened(problem, level, "winners")
      farm:evaluate({ "" }, problem.checked_case)
      of[level] = of[level] or {}
      table.insert(of[level], timed(problem, farm, level, gi.rng(o.seed + turn)))
    end
  end
  local cells = {}
  for i, level in ipairs(names) do cells[i] = ("%.0f"):format(gi.stats.median(of[level])) end
  print(("| `%s` | %s | %.1f |"):format(problem.name or folder, table.concat(cells, " | "),
    gi.stats.median(of[names[#names]]) / gi.stats.median(of[names[1]])))
  io.stdout:flush()
end

if o.rates then
  print("| problem | " .. table.concat(words(o.levels), " | ") .. " | last over first |")
  print("| ---" .. (" | ---"):rep(#words(o.levels) + 1) .. " |")
else
  print("| problem | level | kind | edits | ran to their end | right | right, with other ticks "
    .. "| raced |")
  print "| --- | --- | --- | --- | --- | --- | --- | --- |"
end
for _, folder in ipairs(words(o.problems)) do (o.rates and rates or accepted)(folder) end
