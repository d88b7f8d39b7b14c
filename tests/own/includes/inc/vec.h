#ifndef VEC_H
#define VEC_H

/* A point of DIM coordinates, for host and device. */

#ifndef DIM
#error "DIM is not set: compile with -DDIM=2 or -DDIM=3"
#endif

#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif

struct vec {
    float v[DIM];

    HD float &operator[](int k) { return v[k]; }
    HD float operator[](int k) const { return v[k]; }
};

HD inline float distance2(const vec &a, const vec &b)
{
    float sum = 0;
    for (int k = 0; k < DIM; k++) {
        float d = a[k] - b[k];
        sum += d * d;
    }
    return sum;
}

#endif
