-- parts: the file with a kernel, and the file that includes it, where a program is in several: what
-- stands before that #include belongs to the kernel, and its host code may be there.

local csource = require "gilua.source.csource"
local fail = require "gilua.base.fail"
local headers = require "gilua.new.headers"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local slice = require "gilua.new.slice"

local M = {}

local OPENS = csource.set "if ifdef ifndef"

---@class Parts
---@field path string of the file with the kernels
---@field text string without the values of long arrays
---@field values? table of gilua.csource: those values
---@field kernels table[] of gilua.slice
---@field host? { path: string, text: string, before: string } the file that includes it
---@field beside? { path: string, name: string, text: string } another that launches its kernels

local function folder_of(path)
  return headers.absolute(path):match "^(.*)/"
end

local function has(kernels, wanted)
  for _, k in ipairs(kernels) do
    if not wanted or k.name == wanted then return true end
  end
  return false
end

-- A text without what it opens and does not close: `extern "C" {`, `namespace n {`.
local function balanced(text)
  local t <close>, parts, at = csource.tokens(text), {}, 1
  for i = 1, #t do
    if t[i] == "{" and not t:match(i) then
      local first = i
      while t:kind(first - 1) == "name" or t:kind(first - 1) == "string" do first = first - 1 end
      parts[#parts + 1] = text:sub(at, t:first(first) - 1)
      at = t:last(i) + 1
    end
  end
  return table.concat(parts) .. text:sub(at)
end

-- The bytes of an `#ifndef NAME` at the beginning of a text, with `#define NAME` behind it: it
-- guards against reading twice, and is no condition.
local function guard_of(t)
  local names = {}
  for i, word in csource.directives(t) do
    names[#names + 1] = { word = word, name = t[i]:match "^#%s*%a+%s+([%w_]+)", i = i }
    if #names == 2 then break end
  end
  local one, two = names[1], names[2]
  local is_guard = two and one.i == 1 and one.word == "ifndef" and two.word == "define"
    and one.name == two.name
  if is_guard then return t:first(one.i), t:last(one.i) end
end

-- What a text has before it includes a file; nil where that is not there, or under a condition.
local function before(text, folder, path)
  local open, t <close> = 0, csource.tokens(text)
  local from, to = guard_of(t)
  if from then
    open, text = -1, text:sub(1, from - 1) .. (" "):rep(to - from + 1) .. text:sub(to + 1)
  end
  for i, word in csource.directives(t) do
    if OPENS[word] then open = open + 1 elseif word == "endif" then open = open - 1 end
    local spelled = csource.included(t[i])
    if spelled and headers.absolute(folder .. "/" .. spelled) == path then
      return open == 0 and balanced(text:sub(1, t:first(i) - 1)) or nil
    end
  end
end

-- Returns the header, included directly or by other headers, for which `is_it` holds; the text
-- before it, and before the headers that include it; and the value of `is_it`.
---@param file { text: string, folder: string, includes: table<string, Header> }
---@param is_it fun(header: Header): any
---@return Header? header
---@return string? before
---@return any what is_it gave
local function found_in(file, is_it, seen)
  for _, spelled in ipairs(csource.includes(file.text)) do
    local header = file.includes[spelled]
    if header and not seen[header] then
      local it, at, what = header, "", is_it(header)
      if not what then
        seen[header] = true
        it, at, what = found_in(header, is_it, seen)
      end
      local above = what and before(file.text, file.folder, header.path)
      if above then return it, above .. at, what end
    end
  end
end

-- Likewise of a file's text; its headers are those of its own folder and below.
local function header_of(text, folder, is_it)
  local _, includes = headers.of(text, { folder })
  return found_in({ text = text, folder = folder, includes = includes }, is_it, {})
end

-- The files of a folder but one that are called so, by name.
local function files_in(folder, pattern, but)
  local names = {}
  for name in entries(folder) do
    local path = folder .. "/" .. name
    local is_file = name:find(pattern) and path ~= but and lfs.attributes(path, "mode") == "file"
      and lfs.attributes(path, "size") <= headers.most_bytes
    if is_file then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- The file that includes one, itself or by its headers: beside it, or, of a header, in the folder
-- above; of several the first by name, and before them those that launch something.
local function includer(path)
  local absolute, folder = headers.absolute(path), folder_of(path)
  local folders = { folder, not path:find "%.c[pu]*$" and folder:match "^(.+)/[^/]+$" or nil }
  local function is_it(header) return header.path == absolute end
  local silent
  for _, place in ipairs(folders) do
    for _, name in ipairs(files_in(place, "%.c[pu]*$", absolute)) do
      local other = place .. "/" .. name
      local text = headers.read(other, "a file beside it")
      local _, found = header_of(text, place, is_it)
      local host = found and { path = other, text = text, before = found }
      if host and text:find("<<<", 1, true) then return host end
      silent = silent or host or nil
    end
  end
  return silent
end

-- Does a text launch one of these kernels?
local function launches(text, kernels)
  local t <close> = csource.tokens(text)
  for _, k in ipairs(kernels) do
    local i = t:find(1, k.name)
    while i do
      local behind = t[i + 1] == "<" and csource.angle_end(t, i + 1) or i
      if t[behind + 1] == "<<<" then return true end
      i = t:find(i + 1, k.name)
    end
  end
  return false
end

-- Where a file launches none of its kernels: the file beside it that does; of several the first by
-- name.
local function launcher(path, text, kernels)
  if #kernels == 0 or text:find("<<<", 1, true) then return nil end
  local folder = folder_of(path)
  for _, name in ipairs(files_in(folder, "%.cuh?$", headers.absolute(path))) do
    local other = headers.read(folder .. "/" .. name, "a file beside it")
    if other:find("<<<", 1, true) and launches(other, kernels) then
      return { path = folder .. "/" .. name, name = name, text = other }
    end
  end
end

--- The files beside one that may have kernels, by name.
---@param path string
---@return string[] paths
function M.beside(path)
  local folder, list = folder_of(path), {}
  for _, name in ipairs(files_in(folder, "%.cuh?$", headers.absolute(path))) do
    local other = folder .. "/" .. name
    if headers.read(other, "a file beside it"):find("__global__", 1, true) then
      list[#list + 1] = other
    end
  end
  return list
end

-- The first header of a file that has the kernel.
local function included(path, text, wanted)
  local header, found, kernels = header_of(text, folder_of(path), function(header)
    local list = header.text:find("__global__", 1, true)
      and slice.kernels(header.text, header.path)
    return list and has(list, wanted) and list
  end)
  return header and { path = header.path, text = header.text, values = header.values,
    kernels = kernels,
    host = { path = path, text = text, before = found } }
end

--- The file beside one that defines a function of the GPU, where another does not include it; of
--- several the first by name.
---@param path string
---@param wanted string the function
---@return string? name below the same folder
function M.defining(path, wanted)
  local folder = folder_of(path)
  for _, name in ipairs(files_in(folder, "%.cuh?$", headers.absolute(path))) do
    local text = headers.read(folder .. "/" .. name, "a file beside it")
    local may_be = text:find(wanted, 1, true) and not before(text, folder, headers.absolute(path))
    if may_be and slice.defines(text, name, wanted) then return name end
  end
end

--- The headers of the file that launches the kernels; with one beside it, that and its headers too.
---@param parts Parts
---@param folders string[] where the compiler looks
---@return table[] { name, text, … }
function M.headers(parts, folders)
  local list = headers.of(parts.host and parts.host.text or parts.text, folders)
  if not parts.beside then return list end
  local known = table.move(list, 1, #list, 1, {})
  list[#list + 1] = parts.beside
  local others = headers.of(parts.beside.text, folders, known)
  return table.move(others, 1, #others, #list + 1, list)
end

--- The file with the kernel that a person asks for, and what includes it.
---@param path string
---@param wanted? string the kernel's name
---@return Parts
function M.of(path, wanted)
  local text, values = csource.without_values(headers.read(path, "the kernel"))
  local kernels = slice.kernels(text, path)
  local elsewhere = not has(kernels, wanted) and included(path, text, wanted)
  if elsewhere then return elsewhere end
  local host = includer(path)
  return { path = path, text = text, values = values, kernels = kernels, host = host,
    beside = not host and launcher(path, text, kernels) or nil }
end

-- Names of kernels, for a sentence.
local function named(kernels)
  local names = {}
  for i, kernel in ipairs(kernels) do names[i] = kernel.name end
  return table.concat(names, ", ")
end

-- Those of a file's kernels that its host launches.
local function launched_ones(parts)
  local list, text = {}, parts.host and parts.host.text or parts.text
  for _, kernel in ipairs(parts.kernels) do
    if launches(text, { kernel }) then list[#list + 1] = kernel end
  end
  return list
end

--- Returns the kernel of a file that replaces another file's: the one named by --kernel, the only
--- one that is launched, the one with the same name, or the only one. Refuses if there is none, or
--- if several are launched: they may do the work together, or each for some sizes.
---@param parts Parts
---@param path string
---@param wanted? string
---@param old string the other file's
---@return table item
function M.kernel(parts, path, wanted, old)
  local at = {}
  for _, item in ipairs(parts.kernels) do at[item.name] = item end
  if wanted and not at[wanted] then
    fail("%s has no kernel '%s'; it has %s", path, wanted, named(parts.kernels))
  end
  if wanted then return at[wanted] end
  if #parts.kernels == 0 then fail("%s has no __global__ function", path) end
  local some = launched_ones(parts)
  if #some > 1 then
    fail("%s launches several kernels, together or each for some cases, and one is judged: name "
      .. "it, --kernel %s,NAME (%s), or judge all that both files launch, --whole", path, old,
      named(some))
  end
  local item = some[1] or at[old] or #parts.kernels == 1 and parts.kernels[1]
  if item then return item end
  fail("%s has several kernels, and none is called %s: name one of them, --kernel %s,NAME (%s)",
    path, old, old, named(parts.kernels))
end

return M
