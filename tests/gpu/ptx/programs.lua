--- Whole CUDA programs (tests/programs/*.cu) and the kernels of problems (kernels/*), each compiled
-- for its device's own target, run with the same inputs, every output compared.
--
-- Bits must be equal. Not so where the scheduler orders a floating-point sum (reduction), where
-- the CUDA library's functions call approximate instructions (singles, doubles), or where textures
-- are filtered; each says its bound.
--
-- A `mul` and an `add` without .rn may be contracted into one fma (PTX ISA, "add", "mul"); ptxas
-- does so, the virtual GPU never. Code that has such pairs is compared twice: compiled with
-- -fmad=false, where NVRTC writes .rn and bits must be equal, and as it is, with a bound that says
-- what contraction may change.

local gi = require "gilua"
local Rig = require "ptx.rig"
local compare = require "ptx.compare"
local value_types = require "ptx.values".types

local M = {}

-- Compiling and launching -------------------------------------------------------------------------

local function read(path)
  local f = io.open(path, "rb")
  if not f then gi.fail("%s cannot be read; run from a checkout with its tests/ folder", path) end
  local text = f:read "a"
  f:close()
  return text
end

local function module_of(side, source, name, options)
  local code, message = gi.compile(source, { target = side.dev:target(), name = name,
    options = options })
  if not code then return nil, ("%s: does not compile: %s"):format(side.name, message) end
  local module, why = side.dev:load(code)
  if not module then return nil, ("%s refuses it: %s"):format(side.name, why) end
  return module, code
end

--- The PTX of a source, for the census of instruction forms; nil where it does not compile.
local function note_forms(census, source, name)
  local ptx = gi.compile(source, { target = "compute_90", name = name })
  if ptx then census:saw(ptx) end
end

local LETTER = { f32 = "f", f64 = "d", i64 = "l", u64 = "l", i16 = "h", u16 = "h" } -- else w

--- Flips the lowest bit of the first value; where a limit grants a distance, a high one.
local function plant(bytes, width, limit)
  if not limit then return string.char(bytes:byte() ~ 1) .. bytes:sub(2) end
  return bytes:sub(1, width - 1) .. string.char(bytes:byte(width) ~ 0x40) .. bytes:sub(width + 1)
end

local function compared(rig, a, b, dtype, spec)
  local letter = LETTER[dtype] or "w"
  if dtype:find("8") then a, b = a .. ("\0"):rep(-#a % 4), b .. ("\0"):rep(-#b % 4) end
  if rig.planting then b = plant(b, compare.width(letter), spec.limit) end
  local r = compare.bytes(letter, a, b, spec)
  r.limit = compare.limit_text(spec.limit)
  if r.first then r.where = ("value %d"):format(r.first.index) end
  return r
end

-- tests/programs ----------------------------------------------------------------------------------

local function floats(dtype, n, low, high)
  return function(rng)
    local a = gi.array(dtype, n)
    for i = 1, n do a[i] = low + (high - low) * rng:unit() end
    return a
  end
end

local function integers(dtype, n, low, high)
  return function(rng)
    local a = gi.array(dtype, n)
    for i = 1, n do a[i] = rng:int(low, high) end
    return a
  end
end

--- Words of four bytes, of two halves and whole ones, in turns.
local function words(n)
  return function(rng)
    local a = gi.array("u32", n)
    for i = 1, n do
      local type = value_types[("bvw"):sub(i % 3 + 1, i % 3 + 1)]
      a[i] = type.any(rng) & type.mask
    end
    return a
  end
end

local function out(dtype, n, limit, first)
  return { out = dtype, n = n, limit = limit, first = first }
end

local IMAGE = { w = 210, h = 130 }

local function image(filter)
  return function(rng)
    return { texture = floats("f32", IMAGE.w * IMAGE.h, -1, 1)(rng), options = { kind = "array",
      size = { IMAGE.w, IMAGE.h }, address = "clamp", filter = filter and "linear" or "point",
      coords = filter and "normalized" or "texel" } }
  end
end

-- name, grid, block, shared, args: makers of inputs, out(…), scalars
local PROGRAMS = {
  { "reduction", 5, 256, 0, floats("f32", 10007, -1, 1),
    out("f32", 1, { abs = 1e-4, text = "1e-4 abs: the order of 5 atomics" }), { "i32", 10007 } },
  { "scan", 40, 128, 1024, integers("i32", 5000, -500, 500), out("i32", 5000), { "i32", 5000 } },
  { "matmul", { 13, 13 }, { 16, 16 }, 0, floats("f32", 200 * 200, -1, 1),
    floats("f32", 200 * 200, -1, 1), out("f32", 200 * 200), { "i32", 200 } },
  { "histogram", 30, 128, 0, integers("u8", 50000, 0, 255), out("u32", 256), out("i32", 1),
    out("u32", 1, nil, 12345), { "i32", 50000 } },
  { "filter", { 53, 33 }, { 8, 8 }, 0, image(false), image(true), out("f32", IMAGE.w * IMAGE.h),
    out("f32", 4 * IMAGE.w * IMAGE.h, { abs = 2 * 2 * 2.0 ^ -8, text = "2/256 of the range" }),
    { "i32", IMAGE.w }, { "i32", IMAGE.h } },
  { "recursion", 22, 48, 0, out("i32", 1000), out("i32", 1000), out("i32", 1000), out("i32", 1000),
    { "i32", 1000 } },
  { "sort", 40, 128, 0, integers("u32", 5120, 0, 200), out("u32", 5120), out("i32", 160) },
  { "doubles", 32, 64, 0, floats("f64", 2000, -2, 2),
    out("f64", 6000, { ulp = 4, text = "4 ulp: seeds of rsqrt and rcp" }), { "i32", 2000 } },
  { "singles", 50, 64, 0, floats("f32", 3000, -2, 2),
    out("f32", 9000, { abs = 2e-6, rel = 1e-6, text = "2e-6 abs + 1e-6 rel: ex2, lg2, sin, cos" }),
    { "i32", 3000 } },
  { "simd", 32, 128, 0, words(4096), words(4096), words(4096), out("u64", 150 * 4096),
    { "i32", 4096 } },
  { "halves", 30, 32, 0, floats("f32", 960, -4, 4), out("f32", 3840), { "i32", 960 },
    contracted = { abs = 2.0 ^ -6, ulps = true, text = "2^-6 abs: fma for mul and add" } },
}

-- What a source is compiled with so that nothing of it may be contracted.
local APART = { "-fmad=false", "-DROUND_EACH" }

--- Arguments of one side; every side draws the same inputs, because it starts the generator anew.
local function arguments(rig, side, program)
  local rng, args, outputs = gi.rng(rig.seed), {}, {}
  for i = 5, #program do
    local maker = program[i]
    if type(maker) == "function" then
      local made = maker(rng)
      if type(made) == "userdata" then args[#args + 1] = assert(side.dev:buffer(made))
      else args[#args + 1] = assert(side.dev:texture(made.texture, made.options)) end
    elseif maker.out then
      local array = gi.array(maker.out, maker.n)
      if maker.first then array[1] = maker.first end
      local buffer = assert(side.dev:buffer(array))
      args[#args + 1] = buffer
      outputs[#outputs + 1] = { buffer = buffer, dtype = maker.out, limit = maker.limit }
    else
      args[#args + 1] = maker
    end
  end
  return args, outputs
end

local function run_program(rig, side, program, source, options)
  local module, why = module_of(side, source, program[1] .. ".cu", options)
  if not module then return nil, why end
  local args, outputs = arguments(rig, side, program)
  local ok, message = Rig.launched(side, module, program[1], { kernel = program[1],
    grid = program[2], block = program[3], shared = program[4], args = args })
  if not ok then return nil, ("%s: %s"):format(side.name, message) end
  for _, o in ipairs(outputs) do o.bytes = assert(o.buffer:read()):bytes() end
  return outputs
end

--- The rows of a program, one an output. limit: in place of the outputs' own.
local function program_rows(rig, report, program, source, title, options, limit)
  local sides = {}
  for k, side in ipairs(rig.sides) do
    local outputs, why = run_program(rig, side, program, source, options)
    if not outputs then
      report(title, { problem = why, n = 0, skipped = why:find("cuda_fp16.h", 1, true) ~= nil })
      return
    end
    sides[k] = outputs
  end
  for i, a in ipairs(sides[1]) do
    local r = compared(rig, a.bytes, sides[2][i].bytes, a.dtype, { limit = limit or a.limit })
    report(#sides[1] == 1 and title or ("%s, output %d"):format(title, i), r)
  end
end

local function program_item(program)
  local name = program[1]
  return { title = name, run = function(rig, report, census)
    local source = read(gi.home .. "/tests/programs/" .. name .. ".cu")
    note_forms(census, source, name .. ".cu")
    local apart = program.contracted and APART
    program_rows(rig, report, program, source, apart and name .. ", -fmad=false" or name, apart)
    if apart then
      program_rows(rig, report, program, source, name .. ", contracted", nil, program.contracted)
    end
  end }
end

--- print.cu: what a process of its own prints on each device, as text. On a GPU the driver writes
-- device printf to the process's stdout, so only a process of its own can be listened to.
local PRINT = [[
local gi = require "gilua"
local dev = assert(gi.device(%q))
local f = assert(io.open(%q))
local code = assert(gi.compile(f:read "a", { target = dev:target() }))
local m = assert(dev:load(code)):launch { kernel = "print", grid = 1, block = 32,
  args = { dev:buffer(gi.array("u8", 1)), { "i32", 3 } } }
io.stdout:write("status ", m.status, "\n")
]]

local function printed(device)
  local core = require "gilua.core"
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write(PRINT:format(device, gi.home .. "/tests/programs/print.cu"))
  f:close()
  local pipe = assert(io.popen(("GILUA_HOME='%s' '%s' '%s' 2>&1"):format(gi.home,
    core.system.program(), path)))
  local text = pipe:read "a"
  pipe:close()
  os.remove(path)
  return text
end

--- The same lines, in any order: on a GPU what is printed may come after what is written later.
local function sorted_lines(text)
  local lines = {}
  for line in text:gmatch("[^\n]+") do lines[#lines + 1] = line end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function print_item()
  return { title = "print", run = function(rig, report, census)
    note_forms(census, read(gi.home .. "/tests/programs/print.cu"), "print.cu")
    local a, b = sorted_lines(printed(rig.sides[1].name)), sorted_lines(printed(rig.sides[2].name))
    if rig.planting then b = b:gsub("block", "black", 1) end
    local r = compare.empty(#a)
    r.limit = "text"
    if a ~= b or not a:find("thread 2 of block:  3.00, 4398046511104, c%", 1, true) then
      r.differing, r.wrong = 1, 1
      r.first = { index = 1, a = 0, b = 0, hex = "%x" }
      r.where = ("printed %q and %q"):format(a, b)
    end
    report("print", r)
  end }
end

function M.programs()
  local list = {}
  for i, program in ipairs(PROGRAMS) do list[i] = program_item(program) end
  list[#list + 1] = print_item()
  return list
end

-- kernels -----------------------------------------------------------------------------------------

local CASES = { niftyreg = { { side = 20 }, { side = 60 } } } -- else the problem's checked_case

--- Genomes for all settings of the switches, and for the first and last value of what is none.
local function settings_of(problem)
  local switches, list = {}, {}
  for _, p in ipairs(problem.parameters) do
    if p.switch then switches[#switches + 1] = p.name end
  end
  for bits = 0, (1 << math.min(#switches, 6)) - 1 do
    local on = {}
    for k, name in ipairs(switches) do
      if bits >> (k - 1) % 6 & 1 == 1 then on[#on + 1] = name end
    end
    list[#list + 1] = table.concat(on, " ")
  end
  for _, p in ipairs(problem.parameters) do
    if not p.switch and p.values then
      list[#list + 1] = ("%s=%s"):format(p.name, p.values[1])
      list[#list + 1] = ("%s=%s"):format(p.name, p.values[#p.values])
    end
  end
  return list
end

--- An argument or variable on one side. Buffers and textures are made anew for every launch.
local function value_of(side, v, launch, inputs, written)
  if type(v) == "userdata" then
    inputs[v] = inputs[v] or assert(side.dev:buffer(v, { read_only = not written[v] }))
    return inputs[v]
  elseif type(v) == "table" and v.texture then
    local description, how = launch.textures[v.texture], {}
    for k, x in pairs(description) do
      if k ~= "array" then how[k] = x end
    end
    return assert(side.dev:texture(description.array, how))
  end
  return v
end

--- One launch of a problem's kernel on one side: the bytes of its output; or nil and why not.
local function run_kernel(problem, side, module, case, values)
  local launch, inputs, args = problem:launch(case, values), {}, {}
  local written = { [case.output] = true }
  for _, array in ipairs(launch.scratch or {}) do written[array] = true end
  for array in pairs(written) do array:sentinel() end
  for name, v in pairs(launch.constants or {}) do
    -- a variable that this setting does not use is not in its module. Arrays are copied into it.
    local given = type(v) == "userdata" and v or value_of(side, v, launch, inputs, written)
    local ok, message = module:write(name, given)
    if not ok and not message:find("has no __device__", 1, true) then return nil, message end
  end
  for i, v in ipairs(launch.args) do args[i] = value_of(side, v, launch, inputs, written) end
  local ok, message = Rig.launched(side, module, problem.name, { kernel = problem.kernel,
    grid = launch.grid, block = launch.block, shared = launch.shared, args = args })
  if not ok then return nil, ("%s: %s"):format(side.name, message) end
  return assert(inputs[case.output]:read()):bytes()
end

--- Adds a row's counts to those of all settings before it.
local function add_up(sum, r, genome)
  for _, field in ipairs { "n", "differing", "wrong", "nan" } do
    sum[field] = sum[field] + r[field]
  end
  if r.worst_ulp > sum.worst_ulp then sum.worst_ulp, sum.worst = r.worst_ulp, r.worst end
  if r.first and not sum.first then
    sum.first, sum.where = r.first, ("setting '%s', %s"):format(genome, r.where)
  end
end

--- One setting of a problem on all cases, into sums, one a case; nil, or why it did not run.
local function setting_results(rig, problem, genome, cases, sums, variant)
  local source, detail = problem.grammar:apply(genome)
  if not source then error(("%s: genome '%s': %s"):format(problem.name, genome, detail), 0) end
  source = problem.grammar:guard(false) .. "#line 1\n" .. source
  local values, bytes = problem:values(detail.params), { {}, {} }
  for k, side in ipairs(rig.sides) do
    local module, why = module_of(side, source, problem.source_path, variant.options)
    if not module then return ("setting '%s': %s"):format(genome, why) end
    for c, case in ipairs(cases) do
      bytes[k][c], why = run_kernel(problem, side, module, case, values)
      if not bytes[k][c] then return ("setting '%s': %s"):format(genome, why) end
    end
    module:close()
  end
  for c, case in ipairs(cases) do
    add_up(sums[c], compared(rig, bytes[1][c], bytes[2][c], case.output:dtype(), variant), genome)
  end
end

-- A bound on what contraction changes in a problem's outputs; its kernels' sums are of this size.
local VARIANTS = {
  { title = "-fmad=false", options = APART },
  { title = "contracted", limit = { abs = 2.0 ^ -18, ulps = true,
    text = "2^-18 abs: fma for mul and add" } },
}

local function cases_of(rig, problem)
  local cases = {}
  for i, spec in ipairs(CASES[problem.name] or { problem.definition.checked_case }) do
    local with_seed = { seed = rig.seed }
    for k, v in pairs(spec) do with_seed[k] = v end
    local case, message = problem:case(with_seed)
    if not case then gi.fail("%s: %s", problem.name, message) end
    cases[i] = case
  end
  return cases
end

--- All settings of a problem in one variant: a row a case, the sum of its settings.
local function variant_rows(rig, report, problem, cases, variant)
  local sums, settings = {}, settings_of(problem)
  for i in ipairs(cases) do
    sums[i] = compare.empty(0)
    sums[i].limit = compare.limit_text(variant.limit)
  end
  for _, genome in ipairs(settings) do
    local why = setting_results(rig, problem, genome, cases, sums, variant)
    if why then
      report(("%s, %s"):format(problem.name, variant.title), { problem = why, n = 0 })
      return
    end
    collectgarbage()
  end
  for i, case in ipairs(cases) do
    report(("%s, %s, %d settings, %s"):format(problem.name, case.name or i, #settings,
      variant.title), sums[i])
  end
end

local function kernel_item(dir, name)
  return { title = name, run = function(rig, report, census)
    local problem = gi.problem(dir)
    note_forms(census, problem.source, problem.source_path)
    local cases = cases_of(rig, problem)
    for _, variant in ipairs(VARIANTS) do variant_rows(rig, report, problem, cases, variant) end
  end }
end

--- Every folder of kernels/ with a problem.lua.
function M.kernels()
  local list, lfs = {}, require "lfs"
  local names = {}
  for name in lfs.dir(gi.home .. "/kernels") do
    if lfs.attributes(gi.home .. "/kernels/" .. name .. "/problem.lua") then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  for i, name in ipairs(names) do
    list[i] = kernel_item(gi.home .. "/kernels/" .. name, name)
  end
  return list
end

return M
