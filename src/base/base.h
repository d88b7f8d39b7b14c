/* base.h - the few things every room shares: errors, growing text, hashes, random numbers.
**
** Failure, everywhere in gilua: a fallible function returns false, NULL or a negative count,
** fills a gi_err with a short stable code and one sentence for a person, and leaves its outputs
** untouched. Nothing below src/host prints or exits.
*/
#ifndef GILUA_BASE_H
#define GILUA_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define GI_PRINTF(fmt, first)
#endif

/* Why something failed. `code` is one of: "io" "format" "nodevice" "nolib" "nomem" "driver"
** "gene" (an illegal gene), "compile" (source or PTX that does not compile), "usage". */
typedef struct gi_err {
    char code[16];
    char message[1000];
} gi_err;

/* Fills *err (which may be NULL) and returns false, so that a caller can `return gi_fail(...)`. */
bool gi_fail(gi_err *err, const char *code, const char *fmt, ...) GI_PRINTF(3, 4);

/* The system's words for an errno, until the next call in this thread. A file that is too large is
** told the limit that is set here (ulimit -f). */
const char *gi_reason(int number);

/* Catches SIGXFSZ, which would end the process without a word: a write beyond the limit fails with
** EFBIG instead. What it starts does not inherit that. */
void gi_catch_large_files(void);
bool gi_met_large_file(void); /* has one failed so, since this was asked last? */

/* A growing byte string, always NUL-terminated once anything was added. Zero-initialise it.
** Running out of memory ends the process (see gi_alloc): no caller has to check. */
typedef struct gi_buf {
    char *data;
    size_t len, cap;
} gi_buf;

void gi_buf_add(gi_buf *b, const char *bytes, size_t len);
void gi_buf_adds(gi_buf *b, const char *s);
void gi_buf_addf(gi_buf *b, const char *fmt, ...) GI_PRINTF(2, 3);
void gi_buf_clear(gi_buf *b); /* len = 0, keeps the memory */
void gi_buf_free(gi_buf *b);  /* back to the zero state */

/* malloc/realloc/strdup for small bookkeeping memory: they end the process with GI_EXIT_MEMORY and
** a message when there is none (a farm tells by it what its worker ended of).
** Large data (arrays, device buffers) uses plain calloc and reports "nomem" instead. */
#define GI_EXIT_MEMORY 75
_Noreturn void gi_no_memory(size_t size);  /* ends the process so */
void *gi_alloc(size_t size);               /* zeroed */
void *gi_realloc(void *p, size_t size);
char *gi_strdup(const char *s);
char *gi_strndup(const char *s, size_t len);

/* Adds text from elsewhere as a terminal may have it: control characters but line ends and tabs,
** marks that turn the direction of writing and bytes that are no UTF-8 are shown as \x1b. The same
** in Lua: lua/gilua/base/printable.lua. */
void gi_printable(gi_buf *out, const char *text, size_t len);

/* Within somebody's program: a line "gilua: ..." on its standard error, printable, behind what it
** said on its standard output. */
void gi_speak(const char *fmt, va_list args);

/* Makes room for one more element in a typed vector held as {T *v; int n, cap;}. */
#define gi_grow(v, n, cap)                                                      \
    ((n) < (cap) ? (void)0                                                      \
                 : (void)((cap) = (cap) ? (cap) * 2 : 8,                        \
                          (v) = gi_realloc((v), (size_t)(cap) * sizeof *(v))))

bool gi_is_letter(char c); /* of a name in C: a letter, a digit, _ */

/* Is it one of CUDA's own vectors: float4, uchar2, longlong3 …? */
bool gi_is_vector_type(const char *name);

/* Whole file as text in *out (appended). Codes "io", with the path and the system's reason. Pipes
** and devices, which may have no end, are no files. */
bool gi_read_file(const char *path, gi_buf *out, gi_err *err);

/* Cores that this process may use, 1 at least: those that it is bound to (taskset, Slurm), and no
** more than what its control group is given the time of (docker --cpus), rounded up. */
int gi_cores(void);

/* What a control group of version 2 allows, as cpu.max of it and of those above it says: cores,
** rounded up; 0 where nothing limits it. `cgroup` is a file as /proc/self/cgroup, `root` where the
** groups are mounted. */
int gi_cores_of_group(const char *cgroup, const char *root);

/* Bytes of memory that are free, or hold what can be read again from files: of the machine's, or
** of what its control group allows where that is less. SIZE_MAX: that is not known. */
size_t gi_memory(void);

/* Bytes of memory that the machine has, or its control group allows, used or not. SIZE_MAX: that is
** not known. */
size_t gi_memory_size(void);

/* Of control groups of version 2 alone, as gi_cores_of_group; SIZE_MAX: nothing limits it. */
size_t gi_memory_of_group(const char *cgroup, const char *root);

/* 64-bit non-cryptographic hash of len bytes, chained through seed (0 to begin). Stable across
** machines and versions: it is written to results. */
uint64_t gi_hash(const void *bytes, size_t len, uint64_t seed);

/* 128 bits of it as 32 hexadecimal digits, for keys among many millions. */
void gi_hash128(const void *bytes, size_t len, char hex[33]);

/* SHA-256 as 64 hexadecimal digits: what `sha256sum` says of the same bytes. */
void gi_sha256(const void *bytes, size_t len, char hex[65]);

/* xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
** seeded by splitmix64. The only source of randomness in gilua. */
typedef struct gi_rng {
    uint64_t s[4];
    uint64_t draws; /* since it was seeded */
} gi_rng;

void gi_rng_seed(gi_rng *r, uint64_t seed);
uint64_t gi_rng_next(gi_rng *r);
uint64_t gi_rng_below(gi_rng *r, uint64_t n); /* uniform in 0 … n-1, without modulo bias; n > 0 */
double gi_rng_unit(gi_rng *r);                /* uniform in [0, 1), 53 bits */
double gi_rng_normal(gi_rng *r);              /* mean 0, deviation 1 (polar method) */
/* One of 0 … n-1 with chances as the weights (NULL: all the same); -1 where none has any. */
int gi_rng_weighted(gi_rng *r, const double *weights, int n);

double gi_seconds(void); /* monotonic clock, seconds */

#endif
