/* replay_gpu.c - recordings on a driver without a GPU (fake_driver.h): memory where it was or
** elsewhere, variables of two modules, copies of every shape, what differs, faults, and every call
** of the driver that may fail. Skipped where there is no NVRTC.
*/
#include "fake_driver.h"

#include <unistd.h>

#include "compile/compile.h"
#include "replay/gpu.h"
#include "tap.h"

/* --- kernels: multiply numbers by a constant and count what was done; change one; fault --- */

static FakeSymbol symbols[] = {{"factor", "", 4, ""}, {"total", "", 4, ""}};

typedef struct Given {
    uint64_t numbers, count;
    uint32_t n;
} Given;

static int *own(int i) {
    return (int *)(void *)fake.running->own[i].bytes;
}

static int scale(const void *params) {
    const Given *g = params;
    int *p = fake_at(g->numbers);
    bool other = strstr(fake.running->image, "// plus one") != NULL;
    for (uint32_t i = 0; i < g->n; i++) p[i] = p[i] * *own(0) + other;
    ++*own(1);
    if (g->count) *(int *)fake_at(g->count) += 1;
    return CU_OK;
}

static int step(const void *params) {
    const Given *g = params;
    *own(1) += 10;
    ((int *)fake_at(g->numbers))[0] += 100;
    return CU_OK;
}

/* Changes what a pointer in memory points to. */
static int follow(const void *params) {
    uint64_t *list = fake_at(((const Given *)params)->numbers);
    ++*(int *)fake_at(list[1]);
    list[2] = list[0];
    return CU_OK;
}

static int fault;

static int bad(const void *params) {
    (void)params;
    return fault;
}

static struct CuFunctionObject kernels[] = {{"scale", scale, {8, 8, 4}, NULL, 0, NULL},
                                            {"step", step, {8, 8, 4}, NULL, 0, NULL},
                                            {"bad", bad, {8, 8, 4}, NULL, 0, NULL},
                                            {"follow", follow, {8, 8, 4}, NULL, 0, NULL}};

#define HEAD      ".version 8.0\n.target sm_90\n.address_size 64\n"
#define VARIABLES ".const .align 4 .b8 factor[4];\n.global .align 4 .b8 total[4];\n"
#define KERNEL(name) \
    ".visible .entry " name "(.param .u64 p, .param .u64 c, .param .u32 n) { ret; }\n"

static const char recorded[] =
    HEAD VARIABLES KERNEL("scale") KERNEL("step") KERNEL("bad")
    KERNEL("follow");
static const char same[] = HEAD VARIABLES "// the same\n" KERNEL("scale");
static const char plus[] = HEAD VARIABLES "// plus one\n" KERNEL("scale");

/* --- a recording --- */

#define DEVICE_AT UINT64_C(0x800000000000) /* where no process can have memory */
#define PINNED_AT UINT64_C(0x300000000000)
#define FACTOR_AT UINT64_C(0x810000000000)
#define TOTAL_AT  UINT64_C(0x820000000000)

static const char path[] = "gpu.rec";
static gi_err err;
static Device *device;

static double ten_us(const char *kernel) {
    return kernel[1] == 't' ? 30000 : 10000;
}

static void begin(void) {
    EmuModel model = {.name = "unused"};
    fake = (struct Fake){.kernels = kernels, .n_kernels = 4, .symbols = symbols, .n_symbols = 2,
                         .ghz = 1.5, .takes = ten_us, .separate = true, .compares = true};
    device = device_open("cuda", &model, &err);
}

static void finish(void) {
    bool lost = !cuda_enter(cuda_of(device), &err);
    device_close(device);
    if (!lost) is_int(fake.live, 0, "nothing is left on the GPU");
    fake_exit();
}

static char name[RECORD_NAME];

static const char *blob(RecordWriter *w, const void *bytes, size_t n) {
    record_blob(w, bytes, n, name);
    return name;
}

static const char *numbers(RecordWriter *w, int first, int by) {
    int data[10];
    for (int i = 0; i < 10; i++) data[i] = (first + i) * by;
    return blob(w, data, sizeof data);
}

static const char *number(RecordWriter *w, int v) {
    return blob(w, &v, sizeof v);
}

static void hex_of(const Given *g, char out[41]) {
    const unsigned char *p = (const unsigned char *)g;
    for (int i = 0; i < 20; i++) sprintf(out + 2 * i, "%02x", p[i]);
}

static void launch(RecordWriter *w, const char *kernel, uint64_t p, uint64_t count) {
    char hex[41];
    Given g = {p, count, 10};
    hex_of(&g, hex);
    record_event(w, "launch 0 %s 1,1,1 32,1,1 0 0 1.5 %s", kernel, hex);
}

#define AT(a) ((unsigned long long)(a))

static RecordWriter *head(void) {
    unlink(path);
    RecordWriter *w = record_create(path, &err);
    record_event(w, "gilua 0");
    record_event(w, "module 0 %s", blob(w, recorded, sizeof recorded - 1));
    record_event(w, "variable 0 factor 0x%llx 4", AT(FACTOR_AT));
    record_event(w, "variable 0 total 0x%llx 4", AT(TOTAL_AT));
    record_event(w, "memory 0x%llx 40 device", AT(DEVICE_AT));
    record_event(w, "memory 0x%llx 40 pinned", AT(PINNED_AT));
    record_event(w, "write 0x%llx 4 1 4 1 1 %s", AT(FACTOR_AT), number(w, 2));
    record_event(w, "write 0x%llx 40 1 40 1 1 %s", AT(DEVICE_AT), numbers(w, 0, 1));
    record_event(w, "write 0x%llx 40 1 40 1 1 %s", AT(PINNED_AT), numbers(w, 5, 1));
    return w;
}

/* Numbers in device memory twice, in pinned memory once; a kernel counts in a variable. */
static void record(void) {
    int third[10];
    RecordWriter *w = head();
    launch(w, "scale", DEVICE_AT, TOTAL_AT);
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", AT(DEVICE_AT), numbers(w, 0, 2));
    record_event(w, "write 0x%llx 4 1 4 1 1 %s", AT(FACTOR_AT), number(w, 3));
    launch(w, "scale", DEVICE_AT, 0);
    launch(w, "scale", PINNED_AT, 0);
    launch(w, "step", DEVICE_AT, 0);
    for (int i = 0; i < 10; i++) third[i] = 6 * i + (i == 0 ? 100 : 0);
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", AT(DEVICE_AT), blob(w, third, sizeof third));
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", AT(PINNED_AT), numbers(w, 5, 3));
    record_event(w, "read 0x%llx 4 1 4 1 1 %s", AT(TOTAL_AT), number(w, 14));
    ok(record_end(w, &err), "a recording");
}

/* --- runs --- */

static Recording *file;
static ReplayGpu *replay;

static bool open_replay(void) {
    file = recording_open(path, &err);
    replay = file ? replay_gpu_open(file, device, NULL, 0, &err) : NULL;
    return replay != NULL;
}

static void close_replay(void) {
    replay_gpu_close(replay);
    recording_close(file);
    replay = NULL;
}

static bool run(const char *ptx, ReplayGpuOptions o, ReplayGpuResult *out) {
    ReplayCode code = {0, ptx, ptx ? strlen(ptx) : 0};
    o.code = &code, o.n_code = ptx != NULL, o.partial = true;
    return replay_gpu_run(replay, &o, out, &err);
}

static int n_same(const ReplayGpuResult *r) {
    int n = 0;
    for (int i = 0; i < r->n_reads; i++) n += r->reads[i].same;
    return n;
}

/* Times are floats of milliseconds. */
static bool is_about(double ns, double want) {
    return ns > want - 1 && ns < want + 1;
}

static void test_same(void) {
    ReplayGpuResult r;
    uint64_t there, elsewhere;
    begin();
    if (!ok(open_replay(), "a recording is made ready %s", err.message)) return;
    replay_gpu_places(replay, &there, &elsewhere);
    is_int((long)there, 40, "the host's memory is where it was");
    is_int((long)elsewhere, 40, "the device's elsewhere");
    for (int i = 0; i < 2; i++) {
        if (!ok(run(NULL, (ReplayGpuOptions){0}, &r), "it runs %s", err.message)) return;
        is_str(r.run.message, "", "without a fault");
        is_int(n_same(&r), 4, "and gives what the host got, each time");
        ok(r.reads[0].bytes == NULL && r.reads[0].size == 40, "which is not fetched");
        is_int(r.n_kernels, 2, "two kernels");
        ok(r.kernels[0].launches == 3 && is_about(r.kernels[0].ns, 30000), "have their launches");
        ok(r.kernels[1].launches == 1 && is_about(r.kernels[1].ns, 30000), "and times");
        ok(r.run.ns > 59999, "the whole takes longer, its copies too");
        replay_gpu_free(&r);
    }
    close_replay();
    finish();
}

static void test_other(void) {
    ReplayGpuResult r;
    begin();
    if (!ok(open_replay(), "it is made ready")) return;
    int loads = fake.loads;
    ok(run(same, (ReplayGpuOptions){0}, &r), "code with one kernel of two %s", err.message);
    is_int(n_same(&r), 4, "shares the variables with the other");
    replay_gpu_free(&r);
    ok(run(same, (ReplayGpuOptions){.bytes = true}, &r), "again");
    is_int(fake.loads, loads + 1, "it is loaded once");
    is_int(((const int *)(const void *)r.reads[2].bytes)[1], 18, "bytes are there, if wanted");
    replay_gpu_free(&r);
    ok(run(plus, (ReplayGpuOptions){0}, &r), "code that gives something else");
    is_int(r.run.status, STATUS_OK, "runs");
    is_int(n_same(&r), 1, "and is told by what the host gets");
    is_int(((const int *)(const void *)r.reads[0].bytes)[4], 9, "which is there");
    replay_gpu_free(&r);
    ok(run(NULL, (ReplayGpuOptions){0}, &r) && n_same(&r) == 4, "the recorded code is right again");
    replay_gpu_free(&r);
    ok(run(HEAD, (ReplayGpuOptions){0}, &r) && n_same(&r) == 4,
       "code with none of the kernels changes nothing");
    replay_gpu_free(&r);
    close_replay();
    finish();
}

static void test_time(void) {
    ReplayGpuResult r;
    ReplayGpuOptions timed = {.timed = true, .timing = {.min_samples = 12, .max_samples = 20}};
    begin();
    if (!ok(open_replay(), "it is made ready")) return;
    fake.log[0] = '\0';
    ok(run(same, timed, &r), "it is timed %s", err.message);
    is_int(r.samples.n, 12, "so often");
    ok(is_about(r.samples.median_ns, 60000), "launches and gaps: %g",
       r.samples.median_ns);
    is_int(n_same(&r), 4, "right to the end");
    is_int(fake.passed_early, 0, "nothing begins before all is queued");
    char *restored = strrchr(fake.log, 'G');
    ok(restored && strchr(restored, 'T') < strchr(restored, 's') &&
           strchr(restored, '=') == NULL, "what is restored is not timed: %s", restored);
    replay_gpu_free(&r);
    timed.timing.stop_above_ns = 100;
    ok(run(same, timed, &r) && r.samples.slow && r.samples.n == 3, "slow code is let go");
    replay_gpu_free(&r);
    close_replay();
    finish();
}

static void test_elsewhere(void) {
    ReplayGpuResult r;
    uint64_t there, elsewhere;
    begin();
    fake.other_places = true;
    ok(open_replay(), "a driver that gives other addresses");
    replay_gpu_places(replay, &there, &elsewhere);
    is_int((long)there, 0, "has nothing where it was");
    ok(run(NULL, (ReplayGpuOptions){0}, &r) && n_same(&r) == 4, "and all is right");
    replay_gpu_free(&r);
    close_replay();
    finish();
}

#define SURFACE "array:%d kind=1 format=1 channels=1 dims=2 size=8,4,1"

/* Rows of a picture go into an array, which is a surface, too, and out of it, and within memory. */
static void test_shapes(void) {
    ReplayGpuResult r;
    unsigned char picture[40], out[12];
    for (int i = 0; i < 40; i++) picture[i] = (unsigned char)i;
    RecordWriter *w = head();
    record_event(w, "array 0 8 4 0 1 8,0,0,0 2");
    record_event(w, "write array:0:0:0:0 8 4 8 4 1 %s", blob(w, picture, 32));
    record_event(w, "surface 0x7ffff50000000000 " SURFACE, 0);
    record_event(w, "copy 0x%llx 8 5 array:0:2:1:0 8 4 4 3 1", AT(DEVICE_AT));
    for (int i = 0; i < 12; i++) out[i] = picture[(i / 4 + 1) * 8 + 2 + i % 4];
    launch(w, "bad", 0, 0);
    record_event(w, "read 0x%llx 8 5 4 3 1 %s", AT(DEVICE_AT), blob(w, out, 12));
    record_event(w, "set 0x%llx 4 1 258 2 4 2 1", AT(DEVICE_AT));
    record_event(w, "read 0x%llx 8 1 8 1 1 %s", AT(DEVICE_AT),
                 blob(w, "\2\1\2\1\2\1\2\1", 8));
    record_event(w, "free texture:0x7ffff50000000000");
    record_event(w, "free array:0");
    record_event(w, "memory 0x%llx 40 pinned", AT(PINNED_AT));
    record_event(w, "read 0x%llx 4 1 4 1 1 %s", AT(PINNED_AT), number(w, 0));
    ok(record_end(w, &err), "copies of shapes");
    begin();
    fault = CU_OK;
    if (!ok(open_replay(), "are made ready %s", err.message)) return;
    ok(run(NULL, (ReplayGpuOptions){0}, &r), "and run %s", err.message);
    is_int(n_same(&r), 3, "rows, fills and memory that is new again are as they were");
    replay_gpu_free(&r);
    close_replay();
    finish();
}

/* Two launches of one memory and one of another, a piece that the host gets, and two again. */
static void record_pairs(void) {
    int first[10];
    RecordWriter *w = head();
    launch(w, "scale", DEVICE_AT, 0);
    launch(w, "scale", PINNED_AT, 0);
    launch(w, "step", DEVICE_AT, 0);
    for (int i = 0; i < 10; i++) first[i] = 2 * i + (i == 0 ? 100 : 0);
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", AT(DEVICE_AT), blob(w, first, sizeof first));
    launch(w, "scale", PINNED_AT, 0);
    launch(w, "scale", DEVICE_AT, 0);
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", AT(PINNED_AT), numbers(w, 5, 4));
    record_event(w, "read 0x%llx 4 1 4 1 1 %s", AT(TOTAL_AT), number(w, 14));
    ok(record_end(w, &err), "a recording of pairs");
}

static const ReplayTurn turns[] = {{0, {0}}, {1, {0}}, {0, {0}}, {0, {0}}, {2, {0}}};
static const ReplayTurn waits[] = {{0, {0}}, {1, {0}}, {1, {1}}, {0, {0}}, {1, {0}}};

static ReplayGpuOptions in_turns(const ReplayTurn *list, bool as_graph) {
    return (ReplayGpuOptions){.timed = true, .as_graph = as_graph, .turns = list, .n_turns = 5,
                              .timing = {.warmup = 1, .min_samples = 3, .max_samples = 3}};
}

/* So long all of it takes, and what is said of streams the first time. Kernels are both "s". */
static void is_run(const char *ptx, ReplayGpuOptions o, double ns, const char *said) {
    ReplayGpuResult r;
    fake.turns[0] = '\0';
    if (!ok(run(ptx, o, &r), "it runs %s", err.message)) return;
    ok(is_about(r.samples.median_ns, ns), "as long as the longer ones: %g", r.samples.median_ns);
    if (!o.as_graph) fake.turns[strlen(said)] = '\0'; /* and again; a graph is made once */
    is_str(fake.turns, said, "launches and what they wait for");
    is_int(n_same(&r), 3, "all is right");
    replay_gpu_free(&r);
}

static void test_streams(void) {
    ReplayGpuResult r;
    ReplayGpuOptions few = in_turns(turns, false), once = in_turns(turns, false);
    record_pairs();
    begin();
    if (!ok(open_replay(), "is made ready %s", err.message)) return;
    is_run(NULL, in_turns(NULL, false), 70000, "");
    is_str(fake.turns, "", "one stream has no turns");
    is_run(NULL, in_turns(turns, false), 50000, "1<0 s1 s0 0<1 s0 2<0 s2 0<2 ");
    is_run(NULL, in_turns(waits, false), 50000, "s0 1<0 s1 1<0 s1 0<1 s0 1<0 s1 0<1 ");
    is_run(NULL, in_turns(turns, true), 50000, "s0 1<0 s1 s0 0<1 s0 2<0 s2 0<2 ");
    is_run(NULL, in_turns(waits, true), 50000, "s0 1<0 s1 1<0 s1 0<1 s0 1<0 s1 0<1 ");
    is_run(same, in_turns(turns, false), 50000, "s0 1<0 s1 0<1 s0 s0 2<0 s2 0<2 ");
    is_run(same, in_turns(turns, true), 50000, "s0 1<0 s1 0<1 s0 s0 2<0 s2 0<2 ");
    once.timed = false;
    fake.turns[0] = '\0';
    ok(run(NULL, once, &r) && r.kernels[0].launches == 4, "kernels are timed one after the other");
    ok(strchr(fake.turns, '<') == NULL, "in one stream");
    replay_gpu_free(&r);
    few.n_turns = 4;
    ok(!run(NULL, few, &r), "each launch has its turn");
    is_str(err.message, "turns of 4 launches for 5", "or it is said");
    close_replay();
    finish();
}

/* Memory that points to memory, and numbers that only look like it. */
static void test_pointers(void) {
    ReplayGpuResult r;
    uint64_t list[3] = {DEVICE_AT, DEVICE_AT + 28, 5}, after[3] = {DEVICE_AT, DEVICE_AT + 28,
                                                                    DEVICE_AT};
    uint32_t sizes[6] = {0, 0x8000, 7, 0x8001, 9, 0x8000};
    RecordWriter *w = head();
    record_event(w, "write 0x%llx 24 1 24 1 1 %s", AT(DEVICE_AT), blob(w, list, sizeof list));
    launch(w, "follow", DEVICE_AT, 0);
    record_event(w, "read 0x%llx 24 1 24 1 1 %s", AT(DEVICE_AT), blob(w, after, sizeof after));
    record_event(w, "read 0x%llx 4 1 4 1 1 %s", AT(DEVICE_AT + 28), number(w, 8));
    record_event(w, "write 0x%llx 24 1 24 1 1 %s", AT(PINNED_AT), blob(w, sizes, sizeof sizes));
    record_event(w, "read 0x%llx 24 1 24 1 1 %s", AT(PINNED_AT), blob(w, sizes, sizeof sizes));
    record_event(w, "memory 0x830000000000 8 device"); /* that nobody writes */
    launch(w, "step", UINT64_C(0x830000000000), 0);
    record_event(w, "read 0x830000000000 4 1 4 1 1 %s", number(w, 100));
    ok(record_end(w, &err), "pointers within memory");
    begin();
    if (!ok(open_replay(), "are made ready %s", err.message)) return;
    ok(run(NULL, (ReplayGpuOptions){0}, &r) && r.run.status == STATUS_OK, "and followed");
    is_int(n_same(&r), 4, "they point where the memory is now");
    replay_gpu_free(&r);
    ok(run(NULL, (ReplayGpuOptions){.bytes = true}, &r), "again");
    is_int(n_same(&r), 4, "memory begins as zeros again");
    is_int((long)((const uint32_t *)(const void *)r.reads[2].bytes)[1], 0x8000, "numbers stay");
    replay_gpu_free(&r);
    close_replay();
    finish();
}

/* Structs of pointers with a number among them that comes near an address. */
static void test_pointers_and_numbers(void) {
    enum { WORDS = 10 };
    const uint64_t at = UINT64_C(0x840000000000);
    uint64_t list[WORDS], after[WORDS];
    ReplayGpuResult r;
    for (int i = 0; i < WORDS; i++) list[i] = DEVICE_AT + (unsigned)(4 * i);
    list[WORDS - 1] = DEVICE_AT + INT32_MAX;
    memcpy(after, list, sizeof after);
    after[2] = after[0];
    RecordWriter *w = head();
    record_event(w, "memory 0x%llx 80 device", AT(at));
    record_event(w, "write 0x%llx 40 1 40 1 1 %s", AT(DEVICE_AT), numbers(w, 0, 1));
    record_event(w, "write 0x%llx 80 1 80 1 1 %s", AT(at), blob(w, list, sizeof list));
    launch(w, "follow", at, 0);
    record_event(w, "read 0x%llx 80 1 80 1 1 %s", AT(at), blob(w, after, sizeof after));
    record_event(w, "read 0x%llx 4 1 4 1 1 %s", AT(DEVICE_AT + 4), number(w, 2));
    ok(record_end(w, &err), "pointers beside a number");
    begin();
    if (!ok(open_replay(), "are made ready %s", err.message)) return;
    ok(run(NULL, (ReplayGpuOptions){0}, &r) && r.run.status == STATUS_OK, "and followed");
    is_int(n_same(&r), 2, "they point where the memory is now, and the number stays");
    replay_gpu_free(&r);
    close_replay();
    finish();
}

static void test_faults(void) {
    ReplayGpuResult r;
    RecordWriter *w = head();
    launch(w, "bad", DEVICE_AT, 0);
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", AT(DEVICE_AT), numbers(w, 0, 1));
    record_end(w, &err);
    begin();
    fault = CU_ILLEGAL_ADDRESS;
    ok(open_replay() && run(NULL, (ReplayGpuOptions){0}, &r), "a kernel that strays");
    is_int(r.run.status, STATUS_ILLEGAL_ADDRESS, "has that status");
    ok(r.run.lost, "and the device is lost");
    is_int(r.n_reads, 0, "nobody got anything");
    replay_gpu_free(&r);
    ok(!run(NULL, (ReplayGpuOptions){0}, &r), "nothing runs on it any more");
    close_replay();
    finish();
    begin();
    fault = CU_OK;
    ok(open_replay(), "a driver that hangs");
    fake.hangs = true;
    ok(run(NULL, (ReplayGpuOptions){.timeout_s = 0.01}, &r), "is waited for so long");
    is_int(r.run.status, STATUS_TIMEOUT, "and no longer");
    has_str(r.run.message, "0.01 s", "which is said");
    replay_gpu_free(&r);
    fake.hangs = false;
    close_replay();
    finish();
}

static void refuses(const char *line, const char *why) {
    RecordWriter *w = head();
    record_event(w, "%s", line);
    launch(w, "scale", DEVICE_AT, 0);
    record_end(w, &err);
    ok(!open_replay(), "%s", line);
    has_str(err.message, why, "is refused");
    close_replay();
}

static void takes(const char *line) {
    RecordWriter *w = head();
    record_event(w, "%s", line);
    launch(w, "scale", DEVICE_AT, 0);
    record_end(w, &err);
    ok(open_replay(), "takes %s", line);
    close_replay();
}

#define TEXTURE(at, how)                                                                           \
    "texture 0x7ffff50000000000 0x8000000000" at " format=7 channels=1 " how

static void test_lines(void) {
    begin();
    refuses("set 0x800000000020 9 1 1 1 9 1 1", "no memory that is there");
    refuses("set array:0:0:0:0 1 1 1 1 1 1 1", "not in the array");
    refuses("surface 0x7ffff50000000000 array:0 kind=1 format=1 channels=1 dims=2 size=8,4,1",
            "array is not there");
    refuses("surface 0x7ffff50000000000 0x800000000000 kind=1 format=1", "not understood");
    takes(TEXTURE("00", "kind=0 dims=1 size=10,0,0")); /* all 40 bytes */
    takes(TEXTURE("00", "kind=1 dims=2 size=3,2,0 pitch=28"));
    refuses(TEXTURE("00", "kind=0 dims=1 size=11,0,0"), "in no memory that is there");
    refuses(TEXTURE("24", "kind=0 dims=1 size=2,0,0"), "in no memory that is there");
    refuses(TEXTURE("00", "kind=1 dims=2 size=3,2,0 pitch=32"), "in no memory");
    refuses(TEXTURE("00", "kind=1 dims=1 size=4,1000,0"), "in no memory that is there");
    refuses(TEXTURE("00", "kind=1 dims=2 layers=2 size=2,2,0"), "in no memory");
    refuses("launch 0 none 1,1,1 1,1,1 0 0 1 -", "kernel");
    refuses("launch 7 scale 1,1,1 1,1,1 0 0 1 -", "no such module");
    refuses("launch 0 scale 1,1,1 1,1,1 0 0 1 00", "another size");
    refuses("memory 0x100 99999999999999 device", "impossible");
    refuses("memory 0x0 64 managed", "no memory begins at address 0");
    refuses("nonsense", "not understood");
    unlink(path);
    RecordWriter *w = head();
    record_end(w, &err);
    ok(!open_replay(), "a recording without a launch");
    has_str(err.message, "launches no kernel", "is nothing to replay");
    close_replay();
    finish();
}

/* Every call of the driver fails in its turn: one sentence, nothing left. */
static void test_calls(void (*make)(void), ReplayGpuOptions o, int pieces) {
    ReplayGpuResult r;
    int failed = 0, left = 0;
    make();
    begin();
    for (int i = 0; i < 2; i++) { /* what the device keeps, it has after the first */
        fake.calls = 0;
        if (open_replay() && run(same, o, &r)) replay_gpu_free(&r);
        close_replay();
    }
    int n = fake.calls, live = fake.live;
    for (int i = 1; i <= n; i++) {
        fake.calls = 0, fake.fail_at = i, fake.fail_with = CU_OUT_OF_MEMORY;
        bool fine = open_replay() && run(same, o, &r);
        failed += !fine || r.run.status != STATUS_OK || n_same(&r) != pieces;
        if (fine) replay_gpu_free(&r);
        fake.fail_at = 0;
        close_replay();
        left += fake.live - live;
    }
    ok(n > 60, "%d calls", n);
    ok(failed > n / 2, "%d of them end it", failed);
    is_int(left, 0, "and leave nothing behind");
    ok(open_replay() && run(same, o, &r) && n_same(&r) == pieces,
       "the device is as good as before");
    replay_gpu_free(&r);
    close_replay();
    finish();
}

int main(void) {
    Compiler *c = compile_open(&err);
    if (c == NULL) {
        printf("1..0 # SKIP %s\n", err.message);
        return 0;
    }
    compile_close(c);
    char folder[] = "/tmp/gilua-replay-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;
    record();
    test_same();
    test_other();
    test_time();
    test_elsewhere();
    test_calls(record, (ReplayGpuOptions){0}, 4);
    test_calls(record_pairs, in_turns(turns, false), 3);
    test_calls(record_pairs, in_turns(waits, true), 3);
    test_shapes();
    test_streams();
    test_pointers();
    test_pointers_and_numbers();
    test_faults();
    test_lines();
    unlink(path);
    if (chdir("/") != 0 || rmdir(folder) != 0) return 1;
    return tap_done();
}
