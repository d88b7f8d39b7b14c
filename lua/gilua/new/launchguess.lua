-- launchguess: how a kernel is launched, from the host's code where that says it (gilua.hostcode),
-- else guessed: a template's arguments, the sizes, block and grid, dynamic shared memory.

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

local function template_argument(p, text, host, notes)
  if p.is_type then
    if text and host:size_of(text) then return text end
    notes[#notes + 1] = ("GUESS: template parameter %s is float"):format(p.name)
    return "float"
  end
  local value = text and host:value(text)
  if value then return tostring(value) end
  notes[#notes + 1] = ("GUESS: template parameter %s is 256"):format(p.name)
  return "256"
end

--- Arguments of a kernel's template: those given, else those it is launched with, else guesses.
---@param item table of g:outline(), with gilua.slice's is_type in its template
---@param launch table? of hostcode:launch
---@param given string[]
---@param host table of gilua.hostcode
---@param notes string[] guesses are told here
---@return string[]
function M.template(item, launch, given, host, notes)
  local list = {}
  for i, p in ipairs(item.template or {}) do
    list[i] = template_argument(p, given[i] or launch and launch.template[i], host, notes)
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Sizes

--- How many dimensions a body of code has threads in.
---@param body string
---@return integer
function M.dimensions(body)
  for d = 3, 2, -1 do
    local name = DIMENSIONS[d]
    if body:find("threadIdx%s*%.%s*" .. name) or body:find("blockIdx%s*%.%s*" .. name) then
      return d
    end
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

-- The whole-number argument that a grid of n blocks was made from, and how many of its elements a
-- thread takes.
local function origin_of(g, s, n, block)
  for _, each in ipairs(ELEMENTS) do
    for _, p in ipairs(g.params) do
      local v = g.values[p.name]
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

local function size_from_grid(g, s, grid, d)
  local name, each
  if grid[d] > 1 then name, each = origin_of(g, s, grid[d], s.block[d]) end
  s.size[d] = grid[d] * s.block[d]
  if name then
    link(s, d, name, g.values[name])
    s.each[d] = each
  end
end

-- A grid that no argument explains: each thread takes every so many-th element.
local function size_of_strides(g, s, grid)
  for _, p in ipairs(g.params) do
    local v = g.values[p.name]
    if math.type(v) == "integer" and not p.pointer and v > s.size[1] then
      link(s, 1, p.name, v)
      s.fixed_grid = grid
      return
    end
  end
end

local function size_from_names(g, s, d)
  s.size[d], s.guessed = g.used == 1 and 65536 or 256, true
  for _, p in ipairs(g.params) do
    local is_whole = not p.pointer and not p.struct and p.type:find("^[iu]")
    if is_whole and not s.taken[p.name] and M.dimension_by_name(p.name, g.used) == d then
      local v = g.values[p.name]
      link(s, d, p.name, math.type(v) == "integer" and v or s.size[d])
      return
    end
  end
end

---@class LaunchShape
---@field size integer[]
---@field block integer[]
---@field block_guessed boolean
---@field link table<integer, string> dimension to the argument that says its size
---@field each table<integer, integer> dimension to how many elements a thread takes
---@field fixed_grid? integer[] of a loop with a stride
---@field from? string where that was read
---@field guessed? boolean

--- Size, block and grid.
---@param g table of gilua.newproblem
---@return LaunchShape
function M.shape(g)
  local launch = g.launch
  local block = launch and launch.block and g.host:dimensions(launch.block)
  local grid = launch and launch.grid and g.host:dimensions(launch.grid)
  local s = { size = {}, link = {}, each = {}, taken = {}, block_guessed = not block,
    block = block or (g.used == 1 and { 256, 1, 1 } or { 16, 16, 1 }),
    from = grid and ("the launch at line %d"):format(launch.line) or nil }
  for d = 1, grid and g.used or 0 do size_from_grid(g, s, grid, d) end
  if grid and not s.link[1] and g.body:find("%f[%w_]gridDim%s*%.") then
    size_of_strides(g, s, grid)
  end
  for d = 1, g.used do
    if not s.size[d] then size_from_names(g, s, d) end
  end
  return s
end

--------------------------------------------------------------------------------------------------
-- Blocks and shared memory

--- Does the code rely on a number of threads that the launch does not give it? Why it does, or nil.
---@param g table
---@return string?
function M.fixed_block(g)
  for inner in g.body:gmatch("__shared__[^;]-%[([^%]]+)%]") do
    if g.host:value(inner) and not inner:find("^%s*32%s*$") then
      return ("shared memory has a size of its own, %s"):format(inner:match("^%s*(.-)%s*$"))
    end
  end
  for i, p in ipairs(g.item.template or {}) do
    if g.template[i] == tostring(g.shape.block[1]) then
      return ("template parameter %s is it"):format(p.name)
    end
  end
  local text = g.launch and g.launch.block or ""
  local dim = g.host.dims[text:match("^%s*([%a_][%w_]*)%s*$") or ""]
  for name in (dim and dim.text or text):gmatch("[%a_][%w_]*") do
    if name ~= "dim3" and g.body:find("%f[%w_]" .. name .. "%f[^%w_]") then
      return ("the kernel uses %s as well"):format(name)
    end
  end
  local bounds = g.head:match("__launch_bounds__%s*%(([^%)]*)%)")
  return bounds and ("__launch_bounds__(%s)"):format(bounds)
end

---@param used integer dimensions
---@return string "block_size_x * block_size_y"
function M.threads_text(used)
  local list = {}
  for d = 1, used do list[d] = "block_size_" .. DIMENSIONS[d] end
  return table.concat(list, " * ")
end

--- Bytes of dynamic shared memory as an expression, and where that is from; nil where there is
--- none.
---@param g table
---@return string? text in quotes
---@return string? note
function M.shared(g)
  local text = g.launch and g.launch.shared
  local is_asked = text and text:find("%S") and text ~= "0"
  local bytes = is_asked and g.host:value(text)
  if bytes then
    local block = g.shape.block
    local threads = block[1] * block[2] * block[3]
    local from = ("%d bytes, line %d"):format(bytes, g.launch.line)
    if bytes > 0 and bytes % threads == 0 then
      return ('"%s * %d"'):format(M.threads_text(g.used), bytes // threads), from
    end
    local element = g.body:find("extern%s+__shared__%s+double") and 8 or 4
    return ('"block_size_x * %d + %d"'):format(element, bytes - threads * element),
      "GUESS: " .. from
  end
  if g.body:find("extern%s+__shared__") then return '"block_size_x * 8"', "GUESS: bytes" end
end

return M
