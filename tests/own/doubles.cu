#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

/*--------------------------------------------------------------------*
 * Deposits charged particles on a 1-D grid (linear weighting), pushes *
 * them, and adds up the first moments.                                *
 *--------------------------------------------------------------------*/

static __device__ __forceinline__ double WarpSum(cg::thread_block_tile<32> Warp, double Val)
{
    for (int Off = Warp.size() / 2; Off > 0; Off /= 2)
        Val += Warp.shfl_down(Val, Off);
    return Val;
}

__global__ void PushDeposit(double       *Pos,         /* in/out */
                            double       *Vel,         /* in/out */
                            const double *Field,
                            double       *Density,     /* in/out, accumulated */
                            double       *Moments,     /* out: sum v, sum v^2 */
                            long long    *Crossings,   /* out, per particle */
                            size_t        NumPart,
                            long long     NumCell,
                            double        Length,
                            double        Dt)
{
    auto Warp = cg::tiled_partition<32>(cg::this_thread_block());
    const double H = Length / NumCell;
    double SumV = 0.0, SumV2 = 0.0;

    for (size_t p = blockIdx.x * (size_t)blockDim.x + threadIdx.x; p < NumPart;
         p += (size_t)gridDim.x * blockDim.x) {
        double    x = Pos[p], v = Vel[p];
        long long c = (long long)floor(x / H);
        double    w = x / H - c;

        v += Dt * ((1.0 - w) * Field[c] + w * Field[(c + 1) % NumCell]);
        x += Dt * v;
        while (x < 0.0)     { x += Length; Crossings[p] -= 1; }
        while (x >= Length) { x -= Length; Crossings[p] += 1; }

        c = (long long)floor(x / H);
        if (c >= NumCell) c = NumCell - 1;
        w = x / H - c;
        atomicAdd(&Density[c], (1.0 - w) / H);
        atomicAdd(&Density[(c + 1) % NumCell], w / H);

        Pos[p] = x;
        Vel[p] = v;
        SumV  += v;
        SumV2 += pow(v, 2.0);
    }

    SumV  = WarpSum(Warp, SumV);
    SumV2 = WarpSum(Warp, SumV2);
    if (Warp.thread_rank() == 0) {
        atomicAdd(&Moments[0], SumV);
        atomicAdd(&Moments[1], SumV2);
    }
}

#define CU(c) if (cudaError_t Err = (c)) { fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(Err)); exit(1); }

int main()
{
    const size_t    NumPart = 40001;
    const long long NumCell = 128;
    const double    Length = 6.283185307179586, Dt = 0.1;
    double    *Pos, *Vel, *Field, *Density, *Moments;
    long long *Crossings;

    CU(cudaMallocManaged(&Pos, NumPart * sizeof *Pos));
    CU(cudaMallocManaged(&Vel, NumPart * sizeof *Vel));
    CU(cudaMallocManaged(&Field, NumCell * sizeof *Field));
    CU(cudaMallocManaged(&Density, NumCell * sizeof *Density));
    CU(cudaMallocManaged(&Moments, 2 * sizeof *Moments));
    CU(cudaMallocManaged(&Crossings, NumPart * sizeof *Crossings));

    double WantV = 0.0, WantV2 = 0.0;
    for (long long c = 0; c < NumCell; c++) { Field[c] = 0.5 * sin(c * Length / NumCell); Density[c] = 0.0; }
    for (size_t p = 0; p < NumPart; p++) {
        Pos[p] = Length * p / NumPart;
        Vel[p] = (p % 2 ? 1.0 : -1.0) * (1.0 + 1e-5 * p);
        Crossings[p] = 0;
        const double h = Length / NumCell, w = Pos[p] / h - floor(Pos[p] / h);
        const long long c = (long long)floor(Pos[p] / h);
        const double v = Vel[p] + Dt * ((1.0 - w) * Field[c] + w * Field[(c + 1) % NumCell]);
        WantV += v;
        WantV2 += v * v;
    }
    Moments[0] = Moments[1] = 0.0;

    PushDeposit<<<32, 256>>>(Pos, Vel, Field, Density, Moments, Crossings, NumPart, NumCell, Length, Dt);
    CU(cudaGetLastError());
    CU(cudaDeviceSynchronize());

    double Charge = 0.0;
    for (long long c = 0; c < NumCell; c++) Charge += Density[c] * Length / NumCell;
    printf("charge %.6f of %zu, sum v %.9g (%.9g), sum v^2 %.9g (%.9g)\n",
           Charge, NumPart, Moments[0], WantV, Moments[1], WantV2);
    return fabs(Charge - NumPart) < 1e-6 && fabs(Moments[0] - WantV) < 1e-6 && fabs(Moments[1] - WantV2) < 1e-6 ? 0 : 1;
}
