-- launchpromises: what a winner promises of the blocks and grids of every launch: how many threads
-- a block has, how many blocks there are, and that those beyond the last item do nothing.

local arraypromises = require "gilua.new.arraypromises"
local attempt = require "gilua.base.attempt"
local callers = require "gilua.host.callers"
local covered = require "gilua.new.covered"
local csource = require "gilua.source.csource"
local fixed = require "gilua.host.fixed"
local largestgrid = require "gilua.new.largestgrid"
local launchedit = require "gilua.new.launchedit"
local launches = require "gilua.transform.launch"
local lists = require "gilua.base.lists"
local scalaruse = require "gilua.new.scalaruse"
local settings = require "gilua.base.settings"

local M = {}

-- The sides of a block that a genome sets; none where it sets none, as of a recording.
local function block_set(problem, genome)
  local _, detail = problem.grammar:apply(genome)
  local own, set = problem:values(), problem:values(detail and detail.params)
  local sides = {}
  for d, side in ipairs { "x", "y", "z" } do
    local name = "block_size_" .. side
    sides[d] = set[name] ~= own[name] and set[name] or false
  end
  return sides
end

-- The words of gilua.launch for the grid's limit along y and z, where a genome sets shorter blocks
-- along them: there are more of these.
local function limits_set(problem, genome)
  local words, set = {}, genome:find "block_size_" and block_set(problem, genome) or {}
  for d, side in ipairs { "x", "y", "z" } do
    local is_more = d > 1 and set[d] and set[d] < (problem:values()["block_size_" .. side] or 1)
    if is_more then words[#words + 1] = ("grid.%s<=%d"):format(side, launches.MOST_BLOCKS) end
  end
  return words
end

--- Returns what transformations require of a kernel's block or grid, or nil if they require
--- nothing: `words` of gilua.launch with their effect, and `conditions` for people. For the grid
--- they include what a block with fixed sides requires.
function M.asked_of(problem, genome, kernel, what)
  local words = what == "grid" and limits_set(problem, genome) or {}
  local own = table.move(words, 1, #words, 1, {})
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    for _, c in ipairs(gene.launch and launches.read(gene.launch) or {}) do
      if (c.of == what or c.of == "axes") and (c.kernel or kernel) == kernel then
        words[#words + 1] = c.word
        if c.of == what or what == "grid" then own[#own + 1] = c.word end
      end
    end
  end
  local _, conditions = launches.words_apart(table.concat(own, " "))
  if what == "block" and not conditions and genome:find "block_size_" then
    conditions = ("blocks of at most %d threads"):format(launches.MOST_THREADS)
  end
  return conditions and { words = table.concat(words, " "), conditions = conditions }
end

-- The sides of a text as its host's code usually has them, false where one is not known.
local function usual_sides(host, text)
  local list = text ~= "" and host:sides(text) or {}
  local is_whole = #list > 1 or list[1] and (host:value(list[1]) or launchedit.is_one_side(list[1]))
  local known = {}
  for d = 1, 3 do
    local value = list[d] and host:value(list[d]) or not list[d] and is_whole and 1
    known[d] = value and value > 0 and math.ceil(value) or false
  end
  return known
end

-- The texts of the sides of a launch's grid or block, false where one is given several values.
local function said_sides(host, said, body)
  local own = not said:find "[^%w_]" and fixed.sides(host, said, body)
  local is_dim3 = own and (own[1] or own[2] or own[3])
  if is_dim3 then return own end
  local list = said:find "[^%w_]" and host:sides(said) or {}
  local is_whole = #list > 1 or said ~= "" and launchedit.is_whole(body, said)
  for d = 1, 3 do list[d] = list[d] or d > 1 and is_whole and "1" or false end
  return list
end

-- The sides of a launch's grid or block, false where one may be another than it usually is: the z
-- of `n / 64`, `dim3(n, m)` and `dim3(n, m, 1)` is 1, whatever n is.
local function known_sides(host, way, field)
  local said, body, known = way.launch.said[field] or "", way.launch.body, {}
  if fixed.is(host, said, body) then return usual_sides(host, way[field]) end
  local list = said_sides(host, said, body)
  for d = 1, 3 do known[d] = math.tointeger(tonumber(list[d] or nil)) or false end
  return known
end

-- The block of a launch with the sides that a genome sets; nil where one is not known.
local function block_of(host, way, set)
  local block = known_sides(host, way, "block")
  for d = 1, 3 do
    block[d] = set[d] or block[d]
    if not block[d] then return nil end
  end
  return block
end

--- Tells which ways to launches break __launch_bounds__, or may; as M.of_blocks does of a block.
function M.of_bounds(host, ways, text, _, tell)
  local most = tonumber(text:match "__launch_bounds__%s*%(%s*(%d+)")
  for _, way in ipairs(most and ways or {}) do
    local block = block_of(host, way, {})
    local n = block and block[1] * block[2] * block[3]
    if not n then
      tell("%s, and how many threads a block of %s has is not known", text, way.launch.place)
    elseif n > most then
      tell("%s, but %s launches blocks of %d", text, way.launch.place, n)
    end
  end
end

-- How many threads a block has as `words` change it; nil where it cannot be changed so.
local function threads_then(block, words)
  local read, new = attempt(launches.changed, { grid = 1, block = block }, words)
  local n = read and new.block[1] * new.block[2] * new.block[3]
  return n and n <= launches.MOST_THREADS and n or nil
end

--- Returns the launches that violate the conditions on a block, with the sides that a genome sets.
---@param ways table[] of M.ways_to
---@param asked { words: string, conditions: string } of M.asked_of
---@param set (integer|false)[]
---@param tell fun(text: string, ...)
function M.of_blocks(host, ways, asked, set, tell)
  for _, way in ipairs(ways) do
    local block, place = block_of(host, way, set), way.launch.place
    if not block then
      tell("%s, and how many threads a block of %s has is not known", asked.conditions, place)
    elseif not threads_then(block, asked.words) then
      tell("%s, but %s launches blocks of %s", asked.conditions, place, table.concat(block, " x "))
    end
  end
end

-- What becomes of a kernel's launch, words of gilua.launch; "" where nothing does.
local function launch_words(problem, genome)
  local _, detail = problem.grammar:apply(genome)
  return detail and detail.params and detail.params[launches.PARAMETER] or ""
end

-- Is an argument at most a number at every launch?
local function is_at_most(host, ways, i, most)
  for _, way in ipairs(ways) do
    local said = way.launch.told[i] or way.launch.args[i]
    local value = said and fixed.is(host, said, way.launch.body) and host:value(way.args[i])
    if not value or value > most then return false end
  end
  return #ways > 0
end

-- Shorter blocks have too few threads where each does its part of as many as an argument says, by
-- its place in the block: `if (threadIdx.x < bins)`.
local function of_guards(host, problem, ways, set, tell)
  local t <close> = csource.tokens(problem.source)
  local derived, own = scalaruse.derived(t), problem:values()
  for i, arg in ipairs(problem.definition.kernel_table.table.args) do
    local d = arg.value and scalaruse.of(t, arg.name, false, derived).guard
    local side = ("xyz"):sub(d or 4, d or 4)
    local length = d and set[d]
    local is_shorter = length and length < (own["block_size_" .. side] or 1)
    if is_shorter and not is_at_most(host, ways, i, length) then
      tell("that `%s` is at most %d, as a thread's place in its block is compared with it and "
        .. "blocks become %d long in %s", arg.name, length, length, side)
    end
  end
end

local SIDES = { x = 1, y = 2, z = 3 }
local TRIED = 64 -- lengths of a side that may be any
local LONGEST = { launches.MOST_BLOCKS + 1, launches.MOST_BLOCKS, launches.MOST_BLOCKS }
local LONGEST_BLOCK = 1024

-- The first grid that cannot be changed as `words` say, of all that a launch may have with the
-- sides of a block that a genome sets: as many blocks then as there are for its threads. nil of
-- none. A side that is not known is tried as 1, 2, 3 … and as the longest.
local function unfit_grid(grid, block, set, words, longest)
  local is_known = grid[1] and grid[2] and grid[3]
  for i = 1, is_known and 1 or TRIED + 1 do
    local one = {}
    for d = 1, 3 do
      one[d] = grid[d] or i <= TRIED and i or longest[d]
      local n = set[d] and one[d] * (block[d] or LONGEST_BLOCK)
      one[d] = n and (n + set[d] - 1) // set[d] or one[d]
    end
    if not attempt(launches.changed, { grid = one, block = 1 }, words) then return one end
  end
end

-- How long the sides of a launch's grid can be that are not known.
local function longest_of(host, t, way, grid)
  local longest = {}
  for d = 1, 3 do
    local most = not grid[d] and largestgrid.of(host, t, way, d)
    longest[d] = math.min(most or LONGEST[d], LONGEST[d])
  end
  return longest
end

--- Returns the launches that violate the conditions on a grid, by a problem's table.
function M.of_grids(host, ways, asked, set, tell, t)
  for _, way in ipairs(ways) do
    local grid, block = known_sides(host, way, "grid"), known_sides(host, way, "block")
    local longest = longest_of(host, t, way, grid)
    local unfit, is_known = unfit_grid(grid, block, set, asked.words, longest), true
    for d = 1, 3 do is_known = is_known and grid[d] and (block[d] or not set[d]) end
    if unfit and is_known then
      tell("%s, but %s launches %s", asked.conditions, way.launch.place,
        table.concat(unfit, " x "))
    elseif unfit then
      tell("%s, and how many blocks %s launches is not known", asked.conditions,
        way.launch.place)
    end
  end
end

-- The sides along which a launch gets additional threads: the number of blocks is rounded up, and
-- may be any.
local function rounded_sides(words, set, own)
  local list, asked_sides = {}, {}
  for _, c in ipairs(launches.read(words)) do
    local d = c.of == "grid" and SIDES[c.side]
    if d and c.operation == "%" then asked_sides[d] = true end
    local is_rounded = c.operation == "/" or c.operation == "@"
    if d and is_rounded then list[d] = not asked_sides[d] or nil end
  end
  for d, side in ipairs { "x", "y", "z" } do
    local had = own["block_size_" .. side] or 1
    list[d] = list[d] or set[d] and had % set[d] ~= 0 or nil
  end
  return list
end

-- Threads beyond the last item do nothing, where a launch is for all items and not for a part.
local function of_rest(host, problem, ways, words, set, tell)
  local rounded = rounded_sides(words, set, problem:values())
  for _, way in ipairs(next(rounded) and ways or {}) do
    for d in pairs(rounded) do
      local answer, bound = covered.is(problem, host, way, d)
      local place = way.launch.place
      if answer == nil then
        tell("that blocks beyond the last do nothing, and whether %s launches as many as `%s` asks "
          .. "for is not known", place, bound)
      elseif not answer then
        tell("that blocks beyond the last do nothing, but %s launches fewer than `%s` asks for",
          place, bound)
      end
    end
  end
end

--- All ways to all launches of a kernel, by its own name and by those of pointers that it is
--- assigned to.
---@param kernel string
---@return table[]
function M.ways_to(host, kernel)
  local list = {}
  local function add(name)
    for _, launch in ipairs(host:every_launch(name)) do
      local ways = callers.ways(host, launch)
      table.move(ways, 1, #ways, #list + 1, list)
    end
  end
  add(kernel)
  for _, name in ipairs(settings.keys(host.launches)) do
    for _, origin in ipairs(name ~= kernel and host.origins[name] or {}) do
      if origin.text:find("%f[%w_]" .. kernel .. "%f[^%w_]") then add(name) break end
    end
  end
  return list
end

-- Those words that change or ask something of a grid's sides that are known; those that are not
-- known become 1.
local function of_known(grid, words)
  local list, is_turned = {}, words:find "axes" and not (grid[1] and grid[2])
  for _, c in ipairs(launches.read(words)) do
    local is_known = c.of == "axes" or c.of == "grid" and grid[SIDES[c.side]]
    if is_known and not (is_turned and c.side ~= "z") then list[#list + 1] = c.word end
  end
  for d = 1, 3 do grid[d] = grid[d] or 1 end
  return table.concat(list, " ")
end

--- As gi.promises.breaks.
function M.breaks(host, kernel, words)
  for _, way in ipairs(M.ways_to(host, kernel)) do
    local grid = usual_sides(host, way.grid)
    local asked_words = of_known(grid, words)
    if not attempt(launches.changed, { grid = grid, block = 1 }, asked_words) then return true end
  end
  return false
end

-- Does a genome want another launch than the kernel has: other blocks, another grid?
local function changes_launch(problem, genome)
  if genome:find "block_size_" or genome:find "grid_" then return true end
  return lists.any(problem.grammar:genes(genome) or {}, function(gene) return gene.launch end)
end

--- Returns what a genome asks of a kernel's launches: { bounds, block, grid, changed (that another
--- one is wanted), promise (the first of these, in words; nil: none) }.
---@param problem gilua.problem
---@param genome string
---@param kernel string
---@return table
function M.asked(problem, genome, kernel)
  local asks = { bounds = arraypromises.texts_of(problem, genome, "launchbounds"),
    block = M.asked_of(problem, genome, kernel, "block"),
    grid = M.asked_of(problem, genome, kernel, "grid"),
    changed = changes_launch(problem, genome) and "that every launch is changed with it" or nil }
  asks.promise = asks.bounds[1] or (asks.block or asks.grid or {}).conditions or asks.changed
  return asks
end

--- Tells what the launches of a problem's file break of it, or may break.
---@param problem gilua.problem
---@param genome string
---@param ways table[] of M.ways_to
---@param asks table of M.asked
---@param tell fun(text: string, ...)
function M.of(problem, genome, host, ways, asks, tell)
  local t, set = problem.definition.kernel_table.table, block_set(problem, genome)
  for _, text in ipairs(asks.bounds) do M.of_bounds(host, ways, text, set, tell) end
  if asks.block then M.of_blocks(host, ways, asks.block, set, tell) end
  of_guards(host, problem, ways, set, tell)
  of_rest(host, problem, ways, launch_words(problem, genome), set, tell)
  if asks.grid then M.of_grids(host, ways, asks.grid, set, tell, t) end
end

return M
