/* main.h - runs one published function on one case and says how far its answers are off.
**
** main NUMBER SIZE DATA SEED: `answers N worst W` (W: the largest error over KernelBench's limit,
** 0.01 + 0.01 |right|, its first part times the answers' root mean square where that is above 1,
** so that more than 1 is wrong; `nan` where one of both is no number) and, of
** the worst, its place and both values. `main NUMBER full` prints the bytes that inputs and answers
** have at the benchmark's size. Status 4: the function's arguments are not known. */
#pragma once
#include "operations.h"

static std::vector<float> down(const torch::Tensor &t) {
    std::vector<float> v(t.numel());
    std::vector<char> raw(t.nbytes());
    cudaDeviceSynchronize();
    cudaMemcpy(raw.data(), t.data_ptr(), raw.size(), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < v.size(); i++) switch (t.dtype()) {
        case torch::kLong: v[i] = (float)((int64_t *)raw.data())[i]; break;
        case torch::kInt: v[i] = (float)((int *)raw.data())[i]; break;
        case torch::kDouble: v[i] = (float)((double *)raw.data())[i]; break;
        case torch::kHalf: v[i] = __half2float(((__half *)raw.data())[i]); break;
        default: v[i] = ((float *)raw.data())[i];
        }
    return v;
}

static int judge(int argc, char **argv, torch::Tensor (*call)(Case &)) {
    Case c;
    int number = atoi(argv[1]);
    c.size = argv[2] == std::string("own") ? Own : argv[2] == std::string("other") ? Other : Full;
    c.data = argc > 3 ? argv[3] : "uniform";
    c.random.seed(argc > 4 ? atoi(argv[4]) : 1);
    make(c, number);
    if (c.size == Full) {
        double bytes = 4.0 * (double)c.answers;
        for (const Host &h : c.in) bytes += (double)h.n() * (double)torch::bytes_of(h.type);
        printf("bytes %.0f\n", bytes);
        return 0;
    }
    std::vector<float> got;
    try {
        got = down(call(c));
    } catch (const std::exception &e) {
        fprintf(stderr, "audit: refused: %s\n", e.what());
        return 5;
    }
    std::vector<double> right = c.right(c.takes_bias);
    /* A loss of each row: the wrapper in Python takes the mean. */
    if (right.size() == 1 && got.size() > 1)
        got.assign(1, (float)(std::accumulate(got.begin(), got.end(), 0.0) / (double)got.size()));
    if (got.size() != right.size()) {
        printf("answers %zu of %zu\n", got.size(), right.size());
        return 0;
    }
    double worst = 0, square = 0;
    for (double r : right) square += std::isfinite(r) ? r * r / (double)right.size() : 0;
    double unit = std::max(1.0, sqrt(square));
    size_t at = 0, wrong = 0;
    for (size_t i = 0; i < got.size(); i++) {
        double off = fabs(got[i] - right[i]) / (0.01 * unit + 0.01 * fabs(right[i]));
        if (std::isnan(right[i])) off = 0; /* what is right there is a convention */
        else if (got[i] == (float)right[i]) off = 0;
        else if (std::isnan(off)) off = INFINITY;
        wrong += off > 1;
        if (off > worst) worst = off, at = i;
    }
    printf("answers %zu worst %g wrong %zu at %zu got %.9g right %.9g\n", got.size(), worst, wrong, at,
           got.empty() ? 0 : got[at], right.empty() ? 0 : right[at]);
    return 0;
}
