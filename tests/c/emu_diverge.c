/* Random programs of lanes that go different ways, against loops over lanes in C. Branches agree on
** who takes them by a vote, shuffle among themselves, return early, and one branch may spin until
** the other has raised a flag: all of it has one answer however the lanes take turns.
**
** emu_diverge [SEED] */
#include "emu_core_run.h"

enum { FLAGS = 256, ROUNDS = 60, CAP = 200000 };

static uint64_t rng_state;
static uint32_t data[FLAGS + 32];

static uint32_t any(uint32_t n) {
    rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rng_state >> 33) % n;
}

typedef struct Program {
    char *text;
    size_t n;
    int labels, flags;
    uint32_t x[32]; /* %r10 of each lane */
    uint32_t alive;
} Program;

__attribute__((format(printf, 2, 3))) static void emit(Program *p, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    p->n += (size_t)vsnprintf(p->text + p->n, CAP - p->n, fmt, args);
    va_end(args);
}

#define EACH(i, mask)                                                                              \
    for (uint32_t i = 0; i < 32; i++)                                                              \
        if ((mask) >> i & 1)

/* %r10 = %r10 * k + lane */
static void arithmetic(Program *p, uint32_t mask) {
    uint32_t k = 3 + any(50);
    emit(p, "mad.lo.u32 %%r10, %%r10, %u, %%r2;\n", k);
    EACH(i, mask) p->x[i] = p->x[i] * k + i;
}

/* %r10 += %r10 of the lane whose number differs in a bit, where it is one of the mask. */
static void shuffle(Program *p, int depth, uint32_t mask) {
    uint32_t bit = 1u << any(5), old[32];
    emit(p, "shfl.sync.bfly.b32 %%r11, %%r10, %u, 31, %%r%d; xor.b32 %%r12, %%r2, %u;\n", bit,
         20 + depth, bit);
    emit(p,
         "shr.u32 %%r12, %%r%d, %%r12; and.b32 %%r12, %%r12, 1; setp.eq.u32 %%p1, %%r12, 1;\n"
         "@%%p1 add.u32 %%r10, %%r10, %%r11;\n",
         20 + depth);
    memcpy(old, p->x, sizeof old);
    EACH(i, mask) p->x[i] += mask >> (i ^ bit) & 1 ? old[i ^ bit] : 0;
}

static uint32_t part(Program *p, int depth, uint32_t mask);

/* Lanes whose %r10 has a bit take the first branch. %r20 + depth is the mask of the path. */
static uint32_t branch(Program *p, int depth, uint32_t mask) {
    uint32_t bit = any(6), yes = 0;
    int label = p->labels++, flag = any(2) && p->flags < FLAGS ? p->flags++ : -1, in = 20 + depth;
    EACH(i, mask) yes |= (p->x[i] >> bit & 1) << i;
    emit(p, "shr.u32 %%r11, %%r10, %u; and.b32 %%r11, %%r11, 1; setp.eq.u32 %%p2, %%r11, 1;\n",
         bit);
    emit(p, "vote.sync.ballot.b32 %%r%d, %%p2, %%r%d; @%%p2 bra Y%d;\n", in + 1, in, label);
    emit(p, "not.b32 %%r11, %%r%d; and.b32 %%r%d, %%r%d, %%r11;\n", in + 1, in + 1, in);
    bool spins =
        flag >= 0 && yes && (yes & p->alive); /* who raises the flag may not have returned */
    if (spins)
        emit(p,
             "S%d: ld.volatile.global.u32 %%r11, [%%rd0+%d]; setp.eq.u32 %%p3, %%r11, 0;\n"
             "@%%p3 bra S%d;\n",
             label, 4 * flag, label);
    uint32_t left = mask & ~yes ? part(p, depth + 1, mask & ~yes) : 0;
    emit(p, "bra.uni M%d;\nY%d:\n", label, label);
    if (flag >= 0) emit(p, "st.volatile.global.u32 [%%rd0+%d], 1;\n", 4 * flag);
    if (yes) left |= part(p, depth + 1, yes);
    emit(p, "M%d:\n", label);
    if (left != mask) /* some returned inside */
        emit(p, "and.b32 %%r%d, %%r%d, 0x%08x;\n", in, in, left);
    return left;
}

/* Lanes with a low %r10 store it and return. */
static uint32_t leave(Program *p, int depth, uint32_t mask) {
    uint32_t gone = 0;
    EACH(i, mask) gone |= (uint32_t)((p->x[i] & 15) == 3) << i;
    emit(p,
         "and.b32 %%r11, %%r10, 15; setp.eq.u32 %%p2, %%r11, 3;\n"
         "@%%p2 st.global.u32 [%%rd1+%d], %%r10; @%%p2 ret;\n"
         "and.b32 %%r%d, %%r%d, 0x%08x;\n",
         4 * FLAGS, 20 + depth, 20 + depth, ~gone);
    p->alive &= ~gone;
    return mask & ~gone;
}

/* A few statements of the lanes of a mask; those that are left. */
static uint32_t part(Program *p, int depth, uint32_t mask) {
    for (int n = 1 + (int)any(4); n > 0 && mask; n--) {
        uint32_t kind = any(8);
        if (kind < 2) arithmetic(p, mask);
        else if (kind < 4) shuffle(p, depth, mask);
        else if (kind < 5) mask = leave(p, depth, mask);
        else if (depth < 5) mask = branch(p, depth, mask);
        else emit(p, "bar.warp.sync %%r%d;\n", 20 + depth);
    }
    return mask;
}

static bool is_right(int round) {
    Program p = {.text = malloc(CAP), .alive = 0xffffffff};
    emit(&p,
         "%s%smul.lo.u32 %%r10, %%r2, 2654435761; shr.u32 %%r10, %%r10, %u; mov.u32 %%r20, -1;\n",
         PTX_HEAD, PTX_KERNEL, (unsigned)round % 20);
    EACH(i, 0xffffffff) p.x[i] = i * 2654435761u >> round % 20;
    for (int n = 0; n < 4 && p.alive; n++) part(&p, 0, p.alive);
    emit(&p, "st.global.u32 [%%rd1+%d], %%r10;\n%s", 4 * FLAGS, PTX_END);
    Run r = run_new(1, 32);
    r.launch.budget = 5000000;
    memset(data, 0, sizeof data);
    bool fine = run_text(&r, p.text, data, sizeof data) && r.result.status == EMU_OK &&
                memcmp(data + FLAGS, p.x, sizeof p.x) == 0;
    if (!fine) printf("# round %d: %s%s\n%s\n", round, r.err.message, r.result.message, p.text);
    free(p.text);
    return fine;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20140712;
    rng_state = seed;
    int right = 0;
    for (int k = 0; k < ROUNDS; k++) right += is_right(k);
    is_int(right, ROUNDS, "random programs of diverging lanes");
    printf("# seed %llu\n", (unsigned long long)seed);
    return tap_done();
}
