-- tune: gilua tune, and the tuning at the start of evolve and improve. It writes a run's folder,
-- which apply and verify read, and from which evolution can start.

local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local liveline = require "gilua.base.liveline"
local shell = require "gilua.base.shell"

local M = {
  SAMPLE = { name = "sample", default = 500, min = 1,
  doc = "most settings that are measured; of more, so many are drawn at random" }

--------------------------------------------------------------------------------------------------
-- tune,
}

--- The parameters that have more than one value; refuses a problem without.
---@param problem gilua.problem
---@return string[]
function M.tunable(problem)
  local names = {}
  for _, p in ipairs(problem.parameters) do
    if p.switch or p.values and #p.values > 1 then names[#names + 1] = p.name end
  end
  if #names > 0 then return names end
  fail("%s has no parameter with more than one value: there is nothing to tune (tune_params in its "
    .. "problem.lua)", problem.dir)
end

--- The best setting in words.
---@param result Tuning
---@return string
function M.best_of(result)
  local genome = gi.tuned.genome(result)
  return genome == "" and "as it is" or genome
end

-- Shows how far the tuning is, on the terminal and on the page.
local function counting(run)
  local page = gi.live.page(run.folder)
  return function(done, total, row, result)
    run.result = result
    liveline.show("tunes: setting %d of %d", done, total)
    if done == total then liveline.clear() end
    gi.tune.tell(done, total, row)
    if not page:is_due() then return end
    local so_far = gi.tune.so_far(result)
    page:write(gi.tuned.page(run, so_far), { on = true, text = gi.tuned.counted(so_far) })
  end
end

-- What stops a tuning (an error, the interrupt key) goes on to the caller; the best so far is kept.
local function keep_so_far(run, o, why)
  local result = run.result and gi.tune.so_far(run.result)
  if not (result and result.best) then return end
  run.stopped = ends.is_interruption(why) and "interrupted" or tostring(why):match "^[^\n]*"
  gi.tuned.write(result, run)
  answer.say(o, "%s; best so far: %s. Results are in %s: %s", gi.tuned.counted(result),
    M.best_of(result), run.folder.dir, table.concat(run.folder:listing(), " "))
end

-- What the times belong to: problem, device, parameters and their values, case.
local function world_of(problem, farm, case)
  local names, values = M.tunable(problem), {}
  for _, p in ipairs(problem.parameters) do
    values[p.name] = p.switch and { false, true } or p.values
  end
  return gi.tuningcache.world(problem, farm, { parameters = names, values = values, case = case })
end

--- Measures every setting, or a sample where there are too many. The folder keeps what is found.
---@param problem gilua.problem
---@param farm gilua.farm
---@param o table options: seed, device, sample, cache, quiet
---@param folder ResultFolder
---@param on? string the page's words while the command goes on after it
---@return Tuning result
---@return table value for JSON
---@return table? cache
function M.tuned(problem, farm, o, folder, on)
  local case = gi.own.case(problem, o.seed, o.device)
  local world = world_of(problem, farm, case)
  local cache <close> = o.cache and gi.tuningcache.open(o.cache, world) or nil
  local run = { problem = problem, farm = farm, seed = o.seed, folder = folder, world = world,
    cache = cache, on = on }
  local ran, result = pcall(gi.tune.run, {
    problem = problem, farm = farm, case = case, parameters = world.parameters,
    sample = o.sample, rng = gi.rng(o.seed), on_result = counting(run), cache = cache,
  })
  if not ran then
    keep_so_far(run, o, result)
    error(result, 0)
  end
  if not result.best then
    fail("no setting gives right answers: gilua check %s", shell.word(problem.dir))
  end
  return result, gi.tuned.write(result, run), cache
end

--- Says how many settings were measured, and the best.
---@param result Tuning
---@param farm gilua.farm
---@param cache? table
---@return string
function M.settings_line(result, farm, cache)
  local n, from = #result.rows, ""
  if cache and cache.foreign then
    from = (", with times of %s in %s"):format(cache.device, cache.path)
  elseif cache then
    from = (", %d of them from %s"):format(cache.taken, cache.path)
  end
  return ("%d settings%s on %s%s. Best: %s."):format(n,
    result.sampled and (" of %d"):format(result.total) or "", farm:description(), from,
    M.best_of(result))
end

local function tune(o)
  boxed.require(o)
  liveline.begin(o.quiet)
  local problem = gi.problem(o.problem)
  local folder <close> = gi.folder.open(o.out, ("out/tune-%s-%d"):format(problem.name, o.seed))
  local out = folder.dir
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  gi.history.open(folder, problem, farm, o.seed)
  local result, value, cache = M.tuned(problem, farm, o, folder)
  for _, line in ipairs(gi.tune.lines(result, { limit = o.rows })) do answer.say(o, "%s", line) end
  answer.say(o, "%s All are in %s/results.t4.json", M.settings_line(result, farm, cache),
    out)
  if gi.tuned.genome(result) == "" then return value, ends.STATUS.no_winner end
  local run = shell.word(out)
  answer.say(o, "Next: gilua evolve %s --from %s, or gilua verify %s", shell.word(o.problem), run,
    run)
  return value
end

--- gilua tune.
function M.command()
  local o = gi.cli {
    doc = "Measures every setting of a problem's parameters, alone, without evolution.",
    runs = true,
    positional = { { name = "problem", doc = "its folder" } }, M.SAMPLE,
    { name = "rows", default = 12, min = 1, doc = "how many of the fastest are shown" },
    { name = "cache", type = "string",
      doc = "a cache file of Kernel Tuner: its times are used, new ones are added" },
    boxed.OPTION,
  }
  return answer.given(o, tune)
end

return M
