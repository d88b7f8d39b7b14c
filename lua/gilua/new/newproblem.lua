-- newproblem: `gilua new FILE.cu`: from a file that nobody prepared to a problem folder that runs.
--
-- What the kernel takes comes from the compiler (gilua.signature), how it is called from the file's
-- host code where that can be read (gilua.hostcode). What neither says is guessed
-- (gilua.launchguess, gilua.argumentguess), and every guess is marked in the problem.lua that is
-- written (gilua.problemtext), which is meant to be looked at. Then it is tried, and what a run
-- shows is put right. The folder appears whole or not at all.

local gi = require "gilua"
local fail = require "gilua.base.fail"
local argumentguess = require "gilua.new.argumentguess"
local hostcode = require "gilua.new.hostcode"
local kerneltable = require "gilua.problem.kerneltable"
local launchguess = require "gilua.new.launchguess"
local lfs = require "lfs"
local precision = require "gilua.new.precision"
local problemtext = require "gilua.new.problemtext"
local report = require "gilua.report.report"
local signature = require "gilua.new.signature"
local slice = require "gilua.new.slice"
local textfile = require "gilua.base.textfile"

local M = {}

local BUDGET = 60e6 -- warp instructions of the kernel as it is: under a second on the virtual GPU
local LEAST_SIZE = 64 -- that is halved
local MOST_HALVINGS = 30

local function absolute(path)
  if path:sub(1, 1) == "/" then return path end
  return lfs.currentdir() .. "/" .. path:gsub("^%./", "")
end

--------------------------------------------------------------------------------------------------
-- Which kernel

local function longest(kernels)
  local best = kernels[1]
  for _, k in ipairs(kernels) do
    if k.last_line - k.line > best.last_line - best.line then best = k end
  end
  return best
end

local function choose(kernels, path, wanted, say)
  if #kernels == 0 then
    fail("%s has no __global__ function: there is nothing to improve in it", path)
  end
  local chosen, names = not wanted and longest(kernels) or nil, {}
  for i, k in ipairs(kernels) do
    names[i] = k.name
    if k.name == wanted then chosen = k end
  end
  if not chosen then
    fail("%s has no kernel '%s'; it has %s", path, wanted, table.concat(names, ", "))
  end
  if #kernels == 1 then return chosen end
  for _, k in ipairs(kernels) do
    say("%s %s, lines %d to %d", k == chosen and "*" or " ", k.name, k.line, k.last_line)
  end
  if not wanted then
    say("%s is taken, the longest; --kernel NAME takes another", chosen.name)
  end
  return chosen
end

--------------------------------------------------------------------------------------------------
-- Reading

-- Folders and macros as the compiler takes them, and as problem.lua keeps them.
local function compiler(path, o)
  local include, defines, options = { absolute(path):match("^(.*)/") }, {}, {}
  for folder in (o.include or ""):gmatch("[^,:]+") do
    if lfs.attributes(folder, "mode") ~= "directory" then
      fail("--include %s: there is no such folder", folder)
    end
    include[#include + 1] = absolute(folder)
  end
  for _, folder in ipairs(include) do options[#options + 1] = "-I" .. folder end
  options[#options + 1] = "-I" .. gi.home .. "/lua/gilua/include"
  for define in (o.define or ""):gmatch("[^,]+") do
    defines[#defines + 1], options[#options + 1] = define, "-D" .. define
  end
  return { options = options, include = include, defines = defines }
end

local function found_in(folders, spelled)
  for _, folder in ipairs(folders) do
    local path = folder .. "/" .. spelled
    if lfs.attributes(path, "mode") == "file" then return path, path:match("^(.*)/") end
  end
end

-- The user's headers that the file includes, and those that these include: { name, text }.
local function headers_of(text, include)
  local list, seen = {}, {}
  local function read(from, folders)
    for spelled in ("\n" .. from):gmatch('\n%s*#%s*include%s*[<"]([^>"\n]+)[>"]') do
      local path, folder = found_in(folders, spelled)
      if path and not seen[path] then
        seen[path] = true
        local header = { name = spelled, text = textfile.read(path, "a header") }
        list[#list + 1] = header
        read(header.text, { folder, table.unpack(include) })
      end
    end
  end
  read(text, include)
  return list
end

-- What the launch gives each parameter, where that is a number that can be known.
local function values_of(g)
  local values = {}
  for i, p in ipairs(g.params) do
    p.name = p.name or "argument_" .. i
    local given = g.launch and g.launch.args[i]
    values[p.name] = given and not p.pointer and not p.struct and g.host:value(given) or nil
  end
  return values
end

-- What the file says of the kernel: its launch, the parameters' types, the source that a GPU takes.
local function read_kernel(g, o)
  g.compiler = compiler(g.path, o)
  local why
  g.host, why = hostcode.read(g.text, headers_of(g.text, g.compiler.include), g.compiler.defines)
  if why then
    g.notes[#g.notes + 1] = "of conditions like #if every branch counts, for the compiler says "
      .. why
  end
  g.launch = g.host:launch(g.kernel)
  g.template = launchguess.template(g.item, g.launch, hostcode.split(o.template or ""), g.host,
    g.notes)
  g.sliced = slice.cut(g.text, g.path, g.kernel, {
    folder = g.folder, template = g.template, options = g.compiler.options })
  report.write(g.folder .. "/kernel.cu", g.sliced.source)
  g.params = signature.of(g.sliced.source, g.kernel,
    table.move(g.compiler.options, 1, #g.compiler.options, 2, { "-I" .. g.folder }))
  g.values = values_of(g)
  g.body = slice.code_of(g.text):sub(g.item.head, g.item.last):match("{.*") or ""
  g.head = g.text:sub(g.item.first, g.item.last):match("^[^{]*")
end

local function guess(g)
  g.used = launchguess.dimensions(g.body)
  g.shape = launchguess.shape(g)
  g.fixed_block = launchguess.fixed_block(g)
  g.size_note = g.shape.from and "from " .. g.shape.from or "GUESS"
  g.sparse = argumentguess.sparse(g)
  g.args = argumentguess.arguments(g)
  for _, arg in ipairs(g.args) do
    if arg.role == "out" or arg.role == "inout" then return end
  end
  fail("kernel %s writes to none of its arguments: there would be no answers to check", g.kernel)
end

--------------------------------------------------------------------------------------------------
-- Trying it

local function write_problem(g, tolerance, why)
  report.write(g.folder .. "/problem.lua", problemtext.of(g, tolerance, why))
  return gi.problem(g.folder)
end

local function widest_linked(shape)
  local widest
  for d = 1, #shape.size do
    if shape.link[d] and (not widest or shape.size[d] > shape.size[widest]) then widest = d end
  end
  return widest
end

-- Halves the size until the kernel as it is runs within the budget: problem, outputs, measurement;
-- or problem, nil and why it does not run.
local function fit(g)
  local size = g.shape.size
  for _ = 1, MOST_HALVINGS do
    local problem = write_problem(g)
    local outputs, why, m = kerneltable.run(problem, { seed = 1 }, { budget = BUDGET })
    if outputs then return problem, outputs, why end
    local widest = m and m.status == "timeout" and widest_linked(g.shape)
    if not widest or size[widest] < LEAST_SIZE then return problem, nil, why end
    g.original = g.original or problemtext.size(size)
    size[widest] = (size[widest] + 1) // 2
    g.size_note = ("your program's is %s; smaller here, so that the virtual GPU takes less than a "
      .. "second"):format(g.original)
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

local function settle_roles(g, problem, outputs)
  local changed = false
  for _, arg in ipairs(g.args) do
    if arg.role == "out" then changed = settle_role(arg, outputs[arg.name]) or changed end
  end
  return changed and write_problem(g) or problem
end

-- Where nothing says how many threads are needed but a macro in the kernel, they may fill all
-- blocks, and then the kernel's test of its bounds would seem of no use: one more is asked for, if
-- the kernel takes it.
local function settle_bounds(g, problem, outputs)
  local size = g.shape.size
  if g.used > 1 or g.shape.link[1] or g.shape.fixed_grid or size[1] % g.shape.block[1] ~= 0 then
    return problem, outputs
  end
  size[1] = size[1] + 1
  local more = kerneltable.run(write_problem(g), { seed = 1 }, { budget = BUDGET })
  if more then g.size_note = g.size_note .. ", and one more, so that its bounds are tested"
  else size[1] = size[1] - 1 end
  return write_problem(g), more or outputs
end

-- The small case must run as the whole one does; else it is the whole one.
local function settle_small(g, problem)
  local outputs = kerneltable.run(problem, problem.checked_case, { budget = BUDGET })
  local linked = true
  for d = 1, g.used do linked = linked and (g.shape.link[d] ~= nil or g.shape.size[d] == 1) end
  if outputs and linked then return problem end
  g.checked_size = g.shape.size
  return write_problem(g)
end

local function settle_tolerance(g, problem)
  local tolerance, how = precision.tolerance(problem, problem.checked_case)
  if not g.checked_size then
    local whole, whole_how = precision.tolerance(problem, { seed = 1 })
    if whole > tolerance then tolerance, how = whole, whole_how end
  end
  return write_problem(g, tolerance, how)
end

-- Why it does not run as described; nil where it does.
local function build(g, o, say)
  read_kernel(g, o)
  guess(g)
  local problem, outputs, m = fit(g)
  if not outputs then return m end
  problem, outputs = settle_bounds(g, problem, outputs)
  problem = settle_roles(g, problem, outputs)
  problem = settle_small(g, problem)
  settle_tolerance(g, problem)
  say("%s runs on the virtual GPU: %.0f ticks", g.kernel, m.ticks)
  return nil
end

--------------------------------------------------------------------------------------------------
-- The folder

local EXPERIMENT = [[
-- Evolves %s. Everything about the search is here to be changed; docs/tutorial.md and
-- docs/howto/ tell how. `gilua evolve %s` does the same.

local gi = require "gilua"

local options = gi.cli {
  doc = "Evolves %s.",
  { name = "population", default = 60, min = 2, doc = "kernels in a generation" },
  { name = "generations", default = 12, min = 1, doc = "generations" },
}

local problem = gi.problem %q
local out = options.out or ("out/%%s-%%d"):format(problem.name, options.seed)
local report, unwritable = gi.report.open(out)
if not report then gi.fail("%%s", unwritable) end

gi.evolve.run {
  problem = problem,
  farm = gi.farm(problem, { device = options.device, jobs = options.jobs }),
  fitness = gi.fitness.within(problem.tolerance), -- ticks, and what wrong answers cost
  population = options.population,
  generations = options.generations,
  rng = gi.rng(options.seed),
  init = gi.own.first, -- single genes, and more of them where there are not enough
  genes = gi.own.genes(problem), -- tune_params are genes too
  -- each generation computes on other data, so that no kernel is right by chance
  new_case = function(_, rng) return gi.own.case(problem, rng:int(1 << 31), options.device) end,
  observers = { report, gi.progress.new { quiet = options.quiet, dir = out } },
}
]]

local function remove_tree(folder)
  for name in lfs.dir(folder) do
    if name ~= "." and name ~= ".." then
      local path = folder .. "/" .. name
      if lfs.attributes(path, "mode") == "directory" then remove_tree(path) else os.remove(path) end
    end
  end
  lfs.rmdir(folder)
end

local function make_folder(folder, path)
  if lfs.attributes(folder, "mode") then
    fail("%s is there already: give another name, gilua new %s NAME, or move it away", folder, path)
  end
  local made, why = report.make_folder(folder)
  if not made then fail("cannot make the folder %s: %s", folder, why) end
end

-- Builds the folder's files; takes it away again where that fails.
local function fill_folder(g, o, say)
  local ok, trouble = xpcall(function()
    local why = build(g, o, say)
    report.write(g.folder .. "/experiment.lua", EXPERIMENT:format(g.kernel, g.folder, g.kernel,
      g.folder))
    return why
  end, function(e) return type(e) == "string" and debug.traceback(e, 2) or e end)
  if ok then return trouble end
  remove_tree(g.folder)
  error(trouble, 0)
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

local function tell(g, say, guesses)
  for _, l in ipairs(g.sliced.left_out) do
    if l.why:find("^it does not compile") then
      say("left out: %s, line %d: %s", l.what:match("^[^\n]*"), l.line, l.why)
    end
  end
  for _, note in ipairs(g.notes) do say("%s", note) end
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
    if not o.quiet then print((...):format(select(2, ...))) end
  end
  local text = textfile.read(path, "the kernel")
  folder = folder or path:match("([^/]+)$"):gsub("%.%w+$", "")
  local chosen = choose(slice.kernels(text, path), path, o.kernel, say)
  make_folder(folder, path)
  local g = { text = text, path = path, absolute_path = absolute(path), folder = folder,
    kernel = chosen.name, item = chosen, notes = {} }
  local trouble = fill_folder(g, o, say)
  local guesses, n = guesses_in(textfile.read(folder .. "/problem.lua", "what was written"))
  tell(g, say, guesses)
  if trouble then
    say("%s/problem.lua is written, but as guessed the kernel does not run:\n  %s", folder, trouble)
    say("Change its lines marked GUESS (%d), then: gilua check %s", n, folder)
    return false
  end
  local marked = n == 0 and "" or (", with %d guess%s to look at in its problem.lua"):format(
    n, n > 1 and "es" or "")
  say("%s/ is ready%s. Next: gilua check %s, or gilua evolve %s", folder, marked, folder, folder)
  return true
end

return M
