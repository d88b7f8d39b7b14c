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

tap.case("a kernel the virtual GPU does not know is refused at launch, with its line", function()
  local module = assert(gi.device("emu"):load(
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    .. ".visible .entry k()\n{\n\tfrobnicate.b32;\n\tret;\n}\n"
    .. ".visible .entry good()\n{\n\tret;\n}\n"))
  local m, message, code = module:launch { kernel = "k", grid = 1, block = 1 }
  tap.is(m, nil, "refused")
  tap.is(code, "compile", "the code of the failure")
  tap.has(message, "frobnicate", "the instruction")
  tap.has(message, "PTX line 6", "the PTX line")
  tap.is(module:launch { kernel = "good", grid = 1, block = 1 }.status, "ok", "the others run")
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
  tap.raises(function() dev:texture(gi.array("f64", 4)) end, "cannot hold f64",
    "texels have at most 32 bits")
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

tap.case("a device says what it is, and a GPU that is not there is no device", function()
  local i = gi.device("emu"):info()
  tap.is(i.name, "NVIDIA H200", "name")
  tap.is(i.compute .. " " .. i.sms, "90 132", "compute capability, SMs")
  tap.is(i.driver, 0, "no driver")
  local dev, message, code = gi.device "cpu"
  tap.ok(dev == nil and code == "nodevice", "no such device")
  tap.has(message, "'cpu'", "and it says so")
  dev, message, code = gi.device "cuda:999"
  tap.ok(dev == nil and (code == "nolib" or code == "nodevice"), "no such GPU")
  tap.ok(#message > 20, "and it says why: " .. message)
  tap.is(gi.device "cuda:x", nil, "a number is needed")
end)

tap.case("the driver is the file that GILUA_CUDA names, and says why it cannot be used", function()
  local program = require("gilua.core").system.program()
  local function why(file)
    local line = "GILUA_CUDA='%s' '%s' -e 'print(require(\"gilua\").device(\"cuda\"))'"
    local p = io.popen(line:format(file, program))
    local text = p:read "a"
    p:close()
    return text
  end
  tap.has(why "/nowhere/libcuda.so", "GILUA_CUDA cannot be loaded", "a file that is not there")
  tap.has(why "/nowhere/libcuda.so", "/nowhere/libcuda.so", "by name")
  tap.has(why "libm.so.6", "no CUDA driver", "a library that is something else")
  tap.has(why "libm.so.6", "nolib", "with its code")
end)

tap.case("buffers are filled and compared on the device", function()
  local dev = gi.device "emu"
  local want = gi.array.from { 1, 2, 3, 4, 5, 6, 7, 8 }
  local got = dev:buffer(want:copy())
  local expected = dev:buffer(want, { read_only = true, label = "expected" })
  local c = got:compare(expected, { width = 4, used = 3 })
  tap.is(c.n .. " " .. c.max_error .. " " .. c.wrong, "2 0.0 0.0", "equal answers")
  got:read()[6] = 9
  c = got:compare(expected, { width = 4, used = 3, limit = 1 })
  tap.is(c.max_error .. " " .. c.wrong .. " " .. c.first_wrong, "3.0 0.5 2", "a wrong one")
  got:sentinel()
  tap.is(got:compare(expected).unset, 1.0, "the sentinel is unset")
  tap.raises(function() expected:sentinel() end, "read-only", "read-only ones keep their contents")
  local floor = got:time_sentinel()
  tap.is(floor.status .. " " .. #floor.samples, "ok 1", "filling a buffer is timed, exactly on emu")
  local large = dev:buffer(gi.array("f32", 1000000))
  tap.is(large:time_sentinel().ns > floor.ns, true, "more bytes take longer")
  tap.raises(function() expected:time_sentinel() end, "read-only", "not a read-only one")
  tap.raises(function() got:compare(expected, { width = 3 }) end, "width 3", "misuse raises")
  tap.is(dev:intact(), true, "emu faults instead of letting memory be touched")
end)

local COUNTER = [[
__device__ int calls = 3;
extern "C" __global__ void count(int *out) { out[0] = calls++; if (out[1] < 0) out[1] = 7; }
]]

tap.case("every launch begins with the variables and outputs that it should", function()
  local dev = gi.device "emu"
  local module = assert(dev:load(assert(gi.compile(COUNTER, { target = dev:target() }))))
  local out = dev:buffer(gi.array("i32", 2))
  local launch = { grid = 1, block = 1, args = { out }, fill = { out } }
  for i = 1, 2 do
    tap.is(module:launch(launch).status, "ok", "launch " .. i)
    tap.is(out:read()[1] .. " " .. out:read()[2], "3 7", "its variable is new, its output unset")
  end
  module:write("calls", { "i32", 40 })
  module:time(launch)
  tap.is(out:read()[1], 40, "what the host writes stays")
  local calls = gi.array("i32", 1)
  tap.is(module:read("calls", calls)[1], 41, "what the kernel made of it can be read")
  module:reset():launch(launch)
  tap.is(out:read()[1], 3, "until it is reset")
  tap.raises(function() module:launch { grid = 1, block = 1, args = { out }, fill = { 1 } } end,
    "list of buffers", "fill holds buffers")
  local fixed = dev:buffer(gi.array("i32", 2), { read_only = true })
  tap.raises(function() module:launch { grid = 1, block = 1, args = { out }, fill = { fixed } } end,
    "read-only", "which can be written")
end)

tap.case("the virtual GPU's time needs one sample", function()
  local dev = gi.device "emu"
  local module = scale_module(dev)
  local x = dev:buffer(gi.array("f32", 128))
  local launch = { grid = 2, block = 64, args = { x, { "i32", 128 } } }
  local m = module:time(launch)
  tap.is(m.status, "ok", "timed")
  tap.is(#m.samples, 1, "one sample")
  tap.is(m.median_ns, module:launch(launch).ns, "is the launch's time")
  tap.is(m.rel_error .. " " .. tostring(m.slow) .. " " .. m.dropped, "0.0 false 0", "exact")
  launch.stop_above_ns = 1
  tap.is(module:time(launch).slow, true, "slower than asked for")
  launch.stop_above_ns = nil
  local p = module:pair { a = launch, b = launch, other = scale_module(dev), pairs = 3 }
  tap.is(#p.a .. " " .. #p.b, "3 3", "pairs")
  tap.is(p.a[3], p.b[1], "of one time")
  tap.raises(function() module:pair { a = launch } end, "'b'", "a pair needs both")
  launch.grid, launch.args = 3, { launch.args[1], { "i32", 129 } }
  m = module:time(launch)
  tap.is(m.status .. " " .. #m.samples, "illegal_address 0", "a fault has no samples")
end)

tap.case("the papers' clock: the longest span of an SM", function()
  local dev = gi.device "emu"
  local module = assert(dev:load(assert(gi.compile([[
    __device__ unsigned long long *gilua_spans;
    extern "C" __global__ void k(int wrap)
    {   // four blocks on two SMs; the counter overflows in the first
        if (gilua_spans == 0) return;
        unsigned long long *s = gilua_spans + 3 * blockIdx.x, base = wrap ? 0ull - 50 : 1000;
        s[0] = base + 100 * (blockIdx.x / 2);
        s[1] = s[0] + 60 + 20 * blockIdx.x;
        s[2] = blockIdx.x % 2;
    }]], { target = dev:target() }))))
  for _, wrap in ipairs { 0, 1 } do
    local m = module:spans { grid = 4, block = 1, args = { { "i32", wrap } } }
    tap.is(m.status, "ok", "it runs")
    tap.is(m.span_ticks // 1, 220, "from the first start to the last end")
    tap.is(m.span_blocks .. " on " .. m.span_sms, "4 on 2", "blocks and SMs")
    tap.ok(math.abs(m.span_ns - 220 / m.clock_ghz) < 1e-9, "in nanoseconds, by the clock")
  end
  tap.is(module:launch { grid = 4, block = 1, args = { { "i32", 0 } } }.status, "ok",
    "a plain launch records nothing")
  tap.raises(function() scale_module(dev):spans { grid = 1, block = 1,
    args = { dev:buffer(gi.array("f32", 1)), { "i32", 1 } } } end, "gilua_spans",
    "code that does not record is refused")
end)

tap.case("lanes that wait keep what the others' lines have no right to", function()
  -- lanes that return early do 64-bit arithmetic, in registers that share their places with
  -- pointers of the lanes that go on
  local dev = gi.device "emu"
  local code = assert(gi.compile([[
extern "C" __global__ void k(int *out, unsigned long long *rec, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    if (rec != 0) atomicMax(rec + 3 * (blockIdx.x + (unsigned long long)gridDim.x *
        (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z)), 5ull);
    return;
  }
  for (int j = 0; j < i; j++) out[i] += j;
}]], { target = dev:target() }))
  local out, rec = gi.array("i32", 5000), gi.array("u64", 3000)
  local m = dev:load(code):launch { kernel = "k", grid = 300, block = 64,
    args = { dev:buffer(out), dev:buffer(rec), { "i32", 5000 } } }
  tap.is(m.status, "ok", tostring(m.message))
  tap.is(out[5000], 4999 * 4998 // 2, "every lane has its sum")
  tap.is(rec[1 + 3 * 78], 5, "and the others did their part")
end)

tap.case("variables are reset before each launch, unless they are kept", function()
  local dev = gi.device "emu"
  local module = assert(dev:load(assert(gi.compile(
    "__device__ int n = 7; extern \"C\" __global__ void k(int *out) { out[0] = n++; }",
    { target = dev:target() }))))
  local out = dev:buffer(gi.array("i32", 1))
  local function launched(keep)
    module:launch { grid = 1, block = 1, args = { out }, keep_variables = keep }
    return out:read()[1]
  end
  tap.is(launched() .. " " .. launched(), "7 7", "a mutant finds what the code says")
  tap.is(launched(true) .. " " .. launched(true), "8 9", "a program finds what it left")
  tap.is(launched(false), 7, "and then a mutant again")
end)

local ADD = [[
extern "C" __global__ void add(float *x, float *seen) { seen[0] = x[0]; x[0] += 1; }
]]

tap.case("what is read and written begins every launch as it is kept", function()
  local dev = gi.device "emu"
  local module = assert(dev:load(assert(gi.compile(ADD, { target = dev:target() }))))
  local start = gi.array("f32", 4):fill(5)
  local x = dev:buffer(gi.array("f32", 4), { initial = start })
  local seen = dev:buffer(gi.array("f32", 1))
  local launch = { grid = 1, block = 1, args = { x, seen }, fill = { x } }
  for i = 1, 3 do
    module:launch(launch)
    tap.is(seen:read()[1] .. " " .. x:read()[1], "5.0 6.0", "launch " .. i .. " begins with it")
  end
  start:fill(9)
  module:launch(launch)
  tap.is(seen:read()[1], 5.0, "it is kept as it was when the buffer was made")
  x:sentinel()
  tap.is(x:read()[4], 5.0, "it stands in place of the sentinel")
  module:time { grid = 1, block = 1, args = { x, seen }, fill = { x } }
  tap.is(seen:read()[1], 5.0, "after timing the checked launch has it too")
  local other = dev:buffer(gi.array("f32", 4), { initial = gi.array("f32", 4):fill(2) })
  module:launch { grid = 1, block = 1, args = { other, seen }, fill = { other } }
  tap.is(seen:read()[1], 2.0, "each buffer has its own")
  tap.raises(function() dev:buffer(gi.array("f32", 4), { initial = gi.array("f32", 3) }) end,
    "an array of 12 bytes cannot be copied to one of 16", "another size is refused")
  tap.raises(function() dev:buffer(start, { initial = start, read_only = true }) end,
    "read-only", "and a buffer that is not written")
end)

tap.done()
