/* 2-D heat equation, explicit Euler, 5-point stencil.
   Compile-time switches:
     -DTILE=n      block edge (default 16)
     -DPERIODIC    wrap around instead of fixed borders
     -DUSE_DOUBLE  guess                                          */

#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#ifndef TILE
#define TILE 16
#endif

#ifdef USE_DOUBLE
typedef double REAL;
#define R(x) x
#define EPS 1e-12
#else
typedef float REAL;
#define R(x) x##f
#define EPS 1e-4
#endif

#ifdef __CUDACC_DEBUG__
#define TRACE(...) printf(__VA_ARGS__)
#else
#define TRACE(...) ((void)0)
#endif

#define IDX(i, j)   ((j) * nx + (i))
#define DIVUP(a, b) (((a) + (b) - 1) / (b))
#define SQR(x)      ((x) * (x))

#ifdef PERIODIC
#  define WEST(i)  ((i) == 0 ? nx - 1 : (i) - 1)
#  define EAST(i)  ((i) == nx - 1 ? 0 : (i) + 1)
#  define SOUTH(j) ((j) == 0 ? ny - 1 : (j) - 1)
#  define NORTH(j) ((j) == ny - 1 ? 0 : (j) + 1)
#  define INSIDE(i, j) ((i) < nx && (j) < ny)
#else
#  define WEST(i)  ((i) - 1)
#  define EAST(i)  ((i) + 1)
#  define SOUTH(j) ((j) - 1)
#  define NORTH(j) ((j) + 1)
#  define INSIDE(i, j) ((i) > 0 && (i) < nx - 1 && (j) > 0 && (j) < ny - 1)
#endif

#define LAPLACE(u, i, j)                                                        \
    ((u[IDX(WEST(i), j)] - R(2.0) * u[IDX(i, j)] + u[IDX(EAST(i), j)]) / SQR(dx) + \
     (u[IDX(i, SOUTH(j))] - R(2.0) * u[IDX(i, j)] + u[IDX(i, NORTH(j))]) / SQR(dy))

__global__ void heat_step(const REAL *u, REAL *unew, int nx, int ny,
                          REAL dx, REAL dy, REAL alpha, REAL dt)
{
    int i = blockIdx.x * TILE + threadIdx.x;
    int j = blockIdx.y * TILE + threadIdx.y;
    if (INSIDE(i, j)) {
        unew[IDX(i, j)] = u[IDX(i, j)] + alpha * dt * LAPLACE(u, i, j);
    }
#ifndef PERIODIC
    else if (i < nx && j < ny) {
        unew[IDX(i, j)] = u[IDX(i, j)];
    }
#endif
    TRACE("%d %d done\n", i, j);
}

#define CUDA(x) do { cudaError_t e = (x); if (e) { \
    fprintf(stderr, #x ": %s\n", cudaGetErrorString(e)); return 1; } } while (0)

int main(void)
{
    const int nx = 500, ny = 300, steps = 20;
    const REAL dx = R(0.01), dy = R(0.01), alpha = R(0.5), dt = R(0.00004);
    size_t size = sizeof(REAL) * nx * ny;
    REAL *a = (REAL *)malloc(size), *b = (REAL *)malloc(size), *c = (REAL *)malloc(size);
    REAL *da, *db, *t, worst = 0;

    for (int j = 0; j < ny; j++)
        for (int i = 0; i < nx; i++)
            a[IDX(i, j)] = SQR(i - nx / 2) + SQR(j - ny / 2) < SQR(40) ? R(1.0) : R(0.0);

    CUDA(cudaMalloc((void **)&da, size));
    CUDA(cudaMalloc((void **)&db, size));
    CUDA(cudaMemcpy(da, a, size, cudaMemcpyHostToDevice));
    dim3 block(TILE, TILE), grid(DIVUP(nx, TILE), DIVUP(ny, TILE));
    for (int s = 0; s < steps; s++) {
        heat_step<<<grid, block>>>(da, db, nx, ny, dx, dy, alpha, dt);
        t = da; da = db; db = t;
    }
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(c, da, size, cudaMemcpyDeviceToHost));

    for (int s = 0; s < steps; s++) {
        for (int j = 0; j < ny; j++)
            for (int i = 0; i < nx; i++)
                b[IDX(i, j)] = INSIDE(i, j) ? a[IDX(i, j)] + alpha * dt * LAPLACE(a, i, j) : a[IDX(i, j)];
        t = a; a = b; b = t;
    }
    for (int k = 0; k < nx * ny; k++) worst = fmax(worst, fabs(a[k] - c[k]));
    printf("%dx%d, %d steps, largest difference %g\n", nx, ny, steps, (double)worst);
    return worst > EPS;
}
