-- runs: reads the folder that a run leaves: its results, and the settings that produced them. The
-- folder may come from a stranger: every value's form is checked, and nothing in it is run.

local attempt = require "gilua.base.attempt"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local lfs = require "lfs"
local results = require "gilua.base.results"
local runpath = require "gilua.base.runpath"

local M = {
  VERIFIED = "verify.json", -- what verify found, in the run's folder
}

---@class FoundRun
---@field dir string
---@field path string of the file that says so
---@field folder string of the problem
---@field genome string
---@field from? string where its winner was found, in words
---@field seed integer
---@field untested? integer[] changed lines that the small case does not reach, where that is known
---@field untold? integer[] changed lines where its data notice no change, likewise
---@field certificate? Certificate of this winner (gilua.certificate)
---@field promises? string[] that the host's code breaks or may break, likewise
---@field promised? string[] that are proved, watched or kept by the host, likewise
---@field streams? string[] on which stream each kernel goes, likewise
---@field unjudged boolean it was stopped before anybody asked what its data cannot tell of its best
---@field front? { genome: string }[] the Pareto front, of a run of several objectives
---@field wrong boolean `gilua verify` found its winner wrong
---@field kept any what result.json says was kept
---@field begun? string the folder where it was begun, where its archive tells

local function decoded(path)
  if lfs.attributes(path, "mode") ~= "file" then return nil end
  local result, why = gi.json.decode(gi.textfile.read(path, "the result"))
  if type(result) == "table" then return result end
  fail("%s is not what a run leaves: %s", path, why or "it holds no fields")
end

--- What its result.json tells; nil where it has none.
---@param dir string
---@return table?
function M.result(dir)
  return decoded(dir .. "/result.json")
end

-- The files that a run leaves. That of an experiment tells of its winner, cleaned and tuned again;
-- result.json beside it of the evolution alone, and of what was run.
local function read(dir)
  local result = M.result(dir)
  local experiment = decoded(dir .. "/experiment.json")
  if experiment then return dir .. "/experiment.json", experiment, result or {} end
  if result then return dir .. "/result.json", result, result end
  results.refuse(dir, "is no run: it has neither result.json nor experiment.json (gilua evolve "
    .. "makes one in out/)")
end

-- What verify found of this very winner; {} where nobody asked.
local function verified_of(dir, genome)
  local verified = decoded(dir .. "/" .. M.VERIFIED)
  return verified and verified.genome == genome and verified or {}
end

-- Did it find it wrong?
local function found_wrong(dir, genome)
  return verified_of(dir, genome).all_right == false
end

-- A run with its certificate, which leaves fewer of its promises open.
local function with_certificate(run, of_result)
  run.certificate = gi.certificate.read(verified_of(run.dir, run.genome).certificate)
    or gi.certificate.read(of_result)
  run.promises = gi.certificate.open(run.certificate, run.promises)
  return run
end

-- The path of problem.lua.
local function problem_path(run)
  local found, folder = attempt(gi.place, run.folder)
  if found then return folder .. "/problem.lua" end
  fail("%s%s", folder.message, run.kept and ("; what %s ran is in %s/%s"):format(run.dir, run.dir,
    gi.kept.FOLDER) or "")
end

local function whole_numbers(list)
  local numbers = {}
  for i, n in ipairs(type(list) == "table" and list or {}) do numbers[i] = math.tointeger(n) end
  return type(list) == "table" and numbers or nil
end

local function sentences(list)
  local texts = {}
  for _, text in ipairs(type(list) == "table" and list or {}) do
    if type(text) == "string" then texts[#texts + 1] = text end
  end
  return type(list) == "table" and texts or nil
end

local function front_of(result)
  local list, front = {}, result.front
  for i, point in ipairs(type(front) == "table" and type(front.points) == "table" and front.points
      or {}) do
    if type(point) ~= "table" or type(point.genome) ~= "string" then return nil end
    list[i] = { genome = point.genome }
  end
  return #list > 0 and list or nil
end

-- Returns a copy of a run with another genome in place of the winner's, without its results.
local function without_winner(run, genome)
  local other = {}
  for name, value in pairs(run) do other[name] = value end
  other.genome, other.from = genome, nil
  other.untested, other.untold, other.promises, other.streams = nil, nil, nil, nil
  other.promised = nil
  other.wrong = found_wrong(run.dir, genome)
  return other
end

--- The same run with a point of its Pareto front in the winner's place. What is known of the winner
--- alone (lines that nobody reaches, who found it) is not known of it.
---@param run FoundRun
---@param number? integer of the point; nil: the winner
---@return FoundRun
function M.picked(run, number)
  if not number then return run end
  local point = run.front and run.front[number]
  if not point then
    ends.with(ends.STATUS.usage, "--pick %d: %s", number, run.front
      and ("the front of %s has %d point%s"):format(run.dir, #run.front,
        #run.front == 1 and "" or "s")
      or ("%s has no Pareto front (gilua evolve --scheme gevo leaves one)"):format(run.dir))
  end
  local picked = without_winner(run, point.genome)
  picked.pick = number
  return with_certificate(picked)
end

local MUTANT = "SELECT genome FROM evaluations WHERE run = ?1 AND id = ?2"

--- The same run with one of its mutants in the winner's place. What is known of the winner alone is
--- not known of it.
---@param run FoundRun
---@param id? integer of the mutant, as `gilua log` and `export` have it; nil: the winner
---@return FoundRun
function M.of_mutant(run, id)
  if not id then return run end
  local path = run.dir .. "/" .. gi.history.FILE
  if not lfs.attributes(path) then
    results.refuse(run.dir, ("holds no %s, which has its mutants"):format(gi.history.FILE))
  end
  local archive <close> = gi.archive.open(path, { read_only = true })
  local told = archive:told_run()
  local row = told and archive:row(MUTANT, told.id, id)
  if not row then
    ends.with(ends.STATUS.usage, "%s has no mutant %d (gilua export lists them)", run.dir, id)
  end
  local one = without_winner(run, row.genome)
  one.mutant = id
  return with_certificate(one)
end

-- What compiled its mutants does so again, where the command line says nothing else.
local function compile_as(result)
  local o = gi.options
  if not o.compiler and not o.passes and result.compiler == "llvm" then
    o.compiler, o.passes = "llvm", type(result.passes) == "string" and result.passes or nil
  end
end

-- The folder where a run's command was typed; nil where its archive does not tell, or it is here.
local function begun_in(dir)
  local path = dir .. "/" .. gi.history.FILE
  if not lfs.attributes(path) then return nil end
  local told, folder = attempt(function()
    local archive <close> = gi.archive.open(path, { read_only = true })
    local row = archive:last_run()
    return runpath.meant(gi.json.decode(row.command).folder, dir)
  end)
  return told and folder ~= lfs.currentdir() and folder or nil
end

--- What a run found.
---@param dir string
---@return FoundRun
function M.read(dir)
  dir = dir:gsub("(.)/+$", "%1")
  local path, told, result = read(dir)
  local best, folder = told.winner or told.best, told.folder or told.problem
  if type(best) ~= "table" or type(best.genome) ~= "string" or type(folder) ~= "string" then
    ends.with(ends.STATUS.no_winner, "%s names no winner: the run was stopped before it had one",
      path)
  end
  compile_as(result)
  local begun = begun_in(dir)
  return with_certificate({ dir = dir, path = path, folder = runpath.meant(folder, dir, begun),
    begun = begun,
    genome = best.genome,
    seed = math.tointeger(told.seed) or 1, kept = result.kept,
    wrong = found_wrong(dir, best.genome) or best.right == false, front = front_of(result),
    from = type(best.from or told.from) == "string" and (best.from or told.from) or nil,
    unjudged = told == result and type(result.stopped) == "string",
    untested = told == result and whole_numbers(result.untested) or nil,
    untold = told == result and whole_numbers(result.untold) or nil,
    promises = told == result and sentences(result.promises) or nil,
    promised = told == result and sentences(result.promised) or nil,
    streams = told == result and sentences(result.streams) or nil },
    told == result and result.certificate)
end

--- What a run kept of its problem.
---@param run FoundRun
---@return Kept
function M.kept(run)
  return gi.kept.read(run.dir, run.kept, run.begun)
end

--- Whose code is it that a run's problem is? Its path, its hash, and what has changed since.
---@param run FoundRun
---@return { path: string, sha256: string, changed?: string[] } changed: nil where the run kept
---  nothing that could tell
function M.code(run)
  local path = problem_path(run)
  local text = gi.textfile.read(path, "the problem")
  local code = { path = path, sha256 = require("gilua.core").system.sha256(text) }
  if run.kept == nil then return code end
  local kept = M.kept(run)
  code.changed = gi.kept.changed(kept)
  if kept.files[1].text ~= text and code.changed[1] ~= path then
    table.insert(code.changed, 1, path)
  end
  return code
end

--- The same as a sentence.
---@param run FoundRun
---@param code table of M.code
---@return string
function M.code_line(run, code)
  local since
  if not code.changed then
    since = "the run kept no copy"
  elseif #code.changed == 0 then
    since = "as it was in the run"
  else
    since = ("changed since the run: %s; what ran is in %s/%s"):format(
      table.concat(code.changed, ", "), run.dir, gi.kept.FOLDER)
  end
  return ("Runs %s (SHA-256 %s…), %s"):format(code.path, code.sha256:sub(1, 12), since)
end

return M
