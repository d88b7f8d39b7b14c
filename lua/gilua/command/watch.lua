-- watch: `gilua watch RUN`: serves a run's page to a browser on this machine, or over ssh on
-- another. The address contains a name that nobody can guess, so other users of the machine cannot
-- see the page. It serves files of the run's own folder, and what the archive says of its mutants
-- (gilua.command.laboratory). A folder with several runs, such as islands, has a page that links to
-- each.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local entries = require "gilua.base.entries"
local laboratory = require "gilua.command.laboratory"
local lfs = require "lfs"
local parts = require "gilua.report.page.laboratory"
local printable = require "gilua.base.printable"
local runlist = require "gilua.command.runlist"
local state = require "gilua.report.page.state"

local M = {}

--------------------------------------------------------------------------------------------------
-- Answers

local HTML = "text/html; charset=utf-8"
local MOST_PAGE = 1 << 24 -- bytes of one that is changed as it is served

-- What may be looked at, by the ends of names.
local TYPES = { html = HTML, json = "application/json", png = "image/png" }
for _, ending in ipairs { "cu", "patch", "csv", "txt" } do
  TYPES[ending] = "text/plain; charset=utf-8"
end

local function type_of(dir, name)
  local path = ("%s/%s"):format(dir, name)
  return lfs.symlinkattributes(path, "mode") == "file" and TYPES[name:match "^%w[%w._-]*%.(%l+)$"]
end

local function file(dir, name)
  local type = type_of(dir, name)
  local opened = type and io.open(("%s/%s"):format(dir, name), "rb")
  if not opened then return nil end
  local size = opened:seek "end"
  opened:seek "set"
  return { status = 200, type = type, file = opened, size = size }
end

local function names_of(dir)
  local list = {}
  for name in entries(dir) do
    if type_of(dir, name) then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function listing(dir)
  local m, items = gi.markup, {}
  for i, name in ipairs(names_of(dir)) do
    items[i] = ('<li><a href="%s">%s</a></li>\n'):format(m.escape(name), m.escape(name))
  end
  return { status = 200, type = HTML, body = m.document { title = dir,
    body = ("<h1>%s</h1>\n<ul>\n%s</ul>\n"):format(m.escape(dir), table.concat(items)) } }
end

-- While there is no page yet.
local function nothing_yet(dir, alive)
  local now = os.time()
  return gi.html.page { title = dir, state = { on = true, folder = dir, written = now, every = 2,
    text = alive and "the first generation is not complete" or "it left no page",
    when = os.date("%Y-%m-%d %H:%M:%S", now), patience = 60 } }
end

-- Returns a page whose mutants the browser asks for, where there is an archive to ask.
local function asking(dir, text)
  return gi.results.is_run(dir) and parts.served(text) or text
end

-- The laboratory alone: of a run whose page has none, or is too large.
local function laboratory_page(dir)
  if not gi.results.is_run(dir) then return nil end
  return { status = 200, type = HTML, body = gi.markup.document { title = dir,
    body = ("<h1>%s</h1>\n%s"):format(gi.markup.escape(dir), parts.section()),
    script = parts.SCRIPT, style = parts.STYLE } }
end

-- A page that is larger than a text may be goes as it is.
local function page(dir)
  local path, alive = ("%s/%s"):format(dir, gi.live.FILE), core.file.locked(dir .. "/.lock")
  local there = type_of(dir, gi.live.FILE)
  local is_large = there and (lfs.attributes(path, "size") or 0) > MOST_PAGE
  if is_large then return file(dir, gi.live.FILE) end
  return { status = 200, type = HTML, body = state.served(
    there and asking(dir, gi.textfile.read(path, "the page")) or nothing_yet(dir, alive),
    alive) }
end

local function of_run(o, rest)
  local dir = o.dir
  if rest == "" or rest == gi.live.FILE then return page(dir) end
  if rest == "files" then return listing(dir) end
  if rest == "laboratory" then return laboratory_page(dir) end
  return laboratory.answer(o, rest) or file(dir, rest)
end

local function without(names, name)
  local others = {}
  for _, other in ipairs(names) do
    if other ~= name then others[#others + 1] = other end
  end
  return others
end

local function is_of_run(dir)
  for name in entries(dir) do
    if gi.results.is_left(name) then return true end
  end
  return false
end

-- Which run a path is about, and what of it: of a folder that holds runs, NAME/… is what NAME's own
-- is. nil: none; and the runs that there are, where the folder itself is meant.
local function place(dir, token, path, acts)
  local rest = path:sub(1, #token + 2) == ("/%s/"):format(token) and path:sub(#token + 3)
  if not rest then return nil end
  if is_of_run(dir) then return { dir = dir, beside = {}, acts = acts }, rest end
  local names = gi.results.runs_in(dir)
  if rest == "" then return nil, names end
  local wanted, inner = rest:match "^([^/]+)/(.*)$"
  for _, name in ipairs(names) do
    if name == wanted then
      return { dir = ("%s/%s"):format(dir, name), beside = without(names, name), acts = acts },
        inner
    end
  end
end

--- What a request for a path is answered; nil where there is nothing.
---@param dir string
---@param token string the first part of each path
---@param path string
---@param acts? LaboratoryJobs
---@return HttpAnswer?
function M.answer(dir, token, path, acts)
  local o, rest = place(dir, token, path, acts)
  if o then return of_run(o, rest) end
  return rest and { status = 200, type = HTML, body = runlist.page(dir, rest) }
end

--- Does what a POST to a path asks for; nil where it is nothing that can be done.
---@param dir string
---@param token string
---@param path string
---@param acts LaboratoryJobs
---@return HttpAnswer?
function M.act(dir, token, path, acts)
  local o, rest = place(dir, token, path, acts)
  return o and laboratory.act(o, rest)
end

--------------------------------------------------------------------------------------------------
-- The command

local function random_name()
  local random <close> = assert(io.open("/dev/urandom", "rb"))
  return (random:read(12):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

--- How to look from the other end of an ssh session; nil where there is none.
---@param port integer
---@param connection? string SSH_CONNECTION
---@return string?
function M.ssh_line(port, connection)
  local address, ssh_port = (connection or ""):match "^%S+ %d+ (%S+) (%d+)$"
  if not address then return nil end
  local user = os.getenv "USER" or os.getenv "LOGNAME"
  return ("ssh -N -L %d:127.0.0.1:%d%s %s%s"):format(port, port,
    ssh_port == "22" and "" or " -p " .. ssh_port, user and user .. "@" or "", address)
end

local function require_run(dir)
  if lfs.attributes(dir, "mode") ~= "directory" then fail("%s is no folder of a run", dir) end
  if not is_of_run(dir) and #gi.results.runs_in(dir) == 0 then
    fail("%s is no run: it holds nothing that a run leaves", dir)
  end
end

local function tell(o, server, token)
  printable.print(("%s: http://%s:%d/%s/"):format(o.run, gi.server.ADDRESS, server.port, token))
  local line = M.ssh_line(server.port, os.getenv "SSH_CONNECTION")
  if line then
    printable.print("From the machine that you are at, this makes that address work there:\n  "
      .. line)
  end
  if not o.quiet then print "Ctrl-C ends it." end
  io.stdout:flush()
end

function M.run()
  local o = gi.cli {
    takes = "quiet",
    doc = "Serves the page of a run, live, to a browser on this machine or over ssh.",
    positional = { { name = "run", doc = "its folder, or one that holds several" } },
    { name = "port", default = 0, min = 0, max = 65535, doc = "of 127.0.0.1; 0: any free one" },
    { name = "look", default = false, doc = "show only: no button of the page runs anything" },
  }
  local dir = o.run:gsub("(.)/+$", "%1")
  require_run(dir)
  local server <close>, token = gi.server.open(o.port), random_name()
  local jobs <close> = not o.look and laboratory.jobs() or nil
  tell(o, server, token)
  server:run(function(path) return M.answer(dir, token, path, jobs) end,
    jobs and function(path) return M.act(dir, token, path, jobs) end)
end

return M
