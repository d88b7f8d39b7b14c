-- history: writes every evaluation of a run to archive.sqlite in its folder (gilua.store.archive).
-- It is an observer of evolution, and the memory that the farm consults first.

local archives = require "gilua.store.archive"
local compilers = require "gilua.problem.compilers"
local core = require "gilua.core"
local described = require "gilua.report.described"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local fingerprint = require "gilua.base.fingerprint"
local host = require "gilua.base.host"
local identity = require "gilua.base.identity"
local json = require "gilua.base.json"
local kept = require "gilua.report.kept"
local lfs = require "lfs"
local runpath = require "gilua.base.runpath"
local results = require "gilua.base.results"
local shell = require "gilua.base.shell"
local world = require "gilua.store.world"

local M = {}

M.FILE = results.ARCHIVE

--------------------------------------------------------------------------------------------------
-- The world: what answers depend on besides genome and case

-- The problem's files: those that are known to count, and whatever else lies in its folder (data,
-- say), but for what was made of them.
local function problem_files(problem)
  local list, seen = {}, {}
  for _, file in ipairs(kept.of(problem).files) do
    seen[file.from] = true
    list[#list + 1] = { file.name, fingerprint.of_text(file.text) }
  end
  for _, file in ipairs(identity.files(problem.dir)) do
    if not seen[file.path] then list[#list + 1] = { file.name, file.fingerprint } end
  end
  return list
end

--- What answers depend on besides genome and case, as JSON.
---@param problem gilua.problem
---@param farm gilua.farm
---@return string
function M.world(problem, farm)
  local versions, device, o = host.versions(), farm.devices[1], farm.options
  return json.encode(json.object {
    { "gilua", versions.gilua }, { "program", identity.program() }, { "nvrtc", versions.nvrtc },
    { "llvm", compilers.description(problem) },
    { "device", device.name }, { "target", device.target }, { "driver", device.driver },
    { "clock", o.clock }, { "flush_l2", o.flush_l2 },
    { "energy", o.energy or nil }, { "problem", problem.name },
    { "files", json.object(problem_files(problem)) },
  })
end

--------------------------------------------------------------------------------------------------
-- How the run was begun, so that it can be begun again

--- Returns the command line as a text; its folder is relative to the run's.
---@param dir string the run's folder
---@return string
function M.command(dir)
  local words = {}
  for i = 0, #arg do words[i + 1] = arg[i] end
  local options = {}
  for name, value in pairs(core.options) do
    if name ~= "resume" then options[#options + 1] = { name, value } end
  end
  table.sort(options, function(a, b) return a[1] < b[1] end)
  return json.encode(json.object {
    { "folder", runpath.told(lfs.currentdir() or "", dir) }, { "words", json.array(words) },
    { "options", json.object(options) },
  })
end

--------------------------------------------------------------------------------------------------

-- The run's mark that there is nothing to go on with. It comes with the end of the whole command:
-- after an evolution there may be others, a validation, whatever a script does.
local function mark_ended(folder)
  local archive = folder.archive
  if folder.was_stopped or not lfs.attributes(archive.path) then return end
  if archive.closed then archive = archives.open(archive.path) end
  archive:end_run(folder.run)
  archive:close()
end

local LAST_WORLD = "SELECT w.description FROM run r JOIN world w ON w.id = r.world "
  .. "WHERE part_of IS NULL ORDER BY r.id DESC LIMIT 1 OFFSET ?1"

-- What a run found out in another world is no longer valid: a run that is resumed ends with that
-- error, others write it into log.txt.
local function compare(folder, description)
  local last = folder.archive:row(LAST_WORLD, 0)
  local why = last and world.difference(last.description, description)
  if folder.resumed and why then
    fail("%s cannot go on, because its answers would be others: %s; begin a new run", folder.dir,
      why)
  end
  local before = folder.archive:row(LAST_WORLD, folder.resumed and 1 or 0)
  folder.changed = before and world.difference(before.description, description)
end

--- The archive of a run's folder, which a farm asks and tells from now on. The run has come to its
--- end when the command has.
---@param folder ResultFolder
---@param problem gilua.problem
---@param farm gilua.farm
---@param seed integer
---@return gilua.archive archive
---@return integer run
function M.open(folder, problem, farm, seed)
  if not folder.archive then
    local description = M.world(problem, farm) -- before there is an archive: it takes a while
    folder.opens_archive = true
    folder.archive = archives.open(folder.dir .. "/" .. M.FILE)
    compare(folder, description)
    local id, hash = folder.archive:world(description)
    folder.run = folder.archive:begin_run { world = id, seed = seed, device = farm.device,
      problem = problem.dir, command = M.command(folder.dir), resumed = folder.resumed }
    folder.world = hash
    core.goes_on = "gilua resume " .. shell.word(folder.dir) -- which the host says after Ctrl-C
    ends.at_end(function() mark_ended(folder) end)
  end
  local memory = folder.archive:memory(folder.world, not farm.virtual and folder.run or nil)
  memory.fresh = core.options.fresh and not folder.resumed
  farm:remember(memory)
  return folder.archive, folder.run
end

-- Who is no part of a population, and gets no fitness with it.
local ALONE = { unmodified = true, finalist = true, ["knock-out"] = true, best = true,
  front = true }

-- The evolutions of a command are parts of its run: the first is the run's own, each other has a
-- number of its own beside it.
local function part_of(folder, archive, main, run)
  folder.parts = (folder.parts or 0) + 1
  return folder.parts == 1 and main or archive:begin_part(main, folder.parts - 1, run.seed)
end

--- An observer that tells the archive of every mutant.
---@param folder ResultFolder
---@param title? string "evolution", or what else it is
---@return table observer archive, id: its archive, and the run's number there once that has begun
function M.observer(folder, title)
  local archive, id
  local alone = {} -- told of when they came, and again when they have their fitness
  local o = {}

  local function describe(run)
    archive:describe(id, title or "evolution", described.scheme(run))
  end

  function o.on_start(run)
    if not (run.scheme.farm.remember and run.problem.definition) then return end
    local main
    archive, main = M.open(folder, run.problem, run.scheme.farm, run.seed)
    id = part_of(folder, archive, main, run)
    o.archive, o.id = archive, id
    describe(run)
  end

  -- Those of a population have no fitness yet, and come with their generation.
  function o.on_result(run, individual)
    if not (archive and ALONE[individual.birth]) then return end
    local info = run.scheme.farm:case_info()
    archive:evaluated(id, individual, run.generation, info and info.name)
    alone[#alone + 1] = { individual, run.generation, info and info.name }
  end

  local function scored()
    for _, one in ipairs(alone) do archive:evaluated(id, table.unpack(one, 1, 3)) end
    alone = {}
  end

  function o.on_generation(run, record)
    if not archive then return end
    for _, individual in ipairs(run.population) do
      archive:evaluated(id, individual, record.generation, record.case)
    end
    for _, individual in ipairs(run.tried) do -- no population's, so without a fitness there
      archive:evaluated(id, { id = individual.id, birth = "try", parents = individual.parents,
        genome = individual.genome, measurement = individual.measurement,
        acceptable = individual.acceptable }, record.generation, record.case)
    end
    scored()
    local draws = run.case_draws
    if draws[record.generation] ~= draws[record.generation - 1] then describe(run) end
    archive:flush()
  end

  function o.on_end(run)
    if not archive then return end
    scored()
    folder.was_stopped = folder.was_stopped or run.stopped ~= nil
    if id ~= folder.run and not run.stopped then archive:end_run(id) end
    archive:flush()
  end

  return o
end

return M
