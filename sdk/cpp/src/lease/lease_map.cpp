// One function over many inputs.
#include <algorithm>
#include <optional>

#include "lease/lease_access.h"

namespace orchid {
namespace {

/// A call is a straggler once it has lasted so many times the median of those that are done, and
/// so long at least.
constexpr int straggler_factor = 4;
constexpr std::chrono::milliseconds straggler_least{20};
constexpr std::chrono::milliseconds straggler_look{5};

using sdk::AsyncCall;

/// One input: its call, and a second one if the first takes too long.
struct Item {
  std::shared_ptr<AsyncCall> first;
  std::shared_ptr<AsyncCall> second;
  MonotonicTime started;
  bool done = false;
  [[nodiscard]] AsyncCall* winner() const {
    for (AsyncCall* call : {first.get(), second.get()})
      if (call != nullptr && call->call.done() && call->call.error == nullptr) return call;
    return nullptr;
  }
  [[nodiscard]] bool over() const {
    return first->call.done() && (second == nullptr || second->call.done());
  }
  void cancel() const {
    for (AsyncCall* call : {first.get(), second.get()})
      if (call != nullptr && !call->call.done()) call->core->cancel(call->call);
  }
};

/// Belongs to the thread that called `map`.
class Mapping {
 public:
  Mapping(const LeasedFunction& function, std::span<const std::vector<std::byte>> inputs,
          const CallOptions& options, sdk::LeaseCore& core)
      : function_(function),
        inputs_(inputs),
        options_(options),
        core_(core),
        items_(inputs.size()) {}
  ~Mapping() {
    for (const Item& item : items_)
      if (item.first != nullptr) item.cancel();
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::vector<Reply> run() {
    std::uint64_t seen = 0;
    while (done_ < items_.size()) {
      start_more();
      const MonotonicTime now = std::chrono::steady_clock::now();
      seen = results_->wait_beyond(seen, now + straggler_look);
      collect();
      if (next_ == items_.size() && !options_.at_most_once) start_again();
    }
    return std::move(replies_);
  }

 private:
  void start_more() {
    // A few more than workers, so that none waits for us.
    const std::size_t most = 4 * std::max(core_.ready_workers(), 1U) + 4;
    for (; next_ < items_.size() && next_ - done_ < most; ++next_) {
      items_[next_].started = std::chrono::steady_clock::now();
      items_[next_].first =
          sdk::LeaseAccess::start(function_, inputs_[next_], nullptr, options_, results_);
    }
  }

  void collect() {
    for (std::size_t i = first_open_; i < next_; ++i) {
      Item& item = items_[i];
      if (item.done) continue;
      const bool over = item.over();  // before the look at who won, which a call may come between
      if (AsyncCall* winner = item.winner()) {
        replies_[i] = sdk::reply_of(winner->call, function_.name());
        times_.push_back(replies_[i].timing.run);
        item.done = true;
        ++done_;
        item.cancel();
      } else if (over) {
        sdk::throw_error(item.first->call, function_.name());
      }
    }
    while (first_open_ < next_ && items_[first_open_].done) ++first_open_;
  }

  void start_again() {
    if (times_.empty() || core_.waiting() != 0 || core_.idle_workers() == 0) return;
    auto middle = times_.begin() + static_cast<std::ptrdiff_t>(times_.size() / 2);
    std::ranges::nth_element(times_, middle);
    const auto limit =
        std::max<std::chrono::nanoseconds>(*middle * straggler_factor, straggler_least);
    const MonotonicTime now = std::chrono::steady_clock::now();
    for (std::size_t i = first_open_; i < items_.size() && core_.idle_workers() > 0; ++i) {
      Item& item = items_[i];
      if (item.done || item.second != nullptr || now - item.started < limit) continue;
      item.second = sdk::LeaseAccess::start(function_, inputs_[i], nullptr, options_, results_);
    }
  }

  const LeasedFunction& function_;
  std::span<const std::vector<std::byte>> inputs_;
  const CallOptions& options_;
  sdk::LeaseCore& core_;
  std::shared_ptr<sdk::ResultCount> results_ = std::make_shared<sdk::ResultCount>();
  std::vector<Item> items_;
  std::vector<Reply> replies_{items_.size()};
  std::vector<std::chrono::nanoseconds> times_;  // of the calls that are done
  std::size_t next_ = 0;                         // not yet started
  std::size_t first_open_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

std::vector<Reply> Lease::map(const LeasedFunction& function,
                              std::span<const std::vector<std::byte>> inputs,
                              const CallOptions& options) {
  return Mapping(function, inputs, options, *core_).run();
}

}  // namespace orchid
