--- donors: texts of which parts may come into a kernel (gilua.rewrite.transplant): the files
-- *.cu and *.cuh of a folder, and the file that a problem was made of, with its other kernels.
--
--   local d = donors.of { folder = "donors", files = { "/home/me/program.cu" } }
--   local donor, why = d:find "fast.cu"    { name, path, text, hash, kernel }
--
-- Nothing is read before it is asked for. A donor is called by its file's name, and a gene that
-- has a part of it says what the text was: fast.cu:12@6f1c9a.

local core = require "gilua.core"
local entries = require "gilua.base.entries"
local fail = require "gilua.base.fail"
local kernels = require "gilua.transform.kernel"
local lfs = require "lfs"
local settings = require "gilua.base.settings"
local textfile = require "gilua.base.textfile"

local M = {}

local MOST_FILES = 100
local MOST_BYTES = 2 * 1024 * 1024 -- of one

---@class gilua.donor
---@field name string of its file, without folders
---@field path string
---@field text string
---@field hash string of its text, a few letters
---@field kernel table of gilua.transform.kernel
---@field from_program boolean it is the file that the problem was made of

---@class gilua.donors
---@field folder string? that a person gave
---@field files string[] that the problem was made of
---@field given table[]? texts in place of files: { name, path, text, from_program }
local Donors = {}
Donors.__index = Donors

-- Can it stand in a gene?
local function is_word(name) return name:find "^[%w_.+-]+$" ~= nil end

-- The kernels of a text, as far as something is there to take; nil and why not.
local function understood(text)
  local kernel = kernels.of_text(text)
  if kernel.why then return nil, kernel.why end
  for _, fn in ipairs(kernel.functions) do
    if fn.body then return kernel end
  end
  return nil, #kernel.functions == 0 and "it has no function for a GPU"
    or "no function of it is understood"
end

local function skip(self, name, why, from_program)
  if not from_program then self.skipped[#self.skipped + 1] = { name = name, why = why } end
end

-- Adds a text, unless nothing can be taken from it. Of two files of one name the first counts.
local function add(self, file)
  local why = not is_word(file.name) and "its name has signs that no gene takes"
    or self.by_name[file.name] and "another has its name"
    or #file.text > MOST_BYTES and ("it has more than %d bytes"):format(MOST_BYTES) or nil
  local kernel
  if not why then kernel, why = understood(file.text) end
  if not kernel then return skip(self, file.name, why, file.from_program) end
  file.kernel, file.hash = kernel, core.system.hash128(file.text):sub(1, 6)
  self.by_name[file.name] = file
  self.list[#self.list + 1] = file
end

local function add_file(self, path, from_program)
  if lfs.attributes(path, "mode") ~= "file" then return end
  local name = path:match "[^/]*$"
  if (lfs.attributes(path, "size") or 0) > MOST_BYTES then
    return skip(self, name, ("it has more than %d bytes"):format(MOST_BYTES), from_program)
  end
  add(self, { name = name, path = path, text = textfile.read(path, "a donor"),
    from_program = from_program })
end

-- The files of a folder that may be donors, in order of their names.
local function names_in(folder)
  if lfs.attributes(folder, "mode") ~= "directory" then
    fail("there is no folder %s to take donors from: name one that holds .cu or .cuh files "
      .. "(`donors` in problem.lua, or --donors)", folder)
  end
  local names = {}
  for name in entries(folder) do
    if name:find "%.cuh?$" and not name:find "^%." then names[#names + 1] = name end
  end
  if #names == 0 then
    fail("the folder %s holds no .cu or .cuh file to take parts from: put some there, or name "
      .. "another one (`donors` in problem.lua, or --donors)", folder)
  end
  table.sort(names)
  return names
end

local function read(self)
  if self.list then return end
  local names = self.folder and names_in(self.folder) or {}
  self.list, self.by_name, self.skipped = {}, {}, {}
  for i, name in ipairs(names) do
    if i > MOST_FILES then
      skip(self, name, ("%d are taken"):format(MOST_FILES))
    else
      add_file(self, self.folder .. "/" .. name, false)
    end
  end
  for _, path in ipairs(self.files) do add_file(self, path, true) end
  for _, file in ipairs(self.given or {}) do
    add(self, { name = file.name, path = file.path, text = file.text,
      from_program = file.from_program })
  end
end

--- All that parts can be taken from, in an order that is always the same; fails where there is no
--- such folder, or it holds no such file.
---@return gilua.donor[]
function Donors:all()
  read(self)
  return self.list
end

--- Files that are none, { name, why }: of the folder alone.
---@return table[]
function Donors:left_out()
  read(self)
  return self.skipped
end

local function place(self)
  if self.folder then return self.folder end
  return self.given and "what the run kept" or "the problem (--donors names a folder)"
end

--- The donor of a name whose text is still the one that a gene was made with.
---@param name string
---@param hash? string as the gene has it; nil: any
---@return gilua.donor?
---@return string? message
function Donors:find(name, hash)
  read(self)
  local donor = self.by_name[name]
  if not donor then
    return nil, ("there is no donor %s in %s%s: put it there, or evolve anew without this gene")
      :format(name, place(self), settings.meant(name, self.by_name))
  elseif hash and donor.hash ~= hash then
    return nil, ("the donor %s is not the file that the gene was made of (%s and not %s): put the "
      .. "old one back, or evolve anew without this gene"):format(donor.path, donor.hash, hash)
  end
  return donor
end

---@param o? { folder?: string, files?: string[], given?: table[] }
---@return gilua.donors
function M.of(o)
  o = o or {}
  return setmetatable({ folder = o.folder, files = o.files or {}, given = o.given }, Donors)
end

return M
