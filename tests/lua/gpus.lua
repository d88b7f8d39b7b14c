-- gpus: every model of a GPU loads, has a sane number in each field, and no launch on it takes less
-- time than its bytes, instructions and launch do; files of people are read as data.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local gpus = require "gilua.base.gpus"
local h200 = require "gilua.base.gpu.h200"
local luadata = require "gilua.base.luadata"
local tap = require "tap"

local SOURCE = [[
extern "C" __global__ void copy(const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
extern "C" __global__ void chain(const float *x, float *y) {
  float a = x[threadIdx.x], b = a + 1, c = a + 2, d = a + 3;
  for (int j = 0; j < 64; j++) {
    a = a * 0.5f + 1; b = b * 0.5f + 1; c = c * 0.5f + 1; d = d * 0.5f + 1;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
extern "C" __global__ void doubles(const float *x, float *y) {
  double a = x[threadIdx.x], b = a + 1;
  for (int j = 0; j < 64; j++) { a = a * 0.5 + 1; b = b * 0.5 + 1; }
  y[blockIdx.x * blockDim.x + threadIdx.x] = (float)(a + b);
}
extern "C" __global__ void sum(const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(y + (i & 31), x[i]);
}]]
local N = 1 << 18
local code = assert(gi.compile(SOURCE, { target = "compute_80", name = "k.cu" }))

local function ticks_of(name)
  local dev <close> = assert(gi.device("emu", { model = name }))
  local module <close> = assert(dev:load(code))
  local x <close> = dev:buffer(gi.array("f32", N):fill(1))
  local y <close> = dev:buffer(gi.array("f32", N))
  local out = {}
  for _, kernel in ipairs { "copy", "chain", "doubles", "sum" } do
    out[kernel] = module:launch { kernel = kernel, grid = N // 256, block = 256, args = { x, y } }
    assert(out[kernel].status == "ok", out[kernel].message)
  end
  return out
end

local all = {}
for _, name in ipairs(gpus.NAMES) do
  tap.case(name, function()
    local model = assert(gpus.find(name), "there is no such file")
    for field, known in pairs(h200) do
      local value = model[field]
      tap.ok(type(value) == type(known) and (type(value) == "string" or value > 0), field)
    end
    local m = ticks_of(name)
    all[name] = { model = model, m = m }
    local bytes = 2 * 4 * N
    local least = model.launch_ticks + bytes / model.dram_bytes_per_clock
    tap.ok(m.copy.ticks >= least, "a copy takes as long as its bytes")
    local fma = 4 * 64 * N / 32 / model.sms / model.rate_fp32
    tap.ok(m.chain.ticks >= model.launch_ticks + fma, "arithmetic as long as its pipe")
    local fma64 = 2 * 64 * N / 32 / model.sms / model.rate_fp64
    tap.ok(m.doubles.ticks >= model.launch_ticks + fma64, "that of doubles, too")
    local atomics = N / 32 * model.clocks_atomic / 4 -- 32 words are 4 sectors of one line
    tap.ok(m.sum.ticks >= model.launch_ticks + atomics, "atomics one after the other")
  end)
end

tap.case("what GPUs differ in is seen", function()
  local function ns(name, kernel) -- beyond the launch
    local model = all[name].model
    return (all[name].m[kernel].ticks - model.launch_ticks) / model.clock_ghz
  end
  tap.ok(ns("l4", "copy") > 3 * ns("a100", "copy"), "GDDR6 of 300 GB/s against HBM2")
  tap.ok(ns("a6000", "doubles") > 5 * ns("a100", "doubles"), "two units for doubles against 32")
  tap.ok(ns("h100", "copy") > ns("h200", "copy"), "HBM3 against HBM3e")
end)

tap.case("names that are not there", function()
  local fine, why = pcall(gi.device, "emu", { model = "h900" })
  tap.ok(not fine and tostring(why):find("no such model is known; there are h200, h100, a100", 1,
    true), tostring(why))
  tap.ok(gpus.find "../gpu/h200" == nil, "a name is no path")
end)

local function file_with(change)
  local model = {}
  for field, value in pairs(h200) do model[field] = value end
  for field, value in pairs(change) do model[field] = value ~= "nothing" and value or nil end
  local path = os.tmpname() .. ".lua"
  gi.textfile.write(path, "return " .. luadata.text(model) .. "\n")
  return path
end

tap.case("a person's file", function()
  local path = file_with { name = "mine", sms = 7 }
  tap.ok(gpus.find(path).sms == 7, "its numbers count")
  for change, words in pairs { [{ sms = "nothing" }] = "has no number 'sms'",
    [{ smss = 3 }] = "a GPU has no field 'smss'", [{ sms = "many" }] = "has no number 'sms'" } do
    local fine, why = pcall(gpus.find, file_with(change))
    tap.ok(not fine and tostring(why):find(words, 1, true), words .. ": " .. tostring(why))
  end
  local code_path = os.tmpname() .. ".lua"
  gi.textfile.write(code_path, "return os.exit(1)\n")
  local fine, why = pcall(gpus.find, code_path)
  tap.ok(not fine and tostring(why):find("this is no model of a GPU", 1, true), "runs nothing: "
    .. tostring(why))
end)

tap.done()
