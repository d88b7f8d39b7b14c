--- trial: a draft is tried on the virtual GPU, and what a run shows is put right: a guess that a
-- fault speaks against becomes another, until the kernel runs or nothing is left to guess. Roles,
-- the small case, fills and the tolerance are found by running, too.

local adequacy = require "gilua.study.adequacy"
local argumentguess = require "gilua.new.argumentguess"
local attempt = require "gilua.base.attempt"
local boundsize = require "gilua.new.boundsize"
local ends = require "gilua.base.ends"
local fills = require "gilua.new.fills"
local gi = require "gilua"
local kerneltable = require "gilua.problem.kerneltable"
local launchguess = require "gilua.new.launchguess"
local offered = require "gilua.new.offered"
local otherseeds = require "gilua.new.otherseeds"
local precision = require "gilua.new.precision"
local problemtext = require "gilua.new.problemtext"
local report = require "gilua.report.report"
local tablecase = require "gilua.problem.tablecase"

local M = {
  budget = 25e6, -- warp instructions of the kernel as it is: under a second on the virtual GPU
  most_bytes = 64e6, -- of its arrays together: making and comparing them takes time as well
}

local PROGRAM = 4 -- times most_bytes, for a program whose sizes cannot be reduced
local LONG = 1 << 22 -- elements of an array that is made shorter
local LEAST_SIZE = 64 -- that is halved
local LEAST_VALUE = 64 -- that is made smaller
local MOST_STEPS = 60 -- changes of one set of guesses
local MOST_TIMEOUTS = 12 -- of all of them
local MOST_LONGER = 64 -- times what was guessed, of what then has more than these bytes
local LITTLE = 4 << 20
local MOST_SHARED = 48 << 10 -- bytes of dynamic shared memory
local FILLING = 12 -- warp instructions take as long as filling and comparing a byte
local FEW = 8 -- of what is a size by its name alone
local SMALL, SMALL_SIDE = 1024, 64 -- for unknown sizes
local LEAST_BLOCKS = 2 -- of a small case that is made smaller
local LEAST_ALONG = 64 -- blocks of one thread along a dimension there, which rewritings may share
local MOSTLY = 0.5 -- so many answers that are no number say nothing
local MOST_PROBED = 100000000 -- warp instructions of probes of the small case, as they begin
local MOST_SMALL = 2000000 -- of the small case, which is made smaller until two blocks are left
local MOST_ROUNDS = 2 * MOST_SMALL -- else its loops get fewer rounds

local function write_problem(draft)
  report.write(draft.folder .. "/problem.lua", problemtext.of(draft))
  return gi.problem(draft.folder)
end

-- Says something of an argument in place of what was said that begins so.
local function set_note(arg, old, new)
  for i, note in ipairs(arg.notes) do
    if note:sub(1, #old) == old then
      arg.notes[i] = new
      return
    end
  end
  arg.notes[#arg.notes + 1] = new
end

--------------------------------------------------------------------------------------------------
-- Less of it, where a run takes too long or the data are too many

--- What `gilua new` notes behind such a size.
M.SMALLER = "your program's is %s; smaller here, so that the virtual GPU takes less than a "
  .. "second"

--- The size of a problem that was made smaller than the program's, and the program's; nil where it
--- was not, or a person has given it the program's since.
---@param text string problem.lua
---@return string? own as it is written there
---@return string? original
function M.smaller(text)
  local own, original =
    text:match "\n  size = ([^\n]-), %-%- your program's is ([^\n;]-); smaller here"
  if own ~= original then return own, original end
end

-- What a dimension is made of: threads where an argument says how many, else whole blocks.
local function least_of(shape, d)
  return shape.link[d] and 1 or shape.block[d]
end

-- The widest dimension that can be halved: one that an argument says, else any, in whole blocks.
local function widest(shape)
  local best
  for _, linked in ipairs { true, false } do
    for d, n in ipairs(shape.size) do
      local least = linked and LEAST_SIZE or 2 * shape.block[d]
      local is_one = (shape.link[d] ~= nil) == linked and n >= least
      if is_one and (not best or n > shape.size[best]) then best = d end
    end
    if best then return best end
  end
end

local function halve_size(draft)
  local shape = draft.shape
  local d = widest(shape)
  if not d then return false end
  local least = least_of(shape, d)
  draft.original = draft.original or table.move(shape.size, 1, #shape.size, 1, {})
  shape.size[d] = (shape.size[d] // least + 1) // 2 * least
  draft.size_note = M.SMALLER:format(problemtext.size(draft.original))
  return true
end

-- All rows of the arguments, members of structs among them.
local function rows_of(draft)
  local list = {}
  for i, one in ipairs(argumentguess.flat(draft)) do list[i] = one.row end
  return list
end

-- The outputs: of numbers, each with the row that says its role.
local function outputs_of(draft)
  local list = {}
  for _, one in ipairs(argumentguess.flat(draft)) do
    local role = one.block.role
    if one.is_leaf and (role == "out" or role == "inout") then list[#list + 1] = one end
  end
  return list
end

-- Makes the largest number smaller that a thread may loop to.
local function lower_value(draft)
  local most, largest
  for _, arg in ipairs(rows_of(draft)) do
    local value = arg.value and math.tointeger(tonumber(arg.value))
    if value and value >= LEAST_VALUE and (not most or value > most) then
      most, largest = value, arg
    end
  end
  if not largest then return false end
  largest.original = largest.original or largest.value
  largest.value = tostring(most // 8)
  set_note(largest, "GUESS: your", "GUESS: " .. M.SMALLER:format(largest.original))
  return true
end

-- How often a size is halved after a run that took too long: by how far it got, blocks being run in
-- their order. Half as often as that says, as work may grow faster than the size.
local function halvings(shape, why)
  local at = { why:match "block %((%d+),(%d+),(%d+)%)" }
  local done, all = 1, 1
  for d, n in ipairs(shape.size) do
    local blocks = math.max(1, n // (shape.block[d] * (shape.each[d] or 1)))
    done, all = done + (tonumber(at[d]) or 0) * all, all * blocks
  end
  return shape.fixed_grid and 1 or math.max(1, math.ceil(math.log(all / done, 2) / 2))
end

-- Where not even the first block ends, it is not for there being many.
local function less_work(draft, why)
  local changed = why:find("block (0,0,0)", 1, true) and lower_value(draft)
  if changed then return true end
  for _ = 1, halvings(draft.shape, why) do changed = halve_size(draft) or changed end
  return changed or lower_value(draft)
end

-- The longest array of a fixed length, shorter; how far the kernel reaches shows.
local function shorten(draft)
  local most, longest = LONG, nil
  for _, arg in ipairs(rows_of(draft)) do
    local count = arg.count and math.tointeger(tonumber(arg.count))
    if count and count > most then most, longest = count, arg end
  end
  if not longest then return false end
  longest.original = longest.original or longest.count
  longest.count = tostring((most + 1) // 2)
  set_note(longest, "GUESS: your", ("GUESS: your program's has %s; shorter here"):format(
    longest.original))
  return true
end

--------------------------------------------------------------------------------------------------
-- More of it, where the kernel reaches further

--- Is anything of a draft guessed?
---@param draft Draft
---@return boolean
function M.is_guessed(draft)
  if draft.shape.guessed or draft.shape.block_guessed or draft.original then return true end
  for _, arg in ipairs(rows_of(draft)) do
    for _, note in ipairs(arg.notes) do
      if note:find "GUESS" then return true end
    end
  end
  return false
end

local function note_longer(arg)
  for i, note in ipairs(arg.notes) do
    if note:find "^%d+ bytes, " then
      arg.notes[i] = "GUESS: longer than " .. note
      return
    end
  end
  set_note(arg, "GUESS: how many", "GUESS: how many, as far as it reaches")
end

-- Where an array has fewer elements than the program gives it, for there are fewer threads than the
-- program's, it gets them all.
local function is_less(arg, bytes)
  local wanted = (arg.elements or 0) * (arg.bytes or tonumber(arg.type:match "%d+") // 8)
  if arg.longer or arg.original or wanted <= tonumber(bytes) then return false end
  arg.count = tostring(arg.elements)
  return true
end

-- Makes the array longer that a fault lies behind the end of. Where nothing is guessed the kernel
-- is wrong, and that is to be told.
local function lengthen(draft, why)
  local byte, name, bytes = why:match "global memory at byte (%d+) of '([%w_.*]+)' %((%d+) bytes%)"
  for _, arg in ipairs(byte and M.is_guessed(draft) and rows_of(draft) or {}) do
    if arg.name == name then
      if is_less(arg, bytes) then return true end
      local longer = arg.longer or 1
      repeat longer, bytes = longer * 2, bytes * 2 until bytes > tonumber(byte)
      if longer > MOST_LONGER and bytes > LITTLE then return false end -- before it, or anywhere
      if not arg.longer then
        arg.guessed = arg.count
        note_longer(arg)
      end
      arg.longer, arg.count = longer, ("(%s) * %d"):format(arg.guessed, longer)
      return true
    end
  end
  return false
end

-- An array that the kernel writes under another name: a reference, a pointer made of it.
local function make_written(draft, why)
  local name = why:match "read%-only memory: write of .- of '([%w_.*]+)'"
  for _, arg in ipairs(name and rows_of(draft) or {}) do
    if arg.name == name and (arg.role or "in") == "in" then
      arg.role = "inout"
      arg.notes[#arg.notes + 1] = "a run writes to it"
      return true
    end
  end
  return false
end

-- Dynamic shared memory that reaches as far as the kernel does.
local function share_more(draft, why)
  local offset, bytes = why:match "shared memory at offset 0x(%x+) %((%d+) bytes%)"
  offset = offset and tonumber(offset, 16)
  if not offset or offset >= MOST_SHARED then return false end
  if bytes == "0" then -- what a header or a function declares
    if draft.shared then return false end
    draft.shared = launchguess.shared_guess()
    return true
  end
  local shared = draft.shared
  if not shared then return false end
  shared.times = (shared.times or 1) * 2
  while bytes * 2 <= offset do shared.times, bytes = shared.times * 2, bytes * 2 end
  return true
end

--------------------------------------------------------------------------------------------------
-- Other guesses

local function named(args, name)
  for _, arg in ipairs(args) do
    if arg.name == name then return arg end
  end
end

-- Is the largest of the arrays made of a size?
local function follows_size(problem)
  local self = problem.definition.kernel_table
  local names = tablecase.names(self, tablecase.sizes(self.table.size), self:defaults())
  local most, largest = 0, nil
  for _, block in ipairs(self.rows.blocks) do
    local bytes = tablecase.block_bytes(block, names)
    if bytes > most then most, largest = bytes, block end
  end
  for _, count in ipairs(largest and largest.counts or {}) do
    for name in tostring(count[1]):gmatch "[%a_][%w_]*" do
      local arg = name:find "^size" and { value = "size" } or named(self.table.args, name)
      if arg and type(arg.value) == "string" and arg.value:find "size" then return true end
    end
  end
  return false
end

-- The whole case with the first seed, then with others: outputs of the first, measurement; or nil,
-- why not, and the measurement of what failed.
local function run_whole(problem, most_bytes)
  local outputs, m, failed = kerneltable.run(problem, { seed = 1 },
    { budget = M.budget, most_bytes = most_bytes })
  if not outputs then return nil, m, failed end
  local _, why, otherwise = otherseeds.run(problem, 1, { budget = M.budget })
  if why then return nil, why, otherwise end
  return outputs, m
end

-- Runs a draft with what is guessed of it made smaller and larger until it fits: problem, outputs,
-- measurement; or problem, nil and why it does not run.
local function settle(draft, left)
  for _ = 1, MOST_STEPS do
    local problem = write_problem(draft)
    local outputs, why, m = run_whole(problem, left.bytes)
    if outputs then return problem, outputs, why end
    local again
    if m and m.status == "out_of_memory" then
      again = shorten(draft) or follows_size(problem) and halve_size(draft) or lower_value(draft)
    elseif m and m.status == "timeout" then
      left.timeouts = left.timeouts - 1
      again = left.timeouts > 0 and less_work(draft, why)
    else
      again = make_written(draft, why) or lengthen(draft, why) or share_more(draft, why)
    end
    if not again then return problem, nil, why end
  end
end

-- Unknown whole numbers get this value, except for sizes.
local function all_values(draft, value)
  local changed = false
  for _, arg in ipairs(rows_of(draft)) do
    local was = arg.value_guessed and math.tointeger(tonumber(arg.value))
    if was and was ~= tonumber(value) then arg.value, changed = value, true end
  end
  return changed
end

local function ones(draft) return all_values(draft, "1") end
local function zero_values(draft) return all_values(draft, "0") end
local function threes(draft) return all_values(draft, "3") end -- a factor that can be seen

-- Unknown whole numbers, and those that may be indices, stay small.
local function small_numbers(draft, fill_with)
  local changed = false
  for _, arg in ipairs(rows_of(draft)) do
    local fill = arg.role ~= "inout" and not arg.type:find "^f" and arg.fill or ""
    local small = fill:find "^{ 0, " and (fill_with or "{ 0, 1 }")
      or fill:find "ascending" and "{ ascending = 1 }"
    if small then
      arg.fill, changed = small, true
      set_note(arg, fill:find "ascending" and "GUESS: offsets" or "GUESS: used as an index",
        "GUESS: small, as larger ones lead out of an array")
    end
  end
  return changed
end

-- Numbers that are sizes by their names alone are small: what is made of several may be too much.
local function few(draft)
  local changed = false
  for _, arg in ipairs(rows_of(draft)) do
    local by_name = arg.value_guessed and arg.notes[1] == "GUESS: from its name"
    if by_name and arg.value:find "size" then
      arg.value, changed = arg.value:gsub('"size_[xyz]"', tostring(FEW)), true
      arg.notes[1] = "GUESS: small, as larger ones lead nowhere"
    end
  end
  return changed
end

-- Unknown sizes are small.
local function small_sizes(draft)
  local shape, changed = draft.shape, false
  local most = #shape.size == 1 and SMALL or SMALL_SIDE
  for d, n in ipairs(shape.guessed and shape.size or {}) do
    if n > most then shape.size[d], changed = most, true end
  end
  return changed
end

-- One block: what leads out of an array, or is written by several.
local function one_block(draft)
  local shape, changed = draft.shape, false
  for d, n in ipairs(shape.size) do
    local one = (shape.rows[d] and 1 or shape.block[d]) * math.max(1, shape.each[d] or 1)
    if n > one then shape.size[d], changed = one, true end
  end
  if changed and shape.fixed_grid then shape.fixed_grid = { 1, 1, 1 } end
  if changed then draft.size_note = "GUESS: one block, as more lead nowhere" end
  return changed
end

-- What may be guessed otherwise where data cannot tell; in this order.
local WHERE_DOUBTED = { threes, few, small_sizes }

-- Likewise where blocks race.
local WHERE_RACING = { one_block }

-- What may be guessed otherwise where a fault is not one of too much or too little; in this order.
local OTHERS = {
  function() return true end,
  ones,
  zero_values,
  small_numbers,
  function(draft) return ones(draft) and small_numbers(draft) end,
  function(draft) return zero_values(draft) and small_numbers(draft) end,
  function(draft) return small_numbers(draft, "{ 1, 2 }") end,
  few,
  small_sizes,
  function(draft) return few(draft) and ones(draft) end,
  function(draft) return small_sizes(draft) and small_numbers(draft) end,
}

-- Likewise where none of these helps.
local LAST = {
  one_block,
  function(draft) return one_block(draft) and ones(draft) end,
  function(draft) return one_block(draft) and ones(draft) and small_numbers(draft) end,
}

local function copy(value)
  if type(value) ~= "table" then return value end
  local other = {}
  for k, v in pairs(value) do other[k] = copy(v) end
  return other
end

local GUESSED = { "shape", "args", "constants", "shared", "size_note", "original",
  "checked_size", "checked_values" } -- of a draft

local function state_of(draft)
  local state = {}
  for _, field in ipairs(GUESSED) do state[field] = copy(draft[field]) end
  return state
end

local function restore(draft, state)
  for _, field in ipairs(GUESSED) do draft[field] = copy(state[field]) end
end

-- How many elements a kernel wrote.
local function written_of(array)
  local blank, written = gi.array(array:dtype(), 1):sentinel()[1], 0
  for i = 1, #array do
    local x = array[i]
    if x ~= blank and x == x then written = written + 1 end
  end
  return written
end

-- Is there nothing in any output? Of what begins with a fill that cannot be seen.
local function is_idle(draft, outputs)
  for _, one in ipairs(outputs_of(draft)) do
    if one.block.role == "inout" or written_of(outputs[one.row.name]) > 0 then return false end
  end
  return true
end

-- The blocks that are worth a try: others than the first where a launch or shared memory fails.
local function blocks_for(why, shape)
  local about_block = why and (why:find "shared memory" or why:find "^launch_error")
  return about_block and shape.block_guessed and shape.blocks or { shape.block }
end

-- Changes what is guessed until the kernel runs: problem, outputs, measurement; or nil, nil and why
-- the first guess does not.
local function fit(draft)
  local begin, failed = state_of(draft), nil
  local left = { timeouts = MOST_TIMEOUTS, bytes = M.most_bytes }
  for _, other in ipairs(draft.reading.one_block and LAST or OTHERS) do
    for _, block in ipairs(blocks_for(failed and failed.why, begin.shape)) do
      restore(draft, begin)
      draft.shape.block = copy(block)
      if other(draft) then
        local problem, outputs, m = settle(draft, left)
        if outputs and not is_idle(draft, outputs) then return problem, outputs, m end
        failed = failed or { state = state_of(draft),
          why = outputs and "it writes to none of its arrays" or m }
      end
    end
  end
  if not failed then return nil, nil, "one block is what it has" end
  if failed.why:find "^its arrays take" then -- as many as the program has
    restore(draft, begin)
    left.bytes = PROGRAM * M.most_bytes
    local problem, outputs, m = settle(draft, left)
    if outputs and not is_idle(draft, outputs) then return problem, outputs, m end
  end
  restore(draft, failed.state)
  write_problem(draft)
  return nil, nil, failed.why
end

--------------------------------------------------------------------------------------------------
-- What a run shows

-- An output with parts that are never written keeps its old contents there.
local function settle_role(arg, array)
  local written = written_of(array)
  if written == #array then return end
  arg.role = "inout"
  arg.notes[#arg.notes + 1] = ("it writes %d of %d"):format(written, #array)
end

local function settle_roles(draft, outputs)
  for _, one in ipairs(outputs_of(draft)) do
    local block = one.block
    if block.role == "out" then settle_role(block, outputs[one.row.name]) end
  end
end

-- If only a macro in the kernel gives the number of threads, they may fill all blocks, and the
-- kernel's test of its bounds would have no effect. So one thread more is launched, if the kernel
-- runs with it.
local function settle_bounds(draft, outputs)
  local shape, size = draft.shape, draft.shape.size
  if #size > 1 or shape.link[1] or shape.fixed_grid or size[1] % shape.block[1] ~= 0
      or size[1] == shape.block[1] then
    return outputs
  end
  size[1] = size[1] + 1
  local more = run_whole(write_problem(draft))
  if more then draft.size_note = draft.size_note .. ", and one more, so that its bounds are tested"
  else size[1] = size[1] - 1 end
  write_problem(draft)
  return more or outputs
end

-- Is every element of the outputs written?
local function is_whole(draft, outputs)
  for _, one in ipairs(outputs_of(draft)) do
    local array = outputs[one.row.name]
    if one.block.role == "out" and written_of(array) < #array then return false end
  end
  return true
end

-- Sizes of the small case, no more threads than others have: of what no argument says whole blocks,
-- else as many blocks as there are rows. Nil where the table's own small case will do.
local function small_of(shape)
  local small, own, threads = copy(shape.size), true, 1
  for d, n in ipairs(small) do
    own = own and (n == 1 or shape.link[d] ~= nil and not shape.rows[d])
    threads = threads * n * (shape.rows[d] and shape.block[d] or 1)
  end
  if own then return nil end
  while threads > tablecase.SMALL do
    local most
    for d, n in ipairs(small) do
      if n > least_of(shape, d) and (not most or n > small[most]) then most = d end
    end
    if not most then return small end
    local least = least_of(shape, most)
    threads = threads // small[most]
    small[most] = (small[most] // least + 1) // 2 * least
    threads = threads * small[most]
  end
  return small
end

-- Blocks that a case has.
local function blocks_of(shape, size)
  local n = 1
  for d, threads in ipairs(size) do
    local each = (shape.rows[d] and 1 or shape.block[d]) * math.max(1, shape.each[d] or 1)
    n = n * math.max(1, (threads + each - 1) // each)
  end
  return n
end

-- A size with half as many blocks along the widest dimension but for some, and that dimension; nil
-- where there are too few, or the grid does not follow it.
local function half_of(shape, size, but_for)
  local best
  for d, n in ipairs(size) do
    local least = d > 1 and shape.block[d] == 1 and LEAST_ALONG or least_of(shape, d)
    local is_wide = n >= 2 * least and not but_for[d]
    if is_wide and (not best or n > size[best]) then best = d end
  end
  if not best or shape.fixed_grid then return nil end
  local half, least = copy(size), least_of(shape, best)
  half[best] = (size[best] // least + 1) // 2 * least
  if blocks_of(shape, half) >= LEAST_BLOCKS then return half, best end
end

-- Runs the small case: the problem and its measurement; nil where it does not run, does not write
-- what the whole one does, or has fewer threads than the host launches.
local function run_small(draft, size)
  draft.checked_size = size
  local problem = write_problem(draft)
  if not boundsize.fits(problem, tablecase.sizes(problem.checked_case.size)) then return nil end
  local outputs, m = kerneltable.run(problem, problem.checked_case, { budget = M.budget })
  if outputs and is_whole(draft, outputs) then return problem, m end
end

-- Halves numbers of the small case that a thread may loop to, the largest first, as long as it
-- takes much: the problem, and the warp instructions that it takes.
local function fewer_rounds(draft, size, m)
  local values, stuck = {}, {}
  for _, arg in ipairs(draft.args) do values[arg.name] = math.tointeger(tonumber(arg.value)) end
  while m.warp_instructions > MOST_ROUNDS do
    local name
    for _, arg in ipairs(draft.args) do
      local n = values[arg.name]
      if n and n >= 4 and not stuck[arg.name] and (not name or n > values[name]) then
        name = arg.name
      end
    end
    if not name then break end
    local before = draft.checked_values or {}
    draft.checked_values = copy(before)
    draft.checked_values[name] = values[name] // 2
    local smaller, less = run_small(draft, size)
    stuck[name] = not smaller or less.warp_instructions >= m.warp_instructions
    if stuck[name] then
      draft.checked_values = before
    else
      m, values[name] = less, values[name] // 2
    end
  end
  return write_problem(draft), m.warp_instructions
end

-- The small case must run as the whole one does; else it is the whole one. It is halved as long as
-- it takes much, for every change of the kernel runs on it. And the warp instructions it takes.
local function settle_small(draft)
  local whole, size = draft.shape.size, small_of(draft.shape)
  local problem, m = run_small(draft, size)
  if not problem then
    size = whole
    problem, m = run_small(draft, size)
    if not problem then return write_problem(draft), M.budget end
  end
  local stuck = {} -- dimensions along which it cannot be halved
  while m.warp_instructions > MOST_SMALL do
    local half, d = half_of(draft.shape, size or tablecase.sizes(problem.checked_case.size), stuck)
    if not half then break end
    local smaller, less = run_small(draft, half)
    stuck[d] = not smaller
    if smaller then problem, m, size = smaller, less, half end
  end
  draft.checked_size = size
  return fewer_rounds(draft, size, m)
end

-- What each output may differ by, on the small case twice and on the whole one.
local function settle_tolerance(draft, problem)
  local small = problem.checked_case
  local specs = { small, { seed = small.seed + 1, size = small.size } }
  if draft.checked_size ~= draft.shape.size then specs[3] = { seed = small.seed } end
  local limits = precision.limits(problem, specs)
  for _, arg in ipairs(rows_of(draft)) do arg.limits = limits[arg.name] end
  write_problem(draft)
end

-- What speaks against data, where something does: they are not right, or do not tell enough.
local function doubt_of(found, wrong)
  if wrong or not found then return wrong end
  if found.empty then return "on such data a kernel that does nothing would be right" end
  if adequacy.is_weak(found) then return "of its data " .. adequacy.line(found) end
  if found.nan > MOSTLY then return ("%.0f %% of its answers are NaN"):format(100 * found.nan) end
end

-- Does the kernel run on the whole case, too, with other data than it was fitted with, and is there
-- a tolerance?
local function holds(draft)
  local problem = write_problem(draft)
  if not run_whole(problem) then return false end
  local ok, why = attempt(settle_tolerance, draft, problem)
  if not ok and not ends.is_refusal(why) then error(why, 0) end
  return ok
end

-- Data that show what the kernel does, and the tolerance that they need: as many tries as there is
-- time for. What still speaks against them is returned.
local function settle_data(draft, problem, instructions)
  settle_tolerance(draft, problem)
  local self = problem.definition.kernel_table
  local bytes = tablecase.bytes(self,
    tablecase.names(self, tablecase.sizes(problem.checked_case.size), self:defaults()))
  local function write() return write_problem(draft) end
  local most = MOST_PROBED // (instructions * adequacy.MOST + bytes * FILLING) - 1
  local before = state_of(draft)
  local found, changed, wrong, was = fills.improve(argumentguess.flat(draft), write, most,
    draft.jobs)
  draft.data = found
  if not changed or holds(draft) then return doubt_of(found, wrong) end
  draft.data = was.found
  restore(draft, before)
  write_problem(draft)
  return doubt_of(was.found, was.why)
end

-- Macros that go with the block, those values that are right: it needs the tolerance.
local function settle_offer(draft, instructions)
  local shape, read = draft.shape, draft.reading
  local offer = offered.of(read, shape)
  if not offer then return end
  shape.offer = offer
  shape.offer = offered.tried(offer, shape, write_problem(draft),
    { instructions = instructions, jobs = draft.jobs })
  shape.fixed_block = launchguess.fixed_block(read, shape.block, shape.offer)
  write_problem(draft)
end

-- One set of guesses, tried as M.run does.
local function run_once(draft)
  local problem, outputs, m = fit(draft)
  if not problem then return nil, m end
  outputs = settle_bounds(draft, outputs)
  settle_roles(draft, outputs)
  local instructions
  problem, instructions = settle_small(draft)
  local doubt = settle_data(draft, problem, instructions)
  settle_offer(draft, instructions)
  return m, nil, doubt
end

--- Tries a draft, which becomes what runs, and writes its problem.lua.
---@param draft Draft
---@return table? measurement of the kernel as it is
---@return string? why it does not run as described
---@return string? doubt what `gilua check` would find wrong with its data
function M.run(draft)
  local begin = state_of(draft)
  local m, why, doubt = run_once(draft)
  if not doubt then return m, why end
  local doubted = state_of(draft)
  for _, other in ipairs(doubt:find("(race)", 1, true) and WHERE_RACING or WHERE_DOUBTED) do
    restore(draft, begin)
    if other(draft) then
      local better, _, still = run_once(draft)
      if better and not still then return better end
    end
  end
  restore(draft, doubted)
  write_problem(draft)
  return m, nil, doubt
end

return M
