-- arguments: what the makefile of a folder (`run:`), or a script `run` there, gives its program.

local elf = require "gilua.base.elf"
local headers = require "gilua.new.headers"
local lfs = require "lfs"

local M = {}

local MOST_DEEP, MOST_LINE = 5, 4096 -- variables of a makefile in each other; bytes of a line
local MAKEFILES = { "Makefile", "makefile", "GNUmakefile" }

--- The makefile of a folder.
---@param folder string
---@return string? path
function M.makefile(folder)
  for _, name in ipairs(MAKEFILES) do
    local path = folder .. "/" .. name
    if lfs.attributes(path, "mode") == "file" then return path end
  end
end

-- A line with the variables in it by what the makefile says of them.
local function filled_in(line, variables)
  for _ = 1, MOST_DEEP do
    line = #line <= MOST_LINE and line:gsub("%$[({]([%w_]+)[)}]", function(name)
      return variables[name] or ""
    end) or ""
  end
  return line
end

local function recipe_of(text)
  local values, recipe, inside = {}, nil, false
  for line in (text:gsub("\\\n", " ") .. "\n"):gmatch "(.-)\r?\n" do
    local name, value = line:match "^%s*([%w_]+)%s*[:?]?=%s*(.-)%s*$"
    if name and not inside then values[name] = values[name] or value end
    if line:find "^%S" then inside = line:find "^run%s*:[^=]" ~= nil or line:find "^run%s*:$" end
    if inside and line:find "^\t" then recipe = recipe or line:match "^\t[@-]*%s*(.-)%s*$" end
  end
  return recipe and filled_in(recipe, values)
end

-- The words behind `./program` in a line of the shell that is a plain one.
local function words_behind(line)
  local rest = line:match "%f[^%s%z]%./%S+%s*(.*)$"
  if not rest or rest:find "[|&;<>`$*?\"'\\]" then return nil end
  local words = {}
  for word in rest:gmatch "%S+" do words[#words + 1] = word end
  return words
end

--- The number that an expression takes from the command line, `atoi(argv[1])`.
---@param text string
---@param words string[] the program's arguments
---@return integer? value nil where it does no such thing, or that is no whole number
function M.number(text, words)
  local i = text:match "^[%w_:%s()]-[%a_][%w_]*%s*%(%s*argv%s*%[%s*(%d+)%s*%][^()]*%)$"
  return i and math.tointeger(tonumber(words[tonumber(i)])) or nil
end

--- The arguments of a folder's program.
---@param folder string
---@return string[] words empty if none were found
---@return string? line that says them
function M.of(folder)
  local makefile, script = M.makefile(folder), folder .. "/run"
  local line = makefile and recipe_of(headers.read(makefile, "the makefile"))
  if not line and lfs.attributes(script, "mode") == "file" and not elf.read(script) then
    for text in headers.read(script, "the script"):gmatch "[^\n]+" do
      if not line and text:find "^%s*%./" then line = text end
    end
  end
  local words = line and words_behind(line)
  return words or {}, words and line
end

return M
