-- launchguess: how a kernel is launched, from the host's code where that says it (gilua.hostcode),
-- else guessed: a template's arguments, the sizes, block and grid, dynamic shared memory.

local csource = require "gilua.new.csource"
local instances = require "gilua.new.instances"

local M = {}

local DIMENSIONS = { "x", "y", "z" }
local ELEMENTS = { 1, 2, 4, 8, 16 } -- that a thread may take
local NAMED = { -- what an argument of that name usually is, where nothing says its value
  { "^[nN]$|^num|^count|^len|^size|^total|^N|^rows$|^m$|^dim$", 1 },
  { "width|^w$|^nx$|^cols$|columns|pitch|stride|^iW", 1 },
  { "height|^h$|^ny$|^iH", 2 }, { "depth|^d$|^nz$", 3 },
}

--------------------------------------------------------------------------------------------------
-- Arguments of a template

-- A type, where the kernel's file knows it: a guess stands for what only the host knows.
local function type_argument(p, text, host, notes)
  if text and instances.is_type(host, text) then return text end
  notes[#notes + 1] = ("GUESS: template parameter %s is float"):format(p.name)
  return "float"
end

-- Is a parameter a whole number, and no value of an enumeration or a class?
local function is_number(p, host)
  local t <close> = csource.tokens(p.declared)
  for i = 1, #t - 1 do
    if host.SIZES[t[i]] then return true end
  end
  return false
end

local function value_argument(p, text, host, notes)
  local value = text and host:value(text)
  if value then return tostring(value) end
  if text and (not is_number(p, host) or text:find "^[%w_:]+::[%w_]+$") then return text end
  notes[#notes + 1] = ("GUESS: template parameter %s is 256"):format(p.name)
  return "256"
end

-- The argument that the host has for a parameter, as it is known outside of what launches it.
local function launched_with(p, i, kernel, launch, host)
  local text = launch and launch.template[i]
  if text then return instances.resolve(host, text, launch.within) end
  local is_deduced = launch and p.is_type
  return is_deduced and instances.deduced(host, p.name, kernel.param_texts, launch) or nil
end

--- Arguments of a kernel's template: those given, else those it is launched with, else its own,
--- else guesses.
---@param item table of g:outline(), with what gilua.slice knows of its template
---@param launch table? of hostcode:launch
---@param given string[]
---@param host table of gilua.hostcode
---@param notes string[] guesses are told here
---@return string[]
function M.template(item, launch, given, host, notes)
  local list = {}
  for i, p in ipairs(item.template or {}) do
    local text = given[i] or launched_with(p, i, item, launch, host) or p.default
    list[i] = (p.is_type and type_argument or value_argument)(p, text, host, notes)
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Sizes

--- How many dimensions a kernel's body has threads in.
---@param body userdata tokens
---@return integer
function M.dimensions(body)
  for d = 3, 2, -1 do
    local name = DIMENSIONS[d]
    if body:find(1, "threadIdx", ".", name) or body:find(1, "blockIdx", ".", name) then return d end
  end
  return 1
end

--- The dimension that an argument of this name usually is the size of; nil where it says nothing.
---@param name string
---@param used integer dimensions
---@return integer?
function M.dimension_by_name(name, used)
  for _, row in ipairs(NAMED) do
    for pattern in row[1]:gmatch("[^|]+") do
      if name:find(pattern) or name:lower():find(pattern) then return math.min(row[2], used) end
    end
  end
end

--- Is a parameter a whole number that has room for a size?
---@param p table of gilua.signature
---@return boolean
function M.may_be_size(p)
  return not p.pointer and not p.struct and p.type:find "^[iu][36]" ~= nil
end

-- The whole-number argument that a grid of n blocks was made from, and how many of its elements a
-- thread takes.
local function origin_of(read, s, n, block)
  for _, each in ipairs(ELEMENTS) do
    for _, p in ipairs(read.params) do
      local v = read.values[p.name]
      if math.type(v) == "integer" and v > 1 and not s.taken[p.name] and not p.pointer
          and (v + block * each - 1) // (block * each) == n then
        return p.name, each
      end
    end
  end
end

local function link(s, d, name, size)
  s.size[d], s.link[d], s.taken[name] = size, name, true
end

local function size_from_grid(read, s, grid, d)
  local name, each
  if grid[d] > 1 then name, each = origin_of(read, s, grid[d], s.block[d]) end
  s.size[d] = grid[d] * s.block[d]
  if name then
    link(s, d, name, read.values[name])
    s.each[d] = each
  end
end

-- A grid that no argument explains: each thread takes every so many-th element.
local function size_of_strides(read, s, grid)
  for _, p in ipairs(read.params) do
    local v = read.values[p.name]
    if math.type(v) == "integer" and not p.pointer and v > s.size[1] then
      link(s, 1, p.name, v)
      s.fixed_grid = grid
      return
    end
  end
end

local function size_from_names(read, s, d, used)
  s.size[d], s.guessed = used == 1 and 65536 or 256, true
  for _, p in ipairs(read.params) do
    if M.may_be_size(p) and not s.taken[p.name] and M.dimension_by_name(p.name, used) == d then
      local v = read.values[p.name]
      link(s, d, p.name, math.type(v) == "integer" and v > 0 and v or s.size[d])
      return
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Blocks that are not to be tuned

-- Shared memory of a size of its own, which is no warp's.
local function fixed_shared(read)
  local body = read.body
  local i = body:find(1, "__shared__")
  while i do
    repeat i = i + 1 until not body[i] or body[i] == ";" or body[i] == "["
    local close = body[i] == "[" and body:match(i)
    local inner = close and body:text(i + 1, close - 1)
    if inner and inner ~= "32" and read.host:value(inner) then return inner end
    i = body:find(i, "__shared__")
  end
end

-- A name that the launch makes its block of and the kernel uses as well.
local function shared_name(read)
  local text = read.launch and read.launch.block or ""
  local t <close> = csource.tokens(read.host.dims[text] or text)
  for i = 1, #t do
    if t:kind(i) == "name" and t[i] ~= "dim3" and read.body:find(1, t[i]) then return t[i] end
  end
end

local function launch_bounds(head)
  local i = head:find(1, "__launch_bounds__", "(")
  local close = i and head:match(i + 1)
  return close and head:text(i + 2, close - 1)
end

-- Does the code rely on a number of threads that the launch does not give it? Why it does, or nil.
local function fixed_block(read, block)
  local inner = fixed_shared(read)
  if inner then return "shared memory has a size of its own, " .. inner end
  for i, p in ipairs(read.sliced.item.template or {}) do
    if read.template[i] == tostring(block[1]) then
      return ("template parameter %s is it"):format(p.name)
    end
  end
  local name, bounds = shared_name(read), launch_bounds(read.head)
  if name then return ("the kernel uses %s as well"):format(name) end
  return bounds and ("__launch_bounds__(%s)"):format(bounds)
end

---@class LaunchShape
---@field size integer[] one a dimension that the kernel uses
---@field block integer[]
---@field block_guessed boolean
---@field fixed_block? string why the block is not to be tuned
---@field link table<integer, string> dimension to the argument that says its size
---@field each table<integer, integer> dimension to how many elements a thread takes
---@field fixed_grid? integer[] of a loop with a stride
---@field from? string where that was read
---@field guessed? boolean

--- Size, block and grid.
---@param read Reading
---@return LaunchShape
function M.shape(read)
  local launch, host, used = read.launch, read.host, M.dimensions(read.body)
  local block = launch and launch.block and host:dimensions(launch.block)
  local grid = launch and launch.grid and host:dimensions(launch.grid)
  local s = { size = {}, link = {}, each = {}, taken = {}, block_guessed = not block,
    block = block or (used == 1 and { 256, 1, 1 } or { 16, 16, 1 }),
    from = grid and "the launch at " .. launch.place or nil }
  for d = 1, grid and used or 0 do size_from_grid(read, s, grid, d) end
  if grid and not s.link[1] and read.body:find(1, "gridDim", ".") then
    size_of_strides(read, s, grid)
  end
  for d = 1, used do
    if not s.size[d] then size_from_names(read, s, d, used) end
  end
  s.fixed_block = fixed_block(read, s.block)
  return s
end

--------------------------------------------------------------------------------------------------
-- Shared memory

---@param used integer dimensions
---@return string "block_size_x * block_size_y"
function M.threads_text(used)
  local list = {}
  for d = 1, used do list[d] = "block_size_" .. DIMENSIONS[d] end
  return table.concat(list, " * ")
end

--- Bytes of dynamic shared memory as an expression, and where that is from; nil where there is
--- none.
---@param read Reading
---@param shape LaunchShape
---@return string? text
---@return string? note
function M.shared(read, shape)
  local text = read.launch and read.launch.shared
  local bytes = text and text ~= "" and text ~= "0" and read.host:value(text)
  local is_asked = read.body:find(1, "extern", "__shared__")
  if not bytes then
    if is_asked then return "block_size_x * 8", "GUESS: bytes" end
    return nil
  end
  local block = shape.block
  local threads = block[1] * block[2] * block[3]
  local from = ("%d bytes, %s"):format(bytes, read.launch.place)
  if bytes > 0 and bytes % threads == 0 then
    return ("%s * %d"):format(M.threads_text(#shape.size), bytes // threads), from
  end
  local element = read.body:find(1, "extern", "__shared__", "double") and 8 or 4
  if bytes < threads * element then return tostring(bytes), from end
  return ("block_size_x * %d + %d"):format(element, bytes - threads * element), "GUESS: " .. from
end

return M
