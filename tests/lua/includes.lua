-- The rooms of src/: who includes whom is what CONTRIBUTING.md says, and goes one way.
package.path = "tests/lua/?.lua;" .. package.path
local tap = require "tap"
local lfs = require "lfs"

--- Sorted entries of a folder that match.
local function entries(folder, pattern)
  local list = {}
  for name in lfs.dir(folder) do
    if name:find(pattern) then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

--- Every source file, of a room and of the folders in it: { room =, path =, text = }.
local function sources()
  local list = {}
  local function visit(room, folder)
    for _, name in ipairs(entries(folder, "%.[ch]$")) do
      local path = folder .. "/" .. name
      list[#list + 1] = { room = room, path = path, text = tap.read(path) }
    end
    for _, name in ipairs(entries(folder, "^%l+$")) do visit(room, folder .. "/" .. name) end
  end
  for _, room in ipairs(entries("src", "^%l")) do visit(room, "src/" .. room) end
  return list
end

--- CONTRIBUTING.md's words: rooms in order, what each imports, and headers beside ROOM/ROOM.h that
--- others may include.
local function documented()
  local all = assert(tap.read "CONTRIBUTING.md")
  local text = all:match("\nroom +imports\n(.-)```")
  local order, imports, doors = {}, {}, {}
  for header in all:gmatch("`(%l+/%l+%.h)`") do doors[header] = true end
  for room, list in text:gmatch("(%l+) *(%C*)\n") do
    order[#order + 1], imports[room] = room, {}
    for name in list:gmatch("%l+") do imports[room][name] = true end
    imports[room].base = room ~= "base" or nil
  end
  return order, imports, doors
end

local SOURCES = sources()
local ORDER, IMPORTS, DOORS = documented()

--- Calls f(file, what is included, line) for each #include of the form.
local function each_include(form, f)
  for _, file in ipairs(SOURCES) do
    local n = 0
    for line in file.text:gmatch("([^\n]*)\n") do
      n = n + 1
      local header = line:match("^%s*#%s*include%s*" .. form)
      if header then f(file, header, ("%s:%d"):format(file.path, n)) end
    end
  end
end

local function none(wrong, what)
  tap.is(table.concat(wrong, "\n"), "", what)
end

tap.case("CONTRIBUTING.md names the rooms that there are, and imports go down", function()
  local names, place, wrong = {}, {}, {}
  for i, room in ipairs(ORDER) do names[i], place[room] = room, i end
  table.sort(names)
  tap.is(table.concat(names, " "), table.concat(entries("src", "^%l"), " "), "the folders of src")
  for room, imports in pairs(IMPORTS) do
    for name in pairs(imports) do
      if not place[name] then wrong[#wrong + 1] = room .. " imports " .. name .. ", no room"
      elseif place[name] <= place[room] then
        wrong[#wrong + 1] = room .. " above " .. name end
    end
  end
  none(wrong, "one way: every import is of a room further down")
end)

tap.case("rooms include what CONTRIBUTING.md says, all of it and nothing else", function()
  local wrong, used, inside = {}, {}, {}
  each_include('"([^"]+)"', function(file, header, where)
    local room, name = header:match "^(%l+)/([%w_/]+)%.%w+$"
    if not room then
      wrong[#wrong + 1] = where .. ": " .. header .. " is not written ROOM/NAME.h"
    elseif room ~= file.room then
      used[file.room .. " " .. room], used[header] = true, true
      if not IMPORTS[file.room][room] then
        wrong[#wrong + 1] = ("%s: %s must not include %s"):format(where, file.room, room)
      end
      if name ~= room and not DOORS[header] then
        inside[#inside + 1] = ("%s: %s is a private header"):format(where, header)
      end
    end
  end)
  none(wrong, "nothing else")
  none(inside, "no header of another room but its own")
  local unused = {}
  for room, imports in pairs(IMPORTS) do
    for name in pairs(imports) do
      local import = room .. " " .. name
      if name ~= "base" and not used[import] then unused[#unused + 1] = import end
    end
  end
  for header in pairs(DOORS) do
    if not used[header] then unused[#unused + 1] = header end
  end
  table.sort(unused)
  none(unused, "all of it")
end)

tap.case("what one room alone knows", function()
  local function only(rooms, what, ...)
    local wrong = {}
    for _, file in ipairs(SOURCES) do
      local code = file.text:gsub("/%*.-%*/", "")
      for _, pattern in ipairs { ... } do
        if code:find(pattern) and not rooms:find(file.room) then wrong[#wrong + 1] = file.path end
      end
    end
    none(wrong, what .. ": " .. rooms)
  end
  only("host bind", "Lua", "<lua%.h>", "<lauxlib%.h>", "<lualib%.h>")
  only("compile", "NVRTC", "nvrtc%u%l")
  only("device inject runtime", "the driver", "%f[%w_]cu%u%l+%u")
end)

tap.done()
