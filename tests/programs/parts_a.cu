/* One half of a program (-rdc=true): the other, parts_b.cu, defines what is declared here. Virtual
** calls, pointers to functions, recursion in the other half, a packed initialiser. */
extern __device__ int counter;
extern __constant__ float coef[4];
__device__ float halve(float x, int n);
__device__ float (*by_pointer)(float, int) = halve;
static __device__ int mine = 3;

struct Shape {
    __device__ virtual float area(float x) const = 0;
};
struct Square : Shape {
    float k;
    __device__ Square(float k) : k(k) {}
    __device__ float area(float x) const override { return k * x * x; }
};
struct Disc : Shape {
    __device__ float area(float x) const override { return 3 * x * x; }
};

#pragma pack(push, 1)
struct Packed {
    char c;
    const int *p;
};
#pragma pack(pop)
__device__ Packed packed = {'c', &mine};

extern "C" __global__ void parts(float *out, int n)
{
    int i = threadIdx.x;
    Square square(i);
    Disc disc;
    const Shape *shape = i % 2 ? (const Shape *)&square : (const Shape *)&disc;
    float tmp[5];
    for (int k = 0; k <= i % 5; k++) tmp[k] = k * coef[k % 4];
    float sum = 0;
    for (int k = 0; k <= i % 5; k++) sum += tmp[k];
    out[i] = shape->area(2) + halve(i, n) + by_pointer(i, 1) + sum + *packed.p;
    atomicAdd(&counter, 1);
}
