--- offered: parameters beside the sides of a block: macros of the file (`#define TILE 16`) that the
-- launch's block and the kernel are both made of. A block of another size needs another macro, so
-- problem.lua has both, and a restriction that holds them together. What is offered was tried.

local attempt = require "gilua.base.attempt"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local expression = require "gilua.problem.expression"
local fitness = require "gilua.search.fitness"
local gi = require "gilua"
local hostvalue = require "gilua.host.hostvalue"
local settings = require "gilua.base.settings"
local stats = require "gilua.base.stats"

local M = {}

local VALUES = { -- of a macro that is a side of a block in so many dimensions
  { 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024 }, { 4, 8, 16, 32, 64 }, { 4, 8, 16, 32 } }
local PER_THREAD = { 1, 2, 4, 8, 16 }
local LEAST_THREADS, MOST_THREADS = 32, 1024
local MOST_SETTINGS = 64
local MOST_WORK = 50000000 -- warp instructions of all of them on the small case
local LEAST_SETTINGS = 4 -- however long they take
local IN_EXPRESSIONS = csource.set "+ - * /"

---@class Offer
---@field macros { name: string, values: integer[], value: integer }[]
---@field sides table<integer, string> dimension to the side of its block, of macros
---@field each table<integer, string> dimension to the macro that says how many a thread takes
---@field blocks? table<integer, integer[]> the sides that these settings have, once tried

-- The value that a source gives to a macro, where it is a whole number and no other follows.
local function defined_as(source, name)
  local found
  local define = "\n[ \t]*#[ \t]*define[ \t]+" .. name .. "%f[^%w_]([^\n]*)"
  for text in ("\n" .. source):gmatch(define) do
    if found then return nil end
    found = text:match "^[ \t]*%(?(%d+)%)?[ \t\r]*$" or text:match "^[ \t]*(%d+)[ \t]*/[/*]"
    if not found then return nil end
  end
  return math.tointeger(tonumber(found))
end

-- Does a source use a macro, other than to define it?
local function is_used(source, name)
  for line in source:gmatch "[^\n]+" do
    local rest = line:match("^[ \t]*#[ \t]*%l+[ \t]+" .. name .. "%f[^%w_](.*)") or line
    if rest:find("%f[%w_]" .. name .. "%f[^%w_]") then return true end
  end
  return false
end

-- The value of a macro that may be offered.
local function macro_value(read, name)
  local value = defined_as(read.sliced.source, name)
  return value and value > 0 and is_used(read.sliced.source, name) and value or nil
end

local function add_macro(offer, name, value, usual)
  for _, macro in ipairs(offer.macros) do
    if macro.name == name then return end
  end
  local values, has = table.move(usual, 1, #usual, 1, {}), false
  for _, v in ipairs(values) do has = has or v == value end
  if not has then values[#values + 1] = value end
  table.sort(values)
  offer.macros[#offer.macros + 1] = { name = name, value = value, values = values }
end

-- What a variable of the host's stands for, where it is no macro: `int threads = TILE;`.
local function expanded(read, text)
  local value = text:find "^[%a_][%w_]*$" and not macro_value(read, text)
    and read.host.definitions[text]
  return value or text
end

-- An expression as a problem table has it, where it is made of macros, whole numbers and casts to
-- such alone, with C's division of whole numbers; the macros are noted. Nil where it is not.
local function in_table(read, node, macros)
  local host, kind, text = read.host, node and node.kind, nil
  if kind == "number" then
    local n = host:value(node.text)
    text = math.type(n) == "integer" and tostring(n) or nil
  elseif kind == "name" then
    local value = macro_value(read, node.text)
    if value then macros[#macros + 1], text = { node.text, value }, node.text end
  elseif kind == "binary" and IN_EXPRESSIONS[node.op] then
    local a, b = in_table(read, node.a, macros), in_table(read, node.b, macros)
    text = a and b and ("%s %s %s"):format(a, node.op == "/" and "//" or node.op, b)
  elseif kind == "unary" and (node.op == "-" or node.op == "+") then
    local a = in_table(read, node.a, macros)
    text = a and node.op .. " " .. a
  elseif kind == "cast" or kind == "call" then
    local type = (node.type or node.callee.text or ""):match "^[%w_ ]*$"
    local is_whole = type and host.SIZES[type:match "[%w_]+$"] and not hostvalue.REAL[type]
    return is_whole and in_table(read, node.a or node.args[1], macros) or nil
  end
  return text and (node.parens and "( " .. text .. " )" or text)
end

-- Adds the macros of an expression that is made of them and of numbers alone: it, as a problem
-- table has it, or nil.
local function add_macros(read, offer, text, usual)
  local macros = {}
  local plain = in_table(read, code_of.tree(read.host, text).tree, macros)
  if #macros == 0 then return nil end
  for _, one in ipairs(plain and macros or {}) do add_macro(offer, one[1], one[2], usual) end
  return plain
end

-- The macro that says how many elements a thread takes, where the grid is made of one.
local function macro_of_each(read, offer, shape, d)
  local grid = read.host:sides(read.launch.grid)[d]
  local tree = code_of.tree(read.host, grid and expanded(read, grid) or "")
  for _, name in ipairs(code_of.names(tree)) do
    if macro_value(read, name) == shape.each[d] then
      add_macro(offer, name, shape.each[d], PER_THREAD)
      return name
    end
  end
end

--- What may be offered for a launch; nil where nothing may.
---@param read Reading
---@param shape LaunchShape
---@return Offer?
function M.of(read, shape)
  if not read.launch or shape.block_guessed then return nil end
  local offer = { macros = {}, sides = {}, each = {} }
  for d, text in ipairs(read.host:sides(read.launch.block)) do
    if d <= #shape.size then
      offer.sides[d] = add_macros(read, offer, expanded(read, text), VALUES[#shape.size])
    end
  end
  for d = 1, #shape.size do
    if (shape.each[d] or 1) > 1 then offer.each[d] = macro_of_each(read, offer, shape, d) end
  end
  return #offer.macros > 0 and offer or nil
end

--------------------------------------------------------------------------------------------------
-- Trying them

-- Adds the sides of the block to values of the macros. Is it a block?
local function add_sides(offer, shape, values)
  local threads = 1
  for d = 1, #shape.size do
    local side = shape.block[d]
    if offer.sides[d] then
      side = math.tointeger(expression.number(offer.sides[d], values, "block"))
    end
    if not side or side < 1 then return false end
    values["block_size_" .. ("xyz"):sub(d, d)] = side
    threads = threads * side
  end
  return threads >= LEAST_THREADS and threads <= MOST_THREADS
end

-- All settings of macros and block; the first macros vary slowest.
local function settings_of(offer, shape)
  local list = { {} }
  for _, macro in ipairs(offer.macros) do
    local longer = {}
    for _, values in ipairs(list) do
      for _, v in ipairs(macro.values) do
        local other = { [macro.name] = v }
        for name, value in pairs(values) do other[name] = value end
        longer[#longer + 1] = other
      end
    end
    list = longer
  end
  local blocks = {}
  for _, values in ipairs(list) do
    if add_sides(offer, shape, values) then blocks[#blocks + 1] = values end
  end
  return blocks
end

local function genome_of(values)
  local words = {}
  for i, name in ipairs(settings.keys(values)) do
    words[i] = ("%s=%d"):format(name, values[name])
  end
  return table.concat(words, " ")
end

-- The values of a name in some settings, in order.
local function values_in(list, name)
  local seen, values = {}, {}
  for _, setting in ipairs(list) do
    local v = setting[name]
    if not seen[v] then seen[v], values[#values + 1] = true, v end
  end
  table.sort(values)
  return values
end

--- Takes from an offer what is not right on the small case.
---@param offer Offer of the problem, which has all of it
---@param shape LaunchShape
---@param problem gilua.problem
---@param o { instructions: integer, jobs?: integer } of warps, of the kernel as it is on the small
---  case; worker processes
---@return Offer? nil where nothing but what is there already is right
function M.tried(offer, shape, problem, o)
  local list, genomes, right = settings_of(offer, shape), {}, {}
  if #list > MOST_SETTINGS then return nil end
  list = stats.evenly(list, math.max(LEAST_SETTINGS, MOST_WORK // math.max(o.instructions, 1)))
  for i, values in ipairs(list) do genomes[i] = genome_of(values) end
  local farm <close> = gi.farm(problem, { device = "emu", jobs = o.jobs })
  local ran, results = attempt(farm.evaluate, farm, genomes, problem.checked_case)
  if not ran and type(results) ~= "table" then error(results, 0) end -- an error of ours
  for i, m in ipairs(ran and results or {}) do -- else the kernel as it is is not right
    if fitness.right(m) then right[#right + 1] = list[i] end
  end
  if #right < 2 then return nil end
  for _, macro in ipairs(offer.macros) do macro.values = values_in(right, macro.name) end
  offer.blocks = {}
  for d in pairs(offer.sides) do
    offer.blocks[d] = values_in(right, "block_size_" .. ("xyz"):sub(d, d))
  end
  return offer
end

return M
