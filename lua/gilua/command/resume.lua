-- resume: `gilua resume RUN`: starts a run again from its seed. The archive answers what is known,
-- so the run soon reaches the point where it ended.

local fail = require "gilua.base.fail"
local gi = require "gilua"
local lfs = require "lfs"
local results = require "gilua.base.results"
local runpath = require "gilua.base.runpath"

local function absolute(path)
  return path:find "^/" and path or lfs.currentdir() .. "/" .. path
end

-- How the last run of a folder was begun.
local function command_of(dir)
  local path = dir .. "/" .. gi.history.FILE
  if not lfs.attributes(path) then
    results.refuse(dir, "holds no archive.sqlite: it is no run, or one of an older gilua")
  end
  local archive <close> = gi.archive.open(path, { read_only = true })
  local row = archive:last_run()
  if not row then
    fail("the run in %s was ended before anything was found: there is nothing to go on with, and "
      .. "nothing is lost; give its command again", dir)
  end
  local command = gi.json.decode(row.command)
  if type(command) ~= "table" or type(command.words) ~= "table" then
    fail("%s does not tell how the run was begun", path)
  end
  return command, row.ended
end

-- As if the command had been typed again, where it was typed.
local function begin(command, dir)
  local folder = runpath.meant(command.folder or "", dir)
  local moved, why = lfs.chdir(folder)
  if not moved then
    fail("the run was begun in %s: %s", folder ~= "" and folder or "a folder that was gone", why)
  end
  for name, value in pairs(command.options) do gi.options[name] = value end
  gi.options.resume = dir
  local words = {}
  for i, word in ipairs(command.words) do words[i - 1] = word end
  arg = words -- luacheck: globals arg
end

--- Goes on with a run.
---@param run_command fun(name: string) for those that a command of gilua's began
---@return integer? status
return function(run_command)
  local o = gi.cli {
    takes = "quiet",
    doc = "Goes on with a run that was ended before its end, by whatever.",
    positional = { { name = "run", doc = "its folder" } },
  }
  local dir = absolute((o.run:gsub("(.)/+$", "%1")))
  local command, ended = command_of(dir)
  if ended then fail("%s came to its end: there is nothing to go on with", o.run) end
  begin(command, dir)
  local word = command.words[1]
  if lfs.attributes(word, "mode") == "file" then
    local script, why = loadfile(word)
    if not script then fail("%s", why) end
    return script(table.unpack(arg))
  end
  return run_command(word)
end
