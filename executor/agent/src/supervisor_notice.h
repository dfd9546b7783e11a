// agent/supervisor_notice.h: tells whoever supervises this process that it is ready and alive (the
// sd_notify protocol).
#pragma once
#include <string>
#include <string_view>

#include "foundation/unique_fd.h"

namespace orchid::executor {

/// Sends to the datagram socket that NOTIFY_SOCKET named; does nothing when it named none.
class SupervisorNotice {
 public:
  explicit SupervisorNotice(const std::string& socket_path);
  void ready() const { send("READY=1\n"); }
  void alive() const { send("WATCHDOG=1\n"); }
  void stopping() const { send("STOPPING=1\n"); }

 private:
  void send(std::string_view text) const;
  UniqueFd socket_;
};

}  // namespace orchid::executor
