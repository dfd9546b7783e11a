// dispatcher/dispatch_watch.h: tells when a descriptor becomes readable, through the thread's
// event loop.
#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "foundation/result.h"

namespace orchid::gateway {

/// Borrows the descriptor, which must stay open until the watch is destroyed. Owned by the thread
/// of its io_context; may be destroyed in its own callback.
class ReadableWatch {
 public:
  /// Errors: `system`.
  [[nodiscard]] static Result<std::unique_ptr<ReadableWatch>> create(
      boost::asio::io_context& io, int descriptor, std::function<void()> on_readable);
  ~ReadableWatch();
  ReadableWatch(const ReadableWatch&) = delete;
  ReadableWatch& operator=(const ReadableWatch&) = delete;

  /// Calls back once, when it is or becomes readable. Nothing when it is armed already.
  void arm();

 private:
  struct State;
  explicit ReadableWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;  // shared with the pending wait
};

}  // namespace orchid::gateway
