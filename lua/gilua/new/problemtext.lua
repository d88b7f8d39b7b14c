-- problemtext: the text of the problem.lua that `gilua new` writes.
--
-- It is code that will be run, made of a stranger's words. So it is written as data
-- (gilua.luadata), its remarks on their lines, and read back before anybody else sees it: it must
-- say the table that was meant, and nothing else.

local argumentguess = require "gilua.new.argumentguess"
local launchguess = require "gilua.new.launchguess"
local luadata = require "gilua.base.luadata"
local runpath = require "gilua.base.runpath"
local slice = require "gilua.new.slice"
local tablerows = require "gilua.problem.tablerows"

local M = {}

local DIMENSIONS = { "x", "y", "z" }
local BLOCKS = { 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024 }
local SHAPES = { 4, 8, 16, 32, 64 } -- sides of a block of two dimensions
local ORDER = { "name", "path", "type", "value", "guess", "count", "at", "each", "texture", "fill",
  "role", "max_error", "rel_error", "bytes", "fields", "template" }

---@class ProblemText
---@field lines string[]
---@field meant table what they say

local function remark(note)
  return note and note ~= "" and " -- " .. luadata.remark(note) or ""
end

-- A row `name = value,` with its remark.
local function add(p, name, value, note)
  p.meant[name] = value
  p.lines[#p.lines + 1] = ("  %s = %s,%s"):format(name, luadata.text(value, ORDER), remark(note))
end

-- A row of several lines: of each { key, value, note }, a key that is a number has no name.
local function add_list(p, name, rows)
  local list = {}
  p.lines[#p.lines + 1] = ("  %s = {"):format(name)
  for _, row in ipairs(rows) do
    local key, value, note = table.unpack(row, 1, 3)
    list[key] = value
    local text = luadata.text(type(key) == "number" and value or { [key] = value }, ORDER)
    if type(key) == "string" then text = text:sub(3, -3) end -- without its { }
    p.lines[#p.lines + 1] = ("    %s,%s"):format(text, remark(note))
  end
  p.lines[#p.lines + 1] = "  },"
  p.meant[name] = list
end

---@param size integer[]
---@return integer|integer[]
local function plain_size(size)
  return #size == 1 and size[1] or table.move(size, 1, #size, 1, {})
end

---@param size integer[]
---@return string
function M.size(size)
  return luadata.text(plain_size(size))
end

--------------------------------------------------------------------------------------------------
-- The fields

-- What an argument's text says: a constant.
local function constant(text, arg)
  if text == nil then return nil end
  local value, why = luadata.read("return " .. text)
  if value == nil then
    error(("argument %s would be written as %s: %s"):format(arg.name, text, why), 0)
  end
  return value
end

local function count_of(arg)
  local count = arg.count
  return count and count:find "^%d+$" and math.tointeger(tonumber(count)) or count
end

local fields_of

-- What is said of an argument and of a member alike.
local function described(arg, row)
  row.count, row.texture = count_of(arg), arg.texture
  row.fill, row.role = constant(arg.fill, arg), arg.role ~= "in" and arg.role or nil
  row.max_error = arg.limits and arg.limits.max_error
  row.rel_error = arg.limits and arg.limits.rel_error
  if arg.members then row.fields, row.bytes = fields_of(arg) end
  return row
end

-- `fields` and `bytes` of a row: places are said where they are not C's.
function fields_of(arg)
  local fields = {}
  for i, m in ipairs(arg.members) do
    local row = described(m, { m.path, m.type, constant(m.value, m) })
    row.each = m.in_memory and m.each > 1 and m.each or nil
    fields[i] = row
    local own = tablerows.layout({ fields = fields })[i]
    row.at = own.at ~= m.at and m.at or nil
  end
  local bytes = tablerows.layout({ fields = fields }).bytes
  return fields, bytes ~= arg.bytes and arg.bytes or nil
end

-- A row of `args`. A whole number that is guessed may hold a size, which no other size changes.
local function argument(arg)
  local value = constant(arg.value, arg)
  local is_guess = arg.is_guess and math.type(value) == "integer"
  return described(arg, { name = arg.name, type = arg.type, value = value,
    guess = is_guess or nil })
end

-- What a row's remark says: the notes, of a fill that nothing speaks for that it is a guess, and
-- where the limits are from.
local function remark_of(arg)
  local notes = table.move(arg.notes, 1, #arg.notes, 1, {})
  if arg.fill == "0" and (arg.role == "inout" or arg.in_memory) then
    notes[#notes + 1] = "GUESS: begins with zeros"
  elseif arg.fill == "{ 0, 100 }" then
    notes[#notes + 1] = "GUESS: what it holds"
  end
  notes[#notes + 1] = arg.limits and arg.limits.how
  return table.concat(notes, "; ")
end

-- The lines of a row: of one with fields one more for each of them.
local function add_row(p, indent, arg, row)
  local fields = row.fields
  row.fields = nil
  local text = luadata.text(row, ORDER)
  row.fields = fields
  if not fields then
    p.lines[#p.lines + 1] = ("%s%s,%s"):format(indent, text, remark(remark_of(arg)))
    return
  end
  p.lines[#p.lines + 1] = ("%s%s, fields = {%s"):format(indent, text:sub(1, -3),
    remark(remark_of(arg)))
  local margin = indent:match "^ *"
  for i, m in ipairs(arg.members) do add_row(p, margin .. "  ", m, fields[i]) end
  p.lines[#p.lines + 1] = margin .. "} },"
end

local function add_arguments(p, args)
  p.meant.args = {}
  p.lines[#p.lines + 1] = "  args = {"
  for i, arg in ipairs(args) do
    p.meant.args[i] = argument(arg)
    add_row(p, "    ", arg, p.meant.args[i])
  end
  p.lines[#p.lines + 1] = "  },"
end

-- The usual sides of blocks, and the one of the launch.
local function block_sides(shape, d)
  local list = table.move(#shape.size == 1 and BLOCKS or SHAPES, 1, #BLOCKS, 1, {})
  local own, has = shape.block[d], false
  for _, v in ipairs(list) do has = has or v == own end
  if not has then list[#list + 1] = own end
  table.sort(list)
  return list
end

local function add_geometry(p, draft)
  local s = draft.shape
  add(p, "size", plain_size(s.size), draft.size_note)
  for d = 1, #s.size do
    local name = "block_size_" .. DIMENSIONS[d]
    local fixed = d == 1 and s.fixed_block and not (s.offer and s.offer.sides[d])
      and "not to be tuned: " .. s.fixed_block or nil
    add(p, name, s.block[d], s.block_guessed and (fixed and "GUESS; " .. fixed or "GUESS") or fixed)
    if s.rows[d] then
      add(p, "grid_div_" .. DIMENSIONS[d], { 1 }, "a block takes one")
    elseif s.each[d] and s.each[d] > 1 then
      add(p, "grid_div_" .. DIMENSIONS[d], { name, s.offer and s.offer.each[d] or s.each[d] },
        ("a thread takes %d"):format(s.each[d]))
    end
  end
  if s.fixed_grid then
    add(p, "grid", { s.fixed_grid[1] }, "each thread takes many elements")
  end
  local shared = draft.shared
  if shared then
    local text, times = shared.text, shared.times
    add(p, "shared", times and ("(%s) * %d"):format(text, times) or text,
      times and ("GUESS: %s, as far as it reaches"):format((shared.note:gsub("^GUESS: ", "")))
        or shared.note)
  end
end

-- __constant__ variables that the kernel mentions.
local function add_constants(p, constants)
  if #constants == 0 then return end
  p.meant.constants = {}
  p.lines[#p.lines + 1] = "  constants = {"
  for _, one in ipairs(constants) do
    local row = described(one, { type = one.type })
    p.meant.constants[one.name] = row
    add_row(p, "    " .. luadata.key(one.name), one, row)
  end
  p.lines[#p.lines + 1] = "  },"
end

local function add_tuning(p, shape)
  local rows, rules, offer = {}, {}, shape.offer or { macros = {}, sides = {} }
  for i, macro in ipairs(offer.macros) do rows[i] = { macro.name, macro.values } end
  for d = 1, #shape.size do
    local name, side = "block_size_" .. DIMENSIONS[d], offer.sides[d]
    if side then
      rows[#rows + 1] = { name, offer.blocks and offer.blocks[d] or block_sides(shape, d) }
      rules[#rules + 1] = ("%s == %s"):format(name, side)
    elseif not shape.fixed_block and not shape.flat[d] then
      rows[#rows + 1] = { name, block_sides(shape, d) }
    end
  end
  add_list(p, "tune_params", rows)
  if #shape.size > 1 and not shape.fixed_block then
    rules[#rules + 1] = launchguess.threads_text(#shape.size) .. " <= 1024"
  end
  if #rules > 0 then add(p, "restrictions", rules) end
end

-- The program's own size and numbers, where those here are smaller; nil where they are not, or an
-- array's length or a struct's member is.
local function program_of(draft)
  local values = {}
  for _, one in ipairs(argumentguess.flat(draft)) do
    local arg = one.row
    local value = arg.original and arg == one.block and arg.value
      and math.tointeger(tonumber(arg.original))
    if arg.original and not value then return nil end
    values[arg.name] = value
  end
  if not draft.original and not next(values) then return nil end
  return { size = plain_size(draft.original or draft.shape.size), values = next(values) and values }
end

local function add_rest(p, draft)
  local read = draft.reading
  p.lines[#p.lines + 1] = "  -- the reference is the kernel as it is (docs/own-kernels.md: one in "
    .. "C, in Lua, another kernel)"
  if draft.checked_size then
    add(p, "checked_size", plain_size(draft.checked_size), "of the small run that every mutant "
      .. "begins with")
  end
  if next(draft.checked_values or {}) then
    add(p, "checked_values", draft.checked_values, "and what its arguments are there")
  end
  local program = program_of(draft)
  if program then add(p, "on_gpu", program, "with --device cuda: your program's") end
  add(p, "include", runpath.from_problem(read.compiler.include, draft.folder))
  local options = table.move(read.sliced.options, 1, #read.sliced.options, 1, {})
  if read.compiler.before then table.insert(options, 1, "--pre-include=" .. slice.BEFORE) end
  if #options > 0 then
    add(p, "options", options, read.compiler.before and "what stands before it"
      or "what the file's headers would have brought")
  end
  if #read.compiler.defines > 0 then add(p, "defines", read.compiler.defines) end
  add(p, "made_from", { path = runpath.from_problem({ read.absolute_path }, draft.folder)[1],
    template = read.template }, "for `gilua apply`")
end

--------------------------------------------------------------------------------------------------
-- The whole

local HEAD = [[
-- %s of %s, for gilua. Written by `gilua new`: lines with GUESS are guesses, so look at
-- them. docs/own-kernels.md has every field; `gilua check %s` says what is wrong.

return {]]

local function head(draft)
  local read = draft.reading
  return HEAD:format(luadata.remark(read.kernel), luadata.remark(read.path:match "([^/]+)$"),
    luadata.remark(draft.folder))
end

local function check(p, text)
  local said, why = luadata.read(text)
  if luadata.same(said, p.meant) then return end
  error("the problem.lua that would be written does not say what was meant, so it is not: "
    .. (why or "another table"), 0)
end

---@param draft Draft
---@return string
function M.of(draft)
  local p = { lines = { head(draft) }, meant = {} }
  add(p, "source", "kernel.cu", "the file as it is, but for what the host alone needs")
  add(p, "kernel", draft.reading.kernel)
  add_geometry(p, draft)
  add_arguments(p, draft.args)
  add_constants(p, draft.constants)
  add_tuning(p, draft.shape)
  add_rest(p, draft)
  p.lines[#p.lines + 1] = "}\n"
  local text = table.concat(p.lines, "\n")
  check(p, text)
  return text
end

return M
