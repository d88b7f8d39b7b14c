-- fingerprint: what a file or a folder holds; and the world that depends on it.
package.path = "tests/lua/?.lua;" .. package.path
local fingerprint = require "gilua.base.fingerprint"
local gi = require "gilua"
local lfs = require "lfs"
local tap = require "tap"
local world = require "gilua.store.world"

local function folder_with(files)
  local dir = tap.folder()
  for name, text in pairs(files) do
    local parent = name:match "^(.*)/"
    if parent then gi.textfile.make_folder(dir .. "/" .. parent) end
    gi.textfile.write(dir .. "/" .. name, text)
  end
  return dir
end

local function names(dir, skip)
  local list = {}
  for i, file in ipairs(fingerprint.files(dir, skip)) do list[i] = file.name end
  return table.concat(list, " ")
end

tap.case("a file is known by what it holds", function()
  local dir = folder_with { a = "one", b = "one", c = "two", empty = "" }
  tap.is(fingerprint.of(dir .. "/a"), fingerprint.of(dir .. "/b"), "equal texts")
  tap.ok(fingerprint.of(dir .. "/a") ~= fingerprint.of(dir .. "/c"), "another text")
  tap.is(fingerprint.of(dir .. "/a"), fingerprint.of_text "one", "as the text at hand")
  tap.is(fingerprint.of(dir .. "/empty"), fingerprint.of_text "", "an empty one, too")
  gi.textfile.write(dir .. "/a", "eno")
  tap.ok(fingerprint.of(dir .. "/a") ~= fingerprint.of(dir .. "/b"), "changed within the second")
  tap.is(fingerprint.of(dir .. "/none"), nil, "what is not there")
  local large = ("0123456789"):rep(1 << 20)
  gi.textfile.write(dir .. "/large", large)
  tap.is(fingerprint.of(dir .. "/large"), fingerprint.of_text(large), "one of several pieces")
end)

tap.case("a folder is known by all below it", function()
  local dir = folder_with { ["left/1"] = "a", ["right/1"] = "b" }
  local before = fingerprint.of(dir)
  gi.textfile.write(dir .. "/right/1", "c")
  local changed = fingerprint.of(dir)
  tap.ok(changed ~= before, "a file in it")
  os.rename(dir .. "/right/1", dir .. "/right/2")
  tap.ok(fingerprint.of(dir) ~= changed, "its name")
  gi.textfile.write(dir .. "/.hidden", "x")
  tap.is(names(dir), "left/1 right/2", "but nothing hidden")
  lfs.link("..", dir .. "/left/up", true)
  os.execute(("mkfifo '%s/pipe'"):format(dir))
  tap.is(names(dir), "left/1 right/2", "nor what leads in circles, nor a pipe")
  tap.is(names(dir, function(name) return name:find "^left" end), "right/2", "nor what one says")
end)

tap.case("results do not count", function()
  local dir = folder_with { ["problem.lua"] = "", ["data/best.cu"] = "" }
  local before = fingerprint.of(dir)
  gi.archive.open(dir .. "/archive.sqlite"):close()
  for _, name in ipairs { "best.cu", "result.json", "result.json.gilua-aB3xY9", "earlier-1/log.txt",
    "problem.kept/x" } do
    gi.textfile.make_folder((dir .. "/" .. name):match "^(.*)/")
    gi.textfile.write(dir .. "/" .. name, "of a run")
  end
  tap.is(names(dir), "data/best.cu problem.lua", "of a run in the folder itself")
  tap.is(fingerprint.of(dir), before, "so that nothing has changed")
  gi.textfile.make_folder(dir .. "/mine")
  gi.archive.open(dir .. "/mine/archive.sqlite"):close()
  gi.textfile.write(dir .. "/mine/anything", "x")
  tap.is(fingerprint.of(dir), before, "or of one in a folder below")
end)

tap.case("it takes bounded time", function()
  local dir = folder_with { a = ("a"):rep(20000), b = ("b"):rep(20000) }
  local bytes, files = fingerprint.MOST_BYTES, fingerprint.MOST_FILES
  fingerprint.MOST_BYTES = 20000
  local list = fingerprint.files(dir)
  tap.ok(not list[1].fingerprint:find "written", "what there is time for is read")
  tap.has(list[2].fingerprint, "20000 ", "of the rest the size")
  tap.has(list[2].fingerprint, " written ", "and the time count")
  fingerprint.MOST_FILES = 1
  tap.is(#fingerprint.files(dir), 1, "and so many files")
  fingerprint.MOST_BYTES, fingerprint.MOST_FILES = bytes, files
end)

local function description(changes)
  local w = { gilua = "1", program = "p", nvrtc = "13.0", device = "NVIDIA H200",
    driver = "13000, 580.1", files = { ["kernel.cu"] = "1 a", ["data/1"] = "1 b" } }
  for name, value in pairs(changes or {}) do w[name] = value end
  return gi.json.encode(w)
end

tap.case("how worlds differ, in words", function()
  local function words(changes) return world.difference(description(), description(changes)) end
  tap.is(words(), nil, "equal ones")
  tap.is(words { driver = "13000, 590.2" },
    "the driver is 13000, 590.2 and was 13000, 580.1", "a field")
  tap.is(words { program = "q" }, "gilua is another build", "gilua")
  tap.is(words { files = { ["kernel.cu"] = "2 c", ["new.h"] = "1 d" } },
    "data/1 is gone, kernel.cu has changed, new.h is new", "files")
  tap.is(words { nvrtc = "13.1", program = "q", files = {} },
    "data/1 is gone, kernel.cu is gone, NVRTC is 13.1 and was 13.0 and 1 more", "many")
  tap.is(world.difference("no JSON", description { files = {} }) ~= nil, true, "a broken one")
end)

tap.case("the world has the driver, where there is one", function()
  local problem = gi.problem "kernels/reduction"
  local function driver(device)
    return gi.json.decode(gi.history.world(problem, { devices = { device }, options = {} })).driver
  end
  tap.is(driver { name = "emu" }, nil, "the virtual GPU has none")
  tap.is(driver { name = "GPU", driver = "13000, 590.2" }, "13000, 590.2", "a real one has")
end)

tap.case("a case knows what the files hold that it names", function()
  local dir = folder_with { ["pairs/left/1.pgm"] = "a", ["one.nii"] = "b" }
  local keys = {}
  local farm <close> = gi.farm(gi.problem "kernels/reduction", { jobs = 1 })
  local memory = { unit = function() end, verdict = function() end, keep_unit = function() end,
    keep_verdict = function() end, case = function(_, key) keys[#keys + 1] = key end }
  farm:remember(memory)
  for _, change in ipairs { "", "pairs/left/1.pgm", "one.nii", "pairs/left/2.pgm" } do
    if change ~= "" then gi.textfile.write(dir .. "/" .. change, "changed") end
    pcall(farm.evaluate, farm, { "" }, { seed = 1, pairs = dir .. "/pairs",
      deep = { image = dir .. "/one.nii" } })
  end
  tap.is(#keys, 4, "four cases")
  for i = 2, 4 do tap.ok(keys[i] ~= keys[i - 1], "each another: " .. i) end
end)

tap.done()
