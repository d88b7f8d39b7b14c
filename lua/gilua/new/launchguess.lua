-- launchguess: how a kernel is launched, from the host's code where that says it (gilua.hostcode),
-- else guessed: a template's arguments, the sizes, block and grid, dynamic shared memory.

local csource = require "gilua.source.csource"
local fixedblock = require "gilua.new.fixedblock"
local instances = require "gilua.host.instances"
local scalaruse = require "gilua.new.scalaruse"

local M = {}

--- Does the code rely on a number of threads that the launch does not give it? Why it does, or nil.
M.fixed_block = fixedblock.why

local DIMENSIONS = { "x", "y", "z" }
local ELEMENTS = { 1, 2, 4, 8, 16 } -- that a thread may take
local LEAST_ROWS = 16 -- fewer blocks are equal to some number by chance
local NAMED = { -- the usual meaning of an argument with that name, if its value is unknown
  { "^size_?[yY]$|^[nN]um_?[yY]$|^dim_?[yY]$", 2 },
  { "^size_?[zZ]$|^[nN]um_?[zZ]$|^dim_?[zZ]$", 3 },
  { "^[nN]$|^num|^count|^len|^size|^total|^N|^dim$", 1 },
  { "width|^w$|^nx$|^cols$|columns|pitch|stride|^iW|^w%u$|^ld%a?$", 1 },
  { "height|^h$|^ny$|^iH|^h%u$|rows|^m$", 2 }, { "depth|^d$|^nz$", 3 },
}

--------------------------------------------------------------------------------------------------
-- Arguments of a template

-- A type, where the kernel's file knows it: a guess stands for what only the host knows.
local function type_argument(p, text, host, notes)
  if text and instances.is_type(host, text) then return text end
  local guess = p.name:find "[Ii]n?de?x" and "int" or "float" -- IdxType, index_t
  notes[#notes + 1] = ("GUESS: template parameter %s is %s"):format(p.name, guess)
  return guess
end

-- Is a parameter a whole number, and no value of an enumeration or a class?
local function is_number(p, host)
  local t <close> = csource.tokens(p.declared)
  for i = 1, #t - 1 do
    if host.SIZES[t[i]] then return true end
  end
  return false
end

-- The value of a number; the text of what has a type of its own, which no number converts to.
local function value_argument(p, text, host, notes)
  if text and not is_number(p, host) then return text end
  local value = text and host:value(text)
  if value then return tostring(value) end
  if text and text:find "^[%w_:]+::[%w_]+$" then return text end
  local guess = p.name:find "[XYZ]$" and "16" or "256" -- of a side, kBlockDimX
  notes[#notes + 1] = ("GUESS: template parameter %s is %s"):format(p.name, guess)
  return guess
end

-- The argument that the host has for a parameter, as it is known outside of what launches it.
local function launched_with(p, i, kernel, launch, host)
  local text = launch and launch.template[i]
  if text then return instances.resolve(host, text, launch.body) end
  local is_deduced = launch and p.is_type
  return is_deduced and instances.deduced(host, p.name, kernel.param_texts, launch) or nil
end

--- Arguments of a kernel's template: those given, else those it is launched with, else its own,
--- else guesses.
---@param item table of g:outline(), with what gilua.slice knows of its template
---@param launch table? of hostcode:launch
---@param given string[]
---@param host table of gilua.hostcode
---@param notes string[] receives a note for each guess
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

-- How many dimensions tokens have threads in; 0 where they have none.
local function dimensions_in(t)
  for d = 3, 1, -1 do
    local name = DIMENSIONS[d]
    if t:find(1, "threadIdx", ".", name) or t:find(1, "blockIdx", ".", name) then return d end
  end
  return 0
end

--- How many dimensions a kernel's body has threads in.
---@param body userdata tokens
---@return integer
function M.dimensions(body)
  return math.max(1, dimensions_in(body))
end

-- How many dimensions a kernel has threads in; where its body does not say, what it calls does.
local function dimensions_of(read)
  local n = dimensions_in(read.body)
  if n > 0 then return n end
  local source <close> = csource.tokens(read.sliced.source)
  return math.max(1, dimensions_in(source))
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

-- Is this the value of a parameter that may be a size, of no other dimension?
local function is_size(s, p, v)
  return math.type(v) == "integer" and v > 1 and not s.taken[p.name] and M.may_be_size(p)
end

-- The arguments that may be sizes, those first that the grid follows: where two have one value, it
-- is made of one of them.
local function sizes_among(read, s, d)
  local follows, others = {}, {}
  for i, p in ipairs(read.params) do
    if is_size(s, p, read.values[p.name]) then
      local list = read.host:follows(read.launch.args[i] or "", function()
        local grid = read.host:dimensions(read.launch.grid)
        return grid and grid[d]
      end) and follows or others
      list[#list + 1] = p
    end
  end
  return table.move(others, 1, #others, #follows + 1, follows)
end

-- The argument that a grid of n blocks was made from, and how many of its elements a thread takes;
-- 0: a block takes one.
local function origin_of(read, s, n, d)
  local list, block = sizes_among(read, s, d), s.block[d]
  for _, each in ipairs(ELEMENTS) do
    for _, p in ipairs(list) do
      local v = read.values[p.name]
      if (v + block * each - 1) // (block * each) == n then return p.name, each end
    end
  end
  for _, p in ipairs(list) do
    if read.values[p.name] == n and n >= LEAST_ROWS then return p.name, 0 end
  end
end

local function link(s, d, name, size)
  s.size[d], s.link[d], s.taken[name] = size, name, true
end

-- The parameters that a kernel compares its threads' places of a dimension with, and how many
-- threads have such a place in common.
local function compared_with(read, d, used)
  local source <close>, found = csource.tokens(read.sliced.source), {}
  local derived = scalaruse.derived(source)
  for _, p in ipairs(read.params) do
    local use = M.may_be_size(p) and scalaruse.of(source, p.name, false, derived) or {}
    if use.thread and math.min(use.thread, used) == d then found[p.name] = use.shared or 1 end
  end
  return found
end

-- The argument that says how many rows a grid of n blocks has, each shared by so many threads.
local function rows_of(read, s, n, d)
  local compared = compared_with(read, d, #s.block)
  for _, p in ipairs(sizes_among(read, s, d)) do
    local shared = compared[p.name] or 1
    local threads = read.values[p.name] * shared
    if shared > 1 and (threads + s.block[d] - 1) // s.block[d] == n then return p.name, shared end
  end
end

local function size_from_grid(read, s, grid, d)
  local name, each
  if grid[d] > 1 then name, each = origin_of(read, s, grid[d], d) end
  s.size[d] = grid[d] * s.block[d]
  local shared
  if not name and grid[d] > 1 then name, shared = rows_of(read, s, grid[d], d) end
  if shared then
    s.size[d], s.taken[name], s.shared[name] = read.values[name] * shared, true, { d, shared }
  elseif name then
    link(s, d, name, read.values[name])
    s.each[d], s.rows[d] = math.max(each, 1), each == 0
  end
end

-- A grid that no argument explains: each thread takes every so many-th element.
local function size_of_strides(read, s, grid)
  for _, p in ipairs(read.params) do
    local v = read.values[p.name]
    if is_size(s, p, v) and v > s.size[1] then
      link(s, 1, p.name, v)
      s.fixed_grid = grid
      return
    end
  end
end

-- By the names of those that threads are compared with, where any are, else of any.
local function size_from_names(read, s, d, used)
  s.size[d], s.guessed = used == 1 and 65536 or 256, true
  local compared = compared_with(read, d, used)
  for _, p in ipairs(read.params) do
    local may_be = compared[p.name] or not next(compared)
    if may_be and M.may_be_size(p) and not s.taken[p.name]
        and M.dimension_by_name(p.name, used) == d then
      local v = read.values[p.name]
      local shared = compared[p.name] or 1
      if shared > 1 then
        s.size[d] = v and v * shared or s.size[d]
        s.taken[p.name], s.shared[p.name] = true, { d, shared }
        return
      elseif not v or math.type(v) == "integer" and v >= LEAST_ROWS then
        link(s, d, p.name, v or s.size[d])
        return
      end
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Blocks whose number of threads is unknown

local BLOCK_NAMES = { "BLOCK", "THREADS", "TILE", "NTHREADS", "WORKGROUP", "LOCAL_SIZE" }
local USUAL = { { { 256 }, { 128 }, { 64 }, { 32 } },
  { { 16, 16 }, { 32, 8 }, { 8, 8 }, { 32, 32 }, { 4, 4 } },
  { { 8, 8, 8 }, { 16, 8, 1 }, { 4, 4, 4 } } }
local MOST_THREADS = 1024

-- A name of the kernel's whose value may be the side of a block, in one dimension.
local function named_sides(read, used)
  local any, sides, seen = {}, {}, {}
  for i = 1, #read.body do
    local name = read.body:kind(i) == "name" and not seen[read.body[i]] and read.body[i]
    local is_block = false
    for _, part in ipairs(name and BLOCK_NAMES or {}) do
      is_block = is_block or name:upper():find(part)
    end
    local value = is_block and read.host:value(name)
    if name then seen[name] = true end
    if math.type(value) == "integer" and value > 1 and value <= MOST_THREADS then
      local d = ("XYZ"):find(name:upper():sub(-1), 1, true)
      if d and d <= used then sides[d] = sides[d] or value else any[#any + 1] = value end
    end
  end
  return sides, any
end

-- What the [ ] of shared arrays hold, where that is known.
local function shared_extents(read)
  local list, body = {}, read.body
  local i = body:find(1, "__shared__")
  while i do
    local extents = {}
    repeat i = i + 1 until not body[i] or body[i] == ";" or body[i] == "["
    while body[i] == "[" and body:match(i) do
      extents[#extents + 1] = read.host:value(body:text(i + 1, body:match(i) - 1))
      i = body:match(i) + 1
    end
    if #extents > 0 then list[#list + 1] = extents end
    i = body:find(i, "__shared__")
  end
  return list
end

-- Adds a block of these sides, unless it is there or has too many threads.
local function add_block(list, sides, used)
  local block, threads = { 1, 1, 1 }, 1
  for d = 1, used do
    block[d] = sides[d] or 1
    threads = threads * block[d]
  end
  if threads > MOST_THREADS or threads < 2 then return end
  for _, other in ipairs(list) do
    if other[1] == block[1] and other[2] == block[2] and other[3] == block[3] then return end
  end
  list[#list + 1] = block
end

local function add_square(list, side, used)
  local sides = {}
  for d = 1, math.min(used, 2) do sides[d] = side end
  add_block(list, sides, used)
end

-- Blocks that are worth a try, the likeliest first: by __launch_bounds__, by names of the kernel's,
-- by its shared memory, the usual ones.
local function blocks_of(read, used)
  local list = {}
  local bounds = fixedblock.launch_bounds(read.head)
  local most = bounds and read.host:value(csource.split(bounds)[1] or "")
  if most and used == 1 then add_block(list, { most }, used) end
  local sides, any = named_sides(read, used)
  if sides[1] then add_block(list, sides, used) end
  for _, side in ipairs(any) do add_square(list, side, used) end
  for _, extents in ipairs(shared_extents(read)) do
    local last = extents[#extents]
    if used > 1 and #extents > 1 then add_block(list, { last, extents[#extents - 1] }, used) end
    if used > 1 and #extents > 1 and last % 2 == 1 then add_square(list, last - 1, used) end
    if last >= 32 then add_square(list, last, used) end
  end
  for _, usual in ipairs(USUAL[used]) do add_block(list, usual, used) end
  return list
end

local ASKS_BLOCK = { "this_thread_block", "this_grid", "asm" }

-- The sides, but x, along which blocks have one thread and nothing asks for a thread's place: more
-- threads there would do the same, and fewer blocks would leave some out.
local function flat_sides(read, block, used)
  local source <close>, flat = csource.tokens(read.sliced.source), {}
  for d = 2, used do
    flat[d] = block[d] == 1 and not source:find(1, "threadIdx", ".", DIMENSIONS[d])
      and not source:find(1, "blockDim", ".", DIMENSIONS[d])
  end
  for _, word in ipairs(ASKS_BLOCK) do
    if source:find(1, word) then return {} end
  end
  return flat
end

---@class LaunchShape
---@field size integer[] one a dimension that the kernel uses
---@field block integer[]
---@field block_guessed boolean
---@field fixed_block? string why the block is not to be tuned
---@field link table<integer, string> dimension to the argument that says its size
---@field each table<integer, integer> dimension to how many elements a thread takes
---@field rows table<integer, boolean> dimensions in which each block takes one index
---@field shared table<string, { [1]: integer, [2]: integer }> arguments that say how many rows
---  there are: the dimension, and how many threads share each
---@field blocks? integer[][] others to try where `block` is a guess
---@field fixed_grid? integer[] of a loop with a stride
---@field from? string where that was read
---@field guessed? boolean
---@field flat table<integer, boolean> dimensions along which blocks have one thread for good

--- What was assumed for an expression of the host's, as a remark; "" for nothing.
---@param read Reading
---@param text string
---@return string
function M.assumed(read, text)
  local list, run_with = {}, {}
  for _, name in ipairs(read.assumed) do
    local function of(dimensions)
      return dimensions and dimensions[1] + 1e-3 * dimensions[2] + 1e-6 * dimensions[3]
    end
    if read.host:follows(name, function() return of(read.host:dimensions(text)) end) then
      local value, given = read.host.assumed[name], read.host.given[name]
      local to = given == value and run_with or list
      to[#to + 1] = ("%s = %d"):format(name, value)
    end
  end
  local function told(names, how)
    return #names > 0 and ("; GUESS: %s, which %s"):format(table.concat(names, ", "), how) or ""
  end
  return told(run_with, "it is run with") .. told(list, "no source gives")
end

-- A block that a GPU takes; nil where it is not known.
local function block_of(host, text)
  local block = host:dimensions(text)
  return block and block[1] * block[2] * block[3] <= MOST_THREADS and block or nil
end

--- Size, block and grid.
---@param read Reading
---@return LaunchShape
function M.shape(read)
  local launch, host, used = read.launch, read.host, dimensions_of(read)
  local block = launch and launch.block and block_of(host, launch.block)
  local grid = launch and launch.grid and host:dimensions(launch.grid)
  local blocks = not block and blocks_of(read, used) or nil
  local s = { size = {}, link = {}, each = {}, rows = {}, shared = {}, taken = {},
    block_guessed = not block, block = block or blocks[1], blocks = blocks,
    from = grid and "the launch at " .. launch.place .. M.assumed(read, launch.grid) or nil,
    unknown = launch and launch.grid and not grid and ("the grid of the launch at %s, %s, has no "
      .. "value that the file tells"):format(launch.place, (launch.grid:gsub(" ?%. ?", ".")))
      or nil }
  for d = 1, grid and used or 0 do size_from_grid(read, s, grid, d) end
  if grid and not s.link[1] and read.body:find(1, "gridDim", ".") then
    size_of_strides(read, s, grid)
  end
  for d = 1, used do
    if not s.size[d] then size_from_names(read, s, d, used) end
  end
  s.fixed_block, s.flat = M.fixed_block(read, s.block), flat_sides(read, s.block, used)
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

--- Returns the bytes of dynamic shared memory of a launch that does not give them.
---@return { text: string, note: string }
function M.shared_guess()
  return { text = "block_size_x * 8", note = "GUESS: bytes" }
end

--- Bytes of dynamic shared memory as an expression, and where that is from; nil where there is
--- none.
---@param read Reading
---@param shape LaunchShape
---@return { text: string, note: string }?
function M.shared(read, shape)
  local text = read.launch and read.launch.shared
  local bytes = text and text ~= "" and text ~= "0" and read.host:value(text)
  local is_asked = read.body:find(1, "extern", "__shared__")
  if not bytes then
    if is_asked then return M.shared_guess() end
    return nil
  end
  local block = shape.block
  local threads = block[1] * block[2] * block[3]
  local from = ("%d bytes, %s"):format(bytes, read.launch.place)
  if bytes > 0 and bytes % threads == 0 then
    return { text = ("%s * %d"):format(M.threads_text(#shape.size), bytes // threads), note = from }
  end
  local element = read.body:find(1, "extern", "__shared__", "double") and 8 or 4
  if bytes < threads * element then return { text = tostring(bytes), note = from } end
  return { text = ("block_size_x * %d + %d"):format(element, bytes - threads * element),
    note = "GUESS: " .. from }
end

return M
