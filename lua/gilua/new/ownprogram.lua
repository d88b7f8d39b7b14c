--- ownprogram: `gilua new FILE.cu --run`: the program of a file is built and run once, in the box
--- of workers, and recorded: what its kernels are given is then known, not guessed.
---
--- It runs in a copy of its folder that is made of links: what it writes is new there, and goes
--- with it; what is there already cannot be changed.

local arguments = require "gilua.new.arguments"
local boxedprogram = require "gilua.farm.boxedprogram"
local core = require "gilua.core"
local csource = require "gilua.source.csource"
local elf = require "gilua.base.elf"
local headers = require "gilua.new.headers"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local nvcc = require "gilua.farm.nvcc"
local programhost = require "gilua.farm.programhost"
local reading = require "gilua.new.reading"

local M = {}

local UP = 3 -- folders above the file's own that are there by links, too: for ../data and ../common
local MOST_ENTRIES = 4000 -- of one folder
local BUILD_S = 300
local MADE = { "%.o$", "%.a$", "%.so$", "%.rec$" } -- by an earlier build: made again

--------------------------------------------------------------------------------------------------
-- The folder

local function is_made(folder, name)
  for _, pattern in ipairs(MADE) do
    if name:find(pattern) then return true end
  end
  return lfs.attributes(folder .. "/" .. name, "mode") == "file"
    and elf.read(folder .. "/" .. name) ~= nil
end

-- Links to all that is in a folder, but for one name.
local function link_all(from, to, without, own)
  local n = 0
  for name in entries(from) do
    if name ~= "." and name ~= ".." and name ~= without and not (own and is_made(from, name)) then
      n = n + 1
      if n > MOST_ENTRIES then return end
      lfs.link(from .. "/" .. name, to .. "/" .. name, true)
    end
  end
end

-- A folder as if it were another, with some of those above it.
---@return string path
local function folder_like(own, scratch)
  local names, at = {}, own
  while #names <= UP and at:match "[^/]+$" do
    table.insert(names, 1, at:match "[^/]+$")
    at = at:match "^(.*)/"
  end
  local here = scratch .. "/around"
  lfs.mkdir(here)
  for i, name in ipairs(names) do
    if i > 1 then link_all(at, here, name, false) end
    at, here = at .. "/" .. name, here .. "/" .. name
    lfs.mkdir(here)
  end
  link_all(own, here, nil, true)
  return here
end

--------------------------------------------------------------------------------------------------
-- Building

local function has_main(text)
  local t <close> = csource.tokens(text)
  for i = 1, #t do
    if t[i] == "main" and t[i + 1] == "(" and t[i - 1] ~= "." and t[i - 1] ~= "->" then
      return true
    end
  end
  return false
end

--- Has a file a main, so that it may be a whole program?
---@param path string
---@return boolean
function M.is(path)
  return has_main((csource.without_values(headers.read(path, "the source"))))
end

local function path_of(program)
  for folder in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    local path = folder .. "/" .. program
    if lfs.attributes(path, "mode") == "file" then return path end
  end
end

-- The programs that want the CUDA library, of those in a folder that were built now: no links.
local function programs_in(folder)
  local list = {}
  for name in entries(folder) do
    local path = folder .. "/" .. name
    local found = lfs.symlinkattributes(path, "mode") == "file" and elf.read(path)
    if found and programhost.wants_runtime(found) then list[#list + 1] = path end
  end
  table.sort(list)
  return list
end

local ENV = { "NVCC_APPEND_FLAGS=" .. programhost.NVCC_FLAGS }

-- One line of nvcc, for a program that is in one file.
local function built_alone(work, o)
  local words = { "nvcc", "-O2", "-o", work.program, work.name }
  local has_lambda = work.text:find "%]%s*__device__" or work.text:find "%]%s*__host__"
  if has_lambda then words[#words + 1] = "--extended-lambda" end
  local known = reading.compiler(work.path, work.text, o, nil, {})
  for _, folder in ipairs(known.include) do words[#words + 1] = "-I" .. headers.absolute(folder) end
  for _, define in ipairs(known.defines) do words[#words + 1] = "-D" .. define end
  return boxedprogram.run(words, { scratch = work.scratch, folder = work.here, env = ENV,
    limit_s = BUILD_S })
end

-- The environment in which make finds gilua nvcc.
local function env_of_make(work)
  local folder = work.scratch .. "/nvcc"
  lfs.mkdir(folder)
  return nvcc.environment(folder)
end

local function built_by_make(work)
  return boxedprogram.run({ "make" }, { scratch = work.scratch, folder = work.here,
    env = env_of_make(work), limit_s = BUILD_S })
end

-- What a program said last, behind why it failed.
local function last_words(text)
  local line = boxedprogram.last_line(text)
  return line ~= "" and ": " .. line or ""
end

-- A program; nil and why there is none.
local function built(work, o)
  if not path_of "nvcc" then return nil, "there is no nvcc to build it with" end
  local first
  if has_main(work.text) then
    first = built_alone(work, o)
  elseif not work.makefile then
    return nil, "it has no main, and there is no makefile beside it"
  end
  local last = first
  if (not first or first.why) and work.makefile then last = built_by_make(work) end
  local list = programs_in(work.here)
  if #list == 1 then return list[1] end
  if #list > 1 then
    return nil, ("its makefile builds %d programs: build one and record it yourself (gilua help "
      .. "record)"):format(#list)
  end
  return nil, ("it is not built: %s%s"):format(last.why or "nothing that wants libcudart came",
    boxedprogram.whole(last.text))
end

--------------------------------------------------------------------------------------------------

-- Runs the program, recorded. The recording; nil and why there is none.
local function recorded(work, program, o)
  local path, run = ("%s/%s.rec"):format(work.scratch, work.program), work.scratch .. "/run"
  lfs.mkdir(run)
  programhost.write_config(run, { recording = path }, programhost.model())
  local ran = boxedprogram.run({ program, table.unpack(o.arguments) }, { scratch = work.scratch,
    folder = work.here, env = programhost.environment(run, elf.read(program)),
    limit_s = o.seconds })
  if ran.late then
    return nil, ran.why .. " (--seconds N gives it more; smaller arguments, behind --, want less)"
  elseif not lfs.attributes(path) then
    return nil, ran.why or "it calls nothing of CUDA"
  elseif ran.why then
    return nil, ran.why .. last_words(ran.text)
  end
  return path
end

--- Builds and runs the program of a file in the box of workers.
---@param path string FILE.cu
---@param scratch string a folder for all that is written
---@param o { arguments?: string[], seconds: number, include?: string, define?: string,
---  say: fun(...) }
---@return string? recording
---@return string? why there is none
function M.record(path, scratch, o)
  local open = boxedprogram.missing()
  if open then return nil, open end
  local own, name = headers.absolute(path):match "^(.*)/([^/]+)$"
  local work = { path = path, own = own, name = name, program = name:match "^(.-)%.?%w*$",
    scratch = scratch, here = folder_like(own, scratch), text = headers.read(path, "the source"),
    makefile = arguments.makefile(own) }
  local program, why = built(work, o)
  if not program then return nil, why end
  core.system.run { argv = { "chmod", "+x", program } } -- which the linker may not, in the box
  local words, line = o.arguments, nil
  if not words then words, line = arguments.of(own) end
  local built_as = "./" .. program:match "[^/]*$"
  o.say("%s is built and runs in a box (no network, nothing written but in a folder that goes): "
    .. "%s", name, line or table.concat({ built_as, table.unpack(words) }, " "))
  return recorded(work, program, { arguments = words, seconds = o.seconds })
end

return M
