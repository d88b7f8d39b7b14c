// cuBLAS on the virtual GPU: each function beside loops in double precision.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <complex>
#include <vector>
#include <cublas_v2.h>
#include <cublasXt.h>
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef std::complex<double> Z;
static cublasHandle_t h;
static int wrong;

static void check(const char *what, bool ok)
{
    if (!ok) wrong++;
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
}

static double draw() { return rand() % 17 / 8.0 - 1; }

// How numbers of each type are made and read.
template <class T> static T make() { return T(float(draw())); }
template <> cuComplex make() { return make_cuComplex(draw(), draw()); }
template <> cuDoubleComplex make() { return make_cuDoubleComplex(draw(), draw()); }
static Z wide(float x) { return x; }
static Z wide(double x) { return x; }
static Z wide(__half x) { return __half2float(x); }
static Z wide(__nv_bfloat16 x) { return __bfloat162float(x); }
static Z wide(signed char x) { return x; }
static Z wide(int x) { return x; }
static Z wide(cuComplex x) { return Z(x.x, x.y); }
static Z wide(cuDoubleComplex x) { return Z(x.x, x.y); }

// A matrix by columns, on both sides; ld is larger than its rows.
template <class T> struct Matrix {
    int rows, columns, ld;
    std::vector<T> host;
    T *device;
    Matrix(int r, int c) : rows(r), columns(c), ld(r + 3), host((size_t)ld * c)
    {
        for (T &x : host) x = make<T>();
        cudaMalloc(&device, host.size() * sizeof(T));
        cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    }
    ~Matrix() { cudaFree(device); }
    Z at(int i, int j, int op = 0) const
    {
        Z x = op ? wide(host[(size_t)i * ld + j]) : wide(host[(size_t)j * ld + i]);
        return op == 2 ? std::conj(x) : x;
    }
    // The device's matrix is what `want` says.
    template <class F> bool is(F want, double within) const
    {
        std::vector<T> got(host.size());
        cudaMemcpy(got.data(), device, got.size() * sizeof(T), cudaMemcpyDeviceToHost);
        bool ok = true;
        for (int j = 0; j < columns; j++)
            for (int i = 0; i < rows; i++)
                ok = ok && std::abs(wide(got[(size_t)j * ld + i]) - want(i, j)) <= within;
        return ok;
    }
};

template <class T> static Z product(const Matrix<T> &a, const Matrix<T> &b, int ta, int tb, int i, int j, int k)
{
    Z sum = 0;
    for (int l = 0; l < k; l++) sum += a.at(i, l, ta) * b.at(l, j, tb);
    return sum;
}

#define OP(t) ((cublasOperation_t)(t))

template <class T, class F> static void gemm(const char *what, F call, T alpha, T beta, double within)
{
    const int m = 7, n = 5, k = 9;
    for (int t = 0; t < 9; t++) {
        int ta = t / 3, tb = t % 3;
        Matrix<T> a(ta ? k : m, ta ? m : k), b(tb ? n : k, tb ? k : n), c(m, n);
        bool ok = call(h, OP(ta), OP(tb), m, n, k, &alpha, a.device, a.ld, b.device, b.ld, &beta, c.device, c.ld) == 0;
        ok = ok && c.is([&](int i, int j) {
            return wide(alpha) * product(a, b, ta, tb, i, j, k) + wide(beta) * c.at(i, j);
        }, within);
        char name[80];
        snprintf(name, sizeof name, "%s %d%d", what, ta, tb);
        check(name, ok);
    }
}

static void products()
{
    gemm<float>("sgemm", cublasSgemm, 1.5f, 0.5f, 1e-4);
    gemm<double>("dgemm", cublasDgemm, -1, 0, 1e-12);
    gemm<cuComplex>("cgemm", cublasCgemm, make_cuComplex(1, 2), make_cuComplex(0, 1), 1e-4);
    gemm<cuDoubleComplex>("zgemm", cublasZgemm, make_cuDoubleComplex(1, 2), make_cuDoubleComplex(0, 0), 1e-12);
    gemm<__half>("hgemm", cublasHgemm, __float2half(1), __float2half(2), 0.02);
}

template <class T> static void many(cudaDataType type, cublasComputeType_t compute, const char *what, double within)
{
    const int m = 4, n = 6, k = 8, count = 3;
    Matrix<T> a(m, k * count), b(k, n * count);
    Matrix<float> c(m, n * count);
    float alpha = 1, beta = 0;
    bool ok = cublasGemmStridedBatchedEx(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, type, a.ld,
        (long long)a.ld * k, b.device, type, b.ld, (long long)b.ld * n, &beta, c.device, CUDA_R_32F, c.ld,
        (long long)c.ld * n, count, compute, CUBLAS_GEMM_DEFAULT) == 0;
    check(what, ok && c.is([&](int i, int j) {
        Z sum = 0;
        for (int l = 0; l < k; l++) sum += a.at(i, j / n * k + l) * b.at(l, j);
        return sum;
    }, within));
}

// TF32 has 10 bits behind the point.
static void rounding()
{
    Matrix<float> a(2, 1), b(1, 1), c(2, 1);
    float one = 1, zero = 0, given[2] = {1 + 0x1p-10f, 1 + 0x1p-12f};
    cudaMemcpy(a.device, given, sizeof given, cudaMemcpyHostToDevice);
    cudaMemcpy(b.device, &one, sizeof one, cudaMemcpyHostToDevice);
    bool ok = cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 1, &one, a.device, CUDA_R_32F, a.ld, b.device, CUDA_R_32F,
        b.ld, &zero, c.device, CUDA_R_32F, c.ld, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT) == 0;
    check("TF32 rounds", ok && c.is([&](int i, int) { return i ? 1 : 1 + 0x1p-10; }, 0));
}

static void batches()
{
    many<float>(CUDA_R_32F, CUBLAS_COMPUTE_32F, "strided floats", 1e-4);
    many<__half>(CUDA_R_16F, CUBLAS_COMPUTE_32F, "strided halves", 1e-4);
    many<__nv_bfloat16>(CUDA_R_16BF, CUBLAS_COMPUTE_32F, "strided brain floats", 1e-4);
    many<float>(CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, "strided TF32", 1e-4);

    Matrix<signed char> a(5, 8), b(8, 5);
    Matrix<int> c(5, 5);
    int one = 1, zero = 0;
    bool ok = cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 8, &one, a.device, CUDA_R_8I, a.ld, b.device, CUDA_R_8I,
        b.ld, &zero, c.device, CUDA_R_32I, c.ld, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT) == 0;
    check("bytes", ok && c.is([&](int i, int j) {
        Z sum = 0;
        for (int l = 0; l < 8; l++) sum += a.at(i, l) * b.at(l, j);
        return sum;
    }, 0));

    Matrix<float> p(4, 4), q(4, 4), r(4, 4), s(4, 4);
    const float *lists[6] = {p.device, q.device, q.device, p.device, r.device, s.device}, **on_device;
    float alpha = 1, beta = 0;
    cudaMalloc(&on_device, sizeof lists);
    cudaMemcpy(on_device, lists, sizeof lists, cudaMemcpyHostToDevice);
    ok = cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_T, 4, 4, 4, &alpha, on_device, p.ld, on_device + 2, q.ld, &beta,
        (float **)on_device + 4, r.ld, 2) == 0;
    check("by pointers", ok && r.is([&](int i, int j) { return product(p, q, 0, 1, i, j, 4); }, 1e-5) &&
          s.is([&](int i, int j) { return product(q, p, 0, 1, i, j, 4); }, 1e-5));
    cudaFree(on_device);
}

static void level_1()
{
    const int n = 33;
    Matrix<float> x(1, n), y(1, n);
    float alpha = 2, dot, norm, sum;
    int most, least;
    bool ok = cublasSaxpy(h, n, &alpha, x.device, x.ld, y.device, y.ld) == 0;
    check("axpy", ok && y.is([&](int, int j) { return 2.0 * x.at(0, j) + y.at(0, j); }, 1e-6));
    double want_dot = 0, want_norm = 0, want_sum = 0;
    int want_most = 0, want_least = 0;
    for (int j = 0; j < n; j++) {
        double v = x.at(0, j).real();
        want_dot += v * (2 * v + y.at(0, j).real()), want_norm += v * v, want_sum += fabs(v);
        if (fabs(v) > fabs(x.at(0, want_most).real())) want_most = j;
        if (fabs(v) < fabs(x.at(0, want_least).real())) want_least = j;
    }
    cublasSdot(h, n, x.device, x.ld, y.device, y.ld, &dot);
    cublasSnrm2(h, n, x.device, x.ld, &norm);
    cublasSasum(h, n, x.device, x.ld, &sum);
    cublasIsamax(h, n, x.device, x.ld, &most);
    cublasIsamin(h, n, x.device, x.ld, &least);
    check("dot, norm, sum", fabs(dot - want_dot) < 1e-4 && fabs(norm - sqrt(want_norm)) < 1e-5 &&
          fabs(sum - want_sum) < 1e-4);
    check("greatest and least", most == want_most + 1 && least == want_least + 1);

    float *result, got;
    cudaMalloc(&result, sizeof *result);
    cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
    cublasSdot(h, n, x.device, x.ld, y.device, y.ld, result);
    cublasSscal(h, n, result, x.device, x.ld);
    cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);
    cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost);
    check("results and scalars on the device", got == dot && x.is([&](int, int j) { return (double)dot * x.at(0, j); }, 1e-3));
    cudaFree(result);

    Matrix<cuComplex> u(1, n), v(1, n);
    cuComplex d;
    Z want = 0;
    for (int j = 0; j < n; j++) want += std::conj(u.at(0, j)) * v.at(0, j);
    cublasCdotc(h, n, u.device, u.ld, v.device, v.ld, &d);
    check("a complex dot product", std::abs(wide(d) - want) < 1e-4);
}

static void level_2()
{
    const int m = 6, n = 4;
    Matrix<double> a(m, n), x(1, n), y(1, m), l(m, m);
    double alpha = 2, beta = 1;
    bool ok = cublasDgemv(h, CUBLAS_OP_N, m, n, &alpha, a.device, a.ld, x.device, x.ld, &beta, y.device, y.ld) == 0;
    check("gemv", ok && y.is([&](int, int i) {
        Z sum = y.at(0, i);
        for (int j = 0; j < n; j++) sum += 2.0 * a.at(i, j) * x.at(0, j);
        return sum;
    }, 1e-12));
    Matrix<double> p(1, m), q(1, n);
    ok = cublasDger(h, m, n, &alpha, p.device, p.ld, q.device, q.ld, a.device, a.ld) == 0;
    check("ger", ok && a.is([&](int i, int j) { return a.at(i, j) + 2.0 * p.at(0, i) * q.at(0, j); }, 1e-12));
    ok = cublasDsymv(h, CUBLAS_FILL_MODE_UPPER, m, &alpha, l.device, l.ld, p.device, p.ld, &beta, y.device, y.ld) == 0;
    check("symv", ok && y.is([&](int, int i) {
        Z sum = y.at(0, i), before = 0;
        for (int j = 0; j < n; j++) before += 2.0 * a.at(i, j) * x.at(0, j);
        sum += before;
        for (int j = 0; j < m; j++) sum += 2.0 * l.at(i < j ? i : j, i < j ? j : i) * p.at(0, j);
        return sum;
    }, 1e-12));
    Matrix<double> t(m, m), r(1, m);
    ok = cublasDtrmv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, t.device, t.ld, r.device, r.ld) == 0 &&
         cublasDtrsv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, t.device, t.ld, r.device, r.ld) == 0;
    check("trmv and trsv undo each other", ok && r.is([&](int, int j) { return r.at(0, j); }, 1e-9));
}

// Of a symmetric or Hermitian matrix that is stored as one triangle of a, by rows and columns.
template <class T> static Z mirrored(const Matrix<T> &a, int i, int j, bool lower, bool hermitian)
{
    bool is_stored = lower ? i >= j : i <= j;
    Z x = is_stored ? a.at(i, j) : a.at(j, i);
    if (hermitian && i == j) return x.real();
    return hermitian && !is_stored ? std::conj(x) : x;
}

// The lower triangle of a without gaps.
template <class T> static std::vector<T> packed(const Matrix<T> &a)
{
    std::vector<T> out;
    for (int j = 0; j < a.columns; j++)
        for (int i = j; i < a.rows; i++) out.push_back(a.host[(size_t)j * a.ld + i]);
    return out;
}

static void stored_otherwise()
{
    const int n = 6, k = 2;
    Matrix<double> a(n, n), band(2 * k + 1, n), x(1, n), y(1, n), tight((n * (n + 1)) / 2, 1);
    double alpha = 2, beta = 1;
    tight.host = packed(a), tight.host.resize(tight.ld);
    cudaMemcpy(tight.device, tight.host.data(), tight.ld * sizeof(double), cudaMemcpyHostToDevice);
    bool ok = cublasDspmv(h, CUBLAS_FILL_MODE_LOWER, n, &alpha, tight.device, x.device, x.ld, &beta, y.device, y.ld) == 0;
    check("spmv", ok && y.is([&](int, int i) {
        Z sum = y.at(0, i);
        for (int j = 0; j < n; j++) sum += 2.0 * mirrored(a, i, j, true, false) * x.at(0, j);
        return sum;
    }, 1e-12));
    auto place = [&](int i, int j) { return j * n - j * (j - 1) / 2 + i - j; };
    auto updated = [&](int at, bool twice) {
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++)
                if (place(i, j) == at)
                    return tight.at(at, 0) + 2.0 * (twice ? x.at(0, i) * y.at(0, j) + y.at(0, i) * x.at(0, j)
                                                          : x.at(0, i) * x.at(0, j));
        return Z(0);
    };
    ok = cublasDspr(h, CUBLAS_FILL_MODE_LOWER, n, &alpha, x.device, x.ld, tight.device) == 0;
    check("spr", ok && tight.is([&](int at, int) { return updated(at, false); }, 1e-12));
    Matrix<double> v(1, n);
    ok = cublasDtpmv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, n, tight.device, v.device, v.ld) == 0 &&
         cublasDtpsv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, n, tight.device, v.device, v.ld) == 0;
    check("tpmv and tpsv undo each other", ok && v.is([&](int, int j) { return v.at(0, j); }, 1e-9));

    Matrix<double> u(1, n), w(1, n);
    ok = cublasDgbmv(h, CUBLAS_OP_N, n, n, k, k, &alpha, band.device, band.ld, u.device, u.ld, &beta, w.device, w.ld) == 0;
    check("gbmv", ok && w.is([&](int, int i) {
        Z sum = w.at(0, i);
        for (int j = 0; j < n; j++)
            if (abs(i - j) <= k) sum += 2.0 * band.at(k + i - j, j) * u.at(0, j);
        return sum;
    }, 1e-12));
    Matrix<double> q(1, n);
    ok = cublasDsbmv(h, CUBLAS_FILL_MODE_UPPER, n, k, &alpha, band.device, band.ld, u.device, u.ld, &beta, q.device, q.ld) == 0;
    check("sbmv", ok && q.is([&](int, int i) {
        Z sum = q.at(0, i);
        for (int j = 0; j < n; j++)
            if (abs(i - j) <= k) sum += 2.0 * band.at(k - abs(i - j), i > j ? i : j) * u.at(0, j);
        return sum;
    }, 1e-12));
}

static void hermitian()
{
    const int n = 5, k = 3;
    Matrix<cuComplex> a(n, n), b(n, k), c(n, n), x(1, n), y(1, n), product_of(n, k);
    cuComplex alpha = make_cuComplex(1, 1), beta = make_cuComplex(0, 0);
    float real = 2, one = 1;
    bool ok = cublasChemv(h, CUBLAS_FILL_MODE_LOWER, n, &alpha, a.device, a.ld, x.device, x.ld, &beta, y.device, y.ld) == 0;
    check("hemv", ok && y.is([&](int, int i) {
        Z sum = 0;
        for (int j = 0; j < n; j++) sum += mirrored(a, i, j, true, true) * x.at(0, j);
        return Z(1, 1) * sum;
    }, 1e-4));
    ok = cublasChemm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, n, k, &alpha, a.device, a.ld, b.device, b.ld, &beta,
                     product_of.device, product_of.ld) == 0;
    check("hemm", ok && product_of.is([&](int i, int j) {
        Z sum = 0;
        for (int l = 0; l < n; l++) sum += mirrored(a, i, l, true, true) * b.at(l, j);
        return Z(1, 1) * sum;
    }, 1e-4));
    ok = cublasCherk(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, k, &real, b.device, b.ld, &one, c.device, c.ld) == 0;
    check("herk", ok && c.is([&](int i, int j) {
        if (i > j) return c.at(i, j);
        Z sum = i == j ? Z(c.at(i, j).real()) : c.at(i, j);
        for (int l = 0; l < k; l++) sum += 2.0 * b.at(i, l) * std::conj(b.at(j, l));
        return sum;
    }, 1e-4));
    ok = cublasCher(h, CUBLAS_FILL_MODE_UPPER, n, &real, x.device, x.ld, a.device, a.ld) == 0;
    check("her", ok && a.is([&](int i, int j) {
        if (i > j) return a.at(i, j);
        Z before = i == j ? Z(a.at(i, j).real()) : a.at(i, j);
        return before + 2.0 * x.at(0, i) * std::conj(x.at(0, j));
    }, 1e-4));
    double p = 3, r = 4, cosine, sine;
    ok = cublasDrotg(h, &p, &r, &cosine, &sine) == 0;
    check("rotg", ok && fabs(p - 5) < 1e-12 && fabs(cosine - 0.6) < 1e-12 && fabs(sine - 0.8) < 1e-12);
}

static void level_3()
{
    const int m = 6, n = 5;
    Matrix<float> a(m, m), b(m, n), c(m, n), d(m, m);
    float alpha = 1, beta = 0, two = 2;
    bool ok = cublasSsymm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, m, n, &alpha, a.device, a.ld, b.device, b.ld, &beta,
                          c.device, c.ld) == 0;
    check("symm", ok && c.is([&](int i, int j) {
        Z sum = 0;
        for (int k = 0; k < m; k++) sum += a.at(i < k ? i : k, i < k ? k : i) * b.at(k, j);
        return sum;
    }, 1e-5));
    ok = cublasSsyrk(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, m, n, &alpha, b.device, b.ld, &two, d.device, d.ld) == 0;
    check("syrk", ok && d.is([&](int i, int j) {
        return i < j ? d.at(i, j) : product(b, b, 0, 1, i, j, n) + 2.0 * d.at(i, j);
    }, 1e-4));
    Matrix<float> e(m, n), t(m, m);
    ok = cublasStrmm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, n, &two, t.device, t.ld,
                     b.device, b.ld, e.device, e.ld) == 0;
    check("trmm", ok && e.is([&](int i, int j) {
        Z sum = b.at(i, j);
        for (int k = i + 1; k < m; k++) sum += t.at(i, k) * b.at(k, j);
        return 2.0 * sum;
    }, 1e-4));
    float half = 0.5f;
    ok = cublasStrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, n, &half, t.device, t.ld,
                     e.device, e.ld) == 0;
    check("trsm", ok && e.is([&](int i, int j) { return b.at(i, j); }, 1e-3));
    Matrix<float> s(m, n), bt(n, m);
    ok = cublasSgeam(h, CUBLAS_OP_N, CUBLAS_OP_T, m, n, &alpha, b.device, b.ld, &two, bt.device, bt.ld, s.device, s.ld) == 0;
    check("geam", ok && s.is([&](int i, int j) { return b.at(i, j) + 2.0 * bt.at(j, i); }, 1e-6));
    Matrix<float> w(1, n), o(m, n);
    ok = cublasSdgmm(h, CUBLAS_SIDE_RIGHT, m, n, b.device, b.ld, w.device, w.ld, o.device, o.ld) == 0;
    check("dgmm", ok && o.is([&](int i, int j) { return b.at(i, j) * w.at(0, j); }, 1e-6));
}

// An array of pointers on the device.
template <class T> static T **listed(std::vector<T *> list)
{
    T **out;
    cudaMalloc(&out, list.size() * sizeof(T *));
    cudaMemcpy(out, list.data(), list.size() * sizeof(T *), cudaMemcpyHostToDevice);
    return out;
}

// Half of a product, of two that nothing makes symmetric; the other half stays.
template <class T, class S, class F> static void one_half(const char *what, F call, T alpha, S beta, bool hermitian)
{
    const int n = 5, k = 7;
    for (int t = 0; t < 4; t++) {
        int op = t / 2 ? (hermitian ? 2 : 1) : 0, upper = t % 2;
        Matrix<T> a(op ? k : n, op ? n : k), b(op ? k : n, op ? n : k), c(n, n);
        bool ok = call(h, upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER, OP(op), n, k, &alpha, a.device, a.ld,
                       b.device, b.ld, &beta, c.device, c.ld) == 0;
        ok = ok && c.is([&](int i, int j) {
            if (upper ? i > j : i < j) return c.at(i, j);
            Z sum = 0;
            for (int l = 0; l < k; l++) {
                Z x = op ? a.at(l, i) : a.at(i, l), y = op ? b.at(l, j) : b.at(j, l);
                sum += hermitian ? (op ? std::conj(x) * y : x * std::conj(y)) : x * y;
            }
            Z v = wide(alpha) * sum + wide(beta) * c.at(i, j);
            return hermitian && i == j ? Z(v.real()) : v;
        }, 1e-4);
        if (!ok) printf("%s %d\n", what, t);
        if (!ok || t == 3) check(what, ok);
        if (!ok) return;
    }
}

static void halves_and_groups()
{
    one_half<float, float>("ssyrkx", cublasSsyrkx, 0.5f, 2.0f, false);
    one_half<double, double>("dsyrkx", cublasDsyrkx, 0.5, 0.0, false);
    one_half<cuComplex, cuComplex>("csyrkx", cublasCsyrkx, make_cuComplex(1, 2), make_cuComplex(0.5f, 1), false);
    one_half<cuDoubleComplex, double>("zherkx", cublasZherkx, make_cuDoubleComplex(1, 2), 0.5, true);

    const int m = 4, n = 3;
    float two = 2;
    Matrix<float> t(m, m), u(m, m), b(m, n), d(m, n);
    for (int i = 0; i < m; i++) t.host[i * t.ld + i] = 2 + i, u.host[i * u.ld + i] = 3;
    cudaMemcpy(t.device, t.host.data(), t.host.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(u.device, u.host.data(), u.host.size() * 4, cudaMemcpyHostToDevice);
    bool ok = cublasStrsmBatched(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, m, n, &two,
                                 (const float *const *)listed<float>({t.device, u.device}), t.ld,
                                 listed<float>({b.device, d.device}), b.ld, 2) == 0;
    for (int which = 0; which < 2; which++) {
        const Matrix<float> &a = which ? u : t, &right = which ? d : b;
        std::vector<Z> x(m * n);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                Z sum = 2.0 * right.at(i, j);
                for (int l = 0; l < i; l++) sum -= a.at(i, l) * x[j * m + l];
                x[j * m + i] = sum / a.at(i, i);
            }
        ok = ok && right.is([&](int i, int j) { return x[j * m + i]; }, 1e-4);
    }
    check("trsm, two at a time", ok);

    // Groups of one and of two products, each of a shape of its own.
    Matrix<float> p(3, 4), q(4, 5), r(3, 5), v(6, 2), w(6, 3), x(2, 3), y(2, 3);
    cublasOperation_t op_a[] = {CUBLAS_OP_N, CUBLAS_OP_T}, op_b[] = {CUBLAS_OP_N, CUBLAS_OP_N};
    int ms[] = {3, 2}, ns[] = {5, 3}, ks[] = {4, 6}, lda[] = {p.ld, v.ld}, ldb[] = {q.ld, w.ld}, ldc[] = {r.ld, x.ld};
    int sizes[] = {1, 2};
    float alphas[] = {2, 3}, betas[] = {0, 1};
    ok = cublasSgemmGroupedBatched(h, op_a, op_b, ms, ns, ks, alphas,
                                   (const float *const *)listed<float>({p.device, v.device, v.device}), lda,
                                   (const float *const *)listed<float>({q.device, w.device, w.device}), ldb, betas,
                                   listed<float>({r.device, x.device, y.device}), ldc, 2, sizes) == 0;
    ok = ok && r.is([&](int i, int j) { return 2.0 * product(p, q, 0, 0, i, j, 4); }, 1e-4);
    ok = ok && x.is([&](int i, int j) { return 3.0 * product(v, w, 1, 0, i, j, 6) + x.at(i, j); }, 1e-4);
    ok = ok && y.is([&](int i, int j) { return 3.0 * product(v, w, 1, 0, i, j, 6) + y.at(i, j); }, 1e-4);
    check("products in groups", ok);
}

static void streams()
{
    Matrix<float> a(8, 8), b(8, 8), c(8, 8);
    float alpha = 1, beta = 1;
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&s);
    cublasSetStream(h, s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &alpha, a.device, a.ld, b.device, b.ld, &beta, c.device, c.ld);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 2; i++) cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    check("in a graph, twice", c.is([&](int i, int j) { return 2.0 * product(a, b, 0, 0, i, j, 8) + c.at(i, j); }, 1e-4));
    cublasSetStream(h, 0);
    cudaStreamDestroy(s);
}

static void misuse()
{
    Matrix<float> a(8, 8);
    float alpha = 1, beta = 0;
    check("a step that is too short", cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &alpha, a.device, 4, a.device, 8, &beta,
          a.device, 8) == CUBLAS_STATUS_INVALID_VALUE);
    check("no handle", cublasSscal(nullptr, 1, &alpha, a.device, 1) == CUBLAS_STATUS_NOT_INITIALIZED);
    check("its name", !strcmp(cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE"));
}

// Memory that nobody wrote where the functions do not read: the other triangle, corners of a band, a
// result that counts nothing. With `reads` they are given one that counts.
static int parts(bool reads)
{
    const int n = 3;
    float one = 1, zero = 0, ones[n * n], got[n * n], *triangle, *lower, *band, *x, *y, *c;
    for (float &v : ones) v = 1;
    cudaMalloc(&triangle, sizeof ones), cudaMalloc(&lower, sizeof ones), cudaMalloc(&band, sizeof ones);
    cudaMalloc(&x, sizeof ones), cudaMalloc(&y, sizeof ones), cudaMalloc(&c, sizeof ones);
    cudaMemcpy(x, ones, sizeof ones, cudaMemcpyHostToDevice);
    for (int j = 0; j < n; j++) {
        cudaMemcpy(triangle + j * n, ones, (j + 1) * sizeof one, cudaMemcpyHostToDevice);
        cudaMemcpy(lower + j * n + j, ones, (n - j) * sizeof one, cudaMemcpyHostToDevice);
        int first = j == 0, end = j == n - 1 ? n - 1 : n;
        cudaMemcpy(band + j * n + first, ones, (end - first) * sizeof one, cudaMemcpyHostToDevice);
    }
    cublasSsymv(h, CUBLAS_FILL_MODE_UPPER, n, &one, triangle, n, x, 1, &zero, y, 1);
    cublasSsymv(h, CUBLAS_FILL_MODE_LOWER, n, &one, lower, n, x, 1, &one, y, 1);
    cublasSgbmv(h, CUBLAS_OP_N, n, n, 1, 1, &one, band, n, x, 1, &one, y, 1);
    cudaMemcpy(got, y, n * sizeof one, cudaMemcpyDeviceToHost);
    bool ok = got[0] == 8 && got[1] == 9 && got[2] == 8;
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, x, n, x, n, reads ? &one : &zero, c, n);
    cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost);
    return !(ok && (reads || got[8] == 3));
}

__global__ void halve(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}

// A product, and a kernel on what it wrote.
static int kernels()
{
    Matrix<float> a(29, 32), b(29, 32), c(29, 32);
    float alpha = 1, beta = 0;
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, 29, 29, 32, &alpha, a.device, a.ld, b.device, b.ld, &beta, c.device, c.ld);
    halve<<<8, 128>>>(c.device, 1024);
    std::vector<float> got(1024);
    cudaMemcpy(got.data(), c.device, 4096, cudaMemcpyDeviceToHost);
    double error = 0;
    for (int j = 0; j < 29; j++)
        for (int i = 0; i < 29; i++)
            error = fmax(error, std::abs(product(a, b, 0, 1, i, j, 32) / 2.0 - (double)got[j * c.ld + i]));
    return error > 1e-4;
}

int main(int argc, char **argv)
{
    check("a handle", cublasCreate(&h) == CUBLAS_STATUS_SUCCESS);
    if (argc > 1 && !strcmp(argv[1], "beyond")) {
        float *x, alpha = 1;
        cudaMalloc(&x, 64);
        return cublasSscal(h, 17, &alpha, x, 1);
    }
    if (argc > 1 && !strcmp(argv[1], "parts")) return parts(argc > 2);
    if (argc > 1 && !strcmp(argv[1], "host")) {
        float x[4] = {1, 2, 3, 4}, alpha = 1;
        return cublasSscal(h, 4, &alpha, x, 1);
    }
    if (argc > 1 && !strcmp(argv[1], "undefined")) {
        float *x, alpha = 1, got[4];
        cudaMalloc(&x, 64);
        cublasSscal(h, 4, &alpha, x, 1);
        return cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost);
    }
    if (argc > 1 && !strcmp(argv[1], "kernels")) return kernels();
    if (argc > 1 && !strcmp(argv[1], "missing")) return cublasXtCreate(nullptr);
    products(), rounding(), batches(), level_1(), level_2(), level_3(), stored_otherwise(), hermitian(), halves_and_groups(), streams(), misuse();
    check("the end", cublasDestroy(h) == CUBLAS_STATUS_SUCCESS);
    return wrong > 0;
}
