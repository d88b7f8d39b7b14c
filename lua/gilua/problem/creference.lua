-- creference: a reference written in C beside a problem. It is compiled when it is newer than its
-- library. make builds those of gilua's own kernels/.

local fail = require "gilua.base.fail"
local core = require "gilua.core"
local elsewhere = require "gilua.base.elsewhere"
local lfs = require "lfs"
local shell = require "gilua.base.shell"

local M = {}

local function is_stale(source, library)
  local made, written = lfs.attributes(library, "modification"),
    lfs.attributes(source, "modification")
  return written and (not made or made < written)
end

-- Written aside and moved: another process may be loading the old one.
local function build(source, library)
  local compiler = os.getenv("CC") or "cc"
  local aside = ("%s.%.9f"):format(library, core.system.seconds())
  local command = ("%s -std=c11 -O2 -ffp-contract=off -shared -fPIC -o %s %s -lm 2>&1"):format(
    compiler, shell.quoted(aside), shell.quoted(source))
  local pipe = assert(io.popen(command))
  local words = pipe:read("a")
  if pipe:close() and os.rename(aside, library) then return end
  os.remove(aside)
  fail("%s does not compile with `%s`:\n%s", source, compiler, words)
end

--- Where the library of a C file is.
---@param dir string the problem's folder
---@param name string "reference.c"
---@return string path
function M.library(dir, name)
  return (dir .. "/" .. name):gsub("%.c$", "") .. ".so"
end

--- Builds the library of a C file where it is older. Done when a problem is loaded, since workers
--- start no compiler.
---@param dir string the problem's folder
---@param name string "reference.c"
---@return string library its path
function M.build(dir, name)
  local source = dir .. "/" .. name
  if not lfs.attributes(source) then
    fail("there is no %s, which problem.lua gives as the reference", source)
  end
  local library = M.library(dir, name)
  if elsewhere.files[library] then return elsewhere.of(library) end -- who sent it has built it
  if is_stale(source, library) then build(source, library) end
  return library
end

--- The library of a C file.
---@param dir string the problem's folder
---@param name string "reference.c"
---@return userdata library as gi.library opens it
function M.open(dir, name)
  local lib, message = core.library.open(M.build(dir, name))
  if not lib then fail("%s", message) end
  return lib
end

return M
