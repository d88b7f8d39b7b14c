--- NVIDIA L4, as the virtual GPU's cost model sees it.
-- Sources: [p] published by NVIDIA; [r] measured by D. Ernst and others, RRZE-HPC/gpu-benches on
-- GitHub, commit 1038c5d; [s] scaled as it says; what is not here, base/gpus.lua has.

return require("gilua.base.gpus").card("8.9", {
  name = "NVIDIA L4",
  clock_ghz = 2.04,             -- [p] boost; 72 W seldom allow it
  sms = 58,                     -- [p] 7 424 CUDA cores
  memory_bytes = 24e9,          -- [p]
  latency_l1 = 34,              -- [r] gpu-latency/l40.txt: the same generation
  latency_l2 = 274,             -- [r] L40
  latency_dram = 624,           -- [r] L40
  l2_bytes = 48 * 1024 * 1024,  -- [p]
  l2_bytes_per_clock = 1050,    -- [s] an L40's 5.23 TB/s (gpu-l2-cache/l40.txt), by megabytes of L2
  l2_store_bytes_per_clock = 730, -- [s] the same of gpu-l2-stream/l40.txt, init: 3.64 TB/s
  dram_bytes_per_clock = 144,   -- [s] 300 GB/s published, by what an L40 reaches of its 864
})
