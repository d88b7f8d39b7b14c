-- runs: a run's folder is data. Whatever stands in result.json, reading it ends in a sentence or in
-- a run, never in a fault of the program, and a kept problem is what was kept.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local runs = require "gilua.command.runs"
local tap = require "tap"

local problem = gi.problem "kernels/niftyreg_wide"
local dir -- of a run, new in each case

local function keep(value)
  gi.textfile.write(dir .. "/result.json", gi.json.encode(value))
end

-- A run's folder, and what its result.json says.
---@param of? gilua.problem
local function new_run(of)
  of = of or problem
  dir = tap.folder()
  local folder <close> = gi.folder.open(dir, "")
  local result = gi.json.decode(gi.json.encode(gi.json.object {
    { "folder", of.dir }, { "seed", 1 }, { "best", gi.json.object { { "genome", "" } } },
    { "untested", gi.json.array { 3 } }, { "kept", gi.kept.write(of, folder) },
  }))
  keep(result)
  return result
end

tap.case("what was kept is the problem", function()
  new_run()
  local kept, names = runs.kept(runs.read(dir)), {}
  tap.ok(kept.source == problem.source, "the kernel")
  tap.is(tostring(kept.grammar), tostring(problem.grammar), "its rules")
  for i, file in ipairs(kept.files) do names[i] = file.name end
  tap.is(table.concat(names, " "),
    "problem.lua kernel.cu elsewhere/1/reference.c elsewhere/2/problem.lua",
    "the Lua file that problem.lua loads is among the files")
  tap.is(#gi.kept.changed(kept), 0, "nothing has changed")
  tap.is(kept.complete, true, "nothing is left out")
end)

tap.case("a genome applied to it is the mutant", function()
  new_run()
  local kept, rng, same = runs.kept(runs.read(dir)), gi.rng(1), 0
  for _ = 1, 50 do
    local genome = problem.grammar:random_gene(rng)
    if kept.grammar:apply(genome, true) == problem.grammar:apply(genome, true) then
      same = same + 1
    end
  end
  tap.is(same, 50, "so many of 50 random genes")
end)

-- Calls f(parent, key) for every field of a value, the deep ones too.
local function each_field(value, f)
  for _, key in ipairs(gi.settings.keys(value)) do
    key = math.tointeger(key) or key
    f(value, key)
    if type(value[key]) == "table" then each_field(value[key], f) end
  end
end

tap.case("a field of any kind in place of any other is a sentence", function()
  local result, odd, tried = new_run(gi.problem "kernels/reduction"), {}, 0 -- of few lines
  each_field(result, function(parent, key)
    local was = parent[key]
    for _, other in ipairs { 7, -1.5, "x", "", "../x", true, { 1 }, { a = {} }, gi.json.null } do
      parent[key] = other
      keep(result)
      tried = tried + 1
      local ok, why = pcall(function()
        local run = runs.read(dir)
        runs.code(run)
        return gi.backport.file(runs.kept(run), run.genome)
      end)
      if not ok and not (type(why) == "table" and why.status) then
        odd[#odd + 1] = ("%s = %s: %s"):format(key, tostring(other), tostring(why))
      end
    end
    parent[key] = was
  end)
  tap.is(table.concat(odd, "\n"), "", "none of these is a fault")
  tap.ok(tried > 300, "many were tried: " .. tried)
end)

tap.done()
