// sgd: logistic regression by stochastic gradient descent with momentum (Polyak 1964; Sutskever
// and others, ICML 2013).
//
//     sgd SAMPLES FEATURES BATCH EPOCHS MOMENTUM SEED
//
// A step is three launches over one batch: how far each sample's prediction is off, the
// gradient of each weight, and the weights' new values. MOMENTUM is in hundredths. Samples are
// made from the seed: features of -8 to 8 in quarters, and the class that hidden weights give
// them, a twentieth of it turned round. Checked: the weights, and that they tell the classes.
#include "../workload.h"

#include <vector>

#define BLOCK 128

// What each sample of a batch is predicted to be, less what it is: a thread each.
__global__ void errors(const float *features, const float *labels, const float *weights,
                       float *error, int first, int batch, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < batch) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++) sum += features[(first + i) * width + k] * weights[k];
        float predicted = 1.0f / (1.0f + expf(-sum));
        error[i] = predicted - labels[first + i];
    }
}

// The gradient of each weight: a block each, whose threads share the batch.
__global__ void gradients(const float *features, const float *error, float *gradient, int first,
                          int batch, int width) {
    __shared__ float sum[BLOCK];
    int k = blockIdx.x;
    int t = threadIdx.x;
    sum[t] = 0.0f;
    __syncthreads();
    for (int i = t; i < batch; i += BLOCK) sum[t] += error[i] * features[(first + i) * width + k];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) sum[t] += sum[t + half];
        __syncthreads();
    }
    if (t == 0) gradient[k] = sum[0] / batch;
}

__global__ void update(float *weights, float *velocity, const float *gradient, int width,
                       float rate, float momentum) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < width) {
        velocity[k] = momentum * velocity[k] - rate * gradient[k];
        weights[k] = weights[k] + velocity[k];
    }
}

struct Data {
    std::vector<float> features, labels;
};

static Data make_data(int samples, int width, Random &random) {
    Data d;
    std::vector<float> hidden(width);
    d.features.resize((size_t)samples * width);
    d.labels.resize(samples);
    for (float &w : hidden) w = random.between(-1.0f, 1.0f);
    for (int i = 0; i < samples; i++) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++) {
            float x = (random.below(65) - 32) / 4.0f;
            d.features[(size_t)i * width + k] = x;
            sum += x * hidden[k];
        }
        d.labels[i] = (sum > 0.0f) != (random.below(20) == 0) ? 1.0f : 0.0f;
    }
    return d;
}

static void step_on_host(const Data &d, std::vector<double> &weights, std::vector<double> &velocity,
                         int first, int batch, double rate, double momentum) {
    int width = (int)weights.size();
    std::vector<double> gradient(width);
    for (int i = first; i < first + batch; i++) {
        const float *x = &d.features[(size_t)i * width];
        double sum = 0;
        for (int k = 0; k < width; k++) sum += x[k] * weights[k];
        double error = 1 / (1 + exp(-sum)) - d.labels[i];
        for (int k = 0; k < width; k++) gradient[k] += error * x[k] / batch;
    }
    for (int k = 0; k < width; k++) {
        velocity[k] = momentum * velocity[k] - rate * gradient[k];
        weights[k] += velocity[k];
    }
}

static double share_right(const Data &d, const std::vector<float> &weights) {
    size_t width = weights.size(), right = 0;
    for (size_t i = 0; i < d.labels.size(); i++) {
        double sum = 0;
        for (size_t k = 0; k < width; k++) sum += (double)d.features[i * width + k] * weights[k];
        right += (sum > 0) == (d.labels[i] > 0.5f);
    }
    return (double)right / d.labels.size();
}

int main(int argc, char **argv) {
    const char *usage = "SAMPLES FEATURES BATCH EPOCHS MOMENTUM SEED";
    int samples = argument(argc, argv, 1, 6, usage, 1, 1 << 20);
    int width = argument(argc, argv, 2, 6, usage, 1, (1 << 28) / samples);
    int batch = argument(argc, argv, 3, 6, usage, 1, samples);
    int epochs = argument(argc, argv, 4, 6, usage, 1, 1000);
    float momentum = argument(argc, argv, 5, 6, usage, 0, 99) / 100.0f;
    int seed = argument(argc, argv, 6, 6, usage, 0, 1 << 30);
    printf("sgd: %d samples of %d features, batches of %d, %d epochs, momentum %g, seed %d\n",
           samples, width, batch, epochs, momentum, seed);
    const float rate = 0.01f;

    Random random(seed);
    Data d = make_data(samples, width, random);
    std::vector<float> weights(width), want(width);
    std::vector<double> on_host(width), velocity(width);

    float *d_features, *d_labels, *d_weights, *d_velocity, *d_error, *d_gradient;
    size_t bytes = width * sizeof(float);
    CUDA(cudaMalloc(&d_features, samples * bytes));
    CUDA(cudaMalloc(&d_labels, samples * sizeof(float)));
    CUDA(cudaMalloc(&d_weights, bytes));
    CUDA(cudaMalloc(&d_velocity, bytes));
    CUDA(cudaMalloc(&d_gradient, bytes));
    CUDA(cudaMalloc(&d_error, batch * sizeof(float)));
    CUDA(cudaMemcpy(d_features, d.features.data(), samples * bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_labels, d.labels.data(), samples * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemset(d_weights, 0, bytes));
    CUDA(cudaMemset(d_velocity, 0, bytes));

    for (int epoch = 0; epoch < epochs; epoch++)
        for (int first = 0; first < samples; first += batch) {
            int now = samples - first < batch ? samples - first : batch;
            errors<<<(now + BLOCK - 1) / BLOCK, BLOCK>>>(d_features, d_labels, d_weights, d_error,
                                                         first, now, width);
            gradients<<<width, BLOCK>>>(d_features, d_error, d_gradient, first, now, width);
            update<<<(width + BLOCK - 1) / BLOCK, BLOCK>>>(d_weights, d_velocity, d_gradient, width,
                                                           rate, momentum);
            CUDA(cudaGetLastError());
            step_on_host(d, on_host, velocity, first, now, rate, momentum);
        }
    CUDA(cudaMemcpy(weights.data(), d_weights, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(d_features));
    CUDA(cudaFree(d_labels));
    CUDA(cudaFree(d_weights));
    CUDA(cudaFree(d_velocity));
    CUDA(cudaFree(d_gradient));
    CUDA(cudaFree(d_error));

    want.assign(on_host.begin(), on_host.end());
    double right = share_right(d, weights);
    printf("%.1f %% of the samples are told right\n", 100 * right);
    int wrong = wrong_values("weight", weights.data(), want.data(), width, 1e-3);
    return verdict(wrong + (right < 0.7));
}
