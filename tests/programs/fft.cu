// cuFFT on the virtual GPU: each transform beside its definition, summed in double precision.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cufft.h>

typedef std::complex<double> Z;
static int wrong;

static void check(const char *what, bool ok)
{
    if (!ok) wrong++;
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
}

template <class T> struct Device {
    T *at;
    Device(const std::vector<T> &host)
    {
        cudaMalloc(&at, host.size() * sizeof(T));
        cudaMemcpy(at, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    }
    explicit Device(size_t n) { cudaMalloc(&at, n * sizeof(T)); }
    ~Device() { cudaFree(at); }
    std::vector<T> host(size_t n) const
    {
        std::vector<T> out(n);
        cudaMemcpy(out.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost);
        return out;
    }
};

static double draw() { return rand() % 101 / 50.0 - 1; }

// The definition: of a x b numbers by rows.
static std::vector<Z> transformed(const std::vector<Z> &x, int a, int b, int sign)
{
    std::vector<Z> out(x.size());
    for (int k = 0; k < a; k++)
        for (int l = 0; l < b; l++)
            for (int i = 0; i < a; i++)
                for (int j = 0; j < b; j++)
                    out[k * b + l] += x[i * b + j] * std::polar(1.0, sign * 2 * M_PI * (double(i * k) / a + double(j * l) / b));
    return out;
}

static bool near(Z a, Z b, double within) { return std::abs(a - b) <= within; }

template <class C, class R> static std::vector<Z> numbers(std::vector<C> &out, int n)
{
    std::vector<Z> wide(n);
    out.resize(n);
    for (int i = 0; i < n; i++) {
        wide[i] = Z(draw(), draw());
        out[i].x = R(wide[i].real()), out[i].y = R(wide[i].imag());
        wide[i] = Z(out[i].x, out[i].y);
    }
    return wide;
}

static void one_dimension()
{
    const int n = 24, batch = 3;
    std::vector<cufftComplex> x;
    std::vector<Z> wide = numbers<cufftComplex, float>(x, n * batch);
    Device<cufftComplex> d(x), e(n * batch);
    cufftHandle plan;
    bool made = cufftPlan1d(&plan, n, CUFFT_C2C, batch) == CUFFT_SUCCESS;
    bool ran = cufftExecC2C(plan, d.at, e.at, CUFFT_FORWARD) == CUFFT_SUCCESS;
    std::vector<cufftComplex> got = e.host(n * batch);
    bool ok = made && ran;
    for (int b = 0; b < batch; b++) {
        std::vector<Z> want = transformed(std::vector<Z>(&wide[b * n], &wide[b * n] + n), 1, n, -1);
        for (int i = 0; i < n; i++) ok = ok && near(Z(got[b * n + i].x, got[b * n + i].y), want[i], 1e-4);
    }
    check("many in a row", ok);
    ok = cufftExecC2C(plan, e.at, e.at, CUFFT_INVERSE) == CUFFT_SUCCESS;
    got = e.host(n * batch);
    for (int i = 0; i < n * batch; i++) ok = ok && near(Z(got[i].x, got[i].y), wide[i] * double(n), 1e-3);
    check("and back, in place", ok);
    check("a plan of another type", cufftExecR2C(plan, (float *)d.at, e.at) == CUFFT_INVALID_TYPE);
    check("a plan ends once", cufftDestroy(plan) == CUFFT_SUCCESS && cufftDestroy(plan) == CUFFT_INVALID_PLAN);
}

static void two_dimensions()
{
    const int a = 6, b = 10, half = b / 2 + 1;
    std::vector<double> x(a * b);
    std::vector<Z> wide(a * b);
    for (int i = 0; i < a * b; i++) wide[i] = x[i] = draw();
    Device<double> d(x), back(a * b);
    Device<cufftDoubleComplex> e(a * half);
    cufftHandle forth, inverse;
    bool ok = cufftPlan2d(&forth, a, b, CUFFT_D2Z) == CUFFT_SUCCESS && cufftPlan2d(&inverse, a, b, CUFFT_Z2D) == CUFFT_SUCCESS;
    ok = ok && cufftExecD2Z(forth, d.at, e.at) == CUFFT_SUCCESS;
    std::vector<cufftDoubleComplex> got = e.host(a * half), kept;
    std::vector<Z> want = transformed(wide, a, b, -1);
    for (int i = 0; i < a; i++)
        for (int j = 0; j < half; j++) ok = ok && near(Z(got[i * half + j].x, got[i * half + j].y), want[i * b + j], 1e-10);
    check("of reals, half is stored", ok);
    ok = cufftExecZ2D(inverse, e.at, back.at) == CUFFT_SUCCESS;
    std::vector<double> again = back.host(a * b);
    for (int i = 0; i < a * b; i++) ok = ok && fabs(again[i] - x[i] * a * b) < 1e-9;
    check("and back", ok);
    kept = e.host(a * half);
    for (int i = 0; i < a * half; i++) ok = ok && kept[i].x == got[i].x && kept[i].y == got[i].y;
    check("whose input stays", ok);
    cufftDestroy(forth), cufftDestroy(inverse);
}

static void in_place()
{
    const int n = 9, padded = 2 * (n / 2 + 1);
    std::vector<float> x(padded * 2);
    std::vector<Z> wide(n);
    for (int i = 0; i < n; i++) wide[i] = x[i] = x[padded + i] = float(draw());
    Device<float> d(x);
    cufftHandle plan;
    bool ok = cufftPlan1d(&plan, n, CUFFT_R2C, 2) == CUFFT_SUCCESS &&
              cufftExecR2C(plan, d.at, (cufftComplex *)d.at) == CUFFT_SUCCESS;
    std::vector<float> got = d.host(padded * 2);
    std::vector<Z> want = transformed(wide, 1, n, -1);
    for (int k = 0; k < padded; k++) ok = ok && near(Z(got[2 * k], got[2 * k + 1]), want[k % (padded / 2)], 1e-4);
    check("reals in place, padded", ok);
    cufftDestroy(plan);
}

// Columns of a matrix of 8 x 5: neighbours are 5 apart, transforms 1.
static void by_columns()
{
    const int n = 8, batch = 5;
    std::vector<cufftDoubleComplex> x;
    std::vector<Z> wide = numbers<cufftDoubleComplex, double>(x, n * batch);
    Device<cufftDoubleComplex> d(x), e(n * batch);
    int size[1] = {n};
    cudaStream_t s;
    cufftHandle plan;
    cudaStreamCreate(&s);
    bool ok = cufftPlanMany(&plan, 1, size, size, batch, 1, size, 1, n, CUFFT_Z2Z, batch) == CUFFT_SUCCESS &&
              cufftSetStream(plan, s) == CUFFT_SUCCESS && cufftExecZ2Z(plan, d.at, e.at, CUFFT_FORWARD) == CUFFT_SUCCESS;
    cudaStreamSynchronize(s);
    std::vector<cufftDoubleComplex> got = e.host(n * batch);
    for (int b = 0; b < batch; b++) {
        std::vector<Z> column(n);
        for (int i = 0; i < n; i++) column[i] = wide[i * batch + b];
        std::vector<Z> want = transformed(column, 1, n, -1);
        for (int i = 0; i < n; i++) ok = ok && near(Z(got[b * n + i].x, got[b * n + i].y), want[i], 1e-10);
    }
    check("columns", ok);
    cufftDestroy(plan);
    cudaStreamDestroy(s);
}

int main(int argc, char **)
{
    if (argc > 1) {
        cufftHandle plan;
        cufftComplex *x;
        cudaMalloc(&x, 63 * sizeof *x);
        cufftPlan1d(&plan, 64, CUFFT_C2C, 1);
        return cufftExecC2C(plan, x, x, CUFFT_FORWARD);
    }
    one_dimension(), two_dimensions(), in_place(), by_columns();
    return wrong > 0;
}
