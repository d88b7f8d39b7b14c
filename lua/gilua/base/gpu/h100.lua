--- NVIDIA H100 (SXM5, 80 GB), as the virtual GPU's cost model sees it: the chip of an H200.
-- Sources: [p] published by NVIDIA; [r] measured by D. Ernst and others, RRZE-HPC/gpu-benches on
-- GitHub, commit 1038c5d; [s] scaled as it says; what is not here, base/gpus.lua has.

return require("gilua.base.gpus").card("9.0", {
  name = "NVIDIA H100",
  memory_bytes = 80e9,          -- [p]
  latency_l1 = 32,              -- [r] gpu-latency/gh200.txt
  latency_l2 = 280,             -- [r]
  latency_dram = 688,           -- [r]
  dram_bytes_per_clock = 1610,  -- [s] 3.35 TB/s published, by what an H200 reaches of its 4.8
})
