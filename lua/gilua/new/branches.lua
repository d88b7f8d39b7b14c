-- branches: which lines of a file the preprocessor keeps. The compiler is asked: of the file and
-- its headers it gets the directives, and between two of them a variable that stands for the lines
-- there; those that are in the compiled code were kept.
--
-- As the host's compiler would: __CUDA_ARCH__ is not defined. Headers of the system are not read,
-- so of their macros only the toolkit's version is known.

local core = require "gilua.core"

local M = {}

local SYSTEM = [[
#undef __CUDA_ARCH__
#undef __CUDACC_RTC__
#ifndef __linux__
#define __linux__ 1
#endif
#define CUDART_VERSION (1000 * __CUDACC_VER_MAJOR__ + 10 * __CUDACC_VER_MINOR__)
#define CUDA_VERSION CUDART_VERSION]]

local function set(text)
  local words = {}
  for word in text:gmatch "%S+" do words[word] = true end
  return words
end

local CONDITIONS = set "if ifdef ifndef elif else endif"
local DEFINITIONS = set "define undef"

local function directive(line)
  return line:match("^%s*#%s*(%a+)(.*)")
end

local function lines_of(text)
  return (text .. "\n"):gmatch("(.-)\n")
end

-- Adds a file's directives to the probe; stretches[file][line] are the numbers of the stretches
-- between conditions that its lines are in. A header is read wherever the file includes it,
-- but in other headers only once: not for ever, where they include each other.
local function add(probe, stretches, files, file)
  local list, stretch = {}, 0
  local function begin()
    stretch = stretch + 1
    probe[#probe + 1] = ('extern "C" { __device__ char gilua_kept_%d_%d_at_%d; }'):format(file,
      stretch, #probe)
  end
  stretches[file] = list
  begin()
  local spelled = lines_of(files[file].text) -- in the code the name of an #include is blank
  local goes_on, condition = false, false
  for line in lines_of(files[file].code) do
    local word, rest = directive(line), select(2, directive(spelled()))
    list[#list + 1] = stretch
    if not goes_on then condition = CONDITIONS[word] end
    if goes_on or condition or DEFINITIONS[word] then
      if not goes_on then probe[#probe + 1] = ('#line %d "%s"'):format(#list, files[file].name) end
      probe[#probe + 1] = line
      goes_on = line:find("\\%s*$") ~= nil
      if condition and not goes_on then begin() end
    elseif word == "include" then
      local name = (rest or ""):match('[<"]([^>"]+)[>"]')
      for i, other in ipairs(files) do
        local again = file == 1 or not stretches[i]
        if other.name == name and again then add(probe, stretches, files, i) end
      end
    end
  end
end

local function has_conditions(files)
  for _, file in ipairs(files) do
    for line in lines_of(file.code) do
      if CONDITIONS[directive(line)] then return true end
    end
  end
  return false
end

-- The code without the lines that are not kept, which are left empty.
local function without(code, list, kept)
  local out, n = {}, 0
  for line in lines_of(code) do
    n = n + 1
    out[n] = kept[list[n]] and line or ""
  end
  return table.concat(out, "\n")
end

---@param files table[] { name, text, code }: the file, then headers by the names it includes them
---  by; text without carriage returns, code the same without comments and strings (slice.code_of)
---@param defines string[] macros of the command line: "NAME" or "NAME=VALUE"
---@return string[] codes in which lines that are not kept are empty; all of them where it cannot be
---  told which are
---@return string? why it cannot be told
function M.kept(files, defines)
  local codes, probe, stretches, options = {}, { SYSTEM }, {}, {}
  for i, file in ipairs(files) do codes[i] = file.code end
  if not has_conditions(files) then return codes end
  for i in ipairs(files) do
    if not stretches[i] then add(probe, stretches, files, i) end
  end
  for i, macro in ipairs(defines) do options[i] = "-D" .. macro end
  local ptx, why = core.compile.compile(table.concat(probe, "\n") .. "\n",
    { target = "compute_90", options = options })
  if not ptx then return codes, (why:gsub("^line 0: ", "")) end -- behind it: file(line): what
  local kept = {}
  for i in ipairs(files) do kept[i] = {} end
  for file, stretch in ptx:gmatch("gilua_kept_(%d+)_(%d+)_at_") do
    kept[tonumber(file)][tonumber(stretch)] = true
  end
  for i, file in ipairs(files) do codes[i] = without(file.code, stretches[i], kept[i]) end
  return codes
end

return M
