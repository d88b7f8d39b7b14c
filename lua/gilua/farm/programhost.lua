--- programhost: prepares a whole CUDA program to run on gilua's own CUDA library, or to be recorded
--- on a GPU: the library's folder, its settings, the program's environment.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local gpus = require "gilua.base.gpus"
local lfs = require "lfs"
local settings = require "gilua.base.settings"
local textfile = require "gilua.base.textfile"

local LIBRARY, RECORDER = "libcudart.so.13", "libgilua_inject.so"

local M = {
  -- of nvcc, for a program that the library can run
  NVCC_FLAGS = "-cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo",
}

-- Its folder: beside lua/ in the build tree and the portable folder, in lib/gilua where installed.
local function library_folder(library)
  local places = { core.home .. "/lib", core.home .. "/../../lib/gilua" }
  for _, folder in ipairs(places) do
    if lfs.attributes(folder .. "/" .. library) then return folder end
  end
  fail("the library %s is neither in %s nor in %s: `make` builds it", library, places[1], places[2])
end

-- Returns how much of a GPU's memory a program may have on this machine, which may have less.
local function memory_of(gpu)
  local machine = core.system.memory()
  return machine and math.min(gpu.memory_bytes, machine // 4 * 3) or gpu.memory_bytes
end

--- Returns whether gilua has a library of its own under a closed one's name.
---@param library string "libcublas.so.13"
---@return boolean
function M.stands_in(library)
  return lfs.attributes(("%s/%s"):format(library_folder(LIBRARY), library)) ~= nil
end

--- Returns the model of what the virtual GPU stands for.
---@param memory? integer bytes that it has; else its own, or three quarters of this machine's
---@return table
function M.model(memory)
  local gpu, model = gpus.model(), {}
  for field, value in pairs(gpu) do model[field] = value end
  model.memory_bytes = memory or memory_of(gpu)
  return model
end

--- The CUDA library that a program loads, and its version.
---@param found table of gilua.base.elf
---@return string? name
---@return string? version
function M.wants_runtime(found)
  for _, name in ipairs(found.needed) do
    local version = name:match "^libcudart%.so%.?(%d*)"
    if version then return name, version end
  end
end

--- Writes the library's settings.
---@param folder string in which it also leaves what it found
---@param o { checks?: table<string, boolean>, patience?: integer, recording?: string,
---  threads?: integer, profile?: string, repeats?: integer, worst?: boolean, as?: string,
---  kernel?: string, skip?: integer, count?: integer } as … count: of a recording
---@param model table
function M.write_config(folder, o, model)
  local checks = o.checks or {}
  -- These follow what each launch does: none is left out.
  local follows = checks.uninit or checks.order or checks.streams or o.profile
  local lines = { "gpu " .. model.name, "repeats.skip " .. (follows and 0 or 1),
    ("patience %d"):format(o.patience or 0), "api-errors " .. (o["api-errors"] == "no" and 0 or 1) }
  for _, field in ipairs(settings.keys(model)) do
    if field ~= "name" then
      lines[#lines + 1] = ("model.%s %.17g"):format(field, model[field])
    end
  end
  if o.worst then lines[#lines + 1] = "model.approximation 1" end
  if o.recording then lines[#lines + 1] = "record " .. o.recording end
  for _, name in ipairs { "as", "kernel", "skip", "count" } do -- of a recording
    if o[name] then lines[#lines + 1] = ("record.%s %s"):format(name, o[name]) end
  end
  for check in pairs(checks) do lines[#lines + 1] = ("check.%s 1"):format(check) end
  if o.profile then lines[#lines + 1] = "profile 1" end
  if o.threads then lines[#lines + 1] = ("threads %d"):format(o.threads) end
  if o.repeats then lines[#lines + 1] = ("repeats.most %d"):format(o.repeats) end
  textfile.write(folder .. "/config", table.concat(lines, "\n") .. "\n")
end

local function with(name, value, separator)
  local old = os.getenv(name)
  return ("%s=%s%s"):format(name, value, old and old ~= "" and separator .. old or "")
end

--- The environment of a program. A folder that is built into it (DT_RPATH) comes before
--- LD_LIBRARY_PATH; a library that is loaded first comes before all.
---@param folder string of write_config
---@param found table of gilua.base.elf
---@return string[] NAME=VALUE
function M.environment(folder, found)
  local library = library_folder(LIBRARY)
  local env = { "GILUA_RUN=" .. folder, with("LD_LIBRARY_PATH", library, ":") }
  if found.rpath and not found.runpath then
    env[3] = with("LD_PRELOAD", library .. "/" .. LIBRARY, " ")
  end
  return env
end

--- Writes the settings of the recorder that the driver loads into a program on a GPU.
---@param folder string in which it also leaves why it refused something
---@param o { recording: string, as?: string, kernel?: string, skip?: integer, count?: integer }
---@param cupti string its path
function M.write_injection(folder, o, cupti)
  local lines = { "record " .. o.recording, "cupti " .. cupti }
  for _, name in ipairs { "as", "kernel", "skip", "count" } do
    if o[name] then lines[#lines + 1] = ("%s %s"):format(name, o[name]) end
  end
  textfile.write(folder .. "/inject", table.concat(lines, "\n") .. "\n")
end

--- The environment of a program that is recorded on a GPU.
---@param folder string of write_injection
---@return string[] NAME=VALUE
function M.injection(folder)
  return { "GILUA_RUN=" .. folder,
    ("CUDA_INJECTION64_PATH=%s/%s"):format(library_folder(RECORDER), RECORDER) }
end

return M
