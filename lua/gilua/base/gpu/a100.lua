--- NVIDIA A100 (40 GB, PCIe or SXM4), as the virtual GPU's cost model sees it.
-- Sources: [p] published by NVIDIA; [r] measured by D. Ernst and others, RRZE-HPC/gpu-benches on
-- GitHub, commit 1038c5d; [s] scaled as it says; what is not here, base/gpus.lua has.

return require("gilua.base.gpus").card("8.0", {
  name = "NVIDIA A100",
  clock_ghz = 1.41,             -- [p] boost
  sms = 108,                    -- [p]
  memory_bytes = 40e9,          -- [p]
  latency_l1 = 33,              -- [r] gpu-latency/a100_80.txt
  latency_l2 = 206,             -- [r] the nearer half of the L2 cache, up to 20 MB
  latency_dram = 552,           -- [r]
  l2_bytes = 40 * 1024 * 1024,  -- [p]
  l2_bytes_per_clock = 3850,    -- [r] gpu-l2-cache/a100_80.txt: 5.43 TB/s
  l2_store_bytes_per_clock = 2160, -- [r] gpu-l2-stream/a100_80.txt, init: 3.05 TB/s
  dram_bytes_per_clock = 1064,  -- [r] gpu-stream/a100_40.txt, read: 1.50 TB/s of 1.555 published
})
