--- recordedlimits: what each array that a recorded program copies out holds, and how far from that
--- an answer may be. Its type is that of the kernel's parameter; the limits are what rounding makes
--- of it: the recording is replayed with products rounded before they are added (-fmad=false), with
--- none rounded where PTX leaves that to a GPU's assembler, and with the blocks in the other order.
--- What none of these changes is exact, and compared bit by bit.

local compiler = require "gilua.farm.compiler"
local core = require "gilua.core"
local fail = require "gilua.base.fail"
local mangled = require "gilua.new.mangled"
local precision = require "gilua.new.precision"
local ptxtext = require "gilua.problem.ptxtext"
local replayer = require "gilua.farm.replayer"
local signature = require "gilua.new.signature"

-- Replays may not end.
local M = {
  most_instructions = 1 << 32, -- of the warps of one: about a minute
  long_s = 10, -- a longer one is announced to the user
}

local function quietly() end

local LEAST = { f32 = 2.0 ^ -20, f64 = 2.0 ^ -40 } -- share of an answer: rounding may cancel
local MOST_SEEN = 200000 -- numbers of a piece whose errors are looked at, evenly
local MOST_LOOKED_AT = 1 << 28 -- bytes of a piece whose type is not known
local MOSTLY = 0.95 -- of the numbers look like floats, so that they are taken for such
local HOW = "fused or not, and another order of blocks make %.2g where the largest answer is %.3g"

--------------------------------------------------------------------------------------------------
-- Types

-- Where the parameters of a kernel are in its arguments: bytes, from the recorded PTX.
local function offsets(ptx, entry)
  local escaped = entry:gsub("%p", "%%%0")
  local head = ptx:match("%.entry%s+" .. escaped .. "%s*(%b())") or ""
  local list, at = {}, 0
  for param in head:gmatch "%.param([^,)]+)" do
    local bits = param:match "^%s*%.%l(%d+)"
    local size = bits and tonumber(bits) // 8 or 0
    local align = size
    local own, n = param:match "%.align%s+(%d+)%s+%.b8%s+[%w_$]+%[(%d+)%]"
    if own then size, align = tonumber(n), tonumber(own) end
    at = (at + align - 1) // math.max(align, 1) * align
    list[#list + 1] = math.tointeger(at)
    at = at + size
  end
  return list
end

local function compiled(source, options)
  local code, why = compiler.compile(source, { target = "compute_90", options = options })
  if not code then fail("%s", why) end
  return code
end

---@class RecordedParameter
---@field name string
---@field type? string

--- The parameters of kernels, by the recording's name of the kernel and where they are.
---@param r gilua.recording
---@param entries table<string, string> names in the recording by those of the source
---@param source string the sliced source
---@param options string[] of NVRTC
---@return table<string, RecordedParameter> by "KERNEL AT"
function M.parameters(r, entries, source, options)
  local found = {}
  for name, entry in pairs(entries) do
    local module = next(r:modules_of { [entry] = true })
    local own = r:module(module)
    local at = own and offsets(own, entry) or offsets(compiled(source, options), name)
    local params = signature.of(source, name, options)
    for i, p in ipairs(params) do
      local type = p.pointer and not p.struct and p.type or nil
      if at[i] then
        found[("%s %d"):format(entry, at[i])] = { name = p.name or "argument_" .. i, type = type }
      end
    end
  end
  return found
end

-- Do most numbers look like floats: neither tiny nor huge, as small whole numbers would?
local function looks_like(bytes, type)
  local size = tonumber(type:match "%d+") // 8
  if #bytes % size ~= 0 or #bytes == 0 then return false end
  local array = core.array.frombytes(bytes, type)
  local like, zeros, step = 0, 0, math.max(1, #array // 10000)
  local seen = 0
  for i = 1, #array, step do
    local x = math.abs(array[i])
    seen = seen + 1
    if x == 0 then zeros = zeros + 1 elseif x > 1e-12 and x < 1e12 then like = like + 1 end
  end
  return like > 0 and (like + zeros) / seen >= MOSTLY
end

local function add_piece(e, got, expected, type)
  if #got % (tonumber(type:match "%d+") // 8) ~= 0 then return end
  local a, b = core.array.frombytes(got, type), core.array.frombytes(expected, type)
  e.n = e.n + #a
  for i = 1, #a, math.max(1, #a // MOST_SEEN) do
    local x, y = b[i], a[i]
    if x - x == 0 and y - y == 0 then precision.add_error(e, math.abs(x), math.abs(x - y)) end
  end
  e.finite = e.finite == 0 and 0 or e.n -- of those that were looked at
end

--- Returns the largest difference of a piece from the recorded one, as a share of its largest
--- number, or nil if it has no floats.
---@param got string
---@param was string
---@return number?
function M.distance(got, was)
  for _, type in ipairs { "f32", "f64" } do
    if #got == #was and looks_like(was, type) then
      local e = precision.no_errors()
      add_piece(e, got, was, type)
      return e.n == e.finite and e.most / math.max(e.largest, 1e-30) or nil
    end
  end
end

-- A float that the kernel has in memory, where the numbers look so; or bytes.
local function guessed_type(r, read)
  if (r.file:size(read.blob) or 0) > MOST_LOOKED_AT then return "u8" end
  local module = read.kernel and next(r:modules_of { [read.kernel] = true })
  local ptx = module and r:module(module)
  local types = ptx and ptxtext.types(ptx, read.kernel)
    or { f32 = true, f64 = true }
  local bytes = r:blob(read.blob, MOST_LOOKED_AT)
  for _, type in ipairs { "f32", "f64" } do
    if types[type] and looks_like(bytes, type) then return type end
  end
  return "u8"
end

--------------------------------------------------------------------------------------------------
-- Rows

-- The rows of problem.lua's `answers`, in the order in which they are first copied out; each with
-- a note. What no kernel was given is compared byte by byte without a row.
---@param recordings gilua.recording[]
---@param known table<string, RecordedParameter>
---@param kernels table<string, any> that evolve, by the recordings' names
---@return table[] rows
function M.rows(recordings, known, kernels)
  local rows, seen, names = {}, {}, {}
  for _, r in ipairs(recordings) do
    for _, read in ipairs(r:reads(kernels)) do
      local key = read.variable or read.kernel and ("%s %d"):format(read.kernel, read.at)
      if key and not seen[key] then
        local p = known[key] or {}
        local name = read.variable or p.name
          or ("%s at %d"):format(mangled.read(read.kernel), read.at)
        names[name] = (names[name] or 0) + 1
        if names[name] > 1 then name = ("%s %d"):format(name, names[name]) end
        local row = { name = name, kernel = read.kernel, at = read.at, variable = read.variable,
          type = p.type or guessed_type(r, read) }
        row.note = not p.type and ("GUESS: what it holds%s"):format(row.type == "u8"
          and "; compared byte by byte" or ", by its values") or nil
        seen[key], rows[#rows + 1] = row, row
      end
    end
  end
  return rows
end

--------------------------------------------------------------------------------------------------
-- Limits

-- The errors of a replay, by the names of rows.
local function add_errors(judge, r, errors)
  for i, answer in ipairs(judge.answers_of) do
    local read = r.reads[i]
    if read and LEAST[answer.type] and #read.bytes > 0 then
      local e = errors[answer.name] or precision.no_errors()
      errors[answer.name] = e
      add_piece(e, read.bytes, judge.recording:blob(answer.blob, #read.bytes), answer.type)
    end
  end
end

-- The kernel's code as it is, with products rounded before they are added, and with as few rounded
-- as a GPU's assembler may.
local function codes_of(problem)
  if problem.is_ptx then
    return { problem.source, ptxtext.without_fma(problem.source), ptxtext.with_fma(problem.source) }
  end
  local source, list = problem.grammar:guard(false) .. "#line 1\n" .. problem.grammar:apply(""), {}
  for i, more in ipairs { false, "-fmad=false" } do
    local options = problem:compile_options(problem:values())
    if more then options[#options + 1] = more end
    local code, why = compiler.compile(source,
      { target = "compute_90", options = options, name = problem.definition.source })
    if not code then fail("%s", why) end
    list[i] = code
  end
  list[3] = ptxtext.with_fma(list[1])
  return list
end

local function limits_of(row, e)
  if e.most == 0 then
    row.note = "exact: neither fused sums nor another order of blocks changes it"
    return
  end
  local limits = precision.limits_of(e, LEAST[row.type], HOW:format(e.most, e.largest))
  row.max_error, row.rel_error = limits.max_error, limits.rel_error
  row.note = (row.note and row.note .. "; " or "") .. limits.how
end

--- Calls what replays a recording, and says so where that takes long: some more are to come.
---@param say fun(...)
---@param f fun(...): any
---@return any ...
function M.patiently(say, f, ...)
  local begun = core.system.seconds()
  local results = table.pack(f(...))
  local seconds = core.system.seconds() - begun
  if seconds > M.long_s then
    say("a replay of the recording took %.0f s, and some more are made: of a program with less to "
      .. "do (smaller arguments) all goes faster", seconds)
  end
  return table.unpack(results, 1, results.n)
end

--- Finds limits for rows of floats; nil where the kernels as they are do not run.
---@param problem gilua.problem as it is without any
---@param rows table[]
---@param say fun(...)
---@return string? why there are none
---@return string? status of the kernels as they are
---@return integer? instructions of warps in a replay, where one came to its end
function M.find(problem, rows, say)
  local judge, errors = replayer.new(problem), {}
  local codes = codes_of(problem)
  judge:use(problem:case(problem.definition.recorded:spec(0)))
  local why, status, instructions
  for i, way in ipairs { { codes[1] }, { codes[2] }, { codes[3] }, { codes[1], true } } do
    local r, message, failed = M.patiently(i == 1 and say or quietly, judge.replay, judge, way[1],
      { backwards = way[2], budget = M.most_instructions })
    if r and r.status == "ok" then
      add_errors(judge, r, errors)
      instructions = instructions or r.warp_instructions
    elseif not why then
      why, status = r and r.message or message, r and r.status or failed
    end
  end
  judge:use(nil)
  for _, row in ipairs(rows) do
    if errors[row.name] then limits_of(row, errors[row.name]) end
  end
  return why, status, instructions
end

return M
