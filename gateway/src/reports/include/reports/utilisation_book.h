// reports/utilisation_book.h: how much there was and how much of it was used, for hours: plain
// data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace orchid::gateway {

/// Of all hosts together.
struct UtilisationSample {
  std::int64_t at = 0;  // milliseconds since 1970
  std::uint64_t cores = 0;
  std::uint64_t cores_usable = 0;  // without those that batch jobs have
  std::uint64_t cores_leased = 0;
  std::uint64_t memory = 0;  // bytes, that executors offer to workers
  std::uint64_t memory_leased = 0;
  std::uint64_t gpus = 0;
  std::uint64_t gpus_usable = 0;
  std::uint64_t gpus_leased = 0;
  std::optional<double> watts;  // of the hosts that tell; nothing: none does
};

/// The newest samples. Owned by one thread.
class UtilisationBook {
 public:
  explicit UtilisationBook(std::size_t most) : most_(most) {}
  void add(const UtilisationSample& sample);
  /// Those after this time, the oldest first.
  [[nodiscard]] std::deque<UtilisationSample> since(std::int64_t at) const;
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  std::size_t most_;
  std::deque<UtilisationSample> samples_;
};

}  // namespace orchid::gateway
