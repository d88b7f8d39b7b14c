// kernel.cu - cubic B-spline deformation of a 3-D image, a warp for every 1x5x5 group of voxels.
//
// Written from the description in Langdon, Modat, Petke, Harman, GECCO 2014 (sections 2 and 3.1).
// Where the paper tells what stands on a line of its kernel, the equal stands on the same line
// here, so that the patches of its Table 4 can be read, and run, as they are printed: inserting
// or removing a line of this file breaks that. README.md beside it lists the lines concerned.
// The same computation on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// Threads a block. The code works with any multiple of 32; __launch_bounds__ needs to know.
#define block_size 192

// Section 3.1.1: values known to the compiler, instead of variables in constant memory.
// c_UseBSpline                 1: cubic B-spline, 0: interpolating cubic
// c_controlPointVoxelSpacing   5: voxels from one control point to the next
#undef c_UseBSpline
#undef c_controlPointVoxelSpacing

// Section 3.1.2, alternatives in the code:
// constantBasis  spline weights come from constant memory, not through a texture; also for x.
#undef constantBasis

// BasisA         the weight tables are indexed [node][distance], not [distance][node].
#undef BasisA

// directxBasis   the four weights along x are looked up, not calculated.
#undef directxBasis

// RemX           x % spacing is calculated once and kept in remx, not wherever it is needed.
#undef RemX
#pragma nv_diag_suppress 177  // a variable an alternative does not use (remx) is no cause for alarm

// ---- sizes and choices, set by the host before a launch ---------------------------------------

__constant__ int c_ActiveVoxelNumber;  // groups to process: entries of the active list
__constant__ int3 c_ImageSize;         // voxels along x, y, z
__constant__ int3 c_ControlPointGrid;  // control points along x, y, z: ceil(voxels / 5) + 3 each
__constant__ int givenUseBSpline;      // used where the macro c_UseBSpline is undefined
__constant__ int givenSpacing;         // used where c_controlPointVoxelSpacing is

#ifdef c_UseBSpline
#define useBSpline c_UseBSpline
#else
#define useBSpline givenUseBSpline
#endif

#ifdef c_controlPointVoxelSpacing
#define spacing c_controlPointVoxelSpacing
#else
#define spacing givenSpacing
#endif
// ---- inputs, all read through textures, whose bounds the hardware checks (section 3.5) --------
//
// activeVoxelTexture   one int a group: index x + width * (y + height * z) of its corner voxel,
//                      y and z being multiples of 5
// controlPointTexture  one float4 a control point, x varying fastest: the displacement there in
//                      voxels (w unused). Point (i, j, k) lies at voxel 5 * (i-1, j-1, k-1).
// basisTexture         the weight tables below, row by row
// basisTextureA

__constant__ cudaTextureObject_t activeVoxelTexture;
__constant__ cudaTextureObject_t controlPointTexture;
__constant__ cudaTextureObject_t basisTexture;
__constant__ cudaTextureObject_t basisTextureA;

// ---- spline weights ---------------------------------------------------------------------------
//
// A voxel that lies `distance` voxels (0 to 4) behind a control point is moved by that point, the
// one before it and the two after it: nodes 1, 0, 2 and 3. The weight of a node along one axis
// depends on the distance alone, so 5 x 4 numbers serve every axis.
// Both orders are here, both in constant memory (slow when the lanes of a warp read different
// addresses) and behind a texture. Which is best is for evolution to find out.

__constant__ float c_Basis[5][4];   // [distance][node]
__constant__ float c_BasisA[4][5];  // [node][distance]

#if defined(constantBasis) && defined(BasisA)
#define basisOf(distance, node) c_BasisA[node][distance]
#elif defined(constantBasis)
#define basisOf(distance, node) c_Basis[distance][node]
#elif defined(BasisA)
#define basisOf(distance, node) tex1Dfetch<float>(basisTextureA, 5 * (node) + (distance))
#else
#define basisOf(distance, node) tex1Dfetch<float>(basisTexture, 4 * (distance) + (node))
#endif

// How far the group lies behind a control point along x, in voxels.
#ifdef RemX
#define distanceX remx
#else
#define distanceX (x % spacing)
#endif

// ---- weights calculated on the fly, for the x axis --------------------------------------------
//
// t is the distance as a fraction of the spacing, 0 <= t < 1. Both sets of weights sum to one.
//
// Uniform cubic B-spline: smooth to the second derivative, passes near its control points.
//
//   node 0: (1-t)^3 / 6            node 1: (3t^3 - 6t^2 + 4) / 6
//   node 3: t^3 / 6                node 2: (-3t^3 + 3t^2 + 3t + 1) / 6

static __device__ float4 bsplineWeights(const float t)
{
    const float s = 1.f - t;
    const float tt = t * t;
    const float ttt = tt * t;
    return make_float4(s * s * s / 6.f,
                       (3.f * ttt - 6.f * tt + 4.f) / 6.f,
                       (-3.f * ttt + 3.f * tt + 3.f * t + 1.f) / 6.f,
                       ttt / 6.f);
}

// Interpolating cubic (Catmull-Rom): smooth to the first derivative, passes through its points.
//
//   node 0: (-t^3 + 2t^2 - t) / 2  node 1: (3t^3 - 5t^2 + 2) / 2
//   node 3: (t^3 - t^2) / 2        node 2: (-3t^3 + 4t^2 + t) / 2

static __device__ float4 interpolatingWeights(const float t)
{
    const float tt = t * t;
    const float ttt = tt * t;
    return make_float4((2.f * tt - ttt - t) / 2.f,
                       (3.f * ttt - 5.f * tt + 2.f) / 2.f,
                       (4.f * tt - 3.f * ttt + t) / 2.f,
                       (ttt - tt) / 2.f);
}

// ---- the kernel -------------------------------------------------------------------------------
//
// positionField[25 * group + 5 * z + y] receives the displacement of voxel (y, z) of a group, for
// the groups in the order of the active list: 400 consecutive bytes a warp.
//
// A displacement is a sum over 4 x 4 x 4 control points,
//   sum over c, b, a of  weightZ[c] * weightY[b] * weightX[a] * controlPoint[z+c][y+b][x+a]
// and the 25 voxels of a group have their x and their 64 control points in common. So the warp
// works in two steps:
//   1. lanes 0 to 15     lane 4c + b sums the four control points of column (b, c) along x
//                       -> tempDisplacement, 16 float4 of shared memory a warp
//   2. lanes 0 to 24     lane 5 * remz + remy combines the 16 columns with its own weights
//                       along y and z -> positionField
//
// Launch: any block of full warps, one dimension (32 to 1024 threads); enough blocks, over grid
// x and y, for a warp a group; dynamic shared memory of 16 float4 (256 bytes) a warp.
//
// How the body is laid out, for the sake of evolution (sections 3.4 to 3.6):
//
//   * Every variable is declared and initialised at the top, so that a statement may be copied
//     to almost any line and still find its variables.
//   * b and c belong to the two loops, which alone may change them.
//   * Outside those loops b and c are 0 before and 4 after: a statement that reads
//     tempDisplacement[... 4 * c + b] is harmless before the loops, out of its slice after them.
//   * Division by the spacing is written as division: its cost depends on whether the compiler
//     knows the spacing. (The group is 5 x 5 whatever the spacing: only 5 makes sense.)
//   * Lanes 16 to 31 write nothing in step 1. Were they let in, they would repeat the work of
//     lanes 0 to 15, to the same addresses with the same values (section 4.6.4).

extern __shared__ float4 tempDisplacement[];  // [warp of the block][c][b]

extern "C" __global__ void spline_deformation(float4 *positionField)
{
    // A warp to a group of 25 voxels: its lane, and its number in the whole grid, which is the
    // group's number in the active list.
    const int thread = threadIdx.x & 31;
    const int tid = (blockIdx.y * gridDim.x + blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (tid < c_ActiveVoxelNumber) {

        // Where this warp's 16 columns begin in shared memory.
        const int columns = threadIdx.x / 32 * 16;

        // The group's entry in the active list, what is left of it while it is decoded, and the
        // group's corner voxel.
        int voxel = 0;
        int rest = 0;
        int x = 0;
        int y = 0;
        int z = 0;

        // The control point at or before it (less one: the first of the four along each axis),
        // and the x distance from there: in voxels, and as a fraction of the spacing.
        int3 nodeAnte = make_int3(0, 0, 0);
        int remx = 0;
        float relative = 0.f;

        // Step 1: the lane's column, the row of control points it lies in and the next of them,
        // the four displacements there, their weights, their weighted sum.
        int columnY = 0;
        int columnZ = 0;
        int indexYZ = 0;
        int indexXYZ = 0;
        float4 nodeCoefficientA = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 nodeCoefficientB = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 nodeCoefficientC = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 nodeCoefficientD = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 xBasis = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);

        // Step 2: the lane's voxel within the group and where its answer goes; the loops over z
        // (c) and y (b); the product of two weights; the answer.
        int remy = 0;
        int remz = 0;
        int tid2 = 0;
        int b = 0;
        int c = 0;
        float basis = 0.f;
        float4 displacement = make_float4(0.f, 0.f, 0.f, 0.f);

        // ---- end of the declarations: from here on, any statement may be copied anywhere below

        // Decode the active list's entry into x, y and z: the voxels of the image are numbered
        // with x varying fastest.

        voxel = tex1Dfetch<int>(activeVoxelTexture, tid);
        z = voxel / (c_ImageSize.x * c_ImageSize.y);
        rest = voxel - z * c_ImageSize.x * c_ImageSize.y;
        y = rest / c_ImageSize.x;
        x = rest - y * c_ImageSize.x;

        // x % spacing: either here, once, or wherever it is needed (see distanceX). A
        // remainder is said to be slow, and so is a register too many: evolution may decide.

#ifdef RemX
        remx = x % spacing;
#endif

        // The first of the four control points along each axis. The grid begins one spacing before
        // the image does, so that this is just the number of whole spacings before the voxel.

        nodeAnte.x = x / spacing;
        nodeAnte.y = y / spacing;
        nodeAnte.z = z / spacing;

        // The weights along x, calculated. (y and z need none: their five distances are looked
        // up in step 2.) With directxBasis these are replaced below and never used.

        relative = (float)distanceX / (float)spacing;
        relative = relative > 0.f ? relative : 0.f;
        if (useBSpline) {
            xBasis = bsplineWeights(relative);
        } else {
            xBasis = interpolatingWeights(relative);
        }

        if ((threadIdx.x & 31) < 16) {
            // Step 1. The column, then its four control points along x.
            columnY = thread & 3;
            columnZ = (thread >> 2) & 3;
            indexYZ = (nodeAnte.z + columnZ) * c_ControlPointGrid.y + nodeAnte.y + columnY;

            indexXYZ = indexYZ * c_ControlPointGrid.x + nodeAnte.x;
            nodeCoefficientA = tex1Dfetch<float4>(controlPointTexture, indexXYZ++);
            nodeCoefficientB = tex1Dfetch<float4>(controlPointTexture, indexXYZ++);
            nodeCoefficientC = tex1Dfetch<float4>(controlPointTexture, indexXYZ++);
            nodeCoefficientD = tex1Dfetch<float4>(controlPointTexture, indexXYZ++);

#if defined(directxBasis) || defined(constantBasis)
            xBasis.x = basisOf(distanceX, 0);
            xBasis.y = basisOf(distanceX, 1);
            xBasis.z = basisOf(distanceX, 2);
            xBasis.w = basisOf(distanceX, 3);
#endif

            sum.x = nodeCoefficientA.x * xBasis.x + nodeCoefficientB.x * xBasis.y +
                    nodeCoefficientC.x * xBasis.z + nodeCoefficientD.x * xBasis.w;
            sum.y = nodeCoefficientA.y * xBasis.x + nodeCoefficientB.y * xBasis.y +
                    nodeCoefficientC.y * xBasis.z + nodeCoefficientD.y * xBasis.w;
            sum.z = nodeCoefficientA.z * xBasis.x + nodeCoefficientB.z * xBasis.y +
                    nodeCoefficientC.z * xBasis.z + nodeCoefficientD.z * xBasis.w;
            tempDisplacement[columns + 4 * columnZ + columnY] = sum;
        }

        // Every column must be in shared memory before any lane reads it. The GPUs of the paper
        // ran a warp in lock step and needed no barrier here; those since 2017 do. The variable
        // columns keeps the warps of a block apart, so a barrier for the whole block is not needed.

        __syncwarp();

        if (thread < 25) {
            // Step 2. The voxel within the group, and its place in the output: the 25 lanes write
            // 400 consecutive bytes.

            remz = thread / 5;
            remy = thread - 5 * remz;
            tid2 = 25 * tid + thread;

            // Combine the columns.
            displacement = make_float4(0.f, 0.f, 0.f, 0.f);
            for (c = 0; c < 4; c++) {
                for (b = 0; b < 4; b++) {
                    basis = basisOf(remy, b) * basisOf(remz, c);
                    displacement.x += tempDisplacement[columns + 4 * c + b].x * basis;
                    displacement.y += tempDisplacement[columns + 4 * c + b].y * basis;
                    displacement.z += tempDisplacement[columns + 4 * c + b].z * basis;
                }
            }

            positionField[tid2] = displacement;
        }
    }
}
