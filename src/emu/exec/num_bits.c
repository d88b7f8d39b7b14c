/* num_bits.c - the integer instructions C has no operator for, one small function each.
**
** Shift and field amounts follow the ISA's clamping, which C leaves undefined. Reference: PTX ISA,
** "Integer Arithmetic Instructions", "Logic and Shift Instructions", "Video Instructions".
*/
#include "emu/exec/num.h"

#include <string.h>

/* ---- bit fields: what lies beyond the top bit is sign. Of 32 bits pos and len use their low 8
** bits (ISA); of 64 bits all of them, as an H200 does: there the driver shifts. ---- */

uint64_t num_bfe_u64(uint64_t a, uint32_t pos, uint32_t len) {
    if (pos >= 64 || len == 0) return 0;
    a >>= pos;
    return len >= 64 ? a : a & ((UINT64_C(1) << len) - 1);
}

int64_t num_bfe_s64(int64_t a, uint32_t pos, uint32_t len) {
    if (len == 0) return 0;
    if (pos >= 64) return a >> 63;
    if (len >= 64 - pos) return a >> pos;
    return (int64_t)((uint64_t)a << (64 - pos - len)) >> (64 - len);
}

uint32_t num_bfe_u32(uint32_t a, uint32_t pos, uint32_t len) {
    return (uint32_t)num_bfe_u64(a, pos & 255, len & 255);
}

int32_t num_bfe_s32(int32_t a, uint32_t pos, uint32_t len) {
    return (int32_t)num_bfe_s64(a, pos & 255, len & 255);
}

uint64_t num_bfi_b64(uint64_t a, uint64_t b, uint32_t pos, uint32_t len) {
    if (pos >= 64 || len == 0) return b;
    uint64_t field = (len >= 64 ? UINT64_MAX : (UINT64_C(1) << len) - 1) << pos;
    return (b & ~field) | (a << pos & field);
}

uint32_t num_bfi_b32(uint32_t a, uint32_t b, uint32_t pos, uint32_t len) {
    return (uint32_t)num_bfi_b64(a, b, pos & 255, len & 255);
}

uint32_t num_bmsk(uint32_t a, uint32_t b, bool clamp) {
    if (clamp && a >= 32) return 0;
    uint64_t width = clamp && b > 32 ? 32 : clamp ? b : b & 31;
    return (uint32_t)(((UINT64_C(1) << width) - 1) << (a & 31));
}

/* ---- finding bits ---- */

/* Position of the highest bit that differs from the sign, or of the left shift that brings it to
** the top; all ones when there is none. */
uint32_t num_bfind(uint64_t a, int bits, bool is_signed, bool shiftamt) {
    uint64_t mask = UINT64_MAX >> (64 - bits);
    if (is_signed && (a >> (bits - 1) & 1)) a = ~a;
    a &= mask;
    if (a == 0) return UINT32_MAX;
    int top = 63 - __builtin_clzll(a);
    return (uint32_t)(shiftamt ? bits - 1 - top : top);
}

/* The |offset|-th set bit from base on, upwards or downwards; offset 0 asks for base itself. */
uint32_t num_fns(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31) return UINT32_MAX;
    if (offset == 0) return mask >> base & 1 ? base : UINT32_MAX;
    int step = offset > 0 ? 1 : -1;
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    for (int pos = (int)base; pos >= 0 && pos < 32; pos += step)
        if ((mask >> pos & 1) && --left == 0) return (uint32_t)pos;
    return UINT32_MAX;
}

uint64_t num_brev64(uint64_t a) {
    a = (a >> 1 & UINT64_C(0x5555555555555555)) | (a & UINT64_C(0x5555555555555555)) << 1;
    a = (a >> 2 & UINT64_C(0x3333333333333333)) | (a & UINT64_C(0x3333333333333333)) << 2;
    a = (a >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (a & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(a);
}

uint32_t num_brev32(uint32_t a) {
    return (uint32_t)(num_brev64(a) >> 32);
}

/* ---- shifting and selecting ---- */

uint32_t num_shf(uint32_t a, uint32_t b, uint32_t c, bool left, bool wrap) {
    uint32_t n = wrap ? c & 31 : c > 32 ? 32 : c;
    uint64_t both = (uint64_t)b << 32 | a;
    if (left) return n == 32 ? a : (uint32_t)(both << n >> 32);
    return (uint32_t)(both >> n);
}

uint32_t num_lop3(uint32_t a, uint32_t b, uint32_t c, uint8_t lut) {
    uint32_t d = 0;
    for (int row = 0; row < 8; row++)
        if (lut >> row & 1) d |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return d;
}

/* Which of the 8 source bytes goes to byte `i` of the result in a special mode of prmt; `s` is the
** selector's low two bits. */
static unsigned prmt_source(const char *mode, unsigned i, unsigned s) {
    if (strcmp(mode, "f4e") == 0) return (s + i) & 7;
    if (strcmp(mode, "b4e") == 0) return (s - i) & 7;
    if (strcmp(mode, "rc8") == 0) return s;
    if (strcmp(mode, "ecl") == 0) return i > s ? i : s;
    if (strcmp(mode, "ecr") == 0) return i < s ? i : s;
    return (i & 1) | (s & 1) << 1; /* rc16 */
}

uint32_t num_prmt(uint32_t a, uint32_t b, uint32_t c, const char *mode) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t d = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = c >> 4 * i & 15;
        unsigned source = *mode ? prmt_source(mode, i, c & 3) : nibble & 7;
        uint32_t byte = (uint32_t)(bytes >> 8 * source) & 255;
        if (!*mode && (nibble & 8)) /* replicate the sign */
            byte = byte & 128 ? 255 : 0;
        d |= byte << 8 * i;
    }
    return d;
}

/* ---- products and differences ---- */

static int32_t lane(uint32_t x, int index, int bits, bool is_signed) {
    uint32_t v = x >> index * bits & ((1U << bits) - 1);
    return is_signed && (v >> (bits - 1)) ? (int32_t)v - (1 << bits) : (int32_t)v;
}

int32_t num_dp4a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, int32_t c) {
    uint32_t sum = (uint32_t)c;
    for (int i = 0; i < 4; i++)
        sum += (uint32_t)(lane(a, i, 8, a_signed) * lane(b, i, 8, b_signed));
    return (int32_t)sum;
}

int32_t num_dp2a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, int32_t c, bool hi) {
    uint32_t sum = (uint32_t)c;
    for (int i = 0; i < 2; i++)
        sum += (uint32_t)(lane(a, i, 16, a_signed) * lane(b, i + (hi ? 2 : 0), 8, b_signed));
    return (int32_t)sum;
}

/* c + |a - b| in `bits` bits, zero-extended. a, b: sign- or zero-extended. */
uint64_t num_sad(uint64_t a, uint64_t b, uint64_t c, int bits, bool is_signed) {
    bool a_less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    uint64_t sum = c + (a_less ? b - a : a - b);
    return sum & UINT64_MAX >> (64 - bits);
}

uint64_t num_mul_hi_u64(uint64_t a, uint64_t b) {
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

int64_t num_mul_hi_s64(int64_t a, int64_t b) {
    return (int64_t)((__int128)a * b >> 64);
}

uint32_t num_vabsdiff4(uint32_t a, uint32_t b) {
    uint32_t lanes = 0;
    for (int at = 0; at < 32; at += 8) {
        const int32_t d = (int32_t)(a >> at & 0xff) - (int32_t)(b >> at & 0xff);
        lanes |= (uint32_t)(d < 0 ? -d : d) << at;
    }
    return lanes;
}
