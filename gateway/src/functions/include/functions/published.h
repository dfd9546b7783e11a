// functions/published.h: an immutable value that one thread replaces and others read.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace orchid::gateway {

/// `publish`: the owner's thread. Each reading thread has a Reader, whose `get` costs one atomic
/// load unless the value is new. What was published before a message was sent is seen by who has
/// received the message.
template <typename T>
class Published {
 public:
  explicit Published(std::shared_ptr<const T> first) : value_(std::move(first)) {}

  void publish(std::shared_ptr<const T> value) {
    {
      const std::lock_guard guard(mutex_);
      value_.swap(value);
    }
    generation_.fetch_add(1, std::memory_order_release);
  }
  /// Any thread.
  [[nodiscard]] std::shared_ptr<const T> current() const {
    const std::lock_guard guard(mutex_);
    return value_;
  }

  /// Owned by one thread; the Published outlives it.
  class Reader {
   public:
    explicit Reader(const Published& source) : source_(&source) {}
    [[nodiscard]] const T& get() {
      const auto generation = source_->generation_.load(std::memory_order_acquire);
      if (value_ == nullptr || generation != seen_) {
        value_ = source_->current();
        seen_ = generation;
      }
      return *value_;
    }

   private:
    const Published* source_;
    std::shared_ptr<const T> value_;
    std::uint64_t seen_ = 0;
  };

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;  // shared with readers that still use an older one
  std::atomic<std::uint64_t> generation_{1};
};

}  // namespace orchid::gateway
