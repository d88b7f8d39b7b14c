-- profile: `gilua profile DIR`: a kernel's time by part or by line, and its ratio to the shortest
-- time that its work allows (gilua.base.roofline). For a run's folder the kernel is the winner or
-- another mutant; one of its genes can be left out. It runs on the virtual GPU, which counts
-- everything.

local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local gpus = require "gilua.base.gpus"
local program = require "gilua.command.run"
local runs = require "gilua.command.runs"

local MOST_LINES = 20 -- that are printed

local PARTS = { { "part_issue", "instructions to issue" }, { "part_latency", "waits for results" },
  { "part_memory", "bytes to move" } }

-- What takes how much of the time, were it alone.
local function part_lines(m)
  local lines = {}
  for i, part in ipairs(PARTS) do
    lines[i] = ("  %-24s %12s ticks, %3.0f %% of the kernel's"):format(part[2],
      gi.progress.grouped(m[part[1]]), 100 * m[part[1]] / m.ticks)
  end
  return lines
end

local function number_pairs(m)
  local list = {}
  for _, name in ipairs(gi.settings.keys(m)) do
    if type(m[name]) == "number" then list[#list + 1] = { name, m[name] } end
  end
  return list
end

local function spec_of(o, problem)
  if problem.definition.recorded then return gi.own.case(problem, o.seed, "emu") end
  return { seed = o.seed }
end

local function tell(o, problem, m, limit, case)
  answer.say(o, "%s on %s: %s ticks, %.2f us on a virtual %s", problem.kernel, case,
    gi.progress.grouped(m.ticks), m.ns / 1e3, gpus.model().name)
  answer.say(o, "  most of it: %s; %s", gi.roofline.binds(m) or "not known",
    limit and gi.roofline.words(limit) or "its limit is not known")
  for _, line in ipairs(part_lines(m)) do answer.say(o, "%s", line) end
  answer.say(o, "  %d registers a thread, %d bytes of shared memory a block", m.registers,
    m.shared_bytes)
end

-- The words of a gene that is left out: its number in the genome, or itself.
local function without(genes, gene)
  local at = math.tointeger(tonumber(gene))
  for i, one in ipairs(genes) do at = at or one == gene and i or nil end
  if not (at and genes[at]) then
    ends.with(ends.STATUS.usage, "--without %s: the mutant has no such gene (it has %d: %s)", gene,
      #genes, table.concat(genes, " "))
  end
  local rest = table.move(genes, 1, #genes, 1, {})
  return table.remove(rest, at), gi.genome.join(rest)
end

-- The problem, and the genome that is meant.
local function opened(o)
  if not gi.results.is_run(o.problem) then
    if o.mutant or o.without then
      ends.with(ends.STATUS.usage, "--mutant and --without need a run: %s is not one", o.problem)
    end
    return gi.problem(o.problem), ""
  end
  local run = runs.of_mutant(runs.read(o.problem), o.mutant)
  answer.say(o, "%s", runs.code_line(run, runs.code(run)))
  return gi.problem(run.folder), run.genome
end

local function measured(farm, genomes, spec, o)
  local list = farm:evaluate(genomes, spec)
  for i, m in ipairs(list) do
    if m.status ~= "ok" and (i == 1 or not o.without) then
      fail("the kernel of %s does not run: %s: %s (gilua check %s)", o.problem, m.status,
        m.message or "", gi.shell.word(o.problem))
    end
  end
  return list
end

local function words_of(m)
  if m.status ~= "ok" then return m.status end
  return gi.progress.grouped(m.ticks) .. " ticks, " .. (gi.fitness.right(m) and "right" or "wrong")
end

-- What a gene brings: the mutant with it and without.
local function tell_without(o, m, other, gene)
  answer.say(o, "With %s: %s", gene, words_of(m))
  answer.say(o, "Without it: %s%s", words_of(other), other.status == "ok"
    and (": it brings %s"):format(gi.progress.faster(other.ticks / m.ticks)) or "")
  return gi.json.object { { "gene", gene }, { "status", other.status },
    { "right", other.status == "ok" and gi.fitness.right(other) or false },
    { "ticks", other.ticks }, { "ratio", other.status == "ok" and other.ticks / m.ticks or nil } }
end

local function tell_lines(o, problem, genome, spec)
  if gi.below.has(genome) then
    ends.with(ends.STATUS.usage, "--lines: genes below the source have no lines of it")
  end
  local found, list = gi.lineprofile.of(problem, genome, spec), {}
  for i, one in ipairs(found.lines) do
    list[i] = gi.json.object { { "line", one.line }, { "instructions", one.instructions },
      { "share", one.share } }
  end
  table.sort(found.lines, function(a, b)
    if a.share ~= b.share then return a.share > b.share end
    return a.line < b.line
  end)
  for i = 1, math.min(#found.lines, MOST_LINES) do
    answer.say(o, "  line %4d: %4.1f %% of the instructions", found.lines[i].line,
      100 * found.lines[i].share)
  end
  return gi.json.array(list)
end

local function profile(o)
  boxed.require(o)
  local problem, genome = opened(o)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = o.jobs })
  local fits, why = gi.below.check(problem, farm, genome)
  if not fits then fail("the genome does not fit %s: %s", problem.dir, why) end
  local spec, gene, rest = spec_of(o, problem), nil, nil
  if o.without then gene, rest = without(gi.genome.split(genome), o.without) end
  local list = measured(farm, { genome, rest }, spec, o)
  local m, case = list[1], farm:case_info().name
  local limit = (gi.roofline.of(m))
  if genome ~= "" then answer.say(o, "%s", genome) end
  tell(o, problem, m, limit, case)
  return gi.json.object { { "problem", o.problem }, { "kernel", problem.kernel }, { "case", case },
    { "genome", genome },
    { "ticks", m.ticks }, { "ns", m.ns }, { "binds", gi.roofline.binds(m) },
    { "limit", limit and gi.json.object { { "ns", limit.ns }, { "times", limit.times },
      { "by", limit.by } } }, { "counts", gi.json.object(number_pairs(m)) },
    { "without", gene and tell_without(o, m, list[2], gene) },
    { "lines", o.lines and tell_lines(o, problem, genome, spec) or nil } }
end

local function is_of_program()
  for _, word in ipairs(arg) do
    if word == "--" then return true end
  end
  return false
end

return function()
  if is_of_program() then return program.profile() end
  local o = gi.cli {
    takes = "gpu seed jobs quiet",
    doc = "Tells where a kernel's time goes, and the least time that its work can take. Of a whole "
      .. "program, by line: gilua profile [options of gilua run] -- ./app",
    positional = { { name = "problem", doc = "its folder, or a run's: its winner" } },
    { name = "mutant", type = "integer", min = 1,
      doc = "of a run: this mutant, in place of its winner" },
    { name = "without", type = "string",
      doc = "of a run: also without this gene, by its text or its place in the genome" },
    { name = "lines", default = false, doc = "also by line: the share of the instructions" },
    boxed.OPTION, answer.JSON,
  }
  return answer.given(o, profile)
end
