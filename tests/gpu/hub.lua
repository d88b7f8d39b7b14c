-- hub: does the model of a GPU that one has not got put the settings of a kernel in the order of
-- that GPU's times? Judged by Kernel Tuner's brute-forced spaces, a checkout of
-- https://github.com/AutoTuningAssociation/benchmark_hub.
--
--   gilua tests/gpu/hub.lua --hub CHECKOUT --out DIR [--only convolution] [--most 200] [--seed 1]
--
-- No GPU is used. Of each space so many settings that ran are drawn; each is compiled (PTX is kept
-- in DIR) and run on a slice of the GPU: a few SMs, with their share of the L2 cache, of all rates
-- beyond the SM, and of the blocks. Loops over channels or k are shorter. Printed for each table:
-- Spearman's rank correlation of ticks and measured times; the same of the even and the odd ones of
-- the settings drawn (a model is fitted to even ones at most, and judged by odd ones); the regret,
-- time of the best by ticks over the best of those drawn; and rho of another real GPU's times. DIR
-- gets SPACE.GPU.csv: key, time, ticks, issue, memory, latency, registers.

local gi = require "gilua"
local gpus = require "gilua.base.gpus"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Ranks of ticks beside times of Kernel Tuner's benchmark hub.",
  { name = "hub", type = "string", doc = "a checkout of the hub" },
  { name = "only", type = "string", doc = "one space" },
  { name = "most", default = 200, min = 4, doc = "settings of a space" },
}
assert(options.hub and options.out, "--hub names a checkout, --out the folder of the results")

local SMS = 4 -- of a slice

local function text_of(path) return gi.textfile.read(options.hub .. "/" .. path, "a kernel") end

-- Thousands of words that are not all alike.
local function noise(kind, n)
  return gi.array(kind, n):fill(1)
end

local function shifts(n)
  local a, low, width = gi.array("f32", n), 1425.0, 0.1953125
  local high = low + (1536 - 1) * width
  for c = 0, n - 1 do -- of all 1536 channels, these many evenly
    local f = low + c * (1536 / n) * width
    a[c + 1] = 4148.808 * (1 / f ^ 2 - 1 / high ^ 2) / 0.00004096
  end
  return a
end

local CHANNELS, DEPTH = 64, 256

local SPACES = {
  { name = "convolution", tables = {
      { "a100", "cachefiles/convolution_milo/A100.json.gz" },
      { "a6000", "cachefiles/convolution_milo/A6000.json.gz" } },
    kernel = "convolution_kernel", takes = function(p) return p.use_shmem == 1 end,
    source = function() return text_of "kernels/convolution_milo.cu" end,
    block = function(p) return { p.block_size_x, p.block_size_y } end,
    grid = function(p)
      return 4096 / (p.block_size_x * p.tile_size_x), 4096 / (p.block_size_y * p.tile_size_y)
    end,
    args = function(dev)
      return { dev:buffer(noise("f32", 4096 * 4096)), dev:buffer(noise("f32", 4110 * 4110)),
        dev:buffer(noise("f32", 225)) }
    end },
  { name = "dedispersion", tables = {
      { "a100", "cachefiles/dedispersion_milo/A100.json.gz" },
      { "a6000", "cachefiles/dedispersion_milo/A6000.json.gz" } },
    kernel = "dedispersion_kernel",
    source = function()
      local header = text_of("kernels/dedisp_milo/dedispersion.h"):gsub("nr_channels 1536",
        "nr_channels " .. CHANNELS)
      return (text_of("kernels/dedisp_milo/dedispersion.cu"):gsub('#include "dedispersion.h"',
        function() return header end))
    end,
    block = function(p) return { p.block_size_x, p.block_size_y } end,
    grid = function(p)
      return 25000 / (p.block_size_x * p.tile_size_x), 2048 / (p.block_size_y * p.tile_size_y)
    end,
    args = function(dev)
      return { dev:buffer(noise("u8", 25650 * CHANNELS)), dev:buffer(noise("f32", 25000 * 2048)),
        dev:buffer(shifts(CHANNELS)) }
    end },
  { name = "gemm", tables = {
      { "rtx3090", "currently_unused/cachefiles/KernelTuner data/gemm/RTX_3090.json.gz" },
      { nil, "currently_unused/cachefiles/KernelTuner data/gemm/RTX_3060_laptop.json.gz" } },
    kernel = "Xgemm",
    source = function()
      local parts = { "#define GEMMK 0\n#define KREG 1\n",
        text_of "kernels/gemm_milo/cl_to_cuda.h" }
      for i, part in ipairs { "common", "xgemm_part1", "xgemm_part2", "xgemm_part3",
        "xgemm_part4" } do
        parts[i + 2] = text_of("kernels/gemm_milo/" .. part .. ".opencl")
      end
      return table.concat(parts, "\n")
    end,
    block = function(p) return { p.MDIMC, p.NDIMC } end,
    grid = function(p) return 4096 / p.MWG, 4096 / p.NWG end,
    args = function(dev)
      local n = 4096 * 4096
      return { { "i32", 4096 }, { "i32", 4096 }, { "i32", DEPTH }, { "f32", 1 }, { "f32", 1 },
        dev:buffer(noise("f32", 4096 * DEPTH)), dev:buffer(noise("f32", 4096 * DEPTH)),
        dev:buffer(noise("f32", n)), { "i32", 0 }, { "i32", 0 } }
    end },
}

--------------------------------------------------------------------------------------------------
-- Tables

-- The settings of a key, and the measured time of each that ran; names in the table's order.
local function read_table(path, takes)
  local full = ("%s/%s"):format(options.hub, path)
  if not lfs.attributes(full, "size") then return nil end
  local pipe <close> = io.popen("gzip -dc " .. gi.shell.word(full))
  local text, names, order, times = pipe:read "a", {}, {}, {}
  for name in text:match '"tune_params_keys": %[(.-)%]':gmatch '"(.-)"' do
    names[#names + 1] = name
  end
  for key, time in text:gmatch '"([%d,]+)": {[^{]-"time": ([%d.e+-]+),' do
    local p, i = {}, 0
    for value in key:gmatch "[^,]+" do
      i = i + 1
      p[names[i]] = tonumber(value)
    end
    if not takes or takes(p) then
      order[#order + 1], times[key] = { key = key, p = p }, tonumber(time)
    end
  end
  return { order = order, times = times }
end

--------------------------------------------------------------------------------------------------
-- Running

-- So many SMs of a GPU, with their share of all else.
local function slice(model)
  local part, share = {}, SMS / model.sms
  for field, value in pairs(model) do
    local shared = field:find "per_clock$" or field == "l2_bytes" or field == "block_start"
    part[field] = shared and value * share or value
  end
  part.sms = SMS
  return part
end

-- The blocks of a slice: as many waves as on the whole, side by side along x as far as they go.
local function grid_of(space, p, sms)
  local x, y = space.grid(p)
  x, y = math.ceil(x), math.ceil(y)
  local wanted = math.max(1, x * y * SMS / sms)
  local rows = math.max(1, math.min(y, math.floor(wanted / x + 0.5)))
  return { math.max(1, math.min(x, math.floor(wanted / rows + 0.5))), rows }
end

local function ptx_of(space, setting)
  local path = ("%s/%s_%s.ptx"):format(options.out, space.name, setting.key:gsub(",", "_"))
  local file = io.open(path)
  if file then
    local text = file:read "a"
    file:close()
    return text
  end
  local defines = { "#define kernel_tuner 1\n" }
  for name, value in pairs(setting.p) do
    defines[#defines + 1] = ("#define %s %d\n"):format(name, value)
  end
  table.sort(defines)
  local source = table.concat(defines) .. 'extern "C" {\n' .. space.text .. "\n}\n"
  local text, why = gi.compile(source, { target = "compute_80", name = "k.cu" })
  if not text then
    print(("# %s %s does not compile: %s"):format(space.name, setting.key, why))
    return nil
  end
  local out <close> = assert(io.open(path, "w"))
  out:write(text)
  return text
end

local function measure(space, model, drawn, times)
  local dev <close> = assert(gi.device("emu", { model = slice(model) }))
  local args, rows = space.args(dev), {}
  for _, setting in ipairs(drawn) do
    local ptx = ptx_of(space, setting)
    local module <close> = ptx and assert(dev:load(ptx))
    local m = module and module:launch { kernel = space.kernel, grid = grid_of(space, setting.p,
      model.sms), block = space.block(setting.p), args = args, budget = 1 << 40 }
    if m and m.status ~= "ok" then
      print(("# %s %s: %s: %s"):format(space.name, setting.key, m.status, m.message))
    elseif m then
      rows[#rows + 1] = { key = setting.key, time = times[setting.key], ticks = m.ticks, m = m }
    end
  end
  return rows
end

--------------------------------------------------------------------------------------------------
-- Telling

local function rho(rows, value, first, step)
  local x, y = {}, {}
  for i = first, #rows, step do
    x[#x + 1], y[#y + 1] = value(rows[i]), rows[i].time
  end
  return gi.stats.spearman(x, y)
end

local function regret(rows)
  local chosen, best = rows[1], rows[1]
  for _, row in ipairs(rows) do
    if row.ticks < chosen.ticks then chosen = row end
    if row.time < best.time then best = row end
  end
  return 100 * (chosen.time / best.time - 1)
end

local function write(space, name, rows)
  local file <close> = assert(io.open(("%s/%s.%s.csv"):format(options.out, space.name, name), "w"))
  file:write("key,time,ticks,issue,memory,latency,registers,occupancy\n")
  for _, row in ipairs(rows) do
    local m = row.m
    file:write(('"%s",%.5f,%.0f,%.0f,%.0f,%.0f,%d,%.3f\n'):format(row.key, row.time, row.ticks,
      m.part_issue, m.part_memory, m.part_latency, m.registers, m.occupancy))
  end
end

lfs.mkdir(options.out)
print "space         GPU      settings   rho   even    odd  regret  another real GPU"
for _, space in ipairs(SPACES) do
  if not options.only or options.only == space.name then
    local tables, drawn, rng = {}, {}, gi.rng(options.seed)
    for i, t in ipairs(space.tables) do tables[i] = read_table(t[2], space.takes) end
    local known = {}
    for _, setting in ipairs(tables[1] and tables[1].order or {}) do
      if not tables[2] or tables[2].times[setting.key] then known[#known + 1] = setting end
    end
    while #known > 0 and #drawn < options.most do
      drawn[#drawn + 1] = table.remove(known, rng:int(#known))
    end
    space.text = space.source()
    for i, t in ipairs(space.tables) do
      if t[1] and tables[i] and #drawn > 0 then
        local rows = measure(space, gpus.find(t[1]), drawn, tables[i].times)
        local other = tables[3 - i]
        write(space, t[1], rows)
        local function ticks(row) return row.ticks end
        print(("%-13s %-8s %8d %.3f  %.3f  %.3f %5.1f %%  %s"):format(space.name, t[1], #rows,
          rho(rows, ticks, 1, 1), rho(rows, ticks, 2, 2), rho(rows, ticks, 1, 2), regret(rows),
          other and ("%.3f"):format(rho(rows, function(row) return other.times[row.key] end, 1, 1))
          or "-"))
      end
    end
  end
end
