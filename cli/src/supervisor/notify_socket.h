// supervisor/notify_socket.h: signs of life from children, in systemd's sd_notify protocol.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "foundation/unique_fd.h"

namespace orchid::cli {

/// What one datagram says; lines that are not known are passed over.
struct Notification {
  bool ready = false;
  bool alive = false;  // WATCHDOG=1, or ready
  bool stopping = false;
  std::string status;  // STATUS=…, for people
};
[[nodiscard]] Notification parse_notification(std::string_view text);

/// Owned by the supervisor's thread.
class NotifySocket {
 public:
  /// In `directory`, or in the abstract namespace when the path would be too long for a socket.
  [[nodiscard]] static Result<NotifySocket> open(const std::filesystem::path& directory);
  NotifySocket(NotifySocket&&) noexcept = default;
  NotifySocket& operator=(NotifySocket&&) noexcept = default;
  ~NotifySocket();

  struct Message {
    pid_t sender = 0;  // as the kernel says
    Notification notification;
  };
  /// The next one, or nothing. Never blocks.
  [[nodiscard]] std::optional<Message> receive();
  /// For the children's NOTIFY_SOCKET.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  NotifySocket(UniqueFd socket, std::string address)
      : socket_(std::move(socket)), address_(std::move(address)) {}
  UniqueFd socket_;
  std::string address_;  // "@…": abstract
};

}  // namespace orchid::cli
