// external_sort.h: a sort of more numbers than there is memory for, which keeps them elsewhere:
// sorted runs first, which are then merged.
//
// Elsewhere has room for all numbers twice: the runs lie in the first half, and the result is
// written to the second one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace outofcore_sort {

/// The numbers to sort: the i-th is random, and always the same (splitmix64).
inline std::uint64_t number_at(std::uint64_t i, std::uint64_t seed) {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

struct Job {
  std::uint64_t count = 0;   // numbers
  std::uint64_t seed = 0;    // which ones
  std::uint64_t memory = 0;  // bytes for buffers here
};

constexpr std::uint64_t bytes_of(std::uint64_t numbers) { return numbers * sizeof(std::uint64_t); }
/// What has to be elsewhere.
constexpr std::uint64_t room_for(const Job& job) { return 2 * bytes_of(job.count); }

/// A window on one sorted run, or on the result, of at most `most` numbers.
struct Window {
  std::uint64_t next = 0;  // number that is read or written next, of all
  std::uint64_t end = 0;   // of the run
  std::size_t at = 0;      // in what is here
  std::vector<std::uint64_t> here{};
};

/// Keeps numbers in a `Store`: bool put(offset, bytes), bool get(offset, bytes).
template <typename Store>
class ExternalSort {
 public:
  ExternalSort(Store& store, const Job& job)
      : store_(store), job_(job), in_run_(std::max<std::uint64_t>(1, job.memory / bytes_of(1))) {}

  /// A digest of the sorted numbers in their order. Nothing: the store has failed.
  std::optional<std::uint64_t> run() {
    if (!make_runs()) return std::nullopt;
    return merge();
  }

 private:
  using Head = std::pair<std::uint64_t, std::size_t>;  // a number, and the window that it is from

  bool make_runs() {
    std::vector<std::uint64_t> run(std::min(in_run_, job_.count));
    for (std::uint64_t first = 0; first < job_.count; first += run.size()) {
      run.resize(std::min(in_run_, job_.count - first));
      for (std::uint64_t i = 0; i < run.size(); ++i) run[i] = number_at(first + i, job_.seed);
      std::ranges::sort(run);
      if (!store_.put(bytes_of(first), std::as_bytes(std::span(run)))) return false;
    }
    return true;
  }

  std::optional<std::uint64_t> merge() {
    open_windows();
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (!push_next(heads, i)) return std::nullopt;
    std::uint64_t digest = 0;
    while (!heads.empty()) {
      const auto [number, run] = heads.top();
      heads.pop();
      digest = digest * 0x100000001b3ULL + number;
      result_.here.push_back(number);
      if (result_.here.size() == window_ && !write_result()) return std::nullopt;
      if (!push_next(heads, run)) return std::nullopt;
    }
    if (!write_result()) return std::nullopt;
    return digest;
  }

  /// The memory is for a window on each run, and one on the result.
  void open_windows() {
    const std::uint64_t count = (job_.count + in_run_ - 1) / in_run_;
    window_ = std::max<std::uint64_t>(1, in_run_ / (count + 1));
    for (std::uint64_t first = 0; first < job_.count; first += in_run_)
      runs_.push_back({.next = first, .end = std::min(job_.count, first + in_run_)});
    result_.next = job_.count;
    result_.here.reserve(window_);
  }

  template <typename Heads>
  bool push_next(Heads& heads, std::size_t i) {
    Window& run = runs_[i];
    if (run.at == run.here.size()) {
      run.here.resize(std::min(window_, run.end - run.next));
      run.at = 0;
      if (run.here.empty()) return true;
      if (!store_.get(bytes_of(run.next), std::as_writable_bytes(std::span(run.here))))
        return false;
      run.next += run.here.size();
    }
    heads.emplace(run.here[run.at++], i);
    return true;
  }

  bool write_result() {
    if (!store_.put(bytes_of(result_.next), std::as_bytes(std::span(result_.here)))) return false;
    result_.next += result_.here.size();
    result_.here.clear();
    return true;
  }

  Store& store_;
  Job job_;
  std::uint64_t in_run_;      // numbers of a run
  std::uint64_t window_ = 0;  // numbers of a window
  std::vector<Window> runs_;
  Window result_;
};

}  // namespace outofcore_sort
