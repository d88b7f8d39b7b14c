-- certificates: evolves problems, each a little, asks of each winner whether it is certified equal
-- over the reals (docs/certificate.md), and prints a table of the answers.
--
--   gilua experiments/certificates.lua --problems kernels/reduction,kernels/spmv >table.md
--
-- A run that lies in the folder of --out already is not repeated, so that it can be ended and begun
-- again.

local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Evolves problems and asks for the certificate of each winner.",
  { name = "problems", type = "string", listed = true, doc = "their folders, with commas between" },
  { name = "population", default = 20, min = 2, doc = "kernels in a generation" },
  { name = "generations", default = 4, min = 1, doc = "generations" },
  { name = "seconds", default = 600, min = 1, doc = "that an evolution may take" },
}
local folder = options.out or "out/certificates"
assert(gi.textfile.make_folder(folder))

local function name_of(path) return path:match "([^/]+)/*$" end

-- The run of a problem: its folder; nil and why there is none.
local function run_of(path)
  local run = ("%s/%s"):format(folder, name_of(path))
  if lfs.attributes(run .. "/result.json", "mode") then return run end
  local status, _, code = core.system.run { limit_s = options.seconds, argv = {
    core.system.program(), "evolve", path, "--population", tostring(options.population),
    "--generations", tostring(options.generations), "--seed", tostring(options.seed), "--quiet",
    "--jobs", tostring(options.jobs or 1), "--out", run } }
  if lfs.attributes(run .. "/result.json", "mode") then return run end
  return nil, code == "timeout" and ("no winner in %d s"):format(options.seconds)
    or "gilua evolve ended with " .. tostring(status)
end

-- What is known of a problem's winner: a verdict, and words.
local function told(path)
  local run, why = run_of(path)
  if not run then return "no run", why end
  local genome = gi.json.decode(gi.textfile.read(run .. "/result.json", "a result")).best.genome
  if genome == "" then return "no winner", "nothing was faster" end
  local c = gi.certificate.of { problem = gi.problem(path), genome = genome, jobs = 1 }
  return c.certified and "certified" or "not certified",
    ("%s: %s"):format(genome, gi.certificate.sentence(c))
end

local count = { certified = 0 }
print "| problem | verdict | winner |\n| --- | --- | --- |"
for path in (options.problems or ""):gmatch "[^,]+" do
  local verdict, words = told(path)
  count[verdict] = (count[verdict] or 0) + 1
  print(("| %s | %s | %s |"):format(name_of(path), verdict, (words:gsub("|", "/"))))
  io.stdout:flush()
end
print(("\n%d of %d winners are certified"):format(count.certified,
  count.certified + (count["not certified"] or 0)))
