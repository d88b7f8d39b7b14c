-- coverage: which lines of a kernel run, and which never do. The PTX says which line each stretch
-- of it comes from; there a store is put that notes the place. On the virtual GPU. A line of
-- several places may run in part.

local attempt = require "gilua.base.attempt"
local below = require "gilua.report.below"
local bench = require "gilua.farm.bench"
local compiler = require "gilua.farm.compiler"
local ends = require "gilua.base.ends"

-- The run may not end.
local M = { most_instructions = 1 << 30 } -- of its warps: some 15 seconds on the virtual GPU

-- The numbers of the files that a PTX text calls kernel.cu (or whatever the source is called).
local function own_files(ptx, name)
  local own = {}
  for number, path in ptx:gmatch('%.file%s+(%d+)%s+"([^"]*)"') do
    own[number] = path:match("([^/]+)$") == name
  end
  return own
end

-- PTX that notes every place it comes to in gilua_seen, and the lines of the places, by number.
-- Places are those of .loc; with `labels` every label too, where a branch may lead past what stands
-- on one line.
local function instrumented(ptx, name, lines, labels)
  local own, line_of, out, now = own_files(ptx, name), {}, {}, nil
  local numbers = {} -- without labels: all copies of a place are one
  local function note(place)
    if not now then return end
    local number = not labels and numbers[place]
    if not number then
      line_of[#line_of + 1] = now
      number = #line_of
      numbers[place] = number
    end
    out[#out + 1] = ("\tst.global.u8 [gilua_seen+%d], 1;"):format(number)
  end
  for text in ptx:gmatch("([^\n]*)\n") do
    out[#out + 1] = text
    local file, line, column = text:match("^%s*%.loc%s+(%d+)%s+(%d+)%s+(%d+)")
    if file then
      line = tonumber(line)
      now = own[file] and line >= 1 and line <= lines and line or nil
      note(line .. ":" .. column)
    elseif labels and text:find("^%s*$L[%w_]*:%s*$") then
      note(text)
    elseif text:find("^}") or text:find("^%s*%.entry") or text:find("^%s*%.visible") then
      now = nil
    end
  end
  local declared = (table.concat(out, "\n") .. "\n"):gsub("(%.address_size%s+%d+[^\n]*\n)",
    function(directive)
      return directive .. ("\n.global .align 8 .b8 gilua_seen[%d];\n"):format(#line_of + 1)
    end, 1)
  return declared, line_of
end

-- The marks of the places after a run, and their lines; or nil, why there are none, and the status
-- of what did not run.
local function marks_of(problem, case, source, options, labels)
  local ptx, why = compiler.compile(source, { target = bench.target "emu", name = "kernel.cu",
    options = options })
  if not ptx then return nil, why end
  local code, line_of = instrumented(ptx, "kernel.cu", problem.grammar:line_count(), labels)
  local marks, refused, status = bench.noted(problem, case, { code = code,
    values = problem:values(), name = "gilua_seen", bytes = #line_of + 1,
    budget = M.most_instructions })
  if not marks then return nil, refused, status end
  return marks, line_of
end

local function lines_of(marks, line_of)
  local seen, missed, never = {}, {}, {}
  for place, line in ipairs(line_of) do
    if marks[place + 1] == 1 then seen[line] = true else missed[line] = true end
  end
  for line in pairs(missed) do never[#never + 1] = line end
  table.sort(never)
  return { seen = seen, never = never }
end

--- Returns the lines of the kernel that run on a case (at least in part), and those with code that
--- does not run.
---@param problem gilua.problem
---@param spec table of a case, as problem.case takes it
---@return { seen: table<integer, boolean>, never: integer[], coarse: boolean }? coverage; coarse:
---  parts of a line are not told apart
---@return string? why there is none
function M.of(problem, spec)
  if problem.is_ptx then return nil, "there is no source whose lines could be counted" end
  local prepared, unprepared = problem:prepared(spec)
  if not prepared then return nil, unprepared end
  local case = bench.case(problem, prepared)
  local source = problem.grammar:guard(false) .. "#line 1\n" .. problem.grammar:apply("")
  local plain = problem:compile_options(problem:values())
  -- with little optimization, so that a line is there once; where that does not work, with all, and
  -- then a copy of a loop's body that does not run says nothing
  local marks, line_of, status
  for _, level in ipairs { "max", "mid" } do
    local quick = table.move(plain, 1, #plain, 2, { "--Ofast-compile=" .. level })
    marks, line_of, status = marks_of(problem, case, source, quick, true)
    if marks or status == "timeout" then break end
  end
  local coarse = not marks
  if coarse and status ~= "timeout" then
    marks, line_of = marks_of(problem, case, source, plain, false)
  end
  if not marks then return nil, line_of end
  local found = lines_of(marks, line_of)
  found.coarse = coarse
  return found
end

--- Lines that a genome changes and the problem's small case does not reach, or only in part: what
--- right answers say nothing about.
---@param problem gilua.problem
---@param genome string
---@return integer[] lines, none where the coverage is not known
function M.untested(problem, genome)
  local known, found = attempt(M.of, problem, problem.checked_case or { seed = 1 })
  if not known and not ends.is_refusal(found) then error(found, 0) end
  local never, lines = {}, {}
  for _, line in ipairs(known and found and found.never or {}) do never[line] = true end
  local changed = below.lines(problem, genome)
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    if gene.target then changed[gene.target.line] = true end
    for line = gene.line or 1, gene.last_line or 0 do changed[line] = true end
    for _, line in ipairs(gene.lines or {}) do changed[line] = true end
  end
  for line in pairs(changed) do
    if never[line] then lines[#lines + 1] = line end
  end
  table.sort(lines)
  return lines
end

return M
