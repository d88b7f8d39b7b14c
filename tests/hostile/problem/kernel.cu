/* kernel.cu - a weighted sum of four neighbours: the honest kernel of the hostile suite.
** Inputs and weights are small whole numbers, so every right answer is exact. */
#define block_size 128

struct Tap {  // a host table has its layout, which packing would change
    char ahead;
    float weight;
};

__constant__ int c_n;
__constant__ Tap c_tap[4];
__device__ unsigned int d_blocks;  // finished blocks
__device__ float d_offset = 3.f;

extern "C" __global__ void blur(const float *in, float *out)
{
    __shared__ float tile[block_size + 4];
    int t = threadIdx.x;
    int i = blockIdx.x * block_size + t;
    float sum = 0.f;
    float part = 0.f;
    int k;

    if (i < c_n) tile[t] = in[i];
    else tile[t] = 0.f;
    if (t < 4) {
        tile[block_size + t] = 0.f;
        if (i + block_size < c_n) tile[block_size + t] = in[i + block_size];
    }
    __syncthreads();
    for (k = 0; k < 4; k++) {
        part = c_tap[k].weight * tile[t + c_tap[k].ahead];
        sum += part;
    }
    sum += d_offset;
    if (i < c_n) {
        out[i] = sum;
    }
    if (t == 0) atomicAdd(&d_blocks, 1u);
}
