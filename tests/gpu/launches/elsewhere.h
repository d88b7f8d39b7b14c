__global__ void row_means(float *y, const float *x, int rows, int cols);
