-- lineprofile: which lines of a kernel its threads spend their instructions on. The PTX says which
-- line each stretch of it comes from. Before each stretch an instruction is put that adds 1 to the
-- stretch's counter, once for every thread that comes there. A line's share is the sum of its
-- stretches' counts times their instructions, over all. On the virtual GPU, on one case.
--
-- Limits: an instruction counts as one, whatever it waits for; stretches of headers are no line's.

local bench = require "gilua.farm.bench"
local compiler = require "gilua.farm.compiler"
local fail = require "gilua.base.fail"

local M = {}

local COUNTERS = "gilua_counts"
local MOST_INSTRUCTIONS = 1 << 31 -- of warps: some 30 seconds on the virtual GPU

-- The number of the file that a PTX text calls kernel.cu.
local function own_files(ptx)
  local own = {}
  for number, path in ptx:gmatch '%.file%s+(%d+)%s+"([^"]*)"' do
    own[number] = path:match "([^/]+)$" == "kernel.cu"
  end
  return own
end

local function is_instruction(text) return text:find "^%s+[%a@{]" and text:find ";%s*$" end

-- PTX that counts, and its stretches: { line, n } with n instructions; line nil: of a header.
local function counting(ptx)
  local own, out, stretches, line, inside = own_files(ptx), {}, {}, nil, false
  local open
  local function add(text)
    if not open then
      open = { line = line, n = 0 }
      stretches[#stretches + 1] = open
      out[#out + 1] = ("\tred.global.add.u64 [%s+%d], 1;"):format(COUNTERS, 8 * (#stretches - 1))
    end
    open.n = open.n + 1
    out[#out + 1] = text
    if text:find "^%s+@" or text:find "^%s+bra" then open = nil end -- not all threads go on there
  end
  for text in ptx:gmatch "([^\n]*)\n" do
    local file, number = text:match "^%s*%.loc%s+(%d+)%s+(%d+)"
    if file then
      line, open = own[file] and number ~= "0" and tonumber(number) or nil, nil
    elseif text:find "^%s*[$%w_]+:" then
      open = nil
    elseif text:find "^{" then
      inside = true
    elseif text:find "^}" then
      inside, open = false, nil
    end
    if inside and is_instruction(text) then add(text) else out[#out + 1] = text end
  end
  local declared = (table.concat(out, "\n") .. "\n"):gsub("(%.address_size%s+%d+[^\n]*\n)",
    function(directive)
      return directive .. ("\n.global .align 8 .b8 %s[%d];\n"):format(COUNTERS,
        8 * math.max(1, #stretches))
    end, 1)
  return declared, stretches
end

local function shares(counts, stretches)
  local of_line, all, elsewhere = {}, 0, 0
  for i, stretch in ipairs(stretches) do
    local count = 0
    for byte = 8, 1, -1 do count = count * 256 + counts[8 * (i - 1) + byte] end
    local n = count * stretch.n
    all = all + n
    if stretch.line then of_line[stretch.line] = (of_line[stretch.line] or 0) + n
    else elsewhere = elsewhere + n end
  end
  local list = {}
  for line, n in pairs(of_line) do
    if n > 0 then list[#list + 1] = { line = line, instructions = n, share = n / all } end
  end
  table.sort(list, function(a, b) return a.line < b.line end)
  return { lines = list, instructions = all, elsewhere = elsewhere / math.max(1, all) }
end

--- Counts what a mutant's threads do in each line of its source.
---@param problem gilua.problem
---@param genome string without genes below the source
---@param spec table of the case, as problem.case takes it
---@return { lines: { line: integer, instructions: integer, share: number }[],
---  instructions: integer, elsewhere: number }
function M.of(problem, genome, spec)
  if problem.is_ptx then fail("there is no source whose lines could be counted") end
  local source, detail = problem.grammar:apply(genome, true)
  if not source then fail("the genome does not fit the kernel: %s", tostring(detail)) end
  local prepared, unprepared = problem:prepared(spec)
  if not prepared then fail("the case cannot be made: %s", unprepared) end
  local values = problem:values(detail.params)
  local ptx, why = compiler.compile(problem.grammar:guard(false) .. "#line 1\n" .. source, {
    target = bench.target "emu", name = "kernel.cu", options = problem:compile_options(values) })
  if not ptx then fail("it does not compile: %s", why) end
  local code, stretches = counting(ptx)
  local counts, refused, status = bench.noted(problem, bench.case(problem, prepared), {
    code = code, values = values, name = COUNTERS, bytes = 8 * math.max(1, #stretches),
    budget = MOST_INSTRUCTIONS })
  if not counts then
    fail("it was not profiled by line: %s", refused or status or "it did not run to its end")
  end
  return shares(counts, stretches)
end

return M
