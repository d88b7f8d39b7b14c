--- filecache: files that an agent has fetched, in a folder, each under a key of its content. When
-- the folder would grow past its bound, the least recently used files are removed. Several agents
-- of one user may share a folder: a file in use was touched less than a minute ago (`touch`).
--
-- A file is requested in pieces, in order. A missing piece is requested again from the next agent
-- that has the file. Every file, fetched or found, is compared with its hash.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local fingerprint = require "gilua.base.fingerprint"
local entries = require "gilua.base.entries"
local lfs = require "lfs"

local M = {
  MOST_BYTES = 8 << 30, -- where nothing else is said
  LATE_S = 3, -- a piece that has not come after this time is requested again …
  MOST_LATE = 20, -- … so often in a row
  IN_USE_S = 600, -- of what was touched so lately nothing is removed
}

---@class gilua.filecache
---@field folder string
---@field most_bytes integer
---@field wanted table<string, table> by hash: { parcel, file, path, have, asks, uses, late,
---  until_s }
local Cache = {}
Cache.__index = Cache

--- Where it is, where nothing else is said: below $XDG_CACHE_HOME, or ~/.cache.
---@return string
function M.usual_folder()
  local above = os.getenv "XDG_CACHE_HOME"
  if not above or above == "" then above = (os.getenv "HOME" or "/tmp") .. "/.cache" end
  return above .. "/gilua/fetched"
end

local function make(folder)
  for at in (folder .. "/"):gmatch "()/" do
    local above = folder:sub(1, at - 1)
    if above ~= "" and not lfs.attributes(above) then lfs.mkdir(above) end
  end
  if lfs.attributes(folder, "mode") ~= "directory" then
    fail("there can be no folder %s for what is fetched: give another one (--cache DIR)", folder)
  end
end

--- The folder is made when something is to go into it.
---@param folder? string
---@param most_bytes? integer
---@return gilua.filecache
function M.new(folder, most_bytes)
  return setmetatable({ folder = folder or M.usual_folder(),
    most_bytes = most_bytes or M.MOST_BYTES, wanted = {} }, Cache)
end

function Cache:path_of(hash)
  return ("%s/%s"):format(self.folder, (hash:gsub("%W", "-")))
end

--- A file that holds that; nil where there is none. One that holds something else is removed.
---@param hash string
---@return string? path
function Cache:has(hash)
  local path = self:path_of(hash)
  if not lfs.attributes(path) then return nil end
  if fingerprint.whole(path) ~= hash then
    os.remove(path)
    return nil
  end
  lfs.touch(path)
  return path
end

--- These are in use.
---@param paths string[]
function Cache:touch(paths)
  for _, path in ipairs(paths) do lfs.touch(path) end
end

--------------------------------------------------------------------------------------------------
-- Room

-- What lies there, and what is still to come.
local function inventory(self)
  local list, bytes, coming = {}, 0, {}
  for _, wanted in pairs(self.wanted) do
    coming[wanted.path], bytes = true, bytes + wanted.parcel.bytes
  end
  for name in entries(self.folder) do
    local path = self.folder .. "/" .. name
    local a = lfs.symlinkattributes(path)
    if a and a.mode == "file" and not coming[path] then
      list[#list + 1] = { path = path, bytes = a.size, used = a.modification }
      bytes = bytes + a.size
    end
  end
  table.sort(list, function(a, b)
    if a.used ~= b.used then return a.used < b.used end
    return a.path < b.path
  end)
  return list, bytes
end

-- Removes what was not used for longest; nil, and why, where that is not enough.
local function make_room(self, wanted_bytes)
  local list, bytes = inventory(self)
  for _, file in ipairs(list) do
    if bytes + wanted_bytes <= self.most_bytes then break end
    if os.time() - file.used < M.IN_USE_S then break end
    os.remove(file.path)
    bytes = bytes - file.bytes
  end
  if bytes + wanted_bytes <= self.most_bytes then return true end
  return nil, ("%s has no room for its %d bytes: %d of %d are in use (gilua agent --cache-mb)")
    :format(self.folder, wanted_bytes, bytes, self.most_bytes)
end

--------------------------------------------------------------------------------------------------
-- Fetching

local function ask(wanted)
  wanted.until_s = core.system.seconds() + M.LATE_S
  wanted.asks[1](wanted.have)
end

-- Why nothing can be kept there, and what to do.
local function unwritable(self, why)
  return ("%s cannot be written to: %s: give another folder (gilua agent --cache DIR)"):format(
    self.folder, why)
end

-- It is there, or it will not be.
local function settle(self, wanted, path, why)
  self.wanted[wanted.parcel.hash] = nil
  if wanted.file then wanted.file:close() end
  if not path then os.remove(wanted.path) end
  for _, use in ipairs(wanted.uses) do use(path, why) end
end

local function begin(self, parcel)
  local sound = type(parcel.hash) == "string" and parcel.hash:find "^%d+ %x+$"
    and math.type(parcel.bytes) == "integer" and parcel.bytes > 0
  if not sound then return nil, "its hash is malformed" end
  make(self.folder)
  local room, full = make_room(self, parcel.bytes)
  if not room then return nil, full end
  local path = ("%s.%d.part"):format(self:path_of(parcel.hash), core.system.pid())
  local file, why = io.open(path, "wb")
  if not file then return nil, unwritable(self, why) end
  local wanted = { parcel = parcel, file = file, path = path, have = 0, asks = {}, uses = {},
                   late = 0 }
  self.wanted[parcel.hash] = wanted
  return wanted
end

--- Has a file fetched, if it is not there, and calls `use` when it is.
---@param parcel gilua.parcel
---@param asking fun(from: integer) asks one who has it for pieces from there on
---@param use fun(path: string?, why: string?)
function Cache:fetch(parcel, asking, use)
  local path = type(parcel.hash) == "string" and self:has(parcel.hash)
  if path then return use(path) end
  local wanted, why = self.wanted[parcel.hash], nil
  local is_new = not wanted
  if is_new then wanted, why = begin(self, parcel) end
  if not wanted then return use(nil, why) end
  table.insert(wanted.asks, asking)
  table.insert(wanted.uses, use)
  if is_new then ask(wanted) end
end

local function finish(self, wanted)
  local path, ok, why = self:path_of(wanted.parcel.hash), wanted.file:close()
  wanted.file = nil
  if not ok then return settle(self, wanted, nil, unwritable(self, why)) end
  if fingerprint.whole(wanted.path) ~= wanted.parcel.hash then
    return settle(self, wanted, nil, "what came holds something else than its hash says")
  end
  ok, why = os.rename(wanted.path, path)
  settle(self, wanted, ok and path, why and unwritable(self, why))
end

--- A piece has come; one that is not the next is not wanted.
---@param m table of parcels.pieces
function Cache:came(m)
  local wanted = self.wanted[m.hash]
  if not wanted then return end
  if m.why then return settle(self, wanted, nil, m.why) end
  if m.from ~= wanted.have then return end
  local ok, why = wanted.file:write(m.text)
  if not ok then return settle(self, wanted, nil, unwritable(self, why)) end
  wanted.have, wanted.late = wanted.have + #m.text, 0
  if wanted.have >= wanted.parcel.bytes then return finish(self, wanted) end
  wanted.until_s = core.system.seconds() + M.LATE_S
  if m.last then ask(wanted) end
end

--- Nobody waits for ever.
---@param now number
function Cache:check_late(now)
  local late = {}
  for _, wanted in pairs(self.wanted) do
    if now > wanted.until_s then late[#late + 1] = wanted end
  end
  for _, wanted in ipairs(late) do
    wanted.late = wanted.late + 1
    table.insert(wanted.asks, table.remove(wanted.asks, 1))
    if wanted.late < M.MOST_LATE then
      ask(wanted)
    else
      settle(self, wanted, nil, "it does not come")
    end
  end
end

--- What is half there goes.
function Cache:close()
  for _, wanted in pairs(self.wanted) do
    wanted.file:close()
    os.remove(wanted.path)
  end
  self.wanted = {}
end

return M
