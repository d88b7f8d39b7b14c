--- row_places: which places of a kernel count on how many lanes have a row together, so that they
-- can be fewer, or more?
--
-- What threads' numbers are divided by, the steps of loops over a row, shuffles (lane_exchange),
-- what only the first or the last lane does. The answer says what becomes of each for n lanes.
-- Whatever else asks for threads' numbers, or is as much as a team has lanes, may count on it, too:
-- then there is no answer. What is not known of sums (lane_parts, lane_loops) is promised.

local affine = require "gilua.source.affine"
local copies = require "gilua.facts.copies"
local effects = require "gilua.facts.effects"
local lane_exchange = require "gilua.facts.lane_exchange"
local expression = require "gilua.source.expression"
local lane_loops = require "gilua.facts.lane_loops"
local lane_parts = require "gilua.facts.lane_parts"
local lists = require "gilua.base.lists"
local row_teams = require "gilua.facts.row_teams"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local teams = require "gilua.facts.teams"
local threads = require "gilua.facts.threads"

local M = {}

local LOOPS = statement.LOOPS
local COMPARES = settings.set "== != < >= > <="
local BUILT_IN = settings.set "threadIdx blockIdx blockDim gridDim"
local OF_WARPS = settings.set("asm __asm__ warpSize __activemask tiled_partition coalesced_threads "
  .. "this_thread_block labeled_partition binary_partition this_grid this_cluster")
local ASKS = settings.set "size num_threads thread_rank meta_group_rank meta_group_size" -- of tiles
local OF_ANY_TILE = settings.set "size num_threads sync any all"

---@class gilua.row_change
---@field first integer token
---@field last integer
---@field text fun(n: integer): string? what stands there for n lanes; nil: what did
---@field behind? boolean the text stands behind them
---@field uses? table a tree within, which the text has as it was

---@class gilua.row_places
---@field known gilua.row_teams
---@field fn table the kernel
---@field functions table[] it, and those that it calls
---@field line integer of the first place that says what a lane is
---@field side string of the grid, along which rows go
---@field length? integer of blocks, where the kernel counts on it: in x, or in y of square ones
---@field most integer how many lanes a row can have
---@field changes gilua.row_change[]
---@field drops { s: table, is_gone: fun(n: integer): boolean }[] statements
---@field rows table<table, true> trees that are the number of a row
---@field loops table<table, table<string, true>> those that lanes go through by their own steps,
---  with their variables, and those of exchanges, with none
---@field one_lane table<table, true> conditions that hold for one lane
---@field exchanges table<integer, true> tokens where a lane is given what another one has
---@field sums { fn: table, value: table, first: integer, use: string }[] what lanes add up, where
---@field has_pairs? boolean lanes keep the greatest and where it is, or the like
---@field settles_ties? boolean and say which of equals counts
---@field asked table<string, integer> "first", "last": a token where that lane is asked for
---@field goes table<string, boolean> "down", "up": which way lanes give each other something
---@field promise? string what cannot be known of that

-- ---- places -------------------------------------------------------------------------------------

local Places = {}
Places.__index = Places

-- Why not: for people, with the line where a token is.
function Places:stop(token, text, ...)
  error({ why = ("line %d "):format(self.known.kernel:line_of(token)) .. text:format(...) }, 0)
end

-- A tree is understood, with all below it.
function Places:keep(tree) self.understood[tree] = true end

-- It is, and becomes text(n) for n lanes, unless it asks how many they are.
function Places:change(tree, text)
  if self.understood[tree] then return end
  self:keep(tree)
  if row_teams.asks_size(tree) then return end
  self.changes[#self.changes + 1] = { first = tree.first, last = tree.last, text = text }
end

-- text(n) stands behind a tree.
function Places:behind(tree, text)
  self.changes[#self.changes + 1] = { behind = true, first = tree.last, last = tree.last,
    text = text }
end

-- Where a row is one thread's, a tree is what another one in it is.
function Places:alone(tree, uses)
  local text = self.known.kernel:operand(uses)
  self.changes[#self.changes + 1] = { first = tree.first, last = tree.last, uses = uses,
    text = function(n) return n == 1 and text or nil end }
end

-- A statement is not there for some numbers of lanes.
function Places:drop(s, is_gone)
  self.drops[#self.drops + 1] = { s = s, is_gone = is_gone }
end

-- Lanes put together a value: `use` is "sum", "pick" of the greatest or the least, or "unknown".
function Places:sum(fn, value, first, use)
  self.sums[#self.sums + 1] = { fn = fn, value = value, first = first, use = use }
end

-- The innermost loop at a token is one that lanes go through by a variable of theirs.
function Places:loop_at(fn, token, name)
  local innermost
  for _, s in ipairs(fn.statements) do
    if LOOPS[s.kind] and statement.spans(s, token)
      and (not innermost or s.first > innermost.first) then
      innermost = s
    end
  end
  local own = self.loops[innermost or false] or {}
  own[name], self.loops[innermost or false] = true, own
end

-- The lanes of a team in their warp.
function Places:mask(n)
  if n == row_teams.MOST then return "0xffffffffu" end
  local at = self.known.is_square and ("threadIdx.y * %d"):format(n) or "threadIdx.x"
  return ("0x%xu << (%s & %d)"):format((1 << n) - 1, at, row_teams.MOST - n)
end

-- What the kernel says once has to be so throughout.
function Places:agree(field, value, token)
  if value and self[field] and self[field] ~= value then
    self:stop(token, "counts rows in another way than lines before it")
  end
  self[field] = self[field] or value
end

-- The number that a word is.
local function number_of(kernel, kind, word)
  local macro = kernel.macros[word]
  local text = kind == "number" and word or macro and macro.value
  return text and affine.integer { kind = "number", text = text }
    or macro and affine.macro(kernel, word)
end

-- Does a declaration hold the group of all threads of a block? Tiles are made of it.
local function is_group(d)
  local init = d.init.kind == "call" and d.init.callee.kind == "name" and d.init.callee.text or ""
  return init:find "this_thread_block$" ~= nil
end

-- ---- teams and rows -----------------------------------------------------------------------------

-- Numbers that are divided into teams, and how many of them there are.
local function resize(places, fn, tree)
  local known = places.known
  if known:divisor(fn, tree) ~= known.size and known:modulus(fn, tree) ~= known.size then return end
  local a, kernel = tree.a, known.kernel
  local is_number = known:thread(fn, a) or row_teams.is_built_in(fn, a, "blockDim", "x")
    or row_teams.product_with(fn, expression.uncast(a), "gridDim")
  if not is_number then return end
  local op = tree.op
  places:change(tree.b, function(n)
    return tostring(op == ">>" and teams.bits(n) or op == "&" and n - 1 or n)
  end)
  local is_rest = op == "%" or op == "&"
  places.changes[#places.changes + 1] = { first = a.first, last = tree.b.last, uses = a,
    text = function(n)
      return n == 1 and (is_rest and "0" or kernel:source(a.first, a.last)) or nil
    end }
end

-- How many teams a block has, in a product with the number of a block, or of all of them.
local function count(places, fn, tree)
  local known = places.known
  if known:is_count(fn, tree) then return places:keep(tree) end
  local n = known:value(fn, tree)
  if not n or n < 1 then places:stop(tree.first, "counts the rows of a block in its own way") end
  places:agree("length", known.is_square and n or n * known.size, tree.first)
  places:change(tree, function(lanes)
    if tree.kind == "number" then return tostring(n * known.size // lanes) end
    local text = known.kernel:operand(tree)
    if lanes <= known.size then return ("(%s * %d)"):format(text, known.size // lanes) end
    return ("(%s / %d)"):format(text, lanes // known.size)
  end)
end

-- The number of a row where a tree is blockIdx.x * 4 + threadIdx.x / 32, and what is added to it.
local function row_of_block(places, fn, tree)
  local known, product, team = places.known, nil, nil
  for _, part in ipairs(expression.parts(tree, "+", {})) do
    part = expression.uncast(part)
    if row_teams.product_with(fn, part, "blockIdx") then product = part end
    if known:team(fn, part) == "block" then team = part end
  end
  if not product or not team then return false end
  local block, rows, side = row_teams.product_with(fn, product, "blockIdx")
  places:agree("side", side, product.first)
  places:keep(block)
  places:keep(team)
  count(places, fn, rows)
  return true
end

-- The number of a row where a tree is (blockIdx.x * blockDim.x + threadIdx.x) / 32.
local function row_of_grid(places, fn, tree)
  local of, side, length = places.known:team(fn, tree)
  if of ~= "grid" or places.known.is_square then return false end
  places:agree("side", side, tree.first)
  places:agree("length", length, tree.first)
  places:keep(tree)
  return true
end

-- How many rows are done at a time: gridDim.x * 4, gridDim.x * blockDim.x / 32.
local function all_rows(places, fn, tree)
  local known = places.known
  local grid, rows, side = row_teams.product_with(fn, tree, "gridDim")
  if not grid and known:divisor(fn, tree) == known.size then
    local of, length, along = row_teams.product_with(fn, expression.uncast(tree.a), "gridDim")
    if of and row_teams.is_built_in(fn, length, "blockDim", "x") then
      places:agree("side", along, tree.first)
      places:keep(tree)
    end
    return
  end
  if not grid or not known:is_count(fn, rows) and not known:value(fn, rows) then return end
  places:agree("side", side, tree.first)
  places:keep(grid)
  count(places, fn, rows)
end

local function rows(places, fn, node)
  if node.kind ~= "binary" or places.understood[node] then return end
  if row_of_grid(places, fn, node) or node.op == "+" and row_of_block(places, fn, node) then
    places.rows[node] = true
  else
    all_rows(places, fn, node)
  end
end

-- Tiles of cooperative groups: how many lanes they have stands in types, and where they are made.
local function tiles(places, fn)
  local kernel = fn.kernel
  local words = kernel.words
  for token = fn.first, fn.close do
    if words[token]:find "^tiled_partition$" or words[token] == "thread_block_tile" then
      local size = words[token + 1] == "<" and number_of(kernel, words.kind[token + 2],
        words[token + 2])
      if size ~= places.known.size or words[token + 3] ~= ">" then
        places:stop(token, "has tiles of another size")
      end
      places.changes[#places.changes + 1] = { first = token + 2, last = token + 2,
        text = function(n) return tostring(n) end }
    end
  end
end

-- A tile is made of the threads of the block.
local function tile_made(places, fn, node)
  local name = node.kind == "call" and node.callee.kind == "name" and node.callee.text or ""
  local of = name:find "tiled_partition$" and node.args[1]
  if not of then return end
  local d = row_teams.kept(fn, of)
  local is_block = d and is_group(d) or of.kind == "call" and of.callee.kind == "name"
    and of.callee.text:find "this_thread_block$"
  if is_block then places:keep(node) end
end

-- ---- what a lane does with its number -----------------------------------------------------------

-- The values that variables are given: { op, tree } by name.
local function given(fn)
  local list = {}
  local function add(name, op, tree)
    list[name] = list[name] or {}
    table.insert(list[name], { op = op, tree = tree })
  end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.init then add(d.name, "=", d.init) end
    end
  end
  statement.nodes(fn.statements, function(node)
    if not node.a or node.a.kind ~= "name" then return end
    local name, b = node.a.text, node.b
    local is_step = node.op == "=" and b.kind == "binary" and b.op == "+" and b.a.kind == "name"
      and b.a.text == name
    if node.kind == "assign" then
      add(name, is_step and "+=" or node.op, is_step and b.b or b)
    elseif node.op == "++" or node.op == "--" then
      add(name, node.op, node)
    end
  end)
  return list
end

-- A variable that begins at a lane's place and goes on by all lanes' part: e = at + lane; e += 32.
-- Its first value may be anything if it is set before it is read.
local function strided(places, fn, name, values)
  local known, starts, steps, factor = places.known, {}, {}, nil
  for i, v in ipairs(values) do
    local n, where = nil, nil
    if v.op == "=" then n, where = known:factor(fn, v.tree) end
    local is_start = n and n ~= 0 and (not factor or factor == n)
    if is_start then
      factor = n
      table.move(where, 1, #where, #starts + 1, starts)
    elseif v.op == "+=" then
      steps[#steps + 1] = v.tree
    elseif v.op ~= "=" or n ~= 0 or i > 1 then
      return
    end
  end
  if not factor or #steps == 0 then return end
  for _, step in ipairs(steps) do
    if known:value(fn, step) ~= known.size * factor then return end
  end
  for _, place in ipairs(starts) do places:keep(place) end
  for _, step in ipairs(steps) do
    places:change(step, function(n) return tostring(n * factor) end)
    places:loop_at(fn, step.first, name)
  end
end

-- `lane == 0`, the last one, or `lane >= offset` of a loop through all distances.
local function compared(places, fn, tree, distances)
  local known = places.known
  if tree.kind == "unary" and tree.op == "!" and known:is_lane(fn, tree.a) then
    places.one_lane[tree], places.asked.first = true, tree.first
    return places:keep(tree.a)
  end
  if tree.kind ~= "binary" or not COMPARES[tree.op] then return end
  local lane, other = tree.a, tree.b
  if not known:is_lane(fn, lane) then lane, other = other, lane end
  if not known:is_lane(fn, lane) then return end
  local n, is_equal = known:value(fn, other), tree.op == "==" or tree.op == "!="
  if is_equal and n == known.size - 1 then
    places.asked.last = other.first
    places:change(other, function(lanes) return tostring(lanes - 1) end)
  elseif not (is_equal and n == 0) and not lane_exchange.is_distance(distances, other) then
    return
  end
  if is_equal and n == 0 then places.asked.first = other.first end
  places.one_lane[tree] = tree.op == "==" or nil
  places:keep(lane)
end

-- ---- whatever else ------------------------------------------------------------------------------

-- Is a word one by which lanes have to do with each other?
local function is_of_warps(word)
  word = word:match "[%w_]+$" or word
  return OF_WARPS[word] or word:find "sync" or word:find "^__shfl" or word:find "^__match"
    or word:find "^__ballot"
end

-- Does a tree ask for what fewer lanes change: threadIdx.x, the block's number among rows?
local function is_of_launch(places, tree)
  local name = tree.kind == "member" and tree.a.kind == "name" and tree.a.text
  if not BUILT_IN[name] then return nil end
  if name == "blockIdx" or name == "gridDim" then return tree.name == places.side end
  return tree.name == "x" or places.known.is_square
end

-- Is a number one of a team's: how many lanes it has, or the last one's?
local function is_size(places, n)
  return n == places.known.size or n == places.known.size - 1 and n > 1
end

-- Does a declaration that keeps its value say what a lane, a team or a thread is?
local function says_who(places, fn, d)
  local known, init = places.known, expression.uncast(d.init)
  if is_group(d) or is_of_launch(places, init) or is_size(places, known:value(fn, init)) then
    return true
  end
  local factor = known:factor(fn, init)
  return factor ~= nil and factor ~= 0 or known:team(fn, init) == "block"
    or known:is_count(fn, init) or not known.is_square and known:thread(fn, init) ~= nil
end

-- Is a node one that may count on how many lanes there are?
local function tells(places, fn, node)
  local known = places.known
  local kernel, method = known.kernel, row_teams.method(fn, node)
  if method then return not OF_ANY_TILE[method] and not places.understood[node.callee] end
  if is_of_launch(places, node) ~= nil then return is_of_launch(places, node) end
  if node.kind == "number" then return is_size(places, affine.integer(node)) end
  if node.kind ~= "name" then return false end
  if BUILT_IN[node.text] or is_of_warps(node.text) then return true end
  local macro = kernel.macros[node.text]
  for _, inside in ipairs(macro and macro.names or {}) do
    if BUILT_IN[inside] or is_of_warps(inside) or kernel.by_name[inside] then return true end
  end
  local d = row_teams.kept(fn, node)
  return is_size(places, known:value(fn, node)) or d ~= nil and says_who(places, fn, d)
end

local function nothing_else(places, fn, tree)
  expression.walk(tree, function(node)
    if places.understood[node] then return false end
    if tells(places, fn, node) then
      places:stop(node.first, "has '%s', which may count on %d lanes",
        places.known.kernel:plain(node), places.known.size)
    end
    return is_of_launch(places, node) == nil
  end)
end

local function whatever_else(places, fn)
  for _, s in ipairs(fn.statements) do
    for _, tree in ipairs { s.tree or false, s.condition or false, s.step or false } do
      if tree then nothing_else(places, fn, tree) end
    end
    for _, d in ipairs(s.declared or {}) do
      local is_kept = row_teams.kept(fn, { kind = "name", text = d.name }) == d
      if d.init and not (is_kept and says_who(places, fn, d)) then
        nothing_else(places, fn, d.init)
      end
    end
  end
end

-- ---- one kernel ---------------------------------------------------------------------------------

-- Why a function is left as it is; nil where it may not be.
local function unfit(fn)
  if not fn.body then return "it is not understood" end
  local all = effects.of(fn, fn.body)
  if all.conditional or all["goto"] or all.label then return "it has an #if or a goto" end
  if all.opaque then return "something in it is not understood" end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.shared or d.extern then return "it has shared memory" end
      if #d.extents > 0 then return "it has an array, perhaps of a lane's part of a row" end
    end
  end
end

-- The functions that a kernel calls, itself first; nil and why they cannot be changed.
local function reached(entry)
  local list = copies.reached(entry)
  for _, fn in ipairs(list) do
    local why = unfit(fn)
    if why then return nil, fn == entry and why or ("%s: %s"):format(fn.name, why) end
  end
  return list
end

local function read_function(places, fn)
  local function each(visit)
    statement.nodes(fn.statements, function(node, s) return visit(places, fn, node, s) end)
  end
  each(resize)
  each(rows)
  local values = given(fn)
  for _, name in ipairs(settings.keys(values)) do
    if not fn.addressed[name] then strided(places, fn, name, values[name]) end
  end
  tiles(places, fn)
  each(tile_made)
  local distances, seen = lane_exchange.distance_loops(places, fn), {}
  each(function(_, _, node) compared(places, fn, node, distances) end)
  each(function(_, _, node, s)
    if node.kind == "call" then lane_exchange.call(places, fn, node, s, distances, seen) end
  end)
  lane_exchange.complete(places, seen)
end

-- The line that says what a lane is.
local function line_of_lane(known, fn)
  local line
  statement.nodes(fn.statements, function(node)
    if not line and known:is_lane(fn, node) then line = known.kernel:line_of(node.first) end
  end)
  return line
end

-- Is all that a statement does a thread's own? Asking a group of threads for a rank is, too.
local function is_private(fn, s)
  if threads.is_private(fn, s) then return true end
  for _, call in ipairs(s.kind == "declaration" and effects.of(fn, s).calls or { {} }) do
    local name = call.name or ""
    local makes = name:find "tiled_partition$" or name:find "this_thread_block$"
    if not makes and not (call.node and ASKS[row_teams.method(fn, call.node)]) then return false end
  end
  return true
end

--- Do teams beyond the last row do nothing? By an `if`, or by the loop over rows.
function Places:has_bound()
  local fn = self.fn
  local function is_row(tree)
    tree = tree and expression.uncast(tree)
    local d = tree and row_teams.kept(fn, tree)
    return tree and (self.rows[tree] or d and self.rows[expression.uncast(d.init)])
  end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      local index = is_row(d.init) and { fn = fn, name = d.name }
      if index and threads.guard(index, is_private) then return true end
    end
  end
  return lists.any(fn.loops, function(loop) return loop.counted and is_row(loop.start) end)
end

-- All of a kernel is understood; else raises why not.
local function understand(places)
  for _, one in ipairs(places.functions) do read_function(places, one) end
  lane_exchange.check(places)
  if not next(places.rows) then
    places:stop(places.fn.first, "begins a kernel without rows of teams")
  end
  for _, one in ipairs(places.functions) do
    whatever_else(places, one)
    lane_loops.check(places, one)
  end
  lane_parts.check(places)
end

-- Returns the places for teams of a size; or nil, why there are none, and the line that defines a
-- lane.
local function read(fn, size, is_square)
  local known = row_teams.new(fn.kernel, size, is_square)
  local line = line_of_lane(known, fn)
  local list, why = reached(fn)
  if not line or not list then return nil, why, line end
  local places = setmetatable({ known = known, fn = fn, functions = list, most = row_teams.MOST,
    line = line, understood = {}, changes = {}, drops = {}, rows = {}, loops = {}, one_lane = {},
    exchanges = {}, sums = {}, asked = {}, goes = {} }, Places)
  local done, problem = pcall(understand, places)
  if done then return places end
  if type(problem) ~= "table" then error(problem, 0) end
  return nil, problem.why, line
end

-- The sizes that teams of a kernel may have, by what it takes the rest of, and its tiles; where it
-- has neither, rows of its blocks may be whole warps.
local function sizes_of(fn)
  local list, seen = {}, {}
  local known, words = row_teams.new(fn.kernel, 0, false), fn.kernel.words
  local function add(n)
    if not n or n < 2 or n > row_teams.MOST or n & (n - 1) ~= 0 or seen[n] then return end
    seen[n] = true
    list[#list + 1] = { n, false }
  end
  statement.nodes(fn.statements, function(node) add(known:modulus(fn, node)) end)
  for token = fn.first, fn.close do
    if words[token] == "tiled_partition" then
      add(number_of(fn.kernel, words.kind[token + 2], words[token + 2]))
    end
  end
  list[1] = list[1] or { row_teams.MOST, true }
  return list
end

---@class gilua.row_place
---@field rows? gilua.row_places
---@field why? string where there are none
---@field line integer that says what a lane is

--- Returns the kernels of a source that say what a lane is, at the line that does, in their order.
---@return gilua.row_place[]
function M.all(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local found
    for _, size in ipairs(fn.is_entry and fn.body and sizes_of(fn) or {}) do
      local places, why, line = nil, nil, nil
      if not (found and found.rows) then places, why, line = read(fn, size[1], size[2]) end
      if places or line and not found then
        found = { fn = fn, rows = places, why = why, line = places and places.line or line }
      end
    end
    list[#list + 1] = found
  end
  for _, at in ipairs(list) do at.last = at.line end
  return list
end

--- May lanes do their parts of rows in any number? true; nil and what is promised.
---@param places gilua.row_places
function M.is_certain(places)
  if not places.promise then return true end
  return nil, places.promise
end

return M
