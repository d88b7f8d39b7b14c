-- gevo: what evolution finds on whole programs, by kind of gene, with the same seconds for each:
-- parameters alone (pools, who compiles), lines of the source with transformations, instructions of
-- PTX, instructions of LLVM's code, and all together. Time is that of all launches. Winners are run
-- on recordings of other data and sizes; the last of these nobody has seen, and its ratio counts.
--
--   kernels/workloads/make -j 8 problem all
--   gilua --device cuda tests/gpu/gevo.lua [--problems out/workloads] [--only bfs,lud]
--     [--kinds parameters,source,ptx,llvm,all] [--search 4] [--population 128] [--living 12]
--     [--ahead 64] [--launches graph] [--pairs 30] [--bound 500] [--json FILE] [--winners FILE]
--
-- A line for each search as it ends, the winners in words, and at the end the table, with the means
-- that GEVO reports of its thirteen programs (TACO 2020, §5). A winner that is wrong on a recording
-- counts as none. No search is begun after --bound seconds. The kinds draw from seeds of their own
-- and share what is known of the unmodified program. The winner of all together and that of the
-- source are also timed in turn, on the unseen recording; with --winners, which reads what --json
-- wrote, that alone is done.

local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local gi = require "gilua"
local lfs = require "lfs"

local o = gi.cli {
  doc = "What evolution finds on recordings of whole programs, by kind of gene.",
  { name = "problems", default = "out/workloads", doc = "folder of NAME/problem" },
  { name = "only", type = "string", doc = "names, with commas between" },
  { name = "kinds", default = "parameters,source,ptx,llvm,all", doc = "of genes, with commas" },
  { name = "search", default = 4, min = 1, doc = "seconds of each search" },
  { name = "population", default = 128, min = 2, doc = "evaluations between looks at the clock" },
  { name = "living", default = 12, min = 2, doc = "of the steady scheme" },
  { name = "ahead", default = 64, min = 1, doc = "children at once" },
  { name = "launches", default = "graph", check = function(text)
    return text == "graph" or text == "stream", "must be graph or stream"
  end, doc = "how a sequence is timed: kernels alone (graph), or with the host's gaps (stream)" },
  { name = "pairs", default = 30, min = 2, doc = "launches of winner and unmodified in turn" },
  { name = "bound", default = 500, min = 1, doc = "seconds after which no search is begun" },
  { name = "json", type = "string", doc = "a file for all of it" },
  { name = "winners", type = "string", doc = "a file of --json: its winners, timed in turn" },
}

-- What GEVO optimised and printed as a mean of thirteen; other workloads are shown, not counted.
local THIRTEEN = {}
for name in ([[bfs btree cfd gaussian heartwall hotspot lud nn nw particlefilter pathfinder srad
    streamcluster]]):gmatch "%S+" do
  THIRTEEN[name] = true
end

local PATIENCE = 640 -- evaluations without a better one, behind which those that live make room

local began = core.system.seconds()

local function words(text)
  local list = {}
  for word in text:gmatch "[^,%s]+" do list[#list + 1] = word end
  return list
end

local function say(...)
  print((...):format(select(2, ...)))
  io.stdout:flush()
end

local function is_over() return core.system.seconds() - began > o.bound end

--------------------------------------------------------------------------------------------------
-- The kinds: where new genes come from. Each is a function of a problem and its farm that gives
-- fields of a scheme, or nil and why there are none.

local KINDS = {}

-- Types of rules that change no statement and no expression.
local POOLS = { optconst = true, optrestrict = true, optvolatile = true, launchbounds = true,
  pragma = true, def = true }

local function compilers_of(problem)
  local names = {}
  for _, p in ipairs(problem.parameters) do
    if not p.switch and p.values and #p.values > 1 then names[#names + 1] = p.name end
  end
  return names
end

function KINDS.parameters(problem)
  local weights, has = {}, false
  for _, rule in ipairs(problem.grammar:rules()) do
    weights[rule.type] = POOLS[rule.type] and 1 or 0
    has = has or POOLS[rule.type] and not rule.protected or false
  end
  local names = compilers_of(problem)
  if not has and #names == 0 then return nil, "it has no parameter" end
  return { draw = gi.genome.source(problem, { weights = weights, parameters = names,
    parameter_share = has and 0.2 or 1 }) }
end

-- More of the genes that have paid so far: a bandit over their kinds.
local function by_bandit(problem, genes, others)
  local bandit = gi.bandit.new(problem, genes, { arms = others })
  return { init = bandit.init, draw = bandit.draw, observer = bandit }
end

function KINDS.source(problem)
  return by_bandit(problem, { transform_share = gi.own.TRANSFORM_SHARE })
end

function KINDS.ptx(problem, farm)
  return { draw = gi.genome.ptx_source(gi.below.open(problem, farm)) }
end

local function measured(problem, farm, genome)
  return farm:evaluate({ genome }, gi.own.case(problem, o.seed))[1]
end

local function has_llvm(problem)
  for _, p in ipairs(problem.parameters) do
    if p.name == "compiler" then return true end
  end
  return false
end

function KINDS.llvm(problem, farm)
  if not has_llvm(problem) then return nil, "there is no LLVM 19 or later, or no clang" end
  local m = measured(problem, farm, "compiler=llvm")
  if not gi.fitness.right(m) then
    return nil, "LLVM: " .. m.status .. (m.message and ": " .. m.message:match "^[^\n]*" or "")
  end
  return { start = "compiler=llvm",
    draw = gi.genome.llvm_source(gi.below.open_llvm(problem, farm)) }
end

-- All that there are, by one bandit: source, transformations, parameters, of which the first ones
-- have each value, and instructions, which need no compiler: of LLVM's code where LLVM made it,
-- else of PTX.
-- At the end mostly parameters, on top of the best: each value in turn.
local END, SHARE = 0.8, 0.7 -- from this part of the seconds on; of the mutations then

-- Each value of each parameter.
local function settings(problem)
  local list = {}
  for _, p in ipairs(problem.parameters) do
    for i = 1, p.switch and 0 or #(p.values or {}) do
      list[#list + 1] = ("%s%s=%s"):format(p.name == "passes" and "compiler=llvm " or "", p.name,
        p.values[i])
    end
  end
  return list
end

-- The first ones, of which some are these.
local function with_settings(problem, init)
  return function(n, ...)
    local list, first = init(n, ...), settings(problem)
    return table.move(first, 1, math.min(n, #first), 1, list)
  end
end

-- A function that gives each parent all of these in turn, and then others at random.
local function in_turn(list, draw)
  local given = {}
  return function(parent, rng)
    local i = (given[parent] or 0) + 1
    given[parent] = i
    return list[i] or draw(rng)
  end
end

local function is_by_llvm(genome) return genome:find("compiler=llvm", 1, true) ~= nil end

function KINDS.all(problem, farm)
  local llvm = has_llvm(problem) and measured(problem, farm, "compiler=llvm")
  local of_ptx = gi.genome.ptx_source(gi.below.open(problem, farm))
  local of_llvm = llvm and gi.fitness.right(llvm)
    and gi.genome.llvm_source(gi.below.open_llvm(problem, farm))
  local setting = in_turn(settings(problem), KINDS.parameters(problem).draw)
  local above, began_at, parent_now = gi.retouch.new(problem).mutate, nil, ""
  local fields = by_bandit(problem, gi.own.genes(problem), { { name = "instructions",
    draw = function(rng) return (of_llvm and is_by_llvm(parent_now) and of_llvm or of_ptx)(rng) end
  } })
  fields.init = with_settings(problem, fields.init)
  function fields.mutate(parent, draw, rng)
    began_at, parent_now = began_at or core.system.seconds(), parent
    local part = (core.system.seconds() - began_at) / o.search
    if part < END or rng:unit() >= SHARE then return above(parent, draw, rng) end
    return gi.genome.join { parent, setting(parent, rng) }
  end
  return fields
end

--------------------------------------------------------------------------------------------------
-- A search, and what is said of its winner

local function counter(count)
  return { on_result = function(_, individual)
    local m = individual.measurement
    count.all = count.all + 1
    count.right = count.right + (gi.fitness.right(m) and 1 or 0)
  end }
end

-- The scheme: children as soon as a worker is free, until the seconds are over.
local function scheme_of(problem, farm, fields, count, seed)
  local first = core.system.seconds()
  local s = gi.steady.scheme { population = o.population, living = o.living, ahead = o.ahead,
    patience = math.max(1, PATIENCE // o.population) }
  s.problem, s.farm, s.rng = problem, farm, gi.rng(seed)
  s.fitness, s.init, s.generations = gi.fitness.within(problem.tolerance), gi.own.first, 1000
  s.mutate = gi.retouch.new(problem).mutate
  -- A generation has one of the recordings to train on; the best meet on all of these.
  s.new_case = function(_, rng, stage)
    local drawn = rng:int(1 << 31)
    return stage and gi.own.drawn(problem, drawn, o.device, stage) or gi.own.case(problem, drawn)
  end
  s.enough = function()
    count.seconds = core.system.seconds() - first
    return count.seconds >= o.search
  end
  s.observers = { counter(count), fields.observer }
  for name, value in pairs(fields) do
    if name ~= "observer" then s[name] = value end
  end
  return s
end

-- Every recording: right, and how much faster. (Races and their like were asked of each mutant, on
-- the small recording.)
local function judged(problem, farm, genome)
  local recorded, cases = problem.definition.recorded, {}
  for _, use in ipairs { "train", "validate", "unseen" } do
    table.move(recorded:specs(use), 1, #recorded:specs(use), #cases + 1, cases)
  end
  local v = gi.validate.run { problem = problem, farm = farm, cases = cases, genome = genome,
    pairs = o.pairs }
  local wrong
  for _, row in ipairs(v.rows) do
    if not row.right then wrong = wrong or ("%s: %s"):format(row.case, row.status) end
  end
  return v.rows, wrong
end

local function told(problem, result)
  say("    %s", result.genome)
  for _, gene in ipairs(gi.below.explain(problem, result.genome)) do
    say("      %s: %s", gene.gene, gene.text)
  end
end

-- Seconds of the farm's workers by stage, less those before.
local function stages(farm, before)
  local list = {}
  for stage, s in pairs(farm:stats().seconds) do
    list[stage] = s - (before and before[stage] or 0)
  end
  return list
end

-- One kind on one problem: { speedup, low, high, … } or { why }.
local function searched(problem, farm, kind, seed)
  local fields, why = KINDS[kind](problem, farm)
  if not fields then return { why = why } end
  local count = { all = 0, right = 0, seconds = o.search }
  local before = stages(farm)
  local run = gi.evolve.run(scheme_of(problem, farm, fields, count, seed))
  local result = { genome = run.result.best.genome, evaluations = count.all, right = count.right,
    seconds = count.seconds, speedup = 1, low = 1, high = 1, chosen = run.result.speedup }
  result.stages = stages(farm, before)
  if result.genome == "" then return result end
  result.rows, result.wrong = judged(problem, farm, result.genome)
  local last = result.rows[#result.rows]
  if not result.wrong then
    result.speedup, result.low, result.high = last.ratio, last.low, last.high
  end
  return result
end

-- What the search and the comparison behind it took of all workers, by stage.
local function spent(r)
  local words_of = {}
  for _, stage in ipairs { "compile", "checked", "run", "check", "time" } do
    words_of[#words_of + 1] = ("%s %.1f"):format(stage, r.stages[stage] or 0)
  end
  return "\n    seconds of workers: " .. table.concat(words_of, ", ")
end

local function line_of(name, kind, r)
  if r.why then return ("%-14s %-10s not searched: %s"):format(name, kind, r.why) end
  local rows = {}
  for i, row in ipairs(r.rows or {}) do
    rows[i] = row.ratio and ("%.3f"):format(row.ratio) or row.status
  end
  return ("%-14s %-10s %6.3fx (%.3f to %.3f)  %5d mutants, %2.0f %% right, %3.0f a second%s%s")
    :format(name, kind, r.speedup, r.low, r.high, r.evaluations,
      100 * r.right / math.max(1, r.evaluations), r.evaluations / r.seconds,
      #rows > 0 and "  train, validate, unseen: " .. table.concat(rows, " ") or "  nothing faster",
      r.wrong and "  COUNTS AS NONE: " .. r.wrong or "") .. spent(r)
end

--------------------------------------------------------------------------------------------------
-- The problems

-- Who compiles is a gene where LLVM is there, and how exactly: the folder was made for this script.
local function with_compilers(folder)
  local path = folder .. "/problem.lua"
  local text = gi.textfile.read(path):gsub("\n  launches = \"%a+\",", "")
  text = text:gsub("\nreturn {\n", ("%%0  launches = %q,\n"):format(o.launches), 1)
  gi.textfile.write(path, text)
  if text:find "tune_params" then return end
  local llvm = core.llvm.info() and "compiler = { \"nvrtc\", \"llvm\" }, "
    .. "passes = { \"O3\", \"O2\", \"O1\" }, " or ""
  gi.textfile.write(path, (text:gsub("\nreturn {\n", "%0  tune_params = { " .. llvm
    .. "math = { \"precise\", \"ftz\", \"division\", \"fast\" }, ptxas = { \"default\", "
    .. "\"O2\", \"dlcm_cg\", \"registers_32\", \"registers_48\", \"registers_64\" } },\n", 1)))
end

local function names()
  if o.only then return words(o.only) end
  local list = {}
  for name in lfs.dir(o.problems) do
    if lfs.attributes(("%s/%s/problem/problem.lua"):format(o.problems, name), "mode") then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list
end

-- The unmodified program on the unseen recording: nanoseconds, and LLVM's time over it.
local function unmodified(problem)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs, wrong = "whole" })
  local case = problem.definition.recorded:specs("unseen")[1]
  local found = { ns = farm:evaluate({ "" }, case)[1].ns }
  if has_llvm(problem) then
    local c = farm:compare("compiler=llvm", "", case, { pairs = o.pairs })
    found.llvm = c.status == "ok" and c.ratio or c.status
  end
  return found
end

-- The winner of all together against the source's: how many times as fast, on the unseen recording.
local function duel(problem, farm, kinds)
  local all, source = kinds.all, kinds.source
  if not (all and source and all.genome and source.genome) or all.wrong or source.wrong then
    return nil
  end
  if all.genome == source.genome then return { ratio = 1, low = 1, high = 1 } end
  local case = problem.definition.recorded:specs("unseen")[1]
  local c = farm:compare(all.genome, source.genome, case, { pairs = o.pairs })
  return c.status == "ok" and c or nil
end

local function say_duel(p, found)
  p.duel = found
  if not found then return end
  say("%-14s all together %.4f times (%.4f to %.4f) as fast as the source alone", p.name,
    found.ratio, found.low, found.high)
end

local function all_of(name)
  local folder = ("%s/%s/problem"):format(o.problems, name)
  with_compilers(folder)
  local problem = gi.problem(folder)
  local p = { name = name, unmodified = unmodified(problem), kinds = {} }
  say("%-14s unmodified %.1f us in all launches of the unseen recording; by LLVM %s", name,
    p.unmodified.ns / 1000, type(p.unmodified.llvm) == "number"
    and ("%.3f times as fast"):format(p.unmodified.llvm) or p.unmodified.llvm or "not there")
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs, wrong = "small" })
  for i, kind in ipairs(words(o.kinds)) do
    if is_over() then break end
    local r = searched(problem, farm, kind, o.seed + i)
    p.kinds[kind] = r
    say("%s", line_of(name, kind, r))
    if r.genome and r.genome ~= "" then told(problem, r) end
  end
  say_duel(p, duel(problem, farm, p.kinds))
  return p
end

-- The winners of an earlier run, as its JSON has them: { [program] = kinds }.
local function winners_of(path)
  local list = {}
  for _, p in ipairs(gi.json.decode(gi.textfile.read(path))) do list[p.program] = p.kinds end
  return list
end

local function compared_alone(name, kinds)
  local folder = ("%s/%s/problem"):format(o.problems, name)
  with_compilers(folder)
  local problem = gi.problem(folder)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs, wrong = "small" })
  local p = { name = name, kinds = kinds }
  say_duel(p, duel(problem, farm, kinds))
  return p
end

--------------------------------------------------------------------------------------------------
-- The table

local function cell(r)
  if not r then return "-" end
  return r.why and "none" or ("%.3f%s"):format(r.speedup, r.wrong and "!" or "")
end

-- The mean gain of a kind in per cent over programs that were searched with it; and how many.
local function gain(list, kind, without)
  local sum, n = 0, 0
  for _, p in ipairs(list) do
    local r = THIRTEEN[p.name] and p.name ~= without and p.kinds[kind]
    if r and r.speedup then sum, n = sum + 100 * (r.speedup - 1), n + 1 end
  end
  return n > 0 and ("%+.2f %% (%d programs)"):format(sum / n, n) or "-"
end

-- On how many programs all together are ahead of the source alone, and behind it, timed in turn;
-- and on how many of these past the interval.
local function ahead(list)
  local count = { n = 0, ahead = 0, behind = 0, surely_ahead = 0, surely_behind = 0 }
  local function add(key, holds) count[key] = count[key] + (holds and 1 or 0) end
  for _, p in ipairs(list) do
    local d = THIRTEEN[p.name] and p.duel
    add("n", d)
    add("ahead", d and d.ratio > 1)
    add("behind", d and d.ratio < 1)
    add("surely_ahead", d and d.low > 1)
    add("surely_behind", d and d.high < 1)
  end
  return count
end

local function say_ahead(list)
  local c = ahead(list)
  say("all together ahead of the source alone on %d of %d (past the interval on %d), behind on %d "
    .. "(%d)", c.ahead, c.n, c.surely_ahead, c.behind, c.surely_behind)
end

local function summary(list)
  local kinds = words(o.kinds)
  local format = "%-14s %12s %8s" .. (" %10s"):rep(#kinds)
  say("")
  say(format, "program", "unmodified", "by LLVM", table.unpack(kinds))
  for _, p in ipairs(list) do
    local cells = {}
    for i, kind in ipairs(kinds) do cells[i] = cell(p.kinds[kind]) end
    local llvm = p.unmodified.llvm
    say(format, p.name, ("%.1f us"):format(p.unmodified.ns / 1000),
      type(llvm) == "number" and ("%.3f"):format(llvm) or llvm and "fails" or "-",
      table.unpack(cells))
  end
  say("(! wrong or racing on a recording; counts as 1)")
  say("mean gain on the unseen recording; GEVO: +49.48 %%, +19.3 %% without b+tree")
  for _, kind in ipairs(kinds) do
    say("  %-10s %s; without btree %s", kind, gain(list, kind), gain(list, kind, "btree"))
  end
  say_ahead(list)
end

local function value_of(r)
  if r.why then return gi.json.object { { "why", r.why } } end
  local rows = {}
  for i, row in ipairs(r.rows or {}) do
    rows[i] = gi.json.object { { "case", row.case }, { "status", row.status },
      { "right", row.right }, { "ratio", row.ratio }, { "low", row.low }, { "high", row.high },
      { "ns", row.ns }, { "base_ns", row.base_ns } }
  end
  return gi.json.object { { "genome", r.genome }, { "speedup", r.speedup }, { "low", r.low },
    { "high", r.high }, { "wrong", r.wrong }, { "evaluations", r.evaluations },
    { "right", r.right }, { "seconds", r.seconds }, { "cases", gi.json.array(rows) } }
end

local function write(list)
  local values = {}
  for i, p in ipairs(list) do
    local kinds = {}
    for _, kind in ipairs(words(o.kinds)) do
      if p.kinds[kind] then kinds[#kinds + 1] = { kind, value_of(p.kinds[kind]) } end
    end
    values[i] = gi.json.object { { "program", p.name }, { "unmodified_ns", p.unmodified.ns },
      { "llvm", type(p.unmodified.llvm) == "number" and p.unmodified.llvm or nil },
      { "kinds", gi.json.object(kinds) } }
  end
  gi.textfile.write(o.json, gi.json.encode(gi.json.array(values)) .. "\n")
end

for _, kind in ipairs(words(o.kinds)) do
  if not KINDS[kind] then gi.fail("no kind of genes is called '%s'", kind) end
end
do
  local _ <close> = crew.keep()
  local list = {}
  local winners = o.winners and winners_of(o.winners)
  for _, name in ipairs(names()) do
    if is_over() then
      say("%-14s not begun: %d seconds are over", name, o.bound)
    else
      local ran, p
      if winners then ran, p = pcall(compared_alone, name, winners[name] or {})
      else ran, p = pcall(all_of, name) end
      if ran then list[#list + 1] = p
      elseif tostring(p):find "interrupted" then error(p, 0)
      else say("%-14s ended: %s", name, tostring(p)) end
    end
  end
  if #list == 0 then
    gi.fail("%s has no problem that ran: kernels/workloads/make -o %s problem all", o.problems,
      o.problems)
  end
  if winners then say_ahead(list) else summary(list) end
  if o.json and not winners then write(list) end
  say("%.0f seconds", core.system.seconds() - began)
end
