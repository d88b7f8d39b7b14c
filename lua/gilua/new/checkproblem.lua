-- checkproblem: `gilua check PROBLEM`: what is wrong with a problem, in the order in which it has
-- to be put right, and what evolution has to work with.

local gi = require "gilua"
local adequacy = require "gilua.study.adequacy"
local fitness = require "gilua.search.fitness"
local otherseeds = require "gilua.new.otherseeds"
local limit = require "gilua.study.limit"
local progress = require "gilua.report.progress"
local roofline = require "gilua.base.roofline"
local tolerances = require "gilua.problem.tolerance"
local trace = require "gilua.base.trace"

local M = {}

local MOST_LINES = 12 -- that never run, shown
local MOSTLY = 0.5 -- so many answers that are no number, or not the recording's, say nothing

-- Raised where going on has no sense; the finding was added.
local Stop = setmetatable({}, { __tostring = function() return "stopped" end })

local function stop(c, what, detail, advice)
  c.found:add { "no", what, (detail:gsub("\n.*", "")), advice = { advice } }
  error(Stop, 0)
end

--------------------------------------------------------------------------------------------------

local function compiles(c)
  if c.problem.is_ptx then
    local n = #c.problem.ptx:instructions()
    c.found:add { "ok", "no source", ("%d instructions of PTX"):format(n),
      figures = { { "instructions", n } } }
    return
  end
  local source = c.problem.grammar:guard(false) .. "#line 1\n" .. c.problem.grammar:apply("")
  local options = gi.compilers.options(c.problem, c.problem:values(), { target = "compute_90" })
  local ptx, why = gi.compile(source, options)
  if not ptx then
    stop(c, "compiles", why, options.compiler and "put the kernel right first, or leave it to NVRTC"
      or "put the kernel right first: `nvcc -c` says the same")
  end
  local lines = select(2, ptx:gsub("\n", ""))
  c.found:add { "ok", "compiles", ("%d lines of PTX"):format(lines),
    figures = { { "ptx_lines", lines } } }
end

local function runs(c)
  c.m = c.farm:evaluate({ "" }, c.spec)[1]
  if c.m.status ~= "ok" then
    stop(c, "runs", ("%s: %s"):format(c.m.status, c.m.message or ""),
      "sizes, counts and fills in problem.lua must fit each other; an address says which array")
  end
  local case = c.farm:case_info().name
  local limits, why = limit.of(c.farm, { "" }, c.spec, { c.m })
  local least = limits and limits[1]
  c.found:add { "ok", "runs", ("%s on %s: %s, %s"):format(case, c.farm:description(),
    c.virtual and ("%s ticks"):format(progress.grouped(c.m.ticks))
    or ("%.2f us"):format(c.m.ns / 1e3), least and roofline.words(least) or "its limit " .. why),
    figures = { { "case", case }, { "ticks", c.m.ticks }, { "ns", c.m.ns },
      { "limit_ns", least and least.ns }, { "limit_by", least and least.by } } }
end

-- Evolution draws new data in every generation.
local function runs_on_others(c)
  if not c.problem.definition.kernel_table then return end
  local n, why, _, seed = otherseeds.run(c.problem, c.spec.seed, { device = c.device })
  local figures = { { "seeds", n }, { "failed", seed } }
  if not why then
    c.found:add { "ok", "other seeds", ("it runs on the data of %d more"):format(n),
      figures = figures }
    return
  end
  c.found:add { "no", "other seeds", ("seed %d: %s"):format(seed, (why:gsub("\n.*", ""))),
    figures = figures, advice = { "evolution draws data of many seeds: make fills narrower, or the "
      .. "array longer" } }
end

-- What the kernel as it is does in the checked run that is no fault, by line.
local function is_clean(c)
  if not c.problem.checked_case then return end
  local verdict = c.farm:check({ "" })[1]
  for i, w in ipairs(verdict.warnings or {}) do
    c.found:add { "!!", i == 1 and "warnings" or "", ("line %d, %s times: %s"):format(w.line,
      progress.grouped(w.count), w.message),
      figures = { { "line", w.line }, { "count", w.count } } }
  end
  if not verdict.warnings then
    c.found:add { "ok", "warnings", "none: no race, and nothing is read that nobody wrote" }
  end
end

-- The limits of each output as a value for JSON; nil where all have those of the problem.
local function outputs_of(tolerance)
  if not tolerance.outputs then return nil end
  local list = {}
  for i, output in ipairs(tolerance.outputs) do
    list[i] = gi.json.object { { "name", output.name }, { "allowed", output.max_error or 0 },
      { "allowed_share", output.rel_error or 0 } }
  end
  return gi.json.array(list)
end

local function agrees(c)
  local m, tolerance = c.m, c.problem.tolerance
  local allowed = tolerances.text(tolerance)
  local figures = { { "answers", m.n }, { "max_error", m.max_error }, { "wrong", m.wrong },
    { "own", m.own or false }, { "unset", m.unset }, { "nan", m.nan },
    { "allowed", tolerance.max_error },
    { "allowed_share", tolerance.rel_error or 0 }, { "outputs", outputs_of(tolerance) } }
  if m.unset > 0 then
    c.found:add { "no", "answers", ("%.3g %% of them are never written"):format(100 * m.unset),
      figures = figures, advice = {
        "where that is meant, the array's role is \"inout\", and it begins with its fill" } }
  elseif not fitness.right(m) then
    c.found:add { "no", "reference", ("the kernel as it is differs from it by %.3g, more than %s "
      .. "is allowed"):format(m.max_error, allowed), figures = figures, advice = {
        ("%.3g %% of the answers: either the reference is wrong, or the tolerance"):format(
          100 * m.off) } }
  else
    local many = (m.own or 0) > MOSTLY
    c.found:add { many and "!!" or "ok", "reference",
      ("%s answers, largest difference %.3g of %s allowed"):format(progress.grouped(m.n),
        m.max_error, allowed), figures = figures, advice = m.own and {
        ("these are what the program's kernels give here: of the recording's %.3g %% are others, "
          .. "as of answers that hang on the last bit"):format(100 * m.own),
        many and "if nothing does, the replay is not the program: evolve with --device emu"
          or "a mutant that rounds otherwise is wrong" } }
  end
  if m.nan > 0 then
    c.found:add { m.nan > MOSTLY and "no" or "!!", "answers", ("%.3g %% of them are NaN, by the "
      .. "kernel and by its reference: nothing else is known of these"):format(100 * m.nan),
      advice = { "other fills or values, as your program has them" } }
  end
end

-- The same twice, and something else on other data.
local function is_deterministic(c)
  local first = c.farm:answers("", c.spec)
  local second = c.farm:answers("", c.spec)
  local seen = gi.array.compare(second, first, tolerances.of_first(c.problem.tolerance))
  local most = seen.max_error
  local figures = { { "max_error", most } }
  if seen.off > 0 then
    c.found:add { "no", "deterministic", ("two runs on the same data differ by %.3g, more than the "
      .. "tolerance"):format(most), figures = figures, advice = {
        "a larger max_error makes that right; a race would need mending" } }
  else
    c.found:add { "ok", "deterministic", most == 0 and "two runs agree bit for bit"
      or ("two runs differ by %.3g"):format(most), figures = figures }
  end
end

-- As many lines as one wants to see; shown(item) is one.
local function some_lines(list, shown)
  local lines = {}
  for i, item in ipairs(list) do
    if i > MOST_LINES then
      lines[i] = ("and %d more"):format(#list - MOST_LINES)
      break
    end
    lines[i] = shown(item)
  end
  return lines
end

-- Changes of the kernel that these data would not notice.
local function tells(c)
  if not fitness.right(c.m) then return end
  local a = adequacy.of(c.problem, c.farm, c.spec)
  local weak = adequacy.is_weak(a)
  c.found:add { (weak or #a.survivors > 0) and "!!" or "ok", "data",
    adequacy.line(a) .. (#a.survivors > 0 and "; not these:" or ""),
    advice = some_lines(a.survivors, function(s) return ("%5d: %s"):format(s.line, s.what) end),
    figures = { { "score", a.score }, { "noticed", a.noticed }, { "probes", a.probes } } }
  if weak then
    c.found:add { "no", "", ("%s: %s"):format(a.empty and "a kernel that does nothing would win"
      or ("below %.2f what wins is what computes least"):format(adequacy.LEAST),
      adequacy.remedy(c.problem)) }
  end
end

local function covered(c)
  local found, unknown = gi.coverage.of(c.problem, c.problem.checked_case or { seed = 1 })
  if not found then
    c.found:add { "!!", "coverage", ("not known: %s"):format(unknown) }
    return
  end
  local figures = { { "never", gi.json.array(found.never) }, { "coarse", found.coarse } }
  if #found.never == 0 then
    c.found:add { "ok", "coverage", "the small case reaches every line that has code"
      .. (found.coarse and ", as far as can be told: of a line with several parts one is enough"
      or ""), figures = figures }
    return
  end
  c.found:add { "!!", "coverage", ("%d lines are never reached by the small case: evolution may "
    .. "break them"):format(#found.never), figures = figures,
    advice = some_lines(found.never, function(n)
      return ("%5d%s %s"):format(n, found.seen[n] and ", in part:" or ":",
        c.problem.grammar:line(n):match("^%s*(.-)%s*$"))
    end) }
end

local function noisy(c)
  if c.virtual then
    c.found:add { "ok", "noise", "none: the virtual GPU counts" }
    return
  end
  local pair = c.farm:compare("", "", c.spec)
  c.found:add { "ok", "noise", ("with itself, interleaved: %.4f (95 %% interval %.4f to %.4f); "
    .. "gains below that are not seen"):format(pair.ratio, pair.low, pair.high),
    figures = { { "ratio", pair.ratio }, { "low", pair.low }, { "high", pair.high } } }
end

-- Of PTX alone: instructions that genes may change.
local function space_of_ptx(c)
  local n = 0
  for _, instruction in ipairs(c.problem.ptx:instructions()) do
    n = n + (instruction.open and 1 or 0)
  end
  c.found:add { n > 0 and "ok" or "no", "search space", ("%s instructions that genes may delete, "
    .. "copy, move, swap, replace or give other operands"):format(progress.grouped(n)),
    figures = { { "instructions", n } } }
end

-- At how many places each transformation can be made.
local function transformations(c, g)
  local list, figures = {}, {}
  for i, kind in ipairs(g:transformations()) do
    local seen, n = {}, 0
    for _, place in ipairs(kind.places) do
      n = n + (seen[place.line] and 0 or 1)
      seen[place.line] = true
    end
    list[i], figures[i] = ("%s (%d)"):format(kind.name, n), { kind.name, n }
  end
  if #list == 0 then return end
  c.found:add { "ok", "transformations", table.concat(list, ", "), figures = figures }
end

-- Why transformations are not proposed at loops and kernels, each with the fact that refuses it.
local function refusals(c, g)
  local lines, values = {}, {}
  for i, one in ipairs(c.why and g:refusals() or {}) do
    lines[i] = ("%5d: %s: %s"):format(one.line, one.name, one.says)
    values[i] = gi.json.object { { "line", one.line }, { "transformation", one.name },
      { "fact", one.fact }, { "why", one.says } }
  end
  if not c.why then return end
  c.found:add { "ok", "not proposed", ("%d transformations of loops and kernels%s"):format(#lines,
    #lines > 0 and ", each with the reason:" or ""), advice = lines,
    figures = { { "refused", gi.json.array(values) } } }
end

-- Statements around which no transformation can change anything, for nothing is known of them.
local function not_known(c, g)
  local list = g:opaque()
  if #list == 0 then return end
  c.found:add { "!!", "not known", ("what %d statements do, so transformations leave alone what "
    .. "stands around them:"):format(#list),
    advice = some_lines(list, function(s)
      return ("%5d: %s: %s"):format(s.line, s.why, g:line(s.line):match("^%s*(.-)%s*$"))
    end), figures = { { "statements", #list } } }
end

local function space(c)
  if c.problem.is_ptx then return space_of_ptx(c) end
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
  local n, why = g:gene_count()
  c.found:add { n ~= 0 and "ok" or "no", "search space", ("%s (%s)"):format(
    n and progress.grouped(n) .. " single mutants" or why, table.concat(list, ", ")),
    figures = n and { { "genes", n } } }
  transformations(c, g)
  refusals(c, g)
  not_known(c, g)
  local settings = {}
  for _, p in ipairs(c.problem.parameters) do
    settings[#settings + 1] = p.switch and p.name or ("%s (%d)"):format(p.name, #(p.values or {}))
  end
  if #settings > 0 then c.found:add { "ok", "parameters", table.concat(settings, ", ") } end
end

-- All steps; one that makes the rest senseless ends them.
local function examine(c, o)
  compiles(c)
  local farm <close> = gi.farm(c.problem, { device = o.device, jobs = o.jobs, dedupe = false,
    per_round = adequacy.PER_ROUND })
  c.farm, c.virtual = farm, farm.device == "emu"
  local steps = { runs, runs_on_others, is_clean, agrees, is_deterministic, tells, covered, noisy,
    space }
  for _, step in ipairs(steps) do step(c) end
end

--- Prints what is right and what is not, or only finds it.
---@param path string of the problem's folder
---@param o { device: string, jobs?: integer, seed: integer, silent?: boolean, why?: boolean } why:
---  also why transformations are not proposed
---@return boolean nothing is wrong
---@return table value for JSON
---@return Finding[] found
function M.run(path, o)
  local problem = gi.problem(path)
  local found = gi.findings.new { silent = o.silent }
  found:add { "ok", "problem", ("%s: kernel %s of %s"):format(problem.name, problem.kernel,
    problem.source_path) }
  local c = { problem = problem, device = o.device, found = found, why = o.why,
    spec = gi.own.case(problem, o.seed, o.device) }
  local ok, why = xpcall(examine, trace.handler, c, o)
  if not ok and why ~= Stop then error(why, 0) end
  return found.all_well, gi.json.object {
    { "problem", problem.name }, { "folder", problem.dir }, { "kernel", problem.kernel },
    { "source", problem.source_path }, { "device", o.device }, { "seed", o.seed },
    { "ok", found.all_well }, { "findings", found:value() },
  }, found
end

return M
