/* marks.c - which pieces of the GPU's memory hold something else than when they were last looked
** at. A kernel of ours hashes each piece of MARK_BYTES and compares that with what it was then; so
** memory is read twice around a launch, at the GPU's own speed, and only what changed crosses the
** bus. Two contents with one hash of 64 bits are taken for the same.
**
** A warp has a piece, a lane 16 bytes of it as two words. Each word is multiplied by an odd number
** of its place and mixed; the hash is their sum. Bytes that are zero have the hash zero, so that
** new hashes stand for new memory, which is filled with zeros.
*/
#include "inject/inject.h"

#include <stdlib.h>

enum { PIECES_A_BLOCK = 8, THREADS = 32 * PIECES_A_BLOCK, COUNT_BYTES = 16 };

/* params: memory, its bytes, hashes, marks, their count (0: nothing is marked). */
static const char kernel[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry gilua_marks(.param .u64 base, .param .u64 bytes, .param .u64 hashes,\n"
    "                            .param .u64 marks, .param .u64 count)\n{\n"
    "  .reg .pred %p; .reg .b16 %h; .reg .b32 %r<9>; .reg .b64 %d<16>;\n"
    "  ld.param.u64 %d1, [base]; ld.param.u64 %d2, [bytes];\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;\n"
    "  shr.u32 %r3, %r2, 5; and.b32 %r2, %r2, 31; mad.lo.u32 %r1, %r1, 8, %r3;\n"
    "  mul.wide.u32 %d3, %r1, 512; setp.ge.u64 %p, %d3, %d2; @%p ret;\n"
    "  mul.wide.u32 %d4, %r2, 16; add.u64 %d3, %d3, %d4; add.u64 %d7, %d1, %d3;\n"
    "  mov.u64 %d5, 0; mov.u64 %d6, 0;\n"
    "  add.u64 %d4, %d3, 16; setp.gt.u64 %p, %d4, %d2; @%p bra BYTES;\n"
    "  and.b64 %d4, %d1, 15; setp.ne.u64 %p, %d4, 0; @%p bra BYTES;\n"
    "  ld.global.v2.u64 {%d5, %d6}, [%d7]; bra MIX;\n"
    "BYTES:\n  mov.u32 %r4, 0;\n"
    "NEXT:\n  cvt.u64.u32 %d8, %r4; add.u64 %d9, %d3, %d8;\n"
    "  setp.ge.u64 %p, %d9, %d2; @%p bra MIX;\n"
    "  add.u64 %d9, %d7, %d8; ld.global.u8 %d10, [%d9];\n"
    "  and.b32 %r5, %r4, 7; shl.b32 %r5, %r5, 3; shl.b64 %d10, %d10, %r5;\n"
    "  setp.ge.u32 %p, %r4, 8; @%p or.b64 %d6, %d6, %d10; @!%p or.b64 %d5, %d5, %d10;\n"
    "  add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 16; @%p bra NEXT;\n"
    "MIX:\n  shl.b32 %r5, %r2, 2; cvt.u64.u32 %d8, %r5;\n"
    "  add.u64 %d9, %d8, 0x9e3779b97f4a7c15; mul.lo.u64 %d5, %d5, %d9;\n"
    "  add.u64 %d9, %d8, 0xbf58476d1ce4e5b9; mul.lo.u64 %d6, %d6, %d9;\n"
    "  shr.u64 %d9, %d5, 31; xor.b64 %d5, %d5, %d9; mul.lo.u64 %d5, %d5, 0x94d049bb133111eb;\n"
    "  shr.u64 %d9, %d6, 29; xor.b64 %d6, %d6, %d9; mul.lo.u64 %d6, %d6, 0xff51afd7ed558ccd;\n"
    "  shr.u64 %d9, %d5, 32; xor.b64 %d5, %d5, %d9;\n"
    "  shr.u64 %d9, %d6, 33; xor.b64 %d6, %d6, %d9; mul.lo.u64 %d6, %d6, 0xd6e8feb86659fd93;\n"
    "  add.u64 %d5, %d5, %d6; mov.u32 %r4, 16;\n"
    "SUM:\n  mov.b64 {%r5, %r6}, %d5;\n"
    "  shfl.sync.bfly.b32 %r7, %r5, %r4, 31, -1; shfl.sync.bfly.b32 %r8, %r6, %r4, 31, -1;\n"
    "  mov.b64 %d9, {%r7, %r8}; add.u64 %d5, %d5, %d9;\n"
    "  shr.u32 %r4, %r4, 1; setp.ne.u32 %p, %r4, 0; @%p bra SUM;\n"
    "  setp.ne.u32 %p, %r2, 0; @%p ret;\n"
    "  ld.param.u64 %d1, [hashes]; mul.wide.u32 %d2, %r1, 8; add.u64 %d1, %d1, %d2;\n"
    "  ld.global.u64 %d3, [%d1]; setp.eq.u64 %p, %d3, %d5; @%p ret;\n"
    "  st.global.u64 [%d1], %d5;\n"
    "  ld.param.u64 %d4, [count]; setp.eq.u64 %p, %d4, 0; @%p ret;\n"
    "  ld.param.u64 %d1, [marks]; cvt.u64.u32 %d2, %r1; add.u64 %d1, %d1, %d2;\n"
    "  mov.u16 %h, 1; st.global.u8 [%d1], %h; red.global.add.u32 [%d4], 1;\n"
    "  ret;\n}\n";

struct Marks {
    uint64_t base, hashes, marks; /* marks: their count, and COUNT_BYTES behind it themselves */
    size_t bytes, pieces;
};

Marks *marks_of(uint64_t address, size_t bytes) {
    Marks *m = gi_alloc(sizeof *m);
    *m = (Marks){.base = address, .bytes = bytes, .pieces = (bytes + MARK_BYTES - 1) / MARK_BYTES};
    m->hashes = gpu_memory(m->pieces * 8);
    m->marks = gpu_memory(COUNT_BYTES + m->pieces);
    if (m->hashes == 0 || m->marks == 0)
        refuse("the GPU has no memory left (%zu bytes) to find by what launches of machine code "
               "write",
               m->pieces * 9);
    return m;
}

void marks_free(Marks *m) {
    if (m == NULL) return;
    gpu_memory_free(m->hashes), gpu_memory_free(m->marks);
    free(m);
}

void marks_look(Marks *m, bool marking) {
    uint64_t at = m->marks + COUNT_BYTES, count = marking ? m->marks : 0, bytes = m->bytes;
    void *params[] = {&m->base, &bytes, &m->hashes, &at, &count};
    unsigned blocks = (unsigned)((m->pieces + PIECES_A_BLOCK - 1) / PIECES_A_BLOCK);
    if (!gpu_run(kernel, "gilua_marks", blocks, THREADS, params))
        refuse("the GPU does not run the kernel that finds what launches of machine code write");
}

void marks_take(Marks *m, void (*f)(void *user, size_t from, size_t to), void *user) {
    uint32_t count = 0;
    if (!gpu_read(&count, m->marks, sizeof count) || count == 0) return;
    uint8_t *marks = gi_alloc(m->pieces + 1); /* one more, which has no mark */
    bool ok = gpu_read(marks, m->marks + COUNT_BYTES, m->pieces);
    for (size_t i = 0; ok && i < m->pieces; i++) {
        size_t from = i * MARK_BYTES, to;
        if (!marks[i]) continue;
        while (marks[i]) i++;
        to = i * MARK_BYTES;
        f(user, from, to < m->bytes ? to : m->bytes);
    }
    free(marks);
    gpu_zero(m->marks, COUNT_BYTES + m->pieces);
}
