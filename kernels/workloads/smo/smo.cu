// smo: training a support vector machine by sequential minimal optimisation (Platt 1998), with
// the pair that violates most (Keerthi and others, "Improvements to Platt's SMO algorithm for
// SVM classifier design", Neural Computation 2001) and Gaussian kernels.
//
//     smo SAMPLES FEATURES STEPS GAMMA SEED
//
// A step is five launches: the two samples that violate most, found by blocks and then by one
// block; their rows of the kernel matrix; how far both coefficients move; what that changes for
// all others. It ends after STEPS, or where nothing violates by more than 0.001. GAMMA is in
// hundredths, and the largest coefficient is 1. Samples are made from the seed; with 0 SAMPLES
// and 0 FEATURES they are the 569 of 30 of the Wisconsin breast cancer data, which Debian's
// python3-sklearn installs (another file of that form: the environment's SMO_DATA), in an order
// drawn from the seed. Checked: the machine against one that the CPU trained, and the optimum's
// conditions.
#include "../workload.h"

#include <cfloat>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#define BLOCK  128
#define MOST   1.0f
#define ENOUGH 0.001f

// May this coefficient grow in the direction of its label, or shrink?
__host__ __device__ inline bool may_rise(float alpha, float label) {
    return label > 0 ? alpha < MOST : alpha > 0.0f;
}

__host__ __device__ inline bool may_fall(float alpha, float label) {
    return label > 0 ? alpha > 0.0f : alpha < MOST;
}

// The least error of those of a block that may rise, the largest of those that may fall; of
// equal ones the first.
__global__ void worst_of_block(const float *error, const float *alpha, const float *label,
                               float *least, int *who_least, float *largest, int *who_largest,
                               int n) {
    __shared__ float low[BLOCK], high[BLOCK];
    __shared__ int who_low[BLOCK], who_high[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    low[t] = FLT_MAX;
    high[t] = -FLT_MAX;
    who_low[t] = n;
    who_high[t] = n;
    __syncthreads();
    if (i < n && may_rise(alpha[i], label[i])) {
        low[t] = error[i];
        who_low[t] = i;
    }
    __syncthreads();
    if (i < n && may_fall(alpha[i], label[i])) {
        high[t] = error[i];
        who_high[t] = i;
    }
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) {
            float other = low[t + half];
            if (other < low[t] || (other == low[t] && who_low[t + half] < who_low[t])) {
                low[t] = other;
                who_low[t] = who_low[t + half];
            }
        }
        __syncthreads();
        if (t < half) {
            float other = high[t + half];
            if (other > high[t] || (other == high[t] && who_high[t + half] < who_high[t])) {
                high[t] = other;
                who_high[t] = who_high[t + half];
            }
        }
        __syncthreads();
    }
    if (t == 0) {
        least[blockIdx.x] = low[0];
        who_least[blockIdx.x] = who_low[0];
        largest[blockIdx.x] = high[0];
        who_largest[blockIdx.x] = who_high[0];
    }
}

// The same of all blocks: who[0] is to rise and who[1] to fall, and both their errors.
__global__ void worst_of_all(const float *least, const int *who_least, const float *largest,
                             const int *who_largest, int blocks, float *errors, int *who) {
    if (threadIdx.x == 0) {
        int low = 0, high = 0;
        for (int b = 1; b < blocks; b++) {
            if (least[b] < least[low]) low = b;
            if (largest[b] > largest[high]) high = b;
        }
        errors[0] = least[low];
        errors[1] = largest[high];
        who[0] = who_least[low];
        who[1] = who_largest[high];
    }
}

// Rows who[0] and who[1] of the kernel matrix. Features of all samples lie one behind the other.
__global__ void kernel_rows(const float *features, const int *who, float *rows, float gamma,
                            int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float first = 0.0f, second = 0.0f;
        for (int k = 0; k < width; k++) {
            float d = features[k * n + i] - features[k * n + who[0]];
            first += d * d;
        }
        for (int k = 0; k < width; k++) {
            float d = features[k * n + i] - features[k * n + who[1]];
            second += d * d;
        }
        rows[i] = expf(-gamma * first);
        rows[n + i] = expf(-gamma * second);
    }
}

// How far a pair goes: to where it violates no more, or until a coefficient is 0 or MOST.
__host__ __device__ inline float length_of(float distance, float curvature, float alpha_up,
                                           float label_up, float alpha_down, float label_down) {
    float step = distance / fmaxf(curvature, 1e-6f);
    step = fminf(step, label_up > 0 ? MOST - alpha_up : alpha_up);
    return fminf(step, label_down > 0 ? alpha_down : MOST - alpha_down);
}

__global__ void move_pair(const float *errors, const int *who, const float *rows,
                          const float *label, float *alpha, float *step, int n) {
    if (threadIdx.x == 0) {
        int up = who[0], down = who[1];
        float curvature = rows[up] + rows[n + down] - 2.0f * rows[down];
        float s = length_of(errors[1] - errors[0], curvature, alpha[up], label[up], alpha[down],
                            label[down]);
        alpha[up] += label[up] * s;
        alpha[down] -= label[down] * s;
        *step = s;
    }
}

__global__ void update_errors(float *error, const float *rows, const float *step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        error[i] = error[i] + *step * rows[i];
        error[i] = error[i] - *step * rows[n + i];
    }
}

struct Data {
    int samples, width;
    std::vector<float> features, labels; // feature k of sample i at k * samples + i; 1 and -1
};

static Data synthetic(int samples, int width, Random &random) {
    Data d = {samples, width, std::vector<float>((size_t)samples * width),
              std::vector<float>(samples)};
    for (int i = 0; i < samples; i++) {
        float away = 0;
        for (int k = 0; k < width; k++) {
            float x = random.below(256) / 255.0f;
            d.features[(size_t)k * samples + i] = x;
            away += (x - 0.5f) * (x - 0.5f);
        }
        // Within a ball of about half of them, or not: no plane tells that.
        d.labels[i] = away < width / 12.0f ? 1.0f : -1.0f;
    }
    return d;
}

// A line of numbers of samples and features, then a line of features and a class, 0 or 1, a
// sample.
static bool read_data(const char *path, Data &d, Random &random) {
    std::ifstream file(path);
    std::string line, word;
    if (!std::getline(file, line)) return false;
    if (sscanf(line.c_str(), "%d,%d,", &d.samples, &d.width) != 2) return false;
    if (d.samples < 2 || d.samples > 1 << 20 || d.width < 1 || d.width > 4096) return false;
    d.features.resize((size_t)d.samples * d.width);
    d.labels.resize(d.samples);
    std::vector<int> order(d.samples);
    for (int i = 0; i < d.samples; i++) {
        int k = random.below(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i : order) {
        if (!std::getline(file, line)) return false;
        std::istringstream words(line);
        for (int k = 0; k <= d.width; k++) {
            if (!std::getline(words, word, ',')) return false;
            float value = strtof(word.c_str(), NULL);
            if (k < d.width) d.features[(size_t)k * d.samples + i] = value;
            else d.labels[i] = value > 0.5f ? 1.0f : -1.0f;
        }
    }
    return true;
}

// Every feature from 0 to 1.
static void scale(Data &d) {
    for (int k = 0; k < d.width; k++) {
        float *x = &d.features[(size_t)k * d.samples], low = x[0], high = x[0];
        for (int i = 0; i < d.samples; i++) {
            low = fminf(low, x[i]);
            high = fmaxf(high, x[i]);
        }
        for (int i = 0; i < d.samples; i++) x[i] = high > low ? (x[i] - low) / (high - low) : 0.0f;
    }
}

static Data make_data(int samples, int width, Random &random) {
    if (samples > 0) return synthetic(samples, width, random);
    const char *path = getenv("SMO_DATA");
    if (!path) path = "/usr/lib/python3/dist-packages/sklearn/datasets/data/breast_cancer.csv";
    Data d;
    if (!read_data(path, d, random)) {
        fprintf(stderr,
                "smo: %s is not there or no table of samples; Debian's package python3-sklearn "
                "has it, or give SAMPLES and FEATURES to have data made\n",
                path);
        exit(2);
    }
    scale(d);
    return d;
}

static double kernel(const Data &d, int a, int b, double gamma) {
    double sum = 0;
    for (int k = 0; k < d.width; k++) {
        double x =
            (double)d.features[(size_t)k * d.samples + a] - d.features[(size_t)k * d.samples + b];
        sum += x * x;
    }
    return exp(-gamma * sum);
}

// The pair that violates most, by how much.
static float worst(const Data &d, const std::vector<float> &alpha, const std::vector<float> &error,
                   int &up, int &down) {
    float low = FLT_MAX, high = -FLT_MAX;
    for (int i = 0; i < d.samples; i++) {
        if (may_rise(alpha[i], d.labels[i]) && error[i] < low) low = error[up = i];
        if (may_fall(alpha[i], d.labels[i]) && error[i] > high) high = error[down = i];
    }
    return high - low;
}

static std::vector<float> train_on_host(const Data &d, int steps, float gamma) {
    std::vector<float> alpha(d.samples), error(d.samples);
    for (int i = 0; i < d.samples; i++) error[i] = -d.labels[i];
    for (int k = 0; k < steps; k++) {
        int up = 0, down = 0;
        float distance = worst(d, alpha, error, up, down);
        if (distance <= ENOUGH) break;
        float curvature = (float)(2 - 2 * kernel(d, up, down, gamma));
        float s =
            length_of(distance, curvature, alpha[up], d.labels[up], alpha[down], d.labels[down]);
        alpha[up] += d.labels[up] * s;
        alpha[down] -= d.labels[down] * s;
        for (int i = 0; i < d.samples; i++)
            error[i] += (float)(s * (kernel(d, up, i, gamma) - kernel(d, down, i, gamma)));
    }
    return alpha;
}

// What training makes large; with the errors that belong to the coefficients.
static double objective(const Data &d, const std::vector<float> &alpha, double gamma,
                        std::vector<float> &error) {
    double value = 0;
    for (int i = 0; i < d.samples; i++) {
        double sum = 0;
        for (int j = 0; j < d.samples; j++)
            if (alpha[j] != 0) sum += alpha[j] * d.labels[j] * kernel(d, i, j, gamma);
        error[i] = (float)(sum - d.labels[i]);
        value += alpha[i] - 0.5 * alpha[i] * d.labels[i] * sum;
    }
    return value;
}

int main(int argc, char **argv) {
    const char *usage = "SAMPLES FEATURES STEPS GAMMA SEED";
    int samples = argument(argc, argv, 1, 5, usage, 0, 1 << 20);
    int width = argument(argc, argv, 2, 5, usage, samples > 0, 4096);
    int steps = argument(argc, argv, 3, 5, usage, 1, 1 << 20);
    float gamma = argument(argc, argv, 4, 5, usage, 1, 100000) / 100.0f;
    int seed = argument(argc, argv, 5, 5, usage, 0, 1 << 30);
    Random random(seed);
    Data d = make_data(samples, width, random);
    int n = d.samples;
    printf("smo: %d samples of %d features, %d steps, gamma %g, seed %d\n", n, d.width, steps,
           gamma, seed);

    int blocks = (n + BLOCK - 1) / BLOCK;
    std::vector<float> alpha(n), error(n);
    for (int i = 0; i < n; i++) error[i] = -d.labels[i];
    float *d_features, *d_labels, *d_alpha, *d_error, *d_rows, *d_least, *d_largest, *d_errors,
        *d_step;
    int *d_who_least, *d_who_largest, *d_who;
    CUDA(cudaMalloc(&d_features, d.features.size() * sizeof(float)));
    CUDA(cudaMalloc(&d_labels, n * sizeof(float)));
    CUDA(cudaMalloc(&d_alpha, n * sizeof(float)));
    CUDA(cudaMalloc(&d_error, n * sizeof(float)));
    CUDA(cudaMalloc(&d_rows, 2 * n * sizeof(float)));
    CUDA(cudaMalloc(&d_least, blocks * sizeof(float)));
    CUDA(cudaMalloc(&d_largest, blocks * sizeof(float)));
    CUDA(cudaMalloc(&d_errors, 2 * sizeof(float)));
    CUDA(cudaMalloc(&d_step, sizeof(float)));
    CUDA(cudaMalloc(&d_who_least, blocks * sizeof(int)));
    CUDA(cudaMalloc(&d_who_largest, blocks * sizeof(int)));
    CUDA(cudaMalloc(&d_who, 2 * sizeof(int)));
    CUDA(cudaMemcpy(d_features, d.features.data(), d.features.size() * sizeof(float),
                    cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_labels, d.labels.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_error, error.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemset(d_alpha, 0, n * sizeof(float)));

    int done = 0;
    float errors[2];
    for (;; done++) {
        worst_of_block<<<blocks, BLOCK>>>(d_error, d_alpha, d_labels, d_least, d_who_least,
                                          d_largest, d_who_largest, n);
        worst_of_all<<<1, 32>>>(d_least, d_who_least, d_largest, d_who_largest, blocks, d_errors,
                                d_who);
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpy(errors, d_errors, sizeof errors, cudaMemcpyDeviceToHost));
        if (done == steps || !(errors[1] - errors[0] > ENOUGH)) break;
        kernel_rows<<<blocks, BLOCK>>>(d_features, d_who, d_rows, gamma, d.width, n);
        move_pair<<<1, 32>>>(d_errors, d_who, d_rows, d_labels, d_alpha, d_step, n);
        update_errors<<<blocks, BLOCK>>>(d_error, d_rows, d_step, n);
        CUDA(cudaGetLastError());
    }
    CUDA(cudaMemcpy(alpha.data(), d_alpha, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (float *p :
         {d_features, d_labels, d_alpha, d_error, d_rows, d_least, d_largest, d_errors, d_step})
        CUDA(cudaFree(p));
    for (int *p : {d_who_least, d_who_largest, d_who}) CUDA(cudaFree(p));

    // Coefficients from 0 to MOST whose sum by label is 0; as far from the best as is said; and
    // as good as those of the CPU.
    int wrong = 0, up = 0, down = 0, support = 0;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        if (!(alpha[i] >= 0 && alpha[i] <= MOST)) wrong++;
        support += alpha[i] > 0;
        sum += alpha[i] * d.labels[i];
    }
    double value = objective(d, alpha, gamma, error);
    float distance = worst(d, alpha, error, up, down);
    double want = objective(d, train_on_host(d, steps, gamma), gamma, error);
    printf("%d steps, %d support vectors, objective %.2f\n", done, support, value);
    if (!(fabs(sum) < 1e-3 * (1 + support)) || !(fabs(distance - (errors[1] - errors[0])) < 2e-3)) {
        printf("sum %g, distance %g and not %g\n", sum, distance, errors[1] - errors[0]);
        wrong++;
    }
    if (!(fabs(value - want) <= 2e-3 * fabs(want))) {
        printf("objective %g and not %g\n", value, want);
        wrong++;
    }
    return verdict(wrong);
}
