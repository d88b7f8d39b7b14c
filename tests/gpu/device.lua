--- The device "cuda" on a real GPU: memory and what guards it, variables, textures, faults, timing.
--
--   gilua tests/gpu/device.lua            every case; figures are printed as notes
--   gilua tests/gpu/device.lua --fault X  one fault, in a process of its own (used by the above)
--
-- What needs no GPU is in tests/lua/core_device.lua and tests/c/device_*.c.

local gi = require "gilua"
local core = require "gilua.core"
package.path = gi.home .. "/tests/lua/?.lua;tests/lua/?.lua;" .. package.path

-- A CUDA text as a module of the device, as machine code unless said.
local function load(dev, source, target, options)
  options = options or {}
  options.target = target or dev:target()
  return assert(dev:load(assert(gi.compile(source, options))))
end

-- --- faults: each leaves the process without a GPU ---------------------------------------------

local FAULTS = {
  illegal = { "*(volatile int *)16 = 1;", "illegal_address" },
  wild_read = { "out[0] = ((volatile int *)out)[(1ll << 40)];", "illegal_address" },
  misaligned = { "*(volatile int *)((char *)out + 1) = 1;", "misaligned" },
  trap = { "__trap();", "launch_error" },
  assertion = { "asm(\"trap;\");", "launch_error" },
  -- the GPU itself calls this an illegal instruction
  shared = { "extern __shared__ int s[]; out[0] = ((volatile int *)s)[out[0] << 20];",
             "launch_error" },
  endless = { "while (out[0] == 7) ((volatile int *)out)[1]++;", "timeout" },
  recursion = { "out[0] = deep(out[0] + 1000000);", "illegal_address" },
}
local FAULT_TEXT = [[
  __device__ __noinline__ int deep(int n) { volatile int pad[16]; pad[n & 15] = n;
    return n <= 0 ? 0 : deep(n - 1) + pad[n & 15]; }
  extern "C" __global__ void k(int *out) { %s }
]]

local function run_fault(name)
  local dev = assert(gi.device "cuda")
  local out = dev:buffer(gi.array("i32", 64):fill(7))
  local module = load(dev, FAULT_TEXT:format(FAULTS[name][1]))
  local m = module:launch { grid = 1, block = 1, args = { out }, timeout_s = 0.5 }
  local again, why, code = module:launch { grid = 1, block = 1, args = { out }, timeout_s = 0.5 }
  print(m.status, m.lost, again == nil and code, (tostring(m.message):gsub("\n", " ")))
  io.stdout:write((tostring(why):gsub("\n", " ")), "\n")
end

if arg[1] == "--fault" then
  run_fault(arg[2])
  os.exit(0, true)
end

local tap = require "tap"

tap.case("a fault is data, and says that the process has lost the GPU", function()
  local names = {}
  for name in pairs(FAULTS) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local start = core.system.seconds()
    local p = io.popen(("%s %s --fault %s 2>&1"):format(
      gi.shell.quoted(core.system.program()), gi.shell.quoted(arg[0]), name))
    local line, second = p:read("l") or "", p:read("l")
    local rest = p:read("a")
    local closed, how, exit_code = p:close()
    local status, lost, code, message = line:match("^(%S+)\t(%S+)\t(%S+)\t(.*)$")
    tap.is(status, FAULTS[name][2], name .. ": status")
    tap.is(lost, "true", name .. ": the device is lost")
    tap.is(code, "driver", name .. ": and refuses what comes next")
    tap.ok(closed, name .. ": and the process ends by itself")
    tap.note(("%s: %.2f s in all; %s | %s %s"):format(name, core.system.seconds() - start,
      message or line .. (second or "") .. rest, how, exit_code))
    if name == "endless" then tap.note(second or "") end
  end
end)

local before = core.system.seconds()
local dev = assert(gi.device "cuda")
tap.note(("open: %.3f s"):format(core.system.seconds() - before))
local emu = gi.device "emu"

tap.case("the device says what it is", function()
  local i = dev:info()
  tap.note(("%s, %s, compute %d, %d SMs, %.3f GHz, %.1f GB, L2 %.1f MB, driver %d"):format(i.name,
    i.uuid, i.compute, i.sms, i.clock_ghz, i.memory_bytes / 1e9, i.l2_bytes / 1e6, i.driver))
  tap.is(dev:name(), "cuda", "name")
  tap.is(dev:target(), "sm_" .. i.compute, "target")
  tap.ok(i.sms > 0 and i.l2_bytes > 0 and i.memory_bytes > 1e9 and #i.uuid == 36, "figures")
  local none, message, code = gi.device "cuda:63"
  tap.ok(none == nil and code == "nodevice", "no such GPU")
  tap.has(message, "cuda:63", "and it says so")
end)

-- --- launches ----------------------------------------------------------------------------------

local SCALE = [[
__constant__ float factor;
extern "C" __global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
]]

tap.case("a kernel runs: machine code, and PTX by the driver's compiler", function()
  for _, target in ipairs { dev:target(), "compute_75" } do
    local module = load(dev, SCALE, target)
    local x = gi.array("f32", 1000):fill(3)
    local buffer = dev:buffer(x)
    module:write("factor", { "f32", 2 })
    local m = module:launch { grid = 8, block = 128, args = { buffer, { "i32", 999 } } }
    tap.is(m.status, "ok", target .. ": it runs")
    tap.is(buffer:read()[999], 6.0, target .. ": the last element asked for")
    tap.is(buffer:read()[1000], 3.0, target .. ": the one behind it")
    tap.ok(m.ns > 0 and m.clock_ghz > 0.1 and m.registers > 0 and m.occupancy > 0,
      ("%s: %.0f ns at %.3f GHz, %d registers, occupancy %.2f"):format(target, m.ns, m.clock_ghz,
        m.registers, m.occupancy))
    tap.is(module:kernels()[1], "scale", target .. ": the module names its kernels")
    tap.is(table.concat(module:info("scale").params, " "), "8 4", target .. ": and arguments")
    tap.raises(function() module:launch { kernel = "scald", grid = 1, block = 1 } end, "scald",
      "no such kernel")
    local f = gi.array("f32", 1)
    tap.is(module:read("factor", f)[1], 2.0, target .. ": the constant is read back")
  end
end)

tap.case("code the driver cannot use is refused", function()
  local module, message, code = dev:load(".version 7.0\n.target sm_75\n.address_size 64\n"
    .. ".visible .entry k()\n{\n frobnicate.b32;\n ret;\n}\n")
  tap.ok(module == nil and code == "compile", "PTX that is none")
  tap.has(message, "frobnicate", "with the driver's words")
  module, message, code = dev:load("\127ELF nonsense")
  tap.ok(module == nil and code == "compile", "machine code that is none: " .. tostring(message))
end)

tap.case("a launch that is impossible is a launch error, and the device goes on", function()
  local module = load(dev, SCALE)
  local x = dev:buffer(gi.array("f32", 4))
  local m = module:launch { grid = 1, block = 1025, args = { x, { "i32", 4 } } }
  tap.is(m.status, "launch_error", "too many threads")
  tap.note(m.message)
  m = module:launch { grid = 1, block = 32, shared = 1 << 20, args = { x, { "i32", 4 } } }
  tap.is(m.status, "launch_error", "too much shared memory")
  m = module:launch { grid = 0, block = 32, args = { x, { "i32", 4 } } }
  tap.is(m.status, "launch_error", "no blocks")
  m = module:launch { grid = 1, block = 32, shared = 200 << 10, args = { x, { "i32", 4 } } }
  tap.is(m.status, "ok", "200 KiB of shared memory can be asked for")
  for _, cache in ipairs { "default", "shared", "l1", "equal" } do
    m = module:launch { grid = 1, block = 32, cache = cache, carveout = 50,
                        args = { x, { "i32", 4 } } }
    tap.is(m.status, "ok", "cache = " .. cache)
  end
  tap.is(m.lost, false, "nothing is lost")
  tap.raises(function() module:launch { grid = 1, block = 1, carveout = 101,
    args = { x, { "i32", 4 } } } end, "carveout", "a carve-out of 101 %")
end)

tap.case("memory that is not there", function()
  local text = "__device__ char big[1ull << %d]; extern \"C\" __global__ void k(char *o)"
    .. " { o[0] = big[threadIdx.x]; }"
  local code = gi.compile(text:format(38), { target = dev:target() })
  if code then
    local module, message, kind = dev:load(code)
    tap.ok(module == nil and (kind == "nomem" or kind == "compile"), tostring(kind) .. ": "
      .. tostring(message))
  end
  tap.ok(dev:intact(), "the device goes on")
end)

-- --- comparison --------------------------------------------------------------------------------

local function fill_random(a, rng, dtype)
  for i = 1, #a do
    local bits = rng:int(0, 1000000)
    a[i] = (dtype == "f32" or dtype == "f64") and bits / 1024 - 512
      or dtype:sub(1, 1) == "u" and bits or bits - (1 << 19)
  end
end

local function near_to(a, b)
  return a == b or a and b and math.abs(a - b) <= 1e-6 * math.abs(a)
end

--- A penalty that ignores what is expected somewhere, or nothing; of any finite answer or of few.
local function some_penalty(want, rng)
  local p = { unset = 200, outside = 100 }
  if rng:int(3) > 1 then p.ignore = want[rng:int(#want)] end
  if rng:int(3) > 1 then p.low, p.high = 0, 50 end
  return p
end

tap.case("comparison on the device says what gi.array.compare says", function()
  local rng = gi.rng(20260)
  for _, dtype in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64" } do
    for _, shape in ipairs { { 1, 1, 1 }, { 5000, 4, 3 }, { 12289, 1, 1 }, { 777, 3, 2 } } do
      local n, width, used = table.unpack(shape)
      local want = gi.array(dtype, n * width)
      fill_random(want, rng, dtype)
      local got = want:copy()
      for _ = 1, rng:int(0, 20) do
        local i = rng:int(#got)
        got[i] = rng:int(3) == 1 and 0 / 0 * (dtype:sub(1, 1) == "f" and 1 or 0) or got[i] + 3
      end
      if rng:int(2) == 1 then
        local mark = gi.array(dtype, 1):sentinel()
        got[rng:int(#got)] = mark[1]
      end
      local o = { width = width, used = used, limit = 1, max_error = rng:int(0, 2),
        rel_error = rng:int(0, 1) / 64 }
      if rng:int(3) > 1 then o.penalty = some_penalty(want, rng) end
      local here = gi.array.compare(got, want, o)
      local there = dev:buffer(got):compare(dev:buffer(want), o)
      local same = here.n == there.n and here.wrong == there.wrong and here.unset == there.unset
        and here.off == there.off and here.nan == there.nan
        and here.first_wrong == there.first_wrong and here.max_error == there.max_error
        and near_to(here.mean_error, there.mean_error) and here.counted == there.counted
        and near_to(here.penalty, there.penalty)
      tap.ok(same, ("%s, %d answers of %d (%d used)"):format(dtype, n, width, used))
      if not same then
        for k, v in pairs(here) do tap.note(("%s %s %s"):format(k, v, there[k])) end
      end
    end
    local b = dev:buffer(gi.array(dtype, 1001))
    b:sentinel()
    tap.is(b:read():hash(), gi.array(dtype, 1001):sentinel():hash(), dtype .. ": the sentinel")
    local fill = b:time_sentinel { min_samples = 10 }
    tap.is(fill.status == "ok" and fill.ns > 0 and #fill.samples >= 10, true, dtype .. ": timed")
  end
end)

-- --- trust -------------------------------------------------------------------------------------

local POKE = [[
extern "C" __global__ void poke(int *out, long long offset, int value) { out[offset] = value; }
]]

tap.case("writes outside a buffer and into inputs are found and undone", function()
  local module = load(dev, POKE)
  local out = dev:buffer(gi.array("i32", 1001), { label = "out" })
  local input = dev:buffer(gi.array("i32", 99):fill(5), { read_only = true, label = "control" })
  local line = dev:texture(gi.array.from { 10, 20, 30 })
  local function poke(buffer, offset)
    return module:launch { grid = 1, block = 1,
                           args = { buffer, { "i64", offset }, { "i32", 77 } } }.status
  end
  tap.is(poke(out, 1000), "ok", "the last element")
  tap.is(dev:intact(), true, "is no damage")
  for _, c in ipairs { { out, 1001, "past the end of 'out'" },
                       { out, -1, "before the start of 'out'" },
                       { out, 1001 + 2000, "past the end of 'out'" },
                       { input, 98, "into 'control'" }, { input, 0, "into 'control'" },
                       { input, 99, "past the end of 'control'" } } do
    tap.is(poke(c[1], c[2]), "ok", "a write that the GPU lets pass")
    local ok, what, code = dev:intact()
    tap.ok(ok == nil and code == "touched", "is found")
    tap.has(what, c[3], "and named")
    tap.is(dev:intact(), true, "and undone")
  end
  tap.is(input:read()[99], 5, "contents are restored")
  input:write(gi.array("i32", 99):fill(6))
  tap.is(dev:intact(), true, "the host may write to a read-only buffer")
  poke(input, 50)
  dev:intact()
  tap.is(input:read()[51], 6, "and that is what it is restored to")
  line:close()
end)

local COUNTER = [[
__device__ int calls, table[3] = { 1, 2, 3 };
%s
extern "C" __global__ void k(int *out)
{
    %s
    out[0] = calls++;
    out[1] = table[1];
    out[2] = hidden;
    table[1] += 10;
    hidden += 100;
}
]]
local HIDDEN = {
  global = { "__device__ int hidden = 7;", "" },
  ["static"] = { "static __device__ int hidden = 7;", "" },
  anonymous = { "namespace { __device__ int hidden = 7; }", "" },
  ["function's static"] = { "", "static __device__ int hidden = 7;" },
}

tap.case("device variables are what the code or the host says before every launch", function()
  for name, parts in pairs(HIDDEN) do
    for _, target in ipairs { dev:target(), "compute_75" } do
      local source = COUNTER:format(parts[1], parts[2])
      local code = gi.compile(source, { target = target })
      if code then
        local module = assert(dev:load(code))
        local out = dev:buffer(gi.array("i32", 3))
        local launch = { grid = 1, block = 1, args = { out } }
        local function seen() return table.concat(out:read():table(), " ") end
        local what = name .. ", " .. target
        module:launch(launch)
        tap.is(seen(), "0 2 7", what .. ": the first launch")
        local start = core.system.seconds()
        module:launch(launch)
        tap.note(("%s: a launch takes %.0f us of the host"):format(what,
          (core.system.seconds() - start) * 1e6))
        tap.is(seen(), "0 2 7", what .. ": the second")
        module:write("calls", { "i32", 40 })
        module:time { grid = 1, block = 1, args = { out } }
        tap.is(seen(), "40 2 7", what .. ": after the host's write, and timing")
        module:reset():launch(launch)
        tap.is(seen(), "0 2 7", what .. ": after reset")
        module:close()
      else
        tap.note(name .. " does not compile")
      end
    end
  end
  tap.is(dev:intact(), true, "nothing else was touched")
end)

tap.case("outputs hold the sentinel before every launch", function()
  local module = load(dev,
    "extern \"C\" __global__ void k(float *o) { if (o[1] != o[1]) o[0] = 1; }")
  local out = dev:buffer(gi.array("f32", 4):fill(9))
  module:launch { grid = 1, block = 1, args = { out }, fill = { out } }
  tap.is(out:read()[1], 1.0, "the kernel sees a NaN")
  tap.ok(out:read()[3] ~= out:read()[3], "what it does not write is unset")
end)

local ADD = [[
extern "C" __global__ void add(float *x, float *seen) { seen[0] = x[0]; x[0] += 1; }
]]

tap.case("what is read and written begins every launch as it is kept", function()
  local module = load(dev, ADD)
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

-- --- textures ----------------------------------------------------------------------------------

local TEX = [[
template <class T> __device__ void put(float *o, T v);
template <> __device__ void put(float *o, float v) { o[0] = v; }
template <> __device__ void put(float *o, float4 v)
{
    o[0] = v.x, o[1] = v.y, o[2] = v.z, o[3] = v.w;
}
template <> __device__ void put(float *o, int v) { o[0] = v; }
template <> __device__ void put(float *o, unsigned v) { o[0] = v; }
extern "C" __global__ void k(float *out, cudaTextureObject_t t, float low, float step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = low + step * i, y = low + step * ((i * 7) %% n), z = low + step * ((i * 11) %% n);
    (void)y, (void)z;
    put<%s>(out + 4 * i, %s);
}
]]

local function texture_values(device, c, code)
  local module = assert(device:load(code))
  local out = device:buffer(gi.array("f32", 4 * 256))
  local t = device:texture(c.array, c.how)
  local m = module:launch { grid = 2, block = 128, args = { out, t, { "f32", c.low },
    { "f32", c.step }, { "i32", 256 } } }
  tap.is(m.status, "ok", c.name)
  return out:read()
end

local function texture_case(c)
  local text = TEX:format(c.type, c.fetch)
  local a = texture_values(emu, c, assert(gi.compile(text, { target = emu:target() })))
  local b = texture_values(dev, c, assert(gi.compile(text, { target = dev:target() })))
  local worst, at = 0, 0
  for i = 1, #a do
    local d = math.abs(a[i] - b[i])
    if d > worst or d ~= d then worst, at = d == d and d or math.huge, i end
  end
  tap.ok(worst <= (c.within or 0), ("%s: largest difference %g"):format(c.name, worst))
  if worst > (c.within or 0) then
    tap.note(("value %d: emu %g, cuda %g"):format(at, a[at], b[at]))
  end
end

tap.case("textures give what the virtual GPU's give", function()
  local rng = gi.rng(7)
  local function random(dtype, n)
    local a = gi.array(dtype, n)
    for i = 1, n do
      local signed = dtype:sub(1, 1) == "i"
      a[i] = dtype == "f32" and rng:int(0, 999) or rng:int(0, 199) - (signed and 100 or 0)
    end
    return a
  end
  for _, kind in ipairs { { "f32", 1, "float" }, { "f32", 4, "float4" }, { "i32", 1, "int" },
                          { "u8", 1, "unsigned" }, { "i16", 1, "int" } } do
    local dtype, channels, type = table.unpack(kind)
    texture_case { name = ("linear %s x %d"):format(dtype, channels), type = type,
      array = random(dtype, 200 * channels), how = { channels = channels }, low = -20, step = 1,
      fetch = ("tex1Dfetch<%s>(t, (int)x)"):format(type) }
  end
  texture_case { name = "linear u8 read as normalised", type = "float", array = random("u8", 100),
    how = { read = "normalized" }, low = -5, step = 0.5, fetch = "tex1Dfetch<float>(t, (int)x)",
    within = 1e-7 }
  for _, address in ipairs { "wrap", "clamp", "mirror", "border" } do
    for _, coords in ipairs { "texel", "normalized" } do
      for _, filter in ipairs { "point", "linear" } do
        local how = { kind = "array", size = { 8, 6 }, address = address, coords = coords,
                      filter = filter, border = 3 }
        local unit = coords == "texel"
        texture_case { name = table.concat({ "2-D", address, coords, filter }, " "), type = "float",
          array = random("f32", 48), how = how, low = unit and -4 or -1.3,
          step = unit and 0.13 or 0.017, fetch = "tex2D<float>(t, x, y)",
          within = filter == "linear" and 4 or 0 }
      end
    end
  end
  texture_case { name = "1-D", type = "float", array = random("f32", 16),
    how = { kind = "array", size = { 16 }, address = "clamp" }, low = -2, step = 0.08,
    fetch = "tex1D<float>(t, x)" }
  texture_case { name = "3-D", type = "float4", array = random("f32", 4 * 60),
    how = { kind = "array", size = { 5, 4, 3 }, channels = 4, address = "clamp" }, low = -1,
    step = 0.03, fetch = "tex3D<float4>(t, x, y, z)" }
  texture_case { name = "1-D layered", type = "float", array = random("f32", 32),
    how = { kind = "array", size = { 8 }, layers = 4, address = "clamp" }, low = -1, step = 0.04,
    fetch = "tex1DLayered<float>(t, x, i % 4)" }
  texture_case { name = "2-D layered", type = "float", array = random("f32", 96),
    how = { kind = "array", size = { 8, 4 }, layers = 3, address = "clamp" }, low = -1, step = 0.04,
    fetch = "tex2DLayered<float>(t, x, y, i % 3)" }
  texture_case { name = "u8, normalised, linear", type = "float", array = random("u8", 48),
    how = { kind = "array", size = { 8, 6 }, read = "normalized", filter = "linear",
            address = "clamp" }, low = -1, step = 0.04, fetch = "tex2D<float>(t, x, y)",
    within = 0.01 }
  texture_case { name = "i32, elements, border", type = "int", array = random("i32", 48),
    how = { kind = "array", size = { 8, 6 }, address = "border" }, low = -1, step = 0.04,
    fetch = "tex2D<int>(t, x, y)" }
end)

-- --- timing ------------------------------------------------------------------------------------

local WORK = [[
__device__ unsigned long long *gilua_spans;
struct Record {
    unsigned long long start; unsigned sm; int block;
    __device__ Record() {
        asm volatile("mov.u32 %%0, %%%%smid;" : "=r"(sm));
        block = blockIdx.x; start = clock64();
    }
    __device__ ~Record() {
        __syncthreads();
        if (gilua_spans && threadIdx.x == 0) {
            gilua_spans[3 * block] = start;
            gilua_spans[3 * block + 1] = clock64();
            gilua_spans[3 * block + 2] = sm;
        }
    }
};
extern "C" __global__ void work(float *out, int turns)
{
    %s
    float x = threadIdx.x;
    for (int i = 0; i < turns; i++) x = x * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
]]

tap.case("timing is stable, and its clock is the papers' clock", function()
  local out = dev:buffer(gi.array("f32", 132 * 8 * 256))
  local plain, recorded = load(dev, WORK:format("")), load(dev, WORK:format("Record record;"))
  local function launch(turns)
    return { kernel = "work", grid = 132 * 8, block = 256, args = { out, { "i32", turns } },
             fill = { out } }
  end
  local function timed(turns, more)
    local l = launch(turns)
    for k, v in pairs(more or {}) do l[k] = v end
    return plain:time(l)
  end
  for _, turns in ipairs { 1, 1000, 10000, 200000 } do
    local low, high = math.huge, 0
    local m, seconds
    for _ = 1, 10 do
      local start = core.system.seconds()
      m = timed(turns)
      seconds = core.system.seconds() - start
      low, high = math.min(low, m.median_ns), math.max(high, m.median_ns)
    end
    tap.is(m.status, "ok", "timed")
    tap.ok(turns == 1 or high / low < 1.02, ("%d turns: %.1f to %.1f us, spread %.2f %%"):format(
      turns, low / 1e3, high / 1e3, (high / low - 1) * 100))
    tap.note(("%d samples, %d dropped, rel_error %.4f, clock %.3f, capped %s, %.2f ms of the host")
      :format(#m.samples, m.dropped, m.rel_error, m.clock_ghz, tostring(m.capped), seconds * 1e3))
    local s = recorded:spans(launch(turns))
    tap.note(("spans: %.1f us, %d ticks, %d blocks on %d SMs; events of it %.1f us"):format(
      s.span_ns / 1e3, s.span_ticks // 1, s.span_blocks, s.span_sms, s.ns / 1e3))
    tap.ok(turns < 10000 or math.abs(s.span_ns / s.ns - 1) < 0.15, "events and spans agree")
  end
  local m = timed(10000, { stop_above_ns = 1000 })
  tap.ok(m.slow and #m.samples == 3, "a slow candidate stops after three samples")
  m = timed(10000, { flush_l2 = true })
  tap.note(("with the L2 flushed: %.1f us, %d samples"):format(m.median_ns / 1e3, #m.samples))
  m = timed(10000, { max_samples = 10, rel_error = 1e-9 })
  tap.ok(#m.samples == 10, "no more samples than allowed")
  local p = plain:pair { a = launch(10000), b = launch(11000), pairs = 41 }
  table.sort(p.a)
  table.sort(p.b)
  tap.ok(math.abs(p.b[21] / p.a[21] - 1.1) < 0.03, ("pairs: 10 %% more work is %.2f %% more time")
    :format((p.b[21] / p.a[21] - 1) * 100))
  tap.is(dev:intact(), true, "nothing was touched")
end)

tap.case("code that is loaded anew before each launch is timed as other code is", function()
  local text = [[
%s __device__ int hidden;
__device__ int shown;
extern "C" __global__ void work(float *out, int turns)
{
    float x = threadIdx.x + shown;
    for (int i = 0; i < turns; i++) x = x * 1.0001f + 0.5f;
    if (x < 0) hidden = 1;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + hidden;
}
]]
  local out = dev:buffer(gi.array("f32", 132 * 256))
  local launch = { grid = 132, block = 256, args = { out, { "i32", 5000 } }, fill = { out } }
  local median = {}
  for _, kind in ipairs { "", "static" } do
    local module = load(dev, text:format(kind))
    module:write("shown", { "i32", 1 })
    local start = core.system.seconds()
    local p = module:pair { a = launch, b = launch, pairs = 20 }
    local seconds = core.system.seconds() - start
    tap.ok(seconds < 0.4, ("%s variable: 20 pairs in %.3f s"):format(kind, seconds))
    table.sort(p.a)
    median[kind] = p.a[10]
    tap.note(("%s: %.2f us in pairs, %.2f alone"):format(kind, p.a[10] / 1e3,
      module:time(launch).median_ns / 1e3))
  end
  tap.ok(math.abs(median.static / median[""] - 1) < 0.05, "one takes what the other takes")
end)

-- --- a real kernel -----------------------------------------------------------------------------

local function must(v, message) return v == nil and error(message) or v end

tap.case("NiftyReg's kernel gives the reference's answers", function()
  local problem = gi.problem "kernels/niftyreg"
  local case = must(problem:case { seed = 1, side = 217 })
  local values = problem:values()
  local launch = problem:launch(case, values)
  local function stopwatch(what, f)
    local start = core.system.seconds()
    local a, b, c = f()
    tap.note(("%-32s %8.3f ms"):format(what, (core.system.seconds() - start) * 1e3))
    return a, b, c
  end
  local code = assert(gi.compile(problem.grammar:apply(""), { target = dev:target() }))
  local module = stopwatch("load", function() return assert(dev:load(code)) end)
  stopwatch("close", function() module:close() end)
  module = stopwatch("load again", function() return assert(dev:load(code)) end)
  local textures = stopwatch("textures", function()
    local all = {}
    for name, d in pairs(launch.textures) do
      all[name] = assert(dev:texture(d.array, { kind = d.kind, channels = d.channels }))
    end
    return all
  end)
  stopwatch("constants", function()
    for name, v in pairs(launch.constants) do
      if type(v) == "table" and v.texture then v = textures[v.texture] end
      module:write(name, v)
    end
  end)
  local out = stopwatch("output buffer", function() return assert(dev:buffer(case.output)) end)
  local expected = stopwatch("expected buffer", function()
    return assert(dev:buffer(case.expected, { read_only = true }))
  end)
  local l = { kernel = problem.kernel, grid = launch.grid, block = launch.block,
              shared = launch.shared, args = { out }, fill = { out }, timeout_s = 2 }
  local m
  for i = 1, 3 do m = stopwatch("launch " .. i, function() return module:launch(l) end) end
  tap.is(m.status, "ok", "it runs")
  tap.note(("%d answers, %.1f us, %d registers, occupancy %.2f"):format(case.answers, m.ns / 1e3,
    m.registers, m.occupancy))
  local c
  for i = 1, 3 do
    c = stopwatch("compare " .. i, function() return out:compare(expected, case.compare) end)
  end
  tap.ok(c.wrong == 0 and c.unset == 0 and c.max_error < 0.001,
    ("largest error %g"):format(c.max_error))
  local here = gi.array.compare(out:read(), case.expected, case.compare)
  tap.ok(here.max_error == c.max_error and math.abs(here.mean_error / c.mean_error - 1) < 1e-6,
    "the host's comparison agrees")
  for i = 1, 3 do stopwatch("sentinel " .. i, function() return out:sentinel() end) end
  for i = 1, 3 do stopwatch("intact " .. i, function() return assert(dev:intact()) end) end
  stopwatch("read", function() return out:read() end)
  for i = 1, 3 do
    local more = { min_samples = 10, max_samples = 10 }
    for k, v in pairs(l) do more[k] = v end
    m = stopwatch("time, 10 samples, " .. i, function() return module:time(more) end)
    tap.note(("%.2f us, rel_error %.4f, %d dropped, %.3f GHz"):format(m.median_ns / 1e3,
      m.rel_error, m.dropped, m.clock_ghz))
  end
  local low, high = math.huge, 0
  for _ = 1, 20 do
    m = module:time(l)
    low, high = math.min(low, m.median_ns), math.max(high, m.median_ns)
  end
  tap.note(("20 timings: %.2f to %.2f us (%.2f %%), last with %d samples"):format(low / 1e3,
    high / 1e3, (high / low - 1) * 100, #m.samples))
  local flushed = { flush_l2 = true }
  for k, v in pairs(l) do flushed[k] = v end
  m = module:time(flushed)
  tap.note(("L2 flushed: %.2f us, %d samples"):format(m.median_ns / 1e3, #m.samples))
  tap.is(dev:intact(), true, "nothing was touched")
  local start = core.system.seconds()
  for _ = 1, 300 do
    local mod = dev:load(code)
    mod:close()
  end
  tap.note(("300 loads: %.1f ms"):format((core.system.seconds() - start) * 1e3))
end)

tap.done()
