-- newproblem: `gilua new FILE.cu`: from a file that nobody prepared to a problem folder that runs.
--
-- What the kernel takes comes from the compiler (gilua.signature), how it is called from the file's
-- host code where that can be read (gilua.hostcode). What neither says is guessed, and every guess
-- is marked in the problem.lua that is written, which is meant to be looked at. The folder appears
-- whole or not at all.

local gi = require "gilua"
local hostcode = require "gilua.hostcode"
local kerneltable = require "gilua.kerneltable"
local precision = require "gilua.precision"
local report = require "gilua.report"
local signature = require "gilua.signature"
local slice = require "gilua.slice"

local M = {}

local BUDGET = 60e6 -- warp instructions of the kernel as it is: under a second on the virtual GPU
local BLOCKS = { 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024 }
local SHAPES = { 4, 8, 16, 32, 64 } -- sides of a block of two dimensions
local DIMENSIONS = { "x", "y", "z" }

local function read(path)
  local file, why = io.open(path, "rb")
  if not file then gi.fail("cannot read the kernel: %s", why) end
  local text = file:read("a")
  file:close()
  if text == nil then gi.fail("cannot read the kernel: %s is a folder", path) end
  return text
end

local function absolute(path)
  if path:sub(1, 1) == "/" then return path end
  return require("lfs").currentdir() .. "/" .. path:gsub("^%./", "")
end

--------------------------------------------------------------------------------------------------
-- Which kernel

local function longest(kernels)
  local best = kernels[1]
  for _, k in ipairs(kernels) do
    if k.last_line - k.line > best.last_line - best.line then best = k end
  end
  return best
end

local function choose(kernels, path, wanted, say)
  if #kernels == 0 then
    gi.fail("%s has no __global__ function: there is nothing to improve in it", path)
  end
  local chosen = not wanted and longest(kernels) or nil
  for _, k in ipairs(kernels) do if k.name == wanted then chosen = k end end
  if #kernels > 1 or not chosen then
    for _, k in ipairs(kernels) do
      say("%s %s, lines %d to %d", k == chosen and "*" or " ", k.name, k.line, k.last_line)
    end
  end
  if not chosen then gi.fail("%s has no kernel '%s'; it has those above", path, wanted) end
  if #kernels > 1 and not wanted then
    say("%s is taken, the longest; --kernel NAME takes another", chosen.name)
  end
  return chosen
end

--------------------------------------------------------------------------------------------------
-- Compiler options

-- Folders and macros as the compiler takes them, and as problem.lua keeps them.
local function compiler(path, o)
  local dir = absolute(path):match("^(.*)/")
  local include, options = { dir }, {}
  for folder in (o.include or ""):gmatch("[^,:]+") do include[#include + 1] = absolute(folder) end
  for _, folder in ipairs(include) do options[#options + 1] = "-I" .. folder end
  options[#options + 1] = "-I" .. gi.home .. "/lua/gilua/include"
  local defines = {}
  for define in (o.define or ""):gmatch("[^,]+") do
    defines[#defines + 1], options[#options + 1] = define, "-D" .. define
  end
  return { options = options, include = include, defines = defines }
end

-- Texts of the user's headers that the file includes.
local function headers_of(text, include)
  local list = {}
  for spelled in ("\n" .. text):gmatch('\n%s*#%s*include%s*[<"]([^>"\n]+)[>"]') do
    for _, folder in ipairs(include) do
      local file = io.open(folder .. "/" .. spelled, "rb")
      if file then
        list[#list + 1] = file:read("a")
        file:close()
        break
      end
    end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Arguments of a template

local function template_of(item, launch, given, host, notes)
  local list = {}
  for i, p in ipairs(item.template or {}) do
    local text = given[i] or launch and launch.template[i]
    local is_type = p.is_type
    if is_type and (not text or not host:size_of(text)) then
      list[i] = "float"
      notes[#notes + 1] = ("GUESS: template parameter %s is float"):format(p.name)
    elseif not is_type and (not text or not host:value(text)) then
      list[i] = "256"
      notes[#notes + 1] = ("GUESS: template parameter %s is 256"):format(p.name)
    else
      list[i] = is_type and text or tostring(host:value(text))
    end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Sizes

local function uses(body, word)
  return body:find("%f[%w_]" .. word .. "%s*%.") ~= nil
end

local function dimensions_used(body)
  for d, name in ipairs { "z", "y" } do
    if body:find("threadIdx%s*%.%s*" .. name) or body:find("blockIdx%s*%.%s*" .. name) then
      return 4 - d
    end
  end
  return 1
end

-- The whole-number argument that a grid of n blocks was made from, and how many of its elements a
-- thread takes.
local function origin_of(n, block, params, values, taken)
  for _, each in ipairs { 1, 2, 4, 8, 16 } do
    for _, p in ipairs(params) do
      local v = values[p.name]
      if math.type(v) == "integer" and v > 1 and not taken[p.name] and not p.pointer
          and (v + block * each - 1) // (block * each) == n then
        return p.name, each
      end
    end
  end
end

local NAMED = { -- what an argument of that name usually is, where nothing says its value
  { "^[nN]$|^num|^count|^len|^size|^total|^N|^rows$|^m$|^dim$", 1 },
  { "width|^w$|^nx$|^cols$|columns|pitch|stride|^iW", 1 },
  { "height|^h$|^ny$|^iH", 2 }, { "depth|^d$|^nz$", 3 },
}

local function dimension_by_name(name, used)
  for _, row in ipairs(NAMED) do
    for pattern in row[1]:gmatch("[^|]+") do
      if name:find(pattern) or name:lower():find(pattern) then return math.min(row[2], used) end
    end
  end
end

-- Size, block and grid, and which arguments say the size: { size, block, link, each, fixed_grid }.
local function shape_of(g)
  local used, launch = g.used, g.launch
  local block = launch and launch.block and g.host:dimensions(launch.block)
  local grid = launch and launch.grid and g.host:dimensions(launch.grid)
  local s = { size = {}, link = {}, each = {}, taken = {} }
  s.block = block or (used == 1 and { 256, 1, 1 } or { 16, 16, 1 })
  s.block_guessed = not block
  for d = 1, used do
    local name, each
    if grid and grid[d] > 1 then
      name, each = origin_of(grid[d], s.block[d], g.params, g.values, s.taken)
    end
    if name then
      s.size[d], s.link[d], s.each[d], s.taken[name] = g.values[name], name, each, true
    elseif grid then
      s.size[d] = grid[d] * s.block[d]
    end
  end
  s.from = grid and ("the launch at line %d"):format(launch.line) or nil
  if grid and not s.link[1] and uses(g.body, "gridDim") then
    for _, p in ipairs(g.params) do -- each thread takes every so many-th element
      local v = g.values[p.name]
      if math.type(v) == "integer" and not p.pointer and v > s.size[1] then
        s.size[1], s.link[1], s.fixed_grid, s.taken[p.name] = v, p.name, grid, true
        break
      end
    end
  end
  for d = 1, used do
    if not s.size[d] then
      s.size[d] = used == 1 and 65536 or 256
      s.guessed = true
      for _, p in ipairs(g.params) do
        if not p.pointer and not p.struct and p.type:find("^[iu]") and not s.taken[p.name]
            and dimension_by_name(p.name, used) == d then
          s.link[d], s.taken[p.name] = p.name, true
          s.size[d] = math.type(g.values[p.name]) == "integer" and g.values[p.name] or s.size[d]
          break
        end
      end
    end
  end
  return s
end

--------------------------------------------------------------------------------------------------
-- Scalars

local function scalar_of(g, p, i)
  local shape, text = g.shape, g.launch and g.launch.args[i]
  for d, name in pairs(shape.link) do
    if name == p.name then return '"size_' .. DIMENSIONS[d] .. '"', text or p.text end
  end
  local value = g.values[p.name]
  if value then
    for d, name in pairs(shape.link) do -- another argument of the same size
      if value == shape.size[d] and math.type(value) == "integer" and value > 16 then
        return ('"%s"'):format(name), text
      end
    end
    if math.type(value) == "integer" and p.type:find("^f") then value = value + 0.0 end
    return ("%.9g"):format(value) + 0 == value and ("%.9g"):format(value) or tostring(value), text
  end
  if p.type:find("^f") then return "1.0", "GUESS: nothing says what it is" end
  local d = dimension_by_name(p.name, g.used)
  if d then return ('"size_%s"'):format(DIMENSIONS[d]), "GUESS: from its name" end
  return "1", "GUESS: nothing says what it is"
end

-- { text of fields } of a struct by value.
local function struct_of(g, p)
  local type = p.text:gsub("%f[%w_]const%f[^%w_]", ""):match("([%a_][%w_]*)%s*&?%s*[%a_][%w_]*%s*$")
  local fields, list, guessed = g.host:fields(type or ""), {}, false
  if not fields then
    gi.fail("kernel %s takes the struct '%s', whose fields cannot be read in %s: pass them one by "
      .. "one, or write problem.lua by hand (docs/own-kernels.md)", g.kernel, p.text, g.path)
  end
  local kinds = { [1] = "u8", [2] = "i16", [4] = "i32", [8] = "i64" }
  for i, f in ipairs(fields) do
    local kind = f.type:find("float") and "f32" or f.type:find("double") and "f64"
      or kinds[g.host:size_of(f.type) or 0] or "i32"
    local value = g.host:value(f.name) or nil
    local text = value and tostring(value)
    if value and kind:find("^f") and math.type(value) == "integer" then text = text .. ".0" end
    for d, name in pairs(g.shape.link) do
      if value and value == g.shape.size[d] and name == f.name then
        text = '"size_' .. DIMENSIONS[d] .. '"'
      end
    end
    if not text then text, guessed = kind:find("^f") and "1.0" or "1", true end
    if f.count > 1 then text = "{ " .. (text .. ", "):rep(f.count):sub(1, -3) .. " }" end
    list[i] = ('{ "%s", "%s", %s }'):format(f.name, kind, text)
  end
  return "{ " .. table.concat(list, ", ") .. " }", guessed and "GUESS: values of its fields" or nil
end

--------------------------------------------------------------------------------------------------
-- Arrays

-- Expressions over arguments that give n, the simplest first.
local function count_text(g, n)
  local names = {}
  for i, p in ipairs(g.params) do
    if not p.pointer and not p.struct then
      local v = g.values[p.name]
      local linked = g.scalar_texts[i] and g.scalar_texts[i]:find('^"')
      if math.type(v) == "integer" and v > 1 and linked then names[#names + 1] = { p.name, v } end
    end
  end
  local sizes = {}
  for d = 1, g.used do sizes[d] = { "size_" .. DIMENSIONS[d], g.shape.size[d] } end
  for _, list in ipairs { names, sizes } do
    for _, a in ipairs(list) do
      for k = 1, 16 do
        if a[2] * k == n then return k == 1 and a[1] or ("%s * %d"):format(a[1], k) end
      end
      if a[2] + 1 == n then return a[1] .. " + 1" end
    end
    for i, a in ipairs(list) do
      for k = i + 1, #list do
        local b = list[k]
        for times = 1, 16 do
          if a[2] * b[2] * times == n then
            return times == 1 and ("%s * %s"):format(a[1], b[1])
              or ("%s * %s * %d"):format(a[1], b[1], times)
          end
        end
      end
    end
  end
  return nil
end

local function total(g)
  local list = {}
  for d = 1, g.used do list[d] = "size_" .. DIMENSIONS[d] end
  return table.concat(list, " * ")
end

local function escaped(name)
  return "%f[%w_]" .. name .. "%f[^%w_]"
end

-- Is it read, is it written? From how its name stands in the kernel.
local function role_of(g, p)
  if p.const then return "in" end
  local body, name = g.body, escaped(p.name)
  local read, written, other = false, false, false
  for at in body:gmatch(name .. "()") do
    local rest = body:sub(at)
    local index = rest:match("^%s*(%b[])")
    local after = index and rest:sub(select(2, rest:find("^%s*%b[]")) + 1) or rest
    local dereferenced = not index and body:sub(1, at - #p.name - 1):find("%*%s*$")
    local assigned = after:find("^%s*=[^=]") or after:find("^%s*%.%s*[xyzw]%s*=[^=]")
    local changed = after:find("^%s*[%+%-%*/%%&|^]=") or after:find("^%s*<<=")
      or after:find("^%s*%+%+") or after:find("^%s*%-%-")
    local before = body:sub(math.max(1, at - #p.name - 2), at - #p.name - 1)
    if before:find("%+%+$") or before:find("%-%-$") then changed = true end
    if before:find("&%s*$") then changed = true end
    if changed then read, written = true, true
    elseif (index or dereferenced) and assigned then written = true
    elseif index or dereferenced then read = true
    else other = true end
  end
  if other then return "inout" end -- passed on: who knows
  if not written then return "in" end
  return read and "inout" or "out"
end

-- Is it an index of something, or offsets of rows?
local function fill_of(g, p, role)
  if p.type:find("^f") then return nil end
  if role == "inout" then return "0" end
  if role == "out" then return nil end
  local name = escaped(p.name)
  if g.body:find(name .. "%s*%[[^%[%]]*%+%s*1%s*%]") and g.body:find(name .. "%s*%[[^%[%]+]*%]") then
    return ("{ ascending = %s }"):format(g.nonzeros), "GUESS: offsets, read in pairs"
  end
  for index in g.body:gmatch("(%b[])") do
    if index:find(name) then return '{ 0, "size_x - 1" }', "GUESS: used as an index" end
  end
  return p.type == "u8" and "{ 0, 255 }" or "{ 0, 100 }"
end

-- Element type and how many of them an element of the argument has.
local function element_of(g, p)
  if not p.struct then return p.type, p.width end
  local name = p.text:gsub("%f[%w_]const%f[^%w_]", ""):match("([%a_][%w_]*)%s*%*")
  local fields = g.host:fields(name or "")
  local float = not fields
  for _, f in ipairs(fields or {}) do float = float or f.type:find("float") ~= nil end
  if float and p.bytes % 4 == 0 then return "f32", p.bytes // 4, "GUESS: a struct as floats" end
  if p.bytes % 8 == 0 and fields and fields[1].type:find("double") then
    return "f64", p.bytes // 8, "GUESS: a struct as doubles"
  end
  return "i32", p.bytes // 4, "GUESS: a struct as whole numbers"
end

local function array_text(g, p, i)
  local type, width, as = element_of(g, p)
  local role, notes = role_of(g, p), {}
  local text = g.launch and g.launch.args[i]
  local allocation = text and g.host:allocation(text)
  local bytes = allocation and allocation.bytes
  local element = p.bytes // width
  local count
  if bytes and bytes % element == 0 then
    local n = bytes // element
    local product = count_text(g, n // width)
    count = n % width == 0 and product and (width > 1 and product .. " * " .. width or product)
      or tostring(n)
    notes[#notes + 1] = ("%d bytes, line %d"):format(bytes, allocation.line)
  else
    count = total(g) .. (width > 1 and " * " .. width or "")
    if g.rows_like(p) then count = total(g) .. " + 1" end
    if g.nonzero_like(p) then count = g.nonzeros:gsub('"', "") end
    notes[#notes + 1] = "GUESS: how many"
  end
  local fill, why = fill_of(g, { type = type, name = p.name }, role)
  if as then notes[#notes + 1] = as end
  if why then notes[#notes + 1] = why end
  local parts = { ('name = "%s", type = "%s", count = "%s"'):format(p.name, type, count) }
  if count:find("^%d+$") then parts[1] = parts[1]:gsub('"(%d+)"$', "%1") end
  if fill then parts[#parts + 1] = "fill = " .. fill end
  if role ~= "in" then parts[#parts + 1] = ('role = "%s"'):format(role) end
  return table.concat(parts, ", "), table.concat(notes, "; ")
end

--------------------------------------------------------------------------------------------------
-- The description

local function argument_lines(g)
  local lines = {}
  g.scalar_texts = {}
  for i, p in ipairs(g.params) do
    if not p.pointer and not p.struct then g.scalar_texts[i] = (scalar_of(g, p, i)) end
  end
  for i, p in ipairs(g.params) do
    local text, note
    if not p.pointer and p.text:find("cudaTextureObject_t") then
      gi.fail("kernel %s takes a texture (%s), which a table cannot describe: write problem.lua by "
        .. "hand (docs/problem.md)", g.kernel, p.name)
    elseif p.pointer then text, note = array_text(g, p, i)
    elseif p.struct then
      local fields
      fields, note = struct_of(g, p)
      text = ('name = "%s", type = "struct", fields = %s'):format(p.name, fields)
    else
      local value
      value, note = scalar_of(g, p, i)
      text = ('name = "%s", type = "%s", value = %s'):format(p.name, p.type, value)
    end
    lines[i] = ("    { %s },%s"):format(text, note and note ~= "" and " -- " .. note or "")
  end
  return lines
end

local function tuned_lines(g)
  local s, lines = g.shape, {}
  local fixed = g.fixed_block
  for d = 1, g.used do
    local values = g.used == 1 and BLOCKS or SHAPES
    local list, has = {}, false
    for i, v in ipairs(values) do
      list[i], has = v, has or v == s.block[d]
    end
    if not has then
      list[#list + 1] = s.block[d]
      table.sort(list)
    end
    if not fixed then
      lines[#lines + 1] = ("    block_size_%s = { %s },"):format(DIMENSIONS[d],
        table.concat(list, ", "))
    end
  end
  return lines
end

-- Does the code rely on a number of threads that the launch does not give it?
local function block_is_fixed(g)
  local n = g.shape.block[1]
  for inner in g.body:gmatch("__shared__[^;]-%[([^%]]+)%]") do
    if g.host:value(inner) and not inner:find("^%s*32%s*$") then
      return ("shared memory has a size of its own, %s"):format(inner:match("^%s*(.-)%s*$"))
    end
  end
  if #(g.item.template or {}) > 0 then
    for i, p in ipairs(g.item.template) do
      if g.template[i] == tostring(n) then return ("template parameter %s is it"):format(p.name) end
    end
  end
  local bounds = g.head:match("__launch_bounds__%s*%(([^%)]*)%)")
  return bounds and ("__launch_bounds__(%s)"):format(bounds)
end

local function shared_text(g)
  local text = g.launch and g.launch.shared
  if text and text:find("%S") and text ~= "0" then
    local bytes = g.host:value(text)
    local threads = g.shape.block[1] * g.shape.block[2] * g.shape.block[3]
    if bytes and bytes % threads == 0 and bytes > 0 then
      return ('"%s%d"'):format(g.used == 1 and "block_size_x * " or
        (g.used == 2 and "block_size_x * block_size_y * " or
        "block_size_x * block_size_y * block_size_z * "), bytes // threads),
        ("%d bytes, line %d"):format(bytes, g.launch.line)
    elseif bytes then
      -- so many bytes a thread, and some besides
      local size = g.body:find("extern%s+__shared__%s+double") and 8 or 4
      return ('"block_size_x * %d + %d"'):format(size, bytes - threads * size),
        ("GUESS: %d bytes, line %d"):format(bytes, g.launch.line)
    end
  end
  if g.body:find("extern%s+__shared__") then return '"block_size_x * 8"', "GUESS: bytes" end
end

local function constant_lines(g)
  local lines = {}
  for _, c in ipairs(g.host:constants()) do
    if g.sliced.source:find(escaped(c.name)) then
      local kinds = { float = "f32", double = "f64", int = "i32", unsigned = "u32" }
      local type = kinds[c.type:match("([%w_]+)%s*$")] or "f32"
      lines[#lines + 1] = ('    %s = { type = "%s", count = %d }, -- GUESS: what is in it'):format(
        c.name, type, math.max(1, c.count))
    end
  end
  return lines
end

local function strings(list)
  local quoted = {}
  for i, s in ipairs(list) do quoted[i] = ("%q"):format(s) end
  return "{ " .. table.concat(quoted, ", ") .. " }"
end

local function size_text(size)
  return #size == 1 and tostring(size[1]) or "{ " .. table.concat(size, ", ") .. " }"
end

local function describe(g, tolerance, why)
  local s, L = g.shape, {}
  local function add(format, ...) L[#L + 1] = select("#", ...) > 0 and format:format(...) or format end
  add("-- %s of %s, for gilua. Written by `gilua new`: lines with GUESS are guesses, so look at", g.kernel,
    g.path:match("([^/]+)$"))
  add("-- them. docs/own-kernels.md has every field; `gilua check %s` says what is wrong.", g.folder)
  add("")
  add("return {")
  add("  source = \"kernel.cu\", -- the file as it is, but for what the host alone needs")
  add("  kernel = %q,", g.kernel)
  add("  size = %s,%s", size_text(s.size), g.size_note and " -- " .. g.size_note or "")
  for d = 1, g.used do
    add("  block_size_%s = %d,%s", DIMENSIONS[d], s.block[d],
      s.block_guessed and " -- GUESS" or g.fixed_block and d == 1 and
      " -- not to be tuned: " .. g.fixed_block or "")
    if s.each[d] and s.each[d] > 1 then
      add("  grid_div_%s = { \"block_size_%s\", %d }, -- a thread takes %d", DIMENSIONS[d],
        DIMENSIONS[d], s.each[d], s.each[d])
    end
  end
  if s.fixed_grid then add("  grid = { %d }, -- each thread takes many elements", s.fixed_grid[1]) end
  local shared, shared_note = shared_text(g)
  if shared then add("  shared = %s, -- %s", shared, shared_note) end
  add("  args = {")
  for _, line in ipairs(g.lines) do add("%s", line) end
  add("  },")
  local constants = constant_lines(g)
  if #constants > 0 then
    add("  constants = {")
    for _, line in ipairs(constants) do add("%s", line) end
    add("  },")
  end
  local tuned = tuned_lines(g)
  add("  tune_params = {")
  for _, line in ipairs(tuned) do add("%s", line) end
  add("  },")
  if #tuned > 1 then
    add("  restrictions = { \"block_size_x * block_size_y * %s <= 1024\" },",
      g.used == 3 and "block_size_z" or "1")
  end
  add("  -- the reference is the kernel as it is (docs/own-kernels.md: one in C, in Lua, another kernel)")
  add("  tolerance = { max_error = %.9g },%s", tolerance or 0, why and " -- " .. why or "")
  if g.checked_size then add("  checked_size = %s, -- of the small run that every mutant begins with",
    size_text(g.checked_size)) end
  add("  include = %s,", strings(g.compiler.include))
  if #g.compiler.defines > 0 then add("  defines = %s,", strings(g.compiler.defines)) end
  add("  made_from = { path = %q, template = %s }, -- for `gilua apply`", absolute(g.path),
    strings(g.template))
  add("}")
  return (table.concat(L, "\n"):gsub("%% 1 <=", "<=")) .. "\n"
end

--------------------------------------------------------------------------------------------------
-- Trying it

local function write_problem(g, tolerance, why)
  report.write(g.folder .. "/problem.lua", describe(g, tolerance, why))
  return gi.problem(g.folder)
end

-- Halves the size until the kernel as it is runs within the budget.
local function fit(g)
  local shape = g.shape
  for _ = 1, 30 do
    local problem = write_problem(g)
    local outputs, why, m = kerneltable.run(problem, { seed = 1 }, { budget = BUDGET })
    if outputs then return problem, outputs, why end
    if not (m and m.status == "timeout") then return problem, nil, why end
    local widest
    for d in pairs(shape.link) do
      if not widest or shape.size[d] > shape.size[widest] then widest = d end
    end
    if not widest or shape.size[widest] < 64 then return problem, nil, why end
    g.original = g.original or size_text(shape.size)
    shape.size[widest] = (shape.size[widest] + 1) // 2
    g.size_note = ("your program's is %s; smaller here, so that the virtual GPU takes less than a "
      .. "second"):format(g.original)
  end
end

-- How many elements a kernel wrote, and the last of them.
local function written_of(array)
  local blank, written, last = gi.array(array:dtype(), 1):sentinel()[1], 0, 0
  for i = 1, #array do
    local x = array[i]
    if x ~= blank and x == x then written, last = written + 1, i end
  end
  return written, last
end

-- Outputs of which parts are never written: what was there stays there.
local function settle_roles(g, problem, outputs)
  local changed = {}
  for i, p in ipairs(g.params) do
    local array = outputs[p.name]
    if array and g.lines[i]:find('role = "out"', 1, true) then
      local written, last = written_of(array)
      if written < #array then
        local guessed = g.lines[i]:find("GUESS: how many", 1, true)
        local line = guessed and written == last and written > 0
          and g.lines[i]:gsub('count = "[^"]*"', "count = " .. written):gsub("GUESS: how many.*",
            "GUESS: how many, as it writes")
          or g.lines[i]:gsub('role = "out"', 'role = "inout"')
          .. (g.lines[i]:find(" %-%- ") and "; " or " -- ")
          .. ("it writes %d of %d"):format(written, #array)
        g.lines[i] = line
        changed[#changed + 1] = p.name
      end
    end
  end
  if #changed > 0 then return write_problem(g) end
  return problem
end

-- The small case must run as the whole one does; else it is the whole one.
local function settle_small(g, problem)
  local small = problem.checked_case
  local outputs = kerneltable.run(problem, small, { budget = BUDGET })
  local linked = true
  for d = 1, g.used do linked = linked and (g.shape.link[d] ~= nil or g.shape.size[d] == 1) end
  if outputs and linked then return end
  g.checked_size = g.shape.size
end

--------------------------------------------------------------------------------------------------

local EXPERIMENT = [[
-- Evolves %s. Everything about the search is here to be changed; docs/tutorial.md and
-- docs/howto/ tell how. `gilua evolve %s` does the same.

local gi = require "gilua"

local options = gi.cli {
  doc = "Evolves %s.",
  { name = "population", default = 60, min = 2, doc = "kernels in a generation" },
  { name = "generations", default = 12, min = 1, doc = "generations" },
}

local problem = gi.problem "%s"
local out = options.out or ("out/%s-%%d"):format(options.seed)
local report, unwritable = gi.report.open(out)
if not report then gi.fail("%%s", unwritable) end

gi.evolve.run {
  problem = problem,
  farm = gi.farm(problem, { device = options.device, jobs = options.jobs }),
  fitness = gi.fitness.within(problem.tolerance), -- ticks, and what wrong answers cost
  population = options.population,
  generations = options.generations,
  rng = gi.rng(options.seed),
  init = gi.own.first, -- single genes, and more of them where there are not enough
  genes = gi.own.genes(problem), -- tune_params are genes too
  -- each generation computes on other data, so that no kernel is right by chance
  new_case = function(_, rng) return gi.own.case(problem, rng:int(1 << 31), options.device) end,
  observers = { report, gi.progress.new { quiet = options.quiet, dir = out } },
}
]]

local function remove_tree(folder)
  local lfs = require "lfs"
  if lfs.attributes(folder, "mode") ~= "directory" then return end
  for name in lfs.dir(folder) do
    if name ~= "." and name ~= ".." then
      local path = folder .. "/" .. name
      if lfs.attributes(path, "mode") == "directory" then remove_tree(path) else os.remove(path) end
    end
  end
  lfs.rmdir(folder)
end

local function template_kinds(text, item)
  for _, p in ipairs(item.template or {}) do
    local declared = text:sub(p.first, p.last)
    p.is_type = declared:find("^typename%f[^%w_]") ~= nil or declared:find("^class%f[^%w_]") ~= nil
  end
end

local function guess(g, o)
  local text, path = g.text, g.path
  g.compiler = compiler(path, o)
  g.host = hostcode.read(text, headers_of(text, g.compiler.include))
  g.launch = g.host:launch(g.kernel)
  template_kinds(text, g.item)
  g.template = template_of(g.item, g.launch, hostcode.split(o.template or ""), g.host, g.notes)
  g.sliced = slice.cut(text, path, g.kernel, {
    folder = g.folder, template = g.template, options = g.compiler.options })
  report.write(g.folder .. "/kernel.cu", g.sliced.source)
  local options = table.move(g.compiler.options, 1, #g.compiler.options, 2, { "-I" .. g.folder })
  g.params = signature.of(g.sliced.source, g.kernel, options)
  g.values = {}
  for i, p in ipairs(g.params) do
    p.name = p.name or "argument_" .. i
    local given = g.launch and g.launch.args[i]
    g.values[p.name] = given and not p.pointer and not p.struct and g.host:value(given) or nil
  end
  g.body = slice.code_of(text):sub(g.item.head, g.item.last):match("{.*") or ""
  g.head = text:sub(g.item.first, g.item.head) .. text:sub(g.item.first, g.item.first + 400)
  g.used = dimensions_used(g.body)
  g.shape = shape_of(g)
  g.fixed_block = block_is_fixed(g)
end

-- Sparse rows: an array of offsets that is read in pairs, and what the offsets point into.
local function guess_sparse(g)
  local rows
  for _, p in ipairs(g.params) do
    local name = escaped(p.name or "")
    if p.pointer and p.const and p.type and p.type:find("^[iu]")
        and g.body:find(name .. "%s*%[[^%[%]]*%+%s*1%s*%]") then
      rows = rows or p
    end
  end
  g.nonzeros = '"size_x * 8"'
  g.rows_like = function(p) return p == rows end
  local loop = rows and g.body:match("for%s*%(%s*[%w_:%s]-([%a_][%w_]*)%s*=%s*" .. rows.name)
  g.nonzero_like = function(p)
    return loop ~= nil and g.body:find(escaped(p.name) .. "%s*%[%s*" .. loop .. "%s*%]") ~= nil
  end
end

local function build(g, o, say)
  guess(g, o)
  guess_sparse(g)
  g.size_note = g.shape.from and "from " .. g.shape.from or "GUESS"
  g.lines = argument_lines(g)
  local problem, outputs, why = fit(g)
  if not outputs then
    write_problem(g)
    return why
  end
  problem = settle_roles(g, problem, outputs)
  settle_small(g, problem)
  problem = write_problem(g)
  local tolerance, how = precision.tolerance(problem, problem.checked_case)
  if g.checked_size == nil then
    local whole, whole_how = precision.tolerance(problem, { seed = 1 })
    if whole > tolerance then tolerance, how = whole, whole_how end
  end
  write_problem(g, tolerance, how)
  say("%s runs on the virtual GPU: %.0f ticks", g.kernel, why.ticks)
  return nil
end

local function count_guesses(text)
  return select(2, text:gsub("GUESS", "")) - 1 -- the head names the word
end

local function tell(g, say, problem_text)
  for _, l in ipairs(g.sliced.left_out) do
    if l.why:find("^it does not compile") then
      say("left out: %s, line %d: %s", l.what:match("^[^\n]*"), l.line, l.why)
    end
  end
  for _, note in ipairs(g.notes) do say("%s", note) end
  for line in problem_text:gmatch("[^\n]+") do
    if line:find("GUESS", 1, true) and not line:find("^%-%-") then say("%s", line) end
  end
end

---Writes a problem folder for a kernel of a file.
---@param path string FILE.cu
---@param folder? string the folder to make; the file's name without .cu
---@param o { kernel?: string, template?: string, include?: string, define?: string, quiet?: boolean }
---@return boolean runs whether the kernel ran as described
function M.write(path, folder, o)
  local function say(...)
    if not o.quiet then print((...):format(select(2, ...))) end
  end
  local text = read(path)
  folder = folder or path:match("([^/]+)$"):gsub("%.%w+$", "")
  if require("lfs").attributes(folder, "mode") then
    gi.fail("%s is there already: give another name, gilua new %s NAME, or move it away", folder, path)
  end
  local chosen = choose((slice.kernels(text, path)), path, o.kernel, say)
  local made, why = report.make_folder(folder)
  if not made then gi.fail("cannot make the folder %s: %s", folder, why) end
  local g = { text = text, path = path, folder = folder, kernel = chosen.name, item = chosen,
    notes = {} }
  local ok, trouble = xpcall(build, function(e)
    return type(e) == "string" and debug.traceback(e, 2) or e
  end, g, o, say)
  if not ok then
    remove_tree(folder)
    error(trouble, 0)
  end
  report.write(folder .. "/experiment.lua", EXPERIMENT:format(g.kernel, folder, g.kernel, folder,
    folder:match("([^/]+)/*$")))
  local written = read(folder .. "/problem.lua")
  tell(g, say, written)
  say("")
  if trouble then
    say("%s/problem.lua is written, but as guessed the kernel does not run:\n  %s", folder, trouble)
    say("Change its lines marked GUESS (%d), then: gilua check %s", count_guesses(written), folder)
    return false
  end
  local n = count_guesses(written)
  say("%s/ is ready%s. Next: gilua check %s, or gilua evolve %s", folder,
    n > 0 and (", with %d guess%s to look at in its problem.lua"):format(n, n > 1 and "es" or "")
    or "", folder, folder)
  return true
end

return M
