// Half precision: scalar and paired arithmetic, comparison, conversion.
#include <cuda_fp16.h>

#ifdef ROUND_EACH // a compiler may contract __hmul and __hadd into one fma, these it may not
#define MUL __hmul_rn
#define ADD __hadd_rn
#else
#define MUL __hmul
#define ADD __hadd
#endif

extern "C" __global__ void halves(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = __float2half(x[i]), b = __float2half(x[(i + 1) % n]);
    __half2 p = __halves2half2(a, b), q = __hfma2(p, p, __half2half2(a));
    out[4 * i] = __half2float(ADD(MUL(a, b), b));
    out[4 * i + 1] = __half2float(__hfma(a, b, a));
    out[4 * i + 2] = __low2float(q) - __high2float(q);
    out[4 * i + 3] = __hlt(a, b) ? 1.0f : (float)__half2int_rn(a);
}
