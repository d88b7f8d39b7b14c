/* cuda_helpers.c - gilua's own kernels on the GPU: fill, copies, checksums, comparison, SM clock.
**
** They are CUDA text, compiled by NVRTC for the GPU at hand: the general ones when the device is
** opened, a comparison when the first arrays of its type are compared (all ten types at once would
** take a second). All run in blocks of 256 threads. Results are the same from run to run: a block's
** part is added up as a fixed tree, parts in order, and checksums are integer sums, for which order
** does not matter.
*/
#include "device/cuda.h"

#include <stdio.h>
#include <string.h>

#include "compile/compile.h"

/* clang-format off */
const char cuda_helpers_general[] =
    "typedef unsigned long long u64;\n"
    "typedef unsigned u32;\n"
    "#define THREADS 256\n"
    "\n"
    "extern \"C\" __global__ void gilua_fill(u64 *p, u64 value, u64 n) {\n"
    "    u64 step = (u64)gridDim.x * THREADS;\n"
    "    for (u64 i = blockIdx.x * (u64)THREADS + threadIdx.x; i < n; i += step) p[i] = value;\n"
    "}\n"
    "\n"
    "// Variables of a module to their saved copies (save) or back; a piece a block.\n"
    "struct Piece { u64 address, saved; u32 bytes, pad; };\n"
    "extern \"C\" __global__ void gilua_pieces(const Piece *pieces, u64 base, int save) {\n"
    "    Piece p = pieces[blockIdx.x];\n"
    "    u64 to = save ? base + p.saved : p.address, from = save ? p.address : base + p.saved;\n"
    "    u32 words = (to | from) % 8 == 0 ? p.bytes / 8 : 0;\n"
    "#pragma unroll 2\n"
    "    for (u32 i = threadIdx.x; i < words; i += THREADS) ((u64 *)to)[i] = ((u64 *)from)[i];\n"
    "#pragma unroll 1\n"
    "    for (u32 i = 8 * words + threadIdx.x; i < p.bytes; i += THREADS)\n"
    "        ((char *)to)[i] = ((char *)from)[i];\n"
    "}\n"
    "\n"
    "// Checksums: a zone is cut into chunks, one a block. Each word is mixed with its place.\n"
    "struct Chunk { u64 address, offset; u32 bytes, zone; };\n"
    "__device__ u64 mix(u64 x) {\n"
    "    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;\n"
    "    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;\n"
    "    return x ^ x >> 32;\n"
    "}\n"
    "__device__ u32 word_at(u64 at, u64 start, u64 end) { // bytes outside [start, end) read as 0\n"
    "    u32 word = *(const u32 *)at;\n"
    "    if (at < start) word &= 0xffffffffu << 8 * (start - at);\n"
    "    if (end - at < 4) word &= 0xffffffffu >> 8 * (4 - (end - at));\n"
    "    return word;\n"
    "}\n"
    "extern \"C\" __global__ void gilua_sums(const Chunk *chunks, u64 *sums) {\n"
    "    __shared__ u64 warp[THREADS / 32];\n"
    "    Chunk c = chunks[blockIdx.x];\n"
    "    u64 first = c.address & ~3ull, end = c.address + c.bytes, sum = 0;\n"
    "#pragma unroll 4\n"
    "    for (u64 at = first + 4 * threadIdx.x; at < end; at += 4 * THREADS)\n"
    "        sum += mix(word_at(at, c.address, end) +\n"
    "                   (c.offset + (at - first) + 1) * 0x9e3779b97f4a7c15ull);\n"
    "    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffffu, sum, k);\n"
    "    if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = sum;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x != 0) return;\n"
    "    for (int k = 1; k < THREADS / 32; k++) sum += warp[k];\n"
    "    atomicAdd(&sums[c.zone], sum);\n"
    "}\n"
    "\n"
    "// SM, its clock, and the time, read where the timer ticks.\n"
    "__device__ u64 timer() {\n"
    "    u64 t;\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n"
    "    return t;\n"
    "}\n"
    "extern \"C\" __global__ void gilua_stamp(u64 *stamps) {\n"
    "    u64 before, now;\n"
    "    u32 sm;\n"
    "    if (threadIdx.x != 0) return;\n"
    "    before = now = timer();\n"
    "    while (now == before) now = timer();\n"
    "    u64 clock = clock64();\n"
    "    asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"(sm));\n"
    "    u64 *s = stamps + 3 * blockIdx.x;\n"
    "    s[0] = sm, s[1] = clock, s[2] = now;\n"
    "}\n"
    "\n"
    "// Waits until the host has written the ticket, at most limit_ns.\n"
    "extern \"C\" __global__ void gilua_gate(const volatile u32 *flag, u32 ticket,\n"
    "                                      u64 limit_ns) {\n"
    "    if (threadIdx.x != 0) return;\n"
    "    for (u64 start = timer(); *flag != ticket && timer() - start < limit_ns;) {}\n"
    "}\n";

const char cuda_helpers_compare[] =
    "// array.h says what counts; array/compare.c is the same on the host.\n"
    "typedef unsigned long long u64;\n"
    "typedef long long i64;\n"
    "#define THREADS 256\n"
    "#define CHUNK 2048\n"
    "#define INFINITE __longlong_as_double(0x7ff0000000000000ll)\n"
    "#define UNSET __longlong_as_double(0x7ff8000000000000ll)\n"
    "#define LARGEST 1.7976931348623157e308\n"
    "#define AS_NAN (-1.0)\n"
    "\n"
    "__device__ double error_of(float g, float e) {\n"
    "    if (__float_as_uint(g) == 0x7fdead01u) return UNSET;\n"
    "    if (g == e) return 0;\n"
    "    float d = fabsf(g - e);\n"
    "    if (d <= 3.402823466e38f) return d;\n"
    "    return g != g && e != e ? AS_NAN : INFINITE;\n"
    "}\n"
    "__device__ double error_of(double g, double e) {\n"
    "    if (__double_as_longlong(g) == 0x7ffdead0deaddeadll) return UNSET;\n"
    "    if (g == e) return 0;\n"
    "    double d = fabs(g - e);\n"
    "    if (d <= LARGEST) return d;\n"
    "    return g != g && e != e ? AS_NAN : INFINITE;\n"
    "}\n"
    "template <class T> __device__ double error_of(T g, T e) {\n"
    "    if (g == e) return 0;\n"
    "    if (g == (T)0xababababababababull) return UNSET;\n"
    "    return g > e ? (double)((u64)g - (u64)e) : (double)((u64)e - (u64)g);\n"
    "}\n"
    "\n"
    "struct Part {\n"
    "    double max, sum, penalty; i64 finite, off, wrong, unset, nan, first, counted;\n"
    "};\n"
    "struct Penalty { i64 wanted; double ignore, unset, outside, low, high; };\n"
    "__device__ void add(Part &a, const Part &b) {\n"
    "    a.max = b.max > a.max ? b.max : a.max;\n"
    "    a.sum += b.sum, a.finite += b.finite, a.off += b.off, a.wrong += b.wrong;\n"
    "    a.unset += b.unset, a.nan += b.nan;\n"
    "    a.penalty += b.penalty, a.counted += b.counted;\n"
    "    if (a.first < 0 || (b.first >= 0 && b.first < a.first)) a.first = b.first;\n"
    "}\n"
    "__device__ void reduce(const Part &p, Part *out) {\n"
    "    __shared__ Part part[THREADS];\n"
    "    part[threadIdx.x] = p;\n"
    "#pragma unroll 1\n"
    "    for (int k = THREADS / 2; k > 0; k /= 2) {\n"
    "        __syncthreads();\n"
    "        if (threadIdx.x < k) add(part[threadIdx.x], part[threadIdx.x + k]);\n"
    "    }\n"
    "    if (threadIdx.x == 0) *out = part[0];\n"
    "}\n"
    "\n"
    "// What an answer may differ by, and what is seen of one.\n"
    "struct Limits { double max_error, rel_error, wrong; };\n"
    "struct Seen { double worst; bool off, unset, nan; };\n"
    "__device__ void look(TYPE g, TYPE e, const Limits &limits, Seen &seen) {\n"
    "    double error = error_of(g, e);\n"
    "    if (error != error) seen.unset = true;\n"
    "    else if (error > seen.worst) seen.worst = error;\n"
    "    else if (error == AS_NAN) seen.nan = true;\n"
    "    if (error > limits.max_error\n"
    "        && !(error <= limits.max_error + limits.rel_error * fabs((double)e)))\n"
    "        seen.off = true;\n"
    "}\n"
    "__device__ void count(Part &p, const Seen &seen, double limit, i64 answer) {\n"
    "    double error = seen.unset ? INFINITE : seen.worst;\n"
    "    bool finite = error <= LARGEST;\n"
    "    if (error > p.max) p.max = error;\n"
    "    if (finite) p.sum += error, p.finite++;\n"
    "    p.unset += seen.unset, p.nan += seen.nan;\n"
    "    if (finite && !seen.off) return;\n"
    "    p.off++;\n"
    "    if (finite && error <= limit) return;\n"
    "    p.wrong++;\n"
    "    if (p.first < 0) p.first = answer;\n"
    "}\n"
    "struct alignas(16) Four { TYPE x, y, z, w; };\n"
    "// Expected element i as it was before it was stored xor the key.\n"
    "__device__ TYPE opened(TYPE e, i64 i, u64 key) {\n"
    "    u64 bits = 0;\n"
    "    memcpy(&bits, &e, sizeof e);\n"
    "    bits ^= key >> (8 * ((i * sizeof e) & 7));\n"
    "    memcpy(&e, &bits, sizeof e);\n"
    "    return e;\n"
    "}\n"
    "// What the answer costs whose elements are first to last - 1.\n"
    "__device__ void count_penalty(Part &p, const Penalty &cost, double worst, bool unset,\n"
    "                              const TYPE *got, const TYPE *expected, i64 first, i64 last,\n"
    "                              u64 key) {\n"
    "    bool ignored = true, outside = worst > LARGEST;\n"
    "#pragma unroll 1\n"
    "    for (i64 k = first; k < last; k++) {\n"
    "        double g = (double)got[k];\n"
    "        if ((double)opened(expected[k], k, key) != cost.ignore) ignored = false;\n"
    "        if (!(g >= cost.low && g <= cost.high)) outside = true;\n"
    "    }\n"
    "    if (ignored) return;\n"
    "    p.counted++;\n"
    "    p.penalty += unset ? cost.unset : outside ? cost.outside : worst;\n"
    "}\n"
    "extern \"C\" __global__ void gilua_compare(const TYPE *got, const TYPE *expected,\n"
    "                                         i64 answers, int width, int from, int used,\n"
    "                                         double max_error, double rel_error, double limit,\n"
    "                                         Part *parts, u64 key, Penalty penalty) {\n"
    "    Part p = {0, 0, 0, 0, 0, 0, 0, 0, -1, 0};\n"
    "    Limits limits = {max_error, rel_error, limit};\n"
    "    i64 start = (i64)blockIdx.x * CHUNK;\n"
    "    i64 end = start + CHUNK < answers ? start + CHUNK : answers;\n"
    "#pragma unroll 1\n"
    "    for (i64 i = start + threadIdx.x; i < end; i += THREADS) {\n"
    "        Seen seen = {0, false, false, false};\n"
    "        if (sizeof(TYPE) == 4 && width == 4 && from == 0) { // one wide load each\n"
    "            Four g = ((const Four *)got)[i], e = ((const Four *)expected)[i];\n"
    "            look(g.x, opened(e.x, 4 * i, key), limits, seen);\n"
    "            if (used > 1) look(g.y, opened(e.y, 4 * i + 1, key), limits, seen);\n"
    "            if (used > 2) look(g.z, opened(e.z, 4 * i + 2, key), limits, seen);\n"
    "            if (used > 3) look(g.w, opened(e.w, 4 * i + 3, key), limits, seen);\n"
    "        } else {\n"
    "#pragma unroll 1\n"
    "            for (i64 k = i * width + from; k < i * width + from + used; k++)\n"
    "                look(got[k], opened(expected[k], k, key), limits, seen);\n"
    "        }\n"
    "        count(p, seen, limit, i);\n"
    "        if (penalty.wanted)\n"
    "            count_penalty(p, penalty, seen.worst, seen.unset, got, expected,\n"
    "                          i * width + from, i * width + from + used, key);\n"
    "    }\n"
    "    reduce(p, parts + blockIdx.x);\n"
    "}\n"
    "extern \"C\" __global__ void gilua_total(const Part *parts, i64 n, Part *out) {\n"
    "    Part p = {0, 0, 0, 0, 0, 0, 0, 0, -1, 0};\n"
    "#pragma unroll 1\n"
    "    for (i64 i = threadIdx.x; i < n; i += THREADS) add(p, parts[i]);\n"
    "    reduce(p, out);\n"
    "}\n";
/* clang-format on */

static bool compile(CudaDevice *d, const char *source, const char *type, CompileResult *out,
                    gi_err *err) {
    char define[40];
    const char *defines[] = {define, NULL};
    snprintf(define, sizeof define, "TYPE=%s", type);
    Compiler *c = compile_open(err);
    if (c == NULL) return false;
    CompileOptions options = {.target = d->base.target, .defines = defines};
    bool ok = compile_one(c, source, strlen(source), "gilua's helpers", &options, out, err);
    compile_close(c);
    if (ok && !out->ok) {
        gi_fail(err, "compile", "gilua's own kernels do not compile for %s: %.800s", d->base.target,
                out->log.data);
        compile_result_free(out);
        return false;
    }
    return ok;
}

/* What they compiled to in this process: a device that is lost is opened again. */
typedef struct Compiled {
    const char *source;
    char type[16], target[16];
    CompileResult result; /* for good */
} Compiled;

/* NULL where they do not compile. */
static const char *compiled(CudaDevice *d, const char *source, const char *type, gi_err *err) {
    static Compiled *known;
    static int n, cap;
    Compiled c = {.source = source};
    for (int i = 0; i < n; i++)
        if (known[i].source == source && strcmp(known[i].type, type) == 0 &&
            strcmp(known[i].target, d->base.target) == 0)
            return known[i].result.code.data;
    if (!compile(d, source, type, &c.result, err)) return NULL;
    snprintf(c.type, sizeof c.type, "%s", type);
    snprintf(c.target, sizeof c.target, "%s", d->base.target);
    gi_grow(known, n, cap);
    known[n++] = c;
    return c.result.code.data;
}

static bool load(CudaDevice *d, const char *source, const char *type, CuModule *out, gi_err *err) {
    const char *code = compiled(d, source, type, err);
    if (code == NULL) return false;
    int status = d->cu->module_load(out, code, 0, NULL, NULL);
    return cuda_ok(d, status, "load gilua's own kernels", err);
}

static bool find(CudaDevice *d, CuModule module, CuFunction *out, const char *name, gi_err *err) {
    return cuda_ok(d, d->cu->module_function(out, module, name), "find gilua's own kernels", err);
}

bool cuda_helpers_load(CudaDevice *d, gi_err *err) {
    CudaHelpers *h = &d->helpers;
    return load(d, cuda_helpers_general, "void", &h->module, err) &&
           find(d, h->module, &h->fill, "gilua_fill", err) &&
           find(d, h->module, &h->pieces, "gilua_pieces", err) &&
           find(d, h->module, &h->sums, "gilua_sums", err) &&
           find(d, h->module, &h->stamp, "gilua_stamp", err) &&
           find(d, h->module, &h->gate, "gilua_gate", err);
}

const CudaComparer *cuda_comparer(CudaDevice *d, ArrayType type, gi_err *err) {
    static const char *const names[] = {
        "signed char", "unsigned char",      "short", "unsigned short", "int", "unsigned",
        "long long",   "unsigned long long", "float", "double"};
    if (array_type_is_small(type)) {
        gi_fail(err, "usage", "answers of type %s are compared on the virtual GPU alone: have the "
                              "kernel store f32", array_type_name(type));
        return NULL;
    }
    CudaComparer *c = &d->helpers.comparers[type];
    if (c->total != NULL) return c;
    bool ok = load(d, cuda_helpers_compare, names[type], &c->module, err) &&
              find(d, c->module, &c->compare, "gilua_compare", err) &&
              find(d, c->module, &c->total, "gilua_total", err);
    return ok ? c : NULL;
}

int cuda_help(CudaDevice *d, CuFunction f, unsigned blocks, void **args) {
    return d->cu->launch(f, blocks, 1, 1, 256, 1, 1, 0, d->stream, args, NULL);
}
