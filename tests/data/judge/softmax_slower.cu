// Right and slower: the sum is made again for every element.
__global__ void softmax(const float *x, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float *in = x + row * columns;
    for (int k = 0; k < columns; k++) {
        float most = in[0], sum = 0;
        for (int i = 1; i < columns; i++) most = fmaxf(most, in[i]);
        for (int i = 0; i < columns; i++) sum += expf(in[i] - most);
        out[row * columns + k] = expf(in[k] - most) / sum;
    }
}
