--- NVIDIA GeForce RTX 3090, as the virtual GPU's cost model sees it.
-- Sources: [p] published by NVIDIA; [r] measured by D. Ernst and others, RRZE-HPC/gpu-benches on
-- GitHub, commit 1038c5d; [s] scaled as it says; what is not here, base/gpus.lua has.

return require("gilua.base.gpus").card("8.6", {
  name = "NVIDIA GeForce RTX 3090",
  clock_ghz = 1.695,            -- [p] boost
  sms = 82,                     -- [p] 10 496 CUDA cores
  memory_bytes = 24e9,          -- [p]
  latency_l1 = 33,              -- [r] gpu-latency/a40.txt: the same chip
  latency_l2 = 250,             -- [r] A40
  latency_dram = 556,           -- [r] A40
  l2_bytes = 6 * 1024 * 1024,   -- [p]
  l2_bytes_per_clock = 1435,    -- [r] gpu-cache/a40.txt: 2.50 TB/s
  l2_store_bytes_per_clock = 955, -- [r] gpu-l2-stream/a40.txt, init: 1.66 TB/s
  dram_bytes_per_clock = 540,   -- [s] 936 GB/s published, by what an A40 reaches of its 696
})
