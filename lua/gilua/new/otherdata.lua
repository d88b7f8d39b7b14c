-- otherdata: is a winner right on data of other kinds than its problem's own, and at sizes that
-- evolution has not seen? It is run beside the kernel as it is on small cases of each
-- (gilua.families), on the virtual GPU with every check on. Where the kernel as it is itself does
-- something wrong, or gives no numbers, the case tells nothing, and nobody is blamed.

local attempt = require "gilua.base.attempt"
local boundsize = require "gilua.new.boundsize"
local brokenpromise = require "gilua.problem.brokenpromise"
local compared = require "gilua.new.compared"
local csource = require "gilua.source.csource"
local families = require "gilua.problem.families"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local json = require "gilua.base.json"
local launches = require "gilua.transform.launch"
local precision = require "gilua.new.precision"
local progress = require "gilua.report.progress"
local scalaruse = require "gilua.new.scalaruse"
local stats = require "gilua.base.stats"
local tablecase = require "gilua.problem.tablecase"

local M = {}

local MOST_TIMES = 8 -- the small case's instructions: more than that is not worth waiting for
local RUNS = 3 -- of a case: for its reference, of the kernel as it is, of the genome
local MOST_INSTRUCTIONS = 400 * 1000 * 1000 -- of warps in all of them: half a minute of checks
local LEAST_CASES = 6 -- however long they take
local MOST_FULL = 10 * 1000 * 1000 -- the same of one run at the full size: some two seconds
local MOST_PLAIN = 20 * MOST_FULL -- of the reference's, which no check slows down
local MOST_BYTES = 1 << 28 -- of a case's arrays at the full size
local DIMENSIONS = { "x", "y", "z" }

---@class OtherData
---@field rows OtherRow[]
---@field right integer cases on which it is right
---@field wrong integer
---@field fixed boolean the size cannot be another
---@field tried integer other sizes on which it is right, and that change what is done
---@field guesses { text: string, right: string[] }[] numbers that are guessed: "N = 16", and the
---  cases with another value on which it is right

---@class OtherRow
---@field data string the kind of data, or the size: "long tails", "size 257"
---@field case string
---@field spec table of the case
---@field verdict string "right", "wrong" or "not told"
---@field why? string of the last two
---@field answers? integer
---@field wrong? integer answers
---@field max_error? number
---@field meets? table[] which pointers of the kernel as it is led to one byte (module:launch)
---@field is_other? boolean its size, or a number that holds one, is another than the small case's
---@field changes? boolean and so is what the kernel as it is writes or touches

--------------------------------------------------------------------------------------------------
-- Which cases

-- Does a value of the table, or one in it, speak of a size?
local function mentions(value, name)
  if type(value) == "function" then return true end
  if type(value) == "string" then
    return value:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil
  end
  for _, inner in pairs(type(value) == "table" and value or {}) do
    if mentions(inner, name) then return true end
  end
  return false
end

-- Does anything that the kernel is given follow the size in a dimension?
local function follows(t, d)
  for _, arg in ipairs(t.args) do
    for _, field in ipairs { "value", "count", "fields" } do
      if mentions(arg[field], "size_" .. DIMENSIONS[d])
        or d == 1 and mentions(arg[field], "size") then
        return true
      end
    end
  end
  return false
end

-- The sides of a block of the kernel as it is or of the winner, whichever is longer.
local function block_of(problem, text)
  local own, block = problem:values(), {}
  local sides = type(text) == "table" and text:block()
  if sides then
    for d, side in ipairs(DIMENSIONS) do
      block[d] = math.max(own["block_size_" .. side] or 1, sides[d])
    end
    return block
  end
  local _, detail = problem.grammar:apply(text)
  local winners = problem:values(detail.params)
  for d, side in ipairs(DIMENSIONS) do
    local name = "block_size_" .. side
    block[d] = math.max(own[name] or 1, winners[name] or 1)
  end
  return block
end

-- The smallest; one more than a block; whole blocks; and about as many threads as the small case,
-- in another shape.
local function size_makers(block)
  return {
    function() return 1 end,
    function(d) return block[d] + 1 end,
    function(d) return 2 * block[d] end,
    function(d, n) return d == 1 and n // 3 | 1 or 2 * n + 1 end,
  }
end

-- Sizes that are not the small case's, as lists; none where nothing follows them, or where a bound
-- that keeps threads from going on does not.
local function sizes_of(problem, text)
  local t = problem.definition.kernel_table.table
  local small, list, seen = tablecase.sizes(problem.checked_case.size), {}, {}
  seen[table.concat(small, "x")] = true
  for _, make in ipairs(size_makers(block_of(problem, text))) do
    local size = {}
    for d, n in ipairs(small) do size[d] = follows(t, d) and make(d, n) or n end
    local name = table.concat(size, "x")
    if not seen[name] and boundsize.fits(problem, size) then list[#list + 1] = size end
    seen[name] = true
  end
  return list
end

local LEAST_LENGTH = 64 -- of two full warps

-- Another length: of two warps or more one less where it is even, which is no multiple of what
-- elements may be taken together by; of less than two warps have one more than these. nil of 0, 1.
local function other_length(value)
  if value >= LEAST_LENGTH then return value % 2 == 0 and value - 1 or nil end
  return value > 1 and LEAST_LENGTH + 1 or nil
end

-- The scalar arguments that are how long arrays are and follow no size, each with another value.
local function lengths_of(problem)
  local t, list = problem.definition.kernel_table.table, {}
  for _, arg in ipairs(t.args) do
    local value, is_length = math.tointeger(tonumber(arg.value)), false
    local another = value and other_length(value)
    for _, other in ipairs(another and t.args or {}) do
      is_length = is_length or mentions(other.count, arg.name)
    end
    if is_length then list[#list + 1] = { name = arg.name, value = another } end
  end
  return list
end

-- The scalar arguments that a thread's place in its block is compared with, each with as many as a
-- block of the kernel as it is has threads: it may be given so many, however few it is given here.
-- Asked where a genome sets other blocks.
local function guards_of(problem, text)
  local has_own_block = type(text) == "table" or text:find "block_size_"
  if problem.is_ptx or not has_own_block then return {} end
  local t <close> = csource.tokens(problem.source)
  local list, derived, own = {}, scalaruse.derived(t), problem:values()
  for _, arg in ipairs(problem.definition.kernel_table.table.args) do
    local value = math.tointeger(tonumber(arg.value))
    local side = value and scalaruse.of(t, arg.name, false, derived).guard
    local most = side and own["block_size_" .. ("xyz"):sub(side, side)]
    if most and value < most then list[#list + 1] = { name = arg.name, value = most } end
  end
  return list
end

-- Whole numbers that are guessed: { name, value }.
local function guesses_of(problem)
  local list = {}
  for _, arg in ipairs(problem.definition.kernel_table.table.args) do
    local value = arg.guess and math.tointeger(tonumber(arg.value))
    if value then list[#list + 1] = { name = arg.name, value = value } end
  end
  return list
end

-- Those with other values: a little less, so that the last element is no multiple of anything, and
-- so many that two warps have work; but for what `lengths` tries already.
local function guessed_lengths(problem, lengths)
  local list, seen = {}, {}
  for _, one in ipairs(lengths) do seen[one.name .. " " .. one.value] = true end
  for _, one in ipairs(guesses_of(problem)) do
    for _, value in ipairs { one.value - 1, math.max(LEAST_LENGTH, one.value) + 1 } do
      local is_new = value > 0 and not seen[one.name .. " " .. value]
      if is_new then list[#list + 1] = { name = one.name, value = value } end
    end
  end
  return list
end

--- The cases for a genome: what each is called, and its spec.
---@param problem gilua.problem of a kernel table
---@param text string genome
---@param more? table of each spec: { seed = 1, budget }
---@return { data: string, spec: table }[] list
---@return boolean fixed the size cannot be another
function M.cases(problem, text, more)
  local list, given = {}, more or { seed = 1 }
  local function add(data, size, family)
    list[#list + 1] = { data = data, spec = { seed = given.seed, size = size, family = family,
                                              budget = given.budget } }
  end
  for _, name in ipairs(families.of(problem.definition.kernel_table.table)) do
    add(name, problem.checked_case.size, name)
  end
  for _, name in ipairs(type(text) == "table" and not text.own_data
      and families.beyond(problem.definition.kernel_table.table) or {}) do
    add(name, problem.checked_case.size, name)
  end
  local numbers = problem.is_ptx and {} or compared.of(problem.source)
  local holding = #numbers > 0 and families.holding(numbers)
  if holding and #families.arrays(problem.definition.kernel_table.table, holding) > 0 then
    add(holding, problem.checked_case.size, holding)
  end
  local sizes = sizes_of(problem, text)
  for _, size in ipairs(sizes) do
    add("size " .. table.concat(size, "x"), size)
    list[#list].is_other = true
  end
  local lengths = lengths_of(problem)
  for _, more_lengths in ipairs { guessed_lengths(problem, lengths), guards_of(problem, text) } do
    table.move(more_lengths, 1, #more_lengths, #lengths + 1, lengths)
  end
  for _, one in ipairs(lengths) do
    add(("%s %d"):format(one.name, one.value), problem.checked_case.size)
    list[#list].spec.values, list[#list].is_other = { [one.name] = one.value }, true
  end
  return list, #sizes == 0 and #lengths == 0
end

local function product(size)
  local n = 1
  for _, side in ipairs(size) do n = n * side end
  return n
end

-- The scalar arguments that are others at one size than at another, with their values at the first.
local function arguments_at(problem, size, other)
  local self, values = problem.definition.kernel_table, {}
  local there = tablecase.names(self, size, problem:values())
  local here = tablecase.names(self, other, problem:values())
  for _, arg in ipairs(self.table.args) do
    local is_other = arg.value ~= nil and there[arg.name] ~= here[arg.name]
    if is_other then values[arg.name] = there[arg.name] end
  end
  return values
end

local function bytes_of(problem, spec)
  local self = problem.definition.kernel_table
  return tablecase.bytes(self, tablecase.names(self, spec.size, problem:values(), spec.values))
end

-- Returns the case of the problem's full size, which may reach other branches and blocks. With
-- is_part it has the small case's threads with the arguments of the full size; without a choice,
-- that is used if the full size takes too long. nil if the small case has the full size; `refused`
-- if its arrays are too large.
local function full_case(problem, instructions, seed, is_part)
  local full = tablecase.sizes(problem.definition.kernel_table.table.size)
  local small = tablecase.sizes(problem.checked_case.size)
  if product(full) == product(small) then return nil end
  local case = { data = "size " .. table.concat(full, "x"), is_full = true, is_other = true,
    spec = { seed = seed, size = full, budget = MOST_PLAIN, checked_budget = MOST_FULL } }
  case.is_part = is_part
  if is_part == nil then
    case.is_part = instructions * (product(full) / product(small)) > MOST_FULL
  end
  if case.is_part then
    case.data = ("%d threads with the arguments of %s"):format(product(small), case.data)
    case.spec.size, case.spec.values = small, arguments_at(problem, full, small)
  end
  if bytes_of(problem, case.spec) > MOST_BYTES then
    case.refused = ("not run: its arrays take more than %d MB"):format(MOST_BYTES >> 20)
  end
  return case
end

--- What a winner promises of its full size, where no check could run there: a sentence. nil where
--- one did, as long as its instructions lasted, or where the small case is of that size.
---@param data? OtherData
---@return string?
function M.unchecked(data)
  for _, row in ipairs(data and data.rows or {}) do
    if row.is_full and row.verdict == "not told" and not row.has_begun then
      return ("that nothing races or fails at its full size alone, where the checks did not run "
        .. "(%s: %s)"):format(row.data, row.why)
    end
  end
  return nil
end

-- Guesses that were tried with no other value, with commas; nil where there are none.
local function untried(data)
  local list = {}
  for _, one in ipairs(data and data.guesses or {}) do
    if #one.right == 0 then list[#list + 1] = one.text end
  end
  return list[1] and table.concat(list, ", ")
end

--- Why the data say nothing of sizes but the small case's: numbers hold it that are guessed, and no
--- other value or size was tried that changes what is done. nil where something was.
---@param data? OtherData
---@return string?
function M.held(data)
  local names = untried(data)
  if not names or data.tried > 0 then return nil end
  return ("%s %s guessed, and no other size was tried that changes what the kernel as it is writes "
    .. "or touches"):format(names, names:find(",", 1, true) and "are" or "is")
end

--- The same as what a winner promises.
---@param data? OtherData
---@return string?
function M.promised(data)
  local why = M.held(data)
  return why and ("that it is right at sizes of your program (%s)"):format(why)
end

--- What a verdict rests on, right as it is: a sentence for each guess.
---@param data? OtherData
---@return string[]
function M.rests(data)
  local list = {}
  if not data or data.wrong > 0 then return list end
  for i, one in ipairs(data.guesses or {}) do
    list[i] = #one.right > 0 and ("%s, a guess: right with %s, too"):format(one.text,
      table.concat(one.right, ", "))
      or ("%s, a guess: no other value was tried with success"):format(one.text)
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- The verdict

-- What the kernel as it is does not do must not be done by another either.
local GRAVE = { uninitialised_read = true, local_overrun = true, shared_overrun = true,
  undefined_shuffle = true, undefined_value = true }

local WAYS = { backwards = "with the last block first: ", -- of farm:examine
  again = "launched a second time, on other data: " }

local COARSE = 0.01 -- of the largest answer: an error above that is no rounding
local MOSTLY = 0.5 -- so many answers that are no number say nothing

local function first_line(text)
  return (text:match "^[^\n]*")
end

local function first_clause(text)
  return (text:match "^[^;\n]*")
end

-- The first thing of that sort that it does and the kernel as it is does not.
local function graver(m, own)
  local known = {}
  for _, w in ipairs(own.warnings or {}) do known[w.kind] = true end
  for _, w in ipairs(m.warnings or {}) do
    if GRAVE[w.kind] and not known[w.kind] then return first_line(w.message) end
  end
end

-- What rounding makes of such data, or nothing where that cannot be found out.
local function rounding_on(problem, spec)
  local ok, bound = attempt(precision.most, problem, spec)
  if ok then return bound end
  if type(bound) ~= "table" then error(bound, 0) end -- the interrupt key, a fault of ours
  return 0
end

-- Is it right by the problem's tolerance? Where the data are of another size than the problem's,
-- by what rounding makes of them.
local function is_right(problem, spec, m, largest)
  if fitness.right(m) then return true end
  if m.unset > 0 or m.max_error ~= m.max_error or m.max_error > COARSE * largest then
    return false
  end
  return m.max_error <= rounding_on(problem, spec)
end

-- Why a case tells nothing; nil where it does.
local function untold(problem, spec, found)
  if found.why then return first_clause(found.why) end
  local own = found.verdicts and found.verdicts[1]
  if not own then return nil end
  if own.status ~= "ok" then
    return "the kernel as it is fails: " .. first_clause(own.message or own.status)
  elseif not found.largest or own.nan > MOSTLY then
    return "the kernel as it is gives no numbers"
  elseif own.unset > 0 then
    return "the kernel as it is does not write all answers"
  elseif not is_right(problem, spec, own, found.largest) then
    return "the kernel as it is does not give its reference's answers"
  end
end

-- What a genome takes for granted of its arrays and the case shows to be otherwise.
local function broken(problem, text, own)
  return type(text) == "string" and brokenpromise.of(problem, text, own.meets) or nil
end

-- Why a run is wrong; nil where it is right.
local function wrong_run(problem, text, spec, found, m)
  local own = found.verdicts[1]
  if m.status ~= "ok" then return first_line(m.message or m.status) end
  local why = broken(problem, text, own)
  if why then return why end
  if is_right(problem, spec, m, found.largest) then return graver(m, own) end
  return ("%s of %s answers, %s"):format(progress.grouped(math.floor(m.off * m.n + 0.5)),
    progress.grouped(m.n), m.unset > 0 and "some never written"
      or ("largest error %.3g"):format(m.max_error))
end

-- Why it is wrong, run once or in one of its ways; nil where it is right.
local function wrong(problem, text, spec, found)
  if found.lost then return ("%s: %s"):format(found.lost.status, first_line(found.lost.message)) end
  for i = 2, #found.verdicts do
    local m, way = found.verdicts[i], i > 2 and WAYS[text.ways[i - 2]] or ""
    local why = m and wrong_run(problem, text, spec, found, m)
    if why then return way .. why end
  end
end

-- Of a full size on which the kernel as it is used its instructions up and did nothing wrong: the
-- verdict on the other, why, and whether it did the same. nil of any other case.
local function begun(case, found)
  local own, m = (found.verdicts or {})[1], (found.verdicts or {})[2]
  if not case.is_full or not m or own.status ~= "timeout" then return nil end
  if m.status == "ok" or m.status == "timeout" then
    return "not told", ("its first %s warp instructions did nothing wrong, and no more were run")
      :format(progress.grouped(MOST_FULL)), true
  end
  return "wrong", first_line(m.message or m.status), false
end

-- For a problem made of a user's file, returns what the launch of a case cannot fulfil of a
-- change's conditions; nil for any other. gilua.promises compares the host's code with them.
local function unmet(problem, found)
  local m, t = found.verdicts and found.verdicts[2], problem.definition.kernel_table.table
  local is_unmet = m and m.status == "launch_error" and t.made_from and launches.is_unmet(m.message)
  return is_unmet and m.message or nil
end

-- Of an answer that is off by much of its size and by no more than rounding makes of such data, as
-- of a sum whose parts cancel: why it tells nothing. nil of any other.
local function cancelled(problem, spec, found)
  local m = found.verdicts and found.verdicts[2]
  local may_be = m and m.status == "ok" and m.unset == 0 and not fitness.right(m)
    and m.max_error == m.max_error and m.max_error > COARSE * found.largest
  if may_be and m.max_error <= rounding_on(problem, spec) then
    return "of these answers rounding alone makes others as far off"
  end
end

-- Does what the kernel as it is writes or touches follow the size? base: what is found of it at the
-- small case's size; nothing is known where it fails there.
local function changes(found, base)
  local own, small = (found.verdicts or {})[1], base and (base.verdicts or {})[1]
  if not own or not small or own.status ~= "ok" or small.status ~= "ok" then return false end
  return found.extent ~= base.extent or own.touched ~= small.touched
end

local UNCHANGED = "the kernel as it is writes and touches the same there: it is no other size"

---@return OtherRow
local function row_of(problem, text, case, found, base)
  local row = { data = case.data, case = found.name or case.data, spec = case.spec,
                is_full = case.is_full, is_other = case.is_other, verdict = "right" }
  row.changes = case.is_other and changes(found, base) or nil
  local verdict, why, has_begun = begun(case, found)
  if verdict then
    row.verdict, row.why, row.has_begun = verdict, why, has_begun
    return row
  end
  row.why = untold(problem, case.spec, found) or unmet(problem, found)
    or cancelled(problem, case.spec, found)
  if row.why then
    row.verdict = "not told"
    return row
  end
  row.meets = found.verdicts and found.verdicts[1].meets
  row.why = wrong(problem, text, case.spec, found)
  if row.why then
    row.verdict = "wrong"
  elseif row.is_other and not row.is_full and not row.changes then
    row.verdict, row.why = "not told", UNCHANGED
    return row
  end
  local m = found.verdicts and found.verdicts[2]
  if m and m.status == "ok" then
    row.answers, row.max_error = m.n, m.max_error
    row.wrong = math.floor(m.off * m.n + 0.5)
  end
  return row
end

-- A genome on cases, or rows of earlier ones: a row for each. Where some are of other sizes, the
-- small case's own is run beside them (base).
local function rows_on(problem, farm, text, cases)
  local specs, rows, by_hand, other = {}, {}, type(text) == "table", nil
  for i, case in ipairs(cases) do
    specs[i], other = case.spec, other or case.is_other and case or nil
  end
  if other then
    specs[#specs + 1] = { seed = other.spec.seed, size = problem.checked_case.size }
  end
  if by_hand then text:reach(specs) end
  local found, why = farm:examine(text, specs, by_hand and text.ways or nil)
  for i, case in ipairs(cases) do
    rows[i] = row_of(problem, text, case, found and found[i]
      or { lost = { status = "compile_error", message = why } }, found and found[#cases + 1])
  end
  return rows
end

--- Runs one case.
---@param problem gilua.problem of a kernel table
---@param farm gilua.farm
---@param text string|Counterpart
---@param case { data: string, spec: table }
---@return OtherRow
function M.one(problem, farm, text, case) return rows_on(problem, farm, text, { case })[1] end

local function with_verdict(rows, verdict)
  local list = {}
  for _, row in ipairs(rows) do
    if row.verdict == verdict then list[#list + 1] = row end
  end
  return list
end

-- The cases of a family that told nothing, for each array alone: one of them may be an index.
local function each_alone(problem, row)
  local list, family = {}, row.spec.family
  local names = family and families.arrays(problem.definition.kernel_table.table, family) or {}
  for i, name in ipairs(#names > 1 and names or {}) do
    local spec = { array = name }
    for key, value in pairs(row.spec) do spec[key] = value end
    list[i] = { data = ("%s of %s"):format(family, name), spec = spec }
  end
  return list
end

-- What told nothing as a whole is tried array by array, and stays where that tells nothing either.
local function taken_apart(problem, farm, text, rows)
  local list = {}
  for _, row in ipairs(rows) do
    local alone = row.verdict == "not told" and each_alone(problem, row) or {}
    local told = 0
    for _, part in ipairs(#alone > 0 and rows_on(problem, farm, text, alone) or {}) do
      if part.verdict ~= "not told" then list[#list + 1], told = part, told + 1 end
    end
    if told == 0 then list[#list + 1] = row end
  end
  return list
end

-- The row of a case that does not run.
local function not_run(case, why)
  return { data = case.data, case = case.data, spec = case.spec, is_full = case.is_full,
           verdict = "not told", why = why }
end

local function row_of_full(problem, farm, text, case)
  if case.refused then return not_run(case, case.refused) end
  return rows_on(problem, farm, text, { case })[1]
end

-- The row of the full size, or of a part of its threads: where one tells nothing, of the other. An
-- array that is as long as the part has threads may be too short for the full size's arguments.
local function full_row(problem, farm, text, instructions, seed)
  local case = full_case(problem, instructions, seed)
  local row = case and row_of_full(problem, farm, text, case)
  if not row or row.verdict ~= "not told" then return row end
  local other = row_of_full(problem, farm, text,
    full_case(problem, instructions, seed, not case.is_part))
  local says_more = other.verdict ~= "not told" or other.has_begun and not row.has_begun
  return says_more and other or row
end

-- Without the cases that another file's kernel is not run on; those as rows that say why.
local function followed(text, cases)
  local some, rest = {}, {}
  for _, case in ipairs(cases) do
    local why = type(text) == "table" and text:avoids(case.spec)
    if why then rest[#rest + 1] = not_run(case, why) else some[#some + 1] = case end
  end
  return some, rest
end

-- The cases that there is time for, evenly over all; the others as rows that say so.
local function affordable(cases, instructions)
  local most = math.max(LEAST_CASES, MOST_INSTRUCTIONS // (RUNS * math.max(instructions, 1)))
  local some, rest = stats.evenly(cases, most)
  for i, case in ipairs(rest) do
    rest[i] = not_run(case, "not run: the small case is too large to run it on all")
  end
  return some, rest
end

-- How many other sizes were tried, and changed something.
local function tried(rows)
  local n = 0
  for _, row in ipairs(rows) do
    n = n + (row.verdict == "right" and row.changes and 1 or 0)
  end
  return n
end

-- What is guessed, and with which other values it was right.
local function guessed(problem, rows)
  local list = {}
  for i, one in ipairs(guesses_of(problem)) do
    list[i] = { text = ("%s = %d"):format(one.name, one.value), right = {} }
    for _, row in ipairs(rows) do
      local value = row.spec.values and row.spec.values[one.name]
      local told = value and value ~= one.value and row.verdict == "right" and row.changes
      if told then table.insert(list[i].right, row.data) end
    end
  end
  return list
end

--- Runs a genome on all of them, or of a small case that is large on as many as a minute allows.
---@param problem gilua.problem of a kernel table
---@param farm gilua.farm
---@param text string|Counterpart genome, or another file's kernel
---@param seed? integer
---@return OtherData
function M.of(problem, farm, text, seed)
  local instructions = farm:check({ "" })[1].instructions or 0
  local cases, fixed = M.cases(problem, text, { seed = seed or 1,
    budget = instructions > 0 and instructions * MOST_TIMES or nil })
  local own, unfollowed = followed(text, cases)
  local some, rest = affordable(own, instructions)
  table.move(unfollowed, 1, #unfollowed, #rest + 1, rest)
  local rows = rows_on(problem, farm, text, some)
  if #rest == #unfollowed then rows = taken_apart(problem, farm, text, rows) end
  rest[#rest + 1] = full_row(problem, farm, text, instructions, seed or 1)
  table.move(rest, 1, #rest, #rows + 1, rows)
  return { rows = rows, right = #with_verdict(rows, "right"), wrong = #with_verdict(rows, "wrong"),
           fixed = fixed, tried = tried(rows), guesses = guessed(problem, rows) }
end

--------------------------------------------------------------------------------------------------
-- At the end of evolution

---@class RefusedGene
---@field gene string
---@field row OtherRow where it is wrong with it

-- The genes, in their order, with which a genome is right where it was wrong.
local function without_wrong(problem, farm, text, rows, refuse)
  local kept = ""
  for _, gene in ipairs(genome.split(text)) do
    local more = genome.join { kept, gene }
    local row = with_verdict(rows_on(problem, farm, more, rows), "wrong")[1]
    if row then refuse(gene, row) else kept = more end
  end
  return kept
end

--- What holds winners to other data: `hold` of a scheme of gilua.evolve, and an observer that puts
--- into the result what was found there (data, of the winner; refused). Empty where a problem is no
--- table.
---@param problem gilua.problem
---@param farm gilua.farm
---@return { hold?: fun(text: string): string, data_of?: fun(text: string): OtherData?,
---  on_end?: fun(run: Run), data?: OtherData, refused?: RefusedGene[] }
function M.watch(problem, farm)
  if not problem.definition.kernel_table then return {} end
  local refused, known, data_of = {}, {}, {}
  local function refuse(gene, row)
    if not known[gene] then refused[#refused + 1] = { gene = gene, row = row } end
    known[gene] = true
  end
  local function hold(text)
    if text == "" then return text end
    local data = M.of(problem, farm, text)
    data_of[text] = data
    if data.wrong == 0 then return text end
    local kept = without_wrong(problem, farm, text, with_verdict(data.rows, "wrong"), refuse)
    return kept == text and "" or hold(kept) -- of fewer genes, so that it ends
  end
  local watch = { hold = hold, refused = refused }
  function watch.data_of(text) return data_of[text] end
  function watch.on_end(run)
    if not run.result or run.stopped then return end
    watch.data = data_of[run.result.best.genome]
    local promises = run.result.promises or {}
    promises[#promises + 1] = M.unchecked(watch.data)
    promises[#promises + 1] = M.promised(watch.data)
    run.result.other_data = M.value(watch.data)
    run.result.refused = M.refused_value(refused)
  end
  return watch
end

--------------------------------------------------------------------------------------------------
-- What is said of it

-- Names of the data of some verdict, with commas.
local function named(data, verdict)
  local names = with_verdict(data.rows, verdict)
  for i, row in ipairs(names) do names[i] = row.data end
  return table.concat(names, ", ")
end

--- Lines for people: those where it is right together, each of the others with its reason. One that
--- was given before is not said again.
---@param data OtherData
---@return string[]
function M.lines(data)
  local lines, said = {}, {}
  if data.right > 0 then lines[1] = "  right on " .. named(data, "right") end
  for _, row in ipairs(data.rows) do
    if row.why then
      local why = said[row.why] and "as on " .. said[row.why] or row.why
      said[row.why] = said[row.why] or row.data
      lines[#lines + 1] = ("  %-40s %s: %s"):format(row.data, row.verdict == "wrong" and "WRONG"
        or row.verdict, why)
    end
  end
  if data.fixed then
    lines[#lines + 1] = "  no other size: nothing that the kernel is given follows it"
  end
  for _, text in ipairs(M.rests(data)) do lines[#lines + 1] = "  rests on " .. text end
  return lines
end

--- All of them in a line.
---@param data OtherData
---@return string
function M.line(data)
  local parts, wrong_names, untold_names = {}, named(data, "wrong"), named(data, "not told")
  if wrong_names ~= "" then parts[1] = "wrong on " .. wrong_names end
  parts[#parts + 1] = ("right on %d"):format(data.right)
  if untold_names ~= "" then parts[#parts + 1] = "not told: " .. untold_names end
  return table.concat(parts, "; ")
end

local function json_row(row)
  return json.object { { "data", row.data }, { "case", row.case }, { "verdict", row.verdict },
    { "why", row.why }, { "answers", row.answers }, { "wrong", row.wrong },
    { "max_error", row.max_error } }
end

--- The rows for JSON.
---@param data? OtherData
---@return table? nil where there are none
function M.value(data)
  if not data then return nil end
  local rows = {}
  for i, row in ipairs(data.rows) do rows[i] = json_row(row) end
  return json.array(rows)
end

--- Genes that were left out, for JSON.
---@param refused RefusedGene[]
---@return table
function M.refused_value(refused)
  local list = {}
  for i, r in ipairs(refused) do
    list[i] = json.object { { "gene", r.gene }, { "data", r.row.data }, { "why", r.row.why } }
  end
  return json.array(list)
end

return M
