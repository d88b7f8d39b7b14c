-- judgerecorded: another file's kernel in the place of one that a program ran under `gilua record`.
--
-- The recording says what the program gave its kernel, how it launched it and what it copied out.
-- The new kernel has the same parameters in the same order and is launched as that one was: its PTX
-- takes the old one's place, and every piece that the program copied out is compared.

local compiler = require "gilua.farm.compiler"
local fail = require "gilua.base.fail"
local mangled = require "gilua.new.mangled"
local parts = require "gilua.new.parts"
local reading = require "gilua.new.reading"
local recordedproblem = require "gilua.new.recordedproblem"
local recording = require "gilua.problem.recording"
local report = require "gilua.report.report"
local settings = require "gilua.base.settings"

local M = {}

local TARGET = "compute_90" -- of the PTX that replays run

---@class RecordedCounterpart what gilua.judgement asks of a Counterpart, of a recording's
---@field kernel string
---@field source string PTX
---@field params table
---@field name string
---@field sliced Slice
local RecordedCounterpart = {}
RecordedCounterpart.__index = RecordedCounterpart

function RecordedCounterpart:reach() end -- launches are as they were

-- Kernels of the new file, by name.
local function kernels_of(path)
  local names = {}
  for _, item in ipairs(parts.of(path).kernels) do names[item.name] = true end
  return names
end

-- Returns the recorded kernel to compare: the one named by --kernel, else the one with a new
-- kernel's name, else the only one.
local function recorded_kernel(path, o)
  local r = recording.open(path)
  local names, news, same = {}, kernels_of(o.new), {}
  for i, kernel in ipairs(r.kernels) do
    names[i] = mangled.read(kernel.name)
    if news[names[i]] then same[#same + 1] = names[i] end
  end
  r.file:close()
  if o.kernel then return o.kernel end
  if #same == 1 then return same[1] end
  if #names == 1 then return names[1] end
  fail("%s launches %s, and it is unknown which of them %s replaces: --kernel NAME", path,
    table.concat(names, ", "), o.new)
end

--- A problem of a recording: one kernel of it, as PTX.
---@param path string
---@param folder string to make
---@param o { kernel?: string, new: string }
---@return string folder
function M.write(path, folder, o)
  local kernel = recorded_kernel(path, o)
  if not recordedproblem.write({ path }, folder, { kernel = kernel, quiet = true }) then
    fail("%s: the recorded kernel itself fails with every check on: gilua check %s", path, folder)
  end
  return folder
end

-- The name in the recording of the problem's one kernel, and as people have it.
local function names_of(problem)
  local entries = problem.definition.recorded.entries
  local name = settings.keys(entries)[1]
  return name, (mangled.read(entries[name]))
end

local function read_of(problem, path, folder, o)
  local found = parts.of(path, o.new_kernel)
  local _, plain = names_of(problem)
  local item = parts.kernel(found, path, o.new_kernel, plain)
  return reading.of(found, item, folder, { include = o.include, define = o.define,
    template = o["new-template"] or o.template })
end

-- The types of a kernel's parameters in PTX, as a text.
local function parameters_in(ptx, name)
  local list = ptx:match("%.entry%s+" .. name:gsub("%p", "%%%0") .. "%s*(%b())") or ""
  local types = {}
  for words, rest in list:gmatch "%.param%s+([%.%w ]-)%s*[%w_$%%]+(%[?%d*%]?)%s*[,)]" do
    types[#types + 1] = words:gsub("%.align%s+%d+", ""):match "%.[bfsu]%d+" .. rest
  end
  return table.concat(types, ", ")
end

local function check_parameters(problem, new, ptx, name)
  local old, own = parameters_in(problem.source, name), parameters_in(ptx, name)
  if old == own then return end
  fail("%s of %s takes other parameters (%s) than the recorded kernel (%s): a recording has them "
    .. "as they were", new.kernel, new.path, own, old)
end

-- The blocks with which a recording launches a kernel, each once.
local function blocks_of(path, entry)
  local r, blocks = recording.open(path), {}
  for _, event in ipairs(r.events) do
    if event[1] == "launch" and event[3] == entry then blocks[event[5]] = true end
  end
  r.file:close()
  return blocks
end

-- The block of the new file's launch, where that is known, must be one that was recorded.
local function check_block(problem, read, name)
  local recorded = problem.definition.recorded
  read.host.assumed, read.host.known = {}, {}
  local block = read.launch and read.launch.block and read.host:dimensions(read.launch.block)
  local text = block and table.concat(block, ",")
  local blocks = blocks_of(recorded.paths.train[1], recorded.entries[name])
  if not text or blocks[text] then return end
  fail("%s launches %s with blocks of %s threads, and the recording with %s: there the launch is "
    .. "as it was", read.path, read.kernel, (text:gsub(",", "x")),
    (table.concat(settings.keys(blocks), " and "):gsub(",", "x")))
end

--- Reads the new file and compiles its kernel under the recorded one's name.
---@param problem gilua.problem of recordings
---@param path string
---@param folder string
---@param o table options of `gilua judge`
---@return RecordedCounterpart
function M.of(problem, path, folder, o)
  if o.map then fail("--map: a recording has the launch and the arguments as they were") end
  local made, unmade = report.make_folder(folder)
  if not made then fail("cannot make the folder %s: %s", folder, unmade) end
  local read, name = read_of(problem, path, folder, o), (names_of(problem))
  local rename = read.kernel ~= name and ("#define %s %s\n"):format(read.kernel, name) or ""
  local text = ("%s#line 1\n%s"):format(rename, read.sliced.whole)
  local options = table.move(read.compiler.options, 1, #read.compiler.options, 2,
    { "-I" .. folder })
  local ptx, why = compiler.compile(text, { target = TARGET, options = options })
  if not ptx then fail("%s does not compile: %s", path, why) end
  check_parameters(problem, read, ptx, name)
  check_block(problem, read, name)
  return setmetatable({ kernel = read.kernel, source = ptx, params = {}, name = path,
    sliced = read.sliced }, RecordedCounterpart)
end

return M
