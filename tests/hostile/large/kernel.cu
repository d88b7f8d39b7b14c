// kernel.cu - fills more than 2^31 bytes, sixteen at a time: what counts its bytes with 32 bits fails.
extern "C" __global__ void fill(uint4 *out, long long n16)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n16) out[i] = make_uint4(0x2a2a2a2au, 0x2a2a2a2au, 0x2a2a2a2au, 0x2a2a2a2au);
}
