// Single precision: the functions of the CUDA library, accurate and fast ones.
extern "C" __global__ void singles(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    out[i] = expf(v) + sinf(10 * v) + cosf(v) + tanf(v / 4);
    out[n + i] = logf(1 + fabsf(v)) + powf(fabsf(v) + 0.5f, 1.5f) + atan2f(v, 2) + sqrtf(fabsf(v));
    out[2 * n + i] = __expf(v) + __sinf(v) + __cosf(v) + __logf(1 + v * v) + __fdividef(v, 3) +
                     rsqrtf(1 + v * v);
}
