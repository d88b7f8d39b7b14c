/* torch.h - the few calls of PyTorch that CUDA extensions make, so that one compiles without PyTorch.
**
** A Tensor is contiguous memory of the GPU with sizes and a type. A copy is another name of the same
** memory. Nothing is ever freed before its last name ends; out of memory ends the program with
** status 3. Model: the C++ interface of PyTorch (pytorch.org/cppdocs); views share their memory,
** and strides are those of contiguous memory. The files beside it have PyTorch's names. */
#pragma once
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace c10 {
enum class ScalarType { Float, Double, Half, BFloat16, Int, Long, Bool, Byte };
template <class T> using optional = std::optional<T>;
using std::nullopt;
struct IntArrayRef : std::vector<int64_t> {
    using std::vector<int64_t>::vector;
    IntArrayRef(int64_t one) : std::vector<int64_t>(1, one) {}
    IntArrayRef(std::vector<int64_t> v) : std::vector<int64_t>(std::move(v)) {}
    IntArrayRef(std::initializer_list<int64_t> v) : std::vector<int64_t>(v) {}
    const std::vector<int64_t> &vec() const { return *this; }
};
using Half = __half;
using BFloat16 = __nv_bfloat16;
enum class DeviceType { CPU, CUDA };
struct Device {
    DeviceType kind = DeviceType::CUDA;
    Device(DeviceType k = DeviceType::CUDA) : kind(k) {}
    bool is_cuda() const { return kind == DeviceType::CUDA; }
    DeviceType type() const { return kind; }
    int index() const { return 0; }
    bool operator==(const Device &o) const { return kind == o.kind; }
};
/* An element's type as older sources name it: x.type().is_cuda(). */
struct TypeName {
    ScalarType type;
    bool is_cuda() const { return true; }
    ScalarType scalarType() const { return type; }
    operator ScalarType() const { return type; }
};
template <class T> struct TypeOf;
template <> struct TypeOf<float> { static constexpr ScalarType type = ScalarType::Float; };
template <> struct TypeOf<double> { static constexpr ScalarType type = ScalarType::Double; };
template <> struct TypeOf<__half> { static constexpr ScalarType type = ScalarType::Half; };
template <> struct TypeOf<__nv_bfloat16> { static constexpr ScalarType type = ScalarType::BFloat16; };
template <> struct TypeOf<int> { static constexpr ScalarType type = ScalarType::Int; };
template <> struct TypeOf<int64_t> { static constexpr ScalarType type = ScalarType::Long; };
template <> struct TypeOf<long long> { static constexpr ScalarType type = ScalarType::Long; };
template <> struct TypeOf<bool> { static constexpr ScalarType type = ScalarType::Bool; };
template <> struct TypeOf<uint8_t> { static constexpr ScalarType type = ScalarType::Byte; };
} // namespace c10

namespace torch {
using c10::BFloat16;
using c10::Device;
using c10::DeviceType;
using c10::Half;
using c10::IntArrayRef;
using c10::ScalarType;
using c10::nullopt;
using c10::optional;
using Dtype = ScalarType;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = kFloat, kDouble = ScalarType::Double,
                     kFloat64 = kDouble, kHalf = ScalarType::Half, kFloat16 = kHalf,
                     kBFloat16 = ScalarType::BFloat16, kInt = ScalarType::Int, kInt32 = kInt,
                     kLong = ScalarType::Long, kInt64 = kLong, kBool = ScalarType::Bool,
                     kByte = ScalarType::Byte, kUInt8 = kByte;
constexpr DeviceType kCUDA = DeviceType::CUDA, kCPU = DeviceType::CPU;

inline size_t bytes_of(ScalarType t) {
    switch (t) {
    case ScalarType::Double: case ScalarType::Long: return 8;
    case ScalarType::Half: case ScalarType::BFloat16: return 2;
    case ScalarType::Bool: case ScalarType::Byte: return 1;
    default: return 4;
    }
}

struct TensorOptions {
    ScalarType type = kFloat;
    Device where;
    TensorOptions() {}
    TensorOptions(ScalarType t) : type(t) {}
    TensorOptions dtype(ScalarType t) const { TensorOptions o = *this; o.type = t; return o; }
    template <class D> TensorOptions device(D) const { return *this; }
    template <class D> TensorOptions device(D, int) const { return *this; }
    TensorOptions requires_grad(bool) const { return *this; }
};
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
template <class D> TensorOptions device(D) { return TensorOptions(); }

template <class T, int N> struct Accessor {
    T *at;
    const int64_t *sizes, *steps;
    __host__ __device__ Accessor<T, N - 1> operator[](int64_t i) const {
        return {at + i * steps[0], sizes + 1, steps + 1};
    }
    __host__ __device__ int64_t size(int i) const { return sizes[i]; }
};
template <class T> struct Accessor<T, 1> {
    T *at;
    const int64_t *sizes, *steps;
    __host__ __device__ T &operator[](int64_t i) const { return at[i * steps[0]]; }
    __host__ __device__ int64_t size(int i) const { return sizes[i]; }
};
template <class T> struct RestrictPtrTraits { typedef T *__restrict__ PtrType; };
template <class T> struct DefaultPtrTraits { typedef T *PtrType; };
template <class T, int N, template <class> class P = DefaultPtrTraits, class I = int64_t>
struct PackedTensorAccessor {
    T *at;
    int64_t sizes[N], steps[N];
    __host__ __device__ auto operator[](int64_t i) const {
        if constexpr (N == 1) return at[i];
        else return Accessor<T, N - 1>{at + i * steps[0], sizes + 1, steps + 1};
    }
    __host__ __device__ int64_t size(int i) const { return sizes[i]; }
};
template <class T, int N, template <class> class P = DefaultPtrTraits, class I = int32_t>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, P, I>;
template <class T, int N, template <class> class P = DefaultPtrTraits, class I = int64_t>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, P, I>;

class Tensor {
    std::shared_ptr<void> memory;
    size_t offset = 0; /* bytes */
    IntArrayRef shape;
    ScalarType kind = kFloat;

  public:
    Tensor() {}
    Tensor(IntArrayRef sizes, ScalarType t, bool managed = false)
        : shape(std::move(sizes)), kind(t) {
        void *p = nullptr;
        size_t bytes = std::max<size_t>(numel() * bytes_of(t), 1);
        if ((managed ? cudaMallocManaged(&p, bytes) : cudaMalloc(&p, bytes)) != cudaSuccess) {
            fprintf(stderr, "no %zu bytes of GPU memory\n", bytes);
            exit(3);
        }
        memory = std::shared_ptr<void>(p, [](void *q) { cudaFree(q); });
    }
    Tensor(IntArrayRef sizes, ScalarType t, void *data)
        : memory(data, [](void *) {}), shape(std::move(sizes)), kind(t) {}
    bool defined() const { return memory != nullptr; }
    int64_t dim() const { return (int64_t)shape.size(); }
    int64_t ndimension() const { return dim(); }
    int64_t size(int64_t i) const { return shape.at(i < 0 ? i + shape.size() : i); }
    const IntArrayRef &sizes() const { return shape; }
    int64_t stride(int64_t i) const { return strides().at(i < 0 ? i + shape.size() : i); }
    IntArrayRef strides() const {
        IntArrayRef s(shape.size(), 1);
        for (int64_t i = dim() - 2; i >= 0; i--) s[i] = s[i + 1] * shape[i + 1];
        return s;
    }
    int64_t numel() const {
        return std::accumulate(shape.begin(), shape.end(), (int64_t)1, std::multiplies<int64_t>());
    }
    size_t nbytes() const { return numel() * bytes_of(kind); }
    size_t element_size() const { return bytes_of(kind); }
    ScalarType dtype() const { return kind; }
    ScalarType scalar_type() const { return kind; }
    c10::TypeName type() const { return {kind}; }
    Device device() const { return Device(); }
    int get_device() const { return 0; }
    TensorOptions options() const { return TensorOptions(kind); }
    bool is_cuda() const { return true; }
    bool is_contiguous() const { return true; }
    bool requires_grad() const { return false; }
    Tensor contiguous() const { return *this; }
    Tensor detach() const { return *this; }
    Tensor cuda() const { return *this; }
    void *data_ptr() const { return (char *)memory.get() + offset; }
    template <class T> T *data_ptr() const {
        using Plain = std::remove_const_t<T>;
        if (c10::TypeOf<Plain>::type != kind) throw std::runtime_error("data_ptr of another kind");
        return (T *)data_ptr();
    }
    template <class T> T *data() const { return data_ptr<T>(); }
    template <class T> const T *const_data_ptr() const { return data_ptr<T>(); }
    template <class T> T *mutable_data_ptr() const { return data_ptr<T>(); }
    Tensor reshape(IntArrayRef sizes) const {
        int64_t known = 1, open = -1;
        for (size_t i = 0; i < sizes.size(); i++)
            if (sizes[i] < 0) open = i;
            else known *= sizes[i];
        if (open >= 0) sizes[open] = numel() / known;
        Tensor t = *this;
        t.shape = sizes;
        if (t.numel() != numel()) throw std::runtime_error("view of another number of elements");
        return t;
    }
    Tensor view(IntArrayRef sizes) const { return reshape(std::move(sizes)); }
    Tensor flatten() const { return reshape({numel()}); }
    Tensor unsqueeze(int64_t d) const {
        IntArrayRef s = shape;
        s.insert(s.begin() + (d < 0 ? d + dim() + 1 : d), 1);
        return reshape(s);
    }
    Tensor squeeze(int64_t d) const {
        IntArrayRef s = shape;
        if (size(d) == 1) s.erase(s.begin() + (d < 0 ? d + dim() : d));
        return reshape(s);
    }
    Tensor squeeze() const {
        IntArrayRef s;
        for (int64_t n : shape)
            if (n != 1) s.push_back(n);
        return reshape(s);
    }
    /* Copies, made by the host: of another type (float and half alone), or of other axes. */
    Tensor to(ScalarType) const;
    template <class D> Tensor to(D) const { return *this; }
    Tensor to(TensorOptions o) const { return to(o.type); }
    Tensor half() const { return to(kHalf); }
    Tensor permute(IntArrayRef) const;
    Tensor transpose(int64_t a, int64_t b) const {
        IntArrayRef axes;
        for (int64_t i = 0; i < dim(); i++) axes.push_back(i);
        std::swap(axes.at(a < 0 ? a + dim() : a), axes.at(b < 0 ? b + dim() : b));
        return permute(axes);
    }
    Tensor t() const { return transpose(0, 1); }
    Tensor clone() const {
        Tensor t(shape, kind);
        cudaMemcpy(t.data_ptr(), data_ptr(), nbytes(), cudaMemcpyDeviceToDevice);
        return t;
    }
    Tensor slice(int64_t d, int64_t from, int64_t to) const;
    Tensor sum() const;
    Tensor mean() const;
    Tensor operator/(double) const;
    Tensor operator*(double) const;
    template <class T> T item() const {
        T value;
        cudaMemcpy(&value, data_ptr<T>(), sizeof value, cudaMemcpyDeviceToHost);
        return value;
    }
    const Tensor &zero_() const { cudaMemset(data_ptr(), 0, nbytes()); return *this; }
    /* Each float changed in place by the host: f(what it is, its number). */
    template <class F> const Tensor &change(F f) const;
    const Tensor &copy_(const Tensor &) const;
    const Tensor &fill_(double v) const { return change([=](float, size_t) { return v; }); }
    const Tensor &add_(double v) const { return change([=](float x, size_t) { return x + v; }); }
    const Tensor &sub_(double v) const { return add_(-v); }
    const Tensor &mul_(double v) const { return change([=](float x, size_t) { return x * v; }); }
    const Tensor &div_(double v) const { return change([=](float x, size_t) { return x / v; }); }
    const Tensor &add_(const Tensor &) const;
    const Tensor &mul_(const Tensor &) const;
    const Tensor &sqrt_() const { return change([](float x, size_t) { return std::sqrt(x); }); }
    Tensor sqrt() const { return clone().sqrt_(); }
    Tensor exp() const { return clone().change([](float x, size_t) { return std::exp(x); }); }
    Tensor log() const { return clone().change([](float x, size_t) { return std::log(x); }); }
    Tensor cpu() const; /* memory that the host reads, too */
    Tensor view_as(const Tensor &o) const { return reshape(o.sizes()); }
    template <class T, int N, template <class> class P = DefaultPtrTraits, class I = int64_t>
    PackedTensorAccessor<T, N, P, I> packed_accessor() const {
        PackedTensorAccessor<T, N, P, I> a{data_ptr<T>(), {}, {}};
        IntArrayRef s = strides();
        for (int i = 0; i < N; i++) a.sizes[i] = shape.at(i), a.steps[i] = s[i];
        return a;
    }
    template <class T, int N, template <class> class P = DefaultPtrTraits>
    PackedTensorAccessor<T, N, P, int32_t> packed_accessor32() const {
        return packed_accessor<T, N, P, int32_t>();
    }
    template <class T, int N, template <class> class P = DefaultPtrTraits>
    PackedTensorAccessor<T, N, P, int64_t> packed_accessor64() const {
        return packed_accessor<T, N, P, int64_t>();
    }
};

/* Memory of the GPU that somebody else frees, as a tensor. */
inline Tensor from_blob(void *data, IntArrayRef s, TensorOptions o = {}) {
    return Tensor(std::move(s), o.type, data);
}
inline Tensor empty(IntArrayRef s, TensorOptions o = {}) { return Tensor(std::move(s), o.type); }
inline Tensor zeros(IntArrayRef s, TensorOptions o = {}) {
    return Tensor(std::move(s), o.type).zero_();
}
inline Tensor ones(IntArrayRef s, TensorOptions o = {}) {
    return zeros(std::move(s), o).fill_(1);
}
inline Tensor empty_like(const Tensor &t, TensorOptions o) { return empty(t.sizes(), o); }
inline Tensor empty_like(const Tensor &t) { return empty(t.sizes(), t.options()); }
inline Tensor zeros_like(const Tensor &t) { return zeros(t.sizes(), t.options()); }
inline Tensor zeros_like(const Tensor &t, TensorOptions o) { return zeros(t.sizes(), o); }
inline Tensor full(IntArrayRef s, double value, TensorOptions o = {}) {
    Tensor t(std::move(s), o.type);
    std::vector<float> host(t.numel(), (float)value);
    if (o.type != kFloat) throw std::runtime_error("full of another kind than float");
    cudaMemcpy(t.data_ptr(), host.data(), t.nbytes(), cudaMemcpyHostToDevice);
    return t;
}
/* Whole tensors, computed on the host. */
inline std::vector<char> raw(const Tensor &t) {
    std::vector<char> host(t.nbytes());
    cudaMemcpy(host.data(), t.data_ptr(), t.nbytes(), cudaMemcpyDeviceToHost);
    return host;
}
inline std::vector<float> values(const Tensor &t) {
    std::vector<float> host(t.numel());
    cudaMemcpy(host.data(), t.data_ptr<float>(), t.nbytes(), cudaMemcpyDeviceToHost);
    return host;
}
template <class F> const Tensor &Tensor::change(F f) const {
    std::vector<float> v = values(*this);
    for (size_t i = 0; i < v.size(); i++) v[i] = (float)f(v[i], i);
    cudaMemcpy(data_ptr(), v.data(), nbytes(), cudaMemcpyHostToDevice);
    return *this;
}
/* Another tensor's numbers, as many, or one for all. */
inline std::vector<float> as_many(const Tensor &t, int64_t n) {
    if (t.numel() != n && t.numel() != 1) throw std::runtime_error("tensors of two shapes");
    std::vector<float> v = values(t);
    v.resize(n, v[0]);
    return v;
}
inline const Tensor &Tensor::add_(const Tensor &o) const {
    std::vector<float> v = as_many(o, numel());
    return change([&](float x, size_t i) { return x + v[i]; });
}
inline const Tensor &Tensor::mul_(const Tensor &o) const {
    std::vector<float> v = as_many(o, numel());
    return change([&](float x, size_t i) { return x * v[i]; });
}
inline Tensor Tensor::cpu() const {
    Tensor t(shape, kind, true);
    cudaMemcpy(t.data_ptr(), data_ptr(), nbytes(), cudaMemcpyDefault);
    cudaDeviceSynchronize();
    return t;
}
inline const Tensor &Tensor::copy_(const Tensor &o) const {
    Tensor from = o.to(kind);
    if (from.numel() != numel()) throw std::runtime_error("copy_ of another number of elements");
    cudaMemcpy(data_ptr(), from.data_ptr(), nbytes(), cudaMemcpyDeviceToDevice);
    return *this;
}
inline Tensor Tensor::to(ScalarType other) const {
    if (other == kind) return *this;
    Tensor t(shape, other);
    std::vector<char> from = raw(*this), into(t.nbytes());
    for (int64_t i = 0; i < numel(); i++) {
        float x = kind == kHalf       ? __half2float(((__half *)from.data())[i])
                  : kind == kBFloat16 ? __bfloat162float(((__nv_bfloat16 *)from.data())[i])
                  : kind == kInt      ? (float)((int *)from.data())[i]
                  : kind == kLong     ? (float)((int64_t *)from.data())[i]
                  : kind == kBool     ? (float)from[i]
                                      : ((float *)from.data())[i];
        if (other == kHalf) ((__half *)into.data())[i] = __float2half(x);
        else if (other == kBFloat16) ((__nv_bfloat16 *)into.data())[i] = __float2bfloat16(x);
        else if (other == kInt) ((int *)into.data())[i] = (int)x;
        else if (other == kLong) ((int64_t *)into.data())[i] = (int64_t)x;
        else if (other == kBool || other == kByte) into[i] = x != 0;
        else ((float *)into.data())[i] = x;
    }
    cudaMemcpy(t.data_ptr(), into.data(), into.size(), cudaMemcpyHostToDevice);
    return t;
}
inline Tensor Tensor::permute(IntArrayRef axes) const {
    IntArrayRef s, steps = strides(), from;
    for (int64_t a : axes) s.push_back(size(a)), from.push_back(steps.at(a < 0 ? a + dim() : a));
    Tensor t(s, kind);
    std::vector<char> old = raw(*this), made(t.nbytes());
    size_t unit = bytes_of(kind);
    for (int64_t i = 0; i < numel(); i++) {
        int64_t rest = i, at = 0;
        for (int64_t d = t.dim() - 1; d >= 0; d--) at += rest % s[d] * from[d], rest /= s[d];
        std::copy_n(&old[at * unit], unit, &made[i * unit]);
    }
    cudaMemcpy(t.data_ptr(), made.data(), made.size(), cudaMemcpyHostToDevice);
    return t;
}
inline Tensor Tensor::slice(int64_t d, int64_t from, int64_t to) const {
    IntArrayRef s = shape, steps = strides();
    to = std::min(to, shape.at(d)), s.at(d) = to - from;
    Tensor t(s, kind);
    size_t run = s[d] * steps[d] * bytes_of(kind), step = shape[d] * steps[d] * bytes_of(kind);
    for (size_t at = 0, into = 0; into < t.nbytes(); at += step, into += run)
        cudaMemcpy((char *)t.data_ptr() + into,
                   (char *)data_ptr() + at + from * steps[d] * bytes_of(kind), run,
                   cudaMemcpyDeviceToDevice);
    return t;
}
inline Tensor sum(const Tensor &t) {
    std::vector<float> v = values(t);
    return full({}, std::accumulate(v.begin(), v.end(), 0.0), t.options());
}
inline Tensor mean(const Tensor &t) { return sum(t) / (double)t.numel(); }
inline Tensor Tensor::sum() const { return torch::sum(*this); }
inline Tensor Tensor::mean() const { return torch::mean(*this); }
inline Tensor Tensor::operator*(double by) const { return clone().mul_(by); }
inline Tensor Tensor::operator/(double by) const { return *this * (1 / by); }
inline Tensor tensor(double value, TensorOptions o = {}) { return full({}, value, o); }
inline Tensor exp(const Tensor &t) { return t.exp(); }
inline Tensor log(const Tensor &t) { return t.log(); }
inline Tensor sqrt(const Tensor &t) { return t.sqrt(); }
/* Operations of PyTorch's own: a source that names one compiles, and is refused where it calls it. */
#define PYTORCH_ALONE(name)                                                                        \
    template <class... A> Tensor name(const A &...) {                                              \
        throw std::runtime_error("it calls PyTorch's own " #name);                                 \
    }
PYTORCH_ALONE(matmul) PYTORCH_ALONE(mm) PYTORCH_ALONE(bmm) PYTORCH_ALONE(addmm)
PYTORCH_ALONE(conv1d) PYTORCH_ALONE(conv2d) PYTORCH_ALONE(conv3d)
PYTORCH_ALONE(conv_transpose1d) PYTORCH_ALONE(conv_transpose2d) PYTORCH_ALONE(conv_transpose3d)
PYTORCH_ALONE(softmax) PYTORCH_ALONE(log_softmax) PYTORCH_ALONE(cumsum) PYTORCH_ALONE(cumprod)
PYTORCH_ALONE(flip) PYTORCH_ALONE(norm) PYTORCH_ALONE(argmax) PYTORCH_ALONE(argmin)
PYTORCH_ALONE(prod) PYTORCH_ALONE(amax) PYTORCH_ALONE(relu) PYTORCH_ALONE(tanh)
PYTORCH_ALONE(sigmoid) PYTORCH_ALONE(where) PYTORCH_ALONE(batch_norm) PYTORCH_ALONE(layer_norm)
PYTORCH_ALONE(max_pool1d) PYTORCH_ALONE(max_pool2d) PYTORCH_ALONE(avg_pool1d) PYTORCH_ALONE(div)
inline std::optional<Device> device_of(const Tensor &t) { return t.device(); }
struct Module { /* what a source tells Python of its functions */
    template <class... A> Module &def(const A &...) { return *this; }
};
} // namespace torch

namespace at {
using namespace torch;
namespace cuda {
struct CUDAStream {
    cudaStream_t stream() const { return 0; }
    operator cudaStream_t() const { return 0; }
};
inline CUDAStream getCurrentCUDAStream(int = 0) { return {}; }
} // namespace cuda
} // namespace at
namespace c10 {
using torch::Tensor;
namespace cuda {
using at::cuda::CUDAStream;
using at::cuda::getCurrentCUDAStream;
struct CUDAGuard { template <class T> CUDAGuard(const T &) {} };
struct OptionalCUDAGuard { template <class T> OptionalCUDAGuard(const T &) {} };
} // namespace cuda
} // namespace c10
namespace at { namespace cuda { using c10::cuda::CUDAGuard; using c10::cuda::OptionalCUDAGuard; } }

#define TORCH_CHECK(condition, ...)                                                                \
    do {                                                                                           \
        if (!(condition)) throw std::runtime_error("TORCH_CHECK: " #condition);                    \
    } while (0)
#define PYBIND11_MODULE(name, m) static inline void to_python(torch::Module &m)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ERROR(...) throw std::runtime_error("AT_ERROR")
#define C10_CUDA_CHECK(call) TORCH_CHECK((call) == cudaSuccess)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() TORCH_CHECK(cudaGetLastError() == cudaSuccess)
/* Floats and doubles alone. */
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...)                                                \
    do {                                                                                           \
        if ((type) == torch::kDouble) {                                                            \
            using scalar_t = double;                                                               \
            __VA_ARGS__();                                                                         \
            break;                                                                                 \
        }                                                                                          \
        TORCH_CHECK((type) == torch::kFloat);                                                      \
        using scalar_t = float;                                                                    \
        __VA_ARGS__();                                                                             \
    } while (0)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF AT_DISPATCH_FLOATING_TYPES
#define AT_DISPATCH_FLOATING_TYPES_AND2(a, b, type, name, ...)                                     \
    AT_DISPATCH_FLOATING_TYPES(type, name, __VA_ARGS__)
