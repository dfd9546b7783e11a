#include "victims.h"

#include <algorithm>
#include <cstdlib>

#include "foundation/tick_clock.h"
#include "harness/child_process.h"

namespace orchid::bench::colocation {
namespace {

double milliseconds_since(const TickRate& rate, std::uint64_t start) {
  return static_cast<double>(rate.duration(ticks_now() - start).count()) / 1e6;
}

/// Has a clock, and keeps the compiler from leaving the work out.
class Kernel : public Victim {
 public:
  [[nodiscard]] Result<double> run() override {
    const std::uint64_t start = ticks_now();
    work();
    return milliseconds_since(rate_, start);
  }

 private:
  virtual void work() = 0;
  TickRate rate_ = TickRate::measure();
};

class Triad final : public Kernel {
 public:
  [[nodiscard]] std::string name() const override { return "STREAM triad"; }

 private:
  static constexpr std::size_t elements = (64UL << 20) / sizeof(double);
  static constexpr int passes = 14;
  void work() override {
    for (int pass = 0; pass < passes; ++pass) {
      double* __restrict a = a_.data();
      const double* __restrict b = b_.data();
      const double* __restrict c = c_.data();
      for (std::size_t i = 0; i < elements; ++i) a[i] = b[i] + 3 * c[i];
      asm volatile("" : : "r"(a) : "memory");
    }
  }
  std::vector<double> a_ = std::vector<double>(elements, 1);
  std::vector<double> b_ = std::vector<double>(elements, 2);
  std::vector<double> c_ = std::vector<double>(elements, 3);
};

class Stencil final : public Kernel {
 public:
  [[nodiscard]] std::string name() const override { return "stencil"; }

 private:
  static constexpr std::size_t side = 2896;  // 64 MiB of doubles
  static constexpr int sweeps = 18;
  void work() override {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (std::size_t y = 1; y + 1 < side; ++y) {
        const double* __restrict up = from_.data() + (y - 1) * side;
        const double* __restrict here = from_.data() + y * side;
        const double* __restrict down = from_.data() + (y + 1) * side;
        double* __restrict out = to_.data() + y * side;
        for (std::size_t x = 1; x + 1 < side; ++x)
          out[x] = 0.25 * (here[x - 1] + here[x + 1] + up[x] + down[x]);
      }
      std::swap(from_, to_);
      asm volatile("" : : "r"(from_.data()) : "memory");
    }
  }
  std::vector<double> from_ = std::vector<double>(side * side, 1);
  std::vector<double> to_ = std::vector<double>(side * side, 0);
};

class Gemm final : public Kernel {
 public:
  [[nodiscard]] std::string name() const override { return "gemm"; }

 private:
  static constexpr std::size_t side = 512;
  static constexpr std::size_t width = 256;  // of a tile of the second matrix
  static constexpr std::size_t depth = 128;  // 256 KiB
  static constexpr int products = 6;
  void work() override {
    for (int k = 0; k < products; ++k)
      for (std::size_t j = 0; j < side; j += width)
        for (std::size_t p = 0; p < side; p += depth) multiply(j, p);
    asm volatile("" : : "r"(c_.data()) : "memory");
  }
  /// Four rows at a time, which share what is read of the tile. That is copied into one piece
  /// first: rows that lie a power of two apart would have half of the cache.
  void multiply(std::size_t j0, std::size_t p0) {
    for (std::size_t p = 0; p < depth; ++p)
      std::copy_n(b_.data() + (p0 + p) * side + j0, width, tile_.data() + p * width);
    for (std::size_t i = 0; i < side; i += 4) {
      double* __restrict c = c_.data() + i * side + j0;
      for (std::size_t p = 0; p < depth; ++p) {
        const double* a = a_.data() + i * side + p0 + p;
        const double* __restrict b = tile_.data() + p * width;
        for (std::size_t j = 0; j < width; ++j) {
          c[j] += a[0] * b[j];
          c[side + j] += a[side] * b[j];
          c[2 * side + j] += a[2 * side] * b[j];
          c[3 * side + j] += a[3 * side] * b[j];
        }
      }
    }
  }
  std::vector<double> a_ = std::vector<double>(side * side, 1e-3);
  std::vector<double> b_ = std::vector<double>(side * side, 1e-3);
  std::vector<double> c_ = std::vector<double>(side * side, 0);
  std::vector<double> tile_ = std::vector<double>(width * depth);
};

class PingPong final : public Victim {
 public:
  PingPong(std::string mpirun, std::string program, int core)
      : mpirun_(std::move(mpirun)), program_(std::move(program)), core_(core) {}
  [[nodiscard]] std::string name() const override { return "MPI ping-pong of 8 B"; }
  [[nodiscard]] std::string unit() const override { return "us"; }
  [[nodiscard]] Result<double> run() override {
    auto text = output_of({.command = {mpirun_, "--allow-run-as-root", "--oversubscribe",
                                       "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
                                       "--mca", "btl", "self,vader", "-n", "2", program_},
                           .core = core_},
                          std::chrono::seconds(60));
    if (!text) return fail(std::move(text.error()));
    const double value = std::strtod(text->c_str(), nullptr);
    if (value <= 0) return fail(ErrorCode::internal, "the ping-pong says: " + *text);
    return value;
  }

 private:
  std::string mpirun_;
  std::string program_;
  int core_;
};

}  // namespace

std::unique_ptr<Victim> make_triad() { return std::make_unique<Triad>(); }
std::unique_ptr<Victim> make_stencil() { return std::make_unique<Stencil>(); }
std::unique_ptr<Victim> make_gemm() { return std::make_unique<Gemm>(); }
std::unique_ptr<Victim> make_ping_pong(std::string mpirun, std::string program, int core) {
  return std::make_unique<PingPong>(std::move(mpirun), std::move(program), core);
}

}  // namespace orchid::bench::colocation
