-- schema: the tables and views of an archive, by version. An older archive is brought up to date
-- step by step; a file of another program is left alone. The views are for people
-- (docs/archive.md).

local printable = require "gilua.base.printable"

local M = {}

--- PRAGMA application_id: "gilu".
M.APPLICATION = 0x67696c75

-- VERSIONS[n] makes version n of version n - 1.
M.VERSIONS = { [[
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
]], [[
-- Tables of long rows have row numbers: without them a row of a kilobyte takes a page of its own.
DROP VIEW evaluations;
DROP VIEW generations;
ALTER TABLE run ADD COLUMN uid TEXT;
ALTER TABLE run ADD COLUMN part_of INTEGER REFERENCES run;
ALTER TABLE run ADD COLUMN title TEXT;
ALTER TABLE run ADD COLUMN scheme TEXT;
UPDATE run SET uid = 'v1 ' || id || ' ' || began || ' '
  || (SELECT hash FROM world w WHERE w.id = run.world);
CREATE UNIQUE INDEX run_uid ON run (uid);

CREATE TEMP TABLE alone AS SELECT min(id) AS id FROM world HAVING count(*) = 1;
CREATE TABLE new_cases (key TEXT PRIMARY KEY, world INTEGER REFERENCES world, name TEXT,
  info BLOB NOT NULL);
INSERT INTO new_cases SELECT lower(hex(key)), (SELECT id FROM alone), name, info FROM cases;
DROP TABLE cases;
ALTER TABLE new_cases RENAME TO cases;

CREATE TABLE new_code (hash TEXT PRIMARY KEY, bytes INTEGER NOT NULL, like TEXT,
  packed BLOB NOT NULL);
INSERT INTO new_code SELECT lower(hex(hash)), bytes, lower(hex(like)), packed FROM code;
UPDATE new_code SET like = NULL WHERE like = '';
DROP TABLE code;
ALTER TABLE new_code RENAME TO code;

CREATE TABLE new_unit (key TEXT PRIMARY KEY, world INTEGER REFERENCES world, source TEXT,
  status TEXT, message TEXT, log TEXT, ptx TEXT, ptx_hash TEXT, code TEXT, code_hash TEXT,
  tag TEXT, seconds REAL);
INSERT INTO new_unit SELECT lower(hex(key)), (SELECT id FROM alone), NULL, status, message, log,
  CASE WHEN ptx IS NULL THEN NULL ELSE lower(hex(ptx)) END, ptx_hash,
  CASE WHEN code IS NULL THEN NULL ELSE lower(hex(code)) END, code_hash, tag, NULL FROM unit;
DROP TABLE unit;
ALTER TABLE new_unit RENAME TO unit;

CREATE TABLE new_verdict (key TEXT PRIMARY KEY, world INTEGER REFERENCES world, ptx TEXT,
  launch TEXT, status TEXT NOT NULL, message TEXT, reply BLOB NOT NULL);
INSERT INTO new_verdict SELECT lower(hex(key)), (SELECT id FROM alone), NULL, NULL, status,
  message, reply FROM verdict;
DROP TABLE verdict;
ALTER TABLE new_verdict RENAME TO verdict;

CREATE TABLE new_measurement (key TEXT PRIMARY KEY, world INTEGER REFERENCES world, run INTEGER,
  cases TEXT NOT NULL, code TEXT, launch TEXT, status TEXT NOT NULL, message TEXT, ticks REAL,
  ns REAL, max_error REAL, mean_error REAL, wrong REAL, unset REAL, registers INTEGER,
  lost INTEGER, reply BLOB NOT NULL);
INSERT INTO new_measurement SELECT lower(hex(key)), (SELECT id FROM alone), run, lower(hex(cases)),
  NULL, NULL, status, message, ticks, ns, max_error, mean_error, wrong, unset, registers, lost,
  reply FROM measurement;
DROP TABLE measurement;
ALTER TABLE new_measurement RENAME TO measurement;
DROP TABLE alone;

ALTER TABLE evaluation ADD COLUMN measurement TEXT REFERENCES measurement;
CREATE VIEW evaluations AS SELECT run, e.id, generation, birth, first_parent, second_parent,
  text AS genome, case_name AS "case", status, message, ticks, ns, max_error, mean_error, wrong,
  unset, registers, source, ptx, fitness, acceptable
  FROM evaluation e JOIN genome g ON g.id = e.genome;
CREATE VIEW generations AS SELECT run, generation, count(*) AS evaluations,
  sum(status = 'ok') AS ran, sum(acceptable) AS acceptable, min(fitness) AS best_fitness
  FROM evaluation WHERE birth NOT IN ('unmodified', 'finalist', 'knock-out', 'best')
  GROUP BY run, generation;
-- What SQLite may expect of a large run: it would read all of it to find one generation.
ANALYZE;
DELETE FROM sqlite_stat1 WHERE tbl = 'evaluation';
INSERT INTO sqlite_stat1 VALUES ('evaluation', 'evaluation', '1000000 100000 1'),
  ('evaluation', 'evaluation_generation', '1000000 100000 300 1');
ANALYZE sqlite_schema;
CREATE VIEW measurements AS SELECT e.run, e.id, e.generation, g.text AS genome,
  e.case_name AS "case", m.key, m.cases, m.code, m.launch, m.status, m.message, m.ticks, m.ns,
  m.max_error, m.mean_error, m.wrong, m.unset, m.registers
  FROM evaluation e JOIN genome g ON g.id = e.genome JOIN measurement m ON m.key = e.measurement;
]], [[
-- No part of a population are also those that were tried and not kept, and the front at the end.
DROP VIEW generations;
CREATE VIEW generations AS SELECT run, generation, count(*) AS evaluations,
  sum(status = 'ok') AS ran, sum(acceptable) AS acceptable, min(fitness) AS best_fitness
  FROM evaluation WHERE birth NOT IN ('unmodified', 'finalist', 'knock-out', 'best', 'front', 'try')
  GROUP BY run, generation;
]], [[
-- Values of gilua's are kept with a sum (archive.lua), which a gilua before this cannot read.
]] }

--- The first version that a reader needs no newer copy of: those since then have the same tables.
M.READ_AS_IT_IS = 2

--- Births, in SQL, of those that are no part of a population.
M.ALONE = "('unmodified', 'finalist', 'knock-out', 'best', 'front', 'try')"

-- What a file says of itself: its version, and whether there is anything in it.
local SAYS = "SELECT (SELECT user_version FROM pragma_user_version) AS version, "
  .. "(SELECT application_id FROM pragma_application_id) AS application, "
  .. "(SELECT count(*) FROM sqlite_master) AS tables, "
  .. "(SELECT count(*) FROM sqlite_master WHERE type = 'table' "
  .. "AND name IN ('world', 'run', 'unit', 'verdict', 'measurement', 'evaluation')) AS ours"

local VIEWS = "SELECT name, type, sql FROM sqlite_master WHERE type IN ('view', 'trigger')"

-- A stranger's file may have something else under a name of ours, which never ends when asked,
-- or triggers. Views of a person's own, by other names, nobody asks here.
local function is_odd(row, ours)
  if row.type == "trigger" then return true end
  local is_ours = ours:find("CREATE VIEW " .. row.name .. " ", 1, true)
    or ours:find("CREATE TABLE " .. row.name .. " ", 1, true)
  return is_ours and not ours:find(row.sql, 1, true)
end

-- What is not as gilua makes it, as a sentence's end; nil where all is.
local function odd(db)
  local ours = table.concat(M.VERSIONS, "\n")
  for _, row in ipairs(db:rows(VIEWS) or {}) do
    if is_odd(row, ours) then
      return ("its %s '%s' is not gilua's"):format(row.type, printable.text(row.name))
    end
  end
end

--- The version of a database: 0 of one that is empty; nil of one that is another program's.
---@param db userdata of core.store
---@return integer? version
---@return string? message
---@return string? code
function M.version(db)
  local says, why, code = db:row(SAYS)
  if not says then return nil, why, code end
  local ours = says.application == M.APPLICATION or says.ours == 6 and says.version == 1
  local why_odd = ours and odd(db)
  if why_odd then return nil, why_odd, "format" end
  if ours then return says.version end
  if says.tables == 0 and says.application == 0 and says.version == 0 then return 0 end
  return nil, "it is a database of another program's", "format"
end

--- Brings a database from a version to the last one, one transaction a version.
---@param db userdata
---@param version integer that it has
---@return true?
---@return string? message
---@return string? code
function M.migrate(db, version)
  for n = version + 1, #M.VERSIONS do
    local done, why, code = db:execute(("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; "
      .. "PRAGMA application_id = %d; COMMIT"):format(M.VERSIONS[n], n, M.APPLICATION))
    if not done then
      db:execute "ROLLBACK"
      return nil, why, code
    end
  end
  return true
end

return M
