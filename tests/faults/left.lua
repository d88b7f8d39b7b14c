-- left.lua - what a run has left, for tests/cli/no_memory.t: for each line with the name of a run's
-- folder a line with a hash of all that is in it, but for what differs whenever it is made: times,
-- the run's number for the world, and the text of the page and the log, which nothing reads again.
-- Runs that left the same go on in the same way. An empty line where an archive cannot be read.

local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"
local tempfolder = require "gilua.base.tempfolder"
local wire = require "gilua.base.wire"

local DIFFERS = { began = true, ended = true, seconds = true, uid = true }
local PACKED = { info = true, reply = true } -- columns that hold tables
local WRITTEN_ALONE = { ["report.html"] = true, ["log.txt"] = true, ["archive.sqlite-shm"] = true,
  ["archive.sqlite-wal"] = true } -- the last is read with the archive

-- A value, with its fields in their order.
local function text(value)
  if type(value) ~= "table" then return ("%s %s"):format(math.type(value) or type(value), value) end
  local out = {}
  for i, item in ipairs(value) do out[i] = text(item) end
  for _, key in ipairs(gi.settings.keys(value)) do
    local field = value[key]
    if PACKED[key] and type(field) == "string" then field = wire.decode(field) end
    out[#out + 1] = ("%s = %s"):format(key, DIFFERS[key] and "given" or text(field))
  end
  return "{" .. table.concat(out, ",\n") .. "}"
end

local function bytes(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local TABLES = [[SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
  ORDER BY name]]

-- What an archive holds, of a copy: that it is opened changes one.
local function archived(path)
  local folder <close> = tempfolder.new()
  local copy, journal = folder.path .. "/archive", path .. "-wal"
  assert(core.file.write(copy, bytes(path)))
  if lfs.attributes(journal) then assert(core.file.write(copy .. "-wal", bytes(journal))) end
  local db, out = assert(core.store.open(copy)), {}
  for _, row in ipairs(assert(db:rows(TABLES))) do
    out[row.name] = assert(db:rows(("SELECT * FROM %s"):format(row.name)))
  end
  db:close()
  return text(out)
end

-- Without seconds, and without how many workers were lost.
local function plain(json)
  return (json:gsub('"seconds": *%b{}', ""):gsub('"restarts": *%d+', ""))
end

local left

local function content(path, name)
  if WRITTEN_ALONE[name] then return "there" end
  if lfs.attributes(path, "mode") == "directory" then return left(path) end
  if name == "archive.sqlite" then return archived(path) end
  if name == "result.json" then return plain(bytes(path)) end
  return bytes(path)
end

-- A file that was being written has six letters of its own behind its name.
function left(folder)
  local out = {}
  for name in lfs.dir(folder) do
    if name ~= "." and name ~= ".." then
      local plain_name = name:gsub("%.gilua%-%w%w%w%w%w%w$", ".new")
      out[#out + 1] = plain_name .. ": " .. content(folder .. "/" .. name, name)
    end
  end
  table.sort(out)
  return table.concat(out, "\n")
end

for folder in io.lines() do
  local known, what = pcall(left, folder)
  print(known and core.system.hash128(what) or "")
  io.stdout:flush()
end
