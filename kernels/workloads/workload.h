/* workload.h - what the programs of this folder have in common, on the host: arguments, random
 * data, calls of CUDA that must go well, and the last word on the answers. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/* A call of CUDA that must go well. */
#define CUDA(call)                                                                        \
    do {                                                                                  \
        cudaError_t error_ = (call);                                                      \
        if (error_ != cudaSuccess) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* The i-th argument, a whole number of least to most; `usage` is the line that all are told. */
static inline int argument(int argc, char **argv, int i, int wanted, const char *usage, long least,
                           long most)
{
    if (argc != wanted + 1) {
        fprintf(stderr, "usage: %s %s\n", argv[0], usage);
        exit(2);
    }
    char *end;
    long value = strtol(argv[i], &end, 10);
    if (*argv[i] == 0 || *end != 0 || value < least || value > most) {
        fprintf(stderr, "%s: argument %d must be a whole number of %ld to %ld, not '%s'; "
                        "usage: %s %s\n",
                argv[0], i, least, most, argv[i], argv[0], usage);
        exit(2);
    }
    return (int)value;
}

/* Memory of the device is given back. */
template <class... Pointer> static void release(Pointer... pointers)
{
    for (void *pointer : {(void *)pointers...}) CUDA(cudaFree(pointer));
}

/* Random numbers from a seed: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed) {}
    uint64_t bits()
    {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /* 0 to n - 1 */
    int below(int n) { return (int)(bits() % (uint64_t)n); }
    /* 0 to 1, without 1 */
    float unit() { return (float)(bits() >> 40) * (1.0f / 16777216.0f); }
    float between(float low, float high) { return low + unit() * (high - low); }
};

/* How many of n values are off by more than `error` of the largest right one; NaN always is. The
 * first is told. */
static inline int wrong_values(const char *what, const float *got, const float *want, int n,
                               double error)
{
    double largest = 0;
    int wrong = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs((double)want[i]));
    for (int i = 0; i < n; i++) {
        if (fabs((double)got[i] - (double)want[i]) <= error * largest) continue;
        if (wrong++ == 0) printf("%s %d is %g and not %g\n", what, i, got[i], want[i]);
    }
    return wrong;
}

/* The same of whole numbers, which must be equal. */
static inline int wrong_values(const char *what, const int *got, const int *want, int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        if (got[i] == want[i]) continue;
        if (wrong++ == 0) printf("%s %d is %d and not %d\n", what, i, got[i], want[i]);
    }
    return wrong;
}

/* The last line of every program, and its exit status. */
static inline int verdict(int wrong)
{
    if (wrong > 0) printf("wrong: %d values\n", wrong);
    else printf("right\n");
    return wrong > 0;
}

#endif
