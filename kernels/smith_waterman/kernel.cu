// kernel.cu - Smith-Waterman local alignment with affine gaps, a block for every pair of sequences.
//
// The recurrences of Smith and Waterman (1981) and Gotoh (1982). A first version as most people
// write it: a thread for each letter of the query, which walks along the subject; the threads work
// on one anti-diagonal at a time, with a barrier after each.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// block_size  threads a block, and rows of a strip: any multiple of 32 up to 1024
// scores_from how a pair of letters is scored: 0 constant memory, 1 shared memory, 2 calculated
#define block_size 64
#define scores_from 0

// sharedSubject  the subject is copied to shared memory first
// shuffles       within a warp, rows hand on their values by shuffles, not through shared memory
// nextLetter     a thread fetches the letter of its next column before the barrier
// warpBarrier    a block of one warp waits for the warp only
#undef sharedSubject
#undef shuffles
#undef nextLetter
#undef warpBarrier

#ifdef shuffles
#define isHanded(thread) ((thread) > 0 && (thread) % 32 == 0)  // has its neighbour's values from
#define handsOn(thread) ((thread) % 32 == 31)                  // shared memory; puts its own there
#else
#define isHanded(thread) ((thread) > 0)
#define handsOn(thread) 1
#endif

#if defined(warpBarrier) && block_size == 32
#define stepDone() __syncwarp()
#else
#define stepDone() __syncthreads()
#endif

#define GAP_OPEN 10   // of a gap's first letter
#define GAP_EXTEND 2  // of each further one
#define NEVER (-1000000000)

// ---- scores -----------------------------------------------------------------------------------
//
// Letters are A, C, G, T as 0 to 3: a transition (A-G, C-T) changes bit 1 and nothing else.

__constant__ int c_scores[16] = {5, -4, -1, -4, -4, 5, -4, -1, -1, -4, 5, -4, -4, -1, -4, 5};

#if scores_from == 0
#define scoreOf(a, b) c_scores[4 * (a) + (b)]
#elif scores_from == 1
#define scoreOf(a, b) sharedScores[4 * (a) + (b)]
#else
#define scoreOf(a, b) ((a) == (b) ? 5 : ((a) ^ (b)) == 2 ? -1 : -4)
#endif

#ifdef sharedSubject
#define letterAt(column) letters[column]
#else
#define letterAt(column) subject[column]
#endif

// ---- the kernel -------------------------------------------------------------------------------
//
// best[pair][row] = score of the best local alignment that ends at that letter of the query:
// the largest H of the row. For query letter i and subject letter j
//
//   E(i, j) = max(H(i, j-1) - open, E(i, j-1) - extend)     a gap in the query
//   F(i, j) = max(H(i-1, j) - open, F(i-1, j) - extend)     a gap in the subject
//   H(i, j) = max(0, H(i-1, j-1) + score(i, j), E(i, j), F(i, j))
//
// The rows are done in strips of block_size. Within a strip, thread t is at column step - t, and
// has from thread t-1 what that one calculated a step before. Between strips the last row's H and F
// wait in shared memory: the first thread reads a column long before the last one overwrites it.
//
// All queries are `rows` letters long, all subjects `columns`: one byte a letter.
//
// Launch: block_size threads, a block for every pair; dynamic shared memory of 2 ints a column, and
// a byte a column more.

extern __shared__ int lastRow[];  // [H, F][columns], then the letters of the subject

extern "C" __global__ void smith_waterman(int *best, const unsigned char *queries,
                                          const unsigned char *subjects, int rows, int columns)
{
    __shared__ int handedH[2][block_size];
    __shared__ int handedF[2][block_size];
    __shared__ int sharedScores[16];

    const int thread = threadIdx.x;
    const unsigned char *query = queries + blockIdx.x * rows;
    const unsigned char *subject = subjects + blockIdx.x * columns;
    unsigned char *letters = (unsigned char *)(lastRow + 2 * columns);
    int strip = 0;  // first row of the strip
    int row = 0;
    int step = 0;
    int column = 0;
    int inside = 0;    // is there such a column?
    int letter = 0;    // of the query
    int other = 0;     // of the subject
    int e = 0;         // E, F, H of the cell, then of the cell before
    int f = 0;
    int h = 0;
    int upH = 0;       // H and F of the row above
    int upF = 0;
    int diagonal = 0;  // H of the row above, one column before
    int largest = 0;
    int now = 0;       // which half of handedH and handedF is written

    for (column = thread; column < columns; column += block_size) {
        lastRow[column] = 0;
        lastRow[columns + column] = NEVER;
#ifdef sharedSubject
        letters[column] = subject[column];
#endif
    }
#if scores_from == 1
    if (thread < 16) {
        sharedScores[thread] = c_scores[thread];
    }
#endif
    __syncthreads();

    for (strip = 0; strip < rows; strip += block_size) {
        row = strip + thread;
        letter = row < rows ? query[row] : 0;
        e = NEVER;
        f = NEVER;
        h = 0;
        diagonal = 0;
        largest = 0;
        now = 0;
#ifdef nextLetter
        other = letterAt(0);
#endif

        for (step = 0; step < columns + block_size - 1; step++) {
            column = step - thread;
            inside = column >= 0 && column < columns;

            // What the row above had in this column, a step ago.
#ifdef shuffles
            upH = __shfl_up_sync(0xffffffffu, h, 1);
            upF = __shfl_up_sync(0xffffffffu, f, 1);
#endif
            if (inside && isHanded(thread)) {
                upH = handedH[1 - now][thread - 1];
                upF = handedF[1 - now][thread - 1];
            }
            if (inside && thread == 0) {
                upH = lastRow[column];
                upF = lastRow[columns + column];
            }

            if (inside) {
#ifndef nextLetter
                other = letterAt(column);
#endif
                e = max(h - GAP_OPEN, e - GAP_EXTEND);
                f = max(upH - GAP_OPEN, upF - GAP_EXTEND);
                h = max(max(0, diagonal + scoreOf(letter, other)), max(e, f));
                diagonal = upH;
                largest = max(largest, h);
            }
            if (inside && thread == block_size - 1) {
                lastRow[column] = h;
                lastRow[columns + column] = f;
            }
#ifdef nextLetter
            if (inside && column + 1 < columns) {
                other = letterAt(column + 1);
            }
#endif
            if (handsOn(thread)) {
                handedH[now][thread] = h;
                handedF[now][thread] = f;
            }
            now = 1 - now;
            stepDone();
        }

        if (row < rows) {
            best[blockIdx.x * rows + row] = largest;
        }
    }
}
