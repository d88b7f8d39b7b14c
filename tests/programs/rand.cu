// cuRAND's host API on the virtual GPU: its numbers beside those of the device API, lane by lane.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <curand.h>
#include <curand_kernel.h>

static int wrong;
static const unsigned long long SEED = 0x123456789abcull;

static void check(const char *what, bool ok)
{
    if (!ok) wrong++;
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
}

enum Form { BITS, UNIFORM, WIDE, NORMAL };
static const char *const names[] = {"bits", "floats", "doubles", "normals"};
static const size_t size_of[] = {4, 4, 8, 4};

// The first two rows of each lane: each lane's results lie `width` side by side.
template <class State> __global__ void lanes(State *, int lane_count, int width, int form, void *out, unsigned long long seed)
{
    int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lane_count) return;
    State s;
    curand_init(seed, lane, 0, &s);
    for (int row = 0; row < 2; row++)
        for (int k = 0; k < width; k++) {
            size_t i = ((size_t)row * lane_count + lane) * width + k;
            if (form == BITS) ((unsigned *)out)[i] = curand(&s);
            if (form == UNIFORM) ((float *)out)[i] = curand_uniform(&s);
            if (form == WIDE) ((double *)out)[i] = curand_uniform_double(&s);
            if (form == NORMAL) ((float *)out)[i] = curand_normal(&s);
        }
}

static curandStatus_t fill(curandGenerator_t g, int form, void *out, size_t n)
{
    if (form == BITS) return curandGenerate(g, (unsigned *)out, n);
    if (form == UNIFORM) return curandGenerateUniform(g, (float *)out, n);
    if (form == WIDE) return curandGenerateUniformDouble(g, (double *)out, n);
    return curandGenerateNormal(g, (float *)out, n, 0, 1);
}

static curandGenerator_t generator(curandRngType_t type, curandOrdering_t order, unsigned long long offset = 0)
{
    curandGenerator_t g;
    if (curandCreateGenerator(&g, type) || curandSetGeneratorOrdering(g, order) ||
        curandSetPseudoRandomGeneratorSeed(g, SEED) || curandSetGeneratorOffset(g, offset)) exit(3);
    return g;
}

// width: results of a lane side by side.
template <class State> static void beside(const char *what, curandRngType_t type, int lane_count, int width, int form)
{
    size_t n = 2 * (size_t)lane_count * (form == NORMAL && width == 1 ? 2 : width), size = size_of[form];
    int w = form == NORMAL && width == 1 ? 2 : width;
    char *a, *b, text[64];
    cudaMalloc(&a, n * size), cudaMalloc(&b, n * size);
    curandGenerator_t g = generator(type, CURAND_ORDERING_PSEUDO_LEGACY);
    bool ok = fill(g, form, a, n) == CURAND_STATUS_SUCCESS;
    lanes<State><<<(lane_count + 127) / 128, 128>>>(NULL, lane_count, w, form, b, SEED);
    std::vector<char> x(n * size), y(n * size);
    cudaMemcpy(x.data(), a, x.size(), cudaMemcpyDeviceToHost);
    cudaMemcpy(y.data(), b, y.size(), cudaMemcpyDeviceToHost);
    // The device's sines and logarithms are approximate.
    if (form == NORMAL)
        for (size_t i = 0; i < n; i++) ok = ok && fabsf(((float *)x.data())[i] - ((float *)y.data())[i]) < 2e-5f;
    else
        ok = ok && memcmp(x.data(), y.data(), x.size()) == 0;
    snprintf(text, sizeof text, "%s, %s", what, names[form]);
    check(text, ok);
    curandDestroyGenerator(g), cudaFree(a), cudaFree(b);
}

// A sequence in pieces, from an offset, on the host and by a stream is one sequence.
static void one_sequence(const char *what, curandRngType_t type)
{
    const size_t n = 200000, skipped = 81931;
    unsigned *d;
    char text[64];
    cudaStream_t s;
    cudaStreamCreate(&s), cudaMalloc(&d, n * sizeof *d);
    curandGenerator_t g = generator(type, CURAND_ORDERING_PSEUDO_DEFAULT), host;
    std::vector<unsigned> all(n), part(n), own(n);
    curandSetStream(g, s);
    bool ok = !curandGenerate(g, d, 5) && !curandGenerate(g, d + 5, 4098) && !curandGenerate(g, d + 4103, n - 4103);
    cudaStreamSynchronize(s);
    cudaMemcpy(all.data(), d, n * sizeof *d, cudaMemcpyDeviceToHost);
    curandDestroyGenerator(g);
    g = generator(type, CURAND_ORDERING_PSEUDO_BEST, skipped);
    ok = ok && !curandGenerate(g, d, n - skipped);
    cudaMemcpy(part.data(), d, n * sizeof *d, cudaMemcpyDeviceToHost);
    ok = ok && memcmp(&all[skipped], part.data(), (n - skipped) * sizeof *d) == 0;
    ok = ok && !curandCreateGeneratorHost(&host, type) && !curandSetPseudoRandomGeneratorSeed(host, SEED) &&
         !curandGenerate(host, own.data(), n) && own == all;
    snprintf(text, sizeof text, "%s in pieces", what);
    check(text, ok);
    curandDestroyGenerator(g), curandDestroyGenerator(host), cudaFree(d), cudaStreamDestroy(s);
}

template <class T, class F> static void moments(const char *what, F call, double mean, double deviation)
{
    const size_t n = 1 << 17;
    T *d;
    cudaMalloc(&d, n * sizeof *d);
    curandGenerator_t g = generator(CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_DEFAULT);
    std::vector<T> x(n);
    bool ok = call(g, d, n) == CURAND_STATUS_SUCCESS;
    cudaMemcpy(x.data(), d, n * sizeof *d, cudaMemcpyDeviceToHost);
    double sum = 0, squares = 0;
    for (T v : x) sum += v, squares += double(v) * v;
    sum /= n;
    ok = ok && fabs(sum - mean) < 5 * deviation / sqrt(n) && fabs(sqrt(squares / n - sum * sum) / deviation - 1) < 0.05;
    check(what, ok);
    curandDestroyGenerator(g), cudaFree(d);
}

static void distributions()
{
    moments<float>("normal", [](curandGenerator_t g, float *x, size_t n) { return curandGenerateNormal(g, x, n, 3, 0.5f); }, 3, 0.5);
    moments<double>("normal, doubles", [](curandGenerator_t g, double *x, size_t n) {
        return curandGenerateNormalDouble(g, x, n, -1, 2);
    }, -1, 2);
    moments<float>("log-normal", [](curandGenerator_t g, float *x, size_t n) {
        return curandGenerateLogNormal(g, x, n, 0, 0.25f);
    }, exp(0.25 * 0.25 / 2), sqrt((exp(0.25 * 0.25) - 1) * exp(0.25 * 0.25)));
    moments<double>("log-normal, doubles", [](curandGenerator_t g, double *x, size_t n) {
        return curandGenerateLogNormalDouble(g, x, n, 1, 0.25);
    }, exp(1 + 0.25 * 0.25 / 2), sqrt((exp(0.25 * 0.25) - 1) * exp(2 + 0.25 * 0.25)));
    moments<unsigned>("Poisson", [](curandGenerator_t g, unsigned *x, size_t n) { return curandGeneratePoisson(g, x, n, 3000); },
                      3000, sqrt(3000.0));
}

static void refused()
{
    curandGenerator_t g = generator(CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_DEFAULT);
    float x[3];
    check("pairs want an even number", curandGenerateNormal(g, x, 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    check("an order that is none", curandSetGeneratorOrdering(g, CURAND_ORDERING_QUASI_DEFAULT) == CURAND_STATUS_OUT_OF_RANGE);
    check("dimensions are Sobol's", curandSetQuasiRandomGeneratorDimensions(g, 2) == CURAND_STATUS_TYPE_ERROR);
    check("a generator ends once", !curandDestroyGenerator(g) && curandDestroyGenerator(g) == CURAND_STATUS_NOT_INITIALIZED);
}

// What NVIDIA's own library computes: the first points of the plane are known.
static int closed()
{
    const float want[8] = {0, 0.5f, 0.75f, 0.25f, 0, 0.5f, 0.25f, 0.75f};
    float *d, x[8];
    unsigned poisson[1000], *p;
    curandGenerator_t g;
    cudaMalloc(&d, sizeof x), cudaMalloc(&p, sizeof poisson);
    if (curandCreateGenerator(&g, CURAND_RNG_QUASI_SOBOL32) || curandSetQuasiRandomGeneratorDimensions(g, 2)) return 3;
    if (curandGenerateUniform(g, d, 8)) return 5;
    cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
    bool ok = true;
    for (int i = 0; i < 8; i++) ok = ok && fabsf(x[i] - want[i]) < 1e-6f;
    check("Sobol's points of the plane", ok);
    curandDestroyGenerator(g);
    g = generator(CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_ORDERING_PSEUDO_DEFAULT);
    ok = !curandGeneratePoisson(g, p, 1000, 4);
    cudaMemcpy(poisson, p, sizeof poisson, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (unsigned v : poisson) sum += v;
    check("Poisson's small numbers", ok && fabs(sum / 1000 - 4) < 0.4);
    curandDestroyGenerator(g);
    ok = !curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MTGP32) && !curandGenerate(g, p, 1000);
    cudaMemcpy(poisson, p, sizeof poisson, cudaMemcpyDeviceToHost);
    check("MTGP32", ok && poisson[0] != poisson[1]);
    return wrong > 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "closed")) return closed();
    if (argc > 1) {
        float *x;
        cudaMalloc(&x, 63 * sizeof *x);
        return curandGenerateUniform(generator(CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_DEFAULT), x, 64);
    }
    for (int form = BITS; form <= NORMAL; form++) {
        beside<curandStateXORWOW_t>("XORWOW", CURAND_RNG_PSEUDO_XORWOW, 4096, 1, form);
        beside<curandStateMRG32k3a_t>("MRG32k3a", CURAND_RNG_PSEUDO_MRG32K3A, 4096, 1, form);
        if (form != WIDE) beside<curandStatePhilox4_32_10_t>("Philox", CURAND_RNG_PSEUDO_PHILOX4_32_10, 65536, 4, form);
    }
    one_sequence("XORWOW", CURAND_RNG_PSEUDO_XORWOW);
    one_sequence("MRG32k3a", CURAND_RNG_PSEUDO_MRG32K3A);
    one_sequence("Philox", CURAND_RNG_PSEUDO_PHILOX4_32_10);
    distributions();
    refused();
    return wrong > 0;
}
