-- Every folder of kernels/ is a problem that runs: it loads, the unmodified kernel is right on the
-- small case with every check on, a case asked for by a wrong name is refused in one sentence, and
-- the script that its README shows runs. The folders are listed, so that a new problem is tested
-- without a line here.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local problems = require "problems"
local tap = require "tap"
local gi = require "gilua"

--- The unmodified kernel on the small case: its answers, then races and reads of what nobody wrote.
local function small_case_is_right(problem)
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local m = farm:evaluate({ "" }, problem.checked_case)[1]
  tap.is(m.status, "ok", "the unmodified kernel runs on the small case: " .. (m.message or ""))
  tap.ok(m.n > 0 and m.unset == 0, "and sets all of its answers")
  tap.ok(m.max_error <= problem.tolerance.max_error,
    ("which are right: error %g, accepted %g"):format(m.max_error, problem.tolerance.max_error))
  local verdict = farm:check({ "" })[1]
  tap.is(verdict.status, "ok", "no thread races with another: " .. (verdict.message or ""))
  tap.is(verdict.uninitialised_reads, 0, "and none reads what was never written")
end

local function defaults_are_values(problem)
  for _, p in ipairs(problem.parameters) do
    local listed = p.switch
    for _, value in ipairs(p.values or {}) do listed = listed or value == p.default end
    tap.ok(listed, ("the default of %s is one of its values"):format(p.name))
    tap.ok(type(p.doc) == "string", ("%s says what it is"):format(p.name))
  end
end

local function misspelt_is_refused(problem)
  local spec = { seed = 1, no_such_field = 1 }
  local fine, why = pcall(problem.case, problem, spec)
  local text = tostring(why)
  tap.ok(not fine, "a case with a field nobody knows is refused")
  tap.has(text, "'no_such_field'", "by name")
  tap.ok(not text:find("\n", 1, true), "in one sentence")
end

--- The script of a problem's README, or nil where it shows none.
local function script_of(name)
  local text = tap.read("kernels/" .. name .. "/README.md")
  return text and text:match("```lua\n(.-)```")
end

--- What a README's script sees as "gilua": its experiment runs, but small and in silence.
local function small_gilua(ran)
  local function run(scheme)
    scheme.population, scheme.generations, scheme.observers = 4, 1, {}
    local farm <close> = gi.farm(scheme.problem, { jobs = 1 })
    scheme.farm = farm
    ran.run = gi.evolve.run(scheme)
  end
  return setmetatable({
    evolve = setmetatable({ run = run }, { __index = gi.evolve }),
    farm = function() return true end, -- of the number of workers asked for: not opened
  }, { __index = gi })
end

local function script_runs(name, script)
  local ran = {}
  local env = setmetatable({
    require = function(module)
      return module == "gilua" and small_gilua(ran) or require(module)
    end,
  }, { __index = _G })
  local chunk, why = load(script, "=README.md", "t", env)
  tap.ok(chunk, "its README's script is Lua: " .. (why or ""))
  chunk()
  tap.is(ran.run.problem.name, name, "which evolves this problem")
  tap.is(ran.run.result.baseline.status, "ok", "and comes to a final comparison")
end

local names = problems.names()
tap.ok(#names > 1, ("kernels/ holds problems: %s"):format(table.concat(names, ", ")))

for _, name in ipairs(names) do
  tap.case(("kernels/%s is a problem that runs"):format(name), function()
    local problem = gi.problem("kernels/" .. name)
    tap.is(problem.name, name, "it is called what its folder is called")
    tap.ok(problem.grammar:gene_count() > 0, "something in it may change")
    tap.ok(type(problem.checked_case) == "table", "it has a small case")
    tap.ok(problem.source == tap.read(problem.source_path), "the empty genome gives the file")
    defaults_are_values(problem)
    misspelt_is_refused(problem)
    small_case_is_right(problem)
    local script = script_of(name)
    if script then script_runs(name, script) end
  end)
end

tap.done()
