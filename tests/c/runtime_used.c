/* runtime_used.c - does the code behind a call use its result? Pieces of code by the assembler,
** each with the answer. Where a piece goes on behind an instruction, a wrong length or effect of it
** gives another answer. */
#include "runtime/used.h"
#include "tap.h"

#if defined(__x86_64__)

#define NO_RESULT "xor %eax, %eax\n ret\n"  /* behind what leaves eax alone */
#define RESULT    "test %eax, %eax\n ret\n" /* behind what overwrites it */
#define FRAME     "push %rbp\n mov %rsp, %rbp\n"

/* P(name, what it shows, answer, code before the place of return, code behind it) */
#define PIECES(P)                                                                                  \
    P(compared, "a comparison uses it", YES, "", "mov %ecx, %edx\n test %eax, %eax\n ret")         \
    P(dropped, "what overwrites it does not", NO, "", "mov %edx, 8(%rsp)\n" NO_RESULT)             \
    P(called, "nor does another call", NO, "", "mov %rbx, %rdi\n call used_compared\n" RESULT)     \
    P(called_by, "nor one by a register", NO, "", "call *%rbx\n" RESULT)                           \
    P(called_there, "the address of a call uses it", YES, "", "call *(%rax)\n" RESULT)             \
    P(returned, "a return leaves it to the caller", RETURNED, "", "add $8, %rsp\n pop %rbx\n ret") \
    P(doubtful, "unless another path is not known", UNKNOWN, "",                                   \
      "test %ecx, %ecx\n je 1f\n andn %ecx, %ebx, %ebx\n1: ret")                                   \
    P(taken, "a branch that is taken is followed", YES, "",                                        \
      "test %ecx, %ecx\n je 1f\n xor %eax, %eax\n ret\n1: cmp $2, %eax\n ret")                     \
    P(not_taken, "and one that is not", YES, "",                                                   \
      "test %ecx, %ecx\n je 1f\n mov %eax, %ebx\n1:" NO_RESULT)                                    \
    P(jump, "nothing behind a jump is", NO, "", "jmp 1f\n" RESULT "1:" NO_RESULT)                  \
    P(far_jump, "nor behind a long one", NO, "",                                                   \
      ".byte 0xe9, 2, 0, 0, 0\n test %eax, %eax\n" NO_RESULT)                                      \
    P(tail, "a jump to another function is a call", NO, "", "jmp used_compared\n" RESULT)          \
    P(loop, "a loop ends", NO, "", "1: dec %ecx\n jne 1b\n mov $3, %eax\n ret")                    \
    P(cut, "code that ends too early is unknown", UNKNOWN, "", "1: dec %ecx\n jne 1b\n")           \
    P(paths, "and where there are too many paths", UNKNOWN, "",                                    \
      ".rept 20\n test %ecx, %ecx\n jne 1f\n" NO_RESULT "1:\n .endr\n" NO_RESULT)                  \
    P(steps, "or instructions", UNKNOWN, "", ".rept 500\n nop\n .endr\n" NO_RESULT)                \
    P(unknown, "or one that is not known", UNKNOWN, "", "andn %ecx, %ebx, %ebx\n" NO_RESULT)       \
    P(apx, "or a map", UNKNOWN, "", ".byte 0x62, 0xf4, 0x7c, 0x18, 16, 0xc8\n" NO_RESULT)          \
    P(sub, "sub sets it to zero", NO, "", "sub %eax, %eax\n" RESULT)                               \
    P(sub_2, "so does its other form", NO, "", ".byte 0x2b, 0xc0\n" RESULT)                        \
    P(xor_2, "and that of xor", NO, "", ".byte 0x33, 0xc0\n" RESULT)                               \
    P(xor_other, "xor with another register uses it", YES, "", "xor %ecx, %eax\n" NO_RESULT)       \
    P(xor_r8, "xor of others does not", YES, "", "xor %r8d, %r8d\n" RESULT)                        \
    P(pop_r8, "nor does pop", YES, "", "pop %r8\n" RESULT)                                         \
    P(mul, "mul uses it", YES, "", "mul %ecx\n" NO_RESULT)                                         \
    P(imul, "imul uses it", YES, "", "imul $0x11223344, %eax, %edx\n" NO_RESULT)                   \
    P(imul_to, "and overwrites it", NO, "", "imul $0x11223344, %ecx, %eax\n" RESULT)               \
    P(mov_to, "so does mov", NO, "", "mov %ecx, %eax\n" RESULT)                                    \
    P(test_long, "test has a long number", NO, "", "test $0x85c08585, %ecx\n" NO_RESULT)           \
    P(test_1, "or a short one, in its other form", YES, "", ".byte 0xf6, 0xc9, 5\n" RESULT)        \
    P(by_address, "an address uses it", YES, "", "mov (%rdx,%rax,4), %ecx\n" NO_RESULT)            \
    P(by_index, "another index does not", NO, "", "mov (%rbx,%r8,4), %edx\n" NO_RESULT)            \
    P(no_base, "an index without a base has a long number", NO, "",                                \
      "mov 0xc085(,%rcx,4), %edx\n" NO_RESULT)                                                     \
    P(store_r8, "the upper registers are others", NO, "",                                          \
      "mov %r8d, (%rsp)\n test %r8d, %r8d\n" NO_RESULT)                                            \
    P(to_vector, "AVX's conversion of it", YES, "", "vcvtsi2ss %eax, %xmm1, %xmm1\n" NO_RESULT)    \
    P(to_unsigned, "AVX-512's", YES, "", "vcvtusi2ss %eax, %xmm1, %xmm1\n" NO_RESULT)              \
    P(to_longs, "one of vectors leaves it alone", NO, "", "vcvtps2qq %ymm0, %zmm1\n" NO_RESULT)    \
    P(from_float, "a conversion to it", NO, "", "vcvttss2usi %xmm0, %eax\n" RESULT)                \
    P(from_floats, "not one of vectors", YES, "", "vcvttps2udq %zmm0, %zmm0\n" RESULT)             \
    P(moved, "AVX's move of it", YES, "", "vmovd %eax, %xmm3\n" NO_RESULT)                         \
    P(inserted, "its insertion", YES, "", "vpinsrb $1, %eax, %xmm0, %xmm0\n" NO_RESULT)            \
    P(broadcast, "its broadcast", YES, "", "vpbroadcastd %eax, %zmm1\n" NO_RESULT)                 \
    P(mask, "a mask of it", YES, "", "kmovd %eax, %k1\n" NO_RESULT)                                \
    P(rotated, "its rotation", YES, "", "rorx $5, %eax, %ecx\n" NO_RESULT)                         \
    P(from_vector, "a move over it", NO, "", "vmovd %xmm3, %eax\n" RESULT)                         \
    P(from_mask, "a mask over it", NO, "", "kmovd %k1, %eax\n" RESULT)                             \
    P(extracted, "an element over it", NO, "", "vpextrd $1, %xmm0, %eax\n" RESULT)                 \
    P(extracted_float, "or of floats", NO, "", "vextractps $1, %xmm0, %eax\n" RESULT)              \
    P(between, "a move between vectors leaves it", YES, "", "movq %xmm0, %xmm1\n" RESULT)          \
    P(halves, "so does one of halves", NO, "", "vfmadd231ph %zmm0, %zmm1, %zmm2\n" NO_RESULT)      \
    P(sse, "SSE's conversion of it", YES, "", "cvtsi2sd %eax, %xmm0\n" NO_RESULT)                  \
    P(unread, "a local variable that nothing reads", NO, FRAME, "mov %eax, -4(%rbp)\n" RESULT)     \
    P(unread_branch, "in a function for indirect calls", NO, "endbr64\n" FRAME,                    \
      "mov %eax, -4(%rbp)\n" RESULT)                                                               \
    P(unread_set, "one that is set elsewhere", NO, FRAME "movl $0, -4(%rbp)\n",                    \
      "mov %eax, -4(%rbp)\n" RESULT)                                                               \
    P(unread_number, "a number like its place is no use", NO, FRAME "mov $0xfc, %cl\n",            \
      "mov %eax, -4(%rbp)\n" RESULT)                                                               \
    P(unread_far, "one that is far away", NO, FRAME "mov -0x100(%rbp), %ecx\n",                    \
      "mov %eax, -0x200(%rbp)\n" RESULT)                                                           \
    P(read, "one that is read", YES, FRAME "mov -4(%rbp), %ecx\n",                                 \
      "mov %eax, -4(%rbp)\n" NO_RESULT)                                                            \
    P(argument, "a place of the caller's", YES, FRAME, "mov %eax, 16(%rbp)\n" NO_RESULT)           \
    P(no_frame, "where rbp is no frame", YES, "push %rbx\n mov %rsp, %rbx\n",                      \
      "mov %eax, -4(%rbp)\n xor %eax, %eax\n nop\n ret\n")                                         \
    /* numbers behind these look like other instructions if a length is wrong */                   \
    P(vectors, "vectors of all kinds leave it alone", NO, "",                                      \
      "vaddps %ymm0, %ymm0, %ymm0\n vmovaps 64(%rsp), %ymm8\n"                                     \
      "vshufps $0x3d, %xmm0, %xmm1, %xmm0\n vfmadd231ps 0x1000(%rbx,%rcx,4), %ymm1, %ymm0\n"       \
      "vaddps 64(%rsp), %zmm17, %zmm16\n vpternlogd $0x85, %zmm0, %zmm1, %zmm2\n"                  \
      "vextracti64x4 $1, %zmm0, %ymm9\n vmovups %zmm0, 0x1234(%rip)\n vzeroupper\n"                \
      "pshufd $0x50, %xmm0, %xmm0\n palignr $8, %xmm1, %xmm0\n pshufb (%rsp), %xmm2\n"             \
      "vbroadcastss 4(%rdi), %ymm3\n vpinsrd $1, %ecx, %xmm0, %xmm0\n" NO_RESULT)                  \
    P(scalars, "and so do other numbers", NO, "",                                                  \
      "movw $0x8585, 2(%rsp)\n movl $0x85c08585, 4(%rsp)\n testb $0x85, (%rsp)\n"                  \
      "imul $0x85, %ecx, %edx\n movabs $0x85c085c085c0, %rcx\n bt $5, %ecx\n"                      \
      "lock addl $1, (%rsp)\n cmovne %ecx, %edx\n sete %cl\n fldl 8(%rsp)\n endbr64\n"             \
      "nopw 0x0(%rbx,%rbx,1)\n push $0x7585\n" NO_RESULT)

#define CODE(name, what, wanted, before, behind)                                                   \
    __asm__(".pushsection .text\n.globl used_" #name ", used_" #name "_back, used_" #name "_end\n" \
            "used_" #name ":\n" before "\nused_" #name "_back:\n" behind "\nused_" #name "_end:\n" \
            ".popsection\n");                                                                      \
    extern const uint8_t used_##name[], used_##name##_back[], used_##name##_end[];
PIECES(CODE)

static void is(const char *what, Used wanted, const uint8_t *code, const uint8_t *back,
               const uint8_t *end) {
    Used got = used_after(back, code, (size_t)(end - code));
    ok(got == wanted, "%s: %d, wanted %d", what, (int)got, (int)wanted);
}

int main(void) {
#define CHECK(name, what, wanted, before, behind)                                                  \
    is(what, USED_##wanted, used_##name, used_##name##_back, used_##name##_end);
    PIECES(CHECK)
    return tap_done();
}

#else

int main(void) {
    ok(used_after(NULL, NULL, 0) == USED_UNKNOWN, "nothing is known on this processor");
    return tap_done();
}

#endif
