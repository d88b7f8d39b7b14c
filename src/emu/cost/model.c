/* model.c - the fields of an EmuModel by name. See emu.h and cost.h. */
#include "emu/emu.h"

#include <string.h>

#define EMU_MODEL_FIELDS(F)                                                                      \
    F(clock_ghz) F(sms) F(schedulers_per_sm) F(max_threads_per_block) F(max_threads_per_sm)      \
    F(max_blocks_per_sm) F(registers_per_sm) F(register_unit) F(max_registers_per_thread)        \
    F(shared_per_sm) F(shared_per_block) F(shared_per_block_default) F(shared_unit)              \
    F(local_per_thread) F(max_grid_x) F(max_grid_y) F(max_grid_z) F(memory_bytes)                \
    F(rate_fp32) F(rate_fp64) F(rate_fp16) F(rate_int) F(rate_mul) F(rate_special)               \
    F(rate_convert) F(rate_branch) F(rate_shared) F(rate_global) F(rate_texture)                 \
    F(rate_constant) F(rate_shuffle) F(rate_atomic) F(rate_tensor)                               \
    F(latency_alu) F(latency_mul) F(latency_fp64)                                                \
    F(latency_special) F(latency_shared) F(latency_l1) F(latency_l2) F(latency_dram)             \
    F(latency_texture) F(latency_constant) F(latency_atomic) F(latency_barrier)             \
    F(latency_barrier_warp) F(latency_tensor)                                                    \
    F(l2_bytes_per_clock) F(l2_lines_per_clock) F(l2_store_bytes_per_clock)                      \
    F(l2_store_lines_per_clock) F(atomics_per_clock) F(clocks_atomic) F(latency_cas)             \
    F(latency_cas_wide) F(clocks_cas) F(clocks_local) F(block_start)                    \
    F(dram_bytes_per_clock) F(dram_lines_per_clock) F(l2_bytes) F(l1_bytes_per_sm)                 \
    F(sector_bytes) F(launch_ticks) F(block_ticks)                                              \
    F(power_idle_w) F(energy_instruction_pj) F(energy_wavefront_pj) F(energy_l2_pj_byte)         \
    F(energy_dram_pj_byte)

static const char *const field_names[] = {
#define F(field) #field,
    EMU_MODEL_FIELDS(F)
#undef F
    NULL};

static const size_t field_offsets[] = {
#define F(field) offsetof(EmuModel, field),
    EMU_MODEL_FIELDS(F)
#undef F
};

static const double *field_at(const EmuModel *model, const char *field) {
    for (size_t i = 0; field_names[i]; i++)
        if (strcmp(field_names[i], field) == 0)
            return (const double *)(const void *)((const char *)model + field_offsets[i]);
    if (strcmp(field, "matrix_capability") == 0) return &model->matrix_capability;
    return strcmp(field, "approximation") == 0 ? &model->approximation : NULL;
}

bool emu_model_set(EmuModel *model, const char *field, double value) {
    double *at = (double *)(uintptr_t)field_at(model, field);
    if (at == NULL) return false;
    *at = value;
    return true;
}

bool emu_model_get(const EmuModel *model, const char *field, double *value) {
    const double *at = field_at(model, field);
    if (at == NULL) return false;
    *value = *at;
    return true;
}

const char *const *emu_model_fields(void) {
    return field_names;
}

const char *emu_status_name(EmuStatus s) {
    static const char *const names[] = {"ok",      "launch_error", "illegal_address", "misaligned",
                                        "timeout", "race",         "out_of_memory",   "aborted"};
    return (size_t)s < sizeof names / sizeof *names ? names[s] : "unknown";
}
