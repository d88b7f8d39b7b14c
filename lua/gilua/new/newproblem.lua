-- newproblem: `gilua new FILE.cu`: from a file that nobody prepared to a problem folder that runs.
--
-- What the file says is read (gilua.reading). What it does not say is guessed (gilua.launchguess,
-- gilua.argumentguess), and every guess is marked in the problem.lua that is written
-- (gilua.problemtext), which is meant to be looked at. Then it is tried (gilua.trial). The folder
-- appears whole or not at all.

local adequacy = require "gilua.study.adequacy"
local printable = require "gilua.base.printable"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local headers = require "gilua.new.headers"
local crew = require "gilua.farm.crew"
local argumentguess = require "gilua.new.argumentguess"
local launchguess = require "gilua.new.launchguess"
local entries = require "gilua.base.entries"
local lfs = require "lfs"
local liveline = require "gilua.base.liveline"
local luadata = require "gilua.base.luadata"
local parts = require "gilua.new.parts"
local reading = require "gilua.new.reading"
local report = require "gilua.report.report"
local shell = require "gilua.base.shell"
local textfile = require "gilua.base.textfile"
local trial = require "gilua.new.trial"
local trace = require "gilua.base.trace"
local usage = require "gilua.new.usage"

local M = {}

--------------------------------------------------------------------------------------------------
-- Which kernel

local MOST_TRIED = 8 -- kernels of a file
local MOST_LAUNCHES = 3 -- of a kernel
local MOST_RESORTS = 3 -- kernels that are tried again with cruder guesses of their launch
local SMALLER = { 128, 16 } -- the largest size that is assumed, where it does not run with larger

-- A macro that a text says in the place of __global__, and where it is defined; nil if none.
local function in_its_place(text, path)
  local list = headers.of(text, { headers.absolute(path):match "^(.*)/" })
  table.insert(list, 1, { path = path, text = text })
  for _, file in ipairs(list) do
    for name in file.text:gmatch "#%s*define%s+([%a_][%w_]*)%s[^\n]*%f[%w_]__global__%f[^%w_]" do
      local uses = select(2, text:gsub("%f[%w_]" .. name .. "%f[^%w_]", ""))
      if uses > (file.path == path and 1 or 0) then return name, file.name or path end
    end
  end
end

-- Returns the kernels to try, in order: the one named by --kernel, else the longest first.
local function candidates(found, path, wanted)
  local kernels = found.kernels
  if #kernels == 0 then
    local macro, place = in_its_place(found.text, path)
    if macro then
      fail("%s says %s where others say __global__ (%s defines it), and gilua reads that word "
        .. "alone: put it there, in a copy", path, macro, place)
    end
    fail("%s has no __global__ function: there is nothing to improve in it", path)
  end
  local list, names, at = {}, {}, {}
  for i, k in ipairs(kernels) do
    names[i], at[k] = k.name, i
    if not wanted or k.name == wanted then list[#list + 1] = k end
  end
  if #list == 0 then
    fail("%s has no kernel '%s'; it has %s", path, wanted, table.concat(names, ", "))
  end
  table.sort(list, function(a, b)
    local more = (a.last_line - a.line) - (b.last_line - b.line)
    return more > 0 or more == 0 and at[a] < at[b]
  end)
  return table.move(list, 1, math.min(#list, MOST_TRIED), 1, {})
end

-- What else may be said of a kernel that does not run as it was read: another of its launches,
-- smaller sizes where these are assumed.
local function others(read)
  local list = {}
  for i = 1, math.min(#read.host:every_launch(read.kernel), MOST_LAUNCHES) do
    if i ~= read.which then list[#list + 1] = { launch = i } end
  end
  for _, most in ipairs(#read.assumed > 0 and SMALLER or {}) do
    list[#list + 1] = { most = most }
  end
  return list
end

-- A kernel as it is read, else otherwise; where none of these runs, as it is read.
local function attempt_all(kernel, attempt)
  local first = attempt(kernel, {})
  if not first.trouble and not (first.refusal and first.read) then return first end
  local list = others(first.read)
  for _, other in ipairs(list) do
    local one = attempt(kernel, other)
    if not one.refusal and not one.trouble then return one end
  end
  return #list > 0 and attempt(kernel, {}) or first -- those after it took its place
end

-- Where no kernel runs as it was read: the first that does with one block, or where nothing is
-- known of its launch. And whether any was tried.
local function last_resort(tried, attempt)
  local any = false
  for i = 1, math.min(#tried, MOST_RESORTS) do
    local one = tried[i]
    local list = one.guessed and { { one_block = true }, one.read.launch and { launch = 0 } } or {}
    for _, other in ipairs(list) do
      local found = attempt(one.kernel, other)
      if not found.refusal and not found.trouble then return found, true end
      any = true
    end
  end
  return nil, any
end

-- How far a kernel came: 1 where it is refused, 4 where nothing speaks against it.
local function rank_of(one)
  return one.refusal and 1 or one.trouble and 2 or one.doubt and 3 or 4
end

-- The first that runs as guessed and whose data can tell; where none does, the one that came
-- furthest; where all are refused, the first refusal is raised.
---@param list table[] kernels
---@param attempt fun(kernel: table, more: table): Attempt
---@param say fun(...)
---@return Attempt
local function first_that_runs(list, attempt, say)
  local best, tried = nil, {}
  for i, kernel in ipairs(list) do
    local one = attempt_all(kernel, attempt)
    if rank_of(one) == 4 then return one end
    tried[i] = one
    if not best or rank_of(best) < rank_of(one) then best = one end
    if #list > 1 then
      say("%s is passed over: %s", kernel.name,
        tostring(one.refusal or one.trouble or one.doubt):match "[^\n]*")
    end
  end
  local found, any
  if not best.ticks then found, any = last_resort(tried, attempt) end
  if found then return found end
  if best.refusal then error(best.refusal, 0) end
  if #list == 1 and not any then return best end
  local again = best.doubt and attempt_all(best.kernel, attempt) or attempt(best.kernel, {})
  if again.refusal then error(again.refusal, 0) end
  return again
end

--------------------------------------------------------------------------------------------------
-- The draft

---@class Draft what problem.lua is written from
---@field folder string
---@field reading Reading what the file says
---@field shape LaunchShape guessed: sizes, block, grid
---@field args ArgumentGuess[] guessed; trying it may change them
---@field constants ArgumentGuess[] likewise, of variables
---@field shared? { text: string, note: string, times?: integer } bytes of dynamic shared memory
---@field checked_values? table<string, integer> of the small case, where they are less
---@field original? integer[] the program's sizes, where those here are smaller
---@field size_note? string where the size is from; trying it may add to it
---@field jobs? integer worker processes; one a core
---@field data? gilua.adequacy how much of the kernel the data show, where changes of it were tried
---@field checked_size? integer[] found by trying: the small case's, where it must be the whole one

local function has_output(args, constants)
  for _, one in ipairs(argumentguess.flat { args = args, constants = constants }) do
    if one.row.role == "out" or one.row.role == "inout" then return true end
  end
  return false
end

-- If no statement writes to an array, returns the arrays whose elements are passed on, perhaps by
-- reference.
local function set_outputs(read, args)
  local any = false
  for i, p in ipairs(read.params) do
    local is_array = args[i] and args[i].count and not p.const
    if is_array and usage.is_handed_on(read.body, p.name) then
      args[i].role, any = "inout", true
      table.insert(args[i].notes, "GUESS: written by a function that gets its elements")
    end
  end
  return any
end

local function draft_of(read, folder, jobs)
  local shape = launchguess.shape(read)
  local args, constants = argumentguess.arguments(read, shape, folder)
  if not has_output(args, constants) and not set_outputs(read, args) then
    fail("kernel %s writes to none of its arguments: there would be no answers to check "
      .. "(--run compares variables, too, that the program copies out)", read.kernel)
  end
  return { folder = folder, reading = read, shape = shape, args = args, constants = constants,
    jobs = jobs,
    shared = launchguess.shared(read, shape),
    size_note = shape.from and "from " .. shape.from
      or shape.unknown and "GUESS: " .. shape.unknown or "GUESS" }
end

-- Why it does not run as described, or nil, the ticks that it takes and what speaks against its
-- data. The same workers try all that may be guessed of it: its headers stay as they are.
local function try(draft)
  local _ <close> = crew.keep()
  local m, why, doubt = trial.run(draft)
  return why, m and m.ticks, doubt
end

--------------------------------------------------------------------------------------------------
-- The folder

local EXPERIMENT = [[
-- Evolves KERNEL. Everything about the search is here to be changed; docs/tutorial.md and
-- docs/howto/ tell how. `gilua evolve FOLDER` does the same.

local gi = require "gilua"

local options = gi.cli {
  doc = "DOC",
  { name = "population", default = 60, min = 2, doc = "kernels in a generation" },
  { name = "generations", default = 12, min = 1, doc = "generations" },
}

local problem = gi.problem "FOLDER"
local usual = ("out/%s-%d"):format(problem.name, options.seed)
local report, unwritable = gi.report.open(options.out, usual)
if not report then gi.fail("%s", unwritable) end

local farm = gi.farm(problem, { device = options.device, jobs = options.jobs })
local watch = gi.otherdata.watch(problem, farm)

SEARCH
scheme.problem, scheme.farm = problem, farm
scheme.fitness = gi.fitness.within(problem.tolerance) -- ticks, and what wrong answers cost
scheme.generations, scheme.rng = options.generations, gi.rng(options.seed)
-- each generation computes on other data, so that no kernel is right by chance
function scheme.new_case(_, rng)
  return gi.own.case(problem, rng:int(1 << 31), options.device)
end
scheme.hold = watch.hold -- what is left of a winner that is right on data of other kinds too
local progress = gi.progress.new { quiet = options.quiet, results = report }
for _, observer in ipairs { watch, report, progress } do
  table.insert(scheme.observers, observer)
end
gi.evolve.run(scheme)
]]

local SEARCH = [[
-- children one by one, of the kinds of genes that have paid so far (docs/howto/search.md);
-- tune_params are genes too
local scheme = gi.own.scheme(problem, { population = options.population })]]

local SEARCH_OF_PTX = [[
local scheme = {
  population = options.population, observers = {}, init = gi.own.first,
  draw = gi.genome.ptx_source(problem.ptx), -- genes change instructions
  check = "parents", -- who may have children runs with every check on
}]]

--- The experiment: a stranger's words stand in it as strings (FOLDER in quotes) and in remarks.
---@param kernel string
---@param folder string
---@param of_ptx? boolean genes change its PTX: there is no source
---@return string
function M.experiment(kernel, folder, of_ptx)
  local words = { ['"DOC"'] = luadata.quote(("Evolves %s."):format(kernel)),
    ['"FOLDER"'] = luadata.quote(folder), KERNEL = luadata.remark(kernel),
    FOLDER = luadata.remark(folder) }
  local text = EXPERIMENT:gsub("SEARCH", of_ptx and SEARCH_OF_PTX or SEARCH)
  return (text:gsub('"?%f[%w]%u%u%u+%f[%W]"?', words))
end

--- Takes a folder away, with all that is in it.
---@param folder string
function M.remove_tree(folder)
  for name in entries(folder) do
    if name ~= "." and name ~= ".." then
      local path = folder .. "/" .. name
      local is_folder = lfs.attributes(path, "mode") == "directory"
      if is_folder then M.remove_tree(path) else os.remove(path) end
    end
  end
  lfs.rmdir(folder)
end

--- Refuses a folder that is there.
---@param folder string
---@param path string of what it would be made of
function M.check_free(folder, path)
  if lfs.attributes(folder, "mode") then
    fail("%s is there already: give another name, gilua new %s NAME, or move it away", folder,
      shell.word(path))
  end
end

local function make_folder(folder)
  local made, why = report.make_folder(folder)
  if not made then fail("cannot make the folder %s: %s", folder, why) end
end

---@class Attempt of one kernel
---@field kernel table
---@field read? Reading
---@field ticks? number that it runs
---@field trouble? string why it does not run as guessed
---@field data? gilua.adequacy
---@field guessed? boolean something of it is
---@field doubt? string what speaks against its data
---@field refusal? any why there is no problem

-- Builds the folder's files for a kernel, in place of those that are there. Takes the folder away
-- again where that fails; an error that is no refusal goes on.
local function fill_folder(folder, kernel, read, jobs)
  liveline.show("reading %s, and running it on the virtual GPU", kernel.name)
  if lfs.attributes(folder, "mode") then M.remove_tree(folder) end
  make_folder(folder)
  local one = { kernel = kernel }
  local ok, why = xpcall(function()
    one.read = read()
    local draft = draft_of(one.read, folder, jobs)
    one.trouble, one.ticks, one.doubt = try(draft)
    one.guessed, one.data = trial.is_guessed(draft), draft.data
    report.write(folder .. "/experiment.lua", M.experiment(draft.reading.kernel, folder))
  end, trace.handler)
  if ok then return one end
  M.remove_tree(folder)
  if not ends.is_refusal(why) or ends.is_interruption(why) then error(why, 0) end
  one.refusal = why
  return one
end

-- Lines marked so, and how often.
local function guesses_in(text)
  local list, n = {}, 0
  for line in text:gmatch("[^\n]+") do
    local marks = line:find("^%-%-") and 0 or select(2, line:gsub("GUESS", ""))
    if marks > 0 then list[#list + 1] = line end
    n = n + marks
  end
  return list, n
end

local function tell(read, say, guesses)
  for _, l in ipairs(read.sliced.left_out) do
    if l.why:find("^it does not compile") then
      say("left out: %s, line %d: %s", l.what:match("^[^\n]*"), l.line, l.why)
    end
  end
  for _, note in ipairs(read.notes) do say("%s", note) end
  for _, line in ipairs(guesses) do say("%s", line) end
  say("")
end

-- What speaks against a problem with n guesses.
local function against(taken, n)
  if not taken.trouble then return "its data want a hand: " .. taken.doubt end
  return ("as %s the kernel does not run:\n  %s"):format(
    n > 0 and "guessed" or "the file launches it", taken.trouble)
end

local function to_do(path, taken, n)
  if n > 0 then return ("Change its lines marked GUESS (%d)"):format(n) end
  return ("None of its lines is a guess, they are as in %s: %s"):format(path:match "[^/]+$",
    taken.trouble and "mend the kernel or its launch there, or change the lines"
    or "other sizes or fills may tell more")
end

--- Writes a problem folder for a kernel of a file.
---@param path string FILE.cu
---@param folder? string the folder to make; the file's name without .cu
---@param o { kernel?: string, template?: string, include?: string, define?: string,
---  quiet?: boolean, jobs?: integer }
---@return boolean ready whether the kernel ran as described, on data that `gilua check` takes
---@return integer guesses that are marked in what was written
function M.write(path, folder, o)
  local function say(...)
    if not o.quiet then printable.print((...):format(select(2, ...))) end
  end
  local found = parts.of(path, o.kernel)
  folder = folder or path:match("([^/]+)$"):gsub("%.%w+$", "")
  local list = candidates(found, path, o.kernel)
  M.check_free(folder, path)
  if #found.kernels > 1 then
    for _, k in ipairs(found.kernels) do
      say("  %s, lines %d to %d", k.name, k.line, k.last_line)
    end
  end
  local taken = first_that_runs(list, function(kernel, more)
    return fill_folder(folder, kernel, function()
      return reading.of(found, kernel, folder, setmetatable(more, { __index = o }))
    end, o.jobs)
  end, say)
  if #list > 1 then
    say("%s is taken, the longest%s; --kernel NAME takes another", taken.kernel.name,
      taken.kernel == list[1] and "" or " that runs as guessed")
  end
  if taken.ticks then
    say("%s runs on the virtual GPU: %.0f ticks", taken.kernel.name, taken.ticks)
  end
  if taken.data and taken.data.bytes and not taken.doubt then
    say("its data: %s", adequacy.line(taken.data))
  elseif taken.ticks and not taken.data and not taken.doubt then
    say("its data: no single change of the kernel was tried, as it is long; gilua check tries some")
  end
  if taken.data and taken.data.nan > 0 and not taken.doubt then
    say("%.3g %% of its answers are NaN, and nothing else is known of these: other fills or values "
      .. "in problem.lua may tell more", 100 * taken.data.nan)
  end
  local guesses, n = guesses_in(textfile.read(folder .. "/problem.lua", "what was written"))
  tell(taken.read, say, guesses)
  if taken.trouble or taken.doubt then
    local text = ("%s/problem.lua is written, but %s"):format(folder, against(taken, n))
    if o.quiet then printable.complain(text) else say("%s", text) end
    say("%s, then: gilua check %s", to_do(path, taken, n), shell.word(folder))
    return false, n
  end
  local marked = n == 0 and "" or (", with %d guess%s to look at in its problem.lua"):format(
    n, n > 1 and "es" or "")
  say("%s/ is ready%s. Next: gilua check %s, or gilua evolve %s", folder, marked,
    shell.word(folder), shell.word(folder))
  return true, n
end

return M
