-- newproblem: `gilua new FILE.cu`: from a file that nobody prepared to a problem folder that runs.
--
-- What the file says is read (gilua.reading). What it does not say is guessed (gilua.launchguess,
-- gilua.argumentguess), and every guess is marked in the problem.lua that is written
-- (gilua.problemtext), which is meant to be looked at. Then it is tried, and what a run shows is
-- put right. The folder appears whole or not at all.

local fills = require "gilua.new.fills"
local gi = require "gilua"
local printable = require "gilua.base.printable"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local argumentguess = require "gilua.new.argumentguess"
local kerneltable = require "gilua.problem.kerneltable"
local launchguess = require "gilua.new.launchguess"
local lfs = require "lfs"
local luadata = require "gilua.base.luadata"
local parts = require "gilua.new.parts"
local precision = require "gilua.new.precision"
local problemtext = require "gilua.new.problemtext"
local reading = require "gilua.new.reading"
local report = require "gilua.report.report"
local textfile = require "gilua.base.textfile"

local M = {}

local BUDGET = 60e6 -- warp instructions of the kernel as it is: under a second on the virtual GPU
local LEAST_SIZE = 64 -- that is halved
local MOST_BYTES = 256e6 -- of its arrays together
local MOST_HALVINGS = 30
local MOST_LONGER = 64 -- times what was guessed

--------------------------------------------------------------------------------------------------
-- Which kernel

local MOST_TRIED = 8 -- kernels of a file

-- The kernels to try, in turn: the one that is asked for, else the longest first.
local function candidates(kernels, path, wanted)
  if #kernels == 0 then
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

-- The first that runs as guessed; where none does, the first that is not refused; where all are,
-- the first refusal is raised.
---@param list table[] kernels
---@param attempt fun(kernel: table): Attempt
---@param say fun(...)
---@return Attempt
local function first_that_runs(list, attempt, say)
  local best
  for _, kernel in ipairs(list) do
    local one = attempt(kernel)
    if not one.refusal and not one.trouble then return one end
    if not best or best.refusal and not one.refusal then best = one end
    if #list > 1 then
      say("%s is passed over: %s", kernel.name, tostring(one.refusal or one.trouble):match "[^\n]*")
    end
  end
  if best.refusal then error(best.refusal, 0) end
  return #list > 1 and attempt(best.kernel) or best -- those after it took its place
end

--------------------------------------------------------------------------------------------------
-- The draft

---@class Draft what problem.lua is written from
---@field folder string
---@field reading Reading what the file says
---@field shape LaunchShape guessed: sizes, block, grid
---@field args ArgumentGuess[] guessed; trying it may change a role or a count
---@field size_note? string where the size is from; trying it may add to it
---@field ends? boolean found by trying: at the least size it takes no longer than it may
---@field checked_size? integer[] found by trying: the small case's, where it must be the whole one

local function draft_of(read, folder)
  local shape = launchguess.shape(read)
  local args = argumentguess.arguments(read, shape)
  for _, arg in ipairs(args) do
    if arg.role == "out" or arg.role == "inout" then
      return { folder = folder, reading = read, shape = shape, args = args,
        size_note = shape.from and "from " .. shape.from or "GUESS" }
    end
  end
  fail("kernel %s writes to none of its arguments: there would be no answers to check",
    read.kernel)
end

--------------------------------------------------------------------------------------------------
-- Trying it

local function write_problem(draft)
  report.write(draft.folder .. "/problem.lua", problemtext.of(draft))
  return gi.problem(draft.folder)
end

local function widest_linked(shape)
  local widest
  for d = 1, #shape.size do
    if shape.link[d] and (not widest or shape.size[d] > shape.size[widest]) then widest = d end
  end
  return widest
end

-- Makes the array longer that a fault lies behind the end of, where its length is a guess; false
-- where there is none such.
local function lengthen(draft, why)
  local byte, name, bytes = why:match "global memory at byte (%d+) of '([%w_]+)' %((%d+) bytes%)"
  for _, arg in ipairs(byte and draft.args or {}) do
    if arg.name == name and arg.count_guessed then
      arg.guessed, arg.longer = arg.guessed or arg.count, arg.longer or 1
      repeat arg.longer, bytes = arg.longer * 2, bytes * 2 until bytes > tonumber(byte)
      arg.count = ("(%s) * %d"):format(arg.guessed, arg.longer)
      for i, note in ipairs(arg.notes) do
        if note == "GUESS: how many" then arg.notes[i] = note .. ", as far as it reaches" end
      end
      return arg.longer <= MOST_LONGER
    end
  end
  return false
end

-- Halves the size where a run takes too long; false where it cannot.
local function halve(draft, original)
  local size, widest = draft.shape.size, widest_linked(draft.shape)
  if not widest or size[widest] < LEAST_SIZE then return false end
  size[widest] = (size[widest] + 1) // 2
  draft.size_note = ("your program's is %s; smaller here, so that the virtual GPU takes less "
    .. "than a second"):format(original)
  return true
end

local function run(draft)
  local problem = write_problem(draft)
  return problem, kerneltable.run(problem, { seed = 1 },
    { budget = BUDGET, most_bytes = MOST_BYTES })
end

-- Does a kernel that takes too long do so at the least size, too? Then halving is of no use.
local function is_endless(draft)
  local size, widest = draft.shape.size, widest_linked(draft.shape)
  if not widest or size[widest] < LEAST_SIZE then return true end
  local whole = size[widest]
  size[widest] = LEAST_SIZE
  local _, _, _, m = run(draft)
  size[widest] = whole
  return m ~= nil and m.status == "timeout"
end

-- Changes a draft that does not run so that it may; false where nothing more helps.
local function ease(draft, why, m, original)
  local status = m and m.status
  if status == "timeout" then
    draft.ends = draft.ends or not is_endless(draft)
    return draft.ends and halve(draft, original)
  end
  if status == "out_of_memory" then return halve(draft, original) end
  return lengthen(draft, why)
end

-- Changes the sizes until the kernel as it is runs within the budget: problem, outputs,
-- measurement; or problem, nil and why it does not run.
local function fit(draft)
  local original = problemtext.size(draft.shape.size)
  for _ = 1, MOST_HALVINGS do
    local problem, outputs, why, m = run(draft)
    if outputs then return problem, outputs, why end
    if not ease(draft, why, m, original) then return write_problem(draft), nil, why end
  end
end

-- How many elements a kernel wrote, and the last of them.
local function written_of(array)
  local blank, written, last = gi.array(array:dtype(), 1):sentinel()[1], 0, 0
  for i = 1, #array do
    local x = array[i]
    if x ~= blank and x == x then written, last = written + 1, i end
  end
  return written, last
end

-- An output of which parts are never written: either it is shorter, or what was there stays there.
local function settle_role(arg, array)
  local written, last = written_of(array)
  if written == #array then return false end
  if arg.count_guessed and written == last and written > 0 then
    arg.count, arg.notes = tostring(written), { "GUESS: how many, as it writes" }
  else
    arg.role = "inout"
    arg.notes[#arg.notes + 1] = ("it writes %d of %d"):format(written, #array)
  end
  return true
end

local function settle_roles(draft, problem, outputs)
  local changed = false
  for _, arg in ipairs(draft.args) do
    if arg.role == "out" then changed = settle_role(arg, outputs[arg.name]) or changed end
  end
  return changed and write_problem(draft) or problem
end

-- Where nothing says how many threads are needed but a macro in the kernel, they may fill all
-- blocks, and then the kernel's test of its bounds would seem of no use: one more is asked for, if
-- the kernel takes it.
local function settle_bounds(draft, problem, outputs)
  local shape, size = draft.shape, draft.shape.size
  if #size > 1 or shape.link[1] or shape.fixed_grid or size[1] % shape.block[1] ~= 0 then
    return problem, outputs
  end
  size[1] = size[1] + 1
  local more = kerneltable.run(write_problem(draft), { seed = 1 }, { budget = BUDGET })
  if more then draft.size_note = draft.size_note .. ", and one more, so that its bounds are tested"
  else size[1] = size[1] - 1 end
  return write_problem(draft), more or outputs
end

-- The small case must run as the whole one does; else it is the whole one.
local function settle_small(draft, problem)
  local outputs = kerneltable.run(problem, problem.checked_case, { budget = BUDGET })
  local shape, linked = draft.shape, true
  for d, size in ipairs(shape.size) do linked = linked and (shape.link[d] ~= nil or size == 1) end
  if outputs and linked then return problem end
  draft.checked_size = shape.size
  return write_problem(draft)
end

-- What each output may differ by, on the small case twice and on the whole one.
local function settle_tolerance(draft, problem)
  local small = problem.checked_case
  local specs = { small, { seed = small.seed + 1, size = small.size } }
  if not draft.checked_size then specs[3] = { seed = small.seed } end
  local limits = precision.limits(problem, specs)
  for _, arg in ipairs(draft.args) do arg.limits = limits[arg.name] end
  write_problem(draft)
end

-- Data that show what the kernel does, and the tolerance that they need.
local function settle_data(draft, problem)
  settle_tolerance(draft, problem)
  if draft.checked_size then return end -- every try would be as many whole runs as there are probes
  local function write() return write_problem(draft) end
  local _, changed = fills.improve(draft.args, write)
  if changed then settle_tolerance(draft, write()) end
end

-- Why it does not run as described, or nil and the ticks that it takes.
local function try(draft)
  local problem, outputs, m = fit(draft)
  if not outputs then return m, nil end
  problem, outputs = settle_bounds(draft, problem, outputs)
  problem = settle_roles(draft, problem, outputs)
  problem = settle_small(draft, problem)
  settle_data(draft, problem)
  return nil, m.ticks
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

gi.evolve.run {
  problem = problem,
  farm = farm,
  fitness = gi.fitness.within(problem.tolerance), -- ticks, and what wrong answers cost
  population = options.population,
  generations = options.generations,
  rng = gi.rng(options.seed),
  init = gi.own.first, -- single genes, and more of them where there are not enough
  genes = gi.own.genes(problem), -- tune_params are genes too
  -- each generation computes on other data, so that no kernel is right by chance
  new_case = function(_, rng) return gi.own.case(problem, rng:int(1 << 31), options.device) end,
  hold = watch.hold, -- what is left of a winner that is right on data of other kinds too
  observers = { watch, report, gi.progress.new { quiet = options.quiet, results = report } },
}
]]

-- The experiment: a stranger's words stand in it as strings (FOLDER in quotes) and in remarks.
local function experiment(kernel, folder)
  local words = { ['"DOC"'] = luadata.quote(("Evolves %s."):format(kernel)),
    ['"FOLDER"'] = luadata.quote(folder), KERNEL = luadata.remark(kernel),
    FOLDER = luadata.remark(folder) }
  return (EXPERIMENT:gsub('"?%f[%w]%u%u%u+%f[%W]"?', words))
end

local function remove_tree(folder)
  for name in lfs.dir(folder) do
    if name ~= "." and name ~= ".." then
      local path = folder .. "/" .. name
      if lfs.attributes(path, "mode") == "directory" then remove_tree(path) else os.remove(path) end
    end
  end
  lfs.rmdir(folder)
end

local function check_free(folder, path)
  if lfs.attributes(folder, "mode") then
    fail("%s is there already: give another name, gilua new %s NAME, or move it away", folder, path)
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
---@field refusal? any why there is no problem

-- Builds the folder's files for a kernel, in place of those that are there. Takes the folder away
-- again where that fails; an error that is no refusal goes on.
local function fill_folder(folder, kernel, read)
  if lfs.attributes(folder, "mode") then remove_tree(folder) end
  make_folder(folder)
  local one = { kernel = kernel }
  local ok, why = xpcall(function()
    local draft = draft_of(read(), folder)
    one.read, one.trouble, one.ticks = draft.reading, try(draft)
    report.write(folder .. "/experiment.lua", experiment(draft.reading.kernel, folder))
  end, function(e) return type(e) == "string" and debug.traceback(e, 2) or e end)
  if ok then return one end
  remove_tree(folder)
  if not ends.is_refusal(why) then error(why, 0) end
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

--- Writes a problem folder for a kernel of a file.
---@param path string FILE.cu
---@param folder? string the folder to make; the file's name without .cu
---@param o { kernel?: string, template?: string, include?: string, define?: string,
---  quiet?: boolean }
---@return boolean runs whether the kernel ran as described
function M.write(path, folder, o)
  local function say(...)
    if not o.quiet then printable.print((...):format(select(2, ...))) end
  end
  local found = parts.of(path, o.kernel)
  folder = folder or path:match("([^/]+)$"):gsub("%.%w+$", "")
  local list = candidates(found.kernels, path, o.kernel)
  check_free(folder, path)
  if #found.kernels > 1 then
    for _, k in ipairs(found.kernels) do
      say("  %s, lines %d to %d", k.name, k.line, k.last_line)
    end
  end
  local taken = first_that_runs(list, function(kernel)
    return fill_folder(folder, kernel, function() return reading.of(found, kernel, folder, o) end)
  end, say)
  if #list > 1 then
    say("%s is taken, the longest%s; --kernel NAME takes another", taken.kernel.name,
      taken.kernel == list[1] and "" or " that runs as guessed")
  end
  if taken.ticks then
    say("%s runs on the virtual GPU: %.0f ticks", taken.kernel.name, taken.ticks)
  end
  local guesses, n = guesses_in(textfile.read(folder .. "/problem.lua", "what was written"))
  tell(taken.read, say, guesses)
  if taken.trouble then
    say("%s/problem.lua is written, but as guessed the kernel does not run:\n  %s", folder,
      taken.trouble)
    say("Change its lines marked GUESS (%d), then: gilua check %s", n, folder)
    return false
  end
  local marked = n == 0 and "" or (", with %d guess%s to look at in its problem.lua"):format(
    n, n > 1 and "es" or "")
  say("%s/ is ready%s. Next: gilua check %s, or gilua evolve %s", folder, marked, folder, folder)
  return true
end

return M
