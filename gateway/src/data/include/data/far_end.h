// data/far_end.h: the gateway's end of one transfer of data to or from another host: a process of
// its own, behind a pipe (docs/decisions/0048).
#pragma once
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/copy_messages.h"

namespace orchid::gateway {

/// Belongs to the control thread. Its process is killed when it is destroyed, and reaped by the
/// control thread when it has ended.
class FarEnd {
 public:
  struct Handlers {
    /// The other end is there: bytes can move. May destroy the end.
    std::function<void()> met;
    /// The process has ended. Nothing: it has moved all. May destroy the end.
    std::function<void(const std::optional<Failure>& why)> ended;
  };
  virtual ~FarEnd() = default;
  FarEnd(const FarEnd&) = delete;
  FarEnd& operator=(const FarEnd&) = delete;

 protected:
  FarEnd() = default;
};

/// `order`: CopyPush or CopyPull, whose end of the pipe this is. No handler is called from within.
using StartFarEnd = std::function<Result<std::unique_ptr<FarEnd>>(
    const CopyMessage& order, const UniqueFd& pipe, FarEnd::Handlers handlers)>;

/// With `program` (orchid-copy) as the process. Errors: `system`.
[[nodiscard]] StartFarEnd far_ends(boost::asio::io_context& control, std::filesystem::path program);

}  // namespace orchid::gateway
