--- NVIDIA B200 (SXM, 180 GB), as the virtual GPU's cost model sees it. Its two dies are one here.
-- [c] Chips and Cheese, "Nvidia's B200: Keeping the CUDA Juggernaut Rolling" (2025).
-- Sources: [p] published by NVIDIA; [r] measured by D. Ernst and others, RRZE-HPC/gpu-benches on
-- GitHub, commit 1038c5d; [s] scaled as it says; what is not here, base/gpus.lua has.

return require("gilua.base.gpus").card("10.0", {
  name = "NVIDIA B200",
  clock_ghz = 1.965,            -- [c] boost
  sms = 148,                    -- [c]
  memory_bytes = 180e9,         -- [p]
  latency_l1 = 39,              -- [c] 19.6 ns
  latency_l2 = 295,             -- [c] 150 ns within a die
  l2_bytes = 126 * 1024 * 1024, -- [c]
  l2_bytes_per_clock = 4930,    -- [s] an H200's, by SMs
  dram_bytes_per_clock = 3880,  -- [s] 8 TB/s published, by what an H200 reaches of its 4.8
})
