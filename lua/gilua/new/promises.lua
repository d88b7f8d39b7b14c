-- promises: the conditions under which a winner is right in every launch of its kernel, where its
-- case has one launch: arrays that it writes alias no others (`__restrict__`, and transformations
-- that assume so), no block has more threads than `__launch_bounds__` says, and blocks and grids
-- are those that a transformation requires.
--
-- The host's code is read, not run. Where it does not settle a condition, the user must keep it.
-- The user must also keep what no code can show: that numbers fit into fewer bits, that approximate
-- mathematics suffices within a guessed tolerance, that two copies of a line may differ.
--
-- Where there is no such code, but arguments of a person's own or a recording's, the virtual GPU
-- has watched whether arrays met (gilua.facts.watched). That says nothing of arguments which gilua
-- made up: each of those arrays has memory of its own.

local arraypromises = require "gilua.new.arraypromises"
local attempt = require "gilua.base.attempt"
local ends = require "gilua.base.ends"
local float = require "gilua.rewrite.float"
local launchpromises = require "gilua.new.launchpromises"
local othernames = require "gilua.new.othernames"
local program = require "gilua.new.program"
local settings = require "gilua.base.settings"
local slice = require "gilua.new.slice"

local M = {}

-- The host's code of the file that a problem was made of, or of one of several, and its program.
local function host_of(t, kernel, path)
  local found = program.read(path or t.made_from.path, kernel, t.include or {}, t.defines)
  found.host.program = found
  return found.host
end

--------------------------------------------------------------------------------------------------
-- Numbers

-- What transformations promise of all numbers and all work: the cases have some. How wrong an
-- answer may be, a person who wrote the problem has said himself.
local function of_genes(problem, genome, is_own, tell)
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local is_kept = is_own and gene.promise == float.promise
    if gene.promise and not is_kept then tell("by %s that %s", gene.text, gene.promise) end
  end
end

--- How the mark ends of what a guessed tolerance lets pass; a certificate takes it away.
M.BY_TOLERANCE = "which the tolerance says that was guessed"

-- Approximate mathematics, by a tolerance that was guessed.
local function of_mathematics(problem, genome, tell)
  local texts, lines = arraypromises.texts_of(problem, genome, "math")
  for i, text in ipairs(texts) do
    if text ~= "" then
      tell("that approximate mathematics will do (line %d, `%s` and the like), %s", lines[i],
        (text:gsub(" ", "` and `")), M.BY_TOLERANCE)
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Lines that are there twice

-- Genes that change a line which a transformation has left beside a copy for most cases: of the two
-- the data may run but one, and then show nothing of the other.
local function of_copies(problem, genome, tell)
  local genes = problem.grammar:genes(genome) or {}
  for _, copied in ipairs(genes) do
    local first, last = table.unpack(copied.twice and copied.reach or {})
    for _, gene in ipairs(first and genes or {}) do
      local rule = gene.target
      if rule and rule.type ~= "pragma" and rule.line >= first and rule.line <= last then
        tell("by %s that line %d need not be the same in the two copies that %s makes of it",
          gene.text, rule.line, copied.text)
      end
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Launches

-- Returns the host's code, or nil if it cannot be read; the promise then says so.
local function asked(tell, promise, ...)
  local read, host = attempt(host_of, ...)
  if read then return host end
  if not ends.is_refusal(host) then error(host, 0) end
  tell("%s, and the file of its launches cannot be asked: %s", promise, tostring(host))
end

-- What another name of the kernel launches is as it was, and is not read. A header's declaration
-- lets other files launch it: all of the program's were asked, where they can be read.
local function of_names(host, kernel, what, tell, keep)
  local files = host.program.files
  for _, other in ipairs(othernames.of(host, kernel)) do
    if other.prototype and files then
      keep("%s: asked of the host, all %d files below %s", what, #files, host.program.root)
    elseif other.prototype then
      tell("%s, and other files may launch %s, which %s declares", what, kernel, other.place)
    else
      tell("%s, and %s may launch %s by another name: `%s`", what, other.place, kernel, other.text)
    end
  end
end

-- The kernel that a line of a source is in, or before.
local function kernel_at(problem, line)
  local name
  for _, kernel in ipairs(slice.kernels(problem.source, "kernel.cu")) do
    if kernel.line <= line then name = kernel.name end
  end
  return name
end

-- The launches of a recording are those of one run: with other arguments there may be others.
local function of_recorded(problem, genome, tell)
  local t, made = problem.definition.recorded.table, problem.definition.made_from
  local function ask(promise, kernel, of, asks)
    for _, path in ipairs(made.paths or { made.path }) do
      local host = asked(tell, promise, t, kernel, path)
      if host then of(host, launchpromises.ways_to(host, kernel), asks, {}, tell, t) end
    end
  end
  local texts, lines = arraypromises.texts_of(problem, genome, "launchbounds")
  for i, text in ipairs(texts) do
    ask(text, kernel_at(problem, lines[i]), launchpromises.of_bounds, text)
  end
  for _, kernel in ipairs(settings.keys(t.kernels)) do
    for _, what in ipairs { "block", "grid" } do
      local asks = launchpromises.asked_of(problem, genome, kernel, what)
      if asks then ask(asks.conditions, kernel, launchpromises["of_" .. what .. "s"], asks) end
    end
  end
end

-- The sentences, each once.
local function teller()
  local list, seen = {}, {}
  return list, function(...)
    local text = string.format(...)
    if not seen[text] then list[#list + 1], seen[text] = text, true end
  end
end

--- Returns the promises of a winner that the host's code breaks or may break, and those about
--- numbers. A recording has the arrays' addresses, so it needs no promise about arrays. For a
--- problem that a person wrote there are none about launches: the person knows them.
---@param problem gilua.problem
---@param genome string
---@param seen? { data: string, meets: table[]? }[] of M.seen; without it nothing is said of arrays
---  that no host was asked for
---@return string[] sentences
---@return string[] kept what it promises and need not be a person's to keep, with the reason
function M.of(problem, genome, seen)
  local t = problem.definition.kernel_table and problem.definition.kernel_table.table
  local is_made = t and t.made_from and not problem.definition.recorded
  local is_asked = problem.definition.recorded or is_made
  if problem.is_ptx then return {}, {} end
  local list, tell = teller()
  local kept, keep = teller()
  local arrays, needs
  if is_made then arrays, needs = arraypromises.promise(problem, genome) end
  local asks = is_made and launchpromises.asked(problem, genome, t.kernel) or {}
  local promise = arrays or asks.promise
  local host = promise and asked(tell, promise, t, t.kernel)
  of_genes(problem, genome, not is_asked, tell)
  arraypromises.of_proved(problem, genome, keep)
  local rows = seen and arraypromises.watched(problem, genome, seen) or {}
  if not is_made then arraypromises.of_watched(rows, tell, keep) end
  if not is_asked then return list, kept end
  of_mathematics(problem, genome, tell)
  of_copies(problem, genome, tell)
  if problem.definition.recorded and problem.definition.made_from then
    of_recorded(problem, genome, tell)
  end
  if not host then return list, kept end
  of_names(host, t.kernel, asks.changed or promise, tell, keep)
  local told, ways = #list, launchpromises.ways_to(host, t.kernel)
  if arrays then arraypromises.of_launches(host, t, ways, arrays, needs, tell) end
  if #list == told then arraypromises.of_host(rows, tell, keep) end
  launchpromises.of(problem, genome, host, ways, asks, tell)
  return list, kept
end

--- The first of these alone, where nothing was watched.
---@param problem gilua.problem
---@param genome string
---@return string[] sentences
function M.open(problem, genome) return (M.of(problem, genome)) end

--- What met in the kernel as it is on the data that it has run on under watch: on the small case;
--- of a recorded problem on its other recordings, of a table on other data.
---@param problem gilua.problem
---@param farm gilua.farm
---@param genome string
---@param data? OtherData
---@return { data: string, meets: table[]? }[]
function M.seen(problem, farm, genome, data)
  return arraypromises.seen(problem, farm, genome, data)
end

--- Does the host's code have a launch of a kernel whose grid violates a condition?
---@param host HostCode
---@param kernel string
---@param words string what becomes of a launch (gilua.launch)
---@return boolean
function M.breaks(host, kernel, words) return launchpromises.breaks(host, kernel, words) end

return M
