// data/copy_end.h: one orchid-copy process: this host's end of one transfer.
#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "children/own_program.h"
#include "children/time_limit.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/copy_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. Kills its process when it is destroyed; who has to know that
/// nothing is mapped any more waits for its end instead.
class CopyEnd {
 public:
  struct Parts {
    boost::asio::io_context& io;
    ChildWatch& children;
    std::filesystem::path program;
    SchedulingClass scheduling = SchedulingClass::normal;
  };
  struct Handlers {
    std::function<void(const CopyListening&)> listening;
    /// The process has ended, and has nothing mapped any more. A failure: why, and of a fetch how
    /// much has come. May destroy it.
    std::function<void(const std::optional<CopyFailed>& why)> ended;
  };
  CopyEnd(Parts parts, Handlers handlers);
  ~CopyEnd();
  CopyEnd(const CopyEnd&) = delete;
  CopyEnd& operator=(const CopyEnd&) = delete;

  /// `order`: CopySend or CopyFetch, whose file this is. It ends within `within`. Errors: `system`,
  /// `not_found`.
  [[nodiscard]] Result<void> start(const CopyMessage& order, const UniqueFd& file,
                                   std::chrono::milliseconds within);
  /// It is to end now, and to say how far it has come; it is killed if it takes too long.
  void stop();
  /// What it has to say does not matter.
  void kill();

 private:
  void happened(const ChildEvent& event);
  void heard(Packet& packet);
  void give_up(std::string_view why);

  Parts parts_;
  Handlers handlers_;
  std::unique_ptr<PacketChannel> channel_;
  pid_t pid_ = -1;
  bool done_ = false;
  std::optional<CopyFailed> failed_;
  TimeLimit limit_;
};

}  // namespace orchid::executor
