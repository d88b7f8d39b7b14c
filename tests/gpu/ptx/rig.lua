--- Two devices side by side: loads the same PTX on both, launches the same kernels, compares.
--
-- A kernel is { title, ptx, type, words, grid, block, inputs, texture, limit, nan, unspecified,
-- sort }: ptx is a text with NAME for the entry's name, made by rig.form or rig.body. Many are
-- loaded as one module, because a driver's compiler takes longer to start than to work; a module
-- that a device refuses is taken apart until the guilty kernel is alone.

local gi = require "gilua"
local core = require "gilua.core"
local compare = require "ptx.compare"
local values = require "ptx.values"

local M = {}
M.__index = M

local BATCH = 40               -- kernels a module
local FORM_BLOCK = 128
M.BODY_BLOCK, M.BODY_GRID = 80, 52 -- two and a half warps
local SCRATCH_BYTES = 1 << 18

-- PTX -------------------------------------------------------------------------------------------

local REGISTER = { h = ".b16", H = ".b16", B = ".b16", l = ".b64", d = ".f64", D = ".f64",
  m = ".f64", f = ".f32", F = ".f32", n = ".f32" } -- else .b32
local LOAD = { [2] = "b16", [4] = "b32", [8] = "b64" }

local function load_type(letter)
  local register = REGISTER[letter]
  return register and register:sub(2) or LOAD[compare.width(letter)]
end

local FORM = [[
.visible .entry NAME(.param .u64 out, .param .u64 scratch, .param .u64 in1, .param .u64 in2,
  .param .u64 in3, .param .u64 in4)
{
.reg .b32 %%i, %%n, %%t;
.reg .b64 %%out, %%scratch, %%o, %%in;
mov.u32 %%i, %%ctaid.x;
mov.u32 %%n, %%ntid.x;
mov.u32 %%t, %%tid.x;
mad.lo.s32 %%i, %%i, %%n, %%t;
ld.param.u64 %%scratch, [scratch];
%s%s
%sld.param.u64 %%out, [out];
mul.wide.u32 %%o, %%i, %d;
add.s64 %%out, %%out, %%o;
st.global.%s [%%out], %%v0;
ret;
}
]]

--- The PTX of a form of forms.lua.
local function form_ptx(form)
  local result, sources = form.types:sub(1, 1), form.types:sub(3)
  local loads = {}
  for k = 0, #sources do
    local letter = k == 0 and result or sources:sub(k, k)
    loads[#loads + 1] = (".reg %s %%v%d;\n"):format(REGISTER[letter] or ".b32", k)
    if letter == "p" then loads[#loads + 1] = (".reg .pred %%v%dp;\n"):format(k) end
    if k > 0 then
      loads[#loads + 1] = ("ld.param.u64 %%in, [in%d];\nmul.wide.u32 %%o, %%i, %d;\nadd.s64 %%in, "
        .. "%%in, %%o;\nld.global.%s %%v%d, [%%in];\n"):format(k, compare.width(letter),
        load_type(letter), k)
      if letter == "p" then
        loads[#loads + 1] = ("setp.ne.b32 %%v%dp, %%v%d, 0;\n"):format(k, k)
      end
    end
  end
  local text = form.text:gsub("%$(%d)", function(k)
    local letter = k == "0" and result or sources:sub(tonumber(k), tonumber(k))
    return "%v" .. k .. (letter == "p" and "p" or "")
  end)
  return FORM:format(table.concat(loads), text, result == "p" and "selp.b32 %v0, 1, 0, %v0p;\n"
    or "", compare.width(result), load_type(result))
end

local BODY = [[
%s
.visible .entry NAME(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .u64 extra%s)
{
.reg .b32 %%i, %%x, %%r, %%r1, %%r2, %%r3, %%n, %%t, %%a<20>;
.reg .b64 %%in, %%out, %%scratch, %%extra, %%o, %%l<20>;
.reg .b16 %%h<20>;
.reg .f32 %%f<20>;
.reg .f64 %%d<20>;
.reg .pred %%p<20>;
ld.param.u64 %%in, [in];
ld.param.u64 %%out, [out];
ld.param.u64 %%scratch, [scratch];
ld.param.u64 %%extra, [extra];
mov.u32 %%i, %%ctaid.x;
mov.u32 %%n, %%ntid.x;
mov.u32 %%t, %%tid.x;
mad.lo.s32 %%i, %%i, %%n, %%t;
mul.wide.u32 %%o, %%i, 4;
add.s64 %%o, %%o, %%in;
ld.global.u32 %%x, [%%o];
mov.u32 %%r, 0;
%s
mul.wide.u32 %%o, %%i, %d;
add.s64 %%o, %%o, %%out;
%s
ret;
}
]]

--- The PTX of a body: text that may use %i the thread's index in the grid, %x = in[%i], %r the
-- result for out[%i] (with words = 4 also %r1 %r2 %r3), %scratch 256 KiB of global memory, %extra a
-- texture, and %a0… (b32) %l0… (b64) %h0… (b16) %f0… (f32) %d0… (f64) %p0… (pred), 20 of each.
-- params and values: further parameters, as PTX and as launch arguments.
local function body_ptx(body)
  local wide = body.words == 4
  return BODY:format(body.decl or "", body.params or "", body.text, wide and 16 or 4,
    wide and "st.global.v4.b32 [%o], {%r, %r1, %r2, %r3};" or "st.global.u32 [%o], %r;")
end

function M.form(form)
  local kernel = { ptx = form_ptx(form), type = form.types:sub(1, 1), is_form = true,
                   grid = values.N // FORM_BLOCK, block = FORM_BLOCK, n = values.N }
  return setmetatable(kernel, { __index = form })
end

function M.body(body)
  local block, grid = body.block or M.BODY_BLOCK, body.grid or M.BODY_GRID
  local kernel = { ptx = body_ptx(body), type = body.type or "w", grid = grid, block = block,
                   n = grid * block * (body.words or 1) }
  return setmetatable(kernel, { __index = body })
end

-- Devices -----------------------------------------------------------------------------------------

---@param names string[] two names of devices
---@param seed integer
function M.new(names, seed)
  local self = setmetatable({ sides = {}, operands = values.store(seed), seed = seed,
                              seconds = { 0, 0 }, words = {} }, M)
  for k, name in ipairs(names) do
    local dev, message = gi.device(name)
    if not dev then gi.fail("device %s: %s", name, message) end
    self.sides[k] = { dev = dev, name = name, buffers = {}, results = {}, textures = {} }
  end
  for _, side in ipairs(self.sides) do
    side.scratch = assert(side.dev:buffer(gi.array("u8", SCRATCH_BYTES)))
  end
  self.blank_scratch = gi.array("u8", SCRATCH_BYTES)
  return self
end

--- What compiled for the target of a real GPU says in .target, so that its driver takes it.
function M:header()
  local least = 90
  for _, side in ipairs(self.sides) do
    least = math.min(least, tonumber(side.dev:target():match("%d+")) or 90)
  end
  return (".version 8.3\n.target sm_%d\n.address_size 64\n"):format(least)
end

--- A buffer over an array, made once a side.
function M:input(side, array)
  local b = side.buffers[array]
  if not b then
    local message
    b, message = side.dev:buffer(array, { read_only = true })
    if not b then gi.fail("device %s: %s", side.name, message) end
    side.buffers[array] = b
  end
  return b
end

--- The result buffer of n elements, filled with a mark that no instruction writes by chance.
function M:result(side, dtype, n)
  local key = dtype .. n
  local r = side.results[key]
  if not r then
    local bytes = gi.array(dtype, n):bytes()
    r = { mark = gi.array.frombytes(("\x5a"):rep(#bytes), dtype) }
    r.buffer = assert(side.dev:buffer(gi.array(dtype, n)))
    side.results[key] = r
  end
  assert(r.buffer:write(r.mark))
  return r.buffer
end

local DTYPE = { [2] = "u16", [4] = "u32", [8] = "i64" }

--- Input words of a body: its own, else edges and random integers (or what it asks for).
function M:words_of(kernel)
  if kernel.input then
    self.words[kernel.input] = self.words[kernel.input]
      or gi.array.frombytes(kernel.input(gi.rng(self.seed)), "u32")
    return self.words[kernel.input]
  end
  if not self.any_words then
    local list, rng = {}, gi.rng(self.seed)
    for i = 1, M.BODY_GRID * M.BODY_BLOCK do
      list[i] = ("<I4"):pack(values.types.w.any(rng) & 0xffffffff)
    end
    self.any_words = gi.array.frombytes(table.concat(list), "u32")
  end
  return self.any_words
end

function M:arguments(side, kernel, out)
  if not kernel.is_form then
    local extra = kernel.texture and self:texture(side, kernel.texture) or { "u64", 0 }
    return { self:input(side, self:words_of(kernel)), out, side.scratch, extra,
             table.unpack(kernel.values or {}) }
  end
  local sources = kernel.types:sub(3)
  local args = { out, side.scratch }
  for k = 1, 4 do
    local letter = sources:sub(k, k)
    args[2 + k] = letter == "" and { "u64", 0 }
      or self:input(side, self.operands(letter, k).array)
  end
  return args
end

function M:texture(side, spec)
  local t = side.textures[spec]
  if not t then
    local message
    t, message = side.dev:texture(spec.array, spec.options)
    if not t then error(message, 0) end
    side.textures[spec] = t
  end
  return t
end

-- Loading -----------------------------------------------------------------------------------------

local function text_of(self, kernels, first, last)
  local parts = { self:header() }
  for i = first, last do
    parts[#parts + 1] = (kernels[i].ptx:gsub("NAME", "k" .. i))
  end
  return table.concat(parts, "\n")
end

--- Loads kernels first … last, halving what a device refuses. Calls found(module, i) for each
-- kernel, and refused(i, message) for the guilty ones.
local function load(self, side, kernels, first, last, found, refused)
  local module, message = side.dev:load(text_of(self, kernels, first, last))
  if module then
    for i = first, last do found(module, i) end
  elseif first == last then
    refused(first, message)
  else
    local middle = (first + last) // 2
    load(self, side, kernels, first, middle, found, refused)
    load(self, side, kernels, middle + 1, last, found, refused)
  end
end

-- Running -----------------------------------------------------------------------------------------

--- One kernel on one side: the result's bytes; or nil and why not.
function M:launch(side, module, name, kernel)
  local width = compare.width(kernel.type)
  local n = kernel.n
  local out = self:result(side, DTYPE[width], n)
  assert(side.scratch:write(self.blank_scratch))
  local made, args = pcall(self.arguments, self, side, kernel, out)
  if not made then return nil, tostring(args) end
  local ok, why = M.launched(side, module, kernel.title, { kernel = name, grid = kernel.grid,
    block = kernel.block, args = args })
  if not ok then return nil, why end
  return assert(out:read()):bytes()
end

--- Launches; true, or nil and a sentence. A device that is lost ends the script: what comes after
-- would fail too, and hide the kernel that did it.
---@param title string the kernel's row
function M.launched(side, module, title, launch)
  launch.print, launch.timeout_s = false, 20
  local m, message = module:launch(launch)
  if not m then return nil, message end
  if m.lost then
    gi.fail("%s on device %s: %s (%s). The device cannot be used any more in this process; look at "
      .. "this kernel alone: --only '%s'", title, side.name, m.status, m.message or "", title)
  elseif m.status ~= "ok" then
    return nil, ("%s: %s"):format(m.status, m.message or "")
  end
  return true
end

--- Runs kernels on one side; fills results[i] = bytes, problems[i] = sentence.
local function run_side(self, side, kernels, first, last, results, problems)
  load(self, side, kernels, first, last, function(module, i)
    local why
    results[i], why = self:launch(side, module, "k" .. i, kernels[i])
    problems[i] = problems[i] or why and ("%s: %s"):format(side.name, why) or nil
  end, function(i, message)
    problems[i] = problems[i] or ("%s refuses it: %s"):format(side.name, message)
  end)
end

--- The limit of a kernel, its operands bound to it.
function M:limit(kernel)
  local limit = kernel.limit
  if not limit or not limit.by then return limit end
  local columns = {}
  for k = 1, #kernel.types - 2 do
    columns[k] = self.operands(kernel.types:sub(2 + k, 2 + k), k).values
  end
  return { text = limit.text, from = function(index)
    local a, b = columns[1][index], columns[2] and columns[2][index]
    return limit.by(a, b)
  end }
end

--- The operands of tuple `index` as text.
function M:tuple(kernel, index)
  if not kernel.is_form then return ("value %d"):format(index) end
  local list = {}
  for k = 1, #kernel.types - 2 do
    local letter = kernel.types:sub(2 + k, 2 + k)
    local v = self.operands(letter, k).values[index]
    list[k] = ("%0" .. 2 * compare.width(letter) .. "x"):format(v)
  end
  return table.concat(list, ", ")
end

--- Changes one value (where a limit grants a distance, all of them, by much) for the self-test.
local function plant(kernel, bytes)
  local width = ({ X = 2, Y = 2 })[kernel.type] or compare.width(kernel.type)
  if kernel.limit then
    return (bytes:gsub(("."):rep(width), function(v)
      return v:sub(1, -2) .. string.char(v:byte(-1) ~ 0x40)
    end))
  end
  for at = #bytes - width + 1, 1, -width do
    local one = bytes:sub(at, at + width - 1)
    local changed = string.char(one:byte() ~ 1) .. one:sub(2)
    if compare.bytes(kernel.type, one, changed, kernel).wrong > 0 then
      return bytes:sub(1, at - 1) .. changed .. bytes:sub(at + width)
    end
  end
  return bytes
end

function M:judge(kernel, a, b)
  if self.planting then b = plant(kernel, b) end
  if kernel.sort then
    local width = compare.width(kernel.type)
    a, b = compare.sorted(a, width), compare.sorted(b, width)
  end
  local r = compare.bytes(kernel.type, a, b, { limit = self:limit(kernel), nan = kernel.nan })
  r.limit, r.unspecified = compare.limit_text(kernel.limit), kernel.unspecified
  if r.first then r.where = self:tuple(kernel, r.first.index) end
  return r
end

--- Reports a row when a kernel wrote where it must not (a fault on emu, found here on cuda).
function M:check_intact(report)
  for _, side in ipairs(self.sides) do
    local intact, what = side.dev:intact()
    if not intact then
      report("memory guards", { problem = ("%s: %s"):format(side.name, what), n = 0 })
    end
  end
end

--- Runs kernels on both sides and reports a row for each, in order.
---@param report fun(title: string, result: table)
function M:run(kernels, report)
  for first = 1, #kernels, BATCH do
    local last, results, problems = math.min(first + BATCH - 1, #kernels), { {}, {} }, {}
    for k, side in ipairs(self.sides) do
      local start = core.system.seconds()
      run_side(self, side, kernels, first, last, results[k], problems)
      self.seconds[k] = self.seconds[k] + core.system.seconds() - start
    end
    self:check_intact(report)
    for i = first, last do
      local kernel = kernels[i]
      report(kernel.title, problems[i] and { problem = problems[i], n = 0 }
        or self:judge(kernel, results[1][i], results[2][i]))
    end
    collectgarbage() -- modules are unloaded
  end
end

return M
