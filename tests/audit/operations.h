/* operations.h - what KernelBench's level 1 asks, in plain loops and doubles: the audit's judge.
**
** make(number, size, data, seed) gives the inputs of one of the hundred operations and the right
** answer. Sizes: Own, those that the benchmark has, with fewer images or rows where that keeps a run
** short; Other, sizes that divide by nothing; Full, the benchmark's, for counting bytes alone.
** Operations and sizes: KernelBench (arXiv 2502.10517), level 1; the loops are this file's. */
#pragma once
#include "torch.h"
#include <map>
#include <random>

enum Size { Own, Other, Full };

struct Host {
    std::vector<int64_t> shape;
    std::vector<float> v;
    torch::ScalarType type = torch::kFloat;
    int64_t n() const {
        int64_t k = 1;
        for (int64_t s : shape) k *= s;
        return k;
    }
};

struct Case {
    Size size;
    std::string data;
    std::mt19937 random;
    std::vector<Host> in;
    Host bias; /* of a convolution or norm; empty: the operation has none */
    bool takes_bias = false;
    std::map<std::string, double> number;
    std::function<std::vector<double>(bool with_bias)> right;
    int64_t answers = 0;
    size_t taken = 0;

    int64_t pick(int64_t own, int64_t other, int64_t full) const {
        return size == Own ? own : size == Other ? other : full;
    }

    /* A tensor of the case's kind of data; `kind` in place of the case's. */
    Host fresh(std::vector<int64_t> shape, std::string kind = "") {
        Host h{shape, {}};
        if (size == Full) return h;
        if (kind == "") kind = data;
        h.v.resize(h.n());
        std::uniform_real_distribution<float> uniform(0, 1);
        std::normal_distribution<float> normal;
        for (float &x : h.v)
            x = kind == "uniform"    ? uniform(random)
                : kind == "normal"   ? normal(random)
                : kind == "large"    ? 40 * normal(random)
                : kind == "negative" ? -uniform(random) - 0.5f
                : kind == "shifted"  ? 100 + uniform(random)
                                     : 0;
        if (kind == "zeros") return h;
        if (kind == "spike") h.v[random() % h.v.size()] = 50;
        return h;
    }
    Host &input(std::vector<int64_t> shape, std::string kind = "") {
        in.push_back(fresh(shape, kind));
        return in.back();
    }

    static torch::Tensor up(const Host &h) {
        torch::Tensor t(h.shape, h.type);
        if (h.type == torch::kLong) {
            std::vector<int64_t> whole(h.v.begin(), h.v.end());
            cudaMemcpy(t.data_ptr(), whole.data(), t.nbytes(), cudaMemcpyHostToDevice);
        } else if (h.type == torch::kBool) {
            std::vector<char> bits(h.v.begin(), h.v.end());
            cudaMemcpy(t.data_ptr(), bits.data(), t.nbytes(), cudaMemcpyHostToDevice);
        } else if (h.type == torch::kHalf) {
            std::vector<__half> half(h.v.size());
            for (size_t i = 0; i < half.size(); i++) half[i] = __float2half(h.v[i]);
            cudaMemcpy(t.data_ptr(), half.data(), t.nbytes(), cudaMemcpyHostToDevice);
        } else cudaMemcpy(t.data_ptr(), h.v.data(), t.nbytes(), cudaMemcpyHostToDevice);
        return t;
    }
    torch::Tensor next() {
        if (taken >= in.size()) {
            fprintf(stderr, "audit: the function takes more tensors than the operation has\n");
            exit(4);
        }
        return up(in[taken++]);
    }
    /* What a function writes to that returns nothing: of the first input's shape, or flat. */
    torch::Tensor output() const {
        bool alike = !in.empty() && in[0].n() == answers;
        return torch::zeros(alike ? in[0].shape : std::vector<int64_t>{answers});
    }
    torch::Tensor next_bias() {
        if (bias.v.empty()) return next();
        takes_bias = true;
        return up(bias);
    }
    double value(const char *name) const {
        auto at = number.find(name);
        if (at == number.end()) {
            fprintf(stderr, "audit: the function's argument '%s' is unknown\n", name);
            exit(4);
        }
        return at->second;
    }
};

/* --- convolutions and pools, all over three axes of space; axes that lack are of size 1 */

struct Space {
    int64_t n[3], k[3], stride[3], pad[3], dil[3], out_pad[3];
    int axes;
    int64_t out(int a, bool transposed) const {
        int64_t reach = dil[a] * (k[a] - 1) + 1;
        return transposed ? (n[a] - 1) * stride[a] - 2 * pad[a] + reach + out_pad[a]
                          : (n[a] + 2 * pad[a] - reach) / stride[a] + 1;
    }
};

inline Space space(std::vector<int64_t> n, std::vector<int64_t> k, std::vector<int64_t> stride,
                   std::vector<int64_t> pad, std::vector<int64_t> dil) {
    Space s{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}, (int)n.size()};
    auto of = [](const std::vector<int64_t> &v, size_t i) { return v.size() == 1 ? v[0] : v[i]; };
    for (int i = 0; i < s.axes; i++) {
        int a = 3 - s.axes + i;
        s.n[a] = n[i], s.k[a] = of(k, i), s.stride[a] = of(stride, i), s.pad[a] = of(pad, i);
        s.dil[a] = of(dil, i);
    }
    return s;
}

/* Calls f(output place, input place, filter place) for each product of one pair of planes. */
template <class F> void products(const Space &s, bool transposed, F f) {
    int64_t o[3] = {s.out(0, transposed), s.out(1, transposed), s.out(2, transposed)}, i[3];
    for (int64_t x = 0; x < o[0] * o[1] * o[2]; x++) {
        int64_t at[3] = {x / (o[1] * o[2]), x / o[2] % o[1], x % o[2]};
        for (int64_t y = 0; y < s.k[0] * s.k[1] * s.k[2]; y++) {
            int64_t tap[3] = {y / (s.k[1] * s.k[2]), y / s.k[2] % s.k[1], y % s.k[2]};
            bool inside = true;
            for (int a = 0; a < 3; a++) {
                int64_t p = transposed ? at[a] + s.pad[a] - tap[a] * s.dil[a]
                                       : at[a] * s.stride[a] - s.pad[a] + tap[a] * s.dil[a];
                if (transposed) {
                    inside = inside && p % s.stride[a] == 0;
                    p = p >= 0 ? p / s.stride[a] : -1;
                }
                i[a] = p;
                inside = inside && p >= 0 && p < s.n[a];
            }
            if (inside) f(x, (i[0] * s.n[1] + i[1]) * s.n[2] + i[2], y);
        }
    }
}

inline void name_axes(Case &c, const std::string &name, const int64_t *v, int axes) {
    static const char *const letter[3] = {"_d", "_h", "_w"};
    c.number[name] = (double)v[2];
    for (int i = 0; i < axes; i++) {
        c.number[name + letter[3 - axes + i]] = (double)v[3 - axes + i];
        c.number[name + std::to_string(i)] = (double)v[3 - axes + i];
    }
}

inline void names(Case &c, const Space &s, bool transposed) {
    name_axes(c, "kernel_size", s.k, s.axes), name_axes(c, "kernel", s.k, s.axes);
    name_axes(c, "stride", s.stride, s.axes), name_axes(c, "padding", s.pad, s.axes);
    name_axes(c, "dilation", s.dil, s.axes), name_axes(c, "output_padding", s.out_pad, s.axes);
    int64_t o[3] = {s.out(0, transposed), s.out(1, transposed), s.out(2, transposed)};
    name_axes(c, "out", o, s.axes), c.number["output_length"] = c.number["L_out"] = (double)o[2];
    c.number["depth_out"] = (double)o[0], c.number["height_out"] = (double)o[1];
    c.number["width_out"] = (double)o[2], c.number["L_in"] = c.number["W"] = (double)s.n[2];
    c.number["H"] = (double)s.n[1];
}

inline void convolution(Case &c, int64_t batch, int64_t in, int64_t out, Space s, bool transposed,
                        int64_t groups = 1) {
    std::vector<int64_t> x{batch, in}, w = transposed ? std::vector<int64_t>{in, out / groups}
                                                      : std::vector<int64_t>{out, in / groups};
    for (int a = 3 - s.axes; a < 3; a++) x.push_back(s.n[a]), w.push_back(s.k[a]);
    c.input(x);
    c.input(w, c.data == "uniform" ? "normal" : c.data);
    /* The benchmark's convolutions have no bias: a function that wants one gets zeros. */
    c.bias = c.fresh({out}, c.size == Own ? "zeros" : "normal");
    names(c, s, transposed);
    c.number["groups"] = (double)groups, c.number["batch"] = c.number["batch_size"] = (double)batch;
    c.number["in_channels"] = (double)in, c.number["out_channels"] = (double)out;
    int64_t plane = s.out(0, transposed) * s.out(1, transposed) * s.out(2, transposed);
    c.answers = batch * out * plane;
    c.right = [=, &c](bool biased) {
        std::vector<double> y(batch * out * plane);
        int64_t from = s.n[0] * s.n[1] * s.n[2], taps = s.k[0] * s.k[1] * s.k[2];
        int64_t gi = in / groups, go = out / groups;
        for (int64_t b = 0; b < batch; b++)
            for (int64_t o = 0; o < out; o++) {
                double *plane_out = &y[(b * out + o) * plane];
                for (int64_t p = 0; biased && p < plane; p++) plane_out[p] = c.bias.v[o];
                for (int64_t g = 0; g < gi; g++) {
                    int64_t ch = o / go * gi + g;
                    const float *x = &c.in[0].v[(b * in + ch) * from];
                    const float *w = transposed ? &c.in[1].v[(ch * go + o % go) * taps]
                                                : &c.in[1].v[(o * gi + g) * taps];
                    products(s, transposed, [&](int64_t p, int64_t i, int64_t t) {
                        plane_out[p] += (double)x[i] * w[t];
                    });
                }
            }
        return y;
    };
}

inline void pool(Case &c, int64_t batch, int64_t channels, Space s, bool maximum) {
    std::vector<int64_t> x{batch, channels};
    for (int a = 3 - s.axes; a < 3; a++) x.push_back(s.n[a]);
    c.input(x);
    names(c, s, false);
    c.number["return_indices"] = 0;
    int64_t plane = s.out(0, false) * s.out(1, false) * s.out(2, false);
    c.answers = batch * channels * plane;
    c.right = [=, &c](bool) {
        std::vector<double> y(batch * channels * plane, maximum ? -INFINITY : 0);
        int64_t from = s.n[0] * s.n[1] * s.n[2], taps = s.k[0] * s.k[1] * s.k[2];
        for (int64_t b = 0; b < batch * channels; b++)
            products(s, false, [&](int64_t p, int64_t i, int64_t) {
                double &to = y[b * plane + p], v = c.in[0].v[b * from + i];
                to = maximum ? std::max(to, v) : to + v / (double)taps;
            });
        return y;
    };
}

/* --- products of matrices: batch x (m x k) (k x n), either stored the other way round */

enum Part { All, Upper, Lower };

inline void product(Case &c, int64_t batch, int64_t m, int64_t k, int64_t n, bool ta = false,
                    bool tb = false, bool shared_b = true, Part part = All) {
    std::vector<int64_t> a = ta ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k};
    std::vector<int64_t> b = tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
    if (batch > 1) a.insert(a.begin(), batch);
    if (batch > 1 && !shared_b) b.insert(b.begin(), batch);
    c.input(a), c.input(b);
    auto keep = [=](int64_t i, int64_t j) { return part == All || (part == Upper ? i <= j : i >= j); };
    for (Host &h : c.in)
        for (int64_t i = 0; part != All && i < (int64_t)h.v.size(); i++)
            if (!keep(i / h.shape[1], i % h.shape[1])) h.v[i] = 0;
    c.answers = batch * m * n;
    c.right = [=, &c](bool) {
        std::vector<double> y(batch * m * n), row(n);
        for (int64_t z = 0; z < batch; z++) {
            const float *A = &c.in[0].v[z * m * k], *B = &c.in[1].v[shared_b ? 0 : z * k * n];
            for (int64_t i = 0; i < m; i++) {
                std::fill(row.begin(), row.end(), 0);
                for (int64_t l = 0; l < k; l++) {
                    double x = ta ? A[l * m + i] : A[i * k + l];
                    for (int64_t j = 0; j < n; j++) row[j] += x * (tb ? B[j * k + l] : B[l * n + j]);
                }
                for (int64_t j = 0; j < n; j++) y[(z * m + i) * n + j] = keep(i, j) ? row[j] : 0;
            }
        }
        return y;
    };
}

/* --- one element, one row, one column, everything */

inline void each(Case &c, std::vector<int64_t> shape, std::function<double(double)> f) {
    c.input(shape);
    c.answers = c.in[0].n();
    c.right = [=, &c](bool) {
        std::vector<double> y;
        for (float x : c.in[0].v) y.push_back(f(x));
        return y;
    };
}

/* f changes a line of `length` values, those of the tensor's axis (outer, length, inner). */
inline void lines(Case &c, std::vector<int64_t> shape, size_t axis,
                  std::function<void(std::vector<double> &)> f, bool one = false) {
    c.input(shape);
    c.number["dim"] = c.number["reduction_dim"] = (double)axis;
    int64_t inner = 1, length = shape[axis], outer = 1;
    for (size_t i = 0; i < shape.size(); i++) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
    c.answers = outer * inner * (one ? 1 : length);
    c.right = [=, &c](bool) {
        std::vector<double> y(outer * inner * (one ? 1 : length)), line(length);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < inner; i++) {
                for (int64_t l = 0; l < length; l++) {
                    double x = c.in[0].v[(o * length + l) * inner + i];
                    line[l] = c.in.size() > 1 ? x * c.in[1].v[(o * length + l) * inner + i] : x;
                }
                f(line);
                if (one) y[o * inner + i] = line[0];
                else
                    for (int64_t l = 0; l < length; l++) y[(o * length + l) * inner + i] = line[l];
            }
        return y;
    };
}

typedef std::vector<double> Line;
inline double sum(const Line &x) {
    double s = 0;
    for (double v : x) s += v;
    return s;
}
inline double largest(const Line &x) { return *std::max_element(x.begin(), x.end()); }
inline void softmax(Line &x, bool logarithm) {
    double m = largest(x), s = 0;
    for (double v : x) s += exp(v - m);
    for (double &v : x) v = logarithm ? v - m - log(s) : exp(v - m) / s;
}
inline void divide(Line &x, double d) {
    for (double &v : x) v /= d;
}
inline double squares(const Line &x) {
    double s = 0;
    for (double v : x) s += v * v;
    return s;
}
inline void standard(Line &x, double eps) {
    double mean = sum(x) / x.size(), var = 0;
    for (double v : x) var += (v - mean) * (v - mean) / x.size();
    for (double &v : x) v = (v - mean) / sqrt(var + eps);
}

/* Norms with a weight and a bias of each channel (channels: 0 none). */
inline void affine(Case &c, int64_t channels, int64_t inner) {
    if (channels == 0) return;
    c.input({channels}, "normal"), c.input({channels}, "normal");
    auto plain = c.right;
    c.right = [=, &c](bool) {
        Host w = c.in[c.in.size() - 2], b = c.in.back();
        std::vector<Host> rest(c.in.begin() + 1, c.in.end());
        c.in.resize(1);
        Line y = plain(false);
        c.in.insert(c.in.end(), rest.begin(), rest.end());
        for (size_t i = 0; i < y.size(); i++) {
            int64_t ch = (int64_t)i / inner % channels;
            y[i] = y[i] * w.v[ch] + b.v[ch];
        }
        return y;
    };
}

/* The mean over `rows` of a loss of one row of each input. */
inline void loss(Case &c, int64_t rows, int64_t length, int inputs, std::string kind,
                 std::function<double(const float *const *, int64_t)> row, double per) {
    for (int i = 0; i < inputs; i++) c.input({rows, length}, kind);
    c.answers = 1;
    c.right = [=, &c](bool) {
        double s = 0;
        for (int64_t r = 0; r < rows; r++) {
            std::vector<const float *> at;
            for (const Host &h : c.in) at.push_back(&h.v[h.n() == rows ? r : r * length]);
            s += row(at.data(), length);
        }
        return Line{s / per};
    };
}

/* Sources for the benchmark's first release have other sizes, and two other operations. */
#ifdef FIRST_SIZES
constexpr bool first_sizes = true;
#else
constexpr bool first_sizes = false;
#endif

inline bool make_first(Case &c, int number, const std::vector<int64_t> &cube,
                       const std::vector<int64_t> &rows) {
    auto P = [&](int64_t own, int64_t other, int64_t full) { return c.pick(own, other, full); };
    std::vector<int64_t> one{1}, none{0};
    Space depthwise = space({P(256, 19, 256), P(number == 84 ? 128 : 256, 21, number == 84 ? 128 : 256)},
                            number == 83 ? std::vector<int64_t>{3, 1} : std::vector<int64_t>{3}, one, none, one);
    switch (number) {
    case 41: pool(c, P(2, 2, 16), P(64, 5, 64), space({P(128, 103, 128)}, {4}, {2}, {2}, {3}), true); return true;
    case 50:
        c.number["reduction_dim"] = 1;
        lines(c, cube, 1, [](Line &x) { for (size_t i = 1; i < x.size(); i++) x[0] *= x[i]; }, true);
        return true;
    case 65:
        convolution(c, 1, P(32, 5, 32), P(64, 7, 64), space({P(128, 19, 128), P(128, 21, 128)}, {3, 5}, one, none, one), true);
        return true;
    case 82: case 83: case 84:
        convolution(c, P(1, 2, 16), 3, 3, depthwise, false, 3), c.number["kernel_size"] = 3;
        return true;
    case 97:
        loss(c, rows[0], P(4096, 1003, 4096), 2, "", [](const float *const *v, int64_t n) {
            double ab = 0, aa = 0, bb = 0;
            for (int64_t i = 0; i < n; i++) {
                ab += (double)v[0][i] * v[1][i], aa += (double)v[0][i] * v[0][i];
                bb += (double)v[1][i] * v[1][i];
            }
            return 1 - ab / std::max(sqrt(aa) * sqrt(bb), 1e-8);
        }, (double)rows[0]);
        return true;
    default: return false;
    }
}

/* Makes the case of an operation, or ends with status 4 where there is none of that number. */
inline void make(Case &c, int number) {
    auto P = [&](int64_t own, int64_t other, int64_t full) { return c.pick(own, other, full); };
    std::vector<int64_t> wide{P(2, 3, 4096), P(393216, 1001, 393216)};
    std::vector<int64_t> image{P(2, 3, 112), P(64, 16, 64), P(64, 13, 512), P(64, 17, 512)};
    std::vector<int64_t> cube{P(2, 3, 128), P(256, 67, 4096), P(255, 70, 4095)};
    std::vector<int64_t> rows{P(4, 3, 32768), P(32768, 1003, 32768)};
    std::vector<int64_t> one{1}, none{0};
    auto lines_of = [&](std::vector<int64_t> shape, std::function<void(Line &)> f) {
        lines(c, std::move(shape), 1, f);
    };
    if (first_sizes) {
        wide = {P(2, 3, 16), P(16384, 1001, 16384)}, rows = {P(4, 3, 128), P(4000, 1003, 4000)};
        image = {P(1, 3, 16), P(64, 16, 64), P(64, 13, 256), P(64, 17, 256)};
        cube = {P(2, 3, 16), P(256, 67, 256), P(256, 70, 256)};
        if (make_first(c, number, cube, rows)) return;
    }
    switch (number) {
    case 1: { int64_t n = P(256, 131, 4096); return product(c, 1, n, n, n); }
    case 2: return product(c, 1, P(256, 67, 2048), P(256, 93, 8192), P(128, 131, 4096));
    case 3: return product(c, P(2, 3, 128), P(128, 35, 512), P(128, 67, 1024), P(128, 33, 2048), 0, 0, false);
    case 4: return product(c, 1, P(16, 5, 2048), P(65536, 1003, 1048576), 1);
    case 5: {
        c.number["s"] = c.number["scalar"] = 3.14;
        return each(c, {P(64, 67, 65536), first_sizes ? P(4096, 131, 4096) : P(16384, 131, 16384)},
                    [](double x) { return x * 3.14f; });
    }
    case 6: return product(c, 1, P(256, 35, 256), P(4096, 1003, 524288), P(256, 37, 256));
    case 7: return product(c, 1, P(512, 67, 32768), P(64, 33, 64), P(512, 131, 32768));
    case 8: return product(c, 1, P(205, 67, 8205), P(149, 35, 2949), P(121, 131, 5921));
    case 9: return product(c, 1, P(1024, 67, 32768), P(32, 33, 32), P(1024, 131, 32768));
    case 10: return product(c, P(2, 3, 16), P(128, 35, 1024), P(256, 67, 2048), P(128, 33, 768));
    case 11: {
        product(c, 1, P(256, 3 * 5 * 7, 8 * 256 * 512), P(256, 67, 256), P(256, 33, 768));
        c.in[0].shape = {P(1, 3, 8), P(2, 5, 256), P(128, 7, 512), c.in[0].shape[1]};
        return;
    }
    case 12: {
        int64_t n = P(512, 67, 4096), m = P(512, 131, 4096);
        c.input({n}), c.input({n, m}), c.answers = n * m;
        c.right = [=, &c](bool) {
            Line y(n * m);
            for (int64_t i = 0; i < n * m; i++) y[i] = (double)c.in[0].v[i / m] * c.in[1].v[i];
            return y;
        };
        return;
    }
    case 13: {
        int64_t n = P(256, 131, 4096);
        product(c, 1, n, n, n);
        for (Host &h : c.in)
            for (int64_t i = 0; i < (int64_t)h.v.size(); i++)
                if (i / n > i % n) h.v[i] = h.v[i % n * n + i / n];
        return;
    }
    case 14: case 15: {
        int64_t n = P(256, 131, 4096);
        return product(c, 1, n, n, n, false, false, true, number == 14 ? Upper : Lower);
    }
    case 16: case 17: case 18:
        return product(c, 1, P(256, 67, 2048), P(256, 93, 8192), P(128, 131, 4096), number != 17, number != 16);
    case 19: return each(c, wide, [](double x) { return x > 0 ? x : x != x ? x : 0; });
    case 20: c.number["negative_slope"] = 0.01; return each(c, wide, [](double x) { return x > 0 ? x : x * 0.01f; });
    case 21: return each(c, wide, [](double x) { return 1 / (1 + exp(-x)); });
    case 22: return each(c, wide, [](double x) { return tanh(x); });
    case 23: return lines_of(wide, [](Line &x) { softmax(x, false); });
    case 24: return lines_of(wide, [](Line &x) { softmax(x, true); });
    case 25: return each(c, wide, [](double x) { return x / (1 + exp(-x)); });
    case 26: return each(c, wide, [](double x) { return 0.5 * x * (1 + erf(x / sqrt(2.0))); });
    case 27: return each(c, wide, [](double x) {
        return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * (exp(x) - 1));
    });
    case 28: return each(c, wide, [](double x) { return std::min(std::max(x / 6 + 0.5, 0.0), 1.0); });
    case 29: return each(c, wide, [](double x) { return x > 20 ? x : log1p(exp(x)); });
    case 30: return each(c, wide, [](double x) { return x / (1 + fabs(x)); });
    case 31: c.number["alpha"] = 1; return each(c, wide, [](double x) { return x > 0 ? x : expm1(x); });
    case 32:
        c.number["min_val"] = -1, c.number["max_val"] = 1;
        return each(c, wide, [](double x) { return std::min(std::max(x, -1.0), 1.0); });
    case 33: {
        image[0] = P(2, 3, 64);
        int64_t n = image[0], ch = image[1], plane = image[2] * image[3];
        c.input(image), c.answers = n * ch * plane, c.number["eps"] = c.number["epsilon"] = 1e-5;
        c.right = [=, &c](bool) {
            Line y(n * ch * plane), line(n * plane);
            for (int64_t k = 0; k < ch; k++) {
                auto at = [&](int64_t i) { return (i / plane * ch + k) * plane + i % plane; };
                for (int64_t i = 0; i < n * plane; i++) line[i] = c.in[0].v[at(i)];
                standard(line, 1e-5);
                for (int64_t i = 0; i < n * plane; i++) y[at(i)] = line[i];
            }
            return y;
        };
        return affine(c, ch, plane);
    }
    case 34: case 35: case 40: {
        if (number == 40) image[0] = P(2, 3, 16), image[2] = P(64, 13, 256), image[3] = P(64, 17, 256);
        int64_t groups = number == 34 ? image[1] : number == 35 ? 8 : 1, plane = image[2] * image[3];
        c.number["eps"] = c.number["epsilon"] = 1e-5, c.number["num_groups"] = 8;
        lines(c, {image[0] * groups, image[1] / groups * plane}, 1, [](Line &x) { standard(x, 1e-5); });
        c.in[0].shape = image;
        if (number == 40) {
            std::vector<int64_t> whole(image.begin() + 1, image.end());
            affine(c, image[1] * plane, 1), c.in[1].shape = c.in[2].shape = whole;
        } else affine(c, number == 35 ? image[1] : 0, plane);
        return;
    }
    case 36:
        c.number["eps"] = c.number["epsilon"] = 1e-5;
        return lines_of(image, [](Line &x) { divide(x, sqrt(squares(x) / x.size() + 1e-5)); });
    case 37: {
        lines(c, {1, image[0] * image[1] * image[2] * image[3]}, 1, [](Line &x) { divide(x, sqrt(squares(x))); });
        c.in[0].shape = image;
        return;
    }
    case 38: case 39:
        rows = {P(3, 5, 32768), P(65535, 1003, 65535)};
        return lines_of(rows, [=](Line &x) {
            double s = 0;
            for (double v : x) s += fabs(v);
            divide(x, number == 38 ? s / x.size() : sqrt(squares(x)));
        });
    case 41: return pool(c, P(1, 2, 64), P(3, 5, 192), space({P(65536, 1003, 65536)}, {8}, one, {4}, {3}), true);
    case 42: return pool(c, P(1, 2, 32), P(4, 5, 64), space({P(512, 33, 512), P(512, 35, 512)}, {4}, one, one, one), true);
    case 43: return pool(c, 1, P(2, 3, 32), space({P(64, 17, 128), P(64, 19, 128), P(64, 21, 128)}, {3}, {2}, one, {3}), true);
    case 44: return pool(c, P(1, 2, 64), P(3, 5, 128), space({P(65536, 1003, 65536)}, {8}, one, {4}, one), false);
    case 45: return pool(c, 1, P(2, 3, 64), space({P(512, 131, 2048), P(512, 67, 2048)}, {11}, {11}, none, one), false);
    case 46: return pool(c, 1, P(2, 3, 32), space({P(64, 17, 128), P(64, 19, 128), P(128, 21, 256)}, {3}, {2}, one, one), false);
    case 47: case 48:
        return lines(c, cube, 1, [=](Line &x) { x[0] = sum(x) / (number == 48 ? x.size() : 1); }, true);
    case 49: return lines(c, cube, 1, [](Line &x) { x[0] = largest(x); }, true);
    case 51: return lines(c, cube, 1, [](Line &x) { x[0] = std::max_element(x.begin(), x.end()) - x.begin(); }, true);
    case 52: return lines(c, cube, 1, [](Line &x) { x[0] = std::min_element(x.begin(), x.end()) - x.begin(); }, true);
    case 53: return lines(c, cube, 1, [](Line &x) { x[0] = *std::min_element(x.begin(), x.end()); }, true);
    case 50: return convolution(c, P(1, 2, 256), 3, P(96, 96, 96), space({P(224, 35, 224), P(224, 37, 224)}, {11}, {4}, {2}, one), false);
    case 54: return convolution(c, 1, 3, P(64, 5, 64), space({P(32, 9, 64), P(32, 11, 64), P(32, 13, 64)}, {3}, one, none, one), false);
    case 55: return convolution(c, 1, P(64, 5, 64), P(128, 7, 128), space({P(32, 19, 512), P(64, 21, 1024)}, {3}, one, none, one), false);
    case 56: return convolution(c, 1, P(64, 5, 64), P(128, 7, 128), space({P(64, 19, 512), P(64, 21, 256)}, {5, 7}, one, none, one), false);
    case 57: return convolution(c, 1, P(64, 5, 64), P(64, 7, 64), space({P(64, 19, 1024), P(64, 21, 1024)}, {3}, one, none, one), true);
    case 58: return convolution(c, 1, P(32, 5, 32), P(16, 3, 16), space({P(8, 5, 16), P(16, 6, 32), P(32, 7, 64)}, {3, 5, 7}, one, none, one), true);
    case 59: return convolution(c, 1, 3, P(64, 5, 64), space({P(64, 9, 256), P(64, 11, 256), P(10, 7, 10)}, {3, 3, 1}, one, none, one), false);
    case 60: return convolution(c, 1, 3, P(64, 5, 64), space({P(32, 9, 64), P(32, 11, 64), P(32, 13, 64)}, {3, 5, 7}, one, none, one), false);
    case 61: return convolution(c, 1, P(48, 5, 48), P(48, 3, 48), space({P(8, 5, 64), P(16, 6, 64), P(16, 7, 64)}, {3}, one, none, one), true);
    case 62: return convolution(c, 1, P(32, 5, 32), P(64, 7, 64), space({P(64, 19, 512), P(64, 21, 512)}, {5, 9}, one, none, one), false);
    case 63: return convolution(c, 1, P(16, 5, 16), P(128, 7, 128), space({P(64, 19, 1024), P(64, 21, 1024)}, {3}, one, none, one), false);
    case 64: return convolution(c, P(1, 2, 64), P(128, 5, 128), P(128, 7, 128), space({P(1024, 103, 65536)}, {3}, one, none, one), true);
    case 65: return convolution(c, 1, P(64, 5, 64), P(64, 7, 64), space({P(64, 19, 512), P(64, 21, 512)}, {3, 7}, one, none, one), true);
    case 66: return convolution(c, 1, 3, P(64, 5, 64), space({P(16, 7, 16), P(32, 11, 128), P(32, 13, 128)}, {3, 5, 7}, one, none, one), false);
    case 67: return convolution(c, P(1, 2, 32), P(64, 5, 64), P(128, 7, 128), space({P(4096, 103, 131072)}, {3}, one, none, one), false);
    case 68: return convolution(c, 1, P(32, 5, 32), P(64, 3, 64), space({P(16, 5, 64), P(16, 6, 64), P(16, 7, 64)}, {3, 5, 5}, one, none, one), true);
    case 69: return convolution(c, 1, P(64, 5, 64), P(128, 7, 128), space({P(16, 9, 128), P(32, 11, 256)}, {3, 5}, one, none, one), true);
    case 70: return convolution(c, 1, P(48, 5, 48), P(24, 3, 24), space({P(16, 5, 96), P(16, 6, 96), P(16, 7, 96)}, {3}, one, none, one), true);
    case 71: return convolution(c, 1, P(32, 5, 32), P(32, 7, 32), space({P(64, 19, 512), P(128, 21, 1024)}, {3}, one, none, one), true);
    case 73: return convolution(c, 1, P(32, 8, 32), P(32, 8, 32), space({P(8, 5, 32), P(8, 6, 64), P(16, 7, 128)}, {3}, {2}, one, one), true, 4);
    case 74: return convolution(c, P(1, 2, 32), P(32, 5, 32), P(64, 7, 64), space({P(4096, 103, 131072)}, {5}, one, none, {3}), true);
    case 75: return convolution(c, 1, P(32, 8, 32), P(64, 16, 64), space({P(32, 9, 128), P(64, 11, 256)}, {3, 5}, {2, 3}, {1, 2}, {2, 1}), true, 4);
    case 76: return convolution(c, 1, P(64, 5, 64), P(128, 7, 128), space({P(8190, 103, 524280)}, {3}, {3}, none, {4}), false);
    case 77: return convolution(c, 1, P(32, 5, 32), P(64, 3, 64), space({P(8, 5, 16), P(16, 6, 32), P(16, 7, 32)}, {3}, {2}, one, {2}), true);
    case 78: return convolution(c, 1, P(32, 5, 32), P(32, 7, 32), space({P(32, 19, 512), P(64, 21, 1024)}, {3, 7}, one, {1, 3}, one), true);
    case 79: return convolution(c, 1, P(32, 5, 32), P(64, 7, 64), space({P(2048, 103, 131072)}, {3}, {2}, one, {2}), true);
    case 80: return convolution(c, 1, P(32, 5, 32), P(64, 7, 64), space({P(64, 29, 512), P(64, 31, 512)}, {5, 9}, one, {2, 4}, {2, 3}), false);
    case 81: return convolution(c, 1, P(32, 5, 32), P(64, 7, 64), space({P(16, 9, 64), P(32, 11, 128)}, {3}, {5}, one, {2}), true);
    case 82: case 83: case 84: case 85: {
        int64_t ch = number == 82 ? 64 : number == 83 ? 8 : 128, k = P(8, 5, ch);
        std::vector<int64_t> filter = number == 83 ? std::vector<int64_t>{3, 1} : number == 85 ? std::vector<int64_t>{3, 7} : std::vector<int64_t>{3};
        convolution(c, P(1, 2, number == 82 ? 16 : number == 85 ? 32 : 64), k, k,
                    space({P(128, 19, number == 84 ? 256 : number == 85 ? 128 : 512), P(128, 21, number == 85 ? 256 : 512)},
                          filter, one, none, one), false, k);
        return;
    }
    case 87: {
        convolution(c, 1, P(64, 5, 64), P(128, 7, 128), space({P(32, 19, 1024), P(64, 21, 1024)}, {1}, one, none, one), false);
        return;
    }
    case 88: return each(c, {P(64, 67, 8192), first_sizes ? P(2000, 131, 2000) : P(8192, 131, 8192)}, [](double x) {
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    });
    case 89: return lines_of(rows, [](Line &x) { std::partial_sum(x.begin(), x.end(), x.begin()); });
    case 90: return lines_of(rows, [](Line &x) {
        std::partial_sum(x.begin(), x.end(), x.begin(), std::multiplies<double>());
    });
    case 91: return lines_of(rows, [](Line &x) { std::partial_sum(x.rbegin(), x.rend(), x.rbegin()); });
    case 93: {
        lines_of(rows, [](Line &x) { std::partial_sum(x.begin(), x.end(), x.begin()); });
        Host &mask = c.input(rows, "uniform");
        for (float &v : mask.v) v = v < 0.5f;
        mask.type = torch::kBool;
        return;
    }
    case 100: { /* one target a column: the benchmark's square case is a broadcast */
        int64_t n = P(1024, 131, 32768);
        loss(c, n, n, 1, "", [=, &c](const float *const *v, int64_t len) {
            double s = 0;
            for (int64_t i = 0; i < len; i++) s += std::max(1 - (double)v[0][i] * c.in[1].v[i], 0.0);
            return s;
        }, (double)(n * n));
        for (float &x : c.input({n}, "uniform").v) x = x < 0.5f ? -1.0f : 1.0f;
        return;
    }
    case 94: case 96: {
        int64_t n = P(8, 3, 32768), l = P(32768, 1003, 32768);
        c.number["beta"] = 1;
        return loss(c, n, l, 2, "", [=](const float *const *v, int64_t len) {
            double s = 0;
            for (int64_t i = 0; i < len; i++) {
                double d = fabs((double)v[0][i] - v[1][i]);
                s += number == 94 ? d * d : d < 1 ? 0.5 * d * d : d - 0.5;
            }
            return s;
        }, (double)(n * l));
    }
    case 95: {
        int64_t n = P(64, 7, 32768), l = first_sizes ? P(10, 13, 10) : P(4096, 1003, 4096);
        loss(c, n, l, 1, "", [=](const float *const *v, int64_t len) {
            double m = *std::max_element(v[0], v[0] + len), s = 0;
            for (int64_t i = 0; i < len; i++) s += exp(v[0][i] - m);
            return m + log(s) - v[0][(int64_t)v[1][0]];
        }, (double)n);
        Host &target = c.input({n}, "uniform");
        for (float &v : target.v) v = (float)(int64_t)(v * l);
        target.type = torch::kLong;
        return;
    }
    case 97: {
        int64_t b = P(1, 2, 32), h = P(1, 3, 32), s = P(128, 37, 512), d = P(1024, 67, 1024);
        for (int i = 0; i < 3; i++) c.input({b, h, s, d}).type = torch::kHalf;
        for (Host &q : c.in)
            for (float &x : q.v) x = __half2float(__float2half(x));
        c.answers = b * h * s * d;
        c.right = [=, &c](bool) {
            Line y(b * h * s * d), p(s);
            for (int64_t z = 0; z < b * h; z++)
                for (int64_t i = 0; i < s; i++) {
                    const float *q = &c.in[0].v[(z * s + i) * d];
                    for (int64_t j = 0; j < s; j++) {
                        const float *k = &c.in[1].v[(z * s + j) * d];
                        p[j] = 0;
                        for (int64_t l = 0; l < d; l++) p[j] += (double)q[l] * k[l];
                        p[j] /= sqrt((double)d);
                    }
                    softmax(p, false);
                    for (int64_t j = 0; j < s; j++)
                        for (int64_t l = 0; l < d; l++)
                            y[(z * s + i) * d + l] += p[j] * c.in[2].v[(z * s + j) * d + l];
                }
            return y;
        };
        return;
    }
    case 98: {
        int64_t n = P(128, 7, 16384), l = P(1024, 1003, 16384);
        loss(c, n, l, 2, "", [=](const float *const *v, int64_t len) {
            double s = 0;
            for (int64_t i = 0; i < len; i++)
                if (v[1][i] > 0) s += v[1][i] * (log((double)v[1][i]) - log((double)v[0][i]));
            return s;
        }, (double)n);
        for (Host &h : c.in)
            for (int64_t r = 0; !h.v.empty() && r < n; r++) {
                Line x(h.v.begin() + r * l, h.v.begin() + (r + 1) * l);
                softmax(x, false);
                std::copy(x.begin(), x.end(), h.v.begin() + r * l);
            }
        return;
    }
    case 99: {
        int64_t n = P(64, 7, 32768), l = P(8192, 1003, 8192);
        c.number["margin"] = 1;
        return loss(c, n, l, 3, "", [=](const float *const *v, int64_t len) {
            double p = 0, q = 0;
            for (int64_t i = 0; i < len; i++) {
                p += pow((double)v[0][i] - v[1][i] + 1e-6, 2);
                q += pow((double)v[0][i] - v[2][i] + 1e-6, 2);
            }
            return std::max(sqrt(p) - sqrt(q) + 1, 0.0);
        }, (double)n);
    }
    default: fprintf(stderr, "audit: no operation %d\n", number), exit(4);
    }
}
