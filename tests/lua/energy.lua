-- energy: the virtual GPU's estimate of what a launch takes, term by term, and as an objective.

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local scratch = require "scratch"
local tap = require "tap"

local SOURCE = [[
extern "C" __global__ void twice(float *y, const float *x, int n, int rounds) {
  __shared__ float own[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  own[threadIdx.x] = x[i];
  for (int k = 0; k < rounds; k++) sum += own[(threadIdx.x + k) % 64];
  y[i] = sum;
}]]
local N = 1024

-- The H200's model with all terms of energy 0 but those given.
local function model(terms)
  local m = {}
  for name, value in pairs(require "gilua.base.gpu.h200") do
    local is_term = name:find "^energy_" or name == "power_idle_w"
    m[name] = is_term and (terms[name] or 0) or value
  end
  return m
end

local code

local function measured(terms, rounds)
  code = code or assert(gi.compile(SOURCE, { target = "compute_90" }))
  local device <close> = assert(core.device.open("emu", model(terms)))
  local x, y = core.array.new("f32", N), core.array.new("f32", N)
  x:fill(1)
  local module <close> = assert(device:load(code))
  local from <close> = assert(device:buffer(x, { read_only = true }))
  local to <close> = assert(device:buffer(y))
  local m = module:launch { kernel = "twice", grid = { N / 64 }, block = { 64 },
    args = { to, from, { "i32", N }, { "i32", rounds } } }
  tap.is(m.status, "ok", m.message or "it runs")
  return m
end

tap.case("each term of the estimate", function()
  local m = measured({ power_idle_w = 100 }, 8)
  tap.near(m.energy_j, 100 * m.ns * 1e-9, "power that is drawn anyway, for as long as it takes")
  tap.near(measured({ energy_dram_pj_byte = 10 }, 8).energy_j, 2 * 4 * N * 10e-12,
    "a byte from memory: each number is read once and written once")
  tap.near(measured({ energy_l2_pj_byte = 10 }, 8).energy_j, 2 * 4 * N * 10e-12,
    "a byte by way of the L2 cache: the same ones here")
  local short, long = measured({ energy_instruction_pj = 1 }, 8),
    measured({ energy_instruction_pj = 1 }, 800)
  tap.ok(short.energy_j > short.warp_instructions * 0.5e-12, "an instruction of a warp")
  tap.ok(long.energy_j > 20 * short.energy_j, "a hundred times the rounds take more")
  local wave = measured({ energy_wavefront_pj = 1 }, 808).energy_j
    - measured({ energy_wavefront_pj = 1 }, 8).energy_j
  tap.near(wave, 800 * (N / 32) * 1e-12, "a wavefront for each load of shared memory of a warp")
end)

tap.case("the model's own figures", function()
  local h200 = require "gilua.base.gpu.h200"
  local m = measured(h200, 800)
  tap.ok(m.energy_j > h200.power_idle_w * m.ns * 1e-9, "more than idling for as long")
  tap.is(m.energy_j, measured(h200, 800).energy_j, "the same of the same launch")
end)

tap.case("as an objective", function()
  local energy = gi.gevo.objectives.energy
  tap.is(energy({ energy_j = 1 }, { energy_j = 4 }), 0.25, "over the unmodified kernel's")
  tap.has(scratch.sentence(energy, {}, {}), "give gilua.farm energy = true",
    "where no energy is known that is said")
end)

tap.done()
