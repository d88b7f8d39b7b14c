/* emu_programs.c - whole CUDA programs (tests/programs/NAME.cu) compiled by NVRTC, run on the
** virtual GPU, and compared with the same computation in plain C. Skipped where there is no NVRTC.
*/
#include "compile/compile.h"
#include "emu_kit.h"
#include "emu_simd.h"

static Compiler *compiler;

/* ---- a program: compiled, with its buffers ---- */

typedef struct Program {
    EmuModule *module;
    const char *name;
    uint64_t mapped[8];
    int n_mapped;
    unsigned char params[256];
    int n_params;
    gi_buf printed;
} Program;

static EmuModule *compile(const char *name, const char *target) {
    char path[200];
    snprintf(path, sizeof path, "tests/programs/%s.cu", name);
    gi_buf source = {0};
    gi_err err = {.message = ""};
    CompileResult result = {0};
    const char *includes[2] = {compile_includes(compiler)[0], NULL};
    CompileOptions options = {.target = target, .includes = includes, .line_info = true};
    EmuModule *m = NULL;
    if (gi_read_file(path, &source, &err) &&
        compile_one(compiler, source.data, source.len, path, &options, &result, &err)) {
        if (result.ok) m = emu_load(kit_emu, result.code.data, result.code.len, &err);
        else snprintf(err.message, sizeof err.message, "%.900s", result.log.data);
        compile_result_free(&result);
    }
    if (!ok(m != NULL, "%s compiles for %s and loads", name, target)) printf("# %s\n", err.message);
    gi_buf_free(&source);
    return m;
}

static bool begin_for(Program *p, const char *name, const char *target) {
    memset(p, 0, sizeof *p);
    p->name = name;
    p->module = compile(name, target);
    return p->module != NULL;
}

static bool begin(Program *p, const char *name) {
    return begin_for(p, name, "compute_90");
}

static void end(Program *p) {
    for (int i = 0; i < p->n_mapped; i++) emu_unmap(kit_emu, p->mapped[i]);
    gi_buf_free(&p->printed);
    emu_unload(p->module);
}

/* Places the next argument where the kernel wants it. */
static void argument(Program *p, const void *value, size_t size) {
    EmuKernelInfo info;
    gi_err err;
    if (!emu_kernel_info(p->module, p->name, &info, &err) || p->n_params >= info.n_params ||
        info.param_size[p->n_params] != size) {
        ok(false, "%s: parameter %d has %zu bytes", p->name, p->n_params, size);
        return;
    }
    memcpy(p->params + info.param_offset[p->n_params++], value, size);
}

static void buffer(Program *p, void *data, size_t size, bool read_only) {
    uint64_t at = emu_map(kit_emu, data, size, read_only, p->name);
    p->mapped[p->n_mapped++] = at;
    argument(p, &at, sizeof at);
}
#define IN(p, array)  buffer(p, array, sizeof array, true)
#define OUT(p, array) buffer(p, array, sizeof array, false)

static void integer(Program *p, int value) {
    argument(p, &value, sizeof value);
}

static void printed(void *user, const char *text, size_t len) {
    gi_buf_add(user, text, len);
}

/* Runs with the race and initialisation checks on: these programs are clean. */
static bool run(Program *p, unsigned gx, unsigned gy, unsigned bx, unsigned by, size_t shared) {
    EmuLaunch l = {.kernel = p->name,
                   .grid = {gx, gy, 1},
                   .block = {bx, by, 1},
                   .params = p->params,
                   .shared_bytes = shared,
                   .check_races = true,
                   .count_uninitialised = true,
                   .print = printed,
                   .print_user = &p->printed};
    EmuResult r;
    gi_err err = {.message = ""};
    memset(&r, 0, sizeof r);
    bool ran = emu_launch(p->module, &l, &r, &err);
    if (!ok(ran && r.status == EMU_OK, "%s runs", p->name))
        printf("# %s\n", ran ? r.message : err.message);
    ok(r.uninitialised_reads == 0, "%s reads nothing that was never written", p->name);
    return ran && r.status == EMU_OK;
}

static void close_to(const char *what, const double *got, const double *want, int n, double limit) {
    double worst = 0;
    int at = 0;
    for (int i = 0; i < n; i++) {
        double error = fabs(got[i] - want[i]) / fmax(1, fabs(want[i]));
        if (!(error <= worst)) worst = isnan(error) ? HUGE_VAL : error, at = i;
    }
    if (!ok(worst <= limit, "%s: largest error %.3g, at most %.3g", what, worst, limit))
        printf("# element %d: got %.17g, want %.17g\n", at, got[at], want[at]);
}

static void close_to_f32(const char *what, const float *got, const double *want, int n,
                         double limit) {
    double *wide = gi_alloc((size_t)n * sizeof *wide);
    for (int i = 0; i < n; i++) wide[i] = (double)got[i];
    close_to(what, wide, want, n, limit);
    free(wide);
}

static float any_unit(void) {
    return (float)(2 * gi_rng_unit(&kit_rng) - 1);
}

/* ---- the programs ---- */

static void test_reduction(void) {
    static float in[10007], sum[1];
    Program p;
    double want = 0;
    if (!begin(&p, "reduction")) return;
    for (int i = 0; i < 10007; i++) want += (double)(in[i] = any_unit());
    IN(&p, in), OUT(&p, sum), integer(&p, 10007);
    if (run(&p, 5, 1, 256, 1, 0)) close_to_f32("the sum", sum, &want, 1, 1e-4);
    end(&p);
}

static void test_scan(void) {
    static int in[500], out[500], want[500];
    Program p;
    if (!begin(&p, "scan")) return;
    for (int i = 0; i < 500; i++) {
        in[i] = (int)kit_below(1000) - 500;
        want[i] = in[i] + (i % 128 ? want[i - 1] : 0);
    }
    IN(&p, in), OUT(&p, out), integer(&p, 500);
    if (run(&p, 4, 1, 128, 1, 2 * 128 * sizeof(int)))
        ok(memcmp(out, want, sizeof out) == 0, "prefix sums of four blocks");
    end(&p);
}

static void test_matmul(void) {
    enum { N = 50 };
    static float a[N * N], b[N * N], c[N * N];
    static double want[N * N];
    Program p;
    if (!begin(&p, "matmul")) return;
    for (int i = 0; i < N * N; i++) a[i] = any_unit(), b[i] = any_unit();
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            want[y * N + x] = 0;
            for (int k = 0; k < N; k++)
                want[y * N + x] += (double)a[y * N + k] * (double)b[k * N + x];
        }
    IN(&p, a), IN(&p, b), OUT(&p, c), integer(&p, N);
    if (run(&p, 4, 4, 16, 16, 0)) close_to_f32("the product", c, want, N * N, 1e-5);
    end(&p);
}

static void test_histogram(void) {
    enum { N = 5000 };
    static unsigned char in[N];
    static unsigned bins[256], want[256], mix[1] = {12345}, mixed = 12345;
    static int largest[1], most;
    Program p;
    if (!begin(&p, "histogram")) return;
    for (int i = 0; i < N; i++) {
        in[i] = (unsigned char)(kit_below(200) * kit_below(200) / 200);
        want[in[i]]++;
        most = in[i] > most ? in[i] : most;
        if (i % 97 == 0) mixed = mixed * 2 % 65521;
    }
    IN(&p, in), OUT(&p, bins), OUT(&p, largest), OUT(&p, mix), integer(&p, N);
    if (run(&p, 3, 1, 128, 1, 0)) {
        ok(memcmp(bins, want, sizeof bins) == 0, "the counts");
        is_int(largest[0], most, "the largest value");
        is_int(mix[0], mixed, "a compare-and-swap loop loses no turn");
    }
    end(&p);
}

static double pixel(const float *image, int x, int y, int w, int h) {
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    return (double)image[y * w + x];
}

static uint64_t image_texture(const float *image, int w, int h, bool linear) {
    gi_err err = {.message = ""};
    EmuTexture t = {.data = image,
                    .kind = EMU_TEX_ARRAY,
                    .format = EMU_TEX_F32,
                    .channels = 1,
                    .dims = 2,
                    .size = {w, h},
                    .address = {EMU_TEX_CLAMP, EMU_TEX_CLAMP, EMU_TEX_CLAMP},
                    .linear_filter = linear,
                    .normalized_coords = linear};
    uint64_t handle = emu_texture_new(kit_emu, &t, &err);
    if (!handle) ok(false, "texture: %s", err.message);
    return handle;
}

/* Enlarged twice, every pixel is 9, 3, 3 and 1 sixteenths of its four neighbours. */
static void test_filter(void) {
    enum { W = 21, H = 13 };
    static float image[W * H], box[W * H], large[4 * W * H];
    static double want_box[W * H], want_large[4 * W * H];
    Program p;
    if (!begin(&p, "filter")) return;
    for (int i = 0; i < W * H; i++) image[i] = any_unit();
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int k = 0; k < 9; k++)
                want_box[y * W + x] += pixel(image, x + k % 3 - 1, y + k / 3 - 1, W, H) / 9;
    for (int y = 0; y < 2 * H; y++)
        for (int x = 0; x < 2 * W; x++) {
            int nx = x / 2, ny = y / 2, fx = x & 1 ? nx + 1 : nx - 1, fy = y & 1 ? ny + 1 : ny - 1;
            want_large[y * 2 * W + x] =
                (9 * pixel(image, nx, ny, W, H) + 3 * pixel(image, fx, ny, W, H) +
                 3 * pixel(image, nx, fy, W, H) + pixel(image, fx, fy, W, H)) /
                16;
        }
    uint64_t point = image_texture(image, W, H, false), linear = image_texture(image, W, H, true);
    argument(&p, &point, 8), argument(&p, &linear, 8);
    OUT(&p, box), OUT(&p, large), integer(&p, W), integer(&p, H);
    if (run(&p, 6, 4, 8, 8, 0)) {
        close_to_f32("the box filter", box, want_box, W * H, 1e-6);
        close_to_f32("the enlarged image", large, want_large, 4 * W * H, 0.01);
    }
    emu_texture_free(kit_emu, point);
    emu_texture_free(kit_emu, linear);
    end(&p);
}

static int ackermann(int m, int n) {
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void test_recursion(void) {
    enum { N = 70 };
    static int out[4][N], wrong[4];
    Program p;
    if (!begin(&p, "recursion")) return;
    for (int k = 0; k < 4; k++) OUT(&p, out[k]);
    integer(&p, N);
    if (run(&p, 2, 1, 48, 1, 0)) {
        for (int i = 0; i < N; i++) {
            int v[9];
            for (int k = 0; k < 9; k++) v[k] = (i * 7919 + k * k * 104729) % 1000;
            qsort(v, 9, sizeof *v, by_value);
            wrong[0] += out[0][i] != ackermann(i % 3, i % 5);
            wrong[1] += out[1][i] != (i % 40 % 2 == 0);
            wrong[2] += out[2][i] != v[4];
            wrong[3] += out[3][i] != (i & 1 ? i * i : 2 * i);
        }
        is_int(wrong[0], 0, "Ackermann's function");
        is_int(wrong[1], 0, "two functions that call each other");
        is_int(wrong[2], 0, "quicksort of a local array");
        is_int(wrong[3], 0, "calls through a pointer");
    }
    end(&p);
}

static int by_size(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static void test_sort(void) {
    static unsigned in[256], out[256], want[256];
    static int rank[8];
    int wrong = 0;
    Program p;
    if (!begin(&p, "sort")) return;
    for (int i = 0; i < 256; i++) want[i] = in[i] = (unsigned)kit_below(200);
    IN(&p, in), OUT(&p, out), OUT(&p, rank);
    if (run(&p, 2, 1, 128, 1, 0)) {
        for (int w = 0; w < 8; w++) {
            qsort(want + 32 * w, 32, sizeof *want, by_size);
            int below = 0;
            for (int k = 0; k < 32; k++) below += want[32 * w + k] < 100;
            wrong += rank[w] != below;
        }
        ok(memcmp(out, want, sizeof out) == 0, "eight lists are sorted");
        is_int(wrong, 0, "ballots count");
    }
    end(&p);
}

static void test_doubles(void) {
    enum { N = 100 };
    static double x[N], out[3 * N], want[3 * N];
    Program p;
    if (!begin(&p, "doubles")) return;
    for (int i = 0; i < N; i++) x[i] = 4 * gi_rng_unit(&kit_rng) - 2;
    for (int i = 0; i < N; i++) {
        double v = x[i];
        for (int k = 0; k < N; k++)
            if (k != i) want[i] += 1 / sqrt((x[k] - v) * (x[k] - v) + 1e-3);
        want[N + i] = exp(-v * v) * sin(3 * v) + cos(v) / (1 + v * v);
        want[2 * N + i] =
            log(1 + fabs(v)) + pow(fabs(v) + 0.5, 1.5) + floor(10 * v) + fma(v, v, -v);
    }
    IN(&p, x), OUT(&p, out), integer(&p, N);
    if (run(&p, 2, 1, 64, 1, 0)) close_to("double precision", out, want, 3 * N, 1e-13);
    end(&p);
}

static void test_singles(void) {
    enum { N = 300 };
    static float x[N], out[3 * N];
    static double want[3 * N];
    Program p;
    if (!begin(&p, "singles")) return;
    for (int i = 0; i < N; i++) {
        double v = (double)(x[i] = 2 * any_unit());
        want[i] = exp(v) + sin(10 * v) + cos(v) + tan(v / 4);
        want[N + i] = log(1 + fabs(v)) + pow(fabs(v) + 0.5, 1.5) + atan2(v, 2) + sqrt(fabs(v));
        want[2 * N + i] = exp(v) + sin(v) + cos(v) + log(1 + v * v) + v / 3 + 1 / sqrt(1 + v * v);
    }
    IN(&p, x), OUT(&p, out), integer(&p, N);
    if (run(&p, 5, 1, 64, 1, 0)) close_to_f32("single precision", out, want, 3 * N, 2e-6);
    end(&p);
}

/* A double rounded to f16 by search among the two neighbours that scaling gives. */
static double to_half(double x) {
    int exponent;
    frexp(x, &exponent);
    double unit = ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11);
    return rint(x / unit) * unit;
}

static void test_halves(void) {
    enum { N = 96 };
    static float x[N], out[4 * N];
    int wrong = 0;
    Program p;
    if (!compile_includes(compiler)[0]) {
        ok(true, "halves # SKIP no CUDA headers (cuda_fp16.h) beside NVRTC");
        return;
    }
    if (!begin(&p, "halves")) return;
    for (int i = 0; i < N; i++) x[i] = 4 * any_unit();
    IN(&p, x), OUT(&p, out), integer(&p, N);
    if (run(&p, 3, 1, 32, 1, 0)) {
        for (int i = 0; i < N; i++) {
            double a = to_half((double)x[i]), b = to_half((double)x[(i + 1) % N]);
            double want[4] = {to_half(to_half(a * b) + b), to_half(a * b + a),
                              to_half(a * a + a) - to_half(b * b + a), a < b ? 1 : rint(a)};
            for (int k = 0; k < 4; k++)
                if ((double)out[4 * i + k] != want[k] && wrong++ == 0)
                    printf("# thread %d, part %d: got %g, want %g\n", i, k, (double)out[4 * i + k],
                           want[k]);
        }
        is_int(wrong, 0, "half precision, bit for bit");
    }
    end(&p);
}

static void test_print(void) {
    Program p;
    gi_buf want = {0};
    static char nothing[1];
    if (!begin(&p, "print")) return;
    for (int i = 0; i < 3; i++)
        gi_buf_addf(&want, "thread %d of %s: %5.2f, %lld, %c%%\n", i, "block", i * 1.5,
                    1LL << (40 + i), 'a' + i);
    IN(&p, nothing), integer(&p, 3);
    if (run(&p, 1, 1, 32, 1, 0)) is_str(p.printed.data, want.data, "printf prints, lane by lane");
    gi_buf_free(&want);
    end(&p);
}

enum { SIMD_N = 1024, SIMD_MOST = 200 };
static uint32_t simd_in[3][SIMD_N];
static uint64_t simd_out[SIMD_MOST * SIMD_N];

/* Words of four bytes, of two halves, and whole ones, in turns; one in eight pairs is equal. */
static void simd_operands(void) {
    for (int i = 0; i < SIMD_N; i++) {
        for (int k = 0; k < 3; k++) simd_in[k][i] = (uint32_t)kit_any("bvw"[i % 3]);
        if (kit_below(8) == 0) simd_in[1][i] = simd_in[0][i];
    }
}

static void simd_compare(const SimdItem *item, const uint64_t *out, const char *target) {
    int wrong = 0;
    for (int i = 0; i < SIMD_N; i++) {
        uint32_t in[3] = {simd_in[0][i], simd_in[1][i], simd_in[2][i]};
        uint64_t want = simd_want(item, in);
        if (out[i] != want && wrong++ == 0)
            printf("# (%#x, %#x, %#x): got %#" PRIx64 ", want %#" PRIx64 "\n", in[0], in[1], in[2],
                   out[i], want);
    }
    ok(wrong == 0, "%s for %s: %d wrong", item->text, target, wrong);
}

/* Every integer intrinsic of CUDA's headers, which are other PTX for other GPUs. */
static void test_simd(const char *target) {
    static SimdItem items[SIMD_MOST];
    gi_buf source = {0};
    gi_err err;
    bool is_read = gi_read_file("tests/programs/simd.cu", &source, &err);
    int n = is_read ? simd_items(source.data, items, SIMD_MOST) : 0;
    gi_buf_free(&source);
    Program p;
    if (!ok(n > 140 && n < SIMD_MOST, "%d items of simd.cu are defined", n)) return;
    if (!begin_for(&p, "simd", target)) return;
    simd_operands();
    for (int k = 0; k < 3; k++) IN(&p, simd_in[k]);
    OUT(&p, simd_out), integer(&p, SIMD_N);
    if (run(&p, SIMD_N / 128, 1, 128, 1, 0))
        for (int k = 0; k < n; k++) simd_compare(&items[k], simd_out + k * SIMD_N, target);
    end(&p);
}

int main(int argc, char **argv) {
    gi_err err = {.message = ""};
    compiler = compile_open(&err);
    if (!compiler) {
        printf("1..0 # SKIP %s\n", err.message);
        return 0;
    }
    kit_begin(argc, argv);
    test_reduction();
    test_scan();
    test_matmul();
    test_histogram();
    test_filter();
    test_recursion();
    test_sort();
    test_doubles();
    test_singles();
    test_halves();
    test_print();
    test_simd("compute_75");
    test_simd("compute_80");
    test_simd("compute_90");
    compile_close(compiler);
    return kit_end();
}
