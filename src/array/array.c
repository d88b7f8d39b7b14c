/* array.c - element types, memory, single elements and the sentinel.
**
** An array is one calloc: the struct, padding to a 64-byte boundary, then the elements. Large
** arrays therefore cost nothing until they are touched (the system hands out zero pages), and
** releasing one is one free. An array of a share (share.h) is the struct alone: its elements lie in
** a mapping that it holds a reference to.
*/
#include "array/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "array/block.h"

#define ALIGNMENT 64

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [ARRAY_I8] = {"i8", 1},   [ARRAY_U8] = {"u8", 1},   [ARRAY_I16] = {"i16", 2},
    [ARRAY_U16] = {"u16", 2}, [ARRAY_I32] = {"i32", 4}, [ARRAY_U32] = {"u32", 4},
    [ARRAY_I64] = {"i64", 8}, [ARRAY_U64] = {"u64", 8}, [ARRAY_F32] = {"f32", 4},
    [ARRAY_F64] = {"f64", 8}, [ARRAY_F16] = {"f16", 2}, [ARRAY_BF16] = {"bf16", 2},
    [ARRAY_E4M3] = {"e4m3", 1}, [ARRAY_E5M2] = {"e5m2", 1},
};

#define N_TYPES ((int)(sizeof types / sizeof types[0]))

const char *array_type_name(ArrayType type) {
    return types[type].name;
}

size_t array_type_size(ArrayType type) {
    return types[type].size;
}

bool array_type_parse(const char *name, ArrayType *out) {
    for (int i = 0; i < N_TYPES; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *out = (ArrayType)i;
            return true;
        }
    }
    return false;
}

/* Multiplies the shape up. Counts that no address space holds are refused here, so that sizes in
** bytes never overflow later. */
bool array_shape_count(ArrayType type, int ndim, const int64_t *shape, int64_t *count,
                       gi_err *err) {
    if (ndim < 1 || ndim > ARRAY_MAX_DIMS)
        return gi_fail(err, "usage", "an array has 1 to %d dimensions, not %d", ARRAY_MAX_DIMS,
                       ndim);
    const int64_t most = (PTRDIFF_MAX - 4096) / (int64_t)array_type_size(type);
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 1)
            return gi_fail(err, "usage",
                           "dimension %d of the array has %lld elements; give at least 1", i + 1,
                           (long long)shape[i]);
        if (shape[i] > most / n)
            return gi_fail(err, "usage",
                           "an array of this shape has more elements than memory can hold");
        n *= shape[i];
    }
    *count = n;
    return true;
}

static void describe(Array *a, ArrayType type, int ndim, const int64_t *shape, int64_t count) {
    a->type = type;
    a->ndim = ndim;
    memcpy(a->shape, shape, (size_t)ndim * sizeof *shape);
    a->count = count;
    a->size_bytes = (size_t)count * array_type_size(type);
    a->refs = 1;
}

Array *array_new(ArrayType type, int ndim, const int64_t *shape, gi_err *err) {
    int64_t count = 0;
    if (!array_shape_count(type, ndim, shape, &count, err)) return NULL;

    const size_t bytes = (size_t)count * array_type_size(type);
    Array *a = calloc(1, sizeof *a + ALIGNMENT - 1 + bytes);
    if (!a) {
        gi_fail(err, "nomem", "no memory for an array of %.1f MB", (double)bytes / 1e6);
        return NULL;
    }
    describe(a, type, ndim, shape, count);
    a->data = (void *)(((uintptr_t)(a + 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return a;
}

Array *array_in_block(ArrayBlock *b, size_t offset, ArrayType type, int ndim,
                      const int64_t *shape) {
    int64_t count = 1;
    for (int i = 0; i < ndim; i++) count *= shape[i];
    Array *a = gi_alloc(sizeof *a);
    describe(a, type, ndim, shape, count);
    a->data = (char *)b->base + offset;
    a->block = b;
    b->refs++;
    return a;
}

ArrayBlock *array_block_map(int fd, size_t bytes, gi_err *err) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        gi_fail(err, "nomem", "no address space for %.1f MB of shared arrays", (double)bytes / 1e6);
        return NULL;
    }
    ArrayBlock *b = gi_alloc(sizeof *b);
    *b = (ArrayBlock){base, bytes, 1};
    return b;
}

void array_block_unref(ArrayBlock *b) {
    if (b == NULL || --b->refs > 0) return;
    munmap(b->base, b->bytes);
    free(b);
}

Array *array_ref(Array *a) {
    a->refs++;
    return a;
}

void array_unref(Array *a) {
    if (a == NULL || --a->refs > 0) return;
    array_block_unref(a->block);
    free(a);
}

/* How many structs there are that such a field is in; -1 where it does not fit. */
static int64_t structs_of(const Array *a, const ArrayField *f, gi_err *err) {
    const int64_t size = (int64_t)array_type_size(f->type);
    if (f->bytes > 0 && (int64_t)a->size_bytes % f->bytes == 0 && f->at >= 0 && f->times > 0 &&
        f->at <= f->bytes && f->times <= (f->bytes - f->at) / size)
        return (int64_t)a->size_bytes / f->bytes;
    gi_fail(err, "usage",
            "no field of %lld %s at byte %lld is in structs of %lld bytes, in an array of %zu",
            (long long)f->times, array_type_name(f->type), (long long)f->at, (long long)f->bytes,
            a->size_bytes);
    return -1;
}

static char *field_of(const Array *a, const ArrayField *f, int64_t i) {
    return (char *)a->data + i * f->bytes + f->at;
}

Array *array_take(const Array *a, const ArrayField *f, gi_err *err) {
    const int64_t n = structs_of(a, f, err), count = n * f->times;
    Array *out = n < 0 ? NULL : array_new(f->type, 1, &count, err);
    const size_t bytes = (size_t)f->times * array_type_size(f->type);
    for (int64_t i = 0; out && i < n; i++)
        memcpy((char *)out->data + (size_t)i * bytes, field_of(a, f, i), bytes);
    return out;
}

/* The values in another type; themselves, with one more reference, in their own. */
static Array *converted(const Array *values, ArrayType type, gi_err *err) {
    if (values->type == type) return array_ref((Array *)values);
    const bool whole = type < ARRAY_F32 && values->type < ARRAY_F32;
    Array *out = array_new(type, 1, &values->count, err);
    for (int64_t i = 0; out && i < values->count; i++) {
        if (whole) array_set_int(out, i, array_get_int(values, i));
        else array_set(out, i, array_get(values, i));
    }
    return out;
}

bool array_place(Array *a, const ArrayField *f, const Array *values, gi_err *err) {
    const int64_t n = structs_of(a, f, err);
    if (n < 0) return false;
    if (values->count != n * f->times)
        return gi_fail(err, "usage", "%lld values are not for a field of %lld elements",
                       (long long)values->count, (long long)(n * f->times));
    Array *from = converted(values, f->type, err);
    const size_t bytes = (size_t)f->times * array_type_size(f->type);
    for (int64_t i = 0; from && i < n; i++)
        memcpy(field_of(a, f, i), (const char *)from->data + (size_t)i * bytes, bytes);
    array_unref(from);
    return from != NULL;
}

double array_get(const Array *a, int64_t i) {
    switch (a->type) {
    case ARRAY_I8: return ((const int8_t *)a->data)[i];
    case ARRAY_U8: return ((const uint8_t *)a->data)[i];
    case ARRAY_I16: return ((const int16_t *)a->data)[i];
    case ARRAY_U16: return ((const uint16_t *)a->data)[i];
    case ARRAY_I32: return ((const int32_t *)a->data)[i];
    case ARRAY_U32: return ((const uint32_t *)a->data)[i];
    case ARRAY_I64: return (double)((const int64_t *)a->data)[i];
    case ARRAY_U64: return (double)((const uint64_t *)a->data)[i];
    case ARRAY_F32: return (double)((const float *)a->data)[i];
    case ARRAY_F64: return ((const double *)a->data)[i];
    case ARRAY_F16:
    case ARRAY_BF16: return array_small_value(a->type, ((const uint16_t *)a->data)[i]);
    case ARRAY_E4M3:
    case ARRAY_E5M2: return array_small_value(a->type, ((const uint8_t *)a->data)[i]);
    }
    return 0;
}

/* 2^63 as a double: the first value above every int64_t. */
#define TWO_63 9223372036854775808.0

static int64_t round_to_int64(double v) {
    if (isnan(v)) return 0;
    const double r = rint(v);
    if (r >= TWO_63) return INT64_MAX;
    return r < -TWO_63 ? INT64_MIN : (int64_t)r;
}

int64_t array_get_int(const Array *a, int64_t i) {
    switch (a->type) {
    case ARRAY_I64: return ((const int64_t *)a->data)[i];
    case ARRAY_U64: return (int64_t)((const uint64_t *)a->data)[i];
    default: return round_to_int64(array_get(a, i));
    }
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

void array_set_int(Array *a, int64_t i, int64_t v) {
    switch (a->type) {
    case ARRAY_I8: ((int8_t *)a->data)[i] = (int8_t)clamp(v, INT8_MIN, INT8_MAX); break;
    case ARRAY_U8: ((uint8_t *)a->data)[i] = (uint8_t)clamp(v, 0, UINT8_MAX); break;
    case ARRAY_I16: ((int16_t *)a->data)[i] = (int16_t)clamp(v, INT16_MIN, INT16_MAX); break;
    case ARRAY_U16: ((uint16_t *)a->data)[i] = (uint16_t)clamp(v, 0, UINT16_MAX); break;
    case ARRAY_I32: ((int32_t *)a->data)[i] = (int32_t)clamp(v, INT32_MIN, INT32_MAX); break;
    case ARRAY_U32: ((uint32_t *)a->data)[i] = (uint32_t)clamp(v, 0, UINT32_MAX); break;
    case ARRAY_I64: ((int64_t *)a->data)[i] = v; break;
    case ARRAY_U64: ((uint64_t *)a->data)[i] = (uint64_t)v; break; /* bits, as Lua's integers */
    case ARRAY_F32: ((float *)a->data)[i] = (float)v; break;
    case ARRAY_F64: ((double *)a->data)[i] = (double)v; break;
    default: array_set(a, i, (double)v);
    }
}

/* u64 needs its own rounding: half of its range lies above int64_t. */
static uint64_t round_to_uint64(double v) {
    const double r = rint(v);
    if (!(r > 0)) return 0;
    return r >= 2 * TWO_63 ? UINT64_MAX : (uint64_t)r;
}

void array_set(Array *a, int64_t i, double v) {
    switch (a->type) {
    case ARRAY_F32: ((float *)a->data)[i] = (float)v; break;
    case ARRAY_F64: ((double *)a->data)[i] = v; break;
    case ARRAY_U64: ((uint64_t *)a->data)[i] = round_to_uint64(v); break;
    case ARRAY_F16:
    case ARRAY_BF16: ((uint16_t *)a->data)[i] = (uint16_t)array_small_bits(a->type, v); break;
    case ARRAY_E4M3:
    case ARRAY_E5M2: ((uint8_t *)a->data)[i] = (uint8_t)array_small_bits(a->type, v); break;
    default: array_set_int(a, i, round_to_int64(v));
    }
}

void array_fill_sentinel(Array *a) {
    if (a->type == ARRAY_F32) {
        uint32_t *p = a->data;
        for (int64_t i = 0; i < a->count; i++) p[i] = ARRAY_SENTINEL_F32;
    } else if (a->type == ARRAY_F64) {
        uint64_t *p = a->data;
        for (int64_t i = 0; i < a->count; i++) p[i] = ARRAY_SENTINEL_F64;
    } else {
        memset(a->data, ARRAY_SENTINEL_BYTE, a->size_bytes);
    }
}
