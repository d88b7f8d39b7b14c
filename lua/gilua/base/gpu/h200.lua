--- NVIDIA H200 (SXM, 141 GB), as the virtual GPU's cost model sees it (src/emu/cost/cost.h says how
--- each field enters the formula). Sources:
---   [p] published by NVIDIA: H200 data sheet, Hopper architecture white paper, CUDA C programming
---       guide (compute capability 9.0: technical specifications, arithmetic throughput table;
---       results a clock and SM, divided by 32 lanes)
---   [m] measured on Hopper by microbenchmarks, rounded: Luo et al., "Benchmarking and Dissecting
---       the Nvidia Hopper GPU Architecture", arXiv 2402.13499; Chips and Cheese, July 2023
---   [g] measured on an H200 by tests/gpu/rates.lua
---   [a] assumed: a plausible figure nobody publishes; results should not hang on it
return {
  name = "NVIDIA H200",

  clock_ghz = 1.98,                 -- [p] boost; what an H200 reports under load
  sms = 132,                        -- [p]
  schedulers_per_sm = 4,            -- [p] one warp instruction a clock each
  max_threads_per_block = 1024,     -- [p]
  max_threads_per_sm = 2048,        -- [p] 64 warps
  max_blocks_per_sm = 32,           -- [p]
  registers_per_sm = 65536,         -- [p] of 32 bits
  register_unit = 256,              -- [p] given to warps by 256: 8 a thread
  max_registers_per_thread = 255,   -- [p]
  shared_per_sm = 233472,           -- [p] 228 KB
  shared_per_block = 232448,        -- [p] 227 KB, with opt-in
  shared_per_block_default = 49152, -- [p] 48 KB of static shared memory
  shared_unit = 1024,               -- [a] a block takes 1 KB for the system, and units of 128 bytes
  local_per_thread = 1024,          -- [p] of stack for recursion; cudaLimitStackSize changes it
  max_grid_x = 2147483647, max_grid_y = 65535, max_grid_z = 65535, -- [p]
  memory_bytes = 141e9,             -- [p] 141 GB

  -- warp instructions a clock and SM
  rate_fp32 = 4,                    -- [p] 128 results
  rate_fp64 = 2,                    -- [p] 64
  rate_fp16 = 4,                    -- [p] 256 results, two an instruction (f16x2)
  rate_int = 2,                     -- [p] 64: add, compare, logic, shift
  rate_mul = 2,                     -- [p] 64: 32-bit multiply-add
  rate_special = 0.5,               -- [p] 16: rcp, rsqrt, ex2, lg2, sin, cos
  rate_convert = 2,                 -- [p] 64; with 64-bit types 16 (cost.c charges four)
  rate_branch = 1,                  -- [a]
  rate_shared = 1,                  -- [p] 32 banks of 4 bytes: one wavefront of 128 bytes
  rate_global = 1,                  -- [m] 128 bytes from L1
  rate_texture = 0.25,              -- [g] a fetch without conflicts: cost.c has the others
  rate_constant = 0.5,              -- [g] distinct addresses of a load from constant memory
  rate_shuffle = 1,                 -- [p] 32
  rate_atomic = 0.25,               -- [a]
  rate_tensor = 2,                  -- [p] thousands of f16 multiply-adds: 2048, dense

  -- clocks until a dependent instruction can issue
  latency_alu = 4,                  -- [m]
  latency_mul = 4,                  -- [m] IMAD
  latency_fp64 = 8,                 -- [m] about
  latency_special = 18,             -- [a] MUFU, variable
  latency_shared = 29,              -- [m]
  latency_l1 = 38,                  -- [m] 33 to 41
  latency_l2 = 282,                 -- [g] a chase through 1 to 48 MB
  latency_dram = 688,               -- [g] a chase through 128 MB, L2 emptied before
  latency_texture = 90,             -- [a] a texture fetch that hits
  latency_constant = 26,            -- [a] ld.const that hits; operands from the bank are free
  latency_atomic = 279,             -- [g] performed in L2
  latency_barrier = 22,             -- [g] __syncthreads of one warp, and for each warp of a block:
  latency_barrier_warp = 2,         -- [g]
  latency_tensor = 33,              -- [a] mma.sync m16n8k16 of f16, about

  l2_bytes_per_clock = 4400,        -- [g] loads: 8.7 TB/s of whole lines,
  l2_lines_per_clock = 81,          -- [g] and of one sector each
  l2_store_bytes_per_clock = 2140,  -- [g] stores: of whole lines,
  l2_store_lines_per_clock = 27,    -- [g] and of one word each
  dram_bytes_per_clock = 2310,      -- [g] 4.57 TB/s of 4.8 published; whole lines,
  dram_lines_per_clock = 25,        -- [g] and of one sector each
  atomics_per_clock = 41,           -- [g] of global memory, on lines that differ
  clocks_atomic = 1.3,              -- [g] on a line, by sectors; by lanes three times
  latency_cas = 92,                 -- [g] a round of a float's addition in shared memory,
  latency_cas_wide = 112,           -- [g] of a double's
  clocks_cas = 60,                  -- [g] 44 to 72: one after the other on a word, all warps
  l2_bytes = 50 * 1024 * 1024,      -- [p] what one sees of 60 MB
  l1_bytes_per_sm = 262144,         -- [p] 256 KB with shared memory
  sector_bytes = 32,                -- [p]

  launch_ticks = 4000,              -- [m] an empty kernel takes about 2 microseconds
  block_ticks = 300,                -- [a] starting a block, until its first instruction
  clocks_local = 4,                 -- [g] of the L1, for 128 bytes of local memory
  block_start = 157,                -- [g] empty blocks: one each 0.6 ns on 132 SMs

  -- energy: an estimate (cost.h), not measured
  power_idle_w = 120,               -- [a] at full clocks, nothing running
  energy_instruction_pj = 400,      -- [a] of a warp: FMA at full rate would draw 400 W of 700
  energy_wavefront_pj = 150,        -- [a] 128 bytes of shared memory or L1
  energy_l2_pj_byte = 12,           -- [a] 65 W at its full rate
  energy_dram_pj_byte = 40,         -- [a] HBM3e: 190 W at its full rate
}
