--- recording: reads a recording of `gilua record` as data. docs/recording.md explains its lines;
--- src/record reads and writes the file.

local core = require "gilua.core"
local elsewhere = require "gilua.base.elsewhere"
local fail = require "gilua.base.fail"
local gpus = require "gilua.base.gpus"
local launcher = require "gilua.problem.launcher"
local lfs = require "lfs"

local M = {
  memory_bytes = 4 << 30, -- that a replay may take, with all that the program asked of its GPU
}

local FEW_WORDS = 4000000 -- of all lines, in a recording of no size

---@class gilua.recording
---@field path string
---@field file userdata core.record's
---@field is_whole boolean the program came to its end
---@field program string[] its command line
---@field use? string what it is for: train, validate, unseen, small; nil where that was not said
---@field events table[] the lines, each a list of words, its kind first
---@field kernels table[] { name, launches, ns, is_machine }, the longest first
---@field machine table<string, boolean> numbers of modules that are machine code, as the lines
---  have them: launches of theirs are opaque
local Recording = {}
Recording.__index = Recording
Recording.__close = function(self) self.file:close() end

local function word(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function words_of(line)
  local words = {}
  for text in line:gmatch "%S+" do words[#words + 1] = word(text) end
  return words
end

-- A number of a line; one that none of ours would be is 0.
local function integer(text)
  return math.tointeger(tonumber(text)) or 0
end

-- Lines pack well: what they take here is held against what they take in the file.
local function refuse_many_words(text, path, place)
  local most, n = FEW_WORDS + lfs.attributes(place, "size"), 0
  for _ in text:gmatch "%S+" do
    n = n + 1
    if n > most then fail("%s is no recording of a program: it has more than %d words of events",
      path, most) end
  end
end

local function add_launch(r, event)
  local kernels, name, ns = r.kernels, event[3], tonumber(event[8]) or 0
  local kernel = kernels[name]
  if not kernel then
    kernel = { name = name, launches = 0, ns = 0, is_machine = r.machine[event[2]] }
    kernels[name], kernels[#kernels + 1] = kernel, kernel
  end
  kernel.launches, kernel.ns = kernel.launches + 1, kernel.ns + ns
end

--- Opens a recording; what is none is refused in a sentence.
---@param path string
---@return gilua.recording
function M.open(path)
  local place = elsewhere.of(path)
  local file, why = core.record.open(place)
  if not file then fail("%s", why) end
  local r = setmetatable({ path = path, file = file, is_whole = file:is_whole(), events = {},
                           program = {}, kernels = {}, machine = {} }, Recording)
  local sound, unsound = file:check()
  if not sound then fail("%s: %s", path, unsound) end
  local text = file:events()
  refuse_many_words(text, path, place)
  for line in text:gmatch "[^\n]+" do
    local event = words_of(line)
    r.events[#r.events + 1] = event
    if event[1] == "program" then r.program = table.move(event, 2, #event, 1, {}) end
    if event[1] == "as" then r.use = event[2] end
    if event[1] == "cubin" then r.machine[event[2]] = true end
    if event[1] == "launch" then add_launch(r, event) end
  end
  table.sort(r.kernels, function(a, b)
    if a.ns ~= b.ns then return a.ns > b.ns end
    return a.name < b.name
  end)
  return r
end

--------------------------------------------------------------------------------------------------
-- What is copied out, and whose memory it is

-- Memory that is there, by the address where it begins; of a variable its name.
local function memory_at(live, address)
  for first, m in pairs(live) do
    if address >= first and address < first + m.bytes then return m end
  end
end

-- Eight bytes in hexadecimal digits, the lowest first.
local function number_in(digits)
  local bytes = digits:gsub("%x%x", function(hex) return string.char(tonumber(hex, 16)) end)
  return (string.unpack("<i8", bytes))
end

-- The first kernel that was given an address of memory, and where in its arguments, is what that
-- memory is called by: programs of another input make theirs at other places. Of kernels that are
-- preferred the first, where one of them was given it.
--
-- Of memory that a program shares out itself (PyTorch's: many arrays in one piece) each address
-- that a kernel was given begins an array of its own.
local function name_arguments(state, event)
  local live, hex, preferred = state.live, event[9], state.preferred[event[3]]
  if state.shared_out and (preferred or not state.machine[event[2]]) then
    for at = 0, #hex // 2 - 8, 8 do
      local address = number_in(hex:sub(2 * at + 1, 2 * at + 16))
      local m = memory_at(live, address)
      local was = m and m.arrays[address]
      if m and (preferred or not (was and was.preferred)) then
        m.arrays[address] = { kernel = event[3], at = at, preferred = preferred }
      end
    end
  end
  local known = preferred and state.known_to_preferred or state.known
  for at = 0, #hex // 2 - 8, 8 do
    local digits = hex:sub(2 * at + 1, 2 * at + 16)
    local m = not known[digits] and memory_at(live, number_in(digits))
    known[digits] = true
    local is_better = m and preferred and not (m.called and m.called.preferred)
    if is_better or m and not m.called then
      m.called = { kernel = event[3], at = at, preferred = preferred }
    end
  end
end

local STEPS = {}

function STEPS.memory(state, event)
  local first, bytes = integer(event[2]), integer(event[3])
  state.live[first], state.known, state.known_to_preferred =
    { bytes = bytes, arrays = {} }, {}, {}
end

function STEPS.free(state, event)
  local first = math.tointeger(tonumber(event[2]))
  if first then state.live[first], state.known, state.known_to_preferred = nil, {}, {} end
end

function STEPS.variable(state, event)
  local first, bytes = integer(event[4]), integer(event[5])
  state.live[first] = { bytes = bytes, arrays = {},
    called = { variable = event[3], preferred = true } }
end

function STEPS.launch(state, event)
  name_arguments(state, event)
  state.is_preferred = state.preferred[event[3]] ~= nil
end

-- The array that begins last at an address or before it.
local function array_at(m, address)
  local best
  for first in pairs(m.arrays) do
    if first <= address and (not best or first > best) then best = first end
  end
  return best and m.arrays[best]
end

function STEPS.read(state, event)
  local address = math.tointeger(tonumber(event[2]))
  local m = address and memory_at(state.live, address)
  table.insert(state.reads, { blob = event[#event], memory = m,
    called = m and state.shared_out and array_at(m, address) })
end

-- What an opaque launch did is an answer where other code does it.
function STEPS.wrote(state, event)
  if state.is_preferred then STEPS.read(state, event) end
end

--- The pieces that the host got, in order; and those that opaque launches of preferred kernels
--- wrote.
---@param preferred? table<string, any> kernels by name
---@return { blob: string, kernel?: string, at?: integer, variable?: string }[] reads; kernel, at:
---  the first launch (of a kernel that is preferred, where there is one) that was given an address
---  in the same memory, and where in its arguments (bytes); variable: its name, where the memory is
---  one
function Recording:reads(preferred)
  local state = { live = {}, known = {}, known_to_preferred = {}, reads = {},
    preferred = preferred or {}, machine = self.machine, shared_out = next(self.machine) ~= nil }
  for _, event in ipairs(self.events) do
    local step = STEPS[event[1]]
    if step then step(state, event) end
  end
  for i, read in ipairs(state.reads) do
    local called = read.called or read.memory and read.memory.called or {}
    state.reads[i] = { blob = read.blob, kernel = called.kernel, at = called.at,
      variable = called.variable }
  end
  return state.reads
end

--- The modules whose kernels are launched, of those that are named.
---@param kernels table<string, any> by name
---@return table<integer, boolean>
function Recording:modules_of(kernels)
  local list = {}
  for _, event in ipairs(self.events) do
    if event[1] == "launch" and kernels[event[3]] then
      list[integer(event[2])] = true
    end
  end
  return list
end

---@param kind string "launch", "read" …
---@return integer how many lines of that kind
function Recording:count(kind)
  local n = 0
  for _, event in ipairs(self.events) do n = n + (event[1] == kind and 1 or 0) end
  return n
end

--- The bytes of a blob.
---@param name string
---@param most? integer how many there may be (2^28)
---@return string
function Recording:blob(name, most)
  local bytes, why = self.file:blob(name, most)
  if not bytes then fail("%s: %s", self.path, why) end
  return bytes
end

--- The PTX that a module was loaded from; nil: it is machine code.
---@param number integer
---@return string? ptx
function Recording:module(number)
  if self.machine[tostring(number)] then return nil end
  for _, event in ipairs(self.events) do
    if event[1] == "module" and event[2] == tostring(number) then return self:blob(event[3]) end
  end
  fail("%s has no module %d", self.path, number)
end

--- Runs it again on the virtual GPU, in a worker.
---@param options? table { model: string of base/gpu ("h200"), code: { [module] = PTX }, budget,
---  count_uninitialised, check_races } as core.record's r:replay
---@return table { status, ticks, ns, warp_instructions, kernels, reads, warnings, message?,
---  event? }
---@return string? message instead, where it cannot be run
---@return string? code "format", "compile", "nomem"
function Recording:replay(options)
  local rest = {}
  for k, v in pairs(options or {}) do rest[k] = v end
  local name = rest.model or gpus.chosen()
  local model = gpus.find(name) or fail("%s", gpus.missing(name))
  rest.model, rest.memory_bytes = nil, rest.memory_bytes or M.memory_bytes
  if launcher.here then return self.file:replay(model, rest) end
  local r, why, code = launcher.bench().replay(self, self.path, model, rest)
  for _, read in ipairs(r and r.reads or {}) do
    read.bytes = read.bytes or self:blob(read.name, read.size)
  end
  return r, why, code
end

--- Returns the kernel launched right after a launch, if it has the same module and shape and is not
--- cooperative, and is `entry` if that is given; else nil.
---@param events string[][]
---@param i integer of the launch
---@param entry string? nil: any other kernel
---@return string?
function M.follower(events, i, entry)
  local event, next = events[i], events[i + 1]
  local fits = next and next[1] == "launch" and next[3] ~= event[3] and next[2] == event[2]
    and event[7] == "0" and table.concat(next, " ", 4, 7) == table.concat(event, " ", 4, 7)
  return fits and (not entry or next[3] == entry) and next[3] or nil
end

-- APP.USE.rec, APP.USE-2.rec … of APP.rec.
local function beside(path, use, n)
  local stem, suffix = path:match "^(.-)(%.rec)$"
  return ("%s.%s%s%s"):format(stem or path, use, n > 1 and "-" .. n or "", suffix or "")
end

--- Where a recording for some use goes, beside the one to train on: a name that is free.
---@param path string of that
---@param use string
---@return string
function M.beside(path, use)
  local n = 1
  while lfs.attributes(beside(path, use, n)) do n = n + 1 end
  return beside(path, use, n)
end

--- Those that are there beside a recording.
---@param path string
---@param uses string[]
---@return string[] paths
function M.all_beside(path, uses)
  local list = {}
  for _, use in ipairs(uses) do
    local n = 1
    while lfs.attributes(beside(path, use, n), "mode") == "file" do
      list[#list + 1] = beside(path, use, n)
      n = n + 1
    end
  end
  return list
end

--- What it holds, for people.
---@param r gilua.recording
---@return string
function M.line(r)
  local launches, reads, opaque = r:count "launch", r:count "read", 0
  for _, kernel in ipairs(r.kernels) do
    opaque = opaque + (kernel.is_machine and kernel.launches or 0)
  end
  return ("%s has %d launch%s of %d kernel%s%s and %d piece%s of what was copied out, in %d kB%s")
    :format(r.path, launches, launches == 1 and "" or "es", #r.kernels,
      #r.kernels == 1 and "" or "s",
      opaque > 0 and (", %d of them opaque (machine code alone),"):format(opaque) or "",
      reads, reads == 1 and "" or "s",
      math.ceil(lfs.attributes(r.path, "size") / 1000),
      r.is_whole and "" or "; it ends in the middle: the program did not come to its end")
end

return M
