/* base.c - see base.h. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool gi_fail(gi_err *err, const char *code, const char *fmt, ...) {
    if (err == NULL) return false;
    va_list args;
    char message[sizeof err->message]; /* the arguments may point into *err itself */
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    memcpy(err->message, message, sizeof message);
    snprintf(err->code, sizeof err->code, "%s", code);
    return false;
}

void gi_no_memory(size_t size) {
    fprintf(stderr, "gilua: out of memory (%zu bytes asked for)\n", size);
    _Exit(GI_EXIT_MEMORY);
}

void *gi_alloc(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (p == NULL) gi_no_memory(size);
    return p;
}

void *gi_realloc(void *p, size_t size) {
    p = realloc(p, size ? size : 1);
    if (p == NULL) gi_no_memory(size);
    return p;
}

char *gi_strndup(const char *s, size_t len) {
    char *copy = gi_alloc(len + 1);
    memcpy(copy, s, len);
    return copy;
}

char *gi_strdup(const char *s) {
    return gi_strndup(s, strlen(s));
}

static void buf_reserve(gi_buf *b, size_t extra) {
    size_t need = b->len + extra + 1;
    if (need <= b->cap) return;
    size_t cap = b->cap ? b->cap * 2 : 64;
    b->cap = cap < need ? need : cap;
    b->data = gi_realloc(b->data, b->cap);
}

const char *gi_reason(int number) {
    static _Thread_local char text[120];
    struct rlimit most;
    if (number != EFBIG || getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY)
        return strerror(number);
    snprintf(text, sizeof text, "%s: the limit of a file's size is %llu bytes (ulimit -f)",
             strerror(number), (unsigned long long)most.rlim_cur);
    return text;
}

static volatile sig_atomic_t large_files;

static void on_large_file(int number) {
    (void)number;
    large_files = 1;
}

void gi_catch_large_files(void) {
    signal(SIGXFSZ, on_large_file);
}

bool gi_met_large_file(void) {
    bool met = large_files;
    large_files = 0;
    return met;
}

void gi_buf_add(gi_buf *b, const char *bytes, size_t len) {
    buf_reserve(b, len);
    if (len) memcpy(b->data + b->len, bytes, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void gi_buf_adds(gi_buf *b, const char *s) {
    gi_buf_add(b, s, strlen(s));
}

void gi_buf_addf(gi_buf *b, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) return;
    buf_reserve(b, (size_t)n);
    va_start(args, fmt);
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, args);
    va_end(args);
    b->len += (size_t)n;
}

void gi_buf_clear(gi_buf *b) {
    b->len = 0;
    if (b->data) b->data[0] = '\0';
}

void gi_buf_free(gi_buf *b) {
    free(b->data);
    *b = (gi_buf){0};
}

bool gi_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool gi_is_vector_type(const char *name) {
    static const char *const elements[] = {"char",  "uchar", "short",    "ushort",    "int",
                                           "uint",  "long",  "ulong",    "longlong",  "ulonglong",
                                           "float", "double"};
    size_t len = strlen(name);
    if (len < 2 || name[len - 1] < '1' || name[len - 1] > '4') return false;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strlen(elements[i]) == len - 1 && memcmp(name, elements[i], len - 1) == 0) return true;
    return false;
}

/* The bytes of the UTF-8 character at s, its number in *c; 0 where there is none. */
static size_t utf8_length(const unsigned char *s, size_t left, unsigned *c) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n == 0 || n > left || s[0] > 0xf4) return 0;
    *c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *c = *c << 6 | (s[i] & 0x3f);
    }
    return *c >= least[n] && *c <= 0x10ffff ? n : 0;
}

static bool is_hidden(unsigned c) {
    if (c < 0x20) return c != '\n' && c != '\t';
    return (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

void gi_printable(gi_buf *out, const char *text, size_t len) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < len;) {
        unsigned c = 0;
        const size_t n = utf8_length(s + i, len - i, &c), taken = n ? n : 1;
        if (s[i] == '\r' && i + 1 < len && s[i + 1] == '\n') i++; /* a line end of Windows */
        else if (n && !is_hidden(c)) gi_buf_add(out, text + i, n), i += n;
        else
            for (size_t end = i + taken; i < end; i++) gi_buf_addf(out, "\\x%02x", s[i]);
    }
}

void gi_speak(const char *fmt, va_list args) {
    char line[1600];
    int n = snprintf(line, sizeof line, "gilua: ");
    vsnprintf(line + n, sizeof line - (size_t)n, fmt, args);
    gi_buf out = {0};
    gi_printable(&out, line, strlen(line));
    gi_buf_adds(&out, "\n");
    fflush(stdout); /* what the program said before */
    fwrite(out.data, 1, out.len, stderr);
    gi_buf_free(&out);
}

bool gi_read_file(const char *path, gi_buf *out, gi_err *err) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe's open may wait */
    if (fd < 0) return gi_fail(err, "io", "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
        close(fd);
        return gi_fail(err, "io", "%s is not a file but a pipe or a device", path);
    }
    char chunk[65536];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) gi_buf_add(out, chunk, (size_t)n);
    int reason = errno;
    close(fd);
    return n == 0 || gi_fail(err, "io", "cannot read %s: %s", path, strerror(reason));
}

static uint64_t mix(uint64_t x) { /* the finaliser of splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The same on every machine. (As a loop over bytes it takes longer than all that follows.) */
static inline uint64_t little_endian(const unsigned char *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Begins n chains over the same bytes. Each waits for its own multiplications alone, so that two
** take as long as one. */
static inline void hash_with(const void *bytes, size_t len, const uint64_t *seed, uint64_t *h,
                             int n) {
    const unsigned char *p = bytes;
    for (int k = 0; k < n; k++) h[k] = mix(seed[k] ^ 0x9e3779b97f4a7c15u) ^ len;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t w = little_endian(p);
        for (int k = 0; k < n; k++) h[k] = mix(h[k] ^ w) + 0x9e3779b97f4a7c15u;
    }
    uint64_t w = 0;
    while (len > 0) w = w << 8 | p[--len];
    for (int k = 0; k < n; k++) h[k] = mix(h[k] ^ w);
}

uint64_t gi_hash(const void *bytes, size_t len, uint64_t seed) {
    uint64_t h;
    hash_with(bytes, len, &seed, &h, 1);
    return h;
}

void gi_hash128(const void *bytes, size_t len, char hex[33]) {
    const uint64_t seeds[2] = {0, 0xd1b54a32d192ed03u};
    uint64_t h[2];
    hash_with(bytes, len, seeds, h, 2);
    snprintf(hex, 33, "%016llx%016llx", (unsigned long long)h[0], (unsigned long long)h[1]);
}

static uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

void gi_rng_seed(gi_rng *r, uint64_t seed) {
    r->draws = 0;
    for (int i = 0; i < 4; i++) r->s[i] = mix(seed += 0x9e3779b97f4a7c15u);
}

uint64_t gi_rng_next(gi_rng *r) {
    uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    r->draws++;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t gi_rng_below(gi_rng *r, uint64_t n) {
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do x = gi_rng_next(r);
    while (x >= limit);
    return x % n;
}

double gi_rng_unit(gi_rng *r) {
    return (double)(gi_rng_next(r) >> 11) * 0x1p-53;
}

double gi_rng_normal(gi_rng *r) {
    for (;;) {
        double u = 2 * gi_rng_unit(r) - 1, v = 2 * gi_rng_unit(r) - 1, q = u * u + v * v;
        if (q > 0 && q < 1) return u * sqrt(-2 * log(q) / q);
    }
}

int gi_rng_weighted(gi_rng *r, const double *weights, int n) {
    double total = 0;
    for (int i = 0; i < n; i++) total += weights ? weights[i] : 1;
    double x = gi_rng_unit(r) * total;
    int found = -1;
    for (int i = 0; i < n; i++) {
        double w = weights ? weights[i] : 1;
        if (w <= 0) continue;
        found = i;
        if (x < w) break;
        x -= w;
    }
    return found;
}

double gi_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
