-- The grammar of every kernel of the repository, frozen: its BNF with three sets of options, as one
-- hash a file in tests/data/grammars.txt. A genome names rules, so that no change of the reader may
-- change one. Where a difference is meant, it is read, then kept:
--
--   GRAMMARS=/tmp/before ./gilua tests/lua/grammars.lua      before the change: a file a kernel
--   GRAMMARS=/tmp/after ./gilua tests/lua/grammars.lua       after it
--   diff -r /tmp/before /tmp/after                           the difference in words
--   cp /tmp/after/grammars.txt tests/data/grammars.txt

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local lfs = require "lfs"
local scratch = require "scratch"
local tap = require "tap"

local FROZEN = "tests/data/grammars.txt"
local OPTIONS = { {}, { open_loops = true }, { initialisers = true, skip_idle = true,
  pragmas = true, restricts = true, consts = true, volatiles = true, launch_bounds = true,
  math = true } }

-- All source files below some folders, in order.
local function corpus(list, folder)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    local is_folder = lfs.attributes(path, "mode") == "directory"
    if is_folder and not name:find "^%." then corpus(list, path)
    elseif name:find "%.cuh?$" then list[#list + 1] = path end
  end
  table.sort(list)
  return list
end

-- A file's grammars, or why it has none.
local function grammars(path)
  local parts = {}
  for i, options in ipairs(OPTIONS) do
    local g, why = core.grammar.parse(path, options)
    parts[i] = tostring(g or why)
  end
  return table.concat(parts, "\n")
end

local function all_lines(folder)
  local list = {}
  for _, root in ipairs { "kernels", "tests/gpu", "tests/own", "tests/programs" } do
    for _, path in ipairs(corpus({}, root)) do
      local text = grammars(path)
      if folder then scratch.write(folder .. "/" .. path:gsub("/", "."), text) end
      list[#list + 1] = path .. " " .. core.system.hash(text)
    end
  end
  return list
end

local folder = os.getenv "GRAMMARS"
if folder then
  lfs.mkdir(folder)
  scratch.write(folder .. "/grammars.txt", table.concat(all_lines(folder), "\n") .. "\n")
  return print(("the grammars are in %s, a file each"):format(folder))
end

tap.case("every grammar is the one that is frozen", function()
  local frozen, list = {}, all_lines()
  for line in io.lines(FROZEN) do frozen[line:match "^%S+"] = line end
  for _, line in ipairs(list) do
    local path = line:match "^%S+"
    tap.is(line, frozen[path], path .. " (the head of this file says how to read the difference)")
    frozen[path] = nil
  end
  for path in pairs(frozen) do tap.ok(false, path .. " is there no longer") end
end)

tap.done()
