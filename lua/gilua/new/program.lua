--- program: the other files of a program: which of them name a kernel, or a function that launches?
--
-- A program is all source below the folder that has the file's `.git`; without one, below the
-- nearest that says how it is built (a Makefile …); without that, the file's own folder.
--
-- Limits: links and folders that begin with a dot are not followed. Nothing is said of a program
-- with more files than are read. What another program does with this one's library is not seen.

local attempt = require "gilua.base.attempt"
local callers = require "gilua.host.callers"
local csource = require "gilua.source.csource"
local entries = require "gilua.base.entries"
local headers = require "gilua.new.headers"
local hostcode = require "gilua.host.hostcode"
local lfs = require "lfs"
local othernames = require "gilua.new.othernames"
local parts = require "gilua.new.parts"
local settings = require "gilua.base.settings"

local M = { most_files = 4000 }

local MOST_BYTES = 1 << 26
local MOST_UP = 8 -- folders above the file's own
local MOST_ROUNDS = 4 -- functions that call each other, each in another file
local BUILDS = { "Makefile", "makefile", "CMakeLists.txt", "setup.py", "meson.build" }
local SOURCES = settings.set "c cc cpp cxx cu cuh h hh hpp inl"

local function has(folder, name) return lfs.attributes(folder .. "/" .. name, "mode") ~= nil end

local function builds(folder)
  for _, name in ipairs(BUILDS) do
    if has(folder, name) then return true end
  end
  return false
end

-- Returns the folder that a program is below.
local function root_of(path)
  local own = headers.absolute(path):match "^(.*)/"
  local folder, built = own, nil
  for _ = 0, MOST_UP do
    if folder == "" then break end
    if has(folder, ".git") then return folder end
    built = built or builds(folder) and folder or nil
    folder = folder:match "^(.*)/"
  end
  return built or own
end

-- Is a folder a problem of gilua's, or a run?
local function is_ours(folder) return has(folder, "problem.lua") or has(folder, "problem.kept") end

-- Adds the source files below a folder; false where there are too many, or one cannot be read.
local function add_files(folder, list)
  local read, names = attempt(function()
    local found = {}
    for name in entries(folder) do found[#found + 1] = name end
    return found
  end)
  if not read then return false end
  table.sort(names)
  list.entries = list.entries + #names
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    local mode = not name:find "^%." and lfs.symlinkattributes(path, "mode")
    local is_part = mode == "directory" and not is_ours(path)
    if is_part and not add_files(path, list) then return false end
    if mode == "file" and SOURCES[name:match "%.(%w+)$" or ""] then
      list[#list + 1], list.bytes = path, list.bytes + (lfs.attributes(path, "size") or 0)
    end
    local most = M.most_files
    if #list > most or list.bytes > MOST_BYTES or list.entries > 10 * most then return false end
  end
  return true
end

-- Has a text a name as a word, and defines no function of that name itself? Then it is of another
-- program.
local function names_it(text, name)
  local word = "%f[%w_]" .. name .. "%f[^%w_]"
  return text:find(name, 1, true) and text:find(word) and not text:find(word .. "%s*%b()%s*{")
end

-- Lists a program's files, once.
local function list_files(self)
  if self.texts then return end
  self.files, self.texts = { bytes = 0, entries = 0 }, {}
  if not add_files(self.root, self.files) then self.files = nil end
end

-- Returns the files that name one of these, but for some, as headers are read.
local function naming(self, names, but)
  local list = {}
  list_files(self)
  for _, path in ipairs(self.files or {}) do
    self.texts[path] = self.texts[path] or headers.read(path, "a file of the program")
    local text, is_near = self.texts[path], false
    for _, name in ipairs(not but[path] and names or {}) do
      is_near = is_near or names_it(text, name)
    end
    if is_near then
      list[#list + 1] = { path = path, name = path:sub(#self.root + 2),
        text = (csource.without_values(text)) }
    end
  end
  return list
end

-- Is a function its own file's alone?
local function is_static(one)
  local i, t = one.open - 1, one.t
  while i > 0 and not (t[i] == ";" or t[i] == "}" or t[i] == "{" or t:kind(i) == "directive") do
    if t[i] == "static" then return true end
    i = i - 1
  end
  return false
end

-- Returns what another file may launch or call: the kernel, where a header declares it or nothing
-- launches it; functions that launch it and that nothing calls. None of a kernel whose launches are
-- all in `main`.
local function unknown(host, kernel)
  kernel = kernel:match "[%w_]*$"
  local names, launches = {}, host:every_launch(kernel)
  local is_open = #launches == 0
  for _, other in ipairs(othernames.of(host, kernel)) do is_open = is_open or other.prototype end
  if is_open then names[1] = kernel end
  for _, launch in ipairs(launches) do
    for _, way in ipairs(callers.ways(host, launch)) do
      local open = way.open
      local name = open and open.name ~= "main" and not is_static(open) and open.name
      if name and name:find "^[%a_][%w_]*$" then names[#names + 1] = name end
    end
  end
  return names
end

---@class Program
---@field main { path: string, text: string } the file with the host's code
---@field beside? { path: string, text: string } another that launches
---@field list table[] headers, and what is read besides: { name, text, path }
---@field others { path: string, name: string, text: string }[] those that name what launches
---@field host HostCode
---@field root string
---@field files? string[] all source below it, read at the first use; nil: there is too much, or
---  some cannot be read

--- Reads the program that a kernel is of: its file, headers, and the other files that launch it or
--- call what launches it.
---@param path string of the kernel's file
---@param kernel string
---@param folders string[] where the compiler looks
---@param defines? string[]
---@return Program
function M.read(path, kernel, folders, defines)
  local found, self, seen = parts.of(path, kernel), { root = root_of(path) }, {}
  self.main, self.beside, self.others = found.host or found, found.beside, {}
  self.list = parts.headers(found, folders)
  for _, one in ipairs { found, self.main, table.unpack(self.list) } do
    if one.path then seen[headers.absolute(one.path)] = true end
  end
  for _ = 1, MOST_ROUNDS do
    self.host = hostcode.read(self.main.text, self.list, defines)
    local names = unknown(self.host, kernel)
    local more = names[1] and naming(self, names, seen) or {}
    if #more == 0 then return self end
    for _, one in ipairs(more) do
      self.list[#self.list + 1], self.others[#self.others + 1], seen[one.path] = one, one, true
    end
  end
  self.files = nil -- there may be more
  return self
end

return M
