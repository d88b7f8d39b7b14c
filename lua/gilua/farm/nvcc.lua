--- nvcc: builds programs for the virtual GPU. It passes a program's own options to NVIDIA's
--- compiler and replaces those for GPUs, run-time library and debugging: PTX for the virtual GPU,
--- the shared library, line numbers. So a makefile may name a GPU that the compiler no longer knows
--- (sm_35), and nothing is compiled twice.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local lfs = require "lfs"
local programhost = require "gilua.farm.programhost"
local shell = require "gilua.base.shell"
local textfile = require "gilua.base.textfile"

local M = {}

local HEADERS = core.home .. "/lua/gilua/include/nvcc"

-- Options that are replaced: those with a value, which may stand behind = or as the next word, and
-- those without one.
local WITH_VALUE = { "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode",
  "--generate-code", "-cudart", "--cudart" }
local ALONE = { ["-G"] = true, ["--device-debug"] = true, ["-dlto"] = true,
  ["--dlink-time-opt"] = true, ["-lineinfo"] = true, ["--generate-line-info"] = true }
-- A library that CUDA 13 has as headers alone.
local IN_HEADERS = { ["-lnvToolsExt"] = true }
-- What makes machine code has to say for which GPU.
local FOR_A_GPU = { ["-cubin"] = true, ["--cubin"] = true }

--- The option with a value that a word is, and its value where that is behind =.
---@param word string
---@return string? option
---@return string? value
local function valued(word)
  for _, option in ipairs(WITH_VALUE) do
    if word == option then return option end
    if word:sub(1, #option + 1) == option .. "=" then return option, word:sub(#option + 2) end
  end
end

--- Returns the words that nvcc gets for those that a program's build gives it.
---@param words string[]
---@return string[]
function M.arguments(words)
  local out, gpu, i = {}, "90", 1
  while i <= #words do
    local word = words[i]
    if FOR_A_GPU[word] then return words end
    local option, value = valued(word)
    if option and not value then
      i, value = i + 1, words[i + 1] or ""
    end
    -- sm_90a has instructions that compute_90 does not.
    if option and value:find "_90a" then gpu = "90a" end
    if word == "-lcudart_static" then word = "-lcudart" end
    if not option and not ALONE[word] and not IN_HEADERS[word] then out[#out + 1] = word end
    i = i + 1
  end
  for flag in programhost.NVCC_FLAGS:gsub("compute_90", "compute_" .. gpu):gmatch "%S+" do
    out[#out + 1] = flag
  end
  for _, flag in ipairs { "-I" .. HEADERS, "-include", HEADERS .. "/gilua_dropped.h" } do
    out[#out + 1] = flag
  end
  return out
end

--- Returns NVIDIA's compiler: what GILUA_NVCC names, or the first one of the PATH.
---@return string path
function M.compiler()
  local given = os.getenv "GILUA_NVCC"
  if given then return given end
  for folder in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    if lfs.attributes(folder .. "/nvcc", "mode") == "file" then return folder .. "/nvcc" end
  end
  fail("there is no nvcc in the PATH: install CUDA's toolkit, or name it by GILUA_NVCC=/path/nvcc")
end

--- Compiles.
---@param words string[]
---@return integer? status
---@return string|integer|nil why, or the signal that ended it
function M.run(words)
  return core.system.run {
    argv = { M.compiler(), table.unpack(M.arguments(words)) },
    env = { "NVCC_APPEND_FLAGS=", "NVCC_PREPEND_FLAGS=" },
  }
end

-- Returns NAME=VALUE that adds folders of the compiler's toolkit behind those that are there.
local function path_with(name, folders)
  local root = M.compiler():match "^(.*)/bin/[^/]*$" or "/usr/local/cuda"
  local old = os.getenv(name)
  local all = { old ~= "" and old or nil }
  for _, folder in ipairs(folders) do all[#all + 1] = root .. "/" .. folder end
  return name .. "=" .. table.concat(all, ":")
end

--- Puts a program named nvcc into a folder that calls `gilua nvcc`, and returns the environment in
--- which builds find it: by its name, by make's variables NVCC and nvcc, and by CMake. An nvcc that
--- a build names otherwise gets the flags appended. The host's compiler finds CUDA's headers and
--- libraries, where a makefile names a toolkit that is not there.
---@param folder string
---@return string[] NAME=VALUE
function M.environment(folder)
  local path = folder .. "/nvcc"
  local program = lfs.symlinkattributes("/proc/self/exe", "target")
  textfile.write(path, ("#!/bin/sh\nGILUA_NVCC=%s exec %s nvcc \"$@\"\n"):format(
    shell.word(M.compiler()), shell.word(program)))
  core.system.run { argv = { "chmod", "+x", path } }
  local escaped = path:gsub("[ \\]", "\\%0")
  return { ("PATH=%s:%s"):format(folder, os.getenv "PATH" or ""), "CUDACXX=" .. path,
    ("MAKEFLAGS=%s -- NVCC=%s nvcc=%s"):format(os.getenv "MAKEFLAGS" or "", escaped, escaped),
    path_with("CPATH", { "include" }), path_with("LIBRARY_PATH", { "lib64", "lib64/stubs" }),
    "NVCC_APPEND_FLAGS=" .. programhost.NVCC_FLAGS }
end

return M
