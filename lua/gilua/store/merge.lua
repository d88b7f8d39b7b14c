-- merge: puts archives together in one. A run keeps its name (`uid`): a run that is in the archive
-- already is not added again, and one that has gone on since is brought up to date. Each source is
-- one transaction: if the program ends early, every source is in whole or not at all, and the same
-- command completes the work.
--
-- If two archives answer the same question differently, the first answer stays; merge reports it.

local archives = require "gilua.store.archive"
local fail = require "gilua.base.fail"
local lfs = require "lfs"
local results = require "gilua.base.results"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"

local M = {}

---@class Merged what came of one source
---@field path string of its archive
---@field runs integer that it has
---@field new_runs integer of them that were not there
---@field evaluations integer that were added
---@field conflicts { table: string, n: integer, example: string }[] differing answers, by table

--------------------------------------------------------------------------------------------------
-- What is said in SQL. The source is attached as `src`; numbers of rows differ, names do not.

local MAPS = { [[
CREATE TEMP TABLE world_of (old INTEGER PRIMARY KEY, new INTEGER)]], [[
CREATE TEMP TABLE genome_of (old INTEGER PRIMARY KEY, new INTEGER)]], [[
CREATE TEMP TABLE run_of (old INTEGER PRIMARY KEY, new INTEGER, is_new INTEGER)]] }

local NUMBERS = { [[
INSERT OR IGNORE INTO main.world (hash, description) SELECT hash, description FROM src.world]], [[
INSERT INTO world_of SELECT s.id, m.id FROM src.world s JOIN main.world m ON m.hash = s.hash]], [[
INSERT OR IGNORE INTO main.genome (text) SELECT text FROM src.genome]], [[
INSERT INTO genome_of SELECT s.id, m.id FROM src.genome s JOIN main.genome m USING (text)]], [[
INSERT INTO run_of SELECT s.id, m.id, 0 FROM src.run s JOIN main.run m ON m.uid = s.uid]], [[
INSERT INTO run_of SELECT s.id, row_number() OVER (ORDER BY s.id)
  + (SELECT coalesce(max(id), 0) FROM main.run), 1
  FROM src.run s WHERE s.id NOT IN (SELECT old FROM run_of)]] }

-- Same key, another answer. `said`: what it is about.
local CONFLICTS = {
  { "verdict", "s.ptx || ' ' || s.launch || ': ' || m.status || ' or ' || s.status",
    "src.verdict s JOIN main.verdict m ON m.key = s.key WHERE m.status <> s.status" },
  { "unit", "s.source || ': ' || coalesce(m.ptx_hash, m.status) || ' or ' "
      .. "|| coalesce(s.ptx_hash, s.status)",
    "src.unit s JOIN main.unit m ON m.key = s.key WHERE m.ptx_hash IS NOT s.ptx_hash "
      .. "OR m.status IS NOT s.status" },
  { "measurement", "s.code || ': ' || m.status || ' ' || m.ticks || ' or ' || s.status || ' ' "
      .. "|| s.ticks",
    "src.measurement s JOIN main.measurement m ON m.key = s.key WHERE m.status <> s.status "
      .. "OR m.ticks IS NOT s.ticks" },
  { "evaluation", "'run ' || m.run || ', evaluation ' || m.id || ': ' || m.status || ' ' "
      .. "|| m.ticks || ' or ' || s.status || ' ' || s.ticks",
    "src.evaluation s JOIN run_of r ON r.old = s.run JOIN genome_of g ON g.old = s.genome "
      .. "JOIN main.evaluation m ON m.run = r.new AND m.id = s.id WHERE m.status <> s.status "
      .. "OR m.ticks IS NOT s.ticks OR m.genome <> g.new" },
}

local ROWS = { [[
INSERT INTO main.run (id, world, seed, device, problem, command, began, ended, uid, part_of, title,
    scheme)
  SELECT r.new, w.new, s.seed, s.device, s.problem, s.command, s.began, s.ended, s.uid, p.new,
    s.title, s.scheme
  FROM src.run s JOIN run_of r ON r.old = s.id AND r.is_new JOIN world_of w ON w.old = s.world
  LEFT JOIN run_of p ON p.old = s.part_of ORDER BY r.new]], [[
UPDATE main.run SET ended = s.ended, title = s.title, scheme = s.scheme FROM src.run s
  WHERE s.uid = main.run.uid AND main.run.ended IS NULL]], [[
INSERT OR IGNORE INTO main.code SELECT * FROM src.code]], [[
INSERT OR IGNORE INTO main.cases SELECT key, w.new, name, info
  FROM src.cases s LEFT JOIN world_of w ON w.old = s.world]], [[
INSERT OR IGNORE INTO main.unit SELECT key, w.new, source, status, message, log, ptx, ptx_hash,
  code, code_hash, tag, seconds FROM src.unit s LEFT JOIN world_of w ON w.old = s.world]], [[
INSERT OR IGNORE INTO main.verdict SELECT key, w.new, ptx, launch, status, message, reply
  FROM src.verdict s LEFT JOIN world_of w ON w.old = s.world]], [[
INSERT OR IGNORE INTO main.measurement SELECT key, w.new, r.new, cases, code, launch, status,
  message, ticks, ns, max_error, mean_error, wrong, unset, registers, lost, reply
  FROM src.measurement s LEFT JOIN world_of w ON w.old = s.world
  LEFT JOIN run_of r ON r.old = s.run]] }

local EVALUATIONS = [[
INSERT OR IGNORE INTO main.evaluation SELECT r.new, s.id, generation, birth, first_parent,
  second_parent, g.new, case_name, status, message, ticks, ns, max_error, mean_error, wrong, unset,
  registers, source, ptx, fitness, acceptable, measurement
  FROM src.evaluation s JOIN run_of r ON r.old = s.run JOIN genome_of g ON g.old = s.genome]]

local COUNT = "SELECT (SELECT count(*) FROM run_of) AS runs, "
  .. "(SELECT count(*) FROM run_of WHERE is_new) AS new_runs"

--------------------------------------------------------------------------------------------------
-- Doing it. What fails on the way (a full disk) is undone as a whole.

local Stop = {} -- what `must` raises and `transaction` catches

local function must(value, why, code)
  if value == nil then error(setmetatable({ why, code }, Stop), 0) end
  return value
end

local function each(db, statements)
  for _, sql in ipairs(statements) do must(db:run(sql)) end
end

local function conflicts(db)
  local list = {}
  for _, c in ipairs(CONFLICTS) do
    local n = must(db:row(("SELECT count(*) AS n FROM %s"):format(c[3]))).n
    if n > 0 then
      local first = must(db:row(("SELECT %s AS said FROM %s LIMIT 1"):format(c[2], c[3])))
      list[#list + 1] = { table = c[1], n = n, example = first.said }
    end
  end
  return list
end

local function add(db)
  must(db:execute "BEGIN IMMEDIATE")
  each(db, MAPS)
  each(db, NUMBERS)
  local merged = must(db:row(COUNT))
  merged.conflicts = conflicts(db)
  each(db, ROWS)
  merged.evaluations = must(db:run(EVALUATIONS))
  must(db:execute "DROP TABLE world_of; DROP TABLE genome_of; DROP TABLE run_of; COMMIT")
  return merged
end

local function transaction(db, merged)
  local ok, found = pcall(add, db)
  if not ok then
    db:execute "ROLLBACK"
    if getmetatable(found) ~= Stop then error(found, 0) end
    return nil, found[1], found[2]
  end
  for name, value in pairs(found) do merged[name] = value end
  return true
end

--------------------------------------------------------------------------------------------------
-- Sources

-- The archive of a run's folder, or a file.
local function archive_at(path)
  local mode = lfs.attributes(path, "mode")
  if mode == "directory" then path = ("%s/%s"):format(path, results.ARCHIVE) end
  if lfs.attributes(path, "mode") == "file" then return path end
  fail(mode == "directory" and "%s is not there: its folder is no run's" or "%s is not there", path)
end

local function is_same(a, b)
  local x, y = lfs.attributes(a), lfs.attributes(b)
  return x and y and x.dev == y.dev and x.ino == y.ino
end

-- A copy of an archive in the last version: of one that is older, or lies where a second reader
-- cannot be.
local function copy_of(path, place)
  local from <close> = archives.open(path, { read_only = true })
  local copy = place .. "/" .. results.ARCHIVE
  from:copy(copy)
  archives.open(copy):close()
  return copy
end

-- Attaches a source; false where it cannot be as it lies.
local function attached(db, path)
  if not db:run("ATTACH ?1 AS src", path) then return false end
  local version = db:row "PRAGMA src.user_version"
  if version and version.user_version == archives.VERSION
    and db:row "SELECT count(*) AS n FROM src.run" then return true end
  db:run "DETACH src"
  return false
end

local function merge_one(archive, path)
  local db, place <close> = archive.db, tempfolder.new()
  if not attached(db, path) then
    local copy = copy_of(path, place.path)
    if not attached(db, copy) then fail("%s cannot be read", path) end
  end
  local merged = { path = path }
  local ok, why = pcall(textfile.until_there_is_room, transaction, db, merged)
  db:run "DETACH src"
  if not ok then error(why, 0) end
  return merged
end

--- The archives of sources, which are refused here where they are none.
---@param sources string[] folders of runs, or archives
---@return string[] paths
function M.sources(sources)
  local paths = {}
  for i, source in ipairs(sources) do
    paths[i] = archive_at(source)
    archives.open(paths[i], { read_only = true }):close()
  end
  return paths
end

--- Adds archives to another, which is made where it is not there.
---@param out string path of the archive
---@param sources string[] folders of runs, or archives
---@return Merged[]
function M.into(out, sources)
  local paths, list = M.sources(sources), {}
  local archive <close> = archives.open(out)
  for _, path in ipairs(paths) do
    if not is_same(path, out) then list[#list + 1] = merge_one(archive, path) end
  end
  return list
end

return M
