/* exec_num.h - lane arithmetic of exec.c, written so that compilers vectorise it (num.c has the
** same meanings for one value). Included by exec.c alone. */

static inline float canon(float x) {
    return x != x ? num_f32_from_bits_inline(0x7fffffffu) : x;
}
