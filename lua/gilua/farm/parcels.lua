--- parcels: files of a problem that an agent can fetch: recordings, and the libraries of C
--- references, which are then built once. A manager offers each under a key of its content
--- (fingerprint.whole). An agent that does not have it fetches it in pieces (filecache.lua).

local creference = require "gilua.problem.creference"
local fingerprint = require "gilua.base.fingerprint"
local fail = require "gilua.base.fail"
local lfs = require "lfs"

local M = {
  PIECE_BYTES = 256 << 10,
  AT_ONCE = 8, -- pieces that are sent for one question
}

---@class gilua.parcel
---@field kind string "recording" or "library"
---@field named string as the manager's problem names it
---@field name string below the problem's folder, or its path from "/" on
---@field hash string fingerprint.whole of it
---@field bytes integer

local function library_of(problem)
  local definition = problem.definition
  local of_table = definition.kernel_table
  local reference = (of_table and of_table.table or definition).reference
  return type(reference) == "string" and creference.library(problem.dir, reference) or nil
end

local function parcel(problem, kind, path)
  local hash, why = fingerprint.whole(path)
  if not hash then fail("%s cannot be sent to agents: %s", path, why) end
  local inside = path:sub(1, #problem.dir + 1) == problem.dir .. "/"
  return { kind = kind, named = path, name = inside and path:sub(#problem.dir + 2) or path,
           hash = hash, bytes = lfs.attributes(path, "size") }
end

--- What of a problem is offered to agents.
---@param problem gilua.problem
---@return gilua.parcel[]
function M.of(problem)
  local list, seen = {}, {}
  local function add(kind, path)
    if seen[path] then return end
    seen[path] = true
    list[#list + 1] = parcel(problem, kind, path)
  end
  local recorded = problem.definition.recorded
  for _, paths in pairs(recorded and recorded.paths or {}) do
    for _, path in ipairs(paths) do add("recording", path) end
  end
  local library = library_of(problem)
  if library and lfs.attributes(library) then add("library", library) end
  table.sort(list, function(a, b) return a.named < b.named end)
  return list
end

--- Their names.
---@param list gilua.parcel[]
---@return table<string, boolean>
function M.names(list)
  local set = {}
  for _, one in ipairs(list) do set[one.name] = true end
  return set
end

--- Some pieces of a parcel, as messages.
---@param one gilua.parcel
---@param from integer where in it they begin
---@return table[] each { op, hash, from, text, last }, or { op, hash, why }
function M.pieces(one, from)
  local file <close>, why = io.open(one.named, "rb")
  if not file then return { { op = "piece", hash = one.hash, why = why } } end
  file:seek("set", from)
  local list = {}
  for i = 1, M.AT_ONCE do
    local text = file:read(M.PIECE_BYTES)
    if not text then break end
    list[i] = { op = "piece", hash = one.hash, from = from, text = text }
    from = from + #text
  end
  if #list == 0 then
    list[1] = { op = "piece", hash = one.hash, why = one.named .. " is shorter than it was" }
  end
  list[#list].last = true -- of those that were asked for
  return list
end

return M
