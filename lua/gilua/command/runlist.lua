-- runlist: the page of a folder that holds several runs, such as islands: a line each, with state,
-- progress and a link to the run's page. The page reloads itself while a run goes on.

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

--- The name of a run's folder, as it stands in an address.
---@param name string
---@return string
function M.word(name)
  return (name:gsub("[^%w._-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

-- A cell by whose number or text the list is sorted.
local function by(value, text)
  return { text = text, sort = value == nil and "" or tostring(value) }
end

local function line(dir, name)
  local m, path = gi.markup, ("%s/%s"):format(dir, name)
  local alive = core.file.locked(path .. "/.lock")
  local run, last = told(path)
  local how = alive and "under way" or run.ended and "ended" or "not at its end; nobody is at work"
  return { by(name, ('<a href="%s/">%s</a>'):format(M.word(name), m.escape(name))), by(how, how),
    by(run.began, m.escape(run.began or "–")), by(run.device, m.escape(run.device or "–")),
    by(last.generation, last.generation and tostring(last.generation) or "–"),
    by(last.gain, m.times(last.gain)), by(last.genome, m.code(last.genome or "")) }, alive
end

local HEADS = { "run", "state", "began (UTC)", "device", "generation", "best", "genome" }
local ALIGN = "llllrrl"

-- Sorts the list by the heading that is clicked, the other way round when it is clicked again. The
-- address keeps that, since the page loads itself again.
local SORT = [==[
(function () {
  var table = document.querySelector("table.runs"), heads = table.querySelectorAll("th");
  function sort() {
    var by = location.hash.match(/^#(-?)(\d+)$/), body = table.tBodies[0];
    if (!by || !heads[by[2]]) return;
    function value(row) { return row.cells[by[2]].dataset.sort; }
    Array.from(body.rows).sort(function (a, b) {
      var x = value(a), y = value(b);
      var order = x == "" || y == "" ? (x == "") - (y == "") : isNaN(x) || isNaN(y)
        ? x.localeCompare(y) : x - y;
      return by[1] && x != "" && y != "" ? -order : order;
    }).forEach(function (row) { body.append(row); });
    heads.forEach(function (head, i) {
      head.setAttribute("aria-sort", i != by[2] ? "none" : by[1] ? "descending" : "ascending");
    });
  }
  heads.forEach(function (head, i) {
    head.querySelector("button").addEventListener("click", function () {
      history.replaceState(null, "", "#" + (location.hash == "#" + i ? "-" : "") + i);
      sort();
    });
  });
  sort();
})();
]==]

local STYLE = "th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; "
  .. "cursor: pointer; text-decoration: underline dotted; }\n"
  .. "[aria-sort=ascending]::after { content: \" ↑\"; } "
  .. "[aria-sort=descending]::after { content: \" ↓\"; }\n"

local function table_of(rows)
  local lines = {}
  for i, head in ipairs(HEADS) do
    lines[i] = ('<th class="%s"><button type="button">%s</button></th>'):format(ALIGN:sub(i, i),
      head)
  end
  for _, row in ipairs(rows) do
    lines[#lines + 1] = "<tr>"
    for i, cell in ipairs(row) do
      lines[#lines + 1] = ('<td class="%s" data-sort="%s">%s</td>'):format(ALIGN:sub(i, i),
        gi.markup.escape(cell.sort), cell.text)
    end
    lines[#lines + 1] = "</tr>\n"
  end
  return ('<div class="wide"><table class="runs below">\n<thead><tr>%s</tr></thead>\n<tbody>%s'
    .. "</tbody></table></div>\n"):format(table.concat(lines, "", 1, #HEADS),
    table.concat(lines, "", #HEADS + 1))
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
      .. "the run's own measure. A click on a heading sorts the list."):format(#rows))
    .. table_of(rows)
  return state.served(m.document { title = dir, body = body, attributes = state.attributes(s),
    script = SORT .. state.script(s), style = STYLE }, true)
end

return M
