-- markup: the elements of an HTML page: escaped text, readable figures, tables, plots with
-- captions, and the frame of the page. A page is well-formed XML, too, refers to no other machine,
-- and has a light and a dark form, for wide screens, narrow ones and paper.

local progress = require "gilua.report.progress"

local M = {}

--------------------------------------------------------------------------------------------------
-- Text

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- UTF-8, in which each byte that is none is taken for Latin-1.
local function as_utf8(text)
  local parts, from = {}, 1
  while from <= #text do
    local fine, bad = utf8.len(text, from)
    if fine then break end
    parts[#parts + 1] = text:sub(from, bad - 1) .. utf8.char(text:byte(bad))
    from = bad + 1
  end
  return table.concat(parts) .. text:sub(from)
end

--- Text as HTML has it, whatever is in it: what is not UTF-8 is taken for Latin-1, and control
--- characters show that they were there.
---@param x any
---@return string
function M.escape(x)
  local text = tostring(x):gsub('[&<>"]', ENTITIES)
  return (as_utf8(text):gsub("[^%C\t\n\r]", "\u{fffd}"))
end

--- Is it a number that can be shown?
---@param x any
---@return boolean
function M.finite(x)
  return type(x) == "number" and x == x and x < math.huge and x > -math.huge
end

--- A number by a format ("grouped": 12 345); a dash where there is none.
---@param x any
---@param format string
---@return string
function M.shown(x, format)
  if not M.finite(x) then return "–" end
  if format == "grouped" then return (progress.grouped(x):gsub(" ", "\u{202f}")) end
  if format == "%d" and not math.tointeger(x) then format = "%.1f" end
  return format:format(x)
end

--- x times factor; nil where there is no x, so that a figure that is missing is a dash or a gap.
function M.scaled(x, factor) return M.finite(x) and M.finite(factor) and x * factor or nil end

--- x over y in the same manner.
function M.over(x, y) return M.finite(x) and M.finite(y) and y ~= 0 and x / y or nil end

--- Nanoseconds as microseconds.
function M.microseconds(ns) return M.finite(ns) and M.shown(ns / 1e3, "%.2f µs") or "–" end
--- A ratio.
function M.times(x) return M.shown(x, "%.3f×") end
--- A fraction.
function M.percent(x) return M.finite(x) and M.shown(100 * x, "%.1f %%") or "–" end

--- An interval of ratios.
function M.interval(low, high)
  if not (M.finite(low) and M.finite(high)) then return "–" end
  return low == high and "exact" or ("%.3f – %.3f"):format(low, high)
end

--- Text that is code.
function M.code(text) return "<code>" .. M.escape(text) .. "</code>" end

--- Prose in which `code` stands between backquotes.
---@param text string
---@return string
function M.prose(text)
  return (M.escape(text):gsub("`([^`]*)`", "<code>%1</code>"))
end

--- A paragraph of HTML.
---@param text string
---@param class? string
---@return string
function M.p(text, class)
  return ("<p%s>%s</p>\n"):format(class and (' class="%s"'):format(class) or "", text)
end

--------------------------------------------------------------------------------------------------
-- Parts of a page

--- A section; its parts are HTML.
---@param title string
---@return string
function M.section(title, ...)
  return ("<section>\n<h2>%s</h2>\n%s</section>\n"):format(M.escape(title), table.concat { ... })
end

--- A table; cells are HTML already.
---@param heads string[]
---@param align string "l" or "r" for each column
---@param rows table[] lists of cells; class: of the row
---@param class? string of the table; "below": on a narrow screen the last cell, a genome, goes
---  below the others of its row; "settings": these are not broken within a word
---@return string
function M.grid(heads, align, rows, class)
  local lines = { ('<div class="wide"><table%s>\n<thead><tr>'):format(
    class and (' class="%s"'):format(class) or "") }
  for i, head in ipairs(heads) do
    lines[#lines + 1] = ('<th class="%s">%s</th>'):format(align:sub(i, i), M.escape(head))
  end
  lines[#lines + 1] = "</tr></thead>\n<tbody>\n"
  for _, row in ipairs(rows) do
    lines[#lines + 1] = row.class and ('<tr class="%s">'):format(row.class) or "<tr>"
    for i = 1, #heads do
      lines[#lines + 1] = ('<td class="%s">%s</td>'):format(align:sub(i, i), row[i] or "")
    end
    lines[#lines + 1] = "</tr>\n"
  end
  lines[#lines + 1] = "</tbody></table></div>\n"
  return table.concat(lines)
end

--- A plot with its caption, or why there is none.
---@param caption string
---@param svg? string
---@param why? string
---@return string
function M.figure(caption, svg, why)
  if not svg then return M.p(M.escape(why), "note") end
  return ("<figure>\n<div>%s</div>\n<figcaption>%s</figcaption>\n</figure>\n"):format(svg,
    M.escape(caption))
end

--- The same of a plot whose points tell what they are.
---@param caption string
---@param svg? string
---@param why? string
---@return string
function M.telling(caption, svg, why)
  if not svg then return M.p(M.escape(why), "note") end
  return ('<figure>\n<div>%s</div>\n<p class="said">Point at a mark, or touch it: its figures '
    .. "appear here.</p>\n<figcaption>%s</figcaption>\n</figure>\n"):format(svg, M.escape(caption))
end

--- Genes are long; plots have room for a few letters.
---@param text string
---@return string
function M.short(text)
  local plain = text:gsub("_[%w]+%.cu_", "_"):gsub("<_", "<")
  if utf8.len(plain) and utf8.len(plain) > 26 then plain = plain:sub(1, 24) .. "…" end
  return plain
end

--------------------------------------------------------------------------------------------------
-- The page

local STYLE = [[
:root { color-scheme: light dark; --text: #1c1c1c; --soft: #666; --line: #ddd; --back: #fff;
  --best: #e8f1fa; --add: #e3f5e8; --del: #fbe6e6; --shade: #0003; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e4e4; --soft: #a0a0a0; --line: #3a3a3a;
  --back: #161616; --best: #14293d; --add: #12321d; --del: #3d1a1a;
  --shade: #fff3; } figure svg { filter: brightness(1.25); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; color: var(--text);
  background: var(--back); font: 1rem/1.55 Georgia, "Times New Roman", serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 0.5rem; }
.paper, .note, figcaption { color: var(--soft); font-size: 0.9rem; }
.lead { font-size: 1.1rem; }
.wide { overflow-x: auto; max-height: 30rem; overflow-y: auto; margin: 0.8rem 0; }
.wide, figure div { background: linear-gradient(to right, var(--back) 50%, transparent) 0 0,
  linear-gradient(to left, var(--back) 50%, transparent) 100% 0,
  linear-gradient(to right, var(--shade), transparent) 0 0,
  linear-gradient(to left, var(--shade), transparent) 100% 0; background-repeat: no-repeat;
  background-size: 2rem 100%, 2rem 100%, 0.7rem 100%, 0.7rem 100%;
  background-attachment: local, local, scroll, scroll; }
table { border-collapse: collapse; font: 0.85rem/1.4 system-ui, sans-serif;
  font-variant-numeric: tabular-nums; min-width: 50%; }
th, td { padding: 0.2rem 0.7rem 0.2rem 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid var(--text); white-space: nowrap; }
td { border-bottom: 1px solid var(--line); }
.r { text-align: right; white-space: nowrap; }
.best td { background: var(--best); font-weight: 600; }
.share { height: 0.8rem; background: #0072b2; min-width: 1px; }
td:last-child:has(.share) { width: 12rem; }
code, pre { font: 0.82rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
.diff { margin: 0; overflow-wrap: normal; }
.diff span { display: block; min-height: 1em; }
.add { background: var(--add); } .del { background: var(--del); } .at { color: var(--soft); }
dt { margin-top: 0.6rem; } dd { margin: 0 0 0 1.2rem; font-size: 0.95rem; }
td code { overflow-wrap: normal; }
figure { margin: 1.2rem 0; } figure div { overflow-x: auto; }
figure svg { width: 100%; min-width: 34rem; height: auto; color: var(--text); }
figure svg[viewBox^="0 0 480 "] { min-width: 0; max-width: 42rem; }
figure svg text { fill: currentColor; }
.pictures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); }
.pictures figure { margin: 0; } .pictures img { width: 100%; height: auto; display: block; }
.said { margin: 0.3rem 0; min-height: 2.9em; font: 0.82rem/1.45 ui-monospace, "DejaVu Sans Mono",
  monospace; overflow-wrap: anywhere; white-space: pre-line; }
circle { stroke: none; } circle:hover { stroke: var(--text); stroke-width: 1.5; }
.state { border: 1px solid var(--line); border-left: 0.3rem solid #0072b2; padding: 0 0.8rem;
  font-size: 0.95rem; }
.state p { margin: 0.5rem 0; } .state .late, .state .dead { display: none; }
[data-state=late] .late, [data-state=dead] .dead { display: block; }
[data-state=dead] .on { display: none; }
[data-state=late] .state, [data-state=dead] .state, .state.stopped { border-left-color: #d55e00; }
@media (max-width: 40rem) { th, th.r { white-space: normal; } table { font-size: 0.75rem; }
  th, td { padding-right: 0.3rem; } td code { overflow-wrap: anywhere; }
  .settings td code { overflow-wrap: normal; }
  .line, .line thead, .line tbody, .below, .below thead, .below tbody { display: block; }
  .below tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(3.4rem, 1fr));
    border-bottom: 1px solid var(--line); }
  .below td { border: 0; } .below th.l:first-child, .below td.l:first-child { grid-column: span 2; }
  .below td:last-child { grid-column: 1 / -1; } .below th:last-child { display: none; }
  .wide:has(.below) { max-height: none; }
  .line tr { display: grid; grid-template-columns: 4.8rem 4rem 1fr 4rem; column-gap: 0.4rem;
    border-bottom: 1px solid var(--line); }
  .line td { border: 0; } .line td:empty, .line th:nth-child(n+5) { display: none; }
  .line td:nth-child(n+5) { grid-column: 1 / -1; }
  .line td:nth-child(5)::before { content: "new: "; }
  .line td:nth-child(6)::before { content: "gone: "; } }
@media print { body { max-width: none; font-size: 10pt; } .wide { max-height: none;
  overflow: visible; } figure, tr { break-inside: avoid; } }
]]

-- Says what a mark is, also where there is no mouse.
local TELL = [[
(function () {
  function tell(event) {
    var mark = event.target, text = mark.tagName == "circle" && mark.querySelector("title");
    if (text) mark.closest("figure").querySelector(".said").textContent = text.textContent;
  }
  document.addEventListener("mouseover", tell);
  document.addEventListener("click", tell);
})();
]]

--- A whole page.
---@param o { title: string, body: string, attributes?: string, script?: string, style?: string }
---  attributes: of the element body
---@return string
function M.document(o)
  local script = (o.body:find('class="said"', 1, true) and TELL or "") .. (o.script or "")
  return table.concat {
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n",
    '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n',
    ("<title>%s</title>\n<style>\n"):format(M.escape(o.title)), STYLE,
    o.style or "",
    ("</style>\n</head>\n<body%s>\n"):format(o.attributes or ""), o.body,
    script ~= "" and "<script>\n// <![CDATA[\n" .. script .. "// ]]>\n</script>\n" or "",
    "</body>\n</html>\n",
  }
end

return M
