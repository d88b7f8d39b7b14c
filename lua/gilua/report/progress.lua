-- progress: the progress of a run for a person, as an observer of gilua.evolve, and the table at
-- its end: one live line on a terminal; one plain line a generation into a pipe or file; nothing
-- with `quiet`.

local apart = require "gilua.base.apart"
local events = require "gilua.base.events"
local json = require "gilua.base.json"
local printable = require "gilua.base.printable"
local explain = require "gilua.report.explain"
local fitness = require "gilua.search.fitness"
local host = require "gilua.base.host"
local roofline = require "gilua.base.roofline"
local settings = require "gilua.base.settings"
local tolerances = require "gilua.problem.tolerance"

local M = {}

--------------------------------------------------------------------------------------------------
-- Numbers for people

--- 12345678 -> "12 345 678"
---@param n number
---@return string
function M.grouped(n)
  local digits = ("%.0f"):format(n)
  local grouped = digits:reverse():gsub("(%d%d%d)", "%1 "):reverse()
  return (grouped:gsub("^ ", ""))
end

--- 75.2 -> "1:15"
---@param seconds number
---@return string
function M.duration(seconds)
  local whole = math.floor(seconds + 0.5)
  if whole >= 3600 then
    return ("%d:%02d:%02d"):format(whole // 3600, whole % 3600 // 60, whole % 60)
  end
  return ("%d:%02d"):format(whole // 60, whole % 60)
end

--- How a time that was taken anew compares: "1.250 times faster", "0.996 times as fast".
---@param ratio number
---@return string
function M.faster(ratio)
  return ("%.3f times %s"):format(ratio, ratio < 1 and "as fast" or "faster")
end

local function times(speedup)
  return speedup and ("%.3fx"):format(speedup) or "none"
end

local function percent(part, all)
  return ("%.0f%%"):format(all > 0 and 100 * part / all or 0)
end

local function stage_name(run)
  return ("generation %d/%d"):format(run.generation, run.scheme.generations)
end

-- What was valid of what was tried, of a scheme that tries.
local function accepted(record)
  local words = {}
  for _, name in ipairs(settings.keys(record.accepted or {})) do
    local count = record.accepted[name]
    words[#words + 1] = ("  valid of %ss %s"):format(name, percent(count.valid, count.tried))
  end
  return table.concat(words)
end

--- One line about a finished generation, without times of day or of work.
---@param run Run
---@param record table
---@return string
function M.generation_line(run, record)
  return ("%s  best %s  compile %s  right %s  parents %d  genes %.1f%s"):format(
    stage_name(run), times(record.speedup), percent(record.compiled, 1), percent(record.right, 1),
    record.parents, record.mean_length, accepted(record))
end

--------------------------------------------------------------------------------------------------
-- The table at the end

local function answers_wrong(m)
  if m.status ~= "ok" then return m.status end
  return ("%s of %s"):format(M.grouped(m.wrong * m.n), M.grouped(m.n))
end

local function error_text(x)
  return x and ("%.3g"):format(x) or "-"
end

local function row(label, a, b)
  return ("  %-22s %16s %16s"):format(label, a, b)
end

local function microseconds(m)
  return ("%.2f us"):format(m.ns / 1000)
end

-- Ticks of the virtual GPU; of a GPU, the time.
local function cost_row(a, b)
  if a.baseline_ns then return row("time", microseconds(a), microseconds(b)) end
  return row("ticks", M.grouped(a.ticks), M.grouped(b.ticks))
end

-- How many times the least that their work takes, or why nobody knows, where somebody asked.
local function limit_row(result)
  local limits = roofline.of_result(result)
  if not limits then return result.no_limits and "  over its limit: " .. result.no_limits end
  local function cell(limit) return ("%.1fx %s"):format(limit.times, limit.by) end
  return row("over its limit", cell(limits[1]), cell(limits[2]))
end

local function comparison(result, tolerance)
  local a, b = result.baseline, result.best
  local lines = { row("", "unmodified", "best"), cost_row(a, b),
    row("speed-up", times(1), times(result.speedup)) }
  lines[#lines + 1] = limit_row(result)
  for _, line in ipairs {
    row("largest error", error_text(a.max_error), error_text(b.max_error)),
    row("mean error", error_text(a.mean_error), error_text(b.mean_error)),
    row("wrong answers", answers_wrong(a), answers_wrong(b)),
    ("  on %s%s; errors up to %s are accepted"):format(result.case,
      result.unseen and ", never seen in evolution" or "",
      tolerances.text(tolerance)),
  } do lines[#lines + 1] = line end
  if result.certified then lines[#lines + 1] = "  " .. result.certified end
  if result.genes ~= "" then lines[#lines + 1] = "  found by " .. result.from end
  if result.low and result.low ~= result.high then
    lines[#lines + 1] = ("  speed-up from %d interleaved pairs; 95 %% interval %.3fx to %.3fx")
      :format(result.pairs, result.low, result.high)
  end
  return lines
end

local SAID = 0.001 -- a least gain that is worth a word

local function add_genes(lines, problem, text, least)
  local genes = explain.genome(problem, text)
  if #genes == 0 then
    lines[#lines + 1] = ("No mutant beat the unmodified kernel%s."):format(
      least >= SAID and (" by more than %g %%"):format(100 * least) or "")
    return
  end
  lines[#lines + 1] = #genes == 1 and "What the one gene of the best does:"
    or ("What the %d genes of the best do:"):format(#genes)
  for _, item in ipairs(genes) do
    lines[#lines + 1] = "  " .. item.gene
    lines[#lines + 1] = "      " .. item.text
  end
end

--- The outcome as a person wants it: the two kernels side by side, then every gene in words.
---@param run Run
---@return string text several lines
function M.summary(run)
  local result = run.result
  if not result then return "Stopped before the first generation was complete: no result." end
  local lines = comparison(result, run.problem.tolerance)
  if type(run.enough) == "string" then
    lines[#lines + 1] = ("  ended after generation %d of %d: %s"):format(run.generation,
      run.scheme.generations, run.enough)
  end
  lines[#lines + 1] = ""
  add_genes(lines, run.problem, result.best.genome, run.scheme.least)
  return table.concat(lines, "\n")
end

-- Where the results are, and which there are; nil where there is nothing to look at.
local function results_line(o)
  local folder = o.results and o.results.folder
  if not folder then return o.dir and "Results are in " .. o.dir end
  local names = folder:listing()
  if #names == 0 then return nil end
  return ("Results are in %s: %s%s"):format(folder.dir, table.concat(names, " "),
    folder.earlier and ("; those of an earlier run are in " .. folder.earlier) or "")
end

--------------------------------------------------------------------------------------------------
-- The observer

-- The observer that prints JSON (--json).
local function telling(o)
  local t = {}

  function t.on_start(run)
    local s = run.scheme
    events.tell("start", { { "kind", s.kind }, { "problem", run.problem.name },
      { "seed", run.seed }, { "device", s.farm.device }, { "population", s.population },
      { "generations", s.generations }, { "folder", o.results and o.results.dir or o.dir } })
  end

  function t.on_generation(run, r)
    events.tell("generation", { { "kind", run.scheme.kind }, { "seed", run.seed },
      { "generation", r.generation }, { "generations", run.scheme.generations },
      { "case", r.case }, { "speedup", r.speedup }, { "compiled", r.compiled },
      { "right", r.right }, { "parents", r.parents }, { "evaluations", r.evaluations },
      { "mean_length", r.mean_length }, { "best_genome", r.best and r.best.genome } })
  end

  function t.on_end(run)
    local r = run.result or {}
    events.tell("result", { { "kind", run.scheme.kind }, { "seed", run.seed },
      { "genome", r.best and r.best.genome }, { "from", r.from }, { "speedup", r.speedup },
      { "speedup_low", r.low }, { "speedup_high", r.high }, { "case", r.case },
      { "case_unseen", r.unseen }, { "evaluations", run.evaluations },
      { "generations", #run.records }, { "stopped", run.stopped and run.stopped.message },
      { "files", o.results and o.results.folder and json.array(o.results.folder:listing()) } })
  end

  return t
end

-- Observers one after the other.
local function both(first, second)
  local o = {}
  for _, event in ipairs { "on_start", "on_result", "on_generation", "on_end" } do
    local works = {}
    for _, observer in ipairs { first, second } do works[#works + 1] = observer[event] end
    if #works > 0 then o[event] = function(...) apart(works, ...) end end
  end
  return o
end

-- What the live line says, from counts kept as measurements arrive.
local function live_line(run, seen, elapsed)
  if run.evaluations == 0 then return "making the first case" end
  local stage = seen.final and "finals" or stage_name(run)
  local rate = run.evaluations / math.max(elapsed, 1e-9)
  return ("%s  best %s  compile %s  right %s  %s eval/s  %s left"):format(
    stage, times(seen.best), percent(seen.compiled, seen.n), percent(seen.right, seen.n),
    (rate < 1000 and "%.1f" or "%.0f"):format(rate),
    M.duration(math.max(0, run.expected - run.evaluations) / rate))
end

--- An observer that prints. options.quiet: print nothing; options.terminal: whether the output can
--- rewrite its line (found out); options.out: where to (standard output); options.dir: where the
--- results are, to be said at the end; options.results: what report.open gave, which knows that and
--- what there is.
---@param options? { quiet?: boolean, terminal?: boolean, out?: file*, dir?: string,
---  results?: table }
---@return table observer
function M.new(options)
  local o = settings.fill("gilua.progress.new", options, {},
    { "quiet", "terminal", "out", "dir", "results" })
  local told = events.on() and telling(o) or {}
  return o.quiet and told or both(told, M.shown(o))
end

--- What a person sees.
---@param o table options of new
---@return table observer
function M.shown(o)
  local out, clock = o.out or io.stdout, host.seconds
  local terminal = o.terminal
  if terminal == nil then terminal = not o.out and host.takes_escapes(1) end
  local began, shown = clock(), -math.huge
  local seen = { n = 0, compiled = 0, right = 0 }

  local function rewrite(text)
    out:write("\r\27[K", printable.text(text):sub(1, host.width() - 1))
    out:flush()
  end

  local observer = {}

  function observer.on_start(run)
    out:write(printable.text(("%s: population %d, %d generations, seed %d\n"):format(
      run.problem.title or run.problem.name, run.scheme.population, run.scheme.generations,
      run.seed)))
    if terminal then rewrite(live_line(run, seen, 0)) else out:flush() end
  end

  function observer.on_result(run, individual)
    local m = individual.measurement
    seen.n = seen.n + 1
    if m.status ~= "compile_error" then seen.compiled = seen.compiled + 1 end
    if fitness.right(m) then seen.right = seen.right + 1 end
    local now = clock()
    if terminal and now - shown >= 0.1 then
      rewrite(live_line(run, seen, now - began))
      shown = now
    end
  end

  function observer.on_generation(run, record)
    seen.best = record.speedup or seen.best
    seen.final = record.generation == run.scheme.generations
    if terminal then
      rewrite(live_line(run, seen, clock() - began))
    else
      out:write(M.generation_line(run, record), "\n")
      out:flush()
    end
    seen.n, seen.compiled, seen.right = 0, 0, 0
  end

  function observer.on_end(run)
    if terminal then rewrite("") end
    local seconds = clock() - began
    out:write("\n", printable.text(M.summary(run)), "\n\n")
    out:write(("%s evaluations in %s (%.1f a second)\n"):format(
      M.grouped(run.evaluations), M.duration(seconds), run.evaluations / math.max(seconds, 1e-9)))
    local line = results_line(o)
    if line then out:write(line, "\n") end
    out:flush()
  end

  return observer
end

return M
