/* reference.c - the tile histograms of kernel.cu on the CPU, and the images they are tested on.
**
** An image is 8 bits deep, a row every `pitch` bytes (a multiple of 4); what lies behind the last
** pixel of a row is 255 and belongs to no tile. Tiles are `side` pixels wide and high.
**
** The images are made to be unpleasant for atomics, as photographs are: a slow gradient with noise
** on it, so that neighbours are nearly equal, and a quarter of all tiles of 32 pixels is flat.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bytes, on every machine.
*/
#include <stdint.h>
#include <string.h>

#define BINS  256
#define PATCH 32 /* pixels */

void histogram_image(uint64_t seed, int64_t width, int64_t height, int64_t pitch, uint8_t *image);

/* counts[tile][value], the tiles row by row. */
void histogram_counts(const uint8_t *image, int64_t width, int64_t height, int64_t pitch,
                      int64_t side, int32_t *counts);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A grey value of the gradient, and for a quarter of all patches 0: the patch is flat. */
static int noise_of(uint64_t seed, int64_t x, int64_t y) {
    uint64_t state = seed ^ (uint64_t)(y / PATCH) << 32 ^ (uint64_t)(x / PATCH);
    return random_bits(&state) % 4 == 0 ? 0 : 16;
}

void histogram_image(uint64_t seed, int64_t width, int64_t height, int64_t pitch, uint8_t *image) {
    uint64_t state = seed;
    memset(image, 255, (size_t)(pitch * height));
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const int noise = noise_of(seed, x, y);
            const int64_t slow = x / PATCH * 8 + y / PATCH * 24;
            const int64_t value = slow + (int64_t)(random_bits(&state) >> 60) * noise / 16;
            image[y * pitch + x] = (uint8_t)(value % 256);
        }
}

void histogram_counts(const uint8_t *image, int64_t width, int64_t height, int64_t pitch,
                      int64_t side, int32_t *counts) {
    const int64_t across = (width + side - 1) / side, down = (height + side - 1) / side;
    memset(counts, 0, (size_t)(across * down * BINS) * sizeof *counts);
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            counts[(y / side * across + x / side) * BINS + image[y * pitch + x]]++;
}
