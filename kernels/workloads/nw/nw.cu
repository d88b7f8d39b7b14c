// nw: global alignment of two sequences by Needleman and Wunsch, "A general method applicable to
// the search for similarities in the amino acid sequence of two proteins", 1970.
//
//     nw TILES PENALTY SEED
//
// score[y][x] is the best of the one above and the one to the left, less the penalty of a gap,
// and the one above to the left and the similarity of both residues. The matrix is done in
// tiles, all tiles of a diagonal at once, and within a tile by diagonals, too. Sequences and
// similarities are made from the seed; sequences are TILES times 16 long. The whole matrix is
// checked.
#include "../workload.h"

#include <vector>

#define TILE  16
#define KINDS 24

__device__ int best_of(int diagonal, int above, int left) {
    int best = diagonal;
    if (above > best) best = above;
    if (left > best) best = left;
    return best;
}

// One tile: its top left corner is cell (x0 + 1, y0 + 1) of the matrix, whose rows have `width`
// cells.
__device__ void tile(int *score, const char *across, const char *down, const int *similarity,
                     int width, int penalty, int x0, int y0) {
    __shared__ int cell[TILE + 1][TILE + 1];
    __shared__ int match[TILE][TILE];
    int t = threadIdx.x;

    // The similarity of each pair of residues, a column a thread.
    for (int y = 0; y < TILE; y++) match[y][t] = similarity[down[y0 + y] * KINDS + across[x0 + t]];
    __syncthreads();

    // The cells around the tile: the corner, the row above, the column to the left.
    if (t == 0) cell[0][0] = score[y0 * width + x0];
    __syncthreads();
    cell[0][t + 1] = score[y0 * width + x0 + t + 1];
    __syncthreads();
    cell[t + 1][0] = score[(y0 + t + 1) * width + x0];
    __syncthreads();

    // From the top left corner to the longest diagonal …
    for (int d = 0; d < TILE; d++) {
        if (t <= d) {
            int x = t + 1, y = d - t + 1;
            cell[y][x] = best_of(cell[y - 1][x - 1] + match[y - 1][x - 1], cell[y - 1][x] - penalty,
                                 cell[y][x - 1] - penalty);
        }
        __syncthreads();
    }
    // … and from there to the bottom right.
    for (int d = TILE - 2; d >= 0; d--) {
        if (t <= d) {
            int x = t + TILE - d, y = TILE - t;
            cell[y][x] = best_of(cell[y - 1][x - 1] + match[y - 1][x - 1], cell[y - 1][x] - penalty,
                                 cell[y][x - 1] - penalty);
        }
        __syncthreads();
    }

    for (int y = 0; y < TILE; y++) score[(y0 + y + 1) * width + x0 + t + 1] = cell[y + 1][t + 1];
}

// Diagonals of 1, 2, … tiles: block b is the b-th from the left.
__global__ void upper_left(int *score, const char *across, const char *down, const int *similarity,
                           int width, int penalty, int tiles) {
    int bx = blockIdx.x;
    int by = tiles - 1 - bx;
    tile(score, across, down, similarity, width, penalty, bx * TILE, by * TILE);
}

// Diagonals behind the longest one; a row has `all` tiles.
__global__ void lower_right(int *score, const char *across, const char *down, const int *similarity,
                            int width, int penalty, int tiles, int all) {
    int bx = blockIdx.x + all - tiles;
    int by = all - 1 - blockIdx.x;
    tile(score, across, down, similarity, width, penalty, bx * TILE, by * TILE);
}

int main(int argc, char **argv) {
    const char *usage = "TILES PENALTY SEED";
    int all = argument(argc, argv, 1, 3, usage, 1, 1800);
    int penalty = argument(argc, argv, 2, 3, usage, 0, 1000);
    int seed = argument(argc, argv, 3, 3, usage, 0, 1 << 30);
    int n = all * TILE;
    printf("nw: two sequences of %d, penalty %d, seed %d\n", n, penalty, seed);

    // A similarity is the same both ways, and largest with itself. The second sequence is the
    // first with a third of its residues drawn again.
    Random random(seed);
    std::vector<int> similarity(KINDS * KINDS);
    for (int a = 0; a < KINDS; a++)
        for (int b = 0; b <= a; b++)
            similarity[a * KINDS + b] = similarity[b * KINDS + a] =
                a == b ? 4 + random.below(6) : random.below(6) - 4;
    std::vector<char> across(n), down(n);
    for (char &c : across) c = (char)random.below(KINDS);
    for (int i = 0; i < n; i++) down[i] = random.below(3) ? across[i] : (char)random.below(KINDS);

    int width = n + 1;
    size_t bytes = (size_t)width * width * sizeof(int);
    std::vector<int> first((size_t)width * width), score((size_t)width * width);
    for (int i = 0; i <= n; i++) first[i] = first[(size_t)i * width] = -i * penalty;

    int *d_score, *d_similarity;
    char *d_across, *d_down;
    CUDA(cudaMalloc(&d_score, bytes));
    CUDA(cudaMalloc(&d_similarity, KINDS * KINDS * sizeof(int)));
    CUDA(cudaMalloc(&d_across, n));
    CUDA(cudaMalloc(&d_down, n));
    CUDA(cudaMemcpy(d_score, first.data(), bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_similarity, similarity.data(), KINDS * KINDS * sizeof(int),
                    cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_across, across.data(), n, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_down, down.data(), n, cudaMemcpyHostToDevice));

    for (int tiles = 1; tiles <= all; tiles++)
        upper_left<<<tiles, TILE>>>(d_score, d_across, d_down, d_similarity, width, penalty, tiles);
    for (int tiles = all - 1; tiles >= 1; tiles--)
        lower_right<<<tiles, TILE>>>(d_score, d_across, d_down, d_similarity, width, penalty, tiles,
                                     all);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(score.data(), d_score, bytes, cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int y = 1; y <= n; y++)
        for (int x = 1; x <= n; x++) {
            size_t i = (size_t)y * width + x;
            int best = first[i - width - 1] + similarity[down[y - 1] * KINDS + across[x - 1]];
            if (first[i - width] - penalty > best) best = first[i - width] - penalty;
            if (first[i - 1] - penalty > best) best = first[i - 1] - penalty;
            first[i] = best;
            wrong += score[i] != best;
        }
    CUDA(cudaFree(d_score));
    CUDA(cudaFree(d_similarity));
    CUDA(cudaFree(d_across));
    CUDA(cudaFree(d_down));
    printf("score %d\n", score.back());
    return verdict(wrong);
}
