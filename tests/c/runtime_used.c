/* runtime_used.c - does the code behind a call use its result? Pieces of code by the assembler,
** each with the answer; and the length of instructions of every kind, by what follows them. */
#include "runtime/used.h"
#include "tap.h"

#if defined(__x86_64__)

/* A piece of code, up to where the next one begins. */
#define PIECE(name, code)                                                                          \
    __asm__(".pushsection .text\n.globl used_" name "\nused_" name ":\n" code "\n.popsection\n")

PIECE("compared", "mov %ecx, %edx\n test %eax, %eax\n ret");
PIECE("dropped", "mov %edx, 8(%rsp)\n xor %eax, %eax\n ret");
PIECE("called", "mov %rbx, %rdi\n call used_compared\n test %eax, %eax\n ret");
PIECE("returned", "add $8, %rsp\n pop %rbx\n ret");
PIECE("taken", "test %ecx, %ecx\n je 1f\n xor %eax, %eax\n ret\n1: cmp $2, %eax\n ret");
PIECE("not_taken", "test %ecx, %ecx\n je 1f\n mov %eax, %ebx\n1: xor %eax, %eax\n ret");
PIECE("loop", "1: dec %ecx\n jne 1b\n mov $3, %eax\n ret");
PIECE("by_address", "mov (%rdx,%rax,4), %ecx\n ret");
PIECE("to_vector", "vcvtsi2ss %eax, %xmm1, %xmm1\n ret");
PIECE("moved", "vmovd %eax, %xmm3\n ret");
PIECE("from_vector", "vmovd %xmm3, %eax\n ret");
PIECE("sse", "cvtsi2sd %eax, %xmm0\n ret");
PIECE("bits", "andn %ecx, %ebx, %ebx\n xor %eax, %eax\n ret");
/* Numbers behind these look like other instructions if a length is wrong. */
PIECE("vectors",
      "vaddps %ymm0, %ymm0, %ymm0\n vmovaps 64(%rsp), %ymm8\n"
      "vshufps $0x3d, %xmm0, %xmm1, %xmm0\n vfmadd231ps 0x1000(%rbx,%rcx,4), %ymm1, %ymm0\n"
      "vaddps 64(%rsp), %zmm17, %zmm16\n vpternlogd $0x85, %zmm0, %zmm1, %zmm2\n"
      "vextracti64x4 $1, %zmm0, %ymm9\n vmovups %zmm0, 0x1234(%rip)\n vzeroupper\n"
      "pshufd $0x50, %xmm0, %xmm0\n palignr $8, %xmm1, %xmm0\n pshufb (%rsp), %xmm2\n"
      "vbroadcastss 4(%rdi), %ymm3\n vpinsrd $1, %ecx, %xmm0, %xmm0\n xor %eax, %eax\n ret");
PIECE("scalars", "movw $0x8585, 2(%rsp)\n movl $0x85c08585, 4(%rsp)\n testb $0x85, (%rsp)\n"
                 "imul $0x85, %ecx, %edx\n movabs $0x85c085c085c0, %rcx\n bt $5, %ecx\n"
                 "lock addl $1, (%rsp)\n cmovne %ecx, %edx\n sete %cl\n fldl 8(%rsp)\n endbr64\n"
                 "nopw 0x0(%rbx,%rbx,1)\n push $0x7585\n xor %eax, %eax\n ret");
PIECE("end", "nop");

extern const uint8_t used_compared[], used_dropped[], used_called[], used_returned[], used_taken[],
    used_not_taken[], used_loop[], used_by_address[], used_to_vector[], used_moved[],
    used_from_vector[], used_sse[], used_bits[], used_vectors[], used_scalars[], used_end[];

static void is(const char *what, Used wanted, const uint8_t *piece, const uint8_t *end) {
    Used got = used_after(piece, piece, (size_t)(end - piece));
    ok(got == wanted, "%s: %d, wanted %d", what, (int)got, (int)wanted);
}

int main(void) {
    is("a comparison uses it", USED_YES, used_compared, used_dropped);
    is("what overwrites it does not", USED_NO, used_dropped, used_called);
    is("nor does another call", USED_NO, used_called, used_returned);
    is("a return leaves it to the caller", USED_RETURNED, used_returned, used_taken);
    is("a branch that is taken is followed", USED_YES, used_taken, used_not_taken);
    is("and one that is not", USED_YES, used_not_taken, used_loop);
    is("a loop ends", USED_NO, used_loop, used_by_address);
    is("an address uses it", USED_YES, used_by_address, used_to_vector);
    is("AVX's conversion of it", USED_YES, used_to_vector, used_moved);
    is("AVX's move of it", USED_YES, used_moved, used_from_vector);
    is("a move over it", USED_NO, used_from_vector, used_sse);
    is("SSE's conversion of it", USED_YES, used_sse, used_bits);
    is("an instruction that is not known", USED_UNKNOWN, used_bits, used_vectors);
    is("vectors of all kinds leave it alone", USED_NO, used_vectors, used_scalars);
    is("and so do other numbers", USED_NO, used_scalars, used_end);
    is("code that ends too early is unknown", USED_UNKNOWN, used_loop, used_loop + 2);
    return tap_done();
}

#else

int main(void) {
    ok(used_after(NULL, NULL, 0) == USED_UNKNOWN, "nothing is known on this processor");
    return tap_done();
}

#endif
