-- certificates: which kernels are certified equal over the reals (docs/certificate.md), as a table.
-- Of each problem it is asked of the winner of a short evolution; with --proposed, of kinds of
-- transformations that can be made, each alone, on the small case. What is wrong there is left out.
--
--   gilua experiments/certificates.lua kernels/reduction kernels/spmv >table.md
--
-- A run that lies in the folder of --out already is not repeated.

local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Asks of kernels that evolution finds whether they are certified equal over the reals.",
  positional = { { name = "problem", doc = "folders", many = true } },
  { name = "proposed", type = "string", doc = "in place of winners these kinds of transformations, "
    .. "with commas between, each alone; all" },
  { name = "population", default = 20, min = 2, doc = "kernels in a generation" },
  { name = "generations", default = 4, min = 1, doc = "generations" },
  { name = "minutes", type = "number", default = 10, min = 0, doc = "that an evolution may take" },
}
local folder = options.out or "out/certificates"
local jobs = options.jobs or 1

local function name_of(path)
  return path:gsub("/problem/*$", ""):match "([^/]+)/*$"
end

-- --- winners ------------------------------------------------------------------------------------

local function result_of(path)
  local run = ("%s/%s"):format(folder, name_of(path))
  local file = run .. "/result.json"
  if not lfs.attributes(file, "mode") then
    core.system.run { argv = { core.system.program(), "evolve", path, "--minutes",
      tostring(options.minutes), "--population", tostring(options.population), "--generations",
      tostring(options.generations), "--seed", tostring(options.seed), "--quiet", "--jobs",
      tostring(jobs), "--out", run } }
  end
  return lfs.attributes(file, "mode") and gi.json.decode(gi.textfile.read(file, "a result"))
end

local function winner_of(path)
  local result = result_of(path)
  if not result or not result.best then return {} end
  return { result.best.genome ~= "" and result.best.genome or nil }
end

-- --- transformations ----------------------------------------------------------------------------

local function is_right(farm, problem, gene)
  local found = farm:examine(gene, { problem.checked_case })
  local verdict = found and found[1].verdicts and found[1].verdicts[2]
  return verdict and verdict.status == "ok" and gi.fitness.right(verdict)
end

-- The first place of each kind that is asked for.
local function proposed_of(problem)
  local list = {}
  for _, kind in ipairs(problem.grammar:transformations()) do
    local is_asked = ("," .. options.proposed .. ","):find("," .. kind.name .. ",", 1, true)
    local place = (options.proposed == "all" or is_asked) and kind.places[1]
    list[#list + 1] = place and place.gene or nil
  end
  return list
end

-- --- the table ----------------------------------------------------------------------------------

local total, certified = 0, 0

-- What is said of a genome that is not certified; nil where it is wrong.
local function said_of(problem, genome, c)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = jobs })
  if not is_right(farm, problem, genome) then return nil end
  return ("`%s`: %s"):format(genome, gi.certificate.sentence(c))
end

local function row_of(path)
  local problem, words, n = gi.problem(path), {}, 0
  for _, genome in ipairs(options.proposed and proposed_of(problem) or winner_of(path)) do
    local c = gi.certificate.of { problem = problem, genome = genome, jobs = jobs,
      cases = options.proposed and { gi.certificate.small(problem) } or nil }
    n = n + (c.certified and 1 or 0)
    words[#words + 1] = not c.certified and said_of(problem, genome, c) or nil
  end
  total, certified = total + n + #words, certified + n
  local said = table.concat(words, "; "):gsub("|", "/")
  return ("| %s | %d of %d | %s |"):format(name_of(path), n, n + #words, said)
end

assert(gi.textfile.make_folder(folder))
print "| problem | certified | |\n| --- | --- | --- |"
for _, path in ipairs(options.problem) do
  print(row_of(path))
  io.stdout:flush()
end
print(("\n%d of %d are certified"):format(certified, total))
