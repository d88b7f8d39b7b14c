-- fingerprint: a short key of what files contain, for answers that depend on them: their sizes and
-- 128 bits of their content. Files that runs leave in a folder are ignored.
--
-- Limits: of a folder it visits MOST_FILES files and reads MOST_BYTES bytes. Of a longer file it
-- reads both ends and the time of its last change. It opens no pipes and no devices. It does not
-- read a file twice in a process if the file has not changed.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local results = require "gilua.base.results"
local textfile = require "gilua.base.textfile"

local M = {}

M.MOST_BYTES = 512 << 20
M.MOST_FILES = 20000

local CHUNK = 4 << 20
local END = 4096

--------------------------------------------------------------------------------------------------
-- Files

--- Of a text that is at hand; a file that holds it has the same.
---@param text string
---@return string
function M.of_text(text)
  local parts = {}
  for first = 1, math.max(#text, 1), CHUNK do
    parts[#parts + 1] = core.system.hash128(text:sub(first, first + CHUNK - 1))
  end
  return ("%d %s"):format(#text, #parts == 1 and parts[1]
    or core.system.hash128(table.concat(parts)))
end

local function content(file, size)
  local parts, bytes = {}, 0
  repeat
    local text = textfile.next_bytes(file, CHUNK)
    bytes = bytes + #text
    if #text > 0 or #parts == 0 then parts[#parts + 1] = core.system.hash128(text) end
  until #text < CHUNK or bytes > size + CHUNK -- one that grows is left behind
  return ("%d %s"):format(bytes, #parts == 1 and parts[1]
    or core.system.hash128(table.concat(parts)))
end

local function ends(file, a)
  local first = file:read(END) or ""
  file:seek("end", -math.min(a.size, END))
  return ("%d %s written %d"):format(a.size, core.system.hash128(first .. (file:read "a" or "")),
    a.modification)
end

local known = {} -- path -> { stamp, fingerprint }

-- What changes with a file; nil for one that was touched just now, and may be again within the
-- same second.
local function stamp_of(a)
  if os.time() - a.change < 2 then return nil end
  return table.concat({ a.dev, a.ino, a.size, a.modification, a.change }, " ")
end

--- Of a whole file, however large it is; nil, and why, where it cannot be read.
---@param path string
---@return string?
---@return string?
function M.whole(path)
  local a, unknown = lfs.attributes(path)
  if not a then return nil, unknown end
  if a.mode ~= "file" then return nil, ("%s is a %s, not a file"):format(path, a.mode) end
  local stamp, old = stamp_of(a), known[path]
  if old and stamp == old.stamp then return old.fingerprint end
  local file <close>, why = io.open(path, "rb")
  if not file then return nil, why end
  local fingerprint = content(file, a.size)
  if stamp then known[path] = { stamp = stamp, fingerprint = fingerprint } end
  return fingerprint
end

-- Of a file with these attributes, when `left` bytes may be read; and how many were.
local function of_file(path, a, left)
  local stamp, old = stamp_of(a), known[path]
  if old and stamp == old.stamp then return old.fingerprint, 0 end
  local file = io.open(path, "rb")
  if not file then return ("%d not to be read, written %d"):format(a.size, a.modification), 0 end
  local whole = a.size <= left
  local fingerprint = whole and content(file, a.size) or ends(file, a)
  file:close()
  if stamp and whole then known[path] = { stamp = stamp, fingerprint = fingerprint } end
  return fingerprint, whole and a.size or 0
end

--------------------------------------------------------------------------------------------------
-- Folders

-- Of what is no folder, or nobody lets us read, none; that a machine has no memory or no descriptor
-- left to read it says nothing of what is in it.
local function sorted_names(folder)
  local names = {}
  local listed, why = attempt(entries, folder)
  if not listed then
    local is_there = lfs.attributes(folder, "mode") == "directory"
    if is_there and not tostring(why):find("Permission denied", 1, true) then error(why, 0) end
    return names
  end
  for name in entries(folder) do
    if not name:find "^%." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Files below a folder, in the order of their names: { path, name, attributes }. `above`: folders
-- on the way, which a link may lead back to.
local function walk(list, folder, prefix, skip, above)
  local a = lfs.attributes(folder)
  local id = a and ("%s %s"):format(a.dev, a.ino)
  if not a or above[id] then return end
  above[id] = true
  local is_run = results.is_run(folder)
  for _, name in ipairs(sorted_names(folder)) do
    if #list >= M.MOST_FILES then break end
    local path, inside = ("%s/%s"):format(folder, name), prefix .. name
    local attributes = lfs.attributes(path)
    local mode = attributes and attributes.mode
    local left_out = is_run and results.is_left(name) or skip and skip(inside, mode)
    if mode == "file" and not left_out then
      list[#list + 1] = { path = path, name = inside, attributes = attributes }
    elseif mode == "directory" and not left_out and not results.is_run(path) then
      walk(list, path, inside .. "/", skip, above)
    end
  end
  above[id] = nil
end

--- Of each file below a folder, but for hidden ones and what runs have left there.
---@param folder string
---@param skip? fun(name: string, mode: string): boolean? true for what does not count either
---@return { name: string, path: string, fingerprint: string }[] in the order of their names
function M.files(folder, skip)
  local list, left = {}, M.MOST_BYTES
  walk(list, folder, "", skip, {})
  for _, file in ipairs(list) do
    local fingerprint, read = of_file(file.path, file.attributes, left)
    file.fingerprint, left = fingerprint, left - read
    file.attributes = nil
  end
  return list
end

--- Of a file, or of all that is below a folder; nil where there is neither.
---@param path string
---@return string?
function M.of(path)
  local a = lfs.attributes(path)
  if not a then return nil end
  if a.mode == "file" then return (of_file(path, a, M.MOST_BYTES)) end
  if a.mode ~= "directory" then return nil end
  local lines = {}
  for i, file in ipairs(M.files(path)) do lines[i] = file.name .. "\0" .. file.fingerprint end
  return ("%d files %s"):format(#lines, core.system.hash128(table.concat(lines, "\0")))
end

return M
