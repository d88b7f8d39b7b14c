// A 3 x 3 box filter of an image in a texture, and the image enlarged by linear filtering.
extern "C" __global__ void filter(cudaTextureObject_t point, cudaTextureObject_t linear, float *box,
                                  float *large, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) {
        float sum = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) sum += tex2D<float>(point, x + dx + 0.5f, y + dy + 0.5f);
        box[y * w + x] = sum / 9;
    }
    if (x < 2 * w && y < 2 * h)
        large[y * 2 * w + x] = tex2D<float>(linear, (x + 0.5f) / (2 * w), (y + 0.5f) / (2 * h));
}
