// memory/memory_process.h: one orchid-memory process: it serves the memory of one lease to one
// client, or is that client, for a worker.
#pragma once
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "channels/packet_channel.h"
#include "children/child_watch.h"
#include "children/own_program.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "memory/messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. Ends its process when it is destroyed.
class MemoryProcess {
 public:
  struct Parts {
    boost::asio::io_context& io;
    ChildWatch& children;
    std::filesystem::path program;
  };
  struct Handlers {
    std::function<void(const std::string& address)> listening;  // of one that serves
    std::function<void()> connected;                            // of one that reaches
    std::function<void()> lost;  // likewise: its connection has ended; `tell` follows
    /// The process has ended, and has nothing mapped any more. Nothing: a client had come and has
    /// left, or the worker has. May destroy it.
    std::function<void(const std::optional<Failure>& why)> ended;
  };
  MemoryProcess(Parts parts, Handlers handlers);
  ~MemoryProcess();
  MemoryProcess(const MemoryProcess&) = delete;
  MemoryProcess& operator=(const MemoryProcess&) = delete;

  /// `file`: the memory. It runs only where nobody else wants to. Errors: `system`, `not_found`.
  [[nodiscard]] Result<void> start(const MemoryServe& order, const UniqueFd& file);
  /// `socket`: its end of the memory socket. Errors: as above.
  [[nodiscard]] Result<void> start(const MemoryReach& order, const UniqueFd& socket,
                                   SchedulingClass scheduling);
  void tell(const MemoryFate& fate);
  /// `ended` follows.
  void kill();

 private:
  [[nodiscard]] Result<void> start(const MemoryMessage& order, int descriptor,
                                   SchedulingClass scheduling);
  void happened(const ChildEvent& event);
  void heard(const Packet& packet);

  Parts parts_;
  Handlers handlers_;
  std::unique_ptr<PacketChannel> channel_;
  pid_t pid_ = -1;
  bool left_ = false;
  std::optional<Failure> failed_;
};

}  // namespace orchid::executor
