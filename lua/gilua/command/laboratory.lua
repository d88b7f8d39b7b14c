-- laboratory: the answers of `gilua watch` to the laboratory on a run's page: the run, its mutants
-- a page at a time, one mutant's story, and the commands behind the page's buttons. These are
-- gilua's own commands; of a request they contain a mutant's number and no other text. One command
-- runs at a time, in a process that ends with the server.
--
--   head            the run: name, best, kernel             mutants/N   a page, after mutant N
--   mutant/N        one mutant's story                      job/N       output of a command
--   do/NAME/N[/G]   GET: the command line; POST: starts it
--   which/W/…       the same for another evolution in the folder

local attempt = require "gilua.base.attempt"
local columns = require "gilua.report.mutantcolumns"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local lfs = require "lfs"
local runlist = require "gilua.command.runlist"
local runs = require "gilua.command.runs"
local shell = require "gilua.base.shell"
local story = require "gilua.report.mutantstory"

local M = {}

local JSON = "application/json"
local FIRST_PAGE = 2000 -- mutants
local MOST_OUTPUT = 1 << 16 -- bytes of a command's that are shown

local function text_of(body) return { status = 200, type = JSON, body = body .. "\n" } end
local function value_of(value) return text_of(gi.json.line(value)) end

--------------------------------------------------------------------------------------------------
-- The run

local OTHERS = "SELECT r.id, r.title, r.seed FROM run r WHERE r.id <> ?1 "
  .. "AND EXISTS (SELECT 1 FROM evaluation e WHERE e.run = r.id) ORDER BY r.id"

-- A run's archive, and which of its evolutions is meant; nil where there is none.
local function opened(dir, which)
  local path = ("%s/%s"):format(dir, gi.history.FILE)
  if lfs.symlinkattributes(path, "mode") ~= "file" then return nil end
  local archive = gi.archive.open(path, { read_only = true })
  local run = which and archive:row("SELECT * FROM run WHERE id = ?1", which)
    or not which and archive:told_run()
  if not run then archive:close() end
  return run and archive, run
end

-- The kernel that a run kept; nil where it kept none that can be read.
local function kept_of(dir)
  local known, kept = attempt(function()
    return gi.kept.read(dir, (runs.result(dir) or {}).kept)
  end)
  return known and kept or nil
end

local function best_genome(dir)
  local known, result = attempt(runs.result, dir)
  local best = known and result and result.best
  return type(best) == "table" and type(best.genome) == "string" and best.genome or nil
end

-- Other runs that can be laid over this one: evolutions of the folder, folders beside it.
local function others_of(archive, run, which, beside)
  local list = {}
  local function add(name, base)
    list[#list + 1] = gi.json.object { { "name", name }, { "base", base } }
  end
  for _, other in ipairs(archive:rows(OTHERS, run.id)) do
    add(("%s, seed %s"):format(other.title or "run", other.seed),
      ("%swhich/%d/"):format(which and "../../" or "", other.id))
  end
  for _, name in ipairs(which and {} or beside) do add(name, "../" .. runlist.word(name) .. "/") end
  return gi.json.array(list)
end

local function head(o, archive, run)
  local kept = kept_of(o.dir)
  local value = story.head { name = ("%s, %s, seed %s"):format(o.dir:match "[^/]*$",
      run.title or "run", run.seed), device = run.device,
    ended = run.ended ~= nil, best = story.best(archive, run.id, best_genome(o.dir)),
    all = columns.count(archive, run.id), problem = kept }
  local more = { { "others", others_of(archive, run, o.which, o.beside) },
    { "acts", o.acts and not o.which and run.ended ~= nil and kept ~= nil } }
  table.move(more, 1, #more, #value.pairs + 1, value.pairs)
  return value_of(value)
end

-- The first page is short: it is the first picture.
local function mutants(_, archive, run, after)
  return text_of((columns.page(archive, run.id, after,
    { limit = after == 0 and FIRST_PAGE or nil })))
end

local function mutant(o, archive, run, id)
  local told = story.of(archive, run.id, id, kept_of(o.dir))
  return told and value_of(told)
end

--------------------------------------------------------------------------------------------------
-- Commands

-- The words of each command, of a run's folder and a mutant in it.
local COMMANDS = {
  verify = function(dir, id) return { "verify", dir, "--mutant", id } end,
  where = function(dir, id)
    return { "verify", dir, "--mutant", id, "--cases", "1", "--where" }
  end,
  profile = function(dir, id)
    return { "profile", dir, "--mutant", id, "--lines", "--json" }
  end,
  knock = function(dir, id, gene)
    return gene and { "profile", dir, "--mutant", id, "--without", gene }
  end,
  evolve = function(dir, id)
    return { "evolve", runs.read(dir).folder, "--from", ("%s:%s"):format(dir, id), "--out",
      ("%s-from-%s"):format(dir, id) }
  end,
}

local function words_of(dir, name, id, gene)
  local make = COMMANDS[name]
  return make and make(dir, id, gene)
end

local function told(words)
  local list = { "gilua" }
  for i, word in ipairs(words) do list[i + 1] = shell.word(word) end
  return table.concat(list, " ")
end

---@class LaboratoryJobs the commands that a server runs
local Jobs = {}
Jobs.__index = Jobs

--- Makes the place where a server's commands run; it is closed with the server.
---@return LaboratoryJobs
function M.jobs()
  return setmetatable({ folder = gi.tempfolder.new(), list = {} }, Jobs)
end

function Jobs:running()
  local last = self.list[#self.list]
  if last and not last.status then last.status = core.system.ended(last.pid) end
  return last and not last.status and last or nil
end

-- Begins a command; its number.
function Jobs:begin(words)
  if self:running() then
    return { status = 503, body = "another command is under way: wait for its end\n" }
  end
  local n = #self.list + 1
  local out = ("%s/%d"):format(self.folder.path, n)
  local pid, why = core.system.begin { argv = { core.system.program(), "-e",
    "require('gilua.core').system.end_with_parent()", table.unpack(words) }, out = out .. ".out",
    err = out .. ".err" }
  if not pid then fail("the command cannot be begun: %s", why) end
  self.list[n] = { pid = pid, out = out .. ".out", err = out .. ".err" }
  return value_of(gi.json.object { { "job", n }, { "command", told(words) } })
end

local function content(path)
  local file = io.open(path, "rb")
  local bytes = file and file:read(MOST_OUTPUT) or ""
  if file then file:close() end
  return bytes
end

-- What a command has printed so far, its status at its end, and the lines of a profile.
function Jobs:told(n)
  local job = self.list[n]
  if not job then return nil end
  self:running()
  local out, err = content(job.out), content(job.err)
  local value = job.status and gi.json.decode(out)
  local lines = type(value) == "table" and type(value.lines) == "table" and value.lines or {}
  local shares = {}
  for i, one in ipairs(lines) do shares[i] = { tostring(one.line), one.share } end
  return value_of(gi.json.object { { "status", job.status },
    { "output", (#lines > 0 and "The shares are beside the lines.\n" or out) .. err },
    { "lines", gi.json.object(shares) } })
end

function Jobs:close()
  local running = self:running()
  if running then core.system.stop(running.pid) end
  local _ <close> = self.folder
end

Jobs.__close = Jobs.close

--------------------------------------------------------------------------------------------------
-- Answers

local ASKED = { { "^head$", head }, { "^mutants/(%d+)$", mutants }, { "^mutant/(%d+)$", mutant } }

local function from_archive(o, rest)
  for _, one in ipairs(ASKED) do
    local number = rest:match(one[1])
    if number then
      local archive <close>, run = opened(o.dir, o.which)
      if not archive then return nil end
      return one[2](o, archive, run, math.tointeger(tonumber(number)))
    end
  end
end

local function command_of(o, rest)
  local name, id, gene = rest:match "^do/(%l+)/(%d+)/?(%d*)$"
  if not (name and o.acts) then return nil end
  return words_of(o.dir, name, id, gene ~= "" and gene or nil)
end

--- Returns the answer to a request of the laboratory, or nil if the path is not one of its own.
---@param o { dir: string, beside: string[], acts: LaboratoryJobs? } beside: folders of other runs
---  that the server shows; acts: none: nothing is run
---@param rest string of the path
---@return HttpAnswer?
function M.answer(o, rest)
  local which, inner = rest:match "^which/(%d+)/(.*)$"
  if which then
    return from_archive({ dir = o.dir, beside = o.beside, which = math.tointeger(tonumber(which)) },
      inner)
  end
  local job = rest:match "^job/(%d+)$"
  if job then return o.acts and o.acts:told(math.tointeger(tonumber(job))) end
  local words = command_of(o, rest)
  if words then return value_of(gi.json.object { { "command", told(words) } }) end
  return from_archive(o, rest)
end

--- Begins the command that a path names; nil: it names none.
---@param o table as M.answer has it
---@param rest string
---@return HttpAnswer?
function M.act(o, rest)
  local words = command_of(o, rest)
  return words and o.acts:begin(words)
end

return M
