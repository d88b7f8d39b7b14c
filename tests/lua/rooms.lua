-- The rooms of lua/gilua import one way: each from those before it in the list of init.lua. What
-- counts as an import is `require "gilua.ROOM.NAME"` and, through the face, gi.NAME.

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"
local scratch = require "scratch"
local tap = require "tap"

local HOME = core.home .. "/lua/gilua/"

local function text_of(path)
  local f <close> = assert(io.open(path))
  return f:read "a"
end

-- The code alone: no comments, and strings without what is in them.
local function code_of(text)
  return (text:gsub("%[(=*)%[.-%]%1%]", '""'):gsub("%-%-[^\n]*", ""):gsub('"[^"\n]*"', '""')
    :gsub("'[^'\n]*'", '""'))
end

-- room -> its place, in the order of init.lua; the list is read from there, as a person does.
local function places()
  local list, place = {}, {}
  for room in text_of(HOME .. "init.lua"):match("local rooms = (%b{})"):gmatch('{ "(%l+)",') do
    list[#list + 1] = room
    place[room] = #list
  end
  return place, list
end

-- The modules of a room and of the folders in it: "html", "page/html".
local function files_of(room)
  local names = {}
  local function visit(folder)
    for file in lfs.dir(HOME .. room .. "/" .. folder) do
      local path = folder .. file
      names[#names + 1] = path:match "^(.+)%.lua$"
      local is_folder = lfs.attributes(HOME .. room .. "/" .. path, "mode") == "directory"
      if is_folder and not file:find "^%." then visit(path .. "/") end
    end
  end
  visit ""
  table.sort(names)
  return names
end

-- The modules that a file's text imports.
local function imports(text)
  local found = {}
  for module in text:gmatch('require%s*%(?%s*["\'](gilua%.[%w_.]+)["\']') do
    found[#found + 1] = module
  end
  local code = code_of(text)
  for _, face in ipairs { "%f[%w_.]gi%.([%l%d_]+)", "gi%(%)%.([%l%d_]+)",
                          'require%s*%(?%s*""%s*%)?%.([%l%d_]+)' } do
    for name in code:gmatch(face) do found[#found + 1] = gi.modules[name] end
  end
  return found
end

local place, rooms = places()

tap.case("what the test reads as an import", function()
  local text = [[
    local a = require "gilua.base.stats" -- gi.farm
    gi.fail("gi.html"); gi().evolve(require("gilua").tune)
    local page = [=[ gi.report ]=]
  ]]
  tap.is(table.concat(imports(text), " "),
    "gilua.base.stats gilua.base.fail gilua.search.evolve gilua.study.tune")
end)

tap.case("nothing lies flat beside init.lua, and every folder is a room", function()
  for entry in lfs.dir(HOME) do
    local path = HOME .. entry
    if entry:match "%.lua$" then tap.is(entry, "init.lua", "flat in lua/gilua") end
    if lfs.attributes(path, "mode") == "directory" and not entry:match "^%."
      and entry ~= "include" then
      tap.ok(place[entry], entry .. " is in the list of init.lua")
    end
  end
end)

tap.case("every name of the face is a file of its room", function()
  local n = 0
  for name, module in pairs(gi.modules) do
    n = n + 1
    tap.ok(package.searchpath(module, package.path), ("gi.%s is %s"):format(name, module))
  end
  tap.ok(n > 50, n .. " modules")
end)

tap.case("imports go one way", function()
  local wrong, n = {}, 0
  for _, room in ipairs(rooms) do
    for _, name in ipairs(files_of(room)) do
      local file = room .. "/" .. name .. ".lua"
      for _, module in ipairs(imports(text_of(HOME .. file))) do
        local target = module:match "^gilua%.(%l+)%."
        n = n + (target and 1 or 0)
        if target and (place[target] or math.huge) > place[room] then
          wrong[#wrong + 1] = file .. " -> " .. module
        end
      end
    end
  end
  tap.is(table.concat(wrong, "\n"), "", "none goes up")
  tap.ok(n > 150, n .. " imports were read")
end)

-- Imports inside a room make no circle either: files can be read one after the other.
tap.case("no circle of files", function()
  local open, closed, circle = {}, {}, nil
  local function visit(module)
    if closed[module] or circle then return end
    if open[module] then circle = module return end
    open[module] = true
    local path = module ~= "gilua.core" and package.searchpath(module, package.path)
    for _, next_one in ipairs(path and imports(text_of(path)) or {}) do visit(next_one) end
    open[module], closed[module] = nil, true
  end
  for _, room in ipairs(rooms) do
    for _, path in ipairs(files_of(room)) do
      visit("gilua." .. room .. "." .. path:gsub("/", "."))
    end
  end
  tap.is(circle, nil, "no module imports itself by way of others")
end)

-- What a program that runs these lines loads: the modules, and their rooms.
local function loaded_by(lines)
  local file = tap.folder() .. "/loads.lua"
  scratch.write(file, lines .. [[

    for name in pairs(package.loaded) do
      if name:match "^gilua%.%l+%." then print(name) end
    end
  ]])
  local pipe = assert(io.popen(("%s %s 2>&1"):format(core.system.program(), file)))
  local said = pipe:read "a"
  tap.ok(pipe:close(), said)
  local list = {}
  for module, room in said:gmatch "(gilua%.(%l+)%.[%w_.]+)" do list[module] = room end
  tap.ok(next(list), "modules are loaded")
  return list
end

-- A worker is started a hundred times a run: it loads what it works with and nothing for people.
tap.case("a worker loads no room above the farm", function()
  local loaded = loaded_by [[
    assert(pcall(require, "gilua.farm.worker"))
    assert(require "gilua.problem.problem" "kernels/niftyreg".grammar)
  ]]
  for module, room in pairs(loaded) do
    tap.ok(place[room] <= place.farm, module .. " in a worker")
  end
end)

-- `gilua run` is begun for each program of a test suite.
tap.case("a command does not load what other commands need", function()
  local loaded = loaded_by [[
    require "gilua.command.commands"
    require "gilua.command.run"
  ]]
  for module, room in pairs(loaded) do
    local is_for_others = ("host new prompt rewrite store study"):find(room, 1, true)
    tap.ok(not is_for_others, module .. " for gilua run")
  end
end)

tap.done()
