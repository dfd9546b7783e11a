// problems.h: what is computed on the GPU, with and without Orchid, and on cores. Each of the
// programs makes the same input.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace orchid::gpu_check {

/// A kernel's arguments as it takes them.
using Arguments = std::vector<std::byte>;

/// Inverse distance weighting (functions/idw): a grid, and 8192 stations.
class IdwProblem {
 public:
  static constexpr const char* kernel = "idw_grid";
  static constexpr std::uint32_t group_size = 256;
  static constexpr std::uint32_t columns = 1024;
  static constexpr std::uint32_t fewest_rows = 4;
  static constexpr std::uint32_t most_rows = 8192;

  explicit IdwProblem(std::uint32_t rows);
  ~IdwProblem();
  IdwProblem(const IdwProblem&) = delete;
  IdwProblem& operator=(const IdwProblem&) = delete;

  [[nodiscard]] std::span<const std::byte> stations() const;
  [[nodiscard]] std::uint64_t points() const { return std::uint64_t{columns} * rows_; }
  [[nodiscard]] std::uint64_t value_bytes() const { return points() * sizeof(float); }
  /// Addresses of the stations and of the values.
  [[nodiscard]] Arguments arguments(std::uint64_t stations, std::uint64_t values) const;

 private:
  struct Stations;
  std::uint32_t rows_;
  std::unique_ptr<Stations> stations_;
};

/// A search for a string with a given MD5 (functions/md5search): launch after launch, until the
/// last string of the last launch is the right one.
class Md5Problem {
 public:
  static constexpr const char* kernel = "md5_match";
  static constexpr std::uint32_t group_size = 256;
  static constexpr std::uint32_t most_launches = 26 * 26;

  /// `launches`: 1 to `most_launches`.
  explicit Md5Problem(std::uint32_t launches);

  [[nodiscard]] std::span<const std::byte> alphabet() const {
    return std::as_bytes(std::span(alphabet_));
  }
  [[nodiscard]] std::uint32_t launches() const { return launches_; }
  /// Of each launch; each has a byte for what it has found.
  [[nodiscard]] static std::uint64_t items();
  [[nodiscard]] Arguments arguments(std::uint32_t launch, std::uint64_t alphabet,
                                    std::uint64_t found) const;
  /// Whether a launch has found what it should, and nothing else.
  [[nodiscard]] bool is_right(std::uint32_t launch, std::span<const std::byte> found) const;

 private:
  std::uint32_t launches_;
  std::vector<std::uint32_t> alphabet_;
  std::vector<std::uint32_t> digest_;
};

/// Of the checks' own kernels.
struct FindLaunch {
  static constexpr const char* kernel = "find_words";
  static constexpr std::uint32_t group_size = 256;
  static constexpr std::uint64_t items = 1024ULL * group_size;
  static constexpr std::uint64_t found_bytes = items * sizeof(std::uint32_t);
  /// Memory is looked at in multiples of it.
  static constexpr std::uint64_t granule = items * sizeof(std::uint64_t);
};
[[nodiscard]] Arguments find_arguments(std::uint64_t words, std::uint64_t bytes,
                                       std::uint64_t found);
[[nodiscard]] std::uint64_t sum_of_found(std::span<const std::byte> found);
/// Of kernels that take one address.
[[nodiscard]] Arguments one_address(std::uint64_t address);

/// FNV-1a: equal for equal bytes.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes);

/// Of at least one.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace orchid::gpu_check
