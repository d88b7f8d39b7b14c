-- problemtext: the text of the problem.lua that `gilua new` writes.

local csource = require "gilua.new.csource"
local launchguess = require "gilua.new.launchguess"

local slice = require "gilua.new.slice"

local M = {}

local DIMENSIONS = { "x", "y", "z" }
local BLOCKS = { 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024 }
local SHAPES = { 4, 8, 16, 32, 64 } -- sides of a block of two dimensions
local KINDS = { float = "f32", double = "f64", int = "i32", unsigned = "u32" }

local function strings(list)
  local quoted = {}
  for i, s in ipairs(list) do quoted[i] = ("%q"):format(s) end
  return "{ " .. table.concat(quoted, ", ") .. " }"
end

---@param size integer[]
---@return string
function M.size(size)
  return #size == 1 and tostring(size[1]) or "{ " .. table.concat(size, ", ") .. " }"
end

-- A row of `args`.
local function argument_line(arg)
  local parts = { ('name = "%s", type = "%s"'):format(arg.name, arg.type) }
  local function add(field, text) parts[#parts + 1] = field .. " = " .. text end
  if arg.value then add("value", arg.value) end
  if arg.fields then add("fields", arg.fields) end
  if arg.count then
    add("count", arg.count:find("^%d+$") and arg.count or ('"%s"'):format(arg.count))
  end
  if arg.fill then add("fill", arg.fill) end
  if arg.role and arg.role ~= "in" then add("role", ('"%s"'):format(arg.role)) end
  local notes = #arg.notes > 0 and " -- " .. table.concat(arg.notes, "; ") or ""
  return ("    { %s },%s"):format(table.concat(parts, ", "), notes)
end

-- The usual sides of blocks, and the one of the launch.
local function block_sides(shape, d)
  local list = table.move(#shape.size == 1 and BLOCKS or SHAPES, 1, #BLOCKS, 1, {})
  local own, has = shape.block[d], false
  for _, v in ipairs(list) do has = has or v == own end
  if not has then list[#list + 1] = own end
  table.sort(list)
  return table.concat(list, ", ")
end

local function add_geometry(draft, add)
  local s = draft.shape
  add("  size = %s,%s", M.size(s.size), draft.size_note and " -- " .. draft.size_note or "")
  for d = 1, #s.size do
    local name = "block_size_" .. DIMENSIONS[d]
    add("  %s = %d,%s", name, s.block[d], s.block_guessed and " -- GUESS"
      or s.fixed_block and d == 1 and " -- not to be tuned: " .. s.fixed_block or "")
    if s.each[d] and s.each[d] > 1 then
      add('  grid_div_%s = { "%s", %d }, -- a thread takes %d', DIMENSIONS[d], name, s.each[d],
        s.each[d])
    end
  end
  if s.fixed_grid then
    add("  grid = { %d }, -- each thread takes many elements", s.fixed_grid[1])
  end
  local shared, note = launchguess.shared(draft.reading, s)
  if shared then add("  shared = %s, -- %s", shared, note) end
end

local function add_arguments(args, add)
  add("  args = {")
  for _, arg in ipairs(args) do add("%s", argument_line(arg)) end
  add("  },")
end

-- __constant__ variables that the kernel mentions.
local function add_constants(read, add)
  local lines, source <close> = {}, csource.tokens(read.sliced.source)
  for _, c in ipairs(read.host:constants()) do
    if source:find(1, c.name) then
      lines[#lines + 1] = ('    %s = { type = "%s", count = %d }, -- GUESS: what is in it'):format(
        c.name, KINDS[c.type:match("([%w_]+)%s*$")] or "f32", math.max(1, c.count))
    end
  end
  if #lines > 0 then add("  constants = {\n%s\n  },", table.concat(lines, "\n")) end
end

local function add_tuning(shape, add)
  add("  tune_params = {")
  for d = 1, shape.fixed_block and 0 or #shape.size do
    add("    block_size_%s = { %s },", DIMENSIONS[d], block_sides(shape, d))
  end
  add("  },")
  if #shape.size > 1 and not shape.fixed_block then
    add('  restrictions = { "%s <= 1024" },', launchguess.threads_text(#shape.size))
  end
end

local function add_rest(draft, add, tolerance, why)
  local read = draft.reading
  add("  -- the reference is the kernel as it is (docs/own-kernels.md: one in C, in Lua, another "
    .. "kernel)")
  add("  tolerance = { max_error = %.9g },%s", tolerance or 0, why and " -- " .. why or "")
  if draft.checked_size then
    add("  checked_size = %s, -- of the small run that every mutant begins with",
      M.size(draft.checked_size))
  end
  add("  include = %s,", strings(read.compiler.include))
  if read.compiler.before then
    add('  options = { "--pre-include=%s" }, -- what stands before it', slice.BEFORE)
  end
  if #read.compiler.defines > 0 then add("  defines = %s,", strings(read.compiler.defines)) end
  add("  made_from = { path = %q, template = %s }, -- for `gilua apply`", read.absolute_path,
    strings(read.template))
end

---@param draft Draft
---@param tolerance? number
---@param why? string
---@return string
function M.of(draft, tolerance, why)
  local read, lines = draft.reading, {}
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  add([[
-- %s of %s, for gilua. Written by `gilua new`: lines with GUESS are guesses, so look at
-- them. docs/own-kernels.md has every field; `gilua check %s` says what is wrong.

return {
  source = "kernel.cu", -- the file as it is, but for what the host alone needs]],
    read.kernel, read.path:match("([^/]+)$"), draft.folder)
  add("  kernel = %q,", read.kernel)
  add_geometry(draft, add)
  add_arguments(draft.args, add)
  add_constants(read, add)
  add_tuning(draft.shape, add)
  add_rest(draft, add, tolerance, why)
  add("}\n")
  return table.concat(lines, "\n")
end

return M
