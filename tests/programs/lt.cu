// cublasLtMatmul beside loops: rows and columns, both operations, C apart from D, batches, halves, and
// what comes behind a product. "missing": an epilogue that is not there.
#include <cublasLt.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cublasLtHandle_t lt;

struct Case {
    const char *name;
    int ta, tb, rows; // rows: bits: A, B, C and D
    int batch, epilogue, half;
    float alpha, beta;
};

static float value(int i) { return (float)(i * 37 % 19 - 9) / 8; }

// An element of a stored matrix.
static size_t at(int i, int j, int ld, int in_rows) { return in_rows ? (size_t)i * ld + j : (size_t)j * ld + i; }

static float activated(float x, int e) {
    if (e & 2) x = x > 0 ? x : 0;
    if (e & 32) x = 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    return x;
}

static cublasLtMatrixLayout_t layout(int half, int rows, int cols, int ld, int in_rows, int batch, size_t stride) {
    cublasLtMatrixLayout_t l;
    int order = in_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    int64_t step = stride;
    cublasLtMatrixLayoutCreate(&l, half ? CUDA_R_16F : CUDA_R_32F, rows, cols, ld);
    cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
    cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
    return l;
}

template <typename T> static int run(const Case &c) {
    const int m = 5, n = 7, k = 4, bytes = 1000 * sizeof(T), ra = c.rows & 1, rb = c.rows >> 1 & 1, rc = c.rows >> 2;
    int ma = c.ta ? k : m, na = c.ta ? m : k, mb = c.tb ? n : k, nb = c.tb ? k : n;
    int lda = (ra ? na : ma) + 1, ldb = (rb ? nb : mb) + 2, ldc = (rc ? n : m) + 1, ldd = (rc ? n : m) + 3;
    size_t sa = 70, sb = 80, sc = 90, sd = 100;
    T *a, *b, *cc, *d, *bias, host[4][1000];
    for (auto p : {&a, &b, &cc, &d, &bias}) cudaMalloc(p, bytes);
    for (int i = 0; i < 1000; i++) host[0][i] = value(i), host[1][i] = value(i + 5), host[2][i] = value(i + 2);
    for (int i = 0; i < 3; i++) cudaMemcpy(i == 0 ? a : i == 1 ? b : cc, host[i], bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(bias, host[1], bytes, cudaMemcpyHostToDevice);
    cudaMemset(d, 0, bytes);
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasOperation_t ta = c.ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb = c.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &c.epilogue, sizeof c.epilogue);
    if (c.epilogue & 4) cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatrixLayout_t la = layout(c.half, ma, na, lda, ra, c.batch, sa), lb = layout(c.half, mb, nb, ldb, rb, c.batch, sb),
                           lc = layout(c.half, m, n, ldc, rc, c.batch, sc), ld = layout(c.half, m, n, ldd, rc, c.batch, sd);
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    size_t workspace = 0;
    int count = 0;
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    cublasStatus_t known = cublasLtMatmulAlgoGetHeuristic(lt, desc, la, lb, lc, ld, preference, 1, &found, &count);
    cublasStatus_t done = cublasLtMatmul(lt, desc, &c.alpha, a, la, b, lb, &c.beta, cc, lc, d, ld, &found.algo, NULL, 0, 0);
    cudaMemcpy(host[3], d, bytes, cudaMemcpyDeviceToHost);
    int wrong = known || done || count != 1;
    for (int s = 0; s < c.batch; s++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0;
                for (int x = 0; x < k; x++) {
                    size_t pa = c.ta ? at(x, i, lda, ra) : at(i, x, lda, ra), pb = c.tb ? at(j, x, ldb, rb) : at(x, j, ldb, rb);
                    sum += (float)host[0][s * sa + pa] * (float)host[1][s * sb + pb];
                }
                sum = c.alpha * sum + (c.beta != 0 ? c.beta * (float)host[2][s * sc + at(i, j, ldc, rc)] : 0);
                if (c.epilogue & 4) sum += (float)host[1][i];
                float got = host[3][s * sd + at(i, j, ldd, rc)], want = activated(sum, c.epilogue);
                wrong += !(fabsf(got - want) <= (c.half ? 4e-3f : 1e-5f) * (1 + fabsf(want)));
            }
    for (auto p : {a, b, cc, d, bias}) cudaFree(p);
    for (auto l : {la, lb, lc, ld}) cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulPreferenceDestroy(preference), cublasLtMatmulDescDestroy(desc);
    printf("%s: %s\n", c.name, wrong ? "WRONG" : "right");
    return wrong != 0;
}

int main(int argc, char **) {
    int wrong = cublasLtCreate(&lt) != CUBLAS_STATUS_SUCCESS;
    if (argc > 1) {
        Case c = {"an epilogue that is not there", 0, 0, 0, 1, CUBLASLT_EPILOGUE_RELU_AUX, 0, 1, 0};
        run<float>(c);
        return 0;
    }
    char name[100];
    for (int form = 0; form < 32; form++) {
        Case c = {name, form & 1, form >> 1 & 1, form >> 2, 1, 1, 0, 1.5f, form % 3 ? 0.5f : 0};
        snprintf(name, sizeof name, "form %d", form);
        wrong += run<float>(c);
    }
    const Case cases[] = {
        {"a batch", 0, 1, 0, 3, 1, 0, 1, 2},      {"a batch in rows", 1, 0, 7, 3, 1, 0, 1, 2},
        {"bias", 0, 0, 0, 1, 4, 0, 1, 0},         {"bias and RELU in rows", 0, 0, 7, 1, 4 | 2, 0, 1, 0},
        {"GELU of a batch", 0, 0, 0, 2, 32, 0, 1, 0}, {"bias and GELU", 1, 0, 0, 1, 32 | 4, 0, 1, 1},
    };
    for (const Case &c : cases) wrong += run<float>(c);
    wrong += run<__half>({"halves", 0, 1, 0, 1, 4, 1, 1, 1});
    cublasLtMatrixLayoutOpaque_t room;
    uint64_t rows = 0;
    size_t written = 0;
    cublasLtMatrixLayoutInit(&room, CUDA_R_32F, 3, 4, 3);
    cublasLtMatrixLayoutGetAttribute(&room, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written);
    printf("a layout on the stack: %s\n", rows == 3 && written == 8 ? "right" : "WRONG");
    printf("its version: %s\n", cublasLtGetVersion() >= 130000 ? "right" : "WRONG");
    cublasLtDestroy(lt);
    return wrong;
}
