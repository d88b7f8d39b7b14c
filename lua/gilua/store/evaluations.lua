-- evaluations: the mutants of a run in an archive, as measurements: the columns of the view, and
-- the other measured fields, which are unpacked at the first use.

local fail = require "gilua.base.fail"

local M = {}

-- A measurement of what did not get as far.
local NOTHING = { n = 0, off = 1, nan = 0, wrong = 1, unset = 1, registers = 0, shared_bytes = 0,
  ticks = math.huge, ns = math.huge, max_error = math.huge, mean_error = math.huge }

local ROWS = "SELECT v.*, m.reply AS _reply FROM evaluations v "
  .. "JOIN evaluation e ON e.run = v.run AND e.id = v.id "
  .. "LEFT JOIN measurement m ON m.key = e.measurement WHERE v.run = ?1 ORDER BY v.id"

-- Fields of what ran that only its measurement has, which archives of the first version do not tie
-- to an evaluation.
local function missing(archive, row, name)
  if NOTHING[name] == nil and name ~= "penalty" then return nil end
  fail("%s does not tell '%s' of evaluation %d: it is of an older gilua, which kept only what "
    .. "`gilua export` shows", archive.path, name, rawget(row, "id"))
end

local function unpacked(archive)
  return { __index = function(row, name)
    if rawget(row, "_whole") then return nil end
    local reply = rawget(row, "_reply")
    if not reply and rawget(row, "status") == "ok" then return missing(archive, row, name) end
    if not reply then return NOTHING[name] end
    row._reply, row._whole = nil, true
    for field, value in pairs(archive:decoded(reply)) do
      if rawget(row, field) == nil then row[field] = value end
    end
    return row[name]
  end }
end

local NUMBERS = { "id", "generation", "ticks", "ns", "max_error", "mean_error", "wrong", "unset",
  "registers", "fitness", "acceptable" }

-- SQLite keeps what it is given in any column; an archive may be a stranger's.
local function check(archive, row)
  for _, name in ipairs(NUMBERS) do
    local value = rawget(row, name)
    if value ~= nil and type(value) ~= "number" then
      fail("%s is broken: %s of evaluation %s is no number", archive.path, name, tostring(row.id))
    end
  end
  if not row.baseline then
    fail("%s is broken: evaluation %s has no unmodified kernel before it", archive.path,
      tostring(row.id))
  end
end

--- Are a row's answers right, every one? nil where the archive does not tell: it is of the first
--- version.
---@param archive gilua.archive
---@param row { status: string, unset?: number, reply?: string } reply: of its measurement
---@return boolean?
function M.is_right(archive, row)
  if row.status ~= "ok" or (row.unset or 0) > 0 then return false end
  if not row.reply then return nil end
  return archive:decoded(row.reply).off == 0
end

local ONE = "SELECT v.*, m.reply AS _reply FROM evaluations v "
  .. "JOIN evaluation e ON e.run = v.run AND e.id = v.id "
  .. "LEFT JOIN measurement m ON m.key = e.measurement WHERE v.run = ?1 AND v.id = ?2"

--- One evaluation, as M.of has it.
---@param archive gilua.archive
---@param run integer
---@param id integer
---@param baseline? table the unmodified kernel's on the same case; nil: it is that itself
---@return table row
function M.one(archive, run, id, baseline)
  local row = setmetatable(archive:row(ONE, run, id), unpacked(archive))
  row.baseline = baseline or row
  check(archive, row)
  if row.acceptable ~= nil then row.acceptable = row.acceptable == 1 end
  return row
end

--- All evaluations of a run, in their order; each has the measurement of the unmodified kernel on
--- the same case as `baseline`. An `acceptable` is true or false.
---@param archive gilua.archive open as long as they are used
---@param run integer
---@return table[] rows
function M.of(archive, run)
  local rows, meta, baseline = archive:rows(ROWS, run), unpacked(archive), nil
  for _, row in ipairs(rows) do
    setmetatable(row, meta)
    if row.birth == "unmodified" then baseline = row end
    row.baseline = baseline
    check(archive, row)
    if row.acceptable ~= nil then row.acceptable = row.acceptable == 1 end
  end
  return rows
end

return M
