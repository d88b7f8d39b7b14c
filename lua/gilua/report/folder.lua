-- folder: the folder of a run's results: out/NAME-SEED, or the first of out/NAME-SEED-2, -3 … that
-- is free; out/latest is a link to the newest. In a folder that a person chose (--out), the results
-- of an earlier run move to DIR/earlier-1 (-2 …) when the new run has its first results. During a
-- run the folder contains DIR/.lock, which names the process.

local archives = require "gilua.store.archive"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local printable = require "gilua.base.printable"
local results = require "gilua.base.results"
local shell = require "gilua.base.shell"
local textfile = require "gilua.base.textfile"

local ARCHIVE_FILES = { "", "-journal", "-wal", "-shm" } -- endings

local M = {}

---@class ResultFolder
---@field dir string
---@field fresh boolean nobody chose its name
---@field is_new boolean it was not there before this run
---@field begun boolean what it holds is this run's
---@field resumed boolean the run was begun before, and is begun again
---@field archive? gilua.archive
---@field opens_archive? boolean a run is to begin there
---@field run? integer its number, once it has begun
---@field parts integer? evolutions that the run's command has begun
---@field changed string? in what its world is another than that of the run before it
---@field was_stopped boolean? an evolution of the run was
---@field closed boolean?
local Folder = {}
Folder.__index = Folder
Folder.__close = function(self) self:close() end
Folder.__gc = Folder.__close -- an interrupt that comes before the caller has the folder

local LOCK = "/.lock"

-- Names of an earlier run's results, in order.
local function earlier(dir)
  local names = {}
  for name in entries(dir) do
    if results.is_result(name) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local ELSEWHERE = "; choose another folder with --out"

local function refuse(dir, why, advice)
  fail("cannot write results to '%s': %s%s", dir, why, advice or ELSEWHERE)
end

local function make(dir, advice)
  local made, why = textfile.make_folder(dir)
  if not made then refuse(dir, why, advice) end
end

-- Makes the first folder of the usual name that is free. mkdir tells whether it is new: another run
-- may want the same name now.
local function make_fresh(folder, usual)
  local parent = usual:match "^(.*)/[^/]+$"
  if parent then make(parent) end
  for n = 1, math.huge do
    local dir = n == 1 and usual or ("%s-%d"):format(usual, n)
    folder.dir, folder.is_new = dir, not lfs.symlinkattributes(dir)
    local made, why = lfs.mkdir(dir)
    if made then return end
    folder.is_new = false
    if not lfs.symlinkattributes(dir) then refuse(dir, why) end
  end
end

local function command()
  local words = { "gilua" }
  for i = 0, arg and #arg or -1 do words[#words + 1] = shell.word(arg[i]) end
  return table.concat(words, " ")
end

local function locked(dir, advice)
  local lock, why, code = core.file.lock(dir .. LOCK, ("process %d on %s since %s: %s\n"):format(
    core.system.pid(), core.system.hostname(), os.date "%Y-%m-%d %H:%M:%S", command()))
  if lock then return lock end
  refuse(dir, code == "busy" and ("another run is at work there (%s)"):format(why) or why,
    advice)
end

--- Has the last run of a folder come to its end? nil where there is none. One that was ended before
--- it was written down goes on from its beginning.
---@param dir string
---@return boolean?
function M.has_ended(dir)
  local path = ("%s/%s"):format(dir, results.ARCHIVE)
  if not lfs.attributes(path) then return nil end
  local archive <close> = archives.open(path, { read_only = true })
  local run = archive:last_run()
  return run ~= nil and run.ended ~= nil
end

-- The last folder of those that a command would have used, whose run has not come to its end; nil
-- where all have, which is said.
local function unfinished(given, usual)
  local last, complete
  for n = 1, math.huge do
    local dir = given or n == 1 and usual or ("%s-%d"):format(usual, n)
    if not lfs.attributes(dir) then break end
    local ended = M.has_ended(dir)
    if ended == false then last = dir elseif ended then complete = dir end
    if given then break end
  end
  if last then return last end
  if not complete then
    fail("there is no run to go on with: %s holds no %s", given or usual, results.ARCHIVE)
  end
  io.stderr:write(printable.text(("gilua: %s has come to its end: a new run begins\n"):format(
    complete)))
end

-- The folder of a run that is begun again: by its own name (gilua resume), or as the last one of
-- this command (--resume).
local function resumed(given, usual)
  local wanted = core.options.resume
  if not wanted then return nil end
  core.options.resume = nil -- the first folder that is opened
  if wanted == true then return unfinished(given, usual) end
  return wanted
end

--- The folder of a run that is about to begin. Nothing in it is touched yet.
---@param given? string the folder that a person chose
---@param usual string the name of a new one, where none was chosen
---@param advice? string what to do where it cannot be: of commands without --out
---@return ResultFolder
function M.open(given, usual, advice)
  local again = resumed(given, usual)
  given, advice = again or given, again and "" or advice
  local folder = setmetatable({ fresh = not given, is_new = false, begun = false, written = {},
    resumed = again ~= nil }, Folder)
  if given then
    folder.dir, folder.is_new = given:gsub("(.)/+$", "%1"), not lfs.symlinkattributes(given)
    make(given, advice)
  else
    make_fresh(folder, usual)
  end
  folder.lock = locked(folder.dir, advice)
  return folder
end

-- The first name of its kind that is free.
local function place_for_earlier(dir)
  for n = 1, math.huge do
    local place = ("%s/earlier-%d"):format(dir, n)
    if lfs.mkdir(place) then return place end
    if not lfs.symlinkattributes(place) then refuse(dir, "a folder cannot be made in it") end
  end
end

local function move(from, to)
  local moved, why = os.rename(from, to)
  if not moved then fail("cannot keep an earlier run's results: %s", why) end
end

function Folder:keep_earlier(names)
  if #names == 0 then return end
  self.earlier = self.earlier or place_for_earlier(self.dir)
  for _, name in ipairs(names) do
    move(("%s/%s"):format(self.dir, name), ("%s/%s"):format(self.earlier, name))
  end
end

--- There is something to keep: from now on the folder is this run's.
function Folder:begin()
  if self.begun then return end
  self.begun, core.results = true, self.dir -- which the host names, should it end in an error
  if not self.resumed then self:keep_earlier(earlier(self.dir)) end
  local parent, name = self.dir:match "^(.*)/([^/]+)$"
  -- only a hint for people: where links cannot be made, there is none
  if self.fresh and parent then core.file.link(name, parent .. "/latest") end
end

--- The path of a file that this run is going to write.
---@param name string
---@return string
function Folder:path(name)
  self:begin()
  local path = ("%s/%s"):format(self.dir, name)
  if not (self.written[name] or self.resumed) and lfs.symlinkattributes(path) then
    self:keep_earlier { name }
  end
  self.written[name] = true
  return path
end

--- Writes a file of the results.
---@param name string
---@param text string
function Folder:write(name, text)
  textfile.write(self:path(name), text)
end

--- Removes a file that this run has written and that is true no more.
---@param name string
function Folder:drop(name)
  if not self.written[name] then return end
  os.remove(("%s/%s"):format(self.dir, name))
  self.written[name] = nil
end

--- Does it hold an earlier run's results, which nothing of this one has replaced?
---@return boolean
function Folder:holds_earlier()
  return not self.begun and #earlier(self.dir) > 0
end

--- What there is for people to look at, in the usual order.
---@return string[]
function Folder:listing()
  local names = {}
  for _, name in ipairs { "report.html", "experiment.json", "best.cu", "best.patch", "best.ptx",
      "result.json", "generations.csv", "log.txt" } do
    if self.written[name] and lfs.attributes(("%s/%s"):format(self.dir, name)) then
      names[#names + 1] = name
    end
  end
  return names
end

--- The run has ended. A new folder in which nothing was written goes again; so does its archive,
--- where no run that was to begin in it has (gilua.history).
function Folder:close()
  if self.closed then return end
  if self.archive then self.archive:close() end
  if self.lock then self.lock:close() end
  if not self.is_new or self.begun then return end
  for _, ending in ipairs(self.opens_archive and not self.run and ARCHIVE_FILES or {}) do
    os.remove(("%s/%s%s"):format(self.dir, results.ARCHIVE, ending))
  end
  lfs.rmdir(self.dir)
end

return M
