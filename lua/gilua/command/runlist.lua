-- runlist: the page of a folder that holds several runs, as islands leave it: a line each, with its
-- state and how far it is, and a link to its own page. It loads itself again while one is on.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local gi = require "gilua"
local past = require "gilua.command.past"
local state = require "gilua.report.page.state"

local M = {}

local EVERY_S = 5 -- between two pages, while a run is on

-- What a run's archive tells, which may be another program's.
local function told(dir)
  local known, row, last = attempt(function()
    local archive <close> = gi.archive.open(dir .. "/" .. gi.history.FILE, { read_only = true })
    local run = archive:told_run()
    local generations = run and past.generations(archive, run.id) or {}
    return run, generations[#generations]
  end)
  if not known then return {}, {} end
  return row or {}, last or {}
end

-- The name of a run's folder, as it stands in an address.
local function word(name)
  return (name:gsub("[^%w._-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function line(dir, name)
  local m, path = gi.markup, ("%s/%s"):format(dir, name)
  local alive = core.file.locked(path .. "/.lock")
  local run, last = told(path)
  local how = alive and "under way" or run.ended and "ended" or "not at its end; nobody is at work"
  return { ('<a href="%s/">%s</a>'):format(word(name), m.escape(name)), how,
    last.generation and tostring(last.generation) or "–", m.times(last.gain),
    m.code(last.genome or "") }, alive
end

--- The page of a folder of runs.
---@param dir string
---@param names string[] of the runs' folders in it
---@return string html
function M.page(dir, names)
  local m, rows, on = gi.markup, {}, false
  for i, name in ipairs(names) do
    local row, alive = line(dir, name)
    rows[i], on = row, on or alive
  end
  local now = os.time()
  local s = { on = on, written = now, every = EVERY_S, patience = 60 }
  local body = ("<h1>%s</h1>\n"):format(m.escape(dir))
    .. m.p(("%d runs. Best is the best of a run's last generation, over the unmodified kernel, by "
      .. "the run's own measure."):format(#rows))
    .. m.grid({ "run", "", "generation", "best", "genome" }, "llrrl", rows, "below")
  return state.served(m.document { title = dir, body = body, attributes = state.attributes(s),
    script = state.script(s) }, true)
end

return M
