// cuSOLVER on the virtual GPU: what each factorisation promises, multiplied out in loops.
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cusolverDn.h>

typedef std::complex<double> Z;
static cusolverDnHandle_t h;
static int wrong;

static void check(const char *what, bool ok)
{
    if (!ok) wrong++;
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
}

// A matrix by columns, whose ld is larger than its rows; by default on both sides.
struct Matrix {
    int rows, columns, ld;
    std::vector<Z> host;
    Z *device;
    Matrix(int r, int c, bool is_empty = false) : rows(r), columns(c), ld(r + 2), host(size_t(r + 2) * c)
    {
        for (Z &x : host) x = is_empty ? 0 : Z(rand() % 31 / 16.0 - 1, rand() % 31 / 16.0 - 1);
        cudaMalloc(&device, host.size() * sizeof(Z));
        send();
    }
    Matrix(const Matrix &) = delete;
    ~Matrix() { cudaFree(device); }
    Z &at(int i, int j) { return host[size_t(j) * ld + i]; }
    void send() { cudaMemcpy(device, host.data(), host.size() * sizeof(Z), cudaMemcpyHostToDevice); }
    void fetch() { cudaMemcpy(host.data(), device, host.size() * sizeof(Z), cudaMemcpyDeviceToHost); }
    cuDoubleComplex *z() const { return (cuDoubleComplex *)device; }
};

static double distance(Matrix &a, Matrix &b)
{
    double most = 0;
    for (int j = 0; j < a.columns; j++)
        for (int i = 0; i < a.rows; i++) most = std::max(most, std::abs(a.at(i, j) - b.at(i, j)));
    return most;
}

static void copy(Matrix &to, Matrix &from) { to.host = from.host, to.send(); }

// c = op(a) op(b), 'C' the adjoint.
static void multiply(Matrix &c, Matrix &a, char op_a, Matrix &b, char op_b)
{
    int inner = op_a == 'C' ? a.rows : a.columns;
    for (int i = 0; i < c.rows; i++)
        for (int j = 0; j < c.columns; j++) {
            Z sum = 0;
            for (int k = 0; k < inner; k++)
                sum += (op_a == 'C' ? std::conj(a.at(k, i)) : a.at(i, k)) * (op_b == 'C' ? std::conj(b.at(j, k)) : b.at(k, j));
            c.at(i, j) = sum;
        }
}

// Hermitian, its eigenvalues above 1.
static void make_definite(Matrix &a)
{
    Matrix b(a.rows, a.rows);
    multiply(a, b, 'N', b, 'C');
    for (int i = 0; i < a.rows; i++) a.at(i, i) += 1.0;
    a.send();
}

static int info_of(int *info)
{
    int x = -99;
    cudaMemcpy(&x, info, sizeof x, cudaMemcpyDeviceToHost);
    return x;
}

static int *info;
static cuDoubleComplex *work;
#define CZ (cuDoubleComplex *)

static void cholesky(cublasFillMode_t fill)
{
    const int n = 9;
    Matrix a(n, n), l(n, n), b(n, 3), x(n, 3), back(n, n), inverse(n, n);
    int size;
    make_definite(a), copy(l, a);
    bool ok = !cusolverDnZpotrf_bufferSize(h, fill, n, l.z(), l.ld, &size) && size > 0 &&
              !cusolverDnZpotrf(h, fill, n, l.z(), l.ld, work, size, info) && info_of(info) == 0;
    copy(x, b);
    ok = ok && !cusolverDnZpotrs(h, fill, n, 3, l.z(), l.ld, x.z(), x.ld, info);
    l.fetch(), x.fetch();
    bool lower = fill == CUBLAS_FILL_MODE_LOWER;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (lower ? i < j : i > j) l.at(i, j) = 0;
    multiply(back, l, lower ? 'N' : 'C', l, lower ? 'C' : 'N');
    check(lower ? "Cholesky, lower" : "Cholesky, upper", ok && distance(back, a) < 1e-12);
    Matrix again(n, 3);
    multiply(again, a, 'N', x, 'N');
    check("and solved", distance(again, b) < 1e-11);
    l.send();
    ok = !cusolverDnZpotri(h, fill, n, l.z(), l.ld, work, 1, info);
    l.fetch();
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (lower ? i < j : i > j) l.at(i, j) = std::conj(l.at(j, i));
    multiply(back, a, 'N', l, 'N');
    for (int i = 0; i < n; i++) back.at(i, i) -= 1.0;
    Matrix nothing(n, n, true);
    check("and inverted", ok && distance(back, nothing) < 1e-11);
    a.at(4, 4) = -5, a.send();
    ok = !cusolverDnZpotrf(h, fill, n, a.z(), a.ld, work, size, info);
    check("where it is not definite", ok && info_of(info) == 5);
}

static void batched()
{
    const int n = 5, count = 3;
    Matrix a(n, n), b(n, n), c(n, n), x(n, 1), y(n, 1), z(n, 1);
    Matrix *all[count] = {&a, &b, &c}, *right[count] = {&x, &y, &z};
    std::vector<Z> kept[count], kept_right[count];
    cuDoubleComplex *as[count], *bs[count], **d_as, **d_bs;
    int *infos, got[count];
    for (int i = 0; i < count; i++) {
        make_definite(*all[i]), kept[i] = all[i]->host, kept_right[i] = right[i]->host;
        as[i] = all[i]->z(), bs[i] = right[i]->z();
    }
    cudaMalloc(&d_as, sizeof as), cudaMalloc(&d_bs, sizeof bs), cudaMalloc(&infos, sizeof got);
    cudaMemcpy(d_as, as, sizeof as, cudaMemcpyHostToDevice), cudaMemcpy(d_bs, bs, sizeof bs, cudaMemcpyHostToDevice);
    bool ok = !cusolverDnZpotrfBatched(h, CUBLAS_FILL_MODE_LOWER, n, d_as, a.ld, infos, count) &&
              !cusolverDnZpotrsBatched(h, CUBLAS_FILL_MODE_LOWER, n, 1, d_as, a.ld, d_bs, x.ld, info, count);
    cudaMemcpy(got, infos, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; i++) {
        right[i]->fetch(), all[i]->host = kept[i];
        Matrix again(n, 1), want(n, 1);
        want.host = kept_right[i];
        multiply(again, *all[i], 'N', *right[i], 'N');
        ok = ok && got[i] == 0 && distance(again, want) < 1e-11;
    }
    check("Cholesky of many", ok && info_of(info) == 0);
    cudaFree(d_as), cudaFree(d_bs), cudaFree(infos);
}

static void lu(cublasOperation_t op, bool exchanges)
{
    const int n = 8;
    Matrix a(n, n), f(n, n), b(n, 2), x(n, 2), again(n, 2);
    int *pivots, size;
    for (int i = 0; i < n && !exchanges; i++) a.at(i, i) += 20.0;
    cudaMalloc(&pivots, n * sizeof *pivots);
    copy(f, a), copy(x, b);
    bool ok = !cusolverDnZgetrf_bufferSize(h, n, n, f.z(), f.ld, &size) &&
              !cusolverDnZgetrf(h, n, n, f.z(), f.ld, work, exchanges ? pivots : NULL, info) && info_of(info) == 0 &&
              !cusolverDnZgetrs(h, op, n, 2, f.z(), f.ld, exchanges ? pivots : NULL, x.z(), x.ld, info);
    x.fetch();
    multiply(again, a, op == CUBLAS_OP_N ? 'N' : 'C', x, 'N');
    check(exchanges ? "LU, solved" : "LU without exchanges, solved", ok && distance(again, b) < 1e-11);
    cudaFree(pivots);
}

static void qr()
{
    const int m = 9, n = 5;
    Matrix a(m, n), f(m, n), q(m, n), r(n, n), back(m, n), turned(m, n);
    cuDoubleComplex *tau;
    int size;
    cudaMalloc(&tau, n * sizeof *tau);
    copy(f, a);
    bool ok = !cusolverDnZgeqrf_bufferSize(h, m, n, f.z(), f.ld, &size) &&
              !cusolverDnZgeqrf(h, m, n, f.z(), f.ld, tau, work, size, info) && info_of(info) == 0;
    f.fetch(), copy(q, f);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) r.at(i, j) = i <= j ? f.at(i, j) : 0;
    ok = ok && !cusolverDnZungqr(h, m, n, n, q.z(), q.ld, tau, work, size, info);
    q.fetch();
    multiply(back, q, 'N', r, 'N');
    check("QR", ok && distance(back, a) < 1e-12);
    // Q^H a is R above zeros.
    copy(turned, a);
    ok = !cusolverDnZunmqr(h, CUBLAS_SIDE_LEFT, CUBLAS_OP_C, m, n, n, f.z(), f.ld, tau, turned.z(), turned.ld, work, size, info);
    turned.fetch();
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) ok = ok && std::abs(turned.at(i, j) - (i <= j ? r.at(i, j) : 0)) < 1e-12;
    check("a product with Q", ok);
    cudaFree(tau);
}

static void eigenvalues(int general)
{
    const int n = 7;
    Matrix a(n, n), v(n, n), b(n, n), l(n, n), av(n, n), bv(n, n);
    double *w, values[n];
    int size = 1;
    cudaMalloc(&w, sizeof values);
    make_definite(a), make_definite(b), copy(v, a), copy(l, b);
    cusolverEigMode_t job = CUSOLVER_EIG_MODE_VECTOR;
    bool ok = general ? !cusolverDnZhegvd(h, CUSOLVER_EIG_TYPE_1, job, CUBLAS_FILL_MODE_UPPER, n, v.z(), v.ld, l.z(), l.ld, w, work, size, info)
                      : !cusolverDnZheevd_bufferSize(h, job, CUBLAS_FILL_MODE_LOWER, n, v.z(), v.ld, w, &size) &&
                        !cusolverDnZheevd(h, job, CUBLAS_FILL_MODE_LOWER, n, v.z(), v.ld, w, work, size, info);
    v.fetch(), cudaMemcpy(values, w, sizeof values, cudaMemcpyDeviceToHost);
    multiply(av, a, 'N', v, 'N');
    if (general) multiply(bv, b, 'N', v, 'N');
    else bv.host = v.host;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) bv.at(i, j) *= values[j];
    ok = ok && info_of(info) == 0 && distance(av, bv) < 1e-10;
    for (int i = 1; i < n; i++) ok = ok && values[i - 1] <= values[i];
    check(general ? "eigenvalues of a pair" : "eigenvalues", ok);
    cudaFree(w);
}

static void singular(bool jacobi)
{
    const int m = 8, n = 5;
    Matrix a(m, n), f(m, n), u(m, jacobi ? n : m, true), v(n, n, true), back(m, n);
    double *s, values[n];
    int size = 1;
    cudaMalloc(&s, sizeof values);
    copy(f, a);
    bool ok = jacobi ? !cusolverDnZgesvdj(h, CUSOLVER_EIG_MODE_VECTOR, 1, m, n, f.z(), f.ld, s, u.z(), u.ld, v.z(), v.ld, work, size, info, NULL)
                     : !cusolverDnZgesvd_bufferSize(h, m, n, &size) &&
                       !cusolverDnZgesvd(h, 'A', 'A', m, n, f.z(), f.ld, s, u.z(), u.ld, v.z(), v.ld, work, size, NULL, info);
    u.fetch(), v.fetch(), cudaMemcpy(values, s, sizeof values, cudaMemcpyDeviceToHost);
    Matrix us(m, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) us.at(i, j) = u.at(i, j) * values[j];
    multiply(back, us, 'N', v, jacobi ? 'C' : 'N');
    ok = ok && info_of(info) == 0 && distance(back, a) < 1e-12;
    for (int i = 1; i < n; i++) ok = ok && values[i - 1] >= values[i];
    check(jacobi ? "singular values, gesvdj" : "singular values", ok);
    cudaFree(s);
}

// The functions of any type, on floats.
static void any_type()
{
    const int n = 6;
    std::vector<float> a(n * n), b(n), x(n), values(n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++) a[j * n + i] = a[i * n + j] = rand() % 31 / 16.0f - 1 + (i == j ? 9 : 0);
    for (float &e : b) e = rand() % 31 / 16.0f - 1;
    float *d, *e, *w;
    int64_t *pivots;
    size_t device, host;
    cudaMalloc(&d, a.size() * 4), cudaMalloc(&e, n * 4), cudaMalloc(&w, n * 4), cudaMalloc(&pivots, n * 8);
    for (int lu = 0; lu < 2; lu++) {
        cudaMemcpy(d, a.data(), a.size() * 4, cudaMemcpyHostToDevice), cudaMemcpy(e, b.data(), n * 4, cudaMemcpyHostToDevice);
        bool ok = lu ? !cusolverDnXgetrf_bufferSize(h, NULL, n, n, CUDA_R_32F, d, n, CUDA_R_32F, &device, &host) &&
                       !cusolverDnXgetrf(h, NULL, n, n, CUDA_R_32F, d, n, pivots, CUDA_R_32F, work, device, NULL, host, info) &&
                       !cusolverDnXgetrs(h, NULL, CUBLAS_OP_T, n, 1, CUDA_R_32F, d, n, pivots, CUDA_R_32F, e, n, info)
                     : !cusolverDnXpotrf_bufferSize(h, NULL, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_32F, d, n, CUDA_R_32F, &device, &host) &&
                       !cusolverDnXpotrf(h, NULL, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_32F, d, n, CUDA_R_32F, work, device, NULL, host, info) &&
                       !cusolverDnXpotrs(h, NULL, CUBLAS_FILL_MODE_LOWER, n, 1, CUDA_R_32F, d, n, CUDA_R_32F, e, n, info);
        cudaMemcpy(x.data(), e, n * 4, cudaMemcpyDeviceToHost);
        for (int i = 0; i < n; i++) {
            float sum = 0;
            for (int j = 0; j < n; j++) sum += a[j * n + i] * x[j];
            ok = ok && fabsf(sum - b[i]) < 1e-4f;
        }
        check(lu ? "Xgetrf, Xgetrs" : "Xpotrf, Xpotrs", ok);
    }
    cudaMemcpy(d, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
    bool ok = !cusolverDnXsyevd(h, NULL, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, n, CUDA_R_32F, d, n, CUDA_R_32F, w, CUDA_R_32F, work, 16, NULL, 0, info);
    cudaMemcpy(values.data(), w, n * 4, cudaMemcpyDeviceToHost);
    double trace = 0, squares = 0;
    for (int i = 0; i < n; i++) trace += a[i * n + i] - values[i], squares -= double(values[i]) * values[i];
    for (float v : a) squares += double(v) * v;
    check("Xsyevd", ok && fabs(trace) < 1e-4 && fabs(squares) < 1e-2);
    cudaFree(d), cudaFree(e), cudaFree(w), cudaFree(pivots);
}

int main(int argc, char **argv)
{
    if (cusolverDnCreate(&h)) return 9;
    cudaMalloc(&info, sizeof *info), cudaMalloc(&work, 1 << 16);
    if (argc > 1) {
        Matrix a(4, 4);
        return cusolverDnZpotrf(h, CUBLAS_FILL_MODE_LOWER, 5, a.z(), 6, work, 1, info);
    }
    cholesky(CUBLAS_FILL_MODE_LOWER), cholesky(CUBLAS_FILL_MODE_UPPER), batched();
    lu(CUBLAS_OP_N, true), lu(CUBLAS_OP_C, true), lu(CUBLAS_OP_N, false);
    qr(), eigenvalues(0), eigenvalues(1), singular(false), singular(true), any_type();
    cusolverDnDestroy(h);
    return wrong > 0;
}
