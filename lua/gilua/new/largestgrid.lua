--- largestgrid: how many blocks a launch can have at most, by the memory that its arrays take.
--
-- `dim3(1, (n + 255) / 256)` of a kernel whose array has n * n floats: no GPU has memory for an n
-- of 2^20, so that there are fewer than 4096 blocks. The host's allocations of the launch's own
-- arrays are read, where a side of the grid is made of one number, all other numbers taken for 1.

local fixed = require "gilua.host.fixed"
local launchsize = require "gilua.new.launchsize"

local M = {}

local MOST_BYTES = 1 << 40 -- of a GPU's memory
local MOST_BITS = 40

-- The names that a text is made of and that may have several values, with a value for each.
local function open_values(host, text, body, value, found)
  for name in pairs(launchsize.leaves(host, text)) do
    if found[name] == nil and not fixed.is(host, name, body) then found[name] = value end
  end
  return found
end

-- Is an array longer than any memory, where names have these values? Not where that is not known.
local function is_too_long(host, way, name, values)
  local a = host:allocation(name)
  local all = a and open_values(host, a.text, way.launch.body, 1, setmetatable({}, {
    __index = values }))
  local bytes = all
    and launchsize.under(host, all, function() return host:allocation(name).bytes end)
  return bytes ~= nil and bytes > MOST_BYTES
end

-- Is one of a launch's arrays too long where a name has a value?
local function is_beyond(host, t, way, values)
  for i, arg in ipairs(t.args or {}) do
    if arg.count and is_too_long(host, way, way.args[i] or "", values) then return true end
  end
  return false
end

-- Returns the largest value that a name can have, or nil if it is unknown.
local function most_of(host, t, way, name)
  local bits = 0 -- a number that is too large for any sum of it is no length
  while not is_beyond(host, t, way, { [name] = 1 << bits }) do
    bits = bits + 1
    if bits > MOST_BITS then return nil end
  end
  local low, high = (1 << bits) // 2, 1 << bits
  while high - low > 1 do
    local middle = (low + high) // 2
    if is_beyond(host, t, way, { [name] = middle }) then high = middle else low = middle end
  end
  return low
end

--- Returns the largest number of blocks of a launch along a side, or nil if it is unknown.
---@param host HostCode
---@param t table of the problem
---@param way HostWay
---@param side integer
---@return integer?
function M.of(host, t, way, side)
  local text = host:sides(way.grid)[side]
  local names = text and open_values(host, text, way.launch.body, 1, {}) or {}
  local name = next(names)
  local most = name and not next(names, name) and most_of(host, t, way, name)
  local n = most
    and launchsize.under(host, { [name] = most }, function() return host:value(text) end)
  return n and n > 0 and math.ceil(n) or nil
end

return M
