-- launch: what a transformation asks of a launch, as a text that a genome's parameters carry:
-- "grid.x/4 block.x%32". A word names a side and what becomes of it:
--
--   grid.x/4     a quarter, rounded up        grid.x*32    32 times
--   grid.x<264   264 at most                  block.x=128  128
--   grid.x@64    a block for each 64 threads of the launch as it was, rounded up
--   block.x%32   stays as it is, and has to be a multiple of 32
--   block.x<=32  stays as it is, and has to be 32 at most; block.x==32: has to be 32
--   axes=yx      x and y change places, of the grid and of the block
--   shared*2     twice the shared memory that the launch asks for
--   before.b+24  it is done together with that of b behind it, whose arguments begin at byte 24
--
-- Later words see what earlier ones left. Where a genome has several kernels, a word begins with
-- the name of its own: "jacobi:grid.x/4".

local M = {}

--- The name under which a mutant's parameters have it; no parameter of a problem can be called so.
M.PARAMETER = "T:launch"

local SIDES = { x = 1, y = 2, z = 3 }
M.MOST_THREADS = 1024 -- of a block
local MOST = 2 ^ 31 -- threads of a grid in a dimension, so that an int counts them

--- Blocks of a grid along y, and along z (CUDA C++ Programming Guide, compute capabilities).
M.MOST_BLOCKS = 65535

local WHAT = { grid = true, block = true, shared = true, axes = true, before = true }

-- What leaves a side as it is and only asks something of it.
local CONDITIONS = { ["%"] = true, ["<="] = true, ["=="] = true }

local OPERATIONS = {
  ["+"] = function(a) return a end,
  ["*"] = function(a, n) return a * n end,
  ["/"] = function(a, n) return (a + n - 1) // n end,
  ["<"] = function(a, n) return math.min(a, n) end,
  ["="] = function(_, n) return n end,
  ["@"] = function(a, n, _, length) return (a * length + n - 1) // n end,
  ["%"] = function(a, n, word)
    if a % n == 0 then return a end
    error(("the transformation wants %s to be a multiple of %d, and it is %d"):format(
      word:match "^[%w.]+", n, a), 0)
  end,
  ["=="] = function(a, n, word)
    if a == n then return a end
    error(("the transformation wants %s to be %d, and it is %d"):format(word:match "^[%w.]+", n, a),
      0)
  end,
  ["<="] = function(a, n, word)
    if a <= n then return a end
    error(("the transformation wants %s to be at most %d, and it is %d"):format(
      word:match "^[%w.]+", n, a), 0)
  end,
}

--- The sides of a shape as recordings write them: "12,1,0x1".
---@param text string
---@return integer[]
function M.sides(text)
  local list = {}
  for n in text:gmatch "%w+" do list[#list + 1] = math.tointeger(tonumber(n)) end
  return list
end

---@class gilua.launch_change
---@field word string
---@field kernel string? nil: the only one
---@field of string "grid", "block", "shared", "axes" or "before"
---@field side string? of the first two
---@field other string? of the last: the kernel that is launched behind
---@field operation string
---@field by integer

--- The words of a text.
---@param text string
---@return gilua.launch_change[]
function M.read(text)
  local list = {}
  for word in text:gmatch "%S+" do
    local kernel, change = word:match "^([%w_]+):(.*)$"
    local of, side, operation, by = (change or word):match "^(%l+)%.([xyz])([*/<=%%@]=?)(%d+)$"
    if not of then
      of, operation, by = (change or word):match "^(shared)(%*)(%d+)$"
    end
    if (change or word) == "axes=yx" then of, operation, by = "axes", "=", "1" end
    local other
    if not of then
      of, other, operation, by = (change or word):match "^(before)%.([%w_]+)(%+)(%d+)$"
    end
    if not WHAT[of] or not OPERATIONS[operation] or tonumber(by) < 1
      or operation == "@" and of ~= "grid" then
      error(("'%s' is no change of a launch: it is written grid.x/4 or block.y=8"):format(word), 0)
    end
    list[#list + 1] = { word = change or word, kernel = kernel, of = of, side = side,
      other = other, operation = operation, by = math.tointeger(tonumber(by)) }
  end
  return list
end

--- Says a message that a launch is none that a transformation can change as it wants?
---@param message string
---@return boolean
function M.is_unmet(message) return message:find("^the transformation wants ") ~= nil end

local function sides(value)
  if type(value) ~= "table" then return { value or 1, 1, 1 } end
  return { value[1] or value.x or 1, value[2] or value.y or 1, value[3] or value.z or 1 }
end

-- Raises what does not fit.
local function require_fit(grid, block)
  if block[1] * block[2] * block[3] > M.MOST_THREADS then
    error(("the transformation makes blocks of %d threads, and %d are the most"):format(
      block[1] * block[2] * block[3], M.MOST_THREADS), 0)
  end
  for d = 1, 3 do
    if grid[d] * block[d] >= MOST then
      error("the transformation makes a grid of more threads than an int can count", 0)
    elseif d > 1 and grid[d] > M.MOST_BLOCKS then
      error(("the transformation makes a grid of %d blocks along %s, and %d are the most"):format(
        grid[d], ("xyz"):sub(d, d), M.MOST_BLOCKS), 0)
    end
  end
end

--- Does a change leave its side as it is, and only ask something of it?
---@param change gilua.launch_change
function M.is_condition(change)
  return CONDITIONS[change.operation] or false
end

--- What a change asks of its launch because a grid has a limit along y and z; nil where it asks
--- nothing.
---@param change gilua.launch_change
---@return gilua.launch_change? limit a condition
function M.limit(change)
  local side, most = change.side, M.MOST_BLOCKS // change.by
  if change.of == "axes" then
    side = "x"
  elseif change.of ~= "grid" or change.operation ~= "*" or side == "x" then
    return nil
  end
  return { word = ("grid.%s<=%d"):format(side, most), kernel = change.kernel, of = "grid",
    side = side, operation = "<=", by = most }
end

--- The kernels of a text's words, each once; none where there is one kernel alone.
---@param text string
---@return string[]
function M.kernels(text)
  local list, seen = {}, {}
  for _, c in ipairs(M.read(text)) do
    if c.kernel and not seen[c.kernel] then list[#list + 1] = c.kernel end
    seen[c.kernel or ""] = true
  end
  return list
end

--- A text's words that are of a kernel, without its name.
---@param text string
---@param kernel string
---@return string
function M.of(text, kernel)
  local words = {}
  for _, c in ipairs(M.read(text)) do
    if c.kernel == kernel then words[#words + 1] = c.word end
  end
  return table.concat(words, " ")
end

--- A text with the name of a kernel at each of its words.
---@param text string
---@param kernel string
---@return string
function M.named(text, kernel)
  return (text:gsub("%S+", kernel .. ":%0"))
end

local function product(list) return list[1] * list[2] * list[3] end

--- A launch with its changes made; raises where it cannot have them. What has more threads than it
--- had has `times`, how many times as many.
---@param launch table as a problem's launch() gives it
---@param text string? nil: none
---@return table
function M.changed(launch, text)
  if not text or text == "" then return launch end
  local new, now = {}, { grid = sides(launch.grid), block = sides(launch.block) }
  for key, value in pairs(launch) do new[key] = value end
  for _, c in ipairs(M.read(text)) do
    if c.of == "shared" then
      new.shared = (new.shared or 0) * c.by
    elseif c.of == "axes" then
      for _, side in pairs(now) do side[1], side[2] = side[2], side[1] end
    elseif c.of ~= "before" then
      local side, d = now[c.of], SIDES[c.side]
      side[d] = OPERATIONS[c.operation](side[d], c.by, c.word, now.block[d])
    end
  end
  require_fit(now.grid, now.block)
  local threads = product(sides(launch.grid)) * product(sides(launch.block))
  new.grid, new.block = now.grid, now.block
  new.times = math.max(1, product(now.grid) * product(now.block) / threads)
  return new
end

--- The kernels whose launches are done together with those behind them: by name, that of the
--- latter's kernel and where its arguments begin. Nothing of a text that is nil.
---@param text string?
---@return table<string, { other: string, at: integer }>
function M.joined(text)
  local list = {}
  for _, c in ipairs(M.read(text or "")) do
    if c.of == "before" then list[c.kernel or ""] = { other = c.other, at = c.by } end
  end
  return list
end

local PHRASES = {
  ["before+"] = "the launch of %s in one with that of %s before it, with a struct of its arguments",
  ["grid*"] = "%d times as many blocks in %s",
  ["grid/"] = "1/%d as many blocks in %s, rounded up",
  ["grid<"] = "at most %d blocks in %s",
  ["grid="] = "%d blocks in %s",
  ["grid@"] = "a block for each %d of the launch's threads in %s",
  ["grid%"] = "a multiple of %d blocks in %s",
  ["block*"] = "blocks %d times as long in %s",
  ["block/"] = "blocks 1/%d as long in %s, rounded up",
  ["block<"] = "blocks of at most %d threads in %s",
  ["block="] = "blocks of %d threads in %s",
  ["block%"] = "blocks of a multiple of %d threads in %s",
  ["grid=="] = "a grid that is %d long in %s",
  ["block=="] = "blocks that are %d long in %s",
  ["axes="] = "x and y of the grid and of the block change places",
  ["grid<="] = "a grid not longer than %d in %s",
  ["block<="] = "blocks not longer than %d in %s",
  ["shared*"] = "%d times as much shared memory",
}

local function phrase(c)
  local what = PHRASES[c.of .. c.operation]
  return c.other and what:format(c.other, c.kernel or "this")
    or what:format(c.by, c.side or "") .. (c.kernel and " of " .. c.kernel or "")
end

-- Of each word what `wanted` gives for it, a change or nothing.
local function in_words(text, wanted)
  local list = {}
  for _, c in ipairs(M.read(text)) do
    local one = wanted(c)
    if one then list[#list + 1] = phrase(one) end
  end
  return table.concat(list, "; ")
end

--- What a launch becomes, and what it has to be, in words: "1/4 as many blocks in x, rounded up".
---@param text string
---@return string
function M.words(text)
  return in_words(text, function(c) return c end)
end

--- Both apart: what becomes of a launch, and what is only asked of it; nil where nothing is.
---@param text string
---@return string? changes
---@return string? conditions
function M.words_apart(text)
  local changes = in_words(text, function(c) return not M.is_condition(c) and c end)
  local conditions = in_words(text, function(c) return M.is_condition(c) and c or M.limit(c) end)
  return changes ~= "" and changes or nil, conditions ~= "" and conditions or nil
end

return M
