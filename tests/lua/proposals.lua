-- Every proposal of every transformation over the repository's own kernels, frozen: genes, their
-- texts, launches and promises, as one hash for each kind and file in tests/data/proposals.txt. A
-- move of code changes none of them. Where a difference is meant, it is read, then kept:
--
--   PROPOSALS=/tmp/before ./gilua tests/lua/proposals.lua      before the change: a file a proposal
--   PROPOSALS=/tmp/after ./gilua tests/lua/proposals.lua       after it
--   diff -r /tmp/before /tmp/after                             the difference in words
--   cp /tmp/after/proposals.txt tests/data/proposals.txt
--
-- Every whole number that comes as a parameter is taken to be 16, so that `specialise` has places.

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local kernel = require "gilua.transform.kernel"
local lfs = require "lfs"
local lines = require "gilua.source.lines"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local FROZEN = "tests/data/proposals.txt"
local WHOLE = { int = true, ["unsigned int"] = true, size_t = true }
local MOST_LINES = 400 -- of a file: the longest has few kinds and takes seconds

local function read(path)
  local f <close> = assert(io.open(path))
  return f:read "a"
end

local function write(path, text)
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
end

-- The corpus, in order: folders of files, and of folders with a kernel.cu.
local function corpus()
  local list = {}
  for _, folder in ipairs { "kernels", "tests/gpu", "tests/own" } do
    for name in lfs.dir(folder) do
      local path = folder .. "/" .. name
      local inner = path .. "/kernel.cu"
      if name:find "%.cu$" then list[#list + 1] = path end
      if lfs.attributes(inner, "mode") == "file" then list[#list + 1] = inner end
    end
  end
  table.sort(list)
  return list
end

local function values(fn)
  local known = {}
  for _, p in ipairs(fn.params) do
    if WHOLE[p.type] and p.pointer == 0 then known[p.name] = 16 end
  end
  return known
end

-- A proposal in words: what it says, and the whole text; nil and why where it cannot be made.
local function made(kind, known, source, place)
  local change, why = kind.make(known, place.line, place.args or {})
  local edited = change and change.edits and lines.edited(source, change.edits)
  if not edited then return "// refused: " .. (why or "its edits overlap") .. "\n" end
  return ("// %s\n// launch: %s\n// promise: %s\n%s"):format(change.says or "",
    change.launch or "", change.promise or "", (lines.text(edited)))
end

-- All proposals of a file: { kind, gene, text }, ….
local function proposals(path)
  local text, list = read(path), {}
  local source = lines.of(text)
  if source.n > MOST_LINES then return list end
  local known = kernel.of_text(text, { values = values })
  for _, kind in ipairs(transform.list()) do
    for _, place in ipairs(kind.find(known)) do
      local gene = ("%s<%d>(%s)"):format(kind.name, place.line, table.concat(place.args or {}, ","))
      list[#list + 1] = { kind = kind.name, gene = gene, text = made(kind, known, source, place) }
    end
  end
  return list
end

local function keep(folder, path, list)
  local own = folder .. "/" .. path:gsub("/", ".")
  if #list > 0 then lfs.mkdir(own) end
  for _, one in ipairs(list) do write(own .. "/" .. one.gene:gsub("/", "_") .. ".cu", one.text) end
end

-- The frozen lines of a file: kind, how many, and a hash of all of them.
local function summary(path, list)
  local found, order = {}, {}
  for _, one in ipairs(list) do
    if not found[one.kind] then found[one.kind], order[#order + 1] = {}, one.kind end
    table.insert(found[one.kind], one.gene .. "\n" .. one.text)
  end
  for i, kind in ipairs(order) do
    local all = found[kind]
    order[i] = ("%s %s %d %s"):format(path, kind, #all, core.system.hash(table.concat(all, "\n")))
  end
  return order
end

local function all_lines(folder)
  local now = {}
  for _, path in ipairs(corpus()) do
    local list = proposals(path)
    if folder then keep(folder, path, list) end
    for _, line in ipairs(summary(path, list)) do now[#now + 1] = line end
  end
  return now
end

local folder = os.getenv "PROPOSALS"
if folder then
  lfs.mkdir(folder)
  write(folder .. "/proposals.txt", table.concat(all_lines(folder), "\n") .. "\n")
  return print(("the proposals are in %s, a file each"):format(folder))
end

tap.case("every proposal over the corpus is the one that is frozen", function()
  local frozen, n = {}, 0
  for line in io.lines(FROZEN) do frozen[line:match "^%S+ %S+"] = line end
  for _, line in ipairs(all_lines()) do
    local key = line:match "^%S+ %S+"
    n = n + math.tointeger(tonumber(line:match "^%S+ %S+ (%d+)"))
    if frozen[key] ~= line then
      tap.is(line, frozen[key], key .. " (the head of this file says how to read the difference)")
    end
    frozen[key] = nil
  end
  for key in pairs(frozen) do tap.ok(false, key .. " has no proposal any longer") end
  tap.ok(n > 1000, n .. " proposals")
end)

tap.done()
