--- joined: kernels that a program has in several files, as one source: the files one after the
--- other, each whole, so that a line of the source belongs to a line of one of them.

local csource = require "gilua.source.csource"
local headers = require "gilua.new.headers"
local partsof = require "gilua.new.parts"

local M = {}

---@class JoinedParts: Parts
---@field paths string[] absolute, of the files with the kernels, in their order
---@field folders string[] of these and of what includes them

local function folder_of(path)
  return headers.absolute(path):match "^(.*)/"
end

local function ended(text)
  return text:sub(-1) == "\n" and text or text .. "\n"
end

--- The files one after the other, and how many lines each has.
---@param paths string[]
---@return string text
---@return integer[] lines
function M.text(paths)
  local texts, lines = {}, {}
  for i, path in ipairs(paths) do
    texts[i] = ended(headers.read(path, "the file that the kernel came from"))
    lines[i] = select(2, texts[i]:gsub("\n", ""))
  end
  return table.concat(texts), lines
end

-- The parts of the first file with a kernel; nil where none has it.
local function holder(sources, name)
  for _, source in ipairs(sources) do
    local parts = partsof.of(source, name)
    for _, kernel in ipairs(parts.kernels) do
      if kernel.name == name then return parts end
    end
  end
end

-- A text without its #includes of files that a set has; those that it has itself are added to it.
local function without(text, folder, gone)
  local t <close>, out, at = csource.tokens(text), {}, 1
  for i in csource.directives(t) do
    local spelled = csource.included(t[i])
    local path = spelled and headers.absolute(folder .. "/" .. spelled)
    if path and gone[path] then
      out[#out + 1] = text:sub(at, t:first(i) - 1)
      at = t:last(i) + 1
    end
    if path then gone[path] = true end
  end
  return table.concat(out) .. text:sub(at)
end

-- What stands before the files where others include them: of one that includes several what it has
-- before the last, without the others.
local function before(list)
  local gone, longest, order = {}, {}, {}
  for _, parts in ipairs(list) do gone[headers.absolute(parts.path)] = true end
  for _, parts in ipairs(list) do
    local host = parts.host
    local had = host and longest[host.path]
    if host and not had then order[#order + 1] = host end
    if host and (not had or #had < #host.before) then longest[host.path] = host.before end
  end
  local texts, hosts = {}, {}
  for i, host in ipairs(order) do
    texts[i] = ended(without(longest[host.path], folder_of(host.path), gone))
    hosts[i] = ended(host.text)
  end
  return #order > 0 and { path = order[1].path, text = table.concat(hosts),
    before = table.concat(texts) } or nil
end

local function join(list)
  local all = { path = list[1].path, kernels = {}, paths = {}, folders = {}, host = before(list) }
  for i, parts in ipairs(list) do
    all.paths[i] = headers.absolute(parts.path)
    all.folders[#all.folders + 1] = folder_of(parts.path)
    if parts.host then all.folders[#all.folders + 1] = folder_of(parts.host.path) end
    table.move(parts.kernels, 1, #parts.kernels, #all.kernels + 1, all.kernels)
  end
  all.text, all.values = csource.without_values((M.text(all.paths)))
  return all
end

--- The files that have kernels, and what includes them.
---@param sources string[] files that a person names: they have the kernels, or include who has
---@param names string[] of the kernels
---@return JoinedParts? parts nil where none of the kernels is there
---@return string[] missing kernels that no file has
function M.of(sources, names)
  local list, seen, missing = {}, {}, {}
  for _, name in ipairs(names) do
    local parts = holder(sources, name)
    if not parts then missing[#missing + 1] = name
    elseif not seen[parts.path] then
      seen[parts.path], list[#list + 1] = true, parts
    end
  end
  if #list > 1 then return join(list), missing end
  local one = list[1]
  if one then one.paths, one.folders = { headers.absolute(one.path) }, {} end
  return one, missing
end

return M
