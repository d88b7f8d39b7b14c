#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace sparse {

namespace detail {

inline void check(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(status));
}

// One thread per row.
template <typename T>
__global__ void spmv_csr(std::int32_t rows,
                         const std::int32_t* __restrict__ row_begin,
                         const std::int32_t* __restrict__ column,
                         const T* __restrict__ value,
                         const T* __restrict__ x,
                         T* __restrict__ y) {
  const std::int32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    T sum{};
    for (auto k = row_begin[row]; k < row_begin[row + 1]; ++k) {
      sum += value[k] * x[column[k]];
    }
    y[row] = sum;
  }
}

}  // namespace detail

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(const std::vector<T>& host) : size_(host.size()) {
    detail::check(cudaMalloc(&data_, size_ * sizeof(T)), "cudaMalloc");
    detail::check(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() const { return data_; }
  std::vector<T> to_host() const {
    std::vector<T> host(size_);
    detail::check(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

class Matrix {
 public:
  std::vector<std::int32_t> row_begin{0}, column;
  std::vector<float> value;

  static Matrix random(std::int32_t rows, std::int32_t columns, std::mt19937& engine) {
    Matrix m;
    std::poisson_distribution<int> length(12);
    std::uniform_int_distribution<std::int32_t> where(0, columns - 1);
    std::normal_distribution<float> normal;
    for (std::int32_t r = 0; r < rows; ++r) {
      for (int left = length(engine); left > 0; --left) {
        m.column.push_back(where(engine));
        m.value.push_back(normal(engine));
      }
      m.row_begin.push_back(static_cast<std::int32_t>(m.column.size()));
    }
    return m;
  }

  std::int32_t rows() const { return static_cast<std::int32_t>(row_begin.size()) - 1; }

  std::vector<float> multiply(const std::vector<float>& x) const {
    DeviceVector<std::int32_t> d_begin(row_begin), d_column(column);
    DeviceVector<float> d_value(value), d_x(x), d_y{std::vector<float>(rows())};
    constexpr unsigned threads = 512;
    detail::spmv_csr<float><<<(rows() + threads - 1) / threads, threads>>>(
        rows(), d_begin.data(), d_column.data(), d_value.data(), d_x.data(), d_y.data());
    detail::check(cudaGetLastError(), "spmv_csr");
    return d_y.to_host();
  }
};

}  // namespace sparse

int main() try {
  std::mt19937 engine(7);
  const auto a = sparse::Matrix::random(20000, 5000, engine);
  std::vector<float> x(5000);
  std::generate(x.begin(), x.end(), [&] { return std::uniform_real_distribution<float>()(engine); });
  const auto y = a.multiply(x);

  double worst = 0;
  for (std::int32_t r = 0; r < a.rows(); ++r) {
    double want = 0;
    for (auto k = a.row_begin[r]; k < a.row_begin[r + 1]; ++k) want += double(a.value[k]) * x[a.column[k]];
    worst = std::max(worst, std::abs(want - y[r]));
  }
  std::cout << a.value.size() << " non-zeros, worst error " << worst << '\n';
  return worst < 1e-4 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
