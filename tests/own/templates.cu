/*
 * Sum reduction, templated on the element type and the block size.
 *
 * Two passes: every block leaves one partial sum, a single block then adds those up.
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

template <typename T, int BLOCK>
__global__ void reduceSum(const T *in, T *out, unsigned int n)
{
	__shared__ T cache[BLOCK];

	unsigned int tid = threadIdx.x;
	T sum = T(0);

	/* grid-stride loop: any number of blocks is right */
	for (unsigned int i = blockIdx.x * BLOCK + tid; i < n; i += gridDim.x * BLOCK)
		sum += in[i];

	cache[tid] = sum;
	__syncthreads();

	for (unsigned int s = 1; s < BLOCK; s *= 2) {
		if (tid % (2 * s) == 0)
			cache[tid] += cache[tid + s];
		__syncthreads();
	}

	if (tid == 0)
		out[blockIdx.x] = cache[0];
}

template <typename T, int BLOCK>
T sumOnDevice(const T *host, unsigned int n)
{
	const int blocks = 64;
	T *in, *partial, *total, result;

	cudaMalloc(&in, n * sizeof(T));
	cudaMalloc(&partial, blocks * sizeof(T));
	cudaMalloc(&total, sizeof(T));
	cudaMemcpy(in, host, n * sizeof(T), cudaMemcpyHostToDevice);

	reduceSum<T, BLOCK><<<blocks, BLOCK>>>(in, partial, n);
	reduceSum<T, BLOCK><<<1, BLOCK>>>(partial, total, blocks);

	cudaMemcpy(&result, total, sizeof(T), cudaMemcpyDeviceToHost);
	cudaError_t err = cudaGetLastError();
	if (err != cudaSuccess) {
		fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(err));
		exit(1);
	}
	cudaFree(in);
	cudaFree(partial);
	cudaFree(total);
	return result;
}

int main()
{
	const unsigned int n = 1000003;
	float *f = new float[n];
	int *k = new int[n];
	double wantF = 0.0;
	int wantK = 0;

	for (unsigned int i = 0; i < n; i++) {
		f[i] = (i % 100) * 0.01f;
		k[i] = (int)(i % 13) - 6;
		wantF += f[i];
		wantK += k[i];
	}

	float gotF = sumOnDevice<float, 256>(f, n);
	int gotK = sumOnDevice<int, 128>(k, n);
	bool ok = std::fabs(gotF - wantF) < 1e-5 * wantF && gotK == wantK;

	printf("float: %.3f (expected %.3f)\n", gotF, wantF);
	printf("int:   %d (expected %d)\n", gotK, wantK);
	printf("%s\n", ok ? "PASSED" : "FAILED");

	delete[] f;
	delete[] k;
	return ok ? 0 : 1;
}
