--- NVIDIA GeForce RTX 4090, as the virtual GPU's cost model sees it.
-- Sources: [p] published by NVIDIA; [r] measured by D. Ernst and others, RRZE-HPC/gpu-benches on
-- GitHub, commit 1038c5d; [s] scaled as it says; what is not here, base/gpus.lua has.

return require("gilua.base.gpus").card("8.9", {
  name = "NVIDIA GeForce RTX 4090",
  clock_ghz = 2.52,             -- [p] boost
  sms = 128,                    -- [p] 16 384 CUDA cores
  memory_bytes = 24e9,          -- [p]
  latency_l1 = 34,              -- [r] gpu-latency/l40.txt: the same chip
  latency_l2 = 274,             -- [r] L40
  latency_dram = 624,           -- [r] L40
  l2_bytes = 72 * 1024 * 1024,  -- [p]
  l2_bytes_per_clock = 1575,    -- [s] an L40's 5.23 TB/s (gpu-l2-cache/l40.txt), by megabytes of L2
  l2_store_bytes_per_clock = 1095, -- [s] the same of gpu-l2-stream/l40.txt, init: 3.64 TB/s
  dram_bytes_per_clock = 392,   -- [s] 1008 GB/s published, by what an L40 reaches of its 864
})
