// kernel.cu - cubic B-spline deformation of a 3-D image: one computation, many ways to order it.
//
// The computation is that of ../niftyreg/kernel.cu (Langdon, Modat, Petke, Harman, GECCO 2014), and
// so are the answers, their layout and, with all defaults, the algorithm. There the lines are the
// paper's; here nothing is promised about lines, and the macros below offer what the paper names
// but did not try (section 2: several groups together), or what GPUs since then have taught.
// README.md beside it says what each macro does, which exclude each other, and what was measured.
//
// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// Threads a block, any multiple of 32; __launch_bounds__ needs to know.
#define block_size 192

// Who does how much. A team is a warp (32) or four (128). It takes groups_per_team (1 to 32)
// consecutive entries of the active list, batch_size of them at a time.
#define team_size 32
#define groups_per_team 1
#define batch_size 1

// The order of the sum over 4 x 4 x 4 control points:
//   0  along x, then y and z at once: 4 * 16 + 16 * 25 products a group (the paper's)
//   1  along x, then y, then z: 4 * 16 + 4 * 20 + 4 * 25
//   2  y and z at once, then x: a warp keeps its four planes of sums in registers and moves along
//      x; a plane (16 * 25 products) serves up to five groups, so 80 + 4 * 25 on a long way
//   3  y, then z, then x, moving likewise; a plane takes 4 * 20 + 4 * 25
//   4  as 3, but y for eight planes at once: the 32 lanes read 4 * 8 neighbouring control points,
//      four times, and leave the 8 * 20 sums in shared memory
#define sum_order 0

// Moving along x (sum_order 2 to 4), a team takes not a share of the active list but a run: groups
// that follow each other along x, within run_cells spacings. The host makes the list of runs.
#undef runs
#define run_cells 4

// With runs: the five groups of a cell are calculated together, wanted or not; only the stores ask.
#undef wholeCells

// With runs: the answers of a cell meet in shared memory and leave by all 32 lanes, each quarter of
// the warp to one aligned 128-byte line.
#undef packedStores

// Partial sums travel between lanes by shuffles, not through shared memory (sum_order 0, 1, 3).
#undef shuffles

// The active list: 0 voxels, decoded by division; 1 voxels, decoded by multiplication with
// reciprocals from the host; 2 a list the host has decoded: 5 * (first control point) + x % 5.
#define decode_by 0

// Every lane decodes one entry of the team's share, before the loop, instead of all the same one.
#undef laneDecode

// Entries of the active list by plain loads, not through a texture.
#undef plainList

// Control points: 0 float4 through a texture; 1 float4, plain loads; 2 three planes, plain loads.
#define points_from 0

// Weights: 0 through a texture; 1 constant memory; 2 shared memory; 3 calculated where needed.
#define weights_from 0

// Weights that do not change from one group to the next are kept in registers.
#undef keptWeights

// The four weights along x are looked up, not calculated.
#undef directxBasis

// Where weights are calculated: multiplication by 1/6 (and 1/2, 1/5), not division.
#undef reciprocalWeights

// Answers are stored: 0 as usual; 1 streaming; 2 in the L2 cache only; 3 written through.
#define store_by 0

// Values known to the compiler, instead of variables in constant memory.
// c_UseBSpline                 1: cubic B-spline, 0: interpolating cubic
// c_controlPointVoxelSpacing   5: voxels from one control point to the next
#undef c_UseBSpline
#undef c_controlPointVoxelSpacing

// Numbers of groups, teams, control points are arguments of the kernel (which are at hand when it
// begins), not variables in constant memory (which the first warp of a launch must wait for).
#undef sizesAsArguments

#pragma nv_diag_suppress 177,550  // a variable an alternative does not use is no cause for alarm

// ---- combinations without a meaning of their own: what they stand for --------------------------
//
// problem.lua follows the same rules: it must know the teams of a block and their shared memory.

#if sum_order >= 2
#define alongX
#ifdef runs
#define byRuns  // the other orders take groups as they come
#endif
#endif

#if team_size == 128 && block_size % 128 == 0 && !defined(alongX)
#define team 128  // a team of four warps needs blocks of whole teams; a way along x is a warp's
#else
#define team 32
#endif

#ifdef alongX
#define batch 1  // one group after the other, by nature
#elif batch_size * (block_size / team) > 80
#define batch 1  // 36 float4 of shared memory a group: more than 80 of them exceed 48 KiB
#else
#define batch batch_size
#endif

// Shared memory a team, in float4: columns and rows of a batch, or eight planes of 20 rows, each
// with one more that keeps the lanes of a quarter warp in different banks.
#if sum_order == 4
#define slotsOfSums 168
#else
#define slotsOfSums (36 * batch)
#endif

#if defined(packedStores) && defined(byRuns)
#define packed
#define slotsOfTeam (slotsOfSums + 125)  // and the answers of a cell
#else
#define slotsOfTeam slotsOfSums
#endif

#if defined(laneDecode) && groups_per_team <= 32 && !defined(byRuns)
#define byLanes  // a warp has lanes for 32 entries
#endif

#if defined(shuffles) && batch == 1 && team == 32 && sum_order < 4
#define byShuffles  // a shuffle stays within a warp, and finds one group there
#endif

#if defined(keptWeights) && batch == 1 && team == 32
#define inRegisters  // in a larger batch a lane changes its place within the group
#endif

// ---- sizes and choices, set by the host before a launch ---------------------------------------

__constant__ int c_ActiveVoxelNumber;  // groups to process: entries of the active list
__constant__ int c_Shares;             // teams that process them
__constant__ int3 c_ImageSize;         // voxels along x, y, z
__constant__ int3 c_ControlPointGrid;  // control points along x, y, z: ceil(voxels / 5) + 3 each
__constant__ int c_ControlPoints;      // all of them
__constant__ int givenUseBSpline;      // used where the macro c_UseBSpline is undefined
__constant__ int givenSpacing;         // used where c_controlPointVoxelSpacing is
__constant__ uint2 c_ReciprocalX;      // of a row's voxels: multiplier and shift, see divided()
__constant__ uint2 c_ReciprocalXY;     // of a slice's

// Sizes in the kernel's body.
#ifdef sizesAsArguments
#define activeNumber givenGroups
#define shares givenShares
#define gridX givenGridX
#define gridY givenGridY
#define pointNumber givenPoints
#else
#define activeNumber c_ActiveVoxelNumber
#define shares c_Shares
#define gridX c_ControlPointGrid.x
#define gridY c_ControlPointGrid.y
#define pointNumber c_ControlPoints
#endif

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

// ---- inputs through textures (section 3.5); the same by plain loads are arguments -------------
//
// activeVoxelTexture   one int a group: index x + width * (y + height * z) of its corner voxel,
//                      y and z being multiples of 5
// activeNodeTexture    the same list, decoded: 5 * (index of the first of its 64 control points)
//                      + x % 5
// runTexture           one int4 a run: its first control point and x % 5; its first group in the
//                      active list and the one behind its last
// controlPointTexture  one float4 a control point, x varying fastest: the displacement there in
//                      voxels (w unused). Point (i, j, k) lies at voxel 5 * (i-1, j-1, k-1).
// basisTexture         the weight table below, a float a texel
// basisTexture4        the same, four weights a texel

__constant__ cudaTextureObject_t activeVoxelTexture;
__constant__ cudaTextureObject_t activeNodeTexture;
__constant__ cudaTextureObject_t runTexture;
__constant__ cudaTextureObject_t controlPointTexture;
__constant__ cudaTextureObject_t basisTexture;
__constant__ cudaTextureObject_t basisTexture4;

// The entry of the list that decode_by is about.
#if decode_by == 2
#define listTexture activeNodeTexture
#define listArray activeNode
#else
#define listTexture activeVoxelTexture
#define listArray activeVoxel
#endif

#ifdef plainList
#define listEntry(index) __ldg(&listArray[index])
#define runEntry(index) __ldg(&runList[index])
#else
#define runEntry(index) tex1Dfetch<int4>(runTexture, index)
#define listEntry(index) tex1Dfetch<int>(listTexture, index)
#endif

#if points_from == 2
#define controlPoint(index)                                                                        \
    make_float4(__ldg(&pointX[index]), __ldg(&pointY[index]), __ldg(&pointZ[index]), 0.f)
#elif points_from == 1
#define controlPoint(index) __ldg(&pointXYZ[index])
#else
#define controlPoint(index) tex1Dfetch<float4>(controlPointTexture, index)
#endif

#if store_by == 1
#define storeAnswer(index, value) __stcs(&positionField[index], value)
#elif store_by == 2
#define storeAnswer(index, value) __stcg(&positionField[index], value)
#elif store_by == 3
#define storeAnswer(index, value) __stwt(&positionField[index], value)
#else
#define storeAnswer(index, value) positionField[index] = value
#endif

#ifdef reciprocalWeights
#define over(value, divisor) ((value) * (1.f / (divisor)))
#else
#define over(value, divisor) ((value) / (divisor))
#endif

// ---- spline weights ---------------------------------------------------------------------------
//
// A voxel that lies `distance` voxels (0 to 4) behind a control point is moved by that point, the
// one before it and the two after it: nodes 1, 0, 2 and 3. The weight of a node along one axis
// depends on the distance alone, so 5 x 4 numbers serve every axis. t is the distance as a fraction
// of the spacing, 0 <= t < 1. Both sets of weights sum to one.
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
    return make_float4(over(s * s * s, 6.f),
                       over(3.f * ttt - 6.f * tt + 4.f, 6.f),
                       over(-3.f * ttt + 3.f * tt + 3.f * t + 1.f, 6.f),
                       over(ttt, 6.f));
}

// Interpolating cubic (Catmull-Rom): smooth to the first derivative, passes through its points.
//
//   node 0: (-t^3 + 2t^2 - t) / 2  node 1: (3t^3 - 5t^2 + 2) / 2
//   node 3: (t^3 - t^2) / 2        node 2: (-3t^3 + 4t^2 + t) / 2

static __device__ float4 interpolatingWeights(const float t)
{
    const float tt = t * t;
    const float ttt = tt * t;
    return make_float4(over(2.f * tt - ttt - t, 2.f),
                       over(3.f * ttt - 5.f * tt + 2.f, 2.f),
                       over(4.f * tt - 3.f * ttt + t, 2.f),
                       over(ttt - tt, 2.f));
}

static __device__ float4 calculatedWeights(const int distance)
{
    const float t = over((float)distance, (float)spacing);
    return useBSpline ? bsplineWeights(t) : interpolatingWeights(t);
}

// One of four, where the compiler knows which.
static __device__ float component(const float4 weights, const int node)
{
    return node == 0 ? weights.x : node == 1 ? weights.y : node == 2 ? weights.z : weights.w;
}

// The table, where it is a table: basisOf is one weight, weightsOf the four of a distance.

__constant__ float4 c_Basis[5];  // [distance].node

#if weights_from == 2
__shared__ float4 s_Basis[5];
#endif

#if weights_from == 1
#define basisOf(distance, node) (((const float *)c_Basis)[4 * (distance) + (node)])
#define weightsOf(distance) c_Basis[distance]
#elif weights_from == 2
#define basisOf(distance, node) (((const float *)s_Basis)[4 * (distance) + (node)])
#define weightsOf(distance) s_Basis[distance]
#elif weights_from == 3
#define basisOf(distance, node) component(calculatedWeights(distance), node)
#define weightsOf(distance) calculatedWeights(distance)
#else
#define basisOf(distance, node) tex1Dfetch<float>(basisTexture, 4 * (distance) + (node))
#define weightsOf(distance) tex1Dfetch<float4>(basisTexture4, distance)
#endif

#ifdef directxBasis
#define xWeightsOf(distance) weightsOf(distance)
#else
#define xWeightsOf(distance) calculatedWeights(distance)
#endif

// ---- decoding an entry of the active list -----------------------------------------------------

// n / d for 0 <= n < 2^31: the host gives ceil(2^(31+s) / d) and s = ceil(log2 d), and the error of
// that multiplier, below 1 in 2^s, is too small to reach the next whole number.
static __device__ int divided(const int n, const uint2 reciprocal)
{
    return __umulhi(2u * (unsigned)n, reciprocal.x) >> reciprocal.y;
}

// A group decoded: the index of the first of its control points, and how far behind it the group
// lies along x. The grid begins one spacing before the image does, so that the first of the four
// points along an axis is just the number of whole spacings before the voxel. As one number:
// 5 * first + distance.

static __device__ int2 unpacked(const unsigned code)
{
    return make_int2(code / 5, code % 5);
}

static __device__ int2 decoded(const int entry)
{
#if decode_by == 2
    return unpacked(entry);
#else
#if decode_by == 1
    const int z = divided(entry, c_ReciprocalXY);
    const int y = divided(entry - z * c_ImageSize.x * c_ImageSize.y, c_ReciprocalX);
#else
    const int z = entry / (c_ImageSize.x * c_ImageSize.y);
    const int y = (entry - z * c_ImageSize.x * c_ImageSize.y) / c_ImageSize.x;
#endif
    const int x = entry - (z * c_ImageSize.y + y) * c_ImageSize.x;
    return make_int2((z / spacing * c_ControlPointGrid.y + y / spacing) * c_ControlPointGrid.x +
                         x / spacing, x % spacing);
#endif
}

// A window of planes may reach beyond the grid: its lanes there read the last control point.
#define inGrid(index) min(index, pointNumber - 1)

// ---- what a team has in common ----------------------------------------------------------------

extern __shared__ float4 tempDisplacement[];  // [team of the block][slotsOfTeam]

#if defined(byShuffles) && !defined(packed)
#define teamBarrier()
#elif team == 128
#define teamBarrier() asm volatile("bar.sync %0, 128;" ::"r"(1 + threadIdx.x / 128) : "memory")
#else
#define teamBarrier() __syncwarp()
#endif

// A partial sum: slot of shared memory, or the variable of the lane that holds it.
#ifdef byShuffles
#define partialSum(variable, slot)                                                                 \
    make_float4(__shfl_sync(0xffffffff, variable.x, slot),                                         \
                __shfl_sync(0xffffffff, variable.y, slot),                                         \
                __shfl_sync(0xffffffff, variable.z, slot), 0.f)
#else
#define partialSum(variable, slot) tempDisplacement[slots + (slot)]
#endif

// Loops over the items of a batch: for shuffles every lane must come along.
#ifdef byShuffles
#define itemsOf(n) 32
#else
#define itemsOf(n) ((n) * batch)
#endif

// The item's group within the batch, of n items a group.
#if batch == 1
#define memberOf(item, n) 0
#define placeOf(item, member) place  // never beyond the 25, where shuffles take all lanes along
#else
#define memberOf(item, n) ((item) / (n))
#define placeOf(item, member) ((item) - 25 * (member))
#endif

// Moving along x: how many groups are answered between two planes, which of them belong to the
// team's share, which are calculated, how far behind their control point they lie.
#ifdef byRuns
#define groupsAtOnce 5
#define inShare(step) (group + (step) >= first && group + (step) < last)
#define distanceAt(step) (step)
#else
#define groupsAtOnce 1
#define inShare(step) true
#define distanceAt(step) remx
#endif

#ifdef wholeCells
#define calculated(step) true
#else
#define calculated(step) inShare(step)
#endif

// Shared memory of a window: 20 rows a plane, and a gap that keeps a quarter warp in all banks.
#define rowOfWindow(plane, c, y) (21 * (plane) + 5 * (c) + (y))

// The sum of four, weighted.
static __device__ float4 weighted(const float4 a, const float4 b, const float4 c, const float4 d,
                                  const float4 weights)
{
    return make_float4(a.x * weights.x + b.x * weights.y + c.x * weights.z + d.x * weights.w,
                       a.y * weights.x + b.y * weights.y + c.y * weights.z + d.y * weights.w,
                       a.z * weights.x + b.z * weights.y + c.z * weights.z + d.z * weights.w, 0.f);
}

// ---- the kernel -------------------------------------------------------------------------------
//
// positionField[25 * group + 5 * z + y] receives the displacement of voxel (y, z) of a group, for
// the groups in the order of the active list. A displacement is a sum over 4 x 4 x 4 points,
//   sum over c, b, a of  weightZ[c] * weightY[b] * weightX[a] * controlPoint[z+c][y+b][x+a]
//
// Launch: any block of full warps, one dimension (32 to 1024 threads); enough blocks, over grid
// x and y, for all groups; dynamic shared memory of slotsOfTeam float4 a team.
//
// The body is laid out as ../niftyreg/kernel.cu is, for the sake of evolution: variables are
// declared and initialised at the top, loops own their variables. Loop variables are not handed to
// macros that look like functions: such statements could change them, and would be protected.

extern "C" __global__ void spline_deformation(float4 *positionField, const int *activeVoxel,
                                              const int *activeNode, const int4 *runList,
                                              const float4 *pointXYZ, const float *pointX,
                                              const float *pointY, const float *pointZ,
                                              const int givenGroups, const int givenShares,
                                              const int givenGridX, const int givenGridY,
                                              const int givenPoints)
{
    // The lane or thread of the team, and the team's number in the whole grid.
    const int thread = threadIdx.x % team;
    const int tid = (blockIdx.y * gridDim.x + blockIdx.x) * (blockDim.x / team) +
                    threadIdx.x / team;

#if weights_from == 2
    if (threadIdx.x < 5) s_Basis[threadIdx.x] = c_Basis[threadIdx.x];
    __syncthreads();
#endif

    if (tid < shares) {

        // The team's share of the active list, from first to last - 1.
#ifdef byRuns
        const int4 run = runEntry(tid);
        const int first = run.z;
        const int last = run.w;
        const int start = first - run.y;  // its first cell may have begun before
#else
        const int first = tid * groups_per_team;
        const int last = min(first + groups_per_team, activeNumber);
        const int start = first;
#endif

        // Where the team's part of shared memory begins.
        const int slots = threadIdx.x / team * slotsOfTeam;
        const int answers = slots + slotsOfSums;

        // Loops: over the groups of the share, the items of a batch, nodes along z (c) and y (b),
        // planes to calculate, steps along x within a cell.
        int group = 0;
        int item = 0;
        int c = 0;
        int b = 0;
        int missing = 0;
        int step = 0;

        // An entry of the list decoded; the lane's; the first control point and x % spacing.
        int2 where = make_int2(0, 0);
        int laneCode = 0;
        int node = 0;
        int remx = 0;

        // The item's group, its place there; the lane's place where that stays the same; where its
        // answer goes.
        int member = 0;
        int columnY = 0;
        int columnZ = 0;
        int remy = 0;
        int remz = 0;
        int indexXYZ = 0;
        int tid2 = 0;
        const int place = thread < 25 ? thread : 24;

        // Four control points along x, weights, sums.
        float4 nodeCoefficientA = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 nodeCoefficientB = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 nodeCoefficientC = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 nodeCoefficientD = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 xBasis = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 yBasis = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 zBasis = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 partial = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 displacement = make_float4(0.f, 0.f, 0.f, 0.f);
        float basis = 0.f;
        float weight[16];

        // The planes x to x + 3, each summed along y and z for the lane's place; the first of them.
        float4 planeA = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 planeB = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 planeC = make_float4(0.f, 0.f, 0.f, 0.f);
        float4 planeD = make_float4(0.f, 0.f, 0.f, 0.f);
        int have = -2;

        // The first of the planes in shared memory, and the one to take from there.
        int window = 0;
        int plane = 0;

        // ---- end of the declarations: from here on, any statement may be copied anywhere below

#ifdef byLanes
        where = decoded(listEntry(min(first + (thread & 31), last - 1)));
        laneCode = 5 * where.x + where.y;
#endif

#if defined(inRegisters) || defined(alongX)
        // Weights of the lane's place: they are the same for every group.
        remz = place / 5;
        remy = place - 5 * remz;
        yBasis = weightsOf(remy);
        zBasis = weightsOf(remz);
        columnZ = min(remz, 3);
#pragma unroll
        for (c = 0; c < 4; c++) {
#pragma unroll
            for (b = 0; b < 4; b++) {
                weight[4 * c + b] = component(yBasis, b) * component(zBasis, c);
            }
        }
#endif

#ifdef alongX

        // Groups one by one as the list has them, or the cells of a run.
        for (group = start; group < last; group += groupsAtOnce) {
#if defined(byRuns)
            node = max(run.x, have + 1);
#elif defined(byLanes)
            where = unpacked(__shfl_sync(0xffffffff, laneCode, group - first));
            node = where.x;
            remx = where.y;
#else
            member = group;
            where = decoded(listEntry(member));
            node = where.x;
            remx = where.y;
#endif

            // In the next cell of the row one plane is new, elsewhere all four are.
            if (node != have) {
                for (missing = node == have + 1 ? 1 : 4; missing > 0; missing--) {
                    planeA = planeB;
                    planeB = planeC;
                    planeC = planeD;
                    planeD = make_float4(0.f, 0.f, 0.f, 0.f);
#if sum_order == 4

                    // The plane is one of the window of eight in shared memory. Beyond the
                    // window, and in another row, a new one: a lane reads four points along y and
                    // leaves the sums for all five distances.
                    plane = node + 4 - missing;
                    if (missing == 4 || plane - window >= 8) {
                        window = plane;
                        teamBarrier();
                        indexXYZ = window + (thread & 7) +
                                   (thread >> 3) * gridY * gridX;
                        nodeCoefficientA = controlPoint(inGrid(indexXYZ));
                        indexXYZ += gridX;
                        nodeCoefficientB = controlPoint(inGrid(indexXYZ));
                        indexXYZ += gridX;
                        nodeCoefficientC = controlPoint(inGrid(indexXYZ));
                        indexXYZ += gridX;
                        nodeCoefficientD = controlPoint(inGrid(indexXYZ));
#pragma unroll
                        for (b = 0; b < 5; b++) {
                            xBasis = weightsOf(b);
                            sum = weighted(nodeCoefficientA, nodeCoefficientB, nodeCoefficientC,
                                           nodeCoefficientD, xBasis);
                            tempDisplacement[slots + rowOfWindow(thread & 7, thread >> 3, b)] = sum;
                        }
                        teamBarrier();
                    }
#pragma unroll
                    for (c = 0; c < 4; c++) {
                        basis = component(zBasis, c);
                        partial = tempDisplacement[slots + rowOfWindow(plane - window, c, remy)];
                        planeD.x += partial.x * basis;
                        planeD.y += partial.y * basis;
                        planeD.z += partial.z * basis;
                    }
#elif sum_order == 3

                    // The lane's row (y, c) of the plane: four control points along y.
                    indexXYZ = (columnZ * gridY) * gridX +
                               node + 4 - missing;
                    sum = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
                    for (b = 0; b < 4; b++) {
                        basis = component(yBasis, b);
                        partial = controlPoint(indexXYZ);
                        indexXYZ += gridX;
                        sum.x += partial.x * basis;
                        sum.y += partial.y * basis;
                        sum.z += partial.z * basis;
                    }
#ifndef byShuffles
                    tempDisplacement[slots + thread] = sum;
#endif
                    teamBarrier();

                    // Then its place (y, z): four rows.
#pragma unroll
                    for (c = 0; c < 4; c++) {
                        basis = component(zBasis, c);
                        partial = partialSum(sum, 5 * c + remy);
                        planeD.x += partial.x * basis;
                        planeD.y += partial.y * basis;
                        planeD.z += partial.z * basis;
                    }
                    teamBarrier();
#else

                    // All sixteen control points of the plane.
#pragma unroll
                    for (c = 0; c < 4; c++) {
#pragma unroll
                        for (b = 0; b < 4; b++) {
                            indexXYZ = (c * gridY + b) * gridX +
                                       node + 4 - missing;
                            partial = controlPoint(indexXYZ);
                            basis = weight[4 * c + b];
                            planeD.x += partial.x * basis;
                            planeD.y += partial.y * basis;
                            planeD.z += partial.z * basis;
                        }
                    }
#endif
                }
                have = node;
            }

            // The group between planes B and C, or the five of them.
#pragma unroll
            for (step = 0; step < groupsAtOnce; step++) {
                if (calculated(step)) {
                    xBasis = xWeightsOf(distanceAt(step));
                    displacement = weighted(planeA, planeB, planeC, planeD, xBasis);
#ifdef packed
                    if (thread < 25) {
                        tempDisplacement[answers + 25 * step + thread] = displacement;
                    }
#else
                    if (thread < 25 && inShare(step)) {
                        tid2 = 25 * (group + step) + thread;
                        storeAnswer(tid2, displacement);
                    }
#endif
                }
            }
#ifdef packed
            teamBarrier();
            for (item = thread - (25 * group & 7); item < 125; item += 32) {
                if (item >= 25 * max(first - group, 0) && item < 25 * (last - group)) {
                    tid2 = 25 * group + item;
                    displacement = tempDisplacement[answers + item];
                    storeAnswer(tid2, displacement);
                }
            }
            teamBarrier();
#endif
        }

#else

        for (group = first; group < last; group += batch) {

            // Step 1: an item is a column (b, c) of a group: its four control points along x.
            // Whole warps come along, since decoding may be by shuffle.
            for (item = thread; item < (16 * batch + 31) / 32 * 32; item += team) {
                member = min(group + memberOf(item, 16), last - 1);
#ifdef byLanes
                where = unpacked(__shfl_sync(0xffffffff, laneCode, member - first));
#else
                where = decoded(listEntry(member));
#endif
                node = where.x;
                remx = where.y;
                xBasis = xWeightsOf(remx);
                if (item < 16 * batch) {
                    columnY = item & 3;
                    columnZ = (item >> 2) & 3;
                    indexXYZ = node + (columnZ * gridY + columnY) *
                                      gridX;
                    nodeCoefficientA = controlPoint(indexXYZ);
                    nodeCoefficientB = controlPoint(indexXYZ + 1);
                    nodeCoefficientC = controlPoint(indexXYZ + 2);
                    nodeCoefficientD = controlPoint(indexXYZ + 3);
                    sum = weighted(nodeCoefficientA, nodeCoefficientB, nodeCoefficientC,
                                   nodeCoefficientD, xBasis);
#ifndef byShuffles
                    tempDisplacement[slots + item] = sum;
#endif
                }
            }
            teamBarrier();

#if sum_order == 1

            // Step 2: an item is a row (y, c): four columns along y.
            for (item = thread; item < itemsOf(20); item += team) {
                member = memberOf(item, 20);
                columnZ = item / 5 - 4 * member;
#ifndef inRegisters
                remy = item % 5;
                yBasis = weightsOf(remy);
#endif
                displacement = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
                for (b = 0; b < 4; b++) {
                    basis = component(yBasis, b);
                    partial = partialSum(sum, 16 * member + 4 * columnZ + b);
                    displacement.x += partial.x * basis;
                    displacement.y += partial.y * basis;
                    displacement.z += partial.z * basis;
                }
#ifndef byShuffles
                tempDisplacement[slots + 16 * batch + item] = displacement;
#endif
            }
            teamBarrier();
            sum = displacement;

            // Step 3: an item is an answer (y, z): four rows along z.
            for (item = thread; item < itemsOf(25); item += team) {
                member = memberOf(item, 25);
#ifndef inRegisters
                remz = placeOf(item, member) / 5;
                remy = placeOf(item, member) % 5;
                zBasis = weightsOf(remz);
#endif
                displacement = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
                for (c = 0; c < 4; c++) {
                    basis = component(zBasis, c);
#ifdef byShuffles
                    partial = partialSum(sum, 5 * c + remy);
#else
                    partial = partialSum(sum, 16 * batch + 20 * member + 5 * c + remy);
#endif
                    displacement.x += partial.x * basis;
                    displacement.y += partial.y * basis;
                    displacement.z += partial.z * basis;
                }
                if (item < 25 * batch && group + member < last) {
                    tid2 = 25 * group + item;
                    storeAnswer(tid2, displacement);
                }
            }

#else

            // Step 2: an item is an answer (y, z): sixteen columns.
            for (item = thread; item < itemsOf(25); item += team) {
                member = memberOf(item, 25);
#ifndef inRegisters
                remz = placeOf(item, member) / 5;
                remy = placeOf(item, member) % 5;
#endif
                displacement = make_float4(0.f, 0.f, 0.f, 0.f);
                for (c = 0; c < 4; c++) {
                    for (b = 0; b < 4; b++) {
#ifdef inRegisters
                        basis = weight[4 * c + b];
#else
                        basis = basisOf(remy, b) * basisOf(remz, c);
#endif
                        partial = partialSum(sum, 16 * member + 4 * c + b);
                        displacement.x += partial.x * basis;
                        displacement.y += partial.y * basis;
                        displacement.z += partial.z * basis;
                    }
                }
                if (item < 25 * batch && group + member < last) {
                    tid2 = 25 * group + item;
                    storeAnswer(tid2, displacement);
                }
            }

#endif

            // Nobody may begin the next batch while another still reads this one's sums.
            teamBarrier();
        }

#endif
    }
}
