-- history: what a run evaluated, kept in its folder's archive.sqlite (gilua.store.archive): an
-- observer that tells it of every mutant, and the memory that its farm asks first.

local archives = require "gilua.store.archive"
local core = require "gilua.core"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local kept = require "gilua.report.kept"
local lfs = require "lfs"

local M = {}

M.FILE = "archive.sqlite"

--------------------------------------------------------------------------------------------------
-- The world: what answers depend on besides genome and case

local function hash_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return core.system.hash128(file:read "a")
end

-- Every file below a folder whose name matches, in order.
local function files_below(folder, pattern, list)
  local names = {}
  for name in lfs.dir(folder) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local path = ("%s/%s"):format(folder, name)
    local mode = lfs.attributes(path, "mode")
    if mode == "file" and name:find(pattern) then list[#list + 1] = path end
    if mode == "directory" and not name:find "^%." and name ~= "out" then
      files_below(path, pattern, list)
    end
  end
  return list
end

-- gilua itself, in few words.
local function own_hash()
  local parts = { hash_of(core.system.program()) }
  for _, path in ipairs(files_below(core.home .. "/lua/gilua", "%.lua$", {})) do
    parts[#parts + 1] = hash_of(path)
  end
  return core.system.hash128(table.concat(parts, "\n"))
end

-- The problem's files: those that are known to count, and whatever else lies in its folder (data,
-- say), but for what is built from them.
local function problem_files(problem)
  local list, seen = {}, {}
  for _, file in ipairs(kept.of(problem).files) do
    seen[file.from] = true
    list[#list + 1] = { file.name, core.system.hash128(file.text) }
  end
  for _, path in ipairs(files_below(problem.dir, "^[^.].*$", {})) do
    if not seen[path] and not path:find "%.so$" then
      list[#list + 1] = { path:sub(#problem.dir + 2), hash_of(path) }
    end
  end
  return list
end

local function world_of(problem, farm)
  local versions, device, o = host.versions(), farm.devices[1], farm.options
  return json.encode(json.object {
    { "gilua", versions.gilua }, { "program", own_hash() }, { "nvrtc", versions.nvrtc },
    { "device", device.name }, { "target", device.target }, { "driver", device.driver },
    { "clock", o.clock }, { "flush_l2", o.flush_l2 }, { "problem", problem.name },
    { "files", json.object(problem_files(problem)) },
  })
end

--------------------------------------------------------------------------------------------------
-- How the run was begun, so that it can be begun again

--- The command line, as a text.
---@return string
function M.command()
  local words = {}
  for i = 0, #arg do words[i + 1] = arg[i] end
  local options = {}
  for name, value in pairs(core.options) do
    if name ~= "resume" then options[#options + 1] = { name, value } end
  end
  table.sort(options, function(a, b) return a[1] < b[1] end)
  return json.encode(json.object {
    { "folder", lfs.currentdir() }, { "words", json.array(words) },
    { "options", json.object(options) },
  })
end

--------------------------------------------------------------------------------------------------

--- The archive of a run's folder, which a farm asks and tells from now on.
---@param folder ResultFolder
---@param problem gilua.problem
---@param farm gilua.farm
---@param seed integer
---@return gilua.archive archive
---@return integer run
function M.open(folder, problem, farm, seed)
  if not folder.archive then
    folder.archive = archives.open(folder.dir .. "/" .. M.FILE)
    local world, hash = folder.archive:world(world_of(problem, farm))
    folder.run = folder.archive:begin_run { world = world, seed = seed, device = farm.device,
      problem = problem.dir, command = M.command(), resumed = folder.resumed }
    folder.world = hash
  end
  local memory = folder.archive:memory(folder.world, not farm.virtual and folder.run or nil)
  memory.fresh = core.options.fresh and not folder.resumed
  farm:remember(memory)
  return folder.archive, folder.run
end

-- Who is no part of a population, and gets no fitness with it.
local ALONE = { unmodified = true, finalist = true, ["knock-out"] = true, best = true }

--- An observer that tells the archive of every mutant.
---@param folder ResultFolder
---@return table observer
function M.observer(folder)
  local archive, id
  local o = {}

  function o.on_start(run)
    if run.scheme.farm.remember and run.problem.definition then
      archive, id = M.open(folder, run.problem, run.scheme.farm, run.seed)
    end
  end

  -- Those of a population have no fitness yet, and come with their generation.
  function o.on_result(run, individual)
    if not (archive and ALONE[individual.birth]) then return end
    local info = run.scheme.farm:case_info()
    archive:evaluated(id, individual, run.generation, info and info.name)
  end

  function o.on_generation(run, record)
    for _, individual in ipairs(archive and run.population or {}) do
      archive:evaluated(id, individual, record.generation, record.case)
    end
    if archive then archive:flush() end
  end

  function o.on_end(run)
    if not archive then return end
    if not run.stopped then archive:end_run(id) end
    archive:flush()
  end

  return o
end

return M
