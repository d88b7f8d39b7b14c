-- meant: suggests a command or script for a word that is neither.

local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local shell = require "gilua.base.shell"

local M = {}

--- "; did you mean evolve?" where one of the names is near, else "".
---@param word string
---@param names string[]
---@return string
function M.among(word, names)
  local nearest = gi.settings.nearest(word, names)
  return nearest and ("; did you mean %s?"):format(nearest) or ""
end

-- Scripts in a folder, by their names: the first folder asked keeps a name.
local function add_scripts(dir, by_name)
  if lfs.attributes(dir, "mode") ~= "directory" then return end
  for file in entries(dir) do
    local name = file:match "^(.+)%.lua$"
    if name then by_name[name] = by_name[name] or ((dir .. "/" .. file):gsub("^%./", "")) end
  end
end

-- The same for a script, of the word's own folder or of the experiments.
local function script_near(word)
  local by_name = {}
  for _, dir in ipairs { word:match "^(.*)/" or ".", "experiments", gi.home .. "/experiments" } do
    add_scripts(dir, by_name)
  end
  local name = word:match("([^/]*)$"):gsub("%.lua$", "")
  local nearest = gi.settings.nearest(name, gi.settings.keys(by_name))
  return nearest and ("; did you mean %s?"):format(by_name[nearest]) or ""
end

--- Refuses a word in a script's place. Of a path only the file can be wrong; a mere word may be a
--- command too.
---@param word string
---@param commands string[]
function M.refuse(word, commands)
  local mode, usage = lfs.attributes(word, "mode"), ends.STATUS.usage
  if mode == "directory" then
    ends.with(usage, "%s is a folder: a command says what to do with it, as gilua check %s (gilua "
      .. "help lists them)", word, shell.word(word))
  elseif mode then
    ends.with(usage, "%s is no Lua script: gilua new %s makes a problem of its kernel", word,
      shell.word(word))
  elseif word:find "/" or word:find "%.lua$" then
    fail("cannot open %s: No such file or directory%s", word, script_near(word))
  end
  local near = M.among(word, commands)
  ends.with(usage, "'%s' is neither a command nor a script%s (gilua help lists the commands)", word,
    near ~= "" and near or script_near(word))
end

return M
