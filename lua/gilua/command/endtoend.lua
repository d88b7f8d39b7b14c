--- endtoend: `gilua apply RUN --build 'make' --run './app args'`: changes the sources, builds and
--- runs the program, and compares its output and files with those of the original. Both commands
--- are the user's own and run as typed, in no box.
---
--- The original program runs twice: parts that differ between the two runs (times, dates) are not
--- compared. Its files are those below the current folder that a run creates or changes.

local answer = require "gilua.command.answer"
local boxedprogram = require "gilua.farm.boxedprogram"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local printable = require "gilua.base.printable"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"

local M = {}

local MOST_FILES = 20000 -- that are looked at
local MOST_BYTES = 1 << 30 -- of a file that is compared
local RECENT = 3 -- seconds: files as new as that are known by their contents, for clocks are coarse
local LONGER = 20 -- times as long as before, and MARGIN seconds, a program may take
local MARGIN = 60
local APART = 1.1 -- seconds between the two runs without changes: seeds are made of the clock

--------------------------------------------------------------------------------------------------
-- Commands

-- Its exit status, what it printed, and seconds; or nil and why it came to no end.
local function run(command, log, limit_s)
  local begun = core.system.seconds()
  local status, signal, code = core.system.run {
    argv = { "/bin/sh", "-c", 'exec >"$1" </dev/null; eval "$2"', "sh", log, command },
    limit_s = limit_s }
  local seconds = core.system.seconds() - begun
  if code == "timeout" then return nil, ("it did not end within %d s"):format(limit_s) end
  if not status then return nil, signal end
  if signal then return nil, ("signal %d ended it"):format(signal) end
  return status, textfile.read(log, "what it printed"), seconds
end

local function build(o, log)
  if not o.build then return end
  local status, text = run(o.build .. " 2>&1", log)
  if status == 0 then return end
  local last = boxedprogram.last_line(status and text or "")
  return ("'%s' %s%s"):format(o.build, status and "ended with status " .. status or text,
    last ~= "" and ": " .. last or "")
end

--------------------------------------------------------------------------------------------------
-- Files

local function contents(path, size)
  if size > MOST_BYTES then return "of " .. size .. " bytes" end
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

-- What is below a folder: time, size, and of what is new the contents' hash.
local function files_below(folder, found, now)
  for name in entries(folder) do
    local path = folder .. "/" .. name
    local a = name ~= "." and name ~= ".." and lfs.symlinkattributes(path)
    if a and a.mode == "directory" and name ~= ".git" then files_below(path, found, now)
    elseif a and a.mode == "file" then
      found.n = found.n + 1
      if found.n > MOST_FILES then
        fail("there are more than %d files below this folder: run gilua apply in the program's own",
          MOST_FILES)
      end
      local is_new = a.modification > now - RECENT
      found[path:sub(3)] = { time = a.modification, size = a.size,
        hash = is_new and core.system.hash128(contents(path, a.size) or "") }
    end
  end
  return found
end

local function snapshot()
  return files_below(".", { n = 0 }, os.time())
end

-- Those that a run wrote, by name.
local function written(before, after)
  local list = {}
  for name, now in pairs(after) do
    local was = before[name]
    local is_same = name == "n" or was and was.time == now.time and was.size == now.size
      and (not was.hash or was.hash == now.hash)
    if not is_same then list[name] = contents(name, now.size) end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- One run

---@class ProgramRun
---@field status integer
---@field seconds number
---@field texts table<string, string> what it printed, as "", and what it wrote, by file

-- Of files that are known to be written the time is set back, so that writing is seen.
local function observe(o, log, known, limit_s)
  for name in pairs(known or {}) do
    if name ~= "" then lfs.touch(name, 1, 1) end
  end
  local before = snapshot()
  local status, text, seconds = run(o.run_command, log, limit_s)
  if not status then return nil, text end
  local texts = written(before, snapshot())
  texts[""] = text
  return { status = status, seconds = seconds, texts = texts }
end

local function what(name)
  return name == "" and "what it prints" or name
end

--------------------------------------------------------------------------------------------------
-- Comparing

local function words_of(line)
  local list = {}
  for word in line:gmatch "%S+" do list[#list + 1] = word end
  return list
end

local function lines_of(text)
  local list = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do list[#list + 1] = line end
  return list
end

-- Does a line differ from what it was, where two runs had the same? Words that they had different
-- are not compared.
local function line_differs(one, two, now)
  if one == two then return now ~= one end
  local a, b, c = words_of(one), words_of(two), words_of(now)
  if #a ~= #b then return false end
  if #c ~= #a then return true end
  for i = 1, #a do
    if a[i] == b[i] and c[i] ~= a[i] then return true end
  end
  return false
end

-- The first difference of a text; nil for none, and whether part of it was not compared.
local function difference(name, one, two, now)
  if not now then return ("%s is not written any more"):format(name) end
  if one == two and now == one then return nil, false end
  if one:find("\0", 1, true) then
    return one == two and ("%s is not what it was"):format(name) or nil, true
  end
  local a, b, c = lines_of(one), lines_of(two), lines_of(now)
  if #a ~= #b then return nil, true end
  if #c ~= #a then
    return ("%s has %d lines where it had %d"):format(what(name), #c, #a)
  end
  for i = 1, #a do
    if line_differs(a[i], b[i], c[i]) then
      return ("line %d of %s is `%s` where it was `%s`"):format(i, what(name),
        printable.text(c[i]:sub(1, 100)), printable.text(a[i]:sub(1, 100)))
    end
  end
  return nil, true
end

-- Why what a program does is not what it did; nil where it is, and what was not compared.
local function compare(one, two, now)
  if one.status ~= now.status then
    return ("it ended with status %d where it ended with %d"):format(now.status, one.status)
  end
  local names, unsure = gi.settings.keys(one.texts), {}
  for _, name in ipairs(names) do
    if two.texts[name] then
      local why, partly = difference(name, one.texts[name], two.texts[name], now.texts[name])
      if why then return why end
      if partly then unsure[#unsure + 1] = what(name) end
    end
  end
  return nil, unsure, #names - 1
end

--------------------------------------------------------------------------------------------------

-- As it was: the sources, and what is built of them.
local function undo(o, files, log, why)
  for _, file in ipairs(files) do
    textfile.write(file.path, file.old)
    if file.new_orig then os.remove(file.path .. ".orig") end
  end
  local broken = build(o, log)
  fail("%s; the sources are as they were again%s", why, broken and ", but " .. broken
    or o.build and ", and so is what is built of them" or "")
end

-- The program as it is, twice.
local function before_changes(o, log)
  local why = build(o, log)
  if why then fail("%s, before anything was changed", why) end
  local one, unended = observe(o, log)
  if not one then fail("'%s' %s, before anything was changed", o.run_command, unended) end
  core.system.sleep(math.max(0, APART - one.seconds))
  local two, again = observe(o, log, one.texts)
  if not two then fail("'%s' %s, before anything was changed", o.run_command, again) end
  if one.status ~= two.status then
    fail("'%s' ends with status %d, then with %d: nothing can be told from what it does",
      o.run_command, one.status, two.status)
  end
  return one, two
end

--- Puts changes into sources, builds and runs, and undoes it where something differs.
---@param o { build?: string, run_command: string } and the command's other options
---@param files { path: string, text: string, old: string }[]
---@param put fun() writes them; sets new_orig of those whose FILE.orig was not there
function M.apply(o, files, put)
  local folder <close> = tempfolder.new()
  local log = folder.path .. "/log"
  local one, two = before_changes(o, log)
  local ok, why, unsure, written_files = pcall(function()
    put()
    local broken = build(o, log)
    if broken then return broken end
    local now, unended = observe(o, log, two.texts,
      math.ceil(LONGER * math.max(one.seconds, two.seconds)) + MARGIN)
    if not now then return ("'%s' %s"):format(o.run_command, unended) end
    return compare(one, two, now)
  end)
  if not ok or why then
    undo(o, files, log, ok and "with the changes: " .. why or tostring(why))
  end
  answer.say(o, "'%s' prints%s what it did, and ends with status %d", o.run_command,
    written_files > 0 and (" and writes (%d file%s)"):format(written_files,
      written_files > 1 and "s" or "") or "", one.status)
  if #unsure > 0 then
    answer.say(o, "Not compared, for it differs from run to run without any change: words of %s",
      table.concat(unsure, ", "))
  end
end

return M
