--- assumed: sizes that only a run says (`int n = atoi(argv[1]);`, what a function is given): a
-- number is assumed for each, so that grids, lengths of arrays and arguments that are made of it
-- fit each other. The largest that keeps the data small, and no more than what the program is run
-- with where its makefile says that.

local arguments = require "gilua.new.arguments"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local expression = require "gilua.source.expression"
local hostfunction = require "gilua.host.hostfunction"

local M = {}

local SIZES = { 65536, 16384, 4096, 1024, 256, 64, 16 }
local SIDES = { 256, 16, 8 } -- of a block in one, two, three dimensions
local MOST_THREADS = 1 << 20
local MOST_BYTES = 1 << 24 -- of the arrays
local MOST_NAMES = 8
local MOST_DEPTH = 20

local COMPUTES = csource.set "max min ceil floor ceilf floorf sqrt sqrtf dim3"
local NO_NAMES = csource.set "nullptr NULL this"
local ENDS = csource.set "call index member" -- kinds of nodes below which no name counts

local add

-- Adds the names that a name's value is made of; itself where it is made of nothing with a name. Is
-- there any?
local function add_name(host, name, found, depth)
  if found.seen[name] then return true end
  if host:value(name) then return false end
  found.seen[name] = true
  local any = false
  for _, side in ipairs(host.dims[name] and host:sides(host.dims[name]) or {}) do
    any = add(host, side, found, depth + 1) or any
  end
  for _, text in ipairs { host.definitions[name], table.unpack(host.later[name] or {}) } do
    any = add(host, text, found, depth + 1) or any
  end
  if not any and #found < MOST_NAMES and not host.dims[name] then found[#found + 1] = name end
  return true
end

-- Adds the names of an expression that have no value: a member by its own name, none of an index or
-- of a function that does more than compute. Is there any?
function add(host, text, found, depth)
  local any = false
  local function visit(node)
    local name = node.kind == "name" and node.text:match "[^:%s]+$" or node.name
    local callee = node.kind == "call" and node.callee.text
    callee = callee and callee:match "[^:%s]+$"
    if callee and (COMPUTES[callee] or host.SIZES[callee] or host.functions[callee]
        or hostfunction.of(host, callee)) then
      for _, arg in ipairs(node.args) do expression.walk(arg, visit) end
    end
    if name and not NO_NAMES[name] and not host.SIZES[name] then
      any = add_name(host, name, found, depth) or any
    end
    return not ENDS[node.kind]
  end
  if depth < MOST_DEPTH then code_of.walk(host, text, visit) end
  return any
end

local function names_in(host, texts)
  local found = { seen = {} }
  for _, text in ipairs(texts) do add(host, text, found, 0) end
  return found
end

-- What the program is run with for names, where that is a size.
local function give(host, names, words)
  for _, name in ipairs(names) do
    local value = arguments.number(host.definitions[name] or "", words)
    host.given[name] = value and value > 0 and value or nil
  end
end

local function set(host, names, value)
  host.known = {}
  for _, name in ipairs(names) do -- what is counted is some of what there is
    local own = host.counted[name] and math.max(1, value // 2) or value
    host.assumed[name] = math.min(own, host.given[name] or own)
  end
end

-- The sizes of the arrays that a launch is given, as texts of the host's; is that of any unknown?
local function lengths(host, launch, params)
  local list, any_unknown = {}, false
  for i, p in ipairs(params) do
    local allocation = p.pointer and launch.args[i] and host:allocation(launch.args[i])
    if allocation then list[#list + 1] = allocation
    else any_unknown = any_unknown or p.pointer end
  end
  return list, any_unknown
end

-- Are launch and data small enough, as far as they are known? An array that nothing is known of may
-- have two sizes for its sides.
local function is_small(host, launch, params, sizes)
  local grid, block = host:dimensions(launch.grid), host:dimensions(launch.block)
  local threads, bytes = 1, 0
  local known, any_unknown = lengths(host, launch, params)
  if any_unknown and #sizes > 1 then bytes = 8 * host.assumed[sizes[1]] * host.assumed[sizes[2]] end
  for d = 1, 3 do threads = threads * (grid and block and grid[d] * block[d] or 1) end
  for _, allocation in ipairs(known) do
    bytes = bytes + (allocation.bytes or 0)
  end
  return threads <= MOST_THREADS and bytes <= MOST_BYTES
end

--- Assumes values for names in the sizes of a launch and of its arrays that have none.
---@param host HostCode
---@param launch HostLaunch
---@param params table[] of gilua.signature
---@param most? integer the largest of them
---@param words? string[] arguments that the program is run with
---@return string[] names that were given a value
function M.of(host, launch, params, most, words)
  local sides = names_in(host, { launch.block })
  give(host, sides, words or {})
  set(host, sides, SIDES[math.min(#csource.split(launch.block), #SIDES)])
  local texts = { launch.grid }
  for _, allocation in ipairs((lengths(host, launch, params))) do
    texts[#texts + 1] = allocation.text
  end
  local sizes = names_in(host, texts)
  give(host, sizes, words or {})
  for _, value in ipairs(SIZES) do
    if not most or value <= most then
      set(host, sizes, value)
      if is_small(host, launch, params, sizes) then break end
    end
  end
  return table.move(sizes, 1, #sizes, #sides + 1, sides)
end

return M
