-- laboratory: the interactive part of a run's page: every mutant is a point, and a click shows its
-- source beside its parent's and the original's. The saved page contains the data
-- (gilua.report.mutantcolumns and mutantstory); `gilua watch` removes them and serves them a page
-- at a time. Nothing comes from elsewhere.

local columns = require "gilua.report.mutantcolumns"
local json = require "gilua.base.json"
local markup = require "gilua.report.page.markup"
local mutant = require "gilua.report.page.laboratorymutant"
local page = require "gilua.report.page.laboratorypage"
local plot = require "gilua.report.page.laboratoryplot"
local story = require "gilua.report.mutantstory"

local M = {
  MOST = 20000, -- mutants that a saved page holds
  FOREMOST = 100, -- mutants whose source it contains
}

--- What runs on a page with a laboratory.
M.SCRIPT = "(function () {\n\"use strict\";\n" .. plot .. mutant .. page .. "})();\n"

M.STYLE = [[
#laboratory canvas { display: block; width: 100%; }
#laboratory label { white-space: nowrap; margin-right: 0.6rem; }
#laboratory select, #laboratory input, #laboratory button { font: inherit; color: inherit;
  background: var(--back); border: 1px solid var(--line); border-radius: 0.2rem;
  max-width: 16rem; }
#laboratory button { cursor: pointer; padding: 0 0.5rem; }
#laboratory input[type=number] { width: 5rem; } #laboratory input[type=search] { width: 11rem; }
#laboratory .ask, #laboratory .chips, #laboratory .over, #laboratory .facts, .family,
  .buttons { font: 0.85rem/1.9 system-ui, sans-serif; margin: 0.4rem 0; }
.chips button { margin: 0 0.4rem 0.2rem 0; } .chips [aria-pressed=false] { opacity: 0.45;
  text-decoration: line-through; }
.chips i { display: inline-block; width: 0.7rem; height: 0.7rem; margin-right: 0.3rem; }
.facts span { white-space: nowrap; margin-right: 0.9rem; }
#laboratory dt button { font-size: 0.75rem; } .others { min-height: 2.4rem; }
.chips { min-height: 2rem; }
.sources { max-height: 36rem; width: min(96vw, 100rem);
  margin-left: calc(50% - min(48vw, 50rem)); }
.sources table { table-layout: fixed; width: 100%; min-width: 42rem; }
.sources td { border: 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: 0.75rem/1.35 ui-monospace, "DejaVu Sans Mono", monospace; }
.sources th:first-child { width: 3.5rem; } .sources th.part { width: 5rem; }
.sources td.add { background: var(--add); } .sources td.none { background: var(--del); }
.sources td:first-child { color: var(--soft); } .job pre { max-height: 20rem; overflow: auto; }
@media (max-width: 40rem) { #laboratory label { display: inline-block; white-space: normal; } }
@media print { #laboratory .ask, #laboratory .over, #laboratory .buttons, #laboratory dt button,
  #laboratory .said { display: none; } #laboratory canvas { break-inside: avoid; }
  .sources { max-height: none; width: auto; margin: 0; } }
]]

-- JSON as text that may stand in a page of HTML and of XML.
local function embedded(text)
  return (text:gsub("[<>&]", function(c) return ("\\u%04x"):format(c:byte()) end))
end

--- What a page saves of a run: all of its mutants, or of a long run about MOST, and what the
--- foremost of them change. Two texts of JSON.
---@param archive gilua.archive
---@param run integer its number there
---@param o { name: string, device: string?, ended: boolean, genome: string?, problem: table,
---  known: table<integer, string>? } genome: of its best; known: stories of an earlier page, which
---  need not be made again
---@return { pages: string[], stories: string[], head: string }
function M.saved(archive, run, o)
  local best, known, stories = story.best(archive, run, o.genome), o.known or {}, {}
  local foremost = story.foremost(archive, run, best, M.FOREMOST)
  for i, id in ipairs(foremost) do
    known[id] = known[id] or json.line(story.of(archive, run, id, o.problem))
    stories[i] = known[id]
  end
  local pages = columns.pages(archive, run, M.MOST, foremost)
  local head = story.head { name = o.name, device = o.device, ended = o.ended, best = best,
    all = columns.count(archive, run), problem = o.problem }
  return { pages = pages, stories = stories, head = json.line(head) }
end

local function data_of(saved)
  return ('{"head":%s,\n"pages":[%s],\n"stories":[%s]}'):format(saved.head,
    table.concat(saved.pages, ",\n"), table.concat(saved.stories, ",\n"))
end

local function element(saved)
  return ('<script type="application/json" id="mutants">\n%s\n</script>\n'):format(
    saved and embedded(data_of(saved)) or "")
end

local NOTE = "Every mutant is a point; click one. Choose what lies across and up, and filter: a "
  .. "mutant stays that has all words of “gene” in its genes."

--- The section of a page.
---@param saved? table of M.saved; nil: a server has the data
---@return string
function M.section(saved)
  return ('<section id="laboratory"%s>\n<h2>Every mutant</h2>\n%s<noscript><p>The points need '
    .. 'JavaScript; gilua log, show and export tell the same.</p></noscript>\n<div class="lab">'
    .. "</div>\n%s</section>\n"):format(saved and "" or ' data-base=""', markup.p(NOTE, "note"),
    element(saved))
end

local OPEN, CLOSE = '<script type="application/json" id="mutants">', "</script>"

--- A page as it is served: its mutants are taken out, and asked for a page at a time.
---@param text string of the page
---@return string
function M.served(text)
  local from, behind = text:find(OPEN, 1, true)
  local to = from and text:find(CLOSE, behind, true)
  if not to then return text end
  local head = text:sub(1, from - 1):gsub('<section id="laboratory">',
    '<section id="laboratory" data-base="">', 1)
  return table.concat { head, OPEN, CLOSE, text:sub(to + #CLOSE) }
end

return M
