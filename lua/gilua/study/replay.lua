-- replay: simulates a search from a run's archive, with other operators, another formula or another
-- seed. It compiles and runs no kernel and no code of the run: the archive and the kept problem
-- (gilua.report.kept) are data.
--
-- A genome's measurement comes from the same generation, if the archive has one; else from the
-- nearest generation, or from another evolution of the same world and base, scaled by the
-- unmodified kernel's ticks; else from another genome with the same source. A genome without any
-- counts as a kernel that does not run, and becomes no parent.

local archives = require "gilua.store.archive"
local attempt = require "gilua.base.attempt"
local bandit = require "gilua.search.bandit"
local described = require "gilua.report.described"
local evaluations = require "gilua.store.evaluations"
local evolve = require "gilua.search.evolve"
local fail = require "gilua.base.fail"
local fingerprint = require "gilua.base.fingerprint"
local fitness = require "gilua.study.fitness"
local drawing = require "gilua.search.genome"
local gevo = require "gilua.search.gevo"
local json = require "gilua.base.json"
local kept = require "gilua.report.kept"
local lfs = require "lfs"
local results = require "gilua.base.results"
local rng = require("gilua.core").rng
local retouch = require "gilua.search.retouch"
local runner = require "gilua.farm.runner"
local steady = require "gilua.search.steady"
local textfile = require "gilua.base.textfile"

local M = {}

---@class Replay
---@field run table row of the archive's `run`
---@field scheme table what the run was (gilua.report.described)
---@field problem table for a scheme: grammar, parameters, tolerance, source
---@field farm table for a scheme: it answers from the archive
---@field own string[] functions of the run's own, which no archive has
local Replay = {}
Replay.__index = Replay
Replay.__close = function(self) self:close() end

--------------------------------------------------------------------------------------------------
-- What is known: evaluations by genome
--
-- Of each evaluation there are a few whole numbers here, so that a million of them take some
-- 100 MB; the row itself is read when it is asked for.

---@class ReplayIndex
---@field archive gilua.archive
---@field run integer[] of each evaluation, by its place in the index
---@field id integer[] likewise
---@field case integer[] which comparison with the unmodified kernel it was part of, from 1; of the
---  generations these are their numbers
---@field before integer[] the place of the evaluation of the same genome before it; 0: none
---@field last table<integer, integer> the place of a genome's last evaluation, by its number
---@field baselines table<integer, integer[]> the ids of a run's unmodified kernels, by case
---@field kept table<string, table> rows of unmodified kernels, which many ask for
local Index = {}
Index.__index = Index

local SOME = "SELECT id, birth, genome FROM evaluation WHERE run = ?1 AND id > ?2 "
  .. "ORDER BY id LIMIT 20000"

-- Adds the evaluations of a run.
function Index:add(run)
  local baselines, after = {}, math.mininteger
  self.baselines[run] = baselines
  repeat
    local rows = self.archive:rows(SOME, run, after)
    for _, row in ipairs(rows) do
      if row.birth == "unmodified" then baselines[#baselines + 1] = row.id end
      if #baselines == 0 or math.type(row.genome) ~= "integer" then
        fail("%s is broken: evaluation %s has no %s", self.archive.path, tostring(row.id),
          #baselines == 0 and "unmodified kernel before it" or "genome")
      end
      local at = #self.id + 1
      self.run[at], self.id[at], self.case[at] = run, row.id, #baselines
      self.before[at], self.last[row.genome] = self.last[row.genome] or 0, at
    end
    after = #rows > 0 and rows[#rows].id
  until not after
end

-- The unmodified kernel's evaluation of a case of a run.
function Index:baseline(run, case)
  local key = ("%d %d"):format(run, case)
  self.kept[key] = self.kept[key]
    or evaluations.one(self.archive, run, self.baselines[run][case])
  return self.kept[key]
end

-- The evaluation at a place of the index.
function Index:row(at)
  local run, case = self.run[at], self.case[at]
  local baseline = self:baseline(run, case)
  if baseline.id == self.id[at] then return baseline end
  return evaluations.one(self.archive, run, self.id[at], baseline)
end

-- The place of a genome's evaluation nearest to a case of a run: of other runs the first; nil.
function Index:nearest(number, own, case)
  local best, distance
  local at = number and self.last[number] or 0
  while at > 0 do -- backwards, so that of equal ones the first is taken
    local d = self.run[at] == own and math.abs(self.case[at] - case) or math.huge
    if not best or d <= distance then best, distance = at, d end
    at = self.before[at]
  end
  return best
end

local OTHERS = "SELECT * FROM run WHERE world = ?1 AND id <> ?2 ORDER BY id"

local function base_of(run)
  local scheme = run.scheme and json.decode(run.scheme)
  return type(scheme) == "table" and scheme.base or nil
end

-- How many unmodified kernels a run had: a search's winner is judged on the second one after the
-- last generation, and finalists on the first, which is not there where there were none. Then the
-- last counts twice.
local function cases_of(index, run)
  local n = #index.baselines[run.id]
  local generations = index.archive:row("SELECT max(generation) AS n FROM evaluation "
    .. "WHERE run = ?1", run.id).n or 0
  return n, run.ended and n == generations + 1 and generations + 2 or n
end

-- The evaluations of the run itself and of others of the same world and base.
local function known(archive, run)
  local index = setmetatable({ archive = archive, run = {}, id = {}, case = {}, before = {},
    last = {}, baselines = {}, kept = {} }, Index)
  index:add(run.id)
  for _, other in ipairs(archive:rows(OTHERS, run.world, run.id)) do
    if base_of(other) == base_of(run) then index:add(other.id) end
  end
  return index
end

--------------------------------------------------------------------------------------------------
-- A farm that answers from it

local Farm = { device = "replay", virtual = true, check_mode = "every" }
Farm.__index = Farm

-- A few words that tell a mutant by what is compiled; nil where the genome does not fit.
function Farm:source_of(genome)
  local source, detail = self.problem.grammar:apply(genome)
  if not source then return nil end
  local names = {}
  for name, value in pairs(detail.params) do names[#names + 1] = name .. "=" .. value end
  table.sort(names)
  return fingerprint.of_text(table.concat(names, " ") .. "\n" .. source)
end

local GENOMES = "SELECT id, text FROM genome WHERE id > ?1 ORDER BY id LIMIT 20000"

-- The number of each genome that was evaluated, by its source; of equal ones the first.
local function by_source(farm)
  local list, after = {}, math.mininteger
  repeat
    local rows = farm.index.archive:rows(GENOMES, after)
    for _, row in ipairs(rows) do
      local source = farm.index.last[row.id] and farm:source_of(row.text)
      if source and not list[source] then list[source] = row.id end
    end
    after = #rows > 0 and rows[#rows].id
  until not after
  return list
end

-- The number of another genome that makes the same source; nil.
function Farm:like(genome)
  self.by_source = self.by_source or by_source(self)
  local source = self:source_of(genome)
  return source and self.by_source[source]
end

local NUMBER = "SELECT id FROM genome WHERE text = ?1"

-- The number of a genome that was evaluated; nil.
function Farm:number_of(genome)
  local row = self.index.archive:row(NUMBER, genome)
  return row and self.index.last[row.id] and row.id
end

-- The measurement of a row as it would have been on another case: times in proportion.
local function as_on(row, baseline)
  local m = setmetatable({}, { __index = row })
  local factor = row.baseline == baseline and 1 or baseline.ticks / row.baseline.ticks
  m.ticks, m.ns, m.archived = row.ticks * factor, row.ns * factor, row
  m.fitness_factor = factor
  return m
end

-- The archive has genomes without the settings that all kernels of the run were given.
function Farm:without_base(genome)
  local base = self.base
  if base == "" or genome:sub(1, #base) ~= base then return genome end
  return (genome:sub(#base + 1):gsub("^ ", ""))
end

function Farm:answer(genome, case)
  genome = self:without_base(genome)
  local counts = self.counts
  counts.asked = counts.asked + 1
  local number = self:number_of(genome)
  if not number then
    number = self:like(genome)
    if number then counts.by_source = counts.by_source + 1 end
  end
  if not number then
    counts.missing = counts.missing + 1
    local m = runner.failed("missing", "the archive has no evaluation of it")
    m.genome = genome
    return m
  end
  local at = self.index:nearest(number, self.run, case)
  local m = as_on(self.index:row(at), self:baseline(case))
  m.genome, m.source_hash, m.ptx_hash = genome, m.source, m.ptx
  return m
end

-- The unmodified kernel on a case; after the last the first again.
function Farm:baseline(case)
  return self.index:baseline(self.run,
    math.min((case - 1) % self.cases + 1, self.own_cases))
end

function Farm:case_info()
  local row = self:baseline(self.at or 1)
  return { name = row.case, answers = row.n }
end

function Farm:evaluate(genomes, case, options)
  local list = {}
  local o = type(options) == "table" and options or { on_result = options }
  local asked = table.move(genomes, 1, #genomes, 1, {})
  self.at = case.replayed
  while #list < #asked do
    local i = #list + 1
    list[i] = self:answer(asked[i], case.replayed)
    if o.on_result then o.on_result(i, list[i], i, #asked) end
    asked[#asked + 1] = o.more and o.more() or nil
  end
  return list
end

function Farm:compare(a, b, case)
  local both = self:evaluate({ a, b }, case)
  for _, m in ipairs(both) do
    if m.status ~= "ok" then return { status = m.status, message = m.message } end
  end
  local ratio = both[2].ticks / both[1].ticks
  return { status = "ok", ratio = ratio, low = ratio, high = ratio, pairs = 1,
    a_ns = { both[1].ns }, b_ns = { both[2].ns } }
end

-- Who did not stand the checked run is in the archive with what it said.
function Farm:check(genomes)
  local list = {}
  for i, genome in ipairs(genomes) do list[i] = { status = self:answer(genome, 1).status } end
  return list
end

function Farm:set_check(mode) self.check_mode = mode end
function Farm:stats() return { seconds = {}, duplicates = {}, runs = 0, restarts = 0 } end
function Farm:description() return "an archive" end
function Farm:close() self.closed = true end

--------------------------------------------------------------------------------------------------
-- The scheme that the run had

-- As the archive has it; nil where it could not be (an own one, of a genome that is new there).
local function stored_fitness(own)
  local row = own.archived
  if not row then return math.huge end
  if row.fitness then return row.fitness * own.fitness_factor end
  return row.status == "ok" and own.ticks / 10 or math.huge
end

local function stored_acceptable(own)
  return own.archived ~= nil and own.archived.acceptable == true
end

local FIRST = "SELECT genome FROM evaluations WHERE run = ?1 AND generation = 1 "
  .. "AND birth IN ('initial', 'start') ORDER BY id"

-- The first population of the run, as it was.
local function first_population(replay)
  local genomes = {}
  for i, row in ipairs(replay.archive:rows(FIRST, replay.run.id)) do genomes[i] = row.genome end
  return function(n) return table.move(genomes, 1, math.min(n, #genomes), 1, {}) end
end

local SUBSTITUTES = { fitness = function() return stored_fitness end,
  acceptable = function() return stored_acceptable end, init = first_population }

-- The function of a field by its name; a substitute, or the paper's, where the run had its own.
local function function_of(replay, field, name)
  local known_one = described.named(name) or fitness.formerly(name)
  if known_one then return known_one end
  if SUBSTITUTES[field] then return SUBSTITUTES[field](replay) end
  replay.own[#replay.own + 1] = field
  return evolve.paper[field]
end

-- What `make` gives for what an archive tells, which may be broken.
local function made_again(replay, make, ...)
  local fine, fields = attempt(make, ...)
  if fine then return fields end
  fail("%s: what its archive tells of its scheme is broken: %s", replay.dir,
    (tostring(fields):gsub("^[^\n]-%.lua:%d+: ", "")))
end

-- A search that puts together its populations itself (GEVO's, a steady one), with all that goes
-- with it but what it does at its end: GEVO's front.
local function add_search(replay, scheme, module, options)
  local o = {}
  for name, value in pairs(options) do o[name] = value end
  o.population = scheme.population
  for field, value in pairs(made_again(replay, module.scheme, o)) do
    if field ~= "observers" then scheme[field] = value end
  end
end

-- The kinds of gene that paid, from the first population on.
local function add_bandit(replay, scheme)
  local kinds = made_again(replay, bandit.new, replay.problem, scheme.genes or {},
    replay.scheme.bandit)
  scheme.init, scheme.draw, scheme.observers = kinds.init, kinds.draw, { kinds }
end

-- The pieces of a scheme that others were made with go where others do.
local function add_changes(scheme, changes)
  local observers = scheme.observers
  for name, value in pairs(changes) do
    if name ~= "seed" then scheme[name] = value end
  end
  if observers and changes.observers and not changes.draw then
    scheme.observers = table.move(changes.observers, 1, #changes.observers, #observers + 1,
      observers)
  end
end

local function add_functions(replay, scheme)
  for field, name in pairs(replay.scheme.functions) do
    if scheme[field] then -- of a search that is known
      goto next
    elseif field == "breed" then
      scheme.breed = {}
      for i, step in ipairs(name) do
        scheme.breed[i] = described.named(step) or fail("step %d of breed is the run's own, which "
          .. "no archive has: give a scheme with `breed`", i)
      end
    elseif field ~= "hold" then
      scheme[field] = function_of(replay, field, name)
    end
    ::next::
  end
  if not replay.scheme.functions.minimise then scheme.minimise = false end
  table.sort(replay.own)
end

--------------------------------------------------------------------------------------------------

local function decoded(text, what, dir)
  local value = text and json.decode(text)
  if type(value) ~= "table" then
    fail("%s does not tell %s: a run of a gilua before replay has to be run again", dir, what)
  end
  return value
end

local function problem_of(dir, scheme)
  local result = decoded(textfile.read(dir .. "/result.json", "the result"), "what was run", dir)
  local k = kept.read(dir, result.kept)
  return { name = result.problem, title = result.problem, dir = k.dir, kernel = k.kernel,
    grammar = k.grammar, ptx = k.ptx, source = k.source, source_path = k.source_path,
    parameters = scheme.parameters or {}, tolerance = scheme.tolerance or {} }
end

local function is_share(value)
  return value == nil or math.type(value) ~= nil and value >= 0 and value <= 1
end

-- Is it what gilua.genome.made_of gives?
local function is_source(made)
  if type(made) ~= "table" then return false end
  if made.kind == "either" then
    return is_source(made.first) and is_source(made.second) and is_share(made.share)
  end
  local o = made.options
  if type(o) ~= "table" or not (is_share(o.parameter_share) and is_share(o.transform_share))
    or type(o.parameters or {}) ~= "table" or type(o.weights or {}) ~= "table" then return false end
  for name, weight in pairs(o.weights or {}) do
    if type(name) ~= "string" or not math.type(weight) then return false end
  end
  return true
end

-- Of a stranger's archive nothing is believed to have the right form.
local function check_scheme(scheme, run, dir)
  local functions = scheme.functions
  local well = type(functions) == "table" and math.type(run.seed) == "integer"
  for field, name in pairs(well and functions or {}) do
    if field == "breed" then well = well and type(name) == "table"
    else well = well and type(name) == "string" end
  end
  well = well and (scheme.parameters == nil or type(scheme.parameters) == "table")
    and (scheme.base == nil or type(scheme.base) == "string")
  for _, name in ipairs { "gevo", "steady", "bandit", "retouch" } do
    well = well and (scheme[name] == nil or type(scheme[name]) == "table")
  end
  well = well and (scheme.draw == nil or scheme.draw == described.OWN or is_source(scheme.draw))
  if not well then fail("%s: what its archive tells of its scheme is broken", dir) end
end

--- A run, to be simulated.
---@param dir string its folder
---@param which? integer of the folder's evolutions; the last run's first unless given
---@return Replay
function M.open(dir, which)
  local path = ("%s/%s"):format(dir, results.ARCHIVE)
  if not lfs.attributes(path) then
    results.refuse(dir, ("holds no %s: it is no run"):format(results.ARCHIVE))
  end
  local archive = archives.open(path, { read_only = true })
  local run
  if which then run = archive:row("SELECT * FROM run WHERE id = ?1", which)
  else run = archive:told_run() end
  if not run then fail("%s: there is no such run", path) end
  if archives.is_tuning(run) then
    fail("%s is a tuning: it has no search to simulate", dir)
  end
  local scheme = decoded(run.scheme, "what its scheme was", dir)
  check_scheme(scheme, run, dir)
  local self = setmetatable({ dir = dir, archive = archive, run = run, scheme = scheme, own = {},
    problem = problem_of(dir, scheme) }, Replay)
  local index = known(archive, run)
  local own_cases, cases = cases_of(index, run)
  if own_cases == 0 then fail("%s: no generation of that run is complete", path) end
  self.farm = setmetatable({ problem = self.problem, index = index, run = run.id,
    own_cases = own_cases, cases = cases, base = scheme.base or "", options = {},
    devices = { { name = "an archive", device = "replay" } },
    counts = { asked = 0, by_source = 0, missing = 0 } }, Farm)
  return self
end

-- A case is a number here, with the name of what it was in the run, which tells whether evolution
-- has seen it; of the random words it takes as many as it took in the run.
local function new_case_of(farm, draws)
  return function(number, random)
    for _ = 1, draws[number] or draws[#draws] or 1 do
      random:int(math.mininteger, math.maxinteger)
    end
    return { replayed = number, recording = farm:baseline(number).case }
  end
end

-- Where its genes came from; where that is not known or cannot be made again, where gilua's do.
local function draw_of(replay, made)
  local draw = type(made) == "table" and made_again(replay, function()
    local again = drawing.source_of(replay.problem, made)
    if again then again(rng.new(1)) end -- weights of what there is not
    return again
  end)
  if not draw then replay.own[#replay.own + 1] = "draw" end
  return draw or nil
end

--- The scheme of the run, to be changed and given to gilua.evolve.
---@param changes? table fields that replace those of the run; seed: in place of rng
---@return table
function Replay:scheme_with(changes)
  local s = self.scheme
  local scheme = {
    problem = self.problem, farm = self.farm,
    population = changes and changes.population or s.population,
    generations = s.generations, finalists = s.finalists, least = s.least,
    start = s.start, base = s.base, genes = s.genes,
    rng = rng.new(changes and changes.seed or self.run.seed),
    new_case = new_case_of(self.farm, type(s.case_draws) == "table" and s.case_draws or {}),
  }
  self.own = {}
  if s.gevo then add_search(self, scheme, gevo, s.gevo) end
  if s.steady then add_search(self, scheme, steady, s.steady) end
  if s.bandit then add_bandit(self, scheme) end
  if s.retouch then
    scheme.mutate = made_again(self, retouch.new, self.problem, s.retouch).mutate
  end
  add_functions(self, scheme)
  if s.draw then
    scheme.draw = draw_of(self, s.draw)
    if not scheme.draw then scheme.init = first_population(self) end
  end
  add_changes(scheme, changes or {})
  return scheme
end

--- Simulates the search.
---@param changes? table as scheme_with has them
---@return Run run with replayed = { asked, by_source, missing }: genomes asked for, those of them
---  answered by another of the same source, and those with no answer
function Replay:evolve(changes)
  local counts = { asked = 0, by_source = 0, missing = 0 }
  self.farm.counts = counts
  local run = evolve.run(self:scheme_with(changes))
  run.replayed = counts
  return run
end

function Replay:close()
  self.archive:close()
end

return M
