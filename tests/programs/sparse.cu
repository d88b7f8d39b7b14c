// cuSPARSE on the virtual GPU: each function beside loops over dense matrices.
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cusparse.h>

typedef std::complex<double> Z;
static cusparseHandle_t h;
static int wrong;
static char buffer_text[96];

static void check(const char *what, bool ok)
{
    if (!ok) wrong++;
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
}

template <class T> struct Type;
template <> struct Type<float> { enum { id = CUDA_R_32F }; static float make(Z z) { return float(z.real()); } };
template <> struct Type<double> { enum { id = CUDA_R_64F }; static double make(Z z) { return z.real(); } };
template <> struct Type<Z> { enum { id = CUDA_C_64F }; static Z make(Z z) { return z; } };

static Z draw() { return Z(rand() % 31 / 16.0 - 1, rand() % 31 / 16.0 - 1); }

template <class T> struct Array {
    T *at;
    size_t n;
    explicit Array(const std::vector<T> &x) : n(x.size())
    {
        cudaMalloc(&at, (n + 1) * sizeof(T));
        cudaMemcpy(at, x.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    }
    explicit Array(size_t n_) : n(n_) { cudaMalloc(&at, (n + 1) * sizeof(T)); }
    ~Array() { cudaFree(at); }
    std::vector<T> host() const
    {
        std::vector<T> x(n);
        cudaMemcpy(x.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost);
        return x;
    }
};

// A sparse matrix on both sides; the last row is empty.
enum Format { CSR, CSC, COO };
template <class T> struct Sparse {
    int rows, columns;
    std::vector<Z> dense; // by rows
    std::vector<int> major, minor;
    std::vector<T> values;
    Array<int> *d_major, *d_minor;
    Array<T> *d_values;
    cusparseSpMatDescr_t at;
    Sparse(int r, int c, Format f, int base, bool lower = false) : rows(r), columns(c), dense(r * c)
    {
        std::vector<int> lines;
        for (int i = 0; i < (lower ? r : r - 1); i++)
            for (int j = 0; j < c; j++)
                if (lower ? j == i || (j < i && rand() % 2) : rand() % 3 == 0)
                    dense[i * c + j] = Z(Type<T>::make(draw())) + (lower && i == j ? 4.0 : 0.0);
        int outer = f == CSC ? c : r, inner = f == CSC ? r : c;
        major.push_back(base);
        for (int o = 0; o < outer; o++) {
            for (int k = 0; k < inner; k++) {
                Z z = f == CSC ? dense[k * c + o] : dense[o * c + k];
                if (z == 0.0) continue;
                lines.push_back(o + base), minor.push_back(k + base), values.push_back(Type<T>::make(z));
            }
            major.push_back(int(minor.size()) + base);
        }
        if (f == COO) major = lines;
        d_major = new Array<int>(major), d_minor = new Array<int>(minor), d_values = new Array<T>(values);
        cusparseIndexBase_t b = base ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO;
        int nnz = int(values.size());
        cudaDataType t = cudaDataType(Type<T>::id);
        if (f == CSR) cusparseCreateCsr(&at, r, c, nnz, d_major->at, d_minor->at, d_values->at, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, b, t);
        if (f == CSC) cusparseCreateCsc(&at, r, c, nnz, d_major->at, d_minor->at, d_values->at, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, b, t);
        if (f == COO) cusparseCreateCoo(&at, r, c, nnz, d_major->at, d_minor->at, d_values->at, CUSPARSE_INDEX_32I, b, t);
    }
    ~Sparse() { cusparseDestroySpMat(at), delete d_major, delete d_minor, delete d_values; }
    Z get(int i, int j, int op) const
    {
        Z z = op ? dense[j * columns + i] : dense[i * columns + j];
        return op == 2 ? std::conj(z) : z;
    }
};

// A dense matrix on both sides, with a gap behind each line.
template <class T> struct Dense {
    int rows, columns, ld;
    bool by_rows;
    std::vector<T> host;
    Array<T> *device;
    cusparseDnMatDescr_t at;
    Dense(int r, int c, bool by_rows_) : rows(r), columns(c), ld((by_rows_ ? c : r) + 2), by_rows(by_rows_)
    {
        host.resize(size_t(ld) * (by_rows ? r : c));
        for (T &x : host) x = Type<T>::make(draw());
        device = new Array<T>(host);
        cusparseCreateDnMat(&at, r, c, ld, device->at, cudaDataType(Type<T>::id), by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL);
    }
    ~Dense() { cusparseDestroyDnMat(at), delete device; }
    size_t place(int i, int j) const { return by_rows ? size_t(i) * ld + j : size_t(j) * ld + i; }
    Z get(int i, int j, int op = 0) const
    {
        Z z = op ? host[place(j, i)] : host[place(i, j)];
        return op == 2 ? std::conj(z) : z;
    }
    template <class F> bool is(F want, double within) const
    {
        std::vector<T> got = device->host();
        bool ok = true;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++) ok = ok && std::abs(Z(got[place(i, j)]) - want(i, j)) <= within;
        return ok;
    }
};

#define OP(t) cusparseOperation_t(t)
static const char *const formats[] = {"CSR", "CSC", "COO"};

template <class T> static void products(const char *type, Format f, int base, int op, double within)
{
    Sparse<T> a(13, 9, f, base);
    int m = op ? 9 : 13, k = op ? 13 : 9, n = 5;
    cudaDataType t = cudaDataType(Type<T>::id);
    T alpha = Type<T>::make(Z(2, 1)), beta = Type<T>::make(Z(0.5, -1));
    size_t bytes = 0;
    Dense<T> x(op == 2 ? n : k, op == 2 ? k : n, base), y(m, n, !base);
    int op_b = op == 2 ? 2 : 0;
    bool ok = !cusparseSpMM_bufferSize(h, OP(op), OP(op_b), &alpha, a.at, x.at, &beta, y.at, t, CUSPARSE_SPMM_ALG_DEFAULT, &bytes) &&
              !cusparseSpMM(h, OP(op), OP(op_b), &alpha, a.at, x.at, &beta, y.at, t, CUSPARSE_SPMM_ALG_DEFAULT, NULL);
    ok = ok && y.is([&](int i, int j) {
        Z sum = 0;
        for (int l = 0; l < k; l++) sum += a.get(i, l, op) * x.get(l, j, op_b);
        return Z(alpha) * sum + Z(beta) * y.get(i, j);
    }, within);
    snprintf(buffer_text, sizeof buffer_text, "%s %s, base %d, op %d: product with a matrix", type, formats[f], base, op);
    check(buffer_text, ok);

    std::vector<T> v(k), w(m);
    for (T &e : v) e = Type<T>::make(draw());
    Array<T> d_v(v), d_w(w.size()); // d_w holds nothing: beta is 0
    cusparseDnVecDescr_t v_at, w_at;
    cusparseCreateDnVec(&v_at, k, d_v.at, t), cusparseCreateDnVec(&w_at, m, d_w.at, t);
    T zero = Type<T>::make(0);
    ok = !cusparseSpMV(h, OP(op), &alpha, a.at, v_at, &zero, w_at, t, CUSPARSE_SPMV_ALG_DEFAULT, NULL);
    w = d_w.host();
    for (int i = 0; i < m; i++) {
        Z sum = 0;
        for (int l = 0; l < k; l++) sum += a.get(i, l, op) * Z(v[l]);
        ok = ok && std::abs(Z(w[i]) - Z(alpha) * sum) <= within;
    }
    snprintf(buffer_text, sizeof buffer_text, "%s %s, base %d, op %d: product with a vector", type, formats[f], base, op);
    check(buffer_text, ok);
    cusparseDestroyDnVec(v_at), cusparseDestroyDnVec(w_at);
}

static void conversions(Format f)
{
    Dense<double> x(6, 8, f == CSR);
    for (size_t i = 0; i < x.host.size(); i++)
        if (rand() % 2) x.host[i] = 0;
    cudaMemcpy(x.device->at, x.host.data(), x.host.size() * sizeof(double), cudaMemcpyHostToDevice);
    int lines = f == CSC ? 8 : 6;
    Array<int> offsets(lines + 1);
    cusparseSpMatDescr_t a;
    cusparseIndexType_t i32 = CUSPARSE_INDEX_32I;
    cusparseIndexBase_t zero = CUSPARSE_INDEX_BASE_ZERO;
    if (f == CSR) cusparseCreateCsr(&a, 6, 8, 0, offsets.at, NULL, NULL, i32, i32, zero, CUDA_R_64F);
    if (f == CSC) cusparseCreateCsc(&a, 6, 8, 0, offsets.at, NULL, NULL, i32, i32, zero, CUDA_R_64F);
    if (f == COO) cusparseCreateCoo(&a, 6, 8, 0, NULL, NULL, NULL, i32, zero, CUDA_R_64F);
    cusparseDenseToSparseAlg_t how = CUSPARSE_DENSETOSPARSE_ALG_DEFAULT;
    int64_t rows, columns, nnz;
    bool ok = !cusparseDenseToSparse_analysis(h, x.at, a, how, NULL) && !cusparseSpMatGetSize(a, &rows, &columns, &nnz);
    Array<int> indices(nnz), coo_rows(nnz);
    Array<double> values(nnz);
    if (f == CSR) cusparseCsrSetPointers(a, offsets.at, indices.at, values.at);
    if (f == CSC) cusparseCscSetPointers(a, offsets.at, indices.at, values.at);
    if (f == COO) cusparseCooSetPointers(a, coo_rows.at, indices.at, values.at);
    ok = ok && !cusparseDenseToSparse_convert(h, x.at, a, how, NULL);
    Dense<double> y(6, 8, f == COO);
    ok = ok && !cusparseSparseToDense(h, a, y.at, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, NULL);
    int64_t count = 0;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 8; j++) count += x.get(i, j) != 0.0;
    ok = ok && nnz == count && y.is([&](int i, int j) { return x.get(i, j); }, 0);
    snprintf(buffer_text, sizeof buffer_text, "dense to %s and back", formats[f]);
    check(buffer_text, ok);
    cusparseDestroySpMat(a);
}

static void transposed()
{
    Sparse<float> a(7, 11, CSR, 0), want(7, 11, CSC, 0);
    size_t bytes;
    int nnz = int(a.values.size());
    Array<float> values(nnz);
    Array<int> offsets(12), indices(nnz), lines(nnz), again(8);
    bool ok = !cusparseCsr2cscEx2_bufferSize(h, 7, 11, nnz, a.d_values->at, a.d_major->at, a.d_minor->at, values.at, offsets.at,
                  indices.at, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, &bytes) &&
              !cusparseCsr2cscEx2(h, 7, 11, nnz, a.d_values->at, a.d_major->at, a.d_minor->at, values.at, offsets.at,
                  indices.at, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, NULL);
    std::vector<int> o = offsets.host(), r = indices.host();
    std::vector<float> v = values.host();
    std::vector<Z> found(7 * 11);
    for (int j = 0; j < 11; j++)
        for (int k = o[j]; k < o[j + 1]; k++) ok = ok && (k == o[j] || r[k] > r[k - 1]), found[r[k] * 11 + j] = v[k];
    check("CSR to CSC", ok && found == a.dense);
    ok = !cusparseXcsr2coo(h, a.d_major->at, nnz, 7, lines.at, CUSPARSE_INDEX_BASE_ZERO) &&
         !cusparseXcoo2csr(h, lines.at, nnz, 7, again.at, CUSPARSE_INDEX_BASE_ZERO);
    std::vector<int> l = lines.host();
    for (int i = 0; i < 7; i++)
        for (int k = a.major[i]; k < a.major[i + 1]; k++) ok = ok && l[k] == i;
    check("offsets to rows and back", ok && again.host() == a.major);
}

static void sorted()
{
    const int n = 40;
    std::vector<int> rows(n), columns(n);
    for (int i = 0; i < n; i++) rows[i] = rand() % 6, columns[i] = rand() % 5;
    for (int by_column = 0; by_column < 2; by_column++) {
        Array<int> r(rows), c(columns), p(n);
        bool ok = !cusparseCreateIdentityPermutation(h, n, p.at) &&
                  !(by_column ? cusparseXcoosortByColumn(h, 6, 5, n, r.at, c.at, p.at, NULL)
                              : cusparseXcoosortByRow(h, 6, 5, n, r.at, c.at, p.at, NULL));
        std::vector<int> x = r.host(), y = c.host(), q = p.host();
        for (int i = 0; i < n; i++) {
            ok = ok && x[i] == rows[q[i]] && y[i] == columns[q[i]];
            int a = by_column ? y[i] : x[i], b = by_column ? x[i] : y[i];
            if (i > 0) ok = ok && (by_column ? y[i - 1] : x[i - 1]) * 10 + (by_column ? x[i - 1] : y[i - 1]) <= a * 10 + b;
        }
        check(by_column ? "sorted by column" : "sorted by row", ok);
    }
    std::vector<int> offsets = {0, 3, 3, 7}, indices = {2, 0, 1, 3, 0, 2, 1}, want = {0, 1, 2, 0, 1, 2, 3}, moved = {1, 2, 0, 4, 6, 5, 3};
    Array<int> o(offsets), i(indices), p(7);
    cusparseMatDescr_t d;
    bool ok = !cusparseCreateMatDescr(&d) && !cusparseCreateIdentityPermutation(h, 7, p.at) &&
              !cusparseXcsrsort(h, 3, 4, 7, d, o.at, i.at, p.at, NULL);
    check("sorted in rows", ok && i.host() == want && p.host() == moved);
    cusparseDestroyMatDescr(d);
}

static void vectors()
{
    std::vector<int> index = {1, 4, 7};
    std::vector<float> x = {2, -3, 0.5f}, y(9);
    for (float &e : y) e = float(draw().real());
    Array<int> i(index);
    Array<float> dx(x), dy(y);
    cusparseSpVecDescr_t v;
    cusparseDnVecDescr_t w;
    cusparseCreateSpVec(&v, 9, 3, i.at, dx.at, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseCreateDnVec(&w, 9, dy.at, CUDA_R_32F);
    float dot = 0, want = 0, alpha = 3, beta = -2;
    for (int k = 0; k < 3; k++) want += x[k] * y[index[k]];
    check("sparse times dense vector", !cusparseSpVV(h, CUSPARSE_OPERATION_NON_TRANSPOSE, v, w, &dot, CUDA_R_32F, NULL) && fabsf(dot - want) < 1e-5f);
    bool ok = !cusparseAxpby(h, &alpha, v, &beta, w);
    for (float &e : y) e *= beta;
    for (int k = 0; k < 3; k++) y[index[k]] += alpha * x[k];
    check("a sparse vector added", ok && dy.host() == y);
    ok = !cusparseGather(h, w, v);
    for (int k = 0; k < 3; k++) x[k] = y[index[k]];
    check("gathered", ok && dx.host() == x);
    x = {10, 20, 30};
    cudaMemcpy(dx.at, x.data(), 3 * sizeof(float), cudaMemcpyHostToDevice);
    ok = !cusparseScatter(h, v, w);
    for (int k = 0; k < 3; k++) y[index[k]] = x[k];
    check("scattered", ok && dy.host() == y);
    cusparseDestroySpVec(v), cusparseDestroyDnVec(w);
}

static void sampled()
{
    Sparse<double> c(6, 7, CSR, 0);
    Dense<double> a(6, 4, false), b(4, 7, true);
    double alpha = 2, beta = 0.25;
    bool ok = !cusparseSDDMM(h, OP(0), OP(0), &alpha, a.at, b.at, &beta, c.at, CUDA_R_64F, CUSPARSE_SDDMM_ALG_DEFAULT, NULL);
    std::vector<double> got = c.d_values->host();
    for (int i = 0; i < 6; i++)
        for (int k = c.major[i]; k < c.major[i + 1]; k++) {
            Z sum = 0;
            for (int l = 0; l < 4; l++) sum += a.get(i, l) * b.get(l, c.minor[k]);
            ok = ok && std::abs(got[k] - (alpha * sum + beta * c.values[k])) < 1e-12;
        }
    check("a product at a pattern", ok);
}

static void solved(Format f, int op)
{
    const int n = 8;
    Sparse<double> a(n, n, f, 0, true);
    Dense<double> x(n, 3, false), y(n, 3, true);
    double alpha = 1.5;
    cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
    cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
    cusparseSpMatSetAttribute(a.at, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill);
    cusparseSpMatSetAttribute(a.at, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag);
    cusparseSpSMDescr_t d;
    bool ok = !cusparseSpSM_createDescr(&d) &&
              !cusparseSpSM_analysis(h, OP(op), OP(0), &alpha, a.at, x.at, y.at, CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, d, NULL) &&
              !cusparseSpSM_solve(h, OP(op), OP(0), &alpha, a.at, x.at, y.at, CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, d);
    y.host = y.device->host();
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 3; j++) {
            Z sum = 0;
            for (int l = 0; l < n; l++) sum += a.get(i, l, op) * y.get(l, j);
            ok = ok && std::abs(sum - alpha * x.get(i, j)) < 1e-10;
        }
    snprintf(buffer_text, sizeof buffer_text, "%s, op %d: a triangle solved", formats[f], op);
    check(buffer_text, ok);
    cusparseSpSM_destroyDescr(d);
}

static void squared()
{
    Sparse<float> a(6, 8, CSR, 0), b(8, 5, CSR, 0);
    Array<int> offsets(7);
    cusparseSpMatDescr_t c;
    cusparseSpGEMMDescr_t d;
    float alpha = 2, beta = 0;
    size_t bytes = 0;
    int64_t rows, columns, nnz = 0;
    cusparseSpGEMMAlg_t how = CUSPARSE_SPGEMM_DEFAULT;
    cusparseCreateCsr(&c, 6, 5, 0, offsets.at, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseSpGEMM_createDescr(&d);
#define SPGEMM(name, ...) cusparseSpGEMM_##name(h, OP(0), OP(0), &alpha, a.at, b.at, &beta, c, CUDA_R_32F, how, d, ##__VA_ARGS__)
    bool ok = !SPGEMM(workEstimation, &bytes, NULL) && !SPGEMM(compute, &bytes, NULL);
    Array<char> space(bytes);
    ok = ok && !SPGEMM(compute, &bytes, space.at) && !cusparseSpMatGetSize(c, &rows, &columns, &nnz);
    Array<int> indices(nnz);
    Array<float> values(nnz);
    cusparseCsrSetPointers(c, offsets.at, indices.at, values.at);
    ok = ok && !SPGEMM(copy);
    std::vector<int> o = offsets.host(), j = indices.host();
    std::vector<float> v = values.host();
    std::vector<Z> found(6 * 5);
    for (int i = 0; i < 6; i++)
        for (int k = o[i]; k < o[i + 1]; k++) found[i * 5 + j[k]] = v[k];
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 5; k++) {
            Z sum = 0;
            for (int l = 0; l < 8; l++) sum += a.get(i, l, 0) * b.get(l, k, 0);
            ok = ok && std::abs(found[i * 5 + k] - 2.0 * sum) < 1e-5;
        }
    check("sparse times sparse", ok && nnz == o[6]);
    cusparseSpGEMM_destroyDescr(d), cusparseDestroySpMat(c);
}

// A column that the matrix does not have.
static int beyond()
{
    std::vector<int> offsets = {0, 1, 2}, indices = {0, 2};
    std::vector<float> values = {1, 2}, x = {1, 2}, y = {0, 0};
    Array<int> o(offsets), i(indices);
    Array<float> v(values), dx(x), dy(y);
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t dx_at, dy_at;
    float one = 1, zero = 0;
    cusparseCreateCsr(&a, 2, 2, 2, o.at, i.at, v.at, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseCreateDnVec(&dx_at, 2, dx.at, CUDA_R_32F), cusparseCreateDnVec(&dy_at, 2, dy.at, CUDA_R_32F);
    return cusparseSpMV(h, OP(0), &one, a, dx_at, &zero, dy_at, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, NULL);
}

int main(int argc, char **argv)
{
    cusparseCreate(&h);
    if (argc > 1 && !strcmp(argv[1], "missing")) return cusparseScsrilu02(h, 0, 0, NULL, NULL, NULL, NULL, NULL, CUSPARSE_SOLVE_POLICY_NO_LEVEL, NULL);
    if (argc > 1) return beyond();
    for (int op = 0; op < 3; op++)
        for (int f = CSR; f <= COO; f++) {
            products<float>("floats", Format(f), (op + f) % 2, op, 1e-5);
            products<Z>("complex doubles", Format(f), (op + f + 1) % 2, op, 1e-13);
        }
    for (int f = CSR; f <= COO; f++) conversions(Format(f)), solved(Format(f), f % 2), solved(Format(f), 1 - f % 2);
    transposed(), sorted(), vectors(), sampled(), squared();
    cusparseDestroy(h);
    return wrong > 0;
}
