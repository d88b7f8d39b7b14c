/* emu_speed.c - a benchmark, not a test: how fast the virtual GPU runs the NiftyReg kernel on a
** case of the brain's size (an ellipsoid of about 1.74 million voxels in 181 x 217 x 181).
**
** emu_speed [KERNEL.cu [THREADS]]   compiles with NVRTC; prints nanoseconds a warp instruction,
**                         thousand million lane instructions a second, seconds for the whole case.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/compile.h"
#include "emu/emu.h"
#include "emu_model.h"

enum { NX = 181, NY = 217, NZ = 181, STEP = 5 };

static int32_t *list_groups(int *n) {
    int32_t *list = malloc(sizeof(int32_t) * NX * (NY / STEP + 1) * (NZ / STEP + 1));
    *n = 0;
    for (int z = 0; z < NZ; z += STEP)
        for (int y = 0; y < NY; y += STEP)
            for (int x = 0; x < NX; x++) {
                double u = (x - 90) / 70.0, v = (y + 2 - 108) / 84.0, w = (z + 2 - 90) / 70.0;
                if (u * u + v * v + w * w < 1) list[(*n)++] = x + NX * (y + NY * z);
            }
    return list;
}

static bool compile_kernel(const char *path, gi_buf *ptx) {
    gi_err err;
    gi_buf source = {0};
    CompileResult result = {0};
    CompileOptions options = {.target = "ptx", .line_info = true};
    Compiler *c = compile_open(&err);
    if (!c || !gi_read_file(path, &source, &err) ||
        !compile_one(c, source.data, source.len, "kernel.cu", &options, &result, &err)) {
        printf("# %s\n", err.message);
        return false;
    }
    if (!result.ok) printf("# %s\n", result.log.data);
    gi_buf_add(ptx, result.code.data, result.code.len);
    bool ok = result.ok;
    compile_result_free(&result);
    gi_buf_free(&source);
    compile_close(c);
    return ok;
}

static void set(EmuModule *m, const char *name, const void *bytes, size_t n) {
    size_t size = 0;
    void *at = emu_symbol(m, name, &size, NULL);
    if (at && size >= n) memcpy(at, bytes, n);
}

static uint64_t linear(Emu *e, EmuModule *m, const char *name, const void *data, int channels,
                       EmuTexFormat format, int64_t n) {
    gi_err err;
    EmuTexture t = {.data = data,
                    .kind = EMU_TEX_LINEAR,
                    .format = format,
                    .channels = channels,
                    .dims = 1,
                    .size = {n, 1, 1},
                    .address = {EMU_TEX_CLAMP, EMU_TEX_CLAMP, EMU_TEX_CLAMP}};
    uint64_t handle = emu_texture_new(e, &t, &err);
    if (handle == 0) printf("# %s\n", err.message);
    set(m, name, &handle, sizeof handle);
    return handle;
}

static void run(const gi_buf *ptx, int threads) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err;
    double t0 = gi_seconds();
    EmuModule *m = emu_load(e, ptx->data, ptx->len, &err);
    if (!m) {
        printf("# %s\n", err.message);
        return;
    }
    printf("load         %8.3f ms\n", (gi_seconds() - t0) * 1e3);
    int n, gx = (NX + 4) / 5 + 3, gy = (NY + 4) / 5 + 3, gz = (NZ + 4) / 5 + 3;
    int32_t *groups = list_groups(&n), spline = 1, step = STEP;
    int size[3] = {NX, NY, NZ}, grid[3] = {gx, gy, gz};
    float *control = malloc(sizeof(float) * 4 * (size_t)(gx * gy * gz)), basis[20];
    for (int i = 0; i < gx * gy * gz * 4; i++) control[i] = (float)(i % 1000) * 0.01f;
    for (int i = 0; i < 20; i++) basis[i] = (float)i * 0.05f;
    float *field = calloc((size_t)n * 25 * 4, sizeof(float));
    uint64_t out = emu_map(e, field, (size_t)n * 25 * 16, false, "positionField");
    set(m, "c_ActiveVoxelNumber", &n, 4);
    set(m, "c_ImageSize", size, 12);
    set(m, "c_ControlPointGrid", grid, 12);
    set(m, "givenUseBSpline", &spline, 4);
    set(m, "givenSpacing", &step, 4);
    linear(e, m, "activeVoxelTexture", groups, 1, EMU_TEX_S32, n);
    linear(e, m, "controlPointTexture", control, 4, EMU_TEX_F32, gx * gy * gz);
    linear(e, m, "basisTexture", basis, 1, EMU_TEX_F32, 20);
    linear(e, m, "basisTextureA", basis, 1, EMU_TEX_F32, 20);
    EmuLaunch launch = {.kernel = "spline_deformation",
                        .block = {192, 1, 1},
                        .grid = {(unsigned)(n + 5) / 6, 1, 1},
                        .shared_bytes = 6 * 256,
                        .threads = threads,
                        .params = &out};
    double best = 1e9, best_cpu = 1e9;
    EmuResult r;
    for (int k = 0; k < 5; k++) {
        clock_t t0c = clock();
        double t = gi_seconds();
        emu_launch(m, &launch, &r, &err);
        t = gi_seconds() - t;
        if (t < best) best = t;
        double cpu = (double)(clock() - t0c) / CLOCKS_PER_SEC;
        if (cpu < best_cpu) best_cpu = cpu;
    }
    printf("status       %s %s\n", emu_status_name(r.status), r.message);
    printf("warps        %8d (%.1f instructions each), %d voxels\n", n,
           (double)r.warp_instructions / n, n * 25);
    printf("case         %8.3f s (%.3f s of processor time)\n", best, best_cpu);
    printf("instruction  %8.2f ns a warp instruction\n", best / (double)r.warp_instructions * 1e9);
    printf("speed        %8.2f 10^9 lane instructions/s (%.2f counting all 32 lanes)\n",
           (double)r.lane_instructions / best * 1e-9,
           32.0 * (double)r.warp_instructions / best * 1e-9);
    printf("ticks        %8.17g (issue %.0f, memory %.0f, latency %.0f), occupancy %.2f\n", r.ticks,
           r.work.part_issue, r.work.part_memory, r.work.part_latency, r.occupancy);
    emu_unload(m);
    emu_free(e);
    free(groups), free(control), free(field);
}

int main(int argc, char **argv) {
    gi_buf ptx = {0};
    if (!compile_kernel(argc > 1 ? argv[1] : "kernels/niftyreg/kernel.cu", &ptx)) return 1;
    run(&ptx, argc > 2 ? atoi(argv[2]) : 1);
    gi_buf_free(&ptx);
    return 0;
}
