/* replay_events.c - a target for src/replay: whatever the events of a recording say, they are
** refused or run, and touch no memory but their own: on the virtual GPU, and on a driver without a
** GPU (fake_driver.h), whose kernels do nothing. Inputs are events; the data that they name are
** always there. tests/c/replay.c and replay_gpu.c are its short, seeded relatives. */
#include "../c/fake_driver.h"

#include <unistd.h>

#include "../c/emu_model.h"
#include "fuzz.h"
#include "replay/gpu.h"

/* Adds to n words at p the texels of t, a 1-D texture, and of u, a 2-D one. */
static const char kernel[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .const .align 4 .b8 scale[4];\n"
    ".visible .entry k(.param .u64 p, .param .u64 t, .param .u64 u, .param .u32 n) {\n"
    "  .reg .b64 %rd<9>; .reg .b32 %r<19>; .reg .f32 %f<9>; .reg .pred %p<3>;\n"
    "  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [t]; ld.param.u64 %rd3, [u];\n"
    "  ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
    "  setp.ge.u32 %p1, %r2, %r1; @%p1 bra END;\n"
    "  mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, %rd4;\n"
    "  ld.global.u32 %r3, [%rd5]; ld.const.u32 %r4, [scale]; mad.lo.u32 %r5, %r3, %r4, 1;\n"
    "  setp.eq.u64 %p2, %rd2, 0; @%p2 bra SKIP;\n"
    "  tex.1d.v4.u32.s32 {%r6, %r7, %r8, %r9}, [%rd2, {%r2}]; add.u32 %r5, %r5, %r6;\n"
    "  cvt.rn.f32.u32 %f1, %r2;\n"
    "  tex.2d.v4.u32.f32 {%r10, %r11, %r12, %r13}, [%rd3, {%f1, %f1}];\n"
    "  add.u32 %r5, %r5, %r10;\n"
    "SKIP: st.global.u32 [%rd5], %r5;\n"
    "END: ret; }\n";

typedef struct Names { /* of data that events name */
    char code[RECORD_NAME], words[RECORD_NAME], rows[RECORD_NAME];
} Names;

static RecordWriter *begin(const char *path, Names *names) {
    uint32_t words[16] = {1, 2, 3};
    char rows[96] = {4, 5, 6};
    gi_err err;
    unlink(path);
    RecordWriter *w = record_create(path, &err);
    if (w == NULL) abort();
    record_event(w, "gilua 0");
    record_blob(w, kernel, sizeof kernel - 1, names->code);
    record_blob(w, words, sizeof words, names->words);
    record_blob(w, rows, sizeof rows, names->rows);
    return w;
}

static int nothing(const void *params) {
    (void)params;
    return CU_OK;
}

static struct CuFunctionObject kernels[] = {{"k", nothing, {8, 8, 8, 4}, NULL, 0, NULL}};
static FakeSymbol symbols[] = {{"scale", "", 4, ""}};

static double a_while(const char *name) {
    (void)name;
    return 1000;
}

/* The device, for all inputs; NULL where there is no NVRTC to make its own kernels with. */
static Device *driver(void) {
    static Device *d;
    static bool asked;
    EmuModel model = emu_model_round();
    gi_err err;
    if (asked) return d;
    asked = true;
    fake = (struct Fake){.kernels = kernels, .n_kernels = 1, .symbols = symbols, .n_symbols = 1,
                         .ghz = 1.5, .takes = a_while, .separate = true, .compares = true};
    d = device_open("cuda", &model, &err);
    if (d == NULL) fprintf(stderr, "replays on a GPU are not tried: %s\n", err.message);
    return d;
}

static void on_driver(const Recording *r) {
    ReplayGpuOptions o = {0};
    ReplayGpuResult out;
    gi_err err = {0};
    static int grown; /* a device makes some things when they are first needed, and keeps them */
    if (driver() == NULL) return;
    int live = fake.live;
    fake.log[0] = fake.turns[0] = '\0';
    static const char *const answering[] = {"k", "add"};
    ReplayGpu *g = replay_gpu_open(r, driver(), answering, 2, &err);
    if (g && replay_gpu_run(g, &o, &out, &err)) replay_gpu_free(&out);
    else if (err.message[0] == '\0') abort();
    replay_gpu_close(g);
    if (fake.live > live && ++grown > 2) abort(); /* something is not released */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char path[] = "replay_events.file";
    static EmuModel model;
    const char *at = (const char *)data, *end = at + size;
    Names names;
    gi_err err;
    ReplayResult out;
    if (model.name[0] == 0) model = emu_model_round();
    RecordWriter *w = begin(path, &names);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL) line_end = end;
        record_event(w, "%.*s", (int)(line_end - at), at);
        at = line_end + 1;
    }
    if (!record_end(w, &err)) abort();
    Recording *r = recording_open(path, &err);
    ReplayOptions o = {.model = &model, .budget = 100000, .memory_bytes = 1 << 30,
                       .count_uninitialised = size % 2};
    if (r && replay_run(r, &o, &out, &err)) replay_free(&out);
    if (r) on_driver(r);
    recording_close(r);
    return 0;
}

/* Where the emulator puts the constant, device memory, and a texture after the host's memory. */
typedef struct Places {
    unsigned long long scale, memory, other;
} Places;

static Places find_places(void) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    EmuModule *m = emu_load(e, kernel, sizeof kernel - 1, NULL);
    uint64_t scale;
    if (m == NULL || !emu_symbol(m, "scale", NULL, &scale)) abort();
    Places p = {.scale = scale, .memory = emu_alloc(e, 64, "memory", NULL)};
    p.other = emu_alloc(e, 64, "other", NULL);
    emu_unload(m);
    emu_free(e);
    return p;
}

static void hex_of(uint64_t v, int bytes, char *out) {
    for (int i = 0; i < bytes; i++) sprintf(out + 2 * i, "%02x", (unsigned)(v >> 8 * i & 255));
}

static void launch(gi_buf *b, uint64_t memory, uint64_t t, uint64_t u) {
    char hex[57];
    hex_of(memory, 8, hex);
    hex_of(t, 8, hex + 16);
    hex_of(u, 8, hex + 32);
    hex_of(16, 4, hex + 48);
    gi_buf_addf(b, "launch 0 k 1,1,1 32,1,1 0 0 1.5 %s\n", hex);
}

void fuzz_seeds(FuzzAdd *add) {
    enum { LINE = 0x111, ARRAY = 0x222, HOST = 0x70000 };
    Places at = find_places();
    Names n;
    gi_buf b = {0};
    record_leave(begin("replay_events.seed", &n));
    unlink("replay_events.seed");
    gi_buf_addf(&b, "module 0 %s\nvariable 0 scale 0x%llx 4\n", n.code, at.scale);
    gi_buf_addf(&b, "set 0x%llx 4 1 3 1 4 1 1\n", at.scale);
    gi_buf_addf(&b, "memory 0x%llx 64 device\nmemory 0x%llx 64 device\n", at.memory, at.other);
    gi_buf_addf(&b, "write 0x%llx 64 1 64 1 1 %s\n", at.memory, n.words);
    gi_buf_addf(&b, "copy 0x%llx 16 4 0x%llx 16 4 16 4 1\n", at.other, at.memory);
    launch(&b, at.memory, 0, 0);
    gi_buf_addf(&b, "read 0x%llx 64 1 64 1 1 %s\n", at.memory, n.words);
    add(b.data, b.len); /* no textures */
    gi_buf_addf(&b, "memory 0x%x 64 managed\nwrite 0x%x 64 1 64 1 1 %s\n", HOST, HOST, n.words);
    gi_buf_addf(&b, "array 0 8 3 0 2 32,0,0,0 0\nwrite array:0:0:0:0 32 3 32 3 1 %s\n", n.rows);
    gi_buf_addf(&b, "texture 0x%x 0x%x kind=0 format=4 channels=1 dims=1 size=16,0,0\n", LINE,
                HOST);
    gi_buf_addf(&b, "texture 0x%x array:0 kind=1 format=4 channels=1 dims=2 size=8,3,0 layers=0 "
                    "pitch=32 address=1,1,0 linear=0 border=0,0,0,0\n", ARRAY);
    launch(&b, at.memory, LINE, ARRAY);
    gi_buf_addf(&b, "read 0x%llx 16 4 16 4 1 %s\n", at.memory, n.words);
    gi_buf_addf(&b, "read array:0:0:1:0 32 3 32 1 1 %s\n", n.words);
    gi_buf_addf(&b, "free texture:0x%x\nfree array:0\nfree 0x%x\nfree 0x%llx\n", LINE, HOST,
                at.other);
    add(b.data, b.len);
    gi_buf_addf(&b, "texture 0x%x 0x%llx kind=0 format=4 channels=1 dims=1 size=16,0,0\n", LINE,
                at.memory);
    launch(&b, at.memory, LINE, ARRAY);
    add(b.data, b.len); /* texels are gone */
    gi_buf_free(&b);
}
