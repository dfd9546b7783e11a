// foundation/task.h: a piece of work that moves to another thread, and how to hand it over.
#pragma once
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace orchid {

/// A callable without arguments and result that may own what cannot be copied. Moves; is called at
/// most once.
class Task {
 public:
  Task() = default;
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Task> && std::is_invocable_v<F&>)
  Task(F&& work)  // NOLINT(google-explicit-constructor): a lambda is a task
      : work_(std::make_unique<Holder<std::remove_cvref_t<F>>>(std::forward<F>(work))) {}

  [[nodiscard]] explicit operator bool() const { return work_ != nullptr; }
  void operator()() { std::exchange(work_, nullptr)->run(); }

 private:
  struct Work {
    virtual ~Work() = default;
    virtual void run() = 0;
  };
  template <typename F>
  struct Holder final : Work {
    explicit Holder(F f) : function(std::move(f)) {}
    void run() override { function(); }
    F function;
  };
  std::unique_ptr<Work> work_;
};

/// Hands a task to one particular thread, which runs it later, in the order of the calls. Callable
/// on any thread.
using Poster = std::function<void(Task)>;

}  // namespace orchid
