// Double precision: the functions of the CUDA library, division, square root, and a sum of inverse
// distances.
extern "C" __global__ void doubles(const double *x, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i], sum = 0;
    for (int k = 0; k < n; k++)
        if (k != i) sum += 1 / sqrt((x[k] - v) * (x[k] - v) + 1e-3);
    out[i] = sum;
    out[n + i] = exp(-v * v) * sin(3 * v) + cos(v) / (1 + v * v);
    out[2 * n + i] = log(1 + fabs(v)) + pow(fabs(v) + 0.5, 1.5) + floor(10 * v) + fma(v, v, -v);
}
