-- archive: everything that a run evaluated, in one file of SQLite (core.store). It answers a farm
-- that asks again (gi.farm's `remember`), so that a run is resumed by running its script again from
-- its seed: no population, no generator and no closure has to be saved. And it tells people what
-- became of any mutant: the views at the end of SCHEMA are for them (docs/archive.md).
--
-- Nothing is known without its world: what the answers depend on besides genome and case, as one
-- hash. Keys are 128 bits of what they stand for. A verdict that circumstances brought (a worker
-- lost for it) is not kept: the farm tells of those that a mutant earned.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local host = require "gilua.base.host"
local textfile = require "gilua.base.textfile"
local wire = require "gilua.base.wire"

local M = {}

local SCHEMA = { [[
CREATE TABLE world (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, description TEXT NOT NULL);
CREATE TABLE run (id INTEGER PRIMARY KEY, world INTEGER NOT NULL REFERENCES world, seed INTEGER,
  device TEXT, problem TEXT, command TEXT, began TEXT NOT NULL, ended TEXT);
CREATE TABLE cases (key BLOB PRIMARY KEY, name TEXT, info BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE code (hash BLOB PRIMARY KEY, bytes INTEGER NOT NULL, like BLOB, packed BLOB NOT NULL)
  WITHOUT ROWID;
CREATE TABLE unit (key BLOB PRIMARY KEY, status TEXT, message TEXT, log TEXT, ptx BLOB,
  ptx_hash TEXT, code BLOB, code_hash TEXT, tag TEXT) WITHOUT ROWID;
CREATE TABLE verdict (key BLOB PRIMARY KEY, status TEXT NOT NULL, message TEXT,
  reply BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE measurement (key BLOB PRIMARY KEY, run INTEGER, cases BLOB NOT NULL,
  status TEXT NOT NULL, message TEXT, ticks REAL, ns REAL, max_error REAL, mean_error REAL,
  wrong REAL, unset REAL, registers INTEGER, lost INTEGER, reply BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE genome (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE evaluation (run INTEGER NOT NULL REFERENCES run, id INTEGER NOT NULL,
  generation INTEGER NOT NULL, birth TEXT NOT NULL, first_parent INTEGER, second_parent INTEGER,
  genome INTEGER NOT NULL REFERENCES genome, case_name TEXT, status TEXT NOT NULL, message TEXT,
  ticks REAL, ns REAL, max_error REAL, mean_error REAL, wrong REAL, unset REAL, registers INTEGER,
  source TEXT, ptx TEXT, fitness REAL, acceptable INTEGER, PRIMARY KEY (run, id)) WITHOUT ROWID;
CREATE INDEX evaluation_generation ON evaluation (run, generation);
CREATE VIEW evaluations AS SELECT run, e.id, generation, birth, first_parent, second_parent,
  text AS genome, case_name AS "case", status, message, ticks, ns, max_error, mean_error, wrong,
  unset, registers, source, ptx, fitness, acceptable
  FROM evaluation e JOIN genome g ON g.id = e.genome;
CREATE VIEW generations AS SELECT run, generation, count(*) AS evaluations,
  sum(status = 'ok') AS ran, sum(acceptable) AS acceptable, min(fitness) AS best_fitness
  FROM evaluation WHERE birth <> 'unmodified' GROUP BY run, generation;
]] } -- SCHEMA[n] makes version n of version n - 1

M.VERSION = #SCHEMA

local FLUSH_S = 0.05 -- at most so long a finding waits to be written

---@class gilua.archive
---@field path string
---@field read_only boolean
local Archive = {}
Archive.__index = Archive
Archive.__close = function(self) self:close() end

local function must(path, value, why, code)
  if value ~= nil then return value end
  if code == "format" then fail("%s is no archive of gilua's, or a broken one: %s", path, why) end
  fail("the archive cannot be used: %s", why)
end

local function migrated(self)
  local version = must(self.path, self.db:row "PRAGMA user_version").user_version
  if version > M.VERSION then
    fail("%s is an archive of version %d, and this gilua reads up to %d: use a newer one",
      self.path, version, M.VERSION)
  end
  if self.read_only and version < M.VERSION then
    fail("%s is an archive of version %d; open it for writing once, which makes it %d", self.path,
      version, M.VERSION)
  end
  for n = version + 1, M.VERSION do
    must(self.path, self.db:execute(("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT"):format(
      SCHEMA[n], n)))
  end
end

--- Opens an archive, or makes one.
---@param path string
---@param options? { read_only?: boolean }
---@return gilua.archive
function M.open(path, options)
  local read_only = options and options.read_only or false
  local db, why, code = core.store.open(path, { read_only = read_only })
  local self = setmetatable({ path = path, db = must(path, db, why, code), read_only = read_only,
    pending = {}, flushed = host.seconds(), genomes = {} }, Archive)
  migrated(self)
  return self
end

--------------------------------------------------------------------------------------------------
-- Writing: what is found waits for a moment, and then goes in one transaction. A full disk is
-- waited for.

-- All that waits, in one transaction; nothing of it where it does not go.
local function write(self)
  local db = self.db
  local ok, why, code = db:execute "BEGIN IMMEDIATE"
  for _, change in ipairs(ok and self.pending or {}) do
    ok, why, code = db:run(change.sql, table.unpack(change, 1, change.n))
    if not ok then break end
  end
  if ok then ok, why, code = db:execute "COMMIT" end
  if ok then return true end
  db:execute "ROLLBACK"
  return nil, why, code
end

--- Writes what waits.
function Archive:flush()
  if #self.pending > 0 then textfile.until_there_is_room(write, self) end
  self.pending, self.flushed = {}, host.seconds()
end

--- Adds a change.
---@param sql string a statement with parameters ?1 …
function Archive:add(sql, ...)
  local change = table.pack(...)
  change.sql = sql
  self.pending[#self.pending + 1] = change
  if host.seconds() - self.flushed > FLUSH_S then self:flush() end
end

function Archive:close()
  self:flush()
  self.db:close()
end

--- The rows of a query.
---@param sql string
---@return table[]
function Archive:rows(sql, ...)
  return must(self.path, self.db:rows(sql, ...))
end

--- Its first row; nil where there is none.
---@param sql string
---@return table?
function Archive:row(sql, ...)
  return must(self.path, self.db:row(sql, ...)) or nil
end

--------------------------------------------------------------------------------------------------
-- Runs

--- The world of a run, which is written now where it is new.
---@param description string
---@return integer id
---@return string hash
function Archive:world(description)
  local hash = core.system.sha256(description)
  self:add("INSERT OR IGNORE INTO world (hash, description) VALUES (?1, ?2)", hash, description)
  self:flush()
  return self:row("SELECT id FROM world WHERE hash = ?1", hash).id, hash
end

--- A run begins, or the last one is begun again.
---@param o { world: integer, seed: integer, device: string, problem: string, command: string,
---  resumed?: boolean }
---@return integer id
function Archive:begin_run(o)
  local last = self:row "SELECT id, world FROM run ORDER BY id DESC LIMIT 1"
  if o.resumed and last then
    if last.world == o.world then return last.id end
    fail("this run cannot go on: the problem, gilua, the compiler or the device is another than it "
      .. "was (views of %s tell which); begin a new one", self.path)
  end
  local id = (last and last.id or 0) + 1
  self:add("INSERT INTO run (id, world, seed, device, problem, command, began) "
    .. "VALUES (?1, ?2, ?3, ?4, ?5, ?6, datetime('now'))", id, o.world, o.seed, o.device, o.problem,
    o.command)
  self:flush()
  return id
end

---@param run integer
function Archive:end_run(run)
  self:add("UPDATE run SET ended = datetime('now') WHERE id = ?1", run)
end

local EVALUATION = "INSERT OR REPLACE INTO evaluation SELECT ?1, ?2, ?3, ?4, ?5, ?6, g.id, ?8, ?9, "
  .. "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21 FROM genome g WHERE g.text = ?7"

--- One evaluation of a run.
---@param run integer
---@param individual Individual
---@param generation integer
---@param case_name string?
function Archive:evaluated(run, individual, generation, case_name)
  local m, parents, text = individual.measurement, individual.parents or {}, individual.genome
  if not self.genomes[text] then
    self.genomes[text] = true
    self:add("INSERT OR IGNORE INTO genome (text) VALUES (?1)", text)
  end
  self:add(EVALUATION, run, individual.id, generation, individual.birth, parents[1], parents[2],
    text, case_name, m.status, m.message, m.ticks, m.ns, m.max_error, m.mean_error, m.wrong,
    m.unset, m.registers, m.source_hash, m.ptx_hash, individual.fitness, individual.acceptable)
end

--------------------------------------------------------------------------------------------------
-- The memory of a farm (gi.farm's `remember`)

---@class gilua.memory
---@field fresh boolean? it tells nothing that it knew before this run
local Memory = {}
Memory.__index = Memory

--- What a farm finds out in a world is told to it, and asked of it. On a GPU a time is an answer
--- only within the run that took it.
---@param world string hash
---@param run? integer on a GPU
---@return gilua.memory
function Archive:memory(world, run)
  return setmetatable({ archive = self, world = world, run = run }, Memory)
end

function Memory:key(...)
  return core.system.hash128(table.concat({ self.world, ... }, "\n"))
end

function Memory:flush()
  self.archive:flush()
end

-- Keys are blobs, of half the size of their text; SQLite 3.40 has no function that makes them.
local function blob(hex)
  return (hex:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
end

local function hex(bytes)
  return bytes and (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local UNIT = "SELECT status, message, log, ptx, ptx_hash, code, code_hash, tag FROM unit "
  .. "WHERE key = CAST(?1 AS BLOB)"

--- What a compiler made of a text.
---@param hash string of the text
---@return gilua.unit?
function Memory:unit(hash)
  if self.fresh then return nil end
  local unit = self.archive:row(UNIT, blob(self:key("unit", hash)))
  if unit then unit.ptx, unit.code = hex(unit.ptx), hex(unit.code) end
  return unit
end

-- Like the first code that was kept, the unmodified kernel's, others need little room.
function Memory:keep_code(hash, text)
  local like = self.like
  if not like then
    self.like = { hash = hash, text = text }
  elseif self.kept and self.kept[hash] then
    return
  end
  self.kept = self.kept or {}
  self.kept[hash] = true
  self.archive:add("INSERT OR IGNORE INTO code VALUES (CAST(?1 AS BLOB), ?2, CAST(?3 AS BLOB), "
    .. "CAST(?4 AS BLOB))", blob(hash), #text, like and blob(like.hash),
    core.store.pack(text, like and like.text or ""))
end

---@param text gilua.plan.text
---@param compiled gilua.compiled what was made of it, and its code
function Memory:keep_unit(text, compiled)
  local unit = compiled:of(text.hash)
  self.archive:add("INSERT OR REPLACE INTO unit VALUES (CAST(?1 AS BLOB), ?2, ?3, ?4, "
    .. "CAST(?5 AS BLOB), ?6, CAST(?7 AS BLOB), ?8, ?9)", blob(self:key("unit", text.hash)),
    unit.status, unit.message, unit.log, unit.ptx and blob(unit.ptx), unit.ptx_hash,
    unit.code and blob(unit.code), unit.code_hash, unit.tag)
  if unit.ptx then self:keep_code(unit.ptx, compiled:code(unit.ptx)) end
end

--- PTX by its hash.
---@param hash string
---@return string?
function Memory:code(hash)
  local row = self.archive:row("SELECT bytes, like, packed FROM code WHERE hash = CAST(?1 AS BLOB)",
    blob(hash))
  if not row then return nil end
  local like = row.like and self:code(hex(row.like)) or ""
  return must(self.archive.path, core.store.unpack(row.packed, row.bytes, like))
end

local function found(self, sql, key)
  if self.fresh then return nil end
  local row = self.archive:row(sql, blob(key))
  return row and wire.decode(row.reply), row
end

---@param key string
---@return table? verdict of the checked run
function Memory:verdict(key)
  return (found(self, "SELECT reply FROM verdict WHERE key = CAST(?1 AS BLOB)",
    self:key("verdict", key)))
end

---@param key string
---@param verdict table
function Memory:keep_verdict(key, verdict)
  self.archive:add("INSERT OR REPLACE INTO verdict VALUES (CAST(?1 AS BLOB), ?2, ?3, "
    .. "CAST(?4 AS BLOB))", blob(self:key("verdict", key)), verdict.status, verdict.message,
    wire.encode(verdict))
end

function Memory:key_of_run(case, key)
  return self:key("measurement", tostring(self.run or ""), case, key)
end

---@param case string what tells it from others
---@param key string of code and launch
---@return table? measurement
---@return boolean? lost it broke the GPU's context
function Memory:measurement(case, key)
  local m, row = found(self, "SELECT reply, lost FROM measurement WHERE key = CAST(?1 AS BLOB)",
    self:key_of_run(case, key))
  return m, m and row.lost == 1
end

---@param case string
---@param key string
---@param m table measurement
---@param lost? boolean
function Memory:keep_measurement(case, key, m, lost)
  self.archive:add("INSERT OR REPLACE INTO measurement VALUES (CAST(?1 AS BLOB), ?2, "
    .. "CAST(?3 AS BLOB), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, CAST(?14 AS BLOB))",
    blob(self:key_of_run(case, key)), self.run, blob(self:key("case", case)), m.status, m.message,
    m.ticks, m.ns, m.max_error, m.mean_error, m.wrong, m.unset, m.registers, lost or nil,
    wire.encode(m))
end

--- What is known of a case without making it.
---@param case string
---@return table? info
function Memory:case(case)
  if self.fresh then return nil end
  local row = self.archive:row("SELECT info FROM cases WHERE key = CAST(?1 AS BLOB)",
    blob(self:key("case", case)))
  return row and wire.decode(row.info)
end

---@param case string
---@param info table
function Memory:keep_case(case, info)
  self.archive:add("INSERT OR REPLACE INTO cases VALUES (CAST(?1 AS BLOB), ?2, CAST(?3 AS BLOB))",
    blob(self:key("case", case)), info.name, wire.encode(info))
end

return M
