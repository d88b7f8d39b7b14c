-- archive: every evaluation of a run, in one SQLite file (core.store). A farm consults it
-- (gi.farm's `remember`), so a run is resumed by running its script again from its seed: no
-- population, generator or closure has to be saved. People can look up any mutant in it
-- (docs/archive.md; tables: schema.lua).
--
-- Every row belongs to a world: a hash of all that results depend on besides genome and case. Keys
-- are 128-bit hashes. A verdict that came from circumstances (a worker lost for it) is not kept;
-- the farm reports only verdicts that the mutant itself caused.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local lfs = require "lfs"
local results = require "gilua.base.results"
local schema = require "gilua.store.schema"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"
local wire = require "gilua.base.wire"

local M = {}

M.VERSION = #schema.VERSIONS

local FLUSH_S = 0.05 -- a finding waits so long to be written with others, at most till `flush_late`

---@class gilua.archive
---@field path string
---@field read_only boolean
---@field closed boolean?
---@field writing boolean? a transaction is under way
local Archive = {}
Archive.__index = Archive
Archive.__close = function(self) self:close() end

local function must(path, value, why, code)
  if value ~= nil then return value end
  if code == "format" then fail("%s is no archive of gilua's, or a broken one: %s", path, why) end
  if code == "busy" then
    fail("the archive is another process's alone: %s (on a file system of a network only one may "
      .. "have it; look again when it has ended, or copy the folder)", why)
  end
  fail("the archive cannot be used: %s", why)
end

-- Refuses the version of a newer gilua.
local function known(path, version)
  if version <= M.VERSION then return version end
  fail("%s is an archive of version %d, and this gilua reads up to %d: use a newer one", path,
    version, M.VERSION)
end

-- The version of an archive that can be read; refuses what is none.
local function version_of(path, db)
  return known(path, must(path, schema.version(db)))
end

-- What is another program's is not touched: a writer sets how a database is kept.
local function look_first(path)
  if (lfs.attributes(path, "size") or 0) == 0 then return end
  local db <close> = must(path, core.store.open(path, { read_only = true }))
  version_of(path, db)
end

local function copy_into(path, db, to)
  must(path, db:execute "PRAGMA query_only = 0") -- the file itself stays as it is
  must(path, db:run("VACUUM INTO ?1", to))
end

-- A reader changes nothing: of an archive whose tables are others it reads a copy, brought to the
-- last version.
local function newer_copy(path, db)
  local folder = tempfolder.new()
  local copy = folder.path .. "/" .. results.ARCHIVE
  copy_into(path, db, copy)
  db:close()
  db = must(copy, core.store.open(copy))
  must(copy, schema.migrate(db, version_of(copy, db)))
  return db, folder
end

-- One to write to, of the last version. A disk that is full is waited for.
local function open_writer(path)
  look_first(path)
  local db
  local function opened()
    local version, done, why, code
    db, why, code = core.store.open(path)
    if db then version, why, code = schema.version(db) end
    if version then done, why, code = schema.migrate(db, known(path, version)) end
    if done or code == "full" then return done, why, code end
    must(path, nil, why, code)
  end
  textfile.until_there_is_room(opened)
  return db
end

--- Opens an archive, or makes one.
---@param path string
---@param options? { read_only?: boolean }
---@return gilua.archive
function M.open(path, options)
  local read_only = options and options.read_only or false
  local db, folder
  if read_only then
    db = must(path, core.store.open(path, { read_only = true }))
    if version_of(path, db) < schema.READ_AS_IT_IS then db, folder = newer_copy(path, db) end
  else
    db = open_writer(path)
  end
  return setmetatable({ path = path, db = db, read_only = read_only, folder = folder,
    pending = {}, flushed = host.seconds(), genomes = {} }, Archive)
end

--------------------------------------------------------------------------------------------------
-- Writing: what is found waits for a moment, and then goes in one transaction. A full disk is
-- waited for.

-- All that waits, in one transaction; nothing of it where it does not go. Ctrl-C may have left the
-- last one half done.
local function write(self)
  local db = self.db
  if self.writing then db:execute "ROLLBACK" end
  self.writing = true
  local ok, why, code = db:execute "BEGIN IMMEDIATE"
  if ok then ok, why, code = db:run_all(self.pending) end
  if ok then ok, why, code = db:execute "COMMIT" end
  if not ok then db:execute "ROLLBACK" end
  self.writing = false
  return ok and true or nil, why, code
end

--- Writes what waits.
function Archive:flush()
  if #self.pending > 0 then textfile.until_there_is_room(write, self) end
  self.pending, self.flushed = {}, host.seconds()
end

--- Adds a change.
---@param sql string a statement with parameters ?1 …
function Archive:add(sql, ...)
  core.store.later(self.pending, sql, ...)
  self:flush_late()
end

--- Writes what waits where it has waited long. Who waits for something long himself calls it in
--- between, so that what is known already does not depend on what comes next.
function Archive:flush_late()
  if host.seconds() - self.flushed > FLUSH_S then self:flush() end
end

function Archive:close()
  if self.closed then return end
  self:flush()
  self.db:close()
  if self.folder then getmetatable(self.folder).__close(self.folder) end
  self.closed = true
end

--- A copy of it as it is now, in a file that is not there yet.
---@param to string
function Archive:copy(to)
  copy_into(self.path, self.db, to)
end

-- A value for a column of bytes, behind a sum of them: SQLite keeps none, and damage often leaves
-- another value. (No value's bytes begin with a #: those that do not are of a version before 4.)
local function encoded(value)
  local bytes = wire.encode(value)
  return "#" .. core.system.hash(bytes) .. bytes
end

local SUMMED = "^#(" .. ("%x"):rep(16) .. ")(.*)$"

--- The value of a column of bytes; refuses one that is damaged.
---@param column string
---@return any
function Archive:decoded(column)
  local sum, bytes = tostring(column):match(SUMMED)
  if not sum or sum == core.system.hash(bytes) then
    local ok, value = attempt(wire.decode, bytes or column)
    if ok and type(value) == "table" then return value end
  end
  fail("%s is broken: bytes in it are no value of gilua's", self.path)
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

function Archive:next_id()
  return self:row("SELECT coalesce(max(id), 0) + 1 AS id FROM run").id
end

--- The last run of the folder; nil where none began. (Its command's other evolutions are parts of
--- it.)
---@return table? row of `run`
function Archive:last_run()
  return self:row "SELECT * FROM run WHERE part_of IS NULL ORDER BY id DESC LIMIT 1"
end

--- Returns the run that people ask about: the last one with a recorded generation, since a later
--- one that ended before replaces nothing; the last of all if none got so far.
---@return table? row of `run`
function Archive:told_run()
  return self:row("SELECT * FROM run WHERE part_of IS NULL AND EXISTS (SELECT 1 FROM evaluation "
    .. "WHERE run = run.id AND birth <> 'unmodified') ORDER BY id DESC LIMIT 1") or self:last_run()
end

--- Was a run `gilua tune`'s, which has settings and no generations?
---@param run table row of `run`
---@return boolean
function M.is_tuning(run)
  local command = run.command and json.decode(run.command)
  local words = type(command) == "table" and command.words
  return type(words) == "table" and words[1] == "tune" and not run.scheme
end

--- A run begins, or the last one is begun again, in the world it was in.
---@param o { world: integer, seed: integer, device: string, problem: string, command: string,
---  resumed?: boolean }
---@return integer id
function Archive:begin_run(o)
  local last = self:last_run()
  if o.resumed and last then return last.id end
  local id = self:next_id()
  self:add("INSERT INTO run (id, world, seed, device, problem, command, began, uid) "
    .. "VALUES (?1, ?2, ?3, ?4, ?5, ?6, datetime('now'), lower(hex(randomblob(16))))", id, o.world,
    o.seed, o.device, o.problem, o.command)
  self:flush()
  return id
end

--- Another evolution of a run's command begins, or is begun again.
---@param run integer
---@param n integer which, from 1
---@param seed integer
---@return integer id
function Archive:begin_part(run, n, seed)
  local part = self:row("SELECT id FROM run WHERE part_of = ?1 ORDER BY id LIMIT 1 OFFSET ?2", run,
    n - 1)
  if part then return part.id end
  local id = self:next_id()
  self:add("INSERT INTO run (id, world, seed, device, problem, command, began, uid, part_of) "
    .. "SELECT ?1, world, ?2, device, problem, command, datetime('now'), "
    .. "lower(hex(randomblob(16))), id FROM run WHERE id = ?3", id, seed, run)
  self:flush()
  return id
end

--- What a run is, for people and for a simulation of it.
---@param run integer
---@param title string
---@param scheme string JSON
function Archive:describe(run, title, scheme)
  self:add("UPDATE run SET title = ?2, scheme = ?3 WHERE id = ?1", run, title, scheme)
end

---@param run integer
function Archive:end_run(run)
  self:add("UPDATE run SET ended = datetime('now') WHERE id = ?1", run)
end

local EVALUATION = "INSERT OR REPLACE INTO evaluation SELECT ?1, ?2, ?3, ?4, ?5, ?6, g.id, ?8, ?9, "
  .. "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22 FROM genome g "
  .. "WHERE g.text = ?7"

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
    m.unset, m.registers, m.source_hash, m.ptx_hash, individual.fitness, individual.acceptable,
    m.key)
end

--------------------------------------------------------------------------------------------------
-- The memory of a farm (gi.farm's `remember`)

---@class gilua.memory
---@field fresh boolean? it tells nothing that it knew before this run
local Memory = {}
Memory.__index = Memory

--- Returns the memory that a farm writes its results in a world to, and asks. On a GPU a time is an
--- answer only within the run that took it.
---@param world string hash
---@param run? integer on a GPU
---@return gilua.memory
function Archive:memory(world, run)
  local row = self:row("SELECT id FROM world WHERE hash = ?1", world)
  local of = run and self:row("SELECT uid FROM run WHERE id = ?1", run)
  return setmetatable({ archive = self, world = world, world_id = row and row.id, run = run,
    run_uid = of and of.uid or run,
    run_keys = {}, -- of the case at hand: what its measurements are kept under
  }, Memory)
end

function Memory:key(...)
  return core.system.hash128_lines(self.world, ...)
end

function Memory:flush()
  self.archive:flush()
end

function Memory:flush_late()
  self.archive:flush_late()
end

local UNIT = "SELECT status, message, log, ptx, ptx_hash, code, code_hash, tag, seconds "
  .. "FROM unit WHERE key = ?1"

--- What a compiler made of a text.
---@param hash string of the text
---@return gilua.unit?
function Memory:unit(hash)
  return not self.fresh and self.archive:row(UNIT, self:key("unit", hash)) or nil
end

-- Like the first code that was kept, the unmodified kernel's, others need little room.
---@return string? hash
function Memory:like_hash()
  return self.like and self.like.hash
end

-- How a code is kept: like which one, and its bytes. `packed` is what its compiler made of it, of
-- use where that is like what we have; else it is packed anew.
local function as_kept(self, hash, code, packed)
  local like = self.like
  local is_text = type(code) == "string"
  if packed and like and packed.like == like.hash then return packed.like, packed.bytes end
  local text = is_text and code
    or must(self.archive.path, core.store.unpack(packed.bytes, code.bytes, ""))
  if not like then self.like = { hash = hash, text = text } end
  return like and like.hash, core.store.pack(text, like and like.text or "")
end

---@param hash string
---@param code string|table the ticket of one that an agent keeps (gilua.farm.codestore)
---@param packed? { like: string?, bytes: string } by its compiler; of a ticket always
function Memory:keep_code(hash, code, packed)
  self.kept = self.kept or {}
  if self.kept[hash] then return end
  self.kept[hash] = true
  local like, bytes = as_kept(self, hash, code, packed)
  self.archive:add("INSERT OR IGNORE INTO code VALUES (?1, ?2, ?3, CAST(?4 AS BLOB))", hash,
    type(code) == "string" and #code or code.bytes, like, bytes)
end

-- Memory that was not there is the machine's, or a limit's: with more of it the answer is another.
local function is_circumstance(status) return status == "out_of_memory" end

---@param text gilua.plan.text
---@param compiled gilua.compiled what was made of it, and its code
---@param packed? table of keep_code
function Memory:keep_unit(text, compiled, packed)
  local unit = compiled:of(text.hash)
  if is_circumstance(unit.status) then return end
  self.archive:add("INSERT OR REPLACE INTO unit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
    .. "?10, ?11, ?12)", self:key("unit", text.hash), self.world_id, text.hash, unit.status,
    unit.message, unit.log, unit.ptx, unit.ptx_hash, unit.code, unit.code_hash, unit.tag,
    unit.seconds)
  if unit.ptx then self:keep_code(unit.ptx, compiled:code(unit.ptx), packed) end
end

--- PTX by its hash.
---@param hash string
---@return string?
function Memory:code(hash)
  local row = self.archive:row("SELECT bytes, like, packed FROM code WHERE hash = ?1", hash)
  if not row then return nil end
  local like = row.like and self:code(row.like) or ""
  return must(self.archive.path, core.store.unpack(row.packed, row.bytes, like))
end

local function found(self, sql, key)
  if self.fresh then return nil end
  local row = self.archive:row(sql, key)
  return row and self.archive:decoded(row.reply), row
end

-- A farm's key: the hash of a code, and what it is launched with.
local function parts(key)
  return key:match "^(%S+) ?(.*)$"
end

---@param key string of PTX and launch
---@return table? verdict of the checked run
function Memory:verdict(key)
  return (found(self, "SELECT reply FROM verdict WHERE key = ?1", self:key("verdict", key)))
end

---@param key string
---@param verdict table
function Memory:keep_verdict(key, verdict)
  if is_circumstance(verdict.status) then return end
  local ptx, launch = parts(key)
  self.archive:add("INSERT OR REPLACE INTO verdict VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
    .. "CAST(?7 AS BLOB))", self:key("verdict", key), self.world_id, ptx, launch, verdict.status,
    verdict.message, encoded(verdict))
end

--- What a measurement is kept under.
---@param case string what tells it from others
---@param key string of code and launch
---@return string
function Memory:key_of_run(case, key)
  local keys = self.run_keys
  if keys.case ~= case then
    keys = { case = case, of_case = self:key("case", case), of_code = {} }
    self.run_keys = keys
  end
  local own = keys.of_code[key]
  if not own then
    own = self:key("measurement", tostring(self.run_uid or ""), case, key)
    keys.of_code[key] = own
  end
  return own
end

---@param case string what tells it from others
---@param key string of code and launch
---@return table? measurement
---@return boolean? lost it broke the GPU's context
function Memory:measurement(case, key)
  local m, row = found(self, "SELECT reply, lost FROM measurement WHERE key = ?1",
    self:key_of_run(case, key))
  return m, m and row.lost == 1
end

---@param case string
---@param key string
---@param m table measurement
---@param lost? boolean
function Memory:keep_measurement(case, key, m, lost)
  if is_circumstance(m.status) then return end
  local code, launch = parts(key)
  self.archive:add("INSERT OR REPLACE INTO measurement VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
    .. "?10, ?11, ?12, ?13, ?14, ?15, ?16, CAST(?17 AS BLOB))", self:key_of_run(case, key),
    self.world_id, self.run, self.run_keys.of_case, code, launch, m.status, m.message, m.ticks,
    m.ns, m.max_error, m.mean_error, m.wrong, m.unset, m.registers, lost or nil, encoded(m))
end

--- What is known of a case without making it.
---@param case string
---@return table? info
function Memory:case(case)
  if self.fresh then return nil end
  local row = self.archive:row("SELECT info FROM cases WHERE key = ?1", self:key("case", case))
  return row and self.archive:decoded(row.info)
end

---@param case string
---@param info table
function Memory:keep_case(case, info)
  self.archive:add("INSERT OR REPLACE INTO cases VALUES (?1, ?2, ?3, CAST(?4 AS BLOB))",
    self:key("case", case), self.world_id, info.name, encoded(info))
end

return M
