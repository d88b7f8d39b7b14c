-- checkproblem: `gilua check PROBLEM`: what is wrong with a problem, in the order in which it has
-- to be put right, and what evolution has to work with.

local gi = require "gilua"
local adequacy = require "gilua.study.adequacy"
local fitness = require "gilua.search.fitness"
local progress = require "gilua.report.progress"

local M = {}

local MOST_LINES = 12 -- that never run, shown

local function line(mark, what, detail, ...)
  print(("%-4s %-14s %s"):format(mark, what, select("#", ...) > 0 and detail:format(...) or detail))
end

-- Raised where going on has no sense; the sentence was printed.
local Stop = setmetatable({}, { __tostring = function() return "stopped" end })

local function stop(what, detail, advice)
  line("no", what, "%s", (detail:gsub("\n.*", "")))
  if advice then line("", "", "%s", advice) end
  error(Stop, 0)
end

--------------------------------------------------------------------------------------------------

local function compiles(c)
  local source = c.problem.grammar:guard(false) .. "#line 1\n" .. c.problem.grammar:apply("")
  local options = c.problem:compile_options(c.problem:values())
  local ptx, why = gi.compile(source, { target = "compute_90", options = options })
  if not ptx then
    stop("compiles", why, "put the kernel right first: `nvcc -c` says the same")
  end
  line("ok", "compiles", "%d lines of PTX", select(2, ptx:gsub("\n", "")))
end

local function runs(c)
  c.m = c.farm:evaluate({ "" }, c.spec)[1]
  if c.m.status ~= "ok" then
    stop("runs", ("%s: %s"):format(c.m.status, c.m.message or ""),
      "sizes, counts and fills in problem.lua must fit each other; an address says which array")
  end
  line("ok", "runs", "%s on %s: %s", c.farm:case_info().name, c.farm:description(),
    c.virtual and ("%s ticks"):format(progress.grouped(c.m.ticks))
    or ("%.2f us"):format(c.m.ns / 1e3))
end

-- What the kernel as it is does in the checked run that is no fault, by line.
local function is_clean(c)
  if not c.problem.checked_case then return end
  local verdict = c.farm:check({ "" })[1]
  for i, w in ipairs(verdict.warnings or {}) do
    line("!!", i == 1 and "warnings" or "", "line %d, %s times: %s", w.line,
      progress.grouped(w.count), w.message)
  end
  if not verdict.warnings then
    line("ok", "warnings", "none: no race, and nothing is read that nobody wrote")
  end
end

local function agrees(c)
  local m, tolerance = c.m, c.problem.tolerance
  if m.unset > 0 then
    line("no", "answers", "%.3g %% of them are never written", 100 * m.unset)
    line("", "", "where that is meant, the array's role is \"inout\", and it begins with its fill")
    c.bad = true
  elseif not fitness.right(m, tolerance) then
    line("no", "reference", "the kernel as it is differs from it by %.3g, more than %.3g is "
      .. "allowed", m.max_error, tolerance.max_error)
    line("", "", "%.3g %% of the answers: either the reference is wrong, or the tolerance",
      100 * m.wrong)
    c.bad = true
  else
    line("ok", "reference", "%s answers, largest difference %.3g of %.3g allowed",
      progress.grouped(m.n), m.max_error, tolerance.max_error)
  end
end

-- The same twice, and something else on other data.
local function is_deterministic(c)
  local first = c.farm:answers("", c.spec)
  local second = c.farm:answers("", c.spec)
  local most = gi.array.compare(second, first, {}).max_error
  if most > c.problem.tolerance.max_error then
    line("no", "deterministic",
      "two runs on the same data differ by %.3g, more than the tolerance", most)
    line("", "", "a larger tolerance.max_error makes that right; a race would need mending")
    c.bad = true
  else
    line("ok", "deterministic", most == 0 and "two runs agree bit for bit"
      or "two runs differ by %.3g", most)
  end
end

-- Changes of the kernel that these data would not notice.
local function tells(c)
  local a = adequacy.of(c.problem, c.farm, c.spec)
  local weak = adequacy.is_weak(a)
  line((weak or #a.survivors > 0) and "!!" or "ok", "data", "score %.2f: %d of %d changes of the "
    .. "kernel are noticed%s", a.score, a.noticed, a.probes,
    #a.survivors > 0 and "; not these:" or "")
  for i, s in ipairs(a.survivors) do
    if i > MOST_LINES then
      line("", "", "and %d more", #a.survivors - MOST_LINES)
      break
    end
    line("", "", "%5d: %s", s.line, s.what)
  end
  if weak then
    line("no", "", "%s: give the arrays other fills (docs/own-kernels.md)", a.empty
      and "a kernel that does nothing would win" or ("below %.2f what wins is what computes least")
      :format(adequacy.LEAST))
    c.bad = true
  end
end

local function covered(c)
  local case, why = c.problem:case(c.problem.checked_case or { seed = 1 })
  local found = case and gi.coverage.of(c.problem, case)
  if not found then
    line("!!", "coverage", "not known: %s", why or "the small case does not run")
    return
  end
  if #found.never == 0 then
    line("ok", "coverage", "the small case reaches every line that has code%s", found.coarse
      and ", as far as can be told: of a line with several parts one is enough" or "")
    return
  end
  line("!!", "coverage", "%d lines are never reached by the small case: evolution may break them",
    #found.never)
  for i, n in ipairs(found.never) do
    if i > MOST_LINES then
      line("", "", "and %d more", #found.never - MOST_LINES)
      break
    end
    line("", "", "%5d%s %s", n, found.seen[n] and ", in part:" or ":",
      c.problem.grammar:line(n):match("^%s*(.-)%s*$"))
  end
end

local function noisy(c)
  if c.virtual then
    line("ok", "noise", "none: the virtual GPU counts")
    return
  end
  local pair = c.farm:compare("", "", c.spec)
  line("ok", "noise", "with itself, interleaved: %.4f (95 %% interval %.4f to %.4f); gains below "
    .. "that are not seen", pair.ratio, pair.low, pair.high)
end

local function space(c)
  local g, counts = c.problem.grammar, {}
  for _, rule in ipairs(g:rules()) do
    if not rule.protected and rule.type ~= "fixed" and not rule.type:find("_K$") then
      counts[rule.type] = (counts[rule.type] or 0) + 1
    end
  end
  local list = {}
  for _, type in ipairs(gi.settings.keys(counts)) do
    list[#list + 1] = ("%d %s"):format(counts[type], type)
  end
  local n = g:gene_count()
  line(n > 0 and "ok" or "no", "search space", "%s single mutants (%s)", progress.grouped(n),
    table.concat(list, ", "))
  c.bad = c.bad or n == 0
  local settings = {}
  for _, p in ipairs(c.problem.parameters) do
    settings[#settings + 1] = p.switch and p.name or ("%s (%d)"):format(p.name, #(p.values or {}))
  end
  if #settings > 0 then line("ok", "parameters", "%s", table.concat(settings, ", ")) end
end

--- Prints what is right and what is not.
---@param path string of the problem's folder
---@param o { device: string, jobs?: integer, seed: integer }
---@return boolean nothing is wrong
function M.run(path, o)
  local problem = gi.problem(path)
  line("ok", "problem", "%s: kernel %s of %s", problem.name, problem.kernel, problem.source_path)
  local c = { problem = problem, device = o.device, spec = gi.own.case(problem, o.seed, o.device) }
  local ok, why = xpcall(function()
    compiles(c)
    local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs, dedupe = false })
    c.farm, c.virtual = farm, farm.device == "emu"
    local steps = { runs, is_clean, agrees, is_deterministic, tells, covered, noisy, space }
    for _, step in ipairs(steps) do step(c) end
  end, function(e) return type(e) == "string" and debug.traceback(e, 2) or e end)
  if not ok and why ~= Stop then error(why, 0) end
  return ok and not c.bad
end

return M
