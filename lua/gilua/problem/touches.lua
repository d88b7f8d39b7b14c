--- touches: the allocations that each launch of a recording may read and write: those that the
--- kernel's code can reach from the launch's arguments (ptx:access). Nothing is known of a launch
--- whose kernel reaches more: by pointers in memory, by textures, by calls of functions; or whose
--- blocks all wait for each other.

local core = require "gilua.core"

local M = { VARIABLES = 0 } -- those of all modules are one allocation

---@class gilua.touched { reads: integer[]?, writes: integer[]? } of a launch, allocations by their
---  addresses; without: anything

local function number(text)
  return math.tointeger(tonumber(text)) or 0
end

-- What there is: allocations { bytes =, name = } by where they begin, and of words that were asked
-- for since it changed whose they are.
local STEPS = {}

local function set(there, first, allocation)
  there.live[first], there.known = allocation, {}
end

function STEPS.memory(there, event)
  local first = number(event[2])
  local is_variable = there.live[first] and there.live[first].name == M.VARIABLES
  if not is_variable then set(there, first, { bytes = number(event[3]), name = first }) end
end

function STEPS.variable(there, event)
  set(there, number(event[4]), { bytes = number(event[5]), name = M.VARIABLES })
end

function STEPS.free(there, event)
  set(there, number(event[2]), nil)
end

-- The allocation that eight bytes, the lowest first, are an address in; false.
local function allocation_at(live, digits)
  local word = string.unpack("<i8", (digits:gsub("%x%x", function(two)
    return string.char(tonumber(two, 16))
  end)))
  for first, memory in pairs(live) do
    if word >= first and word < first + memory.bytes then return memory.name end
  end
  return false
end

-- The words of a launch's arguments, each with the allocation that it is an address in.
local function given(there, hex)
  local of_word = {}
  for at = 0, #hex // 2 - 8, 8 do
    local digits = hex:sub(2 * at + 1, 2 * at + 16)
    if there.known[digits] == nil then
      there.known[digits] = allocation_at(there.live, digits)
    end
    of_word[at] = there.known[digits]
  end
  return of_word
end

-- The allocations that addresses of some kinds may lie in; nil where one is in none that is known.
local function reached(kinds, of_word)
  local list, seen = {}, {}
  local function add(name)
    if not seen[name] then list[#list + 1] = name end
    seen[name] = true
  end
  if kinds.variables then add(M.VARIABLES) end
  for _, kind in ipairs(kinds) do
    local is_any = kind.other
    for _, at in ipairs(kind) do
      if of_word[at] then
        add(of_word[at])
        is_any = true
      end
    end
    if not is_any then return nil end
  end
  return list
end

local function touched(access, of_word)
  if not access or access.unknown then return {} end
  local reads, writes = reached(access.reads, of_word), reached(access.writes, of_word)
  return reads and writes and { reads = reads, writes = writes } or {}
end

-- What kernels of the recording's own modules reach, by module and kernel.
local function recorded_access(r)
  local modules, known = {}, {}
  return function(number_of, kernel)
    local key = number_of .. " " .. kernel
    if known[key] == nil then
      if modules[number_of] == nil then
        modules[number_of] = core.ptx.open(r:module(number_of) or "") or false
      end
      known[key] = modules[number_of] and modules[number_of]:access(kernel) or false
    end
    return known[key]
  end
end

--- What launches may touch.
---@param r gilua.recording
---@param other? table<string, table> ptx:access of other code's kernels, by the recording's names
---@return gilua.touched[] of each launch
function M.of(r, other)
  local there, list, recorded = { live = {}, known = {} }, {}, recorded_access(r)
  for _, event in ipairs(r.events) do
    if STEPS[event[1]] then STEPS[event[1]](there, event) end
    if event[1] == "launch" then
      local access = other and other[event[3]] or recorded(number(event[2]), event[3])
      list[#list + 1] = event[7] == "0" and touched(access, given(there, event[9] or "")) or {}
    end
  end
  return list
end

--- What kernels of some PTX reach; where it is not understood each reaches anything.
---@param ptx string
---@param kernels table<string, any> by name
---@return table<string, table>
function M.access(ptx, kernels)
  local code, list = core.ptx.open(ptx), {}
  for name in pairs(kernels) do list[name] = code and code:access(name) or { unknown = true } end
  return list
end

return M
