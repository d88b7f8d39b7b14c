-- winner: gilua apply and gilua verify: puts a run's best mutant into the sources, and tests it.

local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local endtoend = require "gilua.command.endtoend"
local launches = require "gilua.transform.launch"
local lfs = require "lfs"
local runs = require "gilua.command.runs"
local streams = require "gilua.problem.streams"
local printable = require "gilua.base.printable"

local M = {}

local PICK = { name = "pick", type = "integer", min = 1,
  doc = "the N-th of the run's Pareto front, in place of its winner" }
local MUTANT = { name = "mutant", type = "integer", min = 1,
  doc = "this mutant of the run, by its number, in place of its winner" }
local UNSEEN = 1 << 32 -- seeds from here on are never drawn in evolution

--------------------------------------------------------------------------------------------------
-- What right answers do not tell

local function lines_named(lines)
  return ("line%s %s"):format(#lines > 1 and "s" or "", table.concat(lines, ", "))
end

--- A warning where right answers say nothing about a change.
---@param o table options of the command
---@param lines integer[] of gi.coverage.untested
function M.warn_of_untested(o, lines)
  if #lines == 0 then return end
  answer.say(o, "Look at %s: changed, and never reached (or only in part) by the small case, so "
    .. "that right answers say nothing about it.", lines_named(lines))
end

--- What other data say of a winner, and which genes they cost it.
---@param o table options of the command
---@param watch table of gi.otherdata.watch
function M.tell_other_data(o, watch)
  for _, r in ipairs(watch.refused or {}) do
    answer.say(o, "Left out: %s, wrong on other data (%s): %s", r.gene, r.row.data, r.row.why)
  end
  if watch.data then
    answer.say(o, "Other data and sizes: %s", gi.otherdata.line(watch.data))
  end
end

--- Which mutants only some of the recordings tell.
---@param o table options of the command
---@param run Run
function M.tell_by_some(o, run)
  local summary = gi.telling.summary(run)
  if summary then answer.say(o, "%s", summary) end
end

--- The mark of a winner that changes what the data do not notice.
---@param o table options of the command
---@param lines integer[]? of gi.adequacy.untold
function M.warn_of_untold(o, lines)
  if not lines or #lines == 0 then return end
  answer.say(o, "MARKED: %s changed where the data do not notice a change: right answers say "
    .. "nothing about it. Read it.", lines_named(lines))
end

-- What a winner promises that is proved, was watched, or the host keeps.
local function tell_promised(o, promised)
  for _, promise in ipairs(promised or {}) do answer.say(o, "Promises %s", promise) end
end

--- The mark of a winner whose promises are a person's to keep.
---@param o table options of the command
---@param promises string[]? of gi.promises.open
function M.warn_of_promises(o, promises)
  for _, promise in ipairs(promises or {}) do
    answer.say(o, "MARKED: promises %s. Read it.", promise)
  end
end

-- Is it equal to the kernel as it is over the reals? Nothing where nobody has asked.
local function tell_certificate(o, c)
  if c then answer.say(o, "The winner is %s", gi.certificate.sentence(c)) end
end

--------------------------------------------------------------------------------------------------
-- apply

-- On how many streams the launches of a recorded program go; nil: as they are.
local function streams_wanted(kept, params)
  local n = kept.recorded and params[streams.PARAMETER]
  for _, p in ipairs(n and kept.parameters or {}) do
    if p.name == streams.PARAMETER and tostring(p.default) ~= n then return n end
  end
  return nil
end

-- Parameters outside the source: those of the host's launch, and options of its compiler. The
-- number of streams, and the block of a launch that apply writes, are reported separately.
local function settings_to_tell(kept, params, launched)
  local list = {}
  for _, p in ipairs(kept.parameters) do
    local is_told = p.name == streams.PARAMETER and streams_wanted(kept, params)
      or launched and launched.size and p.name:find "^block_size_[xyz]$"
    if not is_told then list[#list + 1] = p end
  end
  local _, told, flags = gi.launchneeds.settings(list, params)
  return told, flags
end

-- What became of the launches, and which are a person's to write.
local function tell_launch(o, kept, params, launched)
  local wanted = gi.launchneeds.wanted(kept.parameters, params, launched)
  for _, one in ipairs(launched.left) do
    answer.say(o, "MARKED: the kernel wants another launch, and %s: write there %s",
      one.line and "this one is not understood, " .. gi.launchneeds.place(one)
        or gi.launchneeds.place(one), wanted)
  end
  if launched.left[1] then return end
  local changes, conditions = launches.words_apart(params[launches.PARAMETER] or "")
  local size = gi.launchneeds.size(kept.parameters, params, launched)
  if size ~= "" then answer.say(o, "The launch is changed too: %s", size) end
  if changes then answer.say(o, "The launch is changed too: %s", changes) end
  if conditions then answer.say(o, "It is for launches with %s", conditions) end
end

-- A kernel without the launch that it wants goes into nobody's file unless told to.
local function require_launches(o, kept, params, launched)
  local one = launched and launched.left[1]
  if o.anyway or not one or not kept.made_from then return end
  fail("the winner of %s wants another launch where it is not understood (%s): write there %s, "
    .. "and add --anyway, which puts the rest into the file", o.run, gi.launchneeds.place(one),
    gi.launchneeds.wanted(kept.parameters, params, launched))
end

-- Functions and macros that others have, too: theirs stay, or they see what became of them.
local function tell_shared(o, kept, file)
  for _, one in ipairs(file.copies or {}) do
    answer.say(o, "Others than %s call %s, too: it stays as it was, and %s calls a copy, %s",
      kept.kernel, one.name, kept.kernel, one.copy)
  end
end

-- Marks functions and macros that others see changed.
local function mark_shared(o, file)
  for _, why in ipairs(file.shared or {}) do
    answer.say(o, "MARKED: %s: see what becomes of others", why)
  end
end

-- Streams, events and what waits for what are the host's, and its person's, to write.
local function tell_streams(o, run, n)
  answer.say(o, "MARKED: launches that do not depend on each other are to go on %s streams, and "
    .. "wait for others by events (cudaStreamWaitEvent). Change it by hand: %s", n,
    run.streams and table.concat(run.streams, "; ") or "m:explain() at the prompt says which")
end

-- The file itself, and FILE.orig; a file of that name that is another is the person's own.
local function write_in_place(o, path, text, old)
  local orig = path .. ".orig"
  local there = lfs.attributes(orig, "mode")
  if there and not (there == "file" and gi.textfile.read(orig, "the old file") == old) then
    fail("%s is there already and is not %s as it is: move it away first", orig, path)
  end
  local file, why = io.open(path, "r+b") -- before anything is written
  if not file then fail("cannot change %s", why) end
  file:close()
  gi.textfile.write(orig, old)
  gi.textfile.write(path, text)
  answer.say(o, "%s is changed; %s is what it was", path, orig)
end

local function write_improved(o, path, text, old, name)
  if o["in-place"] then return write_in_place(o, path, text, old) end
  local target = o.run .. "/" .. name
  gi.textfile.write(target, text)
  answer.say(o, "%s is %s with the changes", target, path)
end

local function told_of_data(o, run)
  if run.untested then return M.warn_of_untested(o, run.untested) end
  answer.say(o, "Whether its data reach what it changes is not in the run: gilua verify %s tells",
    gi.shell.word(o.run))
end

local function write_all(o, run, files)
  local any, taken = false, {}
  for i, file in ipairs(files) do
    local name = file.path:match "[^/]+$"
    if taken[name] then name = ("%d-%s"):format(i, name) end
    taken[name] = true
    if file.text == file.old then
      answer.say(o, "%s needs no change", file.path)
    else
      file.new_orig = not lfs.attributes(file.path .. ".orig")
      write_improved(o, file.path, file.text, file.old, name)
      any = true
    end
  end
  if any then told_of_data(o, run) end
end

-- What may be wrong goes into nobody's file unless told to.
local function require_trust(o, run)
  local why = run.wrong and "was wrong when verified" or run.untold and #run.untold > 0
    and ("changes %s, where its data do not notice a change, so that it may be wrong"):format(
      lines_named(run.untold))
    or run.promises and run.promises[1] and "promises " .. run.promises[1]
    or run.unjudged and ("is the best so far of a run that was stopped, and nobody has asked what "
      .. "its data cannot tell of it (gilua resume %s does)"):format(gi.shell.word(o.run))
  if not why then return end
  fail("the winner of %s %s: read it (gilua apply %s --diff), then add --anyway", o.run, why,
    gi.shell.word(o.run))
end

-- The PTX of a run's winner, which it left; that of a picked point is made here.
local function ptx_path(o, run, kept)
  if not run.pick then return o.run .. "/best.ptx" end
  local of_source, below, of_llvm = gi.genome.parts(run.genome)
  if of_source ~= "" or of_llvm ~= "" or not kept.ptx then
    fail("point %d of the front of %s changes more than the PTX, and apply compiles nothing: take "
      .. "another, or evolve the PTX alone (--genome ptx)", run.pick, o.run)
  end
  local text, why = kept.ptx:apply(below)
  if not text then fail("point %d of the front of %s: %s", run.pick, o.run, why) end
  local path = ("%s/pick-%d.ptx"):format(o.run, run.pick)
  gi.textfile.write(path, text)
  return path
end

-- How a program gets PTX that is in no source of its.
local function tell_module(o, kept, path)
  answer.say(o, "There is no source to change. %s is the program's own module with the kernel%s: "
    .. "cuModuleLoadData takes its text, cuModuleGetFunction the name %s, and the arguments are "
    .. "those that they were (or `ptxas -arch=sm_90 -o module.cubin %s`, and cuModuleLoad)", path,
    kept.kernel:find "," and "s changed" or " changed", (kept.kernel:gsub(",", ", ")),
    gi.shell.word(path))
end

function M.apply()
  local o = gi.cli {
    takes = "quiet",
    doc = "Puts what a run found into the file that the kernel came from. Runs nothing but what "
      .. "--build and --run say.",
    positional = { { name = "RUN", doc = "the run's folder, out/…" } }, -- not --run
    { name = "diff", default = false, doc = "print the difference and write nothing" },
    { name = "in-place", default = false,
      doc = "change the file itself; FILE.orig keeps the old one" },
    { name = "build", type = "string", doc = "with --run: the command that builds the program" },
    { name = "run", type = "string", doc = "the command that runs it: changes the file itself, and "
      .. "undoes that where the program then prints or writes something else" },
    { name = "anyway", default = false,
      doc = "apply even a winner that is MARKED, or that verify found wrong" },
    PICK, boxed.OPTION,
  }
  o.run_command, o.run = o.run, o.RUN
  if o.build and not o.run_command then
    ends.with(ends.STATUS.usage, "--build goes with --run, which says how the program is run")
  end
  if not o.diff then boxed.require(o) end
  o["in-place"] = o["in-place"] or o.run_command ~= nil
  local run = runs.picked(runs.read(o.run), o.pick)
  if run.genome == "" then
    ends.with(ends.STATUS.no_winner, "%s found nothing better than the kernel as it is: there is "
      .. "nothing to apply", o.run)
  end
  if not o.diff and not o.anyway then require_trust(o, run) end
  local kept = runs.kept(run)
  if kept.is_ptx and o["in-place"] then
    ends.with(ends.STATUS.usage, "%s has no source to change in place: leave out --in-place and "
      .. "--run", kept.dir)
  end
  local files, params, launched = gi.backport.files(kept, run.genome)
  for _, file in ipairs(files) do
    local diff = gi.report.diff(file.old, file.text, file.path:match("([^/]+)$"))
    if o.diff or not o.quiet then printable.write(diff, gi.host.is_terminal()) end
  end
  if o.diff then
    if launched and launched.left[1] then tell_launch(o, kept, params, launched) end
    return
  end
  require_launches(o, kept, params, launched)
  if o.run_command then
    endtoend.apply(o, files, function() write_all(o, run, files) end)
  else
    write_all(o, run, files)
  end
  if kept.is_ptx then
    tell_module(o, kept, o.run .. "/" .. files[1].path:match "([^/]+)$")
  elseif gi.below.has(run.genome) then
    answer.say(o, "Genes below the source are in no source: %s is the kernel with all of "
      .. "them, to be loaded (cuModuleLoadData) in its place", ptx_path(o, run, kept))
  end
  if run.from then answer.say(o, "The winner was found by %s", run.from) end
  local told, flags = settings_to_tell(kept, params, launched)
  if #told > 0 then
    answer.say(o, "Besides, where the kernel is launched: %s", table.concat(told, ", "))
  end
  if #flags > 0 then
    answer.say(o, "Besides, nvcc is to be told: %s", table.concat(flags, " "))
  end
  tell_certificate(o, run.certificate)
  tell_promised(o, run.promised)
  M.warn_of_promises(o, run.promises)
  tell_shared(o, kept, files[1])
  mark_shared(o, files[1])
  if launched then tell_launch(o, kept, params, launched) end
  local n = streams_wanted(kept, params)
  if n then tell_streams(o, run, n) end
end

--------------------------------------------------------------------------------------------------
-- verify

local function row_line(row)
  if not row.right then
    return ("  %-40s WRONG: %s"):format(row.case, row.status ~= "ok"
      and ("%s: %s"):format(row.status, (row.message or ""):match "^[^\n]*")
      or ("%d of %d answers, largest error %.3g"):format(row.wrong, row.answers, row.max_error))
  end
  local interval = row.low == row.high and "" or (" (%.3f to %.3f)"):format(row.low, row.high)
  return ("  %-40s right, %.3fx%s"):format(row.case, row.ratio, interval)
end

-- Data that nobody saw; of recordings all, for each row says what it is for.
local function unseen_cases(o, problem, seed)
  local cases, recorded = {}, problem.definition.recorded
  for _, use in ipairs(recorded and gi.recorded.USES or {}) do
    local specs = recorded:specs(use)
    table.move(specs, 1, #specs, #cases + 1, cases)
  end
  if recorded then return cases end
  for i = 1, o.cases do
    cases[i] = gi.own.case(problem, UNSEEN + 1000 * seed + i, o.device)
  end
  return cases
end

-- Where the answers of the first wrong case are wrong, by index: that case once more, on the
-- virtual GPU. Nil where no case has wrong answers.
local function wrong_answers(problem, genome, cases, rows)
  for i, row in ipairs(rows) do
    if row.status == "ok" and not row.right then
      problem:use(cases[i])
      return problem:mutant(genome):errors()
    end
  end
end

local function value_of_errors(errors)
  local first = {}
  for i, row in ipairs(errors.first) do
    first[i] = gi.json.object { { "answer", row.index }, { "got", gi.json.array(row.got) },
      { "expected", gi.json.array(row.expected) }, { "x", row.x }, { "y", row.y }, { "z", row.z } }
  end
  return gi.json.object { { "case", errors.name }, { "answers", errors.n }, { "wrong", errors.off },
    { "low", errors.low }, { "high", errors.high }, { "first", gi.json.array(first) } }
end

-- The object of --json.
local function verified(o, run, code, farm, found)
  local rows, v = {}, found.own
  for i, r in ipairs(v.rows) do
    rows[i] = gi.json.object { { "case", r.case }, { "right", r.right }, { "status", r.status },
      { "message", r.message }, { "answers", r.answers }, { "wrong", r.wrong },
      { "unset", r.unset }, { "nan", r.nan },
      { "max_error", r.max_error }, { "ratio", r.ratio }, { "low", r.low },
      { "high", r.high }, { "pairs", r.pairs }, { "ns", r.ns }, { "base_ns", r.base_ns } }
  end
  return gi.json.object {
    { "run", o.run }, { "genome", run.genome }, { "device", farm.device },
    { "code", gi.json.object { { "path", code.path }, { "sha256", code.sha256 },
      { "changed", code.changed and gi.json.array(code.changed) } } },
    { "all_right", found.all_right }, { "answers", v.answers }, { "wrong", v.wrong },
    { "max_error", v.max_error },
    { "ratio", v.ratio and gi.json.object { { "median", v.ratio.median },
      { "least", v.ratio.least }, { "greatest", v.ratio.greatest } } },
    { "untested", gi.json.array(found.untested) },
    { "untold", run.untold and gi.json.array(run.untold) },
    { "promises", run.promises and gi.json.array(run.promises) },
    { "promised", run.promised and gi.json.array(run.promised) }, { "cases", gi.json.array(rows) },
    { "other_data", gi.otherdata.value(found.other) },
    { "certificate", gi.certificate.value(found.certificate) },
    { "where", found.where and value_of_errors(found.where) },
  }
end

-- For apply, which runs nothing.
local function keep(o, value)
  local path = o.run .. "/" .. runs.VERIFIED
  local kept, why = gi.attempt(gi.textfile.write, path, gi.json.encode(value) .. "\n")
  if not kept then
    answer.say(o, "%s cannot be kept, so that apply will not know of it: %s", path, why)
  end
end

-- On the problem's own data, other seeds of them.
local function on_own_data(o, run, problem, farm)
  local cases = unseen_cases(o, problem, run.seed)
  local found = gi.validate.run {
    problem = problem, farm = farm, cases = cases,
    genome = run.genome, on_row = function(row) answer.say(o, "%s", row_line(row)) end,
  }
  local where = o.where and wrong_answers(problem, run.genome, cases, found.rows)
  if where then answer.say(o, "%s: %s", where.name, tostring(where)) end
  return found, where
end

-- On data of other kinds; nil where the problem is no table, whose data nobody else can make.
local function on_other_data(o, run, problem, farm)
  if not problem.definition.kernel_table then return nil end
  local other = gi.otherdata.of(problem, farm, run.genome, UNSEEN + run.seed)
  answer.say(o, "Other data and sizes, with every check on:")
  for _, line in ipairs(gi.otherdata.lines(other)) do answer.say(o, "%s", line) end
  return other
end

-- Why it is wrong, in a sentence; nil where it is right everywhere.
local function wrong_sentence(found)
  local v, other = found.own, found.other
  for _, row in ipairs(v.rows) do
    if row.status ~= "ok" then
      return ("%s does not run to its end there (%s)"):format(row.case, row.status)
    end
  end
  if not v.all_right then
    return ("%s answers on %d case%s: %s of them are wrong, largest error %.3g"):format(
      gi.progress.grouped(v.answers), #v.rows, #v.rows == 1 and "" or "s",
      gi.progress.grouped(v.wrong), v.max_error)
  elseif found.approximate then
    return found.approximate
  elseif other and other.wrong > 0 then
    return ("other data and sizes: %s. Where your program never has such data, say so by "
      .. "narrower fills, or take it --anyway"):format(gi.otherdata.line(other))
  end
end

-- Marks what apply would mark, by the files as they are.
local function mark_as_apply(o, run)
  if run.kept == nil or run.genome == "" then return end
  local kept = runs.kept(run)
  local read, files, params, launched = gi.attempt(gi.backport.files, kept, run.genome)
  if not read then
    if not ends.is_refusal(files) then error(files, 0) end
    answer.say(o, "What apply would mark is not known: %s", tostring(files))
    return
  end
  mark_shared(o, files[1])
  local is_told = run.promises ~= nil -- which name the launches, too
  if not is_told and launched and launched.left[1] then tell_launch(o, kept, params, launched) end
  local n = streams_wanted(kept, params)
  if n then tell_streams(o, run, n) end
end

local function say_nan(o, v)
  if v.nan == 0 then return end
  answer.say(o, "%s of these answers are NaN, as the reference's are: nothing else is known of "
    .. "them. Other fills or values may tell", gi.progress.grouped(v.nan))
end

local function say_right(o, run, found)
  local v = found.own
  answer.say(o, "%s answers on %d cases, all right, largest error %.3g: %s (median; %.3f to "
    .. "%.3f)", gi.progress.grouped(v.answers), #v.rows, v.max_error,
    gi.progress.faster(v.ratio.median), v.ratio.least, v.ratio.greatest)
  say_nan(o, v)
  tell_certificate(o, found.certificate)
  M.warn_of_untested(o, found.untested)
  M.warn_of_untold(o, run.untold)
  tell_promised(o, run.promised)
  M.warn_of_promises(o, gi.certificate.open(found.certificate, run.promises))
  mark_as_apply(o, run)
end

--- Measures a run's winner on data that nobody saw, and keeps what it found in the run's folder.
---@param o table options of gilua verify: run, pick, mutant, cases, device, jobs, quiet
---@return FoundRun run
---@return { own: table, other?: table, all_right: boolean, approximate?: string,
---  untested: integer[], certificate?: Certificate } found
---@return string? wrong where it is wrong, in a sentence
---@return table value for JSON
function M.verified(o)
  local run = runs.of_mutant(runs.picked(runs.read(o.run), o.pick), o.mutant)
  local code = runs.code(run)
  answer.say(o, "%s", runs.code_line(run, code))
  local problem = gi.problem(run.folder)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  answer.say(o, "%s on %s", run.genome == "" and "the kernel as it is" or run.genome,
    farm:description())
  local fits, why = gi.below.check(problem, farm, run.genome)
  if not fits then fail("the winner of %s does not fit %s: %s", o.run, problem.dir, why) end
  local found = {}
  found.own, found.where = on_own_data(o, run, problem, farm)
  found.other = on_other_data(o, run, problem, farm)
  if found.own.all_right then
    found.approximate = gi.approximation.wrong { problem = problem, genome = run.genome,
      case = unseen_cases(o, problem, run.seed)[1], jobs = o.jobs }
  end
  found.all_right = found.own.all_right and not (found.other and found.other.wrong > 0)
    and not found.approximate
  found.untested = found.all_right and gi.coverage.untested(problem, run.genome) or {}
  if found.all_right and run.genome ~= "" then
    found.certificate = gi.certificate.of { problem = problem, genome = run.genome, jobs = o.jobs,
      seed = UNSEEN + run.seed }
  end
  local value = verified(o, run, code, farm, found)
  if not o.mutant then keep(o, value) end -- what apply reads is of the winner
  return run, found, wrong_sentence(found), value
end

local function verify(o)
  boxed.require(o)
  local run, found, wrong, value = M.verified(o)
  if wrong then return value, ends.STATUS.world, wrong end
  say_right(o, run, found)
  return value
end

function M.verify()
  local o = gi.cli {
    takes = "device gpu jobs cluster quiet",
    doc = "Measures what a run found on data that nobody saw: every answer, and the time.",
    positional = { { name = "run", doc = "the run's folder, out/…" } },
    { name = "cases", default = 5, min = 1, doc = "how many new cases of the problem's own data" },
    { name = "where", default = false,
      doc = "also say which answers are wrong, on the virtual GPU" },
    PICK, MUTANT, boxed.OPTION, answer.JSON, table.unpack(gi.cli.compiling),
  }
  return answer.given(o, verify)
end

return M
