// CUDA's integer intrinsics: lanes of 8 and 16 bits, sums of differences, dot products, bits. Every
// item of the kernel writes one result a thread, out[item * n + thread]. tests/c/emu_simd.h says
// what each has to be, and reads here in which order they come: from `bool high, low` on.

#define PUT(value) out[item++ * n + i] = value;
#define U(f) PUT((unsigned)__##f(x))
#define B(f) PUT((unsigned)__##f(x, y))
#define T(f) PUT((unsigned)__##f(x, y, z))
#define S(f) PUT((unsigned)__##f((int)x, (int)y, (int)z))
#define N(f) PUT(__##f(x, y % 32, (int)z % 40))
#define P(f) PUT((unsigned)__##f(x, y, &low)) out[(item - 1) * n + i] |= (unsigned long long)low << 32;
#define Q(f) PUT(__##f(x, y, &high, &low)) \
    out[(item - 1) * n + i] |= (unsigned long long)(high << 1 | low) << 32;
#define L(f) PUT(__##f(v))
#define M(f) PUT(__##f(v, w))

extern "C" __global__ void simd(const unsigned *a, const unsigned *b, const unsigned *c,
                                unsigned long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, item = 0;
    if (i >= n) return;
    unsigned x = a[i], y = b[i], z = c[i];
    unsigned long long v = (unsigned long long)y << 32 | x, w = (unsigned long long)x << 32 | z;
    bool high, low;

    U(vabs2) U(vabsss2) U(vneg2) U(vnegss2)
    B(vadd2) B(vaddss2) B(vaddus2) B(vsub2) B(vsubss2) B(vsubus2)
    B(vabsdiffs2) B(vabsdiffu2) B(vsads2) B(vsadu2) B(vavgs2) B(vavgu2) B(vhaddu2)
    B(vmaxs2) B(vmaxu2) B(vmins2) B(vminu2)
    B(vcmpeq2) B(vcmpne2) B(vcmpges2) B(vcmpgeu2) B(vcmpgts2) B(vcmpgtu2)
    B(vcmples2) B(vcmpleu2) B(vcmplts2) B(vcmpltu2)
    B(vseteq2) B(vsetne2) B(vsetges2) B(vsetgeu2) B(vsetgts2) B(vsetgtu2)
    B(vsetles2) B(vsetleu2) B(vsetlts2) B(vsetltu2)

    U(vabs4) U(vabsss4) U(vneg4) U(vnegss4)
    B(vadd4) B(vaddss4) B(vaddus4) B(vsub4) B(vsubss4) B(vsubus4)
    B(vabsdiffs4) B(vabsdiffu4) B(vsads4) B(vsadu4) B(vavgs4) B(vavgu4) B(vhaddu4)
    B(vmaxs4) B(vmaxu4) B(vmins4) B(vminu4)
    B(vcmpeq4) B(vcmpne4) B(vcmpges4) B(vcmpgeu4) B(vcmpgts4) B(vcmpgtu4)
    B(vcmples4) B(vcmpleu4) B(vcmplts4) B(vcmpltu4)
    B(vseteq4) B(vsetne4) B(vsetges4) B(vsetgeu4) B(vsetgts4) B(vsetgtu4)
    B(vsetles4) B(vsetleu4) B(vsetlts4) B(vsetltu4)

    T(viaddmax_s32) T(viaddmax_u32) T(viaddmax_s32_relu)
    T(viaddmin_s32) T(viaddmin_u32) T(viaddmin_s32_relu)
    T(viaddmax_s16x2) T(viaddmax_u16x2) T(viaddmax_s16x2_relu)
    T(viaddmin_s16x2) T(viaddmin_u16x2) T(viaddmin_s16x2_relu)
    T(vimax3_s32) T(vimax3_u32) T(vimax3_s32_relu) T(vimin3_s32) T(vimin3_u32) T(vimin3_s32_relu)
    T(vimax3_s16x2) T(vimax3_u16x2) T(vimax3_s16x2_relu)
    T(vimin3_s16x2) T(vimin3_u16x2) T(vimin3_s16x2_relu)
    B(vimax_s32_relu) B(vimin_s32_relu) B(vimax_s16x2_relu) B(vimin_s16x2_relu)
    P(vibmax_s32) P(vibmin_s32) P(vibmax_u32) P(vibmin_u32)
    Q(vibmax_s16x2) Q(vibmax_u16x2) Q(vibmin_s16x2) Q(vibmin_u16x2)

    T(sad) T(usad) T(dp4a) S(dp4a) T(dp2a_lo) S(dp2a_lo) T(dp2a_hi) S(dp2a_hi)
    B(mul24) B(umul24) B(mulhi) B(umulhi) B(hadd) B(uhadd) B(rhadd) B(urhadd)
    T(byte_perm) T(funnelshift_l) T(funnelshift_lc) T(funnelshift_r) T(funnelshift_rc)
    U(brev) U(clz) U(ffs) U(popc) N(fns)
    L(brevll) L(clzll) L(ffsll) L(popcll) M(mul64hi) M(umul64hi)
}
