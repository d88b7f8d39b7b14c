-- The primitives with no problem file: compile, load, buffers, launch, faults as data, lifetimes.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local SCALE = [[
__constant__ float factor;
extern "C" __global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
]]

local function scale_module(dev)
  return assert(dev:load(assert(gi.compile(SCALE, { target = dev:target() }))))
end

tap.case("a kernel runs over an array and the array has the result", function()
  local dev = gi.device "emu"
  local module = scale_module(dev)
  local x = gi.array("f32", 100):fill(3)
  local buffer = dev:buffer(x)
  module:write("factor", { "f32", 2 })
  local m = module:launch {
    kernel = "scale", grid = 1, block = 128, args = { buffer, { "i32", 99 } } }
  tap.is(m.status, "ok", "it runs")
  tap.is(buffer:read()[99], 6.0, "the last element asked for")
  tap.is(buffer:read()[100], 3.0, "the one behind it")
  tap.ok(m.ticks > 0 and m.ns > 0, "it takes time")
  tap.is(m.lane_instructions < 32 * m.warp_instructions, true, "not every lane was active")
  tap.is(module:kernels()[1], "scale", "the module names its kernels")
end)

tap.case("what a kernel does wrong is data with block, thread and line", function()
  local dev = gi.device "emu"
  local m = scale_module(dev):launch {
    grid = { 2, 1 }, block = 128, args = { dev:buffer(gi.array("f32", 200)), { "i32", 256 } } }
  tap.is(m.status, "illegal_address", "status")
  tap.is(m.fault_block[1] .. "," .. m.fault_thread[1], "1,72", "block and thread of element 200")
  tap.is(m.line, 5, "source line")
  tap.has(m.message, "out-of-bounds", "the message says what")
  m = scale_module(dev):launch { grid = 1, block = 32, args = {
    dev:buffer(gi.array("f32", 32), { read_only = true }), { "i32", 32 } } }
  tap.is(m.status, "illegal_address", "a write to a read-only buffer is one too")
end)

tap.case("misuse raises and names the argument", function()
  local dev = gi.device "emu"
  local module = scale_module(dev)
  local b = dev:buffer(gi.array("f32", 4))
  tap.raises(function() module:launch { grid = 1, block = 1, args = { b } } end,
    "scale takes 2 arguments, not 1", "too few arguments")
  tap.raises(function() module:launch { grid = 1, block = 1, args = { b, { "i64", 1 } } } end,
    "argument 2 of scale has 4 bytes, not 8", "an argument of the wrong size")
  tap.raises(function() module:launch { grid = 1, block = 1, args = { b, 4 } } end,
    "argument 2 of scale: a buffer", "a bare number has no size")
  tap.raises(function() module:launch { kernel = "scald", grid = 1, block = 1, args = {} } end,
    "scald", "no such kernel")
  tap.raises(function() module:launch { gird = 1 } end, "did you mean 'grid'", "a misspelt field")
  local ok, message, code = module:write("nothing", { "i32", 1 })
  tap.ok(ok == nil and code == "usage" and message:find("'nothing'", 1, true), "no such variable")
end)

tap.case("source that does not compile comes back as a message with its line", function()
  local code, message, kind, log = gi.compile("__global__ void f() {\n  int x = ;\n}\n")
  tap.is(code, nil, "no code")
  tap.is(kind, "compile", "the code of the failure")
  tap.has(message, "line 2", "the line")
  tap.has(log, "expected an expression", "the compiler's own words")
end)

tap.case("PTX the virtual GPU does not know is refused at load, with its line", function()
  local module, message, code = gi.device("emu"):load(
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    .. ".visible .entry k()\n{\n\tfrobnicate.b32;\n\tret;\n}\n")
  tap.is(module, nil, "refused")
  tap.is(code, "compile", "the code of the failure")
  tap.has(message, "frobnicate", "the instruction")
  tap.has(message, "6", "the PTX line")
end)

tap.case("textures: linear fetch, filtering, bounds", function()
  local dev = gi.device "emu"
  local module = assert(dev:load(assert(gi.compile([[
    extern "C" __global__ void k(float *out, cudaTextureObject_t t, cudaTextureObject_t u)
    {
        out[0] = tex1Dfetch<float>(t, 2);
        out[1] = tex1Dfetch<float>(t, 99);
        out[2] = tex2D<float>(u, 1.0f, 0.5f);
    }]], { target = dev:target() }))))
  local line = dev:texture(gi.array.from { 10, 20, 30 })
  local plane = dev:texture(gi.array.from { 1, 3, 5, 7 },
    { kind = "array", size = { 2, 2 }, filter = "linear", address = "clamp" })
  local out = dev:buffer(gi.array("f32", 3))
  tap.is(module:launch { grid = 1, block = 1, args = { out, line, plane } }.status, "ok", "it runs")
  tap.is(table.concat(out:read():table(), " "), "30.0 0.0 2.0", "fetch, out of range, half way")
  tap.raises(function() dev:texture(gi.array("f32", 4), { kind = "linaer" }) end,
    "cannot be 'linaer'", "an unknown kind")
end)

tap.case("children keep their parents alive, in any order of collection", function()
  local module, buffer
  do
    local dev = gi.device "emu"
    module, buffer = scale_module(dev), dev:buffer(gi.array("f32", 32):fill(1))
  end
  collectgarbage()
  collectgarbage()
  module:write("factor", { "f32", 5 })
  module:launch { grid = 1, block = 32, args = { buffer, { "i32", 32 } } }
  tap.is(buffer:read()[1], 5.0, "they still work once nobody holds the device")
  buffer:close()
  buffer:close()
  tap.raises(function() buffer:read() end, "closed", "closing twice is fine, using it is not")
end)

tap.case("device printf goes where io.write goes", function()
  local dev = gi.device "emu"
  local module = assert(dev:load(assert(gi.compile([[
    extern "C" __global__ void k() { printf("lane %d of %s\n", threadIdx.x, "k"); }]],
    { target = dev:target() }))))
  local text, write = {}, io.write
  io.write = function(s) text[#text + 1] = s end -- luacheck: ignore
  local ran, m = pcall(module.launch, module, { grid = 1, block = 2 })
  io.write = write -- luacheck: ignore
  tap.ok(ran and m.status == "ok", "it runs")
  tap.is(table.concat(text), "lane 0 of k\nlane 1 of k\n", "the text, lane by lane")
end)

tap.done()
