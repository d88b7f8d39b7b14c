-- heldruns: runs of kernels that tests hold against each other: their arguments, data on which
-- rewritings stumble, launches on the virtual GPU with all checks on, and how answers differ.
--
-- A parameter's name says what it is (PARAMS); any other has the place's of k(out, a, b, n). A run
-- is { n, data, grid, block, overlap }: data is a key of SPECIAL or "literals", numbers of
-- the source; overlap says which arrays lie so many elements behind the beginning of `out`.

local gi = require "gilua"
local types = require "gilua.facts.types"
local watched = require "gilua.facts.watched"

local M = {}

local MOST = 4096 -- elements of each array
local MOST_INSTRUCTIONS = 200 * 1000 -- of warps in a run of the kernel
local MOST_TIMES = 512 -- so many times as many of what is made of it: threads share a row
local MOST_LITERAL = 4096 -- of the source, as data: sums stay exact
local GRAVE = { uninitialised_read = true, local_overrun = true, undefined_shuffle = true,
  undefined_value = true }

local device = gi.device "emu"
M.device = device

-- ---- data -------------------------------------------------------------------------------------

-- Small multiples of an eighth, so that sums are exact; what a kernel may stumble over between.
local SPECIAL = {
  plain = {}, whole = {},
  nan = { 0 / 0, 1 / 0, -1 / 0, 0 / 0, 0.0 },
  ties = { 0.0, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0 },
  tiny = { 1e-40, -1e-39, -0.0, 1.2e-38, 0.0, 1e-45 },
}

local RANGES = 64 -- ranges of elements in `first` and `length`

-- The first element of a range; -1 of one that has none, which `length` says.
local function first_of(i) return i % 3 == 0 and -1 or i * 7 % RANGES end
local function length_of(i) return i % 3 == 0 and 0 or i % 5 end

-- What parameters are: an array (elements by a formula, or of(i)), or a number.
local PARAMS = {
  out = { factor = 5, offset = 3, written = true },
  more = { factor = 3, offset = 2, written = true },
  a = { factor = 7, offset = 1 }, b = { factor = 11, offset = 5 },
  first = { of = first_of }, length = { of = length_of },
  n = {}, taps = { value = 5 },
}
local ORDER = { "out", "a", "b", "n" }
local ELEMENTS = { float = "f32", double = "f64", int = "i32", ["unsigned int"] = "u32",
  short = "i16", ["unsigned char"] = "u8", ["long long"] = "i64", ["unsigned long long"] = "u64" }
local BYTES = { f32 = 4, f64 = 8, i32 = 4, u32 = 4, i16 = 2, u8 = 1, i64 = 8, u64 = 8 }

-- The numbers that a source compares with, adds and so on; each with its negative.
local function literals(source)
  local list, seen = {}, {}
  for word in source:gmatch "%f[%w_.](%d+%.?%d*)f?%f[^%w_.]" do
    local value = tonumber(word)
    if value and value <= MOST_LITERAL and not seen[value] then
      seen[value] = true
      table.move({ value, -value }, 1, 2, #list + 1, list)
    end
  end
  return list
end

local function filled(type, what, data, special)
  local array = gi.array(type, MOST)
  local is_whole = data == "whole" or not type:find "^f"
  for i = 1, MOST do
    local value = what.of and what.of(i) or (i * what.factor + what.offset) % 97 - 40
    array[i] = (is_whole or what.of) and value or value / 8
    if #special > 0 and type:find "^f" and i * (what.factor + 2) % 16 < 5 then
      array[i] = special[(i * what.factor + i // 16) % #special + 1]
    end
  end
  return array
end

local made = {} -- by type, name and data: what each array begins with; buffers of those only read

local function array_of(type, name, data, source)
  local special = SPECIAL[data] or literals(source)
  local key = table.concat({ type, name, data, SPECIAL[data] and "" or table.concat(special, " ") },
    " ")
  if not made[key] then
    local array = filled(type, PARAMS[name], data, special)
    made[key] = PARAMS[name].written and array or device:buffer(array)
  end
  return made[key]
end

-- ---- arguments --------------------------------------------------------------------------------

---@class HeldKernels
---@field source string
---@field names string[] kernels in the order in which they are launched
---@field params table<string, table[]> of each: { name, type, is_array }

local function parameter(p, place, type)
  local name = PARAMS[p.name] and p.name or ORDER[place]
  assert(name, "no parameter is called " .. p.name)
  return { name = name, is_array = p.pointer > 0,
    type = ELEMENTS[types.plain(p.type)] or type or "f32" }
end

--- The kernels of a source, and what they are given.
---@param known table of kernel.read
---@param source string
---@param type? string of arrays whose type is another
---@return HeldKernels
function M.kernels(known, source, type)
  local all = { source = source, names = {}, params = {} }
  for _, fn in ipairs(known.functions) do
    if fn.is_entry then
      all.names[#all.names + 1] = fn.name
      local list = {}
      for i, p in ipairs(fn.params) do list[i] = parameter(p, i, type) end
      all.params[fn.name] = list
    end
  end
  if #all.names == 0 then -- nothing of it is understood
    all.names, all.params.k = { "k" }, {}
    for i, name in ipairs(ORDER) do
      all.params.k[i] = { name = name, is_array = i < 4, type = i < 4 and type or i < 4 and "f32"
        or "i32" }
    end
  end
  return all
end

-- Where an argument lies, or its number. memory: the arrays of this run that kernels write.
local function argument(p, run, kernels, memory)
  if not p.is_array then return { p.type, PARAMS[p.name].value or run[1] } end
  local at = run.overlap and run.overlap[p.name]
  if at then return { "u64", memory.out:address() + at * BYTES[p.type] } end
  if memory[p.name] then return memory[p.name] end
  local array = array_of(p.type, p.name, run[2], kernels.source)
  return PARAMS[p.name].written and device:buffer(array:copy()) or array
end

local function arguments(name, run, kernels, memory)
  local args = {}
  for i, p in ipairs(kernels.params[name]) do
    args[i] = argument(p, run, kernels, memory)
    if PARAMS[p.name].written and type(args[i]) ~= "table" then memory[p.name] = args[i] end
  end
  return args
end

local PACKED = { f32 = "f", f64 = "d", i32 = "i4", u32 = "I4", i64 = "i8", u64 = "I8" }

-- Arguments as a struct's fields.
local function packed(args)
  local format, values, widest = "!8", {}, "i4"
  for i, arg in ipairs(args) do
    local is_scalar = type(arg) == "table"
    local one = is_scalar and PACKED[arg[1]] or "I8"
    if string.packsize(one) == 8 then widest = "i8" end
    format, values[i] = format .. one, is_scalar and arg[2] or arg:address()
  end
  return string.pack(format .. "!8X" .. widest, table.unpack(values))
end

-- ---- launches ---------------------------------------------------------------------------------

---@class HeldAnswers
---@field arrays table<string, table> what kernels wrote, by parameters' names
---@field grave table<string, string> what they did that no kernel should, by kind
---@field meets table[]? which arrays met, of a run with arrays that overlap

-- One launch into answers; why it ended.
local function launch(module, name, args, shape, how, answers)
  local m = module:launch { kernel = name, grid = shape.grid, block = shape.block,
    budget = how.budget, check_races = how.races and "global" or nil, meets = how.meets,
    benign_races = how.benign, print = false, count_uninitialised = true, args = args }
  if m.status ~= "ok" then return m.status .. ": " .. tostring(m.message) end
  for _, w in ipairs(m.warnings or {}) do
    answers.grave[w.kind] = GRAVE[w.kind] and w.message or nil
  end
  answers.meets = m.meets
end

-- The answers of a module on a run; nil and why.
local function answered(module, run, kernels, how)
  local answers, memory, changed = { arrays = {}, grave = {} }, {}, how.changed or {}
  for _, name in ipairs(kernels.names) do
    if name ~= changed.joined then
      local args = arguments(name, run, kernels, memory)
      local shape = how.shape
      if changed.of == name then
        shape = changed.shape
        args[#args + 1] = changed.joined
          and packed(arguments(changed.joined, run, kernels, memory)) or nil
      end
      local why = launch(module, name, args, shape, how, answers)
      if why then return nil, why end
    end
  end
  for name, buffer in pairs(memory) do answers.arrays[name] = buffer:read() end
  return answers
end

--- The answers of kernels as they are; nil and why where they do something wrong.
---@param module table
---@param run table
---@param kernels HeldKernels
---@param shape { grid: any, block: any }
---@param races boolean are those looked for?
---@return HeldAnswers? answers
---@return string? why
function M.original(module, run, kernels, shape, races)
  return answered(module, run, kernels, { budget = MOST_INSTRUCTIONS, races = races,
    benign = "refuse", meets = run.overlap ~= nil and races, shape = shape })
end

--- The answers of what was made of them.
---@param module table
---@param run table
---@param kernels HeldKernels
---@param shape { grid: any, block: any }
---@param races boolean
---@param changed { of: string, shape: table, joined: string? } the kernel that was changed, its
---  launch, and the one that is part of it
---@return HeldAnswers? answers
---@return string? why
function M.rewritten(module, run, kernels, shape, races, changed)
  return answered(module, run, kernels, { budget = MOST_TIMES * MOST_INSTRUCTIONS, races = races,
    benign = "warn", shape = shape, changed = changed })
end

-- ---- answers ----------------------------------------------------------------------------------

local function apart_in(name, got, want, rounds)
  local is_float = got:dtype():find "^f"
  local c = gi.array.compare(got, want, { limit = rounds and is_float and 0.01 or 0,
    rel_error = rounds and is_float and 1e-3 or nil })
  local at = c.wrong > 0 and c.first_wrong
  return at and ("%selement %d: %s, not %s"):format(name == "out" and "" or name .. ", ", at,
    got[at], want[at]) or nil
end

--- How answers differ from those of the kernels as they are; nil where they do not.
---@param got HeldAnswers
---@param want HeldAnswers
---@param rounds boolean may they be a little apart?
---@return string?
function M.difference(got, want, rounds)
  for kind, message in pairs(got.grave) do
    if not want.grave[kind] then return message end
  end
  for _, name in ipairs { "out", "more" } do
    local how = want.arrays[name] and apart_in(name, got.arrays[name], want.arrays[name], rounds)
    if how then return how end
  end
end

--- Did arrays that a proposal takes for different memory meet in a run, as far as its answers say?
---@param pairs table[] of gilua.facts.apart
---@param fn table
---@param lines integer[] that the proposal changes
---@param answers HeldAnswers of the kernel as it is
---@return boolean
function M.breaks(pairs, fn, lines, answers)
  for _, pair in ipairs(answers.meets and pairs or {}) do
    if watched.of(fn, answers.meets, pair[1], pair[2], { lines = lines }) ~= true then
      return true
    end
  end
  return false
end

return M
