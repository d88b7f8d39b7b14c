-- branches: which lines of a file the preprocessor keeps. The compiler decides it. It is given the
-- directives of the file and its headers, and between two of them a variable that stands for the
-- lines there. Lines whose variable is in the compiled code were kept.
--
-- As the host's compiler would: __CUDA_ARCH__ is not defined. Headers of the system are not read,
-- so of their macros only the toolkit's version is known.

local compiler = require "gilua.farm.compiler"
local csource = require "gilua.source.csource"

local M = {}

local SYSTEM = [[
#undef __CUDA_ARCH__
#undef __CUDACC_RTC__
#ifndef __linux__
#define __linux__ 1
#endif
#define CUDART_VERSION (1000 * __CUDACC_VER_MAJOR__ + 10 * __CUDACC_VER_MINOR__)
#define CUDA_VERSION CUDART_VERSION]]

local CONDITIONS = csource.set "if ifdef ifndef elif else endif"
local DEFINITIONS = csource.set "define undef"

--- A file on its way through the compiler.
---@class BranchFile
---@field name string
---@field text string
---@field directives table[] { word, text, line, first, last }: its first and last byte
---@field stretches? table[] { last, stop }: the last byte of each stretch between conditions, and
---  of the condition behind it

local function file_of(given)
  local file = { name = given.name, text = given.text, directives = {} }
  local t <close> = csource.tokens(given.text)
  for i, word in csource.directives(t) do
    file.directives[#file.directives + 1] = { word = word, text = t[i]:gsub("\r", ""),
      line = t:line(i), first = t:first(i), last = t:last(i) }
  end
  return file
end

-- Adds a file's directives to the probe. A header is read wherever the file includes it, but in
-- other headers only once: not for ever, where they include each other.
local function add(probe, files, number)
  local file, ends = files[number], {}
  local function begin()
    probe[#probe + 1] = ('extern "C" { __device__ char gilua_kept_%d_%d_at_%d; }'):format(number,
      #ends + 1, #probe)
  end
  file.stretches = ends
  begin()
  for _, d in ipairs(file.directives) do
    if CONDITIONS[d.word] or DEFINITIONS[d.word] then
      probe[#probe + 1] = ('#line %d "%s"\n%s'):format(d.line, file.name, d.text)
    end
    if CONDITIONS[d.word] then
      ends[#ends + 1] = { last = d.first - 1, stop = d.last }
      begin()
    elseif d.word == "include" then
      for i, other in ipairs(files) do
        local again = number == 1 or not other.stretches
        if other.name == csource.included(d.text) and again then add(probe, files, i) end
      end
    end
  end
  ends[#ends + 1] = { last = #file.text, stop = #file.text }
end

local function has_conditions(files)
  for _, file in ipairs(files) do
    for _, d in ipairs(file.directives) do
      if CONDITIONS[d.word] then return true end
    end
  end
  return false
end

-- The text with its lines, blank where it is not kept, and where a condition stands.
local function kept_text(file, kept)
  local parts, at = {}, 1
  for i, s in ipairs(file.stretches) do
    local part = file.text:sub(at, s.last)
    parts[i] = (kept[i] and part or part:gsub("[^\n]+", ""))
      .. file.text:sub(s.last + 1, s.stop):gsub("[^\n]+", "")
    at = s.stop + 1
  end
  return table.concat(parts)
end

---@param given table[] { name, text }: the file, then headers by the names it includes them by
---@param defines string[] macros of the command line: "NAME" or "NAME=VALUE"
---@return string[] texts in which lines that are not kept, and conditions, are empty; all of them
---  as they are where it cannot be told which are
---@return string? why it cannot be told
function M.kept(given, defines)
  local texts, files, probe, options = {}, {}, { SYSTEM }, {}
  for i, file in ipairs(given) do texts[i], files[i] = file.text, file_of(file) end
  if not has_conditions(files) then return texts end
  for i, file in ipairs(files) do
    if not file.stretches then add(probe, files, i) end
  end
  for i, macro in ipairs(defines) do options[i] = "-D" .. macro end
  local ptx, why = compiler.compile(table.concat(probe, "\n") .. "\n",
    { target = "compute_90", options = options })
  if not ptx then return texts, (why:gsub("^line 0: ", "")) end -- behind it: file(line): what
  local kept = {}
  for i in ipairs(files) do kept[i] = {} end
  for file, stretch in ptx:gmatch("gilua_kept_(%d+)_(%d+)_at_") do
    kept[tonumber(file)][tonumber(stretch)] = true
  end
  for i, file in ipairs(files) do texts[i] = kept_text(file, kept[i]) end
  return texts
end

return M
