-- calibrate: `gilua calibrate FILE.lua --device cuda`: measures a GPU by microbenchmarks and writes
-- its cost model for --gpu FILE.lua (fields: src/emu/cost/cost.h).
--
-- It times every kernel with n rounds and with 2n; the difference is the time of n rounds without
-- the launch. Fields that it cannot measure come from NVIDIA's figures for the compute capability
-- or are scaled from an H200 (gilua.base.gpus). With --device emu it measures the virtual GPU,
-- whose numbers are known.

local answer = require "gilua.command.answer"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local gpus = require "gilua.base.gpus"
local luadata = require "gilua.base.luadata"

local FRAME = [[
extern "C" __global__ void k(int *x, float *y, int n, unsigned words) {
  __shared__ unsigned s[1024];
  const unsigned base = (unsigned)__cvta_generic_to_shared(s), lane = threadIdx.x & 31;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  for (int j = threadIdx.x; j < 1024; j += blockDim.x) s[j] = base + ((j * 129 + 13) & 1023) * 4;
  __syncthreads();
  unsigned long long p = (unsigned long long)x;
  unsigned q = base; float a[8]; unsigned u[8]; double d[8];
  for (int j = 0; j < 8; j++) a[j] = i * 0.001f + j, u[j] = i + j, d[j] = a[j];
  for (int r = 0; r < n; r++) {
    BODY
  }
  for (int j = 0; j < 8; j++) q += (int)a[j] + u[j] + (int)d[j] + lane;
  if (q + (unsigned)p == 123456789) y[i] = q;
}
extern "C" __global__ void cycle(int *x, unsigned lines) {
  for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < lines; k += gridDim.x * blockDim.x)
    *(int **)(x + k * 32ul) = x + ((k * 126705 + 13) & (lines - 1)) * 32ul;
}
]]

-- 32 instructions, on each of eight independent values in turn.
local function each(text)
  return "_Pragma(\"unroll\") for (int m = 0; m < 32; m++) { const int j = m & 7; (void)j; " .. text
    .. " }"
end

-- Every thread's share of the words, `step` words apart.
local function sweep(step, text)
  return ([[const unsigned last = words / %d;
    _Pragma("unroll 8") for (unsigned w = i; w < last; w += all) {
      const unsigned at = ((w + r * 7919u) & (last - 1)) * %du;
      %s }]]):format(step, step, text)
end

-- A step of a chase: every element holds the address of the next.
local function chase(how)
  return ('asm volatile("ld.%s.u64 %%0, [%%0];" : "+l"(p));'):format(how)
end

local STORE = 'asm volatile("st.global.cg.s32 [%0], %1;" :: "l"(x + at), "r"(r) : "memory");'
local WIDE_STORE = "__stcg((int4 *)(x + at), make_int4(r, r, r, r));"
local ATOMIC = 'asm volatile("red.global.add.s32 [%0], %1;" :: "l"(x + at), "r"(r) : "memory");'

-- field: what of the model it is. lanes: threads of a block; one block where there is one lane or
-- warp, else all that fit. bytes: of the table, by those of the L2 cache. rounds: at least, by the
-- table's lines. value(clocks of a round, geometry { warps (of an SM), words }).
local function latency(per) return function(clocks) return clocks / per end end
local function rate(clocks, g) return 32 * g.warps / clocks end
local function bandwidth(clocks, g) return g.words * 4 / clocks end
local function lines(clocks, g) return g.words / 32 / clocks end

-- A chase so often through its table that its first round, from DRAM, is little of it.
local function often(n_lines) return 8 * n_lines end

local ROWS = {
  { "latency_l1", chase "global.ca", 1, bytes = function() return 8192 end, value = latency(1),
    rounds = often },
  { "latency_l2", chase "global.cg", 1, bytes = function(l2) return l2 / 4 end,
    value = latency(1), rounds = often },
  { "latency_dram", chase "global.cg", 1, bytes = function(l2) return l2 * 8 end,
    value = latency(1), rounds = function(n) return n // 2 end },
  { "latency_shared",
    'asm volatile("ld.shared.u32 %0, [%0];" : "+r"(q));', 1, value = latency(1) },
  { "latency_alu", each "a[0] = a[0] * 1.0001f + 0.5f;", 32, value = latency(32) },
  { "latency_special", each 'asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(a[0]));', 32,
    value = latency(32) },
  { "latency_atomic",
    'asm volatile("atom.global.or.b64 %0, [%0], 0;" : "+l"(p));', 1, value = latency(1) },
  { "rate_fp32", each "a[j] = a[j] * 1.0001f + 0.5f;", value = rate },
  { "rate_fp64", each "d[j] = d[j] * 1.0001 + 0.5;", value = rate },
  { "rate_fp16", each 'asm("fma.rn.f16x2 %0, %0, %0, %0;" : "+r"(u[j]));', value = rate },
  { "rate_mul", each "u[j] = u[j] * u[j] + r;", value = rate },
  { "rate_special", each 'asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(a[j]));', value = rate },
  { "rate_shared", each "u[j] ^= ((volatile unsigned *)s)[lane + m * 32];", value = rate },
  { "rate_shuffle", each "u[j] = __shfl_xor_sync(~0u, u[j], 1);", value = rate },
  { "dram_bytes_per_clock", sweep(4, "q += __ldcg((int4 *)(x + at)).x;"),
    bytes = function(l2) return l2 * 8 end, value = bandwidth, rounds = 1 },
  { "dram_lines_per_clock", sweep(32, "q += __ldcg(x + at);"),
    bytes = function(l2) return l2 * 16 end, value = lines, rounds = 1 },
  { "l2_bytes_per_clock", sweep(4, "q += __ldcg((int4 *)(x + at)).x;"),
    bytes = function(l2) return l2 / 4 end, value = bandwidth },
  { "l2_lines_per_clock", sweep(32, "q += __ldcg(x + at);"),
    bytes = function(l2) return l2 / 4 end, value = lines },
  { "l2_store_bytes_per_clock", sweep(4, WIDE_STORE), bytes = function(l2) return l2 / 4 end,
    value = bandwidth },
  { "l2_store_lines_per_clock", sweep(32, STORE), bytes = function(l2) return l2 / 4 end,
    value = lines },
  { "atomics_per_clock", sweep(32, ATOMIC), bytes = function(l2) return l2 / 4 end,
    value = lines },
}

local LEAST_NS = 200000 -- of a measurement on a GPU: what a launch takes is little beside it
local MOST_ROUNDS = 1 << 22

-- The largest power of two that is no more.
local function power(bytes) return 1 << math.floor(math.log(bytes, 2)) end

-- Nanoseconds of one launch: the least of a few on a GPU.
local function ns_of(bench, module, launch)
  launch.kernel, launch.timeout_s, launch.budget = "k", 60, 1 << 40
  if bench.virtual then
    local m = module:launch(launch)
    if m.status ~= "ok" then fail("a microbenchmark does not run: %s", m.message or m.status) end
    return m.ns
  end
  launch.max_samples, launch.budget = 5, nil
  local m = module:time(launch)
  if m.status ~= "ok" then fail("a microbenchmark does not run: %s", m.message or m.status) end
  return m.median_ns or m.ns
end

-- Clocks of a round of one row, and its geometry.
local function measured(bench, row, words)
  local info, lanes = bench.info, row[3]
  local target = bench.dev:target()
  local code = assert(gi.compile((FRAME:gsub("BODY", function() return row[2] end)),
    { target = target, name = "k.cu" }))
  local module <close> = assert(bench.dev:load(code))
  local block = lanes or 256
  local blocks = lanes and 1 or info.sms * (bench.card.max_threads_per_sm // block)
  local x <close> = bench.dev:buffer(gi.array("i32", words))
  local y <close> = bench.dev:buffer(gi.array("f32", 1 << 20))
  local made = module:launch { kernel = "cycle", grid = 256, block = 256,
    args = { x, { "i32", math.max(1, words // 32) } } }
  if made.status ~= "ok" then fail("a table cannot be made: %s", made.message or made.status) end
  local function time(rounds)
    return ns_of(bench, module, { grid = blocks, block = block,
      args = { x, y, { "i32", rounds }, { "u32", words } } })
  end
  local rounds = type(row.rounds) == "function" and row.rounds(words // 32) or row.rounds or 64
  local first, second = time(rounds), time(2 * rounds)
  while not bench.virtual and second < LEAST_NS and rounds < MOST_ROUNDS do
    rounds = rounds * 4
    first, second = time(rounds), time(2 * rounds)
  end
  return (second - first) / rounds * info.clock_ghz,
    { warps = blocks * block / 32 / info.sms, words = words }
end

-- The compute capability, as gilua.base.gpus has it.
local function capability_of(info)
  return ("%d.%d"):format(info.compute // 10, info.compute % 10)
end

local function calibrated(o)
  local dev <close> = assert(gi.device(o.device))
  local info = dev:info()
  local capability = capability_of(info)
  local card = gpus.knows(capability) and gpus.card(capability, {})
    or fail("what compute capability %s means for the model is not known: gilua.base.gpus has no "
      .. "row for it", capability)
  local bench = { dev = dev, info = info, card = o.device == "emu" and gpus.model() or card,
    virtual = o.device:find "^emu" ~= nil }
  local known = { name = info.name, clock_ghz = info.clock_ghz, sms = info.sms,
    l2_bytes = info.l2_bytes, memory_bytes = info.memory_bytes > 0 and info.memory_bytes or nil }
  for _, row in ipairs(ROWS) do
    local bytes = power(row.bytes and row.bytes(info.l2_bytes) or 8192)
    local clocks, geometry = measured(bench, row, bytes // 4)
    known[row[1]] = row.value(clocks, geometry)
    answer.say(o, "%-26s %10.4g", row[1], known[row[1]])
  end
  return gpus.card(capability, known), known
end

local function text_of(model, known)
  local lines_of = { ("-- %s, by `gilua calibrate` of gilua %s."):format(model.name, gi.version),
    "-- [g] is measured; the rest is as lua/gilua/base/gpus.lua has it.", "return {" }
  for _, field in ipairs(gi.settings.keys(model)) do
    local value = model[field]
    if type(value) == "number" and math.type(value) ~= "integer" then
      value = tonumber(("%.5g"):format(value))
    end
    lines_of[#lines_of + 1] = ("  %s = %s,%s"):format(field, luadata.text(value),
      known[field] and " -- [g]" or "")
  end
  return table.concat(lines_of, "\n") .. "\n}\n"
end

return function()
  local o = gi.cli {
    takes = "device gpu quiet",
    doc = "Measures a GPU, and writes the model of it that --gpu FILE.lua takes.",
    positional = { { name = "file", doc = "the model, FILE.lua" } },
    answer.JSON,
  }
  return answer.given(o, function()
    if not o.file:find "%.lua$" then
      require("gilua.base.ends").with(2, "%s: the name of a model ends in .lua", o.file)
    end
    local model, known = calibrated(o)
    gi.textfile.write(o.file, text_of(model, known))
    answer.say(o, "%s is written: gilua evolve PROBLEM --gpu %s", o.file, o.file)
    return gi.json.object { { "file", o.file }, { "model", model } }
  end)
end
