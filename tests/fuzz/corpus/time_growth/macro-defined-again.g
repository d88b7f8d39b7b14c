g__global__ void k(float *x) {
#define M(a) a = 1;
M(x[])
}
