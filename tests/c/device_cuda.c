/* device_cuda.c - the device "cuda" on a driver without a GPU (fake_driver.h): what guards memory,
** variables between launches, sampling, pairs, faults, and every call of the driver that may fail.
** gilua's own kernels are compiled, as always, but do not run. Skipped where there is no NVRTC.
*/
#include "fake_driver.h"

#include <math.h>

#include "compile/compile.h"
#include "tap.h"

/* --- kernels --- */

typedef struct Poke {
    uint64_t address;
    int64_t offset;
    int32_t value;
} Poke;

static int poke(const void *params) {
    const Poke *p = params;
    ((int32_t *)fake_at(p->address))[p->offset] = p->value;
    return CU_OK;
}

static char seen[64]; /* of the first variable, by the last launch of `add` */
static bool seen_more; /* was the second as the code has it? */
static FakeSymbol symbols[] = {{"text", "as the code has it", 32, ""}, {"more", "more", 16, ""}};

static int add(const void *params) {
    (void)params;
    strcpy(seen, symbols[0].bytes);
    seen_more = strcmp(symbols[1].bytes, "more") == 0;
    strcpy(symbols[1].bytes, "less");
    strcpy(symbols[0].bytes, "as a kernel left it");
    return CU_OK;
}

static int fault; /* what `bad` does */

static int bad(const void *params) {
    (void)params;
    return fault;
}

static struct CuFunctionObject kernels[] = {
    {"poke", poke, {8, 8, 4}, NULL, 0, NULL},
    {"add", add, {0}, NULL, 0, NULL},
    {"bad", bad, {0}, NULL, 0, NULL}};

#define PTX  ".version 8.0\n.target sm_90\n.address_size 64\n"
#define TEXT ".global .align 4 .b8 text[32];\n.global .align 4 .b8 more[16];\n"
#define HIDDEN ".global .align 4 .b8 hidden[8];\n" /* a variable that the driver does not find */

/* Durations, in turn. */
static const double *script;
static int script_n, script_at;

static double next_ns(const char *kernel) {
    (void)kernel;
    return script[script_at++ % script_n];
}

static void plays(const double *ns, int n) {
    script = ns;
    script_n = n;
    script_at = 0;
    fake.takes = next_ns;
}

/* --- a device, and what most tests want of it --- */

static Device *device;
static gi_err err;

static void begin(void) {
    static const double steady[] = {10000};
    EmuModel model = {.name = "unused"};
    fake = (struct Fake){.kernels = kernels,
                         .n_kernels = 3,
                         .symbols = symbols,
                         .n_symbols = 2,
                         .ghz = 2,
                         .now_ns = 1e6};
    plays(steady, 1);
    device = device_open("cuda", &model, &err);
    if (!ok(device != NULL, "the device opens")) printf("# %s\n", err.message), exit(1);
}

static void end(void) {
    is_int((long long)fake.printed_bytes, CUDA_PRINTED_BYTES, "what kernels print is bounded");
    device_close(device);
    is_int(fake.live, 0, "everything is released");
}

/* Of a lost device: the context is left to the end of the process. */
static void end_lost(void) {
    device_close(device);
    fake_exit();
}

static DeviceModule *load(const char *ptx) {
    DeviceModule *m = device_load(device, ptx, strlen(ptx), &err);
    if (m == NULL) ok(false, "loads: %s", err.message);
    return m;
}

static Array *numbers(int64_t n) {
    Array *a = array_new(ARRAY_I32, 1, &n, NULL);
    for (int64_t i = 0; i < n; i++) array_set(a, i, (double)(i * 7 + 1));
    return a;
}

static DeviceBuffer *buffer(Array *a, DeviceAccess access, const char *label) {
    DeviceBuffer *b = device_buffer(device, a, access, label, &err);
    if (b == NULL) ok(false, "buffer: %s", err.message);
    return b;
}

static DeviceLaunch launch_of(const char *kernel, const void *params) {
    return (DeviceLaunch){.kernel = kernel,
                          .grid = {1, 1, 1},
                          .block = {32, 1, 1},
                          .params = params,
                          .carveout = -1};
}

/* --- was anything touched? --- */

static void poke_at(DeviceModule *m, uint64_t address, int64_t offset) {
    Poke params = {address, offset, 77};
    DeviceLaunch l = launch_of("poke", &params);
    Measurement out;
    if (!device_launch(m, &l, &out, &err) || out.status != STATUS_OK) ok(false, "a poke runs");
}

/* What device_intact says; "" for true. */
static const char *damage(void) {
    static char said[1000];
    gi_buf what = {0};
    bool intact = device_intact(device, &what, &err);
    snprintf(said, sizeof said, "%s", intact ? "" : err.message);
    gi_buf_free(&what);
    return said;
}

static void test_guards(void) {
    begin();
    DeviceModule *m = load(PTX);
    Array *a = numbers(1001), *b = numbers(99), *c = numbers(50);
    DeviceBuffer *out = buffer(a, ACCESS_WRITE, "out"), *in = buffer(b, ACCESS_READ, "control");
    DeviceTexture *line = device_texture(device, c,
                                         &(TextureSpec){.kind = TEXTURE_LINEAR,
                                                        .channels = 1,
                                                        .dims = 1,
                                                        .size = {50, 1, 1}},
                                         &err);
    uint64_t o = device_buffer_address(out), i = device_buffer_address(in);
    const struct {
        uint64_t address;
        int64_t offset;
        const char *said;
    } rows[] = {{o, 1001, "past the end of 'out'"},     {o, -1, "before the start of 'out'"},
                {o, 1001 + 4000, "past the end of 'out'"}, {o, -4096, "before the start of 'out'"},
                {i, 98, "into 'control', which is read-only"},
                {i, 0, "into 'control'"},               {i, 99, "past the end of 'control'"}};
    ok(line != NULL, "a texture");
    poke_at(m, o, 0), poke_at(m, o, 1000);
    is_str(damage(), "", "a kernel may write to its output");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        poke_at(m, rows[k].address, rows[k].offset);
        has_str(damage(), rows[k].said, rows[k].said);
        is_str(err.code, "touched", "with its code");
        is_str(damage(), "", "and undone");
    }
    poke_at(m, o, -1), poke_at(m, i, 3);
    const char *both = damage();
    ok(strstr(both, "before the start of 'out'") && strstr(both, " and") &&
           strstr(both, "into 'control'"),
       "two at once are both told: %s", both);
    Array *back = numbers(99);
    memset(back->data, 0, back->size_bytes);
    ok(device_buffer_read(in, back, &err) && memcmp(back->data, b->data, b->size_bytes) == 0,
       "contents are as they were");
    array_set(back, 3, -5);
    ok(device_buffer_write(in, back, &err), "the host writes to a read-only buffer");
    is_str(damage(), "", "which is no damage");
    poke_at(m, i, 3), damage();
    ok(device_buffer_read(in, back, &err) && array_get(back, 3) == -5, "and is what is restored");
    array_set(device_buffer_array(in), 4, 1234);
    poke_at(m, i, 3);
    has_str(damage(), "its array has changed", "an array that changed cannot be restored");
    device_texture_free(line);
    device_buffer_free(out), device_buffer_free(in);
    device_module_free(m);
    array_unref(a), array_unref(b), array_unref(c), array_unref(back);
    end();
}

/* Expected answers lie where a kernel that finds them cannot use them. */
static void test_hidden(void) {
    begin();
    Array *a = numbers(64), *back = numbers(64);
    DeviceBuffer *b = buffer(a, ACCESS_NONE, "expected");
    const char *there = fake_at(device_buffer_address(b)), *here = a->data;
    int same = 0;
    for (size_t i = 0; i < a->size_bytes; i++) same += there[i] == here[i];
    is_int(same, 0, "no byte of it is there as it is");
    memset(back->data, 0, back->size_bytes);
    ok(device_buffer_read(b, back, &err) && memcmp(back->data, here, a->size_bytes) == 0,
       "the host reads it as it is");
    device_buffer_free(b);
    array_unref(a), array_unref(back);
    end();
}

/* More than the pinned memory holds, in halves that take turns. */
static void test_transfers(void) {
    begin();
    Array *a = numbers((3 * CUDA_STAGING_BYTES) / 4 + 1001), *back = numbers(a->count);
    DeviceBuffer *b = buffer(a, ACCESS_WRITE, "large");
    ok(memcmp(fake_at(device_buffer_address(b)), a->data, a->size_bytes) == 0, "all of it arrives");
    memset(back->data, 0, back->size_bytes);
    ok(device_buffer_read(b, back, &err) && memcmp(back->data, a->data, a->size_bytes) == 0,
       "and comes back");
    device_buffer_free(b);
    array_unref(a), array_unref(back);
    end();
}

/* --- what launches begin with --- */

static const char *sees(DeviceModule *m) {
    DeviceLaunch l = launch_of("add", NULL);
    Measurement out;
    strcpy(seen, "nothing");
    if (!device_launch(m, &l, &out, &err)) ok(false, "a launch: %s", err.message);
    if (!seen_more) ok(false, "the other variable is as the code has it");
    return seen;
}

static void test_variables(const char *ptx, const char *what, int loads) {
    begin();
    DeviceModule *m = load(ptx);
    printf("# %s\n", what);
    is_str(sees(m), "as the code has it", "the first launch");
    is_str(sees(m), "as the code has it", "and the second");
    ok(device_symbol_write(m, "text", "as the host wrote it", 21, &err), "the host writes");
    sees(m);
    is_str(sees(m), "as the host wrote it", "and that is what launches begin with");
    char bytes[32];
    ok(device_symbol_read(m, "text", bytes, 32, &err), "the host reads");
    is_str(bytes, "as a kernel left it", "what the last launch made of it");
    ok(device_module_reset(m, &err), "reset");
    is_str(sees(m), "as the code has it", "as the code has it again");
    is_int(fake.loads, loads, "the code was loaded so often");
    is_str(damage(), "", "nothing of the copy was touched");
    device_module_free(m);
    end();
}

static void test_outputs(void) {
    begin();
    DeviceModule *m = load(PTX TEXT);
    Array *a = numbers(10), *start = numbers(10);
    Array *f = array_new(ARRAY_F32, 1, &(int64_t){10}, NULL);
    Array *d = array_new(ARRAY_F64, 1, &(int64_t){10}, NULL);
    Array *want = array_new(ARRAY_F64, 1, &(int64_t){10}, NULL);
    DeviceBuffer *fill[] = {buffer(a, ACCESS_WRITE, "a"), buffer(f, ACCESS_WRITE, "f"),
                            buffer(d, ACCESS_WRITE, "d")};
    DeviceLaunch l = launch_of("bad", NULL);
    Measurement out;
    array_set(start, 2, -9);
    ok(device_buffer_keep(fill[0], start, &err), "what is read and written is kept");
    l.fill = fill;
    l.n_fill = 3;
    fake.log[0] = '\0';
    ok(device_launch(m, &l, &out, &err), "a launch");
    is_str(fake.log, "TP+=FbT", "variables, then outputs, then the kernel, between two readings");
    device_buffer_read(fill[0], a, &err);
    ok(memcmp(a->data, start->data, a->size_bytes) == 0, "one begins as it was kept");
    array_fill_sentinel(want);
    device_buffer_read(fill[2], d, &err);
    ok(memcmp(d->data, want->data, d->size_bytes) == 0, "the others with the sentinel");
    for (int i = 0; i < 3; i++) device_buffer_free(fill[i]);
    device_module_free(m);
    array_unref(a), array_unref(f), array_unref(d), array_unref(start), array_unref(want);
    end();
}

/* --- timing --- */

static DeviceSamples timed(DeviceModule *m, const DeviceTiming *how) {
    DeviceLaunch l = launch_of("bad", NULL);
    DeviceSamples s;
    fault = CU_OK;
    if (!device_time(m, &l, how, &s, &err)) ok(false, "timing: %s", err.message);
    return s;
}

static void test_groups(void) {
    begin();
    DeviceModule *m = load(PTX TEXT);
    DeviceSamples s;
    fake.log[0] = '\0';
    s = timed(m, &(DeviceTiming){.min_samples = 4, .max_samples = 4});
    is_str(fake.log,
           "TPbT" "TPbT" "G" "PbPb" "T" "PbPbPbPb" "T" "PbPbPbPbPbPb",
           "two to warm up; a gate; two before, four that count between readings, six behind");
    is_int(fake.passed_early, 0, "the GPU waits until all are queued");
    is_int(s.n, 4, "four samples");
    ok(fabs(s.median_ns - 10000) < 1 && s.rel_error < 1e-4, "of 10 us: %g", s.median_ns);
    ok(fabs(s.last.clock_ghz - 2) < 1e-3, "at 2 GHz: %g", s.last.clock_ghz);
    is_int(s.last.registers, 32, "with the kernel's registers");
    ok(s.last.occupancy == 64.0 / 2048, "two warps of an SM's 64: %g",
       s.last.occupancy);
    device_samples_free(&s);
    static const double slow[] = {3e6};
    plays(slow, 1);
    fake.log[0] = '\0';
    s = timed(m, &(DeviceTiming){.min_samples = 8, .max_samples = 8, .flush_l2 = true});
    is_str(fake.log, "TPFbT" "TPFbT" "GT" "PFbPFbPFbPFbPFbPFb" "T" "GT" "PFbPFb" "T",
           "long ones: in groups of 20 ms, none before or behind; the L2 is flushed before each");
    device_samples_free(&s);
    device_module_free(m);
    end();
}

static void test_enough(void) {
    static const double alike[] = {10000}, apart[] = {10000, 20000, 30000, 40000};
    begin();
    DeviceModule *m = load(PTX);
    DeviceSamples s = timed(m, &(DeviceTiming){.min_samples = 12});
    is_int(s.n, 12, "samples that agree are enough as soon as they may be");
    ok(!s.capped && !s.slow, "neither capped nor slow");
    device_samples_free(&s);
    plays(apart, 4);
    s = timed(m, &(DeviceTiming){.min_samples = 10, .max_samples = 75});
    ok(s.n == 75 && s.capped, "of samples that do not as many as allowed: %d", s.n);
    ok(s.rel_error > 0.1, "and how little is known: %g", s.rel_error);
    device_samples_free(&s);
    plays(alike, 1);
    s = timed(m, &(DeviceTiming){.min_samples = 50, .stop_above_ns = 9000});
    ok(s.slow && s.n == 3, "a slow one is told from %d samples", s.n);
    device_samples_free(&s);
    s = timed(m, &(DeviceTiming){.min_samples = 50, .stop_above_ns = 11000});
    ok(!s.slow && s.n == 50, "another is not: %d", s.n);
    device_samples_free(&s);
    static const double endless[] = {30e6};
    plays(endless, 1);
    s = timed(m, &(DeviceTiming){.stop_above_ns = 9000});
    ok(s.slow && s.n == 3, "one by one too, where they are too long for a group: %d", s.n);
    device_samples_free(&s);
    device_module_free(m);
    end();
}

static int down_from, down_to; /* launches that find the clock down */

static double throttling(const char *kernel) {
    (void)kernel;
    bool down = fake.launches > down_from && fake.launches <= down_to;
    fake.ghz = down ? 1.5 : 2;
    return down ? 13333 : 10000;
}

static void test_throttled(void) {
    begin();
    DeviceModule *m = load(PTX);
    fake.takes = throttling;
    down_from = 20, down_to = 60;
    DeviceSamples s = timed(m, &(DeviceTiming){.min_samples = 40, .max_samples = 200});
    ok(s.dropped > 0 && s.n - s.dropped >= 40, "%d of %d samples are left out, 40 kept", s.dropped,
       s.n);
    ok(fabs(s.median_ns - 10000) < 1, "and the median is of the others: %g", s.median_ns);
    device_samples_free(&s);
    down_from = 0, down_to = 100000;
    s = timed(m, &(DeviceTiming){.min_samples = 20, .max_samples = 40});
    ok(s.dropped == 40 && s.capped, "a clock that stays down is known from before: %d", s.dropped);
    ok(fabs(s.median_ns - 13333) < 1, "then the median is of what there is: %g", s.median_ns);
    device_samples_free(&s);
    device_module_free(m);
    end();
}

static double ns_of_a, ns_of_b, after_other; /* after_other: so many times as long behind another */

static double by_kernel(const char *kernel) {
    static char before;
    double times = before == *kernel ? 1 : after_other;
    before = *kernel;
    return (*kernel == 'a' ? ns_of_a : ns_of_b) * times;
}

/* Nine pairs or fewer of kernels that take so long; the order in which they run. */
static void test_pairs(const char *what, const char *ptx, double a_ns, double b_ns, int pairs,
                       const char *order) {
    begin();
    DeviceModule *m = load(ptx);
    DeviceLaunch a = launch_of("add", NULL), b = launch_of("bad", NULL);
    double ns_a[9], ns_b[9];
    Measurement last;
    int right = 0;
    fault = CU_OK;
    fake.takes = by_kernel;
    ns_of_a = a_ns, ns_of_b = b_ns;
    ok(device_symbol_write(m, "text", "x", 2, &err), "the host has written to a variable");
    fake.log[0] = '\0';
    ok(device_time_pair((DevicePair){m, &a}, (DevicePair){m, &b}, pairs, NULL, ns_a, ns_b, &last,
                        &err),
       "%s", what);
    is_str(fake.log, order, "in turn, each first as often");
    for (int i = 0; i < pairs; i++)
        right += fabs(ns_a[i] / a_ns - 1) < 1e-3 && fabs(ns_b[i] / b_ns - 1) < 1e-3;
    is_int(right, pairs, "and each time is its own kernel's");
    device_module_free(m);
    end();
}

static void test_all_pairs(void) {
    const char *warm = "TaTTaTTbTTbT";
    char order[300];
#define ORDER(rest) (snprintf(order, sizeof order, "%s%s", warm, rest), order)
    after_other = 1.3;
    test_pairs("pairs", PTX, 10000, 20000, 5, ORDER("GaaTaabbbbaaaabbbbaaaabbTaabbbb"));
    test_pairs("a long one with a short one", PTX, 1.4e6, 20000, 2,
               ORDER("GaaTaabbbbaaTaabbbb"));
    after_other = 1;
    test_pairs("long ones, three pairs a group", PTX, 1.4e6, 2.8e6, 7,
               ORDER("GTabbaabT" "GTbaabbaT" "GTabT"));
    test_pairs("code that is loaded anew, each launch alone", PTX HIDDEN, 10000, 20000, 3,
               ORDER("GTaTGTbT" "GTbTGTaT" "GTaTGTbT"));
    test_pairs("those too long for two of them in a group", PTX, 15e6, 15e6, 2,
               ORDER("GTaTGTbT" "GTbTGTaT"));
}

static void test_sentinel(void) {
    begin();
    Array *a = array_new(ARRAY_F32, 1, &(int64_t){1000}, NULL);
    DeviceBuffer *b = buffer(a, ACCESS_WRITE, "a");
    DeviceSamples s;
    ok(device_time_sentinel(b, &(DeviceTiming){.min_samples = 10}, &s, &err), "filling is timed");
    ok(s.n == 10 && fabs(s.median_ns - 500) < 1, "%d samples of %g ns", s.n, s.median_ns);
    device_samples_free(&s);
    device_buffer_free(b);
    array_unref(a);
    end();
}

/* What the helpers found, as fractions and means. */
static void test_compare(void) {
    begin();
    Array *a = numbers(40);
    DeviceBuffer *got = buffer(a, ACCESS_WRITE, "got"), *want = buffer(a, ACCESS_NONE, "want");
    CompareOptions o = {.width = 4, .used = 3};
    Comparison c;
    fake.part = (FakePart){.max = 7, .sum = 12, .penalty = 30, .finite = 8, .off = 4, .wrong = 3,
                           .unset = 2, .nan = 1, .first = 1, .counted = 6};
    ok(device_buffer_compare(got, want, &o, &c, &err), "a comparison on the GPU");
    ok(c.n == 10 && c.max_error == 7 && c.first_wrong == 1, "ten answers, the worst, the first");
    ok(c.off == 0.4 && c.wrong == 0.3 && c.unset == 0.2 && c.nan == 0.1,
       "four off, three of them wrong, two of these unset; one NaN as expected");
    ok(c.mean_error == 1.5, "the mean of the eight that are finite");
    ok(c.counted == 6 && c.penalty == 5, "what the six that count cost in the mean");
    fake.part = (FakePart){.max = (double)INFINITY, .wrong = 10, .unset = 10};
    ok(device_buffer_compare(got, want, &o, &c, &err) && isinf(c.mean_error) && c.penalty == 0,
       "of none there is no mean, and no cost");
    device_buffer_free(got), device_buffer_free(want);
    array_unref(a);
    end();
}

/* --- what goes wrong --- */

static void test_faults(void) {
    static const struct {
        int code;
        DeviceStatus status;
        bool lost;
    } rows[] = {{CU_ILLEGAL_ADDRESS, STATUS_ILLEGAL_ADDRESS, true},
                {CU_MISALIGNED, STATUS_MISALIGNED, true},
                {CU_LAUNCH_FAILED, STATUS_LAUNCH_ERROR, true},
                {CU_ASSERT, STATUS_LAUNCH_ERROR, true},
                {CU_LAUNCH_TIMEOUT, STATUS_TIMEOUT, true},
                {CU_ECC, STATUS_CRASH, true},
                {CU_UNKNOWN, STATUS_CRASH, true},
                {CU_OUT_OF_MEMORY, STATUS_OUT_OF_MEMORY, false},
                {CU_OUT_OF_RESOURCES, STATUS_LAUNCH_ERROR, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        DeviceModule *m = load(PTX);
        DeviceLaunch l = launch_of("bad", NULL);
        Measurement out;
        fault = rows[i].code;
        ok(device_launch(m, &l, &out, &err), "a launch that ends with %d is a measurement", fault);
        is_str(device_status_name(out.status), device_status_name(rows[i].status), "its status");
        is_int(out.lost, rows[i].lost, "is the device lost?");
        has_str(out.message, "bad", "the kernel is named");
        fake.fault = fake.coming = fault = CU_OK;
        is_int(device_launch(m, &l, &out, &err), !rows[i].lost, "and what comes next");
        if (rows[i].lost) is_str(err.code, "driver", "is refused");
        device_module_free(m);
        end_lost();
    }
}

/* The third launch is the first of a group; the host waits longer than for one. */
static double busy(const char *kernel) {
    (void)kernel;
    if (fake.launches == 3) fake.busy_until = gi_seconds() + 0.15;
    return 10000;
}

static void test_endless(void) {
    begin();
    DeviceModule *m = load(PTX);
    DeviceLaunch l = launch_of("bad", NULL);
    Measurement out;
    fake.hangs = true;
    l.timeout_s = 0.02;
    double start = gi_seconds();
    ok(device_launch(m, &l, &out, &err), "a kernel that does not end");
    double took = gi_seconds() - start;
    ok(out.status == STATUS_TIMEOUT && out.lost, "is one that ran too long, and takes the device");
    has_str(out.message, "0.02 s", "its message says how long");
    ok(took >= 0.02 && took < 10, "after %.3f s", took);
    device_module_free(m);
    end_lost();
    begin();
    m = load(PTX);
    l = launch_of("bad", NULL);
    l.timeout_s = 0.05;
    fake.takes = busy;
    DeviceSamples s;
    ok(device_time(m, &l, &(DeviceTiming){.min_samples = 4, .max_samples = 4}, &s, &err) &&
           s.last.status == STATUS_OK,
       "launches queued as one may take as long as all of them: %s", s.last.message);
    device_samples_free(&s);
    device_module_free(m);
    end();
    begin();
    m = load(PTX);
    volatile int stop = 1;
    fake.hangs = true;
    l = launch_of("bad", NULL);
    l.interrupt = &stop;
    ok(device_launch(m, &l, &out, &err) && out.lost, "one that a person stops");
    has_str(out.message, "interrupted", "is told apart");
    device_module_free(m);
    end_lost();
}

static void test_impossible(void) {
    begin();
    DeviceModule *m = load(PTX);
    DeviceLaunch l = launch_of("add", NULL);
    Measurement out;
    l.block[0] = 1025;
    ok(device_launch(m, &l, &out, &err) && out.status == STATUS_LAUNCH_ERROR && !out.lost,
       "too many threads: an error of the launch");
    has_str(out.message, "1025 x 1 x 1 threads", "which says how many");
    l.kernel = "nobody";
    ok(!device_launch(m, &l, &out, &err), "no such kernel");
    has_str(err.message, "'nobody'", "is misuse");
    fake.refuses = "line 3: frobnicate";
    ok(device_load(device, PTX, strlen(PTX), &err) == NULL, "code that the driver refuses");
    is_str(err.code, "compile", "is no use");
    has_str(err.message, "frobnicate", "in its words");
    device_module_free(m);
    end();
}

/* --- any call of the driver may fail --- */

static bool story(void) {
    static const char text[] = PTX TEXT;
    Array *a = numbers(100), *e = numbers(100), *s = numbers(100);
    DeviceBuffer *out = device_buffer(device, a, ACCESS_WRITE, "out", &err), *in = NULL;
    DeviceModule *m = NULL;
    DeviceSamples samples = {0};
    Measurement done = {0};
    double ns[2];
    gi_buf what = {0};
    DeviceLaunch l = launch_of("add", NULL);
    l.fill = &out;
    l.n_fill = 1;
    bool fine =
        out && (in = device_buffer(device, e, ACCESS_READ, "in", &err)) != NULL &&
        device_buffer_keep(out, s, &err) &&
        (m = device_load(device, text, strlen(text), &err)) != NULL &&
        device_symbol_write(m, "text", "x", 2, &err) && device_launch(m, &l, &done, &err) &&
        done.status == STATUS_OK &&
        device_time(m, &l, &(DeviceTiming){.flush_l2 = true}, &samples, &err) &&
        device_time_pair((DevicePair){m, &l}, (DevicePair){m, &l}, 2, NULL, ns, ns, &done, &err) &&
        device_intact(device, &what, &err) && device_buffer_read(out, a, &err);
    fine = fine && done.status == STATUS_OK && samples.last.status == STATUS_OK;
    gi_buf_free(&what);
    device_samples_free(&samples);
    device_module_free(m);
    device_buffer_free(in), device_buffer_free(out);
    array_unref(a), array_unref(e), array_unref(s);
    return fine;
}

static void test_failing(void) {
    begin();
    ok(story(), "a story that goes well");
    int live = fake.live, leaks = 0, unnoticed = 0, n = 0;
    do {
        fake.calls = 0;
        fake.fail_at = ++n;
        fake.fail_with = CU_OUT_OF_MEMORY;
        bool fine = story();
        leaks += fake.live != live;
        unnoticed += fine && fake.calls >= n;
        live = fake.live;
    } while (fake.calls >= n);
    ok(n > 300, "any of its %d calls may fail", n - 1);
    is_int(leaks, 0, "and nothing is kept");
    is_int(unnoticed, 0, "nor does one go unnoticed");
    fake.fail_at = 0;
    ok(story(), "the story goes well again");
    end();
}

static void test_opening(void) {
    int opened = 0, leaks = 0, n = 1;
    EmuModel model = {.name = "unused"};
    for (; !opened && n < 500; n++) {
        fake = (struct Fake){.ghz = 2, .fail_at = n, .fail_with = CU_OUT_OF_MEMORY};
        Device *d = device_open("cuda", &model, &err);
        opened += d != NULL;
        device_close(d);
        leaks += fake.live != 0;
    }
    ok(n > 70, "any of the %d calls of opening may fail", n - 2);
    is_int(leaks, 0, "and nothing is kept");
}

int main(void) {
    Compiler *c = compile_open(&err);
    if (c == NULL) {
        printf("1..0 # SKIP %s\n", err.message);
        return 0;
    }
    compile_close(c);
    test_guards();
    test_hidden();
    test_transfers();
    test_variables(PTX TEXT, "a variable with a name", 2);
    test_variables(PTX TEXT HIDDEN, "one that the driver does not find", 7);
    test_outputs();
    test_groups();
    test_enough();
    test_throttled();
    test_all_pairs();
    test_sentinel();
    test_compare();
    test_faults();
    test_endless();
    test_impossible();
    test_failing();
    test_opening();
    return tap_done();
}
