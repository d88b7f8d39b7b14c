/* emu_model.h - a GPU of round numbers: what tests assert must not depend on a real one. */
#ifndef GILUA_TESTS_EMU_MODEL_H
#define GILUA_TESTS_EMU_MODEL_H

#include "emu/emu.h"

static inline EmuModel emu_model_round(void) {
    return (EmuModel){
        .name = "round", .clock_ghz = 1, .sms = 10, .schedulers_per_sm = 4,
        .max_threads_per_block = 1024, .max_threads_per_sm = 2048, .max_blocks_per_sm = 32,
        .registers_per_sm = 65536, .register_unit = 256, .max_registers_per_thread = 255,
        .shared_per_sm = 200000, .shared_per_block = 100000, .shared_per_block_default = 48 * 1024,
        .shared_unit = 128, .local_per_thread = 16384,
        .max_grid_x = 2147483647, .max_grid_y = 65535, .max_grid_z = 65535,
        .rate_fp32 = 4, .rate_fp64 = 2, .rate_fp16 = 4, .rate_int = 2, .rate_mul = 2,
        .rate_special = 0.5, .rate_convert = 0.5, .rate_branch = 1, .rate_shared = 1,
        .rate_global = 1, .rate_texture = 1, .rate_constant = 1, .rate_shuffle = 1,
        .rate_atomic = 0.25, .rate_tensor = 1, .latency_tensor = 30,
        .latency_alu = 4, .latency_mul = 5, .latency_fp64 = 8, .latency_special = 20,
        .latency_shared = 30, .latency_l1 = 40, .latency_l2 = 200, .latency_dram = 500,
        .latency_texture = 80, .latency_constant = 20, .latency_atomic = 200, .latency_barrier = 20,
        .l2_bytes_per_clock = 2000, .dram_bytes_per_clock = 1000, .l2_bytes = 50e6,
        .l1_bytes_per_sm = 250000, .sector_bytes = 32, .launch_ticks = 1000, .block_ticks = 100,
        .latency_barrier_warp = 1, .l2_lines_per_clock = 50, .l2_store_bytes_per_clock = 1000,
        .l2_store_lines_per_clock = 20, .atomics_per_clock = 30, .clocks_atomic = 4,
        .latency_cas = 90, .latency_cas_wide = 110, .clocks_cas = 60, .clocks_local = 2,
        .block_start = 150, .dram_lines_per_clock = 12};
}

#endif
