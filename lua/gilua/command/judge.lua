-- judge: `gilua judge OLD NEW`: tells whether the kernel of another file is right, and whether it
-- is faster. OLD is a CUDA file, a problem's folder or a recording.
--
-- Statuses: 0 right and faster; 3 right and not faster; 1 wrong; 2 a bad command line, or the
-- kernel cannot be judged. --fault runs the one case again that an earlier judgement wrote to a
-- file.

local answer = require "gilua.command.answer"
local boxed = require "gilua.command.boxed"
local counterpart = require "gilua.new.counterpart"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local faultfile = require "gilua.new.faultfile"
local gi = require "gilua"
local judgement = require "gilua.new.judgement"
local judgewords = require "gilua.report.judgewords"
local judgerecorded = require "gilua.new.judgerecorded"
local judgewhole = require "gilua.new.judgewhole"
local headers = require "gilua.new.headers"
local hostentry = require "gilua.new.hostentry"
local lfs = require "lfs"

local M = {}

local WRITTEN = { "old", "new", "fault.json", "judge.json" } -- by this command, into its folder
local UNSEEN = 1 << 32 -- seeds from here on are never drawn in evolution

--------------------------------------------------------------------------------------------------
-- What is judged

--- The folder that a judgement writes to.
---@param new string the new file
---@param out? string as it was given
---@return string
function M.folder(new, out)
  return out or "out/judge-" .. (new:match "([^/]+)/*$" or "new"):gsub("%.%w+$", "")
end

-- What an earlier judgement left there goes.
local function folder_of(o)
  local folder = M.folder(o.new, o.out)
  local old = headers.absolute(o.old)
  for _, name in ipairs(WRITTEN) do
    local path = folder .. "/" .. name
    local mode = headers.absolute(path) ~= old and lfs.attributes(path, "mode")
    if mode == "directory" then gi.newproblem.remove_tree(path) elseif mode then os.remove(path) end
  end
  local made, why = gi.textfile.make_folder(folder)
  if not made then fail("cannot make the folder %s: %s", folder, why) end
  return folder
end

local function set_kernels(o)
  local old, new = (o.kernel or ""):match "^%s*([%w_]*)%s*,?%s*([%w_]*)%s*$"
  if not old then
    ends.with(ends.STATUS.usage, "--kernel %s: write the old kernel's name, or OLD,NEW", o.kernel)
  end
  o.old_kernel, o.new_kernel = old ~= "" and old or nil, new ~= "" and new or nil
end

-- A problem of a CUDA file; what is guessed of its data is looked at by the person.
local function problem_of_file(o, folder)
  local path = folder .. "/old"
  local ready, guesses = gi.newproblem.write(o.old, path, { kernel = o.old_kernel, quiet = true,
    include = o.include, define = o.define, template = o.template, jobs = o.jobs })
  if not ready then
    fail("%s is read (%s/problem.lua), but no problem comes of it: gilua check %s says what to "
      .. "change, then judge that folder", o.old, path, gi.shell.word(path))
  end
  o.guesses = guesses
  if guesses > 0 then
    answer.say(o, "Of %s's data and sizes %d things are guessed: %s/problem.lua marks them", o.old,
      guesses, path)
  end
  return gi.problem(path)
end

local function check_there(path)
  if not lfs.attributes(path, "mode") then fail("there is no %s", path) end
end

local function problem_of(o, folder)
  check_there(o.old)
  if gi.recordedproblem.is(o.old) then
    check_there(o.new)
    return gi.problem(judgerecorded.write(o.old, folder .. "/old",
      { kernel = o.old_kernel, new = o.new }))
  elseif lfs.attributes(o.old, "mode") == "directory" then
    return gi.problem(o.old)
  end
  return problem_of_file(o, folder)
end

local function new_of(o, problem, folder)
  check_there(o.new)
  if problem.definition.recorded then
    return judgerecorded.of(problem, o.new, folder .. "/new", o)
  elseif not problem.definition.kernel_table then
    fail("%s makes its cases by functions of its own, so that its arguments are unknown: "
      .. "judge the CUDA file that it was made of, or a recording", problem.dir)
  end
  local new = counterpart.of(problem, o.new, folder .. "/new", o)
  new.own_size, new.own_data = o["own-size"], o["own-data"]
  return new
end

-- A kernel that is launched for one size alone is checked at that size: so is the problem's small
-- case, where the problem is of this command's making.
local function small_case_for(o, problem, new, folder)
  if not new.avoids or not new:avoids_small() then return problem, new end
  if problem.dir ~= folder .. "/old" then
    fail("%s is judged at the size of %s alone, and that has a small case of another: set its "
      .. "checked_size to its size", o.new, problem.dir)
  end
  local path = problem.dir .. "/problem.lua"
  local text = gi.textfile.read(path, "the problem")
  local size = gi.luadata.text(problem.definition.kernel_table.table.size)
  text = text:gsub("\n  checked_size = [^\n]*", "")
  text = text:gsub("\n}%s*$", ("\n  checked_size = %s, -- its own\n}\n"):format(size))
  gi.textfile.write(path, text)
  problem = gi.problem(problem.dir)
  return problem, new_of(o, problem, folder)
end

--------------------------------------------------------------------------------------------------
-- The command

local function say_lines(o, lines)
  for _, line in ipairs(lines) do answer.say(o, "%s", line) end
end

local function judge_of(o, problem, farm, new)
  local how = { cases = o.cases, seed = o.seed, device = o.device,
    claimed_ns = o.claim and o.claim * 1e3 }
  function how.on_data(data) say_lines(o, judgewords.data(gi.otherdata.lines(data), o.new)) end
  function how.on_row(row) answer.say(o, "%s", judgewords.row(row, o.new)) end
  local of = problem.definition.recorded and judgement.of_recorded or judgement.of
  local j, why = of(problem, farm, new, how)
  if not j then fail("%s does not compile in %s's place: %s", o.new, problem.kernel, why) end
  if j.held and not j.fault then
    fail("%s did nothing wrong, but at one size alone: %s. Write what the program gives into "
      .. "%s/problem.lua, take `guess = true` away there, and judge that folder", o.new, j.held,
      problem.dir)
  elseif not j.right and not j.fault then
    fail("%s did nothing wrong, but no case that it came to the end of told whether its answers "
      .. "are right", o.new)
  end
  return j
end

local AGAIN = { "kernel", "map", "new-template", "include", "define" } -- options that it needs, too

-- The words that run a fault's input again.
local function command_of(o, problem, path)
  local words = { "gilua", "judge", gi.shell.word(problem.dir), gi.shell.word(o.new) }
  for _, name in ipairs(AGAIN) do
    if o[name] then words[#words + 1] = ("--%s %s"):format(name, gi.shell.word(o[name])) end
  end
  words[#words + 1] = "--fault " .. gi.shell.word(path)
  return table.concat(words, " ")
end

-- The input that shows a fault, as a file.
local function keep_fault(o, j, problem, folder)
  if not j.fault or problem.definition.recorded then return end
  j.fault.file = folder .. "/fault.json"
  faultfile.write(j.fault.file, j.fault)
  j.fault.command = command_of(o, problem, j.fault.file)
end

local function status_of(j)
  if not j.right then return ends.STATUS.world end
  return not j.faster and ends.STATUS.no_winner or nil
end

local function judge(o)
  boxed.require(o)
  set_kernels(o)
  local folder = folder_of(o)
  local problem = problem_of(o, folder)
  local new = new_of(o, problem, folder)
  problem, new = small_case_for(o, problem, new, folder)
  say_lines(o, judgewords.matches(o, problem, new))
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  local j = judge_of(o, problem, farm, new)
  keep_fault(o, j, problem, folder)
  local value = judgewords.value(o, problem, new, j, farm)
  table.insert(value.pairs, { "certificate", gi.certificate.value(j.certificate) })
  gi.textfile.write(folder .. "/judge.json", gi.json.encode(value) .. "\n")
  if o.junit then gi.junit.write(o.junit, "gilua judge " .. o.new, judgewords.cases(j)) end
  say_lines(o, judgewords.verdict(o, problem, new, j, farm))
  if j.certificate then
    answer.say(o, "It is %s", (gi.certificate.sentence(j.certificate):gsub("the winner", o.new)))
  end
  local status = status_of(j)
  return value, status, status and judgewords.sentence(o, new, j)
end

--------------------------------------------------------------------------------------------------
-- All that the host code of both launches

local function whole(o)
  boxed.require(o)
  check_there(o.old)
  check_there(o.new)
  local folder = folder_of(o)
  local scratch <close> = gi.tempfolder.new()
  local w = judgewhole.of(o, folder, scratch.path)
  say_lines(o, judgewords.whole(o, w))
  local j = judgewhole.judge(w, { cases = o.cases, seed = UNSEEN + o.seed,
    ["own-size"] = o["own-size"], ["own-data"] = o["own-data"],
    on_row = function(row) answer.say(o, "%s", judgewords.whole_row(row)) end })
  if not j.right and not j.fault then
    fail("%s did nothing wrong, but %s", o.new, j.held
      and "at one size alone, which is a guess: say others, --args FILE, or --own-size"
      or "no case told whether its answers are right: what the arguments are says --args FILE")
  end
  local value = judgewords.whole_value(o, w, j)
  gi.textfile.write(folder .. "/judge.json", gi.json.encode(value) .. "\n")
  if o.junit then gi.junit.write(o.junit, "gilua judge " .. o.new, judgewords.cases(j)) end
  say_lines(o, judgewords.whole_verdict(o, w, j))
  local status = status_of(j)
  return value, status, status and judgewords.sentence(o, { kernel = w.new.name }, j)
end

-- Files whose host functions launch several kernels are judged so, unless one kernel is named.
local function is_whole(o)
  if o.whole or o.kernel or o.map then return o.whole end
  for _, path in ipairs { o.old, o.new } do
    if lfs.attributes(path, "mode") ~= "file" or gi.recordedproblem.is(path) then return false end
  end
  return hostentry.is_several(o.old) or hostentry.is_several(o.new)
end

--------------------------------------------------------------------------------------------------
-- A fault once more

local function again(o)
  boxed.require(o)
  set_kernels(o)
  local kept = faultfile.read(o.fault)
  if lfs.attributes(o.old, "mode") ~= "directory" then
    fail("--fault runs an input of a problem: name its folder, not %s", o.old)
  end
  local scratch <close> = gi.tempfolder.new()
  local problem = gi.problem(o.old)
  local new = new_of(o, problem, scratch.path)
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs })
  local found = faultfile.run(problem, farm, new, kept)
  say_lines(o, judgewords.fault_lines(o, kept, found))
  local value = judgewords.fault_value(o, kept, found)
  if not found.why then return value end
  return value, ends.STATUS.world, ("%s is wrong on %s"):format(o.new, kept.data)
end

-- What stops a judgement is no verdict: it has the status of a command line that is wrong.
local function without_verdict(work)
  return function(o)
    local results = table.pack(xpcall(work, answer.refusal, o))
    if results[1] then return table.unpack(results, 2, results.n) end
    local refusal = results[2]
    if refusal.status ~= ends.STATUS.world then error(refusal, 0) end
    ends.with(ends.STATUS.usage, "%s", tostring(refusal))
  end
end

local OPTIONS = {
  takes = "device gpu seed jobs out quiet",
  doc = "Tells whether the kernel of another file is right, and whether it is faster.\nExit "
    .. "status: 0 right and faster, 3 right and not faster, 1 wrong, 2 it cannot be judged.",
  positional = {
    { name = "old", doc = "a CUDA file, a problem's folder or a recording" },
    { name = "new", doc = "the CUDA file with the other kernel" } },
  { name = "kernel", type = "string", doc = "the old kernel's name, or OLD,NEW" },
  { name = "map", type = "string", listed = true, doc = "what a name of NEW is: NAME=ARGUMENT of "
    .. "OLD, or NAME=EXPRESSION of them; also grid=, block=, shared=" },
  { name = "template", type = "string", doc = "arguments of the old kernel's template: float,256" },
  { name = "new-template", type = "string", doc = "the same of the new kernel's" },
  { name = "include", type = "string", listed = true,
    doc = "folders of headers, with commas between" },
  { name = "define", type = "string", listed = true,
    doc = "macros, with commas between: DIM=3,FAST" },
  { name = "cases", default = 3, min = 1, doc = "of full size that nobody saw" },
  { name = "whole", default = false, doc = "all that the host code of both files launches: a "
    .. "function of each is built by nvcc and called, in a box" },
  { name = "function", type = "string", doc = "the function of --whole: OLD,NEW" },
  { name = "args", type = "string", doc = "a file that says what its arguments are: size and args "
    .. "of a problem.lua" },
  { name = "own-size", default = false, doc = "at no other sizes than OLD's own" },
  { name = "own-data", default = false,
    doc = "no numbers beyond the ranges that OLD's host draws at random" },
  { name = "claim", type = "number", min = 0, doc = "a time in microseconds that somebody says "
    .. "NEW takes: can it be?" },
  { name = "fault", type = "string", doc = "run again the one input that this file has" },
  { name = "junit", type = "string", doc = "a file to write the results to as JUnit XML" },
  boxed.OPTION, answer.JSON,
}

function M.run()
  local o = gi.cli(OPTIONS)
  return answer.given(o, without_verdict(o.fault and again or is_whole(o) and whole or judge))
end

return M
