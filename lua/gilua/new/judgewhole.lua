-- judgewhole: are two files right as a whole, each with all that its host code launches? One
-- function of each (gilua.hostentry) is called with the same arrays and numbers, in programs of
-- their own (gilua.wholeprogram), on data of every kind and at several sizes; what it leaves in its
-- arrays is compared. The old file's answers are the reference: where it does something wrong
-- itself, the case tells nothing.
--
-- A tensor of PyTorch is an array with a shape, which is as long as its sizes say.
-- What the arguments are says a file (--args): `args` and `size` as in problem.lua, a list of all,
-- or by their names what is known of some. The rest is guessed, and whole.lua has it: whole numbers
-- are sizes, arrays as long as their product. A limit is made of rounding: the old function with
-- `double` for `float` says how far off its own answers are.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local expression = require "gilua.problem.expression"
local families = require "gilua.problem.families"
local hostentry = require "gilua.new.hostentry"
local kerneltable = require "gilua.problem.kerneltable"
local luadata = require "gilua.base.luadata"
local progress = require "gilua.report.progress"
local settings = require "gilua.base.settings"
local tablecase = require "gilua.problem.tablecase"
local textfile = require "gilua.base.textfile"
local tolerances = require "gilua.problem.tolerance"
local wholeprogram = require "gilua.new.wholeprogram"

local M = {}

local DIMENSIONS = { "x", "y", "z" }
local SIZES = { { 20000 }, { 160, 96 }, { 40, 28, 20 } } -- the full ones of a guess
local SMALL = { { 1000 }, { 33, 30 }, { 12, 10, 8 } }
local OTHERS = { { { 1 }, { 33 }, { 257 } }, { { 1, 1 }, { 7, 65 }, { 64, 32 } },
  { { 1, 1, 1 }, { 5, 9, 3 }, { 16, 8, 4 } } }
local NUMBER = 5 -- a whole number that is one too many to be a size
local TINY = "eps|tol"
local RELATIVE, SHARE = 1e-3, 1e-5 -- of an answer; of the largest one
local ROUNDING = 4 -- times the old function's own error
local LEAST_GAIN = 1.01

--------------------------------------------------------------------------------------------------
-- Arguments

local function is_named(name, patterns)
  for pattern in patterns:gmatch "[^|]+" do
    if name:lower():find(pattern) then return true end
  end
  return false
end

-- A number: a value that is said, a size, a factor.
local function guessed_number(p, arg, sizes)
  if arg.value ~= nil then return end
  if p.type:find "^f" then
    arg.value = is_named(p.name, TINY) and 1e-5 or 0.5
  elseif #sizes < #DIMENSIONS then
    sizes[#sizes + 1] = p.name
    arg.value = "size_" .. DIMENSIONS[#sizes]
  else
    arg.value, arg.guess = NUMBER, true
  end
end

-- A tensor is as long as its shape says.
local function with_counts(args)
  for _, arg in ipairs(args) do
    arg.count = arg.shape and "(" .. table.concat(arg.shape, ") * (") .. ")" or arg.count
  end
  return args
end

-- The shape of a tensor: as many of the last dimensions as its function asks for, else as another.
local function guessed_shape(p, most)
  local shape = {}
  for d = 1, p.rank or most do shape[d] = most > #DIMENSIONS and 2 or nil end
  local rank, n = p.rank or most, math.min(most, #DIMENSIONS)
  for d = math.max(1, rank - n + 1), rank do
    shape[d] = "size_" .. DIMENSIONS[n - rank + d]
  end
  return shape
end

-- Rows for the parameters of a function, and sizes: guesses, but for what is said by name.
local function guessed(entry, said)
  local args, sizes, numbers = {}, {}, {}
  local rank = entry.has_tensors and 1 or 0
  for _, p in ipairs(entry.params) do rank = math.max(rank, p.rank or 0) end
  for d = 1, math.min(rank, #DIMENSIONS) do sizes[d] = "" end
  for i, p in ipairs(entry.params) do
    local arg = { name = p.name, type = p.type }
    arg.role = p.pointer and not p.const and "inout" or nil
    for key, value in pairs(said[p.name] or {}) do arg[key] = value end
    args[i] = arg
    if not p.pointer then
      guessed_number(p, arg, sizes)
      if not p.type:find "^f" then numbers[#numbers + 1] = p.name end
    elseif p.const and not p.type:find "^f" and not arg.fill then
      fail("it is unknown which whole numbers are in %s of %s: say it, --args FILE (docs/judge.md)",
        p.name, entry.name)
    end
  end
  local count = #numbers > 0 and table.concat(numbers, " * ") or 1024
  for i, p in ipairs(entry.params) do
    if p.tensor then args[i].shape = args[i].shape or guessed_shape(p, rank) end
    if p.pointer then args[i].count = args[i].count or count end
  end
  local n = math.max(#sizes, 1)
  return { size = SIZES[n], checked_size = SMALL[n], args = with_counts(args) }
end

local KNOWN = { size = true, checked_size = true, args = true, tolerance = true, sizes = true }

local function read_args(path)
  local value, why = luadata.read(textfile.read(path, "the arguments", 1 << 20))
  if type(value) ~= "table" then
    fail("%s is no table of size and args: %s", path, why or "it says something else")
  end
  for _, key in ipairs(settings.keys(value)) do
    if not KNOWN[key] then
      fail("%s: unknown field '%s'%s", path, key, settings.meant(key, KNOWN))
    end
  end
  return value
end

-- The table of a file, with guesses where it says some things by name alone; whether there are any.
local function table_of(entry, path)
  local said = path and read_args(path) or {}
  if said.args and said.args[1] then
    with_counts(said.args)
    return said, false
  end
  local known = {}
  for _, p in ipairs(entry.params) do known[p.name] = true end
  for _, name in ipairs(settings.keys(said.args or {})) do
    if not known[name] then
      fail("%s: %s takes no '%s'%s", path, entry.name, name, settings.meant(name, known))
    end
  end
  local t = guessed(entry, said.args or {})
  for _, key in ipairs(settings.keys(said)) do
    if key ~= "args" then t[key] = said[key] end
  end
  if said.size and not said.checked_size then t.checked_size = said.size end
  return t, true
end

-- Rows by their names are the function's parameters, in its order.
local function check_rows(t, entry, path)
  for i, p in ipairs(entry.params) do
    local arg = (t.args or {})[i]
    if p.tensor then p.type = arg and arg.type or p.type end
    if not arg or arg.name ~= p.name or arg.type ~= p.type or (arg.count ~= nil) ~= p.pointer
      or p.tensor and not arg.shape then
      fail("%s: argument %d of %s is %s, %s of type \"%s\": args has %s", path, i, entry.name,
        p.name, p.tensor and "a tensor (shape)" or p.pointer and "an array (count)"
          or "a number (value)", p.type,
        arg and ("%s of type \"%s\""):format(tostring(arg.name), tostring(arg.type)) or "none")
    end
  end
  if #t.args > #entry.params then
    fail("%s: args has %d rows, and %s takes %d arguments", path, #t.args, entry.name,
      #entry.params)
  end
end

-- The problem whose kernel is a function: its cases have what that function is given.
local function definition(t, entry, folder)
  textfile.make_folder(folder)
  textfile.write(folder .. "/kernel.cu", ("extern \"C\" __global__ void %s() {}\n"):format(
    entry.name))
  local args = {}
  for i, arg in ipairs(t.args) do
    args[i] = {}
    for key, value in pairs(arg) do args[i][key] = key ~= "shape" and value or nil end
  end
  local plain = { source = "kernel.cu", kernel = entry.name, size = t.size, args = args,
    checked_size = t.checked_size, tolerance = t.tolerance, reference = function() end }
  return kerneltable.definition(plain, folder)
end

--------------------------------------------------------------------------------------------------
-- Cases

-- The arrays and numbers of a case, by name.
local function case_of(self, spec)
  local made = self.definition:case(spec)
  local names = tablecase.names(self.definition.kernel_table, made.size, {}, made.values)
  local case = { name = made.name, arrays = made.arrays, numbers = {}, shapes = {} }
  for i, arg in ipairs(self.table.args) do
    local where = tablecase.where(self.definition.kernel_table, i)
    for d, size in ipairs(arg.shape or {}) do
      case.shapes[arg.name] = case.shapes[arg.name] or {}
      case.shapes[arg.name][d] = expression.number(size, names, where)
    end
    if arg.value ~= nil then case.numbers[arg.name] = names[arg.name] end
  end
  return case
end

-- The same by the names of another function's parameters.
local function for_entry(case, old, new)
  local renamed = { arrays = {}, numbers = {}, shapes = {} }
  for i, p in ipairs(old.params) do
    local name = new.params[i].name
    for key, list in pairs(renamed) do list[name] = case[key][p.name] end
  end
  return renamed
end

local function sizes_of(t)
  if t.sizes then return t.sizes end
  local n = type(t.size) == "table" and #t.size or 1
  return OTHERS[n]
end

-- Every kind of data at the small size; other sizes; other values of guesses; the full size.
local function cases_of(self, o)
  local t, list = self.table, {}
  local small = t.checked_size or t.size
  local function add(data, spec, more)
    spec.seed = spec.seed or o.seed
    local case = { data = data, spec = spec }
    for key, value in pairs(more or {}) do case[key] = value end
    list[#list + 1] = case
  end
  add("its own kind", { size = small })
  for _, name in ipairs(families.of(t)) do add(name, { size = small, family = name }) end
  for _, name in ipairs(o["own-data"] and {} or families.beyond(t)) do
    add(name, { size = small, family = name })
  end
  add("its own kind, called a second time", { size = small }, { again = true })
  for _, size in ipairs(o["own-size"] and {} or sizes_of(t)) do
    size = type(size) == "table" and size or { size }
    add("size " .. table.concat(size, "x"), { size = size }, { is_other = true })
  end
  for _, arg in ipairs(o["own-size"] and {} or t.args) do
    if arg.guess then
      add(("%s %d"):format(arg.name, arg.value + 2), { size = small,
        values = { [arg.name] = arg.value + 2 } }, { is_other = true, guess = arg })
    end
  end
  local full = type(t.size) == "table" and t.size or { t.size }
  for i = 1, o.cases do
    add(("full size %s"):format(table.concat(full, "x")), { seed = o.seed + i, size = full },
      { is_full = true, is_other = true })
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Comparing

local function largest(array)
  local low, high = array:range()
  return low and math.max(math.abs(low), math.abs(high)) or 0
end

-- Answers of the new function by the old one's names.
local function renamed(self, got)
  local list = {}
  for name, array in pairs(got) do list[name] = name:find "^result " and array or nil end
  for i, p in ipairs(self.old.params) do list[p.name] = got[self.new.params[i].name] end
  return list
end

-- The tensors that a function returns: "1 of 33x30, 2 of 33".
local function results_of(answers)
  local list = {}
  for _, name in ipairs(settings.keys(answers)) do list[#list + 1] = name:match "^result (.*)" end
  return list[1] and table.concat(list, ", ") or "none"
end

-- Did both leave a tensor that they were given as it was? It is no answer then.
local function is_unchanged(case, name, right, answers)
  local given = case.arrays[name]
  return given and given:bytes() == right:bytes() and given:bytes() == answers:bytes()
end

-- How answers compare, over all arrays: { n, off, max_error, unset }; slack by array.
local function compared(self, case, expected, got, slack)
  local all = { n = 0, off = 0, max_error = 0, nan = 0 }
  local tensors = {}
  for _, p in ipairs(self.old.params) do tensors[p.name] = p.tensor end
  for _, name in ipairs(settings.keys(expected)) do
    local right, answers = expected[name], got[name]
    if answers and not (tensors[name] and is_unchanged(case, name, right, answers)) then
      local limits = tolerances.options(self.tolerance or {
        max_error = math.max(SHARE * math.min(largest(right), 1e30), slack and slack[name] or 0),
        rel_error = RELATIVE })
      local c = core.array.compare(answers, right, limits)
      all.n, all.off = all.n + c.n, all.off + math.floor(c.off * c.n + 0.5)
      all.max_error = math.max(all.max_error, c.max_error)
      if c.max_error ~= c.max_error then all.max_error = c.max_error end
      all.nan = all.nan + math.floor(c.nan * c.n + 0.5)
    end
  end
  return all
end

-- How far off the old function's own answers are, by array: double for float. nil where such a
-- program is not built, or does not run.
local function rounding(self, case, expected)
  if self.doubles == nil then
    self.doubles = wholeprogram.build(self.old, self.old_text, self.scratch .. "/doubles",
      { include = self.include, define = self.define, as_doubles = true }) or false
  end
  local found = self.doubles and wholeprogram.run(self.doubles, case)
  if not found or found.why then return nil end
  local slack = {}
  for name, array in pairs(expected) do
    slack[name] = ROUNDING * core.array.compare(array, found.answers[name]).max_error
    if slack[name] ~= slack[name] then slack[name] = math.huge end
  end
  return slack
end

-- The arrays that a function changed, as how many last elements of each are others than before.
local function extent_of(case, answers)
  local list = {}
  for name, after in pairs(answers) do
    local before, last = case.arrays[name], #after
    while before and last > 0 and after[last] == before[last] do last = last - 1 end
    list[#list + 1] = name .. last
  end
  table.sort(list)
  return table.concat(list, " ")
end

local function why_wrong(self, case, old, new)
  if new.why then return new.why end
  local got = renamed(self, new.answers)
  local was, is = results_of(old.answers), results_of(got)
  if was ~= is then return ("it returns other tensors: %s in place of %s"):format(is, was) end
  local c = compared(self, case, old.answers, got)
  if c.off == 0 then return nil, c end
  local slack = rounding(self, case, old.answers)
  local again = slack and compared(self, case, old.answers, got, slack)
  if again and again.off == 0 then return nil, again end
  return ("%s of %s answers, largest error %.3g"):format(progress.grouped(c.off),
    progress.grouped(c.n), c.max_error), c
end

local function before_of(self, one)
  if not one.again then return nil end
  local spec = {}
  for key, value in pairs(one.spec) do spec[key] = value end
  spec.seed = spec.seed + 1
  return for_entry(case_of(self, spec), self.old, self.new)
end

local function row_of(self, one)
  local case = case_of(self, one.spec)
  local row = { data = one.data, case = case.name, spec = one.spec, is_full = one.is_full,
    is_other = one.is_other, guess = one.guess, verdict = "right" }
  local old = wholeprogram.run(self.programs.old, case)
  if old.why then
    row.verdict, row.why = "not told", "the old file's function fails: " .. old.why
    return row
  end
  row.extent = extent_of(case, old.answers)
  local new = wholeprogram.run(self.programs.new, for_entry(case, self.old, self.new),
    before_of(self, one))
  if new.late then
    row.verdict, row.why, row.slow = "not told", new.why, new.why
    return row
  end
  local c
  row.why, c = why_wrong(self, case, old, new)
  row.answers, row.max_error = c and c.n or 0, c and c.max_error or 0
  if not row.why and c and c.n > 0 and c.nan == c.n then
    row.verdict, row.why = "not told", "the old file's function gives no numbers"
    return row
  end
  if row.why then row.verdict = "wrong" end
  row.ns, row.old_ns, row.bytes, row.old_bytes = new.ns, old.ns, new.bytes, old.bytes
  row.is_again = one.again
  row.launches, row.old_launches = new.launches, old.launches
  return row
end

--------------------------------------------------------------------------------------------------
-- The verdict

-- A size that changes nothing that the old function writes is no other size.
local function settle_sizes(rows)
  local base = rows[1].extent
  for _, row in ipairs(rows) do
    local is_same = row.is_other and row.verdict == "right" and row.extent == base
      and row.old_bytes == rows[1].old_bytes
    row.changes = row.is_other and not is_same or nil
    if is_same and not row.is_full then
      row.verdict, row.why = "not told",
        "the old file's function writes and moves the same there: it is no other size"
    end
  end
end

local function guesses_of(self, rows)
  local list = {}
  for _, arg in ipairs(self.table.args) do
    if arg.guess then
      local one = { text = ("%s = %d"):format(arg.name, arg.value), right = {} }
      for _, row in ipairs(rows) do
        local is_right = row.guess == arg and row.verdict == "right" and row.changes
        if is_right then one.right[1] = row.data end
      end
      list[#list + 1] = one
    end
  end
  return list
end

local function counted(rows, verdict)
  local n = 0
  for _, row in ipairs(rows) do if row.verdict == verdict then n = n + 1 end end
  return n
end

---@class WholeJudge
---@field old HostEntry
---@field new HostEntry
---@field table table of size and args
---@field is_guess boolean nobody said what they are

--- Reads two files and builds their programs.
---@param o { old: string, new: string, function?: string, args?: string, include?: string[],
---  define?: string[] }
---@param folder string
---@param scratch string
---@return WholeJudge
function M.of(o, folder, scratch)
  local wanted_old, wanted_new = (o["function"] or ""):match "^%s*([%w_]*)%s*,?%s*([%w_]*)%s*$"
  local function named(name) return name ~= "" and name or nil end
  local self = { scratch = scratch, include = o.include, define = o.define,
    old_text = textfile.read(o.old, "the old file"),
    new_text = textfile.read(o.new, "the new file"), programs = {} }
  self.old = hostentry.of(o.old, self.old_text, named(wanted_old or ""))
  self.new = hostentry.of(o.new, self.new_text, named(wanted_new or ""))
  hostentry.drop_defaults(self.old, self.new)
  local why = hostentry.differs(self.old, self.new)
  if why then fail("%s", why) end
  self.table, self.is_guess = table_of(self.old, o.args)
  check_rows(self.table, self.old, o.args or "the guess")
  for i, p in ipairs(self.new.params) do p.type = p.tensor and self.old.params[i].type or p.type end
  self.definition = definition(self.table, self.old, folder .. "/old")
  self.tolerance = self.table.tolerance
  self.args_file = folder .. "/old/whole.lua"
  textfile.write(self.args_file, "return " .. luadata.text { size = self.table.size,
    checked_size = self.table.checked_size, args = self.table.args } .. "\n")
  for which, entry in pairs { old = self.old, new = self.new } do
    local program, no = wholeprogram.build(entry, self[which .. "_text"],
      scratch .. "/" .. which, o)
    if not program then fail("%s: %s", entry.path, no) end
    self.programs[which] = program
  end
  return self
end

--- Judges.
---@param self WholeJudge
---@param o { cases: integer, seed: integer, on_row?: fun(row: table) }
---@return Judgement
function M.judge(self, o)
  local rows = {}
  for i, one in ipairs(cases_of(self, o)) do
    rows[i] = row_of(self, one)
    if o.on_row then o.on_row(rows[i]) end
  end
  settle_sizes(rows)
  local data = { rows = rows, right = counted(rows, "right"), wrong = counted(rows, "wrong"),
    fixed = false, tried = 0, guesses = guesses_of(self, rows) }
  local j = { other = data, rows = {}, answers = 0, max_error = 0, promises = {} }
  local ratio = {}
  for _, row in ipairs(rows) do
    if row.verdict == "right" then
      data.tried = data.tried + (row.changes and 1 or 0)
      j.answers = j.answers + row.answers
      if row.is_full then
        j.max_error = math.max(j.max_error, row.max_error)
        ratio[#ratio + 1] = row.old_ns / row.ns
        j.bytes, j.old_bytes, j.ns = row.bytes, row.old_bytes, row.ns
      end
    elseif row.verdict == "wrong" and not j.fault then
      j.fault = { data = row.data, case = row.case, spec = row.spec, why = row.why }
    end
  end
  table.sort(ratio)
  local middle = ratio[(#ratio + 1) // 2]
  j.ratio = middle and { median = middle, low = ratio[1], high = ratio[#ratio] } or nil
  j.right = not j.fault and j.answers > 0 and (data.tried > 0 or o["own-size"] or false)
  j.held = not j.fault and j.answers > 0 and not j.right
  j.faster = j.right and j.ratio ~= nil and j.ratio.low > LEAST_GAIN
  return j
end

return M
