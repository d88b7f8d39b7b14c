-- judgewords: the verdicts of `gilua judge`: for people, as JSON, and as test cases of JUnit.

local json = require "gilua.base.json"
local progress = require "gilua.report.progress"
local tolerance = require "gilua.problem.tolerance"

local M = {}

local function is_virtual(farm) return farm.virtual end

-- Other rooms' words in this command's: the kernel as it is, the old one; kernel.cu, the new file.
---@param text string
---@param file? string the new one, of what its kernel did
local function plain(text, file)
  text = text:gsub("[Tt]he kernel as it is", "the old kernel"):gsub(
    "(warp instructions ran out):.*$", "%1") -- without what each warp did then
  local name = file and file:match("[^/]+$"):gsub("%%", "%%%%")
  return name and (text:gsub("kernel%.cu line", name .. " line")) or text
end

--------------------------------------------------------------------------------------------------
-- Who is who

local function sides(list) return ("%dx%dx%d"):format(list[1], list[2] or 1, list[3] or 1) end

local function short(list) return (sides(list):gsub("x1$", ""):gsub("x1$", "")) end

local function match_line(p, match, new)
  local old = new.olds[match.old].name
  if p.name == old and match.how == "by its name" then return ("    %s"):format(p.name) end
  return ("    %s is %s (%s)"):format(p.name, old, match.how)
end

--- What the two kernels are, and which argument is which.
---@param o table options of the command
---@param problem gilua.problem
---@param new Counterpart
---@return string[] lines
function M.matches(o, problem, new)
  local lines = { ("old  %s of %s"):format(problem.kernel, o.old),
    ("new  %s of %s"):format(new.kernel, o.new) }
  if not new.read then return lines end
  local size = new:own_launch()
  lines[2] = ("%s, launched as %s blocks of %s threads%s"):format(lines[2], short(size.grid),
    short(size.block), new.texts.grid and "" or ", as the old kernel, for its file has no launch")
  local plain_names = true
  for i, match in pairs(new.found) do
    plain_names = plain_names and match.how == "by its name" and match.old == i
  end
  if plain_names then
    lines[#lines + 1] = "  the same arguments, by their names"
    return lines
  end
  lines[#lines + 1] = "  the arguments:"
  for i, p in ipairs(new.read.params) do
    local match = new.found[i]
    lines[#lines + 1] = match and match_line(p, match, new)
      or ("    %s is %s"):format(p.name, tostring(size.scalars[i]))
  end
  return lines
end

--------------------------------------------------------------------------------------------------
-- As it goes

--- Rows of other data and sizes.
---@param told string[] of gi.otherdata.lines
---@param file string the new one
---@return string[] lines
function M.data(told, file)
  local lines = { "Every check on, first block first and last block first:" }
  for i, line in ipairs(told) do
    lines[i + 1] = plain(line, line:find("WRONG", 1, true) and file)
  end
  return lines
end

--- A full-sized case.
---@param row table
---@param file string the new one
---@return string
function M.row(row, file)
  if row.untold then return ("  %-40s not told: %s"):format(row.case, row.untold) end
  if row.slow then
    return ("  %-40s stopped: it has done ten times what the old kernel does"):format(row.case)
  end
  if row.why then return ("  %-40s WRONG: %s"):format(row.case, plain(row.why, file)) end
  local interval = row.low == row.high and "" or (" (%.3f to %.3f)"):format(row.low, row.high)
  return ("  %-40s right, %.3fx%s"):format(row.case, row.ratio, interval)
end

--------------------------------------------------------------------------------------------------
-- The verdict

local function rate(bytes, ns)
  return ("%.2f TB/s"):format(bytes / ns / 1e3)
end

local function bytes_text(bytes)
  if bytes >= 1e6 then return ("%.2f MB"):format(bytes / 1e6) end
  return ("%.1f kB"):format(bytes / 1e3)
end

-- Bytes over time.
local function byte_lines(o, j)
  local lines, row = {}, j.rows[#j.rows]
  if not j.bytes or not row.ns then return lines end
  local ns = o.claim and o.claim * 1e3 or row.ns
  lines[1] = ("Bytes: it reads and writes %s, each byte once, in %s%.2f us: %s"):format(
    bytes_text(j.bytes), o.claim and "the claimed " or "", ns / 1e3, rate(j.bytes, ns))
  if j.limit and not j.impossible then
    lines[1] = ("%s; the least time for its work is %.2f us, by %s"):format(lines[1],
      j.limit.ns / 1e3, j.limit.by)
  end
  if j.few_bytes then
    lines[2] = ("Look: that is %.0f %% of the bytes that the old kernel touches"):format(
      100 * j.few_bytes)
  end
  return lines
end

local UNITS = { [true] = "ticks of the virtual GPU", [false] = "time on the GPU" }

local function speed_line(j, farm)
  if not j.ratio then return "Speed: not known, as no full-sized case came to its end" end
  local r = j.ratio
  local interval = r.low == r.high and "" or (" (%.3f to %.3f)"):format(r.low, r.high)
  return ("Speed: %s%s, %s"):format(progress.faster(r.median), interval,
    UNITS[is_virtual(farm)])
end

local function headline(o, new, j)
  local name = ("%s of %s"):format(new.kernel, o.new)
  if not j.right then return ("WRONG: %s"):format(name) end
  return (j.faster and "RIGHT AND FASTER: %s" or "RIGHT, NOT FASTER: %s"):format(name)
end

local function right_line(problem, j)
  return ("Right: %s answers; at full size the largest error is %.3g, within the tolerance %s")
    :format(progress.grouped(j.answers), j.max_error, tolerance.text(problem.tolerance))
end

local function fault_lines_of(o, j)
  local lines = { ("First fault: on %s (%s): %s"):format(j.fault.data, j.fault.case,
    plain(j.fault.why, o.new)) }
  if j.fault.file then
    lines[2] = ("%s is that input; it runs again by: %s"):format(j.fault.file, j.fault.command)
  end
  return lines
end

-- Wrong at other sizes alone, where a person may know that there are none: right at full size, and
-- at the small size on no kind of data, or on all.
local function is_of_size(j)
  local right, wrong = 0, 0
  for _, row in ipairs(j.other.rows) do
    if row.verdict == "wrong" and row.is_full then return false end
    local of_kind = row.spec.family ~= nil
    if of_kind and row.verdict == "right" then right = right + 1 end
    if of_kind and row.verdict == "wrong" then wrong = wrong + 1 end
  end
  for _, row in ipairs(j.rows) do
    if not row.ratio then return false end
  end
  return #j.rows > 0 and (right == 0 or wrong == 0)
end

--- The verdict and what it rests on.
---@param o table
---@param problem gilua.problem
---@param new Counterpart
---@param j Judgement
---@param farm gilua.farm
---@return string[] lines
function M.verdict(o, problem, new, j, farm)
  local lines = { headline(o, new, j) }
  local function add(list) table.move(list, 1, #list, #lines + 1, lines) end
  if j.right then
    lines[2] = right_line(problem, j)
  else
    add(fault_lines_of(o, j))
    if (o.guesses or 0) > 0 then
      lines[#lines + 1] = ("Look: data are guessed, where %s/problem.lua says GUESS. Where the "
        .. "program has others, change them there and judge that folder"):format(problem.dir)
    end
    if is_of_size(j) then
      lines[#lines + 1] = ("It is right at the sizes of %s: where no launch has others, judge it "
        .. "with --own-size"):format(o.old)
    end
  end
  lines[#lines + 1] = speed_line(j, farm)
  add(byte_lines(o, j))
  for _, guess in ipairs(j.right and j.guesses or {}) do
    lines[#lines + 1] = "It rests on " .. guess
  end
  if j.impossible then lines[#lines + 1] = "IMPOSSIBLE: " .. j.impossible end
  for _, promise in ipairs(j.promises) do lines[#lines + 1] = "It promises " .. promise end
  return lines
end

--- The sentence for standard error, where the verdict is not "right and faster".
---@param o table
---@param new Counterpart
---@param j Judgement
---@return string
function M.sentence(o, new, j)
  local name = ("%s of %s"):format(new.kernel, o.new)
  if not j.right then
    return ("%s is wrong, first on %s"):format(name, j.fault.data)
  end
  return ("%s is right and not faster%s"):format(name,
    j.ratio and (" (%.3f times as fast)"):format(j.ratio.median) or "")
end

--------------------------------------------------------------------------------------------------
-- Files as a whole

--- What two functions are given, and how.
---@param o table
---@param w WholeJudge
---@return string[] lines
function M.whole(o, w)
  local lines = { ("old  %s of %s, with %s"):format(w.old.name, o.old, table.concat(w.old.kernels,
    ", ")), ("new  %s of %s, with %s"):format(w.new.name, o.new, table.concat(w.new.kernels, ", ")),
    w.is_guess and ("What they are given is guessed%s: %s says it; change it and name it, --args")
      :format(o.args and " but for what " .. o.args .. " says" or "", w.args_file)
      or "They are given what " .. o.args .. " says" }
  lines[#lines + 1] = "Every check on, all launches of both:"
  return lines
end

--- A case.
---@param row table
---@return string
function M.whole_row(row)
  if row.verdict == "wrong" then return ("  %-40s WRONG: %s"):format(row.data, row.why) end
  if row.why then return ("  %-40s not told: %s"):format(row.data, row.why) end
  local times = not row.is_again and (", %.3fx"):format(row.old_ns / row.ns) or ""
  return ("  %-40s right%s"):format(row.data, times)
end

--- The verdict and what it rests on.
---@param o table
---@param w WholeJudge
---@param j Judgement
---@return string[] lines
function M.whole_verdict(o, w, j)
  local lines = { headline(o, { kernel = w.new.name }, j) }
  if j.right then
    lines[2] = ("Right: %s answers; at full size the largest error is %.3g"):format(
      progress.grouped(j.answers), j.max_error)
  else
    lines[2] = ("First fault: on %s (%s): %s"):format(j.fault.data, j.fault.case, j.fault.why)
  end
  lines[3] = not j.right and "Speed: not asked, as it is wrong"
    or not j.ratio and "Speed: not known, as no full-sized case came to its end"
    or ("Speed: %s, ticks of the virtual GPU, of all that each launches"):format(
      progress.faster(j.ratio.median))
  if j.right and w.is_guess then
    lines[#lines + 1] = "It rests on guesses of its arguments: a read past an array's true end is "
      .. "not seen, where the guess is longer"
  end
  lines[#lines + 1] = j.right and "No certificate is tried of several launches" or nil
  return lines
end

--- The object of --json.
---@param o table
---@param w WholeJudge
---@param j Judgement
---@return table
function M.whole_value(o, w, j)
  return json.object {
    { "verdict", M.word(j) }, { "right", j.right }, { "faster", j.faster },
    { "old", json.object { { "file", o.old }, { "function", w.old.name } } },
    { "new", json.object { { "file", o.new }, { "function", w.new.name } } },
    { "device", "emu" }, { "guessed", w.is_guess },
    { "speed", j.ratio and json.object { { "ratio", j.ratio.median }, { "low", j.ratio.low },
      { "high", j.ratio.high }, { "unit", "ticks" } } },
    { "answers", j.answers }, { "max_error", j.max_error },
    { "fault", j.fault and json.object { { "data", j.fault.data }, { "case", j.fault.case },
      { "why", j.fault.why } } },
    { "data", M.rows(j.other.rows) },
  }
end

--------------------------------------------------------------------------------------------------
-- JSON and JUnit

--- The verdict in a word or two.
---@param j Judgement
---@return string
function M.word(j)
  return not j.right and "wrong" or j.faster and "right and faster" or "right, not faster"
end

local function row_value(row)
  return json.object { { "data", row.data }, { "verdict", row.verdict },
    { "why", row.why and plain(row.why) }, { "answers", row.answers },
    { "max_error", row.max_error } }
end

local function case_value(row)
  local verdict = row.untold and "not told" or row.slow and "stopped" or row.why and "wrong"
    or "right"
  return json.object { { "case", row.case }, { "verdict", verdict },
    { "why", row.why or row.untold or row.slow }, { "answers", row.answers },
    { "max_error", row.max_error }, { "ratio", row.ratio }, { "low", row.low },
    { "high", row.high }, { "ns", row.ns }, { "old_ns", row.old_ns } }
end

local function mapped(list, f)
  local result = {}
  for i, one in ipairs(list) do result[i] = f(one) end
  return json.array(result)
end

--- Rows of data for JSON.
---@param rows table[]
---@return table
function M.rows(rows) return mapped(rows, row_value) end

local function match_values(new)
  local list = {}
  for i, p in ipairs(new.read and new.read.params or {}) do
    local match = new.found[i]
    list[i] = json.object { { "new", p.name }, { "old", match and new.olds[match.old].name },
      { "how", match and match.how or "from its launch" } }
  end
  return json.array(list)
end

local function optional(value, list)
  return value and json.object(list()) or nil
end

--- The object of --json.
---@param o table
---@param problem gilua.problem
---@param new Counterpart
---@param j Judgement
---@param farm gilua.farm
---@return table
function M.value(o, problem, new, j, farm)
  return json.object {
    { "verdict", M.word(j) }, { "right", j.right }, { "faster", j.faster },
    { "old", json.object { { "file", o.old }, { "kernel", problem.kernel },
      { "problem", problem.dir } } },
    { "new", json.object { { "file", o.new }, { "kernel", new.kernel } } },
    { "device", farm.device }, { "arguments", match_values(new) },
    { "speed", optional(j.ratio, function()
      return { { "ratio", j.ratio.median }, { "low", j.ratio.low }, { "high", j.ratio.high },
        { "unit", farm.virtual and "ticks" or "ns" } }
    end) },
    { "answers", j.answers }, { "max_error", j.max_error },
    { "tolerance", tolerance.text(problem.tolerance) },
    { "fault", optional(j.fault, function()
      return { { "data", j.fault.data }, { "case", j.fault.case },
        { "why", plain(j.fault.why, o.new) }, { "file", j.fault.file },
        { "command", j.fault.command } }
    end) },
    { "bytes", j.bytes }, { "old_bytes", j.old_bytes },
    { "limit_ns", j.limit and j.limit.ns }, { "limit_by", j.limit and j.limit.by },
    { "impossible", j.impossible }, { "promises", json.array(j.promises) },
    { "guesses", json.array(j.guesses) },
    { "data", mapped(j.other.rows, row_value) }, { "cases", mapped(j.rows, case_value) },
  }
end

local function data_case(row)
  return { name = row.data, failure = row.verdict == "wrong" and plain(row.why) or nil,
    skipped = row.verdict == "not told" and plain(row.why) or nil }
end

--- The results as test cases: right on each kind of data, on each full-sized case, and faster.
---@param j Judgement
---@return JunitCase[]
function M.cases(j)
  local list = {}
  for i, row in ipairs(j.other.rows) do list[i] = data_case(row) end
  for _, row in ipairs(j.rows) do
    list[#list + 1] = { name = row.case, failure = row.why and plain(row.why),
      skipped = row.untold or row.slow }
  end
  list[#list + 1] = { name = "faster", skipped = not j.right and "it is wrong" or nil,
    failure = j.right and not j.faster and (j.ratio and ("%.3f times as fast"):format(
      j.ratio.median) or "no full-sized case came to its end") or nil }
  return list
end

--------------------------------------------------------------------------------------------------
-- A fault once more

--- What came of running a fault's input again.
---@param o table
---@param kept KeptFault
---@param found table of gilua.faultfile
---@return string[] lines
function M.fault_lines(o, kept, found)
  if not found.why then
    local verdict = found.untold and "not told, " .. plain(found.untold) or "right"
    return { ("%s: %s on %s"):format(o.new, verdict, kept.data) }
  end
  local lines = { ("%s: WRONG on %s: %s"):format(o.new, kept.data, plain(found.why, o.new)) }
  for _, a in ipairs(found.answers) do
    lines[#lines + 1] = ("  answer %d is %.9g, and was %.9g"):format(a.index, a.got, a.expected)
  end
  return lines
end

--- The same for --json.
---@param o table
---@param kept KeptFault
---@param found table
---@return table
function M.fault_value(o, kept, found)
  return json.object { { "new", o.new }, { "data", kept.data },
    { "verdict", found.why and "wrong" or found.untold and "not told" or "right" },
    { "why", found.why or found.untold },
    { "answers", mapped(found.answers, function(a)
      return json.object { { "index", a.index }, { "expected", a.expected }, { "got", a.got } }
    end) } }
end

return M
