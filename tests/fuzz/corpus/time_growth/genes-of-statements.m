m__global__ void k(float *x, int n) {
x[n] = 1;
}
