-- state: the state of the run that a page shows: under way, ended, stopped, or abandoned by a
-- process that is gone. A page under way reloads itself, and stops when nobody writes it any more.
-- `gilua watch` writes into the page whether a process is at work; a page opened as a file only
-- knows the time when it was written. It does not reload while a reader looks at a mutant
-- (data-busy).

local markup = require "gilua.report.page.markup"
local shell = require "gilua.base.shell"

local M = {}

---@class PageState
---@field on boolean is the run under way?
---@field text string a sentence: "generation 3 of 12 is complete"
---@field stopped? string why it has not come to its end
---@field folder? string of the run, for the commands that a reader may want
---@field written? integer seconds since 1970
---@field when? string the same for people
---@field every? number seconds after which there may be another page
---@field patience? number seconds after which something is wrong if there is none

local RELOAD = [[
(function () {
  var page = document.body.dataset, age = Date.now() / 1000 - page.written;
  function again(seconds) {
    setTimeout(function () {
      if (page.busy) again(seconds); else location.reload();
    }, 1000 * seconds);
  }
  if (page.state != "on") return;
  if (page.served || age < page.patience) return again(page.every);
  page.state = "late";
  if (age < 20 * page.patience) again(60);
})();
]]

--- Attributes of the page's body, which RELOAD reads.
---@param s? PageState
---@return string
function M.attributes(s)
  if not (s and s.on) then return "" end
  return (' data-state="on" data-written="%d" data-every="%.0f" data-patience="%.0f"'):format(
    s.written, s.every, s.patience)
end

---@param s? PageState
---@return string
function M.script(s) return s and s.on and RELOAD or "" end

--- The page as it is served: of one that says "under way" it is known whether that is so.
---@param page string
---@param alive boolean is a process at work on the run?
---@return string
function M.served(page, alive)
  return (page:gsub('(<body) data%-state="on"',
    alive and '%1 data-state="on" data-served="1"' or '%1 data-state="dead"', 1))
end

--- Does a page say that its run is under way?
---@param page string
---@return boolean
function M.is_on(page)
  return page:find('<body data-state="on"', 1, true) ~= nil
end

local function command(name, s)
  return markup.code(("gilua %s %s"):format(name, s.folder and shell.word(s.folder) or "RUN"))
end

local function under_way(s)
  return table.concat {
    '<div class="state">\n<p class="on"><strong>Under way:</strong> ', markup.escape(s.text),
    ". Written ", markup.escape(s.when), "; this page loads itself again.</p>\n",
    '<p class="late">Nothing has been written for longer than usual: a step takes long, or its ',
    "process was ended without a word (kill -9, a power cut). ", command("watch", s),
    " tells which; ", command("resume", s), " goes on where it was.</p>\n",
    '<p class="dead"><strong>No process is at work on this run any more:</strong> it was ended ',
    "without a word (kill -9, a power cut) after this page was written, ", markup.escape(s.when),
    ": ", markup.escape(s.text), ". ", command("resume", s), " goes on where it was.</p>\n</div>\n",
  }
end

--- What the page says first; nothing of a run that has come to its end.
---@param s? PageState
---@return string
function M.banner(s)
  if not s then return "" end
  if s.on then return under_way(s) end
  if not s.stopped then return "" end
  return ('<div class="state stopped">\n<p><strong>Stopped:</strong> %s; %s. What was found until '
    .. "then is below; %s goes on.</p>\n</div>\n"):format(markup.escape(s.stopped),
    markup.escape(s.text), command("resume", s))
end

return M
