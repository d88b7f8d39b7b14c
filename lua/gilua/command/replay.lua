-- replay: `gilua replay RUN`: simulates a run's search from its archive.

local answer = require "gilua.command.answer"
local gi = require "gilua"
local luafile = require "gilua.command.luafile"
local progress = require "gilua.report.progress"
local set = require "gilua.command.set"

local OPTIONS = {
  takes = "seed quiet",
  doc = "Simulates the search of a run from its archive; no kernel is compiled or run.",
  positional = { { name = "run", doc = "its folder" } },
  { name = "population", type = "integer", min = 2,
    doc = "kernels in a generation (as in the run)" },
  { name = "generations", type = "integer", min = 1, doc = "generations (as in the run)" },
  { name = "formula", type = "string",
    doc = "a Lua file that returns a function (own, baseline) -> number: another fitness" },
  { name = "scheme", type = "string",
    doc = "a Lua file that returns fields of a scheme: { select = …, breed = … }" },
  { name = "set", type = "string", many = true,
    doc = "KEY=VALUE, as often as wanted: select=random, finalists=2 … (docs/archive.md)" },
  { name = "which", type = "integer", min = 1,
    doc = "another evolution of the folder, by the number that gilua log gives" },
  answer.JSON,
}

local function seed_given()
  for i = 1, #arg do
    if arg[i]:find "^%-%-seed" then return true end
  end
  return gi.options.seed ~= nil
end

-- What is to be other than in the run.
local function changes_of(o)
  local changes = o.scheme and luafile.scheme(o.scheme) or {}
  changes.population, changes.generations = o.population or changes.population,
    o.generations or changes.generations
  if o.formula then changes.fitness = luafile.formula(o.formula) end
  if seed_given() then changes.seed = o.seed end
  for key, value in pairs(set.fields(o.set)) do changes[key] = value end
  changes.observers = { gi.progress.new { quiet = o.quiet or o.json } }
  return changes
end

local function best_in_run(replay)
  if replay.run.part_of then return nil end
  local path = replay.dir .. "/result.json"
  local result = gi.json.decode(gi.textfile.read(path, "the result"))
  return type(result) == "table" and tonumber(result.speedup) or nil
end

local function say_counts(o, replay, run)
  local c, n = run.replayed, progress.grouped
  local like = c.by_source > 0
    and (", %s of them by another genome of the same source"):format(n(c.by_source)) or ""
  local fate = c.missing > 0
    and ": they count as kernels that do not run, and none became a parent" or ""
  answer.say(o, "Of %s genomes asked for the archive answered %s%s; %s were missing%s.", n(c.asked),
    n(c.asked - c.missing), like, n(c.missing), fate)
  if replay.scheme.functions.hold then
    answer.say(o, "What the run asked of its winner on other data was not asked again.")
  end
  if #replay.own > 0 then
    answer.say(o, "The run had functions of its own that no archive has, and gilua's are in their "
      .. "place: %s (--scheme FILE gives others).", table.concat(replay.own, ", "))
  end
end

local function simulated(o)
  local replay <close> = gi.replay.open(o.run, o.which)
  local run = replay:evolve(changes_of(o))
  say_counts(o, replay, run)
  local best = best_in_run(replay)
  if best then answer.say(o, "The run itself found %.3fx.", best) end
  local c = run.replayed
  return gi.json.object { { "run", o.run }, { "seed", run.seed },
    { "population", run.scheme.population }, { "generations", run.scheme.generations },
    { "speedup", run.result.speedup }, { "best", run.result.best.genome },
    { "asked", c.asked }, { "by_source", c.by_source }, { "missing", c.missing },
    { "own", gi.json.array(replay.own) }, { "run_speedup", best } }
end

return function()
  return answer.given(gi.cli(OPTIONS), simulated)
end
