-- around: folders of headers that a file includes and that lie neither beside it nor where one was
-- told to look: those of its project. `Common` or `include` above it are looked into, a few folders
-- up, and what a makefile beside it names that lies beside its own folder or below (`-I../other`);
-- of "../x.h" the folder above, where a project's makefile is. The folders are printed and written
-- to problem.lua, as are the makefile's macros that a file uses.

local csource = require "gilua.source.csource"
local headers = require "gilua.new.headers"
local lfs = require "lfs"

local M = {}

local MOST_UP = 5 -- folders above the file's own
local MOST_FOUND = 8
local MOST_DEEP = 4 -- variables of a makefile in each other
local MOST_VALUE, MOST_WORD = 256, 4096 -- bytes of a variable's value, and of a word with these
local NAMES = { "include", "inc", "common", "Common", "common/inc", "common/include", "util" }
local MAKEFILES = { "GNUmakefile", "makefile", "Makefile" }
local HEADER = csource.set "h hpp hxx hh cuh inl inc def"
local SYSTEM = { ["/usr/include"] = true, ["/usr/local/include"] = true } -- the host's

local function is_file(path)
  return lfs.attributes(path, "mode") == "file"
end

-- The first folder called by one of NAMES, beside the file or above it, that has a header. No other
-- is looked into, whatever a file includes: what lies there is not for a stranger's file.
local function folder_with(spelled, own)
  local at = not spelled:find("..", 1, true) and spelled:sub(1, 1) ~= "/" and own or nil
  for _ = 0, MOST_UP do
    for _, name in ipairs(at and NAMES or {}) do
      local folder = at .. "/" .. name
      if not SYSTEM[folder] and is_file(folder .. "/" .. spelled) then return folder end
    end
    at = at and at:match "^(.+)/[^/]+$"
  end
end

-- Likewise where the #include itself says where that folder is: "../inc/x.h".
local function folder_named(spelled, from)
  local up, rest = spelled:match "^([./]*%.%./)([^.].*)$"
  if not up or up:sub(1, 1) == "/" or select(2, up:gsub("%.%.", "")) > MOST_UP then return nil end
  for _, name in ipairs(NAMES) do
    local folder = rest:sub(1, #name + 1) == name .. "/"
      and headers.absolute(from .. "/" .. up .. name)
    if folder and not SYSTEM[folder] and is_file(headers.absolute(from .. "/" .. spelled)) then
      return folder
    end
  end
end

-- The folder above, where a header is named that lies there, beside the makefile of a project.
local function folder_above(spelled, from)
  local name = spelled:match "^%.%./([%w_][%w_.+-]*)$"
  local above = name and HEADER[name:match "%.(%w+)$" or ""] and from:match "^(.+)/[^/]+$"
  if not above or not is_file(above .. "/" .. name) then return nil end
  for _, makefile in ipairs { "CMakeLists.txt", table.unpack(MAKEFILES) } do
    if is_file(above .. "/" .. makefile) then return above end
  end
end

-- The text of the makefile in a folder, or none.
local function makefile_in(folder)
  for _, name in ipairs(MAKEFILES) do
    local path = folder .. "/" .. name
    if is_file(path) then return headers.read(path, "the makefile") end
  end
  return ""
end

-- The first folder of -I in the makefile beside the file that has a header: no other file is
-- looked for, and none further away than in a folder beside the file's own.
local function folder_made_with(spelled, own)
  if not HEADER[spelled:match "%.(%w+)$" or ""] or spelled:find("..", 1, true) then return nil end
  for given in makefile_in(own):gmatch "%-I%s*([%w_./+-]+)" do
    local up, rest = given:match "^(%.?%.?/?)([%w_][%w_./+-]*)$"
    local is_near = (up == "../" or up == "./" or up == "") and not rest:find("..", 1, true)
    local folder = is_near and headers.absolute(own .. "/" .. given:gsub("/+$", ""))
    if folder and is_file(folder .. "/" .. spelled) then return folder end
  end
end

-- The lines of a makefile without its conditions, those that go on put together.
local function plain_lines(text)
  local list, open = {}, 0
  for line in (text:gsub("\\\r?\n", " ") .. "\n"):gmatch "(.-)\r?\n" do
    local word = line:match "^%s*(%a+)"
    if word == "ifeq" or word == "ifneq" or word == "ifdef" or word == "ifndef" then
      open = open + 1
    elseif word == "endif" then open = open - 1
    elseif open == 0 then list[#list + 1] = line:gsub("%f[^%s\0]#.*", "") end
  end
  return list
end

-- A word of a makefile with the variables in it by what the makefile says of them.
local function filled_in(word, variables)
  for _ = 1, MOST_DEEP do
    word = #word <= MOST_WORD and word:gsub("%$[({]([%w_]+)[)}]", variables) or ""
  end
  return word
end

--- Macros that the makefile beside a file gives the compiler, where no condition is around them:
--- in a variable (`CFLAGS = -DN=3`), or in a recipe that names the file.
---@param path string of the file, absolute
---@return { name: string, text: string }[] text: NAME or NAME=VALUE
function M.macros(path)
  local folder, file = path:match "^(.*)/([^/]+)$"
  local lines, variables, list, seen = plain_lines(makefile_in(folder)), {}, {}, {}
  for _, line in ipairs(lines) do
    local name, value = line:match "^([%w_]+)%s*[:?]?=%s*(.-)%s*$"
    if name and #value <= MOST_VALUE then variables[name] = variables[name] or value end
  end
  for _, line in ipairs(lines) do
    local counts = line:find "^%s*[%w_]+%s*[:?+]?=" or line:find(file, 1, true)
    for word in (counts and line or ""):gmatch "%f[^%s\0]%-D%s*(%S+)" do
      local name, value = filled_in(word, variables):match "^([%a_][%w_]*)(.*)$"
      local is_plain = name and (value == "" or value:find "^=[%w_.+-]*$")
      if is_plain and not seen[name] then
        list[#list + 1], seen[name] = { name = name, text = name .. value }, true
      end
    end
  end
  return list
end

-- Does the compiler find what an #include names, below the folders that it may read?
local function is_found(spelled, from, folders)
  for _, folder in ipairs { from, table.unpack(folders) } do
    local path = headers.absolute(folder .. "/" .. spelled)
    if is_file(path) and headers.below(path, folders) then return true end
  end
  return false
end

-- The first folder that one of these lacks; nil where none is wanting.
local function first_missing(text, own, folders, standins)
  local files = { { text = text, folder = own } }
  local list = headers.of(text, folders)
  table.move(list, 1, #list, 2, files)
  for _, file in ipairs(files) do
    for _, spelled in ipairs(csource.includes(file.text)) do
      local is_there = is_file(standins .. "/" .. spelled)
        or is_found(spelled, file.folder, folders)
      local folder = not is_there
        and (folder_named(spelled, file.folder) or folder_above(spelled, file.folder)
          or folder_made_with(spelled, own) or folder_with(spelled, own))
      if folder then return folder end
    end
  end
end

--- Folders besides those given that headers of a file lie in.
---@param text string of the file
---@param folders string[] absolute; the file's own is the first
---@param standins string the folder of headers that stand in for the host's
---@return string[]
function M.of(text, folders, standins)
  local all, found = table.move(folders, 1, #folders, 1, {}), {}
  for _ = 1, MOST_FOUND do
    local folder = first_missing(text, folders[1], all, standins)
    if not folder then break end
    all[#all + 1], found[#found + 1] = folder, folder
  end
  return found
end

return M
